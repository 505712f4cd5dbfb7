/* The ground that the linear algebra rows stand on: see linalg.h. Raises, but calls no LAPACK
 * routine itself. */
#include "builtins/linalg/linalg.h"
#include "core/system/c_locale.h"
#include "kernels/lapack/hermitian.h"
#include "interp/output/output.h"

#include <limits.h>
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

const char *linalg_extent(char *out, size_t cap, const Tensor *t)
{
    if (t->rank == 1)
        snprintf(out, cap, "a vector of %lld", (long long)tensor_shape(t)[0]);
    else
        shape_text(out, cap, t->rank, tensor_shape(t));
    return out;
}

DType linalg_compute_dtype(DType dt)
{
    switch (dtype_info(dt)->kind) {
    case 'b':
    case 'i': return DT_F64;
    case 'f': return dtype_info(dt)->bytes == 2 ? DT_F32 : dt;
    default: return dt;
    }
}

Tensor *linalg_raise(OpCall *c, Tensor *t, DType dt)
{
    return t->dtype == dt ? t : op_keep(c, tensor_cast(&c->in->ctx, t, dt));
}

static void stack_layout(Stack *s)
{
    const int64_t *shape = tensor_shape(s->t), *strides = tensor_strides(s->t);
    int rank = s->t->rank;
    s->dt = s->t->dtype;
    s->type = blas_type(s->dt);
    s->bytes = dtype_info(s->dt)->bytes;
    s->batch_rank = rank - 2;
    s->m = shape[rank - 2];
    s->n = shape[rank - 1];
    s->rs = strides[rank - 2];
    s->cs = strides[rank - 1];
    s->count = 1;
    for (int d = 0; d < s->batch_rank; d++)
        s->count *= shape[d];
}

static void require_matrix(OpCall *c, int i, const Tensor *t)
{
    if (t->rank < 2) {
        char help[160];
        snprintf(help, sizeof help, "as a column: %s[:, none]", arg_text(c, i));
        arg_error_help(c, i, ERR_SHAPE, t->rank == 1 ? help : NULL, "%s must be a matrix, not a %s",
                       arg_text(c, i), t->rank == 1 ? "vector" : "scalar");
    }
}

Stack linalg_stack_of(OpCall *c, int i, Tensor *t)
{
    Stack s = { .call = c, .arg = i, .given = t->dtype };
    require_matrix(c, i, t);
    s.t = linalg_raise(c, t, linalg_compute_dtype(t->dtype));
    stack_layout(&s);
    return s;
}

Stack linalg_stack_as(OpCall *c, int i, Tensor *t)
{
    Stack s = { .call = c, .arg = i, .given = t->dtype, .t = t };
    require_matrix(c, i, t);
    stack_layout(&s);
    return s;
}

Stack linalg_stack(OpCall *c, int i)
{
    return linalg_stack_of(c, i, arg_tensor(c, i));
}

_Noreturn void linalg_not_square(const Stack *s)
{
    char shape[96], help[160];
    const char *form = s->call->op->any_matrix, *text = arg_text(s->call, s->arg);
    const char *hole = form ? strstr(form, "%s") : NULL;
    if (hole)
        snprintf(help, sizeof help, "%.*s%s%s", (int)(hole - form), form, text, hole + 2);
    arg_error_help(s->call, s->arg, ERR_SHAPE, form ? help : NULL,
                   "%s must be square, not %s", text,
                   shape_text(shape, sizeof shape, s->t->rank, tensor_shape(s->t)));
}

Stack linalg_square(OpCall *c, int i)
{
    Stack s = linalg_stack(c, i);
    if (s.m != s.n)
        linalg_not_square(&s);
    linalg_check_lengths(&s);
    return s;
}

void linalg_stack_retype(Stack *s, DType dt)
{
    s->t = linalg_raise(s->call, s->t, dt);
    stack_layout(s);
}

bool linalg_deficient(const Stack *s, double cond)
{
    int64_t big = s->m > s->n ? s->m : s->n;
    return cond * ((double)big * mat_eps(s->type)) >= 1;
}

Mat linalg_item(const Stack *s, int64_t index)
{
    const int64_t *shape = tensor_shape(s->t), *strides = tensor_strides(s->t);
    int64_t at = 0;
    poll_interrupt(s->call->in);
    for (int d = s->batch_rank - 1; d >= 0; d--) {
        at += index % shape[d] * strides[d];
        index /= shape[d];
    }
    return (Mat){ s->t->data + at * (int64_t)s->bytes, s->rs, s->cs };
}

