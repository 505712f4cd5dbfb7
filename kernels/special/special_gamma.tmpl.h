/* Elementary functions, gamma and its relatives, the inverses of erf. */

static double polynomial(const double *c, int n, double x)
{
    double s = c[n - 1];
    for (int i = n - 2; i >= 0; i--)
        s = s * x + c[i];
    return s;
}

/* ---- elementary ones ---- */

/* log p - log(1 - p); from 1/4 to 3/4 by 2p - 1 and 1 - p, of which the first is exact. */
static bool fast_logit(const double *x, double *r)
{
    double p = x[0];
    if (!(p > 0 && p < 1))
        return false;
    *r = p < 0.25 || p > 0.75 ? log(p / (1 - p)) : log1p((2 * p - 1) / (1 - p));
    return p >= 0x1p-1000;
}

static bool fast_expit(const double *x, double *r)
{
    double e = exp(-fabs(x[0]));
    *r = x[0] < 0 ? e / (1 + e) : 1 / (1 + e);
    return x[0] > -700;
}

static bool fast_xlogy(const double *x, double *r)
{
    *r = x[0] == 0 ? 0 : x[0] * log(x[1]);
    return x[0] == 0 || x[1] > 0;
}

/* Where the two terms have one sign; else they may cancel. */
static bool fast_logaddexp(const double *x, double *r)
{
    double most = fmax(x[0], x[1]), rest = log1p(exp(-fabs(x[0] - x[1])));
    *r = most + rest;
    return most >= 0 || most < -2 * rest;
}

/* sin(pi x) with x reduced to a quarter of its period, which is exact. */
static bool fast_sinc(const double *x, double *r)
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

/* c(0) + c(1) t + … of 16 terms, four chains of which none waits for another. */
static inline double sixteen_terms(const double *c, double t)
{
    double s[4], square = t * t, fourth = square * square;
    for (int i = 0; i < 4; i++)
        s[i] = fma(fma(fma(c[12 + i], fourth, c[8 + i]), fourth, c[4 + i]), fourth, c[i]);
    return fma(fma(s[3], t, s[2]), square, fma(s[1], t, s[0]));
}

/* gamma of 1 <= x < 16 by Taylor's series around the middle of its sixteenth of an octave: to
 * 2^-54, as the terms in doubles are a quarter of it at most. */
static inline Pair gamma_near(Pair x)
{
    int e = x.h >= 8 ? 3 : x.h >= 4 ? 2 : x.h >= 2 ? 1 : 0;
    int i = (int)((x.h * power_of_2(-e) - 1) * 16), row = 16 * e + i;
    Pair t = pair_sum(x.h - (1 + (2 * i + 1) / 32.0) * power_of_2(e), x.l);
    const Pair *head = gamma_terms_first[row];
    double rest = sixteen_terms(gamma_terms[row], t.h) * (t.h * t.h), p = head[1].h * t.h;
    double low = fma(head[1].h, t.h, -p) + (head[1].h * t.l + head[1].l * t.h);
    Pair s = pair_ordered(head[0].h, p);
    return pair_ordered(s.h, s.l + ((head[0].l + low) + rest));
}

/* a b / c to 2^-100, with one division. */
static inline Pair product_over(Pair a, Pair b, Pair c)
{
    double p = a.h * b.h, low = fma(a.h, b.h, -p) + (a.h * b.l + a.l * b.h), inverse = 1 / c.h;
    double q = p * inverse, rest = fma(-q, c.h, p) + (low - q * c.l);
    return pair_ordered(q, rest * inverse);
}

enum { GAMMA_NEAR = 64 };

/* gamma of 1 <= x < GAMMA_NEAR to 2^-54 or so: above 16 that of x - n, n a multiple of 8, times
 * x - n, x - n + 1, …, in two chains. */
