/* Products of f32, f64, c64 and c128 matrices: the choice among our own loop (tiny), gemv and
 * gemm, and the split of C among the workers. BLAS is always called with one thread here: its own
 * threading reaches 56 to 80 % of two cores at n = 256 to 1024, a split by rows over single-
 * threaded calls 90 % and more. Must not raise or allocate. */
#include "kernels/gemm/gemm.h"

#include "core/memory/pool.h"
#include "kernels/gemm/small.h"

#include <limits.h>

enum {
    TINY = 3,                   /* longest edge that the plain loop takes */
    BATCH_POLL = 4096,          /* small products between two looks at the interrupt flag */
    TILE_ROWS = 2112, TILE_DEPTH = 4096, TILE_COLS_LEAST = 128,
    /* Rows of a tile are a multiple of what kernels of OpenBLAS take at once (4, 8, 12, 24, 32):
     * then a sum is rounded as without tiles. */
    ROWS_AT_ONCE = 96,
    /* Tiles of a shallow product stay in the second cache for who is told of their rows
     * (GemmPanels). Every call packs B anew: from so many rows on, and up to such a depth, that
     * costs no more than one part in a hundred. */
    PANEL_ROWS_LEAST = 480, PANEL_DEPTH = 384,
    /* elements after which another worker may take over what follows a product */
    PANEL_GRAIN = 1 << 15
};
/* Multiply-adds from which OpenBLAS never takes its kernels for small products, which round
 * otherwise. */
static const double PANEL_WORK = 2e6;
/* Multiply-adds of f64 in one BLAS call, between two looks at the interrupt flag: 100 ms on
 * a core of 45 GFLOP/s. Larger tiles pack their operands less often. */
static const double TILE_WORK = 2.2e9;
/* Multiply-adds of f64 below which a second worker costs more than it gives: 0.15 ms of
 * gemm; a memory-bound gemv reaches that with a tenth of them. */
static const double SPLIT_WORK = 4.0e6;

bool gemm_legal(int64_t rows, int64_t cols, int64_t rs, int64_t cs)
{
    if (rows > INT_MAX || cols > INT_MAX)
        return false;
    if ((cs == 1 || cols <= 1) && (rows <= 1 || (rs >= cols && rs >= 1 && rs <= INT_MAX)))
        return true;
    return (rs == 1 || rows <= 1) && (cols <= 1 || (cs >= rows && cs >= 1 && cs <= INT_MAX));
}

bool gemm_tiny(int64_t m, int64_t n, int64_t k)
{
    return small_product_pays(m, n, k);
}

#define T float
#define FN(name) name##_f32
#include "kernels/gemm/gemm_small.tmpl.h"
#define T double
#define FN(name) name##_f64
#include "kernels/gemm/gemm_small.tmpl.h"
#define T float _Complex
#define FN(name) name##_c64
#include "kernels/gemm/gemm_small.tmpl.h"
#define T double _Complex
#define FN(name) name##_c128
#include "kernels/gemm/gemm_small.tmpl.h"

void gemm_small(DType dt, int64_t m, int64_t n, int64_t k, Mat a, Mat b, Mat c)
{
    if (m > TINY || n > TINY || k > TINY) {
        small_product(dt, m, n, k, a, b, c, NULL, 0, 1);
        return;
    }
    switch (dt) {
    case DT_F32: small_f32(m, n, k, a, b, c); break;
    case DT_F64: small_f64(m, n, k, a, b, c); break;
    case DT_C64: small_c64(m, n, k, a, b, c); break;
    default: small_c128(m, n, k, a, b, c); break;
    }
}

/* One product as the workers see it. */
typedef struct Product {
    Ctx *ctx;
    const Blas *blas;
    BlasType type;
    DType dt;
    int64_t m, n, k;
    Mat a, b, c;
    bool by_rows;               /* what [begin, end) counts: rows or columns of C */
    const GemmBatch *batch;
    const GemmPanels *panels;   /* who is told of rows, or NULL */
} Product;

static Mat mat_at(Mat x, BlasType t, int64_t row, int64_t col)
{
    x.data += (row * x.rs + col * x.cs) * (int64_t)blas_bytes(t);
    return x;
}

/* How a legal operand is named to Fortran when it is meant transposed: row-major memory is
 * the column-major matrix of its transpose, so 'N' goes with contiguous rows. */
