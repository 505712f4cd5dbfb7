/* Neighbours and distances of numbers: see spacing.h. Binary formats of at most 53 bits by
 * their exponents; decimal and mp by the neighbours that their arithmetic knows. */
#include "kernels/number/spacing.h"

#include "kernels/number/number.h"

#include <math.h>

/* ---- binary formats ---- */
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

/* ---- decimal and mp ---- */
static ArithStatus number_ulp(Arith *a, Rational *out, const Rational *x)
{
    Rational inf, size, next;
    const int64_t one[] = { 1, 1 };
    if (number_is_zero(a->dtype, x))
        return ARITH_DIGITS;
    if (number_is_nan(a->dtype, x) || number_is_inf(a->dtype, x))
        return number_from_text(a, out, "nan", 3);
    ArithStatus s = number_from_text(a, &inf, "inf", 3);
    if (s == ARITH_OK)
        s = a->ops->ew(a, EW_ABS, &size, 1, (const void *const[]){ x }, one, 1);
    if (s == ARITH_OK)
        s = a->ops->ew(a, EW_NEXTAFTER, &next, 1, (const void *const[]){ &size, &inf }, one, 1);
    return s == ARITH_OK
               ? a->ops->ew(a, EW_SUBTRACT, out, 1, (const void *const[]){ &next, &size }, one, 1)
               : s;
}

/* ---- rows ---- */
ArithStatus spacing_ulp_row(Arith *a, void *out, int64_t so, const void *x, int64_t sx, int64_t n)
{
    BinaryFormat f;
    bool binary = binary_format(a->dtype, &f);
    if (!binary && dtype_base(a->dtype) != DT_DECIMAL && dtype_base(a->dtype) != DT_MP)
        return ARITH_NONE;
    for (int64_t i = 0; i < n; i++) {
        if ((i & 1023) == 0 && *a->ctx->interrupt)
            return ARITH_INTERRUPT;
        if (binary) {
            ((double *)out)[i * so] = spacing_ulp(&f, ((const double *)x)[i * sx]);
            continue;
        }
        ArithStatus s = number_ulp(a, (Rational *)out + i * so, (const Rational *)x + i * sx);
        if (s != ARITH_OK)
            return s;
    }
    return ARITH_OK;
}

void spacing_next_row(DType dt, double *out, int64_t so, const double *x, int64_t sx,
                      const double *y, int64_t sy, int64_t n)
{
    BinaryFormat f = { 0 };
    binary_format(dt, &f);
    for (int64_t i = 0; i < n; i++)
        out[i * so] = spacing_next(&f, x[i * sx], y[i * sy]);
}
