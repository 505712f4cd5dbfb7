/* Shapes and rearrangements on devices of generated source. What strides can say is a view, made
 * by the host's row, which looks at no elements; the rest are copies and nests there. */
#include "builtins/devices/devices_form.h"

#include <math.h>
#include <string.h>

Value op_device_views(OpCall *c, Device *d) { return form_views(c, d); }

/* A call with another first operand. */
static Value views_of(OpCall *c, Device *d, Tensor *x)
{
    OpCall own = *c;
    Value *args = c->in->sp;
    for (int i = 0; i < c->count; i++)
        v_push(c->in, i ? v_retain(c->args[i]) : v_tensor_raw(tensor_retain(x)));
    own.args = args;
    return form_views(&own, d);
}

/* reshape, flatten: of dense elements a view. */
Value op_device_reshape(OpCall *c, Device *d)
{
    Tensor *x = arg_tensor(c, 0);
    if (x->size <= 1)
        return form_host(c, d);
    if (!device_holds(d, (DType)x->dtype))
        return place_refuse(c->in, (Lack){ LACK_DTYPE, .dtype = x->dtype });
    return views_of(c, d, form_dense(c, d, x, (DType)x->dtype));
}

/* A string is split by the host; a tensor into views. */
Value op_device_split(OpCall *c, Device *d)
{
    return c->args[0].tag == V_STRING ? form_host(c, d) : form_views(c, d);
}

Value op_device_meshgrid(OpCall *c, Device *d)
{
    for (int i = c->fixed; i < c->count; i++)
        if (c->args[i].tag != V_TENSOR || c->args[i].tensor->rank != 1 ||
            c->args[i].tensor->size < 2)
            return form_host(c, d);
    return form_views(c, d);
}

/* Of complex numbers every element changes. */
Value op_device_ctranspose(OpCall *c, Device *d)
{
    Value x = c->args[0];
    if (x.tag != V_TENSOR || x.tensor->rank == 0)
        return form_host(c, d);
    if (dtype_info((DType)x.tensor->dtype)->kind == 'c')
        return place_refuse(c->in, (Lack){ LACK_COMPLEX });
    return form_views(c, d);
}

/* ---- joining ---- */
/* The parts of a call, or of its single tuple, as tensors on the value stack; NULL: they are not
 * what the row takes, or all scalars. */
static Value *read_parts(OpCall *c, int *count, DType *dt)
{
    Value single = c->count > c->fixed ? c->args[c->fixed] : v_undef();
    bool tuple = c->count - c->fixed == 1 && single.tag == V_TUPLE, any = false;
    const Value *items = tuple ? single.tuple->items : c->args + c->fixed;
    Value *parts = c->in->sp;
    *count = tuple ? (int)single.tuple->count : c->count - c->fixed;
    for (int i = 0; i < *count; i++) {
        if (!v_is_numeric(items[i]))
            return NULL;
        v_push(c->in, v_tensor_raw(v_to_tensor(c->in, items[i], i)));
        DType own = (DType)parts[i].tensor->dtype;
        *dt = i ? dtype_promote(*dt, own) : own;
        if (*dt == DT_NONE)
            return NULL;
        any |= parts[i].tensor->rank > 0;
    }
    return any ? parts : NULL;
}

static int joining_axis(OpCall *c, int rank)
{
    int64_t axis = arg_given(c, 0) ? arg_int(c, 0) : 0;
    return axis < -rank || axis >= rank ? -1 : (int)(axis < 0 ? axis + rank : axis);
}

static bool joins(const Value *parts, int count, int axis)
{
    const Tensor *first = parts[0].tensor;
    for (int i = 0; i < count; i++) {
        const Tensor *t = parts[i].tensor;
        if (t->rank != first->rank)
            return false;
        for (int a = 0; a < t->rank; a++)
            if (a != axis && tensor_shape(t)[a] != tensor_shape(first)[a])
                return false;
    }
    return true;
}

