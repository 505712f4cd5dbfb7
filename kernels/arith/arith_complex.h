/* Complex arithmetic over any format: the textbook real formulas, each real operation rounded. */
#ifndef RICCI_KERNELS_ARITH_COMPLEX_H
#define RICCI_KERNELS_ARITH_COMPLEX_H

#include "kernels/arith/arith.h"

enum { ARITH_COMPLEX_STRIP = 256 };

/* Carriers of real and imaginary parts, both with one stride. */
typedef struct ArithPair { const void *re, *im; int64_t step; } ArithPair;
/* A strip of carriers of any format. */
typedef union ArithStrip { double d[2 * ARITH_COMPLEX_STRIP]; Rational cell; } ArithStrip;

/* Pairs of carriers, `step` pairs apart. */
static inline ArithPair arith_pair(const Arith *a, const void *pairs, int64_t step)
{
    return (ArithPair){ pairs, (const char *)pairs + a->size, 2 * step };
}
/* n pairs at `to`, `step` apart, of contiguous parts. */
void arith_pairs_put(const Arith *, void *to, int64_t step, const void *re, const void *im,
                     int64_t n);

/* re + i im = x op y for + - * /, re = |x| for abs; n <= ARITH_COMPLEX_STRIP. re and im are
 * contiguous and may overlap no operand. ARITH_NONE: another operation. */
ArithStatus arith_complex(Arith *, EwOp, void *re, void *im, ArithPair x, ArithPair y, int64_t n);

#endif
