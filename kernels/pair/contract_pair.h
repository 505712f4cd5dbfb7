/* What the files of the pair engine share: axes with one step per tensor, the plain nest and
 * the blocked product over axes. Only contract_pair*.c include it; the interface to others
 * stands in pair.h. Nothing here sees the interpreter. */
#ifndef RICCI_KERNELS_CONTRACT_PAIR_H
#define RICCI_KERNELS_CONTRACT_PAIR_H

#include "kernels/pair/pair.h"

enum { PAIR_C, PAIR_A, PAIR_B, PAIR_TENSORS };

/* One axis of the nest: its extent, and its step in each tensor (elements; 0: not there). */
typedef struct PairAxis {
    int64_t extent;
    int64_t step[PAIR_TENSORS];
} PairAxis;

/* ---- contract_pair_plain.c: loops over elements, any dtype, semiring and steps ---- */
typedef struct PairNest {
    DType dtype;
    Semiring semiring;
    bool conj[PAIR_TENSORS];            /* of A and B: the conjugate takes part */
    int free, summed;                   /* axis[0 … free-1] are C's, the others are summed */
    PairAxis axis[CONTRACT_LABELS];
} PairNest;

/* b NULL: A alone. Overwrites C. */
void pair_nest_run(Ctx *, const PairNest *, void *c, const void *a, const void *b);
/* C *= factor over the free axes, where C is a sum: all its terms came so often, `factor` modulo
 * 2^64. */
void pair_nest_scale(const PairNest *, void *c, int64_t factor, double times);

#endif