Value op_device_concat(OpCall *c, Device *d)
{
    int count;
    DType dt = DT_NONE;
    Value *parts = read_parts(c, &count, &dt);
    int axis = parts ? joining_axis(c, parts[0].tensor->rank) : -1;
    if (axis < 0 || !joins(parts, count, axis))
        return form_host(c, d);
    if (!device_holds(d, dt))
        return place_refuse(c->in, (Lack){ LACK_DTYPE, .dtype = dt });
    const Tensor *first = parts[0].tensor;
    int64_t shape[TENSOR_RANK_MAX], at = 0;
    memcpy(shape, tensor_shape(first), first->rank * sizeof *shape);
    for (int i = 1; i < count; i++)
        shape[axis] += tensor_shape(parts[i].tensor)[axis];
    Tensor *out = place_new(c->in, d, dt, first->rank, shape);
    for (int i = 0; i < count; i++) {
        Tensor *part = parts[i].tensor;
        form_assign(c, d, form_view(c, out, out->rank, tensor_shape(part), tensor_strides(out),
                                    at * tensor_strides(out)[axis]), part);
        at += tensor_shape(part)[axis];
    }
    return place_value(c->in, out);
}

Value op_device_stack(OpCall *c, Device *d)
{
    int count;
    DType dt = DT_NONE;
    Value *parts = read_parts(c, &count, &dt);
    int rank = parts ? parts[0].tensor->rank + 1 : 0;
    int axis = rank && rank <= TENSOR_RANK_MAX ? joining_axis(c, rank) : -1;
    if (axis < 0 || !joins(parts, count, -1))
        return form_host(c, d);
    if (!device_holds(d, dt))
        return place_refuse(c->in, (Lack){ LACK_DTYPE, .dtype = dt });
    const Tensor *first = parts[0].tensor;
    int64_t shape[TENSOR_RANK_MAX], inner[TENSOR_RANK_MAX];
    for (int a = 0, from = 0; a < rank; a++)
        shape[a] = a == axis ? count : tensor_shape(first)[from++];
    Tensor *out = place_new(c->in, d, dt, rank, shape);
    for (int a = 0, to = 0; a < rank; a++)
        if (a != axis)
            inner[to++] = tensor_strides(out)[a];
    for (int i = 0; i < count; i++)
        form_assign(c, d, form_view(c, out, first->rank, tensor_shape(first), inner,
                                    i * tensor_strides(out)[axis]),
                    parts[i].tensor);
    return place_value(c->in, out);
}

/* ---- repeating and moving ---- */
static bool held(OpCall *c, Device *d, const Tensor *x)
{
    if (device_holds(d, (DType)x->dtype))
        return true;
    place_refuse(c->in, (Lack){ LACK_DTYPE, .dtype = x->dtype });
    return false;
}

Value op_device_tile(OpCall *c, Device *d)
{
    Tensor *x = arg_tensor(c, 0);
    int64_t reps[TENSOR_RANK_MAX], wide[2 * TENSOR_RANK_MAX], steps[2 * TENSOR_RANK_MAX],
        shape[TENSOR_RANK_MAX];
    int given = arg_shape(c, c->fixed, reps), rank = given > x->rank ? given : x->rank;
    bool good = x->rank > 0 && 2 * rank <= TENSOR_RANK_MAX;
    for (int a = 0; a < rank && good; a++) {
        int from = a - (rank - x->rank), r = a - (rank - given);
        int64_t n = from >= 0 ? tensor_shape(x)[from] : 1, times = r >= 0 ? reps[r] : 1;
        good = times >= 0 && !__builtin_mul_overflow(n, times, &shape[a]);
        wide[2 * a] = times;
        wide[2 * a + 1] = n;
        steps[2 * a] = 0;
        steps[2 * a + 1] = from >= 0 ? tensor_strides(x)[from] : 0;
    }
    if (!good)
        return form_host(c, d);
    if (!held(c, d, x))
        return v_undef();
    Tensor *out = place_new(c->in, d, (DType)x->dtype, rank, shape);
    form_assign(c, d, form_reshape(c, out, 2 * rank, wide),
                form_view(c, x, 2 * rank, wide, steps, 0));
    return place_value(c->in, out);
}

