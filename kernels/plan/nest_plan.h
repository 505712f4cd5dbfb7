/* Private to nest_plan*.c: what a plan is made of, and the planner that makes it.
 *
 * Data slots of a plan: those of the caller, then one for the result's memory, then one per
 * temporary. Steps run in order; each writes one slot. The last writes the result. */
#ifndef RICCI_KERNELS_NEST_PLAN_H
#define RICCI_KERNELS_NEST_PLAN_H

#include "core/memory/arena.h"
#include "kernels/contract/contract.h"
#include "kernels/plan/plan.h"
#include "kernels/reduce/reduce.h"

typedef struct PlanStep {
    ContractPlan *contract;         /* either this … */
    NestStage *stage;               /* … or this, or attention, or a fold of the tensor fold_in */
    struct PlanAttention *attention;
    Tensor *fold_in, *fold_out;     /* without data */
    RedOp fold;
    uint64_t fold_axes;
    int node;                       /* of a fold or attention, for its text */
    int out;                        /* slot written */
    int inputs;                     /* slots of the operands, but of a stage */
    int *input;
    int *factor;                    /* and their nodes; what is reduced and how, for its text */
    Semiring semiring;
    uint64_t free, bound;
    const Nest *nest;               /* of a stage */
} PlanStep;

typedef struct PlanTemp {
    size_t bytes;
    int first, last;                /* steps that write it first and use it last; -1: none */
    char name[24];
} PlanTemp;

typedef struct PlanRows PlanRows;
enum { PLAN_SLOTS = 40 };          /* on the stack of a run */

struct NestPlan {
    PlanRows *rows;                 /* run block by block; there are no steps */
    ContractPlan *contract;         /* the plan is this one step … */
    NestStage *stage;               /* … or this one, on the caller's own data */
    bool straight;                  /* the contraction's operands are the caller's slots in order */
    bool early;                     /* the result's memory must not be that of an operand */
    int steps, step_cap, temps, temp_cap;
    PlanStep *step;
    PlanTemp *temp;
    Nest *nest;                     /* copy of the caller's, with the nodes of the planner */
    int slots, root;                /* of the caller's */
    int64_t out_stride[NEST_INDICES];
    const void *const *known;       /* while it is made: consts by slot, or NULL */
    bool *relied;                   /* slots of consts that decided something */
    char full[REPORT_TEXT];         /* attention that is not run by tiles: why; "": there is none */
    Arena arena;                    /* inputs, names, values, extracted nests */
};

/* A node whose value stands in memory. */
typedef struct PlanValue {
    struct PlanValue *next;
    int node, slot;
    int64_t stride[NEST_INDICES];
} PlanValue;

/* Where the value being planned goes; a contraction of the same form may use that memory. */
typedef struct PlanTarget {
    int slot;
    uint64_t axes;
    DType dtype;
    bool used;
    const int64_t *stride;
} PlanTarget;

/* What is known of a node. */
typedef struct PlanFact {
    float cost;                     /* of one value, reductions inside left out */
    bool reduce;                    /* one stands inside */
    uint64_t loops;                 /* memo of plan_lower: under these loops … */
    int lowered;                    /* … it became this node; -1: unknown */
} PlanFact;

typedef struct Planner {
    Ctx *ctx;
    NestPlan *plan;
    Nest *n;                        /* plan->nest */
    PlanValue *values;
    PlanTarget *target;
    PlanFact *fact;
    int facts, fact_cap;
} Planner;

/* ---- nest_plan_lower.c: which values are computed once, which stay in a stage ---- */
/* Steps that put node x, whose axes are those of the target, there. */
void plan_value(Planner *, int x, PlanTarget *);
/* A node equal to x in which every reduction is fit for a stage over `loops`. */
int plan_lower(Planner *, int x, uint64_t loops, bool inside);
/* Computes x into a temporary, or finds it there: the node that loads it. */
int plan_keep(Planner *, int x);
void plan_remember(Planner *, int x, int slot, const int64_t *stride);
int plan_load_node(Planner *, const PlanValue *, const char *name);
const PlanFact *plan_fact(Planner *, int x);
double plan_size(const Nest *, uint64_t indices);      /* product of the extents */
bool plan_fits(const Planner *, int x);                 /* x's value may stand in memory */
int plan_temp(Planner *, uint64_t axes, DType, int64_t *stride);
const char *plan_slot_name(const Planner *, int slot);

/* ---- nest_plan_product.c: reductions that are contractions ---- */
/* Plans the reduction x as a contraction and gives the node that its value is then read by;
 * -1 if it is none or a stage is better. `alone`: nothing else would be in the stage. */
int plan_contraction(Planner *, int x, bool alone);

/* ---- nest_plan_fold.c: reductions of a tensor as it lies ---- */
bool plan_folds(Planner *, int x);                     /* probably */
/* Adds the step that puts the reduction x there; false: it is none of these. */
bool plan_fold(Planner *, int x, PlanTarget *);
void plan_fold_run(Ctx *, const PlanStep *, void *out, const void *data);
double plan_fold_seconds(const PlanStep *);

/* ---- nest_plan_attention.c: attention by tiles ---- */
bool plan_attends(Planner *, int x);                   /* x is run by tiles */
/* An equal node in which factors stand outside that the tiles do not have; -1: x is none. */
int plan_attention_split(Planner *, int x);
/* Adds the steps that put x there; false: it is none of these. */
bool plan_attention(Planner *, int x, PlanTarget *);
EwTrouble plan_attention_run(Ctx *, const PlanStep *, const void **slot);
void plan_attention_free(Ctx *, PlanStep *);
double plan_attention_seconds(const PlanStep *);
void plan_attention_report(const PlanStep *, ReportStep *);
/* `tiled, …`, as `explain` says it of the row. */
void plan_attention_text(const PlanStep *, char *out, size_t cap);

/* ---- nest_plan_rows.c: blocks of rows that stay in cache ---- */
/* Plans the nest so, if it is one of those; *whole: it is, and small enough for one block. */
bool plan_rows(Ctx *, NestPlan *, bool *whole);
void plan_rows_free(Ctx *, PlanRows *);
/* Computes first what a reduction over the root's axes and the root itself both need. */
void plan_keep_shared(Planner *, int root);
EwTrouble plan_rows_run(Ctx *, const NestPlan *, void *out, const void *const *data);
bool plan_rows_together(const NestPlan *, int slot);
double plan_rows_seconds(const PlanRows *);
void plan_rows_report(const NestPlan *, const void *const *data, Report *);

/* ---- nest_plan_same.c ---- */
/* Equal but for the names of indices. */
bool plan_same(Planner *, int x, int y);
/* A number that is known when the plan is made, which is then for this number only. */
bool plan_known(Planner *, int x, double *number);
/* The same where index `from`, which x depends on, is called `to`, and all others keep theirs. */
bool plan_same_as(Planner *, int x, int y, int from, int to);
/* The value equal to x but for the names of its indices: its strides for x's; false: none. */
bool plan_find_value(Planner *, int x, PlanValue *found);

/* ---- nest_plan.c ---- */
/* `block`: of rows, what is shared by them is computed once; else as nest_plan. */
NestPlan *plan_make(Ctx *, const Nest *, const int64_t *out_stride, bool block);
PlanStep *plan_add_step(Planner *, int out);
void plan_add_stage(Planner *, int x, const PlanTarget *);
/* A nest of x alone, whose axes are these indices in order; in the plan's arena. */
Nest *plan_extract(Planner *, int x, uint64_t axes);

/* ---- nest_plan_report.c ---- */

#endif
