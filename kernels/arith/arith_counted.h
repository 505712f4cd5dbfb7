/* Rows of f32 and f64 to nearest in their own storage, with their inexact results counted. */
#ifndef RICCI_KERNELS_ARITH_COUNTED_H
#define RICCI_KERNELS_ARITH_COUNTED_H

#include "kernels/arith/arith.h"

/* out[i] = x[0][i] op x[1][i] for + - * /; strides are 0 or 1, out is contiguous and no operand.
 * a is the arithmetic of f32 or f64 to nearest, nothing saturated or flushed. False: something
 * special is among the results (out is then undefined, nothing is counted), or the operation or
 * the machine is not covered. */
bool arith_counted(Arith *a, EwOp op, void *out, const void *const x[], const int64_t sx[],
                   int64_t n);

#endif
