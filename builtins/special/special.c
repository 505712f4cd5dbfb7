/* Rows of special functions: argument checks, broadcasting, results. In the dtypes of hardware they
 * compute in f64 and round once; numbers of other formats go by kernels/special as they are. Where
 * all operands are ints the result is f64, as of the elementwise functions. */
#include "builtins/rows/rows.h"
#include "builtins/special/special.h"
#include "core/base/error.h"
#include "core/memory/pool.h"
#include "interp/op/elementwise.h"
#include "kernels/special/special.h"

#include <stdio.h>
#include <string.h>

/* ---- operands ---- */

static bool is_whole(DType dt)
{
    return dtype_info(dt)->kind == 'i' || dtype_info(dt)->kind == 'b';
}

static void require_real(OpCall *c, int i, DType dt)
{
    char help[160];
    if (dtype_info(dt)->kind != 'c')
        return;
    snprintf(help, sizeof help, "real(%s) is its real part", arg_text(c, i));
    arg_error_help(c, i, ERR_DTYPE, help, "%s is %s; %s takes real numbers", arg_text(c, i),
                   dtype_name(dt), c->op->name);
}

int special_shape(OpCall *c, Tensor *const *t, int n, int64_t *shape)
{
    int rank = 0, bad;
    for (int i = 0; i < n; i++) {
        int64_t both[TENSOR_RANK_MAX];
        int r = shape_broadcast(rank, shape, t[i]->rank, tensor_shape(t[i]), both, &bad);
        if (r < 0)
            ew_shape_error(c->in, c->op, t, i + 1);
        rank = r;
        memcpy(shape, both, (size_t)r * sizeof *shape);
    }
    return rank;
}

/* The dtype of what comes out: the operands' float, f64 of ints. */
static DType result_dtype(OpCall *c, Tensor *const *t, int n)
{
    DTypeVote votes[SPECIAL_OPERANDS];
    int votes_cast = 0;
    for (int i = 0; i < n; i++) {
        bool scalar = t[i]->rank == 0;
        require_real(c, i, (DType)t[i]->dtype);
        if (!is_whole((DType)t[i]->dtype))
            votes[votes_cast++] = (DTypeVote){ (DType)t[i]->dtype, scalar, c->weak >> i & 1 };
    }
    DType dt = votes_cast ? dtype_vote(votes, votes_cast) : DT_F64;
    return dt == DT_NONE ? DT_F64 : dt;
}

/* ---- doubles ---- */

typedef struct Run {
    Ctx *ctx;
    SpecialId id;
    Iter it;
    double *out;
    const double *x[SPECIAL_OPERANDS];
    int n;
    int64_t rows;
    volatile ArithStatus status;
} Run;

/* Elements [begin, end) of the only row, or rows. */
static void chunk(void *data, int64_t begin, int64_t end, int worker)
{
    Run *r = data;
    const Iter *it = &r->it;
    int last = it->rank - 1;
    bool one = r->rows == 1;
    (void)worker;
    for (int64_t row = one ? 0 : begin; row < (one ? 1 : end); row++) {
        int64_t at[ITER_OPERANDS], step[SPECIAL_OPERANDS], first = one ? begin : 0;
        const double *x[SPECIAL_OPERANDS] = { NULL };
        iter_seek(it, last, row, at);
        for (int k = 0; k < r->n; k++) {
            step[k] = it->stride[k + 1][last];
            x[k] = r->x[k] + at[k + 1] + first * step[k];
        }
        int64_t so = it->stride[0][last];
        ArithStatus s = special_f64(r->ctx, r->id, r->out + at[0] + first * so, so, x, step,
                                    one ? end - begin : it->shape[last]);
        if (s != ARITH_OK) {
            r->status = s;
            return;
        }
    }
}

static void run_all(OpCall *c, Run *r)
{
    int64_t least = special_grain(r->id);
    if (r->it.size == 0)
        return;
    int64_t inner = r->it.shape[r->it.rank - 1];
    r->rows = r->it.size / inner;
    int64_t n = r->rows == 1 ? inner : r->rows, grain = r->rows == 1 ? least : least / inner + 1;
    if (r->it.size <= least)
        chunk(r, 0, n, 0);
    else
        pool_for(r->ctx, n, grain, chunk, r);
    precise_check(c->in, c->op, r->status, DT_F64);
}

static Value special_tensors(OpCall *c, SpecialId id, Tensor **t, int n)
{
    Ctx *ctx = &c->in->ctx;
    int64_t shape[TENSOR_RANK_MAX];
    const Tensor *all[ITER_OPERANDS];
    DType dt = result_dtype(c, t, n);
    int rank = special_shape(c, t, n, shape);
    Tensor *out = op_keep(c, tensor_new(ctx, DT_F64, rank, shape));
    Run r = { .ctx = ctx, .id = id, .out = (double *)(void *)out->data, .n = n };
    all[0] = out;
    for (int i = 0; i < n; i++) {
        t[i] = op_keep(c, tensor_cast(ctx, t[i], DT_F64));
        all[i + 1] = t[i];
        r.x[i] = (const double *)(const void *)t[i]->data;
    }
    iter_init(&r.it, n + 1, all);
    run_all(c, &r);
    out = op_keep(c, tensor_cast(ctx, out, dt));
    return op_result(c, out);
}

