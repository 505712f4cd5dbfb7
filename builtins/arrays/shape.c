/* Shapes, views and rearrangements: reads the arguments of shape.def. Whatever strides can
 * say is a view (reshape of contiguous tensors, transpose, flip, split, diag, broadcast_to);
 * the rest is copied piece by piece with tensor_assign into slices of a new tensor. */
#include "builtins/strings/text.h"
#include "core/memory/pool.h"
#include "interp/op/op.h"
#include "kernels/axis/compare.h"
#include "kernels/axis/lookup.h"
#include "kernels/rational/rational.h"

#include <stdio.h>
#include <string.h>

#define OP(name, ...) Value op_run_##name(OpCall *);
#include "builtins/arrays/shape.def"
#undef OP

/* ---- shared ---- */

static const char *fact_of(const Tensor *t, char *out, size_t cap)
{
    return shape_fact(out, cap, t->rank, tensor_shape(t));
}

static Tensor *view(OpCall *c, Tensor *x, int rank, const int64_t *shape,
                    const int64_t *strides, char *data)
{
    return op_keep(c, tensor_view(&c->in->ctx, x, rank, shape, strides, data));
}

static Tensor *fresh(OpCall *c, DType dt, int rank, const int64_t *shape)
{
    return op_keep(c, tensor_new(&c->in->ctx, dt, rank, shape));
}

/* x's elements in row-major order as another shape of the same size. */
static Tensor *reshaped(OpCall *c, Tensor *x, int rank, const int64_t *shape)
{
    int64_t strides[TENSOR_RANK_MAX], step = 1;
    Tensor *dense = op_keep(c, tensor_compact(&c->in->ctx, x));
    for (int a = rank - 1; a >= 0; a--) {
        strides[a] = step;
        step *= shape[a] > 0 ? shape[a] : 1;
    }
    return view(c, dense, rank, shape, strides, dense->data);
}

static Tensor *flat(OpCall *c, Tensor *x)
{
    return reshaped(c, x, 1, &x->size);
}

static char *element_at(const Tensor *x, int64_t offset)
{
    return x->data + offset * dtype_info(x->dtype)->bytes;
}

/* The slice [from, from + length) of one axis. */
static Tensor *slice(OpCall *c, Tensor *x, int axis, int64_t from, int64_t length)
{
    int64_t shape[TENSOR_RANK_MAX];
    memcpy(shape, tensor_shape(x), (size_t)x->rank * sizeof *shape);
    shape[axis] = length;
    return view(c, x, x->rank, shape, tensor_strides(x),
                element_at(x, from * tensor_strides(x)[axis]));
}

static void assign(OpCall *c, Tensor *to, Tensor *from)
{
    tensor_assign(&c->in->ctx, to, from);
    poll_interrupt(c->in);
}

/* A positive count that a user gave. */
static int64_t count_of(OpCall *c, int i, int64_t n)
{
    if (n < 0)
        arg_error(c, i, ERR_VALUE, "%s is %lld, and a count cannot be negative", arg_name(c, i),
                  (long long)n);
    return n;
}

/* An int, a tuple or a vector of ints, as a dense i64 vector. */
static Tensor *int_list(OpCall *c, int i)
{
    Ctx *ctx = &c->in->ctx;
    Tensor *t = arg_tensor(c, i);
    bool empty = t->size == 0;
    if (!empty && dtype_info(t->dtype)->kind != 'i')
        arg_error(c, i, ERR_TYPE, "%s must be an int or ints, not %s", arg_name(c, i),
                  dtype_name(t->dtype));
    if (t->rank > 1)
        arg_error(c, i, ERR_SHAPE, "%s must be an int or a list of ints", arg_name(c, i));
    return flat(c, op_keep(c, empty ? tensor_new(ctx, DT_I64, 1, &t->size)
                                    : tensor_cast(ctx, t, DT_I64)));
}

/* An axis of a result with `rank` axes, which is no operand of the user's. */
static int result_axis(OpCall *c, int i, int64_t axis, int rank)
{
    if (axis < -rank || axis >= rank)
        arg_error(c, i, ERR_INDEX, "axis=%lld, but the result has %d ax%ss: %d to %d",
                  (long long)axis, rank, rank == 1 ? "i" : "e", -rank, rank - 1);
    return (int)(axis < 0 ? axis + rank : axis);
}

/* ---- questions ---- */

Value op_run_shape(OpCall *c)
{
    Tensor *x = arg_tensor(c, 0);
    Tuple *t = tuple_new(&c->in->ctx, x->rank);
    for (int a = 0; a < x->rank; a++)
        t->items[a] = v_int(tensor_shape(x)[a]);
    return v_tuple(t);
}

Value op_run_ndim(OpCall *c)
{
    return v_int(arg_tensor(c, 0)->rank);
}

Value op_run_size(OpCall *c)
{
    Tensor *x = arg_tensor(c, 0);
    return v_int(arg_given(c, 1) ? tensor_shape(x)[arg_axis(c, 1, x->rank, 0)] : x->size);
}

/* ---- shapes ---- */

/* Replaces one -1 and checks the size. */
static void settle_shape(OpCall *c, const Tensor *x, int rank, int64_t *shape)
{
    int64_t known = 1;
    int open = -1;
    char from[128], to[128];
    shape_text(to, sizeof to, rank, shape);
    for (int a = 0; a < rank; a++) {
        if (shape[a] == -1 && open >= 0)
            arg_error(c, 1, ERR_VALUE, "only one length of %s can be -1", to);
        if (shape[a] == -1)
            open = a;
        else if (__builtin_mul_overflow(known, shape[a], &known))
            known = -1;
    }
    bool fits = open < 0 ? known == x->size : known > 0 && x->size % known == 0;
    if (!fits && x->rank == 1)
        arg_error(c, 0, ERR_SHAPE, "%s %s and cannot be reshaped to %s", arg_text(c, 0),
                  fact_of(x, from, sizeof from), to);
    if (!fits)
        arg_error(c, 0, ERR_SHAPE, "%s %s with %lld element%s, which cannot be reshaped to %s",
                  arg_text(c, 0),
                  fact_of(x, from, sizeof from), (long long)x->size, x->size == 1 ? "" : "s", to);
    if (open >= 0)
        shape[open] = x->size / known;
}

