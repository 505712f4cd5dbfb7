/* The elementwise half of the door: which dtype, which shape, which buffer, then ew_run. */
#ifndef RICCI_INTERP_ELEMENTWISE_H
#define RICCI_INTERP_ELEMENTWISE_H

#include "interp/op/optable.h"

/* Runs an OPC_EW row on n operands (its arity). Bits of `reuse`: operands that nobody
 * needs afterwards, whose buffer may become the result's. */
Value ew_call(Interp *, const Op *, const Value *args, int n, unsigned weak, unsigned reuse);

/* The kernel of an elementwise row of so many numbers, of f64 or f32, that gives one; NULL: it has
 * none. For who computes scalars without the door: a nan it makes is the door's business. */
EwFn ew_scalar_kernel(const Op *, DType, int arity);

/* One operand's part in choosing the dtype. */
typedef struct DTypeVote {
    DType dtype;
    bool scalar, weak;
} DTypeVote;
/* "Which dtype", rules 1 to 3. concat, where, stores and others that mix operands use it.
 * DT_NONE: no dtype holds all of them (decimal with binary floats …). */
DType dtype_vote(const DTypeVote *, int n);

/* The operands of an elementwise row, as far as somebody knows them: the values of a call, nodes of
 * a nest, what a device would be given. */
typedef struct EwVotes {
    const DTypeVote *vote;
    DType real;                 /* what whole numbers to a negative power become */
    bool float_powers;          /* all of them, whatever the power */
    /* The value of operand i, where it is a scalar int that is known. */
    bool (*int_value)(const struct EwVotes *, int i, int64_t *);
    const void *from;
} EwVotes;
/* The dtype that they are brought to, which the row's kernel is looked up by: the one rule of an
 * elementwise result's dtype. DT_NONE as dtype_vote. */
DType ew_dtype(const OpTable *, EwOp, const EwVotes *, int n);

/* What index notation and fused chains check as the door does: an int scalar in the dtype that
 * is computed in, the condition of where. */
_Noreturn void ew_literal_error(Interp *, const Op *, int operand, int64_t value, DType);
_Noreturn void ew_mask_error(Interp *, const Op *, Value condition);
/* Sums and multiples of covectors are covectors. */
bool ew_covector(Interp *, const Op *, Tensor *const *operands, const bool *scalar, int n);
/* Does another operation call this one: map(sqrt, v), plot(sqrt, -1, 1)? Then the text of operands
 * is that of the caller's. */
bool op_lent(Interp *, const Op *);
/* The notice that an operation of n operands made a nan whose complex value exists. */
void ew_nan_notice(Interp *, const Op *, int n);
/* The notice about A^-1 of a square matrix, which is elementwise: the power is a literal. */
void ew_inverse_notice(Interp *, const Value *args);
_Noreturn void ew_shift_error(Interp *, const Op *);

/* What ew_call would do with tensors and scalars, without doing it; raises what it would raise
 * for their dtypes and shapes. False: not told here (rationals, covectors, ranges, integers
 * that can fail, sizes beyond 64 bits). */
typedef struct EwForm {
    DType compute, result;
    int rank;
    int64_t size, shape[TENSOR_RANK_MAX];
    bool scalar[3];
    int64_t cell[3][2];         /* of scalars: in the dtype that the kernel wants */
} EwForm;
bool ew_form(Interp *, const Op *, const Value *args, int n, unsigned weak, EwForm *);
/* The same of integers that can fail, and whatever scope is in force. */
bool ew_form_any(Interp *, const Op *, const Value *args, int n, unsigned weak, EwForm *);
/* May a result of that dtype and shape be written over t, if nobody needs it any more? */
bool ew_fits(const Tensor *t, DType result, int rank, const int64_t *shape);
void ew_count(Interp *, const Op *, DType compute, int64_t elements);

/* Raises the shape error for operands that do not broadcast. */
_Noreturn void ew_shape_error(Interp *, const Op *, Tensor *const *operands, int n);

#endif
