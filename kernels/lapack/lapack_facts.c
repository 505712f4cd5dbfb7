/* What is looked at before a LAPACK routine is chosen: bandwidth, symmetry, finiteness and norms
 * of a strided matrix, and the blocked copy that brings it into LAPACK's order. Must not raise or
 * allocate. Interface in lapack.h. */
#include "kernels/lapack/lapack.h"

#include "kernels/tensor/permute.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK = 32, TURNED = 4 };    /* from TURNED lines on they are turned over in registers */

double mat_real(BlasType t, const void *data, int64_t i)
{
    switch (t) {
    case BLAS_S: return ((const float *)data)[i];
    case BLAS_D: return ((const double *)data)[i];
    case BLAS_C: return ((const float *)data)[2 * i];
    default: return ((const double *)data)[2 * i];
    }
}

static double mat_imag(BlasType t, const void *data, int64_t i)
{
    if (!blas_is_complex(t))
        return 0;
    return t == BLAS_C ? (double)((const float *)data)[2 * i + 1]
                       : ((const double *)data)[2 * i + 1];
}

double mat_abs(BlasType t, const void *data, int64_t i)
{
    double re = mat_real(t, data, i);
    return blas_is_complex(t) ? hypot(re, mat_imag(t, data, i)) : fabs(re);
}

double mat_gap(BlasType t, const void *data, int64_t p, int64_t q)
{
    double gap = mat_real(t, data, p) - mat_real(t, data, q);
    return blas_is_complex(t) ? hypot(gap, mat_imag(t, data, p) + mat_imag(t, data, q))
                              : fabs(gap);
}

void mat_store(BlasType t, void *data, int64_t i, double real, double imag)
{
    switch (t) {
    case BLAS_S: ((float *)data)[i] = (float)real; break;
    case BLAS_D: ((double *)data)[i] = real; break;
    case BLAS_C:
        ((float *)data)[2 * i] = (float)real;
        ((float *)data)[2 * i + 1] = (float)imag;
        break;
    default:
        ((double *)data)[2 * i] = real;
        ((double *)data)[2 * i + 1] = imag;
    }
}

void mat_conjugate(BlasType t, void *data, int64_t n)
{
    if (t == BLAS_C)
        for (int64_t i = 0; i < n; i++)
            ((float *)data)[2 * i + 1] = -((float *)data)[2 * i + 1];
    else if (t == BLAS_Z)
        for (int64_t i = 0; i < n; i++)
            ((double *)data)[2 * i + 1] = -((double *)data)[2 * i + 1];
}

void mat_plain_zeros(BlasType t, void *data, int64_t n)
{
    int64_t parts = blas_is_complex(t) ? 2 * n : n;
    if (t == BLAS_S || t == BLAS_C)
        for (int64_t i = 0; i < parts; i++)
            ((float *)data)[i] += 0.0f;
    else
        for (int64_t i = 0; i < parts; i++)
            ((double *)data)[i] += 0.0;
}

double mat_eps(BlasType t)
{
    return t == BLAS_S || t == BLAS_C ? (double)FLT_EPSILON : DBL_EPSILON;
}

/* One block of a copy; `bytes` is a constant in each call, so memcpy is one move. */
static inline void copy_block(size_t bytes, int64_t rows, int64_t cols, const char *from,
                              int64_t frs, int64_t fcs, char *to, int64_t trs, int64_t tcs)
{
    for (int64_t j = 0; j < cols; j++)
        for (int64_t i = 0; i < rows; i++)
            memcpy(to + (i * trs + j * tcs) * (int64_t)bytes,
                   from + (i * frs + j * fcs) * (int64_t)bytes, bytes);
}

static void copy_one(size_t bytes, int64_t rows, int64_t cols, const char *from, int64_t frs,
                     int64_t fcs, char *to, int64_t trs, int64_t tcs)
{
    switch (bytes) {
    case 4: copy_block(4, rows, cols, from, frs, fcs, to, trs, tcs); break;
    case 8: copy_block(8, rows, cols, from, frs, fcs, to, trs, tcs); break;
    default: copy_block(16, rows, cols, from, frs, fcs, to, trs, tcs); break;
    }
}

/* Lines of one side are columns of the other: strips of lines that fit the cache, turned over
 * in registers. */
static void copy_turned(int64_t bytes, int64_t rows, int64_t cols, const char *from, int64_t ld,
                        char *to, int64_t ldt)
{
    for (int64_t j = 0; j < cols; j += BLOCK)
        permute_block((int)bytes, to + j * ldt * bytes, ldt, from + j * bytes, ld, rows,
                      cols - j < BLOCK ? cols - j : BLOCK);
}

