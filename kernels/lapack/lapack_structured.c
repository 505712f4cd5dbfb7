/* Structured systems through LAPACK, and how their structure is found (lapack_structured.h). Must
 * not raise or allocate. */
#include "kernels/lapack/lapack_structured.h"

#include <math.h>

/* ---- permuted triangles ---- */
/* First element of a line that is not zero, from its start or, `backwards`, from its end;
 * n if there is none. NaN is not zero. */
static int64_t line_edge(BlasType t, int64_t n, const char *line, int64_t step, bool backwards)
{
    for (int64_t i = 0; i < n; i++) {
        int64_t at = backwards ? n - 1 - i : i;
        if (mat_abs(t, line, at * step) != 0)
            return at;
    }
    return n;
}

/* The lines' edges are all different: line i goes where its edge is on the diagonal. */
static bool edges_permute(BlasType t, int64_t n, Mat a, bool backwards, int *from)
{
    int64_t bytes = (int64_t)blas_bytes(t);
    int64_t first = line_edge(t, n, a.data, a.cs, backwards);
    if (first == n || (n > 1 && first == line_edge(t, n, a.data + a.rs * bytes, a.cs, backwards)))
        return false;
    for (int64_t i = 0; i < n; i++)
        from[i] = -1;
    for (int64_t i = 0; i < n; i++) {
        int64_t edge = line_edge(t, n, a.data + i * a.rs * bytes, a.cs, backwards);
        if (edge == n || from[edge] >= 0)
            return false;
        from[edge] = (int)i;
    }
    return true;
}

bool mat_permuted_triangle(BlasType t, int64_t n, Mat a, int *from, bool *by_rows, bool *upper)
{
    Mat turned = { a.data, a.cs, a.rs };
    for (int look = 0; look < 4; look++) {
        bool rows = look < 2, backwards = look & 1;
        if (!edges_permute(t, n, rows ? a : turned, backwards, from))
            continue;
        *by_rows = rows;
        *upper = rows != backwards;
        return true;
    }
    return false;
}

/* ---- symmetry and norms ---- */
bool mat_band_definite(BlasType t, int64_t n, int64_t k, Mat a)
{
    for (int64_t i = 0; i < n; i++) {
        int64_t diagonal = i * (a.rs + a.cs), from = i - k > 0 ? i - k : 0;
        if (!(mat_real(t, a.data, diagonal) > 0))
            return false;
        for (int64_t j = from; j <= i; j++)
            if (mat_gap(t, a.data, i * a.rs + j * a.cs, j * a.rs + i * a.cs) != 0)
                return false;
    }
    return true;
}

static bool same_element(BlasType t, const void *data, int64_t p, int64_t q)
{
    BlasType real = t == BLAS_C ? BLAS_S : BLAS_D;
    if (!blas_is_complex(t))
        return mat_real(t, data, p) == mat_real(t, data, q);
    return mat_real(real, data, 2 * p) == mat_real(real, data, 2 * q) &&
           mat_real(real, data, 2 * p + 1) == mat_real(real, data, 2 * q + 1);
}

bool mat_is_symmetric(BlasType t, int64_t n, Mat a)
{
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < i; j++)
            if (!same_element(t, a.data, i * a.rs + j * a.cs, j * a.rs + i * a.cs))
                return false;
    return true;
}

double mat_band_norm1(BlasType t, int64_t n, int64_t kl, int64_t ku, Mat a)
{
    double top = 0;
    for (int64_t j = 0; j < n; j++) {
        int64_t from = j - ku > 0 ? j - ku : 0, to = j + kl < n - 1 ? j + kl : n - 1;
        double sum = 0;
        for (int64_t i = from; i <= to; i++)
            sum += mat_abs(t, a.data, i * a.rs + j * a.cs);
        if (!(sum <= top))
            top = sum;
        if (isnan(sum))
            break;
    }
    return top;
}

/* ---- results ---- */
static bool is_single(BlasType t) { return t == BLAS_S || t == BLAS_C; }

/* A real scalar that is a result, in the precision of t. */
typedef union RealArg { float s; double d; } RealArg;

static double real_value(BlasType t, const RealArg *r)
{
    return is_single(t) ? (double)r->s : r->d;
}

