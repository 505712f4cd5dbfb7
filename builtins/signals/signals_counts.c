/* histogram and interp: bins, ranges and points are read and checked here, kernels/axis/lookup.c
 * finds the places. */
#include "builtins/signals/signals.h"
#include "core/memory/pool.h"
#include "kernels/axis/lookup.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static _Noreturn void no_order(OpCall *c, int i, const Tensor *t)
{
    char help[128];
    snprintf(help, sizeof help, "abs(%s) or real(%s)", arg_text(c, i), arg_text(c, i));
    arg_error_help(c, i, ERR_DTYPE, help, "%s is %s, and complex numbers have no order",
                   arg_text(c, i), dtype_name(t->dtype));
}

static Tensor *real_argument(OpCall *c, int i)
{
    Tensor *t = arg_tensor(c, i);
    if (dtype_info(t->dtype)->kind == 'c')
        no_order(c, i, t);
    return t;
}

static Tensor *dense(OpCall *c, Tensor *t, DType dt)
{
    return op_keep(c, tensor_compact(&c->in->ctx, signals_cast(c, t, dt)));
}

Tensor *signals_vector(OpCall *c, int i, DType dt)
{
    Tensor *t = dt == DT_C128 ? arg_tensor(c, i) : real_argument(c, i);
    char fact[128];
    if (t->rank != 1)
        arg_error(c, i, ERR_SHAPE, "%s must be a vector, but %s %s", arg_name(c, i), arg_text(c, i),
                  shape_fact(fact, sizeof fact, t->rank, tensor_shape(t)));
    return dense(c, t, dt);
}

/* First i with v[i] > v[i + 1] or a nan; -1 if the vector is sorted. */
static int64_t first_descent(const double *v, int64_t n)
{
    if (n == 1 && v[0] != v[0])
        return 0;
    for (int64_t i = 0; i + 1 < n; i++)
        if (!(v[i] <= v[i + 1]))
            return i;
    return -1;
}

/* Argument i, which is t; with `pairs` argument i + 1 belongs to it element by element. */
static void require_sorted(OpCall *c, int i, const Tensor *t, bool pairs)
{
    const double *v = (const double *)t->data;
    int64_t at = first_descent(v, t->size);
    char help[320];
    if (at < 0)
        return;
    int64_t next = at + 1 < t->size ? at + 1 : at;
    if (pairs)
        snprintf(help, sizeof help, "k = argsort(%s); interp(%s, %s[k], %s[k])", arg_text(c, 1),
                 arg_text(c, 0), arg_text(c, 1), arg_text(c, 2));
    else
        snprintf(help, sizeof help, "histogram(%s, sort(%s))", arg_text(c, 0), arg_text(c, i));
    arg_error_help(c, i, ERR_VALUE, v[at] > v[next] ? help : NULL,
                   "%s must increase, but its elements %lld and %lld are %g and %g", arg_text(c, i),
                   (long long)at, (long long)next, v[at], v[next]);
}

/* ---- histogram(x, bins, *, range, density, weights) ---- */

/* The least or greatest element as the row `name` finds it. */
static double extreme(OpCall *c, Tensor *x, const char *name)
{
    Value arg = v_tensor_raw(x);
    Value v = op_root(c, op_call(c->in, op_named(c->in, name), &arg, 1, 0));
    Tensor *t = op_keep(c, v_to_tensor(c->in, v, 0));
    return element_f64((DType)t->dtype, t->data);
}

static double number_item(OpCall *c, int i, Value v)
{
    Tensor *t = v_is_numeric(v) ? op_keep(c, v_to_tensor(c->in, v, 0)) : NULL;
    if (!t || t->rank != 0 || dtype_info(t->dtype)->kind == 'c')
        arg_error_help(c, i, ERR_TYPE, "range=(0, 1)", "range must be a tuple of two numbers");
    return element_f64((DType)t->dtype, t->data);
}

