/* What all forms on devices of generated source are made of (devices_form.h), casts, and making
 * tensors there. */
#include "builtins/devices/devices_form.h"

#include "interp/op/optable.h"

#include <math.h>
#include <string.h>

bool form_whole(DType dt)
{
    return dtype_info(dt)->kind == 'b' || dtype_info(dt)->kind == 'i';
}

/* ---- the host's row ---- */
/* Errors restore the place (guard_restore). */
static Value run_outside(OpCall *c)
{
    Interp *in = c->in;
    DeviceBlock *place = in->place;
    in->place = NULL;
    Value r = c->op->run(c);
    in->place = place;
    return r;
}

Value form_host(OpCall *c, Device *d)
{
    Interp *in = c->in;
    for (int i = 0; i < c->count; i++)
        value_home(in, c->args[i]);
    return form_settle(c, d, run_outside(c));
}

Value form_views(OpCall *c, Device *d)
{
    Interp *in = c->in;
    /* it may become a scalar */
    bool one = c->args[0].tag == V_TENSOR && c->args[0].tensor->size <= 1;
    for (int i = one ? 0 : 1; i < c->count; i++)
        value_home(in, c->args[i]);
    return form_settle(c, d, run_outside(c));
}

static Value settle_tensor(OpCall *c, Device *d, Tensor *t)
{
    if (t->rank == 0 || tensor_device(&c->in->ctx, t) == d)
        return v_tensor_raw(t);
    v_push(c->in, v_tensor_raw(t));
    if (!device_holds(d, (DType)t->dtype))
        return v_tensor_raw(tensor_retain(t));
    Tensor *moved = form_copy(c, d, t, (DType)t->dtype);
    moved->flags = t->flags;
    return v_tensor_raw(tensor_retain(moved));
}

Value form_settle(OpCall *c, Device *d, Value made)
{
    if (made.tag == V_TENSOR)
        return settle_tensor(c, d, made.tensor);
    if (made.tag != V_TUPLE)
        return made;
    v_push(c->in, made);
    Value *slot = c->in->sp - 1;
    tuple_unshare(&c->in->ctx, &slot->tuple);
    for (uint32_t i = 0; i < slot->tuple->count; i++) {
        Value item = slot->tuple->items[i];
        slot->tuple->items[i] = v_none();
        slot->tuple->items[i] = form_settle(c, d, item);
    }
    return v_retain(*slot);
}

/* ---- copies on the device ---- */
Tensor *form_view(OpCall *c, Tensor *t, int rank, const int64_t *shape,
                  const int64_t *strides, int64_t at)
{
    char *data = t->data + at * dtype_info((DType)t->dtype)->bytes;
    return op_keep(c, tensor_view(&c->in->ctx, t, rank, shape, strides, data));
}

Tensor *form_reshape(OpCall *c, Tensor *dense, int rank, const int64_t *shape)
{
    int64_t strides[TENSOR_RANK_MAX], step = 1;
    for (int a = rank - 1; a >= 0; a--) {
        strides[a] = step;
        step *= shape[a] > 0 ? shape[a] : 1;
    }
    return form_view(c, dense, rank, shape, strides, 0);
}

void form_assign(OpCall *c, Device *d, Tensor *out, Tensor *t)
{
    if (out->size == 0)
        return;
    DevArg to = place_operand(c->in, d, out);
    gpu_copy(&c->in->ctx, d, t, &to, (DType)out->dtype, out->rank ? tensor_strides(out) : NULL);
    poll_interrupt(c->in);
}

Tensor *form_copy(OpCall *c, Device *d, Tensor *t, DType dt)
{
    Tensor *out = place_new(c->in, d, dt, t->rank, tensor_shape(t));
    form_assign(c, d, out, t);
    return out;
}

/* A tensor of the host that is dense is one there too, once it was put there. */
Tensor *form_dense(OpCall *c, Device *d, Tensor *t, DType dt)
{
    return t->dtype == dt && tensor_contiguous(t) ? t : form_copy(c, d, t, dt);
}

bool form_fill(OpCall *c, Device *d, Tensor *out, double value)
{
    PlaceNest *n = place_nest_new(c->in, d);
    place_nest_axes(n, out->rank, tensor_shape(out));
    n->nest->root = place_nest_float(n, value, (DType)out->dtype);
    if (!place_nest_takes(n))
        return false;
    if (out->size)
        place_nest_into(n, out);
    return true;
}

