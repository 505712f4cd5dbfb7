/* Derivatives. A function is run on traced values (Traced, interp/state/value.h); each operation
 * that meets one leaves an entry on the tape of that derivative, and gives a traced value. Going
 * back over the entries, a rule for each makes of the cotangent of a result those of its operands.
 *
 *   tape.c       tapes, entries, traced values
 *   record.c     what meets a traced value: operations, literals, subscripts, stores
 *   rules.c      the rules of rows: slopes of elementwise ones, functions of rules.ric for others
 *   backward.c   entries backward; the same forward, by transposing a rule
 *   entries.c    sparse matrices, whose derivatives have their entries
 *   trace.c      arguments of any structure traced, results and gradients of that structure
 *   transform.c  grad(f) and its like: functions made of functions
 *
 * Levels: a derivative taken inside another has a tape of a higher level. A traced value holds what
 * the level below sees, which may be traced there. An operation is recorded on the highest tape
 * among its operands, and then meets the others as it runs. Rules are made of operations that go
 * through the door, so what they do is recorded on the tapes below: derivatives of any order, in
 * any format. Forward mode applies a rule to a traced cotangent and goes back over that, which is
 * the transposed of a linear map twice: one set of rules serves both modes. */
#ifndef RICCI_INTERP_GRADIENT_H
#define RICCI_INTERP_GRADIENT_H

#include "interp/op/traced.h"
#include "interp/state/kind.h"
#include "interp/state/scope.h"

#include <string.h>

typedef enum TapeMode { TAPE_REVERSE, TAPE_FORWARD, TAPE_GRAPH } TapeMode;

typedef enum EntryKind {
    ENTRY_LEAF,             /* an argument */
    ENTRY_ROW,              /* a row, by its rule */
    ENTRY_STEP,             /* a step function: an error where its derivative is asked for */
    ENTRY_FIELD,            /* a field of the tuple that a row gave */
    ENTRY_INDEX,            /* x[subs] */
    ENTRY_STORE,            /* x[subs] = v */
    ENTRY_ADD,              /* x[subs] += v, -= v */
    ENTRY_LITERAL,          /* [a, b; c, d] */
    ENTRY_CALL              /* a function with a rule of its own: Entry.back */
} EntryKind;

typedef struct Tape Tape;
typedef struct Entry Entry;

/* The rank, lengths and dtype of a number or tensor. */
typedef struct Measured {
    DType dtype;
    int rank;
    const int64_t *shape;
} Measured;
Measured measured_of(Value);

/* What a tape does that keeps operations for themselves (interp/graph), not their derivatives.
 * `below`: the operands as the level below t sees them, r: what was made of them, both borrowed.
 * Each gives the result as it is on t; owned. */
typedef enum TapeFailing { FAILING_NOTHING, FAILING_OPERATION, FAILING_LOOK } TapeFailing;

typedef struct Recorder {
    /* Does it hear of this call without a traced operand? NULL: of all calls. */
    bool (*hears)(const OpCall *);
    bool forever;                   /* it runs again: an error that is caught decides for ever */
    /* a row that is about to run on `below`, which is on the value stack; may raise */
    void (*before)(OpCall *, Tape *t, Value *below);
    Value (*row)(OpCall *, Tape *t, const Value *below, Value r);
    Value (*literal)(Interp *, Tape *t, const Value *items, const bool *weak, const int *lengths,
                     int n, Value r);
    Value (*index)(Interp *, Tape *t, Value x, const struct Sub *subs, int n, Value r);
    /* v is a length that is read now: what it is to the level below; owned. V_UNDEF: it is none */
    Value (*number)(Interp *, Tape *t, Value v);
    /* x of t got x[subs] = v, or op= v; from: the plain value that it was, V_UNDEF: of its node. */
    void (*store)(Interp *, Tape *t, Traced *x, Value from, const struct Sub *subs, int n,
                  const Op *op, Value v, bool weak);
    /* leaves: of those at base that the functions have which it inlines begin behind its own */
    Value (*notation)(Interp *, const Exec *, void *site, Tape *t, const Value *base, int leaves,
                      Value r);
    Value (*product)(Interp *, Tape *t, Value a, Value b, Value r);     /* strong_product */
    /* Kind.looked and Kind.measured of what is a node of t. */
    void (*looked)(Interp *, Tape *t, const Traced *);
    void (*measured)(Interp *, Tape *t, uint32_t node, int axis, Measured);
} Recorder;

