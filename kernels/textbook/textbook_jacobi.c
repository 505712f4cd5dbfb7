/* Jacobi's methods in any format: eigenvalues of symmetric and Hermitian matrices by plane
 * rotations from both sides, singular values by rotations of columns (Hestenes). Complex numbers
 * are turned first, so that what a rotation makes vanish is real. Slow and short, and as
 * accurate as the arithmetic allows: what a format does to them is the format's doing.
 * Golub and Van Loan, section 8.5; Demmel and Veselić, SIAM J. Matrix Anal. 13 (1992). */
#include "kernels/textbook/textbook_number.h"

#include <math.h>

enum { SWEEPS = 60 };

/* Fractions, which have no eps, would grow for ever: after two sweeps they have not ended. */
static int sweeps(Textbook *t)
{
    return n_is_zero(t, t->eps) ? 2 : SWEEPS;
}

/* ---- rotations ---- */

typedef struct Rotation { TextCell c, s, t; } Rotation;

/* theta^2 + 1 is theta^2 in the format from about here on, and may overflow before. */
static char *large_theta(Textbook *t)
{
    return n_sqrt(t, n_div(t, t->two, t->eps));
}

/* The smaller root of t^2 + 2 theta t - 1 = 0, theta = (b - a) / (2 g): it makes g vanish. */
static void rotation_choose(Textbook *t, Rotation *r, const char *a, const char *b, const char *g)
{
    char *theta = n_div(t, n_sub(t, b, a), n_add(t, g, g));
    char *size = n_abs(t, theta), *root = t->zero;
    int sign = n_sign(t, theta);
    if (sign == 2) {                         /* out of range: g is nothing beside b - a */
        root = t->zero;
    } else if (n_is_zero(t, t->eps) || n_less(t, size, large_theta(t))) {
        char *one = n_add(t, n_mul(t, size, size), t->one);
        root = n_div(t, t->one, n_add(t, size, n_sqrt(t, one)));
    } else {
        root = n_div(t, t->half, size);
    }
    n_set(t, r->t.x, sign == -1 ? n_neg(t, root) : root);
    n_set(t, r->c.x, n_div(t, t->one, n_sqrt(t, n_add(t, n_mul(t, r->t.x, r->t.x), t->one))));
    n_set(t, r->s.x, n_mul(t, r->t.x, r->c.x));
}

/* x = x e, x of n numbers, for e = conj(g) / |g|, or e = g / |g|. */
static void turn(Textbook *t, TextRow x, TextRow g, const char *size, bool conj, int64_t n)
{
    TextMark mark = text_mark(t);
    TextRow e = text_vector(t, t->f, 1);
    text_div(t, t->f, e, g, text_real(size), 1);
    if (conj)
        text_conj(t, t->f, e, 1);
    e.step = 0;
    text_mul(t, t->f, x, x, e, n);
    text_release(t, mark);
}

/* ---- symmetric matrices ---- */

/* Is the element nothing beside its diagonal, or beside the whole matrix times eps^2? */
static bool negligible(Textbook *t, TextMat A, int64_t p, int64_t q, const char *least)
{
    const Arith *f = t->f;
    char *size = text_size(t, text_row(f, A, p, q));
    char *a = n_abs(t, text_row(f, A, p, p).re), *b = n_abs(t, text_row(f, A, q, q).re);
    const char *smaller = n_less(t, a, b) ? a : b;
    return n_order(t, size, least) < 1 || n_order(t, size, n_mul(t, t->eps, smaller)) < 1;
}

/* Row q is multiplied by a number of modulus 1, column q by its conjugate: A[p, q] is real. */
static void make_real(Textbook *t, TextMat A, int64_t p, int64_t q, TextMat V)
{
    Arith *f = t->f;
    TextRow g = text_row(f, A, p, q), aqq = text_row(f, A, q, q);
    if (!g.im || n_is_zero(t, g.im))
        return;
    TextMark mark = text_mark(t);
    TextRow e = text_vector(t, f, 1);
    char *size = text_take(t, f, 1), *diagonal = text_take(t, f, 1);
    text_copy(f, e, g, 1);
    n_set(t, diagonal, aqq.re);
    textbook_norm2(t, size, e, 1);
    turn(t, text_row(f, A, q, 0), e, size, false, A.cols);
    turn(t, text_column(f, A, 0, q), e, size, true, A.rows);
    if (V.re)
        turn(t, text_column(f, V, 0, q), e, size, true, V.rows);
    text_fill(f, aqq, diagonal, t->zero, 1);
    text_fill(f, g, size, t->zero, 1);
    text_fill(f, text_row(f, A, q, p), size, t->zero, 1);
    text_release(t, mark);
}

