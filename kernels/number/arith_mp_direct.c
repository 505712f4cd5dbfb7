/* One operation on numbers of any length, correctly rounded by MPFR itself: the table of its
 * functions by EwOp, and the few that take two of them and are exact in between (floor division,
 * remainder). */
#include "kernels/number/arith_number.h"

/* Where MPFR's functions of one and two operands stand in its table; 0: none (no function
 * stands at offset 0 but mpfr_init2). */
#define AT(name) (offsetof(Mpfr, name))
static const uint16_t unary[EW_COUNT] = {
    [EW_SQRT] = AT(mpfr_sqrt), [EW_CBRT] = AT(mpfr_cbrt), [EW_EXP] = AT(mpfr_exp),
    [EW_EXPM1] = AT(mpfr_expm1), [EW_LOG] = AT(mpfr_log), [EW_LOG2] = AT(mpfr_log2),
    [EW_LOG10] = AT(mpfr_log10), [EW_LOG1P] = AT(mpfr_log1p), [EW_SIN] = AT(mpfr_sin),
    [EW_COS] = AT(mpfr_cos), [EW_TAN] = AT(mpfr_tan), [EW_ASIN] = AT(mpfr_asin),
    [EW_ACOS] = AT(mpfr_acos), [EW_ATAN] = AT(mpfr_atan), [EW_SINH] = AT(mpfr_sinh),
    [EW_COSH] = AT(mpfr_cosh), [EW_TANH] = AT(mpfr_tanh), [EW_ASINH] = AT(mpfr_asinh),
    [EW_ACOSH] = AT(mpfr_acosh), [EW_ATANH] = AT(mpfr_atanh), [EW_ERF] = AT(mpfr_erf),
    [EW_ERFC] = AT(mpfr_erfc), [EW_GAMMA] = AT(mpfr_gamma), [EW_NEGATIVE] = AT(mpfr_neg),
    [EW_POSITIVE] = AT(mpfr_set),
};
static const uint16_t binary[EW_COUNT] = {
    [EW_ADD] = AT(mpfr_add), [EW_SUBTRACT] = AT(mpfr_sub), [EW_MULTIPLY] = AT(mpfr_mul),
    [EW_DIVIDE] = AT(mpfr_div), [EW_POWER] = AT(mpfr_pow), [EW_HYPOT] = AT(mpfr_hypot),
    [EW_ATAN2] = AT(mpfr_atan2),
};
#undef AT

typedef int (*Unary)(mpfr_ptr, mpfr_srcptr, mpfr_rnd_t);
typedef int (*Binary)(mpfr_ptr, mpfr_srcptr, mpfr_srcptr, mpfr_rnd_t);

static mpfr_prec_t longer(mpfr_srcptr x, mpfr_srcptr y)
{
    return x->_mpfr_prec > y->_mpfr_prec ? x->_mpfr_prec : y->_mpfr_prec;
}

/* x - y floor(x / y), which has the sign of y. C's remainder is a multiple of the finer unit of
 * both and below both, so it needs no more bits than the longer. */
static int modulo(const Mpfr *f, mpfr_ptr r, mpfr_srcptr x, mpfr_srcptr y, mpfr_rnd_t rnd)
{
    mpfr_t rest;
    f->mpfr_init2(rest, longer(x, y));
    f->mpfr_fmod(rest, x, y, MPFR_RNDN);
    int t = 0, sign = mpfr_sign(rest);
    if (sign != 0 && (sign < 0) != (y->_mpfr_sign < 0))
        t = f->mpfr_add(r, rest, y, rnd);
    else
        t = f->mpfr_set(r, rest, rnd);
    if (mpfr_is_zero(r) && sign == 0)
        r->_mpfr_sign = y->_mpfr_sign;
    f->mpfr_clear(rest);
    return t;
}

/* floor(x / y): the quotient rounded down with all its whole digits, as far as they can be
 * wanted. Of a number by an infinity of the other sign it is -1. */
