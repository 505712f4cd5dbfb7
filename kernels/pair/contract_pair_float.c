/* Sums of products of floats where no matrix lies ready: the blocked product over axes, and
 * sums along rows for dot products and matrices times vectors (contract_pair_ways.h). */
#include "kernels/pair/contract_pair_ways.h"

#include "core/memory/pool.h"
#include "kernels/tensor/permute.h"
#include "kernels/tensor/cpu.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the blocked product ---- */

/* Of two axes of depth that a block takes a piece of each: elements, at most. */
enum { PIECE_WIDE = 24, PIECE_DEEP = 16 };

/* Should A and B change places? The kernel stores vectors of C along the rows' first axis, so
 * C's closest axis is to be a row's; where it is neither's, rows are the longer side. */
static bool turned(const PairForm *f)
{
    for (int d = 0; d < f->axes; d++)
        if (f->axis[d].step[PAIR_C] == 1 && f->class[d] != FORM_BATCH && f->class[d] != FORM_SPREAD)
            return f->class[d] == FORM_N;
    return pair_form_extent(f, FORM_N) > pair_form_extent(f, FORM_M);
}

static PairForm turned_form(const PairForm *f)
{
    static const uint8_t other[FORM_CLASSES + 1] = {
        0, IN_C, IN_B, IN_C | IN_B, IN_A, IN_C | IN_A, IN_A | IN_B, FORM_BATCH
    };
    PairForm t = *f;
    t.conj[PAIR_A] = f->conj[PAIR_B];
    t.conj[PAIR_B] = f->conj[PAIR_A];
    for (int d = 0; d < t.axes; d++) {
        t.class[d] = other[f->class[d]];
        t.axis[d].step[PAIR_A] = f->axis[d].step[PAIR_B];
        t.axis[d].step[PAIR_B] = f->axis[d].step[PAIR_A];
    }
    return t;
}

/* Puts the axis with step 1 in `first` in front, then that of `second`, then by rising steps. */
static void sort_group(const PairGroup *g, int first, int second)
{
    PairAxis *x = (PairAxis *)g->axis;
    for (int i = 1; i < g->axes; i++)
        for (int j = i; j > 0; j--) {
            int rank[2];
            for (int s = 0; s < 2; s++)
                rank[s] = x[j - s].step[first] == 1 ? 0 : x[j - s].step[second] == 1 ? 1 : 2;
            if (rank[0] > rank[1] || (rank[0] == rank[1] && llabs(x[j].step[first]) >=
                                      llabs(x[j - 1].step[first])))
                break;
            PairAxis swap = x[j];
            x[j] = x[j - 1];
            x[j - 1] = swap;
        }
}

static int unit_axis(const PairGroup *g, int tensor)
{
    for (int d = 0; d < g->axes; d++)
        if (g->axis[d].step[tensor] == 1)
            return d;
    return -1;
}

/* C lies along M's first axis and A along another, and there is more of A than of C: panels
 * take a panel's length of the first and then go along the other, so that A is read along its
 * rows and turned over in blocks while C is still written in whole vectors. */
static void cut_rows(PairPlan *p, PairProduct *x)
{
    PairGroup *m = &x->group[PAIR_M];
    PairAxis *axis = (PairAxis *)m->axis;
    int64_t mr = x->kernel->mr;
    int close = unit_axis(m, PAIR_A);
    if (close <= 0 || axis[0].step[PAIR_C] != 1 || axis[0].extent < mr ||
        x->group[PAIR_K].extent < x->group[PAIR_N].extent)
        return;
    PairAxis first = axis[0], along = axis[close];
    memmove(axis + 2, axis + 1, (size_t)(close - 1) * sizeof *axis);
    axis[1] = along;
    /* one axis more: what stands behind the group in the plan moves on */
    PairAxis *end = p->axis + p->axes;
    memmove(axis + 3, axis + 2, (size_t)(end - (axis + 2)) * sizeof *axis);
    p->axes++;
    axis[2] = first;
    axis[2].extent = (first.extent + mr - 1) / mr;
    for (int t = 0; t < PAIR_TENSORS; t++)
        axis[2].step[t] *= mr;
    axis[0].extent = mr;
    x->tail = first.extent - (axis[2].extent - 1) * mr;
    x->chunks = 2;
    m->extent = m->extent / first.extent * axis[2].extent * mr;
    m->axes++;
    for (int g = 0; g < PAIR_GROUPS; g++)
        if (x->group[g].axis > m->axis)
            x->group[g].axis++;
}

