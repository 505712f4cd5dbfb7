/* Exponential, logarithm and gamma in pairs of doubles. */
#include "kernels/special/special_pair.h"

#include <stdbool.h>

/* exp(r) - 1 of the rest r = (x - k log 2) / 64 by Taylor's series, doubled six times. From the
 * third power on doubles will do: that is below 3e-8. */
Pair pair_exp(Pair x)
{
    enum { DOUBLINGS = 6 };
    static const Pair log2 = { 0.6931471805599453, 2.3190468138462996e-17 };
    double k = rint(x.h / log2.h);
    Pair r = pair_sub(x, pair_scale(log2, k));
    r = (Pair){ ldexp(r.h, -DOUBLINGS), ldexp(r.l, -DOUBLINGS) };
    double t = r.h, tail = 1.0 / 720 + t * (1.0 / 5040 + t * (1.0 / 40320 + t / 362880));
    tail = 1.0 / 6 + t * (1.0 / 24 + t * (1.0 / 120 + t * tail));
    Pair square = pair_mul(r, r);
    Pair s = pair_add(r, pair_add(pair_scale(square, 0.5), pair_of(tail * t * square.h)));
    for (int i = 0; i < DOUBLINGS; i++)
        s = pair_add((Pair){ 2 * s.h, 2 * s.l }, pair_mul(s, s));
    s = pair_add(s, pair_of(1));
    return (Pair){ ldexp(s.h, (int)k), ldexp(s.l, (int)k) };
}

/* One step of Newton from the double. */
Pair pair_log(Pair x)
{
    int k;
    static const Pair log2 = { 0.6931471805599453, 2.3190468138462996e-17 };
    double m = frexp(x.h, &k);
    if (m < 0.7071)
        k--;
    Pair y = { ldexp(x.h, -k), ldexp(x.l, -k) };
    double first = log(y.h);
    Pair e = pair_sub(pair_mul(y, pair_exp(pair_of(-first))), pair_of(1));
    e.l -= e.h * e.h / 2;
    return pair_add(pair_scale(log2, k), pair_add(pair_of(first), e));
}

/* Stirling's series (Abramowitz and Stegun 6.1.40) from 24 on, below by the recurrence. */
Pair pair_lgamma(Pair x)
{
    enum { LARGE = 24 };
    static const Pair half_log = { 0.9189385332046728, -3.8782941580672414e-17 };
    static const Pair terms[] = {       /* B(2k) / (2k (2k - 1)), the last first */
        { -156.84828462600203, 0 }, { 13.402864044168393, 0 }, { -1.3924322169059011, 0 },
        { 0.17964437236883057, 0 }, { -0.029550653594771242, 4.861760957508855e-19 },
        { 0.00641025641025641, 2.2240044563805217e-19 },
        { -0.0019175269175269176, 1.0675702776872475e-19 },
        { 0.0008417508417508417, 3.6870174889237694e-20 },
        { -0.0005952380952380953, 5.36938218754726e-20 },
        { 0.0007936507936507937, 6.883823317368282e-22 },
        { -0.002777777777777778, 1.0601087908747154e-19 },
        { 0.08333333333333333, 4.625929269271485e-18 },
    };
    Pair product = { 1, 0 };
    bool shifted = x.h < LARGE;
    while (x.h < LARGE) {
        product = pair_mul(product, x);
        x = pair_add(x, pair_of(1));
    }
    Pair inverse = pair_div(pair_of(1), x), square = pair_mul(inverse, inverse), s = { 0, 0 };
    for (unsigned i = 0; i < sizeof terms / sizeof *terms; i++)
        s = pair_add(pair_mul(s, square), terms[i]);
    s = pair_add(pair_mul(s, inverse), half_log);
    s = pair_sub(s, x);
    s = pair_add(s, pair_mul(pair_sub(x, pair_of(0.5)), pair_log(x)));
    return shifted ? pair_sub(s, pair_log(product)) : s;
}
