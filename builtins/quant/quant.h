/* What the files of quantisation share. A tensor is read as `outer` times `lanes` times `inner`
 * numbers, of which each lane has a range of its own; without an axis there is one lane. */
#ifndef RICCI_BUILTINS_QUANT_H
#define RICCI_BUILTINS_QUANT_H

#include "builtins/rows/rows.h"
#include "kernels/ranges/ranges.h"

typedef struct QuantOperand {
    OpCall *call;
    int at;                         /* the argument that it is */
    Tensor *x;                      /* contiguous, of … */
    DType dt;                       /* … DT_F32 or DT_F64, in which scales are */
    int axis;                       /* -1: none */
    int64_t outer, lanes, inner;
} QuantOperand;

typedef enum QuantMethod { QUANT_MINMAX, QUANT_PERCENTILE, QUANT_MSE, QUANT_ENTROPY,
                           QUANT_METHODS } QuantMethod;
extern const char *const quant_methods[QUANT_METHODS];

/* How the ends of a range are found. */
typedef struct QuantWay {
    QuantMethod method;
    bool symmetric;
    GridKind grid;
    double p;
    int64_t bins;
} QuantWay;

/* Ends, one pair for each lane; kept on the value stack. */
typedef struct QuantRange { double *low, *high; } QuantRange;

/* ---- quant_read.c ---- */
/* Argument `at`, a real tensor or number, by the axis that argument `axis` says. */
QuantOperand quant_operand(OpCall *, int at, int axis);
/* The same of a tensor of f32 or f64, without an axis. */
QuantOperand quant_whole(OpCall *, int at, Tensor *x, DType);
QuantMethod quant_method(OpCall *, int at);
QuantRange quant_range_new(OpCall *, int64_t lanes);
/* Argument `at` as a pair of finite numbers, or of vectors with one for each lane. */
QuantRange quant_range(const QuantOperand *, int at);
/* Numbers, one for each lane, as a value of x's dtype; owned. */
Value quant_numbers(const QuantOperand *, const double *);
/* Raises `value` for the first element that is infinite or no number. */
_Noreturn void quant_special(const QuantOperand *);

/* ---- calibrate.c ---- */
QuantRange quant_calibrate(const QuantOperand *, const QuantWay *);

/* Op.format of quantize, dequantize and calibrate: operands are rounded to the format, what comes
 * out is not, as a scale says how to read codes. */
Value op_format_quant(OpCall *, struct Scope *);

#endif