static const char *fortran_form(Mat x, int64_t rows, int64_t cols, int *ld)
{
    bool by_rows = (x.cs == 1 || cols <= 1) && (rows <= 1 || x.rs >= cols);
    int64_t step = by_rows ? x.rs : x.cs;
    int64_t least = by_rows ? cols : rows;
    int64_t jumps = by_rows ? rows : cols;
    if (jumps <= 1 || step < least)
        step = least;
    *ld = (int)(step < 1 ? 1 : step);
    return by_rows ? "N" : "T";
}

/* C (+)= A B by one call. C^T = B^T A^T in Fortran's eyes when C lies by rows; a C that
 * lies by columns is taken as it is, with the operands' forms turned over. */
static void product_call(const Product *p, int64_t m, int64_t n, int64_t k, Mat a, Mat b, Mat c,
                         bool accumulate)
{
    bool c_by_rows = (c.cs == 1 || n <= 1) && (m <= 1 || c.rs >= n);
    if (!c_by_rows) {                       /* C^T = B^T A^T lies by rows */
        Mat at = { a.data, a.cs, a.rs }, bt = { b.data, b.cs, b.rs }, ct = { c.data, c.cs, c.rs };
        product_call(p, n, m, k, bt, at, ct, accumulate);
        return;
    }
    int lda, ldb, mi = (int)m, ni = (int)n, ki = (int)k;
    const char *fa = fortran_form(a, m, k, &lda), *fb = fortran_form(b, k, n, &ldb);
    int ldc = (int)(m <= 1 ? (n < 1 ? 1 : n) : c.rs);
    const void *beta = accumulate ? blas_one(p->type) : blas_zero(p->type);
    p->blas->gemm[p->type](fb, fa, &ni, &mi, &ki, blas_one(p->type), b.data, &ldb, a.data, &lda,
                           beta, c.data, &ldc, 1, 1);
}

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* Columns of a tile, so that it holds about TILE_WORK. */
static int64_t tile_cols(const Product *p, int64_t rows)
{
    static const double speed[BLAS_TYPES] =
        { [BLAS_S] = 2, [BLAS_D] = 1, [BLAS_C] = 0.5, [BLAS_Z] = 0.25 };
    double column = (double)least(rows, TILE_ROWS) * (double)least(p->k, TILE_DEPTH);
    int64_t cols = (int64_t)(TILE_WORK * speed[p->type] / column) / 64 * 64;
    return cols < TILE_COLS_LEAST ? TILE_COLS_LEAST : cols;
}

/* Rows of a tile of whole rows of C, about as many in each. The same whether somebody is told of
 * them or not: so are the bits. */
static int64_t tile_rows(const Product *p, int64_t rows)
{
    int64_t most = TILE_ROWS;
    bool real = p->type == BLAS_S || p->type == BLAS_D;
    if (real && p->k <= PANEL_DEPTH && (p->c.cs == 1 || p->n == 1)) {
        int64_t fit = GEMM_PANEL_BYTES / (int64_t)blas_bytes(p->type) / p->n;
        fit = fit < PANEL_ROWS_LEAST ? PANEL_ROWS_LEAST : fit;
        if (fit < most && (double)fit * (double)p->n * (double)p->k >= PANEL_WORK)
            most = fit;
    }
    int64_t tiles = (rows + most - 1) / most, each = (rows + tiles - 1) / tiles;
    return (each + ROWS_AT_ONCE - 1) / ROWS_AT_ONCE * ROWS_AT_ONCE;
}

/* A part of C, tile by tile; looks at the interrupt flag between tiles. */
static void product_part(const Product *p, int64_t row0, int64_t row1, int64_t col0, int64_t col1,
                         int worker)
{
    bool whole = col1 - col0 == p->n;
    int64_t wide = tile_cols(p, row1 - row0);
    int64_t high = whole ? tile_rows(p, row1 - row0) : TILE_ROWS;
    for (int64_t i = row0; i < row1; i += high) {
        int64_t rows = least(high, row1 - i);
        for (int64_t j = col0; j < col1; j += wide)
            for (int64_t q = 0; q < p->k; q += TILE_DEPTH) {
                if (*p->ctx->interrupt)
                    return;
                product_call(p, rows, least(wide, col1 - j), least(TILE_DEPTH, p->k - q),
                             mat_at(p->a, p->type, i, q), mat_at(p->b, p->type, q, j),
                             mat_at(p->c, p->type, i, j), q > 0);
            }
        if (whole && p->panels)
            p->panels->ready(p->panels->data, i, i + rows, worker);
    }
}

