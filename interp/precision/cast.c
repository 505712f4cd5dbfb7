/* Casts to any dtype: f32(x), bf16("0.1"), cast(x, mp(200)), each rounded once; inside a precision
 * scope in its mode. Numbers from text, literals among them. */
#include "interp/precision/cast.h"

#include "core/base/error.h"
#include "interp/op/arith.h"
#include "interp/op/elementwise.h"
#include "interp/op/exact.h"
#include "interp/state/scope.h"
#include "kernels/sparse/sparse.h"
#include "kernels/number/number.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- the mode of casts ---- */
static bool scoped(const Interp *in) { return in->scope && in->scope->format != DT_NONE; }

static bool arith_of(Interp *in, Arith *a, DType dt, bool by_chance)
{
    Scope s = scoped(in) ? *in->scope : scope_of(dt);
    RoundMode round = s.round == ROUND_STOCHASTIC && !by_chance ? ROUND_NEAREST : s.round;
    ArithStatus status = arith_open(&in->ctx, a, dt, round, s.saturate, s.flush);
    memcpy(a->seed, s.seed, sizeof a->seed);
    a->draw = s.draw;
    if (status == ARITH_NONE)
        return false;
    if (status != ARITH_OK)
        arith_raise(&in->ctx, status, dt, dtype_name(dt));
    return true;
}

bool cast_arith(Interp *in, Arith *a, DType dt)
{
    return arith_of(in, a, dt, false);
}

static bool real_dtype(DType dt)
{
    return dtype_info(dt)->kind != 'c';
}

/* t in another dtype, in the mode of the scope, which counts what is rounded. */
static Tensor *cast_tensor(Interp *in, Tensor *t, DType dt)
{
    Arith a;
    Ctx *ctx = &in->ctx;
    bool ordinary = !scoped(in) || !real_dtype((DType)t->dtype) || t->dtype == dt;
    if (ordinary || !arith_of(in, &a, dt, true))
        return tensor_cast(ctx, t, dt);
    Value *mark = in->sp;
    Tensor *x = tensor_compact(ctx, t);
    v_push(in, v_tensor_raw(x));
    Tensor *carriers = tensor_new(ctx, a.carrier, t->rank, tensor_shape(t));
    v_push(in, v_tensor_raw(carriers));
    Tensor *out = tensor_new(ctx, dt, t->rank, tensor_shape(t));
    v_push(in, v_tensor_raw(out));
    ArithStatus status = a.ops->load(&a, carriers->data, 1, (DType)t->dtype, x->data, 1, t->size);
    if (status == ARITH_OK)
        status = a.ops->store(&a, out->data, 1, carriers->data, 1, t->size);
    if (status == ARITH_INTERRUPT)
        poll_interrupt(in);
    if (status != ARITH_OK)
        arith_raise(ctx, status, dt, dtype_name(dt));
    scope_done(in->scope, &a);
    tensor_retain(out);
    stack_cut(in, mark);
    return out;
}

/* ---- numbers from text ---- */
_Noreturn static void raise_text(Interp *in, DType dt, const Str *s, const char *what,
                                 const char *help)
{
    Error *e = err_new(&in->ctx, ERR_VALUE, "%s: \"%.*s%s\" %s", dtype_name(dt),
                       (int)(s->len < 40 ? s->len : 40), s->text, s->len > 40 ? "…" : "", what);
    err_underline(e, 0);
    if (help)
        err_help(e, "%s", help);
    err_throw(e);
}

/* "1/3", "0.1": as written. */
static void rational_of_text(Interp *in, DType dt, Rational *out, const Str *s)
{
    RationalStatus status = rational_from_text(&in->ctx, out, s->text, s->len);
    if (status == RATIONAL_NO_NUMBER)
        raise_text(in, dt, s, "is no fraction",
                   "write it as \"1/3\", \"-2\", \"0.125\" or \"1e-5\"");
    if (status == RATIONAL_DIVISION)
        raise_text(in, dt, s, "has the denominator zero", NULL);
    if (status != RATIONAL_OK)
        rational_raise(&in->ctx, status, "rational");
}

