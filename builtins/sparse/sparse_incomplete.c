/* Incomplete factors of sparse matrices: two triangles of the matrix's own pattern. */
#include "builtins/sparse/sparse_factor.h"

#include "kernels/cast/tensor_cast.h"
#include "kernels/elimination/incomplete.h"

#include <string.h>

/* The entries on one side of the diagonal, and on it: those are 1 where `unit`. */
static Value triangle(Ctx *ctx, const Csr *f, bool lower, bool unit)
{
    Made made = { 0 };
    const int64_t each = dtype_info(f->dtype)->bytes;
    int64_t count = 0;
    for (int64_t i = 0; i < f->m; i++)
        for (int64_t e = f->start[i]; e < f->start[i + 1]; e++)
            count += lower ? f->column[e] <= i : f->column[e] >= i;
    Tensor *pattern = made_pattern(ctx, &made, f->m, count);
    Tensor *value = made_vector(ctx, &made, f->dtype, count);
    int64_t *start = made_ints(pattern), *column = start + f->m + 1, to = 0;
    for (int64_t i = 0; i < f->m; i++) {
        for (int64_t e = f->start[i]; e < f->start[i + 1]; e++) {
            const int64_t j = f->column[e];
            if (lower ? j > i : j < i)
                continue;
            if (unit && j == i)
                v_store(ctx, f->dtype, value->data + to * each, v_int(1));
            else
                memcpy(value->data + to * each, (const char *)f->value + e * each, (size_t)each);
            column[to++] = j;
        }
        start[i + 1] = to;
    }
    return v_tensor_raw(sparse_made(ctx, &made, f->m, f->n, pattern, value));
}

/* The square matrix in the dtype that factors have; false: the row's other form does it. */
static bool operand(OpCall *c, Csr *a)
{
    const Sparse *s = v_sparse(c->args[0]);
    Ctx *ctx = &c->in->ctx;
    const DType dt = s ? sparse_factor_dtype(c, NULL) : DT_NONE;
    if (dt == DT_NONE)
        return false;
    const int64_t m = s->head->dims[0], n = s->head->dims[1];
    if (m != n)
        arg_error(c, 0, ERR_SHAPE, "%s is %lld×%lld; it takes a square matrix", arg_text(c, 0),
                  (long long)m, (long long)n);
    if ((DType)s->value->dtype != dt) {
        Tensor *value = op_keep(c, tensor_cast(ctx, s->value, dt));
        s = tensor_sparse(op_keep(c, sparse_like(ctx, s, value)));
    }
    *a = sparse_csr(s);
    return true;
}

Value op_sparse_ilu0(OpCall *c)
{
    Csr a;
    if (!operand(c, &a))
        return v_undef();
    Tensor *value = op_keep(c, tensor_new(&c->in->ctx, a.dtype, 1, &a.entries));
    const int64_t failed = incomplete_lu(&c->in->ctx, &a, value->data);
    if (failed >= 0)
        arg_error_help(c, 0, ERR_NUMERIC, "rows in another order, or a larger diagonal",
                       "the pivot U[%lld, %lld] is 0", (long long)failed, (long long)failed);
    Csr f = a;
    f.value = value->data;
    Value l = op_root(c, triangle(&c->in->ctx, &f, true, true));
    Value u = triangle(&c->in->ctx, &f, false, false);
    return tuple_make(c->in, "L", v_retain(l), "U", u, NULL);
}

Value op_sparse_ic0(OpCall *c)
{
    Csr a;
    if (!operand(c, &a))
        return v_undef();
    Tensor *value = op_keep(c, tensor_new(&c->in->ctx, a.dtype, 1, &a.entries));
    const int64_t failed = incomplete_cholesky(&c->in->ctx, &a, value->data);
    if (failed >= 0)
        arg_error_help(c, 0, ERR_NUMERIC, "a larger diagonal, or ilu0",
                       "the pivot of column %lld is not positive: %s is not positive definite, or "
                       "its incomplete factor breaks down",
                       (long long)failed, arg_text(c, 0));
    Csr f = a;
    f.value = value->data;
    return triangle(&c->in->ctx, &f, true, false);
}