static void product_worker(void *arg, int64_t begin, int64_t end, int worker)
{
    const Product *p = arg;
    if (p->by_rows)
        product_part(p, begin, end, 0, p->n, worker);
    else
        product_part(p, 0, p->m, begin, end, worker);
}

/* y = A x with A m x k, x of step incx > 0: the workers take rows of A. */
static void gemv_rows(const Product *p, int64_t begin, int64_t end)
{
    Mat a = mat_at(p->a, p->type, begin, 0), y = mat_at(p->c, p->type, begin, 0);
    int64_t rows = end - begin;
    int lda, incx = (int)(p->k <= 1 ? 1 : p->b.rs), incy = (int)(p->m <= 1 ? 1 : p->c.rs);
    bool by_rows = *fortran_form(a, rows, p->k, &lda) == 'N';
    int mf = (int)(by_rows ? p->k : rows), nf = (int)(by_rows ? rows : p->k);
    p->blas->gemv[p->type](by_rows ? "T" : "N", &mf, &nf, blas_one(p->type), a.data, &lda,
                           p->b.data, &incx, blas_zero(p->type), y.data, &incy, 1);
}

static void gemv_worker(void *arg, int64_t begin, int64_t end, int worker)
{
    const Product *p = arg;
    (void)worker;
    if (!*p->ctx->interrupt)
        gemv_rows(p, begin, end);
}

static bool vector_legal(int64_t n, int64_t step)
{
    return n <= 1 || (step >= 1 && step <= INT_MAX);
}

static double product_work(const Product *p)
{
    static const double weight[] = { [BLAS_S] = 0.5, [BLAS_D] = 1, [BLAS_C] = 2, [BLAS_Z] = 4 };
    return weight[p->type] * (double)p->m * (double)p->n * (double)p->k;
}

/* Work that pays to split, and room in the library for as many as there are workers. */
static bool product_splits(const Product *p, double work, double least)
{
    int threads = work >= least ? pool_threads(p->ctx) : 1;
    return threads > 1 && (!p->blas || blas_enter(p->ctx, p->blas, threads, 1) == threads);
}

/* n split evenly among the workers, on a multiple of 8 so that kernels keep full tiles. */
static int64_t even_grain(Ctx *ctx, int64_t n)
{
    int64_t threads = pool_threads(ctx), grain = (n + threads - 1) / threads;
    return (grain + 7) / 8 * 8;
}

static void zero_fill(const Product *p)
{
    size_t bytes = blas_bytes(p->type);
    for (int64_t i = 0; i < p->m; i++)
        for (int64_t j = 0; j < p->n; j++)
            __builtin_memset(mat_at(p->c, p->type, i, j).data, 0, bytes);
}

/* Matrix times vector; a vector on the left is the same thing transposed. */
static bool product_gemv(Product *given, bool split)
{
    Product turned = *given, *p = &turned;
    if (p->n != 1 && p->m == 1) {
        Mat a = p->a;
        p->m = p->n, p->n = 1;
        p->a = (Mat){ p->b.data, p->b.cs, p->b.rs };
        p->b = (Mat){ a.data, a.cs, a.rs };
        p->c = (Mat){ p->c.data, p->c.cs, p->c.rs };
    }
    int lda;
    if (p->n != 1 || !vector_legal(p->k, p->b.rs) || !vector_legal(p->m, p->c.rs))
        return false;
    /* By columns, OpenBLAS 0.3.21 reads past the end of a complex matrix (its issue 4013):
     * gemm does not. */
    if (blas_is_complex(p->type) && *fortran_form(p->a, p->m, p->k, &lda) == 'T')
        return false;
    if (split && product_splits(p, product_work(p), SPLIT_WORK / 10))
        pool_for(p->ctx, p->m, even_grain(p->ctx, p->m), gemv_worker, p);
    else
        gemv_rows(p, 0, p->m);
    return true;
}

