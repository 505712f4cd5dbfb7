/* Sums over products of two tensors of floats in 8 bits. Labels number the indices, as in
 * kernels/contract; what both have and the result keeps are batches, what one has and the result
 * keeps are rows or columns, all others are summed. An element of a row is rounded to
 * max|row| / 127 times a whole number from -127 to 127, the product is exact in those, and f32. */
#ifndef RICCI_BUILTINS_EIGHT_PAIR_H
#define RICCI_BUILTINS_EIGHT_PAIR_H

#include "interp/op/op.h"

enum { EIGHT_LABELS = 64 };

typedef struct EightFactor {
    Tensor *t;                          /* f32 or f64 */
    uint64_t labels;
    int64_t stride[EIGHT_LABELS];       /* 0 of labels that it lacks */
    int arg;                            /* which argument, for errors; -1: a product of some */
} EightFactor;

/* Tensor t as f32, or as f64 where that does not hold its numbers; kept. */
Tensor *eight_float(OpCall *, Tensor *t);
/* The product as a factor with the labels of `out`; its tensor is f32 and kept, and lies with the
 * label `last` last where it can, -1: anyhow. */
void eight_pair(OpCall *, int labels, const int64_t *extent, const EightFactor *a,
                const EightFactor *b, uint64_t out, int last, EightFactor *product);
/* A kept tensor of this shape whose axes are labels of f, -1: of length 1. */
Tensor *eight_laid(OpCall *, const EightFactor *f, int rank, const int64_t *shape,
                   const int *label);

/* Lanes of x, its last `core` axes, as i8; *scale has one number per lane. */
Tensor *eight_lanes(OpCall *, int arg, Tensor *x, int core, const double **scale);
/* For `explain`. */
void eight_told(OpCall *);

/* The rows' columns. */
Value op_eight_matmul(OpCall *);
Value op_eight_dot(OpCall *);
Value op_eight_einsum(OpCall *);
Value op_eight_conv(OpCall *);
Value op_eight_conv2(OpCall *);

#endif
