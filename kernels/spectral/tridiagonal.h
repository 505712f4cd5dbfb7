/* Eigenvectors of symmetric tridiagonal matrices by divide and conquer, on the pool, and of
 * Hermitian matrices by way of them. */
#ifndef RICCI_KERNELS_SPECTRAL_TRIDIAGONAL_H
#define RICCI_KERNELS_SPECTRAL_TRIDIAGONAL_H

#include "kernels/lapack/lapack.h"

/* Cuppen's method as LAPACK's stedc has it: the same parts, the same deflation, the same signs. Of
 * order n, in f32 or f64 (BLAS_S, BLAS_D); d (n) and e (n - 1) are lost. z n x n by columns. The
 * k-th smallest eigenvalue is d[order[k]], its vector column order[k] of z. Returns info; as
 * everywhere on the pool, an interrupt ends it early with results that mean nothing. */
int tridiagonal_eigh(Ctx *, const Blas *, BlasType, int64_t n, void *d, void *e, void *z,
                     int64_t *order, Scratch *);

/* The same for values alone, in w: of the vectors two rows are enough, and none in the last step.
 * Below VALUES_DIVIDED_LEAST by the QR iteration without vectors, which is faster there. */
enum { VALUES_DIVIDED_LEAST = 150 };
int tridiagonal_values(Ctx *, const Blas *, BlasType, int64_t n, void *d, void *e, void *w,
                       Scratch *);

/* lapack_eigh with vectors (the lower half of A by rows, so the upper by columns), in which only
 * the leaves of the tree, and of complex matrices the tridiagonal form, are LAPACK's. For orders
 * from EIGH_DIVIDED_LEAST on; the caller has seen no infinities. */
enum { EIGH_DIVIDED_LEAST = 48 };
int lapack_eigh_divided(Ctx *, const Blas *, BlasType, int64_t n, void *a, void *w, Scratch *);
/* Values alone, where symmetric_own. */
int lapack_eigvalsh_divided(Ctx *, const Blas *, BlasType, int64_t n, void *a, void *w, Scratch *);

#endif
