/* Index notation: `C[i,k] := A[i,j] * B[j,k]`, `[A[i,j] for j,i]`, `sum[k] x[k]^2`.
 *
 *   indexnot_syntax.c   syntax to a small tree in which every Einstein sum is a reduction
 *   indexnot_element.c  the same for subscripts, reductions and what may not stand there
 *   indexnot_fail.c     errors of the two: kept, and raised when the statement runs
 *   indexnot_values.c   operands evaluated, functions that are inlined, guards
 *   indexnot_range.c    affine subscripts, ranges of the indices, bounds
 *   indexnot_nest.c     the tree with values as a nest of kernels/nest/nest.h
 *   indexnot_access.c   elements of tensors: strides, wrapped copies, gather tables
 *   indexnot_error.c    errors about values, with the places of both sides
 *   indexnot_exact.c    the tree by whole-tensor operations: rationals, and a second opinion
 *   indexnot_sparse.c   the tree where operands are sparse matrices: over their entries
 *   indexnot_attention.c  what `explain` says there of the formula of attention
 *   indexnot_notice.c   the notice about a nan out of plain numbers
 *   indexnot.c          running, and the plans kept per node
 *
 * The tree is made once per syntax node when it is lowered. A plan is made for operands of
 * certain dtypes, shapes and strides; a warm run evaluates the operands, compares them with
 * the guard of a plan and goes straight to nest_run. */
#ifndef RICCI_INTERP_INDEXNOT_H
#define RICCI_INTERP_INDEXNOT_H

#include "interp/state/wing.h"
#include "interp/state/exec.h"
#include "interp/op/heard.h"
#include "interp/fuse/nest_make.h"
#include "kernels/plan/plan.h"
#include "kernels/sparse/sparse.h"

/* ---- the tree ---- */
typedef enum IxKind {
    IX_LEAF,            /* leaf: an expression without indices, evaluated once, before */
    IX_PARAM,           /* leaf: a parameter of the function that is inlined */
    IX_NUMBER,          /* index as a number */
    IX_ELEMENT,         /* base[subs] */
    IX_EW,              /* op of arg */
    IX_LOGIC,           /* and, or, not of bools: op is the bitwise row */
    IX_CALL,            /* leaf: the callee; arg, with names */
    IX_REDUCE           /* reduce over `over` of arg[0] */
} IxKind;

typedef enum IxReduce {
#define R(id, word, told, where, facts) IXR_##id = NEST_##id,
#include "kernels/nest/reductions.def"
#undef R
    IXR_MEAN                /* made of a sum */
} IxReduce;

typedef struct IxNode IxNode;

typedef struct IxSub {
    IxNode *at;
    OpWrap wrap;
    const Node *node;
} IxSub;

struct IxNode {
    uint8_t kind, reduce;
    bool einstein;              /* IX_REDUCE: a sum that is not written */
    int leaf, index, args, subs;
    const Exec *at;             /* the construct, for error places */
    const Op *op;
    IxNode *base;               /* IX_LEAF or IX_PARAM */
    IxSub *sub;
    IxNode **arg;
    const Name **names;         /* IX_CALL: per argument, NULL where by position */
    uint64_t over;              /* bits of indices of the tree */
    IxNode *next_use;           /* while the tree is made: occurrences of an index not bound yet */
};

typedef enum IxRange { IXG_NONE, IXG_PARTS, IXG_VALUE } IxRange;

typedef struct IxIndex {
    const Name *name;
    const Node *node;           /* where it is bound, or its first place */
    const Node *reduce;         /* the reduction that binds it, or NULL */
    uint8_t range;              /* IxRange: of its own, or of the `for` */
    int part[3];                /* leaves: start, stop, step (-1); or the range */
    const Node *range_node;
    bool left;
} IxIndex;

typedef enum IxRole { IXL_OPERAND, IXL_BASE, IXL_RANGE, IXL_CALLEE } IxRole;

typedef struct IxLeaf {
    const Exec *exec;
    uint8_t role;               /* IxRole */
} IxLeaf;

