/* Eigenvalues of general real matrices by our own QR iteration: residuals of the vectors no larger
 * than the rounding of the matrix or than LAPACK's own driver leaves them, the values' sums, values
 * alone beside LAPACK's where small changes of the matrix cannot move them far; matrices with
 * structure and near the ends of the range; the same bits on any number of workers; an interrupt. */
#include "kernels/blas/blas_stop.h"
#include "kernels/spectral/francis.h"
#include "kernels/spectral/general.h"
#include "tests/unit/check.h"

#include "core/base/mem.h"
#include "core/memory/pool.h"

#include <stdlib.h>

static InterruptFlag interrupt;
static Ctx ctx;
static const Blas *lib;

typedef enum Kind {
    UNIFORM, CENTRED, SYMMETRIC, LOW_RANK, ZERO, ONES, TRIANGULAR, BLOCKS, COMPANION, SHIFT, GRADED,
    PERMUTED, JORDAN, HUGE_ONES, TINY_ONES, KINDS
} Kind;

static double element(Kind kind, BlasType t, int64_t n, int64_t i, int64_t j)
{
    double x = check_uniform();
    switch (kind) {
    case CENTRED: return 2 * x - 1;
    case LOW_RANK: return (double)(i % 3) + (double)(j % 2) * (double)(i % 3 + 1);
    case ZERO: return 0;
    case ONES: return 1;
    case TRIANGULAR: return i <= j ? x : 0;
    case BLOCKS: return i / 7 == j / 7 ? x : 0;
    case COMPANION: return i == 0 ? 2 * x - 1 : i == j + 1;
    case SHIFT: return (i + 1) % n == j;
    case GRADED: return ldexp(2 * x - 1, (int)(-(i + j) / (t == BLAS_S ? 8 : 1)));
    case PERMUTED: return (i * 37 % n) < (j * 37 % n) + 20 ? x : 0;
    case JORDAN: return i == j ? 3 : i + 1 == j;
    case HUGE_ONES: return ldexp(2 * x - 1, t == BLAS_S ? 120 : 1015);
    case TINY_ONES: return ldexp(2 * x - 1, t == BLAS_S ? -115 : -980);
    default: return x;
    }
}

static void *matrix(BlasType t, int64_t n, Kind kind)
{
    void *a = malloc((size_t)(n * n) * blas_bytes(t));
    for (int64_t j = 0; j < n; j++)
        for (int64_t i = 0; i < n; i++)
            mat_store(t, a, j * n + i, element(kind, t, n, i, j), 0);
    for (int64_t j = 0; j < n && kind == SYMMETRIC; j++)
        for (int64_t i = 0; i < j; i++)
            mat_store(t, a, i * n + j, mat_real(t, a, j * n + i), 0);
    return a;
}

/* Values, then vectors (if asked for), complex. */
static char *run(BlasType t, int64_t n, const void *from, bool vectors, bool own)
{
    size_t bytes = blas_bytes(t), all = (size_t)(n * n) * bytes, values = 2 * (size_t)n * bytes;
    char *a = malloc(all), *out = calloc(values + 2 * all, 1);
    void *v = vectors ? out + values : NULL;
    bool real;
    Scratch w = { 0 };
    memcpy(a, from, all);
    for (int pass = 0; pass < 2; pass++) {
        if (pass)
            w.base = calloc(w.used + 64, 1), w.used = 0;
        int info = own ? general_eig(&ctx, lib, t, n, a, out, v, &real, &w)
                       : lapack_eig(lib, t, n, a, out, v, &real, &w);
        CHECK(info == 0);
    }
    free(a), free(w.base);
    return out;
}

static BlasType complex_of_type(BlasType t)
{
    return t == BLAS_S ? BLAS_C : BLAS_Z;
}

/* The largest of A v - w v and of |v| - 1, in units of `by`, the largest element of A. */
static double residual(BlasType t, int64_t n, const void *a, const char *out, double by)
{
    const char *v = out + 2 * (size_t)n * blas_bytes(t);
    double most = 0;
    for (int64_t j = 0; j < n; j++) {
        double length = 0, wr = mat_real(t, out, 2 * j) / by, wi = mat_real(t, out, 2 * j + 1) / by;
        for (int64_t i = 0; i < n; i++) {
            double x = mat_real(t, v, 2 * (j * n + i)), y = mat_real(t, v, 2 * (j * n + i) + 1);
            double re = wi * y - wr * x, im = -wi * x - wr * y;
            for (int64_t p = 0; p < n; p++) {
                double e = mat_real(t, a, p * n + i) / by;
                re += e * mat_real(t, v, 2 * (j * n + p));
                im += e * mat_real(t, v, 2 * (j * n + p) + 1);
            }
            length += x * x + y * y;
            most = fmax(most, hypot(re, im));
        }
        most = fmax(most, fabs(sqrt(length) - 1));
    }
    return most;
}