/* From the cotangent of a result to those of the operands. *w is owned by the caller, on the value
 * stack; what is taken out of it is replaced by V_UNDEF. out: one slot for each operand, on the
 * value stack, V_UNDEF where nothing is given. */
typedef void (*BackFn)(Interp *, const Tape *, const Entry *, Value *w, Value *out);

/* Where an operand of an entry stood: argument `arg` of the call, or item `item` of it. */
typedef struct TapeOperand {
    uint32_t node;                  /* 0: a constant */
    int32_t arg, item;
} TapeOperand;

struct Entry {
    uint8_t kind;
    DType dtype;                    /* of the result */
    int8_t rank;                    /* of the result; -1: it has parts */
    uint32_t field;
    uint32_t operands, keeps;
    uint32_t operand, keep;         /* where they start in the tape's lists */
    uint32_t shape;                 /* where its lengths start there */
    uint32_t below;                 /* the result's node on the recorder's tape below, or 0 */
    Tensor *pattern;                /* of a sparse result, its own reference; NULL: it is dense */
    const Op *op;
    BackFn back;
    const Exec *at;                 /* the place in the program, in … */
    Source *source;                 /* … this text; borrowed from who is running */
    Scope *scope;                   /* a copy of the one it ran in, or NULL */
    struct DeviceBlock *place;      /* likewise */
};

struct Tape {
    Native native;                  /* first */
    Ctx *ctx;
    struct Tape *up;                /* the derivative around; borrowed */
    int level;
    uint8_t mode;
    bool alive;                     /* the function runs: what is traced on it is recorded */
    const Recorder *recorder;       /* TAPE_GRAPH; it has no entries … */
    void *record;                   /* … and keeps what is the recorder's */
    uint8_t failing;                /* TapeFailing: what an error is of, if one is on its way */
    Entry *entry;
    TapeOperand *operand;
    Value *keep;
    int64_t *shape;
    uint32_t entries, operands, keeps, shapes;
    size_t entry_cap, operand_cap, keep_cap, shape_cap;
    uint32_t bad;                   /* the entry that first made a cotangent that is not finite */
    Value bad_operand;              /* what its operand was there; V_NONE: not known */
    Scope **scope;                  /* copies, the last one last */
    struct DeviceBlock **place;     /* likewise */
    uint32_t scopes, places;
    size_t scope_cap, place_cap;
};

/* ---- tape.c ---- */
Tape *tape_new(Interp *, TapeMode);
static inline Value v_tape(Tape *t) { return (Value){ .tag = V_TRANSFORM, .ptr = t }; }
/* Between these the tape is the innermost. It stands on the value stack. */
void tape_begin(Interp *, Tape *);
void tape_end(Interp *, Tape *);
/* Does the function still run? */
bool tape_alive(const Interp *, const Tape *);
/* The highest tape of a recorder below a level (0: of all), or NULL. */
Tape *tape_recording(const Interp *, int level);
/* What an operation on t is for the level below runs between these: a recorder that hears of all
 * calls does not hear of its own. Errors: guards restore it. */
