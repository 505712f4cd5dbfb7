/* Rows of linear algebra on sparse matrices that take them apart: solve, det, slogdet, chol, lu,
 * qr, condest, lstsq (kernels/elimination does it). */
#include "builtins/sparse/sparse_factor.h"

#include "builtins/linalg/linalg.h"
#include "builtins/sparse/sparse_format.h"
#include "kernels/cast/tensor_cast.h"
#include "kernels/elimination/own.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- right sides ---- */
typedef struct Sides {
    Tensor *b;                   /* columns one after the other, in the dtype; rooted */
    int64_t columns;
    bool vector;
    DType given;                 /* of solutions */
} Sides;

static void check_rows(OpCall *c, const Tensor *b)
{
    char sa[96], sb[96], help[160];
    const Tensor *a = c->args[0].tensor;
    if (b->rank == 0)
        arg_error(c, 1, ERR_SHAPE, "the right side must have %lld rows, but %s is a scalar",
                  (long long)a->dims[0], arg_text(c, 1));
    if (b->dims[0] == a->dims[0])
        return;
    snprintf(help, sizeof help, "transpose the right side: %s \\ %s'", arg_text(c, 0),
             arg_text(c, 1));
    const bool turn = b->rank == 2 && b->dims[1] == a->dims[0];
    arg_error_help(c, 1, ERR_SHAPE, turn ? help : NULL,
                   "%s is %s and %s is %s: their rows must be as many", arg_text(c, 0),
                   linalg_extent(sa, sizeof sa, a), arg_text(c, 1),
                   linalg_extent(sb, sizeof sb, b));
}

/* Operand 1, dense. */
static Tensor *right_side(OpCall *c)
{
    char label[64];
    if (!v_sparse(c->args[1]))
        return sparse_operand(c, 1);
    Value v = op_root(c, sparse_dense_for(c->in, c->args[1],
                                          op_label(c->op, label, sizeof label)));
    return op_keep(c, v_to_tensor(c->in, v, 0));
}

static Sides sides_of(OpCall *c, Tensor *b, DType dt)
{
    Ctx *ctx = &c->in->ctx;
    Sides s = { .vector = b->rank == 1, .columns = b->rank == 1 ? 1 : b->dims[1] };
    const DType both = dtype_promote((DType)v_sparse(c->args[0])->value->dtype, (DType)b->dtype);
    s.given = !c->in->scope && dtype_half(both) ? both : dt;
    b = op_keep(c, tensor_cast(ctx, b, dt));
    tensor_home(ctx, b);
    if (!s.vector) {
        const int64_t *step = tensor_strides(b), turned[2] = { b->dims[1], b->dims[0] };
        const int64_t steps[2] = { step[1], step[0] };
        b = op_keep(c, tensor_view(ctx, b, 2, turned, steps, b->data));
    }
    s.b = op_keep(c, tensor_compact(ctx, b));
    tensor_home(ctx, s.b);
    return s;
}

/* Rows of `rows` elements as the columns that they are; a vector as it is. */
static Value solution(OpCall *c, const Sides *s, Tensor *x, int64_t rows)
{
    x = op_keep(c, tensor_cast(&c->in->ctx, x, s->given));
    if (s->vector)
        return op_result(c, x);
    const int64_t shape[2] = { rows, s->columns }, steps[2] = { 1, rows < 1 ? 1 : rows };
    return v_tensor_raw(tensor_view(&c->in->ctx, x, 2, shape, steps, x->data));
}

static Tensor *solved(OpCall *c, Elimination *e, const Sides *s)
{
    const int64_t shape[2] = { s->columns, e->n };
    Tensor *x = s->vector ? tensor_new(&c->in->ctx, e->dtype, 1, shape + 1)
                          : tensor_new(&c->in->ctx, e->dtype, 2, shape);
    op_keep(c, x);
    if (e->n > 0 && e->m > 0 && s->columns > 0)
        elimination_solve(&c->in->ctx, e, false, s->columns, s->b->data, x->data);
    else
        memset(x->data, 0, (size_t)x->size * dtype_info(e->dtype)->bytes);
    return x;
}

