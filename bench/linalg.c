/* Dense linear algebra against the library it stands on, side by side in one run: `A @ B`
 * against twice the one-thread rate of the same BLAS, and solve, qr, svd, eigh against
 * LAPACK called directly on column-major data with one and with all threads. Prints a
 * table; times are the best of interleaved repetitions. */
#include "core/pool.h"
#include "interp/op.h"
#include "kernels/lapack.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { REPEATS = 15 };

static Interp *in;
static const Blas *blas;

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static double best_of(const double *times, int n)
{
    double best = times[0];
    for (int i = 1; i < n; i++)
        best = times[i] < best ? times[i] : best;
    return best;
}

static Tensor *random_matrix(DType dt, int64_t m, int64_t n)
{
    Tensor *t = tensor_new(&in->ctx, dt, 2, (int64_t[]){ m, n });
    uint64_t x = 88172645463325252u;
    for (int64_t i = 0; i < t->size; i++) {
        x ^= x << 13, x ^= x >> 7, x ^= x << 17;
        mat_store(blas_type(dt), t->data, i, (double)(x >> 11) * 0x1p-52 - 1, 0);
    }
    v_push(in, v_tensor_raw(t));
    return t;
}

static double time_op(const char *name, Tensor *a, Tensor *b)
{
    double from = now();
    Value r = b ? op_binary(in, op_named(in, name), v_tensor_raw(a), v_tensor_raw(b), 0)
                : op_unary(in, op_named(in, name), v_tensor_raw(a), 0);
    double t = now() - from;
    v_release(&in->ctx, r);
    return t;
}

static void bench_product(DType dt, int64_t n)
{
    Value *mark = in->sp;
    Tensor *a = random_matrix(dt, n, n), *b = random_matrix(dt, n, n), *c = random_matrix(dt, n, n);
    double own[REPEATS], one[REPEATS];
    int ni = (int)n;
    int repeats = n > 1500 ? 7 : REPEATS;
    for (int i = -1; i < repeats; i++) {
        blas_threads(blas, 1);
        double from = now();
        BlasType t = blas_type(dt);
        blas->gemm[t]("N", "N", &ni, &ni, &ni, blas_one(t), a->data, &ni, b->data, &ni,
                      blas_zero(t),
                      c->data, &ni, 1, 1);
        double direct = now() - from, ours = time_op("matmul", a, b);
        if (i >= 0)
            one[i] = direct, own[i] = ours;
    }
    double direct = best_of(one, repeats), ours = best_of(own, repeats);
    int threads = pool_threads(&in->ctx);
    double work = 2e-9 * (double)n * (double)n * (double)n;
    printf("A @ B  %-4s n=%-5lld BLAS, 1 thread %8.1f GFLOP/s   ricci %8.1f   %5.1f %% of %d x\n",
           dtype_info[dt].name, (long long)n, work / direct, work / ours,
           100 * direct / ours / threads, threads);
    stack_cut(in, mark);
}

/* One direct call as a C program would make it: copy A (and b), call LAPACK. */
typedef struct Direct {
    Tensor *a, *b;
    char *copy, *second, *third, *rhs;
    int *pivots;
    Scratch work;
} Direct;

static void direct_call(const char *what, Direct *d)
{
    int64_t n = tensor_shape(d->a)[0];
    d->work.used = 0;
    memcpy(d->copy, d->a->data, (size_t)(n * n) * 8);
    if (!strcmp(what, "solve")) {
        memcpy(d->rhs, d->b->data, (size_t)n * 8);
        lapack_lu(blas, BLAS_D, n, n, d->copy, d->pivots);
        lapack_lu_solve(blas, BLAS_D, 'N', n, 1, d->copy, d->pivots, d->rhs);
    } else if (!strcmp(what, "qr")) {
        lapack_qr(blas, BLAS_D, n, n, d->copy, d->rhs, &d->work);
        memcpy(d->second, d->copy, (size_t)(n * n) * 8);
        lapack_qr_form(blas, BLAS_D, n, n, n, d->copy, d->rhs, &d->work);
    } else if (!strcmp(what, "svd")) {
        lapack_svd(blas, BLAS_D, 'S', n, n, d->copy, d->rhs, d->second, d->third, &d->work);
    } else {
        lapack_eigh(blas, BLAS_D, true, 'L', n, d->copy, d->rhs, &d->work);
    }
}

