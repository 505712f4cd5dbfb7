/* Special functions in doubles, 1: elementary ones, gamma and its relatives, the inverses of erf.
 * Each is false where it would lose more than its 4 ulp: near zeros that it does not know, beyond
 * its domain, at poles; then a ball has it. */
#include "kernels/special/special_ball.h"
#include "kernels/special/special_pair.h"

#include <math.h>

static double polynomial(const double *c, int n, double x)
{
    double s = c[n - 1];
    for (int i = n - 2; i >= 0; i--)
        s = s * x + c[i];
    return s;
}

/* ---- elementary ones ---- */

/* log p - log(1 - p); from 1/4 to 3/4 by 2p - 1 and 1 - p, of which the first is exact. */
bool fast_logit(const double *x, double *r)
{
    double p = x[0];
    if (!(p > 0 && p < 1))
        return false;
    *r = p < 0.25 || p > 0.75 ? log(p / (1 - p)) : log1p((2 * p - 1) / (1 - p));
    return p <= 0.75 && p >= 0x1p-1000;
}

bool fast_expit(const double *x, double *r)
{
    double e = exp(-fabs(x[0]));
    *r = x[0] < 0 ? e / (1 + e) : 1 / (1 + e);
    return x[0] > -700;
}

bool fast_xlogy(const double *x, double *r)
{
    *r = x[0] == 0 ? 0 : x[0] * log(x[1]);
    return x[0] == 0 || x[1] > 0;
}

/* Where the two terms have one sign; else they may cancel. */
bool fast_logaddexp(const double *x, double *r)
{
    double most = fmax(x[0], x[1]), rest = log1p(exp(-fabs(x[0] - x[1])));
    *r = most + rest;
    return most >= 0 || most < -2 * rest;
}

/* sin(pi x) with x reduced to a quarter of its period, which is exact. */
bool fast_sinc(const double *x, double *r)
{
    double a = fabs(x[0]), rest = fmod(a, 2), sign = 1;
    if (a < 1e-8) {
        *r = 1;
        return true;
    }
    if (rest >= 1) {
        rest -= 1;
        sign = -1;
    }
    if (rest > 0.5)
        rest = 1 - rest;
    Pair pi = { 3.141592653589793, 1.2246467991473532e-16 };
    Pair angle = pair_scale(pi, rest);
    double s = rest > 0.25 ? cos(pi.h * (0.5 - rest)) : sin(angle.h) + angle.l * cos(angle.h);
    *r = rest == 0 ? 0 : sign * s / (pi.h * a);
    return a < 0x1p52;
}

/* ---- gamma ---- */

/* The kernel of the row gamma, within an ulp. */
static double gamma_at(double x)
{
    double r;
    const void *in[] = { &x };
    const int64_t step[] = { 0 };
    ew_kernel(EW_GAMMA, DT_F64)(&r, 0, in, step, 1);
    return r;
}

/* gamma(s) of a sum that was rounded: x's rest moves it by digamma(s) of itself. */
static double gamma_of(Pair s)
{
    double psi = 0;
    if (s.l != 0)
        fast_digamma(&s.h, &psi);
    return gamma_at(s.h) * (1 + s.l * psi);
}

/* Of whole numbers the product. */
bool fast_factorial(const double *x, double *r)
{
    double n = x[0];
    Pair p = { 1, 0 };
    if (!(n >= -0.999 && n <= 170))
        return false;
    if (n == floor(n)) {
        for (double k = 2; k <= n; k++)
            p = pair_scale(p, k);
    } else {
        p.h = gamma_of(pair_sum(n, 1));
    }
    *r = p.h;
    return true;
}

/* Of a whole k that is not large the product, else by gamma. */
bool fast_comb(const double *x, double *r)
{
    enum { PRODUCT_MAX = 30 };
    double n = x[0], k = x[1];
    Pair p = { 1, 0 };
    if (!(n >= 0 && k >= 0 && n < 1e5))
        return false;
    Pair rest = pair_sum(n, -k);
    if (rest.h < 0)
        return *r = 0, true;
    if (k == floor(k) && k <= PRODUCT_MAX && n >= k) {
        for (double i = 0; i < k; i++)
            p = pair_div(pair_mul(p, pair_sum(n, -i)), pair_of(i + 1));
        *r = p.h;
        return true;
    }
    p = pair_sub(pair_lgamma(pair_sum(n, 1)), pair_lgamma(pair_sum(k, 1)));
    p = pair_sub(p, pair_lgamma(pair_add(rest, pair_of(1))));
    if (!(fabs(p.h) < 690))
        return false;
    *r = pair_exp(p).h;
    return true;
}