/* ---- solve ---- */
Value op_sparse_solve(OpCall *c)
{
    bool kept;
    if (!v_sparse(c->args[0]))
        return v_undef();
    Tensor *b = right_side(c);
    Scope implied, *format = sparse_format_scope(c, b, &implied);
    if (format) {
        check_rows(c, b);
        return sparse_format_solve(c, format, b);
    }
    const DType dt = b->rank > 2 ? DT_NONE : sparse_factor_dtype(c, b);
    if (dt == DT_NONE)
        return v_undef();
    check_rows(c, b);
    Elimination *e = sparse_factor(c, dt, ELIMINATION_ANY, &kept);
    if (e->failed >= 0)
        sparse_singular(c, e);
    const Sides s = sides_of(c, b, dt);
    Tensor *x = solved(c, e, &s);
    if (heard_on(c->in))
        sparse_factor_explain(c, e, kept, s.columns, s.b->data, x->data);
    sparse_factor_notice(c, e, "the solution");
    return solution(c, &s, x, e->n);
}

/* ---- least squares ---- */
/* |A x - b| of each column. */
static Value residuals(OpCall *c, Value x, Value b)
{
    Interp *in = c->in;
    Value product = op_root(c, op_binary(in, op_named(in, "matmul"), c->args[0], x, 0));
    Value rest = op_root(c, op_binary(in, op_named(in, "subtract"), product, b, 0));
    if (x.tensor->rank == 1)
        return op_unary(in, op_named(in, "norm"), rest, 0);
    return op_call(in, op_named(in, "norm"), (Value[]){ rest, v_undef(), v_int(0) }, 3, 0);
}

Value op_sparse_lstsq(OpCall *c)
{
    bool kept;
    if (!v_sparse(c->args[0]) || arg_given(c, 2))
        return v_undef();
    Tensor *b = right_side(c);
    const DType dt = b->rank > 2 ? DT_NONE : sparse_factor_dtype(c, b);
    if (dt == DT_NONE)
        return v_undef();
    check_rows(c, b);
    Elimination *e = sparse_factor(c, dt, ELIMINATION_QR, &kept);
    const Sides s = sides_of(c, b, dt);
    Tensor *t = solved(c, e, &s);
    if (heard_on(c->in))
        sparse_factor_explain(c, e, kept, s.columns, s.b->data, t->data);
    sparse_factor_notice(c, e, "the solution");
    Value x = op_root(c, solution(c, &s, t, e->n));
    Value rest = op_root(c, residuals(c, x, c->args[1]));
    return tuple_make(c->in, "x", v_retain(x), "residual", v_retain(rest), "rank",
                      v_int(e->rank), NULL);
}

/* ---- determinants ---- */
static void check_square(OpCall *c)
{
    char shape[96];
    const Tensor *a = c->args[0].tensor;
    if (a->dims[0] != a->dims[1])
        arg_error(c, 0, ERR_SHAPE, "%s must be square, not %s", arg_text(c, 0),
                  linalg_extent(shape, sizeof shape, a));
}

static Value number(OpCall *c, DType dt, double re, double im)
{
    Tensor *t = op_keep(c, tensor_new(&c->in->ctx, dt, 0, NULL));
    own_ops(dt)->put(t->data, 0, re, im);
    return op_result(c, t);
}

/* False: not of such numbers. */
static bool det_of(OpCall *c, DType *dt, EliminationDet *d)
{
    bool kept;
    *dt = sparse_factor_dtype(c, NULL);
    if (*dt == DT_NONE)
        return false;
    check_square(c);
    Elimination *e = sparse_factor(c, *dt, ELIMINATION_ANY, &kept);
    *d = elimination_det(&c->in->ctx, e);
    if (heard_on(c->in))
        sparse_factor_explain(c, e, kept, 0, NULL, NULL);
    return true;
}

Value op_sparse_det(OpCall *c)
{
    DType dt;
    EliminationDet d;
    Scope implied, *format = sparse_format_scope(c, NULL, &implied);
    if (format)
        return sparse_format_det(c, format);
    if (!det_of(c, &dt, &d))
        return v_undef();
    const int e = d.exponent > 5000 ? 5000 : d.exponent < -5000 ? -5000 : (int)d.exponent;
    return number(c, dt, scalbn(d.re, e), scalbn(d.im, e));
}