Value op_run_reshape(OpCall *c)
{
    int64_t shape[TENSOR_RANK_MAX];
    Tensor *x = arg_tensor(c, 0);
    int rank = arg_shape(c, c->fixed, shape);
    settle_shape(c, x, rank, shape);
    return op_result(c, reshaped(c, x, rank, shape));
}

Value op_run_flatten(OpCall *c)
{
    return op_result(c, flat(c, arg_tensor(c, 0)));
}

Value op_run_transpose(OpCall *c)
{
    Tensor *x = arg_tensor(c, 0);
    int64_t shape[TENSOR_RANK_MAX], strides[TENSOR_RANK_MAX];
    int order[TENSOR_RANK_MAX];
    char text[128];
    for (int a = 0; a < x->rank; a++)
        order[a] = x->rank - 1 - a;
    if (arg_given(c, 1)) {
        Tensor *axes = int_list(c, 1);
        const int64_t *v = (const int64_t *)axes->data;
        uint64_t seen = 0;
        bool good = axes->size == x->rank;
        for (int a = 0; good && a < x->rank; a++) {
            good = v[a] >= -x->rank && v[a] < x->rank;
            order[a] = good ? (int)(v[a] < 0 ? v[a] + x->rank : v[a]) : 0;
            good = good && !(seen >> order[a] & 1);
            seen |= (uint64_t)1 << order[a];
        }
        if (!good)
            arg_error(c, 1, ERR_VALUE,
                      "axes must name each of the %d axes of %s (%s) once", x->rank,
                      arg_text(c, 0), shape_text(text, sizeof text, x->rank, tensor_shape(x)));
    }
    for (int a = 0; a < x->rank; a++) {
        shape[a] = tensor_shape(x)[order[a]];
        strides[a] = tensor_strides(x)[order[a]];
    }
    return op_result(c, view(c, x, x->rank, shape, strides, x->data));
}

Value op_run_squeeze(OpCall *c)
{
    Tensor *x = arg_tensor(c, 0);
    int64_t shape[TENSOR_RANK_MAX], strides[TENSOR_RANK_MAX];
    bool chosen = arg_given(c, 1);
    uint64_t axes = arg_axes(c, 1, x->rank);
    int k = 0;
    char text[128];
    for (int a = 0; a < x->rank; a++) {
        bool go = axes >> a & 1;
        if (go && chosen && tensor_shape(x)[a] != 1)
            arg_error(c, 0, ERR_SHAPE, "axis %d of %s (%s) has length %lld, not 1", a,
                      arg_text(c, 0),
                      shape_text(text, sizeof text, x->rank, tensor_shape(x)),
                      (long long)tensor_shape(x)[a]);
        if (go && tensor_shape(x)[a] == 1)
            continue;
        shape[k] = tensor_shape(x)[a];
        strides[k++] = tensor_strides(x)[a];
    }
    return op_result(c, view(c, x, k, shape, strides, x->data));
}

Value op_run_expand(OpCall *c)
{
    Tensor *x = arg_tensor(c, 0);
    int64_t shape[TENSOR_RANK_MAX], strides[TENSOR_RANK_MAX];
    int more = arg_given(c, 1) && c->args[1].tag == V_TUPLE ? (int)c->args[1].tuple->count : 1;
    int rank = x->rank + more, from = 0;
    if (rank > TENSOR_RANK_MAX)
        arg_error(c, 1, ERR_VALUE, "a tensor has at most %d axes", TENSOR_RANK_MAX);
    uint64_t axes = 0;
    if (arg_given(c, 1) && c->args[1].tag == V_TUPLE)
        axes = arg_axes(c, 1, rank);
    else
        axes = (uint64_t)1 << result_axis(c, 1, arg_given(c, 1) ? arg_int(c, 1) : 0, rank);
    for (int a = 0; a < rank; a++) {
        bool added = axes >> a & 1;
        shape[a] = added ? 1 : tensor_shape(x)[from];
        strides[a] = added ? 0 : tensor_strides(x)[from++];
    }
    return op_result(c, view(c, x, rank, shape, strides, x->data));
}

Value op_run_broadcast_to(OpCall *c)
{
    Tensor *x = arg_tensor(c, 0);
    int64_t shape[TENSOR_RANK_MAX], both[TENSOR_RANK_MAX];
    char from[128], to[128];
    int bad, rank = arg_shape(c, c->fixed, shape);
    for (int a = 0; a < rank; a++)
        count_of(c, c->fixed, shape[a]);
    int r = shape_broadcast(x->rank, tensor_shape(x), rank, shape, both, &bad);
    if (r != rank || memcmp(both, shape, (size_t)rank * sizeof *shape) != 0)
        arg_error(c, 0, ERR_SHAPE, "%s %s, which does not broadcast to %s", arg_text(c, 0),
                  fact_of(x, from, sizeof from), shape_text(to, sizeof to, rank, shape));
    return op_result(c, op_keep(c, tensor_broadcast(&c->in->ctx, x, rank, shape)));
}

/* ---- joining ---- */

/* The variadic tensors of a call, or the items of its single tuple; promoted. */
typedef struct Parts {
    Tensor **item;
    int64_t count;
    DType dtype;
    bool named;            /* part i is argument fixed + i */
} Parts;

