/* What the forms of rows on devices of generated source share (builtins/devices/devices*.c):
 * operands made dense there, results, and the way back to the host's row. A form either refuses
 * before it did anything, or computes on the device alone; where an operand is at fault, the host's
 * row is run so that its error is raised. */
#ifndef RICCI_BUILTINS_DEVICES_FORM_H
#define RICCI_BUILTINS_DEVICES_FORM_H

#include "builtins/devices/devices.h"
#include "interp/device/place_nest.h"

/* Runs the host's row on operands brought home, outside of all blocks; what it makes is moved to
 * the device. For operands at fault, and for results that are hardly worth a kernel. */
Value form_host(OpCall *, Device *);
/* The row's own function on operands as they lie: it only makes views. Argument 0 is what is
 * viewed, the others are brought home. */
Value form_views(OpCall *, Device *);
/* Tensors of `made` (taken; tuples too) as tensors of the device: those that lie elsewhere are
 * copied there. */
Value form_settle(OpCall *, Device *, Value made);

/* A contiguous tensor of the device with t's elements in another dtype or the same: t itself
 * where it is one. Rooted. */
Tensor *form_dense(OpCall *, Device *, Tensor *t, DType);
/* The same, but always a new one. */
Tensor *form_copy(OpCall *, Device *, Tensor *t, DType);
/* t's elements into a view of a tensor of the device. */
void form_assign(OpCall *, Device *, Tensor *out, Tensor *t);
/* A view, rooted. */
Tensor *form_view(OpCall *, Tensor *t, int rank, const int64_t *shape, const int64_t *strides,
                  int64_t at);
/* A dense tensor in another shape of the same size. */
Tensor *form_reshape(OpCall *, Tensor *dense, int rank, const int64_t *shape);
/* Every element the same number. False: refused. */
bool form_fill(OpCall *, Device *, Tensor *out, double value);
/* Is it an int or a bool? */
bool form_whole(DType);
/* Reads one number of a tensor of one element home. */
double form_read(OpCall *, Tensor *t);

#endif