static double largest(BlasType t, int64_t count, const void *a)
{
    double top = 0;
    for (int64_t i = 0; i < count; i++)
        top = fmax(top, mat_abs(t, a, i));
    return top > 0 ? top : 1;
}

static int ascending(const void *x, const void *y)
{
    double a = *(const double *)x, b = *(const double *)y;
    return (a > b) - (a < b);
}

/* Symmetric matrices: sorted, they are LAPACK's but for rounding. */
static bool near_values(BlasType t, int64_t n, const char *w, const char *ref, double bound)
{
    double *x = malloc(2 * (size_t)n * sizeof *x), *y = x + n, most = 0;
    for (int64_t i = 0; i < n; i++)
        x[i] = mat_real(t, w, 2 * i), y[i] = mat_real(t, ref, 2 * i);
    qsort(x, (size_t)n, sizeof *x, ascending);
    qsort(y, (size_t)n, sizeof *y, ascending);
    for (int64_t i = 0; i < n; i++)
        most = fmax(most, fabs(x[i] - y[i]));
    free(x);
    return most <= bound;
}

static void whole(BlasType t, int64_t n, Kind kind)
{
    void *a = matrix(t, n, kind);
    double by = largest(t, n * n, a), trace = 0, rest[2] = { 0, 0 };
    double bound = 10 * (double)n * sqrt((double)n) * mat_eps(t);
    char *own = run(t, n, a, true, true), *ref = run(t, n, a, true, false);
    char *alone = run(t, n, a, false, true);
    double mine = residual(t, n, a, own, by), theirs = residual(t, n, a, ref, by);
    check_that(mine <= fmax(bound, 10 * theirs), "A V is V W", __FILE__, (int)kind * 1000 + (int)n);
    for (int64_t i = 0; i < n; i++) {
        trace += mat_real(t, a, i * (n + 1)) / by;
        rest[0] += mat_real(t, own, 2 * i) / by;
        rest[1] += mat_real(t, alone, 2 * i) / by;
    }
    check_that(fabs(rest[0] - trace) <= 10 * bound, "trace", __FILE__, (int)kind * 1000 + (int)n);
    check_that(fabs(rest[1] - trace) <= 10 * bound, "values", __FILE__, (int)kind * 1000 + (int)n);
    if (kind == SYMMETRIC)
        CHECK(near_values(t, n, own, ref, bound) && near_values(t, n, alone, ref, bound));
    free(a), free(own), free(ref), free(alone);
}

static void workers(const char *count)
{
    pool_shutdown(&ctx);
    setenv("RICCI_THREADS", count, 1);
}

static void same_on_any_number(BlasType t, int64_t n)
{
    void *a = matrix(t, n, UNIFORM);
    workers("1");
    char *one = run(t, n, a, true, true), *alone = run(t, n, a, false, true);
    for (const char *const *count = (const char *const[]){ "2", "5", NULL }; *count; count++) {
        workers(*count);
        char *some = run(t, n, a, true, true), *values = run(t, n, a, false, true);
        size_t bytes = (size_t)n * blas_bytes(complex_of_type(t));
        CHECK(memcmp(one, some, bytes * (size_t)(n + 1)) == 0);
        CHECK(memcmp(alone, values, bytes) == 0);
        free(some), free(values);
    }
    workers("2");
    free(a), free(one), free(alone);
}

static void stopped(void)
{
    enum { N = 150 };
    void *a = matrix(BLAS_D, N, UNIFORM), *w = calloc(2 * N, sizeof(double));
    bool real;
    Scratch s = { 0 };
    general_eig(&ctx, lib, BLAS_D, N, a, w, NULL, &real, &s);
    s.base = calloc(s.used + 64, 1), s.used = 0;
    blas_stop_by(&ctx);
    interrupt = 1;
    CHECK_RAISES(&ctx, ERR_INTERRUPT, general_eig(&ctx, lib, BLAS_D, N, a, w, NULL, &real, &s));
    err_free(ctx.error);
    ctx.error = NULL;
    interrupt = 0;
    free(s.base), free(a), free(w);
}

int main(void)
{
    static const int64_t orders[] = { 100, 101, 131, 158 };
    mem_init(&ctx);
    ctx.interrupt = &interrupt;
    if (!(lib = lapack_open(NULL)) || !general_own(BLAS_D, 100))
        return check_result();
    CHECK(!general_own(BLAS_Z, 200) && !general_own(BLAS_S, 99));
    for (int t = BLAS_S; t <= BLAS_D; t++) {
        for (size_t i = 0; i < sizeof orders / sizeof *orders; i++)
            for (Kind kind = 0; kind < KINDS; kind++)
                if (i < 2 || kind < SYMMETRIC)
                    whole((BlasType)t, orders[i], kind);
        same_on_any_number((BlasType)t, 420);
    }
    stopped();
    pool_shutdown(&ctx);
    mem_shutdown(&ctx);
    return check_result();
}