/* Part i of a dtype that nothing holds together with those before it. */
static _Noreturn void parts_unlike(OpCall *c, const Parts *p, int64_t i, DType dt)
{
    char help[160];
    /* which of the two is to become decimal */
    bool first = dtype_base(dt) == DT_DECIMAL;
    const char *to = dtype_name(first ? dt : p->dtype);
    const char *text = arg_text(c, c->fixed + (p->named && !first ? (int)i : 0));
    if (dtype_info(dt)->kind == 'c')
        to = "real";
    snprintf(help, sizeof help, "convert one of them: %s(%s)", to, p->named ? text : "…");
    arg_error_help(c, c->fixed + (p->named ? (int)i : 0), ERR_DTYPE, help,
                   "%s beside %s: there is no format that holds both", dtype_name(dt),
                   dtype_name(p->dtype));
}

static Parts read_parts(OpCall *c)
{
    Parts p = { .count = c->count - c->fixed, .named = true };
    Value single = c->count > c->fixed ? c->args[c->fixed] : v_undef();
    Tuple *tuple = p.count == 1 && single.tag == V_TUPLE ? single.tuple : NULL;
    if (tuple) {
        p.count = tuple->count;
        p.named = false;
    }
    if (p.count <= 0)
        arg_error(c, c->fixed, ERR_TYPE, "at least one tensor is wanted");
    int64_t words = p.count * (int64_t)(sizeof *p.item / sizeof(int64_t));
    p.item = (Tensor **)(void *)fresh(c, DT_I64, 1, &words)->data;
    for (int64_t i = 0; i < p.count; i++) {
        p.item[i] = tuple ? op_keep(c, v_to_tensor(c->in, tuple->items[i], 0))
                          : arg_tensor(c, c->fixed + (int)i);
        DType dt = (DType)p.item[i]->dtype, both = i == 0 ? dt : dtype_promote(p.dtype, dt);
        if (both == DT_NONE)
            parts_unlike(c, &p, i, dt);
        p.dtype = both;
    }
    return p;
}

static const char *part_name(OpCall *c, const Parts *p, int64_t i, char *out, size_t cap)
{
    if (p->named)
        snprintf(out, cap, "%s", arg_text(c, c->fixed + (int)i));
    else
        snprintf(out, cap, "%s[%lld]", arg_text(c, c->fixed), (long long)i);
    return out;
}

static void underline(OpCall *c, Error *e, int argument)
{
    err_underline(e, c->operand && argument < 128 ? c->operand[argument] : argument);
}

static _Noreturn void parts_differ(OpCall *c, const Parts *p, int64_t i, const char *how)
{
    char a[96], b[96], sa[128], sb[128];
    Error *e = err_new(&c->in->ctx, ERR_SHAPE, "%s: %s %s but %s %s: %s", c->op->name,
                       part_name(c, p, 0, a, sizeof a), fact_of(p->item[0], sa, sizeof sa),
                       part_name(c, p, i, b, sizeof b), fact_of(p->item[i], sb, sizeof sb), how);
    if (p->named) {
        underline(c, e, c->fixed);
        underline(c, e, c->fixed + (int)i);
    }
    err_throw(e);
}

Value op_run_concat(OpCall *c)
{
    Parts p = read_parts(c);
    Tensor *first = p.item[0];
    int64_t shape[TENSOR_RANK_MAX], at = 0;
    char how[96], name[96];
    for (int64_t i = 0; i < p.count; i++)
        if (p.item[i]->rank == 0)
            arg_error_help(c, c->fixed + (p.named ? (int)i : 0), ERR_SHAPE,
                           "stack joins scalars, [x] is a vector of one",
                           "%s is a scalar and has no axis to join along",
                           part_name(c, &p, i, name, sizeof name));
    int axis = result_axis(c, 0, arg_given(c, 0) ? arg_int(c, 0) : 0, first->rank);
    memcpy(shape, tensor_shape(first), first->rank * sizeof *shape);
    for (int64_t i = 1; i < p.count; i++) {
        if (p.item[i]->rank != first->rank)
            parts_differ(c, &p, i, "the numbers of axes differ");
        for (int a = 0; a < first->rank; a++)
            if (a != axis && tensor_shape(p.item[i])[a] != shape[a]) {
                snprintf(how, sizeof how, "axis %d must agree when joining along axis %d", a, axis);
                parts_differ(c, &p, i, how);
            }
        if (__builtin_add_overflow(shape[axis], tensor_shape(p.item[i])[axis], &shape[axis]))
            arg_error(c, c->fixed + (p.named ? (int)i : 0), ERR_MEMORY,
                      "the result has more elements than can be counted");
    }
    Tensor *out = fresh(c, p.dtype, first->rank, shape);
    for (int64_t i = 0; i < p.count; i++) {
        int64_t n = tensor_shape(p.item[i])[axis];
        assign(c, slice(c, out, axis, at, n), p.item[i]);
        at += n;
    }
    return op_result(c, out);
}

Value op_run_stack(OpCall *c)
{
    Parts p = read_parts(c);
    Tensor *first = p.item[0];
    int64_t shape[TENSOR_RANK_MAX], inner[TENSOR_RANK_MAX];
    int rank = first->rank + 1;
    if (rank > TENSOR_RANK_MAX)
        arg_error(c, c->fixed, ERR_VALUE, "a tensor has at most %d axes", TENSOR_RANK_MAX);
    int axis = result_axis(c, 0, arg_given(c, 0) ? arg_int(c, 0) : 0, rank);
    for (int64_t i = 1; i < p.count; i++)
        if (p.item[i]->rank != first->rank ||
            memcmp(tensor_shape(p.item[i]), tensor_shape(first), first->rank * sizeof *shape) != 0)
            parts_differ(c, &p, i, "stacked tensors have one shape");
    for (int a = 0, from = 0; a < rank; a++)
        shape[a] = a == axis ? p.count : tensor_shape(first)[from++];
    Tensor *out = fresh(c, p.dtype, rank, shape);
    for (int a = 0, to = 0; a < rank; a++)
        if (a != axis)
            inner[to++] = tensor_strides(out)[a];
    for (int64_t i = 0; i < p.count; i++)
        assign(c, view(c, out, first->rank, tensor_shape(first), inner,
                       element_at(out, i * tensor_strides(out)[axis])), p.item[i]);
    return op_result(c, out);
}