static void given_range(OpCall *c, double *low, double *high)
{
    Value v = c->args[2];
    if (v.tag == V_TENSOR && v.tensor->rank == 1 && v.tensor->size == 2) {
        Tensor *t = signals_vector(c, 2, DT_F64);
        *low = ((double *)t->data)[0];
        *high = ((double *)t->data)[1];
    } else if (v.tag == V_TUPLE && v.tuple->count == 2) {
        *low = number_item(c, 2, v.tuple->items[0]);
        *high = number_item(c, 2, v.tuple->items[1]);
    } else {
        arg_error_help(c, 2, ERR_TYPE, "range=(0, 1)", "range must be a tuple of two numbers");
    }
    if (!(*low <= *high) || isinf(*low) || isinf(*high))
        arg_error(c, 2, ERR_VALUE,
                  "range goes from a finite number to one that is not less, not from %g to %g",
                  *low, *high);
}

static void found_range(OpCall *c, Tensor *x, double *low, double *high)
{
    char help[128];
    *low = 0, *high = 1;
    if (x->size == 0)
        return;
    *low = extreme(c, x, "min");
    *high = extreme(c, x, "max");
    if (isfinite(*low) && isfinite(*high))
        return;
    bool nan = *low != *low;
    snprintf(help, sizeof help, "histogram(%s, range=(low, high)) counts what lies between",
             arg_text(c, 0));
    arg_error_help(c, 0, ERR_VALUE, help, "bins cannot reach from min to max: %s has %s",
                   arg_text(c, 0), nan ? "a nan" : "an infinite element");
}

/* `bins` equal bins; f32 edges for f32 data, so that what is returned is what decided. */
static Tensor *equal_edges(OpCall *c, Tensor *x, int64_t bins, bool single, double *per_width)
{
    double low, high;
    int64_t count = bins + 1;
    if (arg_given(c, 2))
        given_range(c, &low, &high);
    else
        found_range(c, x, &low, &high);
    if (low == high)
        low -= 0.5, high += 0.5;
    Tensor *edges = op_keep(c, tensor_new(&c->in->ctx, DT_F64, 1, &count));
    double *e = (double *)edges->data, step = (high - low) / (double)bins;
    if (isinf(step))
        arg_error(c, 0, ERR_VALUE, "bins from %g to %g are wider than f64 can say", low, high);
    for (int64_t i = 0; i <= bins; i++)
        e[i] = i == bins ? high : low + (double)i * step;
    for (int64_t i = 0; single && i <= bins; i++)
        e[i] = (double)(float)e[i];
    for (int64_t i = 0; i < bins; i++)
        if (!(e[i] < e[i + 1]))
            arg_error(c, 1, ERR_VALUE,
                      "%lld bins between %.17g and %.17g are more than there are numbers",
                      (long long)bins, low, high);
    double per = (double)bins / (high - low);
    *per_width = isfinite(per) ? per : 0;            /* tiny bins are searched */
    return edges;
}

static Tensor *read_edges(OpCall *c, Tensor *x, bool single, double *per_width)
{
    int64_t bins = 10;
    Value v = arg_given(c, 1) ? c->args[1] : v_int(10);
    *per_width = 0;
    if (!v_is_numeric(v) && v.tag != V_RANGE && v.tag != V_TUPLE)
        arg_error(c, 1, ERR_TYPE, "bins must be an int or a vector of edges, not a %s",
                  v_type_name(v));
    if (v_as_int(v, &bins) || v.tag == V_FLOAT || v.tag == V_INT) {
        if (v.tag == V_FLOAT)
            bins = arg_int(c, 1);
        if (bins < 1)
            arg_error(c, 1, ERR_VALUE, "a histogram has at least one bin, not %lld",
                      (long long)bins);
        if (bins > INT64_MAX / 32)
            mem_raise(&c->in->ctx, (size_t)bins);
        return equal_edges(c, x, bins, single, per_width);
    }
    Tensor *edges = signals_vector(c, 1, DT_F64);
    if (edges->size < 2)
        arg_error(c, 1, ERR_VALUE, "%lld edge%s no bin", (long long)edges->size,
                  edges->size == 1 ? " bounds" : "s bound");
    require_sorted(c, 1, edges, false);
    return edges;
}

static Tensor *read_weights(OpCall *c, const Tensor *x)
{
    char own[128], wanted[128];
    if (!arg_given(c, 4))
        return NULL;
    Tensor *w = real_argument(c, 4);
    bool same = w->rank == x->rank;
    for (int d = 0; same && d < x->rank; d++)
        same = tensor_shape(w)[d] == tensor_shape(x)[d];
    if (!same)
        arg_error(c, 4, ERR_SHAPE, "one weight for each element: weights have shape %s, %s has %s",
                  shape_text(own, sizeof own, w->rank, tensor_shape(w)), arg_text(c, 0),
                  shape_text(wanted, sizeof wanted, x->rank, tensor_shape(x)));
    return dense(c, w, DT_F64);
}

