/* Sparse matrices made and taken apart. */
#include "builtins/sparse/sparse.h"

#include "core/base/error.h"
#include "interp/state/scope.h"
#include "kernels/cast/tensor_cast.h"
#include "kernels/tensor/report.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

Tensor *sparse_operand(OpCall *c, int i)
{
    return v_is_numeric(c->args[i]) ? op_keep(c, v_to_tensor(c->in, c->args[i], 0))
                                    : arg_tensor(c, i);
}

Sparse *arg_sparse(OpCall *c, int i)
{
    Sparse *s = v_sparse(c->args[i]);
    if (s)
        return s;
    Tensor *t = sparse_operand(c, i);
    char shape[160];
    if (t->rank != 2)
        arg_error(c, i, ERR_SHAPE, "a sparse matrix has two axes, and %s %s", arg_text(c, i),
                  shape_fact(shape, sizeof shape, t->rank, tensor_shape(t)));
    DType dt = (DType)t->dtype;
    if (!sparse_dtype(dt)) {
        dt = dtype_info(dt)->kind == 'b' || dtype_info(dt)->kind == 'i' ? DT_F64 : dt;
        if (!sparse_dtype(dt))
            arg_error_help(c, i, ERR_DTYPE, "f64(A) or f32(A) first",
                           "sparse matrices are f64, f32, c128 or c64, and %s is %s",
                           arg_text(c, i), dtype_name(dt));
        t = op_keep(c, tensor_cast(&c->in->ctx, t, dt));
    }
    tensor_home(&c->in->ctx, t);
    return tensor_sparse(op_keep(c, sparse_of_dense(&c->in->ctx, t)));
}

/* ---- of entries ---- */
typedef struct Coordinates {
    Tensor *row, *column, *value;       /* contiguous, at home; rooted */
    int64_t count, m, n;
} Coordinates;

/* Positions, as contiguous i64. */
static Tensor *positions(OpCall *c, int i)
{
    Tensor *t = arg_tensor(c, i);
    char shape[160];
    if (t->rank > 1)
        arg_error(c, i, ERR_SHAPE, "positions are a vector of ints, and %s %s", arg_text(c, i),
                  shape_fact(shape, sizeof shape, t->rank, tensor_shape(t)));
    if (dtype_info((DType)t->dtype)->kind != 'i' && t->size)
        arg_error(c, i, ERR_TYPE, "positions are ints, and %s is %s", arg_text(c, i),
                  dtype_name((DType)t->dtype));
    Tensor *flat = op_keep(c, tensor_cast(&c->in->ctx, t, DT_I64));
    flat = op_keep(c, tensor_compact(&c->in->ctx, flat));
    tensor_home(&c->in->ctx, flat);
    return flat;
}

/* Contiguous, at home; rooted. */
static Tensor *as_vector(OpCall *c, Value v)
{
    Tensor *t = op_keep(c, tensor_compact(&c->in->ctx, op_keep(c, v_to_tensor(c->in, v, 0))));
    tensor_home(&c->in->ctx, t);
    return t;
}

static Tensor *values(OpCall *c, int i, int64_t count)
{
    Ctx *ctx = &c->in->ctx;
    Tensor *t = sparse_operand(c, i);
    DType dt = (DType)t->dtype;
    char shape[160];
    if (dtype_info(dt)->kind == 'i' || dtype_info(dt)->kind == 'b')
        dt = DT_F64;
    if (!sparse_dtype(dt) && !c->in->scope)
        arg_error_help(c, i, ERR_DTYPE, "f64(v) or f32(v)",
                       "sparse matrices are f64, f32, c128 or c64, and %s is %s", arg_text(c, i),
                       dtype_name(dt));
    if (t->rank > 1 || (t->rank == 1 && t->size != count && t->size != 1))
        arg_error(c, i, ERR_SHAPE, "there are %lld places, and %s %s", (long long)count,
                  arg_text(c, i), shape_fact(shape, sizeof shape, t->rank, tensor_shape(t)));
    t = op_keep(c, tensor_cast(ctx, t, dt));
    if (precise_scope(c->in))
        t = as_vector(c, op_root(c, op_unary(c->in, op_named(c->in, "positive"),
                                             v_tensor_raw(t), 0)));
    t = op_keep(c, tensor_broadcast(ctx, t, 1, &count));
    t = op_keep(c, tensor_compact(ctx, t));
    tensor_home(ctx, t);
    return t;
}

