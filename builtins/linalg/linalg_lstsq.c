/* Least squares and orthogonal factors: lstsq (and solve for non-square systems) and qr.
 * lstsq never drops a direction silently: it factors with column pivoting
 * after scaling the columns (but not for an rcond of the caller), refines with wider residuals
 * (Björck, BIT 7 (1967)), and says what rank and condition number it found. */
#include "builtins/linalg/linalg.h"
#include "kernels/dense/dense.h"
#include "builtins/written/written.h"
#include "interp/output/output.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* One least-squares problem at work. The columns of A are scaled by powers of two, so that
 * units do not decide about rank; the scaled matrix is factored as Q R P'. */
typedef struct Fit {
    Stack *a;
    const Blas *blas;
    Mat matrix;              /* A itself */
    int64_t m, n, k;         /* k = min(m, n) */
    char *qr, *tau, *tri, *rhs, *fix, *sigma;
    int *pivots, *scale;     /* scale[j]: exponent that column j was multiplied by */
    double rcond;            /* of R's diagonal, what is smaller than this times the largest is 0 */
    bool as_given;           /* no scaling: the caller's own rcond is about A as it is */
    bool everything;         /* the condition number is a result, not only a reason to warn */
    int64_t rank;
    double cond, scaled_cond;
    int64_t deficient, hopeless, total;      /* matrices so far; of the first such one: */
    int64_t found;
    double worst;
    Scratch work;
    const struct Fit *kept;  /* by factorize, of every matrix; NULL: none */
    bool made;               /* in this call */
} Fit;

static char *element(const Fit *f, char *base, int64_t i)
{
    return base + i * (int64_t)f->a->bytes;
}

static double part(BlasType t, const char *data, int64_t i, bool imag)
{
    if (!blas_is_complex(t))
        return imag ? 0 : mat_real(t, data, i);
    return mat_real(t == BLAS_C ? BLAS_S : BLAS_D, data, 2 * i + imag);
}

/* x[i] *= 2^e */
static void scale_element(BlasType t, char *x, int64_t i, int e)
{
    mat_store(t, x, i, scalbn(part(t, x, i, false), e), scalbn(part(t, x, i, true), e));
}

/* The same for n elements that lie together; a factor within the type's range is exact. */
static void scale_line(BlasType t, char *x, int64_t n, int e)
{
    bool single = t == BLAS_S || t == BLAS_C;
    int64_t parts = blas_is_complex(t) ? 2 * n : n;
    if (abs(e) > (single ? 120 : 1000)) {
        for (int64_t i = 0; i < n; i++)
            scale_element(t, x, i, e);
    } else if (single) {
        float *p = (float *)(void *)x, by = ldexpf(1, e);
        for (int64_t i = 0; i < parts; i++)
            p[i] *= by;
    } else {
        double *p = (double *)(void *)x, by = ldexp(1, e);
        for (int64_t i = 0; i < parts; i++)
            p[i] *= by;
    }
}

static void fit_scale(Fit *f)
{
    mat_copy(f->a->bytes, f->m, f->n, f->matrix, mat_columns(f->qr, f->m));
    for (int64_t j = 0; j < f->n; j++) {
        char *column = element(f, f->qr, j * f->m);
        double norm = gemm_norm2(f->a->dt, f->m, column, 1);
        f->scale[j] = norm > 0 && isfinite(norm) && !f->as_given ? -ilogb(norm) : 0;
        if (f->scale[j])
            scale_line(f->a->type, column, f->m, f->scale[j]);
    }
}

/* The first `rows` rows of R with columns in A's order and units, by columns. */
static void fit_triangle(Fit *f, int64_t rows)
{
    BlasType t = f->a->type;
    size_t bytes = f->a->bytes;
    for (int64_t j = 0; j < f->n; j++) {
        int64_t to = f->pivots[j] - 1, inside = j + 1 < rows ? j + 1 : rows;
        char *column = element(f, f->tri, to * rows);
        memcpy(column, element(f, f->qr, j * f->m), (size_t)inside * bytes);
        memset(column + (size_t)inside * bytes, 0, (size_t)(rows - inside) * bytes);
        scale_line(t, column, inside, -f->scale[to]);
    }
}

