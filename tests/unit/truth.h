/* What a rounding is, from its definition: exact rational numbers and square roots in integers
 * of any length, cut at the last place of a format, the remainder compared with a half. It
 * shares no code with the kernels that it is compared with, and does nothing clever: the
 * neighbours N and N + 1 of |x| in units of the last place, and which of the two a mode takes.
 * Used by the unit tests arith_truth*.c. */
#ifndef RICCI_TESTS_UNIT_TRUTH_H
#define RICCI_TESTS_UNIT_TRUTH_H

#include "kernels/arith/arith.h"

#include <gmp.h>
#include <math.h>
#include <stdlib.h>

/* A binary format: p bits, normal exponents emin … emax, the largest number, and what
 * overflow gives: 'i' infinity, 'n' nan, 's' the largest number. */
typedef struct TruthFormat {
    int p, emin, emax;
    double max;
    char over;
    bool saturate, flush;
} TruthFormat;

/* One right answer, or under stochastic rounding two: `up` with probability `part`. */
typedef struct Truth {
    double value, up, part;
    ArithFlags flags;        /* of `value`; stochastic: not of an overflow or underflow */
    bool exact;
} Truth;

/* (-1)^minus n / d 2^k, or the square root of that. */
typedef struct Exact {
    bool minus, root;
    mpz_t n, d;
    long k;
} Exact;

static mpz_t truth_num, truth_den, truth_cut, truth_rest, truth_twice;
static Exact truth_x, truth_y;          /* operands at work */

static inline void truth_begin(Exact *x)
{
    mpz_inits(x->n, x->d, NULL);
    mpz_set_ui(x->d, 1);
    x->minus = x->root = false;
    x->k = 0;
}

/* Once, before all others. */
static inline void truth_start(void)
{
    mpz_inits(truth_num, truth_den, truth_cut, truth_rest, truth_twice, NULL);
    truth_begin(&truth_x);
    truth_begin(&truth_y);
}

static inline void truth_end(Exact *x) { mpz_clears(x->n, x->d, NULL); }

/* IEEE 754 by its parameters: e bits of exponent, p of significand. */
static inline TruthFormat truth_ieee(int e, int p)
{
    int emax = (1 << (e - 1)) - 1;
    return (TruthFormat){ p, 1 - emax, emax, ldexp(2 - ldexp(1, 1 - p), emax), 'i', false, false };
}

/* A finite double, exactly. */
static inline void exact_double(Exact *x, double v)
{
    int e;
    double m = frexp(fabs(v), &e);
    mpz_set_d(x->n, ldexp(m, 53));
    mpz_set_ui(x->d, 1);
    x->k = e - 53;
    x->minus = signbit(v);
    x->root = false;
}

static inline void exact_int(Exact *x, int64_t v)
{
    mpz_set_si(x->n, v);
    mpz_abs(x->n, x->n);
    mpz_set_ui(x->d, 1);
    x->k = 0;
    x->minus = v < 0;
    x->root = false;
}

/* x = x + y, both with denominator 1. */
static inline void exact_add(Exact *x, const Exact *y)
{
    long k = x->k < y->k ? x->k : y->k;
    mpz_mul_2exp(truth_num, x->n, (mp_bitcnt_t)(x->k - k));
    mpz_mul_2exp(truth_den, y->n, (mp_bitcnt_t)(y->k - k));
    if (x->minus)
        mpz_neg(truth_num, truth_num);
    if (y->minus)
        mpz_neg(truth_den, truth_den);
    mpz_add(x->n, truth_num, truth_den);
    x->k = k;
    x->minus = mpz_sgn(x->n) < 0;
    mpz_abs(x->n, x->n);
}

static inline void exact_mul(Exact *x, const Exact *y)
{
    mpz_mul(x->n, x->n, y->n);
    x->k += y->k;
    x->minus ^= y->minus;
}

static inline void exact_div(Exact *x, const Exact *y)
{
    mpz_set(x->d, y->n);
    x->k -= y->k;
    x->minus ^= y->minus;
}

/* N = floor(|x| / 2^q); the sign of (|x| / 2^q - N) and of its difference from a half. */
typedef struct Cut { bool rest; int half; } Cut;