/* All of them scalars that stand in the value: no tensor is made. */
static bool special_scalar(OpCall *c, SpecialId id, int n, Value *result)
{
    double x[SPECIAL_OPERANDS], r;
    const double *at[SPECIAL_OPERANDS];
    int64_t step[SPECIAL_OPERANDS] = { 0 };
    for (int i = 0; i < n; i++) {
        Value v = c->args[i];
        if (v.tag != V_FLOAT && v.tag != V_INT)
            return false;
        x[i] = v.tag == V_FLOAT ? v.f : (double)v.i;
        at[i] = &x[i];
    }
    precise_check(c->in, c->op, special_f64(&c->in->ctx, id, &r, 1, at, step, 1), DT_F64);
    *result = v_float(r);
    return true;
}

static Value special_run(OpCall *c, SpecialId id)
{
    Tensor *t[SPECIAL_OPERANDS];
    Value result;
    int n = special_operands(id);
    if (special_scalar(c, id, n, &result))
        return result;
    for (int i = 0; i < n; i++)
        t[i] = arg_tensor(c, i);
    return special_tensors(c, id, t, n);
}

/* ---- numbers of other formats ---- */

/* The operands' carriers, contiguous, and the result's; rows of them as in run_all. */
static Value special_numbers(OpCall *c, Scope *s, SpecialId id)
{
    Precise p;
    int n = special_operands(id);
    int64_t shape[TENSOR_RANK_MAX];
    Tensor *t[SPECIAL_OPERANDS];
    const Tensor *all[ITER_OPERANDS];
    precise_open(&p, c->in, s);
    for (int i = 0; i < n; i++) {
        Rational cell;
        Value v = c->args[i];
        bool literal = v.tag == V_FLOAT && (c->weak >> i & 1) &&
                       exact_literal(c->in, i, v.f, &cell);
        t[i] = literal ? op_keep(c, tensor_scalar(&c->in->ctx, DT_RATIONAL, &cell))
                       : arg_tensor(c, i);
        require_real(c, i, (DType)t[i]->dtype);
        t[i] = op_keep(c, precise_carriers(&p, c->op, t[i]));
        all[i + 1] = t[i];
    }
    int rank = special_shape(c, t, n, shape);
    Tensor *out = op_keep(c, tensor_zeros(&c->in->ctx, precise_carrier(&p.a, false), rank, shape));
    all[0] = out;
    Iter it;
    iter_init(&it, n + 1, all);
    int last = it.rank - 1;
    int64_t rows = it.size ? it.size / it.shape[last] : 0;
    for (int64_t row = 0; row < rows; row++) {
        int64_t at[ITER_OPERANDS], step[SPECIAL_OPERANDS];
        const NumberCell *x[SPECIAL_OPERANDS];
        iter_seek(&it, last, row, at);
        for (int k = 0; k < n; k++) {
            x[k] = (const NumberCell *)(const void *)t[k]->data + at[k + 1];
            step[k] = it.stride[k + 1][last];
        }
        ArithStatus status = special_cells(&p.a, id, (NumberCell *)(void *)out->data + at[0],
                                           it.stride[0][last], x, step, it.shape[last]);
        precise_check(c->in, c->op, status, s->format);
    }
    precise_close(&p);
    return op_result(c, out);
}

static bool by_doubles(DType format)
{
    return dtype_mini_read(format, &(int){ 0 }, &(int){ 0 }, &(MiniStyle){ 0 });
}

/* f64 of a binary format, rounded once more. */
static Value in_doubles(OpCall *c, Scope *s)
{
    s->partly = true;
    return precise_outside(c, s, scope_ordinary(s) ? DT_NONE : DT_F64, true);
}

static Value in_format(OpCall *c, Scope *s, SpecialId id)
{
    return by_doubles(s->format) ? in_doubles(c, s) : special_numbers(c, s, id);
}

/* ---- the rows ---- */

#define ROW(name) \
    Value op_run_##name(OpCall *c) { return special_run(c, SPECIAL_##name); } \
    Value op_format_##name(OpCall *c, Scope *s) { return in_format(c, s, SPECIAL_##name); }
ROW(digamma)
ROW(polygamma)
ROW(beta)
ROW(lbeta)
ROW(erfinv)
ROW(erfcinv)
ROW(zeta)
ROW(bessel_j)
ROW(bessel_y)
ROW(bessel_i)
ROW(bessel_k)
ROW(ellipk)
ROW(ellipe)
ROW(gammainc)
ROW(gammaincinv)
ROW(betainc)
ROW(betaincinv)
ROW(logit)
ROW(expit)
ROW(xlogy)
ROW(logaddexp)
ROW(sinc)
ROW(legendre)
ROW(hermite)
ROW(laguerre)
ROW(chebyshev_t)