static inline int tape_below_begin(Interp *in, const Tape *t)
{
    int deaf = in->deaf;
    if (t && t->recorder && t->recorder->hears(NULL))
        in->deaf = t->level;
    return deaf;
}
static inline void tape_below_end(Interp *in, int deaf) { in->deaf = deaf; }
/* The highest of those who hear of a call whatever its operands (Recorder.hears), or NULL. */
Tape *tape_hearing(const Interp *, const OpCall *);
/* The lengths of a node's result become numbers: whoever records it below is told. */
void tape_measured(Interp *, const Tape *, const Entry *);
/* The highest tape on which one of the subscripts is recorded, or t. */
Tape *tape_of_subs(const struct Sub *, int n, Tape *t);
/* Each part of the subscripts as the level below t sees it, onto the value stack. */
void subs_below(Interp *, const struct Sub *subs, int n, const Tape *t, struct Sub *out);
/* A new traced value; takes `value`. */
Traced *traced_new(Interp *, Tape *, Value value, uint32_t node);
static inline Value v_traced(Traced *t) { return (Value){ .tag = V_TRACED, .ptr = t }; }
static inline Traced *traced_of(Value v) { return v.ptr; }
/* Its tangent on t; V_UNDEF: it has none there. */
static inline Value tangent_on(Value v, const Tape *t)
{
    return v.tag == V_TRACED && traced_of(v)->tape == t ? traced_of(v)->tangent : v_undef();
}
/* The tape of the highest level on which something in v is traced, or t. */
Tape *tape_of(Value v, Tape *t);
/* v as the level below t sees it, tuples too; owned. Ended tapes are not seen. */
Value value_below(Interp *, Value v, const Tape *t);
/* The tape of the highest level below `under` (NULL: of all) on which something in v is traced, or
 * in what functions in it captured; or t. */
Tape *tape_inside(Value v, const Tape *under, Tape *t);
/* The same also of what functions in v captured. */
Value parts_below(Interp *, Value v, const Tape *t);
/* One like v, on the value stack, whose parts are still to come; where they go. */
Value *push_like(Interp *, Value v);
/* v as an operation on t has it; owned. */
Value value_on(Interp *, Value v, const Tape *t);
/* v without anything remembered for a derivative; owned. */
Value value_underived(Interp *, Value v);
/* v without anything remembered; owned. */
Value value_detached_all(Interp *, Value v);
/* An entry whose result is `like`; its number, which is the result's node. */
uint32_t tape_entry(Interp *, Tape *, EntryKind, Value like);
void tape_operand(Tape *, uint32_t node, int arg, int item);
/* Retains v; of what functions in it captured, that which the level below sees: a tape holds
 * nothing that is traced on it. */
void tape_keep(Tape *, Value v);
void keep_fields(Interp *, Tape *, Value tuple);      /* last of all: record.c */
void tape_drop(Interp *, Tape *, uint32_t entries);  /* all behind the first so many */
static inline Entry *tape_at(const Tape *t, uint32_t node) { return &t->entry[node - 1]; }
/* Of a tape that lives on: short texts of a program around us do not (module.c), nor do nodes. */
void tape_forget_places(Tape *);
void tape_forget(Interp *, Tape *, Entry *);         /* what it kept */
const Kind *traced_kind(void);
extern const Traces traces;
/* Kind of number: has it a derivative? */
static inline bool differentiable(DType dt)
{
    return dt != DT_NONE && strchr("fcq", dtype_info(dt)->kind) != NULL;
}

/* ---- record.c, notation.c ---- */
/* What an operation or a literal gave, as a traced value of the entry that was just made. */
Value entry_value(Interp *, Tape *, uint32_t node, Value r, const Value *tangents);
/* The operands of the entry; their tangents go onto the value stack. */
void list_operands(Interp *, Tape *, const Value *args, int count);
Value cut_value(Interp *, Tape *, Value r, const Op *, const Exec *at);
/* What a step function gave: an entry that raises when a cotangent comes; on a forward tape a mark
 * that goes on with what is made of it. */
Value step_value(Interp *, Tape *, Value r, const Op *, const Exec *at);
bool has_derivative(Value);
/* What Traces has of them. */
Value record_row(OpCall *, const Aspect *rest);
Value record_literal(Interp *, const Value *items, const bool *weak, const int *lengths, int rows);
Value record_chosen(Interp *, Value r, const Value *subs, int n);
void record_placed(Interp *, Value *slot, const Value *subs, int n);
void record_store(Interp *, Value *slot, const struct Sub *subs, int n, const Op *op, Value v,
                  bool weak);