/* x's elements in row-major order, dense there. */
static Tensor *flat(OpCall *c, Device *d, Tensor *x)
{
    return form_reshape(c, form_dense(c, d, x, (DType)x->dtype), 1, &x->size);
}

Value op_device_repeat(OpCall *c, Device *d)
{
    Tensor *x = arg_tensor(c, 0);
    bool all = !arg_given(c, 2);
    int64_t shape[TENSOR_RANK_MAX + 1], strides[TENSOR_RANK_MAX + 1];
    if (x->rank == 0 || (c->args[1].tag == V_INT && c->args[1].i < 0))
        return form_host(c, d);
    if (c->args[1].tag != V_INT || x->rank == TENSOR_RANK_MAX)
        return place_refuse(c->in, (Lack){ LACK_COUNTS });
    int axis = all ? 0 : arg_axis(c, 2, x->rank, 0);
    if (!held(c, d, x))
        return v_undef();
    if (all)
        x = flat(c, d, x);
    for (int a = 0, to = 0; a < x->rank; a++) {
        shape[to] = tensor_shape(x)[a];
        strides[to++] = tensor_strides(x)[a];
        if (a == axis) {
            shape[to] = c->args[1].i;
            strides[to++] = 0;
        }
    }
    Tensor *wide = form_copy(c, d, form_view(c, x, x->rank + 1, shape, strides, 0),
                             (DType)x->dtype);
    memcpy(shape, tensor_shape(x), (size_t)x->rank * sizeof *shape);
    shape[axis] *= c->args[1].i;
    return place_value(c->in, form_reshape(c, wide, x->rank, shape));
}

static Tensor *slice(OpCall *c, Tensor *x, int axis, int64_t from, int64_t length)
{
    int64_t shape[TENSOR_RANK_MAX];
    memcpy(shape, tensor_shape(x), (size_t)x->rank * sizeof *shape);
    shape[axis] = length;
    return form_view(c, x, x->rank, shape, tensor_strides(x), from * tensor_strides(x)[axis]);
}

static Tensor *rolled(OpCall *c, Device *d, Tensor *x, int axis, int64_t shift)
{
    int64_t n = tensor_shape(x)[axis];
    shift = (shift % n + n) % n;
    Tensor *out = place_new(c->in, d, (DType)x->dtype, x->rank, tensor_shape(x));
    form_assign(c, d, slice(c, out, axis, shift, n - shift), slice(c, x, axis, 0, n - shift));
    form_assign(c, d, slice(c, out, axis, 0, shift), slice(c, x, axis, n - shift, shift));
    return out;
}

Value op_device_roll(OpCall *c, Device *d)
{
    Tensor *x = arg_tensor(c, 0);
    if (x->rank == 0 || x->size == 0)
        return form_host(c, d);
    if (c->args[1].tag != V_INT || (arg_given(c, 2) && c->args[2].tag == V_TUPLE))
        return place_refuse(c->in, (Lack){ LACK_SHIFTS });
    if (!held(c, d, x))
        return v_undef();
    if (arg_given(c, 2))
        return place_value(c->in, rolled(c, d, x, arg_axis(c, 2, x->rank, 0), c->args[1].i));
    Tensor *out = rolled(c, d, flat(c, d, x), 0, c->args[1].i);
    return place_value(c->in, form_reshape(c, out, x->rank, tensor_shape(x)));
}

/* ---- matrices ---- */
/* Of a vector the matrix that has it on a diagonal; of matrices a view. */
Value op_device_diag(OpCall *c, Device *d)
{
    Tensor *x = arg_tensor(c, 0);
    int64_t k = arg_given(c, 1) ? arg_int(c, 1) : 0, off = k < 0 ? -k : k, n;
    if (x->rank != 1)
        return x->rank ? form_views(c, d) : form_host(c, d);
    if (off < 0 || __builtin_add_overflow(x->size, off, &n))
        return form_host(c, d);
    if (!held(c, d, x))
        return v_undef();
    Tensor *out = place_new(c->in, d, (DType)x->dtype, 2, (int64_t[]){ n, n });
    if (!form_fill(c, d, out, 0))
        return v_undef();
    int64_t step = n + 1;
    form_assign(c, d, form_view(c, out, 1, &x->size, &step, k < 0 ? off * n : off), x);
    return place_value(c->in, out);
}

