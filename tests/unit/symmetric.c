/* Tridiagonal forms of symmetric matrices, by what they are defined by, and eigenvalues and vectors
 * by them against LAPACK's whole driver: orders around blocks and vectors, both precisions, numbers
 * near the ends of the range, matrices of low rank and with structure, steps held back; the same
 * bits on any number of workers; an interrupt. A reflection of a rounded matrix has an error of some
 * eps of its norm (Higham, Accuracy and Stability of Numerical Algorithms, lemma 19.3), 2 n are
 * made, and eigenvalues move by no more than the matrix does. */
#include "kernels/blas/blas_stop.h"
#include "kernels/condensed/symmetric.h"
#include "kernels/spectral/tridiagonal.h"
#include "tests/unit/check.h"

#include "core/base/mem.h"
#include "core/memory/pool.h"

#include <stdlib.h>

static InterruptFlag interrupt;
static Ctx ctx;
static const Blas *lib;

typedef enum Kind {
    UNIFORM, LOW_RANK, GRADED, ZERO, ONES, DIAGONAL, TOEPLITZ, BLOCKS, WILKINSON, HUGE_ONES,
    TINY_ONES, KINDS
} Kind;

static double element(Kind kind, BlasType t, int64_t i, int64_t j)
{
    int64_t apart = i > j ? i - j : j - i;
    switch (kind) {
    case LOW_RANK: return (double)((i % 3 + 1) * (j % 3 + 1));
    case GRADED: return ldexp(check_uniform(), (int)(-(i + j) * (t == BLAS_S ? 1 : 7)));
    case ZERO: return 0;
    case ONES: return 1;
    case DIAGONAL: return i == j ? (double)(i % 7) - 3 : 0;
    case TOEPLITZ: return apart == 0 ? 2 : apart == 1 ? -1 : 0;
    case BLOCKS: return i / 7 == j / 7 ? check_uniform() : 0;
    case WILKINSON: return apart == 0 ? fabs((double)(i % 21) - 10) : apart == 1 && i % 21 && j % 21;
    case HUGE_ONES: return ldexp(check_uniform() - 0.5, t == BLAS_S ? 120 : 1015);
    case TINY_ONES: return ldexp(check_uniform(), t == BLAS_S ? -115 : -980);
    default: return check_uniform() - 0.5;
    }
}

static void *matrix(BlasType t, int64_t n, Kind kind)
{
    void *a = malloc((size_t)(n * n) * blas_bytes(t));
    for (int64_t j = 0; j < n; j++)
        for (int64_t i = 0; i <= j; i++) {
            double x = element(kind, t, i, j);
            mat_store(t, a, j * n + i, x, 0);
            mat_store(t, a, i * n + j, x, 0);
        }
    return a;
}

static double largest(BlasType t, int64_t count, const void *x)
{
    double most = 0;
    for (int64_t i = 0; i < count; i++)
        most = fmax(most, fabs(mat_real(t, x, i)));
    return most;
}

/* ---- the form ---- */
/* d, e, tau and the reflectors, one after the other. */
static char *form(BlasType t, int64_t n, int64_t held, const void *from, size_t *all)
{
    size_t bytes = blas_bytes(t), un = (size_t)n;
    char *out = calloc(*all = (3 + un) * un * bytes, 1), *a = out + 3 * un * bytes;
    Scratch w = { 0 };
    memcpy(a, from, un * un * bytes);
    for (int pass = 0; pass < 2; pass++) {
        if (pass)
            w.base = calloc(w.used + 64, 1), w.used = 0;
        symmetric_form(&ctx, t, n, held, a, out, out + un * bytes, out + 2 * un * bytes, &w);
    }
    free(w.base);
    for (int64_t j = 0; j < n; j++)      /* what is below nobody has asked for */
        memset(a + (size_t)(j * n + j + 1) * bytes, 0, (size_t)(n - j - 1) * bytes);
    return out;
}

