/* Reductions, running sums, sorting and comparison of rationals, and the parts of one.
 * Lanes are gathered into contiguous copies: big numbers cost more than moving 16 bytes. */
#include "builtins/exact/rational.h"
#include "interp/precision/cast.h"
#include "interp/state/scope.h"
#include "builtins/rows/rows.h"

#include "core/base/error.h"
#include "interp/op/arith.h"
#include <string.h>

Tensor *exact_tensor(OpCall *c, int i)
{
    return op_keep(c, tensor_cast(&c->in->ctx, arg_tensor(c, i), DT_RATIONAL));
}

void exact_check(OpCall *c, RationalStatus s)
{
    poll_interrupt(c->in);
    if (s != RATIONAL_OK)
        exact_raise(c->in, c->op, s);
}

/* ---- lanes over reduced axes ---- */

typedef struct Lanes {
    Tensor *x;                 /* contiguous, reduced axes last */
    int64_t count, n;          /* lanes, elements of each */
    int rank;                  /* of the result, and its shape */
    int64_t shape[TENSOR_RANK_MAX];
} Lanes;

static Lanes lanes_read(OpCall *c, uint64_t axes, bool keep)
{
    Ctx *ctx = &c->in->ctx;
    Tensor *x = exact_tensor(c, 0);
    Lanes l = { .n = 1 };
    for (int a = 0; a < x->rank; a++) {
        bool reduced = axes >> a & 1;
        l.n *= reduced ? tensor_shape(x)[a] : 1;
        if (!reduced || keep)
            l.shape[l.rank++] = reduced ? 1 : tensor_shape(x)[a];
    }
    l.count = 1;
    for (int a = 0; a < l.rank; a++)
        l.count *= l.shape[a];
    l.x = op_keep(c, tensor_compact(ctx, op_keep(c, tensor_axes_last(ctx, x, axes))));
    return l;
}

typedef RationalStatus (*FoldFn)(Ctx *, void *out, const Rational *x, int64_t n, int64_t extra);

static Value fold_lanes(OpCall *c, FoldFn fn, DType dt, int keep_argument, bool needs_one,
                        int64_t extra)
{
    Ctx *ctx = &c->in->ctx;
    uint64_t axes = arg_axes(c, 1, arg_tensor(c, 0)->rank);
    Lanes l = lanes_read(c, axes, arg_bool(c, keep_argument, false));
    if (needs_one && l.n == 0 && l.count > 0)
        arg_error(c, 0, ERR_VALUE, "%s is empty, and %s of no rationals is none", arg_text(c, 0),
                  c->op->name);
    Tensor *out = op_keep(c, tensor_new(ctx, dt, l.rank, l.shape));
    for (int64_t i = 0; i < l.count; i++)
        exact_check(c,
                    fn(ctx, out->data + i * dtype_info(dt)->bytes, exact_data(l.x) + i * l.n, l.n,
                          extra));
    return op_result(c, out);
}

typedef RationalStatus (*RationalJoin)(Ctx *, Rational *, Rational, Rational);

/* By halves: the numbers that meet are of like length. */
static RationalStatus fold(Ctx *ctx, Rational *out, const Rational *x, int64_t n, RationalJoin join,
                           int64_t empty)
{
    Rational left, right;
    if (n <= 1 || *ctx->interrupt) {
        *out = n < 1 ? rational_int(empty) : *x;
        return RATIONAL_OK;
    }
    RationalStatus s = fold(ctx, &left, x, n / 2, join, empty);
    if (s == RATIONAL_OK) s = fold(ctx, &right, x + n / 2, n - n / 2, join, empty);
    return s == RATIONAL_OK ? join(ctx, out, left, right) : s;
}

static RationalStatus fold_sum(Ctx *ctx, void *out, const Rational *x, int64_t n, int64_t extra)
{
    (void)extra;
    return fold(ctx, out, x, n, rational_add, 0);
}

static RationalStatus fold_prod(Ctx *ctx, void *out, const Rational *x, int64_t n, int64_t extra)
{
    (void)extra;
    return fold(ctx, out, x, n, rational_mul, 1);
}

