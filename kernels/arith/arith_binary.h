/* Binary formats of at most 53 bits, between the files of arith_binary*.c and arith_exact.c.
 *
 * Every operation is the exact one rounded once. What the formats leave open is settled here:
 *  - Overflow is seen after rounding with unbounded exponents. To nearest, stochastically and in
 *    the direction of the mode it gives what the format says (Arith.over); towards zero, against
 *    the direction and to odd it gives the largest number; `saturate` gives that always.
 *  - An exact infinity (of an operand, of x / 0) is an infinity where the format has one and does
 *    not saturate; elsewhere it counts as an overflow. x / 0 counts in divzero too.
 *  - Underflow: the result is inexact, and tiny after rounding with unbounded exponents. `flush`
 *    makes a subnormal result a zero of its sign, which underflows.
 *  - A sum that is exactly 0 is +0, in ROUND_DOWN -0, unless both terms are zeros of one sign.
 *  - nan stays nan in every format, also in those whose storage has none; invalid counts nans
 *    that no operand brought.
 *  - Each rounded result takes one draw, exact ones and nans too, in the order of the results;
 *    neg, abs, min, max and comparisons take none. Up if draw < distance 2^64.
 *
 * Two ways: exact integers (arith_exact.c), for one number; and rows (arith_binary.tmpl.h), which
 * hand the numbers that their shortcuts do not cover to the first way. Both count the same. */
#ifndef RICCI_KERNELS_ARITH_BINARY_H
#define RICCI_KERNELS_ARITH_BINARY_H

#include "kernels/arith/arith_ops.h"

/* ---- by exact integers: arith_exact.c ---- */
/* x op y for + - * /; sqrt x; fma: x y + z. The operands are any doubles. */
double binary_exact_op(Arith *, EwOp, double x, double y, double z);
double binary_exact_round(Arith *, const BinaryExact *);
double binary_exact_f64(Arith *, double x);             /* x rounded */
double binary_exact_i64(Arith *, int64_t i);
/* What overflow gives; counted. */
double binary_overflow(Arith *, bool negative);
/* The generator's stream for a seed, and a number of it. */
uint64_t binary_stream(const Arith *);
uint64_t binary_random(const Arith *, uint64_t draw);

/* ---- rows: arith_binary.tmpl.h, once per instruction set ---- */
/* What the loops need to know of an Arith, made once per call. */
typedef struct BinaryPlan {
    const struct BinaryKernels *kernels;
    double least;           /* 2^emin */
    double magic, unit;     /* of 2^e: 1.5 2^(53 - p), the number that an addition of it rounds at
                             * the last bit of; and 2^(1 - p), that last bit */
    double max, high;       /* from `high` on the magic number would overflow */
    double over[2];         /* the size of what overflow gives, for either sign */
    double tiny[2];         /* below: tiny after rounding; stochastic: below any doubt about it */
    double floor;           /* results below that are not 0: flushed, or (NATIVE) slow */
    uint64_t flip;          /* sign bit: of y, for differences */
    uint64_t zero;          /* sign bit: an exact sum 0 is negative (ROUND_DOWN) */
    int64_t whole;          /* -1: the result to odd is not enough (stochastic); else 0 */
    uint64_t random, draw, step;    /* element i takes draw + i step of the stream `random` */
} BinaryPlan;

typedef struct BinaryCounts { uint64_t overflow, underflow, inexact; } BinaryCounts;

/* How the exact result is had: it is a double; a double to nearest is as good (p <= 25, to
 * nearest); rounded to odd. NATIVE: f64 to nearest itself. */
typedef enum BinaryWay { WAY_EXACT, WAY_NEAR, WAY_ODD, WAY_NATIVE, WAYS } BinaryWay;
typedef enum BinaryOp { BIN_ADD, BIN_MULTIPLY, BIN_DIVIDE, BIN_SQRT, BIN_FMA, BIN_OPS } BinaryOp;

enum { BINARY_STRIP = 256, BINARY_LANES = 8 };   /* n of the following: a multiple of the latter */

/* A panel of columns of a matrix product: arith_binary_tile.tmpl.h. */
enum { BINARY_PANEL_BYTES = 128 };
typedef struct BinaryTile { double least, magic, tiny, max; } BinaryTile;
typedef enum BinaryTileKind {
    TILE_NEAR, TILE_FADES, TILE_WATCH, TILE_EXACT, TILE_EXACT_WATCH, TILE_NATIVE, TILE_KINDS
} BinaryTileKind;
/* c = a b, one row (k numbers a, k times a panel b) of doubles or floats; false: c is wrong,
 * something left the format. */
typedef bool (*BinaryTileFn)(const BinaryTile *, void *c, const void *a, const void *b, int64_t k,
                             BinaryCounts *);

