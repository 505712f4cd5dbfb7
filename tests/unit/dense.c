/* LU and Cholesky of our own: P A - L U and A - L L' element by element against the bound of their
 * roundings (Higham, Accuracy and Stability of Numerical Algorithms, theorems 9.3 and 10.3), in a
 * wider format; largest pivots; the same bits on any number of workers; singular, indefinite and
 * not finite matrices; an interrupt, and want of memory. */
#include "kernels/blas/blas_stop.h"
#include "kernels/dense/dense.h"
#include "tests/unit/check.h"

#include <float.h>
#include <stdlib.h>

static InterruptFlag interrupt;
static Ctx ctx;
static const Blas *lib;

typedef struct Matrix {
    BlasType t;
    int64_t m, n;
    void *data;
} Matrix;

static uint64_t state = 1;

static double uniform(void)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (double)(int64_t)(state >> 11) * 0x1p-52 - 1;
}

static double get(const Matrix *a, int64_t i, int64_t j)
{
    return mat_real(a->t, a->data, j * a->m + i);
}

static void put(const Matrix *a, int64_t i, int64_t j, double x)
{
    mat_store(a->t, a->data, j * a->m + i, x, 0);
}

static Matrix matrix(BlasType t, int64_t m, int64_t n)
{
    Matrix a = { t, m, n, malloc((size_t)(m * n + 1) * blas_bytes(t)) };
    for (int64_t i = 0; i < m * n; i++)
        mat_store(t, a.data, i, uniform(), 0);
    return a;
}

static Matrix copy(const Matrix *a)
{
    Matrix b = { a->t, a->m, a->n, malloc((size_t)(a->m * a->n + 1) * blas_bytes(a->t)) };
    memcpy(b.data, a->data, (size_t)(a->m * a->n) * blas_bytes(a->t));
    return b;
}

static Matrix definite(BlasType t, int64_t n)
{
    Matrix a = matrix(t, n, n);
    for (int64_t j = 0; j < n; j++)
        for (int64_t i = 0; i <= j; i++)
            put(&a, i, j, i == j ? (double)n / 4 + 1 : get(&a, j, i));
    return a;
}

/* An element is a sum of k products with two roundings for the division by a pivot, in parts of at
 * least 8 that are put together with one more each. */
static double growth(BlasType t, int64_t k)
{
    double u = mat_eps(t) / 2, count = (double)(k + k / 8 + 4);
    return count * u / (1 - count * u);
}

/* Sum of l(i, p) u(p, j) and of their magnitudes; the factors lie in one matrix. */
static void product(const Matrix *f, int64_t i, int64_t j, bool cholesky, long double out[2])
{
    int64_t k = i < j ? i + 1 : j + 1, most = f->m < f->n ? f->m : f->n;
    k = k < most ? k : most;
    out[0] = out[1] = 0;
    for (int64_t p = 0; p < k; p++) {
        long double l = p == i && !cholesky ? 1 : get(f, i, p);
        long double x = l * (cholesky ? get(f, j, p) : get(f, p, j));
        out[0] += x;
        out[1] += fabsl(x);
    }
}

static bool near(const Matrix *a, const Matrix *f, bool cholesky)
{
    double gamma = growth(a->t, a->m < a->n ? a->m : a->n), worst = 0;
    for (int64_t j = 0; j < a->n; j++)
        for (int64_t i = cholesky ? j : 0; i < a->m; i++) {
            long double sum[2];
            product(f, i, j, cholesky, sum);
            double off = (double)fabsl(sum[0] - (long double)get(a, i, j));
            double share = off / (gamma * (double)sum[1] + 4 * mat_eps(a->t) * 1e-30);
            worst = share > worst || share != share ? share : worst;
        }
    if (!(worst <= 1))
        fprintf(stderr, "  %s %lldx%lld: %g of the bound\n", a->t == BLAS_S ? "f32" : "f64",
                (long long)a->m, (long long)a->n, worst);
    return worst <= 1;
}

static void exchange(const Matrix *a, const int *pivots)
{
    for (int64_t i = 0; i < a->m && i < a->n; i++)
        for (int64_t j = 0; j < a->n; j++) {
            double x = get(a, i, j);
            put(a, i, j, get(a, pivots[i] - 1, j));
            put(a, pivots[i] - 1, j, x);
        }
}

static bool largest_pivots(const Matrix *f)
{
    bool all = true;
    for (int64_t j = 0; j < f->n; j++)
        for (int64_t i = j + 1; i < f->m; i++)
            all = all && fabs(get(f, i, j)) <= 1 + mat_eps(f->t);
    return all;
}

static void workers(const char *count)
{
    pool_shutdown(&ctx);
    setenv("RICCI_THREADS", count, 1);
}

static bool same(const Matrix *a, const Matrix *b)
{
    return memcmp(a->data, b->data, (size_t)(a->m * a->n) * blas_bytes(a->t)) == 0;
}

static void lu(BlasType t, int64_t m, int64_t n)
{
    static const char *const counts[] = { "1", "2", "5" };
    Matrix a = matrix(t, m, n), first = { 0 };
    for (int c = 0; c < 3; c++) {
        Matrix f = copy(&a);
        int pivots[1024];
        workers(counts[c]);
        CHECK(dense_lu(&ctx, lib, t, m, n, f.data, pivots) == 0);
        if (c) {
            CHECK(same(&f, &first));
            free(f.data);
            continue;
        }
        first = f;
        exchange(&a, pivots);
        CHECK(near(&a, &f, false));
        CHECK(largest_pivots(&f));
        exchange(&a, pivots);                       /* some other matrix */
        memcpy(f.data, a.data, (size_t)(m * n) * blas_bytes(t));
        CHECK(dense_lu(&ctx, lib, t, m, n, f.data, pivots) == 0);
    }
    free(a.data), free(first.data);
}