/* Rows p and q are rotated, columns follow by symmetry, the block of four by formula. */
static void symmetric_rotate(Textbook *t, TextMat A, int64_t p, int64_t q, TextMat V)
{
    Arith *f = t->f;
    Rotation r;
    TextCell a, b;
    TextRow g = text_row(f, A, p, q), app = text_row(f, A, p, p), aqq = text_row(f, A, q, q);
    make_real(t, A, p, q, V);
    rotation_choose(t, &r, app.re, aqq.re, g.re);
    char *change = n_mul(t, r.t.x, g.re);
    n_set(t, a.x, n_sub(t, app.re, change));
    n_set(t, b.x, n_add(t, aqq.re, change));
    text_rotate(t, text_row(f, A, p, 0), text_row(f, A, q, 0), r.c.x, r.s.x, A.cols);
    text_fill(f, app, a.x, t->zero, 1);
    text_fill(f, aqq, b.x, t->zero, 1);
    text_fill(f, g, t->zero, t->zero, 1);
    text_fill(f, text_row(f, A, q, p), t->zero, t->zero, 1);
    text_copy(f, text_column(f, A, 0, p), text_row(f, A, p, 0), A.cols);
    text_copy(f, text_column(f, A, 0, q), text_row(f, A, q, 0), A.cols);
    text_conj(t, f, text_column(f, A, 0, p), A.cols);
    text_conj(t, f, text_column(f, A, 0, q), A.cols);
    if (V.re)
        text_rotate(t, text_column(f, V, 0, p), text_column(f, V, 0, q), r.c.x, r.s.x, V.rows);
}

static void identity(Textbook *t, TextMat Q)
{
    for (int64_t i = 0; i < Q.rows; i++) {
        text_fill(t->f, text_row(t->f, Q, i, 0), t->zero, t->zero, Q.cols);
        text_fill(t->f, text_row(t->f, Q, i, i), t->one, t->zero, 1);
    }
}

/* Selection: ascending or descending, columns of U and V follow their values. */
static void sort_values(Textbook *t, TextRow values, int64_t n, bool descending, TextMat U,
                        TextMat V)
{
    Arith *f = t->f;
    int way = descending ? 1 : -1;
    for (int64_t i = 0; i < n; i++) {
        int64_t best = i;
        for (int64_t j = i + 1; j < n; j++)
            if (n_order(t, text_from(f, values, j).re, text_from(f, values, best).re) == way)
                best = j;
        if (best == i)
            continue;
        text_swap(f, text_from(f, values, i), text_from(f, values, best), 1);
        if (U.re)
            text_swap(f, text_column(f, U, 0, i), text_column(f, U, 0, best), U.rows);
        if (V.re)
            text_swap(f, text_column(f, V, 0, i), text_column(f, V, 0, best), V.rows);
    }
}

void textbook_eigh(Textbook *t, TextMat A, TextRow values, TextMat V)
{
    Arith *f = t->f;
    TextMark mark = text_mark(t);
    char *least = text_take(t, f, 1);
    int64_t n = A.rows, rotated = 1;
    n_set(t, least, text_largest(t, A));
    n_set(t, least, n_mul(t, n_mul(t, t->eps, t->eps), least));
    if (V.re)
        identity(t, V);
    for (int sweep = 0; rotated && !text_stop(t); sweep++) {
        rotated = 0;
        for (int64_t p = 0; p < n && !text_stop(t); p++)
            for (int64_t q = p + 1; q < n; q++)
                if (!negligible(t, A, p, q, least)) {
                    symmetric_rotate(t, A, p, q, V);
                    rotated++;
                }
        if (rotated && sweep == sweeps(t))
            text_fail(t, ARITH_DIVERGED, sweep);
    }
    values.im = NULL;                        /* they are real */
    text_copy(f, values, (TextRow){ A.re, NULL, A.row + A.col }, n);
    sort_values(t, values, n, false, V, (TextMat){ 0 });
    text_release(t, mark);
}

