/* Products of 8-bit integers against a plain loop in 64 bits: every dtype, layouts of all kinds,
 * sizes around those of tiles and panels, the corners where an instruction of 16 bits would
 * saturate, depths beyond what 32 bits hold, one thread and two; with scales and zero points, and
 * of floats that are rounded to such integers. */
#include "kernels/eight/eight.h"
#include "kernels/eight/eight_kernels.h"
#include "core/memory/pool.h"
#include "core/base/mem.h"
#include "tests/unit/check.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static Ctx ctx_storage[2];
static InterruptFlag never;

static int pick(int n) { return (int)(check_random() % (uint64_t)n); }

static int64_t value(EightMat x, int64_t i, int64_t j)
{
    const char *at = (const char *)x.data + i * x.rs + j * x.cs;
    return x.type == EIGHT_I8 ? *(const int8_t *)at : *(const uint8_t *)at;
}

/* fill: 0 random, 1 the ends of the range, 2 the lower end, 3 the upper end. */
static EightMat matrix(int64_t rows, int64_t cols, bool is_signed, int fill, char **memory)
{
    int64_t lie = pick(4), gap = pick(3), size = (rows + gap) * (cols + gap) * 2 + 1;
    uint8_t *x = malloc((size_t)size), low = is_signed ? 0x80 : 0, high = is_signed ? 0x7f : 0xff;
    for (int64_t i = 0; i < size; i++)
        x[i] = fill == 0 ? (uint8_t)pick(256) : fill == 1 ? (pick(2) ? low : high)
             : fill == 2 ? low : high;
    *memory = (char *)x;
    EightMat r = { x, cols + gap, 1, is_signed };
    if (lie == 1)
        r = (EightMat){ x, 1, rows + gap, is_signed };
    if (lie == 2)
        r = (EightMat){ x + (rows - 1) * (cols + gap), -(cols + gap), 1, is_signed };
    if (lie == 3)
        r = (EightMat){ x, 2 * (cols + gap), 2, is_signed };
    return r;
}

static void test_product(int64_t m, int64_t n, int64_t k, int fill)
{
    char *ma, *mb;
    EightMat a = matrix(m, k, pick(2), fill, &ma), b = matrix(k, n, pick(2), fill, &mb);
    int64_t *c = malloc((size_t)(m * n + 1) * sizeof *c);
    char *memory = malloc(eight_bytes(m, n, k));
    for (int t = 0; t < 2; t++) {
        bool same = true;
        memset(c, 0x55, (size_t)(m * n) * sizeof *c);
        eight_product(&ctx_storage[t], m, n, k, a, b, c, memory);
        for (int64_t i = 0; i < m; i++)
            for (int64_t j = 0; j < n; j++) {
                int64_t sum = 0;
                for (int64_t q = 0; q < k; q++)
                    sum += value(a, i, q) * value(b, q, j);
                same &= c[i * n + j] == sum;
            }
        if (!CHECK(same) && check_failed < 6)
            fprintf(stderr, "%lld by %lld by %lld, fill %d, %s, %s\n", (long long)m, (long long)n,
                    (long long)k, fill, a.type == EIGHT_I8 ? "i8" : "u8", b.type == EIGHT_I8 ? "i8" : "u8");
    }
    free(memory);
    free(c);
    free(mb);
    free(ma);
}

/* ---- with scales ---- */

static int zero_point(void) { return pick(2) ? pick(256) - 128 : 0; }

static void test_scaled(int64_t m, int64_t n, int64_t k, int fill)
{
    char *ma, *mb;
    EightMat a = matrix(m, k, pick(2), fill, &ma), b = matrix(k, n, pick(2), fill, &mb);
    double *row = malloc((size_t)(m + n) * sizeof *row), *column = row + m;
    int32_t *zero = malloc((size_t)(m + n) * sizeof *zero);
    float *c = malloc((size_t)(m * n + 1) * sizeof *c);
    char *memory = malloc(eight_scaled_bytes(m, n, k));
    for (int64_t i = 0; i < m + n; i++) {
        row[i] = (1 + pick(1000)) / 1024.0;
        zero[i] = zero_point();
    }
    EightScales s = { row, column, pick(2) ? zero : NULL, pick(2) ? zero + m : NULL };
    for (int t = 0; t < 2; t++) {
        bool same = true;
        memset(c, 0x55, (size_t)(m * n) * sizeof *c);
        eight_scaled(&ctx_storage[t], m, n, k, a, b, &s, c, memory);
        for (int64_t i = 0; i < m; i++)
            for (int64_t j = 0; j < n; j++) {
                int64_t sum = 0;
                for (int64_t q = 0; q < k; q++)
                    sum += (value(a, i, q) - (s.row_zero ? zero[i] : 0)) *
                           (value(b, q, j) - (s.column_zero ? zero[m + j] : 0));
                same &= c[i * n + j] == (float)((double)sum * row[i] * column[j]);
            }
        if (!CHECK(same) && check_failed < 6)
            fprintf(stderr, "scaled: %lld by %lld by %lld, fill %d\n", (long long)m, (long long)n,
                    (long long)k, fill);
    }
    free(memory);
    free(c);
    free(zero);
    free(row);
    free(mb);
    free(ma);
}

/* ---- floats ---- */

