/* What queries see: masks that compare positions become windows, which leave tiles out; all else
 * becomes a bool or a number that is added, made for a slab of queries at a time where it goes with
 * queries and keys. */
#include "kernels/plan/nest_plan_attention.h"
#include "core/base/mem.h"

#include <string.h>

static const NestNode *at(const PlanScores *f, int x) { return &f->p->n->node[x]; }

/* ---- windows ---- */

/* queries*i + keys*j + number, of positions */
typedef struct Linear {
    int queries, keys;
    double number;
} Linear;

static bool linear(const PlanScores *f, int x, int sign, Linear *to)
{
    const NestNode *node = at(f, x);
    const NestIndex *index = &f->p->n->index[node->slot];
    double number;
    if (dtype_info(node->dtype)->kind != 'i')
        return false;
    if (plan_known(f->p, x, &number)) {
        to->number += sign * number;
        return true;
    }
    if (node->kind == NEST_INDEX && (node->slot == f->query || node->slot == f->key)) {
        *(node->slot == f->key ? &to->keys : &to->queries) += sign;
        to->number += sign * (double)index->start;
        return index->step == 1;
    }
    bool sum = node->kind == NEST_EW && (node->op == EW_ADD || node->op == EW_SUBTRACT);
    if (node->kind == NEST_CAST)
        return linear(f, node->arg[0], sign, to);
    return sum && linear(f, node->arg[0], sign, to) &&
           linear(f, node->arg[1], node->op == EW_ADD ? sign : -sign, to);
}

static double bounded(double x, double most) { return x < -most ? -most : x > most ? most : x; }

/* j - i <= most, or at least that. */
static void narrow(PlanScores *f, double number, bool most)
{
    int64_t to = (int64_t)bounded(number, 0x1p60);
    if (most)
        f->high = to < f->high ? to : f->high;
    else
        f->low = to > f->low ? to : f->low;
}

static bool window(PlanScores *f, const NestNode *node)
{
    Linear d = { 0 };
    bool less = node->op == EW_LESS || node->op == EW_LESS_EQUAL;
    bool more = node->op == EW_GREATER || node->op == EW_GREATER_EQUAL;
    if (node->kind != NEST_EW || !(less || more || node->op == EW_EQUAL) ||
        dtype_info(node->compute)->kind != 'i' || !linear(f, node->arg[0], 1, &d) ||
        !linear(f, node->arg[1], -1, &d) || d.keys * d.queries != -1)
        return false;
    if (d.keys < 0) {
        d.number = -d.number;
        bool was = less;
        less = more, more = was;
    }
    double open = node->op == EW_LESS || node->op == EW_GREATER;
    if (!more)
        narrow(f, -d.number - open, true);
    if (!less)
        narrow(f, -d.number + open, false);
    return true;
}

static void read_mask(PlanScores *f, int x)
{
    NestNode node = *at(f, x);
    if (node.kind == NEST_EW && node.op == EW_BITAND && node.dtype == DT_BOOL) {
        read_mask(f, node.arg[0]);
        read_mask(f, node.arg[1]);
    } else if (!window(f, &node)) {
        int both[2] = { f->hidden, x };
        f->hidden = f->hidden < 0 ? x
                                  : nest_ew(f->p->ctx, f->p->n, EW_BITAND, DT_BOOL, both, 2);
    }
}

void plan_masks_read(PlanScores *f)
{
    f->low = -(INT64_C(1) << 60);
    f->high = INT64_C(1) << 60;
    f->hidden = -1;
    for (int i = 0; i < f->masks; i++)
        read_mask(f, f->mask[i]);
}

/* ---- slabs ---- */

/* Numbers of a slab at a time, in all heads that it has. */
enum { SLAB = 1 << 21, FEWEST = 16 };

/* x with the number of the query read from a table, which moves along; memo by node. */
static int by_table(PlanScores *f, int x, int table, int *memo)
{
    NestNode node = *at(f, x);
    if (memo[x] >= 0)
        return memo[x];
    int made = x, args[3];
    bool changed = false;
    for (int k = 0; k < node.args; k++) {
        args[k] = by_table(f, node.arg[k], table, memo);
        changed |= args[k] != node.arg[k];
    }
    if (node.kind == NEST_INDEX && node.slot == f->query)
        made = table;
    else if (changed && node.kind == NEST_CAST)
        made = nest_cast(f->p->ctx, f->p->n, args[0], (DType)node.dtype);
    else if (changed && node.kind == NEST_EW)
        made = nest_ew(f->p->ctx, f->p->n, (EwOp)node.op, (DType)node.compute, args, node.args);
    else if (changed)
        made = plan_bare(f->p, nest_reduce(f->p->ctx, f->p->n, (NestReduce)node.op, args[0],
                                           node.bound));
    return memo[x] = made;
}