_Noreturn static void raise_outside(OpCall *c, int i, int64_t k, int64_t at, const int64_t *given)
{
    const char *what = i ? "column" : "row";
    if (!given || *given == 0)
        arg_error(c, i, ERR_INDEX, given ? "%s[%lld] is %lld, and the matrix has no %ss"
                                         : "%s[%lld] is %lld, and no %s is negative",
                  arg_text(c, i), (long long)k, (long long)at, what);
    arg_error(c, i, ERR_INDEX, "%s[%lld] is %lld, and the matrix has %ss 0 to %lld", arg_text(c, i),
              (long long)k, (long long)at, what, (long long)*given - 1);
}

/* The extent that holds the positions, or the check that it does. */
static int64_t extent(OpCall *c, int i, const Tensor *at, const int64_t *given)
{
    const int64_t *p = (const int64_t *)at->data;
    int64_t most = -1;
    for (int64_t k = 0; k < at->size; k++) {
        if (p[k] < 0 || (given && p[k] >= *given))
            raise_outside(c, i, k, p[k], given);
        if (!given && p[k] == INT64_MAX)
            arg_error(c, i, ERR_MEMORY, "%s[%lld] is %lld, more than any matrix has",
                      arg_text(c, i), (long long)k, (long long)p[k]);
        most = p[k] > most ? p[k] : most;
    }
    return given ? *given : most + 1;
}

/* Two numbers are the extents of a matrix without entries elsewhere. */
_Noreturn static void raise_incomplete(OpCall *c)
{
    const bool extents = c->args[0].tag == V_INT && arg_given(c, 1) && c->args[1].tag == V_INT;
    char help[200];
    snprintf(help, sizeof help, extents ? "sparse([], [], 1.0, (%s, %s))" : "sparse(%s, %s, 1.0)",
             arg_text(c, 0), arg_given(c, 1) ? arg_text(c, 1) : "j");
    arg_error_help(c, 0, ERR_TYPE, arg_given(c, 1) ? help : NULL,
                   "rows, columns and values are wanted: sparse(i, j, v)");
}

static Coordinates coordinates(OpCall *c)
{
    int64_t shape[TENSOR_RANK_MAX];
    const int64_t *given = arg_given(c, 3) ? shape : NULL;
    if (!arg_given(c, 1) || !arg_given(c, 2))
        raise_incomplete(c);
    Tensor *row = positions(c, 0), *column = positions(c, 1);
    if (row->size != column->size)
        arg_error(c, 1, ERR_SHAPE, "%s and %s are of lengths %lld and %lld: a row and a column "
                  "for each entry", arg_text(c, 0), arg_text(c, 1), (long long)row->size,
                  (long long)column->size);
    if (given && arg_shape(c, 3, shape) != 2)
        arg_error(c, 3, ERR_SHAPE, "a sparse matrix has two axes: shape=(m, n)");
    for (int k = 0; k < 2 && given; k++)
        if (shape[k] < 0)
            arg_error(c, 3, ERR_VALUE, "axis %d of the shape is negative", k);
    Coordinates e = { row, column, values(c, 2, row->size), .count = row->size };
    e.m = extent(c, 0, row, given);
    e.n = extent(c, 1, column, given ? given + 1 : NULL);
    sparse_check_shape(&c->in->ctx, e.m, e.n);
    return e;
}

/* Values at equal places added up in the order in which they came. */
#define ADD_UP(name, type)                                                                     \
    static void name(void *to, const void *from, const int64_t *order, const int64_t *group,   \
                     int64_t count)                                                            \
    {                                                                                          \
        for (int64_t e = 0; e < count; e++) {                                                  \
            type sum = ((const type *)from)[order[group[e]]];                                  \
            for (int64_t k = group[e] + 1; k < group[e + 1]; k++)                              \
                sum += ((const type *)from)[order[k]];                                         \
            ((type *)to)[e] = sum;                                                             \
        }                                                                                      \
    }
