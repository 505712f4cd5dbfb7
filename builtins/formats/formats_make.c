/* Making tensors in a format, and signals: rows of making.def whose default dtype is the scope's
 * format, convolution, differences, covariance. A dtype= wins over the scope's; what it cannot hold
 * is rounded once, in the scope's mode. Called through the precision aspect. */
#include "builtins/formats/formats.h"

#include "core/base/error.h"
#include "interp/op/optable.h"

#include <math.h>
#include <string.h>

/* The row's own function with another dtype=. */
static Value run_with(OpCall *c, int i, Value dtype)
{
    Value before = c->args[i];
    c->args[i] = dtype;
    Scope *outer = c->in->scope;
    c->in->scope = NULL;
    Value r = c->op->run(c);
    c->in->scope = outer;
    c->args[i] = before;
    return r;
}

/* The scope with the dtype that is asked for as its format; it counts for itself. */
static Scope target_scope(OpCall *c, const Scope *s, int i)
{
    Scope t = *s;
    t.format = arg_dtype(c, i, s->format);
    t.flags = (ArithFlags){ 0 };
    return t;
}

/* What was counted and drawn in t goes to s. */
static void target_done(Scope *s, const Scope *t)
{
    arith_flags_add(&s->flags, &t->flags);
    s->draw = t->draw > s->draw ? t->draw : s->draw;
}

static bool own_float(DType dt)
{
    return dtype_plain(dt) && dtype_info(dt)->kind == 'f';
}

static Value settled(OpCall *c, Scope *s, Scope *t, Value v)
{
    v = precise_settle(c->in, t, c->op, v);
    target_done(s, t);
    return v;
}

static bool no_fraction(DType dt) { return !strchr("fq", dtype_info(dt)->kind); }

/* A row whose values every float format has alike, or random ones (below 1: uniform). */
static Value made(OpCall *c, Scope *s, bool random, bool below_one)
{
    int i = op_sig(c->in, c->op)->dtype, e, p;
    MiniStyle style;
    Scope t = target_scope(c, s, i);
    bool own = !random || (arg_given(c, i) && s->round == ROUND_NEAREST);
    if (no_fraction(t.format) || (own_float(t.format) && own))
        return run_with(c, i, v_format(t.format));
    if (below_one && dtype_mini_read(t.format, &e, &p, &style))
        t.round = ROUND_ZERO;
    return settled(c, s, &t, run_with(c, i, v_format(DT_F64)));
}

Value op_format_made(OpCall *c, Scope *s) { return made(c, s, false, false); }

/* Random numbers without a dtype= are those of f64, rounded once: every scope draws the same ones
 * from the same state. Uniform ones are rounded towards zero, so that none becomes 1. */
Value op_format_rand(OpCall *c, Scope *s) { return made(c, s, true, true); }
Value op_format_randn(OpCall *c, Scope *s) { return made(c, s, true, false); }

Value op_format_full(OpCall *c, Scope *s)
{
    int i = op_sig(c->in, c->op)->dtype;
    Scope t = target_scope(c, s, i);
    if (!arg_given(c, i))
        return precise_outside(c, s, DT_NONE, false);
    if (no_fraction(t.format))
        return run_with(c, i, v_format(t.format));
    int at = c->args[0].tag == V_UNDEF || c->args[0].tag == V_NONE ? c->count - 1 : 0;
    if (at && at < c->fixed + 1)
        return c->op->run(c);                   /* which says what is missing */
    Value before = c->args[at];
    c->args[at] = op_root(c, op_call(c->in, op_named(c->in, "cast"),
                                     (Value[]){ before, v_format(t.format) }, 2, 0));
    Value r = run_with(c, i, v_format(t.format));
    c->args[at] = before;
    return r;
}

/* start + (0, 1, 2 … n-1) step, or with `gaps` start + (0, 1, 2 … n-1) / gaps step, in the
 * format; rooted. */
static Value sequence(OpCall *c, Scope *s, Value start, Value step, int64_t n, int64_t gaps)
{
    Range *r = range_new(&c->in->ctx, 0, n, 1);
    Value x = op_root(c, v_range(r));
    scope_enter(c->in, s);
    x = op_root(c, op_call(c->in, op_named(c->in, "cast"), (Value[]){ x, v_format(s->format) }, 2,
                           0));
    if (gaps > 0)
        x = format_row(c, "divide", 2, x, v_int(gaps));
    x = format_row(c, "add", 2, format_row(c, "multiply", 2, x, step), start);
    scope_leave(c->in, s);
    return x;
}