/* ---- the probe ---- */
enum { PROBE_OWN = 64 };

/* x[i] -= what four columns at a, n apart, take from it. */
static inline void take_four(int64_t n, const double *restrict a, const double c[4], int64_t from,
                             int64_t to, double *restrict x)
{
    for (int64_t i = from; i < to; i++)
        x[i] -= (a[i] * c[0] + a[n + i] * c[1]) + (a[2 * n + i] * c[2] + a[3 * n + i] * c[3]);
}

/* A small system without a call: its triangles are in the cache. Four columns at a time, so
 * that x is stored a quarter as often; what is left over is the first or last columns. */
static void probe_small(int64_t n, const double *restrict lu, double *restrict x)
{
    double inverse[PROBE_OWN];
    int64_t j = 0;
    for (int64_t i = 0; i < n; i++)
        inverse[i] = 1 / lu[i * (n + 1)];
    for (; j + 4 <= n; j += 4) {
        const double *a = lu + j * n;
        for (int64_t k = j; k < j + 3; k++)
            for (int64_t i = k + 1; i < j + 4; i++)
                x[i] -= lu[k * n + i] * x[k];
        take_four(n, a, (double[]){ x[j], x[j + 1], x[j + 2], x[j + 3] }, j + 4, n, x);
    }
    for (; j < n; j++)
        for (int64_t i = j + 1; i < n; i++)
            x[i] -= lu[j * n + i] * x[j];
    for (j = n; j >= 4; j -= 4) {
        const double *a = lu + (j - 4) * n;
        for (int64_t k = j - 1; k >= j - 4; k--) {
            x[k] *= inverse[k];
            for (int64_t i = j - 4; i < k; i++)
                x[i] -= lu[k * n + i] * x[k];
        }
        take_four(n, a, (double[]){ x[j - 4], x[j - 3], x[j - 2], x[j - 1] }, 0, j - 4, x);
    }
    while (j-- > 0) {
        x[j] *= inverse[j];
        for (int64_t i = 0; i < j; i++)
            x[i] -= lu[j * n + i] * x[j];
    }
}

void lapack_lu_probe(const Blas *l, BlasType t, int64_t n, const void *lu, void *x)
{
    int ni = (int)n;
    if (t == BLAS_D && n <= PROBE_OWN) {
        probe_small(n, lu, x);
        return;
    }
    lapack_trtrs(l, t, 'L', 'N', 'U', ni, 1, lu, ni, x, ni);
    lapack_trtrs(l, t, 'U', 'N', 'N', ni, 1, lu, ni, x, ni);
}

/* ---- tridiagonal ---- */
int lapack_tridiagonal(const Blas *l, BlasType t, Tridiagonal *a)
{
    return lapack_gttrf(l, t, (int)a->n, a->lower, a->diagonal, a->upper, a->second, a->pivots);
}

int lapack_tridiagonal_solve(const Blas *l, BlasType t, const Tridiagonal *a, int64_t nrhs, void *b)
{
    int n = (int)a->n;
    return lapack_gttrs(l, t, 'N', n, (int)nrhs, a->lower, a->diagonal, a->upper, a->second,
                        a->pivots, b, n);
}

double lapack_tridiagonal_rcond(const Blas *l, BlasType t, const Tridiagonal *a, double anorm,
                                Scratch *s)
{
    int n = (int)a->n;
    void *work = scratch_take(s, (size_t)n * 2, blas_bytes(t));
    int *iwork = scratch_take(s, (size_t)n, sizeof(int));
    RealArg rcond = { 0 };
    if (!s->base)
        return 0;
    if (blas_is_complex(t))
        lapack_gtconc(l, t, '1', n, a->lower, a->diagonal, a->upper, a->second, a->pivots, anorm,
                      &rcond, work);
    else
        lapack_gtcon(l, t, '1', n, a->lower, a->diagonal, a->upper, a->second, a->pivots, anorm,
                     &rcond, work, iwork);
    return real_value(t, &rcond);
}

int lapack_tridiagonal_pd(const Blas *l, BlasType t, Tridiagonal *a)
{
    return lapack_pttrf(l, t, (int)a->n, a->diagonal, a->lower);
}

