/* Complex numbers from their parts, and products by the textbook formula: the operator of C
 * would call a library function that repairs infinities, one element at a time. Parts are
 * set one by one, because a + b*I is wrong for infinities and not every compiler has CMPLX. */
#ifndef RICCI_KERNELS_REDUCE_COMPLEX_H
#define RICCI_KERNELS_REDUCE_COMPLEX_H

#include <complex.h>

static inline float _Complex make_c64(float re, float im)
{
    float _Complex z;
    __real__ z = re;
    __imag__ z = im;
    return z;
}

static inline double _Complex make_c128(double re, double im)
{
    double _Complex z;
    __real__ z = re;
    __imag__ z = im;
    return z;
}

static inline float _Complex times_c64(float _Complex a, float _Complex b)
{
    return make_c64(__real__ a * __real__ b - __imag__ a * __imag__ b,
                    __real__ a * __imag__ b + __imag__ a * __real__ b);
}

static inline double _Complex times_c128(double _Complex a, double _Complex b)
{
    return make_c128(__real__ a * __real__ b - __imag__ a * __imag__ b,
                     __real__ a * __imag__ b + __imag__ a * __real__ b);
}

#endif
