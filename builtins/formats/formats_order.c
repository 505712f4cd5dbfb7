/* Order in a format: extremes, sorting, order statistics, nearness. Binary numbers go through the
 * ordinary kernels (order is the same in f64); decimal, mp and interval numbers are compared by
 * their arithmetic. Called through the precision aspect. */
#include "builtins/formats/formats.h"
#include "builtins/rows/rows.h"

#include "core/base/error.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- numbers that are no binary floats ---- */
typedef struct Order {
    OpCall *c;
    Precise p;
    const char *x;             /* the lane at hand */
    int64_t *at, *spare, n;    /* positions, in order afterwards */
    int sign;                  /* -1: descending */
} Order;

/* x[i] before x[j]? nan comes last in either direction. */
static int compare(Order *o, int64_t i, int64_t j)
{
    int order = 0;
    Arith *a = &o->p.a;
    const char *x = o->x + i * a->size, *y = o->x + j * a->size;
    precise_check(o->c->in, o->c->op, a->ops->compare(a, x, y, &order), a->dtype);
    if (order != 2)
        return order * o->sign;
    bool nan_i, nan_j;
    a->ops->compare(a, x, x, &order);
    nan_i = order == 2;
    a->ops->compare(a, y, y, &order);
    nan_j = order == 2;
    return nan_i - nan_j;
}

static void merge(Order *o, int64_t from, int64_t middle, int64_t to)
{
    int64_t i = from, j = middle;
    for (int64_t k = from; k < to; k++) {
        bool left = i < middle && (j == to || compare(o, o->at[i], o->at[j]) <= 0);
        o->spare[k] = o->at[left ? i++ : j++];
    }
    memcpy(o->at + from, o->spare + from, (size_t)(to - from) * sizeof *o->at);
}

/* Bottom-up merging: stable. */
static void sort_positions(Order *o)
{
    for (int64_t i = 0; i < o->n; i++)
        o->at[i] = i;
    for (int64_t width = 1; width < o->n; width *= 2)
        for (int64_t from = 0; from + width < o->n; from += 2 * width) {
            merge(o, from, from + width, from + 2 * width < o->n ? from + 2 * width : o->n);
            poll_interrupt(o->c->in);
        }
}

static void order_open(Order *o, OpCall *c, Scope *s, int64_t n, bool descending)
{
    int64_t words = 2 * n;
    precise_open(&o->p, c->in, s);
    o->c = c;
    o->n = n;
    o->at = (int64_t *)(void *)op_keep(c, tensor_new(&c->in->ctx, DT_I64, 1, &words))->data;
    o->spare = o->at + n;
    o->sign = descending ? -1 : 1;
}

static Tensor *rounded(OpCall *c, Scope *s, int i)
{
    Precise p;
    precise_open(&p, c->in, s);
    Tensor *x = precise_operand(c, &p, i);
    precise_close(&p);
    return x;
}

/* The largest of intervals encloses the largest of their numbers: no comparison needs to be
 * certain. */
static void enclose_extreme(Order *o, bool most, int64_t n, char *out)
{
    Arith *a = &o->p.a;
    memcpy(out, o->x, (size_t)a->size);
    for (int64_t i = 1; i < n; i++)
        precise_check(o->c->in, o->c->op,
                      a->ops->ew(a, most ? EW_MAXIMUM : EW_MINIMUM, out, 1,
                                 (const void *const[]){ out, o->x + i * a->size },
                                 (const int64_t[]){ 1, 1 }, 1),
                      a->dtype);
}

/* Raises ERR_DTYPE: complex numbers are neither sorted nor compared by size. */
static void require_order(OpCall *c)
{
    char help[160];
    DType dt = v_dtype(c->args[0]);
    snprintf(help, sizeof help, "%s(abs(%s)) compares magnitudes", c->op->name, arg_text(c, 0));
    if (dt != DT_NONE && dtype_info(dt)->kind == 'c')
        arg_error_help(c, 0, ERR_DTYPE, help, "%s is %s, and complex numbers have no order",
                       arg_text(c, 0), dtype_name(dt));
}