/* ---- taking apart ---- */

static Value split_at(OpCall *c, Tensor *x, int axis, const int64_t *cuts, int64_t count)
{
    Tuple *parts = tuple_new(&c->in->ctx, (uint64_t)count + 1);
    op_root(c, v_tuple(parts));
    int64_t length = tensor_shape(x)[axis], from = 0;
    for (int64_t i = 0; i <= count; i++) {
        int64_t to = i < count ? cuts[i] < 0 ? cuts[i] + length : cuts[i] : length;
        to = to < from ? from : to > length ? length : to;
        parts->items[i] = op_result(c, slice(c, x, axis, from, to - from));
        from = to;
    }
    return v_retain(v_tuple(parts));
}

Value op_run_split(OpCall *c)
{
    if (c->args[0].tag == V_STRING)
        return text_split(c, 1, 3);
    Tensor *x = arg_tensor(c, 0);
    int axis = arg_axis(c, 2, x->rank, 0);
    if (x->rank == 0)
        arg_error(c, 0, ERR_SHAPE, "%s is a scalar and cannot be split", arg_text(c, 0));
    if (c->args[1].tag == V_TUPLE || (c->args[1].tag == V_TENSOR && c->args[1].tensor->rank == 1)) {
        Tensor *cuts = int_list(c, 1);
        return split_at(c, x, axis, (const int64_t *)cuts->data, cuts->size);
    }
    int64_t parts = arg_int(c, 1), length = tensor_shape(x)[axis];
    if (parts < 1 || length % parts != 0)
        arg_error(c, 1, ERR_VALUE,
                  "axis %d of %s has length %lld, which is not %lld equal parts", axis,
                  arg_text(c, 0), (long long)length, (long long)parts);
    int64_t count = parts - 1;
    int64_t *cuts = (int64_t *)fresh(c, DT_I64, 1, &count)->data;
    for (int64_t i = 0; i < count; i++)
        cuts[i] = (i + 1) * (length / parts);
    return split_at(c, x, axis, cuts, count);
}

/* ---- repeating and moving ---- */

Value op_run_tile(OpCall *c)
{
    Tensor *x = arg_tensor(c, 0);
    int64_t reps[TENSOR_RANK_MAX], wide[2 * TENSOR_RANK_MAX], steps[2 * TENSOR_RANK_MAX],
        shape[TENSOR_RANK_MAX];
    int given = arg_shape(c, c->fixed, reps), rank = given > x->rank ? given : x->rank;
    for (int a = 0; a < rank; a++) {
        int from = a - (rank - x->rank), r = a - (rank - given);
        int64_t n = from >= 0 ? tensor_shape(x)[from] : 1,
                times = r >= 0 ? count_of(c, c->fixed, reps[r]) : 1;
        if (__builtin_mul_overflow(n, times, &shape[a]))
            arg_error(c, c->fixed, ERR_MEMORY, "the result has more elements than can be counted");
        wide[2 * a] = times;
        wide[2 * a + 1] = n;
        steps[2 * a] = 0;
        steps[2 * a + 1] = from >= 0 ? tensor_strides(x)[from] : 0;
    }
    if (2 * rank > TENSOR_RANK_MAX)
        arg_error(c, 0, ERR_VALUE, "tile takes at most %d axes", TENSOR_RANK_MAX / 2);
    Tensor *out = fresh(c, (DType)x->dtype, rank, shape);
    Tensor *from = view(c, x, 2 * rank, wide, steps, x->data);
    assign(c, reshaped(c, out, 2 * rank, wide), from);
    return op_result(c, out);
}

/* Slices of one axis at checked positions: the kernel of take, repeat, pad. */
static Tensor *take_axis(OpCall *c, Tensor *x, int axis, int index_rank, const int64_t *index_shape,
                         const int64_t *index, int64_t count)
{
    int64_t shape[2 * TENSOR_RANK_MAX], outer = 1, inner = 1;
    int rank = x->rank - 1 + index_rank;
    if (rank > TENSOR_RANK_MAX)
        arg_error(c, 0, ERR_SHAPE, "the result would have %d axes, more than %d", rank,
                  TENSOR_RANK_MAX);
    for (int a = 0, to = 0; a < x->rank; a++) {
        if (a < axis)
            outer *= tensor_shape(x)[a];
        if (a > axis)
            inner *= tensor_shape(x)[a];
        if (a == axis)
            for (int b = 0; b < index_rank; b++)
                shape[to++] = index_shape[b];
        else
            shape[to++] = tensor_shape(x)[a];
    }
    Tensor *dense = op_keep(c, tensor_compact(&c->in->ctx, x));
    Tensor *out = fresh(c, (DType)x->dtype, rank, shape);
    size_t bytes = (size_t)inner * dtype_info(x->dtype)->bytes;
    int64_t length = tensor_shape(x)[axis];
    for (int64_t o = 0; o < outer && out->size; o++)
        for (int64_t i = 0; i < count; i++) {
            memcpy(out->data + (size_t)(o * count + i) * bytes,
                   dense->data + (size_t)(o * length + index[i]) * bytes, bytes);
            poll_interrupt(c->in);
        }
    return out;
}

Value op_run_take(OpCall *c)
{
    Ctx *ctx = &c->in->ctx;
    Tensor *x = arg_tensor(c, 0), *index = arg_tensor(c, 1);
    bool all = !arg_given(c, 2) || x->rank == 0;
    int axis = all ? 0 : arg_axis(c, 2, x->rank, 0);
    if (index->size > 0 && dtype_info(index->dtype)->kind != 'i')
        arg_error(c, 1, ERR_TYPE, "indices must be ints, not %s", dtype_name(index->dtype));
    if (all)
        x = flat(c, x);
    Tensor *dense = op_keep(c, tensor_copy(ctx, op_keep(c, tensor_cast(ctx, index, DT_I64))));
    int64_t *v = (int64_t *)dense->data, length = tensor_shape(x)[axis];
    for (int64_t i = 0; i < dense->size; i++) {
        if (v[i] < -length || v[i] >= length)
            arg_error(c, 1, ERR_INDEX,
                      "index %lld is out of range for axis %d of %s, which has length %lld",
                      (long long)v[i], axis, arg_text(c, 0), (long long)length);
        v[i] += v[i] < 0 ? length : 0;
        poll_interrupt(c->in);
    }
    return op_result(c, take_axis(c, x, axis, dense->rank, tensor_shape(dense), v, dense->size));
}

