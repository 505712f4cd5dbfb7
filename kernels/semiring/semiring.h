/* Products of matrices over any pair of operations: C[i,j] = reduce over k of
 * combine(A[i,k], B[k,j]), by one blocked kernel template for every dtype; and direct
 * contractions that read their operands in place where a matrix product would have to copy
 * (convolutions, small or missing k, tiny batches). Nothing here raises; a set interrupt
 * flag ends it early with the result half written: the caller polls. */
#ifndef RICCI_KERNELS_SEMIRING_H
#define RICCI_KERNELS_SEMIRING_H

#include "kernels/tensor/mat.h"
#include "kernels/tensor/tensor.h"

typedef enum Semiring {
    SR_PLUS_TIMES,      /* ints wrap; f32 f64 c64 c128 too (BLAS is for the large ones) */
    SR_MIN_PLUS, SR_MAX_PLUS,
    SR_MIN_TIMES, SR_MAX_TIMES,
    SR_MIN_MAX, SR_MAX_MIN,
    SR_OR_AND,          /* bool */
    SR_COUNT
} Semiring;

/* Extremes of floats: a NaN is the result (NumPy). Not for complex numbers. */
bool semiring_has(Semiring, DType);
/* The element that changes nothing under reduce (0, inf, INT_MAX, false …). */
void semiring_identity(Semiring, DType, void *cell);
/* Grouping operands differently changes no result (but for rounding): any order of
 * contraction is allowed. False for SR_MIN_TIMES and SR_MAX_TIMES. */
bool semiring_distributes(Semiring);

/* Any strides, 0 and negative ones too; packs panels itself. With `accumulate` C takes part
 * in the reduction, otherwise it is overwritten (k = 0: the identity). Splits C among the
 * pool's workers when that pays. C does not overlap A or B. */
void semiring_gemm(Ctx *, Semiring, DType, int64_t m, int64_t n, int64_t k, Mat a, Mat b, Mat c,
                   bool accumulate);

/* A contraction of two operands read in place. C[r…, j] = reduce over t < taps of
 * combine(A[r…, j, t], B[r…, j, t]): r… are `rank` outer axes (the first is shared among
 * workers), j is the vector axis. Steps of operands along j are 0 or 1 (at least one of
 * them 1), of C 1; those along the outer axes are anything. The taps of each operand lie at
 * a table of element offsets, so that any number of summed axes is one loop. */
enum { DIRECT_RANK = 8 };
typedef struct Direct {
    int rank;
    int64_t extent[DIRECT_RANK];
    int64_t step[3][DIRECT_RANK];       /* of C, A, B along the outer axes, in elements */
    int64_t n;                          /* extent of j */
    int64_t vector[2];                  /* step of A and B along j: 0 or 1 */
    int64_t taps;
    const int64_t *offset[2];           /* taps entries each, for A and B; NULL: all 0 */
} Direct;
/* Estimated seconds on one thread, for planners. */
double semiring_gemm_seconds(Semiring, DType, int64_t m, int64_t n, int64_t k);
double direct_seconds(Semiring, DType, const Direct *);

#endif
