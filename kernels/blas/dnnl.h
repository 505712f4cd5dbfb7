/* Products of bf16 matrices by oneDNN: the library is opened when a processor that has an
 * instruction for them first wants one, and what it compiled for a shape is kept. Where it is
 * missing the kernel of contract_pair_bf16_avx512.c computes. Only contract_pair_bf16.c and its
 * test call it; nothing here raises. */
#ifndef RICCI_KERNELS_DNNL_H
#define RICCI_KERNELS_DNNL_H

#include "kernels/tensor/mat.h"
#include "kernels/tensor/tensor.h"

/* C = A B with f32 sums: A is m x k, B k x n, C m x n; A and B of `operands` (bf16; f32 for tests),
 * C f32. Steps as gemm_legal has them, C by rows. */
typedef struct DnnlProduct {
    DType operands;
    int64_t m, n, k;
    Mat a, b, c;                    /* data is not looked at by dnnl_can */
} DnnlProduct;

/* Is the library there, and has it a kernel for this product? */
bool dnnl_can(const DnnlProduct *);
/* False: it failed, for want of memory. Looks at the interrupt flag between strips of rows. */
bool dnnl_product(Ctx *, const DnnlProduct *);

#endif
