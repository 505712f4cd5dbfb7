/* Where the bf16 instructions of processors differ from f32: they take subnormal numbers for
 * zero, in operands, products and sums. The least magnitudes of both operands say whether there
 * can be any, so that those products are taken another way. Included by the templates of
 * attention and of the blocked product. */
#ifndef RICCI_KERNELS_BF16_SMALL_H
#define RICCI_KERNELS_BF16_SMALL_H

#include <stdbool.h>
#include <stdint.h>

enum { BF16_NORMAL = 0x80, BF16_NONE = 0x8000 };   /* the least normal number; no number at all */

/* The least magnitude but zero among n numbers that lie side by side, as its bits. Without the
 * sign and less one, zero is the largest. */
static inline int bf16_least(const uint16_t *x, int64_t n)
{
    uint16_t least = UINT16_MAX;
    for (int64_t i = 0; i < n; i++) {
        uint16_t bits = (uint16_t)(x[i] * 2 - 1);
        least = bits < least ? bits : least;
    }
    return (least + 1) / 2;
}

/* Every product is a multiple of its operands' last bits, 2^-7 of their powers of two each, and
 * so is every rounded sum: from 2^-126 on none of them is subnormal. */
static inline bool bf16_may_flush(int least_a, int least_b)
{
    enum { BIAS = 127, LAST = 7, LEAST = -126 };
    return least_a < BF16_NORMAL || least_b < BF16_NORMAL ||
           (least_a >> LAST) + (least_b >> LAST) - 2 * BIAS - 2 * LAST < LEAST;
}

#endif
