/* Making tensors in a format: rows of making.def whose default dtype is the scope's format. A
 * dtype= wins over the scope's; what it cannot hold is rounded once, in the scope's mode. Called
 * through the precision aspect. */
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