static RationalStatus fold_mean(Ctx *ctx, void *out, const Rational *x, int64_t n, int64_t extra)
{
    Rational sum;
    RationalStatus s = fold_sum(ctx, &sum, x, n, extra);
    return s == RATIONAL_OK ? rational_div(ctx, out, sum, rational_int(n)) : s;
}

/* (sum x^2 - (sum x)^2 / n) / (n - ddof): nothing cancels where nothing is rounded. */
static RationalStatus fold_var(Ctx *ctx, void *out, const Rational *x, int64_t n, int64_t ddof)
{
    Rational sum, squares = rational_int(0), p, free;
    RationalStatus s = fold_sum(ctx, &sum, x, n, 0);
    if (s == RATIONAL_OK) s = rational_dot(ctx, n, x, 1, x, 1, &squares);
    if (s == RATIONAL_OK) s = rational_mul(ctx, &p, sum, sum);
    if (s == RATIONAL_OK) s = rational_div(ctx, &p, p, rational_int(n));
    if (s == RATIONAL_OK) s = rational_sub(ctx, &p, squares, p);
    if (s == RATIONAL_OK) s = rational_sub(ctx, &free, rational_int(n), rational_int(ddof));
    return s == RATIONAL_OK ? rational_div(ctx, out, p, free) : s;
}

/* Position of the least or greatest, the first of equals. */
static int64_t extreme(Ctx *ctx, const Rational *x, int64_t n, int sign)
{
    int64_t best = 0;
    for (int64_t i = 1; i < n && !*ctx->interrupt; i++)
        if (rational_compare(ctx, x[i], x[best]) * sign > 0)
            best = i;
    return best;
}

static RationalStatus fold_extreme(Ctx *ctx, void *out, const Rational *x, int64_t n, int64_t sign)
{
    *(Rational *)out = x[extreme(ctx, x, n, (int)sign)];
    return RATIONAL_OK;
}

static RationalStatus fold_position(Ctx *ctx, void *out, const Rational *x, int64_t n, int64_t sign)
{
    *(int64_t *)out = extreme(ctx, x, n, (int)sign);
    return RATIONAL_OK;
}

static int64_t nonzeros(const Rational *x, int64_t n)
{
    int64_t count = 0;
    for (int64_t i = 0; i < n; i++)
        count += rational_sign(x[i]) != 0;
    return count;
}

static RationalStatus fold_count(Ctx *ctx, void *out, const Rational *x, int64_t n, int64_t extra)
{
    (void)ctx, (void)extra;
    *(int64_t *)out = nonzeros(x, n);
    return RATIONAL_OK;
}

static RationalStatus fold_any(Ctx *ctx, void *out, const Rational *x, int64_t n, int64_t all)
{
    (void)ctx;
    *(uint8_t *)out = all ? nonzeros(x, n) == n : nonzeros(x, n) > 0;
    return RATIONAL_OK;
}

Value op_exact_sum(OpCall *c) { return fold_lanes(c, fold_sum, DT_RATIONAL, 2, false, 0); }
Value op_exact_prod(OpCall *c) { return fold_lanes(c, fold_prod, DT_RATIONAL, 2, false, 0); }
Value op_exact_mean(OpCall *c) { return fold_lanes(c, fold_mean, DT_RATIONAL, 2, true, 0); }
Value op_exact_min(OpCall *c) { return fold_lanes(c, fold_extreme, DT_RATIONAL, 2, true, -1); }
Value op_exact_max(OpCall *c) { return fold_lanes(c, fold_extreme, DT_RATIONAL, 2, true, 1); }
Value op_exact_argmin(OpCall *c) { return fold_lanes(c, fold_position, DT_I64, 2, true, -1); }
Value op_exact_argmax(OpCall *c) { return fold_lanes(c, fold_position, DT_I64, 2, true, 1); }
Value op_exact_any(OpCall *c) { return fold_lanes(c, fold_any, DT_BOOL, 2, false, 0); }
Value op_exact_all(OpCall *c) { return fold_lanes(c, fold_any, DT_BOOL, 2, false, 1); }
Value op_exact_count(OpCall *c) { return fold_lanes(c, fold_count, DT_I64, 2, false, 0); }

