/* Attention found in a nest: sum[j] exp(S[i,j]) / (sum[m] exp(S[i,m])) * V[j,e], where S is a sum
 * of products of queries and keys, with a scale, with what is added to it, with a largest score
 * taken off or not, with masks. The sum below may stand inside of the other or outside. */
#include "kernels/plan/nest_plan_attention.h"
#include "kernels/cast/tensor_cast.h"

#include <math.h>
#include <string.h>

static const NestNode *at(const Planner *p, int x) { return &p->n->node[x]; }

/* ---- numbers and casts ---- */

static bool is_real(uint32_t dt) { return dtype_info(dt)->kind == 'f'; }

int plan_bare(const Planner *p, int x)
{
    while (at(p, x)->kind == NEST_CAST) {
        DType to = (DType)at(p, x)->dtype, from = (DType)at(p, at(p, x)->arg[0])->dtype;
        if (!is_real(to) || !is_real(from) || dtype_computed(to) != dtype_computed(from))
            break;
        x = at(p, x)->arg[0];
    }
    return x;
}

static bool known_ew(Planner *p, const NestNode *x, double *number)
{
    double a, b = 0;
    if (!plan_known(p, x->arg[0], &a) || (x->args > 1 && !plan_known(p, x->arg[1], &b)))
        return false;
    switch ((EwOp)x->op) {
    case EW_NEGATIVE: *number = -a; return true;
    case EW_POSITIVE: *number = a; return true;
    case EW_ADD: *number = a + b; return true;
    case EW_SUBTRACT: *number = a - b; return true;
    case EW_MULTIPLY: *number = a * b; return true;
    default: return false;
    }
}

bool plan_known(Planner *p, int x, double *number)
{
    const NestNode *node = at(p, x);
    if (node->free || !(dtype_info(node->dtype)->kind == 'i' || is_real(node->dtype)))
        return false;
    if (node->kind == NEST_CAST)
        return plan_known(p, node->arg[0], number);
    if (node->kind == NEST_EW)
        return known_ew(p, node, number);
    const void *cell = node->kind == NEST_CONST && p->plan->known ? p->plan->known[node->slot]
                                                                  : NULL;
    if (!cell)
        return false;
    *number = element_f64((DType)node->dtype, cell);
    p->plan->relied[node->slot] = true;
    return true;
}

static bool is_number(Planner *p, int x, double wanted)
{
    double number;
    return plan_known(p, x, &number) && number == wanted;
}

/* ---- products ---- */

static void add_factor(PlanFactors *f, int x, bool divides)
{
    if (f->count == PLAN_FACTORS)
        f->bad = true;
    else
        f->node[f->count++] = divides ? ~x : x;
}

static bool from_real(const Planner *p, const NestNode *node)
{
    return node->kind == NEST_CAST && is_real(node->dtype) &&
           is_real(at(p, node->arg[0])->dtype);
}

static void take_product(const Planner *p, int x, bool divides, PlanFactors *f)
{
    while (from_real(p, at(p, x)))
        x = at(p, x)->arg[0];
    const NestNode *node = at(p, x);
    bool ew = node->kind == NEST_EW && is_real(node->compute);
    if (ew && (node->op == EW_MULTIPLY || node->op == EW_DIVIDE)) {
        take_product(p, node->arg[0], divides, f);
        take_product(p, node->arg[1], divides != (node->op == EW_DIVIDE), f);
    } else if (ew && (node->op == EW_NEGATIVE || node->op == EW_POSITIVE)) {
        f->negative ^= node->op == EW_NEGATIVE;
        take_product(p, node->arg[0], divides, f);
    } else {
        add_factor(f, x, divides);
    }
}

int plan_product_node(Planner *p, const PlanFactors *f, DType dt)
{
    int made = -1;
    for (int round = 0; round < 2; round++)         /* what divides comes last */
        for (int i = 0; i < f->count; i++) {
            bool divides = f->node[i] < 0;
            int x = divides ? ~f->node[i] : f->node[i];
            if (divides != (round == 1))
                continue;
            int args[2] = { made, x };
            if (made >= 0)
                made = nest_ew(p->ctx, p->n, divides ? EW_DIVIDE : EW_MULTIPLY, dt, args, 2);
            else if (!divides)
                made = x;
        }
    if (made >= 0 && f->negative)
        made = nest_ew(p->ctx, p->n, EW_NEGATIVE, dt, &made, 1);
    return made;
}

