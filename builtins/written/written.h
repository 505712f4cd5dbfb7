/* Rows that are functions in the language (written.c). */
#ifndef RICCI_BUILTINS_WRITTEN_H
#define RICCI_BUILTINS_WRITTEN_H

#include "interp/op/op.h"

Value op_run_written(OpCall *);
/* A function of linear.ric for a row of C whose arguments go beyond it; it has the row's
 * parameters, none for what was not given. */
/* Was argument i given, and not as none? */
bool written_asked(OpCall *, int i);
Value written_call(OpCall *, const char *name);

#endif
