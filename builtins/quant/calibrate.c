/* Ranges that eight bits should cover. The whole range wastes steps on outliers; a smaller one
 * clamps them. Each row is looked at by itself. */
#include "builtins/quant/quant.h"

#include "core/base/error.h"
#include "interp/state/kind.h"
#include "kernels/cast/tensor_cast.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Limits tried for "mse"; levels of a magnitude in 8 bits. */
enum { LIMITS = 100, LEVELS = 128 };

static double *numbers(OpCall *c, int64_t n)
{
    return (double *)(void *)op_keep(c, tensor_new(&c->in->ctx, DT_F64, 1, &n))->data;
}

/* ---- reading ---- */

static _Noreturn void not_finite(OpCall *c, const Rows *r, double v)
{
    const char *what = isnan(v) ? "nan" : v > 0 ? "inf" : "-inf";
    char help[160];
    snprintf(help, sizeof help, "%s[isfinite(%s)] leaves it out", arg_text(c, 0), arg_text(c, 0));
    arg_error_help(c, 0, ERR_VALUE, help,
                   "%s has %s among its %lld elements, which no range covers", arg_text(c, 0), what,
                   (long long)r->x->size);
}

Rows quant_rows(OpCall *c, int axis_at)
{
    Ctx *ctx = &c->in->ctx;
    Rows r = { .x = arg_tensor(c, 0), .axis = -1, .rows = 1 };
    DType dt = (DType)r.x->dtype;
    uint64_t all = r.x->rank == 0 ? 0 : UINT64_MAX >> (64 - r.x->rank);
    if (dtype_info(dt)->kind == 'c')
        arg_error(c, 0, ERR_DTYPE, "%s is %s, and complex numbers have no order", arg_text(c, 0),
                  dtype_name(dt));
    if (dt == DT_INTERVAL)
        arg_error_help(c, 0, ERR_DTYPE, "mid(x) is one number for each", "%s is interval",
                       arg_text(c, 0));
    int e, p;
    MiniStyle style;
    r.single = dt != DT_F64 && dtype_mini_read(dt, &e, &p, &style) && p <= 24;
    if (arg_given(c, axis_at) && c->args[axis_at].tag != V_NONE) {
        r.axis = arg_axis(c, axis_at, r.x->rank, 0);
        r.rows = tensor_shape(r.x)[r.axis];
        all &= ~(UINT64_C(1) << r.axis);
    }
    r.n = r.rows ? r.x->size / r.rows : 0;
    Tensor *t = op_keep(c, tensor_axes_last(ctx, r.x, all));
    t = op_keep(c, tensor_cast(ctx, t, DT_F64));
    t = op_keep(c, tensor_compact(ctx, t));
    r.at = (double *)(void *)t->data;
    for (int64_t i = 0; i < t->size; i++)
        if (!isfinite(r.at[i]))
            not_finite(c, &r, r.at[i]);
    r.low = numbers(c, r.rows);
    r.high = numbers(c, r.rows);
    return r;
}

Method quant_method(OpCall *c, int i)
{
    static const char *const names[] = { "minmax", "percentile", "mse", "entropy" };
    if (!arg_given(c, i))
        return METHOD_MINMAX;
    const char *text = arg_str(c, i)->text;
    for (int k = 0; k < 4; k++)
        if (strcmp(text, names[k]) == 0)
            return (Method)k;
    arg_error_help(c, i, ERR_VALUE, "method=\"mse\"", "method is \"%.40s\"; it is \"minmax\", "
                   "\"percentile\", \"mse\" or \"entropy\"", text);
}

/* ---- the methods, for one row ---- */

