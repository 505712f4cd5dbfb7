/* Making nests: indices, data slots, and nodes that are made once each. Knows nothing of either. */
#include "kernels/nest/nest.h"

#include "core/base/mem.h"

#include <stdio.h>
#include <string.h>

const NestReduction nest_reductions[NEST_REDUCTIONS] = {
#define R(id, word, told, where, facts) { word, told, where, facts },
#include "kernels/nest/reductions.def"
#undef R
};

Nest *nest_new(Ctx *ctx)
{
    Nest *n = mem_zalloc(ctx, sizeof *n);
    n->root = -1;
    return n;
}

void nest_free(Ctx *ctx, Nest *n)
{
    if (!n)
        return;
    for (int i = 0; i < n->loads; i++)
        if (n->load[i].gather)
            mem_free(ctx, n->load[i].gather,
                     (size_t)n->load[i].gathers * sizeof *n->load[i].gather);
    if (n->load)
        mem_free(ctx, n->load, (size_t)n->load_cap * sizeof *n->load);
    if (n->node)
        mem_free(ctx, n->node, (size_t)n->node_cap * sizeof *n->node);
    mem_free(ctx, n, sizeof *n);
}

int nest_index(Nest *n, const char *name, int64_t extent, int64_t start, int64_t step)
{
    NestIndex *index = &n->index[n->indices];
    *index = (NestIndex){ .extent = extent, .start = start, .step = step };
    snprintf(index->name, sizeof index->name, "%s", name);
    return n->indices++;
}

int nest_slot(Nest *n)
{
    return n->slots++;
}

static bool same_node(const NestNode *a, const NestNode *b)
{
    if (a->kind != b->kind || a->dtype != b->dtype || a->op != b->op || a->compute != b->compute ||
        a->args != b->args || a->slot != b->slot || a->bound != b->bound || a->weak != b->weak)
        return false;
    for (int i = 0; i < a->args; i++)
        if (a->arg[i] != b->arg[i])
            return false;
    return true;
}

/* `p`, an array of *cap things of `size` bytes, with room for one more than `count`. */
static void *grown(Ctx *ctx, void *p, int count, int *cap, int first, size_t size)
{
    if (count < *cap)
        return p;
    size_t old = (size_t)*cap * size;
    int more = *cap ? 2 * *cap : first;
    p = p ? mem_realloc(ctx, p, old, (size_t)more * size) : mem_alloc(ctx, (size_t)more * size);
    *cap = more;
    return p;
}

static int add_node(Ctx *ctx, Nest *n, NestNode node)
{
    for (int i = 0; i < n->nodes; i++)
        if (same_node(&n->node[i], &node))
            return i;
    n->node = grown(ctx, n->node, n->nodes, &n->node_cap, 16, sizeof *n->node);
    n->node[n->nodes] = node;
    return n->nodes++;
}

int nest_const(Ctx *ctx, Nest *n, int slot, DType dt, bool weak)
{
    return add_node(ctx, n, (NestNode){ .kind = NEST_CONST, .dtype = dt, .weak = weak,
                                        .scalar = true, .slot = (int16_t)slot });
}

int nest_number(Ctx *ctx, Nest *n, int index)
{
    return add_node(ctx, n, (NestNode){ .kind = NEST_INDEX, .dtype = DT_I64, .slot = (int16_t)index,
                                        .free = UINT64_C(1) << index });
}

NestLoad *nest_load_new(Ctx *ctx, Nest *n, int slot, DType dt, const char *name)
{
    n->load = grown(ctx, n->load, n->loads, &n->load_cap, 4, sizeof *n->load);
    NestLoad *load = &n->load[n->loads++];
    memset(load, 0, sizeof *load);
    load->slot = slot;
    load->dtype = dt;
    snprintf(load->name, sizeof load->name, "%s", name);
    return load;
}

NestGather *nest_gather_new(Ctx *ctx, NestLoad *load, int slot, int64_t step)
{
    size_t old = (size_t)load->gathers * sizeof *load->gather;
    load->gather = load->gather ? mem_realloc(ctx, load->gather, old, old + sizeof *load->gather)
                                : mem_alloc(ctx, sizeof *load->gather);
    NestGather *g = &load->gather[load->gathers++];
    memset(g, 0, sizeof *g);
    g->slot = slot;
    g->step = step;
    return g;
}

