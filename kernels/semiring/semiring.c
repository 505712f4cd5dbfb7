/* Products of matrices over any pair of operations (semiring.h): the choice of the kernel, the cut
 * of C into blocks and their share among the workers. Must not raise or allocate. */
#include "kernels/semiring/semiring_kernels.h"

#include "core/memory/pool.h"
#include "kernels/tensor/cpu.h"

#include <math.h>

bool semiring_has(Semiring s, DType dt)
{
    return semiring_plain[s][dt].gemm != NULL;
}

bool semiring_distributes(Semiring s)
{
    return s != SR_MIN_TIMES && s != SR_MAX_TIMES;
}

/* What loses against everything under min (from above) or max (from below). */
static void extreme(DType dt, bool above, void *cell)
{
    const DTypeInfo *d = dtype_info(dt);
    if (d->kind == 'i')
        dtype_store_int(dt, cell, above ? d->high : d->low);
    else if (dt == DT_F32)
        *(float *)cell = above ? INFINITY : -INFINITY;
    else
        *(double *)cell = above ? (double)INFINITY : -(double)INFINITY;
}

void semiring_identity(Semiring s, DType dt, void *cell)
{
    if (s == SR_PLUS_TIMES || s == SR_OR_AND)
        __builtin_memset(cell, 0, dtype_info(dt)->bytes);
    else
        extreme(dt, s == SR_MIN_PLUS || s == SR_MIN_TIMES || s == SR_MIN_MAX, cell);
}

/* ---- the product ---- */

/* A block of packed A stays in the second cache, a panel of packed B in the first. */
enum { A_BYTES = 160 << 10, B_BYTES = 24 << 10, DEPTH_MOST = 256, TILE_BYTES = 8 * 3 * 64 };
/* Seconds of work below which a second worker costs more than it gives. */
static const double SPLIT_SECONDS = 6e-5;

/* One product as the workers see it: units of work are blocks of C. */
typedef struct Product {
    Ctx *ctx;
    Semiring s;
    const TileSet *set;
    const TileKernel *kernel;
    const PackKernel *pack;
    int64_t bytes;                  /* of an element */
    int64_t lanes;                  /* packed elements in a vector */
    int64_t panel;                  /* columns of a whole panel of B */
    int64_t m, n, k;
    Mat a, b, c;
    bool accumulate;
    int64_t depth, rows, cols;      /* of a block */
    int64_t across;                 /* blocks side by side */
} Product;

const TileSet *semiring_tiles(void)
{
#if defined(__x86_64__) || defined(__i386__)
    static const TileSet *const sets[] = { &semiring_tiles_base, &semiring_tiles_avx2,
                                           &semiring_tiles_avx512 };
    return sets[cpu_isa()];
#else
    return &semiring_tiles_base;
#endif
}

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t parts(int64_t n, int64_t size)
{
    return (n + size - 1) / size;
}

static char *element(const Product *p, Mat x, int64_t i, int64_t j)
{
    return x.data + (i * x.rs + j * x.cs) * p->bytes;
}

/* Could a combined value be NaN, or a factor be too wide, given what the panels hold? */
static bool wants_care(const Product *p, int a, int b)
{
    if ((a | b) & (PACK_NAN | PACK_WIDE))
        return true;
    if (p->s == SR_MIN_PLUS || p->s == SR_MAX_PLUS)
        return ((a & PACK_ABOVE) && (b & PACK_BELOW)) || ((a & PACK_BELOW) && (b & PACK_ABOVE));
    return p->s != SR_MIN_MAX && p->s != SR_MAX_MIN && (a | b) & (PACK_ABOVE | PACK_BELOW);
}

/* Rows i0 … i1 of A for a range of k, panel by panel; returns what was found in them. */
static int pack_rows(const Product *p, char *to, int64_t i0, int64_t i1, int64_t q0, int64_t depth)
{
    int64_t rows = p->set->rows;
    char *at = to;
    for (int64_t i = i0; i < i1; i += rows, at += rows * depth * p->pack->bytes)
        p->pack->a(at, rows, element(p, p->a, i, q0), p->a.rs, p->a.cs, least(rows, i1 - i), depth);
    return p->pack->find ? p->pack->find(to, (at - to) / p->pack->bytes) : 0;
}

/* The tiles of one panel of B, columns j … j + cols of C. */
static void panel_tiles(const Product *p, TileFn tile, const char *a, const char *b, int64_t i0,
                        int64_t i1, int64_t j, int64_t cols, int64_t depth, bool accumulate)
{
    int64_t rows = p->set->rows, each = p->lanes * p->pack->columns;
    int64_t ld = p->kernel->vectors * p->lanes;
    int vectors = (int)parts(cols, each);
    _Alignas(64) char out[TILE_BYTES];
    for (int64_t i = i0; i < i1; i += rows, a += rows * depth * p->pack->bytes) {
        Mat c = { element(p, p->c, i, j), p->c.rs, p->c.cs };
        tile(depth, a, b, out, vectors);
        p->pack->merge(c, least(rows, i1 - i), cols, out, ld, accumulate);
    }
}

