/* base[subs] = v for tensors: promotion by kind, rounding to the tensor's own dtype, copy on
 * write, and the order that keeps the old value whole when anything is wrong: convert, select and
 * check first, write last. */
#include "core/system/c_locale.h"
#include "interp/state/pinned.h"
#include "interp/index/index_sparse.h"
#include "interp/precision/cast.h"
#include "interp/state/scope.h"
#include "interp/state/kind.h"
#include "interp/op/exact.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static int kind_order(DType dt)
{
    return (int)(strchr("biqfc", dtype_info(dt)->kind) - "biqfc");
}

DType store_dtype(DType to, DType from)
{
    if (kind_order(from) <= kind_order(to))
        return to;
    return dtype_info(to)->kind == 'f' ? dtype_complex(to) : from;
}

static _Noreturn void raise_unstorable(Interp *in, Value target, Value v, int operand)
{
    char what[80], where[80];
    Error *e = err_new(&in->ctx, ERR_TYPE, "%s cannot be stored in %s, which is %s",
                       v_describe_a(v, what, sizeof what), err_operand_text(&in->ctx, 0),
                       v_describe_a(target, where, sizeof where));
    err_underline(e, operand);
    err_throw(e);
}

static _Noreturn void raise_misfit(Interp *in, DType dt, Value v, int operand)
{
    char limits[48];
    int64_t i = 0;
    v_as_int(v, &i);
    Error *e = err_new(&in->ctx, ERR_VALUE,
                       "%" PRId64 " does not fit in %s, whose dtype is %s (%s)", i,
                       err_operand_text(&in->ctx, 0), dtype_name(dt), dtype_range(dt, limits));
    err_underline(e, operand);
    err_throw(e);
}

bool stored_is_number(Value v)
{
    return v.tag == V_INT || v.tag == V_FLOAT || v.tag == V_BOOL ||
           (v.tag == V_TENSOR && v.tensor->rank == 0);
}

void stored_make(Interp *in, Stored *s, DType dt, Value v, int operand)
{
    s->tensor = NULL;
    if (stored_is_number(v)) {
        if (dt == DT_RATIONAL)
            exact_store(&in->ctx, (Rational *)(void *)s->cell, v);
        else if (!v_store(&in->ctx, dt, s->cell, v))
            raise_misfit(in, dt, v, operand);
        return;
    }
    s->tensor = tensor_cast(&in->ctx, v.tensor, dt);
    v_push(in, v_tensor_raw(s->tensor));
}

Value stored_value(Interp *in, Value target, Value v, int n)
{
    if (stored_is_number(v))
        return v;
    if (v.tag != V_TENSOR && v.tag != V_RANGE && v.tag != V_TUPLE)
        raise_unstorable(in, target, v, n + 1);
    Tensor *t = v_sparse(v) ? sparse_to_dense(&in->ctx, v_sparse(v)) : v_to_tensor(in, v, n + 1);
    v_push(in, v_tensor_raw(t));
    return in->sp[-1];
}

/* Gives v a buffer of its own where it is a view of the target and the smaller part, so
 * that the target need not be copied: A[i, :] = A[j, :]. Nobody can see the difference. */
static void detach(Interp *in, const Tensor *target, Value v)
{
    Tensor *t = v.tensor;
    if (v.tag != V_TENSOR || t == target || t->buffer != target->buffer || target->refs != 1 ||
        t->buffer->refs != 2 || t->size >= target->size)
        return;
    Tensor *copy = tensor_copy(&in->ctx, t);
    Buffer *shared = t->buffer;
    memcpy(tensor_strides(t), tensor_strides(copy), t->rank * sizeof(int64_t));
    t->buffer = copy->buffer;
    t->data = copy->data;
    copy->buffer = shared;
    copy->data = shared->data;
    tensor_release(&in->ctx, copy);
}

