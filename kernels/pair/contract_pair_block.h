/* The blocked product over axes: C[b, m, n] = sum over k of A[b, m, k] B[b, n, k], where
 * each of b, m, n, k stands for any number of axes of any steps. Blocks of A and B are
 * gathered straight into the panels that the kernel reads, and tiles of C go straight to
 * where they belong, so nothing is ever transposed as a whole (Springer & Bientinesi, "Design
 * of a high-performance GEMM-like tensor-tensor multiplication", TOMS 2018; Matthews,
 * "High-performance tensor contraction without transposition", SISC 2018). */
#ifndef RICCI_KERNELS_CONTRACT_PAIR_BLOCK_H
#define RICCI_KERNELS_CONTRACT_PAIR_BLOCK_H

#include "kernels/pair/contract_pair_kernels.h"

enum { PAIR_M, PAIR_N, PAIR_K, PAIR_BATCH, PAIR_GROUPS };

/* Axes that are walked as one, the first fastest. */
typedef struct PairGroup {
    int axes;
    int64_t extent;                     /* product of the extents */
    const PairAxis *axis;
} PairGroup;

/* Which way lines of A go, where the next block of it is fetched ahead. */
typedef enum PairLook { LOOK_NOWHERE, LOOK_ALONG_ROWS, LOOK_ALONG_DEPTH } PairLook;

/* f32, f64, c64, c128. The groups, dtype and conj are the caller's, and the kernel where it is not
 * the one of the dtype; the rest is block_plan's. */
typedef struct PairProduct {
    DType dtype;
    bool conj[PAIR_TENSORS];
    PairGroup group[PAIR_GROUPS];
    int chunks;                         /* 0, or the axis of M that counts panels of its first axis:
                                         * that has as many positions as a panel, of which the last
                                         * panel uses only `tail` */
    int64_t tail;
    const PairKernel *kernel;
    BlasType type;
    int64_t mc, nc, kc;                 /* extents of a block */
    int64_t kb;                         /* depth of B's packed block: kc, or all of k where B is
                                         * small; C's rows then stay in the cache meanwhile */
    int workers;                        /* that may run at a time */
    bool by_batch;                      /* workers take whole products of the batch */
    bool by_columns;                    /* they share C's columns (it has few rows) */
    int slices;                         /* 0, or parts of a long sum that are products of their own,
                                         * added up at last: workers take them, not parts of C */
    bool in_place;                      /* B's columns follow each other, elements of depth side by
                                         * side: workers that share them need not pack them */
    bool stream;                        /* C is written once and too large for the cache */
    PairLook look;
    int64_t shared_bytes, lane_bytes;   /* workspace of a product, of each worker */
} PairProduct;

/* Offsets in one tensor of positions [begin, begin + count) of the group. */
void pair_group_offsets(const PairGroup *, int tensor, int64_t begin, int64_t count, int64_t *to);
int64_t pair_group_offset(const PairGroup *, int tensor, int64_t at);

/* Is it a long sum that becomes slices? Of a product whose kernel is known. */
bool pair_block_is_sliced(const PairProduct *);
/* Chooses blocks and the split; returns the bytes of workspace that a run wants. */
int64_t pair_block_plan(Ctx *, PairProduct *);
/* `work` is 64-byte aligned. No group is empty (a group without axes has extent 1). */
/* panels: told of columns of C, which are one axis in one product, as of rows (gemm.h); or NULL. */
void pair_block_run(Ctx *, const PairProduct *, void *work, void *c, const void *a, const void *b,
                    const GemmPanels *panels);

#endif
