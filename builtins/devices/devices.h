/* Forms of rows on devices of generated source: see Op.on_device and interp/device/place.h. A
 * form gets its operands as the door has them, moves them to the device by device_ensure, and
 * gives tensors whose home is the device; or it refuses (place_refuse) before it did anything. */
#ifndef RICCI_BUILTINS_DEVICES_H
#define RICCI_BUILTINS_DEVICES_H

#include "interp/device/place.h"

/* Op.on_device of the rows that name them. */
Value op_device_all(OpCall *, Device *);
Value op_device_any(OpCall *, Device *);
Value op_device_arange(OpCall *, Device *);
Value op_device_argmax(OpCall *, Device *);
Value op_device_argmin(OpCall *, Device *);
Value op_device_attention(OpCall *, Device *);
Value op_device_attention_back(OpCall *, Device *);
Value op_device_attention_lse(OpCall *, Device *);
Value op_device_cast(OpCall *, Device *);
Value op_device_chol(OpCall *, Device *);
Value op_device_concat(OpCall *, Device *);
Value op_device_count(OpCall *, Device *);
Value op_device_ctranspose(OpCall *, Device *);
Value op_device_cumprod(OpCall *, Device *);
Value op_device_cumsum(OpCall *, Device *);
Value op_device_cummax(OpCall *, Device *);
Value op_device_cummin(OpCall *, Device *);
Value op_device_det(OpCall *, Device *);
Value op_device_diag(OpCall *, Device *);
Value op_device_diff(OpCall *, Device *);
Value op_device_dot(OpCall *, Device *);
Value op_device_eigh(OpCall *, Device *);
Value op_device_eigvalsh(OpCall *, Device *);
Value op_device_einsum(OpCall *, Device *);
Value op_device_eye(OpCall *, Device *);
Value op_device_full(OpCall *, Device *);
Value op_device_inv(OpCall *, Device *);
Value op_device_isclose(OpCall *, Device *);
Value op_device_kron(OpCall *, Device *);
Value op_device_like(OpCall *, Device *);
Value op_device_linspace(OpCall *, Device *);
Value op_device_logsumexp(OpCall *, Device *);
Value op_device_lu(OpCall *, Device *);
Value op_device_matmul(OpCall *, Device *);
Value op_device_matpow(OpCall *, Device *);
Value op_device_max(OpCall *, Device *);
Value op_device_mean(OpCall *, Device *);
Value op_device_meshgrid(OpCall *, Device *);
Value op_device_min(OpCall *, Device *);
Value op_device_nansum(OpCall *, Device *);
Value op_device_norm(OpCall *, Device *);
Value op_device_ones(OpCall *, Device *);
Value op_device_outer(OpCall *, Device *);
Value op_device_pad(OpCall *, Device *);
Value op_device_prod(OpCall *, Device *);
Value op_device_qr(OpCall *, Device *);
Value op_device_repeat(OpCall *, Device *);
Value op_device_reshape(OpCall *, Device *);
Value op_device_roll(OpCall *, Device *);
Value op_device_round(OpCall *, Device *);
Value op_device_slogdet(OpCall *, Device *);
Value op_device_softmax(OpCall *, Device *);
Value op_device_solve(OpCall *, Device *);
Value op_device_sparse_matmul(OpCall *, Device *);
Value op_device_split(OpCall *, Device *);
Value op_device_stack(OpCall *, Device *);
Value op_device_std(OpCall *, Device *);
Value op_device_sum(OpCall *, Device *);
Value op_device_svd(OpCall *, Device *);
Value op_device_svdvals(OpCall *, Device *);
Value op_device_take(OpCall *, Device *);
Value op_device_tile(OpCall *, Device *);
Value op_device_trace(OpCall *, Device *);
Value op_device_tril(OpCall *, Device *);
Value op_device_triu(OpCall *, Device *);
Value op_device_var(OpCall *, Device *);
Value op_device_views(OpCall *, Device *);
Value op_device_zeros(OpCall *, Device *);

#endif
