/* Linear algebra of sparse matrices in a format. */
#ifndef RICCI_BUILTINS_SPARSE_FORMAT_H
#define RICCI_BUILTINS_SPARSE_FORMAT_H

#include "builtins/sparse/sparse.h"
#include "interp/state/scope.h"

/* The scope that a call computes in by the plain factorisation, of a square operand 0 and, where
 * there is one, of `other`: the one in force, or *implied by their dtypes. NULL: it is for the
 * factorizations of f32 and f64, or is not of entries. */
Scope *sparse_format_scope(OpCall *, const Tensor *other, Scope *implied);
Value sparse_format_solve(OpCall *, Scope *, Tensor *right);
Value sparse_format_det(OpCall *, Scope *);
Value sparse_format_slogdet(OpCall *, Scope *);
Value sparse_format_lu(OpCall *, Scope *);

#endif
