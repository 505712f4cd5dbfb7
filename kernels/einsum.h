/* The plain loop nest behind einsum: out[…] += in0[…] * in1[…] * …, every operand with one
 * stride per index (0 where it does not depend on it). Called by builtins/einsum.c, which
 * has parsed the labels and checked the lengths. */
#ifndef RICCI_KERNELS_EINSUM_H
#define RICCI_KERNELS_EINSUM_H

#include "kernels/tensor.h"

enum { EINSUM_INDICES = 96, EINSUM_OPERANDS = 32 };

typedef struct EinsumNest {
    int indices, operands;
    int64_t n[EINSUM_INDICES];                          /* length of each index, none 0 */
    int64_t out[EINSUM_INDICES];                        /* stride in the result; 0: summed */
    int64_t in[EINSUM_OPERANDS][EINSUM_INDICES];
    bool kept[EINSUM_INDICES];                          /* an index of the result */
} EinsumNest;

/* The dtype that the nest works in: f32 for f16 and bf16, dt otherwise. */
DType einsum_compute_dtype(DType dt);
/* out holds zeros (or what is to be added to). Integers wrap, bools are or of ands. The
 * order of additions depends on the shapes only. */
void einsum_run(Ctx *, const EinsumNest *, DType compute, void *out, const void *const *in);

#endif
