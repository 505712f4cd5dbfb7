/* Triangles and diagonals of sparse matrices, and matrices put together of others. */
#include "builtins/sparse/sparse.h"

#include "core/base/error.h"
#include "kernels/sparse/merge.h"
#include "kernels/sparse/select.h"

#include <string.h>

/* ---- parts ---- */
static Value triangle(OpCall *c, bool lower)
{
    const Sparse *s = v_sparse(c->args[0]);
    if (!s)
        return v_undef();
    const Csr a = sparse_csr(s);
    const int64_t k = arg_given(c, 1) ? arg_int(c, 1) : 0;
    Made made = { 0 };
    SparseOrder o = csr_triangle(&c->in->ctx, &made, &a, k, lower);
    return v_tensor_raw(sparse_taken(&c->in->ctx, &made, a.m, a.n, o, s->value));
}

Value op_sparse_tril(OpCall *c) { return triangle(c, true); }
Value op_sparse_triu(OpCall *c) { return triangle(c, false); }

static Tensor *diagonal_of(Ctx *ctx, const Sparse *s, int64_t k)
{
    const Csr a = sparse_csr(s);
    Made made = { 0 };
    const Tensor *at = csr_diagonal(ctx, &made, &a, k);
    Tensor *t = made_vector(ctx, &made, a.dtype, at->size);
    sparse_gather(ctx, t->data, a.value, (const int64_t *)at->data, at->size,
                  dtype_info(a.dtype)->bytes);
    made_poll(ctx, &made);
    made_take(&made, t);
    made_end(ctx, &made);
    return t;
}

Value op_sparse_diag(OpCall *c)
{
    const Sparse *s = v_sparse(c->args[0]);
    const int64_t k = arg_given(c, 1) ? arg_int(c, 1) : 0;
    return s ? v_tensor_raw(diagonal_of(&c->in->ctx, s, k)) : v_undef();
}

Value op_sparse_trace(OpCall *c)
{
    Interp *in = c->in;
    Tensor *t = op_keep(c, diagonal_of(&in->ctx, v_sparse(c->args[0]), 0));
    return op_unary(in, op_named(in, "sum"), v_tensor_raw(t), 0);
}

/* ---- operands that may be dense ---- */
const Sparse *sparse_matrix(Interp *in, Value v)
{
    Ctx *ctx = &in->ctx;
    const Sparse *s = v_sparse(v);
    if (s || v.tag != V_TENSOR || v.tensor->rank != 2)
        return s;
    const bool own = sparse_dtype((DType)v.tensor->dtype);
    v_push(in, own ? v_retain(v) : op_binary(in, op_named(in, "not_equal"), v, v_int(0), 2));
    tensor_home(ctx, in->sp[-1].tensor);
    v_push(in, v_tensor_raw(sparse_of_dense(ctx, in->sp[-1].tensor)));
    s = v_sparse(in->sp[-1]);
    if (own)
        return s;
    Value values = sparse_at_entries(in, s, v.tensor);
    v_push(in, v_tensor_raw(sparse_like(ctx, s, values.tensor)));
    return v_sparse(in->sp[-1]);
}

/* ---- tensors one after the other ---- */
typedef struct Pieces {
    const Value *item;
    int64_t count;
    int axis;
    int64_t shape[2];
} Pieces;

static Pieces pieces_of(const OpCall *c)
{
    Pieces p = { c->args + c->fixed, c->count - c->fixed, 0, { 0, 0 } };
    if (p.count == 1 && p.item->tag == V_TUPLE) {
        p.count = p.item->tuple->count;
        p.item = c->args[c->fixed].tuple->items;
    }
    return p;
}

/* Matrices that fit together. */
static bool pieces_fit(OpCall *c, Pieces *p)
{
    int64_t axis = arg_given(c, 0) ? arg_int(c, 0) : 0;
    axis += axis < 0 ? 2 : 0;
    if (axis < 0 || axis > 1)
        return false;
    p->axis = (int)axis;
    for (int64_t i = 0; i < p->count; i++) {
        const Value v = p->item[i];
        if (v.tag != V_TENSOR || v.tensor->rank != 2)
            return false;
        const int64_t *shape = tensor_shape(v.tensor);
        if (i && shape[!axis] != p->shape[!axis])
            return false;
        p->shape[!axis] = shape[!axis];
        if (__builtin_add_overflow(p->shape[axis], shape[axis], &p->shape[axis]))
            return false;
    }
    return p->count > 0;
}

Value op_sparse_concat(OpCall *c)
{
    Interp *in = c->in;
    Pieces p = pieces_of(c);
    Made made = { 0 };
    if (!pieces_fit(c, &p))
        return sparse_refuse(c);
    const int64_t words = p.count * (int64_t)(sizeof(Csr) / sizeof(int64_t));
    Csr *block = (Csr *)(void *)op_keep(c, tensor_new(&in->ctx, DT_I64, 1, &words))->data;
    const int64_t each = p.count;
    Tensor *found = op_keep(c, tensor_new(&in->ctx, DT_I64, 1, &each));
    for (int64_t i = 0; i < p.count; i++) {
        const Sparse *s = sparse_matrix(in, p.item[i]);
        block[i] = sparse_csr(s);
        ((const Sparse **)(void *)found->data)[i] = s;
    }
    /* the values as the row itself joins them: of the widest dtype */
    Value *args = in->sp;
    v_push(in, v_undef());
    for (int64_t i = 0; i < p.count; i++)
        v_push(in, v_retain(sparse_values(((const Sparse **)(void *)found->data)[i])));
    v_push(in, op_call(in, c->op, args, (int)p.count + 1, 0));
    const Tensor *values = in->sp[-1].tensor;
    SparseOrder o = csr_blocks(&in->ctx, &made, p.axis ? 1 : p.count, p.axis ? p.count : 1, block);
    return v_tensor_raw(sparse_taken(&in->ctx, &made, p.shape[0], p.shape[1], o, values));
}

/* ---- the Kronecker product ---- */
static Value gathered(OpCall *c, const Tensor *values, const Tensor *at)
{
    Tensor *t = op_keep(c, tensor_new(&c->in->ctx, (DType)values->dtype, 1, &at->size));
    sparse_gather(&c->in->ctx, t->data, values->data, (const int64_t *)at->data, at->size,
                  dtype_info((DType)values->dtype)->bytes);
    return v_tensor_raw(t);
}

Value op_sparse_kron(OpCall *c)
{
    Interp *in = c->in;
    Ctx *ctx = &in->ctx;
    const Sparse *x = sparse_matrix(in, c->args[0]), *y = sparse_matrix(in, c->args[1]);
    Made made = { 0 };
    if (!x || !y || (x->value->dtype == DT_BOOL && y->value->dtype == DT_BOOL))
        return v_undef();
    const Csr a = sparse_csr(x), b = sparse_csr(y);
    const int64_t m = count_times(a.m, b.m), n = count_times(a.n, b.n);
    SparseMerge both = csr_kron(ctx, &made, &a, &b);
    Tensor *pattern = op_keep(c, made_take(&made, both.pattern));
    Tensor *from_a = op_keep(c, made_take(&made, both.from_a));
    Tensor *from_b = op_keep(c, made_take(&made, both.from_b));
    made_end(ctx, &made);
    const Value u = gathered(c, x->value, from_a), v = gathered(c, y->value, from_b);
    Value w = op_root(c, op_binary(in, op_named(in, "multiply"), u, v, 0));
    return v_tensor_raw(sparse_new(ctx, m, n, tensor_retain(pattern), tensor_retain(w.tensor)));
}
