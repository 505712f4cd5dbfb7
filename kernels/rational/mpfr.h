/* MPFR, the library of correctly rounded numbers of any length, opened when the first mp
 * number, interval function or long decimal needs it: one table of entry points for the
 * process (mpfr.def). Fields have the names of mpfr.h: `f->mpfr_add(r, a, b, MPFR_RNDN)`. It
 * allocates through GMP's functions, so gmp.h's rules on spent memory hold. The exponents
 * are those that MPFR starts with, up to 2^30: beyond them it overflows. */
#ifndef RICCI_KERNELS_MPFR_H
#define RICCI_KERNELS_MPFR_H

#define MPFR_USE_NO_MACRO
#include "kernels/rational/gmp.h"
#include <mpfr.h>

typedef struct Mpfr {
#define ROUTINE(name) __typeof__(name) *name;
#include "kernels/rational/mpfr.def"
#undef ROUTINE
} Mpfr;

/* NULL if it or GMP is missing; *why then says what to install. GMP is opened first, so that
 * both take memory from gmp.c. */
const Mpfr *mpfr_open(const char **why);

/* Gives back what MPFR keeps of this thread for later: constants, blocks of numbers. */
void mpfr_forget(void);

/* What a number is, without a call: its exponent says so. */
static inline bool mpfr_is_nan(mpfr_srcptr x) { return x->_mpfr_exp == __MPFR_EXP_NAN; }
static inline bool mpfr_is_inf(mpfr_srcptr x) { return x->_mpfr_exp == __MPFR_EXP_INF; }
static inline bool mpfr_is_zero(mpfr_srcptr x) { return x->_mpfr_exp == __MPFR_EXP_ZERO; }
static inline bool mpfr_is_regular(mpfr_srcptr x) { return x->_mpfr_exp > __MPFR_EXP_INF; }
/* -1, 0, 1; 0 for nan. */
static inline int mpfr_sign(mpfr_srcptr x)
{
    return mpfr_is_nan(x) || mpfr_is_zero(x) ? 0 : x->_mpfr_sign < 0 ? -1 : 1;
}

#endif
