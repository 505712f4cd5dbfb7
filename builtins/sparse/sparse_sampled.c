/* Other values at the places of a matrix's entries: given, or sampled of dense operands. It is what
 * derivatives of sparse matrices are made of, so no element elsewhere is ever computed. */
#include "builtins/sparse/sparse.h"

#include "core/base/error.h"
#include "kernels/cast/tensor_cast.h"
#include "kernels/sparse/sampled.h"
#include "kernels/tensor/report.h"

#include <string.h>

Value op_run_with_values(OpCall *c)
{
    const Sparse *s = arg_sparse(c, 0);
    const int64_t count = s->value->size;
    if (v_sparse(c->args[1]))
        arg_error(c, 1, ERR_SHAPE, "the values of entries are a vector, and %s is a sparse matrix",
                  arg_text(c, 1));
    Tensor *v = sparse_operand(c, 1);
    char shape[160];
    if (v->rank > 1 || (v->rank == 1 && v->size != count))
        arg_error(c, 1, ERR_SHAPE, "%s has %lld entries, and %s %s", arg_text(c, 0),
                  (long long)count, arg_text(c, 1),
                  shape_fact(shape, sizeof shape, v->rank, tensor_shape(v)));
    if (strchr("bi", dtype_info((DType)v->dtype)->kind) && !c->in->scope)
        v = op_keep(c, v_to_tensor(c->in, op_root(c, op_call(c->in, op_named(c->in, "cast"),
                    (Value[]){ v_tensor_raw(v), v_format(DT_F64) }, 2, 0)), 0));
    return sparse_with(c->in, s, v_retain(v_tensor_raw(v)));
}

/* ---- of a product ---- */
/* Numbers of lines, rows or columns, that so many entries from one on are in. */
static Value lines_of(OpCall *c, const Csr *a, bool rows, int64_t from, int64_t count)
{
    Tensor *t = op_keep(c, tensor_new(&c->in->ctx, DT_I64, 1, &count));
    int64_t *line = made_ints(t), i = 0;
    if (!rows) {
        memcpy(line, a->column + from, (size_t)count * sizeof *line);
        return v_tensor_raw(t);
    }
    while (a->start[i + 1] <= from && i + 1 < a->m)
        i++;
    for (int64_t k = 0; k < count; k++) {
        while (a->start[i + 1] <= from + k)
            i++;
        line[k] = i;
    }
    return v_tensor_raw(t);
}

typedef struct Factors { Value left, right; int64_t k; bool outer; } Factors;

/* The elements of so many entries from one on: products of rows of the left factor with columns of
 * the right one, which stand in rows here. On the value stack. */
static void push_block(OpCall *c, const Csr *a, const Factors *f, int64_t from, int64_t count)
{
    Interp *in = c->in;
    const Op *take = op_named(in, "take");
    Value *mark = in->sp, row, column, x, y, r;
    row = lines_of(c, a, true, from, count), column = lines_of(c, a, false, from, count);
    x = op_root(c, op_call(in, take, (Value[]){ f->left, row, v_int(0) }, 3, 0));
    y = op_root(c, op_call(in, take, (Value[]){ f->right, column, v_int(0) }, 3, 0));
    r = op_root(c, op_call(in, op_operator(in, TK_MUL), (Value[]){ x, y }, 2, 0));
    if (!f->outer)
        r = op_root(c, op_call(in, op_named(in, "sum"), (Value[]){ r, v_int(1) }, 2, 0));
    v_retain(r);
    stack_cut(in, mark);
    v_push(in, r);
}

enum { BLOCK_ELEMENTS = 1 << 20 };

/* Contiguous rows of dt at home. */
static const char *rows_of(OpCall *c, Value v, DType dt)
{
    Tensor *t = op_keep(c, tensor_cast(&c->in->ctx, v.tensor, dt));
    t = op_keep(c, tensor_compact(&c->in->ctx, t));
    tensor_home(&c->in->ctx, t);
    return t->data;
}

/* By the loops over entries. */
static Value by_kernel(OpCall *c, const Sparse *s, const Factors *f, DType dt)
{
    Ctx *ctx = &c->in->ctx;
    Made made = { 0 };
    Csr a = sparse_csr(s);
    a.dtype = dt;
    a.value = NULL;
    const char *x = rows_of(c, f->left, dt), *y = rows_of(c, f->right, dt);
    Tensor *values = csr_sampled(ctx, &made, &a, x, y, f->k);
    made_poll(ctx, &made);
    made_take(&made, values);
    made_end(ctx, &made);
    return sparse_with(c->in, s, v_tensor_raw(values));
}