/* False: nobody was told of the rows. */
static bool product_run(Product *p, bool split)
{
    if (p->m == 0 || p->n == 0)
        return true;
    if (p->k == 0) {
        zero_fill(p);
        return false;
    }
    if (gemm_tiny(p->m, p->n, p->k)) {
        gemm_small(p->dt, p->m, p->n, p->k, p->a, p->b, p->c);
        return false;
    }
    if ((p->m == 1 || p->n == 1) && product_gemv(p, split))
        return false;
    p->by_rows = p->m >= p->n;
    int64_t extent = p->by_rows ? p->m : p->n;
    if (!split || !product_splits(p, product_work(p), SPLIT_WORK)) {
        product_part(p, 0, p->m, 0, p->n, 0);
        return true;
    }
    pool_for(p->ctx, extent, even_grain(p->ctx, extent), product_worker, p);
    return p->by_rows;
}

void gemm(Ctx *ctx, const Blas *blas, DType dt, int64_t m, int64_t n, int64_t k,
          Mat a, Mat b, Mat c)
{
    Product p = { ctx, blas, blas_type(dt), dt, m, n, k, a, b, c, true, NULL, NULL };
    if (blas)
        blas_enter(ctx, blas, 1, 1);
    product_run(&p, true);
}

typedef struct Telling { const GemmPanels *panels; int64_t from; } Telling;

static void tell_range(void *arg, int64_t begin, int64_t end, int worker)
{
    const Telling *t = arg;
    t->panels->ready(t->panels->data, t->from + begin, t->from + end, worker);
}

void gemm_panels_tell(Ctx *ctx, int64_t from, int64_t to, int64_t elements,
                      const GemmPanels *panels)
{
    Telling t = { panels, from };
    if (elements > 0)
        pool_for(ctx, to - from, (PANEL_GRAIN + elements - 1) / elements, tell_range, &t);
}

void gemm_panels(Ctx *ctx, const Blas *blas, DType dt, int64_t m, int64_t n, int64_t k,
                 Mat a, Mat b, Mat c, const GemmPanels *panels)
{
    Product p = { ctx, blas, blas_type(dt), dt, m, n, k, a, b, c, true, NULL, panels };
    if (blas)
        blas_enter(ctx, blas, 1, 1);
    if (!product_run(&p, true) && !*ctx->interrupt)
        gemm_panels_tell(ctx, 0, m, n, panels);
}

/* Offsets of the index-th item; the last axis runs fastest. */
static void batch_offset(const GemmBatch *batch, int64_t index, int64_t at[3])
{
    at[0] = at[1] = at[2] = 0;
    for (int d = batch->rank - 1; d >= 0; d--) {
        int64_t i = index % batch->extent[d];
        index /= batch->extent[d];
        at[0] += i * batch->a[d];
        at[1] += i * batch->b[d];
        at[2] += i * batch->c[d];
    }
}

static void batch_range(const Product *p, int64_t begin, int64_t end, bool split)
{
    int64_t bytes = (int64_t)blas_bytes(p->type), at[3];
    if (p->k && gemm_tiny(p->m, p->n, p->k)) {
        for (int64_t i = begin; i < end && !*p->ctx->interrupt; i += BATCH_POLL)
            small_product(p->dt, p->m, p->n, p->k, p->a, p->b, p->c, p->batch, i,
                          end - i < BATCH_POLL ? end : i + BATCH_POLL);
        return;
    }
    for (int64_t i = begin; i < end && !*p->ctx->interrupt; i++) {
        Product one = *p;
        batch_offset(p->batch, i, at);
        one.a.data += at[0] * bytes;
        one.b.data += at[1] * bytes;
        one.c.data += at[2] * bytes;
        product_run(&one, split);
    }
}

static void batch_worker(void *arg, int64_t begin, int64_t end, int worker)
{
    (void)worker;
    batch_range(arg, begin, end, false);
}

void gemm_batched(Ctx *ctx, const Blas *blas, DType dt, int64_t m, int64_t n, int64_t k,
                  Mat a, Mat b, Mat c, const GemmBatch *batch)
{
    Product p = { ctx, blas, blas_type(dt), dt, m, n, k, a, b, c, true, batch, NULL };
    double each = product_work(&p), all = each * (double)batch->count;
    int threads = pool_threads(ctx);
    if (blas)
        blas_enter(ctx, blas, 1, 1);
    /* Whole products per worker, unless there are fewer large ones than workers. */
    if (batch->count >= threads && product_splits(&p, all, SPLIT_WORK))
        pool_for(ctx, batch->count, (batch->count + 4 * threads - 1) / (4 * threads),
                 batch_worker, &p);
    else
        batch_range(&p, 0, batch->count, true);
}
