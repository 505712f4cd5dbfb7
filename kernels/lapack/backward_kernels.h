/* Tables of backward.h's kernels by instruction set. */
#ifndef RICCI_KERNELS_BACKWARD_KERNELS_H
#define RICCI_KERNELS_BACKWARD_KERNELS_H

#include "kernels/lapack/backward.h"

typedef struct BackwardSystem { int64_t n, kl, ku; Mat a; } BackwardSystem;
typedef double (*BackwardFn)(const BackwardSystem *, const void *x, Mat b, int64_t cols,
                             void *room);
extern const BackwardFn backward_table_base[BLAS_TYPES], backward_table_avx2[BLAS_TYPES];

#endif
