/* LAPACK that can be stopped: factors made from parts against LAPACK's own (pivots, info,
 * residuals), at orders around limits that are made small here, in all four types; and that
 * the library works as before after a routine was left in its middle. */
#include "kernels/blas/blas_stop.h"
#include "kernels/blas/lapacke.h"
#include "kernels/lapack/lapack.h"
#include "tests/unit/check.h"

#include <complex.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/time.h>
#include <time.h>

typedef double _Complex Number;

enum { PANEL = 64, MOST = 3 * PANEL + 5, ROOM = MOST + 4 };
static const BlasLimits small = { .work = 1, .whole = 0, .panel = PANEL, .group = 8 };
static const BlasLimits whole = { .work = 1e18, .whole = 1 << 30, .panel = PANEL, .group = 64 };
static const int orders[] = { 0, 1, PANEL - 1, PANEL, PANEL + 1, MOST };
enum { ORDERS = sizeof orders / sizeof *orders };
static const double UNTOUCHED = 12345;

static InterruptFlag interrupt;
static Ctx ctx;
static const Blas *lib;

/* ---- matrices ---- */
typedef struct Matrix {
    BlasType t;
    int m, n, ld;
    void *data;
} Matrix;

static Matrix matrix_new(BlasType t, int m, int n, int more)
{
    Matrix a = { t, m, n, (m < 1 ? 1 : m) + more, NULL };
    a.data = malloc((size_t)a.ld * (size_t)(n + 1) * blas_bytes(t));
    for (int i = 0; i < a.ld * (n + 1); i++)
        mat_store(t, a.data, i, UNTOUCHED, 0);
    return a;
}

static int64_t place(const Matrix *a, int i, int j)
{
    return (int64_t)j * a->ld + i;
}

static void put(const Matrix *a, int i, int j, Number x)
{
    mat_store(a->t, a->data, place(a, i, j), creal(x), cimag(x));
}

static Number get(const Matrix *a, int i, int j)
{
    int64_t at = place(a, i, j);
    switch (a->t) {
    case BLAS_S: return ((float *)a->data)[at];
    case BLAS_D: return ((double *)a->data)[at];
    case BLAS_C: return ((float _Complex *)a->data)[at];
    default: return ((double _Complex *)a->data)[at];
    }
}

static Matrix matrix_random(BlasType t, int m, int n, int more)
{
    Matrix a = matrix_new(t, m, n, more);
    for (int j = 0; j < n; j++)
        for (int i = 0; i < m; i++)
            put(&a, i, j, check_uniform() + (blas_is_complex(t) ? check_uniform() * I : 0));
    return a;
}

/* Both halves; its eigenvalues are about 2n. */
static Matrix matrix_definite(BlasType t, int n, int more)
{
    Matrix a = matrix_random(t, n, n, more);
    for (int j = 0; j < n; j++)
        for (int i = 0; i <= j; i++) {
            Number x = i == j ? 2.0 * n + creal(get(&a, i, i)) : get(&a, i, j);
            put(&a, i, j, x);
            put(&a, j, i, conj(x));
        }
    return a;
}

static Matrix matrix_copy(const Matrix *a)
{
    Matrix b = matrix_new(a->t, a->m, a->n, a->ld - (a->m < 1 ? 1 : a->m));
    memcpy(b.data, a->data, (size_t)a->ld * (size_t)(a->n + 1) * blas_bytes(a->t));
    return b;
}

static double bound(const Matrix *a)
{
    return 8.0 * (a->m + a->n + 8) * mat_eps(a->t);
}

/* Nothing was written below the rows and to the right of the columns. */
static bool around_untouched(const Matrix *a)
{
    for (int j = 0; j <= a->n; j++)
        for (int i = j < a->n ? a->m : 0; i < a->ld; i++)
            if (get(a, i, j) != UNTOUCHED)
                return false;
    return true;
}

