/* The fused loop (contract_fused.h): indices in levels, one of them, the vector index, walked in
 * strips. First stand the levels of the result and the strips, then the summed ones; an operand is
 * taken in at the deepest level that it depends on, so that what is multiplied further out is
 * multiplied after the inner sum (where the semiring distributes). Operands that the inner loops
 * read again are gathered into tiles of strips when their outer indices change. The arrangement
 * with the least estimated time is taken. fused_run raises nothing but what allocating its scratch
 * raises. */
#include "kernels/contract/contract_fused_kernels.h"

#include "core/memory/pool.h"
#include "kernels/contract/contract_fused.h"
#include "kernels/tensor/cpu.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LEVELS = CONTRACT_LABELS + 1, TILE_BYTES = 32 << 10, STRIP_BYTES = 2048, SUMMED_TRIED = 3 };

/* An index with one step per tensor; neighbours that lie alike everywhere are one axis. */
typedef struct Axis {
    int64_t extent, out;
    bool summed;
} Axis;

typedef struct Operand {
    uint64_t axes;                      /* bit: it depends on that axis */
    int64_t *stride;                    /* per axis, elements */
    bool conj;
} Operand;

/* One way to arrange the levels. */
typedef struct Arrangement {
    int level[LEVELS];                  /* axis of each */
    int levels, strip;
    int frames;                         /* the levels outside all sums but the strip's */
    double seconds;
} Arrangement;

struct FusedPlan {
    int n, axes;
    DType dtype;
    Semiring semiring;
    const FusedOps *ops;
    int64_t bytes, strip_length;
    bool empty, distributes;
    Axis axis[LEVELS];
    Operand *operand;
    Arrangement best;
    int *depth, *pack;                  /* per operand: level where it is taken in; where it is
                                         * packed (-1: never) */
    int64_t *tile;                      /* per operand: where its tile starts in the scratch */
    int64_t *step;                      /* [level][operand] steps, in the tile once it is packed */
    int64_t scratch, pointers;          /* bytes of tiles and strips; of operand pointers */
    int64_t *block;                     /* all of the arrays */
    size_t block_bytes;
    int threads;
    double flops, traffic, packed;
};

/* ---- axes ---- */

/* Does axis b follow directly inside axis a in every tensor? */
static bool is_run(const FusedPlan *p, int a, int b)
{
    const Axis *x = &p->axis[a], *y = &p->axis[b];
    if (x->summed != y->summed || x->out != y->out * y->extent ||
        count_times(x->extent, y->extent) > TENSOR_SIZE_MAX)
        return false;
    for (int k = 0; k < p->n; k++) {
        const Operand *o = &p->operand[k];
        if ((o->axes >> a & 1) != (o->axes >> b & 1) || o->stride[a] != o->stride[b] * y->extent)
            return false;
    }
    return true;
}

/* Axis b takes in axis a; the last axis moves to a's place. */
static void join_axes(FusedPlan *p, int a, int b)
{
    int last = --p->axes;
    p->axis[b].extent *= p->axis[a].extent;
    p->axis[a] = p->axis[last];
    for (int k = 0; k < p->n; k++) {
        Operand *o = &p->operand[k];
        o->stride[a] = o->stride[last];
        o->axes = (o->axes & ~((uint64_t)1 << a)) | (o->axes >> last & 1) << a;
        o->axes &= ((uint64_t)1 << last) - 1;
    }
}

