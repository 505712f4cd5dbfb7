/* Blocks of a convolution of complex numbers (REAL, NAME), by the textbook formula, real and
 * imaginary parts apart. */
typedef struct NAME(number) { REAL re, im; } NAME(number);
#define T NAME(number)

static void NAME(full)(T *acc, int64_t i, const T *a, const T *b, int64_t from, int64_t to)
{
    enum { W = 4 * VECTOR / sizeof(T) };
    REAL re[W], im[W];
    for (int k = 0; k < W; k++)
        re[k] = acc[k].re, im[k] = acc[k].im;
    for (int64_t j = from; j < to; j++) {
        const T *p = a + i - j, by = b[j];
        for (int k = 0; k < W; k++) {
            re[k] += by.re * p[k].re - by.im * p[k].im;
            im[k] += by.re * p[k].im + by.im * p[k].re;
        }
    }
    for (int k = 0; k < W; k++)
        acc[k].re = re[k], acc[k].im = im[k];
}

/* One loop for each part: of both in one, GCC 12 makes fused operations whatever
 * -ffp-contract says, and the bits would depend on the machine. */
static inline void NAME(run)(T *acc, T by, const T *p, int64_t n)
{
    for (int64_t k = 0; k < n; k++)
        acc[k].re += by.re * p[k].re - by.im * p[k].im;
    for (int64_t k = 0; k < n; k++)
        acc[k].im += by.re * p[k].im + by.im * p[k].re;
}

#define WIDTH ((int64_t)(4 * VECTOR / sizeof(T)))
#include "kernels/signals/conv_row.tmpl.h"
#undef REAL
