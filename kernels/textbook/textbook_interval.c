/* Enclosures: linear systems, inverses and determinants of interval matrices. Elimination with
 * intervals swells; so the middle of the matrix is factored in doubles, as an approximation
 * that need not be right, and intervals only verify what it gives.
 *
 * Systems: with R near inv(mid A) and x near R b, every solution of every system in [A] y = [b]
 * is x + d with d = R (b - A x) + (1 - R A) d. If an interval vector [d] goes into its own
 * interior under that map, it contains them all, and no matrix in [A] is singular (Rump,
 * Verification methods, Acta Numerica 19 (2010), theorem 10.7). */
#include "kernels/textbook/textbook_number.h"

#include <float.h>
#include <math.h>

enum { TRIES = 15 };

static double *ends(const Arith *f, TextMat M, int64_t i, int64_t j)
{
    return (double *)(void *)text_row(f, M, i, j).re;
}

static double middle(const double *x) { return x[0] / 2 + x[1] / 2; }

static TextMat points(Textbook *t, const double *x, int64_t rows, int64_t cols)
{
    TextMat M = textbook_matrix(t, rows, cols, false);
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < cols; j++) {
            double *e = ends(t->f, M, i, j);
            e[0] = e[1] = x[i * cols + j];
        }
    return M;
}

/* ---- doubles, as an approximation ---- */

static double *doubles(Textbook *t, int64_t n)
{
    return (double *)(void *)text_take(t, t->f, n / 2 + 1);
}

/* Partial pivoting; false: a pivot is zero or no number, or there is an interrupt. */
static bool approximate_lu(Textbook *t, double *a, int64_t n, int64_t *perm)
{
    for (int64_t i = 0; i < n; i++)
        perm[i] = i;
    for (int64_t k = 0; k < n; k++) {
        int64_t p = k;
        if (text_stop(t))
            return false;
        for (int64_t i = k + 1; i < n; i++)
            p = fabs(a[i * n + k]) > fabs(a[p * n + k]) ? i : p;
        int64_t order = perm[k];
        perm[k] = perm[p], perm[p] = order;
        for (int64_t j = 0; j < n && p != k; j++) {
            double v = a[k * n + j];
            a[k * n + j] = a[p * n + j], a[p * n + j] = v;
        }
        if (!(fabs(a[k * n + k]) > 0) || !isfinite(a[k * n + k]))
            return false;
        for (int64_t i = k + 1; i < n; i++) {
            double l = a[i * n + k] /= a[k * n + k];
            for (int64_t j = k + 1; j < n; j++)
                a[i * n + j] -= l * a[k * n + j];
        }
    }
    return true;
}

/* x = inv(L U) of the rows of x, which are given permuted. */
static void approximate_solve(Textbook *t, const double *lu, int64_t n, double *x, int64_t cols)
{
    for (int64_t i = 0; i < n && !text_stop(t); i++)
        for (int64_t k = 0; k < i; k++)
            for (int64_t j = 0; j < cols; j++)
                x[i * cols + j] -= lu[i * n + k] * x[k * cols + j];
    for (int64_t i = n - 1; i >= 0 && !text_stop(t); i--) {
        for (int64_t k = i + 1; k < n; k++)
            for (int64_t j = 0; j < cols; j++)
                x[i * cols + j] -= lu[i * n + k] * x[k * cols + j];
        for (int64_t j = 0; j < cols; j++)
            x[i * cols + j] /= lu[i * n + i];
    }
}

static void middles(const Arith *f, TextMat A, double *out)
{
    for (int64_t i = 0; i < A.rows; i++)
        for (int64_t j = 0; j < A.cols; j++)
            out[i * A.cols + j] = middle(ends(f, A, i, j));
}

/* ---- systems ---- */

/* C = B - A X, intervals. */
static TextMat residual(Textbook *t, TextMat B, TextMat A, TextMat X)
{
    Arith *f = t->f;
    TextMat C = textbook_matrix(t, B.rows, B.cols, false);
    for (int64_t i = 0; i < B.rows && !text_stop(t); i++) {
        text_copy(f, text_row(f, C, i, 0), text_row(f, B, i, 0), B.cols);
        for (int64_t k = 0; k < A.cols; k++)
            text_axmy(t, f, text_row(f, C, i, 0), text_row(f, A, i, k), text_row(f, X, k, 0),
                      B.cols);
    }
    return C;
}

