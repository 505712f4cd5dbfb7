/* Square systems: solve (`A \ b`), inv, det, slogdet, lu, chol. solve looks at A and takes
 * the cheapest safe way: triangular substitution, a banded LU, Cholesky, LU with partial
 * pivoting; it says when no digit of the answer can be trusted. Non-square systems go on
 * to linalg_lstsq.c. */
#include "builtins/linalg.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

typedef enum FactorKind { FACTOR_TRIANGLE, FACTOR_BAND, FACTOR_CHOLESKY, FACTOR_LU } FactorKind;

/* A factored matrix. M is what lies in memory in Fortran's eyes: the transpose of A when A
 * lies by rows, which trans = 'T' makes up for, so A is never turned over. */
typedef struct Factor {
    Stack *s;
    const Blas *blas;
    FactorKind kind;
    Mat a;                   /* the matrix itself */
    const char *seen;        /* data of the matrix that is factored; NULL: none yet */
    bool by_rows;            /* M is the transpose of A */
    char uplo;
    int64_t kl, ku, lda;
    void *work;              /* n x n: LU, Cholesky or the band; NULL until needed */
    void *probe;
    int *pivots;
    Scratch con;             /* for the condition estimate */
    double largest;          /* of the pivots, a stand-in for the norm of A */
} Factor;

static void factor_init(Factor *f, Stack *s)
{
    OpCall *c = s->call;
    *f = (Factor){ .s = s, .blas = linalg_blas(c) };
    f->pivots = linalg_work(c, (size_t)s->n, sizeof(int));
    f->probe = linalg_work(c, (size_t)s->n, s->bytes);
}

/* A vector with no preferred direction, the same in every run. */
static void probe_fill(Factor *f)
{
    uint64_t x = 0x9e3779b97f4a7c15u;
    for (int64_t i = 0; i < f->s->n; i++) {
        x ^= x << 13, x ^= x >> 7, x ^= x << 17;
        double v = (double)(int64_t)(x | 1) * 0x1p-63;
        mat_store(f->s->type, f->probe, i, v < 0 ? v - 0.5 : v + 0.5, 0);
    }
}

static double condition_of(Factor *f);

static void *factor_work(Factor *f)
{
    if (!f->work)
        f->work = linalg_matrix(f->s->call, f->s->n, f->s->n, f->s->bytes);
    return f->work;
}

/* The estimate of LAPACK's ?con costs a quarter of a factorisation at n = 500. One
 * substitution with a fixed arbitrary vector bounds |inv(U)| from below to within about
 * sqrt(n), for 1 % of it; only where that bound comes near 1/eps is the estimate made. */
static void factor_judge(Factor *f)
{
    Stack *s = f->s;
    int64_t n = s->n;
    probe_fill(f);
    if (f->kind == FACTOR_TRIANGLE)
        lapack_triangle_solve(f->blas, s->type, f->uplo, 'N', n, 1, f->a.data, f->lda, f->probe, n);
    else if (f->kind != FACTOR_BAND)
        lapack_triangle_solve(f->blas, s->type, f->kind == FACTOR_LU ? 'U' : 'L', 'N', n, 1,
                              f->work, n, f->probe, n);
    else
        lapack_band_solve(f->blas, s->type, n, f->kl, f->ku, 1, f->work, f->pivots, f->probe);
    double grown = gemm_norm2(s->dt, n, f->probe, 1) / sqrt((double)n);
    if (f->kind == FACTOR_CHOLESKY)
        grown *= grown;
    double bound = 100 * (double)n * f->largest * grown;
    if (isnan(bound) || bound * mat_eps(s->type) < 1)
        return;
    double rcond = condition_of(f);
    if (rcond < mat_eps(s->type))
        linalg_notice_condition(s, "the solution", rcond);
}

