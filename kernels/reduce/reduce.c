/* The driver of reductions: turns shape, strides and axes into runs (the reduced axis is walked
 * with its stride) or columns (the reduced axis is the slow one: whole rows are added up), cuts
 * them into blocks, lets the pool work on them and joins the blocks in order. The cut depends on
 * the shape only. Sees tensors, never values. */
#include "kernels/reduce/reduce.h"

#include "core/memory/pool.h"
#include "kernels/tensor/cpu.h"
#include "kernels/reduce/reduce_complex.h"
#include "kernels/tensor/cast.h"

#include <math.h>
#include <string.h>

enum {
    BLOCK = 4096,            /* elements of one run; integer sums rely on it (reduce_int) */
    BLOCKS = 64,             /* blocks of one piece of a run, joined in a tree … */
    BLOCKS_MADE = 16,        /* … which is the same tree with another power of two */
    PART_ROWS = 64,          /* rows that columns add up before they are joined */
    PARTS = 64,              /* such parts of one piece of columns */
    TILE = 512,              /* columns of one piece */
    ACC_MAX = 32,            /* bytes of the largest accumulator */
    SPLIT_ELEMENTS = 1 << 16 /* what a piece of work for a thread has at least */
};

typedef struct Axis {
    int64_t n, in, out;      /* extent and strides; `out` means nothing for reduced axes */
} Axis;

/* One reduction, laid out. */
typedef struct Plan {
    const RedKernel *kernel;
    RedOp op;
    DType from, to;
    const char *x;
    char *out;
    int64_t item;                        /* bytes of an element of x */
    const double *mean;                  /* pairs, one per output, or NULL */
    double ddof;
    int64_t count;                       /* elements per output */
    Axis kept[TENSOR_RANK_MAX], reduced[TENSOR_RANK_MAX];
    int kept_rank, reduced_rank;
    int64_t outputs;                     /* over the kept axes but the column axis */
    int64_t n, stride;                   /* the walked reduced axis */
    int64_t turns;                       /* product of the other reduced axes */
    int64_t m, column, column_out;       /* the column axis; m = 0: runs */
    int64_t block, piece;                /* elements (rows) of a block, blocks of a piece */
    int64_t blocks, pieces, tiles;       /* blocks per turn; pieces per output (or tile) */
    int64_t width;                       /* accumulators of a piece */
    RedBlocks *source;                   /* of what is made block by block … */
    char *made;                          /* … room for one of each worker */
    char *partial;                       /* accumulators of pieces, when there are several */
    char *trouble;                       /* one flag per item: an int64 overflowed */
} Plan;

static RedFold fold_of(RedOp op)
{
    static const uint8_t fold[RED_OPS] = {
        [RED_SUM] = FOLD_SUM, [RED_NANSUM] = FOLD_NANSUM, [RED_PROD] = FOLD_PROD,
        [RED_MIN] = FOLD_MIN, [RED_MAX] = FOLD_MAX, [RED_ARGMIN] = FOLD_ARGMIN,
        [RED_ARGMAX] = FOLD_ARGMAX, [RED_COUNT] = FOLD_COUNT, [RED_ANY] = FOLD_COUNT,
        [RED_ALL] = FOLD_COUNT, [RED_MEAN] = FOLD_SUM, [RED_VAR] = FOLD_VAR, [RED_STD] = FOLD_VAR,
    };
    return (RedFold)fold[op];
}

DType reduce_result_dtype(RedOp op, DType dt)
{
    bool whole = dtype_info(dt)->kind == 'b' || dtype_info(dt)->kind == 'i';
    if (dt == DT_RATIONAL)            /* folded by builtins/exact/rational.c */
        return DT_NONE;
    switch (op) {
    case RED_SUM: case RED_NANSUM: case RED_PROD: return whole ? DT_I64 : dt;
    case RED_MIN: case RED_MAX: return dtype_info(dt)->kind == 'c' ? DT_NONE : dt;
    case RED_ARGMIN: case RED_ARGMAX: return dtype_info(dt)->kind == 'c' ? DT_NONE : DT_I64;
    case RED_COUNT: return DT_I64;
    case RED_ANY: case RED_ALL: return DT_BOOL;
    case RED_MEAN: return whole ? DT_F64 : dt;
    default: return whole ? DT_F64 : dtype_real(dt);
    }
}

