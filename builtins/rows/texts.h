/* What rows do with tuples of strings: Op.texts (builtins/arrays/texts.c). */
#ifndef RICCI_BUILTINS_TEXTS_H
#define RICCI_BUILTINS_TEXTS_H

#include "interp/op/op.h"

/* Is it `names in names`? Then each of the first is looked for; among: true for what is there. */
bool texts_in_texts(const OpCall *);
Value texts_members(OpCall *, bool among);
Value op_texts_argmax(OpCall *);
Value op_texts_argmin(OpCall *);
Value op_texts_argsort(OpCall *);
Value op_texts_compare(OpCall *);
Value op_texts_max(OpCall *);
Value op_texts_min(OpCall *);
Value op_texts_searchsorted(OpCall *);
Value op_texts_sort(OpCall *);
Value op_texts_unique(OpCall *);
Value op_texts_where(OpCall *);

#endif
