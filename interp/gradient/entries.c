/* Derivatives of sparse matrices: what belongs to one, its cotangent and its tangent, has its
 * entries. This is where that holds: whatever a rule gives is taken at the entries of the matrix,
 * and where an elementwise row kept entries, its slopes are computed of them alone. */
#include "interp/gradient/gradient.h"
#include "interp/index/index.h"
#include "interp/sparse/sparse_door.h"

/* All entries are `value`. */
static Value filled(Interp *in, const Tensor *pattern, DType dt, const int64_t *shape, int value)
{
    Ctx *ctx = &in->ctx;
    Value *mark = in->sp;
    int64_t count = pattern->size - shape[0] - 1;
    v_push(in, call_row_of(in, "cast", (Value[]){ v_int(value), v_format(dt) }, 2));
    Tensor *number = v_to_tensor(in, *mark, 0);
    v_push(in, v_tensor_raw(number));
    v_push(in, v_tensor_raw(tensor_broadcast(ctx, number, 1, &count)));
    Tensor *values = tensor_compact(ctx, in->sp[-1].tensor);
    v_push(in, v_tensor_raw(values));
    tensor_home(ctx, values);
    Tensor *r = sparse_new(ctx, shape[0], shape[1], tensor_retain((Tensor *)pattern),
                           tensor_retain(values));
    stack_cut(in, mark);
    return v_tensor_raw(r);
}

Value entries_like(Interp *in, const Tape *t, const Entry *e, int value)
{
    return filled(in, e->pattern, e->dtype, t->shape + e->shape, value);
}

Value entries_ones(Interp *in, Value v)
{
    const Sparse *s = v_sparse(v);
    return filled(in, s->pattern, (DType)s->value->dtype, tensor_shape(s->head), 1);
}

/* Has v these entries already? */
static bool has_entries(Value v, const Tensor *pattern)
{
    const Sparse *s = v_sparse(v_plain(v));
    return s && s->pattern == pattern;
}

Value entries_taken(Interp *in, Value of, Value g)
{
    Value *mark = in->sp;
    v_push(in, g);
    if (has_entries(g, v_sparse(of)->pattern))
        return *--in->sp;
    Value r = call_row_of(in, "sampled", (Value[]){ of, g }, 2);
    stack_cut(in, mark);
    return r;
}

Value entries_conform(Interp *in, const Tape *t, const Entry *e, Value g)
{
    if (has_entries(g, e->pattern))
        return g;
    Value *mark = in->sp;
    v_push(in, g);
    v_push(in, entries_like(in, t, e, 0));
    Value r = call_row_of(in, "sampled", (Value[]){ mark[1], g }, 2);
    stack_cut(in, mark);
    return r;
}

/* The values of a sparse matrix, traced or not; owned. */
static Value values_of(Interp *in, Value v)
{
    if (v_sparse(v))
        return v_retain(sparse_values(v_sparse(v)));
    Value all = call_row_of(in, "entries", &v, 1);
    v_push(in, all);
    Value r = v_retain(all.tuple->items[2]);
    stack_cut(in, in->sp - 1);
    return r;
}

/* v at the entries of `like`, one for each; what is one number stays it. Owned. */
static Value at_entries(Interp *in, Value like, Value v)
{
    Value plain = v_plain(v);
    if (plain.tag != V_TENSOR || plain.tensor->rank == 0)
        return v_retain(v);
    v_push(in, entries_taken(in, like, v_retain(v)));
    Value r = values_of(in, in->sp[-1]);
    stack_cut(in, in->sp - 1);
    return r;
}

Value entries_push(Interp *in, const Tape *t, const Entry *e, Value *args, int n)
{
    v_push(in, entries_like(in, t, e, 0));
    const Value like = in->sp[-1];
    for (int i = 0; i < n; i++) {
        v_push(in, at_entries(in, like, args[i]));
        args[i] = in->sp[-1];
    }
    return like;
}

Value entries_from(Interp *in, Value like, Value values)
{
    v_push(in, values);
    Value r = call_row_of(in, "with_values", (Value[]){ like, values }, 2);
    stack_cut(in, in->sp - 1);
    return r;
}

/* Each entry numbered from 1: what is picked of the numbers says where w came from. */
void entries_index_back(Interp *in, const Tape *t, const Entry *e, const Sub *subs, int n, Value w,
                        Value *slot)
{
    Value *mark = in->sp;
    if (slot->tag == V_UNDEF)
        *slot = entries_like(in, t, e, 0);
    const int64_t count = v_sparse(v_plain(*slot)) ? v_sparse(v_plain(*slot))->value->size : 0;
    v_push(in, call_row_of(in, "arange", (Value[]){ v_int(1), v_int(count + 1) }, 2));
    v_push(in, call_row_of(in, "cast", (Value[]){ mark[0], v_format(DT_F64) }, 2));
    v_push(in, entries_like(in, t, e, 0));
    v_push(in, entries_from(in, mark[2], v_retain(mark[1])));
    v_push(in, index_get(in, mark[3], subs, n));
    Value args[3] = { *slot, mark[4], w };
    Value g = call_rule(in, gradient_function(in, "picked_back"), args, 3), old = *slot;
    *slot = g;
    v_release(&in->ctx, old);
    stack_cut(in, mark);
}