ADD_UP(add_f64, double)
ADD_UP(add_f32, float)
ADD_UP(add_c128, double _Complex)
ADD_UP(add_c64, float _Complex)

typedef void AddUp(void *, const void *, const int64_t *, const int64_t *, int64_t);
static AddUp *adder(const Interp *in, DType dt)
{
    return in->scope ? NULL : dt == DT_F64 ? add_f64 : dt == DT_F32 ? add_f32
         : dt == DT_C128 ? add_c128 : dt == DT_C64 ? add_c64 : NULL;
}

/* ---- of any format ---- */
/* Elements of t at such places, each of a vector of its own: rooted. */
static Tensor *chosen(OpCall *c, const Tensor *t, const int64_t *at, int64_t count)
{
    Tensor *r = op_keep(c, tensor_new(&c->in->ctx, (DType)t->dtype, 1, &count));
    sparse_gather(&c->in->ctx, r->data, t->data, at, count, dtype_info((DType)t->dtype)->bytes);
    return r;
}

static void add_at(OpCall *c, Tensor *sum, const int64_t *at, Tensor *y)
{
    const size_t each = dtype_info((DType)sum->dtype)->bytes;
    Tensor *x = chosen(c, sum, at, y->size);
    x = as_vector(c, op_root(c, op_binary(c->in, op_operator(c->in, TK_ADD), v_tensor_raw(x),
                                          v_tensor_raw(y), 0)));
    if (x->dtype != sum->dtype)
        x = op_keep(c, tensor_cast(&c->in->ctx, x, (DType)sum->dtype));
    for (int64_t k = 0; k < x->size; k++)
        memcpy(sum->data + (size_t)at[k] * each, x->data + (size_t)k * each, each);
}

/* The second values of all places at once, then the third ones: sums as `+` has them in the scope
 * that is in force. Rooted. */
static Tensor *added_up(OpCall *c, const Tensor *value, const int64_t *order,
                        const int64_t *group, int64_t count)
{
    Tensor *list = op_keep(c, tensor_new(&c->in->ctx, DT_I64, 1, &(int64_t){ 2 * count }));
    int64_t *from = made_ints(list), *to = from + count;
    for (int64_t e = 0; e < count; e++) {
        from[e] = order[group[e]];
        to[e] = e;
    }
    Tensor *sum = chosen(c, value, from, count);
    Value *mark = c->in->sp;
    for (int64_t round = 1, n, all = count; ; round++, all = n) {
        n = 0;
        for (int64_t k = 0; k < all; k++)
            if (group[to[k] + 1] - group[to[k]] > round) {
                from[n] = order[group[to[k]] + round];
                to[n++] = to[k];
            }
        if (!n)
            return sum;
        poll_interrupt(c->in);
        add_at(c, sum, to, chosen(c, value, from, n));
        stack_cut(c->in, mark);
    }
}

static Tensor *of_formats(OpCall *c, const Coordinates *x)
{
    Ctx *ctx = &c->in->ctx;
    Made made = { 0 };
    SparseOrder o = sparse_sort(ctx, &made, x->m, x->n, made_ints(x->row), made_ints(x->column),
                                x->count);
    Tensor *order = op_keep(c, made_take(&made, o.order));
    Tensor *group = op_keep(c, made_take(&made, o.group));
    Tensor *pattern = op_keep(c, made_take(&made, o.pattern));
    made_end(ctx, &made);
    Tensor *sum = added_up(c, x->value, made_ints(order), made_ints(group), group->size - 1);
    return sparse_new(ctx, x->m, x->n, tensor_retain(pattern), tensor_retain(sum));
}

static Tensor *of_coordinates(OpCall *c, const Coordinates *x)
{
    Ctx *ctx = &c->in->ctx;
    Made made = { 0 };
    AddUp *add_up = adder(c->in, (DType)x->value->dtype);
    if (!add_up)
        return of_formats(c, x);
    const DType dt = (DType)x->value->dtype;
    SparseOrder o = sparse_sort(ctx, &made, x->m, x->n, made_ints(x->row), made_ints(x->column),
                                x->count);
    const int64_t *order = made_ints(o.order), *group = made_ints(o.group),
                  count = o.group->size - 1;
    Tensor *value = made_vector(ctx, &made, dt, count);
    add_up(value->data, x->value->data, order, group, count);
    return sparse_made(ctx, &made, x->m, x->n, o.pattern, value);
}