/* min, max, argmin, argmax: the first of equals; a nan wins. */
static Value extremes(OpCall *c, Scope *s, bool most, bool positions)
{
    Order o;
    Tensor *x = rounded(c, s, 0);
    uint64_t axes = arg_axes(c, 1, x->rank);
    int64_t shape[TENSOR_RANK_MAX], n = 1, lanes = 1;
    bool keep = arg_bool(c, 2, false);
    int rank = 0;
    for (int a = 0; a < x->rank; a++) {
        bool reduced = axes >> a & 1;
        n *= reduced ? tensor_shape(x)[a] : 1;
        lanes *= reduced ? 1 : tensor_shape(x)[a];
        if (!reduced || keep)
            shape[rank++] = reduced ? 1 : tensor_shape(x)[a];
    }
    if (n == 0 && lanes > 0)
        arg_error(c, 0, ERR_VALUE, "there is nothing to choose from: %s is empty", arg_text(c, 0));
    x = format_axes_last(c, x, axes);
    Tensor *out =
        op_keep(c, tensor_new(&c->in->ctx, positions ? DT_I64 : (DType)x->dtype, rank, shape));
    order_open(&o, c, s, 1, most);
    int size = o.p.a.size;
    for (int64_t lane = 0; lane < lanes; lane++) {
        int64_t best = 0;
        int self;
        o.x = x->data + lane * n * size;
        if (s->format == DT_INTERVAL && !positions) {
            enclose_extreme(&o, most, n, out->data + lane * size);
            continue;
        }
        for (int64_t i = 0; i < n; i++) {
            o.p.a.ops->compare(&o.p.a, o.x + i * size, o.x + i * size, &self);
            poll_interrupt(c->in);
            if (self == 2) {
                best = i;
                break;
            }
            if (i > 0 && compare(&o, i, best) < 0)
                best = i;
        }
        if (positions)
            ((int64_t *)(void *)out->data)[lane] = best;
        else
            memcpy(out->data + lane * size, o.x + best * size, (size_t)size);
    }
    return op_result(c, out);
}

static Value sorting(OpCall *c, Scope *s, bool positions)
{
    Order o;
    Tensor *x = rounded(c, s, 0);
    bool scalar = x->rank == 0, all = scalar || c->args[1].tag == V_NONE;
    int axis = all ? 0 : arg_axis(c, 1, x->rank, x->rank - 1);
    x = format_axes_last(c, all ? format_flat(c, x) : x, UINT64_C(1) << axis);
    int64_t n = tensor_shape(x)[x->rank - 1], lanes = n ? x->size / n : 0;
    Tensor *out = op_keep(
        c, tensor_new(&c->in->ctx, positions ? DT_I64 : (DType)x->dtype, x->rank, tensor_shape(x)));
    order_open(&o, c, s, n, arg_bool(c, 2, false));
    int size = o.p.a.size;
    for (int64_t lane = 0; lane < lanes; lane++) {
        o.x = x->data + lane * n * size;
        sort_positions(&o);
        for (int64_t i = 0; i < n; i++)
            if (positions)
                ((int64_t *)(void *)out->data)[lane * n + i] = o.at[i];
            else
                memcpy(out->data + (lane * n + i) * size, o.x + o.at[i] * size, (size_t)size);
    }
    if (scalar)
        return v_tensor(&c->in->ctx, tensor_view(&c->in->ctx, out, 0, tensor_shape(out),
                                                 tensor_strides(out), out->data));
    return op_result(c, format_axis_back(c, out, axis));
}

/* The extreme so far, along an axis; a nan wins, and stays. */
static Value running(OpCall *c, Scope *s, bool most)
{
    Order o;
    Tensor *x = rounded(c, s, 0);
    bool all = !arg_given(c, 1) || x->rank == 0;
    int axis = all ? 0 : arg_axis(c, 1, x->rank, 0);
    x = format_axes_last(c, all ? format_flat(c, x) : x, UINT64_C(1) << axis);
    Tensor *out = op_keep(c, tensor_new(&c->in->ctx, (DType)x->dtype, x->rank, tensor_shape(x)));
    order_open(&o, c, s, 1, most);
    Arith *a = &o.p.a;
    int64_t n = tensor_shape(x)[x->rank - 1];
    for (int64_t i = 0; i < x->size; i++) {
        char *to = out->data + i * a->size;
        const char *from = x->data + i * a->size;
        poll_interrupt(c->in);
        if (i % n == 0)
            memcpy(to, from, (size_t)a->size);
        else
            precise_check(c->in, c->op,
                          a->ops->ew(a, most ? EW_MAXIMUM : EW_MINIMUM, to, 1,
                                     (const void *const[]){ to - a->size, from },
                                     (const int64_t[]){ 1, 1 }, 1),
                          a->dtype);
    }
    return op_result(c, format_axis_back(c, out, axis));
}

