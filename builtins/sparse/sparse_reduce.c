/* Reductions of sparse matrices: what is not stored is a 0 that counts. Over everything, and in
 * scopes along an axis, the rows themselves reduce the values, so that dtypes, formats and the
 * order of sums are theirs; of machine numbers kernels fold all rows or columns at once. */
#include "builtins/sparse/sparse.h"

#include "core/base/error.h"
#include "kernels/cast/tensor_cast.h"
#include "kernels/sparse/fold.h"

#include <math.h>
#include <string.h>

/* A reduction under way. Lines are what is reduced: rows (axis 1), columns (axis 0), or the whole
 * matrix as one. */
typedef struct Fold {
    OpCall *c;
    Interp *in;
    const Sparse *s;
    Csr a;
    int axis;                   /* -1: all */
    int64_t lines, extent;      /* extent: elements of a line */
    bool keep, most;            /* most: the greatest element, not the least */
} Fold;

static Value named(const Fold *f, const char *op, Value x)
{
    return op_root(f->c, op_unary(f->in, op_named(f->in, op), x, 0));
}

static Value named2(const Fold *f, const char *op, Value x, Value y)
{
    const unsigned weak = y.tag == V_TENSOR ? 0 : 2;
    return op_root(f->c, op_binary(f->in, op_named(f->in, op), x, y, weak));
}

/* A reduction of the same matrix with other values. */
static Value of_values(const Fold *f, Value (*form)(Fold *), const Sparse *s)
{
    Fold g = *f;
    g.s = s;
    g.a = sparse_csr(s);
    return form(&g);
}

/* The same with other values, rooted. */
static const Sparse *other_values(const Fold *f, Value values)
{
    return v_sparse(op_root(f->c, v_tensor_raw(sparse_like(&f->in->ctx, f->s, values.tensor))));
}

static bool complete(const Fold *f) { return f->a.entries == f->extent && f->axis < 0; }
static bool is_machine(const Fold *f) { return !f->in->scope && sparse_dtype(f->a.dtype); }
static bool is_real(const Fold *f) { return dtype_info(f->a.dtype)->kind != 'c'; }

static Value taken(const Fold *f, Made *made, Tensor *t)
{
    made_take(made, t);
    made_end(&f->in->ctx, made);
    return op_root(f->c, v_tensor_raw(t));
}

/* ---- lines one by one ---- */
/* The matrix with its lines as rows: the columns turned over. */
static const Sparse *by_lines(const Fold *f)
{
    Ctx *ctx = &f->in->ctx;
    Made made = { 0 };
    if (f->axis != 0)
        return f->s;
    SparseOrder o = sparse_turned(ctx, &made, &f->a);
    Tensor *t = sparse_taken(ctx, &made, f->a.n, f->a.m, o, f->s->value);
    return v_sparse(op_root(f->c, v_tensor_raw(t)));
}

/* The values of a row as a vector, rooted. */
static Value line_values(const Fold *f, const Sparse *rows, int64_t i)
{
    const Csr a = sparse_csr(rows);
    const int64_t n = a.start[i + 1] - a.start[i], one = 1;
    char *at = rows->value->data + a.start[i] * (int64_t)dtype_info(a.dtype)->bytes;
    Tensor *t = tensor_view(&f->in->ctx, rows->value, 1, &n, &one, at);
    return op_root(f->c, v_tensor_raw(t));
}

/* What `of` gives for each line, as a vector; there is one at least. */
static Value each_line(Fold *f, Value (*of)(Fold *, const Sparse *rows, int64_t i))
{
    Interp *in = f->in;
    const Sparse *rows = by_lines(f);
    Value *mark = in->sp;
    const DType dt = v_dtype(of(f, rows, 0));
    stack_drop(in, mark);
    Tensor *out = op_keep(f->c, tensor_new(&in->ctx, dt, 1, &f->lines));
    mark = in->sp;
    for (int64_t i = 0; i < f->lines; i++) {
        poll_interrupt(in);
        v_store(&in->ctx, dt, out->data + i * (int64_t)dtype_info(dt)->bytes, of(f, rows, i));
        stack_drop(in, mark);
    }
    return v_tensor_raw(out);
}

static bool line_is_full(const Fold *f, const Sparse *rows, int64_t i)
{
    const Csr a = sparse_csr(rows);
    return a.start[i + 1] - a.start[i] == f->extent;
}

static Value line_itself(Fold *f, const Sparse *rows, int64_t i)
{
    return op_root(f->c, op_unary(f->in, f->c->op, line_values(f, rows, i), 0));
}

