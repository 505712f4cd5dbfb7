/* Looking at a square matrix and taking it apart (linalg_factor.h). The looks stop at the
 * first element that refutes them, so a dense matrix pays for a handful of elements; a
 * factorisation that turns out not to exist (Cholesky's) falls through to the next. */
#include "builtins/linalg/linalg_factor.h"
#include "kernels/dense/dense.h"

#include "core/base/mem.h"
#include "kernels/lapack/hermitian.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void factor_init(Factor *f, Stack *s)
{
    *f = (Factor){ .s = s };
    f->pivots = linalg_work(s->call, (size_t)s->n, sizeof(int));
    f->probe = linalg_work(s->call, (size_t)s->n, s->bytes);
}

static const Blas *factor_blas(Factor *f)
{
    if (!f->blas) {
        f->blas = linalg_blas(f->s->call);
        dense_threads(&f->s->call->in->ctx, f->blas, f->s->type, LAPACK_LU, f->s->n);
    }
    return f->blas;
}

/* Room for rows x cols elements; what it held is lost. */
static char *factor_room(Factor *f, int64_t rows, int64_t cols)
{
    Stack *s = f->s;
    size_t bytes = mem_mul(&s->call->in->ctx, (size_t)(rows * cols), s->bytes);
    if (f->work_bytes < bytes) {
        f->work = linalg_matrix(s->call, rows, cols, s->bytes);
        f->work_bytes = bytes;
    }
    return f->work;
}

static Mat shifted(const Factor *f, int64_t i, int64_t j)
{
    Mat a = f->a;
    a.data += (i * a.rs + j * a.cs) * (int64_t)f->s->bytes;
    return a;
}

/* ---- singular ---- */
/* With a NaN or infinity in it a matrix is not called singular. */
static _Noreturn void singular(Factor *f, const char *why)
{
    linalg_require_finite(f->s);
    linalg_singular(f->s, why);
}

static _Noreturn void zero_diagonal(Factor *f, const char *shape, int64_t i)
{
    char why[96];
    snprintf(why, sizeof why, "it is %s and its diagonal element %lld is zero", shape,
             (long long)i);
    singular(f, why);
}

static _Noreturn void zero_pivot(Factor *f, int64_t pivot)
{
    linalg_require_finite(f->s);
    linalg_zero_pivot(f->s, pivot);
}

/* ---- the norm and the condition number ---- */
static void largest_pivot(Factor *f, const char *data, int64_t step, int64_t offset)
{
    f->largest = 0;
    for (int64_t i = 0; i < f->s->n; i++) {
        double v = mat_abs(f->s->type, data, offset + i * step);
        if (v > f->largest || isnan(v))
            f->largest = v;
        if (isnan(v))
            return;
    }
}

static bool is_narrow(const Factor *f)
{
    return f->kl + f->ku < f->s->n / 2;
}

static double factor_norm1(const Factor *f)
{
    const Stack *s = f->s;
    return is_narrow(f) ? mat_band_norm1(s->type, s->n, f->kl, f->ku, f->a)
                        : mat_norm1(s->type, s->n, s->n, f->a);
}

static double diagonal_rcond(const Factor *f)
{
    double least = INFINITY, most = 0;
    for (int64_t i = 0; i < f->s->n; i++) {
        double v = mat_abs(f->s->type, f->a.data, i * (f->a.rs + f->a.cs));
        least = v < least || isnan(v) ? v : least;
        most = v > most || isnan(v) ? v : most;
    }
    return least / most;
}