static Value uniques(OpCall *c, Scope *s)
{
    Order o;
    Tensor *x = format_flat(c, rounded(c, s, 0));
    int64_t n = x->size, distinct = 0;
    order_open(&o, c, s, n, false);
    int size = o.p.a.size;
    o.x = x->data;
    sort_positions(&o);
    for (int64_t i = 0; i < n; i++)
        if (i == 0 || compare(&o, o.at[i - 1], o.at[i]) != 0)
            o.spare[distinct++] = i;
    Tensor *values = op_keep(c, tensor_new(&c->in->ctx, (DType)x->dtype, 1, &distinct));
    Tensor *counts = op_keep(c, tensor_new(&c->in->ctx, DT_I64, 1, &distinct));
    for (int64_t i = 0; i < distinct; i++) {
        memcpy(values->data + i * size, o.x + o.at[o.spare[i]] * size, (size_t)size);
        ((int64_t *)(void *)counts->data)[i] = (i + 1 < distinct ? o.spare[i + 1] : n) - o.spare[i];
    }
    if (arg_bool(c, 2, false))
        format_refuse(c, s->format);
    if (!arg_bool(c, 1, false))
        return op_result(c, values);
    return tuple_make(c->in, "values", op_result(c, values), "counts", op_result(c, counts), NULL);
}

/* Is x before y, or with `equal` no later? nan is behind all. */
static bool before(Order *o, const char *x, const char *y, bool equal)
{
    int order = 0, self = 0;
    Arith *a = &o->p.a;
    if (a->dtype == DT_RATIONAL)
        order = rational_compare(&o->c->in->ctx, *(const Rational *)(const void *)x,
                                 *(const Rational *)(const void *)y);
    else
        precise_check(o->c->in, o->c->op, a->ops->compare(a, x, y, &order), a->dtype);
    if (order != 2)
        return order < 0 || (equal && order == 0);
    a->ops->compare(a, y, y, &self);
    bool last = self == 2;
    a->ops->compare(a, x, x, &self);
    return last && (equal || self != 2);
}

/* Bisection in a sorted vector. */
static Value searching(OpCall *c, Scope *s)
{
    Order o;
    Tensor *x = rounded(c, s, 0), *v = rounded(c, s, 1);
    bool right = search_right(c, x);
    if (x->dtype != v->dtype || dtype_info((DType)x->dtype)->kind == 'c')
        format_refuse(c, s->format);
    x = op_keep(c, tensor_compact(&c->in->ctx, x));
    v = op_keep(c, tensor_compact(&c->in->ctx, v));
    Tensor *out = op_keep(c, tensor_new(&c->in->ctx, DT_I64, v->rank, tensor_shape(v)));
    order_open(&o, c, s, 1, false);
    int size = dtype_info((DType)x->dtype)->bytes;
    for (int64_t i = 0; i < v->size; i++) {
        int64_t low = 0, high = x->size;
        while (low < high) {
            int64_t middle = low + (high - low) / 2;
            bool lower = before(&o, x->data + middle * size, v->data + i * size, right);
            low = lower ? middle + 1 : low;
            high = lower ? high : middle;
        }
        ((int64_t *)(void *)out->data)[i] = low;
        poll_interrupt(c->in);
    }
    return op_result(c, out);
}

static bool ordinary_store(DType dt)
{
    return dtype_plain(dt) && dtype_info(dt)->kind == 'f';
}

typedef enum OrderForm { ORDER_MIN, ORDER_MAX, ORDER_ARGMIN, ORDER_ARGMAX, ORDER_SORT,
                         ORDER_ARGSORT, ORDER_CUMMIN, ORDER_CUMMAX, ORDER_UNIQUE,
                         ORDER_SEARCH } OrderForm;

static Value ordered(OpCall *c, Scope *s, OrderForm form)
{
    if (format_all_whole(c))
        return exact_run(c);
    require_order(c);
    if (format_is_binary(s->format))
        return precise_outside(c, s, ordinary_store(s->format) ? DT_NONE : DT_F64, false);
    if (s->format == DT_RATIONAL && form != ORDER_SEARCH)
        return precise_outside(c, s, DT_NONE, true);
    switch (form) {
    case ORDER_MIN:
    case ORDER_MAX: return extremes(c, s, form == ORDER_MAX, false);
    case ORDER_ARGMIN:
    case ORDER_ARGMAX: return extremes(c, s, form == ORDER_ARGMAX, true);
    case ORDER_SORT:
    case ORDER_ARGSORT: return sorting(c, s, form == ORDER_ARGSORT);
    case ORDER_CUMMIN:
    case ORDER_CUMMAX: return running(c, s, form == ORDER_CUMMAX);
    case ORDER_UNIQUE: return uniques(c, s);
    case ORDER_SEARCH: return searching(c, s);
    }
    format_refuse(c, s->format);
}

