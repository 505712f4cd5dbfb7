/* Discrete Fourier transforms in any format: decimation in time by the prime factors of the length
 * (Cooley and Tukey 1965); a length with a large prime factor as a convolution (Bluestein 1970),
 * so that every length takes O(n log n). Roots of unity are those of an octant, in more digits
 * than the format has, so that 1, -1, i and -i are exact and the others nearest or next to it.
 * See textbook.h. */
#include "kernels/number/number.h"
#include "kernels/textbook/textbook_number.h"

enum { PRIME_MOST = 50 };          /* factors above it: by a convolution */

/* ---- roots of unity ---- */
/* What pi, an angle and its sine are computed with, in rooms that the collector sees. */
typedef struct Wider {
    Arith *a;
    char *pi, *angle, *value;
} Wider;

static void wider_open(Textbook *t, Wider *w, Arith *a)
{
    *w = (Wider){ .a = a };
    if (!a || t->status != ARITH_OK)
        return;
    char *room = t->take(t->owner, a->carrier, 3);
    w->pi = room, w->angle = room + a->size, w->value = room + 2 * a->size;
    t->status = number_constant(a, NUMBER_PI, w->pi);
}

static void wider_do(Textbook *t, const Wider *w, EwOp op, char *out, const char *x, const char *y)
{
    const void *in[3] = { x, y, NULL };
    const int64_t steps[3] = { 0, 0, 0 };
    if (t->status == ARITH_OK)
        t->status = w->a->ops->ew(w->a, op, out, 0, in, steps, 1);
}

/* cos or sin of pi a / b into a number of the format. */
static void wave(Textbook *t, const Wider *w, EwOp op, char *out, int64_t a, int64_t b)
{
    if (!w->a) {
        text_fail(t, ARITH_INEXACT, 0);
        return;
    }
    for (int k = 0; k < 2 && t->status == ARITH_OK; k++) {
        int64_t by = k ? b : a;
        t->status = w->a->ops->load(w->a, w->value, 1, DT_I64, &by, 1, 1);
        wider_do(t, w, k ? EW_DIVIDE : EW_MULTIPLY, w->angle, k ? w->angle : w->pi, w->value);
    }
    wider_do(t, w, op, w->value, w->angle, NULL);
    if (t->status == ARITH_OK)
        t->status = t->f->ops->load(t->f, out, 1, w->a->carrier, w->value, 1, 1);
}

/* exp(-2 pi i k / n): a is the angle in parts of pi / (4 n), turned into the first octant. */
static void root(Textbook *t, const Wider *w, TextRow out, int64_t k, int64_t n)
{
    TextMark mark = text_mark(t);
    int64_t a = 8 * k;
    bool below = a > 4 * n;
    a = below ? 8 * n - a : a;
    bool left = a > 2 * n;
    a = left ? 4 * n - a : a;
    bool steep = a > n;
    a = steep ? 2 * n - a : a;
    char *c = text_take(t, t->f, 1), *s = text_take(t, t->f, 1);
    n_set(t, c, t->one);
    n_set(t, s, t->zero);
    if (a > 0) {
        wave(t, w, EW_COS, c, a, 4 * n);
        wave(t, w, EW_SIN, s, a, 4 * n);
    }
    const char *re = steep ? s : c, *im = steep ? c : s;
    n_set(t, out.re, left ? n_neg(t, re) : re);
    n_set(t, out.im, below || n_is_zero(t, im) ? im : n_neg(t, im));
    text_release(t, mark);
}

static TextRow roots(Textbook *t, const Wider *w, int64_t n)
{
    TextRow out = text_vector(t, t->f, n);
    text_fill(t->f, out, t->zero, t->zero, n);
    for (int64_t k = 0; k < n && !text_stop(t); k++)
        root(t, w, text_from(t->f, out, k), k, n);
    return out;
}

/* ---- by factors ---- */
static int64_t smallest_factor(int64_t n)
{
    for (int64_t p = 2; p * p <= n; p++)
        if (n % p == 0)
            return p;
    return n;
}

static int64_t largest_factor(int64_t n)
{
    int64_t most = 1;
    while (n > 1) {
        int64_t p = smallest_factor(n);
        most = p > most ? p : most;
        n /= p;
    }
    return most;
}

