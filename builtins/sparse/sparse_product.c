/* Products and transposition of sparse matrices: the dtype, the shapes and what stands beside a
 * covector; the loops are kernels/sparse/product.h's. */
#include "builtins/sparse/sparse.h"

#include "builtins/linalg/matmul.h"
#include "kernels/cast/tensor_cast.h"
#include "kernels/sparse/product.h"

/* ---- operands ---- */
/* The dtype that both are brought to; DT_NONE: one that has no loops here. */
static DType product_dtype(const Value *args)
{
    DType a = v_dtype(args[0]), b = v_dtype(args[1]), dt = a == b ? a : dtype_promote(a, b);
    return sparse_dtype(dt) ? dt : DT_NONE;
}

/* s in dt; rooted where it had to be cast. */
static const Sparse *sparse_in(OpCall *c, const Sparse *s, DType dt)
{
    if ((DType)s->value->dtype == dt)
        return s;
    Tensor *value = op_keep(c, tensor_cast(&c->in->ctx, s->value, dt));
    return tensor_sparse(op_keep(c, sparse_like(&c->in->ctx, s, value)));
}

static Tensor *dense_in(OpCall *c, Tensor *t, DType dt)
{
    Tensor *r = op_keep(c, tensor_cast(&c->in->ctx, t, dt));
    tensor_home(&c->in->ctx, r);
    return r;
}

static Value taken(OpCall *c, Made *made, Tensor *t)
{
    made_poll(&c->in->ctx, made);
    made_take(made, t);
    made_end(&c->in->ctx, made);
    return v_tensor_raw(t);
}

/* ---- products ---- */
static Value sparse_times(OpCall *c, DType dt)
{
    Made made = { 0 };
    Tensor *x = c->args[1].tensor;
    if (x->rank == 0 || x->rank > 2 || x->flags & TENSOR_COVECTOR)
        return v_undef();
    if (x->dims[0] != c->args[0].tensor->dims[1])
        matmul_mismatch(c, c->args[0].tensor, x);
    const Csr a = sparse_csr(sparse_in(c, v_sparse(c->args[0]), dt));
    x = dense_in(c, x, dt);
    return taken(c, &made, csr_times(&c->in->ctx, &made, &a, x));
}

/* A vector and a covector on the left are rows: what they give is one of their kind. */
static Value times_sparse(OpCall *c, DType dt)
{
    Made made = { 0 };
    Ctx *ctx = &c->in->ctx;
    Tensor *x = c->args[0].tensor;
    const bool row = x->flags & TENSOR_COVECTOR;
    if (x->rank == 0 || x->rank > 2)
        return v_undef();
    if (x->dims[x->rank - 1] != c->args[1].tensor->dims[0])
        matmul_mismatch(c, x, c->args[1].tensor);
    const Csr a = sparse_csr(sparse_in(c, v_sparse(c->args[1]), dt));
    x = dense_in(c, x, dt);
    Value r = taken(c, &made, x->rank == 1 ? csr_turned_times(ctx, &made, &a, x, false)
                                           : csr_times_from_left(ctx, &made, x, &a));
    r.tensor->flags |= row ? TENSOR_COVECTOR : 0;
    return r;
}

static Value sparse_times_sparse(OpCall *c, DType dt)
{
    Made made = { 0 };
    if (c->args[0].tensor->dims[1] != c->args[1].tensor->dims[0])
        matmul_mismatch(c, c->args[0].tensor, c->args[1].tensor);
    const Csr a = sparse_csr(sparse_in(c, v_sparse(c->args[0]), dt));
    const Csr b = sparse_csr(sparse_in(c, v_sparse(c->args[1]), dt));
    return v_tensor_raw(csr_times_csr(&c->in->ctx, &made, &a, &b));
}

Value op_sparse_matmul(OpCall *c)
{
    const bool left = v_sparse(c->args[0]), right = v_sparse(c->args[1]);
    if (c->args[0].tag != V_TENSOR || c->args[1].tag != V_TENSOR || c->in->scope)
        return v_undef();
    const DType dt = product_dtype(c->args);
    return dt == DT_NONE ? v_undef() : left && right ? sparse_times_sparse(c, dt)
         : left ? sparse_times(c, dt) : times_sparse(c, dt);
}

/* ---- transposition ---- */
static Tensor *turned(Ctx *ctx, const Sparse *s)
{
    Made made = { 0 };
    const Csr a = sparse_csr(s);
    SparseOrder o = sparse_turned(ctx, &made, &a);
    Tensor *value = made_vector(ctx, &made, a.dtype, a.entries);
    sparse_gather(ctx, value->data, a.value, made_ints(o.order), a.entries,
                  dtype_info(a.dtype)->bytes);
    made_poll(ctx, &made);
    return sparse_made(ctx, &made, a.n, a.m, o.pattern, value);
}

/* Axes in the order that they have anyway, or none: it is the matrix as it is, or turned. */
Value op_sparse_transpose(OpCall *c)
{
    if (arg_given(c, 1))
        return v_undef();
    return v_tensor_raw(turned(&c->in->ctx, v_sparse(c->args[0])));
}

Value op_sparse_ctranspose(OpCall *c)
{
    Interp *in = c->in;
    const Tensor *t = op_keep(c, turned(&in->ctx, v_sparse(c->args[0])));
    const Sparse *s = tensor_sparse(t);
    if (dtype_info((DType)t->dtype)->kind != 'c')
        return v_retain(v_tensor_raw((Tensor *)t));
    return sparse_with(in, s, op_unary(in, op_named(in, "conj"), sparse_values(s), 0));
}
