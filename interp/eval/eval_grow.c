/* What grows where it stands: s += t, t = append(t, v), s = s + u + v, s = "{s}, {v}". Each value
 * is there before anything changes, so that an error in one leaves the variable as it was. */
#include "interp/eval/eval_assign.h"
#include "interp/device/place.h"
#include "interp/eval/eval_binary.h"
#include "interp/eval/eval_index.h"
#include "interp/eval/eval_make.h"
#include "interp/eval/eval_name.h"
#include "interp/eval/eval_scope.h"
#include "interp/op/heard.h"
#include "interp/op/op.h"
#include "interp/state/frames.h"

#include "kernels/cast/tensor_cast.h"

/* ---- s += t, t += (x,) ---- */
static bool append_items(Interp *in, Value *slot, Value v)
{
    if (slot->tag != V_TUPLE || v.tag != V_TUPLE || v.tuple->named || slot->tuple == v.tuple)
        return false;
    tuple_extend(&in->ctx, &slot->tuple, v.tuple);
    return true;
}

static bool append_text(Interp *in, Value *slot, Value v)
{
    if (slot->tag != V_STRING || v.tag != V_STRING)
        return false;
    if (slot->str == v.str) {
        Str *s = v.str;              /* s += s: keep what is read apart from what grows */
        s->refs++;
        v_push(in, v);
        str_append(&in->ctx, &slot->str, s->text, s->len);
        stack_drop(in, in->sp - 1);
    } else {
        str_append(&in->ctx, &slot->str, v.str->text, v.str->len);
    }
    return true;
}

bool value_grows(Interp *in, Value *slot, Value v)
{
    return append_text(in, slot, v) || append_items(in, slot, v);
}

/* ---- the place ---- */
/* A place whose containers are tuples, which are unshared on the way; NULL: it is another, or not
 * there. */
static Value *place_find(Interp *in, const Exec *t)
{
    if (t->op == TG_SLOT)
        return &in->fp[t->sa];
    stack_check(in);
    Value *base = place_find(in, t->a), *mark = in->sp;
    if (!base || base->tag != V_TUPLE)
        return NULL;
    if (t->op == TG_FIELD)
        return field_slot(in, base, t->node->name);
    Sub subs[SUBS_MAX];
    int n = subs_eval(in, t, subs);
    Value *found = index_slot(in, base, subs, n);
    stack_drop(in, mark);
    return found;
}

static Value *grown_slot(Interp *in, const Exec *x)
{
    return x->data ? place_find(in, x->data) : &in->fp[x->sa];
}

/* ---- t = append(t, value) ---- */
/* Vectors grow in place where nothing asks to be told of operations. */
static bool vector_grows(const Interp *in, Value v)
{
    return v.tag == V_TENSOR && v.tensor->rank == 1 && !in->scope && !in->solved &&
           !place_wants(in) && !heard_on(in);
}

/* The dtype of a scalar that leaves the vector's dtype as it is, or DT_NONE: its own, an int or a
 * literal in floats, a float in complex numbers of its width. */
static DType taken_dtype(DType into, Value v, bool weak)
{
    DType dt = v_dtype(v);
    const DTypeInfo *to = dtype_info(into);
    bool floating = to->kind == 'f' || to->kind == 'c';
    bool fits = dt == into || (floating && (v.tag == V_INT || (v.tag == V_FLOAT && weak))) ||
                (v.tag == V_FLOAT && into == DT_C128);
    bool away = v.tag == V_TENSOR && (v.tensor->rank > 0 || v.tensor->buffer->device);
    return fits && !away && !dtype_cells(into) ? dt : DT_NONE;
}

static bool vector_push(Interp *in, Value *slot, Value v, bool weak)
{
    DType to = (DType)slot->tensor->dtype, from = taken_dtype(to, v, weak);
    if (from == DT_NONE)
        return false;
    uint8_t truth_value = v.i != 0;
    const void *source = v.tag == V_TENSOR ? v.tensor->data : v.tag == V_BOOL
                       ? (const void *)&truth_value : (const void *)&v.i;
    _Alignas(16) char element[32];
    if (from == to)
        return tensor_push(&in->ctx, &slot->tensor, source);
    cast_run(to, element, 1, from, source, 1, 1);
    return tensor_push(&in->ctx, &slot->tensor, element);
}

static bool grows(const Interp *in, const Value *slot)
{
    return slot && (slot->tag == V_TUPLE ? *slot->refs == 1 : vector_grows(in, *slot));
}

/* The right operand has been evaluated when the slot is looked at again: C may have set it. */
Value eval_append(Interp *in, const Exec *x)
{
    bool builtin = x->a->eval == eval_global &&
                   ((const GlobalRef *)x->a->data)->slot->tag == V_UNDEF;
    if (!builtin || !grows(in, grown_slot(in, x)))
        return exec_run(in, x->c);
    Value *mark = in->sp, v = exec_run(in, x->b);
    v_push(in, v);
    in->at = x;
    Value *slot = grown_slot(in, x);
    bool weak = exec_weak(x->b);
    if (!slot || (slot->tag != V_TUPLE && slot->tag != V_TENSOR)) {
        exec_run(in, x->c);
    } else if (slot->tag == V_TUPLE) {
        tuple_push(&in->ctx, &slot->tuple, NULL, v_retain(v));    /* copies if value shares it */
    } else if (!vector_push(in, slot, v, weak)) {
        in->at = x->c->a;
        Value r = op_apply(in, x->k.op, (Value[]){ *slot, v }, 2, weak ? 2 : 0, NULL, NULL, 0);
        slot_put(in, slot, r);
    }
    stack_drop(in, mark);
    return v_none();
}

/* ---- s = s + u + v, s = "{s}, {v}" ---- */
/* slot = slot + text, where the place may have gone meanwhile: then the plain form says so. */
static void put_text(Interp *in, const Exec *x, Value text)
{
    Value *slot = grown_slot(in, x);
    in->at = x;
    if (!slot || !append_text(in, slot, text))
        exec_run(in, x->c);
}

/* The error of a string and v, which is none; what stands before it was evaluated once. */
static void raise_sum(Interp *in, const Exec *sum, Value text, Value v)
{
    in->at = sum;
    v_push(in, binary_values(in, sum, text, v, (unsigned)exec_weak(sum->b) << 1));
}

Value eval_grow_sum(Interp *in, const Exec *x)
{
    const Value *slot = grown_slot(in, x);
    if (!slot || slot->tag != V_STRING)
        return exec_run(in, x->c);
    Value *text = in->sp;
    v_push(in, v_str(str_new(&in->ctx, "", 0)));
    for (uint32_t i = 0; i < x->count; i++) {
        v_push(in, exec_run(in, x->list[i]->b));
        if (text[1].tag != V_STRING)
            raise_sum(in, x->list[i], *text, text[1]);
        str_append(&in->ctx, &text->str, text[1].str->text, text[1].str->len);
        stack_drop(in, text + 1);
    }
    put_text(in, x, *text);
    stack_drop(in, text);
    return v_none();
}

Value eval_grow_text(Interp *in, const Exec *x)
{
    const Value *slot = grown_slot(in, x);
    if (!slot || slot->tag != V_STRING)
        return exec_run(in, x->c);
    Value *mark = in->sp;
    v_push(in, text_pieces(in, x->a, 1));
    put_text(in, x, *mark);
    stack_drop(in, mark);
    return v_none();
}
