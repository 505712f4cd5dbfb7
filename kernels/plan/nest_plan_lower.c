/* Which values of a nest are computed once and which stay in the loops of a stage. A stage holds
 * no reduction whose value depends on fewer indices than its axes and none inside another: those
 * go into temporaries, and so do expensive parts that depend on few of the indices around them.
 * Appends nodes and emits steps. */
#include "kernels/plan/nest_plan.h"

#include "core/base/mem.h"

#include <stdio.h>
#include <string.h>

double plan_size(const Nest *n, uint64_t indices)
{
    double size = 1;
    for (uint64_t s = indices; s; s &= s - 1)
        size *= (double)n->index[__builtin_ctzll(s)].extent;
    return size;
}

/* Computing again takes time where a temporary that is too large takes everything. */
bool plan_fits(const Planner *p, int x)
{
    const NestNode *node = &p->n->node[x];
    const MemAccount *m = &p->ctx->mem;
    double room = m->limit > m->live ? (double)(m->limit - m->live) : 0;
    return plan_size(p->n, node->free) * dtype_info(node->dtype)->bytes <= room / 2;
}

/* ---- what nodes cost ---- */

static void add_fact(Planner *p, int x)
{
    const NestNode *node = &p->n->node[x];
    PlanFact *f = &p->fact[x];
    *f = (PlanFact){ .lowered = -1 };
    if (node->kind == NEST_REDUCE) {
        f->reduce = true;
        f->cost = 1;
        return;
    }
    if (node->kind == NEST_EW)
        f->cost = ew_weight((EwOp)node->op, (DType)node->compute);
    else if (node->kind == NEST_CAST)
        f->cost = 1;
    if (node->kind == NEST_LOAD)
        f->cost = p->n->load[node->slot].gathers ? 4 : 0.5f;
    for (int k = 0; k < node->args; k++) {
        f->cost += p->fact[node->arg[k]].cost;
        f->reduce |= p->fact[node->arg[k]].reduce;
    }
    if (f->cost > 1e6f)
        f->cost = 1e6f;
}

const PlanFact *plan_fact(Planner *p, int x)
{
    if (p->n->node_cap > p->fact_cap) {
        PlanFact *fresh = arena_alloc(&p->plan->arena, (size_t)p->n->node_cap * sizeof *fresh);
        if (p->facts)
            memcpy(fresh, p->fact, (size_t)p->facts * sizeof *fresh);
        p->fact = fresh;
        p->fact_cap = p->n->node_cap;
    }
    for (; p->facts < p->n->nodes; p->facts++)
        add_fact(p, p->facts);
    return &p->fact[x];
}

/* ---- temporaries ---- */

/* Row-major over the axes in order of their numbers. */
int plan_temp(Planner *p, uint64_t axes, DType dt, int64_t *stride)
{
    NestPlan *plan = p->plan;
    if (plan->temps == plan->temp_cap) {
        int cap = plan->temp_cap ? 2 * plan->temp_cap : 4;
        PlanTemp *fresh = arena_alloc(&plan->arena, (size_t)cap * sizeof *fresh);
        if (plan->temps)
            memcpy(fresh, plan->temp, (size_t)plan->temps * sizeof *fresh);
        plan->temp = fresh;
        plan->temp_cap = cap;
    }
    int64_t step = 1;
    memset(stride, 0, NEST_INDICES * sizeof *stride);
    for (int i = NEST_INDICES - 1; i >= 0; i--)
        if (axes >> i & 1) {
            stride[i] = step;
            if (__builtin_mul_overflow(step, p->n->index[i].extent, &step))
                mem_raise(p->ctx, SIZE_MAX / 2);
        }
    PlanTemp *t = &plan->temp[plan->temps];
    t->bytes = mem_mul(p->ctx, (size_t)step, dtype_info(dt)->bytes);
    t->first = t->last = -1;
    snprintf(t->name, sizeof t->name, "T%d", plan->temps + 1);
    return plan->slots + 1 + plan->temps++;
}

const char *plan_slot_name(const Planner *p, int slot)
{
    const NestPlan *plan = p->plan;
    if (slot > plan->slots)
        return plan->temp[slot - plan->slots - 1].name;
    return plan->nest->result[0] ? plan->nest->result : "result";
}