int lapack_tridiagonal_pd_solve(const Blas *l, BlasType t, const Tridiagonal *a, int64_t nrhs,
                                void *b)
{
    int n = (int)a->n, r = (int)nrhs;
    if (blas_is_complex(t))
        return lapack_pttrsc(l, t, 'L', n, r, a->diagonal, a->lower, b, n);
    return lapack_pttrs(l, t, n, r, a->diagonal, a->lower, b, n);
}

double lapack_tridiagonal_pd_rcond(const Blas *l, BlasType t, const Tridiagonal *a, double anorm,
                                   Scratch *s)
{
    void *work = scratch_take(s, (size_t)a->n, 8);
    RealArg rcond = { 0 };
    if (!s->base)
        return 0;
    lapack_ptcon(l, t, (int)a->n, a->diagonal, a->lower, anorm, &rcond, work);
    return real_value(t, &rcond);
}

/* ---- banded positive definite ---- */
int lapack_band_pd(const Blas *l, BlasType t, int64_t n, int64_t k, void *ab)
{
    return lapack_pbtrf(l, t, 'L', (int)n, (int)k, ab, (int)k + 1);
}

int lapack_band_pd_solve(const Blas *l, BlasType t, int64_t n, int64_t k, int64_t nrhs,
                         const void *ab, void *b)
{
    int ni = (int)n, ki = (int)k;
    return lapack_pbtrs(l, t, 'L', ni, ki, (int)nrhs, ab, ki + 1, b, ni);
}

double lapack_band_pd_rcond(const Blas *l, BlasType t, int64_t n, int64_t k, const void *ab,
                            double anorm, Scratch *s)
{
    int ki = (int)k;
    void *work = scratch_take(s, (size_t)n * 3, blas_bytes(t));
    void *iwork = scratch_take(s, (size_t)n, 8);
    RealArg rcond = { 0 };
    if (!s->base)
        return 0;
    lapack_pbcon(l, t, 'L', (int)n, ki, ab, ki + 1, anorm, &rcond, work, iwork);
    return real_value(t, &rcond);
}

/* ---- symmetric indefinite ---- */
/* Block size that dsytrf asks for itself; its query costs as much as a small factorisation. */
enum { INDEFINITE_BLOCK = 64 };

int lapack_indefinite(const Blas *l, BlasType t, bool hermitian, int64_t n, void *a, int *pivots,
                      Scratch *s)
{
    int ni = (int)n, lwork = ni * INDEFINITE_BLOCK;
    void *work = scratch_take(s, (size_t)lwork, blas_bytes(t));
    if (!s->base)
        return 0;
    if (blas_is_complex(t) && !hermitian)
        return lapack_sytrfc(l, t, 'L', ni, a, ni, pivots, work, lwork);
    return lapack_sytrf(l, t, 'L', ni, a, ni, pivots, work, lwork);
}

int lapack_indefinite_solve(const Blas *l, BlasType t, bool hermitian, int64_t n, int64_t nrhs,
                            void *a, const int *pivots, void *b, Scratch *s)
{
    int ni = (int)n, r = (int)nrhs;
    void *work = scratch_take(s, (size_t)n, blas_bytes(t));
    if (!s->base)
        return 0;
    if (blas_is_complex(t) && !hermitian)
        return lapack_sytrs2c(l, t, 'L', ni, r, a, ni, pivots, b, ni, work);
    return lapack_sytrs2(l, t, 'L', ni, r, a, ni, pivots, b, ni, work);
}

double lapack_indefinite_rcond(const Blas *l, BlasType t, bool hermitian, int64_t n, const void *a,
                               const int *pivots, double anorm, Scratch *s)
{
    int ni = (int)n;
    void *work = scratch_take(s, (size_t)n * 2, blas_bytes(t));
    int *iwork = scratch_take(s, (size_t)n, sizeof(int));
    RealArg rcond = { 0 };
    if (!s->base)
        return 0;
    if (!blas_is_complex(t))
        lapack_sycon(l, t, 'L', ni, a, ni, pivots, anorm, &rcond, work, iwork);
    else if (hermitian)
        lapack_hecon(l, t, 'L', ni, a, ni, pivots, anorm, &rcond, work);
    else
        lapack_syconc(l, t, 'L', ni, a, ni, pivots, anorm, &rcond, work);
    return real_value(t, &rcond);
}
