/* Comparisons of whole tensors: see compare.h. Blocks are cut by length alone, and joined
 * in order. */
#include "kernels/axis/compare.h"
#include "core/memory/pool.h"
#include "kernels/cast/tensor_cast.h"
#include "kernels/rational/rational.h"

#include <math.h>
#include <string.h>

typedef struct Job {
    const ComparePair *pair;
    double rtol, atol;
    bool equal_nan;
    uint8_t *out;
    double *partial;
} Job;

static void each_part(void *arg, int64_t begin, int64_t end, int worker)
{
    const Job *job = arg;
    const double *a = job->pair->a, *b = job->pair->b;
    int64_t sa = job->pair->step_a, sb = job->pair->step_b;
    double rtol = job->rtol, atol = job->atol, most = (double)INFINITY;
    (void)worker;
    for (int64_t i = begin; i < end; i++) {
        double x = a[i * sa], y = b[i * sb];
        bool near = (fabs(x - y) <= atol + rtol * fabs(y)) & (fabs(x) < most) & (fabs(y) < most);
        job->out[i] = near | (x == y) | (job->equal_nan & (x != x) & (y != y));
    }
}

void compare_each(Ctx *ctx, const ComparePair *pair, double rtol, double atol, bool equal_nan,
                  uint8_t *out)
{
    Job job = { .pair = pair, .rtol = rtol, .atol = atol, .equal_nan = equal_nan, .out = out };
    pool_for(ctx, pair->n, 1 << 15, each_part, &job);
}

static void squares_part(void *arg, int64_t begin, int64_t end, int worker)
{
    const Job *job = arg;
    const ComparePair *p = job->pair;
    (void)worker;
    for (int64_t block = begin; block < end; block++) {
        int64_t from = block * COMPARE_BLOCK,
                to = from + COMPARE_BLOCK < p->n ? from + COMPARE_BLOCK : p->n;
        double sum[3][8] = { 0 };
        for (int64_t i = from; i < to; i += 8) {
            int lanes = to - i < 8 ? (int)(to - i) : 8;
            for (int k = 0; k < lanes; k++) {
                double x = p->a[(i + k) * p->step_a], y = p->b[(i + k) * p->step_b], d = x - y;
                sum[0][k] += x * x;
                sum[1][k] += y * y;
                sum[2][k] += d * d;
            }
        }
        for (int s = 0; s < 3; s++) {
            double total = 0;
            for (int k = 0; k < 8; k++)
                total += sum[s][k];
            job->partial[3 * block + s] = total;
        }
    }
}

void compare_squares(Ctx *ctx, const ComparePair *pair, double *partial, double sums[3])
{
    Job job = { .pair = pair, .partial = partial };
    int64_t blocks = (pair->n + COMPARE_BLOCK - 1) / COMPARE_BLOCK;
    pool_for(ctx, blocks, 2, squares_part, &job);
    memset(sums, 0, 3 * sizeof *sums);
    for (int64_t i = 0; i < blocks; i++)
        for (int s = 0; s < 3; s++)
            sums[s] += partial[3 * i + s];
}

/* ---- nonzero ---- */

#define T uint8_t
#define NAME(f) f##_8
#define DROP 0
#include "kernels/axis/compare_nonzero.tmpl.h"
#define T uint16_t
#define NAME(f) f##_f16
#define DROP 1
#include "kernels/axis/compare_nonzero.tmpl.h"
#define T uint32_t
#define NAME(f) f##_32
#define DROP 0
#include "kernels/axis/compare_nonzero.tmpl.h"
#define T uint32_t
#define NAME(f) f##_f32
#define DROP 1
#include "kernels/axis/compare_nonzero.tmpl.h"
#define T uint64_t
#define NAME(f) f##_64
#define DROP 0
#include "kernels/axis/compare_nonzero.tmpl.h"
#define T uint64_t
#define NAME(f) f##_f64
#define DROP 1
#include "kernels/axis/compare_nonzero.tmpl.h"

static int64_t nonzero_rational(const Rational *x, int64_t n, int64_t *positions)
{
    int64_t found = 0;
    for (int64_t i = 0; i < n; i++) {
        if (rational_sign(x[i]) == 0)
            continue;
        if (positions)
            positions[found] = i;
        found++;
    }
    return found;
}

static int64_t nonzero_complex(DType dt, const void *x, int64_t n, int64_t *positions)
{
    int64_t found = 0;
    for (int64_t i = 0; i < n; i++) {
        double _Complex z = element_c128(dt, (const char *)x + i * dtype_info(dt)->bytes);
        if (z == 0)
            continue;
        if (positions)
            positions[found] = i;
        found++;
    }
    return found;
}

int64_t compare_nonzero(DType dt, const void *x, int64_t n, int64_t *positions)
{
    const DTypeInfo *d = dtype_info(dt);
    if (dtype_half(dt))
        return nonzero_f16(x, n, positions);
    if (d->kind == 'i' || d->kind == 'b')
        return d->bytes == 1   ? nonzero_8(x, n, positions)
               : d->bytes == 4 ? nonzero_32(x, n, positions)
                               : nonzero_64(x, n, positions);
    switch (dt) {
    case DT_F32: return nonzero_f32(x, n, positions);
    case DT_F64: return nonzero_f64(x, n, positions);
    case DT_RATIONAL: return nonzero_rational(x, n, positions);
    default: return nonzero_complex(dt, x, n, positions);
    }
}
