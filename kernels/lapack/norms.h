/* Folds of magnitudes over the columns of a strided matrix: what norms along an axis and the 1-
 * and inf-norms of matrices are made of. Never raises. */
#ifndef RICCI_KERNELS_NORMS_H
#define RICCI_KERNELS_NORMS_H

#include "core/base/ctx.h"
#include "kernels/lapack/lapack.h"

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

#endif
