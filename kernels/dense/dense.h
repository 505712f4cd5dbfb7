/* LU, Cholesky and QR of large real matrices by kernels of our own, over the pool: panels of
 * columns with look-ahead. The result does not depend on the number of workers; that of LU and
 * Cholesky not on which of AVX2 and AVX-512 there is either (cpu.h). Complex and small ones are
 * LAPACK's, and all where neither is there. Matrices are by columns, m rows apart, whatever the
 * layout of what they were made from; rows are exchanged. */
#ifndef RICCI_KERNELS_DENSE_H
#define RICCI_KERNELS_DENSE_H

#include "kernels/lapack/lapack.h"

/* As getrf and potrf ('L'; what is above the diagonal is lost), info included. Raise `memory`, or
 * an interrupt; callers own nothing that is not on the value stack. */
int dense_lu(Ctx *, const Blas *, BlasType, int64_t m, int64_t n, void *a, int *pivots);
int dense_cholesky(Ctx *, const Blas *, BlasType, int64_t n, void *a);
/* As getrs ('N') from what dense_lu left, where dense_solves says so: there are right sides enough.
 */
bool dense_solves(BlasType, int64_t n, int64_t nrhs);
void dense_lu_solve(Ctx *, BlasType, int64_t n, int64_t nrhs, const void *lu, const int *pivots,
                    void *b);
/* The inverse from what dense_lu left, in its place: only where dense_own says so. Raises as they
 * do. */
void dense_inverse(Ctx *, BlasType, int64_t n, void *lu, const int *pivots);
/* QR as geqrf makes it; `turn` (dense_qr_turn bytes) is for dense_qr_form, which turns the
 * reflectors in a (m x order) into the first `cols` columns of Q there (orgqr). Where dense_own. */
void dense_qr(Ctx *, BlasType, int64_t m, int64_t n, void *a, void *tau, void *turn);
size_t dense_qr_turn(BlasType, int64_t m, int64_t n);
void dense_qr_form(Ctx *, BlasType, int64_t m, int64_t cols, int64_t order, void *a,
                   const void *tau, const void *turn);
/* Are they ours, for this order (the smaller side)? Else LAPACK's. */
bool dense_own(BlasType, int64_t order);
/* The name of our way of what LAPACK's routine `routine` ("getrf") does, where it is the one that
 * goes for this order and so many right sides; NULL: LAPACK's goes. */
const char *dense_own_name(const char *routine, BlasType, int64_t order, int64_t nrhs);
/* lapack_threads, but the library gets one where the factorisation is ours: its own, which wait
 * spinning, would be in the way of the pool's. */
void dense_threads(Ctx *, const Blas *, BlasType, LapackWeight, int64_t order);

#endif
