/* Square systems: solve (`A \ b`) and inv, and the right sides of systems. solve looks at
 * A and takes the cheapest safe way (linalg_factor.c); it says how many digits of the
 * answer can be trusted when they are few. Non-square systems go on to linalg_lstsq.c. */
#include "builtins/linalg/linalg_factor.h"
#include "kernels/dense/dense.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- right sides ---- */
/* One vector for each matrix of a stack, 100×4 with 100×4×4: it is taken for a matrix. */
static bool is_vector_stack(const Stack *a, const Rhs *r)
{
    return a->batch_rank > 0 && r->t->rank == a->batch_rank + 1 &&
           memcmp(tensor_shape(r->t), tensor_shape(a->t), (size_t)r->t->rank * 8) == 0;
}

static _Noreturn void rows_differ(const Stack *a, const Rhs *r, int i)
{
    OpCall *c = a->call;
    char sa[96], sb[96], help[160];
    bool turn = !r->vector && r->cols == a->m;
    snprintf(help, sizeof help, "transpose the right side: %s \\ %s'", arg_text(c, a->arg),
             arg_text(c, i));
    if (is_vector_stack(a, r)) {
        turn = true;
        snprintf(help, sizeof help, "a vector for each matrix: %s \\ %s[..., none]",
                 arg_text(c, a->arg), arg_text(c, i));
    }
    arg_error_help(c, i, ERR_SHAPE, turn ? help : NULL,
                   "%s is %s and %s is %s: their rows must be as many",
                   arg_text(c, a->arg), linalg_extent(sa, sizeof sa, a->t), arg_text(c, i),
                   linalg_extent(sb, sizeof sb, r->t));
}

void linalg_rhs_read(Rhs *r, Stack *a, int i)
{
    OpCall *c = a->call;
    Tensor *b = arg_tensor(c, i);
    r->given = dtype_promote(a->given, b->dtype);
    DType dt = linalg_compute_dtype(r->given);
    a->given = r->given;
    linalg_stack_retype(a, dt);
    linalg_rhs_layout(r, a, i, linalg_raise(c, b, dt));
}

void linalg_rhs_layout(Rhs *r, Stack *a, int i, Tensor *b)
{
    OpCall *c = a->call;
    if (b->rank == 0)
        arg_error(c, i, ERR_SHAPE, "the right side must have %lld rows, but %s is a scalar",
                  (long long)a->m, arg_text(c, i));
    r->t = b;
    r->vector = b->rank == 1;
    const int64_t *shape = tensor_shape(b), *strides = tensor_strides(b);
    int rank = b->rank;
    r->batch_rank = r->vector ? 0 : rank - 2;
    int64_t rows = r->vector ? shape[0] : shape[rank - 2];
    r->cols = r->vector ? 1 : shape[rank - 1];
    r->rs = r->vector ? strides[0] : strides[rank - 2];
    r->cs = r->vector ? 1 : strides[rank - 1];
    if (rows != a->m)
        rows_differ(a, r, i);
    int bad;
    char sa[96], sb[96];
    r->out_rank = shape_broadcast(a->batch_rank, tensor_shape(a->t), r->batch_rank, shape, r->batch,
                                  &bad);
    if (r->out_rank < 0)
        err_raise(&c->in->ctx, ERR_SHAPE,
                  "the leading axes of %s (%s) and %s (%s) do not broadcast",
                  arg_text(c, a->arg), shape_text(sa, sizeof sa, a->t->rank, tensor_shape(a->t)),
                  arg_text(c, i), shape_text(sb, sizeof sb, rank, shape));
    r->count = shape_checked(&c->in->ctx, r->out_rank, r->batch);
}

static int64_t broadcast_offset(const Rhs *r, const Tensor *t, int own_rank, int64_t index)
{
    const int64_t *shape = tensor_shape(t), *strides = tensor_strides(t);
    int64_t at = 0;
    for (int d = r->out_rank - 1; d >= 0; d--) {
        int64_t i = index % r->batch[d];
        int own = d - (r->out_rank - own_rank);
        index /= r->batch[d];
        if (own >= 0 && shape[own] != 1)
            at += i * strides[own];
    }
    return at;
}