/* out[k] = sum of x[j] w[j k]; w has n roots, w.step apart. */
static void by_factors(Textbook *t, TextRow out, TextRow x, int64_t n, TextRow w)
{
    Arith *f = t->f;
    if (n == 1) {
        text_copy(f, out, x, 1);
        return;
    }
    int64_t p = smallest_factor(n), m = n / p;
    TextMark mark = text_mark(t);
    TextRow parts = text_vector(t, f, n);
    text_fill(f, parts, t->zero, t->zero, n);
    for (int64_t r = 0; r < p && !text_stop(t); r++) {
        TextRow from = text_from(f, x, r), part = text_from(f, parts, r * m), turns = w;
        TextRow inner = w;
        from.step = x.step * p;
        inner.step = w.step * p;
        turns.step = w.step * r;
        by_factors(t, part, from, m, inner);
        if (r)
            text_mul(t, f, part, part, turns, m);
    }
    for (int64_t q = 0; q < p && !text_stop(t); q++) {
        TextRow to = text_from(f, out, q * m);
        text_copy(f, to, parts, m);
        for (int64_t r = 1; r < p; r++) {
            TextRow by = text_from(f, w, r * q % p * m), part = text_from(f, parts, r * m);
            bool one = r * q % p == 0, minus = 2 * (r * q % p) == p;
            by.step = 0;
            if (one || minus)
                (one ? text_add : text_sub)(t, f, to, to, part, m);
            else
                text_axpy(t, f, to, by, part, m);
        }
    }
    text_release(t, mark);
}

/* ---- as a convolution ---- */
/* j k = (j^2 + k^2 - (k - j)^2) / 2: with c[k] = exp(-pi i k^2 / n), out[k] is c[k] times the sum
 * of x[j] c[j] conj(c[k - j]), a convolution of cyclic length m, a power of two. */
static void make_chirp(Textbook *t, TextFourier *f, const Wider *w)
{
    Arith *a = t->f;
    int64_t n = f->n, m = 1;
    while (m < 2 * n - 1)
        m *= 2;
    f->m = m;
    f->roots = roots(t, w, m);
    f->chirp = text_vector(t, a, n);
    f->kernel = text_vector(t, a, m);
    text_fill(a, f->chirp, t->zero, t->zero, n);
    text_fill(a, f->kernel, t->zero, t->zero, m);
    TextMark mark = text_mark(t);
    TextRow all = roots(t, w, 2 * n), b = text_vector(t, a, m);
    text_fill(a, b, t->zero, t->zero, m);
    for (int64_t k = 0, square = 0; k < n; k++) {
        text_copy(a, text_from(a, f->chirp, k), text_from(a, all, square), 1);
        for (int side = 0; side < (k ? 2 : 1); side++) {
            TextRow to = text_from(a, b, side ? m - k : k);
            text_copy(a, to, text_from(a, all, square), 1);
            text_conj(t, a, to, 1);
        }
        square = (square + 2 * k + 1) % (2 * n);
    }
    by_factors(t, f->kernel, b, m, f->roots);
    text_release(t, mark);
}

static void by_chirp(Textbook *t, const TextFourier *f, TextRow out, TextRow x)
{
    Arith *a = t->f;
    TextMark mark = text_mark(t);
    TextRow u = text_vector(t, a, f->m), v = text_vector(t, a, f->m);
    char *by = text_take(t, a, 1);
    text_fill(a, u, t->zero, t->zero, f->m);
    text_fill(a, v, t->zero, t->zero, f->m);
    n_set(t, by, n_const(t, (double)f->m));
    text_mul(t, a, u, x, f->chirp, f->n);
    by_factors(t, v, u, f->m, f->roots);
    text_mul(t, a, v, v, f->kernel, f->m);
    text_conj(t, a, v, f->m);                 /* the inverse, by the conjugate */
    by_factors(t, u, v, f->m, f->roots);
    text_conj(t, a, u, f->n);
    text_div(t, a, u, u, text_real(by), f->n);
    text_mul(t, a, out, u, f->chirp, f->n);
    text_release(t, mark);
}

/* ---- the door ---- */
void textbook_fourier(Textbook *t, TextFourier *f, int64_t n, Arith *wider)
{
    Wider w;
    *f = (TextFourier){ .n = n };
    wider_open(t, &w, wider);
    if (largest_factor(n) > PRIME_MOST)
        make_chirp(t, f, &w);
    else
        f->roots = roots(t, &w, n);
}

void textbook_fft(Textbook *t, const TextFourier *f, TextRow out, TextRow x, bool inverse)
{
    Arith *a = t->f;
    TextMark mark = text_mark(t);
    TextRow in = text_vector(t, a, f->n);
    text_copy(a, in, x, f->n);
    if (inverse)
        text_conj(t, a, in, f->n);
    if (f->m)
        by_chirp(t, f, out, in);
    else
        by_factors(t, out, in, f->n, f->roots);
    if (inverse)
        text_conj(t, a, out, f->n);
    text_release(t, mark);
}
