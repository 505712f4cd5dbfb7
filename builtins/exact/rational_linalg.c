/* Linear algebra of rationals, exact: the forms of the linear algebra rows for rational
 * operands, by elimination without fractions (kernels/rational/rational_linalg.c). Stacks of
 * matrices are taken one by one from a contiguous copy. */
#include "builtins/exact/rational.h"
#include "builtins/rows/rows.h"

#include "core/base/error.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

/* Argument i as matrices, contiguous. */
typedef struct Batch {
    Tensor *t;
    int64_t m, n, count;
    int rank;                    /* leading axes */
} Batch;

/* Minors of a matrix of ones and zeros may have so many bits (Hadamard's bound); an
 * elimination that could not hold them is refused before anything is copied. */
static void require_room(OpCall *c, int i)
{
    Tensor *t = arg_tensor(c, i);
    if (t->rank < 2)
        return;
    double m = (double)tensor_shape(t)[t->rank - 2], n = (double)tensor_shape(t)[t->rank - 1];
    double order = m < n ? m : n, bits = order * log2(order + 1) / 2;
    double needed = m * n * (sizeof(mpz_t) + 32 + 2 * bits / 8);
    char help[192];
    if (c->op->infix)
        snprintf(help, sizeof help, "f64(%s) %s … computes with floats", arg_text(c, i),
                 c->op->infix);
    else
        snprintf(help, sizeof help, "%s(f64(%s)) computes with floats", c->op->name,
                 arg_text(c, i));
    if (needed > (double)c->in->ctx.mem.limit / 2)
        arg_error_help(c, i, ERR_MEMORY, help, "the exact elimination of %s may take %.0f GB",
                       arg_text(c, i), needed / 1e9);
}

static Batch batch_of(OpCall *c, int i)
{
    require_room(c, i);
    Tensor *t = op_keep(c, tensor_compact(&c->in->ctx, exact_tensor(c, i)));
    if (t->rank < 2) {
        char help[160];
        snprintf(help, sizeof help, "as a column: %s[:, none]", arg_text(c, i));
        arg_error_help(c, i, ERR_SHAPE, t->rank == 1 ? help : NULL, "%s must be a matrix, not a %s",
                       arg_text(c, i), t->rank == 1 ? "vector" : "scalar");
    }
    Batch b = { .t = t, .rank = t->rank - 2, .count = 1 };
    b.m = tensor_shape(t)[b.rank];
    b.n = tensor_shape(t)[b.rank + 1];
    for (int d = 0; d < b.rank; d++)
        b.count *= tensor_shape(t)[d];
    return b;
}

static Batch square_of(OpCall *c, int i)
{
    Batch b = batch_of(c, i);
    char shape[96];
    if (b.m != b.n)
        arg_error(c, i, ERR_SHAPE, "%s must be square, not %s", arg_text(c, i),
                  shape_text(shape, sizeof shape, b.t->rank, tensor_shape(b.t)));
    return b;
}

static RationalMat item(const Batch *b, int64_t i)
{
    return (RationalMat){ exact_data(b->t) + i * b->m * b->n, b->n, 1 };
}

/* Blocks of rows x cols over the batch; cols < 0: vectors, rows < 0: scalars. */
static Tensor *batch_out(OpCall *c, const Batch *b, DType dt, int64_t rows, int64_t cols)
{
    int64_t shape[TENSOR_RANK_MAX];
    int rank = b->rank;
    memcpy(shape, tensor_shape(b->t), (size_t)rank * sizeof *shape);
    if (rows >= 0)
        shape[rank++] = rows;
    if (cols >= 0)
        shape[rank++] = cols;
    return op_keep(c, tensor_new(&c->in->ctx, dt, rank, shape));
}

static void check_solved(OpCall *c, RationalStatus s, int64_t column)
{
    char help[128];
    poll_interrupt(c->in);
    snprintf(help, sizeof help, "rref(%s) shows which columns depend on others", arg_text(c, 0));
    if (s == RATIONAL_SINGULAR)
        arg_error_help(c, 0, ERR_NUMERIC, help,
                       "%s is singular: column %lld depends on those before it", arg_text(c, 0),
                       (long long)column);
    exact_check(c, s);
}

/* ---- determinants, inverses, rank ---- */

Value op_exact_det(OpCall *c)
{
    Batch a = square_of(c, 0);
    Tensor *out = batch_out(c, &a, DT_RATIONAL, -1, -1);
    for (int64_t i = 0; i < a.count; i++)
        exact_check(c, rational_det(&c->in->ctx, a.n, item(&a, i), &exact_data(out)[i]));
    return op_result(c, out);
}

Value op_exact_inv(OpCall *c)
{
    Batch a = square_of(c, 0);
    Tensor *out = batch_out(c, &a, DT_RATIONAL, a.n, a.n);
    int64_t column = 0;
    for (int64_t i = 0; i < a.count; i++) {
        RationalStatus s = rational_solve(&c->in->ctx, a.n, a.n, item(&a, i),
                                          (RationalMat){ NULL, 0, 0 },
                                          exact_data(out) + i * a.n * a.n, &column);
        check_solved(c, s, column);
    }
    return op_result(c, out);
}