/* How many steps there are from start to stop: 3 from 0.6 to 0.9 by 0.1. Exactly; in mp, where 0.1
 * is not 1/10, rounded as f64 rounds it. */
static double steps_between(OpCall *c, const Scope *s, Value start, Value stop, Value step)
{
    Scope count = scope_of(dtype_base(s->format) == DT_MP ? s->format : DT_RATIONAL);
    scope_enter(c->in, &count);
    Value n = format_row(c, "divide", 2, format_row(c, "subtract", 2, stop, start), step);
    n = format_row(c, "ceil", 1, n);
    scope_leave(c->in, &count);
    const Tensor *cell = op_keep(c, v_to_tensor(c->in, n, 0));
    return element_f64((DType)cell->dtype, cell->data);
}

Value op_format_arange(OpCall *c, Scope *s)
{
    int i = op_sig(c->in, c->op)->dtype;
    bool whole = true;
    for (int k = 0; k < 3; k++)
        whole &= !arg_given(c, k) ||
                 (v_dtype(c->args[k]) != DT_NONE && no_fraction(v_dtype(c->args[k])));
    Scope t = target_scope(c, s, i);
    if ((whole && !arg_given(c, i)) || no_fraction(t.format))
        return exact_run(c);
    if (whole || format_is_binary(t.format))
        return settled(c, s, &t, run_with(c, i, whole ? v_undef() : v_format(DT_F64)));
    bool one = !arg_given(c, 1);
    double start = one ? 0 : arg_float(c, 0), stop = arg_float(c, one ? 0 : 1),
           step = arg_given(c, 2) ? arg_float(c, 2) : 1;
    double n = ceil((stop - start) / step);
    if (!(fabs(n) < 0x1p40))
        arg_error(c, 1, ERR_VALUE, "from %g to %g in steps of %g is no finite sequence", start,
                  stop, step);
    Value from = one ? v_int(0) : c->args[0], by = arg_given(c, 2) ? c->args[2] : v_int(1);
    if (t.format != DT_INTERVAL)
        n = steps_between(c, &t, from, c->args[one ? 0 : 1], by);
    Value x = sequence(c, &t, from, by, n > 0 ? (int64_t)n : 0, 0);
    target_done(s, &t);
    return v_retain(x);
}

/* The last of x, which nobody else has, becomes `stop` in the format: no rounding misses it. */
static void put_stop(OpCall *c, Scope *s, Value x, Value stop)
{
    Tensor *t = x.tensor;
    int64_t bytes = dtype_info((DType)t->dtype)->bytes;
    scope_enter(c->in, s);
    Value end = format_row(c, "cast", 2, stop, v_format(s->format));
    scope_leave(c->in, s);
    memcpy(t->data + (t->size - 1) * bytes, end.tensor->data, (size_t)bytes);
}

/* The points of linspace and, for logspace, of its exponents, in the format; rooted. */
static Value spaced(OpCall *c, Scope *s, int endpoint)
{
    int64_t n = arg_given(c, 2) ? arg_int(c, 2) : 50;
    if (n < 0)
        arg_error(c, 2, ERR_VALUE, "n is %lld, and a length cannot be negative", (long long)n);
    bool last = arg_bool(c, endpoint, true);
    arg_float(c, 0), arg_float(c, 1);          /* raise what is no real scalar */
    scope_enter(c->in, s);
    Value span = format_row(c, "subtract", 2, c->args[1], c->args[0]);
    scope_leave(c->in, s);
    Value x = sequence(c, s, c->args[0], span, n, last ? n - 1 : n);
    if (last && n > 1)
        put_stop(c, s, x, c->args[1]);
    return x;
}

Value op_format_linspace(OpCall *c, Scope *s)
{
    int i = op_sig(c->in, c->op)->dtype;
    Scope t = target_scope(c, s, i);
    if (no_fraction(t.format))
        return run_with(c, i, v_format(t.format));
    if (format_is_binary(t.format))
        return settled(c, s, &t, run_with(c, i, v_format(DT_F64)));
    Value x = spaced(c, &t, 3);
    target_done(s, &t);
    return v_retain(x);
}

Value op_format_logspace(OpCall *c, Scope *s)
{
    int i = op_sig(c->in, c->op)->dtype;
    Scope t = target_scope(c, s, i);
    if (no_fraction(t.format))
        return run_with(c, i, v_format(t.format));
    if (format_is_binary(t.format))
        return settled(c, s, &t, run_with(c, i, v_format(DT_F64)));
    Value x = spaced(c, &t, 4);
    scope_enter(c->in, &t);
    x = format_row(c, "power", 2, arg_given(c, 3) ? c->args[3] : v_int(10), x);
    scope_leave(c->in, &t);
    target_done(s, &t);
    return v_retain(x);
}