/* Largest |A B - C|. */
static double gap_product(const Matrix *a, const Matrix *b, const Matrix *c)
{
    double worst = 0;
    Number *column = malloc((size_t)(c->m + 1) * sizeof *column);
    for (int j = 0; j < c->n; j++) {
        for (int i = 0; i < c->m; i++)
            column[i] = -get(c, i, j);
        for (int k = 0; k < a->n; k++) {
            Number x = get(b, k, j);
            for (int i = 0; i < c->m && x != 0; i++)
                column[i] += get(a, i, k) * x;
        }
        for (int i = 0; i < c->m; i++)
            worst = isnan(cabs(column[i])) ? INFINITY : fmax(worst, cabs(column[i]));
    }
    free(column);
    return worst;
}

static double gap_entries(const Matrix *a, const Matrix *b)
{
    double worst = 0;
    for (int j = 0; j < a->n; j++)
        for (int i = 0; i < a->m; i++)
            worst = fmax(worst, cabs(get(a, i, j) - get(b, i, j)));
    return worst;
}

/* ---- LU ---- */
/* Largest |L U - P A| for the factors in f. */
static double gap_lu(const Matrix *a, const Matrix *f, const int *pivots)
{
    int k = a->m < a->n ? a->m : a->n;
    Matrix l = matrix_new(a->t, a->m, k, 0), u = matrix_new(a->t, k, a->n, 0), pa = matrix_copy(a);
    for (int j = 0; j < k; j++)
        for (int i = 0; i < a->m; i++)
            put(&l, i, j, i == j ? 1 : i > j ? get(f, i, j) : 0);
    for (int j = 0; j < a->n; j++)
        for (int i = 0; i < k; i++)
            put(&u, i, j, i <= j ? get(f, i, j) : 0);
    for (int i = 0; i < k; i++)
        for (int j = 0; j < a->n; j++) {
            Number x = get(&pa, i, j);
            put(&pa, i, j, get(&pa, pivots[i] - 1, j));
            put(&pa, pivots[i] - 1, j, x);
        }
    double gap = gap_product(&l, &u, &pa);
    free(l.data), free(u.data), free(pa.data);
    return gap;
}

/* With few digits two candidates may be equal but for rounding, and either may be taken. */
static bool pivots_right(const Matrix *f, const int *pivots, const int *own)
{
    int k = f->m < f->n ? f->m : f->n;
    if (memcmp(pivots, own, (size_t)k * sizeof *pivots) == 0)
        return true;
    double worst = 0;
    for (int j = 0; j < k; j++)
        for (int i = j + 1; i < f->m; i++)
            worst = fmax(worst, cabs(get(f, i, j)));
    return mat_eps(f->t) > 1e-10 && worst <= (blas_is_complex(f->t) ? sqrt(2) : 1) + bound(f);
}

static void lu_case(const Matrix *a)
{
    Matrix own = matrix_copy(a), made = matrix_copy(a);
    int own_pivots[2 * ROOM], pivots[2 * ROOM], info = -1;
    int own_info = lapack_getrf(lib, a->t, a->m, a->n, own.data, a->ld, own_pivots);
    blas_stop_getrf(lib, a->t, a->m, a->n, made.data, a->ld, pivots, &info);
    bool ok = CHECK(info == own_info) && CHECK(pivots_right(&made, pivots, own_pivots));
    ok = ok && CHECK(gap_lu(a, &made, pivots) <= bound(a)) && CHECK(around_untouched(&made));
    if (!ok)
        fprintf(stderr, "  LU, type %d, %d x %d, ld %d, info %d, wanted %d\n", a->t, a->m, a->n,
                a->ld, info, own_info);
    free(own.data), free(made.data);
}

