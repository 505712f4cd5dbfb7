/* Distributions by strips: what every element needs is drawn for the whole strip by the loops of
 * the instruction set, the rest element by element. See draw.h.
 *
 * Gamma: G. Marsaglia, W. W. Tsang, A simple method for generating gamma variables (2000).
 * Poisson and binomial: inversion of small means; else W. Hörmann's transformed rejection (1993),
 * with logarithms of probabilities after C. Loader (2000). */
#include "kernels/random/draw.h"

#include "core/memory/pool.h"

#include <float.h>
#include <math.h>
#include <string.h>

enum {
    STRIP = 512,                    /* elements */
    TABLE = 96, GUIDES = 64         /* of a cumulative distribution; where a search in it starts */
};

/* Streams of an element's blocks. The first of each are drawn for the strip; attempt k > 0 has
 * those of k * ATTEMPT. */
enum { NORMALS = 0, ACCEPTS = 1, BOOSTS = 2, SECOND = 4, NUMERATOR = 8, SPLITS = 16,
       ATTEMPT = 256 };

typedef struct Draw {
    const RngKernels *kernels;
    RngStream stream;
    Distribution what;
    DrawParameter p[DRAW_PARAMETERS];
    void *out;
    int64_t n;
    const struct Table *table;      /* of the one parameter that there is, or NULL */
} Draw;

/* ---- words ---- */

static double unit(uint32_t high, uint32_t low)
{
    return ((double)(high >> 5) * 0x1p26 + (double)(low >> 6)) * 0x1p-53;
}

