/* What a C programmer would write by hand for the index expressions of expressions.ric: prints
 * `name c seconds` per case, the median of repeated calls after a first one. Built by run.sh with
 * -O3 -march=native -ffast-math -fopenmp (exp is then libmvec's, 4 ulp); threads: OMP_NUM_THREADS.
 * Results go to memory that was written before; the programs it is compared with allocate
 * theirs. */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

enum { POINTS = 2000, DIM = 3, IMAGE = 1024, TAP = 7, NODES = 400, ROWS = 4096, TOKENS = 100000,
       TABLE = 1000000, VOCABULARY = 50000, WIDTH = 64, CHAIN = 10000000, CUBE = 256, REPEATS = 9 };

static double *x, *y, *a, *b, *c, *m, *out;
static int64_t *token, *column;

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int ascending(const void *p, const void *q)
{
    double d = *(const double *)p - *(const double *)q;
    return (d > 0) - (d < 0);
}

static void measure(const char *name, void (*run)(void))
{
    double t[REPEATS];
    run();
    for (int k = 0; k < REPEATS; k++) {
        double start = now();
        run();
        t[k] = now() - start;
    }
    qsort(t, REPEATS, sizeof *t, ascending);
    printf("%s c %.9f\n", name, t[REPEATS / 2]);
    fflush(stdout);
}

static double *fresh(size_t n)
{
    double *p = aligned_alloc(1 << 21, (n * sizeof *p + (1 << 21) - 1) >> 21 << 21);
    madvise(p, n * sizeof *p, MADV_HUGEPAGE);
    for (size_t i = 0; i < n; i++)
        p[i] = (double)(i * 2654435761u % 1000003u) / 1000003.0;
    return p;
}

static void distances(void)
{
    static double column_of[DIM][POINTS];
    for (int j = 0; j < POINTS; j++)
        for (int d = 0; d < DIM; d++)
            column_of[d][j] = y[j * DIM + d];
#pragma omp parallel for
    for (int i = 0; i < POINTS; i++) {
        double p = x[i * DIM], q = x[i * DIM + 1], r = x[i * DIM + 2],
               *o = out + (size_t)i * POINTS;
#pragma omp simd
        for (int j = 0; j < POINTS; j++) {
            double u = p - column_of[0][j], v = q - column_of[1][j], w = r - column_of[2][j];
            o[j] = sqrt(u * u + v * v + w * w);
        }
    }
}

static void convolution(void)
{
    enum { N = IMAGE - TAP + 1, STRIP = 32 };
#pragma omp parallel for
    for (int i = 0; i < N; i++)
        for (int j0 = 0; j0 < N; j0 += STRIP) {
            double s[STRIP] = { 0 };
            int n = N - j0 < STRIP ? N - j0 : STRIP;
            if (n == STRIP) {
                for (int k = 0; k < TAP; k++)
                    for (int l = 0; l < TAP; l++) {
                        const double *p = m + (size_t)(i + k) * IMAGE + j0 + l, w = y[k * TAP + l];
                        for (int j = 0; j < STRIP; j++)
                            s[j] += p[j] * w;
                    }
            } else {
                for (int k = 0; k < TAP; k++)
                    for (int l = 0; l < TAP; l++)
                        for (int j = 0; j < n; j++)
                            s[j] += m[(size_t)(i + k) * IMAGE + j0 + l + j] * y[k * TAP + l];
            }
            memcpy(out + (size_t)i * N + j0, s, (size_t)n * sizeof *s);
        }
}

static void tropical(void)
{
    enum { TI = 4, TJ = 16 };
#pragma omp parallel for
    for (int i = 0; i < NODES; i += TI)
        for (int j = 0; j < NODES; j += TJ) {
            double s[TI][TJ];
            for (int p = 0; p < TI; p++)
                for (int q = 0; q < TJ; q++)
                    s[p][q] = INFINITY;
            for (int k = 0; k < NODES; k++)
                for (int p = 0; p < TI; p++) {
                    double w = m[(i + p) * NODES + k];
                    for (int q = 0; q < TJ; q++) {
                        double v = w + m[k * NODES + j + q];
                        s[p][q] = v < s[p][q] ? v : s[p][q];
                    }
                }
            for (int p = 0; p < TI; p++)
                memcpy(out + (i + p) * NODES + j, s[p], sizeof s[p]);
        }
}

static void gather(void)
{
#pragma omp parallel for
    for (int i = 0; i < CHAIN; i++)
        out[i] = a[token[i]];
}

