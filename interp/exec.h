/* Executable nodes. `lower` turns the resolved syntax of a chunk into a tree of Exec
 * nodes once; running is calling x->eval(in, x) down that tree. A node is chosen by what
 * is known of its operands (a slot, an int, a float, anything else), and every fast path
 * ends in a general one, so a wrong guess costs time and never an answer. Nodes live in
 * the chunk's arena and do not change; what a node remembers between runs (the callee it
 * saw, the operation behind a name) stands behind `data`.
 *
 * Private to lower*.c, eval*.c, call.c, module.c and interp.c. */
#ifndef RICCI_INTERP_EXEC_H
#define RICCI_INTERP_EXEC_H

#include "interp/op.h"

typedef Value (*EvalFn)(Interp *, const Exec *);

/* What an operand is, as far as the syntax tells. */
typedef enum Operand {
    OPD_X,                 /* any expression: evaluated, owned */
    OPD_L,                 /* a slot of the frame (or, at top level, of the module): read in place */
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
    bool lends : 1;        /* a call inside may lend a variable of the frame to C, which writes to it */
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
    int32_t rest;          /* the variadic parameter, or -1 */
    uint32_t exact;        /* a call with so many positional arguments has nothing to bind */
    struct IxTree *inlined;    /* its body as index notation inlines it, once that was asked for */
    struct FnCode *scoped; /* the same as it runs inside a scope, once it was called there */
} FnCode;

/* ---- lowering (lower*.c) ---- */
typedef struct Lower {
    Interp *in;
    Module *module;
    Chunk *chunk;
    const FnCode *fn;      /* NULL at top level */
    bool writes, lends;    /* something assigned a variable, or may have lent one to C, since the node began */
    bool tail;             /* the node's value is the function's result */
    bool in_loop;
    bool scoped;           /* this runs inside a precision or autocast scope: eval_scope.h */
    bool deep_loop, deep_fn;     /* a value stands half-made between here and the loop or function */
    uint8_t leaving;       /* statements after so many `if c { return e }` of the function */
    bool loop_unwinds, fn_unwinds;   /* set by deep flow: the loop or function needs a catch point */
} Lower;

const Exec *lower_chunk(Interp *, Module *, Chunk *);
const Exec *lower(Lower *, const Node *);            /* keeps the position (tail, deep) */
const Exec *lower_operand(Lower *, const Node *);    /* a value that something else waits for */
const Exec **lower_list(Lower *, Node *const *list, uint32_t count);
Exec *exec_new(Lower *, EvalFn, const Node *);
const Exec *exec_const(Lower *, const Node *, Value);   /* v scalar, or owned by the arena's chunk */
/* A node that raises when it runs: help is a ready text (may be NULL). */
const Exec *exec_raise(Lower *, const Node *, ErrKind, const char *help, const char *fmt, ...)
    __attribute__((format(printf, 5, 6)));
Node *node_copy(Lower *, const Node *);              /* a synthetic node to change */
void *lower_alloc(Lower *, size_t bytes);
/* Nodes of a family; NULL where the kind is not theirs. */
const Exec *lower_expression(Lower *, const Node *);
const Exec *lower_statement(Lower *, const Node *);
const Exec *lower_assign(Lower *, const Node *);
const Exec *lower_opassign(Lower *, const Node *);
const Exec *lower_call(Lower *, const Node *);
const Exec *lower_index(Lower *, const Node *);
const Exec *lower_function(Lower *, const Node *);
const Exec *lower_comprehension(Lower *, const Node *);
const Exec *lower_extern(Lower *, const Node *);
const Exec *lower_unbuilt(Lower *, const Node *);
FnCode *lower_code(Lower *, const Node *);
FnCode *lower_code_scoped(Lower *, const Node *);    /* as it runs inside a scope */
void lower_binary_choose(Exec *x);                   /* eval by op and operand kinds */
EvalFn assign_choose(const Exec *value);             /* NULL: no fused node */
EvalFn opassign_choose(int op, int operand);
bool lower_is_statement(const Node *);               /* its value may be V_FLOW */

/* ---- shared by the evaluators ---- */
static inline Value exec_run(Interp *in, const Exec *x) { return x->eval(in, x); }
static inline Value v_flow(void) { return (Value){ .tag = V_FLOW }; }
Value native_detached(Interp *, Value);              /* native.h */

/* May C hold a pointer into it? Programs without native code look no further than the first test. */
static inline bool v_maybe_pinned(const Interp *in, Value v)
{
    return __builtin_expect(in->native != NULL, 0) &&
           (v.tag == V_TENSOR ? v.tensor->buffer->pinned != NULL : v.tag == V_STRUCT);
}

