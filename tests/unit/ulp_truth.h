/* What the real elementwise rows compute, by their definitions in MPFR with TRUTH_BITS bits: shares
 * no code with the kernels that tests/unit/ulp.c holds to their bounds. A row with a float formula
 * and a float result must have an entry here; what is exact in every format stands here too, so
 * that a row cannot be forgotten. The functions that are composed (gelu, silu …) lose at most some
 * 2 log2 |x| bits on the way, and |x| beyond what any format tells from its limit is set aside
 * first. */
#ifndef RICCI_TESTS_UNIT_ULP_TRUTH_H
#define RICCI_TESTS_UNIT_ULP_TRUTH_H

#include "kernels/elementwise/ew.h"

#include <mpfr.h>

enum { TRUTH_BITS = 192, FAR = 100000 };

/* r = f(x, y, z); x, y and z have as many bits as their format. */
typedef void (*TruthFn)(mpfr_t r, const mpfr_t x, const mpfr_t y, const mpfr_t z);
#define TRUTH(name) static void truth_##name(mpfr_t r, const mpfr_t x, const mpfr_t y, \
                                             const mpfr_t z)
#define UNUSED (void)x, (void)y, (void)z
#define DIRECT1(name, call) TRUTH(name) { UNUSED; call(r, x, MPFR_RNDN); }
#define DIRECT2(name, call) TRUTH(name) { UNUSED; call(r, x, y, MPFR_RNDN); }

DIRECT2(add, mpfr_add)
DIRECT2(subtract, mpfr_sub)
DIRECT2(multiply, mpfr_mul)
DIRECT2(divide, mpfr_div)
DIRECT2(atan2, mpfr_atan2)
DIRECT2(hypot, mpfr_hypot)
DIRECT2(power, mpfr_pow)
DIRECT1(negative, mpfr_neg)
DIRECT1(positive, mpfr_set)
DIRECT1(abs, mpfr_abs)
DIRECT1(sqrt, mpfr_sqrt)
DIRECT1(cbrt, mpfr_cbrt)
DIRECT1(exp, mpfr_exp)
DIRECT1(expm1, mpfr_expm1)
DIRECT1(log, mpfr_log)
DIRECT1(log2, mpfr_log2)
DIRECT1(log10, mpfr_log10)
DIRECT1(log1p, mpfr_log1p)
DIRECT1(sin, mpfr_sin)
DIRECT1(cos, mpfr_cos)
DIRECT1(tan, mpfr_tan)
DIRECT1(asin, mpfr_asin)
DIRECT1(acos, mpfr_acos)
DIRECT1(atan, mpfr_atan)
DIRECT1(sinh, mpfr_sinh)
DIRECT1(cosh, mpfr_cosh)
DIRECT1(tanh, mpfr_tanh)
DIRECT1(asinh, mpfr_asinh)
DIRECT1(acosh, mpfr_acosh)
DIRECT1(atanh, mpfr_atanh)
DIRECT1(erf, mpfr_erf)
DIRECT1(erfc, mpfr_erfc)

TRUTH(fma) { UNUSED; mpfr_fma(r, x, y, z, MPFR_RNDN); }
TRUTH(floor) { UNUSED; mpfr_rint_floor(r, x, MPFR_RNDN); }
TRUTH(ceil) { UNUSED; mpfr_rint_ceil(r, x, MPFR_RNDN); }
TRUTH(rint) { UNUSED; mpfr_rint(r, x, MPFR_RNDN); }
TRUTH(trunc) { UNUSED; mpfr_rint_trunc(r, x, MPFR_RNDN); }
TRUTH(imag) { UNUSED; mpfr_set_zero(r, 1); }

TRUTH(sign)
{
    UNUSED;
    if (mpfr_nan_p(x) || mpfr_zero_p(x))
        mpfr_set(r, x, MPFR_RNDN);
    else
        mpfr_set_si(r, mpfr_sgn(x), MPFR_RNDN);
}

/* The sign of the divisor; a zero has it too. */
DIRECT2(fmod, mpfr_fmod)
TRUTH(copysign) { UNUSED; mpfr_setsign(r, x, !mpfr_nan_p(y) && mpfr_signbit(y), MPFR_RNDN); }

/* 2^y may leave MPFR's own range. */
TRUTH(ldexp)
{
    UNUSED;
    mpfr_exp2(r, y, MPFR_RNDN);
    if (mpfr_number_p(y) && (mpfr_zero_p(x) || mpfr_inf_p(x)))
        mpfr_set(r, x, MPFR_RNDN);
    else
        mpfr_mul(r, x, r, MPFR_RNDN);
}

