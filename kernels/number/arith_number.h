/* What decimal, mp, rational and interval arithmetic share: loops over rows of 16-byte cells,
 * the work of a row, functions through MPFR. Between the files arith_decimal.c, arith_mp.c,
 * arith_rational.c, arith_interval.c and arith_enclose.c. */
#ifndef RICCI_KERNELS_ARITH_NUMBER_H
#define RICCI_KERNELS_ARITH_NUMBER_H

#include "kernels/number/number.h"

/* ---- the tables, one per family of formats: arith.c chooses between them ---- */
extern const ArithOps arith_decimal_ops, arith_mp_ops, arith_rational_ops, arith_interval_ops;
/* Opens the libraries that they need. */
ArithStatus arith_number_open(const Arith *);

/* ---- rows of cells: arith_number.c ---- */
/* One result from up to three operands: a cell, or a byte for operations that compare. */
typedef ArithStatus (*CellFn)(void *work, EwOp, void *out, const Rational *const x[3]);
/* The rows of ArithOps over one such function; `work` is the caller's. They poll the interrupt. */
ArithStatus cells_ew(Arith *, CellFn, void *work, EwOp, void *out, int64_t so,
                     const void *const x[], const int64_t sx[], int64_t n);
ArithStatus cells_axpy(Arith *, CellFn, void *work, EwOp add, void *y, int64_t sy, const void *a,
                       const void *x, int64_t sx, int64_t n);
ArithStatus cells_copy(Arith *, void *to, int64_t st, const void *x, int64_t sx, int64_t n);
/* Element by element from another dtype. */
typedef ArithStatus (*CellLoad)(void *work, Rational *out, DType from, const void *element);
ArithStatus cells_load(Arith *, CellLoad, void *work, void *to, int64_t st, DType from,
                       const void *x, int64_t sx, int64_t n);
bool cells_compares(EwOp);                   /* the result is a byte */
/* The answer of a comparison for an order of -1, 0, 1 or 2 (nan). */
bool cells_answer(EwOp, int order);
bool cells_due(const Arith *, int64_t i);    /* poll after element i: each, where they are long */
ArithStatus cells_poll(const Arith *);       /* ARITH_INTERRUPT, or OK; memory that GMP spent */
ArithStatus cells_status(RationalStatus);

/* digits 10^e, digits >= 0, on its way to a binary format; *out has kind and sign, else zeros. */
ArithStatus number_exact_decimal(mpz_srcptr digits, int64_t e, BinaryExact *out);

/* ---- numbers of any length through MPFR: arith_mp.c, arith_enclose.c ---- */
/* One correctly rounded operation of MPFR; returns the ternary value. *known is false where
 * MPFR has no such function (then r is nothing). */
int mp_direct(const Mpfr *, EwOp, mpfr_ptr r, mpfr_srcptr x, mpfr_srcptr y, mpfr_srcptr z,
              mpfr_rnd_t, bool *known);
/* Would computing it take unreasonably long (the sine of 2^(10^9))? */
bool mp_excessive(EwOp, mpfr_srcptr x);
/* Would MPFR need minutes, which nothing interrupts, for so many bits? */
bool mp_slow(const Mpfr *, EwOp, mpfr_srcptr x, mpfr_prec_t bits);

/* [lo, hi] contains the operation's values over all points of x, y, z where it has any; nan: it
 * has none. Both ends have the precision they came with. */
typedef struct Enclosure { mpfr_t lo, hi; } Enclosure;
void enclosure_init(const Mpfr *, Enclosure *, mpfr_prec_t);
void enclosure_clear(const Mpfr *, Enclosure *);
/* x[i] may share limbs with nothing of out. Signals in *partly that some points have
 * no value, or that a remainder or an angle jumps: that it is not continuous in x. */
ArithStatus enclose(const Mpfr *, EwOp, Enclosure *out, const Enclosure *const x[3], bool *partly);

/* A decimal cell of any length; the ternary value. */
ArithStatus mp_set_decimal(Ctx *, mpfr_ptr r, Rational, mpfr_rnd_t, int *t);
ArithStatus mp_from_text(Arith *, Rational *out, const char *text);

/* ---- rounding by hand ---- */
/* What is left of a number below its last digit: against a half, and against nothing. */
typedef struct Rest { int half; bool any, odd; } Rest;
/* Does it go up by one, in every mode but the stochastic one? */
static inline bool rest_goes_up(RoundMode round, bool negative, Rest r)
{
    switch (round) {
    case ROUND_NEAREST: return (r.half > 0) | ((r.half == 0) & r.odd);
    case ROUND_AWAY: return r.half >= 0;
    case ROUND_UP: return r.any && !negative;
    case ROUND_DOWN: return r.any && negative;
    case ROUND_ODD: return r.any && !r.odd;
    default: return false;
    }
}

/* ---- products of decimal and mp numbers of a few limbs: number_product.c ---- */
ArithStatus number_matmul(Arith *, ArithMatrix C, ArithMatrix A, ArithMatrix B, int64_t m,
                          int64_t n, int64_t k);

/* ---- decimal: decimal.c rounds and computes, arith_decimal.c has the table ---- */
typedef struct DecimalWork {
    Arith *a;
    const Gmp *g;
    int64_t d;               /* digits */
    mpz_t n, m, r, t;
} DecimalWork;
ArithStatus decimal_begin(DecimalWork *, Arith *);
void decimal_end(DecimalWork *);
/* (n + f) 10^exp rounded once, n >= 0 in w->n, f in (0, 1) if sticky: then n has more digits than
 * the format. Counts and draws. */
ArithStatus decimal_round(DecimalWork *, Rational *out, bool negative, bool sticky, int64_t exp);
ArithStatus decimal_add(DecimalWork *, Rational *out, Rational, Rational);
ArithStatus decimal_multiply(DecimalWork *, Rational *out, Rational, Rational);
ArithStatus decimal_divide(DecimalWork *, Rational *out, Rational, Rational);
ArithStatus decimal_fma(DecimalWork *, Rational *out, Rational, Rational, Rational);
/* The root of order 2 or 3. */
ArithStatus decimal_root(DecimalWork *, Rational *out, Rational, int order);
ArithStatus decimal_hypot(DecimalWork *, Rational *out, Rational, Rational);
ArithStatus decimal_power(DecimalWork *, Rational *out, Rational, int64_t n);
/* floor, ceil, trunc and round. */
ArithStatus decimal_integer(DecimalWork *, EwOp, Rational *out, Rational);
/* x - y floor(x/y), or floor(x/y). */
ArithStatus decimal_divmod(DecimalWork *, EwOp, Rational *out, Rational, Rational);
ArithStatus decimal_neighbour(DecimalWork *, Rational *out, Rational, Rational towards);
int decimal_order(const Gmp *, Rational, Rational);                          /* -1, 0, 1, 2 */
/* From other numbers, rounded once. */
/* x, or (nudge 1, -1) a number above or below it, nearer than any other decimal in question. */
ArithStatus decimal_from_mpfr(DecimalWork *, Rational *out, mpfr_srcptr x, int nudge);
ArithStatus decimal_take(void *work, Rational *out, DType from, const void *element);
int64_t decimal_digits(const Gmp *, mpz_srcptr);             /* of n >= 0; 0 has none */
static inline Rational decimal_negated(Rational a)
{
    a.tail ^= cell_kind(a) == NUMBER_NAN ? 0 : CELL_SIGN;
    return a;
}

#endif