/* A mistake that the syntax shows; raised when the statement runs. */
enum { IX_PLACES = 4 };
typedef struct IxFail {
    ErrKind kind;
    const char *message, *help;
    Span place[IX_PLACES];
    int places;
    const Name *variable;       /* if a variable of this name exists, the help goes on with … */
    const char *more;
    bool once;                  /* an index that nothing sums: a call around it may be at fault */
    const char *without;        /* the help where a variable `base` does not exist yet */
    const Name *base;
} IxFail;

/* A notation, or the body of a function that is inlined. Its first out_rank indices are the
 * result's axes. */
typedef struct IxTree {
    IxNode *root;
    IxFail *fail;
    IxLeaf *leaf;
    IxIndex *index;
    int leaves, leaf_cap, indices, index_cap, out_rank;
    const Node *const *reductions;   /* whose names must not be variables */
    int reduction_count, reduction_cap;
    Source *source;
} IxTree;

typedef struct IxPlan IxPlan;

enum { IX_PLANS = 4, IX_ADJOINTS = 4 };

/* The gradients of a notation as a function (indexnot_adjoint.h), and for which operands. */
typedef struct IxKept {
    Value function;
    const Op *cut;              /* the result depends on them through this only; or NULL */
    const Exec *cut_at;
    uint64_t gives;             /* as IxAdjoint has it */
    void *key;
    size_t bytes;
    bool sized;
} IxKept;

typedef struct IxSite {
    IxTree tree;
    const Node *node;
    const Name *result;         /* the name defined, or NULL */
    Ctx *ctx;
    IxPlan *plan[IX_PLANS];     /* the one used last first */
    int plans;
    IxKept adjoint[IX_ADJOINTS];    /* the one made last first */
} IxSite;

/* The value on leaves that stand at `base`, on top of the value stack (indexnot.c). */
Value ix_value(Interp *, const Exec *, IxSite *, Value *base);

/* ---- indexnot_syntax.c, indexnot_element.c ---- */
typedef struct IxUse {
    const Name *name;
    int places;
    IxNode *first, *last;       /* occurrences */
    const Node *node;           /* the first of them */
    const Node *summed;         /* the term or reduction inside that sums an index of this name */
} IxUse;

typedef struct IxUses {
    IxUse *use;
    int count, cap;
} IxUses;

typedef struct IxAnalysis {
    Lower *lo;
    IxTree *tree;
    uint32_t params;            /* of the function whose body this is */
    const Node *whole;
    struct { const Name *name; int index; } bound[NEST_INDICES];
    int bounds;
} IxAnalysis;

void ix_analyse(Lower *, IxSite *, const Node *);
/* The body of a function as a tree, made once per function; NULL: it is no single expression. */
IxTree *ix_body(Interp *, const Function *);
IxNode *ix_term(IxAnalysis *, const Node *, IxUses *up);         /* an expression of its own */
IxNode *ix_node(IxAnalysis *, IxKind, const Node *);
IxNode *ix_leaf(IxAnalysis *, const Node *, IxRole);
IxNode *ix_element(IxAnalysis *, const Node *, IxUses *);
IxNode *ix_reduction(IxAnalysis *, const Node *, IxUses *);
const char *ix_reduce_word(IxReduce);
unsigned ix_reduce_facts(IxReduce);             /* R_ (kernels/nest/nest.h) */
int ix_reduce_find(const char *name);          /* IxReduce, -1 if it is none */
bool ix_reduce_plain(const char *name);        /* a reduction whose value is no position */
OpWrap ix_wrap_find(Interp *, const char *name);   /* WRAP_NONE if it is none */
IxNode *ix_misfit(IxAnalysis *, const Node *);                   /* fails: it has no place here */
bool ix_free(const IxAnalysis *, const Node *);                  /* no index in it */
void ix_use(IxAnalysis *, IxUses *, const IxUse *, bool add);    /* add: another factor's places */
int ix_index_new(IxAnalysis *, const Name *, const Node *);
void ix_range(IxAnalysis *, IxIndex *, const Node *);
bool ix_bound(const IxAnalysis *, const Name *);
/* The left side and the `for` of a definition; the binds of a comprehension. */
void ix_left(IxAnalysis *, const Node *);
void ix_axes(IxAnalysis *, const Node *);
void ix_ranges(IxAnalysis *, const Node *);

