/* Elimination in any format: LU, triangles, Cholesky, LDL', Gauss-Jordan. The factorisations
 * go column by column and subtract the finished columns first to last, which gives each element
 * the operations of the familiar kij loops in the same order, and lets an accumulator hold a
 * column's sums (Higham, Accuracy and Stability, section 9.2). See textbook.h. */
#include "kernels/textbook/textbook_number.h"

/* ---- LU ---- */

/* Column j of A less the finished columns: its part of U, and what L's will be divided from.
 * L: finished columns as carriers of acc. */
static void lu_column(Textbook *t, TextMat A, TextMat L, int64_t j)
{
    Arith *f = t->f, *a = t->acc;
    TextMark mark = text_mark(t);
    int64_t m = A.rows, done = j < m ? j : m;
    TextRow s = text_widen(t, text_column(f, A, 0, j), m);
    for (int64_t k = 0; k < done; k++) {
        TextMark step = text_mark(t);
        TextRow u = text_row(f, A, k, j);
        text_narrow(t, u, text_from(a, s, k), 1);
        text_axmy(t, a, text_from(a, s, k + 1), text_widen(t, u, 1), text_column(a, L, k + 1, k),
                  m - k - 1);
        text_release(t, step);
    }
    text_narrow(t, text_column(f, A, done, j), text_from(a, s, done), m - done);
    text_release(t, mark);
}

static int64_t largest_below(Textbook *t, TextMat A, int64_t i, int64_t j)
{
    const Arith *f = t->f;
    TextCell most;
    int64_t best = i;
    n_set(t, most.x, text_size(t, text_row(f, A, i, j)));
    for (int64_t r = i + 1; r < A.rows; r++) {
        char *size = text_size(t, text_row(f, A, r, j));
        if (n_less(t, most.x, size)) {
            n_set(t, most.x, size);
            best = r;
        }
    }
    return best;
}

static void swap_order(int64_t *perm, int64_t i, int64_t j)
{
    int64_t keep = perm[i];
    perm[i] = perm[j];
    perm[j] = keep;
}

/* Interchanges rows and divides; false: the column has no pivot. */
static bool lu_pivot(Textbook *t, TextMat A, TextMat L, int64_t j, int64_t *perm)
{
    Arith *f = t->f, *a = t->acc;
    int64_t p = largest_below(t, A, j, j), below = A.rows - j - 1;
    TextRow pivot = text_row(f, A, p, j);
    bool good = !text_is_zero(t, pivot);
    if (p != j) {
        text_swap(f, text_row(f, A, j, 0), text_row(f, A, p, 0), A.cols);
        if (a != f)
            text_swap(a, text_row(a, L, j, 0), text_row(a, L, p, 0), j);
        swap_order(perm, j, p);
    }
    pivot = text_row(f, A, j, j);
    pivot.step = 0;
    TextRow l = text_column(f, A, j + 1, j);
    if (good)
        text_div(t, f, l, l, pivot, below);
    if (a != f && j < L.cols) {
        TextMark mark = text_mark(t);
        text_copy(a, text_column(a, L, j + 1, j), text_widen(t, l, below), below);
        text_release(t, mark);
    }
    return good;
}

int64_t textbook_lu(Textbook *t, TextMat A, int64_t *perm)
{
    int64_t least = A.rows < A.cols ? A.rows : A.cols, none = -1;
    TextMark mark = text_mark(t);
    TextMat L = t->acc == t->f ? A : text_matrix(t, t->acc, A.rows, least, true);
    for (int64_t i = 0; i < A.rows; i++)
        perm[i] = i;
    for (int64_t j = 0; j < A.cols && !text_stop(t); j++) {
        lu_column(t, A, L, j);
        if (j < least && !lu_pivot(t, A, L, j, perm) && none < 0)
            none = j;
    }
    text_release(t, mark);
    return none;
}

