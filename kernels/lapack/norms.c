/* Folds of magnitudes: see norms.h. Where columns are contiguous each is folded in eight
 * lanes; where rows are, a strip of columns is folded row by row. Real types get loops of
 * their own from constants passed to inlined functions; of complex ones a strip of moduli is made
 * first, but for squares, which are those of the parts. */
#include "kernels/lapack/norms.h"

#include "kernels/elementwise/ew.h"
#include "kernels/gemm/gemm.h"

#include <math.h>

enum { STRIP = 512, LANES = 8 };

#define INLINE static inline __attribute__((always_inline))

INLINE double fold_one(NormFold f, double acc, double v)
{
    switch (f) {
    case FOLD_SUM: return acc + v;
    case FOLD_SQUARES: return acc + v * v;
    case FOLD_MAX: return ((v > acc) | (v != v)) ? v : acc;
    case FOLD_MIN: return ((v < acc) | (v != v)) ? v : acc;
    default: return acc + (v != 0);
    }
}

/* Two partial results of the same column. */
INLINE double fold_two(NormFold f, double x, double y)
{
    return f == FOLD_MAX || f == FOLD_MIN ? fold_one(f, x, y) : x + y;
}

double norms_fold_two(NormFold f, double x, double y) { return fold_two(f, x, y); }

INLINE double magnitude(BlasType t, const char *data, int64_t i)
{
    return fabs(t == BLAS_S ? (double)((const float *)(const void *)data)[i]
                            : ((const double *)(const void *)data)[i]);
}

INLINE double fold_real(BlasType t, NormFold f, int64_t n, const char *x, int64_t step)
{
    double start = f == FOLD_MIN ? INFINITY : 0, lane[LANES];
    int64_t i = 0;
    for (int k = 0; k < LANES; k++)
        lane[k] = start;
    if (step == 1)
        for (; i + LANES <= n; i += LANES)
            for (int k = 0; k < LANES; k++)
                lane[k] = fold_one(f, lane[k], magnitude(t, x, i + k));
    for (; i < n; i++)
        lane[0] = fold_one(f, lane[0], magnitude(t, x, i * step));
    for (int half = LANES / 2; half; half /= 2)
        for (int k = 0; k < half; k++)
            lane[k] = fold_two(f, lane[k], lane[k + half]);
    return lane[0];
}

/* The moduli of n elements, STRIP at most: as doubles, or floats of a c64. */
static const char *moduli(BlasType t, int64_t n, const char *x, int64_t step, double *to)
{
    EwFn modulus = ew_kernel(EW_ABS, t == BLAS_C ? DT_C64 : DT_C128);
    modulus(to, 1, (const void *[]){ x }, &step, n);
    return (const char *)to;
}

INLINE double fold_line(BlasType t, NormFold f, int64_t n, const char *x, int64_t step)
{
    BlasType real = t == BLAS_C || t == BLAS_S ? BLAS_S : BLAS_D;
    double acc = f == FOLD_MIN ? INFINITY : 0, size[STRIP];
    if (f == FOLD_SQUARES && step == 1)
        return gemm_squares(real == BLAS_S ? DT_F32 : DT_F64, real == t ? n : 2 * n, x);
    if (t == BLAS_S || t == BLAS_D)
        return fold_real(real, f, n, x, step);
    for (int64_t i = 0; i < n; i += STRIP) {
        int64_t count = n - i < STRIP ? n - i : STRIP;
        const char *strip = moduli(t, count, x + i * step * (int64_t)blas_bytes(t), step, size);
        acc = fold_two(f, acc, fold_real(real, f, count, strip, 1));
    }
    return acc;
}

/* Folds a row of `wide` elements into as many results. */
INLINE void fold_row(BlasType t, NormFold f, int64_t wide, const char *x, double *acc)
{
    double size[STRIP];
    bool pairs = t == BLAS_C || t == BLAS_Z;
    BlasType real = t == BLAS_C || t == BLAS_S ? BLAS_S : BLAS_D;
    if (pairs && f == FOLD_SQUARES) {
        for (int64_t k = 0; k < wide; k++)
            acc[k] = fold_one(f, fold_one(f, acc[k], magnitude(real, x, 2 * k)),
                              magnitude(real, x, 2 * k + 1));
        return;
    }
    if (pairs)
        x = moduli(t, wide, x, 1, size);
    for (int64_t k = 0; k < wide; k++)
        acc[k] = fold_one(f, acc[k], magnitude(real, x, k));
}

