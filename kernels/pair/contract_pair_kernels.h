/* Tables of the pair engine's kernels by instruction set: packing of panels and products of
 * packed blocks. Elements lie wherever tables of offsets say, so that any number of axes
 * is one loop. Only contract_pair_block.c and contract_pair_rows.c choose and call them. */
#ifndef RICCI_KERNELS_CONTRACT_PAIR_KERNELS_H
#define RICCI_KERNELS_CONTRACT_PAIR_KERNELS_H

#include "kernels/pair/contract_pair.h"

/* Panels of an operand: `rows` rows (or columns of B) of `depth` elements, element (i, q) at
 * src[row[i] + column[q]], into panels of as many rows as the kernel takes at a time, the
 * last one filled with zeros. */
typedef struct PairPack {
    const void *src;
    void *dst;
    const int64_t *row, *column;
    int64_t rows, depth;
    bool conj;
} PairPack;

/* What the next block of A is packed from, fetched into the second cache while this one is
 * multiplied: one line at line[r] + at[q] for every element of depth, by steps of a tile that
 * are spread over all of it. */
typedef struct PairAhead {
    const void *src;
    const int64_t *line, *at;           /* at: as many as the tile is deep */
    int64_t lines, calls, call;
} PairAhead;

/* C[row[i] + column[j]] (+)= sum over q of A's panels times B's. */
typedef struct PairTile {
    const void *a, *b;                  /* packed */
    void *c;
    const int64_t *row, *column;
    const int64_t *live;                /* rows of each panel that are there; NULL: all of m */
    int64_t m, n, depth;
    bool add;
    bool stream;                        /* whole cache lines of C are written past the cache */
    PairAhead *ahead;                   /* or NULL */
    const void *place;                  /* NULL, or B as it came: element q of column j lies at */
    int64_t step;                       /* place[j*step + q]; only the last, narrower panel of
                                         * columns is packed then */
} PairTile;

/* C[row[i]] = sum over runs r and their elements q of A[arow[i] + arun[r] + q*sa] times
 * B[brun[r] + q*sb]; b NULL: A alone. */
typedef struct PairRows {
    const void *a, *b;
    void *c;
    const int64_t *crow, *arow, *brow, *arun, *brun;
    int64_t rows, runs, length, sa, sb;
    bool conj_a, conj_b;
} PairRows;

/* C[row[i] + column[j] + y] = sum over q of A[from[i] + at[q] + y*step] times B's panels, y below
 * `lines`: A is read in place, by vectors that each hold neighbours, and C's closest axis is y. The
 * sums lie in the buffer as A does and go to C as it lies. */
typedef struct PairLarge {
    const void *a, *b;                  /* b: packed in panels */
    void *c, *buffer;                   /* n blocks of `pitch` elements for each vector of an even
                                         * number, between two squares of vectors; aligned */
    const int64_t *at, *from, *column;  /* at: of each element of depth; from: of each vector */
    const int64_t *row;                 /* one for each lane of each vector … */
    const int64_t *skip;                /* … of which so many belong to another vector */
    const void *next;                   /* A's place and `from` of what is wanted next, or NULL */
    const int64_t *after;
    int64_t vectors, n, depth, lines, step, pitch;
    bool stream;                        /* whole vectors of C are written past the cache */
} PairLarge;

typedef struct PairKernel {
    int mr, nr;                         /* elements of a panel of A, of B */
    int pairs;                          /* elements of depth in a packed cell: 2 of bf16, else 1 */
    void (*pack_a)(const PairPack *);
    void (*pack_b)(const PairPack *);
    void (*tile)(const PairTile *);
    void (*rows)(const PairRows *);
    void (*large)(const PairLarge *);   /* or NULL */
} PairKernel;

extern const PairKernel pair_kernel_base[BLAS_TYPES], pair_kernel_avx2[BLAS_TYPES],
    pair_kernel_avx512[BLAS_TYPES];
const PairKernel *pair_kernel(BlasType);
/* bf16 operands, f32 sums: contract_pair_bf16.tmpl.h. The portable one computes as the
 * instruction does, far slower than f32: what the other is tested against. */
extern const PairKernel pair_kernel_bf16_avx512, pair_kernel_bf16_portable;
/* The processor's, or NULL: it has no instruction for that. */
const PairKernel *pair_kernel_bf16(void);

#endif
