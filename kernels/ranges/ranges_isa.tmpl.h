/* Loops over numbers and grids for one instruction set, in both dtypes. Includes itself: from
 * ranges_base.c, ranges_avx2.c and ranges_avx512.c with RANGE_TABLE, the table that it defines. */
#ifndef T
#include "kernels/ranges/ranges_isa.h"

#include <math.h>

enum { LANES = 16 };            /* always so many, so that sums are the same everywhere */

#define T float
#define NEAREST 12582912.0f     /* 1.5 * 2^23: what is added to it is rounded to a whole number */
#define NAME(f) f##_f32
#include "kernels/ranges/ranges_isa.tmpl.h"
#define T double
#define NEAREST 6755399441055744.0      /* 1.5 * 2^52 */
#define NAME(f) f##_f64
#include "kernels/ranges/ranges_isa.tmpl.h"

const RangeTable RANGE_TABLE = {
    .f32 = { extremes_f32, columns_f32, codes_f32, codes_row_f32, rounded_f32,
             scale_f32, error_f32 },
    .f64 = { extremes_f64, columns_f64, codes_f64, codes_row_f64, rounded_f64,
             scale_f64, error_f64 },
};

#else

static bool NAME(extremes)(const void *data, int64_t n, double *low, double *high)
{
    const T *x = data;
    T least[LANES], most[LANES];
    int bad[LANES] = { 0 };
    int64_t i = 0;
    for (int k = 0; k < LANES; k++)
        least[k] = most[k] = x[0];
    for (; i + LANES <= n; i += LANES)
        for (int k = 0; k < LANES; k++) {
            T v = x[i + k];
            least[k] = v < least[k] ? v : least[k];
            most[k] = v > most[k] ? v : most[k];
            bad[k] |= !(v - v == 0);
        }
    for (; i < n; i++) {
        least[0] = x[i] < least[0] ? x[i] : least[0];
        most[0] = x[i] > most[0] ? x[i] : most[0];
        bad[0] |= !(x[i] - x[i] == 0);
    }
    int any = 0;
    for (int k = 0; k < LANES; k++) {
        least[0] = least[k] < least[0] ? least[k] : least[0];
        most[0] = most[k] > most[0] ? most[k] : most[0];
        any |= bad[k];
    }
    *low = (double)least[0];
    *high = (double)most[0];
    return !any;
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
#endif
