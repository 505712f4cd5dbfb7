/* What a stage's loops look like: indices that merge are merged, each program gets the axis of its
 * strips, the order of its loops and the copies that make strips contiguous. All of it follows
 * from shapes, strides and operations alone, so results do not depend on the number of threads. */
#include "kernels/nest/nest_stage.h"

#include "kernels/tensor/permute.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    PANEL_BYTES = 256 << 10,    /* what is read again for every row stays in the second cache */
    TILE_LENGTH = 128,          /* of strips where operands are transposed block by block */
    TILE_BYTES = 32 << 10,
    REGISTER_BYTES = 24 << 10,  /* of all registers of a program */
    PARTS_MAX = 32,
    SMALL_RESULT = 4096         /* elements: bound loops are cut between threads up to here */
};

#define BIT(i) (UINT64_C(1) << (i))

static double bytes_of(int dt) { return dtype_info(dt)->bytes; }

/* ---- canonical form ---- */

static void mark_used(StageCode *c, int id)
{
    const NestNode *node = &c->nest->node[id];
    c->uses[id]++;
    if (c->used[id])
        return;
    c->used[id] = true;
    for (int k = 0; k < node->args; k++)
        mark_used(c, node->arg[k]);
}

static void clear_index(Nest *n, int i)
{
    for (int l = 0; l < n->loads; l++) {
        n->load[l].stride[i] = 0;
        for (int g = 0; g < n->load[l].gathers; g++)
            n->load[l].gather[g].stride[i] = 0;
    }
    for (int k = 0; k < n->nodes; k++) {
        NestNode *node = &n->node[k];
        bool position = node->kind == NEST_REDUCE &&
                        (node->op == NEST_ARGMIN || node->op == NEST_ARGMAX);
        if (!position)                  /* its index is wanted, of extent 1 too */
            node->bound &= ~BIT(i);
    }
}

static bool load_used(const StageCode *c, int load)
{
    for (int k = 0; k < c->nest->nodes; k++)
        if (c->used[k] && c->nest->node[k].kind == NEST_LOAD && c->nest->node[k].slot == load)
            return true;
    return false;
}

static bool strides_merge(const int64_t *stride, int i, int j, int64_t extent)
{
    int64_t whole;
    return !__builtin_mul_overflow(stride[j], extent, &whole) && whole == stride[i];
}

/* Index i outside of j walk memory as one everywhere. */
static bool merges(const StageCode *c, int i, int j)
{
    const Nest *n = c->nest;
    int64_t extent = n->index[j].extent, both;
    if (__builtin_mul_overflow(n->index[i].extent, extent, &both))
        return false;
    if ((i < n->out_rank) != (j < n->out_rank))
        return false;
    if (i < n->out_rank && !strides_merge(c->out_stride, i, j, extent))
        return false;
    for (int l = 0; l < n->loads; l++) {
        if (!load_used(c, l))
            continue;
        if (!strides_merge(n->load[l].stride, i, j, extent))
            return false;
        for (int g = 0; g < n->load[l].gathers; g++)
            if (!strides_merge(n->load[l].gather[g].stride, i, j, extent))
                return false;
    }
    for (int k = 0; k < n->nodes; k++) {
        const NestNode *node = &n->node[k];
        if (!c->used[k])
            continue;
        if (node->kind == NEST_INDEX && (node->slot == i || node->slot == j))
            return false;
        if (node->kind == NEST_REDUCE && (node->bound >> i & 1) != (node->bound >> j & 1))
            return false;
    }
    return true;
}

static void merge_indices(StageCode *c)
{
    Nest *n = c->nest;
    for (int i = 0; i < n->indices; i++)
        for (int j = 0; j < n->indices; j++) {
            if (i == j || n->index[i].extent <= 1 || n->index[j].extent <= 1 || !merges(c, i, j))
                continue;
            n->index[j].extent *= n->index[i].extent;
            n->index[i].extent = 1;
            clear_index(n, i);
            i = -1;
            break;
        }
}

