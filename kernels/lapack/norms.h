/* Folds of magnitudes over the columns of a strided matrix: what norms along an axis and the 1-
 * and inf-norms of matrices are made of. Never raises. */
#ifndef RICCI_KERNELS_NORMS_H
#define RICCI_KERNELS_NORMS_H

#include "core/base/ctx.h"
#include "kernels/lapack/lapack.h"

#include <math.h>

typedef enum NormFold {
    FOLD_SUM,                /* of magnitudes */
    FOLD_SQUARES,            /* sum of their squares; may overflow or vanish in f64 */
    FOLD_MAX, FOLD_MIN,      /* of nothing: 0 and inf; a NaN wins */
    FOLD_COUNT               /* how many are not zero */
} NormFold;

/* out[j] = fold of column j. Rows and columns may lie either way. */
void norms_fold_columns(BlasType, NormFold, int64_t rows, int64_t cols, Mat, double *out);
double norms_fold_two(NormFold, double, double);     /* the folds of two parts of a column as one */
/* Largest (of no columns: 0) or smallest (inf) sum of magnitudes in a column; once the flag is set,
 * nothing that means anything. */
double norms_largest_column(BlasType, int64_t rows, int64_t cols, Mat, const InterruptFlag *stop);
double norms_smallest_column(BlasType, int64_t rows, int64_t cols, Mat, const InterruptFlag *stop);

/* ---- between norms.c and the loops of one instruction set ----
 * Lanes and the tree that joins them are the same everywhere, and no product is fused: so are the
 * bits. */
enum { NORM_FOLDS = FOLD_COUNT + 1 };

typedef struct NormKernel {
    double (*line)(int64_t n, const void *x, int64_t step);     /* the fold of n numbers */
    /* acc[k] = acc[k] and column k folded, in the order of the rows: `wide` columns, `rows` rows
     * `rs` numbers from each other */
    void (*rows)(int64_t rows, int64_t wide, const void *x, int64_t rs, double *acc);
} NormKernel;

/* By fold; of floats, then of doubles. */
extern const NormKernel norm_kernels_base[NORM_FOLDS][2], norm_kernels_avx2[NORM_FOLDS][2],
    norm_kernels_avx512[NORM_FOLDS][2];

#define NORMS_INLINE static inline __attribute__((always_inline))

NORMS_INLINE double norms_start(NormFold f) { return f == FOLD_MIN ? (double)INFINITY : 0; }

/* Of numbers that are not negative: their bits are in their order, and NaN comes last. */
NORMS_INLINE double norms_most(double x, double y)
{
    union { double f; int64_t bits; } a = { x }, b = { y };
    a.bits = a.bits < b.bits ? b.bits : a.bits;
    return a.f;
}

NORMS_INLINE double norms_one(NormFold f, double acc, double v)
{
    switch (f) {
    case FOLD_SUM: return acc + v;
    case FOLD_SQUARES: return acc + v * v;
    case FOLD_MAX: return norms_most(acc, v);
    case FOLD_MIN: return ((v < acc) | (v != v)) ? v : acc;
    default: return acc + (v != 0);
    }
}

/* Two partial results of the same column. */
NORMS_INLINE double norms_two(NormFold f, double x, double y)
{
    return f == FOLD_MAX || f == FOLD_MIN ? norms_one(f, x, fabs(y)) : x + y;
}

#endif