typedef struct BinaryKernels {
    /* out = op(x, y, z), to nearest; slow marks (-1) elements that are wrong and not counted.
     * True if there are any. */
    bool (*nearest[BIN_OPS][WAYS])(const BinaryPlan *, double *out, const double *x,
                                   const double *y, const double *z, int64_t *slow, BinaryCounts *,
                                   int64_t n);
    /* The same in two steps for every mode: the result exactly or to odd … */
    void (*exact[BIN_OPS][WAYS])(const BinaryPlan *, double *out, const double *x, const double *y,
                                 const double *z, int64_t *slow, int64_t n);
    /* … and rounded; slow is read and written. */
    bool (*round[ROUND_MODES])(const BinaryPlan *, double *out, const double *x, int64_t *slow,
                               BinaryCounts *, int64_t n);
    /* The same for numbers that come from nowhere: slow is written only. */
    bool (*load[ROUND_MODES])(const BinaryPlan *, double *out, const double *x, int64_t *slow,
                              BinaryCounts *, int64_t n);
    /* p = 53: the nearest double and a number with the sign of what is missing, the thing itself
     * where that is half a last bit … */
    void (*parts[BIN_OPS])(const BinaryPlan *, double *out, double *missing, const double *x,
                           const double *y, const double *z, int64_t *slow, int64_t n);
    /* … and rounded, not to nearest. */
    bool (*native[ROUND_MODES])(const BinaryPlan *, double *out, const double *missing,
                                int64_t *slow, BinaryCounts *, int64_t n);
    /* y + c x, both rounded to nearest, in two ways: of the product and of the sum. */
    bool (*axpy[WAYS][WAYS])(const BinaryPlan *, double *out, const double *y, double c,
                             const double *x, int64_t *slow, BinaryCounts *, int64_t n);
    BinaryTileFn tile[2][TILE_KINDS];        /* in doubles, in floats; NULL: has none */
} BinaryKernels;
extern const BinaryKernels binary_kernels_base, binary_kernels_avx2, binary_kernels_avx512;

/* ---- the rows of ArithOps: arith_binary.c ---- */
/* What to round to a format with, without a context and counting for nobody; not for arith_ops that
 * allocate. Of another dtype the carrier is that, and the rest 0. */
Arith binary_arith(DType, RoundMode);
ArithStatus binary_ew(Arith *, EwOp, void *out, int64_t so, const void *const x[],
                      const int64_t sx[], int64_t n);
/* Of dtypes that have kernels, and binary formats. */
ArithStatus binary_load(Arith *, void *to, int64_t st, DType from, const void *x, int64_t sx,
                        int64_t n);
ArithStatus binary_store(Arith *, void *to, int64_t st, const void *x, int64_t sx, int64_t n);
ArithStatus binary_compare(Arith *, const void *x, const void *y, int *order);

/* ---- strips: arith_binary.c ---- */
typedef double BinaryStrip[BINARY_STRIP] __attribute__((aligned(64)));
typedef struct BinaryOperation { BinaryOp op; EwOp ew; BinaryWay way; } BinaryOperation;

/* Do the loops know the format? If not, elements go through arith_exact.c. */
static inline bool binary_has_rows(const Arith *a) { return a->p != 52; }
BinaryPlan binary_plan(const Arith *);
BinaryWay binary_way(const Arith *, BinaryOp);
/* Sets k->flip too. */
BinaryOperation binary_operation(const Arith *, BinaryPlan *k, EwOp);
/* n elements (stride s) from x[from] on, where the loops can read them: there, or in the strip,
 * filled up to whole vectors. A stride of 0 is spread when `from` is 0. */
const double *binary_strip(BinaryStrip, const void *x, int64_t s, int64_t from, int64_t n,
                           double fill);
/* At most BINARY_STRIP elements: the loops, then what these have marked. k->draw is the first's. */
void binary_run(Arith *, const BinaryPlan *k, BinaryOperation, double *out, const double *x,
                const double *y, const double *z, int64_t n);
void binary_count(Arith *, const BinaryCounts *);
static inline bool binary_stopped(const Arith *a) { return a->ctx && *a->ctx->interrupt; }
static inline int64_t binary_whole_vectors(int64_t n)
{
    return (n + BINARY_LANES - 1) / BINARY_LANES * BINARY_LANES;
}

/* ---- sums: arith_binary_sum.c ---- */
ArithStatus binary_axpy(Arith *, EwOp, void *y, int64_t sy, const void *a, const void *x,
                        int64_t sx, int64_t n);
ArithStatus binary_dot(Arith *, void *out, const void *x, int64_t sx, const void *y, int64_t sy,
                       int64_t n);
ArithStatus binary_sum(Arith *, void *out, const void *x, int64_t sx, int64_t n);

/* ---- matrix products: arith_binary_product.c ---- */
/* arith_matmul where the quick loops know how; false: they do not, nothing has been done. */
bool binary_matmul(Arith *, ArithMatrix C, ArithMatrix A, ArithMatrix B, int64_t m, int64_t n,
                   int64_t k);
/* Row i of C = A B from column j on, n columns, by way of the rows of arith.h: arith_product.c. */
ArithStatus arith_product_row(Arith *, ArithMatrix C, ArithMatrix A, ArithMatrix B, int64_t i,
                              int64_t j, int64_t n, int64_t k);

#endif
