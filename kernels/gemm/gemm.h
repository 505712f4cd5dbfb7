/* Matrix products on strided operands: what `@`, contractions and the linear algebra rows
 * stand on. Nothing here raises or allocates; lengths and strides are in elements. */
#ifndef RICCI_KERNELS_GEMM_H
#define RICCI_KERNELS_GEMM_H

#include "kernels/blas/blas.h"
#include "kernels/tensor/mat.h"

/* Leading axes over which a product is repeated: extents, and a step per operand. */
#define GEMM_BATCH_MAX 30
typedef struct GemmBatch {
    int rank;
    int64_t count;                    /* product of the extents */
    int64_t extent[GEMM_BATCH_MAX];
    int64_t a[GEMM_BATCH_MAX], b[GEMM_BATCH_MAX], c[GEMM_BATCH_MAX];
} GemmBatch;

/* Can a rows x cols operand go to BLAS as it lies? One of its steps must be 1 and the other
 * at least the length of what it jumps over; anything else is to be packed first. */
bool gemm_legal(int64_t rows, int64_t cols, int64_t rs, int64_t cs);

/* C = A @ B for f32, f64, c64, c128 (dt is theirs): A is m x k, B k x n, C m x n. All three
 * legal, C not overlapping the others, its rows or its columns contiguous. k = 0 gives
 * zeros. Splits C among the pool's workers when that pays. A set interrupt flag ends it
 * early with C half written: the caller polls. `blas` may be NULL if gemm_tiny says so. */
void gemm(Ctx *, const Blas *blas, DType dt, int64_t m, int64_t n, int64_t k, Mat a, Mat b, Mat c);
void gemm_batched(Ctx *, const Blas *blas, DType dt, int64_t m, int64_t n, int64_t k,
                  Mat a, Mat b, Mat c, const GemmBatch *);
/* Who is told of rows of a result as soon as nothing will change them, by the worker that computed
 * them and has them in its cache: each row once, ranges in any order and at the same time. Must
 * not raise or allocate. worker: 0 … pool_threads - 1, one range at a time. */
typedef struct GemmPanels {
    void (*ready)(void *data, int64_t from, int64_t to, int worker);
    void *data;
} GemmPanels;
/* gemm, bit for bit, with C by rows; nobody is told of rows without elements, or of some rows where
 * an interrupt ended it early. */
void gemm_panels(Ctx *, const Blas *blas, DType dt, int64_t m, int64_t n, int64_t k,
                 Mat a, Mat b, Mat c, const GemmPanels *);
/* Tells of rows from … to, of so many elements each, in ranges that the workers share: for results
 * that were made some other way. */
void gemm_panels_tell(Ctx *, int64_t from, int64_t to, int64_t elements, const GemmPanels *);
/* Bytes of rows that stay in the second cache until who is told of them has read them. */
enum { GEMM_PANEL_BYTES = 1 << 20 };
/* Small enough that our own loop beats the call: such a product takes any strides. */
bool gemm_tiny(int64_t m, int64_t n, int64_t k);
void gemm_small(DType dt, int64_t m, int64_t n, int64_t k, Mat a, Mat b, Mat c);

/* The same for 64-bit integers, wrapping; any strides, C row-major contiguous rows. */
void gemm_i64(Ctx *, int64_t m, int64_t n, int64_t k, Mat a, Mat b, Mat c);
/* Largest magnitude of n contiguous integers (2^63 for INT64_MIN): decides whether a
 * product of integers is exact in f64. */
uint64_t gemm_i64_magnitude(const int64_t *x, int64_t n);

/* sum x[i]*y[i], or of conj(x[i])*y[i]; f16 and bf16 are not taken. *out has dtype dt. */
void gemm_dot(DType dt, int64_t n, const void *x, int64_t sx, const void *y, int64_t sy,
              bool conjugate, void *out);
/* *sum += *more, two of these. */
void gemm_dot_add(DType dt, void *sum, const void *more);
/* Sum of squares of n elements that lie together, of both parts of complex ones, in f64. */
double gemm_squares(DType dt, int64_t n, const void *x);
/* Euclidean norm of n elements with scaling, so that no square overflows or vanishes. */
double gemm_norm2(DType dt, int64_t n, const void *x, int64_t stride);

#endif
