/* Comparing whole tensors and finding what is not zero. */
#ifndef RICCI_KERNELS_COMPARE_H
#define RICCI_KERNELS_COMPARE_H

#include "kernels/tensor/tensor.h"

/* Two runs of n reals; a step is 1, or 0 for a scalar. */
typedef struct ComparePair {
    const double *a, *b;
    int64_t step_a, step_b, n;
} ComparePair;

/* out[i] = a[i] and b[i] are equal, or finite and |a - b| <= atol + rtol |b|, or, where
 * equal_nan, both nan. */
void compare_each(Ctx *, const ComparePair *, double rtol, double atol, bool equal_nan,
                  uint8_t *out);
/* Sums of squares of a, b and a - b, the same bits for every number of threads; out of
 * range where a square was. `partial`: 3 numbers for each COMPARE_BLOCK elements. */
enum { COMPARE_BLOCK = 1 << 14 };
void compare_squares(Ctx *, const ComparePair *, double *partial, double sums[3]);

/* Elements of a contiguous x that are true or not zero; their positions, in order, if
 * positions is not NULL (room for as many as there are). */
int64_t compare_nonzero(DType, const void *x, int64_t n, int64_t *positions);

#endif
