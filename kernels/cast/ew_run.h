/* Elementwise operations over whole tensors, operands of any dtypes. */
#ifndef RICCI_KERNELS_EW_RUN_H
#define RICCI_KERNELS_EW_RUN_H

#include "kernels/elementwise/ew.h"

/* out = op(in…): operands are broadcast to out's shape and cast to `compute` strip by
 * strip (no temporaries of full size); threads and non-temporal stores for large ones.
 * out has dtype ew_result_dtype and may be one of the operands when shape and dtype agree.
 * Integer division by zero, a negative shift count, an integer power with a negative
 * exponent: returns the kind of trouble (the caller raises; out is then undefined). Stops
 * early when ctx->interrupt is set (the caller polls and raises). Never raises itself. */
EwTrouble ew_run(Ctx *, EwOp, DType compute, Tensor *out, Tensor *const *in);

#endif