/* The largest number of at most `most` that divides n. */
static int64_t divisor(int64_t n, int64_t most)
{
    while (n % most)
        most--;
    return most;
}

/* A long sum where A lies along K's first axis and B along its second, or the other way round:
 * blocks of depth are pieces of both, so that lines of both are used up before they leave the
 * cache. */
static void cut_depth(PairPlan *p, PairProduct *x)
{
    PairGroup *k = &x->group[PAIR_K];
    PairAxis *axis = (PairAxis *)k->axis;
    if (k->axes != 2 || axis + 2 != p->axis + p->axes || p->axes > CONTRACT_LABELS ||
        !pair_block_is_sliced(x))
        return;
    PairAxis first = axis[0], second = axis[1];
    if (!(first.step[PAIR_A] == 1 && second.step[PAIR_B] == 1) &&
        !(first.step[PAIR_B] == 1 && second.step[PAIR_A] == 1))
        return;
    int64_t wide = divisor(first.extent, PIECE_WIDE), deep = divisor(second.extent, PIECE_DEEP);
    if (wide < PIECE_WIDE / 2 || deep < PIECE_DEEP / 2)
        return;
    axis[2] = second, axis[3] = first;
    axis[0].extent = wide, axis[1].extent = deep;
    axis[2].extent /= deep, axis[3].extent /= wide;
    for (int t = 0; t < PAIR_TENSORS; t++) {
        axis[2].step[t] *= deep;
        axis[3].step[t] *= wide;
    }
    k->axes = 4;
    p->axes += 2;
}

static bool has_unit(const PairForm *f, int class, int tensor, int64_t least)
{
    for (int d = 0; d < f->axes; d++)
        if (f->class[d] == class && f->axis[d].step[tensor] == 1 && f->axis[d].extent >= least)
            return true;
    return false;
}

static double summed_work(const PairForm *f)
{
    return pair_form_extent(f, FORM_K) * pair_form_extent(f, FORM_OWN_A) *
           pair_form_extent(f, FORM_OWN_B);
}

/* Seconds per element of a large operand whose lines are packed from far apart. */
static const double FAR = 0.45e-9;

/* The operand whose closest axis is C's too, but not its closest, which the operand has as well;
 * 0: none. All else are axes of plain products. */
static int side_of(const PairForm *f)
{
    int side = 0, free = 0;
    if (!pair_is_blas(f) || f->single || dtype_info(f->dtype)->kind != 'f')
        return 0;
    for (int d = 0; d < f->axes; d++) {
        if (f->class[d] != FORM_M && f->class[d] != FORM_N && f->class[d] != FORM_K)
            return 0;
        free += f->class[d] != FORM_K;
        int tensor = f->class[d] == FORM_M ? PAIR_A : PAIR_B;
        if (f->class[d] != FORM_K && f->axis[d].step[PAIR_C] == 1 && !side)
            side = tensor;
    }
    int class = side == PAIR_A ? FORM_M : FORM_N;
    for (int d = 0; side && free <= TENSOR_RANK_MAX && d < f->axes; d++)
        if (f->class[d] == class && f->axis[d].step[side] == 1 && f->axis[d].step[PAIR_C] != 1)
            return side;
    return 0;
}

/* What it takes longer to pack the large one of such operands. */
static double far_seconds(const PairForm *f)
{
    int side = side_of(f);
    if (!side)
        return 0;
    double size = pair_form_size(f, side), bytes = dtype_info(f->dtype)->bytes;
    double narrow = pair_form_extent(f, side == PAIR_A ? FORM_N : FORM_M);
    bool large = size * bytes >= 2 * STREAM_BYTES && size >= pair_form_size(f, PAIR_C);
    return large && narrow <= pair_form_extent(f, FORM_K) ? FAR * size : 0;
}

static double block_seconds(const PairForm *given, const PairPlan *p)
{
    (void)p;
    if (!pair_is_float(given))
        return INFINITY;
    PairForm f = turned(given) ? turned_form(given) : *given;
    const PairRates *r = pair_rates(f.dtype);
    const PairKernel *kernel = pair_kernel(blas_type(f.dtype));
    double m = pair_form_extent(&f, FORM_M), n = pair_form_extent(&f, FORM_N);
    double k = summed_work(&f);
    double count = pair_form_extent(&f, FORM_BATCH);
    double rows = ceil(m / kernel->mr) * kernel->mr, full = floor(n / kernel->nr) * kernel->nr;
    double columns = full + (n > full ? fmax(4, n - full) : 0);
    double flops = (dtype_info(f.dtype)->kind == 'c' ? 8 : 2) * rows * columns * k;
    double a = has_unit(&f, FORM_M, PAIR_A, 4) ? r->turned : has_unit(&f, FORM_K, PAIR_A, 4) ?
               r->turned : r->gather;
    double b = has_unit(&f, FORM_N, PAIR_B, 4) ? r->unit : has_unit(&f, FORM_K, PAIR_B, 4) ?
               r->turned : r->gather;
    double c = has_unit(&f, FORM_M, PAIR_C, 4) ? r->store : r->scatter;
    double passes = ceil(k / 384);
    double each = 6e-7 + flops / r->flops + m * k * a + n * k * b + m * n * c * passes;
    return fmax(1e-6 + count * each, pair_memory_seconds(given)) + far_seconds(given);
}