TRUTH(mod)
{
    UNUSED;
    mpfr_fmod(r, x, y, MPFR_RNDN);
    if (mpfr_nan_p(r))
        return;
    if (mpfr_zero_p(r))
        mpfr_setsign(r, r, mpfr_signbit(y), MPFR_RNDN);
    else if (mpfr_signbit(r) != mpfr_signbit(y))
        mpfr_add(r, r, y, MPFR_RNDN);
}

TRUTH(floor_divide)
{
    UNUSED;
    mpfr_t rest;
    mpfr_init2(rest, TRUTH_BITS);
    if (mpfr_zero_p(y) || mpfr_nan_p(x) || mpfr_nan_p(y) || mpfr_inf_p(x)) {
        mpfr_div(r, x, y, MPFR_RNDN);
        if (mpfr_inf_p(x) && !mpfr_zero_p(y))
            mpfr_set_nan(r);
    } else {
        mpfr_fmod(rest, x, y, MPFR_RNDN);
        mpfr_div(r, x, y, MPFR_RNDN);       /* for the sign of zero */
        int sign = mpfr_signbit(r);
        mpfr_sub(r, x, rest, MPFR_RNDN);
        mpfr_div(r, r, y, MPFR_RNDN);
        mpfr_rint(r, r, MPFR_RNDN);
        if (!mpfr_zero_p(rest) && mpfr_signbit(rest) != mpfr_signbit(y))
            mpfr_sub_ui(r, r, 1, MPFR_RNDN);
        if (mpfr_zero_p(r))
            mpfr_setsign(r, r, sign, MPFR_RNDN);
    }
    mpfr_clear(rest);
}

static void truth_choose(mpfr_t r, const mpfr_t x, const mpfr_t y, bool first)
{
    if (mpfr_nan_p(x) || mpfr_nan_p(y))
        mpfr_set_nan(r);
    else
        mpfr_set(r, first ? x : y, MPFR_RNDN);
}

TRUTH(maximum) { UNUSED; truth_choose(r, x, y, mpfr_greater_p(x, y)); }
TRUTH(minimum) { UNUSED; truth_choose(r, x, y, mpfr_less_p(x, y)); }

TRUTH(clamp)
{
    UNUSED;
    truth_choose(r, x, y, mpfr_greater_p(x, y));
    truth_choose(r, r, z, mpfr_less_p(r, z));
}

TRUTH(where) { UNUSED; mpfr_set(r, mpfr_zero_p(x) ? z : y, MPFR_RNDN); }

TRUTH(relu)
{
    UNUSED;
    if (mpfr_nan_p(x) || mpfr_sgn(x) > 0)
        mpfr_set(r, x, MPFR_RNDN);
    else
        mpfr_set_zero(r, 1);
}

TRUTH(relu6)
{
    truth_relu(r, x, y, z);
    if (mpfr_cmp_ui(r, 6) > 0)
        mpfr_set_ui(r, 6, MPFR_RNDN);
}

TRUTH(angle)
{
    UNUSED;
    if (mpfr_nan_p(x))
        mpfr_set_nan(r);
    else if (mpfr_signbit(x))
        mpfr_const_pi(r, MPFR_RNDN);
    else
        mpfr_set_zero(r, 1);
}

/* Whether |x| > FAR, or x is a nan. */
static bool truth_far(const mpfr_t x)
{
    return mpfr_nan_p(x) || mpfr_cmp_si(x, FAR) > 0 || mpfr_cmp_si(x, -FAR) < 0;
}

/* Of x < -FAR: a number too small for any format, of that sign. */
static void truth_speck(mpfr_t r, int sign) { mpfr_set_si_2exp(r, sign, -1000000, MPFR_RNDN); }

TRUTH(sigmoid)
{
    UNUSED;
    if (truth_far(x)) {
        if (mpfr_nan_p(x))
            mpfr_set_nan(r);
        else if (mpfr_sgn(x) > 0)
            mpfr_set_ui(r, 1, MPFR_RNDN);
        else
            truth_speck(r, 1);
        return;
    }
    mpfr_neg(r, x, MPFR_RNDN);
    mpfr_exp(r, r, MPFR_RNDN);
    mpfr_add_ui(r, r, 1, MPFR_RNDN);
    mpfr_ui_div(r, 1, r, MPFR_RNDN);
}

TRUTH(silu)
{
    if (mpfr_inf_p(x) && mpfr_sgn(x) < 0) {
        mpfr_set_zero(r, -1);
        return;
    }
    if (truth_far(x) && !mpfr_nan_p(x) && mpfr_sgn(x) < 0) {
        truth_speck(r, -1);
        return;
    }
    truth_sigmoid(r, x, y, z);
    mpfr_mul(r, r, x, MPFR_RNDN);
}

