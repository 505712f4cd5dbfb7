/* A product of dense matrices at the places of a sparse one. */
#ifndef RICCI_KERNELS_SPARSE_SAMPLED_H
#define RICCI_KERNELS_SPARSE_SAMPLED_H

#include "kernels/sparse/sparse.h"

/* For each entry (i, j) of a, which is of f32, f64, c64 or c128: its value times the sum over the k
 * numbers from x[i*k] and from y[j*k] on of their products, of the same dtype; a.value = NULL: the
 * sum itself. Nothing is conjugated. The result is a vector in `made`; Ctrl-C leaves it unfinished:
 * see made_poll. */
Tensor *csr_sampled(Ctx *, Made *, const Csr *a, const char *x, const char *y, int64_t k);

/* to[e] = element (i, j) of x for each entry (i, j): steps in elements, 0 where x does not move. */
void csr_sample(Ctx *, const Csr *a, char *to, const char *x, int64_t by_row, int64_t by_column,
                size_t each);

#endif
