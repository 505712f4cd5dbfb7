/* Floats as eight-bit whole numbers and back. */
#include "builtins/quant/quant.h"

#include "core/base/error.h"
#include "interp/state/kind.h"
#include "interp/state/value.h"
#include "kernels/cast/tensor_cast.h"
#include "kernels/tensor/tensor.h"

#include <math.h>
#include <string.h>

/* The field of a named tuple, or NULL. */
static const Value *find_field(Value v, const char *name)
{
    for (uint32_t k = 0; v.tag == V_TUPLE && v.tuple->names && k < v.tuple->count; k++)
        if (v.tuple->names[k] && strcmp(v.tuple->names[k]->text, name) == 0)
            return &v.tuple->items[k];
    return NULL;
}

/* ---- ranges that the caller gives ---- */

static void read_end(OpCall *c, const Rows *r, const char *field, double *to)
{
    const Value *v = find_field(c->args[5], field);
    if (!v)
        arg_error_help(c, 5, ERR_TYPE, "range=calibrate(x)", "range is (low=, high=)%s", "");
    Tensor *t = op_keep(c, v_to_tensor(c->in, *v, 0));
    t = op_keep(c, tensor_cast(&c->in->ctx, t, DT_F64));
    t = op_keep(c, tensor_compact(&c->in->ctx, t));
    if (t->size != 1 && t->size != r->rows)
        arg_error(c, 5, ERR_SHAPE, "range.%s has %lld numbers, but %s has %lld of axis %d", field,
                  (long long)t->size, arg_text(c, 0), (long long)r->rows, r->axis);
    for (int64_t k = 0; k < r->rows; k++)
        to[k] = ((const double *)(void *)t->data)[t->size == 1 ? 0 : k];
}

static void read_range(OpCall *c, Rows *r)
{
    read_end(c, r, "low", r->low);
    read_end(c, r, "high", r->high);
    for (int64_t k = 0; k < r->rows; k++)
        if (!(isfinite(r->low[k]) && isfinite(r->high[k]) && r->low[k] <= r->high[k]))
            arg_error(c, 5, ERR_VALUE, "range is from %g to %g; it is finite, the lower end first",
                      r->low[k], r->high[k]);
}

/* ---- quantize ---- */

/* x / scale to nearest, in the operand's own arithmetic. */
static inline double steps_of(double x, double scale, bool single)
{
    return single ? (double)nearbyintf((float)x / (float)scale) : nearbyint(x / scale);
}

static void write_row(uint8_t *q, const double *x, int64_t n, double scale, double zero,
                      double least, double most, bool single)
{
    for (int64_t i = 0; i < n; i++) {
        double v = steps_of(x[i], scale, single) + zero;
        v = v < least ? least : v > most ? most : v;
        q[i] = (uint8_t)(int)v;
    }
}

/* Rows in their order, as a tensor of the operand's shape. */
static Tensor *in_shape(OpCall *c, const Rows *r, Tensor *q)
{
    int64_t stride[TENSOR_RANK_MAX], next = 1;
    for (int a = r->x->rank - 1; a >= 0; a--) {
        if (a == r->axis)
            continue;
        stride[a] = next;
        next *= tensor_shape(r->x)[a];
    }
    if (r->axis >= 0)
        stride[r->axis] = next;
    Tensor *view = op_keep(c, tensor_view(&c->in->ctx, q, r->x->rank, tensor_shape(r->x), stride,
                                          q->data));
    return op_keep(c, tensor_compact(&c->in->ctx, view));
}

