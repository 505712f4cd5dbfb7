/* Tuples of strings as operands (Op.texts). */
#ifndef RICCI_INTERP_TEXTS_H
#define RICCI_INTERP_TEXTS_H

#include "interp/op/op.h"

/* A tuple without names that holds strings alone, one at least. */
bool texts_is(Value);
/* The empty tuple: no strings, where it meets one. */
bool texts_none(Value);
/* Is an operand a tuple of strings, or, of an elementwise row, one a string and one a tensor with
 * axes or the empty tuple? */
bool texts_given(const Op *, const Value *args, int count);
/* Below 0, 0, above 0: by code point. */
int text_order(const Str *, const Str *);
bool text_compares(Operator, const Str *, const Str *);

#endif