static void find_axes(FusedPlan *p, const Contraction *c)
{
    for (int l = 0; l < c->labels; l++) {
        int at = p->axes;
        p->empty |= c->extent[l] == 0;
        if (c->extent[l] == 1)
            continue;
        bool kept = c->out >> l & 1;
        p->axis[p->axes++] = (Axis){ .extent = c->extent[l], .summed = !kept,
                                     .out = kept ? c->out_stride[l] : 0 };
        for (int k = 0; k < p->n; k++) {
            const ContractOperand *from = &c->operand[k];
            p->operand[k].axes |= (from->labels >> l & 1) << at;
            p->operand[k].stride[at] = from->labels >> l & 1 ? from->stride[l] : 0;
        }
    }
    for (int a = 0; a < p->axes; a++)
        for (int b = 0; b < p->axes; b++)
            if (a != b && is_run(p, a, b)) {
                join_axes(p, a, b);
                a = -1;                 /* from the start again */
                break;
            }
    if (p->axes == 0)
        p->axis[p->axes++] = (Axis){ .extent = 1, .summed = true };
}

/* ---- arrangements ---- */

static int64_t blocks_of(const FusedPlan *p, int64_t extent)
{
    return (extent + p->strip_length - 1) / p->strip_length;
}

/* How often level t goes round. */
static int64_t turns_of(const FusedPlan *p, const Arrangement *a, int t)
{
    int64_t extent = p->axis[a->level[t]].extent;
    return t == a->strip ? blocks_of(p, extent) : extent;
}

/* The level at which operand k is taken in, with axes as `a` arranges them. */
static int depth_of(const FusedPlan *p, const Arrangement *a, int k)
{
    int depth = 0;
    if (!p->distributes)
        return a->levels - 1;
    for (int t = 0; t < a->levels; t++)
        if (p->operand[k].axes >> a->level[t] & 1)
            depth = t;
    return depth;
}

/* Where a tile of operand k is filled: before the first level inside the strip that does not
 * move it while a deeper one does. -1: its strips are read in place. */
static int pack_of(const FusedPlan *p, const Arrangement *a, int k, int depth,
                   int64_t *combinations)
{
    const Operand *x = &p->operand[k];
    int v = a->level[a->strip];
    *combinations = 1;
    if (!(x->axes >> v & 1) || (x->stride[v] == 1 && !x->conj))
        return -1;
    for (int t = a->strip + 1; t <= depth; t++) {
        if (x->axes >> a->level[t] & 1)
            continue;
        int64_t tile = 1;
        for (int d = t; d <= depth; d++)
            tile *= x->axes >> a->level[d] & 1 ? p->axis[a->level[d]].extent : 1;
        if (tile * p->strip_length * p->bytes <= TILE_BYTES) {
            *combinations = tile;
            return t - 1;
        }
    }
    if (depth <= a->strip)
        return a->strip;
    /* Read once: but strips that lie in between each other are better read together. */
    int inner = a->level[depth];
    int64_t together = p->axis[inner].extent;
    if (llabs(x->stride[inner]) >= llabs(x->stride[v]) ||
        together * p->strip_length * p->bytes > TILE_BYTES)
        return depth;
    *combinations = together;
    return depth - 1;
}

/* Seconds of one element in a strip operation, and of gathering one. */
static double element_seconds(const FusedPlan *p)
{
    return (double)p->bytes * 4e-11 * (dtype_info(p->dtype)->kind == 'c' ? 2 : 1);
}

static double gather_seconds(const FusedPlan *p, int64_t step)
{
    return step * p->bytes > 256 || step * p->bytes < -256 ? 3e-9 : 1e-9;
}

static void estimate(const FusedPlan *p, Arrangement *a)
{
    double seconds = 0, runs = 1, count[LEVELS];
    int v = a->level[a->strip], sources[LEVELS + 1] = { 0 };
    double length = (double)p->axis[v].extent / (double)blocks_of(p, p->axis[v].extent);
    for (int t = 0; t < a->levels; t++) {
        runs *= (double)turns_of(p, a, t);
        count[t] = runs;
    }
    for (int k = 0; k < p->n; k++) {
        int64_t tile;
        int depth = depth_of(p, a, k), pack = pack_of(p, a, k, depth, &tile);
        if (p->operand[k].axes >> v & 1)
            for (int t = depth; t >= 0; t--)
                sources[t] += t == depth || sources[t] == 0;
        if (pack >= 0)
            seconds += count[pack] * (double)tile *
                       (6e-9 + length * gather_seconds(p, p->operand[k].stride[v]));
    }
    for (int t = a->frames - 1; t < a->levels; t++) {
        int work = sources[t] > 2 ? sources[t] - 1 : sources[t] > 0;
        seconds += count[t] * (1.2e-8 + work * (4e-9 + length * element_seconds(p)));
    }
    a->seconds = seconds;
}