static void fit_rank(Fit *f)
{
    BlasType t = f->a->type;
    double limit = f->rcond * mat_abs(t, f->qr, 0);
    f->rank = 0;
    while (f->rank < f->k && mat_abs(t, f->qr, f->rank * (f->m + 1)) > limit)
        f->rank++;
}

/* 2-norm condition number from the singular values of R. What decides about a notice is the
 * condition of the scaled R, estimated in the 1-norm for a fraction of the time: different
 * units of the columns cost no digits. */
static void fit_condition(Fit *f)
{
    BlasType real = blas_type(dtype_real(f->a->dt));
    f->scaled_cond = INFINITY;
    if (f->rank == f->n) {
        f->work.used = 0;
        double rcond = lapack_triangle_rcond(f->blas, f->a->type, 'U', f->n, f->qr, f->m, &f->work);
        f->cond = f->scaled_cond = 1 / rcond;
        if (!f->everything)
            return;
    }
    fit_triangle(f, f->k);
    f->work.used = 0;
    f->cond = NAN;
    if (lapack_svd(f->blas, f->a->type, 'N', f->k, f->n, f->tri, f->sigma, NULL, NULL,
                   &f->work) == 0)
        f->cond = mat_real(real, f->sigma, f->k - 1) > 0
                  ? mat_real(real, f->sigma, 0) / mat_real(real, f->sigma, f->k - 1) : INFINITY;
    if (f->rank < f->k && linalg_deficient(f->a, f->cond))
        f->cond = INFINITY;
}

static void fit_factor(Fit *f, Mat matrix)
{
    f->matrix = matrix;
    f->rank = 0;
    f->cond = f->k ? INFINITY : NAN;
    if (!f->k)
        return;
    fit_scale(f);
    f->work.used = 0;
    lapack_qr_pivoted(f->blas, f->a->type, f->m, f->n, f->qr, f->pivots, f->tau, &f->work);
    poll_interrupt(f->a->call->in);
    fit_rank(f);
    fit_condition(f);
}

/* Work space for the largest of the calls below. */
static void fit_init(Fit *f, Stack *a, int64_t nrhs, double rcond, bool everything)
{
    OpCall *c = a->call;
    size_t bytes = a->bytes, m = (size_t)a->m, n = (size_t)a->n;
    *f = (Fit){ .a = a, .m = a->m, .n = a->n, .k = a->m < a->n ? a->m : a->n, .rcond = rcond,
                .everything = everything };
    size_t big = m > n ? m : n;
    f->blas = linalg_blas(c);
    f->qr = linalg_matrix(c, a->m, a->n, bytes);
    f->tau = linalg_work(c, big, bytes);
    f->tri = linalg_matrix(c, f->k, a->n, bytes);
    f->rhs = linalg_matrix(c, (int64_t)big, nrhs, bytes);
    f->fix = linalg_work(c, 3 * big, bytes);
    f->sigma = linalg_work(c, big, 8);
    f->pivots = linalg_work(c, n, sizeof(int));
    f->scale = linalg_work(c, n, sizeof(int));
    if (!f->k)
        return;
    Scratch *w = &f->work;
    lapack_qr_pivoted(f->blas, a->type, a->m, a->n, f->qr, f->pivots, f->tau, w);
    lapack_qr_apply(f->blas, a->type, 'C', a->m, nrhs, f->k, f->qr, f->tau, f->rhs, w);
    lapack_svd(f->blas, a->type, 'N', f->k, a->n, f->tri, f->sigma, NULL, NULL, w);
    lapack_least_norm(f->blas, a->type, f->k, a->n, nrhs, f->tri, f->rhs, w);
    lapack_triangle_rcond(f->blas, a->type, 'U', a->n, f->qr, a->m, w);
    scratch_allocate(c, w);
    lapack_threads(&c->in->ctx, f->blas, LAPACK_QR, f->k);
}

static double fit_default(const Stack *a)
{
    return (double)(a->m > a->n ? a->m : a->n) * mat_eps(a->type);
}