static bool has_number(const PlanScores *f, int x)
{
    const NestNode *node = at(f, x);
    bool has = node->kind == NEST_INDEX && node->slot == f->query;
    for (int k = 0; k < node->args && !has && node->free >> f->query & 1; k++)
        has = has_number(f, node->arg[k]);
    return has;
}

int plan_slab_node(PlanScores *f, int x)
{
    if (!has_number(f, x))
        return x;
    int table = plan_keep(f->p, nest_number(f->p->ctx, f->p->n, f->query));
    int *memo = arena_alloc(&f->p->plan->arena, (size_t)(x + 1) * sizeof *memo);
    memset(memo, -1, (size_t)(x + 1) * sizeof *memo);
    return by_table(f, x, table, memo);
}

static int new_slot(PlanSlab *s, int slot, int64_t shift)
{
    s->slot[s->slots] = slot;
    s->shift[s->slots] = shift;
    return s->slots++;
}

/* Every load gets slots of its own, since each moves by its own step from query to query. */
static void own_slots(Arena *arena, Nest *n, int query, PlanSlab *s)
{
    size_t most = (size_t)n->nodes + 1;
    for (int i = 0; i < n->loads; i++)
        most += 1 + (size_t)n->load[i].gathers;
    s->slot = arena_alloc(arena, most * sizeof *s->slot);
    s->shift = arena_alloc(arena, most * sizeof *s->shift);
    for (int i = 0; i < n->loads; i++) {
        NestLoad *load = &n->load[i];
        load->slot = new_slot(s, load->slot,
                              load->stride[query] * dtype_info(load->dtype)->bytes);
        for (int g = 0; g < load->gathers; g++)
            load->gather[g].slot = new_slot(s, load->gather[g].slot,
                                            load->gather[g].stride[query] * 8);
    }
    for (int i = 0; i < n->nodes; i++)
        if (n->node[i].kind == NEST_CONST)
            n->node[i].slot = (int16_t)new_slot(s, n->node[i].slot, 0);
    n->slots = s->slots;
}

Nest *plan_slab_nest(PlanScores *f, int x, PlanSlab *s, int64_t *stride, int64_t *by_index)
{
    Planner *p = f->p;
    uint64_t axes = at(f, x)->free, query = UINT64_C(1) << f->query;
    int64_t keys = p->n->index[f->key].extent, queries = p->n->index[f->query].extent;
    Nest *n = plan_extract(p, x, axes);
    own_slots(&p->plan->arena, n, __builtin_popcountll(axes & (query - 1)), s);
    double heads = plan_size(p->n, axes & f->heads);
    double rows = SLAB / ((double)keys * heads);
    s->rows = rows < FEWEST ? FEWEST : (int64_t)rows / FEWEST * FEWEST;
    s->rows = s->rows < queries ? s->rows : queries;
    s->rest_rows = queries % s->rows;
    memset(by_index, 0, NEST_INDICES * sizeof *by_index);
    by_index[f->key] = 1;
    by_index[f->query] = keys;
    int64_t step = keys * s->rows;
    int axis = 0;
    for (uint64_t h = axes & f->heads; h; h &= h - 1) {
        by_index[__builtin_ctzll(h)] = step;
        step *= p->n->index[__builtin_ctzll(h)].extent;
    }
    for (uint64_t a = axes; a; a &= a - 1)
        stride[axis++] = by_index[__builtin_ctzll(a)];
    s->bytes = mem_mul(p->ctx, (size_t)step, dtype_info(at(f, x)->dtype)->bytes);
    return n;
}

void plan_slab_plan(PlanScores *f, Nest *n, uint64_t axes, const int64_t *stride, PlanSlab *s)
{
    int query = __builtin_popcountll(axes & ((UINT64_C(1) << f->query) - 1));
    n->index[query].extent = s->rows;
    s->whole = nest_plan(f->p->ctx, n, stride);
    n->index[query].extent = s->rest_rows;
    if (s->rest_rows)
        s->rest = nest_plan(f->p->ctx, n, stride);
}