static void block_run(Ctx *ctx, const PairPlan *p, char *c, const char *a,
                      const char *b, char *work)
{
    pair_block_run(ctx, &p->u.product, work, c, a, b, NULL);
}

static void block_run_turned(Ctx *ctx, const PairPlan *p, char *c, const char *a, const char *b,
                             char *work)
{
    pair_block_run(ctx, &p->u.product, work, c, b, a, NULL);
}

bool pair_block_has_rows(const PairPlan *p, int64_t rows, int64_t elements)
{
    const PairGroup *g = p->u.product.group;
    return p->run == block_run_turned && g[PAIR_BATCH].extent == 1 && g[PAIR_N].axes == 1 &&
           g[PAIR_N].extent == rows && g[PAIR_N].axis[0].step[PAIR_C] == elements;
}

void pair_block_make(Ctx *ctx, const PairForm *given, PairPlan *p, const PairKernel *kernel)
{
    bool turn = turned(given);
    PairForm f = turn ? turned_form(given) : *given;
    PairProduct *x = &p->u.product;
    PairGroup *g = x->group;
    x->dtype = f.dtype;
    x->kernel = kernel ? kernel : pair_kernel(blas_type(f.dtype));
    memcpy(x->conj, f.conj, sizeof x->conj);
    g[PAIR_M] = pair_plan_group(p, &f, FORM_M);
    g[PAIR_N] = pair_plan_group(p, &f, FORM_N);
    g[PAIR_BATCH] = pair_plan_group(p, &f, FORM_BATCH);
    g[PAIR_K] = pair_plan_group(p, &f, FORM_K);
    pair_add_axes(p, &f, FORM_OWN_A, &g[PAIR_K]);
    pair_add_axes(p, &f, FORM_OWN_B, &g[PAIR_K]);
    bool rows_longer = g[PAIR_M].extent >= g[PAIR_N].extent;
    sort_group(&g[PAIR_M], PAIR_C, PAIR_A);
    bool by_c = g[PAIR_M].extent >= g[PAIR_K].extent;
    sort_group(&g[PAIR_N], by_c ? PAIR_C : PAIR_B, PAIR_C);
    sort_group(&g[PAIR_K], rows_longer ? PAIR_A : PAIR_B, rows_longer ? PAIR_B : PAIR_A);
    sort_group(&g[PAIR_BATCH], PAIR_C, PAIR_A);
    int64_t rows = g[PAIR_M].extent;
    cut_rows(p, x);
    cut_depth(p, x);
    p->work += pair_block_plan(ctx, x);
    p->run = turn ? block_run_turned : block_run;
    double element = dtype_info(f.dtype)->bytes;
    p->copied = element * (double)g[PAIR_BATCH].extent * (double)g[PAIR_K].extent *
                ((double)rows + (double)g[PAIR_N].extent);
    snprintf(p->kind, sizeof p->kind, "%sgemm", g[PAIR_BATCH].extent > 1 ? "batched " : "");
    snprintf(p->kernel.how, sizeof p->kernel.how,
             "packed block by block, %lld × (%lld×%lld by %lld×%lld) in blocks of "
             "%lld×%lld×%lld",
             (long long)g[PAIR_BATCH].extent, (long long)rows, (long long)g[PAIR_K].extent,
             (long long)g[PAIR_K].extent, (long long)g[PAIR_N].extent, (long long)x->mc,
             (long long)x->kc, (long long)x->nc);
}

static void block_make(Ctx *ctx, const PairForm *given, PairPlan *p)
{
    pair_block_make(ctx, given, p, NULL);
}

const PairWay pair_way_block = { block_seconds, block_make };

/* ---- sums along rows ---- */

enum { ROW_CHUNK = 64, PIECES_MOST = 256, PIECE_LEAST = 1 << 15, RUNS_MOST = 1 << 16 };

static bool is_sum(int class)
{
    return !(class & IN_C);
}

