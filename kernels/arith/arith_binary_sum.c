/* Sums and products of rows in binary formats, every product and every sum rounded: multiples
 * of a row added to another, dots, sums. See arith_binary.h. A dot's products are made in
 * strips; its sum goes one by one, as its order says. */
#include "kernels/arith/arith_binary.h"

#include <math.h>
#include <string.h>

static inline double at(const void *x, int64_t s, int64_t i) { return ((const double *)x)[i * s]; }

/* Product i takes draw 2i, sum i takes 2i + 1: as if they were made one after the other. */
enum { DRAWS = 2, SHORT_ROW = 4 };

/* ---- y + a x, y - a x ---- */
/* One strip in two rounds; r holds the products in between. */
static void two_rounds(Arith *a, BinaryPlan *k, EwOp sum, double *r, const double *y,
                       const double *c, const double *x, int64_t n)
{
    BinaryStrip p;
    BinaryOperation o = binary_operation(a, k, EW_MULTIPLY);
    binary_run(a, k, o, p, c, x, NULL, n);
    k->draw++;
    o = binary_operation(a, k, sum);
    binary_run(a, k, o, r, y, p, NULL, n);
}

static void one_round(Arith *a, const BinaryPlan *k, double *r, const double *y, double c,
                      const double *x, int64_t n)
{
    int64_t slow[BINARY_STRIP];
    BinaryCounts counts = { 0 };
    BinaryWay product = binary_way(a, BIN_MULTIPLY), sum = binary_way(a, BIN_ADD);
    bool any =
        k->kernels->axpy[product][sum](k, r, y, c, x, slow, &counts, binary_whole_vectors(n));
    binary_count(a, &counts);
    for (int64_t i = 0; any && i < n; i++)
        if (slow[i])
            r[i] = binary_exact_op(a, EW_ADD, y[i], binary_exact_op(a, EW_MULTIPLY, c, x[i], 0), 0);
}

static void exact_multiple(Arith *a, EwOp sum, double *y, int64_t sy, double c, const void *x,
                           int64_t sx, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        y[i * sy] = binary_exact_op(a, sum, y[i * sy],
                                    binary_exact_op(a, EW_MULTIPLY, c, at(x, sx, i), 0), 0);
}

static ArithStatus add_multiple(Arith *a, EwOp sum, double *y, int64_t sy, double c, const void *x,
                                int64_t sx, int64_t n)
{
    BinaryStrip in[3], r;
    if (n < SHORT_ROW || !binary_has_rows(a)) {
        exact_multiple(a, sum, y, sy, c, x, sx, n);
        return ARITH_OK;
    }
    BinaryPlan k = binary_plan(a);
    /* To nearest, y - a x is y + (-a) x. */
    bool one = a->round == ROUND_NEAREST && a->p != 53;
    uint64_t draw = a->draw;
    k.step = DRAWS;
    if (sum == EW_SUBTRACT && one)
        c = -c;
    for (int64_t i = 0; i < n; i += BINARY_STRIP) {
        int64_t count = n - i < BINARY_STRIP ? n - i : BINARY_STRIP;
        const double *left = binary_strip(in[0], y, sy, i, count, 0),
                     *right = binary_strip(in[1], x, sx, i, count, 0);
        if (binary_stopped(a))
            return ARITH_INTERRUPT;
        k.draw = draw + (uint64_t)(DRAWS * i);
        if (one)
            one_round(a, &k, r, left, c, right, count);
        else
            two_rounds(a, &k, sum, r, left, binary_strip(in[2], &c, 0, i, count, 0), right, count);
        for (int64_t j = 0; j < count; j++)
            y[(i + j) * sy] = r[j];
    }
    a->draw = draw + (uint64_t)(DRAWS * n);
    return ARITH_OK;
}

ArithStatus binary_axpy(Arith *a, EwOp op, void *y, int64_t sy, const void *c, const void *x,
                        int64_t sx, int64_t n)
{
    return add_multiple(a, op, y, sy, *(const double *)c, x, sx, n);
}

/* ---- sums in order ---- */
static double add_exactly(Arith *a, double s, const double *x, int64_t n, uint64_t draw,
                          uint64_t step)
{
    for (int64_t i = 0; i < n; i++) {
        a->draw = draw + (uint64_t)i * step;
        s = binary_exact_op(a, EW_ADD, s, x[i], 0);
    }
    return s;
}

/* Sums of p = 53 to nearest are the machine's, where none of them leaves the normal numbers; from
 * 2^1023 on the differences could overflow. */
static double add_native(Arith *a, const BinaryPlan *k, double s, const double *x, int64_t n)
{
    double start = s, most = 0, least = (double)INFINITY;
    uint64_t inexact = 0;
    for (int64_t i = 0; i < n; i++) {
        double h = s + x[i], b = h - s, size = fabs(h);
        inexact += (s - (h - b)) + (x[i] - b) != 0;
        most = size <= most ? most : size;           /* a nan stays */
        least = size < least && size > 0 ? size : least;
        s = h;
    }
    if (!(most <= k->max && most < 0x1p1023) || least < k->floor)
        return add_exactly(a, start, x, n, a->draw, 1);
    a->flags.inexact += inexact;
    return s;
}

enum { AHEAD = 16 };

/* Partial sums of one exponent are found by additions to a number whose last bit is theirs: as
 * the rounding of one costs no more than its addition, the chain is short. Takes as many terms
 * as give sums of s's exponent; the first and the last of its numbers are left to others. */