/* The quotient that is written, rounded once. */
static ArithStatus carrier_of_fraction(Interp *in, Arith *a, void *carrier, const Str *s)
{
    Rational fraction = { 0 };
    rational_of_text(in, a->dtype, &fraction, s);
    Value *mark = in->sp;
    v_push(in, v_element(&in->ctx, DT_RATIONAL, &fraction));
    ArithStatus status = a->ops->load(a, carrier, 1, DT_RATIONAL, mark->tensor->data, 1, 1);
    stack_cut(in, mark);
    return status;
}

/* bf16("0.1"), bf16("1/3"): rounded once from what is written. */
static void element_of_text(Interp *in, Arith *a, void *element, const Str *s)
{
    _Alignas(16) char carrier[16] = { 0 };
    if (a->dtype == DT_RATIONAL) {
        rational_of_text(in, DT_RATIONAL, element, s);
        return;
    }
    ArithStatus status = memchr(s->text, '/', s->len)
                             ? carrier_of_fraction(in, a, carrier, s)
                             : number_from_text(a, carrier, s->text, s->len);
    if (status == ARITH_NO_NUMBER)
        raise_text(in, a->dtype, s, "is no number",
                   "write it as \"0.1\", \"1/3\", \"-2\" or \"1e-5\"");
    if (status == ARITH_OK)
        status = a->ops->store(a, element, 1, carrier, 1, 1);
    if (status != ARITH_OK)
        arith_raise(&in->ctx, status, a->dtype, dtype_name(a->dtype));
}

static bool holds_text(Value v)
{
    bool text = v.tag == V_TUPLE && v.tuple->count > 0;
    for (uint32_t i = 0; text && i < v.tuple->count; i++)
        text = v.tuple->items[i].tag == V_STRING;
    return text;
}

/* rational("1/3"), and rational(["1/3", "2/3"]), a vector. */
static Value cast_text(Interp *in, Arith *a, Value x)
{
    _Alignas(16) char element[16] = { 0 };
    if (x.tag == V_STRING) {
        element_of_text(in, a, element, x.str);
        return v_element(&in->ctx, a->dtype, element);
    }
    int64_t n = x.tuple->count, bytes = dtype_info(a->dtype)->bytes;
    Tensor *t = tensor_new(&in->ctx, a->dtype, 1, &n);
    v_push(in, v_tensor_raw(t));
    for (int64_t i = 0; i < n; i++)
        element_of_text(in, a, t->data + i * bytes, x.tuple->items[i].str);
    return *--in->sp;
}

/* ---- casts ---- */
static Value cast_entries(Interp *in, const Sparse *s, DType dt)
{
    v_push(in, op_cast(in, v_tensor_raw(s->value), dt));
    Tensor *t = sparse_like(&in->ctx, s, in->sp[-1].tensor);
    stack_cut(in, in->sp - 1);
    return v_tensor_raw(t);
}

Value op_cast(Interp *in, Value x, DType dt)
{
    char given[96];
    Arith a;
    bool text = x.tag == V_STRING || holds_text(x);
    if (text && real_dtype(dt) && cast_arith(in, &a, dt))
        return cast_text(in, &a, x);
    if (!v_is_numeric(x) && x.tag != V_RANGE) {
        Error *e = err_new(&in->ctx, ERR_TYPE, "%s casts numbers and tensors: %s is %s",
                           dtype_name(dt),
                           err_operand_text(&in->ctx, 0), v_article(x, given, sizeof given));
        if (x.tag == V_STRING)
            err_help(e, "text becomes a number with float(%s) or int(%s)",
                     err_operand_text(&in->ctx, 0), err_operand_text(&in->ctx, 0));
        err_throw(e);
    }
    bool pairs = v_dtype(x) != DT_NONE && dtype_info(v_dtype(x))->kind == 'c';
    if (pairs && dtype_wide_pair(dtype_complex_of(dt)))      /* no name of their own: mp(200)(1i) */
        dt = dtype_complex_of(dt);
    if (v_dtype(x) == dt)
        return v_retain(x);
    if (x.tag == V_TENSOR && tensor_sparse(x.tensor))
        return cast_entries(in, tensor_sparse(x.tensor), dt);
    Value *mark = in->sp;
    Tensor *t = v_to_tensor(in, x, 0);
    v_push(in, v_tensor_raw(t));
    Tensor *cast = cast_tensor(in, t, dt);
    if (cast != t)
        cast->flags = t->flags & TENSOR_COVECTOR;
    Value r = v_tensor(&in->ctx, cast);
    stack_cut(in, mark);
    return r;
}

