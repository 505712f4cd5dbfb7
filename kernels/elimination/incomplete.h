/* Incomplete factors for preconditioners: on the matrix's own pattern, without fill. They are
 * values for that pattern, so that a factor is one more matrix in compressed rows (sparse_like). */
#ifndef RICCI_KERNELS_ELIMINATION_INCOMPLETE_H
#define RICCI_KERNELS_ELIMINATION_INCOMPLETE_H

#include "kernels/sparse/sparse.h"

/* Of a square matrix, into `value` (a->entries of its dtype, another array than a's): L below the
 * diagonal, which is 1, and U. Returns -1, or the row whose pivot is 0 or not stored. */
int64_t incomplete_lu(Ctx *, const Csr *a, void *value);
/* The Cholesky factor L of a Hermitian matrix, read from its lower triangle, with its diagonal; 0
 * above. Returns -1, or the row whose pivot is not positive. */
int64_t incomplete_cholesky(Ctx *, const Csr *a, void *value);
/* x = (L U)^-1 b, or (L L')^-1 b, for columns one after the other; of their adjoints. */
void incomplete_solve(Ctx *, const Csr *factor, bool cholesky, bool adjoint, int64_t columns,
                      const void *b, void *x);

#endif
