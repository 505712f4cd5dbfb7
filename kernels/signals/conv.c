/* Convolution behind conv.h: cuts results into blocks, shares them among threads, and sums
 * each by the loops of conv_isa.tmpl.h. Integers whose sums might leave 64 bits are summed
 * in 128 here. */
#include "kernels/signals/conv.h"
#include "core/memory/pool.h"
#include "kernels/tensor/cpu.h"
#include "kernels/gemm/gemm.h"

#include <math.h>
#include <stdatomic.h>
#include <string.h>

static int kind_of(DType dt)
{
    switch (dt) {
    case DT_F32: return CONV_F32;
    case DT_F64: return CONV_F64;
    case DT_C64: return CONV_C64;
    case DT_C128: return CONV_C128;
    default: return CONV_I64;
    }
}

static const ConvRow *row_table(void)
{
#if defined(__x86_64__) || defined(__i386__)
    switch (cpu_isa()) {
    case ISA_AVX512: return conv_avx512;
    case ISA_AVX2: return conv_avx2;
    default: break;
    }
#endif
    return conv_base;
}

static int64_t block_width(int64_t bytes)
{
#if defined(__x86_64__) || defined(__i386__)
    CpuIsa isa = cpu_isa();
    return (isa == ISA_AVX512 ? 256 : isa == ISA_AVX2 ? 128 : 64) / bytes;
#else
    return 64 / bytes;
#endif
}

typedef struct Run {
    const ConvJob *job;
    ConvRow add;
    int64_t bytes, width, blocks;        /* blocks per row of the result */
    InterruptFlag *interrupt;
    atomic_bool bad;
} Run;

/* Rows p of b that meet a row of a in row i of the result. */
static void rows_meeting(const ConvJob *job, int64_t i, int64_t *from, int64_t *to)
{
    *from = i - job->rows + 1 > 0 ? i - job->rows + 1 : 0;
    *to = i + 1 < job->b_rows ? i + 1 : job->b_rows;
}

static void run_block(const Run *run, int64_t row, int64_t first, int64_t width)
{
    const ConvJob *job = run->job;
    char *acc = job->out + (row * job->out_n + first) * run->bytes;
    int64_t from, to;
    memset(acc, 0, (size_t)(width * run->bytes));
    rows_meeting(job, job->row + row, &from, &to);
    for (int64_t p = from; p < to; p++)
        run->add(acc, job->col + first, width, job->a + (job->row + row - p) * job->n * run->bytes,
                 job->n, job->b + p * job->m * run->bytes, job->m);
}

/* One number, summed in 128 bits. */
static bool wide_sum(const ConvJob *job, int64_t row, int64_t at, int64_t *out)
{
    int64_t from, to, i = job->col + at;
    int64_t first = i - job->n + 1 > 0 ? i - job->n + 1 : 0, last = i + 1 < job->m ? i + 1 : job->m;
    __int128 sum = 0;
    rows_meeting(job, job->row + row, &from, &to);
    for (int64_t p = from; p < to; p++) {
        const int64_t *a = (const int64_t *)job->a + (job->row + row - p) * job->n;
        const int64_t *b = (const int64_t *)job->b + p * job->m;
        for (int64_t j = first; j < last; j++)
            sum += (__int128)b[j] * a[i - j];
    }
    *out = (int64_t)sum;
    return sum == *out;
}

static void run_blocks(void *arg, int64_t begin, int64_t end, int worker)
{
    Run *run = arg;
    const ConvJob *job = run->job;
    (void)worker;
    for (int64_t unit = begin; unit < end && !*run->interrupt; unit++) {
        int64_t row = unit / run->blocks, first = unit % run->blocks * run->width;
        int64_t width = job->out_n - first < run->width ? job->out_n - first : run->width;
        if (!job->wide) {
            run_block(run, row, first, width);
            continue;
        }
        for (int64_t k = first; k < first + width; k++)
            if (!wide_sum(job, row, k, (int64_t *)job->out + row * job->out_n + k))
                atomic_store(&run->bad, true);
    }
}

bool conv_direct(Ctx *ctx, const ConvJob *job)
{
    int64_t bytes = dtype_info(job->dt)->bytes;
    Run run = { .job = job,
                .add = row_table()[kind_of(job->dt)],
                .bytes = bytes,
                .width = block_width(bytes),
                .interrupt = ctx->interrupt };
    run.blocks = (job->out_n + run.width - 1) / run.width;
    int64_t shorter = job->m < job->n ? job->m : job->n,
            lower = job->rows < job->b_rows ? job->rows : job->b_rows;
    double work = (double)run.width * (double)shorter * (double)lower;
    double grain = work < 1 << 16 ? (1 << 16) / work + 1 : 1;
    if (work * (double)run.blocks * (double)job->out_rows < 1 << 17)
        run_blocks(&run, 0, run.blocks * job->out_rows, 0);
    else
        pool_for(ctx, run.blocks * job->out_rows, (int64_t)grain, run_blocks, &run);
    return !atomic_load(&run.bad);
}

/* ---- how to sum integers ---- */

double conv_i64_bound(const int64_t *a, int64_t n, const int64_t *b, int64_t m)
{
    double sum = 0;
    for (int64_t i = 0; i < m; i++)
        sum += fabs((double)b[i]);
    return (double)gemm_i64_magnitude(a, n) * sum * (1 + 0x1p-40);
}

double conv_magnitude(DType dt, const void *x, int64_t n)
{
    bool pairs = dtype_info(dt)->kind == 'c', single = dt == DT_F32 || dt == DT_C64;
    double most = 0;
    for (int64_t i = 0; i < (pairs ? 2 * n : n); i++) {
        double v = fabs(single ? (double)((const float *)x)[i] : ((const double *)x)[i]);
        if (!(v <= most))
            most = v == v ? v : (double)INFINITY;
    }
    return most;
}

/* ---- beside the Fourier transforms ---- */

typedef struct Product {
    void *z;
    const void *w;
    int64_t n;
    bool single;
} Product;

#define REAL double
#define NAME(f) f##_f64
#include "kernels/signals/conv_spectrum.tmpl.h"
#define REAL float
#define NAME(f) f##_f32
#include "kernels/signals/conv_spectrum.tmpl.h"

static void multiply_rows(void *arg, int64_t begin, int64_t end, int worker)
{
    const Product *p = arg;
    (void)worker;
    for (int64_t r = begin; r < end; r++) {
        if (p->single)
            multiply_f32((float *)p->z + 2 * r * p->n, p->w, p->n);
        else
            multiply_f64((double *)p->z + 2 * r * p->n, p->w, p->n);
    }
}

void conv_multiply(Ctx *ctx, DType dt, void *z, const void *w, int64_t rows, int64_t n)
{
    Product p = { .z = z, .w = w, .n = n, .single = dt == DT_C64 };
    pool_for(ctx, rows, (1 << 14) / (n + 1) + 1, multiply_rows, &p);
}

void conv_add(DType dt, void *out, const void *x, int64_t n)
{
    int64_t reals = dtype_info(dt)->kind == 'c' ? 2 * n : n;
    if (dt == DT_F32 || dt == DT_C64)
        for (int64_t i = 0; i < reals; i++)
            ((float *)out)[i] += ((const float *)x)[i];
    else
        for (int64_t i = 0; i < reals; i++)
            ((double *)out)[i] += ((const double *)x)[i];
}