static void block_run(const Product *p, int64_t i0, int64_t i1, int64_t j0, int64_t j1)
{
    _Alignas(64) char a[A_BYTES], b[B_BYTES];
    int64_t each = p->lanes * p->pack->columns;
    for (int64_t q = 0; q < p->k; q += p->depth) {
        int64_t depth = least(p->depth, p->k - q);
        int found_a = pack_rows(p, a, i0, i1, q, depth);
        for (int64_t j = j0; j < j1 && !*p->ctx->interrupt; j += p->panel) {
            int64_t cols = least(p->panel, j1 - j), width = parts(cols, each) * p->lanes;
            p->pack->b(b, width, element(p, p->b, q, j), p->b.cs, p->b.rs, cols, depth);
            int found_b = p->pack->find ? p->pack->find(b, width * depth) : 0;
            bool care = p->kernel->careful && wants_care(p, found_a, found_b);
            panel_tiles(p, care ? p->kernel->careful : p->kernel->tile, a, b, i0, i1, j, cols,
                        depth, p->accumulate || q > 0);
        }
    }
}

static void product_worker(void *arg, int64_t begin, int64_t end, int worker)
{
    const Product *p = arg;
    (void)worker;
    for (int64_t unit = begin; unit < end; unit++) {
        int64_t i = unit / p->across * p->rows, j = unit % p->across * p->cols;
        block_run(p, i, least(i + p->rows, p->m), j, least(j + p->cols, p->n));
    }
}

/* Cuts C into blocks: as many rows as packed A has room for; side by side only as far as
 * the workers need it, since each packs its rows of A again. */
static int64_t cut(Product *p, int threads)
{
    int64_t tall = p->set->rows, wide = p->kernel->vectors * p->lanes * p->pack->bytes;
    p->depth = least(least(B_BYTES / wide, DEPTH_MOST), p->k);
    int64_t most = A_BYTES / (p->depth * p->pack->bytes) / tall * tall;
    int64_t down = parts(p->m, most);
    if (threads > 1)
        down = least(parts(down, threads) * threads, parts(p->m, tall));
    p->rows = parts(parts(p->m, down), tall) * tall;
    down = parts(p->m, p->rows);
    int64_t across = threads > 1 ? parts(4 * (int64_t)threads, down) : 1;
    p->cols = parts(parts(p->n, across), p->panel) * p->panel;
    p->across = parts(p->n, p->cols);
    return down * p->across;
}

static void clear(Semiring s, DType dt, int64_t m, int64_t n, Mat c)
{
    char cell[16];
    size_t bytes = dtype_info(dt)->bytes;
    semiring_identity(s, dt, cell);
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = 0; j < n; j++)
            __builtin_memcpy(c.data + (i * c.rs + j * c.cs) * (int64_t)bytes, cell, bytes);
}

static Mat turned(Mat x)
{
    return (Mat){ x.data, x.cs, x.rs };
}

void semiring_gemm_tiled(Ctx *ctx, const TileSet *set, Semiring s, DType dt, int64_t m, int64_t n,
                         int64_t k, Mat a, Mat b, Mat c, bool accumulate)
{
    const PackKernel *pack = &semiring_pack[s][dt];
    const TileKernel *kernel = &set->kernel[s][dt];
    if (m == 0 || n == 0)
        return;
    if (k == 0) {
        if (!accumulate)
            clear(s, dt, m, n, c);
        return;
    }
#ifdef RICCI_HOSTILE
    kernel = &(TileKernel){ 0 };
#endif
    if (!kernel->tile || (double)m * (double)n * (double)k < SEMIRING_PLAIN) {
        semiring_plain[s][dt].gemm(m, n, k, a, b, c, accumulate);
        return;
    }
    int64_t lanes = set->bytes / pack->lane, panel = kernel->vectors * lanes * pack->columns;
    if (n < panel && m > n) {               /* C' = B' A': the longer edge along the vectors */
        Mat left = a;
        int64_t rows = m;
        a = turned(b), b = turned(left), c = turned(c);
        m = n, n = rows;
    }
    Product p = { ctx, s, set, kernel, pack, dtype_info(dt)->bytes, lanes, panel,
                  m, n, k, a, b, c, accumulate, 0, 0, 0, 0 };
    bool split = semiring_gemm_seconds(s, dt, m, n, k) > SPLIT_SECONDS;
    int64_t units = cut(&p, split ? pool_threads(ctx) : 1);
    if (split)
        pool_for(ctx, units, 1, product_worker, &p);
    else
        product_worker(&p, 0, units, 0);
}

void semiring_gemm(Ctx *ctx, Semiring s, DType dt, int64_t m, int64_t n, int64_t k, Mat a, Mat b,
                   Mat c, bool accumulate)
{
    semiring_gemm_tiled(ctx, semiring_tiles(), s, dt, m, n, k, a, b, c, accumulate);
}