/* Axes of length 1 in front are dropped, as NumPy does. */
void store_check_shape(Interp *in, const Selection *sel, const Tensor *value, int n)
{
    bool fits = true;
    for (int i = 1; fits && i <= value->rank; i++) {
        int64_t len = value->dims[value->rank - i];
        fits = len == 1 || (i <= sel->rank && len == sel->shape[sel->rank - i]);
    }
    if (fits)
        return;
    char have[128], want[128];
    Error *e = err_new(&in->ctx, ERR_SHAPE, "the value %s but the selected part of %s %s",
                       shape_fact(have, sizeof have, value->rank, tensor_shape(value)),
                       err_operand_text(&in->ctx, 0),
                       shape_fact(want, sizeof want, sel->rank, sel->shape));
    err_underline(e, n + 1);
    err_throw(e);
}

enum { SHORT = 256 };     /* elements up to which a plain loop beats setting up tensor_assign */

/* The target's buffer has no other owner, so what is stored does not overlap it. */
static void write_view(Interp *in, Tensor *target, const Selection *sel, const Stored *s)
{
    Ctx *ctx = &in->ctx;
    size_t bytes = dtype_info(target->dtype)->bytes;
    char *data = target->data + sel->offset * (int64_t)bytes;
    if (sel->size == 0)
        return;
    if (sel->size == 1) {
        memcpy(data, s->tensor ? s->tensor->data : s->cell, bytes);
        return;
    }
    bool one = !s->tensor || s->tensor->size == 1;
    if (sel->rank == 1 && sel->size <= SHORT && (one || s->tensor->rank == 1)) {
        int64_t step = one ? 0 : tensor_strides(s->tensor)[0];
        strided_copy(data, sel->strides[0], s->tensor ? s->tensor->data : s->cell, step,
                     sel->size, bytes);
        return;
    }
    Tensor *view = tensor_view(ctx, target, sel->rank, sel->shape, sel->strides, data);
    v_push(in, v_tensor_raw(view));
    Tensor *value = s->tensor ? tensor_retain(s->tensor)
                              : tensor_scalar(ctx, (DType)target->dtype, s->cell);
    v_push(in, v_tensor_raw(value));
    tensor_assign(ctx, view, value);
    stack_cut(in, in->sp - 2);
}

Tensor *store_spread(Interp *in, const Selection *sel, Tensor *value)
{
    Ctx *ctx = &in->ctx;
    int extra = value->rank > sel->rank ? value->rank - sel->rank : 0;
    if (extra)
        value = tensor_view(ctx, value, sel->rank, tensor_shape(value) + extra,
                            tensor_strides(value) + extra, value->data);
    else
        tensor_retain(value);
    v_push(in, v_tensor_raw(value));
    value = tensor_broadcast(ctx, value, sel->rank, sel->shape);
    v_push(in, v_tensor_raw(value));
    value = tensor_compact(ctx, value);
    v_push(in, v_tensor_raw(value));
    return value;
}

static void write_points(Interp *in, Tensor *target, const Selection *sel, const Stored *s)
{
    if (sel->size == 0)
        return;
    if (!s->tensor || s->tensor->size == 1) {
        selection_scatter(in, sel, target, s->tensor ? s->tensor->data : s->cell, true);
        return;
    }
    Value *mark = in->sp;
    selection_scatter(in, sel, target, store_spread(in, sel, s->tensor)->data, false);
    stack_cut(in, mark);
}

static void store_selection(Interp *in, Tensor *target, const Sub *subs, int n, const Stored *s)
{
    Selection sel;
    selection_make(in, &sel, target, subs, n);
    if (s->tensor)
        store_check_shape(in, &sel, s->tensor, n);
    if (sel.fancy)
        write_points(in, target, &sel, s);
    else
        write_view(in, target, &sel, s);
}

/* A number stored where all subscripts are ints. */
static bool write_element(Tensor *target, const Sub *subs, int n, const Stored *s)
{
    int64_t at[TENSOR_RANK_MAX], offset;
    if (s->tensor || n != target->rank || n == 0)
        return false;
    for (int i = 0; i < n; i++) {
        if (subs[i].kind != SUB_VALUE || subs[i].v.tag != V_INT)
            return false;
        at[i] = subs[i].v.i;
    }
    if (!index_offset(target, at, n, &offset))
        return false;
    size_t bytes = dtype_info(target->dtype)->bytes;
    memcpy(target->data + offset * (int64_t)bytes, s->cell, bytes);
    return true;
}