static bool wider(const FusedPlan *p, int a, int b)
{
    int64_t x = llabs(p->axis[a].out), y = llabs(p->axis[b].out);
    for (int k = 0; k < p->n && p->axis[a].summed; k++) {
        x += llabs(p->operand[k].stride[a]);
        y += llabs(p->operand[k].stride[b]);
    }
    return x > y;
}

/* Sorts axes of the result, then the others, by decreasing step; returns how many are first. */
static int sort_axes(const FusedPlan *p, int *order)
{
    int n = 0, kept = 0;
    for (int pass = 0; pass < 2; pass++) {
        int from = n;
        for (int x = 0; x < p->axes; x++) {
            if (p->axis[x].summed != (pass == 1))
                continue;
            int at = n++;
            for (; at > from && wider(p, x, order[at - 1]); at--)
                order[at] = order[at - 1];
            order[at] = x;
        }
        kept = pass == 0 ? n : kept;
    }
    return kept;
}

/* With vector axis v: the strip before the last axes of the result, and every rotation of
 * the summed axes if they are few. */
static void try_vector(FusedPlan *p, const int *order, int kept, int v)
{
    Arrangement a = { .levels = p->axes };
    int frames = 0, summed = 0, frame[LEVELS], sum[LEVELS];
    for (int i = 0; i < p->axes; i++)
        if (order[i] != v)
            *(i < kept ? &frame[frames++] : &sum[summed++]) = order[i];
    a.frames = frames + 1;
    int turns = summed > 1 && summed <= SUMMED_TRIED ? summed : 1;
    for (int at = frames; at >= 0; at--)
        for (int turn = 0; turn < turns; turn++) {
            int t = 0;
            a.strip = at;
            for (int i = 0; i <= frames; i++)
                a.level[t++] = i == at ? v : frame[i < at ? i : i - 1];
            for (int i = 0; i < summed; i++)
                a.level[t++] = sum[(i + turn) % summed];
            estimate(p, &a);
            if (a.seconds < p->best.seconds)
                p->best = a;
        }
}

static void choose_arrangement(FusedPlan *p)
{
    int order[LEVELS], kept = sort_axes(p, order);
    int64_t longest = 1;
    p->best.seconds = INFINITY;
    for (int x = 0; x < p->axes; x++)
        longest = p->axis[x].extent > longest ? p->axis[x].extent : longest;
    for (int x = 0; x < p->axes; x++) {
        bool smooth = false;                    /* contiguous in some operand */
        for (int k = 0; k < p->n; k++)
            smooth |= p->operand[k].stride[x] == 1;
        if (smooth || p->axis[x].extent == longest || p->axes <= 4)
            try_vector(p, order, kept, x);
    }
}

/* ---- the plan ---- */

/* A product is taken at every level that takes an operand in, a sum at every summed one. */
static void count_flops(FusedPlan *p)
{
    const Arrangement *a = &p->best;
    bool two = dtype_info(p->dtype)->kind == 'c', inside = false;
    for (int t = a->levels - 1; t >= 0; t--) {
        double points = 1;
        for (int d = 0; d < a->levels; d++)
            points *= d <= t || d == a->strip ? (double)p->axis[a->level[d]].extent : 1;
        int factors = inside;
        for (int k = 0; k < p->n; k++)
            factors += p->depth[k] == t;
        inside |= factors > 0;
        p->flops += factors > 1 ? points * (factors - 1) * (two ? 6 : 1) : 0;
        p->flops += p->axis[a->level[t]].summed ? points * (two ? 2 : 1) : 0;
    }
}