int plan_load_node(Planner *p, const PlanValue *v, const char *name)
{
    NestLoad *load = nest_load_new(p->ctx, p->n, v->slot, (DType)p->n->node[v->node].dtype, name);
    memcpy(load->stride, v->stride, sizeof load->stride);
    return nest_load(p->ctx, p->n);
}

void plan_remember(Planner *p, int x, int slot, const int64_t *stride)
{
    PlanValue *v = arena_alloc(&p->plan->arena, sizeof *v);
    v->node = x;
    v->slot = slot;
    memcpy(v->stride, stride, sizeof v->stride);
    v->next = p->values;
    p->values = v;
}

/* What stood in the slot is overwritten, and nodes that were to load it are worth nothing. */
static void forget(Planner *p, int slot)
{
    for (int i = 0; i < p->facts; i++)
        p->fact[i].lowered = -1;
    for (PlanValue **v = &p->values; *v;)
        if ((*v)->slot == slot)
            *v = (*v)->next;
        else
            v = &(*v)->next;
}

int plan_keep(Planner *p, int x)
{
    PlanValue v;
    if (!plan_find_value(p, x, &v)) {
        PlanTarget t = { .axes = p->n->node[x].free, .dtype = (DType)p->n->node[x].dtype,
                         .stride = v.stride };
        v.node = x;
        v.slot = t.slot = plan_temp(p, t.axes, t.dtype, v.stride);
        plan_value(p, x, &t);
    }
    return plan_load_node(p, &v, plan_slot_name(p, v.slot));
}

/* ---- lowering ---- */

static int add_node(Planner *p, NestNode x)
{
    if (x.kind == NEST_CAST)
        return nest_cast(p->ctx, p->n, x.arg[0], (DType)x.dtype);
    int args[3] = { x.arg[0], x.arg[1], x.arg[2] };
    int y = nest_ew(p->ctx, p->n, (EwOp)x.op, (DType)x.compute, args, x.args);
    p->n->node[y].watch |= x.watch;
    return y;
}

/* Accumulating halves in f32, a product of them need not be rounded to a half first. */
static int widen_product(Planner *p, int x, DType dt)
{
    NestNode cast = p->n->node[x];
    if (cast.kind != NEST_CAST || dt != DT_F32)
        return x;
    NestNode mul = p->n->node[cast.arg[0]];
    if (mul.kind != NEST_EW || mul.op != EW_MULTIPLY ||
        !dtype_half(mul.compute))
        return x;
    int args[3];
    for (int k = 0; k < 2; k++)
        args[k] = widen_product(p, nest_cast(p->ctx, p->n, mul.arg[k], DT_F32), DT_F32);
    return nest_ew(p->ctx, p->n, EW_MULTIPLY, DT_F32, args, 2);
}

static int rebuild_reduce(Planner *p, NestNode x, uint64_t loops)
{
    int arg = x.op == NEST_SUM ? widen_product(p, x.arg[0], (DType)x.compute) : x.arg[0];
    arg = plan_lower(p, arg, loops | x.bound, true);
    int reduced = nest_reduce(p->ctx, p->n, (NestReduce)x.op, arg, x.bound);
    return reduced;
}

/* A contraction inside another reduction, over all of its loops: what comes after the sum
 * stays in them. */
static int contract_inside(Planner *p, int x)
{
    PlanValue v;
    if (plan_find_value(p, x, &v))
        return plan_load_node(p, &v, plan_slot_name(p, v.slot));
    PlanTarget *outer = p->target;
    p->target = NULL;
    int read = plan_contraction(p, x, true);
    p->target = outer;
    return read;
}

static int lower_reduce(Planner *p, int x, uint64_t loops, bool inside)
{
    PlanValue v;
    NestNode node = p->n->node[x];
    if (inside && node.free == loops && !plan_folds(p, x)) {
        int read = contract_inside(p, x);
        return read >= 0 ? read : plan_keep(p, x);
    }
    if (inside || node.free != loops || plan_folds(p, x))
        return plan_keep(p, x);
    if (plan_find_value(p, x, &v))
        return plan_load_node(p, &v, plan_slot_name(p, v.slot));
    int read = plan_contraction(p, x, false);
    return read >= 0 ? read : rebuild_reduce(p, node, loops);
}

