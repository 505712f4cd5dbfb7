/* Running sums and products along one axis. Each lane is walked in order, so the result does not
 * depend on threads. */
#ifndef RICCI_KERNELS_SCAN_H
#define RICCI_KERNELS_SCAN_H

#include "kernels/tensor/tensor.h"

/* A lane: n elements of dtype `from` with stride ss; the result of dtype `to` (i64 for
 * ints and bools, `from` otherwise) with stride sd. f16 and bf16 accumulate in f32. */
typedef bool (*ScanFn)(void *dst, int64_t sd, const void *src, int64_t ss, int64_t n);
ScanFn scan_kernel(bool product, DType from);

/* out = running sum or product of x along axis; same shape, out contiguous. Returns false
 * if an integer left i64. A set interrupt flag leaves out undefined. */
bool scan_run(Ctx *, bool product, Tensor *x, int axis, Tensor *out);

#endif