/* ---- results out of accumulators ---- */

static void store_real(DType to, char *out, double v)
{
    if (to == DT_F64)
        *(double *)out = v;
    else
        cast_plain(to, out, 1, DT_F64, &v, 1, 1);
}

/* Sums, products and extremes of floats; `scale` is 1 or the count of a mean. A quotient
 * of f32 values through f64 is correctly rounded (53 >= 2*24 + 2). */
static void finish_float(const Plan *p, char *out, const char *acc, double scale)
{
    if (p->to == DT_C128) {
        double _Complex v = *(const double _Complex *)acc;
        *(double _Complex *)out = make_c128(creal(v) / scale, cimag(v) / scale);
    } else if (p->to == DT_C64) {
        float _Complex v = *(const float _Complex *)acc;
        *(float _Complex *)out = make_c64((float)(crealf(v) / scale), (float)(cimagf(v) / scale));
    } else {
        double v = p->from == DT_F64 ? *(const double *)acc : (double)*(const float *)acc;
        store_real(p->to, out, v / scale);
    }
}

static bool finish_prod(int64_t *out, const RedProd *acc)
{
    uint64_t limit = ((uint64_t)1 << 63) - !acc->negative;
    bool fits = acc->zero || (!acc->overflow && acc->size <= limit);
    *out = acc->zero || !fits ? 0 : (int64_t)(acc->negative ? -acc->size : acc->size);
    return fits;
}

static void finish_var(const Plan *p, char *out, const RedVar *acc)
{
    double n = (double)p->count, d = n - p->ddof;
    double slip = (acc->sum * acc->sum + acc->sum_im * acc->sum_im) / n;
    double v = d > 0 ? fmax(acc->squares - slip, 0) / d : (double)NAN;
    if (!isfinite(acc->squares))            /* the slip may be infinite too */
        v = d > 0 ? acc->squares : (double)NAN;
    store_real(p->to, out, p->op == RED_STD ? sqrt(v) : v);
}

static bool finish(const Plan *p, char *out, const void *acc)
{
    char kind = dtype_info(p->from)->kind;
    bool whole = kind == 'b' || kind == 'i';
    switch (p->op) {
    case RED_SUM: case RED_NANSUM:
        if (!whole)
            break;
        *(int64_t *)out = (int64_t)*(const RedInt *)acc;
        return *(int64_t *)out == *(const RedInt *)acc;
    case RED_PROD:
        if (!whole)
            break;
        return finish_prod((int64_t *)out, acc);
    case RED_MIN: case RED_MAX:
        if (!whole)
            break;
        memcpy(out, acc, dtype_info(p->to)->bytes);
        return true;
    case RED_ARGMIN: case RED_ARGMAX: *(int64_t *)out = ((const RedArg *)acc)->at; return true;
    case RED_COUNT: *(int64_t *)out = *(const int64_t *)acc; return true;
    case RED_ANY: *(uint8_t *)out = *(const int64_t *)acc > 0; return true;
    case RED_ALL: *(uint8_t *)out = *(const int64_t *)acc == p->count; return true;
    case RED_MEAN:
        if (!whole)
            break;
        *(double *)out = (double)*(const RedInt *)acc / (double)p->count;
        return true;
    default:
        finish_var(p, out, acc);
        return true;
    }
    finish_float(p, out, acc, p->op == RED_MEAN ? (double)p->count : 1);
    return true;
}

/* ---- where things are ---- */

