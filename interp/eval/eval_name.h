/* The evaluators of names and constants, for lowering; what a name means (eval_name.c). */
#ifndef RICCI_INTERP_EVAL_NAME_H
#define RICCI_INTERP_EVAL_NAME_H

#include "interp/lower/sites.h"

_Noreturn void raise_undefined(Interp *, const Exec *x, const Name *);
_Noreturn void raise_unassigned(Interp *, const Exec *x);   /* an empty local */
bool exec_weak(const Exec *);

/* Leaves, named because parents look at them. */
Value eval_local(Interp *, const Exec *);            /* sa */
Value eval_global(Interp *, const Exec *);           /* data: GlobalRef */
/* The same for who only looks at the value while the node runs: a pinned variable's own memory. */
Value exec_peek(Interp *, const Exec *);
Value eval_self(Interp *, const Exec *);
Value eval_long(Interp *, const Exec *);             /* list; sa: where the value so far stands */
Value eval_sofar(Interp *, const Exec *);            /* sa */

Value global_builtin(Interp *, const Exec *x, GlobalRef *);   /* slot is empty */

/* Every name that code running now could use, for completion; returns how many. */
size_t interp_names(Interp *, const char **names, size_t cap);

/* The variable that a node names; NULL: it names none. own: the running function's. */
Value *exec_slot(Interp *, const Exec *, bool *own);
/* The variable that an argument node names, where a callee may write to it; NULL: it is none.
 * Raises `name` for a global inside a function. */
Value *exec_variable(Interp *, const Exec *arg);
/* The variable that stands as the first argument of the running operation, whose row says
 * on_variable (its argument 0 is none then); NULL: no variable stands there. */
Value *exec_taken(Interp *);

#endif
