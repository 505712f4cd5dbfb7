/* What one thread does, by type and instruction set. Only attention*.c include this. */
#ifndef RICCI_KERNELS_ATTENTION_KERNELS_H
#define RICCI_KERNELS_ATTENTION_KERNELS_H

#include "kernels/attention/attention.h"

#include <stdatomic.h>

/* Backward, the parts of a head that all key blocks read, and what they add up in turn. */
typedef struct AttentionHead {
    char *qt, *wt;                  /* blocks of queries, turned: q times scale, w */
    char *q, *w;                    /* rows filled up to whole vectors */
    char *lse, *share, *delta;      /* of each query, filled up to whole blocks */
    char *dqt;                      /* turned sums */
    /* where qt and wt are pairs of bf16: the least magnitudes (bf16_least) of each panel */
    int *least_q, *least_w;
    _Atomic int64_t *turn;          /* per block of queries: the key block that adds next */
} AttentionHead;

typedef struct AttentionKernel {
    int panel;                      /* queries that lie together */
    /* bytes for a thread */
    int64_t (*scratch)(const Attention *);
    int64_t (*back_scratch)(const Attention *);
    int64_t (*head_bytes)(const Attention *);
    void (*head_parts)(const Attention *, AttentionHead *, char *memory);
    /* one block of queries of a head */
    void (*block)(const Attention *, int64_t head, int64_t block, char *scratch);
    /* backward: the parts of a block of queries made; one block of keys; dq of a block of queries
     * from its sums. False: interrupted. */
    void (*back_begin)(const Attention *, const AttentionHead *, int64_t head, int64_t block,
                       char *scratch);
    bool (*back_keys)(Ctx *, const Attention *, const AttentionHead *, int64_t head, int64_t block,
                      char *scratch);
    void (*back_end)(const Attention *, const AttentionHead *, int64_t head, int64_t block);
} AttentionKernel;

typedef struct AttentionKernels {
    AttentionKernel f32, f64;
} AttentionKernels;
extern const AttentionKernels attention_base, attention_avx2, attention_avx512;

/* c = scale A B of bf16 numbers with sums in f32, whose panels are 64 wide. Neighbours of depth
 * lie together: in rows of A, and in cells of 32 bits of B. */
typedef struct AttentionDot {
    int64_t rows, vectors, pairs;
    const uint16_t *a;
    int64_t lda;
    const uint32_t *b;
    float *c, scale;
    bool exact;                     /* numbers that the instruction might take for 0 */
} AttentionDot;
void attention_dot_bf16(const AttentionDot *);
/* Where the processor has the instruction and the operands are bf16, else NULL. */
typedef void AttentionDotRun(const AttentionDot *);
AttentionDotRun *attention_dot(const Attention *);

/* The keys [*from, *to) of which queries [i0, i1) see any. */
static inline void attention_seen(const Attention *a, int64_t i0, int64_t i1, int64_t *from,
                                  int64_t *to)
{
    int64_t low = i0 + a->shift - a->left, high = i1 + a->shift + a->right;
    *from = low < 0 ? 0 : low;
    *to = high > a->m ? a->m : high;
    if (*to < *from)
        *to = *from;
}

static inline int64_t attention_blocks(int64_t n, int64_t of) { return (n + of - 1) / of; }
static inline int64_t attention_filled(int64_t n, int64_t of)
{
    return attention_blocks(n, of) * of;
}

#endif
