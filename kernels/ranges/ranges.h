/* Numbers as eight-bit codes: how far they reach, the grid that stands for a range, codes of a
 * grid, and what is lost by them. A grid has the numbers (q - zero) * scale for low <= q <= high:
 *
 *   symmetric     scale = max|x| / 127, zero = 0, codes from -127 to 127
 *   otherwise     low and high are widened to hold 0, scale = (high - low) / 255,
 *                 zero = qmin - round(low / scale), codes from -128 to 127, or from 0 to 255
 *
 * Scales are f32 or f64, like the numbers; quotients are rounded in that dtype, and then to the
 * nearest code, ties to even. Nothing here depends on how many threads there are, nor on the
 * instruction set: sums are taken in lanes and blocks that are always the same.
 *
 *   ranges.c            blocks over the pool, grids; ranges_isa.tmpl.h: loops per instruction set
 *   ranges_entropy.c    the part of a histogram that codes tell best
 */
#ifndef RICCI_KERNELS_RANGES_H
#define RICCI_KERNELS_RANGES_H

#include "kernels/tensor/tensor.h"

typedef struct Grid {
    double scale;
    int zero, low, high;            /* codes */
} Grid;

typedef enum GridKind { GRID_SYMMETRIC, GRID_I8, GRID_U8 } GridKind;

/* The grid of a range whose ends are finite numbers of dt, DT_F32 or DT_F64. */
Grid grid_of(DType dt, double low, double high, GridKind);

/* Of n >= 1 numbers of dt: least and greatest. False: one of them is infinite or no number. */
bool ranges_extremes(Ctx *, DType dt, const void *x, int64_t n, double *low, double *high);
/* The same of each of m columns of a matrix of n x m, n and m >= 1; low and high are of dt. */
bool ranges_columns(DType dt, const void *x, int64_t n, int64_t m, void *low, void *high);
/* The first element that is infinite or no number; -1: there is none. */
int64_t ranges_special(DType dt, const void *x, int64_t n);

/* Codes of n numbers, signed or not as the grid has them. */
void ranges_codes(Ctx *, DType dt, const void *x, int64_t n, const Grid *, void *q);
/* The same of m columns of a matrix of n x m, each with its grid. `memory`: 4 m numbers of dt. */
void ranges_codes_columns(Ctx *, DType dt, const void *x, int64_t n, int64_t m, const Grid *,
                          void *memory, void *q);

/* Codes less zero, as numbers of dt: what codes stand for, but for the scale. */
void ranges_rounded(Ctx *, DType dt, const void *x, int64_t n, const Grid *, void *out);
/* Sums of products of codes as numbers, in place: rows of n columns, each times its scale, plus its
 * bias, and not below 0 with relu. scales and bias are n numbers of dt. */
void ranges_scale(Ctx *, DType dt, void *x, int64_t rows, int64_t n, const void *scales,
                  const void *bias, bool relu);

/* Rows of sums of products of codes, n columns: what is too much of each column taken off, and then
 * the same. `less`: n of it. */
void ranges_sums(Ctx *, DType dt, const int64_t *sums, int64_t rows, int64_t n, const int64_t *less,
                 const void *scales, const void *bias, bool relu, void *out);

/* Exact sums of products of codes: one row of k by a matrix of k×n whose rows are `step` apart. For
 * a row or a few, for which it does not pay to lay out the matrix anew (kernels/eight). */
enum { RANGES_DEPTH = 1 << 16, RANGES_WIDTH = 1 << 10 };
void ranges_few(Ctx *, const int8_t *a, const int8_t *b, int64_t step, int64_t k, int64_t n,
                int64_t *sums);

/* The sum of the squared errors of n numbers on each of `count` grids, added to error[count]. At
 * most RANGES_STRIP numbers a call. */
enum { RANGES_STRIP = 1 << 20, RANGES_BLOCK = 4096, RANGES_GRIDS = 100 };
void ranges_errors(Ctx *, DType dt, const void *x, int64_t n, const Grid *, int count,
                   double *error);

/* Counts numbers but zeros, or their sizes |x|, which all lie between low and high, by where:
 * low < high. */
void ranges_histogram(DType dt, const void *x, int64_t n, double low, double high, int64_t bins,
                      bool sizes, int64_t *counts);

/* The part [*from, *to) of a histogram that `levels` codes tell best: of the parts whose ends
 * shrink evenly towards the bin `zero`, down to so many bins, the one with the least
 * Kullback-Leibler divergence of what the codes say from what is there; the widest of several.
 * What lies outside of it counts in its outermost bins, as it is clamped there. Each code says that
 * its elements lie evenly in those of its bins that have any. memory: 3 (bins + 1) numbers. */
void entropy_part(const int64_t *counts, int64_t bins, int64_t zero, int levels, double *memory,
                  int64_t *from, int64_t *to);

#endif
