/* Reductions that are contractions: a sum of products, a minimum of sums and the like whose
 * factors are elements of tensors. Factors that are expressions of fewer indices are computed
 * first where that costs little against the contraction; those that do not depend on what is
 * summed are multiplied in afterwards. */
#include "kernels/plan/nest_plan.h"

#include "core/base/mem.h"

#include <string.h>

typedef struct Factors {
    int count, cap;
    int *node;
} Factors;

typedef struct Product {
    Semiring semiring;
    EwOp combine;                   /* EW_COUNT: nothing is combined */
    DType dtype;
    uint64_t bound;
    Factors factor;                 /* nodes of dtype */
    Factors after;                  /* multiplied in when the sum is done; negative: ~x divides */
    bool negative;
    bool bad;
} Product;

/* ---- taking the body apart ---- */

static void add(Planner *p, Factors *f, int x)
{
    if (f->count == f->cap) {
        int cap = f->cap ? 2 * f->cap : 8;
        int *more = arena_alloc(&p->plan->arena, (size_t)cap * sizeof *more);
        if (f->count)
            memcpy(more, f->node, (size_t)f->count * sizeof *more);
        f->node = more;
        f->cap = cap;
    }
    f->node[f->count++] = x;
}

static void take_apart(Planner *p, Product *q, int x);

/* g/x for the factor g that knows most of x's indices. */
static void divide_factor(Planner *p, Product *q, int from, int x)
{
    uint64_t free = p->n->node[x].free;
    int best = -1, fewest = 65;
    for (int k = from; k < q->factor.count; k++) {
        int more = __builtin_popcountll(free & ~p->n->node[q->factor.node[k]].free);
        if (more < fewest)
            best = k, fewest = more;
    }
    if (best < 0 || q->bad) {
        q->bad = true;
        return;
    }
    int args[3] = { q->factor.node[best], x };
    q->factor.node[best] = nest_ew(p->ctx, p->n, EW_DIVIDE, q->dtype, args, 2);
}

static void take_quotient(Planner *p, Product *q, NestNode node)
{
    int from = q->factor.count;
    take_apart(p, q, node.arg[0]);
    if (p->n->node[node.arg[1]].free & q->bound)
        divide_factor(p, q, from, node.arg[1]);
    else
        add(p, &q->after, ~node.arg[1]);
}

/* A sum inside the sum: one sum over both, as no index is bound twice. */
static bool inner_sum(const Product *q, const NestNode *node, uint64_t outside)
{
    NestReduce op = q->semiring == SR_PLUS_TIMES ? NEST_SUM
                  : q->semiring == SR_MIN_PLUS || q->semiring == SR_MIN_MAX ? NEST_MIN : NEST_MAX;
    return node->kind == NEST_REDUCE && node->op == op && node->dtype == q->dtype &&
           semiring_distributes(q->semiring) && !(node->bound & (q->bound | outside));
}

/* A bool product that is counted. */
static bool counted_and(const Planner *p, const Product *q, const NestNode *node)
{
    const NestNode *x = &p->n->node[node->arg[0]];
    return q->semiring == SR_PLUS_TIMES && q->dtype == DT_I64 && node->kind == NEST_CAST &&
           x->kind == NEST_EW && x->op == EW_BITAND && x->compute == DT_BOOL;
}

/* A product of halves that is summed in f32. */
static bool half_product(const Planner *p, const Product *q, const NestNode *node)
{
    const NestNode *x = &p->n->node[node->arg[0]];
    return q->semiring == SR_PLUS_TIMES && q->dtype == DT_F32 && node->kind == NEST_CAST &&
           x->kind == NEST_EW && x->op == EW_MULTIPLY &&
           dtype_half(x->compute);
}

static void take_apart(Planner *p, Product *q, int x)
{
    NestNode node = p->n->node[x];
    bool ours = node.kind == NEST_EW && node.compute == q->dtype;
    int split = node.kind == NEST_REDUCE ? plan_attention_split(p, x) : -1;
    if (q->bad)
        return;
    if (split >= 0) {
        take_apart(p, q, split);
    } else if (ours && node.op == q->combine) {
        take_apart(p, q, node.arg[0]);
        take_apart(p, q, node.arg[1]);
    } else if (ours && node.op == EW_DIVIDE && q->semiring == SR_PLUS_TIMES) {
        take_quotient(p, q, node);
    } else if (ours && node.op == EW_NEGATIVE && q->semiring == SR_PLUS_TIMES) {
        q->negative = !q->negative;
        take_apart(p, q, node.arg[0]);
    } else if (ours && node.op == EW_SUBTRACT && q->combine == EW_ADD) {
        int arg = node.arg[1];
        take_apart(p, q, node.arg[0]);
        add(p, &q->factor, nest_ew(p->ctx, p->n, EW_NEGATIVE, q->dtype, &arg, 1));
    } else if (inner_sum(q, &node, 0) && !plan_attends(p, x)) {
        q->bound |= node.bound;
        take_apart(p, q, node.arg[0]);
    } else if (counted_and(p, q, &node) || half_product(p, q, &node)) {
        NestNode inner = p->n->node[node.arg[0]];
        take_apart(p, q, nest_cast(p->ctx, p->n, inner.arg[0], q->dtype));
        take_apart(p, q, nest_cast(p->ctx, p->n, inner.arg[1], q->dtype));
    } else {
        add(p, &q->factor, x);
    }
}

