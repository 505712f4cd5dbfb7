/* Kernels of bidiagonal.h in both precisions for one instruction set, BIDIAGONAL_TABLE. */
#include "kernels/gemm/vector_real.tmpl.h"
#include "kernels/spectral/bidiagonal.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

typedef int32_t Bits_s __attribute__((vector_size(VECTOR_BYTES)));
typedef int64_t Bits_d __attribute__((vector_size(VECTOR_BYTES)));

#define BIDIAGONAL_KERNELS(t) { top_##t, column_##t, block_##t, row_##t }

#define T float
#define FN(name) name##_s
#define V Vec_s
#define VI Bits_s
#define LANES (VECTOR_BYTES / 4)
#define FMA fma_s
#define FMA_ONE fmaf
#define SQRT sqrtf
#define ABS fabsf
#define LEAST 0x1p-126f
#define ROOT_LEAST 0x1p-40f
#define ROOT_MOST 0x1p40f
#include "kernels/spectral/bidiagonal.tmpl.h"

#undef T
#undef FN
#undef V
#undef VI
#undef LANES
#undef FMA
#undef FMA_ONE
#undef SQRT
#undef ABS
#undef LEAST
#undef ROOT_LEAST
#undef ROOT_MOST
#define T double
#define FN(name) name##_d
#define V Vec_d
#define VI Bits_d
#define LANES (VECTOR_BYTES / 8)
#define FMA fma_d
#define FMA_ONE fma
#define SQRT sqrt
#define ABS fabs
#define LEAST 0x1p-1022
#define ROOT_LEAST 0x1p-480
#define ROOT_MOST 0x1p480
#include "kernels/spectral/bidiagonal.tmpl.h"

const BidiagonalKernels BIDIAGONAL_TABLE[2] = {
    [BLAS_S] = BIDIAGONAL_KERNELS(s), [BLAS_D] = BIDIAGONAL_KERNELS(d)
};