void *linalg_fit_all(Stack *a)
{
    Fit *all = linalg_work(a->call, (size_t)a->count, sizeof *all);
    linalg_require_finite(a);
    for (int64_t i = 0; i < a->count; i++) {
        poll_interrupt(a->call->in);
        fit_init(&all[i], a, 1, fit_default(a), false);
        fit_factor(&all[i], linalg_item(a, i));
    }
    return all;
}

/* Reflections are changed while they are applied, so they are copied. */
static void fit_take(Fit *f, const Fit *kept)
{
    f->matrix = kept->matrix;
    f->rank = kept->rank;
    f->cond = kept->cond;
    f->scaled_cond = kept->scaled_cond;
    f->tau = kept->tau;
    f->pivots = kept->pivots;
    f->scale = kept->scale;
    memcpy(f->qr, kept->qr, (size_t)(f->m * f->n) * f->a->bytes);
}

/* ---- residuals in a wider format ---- */
typedef struct Wide { long double re, im; } Wide;

/* sum of a[i*sa] * x[i*sx] (conj(a) if asked), accumulated in long double: 64 bits of
 * significand at least, and 11 more than the products of f64 need to be right. */
static Wide wide_dot(BlasType t, int64_t n, const char *a, int64_t sa, const char *x, int64_t sx,
                     bool conjugate)
{
    Wide s = { 0, 0 };
    if (t == BLAS_D) {
        const double *pa = (const double *)a, *px = (const double *)x;
        for (int64_t i = 0; i < n; i++)
            s.re += (long double)pa[i * sa] * (long double)px[i * sx];
        return s;
    }
    for (int64_t i = 0; i < n; i++) {
        long double ar = part(t, a, i * sa, false), ai = part(t, a, i * sa, true);
        long double xr = part(t, x, i * sx, false), xi = part(t, x, i * sx, true);
        if (conjugate)
            ai = -ai;
        s.re += ar * xr - ai * xi;
        s.im += ar * xi + ai * xr;
    }
    return s;
}

/* out = b - minus - A x, each element rounded once; minus may be NULL. */
static void wide_residual(const Fit *f, Mat b, const char *minus, const char *x, char *out)
{
    BlasType t = f->a->type;
    for (int64_t i = 0; i < f->m; i++) {
        Wide s = wide_dot(t, f->n, f->matrix.data + i * f->matrix.rs * (int64_t)f->a->bytes,
                          f->matrix.cs, x, 1, false);
        long double re = (long double)part(t, b.data, i * b.rs, false);
        long double im = (long double)part(t, b.data, i * b.rs, true);
        if (minus) {
            re -= part(t, minus, i, false);
            im -= part(t, minus, i, true);
        }
        mat_store(t, out, i, (double)(re - s.re), (double)(im - s.im));
    }
}

/* ---- solving ---- */
static void triangle_solve(Fit *f, char trans, char *x)
{
    lapack_triangle_solve(f->blas, f->a->type, 'U', trans, f->n, 1, f->qr, f->m, x, f->n);
}

static void apply_q(Fit *f, char trans, int64_t nrhs, char *x)
{
    f->work.used = 0;
    lapack_qr_apply(f->blas, f->a->type, trans, f->m, nrhs, f->k, f->qr, f->tau, x, &f->work);
}

/* x[pivot] = y scaled back, for a solution y of the scaled, permuted system. */
static void unpermute(const Fit *f, const char *y, char *x, bool add)
{
    BlasType t = f->a->type;
    for (int64_t j = 0; j < f->n; j++) {
        int64_t to = f->pivots[j] - 1;
        double re = scalbn(part(t, y, j, false), f->scale[to]);
        double im = scalbn(part(t, y, j, true), f->scale[to]);
        mat_store(t, x, to, re + (add ? part(t, x, to, false) : 0),
                  im + (add ? part(t, x, to, true) : 0));
    }
}

/* One step on the augmented system [I A; A' 0] [r; x] = [b; 0] with the factors at hand.
 * r and x are updated; returns |dx| in scaled units. fix holds 3 vectors of length m. */