double form_read(OpCall *c, Tensor *t)
{
    _Alignas(16) char cell[ELEMENT_BYTES_MAX];
    device_get_element(&c->in->ctx, t, t->data, cell);
    return element_f64((DType)t->dtype, cell);
}

/* ---- casts ---- */
/* Those that cannot fail for any element. */
static bool cast_is_safe(DType from, DType to)
{
    static const char order[] = "bifc";
    const char *f = strchr(order, dtype_info(from)->kind), *t = strchr(order, dtype_info(to)->kind);
    if (!f || !t || f > t)
        return false;
    if (*f == 'i' && *t == 'i')
        return dtype_promote(from, to) == to;
    return *t != 'b' || from == to;
}

static Value cast_there(OpCall *c, Device *d, DType to)
{
    if (c->args[0].tag != V_TENSOR)
        return place_refuse(c->in, (Lack){ LACK_NO_TENSOR });
    Tensor *t = c->args[0].tensor;
    DType from = (DType)t->dtype;
    if (!device_holds(d, to) || !device_holds(d, from))
        return place_refuse(c->in, (Lack){ LACK_DTYPE, .dtype = device_holds(d, to) ? from : to });
    if (!cast_is_safe(from, to))
        return place_refuse(c->in, (Lack){ LACK_CAST, .from = from, .dtype = to });
    PlaceNest *n = place_nest_new(c->in, d);
    EwTrouble trouble;
    place_nest_axes(n, t->rank, tensor_shape(t));
    n->nest->root = nest_cast(&c->in->ctx, n->nest, place_nest_broadcast(n, t, t->rank), to);
    if (!place_nest_takes(n))
        return v_undef();
    Tensor *out = place_nest_run(n, t->rank, tensor_shape(t), &trouble);
    out->flags = t->flags;
    return place_value(c->in, out);
}

Value op_device_cast(OpCall *c, Device *d) { return cast_there(c, d, arg_dtype(c, 1, DT_F64)); }

/* ---- making ---- */
/* A shape without -1; false: the host's row is to say what is wrong. */
static bool made_shape(OpCall *c, int i, int *rank, int64_t *shape)
{
    *rank = arg_shape(c, i, shape);
    for (int a = 0; a < *rank; a++)
        if (shape[a] < 0)
            return false;
    return true;
}

static bool elsewhere(OpCall *c, Device *d, int i)
{
    return arg_given(c, i) && (c->args[i].tag != V_DEVICE || c->args[i].device != d);
}

/* The dtype asked for; DT_NONE: refused. */
static DType made_dtype(OpCall *c, Device *d, int i, DType fallback)
{
    DType dt = arg_dtype(c, i, fallback);
    if (device_holds(d, dt) && dtype_base(dt) == dt && dt < DT_RATIONAL)
        return dt;
    place_refuse(c->in, (Lack){ LACK_DTYPE, .dtype = dt });
    return DT_NONE;
}

static Value filled(OpCall *c, Device *d, double value)
{
    int64_t shape[TENSOR_RANK_MAX];
    int rank;
    if (elsewhere(c, d, 1))
        return place_refuse(c->in, (Lack){ LACK_ELSEWHERE });
    if (!made_shape(c, c->fixed, &rank, shape))
        return form_host(c, d);
    DType dt = made_dtype(c, d, 0, device_widest(d));
    if (dt == DT_NONE || rank == 0)
        return rank ? v_undef() : form_host(c, d);
    Tensor *out = place_new(c->in, d, dt, rank, shape);
    return form_fill(c, d, out, value) ? place_value(c->in, out) : v_undef();
}

Value op_device_zeros(OpCall *c, Device *d) { return filled(c, d, 0); }
Value op_device_ones(OpCall *c, Device *d) { return filled(c, d, 1); }

