/* The loops around the kernels of the blocked product (contract_pair_block.h): offsets of a
 * block's rows and columns, packing, and the split among the workers. Columns of C in blocks of
 * nc, depth in blocks of kc, rows in blocks of mc, as in BLIS; the packed block of B is shared,
 * each worker packs its own block of A. Nothing here raises or allocates. */
#include "kernels/pair/contract_pair_block.h"

#include "core/memory/pool.h"
#include "kernels/tensor/cpu.h"
#include "kernels/tensor/permute.h"

/* Bytes of A's and B's packed blocks: half of a second-level cache, a part of the third. */
enum { A_BYTES = 256 << 10, B_BYTES = 4 << 20, DEPTH = 256, DEPTH_MOST = 384, LINE = 64 };
/* Where B is narrow: bytes of all of it and of a block of C; and where it is smaller still, the
 * depth of a block of A that is read along its rows, so that those are long. */
enum { NARROW_B = 2 << 20, NARROW_C = 160 << 10, SMALL_B = 512 << 10, NARROW_DEPTH = 60 };
/* Where C stays in the second cache and the sum is long: parts of it, of at least so many blocks,
 * whatever the number of workers, as they decide how C is rounded. */
enum { SLICES = 8, SLICE_C = 160 << 10, SLICE_BLOCKS = 4 };
/* Multiply-adds of f64 below which a second worker costs more than it gives. */
static const double SPLIT_WORK = 1.0e6;

const PairKernel *pair_kernel(BlasType type)
{
#ifdef __x86_64__
    if (cpu_isa() == ISA_AVX512)
        return &pair_kernel_avx512[type];
    if (cpu_isa() == ISA_AVX2)
        return &pair_kernel_avx2[type];
#endif
    return &pair_kernel_base[type];
}

static int64_t round_up(int64_t n, int64_t to)
{
    return (n + to - 1) / to * to;
}

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* Bytes of the packed form of rows x depth elements: complex A is packed as the real matrix
 * [re -im; im re] of every element, complex B as [re; im]. */
static int64_t pair_packed_bytes(BlasType type, bool is_a, int64_t rows, int64_t depth)
{
    int64_t element = (int64_t)blas_bytes(type) * (is_a && blas_is_complex(type) ? 2 : 1);
    return round_up(rows * depth * element, LINE);
}

int64_t pair_group_offset(const PairGroup *g, int tensor, int64_t at)
{
    int64_t offset = 0;
    for (int d = 0; d < g->axes; d++) {
        offset += at % g->axis[d].extent * g->axis[d].step[tensor];
        at /= g->axis[d].extent;
    }
    return offset;
}

void pair_group_offsets(const PairGroup *g, int tensor, int64_t begin, int64_t count, int64_t *to)
{
    if (g->axes == 0) {
        to[0] = 0;
        return;
    }
    int64_t extent = g->axis[0].extent, step = g->axis[0].step[tensor];
    for (int64_t done = 0; done < count;) {
        int64_t at = begin + done, first = at % extent;
        int64_t offset = pair_group_offset(g, tensor, at);
        int64_t run = least(extent - first, count - done);
        for (int64_t i = 0; i < run; i++)
            to[done + i] = offset + i * step;
        done += run;
    }
}

/* Offsets of rows in C and A. Where panels count one axis, rows that are not there stand for
 * the last one that is: they are computed and not stored. */
static void row_offsets(const PairProduct *p, int64_t begin, int64_t count, int64_t *cm,
                        int64_t *am, int64_t *live)
{
    const PairGroup *m = &p->group[PAIR_M];
    int64_t mr = p->kernel->mr, inner = 1;
    pair_group_offsets(m, PAIR_C, begin, count, cm);
    pair_group_offsets(m, PAIR_A, begin, count, am);
    if (!p->chunks)
        return;
    for (int d = 1; d < p->chunks; d++)
        inner *= m->axis[d].extent;
    for (int64_t i = 0; i < count; i += mr) {
        int64_t chunks = m->axis[p->chunks].extent;
        int64_t there = (begin + i) / mr / inner % chunks == chunks - 1 ? p->tail : mr;
        live[i / mr] = there;
        for (int64_t r = there; r < mr; r++) {
            cm[i + r] = cm[i + there - 1];
            am[i + r] = am[i + there - 1];
        }
    }
}

/* ---- choosing blocks ---- */

