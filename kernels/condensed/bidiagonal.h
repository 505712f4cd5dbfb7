/* Singular values and vectors of real matrices: a bidiagonal form by kernels of our own, then
 * LAPACK's QR iteration (bdsqr, which takes dqds where no vectors are asked for), or with vectors
 * its divide and conquer (bdsdc), whose vectors the reflectors turn into those of the matrix.
 *
 * LAPACK's gebrd reads what is left of the matrix twice for each column, in A'q and in A u. Here
 * the reflections of one step are applied, and both products of the next made, in one passage over
 * the columns, four at a time, which meanwhile stay in the cache (the products as in Howell et al.,
 * ACM Trans. Math. Softw. 34 (2008), 14): the row's reflector is not known before A'q is, but the
 * product with the row that becomes it is, column by column. Blocks of columns are shared by the
 * pool. Of a matrix beyond the caches steps are held back, as gebrd holds those of a panel, and
 * applied in one of several passages, so that the others only read. */
#ifndef RICCI_KERNELS_CONDENSED_BIDIAGONAL_H
#define RICCI_KERNELS_CONDENSED_BIDIAGONAL_H

#include "kernels/lapack/lapack.h"

/* Is it ours, for m x n with m >= n? */
bool bidiagonal_own(BlasType, int64_t m, int64_t n);
/* How many steps are best applied at once. */
int64_t bidiagonal_held(BlasType, int64_t m, int64_t n);
/* lapack_svd with job 'N' where it is, `held` steps applied at once; no infinities. The same bits
 * on any number of threads. */
int bidiagonal_values(Ctx *, const Blas *, BlasType, int64_t m, int64_t n, int64_t held, void *a,
                      void *s, Scratch *);
/* With job 'S': u is m x n, vt n x n. */
int bidiagonal_vectors(Ctx *, const Blas *, BlasType, int64_t m, int64_t n, int64_t held, void *a,
                       void *s, void *u, void *vt, Scratch *);

/* ---- for the kernels ---- */
enum { BIDIAGONAL_BLOCK = 32,    /* columns */
       BIDIAGONAL_ROWS = 512,
       BIDIAGONAL_MOST = 8 };    /* steps held */

/* Step k: A -= left right' is to be applied to columns k and on: of each of the steps held a pair
 * of columns v, x and a pair y, u in each row of right, which has 2 most. When there are `most`,
 * the next passage applies them, and else it takes what they make from the products alone. q, which
 * becomes the column's reflector, is the next v; y, u and parts (of A u, one of m elements for each
 * block) are what the passage finds. Where there are taus, of columns and of rows, the reflectors
 * stay in a as gebrd leaves them. */
typedef struct Bidiagonal {
    int64_t m, n, k, held, most;
    void *a, *d, *e, *left, *right, *products, *y, *u, *parts, *column_taus, *row_taus;
    double tau;                              /* of q */
    double row_tau, beta, first, below;      /* of the row's reflector, for x */
    bool whole;                              /* x is A u already */
} Bidiagonal;

typedef struct BidiagonalKernels {
    double (*top)(int64_t count, const void *);          /* the largest magnitude */
    void (*column)(Bidiagonal *);                        /* d[k], q */
    void (*block)(const Bidiagonal *, int64_t block);    /* of the columns after k */
    bool (*row)(Bidiagonal *);                           /* e[k], u; is x to be made? */
    void (*rows)(const Bidiagonal *, int64_t chunk);     /* x */
} BidiagonalKernels;

/* By BLAS_S and BLAS_D. */
extern const BidiagonalKernels bidiagonal_avx2[2], bidiagonal_avx512[2];

#endif
