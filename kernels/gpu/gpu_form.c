/* A nest made ready for a device: a copy with as few axes as its layout allows, so that most
 * kernels have one or two, and equal work of different shapes has equal text. Knows nothing of
 * text. */
#include "kernels/gpu/gpu_source.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

Nest *gpu_nest_copy(Ctx *ctx, const Nest *n)
{
    Nest *c = nest_new(ctx);
    NestNode *node = mem_alloc(ctx, (size_t)(n->nodes + 4) * sizeof *node);
    NestLoad *load = mem_alloc(ctx, (size_t)(n->loads + 4) * sizeof *load);
    *c = *n;
    c->node = memcpy(node, n->node, (size_t)n->nodes * sizeof *node);
    c->load = load;
    if (n->loads)
        memcpy(load, n->load, (size_t)n->loads * sizeof *load);
    c->node_cap = n->nodes + 4;
    c->load_cap = n->loads + 4;
    for (int i = 0; i < n->loads; i++)
        if (n->load[i].gather) {
            size_t bytes = (size_t)n->load[i].gathers * sizeof *n->load[i].gather;
            load[i].gather = memcpy(mem_alloc(ctx, bytes), n->load[i].gather, bytes);
        }
    return c;
}

void gpu_nest_used(const Nest *n, int id, bool *used)
{
    memset(used, 0, GPU_NODES);
    used[id] = true;
    for (int i = id; i >= 0; i--)
        for (int k = 0; used[i] && k < n->node[i].args; k++)
            used[n->node[i].arg[k]] = true;
}

int64_t gpu_extent(const Nest *n, uint64_t indices)
{
    int64_t count = 1;
    for (int i = 0; i < n->indices; i++)
        if (indices >> i & 1)
            count = count_times(count, n->index[i].extent);
    return count;
}

static uint64_t remapped(uint64_t mask, const int *into, int indices)
{
    uint64_t out = 0;
    for (int i = 0; i < indices; i++)
        if (mask >> i & 1 && into[i] >= 0)
            out |= UINT64_C(1) << into[i];
    return out;
}

static void remap_strides(int64_t *stride, const int *into, int indices)
{
    int64_t old[NEST_INDICES];
    memcpy(old, stride, sizeof old);
    memset(stride, 0, sizeof old);
    for (int i = 0; i < indices; i++)
        if (into[i] >= 0)
            stride[into[i]] = old[i];
}

/* What every node depends on, again from its loads up. */
static void find_free(Nest *n)
{
    for (int i = 0; i < n->nodes; i++) {
        NestNode *node = &n->node[i];
        node->free = node->kind == NEST_INDEX ? UINT64_C(1) << node->slot
                   : node->kind == NEST_LOAD ? nest_load_free(&n->load[node->slot], n->indices) : 0;
        for (int k = 0; k < node->args; k++)
            node->free |= n->node[node->arg[k]].free;
        if (node->kind == NEST_REDUCE)
            node->free &= ~node->bound;
    }
}

void gpu_nest_remap(Nest *n, const int *into, int indices, int out_rank)
{
    NestIndex old[NEST_INDICES];
    memcpy(old, n->index, sizeof old);
    for (int i = 0; i < n->indices; i++)
        if (into[i] >= 0)
            n->index[into[i]] = old[i];
    for (int i = 0; i < n->nodes; i++) {
        NestNode *node = &n->node[i];
        if (node->kind == NEST_INDEX)
            node->slot = (int16_t)(into[node->slot] < 0 ? 0 : into[node->slot]);
        node->bound = remapped(node->bound, into, n->indices);
    }
    for (int i = 0; i < n->loads; i++) {
        remap_strides(n->load[i].stride, into, n->indices);
        for (int g = 0; g < n->load[i].gathers; g++)
            remap_strides(n->load[i].gather[g].stride, into, n->indices);
    }
    n->indices = indices;
    n->out_rank = out_rank;
    find_free(n);
}

/* ---- fewer axes ---- */
/* Indices whose position is looked at as a number keep to themselves. */
static uint64_t pinned(const GpuForm *f)
{
    uint64_t pins = 0;
    for (int i = 0; i < f->n->nodes; i++) {
        const NestNode *node = &f->n->node[i];
        if (f->used[i] && node->kind == NEST_INDEX)
            pins |= UINT64_C(1) << node->slot;
        if (f->used[i] && node->kind == NEST_REDUCE &&
            (node->op == NEST_ARGMIN || node->op == NEST_ARGMAX))
            pins |= node->bound;
    }
    return pins;
}

static bool load_used(const GpuForm *f, int load)
{
    for (int i = 0; i < f->n->nodes; i++)
        if (f->used[i] && f->n->node[i].kind == NEST_LOAD && f->n->node[i].slot == load)
            return true;
    return false;
}

static bool run_on(const int64_t *stride, int outer, int inner, int64_t extent)
{
    return stride[outer] == stride[inner] * extent;
}

/* Are the two one axis, the inner one fastest? */
static bool mergeable(const GpuForm *f, int outer, int inner, uint64_t pins)
{
    const Nest *n = f->n;
    uint64_t both = UINT64_C(1) << outer | UINT64_C(1) << inner;
    int64_t extent = n->index[inner].extent;
    if (both & pins || (outer < n->out_rank) != (inner < n->out_rank))
        return false;
    if (inner < n->out_rank && !run_on(f->out_stride, outer, inner, extent))
        return false;
    for (int i = 0; i < n->nodes; i++) {
        uint64_t bound = n->node[i].bound & both;
        if (f->used[i] && n->node[i].kind == NEST_REDUCE && bound && bound != both)
            return false;
    }
    for (int i = 0; i < n->loads; i++) {
        const NestLoad *load = &n->load[i];
        if (!load_used(f, i))
            continue;
        if (!run_on(load->stride, outer, inner, extent))
            return false;
        for (int g = 0; g < load->gathers; g++)
            if (!run_on(load->gather[g].stride, outer, inner, extent))
                return false;
    }
    return true;
}

