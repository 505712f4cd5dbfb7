/* Forms of rows in a format (Op.format) and what their files share. */
#ifndef RICCI_BUILTINS_FORMATS_H
#define RICCI_BUILTINS_FORMATS_H

#include "kernels/number/number.h"
#include "interp/precision/precise.h"

/* Op.format of the rows that name them. */
Value op_format_allclose(OpCall *, Scope *);
Value op_format_arange(OpCall *, Scope *);
Value op_format_argmax(OpCall *, Scope *);
Value op_format_argmin(OpCall *, Scope *);
Value op_format_argsort(OpCall *, Scope *);
Value op_format_bincount(OpCall *, Scope *);
Value op_format_chol(OpCall *, Scope *);
Value op_format_cond(OpCall *, Scope *);
Value op_format_conv(OpCall *, Scope *);
Value op_format_conv2(OpCall *, Scope *);
Value op_format_corrcoef(OpCall *, Scope *);
Value op_format_counts(OpCall *, Scope *);
Value op_format_cov(OpCall *, Scope *);
Value op_format_cumprod(OpCall *, Scope *);
Value op_format_cumsum(OpCall *, Scope *);
Value op_format_cummax(OpCall *, Scope *);
Value op_format_cummin(OpCall *, Scope *);
Value op_format_det(OpCall *, Scope *);
Value op_format_diff(OpCall *, Scope *);
Value op_format_dot(OpCall *, Scope *);
Value op_format_eig(OpCall *, Scope *);
Value op_format_eigh(OpCall *, Scope *);
Value op_format_eigvals(OpCall *, Scope *);
Value op_format_eigvalsh(OpCall *, Scope *);
Value op_format_einsum(OpCall *, Scope *);
Value op_format_expm(OpCall *, Scope *);
Value op_format_fft(OpCall *, Scope *);
Value op_format_fft2(OpCall *, Scope *);
Value op_format_fftn(OpCall *, Scope *);
Value op_format_full(OpCall *, Scope *);
Value op_format_hess(OpCall *, Scope *);
Value op_format_histogram(OpCall *, Scope *);
Value op_format_ifft(OpCall *, Scope *);
Value op_format_ifft2(OpCall *, Scope *);
Value op_format_ifftn(OpCall *, Scope *);
Value op_format_interp(OpCall *, Scope *);
Value op_format_inv(OpCall *, Scope *);
Value op_format_irfft(OpCall *, Scope *);
Value op_format_isclose(OpCall *, Scope *);
Value op_format_ldl(OpCall *, Scope *);
Value op_format_linspace(OpCall *, Scope *);
Value op_format_logm(OpCall *, Scope *);
Value op_format_logspace(OpCall *, Scope *);
Value op_format_logsumexp(OpCall *, Scope *);
Value op_format_lstsq(OpCall *, Scope *);
Value op_format_lu(OpCall *, Scope *);
Value op_format_made(OpCall *, Scope *);
Value op_format_matmul(OpCall *, Scope *);
Value op_format_max(OpCall *, Scope *);
Value op_format_mean(OpCall *, Scope *);
Value op_format_median(OpCall *, Scope *);
Value op_format_min(OpCall *, Scope *);
Value op_format_nansum(OpCall *, Scope *);
Value op_format_norm(OpCall *, Scope *);
Value op_format_null(OpCall *, Scope *);
Value op_format_orth(OpCall *, Scope *);
Value op_format_pinv(OpCall *, Scope *);
Value op_format_prod(OpCall *, Scope *);
Value op_format_qr(OpCall *, Scope *);
Value op_format_quantile(OpCall *, Scope *);
Value op_format_rand(OpCall *, Scope *);
Value op_format_randn(OpCall *, Scope *);
Value op_format_rank(OpCall *, Scope *);
Value op_format_rfft(OpCall *, Scope *);
Value op_format_round(OpCall *, Scope *);
Value op_format_rref(OpCall *, Scope *);
Value op_format_schur(OpCall *, Scope *);
Value op_format_searchsorted(OpCall *, Scope *);
Value op_format_slogdet(OpCall *, Scope *);
Value op_format_softmax(OpCall *, Scope *);
Value op_format_factorize(OpCall *, Scope *);
Value op_format_solve(OpCall *, Scope *);
Value op_format_sort(OpCall *, Scope *);
Value op_format_sqrtm(OpCall *, Scope *);
Value op_format_std(OpCall *, Scope *);
Value op_format_sum(OpCall *, Scope *);
Value op_format_svd(OpCall *, Scope *);
Value op_format_svdvals(OpCall *, Scope *);
Value op_format_truth(OpCall *, Scope *);
Value op_format_unique(OpCall *, Scope *);
Value op_format_var(OpCall *, Scope *);
Value op_format_wide(OpCall *, Scope *);

/* A row in the accumulator's arithmetic, where no fast kernel does it. */
typedef Value (*FormatInOrder)(OpCall *, Precise *);
/* Sums of a row: the ordinary kernels where the scope lets them, else `run`. `whole`: ints are
 * converted to the format, too; otherwise a call on ints alone stays exact. */
Value format_accumulate(OpCall *, Scope *, bool whole, FormatInOrder run);
/* Operand i in carriers of the accumulator, contiguous, rounded to the format first. Rooted. */
Tensor *format_summands(OpCall *, Precise *, Tensor *);
/* Frees numbers that were made on the way: only where every element at hand is in a rooted
 * tensor. */
static inline void format_collect(OpCall *c)
{
    if (c->in->ctx.cells)
        rational_collect(&c->in->ctx);
}
/* Sums in carriers of the accumulator, as a result of the format; t is on the value stack. */
Value format_sums(OpCall *, Precise *, Tensor *t);
/* A formula written with rows runs in the accumulator's format between these two; what format_leave
 * returns is rounded to p's format. */
void format_enter(OpCall *, Precise *, Scope *inner);
Value format_leave(OpCall *, Precise *, Scope *inner, Value rooted);
/* A row on n values (its parameters in order), rooted. */
Value format_row(OpCall *, const char *name, int n, ...);
bool format_all_whole(const OpCall *);                  /* no argument has a fraction */
/* Argument i in all its digits, a literal as it was written. Rooted. */
Tensor *format_number(OpCall *, int i);
/* n less argument i, or less `fallback` where it is not given: what sums of squares are divided
 * by. In the format, an int where it is whole. */
Value format_freedom(OpCall *, int64_t n, int i, int64_t fallback);
/* x contiguous with the axes of the mask last; as one axis; with its last axis at `axis`. Rooted.
 */
Tensor *format_axes_last(OpCall *, Tensor *x, uint64_t axes);
Tensor *format_flat(OpCall *, Tensor *x);
Tensor *format_axis_back(OpCall *, Tensor *x, int axis);
/* Raises ERR_DTYPE: the row has no meaning in this format. */
_Noreturn void format_refuse(OpCall *, DType format);
bool format_is_binary(DType);

/* out = x y of row-major intervals (m x k by k x n) by midpoint and radius; false: too small for
 * that to pay, or an end is not finite. */
bool format_interval_product(OpCall *, int64_t m, int64_t n, int64_t k, const Interval *x,
                             const Interval *y, Interval *out);

#endif