static double estimate(Factor *f, double norm)
{
    Stack *s = f->s;
    Scratch *w = &f->con;
    BlasType t = s->type;
    int64_t n = s->n;
    switch (f->kind) {
    case FACTOR_TRIANGLE: case FACTOR_PERMUTED:
        return lapack_triangle_rcond(f->blas, t, f->uplo, n, f->triangle, f->lda, w);
    case FACTOR_TRIDIAGONAL_PD:
        return lapack_tridiagonal_pd_rcond(f->blas, t, &f->tri, norm, w);
    case FACTOR_TRIDIAGONAL: return lapack_tridiagonal_rcond(f->blas, t, &f->tri, norm, w);
    case FACTOR_BAND_PD: return lapack_band_pd_rcond(f->blas, t, n, f->kl, f->work, norm, w);
    case FACTOR_BAND:
        return lapack_band_rcond(f->blas, t, n, f->kl, f->ku, f->work, f->pivots, norm, w);
    case FACTOR_CHOLESKY: return lapack_cholesky_rcond(f->blas, t, 'L', n, f->work, norm, w);
    case FACTOR_HERMITIAN: case FACTOR_SYMMETRIC:
        return lapack_indefinite_rcond(f->blas, t, f->kind == FACTOR_HERMITIAN, n, f->work,
                                       f->pivots, norm, w);
    default:
        return lapack_lu_rcond(f->blas, t, '1', n, f->work, norm, w);
    }
}

double factor_rcond(Factor *f)
{
    if (f->kind == FACTOR_DIAGONAL)
        return diagonal_rcond(f);
    double norm = f->kind == FACTOR_TRIANGLE || f->kind == FACTOR_PERMUTED ? 0 : factor_norm1(f);
    if (!isfinite(norm))
        return NAN;
    if (!f->con.base)
        f->con.base = linalg_work(f->s->call, 8 * (size_t)f->s->n + 64, 16);  /* enough for all */
    f->con.used = 0;
    return estimate(f, norm);
}

/* Cholesky's method does not see the scaling of a matrix: its error follows from the
 * condition number of A with its diagonal scaled to 1 (Demmel; Higham, Accuracy and
 * Stability, theorem 10.6), as in normal equations with columns of different units. */
