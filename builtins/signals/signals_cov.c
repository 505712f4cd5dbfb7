/* cov and corrcoef: variables become the rows of one matrix, which is centred, weighted and
 * multiplied by its own conjugate transpose through the rows of those names. */
#include "builtins/signals/signals.h"
#include "kernels/reduce/reduce_complex.h"
#include "interp/output/output.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* A row of the registry on two values; the result is rooted. */
static Value apply(OpCall *c, const char *name, Value a, Value b)
{
    return op_root(c, op_binary(c->in, op_named(c->in, name), a, b, 0));
}

static Tensor *as_tensor(OpCall *c, Value v) { return op_keep(c, v_to_tensor(c->in, v, 0)); }

/* The axis summed away, but kept with length 1. */
static Value over_rows(OpCall *c, const char *name, Value x)
{
    Value args[3] = { x, v_int(1), v_bool(true) };
    return op_root(c, op_call(c->in, op_named(c->in, name), args, 3, 0));
}

/* Argument i with variables in rows and observations in columns. */
static Tensor *variables(OpCall *c, int i, bool rowvar)
{
    Tensor *t = arg_tensor(c, i);
    char fact[128];
    if (t->rank > 2)
        arg_error(c, i, ERR_SHAPE, "%s must be a matrix of variables, or a vector, but it %s",
                  arg_text(c, i), shape_fact(fact, sizeof fact, t->rank, tensor_shape(t)));
    if (t->rank == 2)
        return rowvar ? t : op_keep(c, tensor_transpose_last(&c->in->ctx, t));
    int64_t shape[2] = { 1, t->size }, strides[2] = { 0, t->rank ? tensor_strides(t)[0] : 0 };
    return op_keep(c, tensor_view(&c->in->ctx, t, 2, shape, strides, t->data));
}

static Tensor *joined(OpCall *c, Tensor *m, Tensor *y)
{
    if (tensor_shape(m)[1] != tensor_shape(y)[1]) {
        Error *e = err_new(&c->in->ctx, ERR_SHAPE, "%s: %s has %lld observations but %s has %lld",
                           c->op->name, arg_text(c, 0), (long long)tensor_shape(m)[1],
                           arg_text(c, 1), (long long)tensor_shape(y)[1]);
        err_underline(e, 0);
        err_underline(e, 1);
        err_throw(e);
    }
    Value args[3] = { v_int(0), v_tensor_raw(m), v_tensor_raw(y) };
    return as_tensor(c, op_root(c, op_call(c->in, op_named(c->in, "concat"), args, 3, 0)));
}

static Tensor *read_variables(OpCall *c, bool rowvar, DType *given)
{
    Tensor *m = variables(c, 0, rowvar);
    if (arg_given(c, 1))
        m = joined(c, m, variables(c, 1, rowvar));
    *given = dtype_info(m->dtype)->kind == 'b' || dtype_info(m->dtype)->kind == 'i' ? DT_F64
                                                                                  : (DType)m->dtype;
    return signals_cast(c, m, signals_compute_dtype(*given));
}

/* ---- weights ---- */

typedef struct Weights {
    Tensor *w;                   /* f64, one per observation; NULL: all 1 */
    double sum, sum_analytic;    /* of w, and of w * aweights */
    bool analytic;
} Weights;

static Tensor *weight_argument(OpCall *c, int i, int64_t n)
{
    if (!arg_given(c, i))
        return NULL;
    Tensor *given = arg_tensor(c, i), *w = signals_vector(c, i, DT_F64);
    if (w->size != n)
        arg_error(c, i, ERR_SHAPE, "%lld weights for %lld observations", (long long)w->size,
                  (long long)n);
    for (int64_t k = 0; k < n; k++) {
        double v = ((const double *)w->data)[k];
        if (!(v >= 0))
            arg_error(c, i, ERR_VALUE, "weights are not negative, but %s[%lld] is %g",
                      arg_text(c, i), (long long)k, v);
    }
    if (i == 5 && dtype_info(given->dtype)->kind == 'f')
        arg_error_help(c, i, ERR_TYPE, "aweights= takes weights of any size",
                       "fweights counts observations in ints, and %s is %s", arg_text(c, i),
                       dtype_name(given->dtype));
    return w;
}

static Weights read_weights(OpCall *c, int64_t n)
{
    Weights w = { .sum = (double)n };
    if (c->count <= 5)
        return w;
    Tensor *f = weight_argument(c, 5, n), *a = weight_argument(c, 6, n);
    if (!f && !a)
        return w;
    w.analytic = a != NULL;
    w.sum = 0;
    w.w = op_keep(c, tensor_new(&c->in->ctx, DT_F64, 1, &n));
    double *out = (double *)w.w->data;
    for (int64_t k = 0; k < n; k++) {
        double by = a ? ((const double *)a->data)[k] : 1;
        out[k] = (f ? ((const double *)f->data)[k] : 1) * by;
        w.sum += out[k];
        w.sum_analytic += out[k] * by;
    }
    return w;
}