/* The summed axis that the kernel walks: the longest that both operands lie along, else A. */
static int run_axis(const PairForm *f)
{
    int best = -1;
    double most = 0;
    for (int d = 0; d < f->axes; d++) {
        const int64_t *s = f->axis[d].step;
        if (!is_sum(f->class[d]))
            continue;
        bool close = s[PAIR_A] == 1 && (f->single || s[PAIR_B] == 1);
        bool half = s[PAIR_A] == 1 || s[PAIR_B] == 1;
        double merit = (double)f->axis[d].extent * (close ? 8 : half ? 2 : 1);
        if (merit > most) {
            most = merit;
            best = d;
        }
    }
    return best;
}

static double rows_seconds(const PairForm *f, const PairPlan *p)
{
    int at = run_axis(f);
    (void)p;
    if (at < 0 || !pair_is_float(f))
        return INFINITY;
    const PairAxis *x = &f->axis[at];
    if (summed_work(f) / (double)x->extent > RUNS_MOST)
        return INFINITY;
    bool close = x->step[PAIR_A] == 1 && (f->single || x->step[PAIR_B] == 1);
    double bytes = dtype_info(f->dtype)->bytes, all = pair_work(f), runs = all / (double)x->extent;
    double narrow = cpu_isa() == ISA_BASE ? 2.5 : 1;
    double each = dtype_info(f->dtype)->kind == 'c' ? 1e-9 : close
                  ? bytes * 2e-11 * narrow : 0.5e-9;
    return fmax(5e-8 + runs * 8e-9 + all * each, pair_memory_seconds(f));
}

typedef struct RowsJob {
    Ctx *ctx;
    const PairPlan *p;
    char *c;
    const char *a, *b;
    const int64_t *arun, *brun;
} RowsJob;

/* Rows [begin, end), by chunks whose offsets fit on the stack. */
static void rows_part(void *arg, int64_t begin, int64_t end, int worker)
{
    const RowsJob *j = arg;
    const PairSums *s = &j->p->u.sums;
    int64_t c[ROW_CHUNK], a[ROW_CHUNK], b[ROW_CHUNK];
    const PairKernel *kernel = pair_kernel(blas_type(j->p->dtype));
    PairRows r = { .a = j->a, .b = j->b, .c = j->c, .crow = c, .arow = a, .brow = b,
                   .arun = j->arun, .brun = j->brun, .runs = s->runs.extent,
                   .length = s->run.extent,
                   .sa = s->run.step[PAIR_A], .sb = s->run.step[PAIR_B],
                   .conj_a = j->p->cells.conj[PAIR_A], .conj_b = j->p->cells.conj[PAIR_B] };
    (void)worker;
    for (int64_t i = begin; i < end && !*j->ctx->interrupt; i += ROW_CHUNK) {
        r.rows = end - i < ROW_CHUNK ? end - i : ROW_CHUNK;
        pair_group_offsets(&s->rows, PAIR_C, i, r.rows, c);
        pair_group_offsets(&s->rows, PAIR_A, i, r.rows, a);
        pair_group_offsets(&s->rows, PAIR_B, i, r.rows, b);
        kernel->rows(&r);
    }
}

static void rows_run(Ctx *ctx, const PairPlan *p, char *c, const char *a, const char *b, char *work)
{
    const PairSums *s = &p->u.sums;
    RowsJob j = { ctx, p, c, a, p->single ? NULL : b, p->table, p->table + s->runs.extent };
    (void)work;
    if (p->threads > 1 && p->seconds > 6e-5)
        pool_for(ctx, s->rows.extent, 1, rows_part, &j);
    else
        rows_part(&j, 0, s->rows.extent, 0);
}

/* One row: pieces of the run are the rows, their sums are added up in order. */
static void dot_run(Ctx *ctx, const PairPlan *p, char *c, const char *a, const char *b, char *work)
{
    const PairSums *s = &p->u.sums;
    int64_t bytes = dtype_info(p->dtype)->bytes, zero = 0;
    (void)work;
    char sums[PIECES_MOST * 16] __attribute__((aligned(64)));
    rows_run(ctx, p, sums, a, b, NULL);
    PairRows all = { .a = sums, .c = c, .crow = &zero, .arow = &zero, .arun = &zero, .rows = 1,
                     .runs = 1, .length = s->rows.extent, .sa = 1 };
    (void)bytes;
    pair_kernel(blas_type(p->dtype))->rows(&all);
}

