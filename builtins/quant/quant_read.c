/* Operands of quantize and calibrate: their lanes, ranges, methods. */
#include "builtins/quant/quant.h"
#include "builtins/formats/formats.h"
#include "interp/precision/cast.h"

#include "core/base/mem.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

const char *const quant_methods[QUANT_METHODS] = { "minmax", "percentile", "mse", "entropy" };

QuantOperand quant_whole(OpCall *c, int at, Tensor *x, DType dt)
{
    QuantOperand o = { .call = c, .at = at, .dt = dt, .axis = -1, .outer = 1, .lanes = 1 };
    Ctx *ctx = &c->in->ctx;
    o.x = op_keep(c, tensor_cast(ctx, op_keep(c, tensor_compact(ctx, x)), dt));
    o.inner = o.x->size;
    return o;
}

QuantOperand quant_operand(OpCall *c, int at, int axis)
{
    Tensor *x = arg_tensor(c, at);
    DType dt = (DType)x->dtype;
    char help[128];
    if (dtype_info(dt)->kind == 'c') {
        snprintf(help, sizeof help, "real(%s) and imag(%s), one after the other", arg_text(c, at),
                 arg_text(c, at));
        arg_error_help(c, at, ERR_DTYPE, help, "%s is %s, and codes stand for real numbers",
                       arg_text(c, at), dtype_name(dt));
    }
    QuantOperand o = quant_whole(c, at, x, dtype_half(dt) || dt == DT_F32 ? DT_F32 : DT_F64);
    if (!arg_given(c, axis))
        return o;
    o.axis = arg_axis(c, axis, x->rank, 0);
    o.lanes = tensor_shape(x)[o.axis];
    for (int i = 0; i < o.axis; i++)
        o.outer *= tensor_shape(x)[i];
    for (int i = o.axis + 1, first = 1; i < x->rank || first; i++, first = 0)
        o.inner = (first ? 1 : o.inner) * (i < x->rank ? tensor_shape(x)[i] : 1);
    return o;
}

QuantMethod quant_method(OpCall *c, int at)
{
    if (!arg_given(c, at))
        return QUANT_MINMAX;
    const char *text = arg_str(c, at)->text;
    for (int i = 0; i < QUANT_METHODS; i++)
        if (strcmp(text, quant_methods[i]) == 0)
            return (QuantMethod)i;
    const char *near = err_closest(text, quant_methods, QUANT_METHODS);
    char help[64];
    snprintf(help, sizeof help, "did you mean %s=\"%s\"?", arg_name(c, at), near ? near : "");
    arg_error_help(c, at, ERR_VALUE, near ? help : NULL,
                   "%s is \"%.60s\"; it is \"minmax\", \"percentile\", \"mse\" or \"entropy\"",
                   arg_name(c, at), text);
}

QuantRange quant_range_new(OpCall *c, int64_t lanes)
{
    int64_t n = 2 * lanes;
    Tensor *t = op_keep(c, tensor_zeros(&c->in->ctx, DT_F64, 1, &n));
    return (QuantRange){ (double *)t->data, (double *)t->data + lanes };
}

/* ---- range= ---- */
static void range_end(const QuantOperand *o, int at, Value v, double *to)
{
    OpCall *c = o->call;
    Ctx *ctx = &c->in->ctx;
    char has[96];
    Tensor *t = v_is_numeric(v) ? op_keep(c, v_to_tensor(c->in, v, at)) : NULL;
    if (!t || dtype_info(t->dtype)->kind == 'c' || !dtype_plain((DType)t->dtype))
        arg_error_help(c, at, ERR_TYPE, "range=(-1, 1), or what calibrate gives",
                       "%s is two real numbers, low and high, or two vectors", arg_name(c, at));
    t = op_keep(c, tensor_cast(ctx, op_keep(c, tensor_compact(ctx, t)), DT_F64));
    bool one = t->rank == 0;
    if (!one && (o->axis < 0 || t->rank != 1 || t->size != o->lanes)) {
        shape_fact(has, sizeof has, t->rank, tensor_shape(t));
        if (o->axis < 0)
            arg_error_help(c, at, ERR_SHAPE, "axis= says which axis has a range for each position",
                           "without an axis %s is two numbers, and one of them %s",
                           arg_name(c, at), has);
        arg_error(c, at, ERR_SHAPE, "axis %d of %s has %lld positions, and an end of %s %s",
                  o->axis, arg_text(c, o->at), (long long)o->lanes, arg_name(c, at), has);
    }
    for (int64_t i = 0; i < o->lanes; i++)
        to[i] = ((const double *)t->data)[one ? 0 : i];
}

/* Of a pair: the item of that name, or, where the pair has no names, of that place. */
static Value range_item(const QuantOperand *o, int at, const char *name, uint32_t place)
{
    OpCall *c = o->call;
    const Tuple *t = c->args[at].tuple;
    int64_t k = t->named ? tuple_find(t, names_intern(&c->in->names, name, strlen(name))) : place;
    if (k < 0)
        arg_error_help(c, at, ERR_TYPE, "range=(low=-1, high=1), or what calibrate gives",
                       "%s has no %s", arg_name(c, at), name);
    return t->items[k];
}

