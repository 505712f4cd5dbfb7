/* Running sums, products and extremes along one axis. Each lane is walked in order, so the result
 * does not depend on threads. */
#ifndef RICCI_KERNELS_SCAN_H
#define RICCI_KERNELS_SCAN_H

#include "kernels/tensor/tensor.h"

/* Extremes are the first of equals; from a nan on they are nan. */
typedef enum ScanOp { SCAN_SUM, SCAN_PRODUCT, SCAN_MAX, SCAN_MIN, SCAN_OPS } ScanOp;

/* A lane: n elements of dtype `from` with stride ss; the result with stride sd is of that dtype,
 * sums and products of ints and bools of i64. f16 and bf16 accumulate in f32. NULL: complex
 * numbers have no extremes. */
typedef bool (*ScanFn)(void *dst, int64_t sd, const void *src, int64_t ss, int64_t n);
ScanFn scan_kernel(ScanOp, DType from);

/* out = running sum, product or extreme of x along axis; same shape, out contiguous. Returns false
 * if an integer left i64. A set interrupt flag leaves out undefined. */
bool scan_run(Ctx *, ScanOp, Tensor *x, int axis, Tensor *out);

#endif