/* Cuts the longest axis of a lone row into pieces of equal length, where one divides it. */
static void cut_row(PairPlan *p, PairSums *s)
{
    int64_t n = s->run.extent, pieces = n / PIECE_LEAST;
    if (pieces > PIECES_MOST)
        pieces = PIECES_MOST;
    while (pieces > 1 && n % pieces)
        pieces--;
    if (pieces < 4)
        return;
    PairAxis *x = &p->axis[p->axes++];
    *x = s->run;
    x->extent = pieces;
    x->step[PAIR_A] *= n / pieces;
    x->step[PAIR_B] *= n / pieces;
    x->step[PAIR_C] = 1;
    s->run.extent = n / pieces;
    s->rows = (PairGroup){ 1, pieces, x };
    s->pieces = pieces;
}

static void rows_make(Ctx *ctx, const PairForm *f, PairPlan *p)
{
    PairSums *s = &p->u.sums;
    PairForm rest = *f;
    int at = run_axis(f);
    s->run = f->axis[at];
    rest.class[at] = FORM_SPREAD;       /* in none of the groups */
    s->rows = pair_plan_group(p, &rest, FORM_BATCH);
    pair_add_axes(p, &rest, FORM_M, &s->rows);
    pair_add_axes(p, &rest, FORM_N, &s->rows);
    sort_group(&s->rows, PAIR_C, PAIR_A);
    s->runs = pair_plan_group(p, &rest, FORM_K);
    pair_add_axes(p, &rest, FORM_OWN_A, &s->runs);
    pair_add_axes(p, &rest, FORM_OWN_B, &s->runs);
    sort_group(&s->runs, PAIR_A, PAIR_B);
    s->pieces = 1;
    bool lone = s->rows.extent == 1 && s->rows.axes == 0;
    if (lone)
        cut_row(p, s);
    p->table_count = 2 * s->runs.extent;
    p->table = mem_alloc(ctx, mem_mul(ctx, (size_t)p->table_count, sizeof *p->table));
    pair_group_offsets(&s->runs, PAIR_A, 0, s->runs.extent, p->table);
    pair_group_offsets(&s->runs, PAIR_B, 0, s->runs.extent, p->table + s->runs.extent);
    p->run = s->pieces > 1 ? dot_run : rows_run;
    snprintf(p->kind, sizeof p->kind, lone ? (f->single ? "sum" : "dot") : f->single ? "row sums"
                                                                        : "row products");
    snprintf(p->kernel.how, sizeof p->kernel.how, "vectors along %lld, %lld run%s for each of %lld",
             (long long)f->axis[at].extent, (long long)s->runs.extent,
             s->runs.extent == 1 ? "" : "s", (long long)(lone ? 1 : s->rows.extent));
}

const PairWay pair_way_rows = { rows_seconds, rows_make };

/* ---- large operands read in place ---- */

/* A large operand by a narrow one, where what lies side by side in the operand does in C too, but
 * is not C's closest axis. Packing would turn the operand over, reading a line here and a line
 * there; this kernel reads it in place, along its own closest axis, and turns over the sums, which
 * are fewer: a tile of them stays in the second cache. */

/* Bytes of a tile's sums, half of a second cache, and of B, of which the first cache holds panels;
 * lines of the cache that a tile has along C's closest axis, or all there are where it is not many
 * more: two lines are written together sooner than a line is shared. */
enum { LINE = 64, TILE_BYTES = 576 << 10, B_BYTES = 128 << 10, DEPTH_MOST = 2048, WIDE = 2,
       WIDE_MOST = 6, RUNS_FIT = 3 };

static int64_t round_up(int64_t n, int64_t to)
{
    return (n + to - 1) / to * to;
}

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* Elements of a vector: a panel of A is two of them. */
static int64_t lanes(const PairForm *f)
{
    return pair_kernel(blas_type(f->dtype))->mr / 2;
}

/* The axes of M without C's closest one, those first that A, which is read in place, holds side by
 * side, written to `axis`. False: not possible. */
static bool in_place(const PairForm *f, PairLargePlan *x, PairAxis *axis)
{
    int n = 0;
    x->lines = (PairAxis){ 0, { 0 } };
    for (int d = 0; d < f->axes; d++) {
        if (f->class[d] != FORM_M)
            continue;
        if (f->axis[d].step[PAIR_C] == 1) {
            x->lines = f->axis[d];
            continue;
        }
        int at = n++;
        for (; at > 0 && llabs(axis[at - 1].step[PAIR_A]) > llabs(f->axis[d].step[PAIR_A]); at--)
            axis[at] = axis[at - 1];
        axis[at] = f->axis[d];
    }
    x->m = (PairGroup){ n, 1, axis };
    x->run = 1;
    for (int d = 0; d < n; d++) {
        if (axis[d].step[PAIR_A] == x->run && x->run == x->m.extent)
            x->run *= axis[d].extent;
        x->m.extent *= axis[d].extent;
    }
    return x->lines.extent > 1 && x->run >= lanes(f);
}