static void lu_cases(BlasType t)
{
    static const int odd[][2] =
        { { 0, 5 }, { 5, 0 }, { MOST, 65 }, { 65, MOST }, { MOST, PANEL }, { PANEL, MOST },
                                  { MOST, 2 * PANEL + 1 }, { 2 * PANEL + 1, MOST }, { 1, MOST },
                                  { MOST, 1 } };
    for (int i = 0; i < ORDERS; i++)
        for (int more = 0; more < 4; more += 3) {
            Matrix a = matrix_random(t, orders[i], orders[i], more);
            lu_case(&a);
            free(a.data);
        }
    for (size_t i = 0; i < sizeof odd / sizeof *odd; i++) {
        Matrix a = matrix_random(t, odd[i][0], odd[i][1], (int)i % 3);
        lu_case(&a);
        free(a.data);
    }
    /* Columns of zeros: the first is the one that is named. */
    static const int zero[][2] = { { 0, 0 }, { 31, 32 }, { 63, 150 }, { 100, 196 }, { 196, 196 } };
    for (size_t i = 0; i < sizeof zero / sizeof *zero; i++) {
        Matrix a = matrix_random(t, MOST, MOST, 2);
        for (int r = 0; r < MOST; r++)
            put(&a, r, zero[i][0], 0), put(&a, r, zero[i][1], 0);
        lu_case(&a);
        free(a.data);
    }
    Matrix a = matrix_new(t, MOST, MOST, 0);
    for (int r = 0; r < MOST; r++)
        for (int c = 0; c < MOST; c++)
            put(&a, r, c, 0);
    lu_case(&a);
    free(a.data);
}

/* ---- Cholesky ---- */
static bool half_untouched(const Matrix *a, const Matrix *before, char uplo)
{
    for (int j = 0; j < a->n; j++)
        for (int i = 0; i < a->n; i++)
            if ((uplo == 'L' ? i < j : i > j) && get(a, i, j) != get(before, i, j))
                return false;
    return true;
}

static void cholesky_case(BlasType t, char uplo, int n, int more, int bad)
{
    Matrix a = matrix_definite(t, n, more);
    if (bad >= 0)
        put(&a, bad, bad, -1);
    Matrix own = matrix_copy(&a), made = matrix_copy(&a);
    int info = -1, own_info = lapack_potrf(lib, t, uplo, n, own.data, a.ld);
    blas_stop_potrf(lib, t, uplo, n, made.data, a.ld, &info);
    bool ok = CHECK(info == own_info) && CHECK(info == bad + 1) && CHECK(around_untouched(&made)) &&
              CHECK(half_untouched(&made, &a, uplo));
    ok = ok && CHECK(bad >= 0 || gap_entries(&made, &own) <= bound(&a) * sqrt(n + 1));
    if (!ok)
        fprintf(stderr, "  Cholesky %c, type %d, order %d, ld %d, info %d, wanted %d\n", uplo, t,
                n, a.ld, info, own_info);
    free(a.data), free(own.data), free(made.data);
}

static void cholesky_cases(BlasType t)
{
    static const int bad[] = { 0, 31, 32, 100, 148, MOST - 1 };
    for (int i = 0; i < ORDERS; i++)
        for (int more = 0; more < 4; more += 3) {
            cholesky_case(t, 'L', orders[i], more, -1);
            cholesky_case(t, 'U', orders[i], more, -1);
        }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        cholesky_case(t, i % 2 && i < 4 ? 'U' : 'L', MOST, 1, bad[i]);
    cholesky_case(t, 'L', MOST, 0, 31);
    cholesky_case(t, 'L', MOST, 0, 100);
}

/* ---- inverses, through getri's call of trtri ---- */
static int invert(const Matrix *a, const int *pivots)
{
    int lwork = a->n * 64 + 1;
    void *work = malloc((size_t)lwork * blas_bytes(a->t));
    int info = lapack_getri(lib, a->t, a->n, a->data, a->ld, pivots, work, lwork);
    free(work);
    return info;
}