Mat linalg_rhs_matrix(const Rhs *r, const Stack *a, int64_t index)
{
    int64_t at = broadcast_offset(r, a->t, a->batch_rank, index);
    return (Mat){ a->t->data + at * (int64_t)a->bytes, a->rs, a->cs };
}

Mat linalg_rhs_item(const Rhs *r, const Stack *a, int64_t index)
{
    int64_t at = broadcast_offset(r, r->t, r->batch_rank, index);
    return (Mat){ r->t->data + at * (int64_t)a->bytes, r->rs, r->cs };
}

int64_t linalg_rhs_own(const Rhs *r, const Stack *a, int64_t index)
{
    const int64_t *shape = tensor_shape(a->t);
    int64_t own = 0, step = 1;
    for (int d = r->out_rank - 1; d >= r->out_rank - a->batch_rank; d--) {
        int64_t length = shape[d - (r->out_rank - a->batch_rank)], i = index % r->batch[d];
        own += (length == 1 ? 0 : i) * step;
        step *= length;
        index /= r->batch[d];
    }
    return own;
}

/* The solution: rows x cols blocks that LAPACK writes by columns, `ld` rows apart. */
Out linalg_rhs_out(const Rhs *r, Stack *a, int64_t rows)
{
    Ctx *ctx = &a->call->in->ctx;
    int64_t shape[TENSOR_RANK_MAX + 2], strides[TENSOR_RANK_MAX + 2];
    int rank = r->out_rank;
    memcpy(shape, r->batch, (size_t)rank * sizeof *shape);
    if (!r->vector)
        shape[rank++] = r->cols;
    shape[rank++] = rows;
    Tensor *t = linalg_tensor(a->call, a->dt, rank, shape);
    Out o = { t, t->data, (size_t)(rows * r->cols) * a->bytes };
    if (r->vector)
        return o;
    memcpy(strides, tensor_strides(t), (size_t)rank * sizeof *strides);
    shape[rank - 2] = rows, shape[rank - 1] = r->cols;
    strides[rank - 2] = 1, strides[rank - 1] = rows < 1 ? 1 : rows;
    o.t = op_keep(a->call, tensor_view(ctx, t, rank, shape, strides, t->data));
    return o;
}

/* A matrix that is not square is solved by least squares. */
const char *needs_solve(const Value *args, int count)
{
    const Tensor *a = count > 0 && args[0].tag == V_TENSOR ? args[0].tensor : NULL;
    if (!a || a->rank < 2)
        return NULL;
    return tensor_shape(a)[a->rank - 1] != tensor_shape(a)[a->rank - 2] ? "lstsq" : NULL;
}

Value op_run_solve(OpCall *c)
{
    Tensor *given = arg_tensor(c, 0);
    if (given->rank == 0)
        return op_binary(c->in, op_named(c->in, "divide"), c->args[1], c->args[0],
                         c->weak >> 1 & 1);
    Tensor *kept = c->factors ? factors_matrices(c) : NULL;
    Stack a = linalg_stack_of(c, 0, kept ? kept : given);
    a.given = (DType)given->dtype;
    if (a.m != a.n)
        return linalg_least_squares(&a, false);
    linalg_check_lengths(&a);
    Rhs r;
    Factor f;
    bool made = false;
    linalg_rhs_read(&r, &a, 1);
    Out x = linalg_rhs_out(&r, &a, a.n);
    if (a.n == 0 || r.cols == 0)
        return linalg_value(&a, &x);
    const Factor *factors = factors_of(&a, factor_all, &made);
    const uint8_t *done = factors ? NULL : linalg_small_solve(&a, &r, &x);
    factor_init(&f, &a);
    f.kept = factors && !made;
    for (int64_t i = 0; i < r.count; i++) {
        if (done && done[i]) {
            f.ill.total++;
            continue;
        }
        poll_interrupt(c->in);
        Mat b = linalg_rhs_item(&r, &a, i);
        a.at = linalg_rhs_own(&r, &a, i);
        if (factors)
            factor_take(&f, &factors[a.at]);
        else
            factor_make(&f, linalg_rhs_matrix(&r, &a, i));
        factor_solve(&f, b, r.cols, linalg_block(&x, i));
        factor_refine(&f, b, r.cols, linalg_block(&x, i));
        if (heard_on(c->in))
            factor_explain(&f, b, r.cols, linalg_block(&x, i));
    }
    if (done && heard_on(c->in))
        factor_explain_small(&f, &r, done, &x);
    linalg_ill_notice(&f.ill, &a, "the solution");
    factor_grown_notice(&f, false);
    return linalg_value(&a, &x);
}

