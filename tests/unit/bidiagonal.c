/* Singular values by our own bidiagonal form against LAPACK's whole driver, and vectors by what they
 * are defined by: shapes, both precisions, numbers near the ends of the range, matrices of low rank
 * and with structure; steps held back; the same bits on any number of workers; an interrupt. A
 * reflection of a rounded matrix has an error of some eps of its norm (Higham, Accuracy and
 * Stability of Numerical Algorithms, lemma 19.3), m + n of them are made, and singular values move
 * by no more than the matrix does. */
#include "kernels/blas/blas_stop.h"
#include "kernels/condensed/bidiagonal.h"
#include "tests/unit/check.h"

#include "core/base/mem.h"
#include "core/memory/pool.h"

#include <stdlib.h>

static InterruptFlag interrupt;
static Ctx ctx;
static const Blas *lib;
static int64_t held = 1;         /* steps that are applied at once */

typedef enum Kind {
    UNIFORM, LOW_RANK, GRADED, ZERO, ONES, DIAGONAL, HUGE_ONES, TINY_ONES, KINDS
} Kind;

static double element(Kind kind, BlasType t, int64_t i, int64_t j)
{
    switch (kind) {
    case LOW_RANK: return (double)(i % 3) + (double)(j % 2) * (double)(i % 3 + 1);
    case GRADED: return ldexp(check_uniform(), (int)(-(i + j) * (t == BLAS_S ? 1 : 7)));
    case ZERO: return 0;
    case ONES: return 1;
    case DIAGONAL: return i == j ? (double)(i % 7) : 0;
    case HUGE_ONES: return ldexp(check_uniform(), t == BLAS_S ? 120 : 1015);
    case TINY_ONES: return ldexp(check_uniform(), t == BLAS_S ? -115 : -980);
    default: return check_uniform();
    }
}

static void *run(BlasType t, int64_t m, int64_t n, const void *from, bool own)
{
    size_t bytes = blas_bytes(t), all = (size_t)(m * n) * bytes;
    void *a = malloc(all), *s = calloc((size_t)n, bytes);
    Scratch w = { 0 };
    memcpy(a, from, all);
    for (int pass = 0; pass < 2; pass++) {
        if (pass)
            w.base = calloc(w.used + 64, 1), w.used = 0;
        int info = own ? bidiagonal_values(&ctx, lib, t, m, n, held, a, s, &w)
                       : lapack_svd(lib, t, 'N', m, n, a, s, NULL, NULL, &w);
        CHECK(info == 0);
    }
    free(a), free(w.base);
    return s;
}

static void values(BlasType t, int64_t m, int64_t n, Kind kind)
{
    size_t bytes = blas_bytes(t);
    void *a = malloc((size_t)(m * n) * bytes);
    for (int64_t j = 0; j < n; j++)
        for (int64_t i = 0; i < m; i++)
            mat_store(t, a, j * m + i, element(kind, t, i, j), 0);
    char *s = run(t, m, n, a, true), *ref = run(t, m, n, a, false);
    double bound = (double)(m + n) * mat_eps(t) * mat_real(t, ref, 0);
    bool near = true, sorted = true;
    for (int64_t i = 0; i < n; i++) {
        near &= fabs(mat_real(t, s, i) - mat_real(t, ref, i)) <= bound;
        sorted &= mat_real(t, s, i) >= 0 && (!i || mat_real(t, s, i) <= mat_real(t, s, i - 1));
    }
    check_that(near && sorted, "singular values", __FILE__, (int)kind * 1000 + (int)n);
    free(a), free(s), free(ref);
}

/* u, s and vt one after the other. */
static char *run_vectors(BlasType t, int64_t m, int64_t n, const void *from, size_t *all)
{
    size_t bytes = blas_bytes(t), u = (size_t)(m * n) * bytes, s = (size_t)n * bytes;
    char *a = malloc(u), *out = malloc(*all = u + s + (size_t)n * s);
    Scratch w = { 0 };
    memcpy(a, from, u);
    for (int pass = 0; pass < 2; pass++) {
        if (pass)
            w.base = calloc(w.used + 64, 1), w.used = 0;
        CHECK(!bidiagonal_vectors(&ctx, lib, t, m, n, held, a, out + u, out, out + u + s,
                                  &w));
    }
    free(a), free(w.base);
    return out;
}

/* The largest element of X'X - I, of n columns `step` apart whose elements are `from` apart. */
static double not_orthogonal(BlasType t, int64_t m, int64_t n, const void *x, int64_t step,
                             int64_t from)
{
    double most = 0;
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j <= i; j++) {
            double sum = i == j ? -1 : 0;
            for (int64_t p = 0; p < m; p++)
                sum += mat_real(t, x, i * step + p * from) * mat_real(t, x, j * step + p * from);
            most = fmax(most, fabs(sum));
        }
    return most;
}