static Pair pair_gamma(Pair x)
{
    if (x.h < 16)
        return gamma_near(x);
    int n = ((int)x.h / 8 - 1) * 8;
    double first = x.h - n;
    Pair a = gamma_near(pair_sum(first, x.l)), b = pair_one;
    for (int k = 0; k < n; k += 2) {            /* the sums are exact */
        double f = first + k, g = first + (k + 1), ah = a.h * f, bh = b.h * g;
        a.l = fma(a.h, f, -ah) + (a.l * f + a.h * x.l);
        b.l = fma(b.h, g, -bh) + (b.l * g + b.h * x.l);
        a.h = ah;
        b.h = bh;
    }
    return pair_mul(a, b);
}

static bool fast_factorial(const double *x, double *r)
{
    double n = x[0];
    if (!(n >= -0.999 && n <= 170))
        return false;
    if (n >= 0 && n == floor(n))
        return *r = factorial_table[(int)n].h, true;
    Pair s = pair_sum(n, 1);
    if (s.h < 1) {
        Pair g = pair_gamma(pair_add(s, pair_one));
        *r = pair_div(g, s).h;
    } else if (s.h < GAMMA_NEAR) {
        *r = pair_gamma(s).h;
    } else {
        *r = pair_exp(pair_lgamma(s)).h;
    }
    return n < 169.9;
}

/* n (n - 1) … (n - k + 1) / k! */
static double falling(double n, int k)
{
    Pair p = pair_one;
    for (int i = 0; i < k; i++)
        p = pair_mul(p, pair_sum(n, -i));
    return pair_div(p, factorial_table[k]).h;
}