Value op_run_sparse(OpCall *c)
{
    if (!arg_given(c, 1) && !arg_given(c, 2) && !arg_given(c, 3))
        return v_retain(v_tensor_raw(arg_sparse(c, 0)->head));
    Coordinates x = coordinates(c);
    return v_tensor_raw(of_coordinates(c, &x));
}

Value op_run_speye(OpCall *c)
{
    Ctx *ctx = &c->in->ctx;
    const int64_t n = arg_int(c, 0), m = arg_given(c, 1) ? arg_int(c, 1) : n,
                  count = n < m ? n : m;
    const DType dt = arg_dtype(c, 2, DT_F64);
    if (n < 0 || m < 0)
        arg_error(c, n < 0 ? 0 : 1, ERR_VALUE, "a length cannot be negative");
    if (!sparse_dtype(dt))
        arg_error(c, 2, ERR_DTYPE, "sparse matrices are f64, f32, c128 or c64");
    sparse_check_shape(ctx, n, m);
    Made made = { 0 };
    Tensor *pattern = made_pattern(ctx, &made, n, count);
    Tensor *value = made_vector(ctx, &made, dt, count);
    int64_t *start = made_ints(pattern), one = 1;
    for (int64_t i = 0; i < n; i++)
        start[i + 1] = i < count ? i + 1 : count;
    for (int64_t k = 0; k < count; k++) {
        start[n + 1 + k] = k;
        v_store(ctx, dt, value->data + k * dtype_info(dt)->bytes, v_int(one));
    }
    return v_tensor_raw(sparse_made(ctx, &made, n, m, pattern, value));
}

/* ---- of diagonals ---- */
/* How many elements the diagonal of that offset has in an m x n matrix: 0, it is none of it. */
static int64_t diagonal(int64_t m, int64_t n, int64_t offset)
{
    if (offset <= -m || offset >= n)
        return 0;
    const int64_t down = offset < 0 ? m + offset : m, right = offset > 0 ? n - offset : n;
    return down < right ? down : right;
}

static Value diagonal_given(OpCall *c, int64_t k)
{
    const Value v = c->args[0];
    return v.tag == V_TUPLE ? v_retain(v.tuple->items[k])
         : op_call(c->in, op_named(c->in, "take"), (Value[]){ v, v_int(k), v_int(0) }, 3, 0);
}

typedef struct Diagonal { int64_t offset; const char *value; } Diagonal;

/* The elements of diagonal k, one after the other, in dt; rooted. */
static Diagonal read_diagonal(OpCall *c, const int64_t *shape, int64_t k, int64_t offset, DType dt)
{
    Ctx *ctx = &c->in->ctx;
    const int64_t n = diagonal(shape[0], shape[1], offset);
    Value v = op_root(c, diagonal_given(c, k));
    Tensor *t = op_keep(c, v_to_tensor(c->in, v, 0));
    char text[160];
    if (n == 0)
        arg_error(c, 1, ERR_VALUE, "there is no diagonal %lld in a %lld×%lld matrix",
                  (long long)offset, (long long)shape[0], (long long)shape[1]);
    if (t->rank > 1 || (t->rank == 1 && t->size != n))
        arg_error(c, 0, ERR_SHAPE, "diagonal %lld of a %lld×%lld matrix has %lld elements, and "
                  "what is given for it %s", (long long)offset, (long long)shape[0],
                  (long long)shape[1], (long long)n,
                  shape_fact(text, sizeof text, t->rank, tensor_shape(t)));
    t = op_keep(c, tensor_cast(ctx, t, dt));
    t = op_keep(c, tensor_compact(ctx, op_keep(c, tensor_broadcast(ctx, t, 1, &n))));
    tensor_home(ctx, t);
    return (Diagonal){ offset, t->data };
}