/* Offsets of output `index` (over the kept axes) in x and in out, in elements. */
static void seek_kept(const Plan *p, int64_t index, int64_t *in, int64_t *out)
{
    *in = *out = 0;
    for (int a = p->kept_rank - 1; a >= 0; a--) {
        int64_t i = index % p->kept[a].n;
        index /= p->kept[a].n;
        *in += i * p->kept[a].in;
        *out += i * p->kept[a].out;
    }
}

static int64_t seek_turn(const Plan *p, int64_t turn)
{
    int64_t in = 0;
    for (int a = p->reduced_rank - 1; a >= 0 && turn > 0; a--) {
        in += turn % p->reduced[a].n * p->reduced[a].in;
        turn /= p->reduced[a].n;
    }
    return in;
}

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* ---- runs ---- */

/* Whole blocks that their source folds: how many, from the first on. */
static int64_t fold_blocks(const Plan *p, void *acc, int64_t first, int64_t last, int worker)
{
    RedBlocks *s = p->source;
    int64_t to = least(last, p->n / p->block);
    if (!s || !s->fold || to <= first ||
        !s->fold(s, (int)fold_of(p->op), first * p->block, to * p->block, p->block, worker, acc))
        return 0;
    return to - first;
}

/* acc = the blocks [first, last) of one output, joined in a tree. */
static void run_piece(const Plan *p, void *acc, const char *x, int64_t first, int64_t last,
                      const double *mean, int worker)
{
    _Alignas(16) char tree[BLOCKS * ACC_MAX];
    size_t bytes = p->kernel->bytes;
    int64_t count = last - first;
    char *to = count == 1 ? acc : tree;
    for (int64_t b = first + fold_blocks(p, to, first, last, worker); b < last; b++) {
        int64_t turn = b / p->blocks, at = b % p->blocks * p->block;
        int64_t n = least(p->block, p->n - at);
        const char *from = x + (seek_turn(p, turn) + at * p->stride) * p->item;
        if (p->source) {
            from = p->made + (size_t)worker * (size_t)(BLOCK * p->item);
            p->source->make(p->source, at, at + n, worker, (char *)from);
        }
        p->kernel->run(to + (size_t)(b - first) * bytes, from, p->stride, n, mean);
    }
    if (count == 1)
        return;
    for (int64_t step = 1; step < count; step *= 2)
        for (int64_t b = 0; b + step < count; b += 2 * step)
            p->kernel->join(tree + (size_t)b * bytes, tree + (size_t)(b + step) * bytes, 1,
                            step * p->block);
    memcpy(acc, tree, bytes);
}

static void do_runs(void *arg, int64_t begin, int64_t end, int worker)
{
    const Plan *p = arg;
    size_t bytes = p->kernel->bytes, wide = dtype_info(p->to)->bytes;
    int64_t total = p->blocks * p->turns;
    for (int64_t item = begin; item < end; item++) {
        _Alignas(16) char acc[ACC_MAX];
        int64_t index = item / p->pieces, first = item % p->pieces * p->piece, in, out;
        seek_kept(p, index, &in, &out);
        const double *mean = p->mean ? p->mean + 2 * out : NULL;
        void *to = p->partial ? p->partial + (size_t)item * bytes : acc;
        run_piece(p, to, p->x + in * p->item, first, least(total, first + p->piece), mean, worker);
        if (!p->partial && !finish(p, p->out + (size_t)out * wide, acc))
            *p->trouble = 1;
    }
}

/* ---- columns ---- */

static void column_piece(const Plan *p, char *acc, char *more, const char *x, int64_t first,
                         int64_t last, int64_t m, const double *mean)
{
    int64_t done = 0;
    for (int64_t b = first; b < last; b++) {
        int64_t turn = b / p->blocks, at = b % p->blocks * p->block;
        int64_t rows = least(p->block, p->n - at);
        const char *from = x + (seek_turn(p, turn) + at * p->stride) * p->item;
        p->kernel->rows(b == first ? acc : more, from, p->stride, rows, p->column, m, mean);
        if (b > first)
            p->kernel->join(acc, more, m, done);
        done += rows;
    }
}