Value record_notation(Interp *, const Exec *, void *site, Value *base);
void notation_back(Interp *, const Tape *, const Entry *, Value *w, Value *out);
Value library_text(Interp *, const char *text);      /* rules.c: a text as the library's code */

/* ---- rules.c ---- */
typedef enum RuleKind {
    RULE_NONE,                      /* there is none: grad error */
    RULE_CONSTANT,                  /* floats come out that say something of the shapes alone */
    RULE_STEP,                      /* a step function: grad error that offers detach */
    RULE_SLOPES,
    RULE_FUNCTION
} RuleKind;

enum { RULE_PARAMS = 24 };
enum { KEEP_X = 1, KEEP_R = 8, SLOPE_W = 16 };

typedef struct Slope {
    char *text;                     /* NULL: the operand has none */
    char *tangent;                  /* of a row that is not holomorphic */
    uint8_t keeps;                  /* KEEP_X << operand, KEEP_R */
    bool whole;                     /* the text is all of the cotangent, with w in it */
    int8_t constant;                /* 1, -1: the slope is that; 0: it is none */
    /* functions, once needed: without a test for 0 (real scalars, intervals), real, complex; a
     * tangent's, of intervals and others */
    Value back[3], forward[2], alone;
} Slope;

typedef enum RuleWhat {
    PARAM_VALUE, PARAM_SHAPE, PARAM_RESULT, PARAM_W, PARAM_NEEDS, PARAM_TANGENT
} RuleWhat;
typedef struct RuleParam { uint8_t what; int8_t arg; } RuleParam;
typedef struct RuleFunction {
    Value function;
    int params;
    RuleParam param[RULE_PARAMS];
} RuleFunction;

typedef struct Rule {
    uint8_t kind;                   /* RuleKind */
    bool known;
    Slope slope[3];
    RuleFunction back, forward;     /* d_NAME, t_NAME */
} Rule;
Rule *rule_of(Interp *, const Op *);
/* What the rule wants kept of a call and its result, onto the entry that was begun last. */
void rule_keep(Interp *, Tape *, const Op *, const Value *args, int count, Value result);
void rule_back(Interp *, const Tape *, const Entry *, Value *w, Value *out);
/* Forward by the slopes: the tangent of the result, or V_UNDEF for zero. */
Value rule_forward(Interp *, const Tape *, const Entry *, const Value *tangents);
Value gradient_function(Interp *, const char *name);  /* of rules.ric; borrowed */
void gradients_free(Interp *);
/* a * b, 0 where a is 0 whatever b is there. Of traced values it is one operation with the
 * derivatives of a product: where(a == 0, 0, a * b) would have none by a where a is 0, which second
 * derivatives need. */
Value strong_product(Interp *, Value a, Value b);
int row_param(Interp *, const Op *, const char *text, size_t len);   /* -1: none of that name */
/* Parameter i of a call as a rule has it: the variadic ones as a tuple; owned. */
Value param_value(Interp *, const Op *, const Value *args, int count, int i);
Value shapes_of(Interp *, Value);

/* ---- forward.c ---- */
/* The tangent of a row's result r; args: as the program has them, traced on t; below: as the level
 * below sees them. Owned; V_UNDEF: no rule says it, and entry_forward has to. */
Value forward_row(Interp *, const Tape *t, const Op *, const Value *args, const Value *below,
                  int count, Value r);