/* Numbers of many magnitudes, halves of a step among them; some lines all zero. */
static double *floats(int64_t count, bool single)
{
    double *x = malloc((size_t)(count + 1) * sizeof *x);
    for (int64_t i = 0; i < count; i++) {
        double v = ldexp((double)(pick(2001) - 1000), pick(8) ? -3 : pick(40) - 20);
        x[i] = pick(5) ? (single ? (double)(float)v : v) : (pick(255) - 127) * 0.5;
    }
    return x;
}

static int64_t rounded(double x, double scale, bool single)
{
    double v = single ? (double)nearbyintf((float)x / (float)scale) : nearbyint(x / scale);
    return (int64_t)(v < -127 ? -127 : v > 127 ? 127 : v);
}

static double scale_of(double most, bool single)
{
    return most == 0 ? 1 : single ? (double)((float)most / 127) : most / 127;
}

/* x[i, j] at i*rs + j*cs, in f32 or f64. */
static EightMat as_matrix(const double *x, int64_t rows, int64_t cols, bool single, bool turned,
                          void **memory)
{
    EightMat r = { NULL, turned ? 1 : cols, turned ? rows : 1, single ? EIGHT_F32 : EIGHT_F64 };
    *memory = malloc((size_t)(rows * cols + 1) * sizeof(double));
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < cols; j++) {
            int64_t at = i * r.rs + j * r.cs;
            if (single)
                ((float *)*memory)[at] = (float)x[i * cols + j];
            else
                ((double *)*memory)[at] = x[i * cols + j];
        }
    r.data = *memory;
    return r;
}

static void test_floats(int64_t m, int64_t n, int64_t k)
{
    bool sa = pick(2), sb = pick(2), same = true;
    void *ma, *mb;
    double *x = floats(m * k, sa), *y = floats(k * n, sb);
    double *row = malloc((size_t)(2 * m + 2 * n) * sizeof *row), *column = row + m;
    float *c = malloc((size_t)(m * n) * sizeof *c);
    char *memory = malloc(eight_scaled_bytes(m, n, k));
    memset(x, 0, (size_t)k * sizeof *x);
    EightMat a = as_matrix(x, m, k, sa, pick(2), &ma), b = as_matrix(y, k, n, sb, pick(2), &mb);
    EightScales s = { row, column, NULL, NULL };
    int t = pick(2);
    CHECK(eight_row_scales(&ctx_storage[t], m, k, a, row));
    CHECK(eight_row_scales(&ctx_storage[t], n, k, (EightMat){ b.data, b.cs, b.rs, b.type },
                           column));
    eight_scaled(&ctx_storage[t], m, n, k, a, b, &s, c, memory);
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = 0; j < n; j++) {
            double most_a = 0, most_b = 0;
            int64_t sum = 0;
            for (int64_t q = 0; q < k; q++) {
                most_a = fmax(most_a, fabs(x[i * k + q]));
                most_b = fmax(most_b, fabs(y[q * n + j]));
            }
            double ra = scale_of(most_a, sa), cb = scale_of(most_b, sb);
            for (int64_t q = 0; q < k; q++)
                sum += rounded(x[i * k + q], ra, sa) * rounded(y[q * n + j], cb, sb);
            same &= row[i] == ra && column[j] == cb &&
                    c[i * n + j] == (float)((double)sum * ra * cb);
        }
    if (!CHECK(same) && check_failed < 6)
        fprintf(stderr, "floats: %lld by %lld by %lld\n", (long long)m, (long long)n,
                (long long)k);
    int64_t at = (pick((int)m)) * a.rs + pick((int)k) * a.cs;
    if (sa)
        ((float *)ma)[at] = pick(2) ? NAN : -INFINITY;
    else
        ((double *)ma)[at] = pick(2) ? NAN : -INFINITY;
    CHECK(!eight_row_scales(&ctx_storage[t], m, k, a, row));
    free(memory);
    free(c);
    free(row);
    free(x);
    free(y);
    free(ma);
    free(mb);
}

int main(void)
{
    static const int64_t sizes[] = { 1, 2, 3, 5, 6, 7, 12, 15, 16, 17, 31, 33, 48, 63, 64, 65, 70,
                                     100, 127, 130, 200 };
    setenv("RICCI_THREADS", "1", 1);
    mem_init(&ctx_storage[0]);
    pool_threads(&ctx_storage[0]);
    setenv("RICCI_THREADS", "2", 1);
    mem_init(&ctx_storage[1]);
    ctx_storage[0].interrupt = ctx_storage[1].interrupt = &never;
    printf("# %s\n", eight_routine());
    for (int i = 0; i < 400; i++)
        test_product(sizes[pick(21)], sizes[pick(21)], pick(10) ? sizes[pick(21)] : 0, pick(4));
    for (int i = 0; i < 300; i++) {
        test_scaled(sizes[pick(21)], sizes[pick(21)], pick(10) ? sizes[pick(21)] : 0, pick(4));
        test_floats(sizes[pick(21)], sizes[pick(21)], sizes[pick(21)]);
    }
    test_floats(65, 66, 4100);
    test_floats(300, 260, 300);
    for (int fill = 0; fill < 4; fill++) {
        test_scaled(3, 70, 4095 + pick(4), fill);
        test_scaled(2, 5, 140000, fill);
        test_product(3, 70, 4095 + pick(4), fill);
        test_product(2, 5, 140000, fill);
        test_product(7, 65, 9000, fill);
        test_product(300, 260, 300, fill);
    }
    for (int t = 0; t < 2; t++) {
        pool_shutdown(&ctx_storage[t]);
        mem_shutdown(&ctx_storage[t]);
    }
    return check_result();
}