/* ---- indexnot_fail.c ---- */
IxFail *ix_fail(IxAnalysis *, ErrKind, const Node *at, const Node *also, const char *help,
                const char *fmt, ...) __attribute__((format(printf, 6, 7)));
/* Text of a node as written, cut when it is long. In the arena. */
const char *ix_text(const IxAnalysis *, const Node *);
_Noreturn void ix_raise(Interp *, const Exec *, const IxTree *);
/* Not on the left, and in one place; `uses` has the others of the notation. */
void ix_fail_once(IxAnalysis *, const IxUses *uses, const IxUse *);
void ix_fail_rename(IxAnalysis *, const IxUse *, const Node *summed, const Node *use);
void ix_fail_left(IxAnalysis *, const Node *define, const Node *sub, const Node *again);
/* `C[i,k] += …` with indices that are no variables raises; it returns where `name` is no such
 * index. */
void ix_raise_store(Interp *, const Exec *, const Name *);
bool ix_variable(Interp *, const Name *);            /* a variable that has a value now */

/* ---- values ---- */
typedef struct IxInstance IxInstance;

/* What a parameter of an inlined function stands for. */
typedef struct IxArg {
    const IxNode *node;         /* NULL: the leaf `leaf`, a default */
    IxInstance *of;
    int leaf;
    int made;                   /* its node in … */
    const Nest *made_in;
    bool found;                 /* its indices are known: */
    uint64_t free, bound;
} IxArg;

/* The notation itself (the first), or one call that is inlined. */
struct IxInstance {
    const IxTree *tree;
    const FnCode *code;         /* NULL: the notation */
    IxInstance *up;             /* whose tree holds the call */
    const IxNode *call;
    int first_leaf, first_index;
    IxArg arg[16];
    int leaves;                 /* with those of defaults, which stand behind the tree's */
    const Exec *fallback[16];
    int callee;                 /* leaf, counted over all instances */
    CallFrame *frame;           /* while it is made: ix_enter */
};

enum { IX_INSTANCES = 64, IX_LEAVES = 512, IX_AXES = TENSOR_RANK_MAX };

/* coef·index + … + offset */
typedef struct IxAffine {
    uint64_t mask;
    int64_t coef[NEST_INDICES];
    int64_t offset;
} IxAffine;

typedef enum IxSubKind { IXS_AFFINE, IXS_GATHER } IxSubKind;

typedef struct IxSubAt {
    uint8_t kind;               /* IxSubKind */
    bool lone;
    IxAffine at;
} IxSubAt;

/* An element of a tensor in the tree. */
typedef struct IxAccess {
    const IxNode *node;
    IxInstance *of;
    int leaf;                   /* over all instances */
    Tensor *tensor;             /* borrowed */
    IxSubAt *sub;
    int slot, load;             /* once made; -1 */
    struct IxAccess *next;
} IxAccess;

typedef struct IxSpan {         /* of one index of the nest */
    bool known, ranged;
    int64_t extent, start, step;
    const IxAccess *from;       /* the lone place that gave the extent */
    int axis;
    const IxIndex *index;
    IxInstance *of;
} IxSpan;

/* Where a slot's data lie. */
typedef struct IxSlot {
    enum { IXV_LEAF, IXV_AUX, IXV_CELL } kind;
    int from;                   /* leaf, step of preparation, or cell */
    int64_t offset;             /* in bytes */
} IxSlot;

/* What is made from the operands before the nest runs. */
typedef struct IxAux {
    enum { IXA_TABLE, IXA_CHECK, IXA_EXTEND } kind;
    OpWrap wrap;
    int axis;                   /* of the operand */
    int64_t length;             /* of that axis */
    IxSlot source;              /* CHECK, EXTEND: the data */
    int rank;                   /* CHECK, EXTEND: of the view to read */
    DType dtype;
    int64_t shape[IX_AXES], stride[IX_AXES];
    int64_t low, count;         /* EXTEND: from `low` on, so many */
    struct IxPlan *table;       /* TABLE: a plan for the subscript's values */
    const IxNode *node;         /* the element, and which subscript, for errors */
    const struct IxInstance *of;
    int sub;
} IxAux;

