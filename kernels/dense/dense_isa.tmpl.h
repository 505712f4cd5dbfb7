/* The kernels of dense_kernels.h for one instruction set, included by dense_avx2.c and
 * dense_avx512.c, which name the tables. */
#include "kernels/dense/dense_kernels.h"

/* A tile of the product: three vectors of rows by so many columns leave registers for operands. */
#if defined(__AVX512F__)
#define TILE_COLS 8
#else
#define TILE_COLS 4
#endif
#define TILE_VECTORS 3

#define EACH_REAL "kernels/dense/dense_real.tmpl.h"
#include "kernels/gemm/each_real.h"

#define DENSE_KERNELS(t, lanes)                                                                  \
    { TILE_VECTORS * lanes, lanes, lu_panel_##t, exchange_##t, pack_##t, lu_update_##t,          \
      back_update_##t, cholesky_panel_##t, rank_update_##t, qr_panel_##t, qr_pack_##t,           \
      qr_update_##t, qr_room_##t, hess_column_##t, hess_rows_##t }

const DenseKernels DENSE_TABLE_D = DENSE_KERNELS(d, (VECTOR_BYTES / 8));
const DenseKernels DENSE_TABLE_S = DENSE_KERNELS(s, (VECTOR_BYTES / 4));