static void rows(void)
{
#pragma omp parallel for
    for (int i = 0; i < TOKENS; i++)
        memcpy(out + (size_t)i * WIDTH, m + (size_t)column[i] * WIDTH, WIDTH * sizeof *out);
}

static void gather2(void)
{
#pragma omp parallel for
    for (int i = 0; i < ROWS; i++)
        for (int j = 0; j < ROWS; j++)
            out[(size_t)i * ROWS + j] = m[(size_t)column[i] * ROWS + (size_t)column[j + ROWS]];
}

static void softmax(void)
{
#pragma omp parallel for
    for (int i = 0; i < ROWS; i++) {
        const double *p = m + (size_t)i * ROWS;
        double *o = out + (size_t)i * ROWS, top = p[0], sum = 0;
        for (int j = 1; j < ROWS; j++)
            top = p[j] > top ? p[j] : top;
        for (int j = 0; j < ROWS; j++)
            sum += o[j] = exp(p[j] - top);
        for (int j = 0; j < ROWS; j++)
            o[j] *= 1 / sum;
    }
}

static void chain(void)
{
#pragma omp parallel for simd
    for (int i = 0; i < CHAIN; i++)
        out[i] = sqrt(a[i] * a[i] + b[i] * b[i]) * exp(-c[i]);
}

static void copy(void)
{
#pragma omp parallel for
    for (int i = 0; i < ROWS; i++)
        memcpy(out + (size_t)i * ROWS, m + (size_t)i * ROWS, ROWS * sizeof *out);
}

/* Element [i][j] of the result lies at source[i * si + j * sj]: blocks of 16 by 16. */
static void transpose_plane(double *o, size_t oi, const double *source, size_t sj, int n)
{
    enum { T = 16 };
    for (int i = 0; i < n; i += T)
        for (int j = 0; j < n; j += T)
            for (int p = i; p < i + T; p++)
                for (int q = j; q < j + T; q++)
                    o[(size_t)p * oi + (size_t)q] = source[(size_t)q * sj + (size_t)p];
}

static void transpose(void)
{
    enum { B = 64 };
#pragma omp parallel for
    for (int i = 0; i < ROWS; i += B)
        for (int j = 0; j < ROWS; j += B)
            transpose_plane(out + (size_t)i * ROWS + j, ROWS, m + (size_t)j * ROWS + i, ROWS, B);
}

static void permute_cba(void)
{
#pragma omp parallel for
    for (int j = 0; j < CUBE; j++)
        transpose_plane(out + (size_t)j * CUBE, CUBE * CUBE, m + (size_t)j * CUBE,
                        CUBE * CUBE, CUBE);
}

static void permute_acb(void)
{
#pragma omp parallel for
    for (int i = 0; i < CUBE; i++)
        transpose_plane(out + (size_t)i * CUBE * CUBE, CUBE, m + (size_t)i * CUBE * CUBE,
                        CUBE, CUBE);
}

static void permute_bac(void)
{
#pragma omp parallel for
    for (int j = 0; j < CUBE; j++)
        for (int i = 0; i < CUBE; i++)
            memcpy(out + ((size_t)j * CUBE + i) * CUBE, m + ((size_t)i * CUBE + j) * CUBE,
                   CUBE * sizeof *out);
}

int main(void)
{
    size_t big = (size_t)CUBE * CUBE * CUBE;
    x = fresh(POINTS * DIM), y = fresh(POINTS * DIM);
    a = fresh(CHAIN), b = fresh(CHAIN), c = fresh(CHAIN);
    m = fresh(big), out = fresh(big);
    token = malloc(CHAIN * sizeof *token), column = malloc(TOKENS * sizeof *column);
    uint64_t s = 1;
    for (int i = 0; i < CHAIN; i++)
        s = s * 6364136223846793005u + 1442695040888963407u,
            token[i] = (int64_t)((s >> 33) % TABLE);
    for (int i = 0; i < TOKENS; i++)
        s = s * 6364136223846793005u + 1442695040888963407u,
            column[i] = (int64_t)((s >> 33) % VOCABULARY);
    measure("distances_2000", distances);
    measure("convolution_7x7", convolution);
    measure("min_plus_400", tropical);
    measure("gather_1e7", gather);
    measure("gather_rows", rows);
    for (int i = 0; i < TOKENS; i++)
        column[i] %= ROWS;
    measure("gather_2d_4096", gather2);
    measure("softmax_4096", softmax);
    measure("chain_1e7", chain);
    measure("copy_4096", copy);
    measure("transpose_4096", transpose);
    measure("permute_cba_256", permute_cba);
    measure("permute_acb_256", permute_acb);
    measure("permute_bac_256", permute_bac);
    return 0;
}
