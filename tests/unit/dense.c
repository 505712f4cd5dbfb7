/* LU, Cholesky and QR of our own: P A - L U and A - L L' element by element against the bound of
 * their roundings (Higham, Accuracy and Stability of Numerical Algorithms, theorems 9.3 and 10.3),
 * in a wider format; largest pivots; the same bits on any number of workers; singular, indefinite
 * and not finite matrices; an interrupt, and want of memory. */
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

static void exchange_rows(const Matrix *a, const int *pivots, int64_t count)
{
    for (int64_t i = 0; i < count; i++)
        for (int64_t j = 0; j < a->n; j++) {
            double x = get(a, i, j);
            put(a, i, j, get(a, pivots[i] - 1, j));
            put(a, pivots[i] - 1, j, x);
        }
}

static void exchange(const Matrix *a, const int *pivots)
{
    exchange_rows(a, pivots, a->m < a->n ? a->m : a->n);
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
    CHECK(dense_cholesky(&ctx, lib, t, n, a.data) == 0);         /* as OpenBLAS's potrf */
    CHECK(isnan(get(&a, n / 2, n / 2)) && isnan(get(&a, n - 1, n - 1)));
    free(a.data), free(f.data), free(g.data);
}

/* A x = e + d with |d| <= 3 growth P' |L| |U| |x| in each column (Higham, theorem 9.4). */
static void inverse(BlasType t, int64_t n)
{
    int pivots[1024];
    Matrix a = matrix(t, n, n), f = copy(&a), w = matrix(BLAS_D, n, n), x, again;
    double gamma = 3 * growth(t, n), worst = 0;
    CHECK(dense_lu(&ctx, lib, t, n, n, f.data, pivots) == 0);
    x = copy(&f), again = copy(&f);
    workers("4");
    dense_inverse(&ctx, t, n, x.data, pivots);
    workers("1");
    dense_inverse(&ctx, t, n, again.data, pivots);
    CHECK(same(&x, &again));
    exchange(&a, pivots);                           /* P A X = P */
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < n; j++) {
            long double sum[2];
            product(&f, i, j, false, sum);
            put(&w, i, j, (double)sum[1]);
        }
    Matrix unit = matrix(t, n, n);
    for (int64_t i = 0; i < n * n; i++)
        mat_store(t, unit.data, i, i % (n + 1) == 0, 0);
    exchange(&unit, pivots);
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < n; j++) {
            long double off = -(long double)get(&unit, i, j), most = 0;
            for (int64_t p = 0; p < n; p++) {
                off += (long double)get(&a, i, p) * get(&x, p, j);
                most += get(&w, i, p) * fabs(get(&x, p, j));
            }
            worst = fmax(worst, (double)(fabsl(off) / (gamma * most)));
        }
    CHECK(worst <= 1);
    free(a.data), free(f.data), free(w.data), free(x.data), free(again.data), free(unit.data);
}

/* L U x and |L| |U| |x| for a column of x. */
static void times_factors(const Matrix *f, const Matrix *x, int64_t col, long double *out,
                          long double *size)
{
    int64_t n = f->n;
    for (int64_t i = 0; i < n; i++) {
        out[i] = size[i] = 0;
        for (int64_t j = i; j < n; j++) {
            out[i] += (long double)get(f, i, j) * get(x, j, col);
            size[i] += fabsl((long double)get(f, i, j) * get(x, j, col));
        }
    }
    for (int64_t i = n - 1; i >= 0; i--)
        for (int64_t j = 0; j < i; j++) {
            out[i] += get(f, i, j) * out[j];
            size[i] += fabs(get(f, i, j)) * size[j];
        }
}