Value op_exact_var(OpCall *c)
{
    int64_t ddof = arg_given(c, 2) ? arg_int(c, 2) : 0;
    ddof = ddof < -INT64_MAX ? -INT64_MAX : ddof;
    return fold_lanes(c, fold_var, DT_RATIONAL, 3, true, ddof);
}

/* ---- lanes along one axis ---- */

/* x with one axis moved last, contiguous: `count` lanes of n elements. */
typedef struct Along {
    Tensor *x;
    int axis;
    int64_t n, count;
} Along;

static Along along(OpCall *c, Tensor *x, int axis)
{
    Ctx *ctx = &c->in->ctx;
    Along l = { .axis = axis, .n = tensor_shape(x)[axis] };
    l.count = l.n ? x->size / l.n : 0;
    l.x = op_keep(c, tensor_compact(ctx, op_keep(c, tensor_axes_last(ctx, x, 1ull << axis))));
    return l;
}

/* A result that lies like l.x. */
static Tensor *along_out(OpCall *c, const Along *l, DType dt)
{
    return op_keep(c, tensor_new(&c->in->ctx, dt, l->x->rank, tensor_shape(l->x)));
}

/* The view of it with the axis back in its place. */
static Value along_result(OpCall *c, const Along *l, Tensor *out)
{
    int64_t shape[TENSOR_RANK_MAX], strides[TENSOR_RANK_MAX];
    int rank = out->rank, from = 0;
    for (int a = 0; a < rank; a++) {
        int own = a == l->axis ? rank - 1 : from++;
        shape[a] = tensor_shape(out)[own];
        strides[a] = tensor_strides(out)[own];
    }
    return v_tensor_raw(tensor_view(&c->in->ctx, out, rank, shape, strides, out->data));
}

static Tensor *flat(OpCall *c, Tensor *x)
{
    Tensor *dense = op_keep(c, tensor_compact(&c->in->ctx, x));
    int64_t one = 1;
    return op_keep(c, tensor_view(&c->in->ctx, dense, 1, &dense->size, &one, dense->data));
}

static Value running(OpCall *c, RationalStatus (*step)(Ctx *, Rational *, Rational, Rational))
{
    Ctx *ctx = &c->in->ctx;
    Tensor *x = exact_tensor(c, 0);
    bool all = !arg_given(c, 1) || x->rank == 0;
    int axis = all ? 0 : arg_axis(c, 1, x->rank, 0);
    Along l = along(c, all ? flat(c, x) : x, axis);
    Tensor *out = along_out(c, &l, DT_RATIONAL);
    for (int64_t i = 0; i < l.count * l.n; i++) {
        Rational *to = exact_data(out) + i, from = exact_data(l.x)[i];
        if (i % l.n == 0)
            *to = from;
        else
            exact_check(c, step(ctx, to, to[-1], from));
    }
    return along_result(c, &l, out);
}

Value op_exact_cumsum(OpCall *c) { return running(c, rational_add); }
Value op_exact_cumprod(OpCall *c) { return running(c, rational_mul); }

static RationalStatus greater(Ctx *ctx, Rational *to, Rational a, Rational b)
{
    *to = rational_compare(ctx, a, b) >= 0 ? a : b;
    return RATIONAL_OK;
}

static RationalStatus smaller(Ctx *ctx, Rational *to, Rational a, Rational b)
{
    *to = rational_compare(ctx, a, b) <= 0 ? a : b;
    return RATIONAL_OK;
}

Value op_exact_cummax(OpCall *c) { return running(c, greater); }
Value op_exact_cummin(OpCall *c) { return running(c, smaller); }

/* ---- order ---- */

typedef struct Sorter {
    OpCall *c;
    const Rational *x;
    int64_t *at, *spare, n;    /* positions, in order afterwards */
    int sign;                  /* -1: descending */
} Sorter;

