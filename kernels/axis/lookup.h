/* Finding places in a sorted table: where values enter it, counting into the bins of a histogram,
 * and values of a broken line. */
#ifndef RICCI_KERNELS_LOOKUP_H
#define RICCI_KERNELS_LOOKUP_H

#include "kernels/tensor/tensor.h"

typedef struct LookupBins {
    const double *edges;         /* bins + 1, not decreasing */
    int64_t bins;
    double per_width;            /* bins / (last - first) for equal bins, else 0 */
} LookupBins;

/* counts[k] += elements of x (n of f32 or f64, contiguous) in bin k; what lies outside and
 * nan is not counted. `partial`: (pool_threads - 1) * bins zeros, or NULL to run alone. */
void lookup_count(Ctx *, const LookupBins *, DType, const void *x, int64_t n, int64_t *counts,
                  int64_t *partial);
/* The same with weights, summed in order. */
void lookup_weigh(Ctx *, const LookupBins *, DType, const void *x, const double *weights, int64_t n,
                  double *sums);

/* out[i] = how many of a (m elements that do not fall, nans last) stand before v[i]; with `right`
 * those that equal it too. */
void lookup_places_f64(Ctx *, const double *a, int64_t m, bool right, const double *v, int64_t n,
                       int64_t *out);
void lookup_places_i64(Ctx *, const int64_t *a, int64_t m, bool right, const int64_t *v, int64_t n,
                       int64_t *out);

typedef struct LookupLine {
    const double *xp, *fp;       /* m points; fp steps by `step` (2: one part of complex ones) */
    int64_t m, step;
    double left, right;          /* outside */
    double nan_gives;            /* where x is nan: nan, or 0 for an imaginary part */
} LookupLine;

/* out[i * line.step] = the line's value at x[i]. */
void lookup_line(Ctx *, const LookupLine *, const double *x, int64_t n, double *out);

#endif