_Noreturn static void not_finite(const Stack *s, int64_t row, int64_t col)
{
    char help[256];
    snprintf(help, sizeof help, "isfinite(%s) finds such elements", arg_text(s->call, s->arg));
    arg_error_help(s->call, s->arg, ERR_VALUE, help,
                   "%s must be finite, but its element [%s%lld, %lld] is not",
                   arg_text(s->call, s->arg), s->batch_rank ? "…, " : "", (long long)row,
                   (long long)col);
}

/* In blocks of some milliseconds: a view of one number may have more elements than any memory. */
static void require_finite_item(const Stack *s, Mat a)
{
    enum { BLOCK = 1 << 20 };
    int64_t cols = s->n < BLOCK ? s->n : BLOCK, rows = cols ? BLOCK / cols : 0, row, col;
    rows = s->m < rows ? s->m : rows;
    for (int64_t i = 0; i < s->m && cols; i += rows)
        for (int64_t j = 0; j < s->n; j += cols) {
            Mat part = { a.data + (i * a.rs + j * a.cs) * (int64_t)s->bytes, a.rs, a.cs };
            poll_interrupt(s->call->in);
            if (!mat_finite(s->type, s->m - i < rows ? s->m - i : rows,
                            s->n - j < cols ? s->n - j : cols, part, &row, &col))
                not_finite(s, i + row, j + col);
        }
}

void linalg_require_finite(const Stack *s)
{
    for (int64_t i = 0; i < s->count && s->t->size; i++)
        require_finite_item(s, linalg_item(s, i));
}

static double allowed_gap(const Stack *s, const Asymmetry *seen)
{
    return 1000 * mat_eps(s->type) * seen->top;
}

static void require_symmetric_item(const Stack *s, Mat a, const char *help)
{
    Asymmetry seen = mat_asymmetry(s->type, s->n, a, NULL);
    double allowed = allowed_gap(s, &seen);
    if (seen.gap <= allowed)
        return;
    for (int64_t i = 0; i < s->n; i++)
        for (int64_t j = 0; j <= i; j++) {
            int64_t p = i * a.rs + j * a.cs, q = j * a.rs + i * a.cs;
            if (mat_gap(s->type, a.data, p, q) > allowed)
                arg_error_help(s->call, s->arg, ERR_VALUE, help,
                               "%s must be %s, but its elements [%lld, %lld] and [%lld, %lld] "
                               "differ by %.3g",
                               arg_text(s->call, s->arg),
                               blas_is_complex(s->type) ? "Hermitian" : "symmetric", (long long)i,
                               (long long)j, (long long)j, (long long)i, mat_gap(s->type, a.data, p,
                                                                                 q));
        }
}

void linalg_require_symmetric(const Stack *s, const char *help)
{
    for (int64_t i = 0; i < s->count; i++) {
        Mat a = linalg_item(s, i);
        if (!mat_is_hermitian(s->type, s->n, a))
            require_symmetric_item(s, a, help);
    }
}

void linalg_copy_symmetric(const Stack *s, const Out *to, void (*require)(const Stack *))
{
    bool required = false;
    for (int64_t i = 0; i < s->count; i++) {
        Mat a = linalg_item(s, i);
        char *block = linalg_block(to, i);
        bool finite = false;
        poll_interrupt(s->call->in);
        if (mat_take_hermitian(s->type, s->n, a, block, &finite) && finite)
            continue;
        Asymmetry seen = mat_asymmetry(s->type, s->n, a, block);
        if (!required && (!seen.finite || seen.gap > allowed_gap(s, &seen)))
            require(s);
        required |= !seen.finite;           /* all of them were looked at */
    }
}

void linalg_check_lengths(const Stack *s)
{
    if (s->m > INT_MAX || s->n > INT_MAX)
        arg_error(s->call, s->arg, ERR_VALUE, "%s is too large: LAPACK counts to 2147483647",
                  arg_text(s->call, s->arg));
}

/* OpenBLAS 0.3.21 reads one column past the end of a complex matrix in gemv (its issue
 * 4013), so whatever LAPACK works on in complex has room for one more behind it. */
Tensor *linalg_tensor(OpCall *c, DType dt, int rank, const int64_t *shape)
{
    Ctx *ctx = &c->in->ctx;
    int64_t strides[TENSOR_RANK_MAX + 2], size = 1, slack = 0;
    if (dtype_info(dt)->kind != 'c' || rank < 2)
        return op_keep(c, tensor_new(ctx, dt, rank, shape));
    shape_checked(ctx, rank, shape);
    for (int d = rank - 1; d >= 0; d--) {
        strides[d] = size;
        size *= shape[d];
        slack = shape[d] > slack ? shape[d] : slack;
    }
    size += slack;
    Tensor *flat = op_keep(c, tensor_new(ctx, dt, 1, &size));
    return op_keep(c, tensor_view(ctx, flat, rank, shape, strides, flat->data));
}

