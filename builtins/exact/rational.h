/* The rows' functions for rational operands (Op.exact), and what their files share. */
#ifndef RICCI_BUILTINS_RATIONAL_H
#define RICCI_BUILTINS_RATIONAL_H

#include "interp/op/exact.h"
#include "kernels/rational/rational_linalg.h"

/* Op.exact of the rows that name them. */
Value op_exact_all(OpCall *);
Value op_exact_allclose(OpCall *);
Value op_exact_any(OpCall *);
Value op_exact_argmax(OpCall *);
Value op_exact_argmin(OpCall *);
Value op_exact_argsort(OpCall *);
Value op_exact_count(OpCall *);
Value op_exact_cumprod(OpCall *);
Value op_exact_cumsum(OpCall *);
Value op_exact_cummax(OpCall *);
Value op_exact_cummin(OpCall *);
Value op_exact_det(OpCall *);
Value op_exact_inv(OpCall *);
Value op_exact_isclose(OpCall *);
Value op_exact_lu(OpCall *);
Value op_exact_matpow(OpCall *);
Value op_exact_max(OpCall *);
Value op_exact_mean(OpCall *);
Value op_exact_median(OpCall *);
Value op_exact_min(OpCall *);
Value op_exact_null(OpCall *);
Value op_exact_prod(OpCall *);
Value op_exact_quantile(OpCall *);
Value op_exact_rank(OpCall *);
Value op_exact_round(OpCall *);
Value op_exact_rref(OpCall *);
Value op_exact_factorize(OpCall *);
Value op_exact_solve(OpCall *);
Value op_exact_sort(OpCall *);
Value op_exact_sum(OpCall *);
Value op_exact_unique(OpCall *);
Value op_exact_var(OpCall *);

/* Argument i as a rational tensor. */
Tensor *exact_tensor(OpCall *, int i);
/* Raises what a status stands for; the interrupt flag first. */
void exact_check(OpCall *, RationalStatus);
static inline Rational *exact_data(const Tensor *t) { return (Rational *)(void *)t->data; }

#endif