/* ---- singular values ---- */

/* When columns count as orthogonal: |a' b| <= limit |a| |b|, with norms below `least` counting as
 * that, or |a' b| <= floor. A computed inner product of m terms is off by about sqrt(m) eps where
 * all is well and by m eps at worst; what is left of a column that vanishes is noise of eps |A|,
 * in narrow formats with products that vanish, too. All this is let pass once the ordinary limit
 * has not been reached for many sweeps. */
typedef struct Orthogonal {
    char *limit, *least, *floor;
    char *norm;                      /* of the longest column */
} Orthogonal;

enum { STRICT_SWEEPS = 16 };

static void orthogonal_open(Textbook *t, Orthogonal *o, TextMat M)
{
    char *size = text_take(t, t->f, 1);
    o->limit = text_take(t, t->f, 1), o->least = text_take(t, t->f, 1);
    o->norm = text_take(t, t->f, 1), o->floor = text_take(t, t->f, 1);
    n_set(t, o->norm, t->zero);
    for (int64_t j = 0; j < M.cols && !n_is_zero(t, t->eps); j++) {
        textbook_norm2(t, size, text_column(t->f, M, 0, j), M.rows);
        n_set(t, o->norm, n_max(t, o->norm, size));
    }
}

static void orthogonal_sweep(Textbook *t, Orthogonal *o, int64_t m, int sweep)
{
    bool strict = sweep < STRICT_SWEEPS;
    double off = strict ? sqrt((double)m) : 2 * (double)m;
    n_set(t, o->limit, n_mul(t, t->eps, n_const(t, m < 1 ? 1 : off)));
    n_set(t, o->least, strict ? t->zero : n_mul(t, t->eps, o->norm));
    double smallest = t->f->carrier == DT_F64 ? ldexp(1, t->f->emin - t->f->p + 1) : 0;
    n_set(t, o->floor, strict ? t->zero : n_const(t, 2 * (double)m * smallest));
}

/* Rotates columns p and q of M unless they are orthogonal. */
static bool columns_rotate(Textbook *t, TextMat M, TextMat V, int64_t p, int64_t q,
                           const Orthogonal *o)
{
    const Arith *f = t->f;
    Rotation r;
    TextCell a, b, g, im[3];
    TextRow x = text_column(f, M, 0, p), y = text_column(f, M, 0, q);
    TextRow inner = { g.x, x.im ? im[0].x : NULL, 1 };
    text_dot(t, inner, x, y, M.rows);
    if (text_is_zero(t, inner))
        return false;
    text_dot(t, (TextRow){ a.x, x.im ? im[1].x : NULL, 1 }, x, x, M.rows);
    text_dot(t, (TextRow){ b.x, x.im ? im[2].x : NULL, 1 }, y, y, M.rows);
    if (x.im) {
        TextCell size;
        textbook_norm2(t, size.x, inner, 1);
        turn(t, y, inner, size.x, true, M.rows);
        if (V.re)
            turn(t, text_column(f, V, 0, q), inner, size.x, true, V.rows);
        n_set(t, g.x, size.x);
    }
    const char *first = n_max(t, n_sqrt(t, a.x), o->least);
    const char *second = n_max(t, n_sqrt(t, b.x), o->least);
    const char *bound = n_max(t, n_mul(t, o->limit, n_mul(t, first, second)), o->floor);
    if (n_order(t, n_abs(t, g.x), bound) != 1)
        return false;
    rotation_choose(t, &r, a.x, b.x, g.x);
    text_rotate(t, x, y, r.c.x, r.s.x, M.rows);
    if (V.re)
        text_rotate(t, text_column(f, V, 0, p), text_column(f, V, 0, q), r.c.x, r.s.x, V.rows);
    return true;
}