/* Rows (an element or more) of x, each so many times: as a list has it, or all the same. */
typedef struct Repeat {
    char *out;
    const char *x;
    size_t bytes;              /* of a row */
    const int64_t *times;
    bool list;
    int64_t length;            /* of the list */
} Repeat;

#define REPEAT_AS(T) \
    for (int64_t i = begin; i < end; i++) { \
        T *to = (T *)(void *)out, v = ((const T *)(const void *)r->x)[i]; \
        int64_t many = r->times[r->list ? i % r->length : 0]; \
        for (int64_t k = 0; k < many; k++) to[k] = v; \
        out += many * (int64_t)sizeof(T); \
    } \
    return out;
/* All the same number of times, which is small: 16 bytes at once. */
#define REPEAT_PAIRS(many) \
    for (int64_t i = begin; i < end; i++, out += (many) * 8) { \
        uint64_t v[2] = { ((const uint64_t *)(const void *)r->x)[i] }; \
        v[1] = v[0]; \
        for (int k = 0; k + 2 <= (many); k += 2) memcpy(out + 8 * k, v, 16); \
        if ((many) % 2) memcpy(out + 8 * (many) - 8, v, 8); \
    } \
    return out;
static char *repeat_words(const Repeat *r, char *out, int64_t begin, int64_t end)
{
    switch (r->list ? 0 : *r->times) {
    case 2: REPEAT_PAIRS(2)
    case 3: REPEAT_PAIRS(3)
    case 4: REPEAT_PAIRS(4)
    case 5: REPEAT_PAIRS(5)
    case 6: REPEAT_PAIRS(6)
    case 8: REPEAT_PAIRS(8)
    default: REPEAT_AS(uint64_t)
    }
}
#undef REPEAT_PAIRS

static char *repeat_rows(const Repeat *r, char *out, int64_t begin, int64_t end)
{
    switch (r->bytes) {
    case 1: REPEAT_AS(uint8_t)
    case 2: REPEAT_AS(uint16_t)
    case 4: REPEAT_AS(uint32_t)
    case 8: return repeat_words(r, out, begin, end);
    default:
        for (int64_t i = begin; i < end; i++)
            for (int64_t k = r->times[r->list ? i % r->length : 0]; k > 0; k--, out += r->bytes)
                memcpy(out, r->x + (size_t)i * r->bytes, r->bytes);
        return out;
    }
}
#undef REPEAT_AS

static void repeat_part(void *arg, int64_t begin, int64_t end, int worker)
{
    const Repeat *r = arg;
    (void)worker;
    repeat_rows(r, r->out + (size_t)(begin * *r->times) * r->bytes, begin, end);
}

static Tensor *repeat_axis(OpCall *c, Tensor *x, int axis, int64_t total, const int64_t *times,
                           bool list)
{
    enum { ROWS = 1 << 12, PART_BYTES = 1 << 18 };
    Ctx *ctx = &c->in->ctx;
    int64_t shape[TENSOR_RANK_MAX], rows = 1, inner = 1, length = tensor_shape(x)[axis];
    for (int a = 0; a < x->rank; a++) {
        shape[a] = a == axis ? total : tensor_shape(x)[a];
        *(a <= axis ? &rows : &inner) *= tensor_shape(x)[a];
    }
    Tensor *dense = op_keep(c, tensor_compact(ctx, x));
    Tensor *out = fresh(c, (DType)x->dtype, x->rank, shape);
    Repeat r = { out->data, dense->data, (size_t)inner * dtype_info(x->dtype)->bytes, times, list,
                 length };
    if (out->size == 0)
        return out;
    if (!list) {
        int64_t each = *times * (int64_t)r.bytes;
        pool_for(ctx, rows, each < PART_BYTES ? PART_BYTES / each : 1, repeat_part, &r);
        poll_interrupt(c->in);
        return out;
    }
    char *to = r.out;
    for (int64_t i = 0; i < rows; i += ROWS) {
        to = repeat_rows(&r, to, i, rows - i < ROWS ? rows : i + ROWS);
        poll_interrupt(c->in);
    }
    return out;
}

Value op_run_repeat(OpCall *c)
{
    Tensor *x = arg_tensor(c, 0), *times = int_list(c, 1);
    const int64_t *n = (const int64_t *)times->data;
    bool all = !arg_given(c, 2) || x->rank == 0;
    int axis = all ? 0 : arg_axis(c, 2, x->rank, 0);
    int64_t total = 0;
    if (all)
        x = flat(c, x);
    int64_t length = tensor_shape(x)[axis];
    if (times->size != 1 && times->size != length)
        arg_error(c, 1, ERR_SHAPE, "%lld counts for %lld elements along axis %d of %s",
                  (long long)times->size, (long long)length, axis, arg_text(c, 0));
    bool same = times->size == 1, over = false;
    if (same && length > 0)
        over = __builtin_mul_overflow(length, count_of(c, 1, *n), &total);
    for (int64_t i = 0; i < length && !same; i++)
        over |= __builtin_add_overflow(total, count_of(c, 1, n[i]), &total);
    if (over)
        arg_error(c, 1, ERR_MEMORY, "the result has more elements than can be counted");
    return op_result(c, repeat_axis(c, x, axis, total, n, !same));
}