static Tensor *plain_counts(OpCall *c, const LookupBins *bins, const Tensor *x)
{
    Ctx *ctx = &c->in->ctx;
    Tensor *counts = op_keep(c, tensor_zeros(ctx, DT_I64, 1, &bins->bins));
    int64_t others = (pool_threads(ctx) - 1) * bins->bins, *partial = NULL;
    if (others > 0 && others < x->size / 4 && x->size > 1 << 16)
        partial = (int64_t *)op_keep(c, tensor_zeros(ctx, DT_I64, 1, &others))->data;
    lookup_count(ctx, bins, (DType)x->dtype, x->data, x->size, (int64_t *)counts->data, partial);
    return counts;
}

static Tensor *weighed(OpCall *c, const LookupBins *bins, const Tensor *x, const Tensor *weights)
{
    Ctx *ctx = &c->in->ctx;
    Tensor *sums = op_keep(c, tensor_zeros(ctx, DT_F64, 1, &bins->bins));
    lookup_weigh(ctx, bins, (DType)x->dtype, x->data, (const double *)weights->data, x->size,
                 (double *)sums->data);
    return sums;
}

/* Counts over their total and the widths of the bins. */
static Tensor *densities(OpCall *c, const LookupBins *bins, Tensor *counts)
{
    Tensor *out = op_keep(c, tensor_copy(&c->in->ctx, signals_cast(c, counts, DT_F64)));
    double *d = (double *)out->data, total = 0;
    for (int64_t k = 0; k < bins->bins; k++)
        total += d[k];
    for (int64_t k = 0; k < bins->bins; k++)
        d[k] = d[k] / (bins->edges[k + 1] - bins->edges[k]) / total;
    return out;
}

Value op_run_histogram(OpCall *c)
{
    Tensor *x = real_argument(c, 0), *weights = read_weights(c, x);
    DType given = (DType)x->dtype;
    bool single = signals_compute_dtype(given) == DT_F32;
    LookupBins bins = { 0 };
    Tensor *edges = read_edges(c, x, single, &bins.per_width);
    bins.edges = (const double *)edges->data;
    bins.bins = edges->size - 1;
    x = dense(c, x, single ? DT_F32 : DT_F64);
    Tensor *counts = weights ? weighed(c, &bins, x, weights) : plain_counts(c, &bins, x);
    poll_interrupt(c->in);
    if (arg_bool(c, 3, false))
        counts = densities(c, &bins, counts);
    if (single && bins.per_width > 0)
        edges = signals_cast(c, edges, DT_F32);
    return tuple_make(c->in, "counts", op_result(c, counts), "edges", op_result(c, edges), NULL);
}

/* ---- interp(x, xp, fp, *, left, right, period) ---- */

typedef struct Points { Tensor *xp, *fp; } Points;

/* One period of points in order, with the last before it and the first behind it. */
static Points periodic(OpCall *c, Points p, double period, Tensor *x)
{
    Ctx *ctx = &c->in->ctx;
    int64_t m = p.xp->size, more = m + 2;
    size_t bytes = dtype_info(p.fp->dtype)->bytes;
    double *v = (double *)x->data, *xp = (double *)p.xp->data;
    for (int64_t i = 0; i < x->size; i++)
        v[i] -= period * floor(v[i] / period);
    for (int64_t i = 0; i < m; i++)
        xp[i] -= period * floor(xp[i] / period);
    Value arg = v_tensor_raw(p.xp);
    Value order = op_root(c, op_call(c->in, op_named(c->in, "argsort"), &arg, 1, 0));
    const int64_t *at = (const int64_t *)op_keep(c, tensor_compact(ctx, order.tensor))->data;
    Points out = { op_keep(c, tensor_new(ctx, DT_F64, 1, &more)),
                   op_keep(c, tensor_new(ctx, (DType)p.fp->dtype, 1, &more)) };
    double *to = (double *)out.xp->data;
    for (int64_t i = 0; i < more; i++) {
        int64_t from = at[(i + m - 1) % m];
        to[i] = xp[from] + (i == 0 ? -period : i == more - 1 ? period : 0);
        memcpy(out.fp->data + (size_t)i * bytes, p.fp->data + (size_t)from * bytes, bytes);
    }
    return out;
}