static double large_seconds(const PairForm *given, const PairPlan *p)
{
    PairLargePlan x;
    PairAxis axis[CONTRACT_LABELS];
    int side = side_of(given);
    (void)p;
    if (!side)
        return INFINITY;
    PairForm f = side == PAIR_B ? turned_form(given) : *given;
    double bytes = dtype_info(f.dtype)->bytes, k = pair_form_extent(&f, FORM_K);
    const PairKernel *kernel = pair_kernel(blas_type(f.dtype));
    double n = pair_form_extent(&f, FORM_N), nr = kernel->nr, columns = ceil(n / nr) * nr;
    if (k * columns * bytes > B_BYTES || k > DEPTH_MOST || !in_place(&f, &x, axis))
        return INFINITY;
    double whole = (double)round_up(x.run, lanes(&f));
    double rows = (double)x.m.extent / (double)x.run * whole;
    const PairRates *r = pair_rates(f.dtype);
    double each = 2 * rows * (double)x.lines.extent * k * columns / r->flops +
                  pair_form_size(&f, PAIR_C) * (r->turned + r->store);
    return fmax(1e-5 + each, pair_memory_seconds(given));
}

typedef struct Large {
    Ctx *ctx;
    const PairPlan *p;
    char *c, *work;
    const char *a, *b;
    const int64_t *at, *column;
} Large;

/* Where a tile's vectors and their lanes lie. */
typedef struct Tile {
    int64_t *from, *skip, *row;
    int64_t vectors, first, lines;      /* first, lines: of C's closest axis */
} Tile;

static int64_t table_bytes(const PairLargePlan *x)
{
    return round_up(x->vectors * (2 + x->lanes) * 8, LINE);
}

static int64_t packed_bytes(const PairLargePlan *x, int64_t bytes)
{
    return round_up(round_up(x->n.extent, x->kernel->nr) * x->k.extent * bytes, LINE);
}

static int64_t shared_bytes(const PairLargePlan *x, int64_t bytes)
{
    return packed_bytes(x, bytes) + round_up(2 * (x->n.extent + x->k.extent) * 8, LINE);
}

/* Vectors go in pairs: an odd one's other half is computed too. Squares that begin before a block
 * or end behind it are read as well, and not stored. */
static int64_t buffer_bytes(const PairLargePlan *x, int64_t bytes)
{
    int64_t blocks = round_up(x->vectors, 2) * x->n.extent;
    return round_up((blocks * x->pitch + 2 * x->lanes * x->lanes) * bytes, LINE);
}

static void tile_at(const PairLargePlan *x, int64_t index, int64_t *table, Tile *t)
{
    int64_t chunks = (x->lines.extent + x->wide - 1) / x->wide;
    int64_t each = (x->run + x->lanes - 1) / x->lanes, all = x->m.extent / x->run * each;
    int64_t begin = index / chunks * x->vectors;
    t->from = table, t->skip = table + x->vectors, t->row = table + 2 * x->vectors;
    t->vectors = least(x->vectors, all - begin);
    t->first = index % chunks * x->wide;
    t->lines = least(x->wide, x->lines.extent - t->first);
    for (int64_t v = 0; v < t->vectors; v++) {
        int64_t within = (begin + v) % each * x->lanes;
        int64_t place = least(within, x->run - x->lanes);
        int64_t at = (begin + v) / each * x->run + place;
        t->skip[v] = within - place;
        t->from[v] = pair_group_offset(&x->m, PAIR_A, at);
        pair_group_offsets(&x->m, PAIR_C, at, x->lanes, t->row + v * x->lanes);
    }
}

