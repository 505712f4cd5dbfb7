/* Special functions in doubles, 3: functions of Bessel, in pairs. J and I by their power series
 * where J does not cancel away, K by Steed's continued fraction (N. M. Temme, J. Comput. Phys. 19,
 * 1975) and its recurrence. See special_f64.c. */
#include "kernels/special/special_ball.h"
#include "kernels/special/special_pair.h"

#include <math.h>

enum { ORDER_MAX = 500 };

/* (x/2)^nu / gamma(nu + 1) sum of (sign x^2/4)^k / (k! (nu + 1) … (nu + k)), nu >= 0, x > 0. */
static bool series(double nu, double x, double sign, double *r)
{
    enum { STEPS_MAX = 300 };
    Pair square = { x / 2 * (x / 2), fma(x / 2, x / 2, -(x / 2 * (x / 2))) };
    Pair term = { 1, 0 }, sum = { 1, 0 };
    double most = 1;
    int k = 1;
    for (; k < STEPS_MAX && fabs(term.h) > 1e-22 * fabs(sum.h); k++) {
        term = pair_div(pair_mul(term, square), pair_scale(pair_sum(nu, k), sign * k));
        sum = pair_add(sum, term);
        most = fmax(most, fabs(term.h));
    }
    Pair e = pair_sub(pair_scale(pair_log(pair_of(x / 2)), nu), pair_lgamma(pair_sum(nu, 1)));
    if (!(fabs(e.h) < 650) || k == STEPS_MAX || !(fabs(sum.h) > most * 0x1p-40))
        return false;
    *r = pair_mul(pair_exp(e), sum).h;
    return isfinite(*r) && fabs(*r) > 1e-290;
}

static bool first_kind(const double *x, double most, double sign, double *r)
{
    double nu = x[0], z = fabs(x[1]);
    bool whole = nu == floor(nu), odd = fmod(nu, 2) != 0;
    if (!(z > 1e-100 && z < most && fabs(nu) < ORDER_MAX) || (!whole && (nu < 0 || x[1] < 0)))
        return false;
    if (!series(fabs(nu), z, sign, r))
        return false;
    bool flips = odd && ((x[1] < 0) != (nu < 0 && sign < 0));
    *r = flips ? -*r : *r;
    return true;
}

bool fast_bessel_j(const double *x, double *r) { return first_kind(x, 24, -1, r); }
bool fast_bessel_i(const double *x, double *r) { return first_kind(x, 100, 1, r); }

/* K of the orders mu and mu + 1, |mu| <= 1/2, x >= 2. */
static bool second_kind(double mu, double x, Pair *low, Pair *high)
{
    enum { STEPS_MAX = 500 };
    static const Pair half_pi = { 1.5707963267948966, 6.123233995736766e-17 };
    Pair one = { 1, 0 }, b = pair_scale(pair_sum(1, x), 2), d = pair_div(one, b), change = d, h = d;
    Pair q1 = { 0, 0 }, q2 = one, square = { mu * mu, fma(mu, mu, -(mu * mu)) };
    Pair first = pair_sub(pair_of(0.25), square), q = first, c = first, a = pair_negative(first);
    Pair s = pair_add(one, pair_mul(q, change)), part = one;
    int i = 2;
    if (first.h != 0)
        for (; i < STEPS_MAX && fabs(part.h) > 1e-22 * fabs(s.h); i++) {
            a = pair_sub(a, pair_of(2 * (i - 1)));
            c = pair_over(pair_negative(pair_mul(a, c)), i);
            Pair next = pair_div(pair_sub(q1, pair_mul(b, q2)), a);
            q1 = q2;
            q2 = next;
            q = pair_add(q, pair_mul(c, next));
            b = pair_add(b, pair_of(2));
            d = pair_div(one, pair_add(b, pair_mul(a, d)));
            change = pair_mul(pair_sub(pair_mul(b, d), one), change);
            h = pair_add(h, change);
            part = pair_mul(q, change);
            s = pair_add(s, part);
        }
    h = pair_mul(first, h);
    *low = pair_div(pair_mul(pair_root(pair_over(half_pi, x)), pair_exp(pair_of(-x))), s);
    *high = pair_over(pair_mul(*low, pair_sub(pair_add(pair_sum(x, 0.5), pair_of(mu)), h)), x);
    return i < STEPS_MAX;
}

bool fast_bessel_k(const double *x, double *r)
{
    double nu = fabs(x[0]), z = x[1], whole = rint(nu);
    Pair low, high;
    if (!(nu < ORDER_MAX && z >= 2 && z < 600) || !second_kind(nu - whole, z, &low, &high))
        return false;
    for (double k = 1; k <= whole && high.h < 1e290; k++) {
        Pair next = pair_mul(pair_over(pair_scale(pair_sum(nu - whole, k), 2), z), high);
        next = pair_add(low, next);
        low = high;
        high = next;
    }
    *r = low.h;
    return high.h < 1e290 && low.h > 1e-280;
}