static uint64_t factors_free(const Planner *p, const PlanFactors *f)
{
    uint64_t free = 0;
    for (int i = 0; i < f->count; i++)
        free |= at(p, f->node[i] < 0 ? ~f->node[i] : f->node[i])->free;
    return free;
}

/* ---- weights ---- */

/* A sum over one index; which. */
static bool is_sum(const Planner *p, int x, int *over)
{
    const NestNode *node = at(p, x);
    if (node->kind != NEST_REDUCE || node->op != NEST_SUM || !is_real(node->compute) ||
        __builtin_popcountll(node->bound) != 1)
        return false;
    *over = __builtin_ctzll(node->bound);
    return true;
}

/* exp(S); where(c, exp(S), 0), whose mask is c. */
static bool is_weight(Planner *p, int x, int *scores, int *mask)
{
    const NestNode *node = at(p, x);
    bool where = node->kind == NEST_EW && node->op == EW_WHERE;
    int other = where ? node->arg[2] : -1;
    *mask = where ? node->arg[0] : -1;
    if (where)
        node = at(p, plan_bare(p, node->arg[1]));
    if (node->kind != NEST_EW || node->op != EW_EXP || !is_real(node->compute))
        return false;
    *scores = node->arg[0];
    return !where || is_number(p, other, 0);    /* asked last: the plan is for this number then */
}

/* A bool as the number 1 or 0. */
static int mask_of(const Planner *p, int x)
{
    const NestNode *node = at(p, x);
    bool cast = node->kind == NEST_CAST && at(p, node->arg[0])->dtype == DT_BOOL;
    return cast ? node->arg[0] : -1;
}

/* The product under a sum over keys: one weight, bools, and what belongs to the values. */
typedef struct Weights {
    int weight, mask[PLAN_FACTORS], masks;
    int scores, inner;              /* of the weight; inner: its own mask or -1 */
    PlanFactors rest;
    bool bad;
} Weights;

static void take_weights(Planner *p, int sum, int key, Weights *w)
{
    PlanFactors all = { 0 };
    take_product(p, at(p, sum)->arg[0], false, &all);
    *w = (Weights){ .weight = -1, .inner = -1, .bad = all.bad };
    w->rest.negative = all.negative;
    for (int i = 0; i < all.count; i++) {
        int x = all.node[i], scores, inner;
        bool keys = at(p, x < 0 ? ~x : x)->free >> key & 1;
        if (x >= 0 && keys && is_weight(p, x, &scores, &inner)) {
            w->bad |= w->weight >= 0;
            w->weight = x, w->scores = scores, w->inner = inner;
        } else if (x >= 0 && keys && mask_of(p, x) >= 0) {
            w->mask[w->masks++] = mask_of(p, x);
        } else {
            w->rest.node[w->rest.count++] = x;
        }
    }
}

/* Are they the weights of the sum, its index for ours? */
static bool same_weights(Planner *p, const Weights *w, int key, int sum)
{
    Weights other;
    int over;
    if (!is_sum(p, sum, &over) || p->n->index[over].extent != p->n->index[key].extent)
        return false;
    take_weights(p, sum, over, &other);
    bool same = !other.bad && other.weight >= 0 && other.rest.count == 0 &&
                !other.rest.negative && other.masks == w->masks &&
                plan_same_as(p, w->weight, other.weight, key, over);
    for (int i = 0; same && i < w->masks; i++)
        same = plan_same_as(p, w->mask[i], other.mask[i], key, over);
    return same;
}

/* Finds the sum below, which is one of the factors or stands outside. */
static bool take_sum(PlanScores *f, Weights *w, int below)
{
    Planner *p = f->p;
    f->sum = below;
    if (below >= 0)
        return same_weights(p, w, f->key, below);
    for (int i = 0; i < w->rest.count; i++)
        if (w->rest.node[i] < 0 && same_weights(p, w, f->key, ~w->rest.node[i])) {
            f->sum = ~w->rest.node[i];
            w->rest.node[i] = w->rest.node[--w->rest.count];
            return true;
        }
    return false;
}

