/* Operands of a contraction that are stored in another dtype than it computes in: what becomes
 * of them before it runs. The layout of a converted operand follows from its strides alone, so
 * that a product of the same tensors finds the same plan whoever asks for it. Only contract.c
 * uses it. */
#ifndef RICCI_KERNELS_CONTRACT_CONVERT_H
#define RICCI_KERNELS_CONTRACT_CONVERT_H

#include "kernels/contract/contract.h"
#include "kernels/tensor/iter.h"

typedef struct ContractConvert {
    DType from, to;
    /* `span`: elements low … low + count - 1 around the operand's start, as they lie; else `count`
     * elements of the loop below */
    int64_t low, count;
    bool span;
    Iter loop;                  /* to contiguous memory */
    size_t bytes;               /* of the converted operand */
} ContractConvert;

/* For operand x of c, stored in x->stored: what to do, and strides for what it becomes. */
void convert_plan(ContractConvert *, const Contraction *c, ContractOperand *x);
/* Converts into memory of `bytes`; the element at position 0 of every label there. */
void *convert_run(Ctx *, const ContractConvert *, void *to, const void *from);

#endif