/* Of whole numbers by factorials; of a whole k that is not large the product; else by gamma. */
static bool fast_comb(const double *x, double *r)
{
    enum { PRODUCT_MAX = 16, FACTORIAL_MAX = 170 };
    double n = x[0], k = x[1];
    if (!(n >= 0 && k >= 0 && n < 1e5))
        return false;
    Pair rest = pair_sum(n, -k), one_more = pair_sum(n, 1);
    if (rest.h < 0)
        return *r = 0, true;
    bool whole = k == floor(k);
    if (whole && n <= FACTORIAL_MAX && n == floor(n)) {
        Pair below = pair_mul(factorial_table[(int)k], factorial_table[(int)rest.h]);
        return *r = product_over(factorial_table[(int)n], pair_one, below).h, true;
    }
    if (whole && k <= PRODUCT_MAX)
        return *r = falling(n, (int)k), true;
    Pair k_more = pair_sum(k, 1), rest_more = pair_add(rest, pair_one);
    if (one_more.h < GAMMA_NEAR) {
        Pair below = pair_mul(pair_gamma(k_more), pair_gamma(rest_more));
        return *r = product_over(pair_gamma(one_more), pair_one, below).h, true;
    }
    Pair p = pair_sub(pair_lgamma(one_more), pair_lgamma(k_more));
    p = pair_sub(p, pair_lgamma(rest_more));
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

static bool fast_digamma(const double *x, double *r)
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

/* x^-n, x a pair */
static double inverse_power(Pair x, double n)
{
    if (n == 2) {
        double v = 1 / x.h, e = fma(-v, x.h, 1) - v * x.l;
        return v * v * (1 + 2 * e);
    }
    return pow(x.h, -n) * (1 - n * x.l / x.h);
}

/* n! times zeta(n + 1, x) of Hurwitz, by Euler and Maclaurin (DLMF 25.11.43) behind some terms;
 * all of them have one sign. */
static bool fast_polygamma(const double *x, double *r)
{
    enum { TERMS = sizeof bernoulli_table / sizeof *bernoulli_table, ORDER_MAX = 18 };
    double n = x[0], z = x[1], sum = 0;
    if (n == 0)
        return fast_digamma(x + 1, r);
    if (!(n >= 1 && n <= ORDER_MAX && n == floor(n) && z > 1e-15 && z < 1e15))
        return false;
    double least = 7 + n, steps = z < least ? ceil(least - z) : 0;
    Pair y = pair_sum(z, steps);
    double v = 1 / y.h, w = v * v, factor = (n + 1) / 2, factorial = 1;
    for (int j = 0; j < TERMS; j++) {
        sum += bernoulli_table[j] * factor * v;
        factor *= w * (n + 2 * j + 2) * (n + 2 * j + 3) / ((2 * j + 3) * (2 * j + 4));
    }
    double power = inverse_power(y, n + 1);
    sum = power * (sum + 0.5) + power * y.h / n;
    for (double k = steps - 1; k >= 0; k--)
        sum += inverse_power(pair_sum(z, k), n + 1);
    for (double k = 2; k <= n; k++)
        factorial *= k;
    *r = fmod(n, 2) != 0 ? factorial * sum : -factorial * sum;
    return fabs(*r) < 1e300;
}

/* Of a sum that is large the logarithm of gamma grows: 1e5 log(1e5) in 2^-72. */
static bool beta_logarithm(const double *x, Pair *r)
{
    if (!(x[0] > 1e-290 && x[1] > 1e-290 && x[0] < 1e5 && x[1] < 1e5))
        return false;
    *r = pair_sub(pair_add(pair_lgamma(pair_of(x[0])), pair_lgamma(pair_of(x[1]))),
                  pair_lgamma(pair_sum(x[0], x[1])));
    return true;
}

/* gamma(x) of 0 < x < GAMMA_NEAR. */
static inline Pair gamma_from_0(Pair x)
{
    return x.h < 1 ? pair_div(pair_gamma(pair_add(x, pair_one)), x) : pair_gamma(x);
}

/* By gamma itself, to 2^-52; false: the operands are not moderate. */
static bool beta_moderate(const double *x, Pair *r)
{
    Pair sum = pair_sum(x[0], x[1]);
    if (!(x[0] > 1e-30 && x[1] > 1e-30 && sum.h < GAMMA_NEAR))
        return false;
    *r = product_over(gamma_from_0(pair_of(x[0])), gamma_from_0(pair_of(x[1])), gamma_from_0(sum));
    return true;
}

static bool fast_beta(const double *x, double *r)
{
    Pair p;
    if (beta_moderate(x, &p))
        return *r = p.h, true;
    if (!beta_logarithm(x, &p) || !(fabs(p.h) < 690))
        return false;
    *r = pair_exp(p).h;
    return true;
}

/* Of a beta that is not near 1 its logarithm, as what that one lacks is some 2^-53. */
static bool fast_lbeta(const double *x, double *r)
{
    Pair p;
    if (beta_moderate(x, &p) && !(p.h > 0.6 && p.h < 1.6))
        return *r = log(p.h) + p.l / p.h, true;
    if (!beta_logarithm(x, &p))
        return false;
    *r = p.h;
    return fabs(p.h) > 1e-3;
}

/* ---- the inverses of erf ---- */

/* The quotient of two polynomials of degree 7. */
static double quotient(const double (*c)[8], double x)
{
    double s = c[0][7], t = c[1][7];
    for (int i = 6; i >= 0; i--) {
        s = fma(s, x, c[0][i]);
        t = fma(t, x, c[1][i]);
    }
    return s / t;
}

/* erf(y) = x >= 0, erfc(y) = q, of which one is exact: what is added to sqrt(pi) / 2 x, or taken
 * from sqrt(-log(q / 2)), as M. J. Wichura divides the range (AS 241, Appl. Statist. 37, 1988). */
static double inverse_of(double x, double q)
{
    const double first = 0.886226925452758, low = -3.8332932499128993e-17;
    if (x <= 0.85) {
        double z = x * x;
        return fma(x, first, x * fma(z, quotient(erfinv_near, 0.7225 - z), low));
    }
    double r = sqrt(-log(q / 2));
    return r - (r <= 5 ? quotient(erfinv_middle, r - 1.6) : quotient(erfinv_far, r - 5));
}

static bool fast_erfinv(const double *x, double *r)
{
    double a = fabs(x[0]);
    if (!(a < 1))
        return false;
    *r = a < 1e-9 ? a * 0.88622692545275801365 : inverse_of(a, 1 - a);
    *r = copysign(*r, x[0]);
    return a >= 1e-300;
}

static bool fast_erfcinv(const double *x, double *r)
{
    double q = x[0];
    if (!(q > 1e-290 && q < 2))
        return false;
    *r = q <= 1 ? inverse_of(1 - q, q) : -inverse_of(q - 1, 2 - q);
    return fabs(q - 1) > 1e-9;
}