Value op_format_min(OpCall *c, Scope *s) { return ordered(c, s, ORDER_MIN); }
Value op_format_max(OpCall *c, Scope *s) { return ordered(c, s, ORDER_MAX); }
Value op_format_argmin(OpCall *c, Scope *s) { return ordered(c, s, ORDER_ARGMIN); }
Value op_format_argmax(OpCall *c, Scope *s) { return ordered(c, s, ORDER_ARGMAX); }
Value op_format_cummin(OpCall *c, Scope *s) { return ordered(c, s, ORDER_CUMMIN); }
Value op_format_cummax(OpCall *c, Scope *s) { return ordered(c, s, ORDER_CUMMAX); }
Value op_format_sort(OpCall *c, Scope *s) { return ordered(c, s, ORDER_SORT); }
Value op_format_argsort(OpCall *c, Scope *s) { return ordered(c, s, ORDER_ARGSORT); }
Value op_format_unique(OpCall *c, Scope *s) { return ordered(c, s, ORDER_UNIQUE); }
Value op_format_searchsorted(OpCall *c, Scope *s) { return ordered(c, s, ORDER_SEARCH); }

/* ---- order statistics ---- */
/* Element k of the sorted last axis. */
static Value pick(OpCall *c, Tensor *x, int64_t k)
{
    char *data = x->data + k * dtype_info((DType)x->dtype)->bytes * tensor_strides(x)[x->rank - 1];
    return op_root(c, v_tensor_raw(tensor_view(&c->in->ctx, x, x->rank - 1, tensor_shape(x),
                                               tensor_strides(x), data)));
}

/* x as lanes to be reduced, sorted. */
static Tensor *sorted_lanes(OpCall *c, Tensor *x, uint64_t axes)
{
    int64_t shape[TENSOR_RANK_MAX], strides[TENSOR_RANK_MAX], n = 1;
    int rank = 0;
    for (int a = 0; a < x->rank; a++)
        if (axes >> a & 1)
            n *= tensor_shape(x)[a];
        else
            shape[rank++] = tensor_shape(x)[a];
    if (n == 0)
        arg_error(c, 0, ERR_VALUE, "there is nothing to choose from: %s is empty", arg_text(c, 0));
    x = format_axes_last(c, x, axes);
    shape[rank++] = n;
    for (int64_t step = 1, a = rank - 1; a >= 0; a--) {
        strides[a] = step;
        step *= shape[a];
    }
    x = op_keep(c, tensor_view(&c->in->ctx, x, rank, shape, strides, x->data));
    return format_row(c, "sort", 1, v_tensor_raw(x)).tensor;
}

static bool compares(OpCall *c, const char *row, Value x, Value y)
{
    Value r = format_row(c, row, 2, x, y);
    return r.tag == V_BOOL ? r.i != 0 : *(const bool *)(const void *)r.tensor->data;
}

/* Where q lies between the n elements of the sorted lanes; q (n - 1) in the format. */
static Value quantile_between(OpCall *c, Tensor *x, Value q)
{
    int64_t n = tensor_shape(x)[x->rank - 1];
    Value at = format_row(c, "multiply", 2, q, v_int(n - 1));
    const Tensor *whole = op_keep(c, v_to_tensor(c->in, format_row(c, "floor", 1, at), 0));
    bool ends = whole->dtype == DT_INTERVAL;
    int64_t k = (int64_t)(ends ? ((const Interval *)(const void *)whole->data)->lo
                               : element_f64((DType)whole->dtype, whole->data));
    if (k + 1 >= n)
        return pick(c, x, n - 1);
    Value low = pick(c, x, k), high = pick(c, x, k + 1);
    Value t = format_row(c, "subtract", 2, at, v_int(k));
    if (!ends && compares(c, "equal", t, v_int(0)))
        return low;
    if (!ends && compares(c, "equal", format_row(c, "multiply", 2, t, v_int(2)), v_int(1)))
        return format_row(c, "divide", 2, format_row(c, "add", 2, low, high), v_int(2));
    Value step = format_row(c, "multiply", 2, format_row(c, "subtract", 2, high, low), t);
    return format_row(c, "add", 2, low, step);
}