static int floor_divide(const Mpfr *f, mpfr_ptr r, mpfr_srcptr x, mpfr_srcptr y, mpfr_rnd_t rnd)
{
    enum { WHOLE_MAX = 1 << 20 };
    if (mpfr_is_regular(x) && mpfr_is_inf(y) && mpfr_sign(x) != mpfr_sign(y))
        return f->mpfr_set_si_2exp(r, -1, 0, rnd);
    if (!mpfr_is_regular(x) || !mpfr_is_regular(y))
        return f->mpfr_div(r, x, y, rnd);
    int64_t whole = x->_mpfr_exp - y->_mpfr_exp + 1;
    if (whole > WHOLE_MAX)
        return f->mpfr_div(r, x, y, rnd);
    mpfr_t q;
    f->mpfr_init2(q, (whole > 0 ? whole : 0) + 64);
    f->mpfr_div(q, x, y, MPFR_RNDD);
    f->mpfr_rint(q, q, MPFR_RNDD);
    int t = f->mpfr_set(r, q, rnd);
    f->mpfr_clear(q);
    return t;
}

/* An integer beside x, which fits wherever x does. */
static int whole(const Mpfr *f, mpfr_ptr r, mpfr_srcptr x, mpfr_rnd_t to)
{
    f->mpfr_rint(r, x, to);
    return 0;
}

static int sign(const Mpfr *f, mpfr_ptr r, mpfr_srcptr x)
{
    if (mpfr_sign(x) == 0)
        f->mpfr_set(r, x, MPFR_RNDN);
    else
        f->mpfr_set_si_2exp(r, mpfr_sign(x), 0, MPFR_RNDN);
    return 0;
}

static int angle(const Mpfr *f, mpfr_ptr r, mpfr_srcptr x, mpfr_rnd_t rnd)
{
    __mpfr_struct zero = { ._mpfr_prec = 64, ._mpfr_sign = 1, ._mpfr_exp = __MPFR_EXP_ZERO,
                           ._mpfr_d = x->_mpfr_d };
    return f->mpfr_atan2(r, &zero, x, rnd);
}

bool mp_excessive(EwOp op, mpfr_srcptr x)
{
    enum { EXPONENT_MAX = 1 << 24, REFLECTED_MAX = 1 << 16 };
    bool periodic = op == EW_SIN || op == EW_COS || op == EW_TAN;
    bool product = op == EW_GAMMA || op == EW_LGAMMA;
    if (!mpfr_is_regular(x))
        return false;
    return (periodic && x->_mpfr_exp > EXPONENT_MAX) ||
           (product && x->_mpfr_exp > REFLECTED_MAX && x->_mpfr_sign < 0);
}

bool mp_slow(const Mpfr *f, EwOp op, mpfr_srcptr x, mpfr_prec_t bits)
{
    enum { GAMMA_BITS = 9 << 10, ERF_BITS = 1 << 17, FACTORIAL_EXP = 9 };
    if (!mpfr_is_regular(x))
        return false;
    switch (op) {
    case EW_GAMMA:              /* of small integers it is a product of integers */
        if (x->_mpfr_exp <= FACTORIAL_EXP && f->mpfr_integer_p(x))
            return false;
        return bits > GAMMA_BITS;
    case EW_LGAMMA: return bits > GAMMA_BITS;
    case EW_ERF: case EW_ERFC: case EW_GELU: return bits > ERF_BITS + 1024;
    default: return false;
    }
}

int mp_direct(const Mpfr *f, EwOp op, mpfr_ptr r, mpfr_srcptr x, mpfr_srcptr y, mpfr_srcptr z,
              mpfr_rnd_t rnd, bool *known)
{
    int sign_of_gamma;
    *known = true;
    if (unary[op])
        return ((Unary)*(void *const *)(const void *)((const char *)f + unary[op]))(r, x, rnd);
    if (binary[op])
        return ((Binary)*(void *const *)(const void *)((const char *)f + binary[op]))(r, x, y, rnd);
    switch (op) {
    case EW_FMA: return f->mpfr_fma(r, x, y, z, rnd);
    case EW_LGAMMA: return f->mpfr_lgamma(r, &sign_of_gamma, x, rnd);
    case EW_FLOOR: return whole(f, r, x, MPFR_RNDD);
    case EW_CEIL: return whole(f, r, x, MPFR_RNDU);
    case EW_TRUNC: return whole(f, r, x, MPFR_RNDZ);
    case EW_ROUND: return whole(f, r, x, MPFR_RNDN);
    case EW_SIGN: return sign(f, r, x);
    case EW_ANGLE: return angle(f, r, x, rnd);
    case EW_MOD: return modulo(f, r, x, y, rnd);
    case EW_FLOOR_DIVIDE: return floor_divide(f, r, x, y, rnd);
    default: *known = false; return 0;
    }
}
