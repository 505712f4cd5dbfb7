/* How far apart the numbers of a binary format stand. */
#ifndef RICCI_KERNELS_SPACING_BINARY_H
#define RICCI_KERNELS_SPACING_BINARY_H

#include "kernels/arith/arith.h"

/* The distance from |x| to the next larger number, unbounded exponents assumed above the
 * largest; nan of an infinity or a nan. */
double spacing_ulp(const BinaryFormat *, double x);
/* The number after x on the way to y; beyond the largest one what overflow gives. */
double spacing_next(const BinaryFormat *, double x, double y);
void spacing_next_row(DType, double *out, int64_t so, const double *x, int64_t sx,
                      const double *y, int64_t sy, int64_t n);

#endif
