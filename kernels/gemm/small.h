/* Batches of small matrices, computed several at a time: lane l of every vector belongs to
 * matrix l, so that a batch runs at vector speed however small its matrices are, and one
 * call serves the whole batch. What solve, inv, det and `@` use where LAPACK and BLAS would
 * spend more time on the call than on the numbers. Nothing here raises or allocates. */
#ifndef RICCI_KERNELS_SMALL_H
#define RICCI_KERNELS_SMALL_H

#include "kernels/gemm/gemm.h"

enum { SMALL_LU_MAX = 16, SMALL_PRODUCT_MAX = 32 };

/* Worth calling for `count` systems of order n? Single ones are LAPACK's. */
bool small_lu_pays(int64_t n, int64_t count);

/* The three below factor every matrix of the batch with LAPACK's choice of pivots (largest
 * |re| + |im|, the first of equals). They report item by item whether the result stands:
 * done[i] = 0 where a pivot is zero, where 1 / condition number may be below `limit`, where a
 * solution's componentwise backward error is above n eps, where an element is not finite or a
 * number left the range in which no step over- or underflows.
 * Those items are left for LAPACK; what stands in their place is arbitrary. Items are counted
 * with the last axis of the batch fastest. f32, f64, c64, c128. */

/* X = A \ B: A is n x n, B and X n x nrhs; X's blocks do not overlap anything. */
void small_solve(Ctx *, DType, int64_t n, int64_t nrhs, Mat a, Mat b, Mat x, const GemmBatch *,
                 double limit, uint8_t *done);
/* X = inv(A). Steps: a and c of the batch. */
void small_inverse(Ctx *, DType, int64_t n, Mat a, Mat x, const GemmBatch *, double limit,
                   uint8_t *done);
/* One element per matrix at x + c. */
void small_det(Ctx *, DType, int64_t n, Mat a, Mat x, const GemmBatch *, uint8_t *done);

/* Can small_product take it? C's rows or columns must be contiguous, A and B lie as they
 * like. At most SMALL_PRODUCT_MAX each. */
bool small_product_pays(int64_t m, int64_t n, int64_t k);
/* C = A B for the items [begin, end) of the batch; batch NULL: one product. */
void small_product(DType, int64_t m, int64_t n, int64_t k, Mat a, Mat b, Mat c,
                   const GemmBatch *, int64_t begin, int64_t end);

#endif