/* ---- interval(lo, hi) ---- */
/* A bound as intervals around the exact numbers, rooted on the value stack. */
static Tensor *bound_of(Interp *in, Value bound, int which)
{
    char given[96];
    if (!v_is_numeric(bound) && bound.tag != V_RANGE && bound.tag != V_STRING)
        err_raise(&in->ctx, ERR_TYPE, "interval(lo, hi) takes numbers and tensors: %s is %s",
                  err_operand_text(&in->ctx, which), v_article(bound, given, sizeof given));
    v_push(in, op_cast(in, bound, DT_INTERVAL));
    return in->sp[-1].tensor;
}

_Noreturn static void raise_crossed(Interp *in, const Tensor *t, int64_t k, Interval v)
{
    char where[160] = "";
    size_t n = sizeof where;
    int64_t stride = t->size;
    const char *lo = err_operand_text(&in->ctx, 0), *hi = err_operand_text(&in->ctx, 1);
    for (int axis = 0; axis < t->rank && strlen(where) < n; axis++) {
        stride /= tensor_shape(t)[axis];
        snprintf(where + strlen(where), n - strlen(where), "%s%lld", axis ? ", " : ", at [",
                 (long long)(k / stride));
        k %= stride;
    }
    Error *e = err_new(&in->ctx, ERR_VALUE,
                       "the lower bound %g of an interval is above the upper one, %g%s%s", v.lo,
                       v.hi, where, t->rank ? "]" : "");
    if (t->rank > 0)
        err_help(e, "interval(minimum(%s, %s), maximum(%s, %s))", lo, hi, lo, hi);
    else
        err_help(e, "interval(%s, %s)", hi, lo);
    err_throw(e);
}

Value interval_of_bounds(Interp *in, Value lo, Value hi)
{
    Value *mark = in->sp;
    int64_t shape[TENSOR_RANK_MAX];
    Tensor *bound[2] = { bound_of(in, lo, 0), bound_of(in, hi, 1) };
    int bad, rank = shape_broadcast(bound[0]->rank, tensor_shape(bound[0]), bound[1]->rank,
                                    tensor_shape(bound[1]), shape, &bad);
    if (rank < 0)
        ew_shape_error(in, &(Op){ .name = "interval" }, bound, 2);
    Tensor *out = tensor_new(&in->ctx, DT_INTERVAL, rank, shape);
    v_push(in, v_tensor_raw(out));
    for (int i = 0; i < 2; i++) {
        Tensor *view = tensor_broadcast(&in->ctx, bound[i], rank, shape);
        v_push(in, v_tensor_raw(view));
        v_push(in, v_tensor_raw(tensor_compact(&in->ctx, view)));
    }
    const Interval *from = (const Interval *)in->sp[-3].tensor->data;
    const Interval *to = (const Interval *)in->sp[-1].tensor->data;
    Interval *v = (Interval *)out->data;
    for (int64_t k = 0; k < out->size; k++) {
        v[k] = (Interval){ from[k].lo, to[k].hi };
        if (isnan(v[k].lo) || isnan(v[k].hi))    /* no number at all, on either side */
            v[k].lo = v[k].hi = NAN;
        if (v[k].lo > v[k].hi)
            raise_crossed(in, out, k, v[k]);
        if ((k & 0xffff) == 0)
            poll_interrupt(in);
    }
    tensor_retain(out);
    stack_cut(in, mark);
    return v_tensor(&in->ctx, out);
}

/* ---- literals that meet a tensor ---- */
bool literal_store(Interp *in, DType dt, void *element, const char *text, size_t len)
{
    Arith a;
    _Alignas(16) char carrier[16] = { 0 };
    ArithStatus status = arith_open(&in->ctx, &a, dt, ROUND_NEAREST, false, false);
    if (status == ARITH_OK)
        status = number_from_text(&a, carrier, text, len);
    if (status == ARITH_OK)
        status = a.ops->store(&a, element, 1, carrier, 1, 1);
    if (status == ARITH_NO_NUMBER)
        return false;
    if (status != ARITH_OK)
        arith_raise(&in->ctx, status, dt, text);
    return true;
}
