/* calibrate(x): how far numbers reach, or how far codes of them should. */
#include "builtins/quant/quant.h"

#include "core/base/error.h"
#include "core/system/c_locale.h"
#include "kernels/axis/sort.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { X, METHOD, SYMMETRIC, AXIS, P, BINS };
/* Codes of one sign that are symmetric, and all others. */
enum { LEVELS_SYMMETRIC = 128, LEVELS = 256, BINS_MAX = 1 << 16 };

/* The numbers of one lane, and their ends. */
typedef struct Lane {
    const QuantOperand *o;
    const QuantWay *way;
    const char *x;
    int64_t n;
    double low, high, most;         /* most: the greatest |x| */
} Lane;

static const char *element(const Lane *l, int64_t i)
{
    return l->x + (size_t)i * dtype_info(l->o->dt)->bytes;
}

/* ---- percentile ---- */
static void percentile(const Lane *l, double *low, double *high)
{
    OpCall *c = l->o->call;
    Ctx *ctx = &c->in->ctx;
    Value *mark = c->in->sp;
    DType dt = l->o->dt;
    int64_t room = 2 * l->n;
    double p = l->way->p / 100;
    Tensor *x = op_keep(c, tensor_new(ctx, dt, 1, &l->n));
    uint64_t *keys = (uint64_t *)(void *)op_keep(c, tensor_new(ctx, DT_I64, 1, &room))->data;
    memcpy(x->data, l->x, (size_t)l->n * dtype_info(dt)->bytes);
    for (int64_t i = 0; l->way->symmetric && i < l->n; i++) {
        if (dt == DT_F32)
            ((float *)x->data)[i] = fabsf(((float *)x->data)[i]);
        else
            ((double *)x->data)[i] = fabs(((double *)x->data)[i]);
    }
    sort_load_lane(ctx, keys, dt, x->data, 1, l->n, 0);
    *high = sort_quantile(ctx, keys, dt, l->n, false, false, p);
    *low = l->way->symmetric ? 0 - *high
                             : sort_quantile(ctx, keys, dt, l->n, false, false, 1 - p);
    poll_interrupt(c->in);
    stack_cut(c->in, mark);
}

/* ---- the least mean squared error ---- */
/* The k-th of a hundred ranges; the last is all of it. */
static void limits(const Lane *l, int k, double *low, double *high)
{
    if (l->way->symmetric) {
        *high = k == RANGES_GRIDS ? l->most : l->most / RANGES_GRIDS * k;
        *low = -*high;
        return;
    }
    double least = l->low < 0 ? l->low : 0, most = l->high > 0 ? l->high : 0;
    *low = k == RANGES_GRIDS ? least : least / RANGES_GRIDS * k;
    *high = k == RANGES_GRIDS ? most : most / RANGES_GRIDS * k;
}

static void least_error(const Lane *l, double *low, double *high)
{
    OpCall *c = l->o->call;
    Grid grid[RANGES_GRIDS];
    double error[RANGES_GRIDS] = { 0 };
    for (int k = 0; k < RANGES_GRIDS; k++) {
        limits(l, k + 1, low, high);
        grid[k] = grid_of(l->o->dt, *low, *high, l->way->grid);
    }
    for (int64_t i = 0; i < l->n; i += RANGES_STRIP) {
        int64_t n = l->n - i < RANGES_STRIP ? l->n - i : RANGES_STRIP;
        ranges_errors(&c->in->ctx, l->o->dt, element(l, i), n, grid, RANGES_GRIDS, error);
        poll_interrupt(c->in);
    }
    int best = RANGES_GRIDS - 1;
    for (int k = RANGES_GRIDS - 2; k >= 0; k--)
        if (error[k] < error[best])
            best = k;
    limits(l, best + 1, low, high);
}

/* ---- the least divergence ---- */
static void least_divergence(const Lane *l, double *low, double *high)
{
    OpCall *c = l->o->call;
    Ctx *ctx = &c->in->ctx;
    bool symmetric = l->way->symmetric;
    int64_t bins = l->way->bins, numbers = 3 * (bins + 1), from, to, zero = 0;
    Value *mark = c->in->sp;
    int64_t *counts = (int64_t *)op_keep(c, tensor_zeros(ctx, DT_I64, 1, &bins))->data;
    double *memory = (double *)op_keep(c, tensor_new(ctx, DT_F64, 1, &numbers))->data;
    limits(l, RANGES_GRIDS, low, high);
    double first = symmetric ? 0 : *low, last = *high;
    double part = isinf(last - first) ? 0.5 : 1, width = last * part - first * part;
    for (int64_t i = 0; i < l->n; i += RANGES_STRIP) {
        int64_t n = l->n - i < RANGES_STRIP ? l->n - i : RANGES_STRIP;
        ranges_histogram(l->o->dt, element(l, i), n, first, last, bins, symmetric, counts);
        poll_interrupt(c->in);
    }
    if (!symmetric) {
        zero = (int64_t)(-first * part / width * (double)bins);
        zero = zero < bins ? zero : bins;
    }
    entropy_part(counts, bins, zero, symmetric ? LEVELS_SYMMETRIC : LEVELS, memory, &from, &to);
    width = width / (double)bins / part;
    if (to < bins)
        *high = first + width * (double)to;
    if (symmetric)
        *low = -*high;
    else if (from > 0)
        *low = first + width * (double)from;
    stack_cut(c->in, mark);
}

