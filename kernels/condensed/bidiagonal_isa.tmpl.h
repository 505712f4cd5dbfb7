/* Kernels of bidiagonal.h in both precisions for one instruction set, BIDIAGONAL_TABLE. */
#include "kernels/condensed/bidiagonal.h"

#define EACH_REAL "kernels/condensed/bidiagonal.tmpl.h"
#include "kernels/gemm/each_real.h"

#define BIDIAGONAL_KERNELS(t) { top_##t, column_##t, block_##t, row_##t, rows_##t }

const BidiagonalKernels BIDIAGONAL_TABLE[2] = {
    [BLAS_S] = BIDIAGONAL_KERNELS(s), [BLAS_D] = BIDIAGONAL_KERNELS(d)
};