/* ---- how many are not 0 ---- */
static Value counts(Fold *f)
{
    Value some = named2(f, "not_equal", sparse_values(f->s), v_int(0));
    Tensor *flags = op_keep(f->c, tensor_compact(&f->in->ctx, some.tensor));
    Tensor *t = op_keep(f->c, tensor_new(&f->in->ctx, DT_I64, 1, &f->lines));
    int64_t *to = made_ints(t);
    const uint8_t *flag = (const uint8_t *)flags->data;
    memset(to, 0, (size_t)f->lines * sizeof *to);
    for (int64_t i = 0; i < f->a.m; i++)
        for (int64_t k = f->a.start[i]; k < f->a.start[i + 1]; k++)
            to[f->axis ? i : f->a.column[k]] += flag[k] != 0;
    return v_tensor_raw(t);
}

static Value counted(Fold *f)
{
    return f->axis < 0 ? named(f, "count", sparse_values(f->s)) : counts(f);
}

static Value anything(Fold *f)
{
    return f->axis < 0 ? named(f, "any", sparse_values(f->s))
                       : named2(f, "not_equal", counts(f), v_int(0));
}

static Value everything(Fold *f)
{
    if (f->axis >= 0)
        return named2(f, "equal", counts(f), v_int(f->extent));
    return complete(f) ? named(f, "all", sparse_values(f->s)) : v_bool(false);
}

/* ---- sums and products ---- */
static Value line_sum(Fold *f, const Sparse *rows, int64_t i)
{
    return named(f, "sum", line_values(f, rows, i));
}

static Value summed(Fold *f)
{
    Made made = { 0 };
    if (f->axis < 0)
        return named(f, "sum", sparse_values(f->s));
    if (f->a.dtype == DT_BOOL)
        return counts(f);
    if (is_machine(f))
        return taken(f, &made, csr_fold(&f->in->ctx, &made, &f->a, CSR_SUM, f->axis));
    return each_line(f, line_sum);
}

static Value nansummed(Fold *f)
{
    Value args[3] = { named(f, "isnan", sparse_values(f->s)), v_int(0), sparse_values(f->s) };
    Value clean = op_root(f->c, op_call(f->in, op_named(f->in, "where"), args, 3, 2));
    return of_values(f, summed, other_values(f, clean));
}

static Value averaged(Fold *f)
{
    return named2(f, "divide", summed(f), v_float((double)f->extent));
}

static bool any_full(const Fold *f)
{
    Made made = { 0 };
    const Tensor *t = csr_fold(&f->in->ctx, &made, &f->a, CSR_COUNT, f->axis);
    bool any = false;
    for (int64_t i = 0; i < f->lines; i++)
        any |= ((const int64_t *)t->data)[i] == f->extent;
    made_end(&f->in->ctx, &made);
    return any;
}

/* 0 where a line has an element that is not stored, unless it holds what is no number. */
static Value multiplied(Fold *f)
{
    if (complete(f))
        return named(f, "prod", sparse_values(f->s));
    Value none = named2(f, "multiply", sparse_values(f->s), v_int(0));
    Value r = of_values(f, summed, other_values(f, none));
    if (f->axis < 0 || !any_full(f))
        return r;
    const Sparse *rows = by_lines(f);
    Tensor *t = op_keep(f->c, tensor_copy(&f->in->ctx, r.tensor));
    const DType dt = (DType)t->dtype;
    for (int64_t i = 0; i < f->lines; i++) {
        Value *mark = f->in->sp;
        if (line_is_full(f, rows, i))
            v_store(&f->in->ctx, dt, t->data + i * (int64_t)dtype_info(dt)->bytes,
                    line_itself(f, rows, i));
        stack_drop(f->in, mark);
    }
    return v_tensor_raw(t);
}

/* ---- extremes ---- */
static Value against_zero(const Fold *f, Value x)
{
    return named2(f, f->most ? "maximum" : "minimum", x, v_int(0));
}

static Value line_extreme(Fold *f, const Sparse *rows, int64_t i)
{
    Value v = line_values(f, rows, i);
    if (v.tensor->size == 0)
        return named(f, "sum", v);
    v = line_itself(f, rows, i);
    return line_is_full(f, rows, i) ? v : against_zero(f, v);
}

