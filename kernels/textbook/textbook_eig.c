/* Eigenvalues of general real matrices in any real format: Hessenberg form, then Francis's
 * implicit double-shift QR (EISPACK hqr2: Wilkinson and Reinsch, Handbook II/15; the loops as in
 * Golub and Van Loan, section 7.5), with the exceptional shifts of hqr. Vectors from the complex
 * Schur form by back substitution. Tests against eps are those of EISPACK, in the format. */
#include "kernels/textbook/textbook_number.h"

enum { ITERATIONS = 60, STRICT = 24 };      /* per eigenvalue */

typedef struct Francis {
    Textbook *t;
    TextMat H, Z;
    int64_t low, high;             /* the active block's ends */
    char *shift;                   /* what exceptional shifts took off the diagonal */
    char *norm;                    /* the largest element */
    char *x, *y, *w;               /* the double shift: two diagonal elements and a product */
    char *p, *q, *r;               /* what the next reflection takes to a multiple of e1 */
} Francis;

static char *h(const Francis *f, int64_t i, int64_t j)
{
    return text_row(f->t->f, f->H, i, j).re;
}

/* ---- small subdiagonals ---- */

/* The first row of the unreduced block that ends in row n. What is nothing beside the whole
 * matrix counts as zero, too, once the ordinary test has failed for long: in narrow formats eps
 * times small diagonal elements vanishes, and noise would go round for ever. */
static int64_t find_split(const Francis *f, int64_t n, int iteration)
{
    Textbook *t = f->t;
    int64_t l = n;
    for (; l > 0; l--) {
        const char *s = n_add(t, n_abs(t, h(f, l - 1, l - 1)), n_abs(t, h(f, l, l)));
        if (n_is_zero(t, s) || iteration > STRICT)
            s = n_max(t, s, f->norm);
        char *below = n_abs(t, h(f, l, l - 1));
        if (n_is_zero(t, below) || n_less(t, below, n_mul(t, t->eps, s)))
            break;
    }
    return l;
}

/* p, q, r for a start in row m, scaled to sum 1. */
static void start_vector(Francis *f, int64_t m)
{
    Textbook *t = f->t;
    char *z = h(f, m, m), *r = n_sub(t, f->x, z), *s = n_sub(t, f->y, z);
    char *p = n_add(t, n_div(t, n_sub(t, n_mul(t, r, s), f->w), h(f, m + 1, m)), h(f, m, m + 1));
    char *q = n_sub(t, n_sub(t, n_sub(t, h(f, m + 1, m + 1), z), r), s);
    r = h(f, m + 2, m + 1);
    s = n_add(t, n_add(t, n_abs(t, p), n_abs(t, q)), n_abs(t, r));
    n_set(t, f->p, n_div(t, p, s));
    n_set(t, f->q, n_div(t, q, s));
    n_set(t, f->r, n_div(t, r, s));
}

/* Two consecutive small subdiagonal elements let the step begin below row l. */
static int64_t find_start(Francis *f, int64_t l, int64_t n)
{
    Textbook *t = f->t;
    for (int64_t m = n - 2;; m--) {
        start_vector(f, m);
        if (m == l)
            return m;
        char *left = n_mul(t, n_abs(t, h(f, m, m - 1)), n_add(t, n_abs(t, f->q), n_abs(t, f->r)));
        char *around = n_add(t, n_add(t, n_abs(t, h(f, m - 1, m - 1)), n_abs(t, h(f, m, m))),
                             n_abs(t, h(f, m + 1, m + 1)));
        if (n_less(t, left, n_mul(t, t->eps, n_mul(t, n_abs(t, f->p), around))))
            return m;
    }
}

/* ---- shifts ---- */

static void take_shift(Francis *f, int64_t n, const char *by)
{
    Textbook *t = f->t;
    for (int64_t i = 0; i <= n; i++)
        n_set(t, h(f, i, i), n_sub(t, h(f, i, i), by));
    n_set(t, f->shift, n_add(t, f->shift, by));
}

