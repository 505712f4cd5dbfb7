/* Rounding to decimal digits, ties to even. */
#ifndef RICCI_KERNELS_ROUNDING_H
#define RICCI_KERNELS_ROUNDING_H

#include "kernels/tensor/tensor.h"

double rounding_f64(double x, int digits);
/* n contiguous elements of f32, f64 or an integer dtype. False if an integer leaves its
 * dtype. A set interrupt flag leaves out undefined: the caller polls. */
bool rounding_run(Ctx *, DType, const void *x, int64_t n, int digits, void *out);

#endif
