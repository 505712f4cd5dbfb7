/* What the factorisations of this room share: which kernels, how wide panels are. */
#ifndef RICCI_KERNELS_DENSE_CHOICE_H
#define RICCI_KERNELS_DENSE_CHOICE_H

#include "kernels/dense/dense_kernels.h"

/* NULL: there are none for this processor and type. */
const DenseKernels *dense_kernels(BlasType);
/* Wide panels make long products, narrow ones leave more to share. */
int64_t dense_width(int64_t order);

static inline int64_t dense_least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* Multiply-adds, counted as m n k, from which other threads are worth waking. */
static inline bool dense_shares(int64_t m, int64_t n, int64_t k)
{
    return (double)m * (double)n * (double)k >= 6e6;
}

/* Lines of the cache. */
static inline size_t dense_whole(size_t bytes)
{
    return (bytes + 63) / 64 * 64;
}

#endif
