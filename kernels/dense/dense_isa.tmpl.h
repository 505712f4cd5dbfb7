/* The kernels of dense_kernels.h for one instruction set, included by dense_avx2.c and
 * dense_avx512.c, which name the tables. */
#include "kernels/dense/dense_kernels.h"
#include "kernels/gemm/vector_real.tmpl.h"

#include <math.h>
#include <string.h>

typedef int32_t Bits_s __attribute__((vector_size(VECTOR_BYTES)));
typedef int64_t Bits_d __attribute__((vector_size(VECTOR_BYTES)));

/* A tile of the product: three vectors of rows by so many columns leave registers for operands. */
#if defined(__AVX512F__)
#define TILE_COLS 8
#else
#define TILE_COLS 4
#endif
#define TILE_VECTORS 3

#define DENSE_KERNELS(t)                                                                         \
    { TILE_VECTORS * LANES, LANES, lu_panel_##t, exchange_##t, pack_##t, lu_update_##t,          \
      back_update_##t, cholesky_panel_##t, rank_update_##t, qr_panel_##t, qr_pack_##t,           \
      qr_update_##t, qr_room_##t, hess_column_##t, hess_rows_##t }

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
#include "kernels/gemm/small_turn.tmpl.h"
#include "kernels/dense/dense.tmpl.h"
#include "kernels/dense/dense_qr.tmpl.h"
#include "kernels/dense/hessenberg.tmpl.h"
const DenseKernels DENSE_TABLE_D = DENSE_KERNELS(d);

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
#include "kernels/gemm/small_turn.tmpl.h"
#include "kernels/dense/dense.tmpl.h"
#include "kernels/dense/dense_qr.tmpl.h"
#include "kernels/dense/hessenberg.tmpl.h"
const DenseKernels DENSE_TABLE_S = DENSE_KERNELS(s);