static int64_t largest_stride(const GpuForm *f, int i)
{
    int64_t most = 0;
    if (i < f->n->out_rank)
        return llabs(f->out_stride[i]);
    for (int k = 0; k < f->n->loads; k++)
        if (load_used(f, k) && llabs(f->n->load[k].stride[i]) > most)
            most = llabs(f->n->load[k].stride[i]);
    return most;
}

/* Drops and renames: order[k] is the old index that is index k now. */
static void reorder(GpuForm *f, const int *order, int indices, int out_rank)
{
    int into[NEST_INDICES];
    int64_t stride[NEST_INDICES] = { 0 };
    for (int i = 0; i < NEST_INDICES; i++)
        into[i] = -1;
    for (int k = 0; k < indices; k++) {
        into[order[k]] = k;
        stride[k] = k < out_rank ? f->out_stride[order[k]] : 0;
    }
    memcpy(f->out_stride, stride, sizeof stride);
    gpu_nest_remap(f->n, into, indices, out_rank);
}

/* Those of more than one position (or whose number is asked for), far strides first. */
static void sort_axes(GpuForm *f, uint64_t pins)
{
    int order[NEST_INDICES], count = 0, out_rank = 0;
    for (int i = 0; i < f->n->indices; i++) {
        if (f->n->index[i].extent == 1 && !(pins >> i & 1))
            continue;
        int k = count++, first = i < f->n->out_rank ? 0 : out_rank;
        for (; k > first && largest_stride(f, order[k - 1]) < largest_stride(f, i); k--)
            order[k] = order[k - 1];
        order[k] = i;
        out_rank += i < f->n->out_rank;
    }
    reorder(f, order, count, out_rank);
}

static void merge_axes(GpuForm *f)
{
    uint64_t pins = pinned(f);
    for (int inner = f->n->indices - 1; inner > 0; inner--) {
        int order[NEST_INDICES], count = 0;
        if (!mergeable(f, inner - 1, inner, pins))
            continue;
        for (int i = 0; i < f->n->indices; i++)
            if (i != inner - 1)
                order[count++] = i;
        f->n->index[inner].extent *= f->n->index[inner - 1].extent;
        reorder(f, order, count, f->n->out_rank - (inner < f->n->out_rank));
        pins = pinned(f);
    }
}

/* ---- what the text must know ---- */
static bool far(int64_t reach) { return reach >= INT64_C(1) << 30; }

static int64_t reach_of(const Nest *n, const int64_t *stride, int indices)
{
    double reach = 0;
    for (int i = 0; i < indices; i++)
        reach += fabs((double)stride[i]) * fmax((double)n->index[i].extent, 1);
    return reach < 0x1p62 ? (int64_t)reach : INT64_MAX;
}

static bool needs_wide(const GpuForm *f)
{
    const Nest *n = f->n;
    double all = 1, bound = 1;
    for (int i = 0; i < n->indices; i++)
        *(i < n->out_rank ? &all : &bound) *= (double)n->index[i].extent;
    if (all >= 0x1p30 || bound >= 0x1p30 || far(reach_of(n, f->out_stride, n->out_rank)))
        return true;
    for (int i = 0; i < n->loads; i++) {
        if (far(reach_of(n, n->load[i].stride, n->indices)))
            return true;
        for (int g = 0; g < n->load[i].gathers; g++)
            if (far(reach_of(n, n->load[i].gather[g].stride, n->indices)))
                return true;
    }
    return false;
}

/* A constant whose element lies on the device is a load that does not move. */
static void load_constants(Ctx *ctx, GpuForm *f, const DevArg *data)
{
    for (int i = 0; i < f->n->nodes; i++) {
        NestNode *node = &f->n->node[i];
        if (node->kind != NEST_CONST || !data[node->slot].mem)
            continue;
        int slot = node->slot;
        DType dt = (DType)node->dtype;
        nest_load_new(ctx, f->n, slot, dt, "constant");
        f->n->node[i].kind = NEST_LOAD;
        f->n->node[i].slot = (int16_t)(f->n->loads - 1);
    }
}

void gpu_form(Ctx *ctx, GpuForm *f, const Nest *n, const int64_t *out_stride, const DevArg *data)
{
    memset(f, 0, sizeof *f);
    f->n = gpu_nest_copy(ctx, n);
    gpu_nest_used(n, n->root, f->used);
    int64_t next = 1;
    for (int i = n->out_rank - 1; i >= 0; i--) {
        f->out_stride[i] = out_stride ? out_stride[i] : next;
        next *= n->index[i].extent;
    }
    if (data)
        load_constants(ctx, f, data);
    sort_axes(f, pinned(f));
    merge_axes(f);
    f->wide = needs_wide(f);
    f->hoist = true;
    for (int i = 0; i < n->nodes; i++)
        if (f->used[i] && f->n->node[i].kind == NEST_REDUCE) {
            f->reduces++;
            f->hoist &= gpu_extent(f->n, f->n->node[i].bound) > 0;
        }
}

void gpu_form_free(Ctx *ctx, GpuForm *f)
{
    nest_free(ctx, f->n);
    f->n = NULL;
}
