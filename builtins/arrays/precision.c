/* The rows of precision.def but bits: facts about formats, neighbours of numbers, flags. They
 * take values of every format, in their own arithmetic, and round nothing. */
#include "builtins/rows/rows.h"

#include "core/base/error.h"
#include "interp/precision/accuracy.h"
#include "interp/op/arith.h"
#include "interp/state/scope.h"
#include "kernels/number/number.h"
#include "kernels/number/spacing.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- formats ---- */
/* What floats are made in: the scope's format, f64 outside. */
static DType default_format(Interp *in)
{
    const Scope *s = in->scope;
    return s && s->format != DT_NONE ? s->format : DT_F64;
}

/* The real format that an argument names. */
static DType arg_format(OpCall *c, int i)
{
    char help[120];
    if (v_is_numeric(c->args[i])) {
        snprintf(help, sizeof help, "ulp(%.40s) is the distance from a number to the next",
                 arg_text(c, i));
        arg_error_help(c, i, ERR_TYPE, help, "%s is a number, and %s takes a format such as f32",
                       arg_text(c, i), c->op->name);
    }
    DType dt = arg_dtype(c, i, default_format(c->in));
    if (strchr("bi", dtype_info(dt)->kind))
        arg_error_help(c, i, ERR_DTYPE,
                       "formats of floats are f64 f32 f16 bf16 e4m3 float(e, p) mp(bits) …",
                       "%s is no format of floats", dtype_name(dt));
    dt = dtype_real(dt);
    return dt == DT_INTERVAL ? DT_F64 : dt;
}

/* A double that is a number of a binary format, as a value of it. */
static Value number_value(Interp *in, DType dt, double x)
{
    char room[ELEMENT_BYTES_MAX];
    if (dt == DT_F64)
        return v_float(x);
    binary_pack(dt, room, &x, 1);
    return v_tensor_raw(tensor_scalar(&in->ctx, dt, room));
}

static void open_format(OpCall *c, Arith *a, DType dt)
{
    ArithStatus s = arith_open(&c->in->ctx, a, dt, ROUND_NEAREST, false, false);
    if (s != ARITH_OK)
        arith_raise(&c->in->ctx, s, dt, c->op->name);
}

Value op_run_eps(OpCall *c)
{
    DType dt = arg_format(c, 0);
    BinaryFormat f;
    Arith a;
    Rational one, out = { 0 };
    if (binary_format(dt, &f))
        return number_value(c->in, dt, ldexp(1, 1 - f.p));
    if (dt != DT_RATIONAL) {
        open_format(c, &a, dt);
        ArithStatus s = number_from_text(&a, &one, "1", 1);
        if (s == ARITH_OK)
            s = spacing_ulp_row(&a, &out, 1, &one, 1, 1);
        if (s != ARITH_OK)
            arith_raise(&c->in->ctx, s, dt, c->op->name);
    }
    return v_tensor_raw(tensor_scalar(&c->in->ctx, dt, &out));
}

static BinaryFormat bounded_format(OpCall *c, DType dt, const char *why)
{
    BinaryFormat f;
    if (!binary_format(dt, &f))
        arg_error(c, 0, ERR_VALUE, why, dtype_name(dt));
    return f;
}

Value op_run_realmax(OpCall *c)
{
    DType dt = arg_format(c, 0);
    BinaryFormat f = bounded_format(c, dt, "%s has no largest number that a computation meets");
    return number_value(c->in, dt, f.max);
}

Value op_run_realmin(OpCall *c)
{
    DType dt = arg_format(c, 0);
    BinaryFormat f = bounded_format(c, dt, "the numbers of %s come as near to 0 as one likes");
    return number_value(c->in, dt, ldexp(1, f.emin - (arg_bool(c, 1, false) ? f.p - 1 : 0)));
}

/* ---- numbers ---- */
/* Argument i as a contiguous tensor of real floats of its own format; ints as the default one. */
static Tensor *arg_floats(OpCall *c, int i)
{
    Ctx *ctx = &c->in->ctx;
    Value v = c->args[i];
    Tensor *t = v_is_numeric(v) ? op_keep(c, v_to_tensor(c->in, v, i)) : arg_tensor(c, i);
    char kind = dtype_info((DType)t->dtype)->kind, help[120];
    if (strchr("bi", kind))
        t = op_keep(c, tensor_cast(ctx, t, default_format(c->in)));
    if (kind == 'c') {
        snprintf(help, sizeof help, "of its parts: %s(real(%.40s))", c->op->name, arg_text(c, i));
        arg_error_help(c, i, ERR_DTYPE, help, "%s is %s; %s takes real numbers", arg_text(c, i),
                       dtype_name((DType)t->dtype), c->op->name);
    }
    return op_keep(c, tensor_compact(ctx, t));
}

static _Noreturn void raise_spacing(OpCall *c, ArithStatus s, DType dt)
{
    if (s == ARITH_NONE)
        arg_error(c, 0, ERR_DTYPE, "%s is %s: %s", arg_text(c, 0), dtype_name(dt),
                  dt == DT_RATIONAL ? "between two fractions there is always another"
                                    : "an interval is two numbers");
    if (s == ARITH_DIGITS)
        arg_error(c, 0, ERR_VALUE, "the numbers of %s come as near to 0 as one likes",
                  dtype_name(dt));
    arith_raise(&c->in->ctx, s, dt, c->op->name);
}

