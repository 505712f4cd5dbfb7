/* Kernels of francis.h in both precisions for one instruction set, FRANCIS_TABLE. */
#include "kernels/gemm/vector_real.tmpl.h"
#include "kernels/spectral/francis.h"

#include <math.h>
#include <string.h>

#define MAX2(a, b) ((a) > (b) ? (a) : (b))
#define MIN2(a, b) ((a) < (b) ? (a) : (b))

#define T float
#define FN(name) name##_s
#define V Vec_s
#define LANES (VECTOR_BYTES / 4)
#define FMA fma_s
#define FMA_ONE fmaf
#define SQRT sqrtf
#define ABS fabsf
#define EPS 0x1p-23f
#define LEAST 0x1p-126f
#define ROOT_LEAST 0x1p-40f
#define ROOT_MOST 0x1p40f
#include "kernels/spectral/francis.tmpl.h"

#undef T
#undef FN
#undef V
#undef LANES
#undef FMA
#undef FMA_ONE
#undef SQRT
#undef ABS
#undef EPS
#undef LEAST
#undef ROOT_LEAST
#undef ROOT_MOST
#define T double
#define FN(name) name##_d
#define V Vec_d
#define LANES (VECTOR_BYTES / 8)
#define FMA fma_d
#define FMA_ONE fma
#define SQRT sqrt
#define ABS fabs
#define EPS 0x1p-52
#define LEAST 0x1p-1022
#define ROOT_LEAST 0x1p-480
#define ROOT_MOST 0x1p480
#include "kernels/spectral/francis.tmpl.h"

const FrancisKernels FRANCIS_TABLE[2] = {
    [BLAS_S] = { chase_s, sizeof(Bulge_s) }, [BLAS_D] = { chase_d, sizeof(Bulge_d) }
};
