/* The policy of `autocast` (autocast.h): which operand of which class of operations becomes
 * what, and the aspect that casts them. It computes nothing itself. */
#include "interp/precision/autocast.h"
#include "interp/precision/cast.h"
#include "interp/precision/precise.h"

#include "core/base/error.h"
#include "interp/op/elementwise.h"
#include "interp/op/optable.h"
#include "kernels/sparse/sparse.h"

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
    if (f == DT_NONE || f == DT_I8 || to == x || !autocast_casts(x))
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
static Tensor *cast_span(Interp *in, Tensor *t, DType dt, int64_t low, int64_t span)
{
    int64_t step = 1;
    Value *mark = in->sp;
    char *first = t->data + low * dtype_info(t->dtype)->bytes;
    v_push(in, v_tensor_raw(tensor_view(&in->ctx, t, 1, &span, &step, first)));
    Tensor *cast = tensor_cast(&in->ctx, mark->tensor, dt);
    v_push(in, v_tensor_raw(cast));
    Tensor *r = tensor_view(&in->ctx, cast, t->rank, tensor_shape(t), tensor_strides(t),
                            cast->data - low * dtype_info(dt)->bytes);
    stack_cut(in, mark);
    return r;
}

/* Contiguous, its axes in t's order of falling steps; what is repeated stays so. */
static Tensor *cast_compact(Interp *in, Tensor *t, DType dt)
{
    Value *mark = in->sp;
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
    v_push(in, v_tensor_raw(tensor_view(&in->ctx, t, t->rank, shape, step, t->data)));
    Tensor *cast = tensor_cast(&in->ctx, mark->tensor, dt);
    v_push(in, v_tensor_raw(cast));
    for (int d = 0; d < t->rank; d++)
        lies[order[d]] = step[d] ? tensor_strides(cast)[d] : 0;
    Tensor *r = tensor_view(&in->ctx, cast, t->rank, tensor_shape(t), lies, cast->data);
    stack_cut(in, mark);
    return r;
}

Tensor *autocast_tensor(Interp *in, Tensor *t, DType dt)
{
    int64_t low, moving;
    const Sparse *entries = tensor_sparse(t);
    if (entries) {
        v_push(in, v_tensor_raw(tensor_cast(&in->ctx, entries->value, dt)));
        Tensor *r = sparse_like(&in->ctx, entries, in->sp[-1].tensor);
        stack_cut(in, in->sp - 1);
        return r;
    }
    if (t->size == 0 || tensor_contiguous(t))
        return tensor_cast(&in->ctx, t, dt);
    int64_t span = span_of(t, &low, &moving);
    Tensor *r = span <= 2 * moving ? cast_span(in, t, dt, low, span)
                                   : cast_compact(in, t, dt);
    r->flags = t->flags;
    return r;
}

/* ---- modifiers ---- */
bool autocast_tiny(DType dt)
{
    int e, p;
    MiniStyle style;
    return dtype_mini_read(dt, &e, &p, &style) && e + p <= 8;
}

/* Those of a sparse matrix. */
static Value round_entries(Interp *in, Scope *s, Value v, const Sparse *entries, DType dt)
{
    v_push(in, v);
    v_push(in, autocast_round(in, s, v_tensor_raw(tensor_retain(entries->value)), dt));
    Value r = v_tensor_raw(sparse_like(&in->ctx, entries, in->sp[-1].tensor));
    stack_cut(in, in->sp - 2);
    return r;
}

Value autocast_round(Interp *in, Scope *s, Value v, DType dt)
{
    bool told = s->counts && dtype_foreign(dt);
    const Sparse *entries = v.tag == V_TENSOR ? tensor_sparse(v.tensor) : NULL;
    if (entries)
        return round_entries(in, s, v, entries, dt);
    if (s->round == ROUND_NEAREST && !s->saturate && !s->flush && !told) {
        v_push(in, v);
        Value r = v.tag == V_TENSOR ? v_tensor_raw(autocast_tensor(in, v.tensor, dt))
                                    : op_cast(in, v, dt);
        stack_cut(in, in->sp - 1);
        return r;
    }
    Scope mode = scope_in(s, dt);
    v_push(in, v);
    if (v.tag == V_TENSOR)
        tensor_home(&in->ctx, v.tensor);
    in->sp--;
    v = precise_settle(in, &mode, op_named(in, "cast"), v);
    autocast_done(s, &mode);
    return v;
}

/* The dtype that tensors of binary floats vote for; DT_NONE: others are among them, or there are
 * none. */
static DType voted(const Value *args, int count)
{
    DTypeVote votes[16];
    int n = 0;
    for (int i = 0; i < count; i++) {
        DType dt = args[i].tag == V_TENSOR ? (DType)args[i].tensor->dtype : DT_BOOL;
        char kind = dtype_info(dt)->kind;
        if (kind == 'i' || kind == 'b')
            continue;
        if (!autocast_casts(dt) || n == 16)
            return DT_NONE;
        votes[n++] = (DTypeVote){ dt, args[i].tensor->rank == 0, false };
    }
    return n ? dtype_vote(votes, n) : DT_NONE;
}