static double refine_step(Fit *f, Mat b, char *r, char *x, double limit)
{
    BlasType t = f->a->type;
    char *d = f->fix, *h = element(f, f->fix, f->m), *g = element(f, f->fix, 2 * f->m);
    wide_residual(f, b, r, x, d);
    for (int64_t j = 0; j < f->n; j++) {
        int64_t p = f->pivots[j] - 1;
        Wide s = wide_dot(t, f->m, f->matrix.data + p * f->matrix.cs * (int64_t)f->a->bytes,
                          f->matrix.rs, r, 1, true);
        mat_store(t, h, j, scalbn((double)-s.re, f->scale[p]), scalbn((double)-s.im, f->scale[p]));
    }
    triangle_solve(f, blas_is_complex(t) ? 'C' : 'T', h);
    apply_q(f, 'C', 1, d);
    for (int64_t j = 0; j < f->n; j++)
        mat_store(t, g, j, part(t, d, j, false) - part(t, h, j, false),
                  part(t, d, j, true) - part(t, h, j, true));
    triangle_solve(f, 'N', g);
    double size = gemm_norm2(f->a->dt, f->n, g, 1);
    if (!(size < limit))
        return size;
    memcpy(d, h, (size_t)f->n * f->a->bytes);
    apply_q(f, 'N', 1, d);
    unpermute(f, g, x, true);
    for (int64_t i = 0; i < f->m; i++)
        mat_store(t, r, i, part(t, r, i, false) + part(t, d, i, false),
                  part(t, r, i, true) + part(t, d, i, true));
    return size;
}

/* Repeats while each correction is at most half the one before. */
static void refine(Fit *f, Mat b, char *r, char *x, double size)
{
    double limit = size / 2, small = 2 * mat_eps(f->a->type) * size;
    wide_residual(f, b, NULL, x, r);
    for (int step = 0; step < 6; step++) {
        poll_interrupt(f->a->call->in);
        double moved = refine_step(f, b, r, x, limit);
        if (!(moved < limit) || moved <= small)
            return;
        limit = moved / 2;
    }
}

/* Solves for all right sides of one matrix; x is n x nrhs by columns. */
static void fit_solve(Fit *f, Mat b, int64_t nrhs, char *x)
{
    BlasType t = f->a->type;
    size_t bytes = f->a->bytes;
    if (f->rank == 0) {
        memset(x, 0, (size_t)(f->n * nrhs) * bytes);
        return;
    }
    mat_copy(bytes, f->m, nrhs, b, mat_columns(f->rhs, f->m));
    apply_q(f, 'C', nrhs, f->rhs);
    if (f->rank == f->n) {
        for (int64_t j = 0; j < nrhs; j++) {
            poll_interrupt(f->a->call->in);
            char *y = element(f, f->rhs, j * f->m), *xj = element(f, x, j * f->n);
            Mat bj = { b.data + j * b.cs * (int64_t)bytes, b.rs, b.cs };
            triangle_solve(f, 'N', y);
            double size = gemm_norm2(f->a->dt, f->n, y, 1);
            unpermute(f, y, xj, false);
            refine(f, bj, y, xj, size);
        }
        return;
    }
    fit_triangle(f, f->rank);
    mat_copy(bytes, f->rank, nrhs, mat_columns(f->rhs, f->m), mat_columns(x, f->n));
    f->work.used = 0;
    lapack_least_norm(f->blas, t, f->rank, f->n, nrhs, f->tri, x, &f->work);
}

static double fit_residual(const Fit *f, Mat b, const char *x)
{
    wide_residual(f, b, NULL, x, f->fix);
    return gemm_norm2(f->a->dt, f->m, f->fix, 1);
}

/* ---- what is said about it ---- */
static void fit_judge(Fit *f)
{
    bool deficient = f->rank < f->k;
    bool hopeless = f->rank == f->n && f->scaled_cond * mat_eps(f->a->type) > 1;
    f->total++;
    if (!deficient && !hopeless)
        return;
    if (deficient ? f->deficient == 0 : f->deficient + f->hopeless == 0)
        f->found = f->rank, f->worst = deficient ? f->cond : f->scaled_cond;
    f->deficient += deficient;
    f->hopeless += hopeless;
}