static double condition_of(Factor *f)
{
    Stack *s = f->s;
    Scratch *w = &f->con;
    double norm = mat_norm1(s->type, s->n, s->n, f->a), rcond = 0;
    char of = f->by_rows ? 'I' : '1';       /* of M, so that it is the 1-norm of A */
    for (int pass = w->base ? 1 : 0; pass < 2; pass++) {
        w->used = 0;
        if (f->kind == FACTOR_TRIANGLE)
            rcond = lapack_triangle_rcond(f->blas, s->type, f->uplo, s->n, f->a.data, f->lda, w);
        else if (f->kind == FACTOR_BAND)
            rcond = lapack_band_rcond(f->blas, s->type, s->n, f->kl, f->ku, f->work, f->pivots,
                                      norm, w);
        else if (f->kind == FACTOR_CHOLESKY)
            rcond = lapack_cholesky_rcond(f->blas, s->type, 'L', s->n, f->work, norm, w);
        else
            rcond = lapack_lu_rcond(f->blas, s->type, of, s->n, f->work, norm, w);
        if (pass == 0)
            w->base = linalg_work(s->call, 8 * (size_t)s->n + 64, 16);  /* enough for every kind */
    }
    return rcond;
}

static void largest_pivot(Factor *f, const void *data, int64_t step, int64_t offset)
{
    f->largest = 0;
    for (int64_t i = 0; i < f->s->n; i++) {
        double v = mat_abs(f->s->type, data, offset + i * step);
        if (v > f->largest)
            f->largest = v;
    }
    if (f->kind == FACTOR_CHOLESKY)
        f->largest *= f->largest;
}

static _Noreturn void zero_diagonal(const Stack *s, int64_t i)
{
    char why[96];
    snprintf(why, sizeof why, "it is triangular and its diagonal element %lld is zero",
             (long long)i);
    linalg_singular(s, why);
}

static bool factor_triangle(Factor *f)
{
    Stack *s = f->s;
    int64_t n = s->n;
    if (f->kl && f->ku)
        return false;
    if (!gemm_legal(n, n, f->a.rs, f->a.cs)) {
        Mat packed = { factor_work(f), n, 1 };
        mat_copy(s->bytes, n, n, f->a, packed);
        f->a = packed;
    }
    f->kind = FACTOR_TRIANGLE;
    f->by_rows = f->a.cs == 1 || n == 1;
    f->lda = n == 1 ? 1 : f->by_rows ? f->a.rs : f->a.cs;
    f->uplo = (f->kl == 0) != f->by_rows ? 'U' : 'L';
    for (int64_t i = 0; i < n; i++)
        if (mat_abs(s->type, f->a.data, i * (f->a.rs + f->a.cs)) == 0)
            zero_diagonal(s, i);
    largest_pivot(f, f->a.data, f->a.rs + f->a.cs, 0);
    return true;
}

static bool factor_band(Factor *f)
{
    Stack *s = f->s;
    int64_t n = s->n, kl = f->kl, ku = f->ku, ld = 2 * kl + ku + 1;
    if (n < 32 || 4 * ld > n)
        return false;
    f->kind = FACTOR_BAND;
    memset(factor_work(f), 0, (size_t)(ld * n) * s->bytes);
    for (int64_t j = 0; j < n; j++) {
        int64_t i0 = j - ku > 0 ? j - ku : 0, i1 = j + kl < n - 1 ? j + kl : n - 1;
        char *column = (char *)f->work + (size_t)(j * ld + kl + ku + i0 - j) * s->bytes;
        Mat from = { f->a.data + (i0 * f->a.rs + j * f->a.cs) * (int64_t)s->bytes, f->a.rs,
                    f->a.cs };
        mat_copy(s->bytes, i1 - i0 + 1, 1, from, (Mat){ column, 1, ld });
    }
    int info = lapack_band(f->blas, s->type, n, kl, ku, f->work, f->pivots);
    if (info > 0)
        linalg_zero_pivot(s, info - 1, false);
    largest_pivot(f, f->work, ld, kl + ku);
    return true;
}

