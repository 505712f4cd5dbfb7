/* What the files of this room share: an operand as rows of f64, one for each position of an axis
 * (one row without an axis), and the limits of each. */
#ifndef RICCI_BUILTINS_QUANT_H
#define RICCI_BUILTINS_QUANT_H

#include "builtins/rows/rows.h"

typedef struct Rows {
    Tensor *x;                  /* the operand */
    int axis;                   /* or -1 */
    bool single;                /* computed in f32: the operand has no more digits */
    int64_t rows, n;
    double *at;                 /* row after row */
    double *low, *high;         /* per row, once they are found; low <= high, 0 may lie outside */
} Rows;

typedef enum Method { METHOD_MINMAX, METHOD_PERCENTILE, METHOD_MSE, METHOD_ENTROPY } Method;
typedef struct Choice {
    Method method;
    bool symmetric;
    double p;                   /* percentile */
    int64_t bins;
} Choice;

/* Reads argument x and the axis at `axis_at`. Raises value for nan and infinities. */
Rows quant_rows(OpCall *, int axis_at);
Method quant_method(OpCall *, int i);
/* Sets low and high of each row. */
void quant_calibrate(OpCall *, Rows *, const Choice *);
/* The steps between neighbours of a range that is to have `steps` of them, in f32 or f64: positive
 * and finite; 1 for a range of no width. */
double quant_scale(double low, double high, double steps, bool single);

#endif
