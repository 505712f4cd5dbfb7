/* Products of float and complex matrices as contractions: the half of `@` that plans, and the
 * plans of its last calls. linalg_product.c reads operands and calls it; table.c frees it. */
#ifndef RICCI_BUILTINS_MATMUL_H
#define RICCI_BUILTINS_MATMUL_H

#include "interp/op/op.h"
#include "kernels/contract/contract.h"
#include "kernels/gemm/gemm.h"

/* Are small products run without a plan? Not where everything goes by the plain nest. */
#ifdef RICCI_HOSTILE
enum { MATMUL_SMALL = false };
#else
enum { MATMUL_SMALL = true };
#endif

/* A stack of matrices: of dt itself or a float that contract_stores takes. */
typedef struct MatmulSide {
    const Tensor *t;
    int64_t rs, cs;
} MatmulSide;

/* out, row-major, becomes A B: m x k by k x n over the batch. `panels`: told of its rows, of n
 * elements each; or NULL. */
void matmul_run(OpCall *, DType dt, int64_t m, int64_t n, int64_t k, const MatmulSide *a,
                const MatmulSide *b, const GemmBatch *, Tensor *out, const GemmPanels *panels);
/* The error of matrices whose inner lengths differ. */
_Noreturn void matmul_mismatch(OpCall *, Tensor *a, Tensor *b);
/* The row's form with an epilogue. */
Value op_epilogue_matmul(OpCall *, const Epilogue *);

#endif