static void find_free(Nest *n)
{
    for (int k = 0; k < n->nodes; k++) {
        NestNode *node = &n->node[k];
        if (node->kind == NEST_LOAD)
            node->free = nest_load_free(&n->load[node->slot], n->indices);
        else if (node->kind == NEST_INDEX)
            node->free = n->index[node->slot].extent > 1 ? BIT(node->slot) : 0;
        else
            node->free = 0;
        for (int a = 0; a < node->args; a++)
            node->free |= n->node[node->arg[a]].free;
        node->free &= ~node->bound;
    }
}

void stage_canonical(StageCode *c)
{
    Nest *n = c->nest;
    mark_used(c, n->root);
    for (int k = 0; k < n->nodes; k++)
        if (n->node[k].kind == NEST_REDUCE && n->node[k].bound)
            n->node[k].slot = (int16_t)__builtin_ctzll(n->node[k].bound);
    for (int i = 0; i < n->indices; i++)
        if (n->index[i].extent == 1)
            clear_index(n, i);
    merge_indices(c);
    find_free(n);
    c->size = 1;
    for (int i = 0; i < n->out_rank; i++)
        c->size *= n->index[i].extent;
}

/* ---- rows shorter than a strip ---- */

/* The axis of the result with these steps, or -1. */
static int axis_of(const StageCode *c, int64_t stride)
{
    for (int i = 0; i < c->nest->out_rank; i++)
        if (c->nest->index[i].extent > 1 && c->out_stride[i] == stride)
            return i;
    return -1;
}

/* Can a load serve strips of several rows, i from row to row and j along one? As it lies, or
 * repeated, because it is the same in all rows. */
static bool over_rows(const Nest *n, const NestLoad *l, int i, int j, bool *repeated)
{
    *repeated = !strides_merge(l->stride, i, j, n->index[j].extent);
    for (int k = 0; k < n->indices && *repeated; k++)
        if (l->stride[k] && k != j)
            return false;
    return l->gathers == 0 && (*repeated || l->stride[j] == 0 || l->stride[j] == 1);
}

static bool rows_join(const StageCode *c, int i, int j)
{
    const Nest *n = c->nest;
    bool some = false, repeated;
    if (STAGE_HOSTILE || n->node[n->root].kind == NEST_LOAD)
        return false;                       /* run, or copied, by the nest as it was */
    for (int k = 0; k < n->nodes; k++) {
        const NestNode *node = &n->node[k];
        if (!c->used[k])
            continue;
        if (node->kind == NEST_REDUCE || node->kind == NEST_INDEX)
            return false;
        if (node->kind != NEST_LOAD)
            continue;
        if (!over_rows(n, &n->load[node->slot], i, j, &repeated))
            return false;
        some |= repeated;
    }
    return some;
}

/* x[i,j] + b[j] with few j would take the steps of a strip for every row: with b repeated, strips
 * go over several rows, as if the result were a vector. */
static void join_rows(StageCode *c)
{
    Nest *n = c->nest;
    int j = axis_of(c, 1), i = j < 0 ? -1 : axis_of(c, n->index[j].extent);
    if (i < 0 || i == j || n->index[j].extent > STRIP_USUAL / 2 || !rows_join(c, i, j))
        return;
    c->period = n->index[j].extent;
    c->period_index = j;
    for (int l = 0; l < n->loads; l++) {
        StagePack *p = &c->pack[l];
        if (!load_used(c, l) || !over_rows(n, &n->load[l], i, j, &p->repeats) || !p->repeats)
            continue;
        p->used = true;
        p->stride[j] = 1;
        p->bytes = (size_t)(STRIP_MAX / c->period * c->period) *
                   dtype_info(n->load[l].dtype)->bytes;
        p->offset = c->pack_bytes;
        c->pack_bytes += (p->bytes + 127) & ~(size_t)63;
    }
    n->index[j].extent *= n->index[i].extent;
    n->index[i].extent = 1;
    clear_index(n, i);
    find_free(n);
}

