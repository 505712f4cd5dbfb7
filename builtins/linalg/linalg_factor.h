/* A square matrix taken apart in the cheapest safe way that its shape allows: what `A \ b`
 * looks for, in this order, and the routines that use it. Made and used by linalg_solve.c;
 * linalg_explain.c tells the story of one. */
#ifndef RICCI_BUILTINS_LINALG_FACTOR_H
#define RICCI_BUILTINS_LINALG_FACTOR_H

#include "builtins/linalg/linalg.h"
#include "kernels/lapack/lapack_structured.h"

typedef enum FactorKind {
    FACTOR_DIAGONAL,             /* a division */
    FACTOR_TRIANGLE,             /* trtrs on A as it lies */
    FACTOR_TRIDIAGONAL_PD,       /* pttrf, pttrs */
    FACTOR_TRIDIAGONAL,          /* gttrf, gttrs */
    FACTOR_BAND_PD,              /* pbtrf, pbtrs */
    FACTOR_BAND,                 /* gbtrf, gbtrs */
    FACTOR_PERMUTED,             /* rows or columns put in order, trtrs */
    FACTOR_CHOLESKY,             /* potrf, potrs */
    FACTOR_HERMITIAN,            /* Bunch-Kaufman: sytrf or hetrf, sytrs2 or hetrs2 */
    FACTOR_SYMMETRIC,            /* complex, not Hermitian: sytrf, sytrs2 */
    FACTOR_LU                    /* getrf, getrs */
} FactorKind;

/* A factored matrix. Triangles are used as they lie: in Fortran's eyes the transpose of A where it
 * lies by rows, which trans = 'T' makes up for. The others are copied by columns, so that pivots
 * are sought among the rows of A as it is written. */
typedef struct Factor {
    Stack *s;
    const Blas *blas;            /* NULL until a routine is needed */
    FactorKind kind;
    Mat a;                       /* the matrix itself */
    const char *seen;            /* data of the matrix that is factored; NULL: none yet */
    bool by_rows;                /* of a triangle: it lies by rows */
    char uplo;
    bool hermitian;              /* looked at only if no simpler shape was found */
    bool half_taken;             /* and its lower half is in `work` since that look */
    int64_t kl, ku, lda;
    const char *triangle;        /* data of the triangle: A itself, or work */
    char *work;                  /* factors; NULL until needed */
    size_t work_bytes;
    char *probe;
    int *pivots;                 /* or the order of a permuted triangle's lines */
    bool permuted_rows, upper;
    Tridiagonal tri;
    Scratch con, extra;          /* for the condition estimate; for Bunch-Kaufman */
    int exponent;                /* what is factored is A times 2^exponent */
    double largest;              /* of the pivots, a stand-in for the norm of A */
    int not_definite;            /* where Cholesky stopped, counted from 1; 0: not tried */
    Ill ill;                     /* the nearly singular ones */
    /* linalg_refine.c: the residual of a solution, and that with its correction */
    char *residual, *better;
    _Alignas(16) char few[1024]; /* where they lie if they are short */
    double backward;             /* the largest backward error that was left */
    int64_t refined, grown;      /* columns that were refined; systems that were not mended */
    bool told;                   /* `explain` heard of one */
    bool kept;                   /* by factorize: nothing was factored in this call */
} Factor;

void factor_init(Factor *, Stack *);
/* Factors a unless it is the matrix at hand; notes in f->ill if it is nearly singular.
 * Raises `numeric` if it is singular. */
void factor_make(Factor *, Mat a);
/* x (n x nrhs, by columns) with A x = b. */
void factor_solve(Factor *, Mat b, int64_t nrhs, char *x);
/* Looks at solutions of it, which are refined where their backward error is above n eps. */
void factor_refine(Factor *, Mat b, int64_t nrhs, char *x);
/* One notice, where that was not enough. */
void factor_grown_notice(const Factor *, bool inverse);
/* 1 / condition number in the 1-norm; an estimate but for diagonal and tridiagonal ones. */
double factor_rcond(Factor *);
/* What decides about the digits of the answer, given rcond: the same, or what it would be
 * for a matrix with the same answer and a better scaling. */
double factor_trust(Factor *, double rcond);
/* Takes a matrix that was factored before, by factorize, for the one at hand. */
void factor_take(Factor *, const Factor *kept);
/* Every matrix of the stack, for factors_of. */
void *factor_all(Stack *);

/* For `explain`: what was seen and what ran in factorize. */
void factor_explain_made(const Factor *);
/* For `explain`: what was seen, what ran, FLOPs, rcond, and the residual of x. */
void factor_explain(Factor *, Mat b, int64_t nrhs, const char *x);
/* The same of a batch that our own kernel solved: of its first matrix if that is done. */
void factor_explain_small(Factor *, const Rhs *, const uint8_t *done, const Out *x);

/* ---- as a value (linalg_kept.c) ---- */
/* A matrix together with its factors, of this or of another room: what all such values begin with,
 * and what their kinds say alike. */
typedef struct FactorsValue {
    Native native;
    Value a;
} FactorsValue;

const char *factors_describe(Value, char *out, size_t cap);
bool factors_equal(Value, Value);
Value factors_stand(Value);
const char *factors_instead(char *out, size_t cap, const char *text);

#endif
