/* Sparse operands at the door (kernels/sparse/sparse.h has the storage).
 *
 * A form, Op.sparse, is given the call as it is, with at least one operand that has entries, all
 * others settled, outside of lazy and device blocks; V_UNDEF: it has none for these operands. It
 * computes values by the rows themselves (op_call on the vector of values) wherever that will do:
 * so every dtype, precision scope and autocast holds for the entries as for any tensor. */
#ifndef RICCI_INTERP_SPARSE_DOOR_H
#define RICCI_INTERP_SPARSE_DOOR_H

#include "interp/op/aspect.h"
#include "kernels/sparse/sparse.h"

static inline bool sparse_on(const Interp *in) { return __builtin_expect(in->ctx.sparse != 0, 0); }
/* NULL: none. */
static inline Sparse *v_sparse(Value v)
{
    return v.tag == V_TENSOR ? tensor_sparse(v.tensor) : NULL;
}
/* Has it entries, or something in a tuple? */
bool sparse_inside(Value v);

/* ---- the aspect (aspect.h) ---- */
bool sparse_wants(const OpCall *);
Value sparse_call(OpCall *, const Aspect *rest);

/* v with all that is sparse in it made dense, for `what` ("exp"), which is told once; owned.
 * Raises ERR_MEMORY above a quarter of the memory. */
Value sparse_dense_for(Interp *, Value v, const char *what);

/* ---- for forms ---- */
/* s with other values: v, a tensor or a number for all of them, which is taken. */
Value sparse_with(Interp *, const Sparse *s, Value v);
/* v with tensors of zeros, which take no memory, for what is sparse in it: for errors. Owned. */
Value sparse_standing_in(Interp *, Value v);
/* The m x n matrix of a pattern and of the values at its places, both in `made`, which ends. */
Tensor *sparse_taken(Ctx *, Made *, int64_t m, int64_t n, SparseOrder, const Tensor *values);
/* The values of s as an operand: borrowed, V_TENSOR. */
static inline Value sparse_values(const Sparse *s) { return v_tensor_raw(s->value); }
#endif