/* |L U x - P b| <= 2 growth |L| |U| |x| (Higham, theorem 8.5 twice). */
static void solve(BlasType t, int64_t n)
{
    static const int64_t many[] = { 16, 17, 100, 251 };
    int pivots[1024];
    long double out[512], size[512];
    Matrix f = matrix(t, n, n);
    CHECK(dense_lu(&ctx, lib, t, n, n, f.data, pivots) == 0);
    for (int i = 0; i < 4; i++) {
        Matrix b = matrix(t, n, many[i]), x = copy(&b), y = copy(&b);
        bool near = true;
        CHECK(dense_solves(t, n, many[i]));
        workers("4");
        dense_lu_solve(&ctx, t, n, many[i], f.data, pivots, x.data);
        workers("1");
        dense_lu_solve(&ctx, t, n, many[i], f.data, pivots, y.data);
        CHECK(same(&x, &y));
        exchange_rows(&b, pivots, n);
        for (int64_t c = 0; c < many[i]; c += c < many[i] - 2 ? 9 : 1) {
            times_factors(&f, &x, c, out, size);
            for (int64_t r = 0; r < n; r++)
                near = near && fabsl(out[r] - get(&b, r, c)) <= 2 * growth(t, n) * size[r];
        }
        CHECK(near);
        free(b.data), free(x.data), free(y.data);
    }
    free(f.data);
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

/* Euclidean norm of column j of q times r, less a; r NULL: of q' q - I, m columns of it. */
static double column_off(const Matrix *q, const Matrix *f, const Matrix *a, int64_t j)
{
    long double square = 0;
    for (int64_t i = 0; i < (a ? a->m : q->n); i++) {
        long double sum = a ? -(long double)get(a, i, j) : -(long double)(i == j);
        if (a)
            for (int64_t p = 0; p <= j && p < q->n; p++)
                sum += (long double)get(q, i, p) * get(f, p, j);
        else
            for (int64_t p = 0; p < q->m; p++)
                sum += (long double)get(q, p, i) * get(q, p, j);
        square += sum * sum;
    }
    return (double)sqrtl(square);
}

static double column_norm(const Matrix *a, int64_t j)
{
    long double square = 0;
    for (int64_t i = 0; i < a->m; i++)
        square += (long double)get(a, i, j) * get(a, i, j);
    return (double)sqrtl(square);
}

/* Each column of A and Q is turned k times by reflectors of up to m elements, each of which is
 * wrong by a few m u of its norm (Higham, lemma 19.3). The signs are LAPACK's. */
static void qr_of(const Matrix *a, int64_t cols)
{
    int64_t m = a->m, n = a->n, k = m < n ? m : n;
    double bound = 4 * (double)(m * k) * mat_eps(a->t) / 2;
    Matrix f[2] = { copy(a), copy(a) }, q[2] = { matrix(a->t, m, cols), matrix(a->t, m, cols) };
    Matrix t[2] = { matrix(a->t, 1, k), matrix(a->t, 1, k) };
    void *turn = malloc(dense_qr_turn(a->t, m, n));
    for (int c = 0; c < 2; c++) {
        workers(c ? "3" : "1");
        dense_qr(&ctx, a->t, m, n, f[c].data, t[c].data, turn);
        memcpy(q[c].data, f[c].data, (size_t)(m * k) * blas_bytes(a->t));
        dense_qr_form(&ctx, a->t, m, cols, k, q[c].data, t[c].data, turn);
    }
    CHECK(same(&f[0], &f[1]) && same(&q[0], &q[1]) && same(&t[0], &t[1]));
    bool near = true, whole = true, sign = true;
    for (int64_t j = 0; j < n; j++)
        near = near && column_off(&q[0], &f[0], a, j) <= bound * column_norm(a, j);
    for (int64_t j = 0; j < cols; j++)
        whole = whole && column_off(&q[0], NULL, NULL, j) <= bound;
    CHECK(near && whole);
    Scratch s = { 0 };
    lapack_qr(lib, a->t, m, n, NULL, NULL, &s);
    s.base = malloc(s.used), s.used = 0;
    memcpy(f[1].data, a->data, (size_t)(m * n) * blas_bytes(a->t));
    lapack_qr(lib, a->t, m, n, f[1].data, t[1].data, &s);
    for (int64_t j = 0; j < k; j++) {
        if (fabs(get(&f[0], j, j)) <= bound * column_norm(a, j))
            break;                                  /* from here on roundings decide */
        sign = sign && (get(&f[0], j, j) > 0) == (get(&f[1], j, j) > 0);
    }
    CHECK(sign);
    for (int c = 0; c < 2; c++)
        free(f[c].data), free(q[c].data), free(t[c].data);
    free(turn), free(s.base);
}

static void qr(BlasType t)
{
    static const int64_t shapes[][3] = { { 48, 48, 48 }, { 97, 97, 97 }, { 203, 97, 97 },
                                         { 150, 60, 150 }, { 60, 211, 60 }, { 600, 50, 50 } };
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++) {
        Matrix a = matrix(t, shapes[s][0], shapes[s][1]);
        qr_of(&a, shapes[s][2]);
        free(a.data);
    }
    static const double scales[] = { 0x1p-100, 0x1p100 };
    for (int c = 0; c < 2; c++) {                   /* squares are out of range of their type */
        Matrix a = matrix(t, 70, 55);
        double scale = t == BLAS_S ? scales[c] : scales[c] * scales[c] * scales[c] * scales[c] *
                                                     scales[c] * scales[c] * scales[c];
        for (int64_t i = 0; i < 70 * 55; i++)
            mat_store(t, a.data, i, mat_real(t, a.data, i) * scale, 0);
        for (int64_t i = 0; i < 70; i++)
            put(&a, i, 7, 0), put(&a, i, 9, get(&a, i, 8));
        qr_of(&a, 70);
        free(a.data);
    }
    Matrix a = matrix(t, 60, 60), tau = matrix(t, 1, 60);
    void *turn = malloc(dense_qr_turn(t, 60, 60));
    put(&a, 30, 5, NAN);
    dense_qr(&ctx, t, 60, 60, a.data, tau.data, turn);
    CHECK(isnan(get(&a, 5, 5)) && isnan(get(&a, 59, 59)));
    free(a.data), free(tau.data), free(turn);
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

/* What `explain` says is asked where the way is chosen: ours by name, or NULL for LAPACK's. */
static void names(void)
{
    static const char *const steps[] = { "getrf", "getri", "potrf", "geqrf", "orgqr" };
    for (int t = 0; t < BLAS_TYPES; t++)
        for (int64_t n = 40; n < 60; n++) {
            for (size_t i = 0; i < sizeof steps / sizeof *steps; i++)
                CHECK(!dense_own_name(steps[i], (BlasType)t, n, 0) == !dense_own((BlasType)t, n));
            for (int64_t nrhs = 0; nrhs < 40; nrhs++)
                CHECK(!dense_own_name("getrs", (BlasType)t, n, nrhs) ==
                      !dense_solves((BlasType)t, n, nrhs));
            CHECK(!dense_own_name("sytrf", (BlasType)t, n, 0));
        }
}

int main(void)
{
    names();
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
            solve((BlasType)t, shapes[s][0]);
            inverse((BlasType)t, shapes[s][0] < 300 ? shapes[s][0] : 145);
        }
        tiny((BlasType)t, 60);
        qr((BlasType)t);
    }
    stopped_and_starved();
    pool_shutdown(&ctx);
    mem_shutdown(&ctx);
    return check_result();
}
