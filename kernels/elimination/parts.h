/* What factors of any origin are told as: sparse tensors, orders, determinants. */
#ifndef RICCI_KERNELS_ELIMINATION_PARTS_H
#define RICCI_KERNELS_ELIMINATION_PARTS_H

#include "kernels/elimination/columns.h"

/* (re + i im) 2^exponent, scaled as EliminationDet says. */
EliminationDet parts_det(double re, double im, double exponent);
EliminationDet parts_times(EliminationDet, double re, double im);
EliminationDet parts_product(DType, const void *x, int64_t n);
double parts_spread(DType, const void *x, int64_t n);            /* the least size over the most */
bool parts_odd(Ctx *, int64_t n, const int64_t *order);          /* is it an odd permutation? */

/* The matrix of these columns, or with `rows` of these rows, which need not be sorted, and of a
 * diagonal beside them (NULL: of ones). */
Tensor *parts_triangle(Ctx *, DType, const Columns *, const void *diagonal, bool rows);
/* The matrix of these columns alone. */
Tensor *parts_matrix(Ctx *, DType, const Columns *);
Tensor *parts_order(Ctx *, int64_t n, const int64_t *order);

#endif
