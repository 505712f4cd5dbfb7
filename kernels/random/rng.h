/* Counter-based random numbers: Philox 4x32-10 (Salmon, Moraes, Dror, Shaw, "Parallel random
 * numbers: as easy as 1, 2, 3", SC 2011). Block number b of a key is a pure function of (key, b),
 * so element i of a tensor is the same for every number of threads, vector width and machine; the
 * transforms below use only + - * / and sqrt, which are exact to the last bit everywhere. */
#ifndef RICCI_KERNELS_RNG_H
#define RICCI_KERNELS_RNG_H

#include "kernels/tensor/tensor.h"

typedef struct RngStream {
    uint64_t key, stream, counter;   /* stream: the upper half of the 128-bit counter */
} RngStream;

/* One block, as the paper defines it. */
void philox_block(const uint32_t key[2], const uint32_t counter[4], uint32_t out[4]);

/* Fill n contiguous elements of a float dtype from the stream's counter on.
 * uniform: [0, 1) in steps of 2^-53 (f64), 2^-24 (f32), 2^-11 (f16), 2^-8 (bf16).
 * normal: Box-Muller in f64, rounded once. The stream's counter moves past what was used. */
void rng_uniform(Ctx *, RngStream *, DType, void *out, int64_t n);
void rng_normal(Ctx *, RngStream *, DType, void *out, int64_t n);
/* out[i] uniform over low, …, low + span - 1 without bias (span 0: all 2^64), by Lemire's
 * multiplication with rejection (2019); one block per element and, after a rejection, the
 * same block of the next streams. */
void rng_integers(Ctx *, RngStream *, int64_t *out, int64_t low, uint64_t span, int64_t n);
/* The same with low 0 and one less to choose from each time: out[i] is below span - i. */
void rng_falling(Ctx *, RngStream *, int64_t *out, uint64_t span, int64_t n);
/* One of them. */
uint64_t rng_below(RngStream *, uint64_t span);
double rng_unit(RngStream *);            /* [0, 1) */
/* Natural logarithm by the same arithmetic on every machine (within 1 ulp), 0 < x < inf. */
double rng_log(double x);
double rng_exp(double x);                /* likewise; 0 and inf where doubles end */

/* ---- one number at a time ---- */
enum { RNG_LANES = 16 };
/* Blocks of a stream, made before they are asked for; all zero: none yet. */
typedef struct RngAhead {
    RngStream from;
    bool blocks, units, normals;     /* which of these there are */
    uint32_t words[4 * RNG_LANES];
    double unit[2 * RNG_LANES], normal[2 * RNG_LANES];
} RngAhead;
/* What rng_uniform, rng_normal (of f64) and rng_integers make of the stream's next block. */
double rng_next_unit(RngAhead *, RngStream *);
double rng_next_normal(RngAhead *, RngStream *);
int64_t rng_next_int(RngAhead *, RngStream *, int64_t low, uint64_t span);

/* ---- between rng.c and the loops of one instruction set ---- */
typedef struct RngKernels {
    /* blocks of four words, word w of block b at out[w * blocks + b]; blocks is a multiple of
     * RNG_LANES */
    void (*blocks)(uint32_t *out, uint64_t key, uint64_t stream, uint64_t counter, int64_t blocks);
    /* 2 doubles per block, in [0, 1); from words in the layout above */
    void (*uniform)(double *out, const uint32_t *words, int64_t blocks);
    void (*uniform_f32)(float *out, const uint32_t *words, int64_t blocks);   /* 4 per block */
    void (*normal)(double *out, const uint32_t *words, int64_t blocks);       /* 2 per block */
    void (*exponential)(double *out, const uint32_t *words, int64_t blocks);  /* 2 per block */
    void (*powers)(double *x, int64_t n);                                     /* e^x, in place */
} RngKernels;
extern const RngKernels rng_base, rng_avx2, rng_avx512;
const RngKernels *rng_kernels(void);     /* of the machine */

#endif