static int64_t add_ahead(const BinaryPlan *k, double *s, const double *x, int64_t n,
                         uint64_t *inexact)
{
    union { double d; uint64_t u; } e = { *s };
    double t[AHEAD + 1], high;
    e.u &= (uint64_t)0x7ff << 52;
    double grid = e.d > k->least ? e.d : k->least, magic = grid * k->magic,
           low = grid > k->least ? grid : 0;
    int64_t m = n < AHEAD ? n : AHEAD, i = 0;
    if (!(fabs(*s) < k->high))
        return 0;
    high = 2 * grid < k->max ? 2 * grid : k->max;
    t[0] = magic + *s;
    for (int64_t j = 0; j < m; j++)
        t[j + 1] = t[j] + x[j];
    for (; i < m; i++) {
        double size = fabs(t[i + 1] - magic);
        bool off = t[i + 1] - t[i] != x[i];
        if (!(size > low && size <= high) || (off && size <= k->least))
            break;
        *inexact += off;
    }
    *s = i ? t[i] - magic : *s;
    return i;
}

/* One by way of a double to odd; false: its result is not to be trusted. */
static inline bool add_near(const BinaryPlan *k, double *s, double x, uint64_t *inexact)
{
    union { double d; int64_t u; } h = { *s + x }, grid;
    double b = h.d - *s, e = (*s - (h.d - b)) + (x - b);
    if (e != 0 && !(h.u & 1))
        h.u += (e < 0) == (h.d < 0) ? 1 : -1;
    double size = fabs(h.d);
    grid.u = h.u & (int64_t)0x7ff << 52;
    double magic = (grid.d > k->least ? grid.d : k->least) * k->magic;
    double r = copysign((size + magic) - magic, h.d);
    bool off = r != h.d;
    if (!(fabs(r) <= k->max && size < k->high) || (off && size < k->least))
        return false;
    *inexact += off;
    *s = r;
    return true;
}

static double add_all(Arith *a, const BinaryPlan *k, double s, const double *x, int64_t n,
                      uint64_t draw, uint64_t step)
{
    uint64_t inexact = 0;
    if (a->round != ROUND_NEAREST || a->flush || !binary_has_rows(a))
        return add_exactly(a, s, x, n, draw, step);
    if (a->p == 53)
        return add_native(a, k, s, x, n);
    for (int64_t i = 0; i < n;) {
        int64_t ahead = add_ahead(k, &s, x + i, n - i, &inexact);
        /* Where exponents change all the time, looking ahead does not pay. */
        int64_t to = i + ahead + (ahead < AHEAD / 2 ? AHEAD : 1);
        for (i += ahead; i < n && i < to; i++)
            if (!add_near(k, &s, x[i], &inexact))
                s = binary_exact_op(a, EW_ADD, s, x[i], 0);
    }
    a->flags.inexact += inexact;
    return s;
}

/* Terms may be of a wider format: partial sum i, the first included, takes draw i. */
ArithStatus binary_sum(Arith *a, void *out, const void *x, int64_t sx, int64_t n)
{
    BinaryStrip in;
    BinaryPlan k = binary_plan(a);
    uint64_t draw = a->draw;
    double s = n > 0 ? binary_exact_f64(a, at(x, sx, 0)) : 0;
    for (int64_t i = 1; i < n; i += BINARY_STRIP) {
        int64_t count = n - i < BINARY_STRIP ? n - i : BINARY_STRIP;
        for (int64_t j = 0; j < count; j++)
            in[j] = at(x, sx, i + j);
        if (binary_stopped(a))
            return ARITH_INTERRUPT;
        s = add_all(a, &k, s, in, count, draw + (uint64_t)i, 1);
    }
    a->draw = draw + (uint64_t)n;
    *(double *)out = s;
    return ARITH_OK;
}

ArithStatus binary_dot(Arith *a, void *out, const void *x, int64_t sx, const void *y, int64_t sy,
                       int64_t n)
{
    BinaryStrip in[2], p;
    BinaryPlan k = binary_plan(a);
    BinaryOperation o = binary_operation(a, &k, EW_MULTIPLY);
    uint64_t draw = a->draw;
    double s = 0;
    k.step = DRAWS;
    for (int64_t i = 0; i < n; i += BINARY_STRIP) {
        int64_t count = n - i < BINARY_STRIP ? n - i : BINARY_STRIP, first = i == 0;
        if (binary_stopped(a))
            return ARITH_INTERRUPT;
        k.draw = draw + (uint64_t)(DRAWS * i);
        if (binary_has_rows(a))
            binary_run(a, &k, o, p, binary_strip(in[0], x, sx, i, count, 0),
                       binary_strip(in[1], y, sy, i, count, 0), NULL, count);
        else
            for (int64_t j = 0; j < count; j++) {
                a->draw = k.draw + (uint64_t)(DRAWS * j);
                p[j] = binary_exact_op(a, EW_MULTIPLY, at(x, sx, i + j), at(y, sy, i + j), 0);
            }
        if (first)
            s = p[0];
        s = add_all(a, &k, s, p + first, count - first, k.draw + 1 + (uint64_t)(DRAWS * first),
                    DRAWS);
    }
    a->draw = draw + (uint64_t)(DRAWS * n);
    *(double *)out = s;
    return ARITH_OK;
}