static bool same_gathers(const NestLoad *a, const NestLoad *b)
{
    if (a->gathers != b->gathers)
        return false;
    for (int i = 0; i < a->gathers; i++)
        if (a->gather[i].slot != b->gather[i].slot || a->gather[i].step != b->gather[i].step ||
            memcmp(a->gather[i].stride, b->gather[i].stride, sizeof a->gather[i].stride) != 0)
            return false;
    return true;
}

uint64_t nest_load_free(const NestLoad *load, int indices)
{
    uint64_t free = 0;
    for (int i = 0; i < indices; i++) {
        bool used = load->stride[i] != 0;
        for (int g = 0; g < load->gathers; g++)
            used |= load->gather[g].stride[i] != 0;
        free |= (uint64_t)used << i;
    }
    return free;
}

int nest_load(Ctx *ctx, Nest *n)
{
    int slot = n->loads - 1;
    NestLoad *load = &n->load[slot];
    for (int i = 0; i < slot; i++) {
        const NestLoad *old = &n->load[i];
        if (old->slot != load->slot || old->dtype != load->dtype || !same_gathers(old, load) ||
            memcmp(old->stride, load->stride, sizeof load->stride) != 0)
            continue;
        if (load->gather)
            mem_free(ctx, load->gather, (size_t)load->gathers * sizeof *load->gather);
        n->loads--;
        slot = i;
        load = &n->load[i];
        break;
    }
    return add_node(ctx, n, (NestNode){ .kind = NEST_LOAD, .dtype = load->dtype,
                                        .slot = (int16_t)slot,
                                        .free = nest_load_free(load, n->indices) });
}

int nest_cast(Ctx *ctx, Nest *n, int node, DType dt)
{
    const NestNode *x = &n->node[node];
    if (x->dtype == dt)
        return node;
    return add_node(ctx, n, (NestNode){ .kind = NEST_CAST, .dtype = dt, .args = 1,
                                        .arg = { (int16_t)node }, .scalar = x->scalar,
                                        .free = x->free });
}

int nest_ew(Ctx *ctx, Nest *n, EwOp op, DType compute, const int *args, int count)
{
    NestNode node = { .kind = NEST_EW, .op = (uint8_t)op, .compute = compute,
                      .dtype = ew_result_dtype(op, compute), .args = (uint8_t)count,
                      .scalar = true };
    for (int i = 0; i < count; i++) {
        bool mask = i == 0 && ew_info[op].result == RES_WHERE;
        int arg = nest_cast(ctx, n, args[i], mask ? DT_BOOL : compute);
        node.arg[i] = (int16_t)arg;
        node.free |= n->node[arg].free;
        node.scalar &= n->node[arg].scalar;
    }
    return add_node(ctx, n, node);
}

void nest_watch(Nest *n, int node)
{
    n->node[node].watch = true;
}

/* Of what, the accumulator, the result. */
static void reduce_dtypes(NestReduce op, DType dt, DType *compute, DType *result)
{
    bool whole = dtype_info(dt)->kind == 'i' || dtype_info(dt)->kind == 'b';
    bool half = dtype_half(dt);
    *compute = *result = dt;
    if (op == NEST_SUM || op == NEST_PROD) {
        *compute = whole ? DT_I64 : half ? DT_F32 : dt;
        *result = whole ? DT_I64 : dt;
    } else if (op == NEST_ARGMIN || op == NEST_ARGMAX) {
        *result = DT_I64;
    }
}

int nest_reduce(Ctx *ctx, Nest *n, NestReduce op, int node, uint64_t bound)
{
    DType compute, result;
    reduce_dtypes(op, (DType)n->node[node].dtype, &compute, &result);
    bool extreme = op != NEST_SUM && op != NEST_PROD;
    int arg = extreme ? node : nest_cast(ctx, n, node, compute);
    int sum = add_node(ctx, n, (NestNode){ .kind = NEST_REDUCE, .op = (uint8_t)op,
                                           .compute = compute,
                                           .dtype = (extreme ? result : compute),
                                           .args = 1, .arg = { (int16_t)arg }, .bound = bound,
                                           .free = n->node[arg].free & ~bound });
    return extreme ? sum : nest_cast(ctx, n, sum, result);
}