typedef struct IxGuard {
    uint8_t tag, rank;
    uint32_t dtype;
    bool weak, value;
    const Exec *weak_name;      /* pi, inf, nan: a literal while it is no variable */
    int dims;                   /* where its shape and strides lie in the plan's */
    int64_t i, step, count;     /* value, or a range */
    const void *object;         /* an operation, the code of a function, a format */
} IxGuard;

/* An operation of ints that can fail. */
enum { IX_TROUBLES = 4 };
typedef struct IxTrouble {
    const Exec *at;
    const struct IxInstance *of;
    const Op *op;
    DType dtype;
} IxTrouble;

struct IxPlan {
    Nest *nest;
    NestPlan *run;              /* NULL: the exact way */
    int instances, leaves;
    IxInstance *instance[IX_INSTANCES];
    IxGuard *guard;
    int guards;
    int64_t *dims;
    int dim_count;
    size_t dim_cap;
    IxSlot *slot;
    int slots, slot_cap;
    IxAux *aux;
    int auxes, aux_cap;
    int64_t (*cell)[2];
    int cells, cell_cap;
    int rank;
    int64_t shape[IX_AXES];
    DType dtype;
    int busy;                   /* matched right now: not to be freed */
    DType autocast;             /* of the scope that it was made in, or DT_NONE */
    /* what the device it was made for rounds f32 factors to, or DT_NONE */
    DType product;
    uint64_t precision;         /* likewise, of a precision scope */
    IxTrouble trouble[IX_TROUBLES];
    int troubles;
    bool notices;               /* an operation in it may make a nan that deserves a notice */
    HeardPlan heard;            /* what it says of itself to `profile` */
};

/* One plan being made. Everything in it lies in `arena` or in the plan. */
typedef struct IxBind {
    Interp *in;
    const Exec *x;
    IxSite *site;
    IxPlan *plan;
    Arena arena;
    Value *base;                /* values of all leaves */
    CallFrame *calls;           /* what was running */
    IxSpan span[NEST_INDICES];
    int spans;
    IxAccess *accesses, *last;
    NestMaker make;
    IxPlan *target;                     /* whose slots are made: `plan`, or a table's */
    const void **cell;                  /* by slot of it: the scalar */
    int number[NEST_INDICES];           /* by span: the index of its nest */
    uint8_t matters[IX_LEAVES];         /* leaves whose values decided something */
    bool float_powers;
    bool exact;                         /* by whole tensors, whatever the dtypes */
    bool sparse;                        /* the same, since an operand has entries */
    DType product;                      /* as the plan's */
} IxBind;

/* indexnot_values.c: evaluates the notation's own leaves onto the value stack … */
void ix_round_leaves(Interp *, const IxTree *, Value *base);    /* as a scope wants operands */
void ix_eval_leaves(Interp *, const IxTree *, Value *base);
/* … and those of the calls that a plan inlines; false: it inlines other functions. */
bool ix_eval_inlined(Interp *, const IxPlan *, Value *base);
bool ix_guard_holds(const IxPlan *, const Value *base);
const Exec *ix_leaf_exec(const IxPlan *, int leaf);
void ix_guard_make(IxBind *);                       /* from what b->matters says */
void ix_enter(Interp *, const IxInstance *, const Value *base, CallFrame *);
/* Of a call that is inlined; of the notation itself (call NULL). */
IxInstance *ix_instance(IxBind *, const IxNode *call, IxInstance *of);
/* A builtin operation behind a call, or a cast (*to); NULL: a function, inlined. */
const Op *ix_call_op(IxBind *, const IxNode *call, IxInstance *of, DType *to);
void ix_check_callees(Interp *, const Exec *, IxSite *);
/* Follows parameters to what they stand for: IX_LEAF, or another node. NULL: leaf *leaf. */
const IxNode *ix_resolve(const IxNode *, IxInstance **of, int *leaf);
/* No variable is called `sum` where the tree reduces by that word. */
void ix_check_names(Interp *, const Exec *, const IxTree *, const Module *, bool inlined);
void ix_collect(IxBind *, const IxNode *, IxInstance *);   /* all accesses below */

