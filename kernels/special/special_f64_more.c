/* Special functions in doubles, 2: zeta, elliptic integrals, incomplete gamma and beta functions,
 * orthogonal polynomials. See special_f64.c. */
#include "kernels/special/special_ball.h"
#include "kernels/special/special_pair.h"

#include <math.h>

/* ---- zeta of s > 1, by Euler and Maclaurin behind nine terms ---- */

bool fast_zeta(const double *x, double *r)
{
    enum { FIRST = 10 };
    static const double b[] = { 0.08333333333333333, -0.001388888888888889, 3.306878306878307e-05,
                                -8.267195767195768e-07, 2.08767569878681e-08,
                                -5.284190138687493e-10, 1.3382536530684679e-11,
                                -3.3896802963225827e-13,
                                8.586062056277845e-15, -2.174868698558062e-16 };
    double s = x[0], sum = 0, factor = s / FIRST, rest = 0;
    if (!(s > 1))
        return false;
    if (s > 55)
        return *r = 1, true;
    double power = pow(FIRST, -s);
    for (int k = 0; k < (int)(sizeof b / sizeof *b); k++) {
        rest += b[k] * factor;
        factor *= (s + 2 * k + 1) * (s + 2 * k + 2) / (FIRST * FIRST);
    }
    sum = power * (rest + 0.5) + FIRST * power / (s - 1);
    for (int k = FIRST - 1; k >= 1; k--)
        sum += pow(k, -s);
    *r = sum;
    return true;
}

/* ---- elliptic integrals by the arithmetic-geometric mean (Abramowitz and Stegun 17.6) ---- */

static Pair half(Pair x) { return (Pair){ x.h / 2, x.l / 2 }; }

/* pi/2 over the mean of 1 and sqrt(1 - m), and the sum of 2^(n - 1) c(n)^2 from n = 0 on. */
static Pair mean(double m, Pair *sum)
{
    static const Pair quarter = { 1.5707963267948966, 6.123233995736766e-17 };
    Pair a = { 1, 0 }, b = pair_root(pair_sum(1, -m));
    double factor = 0.5;
    *sum = pair_of(m / 2);
    for (int i = 0; i < 40 && fabs(a.h - b.h) > 1e-13 * a.h; i++) {
        Pair c = half(pair_sub(a, b)), next = half(pair_add(a, b));
        b = pair_root(pair_mul(a, b));
        a = next;
        factor *= 2;
        *sum = pair_add(*sum, pair_scale(pair_mul(c, c), factor));
    }
    return pair_div(quarter, half(pair_add(a, b)));
}

bool fast_ellipk(const double *x, double *r)
{
    Pair sum;
    if (!(x[0] < 1 && x[0] > -1e15))
        return false;
    *r = mean(x[0], &sum).h;
    return true;
}

bool fast_ellipe(const double *x, double *r)
{
    Pair sum;
    if (!(x[0] < 1 && x[0] > -1e6))
        return false;
    Pair k = mean(x[0], &sum);
    *r = pair_mul(k, pair_sub(pair_of(1), sum)).h;
    return true;
}

/* ---- incomplete gamma function ---- */

/* x^a e^-x / gamma(a + 1) */
static bool gamma_factor(double a, double x, double *r)
{
    Pair e = pair_sub(pair_scale(pair_log(pair_of(x)), a), pair_of(x));
    e = pair_sub(e, pair_lgamma(pair_sum(a, 1)));
    *r = pair_exp(e).h;
    return fabs(e.h) < 650;
}

/* Gamma(a, x) / (x^a e^-x) by its continued fraction (6.5.31), backwards from where Lentz's way
 * stops. */
static bool fraction_above(double a, double x, double *r)
{
    enum { STEPS_MAX = 2000 };
    double b = x + 1 - a, c = 1e300, d = 1 / b, h = d, change = 0;
    int n = 1;
    for (; n < STEPS_MAX && fabs(change - 1) > 1e-17; n++) {
        double t = n * (a - n);
        b += 2;
        d = 1 / (t * d + b);
        c = b + t / c;
        change = c * d;
        h *= change;
    }
    double f = x + 2 * n + 1 - a;
    for (int k = n; k >= 1; k--)
        f = x + 2 * k - 1 - a + k * (a - k) / f;
    *r = 1 / f;
    return n < STEPS_MAX && isfinite(h);
}

bool fast_gammainc(const double *x, double *r)
{
    enum { STEPS_MAX = 400 };
    double a = x[0], z = x[1], factor, fraction;
    if (!(a > 1e-3 && a < 500 && z > 1e-290 && z < 1000) || !gamma_factor(a, z, &factor))
        return false;
    if (z >= a + 1) {
        if (!fraction_above(a, z, &fraction))
            return false;
        *r = 1 - factor * a * fraction;
        return *r > 0.4;
    }
    Pair term = { 1, 0 }, sum = { 1, 0 };
    for (int k = 1; k < STEPS_MAX && term.h > 1e-19 * sum.h; k++) {
        term = pair_div(pair_scale(term, z), pair_sum(a, k));
        sum = pair_add(sum, term);
    }
    *r = factor * sum.h;
    return term.h <= 1e-19 * sum.h;
}

