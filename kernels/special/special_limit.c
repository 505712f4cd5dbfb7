/* What special functions are at infinity: the limits, nan where there is none. */
#include "kernels/special/special_ball.h"

#include <math.h>

static double odd(double n) { return fmod(n, 2) != 0; }

/* A polynomial of degree n whose leading coefficient has that sign. */
static double polynomial(double n, double x, double sign)
{
    if (isinf(n) || n < 0 || n != floor(n))
        return NAN;
    return n == 0 ? 1 : x > 0 || !odd(n) ? sign * INFINITY : -sign * INFINITY;
}

static double bessel(SpecialId f, double nu, double x)
{
    bool whole = nu == floor(nu);
    if (isinf(nu))
        return NAN;
    if (x < 0 && (!whole || f == SPECIAL_bessel_y || f == SPECIAL_bessel_k))
        return NAN;
    if (f != SPECIAL_bessel_i)
        return 0;
    return x < 0 && odd(nu) ? -INFINITY : INFINITY;
}

static double sum_of_exponentials(const double *x, int *same)
{
    if (x[0] == INFINITY || x[1] == INFINITY)
        return INFINITY;
    *same = isinf(x[0]) ? 1 : 0;            /* the other one is all there is */
    return 0;
}

static double airy(SpecialId f, double x)
{
    if (x < 0)
        return f == SPECIAL_airy_ai || f == SPECIAL_airy_bi ? 0 : NAN;
    return f == SPECIAL_airy_ai || f == SPECIAL_airy_aip ? 0 : INFINITY;
}

static double gamma_below(double a, double x)
{
    if (a < 0 || x < 0 || (isinf(a) && isinf(x)))
        return NAN;
    return isinf(x) ? 1 : 0;
}

static double beta(const double *x, bool logarithm)
{
    if (!(x[0] > 0 && x[1] > 0))
        return NAN;
    return logarithm ? -INFINITY : 0;
}

double special_limit(SpecialId f, const double *x, int *same)
{
    bool up = x[0] > 0;
    *same = -1;
    switch (f) {
    case SPECIAL_factorial: case SPECIAL_digamma: return up ? INFINITY : NAN;
    case SPECIAL_polygamma: return x[0] >= 1 && isfinite(x[0]) && x[1] > 0 ? 0 : NAN;
    case SPECIAL_beta: return beta(x, false);
    case SPECIAL_lbeta: return beta(x, true);
    case SPECIAL_zeta: return up ? 1 : NAN;
    case SPECIAL_bessel_j: case SPECIAL_bessel_y: case SPECIAL_bessel_i: case SPECIAL_bessel_k:
        return bessel(f, x[0], x[1]);
    case SPECIAL_airy_ai: case SPECIAL_airy_aip: case SPECIAL_airy_bi: case SPECIAL_airy_bip:
        return airy(f, x[0]);
    case SPECIAL_ellipk: return up ? NAN : 0;
    case SPECIAL_ellipe: return up ? NAN : INFINITY;
    case SPECIAL_gammainc: return gamma_below(x[0], x[1]);
    case SPECIAL_expit: return up ? 1 : 0;
    case SPECIAL_xlogy: return x[0] == 0 ? 0 : x[0] * log(x[1]);
    case SPECIAL_logaddexp: return sum_of_exponentials(x, same);
    case SPECIAL_sinc: return 0;
    case SPECIAL_legendre: case SPECIAL_hermite: case SPECIAL_chebyshev_t:
        return polynomial(x[0], x[1], 1);
    case SPECIAL_laguerre: return polynomial(x[0], x[1], isfinite(x[0]) && odd(x[0]) ? -1 : 1);
    default: return NAN;
    }
}
