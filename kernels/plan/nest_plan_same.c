/* Common parts up to the names of indices: exp(Q[i,d]*K[j,d]) and exp(Q[i,d]*K[m,d]) are one table
 * of numbers where j and m run over the same extent. */
#include "kernels/plan/nest_plan.h"

#include <string.h>

/* Indices of the new node onto those of the known one. */
typedef struct Renaming {
    const Nest *n;
    Planner *knows;                 /* consts may be the same number; NULL: one slot only */
    int8_t to[NEST_INDICES];        /* -1: not known yet */
    uint64_t taken;
} Renaming;

static bool pair_up(Renaming *r, int i, int j)
{
    if (r->to[i] >= 0)
        return r->to[i] == j;
    if (r->taken >> j & 1 || r->n->index[i].extent != r->n->index[j].extent)
        return false;
    r->to[i] = (int8_t)j;
    r->taken |= UINT64_C(1) << j;
    return true;
}

/* Do both loads move alike, a by its index i and b by j? */
static bool same_steps(const NestLoad *a, int i, const NestLoad *b, int j)
{
    if (a->stride[i] != b->stride[j])
        return false;
    for (int g = 0; g < a->gathers; g++)
        if (a->gather[g].stride[i] != b->gather[g].stride[j])
            return false;
    return true;
}

static bool pair_index(Renaming *r, const NestLoad *a, int i, const NestLoad *b, uint64_t in_b)
{
    if (r->to[i] >= 0)
        return in_b >> r->to[i] & 1 && same_steps(a, i, b, r->to[i]);
    if (in_b >> i & 1 && same_steps(a, i, b, i) && pair_up(r, i, i))
        return true;
    for (uint64_t s = in_b; s; s &= s - 1) {
        int j = __builtin_ctzll(s);
        if (same_steps(a, i, b, j) && pair_up(r, i, j))
            return true;
    }
    return false;
}

static bool same_load(Renaming *r, const NestNode *x, const NestNode *y)
{
    const NestLoad *a = &r->n->load[x->slot], *b = &r->n->load[y->slot];
    if (a->slot != b->slot || a->dtype != b->dtype || a->gathers != b->gathers ||
        __builtin_popcountll(x->free) != __builtin_popcountll(y->free))
        return false;
    for (int g = 0; g < a->gathers; g++)
        if (a->gather[g].slot != b->gather[g].slot || a->gather[g].step != b->gather[g].step)
            return false;
    for (uint64_t s = x->free; s; s &= s - 1)
        if (!pair_index(r, a, __builtin_ctzll(s), b, y->free))
            return false;
    return true;
}

static bool same_bound(Renaming *r, const NestNode *x, const NestNode *y)
{
    if (__builtin_popcountll(x->bound) != __builtin_popcountll(y->bound))
        return false;
    for (uint64_t s = x->bound; s; s &= s - 1) {
        int i = __builtin_ctzll(s);
        if (r->to[i] < 0 || !(y->bound >> r->to[i] & 1))
            return false;
        const NestIndex *a = &r->n->index[i], *b = &r->n->index[r->to[i]];
        if (x->op >= NEST_ARGMIN && (a->start != b->start || a->step != b->step))
            return false;
    }
    return true;
}

static bool same_const(const Renaming *r, int a, int b)
{
    double x, y;
    return r->n->node[a].slot == r->n->node[b].slot ||
           (r->knows && plan_known(r->knows, a, &x) && plan_known(r->knows, b, &y) && x == y);
}

static bool same_value(Renaming *r, int a, int b, int depth)
{
    const NestNode *x = &r->n->node[a], *y = &r->n->node[b];
    if (x->kind != y->kind || x->dtype != y->dtype || x->op != y->op || x->compute != y->compute ||
        x->args != y->args || depth > 64)
        return false;
    if (x->kind == NEST_CONST)
        return same_const(r, a, b);
    if (x->kind == NEST_LOAD)
        return same_load(r, x, y);
    if (x->kind == NEST_INDEX) {
        const NestIndex *i = &r->n->index[x->slot], *j = &r->n->index[y->slot];
        return i->start == j->start && i->step == j->step && pair_up(r, x->slot, y->slot);
    }
    for (int k = 0; k < x->args; k++)
        if (!same_value(r, x->arg[k], y->arg[k], depth + 1))
            return false;
    return x->kind != NEST_REDUCE || same_bound(r, x, y);
}

bool plan_same(Planner *p, int x, int y)
{
    Renaming r = { .n = p->n };
    memset(r.to, -1, sizeof r.to);
    return plan_fact(p, x)->cost <= 200 &&
           __builtin_popcountll(p->n->node[x].free) == __builtin_popcountll(p->n->node[y].free) &&
           same_value(&r, x, y, 0);
}

bool plan_same_as(Planner *p, int x, int y, int from, int to)
{
    Renaming r = { .n = p->n, .knows = p };
    memset(r.to, -1, sizeof r.to);
    if (plan_fact(p, x)->cost > 200)
        return false;
    for (uint64_t s = p->n->node[x].free; s; s &= s - 1) {
        int i = __builtin_ctzll(s);
        r.to[i] = (int8_t)(i == from ? to : i);
        r.taken |= UINT64_C(1) << r.to[i];
    }
    return same_value(&r, x, y, 0);
}

static bool identical(const PlanValue *v, int x, PlanValue *found)
{
    if (v->node != x)
        return false;
    *found = *v;
    return true;
}

bool plan_find_value(Planner *p, int x, PlanValue *found)
{
    const NestNode *node = &p->n->node[x];
    for (const PlanValue *v = p->values; v; v = v->next)
        if (identical(v, x, found))
            return true;
    if (plan_fact(p, x)->cost > 200)
        return false;                       /* a graph as a tree may be endless */
    for (const PlanValue *v = p->values; v; v = v->next) {
        Renaming r = { .n = p->n };
        memset(r.to, -1, sizeof r.to);
        if (__builtin_popcountll(p->n->node[v->node].free) != __builtin_popcountll(node->free) ||
            !same_value(&r, x, v->node, 0))
            continue;
        found->node = x;
        found->slot = v->slot;
        memset(found->stride, 0, sizeof found->stride);
        for (uint64_t s = node->free; s; s &= s - 1) {
            int i = __builtin_ctzll(s);
            found->stride[i] = v->stride[r.to[i]];
        }
        return true;
    }
    return false;
}