static void inverse_case(BlasType t, int n, int more)
{
    Matrix a = matrix_definite(t, n, more), f = matrix_copy(&a), one = matrix_new(t, n, n, 0);
    int pivots[ROOM], info = -1;
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            put(&a, i, j, get(&f, (i + 7) % n, j));     /* so that rows change places */
            put(&one, i, j, i == j);
        }
    memcpy(f.data, a.data, (size_t)a.ld * (size_t)n * blas_bytes(t));
    blas_stop_getrf(lib, t, n, n, f.data, f.ld, pivots, &info);
    bool ok = CHECK(info == 0) && CHECK(invert(&f, pivots) == 0);
    ok = ok && CHECK(gap_product(&a, &f, &one) <= bound(&a)) && CHECK(around_untouched(&f));
    if (!ok)
        fprintf(stderr, "  inverse, type %d, order %d, ld %d\n", t, n, a.ld);
    free(a.data), free(f.data), free(one.data);
}

/* A zero on the diagonal, of either sign, is named and nothing is divided by it. */
static void inverse_singular(BlasType t, int at, double zero)
{
    int pivots[ROOM];
    Matrix f = matrix_definite(t, MOST, 0);
    for (int i = 0; i < MOST; i++)
        pivots[i] = i + 1;
    put(&f, at, at, zero);
    CHECK(invert(&f, pivots) == at + 1);
    free(f.data);
}

/* ---- systems, by groups of right sides ---- */
static void solve_case(BlasType t, int n, int nrhs)
{
    Matrix a = matrix_definite(t, n, 0), b = matrix_random(t, n, nrhs, 0);
    Matrix f = matrix_copy(&a), x = matrix_copy(&b), upper = matrix_copy(&a);
    int pivots[ROOM];
    CHECK(lapack_lu(lib, t, n, n, f.data, pivots) == 0);
    CHECK(lapack_lu_solve(lib, t, 'N', n, nrhs, f.data, pivots, x.data) == 0);
    CHECK(gap_product(&a, &x, &b) <= bound(&a) && around_untouched(&x));
    memcpy(f.data, a.data, (size_t)f.ld * (size_t)n * blas_bytes(t));
    memcpy(x.data, b.data, (size_t)x.ld * (size_t)nrhs * blas_bytes(t));
    CHECK(lapack_cholesky(lib, t, 'L', n, f.data) == 0);
    CHECK(lapack_cholesky_solve(lib, t, 'L', n, nrhs, f.data, x.data) == 0);
    CHECK(gap_product(&a, &x, &b) <= bound(&a) && around_untouched(&x));
    memcpy(x.data, b.data, (size_t)x.ld * (size_t)nrhs * blas_bytes(t));
    for (int j = 0; j < n; j++)
        for (int i = j + 1; i < n; i++)
            put(&upper, i, j, 0);
    CHECK(lapack_triangle_solve(lib, t, 'U', 'N', n, nrhs, a.data, a.ld, x.data, x.ld) == 0);
    CHECK(gap_product(&upper, &x, &b) <= bound(&a) && around_untouched(&x));
    free(a.data), free(b.data), free(f.data), free(x.data), free(upper.data);
}

/* ---- stopping ---- */
enum { LU, CHOLESKY, INVERSE, SVD, EIGH, EIG, WORKS, ORDER = 2 * PANEL + 9 };

typedef struct Bench {
    BlasType t;
    Matrix general, definite, wide, f, u, v, solution;
    char *work;
    double seconds[WORKS];
} Bench;

static Bench bench_new(BlasType t)
{
    Bench b = { .t = t, .general = matrix_random(t, ORDER, ORDER, 0),
                .definite = matrix_definite(t, ORDER, 0),
                .f = matrix_new(t, ORDER, ORDER, 0), .u = matrix_new(BLAS_Z, ORDER, ORDER, 0),
                .v = matrix_new(BLAS_Z, ORDER, ORDER, 0),
                .solution = matrix_random(t, ORDER, 3, 0) };
    b.wide = matrix_new(t, ORDER, 3, 0);
    for (int j = 0; j < 3; j++)
        for (int i = 0; i < ORDER; i++) {
            Number sum = 0;
            for (int k = 0; k < ORDER; k++)
                sum += get(&b.definite, i, k) * get(&b.solution, k, j);
            put(&b.wide, i, j, sum);
        }
    b.work = malloc((size_t)1 << 22);
    return b;
}

