/* Systems whose matrix has a shape that LAPACK can use: tridiagonal, banded positive
 * definite, symmetric and Hermitian indefinite; and the looks at a matrix that find such
 * shapes. Conventions as in lapack.h. */
#ifndef RICCI_KERNELS_LAPACK_STRUCTURED_H
#define RICCI_KERNELS_LAPACK_STRUCTURED_H

#include "kernels/lapack/lapack.h"

/* ---- facts ---- */
/* Is A a triangular matrix whose rows (by_rows) or columns stand in another order, its
 * diagonal without zeros? Then line from[i] of A is line i of the triangle, which is the
 * upper one if *upper. A dense matrix is refused after two elements in each of four looks. */
bool mat_permuted_triangle(BlasType, int64_t n, Mat, int *from, bool *by_rows, bool *upper);
/* Hermitian inside a band, with a positive diagonal: worth trying Cholesky. */
bool mat_band_definite(BlasType, int64_t n, int64_t k, Mat);
/* Equal to its transpose, nothing conjugated. */
bool mat_is_symmetric(BlasType, int64_t n, Mat);
/* mat_norm1 of a matrix that is zero outside the band. */
double mat_band_norm1(BlasType, int64_t n, int64_t kl, int64_t ku, Mat);

/* x := inv(U) inv(L) x: what an ill-conditioned matrix makes of an arbitrary x. */
void lapack_lu_probe(const Blas *, BlasType, int64_t n, const void *lu, void *x);

/* ---- tridiagonal ---- */
/* The diagonals of a tridiagonal matrix and what factoring makes of them; `second` is the
 * diagonal above `upper` that pivoting fills in. Of a positive definite one `diagonal` is
 * real and `upper` and `second` are not used. */
typedef struct Tridiagonal {
    int64_t n;
    char *lower, *diagonal, *upper, *second;
    int *pivots;
} Tridiagonal;
int lapack_tridiagonal(const Blas *, BlasType, Tridiagonal *);
int lapack_tridiagonal_solve(const Blas *, BlasType, const Tridiagonal *, int64_t nrhs, void *b);
double lapack_tridiagonal_rcond(const Blas *, BlasType, const Tridiagonal *, double anorm,
                                Scratch *);
int lapack_tridiagonal_pd(const Blas *, BlasType, Tridiagonal *);
int lapack_tridiagonal_pd_solve(const Blas *, BlasType, const Tridiagonal *, int64_t nrhs, void *b);
double lapack_tridiagonal_pd_rcond(const Blas *, BlasType, const Tridiagonal *, double anorm,
                                   Scratch *);

/* ---- banded positive definite: the lower half, k + 1 rows high ---- */
int lapack_band_pd(const Blas *, BlasType, int64_t n, int64_t k, void *ab);
int lapack_band_pd_solve(const Blas *, BlasType, int64_t n, int64_t k, int64_t nrhs,
                         const void *ab, void *b);
double lapack_band_pd_rcond(const Blas *, BlasType, int64_t n, int64_t k, const void *ab,
                            double anorm, Scratch *);

/* ---- symmetric indefinite, lower half; hermitian says which of the two a complex one is ---- */
int lapack_indefinite(const Blas *, BlasType, bool hermitian, int64_t n, void *a, int *pivots,
                      Scratch *);
/* The factors are changed on the way and put back. */
int lapack_indefinite_solve(const Blas *, BlasType, bool hermitian, int64_t n, int64_t nrhs,
                            void *a, const int *pivots, void *b, Scratch *);
double lapack_indefinite_rcond(const Blas *, BlasType, bool hermitian, int64_t n, const void *a,
                               const int *pivots, double anorm, Scratch *);

#endif