/* Ai, Ai', Bi, Bi'. */
static Value four(OpCall *c, Scope *s)
{
    Value v[4];
    for (int k = 0; k < 4; k++) {
        SpecialId id = (SpecialId)(SPECIAL_airy_ai + k);
        v[k] = op_root(c, s ? special_numbers(c, s, id) : special_run(c, id));
    }
    for (int k = 0; k < 4; k++)
        v_retain(v[k]);
    return tuple_make(c->in, "Ai", v[0], "Aip", v[1], "Bi", v[2], "Bip", v[3], NULL);
}

Value op_run_airy(OpCall *c) { return four(c, NULL); }

Value op_format_airy(OpCall *c, Scope *s)
{
    return by_doubles(s->format) ? in_doubles(c, s) : four(c, s);
}

/* ---- whole numbers, exact while they fit 64 bits ---- */

static bool all_whole(OpCall *c, Tensor **t, int n)
{
    bool whole = true;
    for (int i = 0; i < n; i++) {
        t[i] = arg_tensor(c, i);
        whole &= is_whole((DType)t[i]->dtype);
    }
    return whole;
}

static bool factorial_fits(int64_t n, int64_t *r)
{
    if (n > 20)
        return false;
    *r = 1;
    for (int64_t k = 2; k <= n; k++)
        *r *= k;
    return true;
}

static bool comb_fits(int64_t n, int64_t k, int64_t *r)
{
    unsigned __int128 value = 1;
    *r = 0;
    if (k < 0 || n < 0 || k > n)
        return true;
    k = k < n - k ? k : n - k;
    for (int64_t i = 0; i < k; i++) {
        value = value * (unsigned __int128)(n - i) / (unsigned __int128)(i + 1);
        if (value > INT64_MAX)
            return false;
    }
    *r = (int64_t)value;
    return true;
}

static void refuse_negative(OpCall *c, int64_t n)
{
    if (n < 0)
        arg_error(c, 0, ERR_VALUE, "%s is %lld, and a negative number has no factorial",
                  arg_text(c, 0), (long long)n);
}

/* The ints, or NULL: one of them does not fit. */
static Tensor *counted(OpCall *c, SpecialId id, Tensor *const *t, int n)
{
    Ctx *ctx = &c->in->ctx;
    int64_t shape[TENSOR_RANK_MAX];
    Tensor *x[2] = { NULL, NULL };
    int rank = special_shape(c, t, n, shape);
    for (int i = 0; i < n; i++) {
        x[i] = op_keep(c, tensor_cast(ctx, t[i], DT_I64));
        x[i] = op_keep(c, tensor_broadcast(ctx, x[i], rank, shape));
        x[i] = op_keep(c, tensor_compact(ctx, x[i]));
    }
    Tensor *out = op_keep(c, tensor_new(ctx, DT_I64, rank, shape));
    const int64_t *a = (const int64_t *)(const void *)x[0]->data;
    const int64_t *b = n > 1 ? (const int64_t *)(const void *)x[1]->data : a;
    int64_t *to = (int64_t *)(void *)out->data;
    bool fits = true;
    for (int64_t i = 0; i < out->size; i++) {
        if (id == SPECIAL_factorial)
            refuse_negative(c, a[i]);
        fits = fits && (id == SPECIAL_comb ? comb_fits(a[i], b[i], &to[i])
                                           : factorial_fits(a[i], &to[i]));
        if ((i & 0xffff) == 0)
            poll_interrupt(c->in);
    }
    return fits ? out : NULL;
}

static Value count_run(OpCall *c, SpecialId id)
{
    Tensor *t[2];
    int n = special_operands(id);
    Tensor *out = all_whole(c, t, n) ? counted(c, id, t, n) : NULL;
    if (!out)
        return special_run(c, id);
    return out->rank == 0 ? v_element(&c->in->ctx, DT_I64, out->data) : op_result(c, out);
}

Value op_run_factorial(OpCall *c) { return count_run(c, SPECIAL_factorial); }
Value op_run_comb(OpCall *c) { return count_run(c, SPECIAL_comb); }

/* Ints stay ints in a precision scope too, while they fit. */
static Value count_format(OpCall *c, Scope *s, SpecialId id)
{
    Tensor *t[2];
    int n = special_operands(id);
    Tensor *out = all_whole(c, t, n) ? counted(c, id, t, n) : NULL;
    if (!out)
        return in_format(c, s, id);
    return out->rank == 0 ? v_element(&c->in->ctx, DT_I64, out->data) : op_result(c, out);
}

Value op_format_factorial(OpCall *c, Scope *s) { return count_format(c, s, SPECIAL_factorial); }
Value op_format_comb(OpCall *c, Scope *s) { return count_format(c, s, SPECIAL_comb); }