/* What the reduction and the operation at the top of its body make; false: none of ours. */
static bool find_semiring(const NestNode *x, const NestNode *body, Product *q)
{
    EwOp op = body->kind == NEST_EW && body->compute == x->compute ? (EwOp)body->op : EW_COUNT;
    q->combine = EW_COUNT;
    if (x->op == NEST_SUM) {
        q->semiring = SR_PLUS_TIMES;
        q->combine = EW_MULTIPLY;
        return true;
    }
    if (x->op == NEST_ANY) {
        q->semiring = SR_OR_AND;
        q->combine = EW_BITAND;
        return true;
    }
    if (x->op != NEST_MIN && x->op != NEST_MAX)
        return false;
    bool least = x->op == NEST_MIN;
    q->semiring = least ? SR_MIN_PLUS : SR_MAX_PLUS;
    if (op == EW_ADD || op == EW_SUBTRACT) {
        q->combine = EW_ADD;
    } else if (op == EW_MULTIPLY) {
        q->semiring = least ? SR_MIN_TIMES : SR_MAX_TIMES;
        q->combine = EW_MULTIPLY;
    } else if (op == (least ? EW_MAXIMUM : EW_MINIMUM)) {
        q->semiring = least ? SR_MIN_MAX : SR_MAX_MIN;
        q->combine = (EwOp)op;
    }
    return true;
}

/* ---- does it pay? ---- */

/* An element of a tensor of the right dtype, perhaps conjugated, or of a float that the
 * contraction converts. */
static const NestLoad *plain_load(const Planner *p, const Product *q, int x, bool *conj)
{
    const NestNode *node = &p->n->node[x];
    *conj = false;
    if (node->kind == NEST_CAST && node->dtype == q->dtype) {
        node = &p->n->node[node->arg[0]];
        bool stored = node->kind == NEST_LOAD && contract_stores((DType)node->dtype, q->dtype);
        return stored && !p->n->load[node->slot].gathers ? &p->n->load[node->slot] : NULL;
    }
    if (node->kind == NEST_EW && node->op == EW_CONJ && node->compute == q->dtype &&
        dtype_info(q->dtype)->kind == 'c') {
        *conj = true;
        node = &p->n->node[node->arg[0]];
    }
    if (node->kind != NEST_LOAD || node->dtype != q->dtype || p->n->load[node->slot].gathers)
        return NULL;
    return &p->n->load[node->slot];
}

static bool is_plain(const Planner *p, const Product *q, int x)
{
    bool conj;
    return p->n->node[x].kind == NEST_CONST || plain_load(p, q, x, &conj);
}

/* Factors that do not depend on what is summed, and are no plain operands, come after. */
static void put_off(Planner *p, Product *q)
{
    int kept = 0;
    if (q->semiring != SR_PLUS_TIMES)
        return;
    for (int k = 0; k < q->factor.count; k++) {
        int x = q->factor.node[k];
        if (is_plain(p, q, x) || p->n->node[x].free & q->bound)
            q->factor.node[kept++] = x;
        else
            add(p, &q->after, x);
    }
    q->factor.count = kept;
}

static uint64_t factors_free(const Planner *p, const Product *q)
{
    uint64_t free = 0;
    for (int k = 0; k < q->factor.count; k++)
        free |= p->n->node[q->factor.node[k]].free;
    return free;
}

/* Costs in the units of PlanFact. The contraction itself: about an eighth of a step of a
 * fused loop where it is a product of matrices, half of one where it reads once. */
static bool pays(Planner *p, const Product *q, uint64_t all, bool alone)
{
    double work = plan_size(p->n, all), sums = plan_size(p->n, q->bound);
    double first = 0, cost = 0.5;
    bool expressions = q->after.count > 0;
    if (work == 0 || (all & q->bound) != q->bound)
        return false;
    for (int k = 0; k < q->factor.count; k++) {
        int x = q->factor.node[k];
        if (is_plain(p, q, x))
            continue;
        if (!plan_fits(p, x))
            return false;
        expressions = true;
        cost += plan_fact(p, x)->cost;
        first += plan_size(p->n, p->n->node[x].free) * (plan_fact(p, x)->cost + 2);
    }
    if (!expressions)
        return alone || (work >= 4096 && sums >= 8);
    if (work < 4096 || q->factor.count < 2)
        return false;
    return 1.3 * (first + work / 4) < work * cost + work;
}

static bool allowed(const Planner *p, const Product *q)
{
    if (q->bad || q->factor.count == 0 || !semiring_has(q->semiring, q->dtype))
        return false;
    if (!semiring_distributes(q->semiring) && q->factor.count > 2)
        return false;
    for (int k = 0; k < q->factor.count; k++)
        if (p->n->node[q->factor.node[k]].dtype != q->dtype)
            return false;
    return true;
}