/* `extent` in equal blocks of at most `most`, a multiple of `unit` each; the number of blocks
 * is a multiple of `parts` where there is enough for all. */
static int64_t even_block(int64_t extent, int64_t most, int64_t unit, int64_t parts)
{
    int64_t blocks = (extent + most - 1) / most;
    if (extent >= parts * 2 * unit)
        blocks = round_up(blocks, parts);
    return round_up((extent + blocks - 1) / blocks, unit);
}

static void choose_split(Ctx *ctx, PairProduct *p)
{
    static const double weight[] = { [BLAS_S] = 0.5, [BLAS_D] = 1, [BLAS_C] = 2, [BLAS_Z] = 4 };
    int64_t count = p->group[PAIR_BATCH].extent, m = p->group[PAIR_M].extent;
    int threads = pool_threads(ctx);
    double each = weight[p->type] * (double)m * (double)p->group[PAIR_N].extent *
                  (double)p->group[PAIR_K].extent;
    p->workers = each * (double)count < SPLIT_WORK ? 1 : threads;
    p->by_batch = p->workers > 1 && count > 1 && (count >= 4 * threads || each < SPLIT_WORK);
    p->by_columns = !p->by_batch && m < p->workers * 4 * p->kernel->mr &&
                    m < p->group[PAIR_N].extent;
}

/* Does C fill the memory that it lies in? */
static bool is_dense(const PairProduct *p)
{
    int64_t last = 0;
    for (int g = PAIR_M; g <= PAIR_N; g++)
        for (int d = 0; d < p->group[g].axes; d++)
            last += (p->group[g].axis[d].extent - 1) * p->group[g].axis[d].step[PAIR_C];
    return last + 1 == p->group[PAIR_M].extent * p->group[PAIR_N].extent;
}

bool pair_block_is_sliced(const PairProduct *p)
{
    int64_t m = p->group[PAIR_M].extent, n = p->group[PAIR_N].extent;
    return p->group[PAIR_BATCH].extent == 1 && !p->chunks && p->kernel->pairs == 1 &&
           m * n * dtype_info(p->dtype)->bytes <= SLICE_C &&
           p->group[PAIR_K].extent >= SLICES * SLICE_BLOCKS * DEPTH && is_dense(p);
}

/* Depth of a slice's blocks: whole runs of the first axes where they are not too short. */
static int64_t slice_depth(const PairProduct *p, int64_t parts)
{
    const PairGroup *k = &p->group[PAIR_K];
    int64_t run = 1, most = DEPTH_MOST / parts;
    for (int d = 0; d < k->axes && run * k->axis[d].extent <= most; d++)
        run *= k->axis[d].extent;
    return run >= most / 4 ? most / run * run : DEPTH / parts;
}

static bool is_narrow(const PairProduct *p, int64_t element)
{
    int64_t n = p->group[PAIR_N].extent, k = p->group[PAIR_K].extent;
    return !p->by_columns && n * k * element <= NARROW_B && n * element * 256 <= NARROW_C &&
           p->group[PAIR_M].extent >= 4 * n;
}

static bool along(const PairGroup *m)
{
    for (int d = 0; d < m->axes; d++)
        if (m->axis[d].step[PAIR_A] == 1)
            return true;
    return false;
}

/* Packed cells that so many elements of depth take. */
static int64_t cells(const PairProduct *p, int64_t depth)
{
    return (depth + p->kernel->pairs - 1) / p->kernel->pairs;
}

/* Bytes of a worker's tables of offsets: five of rows and one of depth. */
static int64_t table_bytes(const PairProduct *p)
{
    return round_up((6 * p->mc + p->kc) * 8, LINE);
}

/* How the next block of A is fetched while one is multiplied: where A is larger than the cache,
 * and of reals. */
static PairLook look(const PairProduct *p, int64_t element)
{
    const PairGroup *m = &p->group[PAIR_M], *k = &p->group[PAIR_K];
    if (blas_is_complex(p->type) || p->kernel->pairs > 1 || p->by_columns ||
        (double)m->extent * (double)k->extent * (double)element < STREAM_BYTES)
        return LOOK_NOWHERE;
    return along(k) ? LOOK_ALONG_DEPTH : along(m) ? LOOK_ALONG_ROWS : LOOK_NOWHERE;
}

/* What the rows of a block are a multiple of: panels, and whole runs of the first axis where that
 * is not too many. */
