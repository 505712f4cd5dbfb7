/* Strips of direct contractions by instruction set; only direct*.c includes this. */
#ifndef RICCI_KERNELS_DIRECT_KERNELS_H
#define RICCI_KERNELS_DIRECT_KERNELS_H

#include "kernels/semiring/semiring_kernels.h"

/* Some rows of a result, all of their n columns; A goes along the columns by single steps.
 * Steps in elements, from row to row of C, A and B; offsets of the taps of A and B. */
typedef struct DirectStrip {
    int64_t rows, n, taps;
    int64_t step[3];
    const int64_t *at[2];
    void *c;
    const void *a, *b;
    bool accumulate;
} DirectStrip;

/* B stays where it is along the columns, or goes along them like A. n is a vector at least,
 * taps 1 at least. */
typedef void (*StripFn)(const DirectStrip *);
typedef struct StripKernel {
    StripFn scaled, paired;
} StripKernel;
typedef struct DirectSet {
    int bytes;                  /* of a vector */
    StripKernel kernel[SR_COUNT][DT_COUNT];
} DirectSet;
extern const DirectSet direct_set_base, direct_set_avx2, direct_set_avx512;

/* direct_run through one set, which this machine must be able to run. */
void direct_run_set(Ctx *, const DirectSet *, Semiring, DType, const Direct *, void *c,
                    const void *a, const void *b, bool accumulate);

#endif
