/* Zeta and elliptic integrals. */

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