/* ---- scores ---- */

/* Is there a sum inside that goes with keys? */
static bool has_product(const Planner *p, int x, int key, int depth)
{
    const NestNode *node = at(p, x);
    if (!(node->free >> key & 1) || depth > 40)
        return false;
    if (node->kind == NEST_REDUCE)
        return node->op == NEST_SUM;
    for (int i = 0; i < node->args; i++)
        if (has_product(p, node->arg[i], key, depth + 1))
            return true;
    return false;
}

static void put_factor(PlanScores *f, int x)
{
    int node = x < 0 ? ~x : x, c = node;
    uint64_t free = at(f->p, node)->free;
    while (at(f->p, c)->kind == NEST_CAST)
        c = at(f->p, c)->arg[0];
    bool number = at(f->p, c)->kind == NEST_CONST && dtype_info(at(f->p, c)->dtype)->kind != 'c';
    PlanFactors *to = number ? &f->scale : free >> f->key & 1 ? &f->k : &f->q;
    add_factor(to, number ? (x < 0 ? ~c : c) : x, false);
}

/* sum[d] Q K: the factors that go with keys, and those that do not. */
static bool take_scores_product(PlanScores *f, int x, const PlanFactors *times)
{
    PlanFactors all = { 0 };
    int over;
    if (f->depth || !is_sum(f->p, x, &over))
        return false;
    take_product(f->p, at(f->p, x)->arg[0], false, &all);
    f->depth = UINT64_C(1) << over;
    f->mixed = dtype_computed((DType)at(f->p, x)->dtype) != f->real;
    for (int i = 0; i < all.count; i++)
        put_factor(f, all.node[i]);
    for (int i = 0; i < times->count; i++)
        put_factor(f, times->node[i]);
    f->scale.negative = all.negative != times->negative;
    return !(all.bad || f->q.bad || f->k.bad || f->scale.bad) && f->q.count && f->k.count;
}

static bool add_term(PlanScores *f, int x, const PlanFactors *times)
{
    if (f->terms == PLAN_FACTORS)
        return false;
    f->term[f->terms++] = (PlanTerm){ x, *times };
    return true;
}

static bool take_scores(PlanScores *f, int x, PlanFactors times);

/* where(c, S, -inf), where(c, -inf, S). */
static bool take_where(PlanScores *f, const NestNode *node, PlanFactors times)
{
    bool turned = is_number(f->p, node->arg[1], -INFINITY);
    int mask = node->arg[0];
    if (turned)
        mask = nest_ew(f->p->ctx, f->p->n, EW_INVERT, DT_BOOL, &mask, 1);
    f->mask[f->masks++] = mask;
    return take_scores(f, node->arg[turned ? 2 : 1], times);
}

/* -inf times these stays what it is. */
static bool is_positive(Planner *p, const PlanFactors *times)
{
    double number;
    for (int i = 0; i < times->count; i++) {
        int x = times->node[i] < 0 ? ~times->node[i] : times->node[i];
        if (!plan_known(p, x, &number) || !(number > 0 && number < INFINITY))
            return false;
    }
    return !times->negative;
}

static bool is_where(PlanScores *f, const NestNode *node, const PlanFactors *times)
{
    return node->op == EW_WHERE && f->masks < PLAN_FACTORS && is_positive(f->p, times) &&
           (is_number(f->p, node->arg[2], -INFINITY) || is_number(f->p, node->arg[1], -INFINITY));
}

/* A largest score, or another maximum that is the same for all keys, is in the sum below, too. */
static bool cancels(const PlanScores *f, const NestNode *node)
{
    return node->kind == NEST_REDUCE && node->op == NEST_MAX && !(node->free >> f->key & 1);
}