/* By offset, which is by column in every row. Raises where two are one. */
static void sort_diagonals(OpCall *c, Diagonal *d, int64_t count)
{
    for (int64_t k = 1; k < count; k++) {
        const Diagonal x = d[k];
        int64_t at = k;
        for (; at > 0 && d[at - 1].offset > x.offset; at--)
            d[at] = d[at - 1];
        d[at] = x;
        if (at > 0 && d[at - 1].offset == x.offset)
            arg_error(c, 1, ERR_VALUE, "two diagonals are given for offset %lld",
                      (long long)x.offset);
    }
}

static Tensor *of_diagonals(Ctx *ctx, const int64_t *shape, const Diagonal *d, int64_t count,
                            int64_t room, DType dt)
{
    const size_t each = dtype_info(dt)->bytes;
    Made made = { 0 };
    Tensor *pattern = made_pattern(ctx, &made, shape[0], room);
    Tensor *value = made_vector(ctx, &made, dt, room);
    int64_t *start = made_ints(pattern), *column = start + shape[0] + 1, to = 0;
    int64_t low = count, high = count;          /* those that meet row i move up the list */
    for (int64_t i = 0; i < shape[0]; i++) {
        while (low > 0 && d[low - 1].offset >= -i)
            low--;
        while (high > low && d[high - 1].offset >= shape[1] - i)
            high--;
        for (int64_t k = low; k < high; k++) {
            const int64_t j = i + d[k].offset, at = d[k].offset < 0 ? j : i;
            memcpy(value->data + (size_t)to * each, d[k].value + (size_t)at * each, each);
            column[to++] = j;
        }
        start[i + 1] = to;
    }
    return sparse_made(ctx, &made, shape[0], shape[1], pattern, value);
}

Value op_run_spdiags(OpCall *c)
{
    Ctx *ctx = &c->in->ctx;
    int64_t shape[TENSOR_RANK_MAX], room = 0;
    Tensor *at = positions(c, 1);
    const bool tuple = c->args[0].tag == V_TUPLE;
    const int64_t given = tuple ? c->args[0].tuple->count : sparse_operand(c, 0)->rank
                        ? sparse_operand(c, 0)->dims[0] : 0;
    if (arg_shape(c, 2, shape) != 2 || shape[0] < 0 || shape[1] < 0)
        arg_error(c, 2, ERR_SHAPE, "a sparse matrix has two axes: shape=(m, n)");
    sparse_check_shape(ctx, shape[0], shape[1]);
    if (given != at->size)
        arg_error(c, 1, ERR_SHAPE, "there are %lld diagonals and %lld offsets", (long long)given,
                  (long long)at->size);
    DType dt = DT_F64;
    for (int64_t k = 0; k < given; k++) {
        DType own = v_dtype(op_root(c, diagonal_given(c, k)));
        room += diagonal(shape[0], shape[1], made_ints(at)[k]);
        if (sparse_dtype(own) || c->in->scope)
            dt = k == 0 ? own : dtype_promote(dt, own);
    }
    const int64_t bytes = given * (int64_t)sizeof(Diagonal);
    Diagonal *d = (Diagonal *)op_keep(c, tensor_new(ctx, DT_U8, 1, &bytes))->data;
    for (int64_t k = 0; k < given; k++)
        d[k] = read_diagonal(c, shape, k, made_ints(at)[k], dt);
    sort_diagonals(c, d, given);
    return v_tensor_raw(of_diagonals(ctx, shape, d, given, room, dt));
}

/* ---- taken apart ---- */
/* Operand 0 is a tensor or a number. */
static void check_numbers(OpCall *c)
{
    if (c->args[0].tag != V_TENSOR && !v_is_numeric(c->args[0]))
        (void)arg_tensor(c, 0);
}

Value op_run_issparse(OpCall *c)
{
    return v_bool(v_sparse(c->args[0]) != NULL);
}

Value op_run_dense(OpCall *c)
{
    const Sparse *s = v_sparse(c->args[0]);
    if (s)
        return v_tensor_raw(sparse_to_dense(&c->in->ctx, s));
    check_numbers(c);
    return v_retain(c->args[0]);
}