Value op_run_flip(OpCall *c)
{
    Tensor *x = arg_tensor(c, 0);
    uint64_t axes = arg_axes(c, 1, x->rank);
    int64_t strides[TENSOR_RANK_MAX], at = 0;
    for (int a = 0; a < x->rank; a++) {
        bool back = axes >> a & 1;
        strides[a] = back ? -tensor_strides(x)[a] : tensor_strides(x)[a];
        if (back && x->size > 0)
            at += (tensor_shape(x)[a] - 1) * tensor_strides(x)[a];
    }
    return op_result(c, view(c, x, x->rank, tensor_shape(x), strides, element_at(x, at)));
}

static Tensor *rolled(OpCall *c, Tensor *x, int axis, int64_t shift)
{
    int64_t n = tensor_shape(x)[axis];
    if (n == 0)
        return x;
    shift = (shift % n + n) % n;
    Tensor *out = fresh(c, (DType)x->dtype, x->rank, tensor_shape(x));
    assign(c, slice(c, out, axis, shift, n - shift), slice(c, x, axis, 0, n - shift));
    assign(c, slice(c, out, axis, 0, shift), slice(c, x, axis, n - shift, shift));
    return out;
}

Value op_run_roll(OpCall *c)
{
    Tensor *x = arg_tensor(c, 0), *shifts = int_list(c, 1);
    const int64_t *shift = (const int64_t *)shifts->data;
    if (!arg_given(c, 2)) {
        int64_t total = 0;
        for (int64_t i = 0; i < shifts->size; i++)
            total = (int64_t)((uint64_t)total + (uint64_t)shift[i]);
        Tensor *out = rolled(c, flat(c, x), 0, total);
        return op_result(c, reshaped(c, out, x->rank, tensor_shape(x)));
    }
    bool several = c->args[2].tag == V_TUPLE;
    int64_t axes = several ? c->args[2].tuple->count : 1;
    if (shifts->size != axes && shifts->size != 1)
        arg_error(c, 1, ERR_SHAPE, "%lld shifts for %lld axes", (long long)shifts->size,
                  (long long)axes);
    arg_axes(c, 2, x->rank);                       /* checks every one of them */
    for (int64_t i = 0; i < axes; i++) {
        int64_t axis = several ? c->args[2].tuple->items[i].i : arg_axis(c, 2, x->rank, 0);
        x = rolled(c, x, (int)(axis < 0 ? axis + x->rank : axis), shift[shifts->size == 1 ? 0 : i]);
    }
    return op_result(c, x);
}

/* ---- matrices ---- */

static Value diagonal_matrix(OpCall *c, Tensor *x, int64_t k)
{
    int64_t size = k < 0 ? -k : k, n;
    if (size < 0 || __builtin_add_overflow(x->size, size, &n))
        arg_error(c, 1, ERR_VALUE, "diagonal %lld is too far away", (long long)k);
    Tensor *out = op_keep(c, tensor_zeros(&c->in->ctx, (DType)x->dtype, 2, (int64_t[]){ n, n }));
    int64_t step = n + 1;
    assign(c, view(c, out, 1, &x->size, &step, element_at(out, k < 0 ? size * n : size)), x);
    return op_result(c, out);
}

Value op_run_diag(OpCall *c)
{
    Tensor *x = arg_tensor(c, 0);
    int64_t k = arg_given(c, 1) ? arg_int(c, 1) : 0, shape[TENSOR_RANK_MAX],
            strides[TENSOR_RANK_MAX];
    if (x->rank == 0)
        arg_error(c, 0, ERR_SHAPE, "%s is a scalar; a vector or a matrix is wanted",
                  arg_text(c, 0));
    if (x->rank == 1)
        return diagonal_matrix(c, x, k);
    int last = x->rank - 1;
    int64_t m = tensor_shape(x)[last - 1], n = tensor_shape(x)[last],
        sm = tensor_strides(x)[last - 1],
            sn = tensor_strides(x)[last];
    int64_t down = k < 0 ? k < -m ? m : -k : 0, right = k > n ? n : k > 0 ? k : 0;
    int64_t length = m - down < n - right ? m - down : n - right;
    memcpy(shape, tensor_shape(x), (size_t)x->rank * sizeof *shape);
    memcpy(strides, tensor_strides(x), (size_t)x->rank * sizeof *strides);
    shape[last - 1] = length;
    strides[last - 1] = sm + sn;
    int64_t at = length > 0 ? down * sm + right * sn : 0;
    return op_result(c, view(c, x, last, shape, strides, element_at(x, at)));
}

/* A copy with zeros where column - row < k (upper) or > k (lower). */
static Value triangle(OpCall *c, bool upper)
{
    Tensor *x = arg_tensor(c, 0);
    int64_t k = arg_given(c, 1) ? arg_int(c, 1) : 0;
    char text[128];
    if (x->rank < 2)
        arg_error(c, 0, ERR_SHAPE, "%s %s; a matrix is wanted", arg_text(c, 0),
                  fact_of(x, text, sizeof text));
    Tensor *out = op_keep(c, tensor_copy(&c->in->ctx, x));
    out->flags = 0;
    int64_t m = tensor_shape(x)[x->rank - 2], n = tensor_shape(x)[x->rank - 1];
    int64_t rows = n == 0 ? 0 : x->size / n;
    size_t bytes = dtype_info(x->dtype)->bytes;
    k = k > n ? n : k < -m ? -m : k;
    for (int64_t r = 0; r < rows; r++) {
        char *row = out->data + (size_t)(r * n) * bytes;
        int64_t first = r % m + k;                          /* column of the k-th diagonal */
        int64_t from = upper ? 0 : first + 1, to = upper ? first : n;
        from = from < 0 ? 0 : from > n ? n : from;
        to = to < from ? from : to > n ? n : to;
        memset(row + (size_t)from * bytes, 0, (size_t)(to - from) * bytes);
    }
    return op_result(c, out);
}