/* ---- groups of reductions ---- */

/* How many reductions stand inside one another below this node. */
static int depth_of(const StageCode *c, int id, int *memo)
{
    const NestNode *node = &c->nest->node[id];
    if (memo[id] >= 0)
        return memo[id];
    int depth = 0;
    for (int k = 0; k < node->args; k++) {
        int below = depth_of(c, node->arg[k], memo);
        depth = below > depth ? below : depth;
    }
    return memo[id] = depth + (node->kind == NEST_REDUCE);
}

static double extents(const Nest *n, uint64_t indices)
{
    double product = 1;
    for (int i = 0; i < n->indices; i++)
        if (indices >> i & 1)
            product *= (double)n->index[i].extent;
    return product;
}

static int find_group(StageCode *c, const NestNode *node, int depth)
{
    for (int g = 0; g < c->groups; g++)
        if (c->group[g].bound == node->bound && c->group[g].free == node->free &&
            c->group[g].depth == depth)
            return g;
    StageGroup *group = &c->group[c->groups];
    memset(group, 0, sizeof *group);
    group->bound = node->bound;
    group->free = node->free;
    group->depth = depth;
    group->terms = extents(c->nest, node->bound);
    group->empty = group->terms == 0;
    group->strip = -1;
    return c->groups++;
}

static void find_groups(Ctx *ctx, StageCode *c)
{
    const Nest *n = c->nest;
    int count = 0;
    for (int k = 0; k < n->nodes; k++)
        count += c->used[k] && n->node[k].kind == NEST_REDUCE;
    c->capacity = count;
    if (count == 0)
        return;
    c->group = mem_zalloc(ctx, (size_t)count * sizeof *c->group);
    c->reduction = mem_zalloc(ctx, (size_t)count * sizeof *c->reduction);
    int *memo = mem_alloc(ctx, (size_t)n->nodes * sizeof *memo);
    memset(memo, -1, (size_t)n->nodes * sizeof *memo);
    for (int k = 0; k < n->nodes; k++) {
        if (!c->used[k] || n->node[k].kind != NEST_REDUCE)
            continue;
        StageReduce *r = &c->reduction[c->reductions++];
        r->node = k;
        r->op = (NestReduce)n->node[k].op;
        r->group = find_group(c, &n->node[k], depth_of(c, k, memo));
        r->arg_index = n->node[k].slot;
    }
    mem_free(ctx, memo, (size_t)n->nodes * sizeof *memo);
}

/* ---- costs, in ns per element ---- */

static bool in_body(const StageCode *c, int node, uint64_t bound)
{
    return c->used[node] && (c->nest->node[node].free & bound) != 0;
}

/* Whether the node belongs to the main program: below the root, not inside a reduction. */
static void mark_main(const StageCode *c, int id, bool *main)
{
    const NestNode *node = &c->nest->node[id];
    if (main[id])
        return;
    main[id] = true;
    for (int k = 0; k < node->args && node->kind != NEST_REDUCE; k++)
        mark_main(c, node->arg[k], main);
}

static double distinct(const StageCode *c, int load)
{
    const Nest *n = c->nest;
    double product = 1;
    if (c->pack[load].repeats)
        return (double)c->period;
    for (int i = 0; i < n->indices; i++)
        if (n->load[load].stride[i])
            product *= (double)n->index[i].extent;
    return product;
}

/* Reading a load along an index, by `accesses` elements in all. */
static double access_ns(const StageCode *c, int load, int along, double accesses)
{
    const NestLoad *l = &c->nest->load[load];
    int64_t stride = c->pack[load].repeats ? 1 : l->stride[along];
    double scale = bytes_of(l->dtype) / 8;
    if (l->gathers)
        return 1.5;
    if (stride == 0)
        return 0.02;
    if (stride == 1)
        return 0.15 * scale;
    if (accesses >= 4 * distinct(c, load))
        return 0.2 * scale;             /* a contiguous copy is made */
    for (int i = 0; i < c->nest->indices; i++)
        if (l->stride[i] == 1 && c->nest->index[i].extent >= 8)
            return 0.6;                 /* transposed in blocks */
    return llabs(stride) < 8 ? 0.6 : 1.5;
}