Value op_run_nnz(OpCall *c)
{
    const Sparse *s = v_sparse(c->args[0]);
    if (s)
        return v_int(s->value->size);
    const Op *differs = op_named(c->in, "not_equal");
    Value x = c->args[0].tag == V_TENSOR ? c->args[0] : v_tensor_raw(sparse_operand(c, 0));
    Value some = op_root(c, op_binary(c->in, differs, x, v_int(0), 2));
    return op_unary(c->in, op_named(c->in, "sum"), some, 0);
}

Value op_sparse_nonzero(OpCall *c)
{
    Interp *in = c->in;
    Value own[] = { c->args[0], v_undef() };
    Value some = op_root(c, op_call(in, op_named(in, "prune"), own, 2, 0));
    Value e = op_root(c, op_unary(in, op_named(in, "entries"), some, 0));
    Tuple *places = tuple_new(&in->ctx, 2);
    for (int axis = 0; axis < 2; axis++)
        places->items[axis] = v_retain(e.tuple->items[axis]);
    return v_tuple(places);
}

Value op_sparse_full(OpCall *c)
{
    char help[160];
    const int first = c->fixed;
    if (c->count != first + 1 || !v_sparse(c->args[first]))
        return v_undef();
    snprintf(help, sizeof help, "dense(%s)", arg_text(c, first));
    arg_error_help(c, first, ERR_TYPE, help, "a shape and a value are wanted");
}

Value op_run_entries(OpCall *c)
{
    Ctx *ctx = &c->in->ctx;
    const Sparse *s = arg_sparse(c, 0);
    const Csr a = sparse_csr(s);
    Tensor *rows = op_keep(c, tensor_new(ctx, DT_I64, 1, &a.entries));
    Tensor *columns = op_keep(c, tensor_new(ctx, DT_I64, 1, &a.entries));
    for (int64_t i = 0; i < a.m; i++)
        for (int64_t k = a.start[i]; k < a.start[i + 1]; k++)
            made_ints(rows)[k] = i;
    memcpy(columns->data, a.column, (size_t)a.entries * sizeof *a.column);
    return tuple_make(c->in, "rows", op_result(c, rows), "columns", op_result(c, columns),
                      "values", v_retain(sparse_values(s)), NULL);
}

/* The entries of s but those to drop. */
static Tensor *kept(Ctx *ctx, const Sparse *s, const uint8_t *drop)
{
    const Csr a = sparse_csr(s);
    const size_t each = dtype_info(a.dtype)->bytes;
    Made made = { 0 };
    int64_t count = 0, to = 0;
    for (int64_t k = 0; k < a.entries; k++)
        count += !drop[k];
    Tensor *pattern = made_pattern(ctx, &made, a.m, count);
    Tensor *value = made_vector(ctx, &made, a.dtype, count);
    int64_t *start = made_ints(pattern), *column = start + a.m + 1;
    for (int64_t i = 0; i < a.m; i++) {
        for (int64_t k = a.start[i]; k < a.start[i + 1]; k++)
            if (!drop[k]) {
                memcpy(value->data + (size_t)to * each, (const char *)a.value + (size_t)k * each,
                       each);
                column[to++] = a.column[k];
            }
        start[i + 1] = to;
    }
    return sparse_made(ctx, &made, a.m, a.n, pattern, value);
}

/* nan is no number that is small: !(|x| <= tol). */
Value op_run_prune(OpCall *c)
{
    Interp *in = c->in;
    const Sparse *s = v_sparse(c->args[0]);
    if (arg_given(c, 1))
        (void)arg_float(c, 1);                      /* it is one number */
    if (!s) {
        check_numbers(c);
        return v_retain(c->args[0]);
    }
    Value size = op_root(c, op_unary(in, op_named(in, "abs"), sparse_values(s), 0));
    Value small = op_root(c, op_binary(in, op_named(in, "less_equal"), size,
                                       arg_given(c, 1) ? c->args[1] : v_float(0), 0));
    Tensor *drop = op_keep(c, tensor_compact(&in->ctx, op_keep(c, v_to_tensor(in, small, 0))));
    tensor_home(&in->ctx, drop);
    return v_tensor_raw(kept(&in->ctx, s, (const uint8_t *)drop->data));
}
