/* What rows that make tensors share (making.c). */
#ifndef RICCI_BUILTINS_MAKING_H
#define RICCI_BUILTINS_MAKING_H

#include "interp/op/op.h"
#include "interp/state/random.h"

Device *made_on(OpCall *, int i);                    /* device=, or NULL */
/* dtype=, else the widest float of the device. Raises where the device has it not. */
DType made_dtype(OpCall *, int i, const Device *on, DType fallback);
int made_shape(OpCall *, int i, int64_t *shape);     /* a shape without -1 */
Value made_result(OpCall *, Device *on, Tensor *kept);       /* on its device */

#endif
