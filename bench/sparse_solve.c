/* `\` of sparse matrices beside SuiteSparse called from C, with its own defaults, in turns: CHOLMOD
 * on the five-point Laplacian of an n x n grid, UMFPACK on transport across it.
 *   build/bench/sparse_solve [n]       RICCI: the binary (build/ricci) */
#include "kernels/elimination/suitesparse.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { TURNS = 5 };
static SuiteSparse ss;

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void *open_any(const char *a, const char *b)
{
    void *h = dlopen(a, RTLD_NOW | RTLD_GLOBAL);
    return h ? h : dlopen(b, RTLD_NOW | RTLD_GLOBAL);
}

static bool load(void)
{
    void *handle[SS_LIBRARIES] = {
        [SS_CHOLMOD] = open_any("libcholmod.so.3", "libcholmod.so.5"),
        [SS_UMFPACK] = open_any("libumfpack.so.5", "libumfpack.so.6"),
    };
    if (!handle[SS_CHOLMOD] || !handle[SS_UMFPACK])
        return false;
#define ROUTINE(library, id, result, symbol, proto)                                            \
    if (handle[SS_##library])                                                                  \
        *(void **)&ss.id = dlsym(handle[SS_##library], symbol);
#include "kernels/elimination/suitesparse.def"
#undef ROUTINE
    return ss.cholmod_start && ss.numeric;
}

/* Columns of the matrix whose rows have `middle` on the diagonal and the four others beside it. */
static Columns grid(int64_t n, const double *beside, double middle, bool upper)
{
    const int64_t m = n * n, step[4] = { -n, -1, 1, n };
    Columns a = { .m = m, .n = m, .each = 8 };
    a.start = malloc((size_t)(m + 1) * 8);
    a.row = malloc((size_t)(5 * m) * 8);
    double *x = a.value = malloc((size_t)(5 * m) * 8);
    int64_t k = 0;
    for (int64_t j = 0; j < m; j++) {
        a.start[j] = k;
        for (int s = 0; s < 5; s++) {
            const int way = s < 2 ? s : s - 1;
            const int64_t i = s == 2 ? j : j + step[way], c = j % n;
            if (i < 0 || i >= m || (s == 1 && c == 0) || (s == 3 && c == n - 1) ||
                (upper && i > j))
                continue;
            a.row[k] = i;
            x[k++] = s == 2 ? middle : beside[way];
        }
    }
    a.start[m] = k;
    return a;
}

static double by_cholmod(const Columns *a, const double *b)
{
    static SsCommon common;
    double start = now();
    ss.cholmod_start(&common);
    SsSparse s = { .rows = (size_t)a->m, .columns = (size_t)a->n, .room = (size_t)a->start[a->n],
                   .start = a->start, .row = a->row, .x = a->value, .symmetric = 1,
                   .positions = SS_LONG, .numbers = SS_REAL, .sorted = 1, .packed = 1 };
    SsDense right = { .rows = (size_t)a->m, .columns = 1, .room = (size_t)a->m,
                      .step = (size_t)a->m, .x = (void *)b, .numbers = SS_REAL };
    SsFactor *f = ss.cholmod_analyze(&s, &common);
    ss.cholmod_factorize(&s, f, &common);
    SsDense *x = ss.cholmod_solve(0, f, &right, &common);
    double seconds = now() - start;
    ss.cholmod_free_dense(&x, &common);
    ss.cholmod_free_factor(&f, &common);
    ss.cholmod_finish(&common);
    return seconds;
}

static double by_umfpack(const Columns *a, const double *b, double *x)
{
    void *symbolic, *numeric;
    double start = now(), control[20], info[90];
    ss.defaults(control);
    ss.symbolic(a->m, a->n, a->start, a->row, a->value, &symbolic, control, info);
    ss.numeric(a->start, a->row, a->value, symbolic, &numeric, control, info);
    ss.solve(0, a->start, a->row, a->value, x, b, numeric, control, info);
    double seconds = now() - start;
    ss.free_symbolic(&symbolic);
    ss.free_numeric(&numeric);
    return seconds;
}

/* Seconds of the expression in the session that `in` and `out` are the two ends of. */
static double by_ricci(const char *matrix, int64_t n)
{
    char line[400], answer[64] = "nan";
    const char *ricci = getenv("RICCI");
    snprintf(line, sizeof line,
             "%s -e 'import gallery; A = gallery.%s(%lld, sparse=true); b = ones(%lld); "
             "u = A[:3, :3] \\ ones(3); "
             "t = time(); x = A \\ b; print(time() - t)'", ricci ? ricci : "build/ricci", matrix,
             (long long)n, (long long)(n * n));
    FILE *p = popen(line, "r");
    if (!p || !fgets(answer, sizeof answer, p))
        snprintf(answer, sizeof answer, "nan");
    if (p)
        pclose(p);
    return atof(answer);
}

int main(int argc, char **argv)
{
    const int64_t n = argc > 1 ? atoll(argv[1]) : 400, m = n * n;
    const double h = 1 / (double)(n + 1), d = 0.01, laplace[4] = { -1, -1, -1, -1 };
    const double wind[4] = { -d, -d, -h - d, -0.5 * h - d };      /* gallery.advection's, turned */
    if (!load()) {
        puts("sparse_solve: SuiteSparse is not installed");
        return 0;
    }
    Columns a = grid(n, laplace, 4, true), w = grid(n, wind, 4 * d + 1.5 * h, false);
    double *b = malloc((size_t)m * 8), *x = malloc((size_t)m * 8), best[4];
    for (int64_t i = 0; i < m; i++)
        b[i] = 1;
    for (int turn = 0; turn < TURNS; turn++) {
        const double t[4] = { by_cholmod(&a, b), by_ricci("poisson", n), by_umfpack(&w, b, x),
                              by_ricci("advection", n) };
        for (int k = 0; k < 4; k++)
            best[k] = turn == 0 || t[k] < best[k] ? t[k] : best[k];
    }
    printf("n = %lld^2, least of %d turns            C       Ricci   C / Ricci\n", (long long)n,
           TURNS);
    printf("poisson \\ b    (CHOLMOD)      %8.1f ms %8.1f ms   %.2f\n", 1e3 * best[0],
           1e3 * best[1], best[0] / best[1]);
    printf("advection \\ b  (UMFPACK)      %8.1f ms %8.1f ms   %.2f\n", 1e3 * best[2],
           1e3 * best[3], best[2] / best[3]);
    return 0;
}
