/* The tables of arithmetic behind arith.h, one per family of formats, and what the families
 * give each other. Only arith.c chooses between the tables. */
#ifndef RICCI_KERNELS_ARITH_OPS_H
#define RICCI_KERNELS_ARITH_OPS_H

#include "kernels/arith/arith.h"

extern const ArithOps arith_binary_ops, arith_decimal_ops, arith_mp_ops, arith_rational_ops,
    arith_interval_ops;

/* Opens the libraries that arithmetic of decimal, mp, rational or interval needs. */
ArithStatus arith_number_open(const Arith *);

/* A real number of any family on its way into a binary format: (-1)^negative (w + f) 2^exp with
 * w of 256 bits, lowest limb first, and a fraction f: 0, or anywhere in (0, 1) if `sticky`; then
 * w has at least 62 bits. kind: 'f' finite (0 too), 'i' infinite, 'n' nan. */
typedef struct BinaryExact {
    uint64_t w[4];
    int64_t exp;
    bool negative, sticky;
    char kind;
} BinaryExact;

void rational_exact(Rational, BinaryExact *);      /* rational_convert.c */
/* An element of decimal, mp, rational or interval (an interval's midpoint) as that: at least 128
 * bits and the sticky one where it has more than 256. */
ArithStatus arith_number_exact(Ctx *, DType from, const void *element, BinaryExact *);

#endif