/* ---- incomplete beta function ---- */

/* Its continued fraction (26.5.8) backwards from so many pairs of steps; and in doubles, to see how
 * many it takes. */
static double beta_rough(double a, double b, double x, int n)
{
    double f = 1;
    for (int m = n; m >= 0; m--) {
        f = 1 - (a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1)) / f;
        if (m)
            f = 1 + m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)) / f;
    }
    return 1 / f;
}

static Pair beta_fraction(double a, double b, Pair x, int n)
{
    Pair f = { 1, 0 }, one = { 1, 0 };
    for (int m = n; m >= 0; m--) {
        Pair over = pair_mul(pair_sum(a, m), pair_add(pair_sum(a, b), pair_of(m)));
        Pair under = pair_mul(pair_sum(a, 2 * m), pair_sum(a, 2 * m + 1));
        f = pair_sub(one, pair_div(pair_mul(over, x), pair_mul(under, f)));
        if (!m)
            break;
        over = pair_scale(pair_sum(b, -m), m);
        under = pair_mul(pair_sum(a, 2 * m - 1), pair_sum(a, 2 * m));
        f = pair_add(one, pair_div(pair_mul(over, x), pair_mul(under, f)));
    }
    return pair_div(one, f);
}

/* x^a y^b / (a B(a, b)) times the fraction; y is 1 - x. */
static bool beta_part(double a, double b, Pair x, Pair y, double *r)
{
    enum { STEPS_MAX = 400 };
    Pair e = pair_add(pair_scale(pair_log(x), a), pair_scale(pair_log(y), b));
    e = pair_add(e, pair_lgamma(pair_sum(a, b)));
    e = pair_sub(e, pair_add(pair_lgamma(pair_of(a)), pair_lgamma(pair_of(b))));
    if (!(fabs(e.h) < 650))
        return false;
    int n = 8;
    double f = beta_rough(a, b, x.h, n), before;
    do {
        before = f;
        n += n / 2;
        f = beta_rough(a, b, x.h, n);
    } while (fabs(f - before) > 1e-13 * fabs(f) && n < STEPS_MAX);
    if (!(n < STEPS_MAX) || !isfinite(f))
        return false;
    *r = pair_over(pair_mul(pair_exp(e), beta_fraction(a, b, x, n + n / 2)), a).h;
    return true;
}

bool fast_betainc(const double *x, double *r)
{
    double a = x[0], b = x[1], z = x[2];
    if (!(a > 1e-2 && b > 1e-2 && a < 2000 && b < 2000 && z > 1e-290 && z < 1))
        return false;
    Pair p = pair_of(z), q = pair_sum(1, -z);
    if (z <= (a + 1) / (a + b + 2))
        return beta_part(a, b, p, q, r);
    bool done = beta_part(b, a, q, p, r);
    *r = 1 - *r;
    return done && *r > 0.3;
}

/* ---- orthogonal polynomials by their recurrences, in pairs ---- */

enum { DEGREE_MAX = 500 };

/* Is what came out of numbers up to `largest` good for its digits? The recurrences lose some
 * degree^2 units of 2^-104. */
static bool holds(Pair p, double largest, double *r)
{
    *r = p.h;
    return isfinite(largest) && fabs(p.h) > 0x1p-24 * largest;
}

static bool degree(const double *x, int *n)
{
    if (!(x[0] >= 0 && x[0] <= DEGREE_MAX && x[0] == floor(x[0]) && fabs(x[1]) < 1e150))
        return false;
    *n = (int)x[0];
    return true;
}

/* p(k + 1) = ((u x + v) p(k) - t p(k - 1)) / d */
static bool recurrence(const double *x, int way, double *r)
{
    int n;
    double most = 1;
    Pair p = { 1, 0 }, before = { 0, 0 };
    if (!degree(x, &n))
        return false;
    for (int k = 0; k < n; k++) {
        double u = way == 'p' ? 2 * k + 1 : way == 'l' ? -1 : way == 't' && k == 0 ? 1 : 2;
        double t = way == 'h' ? 2 * k : way == 't' ? 1 : k;
        Pair a = pair_scale(pair_of(x[1]), u);
        if (way == 'l')
            a = pair_add(a, pair_of(2 * k + 1));
        Pair next = pair_sub(pair_mul(a, p), pair_scale(before, t));
        if (way == 'p' || way == 'l')
            next = pair_over(next, k + 1);
        before = p;
        p = next;
        most = fmax(fabs(before.h), fabs(p.h));
        if (!(most < 1e290))
            return false;
    }
    return holds(p, most, r);
}

bool fast_legendre(const double *x, double *r) { return recurrence(x, 'p', r); }
bool fast_hermite(const double *x, double *r) { return recurrence(x, 'h', r); }
bool fast_laguerre(const double *x, double *r)
{
    return x[1] < 100 && x[1] > -100 && x[0] <= 100 && recurrence(x, 'l', r);
}
bool fast_chebyshev_t(const double *x, double *r) { return recurrence(x, 't', r); }