static void settle(FusedPlan *p)
{
    const Arrangement *a = &p->best;
    int64_t at = 0, strip = p->strip_length * p->bytes;
    for (int k = 0; k < p->n; k++) {
        const Operand *x = &p->operand[k];
        int64_t tile, inside;
        double size = (double)p->bytes, runs = 1;
        p->depth[k] = depth_of(p, a, k);
        p->pack[k] = pack_of(p, a, k, p->depth[k], &tile);
        p->tile[k] = at;
        at += p->pack[k] >= 0 ? tile * strip : 0;
        inside = p->strip_length;
        for (int t = a->levels - 1; t >= 0; t--) {
            bool has = x->axes >> a->level[t] & 1, packed = p->pack[k] >= 0 && t > p->pack[k];
            size *= has ? (double)p->axis[a->level[t]].extent : 1;
            p->step[t * p->n + k] = !has ? 0 : packed ? inside : x->stride[a->level[t]];
            inside *= has && packed ? p->axis[a->level[t]].extent : 1;
        }
        for (int t = 0; t <= p->pack[k]; t++)
            runs *= (double)turns_of(p, a, t);
        p->traffic += size;
        p->packed += p->pack[k] >= 0 ? runs * (double)(tile * strip) : 0;
    }
    count_flops(p);
    p->scratch = at + (p->axes + 2) * strip;        /* tiles, a strip per level, two to spare */
    p->pointers = (p->axes + 1) * p->n * (int64_t)sizeof(char *);
}

bool fused_has(Semiring s, DType dt)
{
    return fused_ops_base[s][dt].fill != NULL;
}

FusedPlan *fused_plan(Ctx *ctx, const Contraction *c)
{
    size_t n = (size_t)c->operands, axes = (size_t)c->labels + 1;
    size_t each = sizeof(Operand) + (2 * axes + 1) * sizeof(int64_t) + 2 * sizeof(int);
    size_t bytes = sizeof(FusedPlan) + n * each;
    FusedPlan *p = mem_zalloc(ctx, bytes);
    p->block_bytes = bytes;
    p->n = c->operands;
    p->operand = (Operand *)(p + 1);
    p->block = (int64_t *)(p->operand + n);
    p->step = p->block + n * axes;
    p->tile = p->step + n * axes;
    p->depth = (int *)(p->tile + n);
    p->pack = p->depth + n;
    p->threads = pool_threads(ctx);
    p->dtype = c->dtype;
    p->bytes = dtype_info(c->dtype)->bytes;
    p->semiring = c->semiring;
    p->distributes = semiring_distributes(c->semiring);
    p->ops = &fused_ops_avx2[c->semiring][c->dtype];
    if (cpu_isa() == ISA_BASE || !p->ops->fill)
        p->ops = &fused_ops_base[c->semiring][c->dtype];
    p->strip_length = STRIP_BYTES / p->bytes > 512 ? 512 : STRIP_BYTES / p->bytes;
    for (size_t k = 0; k < n; k++) {
        p->operand[k].stride = p->block + k * axes;
        p->operand[k].conj = c->operand[k].conj;
    }
    find_axes(p, c);
    choose_arrangement(p);
    settle(p);
    return p;
}

void fused_plan_free(Ctx *ctx, FusedPlan *p)
{
    if (p)
        mem_free(ctx, p, p->block_bytes);
}

/* ---- running ---- */

enum { CELL = 16 };

typedef struct Run {
    const FusedPlan *plan;
    const FusedOps *ops;
    char *out;                          /* at position 0 */
    char *tiles, *strips;               /* scratch */
    const char **at;                    /* [level][operand]: at the start of that level's loop */
    int64_t n;                          /* elements of the strip */
    bool first;                         /* it is the first block: the result is not read */
    InterruptFlag *interrupt;
} Run;