Value op_run_triu(OpCall *c) { return triangle(c, true); }
Value op_run_tril(OpCall *c) { return triangle(c, false); }

/* ---- margins ---- */

/* width: n, (before, after), or one pair per axis. */
static void read_widths(OpCall *c, const Tensor *x, int64_t (*width)[2])
{
    Tensor *t = arg_tensor(c, 1);
    bool empty = t->size == 0;
    if (!empty && dtype_info(t->dtype)->kind != 'i')
        arg_error(c, 1, ERR_TYPE, "width must be ints, not %s", dtype_name(t->dtype));
    const int64_t *v = (const int64_t *)op_keep(c, tensor_copy(&c->in->ctx,
                           op_keep(c, tensor_cast(&c->in->ctx, t, DT_I64))))->data;
    bool pairs = t->rank == 2 && tensor_shape(t)[1] == 2 &&
                 (tensor_shape(t)[0] == x->rank || tensor_shape(t)[0] == 1);
    bool pair = t->rank == 1 && t->size == 2;
    if (t->rank != 0 && !pair && !pairs && !(t->rank == 1 && t->size == 1))
        arg_error(c, 1, ERR_SHAPE,
                  "width must be an int, (before, after), or %d such pairs", x->rank);
    for (int a = 0; a < x->rank; a++) {
        int row = pairs && tensor_shape(t)[0] > 1 ? a : 0;
        width[a][0] = count_of(c, 1, t->size == 1 ? v[0] : v[2 * row]);
        width[a][1] = count_of(c, 1, t->size == 1 ? v[0] : v[2 * row + 1]);
        if (width[a][0] > INT64_MAX / 8 || width[a][1] > INT64_MAX / 8)
            arg_error(c, 1, ERR_VALUE, "the margin is too wide");
    }
}

static Value pad_constant(OpCall *c, Tensor *x, int64_t (*width)[2])
{
    Ctx *ctx = &c->in->ctx;
    int64_t shape[TENSOR_RANK_MAX];
    for (int a = 0; a < x->rank; a++)
        shape[a] = tensor_shape(x)[a] + width[a][0] + width[a][1];
    Tensor *value = NULL;
    if (arg_given(c, 3)) {
        value = arg_tensor(c, 3);
        if (value->rank > 0)
            arg_error(c, 3, ERR_SHAPE, "value must be a scalar");
        value = op_keep(c, tensor_cast(ctx, value, (DType)x->dtype));
    }
    Tensor *out = op_keep(c, tensor_zeros(ctx, (DType)x->dtype, x->rank, shape)), *middle = out;
    if (value)
        assign(c, out, value);
    for (int a = 0; a < x->rank; a++)
        middle = slice(c, middle, a, width[a][0], tensor_shape(x)[a]);
    assign(c, middle, x);
    return op_result(c, out);
}

/* Where position i (may be outside 0 … n-1) takes its element from. */
static int64_t pad_source(int64_t i, int64_t n, char mode)
{
    if (mode == 'e')
        return i < 0 ? 0 : i >= n ? n - 1 : i;
    if (mode == 'w')
        return (i % n + n) % n;
    int64_t period = n > 1 ? 2 * (n - 1) : 1;
    i = (i % period + period) % period;
    return i < n ? i : period - i;
}

Value op_run_pad(OpCall *c)
{
    Tensor *x = arg_tensor(c, 0);
    int64_t width[TENSOR_RANK_MAX][2];
    const char *mode = arg_given(c, 2) ? arg_str(c, 2)->text : "constant";
    read_widths(c, x, width);
    if (strcmp(mode, "constant") == 0)
        return pad_constant(c, x, width);
    if (strcmp(mode, "edge") != 0 && strcmp(mode, "reflect") != 0 && strcmp(mode, "wrap") != 0)
        arg_error(c, 2, ERR_VALUE,
                  "mode is \"constant\", \"edge\", \"reflect\" or \"wrap\", not \"%.40s\"", mode);
    for (int a = 0; a < x->rank; a++) {
        int64_t n = tensor_shape(x)[a], total = n + width[a][0] + width[a][1];
        if (total == n)
            continue;
        if (n == 0)
            arg_error(c, 0, ERR_VALUE, "axis %d of %s is empty: there is nothing to %s", a,
                      arg_text(c, 0), mode);
        int64_t *index = (int64_t *)fresh(c, DT_I64, 1, &total)->data;
        for (int64_t i = 0; i < total; i++)
            index[i] = pad_source(i - width[a][0], n, mode[0]);
        x = take_axis(c, x, a, 1, &total, index, total);
    }
    return op_result(c, x);
}

/* ---- grids, positions, counts ---- */

Value op_run_meshgrid(OpCall *c)
{
    int count = c->count - c->fixed;
    int64_t shape[TENSOR_RANK_MAX];
    const char *indexing = arg_given(c, 0) ? arg_str(c, 0)->text : "xy";
    bool xy = strcmp(indexing, "xy") == 0;
    if (!xy && strcmp(indexing, "ij") != 0)
        arg_error(c, 0, ERR_VALUE, "indexing is \"xy\" or \"ij\", not \"%.40s\"", indexing);
    if (count > TENSOR_RANK_MAX)
        arg_error(c, c->fixed, ERR_VALUE, "a tensor has at most %d axes", TENSOR_RANK_MAX);
    Tuple *grids = tuple_new(&c->in->ctx, (uint32_t)count);
    op_root(c, v_tuple(grids));
    for (int i = 0; i < count; i++) {
        Tensor *v = arg_tensor(c, c->fixed + i);
        if (v->rank > 1)
            arg_error(c, c->fixed + i, ERR_SHAPE, "%s has %d axes; vectors are wanted",
                      arg_text(c, c->fixed + i), v->rank);
        grids->items[i] = op_result(c, v);
        shape[xy && i < 2 && count > 1 ? 1 - i : i] = v->size;
    }
    for (int i = 0; i < count; i++) {
        Tensor *v = arg_tensor(c, c->fixed + i);
        int64_t strides[TENSOR_RANK_MAX] = { 0 };
        strides[xy && i < 2 && count > 1 ? 1 - i : i] = v->rank == 1 ? tensor_strides(v)[0] : 0;
        Value grid = op_result(c, view(c, v, count, shape, strides, v->data));
        v_release(&c->in->ctx, grids->items[i]);
        grids->items[i] = grid;
    }
    return v_retain(v_tuple(grids));
}

