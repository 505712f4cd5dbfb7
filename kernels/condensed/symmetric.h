/* Tridiagonal forms of real symmetric matrices, the upper half by columns.
 *
 * LAPACK's sytrd asks BLAS for a product of the matrix with each column's reflector, which it makes
 * in one thread or for which it wakes several, and for an update of all of it after each panel.
 * Here a passage over the columns, four at a time, makes the product, each element read once for
 * both of its places, and applies the steps held back where there are enough of them. Blocks of
 * columns are shared by the pool, in rounds of microseconds (team.h). */
#ifndef RICCI_KERNELS_CONDENSED_SYMMETRIC_H
#define RICCI_KERNELS_CONDENSED_SYMMETRIC_H

#include "kernels/lapack/lapack.h"

/* Is it ours, for order n? */
bool symmetric_own(BlasType, int64_t n);
/* How many steps are best applied at once. */
int64_t symmetric_held(BlasType, int64_t n);
/* sytrd with 'U', `held` steps applied at once; tau NULL: no reflector is kept. Elements may have
 * any magnitude whose square is in range. An interrupt ends it early: the caller polls. The same
 * bits on any number of threads. */
void symmetric_form(Ctx *, BlasType, int64_t n, int64_t held, void *a, void *d, void *e, void *tau,
                    Scratch *);
/* The largest magnitude of the half. */
double symmetric_largest(BlasType, int64_t n, const void *a);

/* ---- for the kernels ---- */
enum { SYMMETRIC_BLOCK = 32,     /* columns */
       SYMMETRIC_ROWS = 512,
       SYMMETRIC_MOST = 8 };     /* steps held */

/* Step k, of column k: A -= left right' is to be applied to what is left, of order k. Of each of
 * the steps held left has the columns v, w and each row of right the pair w, v. When there are
 * `most`, the next passage applies them, and else it takes what they make from the product alone.
 * v, the column's reflector, is the next of left; parts are sums of the passage, of n elements for
 * each block, product what it finds for the columns. */
typedef struct Symmetric {
    int64_t n, k, held, most;
    void *a, *d, *e, *tau, *left, *right, *products, *product, *parts, *pivot;
    double scale;                /* tau of v */
} Symmetric;

typedef struct SymmetricKernels {
    double (*top)(int64_t n, const void *);              /* the largest magnitude of the half */
    bool (*column)(Symmetric *);                         /* d[k], e[k - 1], v; is it one? */
    void (*block)(const Symmetric *, int64_t block);     /* of the columns before k */
    void (*rows)(const Symmetric *, int64_t chunk);      /* A v of the passage and what is held */
    void (*hold)(Symmetric *);                           /* w */
} SymmetricKernels;

/* By BLAS_S and BLAS_D. */
extern const SymmetricKernels symmetric_avx2[2], symmetric_avx512[2];

#endif
