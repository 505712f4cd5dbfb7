/* The rows of special functions, and what their files share. */
#ifndef RICCI_BUILTINS_SPECIAL_H
#define RICCI_BUILTINS_SPECIAL_H

#include "interp/precision/precise.h"

/* Op.format of the rows that go by kernels/special. */
#define SPECIAL(name, ...) Value op_format_##name(OpCall *, Scope *);
#include "kernels/special/special.def"
#undef SPECIAL
Value op_format_airy(OpCall *, Scope *);

/* The shape that the first n arguments broadcast to; raises what does not. */
int special_shape(OpCall *, Tensor *const *, int n, int64_t *shape);

#endif