Value op_run_nonzero(OpCall *c)
{
    Ctx *ctx = &c->in->ctx;
    Tensor *x = op_keep(c, tensor_compact(ctx, arg_tensor(c, 0)));
    if (x->rank == 0)
        arg_error(c, 0, ERR_SHAPE, "%s is a scalar and has no positions", arg_text(c, 0));
    int64_t found = compare_nonzero((DType)x->dtype, x->data, x->size, NULL), step = 1;
    Tensor *flat_of = fresh(c, DT_I64, 1, &found);
    int64_t *flat_positions = (int64_t *)flat_of->data;
    compare_nonzero((DType)x->dtype, x->data, x->size, flat_positions);
    Tuple *axes = tuple_new(ctx, x->rank);
    op_root(c, v_tuple(axes));
    if (x->rank == 1) {
        axes->items[0] = op_result(c, flat_of);
        return v_retain(v_tuple(axes));
    }
    for (int a = x->rank - 1; a >= 0; a--) {
        Tensor *v = fresh(c, DT_I64, 1, &found);
        for (int64_t i = 0; i < found && !*ctx->interrupt; i++)
            ((int64_t *)v->data)[i] = flat_positions[i] / step % tensor_shape(x)[a];
        step *= tensor_shape(x)[a] > 0 ? tensor_shape(x)[a] : 1;
        axes->items[a] = op_result(c, v);
    }
    return v_retain(v_tuple(axes));
}

bool search_right(OpCall *c, const Tensor *a)
{
    const char *side = arg_given(c, 2) ? arg_str(c, 2)->text : "left";
    bool right = strcmp(side, "right") == 0;
    if (!right && strcmp(side, "left") != 0)
        arg_error(c, 2, ERR_VALUE, "side is \"left\" or \"right\", not \"%.40s\"", side);
    if (a->rank != 1)
        arg_error(c, 0, ERR_SHAPE, "%s has %d axes; a sorted vector is wanted",
                  arg_text(c, 0), a->rank);
    return right;
}

Value op_run_searchsorted(OpCall *c)
{
    Ctx *ctx = &c->in->ctx;
    Tensor *a = arg_tensor(c, 0), *v = arg_tensor(c, 1);
    bool right = search_right(c, a);
    for (int i = 0; i < 2; i++)
        if (dtype_info((i ? v : a)->dtype)->kind == 'c')
            arg_error(c, i, ERR_DTYPE, "%s is complex, and complex numbers have no order",
                      arg_text(c, i));
    bool whole = dtype_info(a->dtype)->kind != 'f' && dtype_info(v->dtype)->kind != 'f';
    DType dt = whole ? DT_I64 : DT_F64;
    a = op_keep(c, tensor_compact(ctx, op_keep(c, tensor_cast(ctx, a, dt))));
    v = op_keep(c, tensor_compact(ctx, op_keep(c, tensor_cast(ctx, v, dt))));
    Tensor *out = fresh(c, DT_I64, v->rank, tensor_shape(v));
    if (whole)
        lookup_places_i64(ctx, (const int64_t *)a->data, a->size, right,
                          (const int64_t *)v->data, v->size, (int64_t *)out->data);
    else
        lookup_places_f64(ctx, (const double *)a->data, a->size, right,
                          (const double *)v->data, v->size, (int64_t *)out->data);
    poll_interrupt(c->in);
    return op_result(c, out);
}

Value op_run_bincount(OpCall *c)
{
    Ctx *ctx = &c->in->ctx;
    Tensor *x = arg_tensor(c, 0), *weights = NULL;
    int64_t length = arg_given(c, 2) ? count_of(c, 2, arg_int(c, 2)) : 0;
    if (x->size > 0 && dtype_info(x->dtype)->kind != 'i' && dtype_info(x->dtype)->kind != 'b')
        arg_error(c, 0, ERR_DTYPE, "%s is %s; ints are counted", arg_text(c, 0),
                  dtype_name(x->dtype));
    if (x->rank != 1)
        arg_error(c, 0, ERR_SHAPE, "%s has %d axes; a vector is wanted", arg_text(c, 0), x->rank);
    x = op_keep(c, tensor_compact(ctx, x->size > 0 ? op_keep(c, tensor_cast(ctx, x, DT_I64)) : x));
    if (arg_given(c, 1)) {
        weights = arg_tensor(c, 1);
        if (weights->rank != 1 || weights->size != x->size)
            arg_error(c, 1, ERR_SHAPE, "%lld weights for %lld elements", (long long)weights->size,
                      (long long)x->size);
        weights = op_keep(c, tensor_compact(ctx, op_keep(c, tensor_cast(ctx, weights, DT_F64))));
    }
    const int64_t *v = (const int64_t *)x->data;
    for (int64_t i = 0; i < x->size; i++) {
        if (v[i] < 0)
            arg_error(c, 0, ERR_VALUE, "element %lld of %s is %lld: only 0, 1, … are counted",
                      (long long)i, arg_text(c, 0), (long long)v[i]);
        if (v[i] >= length)
            length = v[i] < INT64_MAX ? v[i] + 1 : v[i];
    }
    Tensor *out = op_keep(c, tensor_zeros(ctx, weights ? DT_F64 : DT_I64, 1, &length));
    for (int64_t i = 0; i < x->size; i++)
        if (weights)
            ((double *)out->data)[v[i]] += ((const double *)weights->data)[i];
        else
            ((int64_t *)out->data)[v[i]]++;
    return op_result(c, out);
}