static inline Cut truth_cut_at(const Exact *x, long q)
{
    long shift = x->root ? x->k - 2 * q : x->k - q;
    mpz_mul_2exp(truth_num, x->n, shift > 0 ? (mp_bitcnt_t)shift : 0);
    mpz_mul_2exp(truth_den, x->d, shift < 0 ? (mp_bitcnt_t)-shift : 0);
    mpz_fdiv_q(truth_cut, truth_num, truth_den);
    if (x->root)
        mpz_sqrt(truth_cut, truth_cut);
    /* |x| against N, and 2 |x| against 2N + 1; of roots, their squares */
    Cut c;
    mpz_mul(truth_rest, truth_cut, truth_den);
    if (x->root)
        mpz_mul(truth_rest, truth_rest, truth_cut);
    c.rest = mpz_cmp(truth_num, truth_rest) > 0;
    mpz_mul_2exp(truth_twice, truth_cut, 1);
    mpz_add_ui(truth_twice, truth_twice, 1);
    mpz_mul(truth_rest, truth_twice, truth_den);
    if (x->root)
        mpz_mul(truth_rest, truth_rest, truth_twice);
    mpz_mul_2exp(truth_twice, truth_num, x->root ? 2 : 1);
    c.half = mpz_cmp(truth_twice, truth_rest);
    return c;
}

/* |x| / 2^q - N as a double, for frequencies only. */
static inline double truth_part(const Exact *x)
{
    mpf_t a, b;
    mpf_init2(a, mpz_sizeinbase(truth_num, 2) + 128);
    mpf_init2(b, mpz_sizeinbase(truth_num, 2) + 128);
    mpf_set_z(a, truth_num);
    mpf_set_z(b, truth_den);
    mpf_div(a, a, b);
    if (x->root)
        mpf_sqrt(a, a);
    mpf_set_z(b, truth_cut);
    mpf_sub(a, a, b);
    double part = mpf_get_d(a);
    mpf_clears(a, b, NULL);
    return part;
}

/* The exponent of |x| > 0: 2^e <= |x| < 2^(e+1). */
static inline long truth_exponent(const Exact *x)
{
    long e = (long)mpz_sizeinbase(x->n, 2) - (long)mpz_sizeinbase(x->d, 2);     /* or one less */
    mpz_mul_2exp(truth_num, x->n, e < 0 ? (mp_bitcnt_t)-e : 0);
    mpz_mul_2exp(truth_den, x->d, e > 0 ? (mp_bitcnt_t)e : 0);
    e += x->k - (mpz_cmp(truth_num, truth_den) < 0);
    return x->root ? (e >= 0 ? e : e - 1) / 2 : e;
}

static inline bool truth_takes_upper(RoundMode mode, bool minus, Cut c, bool odd)
{
    switch (mode) {
    case ROUND_NEAREST: return c.half > 0 || (c.half == 0 && odd);
    case ROUND_AWAY: return c.half >= 0;
    case ROUND_UP: return c.rest && !minus;
    case ROUND_DOWN: return c.rest && minus;
    case ROUND_ODD: return c.rest && !odd;
    default: return false;
    }
}

/* What stands for a number beyond the largest. */
static inline double truth_overflow(const TruthFormat *f, RoundMode mode, bool minus)
{
    RoundMode against = minus ? ROUND_UP : ROUND_DOWN;
    bool inward = mode == ROUND_ZERO || mode == ROUND_ODD || mode == against;
    bool largest = f->saturate || f->over == 's' || inward;
    double beyond = largest ? f->max : f->over == 'n' ? NAN : INFINITY;
    return minus ? -beyond : beyond;
}

/* N units of 2^q as the format holds it; counts what happens. */
static inline double truth_value(const TruthFormat *f, RoundMode mode, bool minus, double units,
                                 long q, ArithFlags *flags)
{
    double r = ldexp(units, (int)q);
    if (r > f->max) {
        flags->overflow = flags->inexact = 1;
        return truth_overflow(f, mode, minus);
    }
    if (f->flush && r > 0 && r < ldexp(1, f->emin)) {
        flags->underflow = flags->inexact = 1;
        r = 0;
    }
    return minus ? -r : r;
}

/* Is the result below every normal number when it is rounded with exponents unbounded? */
static inline bool truth_tiny(const Exact *x, const TruthFormat *f, RoundMode mode, long e)
{
    if (e != f->emin - 1)
        return e < f->emin;
    Cut c = truth_cut_at(x, e - (f->p - 1));
    bool upper = truth_takes_upper(mode, x->minus, c, mpz_odd_p(truth_cut));
    return mpz_get_d(truth_cut) + upper < ldexp(1, f->p);
}

/* Rounds x, which is not zero. */
static inline Truth truth_round(const Exact *x, const TruthFormat *f, RoundMode mode)
{
    Truth t = { 0 };
    long e = truth_exponent(x);
    bool tiny = truth_tiny(x, f, mode, e);
    long q = (e > f->emin ? e : f->emin) - (f->p - 1);
    if (q > 5000)
        q = 5000;                   /* as far beyond every format, and a double still */
    Cut c = truth_cut_at(x, q);
    double units = mpz_get_d(truth_cut);
    t.exact = !c.rest;
    t.flags.inexact = c.rest;
    t.flags.underflow = c.rest && tiny;
    bool upper = truth_takes_upper(mode, x->minus, c, mpz_odd_p(truth_cut));
    if (mode == ROUND_STOCHASTIC) {
        ArithFlags other = { 0 };
        t.part = c.rest ? truth_part(x) : 0;
        t.up = truth_value(f, mode, x->minus, units + 1, q, &other);
    }
    t.value = truth_value(f, mode, x->minus, units + upper, q, &t.flags);
    if (f->flush && t.value == 0)
        t.exact = false;
    return t;
}