/* What sums of products are divided by (NumPy's rule). */
static double divisor(OpCall *c, const Weights *w)
{
    double ddof = arg_bool(c, 3, false) ? 0 : 1, by;
    if (c->count > 4 && arg_given(c, 4))
        ddof = arg_float(c, 4);
    by = w->sum - (w->analytic && ddof != 0 ? ddof * w->sum_analytic / w->sum : ddof);
    if (by > 0)
        return by;
    notice(
        c->in,
        "%s: %g observation%s less ddof=%g: nothing is left to divide by, the result is nan or inf",
        c->op->name, w->sum, w->sum == 1 ? "" : "s", ddof);
    return 0;
}

/* ---- the matrix ---- */

static Value centred(OpCall *c, Tensor *x, const Weights *w)
{
    Value v = v_tensor_raw(x);
    if (!w->w)
        return apply(c, "subtract", v, over_rows(c, "mean", v));
    Value weighted = apply(c, "multiply", v,
                           v_tensor_raw(signals_cast(c, w->w, dtype_real((DType)x->dtype))));
    Value mean = apply(c, "divide", over_rows(c, "sum", weighted), v_float(w->sum));
    return apply(c, "subtract", v, mean);
}

/* Both halves of a Hermitian matrix the same, its diagonal real. */
static void make_symmetric(Tensor *t)
{
    int64_t n = tensor_shape(t)[0], bytes = dtype_info(t->dtype)->bytes, half = bytes / 2;
    bool pairs = dtype_info(t->dtype)->kind == 'c';
    for (int64_t i = 0; i < n; i++) {
        for (int64_t j = 0; j < i; j++) {
            char *to = t->data + (j * n + i) * bytes, *from = t->data + (i * n + j) * bytes;
            memcpy(to, from, (size_t)bytes);
            if (t->dtype == DT_C64)
                ((float *)to)[1] = 0 - ((float *)to)[1];
            else if (t->dtype == DT_C128)
                ((double *)to)[1] = 0 - ((double *)to)[1];
        }
        if (pairs)
            memset(t->data + (i * n + i) * bytes + half, 0, (size_t)half);
    }
}

/* The covariance matrix in the dtype it is computed in; unshared. */
static Tensor *covariance(OpCall *c, DType *given)
{
    Ctx *ctx = &c->in->ctx;
    Tensor *x = read_variables(c, arg_bool(c, 2, true), given);
    Weights w = read_weights(c, tensor_shape(x)[1]);
    double by = c->count > 3 ? divisor(c, &w) : w.sum - 1;
    Value deviation = centred(c, x, &w), other = deviation;
    if (w.w)
        other = apply(c, "multiply", other,
                      v_tensor_raw(signals_cast(c, w.w, dtype_real((DType)x->dtype))));
    Tensor *right = op_keep(c, tensor_transpose_last(ctx, as_tensor(c, other)));
    Value turned = v_tensor_raw(right);
    if (dtype_info(right->dtype)->kind == 'c')
        turned = op_root(c, op_unary(c->in, op_named(c->in, "conj"), turned, 0));
    Value product = apply(c, "matmul", deviation, turned);
    Value scaled = op_root(c, op_binary(c->in, op_named(c->in, "divide"), product, v_float(by), 2));
    Tensor *out = op_keep(c, tensor_copy(ctx, as_tensor(c, scaled)));
    make_symmetric(out);
    return out;
}

/* One variable gives a number, not a 1x1 matrix. */
static Value matrix_result(OpCall *c, Tensor *t, DType given)
{
    t = signals_cast(c, t, given);
    if (t->size == 1)
        t = op_keep(c, tensor_view(&c->in->ctx, t, 0, tensor_shape(t), tensor_strides(t), t->data));
    return op_result(c, t);
}

Value op_run_cov(OpCall *c)
{
    DType given;
    Tensor *t = covariance(c, &given);
    return matrix_result(c, t, given);
}

/* z / (di dj) with no part outside [-1, 1]; 1 on the diagonal. */
static double _Complex coefficient(double _Complex z, double di, double dj, bool diagonal)
{
    double re = creal(z) / di / dj, im = cimag(z) == 0 ? 0 : cimag(z) / di / dj;
    if (diagonal)
        return re == re ? 1 : re;
    re = re > 1 ? 1 : re < -1 ? -1 : re;
    im = im > 1 ? 1 : im < -1 ? -1 : im;
    return make_c128(re, im);
}

Value op_run_corrcoef(OpCall *c)
{
    DType given;
    Tensor *t = covariance(c, &given);
    Tensor *wide = op_keep(c, tensor_copy(&c->in->ctx, signals_cast(c, t, DT_C128)));
    int64_t n = tensor_shape(wide)[0];
    double *d = (double *)op_keep(c, tensor_new(&c->in->ctx, DT_F64, 1, &n))->data;
    double _Complex *z = (double _Complex *)wide->data;
    for (int64_t i = 0; i < n; i++)
        d[i] = sqrt(creal(z[i * n + i]));
    for (int64_t i = 0; i < n; i++) {
        for (int64_t j = 0; j < n; j++)
            z[i * n + j] = coefficient(z[i * n + j], d[i], d[j], i == j);
        poll_interrupt(c->in);
    }
    return matrix_result(c, signals_cast(c, wide, (DType)t->dtype), given);
}
