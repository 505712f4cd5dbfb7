/* Convolution of matrices and, as matrices of one row, of vectors: the plain sum, in the order b
 * is stored in, and what the way through Fourier transforms needs beside fft.h. */
#ifndef RICCI_KERNELS_CONV_H
#define RICCI_KERNELS_CONV_H

#include "kernels/tensor/tensor.h"

/* a is rows x n, b is b_rows x m, rows one after the other: f32 f64 c64 c128 i64. */
typedef struct ConvJob {
    DType dt;
    int64_t rows, n, b_rows, m;
    const char *a, *b;
    char *out;                   /* out_rows x out_n of the full result, from (row, col) on */
    int64_t row, col, out_rows, out_n;
    bool wide;                   /* i64: sums in 128 bits, `fits` says whether all fit */
} ConvJob;

/* False if a sum left i64 (only where `wide` looks). A set interrupt flag leaves out
 * undefined: the caller polls. Every number is summed in the same order on every machine. */
bool conv_direct(Ctx *, const ConvJob *);

/* What decides how integers are summed: the largest magnitude of a times the sum of those
 * of b, as a float that is not below it. */
double conv_i64_bound(const int64_t *a, int64_t n, const int64_t *b, int64_t m);
/* The largest magnitude of any part; inf if there is an inf or nan. */
double conv_magnitude(DType, const void *x, int64_t n);
/* z[r, i] *= w[i] for rows x n complex numbers. */
void conv_multiply(Ctx *, DType, void *z, const void *w, int64_t rows, int64_t n);
/* out[i] += x[i], real or complex. */
void conv_add(DType, void *out, const void *x, int64_t n);

/* ---- between conv.c and the loops of one instruction set ---- */
/* acc[k] += sum over j of b[j] a[i + k - j], for k < width; a has n elements, b has m. */
typedef void (*ConvRow)(void *acc, int64_t i, int64_t width, const void *a, int64_t n,
                        const void *b, int64_t m);
enum { CONV_F32, CONV_F64, CONV_C64, CONV_C128, CONV_I64, CONV_KINDS };
enum { CONV_BLOCK = 64 };        /* the largest width */
extern const ConvRow conv_base[CONV_KINDS], conv_avx2[CONV_KINDS], conv_avx512[CONV_KINDS];

#endif