/* The item of columns: which output, tile and piece. */
typedef struct ColumnItem { int64_t in, out, m, piece; } ColumnItem;

static ColumnItem column_item(const Plan *p, int64_t item)
{
    ColumnItem c = { .piece = item % p->pieces };
    item /= p->pieces;
    int64_t tile = item % p->tiles;
    seek_kept(p, item / p->tiles, &c.in, &c.out);
    c.in += tile * TILE * p->column;
    c.out += tile * TILE * p->column_out;
    c.m = least(TILE, p->m - tile * TILE);
    return c;
}

static void finish_columns(const Plan *p, const ColumnItem *c, const char *acc)
{
    size_t wide = dtype_info(p->to)->bytes;
    bool plain = p->op == RED_SUM || p->op == RED_MIN || p->op == RED_MAX || p->op == RED_COUNT;
    if (plain && wide == p->kernel->bytes && p->m && p->column_out == 1) {
        memcpy(p->out + (size_t)c->out * wide, acc, (size_t)c->m * wide);
        return;
    }
    for (int64_t j = 0; j < c->m; j++)
        if (!finish(p, p->out + (size_t)(c->out + j * p->column_out) * wide,
                    acc + (size_t)j * p->kernel->bytes))
            *p->trouble = 1;
}

static void do_columns(void *arg, int64_t begin, int64_t end, int worker)
{
    const Plan *p = arg;
    size_t bytes = p->kernel->bytes;
    int64_t total = p->blocks * p->turns;
    _Alignas(64) char acc[TILE * ACC_MAX], more[TILE * ACC_MAX];
    (void)worker;
    for (int64_t item = begin; item < end; item++) {
        ColumnItem c = column_item(p, item);
        int64_t first = c.piece * p->piece;
        double mean[2 * TILE];
        if (p->mean)
            for (int64_t j = 0; j < c.m; j++)
                memcpy(mean + 2 * j, p->mean + 2 * (c.out + j * p->column_out), 2 * sizeof *mean);
        char *to = p->partial ? p->partial + (size_t)(item * p->width) * bytes : acc;
        column_piece(p, to, more, p->x + c.in * p->item, first, least(total, first + p->piece), c.m,
                     p->mean ? mean : NULL);
        if (!p->partial)
            finish_columns(p, &c, acc);
    }
}

/* ---- joining the pieces of each output in order ---- */

static void join_pieces(const Plan *p, int64_t items)
{
    size_t width = (size_t)p->width * p->kernel->bytes;
    int64_t offset = p->block * p->piece;
    for (int64_t item = 0; item < items; item += p->pieces) {
        char *acc = p->partial + (size_t)item * width;
        ColumnItem c = { .m = 1 };
        if (p->m)
            c = column_item(p, item);
        else
            seek_kept(p, item / p->pieces, &c.in, &c.out);
        for (int64_t step = 1; step < p->pieces; step *= 2)
            for (int64_t i = 0; i + step < p->pieces; i += 2 * step)
                p->kernel->join(acc + (size_t)i * width, acc + (size_t)(i + step) * width, c.m,
                                step * offset);
        finish_columns(p, &c, acc);
    }
}

/* ---- laying out ---- */

static int64_t size_of(int64_t stride)
{
    return stride < 0 ? -stride : stride;
}

/* Axes of length 1 go; neighbours that walk memory as one axis become one. */
static int coalesce(Axis *axes, int rank, bool with_out)
{
    int k = 0;
    for (int a = 0; a < rank; a++) {
        if (axes[a].n == 1)
            continue;
        Axis *last = k > 0 ? &axes[k - 1] : NULL;
        if (last && last->in == axes[a].in * axes[a].n &&
            (!with_out || last->out == axes[a].out * axes[a].n)) {
            last->n *= axes[a].n;
            last->in = axes[a].in;
            last->out = axes[a].out;
        } else {
            axes[k++] = axes[a];
        }
    }
    return k;
}