static int64_t row_unit(const PairProduct *p, int64_t most)
{
    int64_t mr = p->kernel->mr, first = p->group[PAIR_M].axes ? p->group[PAIR_M].axis[0].extent : 1;
    for (int64_t unit = mr; unit <= most / 4; unit += mr)
        if (unit % first == 0)
            return unit;
    return mr;
}

static bool in_place(const PairProduct *p)
{
    const PairGroup *n = &p->group[PAIR_N], *k = &p->group[PAIR_K];
    return p->by_columns && !blas_is_complex(p->type) && p->kernel->pairs == 1 && n->axes == 1 &&
           k->axes == 1 && k->axis[0].step[PAIR_B] == 1 && n->axis[0].step[PAIR_B] == k->extent &&
           p->kc == k->extent;
}

int64_t pair_block_plan(Ctx *ctx, PairProduct *p)
{
    int64_t m = p->group[PAIR_M].extent, n = p->group[PAIR_N].extent, k = p->group[PAIR_K].extent;
    p->type = blas_type(p->dtype);
    if (!p->kernel)
        p->kernel = pair_kernel(p->type);
    choose_split(ctx, p);
    int64_t element = (int64_t)blas_bytes(p->type), parts = blas_is_complex(p->type) ? 2 : 1;
    int64_t pairs = p->kernel->pairs;
    p->slices = pair_block_is_sliced(p) ? SLICES : 0;
    if (p->slices)
        p->by_columns = false;
    p->kc = p->slices ? slice_depth(p, parts) : k * parts <= DEPTH_MOST * pairs ? k
            : even_block(k, DEPTH * pairs / parts, 4, 1);
    bool narrow = !p->slices && is_narrow(p, element);
    if (narrow && n * k * element <= SMALL_B && along(&p->group[PAIR_M]) && k > NARROW_DEPTH)
        p->kc = even_block(k, NARROW_DEPTH / parts, 4, 1);
    p->kb = narrow ? k : p->kc;
    int64_t deep = cells(p, p->kc);
    int64_t rows = A_BYTES / (deep * element * parts) / p->kernel->mr * p->kernel->mr;
    if (narrow)
        rows = least(rows, NARROW_C / (n * element) / p->kernel->mr * p->kernel->mr);
    int64_t columns = B_BYTES / (deep * element) / p->kernel->nr * p->kernel->nr;
    int split = p->by_batch || p->slices ? 1 : p->workers;
    p->mc = even_block(m, rows < p->kernel->mr ? p->kernel->mr : rows, row_unit(p, rows),
                       p->by_columns ? 1 : split);
    p->nc = even_block(n, columns < p->kernel->nr ? p->kernel->nr : columns, p->kernel->nr, 1);
    p->in_place = in_place(p);
    int64_t all_rows = p->by_columns ? round_up(m, p->kernel->mr) : 0;
    p->shared_bytes = pair_packed_bytes(p->type, false, p->nc, cells(p, p->kb)) +
                      round_up((2 * p->nc + 3 * p->kb + all_rows * 3) * 8, LINE) +
                      pair_packed_bytes(p->type, true, all_rows, deep);
    p->lane_bytes = p->by_columns ? 0 : pair_packed_bytes(p->type, true, p->mc, deep) +
                                        table_bytes(p);
    p->look = look(p, element);
    double bytes = (double)m * (double)n * (double)element;
    p->stream = p->kc == k && bytes >= STREAM_BYTES;
    if (p->slices)
        return p->workers * (p->shared_bytes + p->lane_bytes) +
               (p->slices - 1) * round_up(m * n * element, LINE);
    return p->by_batch ? p->workers * (p->shared_bytes + p->lane_bytes)
                       : p->shared_bytes + p->workers * p->lane_bytes;
}

/* ---- one product ---- */

typedef struct Block {
    Ctx *ctx;
    const PairProduct *p;
    char *c;
    const char *a, *b;
    char *packed_b, *packed_a, *lanes;          /* packed_a: by columns only */
    int64_t *cn, *bn, *ak, *bk, *cm, *am, *live;    /* from cm on: by columns only */
    int64_t from, to;                           /* of k */
    int64_t n, depth, after;                    /* after: of the block behind, of which ak knows */
    bool add, split;
    const GemmPanels *panels;                   /* who is told of columns, or NULL … */
    int64_t column, wide;                       /* … the first in hand; columns told of at a time */
    bool last;                                  /* nothing will be added to them */
} Block;

