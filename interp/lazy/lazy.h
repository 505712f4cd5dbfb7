/* Lazy blocks: operations that wait, the graph that they make, how it is simplified and run.
 *
 *   record.c      an operation that waits: made, settled, forgotten
 *   run.c         what waits, or what one value stands on, as a run: its steps, one after the other
 *   compile.c     a structure looked up, or compiled by the rules and kept
 *   rewrites.c    the table of rules; rewrite_*.c: one rule each
 *   lazy.c        the block, the aspect, what is counted
 *   tell.c        explain lazy: the graph before and after; draw.c: as dot, as svg
 *
 * The result of an operation that waits is an ordinary tensor, whose buffer has no elements yet:
 * what buffers that were on a device have behind them (Residence) is a Deferred here, whose
 * functions run what is needed. Everybody asks for elements by tensor_home or tensor_settle; both
 * end in `settle`, after which the tensor has a buffer of its own and nobody can tell. A Deferred
 * lives as long as its tensor does: what nobody holds is never run. */
#ifndef RICCI_INTERP_LAZY_H
#define RICCI_INTERP_LAZY_H

#include "interp/fuse/fuse.h"
#include "interp/op/deferred.h"
#include "interp/op/elementwise.h"
#include "interp/state/kind.h"

/* An operation that waits. */
typedef struct Deferred {
    Residence base;                 /* first, where tensor.h looks for it */
    Interp *in;
    Tensor *head;                   /* its result, the one tensor of its buffer; borrowed */
    struct Deferred *before, *after;    /* those that wait, in the order of the program */
    const Op *op;
    const Exec *at;                 /* the place in the program, in … */
    Source *source;                 /* … this text; NULL: it is gone */
    struct Scope *scope;            /* what it stands in: these end after it has run */
    struct DeviceBlock *place;
    uint64_t run;                   /* the last run that it was looked at by, … */
    int32_t index;                  /* … and its number there */
    uint32_t held;                  /* by how many operands of that run */
    unsigned weak;
    uint8_t count, fixed;
    uint8_t compute;                /* elementwise: the dtype computed in */
    bool view;                      /* only lays out its operand anew */
    bool over;                      /* it ran, or is part of what did */
    bool lost;                      /* an error took away the block that it stands in, … */
    bool failed;                    /* … or was its own */
    int64_t cell[3][2];             /* elementwise: scalars in the dtype that the kernel wants */
    int8_t operand[16];             /* OpCall.operand */
    Value args[];                   /* owned */
} Deferred;

/* ---- what is counted: lazy_stats ---- */
typedef struct LazyCounts {
    uint64_t runs, compiled, hits, barriers, operations, kernels;
} LazyCounts;

typedef struct Compiled Compiled;
/* A block of the program. */
enum { SITE_LEAVES = 4, SITE_TEXT = 64, SITE_TOLD = 9 };
typedef struct LazySite {
    /* times that something of it was compiled; at SITE_TOLD a notice says what differs */
    int compiled;
    bool counted;                   /* this time */
    int operations;                 /* of the last one that was compiled, … */
    char leaf[SITE_LEAVES][SITE_TEXT];  /* … and its first operands: "x is 3×2 f64" */
} LazySite;

/* Who hears of runs: explain lazy. */
typedef struct LazyListener {
    struct LazyListener *up;
    Buf dead, constant;             /* lines of what was never run, and of what was run at once */
    Buf text;                       /* the report, a run after the other */
    uint8_t form;                   /* LAZY_TEXT … */
    int drawn;                      /* operations of the run that was drawn */
} LazyListener;
enum { LAZY_TEXT, LAZY_DOT, LAZY_SVG };
enum { LAZY_TEXT_MAX = 44 };        /* bytes of the program's text that are shown */

enum { KEPT = 256, CONSTANTS = 64 };

typedef struct LazyState {
    Deferred *first, *last;
    Deferred *dying;                /* to be freed, by whoever began with it */
    bool draining;
    int64_t bytes;                  /* of results that wait, as far as they were counted */
    uint64_t run;
    const Aspect *rest;             /* the pipeline behind the aspect */
    LazyCounts counts;
    Compiled *kept[KEPT];           /* by hash, then in turn */
    Tensor *constant[CONSTANTS];    /* of this block: made of no other tensor; held */
    int constants;
    LazySite *site;                 /* the outermost block, … */
    bool exact;                     /* … which keeps every rounding */
    LazyListener *listener;         /* or NULL */
} LazyState;

/* ---- record.c ---- */
extern const ResidenceOps deferred_ops;
/* NULL: its elements are there, or it is no tensor. */
static inline Deferred *deferred_of(Value v)
{
    return v.tag == V_TENSOR && v.tensor->buffer->device &&
           buffer_residence(v.tensor->buffer) == &deferred_ops ? v.tensor->buffer->device : NULL;
}
/* The result of a call that waits; V_UNDEF: it is none that can. Raises what the call raises for
 * shapes and dtypes. */
Value record(OpCall *c);
/* The tensor has these elements from now on; d is gone. */
void deferred_commit(Deferred *d, Tensor *t);
/* All tensors in v have elements. */
void settle_value(Interp *, Value v);

