/* What the families of formats give each other: a number on its way into a binary format. */
#ifndef RICCI_KERNELS_ARITH_OPS_H
#define RICCI_KERNELS_ARITH_OPS_H

#include "kernels/arith/arith.h"

/* A real number of any family on its way into a binary format: (-1)^negative (w + f) 2^exp with
 * w of 256 bits, lowest limb first, and a fraction f: 0, or anywhere in (0, 1) if `sticky`; then
 * w has at least 62 bits. kind: 'f' finite (0 too), 'i' infinite, 'n' nan. */
typedef struct BinaryExact {
    uint64_t w[4];
    int64_t exp;
    bool negative, sticky;
    char kind;
} BinaryExact;

#endif
