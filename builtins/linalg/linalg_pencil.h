/* What rows that are written in the language have in C for matrices of hardware floats. */
#ifndef RICCI_BUILTINS_LINALG_PENCIL_H
#define RICCI_BUILTINS_LINALG_PENCIL_H

#include "interp/op/op.h"

/* eig(A, B) by QZ. False: no two finite matrices of one order of hardware floats, or a pencil that
 * is singular for every x; the function of the language is to say so, or to compute it. */
bool pencil_run(OpCall *, bool left, Value *result);
Value condest_run(OpCall *);

#endif