/* ---- steps ---- */
typedef enum StepKind {
    STEP_ROW,                       /* the operation as it is */
    STEP_VIEW,                      /* the same, and no kernel: a layout */
    STEP_SAME,                      /* what `into` gives */
    STEP_BARE,                      /* its operand, to those who convert it themselves */
    STEP_INSIDE,                    /* part of step `into` */
    STEP_CHAIN,                     /* it and those inside it as one pass */
    STEP_PRODUCT,                   /* product `part`, and the chain that it ends behind it */
    STEP_ORDERED,                   /* a chain of products in another order: Compiled.pool */
    STEP_ATTENTION,                 /* operands in Compiled.pool */
    STEP_KINDS
} StepKind;

typedef struct LazyStep {
    uint8_t kind;
    bool out;                       /* somebody outside holds its result */
    int32_t into;                   /* STEP_SAME, STEP_INSIDE */
    int32_t part;                   /* STEP_PRODUCT: the product */
    int32_t pool, pooled;           /* where its numbers start in the pool, and how many */
    int32_t reads;                  /* operands of steps that are its result */
    int32_t frees, next;            /* the results that no later step reads: a list */
} LazyStep;

/* What is kept of a structure. */
struct Compiled {
    uint32_t refs;
    int n;
    uint64_t hash, used;            /* the last run that did */
    uint64_t *key;
    size_t length;
    LazyStep *step;
    int32_t *pool;
    int32_t pooled, pool_cap;
    int kernels;
    Buf told;                       /* a line for each rewriting */
};

/* Operations under way. On the value stack. */
typedef struct Run {
    Native native;                  /* first */
    LazyState *state;
    Compiled *compiled;
    int n;
    Deferred **node;                /* in the order of the program */
    Tensor **head;                  /* theirs, held */
    Value *value;                   /* what steps gave; owned */
} Run;

/* While a structure is compiled. */
typedef struct Draft {
    Interp *in;
    const Run *run;
    Compiled *c;
    LazyStep *step;                 /* c's */
    int n;
    bool reproducible;
    int32_t *readers, *reader;      /* draft_count: operands that each is, and the last of them */
} Draft;

/* ---- run.c ---- */
/* Runs all that waits (target NULL), or what target stands on. */
void lazy_run(Interp *, Deferred *target);
/* The operand j of node i of the run: the number of the step that gives it, or -1: a value of its
 * own. After the rewritings: the step that it is the same as. */
int step_operand(const Run *, const LazyStep *, int i, int j);
/* The step that i is computed in: itself, what it is part of, or what it is the same as. */
static inline int step_whole(const LazyStep *step, int i)
{
    while (step[i].kind == STEP_INSIDE || step[i].kind == STEP_SAME)
        i = step[i].into;
    return i;
}
/* The result of step i for another step; owned. */
Value result_of(Run *, int i);
/* Argument j of node i; owned. */
Value argument_of(Run *, int i, int j);
/* Row op on args at the place of node d. */
Value step_call(Run *, const Deferred *d, const Op *op, Value *args, int count, unsigned weak);

/* ---- compile.c ---- */
Compiled *lazy_compile(Interp *, Run *);            /* retained */
void compiled_release(Ctx *, Compiled *);
/* Numbers for a step. */
int32_t pool_add(Draft *, int32_t number);

/* ---- rewrites.c ---- */
typedef struct Rewriting {
    const char *word;
    void (*apply)(Draft *, const char *word);
} Rewriting;
void lazy_rewrite(Draft *);
void rewrite_common(Draft *, const char *word);
void rewrite_folded(Draft *, const char *word);
void rewrite_recognised(Draft *, const char *word);
void rewrite_reordered(Draft *, const char *word);
void rewrite_fused(Draft *, const char *word);
/* Counts anew by how many operands of steps each result is read, and by which step last. */
void draft_count(Draft *);
/* The line of a rewriting. */
void draft_tell(Draft *, const char *word, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
const char *draft_name(const Draft *, int i, char out[96]);     /* "matmul (3)" */
typedef Value (*StepFn)(Run *, int i);
extern const StepFn step_run[STEP_KINDS];
Value run_chain(Run *, int i);
Value run_product(Run *, int i);
Value run_ordered(Run *, int i);
Value run_attention(Run *, int i);

/* ---- lazy.c ---- */
LazyState *lazy_state(Interp *);
extern const struct Wing wing_lazy;
LazyCounts *lazy_counts(Interp *);
/* What body gives, inside a lazy block. site: NULL, or what counts its compilations; exact: as in a
 * `reproducible` scope. */
typedef Value (*LazyBody)(Interp *, const void *data);
Value lazy_block(Interp *, LazySite *site, bool exact, LazyBody body, const void *data);

/* ---- tell.c, draw.c ---- */
/* Between these l hears of runs. lazy_tell_rest: all has run, l->text is the report. */
void lazy_listen(Interp *, LazyListener *l, uint8_t form);
void lazy_tell_rest(LazyListener *);
void lazy_listen_end(Interp *, LazyListener *);
/* The operation as the program has it, its operand j likewise; they return out. */
const char *lazy_text(const Deferred *, char out[LAZY_TEXT_MAX + 8]);
const char *lazy_leaf_text(const Deferred *, int j, char out[LAZY_TEXT_MAX + 8]);
const char *lazy_form_text(const Tensor *, char out[96]);        /* "32×64 f32"; returns out */
void lazy_tell_run(Interp *, const Run *, bool compiled);
void lazy_tell_dead(LazyState *, const Deferred *);
void lazy_tell_constant(LazyState *, const OpCall *);
/* A structure was compiled: counted for the block that is open. */
void lazy_tell_compiled(Interp *, const Run *);
void lazy_draw(Buf *out, const Run *, uint8_t form);

#endif