/* By decreasing stride: only the order of additions changes. */
static void sort_axes(Axis *axes, int rank)
{
    for (int a = 1; a < rank; a++)
        for (int b = a; b > 0 && size_of(axes[b].in) > size_of(axes[b - 1].in); b--) {
            Axis swap = axes[b];
            axes[b] = axes[b - 1];
            axes[b - 1] = swap;
        }
}

static void split_axes(Plan *p, const Tensor *x, uint64_t axes)
{
    const int64_t *shape = tensor_shape(x), *strides = tensor_strides(x);
    int64_t out = 1;
    p->kept_rank = p->reduced_rank = 0;
    p->count = 1;
    for (int a = 0; a < x->rank; a++) {
        Axis axis = { shape[a], strides[a], 0 };
        if (axes >> a & 1) {
            p->reduced[p->reduced_rank++] = axis;
            p->count *= axis.n;
        } else {
            p->kept[p->kept_rank++] = axis;
        }
    }
    for (int a = p->kept_rank - 1; a >= 0; a--) {
        p->kept[a].out = out;
        out *= p->kept[a].n;
    }
    bool ordered = p->op == RED_ARGMIN || p->op == RED_ARGMAX;
    if (!ordered)
        sort_axes(p->reduced, p->reduced_rank);
    p->reduced_rank = coalesce(p->reduced, p->reduced_rank, false);
    p->kept_rank = coalesce(p->kept, p->kept_rank, true);
}

bool reduce_wants_copy(RedOp op, const Tensor *x, uint64_t axes)
{
    Plan p = { .op = op };
    if (x->size == 0)
        return false;
    split_axes(&p, x, axes);
    bool ordered = op == RED_ARGMIN || op == RED_ARGMAX;
    return p.reduced_rank > 1 && (ordered || p.reduced[p.reduced_rank - 1].n < 32);
}

/* Columns pay when a kept axis is the fast one and has enough columns to fill vectors. */
static void choose_columns(Plan *p)
{
    int best = -1;
    p->m = 0;
    for (int a = 0; a < p->kept_rank; a++)
        if (p->kept[a].n >= 8 && (best < 0 || size_of(p->kept[a].in) < size_of(p->kept[best].in)))
            best = a;
    if (best < 0 || p->stride == 1 || size_of(p->kept[best].in) >= size_of(p->stride))
        return;
    p->m = p->kept[best].n;
    p->column = p->kept[best].in;
    p->column_out = p->kept[best].out;
    for (int a = best; a + 1 < p->kept_rank; a++)
        p->kept[a] = p->kept[a + 1];
    p->kept_rank--;
}

/* Extremes are exact, however they are cut: a piece along one axis is one block, unless it is made
 * in the cache. */
static void choose_blocks(Plan *p)
{
    bool exact = p->op == RED_MIN || p->op == RED_MAX || p->op == RED_ARGMIN
        || p->op == RED_ARGMAX;
    p->block = p->m ? PART_ROWS : BLOCK;
    p->piece = p->m ? PARTS : p->source ? BLOCKS_MADE : BLOCKS;
    if (exact && p->turns == 1 && !p->source) {
        p->block *= p->piece;
        p->piece = 1;
    }
}

static void lay_out(Plan *p)
{
    p->n = 1;
    p->stride = 1;
    if (p->reduced_rank > 0) {
        p->reduced_rank--;
        p->n = p->reduced[p->reduced_rank].n;
        p->stride = p->reduced[p->reduced_rank].in;
    }
    p->turns = p->outputs = 1;
    for (int a = 0; a < p->reduced_rank; a++)
        p->turns *= p->reduced[a].n;
    choose_columns(p);
    for (int a = 0; a < p->kept_rank; a++)
        p->outputs *= p->kept[a].n;
    choose_blocks(p);
    p->blocks = (p->n + p->block - 1) / p->block;
    p->pieces = (p->blocks * p->turns + p->piece - 1) / p->piece;
    p->tiles = p->m ? (p->m + TILE - 1) / TILE : 1;
    p->width = p->m ? least(p->m, TILE) : 1;
}