/* A value on its way out: a cell times a strip; `strip` NULL: the cell alone. */
typedef struct Part {
    _Alignas(16) char cell[CELL];
    bool scaled;                        /* the cell counts */
    const char *strip;
} Part;

static char *strip_of(const Run *r, int level)
{
    return r->strips + level * r->plan->strip_length * r->plan->bytes;
}

static void part_times_cell(const Run *r, Part *part, const void *cell)
{
    if (part->scaled)
        r->ops->mul(part->cell, part->cell, cell, 1);
    else
        memcpy(part->cell, cell, (size_t)r->plan->bytes);
    part->scaled = true;
}

/* Fills the tile of operand k, levels from t on, and points the next level at it. */
static void fill_tile(const Run *r, int k, int t, const char *from, char *to)
{
    const FusedPlan *p = r->plan;
    const Arrangement *a = &p->best;
    const Operand *x = &p->operand[k];
    while (t <= p->depth[k] && !(x->axes >> a->level[t] & 1))
        t++;
    if (t > p->depth[k]) {
        r->ops->gather(to, from, x->stride[a->level[a->strip]], r->n, x->conj);
        return;
    }
    int axis = a->level[t], last = t + 1;
    while (last <= p->depth[k] && !(x->axes >> a->level[last] & 1))
        last++;
    if (last > p->depth[k] && llabs(x->stride[axis]) < llabs(x->stride[a->level[a->strip]])) {
        r->ops->tile(to, p->step[t * p->n + k], from, x->stride[a->level[a->strip]], r->n,
                     x->stride[axis], p->axis[axis].extent, x->conj);
        return;
    }
    for (int64_t i = 0; i < p->axis[axis].extent; i++)
        fill_tile(r, k, t + 1, from + i * x->stride[axis] * p->bytes,
                  to + i * p->step[t * p->n + k] * p->bytes);
}

static void pack_at(const Run *r, int level)
{
    const FusedPlan *p = r->plan;
    const char **at = r->at + (level + 1) * p->n;
    for (int k = 0; k < p->n; k++)
        if (p->pack[k] == level) {
            char *tile = r->tiles + p->tile[k];
            fill_tile(r, k, level + 1, at[k], tile);
            at[k] = tile;
        }
}

/* Positions of the operands in the loop of level t, moved to i. */
static void move_to(const Run *r, int t, int64_t i)
{
    const FusedPlan *p = r->plan;
    const char **from = r->at + t * p->n, **to = from + p->n;
    const int64_t *step = p->step + t * p->n;
    for (int k = 0; k < p->n; k++)
        to[k] = from[k] + i * step[k] * p->bytes;
}

/* Operands that are taken in at level t, into a cell and at most `keep` strips; more strips
 * are multiplied into `spare`. Returns how many strips there are. */
static int take_in(const Run *r, int t, Part *part, const char *inner, const char *strips[2],
                   char *spare)
{
    const FusedPlan *p = r->plan;
    const char **at = r->at + (t + 1) * p->n;
    int v = p->best.level[p->best.strip], n = 0;
    if (inner)
        strips[n++] = inner;
    for (int k = 0; k < p->n; k++) {
        if (p->depth[k] != t)
            continue;
        if (!(p->operand[k].axes >> v & 1)) {
            if (p->operand[k].conj) {
                _Alignas(16) char cell[CELL];
                r->ops->gather(cell, at[k], 1, 1, true);
                part_times_cell(r, part, cell);
            } else {
                part_times_cell(r, part, at[k]);
            }
        } else if (n < 2) {
            strips[n++] = at[k];
        } else {
            r->ops->mul(spare, strips[0], strips[1], r->n);
            strips[0] = spare;
            strips[1] = at[k];
        }
    }
    return n;
}