static double overhead_ns(int64_t extent)
{
    return 25.0 / (double)(extent < STRIP_USUAL ? extent : STRIP_USUAL);
}

static double group_ns(const StageCode *c, const StageGroup *g, int along)
{
    const Nest *n = c->nest;
    double ns = 0, accesses = (double)c->size * g->terms;
    for (int k = 0; k < n->nodes; k++) {
        const NestNode *node = &n->node[k];
        if (!in_body(c, k, g->bound))
            continue;
        if (node->kind == NEST_LOAD)
            ns += access_ns(c, node->slot, along, accesses);
        else if (node->free >> along & 1)
            ns += overhead_ns(n->index[along].extent);
    }
    return ns + overhead_ns(n->index[along].extent);
}

/* The best way to run a group when the main strip lies along `strip`; the cost per term. */
static double choose_group(const StageCode *c, StageGroup *g, int strip)
{
    double best = 1e300;
    g->down = false;
    g->strip = -1;
    if (strip >= 0 && g->free >> strip & 1) {
        best = group_ns(c, g, strip);
        g->down = true;
    }
    for (int i = 0; i < c->nest->indices; i++) {
        if (!(g->bound >> i & 1))
            continue;
        double ns = group_ns(c, g, i) + 60 / (g->terms < 1 ? 1 : g->terms);
        if (ns < best) {
            best = ns;
            g->down = false;
            g->strip = i;
        }
    }
    return best > 1e299 ? 0 : best;
}

static double main_ns(const StageCode *c, const bool *main, int along)
{
    const Nest *n = c->nest;
    double ns = c->out_stride[along] == 1 ? 0.2 : 1.5;
    for (int k = 0; k < n->nodes; k++) {
        if (!main[k])
            continue;
        if (n->node[k].kind == NEST_LOAD)
            ns += access_ns(c, n->node[k].slot, along, (double)c->size);
        ns += overhead_ns(n->index[along].extent);
    }
    return ns;
}

static double strip_cost(StageCode *c, const bool *main, int strip)
{
    double size = (double)c->size, ns = strip < 0 ? 0 : main_ns(c, main, strip) * size;
    for (int g = 0; g < c->groups; g++)
        ns += choose_group(c, &c->group[g], strip) * c->group[g].terms *
              extents(c->nest, c->group[g].free);
    return ns;
}

static int choose_strip(StageCode *c, const bool *main)
{
    int best = -1;
    double least = 0;
    if (c->period)
        return c->period_index;             /* there are no groups */
    for (int i = c->nest->out_rank - 1; i >= 0; i--) {
        if (c->nest->index[i].extent <= 1)
            continue;
        double ns = strip_cost(c, main, i);
        if (best < 0 || ns < least) {
            best = i;
            least = ns;
        }
    }
    least = strip_cost(c, main, best);
    for (int g = 0; g < c->groups; g++) {
        StageGroup *group = &c->group[g];
        group->rows = !group->down && best >= 0 && group->free >> best & 1;
    }
    return best;
}

/* ---- copies ---- */

const int64_t *stage_strides(const StageCode *c, int load)
{
    return c->pack[load].used ? c->pack[load].stride : c->nest->load[load].stride;
}

