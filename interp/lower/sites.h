/* What a node remembers between runs, behind Exec.data: the operation behind a name, the callee of
 * a call. */
#ifndef RICCI_INTERP_SITES_H
#define RICCI_INTERP_SITES_H

#include "interp/state/exec.h"
#include "kernels/elementwise/ew.h"

/* A global name seen from a function, or any name that may be a builtin. */
typedef struct GlobalRef {
    Value *slot;
    const Name *name;
    const Op *op;                /* cached once found */
    Value predefined;            /* pi, f32, …; V_UNDEF if it is none */
    bool looked;
} GlobalRef;

_Noreturn Value eval_raise(Interp *, const Exec *);    /* exec_raise: its node may be of any kind */

typedef struct FnSite {
    FnCode *code;
    Chunk *chunk;
    Module *module;
} FnSite;
typedef struct CallSite {
    GlobalRef ref;
    EwFn scalar;                 /* the f64 kernel of an elementwise operation of one operand */
    const Name **names;          /* of named arguments, after the positional ones */
    uint32_t positional, named;
    bool spread;
    unsigned weak;
    /* bits of positional arguments that are variables which the call's assignment overwrites */
    uint32_t hands;
    bool outside;              /* they are variables of the program, which functions may read */
} CallSite;

#endif