/* One notice for all matrices of the call; of several it tells of the first such one. */
static void fit_notice(const Fit *f)
{
    OpCall *c = f->a->call;
    char who[160];
    int64_t bad = f->deficient ? f->deficient : f->hopeless;
    if (bad == 0)
        return;
    if (f->total > 1)
        snprintf(who, sizeof who, "%lld of the %lld matrices of %s: the first",
                 (long long)bad, (long long)f->total, arg_text(c, f->a->arg));
    else
        snprintf(who, sizeof who, "%s", arg_text(c, f->a->arg));
    if (f->deficient)
        notice(c->in, "%s has numerical rank %lld, not %lld (tolerance rcond=%.1e, condition "
               "number %.1e): of all solutions the one of least norm is given", who,
               (long long)f->found, (long long)f->k, f->rcond, f->worst);
    else
        notice(c->in, "%s is ill-conditioned (rank %lld, tolerance rcond=%.1e, condition number "
               "%.1e): no digit of the solution can be trusted", who, (long long)f->found,
               f->rcond, f->worst);
}

static void fit_explain(const Fit *f, int64_t nrhs, double residual)
{
    OpCall *c = f->a->call;
    BlasType t = f->a->type;
    double n = (double)f->k, m = (double)(f->m > f->n ? f->m : f->n);
    bool kept = f->kept && !f->made;
    double each = kept ? (4 * m * n - n * n) * (double)nrhs : 2 * m * n * n - 2 * n * n * n / 3;
    explain_flops(c->in, each * (double)f->a->count * (blas_is_complex(t) ? 4 : 1),
                  kept ? "4mn - n^2 per right side" : "2mn^2 - 2/3 n^3");
    explain_note(c->in, "saw", f->m > f->n ? "more equations than unknowns: least squares"
                 : f->m < f->n ? "more unknowns than equations: the solution of least norm"
                               : "a square matrix: least squares");
    int skip = kept ? 6 : 0;                         /* geqp3 */
    if (f->rank == f->n)
        linalg_explain_routines(c, t, "geqp3 ormqr trtrs" + skip, "geqp3 unmqr trtrs" + skip);
    else
        linalg_explain_routines(c, t, "geqp3 ormqr gelqf trtrs ormlq" + skip,
                                "geqp3 unmqr gelqf trtrs unmlq" + skip);
    if (kept)
        explain_note(c->in, "kept", "the factors were there: no factorisation");
    explain_note(c->in, "rank", "%lld of %lld, tolerance rcond=%.1e", (long long)f->rank,
                 (long long)f->k, f->rcond);
    explain_note(c->in, "cond", "%.2g%s", f->cond, f->everything || f->rank < f->n
                 ? " (2-norm)" : " (1-norm, of the scaled R)");
    explain_note(c->in, "residual", "%.2g = |b - A x|", residual);
}

typedef struct FitResult { Out x, residual, rank, cond; } FitResult;

static void fit_one(Fit *f, const Rhs *r, const FitResult *out, int64_t index)
{
    BlasType real = blas_type(dtype_real(f->a->dt));
    Mat b = linalg_rhs_item(r, f->a, index);
    char *x = linalg_block(&out->x, index);
    if (f->kept)
        fit_take(f, &f->kept[linalg_rhs_own(r, f->a, index)]);
    else
        fit_factor(f, linalg_rhs_matrix(r, f->a, index));
    fit_solve(f, b, r->cols, x);
    fit_judge(f);
    if (heard_on(f->a->call->in) && f->total == 1 && r->cols) {
        explain_pause(f->a->call->in);
        fit_explain(f, r->cols, explain_on(f->a->call->in) ? fit_residual(f, b, x) : 0);
        explain_resume(f->a->call->in);
    }
    if (!out->residual.t)
        return;
    for (int64_t j = 0; j < r->cols; j++) {
        Mat bj = { b.data + j * b.cs * (int64_t)f->a->bytes, b.rs, b.cs };
        mat_store(real, out->residual.data, index * r->cols + j,
                  fit_residual(f, bj, element(f, x, j * f->n)), 0);
    }
    ((int64_t *)out->rank.data)[index] = f->rank;
    mat_store(real, out->cond.data, index, f->cond, 0);
}

static Out plain_out(OpCall *c, DType dt, int rank, const int64_t *shape)
{
    Tensor *t = op_keep(c, tensor_new(&c->in->ctx, dt, rank, shape));
    return (Out){ t, t->data, 0 };
}

