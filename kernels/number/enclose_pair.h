/* Enclosures of complex functions: rectangles whose sides are the enclosures of arith_number.h.
 * Between arith_pair.c, which rounds them, and enclose_pair.c, which has the formulas. */
#ifndef RICCI_KERNELS_ENCLOSE_PAIR_H
#define RICCI_KERNELS_ENCLOSE_PAIR_H

#include "kernels/number/arith_number.h"

typedef struct Rectangle { const Enclosure *re, *im; } Rectangle;

enum { PAIR_ROOM = 128 };

/* Numbers on the way, each of `bits` bits: the first `used` are taken, `made` have room. */
typedef struct PairWork {
    const Mpfr *f;
    mpfr_prec_t bits;
    Enclosure room[PAIR_ROOM];
    int used, made;
    bool partly;                /* a cut or a pole lies inside */
    ArithStatus status;         /* the first that is not OK; after it nothing is computed */
} PairWork;

void pair_begin(PairWork *, const Mpfr *, mpfr_prec_t bits);
void pair_end(PairWork *);
Enclosure *pair_new(PairWork *);
/* A rectangle that contains op of every point of x and y (NULL but for power). ARITH_NONE in
 * work->status: there is no such operation. */
Rectangle enclose_pair(PairWork *, EwOp, Rectangle x, const Rectangle *y);

#endif