Out linalg_out(const Stack *s, DType dt, int64_t rows, int64_t cols, bool by_columns)
{
    Ctx *ctx = &s->call->in->ctx;
    int64_t shape[TENSOR_RANK_MAX], strides[TENSOR_RANK_MAX];
    int rank = s->batch_rank;
    memcpy(shape, tensor_shape(s->t), (size_t)rank * sizeof *shape);
    if (rows >= 0)
        shape[rank++] = by_columns ? cols : rows;
    if (cols >= 0)
        shape[rank++] = by_columns ? rows : cols;
    Tensor *t = linalg_tensor(s->call, dt, rank, shape);
    size_t block = (size_t)(rows < 0 ? 1 : rows) * (size_t)(cols < 0 ? 1 : cols);
    Out o = { t, t->data, block * dtype_info(dt)->bytes };
    if (by_columns) {
        memcpy(strides, tensor_strides(t), (size_t)rank * sizeof *strides);
        shape[rank - 2] = rows, shape[rank - 1] = cols;
        strides[rank - 2] = 1, strides[rank - 1] = rows < 1 ? 1 : rows;
        o.t = op_keep(s->call, tensor_view(ctx, t, rank, shape, strides, t->data));
    }
    return o;
}

static DType back_to(DType given, DType now)
{
    bool narrow = dtype_info(given)->kind == 'f' && dtype_info(given)->bytes == 2;
    return narrow && now == DT_F32 ? given : now;
}

Value linalg_value(const Stack *s, const Out *o)
{
    DType dt = back_to(s->given, o->t->dtype);
    return op_result(s->call, linalg_raise(s->call, o->t, dt));
}

void *linalg_work(OpCall *c, size_t count, size_t bytes)
{
    Ctx *ctx = &c->in->ctx;
    int64_t size = (int64_t)mem_mul(ctx, count, bytes);
    return op_keep(c, tensor_new(ctx, DT_U8, 1, &size))->data;
}

void *linalg_matrix(OpCall *c, int64_t rows, int64_t cols, size_t bytes)
{
    size_t slack = (size_t)(rows > cols ? rows : cols);
    return linalg_work(c, mem_mul(&c->in->ctx, (size_t)rows, (size_t)cols) + slack, bytes);
}

void scratch_allocate(OpCall *c, Scratch *s)
{
    s->base = linalg_work(c, s->used + 65536, 1);      /* slack as in linalg_tensor */
    s->used = 0;
}

const Blas *linalg_blas(OpCall *c)
{
    BlasRefusal why = { NULL, false };
    const Blas *blas = lapack_open(&why);
    if (!blas && why.memory)
        err_raise(&c->in->ctx, ERR_MEMORY, "%s", why.text);
    if (!blas)
        err_raise_help(&c->in->ctx, ERR_IO, "apt-get install libopenblas0-pthread", "%s", why.text);
    return blas;
}

/* ---- nearly singular ---- */
double linalg_rcond_limit(BlasType t)
{
    return mat_eps(t) * (t == BLAS_S || t == BLAS_C ? 10 : 1e4);
}

int linalg_digits(BlasType t, double rcond)
{
    double digits = round(-log10(mat_eps(t) / rcond));
    return !(digits > 0) ? 0 : digits > 16 ? 16 : (int)digits;
}

/* In the 1-norm the condition number overstates what is lost by up to sqrt(n): without the
 * allowance every second random f32 matrix of order 1000 would be called nearly singular. */
double linalg_rcond_ill(const Stack *s)
{
    double allowance = sqrt((double)s->n) / 10;
    return linalg_rcond_limit(s->type) / (allowance > 1 ? allowance : 1);
}

void linalg_ill_judge(Ill *ill, const Stack *s, double rcond, double trust)
{
    if (!(trust < linalg_rcond_ill(s)))
        return;
    if (ill->count == 0 || trust < ill->trust)
        ill->worst = rcond, ill->trust = trust;
    ill->count++;
}