TRUTH(softplus)
{
    UNUSED;
    if (truth_far(x)) {
        mpfr_set(r, x, MPFR_RNDN);
        if (!mpfr_nan_p(x) && mpfr_sgn(x) < 0)
            truth_speck(r, 1);
        return;
    }
    mpfr_exp(r, x, MPFR_RNDN);
    mpfr_log1p(r, r, MPFR_RNDN);
}

TRUTH(gelu)
{
    UNUSED;
    if (truth_far(x)) {
        mpfr_set(r, x, MPFR_RNDN);
        if (!mpfr_nan_p(x) && mpfr_sgn(x) < 0)
            truth_speck(r, -1);
        return;
    }
    mpfr_t root;
    mpfr_init2(root, TRUTH_BITS);
    mpfr_sqrt_ui(root, 2, MPFR_RNDN);
    mpfr_div(r, x, root, MPFR_RNDN);
    mpfr_neg(r, r, MPFR_RNDN);
    mpfr_erfc(r, r, MPFR_RNDN);
    mpfr_mul(r, r, x, MPFR_RNDN);
    mpfr_div_2ui(r, r, 1, MPFR_RNDN);
    mpfr_clear(root);
}

TRUTH(gamma)
{
    UNUSED;
    if (mpfr_zero_p(x)) {
        mpfr_set_inf(r, mpfr_signbit(x) ? -1 : 1);
    } else if (mpfr_number_p(x) && mpfr_cmp_si(x, -400) < 0 && !mpfr_integer_p(x)) {
        mpfr_rint_floor(r, x, MPFR_RNDN);   /* the sign is all that is left */
        int odd = mpfr_get_exp(x) < 60 && (mpfr_get_si(r, MPFR_RNDN) & 1);
        truth_speck(r, odd ? -1 : 1);
    } else {
        mpfr_gamma(r, x, MPFR_RNDN);
    }
}

TRUTH(lgamma)
{
    UNUSED;
    int sign;
    mpfr_lgamma(r, &sign, x, MPFR_RNDN);
}

static const TruthFn truths[EW_COUNT] = {
    [EW_ADD] = truth_add, [EW_SUBTRACT] = truth_subtract, [EW_MULTIPLY] = truth_multiply,
    [EW_DIVIDE] = truth_divide, [EW_FLOOR_DIVIDE] = truth_floor_divide, [EW_MOD] = truth_mod,
    [EW_FMOD] = truth_fmod, [EW_COPYSIGN] = truth_copysign, [EW_LDEXP] = truth_ldexp,
    [EW_POWER] = truth_power, [EW_NEGATIVE] = truth_negative, [EW_POSITIVE] = truth_positive,
    [EW_FMA] = truth_fma, [EW_ABS] = truth_abs, [EW_SIGN] = truth_sign,
    [EW_MAXIMUM] = truth_maximum,
    [EW_MINIMUM] = truth_minimum, [EW_CLAMP] = truth_clamp, [EW_WHERE] = truth_where,
    [EW_FLOOR] = truth_floor, [EW_CEIL] = truth_ceil, [EW_ROUND] = truth_rint,
    [EW_TRUNC] = truth_trunc,
    [EW_SQRT] = truth_sqrt, [EW_CBRT] = truth_cbrt, [EW_EXP] = truth_exp, [EW_EXPM1] = truth_expm1,
    [EW_LOG] = truth_log, [EW_LOG2] = truth_log2, [EW_LOG10] = truth_log10,
    [EW_LOG1P] = truth_log1p,
    [EW_SIN] = truth_sin, [EW_COS] = truth_cos, [EW_TAN] = truth_tan, [EW_ASIN] = truth_asin,
    [EW_ACOS] = truth_acos, [EW_ATAN] = truth_atan, [EW_ATAN2] = truth_atan2,
    [EW_SINH] = truth_sinh,
    [EW_COSH] = truth_cosh, [EW_TANH] = truth_tanh, [EW_ASINH] = truth_asinh,
    [EW_ACOSH] = truth_acosh,
    [EW_ATANH] = truth_atanh, [EW_HYPOT] = truth_hypot, [EW_REAL] = truth_positive,
    [EW_IMAG] = truth_imag,
    [EW_CONJ] = truth_positive, [EW_ANGLE] = truth_angle, [EW_SIGMOID] = truth_sigmoid,
    [EW_RELU] = truth_relu, [EW_RELU6] = truth_relu6, [EW_GELU] = truth_gelu,
    [EW_SILU] = truth_silu, [EW_SOFTPLUS] = truth_softplus,
    [EW_ERF] = truth_erf, [EW_ERFC] = truth_erfc, [EW_GAMMA] = truth_gamma,
    [EW_LGAMMA] = truth_lgamma,
};

#endif