static void choose_shift(Francis *f, int64_t n, int iteration)
{
    Textbook *t = f->t;
    n_set(t, f->x, h(f, n, n));
    n_set(t, f->y, h(f, n - 1, n - 1));
    n_set(t, f->w, n_mul(t, h(f, n, n - 1), h(f, n - 1, n)));
    if (iteration % 10 == 0 && iteration) {
        TextCell x;
        n_set(t, x.x, f->x);
        take_shift(f, n, x.x);
        char *s = n_add(t, n_abs(t, h(f, n, n - 1)), n_abs(t, h(f, n - 1, n - 2)));
        n_set(t, f->x, n_mul(t, n_const(t, 0.75), s));
        n_set(t, f->y, f->x);
        n_set(t, f->w, n_mul(t, n_const(t, -0.4375), n_mul(t, s, s)));
    }
}

/* ---- the step ---- */

/* x += p and the like over n numbers from (i, j) on, along rows or columns. */
typedef struct Triple { TextRow a, b, c; bool three; } Triple;

/* a, b, c less their reflection: u = a + q b + r c; a -= x u, b -= y u, c -= z u. */
static void reflect_triple(Textbook *t, Triple v, const char *q, const char *r, const char *x,
                           const char *y, const char *z, int64_t n)
{
    Arith *f = t->f;
    TextMark mark = text_mark(t);
    TextRow u = text_vector(t, f, n);
    u.im = NULL;
    text_copy(f, u, v.a, n);
    text_axpy(t, f, u, text_real(q), v.b, n);
    if (v.three) {
        text_axpy(t, f, u, text_real(r), v.c, n);
        text_axmy(t, f, v.c, text_real(z), u, n);
    }
    text_axmy(t, f, v.a, text_real(x), u, n);
    text_axmy(t, f, v.b, text_real(y), u, n);
    text_release(t, mark);
}

static Triple triple_columns(const Francis *f, TextMat M, int64_t k, bool three)
{
    const Arith *a = f->t->f;
    return (Triple){ text_column(a, M, 0, k), text_column(a, M, 0, k + 1),
                     three ? text_column(a, M, 0, k + 2) : (TextRow){ 0 }, three };
}

/* Columns: u = x a + y b + z c; a -= u, b -= q u, c -= r u: the same with a column scaled. */
static void reflect_columns(Textbook *t, Triple v, const char *q, const char *r, const char *x,
                            const char *y, const char *z, int64_t n)
{
    Arith *f = t->f;
    TextMark mark = text_mark(t);
    TextRow u = text_vector(t, f, n);
    u.im = NULL;
    text_mul(t, f, u, v.a, text_real(x), n);
    text_axpy(t, f, u, text_real(y), v.b, n);
    if (v.three) {
        text_axpy(t, f, u, text_real(z), v.c, n);
        text_axmy(t, f, v.c, text_real(r), u, n);
    }
    text_sub(t, f, v.a, v.a, u, n);
    text_axmy(t, f, v.b, text_real(q), u, n);
    text_release(t, mark);
}

/* The reflection that starts in row k, unless there is nothing to reflect. */
static void step_row(Francis *f, int64_t k, int64_t m, int64_t l, int64_t n)
{
    Textbook *t = f->t;
    const Arith *a = t->f;
    bool three = k != n - 1;
    TextCell scale, s, x, y, z, q, r;
    n_set(t, scale.x, t->one);
    if (k != m) {
        const char *p1 = h(f, k, k - 1), *q1 = h(f, k + 1, k - 1);
        const char *r1 = three ? h(f, k + 2, k - 1) : t->zero;
        n_set(t, scale.x, n_add(t, n_add(t, n_abs(t, p1), n_abs(t, q1)), n_abs(t, r1)));
        if (n_is_zero(t, scale.x))
            return;
        n_set(t, f->p, n_div(t, p1, scale.x));
        n_set(t, f->q, n_div(t, q1, scale.x));
        n_set(t, f->r, n_div(t, r1, scale.x));
    }
    char *squares = n_add(t, n_mul(t, f->p, f->p), n_mul(t, f->q, f->q));
    if (three)
        squares = n_add(t, squares, n_mul(t, f->r, f->r));
    n_set(t, s.x, n_sqrt(t, squares));
    if (n_sign(t, f->p) == -1)
        n_set(t, s.x, n_neg(t, s.x));
    if (n_is_zero(t, s.x))
        return;
    if (k != m)
        n_set(t, h(f, k, k - 1), n_neg(t, n_mul(t, s.x, scale.x)));
    else if (l != m)
        n_set(t, h(f, k, k - 1), n_neg(t, h(f, k, k - 1)));
    char *p = n_add(t, f->p, s.x);
    n_set(t, x.x, n_div(t, p, s.x));
    n_set(t, y.x, n_div(t, f->q, s.x));
    n_set(t, z.x, n_div(t, three ? f->r : t->zero, s.x));
    n_set(t, q.x, n_div(t, f->q, p));
    n_set(t, r.x, n_div(t, three ? f->r : t->zero, p));
    Triple rows = { text_row(a, f->H, k, k), text_row(a, f->H, k + 1, k),
                    three ? text_row(a, f->H, k + 2, k) : (TextRow){ 0 }, three };
    int64_t last = k + 3 < n ? k + 3 : n;
    reflect_triple(t, rows, q.x, r.x, x.x, y.x, z.x, f->H.cols - k);
    reflect_columns(t, triple_columns(f, f->H, k, three), q.x, r.x, x.x, y.x, z.x, last + 1);
    if (f->Z.re)
        reflect_columns(t, triple_columns(f, f->Z, k, three), q.x, r.x, x.x, y.x, z.x, f->Z.rows);
}

