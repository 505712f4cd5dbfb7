/* Sums of products of vectors that lie together, by instruction set: gemm_sums.c chooses. Lanes and
 * the tree that joins them are the same everywhere, and no product is fused: so are the bits. */
#ifndef RICCI_KERNELS_GEMM_SUMS_H
#define RICCI_KERNELS_GEMM_SUMS_H

#include <stdint.h>

typedef struct SumKernels {
    /* Of squares, in f64. */
    double (*squares_f32)(int64_t n, const float *x);
    double (*squares_f64)(int64_t n, const double *x);
    /* Of n pairs (n a multiple of SUM_PAIRS): of the products of first parts, of second ones, of
     * first and second, of second and first. */
    void (*pairs_f32)(int64_t n, const float *x, const float *y, float sums[4]);
    void (*pairs_f64)(int64_t n, const double *x, const double *y, double sums[4]);
} SumKernels;

enum { SUM_PAIRS = 16 };

extern const SumKernels sums_base, sums_avx2, sums_avx512;

#endif
