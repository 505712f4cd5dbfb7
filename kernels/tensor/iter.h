/* Broadcasting iteration over up to four strided operands: axes of length 1 dropped, axes
 * put in the order of the first operand's strides, neighbours merged where every operand
 * allows it. What remains is the smallest loop nest that visits every element once. */
#ifndef RICCI_KERNELS_ITER_H
#define RICCI_KERNELS_ITER_H

#include "kernels/tensor/tensor.h"

enum { ITER_OPERANDS = 4 };

typedef struct Iter {
    int rank, operands;
    int64_t size;
    int64_t shape[TENSOR_RANK_MAX];
    int64_t stride[ITER_OPERANDS][TENSOR_RANK_MAX];   /* in elements */
} Iter;

/* Operand 0 is the one written; the shapes of the others broadcast to its shape. */
void iter_init(Iter *, int operands, const Tensor *const *tensors);
/* Offsets (in elements) of the outer axes' position `index`, counted over axes [0, axes). */
void iter_seek(const Iter *, int axes, int64_t index, int64_t *offsets);

#endif
