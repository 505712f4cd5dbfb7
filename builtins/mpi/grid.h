/* Forms of rows on grids of processes (Op.on_grid), where those of devices of generated source
 * (builtins/devices), whose nests run there as commands, are not all: what ScaLAPACK does, random
 * numbers, positions of extremes, files. A form refuses before it did anything, or gives
  * tensors of the grid; what the host's row has an error or a notice for is run by the host's
  * row. */
#ifndef RICCI_BUILTINS_MPI_GRID_H
#define RICCI_BUILTINS_MPI_GRID_H

#include "builtins/devices/devices_form.h"
#include "kernels/mpi/mpi_device.h"

/* Op.on_grid of the rows that name them. */
Value op_grid_argmax(OpCall *, Device *);
Value op_grid_argmin(OpCall *, Device *);
Value op_grid_cast(OpCall *, Device *);
Value op_grid_chol(OpCall *, Device *);
Value op_grid_cond(OpCall *, Device *);
Value op_grid_ctranspose(OpCall *, Device *);
Value op_grid_det(OpCall *, Device *);
Value op_grid_dot(OpCall *, Device *);
Value op_grid_eigh(OpCall *, Device *);
Value op_grid_eigvalsh(OpCall *, Device *);
Value op_grid_inv(OpCall *, Device *);
Value op_grid_lstsq(OpCall *, Device *);
Value op_grid_lu(OpCall *, Device *);
Value op_grid_matmul(OpCall *, Device *);
Value op_grid_norm(OpCall *, Device *);
Value op_grid_qr(OpCall *, Device *);
Value op_grid_rand(OpCall *, Device *);
Value op_grid_randint(OpCall *, Device *);
Value op_grid_randn(OpCall *, Device *);
Value op_grid_slogdet(OpCall *, Device *);
Value op_grid_solve(OpCall *, Device *);
Value op_grid_svd(OpCall *, Device *);
Value op_grid_svdvals(OpCall *, Device *);
Value op_grid_tril(OpCall *, Device *);
Value op_grid_triu(OpCall *, Device *);

/* t, which is on the grid, as the ranks have it: dense there, of this dtype and with a number
 * of its own shape. Rooted; sends what is not there. */
MpiTensor *grid_operand(OpCall *, Device *, Tensor *t, DType);
/* What stands behind a tensor that place_new made. */
MpiTensor *grid_made(OpCall *, Device *, Tensor *);

#endif