/* indexnot_range.c */
bool ix_affine(IxBind *, const IxNode *, IxInstance *, IxAffine *out);
void ix_infer(IxBind *);
void ix_bounds(IxBind *);
/* Least and greatest value over the ranges; false: over nothing. */
bool ix_extremes(IxBind *, const IxAffine *, int64_t *low, int64_t *high);
/* Narrows [from, to] to the values of index g for which all affine subscripts fit; where the lower
 * end comes from. False: it stands in none, or other ranges are not known. */
bool ix_fit(const IxBind *, int g, int64_t *from, int64_t *to, const IxAccess **tight, int *axis);
/* Cuts the ranges until no subscript leaves its axis: for what an error offers, since no plan of
 * these ranges is made any more. False: something is left without a value. */
bool ix_narrow(IxBind *);

/* indexnot_nest.c, indexnot_access.c */
int ix_make(IxBind *, const IxNode *, IxInstance *);
/* Sums, products and means: their chain of * and signs (ix_in_product) is multiplied in i64 where
 * all its factors are ints and bools. */
bool ix_adds_up(const IxNode *);
bool ix_in_product(const IxNode *);
int ix_factor_count(const IxNode *);
int ix_make_element(IxBind *, const IxNode *, IxInstance *);
IxAccess *ix_access(IxBind *, const IxNode *, IxInstance *);
int ix_slot(IxBind *, int kind, int from, int64_t offset);
uint64_t ix_free_indices(IxBind *, const IxNode *, IxInstance *);   /* bits of spans */
void ix_plan_fill(IxBind *, IxPlan *, const IxNode *root, IxInstance *, const int *axes, int rank,
                  bool table);
int ix_table_root(IxBind *, const IxNode *, IxInstance *, int node);

/* indexnot_access.c: runs what a plan prepares; pushes results on the value stack from `aux` on. */
void ix_prepare(Interp *, const Exec *, const IxPlan *, const Value *base, Value *results);
const void *ix_slot_data(const IxPlan *, const IxSlot *, const Value *base, const Value *aux);

/* indexnot_exact.c: the whole notation by operations on tensors. */
Value ix_exact(IxBind *, const IxNode *root, IxInstance *);
/* Its parts: values on the value stack, with an axis per index of the nest, or scalars. */
typedef struct IxTerm {
    Value v;
    bool weak;
} IxTerm;
IxTerm ix_whole_term(IxBind *, const IxNode *, IxInstance *);
IxTerm ix_whole_apply(IxBind *, const IxNode *, const Op *, const IxTerm *terms, Value *mark);
IxTerm ix_whole_reduce(IxBind *, const IxNode *, IxInstance *, IxTerm);
Value ix_whole_result(IxBind *, IxTerm);         /* of the whole notation; owned */

/* indexnot_sparse.c: has an operand entries, so that the notation goes over those? */
bool ix_sparse_any(const IxBind *);
Value ix_sparse(IxBind *, const IxNode *root, IxInstance *);
/* An element of a tensor at even places as a view of it. False: it is none. */
bool ix_sparse_view(IxBind *, const IxNode *, IxInstance *, IxTerm *);

/* indexnot_attention.c: before that, of the formula of attention. */
void ix_tell_scores(IxBind *, const IxNode *root, IxInstance *);

/* indexnot_autocast.c: what `autocast F` does here. */
bool ix_contracts(const IxNode *);                  /* a sum of products: two factors at least */
/* What stands over and in the chain of factors that a sum adds up: its arguments; 0: none. */
int ix_chain_arguments(const IxNode *);
/* Does the autocast compute products in a way that nests do not know, and are there any? */
bool ix_autocast_apart(const Interp *);
bool ix_autocast_sums(IxBind *, const IxTree *, IxInstance *);
/* In `autocast i8` a sum of products is one of its factors with indices in 8 bits, and divided by
 * what stands under lines, where no summed index does. */
enum { IX_CHAIN = 16 };
typedef struct IxChain {
    const IxNode *factor[IX_CHAIN], *divisor[IX_CHAIN];
    int factors, divisors;
    bool negative;
} IxChain;
/* False: it is none, and stays as it is. */
bool ix_eight_chain(IxBind *, const IxNode *sum, IxInstance *, IxChain *);
/* The first such sum as far as the text tells, or NULL. */
const IxNode *ix_eight_sum(Interp *, const IxNode *);
void ix_autocast(Interp *, const IxTree *, Value *base);    /* casts leaves */
int ix_autocast_factor(IxBind *, AutocastClass, int node);    /* casts a node of the nest */