static void double_step(Francis *f, int64_t l, int64_t n, int iteration)
{
    Textbook *t = f->t;
    choose_shift(f, n, iteration);
    int64_t m = find_start(f, l, n);
    for (int64_t i = m + 2; i <= n; i++) {
        n_set(t, h(f, i, i - 2), t->zero);
        if (i > m + 2)
            n_set(t, h(f, i, i - 3), t->zero);
    }
    for (int64_t k = m; k < n; k++) {
        step_row(f, k, m, l, n);
        if (k > m) {                         /* what the reflection made zero */
            n_set(t, h(f, k + 1, k - 1), t->zero);
            if (k != n - 1)
                n_set(t, h(f, k + 2, k - 1), t->zero);
        }
    }
}

/* ---- what is found ---- */

/* A real pair: a rotation makes the block triangular. */
static void split_pair(Francis *f, int64_t n, const char *z)
{
    Textbook *t = f->t;
    const Arith *a = t->f;
    TextCell c, s;
    char *x = h(f, n, n - 1), *size = n_add(t, n_abs(t, x), n_abs(t, z));
    char *p = n_div(t, x, size), *q = n_div(t, z, size);
    char *r = n_sqrt(t, n_add(t, n_mul(t, p, p), n_mul(t, q, q)));
    n_set(t, s.x, n_neg(t, n_div(t, p, r)));
    n_set(t, c.x, n_div(t, q, r));
    TextMat H = f->H, Z = f->Z;
    text_rotate(t, text_row(a, H, n - 1, n - 1), text_row(a, H, n, n - 1), c.x, s.x,
                H.cols - n + 1);
    text_rotate(t, text_column(a, H, 0, n - 1), text_column(a, H, 0, n), c.x, s.x, n + 1);
    text_rotate(t, text_column(a, Z, 0, n - 1), text_column(a, Z, 0, n), c.x, s.x, Z.rows);
    n_set(t, h(f, n, n - 1), t->zero);
}

static void found_two(Francis *f, int64_t n, TextRow values)
{
    Textbook *t = f->t;
    const Arith *a = t->f;
    TextRow first = text_from(a, values, n - 1), second = text_from(a, values, n);
    char *w = n_mul(t, h(f, n, n - 1), h(f, n - 1, n));
    char *p = n_mul(t, n_sub(t, h(f, n - 1, n - 1), h(f, n, n)), t->half);
    char *q = n_add(t, n_mul(t, p, p), w), *z = n_sqrt(t, n_abs(t, q));
    n_set(t, h(f, n, n), n_add(t, h(f, n, n), f->shift));
    n_set(t, h(f, n - 1, n - 1), n_add(t, h(f, n - 1, n - 1), f->shift));
    char *x = h(f, n, n);
    n_set(t, first.im, t->zero);
    n_set(t, second.im, t->zero);
    if (n_sign(t, q) == -1) {
        n_set(t, first.re, n_add(t, x, p));
        n_set(t, second.re, first.re);
        n_set(t, first.im, z);
        n_set(t, second.im, n_neg(t, z));
        return;
    }
    z = n_sign(t, p) == -1 ? n_sub(t, p, z) : n_add(t, p, z);
    n_set(t, first.re, n_add(t, x, z));
    n_set(t, second.re, n_is_zero(t, z) ? first.re : n_sub(t, x, n_div(t, w, z)));
    if (!f->Z.re)
        return;
    split_pair(f, n, z);
    n_set(t, h(f, n - 1, n - 1), first.re);
    n_set(t, h(f, n, n), second.re);
}

