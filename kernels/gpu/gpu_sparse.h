/* Products of sparse matrices with dense ones on devices of generated source. */
#ifndef RICCI_KERNELS_GPU_SPARSE_H
#define RICCI_KERNELS_GPU_SPARSE_H

#include "kernels/gpu/gpu.h"

/* y = A x for each of `count` matrices x of `cols` columns. */
typedef struct GpuCsr {
    DType dtype;                        /* f32 or f64: of value, x and y */
    int64_t rows, entries, cols, count;
    DevArg pattern;                     /* i64: rows + 1 starts, then the columns */
    DevArg value, x, y;                 /* y is contiguous */
    int64_t batch, row, col;            /* steps of x, in elements */
} GpuCsr;

/* Raises ERR_DEVICE, ERR_MEMORY; counts launches. Sums are taken in an order that the data fix. */
void gpu_csr(Ctx *, Device *, const GpuCsr *);

#endif
