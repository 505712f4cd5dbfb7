/* Direct solution of sparse systems: a factorization of a matrix in compressed rows, kept as one
 * object, whoever made it. Its dtype is f32, f64, c64 or c128. Right sides and solutions are dense
 * columns of that dtype, one after the other.
 *
 * A matrix that has no inverse is no error here: `failed` names the column at which no pivot was
 * left, and then only `det` may be asked. All of these raise `memory` and `interrupt`. */
#ifndef RICCI_KERNELS_ELIMINATION_H
#define RICCI_KERNELS_ELIMINATION_H

#include "kernels/sparse/sparse.h"

typedef enum EliminationMethod {
    ELIMINATION_ANY,
    ELIMINATION_DIAGONAL,
    ELIMINATION_LOWER,
    ELIMINATION_UPPER,
    ELIMINATION_PERMUTED,        /* triangular when rows and columns are put into another order */
    ELIMINATION_CHOLESKY,
    ELIMINATION_LU,
    ELIMINATION_QR,
    ELIMINATION_METHODS
} EliminationMethod;

typedef enum EliminationOrdering {
    ORDERING_ANY,
    ORDERING_NATURAL,
    ORDERING_DEGREE,             /* approximate minimum degree of A + A', or of A'A */
    ORDERING_CUTHILL,            /* reverse Cuthill-McKee */
    ORDERING_DISSECTION,         /* nested dissection */
    ORDERINGS
} EliminationOrdering;

/* What somebody wants; all 0: the best that is found. */
typedef struct EliminationWish {
    EliminationMethod method;
    EliminationOrdering ordering;        /* one that is asked for is the room's own code's */
    bool own;                            /* SuiteSparse is not asked */
} EliminationWish;

typedef struct Elimination Elimination;

/* det(A) = (re + i im) 2^exponent, |re + i im| in [1, 2) or 0; nan where it is not finite. */
typedef struct EliminationDet { double re, im, exponent; } EliminationDet;

/* The factors as sparse tensors and their orders as i64 vectors; NULL: there is no such part.
 * Cholesky: A[p, p] = L L'. LU: A[p, q] = L U, where that was wished for: the best method may scale
 * rows. QR of a matrix that is not wide: A[:, q] = Q R with R in u, and without Q. */
typedef struct EliminationParts { Tensor *l, *u, *p, *q; } EliminationParts;

typedef struct EliminationOps {
    /* x = A^-1 b, or of the adjoint of A; least squares by QR. b has rows of A (columns, for the
     * adjoint) elements a column. They do not overlap. */
    void (*solve)(Elimination *, bool adjoint, int64_t columns, const void *b, void *x);
    EliminationDet (*det)(Elimination *);
    void (*parts)(Elimination *, EliminationParts *);
    void (*free)(Elimination *);         /* what is not in its arrays; NULL: nothing */
} EliminationOps;

struct Elimination {
    const EliminationOps *ops;
    Ctx *ctx;                    /* of whoever calls, while it does */
    EliminationMethod method;
    const char *library;         /* "CHOLMOD"; NULL: the room's own code */
    const char *ordering;
    int64_t m, n;
    DType dtype;
    int64_t failed;              /* a column of A, or -1 */
    int64_t rank;                /* of QR; n else */
    int64_t not_definite;        /* Cholesky ended at this row (1 is the first) before LU; 0: no */
    bool hermitian, keeps;       /* keeps: the columns of A are a part of it */
    double norm1, rcond;         /* rcond < 0: not asked yet */
    /* the smallest pivot's size over the largest's, of Cholesky squared, at a look: an estimate of
     * rcond that costs nothing and may be far too large; -1: not known */
    double pivots;
    double fill;                 /* entries of its factors */
    double flops;                /* of the factorization: real additions and multiplications */
    size_t bytes;                /* that it keeps, those of libraries as they tell them */
    void *state;                 /* the method's own */
    struct SsHeap *heap;         /* SuiteSparse's memory for it */
    bool broken;                 /* Ctrl-C led out of SuiteSparse: it can only be freed */
    struct Hold *hold, *work;    /* its arrays; those of a call, released when it ends */
};

/* Takes A apart; A's arrays are not needed afterwards. */
Elimination *elimination_new(Ctx *, const Csr *, const EliminationWish *);
void elimination_free(Ctx *, Elimination *);         /* NULL: nothing */
void elimination_solve(Ctx *, Elimination *, bool adjoint, int64_t columns, const void *b,
                       void *x);
EliminationDet elimination_det(Ctx *, Elimination *);
/* New tensors, the caller's. */
EliminationParts elimination_parts(Ctx *, Elimination *);
/* 1 / (|A| |A^-1|) in the 1-norm, the second an estimate from below; remembered. */
double elimination_rcond(Ctx *, Elimination *);
/* As programs call it: "natural", "degree", "rcm", "dissection"; NULL for ORDERING_ANY. */
const char *elimination_ordering_name(EliminationOrdering);
/* "Cholesky", "LU", … */
const char *elimination_method_name(EliminationMethod);
/* The package of Debian that would do this faster; NULL: it is there. */
const char *elimination_missing(const Elimination *);

#endif
