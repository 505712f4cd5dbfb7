/* Schur form of complex matrices in any format, and square roots of it. Hessenberg form, then the
 * explicit QR iteration with one shift (EISPACK comqr: Wilkinson and Reinsch, Handbook II/15): the
 * shift is the eigenvalue of the last two rows that is nearer to the last element. Complex
 * rotations have a cosine and a sine that are complex, which needs no phases. See textbook.h. */
#include "kernels/textbook/textbook_number.h"

enum { ITERATIONS = 60, STRICT = 24 };      /* per eigenvalue */

typedef struct Shifted {
    Textbook *t;
    TextMat H, Z;
    char *norm;                    /* the largest element */
    TextRow shift, c, s;           /* a number; rotations */
} Shifted;

/* A number that lives as long as its mark. */
static TextRow number(Textbook *t)
{
    TextRow x = text_vector(t, t->f, 1);
    text_fill(t->f, x, t->zero, t->zero, 1);
    return x;
}

void text_root(Textbook *t, TextRow out, TextRow x)
{
    TextMark mark = text_mark(t);
    char *size = text_take(t, t->f, 1), *large = text_take(t, t->f, 1);
    char *other = text_take(t, t->f, 1);
    textbook_norm2(t, size, x, 1);
    bool left = n_sign(t, x.re) == -1, below = n_sign(t, x.im) == -1;
    n_set(t, large, n_sqrt(t, n_mul(t, n_add(t, size, n_abs(t, x.re)), t->half)));
    n_set(t, other, t->zero);
    if (!n_is_zero(t, large))
        n_set(t, other, n_div(t, n_abs(t, x.im), n_add(t, large, large)));
    const char *re = left ? other : large, *im = left ? large : other;
    text_fill(t->f, out, re, below ? n_neg(t, im) : im, 1);
    text_release(t, mark);
}

/* ---- the iteration ---- */
/* x = conj(c) x + conj(s) y, y = c y - s x with the old ones. */
static void rotate(Textbook *t, TextRow x, TextRow y, TextRow c, TextRow s, int64_t n)
{
    Arith *f = t->f;
    TextMark mark = text_mark(t);
    TextRow p = text_vector(t, f, n), q = text_vector(t, f, n), k = number(t);
    c.step = s.step = k.step = 0;
    text_mul(t, f, p, s, x, n);
    text_copy(f, k, s, 1);
    text_conj(t, f, k, 1);
    text_mul(t, f, q, k, y, n);
    text_mul(t, f, y, c, y, n);
    text_sub(t, f, y, y, p, n);
    text_copy(f, k, c, 1);
    text_conj(t, f, k, 1);
    text_mul(t, f, x, k, x, n);
    text_add(t, f, x, x, q, n);
    text_release(t, mark);
}

/* The first row of the unreduced block that ends in row n, as in textbook_eig.c. */
static int64_t find_split(const Shifted *w, int64_t n, int iteration)
{
    Textbook *t = w->t;
    const Arith *f = t->f;
    int64_t l = n;
    for (; l > 0; l--) {
        const char *s = n_add(t, text_size(t, text_row(f, w->H, l - 1, l - 1)),
                              text_size(t, text_row(f, w->H, l, l)));
        if (n_is_zero(t, s) || iteration > STRICT)
            s = n_max(t, s, w->norm);
        char *below = text_size(t, text_row(f, w->H, l, l - 1));
        if (n_is_zero(t, below) || n_less(t, below, n_mul(t, t->eps, s)))
            break;
    }
    return l;
}

/* d - b c / (p ± sqrt(p^2 + b c)), p = (a - d) / 2, of the last rows a b, c d. */
static void choose_shift(Shifted *w, int64_t n, int iteration)
{
    Textbook *t = w->t;
    Arith *f = t->f;
    TextMat H = w->H;
    TextMark mark = text_mark(t);
    TextRow d = text_row(f, H, n, n), p = number(t), bc = number(t), root = number(t);
    if (iteration % 10 == 0 && iteration) {
        char *s = text_size(t, text_row(f, H, n, n - 1));
        if (n > 1)
            s = n_add(t, s, text_size(t, text_row(f, H, n - 1, n - 2)));
        text_copy(f, w->shift, d, 1);
        n_set(t, w->shift.re, n_add(t, w->shift.re, s));
        text_release(t, mark);
        return;
    }
    TextRow plus = number(t), minus = number(t);
    text_sub(t, f, p, text_row(f, H, n - 1, n - 1), d, 1);
    text_mul(t, f, p, p, text_real(t->half), 1);
    text_mul(t, f, bc, text_row(f, H, n - 1, n), text_row(f, H, n, n - 1), 1);
    text_mul(t, f, root, p, p, 1);
    text_add(t, f, root, root, bc, 1);
    text_root(t, root, root);
    text_add(t, f, plus, p, root, 1);
    text_sub(t, f, minus, p, root, 1);
    TextRow by = n_less(t, text_size(t, plus), text_size(t, minus)) ? minus : plus;
    text_copy(f, w->shift, d, 1);
    if (!text_is_zero(t, by)) {
        text_div(t, f, bc, bc, by, 1);
        text_sub(t, f, w->shift, d, bc, 1);
    }
    text_release(t, mark);
}