void mat_copy(size_t bytes, int64_t rows, int64_t cols, Mat from, Mat to)
{
    int64_t size = (int64_t)bytes;
    if (to.cs == 1 && from.cs == 1) {
        for (int64_t i = 0; i < rows; i++)
            memcpy(to.data + i * to.rs * size, from.data + i * from.rs * size,
                   (size_t)cols * bytes);
        return;
    }
    if (to.rs == 1 && from.rs == 1) {
        for (int64_t j = 0; j < cols; j++)
            memcpy(to.data + j * to.cs * size, from.data + j * from.cs * size,
                   (size_t)rows * bytes);
        return;
    }
    if (from.cs == 1 && to.rs == 1 && rows >= TURNED && cols >= TURNED) {
        copy_turned(size, rows, cols, from.data, from.rs, to.data, to.cs);
        return;
    }
    if (from.rs == 1 && to.cs == 1 && rows >= TURNED && cols >= TURNED) {
        copy_turned(size, cols, rows, from.data, from.cs, to.data, to.rs);
        return;
    }
    for (int64_t j = 0; j < cols; j += BLOCK)
        for (int64_t i = 0; i < rows; i += BLOCK)
            copy_one(bytes, rows - i < BLOCK ? rows - i : BLOCK, cols - j < BLOCK
                     ? cols - j : BLOCK,
                     from.data + (i * from.rs + j * from.cs) * size, from.rs, from.cs,
                     to.data + (i * to.rs + j * to.cs) * size, to.rs, to.cs);
}

/* Two blocks that are each other's mirror image; `bytes` is a constant in each call. */
static inline void turn_blocks(size_t bytes, int64_t rows, int64_t cols, char *a, char *b,
                               int64_t n, bool same)
{
    int64_t size = (int64_t)bytes;
    char t[16];
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = same ? i + 1 : 0; j < cols; j++) {
            char *p = a + (i * n + j) * size, *q = b + (j * n + i) * size;
            memcpy(t, p, bytes);
            memcpy(p, q, bytes);
            memcpy(q, t, bytes);
        }
}

void mat_turn(size_t bytes, int64_t n, void *data)
{
    int64_t size = (int64_t)bytes;
    for (int64_t i = 0; i < n; i += BLOCK)
        for (int64_t j = i; j < n; j += BLOCK) {
            char *a = (char *)data + (i * n + j) * size, *b = (char *)data + (j * n + i) * size;
            int64_t rows = n - i < BLOCK ? n - i : BLOCK, cols = n - j < BLOCK ? n - j : BLOCK;
            switch (bytes) {
            case 4: turn_blocks(4, rows, cols, a, b, n, i == j); break;
            case 8: turn_blocks(8, rows, cols, a, b, n, i == j); break;
            default: turn_blocks(16, rows, cols, a, b, n, i == j); break;
            }
        }
}

static bool is_zero(BlasType t, Mat a, int64_t i, int64_t j)
{
    int64_t at = i * a.rs + j * a.cs;
    return mat_real(t, a.data, at) == 0 && mat_imag(t, a.data, at) == 0;
}

/* Scans each row from its ends inwards only beyond the bandwidth known so far: a dense
 * matrix is recognised in its first row and last row. */
void mat_bandwidth(BlasType t, int64_t rows, int64_t cols, Mat a, int64_t *kl, int64_t *ku)
{
    *kl = *ku = 0;
    for (int64_t i = rows - 1; i >= 0; i--)
        for (int64_t j = 0; j < i - *kl && j < cols; j++)
            if (!is_zero(t, a, i, j)) {
                *kl = i - j;
                break;
            }
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = cols - 1; j > i + *ku; j--)
            if (!is_zero(t, a, i, j)) {
                *ku = j - i;
                break;
            }
}

/* Sum of the magnitudes of n elements. */
static double line_sum(BlasType t, const char *data, int64_t n, int64_t step)
{
    double sum[4] = { 0 };
    int64_t i = 0;
    if (t == BLAS_D && step == 1) {
        const double *x = (const double *)data;
        for (; i + 4 <= n; i += 4)
            for (int l = 0; l < 4; l++)
                sum[l] += fabs(x[i + l]);
    } else if (t == BLAS_S && step == 1) {
        const float *x = (const float *)data;
        for (; i + 4 <= n; i += 4)
            for (int l = 0; l < 4; l++)
                sum[l] += fabs((double)x[i + l]);
    }
    for (; i < n; i++)
        sum[0] += mat_abs(t, data, i * step);
    return (sum[0] + sum[2]) + (sum[1] + sum[3]);
}