Value op_run_ulp(OpCall *c)
{
    Ctx *ctx = &c->in->ctx;
    Tensor *x = arg_floats(c, 0);
    DType dt = (DType)x->dtype;
    Arith a;
    if (dt == DT_RATIONAL || dt == DT_INTERVAL)
        raise_spacing(c, ARITH_NONE, dt);
    open_format(c, &a, dt);
    Tensor *out = op_keep(c, tensor_new(ctx, dt, x->rank, tensor_shape(x)));
    Tensor *from = x, *to = out;
    if (a.carrier != dt) {
        from = to = op_keep(c, tensor_new(ctx, a.carrier, x->rank, tensor_shape(x)));
        binary_unpack(dt, (double *)(void *)from->data, x->data, x->size);
    }
    ArithStatus s = spacing_ulp_row(&a, to->data, 1, from->data, 1, x->size);
    if (s != ARITH_OK)
        raise_spacing(c, s, dt);
    if (to != out)
        binary_pack(dt, out->data, (double *)(void *)to->data, x->size);
    return op_result(c, out);
}

Value op_run_exact(OpCall *c)
{
    Value v = c->args[0];
    Tensor *t = v_is_numeric(v) ? op_keep(c, v_to_tensor(c->in, v, 0)) : arg_tensor(c, 0);
    DType dt = (DType)t->dtype;
    if (dtype_info(dt)->kind == 'c' || dt == DT_INTERVAL)
        arg_error(c, 0, ERR_DTYPE, "%s is %s; exact takes single real numbers", arg_text(c, 0),
                  dtype_name(dt));
    Tensor *out = op_keep(c, tensor_cast(&c->in->ctx, t, DT_RATIONAL));
    return op_result(c, out);
}

/* ---- digits ---- */
static Value digits_of_elements(OpCall *c)
{
    Ctx *ctx = &c->in->ctx;
    int64_t shape[TENSOR_RANK_MAX];
    int bad;
    char sx[96], sr[96];
    Tensor *x = arg_tensor(c, 0), *r = arg_tensor(c, 1);
    int rank = shape_broadcast(x->rank, tensor_shape(x), r->rank, tensor_shape(r), shape, &bad);
    if (rank < 0)
        err_raise(ctx, ERR_SHAPE, "digits: %s %s, and %s %s", arg_text(c, 0),
                  shape_fact(sx, sizeof sx, x->rank, tensor_shape(x)), arg_text(c, 1),
                  shape_fact(sr, sizeof sr, r->rank, tensor_shape(r)));
    x = op_keep(c, tensor_compact(ctx, op_keep(c, tensor_broadcast(ctx, x, rank, shape))));
    r = op_keep(c, tensor_compact(ctx, op_keep(c, tensor_broadcast(ctx, r, rank, shape))));
    Tensor *out = op_keep(c, tensor_new(ctx, DT_F64, rank, shape));
    size_t wx = dtype_info((DType)x->dtype)->bytes, wr = dtype_info((DType)r->dtype)->bytes;
    for (int64_t i = 0; i < out->size; i++) {
        Value *mark = c->in->sp;
        poll_interrupt(c->in);
        v_push(c->in, v_element(ctx, (DType)x->dtype, x->data + (size_t)i * wx));
        v_push(c->in, v_element(ctx, (DType)r->dtype, r->data + (size_t)i * wr));
        ((double *)(void *)out->data)[i] = accuracy_of(c->in, mark[0], mark[1]).digits;
        stack_cut(c->in, mark);
    }
    return op_result(c, out);
}

Value op_run_digits(OpCall *c)
{
    Value x = c->args[0], r = c->args[1];
    char sx[96], sr[96], help[160];
    if (!arg_given(c, 1)) {
        snprintf(help, sizeof help, "in precision f32 shadow mp(200) { … } it has one; elsewhere "
                 "with a reference: digits(%s, mp(200)(%s))", arg_text(c, 0), arg_text(c, 0));
        arg_error_help(c, 0, ERR_VALUE, help, "%s has no shadow to be compared with here",
                       arg_text(c, 0));
    }
    if (arg_bool(c, 2, false))
        return digits_of_elements(c);
    if (x.tag != V_TUPLE && !v_is_numeric(x))
        arg_tensor(c, 0);
    if (r.tag != V_TUPLE && !v_is_numeric(r))
        arg_tensor(c, 1);
    if (x.tag == V_TENSOR && r.tag == V_TENSOR &&
        (x.tensor->rank != r.tensor->rank || memcmp(tensor_shape(x.tensor), tensor_shape(r.tensor),
                                                    (size_t)x.tensor->rank * sizeof(int64_t)) != 0))
        err_raise(&c->in->ctx, ERR_SHAPE, "digits: %s %s, and its reference %s", arg_text(c, 0),
                  shape_fact(sx, sizeof sx, x.tensor->rank, tensor_shape(x.tensor)),
                  shape_fact(sr, sizeof sr, r.tensor->rank, tensor_shape(r.tensor)));
    return v_float(accuracy_of(c->in, x, r).digits);
}

/* ---- flags ---- */
Value op_run_flags(OpCall *c)
{
    const Scope *s = c->in->scope;
    if (!s || s->format == DT_NONE)
        err_raise_help(&c->in->ctx, ERR_VALUE, "precision f64 { …; flags() }", "flags: %s",
                       scope_says(s) ? "autocast counts nothing"
                         : "nothing is counted outside of a precision scope");
    const ArithFlags *f = &s->flags;
    return tuple_make(c->in, "overflow", v_int((int64_t)f->overflow),
                      "underflow", v_int((int64_t)f->underflow),
                      "inexact", v_int((int64_t)f->inexact), "invalid", v_int((int64_t)f->invalid),
                      "divzero", v_int((int64_t)f->divzero), NULL);
}