Value op_run_quantize(OpCall *c)
{
    Ctx *ctx = &c->in->ctx;
    DType to = arg_dtype(c, 1, DT_NONE);
    if (to != DT_I8 && to != DT_U8)
        arg_error_help(c, 1, ERR_DTYPE, "quantize(x, i8)", "dtype is %s; eight bits are i8 or u8",
                       dtype_name(to));
    Choice how = { .method = quant_method(c, 4), .p = 99.9, .bins = 2048,
                   .symmetric = arg_bool(c, 3, true) && to == DT_I8 };
    Rows r = quant_rows(c, 2);
    if (arg_given(c, 5) && c->args[5].tag != V_NONE)
        read_range(c, &r);
    else
        quant_calibrate(c, &r, &how);
    double least = how.symmetric ? -127 : to == DT_I8 ? -128 : 0, most = to == DT_I8 ? 127 : 255;
    int64_t count = r.x->size;
    Tensor *q = op_keep(c, tensor_new(ctx, to, 1, &count));
    DType real = r.single ? DT_F32 : DT_F64;
    int rank = r.axis < 0 ? 0 : 1;
    Tensor *scale = op_keep(c, tensor_new(ctx, real, rank, &r.rows));
    Tensor *zero = op_keep(c, tensor_new(ctx, rank ? DT_I32 : DT_I64, rank, &r.rows));
    for (int64_t k = 0; k < r.rows; k++) {
        double low = fmin(r.low[k], 0), high = fmax(r.high[k], 0), s, z = 0;
        poll_interrupt(c->in);
        if (how.symmetric) {
            s = quant_scale(0, fmax(-low, high), 127, r.single);
        } else {
            s = quant_scale(low, high, 255, r.single);
            z = least - steps_of(low, s, r.single);
        }
        write_row((uint8_t *)q->data + k * r.n, r.at + k * r.n, r.n, s, z, least, most, r.single);
        cast_run(real, scale->data + k * dtype_info(real)->bytes, 1, DT_F64, &s, 1, 1);
        cast_run((DType)zero->dtype, zero->data + k * dtype_info((DType)zero->dtype)->bytes, 1,
                 DT_F64, &z, 1, 1);
    }
    Value whole = op_root(c, op_result(c, in_shape(c, &r, q)));
    Value s = op_root(c, op_result(c, scale)), z = op_root(c, op_result(c, zero));
    return tuple_make(c->in, "q", v_retain(whole), "scale", v_retain(s), "zero", v_retain(z),
                      "axis", r.axis < 0 ? v_none() : v_int(r.axis), NULL);
}

/* ---- dequantize ---- */

static Tensor *field(OpCall *c, const char *name)
{
    const Value *v = find_field(c->args[0], name);
    if (!v || (v->tag != V_TENSOR && v->tag != V_FLOAT && v->tag != V_INT))
        arg_error_help(c, 0, ERR_TYPE, "dequantize(quantize(x, i8))",
                       "t is what quantize gives, (q=, scale=, zero=, axis=), and here is no %s",
                       name);
    return op_keep(c, v_to_tensor(c->in, *v, 0));
}

/* Along the axis of q, the same everywhere else. */
static Tensor *along(OpCall *c, Tensor *t, const Tensor *q, const Value *axis, DType dt)
{
    Ctx *ctx = &c->in->ctx;
    int64_t shape[TENSOR_RANK_MAX];
    t = op_keep(c, tensor_cast(ctx, t, dt));
    t = op_keep(c, tensor_compact(ctx, t));
    int a = -1;
    if (axis && axis->tag != V_NONE) {
        int64_t given = axis->tag == V_INT ? axis->i : INT64_MIN;
        if (given < -q->rank || given >= q->rank)
            arg_error(c, 0, ERR_INDEX, "t.axis is no axis of t.q, which has %d", q->rank);
        a = (int)(given < 0 ? given + q->rank : given);
    }
    for (int k = 0; k < q->rank; k++)
        shape[k] = k == a ? tensor_shape(q)[k] : 1;
    if (t->size != (a < 0 ? 1 : tensor_shape(q)[a]))
        arg_error(c, 0, ERR_SHAPE, "t has scales or zeros that do not belong to its q and axis%s",
                  "");
    int64_t stride[TENSOR_RANK_MAX];
    for (int k = 0; k < q->rank; k++)
        stride[k] = k == a ? 1 : 0;
    t = op_keep(c, tensor_view(ctx, t, q->rank, shape, stride, t->data));
    return op_keep(c, tensor_broadcast(ctx, t, q->rank, tensor_shape(q)));
}

Value op_run_dequantize(OpCall *c)
{
    Ctx *ctx = &c->in->ctx;
    Tensor *q = field(c, "q"), *scale = field(c, "scale"), *zero = field(c, "zero");
    const Value *axis = find_field(c->args[0], "axis");
    DType real = scale->dtype == DT_F64 ? DT_F64 : DT_F32;
    if (q->dtype != DT_I8 && q->dtype != DT_U8)
        arg_error(c, 0, ERR_DTYPE, "t.q is %s; eight bits are i8 or u8", dtype_name(q->dtype));
    zero = along(c, zero, q, axis, DT_F64);
    Tensor *factor = along(c, scale, q, axis, DT_F64);
    Tensor *whole = op_keep(c, tensor_cast(ctx, q, DT_F64));
    Tensor *z = op_keep(c, tensor_compact(ctx, zero)), *s = op_keep(c, tensor_compact(ctx, factor));
    whole = op_keep(c, tensor_compact(ctx, whole));
    double *x = (double *)(void *)whole->data;
    for (int64_t i = 0; i < whole->size; i++) {
        double steps = x[i] - ((const double *)(void *)z->data)[i];
        x[i] = steps * ((const double *)(void *)s->data)[i];
    }
    return op_result(c, op_keep(c, tensor_cast(ctx, whole, real)));
}