static int64_t *pivot_space(OpCall *c, const Batch *a)
{
    int64_t k = a->m < a->n ? a->m : a->n;
    return (int64_t *)(void *)op_keep(c, tensor_new(&c->in->ctx, DT_I64, 1, &k))->data;
}

Value op_exact_rank(OpCall *c)
{
    Batch a = batch_of(c, 0);
    if (arg_given(c, 1) && c->args[1].tag != V_NONE)
        arg_error(c, 1, ERR_VALUE, "the rank of rationals is exact: it takes no rtol");
    Tensor *out = batch_out(c, &a, DT_I64, -1, -1);
    for (int64_t i = 0; i < a.count; i++)
        exact_check(c, rational_rref(&c->in->ctx, a.m, a.n, item(&a, i), NULL,
                                     &((int64_t *)(void *)out->data)[i], NULL));
    return op_result(c, out);
}

Value op_exact_rref(OpCall *c)
{
    Batch a = batch_of(c, 0);
    Tensor *out = batch_out(c, &a, DT_RATIONAL, a.m, a.n);
    int64_t rank;
    for (int64_t i = 0; i < a.count; i++)
        exact_check(c, rational_rref(&c->in->ctx, a.m, a.n, item(&a, i),
                                     exact_data(out) + i * a.m * a.n, &rank, NULL));
    return op_result(c, out);
}

/* A column per free variable: 1 in its place, minus the reduced form's column elsewhere. */
Value op_exact_null(OpCall *c)
{
    Ctx *ctx = &c->in->ctx;
    Batch a = batch_of(c, 0);
    int64_t rank, *pivots = pivot_space(c, &a);
    if (a.rank)
        arg_error(c, 0, ERR_SHAPE,
                  "%s must be one matrix: the width of the result depends on its rank",
                  arg_text(c, 0));
    if (arg_given(c, 1) && c->args[1].tag != V_NONE)
        arg_error(c, 1, ERR_VALUE, "the null space of rationals is exact: it takes no rtol");
    Tensor *r = batch_out(c, &a, DT_RATIONAL, a.m, a.n);
    exact_check(c, rational_rref(ctx, a.m, a.n, item(&a, 0), exact_data(r), &rank, pivots));
    int64_t width = a.n - rank, row = 0, at = 0;
    Tensor *out = batch_out(c, &a, DT_RATIONAL, a.n, width);
    for (int64_t j = 0; j < a.n; j++) {
        if (row < rank && pivots[row] == j) {
            row++;
            continue;
        }
        exact_data(out)[j * width + at] = rational_int(1);
        for (int64_t k = 0; k < row; k++)
            exact_check(c, rational_neg(ctx, &exact_data(out)[pivots[k] * width + at],
                                        exact_data(r)[k * a.n + j]));
        at++;
    }
    return op_result(c, out);
}

/* ---- systems ---- */

static Value call2(OpCall *c, const char *name, Value a, Value b)
{
    return op_root(c, op_binary(c->in, op_named(c->in, name), a, b, 0));
}

/* Least squares by the normal equations, which cost digits only where there is rounding;
 * of a wide A the solution of least norm, A' (A A')^-1 b. */
static Value least_squares(OpCall *c, const Batch *a)
{
    Value A = v_tensor_raw(a->t), b = v_tensor_raw(exact_tensor(c, 1));
    Value At = op_root(c, v_tensor_raw(tensor_transpose_last(&c->in->ctx, a->t)));
    bool tall = a->m > a->n;
    Value gram = tall ? call2(c, "matmul", At, A) : call2(c, "matmul", A, At);
    Value args[1] = { gram };
    Value rank = op_call(c->in, op_named(c->in, "rank"), args, 1, 0);
    int64_t full = tall ? a->n : a->m;
    char help[192];
    snprintf(help, sizeof help, "lstsq(f64(%s), f64(%s)) gives the one of least norm, in floats",
             arg_text(c, 0), arg_text(c, 1));
    if (rank.tag != V_INT || rank.i < full)
        arg_error_help(c, 0, ERR_NUMERIC, help,
                       "%s has rank %lld, less than %lld: its exact least-squares solution is not "
                       "unique",
                       arg_text(c, 0), rank.tag == V_INT ? (long long)rank.i : 0, (long long)full);
    Value x = tall ? call2(c, "solve", gram, call2(c, "matmul", At, b))
                   : call2(c, "matmul", At, call2(c, "solve", gram, b));
    return v_retain(x);
}

_Noreturn static void rows_differ(OpCall *c, const Batch *a, const Tensor *b)
{
    char sa[96], sb[96];
    arg_error(c, 1, ERR_SHAPE, "%s %s and %s %s: their rows must be as many", arg_text(c, 0),
              shape_fact(sa, sizeof sa, a->t->rank, tensor_shape(a->t)), arg_text(c, 1),
              shape_fact(sb, sizeof sb, b->rank, tensor_shape(b)));
}