/* x where column - row >= k (upper), <= k (lower), zero elsewhere. */
static Value triangle(OpCall *c, Device *d, bool upper)
{
    Tensor *x = arg_tensor(c, 0);
    int64_t k = arg_given(c, 1) ? arg_int(c, 1) : 0;
    DType dt = (DType)x->dtype;
    int rank = x->rank;
    EwTrouble trouble;
    if (rank < 2)
        return form_host(c, d);
    PlaceNest *n = place_nest_new(c->in, d);
    place_nest_axes(n, rank, tensor_shape(x));
    int row = nest_number(&c->in->ctx, n->nest, rank - 2),
        column = nest_number(&c->in->ctx, n->nest, rank - 1);
    int inside = place_nest_ew(n, upper ? EW_GREATER_EQUAL : EW_LESS_EQUAL, DT_I64,
                               place_nest_ew(n, EW_SUBTRACT, DT_I64, column, row),
                               place_nest_int(n, k, DT_I64));
    n->nest->root = nest_ew(&c->in->ctx, n->nest, EW_WHERE, dt,
                            (int[]){ inside, place_nest_broadcast(n, x, rank),
                                     place_nest_int(n, 0, dt) }, 3);
    return place_nest_takes(n)
           ? place_value(c->in, place_nest_run(n, rank, tensor_shape(x), &trouble)) : v_undef();
}

Value op_device_triu(OpCall *c, Device *d) { return triangle(c, d, true); }
Value op_device_tril(OpCall *c, Device *d) { return triangle(c, d, false); }

/* ---- at positions, with margins ---- */
/* Positions as a dense i64 tensor of the host, all in 0 … length-1; NULL: the row has an error for
 * it. */
static Tensor *positions(OpCall *c, int i, int64_t length)
{
    Ctx *ctx = &c->in->ctx;
    value_home(c->in, c->args[i]);
    Tensor *given = arg_tensor(c, i);
    if (given->size && dtype_info((DType)given->dtype)->kind != 'i')
        return NULL;
    Tensor *at = op_keep(c, tensor_copy(ctx, op_keep(c, tensor_cast(ctx, given, DT_I64))));
    int64_t *v = (int64_t *)(void *)at->data;
    for (int64_t k = 0; k < at->size; k++) {
        if (v[k] < -length || v[k] >= length)
            return NULL;
        v[k] += v[k] < 0 ? length : 0;
    }
    return at;
}

Value op_device_take(OpCall *c, Device *d)
{
    Tensor *x = arg_tensor(c, 0);
    bool all = !arg_given(c, 2);
    int64_t shape[2 * TENSOR_RANK_MAX], stride[2 * TENSOR_RANK_MAX];
    EwTrouble trouble;
    if (x->rank == 0 || x->size == 0)
        return form_host(c, d);
    int axis = all ? 0 : arg_axis(c, 2, x->rank, 0);
    Tensor *at = positions(c, 1, all ? x->size : tensor_shape(x)[axis]);
    int rank = (all ? 1 : x->rank) - 1 + (at ? at->rank : 0);
    if (!at || rank > TENSOR_RANK_MAX || rank == 0)
        return form_host(c, d);
    if (!held(c, d, x))
        return v_undef();
    if (all)
        x = flat(c, d, x);
    for (int a = 0, to = 0; a < x->rank; a++)
        for (int k = 0; k < (a == axis ? at->rank : 1); k++) {
            shape[to] = a == axis ? tensor_shape(at)[k] : tensor_shape(x)[a];
            stride[to++] = a == axis ? 0 : tensor_strides(x)[a];
        }
    PlaceNest *n = place_nest_new(c->in, d);
    place_nest_axes(n, rank, shape);
    n->nest->root = place_nest_table(n, x, stride, rank, at, axis, tensor_strides(x)[axis]);
    return place_nest_takes(n) ? place_value(c->in, place_nest_run(n, rank, shape, &trouble))
                               : v_undef();
}

