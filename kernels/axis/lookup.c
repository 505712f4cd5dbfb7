/* Sorted tables: see lookup.h. */
#include "kernels/axis/lookup.h"
#include "core/memory/pool.h"

#include <math.h>
#include <string.h>

/* ---- histograms ---- */

/* The bin of a value between the first and the last edge, which belongs to the last bin. */
static inline int64_t bin_of(const LookupBins *b, double v)
{
    const double *e = b->edges;
    if (b->per_width > 0) {
        int64_t k = (int64_t)((v - e[0]) * b->per_width);
        k = k < b->bins ? k : b->bins - 1;
        k -= v < e[k];                              /* the product is rounded: */
        k += (k + 1 < b->bins) & (v >= e[k + 1]);    /* the edges decide */
        return k;
    }
    int64_t low = 0, count = b->bins;               /* last k with e[k] <= v */
    while (count > 1) {
        int64_t half = count / 2;
        low = e[low + half] <= v ? low + half : low;
        count -= half;
    }
    return low;
}

#define T double
#define NAME(f) f##_f64
#include "kernels/axis/lookup_count.tmpl.h"
#define T float
#define NAME(f) f##_f32
#include "kernels/axis/lookup_count.tmpl.h"

typedef struct CountJob {
    const LookupBins *bins;
    bool single;
    const char *x;
    int64_t *counts, *partial;
} CountJob;

static void count_rows(const CountJob *job, int64_t begin, int64_t end, int64_t *rows, int64_t step)
{
    if (job->single)
        count_f32(job->bins, (const float *)job->x + begin, end - begin, rows, step);
    else
        count_f64(job->bins, (const double *)job->x + begin, end - begin, rows, step);
}

enum { FEW_BINS = 256, FEW_FROM = 4096 };        /* where four rows of counters pay */

static void count_part(void *arg, int64_t begin, int64_t end, int worker)
{
    const CountJob *job = arg;
    int64_t bins = job->bins->bins, rows[4 * FEW_BINS];
    int64_t *counts = worker == 0 ? job->counts : job->partial + (worker - 1) * bins;
    if (bins > FEW_BINS || end - begin < FEW_FROM) {
        count_rows(job, begin, end, counts, 0);
        return;
    }
    memset(rows, 0, (size_t)(4 * bins) * sizeof *rows);
    count_rows(job, begin, end, rows, bins);
    for (int64_t i = 0; i < 4 * bins; i++)
        counts[i % bins] += rows[i];
}

enum { STRIP = 1 << 16 };        /* elements between two looks at the interrupt flag */

void lookup_count(Ctx *ctx, const LookupBins *bins, DType dt, const void *x, int64_t n,
                  int64_t *counts, int64_t *partial)
{
    CountJob job = {
        .bins = bins, .single = dt == DT_F32, .x = x, .counts = counts, .partial = partial
    };
    if (partial) {
        pool_for(ctx, n, STRIP, count_part, &job);
        for (int64_t w = 1; w < pool_threads(ctx); w++)
            for (int64_t k = 0; k < bins->bins; k++)
                counts[k] += partial[(w - 1) * bins->bins + k];
        return;
    }
    for (int64_t i = 0; i < n && !*ctx->interrupt; i += STRIP)
        count_part(&job, i, n - i < STRIP ? n : i + STRIP, 0);
}

void lookup_weigh(Ctx *ctx, const LookupBins *bins, DType dt, const void *x, const double *weights,
                  int64_t n, double *sums)
{
    for (int64_t i = 0; i < n && !*ctx->interrupt; i += STRIP) {
        int64_t count = n - i < STRIP ? n - i : STRIP;
        if (dt == DT_F32)
            weigh_f32(bins, (const float *)x + i, weights + i, count, sums);
        else
            weigh_f64(bins, (const double *)x + i, weights + i, count, sums);
    }
}

/* ---- places ---- */

enum { PLACES = 1 << 14 };       /* values between two looks at the interrupt flag */

#define T double
#define NAME(f) f##_f64
#define IS_NAN(v) isnan(v)
#include "kernels/axis/lookup_places.tmpl.h"
#define T int64_t
#define NAME(f) f##_i64
#define IS_NAN(v) false
#include "kernels/axis/lookup_places.tmpl.h"

/* ---- broken lines ---- */

typedef struct LineJob {
    const LookupLine *line;
    const double *x;
    double *out;
} LineJob;

/* Last k with xp[k] <= v, for xp[0] <= v < xp[m - 1]; looks near the last answer first, as
 * neighbours often ask for neighbours. */
static int64_t piece_of(const LookupLine *l, double v, int64_t near)
{
    const double *xp = l->xp;
    if (xp[near] <= v && near + 1 < l->m) {
        if (v < xp[near + 1])
            return near;
        if (near + 2 < l->m && v < xp[near + 2])
            return near + 1;
    }
    int64_t low = 0, count = l->m;
    while (count > 1) {
        int64_t half = count / 2;
        low = xp[low + half] <= v ? low + half : low;
        count -= half;
    }
    return low;
}

/* On the piece from point k to the next; from its other end where an infinity makes the
 * first form nan. */
static double on_piece(const LookupLine *l, int64_t k, double v)
{
    double x0 = l->xp[k], x1 = l->xp[k + 1], f0 = l->fp[k * l->step], f1 = l->fp[(k + 1) * l->step];
    if (x0 == v)
        return f0;
    double slope = (f1 - f0) / (x1 - x0), r = slope * (v - x0) + f0;
    if (r == r)
        return r;
    r = slope * (v - x1) + f1;
    return r != r && f0 == f1 ? f0 : r;
}

static void line_part(void *arg, int64_t begin, int64_t end, int worker)
{
    const LineJob *job = arg;
    const LookupLine *l = job->line;
    double first = l->xp[0], last = l->xp[l->m - 1];
    int64_t k = 0;
    (void)worker;
    for (int64_t i = begin; i < end; i++) {
        double v = job->x[i], *out = job->out + i * l->step;
        if (v < first) {
            *out = l->left;
        } else if (v > last) {
            *out = l->right;
        } else if (v == last) {
            *out = l->fp[(l->m - 1) * l->step];
        } else if (v >= first) {
            k = piece_of(l, v, k);
            *out = on_piece(l, k, v);
        } else {
            *out = l->nan_gives;
        }
    }
}

void lookup_line(Ctx *ctx, const LookupLine *line, const double *x, int64_t n, double *out)
{
    LineJob job = { .line = line, .x = x, .out = out };
    pool_for(ctx, n, 1 << 13, line_part, &job);
}
