/* The loops of ranges.c per instruction set and dtype: ranges_isa.tmpl.h. */
#ifndef RICCI_KERNELS_RANGES_ISA_H
#define RICCI_KERNELS_RANGES_ISA_H

#include "kernels/ranges/ranges.h"

typedef struct RangeLoops {
    /* false: one is infinite or no number */
    bool (*extremes)(const void *x, int64_t n, double *low, double *high);
    bool (*columns)(const void *x, int64_t n, int64_t m, void *low, void *high);
    void (*codes)(const void *x, int64_t n, const Grid *, uint8_t *q);
    /* of one row; scale, zero, low, high: m each, one after the other */
    void (*codes_row)(const void *x, int64_t m, const void *grids, uint8_t *q);
    /* codes less zero, as numbers */
    void (*rounded)(const void *x, int64_t n, const Grid *, void *out);
    /* ranges_scale: so many rows of n columns */
    void (*scale)(void *x, int64_t rows, int64_t n, const void *scales, const void *bias,
                  bool relu);
    /* ranges_sums; `less` is there */
    void (*sums)(const int64_t *sums, int64_t rows, int64_t n, const int64_t *less,
                 const void *scales, const void *bias, bool relu, void *out);
    /* of at most RANGES_BLOCK */
    double (*error)(const void *x, int64_t n, const Grid *);
} RangeLoops;

typedef struct RangeTable {
    RangeLoops f32, f64;
    /* ranges_few, of at most RANGES_DEPTH rows and RANGES_WIDTH columns */
    void (*few)(const int8_t *a, const int8_t *b, int64_t step, int64_t k, int64_t n,
                int32_t *sum);
} RangeTable;
extern const RangeTable ranges_base, ranges_avx2, ranges_avx512;

#endif
