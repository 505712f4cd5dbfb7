/* The strip operations of the fused loop, one table per pair of operations and dtype, by
 * instruction set. Only contract_fused*.c include this. A cell is one element. */
#ifndef RICCI_KERNELS_CONTRACT_FUSED_KERNELS_H
#define RICCI_KERNELS_CONTRACT_FUSED_KERNELS_H

#include "kernels/semiring/semiring.h"

typedef struct FusedOps {
    void (*fill)(void *to, int64_t n);                                      /* identity */
    void (*mul)(void *to, const void *x, const void *y, int64_t n);         /* to may be x */
    void (*add)(void *acc, const void *x, int64_t n);
    void (*fma)(void *acc, const void *x, const void *y, int64_t n);
    void (*scale)(void *to, const void *x, const void *cell, int64_t n);    /* to may be x */
    void (*axpy)(void *acc, const void *x, const void *cell, int64_t n);
    void (*sum)(void *cell, const void *x, int64_t n);
    void (*dot)(void *cell, const void *x, const void *y, int64_t n);
    void (*gather)(void *to, const void *x, int64_t step, int64_t n, bool turned);
    /* Strips of n at x, x + next, … (rows of them), `step` within each, to rows that are `row`
     * apart: reads where x lies close together in both directions. */
    void (*tile)(void *to, int64_t row, const void *x, int64_t step, int64_t n, int64_t next,
                 int64_t rows, bool turned);
    void (*scatter)(void *to, int64_t step, const void *x, int64_t n, bool accumulate);
} FusedOps;

/* fill NULL: not there. The plain table has what fused_has says. */
extern const FusedOps fused_ops_base[SR_COUNT][DT_COUNT];
extern const FusedOps fused_ops_avx2[SR_COUNT][DT_COUNT];

#endif