/* A contiguous copy with the strip innermost, where it is read several times over. */
static void pack_load(StageCode *c, int load, int strip, double accesses)
{
    const Nest *n = c->nest;
    const NestLoad *l = &n->load[load];
    StagePack *p = &c->pack[load];
    if (strip < 0 || p->used || l->gathers || l->stride[strip] == 0 || l->stride[strip] == 1 ||
        accesses < 4 * distinct(c, load) || distinct(c, load) * bytes_of(l->dtype) > 1 << 28)
        return;
    int rank = 0;
    for (int i = 0; i < n->indices; i++) {
        if (!l->stride[i] || i == strip)
            continue;
        if (rank == TENSOR_RANK_MAX - 1)
            return;
        int at = rank++;
        for (; at > 0 && llabs(l->stride[p->index[at - 1]]) < llabs(l->stride[i]); at--)
            p->index[at] = p->index[at - 1];
        p->index[at] = i;
    }
    p->index[rank++] = strip;
    int64_t next = 1;
    memset(p->stride, 0, sizeof p->stride);
    for (int a = rank - 1; a >= 0; a--) {
        p->stride[p->index[a]] = next;
        next *= n->index[p->index[a]].extent;
    }
    p->rank = rank;
    p->used = true;
    p->bytes = (size_t)next * dtype_info(l->dtype)->bytes;
    p->offset = c->pack_bytes;
    c->pack_bytes += (p->bytes + 127) & ~(size_t)63;
}

bool stage_tiled(const StageCode *c, const StageProgram *p, int load)
{
    const NestLoad *l = &c->nest->load[load];
    if (p->tile < 0 || p->strip < 0 || l->gathers || c->pack[load].used)
        return false;
    int64_t stride = l->stride[p->strip];
    return stride != 0 && stride != 1 && l->stride[p->tile] == 1;
}

/* The index whose blocks are worth transposing: some load is contiguous along it and not
 * along the strip. */
static int find_tile(const StageCode *c, const bool *nodes, int strip, uint64_t among)
{
    const Nest *n = c->nest;
    if (strip < 0 || n->index[strip].extent < 8)
        return -1;
    for (int k = 0; k < n->nodes; k++) {
        if (!nodes[k] || n->node[k].kind != NEST_LOAD)
            continue;
        const NestLoad *l = &n->load[n->node[k].slot];
        int64_t stride = l->stride[strip];
        if (l->gathers || c->pack[n->node[k].slot].used || stride == 0 || stride == 1)
            continue;
        for (int t = 0; t < n->indices; t++)
            if (t != strip && among >> t & 1 && l->stride[t] == 1 && n->index[t].extent >= 8)
                return t;
    }
    return -1;
}

/* ---- loops ---- */

static void add_loop(const Nest *n, StageProgram *p, LoopKind kind, int index)
{
    p->loop[p->loops++] = (StageLoop){ .kind = kind, .index = index,
                                       .extent = n->index[index].extent, .block = 1 };
}

/* Indices of the mask, by falling weight. */
static int sort_indices(const int64_t *weight, uint64_t mask, int *order)
{
    int count = 0;
    for (int i = 0; i < NEST_INDICES; i++) {
        if (!(mask >> i & 1))
            continue;
        int at = count++;
        for (; at > 0 && llabs(weight[order[at - 1]]) < llabs(weight[i]); at--)
            order[at] = order[at - 1];
        order[at] = i;
    }
    return count;
}

/* Loops in this order; the chunk of the strip stands where the strip does, or before the last
 * loop when `early`; blocks of the tile around both. */
static void add_loops(const Nest *n, StageProgram *p, const int *order, int count, bool early)
{
    int last = count - 1;
    if (p->tile >= 0) {
        for (int i = 0; i < count; i++)
            if (order[i] != p->tile && order[i] != p->strip)
                add_loop(n, p, LOOP_FULL, order[i]);
        add_loop(n, p, LOOP_BLOCK, p->tile);
        for (int i = 0; i < count; i++)
            if (order[i] == p->strip)
                add_loop(n, p, LOOP_CHUNK, p->strip);
        add_loop(n, p, LOOP_WITHIN, p->tile);
        return;
    }
    if (early && count > 1 && order[last] == p->strip) {
        for (int i = 0; i < count - 2; i++)
            add_loop(n, p, LOOP_FULL, order[i]);
        add_loop(n, p, LOOP_CHUNK, p->strip);
        add_loop(n, p, LOOP_FULL, order[last - 1]);
        return;
    }
    for (int i = 0; i < count; i++)
        add_loop(n, p, order[i] == p->strip ? LOOP_CHUNK : LOOP_FULL, order[i]);
}