/* b broadcast over a's leading axes and back; a vector is one column. */
Value op_exact_solve(OpCall *c)
{
    Ctx *ctx = &c->in->ctx;
    Batch a = batch_of(c, 0);
    Tensor *b = exact_tensor(c, 1);
    int64_t shape[TENSOR_RANK_MAX + 2], column = 0;
    int bad, tail = b->rank == 1 ? 1 : 2, lead = b->rank - tail;
    if (b->rank == 0 || tensor_shape(b)[lead] != a.m)
        rows_differ(c, &a, b);
    if (a.m != a.n && a.rank == 0 && lead == 0)
        return least_squares(c, &a);
    if (a.m != a.n)
        square_of(c, 0);
    int rank = shape_broadcast(a.rank, tensor_shape(a.t), lead, tensor_shape(b), shape, &bad);
    if (rank < 0)
        arg_error(c, 1, ERR_SHAPE, "the leading axes of %s and %s do not broadcast", arg_text(c, 0),
                  arg_text(c, 1));
    int64_t cols = tail == 1 ? 1 : tensor_shape(b)[lead + 1],
            count = shape_checked(ctx, rank, shape);
    memcpy(shape + rank, tensor_shape(b) + lead, (size_t)tail * sizeof *shape);
    b = op_keep(c, tensor_compact(ctx, op_keep(c, tensor_broadcast(ctx, b, rank + tail, shape))));
    Tensor *out = op_keep(c, tensor_new(ctx, DT_RATIONAL, rank + tail, shape));
    memcpy(shape + rank, (int64_t[]){ a.m, a.n }, 2 * sizeof *shape);
    a.t = op_keep(c, tensor_compact(ctx, op_keep(c, tensor_broadcast(ctx, a.t, rank + 2, shape))));
    for (int64_t i = 0; i < count; i++) {
        RationalMat right = { exact_data(b) + i * a.n * cols, cols, 1 };
        RationalStatus s = rational_solve(ctx, a.n, cols, item(&a, i), right,
                                          exact_data(out) + i * a.n * cols, &column);
        check_solved(c, s, column);
    }
    return op_result(c, out);
}

/* ---- factors and powers ---- */

Value op_exact_lu(OpCall *c)
{
    Ctx *ctx = &c->in->ctx;
    Batch a = batch_of(c, 0);
    int64_t m = a.m, n = a.n, k = m < n ? m : n, size = m * n;
    Tensor *P = batch_out(c, &a, DT_RATIONAL, m, m), *L = batch_out(c, &a, DT_RATIONAL, m, k);
    Tensor *U = batch_out(c, &a, DT_RATIONAL, k, n);
    Tensor *both = op_keep(c, tensor_new(ctx, DT_RATIONAL, 1, &size));
    int64_t *perm = (int64_t *)(void *)op_keep(c, tensor_new(ctx, DT_I64, 1, &m))->data;
    for (int64_t b = 0; b < a.count; b++) {
        exact_check(c, rational_lu(ctx, m, n, item(&a, b), exact_data(both), perm));
        for (int64_t i = 0; i < m; i++) {
            exact_data(P)[(b * m + perm[i]) * m + i] = rational_int(1);
            for (int64_t j = 0; j < n; j++) {
                Rational v = exact_data(both)[i * n + j];
                if (j < i && j < k)
                    exact_data(L)[(b * m + i) * k + j] = v;
                else if (i < k && j >= i)
                    exact_data(U)[(b * k + i) * n + j] = v;
            }
            if (i < k)
                exact_data(L)[(b * m + i) * k + i] = rational_int(1);
        }
    }
    return tuple_make(c->in, "P", op_result(c, P), "L", op_result(c, L), "U", op_result(c, U),
                      NULL);
}

Value op_exact_matpow(OpCall *c)
{
    Ctx *ctx = &c->in->ctx;
    Batch a = square_of(c, 0);
    int64_t power = arg_int(c, 1);
    Value base = v_tensor_raw(a.t), result = v_undef();
    if (power < 0)
        base = op_root(c, op_unary(c->in, op_named(c->in, "inv"), base, 0));
    for (uint64_t p = power < 0 ? -(uint64_t)power : (uint64_t)power; p; p >>= 1) {
        if (p & 1)
            result = result.tag == V_UNDEF ? base : call2(c, "matmul", result, base);
        if (p > 1)
            base = call2(c, "matmul", base, base);
    }
    if (result.tag != V_UNDEF)
        return v_retain(result);
    Tensor *eye = op_keep(c, tensor_zeros(ctx, DT_RATIONAL, a.t->rank, tensor_shape(a.t)));
    for (int64_t i = 0; i < a.count * a.n; i++)
        exact_data(eye)[i * a.n + i % a.n] = rational_int(1);
    return op_result(c, eye);
}
