/* The backward error against a plain loop in long double, over types, layouts and bands; a zero
 * row, a nan, and the sum of columns. */
#include "kernels/lapack/backward.h"
#include "kernels/lapack/lapack.h"
#include "tests/unit/check.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { N = 37, COLS = 6, ROOM = N * N * 16 };
static char a[ROOM], x[ROOM], b[ROOM], room[ROOM];
static uint64_t state = 88172645463325252u;

static double next(void)
{
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    return (double)(int64_t)state * 0x1p-63;
}

static long double part(BlasType t, const void *data, int64_t i, bool imag)
{
    if (!blas_is_complex(t))
        return imag ? 0 : mat_real(t, data, i);
    return mat_real(t == BLAS_C ? BLAS_S : BLAS_D, data, 2 * i + imag);
}

static long double size(BlasType t, const void *data, int64_t i)
{
    return fabsl(part(t, data, i, false)) + fabsl(part(t, data, i, true));
}

static double plain(BlasType t, int64_t n, Mat m, Mat right)
{
    long double top = 0;
    for (int64_t i = 0; i < n; i++) {
        int64_t at = i * right.rs;
        long double re = part(t, right.data, at, false), im = part(t, right.data, at, true);
        long double d = size(t, right.data, at);
        for (int64_t j = 0; j < n; j++) {
            int64_t p = i * m.rs + j * m.cs;
            long double ar = part(t, m.data, p, false), ai = part(t, m.data, p, true);
            long double xr = part(t, x, j, false), xi = part(t, x, j, true);
            re -= ar * xr - ai * xi;
            im -= ar * xi + ai * xr;
            d += size(t, m.data, p) * size(t, x, j);
        }
        long double e = d == 0 ? 0 : (fabsl(re) + fabsl(im)) / d;
        top = e > top ? e : top;
    }
    return (double)top;
}

static void fill(BlasType t, void *to, int64_t count)
{
    for (int64_t i = 0; i < count; i++)
        mat_store(t, to, i, next(), next());
}

/* Rounding of the sums: (n + 4) eps of the same scale, whatever the order. */
static void compare(BlasType t, int64_t n, int64_t kl, int64_t ku, int layout)
{
    Mat m = { a, layout == 0 ? n : 1, layout == 0 ? 1 : n };
    Mat right = { b, layout == 2 ? 3 : 1, 1 };
    if (layout == 2)
        m = (Mat){ a, 2, 2 * n };
    memset(a, 0, sizeof a);
    fill(t, x, n);
    fill(t, b, 3 * n);
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < n; j++)
            if (i - j <= kl && j - i <= ku)
                mat_store(t, a, i * m.rs + j * m.cs, next(), next());
    double got = backward_error(t, n, kl, ku, m, x, right, 1, room), want = plain(t, n, m, right);
    CHECK(fabs(got - want) <= (double)(n + 4) * mat_eps(t) * (blas_is_complex(t) ? 4 : 1));
}

static void types(void)
{
    static const int64_t sizes[] = { 1, 2, 3, 7, 8, 16, 17, 33, 25 };
    for (int t = 0; t < BLAS_TYPES; t++)
        for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++)
            for (int layout = 0; layout < 3; layout++) {
                int64_t n = sizes[k];
                if (layout == 2 && n > 25)
                    continue;
                compare((BlasType)t, n, n - 1, n - 1, layout);
                compare((BlasType)t, n, n > 2 ? 2 : 0, n > 1 ? 1 : 0, layout);
            }
}

static void edges(void)
{
    int64_t n = 5;
    Mat m = { a, n, 1 }, right = { b, 1, 1 };
    memset(a, 0, sizeof a);
    memset(b, 0, sizeof b);
    fill(BLAS_D, x, n);
    CHECK(backward_error(BLAS_D, n, n, n, m, x, right, 1, room) == 0);      /* 0/0 is 0 */
    mat_store(BLAS_D, b, 3, 1, 0);
    CHECK(backward_error(BLAS_D, n, n, n, m, x, right, 1, room) == 1);
    mat_store(BLAS_D, a, 7, NAN, 0);
    CHECK(isnan(backward_error(BLAS_D, n, n, n, m, x, right, 1, room)));
    mat_store(BLAS_D, a, 7, INFINITY, 0);
    CHECK(isnan(backward_error(BLAS_D, n, n, n, m, x, right, 1, room)));
}

/* Exact solutions of many columns, one of which is spoiled. */
static void sums(BlasType t)
{
    int64_t n = 20;
    Mat m = { a, n, 1 }, right = { b, COLS, 1 };
    memset(b, 0, sizeof b);
    for (int64_t i = 0; i < n * n; i++)
        mat_store(t, a, i, (double)(i * 7 % 11) - 5, 0);
    for (int64_t j = 0; j < COLS; j++)
        for (int64_t i = 0; i < n; i++)
            mat_store(t, x, j * n + i, (double)((i + 3 * j) % 5 + 1) * (double)(1 << 3 * j), 0);
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < COLS; j++) {
            double sum = 0;
            for (int64_t k = 0; k < n; k++)
                sum += mat_real(t, a, i * n + k) * mat_real(t, x, j * n + k);
            mat_store(t, b, i * COLS + j, sum, 0);
        }
    CHECK(backward_error(t, n, n, n, m, x, right, COLS, room) <= (double)(n + 4) * mat_eps(t));
    for (int64_t j = 0; j < COLS; j++) {
        double kept = mat_real(t, x, j * n + 4);
        mat_store(t, x, j * n + 4, kept * (1 + 1e-3), 0);
        CHECK(backward_error(t, n, n, n, m, x, right, COLS, room) > 1e-3 / (40.0 * COLS));
        mat_store(t, x, j * n + 4, kept, 0);
    }
}

int main(void)
{
    types();
    edges();
    for (int t = 0; t < BLAS_TYPES; t++)
        sums((BlasType)t);
    return check_result();
}
