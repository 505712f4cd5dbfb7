/* How far apart the numbers of a format stand: the neighbour of a number and the distance to
 * it, in every format of arith.h. Behind ulp and nextafter; eps, realmax and realmin come from
 * the same facts. Operands and results are carriers of the arithmetic. */
#ifndef RICCI_KERNELS_SPACING_H
#define RICCI_KERNELS_SPACING_H

#include "kernels/arith/arith.h"

/* The distance from |x| to the next larger number, unbounded exponents assumed above the
 * largest; nan of an infinity or a nan. */
double spacing_ulp(const BinaryFormat *, double x);
/* The number after x on the way to y; beyond the largest one what overflow gives. */
double spacing_next(const BinaryFormat *, double x, double y);

/* Rows of them. ARITH_NONE: the format has no neighbours (rational, interval); ARITH_DIGITS:
 * the ulp of 0 where exponents have no end (decimal, mp). Nothing is to be counted. */
ArithStatus spacing_ulp_row(Arith *, void *out, int64_t so, const void *x, int64_t sx, int64_t n);
/* Of a binary format, in doubles. */
void spacing_next_row(DType, double *out, int64_t so, const double *x, int64_t sx,
                      const double *y, int64_t sy, int64_t n);

#endif
