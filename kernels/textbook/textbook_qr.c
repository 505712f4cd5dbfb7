/* Householder's reflections in any format: QR, products with Q, Hessenberg form. A reflection
 * is 1 - tau v v' with v = (1, x1/d, x2/d, …), d = x0 - beta, beta = -sign(x0) |x|, tau = (beta -
 * x0) / beta (Golub and Van Loan, section 5.1; LAPACK's larfg). Applied to a block C row by row:
 * w = v' C from the first row to the last, w = tau w, C[i] = C[i] - v[i] w. See textbook.h. */
#include "kernels/textbook/textbook_number.h"

static bool all_zero(Textbook *t, TextRow x, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        if (!text_is_zero(t, text_from(t->f, x, i)))
            return false;
    return true;
}

/* x becomes (beta, v1, v2, …); tau 0 where there is nothing to reflect. */
static void reflection_make(Textbook *t, TextRow x, int64_t n, TextRow tau)
{
    Arith *f = t->f;
    TextMark mark = text_mark(t);
    TextRow rest = text_from(f, x, 1), d = text_vector(t, f, 1);
    char *beta = text_take(t, f, 1);
    text_fill(f, tau, t->zero, t->zero, 1);
    if (all_zero(t, rest, n - 1) && (!x.im || n_is_zero(t, x.im))) {
        text_release(t, mark);
        return;
    }
    textbook_norm2(t, beta, x, n);
    if (n_sign(t, x.re) >= 0)
        n_set(t, beta, n_neg(t, beta));
    text_copy(f, d, x, 1);
    n_set(t, d.re, n_sub(t, x.re, beta));
    d.step = 0;
    text_div(t, f, rest, rest, d, n - 1);
    n_set(t, tau.re, n_div(t, n_sub(t, beta, x.re), beta));
    if (x.im)
        n_set(t, tau.im, n_div(t, n_neg(t, x.im), beta));
    text_fill(f, (TextRow){ x.re, x.im, 1 }, beta, t->zero, 1);
    text_release(t, mark);
}

/* C = C - v tau (v' C) for v = (1, rest); `conj`: with conj(tau). */
static void reflection_apply(Textbook *t, TextRow rest, TextRow tau, bool conj, TextMat C)
{
    Arith *f = t->f, *a = t->acc;
    TextMark mark = text_mark(t);
    if (C.cols == 0 || text_is_zero(t, tau))
        return;
    TextRow w = text_vector(t, f, C.cols), s = a == f ? w : text_vector(t, a, C.cols);
    TextRow by = text_vector(t, a, 1), factor = text_vector(t, f, 1);
    by.step = factor.step = 0;
    TextMark row = text_mark(t);
    text_copy(a, s, text_widen(t, text_row(f, C, 0, 0), C.cols), C.cols);
    for (int64_t i = 1; i < C.rows; i++) {
        text_release(t, row);
        text_copy(a, by, text_widen(t, text_from(f, rest, i - 1), 1), 1);
        text_conj(t, a, by, 1);
        text_axpy(t, a, s, by, text_widen(t, text_row(f, C, i, 0), C.cols), C.cols);
    }
    text_narrow(t, w, s, C.cols);
    text_copy(f, factor, tau, 1);
    if (conj)
        text_conj(t, f, factor, 1);
    text_mul(t, f, w, w, factor, C.cols);
    text_sub(t, f, text_row(f, C, 0, 0), text_row(f, C, 0, 0), w, C.cols);
    for (int64_t i = 1; i < C.rows; i++)
        text_axmy(t, f, text_row(f, C, i, 0), text_from(f, rest, i - 1), w, C.cols);
    text_release(t, mark);
}

void textbook_qr(Textbook *t, TextMat A, TextRow tau)
{
    const Arith *f = t->f;
    int64_t least = A.rows < A.cols ? A.rows : A.cols;
    for (int64_t k = 0; k < least && !text_stop(t); k++) {
        TextRow x = text_column(f, A, k, k), at = text_from(f, tau, k);
        reflection_make(t, x, A.rows - k, at);
        reflection_apply(t, text_from(f, x, 1), at, true,
                         text_block(f, A, k, k + 1, A.rows - k, A.cols - k - 1));
    }
}

void textbook_qr_apply(Textbook *t, TextMat QR, TextRow tau, bool transposed, TextMat C)
{
    const Arith *f = t->f;
    int64_t least = QR.rows < QR.cols ? QR.rows : QR.cols;
    for (int64_t k = 0; k < least && !text_stop(t); k++) {
        int64_t j = transposed ? k : least - 1 - k;
        reflection_apply(t, text_column(f, QR, j + 1, j), text_from(f, tau, j), transposed,
                         text_block(f, C, j, 0, C.rows - j, C.cols));
    }
}

/* Column k's elements below the subdiagonal are reflected away, from the left and the right;
 * a reflection from the right is one of the transpose, by its conjugate. */
void textbook_hessenberg(Textbook *t, TextMat A, TextMat Q)
{
    Arith *f = t->f;
    int64_t n = A.rows;
    for (int64_t i = 0; i < n && Q.re; i++) {
        text_fill(f, text_row(f, Q, i, 0), t->zero, t->zero, n);
        text_fill(f, text_row(f, Q, i, i), t->one, t->zero, 1);
    }
    for (int64_t k = 0; k + 2 < n && !text_stop(t); k++) {
        TextMark mark = text_mark(t);
        int64_t m = n - k - 1;
        TextRow tau = text_vector(t, f, 1), v = text_vector(t, f, m);
        text_copy(f, v, text_column(f, A, k + 1, k), m);
        reflection_make(t, v, m, tau);
        TextRow rest = text_from(f, v, 1);
        text_fill(f, text_column(f, A, k + 1, k), t->zero, t->zero, m);
        text_copy(f, text_row(f, A, k + 1, k), v, 1);
        reflection_apply(t, rest, tau, true, text_block(f, A, k + 1, k + 1, m, m));
        text_conj(t, f, rest, m - 1);
        reflection_apply(t, rest, tau, false, text_transposed(text_block(f, A, 0, k + 1, n, m)));
        if (Q.re)
            reflection_apply(t, rest, tau, false,
                             text_transposed(text_block(f, Q, 0, k + 1, n, m)));
        text_release(t, mark);
    }
}