void signals_points(OpCall *c, int64_t points, int64_t values)
{
    if (points != values) {
        Error *e = err_new(&c->in->ctx, ERR_SHAPE,
                           "interp: %s has %lld points but %s has %lld values", arg_text(c, 1),
                           (long long)points, arg_text(c, 2), (long long)values);
        err_underline(e, 1);
        err_underline(e, 2);
        err_throw(e);
    }
    if (points == 0)
        arg_error(c, 1, ERR_VALUE, "a line goes through at least one point, and %s is empty",
                  arg_text(c, 1));
}

static Points read_points(OpCall *c, bool pairs)
{
    Points p = { signals_vector(c, 1, DT_F64), signals_vector(c, 2, pairs ? DT_C128 : DT_F64) };
    signals_points(c, p.xp->size, p.fp->size);
    return p;
}

/* left= or right= as a number; `fallback` if it is not given. */
static double _Complex outside(OpCall *c, int i, bool pairs, const char *fallback)
{
    DType dt = pairs ? DT_C128 : DT_F64;
    if (!arg_given(c, i))
        return element_c128(dt, fallback);
    char given[96];
    Tensor *t = v_is_numeric(c->args[i]) ? pairs ? arg_tensor(c, i) : real_argument(c, i) : NULL;
    if (!t || t->rank != 0)
        arg_error(c, i, ERR_TYPE, "%s must be a number, not %s", arg_name(c, i),
                  v_describe_a(c->args[i], given, sizeof given));
    return element_c128((DType)t->dtype, t->data);
}

/* Floats keep their width; a scalar x does not widen. */
static DType interp_dtype(const Tensor *x, const Tensor *xp, const Tensor *fp)
{
    DType dt = dtype_promote((DType)xp->dtype, (DType)fp->dtype);
    if (x->rank > 0)
        dt = dtype_promote(dt, (DType)x->dtype);
    return dtype_info(dt)->kind == 'b' || dtype_info(dt)->kind == 'i' ? DT_F64 : dt;
}

Value op_run_interp(OpCall *c)
{
    Ctx *ctx = &c->in->ctx;
    Tensor *x = real_argument(c, 0), *fp = arg_tensor(c, 2);
    DType result = interp_dtype(x, real_argument(c, 1), fp);
    bool pairs = dtype_info(fp->dtype)->kind == 'c';
    Points p = read_points(c, pairs);
    x = dense(c, x, DT_F64);
    size_t bytes = dtype_info(p.fp->dtype)->bytes;
    if (arg_given(c, 5)) {
        double period = fabs(arg_float(c, 5));
        if (!(period > 0) || isinf(period))
            arg_error(c, 5, ERR_VALUE, "a period is a finite number other than 0, not %g", period);
        p.xp = op_keep(c, tensor_copy(ctx, p.xp));
        p = periodic(c, p, period, x = op_keep(c, tensor_copy(ctx, x)));
    }
    require_sorted(c, 1, p.xp, true);
    double _Complex left = outside(c, 3, pairs, p.fp->data);
    double _Complex right = outside(c, 4, pairs, p.fp->data + (size_t)(p.xp->size - 1) * bytes);
    Tensor *out = op_keep(c, tensor_new(ctx, pairs ? DT_C128 : DT_F64, x->rank, tensor_shape(x)));
    for (int part = 0; part <= pairs; part++) {
        LookupLine line = { .xp = (const double *)p.xp->data,
                            .fp = (const double *)p.fp->data + part,
                            .m = p.xp->size,
                            .step = 1 + pairs,
                            .nan_gives = part ? 0 : (double)NAN,
                            .left = part ? cimag(left) : creal(left),
                            .right = part ? cimag(right) : creal(right) };
        lookup_line(ctx, &line, (const double *)x->data, x->size, (double *)out->data + part);
    }
    poll_interrupt(c->in);
    return op_result(c, signals_cast(c, out, result));
}