static void cholesky(BlasType t, int64_t n)
{
    Matrix a = definite(t, n), f = copy(&a), g = copy(&a);
    workers("3");
    CHECK(dense_cholesky(&ctx, lib, t, n, f.data) == 0);
    CHECK(near(&a, &f, true));
    workers("1");
    CHECK(dense_cholesky(&ctx, lib, t, n, g.data) == 0);
    CHECK(near(&a, &g, true));
    for (int64_t j = 0; j < n; j++)
        for (int64_t i = 0; i < j; i++)
            put(&f, i, j, 0), put(&g, i, j, 0);
    CHECK(same(&f, &g));
    memcpy(g.data, a.data, (size_t)(n * n) * blas_bytes(t));
    put(&g, n - 3, n - 3, -1);
    CHECK(dense_cholesky(&ctx, lib, t, n, g.data) == n - 2);
    put(&a, n / 2, n / 2, NAN);
    CHECK(dense_cholesky(&ctx, lib, t, n, a.data) == n / 2 + 1);
    free(a.data), free(f.data), free(g.data);
}

/* Columns without a pivot are told by the first; what is not a number stays. */
static void odd(BlasType t, int64_t n)
{
    int pivots[1024];
    Matrix a = matrix(t, n, n), f = copy(&a);
    workers("2");
    for (int64_t i = 0; i < n; i++)
        put(&f, i, n - 5, 0), put(&f, i, n - 2, 0);
    CHECK(dense_lu(&ctx, lib, t, n, n, f.data, pivots) == n - 4);
    CHECK(get(&f, n - 5, n - 5) == 0 && get(&f, n - 2, n - 2) == 0);
    for (int64_t i = 0; i < n * n; i++)
        mat_store(t, f.data, i, 0, 0);
    CHECK(dense_lu(&ctx, lib, t, n, n, f.data, pivots) == 1);
    CHECK(pivots[0] == 1 && pivots[n - 1] == n);
    for (int which = 0; which < 2; which++) {
        memcpy(f.data, a.data, (size_t)(n * n) * blas_bytes(t));
        put(&f, n - 1, 3, which ? NAN : INFINITY);
        dense_lu(&ctx, lib, t, n, n, f.data, pivots);
        CHECK(which ? isnan(get(&f, n - 1, n - 1)) : isinf(get(&f, 3, 3)));
    }
    free(a.data), free(f.data);
}

/* Pivots so small that 1 / pivot is out of range. */
static void tiny(BlasType t, int64_t n)
{
    int pivots[1024];
    Matrix a = matrix(t, n, n), f;
    double scale = t == BLAS_S ? 0x1p-140 : 0x1p-1060;
    for (int64_t i = 0; i < n * n; i++)
        mat_store(t, a.data, i, i % (n + 1) ? 0 : scale, 0);
    put(&a, 5, 2, scale);
    f = copy(&a);
    CHECK(dense_lu(&ctx, lib, t, n, n, f.data, pivots) == 0);
    CHECK(get(&f, 5, 2) == 1 && get(&f, 2, 2) == scale);
    free(a.data), free(f.data);
}

static void stopped_and_starved(void)
{
    int pivots[1024];
    Matrix a = matrix(BLAS_D, 300, 300), f = copy(&a), g = copy(&a);
    pool_shutdown(&ctx);
    size_t live = ctx.mem.live;
    for (int count = 1; count <= 3; count++) {
        workers(count == 1 ? "1" : count == 2 ? "2" : "3");
        interrupt = 1;
        CHECK_RAISES(&ctx, ERR_INTERRUPT, dense_lu(&ctx, lib, BLAS_D, 300, 300, g.data, pivots));
        err_free(ctx.error);
        ctx.error = NULL;
        interrupt = 0;
        pool_shutdown(&ctx);
    }
    CHECK(ctx.mem.live == live);
    ctx.mem.limit = live + 1000;
    CHECK_RAISES(&ctx, ERR_MEMORY, dense_lu(&ctx, lib, BLAS_D, 300, 300, a.data, pivots));
    err_free(ctx.error);
    ctx.error = NULL;
    CHECK(same(&a, &f));
    free(a.data), free(f.data), free(g.data);
}

int main(void)
{
    mem_init(&ctx);
    ctx.interrupt = &interrupt;
    if (!(lib = lapack_open(NULL)) || !dense_own(BLAS_D, 100))
        return check_result();
    static const int64_t shapes[][2] = { { 48, 48 }, { 49, 49 }, { 97, 97 }, { 203, 203 },
                                         { 405, 405 }, { 300, 50 }, { 50, 300 }, { 100, 411 },
                                         { 411, 100 }, { 96, 97 } };
    for (int t = BLAS_S; t <= BLAS_D; t++) {
        for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++)
            lu((BlasType)t, shapes[s][0], shapes[s][1]);
        for (size_t s = 0; s < 5; s++) {
            cholesky((BlasType)t, shapes[s][0]);
            odd((BlasType)t, shapes[s][0]);
        }
        tiny((BlasType)t, 60);
    }
    stopped_and_starved();
    pool_shutdown(&ctx);
    mem_shutdown(&ctx);
    return check_result();
}