/* ---- signals ---- */
static Value run_diff(OpCall *c, Precise *p)
{
    Tensor *x = precise_operand(c, p, 0);
    int64_t times = arg_given(c, 1) ? arg_int(c, 1) : 1;
    if (arg_given(c, 3) || arg_given(c, 4) || x->rank == 0 || times < 0)
        format_refuse(c, p->scope->format);
    int axis = arg_axis(c, 2, x->rank, x->rank - 1);
    if (times > tensor_shape(x)[axis])
        times = tensor_shape(x)[axis];           /* nothing is left */
    while (times-- > 0) {
        Value *mark = c->in->sp;
        int64_t shape[TENSOR_RANK_MAX],
            step = tensor_strides(x)[axis] * dtype_info((DType)x->dtype)->bytes;
        memcpy(shape, tensor_shape(x), (size_t)x->rank * sizeof *shape);
        shape[axis] -= shape[axis] > 0;
        Ctx *ctx = &c->in->ctx;
        Tensor *low = op_keep(c, tensor_view(ctx, x, x->rank, shape, tensor_strides(x), x->data));
        Tensor *high =
            op_keep(c, tensor_view(ctx, x, x->rank, shape, tensor_strides(x), x->data + step));
        x = op_keep(
            c, v_to_tensor(c->in,
                           format_row(c, "subtract", 2, v_tensor_raw(high), v_tensor_raw(low)), 0));
        tensor_retain(x);
        stack_cut(c->in, mark);
        op_keep(c, x);
    }
    return op_result(c, x);
}

Value op_format_diff(OpCall *c, Scope *s)
{
    if (format_all_whole(c))
        return exact_run(c);
    Precise p;
    if (scope_ordinary(s) || arg_given(c, 3) || arg_given(c, 4))
        return op_format_wide(c, s);
    precise_open(&p, c->in, s);
    Value r = run_diff(c, &p);
    precise_close(&p);
    return r;
}

/* Vectors: sums over the first operand's elements in their order. */
static Value run_conv(OpCall *c, Precise *p)
{
    Tensor *x = format_summands(c, p, arg_tensor(c, 0)),
           *y = format_summands(c, p, arg_tensor(c, 1));
    const char *mode = arg_given(c, 2) ? arg_str(c, 2)->text : "full";
    if (x->rank != 1 || y->rank != 1 || x->size == 0 || y->size == 0 ||
        dtype_info((DType)x->dtype)->kind == 'c' || dtype_info((DType)y->dtype)->kind == 'c')
        format_refuse(c, p->scope->format);
    int64_t n = x->size, m = y->size, full = n + m - 1, from = 0, count = full;
    if (strcmp(mode, "full") != 0) {
        bool same = strcmp(mode, "same") == 0;
        count = same ? (n > m ? n : m) : (n > m ? n - m : m - n) + 1;
        from = (full - count) / 2;
    }
    Tensor *out = op_keep(c, tensor_new(&c->in->ctx, (DType)x->dtype, 1, &count));
    int size = p->acc.size;
    for (int64_t k = 0; k < count; k++) {
        int64_t at = k + from, low = at - m + 1 > 0 ? at - m + 1 : 0,
                high = at < n - 1 ? at : n - 1;
        ArithStatus s = p->acc.ops->dot(&p->acc, out->data + k * size, x->data + low * size, 1,
                                        y->data + (at - low) * size, -1, high - low + 1);
        precise_check(c->in, c->op, s, p->acc.dtype);
    }
    return format_sums(c, p, out);
}

Value op_format_conv(OpCall *c, Scope *s) { return format_accumulate(c, s, false, run_conv); }

/* ---- interp ---- */
/* n elements of a vector from `from` on; rooted. */
static Value stretch(OpCall *c, Tensor *x, int64_t from, int64_t n)
{
    char *data = x->data + from * tensor_strides(x)[0] * dtype_info((DType)x->dtype)->bytes;
    return op_root(c, v_tensor_raw(tensor_view(&c->in->ctx, x, 1, &n, tensor_strides(x), data)));
}