static void require_finite_rhs(Stack *a, const Rhs *r)
{
    int64_t row, col;
    for (int64_t i = 0; i < r->count && a->m && r->cols; i++) {
        poll_interrupt(a->call->in);
        if (!mat_finite(a->type, a->m, r->cols, linalg_rhs_item(r, a, i), &row, &col))
            arg_error(a->call, 1, ERR_VALUE, "%s must be finite, but its row %lld is not",
                      arg_text(a->call, 1), (long long)row);
    }
}

/* rcond=, or what rounding alone can leave of a zero. */
static double fit_tolerance(const Stack *a, bool chosen)
{
    OpCall *c = a->call;
    double rcond;
    if (!chosen)
        return fit_default(a);
    rcond = arg_float(c, 2);
    if (!(rcond >= 0 && rcond < 1))
        arg_error_help(c, 2, ERR_VALUE,
                       "rcond=1e-10 drops directions 1e10 times weaker than the strongest",
                       "rcond must be at least 0 and less than 1, not %g", rcond);
    return rcond;
}

Value linalg_least_squares(Stack *stack, bool everything)
{
    Stack a = *stack;
    OpCall *c = a.call;
    Rhs r;
    Fit f;
    FitResult out = { .residual = { NULL, NULL, 0 } };
    linalg_check_lengths(&a);
    linalg_rhs_read(&r, &a, 1);
    linalg_require_finite(&a);
    require_finite_rhs(&a, &r);
    out.x = linalg_rhs_out(&r, &a, a.n);
    if (everything) {
        int64_t shape[TENSOR_RANK_MAX + 1];
        memcpy(shape, r.batch, (size_t)r.out_rank * sizeof *shape);
        shape[r.out_rank] = r.cols;
        out.residual = plain_out(c, dtype_real(a.dt), r.out_rank + !r.vector, shape);
        out.rank = plain_out(c, DT_I64, r.out_rank, shape);
        out.cond = plain_out(c, dtype_real(a.dt), r.out_rank, shape);
    }
    /* Only lstsq, which wants everything, has an rcond. */
    bool chosen = everything && arg_given(c, 2) && c->args[2].tag != V_NONE;
    fit_init(&f, &a, r.cols, fit_tolerance(&a, chosen), everything);
    f.as_given = chosen && f.rcond > 0;
    f.kept = factors_of(&a, linalg_fit_all, &f.made);
    for (int64_t i = 0; i < r.count; i++) {
        poll_interrupt(c->in);
        fit_one(&f, &r, &out, i);
    }
    fit_notice(&f);
    if (!everything)
        return linalg_value(&a, &out.x);
    Value x = op_root(c, linalg_value(&a, &out.x)), residual = op_root(c,
                                                                       linalg_value(&a,
                                                                                    &out.residual));
    Value rank = op_root(c, linalg_value(&a, &out.rank)), cond = op_root(c,
                                                                         linalg_value(&a,
                                                                                      &out.cond));
    return tuple_make(c->in, "x", v_retain(x), "residual", v_retain(residual), "rank",
                      v_retain(rank),
                      "cond", v_retain(cond), NULL);
}

Value op_run_lstsq(OpCall *c)
{
    Stack a = linalg_stack(c, 0);
    return linalg_least_squares(&a, true);
}

/* ---- QR ---- */
typedef struct QrJob {
    Stack a;
    const Blas *blas;
    int64_t cols;            /* of Q */
    char *tau;
    int *pivots;             /* of columns, from 1 on; NULL: none move */
    Out q, r;
    Scratch work;
    char *turn;              /* of factors of our own; NULL: by LAPACK */
} QrJob;

/* The reflectors and R in `packed`. */
static void qr_factor(QrJob *j, void *packed)
{
    Stack *a = &j->a;
    if (j->turn)
        dense_qr(&a->call->in->ctx, a->type, a->m, a->n, packed, j->tau, j->turn);
    else if (j->pivots)
        lapack_qr_pivoted(j->blas, a->type, a->m, a->n, packed, j->pivots, j->tau, &j->work);
    else
        lapack_qr(j->blas, a->type, a->m, a->n, packed, j->tau, &j->work);
}

