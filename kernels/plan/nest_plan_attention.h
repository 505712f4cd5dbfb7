/* Private to nest_plan_attention*.c: what is found in a nest, and the step that is made of it. */
#ifndef RICCI_KERNELS_NEST_PLAN_ATTENTION_H
#define RICCI_KERNELS_NEST_PLAN_ATTENTION_H

#include "kernels/attention/attention.h"
#include "kernels/plan/nest_plan.h"

enum { PLAN_FACTORS = 12 };

/* A product: node, or 1/~node where that is negative. */
typedef struct PlanFactors {
    int count, node[PLAN_FACTORS];
    bool negative, bad;             /* bad: more than there is room for */
} PlanFactors;

/* What is added to the scores. */
typedef struct PlanTerm {
    int node;
    PlanFactors times;
} PlanTerm;

/* Attention as it stands in a nest. */
typedef struct PlanScores {
    Planner *p;
    int value;                      /* the node that it is */
    int key;                        /* the index of keys */
    uint64_t more;                  /* what is summed over besides, in the same sum */
    uint64_t depth;                 /* what queries and keys are summed over; 0: not found */
    uint64_t seen;                  /* indices that weights depend on */
    int scores, sum;                /* what exp is taken of; the reduction below */
    DType real;                     /* what is counted in */
    bool mixed;                     /* but the scores are not */
    bool filled;                    /* where(c, S, x) of a number x, or one that is not known */
    PlanFactors q, k, v, scale, after;      /* after: goes with no key */
    int weight, factors, factor[PLAN_FACTORS];      /* exp(S), and bools that it is times */
    int terms, masks;
    PlanTerm term[PLAN_FACTORS];
    int mask[PLAN_FACTORS];
    /* of positions: low <= j - i <= high; what masks that say other things come to, -1: none */
    int64_t low, high;
    int hidden;
    int query, column;              /* indices of the result; -1: none */
    uint64_t heads;
} PlanScores;

/* A bias that goes with queries and keys is made for a slab of queries at a time: a nest of its
 * own, in which each pointer to data is one slot, moved by `shift` bytes per query. */
typedef struct PlanSlab {
    NestPlan *whole, *rest;         /* of `rows` queries; of those that are left over, or NULL */
    int64_t rows, rest_rows;
    size_t bytes;
    int slots, *slot;
    int64_t *shift;
} PlanSlab;

struct PlanAttention {
    Attention job;                  /* without data, scale and what is counted in a run */
    int q, k, v, bias;              /* slots; bias -1: none, or slabs */
    PlanSlab *slab;
    int factors;                    /* of the scale: consts */
    const NestNode *factor[PLAN_FACTORS];
    bool divides[PLAN_FACTORS], negative;
    int64_t bytes;                  /* of working memory in the last run */
};

/* ---- nest_plan_attention_find.c ---- */
/* Is x attention, in a form that the tiles have? *formula: it is of that form, and *why tells what
 * stands against it. */
bool plan_scores_find(PlanScores *, Planner *, int x, bool *formula, const char **why);
/* The same value with what comes after the sum as factors of its own; -1: not done. */
int plan_scores_split(PlanScores *);
/* The product as one node of the dtype; -1: it is empty. */
int plan_product_node(Planner *, const PlanFactors *, DType);
/* The node behind casts that only keep fewer digits of the same sums: f16 and bf16 to and from
 * f32. */
int plan_bare(const Planner *, int x);

/* ---- nest_plan_attention_mask.c: what is seen ---- */
/* Takes the masks apart: positions into low and high, all else into hidden. */
void plan_masks_read(PlanScores *);
/* A node over heads, queries and keys as a nest for slabs: the node that reads the number of the
 * query from a table; its nest, with strides by axis and by index; the plans of that. */
int plan_slab_node(PlanScores *, int x);
Nest *plan_slab_nest(PlanScores *, int x, PlanSlab *, int64_t *stride, int64_t *by_index);
void plan_slab_plan(PlanScores *, Nest *, uint64_t axes, const int64_t *stride, PlanSlab *);

#endif
