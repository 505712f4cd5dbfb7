/* The parts of `A \ b` and `explain` that scripts see only from outside: how structure is
 * found in a matrix, how few elements a dense one costs, and FLOP formulas. */
#include "check.h"

#include "interp/op/heard.h"
#include "kernels/lapack/lapack_structured.h"

enum { N = 7 };

static Mat rows_of(double *x) { return (Mat){ (char *)x, N, 1 }; }

static void triangle(double *x, bool upper, const int *rows, const int *cols)
{
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++)
            x[rows[i] * N + cols[j]] = upper ? (j >= i ? 1 + i + j : 0) : (j <= i ? 1 + i + j : 0);
}

static void permuted_triangles(void)
{
    static const int plain[N] = { 0, 1, 2, 3, 4, 5, 6 }, mixed[N] = { 3, 0, 6, 1, 5, 2, 4 };
    double x[N * N];
    for (int k = 0; k < 4; k++) {
        int from[N];
        bool upper = k & 1, by_rows = k < 2, seen_rows = !by_rows, seen_upper = !upper;
        triangle(x, upper, by_rows ? mixed : plain, by_rows ? plain : mixed);
        CHECK(mat_permuted_triangle(BLAS_D, N, rows_of(x), from, &seen_rows, &seen_upper));
        CHECK(seen_rows == by_rows && seen_upper == upper);
        for (int i = 0; i < N; i++)
            CHECK(from[i] == mixed[i]);
        int at = by_rows ? mixed[2] * N + 2 : 2 * N + mixed[2];
        x[at] = 0;                          /* a zero on the diagonal: no such triangle */
        CHECK(!mat_permuted_triangle(BLAS_D, N, rows_of(x), from, &seen_rows, &seen_upper));
        x[at] = (double)NAN;                /* but NaN is an element */
        CHECK(mat_permuted_triangle(BLAS_D, N, rows_of(x), from, &seen_rows, &seen_upper));
    }
}

/* A full matrix is refused after its first two rows' and columns' outer elements: the rest
 * is not even readable here. */
static void dense_is_cheap(void)
{
    double x[2 * N];
    int from[N];
    bool by_rows, upper;
    for (int i = 0; i < 2 * N; i++)
        x[i] = 1;
    Mat a = { (char *)x, 0, 1 };            /* every row is the same */
    CHECK(!mat_permuted_triangle(BLAS_D, N, a, from, &by_rows, &upper));
    a = (Mat){ (char *)x, 1, 0 };
    CHECK(!mat_permuted_triangle(BLAS_D, N, a, from, &by_rows, &upper));
}

static void hermitian(void)
{
    double x[70 * 70];
    for (int i = 0; i < 70; i++)
        for (int j = 0; j < 70; j++)
            x[i * 70 + j] = i * j + 1;
    Mat a = { (char *)x, 70, 1 };
    CHECK(mat_is_hermitian(BLAS_D, 70, a));
    for (int i = 0; i < 70; i++)
        for (int j = 0; j < 70; j += 3) {
            double kept = x[i * 70 + j];
            x[i * 70 + j] += 0.5;
            CHECK(mat_is_hermitian(BLAS_D, 70, a) == (i == j));
            x[i * 70 + j] = kept;
        }
    double rounded[2] = { 3, 1e-16 }, skew[2] = { 3, 1e-12 };
    CHECK(mat_is_hermitian(BLAS_Z, 1, (Mat){ (char *)rounded, 1, 1 }));
    CHECK(!mat_is_hermitian(BLAS_Z, 1, (Mat){ (char *)skew, 1, 1 }));
}

static void copies_of_halves(void)
{
    static const double z[] = { 1, 0, 2, 3, 2, -3, 4, 0 };      /* [1, 2+3i; 2-3i, 4] by rows */
    double to[8] = { 9, 9, 9, 9, 9, 9, 9, 9 };
    mat_copy_lower(BLAS_Z, 2, (Mat){ (char *)z, 2, 1 }, to, true);
    CHECK(to[0] == 1 && to[2] == 2 && to[3] == -3 && to[4] == 0 && to[5] == 0 && to[6] == 4);
    mat_copy_lower(BLAS_Z, 2, (Mat){ (char *)z, 1, 2 }, to, true);   /* the same by columns */
    CHECK(to[2] == 2 && to[3] == 3);
}

/* Between the two orders and to odd strides: every element arrives, and nothing else. */
static void copies_between_orders(size_t bytes, int64_t rows, int64_t cols)
{
    enum { ROOM = 45 * 45 * 2 * 16 };
    static char from[ROOM], to[ROOM];
    const Mat ways[] = { { from, cols + 2, 1 }, { from, 1, rows + 1 }, { from, 2, 2 * rows } };
    for (size_t i = 0; i < sizeof from; i++)
        from[i] = (char)check_random();
    for (int k = 0; k < 9; k++) {
        Mat x = ways[k / 3], y = ways[k % 3];
        int64_t arrived = 0, touched = 0, size = (int64_t)bytes;
        y.data = to;
        memset(to, 0, sizeof to);
        mat_copy(bytes, rows, cols, x, y);
        for (int64_t i = 0; i < rows; i++)
            for (int64_t j = 0; j < cols; j++) {
                char *at = to + (i * y.rs + j * y.cs) * size;
                arrived += !memcmp(at, from + (i * x.rs + j * x.cs) * size, bytes);
                memset(at, 0, bytes);
            }
        for (size_t i = 0; i < sizeof to; i++)
            touched += to[i] != 0;
        CHECK(arrived == rows * cols && touched == 0);
    }
}

static void formulas(void)
{
    double s[26];
    for (int i = 0; i < 26; i++)
        s[i] = (double)NAN;
    s['m' - 'a'] = 10, s['n' - 'a'] = 4, s['k' - 'a'] = 3;
    CHECK(explain_formula("2mnk", s) == 240);
    CHECK(fabs(explain_formula("2/3 n^3", s) - 128.0 / 3) < 1e-12);
    CHECK(explain_formula("5n log2 n", s) == 40);
    CHECK(explain_formula("2.5n log2 n", s) == 20);
    CHECK(explain_formula("9", s) == 9 && explain_formula("n", s) == 4);
    CHECK(isnan(explain_formula("mnpq", s)) && isnan(explain_formula("product of all lengths", s)));
    CHECK(isnan(explain_formula("12n^3 + 2n^3", s)));
}

int main(void)
{
    permuted_triangles();
    dense_is_cheap();
    hermitian();
    copies_of_halves();
    for (size_t bytes = 4; bytes <= 16; bytes *= 2)
        for (int64_t rows = 1; rows < 44; rows += rows < 9 ? 1 : 7)
            for (int64_t cols = 1; cols < 44; cols += cols < 9 ? 1 : 7)
                copies_between_orders(bytes, rows, cols);
    formulas();
    return check_result();
}
