/* Complex arithmetic over a binary format: the textbook real formulas, each real operation
 * rounded. */
#ifndef RICCI_KERNELS_ARITH_COMPLEX_H
#define RICCI_KERNELS_ARITH_COMPLEX_H

#include "kernels/arith/arith.h"

enum { ARITH_COMPLEX_STRIP = 256 };

/* Real and imaginary parts, both with one stride. */
typedef struct ArithPair { const double *re, *im; int64_t step; } ArithPair;

/* re + i im = x op y for + - * /, re = |x| for abs; n <= ARITH_COMPLEX_STRIP. re and im are
 * contiguous and may overlap no operand. ARITH_NONE: another operation. */
ArithStatus arith_complex(Arith *, EwOp, double *re, double *im, ArithPair x, ArithPair y,
                          int64_t n);

#endif
