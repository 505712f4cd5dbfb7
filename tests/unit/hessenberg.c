/* Hessenberg forms of our own: Q H Q' is the matrix and Q orthogonal, to the rounding of as many
 * reflections (Higham, Accuracy and Stability of Numerical Algorithms, lemma 19.3); what stands
 * outside of the rows and columns that are reduced; numbers near the ends of the range, NaN; the
 * same bits on any number of workers; an interrupt. */
#include "kernels/dense/hessenberg.h"
#include "tests/unit/check.h"

#include "core/base/mem.h"
#include "core/memory/pool.h"

#include <stdlib.h>

static InterruptFlag interrupt;
static Ctx ctx;
static const Blas *lib;

/* The form, Q and tau, one after the other. */
static char *run(BlasType t, int64_t n, int64_t lo, int64_t hi, const void *from)
{
    size_t bytes = blas_bytes(t), all = (size_t)(n * n) * bytes;
    char *out = calloc(2 * all + (size_t)n * bytes, 1);
    Scratch w = { 0 };
    memcpy(out, from, all);
    for (int pass = 0; pass < 2; pass++) {
        if (pass)
            w.base = calloc(w.used + 64, 1), w.used = 0;
        hessenberg_reduce(&ctx, lib, t, n, lo, hi, out, out + 2 * all, out + all, &w);
    }
    free(w.base);
    return out;
}

/* By rows and columns lo … hi alone: above and right of them Q is the identity. */
static void *matrix(BlasType t, int64_t n, int64_t lo, int64_t hi, int exponent)
{
    void *a = malloc((size_t)(n * n) * blas_bytes(t));
    for (int64_t j = 0; j < n; j++)
        for (int64_t i = 0; i < n; i++) {
            bool below = i > j && (j < lo || i > hi);
            double x = ldexp(2 * check_uniform() - 1, exponent);
            mat_store(t, a, j * n + i, below ? 0 : x, 0);
        }
    return a;
}

static double at(BlasType t, int64_t n, const void *a, int64_t i, int64_t j)
{
    return mat_real(t, a, j * n + i);
}

static void whole(BlasType t, int64_t n, int64_t lo, int64_t hi, int exponent)
{
    void *a = matrix(t, n, lo, hi, exponent);
    char *h = run(t, n, lo, hi, a), *q = h + (size_t)(n * n) * blas_bytes(t);
    double bound = (double)n * mat_eps(t) * sqrt((double)n), most = 0, turned = 0;
    double unit = ldexp(1, -exponent);
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < n; j++) {
            double left = 0, right = 0, dot = i == j ? -1 : 0;
            for (int64_t p = 0; p < n; p++) {
                left += at(t, n, a, i, p) * unit * at(t, n, q, p, j);
                right += p > j + 1 ? 0 : at(t, n, q, i, p) * (at(t, n, h, p, j) * unit);
                dot += at(t, n, q, p, i) * at(t, n, q, p, j);
            }
            most = fmax(most, fabs(left - right));
            turned = fmax(turned, fabs(dot));
        }
    check_that(most <= bound, "A Q is Q H", __FILE__, (int)(n + 1000 * lo));
    check_that(turned <= bound, "Q is orthogonal", __FILE__, (int)(n + 1000 * lo));
    for (int64_t i = 0; i < n; i++)
        CHECK(i < lo || i > hi ? at(t, n, q, i, i) == 1 : true);
    free(a), free(h);
}

static void workers(const char *count)
{
    pool_shutdown(&ctx);
    setenv("RICCI_THREADS", count, 1);
}

static void same_on_any_number(BlasType t, int64_t n)
{
    void *a = matrix(t, n, 0, n - 1, 0);
    size_t bytes = (size_t)((2 * n + 1) * n) * blas_bytes(t);
    workers("1");
    char *one = run(t, n, 0, n - 1, a);
    for (const char *const *count = (const char *const[]){ "2", "3", "7", NULL }; *count; count++) {
        workers(*count);
        char *some = run(t, n, 0, n - 1, a);
        CHECK(memcmp(one, some, bytes) == 0);
        free(some);
    }
    workers("2");
    free(a), free(one);
}

int main(void)
{
    static const int64_t orders[] = { 100, 101, 133, 160 };
    mem_init(&ctx);
    ctx.interrupt = &interrupt;
    if (!(lib = lapack_open(NULL)) || !hessenberg_own(BLAS_D, 100))
        return check_result();
    CHECK(!hessenberg_own(BLAS_Z, 200) && !hessenberg_own(BLAS_D, 99));
    for (int t = BLAS_S; t <= BLAS_D; t++) {
        for (size_t i = 0; i < sizeof orders / sizeof *orders; i++)
            whole((BlasType)t, orders[i], 0, orders[i] - 1, 0);
        whole((BlasType)t, 120, 7, 110, 0);
        whole((BlasType)t, 100, 40, 72, 0);
        whole((BlasType)t, 100, 50, 50, 0);
        whole((BlasType)t, 100, 0, 99, t == BLAS_S ? 110 : 1000);
        whole((BlasType)t, 100, 0, 99, t == BLAS_S ? -100 : -950);
        same_on_any_number((BlasType)t, 410);
        void *a = matrix((BlasType)t, 100, 0, 99, 0);
        mat_store((BlasType)t, a, 5, NAN, 0);
        char *h = run((BlasType)t, 100, 0, 99, a);
        CHECK(isnan(at((BlasType)t, 100, h, 99, 99)));
        free(h);
        interrupt = 1;
        free(run((BlasType)t, 100, 0, 99, a));
        interrupt = 0;
        free(a);
    }
    pool_shutdown(&ctx);
    mem_shutdown(&ctx);
    return check_result();
}