bool textbook_odd(int64_t n, const int64_t *perm)
{
    bool odd = false;
    for (int64_t i = 0; i < n; i++)          /* inversions: n is the order of a matrix */
        for (int64_t j = i + 1; j < n; j++)
            odd ^= perm[j] < perm[i];
    return odd;
}

void textbook_det(Textbook *t, TextMat LU, const int64_t *perm, TextRow out)
{
    Arith *f = t->f;
    text_fill(f, out, t->one, t->zero, 1);
    for (int64_t i = 0; i < LU.rows; i++) {
        if (i == 0)
            text_copy(f, out, text_row(f, LU, 0, 0), 1);
        else
            text_mul(t, f, out, out, text_row(f, LU, i, i), 1);
    }
    if (textbook_odd(LU.rows, perm)) {
        n_set(t, out.re, n_neg(t, out.re));
        text_conj(t, f, out, 1);
    }
}

/* ---- triangles ---- */

bool textbook_is_triangle(const Textbook *t, TextMat M, bool upper)
{
    Textbook look = *t;                      /* comparing changes nothing but a status */
    for (int64_t i = 0; i < M.rows; i++)
        for (int64_t j = upper ? 0 : i + 1; j < (upper ? i : M.cols); j++)
            if (!text_is_zero(&look, text_row(t->f, M, i, j)))
                return false;
    return true;
}

/* Row i of the right sides, less the rows that are solved, times row i of T. */
static void triangle_row(Textbook *t, TextMat T, bool upper, TextMat X, TextMat W, int64_t i)
{
    Arith *f = t->f, *a = t->acc;
    int64_t from = upper ? i + 1 : 0, to = upper ? T.cols : i;
    TextMark mark = text_mark(t);
    TextRow s = text_widen(t, text_row(f, X, i, 0), X.cols);
    TextRow row = text_widen(t, text_row(f, T, i, from), to - from);
    for (int64_t j = from; j < to; j++)
        text_axmy(t, a, s, text_from(a, row, j - from), text_row(a, W, j, 0), X.cols);
    text_narrow(t, text_row(f, X, i, 0), s, X.cols);
    text_release(t, mark);
}

void textbook_triangle(Textbook *t, TextMat T, bool upper, bool unit, TextMat X)
{
    Arith *f = t->f, *a = t->acc;
    TextMark mark = text_mark(t);
    TextMat W = a == f ? X : text_matrix(t, a, X.rows, X.cols, false);
    for (int64_t k = 0; k < T.rows && !text_stop(t); k++) {
        int64_t i = upper ? T.rows - 1 - k : k;
        TextRow x = text_row(f, X, i, 0), pivot = text_row(f, T, i, i);
        pivot.step = 0;
        triangle_row(t, T, upper, X, W, i);
        if (!unit)
            text_div(t, f, x, x, pivot, X.cols);
        if (a != f) {
            TextMark row = text_mark(t);
            text_copy(a, text_row(a, W, i, 0), text_widen(t, x, X.cols), X.cols);
            text_release(t, row);
        }
    }
    text_release(t, mark);
}

/* ---- Cholesky ---- */

/* Column j from the diagonal down, less the finished columns times conj(l[j][k]). */
static void cholesky_column(Textbook *t, TextMat A, TextMat L, int64_t j)
{
    Arith *f = t->f, *a = t->acc;
    TextMark mark = text_mark(t);
    int64_t n = A.rows - j;
    TextRow s = text_widen(t, text_column(f, A, j, j), n), by = text_vector(t, a, 1);
    for (int64_t k = 0; k < j; k++) {
        text_copy(a, by, text_row(a, L, j, k), 1);
        text_conj(t, a, by, 1);
        text_axmy(t, a, s, by, text_column(a, L, j, k), n);
    }
    text_narrow(t, text_column(f, A, j, j), s, n);
    text_release(t, mark);
}