static bool element_finite(BlasType t, Mat a, int64_t i, int64_t j)
{
    int64_t at = i * a.rs + j * a.cs;
    return isfinite(mat_real(t, a.data, at)) && isfinite(mat_imag(t, a.data, at));
}

/* The first by rows, so that what is reported does not depend on the layout. */
static bool all_finite(BlasType t, int64_t rows, int64_t cols, Mat a, int64_t *row, int64_t *col)
{
    for (*row = 0; *row < rows; ++*row)
        for (*col = 0; *col < cols; ++*col)
            if (!element_finite(t, a, *row, *col))
                return false;
    return true;
}

bool mat_finite(BlasType t, int64_t rows, int64_t cols, Mat a, int64_t *row, int64_t *col)
{
    bool by_columns = a.rs == 1;
    int64_t outer = by_columns ? cols : rows, inner = by_columns ? rows : cols;
    int64_t so = by_columns ? a.cs : a.rs, si = by_columns ? a.rs : a.cs;
    /* A finite sum of magnitudes needs no closer look; an infinite one may be overflow. */
    for (int64_t i = 0; i < outer; i++)
        if (!isfinite(line_sum(t, a.data + i * so * (int64_t)blas_bytes(t), inner, si)))
            return all_finite(t, rows, cols, a, row, col);
    return true;
}

enum { ACROSS = 2048 };          /* columns whose sums are made together where A lies by rows */

/* Four rows at a time, so that a sum is fetched once for four of its terms, which are added in the
 * order of the rows all the same. */
#define COLUMN_SUMS(name, T)                                                                     \
    static void name(int64_t rows, int64_t cols, const T *restrict x, int64_t step,              \
                     double *restrict sum)                                                       \
    {                                                                                            \
        int64_t i = 0;                                                                           \
        for (; i + 4 <= rows; i += 4, x += 4 * step) {                                           \
            const T *y = x + step, *z = y + step, *w = z + step;                                 \
            for (int64_t j = 0; j < cols; j++)                                                   \
                sum[j] = sum[j] + fabs((double)x[j]) + fabs((double)y[j]) +                      \
                         fabs((double)z[j]) + fabs((double)w[j]);                                \
        }                                                                                        \
        for (; i < rows; i++, x += step)                                                         \
            for (int64_t j = 0; j < cols; j++)                                                   \
                sum[j] += fabs((double)x[j]);                                                    \
    }
COLUMN_SUMS(column_sums_s, float)
COLUMN_SUMS(column_sums_d, double)

/* Of a real matrix that lies by rows. */
static double norm1_by_rows(BlasType t, int64_t rows, int64_t cols, Mat a)
{
    double top = 0;
    for (int64_t j = 0; j < cols; j += ACROSS) {
        int64_t some = cols - j < ACROSS ? cols - j : ACROSS;
        double sum[ACROSS];
        memset(sum, 0, (size_t)some * sizeof *sum);
        const char *at = a.data + j * (int64_t)blas_bytes(t);
        if (t == BLAS_S)
            column_sums_s(rows, some, (const float *)(const void *)at, a.rs, sum);
        else
            column_sums_d(rows, some, (const double *)(const void *)at, a.rs, sum);
        for (int64_t l = 0; l < some && !isnan(top); l++)
            if (sum[l] > top || isnan(sum[l]))
                top = sum[l];
    }
    return top;
}

double mat_norm1(BlasType t, int64_t rows, int64_t cols, Mat a)
{
    double top = 0;
    if (!blas_is_complex(t) && a.cs == 1 && a.rs != 1)
        return norm1_by_rows(t, rows, cols, a);
    for (int64_t j = 0; j < cols; j++) {
        double sum = line_sum(t, a.data + j * a.cs * (int64_t)blas_bytes(t), rows, a.rs);
        if (sum > top || isnan(sum))
            top = sum;
        if (isnan(sum))
            break;
    }
    return top;
}

void mat_copy_lower(BlasType t, int64_t n, Mat from, void *to, bool clear)
{
    size_t bytes = blas_bytes(t);
    bool across = llabs(from.cs) < llabs(from.rs);      /* row j is column j, conjugated */
    for (int64_t j = 0; j < n; j++) {
        char *column = (char *)to + (size_t)(j * n) * bytes;
        Mat line = { from.data + j * (from.rs + from.cs) * (int64_t)bytes,
                     across ? from.cs : from.rs, 0 };
        if (clear)
            memset(column, 0, (size_t)j * bytes);
        mat_copy(bytes, n - j, 1, line, (Mat){ column + (size_t)j * bytes, 1, 0 });
        if (across)
            mat_conjugate(t, column + (size_t)j * bytes, n - j);
    }
}
