/* softmax(scale Q K' + bias) V over the last two axes, for many heads, and its gradient, by tiles:
 * T. Dao et al., FlashAttention (2022), after M. Milakov and N. Gimelshein, Online normalizer
 * calculation for softmax (2018). Scores are made a tile at a time and never kept. Queries lie
 * along the lanes of vectors, so that a running maximum and sum is a vector's.
 *
 * A query that sees no key, or only scores of -inf, gives zeros and the log of its sum -inf. What
 * a query does not see does not count, whatever stands there. */
#ifndef RICCI_KERNELS_ATTENTION_H
#define RICCI_KERNELS_ATTENTION_H

#include "kernels/tensor/tensor.h"

enum { ATTENTION_QUERIES = 128, ATTENTION_KEYS = 64 };     /* of a tile */

/* Matrices of all heads: head h starts at[h] elements behind data. */
typedef struct AttentionMat {
    char *data;
    const int64_t *at;
    int64_t row, col;               /* steps */
} AttentionMat;

typedef enum AttentionBias { BIAS_NONE, BIAS_BOOL, BIAS_ADDS } AttentionBias;

typedef struct Attention {
    DType dt;                       /* of all operands: f64, f32, or a half, which counts in f32 */
    int64_t heads, n, m, d, e;
    double scale;
    /* query i sees key j where -left <= j - (i + shift) <= right, both at most n + m */
    int64_t left, right, shift;
    AttentionBias biased;
    DType bias_dt;                  /* where it adds: dt, or the type that is counted in */
    AttentionMat q, k, v, bias;
    AttentionMat out;               /* rows contiguous; what backward reads, too */
    /* the log of each query's sum of exponentials, and what was lost when that was rounded (data
     * NULL: not wanted, not known), of the type that is counted in; row is the step */
    AttentionMat lse, rest;
    /* backward: the cotangents of out and lse (data NULL: none), in dt and in that type */
    AttentionMat w, w_lse;
    /* the gradients, to which it adds: of the type that is counted in, rows contiguous */
    AttentionMat dq, dk, dv, dbias; /* dbias.data NULL: not asked for; only row or col may be 0 */
    bool in_turn;                   /* heads share parts of dbias: one after the other */
} Attention;

/* Bytes of working memory for so many threads. */
int64_t attention_bytes(const Attention *, int threads);
int64_t attention_back_bytes(const Attention *, int threads);
/* Queries and keys that positions let see each other. */
double attention_pairs(const Attention *);
/* What `explain` says of it: `tiled, 128×64 blocks, 2.1 MB`. */
void attention_text(char *out, size_t cap, int queries, int keys, int64_t bytes);
/* memory: that many bytes, aligned as tensors are. */
void attention_run(Ctx *, const Attention *, int threads, char *memory);
void attention_back(Ctx *, const Attention *, int threads, char *memory);

#endif
