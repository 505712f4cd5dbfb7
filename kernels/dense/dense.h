/* LU and Cholesky of large real matrices by kernels of our own, over the pool: panels of columns
 * with look-ahead. The result depends on the matrix alone, not on the number of workers and not on
 * which of AVX2 and AVX-512 there is (cpu.h). Complex and small ones are LAPACK's, and all where
 * neither is there. Matrices are by columns, m rows apart, whatever the layout of what they were
 * made from; rows are exchanged. */
#ifndef RICCI_KERNELS_DENSE_H
#define RICCI_KERNELS_DENSE_H

#include "kernels/lapack/lapack.h"

/* As getrf and potrf ('L'; what is above the diagonal is lost), info included. Raise `memory`, or
 * an interrupt; callers own nothing that is not on the value stack. */
int dense_lu(Ctx *, const Blas *, BlasType, int64_t m, int64_t n, void *a, int *pivots);
int dense_cholesky(Ctx *, const Blas *, BlasType, int64_t n, void *a);
/* Are they ours, for this order (the smaller side)? Else LAPACK's. */
bool dense_own(BlasType, int64_t order);
/* lapack_threads, but the library gets one where the factorisation is ours: its own, which wait
 * spinning, would be in the way of the pool's. */
void dense_threads(Ctx *, const Blas *, BlasType, LapackWeight, int64_t order);

#endif
