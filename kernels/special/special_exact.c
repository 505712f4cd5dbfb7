/* Special functions of fractions, where what comes out is one: factorials, binomial coefficients
 * and orthogonal polynomials by their recurrences of three terms (Abramowitz and Stegun, table
 * 22.7). */
#include "kernels/special/special_ball.h"

#include "kernels/number/arith_number.h"

/* So many factors or steps; beyond them numbers have millions of digits. */
enum { DEGREE_MAX = 100000 };

static RationalStatus product_to(Ctx *ctx, Rational *out, int64_t from, int64_t to)
{
    RationalStatus s = RATIONAL_OK;
    if (to - from < 8) {
        *out = rational_int(1);
        for (int64_t k = from; s == RATIONAL_OK && k <= to; k++)
            s = rational_mul(ctx, out, *out, rational_int(k));
        return s;
    }
    Rational low, high;
    int64_t middle = from + (to - from) / 2;
    s = product_to(ctx, &low, from, middle);
    if (s == RATIONAL_OK)
        s = product_to(ctx, &high, middle + 1, to);
    return s == RATIONAL_OK ? rational_mul(ctx, out, low, high) : s;
}

static ArithStatus factorial(Ctx *ctx, Rational *out, Rational x)
{
    int64_t n;
    if (!rational_as_int(x, &n))
        return rational_is_integer(x) ? ARITH_DIGITS : ARITH_INEXACT;
    if (n < 0)
        return ARITH_DIVISION;
    return n > 10 * DEGREE_MAX ? ARITH_DIGITS : cells_status(product_to(ctx, out, 1, n));
}

/* x (x - 1) … (x - k + 1) / k! of a whole k; 0 where SciPy has it. */
static ArithStatus binomial(Ctx *ctx, Rational *out, Rational x, Rational lower)
{
    int64_t n, k;
    Rational factor;
    bool whole = rational_as_int(x, &n);
    if (!rational_as_int(lower, &k))
        return ARITH_INEXACT;
    *out = rational_int(0);
    if (k < 0 || rational_sign(x) < 0 || rational_compare(ctx, x, lower) < 0)
        return ARITH_OK;
    k = whole && n - k < k ? n - k : k;
    if (k > DEGREE_MAX)
        return ARITH_DIGITS;
    *out = rational_int(1);
    RationalStatus s = RATIONAL_OK;
    for (int64_t i = 0; s == RATIONAL_OK && i < k; i++) {
        s = rational_sub(ctx, &factor, x, rational_int(i));
        if (s == RATIONAL_OK)
            s = rational_mul(ctx, out, *out, factor);
        if (s == RATIONAL_OK)
            s = rational_div(ctx, out, *out, rational_int(i + 1));
        if (*ctx->interrupt)
            return ARITH_INTERRUPT;
    }
    return cells_status(s);
}

/* p(k + 1) = ((u x + v) p(k) - t p(k - 1)) / d, the coefficients of step k. */
typedef struct Terms { int64_t u, v, t, d; } Terms;

static Terms terms(SpecialId id, int64_t k)
{
    switch (id) {
    case SPECIAL_legendre: return (Terms){ 2 * k + 1, 0, k, k + 1 };
    case SPECIAL_hermite: return (Terms){ 2, 0, 2 * k, 1 };
    case SPECIAL_laguerre: return (Terms){ -1, 2 * k + 1, k, k + 1 };
    default: return (Terms){ k ? 2 : 1, 0, k ? 1 : 0, 1 };
    }
}

static RationalStatus next(Ctx *ctx, Terms t, Rational x, Rational p, Rational before,
                           Rational *out)
{
    Rational a, b;
    RationalStatus s = rational_mul(ctx, &a, x, rational_int(t.u));
    if (s == RATIONAL_OK)
        s = rational_add(ctx, &a, a, rational_int(t.v));
    if (s == RATIONAL_OK)
        s = rational_mul(ctx, &a, a, p);
    if (s == RATIONAL_OK)
        s = rational_mul(ctx, &b, before, rational_int(t.t));
    if (s == RATIONAL_OK)
        s = rational_sub(ctx, &a, a, b);
    return s == RATIONAL_OK ? rational_div(ctx, out, a, rational_int(t.d)) : s;
}

static ArithStatus polynomial(Ctx *ctx, SpecialId id, Rational *out, Rational degree, Rational x)
{
    int64_t n;
    Rational p = rational_int(1), before = rational_int(0), after;
    if (!rational_as_int(degree, &n) || n < 0)
        return ARITH_INEXACT;
    if (n > DEGREE_MAX)
        return ARITH_DIGITS;
    for (int64_t k = 0; k < n; k++) {
        RationalStatus s = next(ctx, terms(id, k), x, p, before, &after);
        if (s != RATIONAL_OK || *ctx->interrupt)
            return *ctx->interrupt ? ARITH_INTERRUPT : cells_status(s);
        before = p;
        p = after;
    }
    *out = p;
    return ARITH_OK;
}

ArithStatus special_exact(Ctx *ctx, SpecialId id, Rational *out, const NumberCell *const x[])
{
    switch (id) {
    case SPECIAL_factorial: return factorial(ctx, out, x[0]->number);
    case SPECIAL_comb: return binomial(ctx, out, x[0]->number, x[1]->number);
    case SPECIAL_legendre: case SPECIAL_hermite: case SPECIAL_laguerre: case SPECIAL_chebyshev_t:
        return polynomial(ctx, id, out, x[0]->number, x[1]->number);
    default: return ARITH_INEXACT;
    }
}
