/* Rows of named distributions: their parameters are checked against the domains of the table below,
 * broadcast, and handed to kernels/random. */
#include "builtins/arrays/making.h"
#include "builtins/rows/rows.h"

#include "core/base/error.h"
#include "kernels/random/draw.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

typedef enum Domain { FINITE, NOT_NEGATIVE, POSITIVE, CHANCE, SUCCESS, RATE, TRIALS } Domain;

/* most: what a count of 64 bits still holds, ten standard deviations and more above the mean; whole
 * numbers that doubles count. */
static const struct { double least, most; bool open; const char *must; } domains[] = {
    [FINITE] = { -INFINITY, INFINITY, false, "must be finite" },
    [NOT_NEGATIVE] = { 0, INFINITY, false, "must be 0 or more, and finite" },
    [POSITIVE] = { 0, INFINITY, true, "must be above 0, and finite" },
    [CHANCE] = { 0, 1, false, "must be from 0 to 1" },
    [SUCCESS] = { 0, 1, true, "must be above 0 and at most 1" },
    [RATE] = { 0, 9.2e18, false, "must be from 0 to 9.2e18" },
    [TRIALS] = { 0, 0x1p53, false, "must be a whole number from 0 to 2^53" },
};

static const struct Named {
    const char *name;
    Distribution what;
    const char *parameter[DRAW_PARAMETERS];
    Domain domain[DRAW_PARAMETERS];
    const char *call;               /* one that works */
} table[] = {
    { "uniform", DRAW_UNIFORM, { "low", "high" }, { FINITE, FINITE }, "uniform(-1, 1, (3,))" },
    { "normal", DRAW_NORMAL, { "mean", "sigma" }, { FINITE, NOT_NEGATIVE }, "normal(5, 2, (3,))" },
    { "exponential", DRAW_EXPONENTIAL, { "scale" }, { NOT_NEGATIVE }, "exponential(2, (3,))" },
    { "gamma", DRAW_GAMMA, { "shape", "scale" }, { NOT_NEGATIVE, NOT_NEGATIVE },
      "gamma(2, 1, (3,))" },
    { "beta", DRAW_BETA, { "a", "b" }, { POSITIVE, POSITIVE }, "beta(2, 3, (3,))" },
    { "lognormal", DRAW_LOGNORMAL, { "mean", "sigma" }, { FINITE, NOT_NEGATIVE },
      "lognormal(0, 1, (3,))" },
    { "student", DRAW_STUDENT, { "df" }, { POSITIVE }, "student(5, (3,))" },
    { "poisson", DRAW_POISSON, { "lam" }, { RATE }, "poisson(4, (3,))" },
    { "binomial", DRAW_BINOMIAL, { "n", "p" }, { TRIALS, CHANCE }, "binomial(10, 0.5, (3,))" },
    { "geometric", DRAW_GEOMETRIC, { "p" }, { SUCCESS }, "geometric(0.25, (3,))" },
};
enum { NAMED = sizeof table / sizeof *table };

/* Argument 0 of the row: a distribution of numbers, or of counts. */
static const struct Named *named(OpCall *c, bool counts)
{
    const char *name = arg_str(c, 0)->text;
    for (int i = 0; i < NAMED; i++)
        if (strcmp(table[i].name, name) == 0 && (table[i].what >= DRAW_POISSON) == counts)
            return &table[i];
    arg_error(c, 0, ERR_VALUE, "there is no distribution of %s %.60s",
              counts ? "counts" : "numbers", name);
}


/* ---- parameters ---- */

/* scale = -1, scale[2, 0] = -1. */
static void put_place(Buf *b, const char *name, const Tensor *t, int64_t at)
{
    int64_t index[TENSOR_RANK_MAX];
    buf_puts(b, name);
    for (int a = t->rank - 1; a >= 0; a--) {
        index[a] = at % tensor_shape(t)[a];
        at /= tensor_shape(t)[a];
    }
    for (int a = 0; a < t->rank; a++)
        buf_printf(b, "%s%lld", a ? ", " : "[", (long long)index[a]);
    if (t->rank)
        buf_puts(b, "]");
}

/* The help's names are its own, so that it stands where the library calls as well. */
static _Noreturn void refuse(OpCall *c, ErrKind kind, const char *name, const char *call,
                             const char *fmt, ...) __attribute__((format(printf, 5, 6)));
static _Noreturn void refuse(OpCall *c, ErrKind kind, const char *name, const char *call,
                             const char *fmt, ...)
{
    Buf text;
    va_list args;
    buf_init(&text, &c->in->ctx);
    va_start(args, fmt);
    buf_vprintf(&text, fmt, args);
    va_end(args);
    Error *e = err_new(&c->in->ctx, kind, "%s: %s", name, buf_cstr(&text));
    buf_free(&text);
    err_help(e, "random.%s", call);
    e->example = true;
    err_throw(e);
}
#define REFUSE(c, d, kind, ...) refuse(c, kind, (d)->name, (d)->call, __VA_ARGS__)

