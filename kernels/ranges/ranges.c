/* Ranges, grids and codes over the pool: see ranges.h. */
#include "kernels/ranges/ranges_isa.h"
#include "core/memory/pool.h"
#include "kernels/tensor/cpu.h"

#include <math.h>

enum { GRAIN = 1 << 16 };       /* numbers from which on a thread is worth waking */

static const RangeTable *table(void)
{
    return cpu_isa() == ISA_AVX512 ? &ranges_avx512
         : cpu_isa() == ISA_AVX2 ? &ranges_avx2 : &ranges_base;
}

static const RangeLoops *loops(DType dt)
{
    return dt == DT_F32 ? &table()->f32 : &table()->f64;
}

/* Rows of `each` numbers over the threads, a few on this one. */
static void share(Ctx *ctx, int64_t rows, int64_t each, PoolFn fn, void *job)
{
    if (rows * each < 2 * GRAIN)
        fn(job, 0, rows, 0);
    else
        pool_for(ctx, rows, each < GRAIN ? GRAIN / each : 1, fn, job);
}

static size_t bytes_of(DType dt) { return dt == DT_F32 ? sizeof(float) : sizeof(double); }

/* ---- grids ---- */
/* A number of dt that is no zero: what is too small for it is its least. */
static double positive(DType dt, double x)
{
    double least = dt == DT_F32 ? 0x1p-149 : 0x1p-1074;
    double v = dt == DT_F32 ? (double)(float)x : x;
    return v > 0 ? v : least;
}

Grid grid_of(DType dt, double low, double high, GridKind kind)
{
    if (kind == GRID_SYMMETRIC) {
        double most = fabs(low) > fabs(high) ? fabs(low) : fabs(high);
        return (Grid){ .scale = most > 0 ? positive(dt, most / 127) : 1, .low = -127, .high = 127 };
    }
    Grid g = { .low = kind == GRID_U8 ? 0 : -128, .high = kind == GRID_U8 ? 255 : 127 };
    low = low < 0 ? low : 0;
    high = high > 0 ? high : 0;
    /* in dt, as (high - low) / 255 is there; of the greatest numbers it may have no end */
    double width = dt == DT_F32 ? (double)((float)high - (float)low) : high - low;
    g.scale = width > 0 ? positive(dt, isinf(width) ? high / 255 - low / 255 : width / 255) : 1;
    double steps = dt == DT_F32 ? (double)((float)low / (float)g.scale) : low / g.scale;
    int zero = g.low - (int)rint(steps < -255 ? -255 : steps);
    g.zero = zero > g.high ? g.high : zero;
    return g;
}

/* ---- how far they reach ---- */
typedef struct ReachJob {
    const RangeLoops *loops;
    const char *x;
    int64_t n;
    size_t bytes;
    double low[64], high[64];
    bool good[64];
} ReachJob;

static void reach_part(void *arg, int64_t begin, int64_t end, int worker)
{
    ReachJob *j = arg;
    (void)worker;
    for (int64_t k = begin; k < end; k++) {
        int64_t from = j->n * k / 64, to = j->n * (k + 1) / 64;
        j->good[k] = j->loops->extremes(j->x + (size_t)from * j->bytes, to - from, &j->low[k],
                                        &j->high[k]);
    }
}

bool ranges_extremes(Ctx *ctx, DType dt, const void *x, int64_t n, double *low, double *high)
{
    ReachJob j = { .loops = loops(dt), .x = x, .n = n, .bytes = bytes_of(dt) };
    if (n < 2 * GRAIN)
        return j.loops->extremes(x, n, low, high);
    for (int k = 0; k < 64; k++)                /* an interrupt leaves parts out */
        j.good[k] = true;
    pool_for(ctx, 64, 1, reach_part, &j);
    bool good = j.good[0];
    *low = j.low[0], *high = j.high[0];
    for (int k = 1; k < 64; k++) {
        *low = j.low[k] < *low ? j.low[k] : *low;
        *high = j.high[k] > *high ? j.high[k] : *high;
        good &= j.good[k];
    }
    return good;
}

bool ranges_columns(DType dt, const void *x, int64_t n, int64_t m, void *low, void *high)
{
    return loops(dt)->columns(x, n, m, low, high);
}