/* width: n, (before, after), or one pair per axis. False: the row is to say what is wrong. */
static bool read_widths(OpCall *c, const Tensor *x, int64_t (*width)[2])
{
    value_home(c->in, c->args[1]);
    Tensor *t = arg_tensor(c, 1);
    if (t->size == 0 || dtype_info((DType)t->dtype)->kind != 'i' || t->rank > 2)
        return false;
    bool pairs = t->rank == 2;
    if (pairs ? tensor_shape(t)[1] != 2 || (tensor_shape(t)[0] != x->rank &&
                                            tensor_shape(t)[0] != 1) : t->size > 2)
        return false;
    t = op_keep(c, tensor_copy(&c->in->ctx, op_keep(c, tensor_cast(&c->in->ctx, t, DT_I64))));
    const int64_t *v = (const int64_t *)(const void *)t->data;
    for (int a = 0; a < x->rank; a++) {
        int row = pairs && tensor_shape(t)[0] > 1 ? a : 0;
        for (int k = 0; k < 2; k++) {
            width[a][k] = t->size == 1 ? v[0] : v[2 * row + k];
            if (width[a][k] < 0 || width[a][k] > INT64_MAX / 8)
                return false;
        }
    }
    return true;
}

Value op_device_pad(OpCall *c, Device *d)
{
    Tensor *x = arg_tensor(c, 0);
    int64_t shape[TENSOR_RANK_MAX], width[TENSOR_RANK_MAX][2], at = 0;
    bool whole = form_whole((DType)x->dtype);
    double value = 0;
    if (arg_given(c, 2) && strcmp(arg_str(c, 2)->text, "constant") != 0)
        return place_refuse(c->in, (Lack){ LACK_MODE });
    if (arg_given(c, 3)) {
        if (c->args[3].tag != V_INT && c->args[3].tag != V_FLOAT)
            return place_refuse(c->in, (Lack){ LACK_NO_NUMBER });
        value = arg_float(c, 3);
        if (whole && !(value == 0 || value == 1))
            return place_refuse(c->in, (Lack){ LACK_VALUE });
    }
    if (x->rank == 0 || !read_widths(c, x, width))
        return form_host(c, d);
    if (!held(c, d, x))
        return v_undef();
    for (int a = 0; a < x->rank; a++)
        shape[a] = tensor_shape(x)[a] + width[a][0] + width[a][1];
    Tensor *out = place_new(c->in, d, (DType)x->dtype, x->rank, shape);
    if (!form_fill(c, d, out, value))
        return v_undef();
    for (int a = 0; a < x->rank; a++)
        at += width[a][0] * tensor_strides(out)[a];
    if (x->size)
        form_assign(c, d, form_view(c, out, x->rank, tensor_shape(x), tensor_strides(out), at), x);
    return place_value(c->in, out);
}

/* x[1:] - x[:-1] along one axis. */
Value op_device_diff(OpCall *c, Device *d)
{
    Tensor *x = arg_tensor(c, 0);
    if (arg_given(c, 1) && !(c->args[1].tag == V_INT && c->args[1].i == 1))
        return place_refuse(c->in, (Lack){ LACK_DIFFERENCES });
    if (arg_given(c, 3) || arg_given(c, 4) || x->dtype == DT_BOOL)
        return place_refuse(c->in, (Lack){ LACK_ARGUMENT });
    if (x->rank == 0)
        return form_host(c, d);
    int axis = arg_axis(c, 2, x->rank, x->rank - 1);
    int64_t n = tensor_shape(x)[axis];
    if (n < 2 || x->size == 0)
        return form_host(c, d);
    Value pair[] = { v_tensor_raw(slice(c, x, axis, 1, n - 1)),
                     v_tensor_raw(slice(c, x, axis, 0, n - 1)) };
    return place_elementwise(c->in, d, op_named(c->in, "subtract"), pair, 2, 0);
}