static void bench_lapack(const char *what, int64_t n)
{
    Value *mark = in->sp;
    Direct d = { .a = random_matrix(DT_F64, n, n), .b = NULL };
    int64_t length = n;
    size_t bytes = (size_t)(n * n) * 8;
    d.b = tensor_zeros(&in->ctx, DT_F64, 1, &length);
    v_push(in, v_tensor_raw(d.b));
    if (!strcmp(what, "eigh"))
        for (int64_t i = 0; i < n; i++)
            for (int64_t j = 0; j < i; j++)
                ((double *)(void *)d.a->data)[i * n + j] = ((double *)(void *)d.a->data)[j * n + i];
    d.copy = malloc(bytes), d.second = malloc(bytes), d.third = malloc(bytes);
    d.rhs = malloc((size_t)n * 8), d.pivots = malloc((size_t)n * 4);
    d.work.base = malloc(bytes * 8 + (1 << 20));
    double time[3][REPEATS];
    int threads = pool_threads(&in->ctx);
    for (int i = -1; i < REPEATS; i++)
        for (int way = 0; way < 3; way++) {
            double t;
            if (way < 2) {
                blas_threads(blas, way ? threads : 1);
                double from = now();
                direct_call(what, &d);
                t = now() - from;
            } else {
                t = time_op(what, d.a, !strcmp(what, "solve") ? d.b : NULL);
            }
            if (i >= 0)
                time[way][i] = t;
        }
    double t1 = best_of(time[0], REPEATS), t2 = best_of(time[1], REPEATS), own = best_of(time[2],
                                                                                         REPEATS);
    double best = t1 < t2 ? t1 : t2;
    printf("%-6s f64  n=%-5lld LAPACK 1 thread %8.2f ms  %d threads %8.2f ms  ricci %8.2f ms  %+5.1f %% of the better\n",
           what, (long long)n, 1e3 * t1, threads, 1e3 * t2, 1e3 * own, 100 * (own / best - 1));
    free(d.copy), free(d.second), free(d.third), free(d.rhs), free(d.pivots), free(d.work.base);
    stack_cut(in, mark);
}

static void bench_small(const char *name, DType dt, int64_t n)
{
    Value *mark = in->sp;
    Tensor *a = random_matrix(dt, n, n), *b = random_matrix(dt, n, n);
    enum { CALLS = 200000 };
    const Op *op = op_named(in, name);
    double best = 1;
    for (int r = 0; r < 5; r++) {
        double from = now();
        for (int i = 0; i < CALLS; i++)
            v_release(&in->ctx, op_binary(in, op, v_tensor_raw(a), v_tensor_raw(b), 0));
        double t = (now() - from) / CALLS;
        best = t < best ? t : best;
    }
    printf("%-6s %-4s n=%-5lld %8.0f ns a call\n", name, dtype_info[dt].name, (long long)n,
           1e9 * best);
    stack_cut(in, mark);
}

int main(int argc, char **argv)
{
    static const int64_t sizes[] = { 64, 128, 256, 512, 1024, 2048 };
    static const int64_t orders[] = { 100, 200, 300, 500, 1000 };
    static const char *const factors[] = { "solve", "qr", "svd", "eigh" };
    bool quick = argc > 1 && !strcmp(argv[1], "quick");
    in = interp_new();
    blas = blas_open(NULL);
    if (!blas)
        return 1;
    for (int64_t n = 2; n <= 16; n *= 2)
        bench_small("matmul", DT_F64, n);
    bench_small("solve", DT_F64, 3);
    for (int i = 0; i < (quick ? 4 : 6); i++) {
        bench_product(DT_F64, sizes[i]);
        bench_product(DT_F32, sizes[i]);
    }
    for (int f = 0; f < 4; f++)
        for (int i = 0; i < (quick ? 4 : 5); i++)
            bench_lapack(factors[f], orders[i]);
    interp_free(in);
    return 0;
}
