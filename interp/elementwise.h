/* The elementwise half of the door: which dtype, which shape, which buffer, then ew_run. */
#ifndef RICCI_INTERP_ELEMENTWISE_H
#define RICCI_INTERP_ELEMENTWISE_H

#include "interp/optable.h"

/* Runs an OPC_EW row on n operands (its arity). Bits of `reuse`: operands that nobody
 * needs afterwards, whose buffer may become the result's. */
Value ew_call(Interp *, const Op *, const Value *args, int n, unsigned weak, unsigned reuse);

/* One operand's part in choosing the dtype. */
typedef struct DTypeVote {
    DType dtype;
    bool scalar, weak;
} DTypeVote;
/* "Which dtype", rules 1 to 3. concat, where, stores and others that mix operands use it. */
DType dtype_vote(const DTypeVote *, int n);

/* Raises the shape error for operands that do not broadcast. */
_Noreturn void ew_shape_error(Interp *, const Op *, Tensor *const *operands, int n);

#endif
