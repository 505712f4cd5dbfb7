/* Sums and extremes along the rows or columns of a sparse matrix: what is not stored is 0. */
#ifndef RICCI_KERNELS_SPARSE_FOLD_H
#define RICCI_KERNELS_SPARSE_FOLD_H

#include "kernels/sparse/sparse.h"

typedef enum CsrFold {
    CSR_SUM,                   /* of the matrix's dtype, which is f32, f64, c64 or c128 */
    CSR_ABS, CSR_SQUARES,     /* sums of |x| and of |x|^2, of its real dtype */
    CSR_MAX, CSR_MIN,         /* of real dtypes; nan wins */
    CSR_COUNT,                 /* of entries: i64, of any dtype */
    CSR_FOLDS
} CsrFold;

/* axis 1: m results, one for each row; 0: n, one for each column. The result is in `made`; a
 * maximum of no elements is 0. */
Tensor *csr_fold(Ctx *, Made *, const Csr *, CsrFold, int axis);

/* The row of each entry. In `made`. */
Tensor *csr_entry_rows(Ctx *, Made *, const Csr *);

#endif