/* Bytes that a group reads for each strip element whatever the last outer loop does. */
static double panel_bytes(const StageCode *c, int outer)
{
    double bytes = 0;
    for (int g = 0; g < c->groups; g++) {
        const StageGroup *group = &c->group[g];
        for (int k = 0; k < c->nest->nodes && group->down; k++) {
            const NestNode *node = &c->nest->node[k];
            if (in_body(c, k, group->bound) && node->kind == NEST_LOAD &&
                node->free >> c->main.strip & 1 && !(node->free >> outer & 1))
                bytes += group->terms * bytes_of(node->dtype);
        }
    }
    return bytes;
}

/* A chain reads most of its operands from registers: strips of f32 may have as many bytes as those
 * of f64, which halves what is done for each of them. */
static int64_t strip_elements(const StageCode *c)
{
    int links = 0;
    for (int k = 0; k < c->nest->nodes; k++) {
        const NestNode *node = &c->nest->node[k];
        if (node->kind == NEST_REDUCE || (node->kind != NEST_CONST && bytes_of(node->dtype) > 4))
            return STRIP_USUAL;
        links += node->kind == NEST_EW &&
                 stage_is_link((EwOp)node->op, node->args, (DType)node->compute, node->watch);
    }
    return links >= CHAIN_SURE ? STRIP_MAX : STRIP_USUAL;
}

static void main_loops(StageCode *c, const bool *main)
{
    const Nest *n = c->nest;
    StageProgram *p = &c->main;
    uint64_t axes = 0;
    int order[NEST_INDICES];
    bool early = false;
    for (int i = 0; i < n->out_rank; i++)
        axes |= n->index[i].extent > 1 ? BIT(i) : 0;
    p->tile = find_tile(c, main, p->strip, axes);
    for (int g = 0; g < c->groups; g++)
        if (c->group[g].rows || (c->group[g].down && p->tile >= 0))
            p->tile = -1;
    int count = sort_indices(c->out_stride, axes, order);
    p->strip_length = p->tile >= 0 ? TILE_LENGTH : strip_elements(c);
    if (p->tile < 0 && p->strip >= 0 && count > 1 && order[count - 1] == p->strip) {
        double bytes = panel_bytes(c, order[count - 2]);
        early = bytes * (double)n->index[p->strip].extent > PANEL_BYTES &&
                n->index[order[count - 2]].extent > 4;
        if (early && bytes * (double)p->strip_length > PANEL_BYTES)
            p->strip_length = (int64_t)(PANEL_BYTES / bytes / 32) * 32;
        if (p->strip_length < 64)
            p->strip_length = 64;
    }
    add_loops(n, p, order, count, early);
}

static void group_loops(StageCode *c, StageGroup *g)
{
    const Nest *n = c->nest;
    StageProgram *p = &g->program;
    int64_t weight[NEST_INDICES] = { 0 };
    int order[NEST_INDICES];
    bool *body = c->used;
    for (int k = 0; k < n->nodes; k++) {
        if (!in_body(c, k, g->bound) || n->node[k].kind != NEST_LOAD)
            continue;
        const int64_t *stride = stage_strides(c, n->node[k].slot);
        for (int i = 0; i < n->indices; i++)
            weight[i] = llabs(stride[i]) > weight[i] ? llabs(stride[i]) : weight[i];
    }
    p->strip = g->down ? c->main.strip : g->strip;
    p->tile = find_tile(c, body, p->strip, g->bound);
    for (int i = 0; !g->down && i < n->indices; i++)
        if (i == g->strip)
            weight[i] = -1;
    if (!g->down && g->strip >= 0)
        weight[g->strip] = 0;
    int count = sort_indices(weight, g->bound, order);
    for (int i = 0; !g->down && i + 1 < count; i++)     /* the strip innermost */
        if (order[i] == g->strip) {
            order[i] = order[i + 1];
            order[i + 1] = g->strip;
        }
    p->strip_length = g->down ? c->main.strip_length : p->tile >= 0 ? TILE_LENGTH : STRIP_USUAL;
    if (g->down && p->tile >= 0 && c->main.strip_length > TILE_LENGTH)
        p->strip_length = c->main.strip_length = TILE_LENGTH;
    add_loops(n, p, order, count, false);
}