static void bench_free(Bench *b)
{
    free(b->general.data), free(b->definite.data), free(b->wide.data), free(b->f.data);
    free(b->u.data), free(b->v.data), free(b->solution.data), free(b->work);
}

static int bench_call(Bench *b, int work, Scratch *s)
{
    bool real;
    int pivots[ROOM];
    void *f = b->f.data;
    switch (work) {
    case LU: return lapack_lu(lib, b->t, ORDER, ORDER, f, pivots);
    case CHOLESKY: return lapack_cholesky(lib, b->t, 'L', ORDER, f);
    case INVERSE:
        lapack_lu(lib, b->t, ORDER, ORDER, f, pivots);
        return lapack_lu_inverse(lib, b->t, ORDER, f, pivots, s);
    case SVD:
        return lapack_svd(lib, b->t, 'S', ORDER, ORDER, f, b->work, b->u.data, b->v.data, s);
    case EIGH: return lapack_eigh(lib, b->t, true, 'L', ORDER, f, b->u.data, s);
    default: return lapack_eig(lib, b->t, ORDER, f, b->u.data, b->v.data, &real, s);
    }
}

static void bench_run(Bench *b, int work)
{
    const Matrix *from = work == CHOLESKY || work == EIGH ? &b->definite : &b->general;
    Scratch s = { 0 };
    memcpy(b->f.data, from->data, (size_t)ORDER * ORDER * blas_bytes(b->t));
    scratch_take(&s, ORDER, 16);                         /* where the singular values go */
    bench_call(b, work, &s);
    if (s.used > (size_t)1 << 22)
        abort();
    s.base = b->work, s.used = 0;
    scratch_take(&s, ORDER, 16);
    CHECK(bench_call(b, work, &s) == 0);
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void on_alarm(int sig)
{
    (void)sig;
    interrupt = 1;
}

static void alarm_after(double seconds)
{
    struct itimerval t = { .it_value = { 0, (long)(seconds * 1e6) + (seconds > 0) } };
    setitimer(ITIMER_REAL, &t, NULL);
}

static void bench_solve(Bench *b)
{
    int pivots[ROOM];
    Matrix x = matrix_copy(&b->wide), f = matrix_copy(&b->definite);
    CHECK(lapack_lu(lib, b->t, ORDER, ORDER, f.data, pivots) == 0);
    CHECK(lapack_lu_solve(lib, b->t, 'N', ORDER, 3, f.data, pivots, x.data) == 0);
    if (!CHECK(gap_entries(&x, &b->solution) <= bound(&f)))
        fprintf(stderr, "  type %d after a stop: off by %g\n", b->t, gap_entries(&x, &b->solution));
    free(x.data), free(f.data);
}

static bool stopped(Bench *b, int work, double after)
{
    ErrFrame frame;
    volatile bool stop = false;
    interrupt = 0;
    blas_stop_by(&ctx);
    if (ERR_TRY(&ctx, &frame)) {
        alarm_after(after);
        bench_run(b, work);
        ERR_END(&ctx, &frame);
    } else {
        stop = true;
        CHECK(ctx.error->kind == ERR_INTERRUPT && !interrupt);
        err_free(ctx.error);
        ctx.error = NULL;
    }
    alarm_after(0);
    interrupt = 0;
    blas_stop_by(NULL);
    return stop;
}

static void stop_cases(Bench *b, int threads)
{
    enum { TIMES = 50 };
    int stops = 0;
    blas_enter(&ctx, lib, 1, threads);
    for (int work = 0; work < WORKS && threads == 1; work++) {
        double start = now();
        bench_run(b, work);
        b->seconds[work] = now() - start;
    }
    for (int i = 0; i < TIMES; i++) {
        int work = i % WORKS;
        stops += stopped(b, work, b->seconds[work] * (1.01 + check_uniform()) / 2);
        bench_solve(b);
    }
    blas_enter(&ctx, lib, 1, 1);
    CHECK(stops > 0);
}

/* ---- who may not be raised into ---- */
static void inside_job(void *arg, int64_t begin, int64_t end, int worker)
{
    (void)end, (void)worker;
    interrupt = 1;
    bench_run((Bench *)arg + begin, SVD);
}

static _Atomic bool enough;

static void *other_thread(void *arg)
{
    while (!atomic_load(&enough))
        bench_solve(arg);
    return NULL;
}

/* A job of the pool, C that was called, and a thread that works at the same time. */
static void others(Bench *b)
{
    Bench *theirs = b + 1;
    pthread_t thread;
    ErrFrame frame;
    blas_stop_by(&ctx);
    if (ERR_TRY(&ctx, &frame)) {
        pool_for(&ctx, 2, 1, inside_job, b);
        blas_stop_by(NULL);
        interrupt = 1;
        bench_run(b, EIG);
        ERR_END(&ctx, &frame);
        CHECK(interrupt == 1);
    } else {
        CHECK(ctx.error == NULL);        /* out of a job, or into nobody */
    }
    interrupt = 0;
    if (pthread_create(&thread, NULL, other_thread, theirs) != 0)
        return;
    for (int i = 0; i < 20; i++)
        stopped(b, i % WORKS, b->seconds[i % WORKS] / 2);
    atomic_store(&enough, true);
    pthread_join(thread, NULL);
}

static void parts(void)
{
    blas_stop_limit(&small);
    for (BlasType t = BLAS_S; t < BLAS_TYPES; t++) {
        lu_cases(t);
        cholesky_cases(t);
        for (int i = 0; i < ORDERS; i++)
            inverse_case(t, orders[i], i % 3);
        inverse_singular(t, 0, 0.0);
        inverse_singular(t, 150, -0.0);
        for (int nrhs = 0; nrhs < 40; nrhs += nrhs < 8 ? 4 : 13)
            solve_case(t, PANEL + 1, nrhs);
    }
}

static void stops(void)
{
    Bench benches[BLAS_TYPES];
    for (BlasType t = BLAS_S; t < BLAS_TYPES; t++) {
        benches[t] = bench_new(t);
        blas_stop_limit(t % 2 ? &whole : &small);
        for (int threads = 1; threads <= 2; threads++)
            stop_cases(&benches[t], threads);
    }
    others(&benches[BLAS_D]);
    for (BlasType t = BLAS_S; t < BLAS_TYPES; t++)
        bench_free(&benches[t]);
}

/* By the names that were chosen, and by Fortran's where those were LAPACKE's. */
static void all_cases(void)
{
    static Blas by_fortran;
    const Blas *found = lib;
    for (int way = found->by_lapacke ? 0 : 1; way < 2; way++) {
        by_fortran = *found;
        by_fortran.by_lapacke = false;
        lib = way ? &by_fortran : found;
        parts();
        if (blas_stop_works())
            stops();
    }
    lib = found;
}

int main(void)
{
    BlasRefusal why = { "", false };
    mem_init(&ctx);
    ctx.interrupt = &interrupt;
    setenv("RICCI_THREADS", "2", 1);
    unsetenv("RICCI_LAPACK_STOP");
    unsetenv("RICCI_LAPACKE");
    blas_stop_allow();
    lapacke_allow();
    lib = lapack_open(&why);
    if (!lib) {
        printf("not run: %s\n", why.text);
        return check_result();
    }
    if (!blas_stop_works())
        printf("not run: stopping (this LAPACK calls its BLAS in another way)\n");
    if (!lib->by_lapacke)
        printf("not run: by LAPACKE (liblapacke.so.3 is not there, or leads elsewhere)\n");
    signal(SIGALRM, on_alarm);
    all_cases();
    blas_stop_limit(NULL);
    pool_shutdown(&ctx);
    return check_result();
}
