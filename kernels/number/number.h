/* Single numbers of the formats that no C type holds: decimal, mp, interval (and rational, whose
 * home is rational.h), 16 bytes each. Cells of decimal and mp hold small numbers in themselves and
 * long ones in an immutable block of the heap of rational.c; anybody may copy them, all bytes zero
 * is the number +0. Here: what a cell is, conversions, text, and which arithmetic
 * a format has. Nothing here raises but arith_raise. */
#ifndef RICCI_KERNELS_NUMBER_H
#define RICCI_KERNELS_NUMBER_H

#include "core/base/buf.h"
#include "kernels/arith/arith_ops.h"
#include "kernels/rational/mpfr.h"
#include "kernels/rational/rational.h"

/* A carrier of any format. */
typedef union NumberCell { Rational number; double bounds[2]; } NumberCell;

typedef struct Interval { double lo, hi; } Interval;   /* [nan, nan]: no number at all */

typedef enum NumberKind { NUMBER_FINITE, NUMBER_INF, NUMBER_NAN } NumberKind;

/* ---- arithmetic: arith.c ---- */
/* The arithmetic of a real float format, of rational or interval; *a is filled in. Opens the
 * libraries that it needs. ARITH_NONE: dt is no such format (ints, bools, complex). */
ArithStatus arith_open(Ctx *, Arith *a, DType dt, RoundMode, bool saturate, bool flush);
/* The same arithmetic on flat numbers, carriers without a heap, whose bits, flags and draws are
 * those of a's; for who keeps them to himself. False: a's numbers have no such form, and *flat is
 * a. Flags are flat's own from then on. And a flat number as a double, within a unit. */
bool arith_flat(const Arith *a, Arith *flat);
double arith_flat_f64(const Arith *, const void *flat);
/* Raises the error that a status stands for; `what` is the operation, for the sentence. */
_Noreturn void arith_raise(Ctx *, ArithStatus, DType, const char *what);

/* ---- cells of decimal and mp ---- */
/* tail: bit 63 num is a pointer to a block, bit 62 sign, bits 61 and 60 the kind, the rest an
 * exponent. decimal: num 10^exponent. mp: num / 2^64 2^exponent with the top bit of num set, or
 * num and exponent 0 for zero; a block has more limbs, the lowest first. */
#define CELL_BLOCK ((uint64_t)1 << 63)
#define CELL_SIGN ((uint64_t)1 << 62)
#define CELL_EXPONENT (((uint64_t)1 << 60) - 1)
static inline NumberKind cell_kind(Rational c) { return (NumberKind)(c.tail >> 60 & 3); }
static inline bool cell_negative(Rational c) { return (c.tail & CELL_SIGN) != 0; }
static inline int64_t cell_exponent(Rational c) { return (int64_t)(c.tail << 4) >> 4; }
static inline Rational cell_small(uint64_t num, bool negative, NumberKind kind, int64_t exponent)
{
    return (Rational){ (int64_t)num, (negative ? CELL_SIGN : 0) | (uint64_t)kind << 60 |
                                         ((uint64_t)exponent & CELL_EXPONENT) };
}
static inline bool cell_zero(Rational c) { return cell_kind(c) == NUMBER_FINITE && c.num == 0; }
/* A finite number of n limbs; false: no memory. */
bool cell_make(Ctx *, Rational *out, const mp_limb_t *limbs, size_t n, bool negative,
               int64_t exponent);

/* What MPFR's operands see: valid while the view and the cell live. */
typedef struct MpView { __mpfr_struct m; mp_limb_t limb; } MpView;
mpfr_srcptr mp_view(MpView *, Rational);
/* The cell of a number; trailing zero limbs are left off. */
ArithStatus mp_keep(Ctx *, Rational *out, mpfr_srcptr);

/* What GMP's operands see of a decimal's digits. */
typedef struct DecimalView { __mpz_struct z; mp_limb_t limb; } DecimalView;
mpz_srcptr decimal_view(DecimalView *, Rational);

/* ---- complex numbers: arith_pair.c ---- */
/* Elementwise operations on complex numbers of decimal, mp, rational or interval that have no
 * textbook formula (kernels/arith/arith_complex.h): x are pairs of carriers, strides count pairs;
 * out too, or carriers where the result is real, or bytes where the operation compares. Each part
 * of a result is rounded once, an interval's contains every value; where a cut lies inside of a
 * rectangle, the values on both sides. ARITH_NONE: there is no such operation. */
ArithStatus number_complex(Arith *, EwOp, void *out, int64_t so, const void *const x[],
                           const int64_t sx[], int64_t n);

/* ---- facts ---- */
/* Of decimal, mp, rational and interval cells. An interval is negative where all of it is. */
bool number_is_nan(DType, const void *cell);
bool number_is_inf(DType, const void *cell);
bool number_is_zero(DType, const void *cell);
bool number_negative(DType, const void *cell);      /* the sign bit: true of -0 */
int number_sign(DType, const void *cell);           /* -1, 0, 1 */

/* ---- to other numbers ---- */
/* An element of decimal, mp, rational or interval (an interval's midpoint) on its way to a binary
 * format, in every mode: at least 128 bits and the sticky one where it has more than 256. */
ArithStatus arith_number_exact(Ctx *, DType from, const void *element, BinaryExact *);
double number_f64(DType from, const void *cell);        /* the nearest double */
double number_directed(DType from, const void *cell, RoundMode);
/* n elements of decimal, mp or interval as a dtype that is no cell, to nearest even; the index
 * of the first that does not fit, or -1. */
int64_t number_cast(DType to, void *dst, int64_t sd, DType from, const void *src, int64_t ss,
                    int64_t n);

/* ---- text ---- */
/* A decimal literal (`0.1`, `1_000`, `1e-5`, `-inf`, `nan`) rounded once into a carrier of a; to
 * nearest in the stochastic mode, and without a draw. ARITH_NO_NUMBER: the text is none. */
ArithStatus number_from_text(Arith *a, void *carrier, const char *text, size_t len);
typedef enum NumberConstant { NUMBER_PI, NUMBER_E } NumberConstant;
ArithStatus number_constant(Arith *a, NumberConstant, void *carrier);
/* The shortest decimal that reads back in the format, with a point or an exponent: `0.333`,
 * `1.0e25`, `[0.1, 0.30000000000000004]`. */
void number_text(Buf *, DType, const void *cell);
/* |x| of a finite decimal or mp number, rounded half to even to n >= 1 digits (n of them, no
 * point) in out, and its decimal exponent: 0.d1d2… 10^exp. Zero gives zeros and exponent 1. */
void number_digits(Buf *out, DType, const void *cell, int64_t n, int64_t *exp);
/* Digits that number_text shows, without trailing zeros, in the same form. */
void number_shortest(Buf *out, DType, const void *cell, int64_t *exp);

#endif