double factor_trust(Factor *f, double rcond)
{
    Stack *s = f->s;
    int64_t n = s->n;
    if (f->kind != FACTOR_CHOLESKY || !(rcond < linalg_rcond_limit(s->type)))
        return rcond;
    BlasType real = blas_type(dtype_real(s->dt));
    int per = blas_is_complex(s->type) ? 2 : 1;
    char *scaled = linalg_matrix(s->call, n, n, s->bytes);
    double *d = linalg_work(s->call, (size_t)n, sizeof *d), norm = 0;
    for (int64_t i = 0; i < n; i++)
        d[i] = 1 / sqrt(mat_real(s->type, f->a.data, i * (f->a.rs + f->a.cs)));
    for (int64_t j = 0; j < n; j++) {
        double sum = 0;
        for (int64_t i = 0; i < n; i++) {
            sum += mat_abs(s->type, f->a.data, i * f->a.rs + j * f->a.cs) * d[i] * d[j];
            for (int64_t p = (j * n + i) * per; i >= j && p < (j * n + i + 1) * per; p++)
                mat_store(real, scaled, p, mat_real(real, f->work, p) * d[i], 0);
        }
        norm = sum > norm ? sum : norm;
    }
    f->con.used = 0;
    return lapack_cholesky_rcond(f->blas, s->type, 'L', n, scaled, norm, &f->con);
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

/* The probe through the factors: half of a symmetric pair, for the square of its growth. */
static void probe_solve(Factor *f)
{
    Stack *s = f->s;
    int64_t n = s->n;
    switch (f->kind) {
    case FACTOR_TRIANGLE: case FACTOR_PERMUTED:
        lapack_triangle_solve(f->blas, s->type, f->uplo, 'N', n, 1, f->triangle, f->lda, f->probe,
                              n);
        break;
    case FACTOR_BAND_PD:
        lapack_band_pd_solve(f->blas, s->type, n, f->kl, 1, f->work, f->probe);
        break;
    case FACTOR_BAND:
        lapack_band_solve(f->blas, s->type, n, f->kl, f->ku, 1, f->work, f->pivots, f->probe);
        break;
    case FACTOR_CHOLESKY:
        lapack_triangle_solve(f->blas, s->type, 'L', 'N', n, 1, f->work, n, f->probe, n);
        break;
    case FACTOR_HERMITIAN: case FACTOR_SYMMETRIC:
        f->extra.used = 0;
        lapack_indefinite_solve(f->blas, s->type, f->kind == FACTOR_HERMITIAN, n, 1, f->work,
                                f->pivots, f->probe, &f->extra);
        break;
    default:
        lapack_lu_probe(f->blas, s->type, n, f->work, f->probe);
        break;
    }
}

/* Sums of magnitudes along some lines of A that lie together: a bound from below for its
 * norm that sees what the pivots do not, large elements off the diagonal. */
static double sampled_norm(const Factor *f)
{
    const Stack *s = f->s;
    bool rows = llabs(f->a.cs) <= llabs(f->a.rs);
    int64_t step = s->n <= 8 ? 1 : s->n / 8, bytes = (int64_t)s->bytes;
    double top = f->largest;
    for (int64_t i = 0; i < s->n; i += step) {
        Mat line = { f->a.data + i * (rows ? f->a.rs : f->a.cs) * bytes, rows ? f->a.cs : f->a.rs,
                     0 };
        double sum = mat_norm1(s->type, s->n, 1, line);
        top = sum > top || isnan(sum) ? sum : top;
    }
    return top;
}

/* One solution for a fixed arbitrary right side bounds |inv(A)| from below to within about
 * sqrt(n), for 2 % of a factorisation. Is A plainly well-conditioned by that? Half a
 * symmetric pair of triangles sees the square root of the growth, and is the more easily
 * fooled. A NaN says nothing about conditions. */
static bool plainly_well(Factor *f)
{
    const Stack *s = f->s;
    double root = sqrt((double)s->n), limit = linalg_rcond_ill(s);
    probe_fill(f);
    probe_solve(f);
    double grown = gemm_norm2(s->dt, s->n, f->probe, 1) / root;
    if (f->kind == FACTOR_CHOLESKY)
        grown *= grown * root, limit = linalg_rcond_limit(s->type);
    double margin = mat_eps(s->type) > 1e-10 ? 10 : 100;   /* nearer in f32: 100 stops them all */
    double bound = margin * (double)s->n * sampled_norm(f) * grown;
    return isnan(bound) || bound * limit < 1;
}

/* The probe becomes its solution with A as it lies factored, or with its transpose. */
static void probe_inverse(Factor *f, bool transposed)
{
    Stack *s = f->s;
    f->extra.used = 0;
    if (f->kind == FACTOR_LU)
        lapack_lu_solve(f->blas, s->type, transposed ? 'C' : 'N', s->n, 1, f->work, f->pivots,
                        f->probe);
    else if (f->kind == FACTOR_CHOLESKY)
        lapack_cholesky_solve(f->blas, s->type, 'L', s->n, 1, f->work, f->probe);
    else
        lapack_indefinite_solve(f->blas, s->type, f->kind == FACTOR_HERMITIAN, s->n, 1, f->work,
                                f->pivots, f->probe, &f->extra);
}

/* Every element becomes its sign. What solves with a symmetric matrix and is to solve with
 * its conjugate takes the conjugate signs. */
static void probe_signs(Factor *f)
{
    BlasType t = f->s->type, real = blas_type(dtype_real(f->s->dt));
    for (int64_t i = 0; i < f->s->n; i++) {
        double v = mat_abs(t, f->probe, i), re = mat_real(t, f->probe, i);
        double im = blas_is_complex(t) ? mat_real(real, f->probe, 2 * i + 1) : 0;
        mat_store(t, f->probe, i, v > 0 ? re / v : 1, v > 0 ? im / v : 0);
    }
    if (f->kind == FACTOR_SYMMETRIC)
        mat_conjugate(t, f->probe, f->s->n);
}

/* |inv(A)| in the 1-norm from below, as ?lacon finds it (Hager; Higham, ACM TOMS 14, 1988,
 * p. 381) with one step, from a start at random: for a matrix near a singular one the signs
 * of the solution are those that matter however little of it was in the start. */
static double inverse_norm(Factor *f)
{
    Stack *s = f->s;
    int64_t n = s->n, top = 0;
    Mat column = mat_columns(f->probe, n);
    if (f->kind == FACTOR_CHOLESKY) {       /* or else it is there: see plainly_well */
        probe_fill(f);
        probe_inverse(f, false);
    }
    probe_signs(f);
    probe_inverse(f, true);
    for (int64_t i = 1; i < n; i++)
        if (mat_abs(s->type, f->probe, i) > mat_abs(s->type, f->probe, top))
            top = i;
    double largest = mat_abs(s->type, f->probe, top);
    memset(f->probe, 0, (size_t)n * s->bytes);
    mat_store(s->type, f->probe, top, 1, 0);
    probe_inverse(f, false);
    double sum = mat_norm1(s->type, n, 1, column);
    return sum > largest ? sum : largest;
}

/* Three times that is hardly ever too little. LAPACK's own estimate takes the same steps and
 * four to six times as long, since its triangles are solved with care for overflow; in f32
 * many matrices from n = 300 on get here. An overflow here is no answer either. */
static bool well_by_signs(Factor *f)
{
    const Stack *s = f->s;
    if (f->kind < FACTOR_CHOLESKY || f->exponent)
        return false;
    double norm = mat_norm1(s->type, s->n, s->n, f->a);
    return 3 * norm * inverse_norm(f) * linalg_rcond_ill(s) < 1;
}

/* The estimate of LAPACK's ?con costs a quarter of a factorisation at n = 500, so it is made
 * only where cheaper bounds come near the limit. A diagonal matrix is never ill-conditioned
 * in this sense: every element of x keeps all its digits. */
static void factor_judge(Factor *f)
{
    Stack *s = f->s;
    double rcond;
    int64_t row, col;
    f->ill.total++;
    if (f->kind == FACTOR_DIAGONAL)
        return;
    if (f->kind != FACTOR_TRIDIAGONAL && f->kind != FACTOR_TRIDIAGONAL_PD &&
        (plainly_well(f) || well_by_signs(f)))
        return;
    rcond = factor_rcond(f);
    if (rcond < linalg_rcond_limit(s->type) && mat_finite(s->type, s->n, s->n, f->a, &row, &col))
        linalg_ill_judge(&f->ill, s, rcond, factor_trust(f, rcond));
}

/* ---- factoring ---- */
static bool factor_diagonal(Factor *f)
{
    Stack *s = f->s;
    if (f->kl || f->ku)
        return false;
    f->kind = FACTOR_DIAGONAL;
    for (int64_t i = 0; i < s->n; i++)
        if (mat_abs(s->type, f->a.data, i * (f->a.rs + f->a.cs)) == 0)
            zero_diagonal(f, "diagonal", i);
    return true;
}

static bool factor_triangle(Factor *f)
{
    Stack *s = f->s;
    int64_t n = s->n;
    Mat a = f->a;
    if (f->kl && f->ku)
        return false;
    if (!gemm_legal(n, n, a.rs, a.cs)) {
        Mat packed = { factor_room(f, n, n), n, 1 };
        mat_copy(s->bytes, n, n, a, packed);
        explain_copied(s->call->in, (double)(n * n) * (double)s->bytes);
        a = packed;
    }
    f->kind = FACTOR_TRIANGLE;
    f->triangle = a.data;
    f->by_rows = a.cs == 1 || n == 1;
    f->lda = n == 1 ? 1 : f->by_rows ? a.rs : a.cs;
    f->upper = f->kl == 0;
    f->uplo = f->upper != f->by_rows ? 'U' : 'L';
    for (int64_t i = 0; i < n; i++)
        if (mat_abs(s->type, a.data, i * (a.rs + a.cs)) == 0)
            zero_diagonal(f, "triangular", i);
    largest_pivot(f, a.data, a.rs + a.cs, 0);
    return true;
}

/* The diagonals side by side in the work space. */
static void tridiagonal_take(Factor *f)
{
    Stack *s = f->s;
    int64_t n = s->n, along = f->a.rs + f->a.cs;
    char *work = factor_room(f, n, 4);
    size_t line = (size_t)n * s->bytes;
    f->tri = (Tridiagonal){ n, work, work + line, work + 2 * line, work + 3 * line, f->pivots };
    const Mat from[] = { shifted(f, 1, 0), f->a, shifted(f, 0, 1) };
    for (int d = 0; d < 3; d++)
        mat_copy(s->bytes, d == 1 ? n : n - 1, 1, (Mat){ from[d].data, along, 0 },
                 (Mat){ work + (size_t)d * line, 1, 0 });
}

static bool factor_tridiagonal_pd(Factor *f)
{
    Stack *s = f->s;
    BlasType real = blas_type(dtype_real(s->dt));
    if (!mat_band_definite(s->type, s->n, 1, f->a))
        return false;
    tridiagonal_take(f);
    for (int64_t i = 0; i < s->n && blas_is_complex(s->type); i++)
        mat_store(real, f->tri.diagonal, i, mat_real(s->type, f->tri.diagonal, i), 0);
    f->not_definite = lapack_tridiagonal_pd(factor_blas(f), s->type, &f->tri);
    f->kind = FACTOR_TRIDIAGONAL_PD;
    return f->not_definite == 0;
}

static bool factor_tridiagonal(Factor *f)
{
    Stack *s = f->s;
    if (s->n < 3 || f->kl > 1 || f->ku > 1)
        return false;
    if (factor_tridiagonal_pd(f))
        return true;
    tridiagonal_take(f);
    f->kind = FACTOR_TRIDIAGONAL;
    int info = lapack_tridiagonal(factor_blas(f), s->type, &f->tri);
    if (info > 0)
        zero_pivot(f, info - 1);
    return true;
}

/* Copies the band into LAPACK's rectangle: column j of A below `top` free rows, from the
 * diagonal down or with ku rows above it. */
static void band_take(Factor *f, int64_t ku, int64_t top)
{
    Stack *s = f->s;
    int64_t n = s->n, kl = f->kl, ld = top + ku + kl + 1;
    memset(factor_room(f, ld, n), 0, (size_t)(ld * n) * s->bytes);
    for (int64_t j = 0; j < n; j++) {
        int64_t i0 = j - ku > 0 ? j - ku : 0, i1 = j + kl < n - 1 ? j + kl : n - 1;
        char *column = f->work + (size_t)(j * ld + top + ku + i0 - j) * s->bytes;
        Mat from = { shifted(f, i0, j).data, f->a.rs, f->a.cs };
        mat_copy(s->bytes, i1 - i0 + 1, 1, from, (Mat){ column, 1, ld });
    }
    explain_copied(s->call->in, (double)(n * (ku + kl + 1)) * (double)s->bytes);
}

static bool factor_band_pd(Factor *f)
{
    Stack *s = f->s;
    if (f->kl != f->ku || !mat_band_definite(s->type, s->n, f->kl, f->a))
        return false;
    band_take(f, 0, 0);
    f->kind = FACTOR_BAND_PD;
    f->not_definite = lapack_band_pd(factor_blas(f), s->type, s->n, f->kl, f->work);
    largest_pivot(f, f->work, f->kl + 1, 0);
    f->largest *= f->largest;
    return f->not_definite == 0;
}

static bool factor_band(Factor *f)
{
    Stack *s = f->s;
    int64_t n = s->n, kl = f->kl, ku = f->ku, ld = 2 * kl + ku + 1;
    if (n < 32 || 4 * ld > n)
        return false;
    if (factor_band_pd(f))
        return true;
    f->kind = FACTOR_BAND;
    band_take(f, ku, kl);
    int info = lapack_band(factor_blas(f), s->type, n, kl, ku, f->work, f->pivots);
    if (info > 0)
        zero_pivot(f, info - 1);
    largest_pivot(f, f->work, ld, kl + ku);
    return true;
}

/* Line i of the triangle is line pivots[i] of A; lines are laid out as they are in A. */
static bool factor_permuted(Factor *f)
{
    Stack *s = f->s;
    int64_t n = s->n, bytes = (int64_t)s->bytes;
    if (!mat_permuted_triangle(s->type, n, f->a, f->pivots, &f->permuted_rows, &f->upper))
        return false;
    f->by_rows = f->permuted_rows;
    char *to = factor_room(f, n, n);
    int64_t step = f->by_rows ? f->a.rs : f->a.cs, along = f->by_rows ? f->a.cs : f->a.rs;
    for (int64_t i = 0; i < n; i++)
        mat_copy(s->bytes, n, 1, (Mat){ f->a.data + f->pivots[i] * step * bytes, along, 0 },
                 (Mat){ to + i * n * bytes, 1, 0 });
    explain_copied(s->call->in, (double)(n * n) * (double)bytes);
    f->kind = FACTOR_PERMUTED;
    f->triangle = to;
    f->lda = n;
    f->uplo = f->upper != f->by_rows ? 'U' : 'L';
    largest_pivot(f, to, n + 1, 0);
    return true;
}

/* A by columns, so that rows are exchanged whatever its layout. */
static void copy_in(Factor *f)
{
    Stack *s = f->s;
    int64_t n = s->n;
    mat_copy(s->bytes, n, n, f->a, mat_columns(factor_room(f, n, n), n));
    explain_copied(s->call->in, (double)(n * n) * (double)s->bytes);
}

/* Puts the half that the symmetric routines read into the work space, unless the look for
 * symmetry left it there. */
static void copy_lower(Factor *f)
{
    Stack *s = f->s;
    if (!f->half_taken)
        mat_copy_lower(s->type, s->n, f->a, factor_room(f, s->n, s->n), false);
    f->half_taken = false;
    explain_copied(s->call->in, (double)(s->n * (s->n + 1) / 2) * (double)s->bytes);
}

static bool positive_diagonal(const Factor *f)
{
    for (int64_t i = 0; i < f->s->n; i++)
        if (!(mat_real(f->s->type, f->a.data, i * (f->a.rs + f->a.cs)) > 0))
            return false;
    return true;
}

static bool factor_cholesky(Factor *f)
{
    Stack *s = f->s;
    int64_t n = s->n;
    if (!f->hermitian || !positive_diagonal(f))
        return false;
    copy_lower(f);
    f->kind = FACTOR_CHOLESKY;
    f->not_definite = dense_cholesky(&s->call->in->ctx, factor_blas(f), s->type, n, f->work);
    largest_pivot(f, f->work, n + 1, 0);
    f->largest *= f->largest;
    return f->not_definite == 0;
}

static void indefinite_room(Factor *f)
{
    Stack *s = f->s;
    f->extra.used = 0;
    if (f->extra.base)
        return;
    lapack_indefinite(f->blas, s->type, true, s->n, NULL, NULL, &f->extra);
    scratch_allocate(s->call, &f->extra);
}

/* Half the FLOPs of LU; in dsytrf of OpenBLAS 0.3.21 0.65 to 0.9 of its time on one thread,
 * on two about the same in real and 0.6 in complex. A zero pivot is left to LU, which says
 * more about it. */
static bool factor_indefinite(Factor *f)
{
    Stack *s = f->s;
    bool hermitian = f->hermitian;
    if (!hermitian && !(blas_is_complex(s->type) && mat_is_symmetric(s->type, s->n, f->a)))
        return false;
    factor_blas(f);
    if (hermitian)
        copy_lower(f);
    else
        copy_in(f);
    f->kind = hermitian ? FACTOR_HERMITIAN : FACTOR_SYMMETRIC;
    indefinite_room(f);
    if (lapack_indefinite(f->blas, s->type, hermitian, s->n, f->work, f->pivots, &f->extra))
        return false;
    largest_pivot(f, f->work, s->n + 1, 0);
    return true;
}

static void factor_lu(Factor *f)
{
    Stack *s = f->s;
    int64_t n = s->n;
    copy_in(f);
    f->kind = FACTOR_LU;
    int info = dense_lu(&s->call->in->ctx, factor_blas(f), s->type, n, n, f->work, f->pivots);
    if (info > 0)
        zero_pivot(f, info - 1);
    largest_pivot(f, f->work, n + 1, 0);
}

/* Elements near the largest float make pivots overflow, and x a finite wrong answer. A
 * finite matrix is then factored once more, scaled down by a power of two. */
static void factor_rescale(Factor *f)
{
    Stack *s = f->s;
    int64_t n = s->n, row, col;
    if (!mat_finite(s->type, n, n, f->a, &row, &col))
        return;
    BlasType real = blas_type(dtype_real(s->dt));
    int64_t parts = n * n * (blas_is_complex(s->type) ? 2 : 1);
    f->exponent = s->type == BLAS_S || s->type == BLAS_C ? -64 : -512;
    copy_in(f);
    for (int64_t i = 0; i < parts; i++)
        mat_store(real, f->work, i, scalbn(mat_real(real, f->work, i), f->exponent), 0);
    f->kind = FACTOR_LU;
    int info = dense_lu(&s->call->in->ctx, factor_blas(f), s->type, n, n, f->work, f->pivots);
    if (info > 0)
        zero_pivot(f, info - 1);
    largest_pivot(f, f->work, n + 1, 0);
}

static void unscale(const Factor *f, int64_t count, char *x)
{
    BlasType real = blas_type(dtype_real(f->s->dt));
    int64_t parts = count * (blas_is_complex(f->s->type) ? 2 : 1);
    for (int64_t i = 0; i < parts; i++)
        mat_store(real, x, i, scalbn(mat_real(real, x, i), f->exponent), 0);
}

void factor_make(Factor *f, Mat a)
{
    Stack *s = f->s;
    if (f->seen == a.data)
        return;
    f->a = a;
    f->not_definite = f->exponent = 0;
    mat_bandwidth(s->type, s->n, s->n, a, &f->kl, &f->ku);
    if (!factor_diagonal(f)) {
        factor_blas(f);
        if (!factor_triangle(f) && !factor_tridiagonal(f) && !factor_band(f) &&
            !factor_permuted(f)) {
            f->hermitian = f->half_taken = mat_take_hermitian(
                s->type, s->n, a, factor_room(f, s->n, s->n), NULL);
            if (!factor_cholesky(f) && !factor_indefinite(f))
                factor_lu(f);
        }
    }
    if (f->kind >= FACTOR_CHOLESKY && !isfinite(f->largest))
        factor_rescale(f);
    f->seen = a.data;
    factor_judge(f);
}

void *factor_all(Stack *a)
{
    Factor *all = linalg_work(a->call, (size_t)a->count, sizeof *all);
    for (a->at = 0; a->at < a->count && a->t->size; a->at++) {
        poll_interrupt(a->call->in);
        factor_init(&all[a->at], a);
        factor_make(&all[a->at], linalg_item(a, a->at));
    }
    a->at = 0;
    return all;
}

static void ill_join(Ill *ill, const Ill *other)
{
    ill->total += other->total;
    if (other->count && (ill->count == 0 || other->trust < ill->trust))
        ill->worst = other->worst, ill->trust = other->trust;
    ill->count += other->count;
}

/* Bunch and Kaufman's factors are changed for the time of a solution. */
static void work_apart(Factor *f)
{
    Stack *s = f->s;
    size_t bytes = (size_t)(s->n * s->n) * s->bytes;
    char *work = linalg_matrix(s->call, s->n, s->n, s->bytes);
    memcpy(work, f->work, bytes);
    f->work = work;
}

void factor_take(Factor *f, const Factor *kept)
{
    Factor now = *kept;
    if (f->seen == kept->seen)
        return;
    if (kept->blas && kept->blas != f->blas)
        dense_threads(&f->s->call->in->ctx, kept->blas, f->s->type, LAPACK_LU, f->s->n);
    now.s = f->s;
    now.ill = f->ill;
    ill_join(&now.ill, &kept->ill);
    now.residual = f->residual;
    now.better = f->better;
    now.backward = f->backward;
    now.refined = f->refined;
    now.grown = f->grown;
    now.told = f->told;
    now.kept = f->kept;
    *f = now;
    if (f->kind == FACTOR_HERMITIAN || f->kind == FACTOR_SYMMETRIC)
        work_apart(f);
}

/* ---- solving ---- */
static void divide_by_diagonal(Factor *f, Mat b, int64_t nrhs, char *x)
{
    Stack *s = f->s;
    int64_t n = s->n, along = f->a.rs + f->a.cs;
    bool cplx = blas_is_complex(s->type);
    BlasType real = blas_type(dtype_real(s->dt));
    for (int64_t j = 0; j < nrhs; j++)
        for (int64_t i = 0; i < n; i++) {
            int64_t p = i * b.rs + j * b.cs, to = j * n + i;
            if (!cplx) {
                mat_store(s->type, x, to, mat_real(s->type, b.data, p) /
                          mat_real(s->type, f->a.data, i * along), 0);
                continue;
            }
            double _Complex q = __builtin_complex(mat_real(real, b.data, 2 * p),
                                                  mat_real(real, b.data, 2 * p + 1)) /
                                __builtin_complex(mat_real(real, f->a.data, 2 * i * along),
                                                  mat_real(real, f->a.data, 2 * i * along + 1));
            mat_store(s->type, x, to, __real__ q, __imag__ q);
        }
}

/* A permuted triangle T: of rows, T x = b in the order of the rows; of columns, T y = b and
 * y is x in the order of the columns. */
static void solve_permuted(Factor *f, Mat b, int64_t nrhs, char *x)
{
    Stack *s = f->s;
    int64_t n = s->n, bytes = (int64_t)s->bytes;
    char trans = f->by_rows ? 'T' : 'N';
    mat_copy(s->bytes, n, nrhs, b, mat_columns(x, n));
    for (int64_t j = 0; j < nrhs; j++) {
        char *column = x + j * n * bytes;
        for (int64_t i = 0; i < n && f->permuted_rows; i++)
            memcpy(f->probe + i * bytes, column + f->pivots[i] * bytes, s->bytes);
        if (f->permuted_rows)
            memcpy(column, f->probe, (size_t)(n * bytes));
    }
    lapack_triangle_solve(f->blas, s->type, f->uplo, trans, n, nrhs, f->triangle, f->lda, x, n);
    for (int64_t j = 0; j < nrhs && !f->permuted_rows; j++) {
        char *column = x + j * n * bytes;
        memcpy(f->probe, column, (size_t)(n * bytes));
        for (int64_t i = 0; i < n; i++)
            memcpy(column + f->pivots[i] * bytes, f->probe + i * bytes, s->bytes);
    }
}

void factor_solve(Factor *f, Mat b, int64_t nrhs, char *x)
{
    Stack *s = f->s;
    int64_t n = s->n;
    char trans = f->by_rows ? 'T' : 'N';
    if (f->kind == FACTOR_DIAGONAL) {
        divide_by_diagonal(f, b, nrhs, x);
        return;
    }
    if (f->kind == FACTOR_PERMUTED) {
        solve_permuted(f, b, nrhs, x);
        return;
    }
    mat_copy(s->bytes, n, nrhs, b, mat_columns(x, n));
    switch (f->kind) {
    case FACTOR_TRIANGLE:
        lapack_triangle_solve(f->blas, s->type, f->uplo, trans, n, nrhs, f->triangle, f->lda, x, n);
        break;
    case FACTOR_TRIDIAGONAL_PD:
        lapack_tridiagonal_pd_solve(f->blas, s->type, &f->tri, nrhs, x);
        break;
    case FACTOR_TRIDIAGONAL:
        lapack_tridiagonal_solve(f->blas, s->type, &f->tri, nrhs, x);
        break;
    case FACTOR_BAND_PD:
        lapack_band_pd_solve(f->blas, s->type, n, f->kl, nrhs, f->work, x);
        break;
    case FACTOR_BAND:
        lapack_band_solve(f->blas, s->type, n, f->kl, f->ku, nrhs, f->work, f->pivots, x);
        break;
    case FACTOR_CHOLESKY:
        if (dense_solves(s->type, n, nrhs))     /* these the library shares among its threads */
            lapack_threads(&s->call->in->ctx, f->blas, LAPACK_LU, n);
        lapack_cholesky_solve(f->blas, s->type, 'L', n, nrhs, f->work, x);
        dense_threads(&s->call->in->ctx, f->blas, s->type, LAPACK_LU, n);
        break;
    case FACTOR_HERMITIAN: case FACTOR_SYMMETRIC:
        f->extra.used = 0;
        lapack_indefinite_solve(f->blas, s->type, f->kind == FACTOR_HERMITIAN, n, nrhs, f->work,
                                f->pivots, x, &f->extra);
        break;
    default:
        if (dense_solves(s->type, n, nrhs))
            dense_lu_solve(&s->call->in->ctx, s->type, n, nrhs, f->work, f->pivots, x);
        else
            lapack_lu_solve(f->blas, s->type, 'N', n, nrhs, f->work, f->pivots, x);
        if (f->exponent)
            unscale(f, n * nrhs, x);
        break;
    }
}
