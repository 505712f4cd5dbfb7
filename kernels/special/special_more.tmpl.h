/* Zeta, elliptic integrals, orthogonal polynomials. */

/* ---- zeta of s > 1, by Euler and Maclaurin behind nine terms ---- */

static bool fast_zeta(const double *x, double *r)
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
    double two = pow(2, -s), three = pow(3, -s), five = pow(5, -s), seven = pow(7, -s);
    double powers[] = { 1, two, three, two * two, five, two * three, seven, two * two * two,
                        three * three }, power = two * five;
    for (int k = 0; k < (int)(sizeof b / sizeof *b); k++) {
        rest += b[k] * factor;
        factor *= (s + 2 * k + 1) * (s + 2 * k + 2) / (FIRST * FIRST);
    }
    sum = power * (rest + 0.5) + FIRST * power / (s - 1);
    for (int k = FIRST - 1; k >= 1; k--)
        sum += powers[k - 1];
    *r = sum;
    return true;
}

/* ---- elliptic integrals of the parameter m ---- */

/* P(y) - log(y) Q(y), y = 1 - m, c having both polynomials. */
static double elliptic(const double (*c)[12], double y)
{
    double p = polynomial(c[0], 12, y), q = polynomial(c[1], 12, y);
    return p - log(y) * q;
}

/* Of m < 0 by that of m / (m - 1) (DLMF 19.7.3). */
static bool fast_ellipk(const double *x, double *r)
{
    double m = x[0], y = 1 - m;
    if (!(m < 1 && m > -1e15))
        return false;
    *r = m >= 0 ? elliptic(ellipk_table, y) : elliptic(ellipk_table, 1 / y) / sqrt(y);
    return true;
}

static bool fast_ellipe(const double *x, double *r)
{
    double m = x[0], y = 1 - m;
    if (!(m < 1 && m > -1e15))
        return false;
    *r = m >= 0 ? elliptic(ellipe_table, y) : elliptic(ellipe_table, 1 / y) * sqrt(y);
    return true;
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

/* p(k + 1) of p(k) and p(k - 1), Abramowitz and Stegun 22.7; the quotients do not wait for p. */
static Pair step_legendre(double k, double x, Pair p, Pair before)
{
    Pair a = pair_scale(p, x);
    return pair_add(a, pair_mul(pair_sub(a, before), pair_over(pair_of(k), k + 1)));
}

static Pair step_hermite(double k, double x, Pair p, Pair before)
{
    return pair_sub(pair_scale(p, 2 * x), pair_scale(before, 2 * k));
}

static Pair step_laguerre(double k, double x, Pair p, Pair before)
{
    Pair change = pair_sub(pair_scale(pair_sub(p, before), k), pair_scale(p, x));
    return pair_add(p, pair_mul(change, pair_over(pair_one, k + 1)));
}

static inline bool recurrence(const double *x, Pair (*step)(double, double, Pair, Pair), double *r)
{
    int n;
    double most = 1;
    Pair p = { 1, 0 }, before = { 0, 0 };
    if (!degree(x, &n))
        return false;
    for (int k = 0; k < n; k++) {
        Pair next = step(k, x[1], p, before);
        before = p;
        p = next;
        most = fmax(fabs(before.h), fabs(p.h));
        if (!(most < 1e290))
            return false;
    }
    return holds(p, most, r);
}

static bool fast_legendre(const double *x, double *r) { return recurrence(x, step_legendre, r); }
static bool fast_hermite(const double *x, double *r) { return recurrence(x, step_hermite, r); }
static bool fast_laguerre(const double *x, double *r)
{
    return x[1] < 100 && x[1] > -100 && x[0] <= 100 && recurrence(x, step_laguerre, r);
}

/* T(2k) = 2 T(k)^2 - 1 and T(2k + 1) = 2 T(k) T(k + 1) - x, down the bits of the degree. */
static bool fast_chebyshev_t(const double *x, double *r)
{
    int n;
    if (!degree(x, &n))
        return false;
    Pair p = { 1, 0 }, next = pair_of(x[1]);
    int bit = 1;
    while (bit <= n / 2)
        bit *= 2;
    for (; bit && fabs(next.h) < 1e140; bit /= 2) {
        bool odd = n & bit;
        Pair both = pair_mul(p, next), square = odd ? pair_mul(next, next) : pair_mul(p, p);
        both = pair_sub((Pair){ 2 * both.h, 2 * both.l }, pair_of(x[1]));
        square = pair_sub((Pair){ 2 * square.h, 2 * square.l }, pair_one);
        p = odd ? both : square;
        next = odd ? square : both;
    }
    return !bit && holds(p, fmax(1, fabs(p.h)), r);
}
