/* Reductions of a tensor over a set of axes: sums, products, extremes, counts, moments.
 * Blocks are cut by shape alone and joined in a fixed order, so a result has the same bits
 * for every number of threads and every instruction set. The caller (builtins/arrays/reductions.c)
 * checks axes and dtypes, makes the output and raises. */
#ifndef RICCI_KERNELS_REDUCE_H
#define RICCI_KERNELS_REDUCE_H

#include "kernels/tensor/tensor.h"

typedef enum RedOp {
    RED_SUM,        /* ints and bools in i64; f16 and bf16 accumulate in f32 */
    RED_NANSUM,     /* NaN counts as zero */
    RED_PROD,
    RED_MIN,        /* a NaN is the result (NumPy) */
    RED_MAX,
    RED_ARGMIN,     /* first position of the extreme, of the first NaN if there is one */
    RED_ARGMAX,
    RED_COUNT,      /* true or nonzero elements */
    RED_ANY,
    RED_ALL,
    RED_MEAN,
    RED_VAR,        /* needs RedParams.mean; sum of squared deviations over n - ddof */
    RED_STD,
    RED_OPS
} RedOp;

/* Elements of a contiguous tensor that is not there, made block by block where they are folded. */
typedef struct RedBlocks {
    /* elements [from, to) to `at`, on any thread */
    void (*make)(struct RedBlocks *, int64_t from, int64_t to, int worker, void *at);
    /* NULL, or accumulators of [from, to), one of each `each` elements, with the bits that the
     * loops below have of what `make` makes; false: not these */
    bool (*fold)(struct RedBlocks *, int fold, int64_t from, int64_t to, int64_t each, int worker,
                 void *acc);
    _Atomic bool failed;    /* there are none, and the result means nothing */
} RedBlocks;

typedef struct RedParams {
    const Tensor *mean;     /* RED_VAR, RED_STD: f64 or c128, contiguous, one per output */
    double ddof;
    RedBlocks *blocks;      /* where x, reduced over all its axes, has no data; not RED_VAR */
} RedParams;

/* DT_NONE if the operation lacks the dtype (extremes of complex numbers). */
DType reduce_result_dtype(RedOp, DType);

/* Several reduced axes that do not merge: a copy of x with the reduced axes last is faster,
 * and positions (argmin, argmax: row-major order) need one. */
bool reduce_wants_copy(RedOp, const Tensor *x, uint64_t axes);

/* out (contiguous, kept axes in order) = op of x over the axes in the mask. Returns false
 * if an integer result left i64. Extremes need at least one element per output (the caller
 * checks). A set interrupt flag leaves out undefined: the caller polls. */
bool reduce_run(Ctx *, RedOp, Tensor *x, uint64_t axes, Tensor *out, const RedParams *);
/* The same by the portable loops, for the tests. */
bool reduce_reference(Ctx *, RedOp, Tensor *x, uint64_t axes, Tensor *out, const RedParams *);

/* ---- between reduce.c and the loops of one instruction set ---- */
typedef struct RedKernel {
    size_t bytes;       /* of one accumulator; NULL functions: the dtype is not there */
    /* *acc = fold of n strided elements; param: NULL or this output's mean */
    void (*run)(void *acc, const void *x, int64_t stride, int64_t n, const void *param);
    /* acc[j] = fold of column j: m columns (stride cs), n rows (stride rs) */
    void (*rows)(void *acc, const void *x, int64_t rs, int64_t n, int64_t cs, int64_t m,
                 const void *param);
    /* acc[j] = join(acc[j], more[j]), more after acc in order; `offset`: elements before more */
    void (*join)(void *acc, const void *more, int64_t m, int64_t offset);
} RedKernel;

typedef enum RedFold { FOLD_SUM, FOLD_NANSUM, FOLD_PROD, FOLD_MIN, FOLD_MAX, FOLD_ARGMIN,
                       FOLD_ARGMAX, FOLD_COUNT, FOLD_VAR, FOLD_KINDS } RedFold;

extern const RedKernel reduce_base[FOLD_KINDS][DT_COUNT];
extern const RedKernel reduce_avx2[FOLD_KINDS][DT_COUNT];
extern const RedKernel reduce_avx512[FOLD_KINDS][DT_COUNT];

/* Accumulators that reduce.c must finish. */
typedef __int128 RedInt;                                              /* integer sums */
typedef struct RedProd { uint64_t size; uint8_t negative, zero, overflow; } RedProd;
typedef struct RedVar { double sum, squares, sum_im; } RedVar;        /* of deviations */
typedef struct RedArg { int64_t at; union { int64_t i; double f; } v; } RedArg;

#endif