/* It does not fall with q: that of an interval lies between those of its ends. */
static Value quantile_enclosed(OpCall *c, Tensor *x, Interval q)
{
    Ctx *ctx = &c->in->ctx;
    Interval ends[2] = { { q.lo, q.lo }, { q.hi, q.hi } };
    Tensor *r[2];
    for (int i = 0; i < 2; i++) {
        Tensor *end = op_keep(c, tensor_scalar(ctx, DT_INTERVAL, &ends[i]));
        r[i] = op_keep(c, tensor_copy(ctx, quantile_between(c, x, v_tensor_raw(end)).tensor));
    }
    for (int64_t i = 0; i < r[0]->size; i++)
        ((Interval *)(void *)r[0]->data)[i].hi = ((const Interval *)(const void *)r[1]->data)[i].hi;
    return v_tensor_raw(r[0]);
}

/* nan where a lane has one, which is then its last element. */
static Value quantile_value(OpCall *c, Tensor *x, const Tensor *q, int64_t i)
{
    DType dt = (DType)q->dtype;
    const char *cell = q->data + i * dtype_info(dt)->bytes;
    if (dt == DT_INTERVAL)
        return quantile_enclosed(c, x, *(const Interval *)(const void *)cell);
    Tensor *one = op_keep(c, tensor_scalar(&c->in->ctx, dt, cell));
    Value r = quantile_between(c, x, v_tensor_raw(one));
    if (dt == DT_RATIONAL)
        return r;
    Value last = pick(c, x, tensor_shape(x)[x->rank - 1] - 1);
    return format_row(c, "where", 3, format_row(c, "isnan", 1, last), last, r);
}

/* The axes of q come first, then those of x that are left. */
static Value quantile_row(OpCall *c, Scope *s, Tensor *q, int axis_argument)
{
    Ctx *ctx = &c->in->ctx;
    Tensor *x = rounded(c, s, 0);
    uint64_t axes = arg_axes(c, axis_argument, x->rank);
    bool keep = arg_bool(c, axis_argument + 1, false);
    int64_t shape[2 * TENSOR_RANK_MAX], bytes = dtype_info((DType)x->dtype)->bytes;
    int rank = q->rank;
    memcpy(shape, tensor_shape(q), (size_t)rank * sizeof *shape);
    for (int a = 0; a < x->rank; a++)
        if (keep || !(axes >> a & 1))
            shape[rank++] = axes >> a & 1 ? 1 : tensor_shape(x)[a];
    if (rank > TENSOR_RANK_MAX)
        arg_error(c, 0, ERR_SHAPE, "the result would have %d axes, more than %d", rank,
                  TENSOR_RANK_MAX);
    x = sorted_lanes(c, x, axes);
    Tensor *out = op_keep(c, tensor_new(ctx, (DType)x->dtype, rank, shape));
    for (int64_t i = 0; i < q->size; i++) {
        Value *mark = c->in->sp, r = quantile_value(c, x, q, i);
        Tensor *t = op_keep(c, tensor_compact(ctx, op_keep(c, v_to_tensor(c->in, r, 0))));
        memcpy(out->data + i * t->size * bytes, t->data, (size_t)(t->size * bytes));
        stack_cut(c->in, mark);
        format_collect(c);
    }
    return op_result(c, out);
}

static Tensor *contiguous(OpCall *c, Scope *s, Tensor *t)
{
    Precise p;
    precise_open(&p, c->in, s);
    t = op_keep(c, precise_round(&p, c->op, t));
    precise_close(&p);
    return op_keep(c, tensor_compact(&c->in->ctx, t));
}

Value op_format_median(OpCall *c, Scope *s)
{
    double half = 0.5;
    require_order(c);
    if (format_is_binary(s->format))
        return precise_outside(c, s, scope_ordinary(s) ? DT_NONE : DT_F64, true);
    if (s->format == DT_RATIONAL)
        return precise_outside(c, s, DT_NONE, true);
    Tensor *q = op_keep(c, tensor_scalar(&c->in->ctx, DT_F64, &half));
    return quantile_row(c, s, contiguous(c, s, q), 1);
}

