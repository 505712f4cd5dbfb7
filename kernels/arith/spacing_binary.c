/* Neighbours and distances of binary formats of at most 53 bits, by their exponents. */
#include "kernels/arith/spacing_binary.h"

#include <math.h>

/* The exponent of the numbers around x: at least that of the smallest normal ones. */
static int exponent_of(const BinaryFormat *f, double x)
{
    return x == 0 || ilogb(x) < f->emin ? f->emin : ilogb(x);
}

double spacing_ulp(const BinaryFormat *f, double x)
{
    if (!isfinite(x))
        return NAN;
    return ldexp(1, exponent_of(f, x) - f->p + 1);
}

double spacing_next(const BinaryFormat *f, double x, double y)
{
    if (isnan(x) || isnan(y))
        return NAN;
    if (x == y)
        return x;
    if (isinf(x))
        return copysign(f->max, x);
    double step = spacing_ulp(f, x), size = fabs(x);
    bool away = x == 0 || (y > x) == (x > 0);
    if (away && size == f->max)
        return f->over == 'i' ? copysign(INFINITY, x) : f->over == 'n' ? NAN : x;
    if (away)
        return copysign(size + step, x == 0 ? y : x);
    /* Below a power of two the numbers stand twice as dense, but not among the subnormals. */
    if (size == ldexp(1, exponent_of(f, x)) && ilogb(x) > f->emin)
        step /= 2;
    return copysign(size - step, x);
}

void spacing_next_row(DType dt, double *out, int64_t so, const double *x, int64_t sx,
                      const double *y, int64_t sy, int64_t n)
{
    BinaryFormat f = { 0 };
    binary_format(dt, &f);
    for (int64_t i = 0; i < n; i++)
        out[i * so] = spacing_next(&f, x[i * sx], y[i * sy]);
}
