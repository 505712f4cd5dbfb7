/* Between the files of kernels/special: one value of a function, as a ball. */
#ifndef RICCI_KERNELS_SPECIAL_BALL_H
#define RICCI_KERNELS_SPECIAL_BALL_H

#include "kernels/rational/arb.h"
#include "kernels/special/special.h"

typedef enum BallOutcome {
    BALL_VALUE,             /* in r; not finite: it could not be enclosed in so many bits */
    BALL_NAN,               /* outside of the domain */
    BALL_INF, BALL_MINUS_INF
} BallOutcome;

/* Operands x (finite; exact but for intervals), the result r, room for what is computed on the
 * way. */
enum { BALL_ROOM = 12 };
typedef struct Ball {
    const Arb *b;
    arb_struct r[1], x[SPECIAL_OPERANDS], t[BALL_ROOM];
    slong bits;
} Ball;
typedef BallOutcome (*BallFn)(Ball *);

#define SPECIAL(name, ...) BallOutcome ball_##name(Ball *);
#include "kernels/special/special.def"
#undef SPECIAL

/* What the function is where an operand is infinite and none is nan; x: the operands, those that
 * are finite near enough. *same: it is that operand itself, -1: it is not. */
double special_limit(SpecialId, const double *x, int *same);

/* Most of a function in doubles. One element, false: this is not for it; many at once, done[] of
 * those that are for it, all false before. Both have the same bits. NULL: there is none. */
enum { SPECIAL_LANES = 16 };
typedef struct SpecialFast {
    bool (*one)(const double *x, double *r);
    void (*many)(const double (*x)[SPECIAL_LANES], double *r, bool *done);
} SpecialFast;
extern const SpecialFast special_fast_base[SPECIAL_COUNT], special_fast_avx2[SPECIAL_COUNT];
/* The table of this processor. */
const SpecialFast *special_fast(void);

/* Of fractions; ARITH_INEXACT: what comes out is none. */
ArithStatus special_exact(Ctx *, SpecialId, Rational *out, const NumberCell *const x[]);

typedef struct SpecialInfo {
    int operands;
    char shape;
    slong bits;             /* of the format, at most */
    BallFn ball;
} SpecialInfo;
extern const SpecialInfo special_info[SPECIAL_COUNT];

#endif