static void turn(BlasType t, int64_t n, const void *a, const void *tau, void *x)
{
    size_t room = 64 * (size_t)n + 64 * 65;
    void *work = malloc(room * blas_bytes(t)), *copy = malloc((size_t)(n * n) * blas_bytes(t));
    memcpy(copy, a, (size_t)(n * n) * blas_bytes(t));
    CHECK(!lapack_ormtr(lib, t, 'L', 'U', 'N', (int)n, (int)n, copy, (int)n, tau, x, (int)n, work,
                        (int)room));
    free(work), free(copy);
}

/* Q T Q' is the matrix. */
static void forms(BlasType t, int64_t n, int64_t held, Kind kind)
{
    size_t bytes = blas_bytes(t), un = (size_t)n, all;
    void *a = matrix(t, n, kind), *x = calloc(un * un, bytes);
    char *d = form(t, n, held, a, &all), *e = d + un * bytes, *tau = e + un * bytes;
    for (int64_t i = 0; i < n; i++) {
        mat_store(t, x, i * n + i, mat_real(t, d, i), 0);
        if (i + 1 < n) {
            mat_store(t, x, i * n + i + 1, mat_real(t, e, i), 0);
            mat_store(t, x, (i + 1) * n + i, mat_real(t, e, i), 0);
        }
    }
    turn(t, n, tau + un * bytes, tau, x);
    mat_turn(bytes, n, x);
    turn(t, n, tau + un * bytes, tau, x);
    double most = 0, squares = 0;
    for (int64_t i = 0; i < n * n; i++) {
        most = fmax(most, fabs(mat_real(t, x, i) - mat_real(t, a, i)));
        squares += mat_real(t, a, i) * mat_real(t, a, i);
    }
    check_that(most <= 2 * (double)n * mat_eps(t) * sqrt(squares), "Q T Q' is the matrix", __FILE__,
               (int)kind * 1000 + (int)n);
    free(a), free(x), free(d);
}

/* ---- values and vectors ---- */
enum Way { DRIVER, VALUES, VECTORS };

/* w, and with vectors the matrix of them behind it. */
static char *run(BlasType t, int64_t n, enum Way way, const void *from, size_t *all)
{
    size_t bytes = blas_bytes(t), un = (size_t)n;
    char *w = malloc(*all = (1 + un) * un * bytes), *a = w + un * bytes;
    Scratch s = { 0 };
    memcpy(a, from, un * un * bytes);
    for (int pass = 0; pass < 2; pass++) {
        if (pass)
            s.base = calloc(s.used + 64, 1), s.used = 0;
        int info = way == DRIVER ? lapack_eigh(lib, t, false, 'U', n, a, w, &s)
                 : way == VALUES ? lapack_eigvalsh_divided(&ctx, lib, t, n, a, w, &s)
                                 : lapack_eigh_divided(&ctx, lib, t, n, a, w, &s);
        CHECK(info == 0);
    }
    free(s.base);
    if (way != VECTORS)
        *all = un * bytes;
    return w;
}

static void values(BlasType t, int64_t n, Kind kind)
{
    size_t all;
    void *a = matrix(t, n, kind);
    char *w = run(t, n, VALUES, a, &all), *ref = run(t, n, DRIVER, a, &all);
    double top = fmax(fabs(mat_real(t, ref, 0)), fabs(mat_real(t, ref, n - 1)));
    bool near = true, sorted = true;
    for (int64_t i = 0; i < n; i++) {
        double apart = fabs(mat_real(t, w, i) - mat_real(t, ref, i));
        near &= apart <= 2 * (double)n * mat_eps(t) * top;
        sorted &= !i || mat_real(t, w, i) >= mat_real(t, w, i - 1);
    }
    check_that(near && sorted, "eigenvalues", __FILE__, (int)kind * 1000 + (int)n);
    free(a), free(w), free(ref);
}

