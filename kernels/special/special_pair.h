/* Sums of two doubles, 106 bits, for what must not lose the last ones on the way. T. J. Dekker,
 * Numer. Math. 18 (1971); fma makes products exact on every processor. Nothing here overflows on
 * purpose: callers keep away from the ends of the range. */
#ifndef RICCI_KERNELS_SPECIAL_PAIR_H
#define RICCI_KERNELS_SPECIAL_PAIR_H

#include <math.h>

typedef struct Pair { double h, l; } Pair;

static inline Pair pair_of(double x) { return (Pair){ x, 0 }; }

static inline Pair pair_sum(double a, double b)         /* exact */
{
    double s = a + b, t = s - a;
    return (Pair){ s, (a - (s - t)) + (b - t) };
}

static inline Pair pair_ordered(double a, double b)     /* exact of |a| >= |b| */
{
    double s = a + b;
    return (Pair){ s, b - (s - a) };
}

/* To 2^-104 of the larger operand. */
static inline Pair pair_add(Pair a, Pair b)
{
    Pair s = pair_sum(a.h, b.h);
    return pair_ordered(s.h, s.l + (a.l + b.l));
}

static inline Pair pair_negative(Pair a) { return (Pair){ -a.h, -a.l }; }
static inline Pair pair_sub(Pair a, Pair b) { return pair_add(a, pair_negative(b)); }

static inline Pair pair_mul(Pair a, Pair b)
{
    double p = a.h * b.h, e = fma(a.h, b.h, -p);
    return pair_ordered(p, e + (a.h * b.l + a.l * b.h));
}

static inline Pair pair_scale(Pair a, double b)
{
    double p = a.h * b, e = fma(a.h, b, -p);
    return pair_ordered(p, fma(a.l, b, e));
}

static inline Pair pair_div(Pair a, Pair b)
{
    double q = a.h / b.h;
    Pair r = pair_sub(a, pair_scale(b, q));
    return pair_ordered(q, (r.h + r.l) / b.h);
}

static inline Pair pair_over(Pair a, double b)
{
    double q = a.h / b, r = fma(-q, b, a.h);
    return pair_ordered(q, (r + a.l) / b);
}

static inline Pair pair_root(Pair x)
{
    double y = sqrt(x.h);
    Pair rest = pair_sub(x, (Pair){ y * y, fma(y, y, -(y * y)) });
    return pair_ordered(y, (rest.h + rest.l) / (2 * y));
}

#endif