/* An interval that reaches beyond an end by rounding ends there. */
static void check_fraction(OpCall *c, const Tensor *q, int64_t i)
{
    DType dt = (DType)q->dtype;
    char *cell = q->data + i * dtype_info(dt)->bytes;
    bool holds;
    if (dt == DT_INTERVAL) {
        Interval *v = (Interval *)(void *)cell;
        holds = v->lo <= 1 && v->hi >= 0;
        if (holds)
            *v = (Interval){ v->lo < 0 ? 0 : v->lo, v->hi > 1 ? 1 : v->hi };
    } else {
        Value v = v_tensor_raw(op_keep(c, tensor_scalar(&c->in->ctx, dt, cell)));
        holds = compares(c, "greater_equal", v, v_int(0)) &&
                compares(c, "less_equal", v, v_int(1));
    }
    if (!holds)
        arg_error(c, 1, ERR_VALUE, "a quantile is asked for a fraction between 0 and 1, not %g",
                  element_f64(dt, cell));
}

Value op_format_quantile(OpCall *c, Scope *s)
{
    require_order(c);
    if (format_is_binary(s->format))
        return precise_outside(c, s, scope_ordinary(s) ? DT_NONE : DT_F64, true);
    Tensor *q = op_keep(c, tensor_copy(&c->in->ctx, contiguous(c, s, format_number(c, 1))));
    for (int64_t i = 0; i < q->size; i++)
        check_fraction(c, q, i);
    return quantile_row(c, s, q, 2);
}

/* ---- nearness ---- */
/* The root of the distance of 1 and its neighbour, as for the dtypes with kernels. */
static double default_tolerance(DType format)
{
    int e, p;
    MiniStyle style;
    if (dtype_mini_read(format, &e, &p, &style))
        return sqrt(ldexp(1, 1 - p));
    if (dtype_base(format) == DT_MP)
        return sqrt(ldexp(1, 1 - dtype_digits(format)));
    return dtype_base(format) == DT_DECIMAL ? sqrt(pow(10, 1 - dtype_digits(format))) : 0;
}

static Value norm_of(OpCall *c, Value x)
{
    if (dtype_info(v_dtype(x))->kind == 'c')
        x = format_row(c, "abs", 1, x);
    return format_row(c, "sqrt", 1, format_row(c, "sum", 1, format_row(c, "multiply", 2, x, x)));
}

static Value greater(OpCall *c, Value x, Value y) { return format_row(c, "maximum", 2, x, y); }

/* |a - b| against the tolerances, in the format. */
static Value near_numbers(OpCall *c, Scope *s, bool norms)
{
    Value a = v_tensor_raw(rounded(c, s, 0)), b = v_tensor_raw(rounded(c, s, 1));
    double atol = arg_given(c, 3) ? arg_float(c, 3) : norms ? 0 : 1e-8;
    double rtol = arg_given(c, 2) ? arg_float(c, 2)
                  : !norms        ? 1e-5
                  : atol > 0      ? 0
                                  : default_tolerance(s->format);
    Value d = format_row(c, "subtract", 2, a, b), size;
    if (norms) {
        d = norm_of(c, d);
        size = greater(c, norm_of(c, a), norm_of(c, b));
        size = greater(c, format_row(c, "multiply", 2, size, v_float(rtol)), v_float(atol));
    } else {
        d = format_row(c, "abs", 1, d);
        size = format_row(c, "multiply", 2, format_row(c, "abs", 1, b), v_float(rtol));
        size = format_row(c, "add", 2, size, v_float(atol));
    }
    return v_retain(format_row(c, "less_equal", 2, d, size));
}

static Value near(OpCall *c, Scope *s, bool norms)
{
    if (format_all_whole(c))
        return exact_run(c);
    if (s->format == DT_RATIONAL)
        return precise_outside(c, s, DT_NONE, true);
    if (!format_is_binary(s->format))
        return near_numbers(c, s, norms);
    Value args[8];
    OpCall call = *c;
    memcpy(args, c->args, (size_t)c->count * sizeof *args);
    call.args = args;
    bool atol = arg_given(c, 3) && arg_float(c, 3) > 0;
    if (norms && !arg_given(c, 2) && !atol && c->count > 2)
        args[2] = v_float(default_tolerance(s->format));
    Precise p;
    precise_open(&p, c->in, s);
    for (int i = 0; i < 2; i++)
        if (v_dtype(c->args[i]) != DT_NONE) {
            Tensor *x = op_keep(c, precise_carriers(&p, c->op, arg_tensor(c, i)));
            args[i] = v_tensor_raw(x);
        }
    precise_close(&p);
    Scope *outer = c->in->scope;
    c->in->scope = NULL;
    Value r = call.op->run(&call);
    c->in->scope = outer;
    return r;
}

Value op_format_allclose(OpCall *c, Scope *s) { return near(c, s, true); }
Value op_format_isclose(OpCall *c, Scope *s) { return near(c, s, false); }