bool autocast_inner(const Scope *s, AutocastClass class, const Value *args, int count,
                    Scope *inner)
{
    bool lower = class == AC_LOWER;
    DType dt = lower || s->reproducible ? voted(args, count) : DT_NONE;
    if (dt == DT_NONE || (lower && !autocast_asks(s) && !dtype_foreign(dt)))
        return false;
    *inner = lower ? scope_in(s, dt) : scope_of(dt);
    inner->reproducible = s->reproducible;
    return true;
}

void autocast_done(Scope *s, const Scope *inner)
{
    arith_flags_add(&s->flags, &inner->flags);
    s->partly |= inner->partly;
    s->draw = inner->draw > s->draw ? inner->draw : s->draw;
}

void autocast_count(Interp *in, Scope *s, const Value *args, int count, Value r)
{
    s->partly = true;
    precise_count_specials(in, s, args, count, r);
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

/* A number that says how much or how far (`scale=`) and is no operand. */
static bool is_setting(Interp *in, const Op *op, Value v, int i)
{
    const OpSig *sig = op_sig(in, op);
    return v.tag == V_FLOAT && op->cls != OPC_EW && i < sig->fixed && sig->params[i].fallback;
}

/* Operand i in another dtype, where its class asks for it: a new reference. */
static bool cast_operand(Interp *in, const Op *op, Scope *s, Value v, int i, Value *to)
{
    if (op->autocast == AC_LOWER && is_setting(in, op, v, i))
        return false;
    DType from = operand_dtype(v);
    DType dt = from == DT_NONE ? from : autocast_dtype(op->autocast, s->autocast, from);
    if (dt == from)
        return false;
    *to = autocast_round(in, s, v_retain(v), dt);
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
static Value *cast_operands(Interp *in, const Op *op, Scope *s, const Value *args, int count)
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
        else if (cast_operand(in, op, s, args[i], i, &v))
            v_push(in, v);
        else
            v_push(in, v_retain(args[i]));
    }
    return to;
}

/* Products of tiny formats give f32 where a backward pass has a format of its own: their
 * cotangents do not go through this one. The operands lie on the stack. */
static void widen_tiny(Interp *in, const Scope *s, Value *args, int count)
{
    if (s->backward == DT_NONE)
        return;
    for (int i = 0; i < count; i++)
        if (operand_dtype(args[i]) != DT_NONE && autocast_casts(operand_dtype(args[i])) &&
            !autocast_tiny(operand_dtype(args[i])))
            return;
    for (int i = 0; i < count; i++) {
        Value v = args[i];
        if (v.tag != V_TENSOR || !autocast_tiny((DType)v.tensor->dtype))
            continue;
        args[i] = v_tensor_raw(autocast_tensor(in, v.tensor, DT_F32));
        v_release(&in->ctx, v);
    }
}

/* ---- i8 ---- */
bool autocast_eight(const Interp *in, const Op *op, const Value *args, int count)
{
    int factors = 0;
    if (autocast_format(in) != DT_I8 || in->rules || !op->eight)
        return false;
    for (int i = 0; i < count; i++)
        factors += args[i].tag == V_TENSOR && args[i].tensor->rank > 0;
    return factors > 1 && voted(args, count) != DT_NONE;
}

/* Floats that are none of the hardware's are f32, or f64 where that is too narrow. */
static void eight_operands(Interp *in, Value *args, int count)
{
    for (int i = 0; i < count; i++) {
        DType dt = operand_dtype(args[i]);
        if (args[i].tag != V_TENSOR || !autocast_casts(dt) || dt == DT_F64)
            continue;
        DType to = dtype_promote(dt, DT_F32) == DT_F32 ? DT_F32 : DT_F64;
        Value old = args[i];
        args[i] = v_tensor_raw(tensor_cast(&in->ctx, old.tensor, to));
        v_release(&in->ctx, old);
    }
}

bool autocast_wants(const OpCall *c)
{
    return c->op && autocast_applies(c->in, c->op);
}

Value autocast_call(OpCall *c, const Aspect *rest)
{
    Interp *in = c->in;
    AutocastClass class = c->op->autocast;
    Scope *scope = in->scope, inner;
    Value *mark = in->sp;
    OpCall call = *c;
    bool sums = class == AC_LOWER || c->op->cls != OPC_EW, apart = false;
    call.eight = autocast_eight(in, c->op, c->args, c->count);
    in->scope = NULL;                                       /* an error's guard puts it back */
    if (!own_dtype(in, c->op, c->args, c->count)) {
        Value *args = cast_operands(in, c->op, scope, c->args, c->count);
        if (class == AC_LOWER)
            widen_tiny(in, scope, args, c->count);
        if (call.eight)
            eight_operands(in, args, c->count);
        apart = sums && !call.eight && autocast_inner(scope, class, args, c->count, &inner);
        call.args = args;
        call.reuse = 0;
    }
    if (apart)
        scope_enter(in, &inner);
    Value r = call_rest(&call, rest);
    if (apart)
        autocast_done(scope, &inner);
    else if (scope->counts && class == AC_LOWER)
        autocast_count(in, scope, c->args, c->count, r);
    in->scope = scope;
    stack_cut(in, mark);
    return r;
}
