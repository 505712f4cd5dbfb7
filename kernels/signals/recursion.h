/* Filters with a recursion, sample by sample: direct form II transposed. */
#ifndef RICCI_KERNELS_RECURSION_H
#define RICCI_KERNELS_RECURSION_H

#include "kernels/tensor/tensor.h"

/* n samples with coefficients b and a of order + 1 each (a[0] = 1); z holds `order` numbers, the
 * state before and after. All of one dtype. */
typedef void (*RecursionFn)(int order, const void *b, const void *a, const void *x, void *y,
                            int64_t n, void *z);
/* NULL: f32, f64, c64 and c128 have one. */
RecursionFn recursion_kernel(DType);

#endif