/* The target in another dtype, or a number as a target of rank 0: a new tensor, which
 * takes the variable's place when all has gone well. */
static void store_promoted(Interp *in, Value *slot, DType dt, const Sub *subs, int n,
                           const Stored *s)
{
    if (value_is_pinned(*slot))
        pinned_raise(in, *slot, "its dtype cannot change");
    Tensor *old = v_to_tensor(in, *slot, 0);
    v_push(in, v_tensor_raw(old));
    Tensor *target = old->dtype == dt ? tensor_copy(&in->ctx, old) : tensor_cast(&in->ctx, old, dt);
    v_push(in, v_tensor_raw(target));
    store_selection(in, target, subs, n, s);
    Value before = *slot;
    *slot = v_tensor(&in->ctx, tensor_retain(target));
    v_release(&in->ctx, before);
}

/* The literal that stands as operand i, read in the target's dtype; else v. What it makes is
 * pushed. */
static Value written_value(Interp *in, DType dt, Value v, int i)
{
    _Alignas(16) char element[16] = { 0 };
    const char *text = err_operand_text(&in->ctx, i);
    char *end;
    dt = dtype_real(dt);
    bool found = dt == DT_RATIONAL ? exact_written(in, i, v.f, (Rational *)(void *)element)
                                   : dtype_info(dt)->kind == 'f' && c_strtod(text,
                                       &end) == v.f && *end == '\0' &&
                                         literal_store(in, dt, element, text, strlen(text));
    if (!found)
        return v;
    v_push(in, v_tensor_raw(tensor_scalar(&in->ctx, dt, element)));
    return in->sp[-1];
}

void store_elements(Interp *in, Value *slot, const Selection *sel, Tensor *values)
{
    Ctx *ctx = &in->ctx;
    if (v_sparse(*slot)) {
        store_sparse_elements(in, slot, sel, values);
        return;
    }
    if (values->dtype != slot->tensor->dtype) {
        if (value_is_pinned(*slot))
            pinned_raise(in, *slot, "its dtype cannot change");
        Tensor *wider = tensor_cast(ctx, slot->tensor, (DType)values->dtype);
        tensor_release(ctx, slot->tensor);
        slot->tensor = wider;
    }
    selection_scatter(in, sel, slot->tensor, values->data, false);
}

enum { STORE_UNSHARED, STORE_OVER };

static void store(Interp *in, Value *slot, const Sub *subs, int n, Value v, int how)
{
    Value *mark = in->sp;
    v = stored_value(in, *slot, v, n);
    DType own = v_dtype(*slot);
    if (v.tag == V_FLOAT && dtype_base(own) >= DT_RATIONAL)
        v = written_value(in, own, v, n + 1);
    DType dt = store_dtype(own, v_dtype(v));
    Stored s;
    if (slot->tag == V_TENSOR && dt == own) {
        detach(in, slot->tensor, v);
        stored_make(in, &s, dt, v, n + 1);
        if (how == STORE_UNSHARED)
            tensor_unshare(&in->ctx, &slot->tensor);
        if (!write_element(slot->tensor, subs, n, &s))
            store_selection(in, slot->tensor, subs, n, &s);
    } else {
        stored_make(in, &s, dt, v, n + 1);
        store_promoted(in, slot, dt, subs, n, &s);
    }
    stack_cut(in, mark);
}

void tensor_store_over(Interp *in, Value *slot, const Sub *subs, int n, Value v)
{
    store(in, slot, subs, n, v, STORE_OVER);
}

void tensor_store(Interp *in, Value *slot, const Sub *subs, int n, Value v)
{
    if (v_sparse(*slot)) {
        store_to_sparse(in, slot, subs, n, v);
        return;
    }
    if (__builtin_expect(in->ctx.remote, 0) && index_store_placed(in, slot, subs, n, v))
        return;
    store(in, slot, subs, n, v, STORE_UNSHARED);
}