static void run_plan(Ctx *ctx, Plan *p)
{
    int64_t items = p->outputs * p->tiles * p->pieces;
    size_t bytes = p->pieces == 1 ? 0
        : mem_mul(ctx, (size_t)items, p->kernel->bytes * (size_t)p->width);
    size_t room = p->source ? (size_t)pool_threads(ctx) * (size_t)(BLOCK * p->item) : 0;
    char *memory = bytes + room ? mem_alloc_data(ctx, room + bytes, false) : NULL;
    p->made = memory;
    p->partial = bytes ? memory + room : NULL;
    int64_t each = p->n * p->turns * p->width / p->pieces;
    int64_t grain = each > 0 ? SPLIT_ELEMENTS / each + 1 : SPLIT_ELEMENTS;
    PoolFn fn = p->m ? do_columns : do_runs;
    if (items <= grain)
        fn(p, 0, items, 0);
    else
        pool_for(ctx, items, grain, fn, p);
    if (p->partial && (!ctx->interrupt || !*ctx->interrupt))   /* else some were never made */
        join_pieces(p, items);
    mem_free_data(ctx, memory, room + bytes);
}

/* Nothing to reduce: neutral elements. Extremes never come here. */
static void fill_empty(const Plan *p, Tensor *out)
{
    size_t wide = dtype_info(p->to)->bytes;
    _Alignas(16) char one[16] = { 0 };
    if (p->op == RED_PROD && p->to == DT_I64)
        *(int64_t *)one = 1;
    else if (p->op == RED_PROD && dtype_info(p->to)->kind == 'c')
        *(double *)one = 1;
    else if (p->op == RED_PROD)
        store_real(p->to, one, 1);
    else if (p->op == RED_ALL)
        one[0] = 1;
    else if (p->op == RED_MEAN || p->op == RED_VAR || p->op == RED_STD)
        store_real(dtype_real(p->to), one, (double)NAN);
    if (p->to == DT_C64 && p->op == RED_PROD)
        *(float _Complex *)one = 1;
    for (int64_t i = 0; i < out->size; i++)
        memcpy(out->data + (size_t)i * wide, one, wide);
}

static const RedKernel *kernels_here(void)
{
#if defined(__x86_64__) || defined(__i386__)
    if (cpu_isa() == ISA_AVX512)
        return &reduce_avx512[0][0];
    if (cpu_isa() == ISA_AVX2)
        return &reduce_avx2[0][0];
#endif
    return &reduce_base[0][0];
}

static bool reduce_with(Ctx *ctx, const RedKernel *table, RedOp op, Tensor *x, uint64_t axes,
                        Tensor *out, const RedParams *params)
{
    char trouble = 0;
    if (x->dtype == DT_BOOL && (op == RED_SUM || op == RED_NANSUM))
        op = RED_COUNT;
    Plan p = { .op = op, .from = (DType)x->dtype, .to = (DType)out->dtype,
               .kernel = table + (size_t)fold_of(op) * DT_COUNT + x->dtype, .x = x->data,
               .out = out->data, .item = dtype_info(x->dtype)->bytes, .trouble = &trouble };
    if (params) {
        p.ddof = params->ddof;
        p.source = params->blocks;
        p.mean = params->mean ? (const double *)params->mean->data : NULL;
    }
    if (out->size == 0)
        return true;
    split_axes(&p, x, axes);
    if (x->size == 0) {
        fill_empty(&p, out);
        return true;
    }
    lay_out(&p);
    run_plan(ctx, &p);
    return !trouble;
}

bool reduce_run(Ctx *ctx, RedOp op, Tensor *x, uint64_t axes, Tensor *out, const RedParams *params)
{
    return reduce_with(ctx, kernels_here(), op, x, axes, out, params);
}

bool reduce_reference(Ctx *ctx, RedOp op, Tensor *x, uint64_t axes, Tensor *out,
                      const RedParams *params)
{
    return reduce_with(ctx, &reduce_base[0][0], op, x, axes, out, params);
}
