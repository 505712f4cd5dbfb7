/* Prototypes of all run functions, from the rows that name them. Every file that defines
 * some includes this. */
#ifndef RICCI_BUILTINS_ROWS_H
#define RICCI_BUILTINS_ROWS_H

#include "interp/op/op.h"

#define OP(name, ...) Value op_run_##name(OpCall *);
#include "builtins/arrays/rounding.def"
#include "builtins/special/special.def"
#include "builtins/arrays/reductions.def"
#include "builtins/arrays/making.def"
#include "builtins/random/random.def"
#include "builtins/arrays/shape.def"
#include "builtins/linalg/linalg.def"
#include "builtins/signals/signals.def"
#include "builtins/attention/attention.def"
#include "builtins/sparse/sparse.def"
#include "builtins/files/files.def"
#include "builtins/pictures/pictures.def"
#include "builtins/system/system.def"
#include "builtins/arrays/precision.def"
#include "builtins/places/place.def"
#include "builtins/strings/strings.def"
#include "builtins/gradients/gradients.def"
#include "builtins/graphs/graphs.def"
#include "builtins/quant/quant.def"
#include "builtins/digits/digits.def"
#include "builtins/system/native.def"
#undef OP

/* Op.needs of the rows that have it. */
const char *needs_norm(const Value *args, int count);
const char *needs_solve(const Value *args, int count);
const char *needs_matpow(const Value *args, int count);

/* side= of searchsorted in a, argument 0: whether it is "right". Raises where a is no vector. */
bool search_right(OpCall *, const Tensor *a);

/* A device, or the name of one, that can be used (place.c). */
Device *arg_device(OpCall *, int i);

#endif