int64_t textbook_cholesky(Textbook *t, TextMat A)
{
    Arith *f = t->f, *a = t->acc;
    TextMark mark = text_mark(t);
    TextMat L = a == f ? A : text_matrix(t, a, A.rows, A.cols, true);
    int64_t failed = -1;
    for (int64_t j = 0; j < A.cols && failed < 0 && !text_stop(t); j++) {
        TextRow d = text_row(f, A, j, j), l = text_column(f, A, j + 1, j);
        cholesky_column(t, A, L, j);
        if (n_sign(t, d.re) != 1) {
            failed = j;
            break;
        }
        n_set(t, d.re, n_sqrt(t, d.re));
        if (d.im)
            n_set(t, d.im, t->zero);
        text_div(t, f, l, l, text_real(d.re), A.rows - j - 1);
        if (a != f) {
            TextMark column = text_mark(t);
            text_copy(a, text_column(a, L, j, j),
                      text_widen(t, text_column(f, A, j, j), A.rows - j),
                      A.rows - j);
            text_release(t, column);
        }
    }
    text_release(t, mark);
    return t->status == ARITH_OK ? failed : -1;
}

/* ---- LDL' ---- */

/* Rows and columns p and q of a matrix that is kept in full, and p and q of the finished L. */
static void ldl_swap(Textbook *t, TextMat A, int64_t *perm, int64_t p, int64_t q)
{
    const Arith *f = t->f;
    if (p == q)
        return;
    text_swap(t->f, text_row(f, A, p, 0), text_row(f, A, q, 0), A.cols);
    text_swap(t->f, text_column(f, A, 0, p), text_column(f, A, 0, q), A.rows);
    swap_order(perm, p, q);
}

/* Which of the columns k.. of row i, but i itself, is largest. */
static int64_t largest_in_row(Textbook *t, TextMat A, int64_t i, int64_t k, char *most)
{
    int64_t best = k == i ? k + 1 : k;
    n_set(t, most, t->zero);
    for (int64_t j = k; j < A.cols; j++) {
        char *size = j == i ? t->zero : text_size(t, text_row(t->f, A, i, j));
        if (n_less(t, most, size)) {
            n_set(t, most, size);
            best = j;
        }
    }
    return best;
}

/* 1 or 2: the order of the pivot block, moved to k (Higham, algorithm 11.2). */
static int ldl_choose(Textbook *t, TextMat A, int64_t *perm, int64_t k, const char *alpha)
{
    TextCell omega, sigma, size;
    const Arith *f = t->f;
    if (k + 1 >= A.rows)
        return 1;
    int64_t r = largest_in_row(t, A, k, k, omega.x);
    if (n_is_zero(t, omega.x))
        return 1;
    n_set(t, size.x, text_size(t, text_row(f, A, k, k)));
    if (!n_less(t, size.x, n_mul(t, alpha, omega.x)))
        return 1;
    largest_in_row(t, A, r, k, sigma.x);
    if (!n_less(t, n_mul(t, size.x, sigma.x), n_mul(t, alpha, n_mul(t, omega.x, omega.x))))
        return 1;
    if (!n_less(t, text_size(t, text_row(f, A, r, r)), n_mul(t, alpha, sigma.x))) {
        ldl_swap(t, A, perm, k, r);
        return 1;
    }
    ldl_swap(t, A, perm, k + 1, r);
    return 2;
}

/* The rest of the matrix less l d l': `w` are the columns of l d, l has replaced those of A. */
static void ldl_update(Textbook *t, TextMat A, int64_t k, int order, TextMat W)
{
    Arith *f = t->f;
    int64_t n = A.rows - k - order;
    TextRow c = text_vector(t, f, n);
    for (int p = 0; p < order; p++) {
        text_copy(f, c, text_column(f, A, k + order, k + p), n);
        text_conj(t, f, c, n);
        for (int64_t i = k + order; i < A.rows; i++) {
            TextRow by = text_row(f, W, i, p);
            by.step = 0;
            text_axmy(t, f, text_row(f, A, i, k + order), by, c, n);
        }
    }
}