static Value product_sampled(OpCall *c, const Sparse *s, const Factors *f)
{
    Interp *in = c->in;
    const Csr a = sparse_csr(s);
    const int64_t k = f->k > 0 ? f->k : 1;
    const DType dt = dtype_promote(v_dtype(f->left), v_dtype(f->right));
    if (!in->scope && dt != DT_NONE && sparse_dtype(dt))
        return by_kernel(c, s, f, dt);
    int64_t step = BLOCK_ELEMENTS / k > 0 ? BLOCK_ELEMENTS / k : 1, from = step;
    Value *all = in->sp;
    push_block(c, &a, f, 0, a.entries < step ? a.entries : step);
    v_push(in, v_tuple(tuple_new(&in->ctx, 0)));
    Value *parts = in->sp - 1;
    for (; from < a.entries; from += step) {
        poll_interrupt(in);
        Value *mark = in->sp;
        push_block(c, &a, f, from, a.entries - from < step ? a.entries - from : step);
        tuple_push(&in->ctx, &parts->tuple, NULL, v_retain(in->sp[-1]));
        stack_cut(in, mark);
    }
    Value values = v_retain(*all);
    if (parts->tuple->count) {
        v_push(in, values);
        Value both = op_call(in, op_named(in, "concat"), (Value[]){ v_int(0), *all, *parts }, 3, 0);
        stack_cut(in, in->sp - 1);
        values = both;
    }
    stack_cut(in, all);
    return sparse_with(in, s, values);
}

/* A factor with its rows, or columns, along axis 0; a vector is one column, or one row. */
static void check_factor(OpCall *c, int i, const Sparse *s, const Tensor *t)
{
    const int64_t want = tensor_shape(s->head)[i - 1];
    char shape[160];
    if (t->rank < 1 || t->rank > 2 || tensor_shape(t)[t->rank == 2 ? i - 1 : 0] != want)
        arg_error(c, i, ERR_SHAPE, "%s has %lld %s, and %s %s", arg_text(c, 0), (long long)want,
                  i == 1 ? "rows" : "columns", arg_text(c, i),
                  shape_fact(shape, sizeof shape, t->rank, tensor_shape(t)));
}

static Value of_product(OpCall *c, const Sparse *s)
{
    Interp *in = c->in;
    const Tensor *A = sparse_operand(c, 1), *B = sparse_operand(c, 2);
    check_factor(c, 1, s, A);
    check_factor(c, 2, s, B);
    if (A->rank != B->rank)
        arg_error(c, 2, ERR_SHAPE, "%s and %s are two matrices or two vectors", arg_text(c, 1),
                  arg_text(c, 2));
    if (tensor_sparse(A) || tensor_sparse(B)) {
        Value args[2] = { c->args[0],
                          op_root(c, op_call(in, op_named(in, "matmul"), c->args + 1, 2, 0)) };
        return op_call(in, c->op, args, 2, 0);
    }
    Factors f = { c->args[1], c->args[2], 1, A->rank == 1 };
    if (!f.outer) {
        f.k = tensor_shape(A)[1];
        if (tensor_shape(B)[0] != f.k)
            arg_error(c, 2, ERR_SHAPE, "%s has %lld columns, and %s has %lld rows", arg_text(c, 1),
                      (long long)f.k, arg_text(c, 2), (long long)tensor_shape(B)[0]);
        f.right = op_root(c, op_unary(in, op_named(in, "transpose"), c->args[2], 0));
    }
    return product_sampled(c, s, &f);
}

/* ---- of elements ---- */
Value op_run_sampled(OpCall *c)
{
    Interp *in = c->in;
    const Sparse *s = arg_sparse(c, 0), *from = v_sparse(c->args[1]);
    int64_t out[TENSOR_RANK_MAX];
    char shape[160];
    int bad;
    if (arg_given(c, 2))
        return of_product(c, s);
    const Tensor *t = from ? from->head : sparse_operand(c, 1);
    const int64_t *own = tensor_shape(s->head);
    if (shape_broadcast(2, own, t->rank, tensor_shape(t), out, &bad) != 2 || out[0] != own[0] ||
        out[1] != own[1] || (from && memcmp(own, tensor_shape(t), 2 * sizeof *own)))
        arg_error(c, 1, ERR_SHAPE, "%s is %lld×%lld, and %s %s", arg_text(c, 0), (long long)own[0],
                  (long long)own[1], arg_text(c, 1),
                  shape_fact(shape, sizeof shape, t->rank, tensor_shape(t)));
    Value *mark = in->sp;
    if (from)
        sparse_at_places(in, s, from);
    else if (t->rank)
        sparse_at_entries(in, s, (Tensor *)t);
    else
        v_push(in, v_retain(c->args[1]));
    Value r = sparse_with(in, s, v_retain(*mark));
    stack_cut(in, mark);
    return r;
}

/* Zeros like a sparse matrix are sparse; anything else like one is dense. */
Value op_sparse_like(OpCall *c)
{
    Value v = c->args[1];
    const Sparse *s = v_sparse(c->args[0]);
    if (!s || !((v.tag == V_INT && v.i == 0) || (v.tag == V_FLOAT && v.f == 0)))
        return v_undef();
    Value zero = op_root(c, op_call(c->in, op_named(c->in, "cast"),
                                    (Value[]){ v, v_format((DType)s->value->dtype) }, 2, 0));
    return sparse_with(c->in, s, v_retain(zero));
}
