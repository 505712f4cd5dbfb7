/* The sums of products that BLAS is not asked for: 64-bit integer products (wrapping, as tensor
 * integers do), inner products of vectors and the scaled Euclidean norm. Must not raise or
 * allocate. Interface in gemm.h. */
#include "kernels/gemm/gemm.h"
#include "kernels/gemm/sums.h"
#include "kernels/semiring/semiring.h"
#include "kernels/tensor/cpu.h"

#include <float.h>
#include <math.h>

enum { LANES = 8 };

void gemm_i64(Ctx *ctx, int64_t m, int64_t n, int64_t k, Mat a, Mat b, Mat c)
{
    semiring_gemm(ctx, SR_PLUS_TIMES, DT_I64, m, n, k, a, b, c, false);
}

uint64_t gemm_i64_magnitude(const int64_t *x, int64_t n)
{
    uint64_t bits = 0;
    /* The bitwise or of all magnitudes is below twice the largest: good enough. */
    for (int64_t i = 0; i < n; i++) {
        uint64_t sign = (uint64_t)(x[i] >> 63);
        bits |= ((uint64_t)x[i] ^ sign) - sign;
    }
    return bits;
}

static const SumKernels *sums_here(void)
{
#if defined(__x86_64__) || defined(__i386__)
    if (cpu_isa() == ISA_AVX512)
        return &sums_avx512;
    if (cpu_isa() == ISA_AVX2)
        return &sums_avx2;
#endif
    return &sums_base;
}

#define T float
#define FN(name) name##_f32
#include "kernels/gemm/gemm_dot.tmpl.h"
#define T double
#define FN(name) name##_f64
#include "kernels/gemm/gemm_dot.tmpl.h"

static int64_t dot_i64(int64_t n, const int64_t *x, int64_t sx, const int64_t *y, int64_t sy)
{
    uint64_t sum = 0;
    for (int64_t i = 0; i < n; i++)
        sum += (uint64_t)x[i * sx] * (uint64_t)y[i * sy];
    return (int64_t)sum;
}

void gemm_dot(DType dt, int64_t n, const void *x, int64_t sx, const void *y, int64_t sy,
              bool conjugate, void *out)
{
    switch (dt) {
    case DT_F32: *(float *)out = dot_f32(n, x, sx, y, sy); break;
    case DT_F64: *(double *)out = dot_f64(n, x, sx, y, sy); break;
    case DT_C64: complex_dot_f32(n, x, sx, y, sy, conjugate, out); break;
    case DT_C128: complex_dot_f64(n, x, sx, y, sy, conjugate, out); break;
    default: *(int64_t *)out = dot_i64(n, x, sx, y, sy); break;
    }
}

void gemm_dot_add(DType dt, void *sum, const void *more)
{
    int parts = dtype_info(dt)->kind == 'c' ? 2 : 1;
    for (int p = 0; p < parts; p++)
        if (dt == DT_F32 || dt == DT_C64)
            ((float *)sum)[p] += ((const float *)more)[p];
        else if (dt == DT_F64 || dt == DT_C128)
            ((double *)sum)[p] += ((const double *)more)[p];
        else
            ((uint64_t *)sum)[p] += ((const uint64_t *)more)[p];
}

double gemm_squares(DType dt, int64_t n, const void *x)
{
    switch (dt) {
    case DT_F32: return sums_here()->squares_f32(n, x);
    case DT_C64: return sums_here()->squares_f32(2 * n, x);
    case DT_F64: return sums_here()->squares_f64(n, x);
    default: return sums_here()->squares_f64(2 * n, x);
    }
}

/* Sum of squares in f64: exact enough for f32 and c64, whose squares cannot overflow it. */
static double squares_f32(int64_t n, const float *x, int64_t stride, int parts)
{
    double sum = 0;
    if (stride == 1)
        return gemm_squares(DT_F32, n * parts, x);
    for (int64_t i = 0; i < n; i++)
        for (int p = 0; p < parts; p++) {
            double v = x[i * stride * parts + p];
            sum += v * v;
        }
    return sum;
}

static double squares_f64(int64_t n, const double *x, int64_t stride, int parts, double scale)
{
    double lane[LANES] = { 0 }, sum = 0;
    int64_t i = 0, total = n * parts;
    if (stride == 1 && scale == 1)
        return gemm_squares(DT_F64, total, x);
    if (stride == 1) {
        for (; i + LANES <= total; i += LANES)
            for (int l = 0; l < LANES; l++)
                lane[l] += (x[i + l] * scale) * (x[i + l] * scale);
        for (; i < total; i++)
            sum += (x[i] * scale) * (x[i] * scale);
    } else {
        for (; i < n; i++)
            for (int p = 0; p < parts; p++) {
                double v = x[i * stride * parts + p] * scale;
                sum += v * v;
            }
    }
    return (((lane[0] + lane[4]) + (lane[1] + lane[5])) +
            ((lane[2] + lane[6]) + (lane[3] + lane[7]))) + sum;
}

static double largest_f64(int64_t n, const double *x, int64_t stride, int parts)
{
    double top = 0;
    for (int64_t i = 0; i < n; i++)
        for (int p = 0; p < parts; p++) {
            double v = fabs(x[i * stride * parts + p]);
            if (v > top || isnan(v))
                top = v;
            if (isnan(v))
                return v;
        }
    return top;
}

/* One pass is enough unless the squares left the range of doubles; then a second one on
 * elements scaled by a power of two (Blue's idea, without his three accumulators). */
static double norm_f64(int64_t n, const double *x, int64_t stride, int parts)
{
    double sum = squares_f64(n, x, stride, parts, 1.0);
    if (sum > 1e-280 && sum < 1e300)
        return sqrt(sum);
    double top = largest_f64(n, x, stride, parts);
    if (top == 0 || !isfinite(top))
        return top;
    int exponent = ilogb(top);
    if (exponent < -1020)               /* 2^1022 is the largest safe scale in one step */
        return sqrt(squares_f64(n, x, stride, parts, 0x1p1020)) * 0x1p-1020;
    return scalbn(sqrt(squares_f64(n, x, stride, parts, scalbn(1.0, -exponent))), exponent);
}

double gemm_norm2(DType dt, int64_t n, const void *x, int64_t stride)
{
    switch (dt) {
    case DT_F32: return sqrt(squares_f32(n, x, stride, 1));
    case DT_C64: return sqrt(squares_f32(n, x, stride, 2));
    case DT_F64: return norm_f64(n, x, stride, 1);
    default: return norm_f64(n, x, stride, 2);
    }
}
