/* The policy of `autocast` (autocast.h): which operand of which class of operations becomes
 * what, and the aspect that casts them. It computes nothing itself. */
#include "interp/precision/autocast.h"
#include "interp/precision/cast.h"

#include "core/base/error.h"
#include "interp/op/optable.h"

#include <stdlib.h>
#include <string.h>

bool autocast_casts(DType dt)
{
    int e, p;
    MiniStyle style;
    return dtype_info(dt)->kind == 'f' && dtype_mini_read(dt, &e, &p, &style);
}

DType autocast_dtype(AutocastClass class, DType f, DType x)
{
    DType to = class == AC_LOWER ? f : class == AC_RAISE ? DT_F32 : x;
    if (to == x || !autocast_casts(x))
        return x;
    bool held = dtype_promote(x, to) == to;
    return held == (class == AC_RAISE) ? to : x;
}

/* ---- casts that keep the layout ---- */

/* Elements from the first to the last that t touches; *low: of the first, from t's data on;
 * *moving: how many different ones it has at most. t is not empty. */
static int64_t span_of(const Tensor *t, int64_t *low, int64_t *moving)
{
    int64_t high = 0;
    *low = 0;
    *moving = t->size;
    for (int d = 0; d < t->rank; d++) {
        int64_t reach = (tensor_shape(t)[d] - 1) * tensor_strides(t)[d];
        *(reach < 0 ? low : &high) += reach;
        if (tensor_strides(t)[d] == 0)
            *moving /= tensor_shape(t)[d];
    }
    return high - *low + 1;
}

/* All memory between the first and the last element, and the same view of that. */
static Tensor *cast_span(Ctx *ctx, Tensor *t, DType dt, int64_t low, int64_t span)
{
    int64_t step = 1;
    char *first = t->data + low * dtype_info(t->dtype)->bytes;
    Tensor *flat = tensor_view(ctx, t, 1, &span, &step, first);
    Tensor *cast = tensor_cast(ctx, flat, dt);
    tensor_release(ctx, flat);
    Tensor *r = tensor_view(ctx, cast, t->rank, tensor_shape(t), tensor_strides(t),
                            cast->data - low * dtype_info(dt)->bytes);
    tensor_release(ctx, cast);
    return r;
}

/* Contiguous, its axes in t's order of falling steps; what is repeated stays so. */
static Tensor *cast_compact(Ctx *ctx, Tensor *t, DType dt)
{
    int64_t shape[TENSOR_RANK_MAX], step[TENSOR_RANK_MAX], lies[TENSOR_RANK_MAX];
    int order[TENSOR_RANK_MAX];
    for (int d = 0; d < t->rank; d++) {
        int at = d;
        int64_t far = llabs(tensor_strides(t)[d]);
        for (; at > 0 && llabs(tensor_strides(t)[order[at - 1]]) < far; at--)
            order[at] = order[at - 1];
        order[at] = d;
    }
    for (int d = 0; d < t->rank; d++) {
        step[d] = tensor_strides(t)[order[d]];
        shape[d] = step[d] ? tensor_shape(t)[order[d]] : 1;
    }
    Tensor *sorted = tensor_view(ctx, t, t->rank, shape, step, t->data);
    Tensor *cast = tensor_cast(ctx, sorted, dt);
    tensor_release(ctx, sorted);
    for (int d = 0; d < t->rank; d++)
        lies[order[d]] = step[d] ? tensor_strides(cast)[d] : 0;
    Tensor *r = tensor_view(ctx, cast, t->rank, tensor_shape(t), lies, cast->data);
    tensor_release(ctx, cast);
    return r;
}

Tensor *autocast_tensor(Interp *in, Tensor *t, DType dt)
{
    int64_t low, moving;
    if (t->size == 0 || tensor_contiguous(t))
        return tensor_cast(&in->ctx, t, dt);
    int64_t span = span_of(t, &low, &moving);
    Tensor *r = span <= 2 * moving ? cast_span(&in->ctx, t, dt, low, span)
                                   : cast_compact(&in->ctx, t, dt);
    r->flags = t->flags;
    return r;
}

/* ---- nodes ---- */
int autocast_node(Interp *in, Nest *n, AutocastClass class, int node)
{
    DType f = autocast_format(in), from = (DType)n->node[node].dtype;
    if (f == DT_NONE || dtype_foreign(f) || dtype_foreign(from))
        return node;
    return nest_cast(&in->ctx, n, node, autocast_dtype(class, f, from));
}

/* ---- the call ---- */

static DType operand_dtype(Value v)
{
    return v.tag == V_TENSOR ? (DType)v.tensor->dtype : v.tag == V_FLOAT ? DT_F64 : DT_NONE;
}

/* The operand in another dtype, where its class asks for it: a new reference. */
static bool cast_operand(Interp *in, const Op *op, DType f, Value v, Value *to)
{
    DType from = operand_dtype(v);
    DType dt = from == DT_NONE ? from : autocast_dtype(op->autocast, f, from);
    if (dt == from)
        return false;
    *to = v.tag == V_TENSOR ? v_tensor_raw(autocast_tensor(in, v.tensor, dt)) : op_cast(in, v, dt);
    return true;
}

/* A dtype= of the call's own wins. */
static bool own_dtype(Interp *in, const Op *op, const Value *args, int count)
{
    if (op->cls == OPC_EW)
        return false;
    int i = op_sig(in, op)->dtype;
    return i >= 0 && i < count && args[i].tag != V_UNDEF && args[i].tag != V_NONE;
}

/* The arguments with operands cast, `count` of them from in->sp on: rooted, one reference each. */
static Value *cast_operands(Interp *in, const Op *op, DType f, const Value *args, int count)
{
    stack_room(in, (size_t)count + 8);
    Value *to = in->sp;
    for (int i = 0; i < count; i++) {
        Value v = args[i];
        int same = v.tag == V_TENSOR ? 0 : i;
        while (same < i && (args[same].tag != V_TENSOR || args[same].tensor != v.tensor))
            same++;
        if (same < i)
            v_push(in, v_retain(to[same]));
        else if (cast_operand(in, op, f, args[i], &v))
            v_push(in, v);
        else
            v_push(in, v_retain(args[i]));
    }
    return to;
}

bool autocast_wants(const OpCall *c)
{
    return c->op && autocast_applies(c->in, c->op);
}

Value autocast_call(OpCall *c, const Aspect *rest)
{
    Interp *in = c->in;
    DType f = autocast_format(in);
    Scope *scope = in->scope;
    Value *mark = in->sp;
    OpCall inner = *c;
    if (!own_dtype(in, c->op, c->args, c->count)) {
        inner.args = cast_operands(in, c->op, f, c->args, c->count);
        inner.reuse = 0;
    }
    in->scope = NULL;                                       /* an error's guard puts it back */
    Value r = call_rest(&inner, rest);
    in->scope = scope;
    stack_cut(in, mark);
    return r;
}