static Value extreme(Fold *f)
{
    Made made = { 0 };
    if (!is_real(f))
        return op_unary(f->in, f->c->op, sparse_values(f->s), 0);       /* its own error */
    if (f->a.dtype == DT_BOOL)
        return f->most ? anything(f) : everything(f);
    if (f->axis < 0) {
        if (f->a.entries == 0)
            return named(f, "sum", sparse_values(f->s));
        Value v = op_root(f->c, op_unary(f->in, f->c->op, sparse_values(f->s), 0));
        return complete(f) ? v : against_zero(f, v);
    }
    const CsrFold kind = f->most ? CSR_MAX : CSR_MIN;
    if (is_machine(f))
        return taken(f, &made, csr_fold(&f->in->ctx, &made, &f->a, kind, f->axis));
    return each_line(f, line_extreme);
}

/* ---- where they are ---- */
typedef struct Best { double value; int64_t at; } Best;

static bool better(const Best *b, double x, bool most)
{
    if (b->at < 0 || b->value != b->value)
        return b->at < 0;
    return x != x || (most ? x > b->value : x < b->value);
}

/* The best of a row, of whose elements the first that is not stored is a 0. */
static Best best_of_row(const Csr *a, int64_t i, bool most)
{
    Best b = { 0, -1 };
    int64_t free = 0;
    const size_t each = dtype_info(a->dtype)->bytes;
    for (int64_t k = a->start[i]; k <= a->start[i + 1]; k++) {
        const bool end = k == a->start[i + 1];
        if (free >= 0 && free < a->n && (end || a->column[k] > free)) {
            if (better(&b, 0, most))
                b = (Best){ 0, free };
            free = -1;
        }
        if (end)
            break;
        free += free >= 0;
        const double x = element_f64(a->dtype, (const char *)a->value + (size_t)k * each);
        if (better(&b, x, most))
            b = (Best){ x, a->column[k] };
    }
    return b;
}

static Value position(Fold *f)
{
    const bool most = f->most;
    if (!is_real(f))
        return op_unary(f->in, f->c->op, sparse_values(f->s), 0);
    if (!sparse_dtype(f->a.dtype) && f->a.dtype != DT_BOOL)
        return v_undef();
    const Csr a = sparse_csr(by_lines(f));
    Tensor *t = op_keep(f->c, tensor_new(&f->in->ctx, DT_I64, 1, &f->lines));
    Best all = { 0, -1 };
    for (int64_t i = 0; i < a.m; i++) {
        const Best b = best_of_row(&a, i, most);
        if (f->axis >= 0)
            made_ints(t)[i] = b.at;
        else if (better(&all, b.value, most))
            all = (Best){ b.value, i * a.n + b.at };
    }
    return f->axis < 0 ? v_int(all.at) : v_tensor_raw(t);
}

/* ---- the rows ---- */
/* A result, as an owned value, with the axes that it keeps. */
static Value finished(const Fold *f, Value v)
{
    Ctx *ctx = &f->in->ctx;
    int64_t shape[2] = { f->axis == 1 ? f->a.m : 1, f->axis == 0 ? f->a.n : 1 };
    if (v.tag == V_UNDEF || !f->keep)
        return v_retain(v);
    Tensor *t = op_keep(f->c, v_to_tensor(f->in, v, 0));
    t = op_keep(f->c, tensor_compact(ctx, t));
    const int64_t steps[2] = { shape[1], 1 };
    return v_tensor_raw(tensor_view(ctx, t, 2, shape, steps, t->data));
}

/* Of no elements as the row says. */
static Value of_nothing(const Fold *f)
{
    OpCall *c = f->c;
    Value *args = f->in->sp;
    v_push(f->in, v_tensor_raw(sparse_to_dense(&f->in->ctx, f->s)));
    for (int i = 1; i < c->count; i++)
        v_push(f->in, v_retain(c->args[i]));
    return op_call(f->in, c->op, args, c->count, 0);
}

static bool fold_begin(OpCall *c, Fold *f)
{
    const OpSig *sig = op_sig(c->in, c->op);
    *f = (Fold){ .c = c, .in = c->in, .s = v_sparse(c->args[0]), .axis = -1, .lines = 1 };
    for (int i = 1; i < c->count; i++)
        if (sparse_inside(c->args[i]))
            return false;
    if (!f->s)
        return false;
    f->a = sparse_csr(f->s);
    f->extent = f->a.m * f->a.n;
    f->keep = arg_bool(c, sig->keepdims, false);
    if (!arg_given(c, sig->axis))
        return true;
    const uint64_t axes = arg_axes(c, sig->axis, 2);
    if (axes == 3)
        return true;
    f->axis = axes == 1 ? 0 : 1;
    f->lines = f->axis ? f->a.m : f->a.n;
    f->extent = f->axis ? f->a.n : f->a.m;
    return axes != 0;
}