/* Eight rows of real numbers, the elements of a column in order. */
INLINE void fold_rows(BlasType t, NormFold f, int64_t wide, const char *x, int64_t rs, double *acc)
{
    int64_t step = rs * (int64_t)blas_bytes(t);
    const char *y = x + step, *z = y + step, *w = z + step;
    const char *x4 = w + step, *y4 = x4 + step, *z4 = y4 + step, *w4 = z4 + step;
    for (int64_t k = 0; k < wide; k++) {
        double a = fold_one(f, acc[k], magnitude(t, x, k));
        a = fold_one(f, a, magnitude(t, y, k));
        a = fold_one(f, a, magnitude(t, z, k));
        a = fold_one(f, a, magnitude(t, w, k));
        a = fold_one(f, a, magnitude(t, x4, k));
        a = fold_one(f, a, magnitude(t, y4, k));
        a = fold_one(f, a, magnitude(t, z4, k));
        acc[k] = fold_one(f, a, magnitude(t, w4, k));
    }
}

INLINE void fold_columns(BlasType t, NormFold f, int64_t rows, int64_t cols, Mat a, double *out)
{
    int64_t bytes = (int64_t)blas_bytes(t);
    if (a.cs != 1 || a.rs == 1) {
        for (int64_t j = 0; j < cols; j++)
            out[j] = fold_line(t, f, rows, a.data + j * a.cs * bytes, a.rs);
        return;
    }
    for (int64_t j = 0; j < cols; j += STRIP) {
        int64_t wide = cols - j < STRIP ? cols - j : STRIP;
        double acc[STRIP];
        for (int64_t k = 0; k < STRIP; k++)
            acc[k] = f == FOLD_MIN ? INFINITY : 0;
        int64_t i = 0;
        for (; (t == BLAS_S || t == BLAS_D) && i + 8 <= rows; i += 8)
            fold_rows(t, f, wide, a.data + (i * a.rs + j) * bytes, a.rs, acc);
        for (; i < rows; i++)
            fold_row(t, f, wide, a.data + (i * a.rs + j) * bytes, acc);
        for (int64_t k = 0; k < wide; k++)
            out[j + k] = acc[k];
    }
}

INLINE void fold_type(BlasType t, NormFold f, int64_t rows, int64_t cols, Mat a, double *out)
{
    switch (f) {
    case FOLD_SUM: fold_columns(t, FOLD_SUM, rows, cols, a, out); break;
    case FOLD_SQUARES: fold_columns(t, FOLD_SQUARES, rows, cols, a, out); break;
    case FOLD_MAX: fold_columns(t, FOLD_MAX, rows, cols, a, out); break;
    case FOLD_MIN: fold_columns(t, FOLD_MIN, rows, cols, a, out); break;
    default: fold_columns(t, FOLD_COUNT, rows, cols, a, out); break;
    }
}

void norms_fold_columns(BlasType t, NormFold f, int64_t rows, int64_t cols, Mat a, double *out)
{
    switch (t) {
    case BLAS_S: fold_type(BLAS_S, f, rows, cols, a, out); break;
    case BLAS_D: fold_type(BLAS_D, f, rows, cols, a, out); break;
    case BLAS_C: fold_type(BLAS_C, f, rows, cols, a, out); break;
    default: fold_type(BLAS_Z, f, rows, cols, a, out); break;
    }
}

/* Sums of a strip of columns, so many rows at a time. False: stopped. */
static bool strip_sums(BlasType t, int64_t rows, int64_t wide, Mat a, const InterruptFlag *stop,
                       double *sums)
{
    enum { ROWS = 1 << 20 };
    double part[STRIP];
    for (int64_t k = 0; k < wide; k++)
        sums[k] = 0;
    for (int64_t i = 0; i < rows && !*stop; i += ROWS) {
        Mat some = { a.data + i * a.rs * (int64_t)blas_bytes(t), a.rs, a.cs };
        norms_fold_columns(t, FOLD_SUM, rows - i < ROWS ? rows - i : ROWS, wide, some, part);
        for (int64_t k = 0; k < wide; k++)
            sums[k] += part[k];
    }
    return !*stop;
}

static double extreme_column(BlasType t, NormFold f, int64_t rows, int64_t cols, Mat a,
                             const InterruptFlag *stop)
{
    double best = f == FOLD_MIN ? INFINITY : 0, sums[STRIP];
    for (int64_t j = 0; j < cols; j += STRIP) {
        int64_t wide = cols - j < STRIP ? cols - j : STRIP;
        Mat strip = { a.data + j * a.cs * (int64_t)blas_bytes(t), a.rs, a.cs };
        if (!strip_sums(t, rows, wide, strip, stop, sums))
            return NAN;
        for (int64_t k = 0; k < wide; k++)
            best = fold_one(f, best, sums[k]);
    }
    return best;
}

double norms_largest_column(BlasType t, int64_t rows, int64_t cols, Mat a,
                            const InterruptFlag *stop)
{
    return extreme_column(t, FOLD_MAX, rows, cols, a, stop);
}

double norms_smallest_column(BlasType t, int64_t rows, int64_t cols, Mat a,
                             const InterruptFlag *stop)
{
    return extreme_column(t, FOLD_MIN, rows, cols, a, stop);
}