/* [x] a little wider, so that a fixed point of the map ends inside. */
static void inflate(double *to, const double *x)
{
    double by = 0.1 * (x[1] - x[0]) + 1e-20 * fmax(fabs(x[0]), fabs(x[1])) + 4 * DBL_MIN;
    to[0] = nextafter(x[0] - by, -HUGE_VAL);
    to[1] = nextafter(x[1] + by, HUGE_VAL);
}

static bool inside(const double *x, const double *y)
{
    return x[0] > y[0] && x[1] < y[1];
}

/* D goes through d = Z + C d until it maps into its interior. */
static bool contract(Textbook *t, TextMat Z, TextMat C, TextMat D)
{
    Arith *f = t->f;
    TextMat Y = textbook_matrix(t, D.rows, D.cols, false);
    bool good = false;
    for (int64_t i = 0; i < Z.rows; i++)
        text_copy(f, text_row(f, D, i, 0), text_row(f, Z, i, 0), Z.cols);
    for (int try = 0; try < TRIES && !good && !text_stop(t); try++) {
        for (int64_t i = 0; i < D.rows; i++)
            for (int64_t j = 0; j < D.cols; j++)
                inflate(ends(f, Y, i, j), ends(f, D, i, j));
        good = true;
        for (int64_t i = 0; i < D.rows; i++) {
            TextRow d = text_row(f, D, i, 0);
            text_copy(f, d, text_row(f, Z, i, 0), D.cols);
            for (int64_t k = 0; k < D.rows; k++)
                text_axpy(t, f, d, text_row(f, C, i, k), text_row(f, Y, k, 0), D.cols);
            for (int64_t j = 0; j < D.cols; j++)
                good &= inside(ends(f, D, i, j), ends(f, Y, i, j));
        }
    }
    return good;
}

bool textbook_enclose(Textbook *t, TextMat A, TextMat B)
{
    Arith *f = t->f;
    TextMark mark = text_mark(t);
    int64_t n = A.rows, cols = B.cols, *perm = (int64_t *)(void *)text_take(t, f, n / 2 + 1);
    double *lu = doubles(t, n * n), *r = doubles(t, n * n), *x = doubles(t, n * cols);
    middles(f, A, lu);
    bool good = n > 0 && approximate_lu(t, lu, n, perm);
    if (good) {
        for (int64_t i = 0; i < n; i++)
            for (int64_t j = 0; j < n; j++)
                r[i * n + j] = perm[i] == j;
        for (int64_t i = 0; i < n; i++)
            for (int64_t j = 0; j < cols; j++)
                x[i * cols + j] = middle(ends(f, B, perm[i], j));
        approximate_solve(t, lu, n, r, n);
        approximate_solve(t, lu, n, x, cols);
        TextMat R = points(t, r, n, n), X = points(t, x, n, cols);
        TextMat E = textbook_matrix(t, n, n, false);
        TextMat Z = textbook_matrix(t, n, cols, false), D = textbook_matrix(t, n, cols, false);
        for (int64_t i = 0; i < n; i++)
            n_set(t, text_row(f, E, i, i).re, t->one);
        textbook_product(t, Z, R, residual(t, B, A, X));
        good = contract(t, Z, residual(t, E, R, A), D);
        for (int64_t i = 0; i < n && good; i++)
            text_add(t, f, text_row(f, B, i, 0), text_row(f, X, i, 0), text_row(f, D, i, 0), cols);
    }
    text_release(t, mark);
    return good || n == 0;
}

/* ---- determinants ---- */

/* By the first row's minors: exact ends of small whole numbers. */
static void laplace(Textbook *t, TextMat A, int64_t row, uint32_t columns, char *out)
{
    TextCell sum, minor;
    int sign = 1;
    n_set(t, sum.x, t->zero);
    if (row == A.rows)
        n_set(t, sum.x, t->one);
    for (int64_t j = 0; j < A.cols; j++) {
        if (!(columns >> j & 1))
            continue;
        laplace(t, A, row + 1, columns & ~(1u << j), minor.x);
        char *term = n_mul(t, text_row(t->f, A, row, j).re, minor.x);
        n_set(t, sum.x, sign > 0 ? n_add(t, sum.x, term) : n_sub(t, sum.x, term));
        sign = -sign;
    }
    n_set(t, out, sum.x);
}