/* The sum over level t and all inside it. */
static Part sum_level(const Run *r, int t)
{
    const FusedPlan *p = r->plan;
    const FusedOps *ops = r->ops;
    char *acc = strip_of(r, t), *spare = strip_of(r, p->axes);
    Part total = { .strip = NULL };
    bool inside = t + 1 < p->best.levels;
    int64_t extent = p->axis[p->best.level[t]].extent;
    for (int64_t i = 0; i < extent && (i == 0 || !*r->interrupt); i++) {
        const char *strips[2];
        Part part = { .strip = NULL };
        move_to(r, t, i);
        pack_at(r, t);
        if (inside)
            part = sum_level(r, t + 1);
        int n = take_in(r, t, &part, part.strip, strips, spare);
        if (n == 0) {
            if (i == 0)
                memcpy(total.cell, part.cell, sizeof total.cell);
            else
                ops->add(total.cell, part.cell, 1);
            total.scaled = true;
            continue;
        }
        if (i == 0) {
            ops->fill(acc, r->n);
            total.strip = acc;
        }
        if (n == 2 && part.scaled) {
            ops->mul(spare, strips[0], strips[1], r->n);
            strips[0] = spare;
            n = 1;
        }
        if (n == 2)
            ops->fma(acc, strips[0], strips[1], r->n);
        else if (part.scaled)
            ops->axpy(acc, strips[0], part.cell, r->n);
        else
            ops->add(acc, strips[0], r->n);
    }
    return total;
}

/* What stands at the innermost frame, all of its factors taken in, into the result. */
static void finish(const Run *r, char *out)
{
    const FusedPlan *p = r->plan;
    const Arrangement *a = &p->best;
    const FusedOps *ops = r->ops;
    const Axis *v = &p->axis[a->level[a->strip]];
    char *spare = strip_of(r, p->axes), *product = strip_of(r, p->axes + 1);
    const char *strips[2];
    Part part = { .strip = NULL };
    int n;
    if (a->levels > a->frames)
        part = sum_level(r, a->frames);
    strips[0] = part.strip;
    n = part.strip != NULL;
    for (int t = a->frames - 1; t >= 0; t--) {
        if (n == 2) {
            ops->mul(product, strips[0], strips[1], r->n);
            strips[0] = product;
        }
        n = take_in(r, t, &part, n ? strips[0] : NULL, strips, spare);
    }
    if (n == 2 && (!v->summed || (part.scaled && !p->distributes))) {
        ops->mul(product, strips[0], strips[1], r->n);
        strips[0] = product;
        n = 1;
    }
    if (n == 1 && part.scaled && (!v->summed || !p->distributes)) {
        ops->scale(product, strips[0], part.cell, r->n);
        strips[0] = product;
        part.scaled = false;
    }
    if (v->summed) {
        _Alignas(16) char cell[CELL];
        if (n == 2)
            ops->dot(cell, strips[0], strips[1], r->n);
        else if (n == 1)
            ops->sum(cell, strips[0], r->n);
        if (n)
            part_times_cell(r, &part, cell);
        ops->scatter(out, 1, part.cell, 1, !r->first);
        return;
    }
    if (n == 0) {
        ops->gather(product, part.cell, 0, r->n, false);
        strips[0] = product;
    }
    ops->scatter(out, v->out, strips[0], r->n, false);
}

static void frame(Run *r, int t, char *out, int64_t begin, int64_t end);

static void inside_frame(Run *r, int t, char *out)
{
    const FusedPlan *p = r->plan;
    const Arrangement *a = &p->best;
    if (t == a->frames) {
        finish(r, out);
        return;
    }
    frame(r, t, out, 0, turns_of(p, a, t));
}