static void merge(const Sorter *s, int64_t from, int64_t middle, int64_t to)
{
    Ctx *ctx = &s->c->in->ctx;
    int64_t i = from, j = middle;
    for (int64_t k = from; k < to; k++) {
        bool left = j == to;
        if (!left && i < middle)
            left = rational_compare(ctx, s->x[s->at[i]], s->x[s->at[j]]) * s->sign <= 0;
        s->spare[k] = s->at[left ? i++ : j++];
    }
    memcpy(s->at + from, s->spare + from, (size_t)(to - from) * sizeof *s->at);
}

/* Bottom-up merging: stable. */
static void sort_positions(const Sorter *s)
{
    for (int64_t i = 0; i < s->n; i++)
        s->at[i] = i;
    for (int64_t width = 1; width < s->n; width *= 2)
        for (int64_t from = 0; from + width < s->n; from += 2 * width) {
            merge(s, from, from + width, from + 2 * width < s->n ? from + 2 * width : s->n);
            poll_interrupt(s->c->in);
        }
}

static Sorter sorter(OpCall *c, int64_t n, bool descending)
{
    int64_t words = 2 * n;
    int64_t *at = (int64_t *)(void *)op_keep(c, tensor_new(&c->in->ctx, DT_I64, 1, &words))->data;
    return (Sorter){ .c = c, .at = at, .spare = at + n, .n = n, .sign = descending ? -1 : 1 };
}

static Value sorting(OpCall *c, bool positions)
{
    Tensor *x = exact_tensor(c, 0);
    bool scalar = x->rank == 0, all = scalar || c->args[1].tag == V_NONE;
    Along l = along(c, all ? flat(c, x) : x, all ? 0 : arg_axis(c, 1, x->rank, x->rank - 1));
    Tensor *out = along_out(c, &l, positions ? DT_I64 : DT_RATIONAL);
    Sorter s = sorter(c, l.n, arg_bool(c, 2, false));
    for (int64_t lane = 0; lane < l.count; lane++) {
        s.x = exact_data(l.x) + lane * l.n;
        sort_positions(&s);
        for (int64_t i = 0; i < l.n; i++)
            if (positions)
                ((int64_t *)(void *)out->data)[lane * l.n + i] = s.at[i];
            else
                exact_data(out)[lane * l.n + i] = s.x[s.at[i]];
    }
    if (scalar)
        return v_tensor(&c->in->ctx, tensor_view(&c->in->ctx, out, 0, tensor_shape(out),
                                                 tensor_strides(out), out->data));
    return along_result(c, &l, out);
}

Value op_exact_sort(OpCall *c) { return sorting(c, false); }
Value op_exact_argsort(OpCall *c) { return sorting(c, true); }

Value op_exact_unique(OpCall *c)
{
    Ctx *ctx = &c->in->ctx;
    Tensor *x = flat(c, exact_tensor(c, 0));
    bool want_counts = arg_bool(c, 1, false);
    Sorter s = sorter(c, x->size, false);
    s.x = exact_data(x);
    sort_positions(&s);
    int64_t distinct = 0;
    for (int64_t i = 0; i < s.n; i++)
        if (i == 0 || !rational_equal(s.x[s.at[i]], s.x[s.at[i - 1]]))
            s.spare[distinct++] = i;
    Tensor *values = op_keep(c, tensor_new(ctx, DT_RATIONAL, 1, &distinct));
    Tensor *counts = op_keep(c, tensor_new(ctx, DT_I64, 1, &distinct));
    for (int64_t i = 0; i < distinct; i++) {
        exact_data(values)[i] = s.x[s.at[s.spare[i]]];
        int64_t end = i + 1 < distinct ? s.spare[i + 1] : s.n;
        ((int64_t *)(void *)counts->data)[i] = end - s.spare[i];
    }
    if (!want_counts)
        return op_result(c, values);
    return tuple_make(c->in, "values", op_result(c, values), "counts", op_result(c, counts), NULL);
}