/* A variable's value for another place: what C may write to is copied. */
static inline Value v_share(Interp *in, Value v)
{
    if (!v_is_object(v))
        return v;
    if (v_maybe_pinned(in, v))
        return native_detached(in, v);
    ++*v.refs;
    return v;
}

/* Cuts the value stack to `mark` without a call when it holds scalars. */
static inline void stack_drop(Interp *in, Value *mark)
{
    while (in->sp > mark)
        v_release(&in->ctx, *--in->sp);
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

void stack_room(Interp *, size_t values);            /* raises `memory` when they do not fit */
_Noreturn void raise_undefined(Interp *, const Exec *x, const Name *);
_Noreturn void raise_unassigned(Interp *, const Exec *x);   /* an empty local */
_Noreturn void flow_unwind(Interp *);                /* deep break, continue, return */
bool condition(Interp *, const Exec *cond);          /* evaluates and wants a bool */
int64_t range_part(Interp *, const Exec *part);
bool exec_weak(const Exec *);

/* Leaves, named because parents look at them. */
Value eval_const(Interp *, const Exec *);
_Noreturn Value eval_raise(Interp *, const Exec *);  /* data: RaiseSite */
Value eval_local(Interp *, const Exec *);            /* sa */
Value eval_global(Interp *, const Exec *);           /* data: GlobalRef */
/* The same for who only looks at the value while the node runs: a pinned variable's own memory. */
Value exec_peek(Interp *, const Exec *);
Value eval_self(Interp *, const Exec *);
Value eval_range(Interp *, const Exec *);
Value eval_tuple(Interp *, const Exec *);
Value eval_chain(Interp *, const Exec *);
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

/* Operations behind an operator, with places and operands kept alive. */
Value binary_slow(Interp *, const Exec *x, Value a, Value b);
Value binary_values(Interp *, const Exec *x, Value a, Value b, unsigned weak);
Value unary_door(Interp *, const Exec *x, Value v);  /* takes v */

/* Iteration for `for`, comprehensions, unpacking and spread. */
typedef struct Each {
    Value over;                  /* borrowed: the caller keeps it on the stack */
    int64_t at, count;
    size_t byte;                 /* in a string */
} Each;
void each_start(Interp *, const Exec *x, Each *, Value over);
bool each_next(Interp *, Each *, Value *out);        /* out is owned */
int64_t each_count(Value over);                      /* -1: not iterable */

/* Targets of assignments. */
typedef struct Target Target;
const Exec *lower_target(Lower *, const Node *);
void target_assign(Interp *, const Exec *target, Value v);   /* takes v */

int subs_eval(Interp *, const Exec *x, Sub *subs);   /* pushes them; x->list are the subscripts */
enum { SUBS_MAX = TENSOR_RANK_MAX + 8 };

/* ---- calls (call.c) ---- */
Value eval_call_local(Interp *, const Exec *);       /* sa: the callee's slot */
Value eval_call_global(Interp *, const Exec *);
Value eval_call_self(Interp *, const Exec *);
Value eval_call_general(Interp *, const Exec *);     /* a: the callee */
Value eval_make_function(Interp *, const Exec *);    /* data: FnSite */
/* Runs fn on argc owned values at the top of the stack, from base on; takes them. */
Value function_run(Interp *, const Exec *site, Function *, Value *base, uint32_t argc);
Function *function_new(Interp *, const FnCode *, Chunk *, Module *);
Source *frame_source(Interp *, const CallFrame *);   /* whose code runs in the frame */
bool source_is_stdlib(const Source *);               /* NULL: no */
void where_leave_stdlib(Interp *, Where *);
void interp_locate(Ctx *, Where *);                      /* Ctx.locate: what runs now */
void trace_collect(Ctx *, Error *);                  /* Ctx.trace */
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
} CallSite;

/* ---- modules ---- */
typedef struct ModuleTest {
    const FnCode *code;
    Chunk *chunk;
    const char *name;
    struct Scope *scope;         /* the one it stands in, once its statement has run; or NULL */
} ModuleTest;
void modules_free(Interp *);
Value eval_import(Interp *, const Exec *);
Value eval_extern(Interp *, const Exec *);                    /* data: ExternSite */
ModuleTest *module_add_test(Interp *, Module *, Chunk *, const FnCode *);
Value eval_test(Interp *, const Exec *);                      /* data: the ModuleTest */
Value module_member(Interp *, Module *, const Name *);       /* owned; raises `name` */

/* interp/predefined.c: pi, inf, nan, formats, devices. V_UNDEF if the name is none. */
Value predefined_find(Interp *, const char *name);
bool predefined_is_constant(const char *name);       /* pi, inf, nan: adapt like a literal */
const char *predefined_name(int i);                  /* NULL after the last */
Module *interp_module(Interp *);                     /* the one whose code runs */

#endif