/* Positions (or blocks of strips) begin … end-1 of level t. */
static void frame(Run *r, int t, char *out, int64_t begin, int64_t end)
{
    const FusedPlan *p = r->plan;
    const Arrangement *a = &p->best;
    const Axis *x = &p->axis[a->level[t]];
    for (int64_t i = begin; i < end && !*r->interrupt; i++) {
        int64_t at = i;
        if (t == a->strip) {
            at = i * p->strip_length;
            r->n = x->extent - at < p->strip_length ? x->extent - at : p->strip_length;
            r->first = i == 0;
        }
        move_to(r, t, at);
        pack_at(r, t);
        inside_frame(r, t + 1, out + at * x->out * p->bytes);
    }
}

typedef struct Shares {
    const FusedPlan *plan;
    char *out, *scratch;
    const void *const *data;
    int64_t each;                       /* bytes of scratch per worker */
    InterruptFlag *interrupt;
} Shares;

static void run_share(void *arg, int64_t begin, int64_t end, int worker)
{
    const Shares *s = arg;
    const FusedPlan *p = s->plan;
    char *mine = s->scratch + worker * s->each;
    Run r = { .plan = p, .ops = p->ops, .interrupt = s->interrupt, .tiles = mine,
              .strips = mine + p->scratch - (p->axes + 2) * p->strip_length * p->bytes,
              .at = (const char **)(void *)(mine + p->scratch), .first = true, .n = 1 };
    for (int k = 0; k < p->n; k++)
        r.at[k] = s->data[k];
    frame(&r, 0, s->out, begin, end);
}

/* The sum of nothing, everywhere. */
static void fill_out(const FusedPlan *p, int axis, char *out)
{
    while (axis < p->axes && p->axis[axis].summed)
        axis++;
    if (axis == p->axes) {
        p->ops->fill(out, 1);
        return;
    }
    for (int64_t i = 0; i < p->axis[axis].extent; i++)
        fill_out(p, axis + 1, out + i * p->axis[axis].out * p->bytes);
}

static bool is_shared(const FusedPlan *p)
{
    return !p->axis[p->best.level[0]].summed && turns_of(p, &p->best, 0) > 1 &&
           p->best.seconds > 1e-4;
}

void fused_run(Ctx *ctx, const FusedPlan *p, void *out, const void *const *data)
{
    if (p->empty) {
        fill_out(p, 0, out);
        return;
    }
    int64_t count = turns_of(p, &p->best, 0);
    bool shared = is_shared(p);
    int workers = shared ? pool_threads(ctx) : 1;
    Shares s = { .plan = p, .out = out, .data = data, .interrupt = ctx->interrupt,
                 .each = (p->scratch + p->pointers + 63) & ~(int64_t)63 };
    size_t bytes = (size_t)workers * (size_t)s.each;
    s.scratch = mem_alloc_data(ctx, bytes, false);
    if (shared)
        pool_for(ctx, count, 1, run_share, &s);
    else
        run_share(&s, 0, count, 0);
    mem_free_data(ctx, s.scratch, bytes);
}

double fused_seconds(const FusedPlan *p)
{
    double memory = p->traffic * 1e-10, seconds = p->best.seconds + 3e-7;
    if (is_shared(p))
        seconds /= fmin(p->threads, (double)turns_of(p, &p->best, 0));
    return fmax(seconds, memory);
}

void fused_report(const FusedPlan *p, ReportStep *s)
{
    const Arrangement *a = &p->best;
    const Axis *v = &p->axis[a->level[a->strip]];
    double result = (double)p->bytes;
    for (int x = 0; x < p->axes; x++)
        result *= p->axis[x].summed ? 1 : (double)p->axis[x].extent;
    snprintf(s->kind, sizeof s->kind, "fused loop");
    snprintf(s->kernel.how, sizeof s->kernel.how,
             "all %d operands at once over strips of %lld elements%s", p->n,
             (long long)(v->extent < p->strip_length ? v->extent : p->strip_length),
             p->packed > 0 ? ", gathered where they are not contiguous" : "");
    s->flops = p->flops;
    s->read = p->traffic;
    s->written = result;
    s->copied = p->packed;
    s->seconds = fused_seconds(p);
}