/* EWT_NONE, or EWT_INT_POWER: to be done again in f64. Raises all other trouble. */
EwTrouble ix_plan_run(Interp *, const Exec *, const IxPlan *, const Value *base, void *out);

/* The notation on its own leaves (and those of calls that a plan inlines, if they were evaluated):
 * finds its plan or makes one. product: as IxPlan's. */
Value ix_run(Interp *, const Exec *, IxSite *, Value *base, DType product);
/* A plan for these operands, kept with the site, without running it. NULL: there is none to keep,
 * or *result has the value, which was computed the exact way. */
const IxPlan *ix_plan_for(Interp *, const Exec *, IxSite *, Value *base, Value *result);

void ix_plan_free(Ctx *, IxPlan *);

/* indexnot_place.c: the same as work of the door, where an aspect of it is in force. */
Value ix_run_asked(Interp *, const Exec *, IxSite *, Value *base);

/* By whole tensors, for these operands; `base` are the notation's own leaves. */
Value ix_run_exact(Interp *, const Exec *, IxSite *, Value *base);

/* indexnot_notice.c: after a run that p->notices speaks of. */
void ix_notice(Interp *, const Exec *, IxSite *, const IxPlan *, Value *base, Value result);

/* indexnot_error.c */
typedef struct IxPlace {
    const Node *node;
    const IxInstance *of;
} IxPlace;
const char *ix_node_text(const Node *, const IxInstance *, char *out, size_t cap);
_Noreturn void ix_error_lengths(IxBind *, const IxSpan *, const IxAccess *, int axis);
_Noreturn void ix_error_range(IxBind *, int index);
_Noreturn void ix_error_range_value(IxBind *, const IxSpan *, Value);
_Noreturn void ix_error_subscript(IxBind *, const IxNode *, IxInstance *, Value);
_Noreturn void ix_error_bounds(IxBind *, const IxAccess *, int axis, int64_t low, int64_t high);
_Noreturn void ix_error_zero(IxBind *, int index, const IxAccess *, int axis, int64_t from,
                             int64_t to);
_Noreturn void ix_error_rank(IxBind *, const IxNode *, IxInstance *, const Tensor *);
_Noreturn void ix_error_base(IxBind *, const IxNode *, IxInstance *, Value);
_Noreturn void ix_error_operand(IxBind *, const IxNode *, IxInstance *, Value);
/* Why a call cannot be taken in. */
typedef enum IxRefusal {
    IXC_FORM,                   /* of what the value is */
    IXC_BODY,                   /* its body has a mistake: IxTree.fail */
    IXC_COMPUTED, IXC_ORDER, IXC_OTHERS, IXC_MORE, IXC_ITSELF, IXC_DEEP, IXC_OPERANDS,
} IxRefusal;
_Noreturn void ix_error_callee(IxBind *, const IxNode *, IxInstance *, Value, IxRefusal);
_Noreturn void ix_error_logic(IxBind *, const IxNode *, IxInstance *, int arg, DType);
_Noreturn void ix_error_cast(IxBind *, const IxNode *, IxInstance *, DType from, DType to);
_Noreturn void ix_error_order(IxBind *, const IxNode *, IxInstance *, DType);
_Noreturn void ix_error_wrap(IxBind *, const IxAccess *, int axis);
/* What is computed there of sparse operands would not be 0 where they have no entry. */
_Noreturn void ix_error_absent(IxBind *, const IxNode *, IxInstance *);
_Noreturn void ix_error_empty(IxBind *, const IxNode *, IxInstance *, int index);
_Noreturn void ix_error_gather(Interp *, const Exec *, const IxAux *, int64_t value);

/* indexnot_explain.c: tells the record that is open of a plan that ran. */
void ix_tell(Interp *, const Exec *, const IxPlan *, const Value *base, Value result);

/* ---- what others call ---- */
/* DEFINE, REDUCE, a comprehension over indices. */
const Exec *lower_indexnot(Lower *, const Node *);

extern const Wing wing_notation;

#endif