/* Copies A so that no element moves where its rows or columns are whole. */
static void copy_in(Factor *f)
{
    Stack *s = f->s;
    int64_t n = s->n;
    f->by_rows = f->a.rs != 1 || n == 1;
    mat_copy(s->bytes, n, n, f->a, f->by_rows ? (Mat){ f->work, n, 1 } : (Mat){ f->work, 1, n });
}

static bool factor_cholesky(Factor *f)
{
    Stack *s = f->s;
    int64_t n = s->n;
    if (!mat_maybe_definite(s->type, n, f->a))
        return false;
    copy_in(f);
    if (f->by_rows)                         /* the transpose of a Hermitian matrix */
        mat_conjugate(s->type, f->work, n * n);
    f->kind = FACTOR_CHOLESKY;
    if (lapack_cholesky(f->blas, s->type, 'L', n, f->work))
        return false;
    largest_pivot(f, f->work, n + 1, 0);
    return true;
}

static void factor_lu(Factor *f)
{
    Stack *s = f->s;
    int64_t n = s->n;
    copy_in(f);
    f->kind = FACTOR_LU;
    int info = lapack_lu(f->blas, s->type, n, n, f->work, f->pivots);
    if (info > 0)
        linalg_zero_pivot(s, info - 1, f->by_rows);
    largest_pivot(f, f->work, n + 1, 0);
}

static void factor_make(Factor *f, Mat a)
{
    Stack *s = f->s;
    if (f->seen == a.data)
        return;
    f->a = a;
    mat_bandwidth(s->type, s->n, s->n, a, &f->kl, &f->ku);
    if (!factor_triangle(f) && !factor_band(f)) {
        factor_work(f);
        if (!factor_cholesky(f))
            factor_lu(f);
    }
    f->seen = a.data;
    factor_judge(f);
}

static void factor_solve(Factor *f, int64_t nrhs, void *x)
{
    Stack *s = f->s;
    char trans = f->by_rows ? 'T' : 'N';
    switch (f->kind) {
    case FACTOR_TRIANGLE:
        lapack_triangle_solve(f->blas, s->type, f->uplo, trans, s->n, nrhs, f->a.data, f->lda, x,
                              s->n);
        break;
    case FACTOR_BAND:
        lapack_band_solve(f->blas, s->type, s->n, f->kl, f->ku, nrhs, f->work, f->pivots, x);
        break;
    case FACTOR_CHOLESKY:
        lapack_cholesky_solve(f->blas, s->type, 'L', s->n, nrhs, f->work, x);
        break;
    case FACTOR_LU:
        lapack_lu_solve(f->blas, s->type, trans, s->n, nrhs, f->work, f->pivots, x);
        break;
    }
}

/* ---- right sides ---- */
static _Noreturn void rows_differ(const Stack *a, const Rhs *r, int i)
{
    OpCall *c = a->call;
    char sa[96], sb[96], help[160];
    bool turn = !r->vector && r->cols == a->m;
    snprintf(help, sizeof help, "transpose the right side: %s \\ %s'", arg_text(c, a->arg),
             arg_text(c, i));
    arg_error_help(c, i, ERR_SHAPE, turn ? help : NULL,
                   "%s is %s and %s is %s: their rows must be as many",
                   arg_text(c, a->arg), linalg_extent(sa, sizeof sa, a->t), arg_text(c, i),
                   linalg_extent(sb, sizeof sb, r->t));
}