/* A factor that holds the product of queries and keys, times all the others. */
static bool take_chain(PlanScores *f, int x, PlanFactors times)
{
    PlanFactors all = { 0 };
    int inside = -1;
    take_product(f->p, x, false, &all);
    for (int i = 0; i < all.count; i++)
        if (all.node[i] >= 0 && inside < 0 && has_product(f->p, all.node[i], f->key, 0))
            inside = i;
    if (all.bad || inside < 0)
        return add_term(f, x, &times);
    x = all.node[inside];
    for (int i = 0; i < all.count; i++)
        if (i != inside)
            add_factor(&times, all.node[i] < 0 ? ~all.node[i] : all.node[i], all.node[i] < 0);
    times.negative ^= all.negative;
    if (times.bad)
        return false;
    if (at(f->p, x)->kind == NEST_REDUCE)
        return f->depth ? add_term(f, x, &times) : take_scores_product(f, x, &times);
    bool opens = at(f->p, x)->kind == NEST_EW &&
                 (at(f->p, x)->op == EW_ADD || at(f->p, x)->op == EW_SUBTRACT ||
                  at(f->p, x)->op == EW_WHERE);
    return opens ? take_scores(f, x, times) : add_term(f, x, &times);
}

static bool take_scores(PlanScores *f, int x, PlanFactors times)
{
    x = plan_bare(f->p, x);
    NestNode node = *at(f->p, x);
    bool ew = node.kind == NEST_EW;
    if (cancels(f, &node) || is_number(f->p, x, 0))
        return true;
    if (ew && is_where(f, &node, &times))
        return take_where(f, &node, times);
    if (ew && node.op == EW_WHERE) {
        f->filled |= has_product(f->p, x, f->key, 0);
        return add_term(f, x, &times);
    }
    if (ew && (node.op == EW_ADD || node.op == EW_SUBTRACT)) {
        PlanFactors second = times;
        second.negative ^= node.op == EW_SUBTRACT;
        return take_scores(f, node.arg[0], times) && take_scores(f, node.arg[1], second);
    }
    return take_chain(f, x, times);
}

/* ---- the whole ---- */

/* Factors that do not go with keys come after the sum. */
static void put_off(PlanScores *f)
{
    int kept = 0;
    for (int i = 0; i < f->v.count; i++) {
        int x = f->v.node[i];
        bool keys = at(f->p, x < 0 ? ~x : x)->free >> f->key & 1;
        if (keys)
            f->v.node[kept++] = x;
        else
            add_factor(&f->after, x < 0 ? ~x : x, x < 0);
    }
    f->v.count = kept;
}

/* Which index of the result is what: queries go with q alone, columns with values alone. */
static bool name_indices(PlanScores *f, const char **why)
{
    Planner *p = f->p;
    uint64_t key = UINT64_C(1) << f->key;
    uint64_t q = factors_free(p, &f->q) & ~f->depth, k = factors_free(p, &f->k) & ~f->depth & ~key;
    put_off(f);
    uint64_t v = factors_free(p, &f->v) & ~key, columns = v & ~f->seen;
    f->query = f->column = -1;
    for (uint64_t s = q & ~k & ~v; s; s &= s - 1) {
        int i = __builtin_ctzll(s);
        if (f->query < 0 || p->n->index[i].extent > p->n->index[f->query].extent)
            f->query = i;
    }
    *why = "values have several axes of their own";
    if (__builtin_popcountll(columns) > 1)
        return false;
    if (columns)
        f->column = __builtin_ctzll(columns);
    *why = "no index belongs to the queries alone";
    if (f->query < 0 || !f->v.count)
        return false;
    f->heads = (f->seen | v) & ~key & ~columns & ~(UINT64_C(1) << f->query);
    return true;
}

/* Measured: from so many scores on tiles are at least as fast, where there are so many queries. Up
 * to so many columns of values the products of the other way add in several sums at once and are
 * up to 1.8 times as exact: then tiles are for scores that would take much memory. */
enum { LEAST_SCORES = 1 << 14, LEAST_QUERIES = 16, FEW_COLUMNS = 8, MUCH = 16 << 20 };

static bool large_enough(const PlanScores *f, const char **why)
{
    double n = (double)f->p->n->index[f->query].extent;
    double scores = n * (double)f->p->n->index[f->key].extent * plan_size(f->p->n, f->heads);
    int64_t columns = f->column < 0 ? 1 : f->p->n->index[f->column].extent;
    *why = "there are few queries";
    if (n < LEAST_QUERIES)
        return false;
    *why = "they are few";
    if (scores < LEAST_SCORES)
        return false;
    *why = "values are narrow and these no more than 16 MB";
    return columns > FEW_COLUMNS || scores * dtype_info(f->real)->bytes > MUCH;
}

