/* Binary formats of at most 53 bits, between the files of arith_binary*.c and arith_exact.c.
 *
 * Every operation is the exact one rounded once. What the formats leave open is settled here:
 *  - Overflow is seen after rounding with unbounded exponents. To nearest, stochastically and in
 *    the direction of the mode it gives what the format says (Arith.over); towards zero, against
 *    the direction and to odd it gives the largest number; `saturate` gives that always.
 *  - An exact infinity (of an operand, of x / 0) is an infinity where the format has one and does
 *    not saturate; elsewhere it counts as an overflow. x / 0 counts in divzero too.
 *  - Underflow: the result is inexact, and tiny after rounding with unbounded exponents. `flush`
 *    makes a subnormal result a zero of its sign, which underflows.
 *  - A sum that is exactly 0 is +0, in ROUND_DOWN -0, unless both terms are zeros of one sign.
 *  - nan stays nan in every format, also in those whose storage has none; invalid counts nans
 *    that no operand brought.
 *  - Each rounded result takes one draw, exact ones and nans too, in the order of the results;
 *    neg, abs, min, max and comparisons take none. Up if draw < distance 2^64.
 *
 * Two ways: exact integers (arith_exact.c), for one number; and rows (arith_binary.tmpl.h), which
 * hand the numbers that their shortcuts do not cover to the first way. Both count the same. */
#ifndef RICCI_KERNELS_ARITH_BINARY_H
#define RICCI_KERNELS_ARITH_BINARY_H

#include "kernels/arith_ops.h"

/* ---- by exact integers: arith_exact.c ---- */
/* x op y for + - * /; sqrt x; fma: x y + z. The operands are any doubles. */
double binary_exact_op(Arith *, EwOp, double x, double y, double z);
double binary_exact_round(Arith *, const BinaryExact *);
double binary_exact_f64(Arith *, double x);             /* x rounded */
double binary_exact_i64(Arith *, int64_t i);
/* What overflow and an exact infinity give; counted. */
double binary_overflow(Arith *, bool negative);
double binary_infinity(Arith *, bool negative);
uint64_t binary_random(const Arith *, uint64_t draw);

#endif
