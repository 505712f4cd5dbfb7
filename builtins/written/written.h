/* Rows that are functions in the language (written.c). */
#ifndef RICCI_BUILTINS_WRITTEN_H
#define RICCI_BUILTINS_WRITTEN_H

#include "interp/op/op.h"

#define OP(name, ...) Value op_run_##name(OpCall *);
#include "builtins/written/linear.def"
#include "builtins/written/krylov.def"
#include "builtins/written/windows.def"
#include "builtins/written/shelf.def"
#undef OP

/* The function of that name with the row's arguments. */
Value written_run(OpCall *, const char *name);
/* The same of sparse matrices, whatever the row runs otherwise: what it calls sees to entries. */
Value written_on_entries(OpCall *);
Value recursion_run(OpCall *);           /* lfilter */
Value recursion_on_entries(OpCall *);
Value frexp_run(OpCall *);
Value isin_run(OpCall *);
Value window_run(OpCall *);
/* Was argument i given, and not as none? */
bool written_asked(OpCall *, int i);
/* A function of these files for a row of C whose arguments go beyond it; it has the row's
 * parameters, none for what was not given. */
Value written_call(OpCall *, const char *name);

#endif
