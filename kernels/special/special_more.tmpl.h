/* Zeta and elliptic integrals. */

/* ---- zeta of s > 1 by polynomials of what it is beside its pole ---- */

static bool fast_zeta(const double *x, double *r)
{
    enum { MOST = sizeof zeta_table / sizeof *zeta_table + 1 };
    double s = x[0];
    if (!(s > 1))
        return false;
    if (s >= MOST)              /* 3^-s is beyond the last digit */
        return *r = 1 + exp2(-s), true;
    int row = (int)s - 1;
    *r = sixteen_terms(zeta_table[row], s - (row + 1.5)) + 1 / (s - 1);
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