static void block_memory(Block *x, char *work)
{
    const PairProduct *p = x->p;
    int64_t rows = p->by_columns ? round_up(p->group[PAIR_M].extent, p->kernel->mr) : 0;
    int64_t *table =
        (int64_t *)(void *)(work + pair_packed_bytes(p->type, false, p->nc, cells(p, p->kb)));
    x->packed_b = work;
    x->cn = table, x->bn = x->cn + p->nc;
    x->ak = x->bn + p->nc, x->bk = x->ak + 2 * p->kb;
    x->cm = x->bk + p->kb, x->am = x->cm + rows, x->live = x->am + rows;
    x->packed_a = work + p->shared_bytes - pair_packed_bytes(p->type, true, rows, cells(p, p->kc));
    x->lanes = work + p->shared_bytes;
}

/* The packed block of B holds one block of kc after the other; kc is even or all there is. */
static char *packed_block(const Block *x, int64_t q)
{
    return x->packed_b + q / x->p->kernel->pairs * round_up(x->n, x->p->kernel->nr) *
           (int64_t)blas_bytes(x->p->type);
}

/* Panels [begin, end) of the packed block of B. */
static void pack_b_part(void *arg, int64_t begin, int64_t end, int worker)
{
    const Block *x = arg;
    int64_t nr = x->p->kernel->nr, first = begin * nr, bytes = (int64_t)blas_bytes(x->p->type);
    (void)worker;
    for (int64_t q = 0; q < x->depth; q += x->p->kc) {
        int64_t depth = least(x->p->kc, x->depth - q);
        x->p->kernel->pack_b(&(PairPack){ x->b,
                                          packed_block(x, q) + first * cells(x->p, depth) * bytes,
                                          x->bn + first, x->bk + q, least(end * nr, x->n) - first,
                                          depth, x->p->conj[PAIR_B] });
    }
}

/* Looks ahead to the block of A with the rows from `first` and the depth from q on. */
static void look_ahead(const Block *x, PairAhead *ahead, int64_t first, int64_t q, int64_t depth,
                       int64_t *table)
{
    const PairProduct *p = x->p;
    bool deep = p->look == LOOK_ALONG_DEPTH;
    int64_t bytes = (int64_t)blas_bytes(p->type), side = LINE / bytes;
    int64_t count = least(p->mc, p->group[PAIR_M].extent - first), lines = 0;
    int64_t *row = table, *line = row + p->mc, *at = line + 2 * p->mc;
    row_offsets(p, first, count, line, row, line + p->mc);
    for (int64_t i = 0; i < count; i++)
        if (deep ? i % side == 0 : (uintptr_t)(x->a + row[i] * bytes) % LINE < (uintptr_t)bytes)
            line[lines++] = row[i];
    for (int64_t i = 0; deep && i < depth; i++)
        at[i] = i % side * (count > 1 ? row[1] - row[0] : 0) + x->ak[q + i / side * side];
    int64_t panels = (count + p->kernel->mr - 1) / p->kernel->mr;
    *ahead = (PairAhead){ x->a, line, deep ? at : x->ak + q, lines,
                          panels * ((x->n + p->kernel->nr - 1) / p->kernel->nr), 0 };
}

static void rows_part(void *arg, int64_t begin, int64_t end, int worker)
{
    const Block *x = arg;
    const PairProduct *p = x->p;
    char *lane = x->lanes + (x->split ? worker : 0) * p->lane_bytes;
    int64_t *cm = (int64_t *)(void *)lane, *am = cm + p->mc, *live = am + p->mc;
    int64_t m = p->group[PAIR_M].extent;
    char *packed = lane + table_bytes(p);
    for (int64_t i = begin; i < end && !*x->ctx->interrupt; i++) {
        int64_t first = i * p->mc, rows = least(p->mc, m - first);
        row_offsets(p, first, rows, cm, am, live);
        for (int64_t q = 0; q < x->depth; q += p->kc) {
            int64_t depth = least(p->kc, x->depth - q), after = q + depth;
            bool looks = p->look && (after < x->depth || i + 1 < end || x->after);
            PairAhead ahead;
            if (looks && after < x->depth)
                look_ahead(x, &ahead, first, least(after, x->depth - depth), depth, live + p->mc);
            else if (looks && i + 1 < end)
                look_ahead(x, &ahead, first + p->mc, 0, depth, live + p->mc);
            else if (looks)
                look_ahead(x, &ahead, 0, x->after, depth, live + p->mc);
            p->kernel->pack_a(&(PairPack){ x->a, packed, am, x->ak + q, rows, depth,
                                           p->conj[PAIR_A] });
            p->kernel->tile(&(PairTile){ packed, packed_block(x, q), x->c, cm, x->cn,
                                         p->chunks ? live : NULL, rows, x->n, depth,
                                         x->add || q > 0, p->stream && !x->panels,
                                         looks ? &ahead : NULL });
        }
    }
}

