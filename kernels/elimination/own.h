/* The room's own factors, in one of four dtypes (own.c has them of each from own.tmpl.h). */
#ifndef RICCI_KERNELS_ELIMINATION_OWN_H
#define RICCI_KERNELS_ELIMINATION_OWN_H

#include "kernels/elimination/columns.h"

/* Without their diagonals; rows of a column are in no order. */
typedef struct OwnFactors {
    Columns l, u;                /* Cholesky and QR: l alone, u is its adjoint */
    void *diagonal;              /* of u; of l for Cholesky and QR */
    int64_t *p, *q;              /* A[p, q] = L U; Cholesky: p alone; QR: q alone */
    Columns a;                   /* QR: the matrix, or the adjoint of a wide one */
    bool wide;
    int64_t rank;
} OwnFactors;

typedef struct OwnLu {
    const Columns *a;
    const int64_t *q;
    double threshold;            /* a diagonal pivot may be so much smaller than the largest */
} OwnLu;

typedef struct OwnOps {
    size_t each;
    /* Into f's arrays in `keep`; the count of operations in *flops. Return -1, or where they end:
     * a place of p or q. */
    int64_t (*cholesky)(Hold *keep, Hold *work, const Columns *a, OwnFactors *f, double *flops);
    int64_t (*lu)(Hold *keep, Hold *work, const OwnLu *, OwnFactors *f, double *flops);
    void (*qr)(Hold *keep, Hold *work, OwnFactors *f, double *flops);
    void (*cholesky_solve)(Hold *work, const OwnFactors *, const void *b, void *x);
    void (*lu_solve)(Hold *work, const OwnFactors *, bool adjoint, const void *b, void *x);
    void (*qr_solve)(Hold *work, const OwnFactors *, bool adjoint, const void *b, void *x);
    /* By a triangle in some order: row p[k] has columns q[0 … k], its pivot at pivot[k]. */
    void (*triangle_solve)(Hold *work, const Csr *, const int64_t *p, const int64_t *q,
                           const int64_t *pivot, bool adjoint, const void *b, void *x);
    /* r -= A x, or adjoint(A) x */
    void (*residual)(const Columns *, bool adjoint, const void *x, void *r);
    int64_t (*incomplete_lu)(Hold *work, const Csr *, const int64_t *diagonal, void *to);
    int64_t (*incomplete_cholesky)(Hold *work, const Csr *, const int64_t *diagonal, void *to);
    void (*incomplete_solve)(const Csr *, const int64_t *diagonal, bool cholesky, bool adjoint,
                             void *x);
    /* |x|, its real and imaginary part. */
    double (*size)(const void *x, int64_t i);
    double (*real)(const void *x, int64_t i);
    double (*imag)(const void *x, int64_t i);
    void (*put)(void *x, int64_t i, double re, double im);
} OwnOps;

const OwnOps *own_ops(DType);            /* NULL: none */
/* A new set of factors as the state of e. */
void own_cholesky(Elimination *, Hold *work, const Columns *, EliminationOrdering);
void own_lu(Elimination *, Hold *work, const Columns *, EliminationOrdering);
void own_qr(Elimination *, Hold *work, const Csr *, const Columns *, EliminationOrdering);
void own_triangle(Elimination *, const Csr *, const int64_t *p, const int64_t *q,
                  const int64_t *pivot);

#endif