static void find_ends(const double *x, int64_t n, double *low, double *high)
{
    *low = *high = n ? x[0] : 0;
    for (int64_t i = 1; i < n; i++) {
        *low = x[i] < *low ? x[i] : *low;
        *high = x[i] > *high ? x[i] : *high;
    }
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Of sorted numbers, between neighbours by a straight line. */
static double fraction_of(const double *x, int64_t n, double q)
{
    double h = q * (double)(n - 1), t = h - floor(h);
    int64_t k = (int64_t)h;
    return k + 1 < n ? x[k] * (1 - t) + x[k + 1] * t : x[n - 1];
}

static void percentile(double *work, int64_t n, const Choice *how, double *low, double *high)
{
    for (int64_t i = 0; how->symmetric && i < n; i++)
        work[i] = fabs(work[i]);
    qsort(work, (size_t)n, sizeof *work, by_size);
    *high = fraction_of(work, n, how->p / 100);
    *low = how->symmetric ? 0 - *high : fraction_of(work, n, 1 - how->p / 100);
}

double quant_scale(double low, double high, double steps, bool single)
{
    if (low == 0 && high == 0)
        return 1;
    double width = high - low;
    double s = isfinite(width) ? width / steps : high / steps - low / steps;
    if (single && width <= FLT_MAX)
        s = (double)(((float)high - (float)low) / (float)steps);
    return s > 0 ? s : single ? 0x1p-149 : 0x1p-1074;
}

/* The mean squared error of 8 bits over this range. */
static double error_of(const double *x, int64_t n, bool symmetric, double low, double high)
{
    double sum = 0, least = symmetric ? -127 : 0, most = symmetric ? 127 : 255;
    double scale = quant_scale(symmetric ? 0 : low, high, symmetric ? 127 : 255, false);
    double zero = symmetric ? 0 : -nearbyint(low / scale);
    for (int64_t i = 0; i < n; i++) {
        double q = nearbyint(x[i] / scale) + zero;
        q = q < least ? least : q > most ? most : q;
        double off = (q - zero) * scale - x[i];
        sum += off * off;
    }
    return sum;
}

static void least_error(const double *x, int64_t n, bool symmetric, double *low, double *high)
{
    double best = INFINITY, ends[2] = { *low, *high };
    for (int k = LIMITS; k > 0; k--) {
        double part = (double)k / LIMITS, l = ends[0] * part, h = ends[1] * part;
        double error = error_of(x, n, symmetric, l, h);
        if (error < best) {
            best = error;
            *low = l;
            *high = h;
        }
    }
}

/* Zeros get a little of what the others have, so that logarithms are finite. False: there is not
 * enough to take. */
static bool smooth(double *p, int64_t n)
{
    const double little = 1e-4;
    int64_t zeros = 0;
    for (int64_t i = 0; i < n; i++)
        zeros += p[i] == 0;
    if (zeros == n)
        return false;
    double less = little * (double)zeros / (double)(n - zeros);
    for (int64_t i = 0; i < n; i++)
        p[i] = p[i] == 0 ? little : p[i] - less;
    return less < 1;
}

/* KL(p, q) of counts: p the first k bins, what is beyond in the last one; q the same bins by 128
 * levels, spread over those that are not empty. */
static double divergence(const double *count, double beyond, int64_t k, double *p, double *q)
{
    double sum_p = 0, sum_q = 0, sum = 0;
    memcpy(p, count, (size_t)k * sizeof *p);
    p[k - 1] += beyond;
    for (int64_t level = 0; level < LEVELS; level++) {
        int64_t from = level * k / LEVELS, to = (level + 1) * k / LEVELS, full = 0;
        double all = 0;
        for (int64_t i = from; i < to; i++) {
            all += count[i];
            full += p[i] != 0;
        }
        for (int64_t i = from; i < to; i++)
            q[i] = p[i] != 0 ? all / (double)full : 0;
    }
    if (!smooth(p, k) || !smooth(q, k))
        return INFINITY;
    for (int64_t i = 0; i < k; i++) {
        sum_p += p[i];
        sum_q += q[i];
    }
    for (int64_t i = 0; i < k; i++)
        sum += p[i] / sum_p * log(p[i] / sum_p * (sum_q / q[i]));
    return sum;
}

/* Magnitudes beside the end on their side, in `bins`; both ends move together. */
static void least_divergence(OpCall *c, const double *x, int64_t n, int64_t bins, double *work,
                             double *low, double *high)
{
    double *count = work, *p = work + bins, *q = work + 2 * bins, total = 0, inside = 0;
    double best = INFINITY, ends[2] = { *low, *high };
    int64_t chosen = bins;
    memset(count, 0, (size_t)bins * sizeof *count);
    for (int64_t i = 0; i < n; i++) {
        double u = x[i] < 0 ? x[i] / ends[0] : x[i] > 0 ? x[i] / ends[1] : 0;
        int64_t k = (int64_t)(u * (double)bins);
        count[k < bins ? k : bins - 1]++;
        total++;
    }
    for (int64_t k = 0; k < LEVELS - 1; k++)
        inside += count[k];
    for (int64_t k = LEVELS; k <= bins; k++) {
        inside += count[k - 1];
        poll_interrupt(c->in);
        double kl = divergence(count, total - inside, k, p, q);
        if (kl < best) {
            best = kl;
            chosen = k;
        }
    }
    *low = ends[0] * ((double)chosen / (double)bins);
    *high = ends[1] * ((double)chosen / (double)bins);
}

void quant_calibrate(OpCall *c, Rows *r, const Choice *how)
{
    double *work = NULL;
    if (how->method == METHOD_PERCENTILE)
        work = numbers(c, r->n);
    if (how->method == METHOD_ENTROPY)
        work = numbers(c, 3 * how->bins);
    for (int64_t k = 0; k < r->rows; k++) {
        const double *x = r->at + k * r->n;
        double *low = &r->low[k], *high = &r->high[k];
        poll_interrupt(c->in);
        find_ends(x, r->n, low, high);
        if (r->n == 0)
            continue;
        if (how->method == METHOD_PERCENTILE) {
            memcpy(work, x, (size_t)r->n * sizeof *x);
            percentile(work, r->n, how, low, high);
            continue;
        }
        if (how->symmetric) {
            *high = fmax(fabs(*low), fabs(*high));
            *low = 0 - *high;
        } else if (how->method != METHOD_MINMAX) {
            *low = fmin(*low, 0);
            *high = fmax(*high, 0);
        }
        if (how->method == METHOD_MSE)
            least_error(x, r->n, how->symmetric, low, high);
        else if (how->method == METHOD_ENTROPY)
            least_divergence(c, x, r->n, how->bins, work, low, high);
    }
}

/* ---- the row ---- */

/* The limits in the operand's dtype of floats: a number, or a vector with an axis. */
static Value limits(OpCall *c, const Rows *r, const double *v)
{
    DType dt = r->single ? DT_F32 : DT_F64;
    int rank = r->axis < 0 ? 0 : 1;
    Tensor *t = op_keep(c, tensor_new(&c->in->ctx, dt, rank, &r->rows));
    cast_run(dt, t->data, 1, DT_F64, v, 1, r->rows);
    return op_result(c, t);
}

Value op_run_calibrate(OpCall *c)
{
    Choice how = { .method = quant_method(c, 1), .symmetric = arg_bool(c, 2, true), .p = 99.9,
                   .bins = 2048 };
    if (arg_given(c, 4))
        how.p = arg_float(c, 4);
    if (arg_given(c, 5))
        how.bins = arg_int(c, 5);
    if (!(how.p > 50 && how.p <= 100))
        arg_error(c, 4, ERR_VALUE, "p is %g; it is a percentile above 50, 100 at most", how.p);
    if (how.bins < 2 * LEVELS || how.bins > 1 << 20)
        arg_error(c, 5, ERR_VALUE, "bins is %lld; histograms have from %d to %d bins",
                  (long long)how.bins, 2 * LEVELS, 1 << 20);
    Rows r = quant_rows(c, 3);
    quant_calibrate(c, &r, &how);
    Value low = op_root(c, limits(c, &r, r.low)), high = op_root(c, limits(c, &r, r.high));
    return tuple_make(c->in, "low", v_retain(low), "high", v_retain(high), NULL);
}