static void tiles_part(void *arg, int64_t begin, int64_t end, int worker)
{
    const Large *j = arg;
    const PairLargePlan *x = &j->p->u.large;
    int64_t bytes = dtype_info(j->p->dtype)->bytes;
    char *lane = j->work + shared_bytes(x, bytes) +
                 worker * (2 * table_bytes(x) + buffer_bytes(x, bytes));
    char *buffer = lane + 2 * table_bytes(x) + x->lanes * x->lanes * bytes;
    Tile tile[2];
    for (int64_t i = begin; i < end && !*j->ctx->interrupt; i++) {
        Tile *t = &tile[i & 1], *after = &tile[(i + 1) & 1];
        int64_t *table[2] = { (int64_t *)(void *)lane,
                              (int64_t *)(void *)(lane + table_bytes(x)) };
        if (i == begin)
            tile_at(x, i, table[i & 1], t);
        if (i + 1 < end)
            tile_at(x, i + 1, table[(i + 1) & 1], after);
        int64_t step = x->lines.step[PAIR_A] * bytes;
        x->kernel->large(&(PairLarge){
            j->a + t->first * step, j->work, j->c + t->first * bytes, buffer, j->at, t->from,
            j->column, t->row, t->skip, i + 1 < end ? j->a + after->first * step : NULL,
            i + 1 < end && after->vectors == t->vectors ? after->from : t->from,
            t->vectors, x->n.extent, x->k.extent, t->lines, x->lines.step[PAIR_A], x->pitch,
            x->stream });
    }
}

static void large_run(Ctx *ctx, const PairPlan *p, char *c, const char *a, const char *b,
                      char *work)
{
    const PairLargePlan *x = &p->u.large;
    int64_t bytes = dtype_info(p->dtype)->bytes, n = x->n.extent, k = x->k.extent;
    int64_t *column = (int64_t *)(void *)(work + packed_bytes(x, bytes)), *row = column + n;
    int64_t *at = row + n, *depth = at + k;
    Large j = { ctx, p, c, work, x->turned ? b : a, x->turned ? a : b, at, column };
    pair_group_offsets(&x->n, PAIR_C, 0, n, column);
    pair_group_offsets(&x->n, PAIR_B, 0, n, row);
    pair_group_offsets(&x->k, PAIR_A, 0, k, at);
    pair_group_offsets(&x->k, PAIR_B, 0, k, depth);
    x->kernel->pack_b(&(PairPack){ j.b, work, row, depth, n, k, false });
    if (p->threads > 1)
        pool_for(ctx, x->tiles, 1, tiles_part, &j);
    else
        tiles_part(&j, 0, x->tiles, 0);
}

static void large_make(Ctx *ctx, const PairForm *given, PairPlan *p)
{
    PairLargePlan *x = &p->u.large;
    x->turned = side_of(given) == PAIR_B;
    (void)ctx;
    PairForm f = x->turned ? turned_form(given) : *given;
    int64_t bytes = dtype_info(f.dtype)->bytes;
    in_place(&f, x, p->axis);
    p->axes = x->m.axes;
    x->n = pair_plan_group(p, &f, FORM_N);
    x->k = pair_plan_group(p, &f, FORM_K);
    x->kernel = pair_kernel(blas_type(f.dtype));
    x->lanes = lanes(&f);
    int64_t side = LINE / bytes;
    x->wide = x->lines.extent <= WIDE_MOST * side ? round_up(x->lines.extent, x->lanes)
                                                  : WIDE * side;
    /* a vector more, so that the blocks do not all begin in the same set of the cache */
    x->pitch = (x->wide + 1) * x->lanes;
    int64_t each = (x->run + x->lanes - 1) / x->lanes, all = x->m.extent / x->run * each;
    int64_t fit = TILE_BYTES / (x->pitch * x->n.extent * bytes), pairs = each % 2 ? 2 * each : each;
    /* whole runs where they can be: they are read on and on, and leave no vector without a pair */
    fit = pairs <= RUNS_FIT * fit ? (pairs < fit ? fit / pairs * pairs : pairs) : fit & ~(int64_t)1;
    x->vectors = least(fit < 2 ? 2 : fit, all);
    x->tiles = (all + x->vectors - 1) / x->vectors *
               ((x->lines.extent + x->wide - 1) / x->wide);
    x->stream = pair_form_size(&f, PAIR_C) * (double)bytes >= STREAM_BYTES;
    p->run = large_run;
    p->work += shared_bytes(x, bytes) +
               p->threads * (2 * table_bytes(x) + buffer_bytes(x, bytes));
    p->copied = pair_form_size(&f, PAIR_B) * (double)bytes;
    snprintf(p->kind, sizeof p->kind, "gemm");
    snprintf(p->kernel.how, sizeof p->kernel.how,
             "read in place, %lld×%lld by %lld×%lld, turned over in tiles of %lld×%lld×%lld",
             (long long)(x->m.extent * x->lines.extent), (long long)x->k.extent,
             (long long)x->k.extent, (long long)x->n.extent, (long long)x->wide,
             (long long)(x->vectors * x->lanes), (long long)x->n.extent);
}

const PairWay pair_way_large = { large_seconds, large_make };

/* ---- results in another order, turned over at last ---- */

