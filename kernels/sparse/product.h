/* Products with sparse matrices of f32, f64, c64 and c128: dense operands have the matrix's dtype
 * and are at home. Sums are taken in an order that the data fix, never the threads. */
#ifndef RICCI_KERNELS_SPARSE_PRODUCT_H
#define RICCI_KERNELS_SPARSE_PRODUCT_H

#include "kernels/sparse/sparse.h"

/* A x: a vector of n elements or a matrix of n rows, of any strides. The result is in `made`. */
Tensor *csr_times(Ctx *, Made *, const Csr *a, Tensor *x);
/* A' x, without conjugation or (conj) of the conjugated matrix, for x of m elements or rows. */
Tensor *csr_turned_times(Ctx *, Made *, const Csr *a, Tensor *x, bool conj);
/* x A for a matrix x of m columns. */
Tensor *csr_times_from_left(Ctx *, Made *, Tensor *x, const Csr *a);

/* The same for memory: y = A x for k vectors at once, element (i, j) of them at x[i*step + j]; with
 * k = 1 a vector of any step. y has its k columns one beside the other. Raises ERR_MEMORY. */
void csr_times_into(Ctx *, Made *, const Csr *a, const char *x, int64_t step, int64_t k, char *y);
/* y = A' x for one vector x of m elements; y of n, without gaps. */
void csr_turned_times_into(Ctx *, Made *, const Csr *a, const char *x, int64_t step, bool conj,
                           char *y);

/* a b as a sparse matrix; both of one dtype. What cancels stays as an entry. Ends `made`. */
Tensor *csr_times_csr(Ctx *, Made *, const Csr *a, const Csr *b);

#endif
