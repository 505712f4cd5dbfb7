/* Folds of magnitudes: see norms.h. Where columns are contiguous each is folded in lanes; where
 * rows are, a strip of columns is folded row by row. Of complex types a strip of moduli is made
 * first, but for squares, which are those of the parts. */
#include "kernels/lapack/norms.h"

#include "kernels/elementwise/ew.h"
#include "kernels/gemm/gemm.h"
#include "kernels/tensor/cpu.h"

#define NORM_TABLE norm_kernels_base
#include "kernels/lapack/norms_isa.tmpl.h"

enum { STRIP = 512 };

static const NormKernel *kernel(NormFold f, BlasType real)
{
    const NormKernel (*table)[2] = norm_kernels_base;
#if defined(__x86_64__) || defined(__i386__)
    if (cpu_isa() >= ISA_AVX2)
        table = cpu_isa() == ISA_AVX512 ? norm_kernels_avx512 : norm_kernels_avx2;
#endif
    return &table[f][real == BLAS_D];
}

double norms_fold_two(NormFold f, double x, double y) { return norms_two(f, x, y); }

static BlasType real_of(BlasType t) { return t == BLAS_C || t == BLAS_S ? BLAS_S : BLAS_D; }

static double magnitude(BlasType t, const char *data, int64_t i)
{
    return fabs(t == BLAS_S ? (double)((const float *)(const void *)data)[i]
                            : ((const double *)(const void *)data)[i]);
}

/* The moduli of n elements, STRIP at most: as doubles, or floats of a c64. */
static const char *moduli(BlasType t, int64_t n, const char *x, int64_t step, double *to)
{
    EwFn modulus = ew_kernel(EW_ABS, t == BLAS_C ? DT_C64 : DT_C128);
    modulus(to, 1, (const void *[]){ x }, &step, n);
    return (const char *)to;
}

static double fold_line(BlasType t, NormFold f, int64_t n, const char *x, int64_t step)
{
    BlasType real = real_of(t);
    double acc = norms_start(f), size[STRIP];
    if (f == FOLD_SQUARES && step == 1)
        return gemm_squares(real == BLAS_S ? DT_F32 : DT_F64, real == t ? n : 2 * n, x);
    if (real == t)
        return kernel(f, t)->line(n, x, step);
    for (int64_t i = 0; i < n; i += STRIP) {
        int64_t count = n - i < STRIP ? n - i : STRIP;
        const char *strip = moduli(t, count, x + i * step * (int64_t)blas_bytes(t), step, size);
        acc = norms_two(f, acc, kernel(f, real)->line(count, strip, 1));
    }
    return acc;
}

/* Folds rows of `wide` complex elements into as many results. */
static void fold_pairs(BlasType t, NormFold f, int64_t rows, int64_t wide, const char *x,
                       int64_t rs, double *acc)
{
    double size[STRIP];
    BlasType real = real_of(t);
    for (int64_t i = 0; i < rows; i++, x += rs * (int64_t)blas_bytes(t)) {
        if (f != FOLD_SQUARES) {
            kernel(f, real)->rows(1, wide, moduli(t, wide, x, 1, size), 0, acc);
            continue;
        }
        for (int64_t k = 0; k < wide; k++)
            acc[k] = norms_one(f, norms_one(f, acc[k], magnitude(real, x, 2 * k)),
                               magnitude(real, x, 2 * k + 1));
    }
}

void norms_fold_columns(BlasType t, NormFold f, int64_t rows, int64_t cols, Mat a, double *out)
{
    int64_t bytes = (int64_t)blas_bytes(t);
    if (a.cs != 1 || a.rs == 1) {
        for (int64_t j = 0; j < cols; j++)
            out[j] = fold_line(t, f, rows, a.data + j * a.cs * bytes, a.rs);
        return;
    }
    for (int64_t j = 0; j < cols; j += STRIP) {
        int64_t wide = cols - j < STRIP ? cols - j : STRIP;
        for (int64_t k = 0; k < wide; k++)
            out[j + k] = norms_start(f);
        if (real_of(t) == t)
            kernel(f, t)->rows(rows, wide, a.data + j * bytes, a.rs, out + j);
        else
            fold_pairs(t, f, rows, wide, a.data + j * bytes, a.rs, out + j);
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
    double best = norms_start(f), sums[STRIP];
    for (int64_t j = 0; j < cols; j += STRIP) {
        int64_t wide = cols - j < STRIP ? cols - j : STRIP;
        Mat strip = { a.data + j * a.cs * (int64_t)blas_bytes(t), a.rs, a.cs };
        if (!strip_sums(t, rows, wide, strip, stop, sums))
            return NAN;
        for (int64_t k = 0; k < wide; k++)
            best = norms_one(f, best, sums[k]);
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