static void vectors(BlasType t, int64_t m, int64_t n, Kind kind)
{
    size_t bytes = blas_bytes(t), all;
    void *a = malloc((size_t)(m * n) * bytes);
    for (int64_t j = 0; j < n; j++)
        for (int64_t i = 0; i < m; i++)
            mat_store(t, a, j * m + i, element(kind, t, i, j), 0);
    char *u = run_vectors(t, m, n, a, &all), *s = u + (size_t)(m * n) * bytes;
    char *vt = s + (size_t)n * bytes;
    double bound = (double)(m + n) * mat_eps(t), most = 0, top = mat_real(t, s, 0);
    double by = top > 0 ? 1 / top : 1;
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = 0; j < n; j++) {
            double sum = -mat_real(t, a, j * m + i) * by;
            for (int64_t p = 0; p < n; p++)
                sum += mat_real(t, u, p * m + i) * (mat_real(t, s, p) * by) *
                       mat_real(t, vt, j * n + p);
            most = fmax(most, fabs(sum));
        }
    check_that(most <= bound, "U S V' is the matrix", __FILE__, (int)kind * 1000 + (int)n);
    check_that(not_orthogonal(t, m, n, u, m, 1) <= bound, "U", __FILE__, (int)kind * 1000 + (int)n);
    check_that(not_orthogonal(t, n, n, vt, 1, n) <= bound, "V", __FILE__, (int)kind * 1000 + (int)n);
    free(a), free(u);
}

static void workers(const char *count)
{
    pool_shutdown(&ctx);
    setenv("RICCI_THREADS", count, 1);
}

static void same_on_any_number(BlasType t, int64_t n)
{
    size_t bytes = (size_t)n * blas_bytes(t);
    void *a = malloc((size_t)n * bytes), *one;
    for (int64_t i = 0; i < n * n; i++)
        mat_store(t, a, i, check_uniform(), 0);
    workers("1");
    one = run(t, n, n, a, true);
    for (const char *const *count = (const char *const[]){ "2", "3", "7", NULL }; *count; count++) {
        workers(*count);
        void *some = run(t, n, n, a, true);
        CHECK(memcmp(one, some, bytes) == 0);
        free(some);
    }
    workers("2");
    free(a), free(one);
}

static void same_vectors_on_any_number(BlasType t, int64_t n)
{
    size_t all;
    void *a = malloc((size_t)(n * n) * blas_bytes(t));
    for (int64_t i = 0; i < n * n; i++)
        mat_store(t, a, i, check_uniform(), 0);
    workers("1");
    char *one = run_vectors(t, n, n, a, &all);
    for (const char *const *count = (const char *const[]){ "2", "5", NULL }; *count; count++) {
        workers(*count);
        char *some = run_vectors(t, n, n, a, &all);
        CHECK(memcmp(one, some, all) == 0);
        free(some);
    }
    workers("2");
    free(a), free(one);
}

static void stopped(void)
{
    enum { N = 100 };
    static double a[N * N], s[N];
    Scratch w = { 0 };
    for (int i = 0; i < N * N; i++)
        a[i] = check_uniform();
    bidiagonal_values(&ctx, lib, BLAS_D, N, N, held, a, s, &w);
    w.base = calloc(w.used + 64, 1), w.used = 0;
    interrupt = 1;
    CHECK_RAISES(&ctx, ERR_INTERRUPT, bidiagonal_values(&ctx, lib, BLAS_D, N, N, held, a, s, &w));
    err_free(ctx.error);
    ctx.error = NULL;
    interrupt = 0;
    free(w.base);
}

int main(void)
{
    static const int64_t shapes[][2] = { { 48, 48 }, { 49, 48 }, { 80, 51 }, { 97, 97 },
                                         { 130, 128 } };
    mem_init(&ctx);
    ctx.interrupt = &interrupt;
    if (!(lib = lapack_open(NULL)) || !bidiagonal_own(BLAS_D, 100, 100))
        return check_result();
    CHECK(!bidiagonal_own(BLAS_Z, 100, 100) && !bidiagonal_own(BLAS_D, 200, 100) &&
          !bidiagonal_own(BLAS_S, 40, 40));
    CHECK(bidiagonal_held(BLAS_D, 500, 500) == 1 &&
          bidiagonal_held(BLAS_D, 3000, 3000) == BIDIAGONAL_MOST);
    for (int pass = 0; pass < 6; pass++) {
        BlasType t = pass % 2 ? BLAS_D : BLAS_S;
        held = (int64_t[]){ 1, BIDIAGONAL_MOST, 3 }[pass / 2];
        for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
            for (Kind kind = 0; kind < KINDS; kind++)
                values(t, shapes[i][0], shapes[i][1], kind),
                    vectors(t, shapes[i][0], shapes[i][1], kind);
        same_on_any_number(t, 410);
        same_vectors_on_any_number(t, 410);
    }
    stopped();
    pool_shutdown(&ctx);
    mem_shutdown(&ctx);
    return check_result();
}