/* ---- inverse ---- */
/* The inverse of a diagonal matrix keeps all its digits. */
static bool is_diagonal(const Stack *a)
{
    int64_t kl, ku;
    mat_bandwidth(a->type, a->n, a->n, linalg_item(a, a->at), &kl, &ku);
    return kl == 0 && ku == 0;
}

/* Up to this order somebody may look at the zeros: getri leaves -0 below the diagonal. */
enum { PRINTED_MAX = 64 };

/* Have elements of U grown so far beyond A that its inverse may be off by more than n eps? */
static bool has_grown(const Stack *a, double norm, const char *lu)
{
    BlasType real = blas_type(dtype_real(a->dt));
    int64_t parts = blas_is_complex(a->type) ? 2 : 1;
    double most = 0;
    for (int64_t j = 0; j < a->n; j++)
        for (int64_t i = j * a->n * parts, end = i + (j + 1) * parts; i < end; i++) {
            double v = fabs(mat_real(real, lu, i));
            most = v > most ? v : most;
        }
    return most > (double)a->n * norm;
}

/* Column by column, as A \ eye(n): refined where that helps, and told where it does not. */
static void inverse_refined(Factor *f, char *out)
{
    Stack *a = f->s;
    int64_t n = a->n;
    char *unit = linalg_work(a->call, (size_t)(n * n), a->bytes);
    for (int64_t i = 0; i < n * n; i++)
        mat_store(a->type, unit, i, i % (n + 1) == 0, 0);
    factor_make(f, linalg_item(a, a->at));
    factor_solve(f, mat_columns(unit, n), n, out);
    factor_refine(f, mat_columns(unit, n), n, out);
}

/* By Cholesky; getri can be stopped on its way, potri cannot. */
enum { DEFINITE_TO = 2048 };

/* out is the matrix by columns; false: it is not positive definite, and out is to be made anew. */
static bool inverse_definite(const Stack *a, const Blas *blas, char *out)
{
    enum { BLOCK = 32 };
    int64_t n = a->n, bytes = (int64_t)a->bytes;
    for (int64_t i = 0; i < n; i++)
        if (!(mat_real(a->type, out, i * (n + 1)) > 0))
            return false;
    if (dense_cholesky(&a->call->in->ctx, blas, a->type, n, out) ||
        lapack_cholesky_inverse(blas, a->type, n, out))
        return false;
    for (int64_t j = 0; j < n; j += BLOCK) {
        int64_t some = n - j < BLOCK ? n - j : BLOCK;
        for (int64_t k = j; k < j + some; k++)
            mat_copy(a->bytes, j + some - k, 1, (Mat){ out + (k * n + k) * bytes, 1, n },
                     (Mat){ out + (k * n + k) * bytes, n, 1 });
        mat_copy(a->bytes, n - j - some, some, (Mat){ out + (j * n + j + some) * bytes, 1, n },
                 (Mat){ out + ((j + some) * n + j) * bytes, n, 1 });
    }
    for (int64_t j = 1; j < n && blas_is_complex(a->type); j++)
        mat_conjugate(a->type, out + j * n * bytes, j);
    return true;
}

