/* Enclosures by an approximation and a bound of its error. Matrices are middles and radii,
 * <M, D>: all A with |A - M| <= D element by element; by rows, in doubles. Roundings are made up
 * for by factors: no function here changes the rounding mode. */
#ifndef RICCI_BUILTINS_VERIFIED_H
#define RICCI_BUILTINS_VERIFIED_H

#include "builtins/linalg/linalg.h"
#include "kernels/number/number.h"

typedef struct Spread {
    int64_t rows, cols;
    double *mid, *rad;
    bool points;                /* all radii are 0 */
} Spread;

/* ---- bounds: verified_bounds.c ---- */
double *verified_room(OpCall *, int64_t n);             /* n doubles, cleared */
/* Finite intervals as middles and radii; false: an end is not finite. */
bool verified_spread(OpCall *, const Interval *x, int64_t rows, int64_t cols, Spread *out);
Spread verified_transposed(OpCall *, const Spread *);
/* x, a sum of n or a few more roundings of numbers that are not negative, as an upper bound of
 * what it stands for; and a lower bound. */
double verified_above(double x, int64_t n);
double verified_below(double x, int64_t n);
/* A bound of |sqrt| of such a bound. */
double verified_root(double x);
/* n sums of products at once, each in a pair of doubles: sum k is a x[k] of every call. *error is
 * a bound of |value - the exact sum|. */
typedef struct PairSums { double *hi, *lo, *size; int64_t n, terms; } PairSums;
PairSums pairs_room(OpCall *, int64_t n);
void pairs_clear(PairSums *);
void pairs_add(PairSums *, double a, const double *x);
void pairs_value(const PairSums *, double *value, double *error);
bool verified_finite(const double *, int64_t n);        /* all of them */
/* Bounds of norms of a matrix of magnitudes: infinite where one of them is no number. */
double verified_norm2(const double *size, int64_t rows, int64_t cols);
double verified_length(const double *size, int64_t n);  /* of a vector */
/* An upper bound of ||W W' - 1||_2 of the vectors that are W's rows. 1 or more, or nan: useless. */
double verified_orthonormal(OpCall *, const double *W, int64_t count, int64_t length);
/* [x + lo, x + hi] rounded outwards. */
Interval verified_around(double x, double lo, double hi);

/* ---- systems: verified_solve.c ---- */
/* All solutions of A x = b for A in A (square) and b in B, by rows. False: not verified, or BLAS is
 * missing; out is then undefined. */
bool verified_solve(OpCall *, const Spread *A, const Spread *B, Interval *out);

/* ---- eigenvalues, singular values: verified_spectral.c ---- */
typedef enum VerifiedWhy {
    VERIFIED, VERIFIED_DIVERGED, VERIFIED_RANGE, VERIFIED_TOGETHER
} VerifiedWhy;
/* The ascending eigenvalues of all symmetric matrices in A (the middles and radii of which are
 * symmetric); with `vectors` (by columns: vector j from j n on) unit eigenvectors of each, of
 * the sign of the approximation. VERIFIED_TOGETHER: values *at and *at + 1 are not told apart,
 * so there are no vectors; the values stand. */
VerifiedWhy verified_eigh(OpCall *, const Spread *A, Interval *values, Interval *vectors,
                          int64_t *at);
/* The descending singular values, min(rows, cols) of them. */
VerifiedWhy verified_svdvals(OpCall *, const Spread *A, Interval *values);

#endif