static void found_one(Francis *f, int64_t n, TextRow values)
{
    Textbook *t = f->t;
    TextRow value = text_from(t->f, values, n);
    n_set(t, h(f, n, n), n_add(t, h(f, n, n), f->shift));
    n_set(t, value.re, h(f, n, n));
    n_set(t, value.im, t->zero);
}

void textbook_schur(Textbook *t, TextMat A, TextMat Z, TextRow values)
{
    Francis f = { .t = t, .H = A, .Z = Z };
    TextMark mark = text_mark(t);
    int iteration = 0;
    char *scale = text_scale(t, A);
    textbook_hessenberg(t, A, Z);
    f.norm = text_largest(t, A);
    char **kept[] = { &f.shift, &f.x, &f.y, &f.w, &f.p, &f.q, &f.r };
    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++)
        *kept[i] = text_take(t, t->f, 1);
    n_set(t, f.shift, t->zero);
    for (int64_t n = A.rows - 1; n >= 0 && !text_stop(t);) {
        int64_t l = find_split(&f, n, iteration);
        if (l > 0)
            n_set(t, h(&f, l, l - 1), t->zero);
        if (n - l < 2) {
            if (l == n)
                found_one(&f, n, values);
            else
                found_two(&f, n, values);
            n = l - 1;
            iteration = 0;
        } else if (n_is_zero(t, t->eps)) {
            text_fail(t, ARITH_DIVERGED, n);     /* fractions would not stop growing */
        } else if (iteration++ < ITERATIONS) {
            double_step(&f, l, n, iteration - 1);
        } else {
            text_fail(t, ARITH_DIVERGED, n);
        }
    }
    for (int64_t i = 0; i < A.rows && scale; i++) {
        TextRow row = text_row(t->f, A, i, 0), value = text_from(t->f, values, i);
        text_mul(t, t->f, row, row, text_real(scale), A.cols);
        text_mul(t, t->f, value, value, text_real(scale), 1);
    }
    text_release(t, mark);
}

/* ---- vectors ---- */

static TextRow complex_vector(Textbook *t, int64_t n)
{
    return (TextRow){ text_take(t, t->f, n), text_take(t, t->f, n), 1 };
}

/* Complex planes of a real matrix. */
static TextMat complex_copy(Textbook *t, TextMat M)
{
    Arith *f = t->f;
    TextRow x = complex_vector(t, M.rows * M.cols);
    TextMat C = { x.re, x.im, M.rows, M.cols, M.cols, 1 };
    for (int64_t i = 0; i < M.rows; i++) {
        TextRow to = text_row(f, C, i, 0);
        text_fill(f, to, t->zero, t->zero, M.cols);
        text_copy(f, (TextRow){ to.re, NULL, 1 }, text_row(f, M, i, 0), M.cols);
    }
    return C;
}

/* x = conj(c) x + s y, y = -s x + c y for rows; c complex, s real. */
static void givens_rows(Textbook *t, TextRow x, TextRow y, TextRow c, const char *s, int64_t n)
{
    Arith *f = t->f;
    TextMark mark = text_mark(t);
    TextRow sx = complex_vector(t, n), sy = complex_vector(t, n), k = complex_vector(t, 1);
    text_mul(t, f, sx, x, text_real(s), n);
    text_mul(t, f, sy, y, text_real(s), n);
    text_copy(f, k, c, 1);
    c.step = 0;
    text_mul(t, f, y, c, y, n);
    text_conj(t, f, k, 1);
    k.step = 0;
    text_mul(t, f, x, k, x, n);
    text_add(t, f, x, x, sy, n);
    text_sub(t, f, y, y, sx, n);
    text_release(t, mark);
}