/* A value broadcast to a shape. V_UNDEF: refused, or it does not fit. */
static Value filled_with(OpCall *c, Device *d, Tensor *value, DType dt, int rank,
                         const int64_t *shape)
{
    int64_t both[TENSOR_RANK_MAX];
    int bad, r = shape_broadcast(value->rank, tensor_shape(value), rank, shape, both, &bad);
    if (r != rank || memcmp(both, shape, (size_t)rank * sizeof *shape) != 0 || rank == 0)
        return form_host(c, d);
    if (value->rank == 0) {
        tensor_home(&c->in->ctx, value);
        value = op_keep(c, tensor_cast(&c->in->ctx, value, dt));
    } else if (value->dtype != dt && !cast_is_safe((DType)value->dtype, dt)) {
        return place_refuse(c->in, (Lack){ LACK_CAST, .from = value->dtype, .dtype = dt });
    }
    PlaceNest *n = place_nest_new(c->in, d);
    EwTrouble trouble;
    place_nest_axes(n, rank, shape);
    int x = value->rank == 0 ? place_nest_const(n, dt, value->data)
                             : place_nest_broadcast(n, value, rank);
    n->nest->root = nest_cast(&c->in->ctx, n->nest, x, dt);
    return place_nest_takes(n) ? place_value(c->in, place_nest_run(n, rank, shape, &trouble))
                               : v_undef();
}

Value op_device_full(OpCall *c, Device *d)
{
    int64_t shape[TENSOR_RANK_MAX];
    int at = 0, rank, count = c->count;
    if (elsewhere(c, d, 2))
        return place_refuse(c->in, (Lack){ LACK_ELSEWHERE });
    if (!arg_given(c, 0)) {
        at = count - 1;
        if (at < c->fixed + 1)
            return form_host(c, d);
        c->count--;
    }
    bool good = made_shape(c, c->fixed, &rank, shape);
    c->count = count;
    if (!good)
        return form_host(c, d);
    Tensor *value = arg_tensor(c, at);
    DType dt = arg_dtype(c, 1, (DType)value->dtype);
    if (!arg_given(c, 1) && value->rank == 0 && dt == DT_F64)
        dt = device_widest(d);
    if (!device_holds(d, dt) || dt >= DT_RATIONAL)
        return place_refuse(c->in, (Lack){ LACK_DTYPE, .dtype = dt });
    return filled_with(c, d, value, dt, rank, shape);
}

Value op_device_like(OpCall *c, Device *d)
{
    Tensor *a = arg_tensor(c, 0), *value = arg_tensor(c, 1);
    if (!device_holds(d, (DType)a->dtype) || a->dtype >= DT_RATIONAL)
        return place_refuse(c->in, (Lack){ LACK_DTYPE, .dtype = a->dtype });
    return filled_with(c, d, value, (DType)a->dtype, a->rank, tensor_shape(a));
}

/* column - row == k */
Value op_device_eye(OpCall *c, Device *d)
{
    int64_t n = arg_int(c, 0), m = arg_given(c, 1) ? arg_int(c, 1) : n,
            k = arg_given(c, 2) ? arg_int(c, 2) : 0;
    if (elsewhere(c, d, 4))
        return place_refuse(c->in, (Lack){ LACK_ELSEWHERE });
    if (n < 0 || m < 0)
        return form_host(c, d);
    DType dt = made_dtype(c, d, 3, device_widest(d));
    if (dt == DT_NONE)
        return v_undef();
    PlaceNest *p = place_nest_new(c->in, d);
    Ctx *ctx = &c->in->ctx;
    EwTrouble trouble;
    const int64_t shape[] = { n, m };
    place_nest_axes(p, 2, shape);
    int off = place_nest_ew(p, EW_SUBTRACT, DT_I64, nest_number(ctx, p->nest, 1),
                            nest_number(ctx, p->nest, 0));
    int on = place_nest_ew(p, EW_EQUAL, DT_I64, off, place_nest_int(p, k, DT_I64));
    p->nest->root = nest_ew(ctx, p->nest, EW_WHERE, dt,
                            (int[]){ on, place_nest_int(p, 1, dt), place_nest_int(p, 0, dt) }, 3);
    return place_nest_takes(p) ? place_value(c->in, place_nest_run(p, 2, shape, &trouble))
                               : v_undef();
}

static bool int_argument(OpCall *c, int i)
{
    return !arg_given(c, i) || c->args[i].tag == V_INT || c->args[i].tag == V_BOOL;
}