/* ---- lanes ---- */
static void lane(const Lane *l, double *low, double *high)
{
    if (l->way->method == QUANT_PERCENTILE)
        percentile(l, low, high);
    else if (l->most == 0)
        *low = *high = 0;
    else if (l->way->method == QUANT_MSE)
        least_error(l, low, high);
    else
        least_divergence(l, low, high);
}

/* The ends of all lanes. */
static void extremes(const QuantOperand *o, QuantRange r)
{
    OpCall *c = o->call;
    int64_t m = o->lanes * o->inner;
    size_t bytes = dtype_info(o->dt)->bytes;
    bool good = true;
    if (o->outer == 1) {
        for (int64_t i = 0; i < o->lanes; i++) {
            good &= ranges_extremes(&c->in->ctx, o->dt, o->x->data + (size_t)(i * o->inner) * bytes,
                                    o->inner, &r.low[i], &r.high[i]);
            poll_interrupt(c->in);
        }
    } else {
        char *low = op_keep(c, tensor_new(&c->in->ctx, o->dt, 1, &m))->data;
        char *high = op_keep(c, tensor_new(&c->in->ctx, o->dt, 1, &m))->data;
        good = ranges_columns(o->dt, o->x->data, o->outer, m, low, high);
        for (int64_t j = 0; j < m; j++) {
            double least = element_f64(o->dt, low + (size_t)j * bytes);
            double most = element_f64(o->dt, high + (size_t)j * bytes);
            int64_t i = j / o->inner;
            r.low[i] = j % o->inner == 0 || least < r.low[i] ? least : r.low[i];
            r.high[i] = j % o->inner == 0 || most > r.high[i] ? most : r.high[i];
        }
    }
    poll_interrupt(c->in);
    if (!good)
        quant_special(o);
}

/* x with its lanes one after the other. */
static const Tensor *lanes_first(const QuantOperand *o)
{
    OpCall *c = o->call;
    int64_t shape[3] = { o->lanes, o->outer, o->inner };
    int64_t strides[3] = { o->inner, o->lanes * o->inner, 1 };
    if (o->outer == 1)
        return o->x;
    Tensor *v = op_keep(c, tensor_view(&c->in->ctx, o->x, 3, shape, strides, o->x->data));
    return op_keep(c, tensor_compact(&c->in->ctx, v));
}

QuantRange quant_calibrate(const QuantOperand *o, const QuantWay *way)
{
    QuantRange r = quant_range_new(o->call, o->lanes);
    extremes(o, r);
    const Tensor *x = way->method == QUANT_MINMAX ? NULL : lanes_first(o);
    int64_t n = o->outer * o->inner;
    for (int64_t i = 0; i < o->lanes; i++) {
        double most = fabs(r.low[i]) > fabs(r.high[i]) ? fabs(r.low[i]) : fabs(r.high[i]);
        Lane l = { .o = o, .way = way, .n = n, .low = r.low[i], .high = r.high[i], .most = most };
        if (x) {
            l.x = x->data + (size_t)(i * n) * dtype_info(o->dt)->bytes;
            lane(&l, &r.low[i], &r.high[i]);
        } else if (way->symmetric) {
            r.low[i] = 0 - most, r.high[i] = most;
        }
        poll_interrupt(o->call->in);
    }
    return r;
}

/* ---- the row ---- */
static QuantWay read_way(OpCall *c)
{
    QuantWay w = { .method = quant_method(c, METHOD), .symmetric = arg_bool(c, SYMMETRIC, true),
                   .p = arg_given(c, P) ? arg_float(c, P) : 99.9,
                   .bins = arg_given(c, BINS) ? arg_int(c, BINS) : 2048 };
    w.grid = w.symmetric ? GRID_SYMMETRIC : GRID_I8;
    if (!(w.p > 50 && w.p <= 100)) {
        char help[64];
        c_snprintf(help, sizeof help, "a percentage: p=%g",
                   w.p > 0.5 && w.p < 1 ? 100 * w.p : 99.9);
        arg_error_help(c, P, ERR_VALUE, help, "p is %g; it is above 50 and at most 100", w.p);
    }
    int levels = w.symmetric ? LEVELS_SYMMETRIC : LEVELS;
    if (w.bins < levels || w.bins > BINS_MAX)
        arg_error_help(c, BINS, ERR_VALUE, "bins=2048", "bins is %lld; %d codes want as many bins "
                       "at least, and %d are the most", (long long)w.bins, levels, BINS_MAX);
    return w;
}

Value op_run_calibrate(OpCall *c)
{
    QuantWay way = read_way(c);
    QuantOperand o = quant_operand(c, X, AXIS);
    QuantRange r = o.x->size ? quant_calibrate(&o, &way) : quant_range_new(c, o.lanes);
    Value low = op_root(c, quant_numbers(&o, r.low)), high = op_root(c, quant_numbers(&o, r.high));
    return tuple_make(c->in, "low", v_retain(low), "high", v_retain(high), NULL);
}
