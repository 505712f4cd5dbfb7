/* Numbers of a few limbs that need no heap: what limbs.tmpl.h, which computes with them, and those
 * who include it have in common. */
#ifndef RICCI_KERNELS_LIMBS_H
#define RICCI_KERNELS_LIMBS_H

#include "kernels/number/arith_number.h"

typedef unsigned __int128 Wide;

enum {
    MP_LIMBS = 8,                /* 512 bits */
    MP_FAR = 1 << 28             /* exponents up to this are far from the ends of MPFR's range */
};

/* A number taken apart; its limbs follow. */
typedef struct Unpacked {
    int64_t exp;
    bool negative, zero;
    uint8_t kind;                /* a NumberKind; number_product.c has finite ones only */
} Unpacked;

/* What it is rounded to, and how often that was inexact. */
typedef struct Rounding {
    RoundMode mode;
    int low;                     /* mp: bits of the lowest limb that are no part of the format */
    int digits;                  /* decimal … */
    const struct Ten *tens;      /* … with 10^0 to 10^(2 digits) */
    const struct Divisor *divisors;     /* and 10^1 to 10^digits */
    uint64_t inexact;
} Rounding;

/* x + y + carry, which is 0 or 1 before and after. */
static inline uint64_t add_carry(uint64_t x, uint64_t y, uint64_t *carry)
{
#ifdef __x86_64__            /* else GCC makes the carry a number, and a comparison of it */
    unsigned long long sum;
    *carry = __builtin_ia32_addcarryx_u64((unsigned char)*carry, x, y, &sum);
    return sum;
#else
    Wide t = (Wide)x + y + *carry;
    *carry = (uint64_t)(t >> 64);
    return (uint64_t)t;
#endif
}

#define JOIN2(a, b) a##_##b
#define JOIN(a, b) JOIN2(a, b)
#define NAME(x) JOIN(x, LIMBS)

#endif
