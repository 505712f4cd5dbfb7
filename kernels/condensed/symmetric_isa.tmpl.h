/* Kernels of symmetric.h in both precisions for one instruction set, SYMMETRIC_TABLE. */
#include "kernels/condensed/symmetric.h"

#define EACH_REAL "kernels/condensed/symmetric.tmpl.h"
#include "kernels/gemm/each_real.h"

#define SYMMETRIC_KERNELS(t) { top_##t, column_##t, block_##t, rows_##t, hold_##t }

const SymmetricKernels SYMMETRIC_TABLE[2] = {
    [BLAS_S] = SYMMETRIC_KERNELS(s), [BLAS_D] = SYMMETRIC_KERNELS(d)
};
