/* How well a solution satisfies its equations: the componentwise backward error. */
#ifndef RICCI_KERNELS_BACKWARD_H
#define RICCI_KERNELS_BACKWARD_H

#include "kernels/gemm/gemm.h"

/* Room for what follows, in bytes. */
size_t backward_room(BlasType, int64_t n, int64_t cols);

/* max over i of |b - A x|_i / (|A| |x| + |b|)_i, with |z| = |re| + |im| and 0/0 = 0 (Oettli and
 * Prager 1964; LAPACK's ?gerfs, BERR): how much every element of A and b must change, relative to
 * itself, for x to be the exact solution. A n x n with kl diagonals below and ku above, x n
 * elements one after the other, b a column. NaN where something is not finite. The residual
 * b - A x, in the same precision, lies at the beginning of `room`.
 *
 * Of several columns (x by columns, b n x cols) one sum stands for all, each scaled by the size of
 * its x and by signs and weights without a pattern: what grows in one factorisation may be the
 * same vector in many columns, and must not cancel. That takes 2 n (n + 2 cols) multiplications
 * instead of 2 n^2 cols. A column with a great error raises it, by what it is of the sum. */
double backward_error(BlasType, int64_t n, int64_t kl, int64_t ku, Mat a, const void *x, Mat b,
                      int64_t cols, void *room);

#endif