/* By the rows of its form in a precision scope. */
Value op_exact_quantile(OpCall *c)
{
    Scope s = scope_implied(c->in, DT_RATIONAL);
    return c->op->format(c, &s);
}

Value op_exact_median(OpCall *c)
{
    Ctx *ctx = &c->in->ctx;
    uint64_t axes = arg_axes(c, 1, arg_tensor(c, 0)->rank);
    Lanes l = lanes_read(c, axes, arg_bool(c, 2, false));
    if (l.n == 0 && l.count > 0)
        arg_error(c, 0, ERR_VALUE, "%s is empty, and median of no rationals is none",
                  arg_text(c, 0));
    Tensor *out = op_keep(c, tensor_new(ctx, DT_RATIONAL, l.rank, l.shape));
    Sorter s = sorter(c, l.n, false);
    for (int64_t i = 0; i < l.count; i++) {
        Rational sum;
        s.x = exact_data(l.x) + i * l.n;
        sort_positions(&s);
        Rational low = s.x[s.at[(l.n - 1) / 2]], high = s.x[s.at[l.n / 2]];
        exact_check(c, rational_add(ctx, &sum, low, high));
        exact_check(c, rational_div(ctx, &exact_data(out)[i], sum, rational_int(2)));
    }
    return op_result(c, out);
}

/* ---- nearness is a matter of floats ---- */

static Value in_floats(OpCall *c)
{
    Value args[8];
    OpCall call = *c;
    memcpy(args, c->args, (size_t)c->count * sizeof *args);      /* theirs are the caller's */
    call.args = args;
    for (int i = 0; i < 2; i++)
        if (exact_value(args[i]))
            args[i] = op_root(c, op_cast(c->in, args[i], DT_F64));
    return call.op->run(&call);
}

Value op_exact_allclose(OpCall *c) { return in_floats(c); }
Value op_exact_isclose(OpCall *c) { return in_floats(c); }

/* ---- rounding to decimals ---- */

/* round(x, digits): x 10^digits to the nearest integer, halves to even, over 10^digits. */
Value op_exact_round(OpCall *c)
{
    Ctx *ctx = &c->in->ctx;
    int64_t digits = c->count > 1 && arg_given(c, 1) ? arg_int(c, 1) : 0;
    Tensor *x = op_keep(c, tensor_compact(ctx, exact_tensor(c, 0)));
    Tensor *out = op_keep(c, tensor_new(ctx, DT_RATIONAL, x->rank, tensor_shape(x)));
    Rational scale, *to = exact_data(out);
    exact_check(c, rational_power(ctx, &scale, rational_int(10), rational_int(digits)));
    for (int64_t i = 0; i < x->size; i++) {
        exact_check(c, rational_mul(ctx, &to[i], exact_data(x)[i], scale));
        exact_check(c, rational_round(ctx, &to[i], to[i]));
        exact_check(c, rational_div(ctx, &to[i], to[i], scale));
    }
    return op_result(c, out);
}

/* ---- the parts ---- */

static Value part_of(OpCall *c, RationalStatus (*part)(Ctx *, Rational *, Rational))
{
    Ctx *ctx = &c->in->ctx;
    Tensor *given = arg_tensor(c, 0);
    if (strchr("fc", dtype_info(given->dtype)->kind)) {
        char what[96];
        arg_error_help(c, 0, ERR_DTYPE, "make it exact first: rational(x)",
                       "%s is %s; a rational has a %s",
                       arg_text(c, 0), v_article(c->args[0], what, sizeof what), c->op->name);
    }
    Tensor *x = op_keep(c, tensor_compact(ctx, exact_tensor(c, 0)));
    Tensor *out = op_keep(c, tensor_new(ctx, DT_RATIONAL, x->rank, tensor_shape(x)));
    for (int64_t i = 0; i < x->size; i++)
        exact_check(c, part(ctx, &exact_data(out)[i], exact_data(x)[i]));
    return op_result(c, out);
}

Value op_run_numerator(OpCall *c) { return part_of(c, rational_numerator); }
Value op_run_denominator(OpCall *c) { return part_of(c, rational_denominator); }