static void check_points(OpCall *c, DType format, const Tensor *x, const Tensor *xp,
                         const Tensor *fp)
{
    bool real = dtype_info((DType)x->dtype)->kind != 'c' &&
                dtype_info((DType)xp->dtype)->kind != 'c' &&
                dtype_info((DType)fp->dtype)->kind != 'c';
    if (arg_given(c, 5) || xp->rank != 1 || fp->rank != 1 || !real)
        format_refuse(c, format);
    if (xp->size != fp->size)
        arg_error(c, 1, ERR_SHAPE, "%s has %lld points but %s has %lld values", arg_text(c, 1),
                  (long long)xp->size, arg_text(c, 2), (long long)fp->size);
    if (xp->size == 0)
        arg_error(c, 1, ERR_VALUE, "a line goes through at least one point, and %s is empty",
                  arg_text(c, 1));
}

static void check_increases(OpCall *c, Tensor *xp)
{
    for (int64_t i = 0; i + 1 < xp->size; i++) {
        Value *mark = c->in->sp;
        Value less = format_row(c, "less", 2, stretch(c, xp, i, 1), stretch(c, xp, i + 1, 1));
        if (!((const bool *)less.tensor->data)[0])
            arg_error(c, 1, ERR_VALUE, "%s must increase, but its elements %lld and %lld do not",
                      arg_text(c, 1), (long long)i, (long long)i + 1);
        stack_cut(c->in, mark);
        poll_interrupt(c->in);
    }
}

/* How many of xp are at most x, for each element of x. */
static Value places_below(OpCall *c, Tensor *x, Tensor *xp)
{
    int64_t shape[TENSOR_RANK_MAX], strides[TENSOR_RANK_MAX];
    if (x->rank == TENSOR_RANK_MAX)
        format_refuse(c, (DType)x->dtype);
    memcpy(shape, tensor_shape(x), (size_t)x->rank * sizeof *shape);
    memcpy(strides, tensor_strides(x), (size_t)x->rank * sizeof *strides);
    shape[x->rank] = 1;
    strides[x->rank] = 0;
    Tensor *each = op_keep(c, tensor_view(&c->in->ctx, x, x->rank + 1, shape, strides, x->data));
    Value below = format_row(c, "less_equal", 2, v_tensor_raw(xp), v_tensor_raw(each));
    return format_row(c, "sum", 2, below, v_int(-1));
}

/* f0 + (x - x0) (f1 - f0) / (x1 - x0) between two points. */
static Value between(OpCall *c, Tensor *xs, Tensor *xp, Tensor *fp)
{
    Value x = v_tensor_raw(xs), places = v_tensor_raw(xp), values = v_tensor_raw(fp);
    Value at = places_below(c, xs, xp);
    int64_t last = xp->size > 1 ? xp->size - 2 : 0;
    at = format_row(c, "subtract", 2, at, v_int(1));
    at = format_row(c, "clamp", 3, at, v_int(0), v_int(last));
    Value f0 = format_row(c, "take", 2, values, at);
    if (xp->size == 1)
        return f0;
    Value next = format_row(c, "add", 2, at, v_int(1));
    Value x0 = format_row(c, "take", 2, places, at), x1 = format_row(c, "take", 2, places, next);
    Value rise = format_row(c, "subtract", 2, format_row(c, "take", 2, values, next), f0);
    Value way = format_row(c, "multiply", 2, format_row(c, "subtract", 2, x, x0), rise);
    way = format_row(c, "divide", 2, way, format_row(c, "subtract", 2, x1, x0));
    return format_row(c, "add", 2, f0, way);
}

static Value run_interp(OpCall *c, Precise *p)
{
    Scope inner;
    Tensor *x = precise_operand(c, p, 0), *xp = precise_operand(c, p, 1);
    Tensor *fp = precise_operand(c, p, 2);
    check_points(c, p->scope->format, x, xp, fp);
    int64_t m = xp->size;
    format_enter(c, p, &inner);
    check_increases(c, xp);
    Value v = v_tensor_raw(x), y = between(c, x, xp, fp);
    for (int side = 0; side < 2; side++) {
        int64_t end = side ? m - 1 : 0;
        Value out = format_row(c, side ? "greater" : "less", 2, v, stretch(c, xp, end, 1));
        bool given = arg_given(c, 3 + side) && c->args[3 + side].tag != V_NONE;
        Value instead = given ? v_tensor_raw(format_number(c, 3 + side)) : stretch(c, fp, end, 1);
        y = format_row(c, "where", 3, out, instead, y);
    }
    if (x->rank == 0 && y.tag == V_TENSOR && y.tensor->rank == 1)
        y = op_root(c, v_tensor_raw(tensor_view(&c->in->ctx, y.tensor, 0, NULL, NULL,
                                                y.tensor->data)));
    return format_leave(c, p, &inner, y);
}