/* Registers of all steps in the first cache; blocks of what is transposed in the second. */
static void size_strips(StageCode *c, StageProgram *p)
{
    int widest = 1, live = 0;
    for (int k = 0; k < c->nest->nodes; k++)
        if (c->used[k] && c->nest->node[k].kind != NEST_CONST) {
            widest = dtype_info(c->nest->node[k].dtype)->bytes > widest
                         ? dtype_info(c->nest->node[k].dtype)->bytes : widest;
            live += c->nest->node[k].kind == NEST_EW;
        }
    live = live < 4 ? 4 : live > 12 ? 12 : live;
    while (p->strip_length > 128 && p->strip_length * widest * live > 2 * REGISTER_BYTES)
        p->strip_length /= 2;
    if (c->period)                          /* whole rows, one at least */
        p->strip_length = (p->strip_length < c->period ? c->period : p->strip_length) / c->period *
                          c->period;
    for (int l = 0; l < p->loops; l++) {
        StageLoop *loop = &p->loop[l];
        if (loop->kind == LOOP_CHUNK)
            loop->block = p->strip_length;
        else if (loop->kind == LOOP_BLOCK)
            loop->block = TILE_BYTES / (TILE_LENGTH * widest);
    }
}

static void size_all_strips(StageCode *c)
{
    size_strips(c, &c->main);
    for (int g = 0; g < c->groups; g++) {
        StageProgram *p = &c->group[g].program;
        if (c->group[g].down)
            p->strip_length = c->main.strip_length;
        size_strips(c, p);
        if (c->group[g].down && p->strip_length < c->main.strip_length) {
            c->main.strip_length = p->strip_length;
            size_strips(c, &c->main);
        }
    }
    for (int g = 0; g < c->groups; g++)
        if (c->group[g].down)
            c->group[g].program.strip_length = c->main.strip_length;
}

static int64_t loop_count(const StageLoop *loop)
{
    return loop->extent / loop->block + (loop->extent % loop->block != 0);
}

/* Threads share the leading loops; few results of much work are cut along a bound loop. */
static void choose_parallel(StageCode *c)
{
    StageProgram *p = &c->main;
    c->units = 1;
    c->parallel = 0;
    while (c->parallel < p->loops && p->loop[c->parallel].kind != LOOP_WITHIN)
        c->units *= loop_count(&p->loop[c->parallel++]);
    if (c->groups != 1 || c->size > SMALL_RESULT || c->units >= 8 || p->tile >= 0 ||
        c->group[0].program.loops == 0 || c->seconds < 100e-6)
        return;
    const StageLoop *loop = &c->group[0].program.loop[0];
    if (loop->kind == LOOP_WITHIN || loop_count(loop) < 4)
        return;
    int64_t parts = (int64_t)fmax(2, fmin(c->seconds / 25e-6, PARTS_MAX)), count = loop_count(loop);
    int64_t each = (count + parts - 1) / parts;
    c->part_extent = each * loop->block;
    c->parts = (count + each - 1) / each;
}

/* ---- estimates ---- */

static double traffic(const StageCode *c)
{
    const Nest *n = c->nest;
    double bytes = 0;
    for (int l = 0; l < n->loads; l++) {
        if (!load_used(c, l))
            continue;
        bytes += distinct(c, l) * bytes_of(n->load[l].dtype);
        for (int g = 0; g < n->load[l].gathers; g++) {
            double entries = 1;
            for (int i = 0; i < n->indices; i++)
                if (n->load[l].gather[g].stride[i])
                    entries *= (double)n->index[i].extent;
            bytes += entries * 8;
        }
    }
    return bytes;
}