static void check(OpCall *c, const struct Named *d, int k, const Tensor *t)
{
    Domain domain = d->domain[k];
    double least = domains[domain].least, most = domains[domain].most;
    const double *v = (const double *)t->data;
    for (int64_t i = 0; i < t->size; i++) {
        bool inside = isfinite(v[i]) && v[i] >= least && v[i] <= most &&
                      !(domains[domain].open && v[i] == least) &&
                      (domain != TRIALS || v[i] == floor(v[i]));
        if (inside)
            continue;
        Buf b;
        char place[160];
        buf_init(&b, &c->in->ctx);
        put_place(&b, d->parameter[k], t, i);
        snprintf(place, sizeof place, "%s", buf_cstr(&b));
        buf_free(&b);
        REFUSE(c, d, ERR_VALUE, "%s = %.15g, and it %s", place, v[i], domains[domain].must);
    }
}

/* Argument i in doubles, row by row; checked. */
static Tensor *parameter(OpCall *c, const struct Named *d, int k)
{
    Ctx *ctx = &c->in->ctx;
    Value v = v_plain(c->args[1 + k]);
    char what[80];
    if (!arg_given(c, 1 + k))
        REFUSE(c, d, ERR_TYPE, "%s is missing", d->parameter[k]);
    if (!v_is_numeric(v) && v.tag != V_RANGE)
        REFUSE(c, d, ERR_TYPE, "%s is %s, not a number or a tensor of numbers", d->parameter[k],
               v_describe_a(v, what, sizeof what));
    Tensor *t = arg_tensor(c, 1 + k);
    if (dtype_info(t->dtype)->kind == 'c')
        REFUSE(c, d, ERR_DTYPE, "%s is complex", d->parameter[k]);
    t = op_keep(c, tensor_cast(ctx, t, DT_F64));
    t = op_keep(c, tensor_compact(ctx, t));
    check(c, d, k, t);
    return t;
}

/* The shape that size says, or that of the parameters. */
static int shape_of(OpCall *c, const struct Named *d, Tensor *const *p, int count, int64_t *shape)
{
    int64_t both[TENSOR_RANK_MAX];
    char a[128], b[128];
    bool asked = c->count > c->fixed && arg_given(c, c->fixed);
    int rank = asked ? made_shape(c, c->fixed, shape) : 0, bad;
    for (int k = 0; k < count; k++) {
        int r = shape_broadcast(p[k]->rank, tensor_shape(p[k]), rank, shape, both, &bad);
        bool same = r == rank && memcmp(both, shape, (size_t)rank * sizeof *both) == 0;
        if (r < 0 || (asked && !same))
            REFUSE(c, d, ERR_SHAPE, "%s of shape (%s) does not broadcast to %s (%s)",
                   d->parameter[k], shape_text(a, sizeof a, p[k]->rank, tensor_shape(p[k])),
                   asked ? "size" : "the other's", shape_text(b, sizeof b, rank, shape));
        memcpy(shape, both, (size_t)r * sizeof *both);
        rank = r;
    }
    return rank;
}

static DrawParameter spread(OpCall *c, Tensor *t, int rank, const int64_t *shape)
{
    if (t->size == 1)
        return (DrawParameter){ (const double *)t->data, false };
    Tensor *wide = op_keep(c, tensor_broadcast(&c->in->ctx, t, rank, shape));
    wide = op_keep(c, tensor_compact(&c->in->ctx, wide));
    return (DrawParameter){ (const double *)wide->data, true };
}

static void check_range(OpCall *c, const struct Named *d, const DrawParameter *p, int64_t n)
{
    for (int64_t i = 0; d->what == DRAW_UNIFORM && i < n; i++) {
        double low = p[0].data[p[0].each ? i : 0], high = p[1].data[p[1].each ? i : 0];
        if (low <= high && isfinite(high - low)) {
            if (!p[0].each && !p[1].each)
                return;
            continue;
        }
        REFUSE(c, d, ERR_VALUE, "low = %.15g and high = %.15g, and high %s", low, high,
               low > high ? "must not be below low" : "- low must be finite");
    }
}

/* dtype= of numbers that are not whole. */
static DType number_dtype(OpCall *c, int i, const Device *on)
{
    DType dt = made_dtype(c, i, on, DT_F64);
    if (dtype_info(dt)->kind != 'f')
        arg_error(c, i, ERR_DTYPE, "random numbers of dtype %s are not made; f64, f32, f16 and "
                  "bf16 are", dtype_name(dt));
    return dt;
}