int64_t ranges_special(DType dt, const void *x, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        if (!isfinite(dt == DT_F32 ? (double)((const float *)x)[i] : ((const double *)x)[i]))
            return i;
    return -1;
}

/* ---- codes ---- */
typedef struct CodeJob {
    const RangeLoops *loops;
    const char *x;
    size_t bytes;
    const Grid *grid;
    const void *grids;
    int64_t m;
    uint8_t *q;
} CodeJob;

static void code_part(void *arg, int64_t begin, int64_t end, int worker)
{
    const CodeJob *j = arg;
    (void)worker;
    j->loops->codes(j->x + (size_t)begin * j->bytes, end - begin, j->grid, j->q + begin);
}

void ranges_codes(Ctx *ctx, DType dt, const void *x, int64_t n, const Grid *g, void *q)
{
    CodeJob j = { .loops = loops(dt), .x = x, .bytes = bytes_of(dt), .grid = g, .q = q };
    share(ctx, n, 1, code_part, &j);
}

static void code_rows(void *arg, int64_t begin, int64_t end, int worker)
{
    const CodeJob *j = arg;
    (void)worker;
    for (int64_t i = begin; i < end; i++)
        j->loops->codes_row(j->x + (size_t)(i * j->m) * j->bytes, j->m, j->grids, j->q + i * j->m);
}

static void put_number(DType dt, void *to, int64_t i, double v)
{
    if (dt == DT_F32)
        ((float *)to)[i] = (float)v;
    else
        ((double *)to)[i] = v;
}

void ranges_codes_columns(Ctx *ctx, DType dt, const void *x, int64_t n, int64_t m, const Grid *g,
                          void *memory, void *q)
{
    CodeJob j = { .loops = loops(dt), .x = x, .bytes = bytes_of(dt), .grids = memory, .m = m,
                  .q = q };
    for (int64_t k = 0; k < m; k++) {
        put_number(dt, memory, k, g[k].scale);
        put_number(dt, memory, m + k, g[k].zero);
        put_number(dt, memory, 2 * m + k, g[k].low - g[k].zero);
        put_number(dt, memory, 3 * m + k, g[k].high - g[k].zero);
    }
    share(ctx, n, m, code_rows, &j);
}

static void rounded_part(void *arg, int64_t begin, int64_t end, int worker)
{
    const CodeJob *j = arg;
    size_t from = (size_t)begin * j->bytes;
    (void)worker;
    j->loops->rounded(j->x + from, end - begin, j->grid, (char *)j->q + from);
}

void ranges_rounded(Ctx *ctx, DType dt, const void *x, int64_t n, const Grid *g, void *out)
{
    CodeJob j = { .loops = loops(dt), .x = x, .bytes = bytes_of(dt), .grid = g, .q = out };
    share(ctx, n, 1, rounded_part, &j);
}

/* ---- sums of products ---- */
typedef struct ScaleJob {
    const RangeLoops *loops;
    char *x;
    int64_t n;
    size_t bytes;
    const void *scales, *bias;
    bool relu;
} ScaleJob;

static void scale_rows(void *arg, int64_t begin, int64_t end, int worker)
{
    const ScaleJob *j = arg;
    (void)worker;
    j->loops->scale(j->x + (size_t)(begin * j->n) * j->bytes, end - begin, j->n, j->scales,
                    j->bias, j->relu);
}

void ranges_scale(Ctx *ctx, DType dt, void *x, int64_t rows, int64_t n, const void *scales,
                  const void *bias, bool relu)
{
    ScaleJob j = { .loops = loops(dt), .x = x, .n = n, .bytes = bytes_of(dt), .scales = scales,
                   .bias = bias, .relu = relu };
    share(ctx, rows, n, scale_rows, &j);
}

typedef struct SumJob {
    const RangeLoops *loops;
    const int64_t *sums, *less;
    char *out;
    int64_t n;
    size_t bytes;
    const void *scales, *bias;
    bool relu;
} SumJob;

static void sum_rows(void *arg, int64_t begin, int64_t end, int worker)
{
    const SumJob *j = arg;
    (void)worker;
    j->loops->sums(j->sums + begin * j->n, end - begin, j->n, j->less, j->scales, j->bias, j->relu,
                   j->out + (size_t)(begin * j->n) * j->bytes);
}

