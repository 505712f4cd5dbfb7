/* How far apart the numbers of a format stand, in every format of arith.h. Behind ulp; eps, realmax
 * and realmin come from the same facts. Operands and results are carriers of the arithmetic. */
#ifndef RICCI_KERNELS_SPACING_H
#define RICCI_KERNELS_SPACING_H

#include "kernels/arith/arith.h"

/* The distance from |x| to the next larger number. ARITH_NONE: the format has no neighbours
 * (rational, interval); ARITH_DIGITS: the ulp of 0 where exponents have no end (decimal, mp).
 * Nothing is to be counted. */
ArithStatus spacing_ulp_row(Arith *, void *out, int64_t so, const void *x, int64_t sx, int64_t n);

#endif