/* start + i step in f64, as the host has it, the last one `stop` where `endpoint` says so. */
static Value float_points(OpCall *c, Device *d, int64_t n, double start, double step, double stop,
                          bool endpoint, DType dt)
{
    Ctx *ctx = &c->in->ctx;
    EwTrouble trouble;
    PlaceNest *p = place_nest_new(c->in, d);
    place_nest_axes(p, 1, &n);
    int i = nest_number(ctx, p->nest, 0);
    int far = place_nest_ew(p, EW_MULTIPLY, DT_F64, i, place_nest_float(p, step, DT_F64));
    int x = place_nest_ew(p, EW_ADD, DT_F64, place_nest_float(p, start, DT_F64), far);
    if (endpoint && n > 1) {
        int last = place_nest_ew(p, EW_EQUAL, DT_I64, i, place_nest_int(p, n - 1, DT_I64));
        x = nest_ew(ctx, p->nest, EW_WHERE, DT_F64,
                    (int[]){ last, place_nest_float(p, stop, DT_F64), x }, 3);
    }
    p->nest->root = nest_cast(ctx, p->nest, x, dt);
    return place_nest_takes(p) ? place_value(c->in, place_nest_run(p, 1, &n, &trouble)) : v_undef();
}

Value op_device_linspace(OpCall *c, Device *d)
{
    double start = arg_float(c, 0), stop = arg_float(c, 1);
    int64_t n = arg_given(c, 2) ? arg_int(c, 2) : 50;
    bool endpoint = arg_bool(c, 3, true);
    if (elsewhere(c, d, 5))
        return place_refuse(c->in, (Lack){ LACK_ELSEWHERE });
    DType dt = made_dtype(c, d, 4, device_widest(d));
    if (n < 0)
        return form_host(c, d);
    if (dt == DT_NONE || dtype_info(dt)->kind != 'f')
        return dt == DT_NONE ? v_undef() : place_refuse(c->in, (Lack){ LACK_FLOATS });
    int64_t gaps = endpoint ? n - 1 : n;
    return float_points(c, d, n, start, gaps > 0 ? (stop - start) / (double)gaps : 0, stop,
                        endpoint, dt);
}

static Value int_points(OpCall *c, Device *d)
{
    bool one = !arg_given(c, 1);
    int64_t start = one ? 0 : arg_int(c, 0), stop = arg_int(c, one ? 0 : 1);
    int64_t step = arg_given(c, 2) ? arg_int(c, 2) : 1;
    __int128 span = (__int128)stop - start, count = step ? span / step + (span % step != 0) : 0;
    if ((span > 0) != (step > 0) || span == 0)
        count = 0;
    DType dt = made_dtype(c, d, 3, DT_I64);
    if (step == 0 || count > INT64_MAX / 8)
        return form_host(c, d);
    if (dt == DT_NONE || (dt != DT_I64 && dtype_info(dt)->kind != 'f'))
        return dt == DT_NONE ? v_undef() : place_refuse(c->in, (Lack){ LACK_ELEMENTS });
    int64_t n = (int64_t)count;
    EwTrouble trouble;
    PlaceNest *p = place_nest_new(c->in, d);
    place_nest_axes(p, 1, &n);
    int i = nest_number(&c->in->ctx, p->nest, 0);
    int far = place_nest_ew(p, EW_MULTIPLY, DT_I64, i, place_nest_int(p, step, DT_I64));
    int x = place_nest_ew(p, EW_ADD, DT_I64, place_nest_int(p, start, DT_I64), far);
    p->nest->root = nest_cast(&c->in->ctx, p->nest, x, dt);
    return place_nest_takes(p) ? place_value(c->in, place_nest_run(p, 1, &n, &trouble)) : v_undef();
}

Value op_device_arange(OpCall *c, Device *d)
{
    bool one = !arg_given(c, 1);
    if (elsewhere(c, d, 4))
        return place_refuse(c->in, (Lack){ LACK_ELSEWHERE });
    if (int_argument(c, 0) && int_argument(c, 1) && int_argument(c, 2))
        return int_points(c, d);
    double start = one ? 0 : arg_float(c, 0), stop = arg_float(c, one ? 0 : 1);
    double step = arg_given(c, 2) ? arg_float(c, 2) : 1;
    double count = ceil((stop - start) / step);
    DType dt = made_dtype(c, d, 3, device_widest(d));
    if (step == 0 || !(fabs(count) < 1e18))
        return form_host(c, d);
    if (dt == DT_NONE || dtype_info(dt)->kind != 'f')
        return dt == DT_NONE ? v_undef() : place_refuse(c->in, (Lack){ LACK_ELEMENTS });
    return float_points(c, d, count > 0 ? (int64_t)count : 0, start, step, stop, false, dt);
}
