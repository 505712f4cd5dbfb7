/* The evaluators of names and constants, for lowering; what a name means (eval_name.c). */
#ifndef RICCI_INTERP_EVAL_NAME_H
#define RICCI_INTERP_EVAL_NAME_H

#include "interp/state/exec.h"

_Noreturn void raise_undefined(Interp *, const Exec *x, const Name *);
_Noreturn void raise_unassigned(Interp *, const Exec *x);   /* an empty local */
bool exec_weak(const Exec *);

/* Leaves, named because parents look at them. */
Value eval_const(Interp *, const Exec *);
_Noreturn Value eval_raise(Interp *, const Exec *);  /* data: RaiseSite */
Value eval_local(Interp *, const Exec *);            /* sa */
Value eval_global(Interp *, const Exec *);           /* data: GlobalRef */
/* The same for who only looks at the value while the node runs: a pinned variable's own memory. */
Value exec_peek(Interp *, const Exec *);
Value eval_self(Interp *, const Exec *);
Value eval_long(Interp *, const Exec *);             /* list; sa: where the value so far stands */
Value eval_sofar(Interp *, const Exec *);            /* sa */

/* A global name seen from a function, or any name that may be a builtin. */
typedef struct GlobalRef {
    Value *slot;
    const Name *name;
    const Op *op;                /* cached once found */
    Value predefined;            /* pi, f32, …; V_UNDEF if it is none */
    bool looked;
} GlobalRef;
Value global_builtin(Interp *, const Exec *x, GlobalRef *);   /* slot is empty */

Module *interp_module(Interp *);                     /* the one whose code runs */
/* Every name that code running now could use, for completion; returns how many. */
size_t interp_names(Interp *, const char **names, size_t cap);

#endif
