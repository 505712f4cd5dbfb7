/* The form of the row draw in a precision scope (distributions.c). */
#ifndef RICCI_BUILTINS_RANDOM_H
#define RICCI_BUILTINS_RANDOM_H

#include "interp/op/op.h"
#include "interp/state/scope.h"

Value op_format_draw(OpCall *, Scope *);

#endif