/* Where that is not possible, as with a long sum, the product goes into a result that lies as the
 * operand does, which is turned over afterwards; it is no larger than the operand. */
static const double TURN = 15e9;        /* bytes per second of C, read and written … */
static const double NEVER = 1e30;       /* … seconds of what is possible and never worth it */

/* The form with a dense C whose axes lie as the operand's do, what the other one has around them;
 * `step`: of it, by axis of f. Returns how many elements it has. */
static int64_t laid_aside(const PairForm *f, PairForm *g, int64_t *step)
{
    int side = side_of(f), other = side == PAIR_A ? PAIR_B : PAIR_A, order[CONTRACT_LABELS];
    int count = 0;
    int64_t next = 1;
    *g = *f;
    for (int pass = 0; pass < 2; pass++) {
        int tensor = pass ? other : side, first = count;
        for (int d = 0; d < f->axes; d++) {
            if (f->class[d] != (tensor == PAIR_A ? FORM_M : FORM_N))
                continue;
            int at = count++;
            for (; at > first && llabs(f->axis[order[at - 1]].step[tensor]) >
                                     llabs(f->axis[d].step[tensor]); at--)
                order[at] = order[at - 1];
            order[at] = d;
        }
    }
    for (int i = 0; i < count; i++) {
        g->axis[order[i]].step[PAIR_C] = step[order[i]] = next;
        next *= f->axis[order[i]].extent;
    }
    pair_form_fuse(g);
    return next;
}

static const PairWay *inner_way(const PairForm *g, const PairPlan *p, double *seconds)
{
    double gemm = pair_way_gemm.seconds(g, p), block = pair_way_block.seconds(g, p);
    *seconds = fmin(gemm, block);
    return gemm < block ? &pair_way_gemm : &pair_way_block;
}

static double aside_seconds(const PairForm *f, const PairPlan *p)
{
    PairForm g;
    int64_t step[CONTRACT_LABELS];
    double seconds;
    if (!side_of(f))
        return INFINITY;
    double bytes = pair_form_size(f, PAIR_C) * dtype_info(f->dtype)->bytes;
    if (far_seconds(f) == 0 || bytes > p->room / 4)
        return NEVER;
    laid_aside(f, &g, step);
    inner_way(&g, p, &seconds);
    return seconds + 2 * bytes / TURN;
}

static void aside_run(Ctx *ctx, const PairPlan *p, char *c, const char *a, const char *b,
                      char *work)
{
    const PairNest *nest = &p->u.nest;
    Iter it = { .rank = nest->free, .operands = 2, .size = 1 };
    p->aside->run(ctx, p->aside, work, a, b, work + p->aside_bytes);
    for (int d = 0; d < nest->free; d++) {
        it.shape[d] = nest->axis[d].extent;
        it.size *= it.shape[d];
        it.stride[0][d] = nest->axis[d].step[PAIR_C];
        it.stride[1][d] = nest->axis[d].step[PAIR_A];
    }
    if (!*ctx->interrupt)
        permute_copy(ctx, &it, dtype_info(p->dtype)->bytes, c, work);
}

static void aside_make(Ctx *ctx, const PairForm *f, PairPlan *p)
{
    PairForm g;
    int64_t step[CONTRACT_LABELS];
    int bytes = dtype_info(f->dtype)->bytes;
    PairPlan *inner = p->aside = mem_zalloc(ctx, sizeof *inner);
    PairNest *nest = &p->u.nest;
    p->aside_bytes = (laid_aside(f, &g, step) * bytes + 63) & ~(int64_t)63;
    inner->dtype = p->dtype;
    inner->semiring = p->semiring;
    inner->threads = p->threads;
    inner->repeats = 1;
    inner->times = 1;
    inner_way(&g, inner, &inner->seconds)->make(ctx, &g, inner);
    for (int d = 0; d < f->axes; d++) {
        if (f->class[d] == FORM_K)
            continue;
        int at = nest->free++;
        for (; at > 0 && nest->axis[at - 1].step[PAIR_C] < f->axis[d].step[PAIR_C]; at--)
            nest->axis[at] = nest->axis[at - 1];
        nest->axis[at] = (PairAxis){ f->axis[d].extent, { f->axis[d].step[PAIR_C], step[d], 0 } };
    }
    p->run = aside_run;
    p->work += p->aside_bytes + inner->work;
    p->blas = inner->blas;
    p->copied = inner->copied + (double)p->aside_bytes;
    memcpy(p->kind, inner->kind, sizeof p->kind);
    p->kernel = inner->kernel;
}

const PairWay pair_way_aside = { aside_seconds, aside_make };
