/* What the files of this room and the kernels of one instruction set share. A lies packed in rows
 * of bytes without signs, `depth` of them, a multiple of 4; B in panels of EIGHT_PANEL columns, and
 * there by fours of depth: four bytes with signs of one column side by side. Wide tiles have both
 * in 16 bits as they are, B in strips of EIGHT_STRIP columns, and there by pairs of depth. */
#ifndef RICCI_KERNELS_EIGHT_KERNELS_H
#define RICCI_KERNELS_EIGHT_KERNELS_H

#include "kernels/eight/eight.h"

enum { EIGHT_ROWS = 6, EIGHT_PANEL = 64, EIGHT_STRIP = 16, EIGHT_DEPTH = 4096 };

/* sum[i*EIGHT_PANEL + j] = the product's element, for `rows` rows (EIGHT_ROWS at most) and at least
 * `columns` columns. */
typedef void EightTile(int rows, int columns, int64_t depth, const uint8_t *a, const int8_t *b,
                       int32_t *sum);
EightTile eight_tile_base, eight_tile_avx2, eight_tile_avxvnni, eight_tile_avx512;

/* A four of depth in EIGHT_PANEL columns, `add` added, to the strips of a panel of this depth. */
void eight_widen_avx2(const int8_t *four, int add, int64_t depth, int16_t *to);

/* Loops over floats (eight_loops.tmpl.h). The bits of |x|, as integers, are in the order of |x|,
 * and those of nan and infinities are the greatest. */
typedef struct EightLoops {
    uint32_t (*peak_f32)(const float *x, int64_t n);
    uint64_t (*peak_f64)(const double *x, int64_t n);
    /* of EIGHT_PANEL columns, n rows of them `step` apart; *peak holds those before */
    void (*peaks_f32)(const float *x, int64_t step, int64_t n, uint32_t *peak);
    void (*peaks_f64)(const double *x, int64_t step, int64_t n, uint64_t *peak);
    /* x / scale to nearest, halves to even, from -127 to 127; 128 added */
    void (*row_f32)(const float *x, int64_t n, float scale, uint8_t *to);
    void (*row_f64)(const double *x, int64_t n, double scale, uint8_t *to);
    /* the same of four rows of EIGHT_PANEL, by a scale for each column, woven; nothing is added */
    void (*weave_f32)(const float *const *x, const float *scale, int8_t *to);
    void (*weave_f64)(const double *const *x, const double *scale, int8_t *to);
    /* to[j] = (sum[j] - less[j]) * row * column[j] */
    void (*finish)(int64_t n, const int32_t *sum, const int32_t *less, double row,
                   const double *column, float *to);
} EightLoops;
extern const EightLoops eight_loops_base, eight_loops_avx2, eight_loops_avx512;
const EightLoops *eight_loops(void);

/* One part of a product: so much of its depth as lies packed at a time. */
typedef struct EightJob {
    Ctx *ctx;
    EightTile *tile;
    const EightLoops *loops;
    int64_t m, n, k;
    EightMat a, b;
    int64_t *c;                 /* sums; of a scaled product only where there are several parts */
    const EightScales *scales;  /* NULL: the sums are wanted */
    float *out;
    uint8_t *rows;              /* A of this part, m × depth; sums of its rows as they lie */
    int64_t *row_sum;
    int8_t *panels;             /* B of this part; sums of its columns */
    int64_t *column_sum;
    int32_t *column_less;       /* add_a times those */
    int64_t from, count, depth; /* of k: in A and B; padded */
    int64_t add_a, take_b;      /* 128 or 0: to what lies packed, or to bytes on the way there */
    bool adds_rows, adds_columns;       /* are their sums wanted? Else they are 0 */
    bool wide;                  /* 16 bits lie packed, and these are put right in them */
} EightJob;

static inline int64_t eight_panels(int64_t n) { return (n + EIGHT_PANEL - 1) / EIGHT_PANEL; }

/* For the pool: rows and panels [begin, end) of an EightJob. */
void eight_pack_rows(void *job, int64_t begin, int64_t end, int worker);
void eight_pack_panels(void *job, int64_t begin, int64_t end, int worker);

#endif