/* Expensive, and the same for many positions of the loops around it. */
static bool worth_keeping(Planner *p, int x, uint64_t loops)
{
    uint64_t free = p->n->node[x].free;
    const PlanFact *f = plan_fact(p, x);
    if (f->cost < 3 || (free & ~loops) || free == loops)
        return false;
    double many = plan_size(p->n, loops), few = plan_size(p->n, free);
    return many >= 3 * few && many * f->cost > 3e4 && plan_fits(p, x);
}

static int lower_node(Planner *p, int x, uint64_t loops, bool inside)
{
    NestNode node = p->n->node[x];
    PlanValue v;
    if (plan_attends(p, x))
        return plan_keep(p, x);
    int split = plan_attention_split(p, x);
    if (split >= 0)
        return plan_lower(p, split, loops, inside);
    if (node.kind == NEST_REDUCE)
        return lower_reduce(p, x, loops, inside);
    if (node.kind != NEST_EW && node.kind != NEST_CAST)
        return x;
    if (worth_keeping(p, x, loops))
        return plan_keep(p, x);
    if (plan_fact(p, x)->cost >= 3 && p->values && plan_find_value(p, x, &v))
        return plan_load_node(p, &v, plan_slot_name(p, v.slot));
    bool same = true;
    for (int k = 0; k < node.args; k++) {
        int arg = plan_lower(p, node.arg[k], loops, inside);
        same &= arg == node.arg[k];
        node.arg[k] = (int16_t)arg;
    }
    return same ? x : add_node(p, node);
}

int plan_lower(Planner *p, int x, uint64_t loops, bool inside)
{
    plan_fact(p, x);
    if (p->fact[x].lowered >= 0 && p->fact[x].loops == loops)
        return p->fact[x].lowered;
    int y = lower_node(p, x, loops, inside);
    plan_fact(p, y);
    p->fact[x].lowered = y;
    p->fact[x].loops = loops;
    return y;
}

static bool reads_target(const Planner *p, int y, const PlanTarget *t)
{
    const NestNode *node = &p->n->node[y];
    return node->kind == NEST_LOAD && p->n->load[node->slot].slot == t->slot;
}

/* A contraction of halves, rounded when it is done: alone but for that. */
static int rounded_contraction(Planner *p, NestNode cast, uint64_t axes)
{
    PlanTarget *outer = p->target;
    bool half = cast.kind == NEST_CAST && dtype_half(cast.dtype);
    NestNode *sum = half ? &p->n->node[cast.arg[0]] : NULL;
    if (!half || sum->kind != NEST_REDUCE || sum->free != axes || sum->compute != DT_F32)
        return -1;
    p->target = NULL;
    int read = plan_contraction(p, cast.arg[0], true);
    p->target = outer;
    return read < 0 ? read : nest_cast(p->ctx, p->n, read, (DType)cast.dtype);
}

void plan_value(Planner *p, int x, PlanTarget *t)
{
    PlanTarget *outer = p->target;
    NestNode node = p->n->node[x];
    int y = -1;
    if (node.kind == NEST_REDUCE && node.free == t->axes && plan_fold(p, x, t)) {
        plan_remember(p, x, t->slot, t->stride);
        return;
    }
    if (node.free == t->axes && plan_attention(p, x, t)) {
        plan_remember(p, x, t->slot, t->stride);
        return;
    }
    p->target = t;
    int split = node.free == t->axes ? plan_attention_split(p, x) : -1;
    if (split >= 0) {
        y = plan_lower(p, split, t->axes, false);
    } else if (node.kind == NEST_REDUCE && node.free == t->axes) {
        y = plan_contraction(p, x, true);
        y = y >= 0 ? y : rebuild_reduce(p, node, t->axes);
    } else {
        y = rounded_contraction(p, node, t->axes);
        y = y >= 0 ? y : plan_lower(p, x, t->axes, false);
    }
    p->target = outer;
    if (reads_target(p, y, t)) {
        plan_remember(p, x, t->slot, t->stride);
        return;
    }
    plan_add_stage(p, y, t);
    forget(p, t->slot);
    plan_remember(p, x, t->slot, t->stride);
}