static void qr_measure(QrJob *j)
{
    Stack *a = &j->a;
    int64_t k = a->m < a->n ? a->m : a->n;
    qr_factor(j, j->q.data);
    lapack_qr_form(j->blas, a->type, a->m, j->cols, k, j->q.data, j->tau, &j->work);
    scratch_allocate(a->call, &j->work);
}

/* Factors in `packed` (m x n by columns), copies R out, turns the rest into Q. */
static void qr_one(QrJob *j, int64_t index, char *packed)
{
    Stack *a = &j->a;
    int64_t m = a->m, n = a->n, k = m < n ? m : n, rows = j->cols;
    size_t bytes = a->bytes;
    char *q = linalg_block(&j->q, index), *r = linalg_block(&j->r, index);
    mat_copy(bytes, m, n, linalg_item(a, index), mat_columns(packed, m));
    j->work.used = 0;
    qr_factor(j, packed);
    for (int64_t col = 0; col < n; col++) {
        int64_t top = col + 1 < k ? col + 1 : k;
        memcpy(r + (size_t)(col * rows) * bytes, packed + (size_t)(col * m) * bytes,
               (size_t)top * bytes);
        memset(r + (size_t)(col * rows + top) * bytes, 0, (size_t)(rows - top) * bytes);
    }
    if (packed != q)
        memcpy(q, packed, (size_t)(m * k) * bytes);
    j->work.used = 0;
    if (j->turn)
        dense_qr_form(&a->call->in->ctx, a->type, m, j->cols, k, q, j->tau, j->turn);
    else
        lapack_qr_form(j->blas, a->type, m, j->cols, k, q, j->tau, &j->work);
}

Value op_run_qr(OpCall *c)
{
    QrJob j = { .a = linalg_stack(c, 0) };
    Stack *a = &j.a;
    bool full = arg_bool(c, 1, false), pivot = arg_bool(c, 2, false);
    int64_t k = a->m < a->n ? a->m : a->n;
    linalg_check_lengths(a);
    j.cols = full ? a->m : k;
    j.q = linalg_out(a, a->dt, a->m, j.cols, true);
    j.r = linalg_out(a, a->dt, j.cols, a->n, true);
    Out order = pivot ? linalg_out(a, DT_I64, a->n, -1, false) : (Out){ 0 };
    j.pivots = pivot ? linalg_work(c, (size_t)(a->n ? a->n : 1), sizeof(int)) : NULL;
    j.tau = linalg_work(c, (size_t)(a->m > a->n ? a->m : a->n), a->bytes);
    for (int64_t i = 0; pivot && !a->m && i < order.t->size; i++)
        ((int64_t *)(void *)order.data)[i] = i % a->n;
    if (a->m) {
        j.blas = linalg_blas(c);
        if (!pivot && dense_own(a->type, k))
            j.turn = linalg_work(c, dense_qr_turn(a->type, a->m, a->n), 1);
        else
            qr_measure(&j);
        if (pivot)
            lapack_threads(&c->in->ctx, j.blas, LAPACK_QR, k);
        else
            dense_threads(&c->in->ctx, j.blas, a->type, LAPACK_QR, k);
        /* A fits where Q will be unless A is wider than Q. */
        char *packed = a->n > j.cols ? linalg_matrix(c, a->m, a->n, a->bytes) : NULL;
        for (int64_t i = 0; i < a->count; i++) {
            poll_interrupt(c->in);
            qr_one(&j, i, packed ? packed : linalg_block(&j.q, i));
            for (int64_t col = 0; pivot && col < a->n; col++)
                ((int64_t *)linalg_block(&order, i))[col] = j.pivots[col] - 1;
        }
    }
    if (pivot)
        linalg_explain_routines(c, a->type, "geqp3 orgqr", "geqp3 ungqr");
    else
        linalg_explain_dense(c, a->type, k, 0, "geqrf orgqr", "geqrf ungqr");
    Value q = op_root(c, linalg_value(a, &j.q)), r = op_root(c, linalg_value(a, &j.r));
    if (pivot)
        return tuple_make(c->in, "Q", v_retain(q), "R", v_retain(r), "p",
                          op_result(c, order.t), NULL);
    return tuple_make(c->in, "Q", v_retain(q), "R", v_retain(r), NULL);
}