static void columns_some(Block *x, int64_t begin, int64_t end, int worker)
{
    const PairProduct *p = x->p;
    int64_t nr = p->kernel->nr, first = begin * nr, columns = least(end * nr, x->n) - first;
    int64_t bytes = (int64_t)blas_bytes(p->type);
    if (!p->in_place)
        pack_b_part(x, begin, end, worker);
    else if (columns % nr)
        pack_b_part(x, end - 1, end, worker);
    p->kernel->tile(&(PairTile){
        x->packed_a, x->packed_b + first * cells(p, x->depth) * bytes,
        x->c, x->cm, x->cn + first, p->chunks ? x->live : NULL, p->group[PAIR_M].extent,
        columns, x->depth, x->add, p->stream && !x->panels, NULL,
        p->in_place ? x->b + x->bn[first] * bytes : NULL, x->depth });
    first += x->column;
    if (x->panels && x->last)
        x->panels->ready(x->panels->data, first, first + columns, worker);
}

static void columns_part(void *arg, int64_t begin, int64_t end, int worker)
{
    Block *x = arg;
    int64_t some = x->panels ? x->wide / x->p->kernel->nr : end - begin;
    for (int64_t i = begin; i < end && !*x->ctx->interrupt; i += some)
        columns_some(x, i, least(i + some, end), worker);
}

static void share(const Block *x, int64_t n, int64_t grain, PoolFn fn)
{
    if (x->split)
        pool_for(x->ctx, n, grain, fn, (void *)x);
    else
        fn((void *)x, 0, n, 0);
}

static void block_step(Block *x, int64_t blocks)
{
    const PairProduct *p = x->p;
    int64_t panels = (x->n + p->kernel->nr - 1) / p->kernel->nr;
    if (p->by_columns) {
        p->kernel->pack_a(&(PairPack){ x->a, x->packed_a, x->am, x->ak, p->group[PAIR_M].extent,
                                       x->depth, p->conj[PAIR_A] });
        share(x, panels, 4, columns_part);
        return;
    }
    share(x, panels, 8, pack_b_part);
    share(x, blocks, 1, rows_part);
    if (x->panels && x->last && !*x->ctx->interrupt)
        gemm_panels_tell(x->ctx, x->column, x->column + x->n, p->group[PAIR_M].extent, x->panels);
}

/* Columns that stay in the cache together. */
static int64_t panel_columns(const PairProduct *p)
{
    int64_t column = p->group[PAIR_M].extent * (int64_t)blas_bytes(p->type), nr = p->kernel->nr;
    int64_t fit = GEMM_PANEL_BYTES / column / nr * nr;
    return fit < nr ? nr : least(fit, p->nc);
}

static void product_run(Block *x, char *work)
{
    const PairProduct *p = x->p;
    const PairGroup *n = &p->group[PAIR_N], *k = &p->group[PAIR_K], *m = &p->group[PAIR_M];
    block_memory(x, work);
    x->wide = panel_columns(p);
    /* Workers that share a block wait for each other at its end: then it is as large as ever. */
    int64_t wide = x->panels && !p->by_columns && !x->split ? x->wide : p->nc;
    if (p->by_columns)
        row_offsets(p, 0, m->extent, x->cm, x->am, x->live);
    for (int64_t j = 0; j < n->extent; j += wide) {
        x->n = least(wide, n->extent - j);
        x->column = j;
        pair_group_offsets(n, PAIR_C, j, x->n, x->cn);
        pair_group_offsets(n, PAIR_B, j, x->n, x->bn);
        for (int64_t q = x->from; q < x->to && !*x->ctx->interrupt; q += p->kb) {
            int64_t known = p->slices ? least(2 * p->kb, x->to - q) : least(p->kb, x->to - q);
            x->depth = least(p->kb, x->to - q);
            x->after = known - x->depth;
            x->add = q > x->from;
            x->last = q + x->depth == x->to;
            pair_group_offsets(k, PAIR_A, q, known, x->ak);
            pair_group_offsets(k, PAIR_B, q, x->depth, x->bk);
            block_step(x, (m->extent + p->mc - 1) / p->mc);
        }
    }
}

