/* Tables of the kernels for small matrices, by instruction set; only small.c chooses. */
#ifndef RICCI_KERNELS_SMALL_KERNELS_H
#define RICCI_KERNELS_SMALL_KERNELS_H

#include "kernels/gemm/small.h"

typedef enum SmallTask { SMALL_SOLVE, SMALL_INVERSE, SMALL_DET } SmallTask;

/* A batch as the kernels see it; items are addressed by small_offset. */
typedef struct SmallJob {
    SmallTask task;
    int64_t m, n, k;             /* a product is m x k times k x n; a system n x n with k columns */
    Mat a, b, c;
    const GemmBatch *batch;
    size_t bytes;                /* of an element */
    double limit;                /* as small.h says */
    uint8_t *done;
} SmallJob;

/* Items [begin, end) of the job. */
typedef void (*SmallFn)(const SmallJob *, int64_t begin, int64_t end);

typedef struct SmallTable {
    SmallFn lu[BLAS_TYPES], product[BLAS_TYPES];
    int lanes[BLAS_TYPES];       /* matrices that lu takes at a time */
} SmallTable;
extern const SmallTable small_table_base, small_table_avx2, small_table_avx512;

/* Byte offsets of an item in the job's three operands. */
static inline void small_offset(const SmallJob *j, int64_t index, int64_t at[3])
{
    const GemmBatch *batch = j->batch;
    int64_t size = (int64_t)j->bytes, a = 0, b = 0, c = 0;
    for (int d = batch ? batch->rank - 1 : -1; d >= 0; d--) {
        int64_t i = d ? index % batch->extent[d] : index;
        if (d)
            index /= batch->extent[d];
        a += i * batch->a[d];
        b += i * batch->b[d];
        c += i * batch->c[d];
    }
    at[0] = a * size, at[1] = b * size, at[2] = c * size;
}

#endif
