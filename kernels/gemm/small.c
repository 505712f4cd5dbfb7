/* Batches of small matrices (small.h): which kernels this processor runs, and the split of a batch
 * among the workers. Must not raise or allocate. */
#include "kernels/gemm/small.h"

#include "core/memory/pool.h"
#include "kernels/tensor/cpu.h"
#include "kernels/gemm/small_kernels.h"

/* Elements of a matrix beyond which gemv is faster with it. */
enum { COLUMN_MOST = 256 };

/* Multiply-adds below which a second worker costs more than it gives: about 40 us. */
static const double SPLIT_WORK = 2e5;

static const SmallTable *table(void)
{
#if defined(__x86_64__) || defined(__i386__)
    static const SmallTable *const tables[] = { &small_table_base, &small_table_avx2,
                                                &small_table_avx512 };
    return tables[cpu_isa()];
#else
    return &small_table_base;
#endif
}

typedef struct Split {
    SmallFn fn;
    const SmallJob *job;
} Split;

static void split_worker(void *arg, int64_t begin, int64_t end, int worker)
{
    const Split *s = arg;
    (void)worker;
    s->fn(s->job, begin, end);
}

bool small_lu_pays(int64_t n, int64_t count)
{
    return n > 0 && n <= SMALL_LU_MAX && count > 1;
}

static void lu_run(Ctx *ctx, DType dt, SmallJob *j, double work)
{
    BlasType t = blas_type(dt);
    const SmallTable *kernels = table();
    int64_t lanes = kernels->lanes[t], n = j->batch->count;
    j->bytes = blas_bytes(t);
    __builtin_memset(j->done, 0, (size_t)n);
    work *= (double)n * (blas_is_complex(t) ? 4 : 1);
    int64_t grain = (int64_t)((double)n * SPLIT_WORK / 4 / work) / lanes * lanes + lanes;
    Split s = { kernels->lu[t], j };
    pool_for(ctx, n, work < SPLIT_WORK ? n : grain, split_worker, &s);
}

void small_solve(Ctx *ctx, DType dt, int64_t n, int64_t nrhs, Mat a, Mat b, Mat x,
                 const GemmBatch *batch, double limit, uint8_t *done)
{
    SmallJob j = { .task = SMALL_SOLVE, .n = n, .k = nrhs, .a = a, .b = b, .c = x,
                   .batch = batch, .limit = limit, .done = done };
    lu_run(ctx, dt, &j, (double)(n * n) * ((double)n / 3 + (double)nrhs));
}

void small_inverse(Ctx *ctx, DType dt, int64_t n, Mat a, Mat x, const GemmBatch *batch,
                   double limit, uint8_t *done)
{
    SmallJob j = { .task = SMALL_INVERSE, .n = n, .a = a, .c = x, .batch = batch, .limit = limit,
                   .done = done };
    lu_run(ctx, dt, &j, (double)(n * n) * (double)n * 4 / 3);
}

void small_det(Ctx *ctx, DType dt, int64_t n, Mat a, Mat x, const GemmBatch *batch, uint8_t *done)
{
    SmallJob j = { .task = SMALL_DET, .n = n, .a = a, .c = x, .batch = batch, .done = done };
    lu_run(ctx, dt, &j, (double)(n * n) * (double)n / 3);
}

bool small_product_pays(int64_t m, int64_t n, int64_t k)
{
    bool column = n == 1 && m * k > COLUMN_MOST;
    return m <= SMALL_PRODUCT_MAX && n <= SMALL_PRODUCT_MAX && k <= SMALL_PRODUCT_MAX && !column;
}

void small_product(DType dt, int64_t m, int64_t n, int64_t k, Mat a, Mat b, Mat c,
                   const GemmBatch *batch, int64_t begin, int64_t end)
{
    BlasType t = blas_type(dt);
    SmallJob j = { .m = m, .n = n, .k = k, .a = a, .b = b, .c = c, .batch = batch,
                   .bytes = blas_bytes(t) };
    GemmBatch turned;
    bool column = n == 1 && a.rs == 1 && a.cs != 1 && c.rs == 1;
    if (column || (c.cs != 1 && n > 1)) {       /* C' = B' A' lies by rows */
        j.m = n, j.n = m;
        j.a = (Mat){ b.data, b.cs, b.rs };
        j.b = (Mat){ a.data, a.cs, a.rs };
        j.c = (Mat){ c.data, c.cs, c.rs };
        if (batch) {
            turned = *batch;
            for (int d = 0; d < batch->rank; d++)
                turned.a[d] = batch->b[d], turned.b[d] = batch->a[d];
            j.batch = &turned;
        }
    }
    table()->product[t](&j, begin, end);
}