Value op_sparse_slogdet(OpCall *c)
{
    DType dt;
    EliminationDet d;
    Scope implied, *format = sparse_format_scope(c, NULL, &implied);
    if (format)
        return sparse_format_slogdet(c, format);
    if (!det_of(c, &dt, &d))
        return v_undef();
    const double size = hypot(d.re, d.im), half = size == 0 ? 1 : size;
    Value sign = op_root(c, number(c, dt, d.re / half, d.im / half));
    const double ln2 = 0.69314718055994530942;
    Value logs = op_root(c, number(c, dtype_real(dt), log(size) + d.exponent * ln2, 0));
    return tuple_make(c->in, "sign", v_retain(sign), "logdet", v_retain(logs), NULL);
}

/* ---- factors ---- */
/* Those of one method, as values on the value stack. */
static Elimination *factors(OpCall *c, EliminationMethod method, Value out[4])
{
    bool kept;
    const DType dt = sparse_factor_dtype(c, NULL);
    if (dt == DT_NONE)
        return NULL;
    Elimination *e = sparse_factor(c, dt, method, &kept);
    if (heard_on(c->in))
        sparse_factor_explain(c, e, false, 0, NULL, NULL);
    if (e->method != method || e->failed >= 0)
        return e;
    EliminationParts f = elimination_parts(&c->in->ctx, e);
    Tensor *const all[] = { f.l, f.u, f.p, f.q };
    for (int i = 0; i < 4; i++)
        if (all[i])
            out[i] = op_root(c, v_tensor_raw(all[i]));
    return e;
}

Value op_sparse_chol(OpCall *c)
{
    Value f[4];
    if (!v_sparse(c->args[0]))
        return v_undef();
    check_square(c);
    Elimination *e = factors(c, ELIMINATION_CHOLESKY, f);
    if (!e)
        return v_undef();
    if (!e->hermitian)
        arg_error_help(c, 0, ERR_VALUE, "lu(A) takes any square matrix", "%s is not %s",
                       arg_text(c, 0),
                       dtype_info(e->dtype)->kind == 'c' ? "Hermitian" : "symmetric");
    if (e->method != ELIMINATION_CHOLESKY)
        arg_error(c, 0, ERR_NUMERIC, "%s is not positive definite: the pivot of row %lld is not "
                  "positive", arg_text(c, 0), (long long)e->not_definite - 1);
    return tuple_make(c->in, "L", v_retain(f[0]), "p", v_retain(f[2]), NULL);
}

Value op_sparse_lu(OpCall *c)
{
    Value f[4];
    if (!v_sparse(c->args[0]))
        return v_undef();
    Scope implied, *format = sparse_format_scope(c, NULL, &implied);
    if (format)
        return sparse_format_lu(c, format);
    check_square(c);
    Elimination *e = factors(c, ELIMINATION_LU, f);
    if (!e)
        return v_undef();
    if (e->failed >= 0)
        sparse_singular(c, e);
    return tuple_make(c->in, "L", v_retain(f[0]), "U", v_retain(f[1]), "p", v_retain(f[2]), "q",
                      v_retain(f[3]), NULL);
}

/* Q is not formed: it would be dense. */
Value op_sparse_qr(OpCall *c)
{
    Value f[4];
    if (!v_sparse(c->args[0]) || arg_given(c, 1) || arg_given(c, 2))
        return v_undef();
    const Tensor *a = c->args[0].tensor;
    if (a->dims[0] < a->dims[1])
        return v_undef();
    if (!factors(c, ELIMINATION_QR, f))
        return v_undef();
    return tuple_make(c->in, "R", v_retain(f[1]), "p", v_retain(f[3]), NULL);
}

Value op_sparse_condest(OpCall *c)
{
    bool kept;
    const DType dt = sparse_factor_dtype(c, NULL);
    if (dt == DT_NONE)
        return v_undef();
    check_square(c);
    Elimination *e = sparse_factor(c, dt, ELIMINATION_ANY, &kept);
    const double rcond = elimination_rcond(&c->in->ctx, e);
    return number(c, dtype_real(dt), e->n == 0 ? 0 : 1 / rcond, 0);
}