/* The block of a complex pair in rows m - 1 and m is made triangular, with `value` above. */
static void split_complex(Textbook *t, TextMat T, TextMat Z, int64_t m, TextRow value)
{
    Arith *f = t->f;
    TextMark mark = text_mark(t);
    TextRow c = complex_vector(t, 1), k = complex_vector(t, 1);
    char *s = text_take(t, f, 1), *r = text_take(t, f, 1);
    text_sub(t, f, c, value, text_row(f, T, m, m), 1);
    char *b = text_row(f, T, m, m - 1).re;
    char *size = n_add(t, n_mul(t, c.re, c.re), n_add(t, n_mul(t, c.im, c.im), n_mul(t, b, b)));
    n_set(t, r, n_sqrt(t, size));
    n_set(t, s, n_div(t, b, r));
    text_div(t, f, c, c, text_real(r), 1);
    givens_rows(t, text_row(f, T, m - 1, m - 1), text_row(f, T, m, m - 1), c, s, T.cols - m + 1);
    text_copy(f, k, c, 1);
    text_conj(t, f, k, 1);
    givens_rows(t, text_column(f, T, 0, m - 1), text_column(f, T, 0, m), k, s, m + 1);
    givens_rows(t, text_column(f, Z, 0, m - 1), text_column(f, Z, 0, m), k, s, Z.rows);
    text_fill(f, text_row(f, T, m, m - 1), t->zero, t->zero, 1);
    text_release(t, mark);
}

/* x with (T - value) x = 0, x[k] = 1. A difference that is nothing counts as eps |T|. */
static void back_substitute(Textbook *t, TextMat T, TextRow value, TextRow x, int64_t k,
                            const char *least)
{
    Arith *f = t->f;
    TextRow d = { text_take(t, f, 1), T.im ? text_take(t, f, 1) : NULL, 0 };
    text_fill(f, x, t->zero, t->zero, T.rows);
    for (int64_t i = 0; i < k; i++)
        text_copy(f, text_from(f, x, i), text_row(f, T, i, k), 1);
    text_fill(f, text_from(f, x, k), t->one, t->zero, 1);
    for (int64_t i = 0; i < k; i++) {
        TextRow at = text_from(f, x, i);
        n_set(t, at.re, n_neg(t, at.re));
        text_conj(t, f, at, at.im ? 1 : 0);
    }
    for (int64_t i = k - 1; i >= 0 && !t->status; i--) {
        TextRow at = text_from(f, x, i);
        text_sub(t, f, d, text_row(f, T, i, i), value, 1);
        if (n_less(t, text_size(t, d), least))
            text_fill(f, d, least, t->zero, 1);
        text_div(t, f, at, at, d, 1);
        at.step = 0;
        text_axmy(t, f, x, at, text_column(f, T, 0, i), i);
    }
}

void textbook_eigenvectors(Textbook *t, TextMat T, TextMat Z, TextRow values, TextMat V)
{
    Arith *f = t->f;
    TextMark mark = text_mark(t);
    bool pairs = V.im != NULL;
    int64_t n = T.rows;
    char *size = text_take(t, f, 1), *least = text_take(t, f, 1);
    n_set(t, least, n_mul(t, t->eps, text_largest(t, T)));
    if (n_is_zero(t, least))
        n_set(t, least, t->eps);
    bool real = T.im == NULL;
    if (pairs && real) {
        T = complex_copy(t, T);
        Z = complex_copy(t, Z);
        for (int64_t m = n - 1; m > 0; m--)
            if (!n_is_zero(t, text_row(f, T, m, m - 1).re))
                split_complex(t, T, Z, m, text_from(f, values, m - 1));
    }
    TextRow x = { text_take(t, f, n), pairs ? text_take(t, f, n) : NULL, 1 };
    TextRow v = { text_take(t, f, n), pairs ? text_take(t, f, n) : NULL, 1 };
    for (int64_t k = 0; k < n && !text_stop(t); k++) {
        TextMark each = text_mark(t);
        TextRow value = text_from(f, values, k);
        if (!pairs)
            value.im = NULL;
        bool second = pairs && real && k > 0 && n_sign(t, value.im) == -1;
        back_substitute(t, T, value, x, k, least);
        text_fill(f, v, t->zero, t->zero, n);
        for (int64_t j = 0; j <= k; j++) {
            TextRow by = text_from(f, x, j);
            by.step = 0;
            text_axpy(t, f, v, by, text_column(f, Z, 0, j), n);
        }
        textbook_norm2(t, size, v, n);
        if (n_sign(t, size) == 1)
            text_div(t, f, v, v, text_real(size), n);
        if (second) {                        /* the conjugate of the one before */
            text_copy(f, v, text_column(f, V, 0, k - 1), n);
            text_conj(t, f, v, n);
        }
        text_copy(f, text_column(f, V, 0, k), v, n);
        text_release(t, each);
    }
    text_release(t, mark);
}