static void inverse_one(Factor *f, char *out, int *pivots, Scratch *w, Ill *ill)
{
    Stack *a = f->s;
    const Blas *blas = linalg_blas(a->call);
    int64_t n = a->n;
    f->backward = 0;
    mat_copy(a->bytes, n, n, linalg_item(a, a->at), mat_columns(out, n));
    double norm = mat_norm1(a->type, n, n, mat_columns(out, n));
    bool look = n >= DEFINITE_FROM && n <= DEFINITE_TO && isfinite(norm) &&
                mat_is_hermitian(a->type, n, linalg_item(a, a->at));
    if (look)                               /* potri gains by threads as late as potrf */
        lapack_threads(&a->call->in->ctx, blas, LAPACK_LU, n);
    bool definite = look && inverse_definite(a, blas, out);
    if (look)
        dense_threads(&a->call->in->ctx, blas, a->type, LAPACK_INVERSE, n);
    if (look && !definite)
        mat_copy(a->bytes, n, n, linalg_item(a, a->at), mat_columns(out, n));
    int info = definite ? 0 : dense_lu(&a->call->in->ctx, blas, a->type, n, n, out, pivots);
    if (info > 0) {
        linalg_require_finite(a);
        linalg_zero_pivot(a, info - 1);
    }
    if (isnan(norm)) {                      /* then so is every element, which BLAS may skip */
        for (int64_t i = 0; i < n * n; i++)
            mat_store(a->type, out, i, NAN, blas_is_complex(a->type) ? NAN : 0);
        ill->total++;
        return;
    }
    w->used = 0;
    if (!definite && has_grown(a, norm, out))
        inverse_refined(f, out);
    else if (!definite && dense_own(a->type, n))
        dense_inverse(&a->call->in->ctx, a->type, n, out, pivots);
    else if (!definite)
        lapack_lu_inverse(blas, a->type, n, out, pivots, w);
    if (n <= PRINTED_MAX)
        mat_plain_zeros(a->type, out, n * n);
    ill->total++;
    double rcond = 1 / (norm * mat_norm1(a->type, n, n, mat_columns(out, n)));
    if (isfinite(norm) && rcond < linalg_rcond_limit(a->type) && !is_diagonal(a))
        linalg_ill_judge(ill, a, rcond, rcond);
    if (heard_on(a->call->in) && a->at == 0)
        linalg_explain_inverse(a, norm, out, f->backward, definite);
    mat_turn(a->bytes, n, out);
}

Value op_run_inv(OpCall *c)
{
    Stack a = linalg_square(c, 0);
    Out x = linalg_out(&a, a.dt, a.n, a.n, false);
    Ill ill = { 0 };
    if (a.n == 0)
        return linalg_value(&a, &x);
    const Blas *blas = linalg_blas(c);
    Scratch w = { 0 };
    Factor f;
    factor_init(&f, &a);
    int *pivots = linalg_work(c, (size_t)a.n, sizeof(int));
    lapack_lu_inverse(blas, a.type, a.n, x.data, pivots, &w);
    scratch_allocate(c, &w);
    dense_threads(&c->in->ctx, blas, a.type, LAPACK_INVERSE, a.n);
    const uint8_t *done = linalg_small_inverse(&a, &x);
    for (a.at = 0; a.at < a.count; a.at++) {
        if (done && done[a.at]) {
            ill.total++;
            continue;
        }
        poll_interrupt(c->in);
        inverse_one(&f, linalg_block(&x, a.at), pivots, &w, &ill);
    }
    if (done && heard_on(c->in))
        explain_routine(c->in, LINALG_SMALL_TEXT, NULL, NULL);
    linalg_ill_notice(&ill, &a, "its inverse");
    f.ill.total = ill.total;
    factor_grown_notice(&f, true);
    return linalg_value(&a, &x);
}