void linalg_ill_notice(const Ill *ill, const Stack *s, const char *what)
{
    char who[160], trust[32], scaled[64] = "";
    if (ill->count == 0)
        return;
    const char *text = arg_text(s->call, s->arg);
    int digits = linalg_digits(s->type, ill->trust);
    if (s->batch_rank)
        snprintf(who, sizeof who, "%lld of the %lld matrices of %s %s nearly singular: the worst",
                 (long long)ill->count, (long long)ill->total, text,
                 ill->count == 1 ? "is" : "are");
    else
        snprintf(who, sizeof who, "%s is nearly singular:", text);
    snprintf(trust, sizeof trust, digits > 1 ? "about %d digits" : digits ? "about %d digit"
             : "no digit", digits);
    if (ill->trust > 2 * ill->worst)
        c_snprintf(scaled, sizeof scaled, " (%.1e with a unit diagonal)", 1 / ill->trust);
    notice(s->call->in, "%s condition number %s%.1e%s, %s of %s can be trusted", who,
           s->batch_rank ? "is " : "", ill->worst > 0 ? 1 / ill->worst : INFINITY, scaled, trust,
           what);
}

/* `A`, or `matrix [2, 0] of A`. */
static const char *matrix_text(const Stack *s, char *out, size_t cap)
{
    const int64_t *shape = tensor_shape(s->t);
    int64_t index = s->at, at[TENSOR_RANK_MAX];
    size_t used = (size_t)snprintf(out, cap, "%s", s->batch_rank ? "matrix [" : "");
    for (int d = s->batch_rank - 1; d >= 0; d--) {
        at[d] = index % shape[d];
        index /= shape[d];
    }
    for (int d = 0; d < s->batch_rank && used < cap; d++)
        used += (size_t)snprintf(out + used, cap - used, "%s%lld", d ? ", " : "",
                                 (long long)at[d]);
    if (used < cap)
        snprintf(out + used, cap - used, "%s%s", s->batch_rank ? "] of " : "",
                 arg_text(s->call, s->arg));
    return out;
}

void linalg_singular(const Stack *s, const char *why)
{
    OpCall *c = s->call;
    char help[256], who[256];
    if (c->op->solves)
        snprintf(help, sizeof help, "lstsq(%s, %s) gives the least-squares solution of least norm",
                 arg_text(c, s->arg), arg_text(c, 1));
    else
        snprintf(help, sizeof help, "pinv(%s) is the pseudo-inverse, which always exists",
                 arg_text(c, s->arg));
    arg_error_help(c, s->arg, ERR_NUMERIC, help, "%s is singular: %s",
                   matrix_text(s, who, sizeof who), why);
}

/* LAPACK takes pivots below the normal range for zeros: their reciprocals overflow. */
static bool is_subnormal(const Stack *s, double *norm)
{
    bool narrow = s->type == BLAS_S || s->type == BLAS_C;
    *norm = mat_norm1(s->type, s->m, s->n, linalg_item(s, s->at));
    return *norm > 0 && *norm < (double)s->n * (narrow ? (double)FLT_MIN : DBL_MIN);
}

/* A row or column of zeros; -1: none. */
static int64_t zero_line(const Stack *s, Mat a)
{
    for (int64_t i = 0; i < s->n; i++) {
        int64_t j = 0;
        while (j < s->n && mat_abs(s->type, a.data, i * a.rs + j * a.cs) == 0)
            j++;
        if (j == s->n)
            return i;
    }
    return -1;
}

void linalg_zero_pivot(const Stack *s, int64_t pivot)
{
    char why[128], help[160];
    double norm;
    if (is_subnormal(s, &norm)) {
        bool narrow = s->type == BLAS_S || s->type == BLAS_C;
        snprintf(help, sizeof help, "scale it: %s * %s", arg_text(s->call, s->arg),
                 narrow ? "1e30" : "1e300");
        arg_error_help(s->call, s->arg, ERR_NUMERIC, help,
                       "the elements of %s are below the normal range of %s (1-norm %.1e)",
                       arg_text(s->call, s->arg), dtype_name(s->dt), norm);
    }
    Mat a = linalg_item(s, s->at);
    int64_t row = zero_line(s, a), col = zero_line(s, (Mat){ a.data, a.cs, a.rs });
    if (row >= 0 || col >= 0)
        snprintf(why, sizeof why, "its %s %lld is zero", row >= 0 ? "row" : "column",
                 (long long)(row >= 0 ? row : col));
    else
        snprintf(why, sizeof why, "pivot %lld is exactly zero (column %lld depends on those before "
                 "it)", (long long)pivot, (long long)pivot);
    linalg_singular(s, why);
}

void linalg_no_convergence(const Stack *s, int info)
{
    arg_error(s->call, s->arg, ERR_NUMERIC,
              "the iteration for %s did not converge (LAPACK info %d)",
              arg_text(s->call, s->arg), info);
}