static void vectors(BlasType t, int64_t n, Kind kind)
{
    size_t all, bytes = blas_bytes(t);
    void *a = matrix(t, n, kind);
    char *w = run(t, n, VECTORS, a, &all), *v = w + (size_t)n * bytes;
    double top = largest(t, n * n, a), residual = 0, apart = 0, by = top > 0 ? 1 / top : 1;
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < n; j++) {
            double ab = 0, vv = i == j ? -1 : 0;
            for (int64_t p = 0; p < n; p++) {
                ab += mat_real(t, a, p * n + i) * by * mat_real(t, v, j * n + p);
                vv += mat_real(t, v, i * n + p) * mat_real(t, v, j * n + p);
            }
            ab -= mat_real(t, w, j) * by * mat_real(t, v, j * n + i);
            residual = fmax(residual, fabs(ab)), apart = fmax(apart, fabs(vv));
        }
    double bound = 2 * (double)n * mat_eps(t);
    check_that(residual <= bound * sqrt((double)n), "A V = V W", __FILE__,
               (int)kind * 1000 + (int)n);
    check_that(apart <= bound, "V'V = 1", __FILE__, (int)kind * 1000 + (int)n);
    free(a), free(w);
}

/* ---- workers ---- */
static void workers(const char *count)
{
    pool_shutdown(&ctx);
    setenv("RICCI_THREADS", count, 1);
}

static void same_on_any_number(BlasType t, int64_t n, int64_t held)
{
    size_t all, some;
    void *a = matrix(t, n, UNIFORM);
    workers("1");
    char *one = form(t, n, held, a, &all), *w = run(t, n, VALUES, a, &some);
    for (const char *const *count = (const char *const[]){ "2", "3", "7", NULL }; *count; count++) {
        workers(*count);
        char *other = form(t, n, held, a, &all), *o = run(t, n, VALUES, a, &some);
        CHECK(memcmp(one, other, all) == 0 && memcmp(w, o, some) == 0);
        free(other), free(o);
    }
    workers("2");
    free(a), free(one), free(w);
}

static void stopped(void)
{
    enum { N = 100 };
    double *a = matrix(BLAS_D, N, UNIFORM), w[N];
    Scratch s = { 0 };
    lapack_eigvalsh_divided(&ctx, lib, BLAS_D, N, a, w, &s);
    s.base = calloc(s.used + 64, 1), s.used = 0;
    interrupt = 1;
    CHECK_RAISES(&ctx, ERR_INTERRUPT, lapack_eigvalsh_divided(&ctx, lib, BLAS_D, N, a, w, &s));
    err_free(ctx.error);
    ctx.error = NULL;
    interrupt = 0;
    free(s.base), free(a);
}

int main(void)
{
    static const int64_t orders[] = { 32, 33, 34, 47, 48, 63, 97, 130 };
    mem_init(&ctx);
    ctx.interrupt = &interrupt;
    if (!(lib = lapack_open(NULL)) || !symmetric_own(BLAS_D, 100))
        return check_result();
    CHECK(!symmetric_own(BLAS_Z, 100) && !symmetric_own(BLAS_S, 20));
    CHECK(symmetric_held(BLAS_D, 500) == 1 && symmetric_held(BLAS_D, 3000) == SYMMETRIC_MOST);
    for (int pass = 0; pass < 2; pass++) {
        BlasType t = pass ? BLAS_D : BLAS_S;
        for (size_t i = 0; i < sizeof orders / sizeof *orders; i++)
            for (Kind kind = 0; kind < KINDS; kind++) {
                for (int64_t held = 1; held <= SYMMETRIC_MOST && kind < HUGE_ONES;
                     held += held == 1 ? 2 : 5)
                    forms(t, orders[i], held, kind);
                values(t, orders[i], kind);
                vectors(t, orders[i], kind);
            }
        for (Kind kind = 0; kind < KINDS; kind++)
            values(t, 203, kind), values(t, 150, kind);
        same_on_any_number(t, 710, 1);
        same_on_any_number(t, 710, SYMMETRIC_MOST);
    }
    stopped();
    pool_shutdown(&ctx);
    mem_shutdown(&ctx);
    return check_result();
}