/* |det A| is at most the product of the rows' lengths (Hadamard). */
static void hadamard(Textbook *t, TextMat A, char *out)
{
    TextCell most;
    n_set(t, most.x, t->one);
    for (int64_t i = 0; i < A.rows; i++) {
        TextCell sum;
        n_set(t, sum.x, t->zero);
        for (int64_t j = 0; j < A.cols; j++) {
            char *a = n_abs(t, text_row(t->f, A, i, j).re);
            n_set(t, sum.x, n_add(t, sum.x, n_mul(t, a, a)));
        }
        n_set(t, most.x, n_mul(t, most.x, n_sqrt(t, sum.x)));
    }
    double e[2], high;
    memcpy(e, most.x, sizeof e);
    high = e[1];
    memcpy(out, (double[]){ 0 - high, high }, sizeof e);
}

/* The inverse of a triangle, as a matrix of points: that it is triangular, with ones on the
 * lower one's diagonal, is exact. */
static void triangle_inverse(Textbook *t, const double *lu, int64_t n, bool upper, double *x)
{
    for (int64_t c = 0; c < n && !text_stop(t); c++) {
        for (int64_t i = 0; i < n; i++)
            x[i * n + c] = i == c;
        for (int64_t s = 0; s < n; s++) {
            int64_t i = upper ? n - 1 - s : s;
            for (int64_t k = upper ? i + 1 : 0; k < (upper ? n : i); k++)
                x[i * n + c] -= lu[i * n + k] * x[k * n + c];
            if (upper)
                x[i * n + c] /= lu[i * n + i];
        }
    }
}

/* The product of the pivots of a matrix near 1; false: one of them contains 0. */
static bool near_identity(Textbook *t, TextMat M, char *out)
{
    Arith *f = t->f;
    n_set(t, out, t->one);
    for (int64_t k = 0; k < M.rows && !text_stop(t); k++) {
        const double *e = ends(f, M, k, k);
        if (!(e[0] > 0 || e[1] < 0))
            return false;
        n_set(t, out, n_mul(t, out, text_row(f, M, k, k).re));
        for (int64_t i = k + 1; i < M.rows; i++) {
            TextCell l;
            n_set(t, l.x, n_div(t, text_row(f, M, i, k).re, text_row(f, M, k, k).re));
            text_axmy(t, f, text_row(f, M, i, k + 1), text_real(l.x), text_row(f, M, k, k + 1),
                      M.cols - k - 1);
        }
    }
    return true;
}

/* det A = det(inv(L) P A inv(U)) / (det P det inv(U)), with factors near those of the middle. */
static bool by_factors(Textbook *t, TextMat A, char *out)
{
    Arith *f = t->f;
    int64_t n = A.rows, *perm = (int64_t *)(void *)text_take(t, f, n / 2 + 1);
    double *lu = doubles(t, n * n), *x = doubles(t, n * n);
    middles(f, A, lu);
    if (!approximate_lu(t, lu, n, perm))
        return false;
    TextMat PA = textbook_matrix(t, n, n, false), half = textbook_matrix(t, n, n, false);
    TextMat M = textbook_matrix(t, n, n, false);
    for (int64_t i = 0; i < n; i++)
        text_copy(f, text_row(f, PA, i, 0), text_row(f, A, perm[i], 0), n);
    triangle_inverse(t, lu, n, false, x);
    textbook_product(t, half, points(t, x, n, n), PA);
    triangle_inverse(t, lu, n, true, x);
    TextMat U = points(t, x, n, n);
    textbook_product(t, M, half, U);
    if (!near_identity(t, M, out))
        return false;
    for (int64_t i = 0; i < n; i++) {
        const double *u = ends(f, U, i, i);
        if (u[0] == 0 || !isfinite(u[0]))
            return false;
        n_set(t, out, n_div(t, out, text_row(f, U, i, i).re));
    }
    if (textbook_odd(n, perm))
        n_set(t, out, n_neg(t, out));
    return true;
}

/* Minors are exact where numbers are small and whole, factors narrower where intervals are wide:
 * of a small matrix what both hold. */
void textbook_enclose_det(Textbook *t, TextMat A, char *out)
{
    enum { SMALL = 5 };
    TextMark mark = text_mark(t);
    if (A.rows <= SMALL) {
        TextCell other;
        double x[2], y[2];
        laplace(t, A, 0, (1u << A.rows) - 1, out);
        memcpy(x, out, sizeof x);
        if (A.rows > 2 && x[0] < x[1] && by_factors(t, A, other.x)) {
            memcpy(y, other.x, sizeof y);
            double both[2] = { fmax(x[0], y[0]), fmin(x[1], y[1]) };
            if (both[0] <= both[1])
                memcpy(out, both, sizeof both);
        }
    } else if (!by_factors(t, A, out)) {
        hadamard(t, A, out);
    }
    text_release(t, mark);
}