/* l = w d^-1 for a block of two: by Cramer's rule. */
static void ldl_divide_two(Textbook *t, TextMat A, int64_t k, TextMat W)
{
    Arith *f = t->f;
    TextRow a = text_row(f, A, k, k), d = text_row(f, A, k, k + 1);
    TextRow b = text_row(f, A, k + 1, k), c = text_row(f, A, k + 1, k + 1);
    TextRow det = text_vector(t, f, 1), x = text_vector(t, f, 1);
    TextRow y = text_vector(t, f, 1);
    text_mul(t, f, det, a, c, 1);
    text_mul(t, f, x, b, d, 1);
    text_sub(t, f, det, det, x, 1);
    for (int64_t i = k + 2; i < A.rows; i++) {
        TextRow u = text_row(f, W, i, 0), v = text_row(f, W, i, 1);
        text_mul(t, f, x, u, c, 1);
        text_mul(t, f, y, v, b, 1);
        text_sub(t, f, x, x, y, 1);
        text_div(t, f, text_row(f, A, i, k), x, det, 1);
        text_mul(t, f, x, v, a, 1);
        text_mul(t, f, y, u, d, 1);
        text_sub(t, f, x, x, y, 1);
        text_div(t, f, text_row(f, A, i, k + 1), x, det, 1);
    }
}

void textbook_ldl(Textbook *t, TextMat A, int64_t *perm, bool *two)
{
    Arith *f = t->f;
    int64_t n = A.rows;
    char *alpha = text_take(t, f, 1);
    n_set(t, alpha, n_const(t, 0.6403882032022076));     /* (1 + sqrt(17)) / 8 */
    for (int64_t i = 0; i < n; i++)
        perm[i] = i, two[i] = false;
    for (int64_t k = 0; k < n && !text_stop(t);) {
        TextMark mark = text_mark(t);
        int order = ldl_choose(t, A, perm, k, alpha);
        TextMat W = text_matrix(t, f, n, order, true);
        TextRow d = text_row(f, A, k, k), l = text_column(f, A, k + 1, k);
        d.step = 0;
        for (int p = 0; p < order; p++)
            text_copy(f, text_column(f, W, 0, p), text_column(f, A, 0, k + p), n);
        two[k] = order == 2;
        if (two[k])
            ldl_divide_two(t, A, k, W);
        else if (!text_is_zero(t, d))
            text_div(t, f, l, l, d, n - k - 1);
        ldl_update(t, A, k, order, W);
        k += order;
        text_release(t, mark);
    }
}

/* ---- Gauss-Jordan ---- */

int64_t textbook_rref(Textbook *t, TextMat A, const char *zero, int64_t *pivots)
{
    Arith *f = t->f;
    int64_t r = 0;
    for (int64_t j = 0; j < A.cols && r < A.rows && !text_stop(t); j++) {
        int64_t p = largest_below(t, A, r, j), right = A.cols - j - 1;
        if (!n_less(t, zero, text_size(t, text_row(f, A, p, j)))) {
            text_fill(f, text_column(f, A, r, j), t->zero, t->zero, A.rows - r);
            continue;
        }
        TextRow row = text_row(f, A, r, j + 1), pivot = text_row(f, A, r, j);
        text_swap(f, text_row(f, A, r, j), text_row(f, A, p, j), A.cols - j);
        pivot.step = 0;
        text_div(t, f, row, row, pivot, right);
        text_fill(f, pivot, t->one, t->zero, 1);
        for (int64_t i = 0; i < A.rows; i++)
            if (i != r) {
                TextRow by = text_row(f, A, i, j);
                by.step = 0;
                text_axmy(t, f, text_row(f, A, i, j + 1), by, row, right);
                text_fill(f, by, t->zero, t->zero, 1);
            }
        pivots[r++] = j;
    }
    return r;
}