/* x less its parts along the first k columns of Q. */
static void part_from(Textbook *t, TextMat Q, int64_t k, TextRow x)
{
    TextCell re, im;
    TextRow part = { re.x, x.im ? im.x : NULL, 0 };
    for (int64_t j = 0; j < k; j++) {
        text_dot(t, part, text_column(t->f, Q, 0, j), x, Q.rows);
        text_axmy(t, t->f, x, part, text_column(t->f, Q, 0, j), Q.rows);
    }
}

/* What has no direction of its own: each unit vector in turn, less its parts along the columns
 * before (twice is enough), until what is left is half as long as it is on average at least. */
void textbook_complete(Textbook *t, TextMat Q, int64_t known)
{
    Arith *f = t->f;
    TextMark mark = text_mark(t);
    TextCell size;
    int64_t unit = 0;
    for (int64_t k = known; k < Q.cols && !text_stop(t); unit++) {
        TextRow x = text_column(f, Q, 0, k);
        if (unit == Q.rows) {
            text_fail(t, ARITH_DIVERGED, k);
            break;
        }
        text_fill(f, x, t->zero, t->zero, Q.rows);
        text_fill(f, text_row(f, Q, unit, k), t->one, t->zero, 1);
        part_from(t, Q, k, x);
        part_from(t, Q, k, x);
        textbook_norm2(t, size.x, x, Q.rows);
        char *enough = n_div(t, t->half, n_const(t, sqrt((double)Q.rows)));
        if (n_less(t, enough, size.x)) {
            text_div(t, f, x, x, text_real(size.x), Q.rows);
            k++;
        }
    }
    text_release(t, mark);
}

/* Column k of U = M / S, whose singular value is noise of the others: its direction is what the
 * columns before leave of it, and any other where that is less than half. */
static void settle_column(Textbook *t, TextMat U, int64_t k)
{
    TextCell size;
    TextRow x = text_column(t->f, U, 0, k);
    part_from(t, U, k, x);
    textbook_norm2(t, size.x, x, U.rows);
    if (n_order(t, size.x, t->half) == 1) {
        part_from(t, U, k, x);
        textbook_norm2(t, size.x, x, U.rows);
        text_div(t, t->f, x, x, text_real(size.x), U.rows);
    } else {
        U.cols = k + 1;
        textbook_complete(t, U, k);
    }
}

void textbook_svd(Textbook *t, TextMat M, TextRow S, TextMat V)
{
    Arith *f = t->f;
    TextMark mark = text_mark(t);
    Orthogonal o;
    int64_t n = M.cols, rotated = 1, nonzero = 0;
    char *scale = text_scale(t, M), *noise = text_take(t, f, 1);
    orthogonal_open(t, &o, M);
    if (V.re)
        identity(t, V);
    for (int sweep = 0; rotated && !text_stop(t); sweep++) {
        orthogonal_sweep(t, &o, M.rows, sweep);
        rotated = 0;
        for (int64_t p = 0; p < n && !text_stop(t); p++)
            for (int64_t q = p + 1; q < n; q++)
                rotated += columns_rotate(t, M, V, p, q, &o);
        if (rotated && sweep == sweeps(t))
            text_fail(t, ARITH_DIVERGED, sweep);
    }
    for (int64_t j = 0; j < n; j++)
        textbook_norm2(t, text_from(f, S, j).re, text_column(f, M, 0, j), M.rows);
    sort_values(t, S, n, true, M, V);
    if (V.re)
        n_set(t, noise, n_mul(t, n_mul(t, t->eps, n_const(t, 4 * (double)M.rows)), S.re));
    while (V.re && nonzero < n && n_sign(t, text_from(f, S, nonzero).re) == 1 && !text_stop(t)) {
        const char *size = text_from(f, S, nonzero).re;
        TextRow u = text_column(f, M, 0, nonzero);
        text_div(t, f, u, u, text_real(size), M.rows);
        if (nonzero && n_less(t, size, noise))
            settle_column(t, M, nonzero);
        nonzero++;
    }
    if (V.re && nonzero < n)
        textbook_complete(t, M, nonzero);
    if (scale)
        text_mul(t, f, S, S, text_real(scale), n);
    text_release(t, mark);
}