/* One block: philox_block makes many at a time. */
static void block(uint64_t key, uint64_t stream, uint64_t counter, uint32_t x[4])
{
    uint32_t k0 = (uint32_t)key, k1 = (uint32_t)(key >> 32);
    x[0] = (uint32_t)counter, x[1] = (uint32_t)(counter >> 32);
    x[2] = (uint32_t)stream, x[3] = (uint32_t)(stream >> 32);
    for (int round = 0; round < 10; round++) {
        uint64_t p0 = (uint64_t)x[0] * 0xD2511F53u, p1 = (uint64_t)x[2] * 0xCD9E8D57u;
        x[0] = (uint32_t)(p1 >> 32) ^ x[1] ^ k0;
        x[2] = (uint32_t)(p0 >> 32) ^ x[3] ^ k1;
        x[1] = (uint32_t)p1;
        x[3] = (uint32_t)p0;
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
}

static void pair(const Draw *d, uint64_t counter, uint64_t stream, double u[2])
{
    uint32_t w[4];
    block(d->stream.key, stream, counter, w);
    u[0] = unit(w[0], w[1]);
    u[1] = unit(w[2], w[3]);
}

typedef void (*Fill)(double *out, const uint32_t *words, int64_t blocks);

/* A strip's numbers from blocks [counter, …) of one stream; out has room for whole lanes. */
static void bulk(const Draw *d, Fill fill, uint64_t counter, uint64_t stream, double *out,
                 int64_t blocks)
{
    uint32_t words[4 * (STRIP + RNG_LANES)];
    blocks = (blocks + RNG_LANES - 1) / RNG_LANES * RNG_LANES;
    d->kernels->blocks(words, d->stream.key, stream, counter, blocks);
    fill(out, words, blocks);
}

/* Uniform numbers of one element, without end. */
typedef struct Source {
    const Draw *draw;
    uint64_t counter, attempt;
    double u[2];
} Source;

static void next(Source *s)
{
    pair(s->draw, s->counter, ++s->attempt * ATTEMPT, s->u);
}

static inline double parameter(const Draw *d, int k, int64_t i)
{
    return d->p[k].data[d->p[k].each ? i : 0];
}

/* ---- logarithms of probabilities ---- */

static double log1p_of(double x)                 /* -1 < x */
{
    double u = 1.0 + x;
    return u == 1.0 ? x : rng_log(u) * (x / (u - 1.0));
}

/* log n! less Stirling's formula. */
static double stirling_rest(double n)
{
    static const double small[16] = {
        0.0, 0.08106146679532725822, 0.04134069595540929409, 0.02767792568499833915,
        0.02079067210376509311, 0.01664469118982119216, 0.01387612882307074800,
        0.01189670994589177010, 0.01041126526197209650, 0.009255462182712732918,
        0.008330563433362871256, 0.007573675487951840795, 0.006942840107209529866,
        0.006408994188004207068, 0.005951370112758847736, 0.005554733551962801371
    };
    if (n < 16)
        return small[(int)n];
    double r = 1.0 / n, z = r * r;
    return r * (1.0 / 12 - z * (1.0 / 360 - z * (1.0 / 1260 - z * (1.0 / 1680))));
}

/* x log(x / m) + m - x without cancellation. */
static double deviance(double x, double m)
{
    double d = x - m;
    if (fabs(d) >= 0.1 * (x + m))
        return x * (rng_log(x) - rng_log(m)) + m - x;
    double v = d / (x + m), s = d * v, term = 2.0 * x * v, z = v * v;
    for (int j = 1; j < 20; j++) {
        term *= z;
        s += term / (2 * j + 1);
    }
    return s;
}

static double log_poisson(double k, double mean)
{
    if (k == 0)
        return -mean;
    return -stirling_rest(k) - deviance(k, mean) - 0.5 * (1.83787706640934548356 + rng_log(k));
}

static double log_binomial(double k, double n, double p)
{
    if (k == 0)
        return n * log1p_of(-p);
    if (k == n)
        return n * rng_log(p);
    double rest = n - k;
    return stirling_rest(n) - stirling_rest(k) - stirling_rest(rest) - deviance(k, n * p) -
           deviance(rest, n * (1.0 - p)) +
           0.5 * (rng_log(n / rest) - rng_log(k) - 1.83787706640934548356);
}

/* ---- gamma ---- */

/* Marsaglia and Tsang's d and c of a shape. */
typedef struct Squeeze { double shape, d, c; } Squeeze;

static void squeeze(Squeeze *q, double shape)
{
    double a = shape < 1 ? shape + 1.0 : shape;
    q->shape = shape;
    q->d = a - 1.0 / 3;
    q->c = 1.0 / sqrt(9.0 * q->d);
}

/* The cube, or less than 0: x and u are rejected. */
static double cube(const Squeeze *q, double x, double u)
{
    double v = 1.0 + q->c * x, z = x * x;
    if (v <= 0)
        return -1;
    v = v * v * v;
    u = 1.0 - u;                                   /* above 0 */
    if (u < 1.0 - 0.0331 * z * z)
        return v;
    return rng_log(u) < 0.5 * z + q->d * (1.0 - v + rng_log(v)) ? v : -1;
}

static double cube_again(const Draw *d, const Squeeze *q, uint64_t counter, uint64_t stream)
{
    double v = -1;
    while (v < 0) {
        double x[2], u[2];
        uint32_t words[4 * RNG_LANES] = { 0 };
        stream += ATTEMPT;
        uint32_t w[4];
        block(d->stream.key, stream + NORMALS, counter, w);
        for (int k = 0; k < 4; k++)
            words[k * RNG_LANES] = w[k];
        double lanes[2 * RNG_LANES];
        rng_base.normal(lanes, words, RNG_LANES);
        memcpy(x, lanes, sizeof x);
        pair(d, counter, stream + ACCEPTS, u);
        v = cube(q, x[0], u[0]);
        if (v < 0)
            v = cube(q, x[1], u[1]);
    }
    return v;
}

/* Small shapes give numbers far below the least double, large ones sums above the largest: their
 * quotients are those of logarithms. */
static bool by_logarithms(const Draw *d, int64_t i)
{
    double a = parameter(d, 0, i), b = parameter(d, 1, i);
    return d->what == DRAW_BETA && !(a >= 1 && b >= 1 && a < 1e300 && b < 1e300);
}

/* n gamma numbers of parameter k, times `by`, or their logarithms. Shape 0 is the number 0. */
static void gammas(const Draw *d, int k, double by, int64_t at, int64_t n, uint64_t stream,
                   double *out)
{
    double x[STRIP + 2 * RNG_LANES], u[STRIP + 2 * RNG_LANES], boost[STRIP + 2 * RNG_LANES];
    uint64_t counter = d->stream.counter + (uint64_t)at;
    bool boosted = false, two = d->p[1].data != NULL;
    Squeeze q = { .shape = -1 };
    bulk(d, d->kernels->normal, counter, stream + NORMALS, x, (n + 1) / 2);
    bulk(d, d->kernels->uniform, counter, stream + ACCEPTS, u, (n + 1) / 2);
    for (int64_t i = 0; i < n; i++) {
        double shape = parameter(d, k, at + i) * by;
        bool logs = two && by_logarithms(d, at + i);
        if (shape != q.shape)
            squeeze(&q, shape);
        double v = cube(&q, x[i], u[i]);
        if (v < 0)
            v = cube_again(d, &q, counter + (uint64_t)i, stream);
        out[i] = logs ? rng_log(q.d) + rng_log(v) : q.d * v;
        if (shape >= 1)
            continue;
        if (!boosted)
            bulk(d, d->kernels->exponential, counter, stream + BOOSTS, boost, (n + 1) / 2);
        boosted = true;
        double less = boost[i] / shape;
        less = less <= DBL_MAX ? less : DBL_MAX;   /* of shape 0 too */
        out[i] = logs ? out[i] - less : out[i] * rng_exp(-less);
    }
}

static void strip_gamma(const Draw *d, int64_t at, int64_t n, double *out)
{
    gammas(d, 0, 1, at, n, NORMALS, out);
    for (int64_t i = 0; i < n; i++)
        out[i] *= parameter(d, 1, at + i);
}

static void strip_beta(const Draw *d, int64_t at, int64_t n, double *out)
{
    double other[STRIP];
    gammas(d, 0, 1, at, n, NORMALS, out);
    gammas(d, 1, 1, at, n, SECOND, other);
    for (int64_t i = 0; i < n; i++)
        out[i] = by_logarithms(d, at + i) ? 1.0 / (1.0 + rng_exp(other[i] - out[i]))
                                          : out[i] / (out[i] + other[i]);
}

static void strip_student(const Draw *d, int64_t at, int64_t n, double *out)
{
    double x[STRIP + 2 * RNG_LANES];
    gammas(d, 0, 0.5, at, n, NORMALS, out);
    bulk(d, d->kernels->normal, d->stream.counter + (uint64_t)at, NUMERATOR, x, (n + 1) / 2);
    for (int64_t i = 0; i < n; i++)
        out[i] = x[i] / sqrt(out[i] / (0.5 * parameter(d, 0, at + i)));
}

/* ---- one transformation of a number each ---- */

static void strip_uniform(const Draw *d, int64_t at, int64_t n, double *out)
{
    for (int64_t i = 0; i < n; i++) {
        double low = parameter(d, 0, at + i);
        out[i] = low + (parameter(d, 1, at + i) - low) * out[i];
    }
}

static void strip_normal(const Draw *d, int64_t at, int64_t n, double *out)
{
    for (int64_t i = 0; i < n; i++)
        out[i] = parameter(d, 0, at + i) + parameter(d, 1, at + i) * out[i];
}

static void strip_exponential(const Draw *d, int64_t at, int64_t n, double *out)
{
    for (int64_t i = 0; i < n; i++)
        out[i] *= parameter(d, 0, at + i);
}

static void strip_lognormal(const Draw *d, int64_t at, int64_t n, double *out)
{
    strip_normal(d, at, n, out);
    d->kernels->powers(out, n);
}

/* ---- whole numbers ---- */

/* P(X <= k) of a small mean, for one parameter of all elements. */
typedef struct Table {
    int count, guide[GUIDES];
    double below[TABLE];
} Table;

/* What decides of a Poisson or a binomial number. `flip`: of the failures, p being above 1/2. */
typedef struct Law {
    bool binomial, small, flip, fixed, scaled;
    double a0, a1;              /* the parameters that this is of */
    double mean, n, p, odds, first;     /* first: P(X = 0) of a small mean */
    double a, b, v, middle, log_scale;
} Law;

enum { SMALL_MEAN = 10 };

static void law_set(Law *w, bool binomial, double a0, double a1)
{
    *w = (Law){ .binomial = binomial, .a0 = a0, .a1 = a1, .mean = a0 };
    if (binomial) {
        w->flip = a1 > 0.5;
        w->n = a0;
        w->p = w->flip ? 1.0 - a1 : a1;
        w->odds = w->p / (1.0 - w->p);
        w->mean = w->n * w->p;
    }
    w->small = w->mean < SMALL_MEAN;
    w->fixed = w->mean == 0;
    if (w->small) {
        w->first = rng_exp(binomial ? w->n * log1p_of(-w->p) : -w->mean);
        return;
    }
    double sd = sqrt(binomial ? w->mean * (1.0 - w->p) : w->mean);
    if (binomial) {
        w->b = 1.15 + 2.53 * sd;
        w->a = -0.0873 + 0.0248 * w->b + 0.01 * w->p;
        w->v = 0.92 - 4.2 / w->b;
        w->middle = w->mean + 0.5;
    } else {
        w->b = 0.931 + 2.53 * sd;
        w->a = -0.059 + 0.02483 * w->b;
        w->v = 0.9277 - 3.6224 / (w->b - 2.0);
        w->middle = w->mean + 0.43;
    }
}

#define OVER4(k) 1.0 / (k), 1.0 / ((k) + 1), 1.0 / ((k) + 2), 1.0 / ((k) + 3)
#define OVER16(k) OVER4(k), OVER4((k) + 4), OVER4((k) + 8), OVER4((k) + 12)
static const double one_over[] = {
    0, OVER16(1), OVER16(17), OVER16(33), OVER16(49), OVER16(65), OVER16(81)
};
static_assert(sizeof one_over / sizeof *one_over > TABLE, "a reciprocal for each count");

/* P(X = k) from P(X = k - 1). */
static double law_step(const Law *w, double p, int k)
{
    return p * ((w->binomial ? (w->n - (k - 1)) * w->odds : w->mean) * one_over[k]);
}

/* A sum that ends below 1 by its rounding ends at the last number that the table has. */
static int law_search(const Law *w, double u)
{
    double p = w->first, sum = p;
    int k = 0;
    while (u >= sum && k < TABLE - 1) {
        p = law_step(w, p, ++k);
        sum += p;
    }
    return w->binomial && k > w->n ? (int)w->n : k;
}

static void table_make(Table *t, const Law *w)
{
    double p = w->first, sum = p;
    int k = 0;
    t->count = w->binomial && w->n < TABLE - 1 ? (int)w->n + 1 : TABLE;
    for (; k < t->count; k++, p = law_step(w, p, k), sum += p)
        t->below[k] = sum;
    t->below[t->count - 1] = 2;
    k = 0;
    for (int g = 0; g < GUIDES; g++) {
        while (t->below[k] <= (double)g / GUIDES)
            k++;
        t->guide[g] = k;
    }
}

static int table_search(const Table *t, double u)
{
    int k = t->guide[(int)(u * GUIDES)];
    while (u >= t->below[k])
        k++;
    return k;
}

/* Looked at by one number in seven. */
static double law_scale(Law *w)
{
    if (!w->scaled && w->binomial) {
        double m = floor((w->n + 1.0) * w->p), sd = sqrt(w->mean * (1.0 - w->p));
        w->log_scale = rng_log((2.83 + 5.1 / w->b) * sd) + log_binomial(m, w->n, w->p);
    } else if (!w->scaled) {
        w->log_scale = rng_log(1.1239 + 1.1328 / (w->b - 3.4));
    }
    w->scaled = true;
    return w->log_scale;
}

static double law_reject(Law *w, Source *s)
{
    for (;; next(s)) {
        double u = s->u[0] - 0.5, v = 1.0 - s->u[1], us = 0.5 - fabs(u);
        double k = floor((2.0 * w->a / us + w->b) * u + w->middle);
        if (us >= 0.07 && v <= w->v)
            return k;
        if (!(k >= 0) || (w->binomial ? k > w->n : us < 0.013 && v > us))
            continue;
        double log_v = rng_log(v / (w->a / (us * us) + w->b)) + law_scale(w);
        if (log_v <= (w->binomial ? log_binomial(k, w->n, w->p) : log_poisson(k, w->mean)))
            return k;
    }
}

static void strip_counts(const Draw *d, int64_t at, int64_t n, int64_t *out)
{
    double u[2 * (STRIP + RNG_LANES)];
    bool binomial = d->what == DRAW_BINOMIAL;
    uint64_t counter = d->stream.counter + (uint64_t)at;
    Law w = { .a0 = -1 };
    bulk(d, d->kernels->uniform, counter, 0, u, n);
    for (int64_t i = 0; i < n; i++) {
        double a0 = parameter(d, 0, at + i), a1 = binomial ? parameter(d, 1, at + i) : 0;
        if (a0 != w.a0 || a1 != w.a1)
            law_set(&w, binomial, a0, a1);
        Source s = { d, counter + (uint64_t)i, 0, { u[2 * i], u[2 * i + 1] } };
        double k = w.fixed ? 0 : d->table ? table_search(d->table, s.u[0])
                 : w.small ? law_search(&w, s.u[0]) : law_reject(&w, &s);
        out[i] = (int64_t)(w.flip ? w.n - k : k);
    }
}

/* Trials up to the first success. */
static void strip_geometric(const Draw *d, int64_t at, int64_t n, int64_t *out)
{
    double e[STRIP + 2 * RNG_LANES], p = -1, rate = 0;
    bulk(d, d->kernels->exponential, d->stream.counter + (uint64_t)at, 0, e, (n + 1) / 2);
    for (int64_t i = 0; i < n; i++) {
        if (parameter(d, 0, at + i) != p) {
            p = parameter(d, 0, at + i);
            rate = p < 1 ? -log1p_of(-p) : (double)INFINITY;
        }
        double k = ceil(e[i] / rate);
        out[i] = k >= 0x1p63 ? INT64_MAX : k < 1 ? 1 : (int64_t)k;
    }
}

/* ---- strips ---- */

static Fill first_fill(const Draw *d)
{
    switch (d->what) {
    case DRAW_UNIFORM: return d->kernels->uniform;
    case DRAW_EXPONENTIAL: return d->kernels->exponential;
    default: return d->kernels->normal;
    }
}

static void draw_strip(const Draw *d, int64_t at, int64_t n)
{
    static void (*const floats[])(const Draw *, int64_t, int64_t, double *) = {
        [DRAW_UNIFORM] = strip_uniform, [DRAW_NORMAL] = strip_normal,
        [DRAW_EXPONENTIAL] = strip_exponential, [DRAW_LOGNORMAL] = strip_lognormal,
        [DRAW_GAMMA] = strip_gamma, [DRAW_BETA] = strip_beta, [DRAW_STUDENT] = strip_student,
    };
    if (d->what == DRAW_GEOMETRIC) {
        strip_geometric(d, at, n, (int64_t *)d->out + at);
        return;
    }
    if (d->what >= DRAW_POISSON) {
        strip_counts(d, at, n, (int64_t *)d->out + at);
        return;
    }
    double numbers[STRIP + 2 * RNG_LANES];
    bool made = d->what == DRAW_GAMMA || d->what == DRAW_BETA || d->what == DRAW_STUDENT;
    if (!made)
        bulk(d, first_fill(d), d->stream.counter + (uint64_t)at, 0, numbers, (n + 1) / 2);
    floats[d->what](d, at, n, numbers);
    memcpy((double *)d->out + at, numbers, (size_t)n * sizeof *numbers);
}

static void draw_strips(void *arg, int64_t begin, int64_t end, int worker)
{
    const Draw *d = arg;
    (void)worker;
    for (int64_t s = begin; s < end; s++)
        draw_strip(d, s * STRIP, d->n - s * STRIP < STRIP ? d->n - s * STRIP : STRIP);
}

void rng_draw(Ctx *ctx, RngStream *stream, Distribution what, const DrawParameter *p, void *out,
              int64_t n)
{
    Draw d = { .kernels = rng_kernels(), .stream = *stream, .what = what, .out = out, .n = n };
    memcpy(d.p, p, sizeof d.p);
    Table table;
    Law w;
    bool counts = what == DRAW_POISSON || what == DRAW_BINOMIAL;
    if (counts && n > GUIDES && !p[0].each && !p[1].each) {
        law_set(&w, what == DRAW_BINOMIAL, *p[0].data, p[1].data ? *p[1].data : 0);
        if (w.small && !w.fixed) {
            table_make(&table, &w);
            d.table = &table;
        }
    }
    int64_t strips = (n + STRIP - 1) / STRIP;
    if (strips <= 8)
        draw_strips(&d, 0, strips, 0);
    else
        pool_for(ctx, strips, 8, draw_strips, &d);
    stream->counter += (uint64_t)n;
}

/* ---- many variables ---- */

int64_t rng_covariance(double *a, double *L, int64_t d)
{
    double largest = 0;
    memset(L, 0, (size_t)(d * d) * sizeof *L);
    for (int64_t i = 0; i < d; i++)
        largest = a[i * d + i] > largest ? a[i * d + i] : largest;
    double tiny = largest * 0x1p-50 * (double)d;
    for (int64_t k = 0; k < d; k++) {
        int64_t p = 0;
        for (int64_t i = 1; i < d; i++)
            p = a[i * d + i] > a[p * d + p] ? i : p;
        for (int64_t i = 0; i < d; i++)
            if (a[i * d + i] < -tiny)
                return -1;
        if (!(a[p * d + p] > tiny)) {
            for (int64_t i = 0; i < d * d; i++)    /* what is left is 0, or it was indefinite */
                if (fabs(a[i]) > 64 * tiny + largest * 0x1p-30)
                    return -1;
            return k;
        }
        double root = sqrt(a[p * d + p]);
        for (int64_t i = 0; i < d; i++)
            L[i * d + k] = a[i * d + p] / root;
        for (int64_t i = 0; i < d; i++)
            for (int64_t j = 0; j < d; j++)
                a[i * d + j] -= L[i * d + k] * L[j * d + k];
        for (int64_t i = 0; i < d; i++)
            a[i * d + p] = a[p * d + i] = 0;
    }
    return d;
}

typedef struct Rows { const double *mean, *L; double *out; int64_t d, rank; } Rows;

/* Row by row in place: z is drawn where the result goes, d numbers a row. */
static void normal_rows(void *arg, int64_t begin, int64_t end, int worker)
{
    const Rows *r = arg;
    double z[RNG_VARIABLES];
    (void)worker;
    for (int64_t i = begin; i < end; i++) {
        double *x = r->out + i * r->d;
        memcpy(z, x, (size_t)r->d * sizeof *z);
        for (int64_t j = 0; j < r->d; j++) {
            double sum = 0;
            for (int64_t k = 0; k < r->rank; k++)
                sum += r->L[j * r->d + k] * z[k];
            x[j] = r->mean[j] + sum;
        }
    }
}

void rng_normal_rows(Ctx *ctx, RngStream *stream, const double *mean, const double *L, int64_t d,
                     int64_t rank, double *out, int64_t n)
{
    Rows r = { mean, L, out, d, rank };
    rng_normal(ctx, stream, DT_F64, out, n * d);
    pool_for(ctx, n, 1 + 65536 / (d * d + 1), normal_rows, &r);
}

/* ---- streams ---- */

void rng_split(RngStream *stream, uint64_t *keys, int64_t count)
{
    for (int64_t i = 0; i < count; i++) {
        uint32_t w[4];
        block(stream->key, SPLITS, stream->counter++, w);
        keys[i] = w[0] | (uint64_t)w[1] << 32;
    }
}