QuantRange quant_range(const QuantOperand *o, int at)
{
    OpCall *c = o->call;
    char help[160];
    snprintf(help, sizeof help, "the ends of its own numbers: %s(%s, i8)", c->op->name,
             arg_text(c, o->at));
    Value v = c->args[at];
    QuantRange r = quant_range_new(c, o->lanes);
    double most = o->dt == DT_F32 ? 0x1.fffffep127 : 0x1.fffffffffffffp1023;
    if (v.tag == V_TENSOR && v.tensor->rank == 1 && v.tensor->size == 2) {
        QuantOperand pair = { .call = c, .at = o->at, .axis = 0, .lanes = 2 };
        double ends[2];
        range_end(&pair, at, v, ends);
        for (int64_t i = 0; i < o->lanes; i++)
            r.low[i] = ends[0], r.high[i] = ends[1];
    } else if (v.tag == V_TUPLE && v.tuple->count == 2) {
        range_end(o, at, range_item(o, at, "low", 0), r.low);
        range_end(o, at, range_item(o, at, "high", 1), r.high);
    } else {
        arg_error_help(c, at, ERR_TYPE, "range=(-1, 1), or what calibrate gives",
                       "%s is a pair of low and high", arg_name(c, at));
    }
    for (int64_t i = 0; i < o->lanes; i++)
        if (!(r.low[i] <= r.high[i]) || fabs(r.low[i]) > most || fabs(r.high[i]) > most)
            arg_error_help(c, at, ERR_VALUE, help, "%s goes from a finite %s to one that is not "
                           "less, not from %g to %g", arg_name(c, at), dtype_name(o->dt), r.low[i],
                           r.high[i]);
    return r;
}

/* ---- results, errors ---- */
Value quant_numbers(const QuantOperand *o, const double *v)
{
    Ctx *ctx = &o->call->in->ctx;
    Tensor *t = tensor_new(ctx, o->dt, o->axis >= 0, &o->lanes);
    for (int64_t i = 0; i < o->lanes; i++) {
        if (o->dt == DT_F32)
            ((float *)t->data)[i] = (float)v[i];
        else
            ((double *)t->data)[i] = v[i];
    }
    return v_tensor(ctx, t);
}

_Noreturn void quant_special(const QuantOperand *o)
{
    OpCall *c = o->call;
    char help[200], place[128] = "";
    int64_t at = ranges_special(o->dt, o->x->data, o->x->size), rest = at, len = 0;
    double v = o->dt == DT_F32 ? (double)((const float *)o->x->data)[at]
                               : ((const double *)o->x->data)[at];
    const int64_t *shape = tensor_shape(o->x);
    for (int i = 0; i < o->x->rank && len < 100; i++) {
        int64_t below = 1;
        for (int k = i + 1; k < o->x->rank; k++)
            below *= shape[k];
        len += snprintf(place + len, sizeof place - (size_t)len, "%s%lld", i ? ", " : "",
                        (long long)(rest / below));
        rest %= below;
    }
    const char *text = arg_written(c, o->at);
    bool named = o->x->rank > 0;
    if (text && named)
        snprintf(help, sizeof help, "where(isfinite(%s), %s, 0) has zeros there", text, text);
    const char *is = v != v ? "nan" : v > 0 ? "inf" : "-inf";
    if (text || !named)
        arg_error_help(c, o->at, ERR_VALUE, text && named ? help : NULL,
                       "%s%s%s%s is %s: codes stand for finite numbers", arg_text(c, o->at),
                       named ? "[" : "", place, named ? "]" : "", is);
    arg_error(c, o->at, ERR_VALUE, "element [%s] of %s is %s: codes stand for finite numbers",
              place, arg_text(c, o->at), is);
}

/* ---- formats ---- */
Value op_format_quant(OpCall *c, Scope *s)
{
    Interp *in = c->in;
    Precise p;
    OpCall call = *c;
    Value args[16], r;
    if (!format_is_binary(s->format))
        format_refuse(c, s->format);
    memcpy(args, c->args, (size_t)c->count * sizeof *args);
    call.args = args;
    bool whole = !v_is_numeric(args[0]) || strchr("bi", dtype_info(v_dtype(args[0]))->kind);
    if (!whole) {
        DType narrow = dtype_promote(s->format, DT_F32) == DT_F32 ? DT_F32 : DT_F64;
        precise_open(&p, in, s);
        Tensor *x = precise_operand(c, &p, 0);
        precise_close(&p);
        args[0] = op_root(c, op_cast(in, v_tensor_raw(x), narrow));
    }
    Scope *outer = in->scope;
    in->scope = NULL;
    r = c->op->run(&call);
    in->scope = outer;
    return r;
}