/* On [1, 2] (x - root) times a polynomial in 2x - 3, a Chebyshev fit to 2e-18 (by mpmath). */
static double digamma_from_1(double x)
{
    static const double c[] = {
        0.9510558760318328, -0.2118137106407303, 0.06013562106019684, -0.018550615381735008,
        0.005936795278301762, -0.001935066664861307, 0.0006368880303865801,
        -0.00021074841138175618, 6.995018825114039e-05, -2.3258242519110107e-05,
        7.741234508578073e-06, -2.5780939540562055e-06, 8.589060723630378e-07,
        -2.863161166668704e-07, 9.543298256460653e-08, -3.1629111501920236e-08,
        1.0527692817537124e-08, -3.7083753021374936e-09, 1.2469981761953264e-09,
        -2.758099580005358e-10, 8.734540466937011e-11, -8.50550747212114e-11,
        2.918620540545917e-11 };
    double from_root = (x - 1.4616321449683622) - 9.549995429965697e-17;
    return from_root * polynomial(c, sizeof c / sizeof *c, 2 * x - 3);
}

/* Abramowitz and Stegun 6.3.18. */
static double digamma_large(double x)
{
    static const double c[] = { 0.08333333333333333, -0.008333333333333333, 0.003968253968253968,
                                -0.004166666666666667, 0.007575757575757576, -0.021092796092796094,
                                0.08333333333333333, -0.4432598039215686 };
    double s = 1 / (x * x);
    return log(x) - (0.5 / x + s * polynomial(c, sizeof c / sizeof *c, s));
}

bool fast_digamma(const double *x, double *r)
{
    enum { LARGE = 10 };
    double y = x[0], shift = 0;
    if (!(y > 1e-300))
        return false;
    if (y >= LARGE)
        return *r = digamma_large(y), true;
    if (y < 1) {
        Pair one_more = pair_sum(y, 1);         /* a slope of at most pi^2 / 6 */
        *r = digamma_from_1(one_more.h) + 1.2 * one_more.l - 1 / y;
        return true;
    }
    while (y > 2) {             /* exact */
        y -= 1;
        shift += 1 / y;
    }
    *r = digamma_from_1(y) + shift;
    return true;
}

static bool beta_logarithm(const double *x, Pair *r)
{
    if (!(x[0] > 1e-290 && x[1] > 1e-290 && x[0] < 1e5 && x[1] < 1e5))
        return false;
    *r = pair_sub(pair_add(pair_lgamma(pair_of(x[0])), pair_lgamma(pair_of(x[1]))),
                  pair_lgamma(pair_sum(x[0], x[1])));
    return true;
}

bool fast_beta(const double *x, double *r)
{
    Pair p;
    if (!beta_logarithm(x, &p) || !(fabs(p.h) < 690))
        return false;
    *r = pair_exp(p).h;
    return true;
}

bool fast_lbeta(const double *x, double *r)
{
    Pair p;
    if (!beta_logarithm(x, &p))
        return false;
    *r = p.h;
    return fabs(p.h) > 1e-6;
}

/* ---- the inverses of erf ---- */

/* M. Giles, GPU Computing Gems 2 (2012): to 1e-7, of w = -log(1 - x^2). */
static double erfinv_near(double x, double w)
{
    static const double centre[] = { 1.50140941, 0.246640727, -0.00417768164, -0.00125372503,
                                     0.00021858087, -4.39150654e-06, -3.5233877e-06,
                                     3.43273939e-07, 2.81022636e-08 };
    static const double tail[] = { 2.83297682, 1.00167406, 0.00943887047, -0.0076224613,
                                   0.00573950773, -0.00367342844, 0.00134934322, 0.000100950558,
                                   -0.000200214257 };
    int n = sizeof centre / sizeof *centre;
    return x * (w < 5 ? polynomial(centre, n, w - 2.5) : polynomial(tail, n, sqrt(w) - 3));
}

/* A step of Halley: y with the error e of erf there. */
static double halley(double y, double e)
{
    double u = e * 0.88622692545275801365 * exp(y * y);
    return y - u / (1 + y * u);
}

/* erf(y) = x >= 0, erfc(y) = q, of which one is exact. In the far tail from
 * y^2 = -log(q sqrt(pi) y). */
static double inverse_of(double x, double q)
{
    double w = -log(q * (2 - q)), y = erfinv_near(x, w);
    bool far = w > 14;
    if (far) {
        y = sqrt(-log(q));
        for (int i = 0; i < 4; i++)
            y = sqrt(-log(q * 1.7724538509055159 * y));
    }
    for (int i = 0; i < (far ? 3 : 2); i++)
        y = halley(y, x < 0.5 ? erf(y) - x : q - erfc(y));
    return y;
}

bool fast_erfinv(const double *x, double *r)
{
    double a = fabs(x[0]);
    if (!(a < 1))
        return false;
    *r = a < 1e-9 ? a * 0.88622692545275801365 : inverse_of(a, 1 - a);
    *r = copysign(*r, x[0]);
    return a >= 1e-300;
}

bool fast_erfcinv(const double *x, double *r)
{
    double q = x[0];
    if (!(q > 1e-290 && q < 2))
        return false;
    *r = q <= 1 ? inverse_of(1 - q, q) : -inverse_of(q - 1, 2 - q);
    return fabs(q - 1) > 1e-9;
}
