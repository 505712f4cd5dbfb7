/* Arguments and results of any structure: numbers, tensors, tuples of them, tuples of those. */
#include "interp/gradient/gradient.h"

#include "core/base/error.h"

/* A leaf that has a derivative; `whole`: ints count as well. */
static bool is_leaf(Value v, bool whole)
{
    v = v_plain(v);
    if (v.tag == V_RANGE)
        return whole;
    if (!v_is_numeric(v))
        return false;
    return differentiable(v_dtype(v)) || (whole && dtype_info(v_dtype(v))->kind == 'i');
}

static Value as_float(Interp *in, Value v)
{
    Value plain = v_plain(v);
    if (plain.tag != V_RANGE && differentiable(v_dtype(plain)))
        return v_retain(v);
    const Scope *s = precise_scope(in);
    Value args[2] = { v, v_format(s ? s->format : DT_F64) };
    return call_row_of(in, "cast", args, 2);
}

static Value trace_leaf(Interp *in, Tape *t, Value x, const Value *tangent)
{
    Value v = as_float(in, x);
    v_push(in, v);
    uint32_t node = t->mode == TAPE_REVERSE ? tape_entry(in, t, ENTRY_LEAF, v) : 0;
    in->sp--;
    Traced *leaf = traced_new(in, t, v, node);
    if (tangent && tangent->tag != V_NONE)
        leaf->tangent = v_retain(*tangent);
    return v_traced(leaf);
}

Value trace_in(Interp *in, Tape *t, Value x, const Value *tangent, bool whole)
{
    if (is_leaf(x, whole))
        return trace_leaf(in, t, x, tangent);
    if (x.tag != V_TUPLE)
        return v_retain(x);
    stack_check(in);
    Tuple *from = x.tuple, *to = tuple_new(&in->ctx, from->count);
    v_push(in, v_tuple(to));
    for (uint32_t i = 0; i < from->count; i++) {
        const Value *part = tangent && tangent->tag == V_TUPLE && i < tangent->tuple->count
                            ? &tangent->tuple->items[i] : NULL;
        to->items[i] = trace_in(in, t, from->items[i], part, false);
        if (from->names && from->names[i])
            tuple_name(&in->ctx, to, i, from->names[i]);
    }
    in->sp--;
    return v_tuple(to);
}

Value trace_map(Interp *in, Value x, bool whole, LeafFn leaf, void *data)
{
    if (is_leaf(x, whole))
        return leaf(in, x, data);
    if (x.tag != V_TUPLE)
        return v_none();
    stack_check(in);
    Tuple *from = x.tuple, *to = tuple_new(&in->ctx, from->count);
    v_push(in, v_tuple(to));
    for (uint32_t i = 0; i < from->count; i++) {
        to->items[i] = trace_map(in, from->items[i], false, leaf, data);
        if (from->names && from->names[i])
            tuple_name(&in->ctx, to, i, from->names[i]);
    }
    in->sp--;
    return v_tuple(to);
}

int64_t trace_leaves(Value x, bool whole)
{
    if (is_leaf(x, whole))
        return 1;
    int64_t n = 0;
    for (uint32_t i = 0; x.tag == V_TUPLE && i < x.tuple->count; i++)
        n += trace_leaves(x.tuple->items[i], false);
    return n;
}

typedef struct Out {
    const Tape *t;
    const Tuple *cotangents;
    uint32_t node;
} Out;

static Value leaf_out(Interp *in, Value x, void *data)
{
    Out *o = data;
    (void)x;
    return cotangent_of(in, o->t, o->cotangents, o->node++);
}

Value trace_out(Interp *in, const Tape *t, const Tuple *cotangents, Value x, uint32_t *node)
{
    Out o = { t, cotangents, *node };
    Value r = trace_map(in, x, true, leaf_out, &o);
    *node = o.node;
    return r;
}