/* ---- the step ---- */

typedef struct Labels {
    int count, of[NEST_INDICES];    /* label of each index */
} Labels;

static void set_operand(const Planner *p, const Product *q, int x, const Labels *labels,
                        ContractOperand *operand, const char **name, int *slot)
{
    const NestNode *node = &p->n->node[x];
    if (node->kind == NEST_CONST) {
        *slot = node->slot;
        *name = "";
        return;
    }
    const NestLoad *load = plain_load(p, q, x, &operand->conj);
    *slot = load->slot;
    *name = load->name;
    operand->stored = load->dtype == q->dtype ? 0 : (uint8_t)load->dtype;
    for (int i = 0; i < p->n->indices; i++)
        if (load->stride[i] != 0) {
            operand->labels |= UINT64_C(1) << labels->of[i];
            operand->stride[labels->of[i]] = load->stride[i];
        }
}

/* The result may go where the whole value goes if it has its form. */
static PlanValue choose_place(Planner *p, const Product *q, uint64_t free)
{
    PlanTarget *t = p->target;
    PlanValue v = { .slot = -1 };
    if (t && !t->used && t->axes == free && t->dtype == q->dtype) {
        t->used = true;
        v.slot = t->slot;
        memcpy(v.stride, t->stride, sizeof v.stride);
    } else {
        v.slot = plan_temp(p, free, q->dtype, v.stride);
    }
    return v;
}

static void add_contraction(Planner *p, const Product *q, uint64_t all, const PlanValue *to)
{
    Arena *arena = &p->plan->arena;
    Labels labels = { 0 };
    const char *names[NEST_INDICES];
    const char **operand_names =
        arena_alloc(arena, (size_t)q->factor.count * sizeof *operand_names);
    ContractOperand *operands = arena_alloc(arena, (size_t)q->factor.count * sizeof *operands);
    Contraction c = { .dtype = q->dtype, .semiring = q->semiring, .operands = q->factor.count,
                      .operand = operands, .names = names, .operand_names = operand_names };
    for (uint64_t s = all; s; s &= s - 1) {
        int i = __builtin_ctzll(s), l = labels.count++;
        labels.of[i] = l;
        c.extent[l] = p->n->index[i].extent;
        names[l] = p->n->index[i].name;
        if (!(q->bound >> i & 1)) {
            c.out |= UINT64_C(1) << l;
            c.out_stride[l] = to->stride[i];
        }
    }
    c.labels = labels.count;
    int *input = arena_alloc(arena, 2 * (size_t)q->factor.count * sizeof *input);
    for (int k = 0; k < q->factor.count; k++)
        set_operand(p, q, q->factor.node[k], &labels, &operands[k], &operand_names[k], &input[k]);
    PlanStep *s = plan_add_step(p, to->slot);
    s->inputs = q->factor.count;
    s->input = input;
    s->factor = input + q->factor.count;
    memcpy(s->factor, q->factor.node, (size_t)q->factor.count * sizeof *s->factor);
    s->semiring = q->semiring;
    s->bound = q->bound;
    s->free = all & ~q->bound;
    s->contract = contract_plan(p->ctx, &c, NULL);
}

/* What came off the product goes back on, in the loops of whoever reads it. */
static int apply_afters(Planner *p, const Product *q, int x, uint64_t loops)
{
    if (q->negative)
        x = nest_ew(p->ctx, p->n, EW_NEGATIVE, q->dtype, &x, 1);
    for (int k = 0; k < q->after.count; k++) {
        bool divides = q->after.node[k] < 0;
        int y = plan_lower(p, divides ? ~q->after.node[k] : q->after.node[k], loops, false);
        int args[3] = { x, y };
        x = nest_ew(p->ctx, p->n, divides ? EW_DIVIDE : EW_MULTIPLY, q->dtype, args, 2);
    }
    return x;
}

int plan_contraction(Planner *p, int x, bool alone)
{
    NestNode node = p->n->node[x];
    Product q = { .dtype = (DType)node.compute, .bound = node.bound };
    NestNode body = p->n->node[node.arg[0]];
    if (!find_semiring(&node, &body, &q))
        return -1;
    take_apart(p, &q, node.arg[0]);
    if (q.bad)
        return -1;
    put_off(p, &q);
    uint64_t all = factors_free(p, &q);
    if (!allowed(p, &q) || !pays(p, &q, all, alone))
        return -1;
    for (int k = 0; k < q.factor.count; k++)
        if (!is_plain(p, &q, q.factor.node[k]))
            q.factor.node[k] = plan_keep(p, q.factor.node[k]);
    all = factors_free(p, &q);
    PlanValue to = choose_place(p, &q, all & ~q.bound);
    add_contraction(p, &q, all, &to);
    to.node = x;
    if (!q.negative && !q.after.count)
        plan_remember(p, x, to.slot, to.stride);
    int read = plan_load_node(p, &to, plan_slot_name(p, to.slot));
    return apply_afters(p, &q, read, node.free);
}