/* The sum over keys, and the one below where that stands outside. */
static bool take_sums(PlanScores *f, int x, int *above, int *below)
{
    const NestNode *node = at(f->p, plan_bare(f->p, x));
    *above = plan_bare(f->p, x);
    *below = -1;
    if (node->kind == NEST_EW && node->op == EW_DIVIDE && is_real(node->compute)) {
        *above = plan_bare(f->p, node->arg[0]);
        *below = plan_bare(f->p, node->arg[1]);
    }
    node = at(f->p, *above);
    bool sum = node->kind == NEST_REDUCE && node->op == NEST_SUM && is_real(node->compute);
    f->more = sum ? node->bound : 0;
    return sum && (*below < 0 || !(node->bound & (node->bound - 1)));
}

/* Which of the indices of the sum is that of keys: the one that the sum below is over. */
static bool take_key(PlanScores *f, int above, int below, Weights *w)
{
    for (uint64_t s = f->more; s; s &= s - 1) {
        f->key = __builtin_ctzll(s);
        take_weights(f->p, above, f->key, w);
        if (!w->bad && w->weight >= 0 && take_sum(f, w, below) &&
            has_product(f->p, w->scores, f->key, 0)) {
            f->more &= ~(UINT64_C(1) << f->key);
            return true;
        }
    }
    return false;
}

bool plan_scores_find(PlanScores *f, Planner *p, int x, bool *formula, const char **why)
{
    int above, below;
    Weights w;
    *f = (PlanScores){ .p = p, .value = x, .query = -1, .column = -1 };
    *formula = false;
    if (!take_sums(f, x, &above, &below) || !take_key(f, above, below, &w))
        return false;
    *formula = true;
    f->scores = w.scores;
    f->weight = w.weight;
    f->seen = at(p, w.weight)->free;
    f->v = w.rest;
    f->real = dtype_computed((DType)at(p, w.weight)->dtype);
    for (int i = 0; i < w.masks; i++) {
        f->seen |= at(p, w.mask[i])->free;
        f->mask[f->masks++] = f->factor[f->factors++] = w.mask[i];
    }
    if (w.inner >= 0 && f->masks < PLAN_FACTORS)
        f->mask[f->masks++] = w.inner;
    *why = "they are computed in more than one format";
    if ((f->real != DT_F32 && f->real != DT_F64) ||
        dtype_computed((DType)at(p, above)->dtype) != f->real)
        return false;
    bool taken = take_scores(f, f->scores, (PlanFactors){ 0 });
    *why = f->filled ? "a score that is not seen is no -inf"
                     : "scores are no products of queries and keys in floats";
    if (!taken || !f->depth)
        return false;
    *why = "they are computed in more than one format";
    if (f->mixed)
        return false;
    return name_indices(f, why) && large_enough(f, why);
}

int plan_scores_split(PlanScores *f)
{
    Planner *p = f->p;
    int above, below, made;
    uint64_t more = f->more;
    take_sums(f, f->value, &above, &below);
    DType dt = (DType)at(p, f->weight)->dtype;
    PlanFactors all = f->v;
    add_factor(&all, f->weight, false);
    for (int i = 0; i < f->factors; i++)
        add_factor(&all, nest_cast(p->ctx, p->n, f->factor[i], dt), false);
    if (below < 0)
        add_factor(&all, f->sum, true);
    if (all.bad || f->after.bad)
        return -1;
    made = nest_reduce(p->ctx, p->n, NEST_SUM, plan_product_node(p, &all, dt),
                       UINT64_C(1) << f->key);
    if (below >= 0) {
        int args[2] = { made, below };
        made = nest_ew(p->ctx, p->n, EW_DIVIDE, dt, args, 2);
    }
    PlanFactors whole = { .count = 1, .node = { made } };
    for (int i = 0; i < f->after.count; i++)
        add_factor(&whole, f->after.node[i] < 0 ? ~f->after.node[i] : f->after.node[i],
                   f->after.node[i] < 0);
    made = whole.bad ? -1 : plan_product_node(p, &whole, dt);
    if (made >= 0 && more)
        made = nest_reduce(p->ctx, p->n, NEST_SUM, made, more);
    return made < 0 ? -1 : nest_cast(p->ctx, p->n, made, (DType)at(p, f->value)->dtype);
}
