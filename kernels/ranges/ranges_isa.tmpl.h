/* Loops over numbers and grids for one instruction set, in both dtypes. Includes itself: from
 * ranges_base.c, ranges_avx2.c and ranges_avx512.c with RANGE_TABLE, the table that it defines. */
#ifndef T
#include "kernels/ranges/ranges_isa.h"

#include <math.h>

enum { LANES = 16 };            /* always so many, so that sums are the same everywhere */

/* Four rows of the matrix at once, so that sums are read and written a quarter as often. */
static void few(const int8_t *a, const int8_t *b, int64_t step, int64_t k, int64_t n,
                int32_t *restrict sum)
{
    for (int64_t j = 0; j < n; j++)
        sum[j] = 0;
    for (; k > 0; k -= 4, a += 4, b += 4 * step) {
        int32_t x0 = a[0], x1 = k > 1 ? a[1] : 0, x2 = k > 2 ? a[2] : 0, x3 = k > 3 ? a[3] : 0;
        const int8_t *b1 = k > 1 ? b + step : b, *b2 = k > 2 ? b1 + step : b,
                     *b3 = k > 3 ? b2 + step : b;
        for (int64_t j = 0; j < n; j++)
            sum[j] += x0 * b[j] + x1 * b1[j] + x2 * b2[j] + x3 * b3[j];
    }
}

#define T float
#define NEAREST 12582912.0f     /* 1.5 * 2^23: what is added to it is rounded to a whole number */
#define NAME(f) f##_f32
#define WHOLE int32_t           /* holds sums that are exact in T, and is soon made one */
#include "kernels/ranges/ranges_isa.tmpl.h"
#define T double
#define NEAREST 6755399441055744.0      /* 1.5 * 2^52 */
#define NAME(f) f##_f64
#define WHOLE int64_t
#include "kernels/ranges/ranges_isa.tmpl.h"

const RangeTable RANGE_TABLE = {
    .few = few,
    .f32 = { extremes_f32, columns_f32, codes_f32, codes_row_f32, rounded_f32,
             scale_f32, sums_f32, error_f32 },
    .f64 = { extremes_f64, columns_f64, codes_f64, codes_row_f64, rounded_f64,
             scale_f64, sums_f64, error_f64 },
};

#else

static bool NAME(extremes)(const void *data, int64_t n, double *low, double *high)
{
    const T *x = data;
    T least[LANES], most[LANES], bad[LANES];    /* bad: no number where one was infinite or none */
    int64_t i = 0;
    for (int k = 0; k < LANES; k++) {
        least[k] = most[k] = x[0];
        bad[k] = 0;
    }
    for (; i + LANES <= n; i += LANES)
_Pragma("GCC unroll 1")             /* unrolled, it is no loop that could be one of vectors */
        for (int k = 0; k < LANES; k++) {
            T v = x[i + k];
            least[k] = v < least[k] ? v : least[k];
            most[k] = v > most[k] ? v : most[k];
            bad[k] += v - v;
        }
    for (; i < n; i++) {
        least[0] = x[i] < least[0] ? x[i] : least[0];
        most[0] = x[i] > most[0] ? x[i] : most[0];
        bad[0] += x[i] - x[i];
    }
    for (int k = 1; k < LANES; k++) {
        least[0] = least[k] < least[0] ? least[k] : least[0];
        most[0] = most[k] > most[0] ? most[k] : most[0];
        bad[0] += bad[k];
    }
    *low = (double)least[0];
    *high = (double)most[0];
    return bad[0] == 0;
}

static bool NAME(columns)(const void *data, int64_t n, int64_t m, void *low, void *high)
{
    const T *x = data;
    T *least = low, *most = high;
    int bad = 0;
    for (int64_t j = 0; j < m; j++)
        least[j] = most[j] = x[j];
    for (int64_t i = 0; i < n; i++, x += m)
        for (int64_t j = 0; j < m; j++) {
            T v = x[j];
            least[j] = v < least[j] ? v : least[j];
            most[j] = v > most[j] ? v : most[j];
            bad |= !(v - v == 0);
        }
    return !bad;
}

/* Clamped before it is rounded: the ends are whole numbers, so that is the same, and the sum with
 * NEAREST is always exact to half a code. */
static inline T NAME(code)(T x, T scale, T low, T high)
{
    T v = x / scale;
    v = v < low ? low : v;
    v = v > high ? high : v;
    return (v + (T)NEAREST) - (T)NEAREST;
}

static void NAME(codes)(const void *data, int64_t n, const Grid *g, uint8_t *restrict q)
{
    const T *restrict x = data;
    T scale = (T)g->scale, low = (T)(g->low - g->zero), high = (T)(g->high - g->zero);
    int zero = g->zero;
    for (int64_t i = 0; i < n; i++)
        q[i] = (uint8_t)((int)NAME(code)(x[i], scale, low, high) + zero);
}

static void NAME(codes_row)(const void *data, int64_t m, const void *grids, uint8_t *restrict q)
{
    const T *restrict x = data;
    const T *restrict scale = grids, *restrict zero = scale + m, *restrict low = zero + m,
            *restrict high = low + m;
    for (int64_t j = 0; j < m; j++)
        q[j] = (uint8_t)(int)(NAME(code)(x[j], scale[j], low[j], high[j]) + zero[j]);
}

static void NAME(rounded)(const void *data, int64_t n, const Grid *g, void *out)
{
    const T *restrict x = data;
    T *restrict to = out;
    T scale = (T)g->scale, low = (T)(g->low - g->zero), high = (T)(g->high - g->zero);
    for (int64_t i = 0; i < n; i++)
        to[i] = NAME(code)(x[i], scale, low, high);
}

static void NAME(scale)(void *data, int64_t rows, int64_t n, const void *by, const void *more,
                        bool relu)
{
    T *restrict x = data;
    const T *restrict scales = by, *restrict bias = more;
    T least = relu ? 0 : (T)-INFINITY;
    for (int64_t i = 0; i < rows; i++, x += n)
        for (int64_t j = 0; j < n; j++) {
            T y = x[j] * scales[j] + bias[j];
            x[j] = y < least ? least : y;
        }
}

static void NAME(sums)(const int64_t *restrict sums, int64_t rows, int64_t n,
                       const int64_t *restrict less, const void *by, const void *more, bool relu,
                       void *out)
{
    T *restrict to = out;
    const T *restrict scales = by, *restrict bias = more;
    T least = relu ? 0 : (T)-INFINITY;
    for (int64_t i = 0; i < rows; i++, sums += n, to += n)
        for (int64_t j = 0; j < n; j++) {
            T y = (T)(WHOLE)(sums[j] - less[j]) * scales[j] + bias[j];
            to[j] = y < least ? least : y;
        }
}

static double NAME(error)(const void *data, int64_t n, const Grid *g)
{
    const T *x = data;
    T scale = (T)g->scale, low = (T)(g->low - g->zero), high = (T)(g->high - g->zero);
    double sum[LANES] = { 0 };
    int64_t i = 0;
    for (; i + LANES <= n; i += LANES)
        for (int k = 0; k < LANES; k++) {
            double e = (double)(x[i + k] - NAME(code)(x[i + k], scale, low, high) * scale);
            sum[k] += e * e;
        }
    for (; i < n; i++) {
        double e = (double)(x[i] - NAME(code)(x[i], scale, low, high) * scale);
        sum[0] += e * e;
    }
    for (int k = 1; k < LANES; k++)
        sum[0] += sum[k];
    return sum[0];
}

#undef T
#undef NEAREST
#undef NAME
#undef WHOLE
#endif