static Value drawn(OpCall *c, bool counts)
{
    Interp *in = c->in;
    const struct Named *d = named(c, counts);
    int count = d->parameter[1] ? 2 : 1;
    Tensor *t[DRAW_PARAMETERS];
    int64_t shape[TENSOR_RANK_MAX];
    for (int k = 0; k < count; k++)
        t[k] = parameter(c, d, k);
    int rank = shape_of(c, d, t, count, shape);
    Device *on = made_on(c, 4);
    DType dt = counts ? made_dtype(c, 3, on, DT_I64) : number_dtype(c, 3, on);
    Tensor *out = op_keep(c, tensor_new(&in->ctx, counts ? DT_I64 : DT_F64, rank, shape));
    DrawParameter p[DRAW_PARAMETERS] = { { NULL } };
    for (int k = 0; k < count; k++)
        p[k] = spread(c, t[k], rank, shape);
    check_range(c, d, p, out->size);
    RngStream s = random_open(in);
    rng_draw(&in->ctx, &s, d->what, p, out->data, out->size);
    random_close(in, &s);
    return made_result(c, on, op_keep(c, tensor_cast(&in->ctx, out, dt)));
}

Value op_run_draw(OpCall *c) { return drawn(c, false); }
Value op_run_draw_counts(OpCall *c) { return drawn(c, true); }

/* ---- vectors ---- */

#define REFUSE_VECTORS(c, kind, ...) \
    refuse(c, kind, "multivariate_normal", "multivariate_normal([0, 0], [2, 1; 1, 2], (3,))", \
           __VA_ARGS__)

static Tensor *doubles(OpCall *c, int i, int rank)
{
    const char *name = arg_name(c, i);
    char what[80];
    bool numbers = v_is_numeric(v_plain(c->args[i])) || c->args[i].tag == V_RANGE;
    Tensor *t = numbers ? arg_tensor(c, i) : NULL;
    if (!t || t->rank != rank || dtype_info(t->dtype)->kind == 'c')
        REFUSE_VECTORS(c, t ? ERR_SHAPE : ERR_TYPE, "%s is %s, not a real %s", name,
                      v_describe_a(c->args[i], what, sizeof what), rank == 1 ? "vector" : "matrix");
    t = op_keep(c, tensor_copy(&c->in->ctx, op_keep(c, tensor_cast(&c->in->ctx, t, DT_F64))));
    for (int64_t k = 0; k < t->size; k++)
        if (!isfinite(((const double *)t->data)[k]))
            REFUSE_VECTORS(c, ERR_VALUE, "%s has a number that is not finite", name);
    return t;
}

static void check_symmetric(OpCall *c, const double *a, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < i; j++)
            if (fabs(a[i * n + j] - a[j * n + i]) >
                1e-8 * (fabs(a[i * n + j]) + fabs(a[j * n + i])))
                REFUSE_VECTORS(c, ERR_VALUE, "cov is not symmetric: cov[%lld, %lld] is %.15g and "
                              "cov[%lld, %lld] is %.15g", (long long)i, (long long)j,
                              a[i * n + j], (long long)j, (long long)i, a[j * n + i]);
}

/* The factor of the covariance; its rank in *rank. */
static const double *factor(OpCall *c, int64_t n, int64_t *rank)
{
    Tensor *cov = doubles(c, 1, 2);
    double *a = (double *)cov->data;
    const int64_t *shape = tensor_shape(cov);
    if (shape[0] != n || shape[1] != n)
        REFUSE_VECTORS(c, ERR_SHAPE, "cov is %lld×%lld, and mean has %lld elements",
                      (long long)shape[0], (long long)shape[1], (long long)n);
    if (n > RNG_VARIABLES)
        REFUSE_VECTORS(c, ERR_VALUE, "%lld variables, more than %d", (long long)n, RNG_VARIABLES);
    check_symmetric(c, a, n);
    Tensor *L = op_keep(c, tensor_new(&c->in->ctx, DT_F64, 2, shape));
    *rank = rng_covariance(a, (double *)L->data, n);
    if (*rank < 0)
        REFUSE_VECTORS(c, ERR_NUMERIC, "cov has a negative eigenvalue, so it is no covariance");
    return (const double *)L->data;
}

Value op_run_draw_vectors(OpCall *c)
{
    Interp *in = c->in;
    Tensor *mean = doubles(c, 0, 1);
    int64_t n = tensor_shape(mean)[0], rank, shape[TENSOR_RANK_MAX + 1], rows = 1;
    const double *L = factor(c, n, &rank);
    bool asked = c->count > c->fixed && arg_given(c, c->fixed);
    int axes = asked ? made_shape(c, c->fixed, shape) : 0;
    if (axes == TENSOR_RANK_MAX)
        REFUSE_VECTORS(c, ERR_SHAPE, "the result would have %d axes", axes + 1);
    shape[axes] = n;
    Device *on = made_on(c, 3);
    DType dt = number_dtype(c, 2, on);
    Tensor *out = op_keep(c, tensor_new(&in->ctx, DT_F64, axes + 1, shape));
    rows = n ? out->size / n : 0;
    RngStream s = random_open(in);
    rng_normal_rows(&in->ctx, &s, (const double *)mean->data, L, n, rank, (double *)out->data,
                    rows);
    random_close(in, &s);
    return made_result(c, on, op_keep(c, tensor_cast(&in->ctx, out, dt)));
}