/* ---- operations on doubles that are numbers of the format ---- */

static inline Truth truth_is(double value)
{
    return (Truth){ .value = value, .up = value, .exact = true };
}

static inline Truth truth_invalid(void)
{
    Truth t = truth_is(NAN);
    t.flags.invalid = 1;
    return t;
}

/* An infinity, where the format has one; elsewhere it overflows. */
static inline Truth truth_infinity(const TruthFormat *f, bool minus)
{
    if (f->over == 'i' && !f->saturate)
        return truth_is(minus ? -INFINITY : INFINITY);
    Truth t = truth_is(f->over == 'n' && !f->saturate ? NAN : minus ? -f->max : f->max);
    t.flags.overflow = t.flags.inexact = 1;
    return t;
}

static inline Truth truth_zero(RoundMode mode, bool minus_x, bool minus_y)
{
    bool minus = minus_x == minus_y ? minus_x : mode == ROUND_DOWN;
    return truth_is(minus ? -0.0 : 0.0);
}

static inline Truth truth_load(double v, const TruthFormat *f, RoundMode mode)
{
    if (isnan(v) || v == 0)
        return truth_is(v);
    if (isinf(v))
        return truth_infinity(f, v < 0);
    exact_double(&truth_x, v);
    return truth_round(&truth_x, f, mode);
}

/* x y + z; a product or a sum where the rest is 1 or nothing. */
static inline Truth truth_fma(double x, double y, double z, bool has_z, const TruthFormat *f,
                              RoundMode mode)
{
    if (isnan(x) || isnan(y))
        return truth_is(NAN);
    if ((isinf(x) && y == 0) || (isinf(y) && x == 0)) {
        if (has_z && isnan(z))
            return truth_is(NAN);
        return truth_invalid();
    }
    if (has_z && isnan(z))
        return truth_is(NAN);
    bool minus = !!signbit(x) != !!signbit(y);
    if (isinf(x) || isinf(y))
        return has_z && isinf(z) && (z < 0) != minus ? truth_invalid() : truth_infinity(f, minus);
    if (has_z && isinf(z))
        return truth_infinity(f, z < 0);
    if (x == 0 || y == 0) {
        if (!has_z)
            return truth_is(minus ? -0.0 : 0.0);
        if (z == 0)
            return truth_zero(mode, minus, signbit(z));
    }
    exact_double(&truth_x, x);
    exact_double(&truth_y, y);
    exact_mul(&truth_x, &truth_y);
    if (has_z) {
        exact_double(&truth_y, z);
        exact_add(&truth_x, &truth_y);
    }
    bool cancels = mpz_sgn(truth_x.n) == 0;
    return cancels ? truth_zero(mode, false, true) : truth_round(&truth_x, f, mode);
}

static inline Truth truth_add(double x, double y, const TruthFormat *f, RoundMode mode)
{
    return truth_fma(x, 1, y, true, f, mode);
}

static inline Truth truth_mul(double x, double y, const TruthFormat *f, RoundMode mode)
{
    return truth_fma(x, y, 0, false, f, mode);
}

static inline Truth truth_div(double x, double y, const TruthFormat *f, RoundMode mode)
{
    if (isnan(x) || isnan(y))
        return truth_is(NAN);
    bool minus = !!signbit(x) != !!signbit(y);
    if ((x == 0 && y == 0) || (isinf(x) && isinf(y)))
        return truth_invalid();
    if (isinf(x))
        return truth_infinity(f, minus);
    if (y == 0) {
        Truth t = truth_infinity(f, minus);
        t.flags.divzero = 1;
        return t;
    }
    if (x == 0 || isinf(y))
        return truth_is(minus ? -0.0 : 0.0);
    exact_double(&truth_x, x);
    exact_double(&truth_y, y);
    exact_div(&truth_x, &truth_y);
    return truth_round(&truth_x, f, mode);
}

static inline Truth truth_sqrt(double x, const TruthFormat *f, RoundMode mode)
{
    if (isnan(x) || x == 0)
        return truth_is(x);
    if (x < 0)
        return truth_invalid();
    if (isinf(x))
        return truth_infinity(f, false);
    exact_double(&truth_x, x);
    truth_x.root = true;
    return truth_round(&truth_x, f, mode);
}

#endif