static void move_diagonal(Shifted *w, int64_t l, int64_t n, bool back)
{
    Textbook *t = w->t;
    for (int64_t i = l; i <= n; i++) {
        TextRow d = text_row(t->f, w->H, i, i);
        (back ? text_add : text_sub)(t, t->f, d, d, w->shift, 1);
    }
}

/* c = a / r, s = b / r, r = |(a, b)|: the rotation that takes b to 0. */
static bool choose_rotation(Shifted *w, int64_t k)
{
    Textbook *t = w->t;
    Arith *f = t->f;
    TextMark mark = text_mark(t);
    TextRow ab = text_vector(t, f, 2), c = text_from(f, w->c, k), s = text_from(f, w->s, k);
    char *r = text_take(t, f, 1);
    text_copy(f, ab, text_column(f, w->H, k, k), 2);
    textbook_norm2(t, r, ab, 2);
    bool some = n_sign(t, r) == 1;
    if (some) {
        text_div(t, f, c, ab, text_real(r), 1);
        text_div(t, f, s, text_from(f, ab, 1), text_real(r), 1);
    }
    text_release(t, mark);
    return some;
}

/* H - shift = Q R on rows l to n, H = R Q + shift; the other rows and columns follow. */
static void step(Shifted *w, int64_t l, int64_t n)
{
    Textbook *t = w->t;
    Arith *f = t->f;
    TextMat H = w->H;
    move_diagonal(w, l, n, false);
    for (int64_t k = l; k < n; k++) {
        TextRow c = text_from(f, w->c, k), s = text_from(f, w->s, k);
        if (!choose_rotation(w, k)) {
            text_fill(f, c, t->one, t->zero, 1);
            text_fill(f, s, t->zero, t->zero, 1);
        }
        rotate(t, text_row(f, H, k, k), text_row(f, H, k + 1, k), c, s, H.cols - k);
        text_fill(f, text_row(f, H, k + 1, k), t->zero, t->zero, 1);
    }
    text_conj(t, f, text_from(f, w->c, l), n - l);
    text_conj(t, f, text_from(f, w->s, l), n - l);
    for (int64_t k = l; k < n; k++) {
        TextRow c = text_from(f, w->c, k), s = text_from(f, w->s, k);
        rotate(t, text_column(f, H, 0, k), text_column(f, H, 0, k + 1), c, s, k + 2);
        if (w->Z.re)
            rotate(t, text_column(f, w->Z, 0, k), text_column(f, w->Z, 0, k + 1), c, s,
                   w->Z.rows);
    }
    move_diagonal(w, l, n, true);
}

void textbook_schur_complex(Textbook *t, TextMat A, TextMat Z, TextRow values)
{
    Arith *f = t->f;
    TextMark mark = text_mark(t);
    Shifted w = { .t = t, .H = A, .Z = Z };
    int iteration = 0;
    char *scale = text_scale(t, A);
    textbook_hessenberg(t, A, Z);
    w.norm = text_largest(t, A);
    w.shift = number(t);
    w.c = text_vector(t, f, A.rows);
    w.s = text_vector(t, f, A.rows);
    text_fill(f, w.c, t->one, t->zero, A.rows);
    text_fill(f, w.s, t->zero, t->zero, A.rows);
    for (int64_t n = A.rows - 1; n >= 0 && !text_stop(t);) {
        int64_t l = find_split(&w, n, iteration);
        if (l > 0)
            text_fill(f, text_row(f, A, l, l - 1), t->zero, t->zero, 1);
        if (l == n) {
            n--;
            iteration = 0;
        } else if (n_is_zero(t, t->eps) || iteration++ == ITERATIONS) {
            text_fail(t, ARITH_DIVERGED, n);     /* fractions would not stop growing */
        } else {
            choose_shift(&w, n, iteration - 1);
            step(&w, l, n);
        }
    }
    for (int64_t i = 0; i < A.rows; i++) {
        TextRow row = text_row(f, A, i, 0);
        if (scale)
            text_mul(t, f, row, row, text_real(scale), A.cols);
        text_copy(f, text_from(f, values, i), text_row(f, A, i, i), 1);
    }
    text_release(t, mark);
}

/* ---- the square root ---- */
/* X[i, j] = (T[i, j] - sum of X[i, k] X[k, j] over i < k < j) / (X[i, i] + X[j, j]) */
bool textbook_triangle_root(Textbook *t, TextMat T, TextMat X)
{
    Arith *f = t->f;
    TextMark mark = text_mark(t);
    TextRow sum = number(t), product = number(t);
    bool found = true;
    for (int64_t j = 0; j < T.rows && found && !text_stop(t); j++) {
        text_fill(f, text_column(f, X, 0, j), t->zero, t->zero, T.rows);
        text_root(t, text_row(f, X, j, j), text_row(f, T, j, j));
        for (int64_t i = j - 1; i >= 0 && found; i--) {
            text_copy(f, sum, text_row(f, T, i, j), 1);
            for (int64_t k = i + 1; k < j; k++) {
                text_mul(t, f, product, text_row(f, X, i, k), text_row(f, X, k, j), 1);
                text_sub(t, f, sum, sum, product, 1);
            }
            text_add(t, f, product, text_row(f, X, i, i), text_row(f, X, j, j), 1);
            found = !text_is_zero(t, product) || text_is_zero(t, sum);
            if (found && !text_is_zero(t, product))
                text_div(t, f, text_row(f, X, i, j), sum, product, 1);
        }
    }
    text_release(t, mark);
    return found;
}
