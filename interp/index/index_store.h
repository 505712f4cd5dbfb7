/* What the files that store to tensors share: index_store.c, index_repeat.c. */
#ifndef RICCI_INTERP_INDEX_STORE_H
#define RICCI_INTERP_INDEX_STORE_H

#include "interp/index/index.h"

/* What is to be stored, in the target's dtype: one element in `cell`, or a tensor. */
typedef struct Stored {
    _Alignas(16) char cell[ELEMENT_BYTES_MAX];
    Tensor *tensor;              /* NULL: the cell holds it; else on the value stack */
} Stored;
bool stored_is_number(Value);
/* v, as stored_value gives it, operand `operand` of the statement; raises `value`. */
void stored_make(Interp *, Stored *, DType, Value v, int operand);
/* The dtype that a tensor of dtype `to` takes on when a `from` is stored in it. */
DType store_dtype(DType to, DType from);
/* v as a number or a tensor (of a range or tuple); what it makes is pushed. v is operand n + 1. */
Value stored_value(Interp *, Value target, Value v, int n);
/* Raises `shape` where a value of n subscripts does not broadcast to the selection. */
void store_check_shape(Interp *, const Selection *, const Tensor *value, int n);
/* The stored tensor as a dense one of the selection's shape; pushed. */
Tensor *store_spread(Interp *, const Selection *, Tensor *value);
/* Dense values of a dtype that holds the target's, put into the selected elements of *slot. */
void store_elements(Interp *, Value *slot, const Selection *, Tensor *values);

#endif
