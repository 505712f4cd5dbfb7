/* Mantissa and exponent: x = mantissa 2^exponent, 0.5 <= |mantissa| < 1; zeros, infinities and nan
 * are their own mantissas, with exponent 0. */
#ifndef RICCI_KERNELS_FREXP_H
#define RICCI_KERNELS_FREXP_H

#include <stdint.h>

void frexp_f64(const double *x, double *mantissa, int64_t *exponent, int64_t n);
void frexp_f32(const float *x, float *mantissa, int64_t *exponent, int64_t n);

#endif
