/* Arithmetic in any format: binary floats of at most 53 significant bits (arith_binary*.c),
 * decimal, mp, rational and interval numbers (arith_decimal.c …), behind one table of row
 * operations. An operation is the exact one, rounded once to the format in the given mode.
 * Elements stand in the format's carrier: double for binary formats (every value of such a
 * format is a double), 16-byte numbers for the others. The door, the loops of reductions and
 * contractions and the textbook algorithms all compute through here, so a format that is in
 * the table works everywhere.
 *
 * Nothing raises: operations return a status. An Arith is a small value that one thread
 * owns: threads copy it, and add the flags up afterwards. */
#ifndef RICCI_KERNELS_ARITH_H
#define RICCI_KERNELS_ARITH_H

#include "kernels/elementwise/ew.h"

typedef enum RoundMode {
    ROUND_NEAREST,          /* ties to even */
    ROUND_AWAY,             /* nearest, ties away from zero */
    ROUND_ZERO,
    ROUND_UP,
    ROUND_DOWN,
    ROUND_ODD,              /* inexact: the neighbour with an odd last bit */
    ROUND_STOCHASTIC,       /* up with the probability of the distance, exactly */
    ROUND_MODES
} RoundMode;

/* How often each happened; `inexact` counts every result that is not the exact one. */
typedef struct ArithFlags {
    uint64_t overflow, underflow, inexact, invalid, divzero;
} ArithFlags;

typedef enum ArithStatus {
    ARITH_OK,
    ARITH_NONE,             /* the format has no such operation here: ew only */
    ARITH_MEMORY,
    ARITH_DIGITS,           /* a number grew beyond what is allowed */
    ARITH_DIVISION,         /* by zero, where the format has no infinity */
    ARITH_INEXACT,          /* the exact result is no number of the format (rational sqrt 2) */
    ARITH_NO_NUMBER,        /* nan or infinity into a format without them */
    ARITH_COMPLEX,          /* an imaginary part would be lost */
    ARITH_MIXED,            /* binary with decimal */
    ARITH_UNCERTAIN,        /* a comparison of intervals that overlap */
    ARITH_LIBRARY,          /* GMP, MPFR or FLINT is missing */
    ARITH_INTERRUPT,
    ARITH_SLOW,             /* minutes and hours of a library that nothing can interrupt */
    ARITH_SINGULAR,         /* of textbook algorithms: a zero pivot … */
    ARITH_INDEFINITE,       /* … not positive definite */
    ARITH_DIVERGED          /* … no convergence */
} ArithStatus;

typedef struct Arith Arith;

/* Row and column strides in elements of the carriers. */
typedef struct ArithMatrix { char *data; int64_t row, col; } ArithMatrix;

/* Rows: element i of x stands at x + i * sx elements; a stride of 0 repeats one. Results may
 * overwrite an operand of the same stride. Results of one call are rounded in order of i. */
typedef struct ArithOps {
    /* out[i] = op(x[0][i], x[1][i], x[2][i]) for + - * / sqrt fma neg abs min max and, where the
     * format has its own, every other elementwise operation; comparisons write bytes 0 and 1.
     * ARITH_NONE: compute in f64 and round (binary formats), or there is none. */
    ArithStatus (*ew)(Arith *, EwOp, void *out, int64_t so, const void *const x[],
                      const int64_t sx[], int64_t n);
    /* Numbers of any real dtype, rounded once into carriers of this format. */
    ArithStatus (*load)(Arith *, void *to, int64_t st, DType from, const void *x, int64_t sx,
                        int64_t n);
    /* Carriers that are numbers of this format into its storage (f16: 2 bytes …): exact. */
    ArithStatus (*store)(Arith *, void *to, int64_t st, const void *x, int64_t sx, int64_t n);
    /* y[i] = y[i] + a x[i], or y[i] - a x[i] for EW_SUBTRACT: the product is rounded, then the
     * sum. */
    ArithStatus (*axpy)(Arith *, EwOp, void *y, int64_t sy, const void *a, const void *x,
                        int64_t sx, int64_t n);
    /* x[0]y[0] + x[1]y[1] + …, left to right, every product and sum rounded; 0 for n = 0. */
    ArithStatus (*dot)(Arith *, void *out, const void *x, int64_t sx, const void *y, int64_t sy,
                       int64_t n);
    ArithStatus (*sum)(Arith *, void *out, const void *x, int64_t sx, int64_t n);
    /* order: -1, 0, 1, or 2 where one is nan. */
    ArithStatus (*compare)(Arith *, const void *x, const void *y, int *order);
    /* arith_matmul by loops of the format's own, to the same bits and flags; it leaves `draw`
     * alone. ARITH_NONE: not of these operands, and nothing was done. NULL: it has none. */
    ArithStatus (*matmul)(Arith *, ArithMatrix C, ArithMatrix A, ArithMatrix B, int64_t m,
                          int64_t n, int64_t k);
} ArithOps;

struct Arith {
    Ctx *ctx;
    const ArithOps *ops;
    DType dtype;            /* the format */
    DType carrier;          /* DT_F64, or dtype itself; bytes (DT_U8) of flat numbers */
    int size;               /* bytes of a carrier */
    RoundMode round;
    bool saturate, flush;   /* overflow gives the largest number; subnormal results give zero */
    bool wide;              /* binary: operands may be numbers of a wider format than this one */
    uint64_t seed[2];       /* ROUND_STOCHASTIC: of the counter-based generator … */
    uint64_t draw;          /* … and its counter: one per rounded result, in order */
    ArithFlags flags;
    /* Binary formats: significand bits, exponents of normal numbers, the largest number, and what
     * overflow to nearest gives: 'i' infinity, 'n' nan (e4m3), 's' the largest number. */
    int p, emin, emax;
    double max;
    char over;
    /* decimal: digits; mp: bits. */
    int64_t digits;
};

/* (arith_open, which fills one in, knows all formats: kernels/number/number.h.) */
/* Adds b's counts to a's. */
void arith_flags_add(ArithFlags *a, const ArithFlags *b);

/* C = A B: m x n, inner length k. Every product and partial sum is rounded in order of k. `acc` is
 * the accumulator's arithmetic: A and B are carriers of acc. C must not overlap them. Polls the
 * interrupt flag. */
ArithStatus arith_matmul(Arith *acc, ArithMatrix C, ArithMatrix A, ArithMatrix B, int64_t m,
                         int64_t n, int64_t k);

/* ---- binary formats: arith_binary*.c ---- */
/* Facts of a binary format of at most 53 bits (f64 f32 f16 bf16 e4m3 e5m2 MINI). */
typedef struct BinaryFormat { int p, emin, emax; double max; char over; } BinaryFormat;
bool binary_format(DType, BinaryFormat *);
/* out[i] = x[i] rounded to the format of a; n doubles, contiguous, in place allowed. */
void binary_round(Arith *, double *out, const double *x, int64_t n);
/* Doubles that are numbers of the format dt to and from its storage, contiguous. */
void binary_pack(DType dt, void *to, const double *x, int64_t n);
void binary_unpack(DType dt, double *to, const void *x, int64_t n);

#endif
