/* What the files of einsum share: the specification as read and checked, and the plans that
 * are kept between calls. einsum_spec.c reads and raises the errors, einsum.c runs,
 * einsum_exact.c runs on rationals, einsum_path.c tells. */
#ifndef RICCI_BUILTINS_EINSUM_H
#define RICCI_BUILTINS_EINSUM_H

#include "interp/op/op.h"
#include "kernels/contract/contract.h"

/* Index numbers: 0 … 51 letters by code point (A … Z, a … z), then the axes of "...",
 * counted from the right. */
enum { EINSUM_LETTERS = 52, EINSUM_LABELS = EINSUM_LETTERS + TENSOR_RANK_MAX };

typedef struct EinsumOperand {
    Tensor *tensor;                         /* borrowed */
    const char *term, *end;                 /* its part of the text */
    uint8_t index[TENSOR_RANK_MAX];         /* of each axis */
} EinsumOperand;

typedef struct EinsumSpec {
    OpCall *call;
    const char *text;
    int operands;
    EinsumOperand *operand;                 /* on the value stack */
    int uses[EINSUM_LABELS];                /* axes that have the index */
    int64_t length[EINSUM_LABELS];          /* -1: in no operand */
    int dots;                               /* axes that "..." stands for, at most */
    int result[TENSOR_RANK_MAX], rank;
} EinsumSpec;

/* Reads argument 0 for the operands that follow; raises whatever is wrong. */
void einsum_read(EinsumSpec *, OpCall *);
/* The contraction of operands with these dtypes and strides into a result of out_stride.
 * Axes of length 1 are left out. `operand` has room for all; names (CONTRACT_LABELS of two
 * characters) and operand_names may be NULL. */
void einsum_contraction(const EinsumSpec *, DType compute, const int64_t *out_stride, Contraction *,
                        ContractOperand *operand, char (*names)[8], const char **name);
/* Floats of another width than is computed in: the planner converts them as they lie. */
static inline bool einsum_stored(const Tensor *t, DType compute)
{
    return contract_stores((DType)t->dtype, compute);
}
/* The user's names of the operands where they are short, else #1, #2 …: for reports. */
void einsum_operand_names(EinsumSpec *, char (*text)[24], const char **name);
/* What the operands are computed in and what the result has (NumPy's dtype). */
DType einsum_dtype(const EinsumSpec *, DType *compute);

/* The plan for tensors of the compute dtype with the operands' strides, the result row-major. With
 * `named` its reports know the user's names. */
ContractPlan *einsum_plan(EinsumSpec *, DType compute, const ContractOptions *, bool named);

/* optimize=: true, false, NumPy's words for true, a path as einsum_path gives it, or the whole
 * of its result. The pairs lie on the value stack. False: it asks for nothing special. */
bool einsum_options(OpCall *, int operands, ContractOptions *);

/* Its form where some operands are sparse. */
Value op_sparse_einsum(OpCall *);

/* Rationals: pairs in the same order, exactly. */
Value einsum_exact(EinsumSpec *, const ContractOptions *);

#endif
