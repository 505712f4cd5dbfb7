/* Pinned variables (pinned.c): a tensor whose buffer, or a struct that, C may write to at any
 * time. */
#ifndef RICCI_INTERP_PINNED_H
#define RICCI_INTERP_PINNED_H

#include "interp/state/interp.h"

bool value_is_pinned(Value);
/* What may leave a pinned variable: a copy of its value, of the items of a tuple too. Owned; v is
 * borrowed. */
Value value_detached(Interp *, Value v);
/* x = v and x op= v keep the memory of a pinned x: v goes into it; raises where it does not fit.
 * Takes v; at: the statement. False: *slot is not pinned, nothing happened. */
bool pinned_assign(Interp *, const Exec *at, Value *slot, Value v);
_Noreturn void pinned_raise(Interp *, Value v, const char *why);

#endif
