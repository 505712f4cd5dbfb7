/* Discrete Fourier transforms along one axis, through FFTW 3, which is loaded when first used. Any
 * length, any strides; lanes are shared among threads. */
#ifndef RICCI_KERNELS_FFT_H
#define RICCI_KERNELS_FFT_H

#include "kernels/tensor/tensor.h"

typedef enum FftKind {
    FFT_FORWARD,         /* complex to complex, exp(-2 pi i jk / n) */
    FFT_BACKWARD,        /* complex to complex, exp(+2 pi i jk / n), not divided by n */
    FFT_HALF,            /* n reals to the n/2 + 1 first numbers of their spectrum */
    FFT_REAL,            /* n reals to all n, the rest by symmetry */
    FFT_REAL_BACKWARD,
    FFT_TO_REAL          /* n/2 + 1 numbers to n reals; imaginary parts that a real signal
                          * cannot have (of the first, of the last for even n) do not count */
} FftKind;

/* NULL if the transforms of this dtype's precision can run, else why not, for the user. */
const char *fft_missing(DType);
/* The Debian package that has the library. */
const char *fft_package(DType);

/* out = scale * transform of every lane of x along axis; x (f32 f64 c64 c128) has at least
 * the elements that are read, out has the shape of the result. They do not overlap, or out
 * is x with a complex kind. x is not written otherwise. False if FFTW has no plan for it.
 * A set interrupt flag leaves out undefined: the caller polls. */
bool fft_run(Ctx *, FftKind, int64_t n, const Tensor *x, const Tensor *out, int axis, double scale);

/* The least length not below n whose prime factors are 2, 3, 5 and 7: FFTW is fastest there. */
int64_t fft_good_length(int64_t n);

#endif
