/* Prototypes of all run functions, from the rows that name them. Every file that defines
 * some includes this. */
#ifndef RICCI_BUILTINS_ROWS_H
#define RICCI_BUILTINS_ROWS_H

#include "interp/op.h"

#define OP(name, ...) Value op_run_##name(OpCall *);
#include "builtins/rounding.def"
#include "builtins/reductions.def"
#include "builtins/making.def"
#include "builtins/shape.def"
#include "builtins/linalg.def"
#include "builtins/signals.def"
#include "builtins/files.def"
#include "builtins/pictures.def"
#include "builtins/system.def"
#include "builtins/precision.def"
#include "builtins/place.def"
#include "builtins/strings.def"
#include "builtins/native.def"
#undef OP

/* Op.needs of the rows that have it. */
const char *needs_norm(const Value *args, int count);
const char *needs_solve(const Value *args, int count);
const char *needs_matpow(const Value *args, int count);

/* A device, or the name of one, that can be used (place.c). */
Device *arg_device(OpCall *, int i);

#endif
