/* Forms of rows on sparse operands (Op.sparse), and what they share. */
#ifndef RICCI_BUILTINS_SPARSE_H
#define RICCI_BUILTINS_SPARSE_H

#include "builtins/rows/rows.h"
#include "interp/sparse/sparse_door.h"

/* The dtypes that sparse matrices are made of. */
static inline bool sparse_dtype(DType dt)
{
    return dt == DT_F64 || dt == DT_F32 || dt == DT_C128 || dt == DT_C64;
}

/* An elementwise row on the entries (sparse_ew.c). V_UNDEF: what is not stored would not stay 0, or
 * shapes differ. */
Value op_sparse_elementwise(OpCall *);
/* Op.sparse of the rows that name them. */
Value op_sparse_matmul(OpCall *);
Value op_sparse_dot(OpCall *);
Value op_sparse_matpow(OpCall *);
Value op_sparse_ilu0(OpCall *);
Value op_sparse_ic0(OpCall *);
Value op_sparse_transpose(OpCall *);
Value op_sparse_ctranspose(OpCall *);
/* By direct factorization (sparse_solve.c, sparse_factor.c). */
Value op_sparse_solve(OpCall *);
Value op_sparse_factorize(OpCall *);
Value op_sparse_det(OpCall *);
Value op_sparse_slogdet(OpCall *);
Value op_sparse_chol(OpCall *);
Value op_sparse_lu(OpCall *);
Value op_sparse_qr(OpCall *);
Value op_sparse_lstsq(OpCall *);
Value op_sparse_condest(OpCall *);
Value op_sparse_tril(OpCall *);
Value op_sparse_triu(OpCall *);
Value op_sparse_diag(OpCall *);
Value op_sparse_trace(OpCall *);
Value op_sparse_concat(OpCall *);
Value op_sparse_kron(OpCall *);
Value op_sparse_sum(OpCall *);
Value op_sparse_nansum(OpCall *);
Value op_sparse_mean(OpCall *);
Value op_sparse_prod(OpCall *);
Value op_sparse_max(OpCall *);
Value op_sparse_min(OpCall *);
Value op_sparse_argmax(OpCall *);
Value op_sparse_argmin(OpCall *);
Value op_sparse_count(OpCall *);
Value op_sparse_any(OpCall *);
Value op_sparse_all(OpCall *);
Value op_sparse_norm(OpCall *);
Value op_sparse_member(OpCall *);
Value op_sparse_not_member(OpCall *);
Value op_sparse_allclose(OpCall *);
Value op_sparse_issymmetric(OpCall *);
Value op_sparse_ishermitian(OpCall *);
/* A row that gives of each element of its first operand another, and of 0 gives 0 (cast). */
Value op_sparse_on_values(OpCall *);
/* like (sparse_sampled.c). */
Value op_sparse_like(OpCall *);
Value op_sparse_nonzero(OpCall *);
/* full: the name that another language has for dense. */
Value op_sparse_full(OpCall *);
/* The elements of a dense tensor that broadcasts to s's shape at the places of its entries, as a
 * vector on the value stack. */
Value sparse_at_entries(Interp *, const Sparse *s, Tensor *dense);
/* The row on zeros of the operands' shapes (sparse_standing_in), for the error that it has for
 * such; its callers know that it raises one, or reads no elements. */
Value sparse_refuse(OpCall *);
/* v's entries; of a dense matrix, those of its elements that are not 0, in its own dtype. On the
 * value stack. NULL: it is no matrix. */
const Sparse *sparse_matrix(Interp *, Value);
/* The values of a sparse matrix at the places of another one's entries, onto the value stack. */
void sparse_at_places(Interp *, const Sparse *pattern, const Sparse *s);
/* A number or tensor of any dtype, rationals too: rooted. */
Tensor *sparse_operand(OpCall *, int i);
/* The operand's own matrix; one of its elements that are not 0 where it is dense: rooted. */
Sparse *arg_sparse(OpCall *, int i);

#endif