static void estimate(StageCode *c, const bool *main)
{
    const Nest *n = c->nest;
    double ns = c->main.strip < 0 ? 20 : main_ns(c, main, c->main.strip) * (double)c->size;
    uint64_t axes = n->out_rank == 64 ? ~UINT64_C(0) : BIT(n->out_rank) - 1;
    for (int k = 0; k < n->nodes; k++) {
        const NestNode *node = &n->node[k];
        if (!c->used[k])
            continue;
        double times = extents(n, node->free | (node->kind == NEST_REDUCE ? node->bound : 0));
        if (main[k] && (node->free & ~axes) == 0 && node->kind != NEST_REDUCE)
            times = extents(n, node->free);
        if (node->kind == NEST_EW) {
            ns += ew_seconds((EwOp)node->op, (DType)node->compute) * 1e9 * times;
            c->flops += times;
        } else if (node->kind == NEST_REDUCE) {
            ns += 0.1 * times;
            c->flops += times;
        } else if (node->kind == NEST_CAST) {
            ns += 0.3 * times;
        }
    }
    for (int g = 0; g < c->groups; g++) {
        int along = c->group[g].down ? c->main.strip : c->group[g].strip;
        if (along >= 0)
            ns += group_ns(c, &c->group[g], along) * c->group[g].terms *
                  extents(n, c->group[g].free);
    }
    c->read = traffic(c);
    c->written = (double)c->size * bytes_of(n->node[n->root].dtype);
    double memory = c->read + c->written > 8e6 ? (c->read + c->written) / 12e9 : 0;
    c->seconds = 1e-7 + (ns * 1e-9 > memory ? ns * 1e-9 : memory);
}

/* ---- the door ---- */

static void choose_all(StageCode *c, bool *main)
{
    const Nest *n = c->nest;
    mark_main(c, n->root, main);
    c->main.strip = choose_strip(c, main);
    for (int k = 0; k < n->nodes; k++)
        if (main[k] && n->node[k].kind == NEST_LOAD)
            pack_load(c, n->node[k].slot, c->main.strip, (double)c->size);
    for (int g = 0; g < c->groups; g++) {
        const StageGroup *group = &c->group[g];
        int strip = group->down ? c->main.strip : group->strip;
        for (int k = 0; k < n->nodes; k++)
            if (in_body(c, k, group->bound) && n->node[k].kind == NEST_LOAD)
                pack_load(c, n->node[k].slot, strip,
                          group->terms * extents(n, group->free));
    }
    main_loops(c, main);
    for (int g = 0; g < c->groups; g++)
        group_loops(c, &c->group[g]);
    size_all_strips(c);
    estimate(c, main);
    choose_parallel(c);
}

void stage_choose(Ctx *ctx, StageCode *c)
{
    c->pack = mem_zalloc(ctx, (size_t)(c->nest->loads + 1) * sizeof *c->pack);
    join_rows(c);
    find_groups(ctx, c);
    bool *main = mem_zalloc(ctx, (size_t)c->nest->nodes);
    choose_all(c, main);
    mem_free(ctx, main, (size_t)c->nest->nodes);
    const NestNode *root = &c->nest->node[c->nest->root];
    c->copy = root->kind == NEST_LOAD && c->nest->load[root->slot].gathers == 0;
    int64_t along = c->main.strip < 0 ? 0 : c->out_stride[c->main.strip];
    c->stream = along == 1 && c->written >= STREAM_BYTES && c->main.strip_length >= 64 &&
                c->nest->index[c->main.strip].extent >= 64;
    c->direct = along == 1;
    c->rows = stage_is_rows(c);
    c->sweeps = stage_may_sweep(c);
    c->distances = stage_find_distances(c, &c->distance);
}
