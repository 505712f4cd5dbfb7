/* Fixes made of the user's own text (fix_text.c). */
#ifndef RICCI_INTERP_FIX_TEXT_H
#define RICCI_INTERP_FIX_TEXT_H

#include "interp/state/interp.h"

/* The user's text of the construct that failed with operand i replaced, if that makes a short
 * line. */
bool fix_replace(const Error *, int operand, const char *by, char *out, size_t cap);
/* code with the call at `from`, whose first argument is `operand`, made for each item of that:
 * [f(s, y) for s in x]. False: no such call stands there, or it is too long. */
bool fix_each(const char *code, size_t from, const char *operand, char *out, size_t cap);
/* The help for bools at n, where one bool was wanted beside `and`, `or` or `not`. False: none of
 * these is there. */
bool fix_masks(Interp *, const struct Node *n, char *help, size_t cap);
/* Is operand i a plain number as the user wrote it? */
bool fix_number(const Error *, int operand);

#endif