void linalg_rhs_read(Rhs *r, Stack *a, int i)
{
    OpCall *c = a->call;
    Tensor *b = arg_tensor(c, i);
    if (b->rank == 0)
        arg_error(c, i, ERR_SHAPE, "the right side must have %lld rows, but %s is a scalar",
                  (long long)a->m, arg_text(c, i));
    r->vector = b->rank == 1;
    r->given = dtype_promote(a->given, b->dtype);
    DType dt = linalg_compute_dtype(r->given);
    a->given = r->given;
    linalg_stack_retype(a, dt);
    r->t = b = linalg_raise(c, b, dt);
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
    r->count = 1;
    for (int d = 0; d < r->out_rank; d++)
        r->count *= r->batch[d];
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

Value op_run_solve(OpCall *c)
{
    Tensor *given = arg_tensor(c, 0);
    if (given->rank == 0)
        return op_binary(c->in, op_named(c->in, "divide"), c->args[1], c->args[0],
                         c->weak >> 1 & 1);
    Stack a = linalg_stack_of(c, 0, given);
    if (a.m != a.n)
        return linalg_least_squares(c, false);
    linalg_check_lengths(&a);
    Rhs r;
    Factor f;
    linalg_rhs_read(&r, &a, 1);
    Out x = linalg_rhs_out(&r, &a, a.n);
    if (a.n == 0 || r.cols == 0)
        return linalg_value(&a, &x);
    factor_init(&f, &a);
    lapack_threads(&c->in->ctx, f.blas, LAPACK_LU, a.n);
    for (int64_t i = 0; i < r.count; i++) {
        poll_interrupt(c->in);
        void *block = linalg_block(&x, i);
        factor_make(&f, linalg_rhs_matrix(&r, &a, i));
        mat_copy(a.bytes, a.n, r.cols, linalg_rhs_item(&r, &a, i), mat_columns(block, a.n));
        factor_solve(&f, r.cols, block);
    }
    return linalg_value(&a, &x);
}

/* ---- inverse and determinant ---- */
Value op_run_inv(OpCall *c)
{
    Stack a = linalg_square(c, 0);
    Out x = linalg_out(&a, a.dt, a.n, a.n, false);
    if (a.n == 0)
        return linalg_value(&a, &x);
    const Blas *blas = linalg_blas(c);
    Scratch w = { 0 };
    int *pivots = linalg_work(c, (size_t)a.n, sizeof(int));
    lapack_lu_inverse(blas, a.type, a.n, x.data, pivots, &w);
    scratch_allocate(c, &w);
    lapack_threads(&c->in->ctx, blas, LAPACK_LU, a.n);
    for (int64_t i = 0; i < a.count; i++) {
        poll_interrupt(c->in);
        /* Rows of A are columns of its transpose, and inv(A') lies as inv(A)' does. */
        Mat out = { linalg_block(&x, i), a.n, 1 };
        mat_copy(a.bytes, a.n, a.n, linalg_item(&a, i), out);
        double norm = mat_norm1(a.type, a.n, a.n, (Mat){ out.data, 1, a.n });
        int info = lapack_lu(blas, a.type, a.n, a.n, out.data, pivots);
        if (info > 0)
            linalg_zero_pivot(&a, info - 1, true);
        w.used = 0;
        lapack_lu_inverse(blas, a.type, a.n, out.data, pivots, &w);
        double rcond = 1 / (norm * mat_norm1(a.type, a.n, a.n, (Mat){ out.data, 1, a.n }));
        if (rcond < mat_eps(a.type))
            linalg_notice_condition(&a, "its inverse", rcond);
    }
    return linalg_value(&a, &x);
}

/* A product kept as mantissa and exponent, so that it neither overflows nor vanishes. */
typedef struct Scaled {
    double re, im;
    int64_t exponent;
} Scaled;

static void scaled_multiply(Scaled *p, double re, double im)
{
    double r = p->re * re - p->im * im, i = im == 0 && p->im == 0 ? 0 : p->re * im + p->im * re;
    double size = fabs(r) > fabs(i) ? fabs(r) : fabs(i);
    int e = size > 0 && isfinite(size) ? ilogb(size) : 0;
    p->re = scalbn(r, -e);
    p->im = scalbn(i, -e);
    p->exponent += e;
}

static Scaled determinant(const Blas *blas, const Stack *a, int64_t index, void *work, int *pivots)
{
    Scaled p = { 1, 0, 0 };
    mat_copy(a->bytes, a->n, a->n, linalg_item(a, index), (Mat){ work, a->n, 1 });
    if (a->n == 0)
        return p;
    lapack_lu(blas, a->type, a->n, a->n, work, pivots);
    for (int64_t i = 0; i < a->n; i++) {
        int64_t at = i * (a->n + 1);
        double im = blas_is_complex(a->type) ? mat_real(a->type == BLAS_C ? BLAS_S : BLAS_D, work,
                                                        2 * at + 1) : 0;
        scaled_multiply(&p, mat_real(a->type, work, at), im);
        if (pivots[i] != i + 1)
            p.re = -p.re, p.im = -p.im;
    }
    return p;
}

typedef struct DetWork { const Blas *blas; void *matrix; int *pivots; } DetWork;

static DetWork det_work(OpCall *c, const Stack *a)
{
    DetWork w = { NULL, NULL, NULL };
    if (a->n) {
        w.blas = linalg_blas(c);
        lapack_threads(&c->in->ctx, w.blas, LAPACK_LU, a->n);
    }
    w.matrix = linalg_matrix(c, a->n, a->n, a->bytes);
    w.pivots = linalg_work(c, (size_t)a->n, sizeof(int));
    return w;
}

Value op_run_det(OpCall *c)
{
    Stack a = linalg_square(c, 0);
    Out d = linalg_out(&a, a.dt, -1, -1, false);
    DetWork w = det_work(c, &a);
    for (int64_t i = 0; i < a.count; i++) {
        poll_interrupt(c->in);
        Scaled p = determinant(w.blas, &a, i, w.matrix, w.pivots);
        int e = p.exponent > 5000 ? 5000 : p.exponent < -5000 ? -5000 : (int)p.exponent;
        mat_store(a.type, d.data, i, scalbn(p.re, e), scalbn(p.im, e));
    }
    return linalg_value(&a, &d);
}

Value op_run_slogdet(OpCall *c)
{
    Stack a = linalg_square(c, 0);
    BlasType real = blas_type(dtype_real(a.dt));
    Out sign = linalg_out(&a, a.dt, -1, -1, false);
    Out logdet = linalg_out(&a, dtype_real(a.dt), -1, -1, false);
    DetWork w = det_work(c, &a);
    for (int64_t i = 0; i < a.count; i++) {
        poll_interrupt(c->in);
        Scaled p = determinant(w.blas, &a, i, w.matrix, w.pivots);
        double size = hypot(p.re, p.im);
        mat_store(real, logdet.data, i, log(size) + (double)p.exponent * 0.69314718055994530942, 0);
        mat_store(a.type, sign.data, i, size == 0 ? 0 : p.re / size, size == 0 ? 0 : p.im / size);
    }
    Value first = op_root(c, linalg_value(&a, &sign)), second = op_root(c,
                                                                        linalg_value(&a, &logdet));
    return tuple_make(c->in, "sign", v_retain(first), "logdet", v_retain(second), NULL);
}

/* ---- factors ---- */
static void zero_element(size_t bytes, void *data, int64_t i)
{
    memset((char *)data + (size_t)i * bytes, 0, bytes);
}

/* Takes L and U out of the packed factors (m x n by columns). */
static void split_lu(const Stack *a, const char *lu, char *l, char *u)
{
    int64_t m = a->m, n = a->n, k = m < n ? m : n;
    size_t bytes = a->bytes;
    for (int64_t j = 0; j < n; j++)
        for (int64_t i = 0; i < k; i++)
            if (i <= j)
                memcpy(u + (size_t)(j * k + i) * bytes, lu + (size_t)(j * m + i) * bytes, bytes);
            else
                zero_element(bytes, u, j * k + i);
    for (int64_t j = 0; j < k; j++)
        for (int64_t i = 0; i < m; i++)
            if (i > j)
                memcpy(l + (size_t)(j * m + i) * bytes, lu + (size_t)(j * m + i) * bytes, bytes);
            else
                mat_store(a->type, l, j * m + i, i == j, 0);
}

/* The interchanges as a permutation matrix P with A = P L U. */
static void permutation(const Stack *a, const int *pivots, int64_t *order, Mat p)
{
    int64_t m = a->m, k = m < a->n ? m : a->n;
    for (int64_t i = 0; i < m; i++)
        order[i] = i;
    for (int64_t i = 0; i < k; i++) {
        int64_t other = pivots[i] - 1, t = order[i];
        order[i] = order[other];
        order[other] = t;
    }
    memset(p.data, 0, (size_t)(m * m) * a->bytes);
    for (int64_t i = 0; i < m; i++)
        mat_store(a->type, p.data, order[i] * p.rs + i * p.cs, 1, 0);
}

Value op_run_lu(OpCall *c)
{
    Stack a = linalg_stack(c, 0);
    linalg_check_lengths(&a);
    int64_t m = a.m, n = a.n, k = m < n ? m : n;
    Out p = linalg_out(&a, a.dt, m, m, false);
    Out l = linalg_out(&a, a.dt, m, k, true), u = linalg_out(&a, a.dt, k, n, true);
    const Blas *blas = linalg_blas(c);
    char *work = linalg_matrix(c, m, n, a.bytes);
    int *pivots = linalg_work(c, (size_t)k, sizeof(int));
    int64_t *order = linalg_work(c, (size_t)m, sizeof *order);
    lapack_threads(&c->in->ctx, blas, LAPACK_LU, k);
    for (int64_t i = 0; i < a.count; i++) {
        poll_interrupt(c->in);
        mat_copy(a.bytes, m, n, linalg_item(&a, i), mat_columns(work, m));
        if (k)
            lapack_lu(blas, a.type, m, n, work, pivots);
        split_lu(&a, work, linalg_block(&l, i), linalg_block(&u, i));
        permutation(&a, pivots, order, (Mat){ linalg_block(&p, i), m, 1 });
    }
    Value vp = op_root(c, linalg_value(&a, &p)), vl = op_root(c, linalg_value(&a, &l));
    Value vu = op_root(c, linalg_value(&a, &u));
    return tuple_make(c->in, "P", v_retain(vp), "L", v_retain(vl), "U", v_retain(vu), NULL);
}

Value op_run_chol(OpCall *c)
{
    Stack a = linalg_square(c, 0);
    Out l = linalg_out(&a, a.dt, a.n, a.n, true);
    linalg_require_symmetric(&a, NULL);
    const Blas *blas = a.n ? linalg_blas(c) : NULL;
    if (blas)
        lapack_threads(&c->in->ctx, blas, LAPACK_LU, a.n);
    for (int64_t i = 0; i < a.count && a.n; i++) {
        poll_interrupt(c->in);
        char *block = linalg_block(&l, i);
        mat_copy(a.bytes, a.n, a.n, linalg_item(&a, i), mat_columns(block, a.n));
        int info = lapack_cholesky(blas, a.type, 'L', a.n, block);
        if (info > 0) {
            char help[128];
            snprintf(help, sizeof help, "eigvalsh(%s) shows the signs of the eigenvalues", arg_text(c, 0));
            arg_error_help(c, 0, ERR_NUMERIC, help,
                           "%s is not positive definite: its leading %d×%d minor is not positive",
                           arg_text(c, 0), info, info);
        }
        for (int64_t j = 1; j < a.n; j++)
            memset(block + (size_t)(j * a.n) * a.bytes, 0, (size_t)j * a.bytes);
    }
    return linalg_value(&a, &l);
}
