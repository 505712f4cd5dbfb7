/* Casts, and numbers from text (cast.c). */
#ifndef RICCI_INTERP_CAST_H
#define RICCI_INTERP_CAST_H

#include "interp/op/op.h"
#include "kernels/arith/arith.h"

/* x as another dtype: what `f32(x)` and `cast(x, f32)` do; numbers, tensors, ranges. */
Value op_cast(Interp *, Value x, DType);
/* interval(lo, hi): the narrowest that holds both numbers. */
Value interval_of_bounds(Interp *, Value lo, Value hi);
/* The arithmetic of dt as a cast uses it: in the mode of a precision scope, but to nearest under
 * `stochastic`, as literals are. False: dt is no real float format, nor rational. */
bool cast_arith(Interp *, Arith *, DType dt);
/* The number that stands in a text, as an element of a real dtype, rounded once to nearest: for
 * literals that meet a tensor of that dtype. False: the text is no number. */
bool literal_store(Interp *, DType, void *element, const char *text, size_t len);

#endif
