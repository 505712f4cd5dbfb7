/* Executable nodes. `lower` turns the resolved syntax of a chunk into a tree of Exec
 * nodes once; running is calling x->eval(in, x) down that tree. A node is chosen by what
 * is known of its operands (a slot, an int, a float, anything else), and every fast path
 * ends in a general one, so a wrong guess costs time and never an answer. Nodes live in
 * the chunk's arena and do not change; what a node remembers between runs (the callee it
 * saw, the operation behind a name) stands behind `data`.
 *
 * lower.h makes them; what an evaluator's file has for the others stands in its own header. */
#ifndef RICCI_INTERP_EXEC_H
#define RICCI_INTERP_EXEC_H

#include "interp/state/pinned.h"

typedef Value (*EvalFn)(Interp *, const Exec *);
typedef struct Lower Lower;    /* lower.h */

/* What an operand is, as far as the syntax tells. */
typedef enum Operand {
    OPD_X,                 /* any expression: evaluated, owned */
    /* a slot of the frame (or, at top level, of the module): read in place */
    OPD_L,
    OPD_I, OPD_F,          /* an int or float constant, in Exec.k */
    OPD_KINDS
} Operand;

enum {                     /* Exec.flags */
    XF_WRITES = 1,         /* may assign a slot of the running frame while it is evaluated */
    XF_WEAK = 2,           /* a numeric literal: adapts to the other operand */
    XF_WEAK_NAME = 4,      /* pi, inf or nan: weak while the name is not a variable */
    XF_DEEP_LOOP = 8,      /* stands inside an expression of the loop … */
    XF_DEEP_FN = 16,       /* … or function: flow goes on by unwinding */
    XF_EW = 32,            /* an elementwise operation on its operands … */
    XF_LAZY = 64,          /* … whose result the node above takes as a lazy value (fuse.h); c: that
                            * node, if it is a call */
    XF_SCOPED = 128        /* lowered for the inside of a scope: see eval_scope.h */
};

struct Exec {
    EvalFn eval;
    const Exec *a, *b;
    uint32_t sa, sb;       /* slots of a and b where they are OPD_L; else what the node needs */
    Value k;
    const Exec *c;
    uint32_t count;
    uint8_t op, weak, flags;
    uint8_t operand : 4;   /* what this node is to the one above */
    /* a call inside may lend a variable of the frame to C, which writes to it */
    bool lends : 1;
    /* what assigned variables hold may be used up before the assignment: an error would end the
     * function, so that nobody sees them again (of a call: those of CallSite.hands) */
    bool hands : 1;
    const Exec *const *list;
    void *data;
    const Node *node;
};

/* A lowered function, lambda, test or guard around deep flow. */
typedef struct FnCode {
    const Node *node;      /* FN, LAMBDA or TEST: text is the help, list the parameters */
    const FnInfo *info;
    const Exec *body;
    const Exec **defaults; /* per parameter, NULL where there is none */
    const Name *name;      /* NULL: a lambda */
    uint32_t params, slots, captured, required;
    uint32_t stack;        /* bytes of the C stack that its body may need */
    int32_t rest;          /* the variadic parameter, or -1 */
    uint32_t exact;        /* a call with so many positional arguments has nothing to bind */
    struct IxTree *inlined;    /* its body as index notation inlines it, once that was asked for */
    struct FnCode *scoped; /* the same as it runs inside a scope, once it was called there */
    struct HotSite *hot;   /* its calls count too: hot.h */
} FnCode;

/* ---- shared by the evaluators ---- */
static inline Value exec_run(Interp *in, const Exec *x) { return x->eval(in, x); }
static inline Value v_flow(void) { return (Value){ .tag = V_FLOW }; }

/* May C hold a pointer into it? Programs without native code look no further than the first
 * test. */
static inline bool v_maybe_pinned(const Interp *in, Value v)
{
    return __builtin_expect(in->pins != 0, 0) &&
           (v.tag == V_TENSOR ? v.tensor->buffer->pinned != NULL : v.tag == V_STRUCT);
}

/* A variable's value for another place: what C may write to is copied. */
static inline Value v_share(Interp *in, Value v)
{
    if (!v_is_object(v))
        return v;
    if (v_maybe_pinned(in, v))
        return value_detached(in, v);
    ++*v.refs;
    return v;
}

/* Puts an owned value into a variable. */
static inline void slot_put(Interp *in, Value *slot, Value v)
{
    Value old = *slot;
    *slot = v;
    if (__builtin_expect(v_is_object(old), 0))
        v_release(&in->ctx, old);
}

typedef struct RaiseSite {
    ErrKind kind;
    const char *message, *help;
} RaiseSite;

#endif