static Value reduce_to(OpCall *c, Value (*form)(Fold *), bool most)
{
    Fold f;
    if (!fold_begin(c, &f))
        return v_undef();
    if (f.a.m == 0 || f.a.n == 0)
        return of_nothing(&f);
    f.most = most;
    return finished(&f, form(&f));
}

static Value reduce(OpCall *c, Value (*form)(Fold *)) { return reduce_to(c, form, false); }

Value op_sparse_sum(OpCall *c) { return reduce(c, summed); }
Value op_sparse_nansum(OpCall *c) { return reduce(c, nansummed); }
Value op_sparse_mean(OpCall *c) { return reduce(c, averaged); }
Value op_sparse_prod(OpCall *c) { return reduce(c, multiplied); }
Value op_sparse_max(OpCall *c) { return reduce_to(c, extreme, true); }
Value op_sparse_min(OpCall *c) { return reduce_to(c, extreme, false); }
Value op_sparse_argmax(OpCall *c) { return reduce_to(c, position, true); }
Value op_sparse_argmin(OpCall *c) { return reduce_to(c, position, false); }
Value op_sparse_count(OpCall *c) { return reduce(c, counted); }
Value op_sparse_any(OpCall *c) { return reduce(c, anything); }
Value op_sparse_all(OpCall *c) { return reduce(c, everything); }

/* ---- norms ---- */
typedef enum Order { ORDER_ROOT, ORDER_ONE, ORDER_INF, ORDER_LEAST_ONE, ORDER_LEAST_INF,
                     ORDER_OTHER } Order;

static Order order_of(const OpCall *c)
{
    const Value v = c->args[1];
    if (v.tag == V_UNDEF || v.tag == V_NONE)
        return ORDER_ROOT;
    if (v.tag == V_STRING)
        return v.str->len == 3 && memcmp(v.str->text, "fro", 3) == 0 ? ORDER_ROOT : ORDER_OTHER;
    const double p = v.tag == V_INT ? (double)v.i : v.tag == V_FLOAT ? v.f : NAN;
    return p == 1 ? ORDER_ONE : p == INFINITY ? ORDER_INF : p == -1 ? ORDER_LEAST_ONE
         : p == -INFINITY ? ORDER_LEAST_INF : ORDER_OTHER;
}

/* A row of the table on a vector or a matrix, along an axis or (-1) over all. */
static Value along(const Fold *f, const char *op, Value x, int axis)
{
    const Op *row = op_named(f->in, op);
    const OpSig *sig = op_sig(f->in, row);
    Value args[4] = { x, v_undef(), v_undef(), v_undef() };
    if (axis >= 0)
        args[sig->axis] = v_int(axis);
    return op_root(f->c, op_call(f->in, row, args, sig->fixed, 0));
}

static Value sizes(const Fold *f)
{
    return v_tensor_raw(other_values(f, named(f, "abs", sparse_values(f->s)))->head);
}

static Value line_norm(Fold *f, const Sparse *rows, int64_t i)
{
    return named(f, "norm", line_values(f, rows, i));
}

static Value norm_along(Fold *f, Order order)
{
    switch (order) {
    case ORDER_ROOT: return each_line(f, line_norm);
    case ORDER_ONE: return along(f, "sum", sizes(f), f->axis);
    case ORDER_INF: return along(f, "max", sizes(f), f->axis);
    default: return v_undef();
    }
}

/* Of a matrix: sums of columns (1) or rows (inf), the largest or the smallest. */
static Value matrix_norm(Fold *f, Order order)
{
    const bool rows = order == ORDER_INF || order == ORDER_LEAST_INF;
    const bool least = order == ORDER_LEAST_ONE || order == ORDER_LEAST_INF;
    if (order == ORDER_OTHER)
        return v_undef();
    if (order == ORDER_ROOT)
        return named(f, "norm", sparse_values(f->s));
    return along(f, least ? "min" : "max", along(f, "sum", sizes(f), rows), -1);
}

Value op_sparse_norm(OpCall *c)
{
    Fold f;
    if (c->args[2].tag == V_TUPLE || !fold_begin(c, &f) || f.a.m == 0 || f.a.n == 0)
        return v_undef();
    const Order order = order_of(c);
    if (f.axis < 0)
        return finished(&f, matrix_norm(&f, order));
    const bool fro = c->args[1].tag == V_STRING;
    return finished(&f, fro ? v_undef() : norm_along(&f, order));
}