/* Binary formats: in f64, and rounded once. Intervals that overlap have no order. */
Value op_format_interp(OpCall *c, Scope *s)
{
    if (format_is_binary(s->format) || s->format == DT_INTERVAL)
        return op_format_wide(c, s);
    Precise p;
    precise_open(&p, c->in, s);
    Value r = run_interp(c, &p);
    precise_close(&p);
    return r;
}

/* Operand i as variables in rows of observations. */
static Tensor *variable_rows(OpCall *c, Precise *p, int i, bool rows)
{
    Ctx *ctx = &c->in->ctx;
    Tensor *x = precise_operand(c, p, i);
    if (x->rank == 0 || x->rank > 2)
        format_refuse(c, p->scope->format);
    if (x->rank == 2 && !rows)
        x = op_keep(c, tensor_transpose_last(ctx, x));
    x = op_keep(c, tensor_compact(ctx, x));
    int64_t n = tensor_shape(x)[x->rank - 1], count = x->rank == 2 ? tensor_shape(x)[0] : 1;
    return op_keep(c,
                   tensor_view(ctx, x, 2, (int64_t[]){ count, n }, (int64_t[]){ n, 1 }, x->data));
}

/* The variables of both operands, those of the first on top. */
static Tensor *variables(OpCall *c, Precise *p)
{
    bool rows = arg_bool(c, 2, true);
    Tensor *x = variable_rows(c, p, 0, rows);
    if (!arg_given(c, 1) || c->args[1].tag == V_NONE)
        return x;
    Tensor *y = variable_rows(c, p, 1, rows);
    int64_t n = tensor_shape(x)[1], m = tensor_shape(y)[1];
    if (n != m)
        arg_error(c, 1, ERR_SHAPE, "%s has %lld observations and %s %lld", arg_text(c, 0),
                  (long long)n, arg_text(c, 1), (long long)m);
    if (x->dtype != y->dtype)
        format_refuse(c, p->scope->format);
    int64_t shape[] = { tensor_shape(x)[0] + tensor_shape(y)[0], n };
    Tensor *both = op_keep(c, tensor_new(&c->in->ctx, (DType)x->dtype, 2, shape));
    size_t bytes = (size_t)(x->size * dtype_info((DType)x->dtype)->bytes);
    memcpy(both->data, x->data, bytes);
    memcpy(both->data + bytes, y->data, (size_t)(y->size * dtype_info((DType)x->dtype)->bytes));
    return both;
}

/* X X^H / (n - ddof) of centred rows. */
static Value cov_of(OpCall *c, Tensor *x, Value by)
{
    Value mean = format_row(c, "mean", 3, v_tensor_raw(x), v_int(-1), v_bool(true));
    Value d = format_row(c, "subtract", 2, v_tensor_raw(x), mean);
    Value product = format_row(c, "matmul", 2, d, format_row(c, "ctranspose", 1, d));
    return format_row(c, "divide", 2, product, by);
}

/* One variable gives a number, not a 1x1 matrix. */
static Value one_or_matrix(OpCall *c, Value r)
{
    Tensor *t = r.tensor;
    if (r.tag != V_TENSOR || t->size != 1)
        return r;
    return op_root(c, v_tensor_raw(tensor_view(&c->in->ctx, t, 0, tensor_shape(t),
                                               tensor_strides(t), t->data)));
}

static Value run_cov(OpCall *c, Precise *p)
{
    Scope inner;
    if (arg_given(c, 5) || arg_given(c, 6))
        format_refuse(c, p->scope->format);
    Tensor *x = variables(c, p);
    format_enter(c, p, &inner);
    Value by = format_freedom(c, tensor_shape(x)[1], 4, !arg_bool(c, 3, false));
    return format_leave(c, p, &inner, one_or_matrix(c, cov_of(c, x, by)));
}

static Value run_corrcoef(OpCall *c, Precise *p)
{
    Scope inner;
    Tensor *x = variables(c, p);
    format_enter(c, p, &inner);
    Value cov = cov_of(c, x, v_int(tensor_shape(x)[1] - 1));
    Value scale = format_row(c, "sqrt", 1, format_row(c, "real", 1, format_row(c, "diag", 1, cov)));
    Value r = format_row(c, "divide", 2, cov, format_row(c, "outer", 2, scale, scale));
    return format_leave(c, p, &inner, one_or_matrix(c, r));
}

Value op_format_cov(OpCall *c, Scope *s) { return format_accumulate(c, s, true, run_cov); }
Value op_format_corrcoef(OpCall *c, Scope *s)
{
    return format_accumulate(c, s, true, run_corrcoef);
}
