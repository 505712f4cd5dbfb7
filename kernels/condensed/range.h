/* Numbers near the ends of the range, whose squares are outside of it: powers of 2 that bring a
 * matrix near 1 before its form is made, and its values back. */
#ifndef RICCI_KERNELS_CONDENSED_RANGE_H
#define RICCI_KERNELS_CONDENSED_RANGE_H

#include "kernels/blas/blas.h"

/* The exponent of the largest magnitude where squares, or sums of them, would leave the range; else
 * 0. By BLAS_S and BLAS_D. */
int range_exponent(BlasType real, double largest);
/* Multiplies real numbers by 2^exponent, which may itself be out of range. */
void range_scale(BlasType real, int64_t count, void *x, int exponent);

#endif
