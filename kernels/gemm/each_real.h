/* The template EACH_REAL for f32 and then for f64, with vectors of the instruction set of
 * vector_real.tmpl.h: the element T, V of LANES of them, whole numbers VI of their size, FN, which
 * makes names, fused products, and the ends of the range: EPS, LEAST, and ROOT_LEAST to ROOT_MOST,
 * whose squares are in it. */
#ifndef RICCI_KERNELS_EACH_REAL_H
#define RICCI_KERNELS_EACH_REAL_H

#include "kernels/gemm/vector_real.tmpl.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

typedef int32_t Bits_s __attribute__((vector_size(VECTOR_BYTES)));
typedef int64_t Bits_d __attribute__((vector_size(VECTOR_BYTES)));

#endif

#define T float
#define FN(name) name##_s
#define V Vec_s
#define VI Bits_s
#define LANES (VECTOR_BYTES / 4)
#define FMA fma_s
#define FMA_ONE fmaf
#define SQRT sqrtf
#define ABS fabsf
#define EPS 0x1p-23f
#define LEAST 0x1p-126f
#define ROOT_LEAST 0x1p-40f
#define ROOT_MOST 0x1p40f
#include EACH_REAL

#undef T
#undef FN
#undef V
#undef VI
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
#define VI Bits_d
#define LANES (VECTOR_BYTES / 8)
#define FMA fma_d
#define FMA_ONE fma
#define SQRT sqrt
#define ABS fabs
#define EPS 0x1p-52
#define LEAST 0x1p-1022
#define ROOT_LEAST 0x1p-480
#define ROOT_MOST 0x1p480
#include EACH_REAL
#undef EACH_REAL
