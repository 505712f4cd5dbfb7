/* Exact elimination on matrices of rationals. Rows are first multiplied by their common
 * denominators, then eliminated in integers without fractions, so that entries stay minors of the
 * matrix and do not explode. Kernels allocate what they work in, free it, and return a status;
 * they stop at ctx->interrupt. */
#ifndef RICCI_KERNELS_RATIONAL_LINALG_H
#define RICCI_KERNELS_RATIONAL_LINALG_H

#include "kernels/rational/rational.h"

typedef struct RationalMat {
    const Rational *data;
    int64_t rs, cs;              /* in elements */
} RationalMat;

/* c = a b, m x k by k x n, c contiguous. */
RationalStatus rational_gemm(Ctx *, int64_t m, int64_t n, int64_t k, RationalMat a, RationalMat b,
                             Rational *c);
RationalStatus rational_dot(Ctx *, int64_t n, const Rational *a, int64_t sa, const Rational *b,
                            int64_t sb, Rational *out);
/* out[…] += in0[…] * in1[…] over all indices, every tensor with one stride per index; in1 may
 * be missing. No length is 0; out holds zeros. */
enum { RATIONAL_INDICES = 64 };
typedef struct RationalNest {
    int indices, operands;                       /* 1 or 2 */
    int64_t n[RATIONAL_INDICES];
    int64_t out[RATIONAL_INDICES];
    int64_t in[2][RATIONAL_INDICES];
    bool kept[RATIONAL_INDICES];                 /* an index of the result; others are summed */
} RationalNest;
RationalStatus rational_einsum(Ctx *, const RationalNest *, Rational *out,
                               const Rational *const *in);
/* Reduced row echelon form, contiguous; out may be NULL. pivots takes min(m, n) columns. */
RationalStatus rational_rref(Ctx *, int64_t m, int64_t n, RationalMat a, Rational *out,
                             int64_t *rank, int64_t *pivots);
RationalStatus rational_det(Ctx *, int64_t n, RationalMat a, Rational *out);
/* a x = b, or the inverse where b.data is NULL (then nrhs = n). x is contiguous.
 * RATIONAL_SINGULAR: *column depends on those before it. */
RationalStatus rational_solve(Ctx *, int64_t n, int64_t nrhs, RationalMat a, RationalMat b,
                              Rational *x, int64_t *column);
/* Partial pivoting on magnitude, as getrf has it: row perm[i] of A is row i of L U. lu is
 * m x n, L below the diagonal. */
RationalStatus rational_lu(Ctx *, int64_t m, int64_t n, RationalMat a, Rational *lu, int64_t *perm);

#endif