/* ---- batches ---- */

typedef struct Batch {
    Ctx *ctx;
    const PairProduct *p;
    char *work, *c;
    const char *a, *b;
    bool split;
    const GemmPanels *panels;
} Batch;

static void batch_part(void *arg, int64_t begin, int64_t end, int worker)
{
    const Batch *y = arg;
    const PairGroup *g = &y->p->group[PAIR_BATCH];
    int64_t bytes = (int64_t)blas_bytes(y->p->type), source = bytes / y->p->kernel->pairs;
    char *work = y->work + (y->split ? 0 : worker) * (y->p->shared_bytes + y->p->lane_bytes);
    for (int64_t i = begin; i < end && !*y->ctx->interrupt; i++) {
        Block x = { .ctx = y->ctx, .p = y->p, .split = y->split, .panels = y->panels,
                    .to = y->p->group[PAIR_K].extent,
                    .c = y->c + pair_group_offset(g, PAIR_C, i) * bytes,
                    .a = y->a + pair_group_offset(g, PAIR_A, i) * source,
                    .b = y->b + pair_group_offset(g, PAIR_B, i) * source };
        product_run(&x, work);
    }
}

/* ---- slices of a long sum ---- */

static int64_t slice_bytes(const PairProduct *p)
{
    return round_up(p->group[PAIR_M].extent * p->group[PAIR_N].extent *
                    (int64_t)blas_bytes(p->type), LINE);
}

/* Where slice i goes: the first to C. */
static char *slice_at(const Batch *y, int64_t i)
{
    const PairProduct *p = y->p;
    return i == 0 ? y->c : y->work + p->workers * (p->shared_bytes + p->lane_bytes) +
                           (i - 1) * slice_bytes(p);
}

static void slice_part(void *arg, int64_t begin, int64_t end, int worker)
{
    const Batch *y = arg;
    const PairProduct *p = y->p;
    int64_t k = p->group[PAIR_K].extent, blocks = (k + p->kc - 1) / p->kc;
    for (int64_t i = begin; i < end && !*y->ctx->interrupt; i++) {
        Block x = { .ctx = y->ctx, .p = p, .c = slice_at(y, i), .a = y->a, .b = y->b,
                    .from = i * blocks / p->slices * p->kc,
                    .to = least((i + 1) * blocks / p->slices * p->kc, k) };
        product_run(&x, y->work + worker * (p->shared_bytes + p->lane_bytes));
    }
}

/* Elements [begin, end) of C, in reals: the slices one after the other. */
static void add_part(void *arg, int64_t begin, int64_t end, int worker)
{
    const Batch *y = arg;
    bool wide = y->p->type == BLAS_D || y->p->type == BLAS_Z;
    (void)worker;
    for (int i = 1; i < y->p->slices; i++) {
        void *c = y->c, *more = slice_at(y, i);
        for (int64_t e = begin; wide && e < end; e++)
            ((double *)c)[e] += ((double *)more)[e];
        for (int64_t e = begin; !wide && e < end; e++)
            ((float *)c)[e] += ((float *)more)[e];
    }
}

static void slices_run(const Batch *y)
{
    const PairProduct *p = y->p;
    int64_t m = p->group[PAIR_M].extent, n = p->group[PAIR_N].extent;
    int64_t reals = m * n * (blas_is_complex(p->type) ? 2 : 1);
    if (p->workers > 1)
        pool_for(y->ctx, p->slices, 1, slice_part, (void *)y);
    else
        slice_part((void *)y, 0, p->slices, 0);
    add_part((void *)y, 0, *y->ctx->interrupt ? 0 : reals, 0);
    if (y->panels && !*y->ctx->interrupt)
        gemm_panels_tell(y->ctx, 0, n, m, y->panels);
}

void pair_block_run(Ctx *ctx, const PairProduct *p, void *work, void *c, const void *a,
                    const void *b, const GemmPanels *panels)
{
    Batch y = { ctx, p, work, c, a, b, p->workers > 1 && !p->by_batch, panels };
    if (p->slices)
        slices_run(&y);
    else if (p->by_batch)
        pool_for(ctx, p->group[PAIR_BATCH].extent, 1, batch_part, &y);
    else
        batch_part(&y, 0, p->group[PAIR_BATCH].extent, 0);
}