void ranges_sums(Ctx *ctx, DType dt, const int64_t *sums, int64_t rows, int64_t n,
                 const int64_t *less, const void *scales, const void *bias, bool relu, void *out)
{
    SumJob j = { .loops = loops(dt), .sums = sums, .less = less, .out = out, .n = n,
                 .bytes = bytes_of(dt), .scales = scales, .bias = bias, .relu = relu };
    share(ctx, rows, n, sum_rows, &j);
}

typedef struct FewJob {
    const RangeTable *table;
    Ctx *ctx;
    const int8_t *a, *b;
    int64_t step, k, n;
    int64_t *sums;
} FewJob;

static void few_columns(void *arg, int64_t begin, int64_t end, int worker)
{
    const FewJob *j = arg;
    int32_t sum[RANGES_WIDTH];
    (void)worker;
    for (int64_t at = begin; at < end && !*j->ctx->interrupt; at += RANGES_WIDTH) {
        int64_t n = end - at < RANGES_WIDTH ? end - at : RANGES_WIDTH;
        for (int64_t k = 0; k == 0 || k < j->k; k += RANGES_DEPTH) {
            int64_t depth = j->k - k < RANGES_DEPTH ? j->k - k : RANGES_DEPTH;
            j->table->few(j->a + k, j->b + k * j->step + at, j->step, depth, n, sum);
            for (int64_t i = 0; i < n; i++)
                j->sums[at + i] = (k ? j->sums[at + i] : 0) + sum[i];
        }
    }
}

void ranges_few(Ctx *ctx, const int8_t *a, const int8_t *b, int64_t step, int64_t k, int64_t n,
                int64_t *sums)
{
    FewJob j = { .table = table(), .ctx = ctx, .a = a, .b = b, .step = step, .k = k, .n = n,
                 .sums = sums };
    if (n * k < (1 << 20))
        few_columns(&j, 0, n, 0);
    else
        pool_for(ctx, n, 256, few_columns, &j);
}

/* ---- errors ---- */
typedef struct ErrorJob {
    const RangeLoops *loops;
    const char *x;
    int64_t n;
    size_t bytes;
    const Grid *grid;
    int count;
    double sum[RANGES_STRIP / RANGES_BLOCK][RANGES_GRIDS];
} ErrorJob;

static void error_part(void *arg, int64_t begin, int64_t end, int worker)
{
    ErrorJob *j = arg;
    (void)worker;
    for (int64_t b = begin; b < end; b++) {
        int64_t from = b * RANGES_BLOCK, left = j->n - from;
        for (int k = 0; k < j->count; k++)
            j->sum[b][k] = j->loops->error(j->x + (size_t)from * j->bytes,
                                           left < RANGES_BLOCK ? left : RANGES_BLOCK,
                                           &j->grid[k]);
    }
}

void ranges_errors(Ctx *ctx, DType dt, const void *x, int64_t n, const Grid *g, int count,
                   double *error)
{
    ErrorJob j = { .loops = loops(dt), .x = x, .n = n, .bytes = bytes_of(dt), .grid = g,
                   .count = count };
    int64_t blocks = (n + RANGES_BLOCK - 1) / RANGES_BLOCK;
    if (blocks < 4)
        error_part(&j, 0, blocks, 0);
    else
        pool_for(ctx, blocks, 1, error_part, &j);
    for (int64_t b = 0; b < blocks; b++)
        for (int k = 0; k < count; k++)
            error[k] += j.sum[b][k];
}

/* ---- histograms ---- */
void ranges_histogram(DType dt, const void *x, int64_t n, double low, double high, int64_t bins,
                      bool sizes, int64_t *counts)
{
    double part = isinf(high - low) ? 0.5 : 1, from = low * part, width = high * part - from;
    for (int64_t i = 0; i < n; i++) {
        double v = dt == DT_F32 ? (double)((const float *)x)[i] : ((const double *)x)[i];
        v = sizes ? fabs(v) : v;
        int64_t at = (int64_t)((v * part - from) / width * (double)bins);
        counts[at < bins ? at : bins - 1] += v != 0;
    }
}