/* ---- backward.c ---- */
Value shape_tuple(Interp *, int rank, const int64_t *shape);
/* The cotangents of a tape's nodes: a tuple of entries + 1, on the value stack. */
Tuple *cotangents_new(Interp *, const Tape *);
/* Adds g, which is taken, to a sum on the value stack or among cotangents; V_UNDEF: 0. */
void sum_add(Interp *, Value *slot, Value g);
/* Adds g, which is taken, to the cotangent of a node. */
void cotangent_add(Interp *, const Tape *, Tuple *cotangents, uint32_t node, Value g);
/* Back over all entries; with `keep` they may be gone over again. */
void tape_back(Interp *, Tape *, Tuple *cotangents, bool keep);
/* The cotangent of a node, zeros where nothing reached it; owned. */
Value cotangent_of(Interp *, const Tape *, const Tuple *cotangents, uint32_t node);
Value zeros_of(Interp *, const Tape *, uint32_t node);
/* The tangent of an entry's result of those of its operands (V_UNDEF: zero); owned. */
Value entry_forward(Interp *, Tape *, uint32_t node, Value result, const Value *tangents);
/* Elements of a cotangent that are looked at for inf and nan on the way; of more some, evenly. */
enum { FINITE_LOOK = 4096 };
/* Calls a function of the rules, or one of the program's that is a rule; the place in the program
 * stays the operation's. */
Value call_rule(Interp *, Value f, const Value *args, int count);
/* The same row as op_call, by name. */
Value call_row_of(Interp *, const char *name, Value *args, int count);

/* ---- entries.c ---- */
/* A sparse matrix like the result of an entry, all of its values that number; owned. */
Value entries_like(Interp *, const Tape *, const Entry *, int value);
/* The same of a sparse matrix: ones. */
Value entries_ones(Interp *, Value sparse);
/* g, which is taken, at the entries of a sparse matrix, of an entry's result; owned. */
Value entries_taken(Interp *, Value sparse, Value g);
Value entries_conform(Interp *, const Tape *, const Entry *, Value g);
/* What a slope takes, in place: the values at the entries of e's result, onto the value stack.
 * What that makes of them becomes a sparse matrix again with `like`, which is returned. */
Value entries_push(Interp *, const Tape *, const Entry *e, Value *args, int n);
Value entries_from(Interp *, Value like, Value values);
/* Adds w where a part of a sparse matrix was read; e: the matrix. */
void entries_index_back(Interp *, const Tape *, const Entry *e, const struct Sub *, int n, Value w,
                        Value *slot);

/* ---- tell.c ---- */
/* To an `explain` that listens: the backward pass begins, and what was kept for it. */
void tape_tell(Interp *, const Tape *, const char *name);

/* ---- trace.c ---- */
/* The argument x of a function as traced leaves, owned. `tangent`: of the same structure, or
 * V_UNDEF. `whole`: it is the argument itself, whose ints count as f64. */
Value trace_in(Interp *, Tape *, Value x, const Value *tangent, bool whole);
/* A value of the structure of x: what `leaf` makes of each leaf, none elsewhere; owned. */
typedef Value (*LeafFn)(Interp *, Value x, void *data);
Value trace_map(Interp *, Value x, bool whole, LeafFn leaf, void *data);
int64_t trace_leaves(Value x, bool whole);           /* how many */
/* The cotangents of the leaves that trace_in made of x, from *node on; owned. */
Value trace_out(Interp *, const Tape *, const Tuple *cotangents, Value x, uint32_t *node);

/* ---- transform.c ---- */
Value grad_make(OpCall *, bool with_value);          /* f, wrt, aux */
Value jacobian_make(OpCall *);                       /* f, wrt, mode, holomorphic */
Value hessian_make(OpCall *);                        /* f, wrt */
Value checkpoint_make(OpCall *);                     /* f */
Value custom_rule_make(OpCall *);                    /* f, vjp, jvp */
Value jvp_run(OpCall *);                             /* f, x, v */
Value vjp_run(OpCall *);                             /* f, x, w */
Value detach_run(OpCall *);                          /* x; record.c */

/* What computes in 8 bits. */
#define GRAD_EIGHT_HELP "train outside of it, or in autocast bf16 { … }; detach(…) around an " \
                        "operand makes it a constant"
/* A step function, at `at`, whose derivative is asked for; operand: the user's text, or NULL. */
_Noreturn void grad_raise_step(Interp *, const Op *, const Exec *at);
_Noreturn void grad_raise_argument(Interp *, const Op *, const Name *parameter);
_Noreturn void grad_raise(Interp *, const Exec *at, const char *help, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));

#endif
