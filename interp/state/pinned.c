/* Variables whose memory C may write to at any time (pin): whatever would share their elements
 * copies them, what is assigned to them goes into that memory. What C keeps is interp/native's. */
#include "interp/state/pinned.h"

#include "interp/state/exec.h"
#include "interp/state/kind.h"

#include <string.h>

bool value_is_pinned(Value v)
{
    if (v.tag == V_TENSOR)
        return v.tensor->buffer->pinned != NULL;
    return v.tag == V_STRUCT && ((const Native *)v.ptr)->pinned;
}

/* ---- values that leave ---- */
static bool holds_pinned(const Interp *in, Value v, int depth)
{
    if (value_is_pinned(v))
        return true;
    if (v.tag != V_TUPLE || depth > 8)
        return false;
    for (uint32_t i = 0; i < v.tuple->count; i++)
        if (holds_pinned(in, v.tuple->items[i], depth + 1))
            return true;
    return false;
}

Value value_detached(Interp *in, Value v)
{
    if (v.tag == V_TUPLE && holds_pinned(in, v, 0)) {
        Value copy = v_retain(v);
        v_push(in, copy);
        tuple_unshare(&in->ctx, &in->sp[-1].tuple);
        Tuple *t = in->sp[-1].tuple;
        for (uint32_t i = 0; i < t->count; i++) {
            Value item = value_detached(in, t->items[i]), old = t->items[i];
            t->items[i] = item;
            v_release(&in->ctx, old);
        }
        return *--in->sp;
    }
    if (!value_is_pinned(v))
        return v_retain(v);
    if (v.tag == V_TENSOR)
        return v_tensor_raw(tensor_copy(&in->ctx, v.tensor));
    return v_kind(v)->copy(in, v);
}

/* x of `x = v`, `x += v` and `x[i] = v`, as the running statement has it; NULL: it is not so
 * plain. */
static const char *assigned_name(const Interp *in)
{
    const Node *n = in->at ? in->at->node : NULL;
    while (n && (n->kind == ND_ASSIGN || n->kind == ND_OPASSIGN || n->kind == ND_INDEX))
        n = n->a;
    return n && n->kind == ND_NAME ? n->name->text : NULL;
}

void pinned_raise(Interp *in, Value v, const char *why)
{
    char what[96];
    const char *name = assigned_name(in), *x = name ? name : "x";
    Error *e = err_new(&in->ctx, ERR_FFI, "%s is pinned as %s for C: %s",
                       name ? name : "the variable", v_describe_a(v, what, sizeof what), why);
    if (v.tag == V_TENSOR)
        err_help(e, "it takes %s of its shape, as %s(…) gives; for anything else unpin(%s) first",
                 dtype_name(v.tensor->dtype), dtype_name(v.tensor->dtype), x);
    else
        err_help(e, "unpin(%s) first", x);
    err_throw(e);
}

static void assign_tensor(Interp *in, Value *slot, Value v)
{
    Tensor *t = slot->tensor;
    bool fits = v.tag == V_TENSOR && v.tensor->rank == t->rank &&
                memcmp(tensor_shape(v.tensor), tensor_shape(t), t->rank * sizeof(int64_t)) == 0;
    if (!fits)
        pinned_raise(in, *slot,
                            v.tag == V_TENSOR ? "its shape cannot change" : "it stays a tensor");
    if (v.tensor->dtype != t->dtype)
        pinned_raise(in, *slot, "its dtype cannot change");
    tensor_assign(&in->ctx, t, v.tensor);
}

bool pinned_assign(Interp *in, const Exec *at, Value *slot, Value v)
{
    if (!value_is_pinned(*slot))
        return false;
    in->at = at;
    v_push(in, v);
    if (slot->tag == V_TENSOR)
        assign_tensor(in, slot, v);
    else
        v_kind(*slot)->assign(in, slot, v);
    stack_cut(in, in->sp - 1);
    return true;
}
