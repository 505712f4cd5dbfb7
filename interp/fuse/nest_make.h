/* An elementwise row as a node of a nest: which dtype it computes in and what the door would
 * say against its operands. Index notation and fused chains make their nodes here, so that
 * `x[i] + y[i]` inside brackets and `x + y` outside follow one rule. */
#ifndef RICCI_INTERP_NEST_MAKE_H
#define RICCI_INTERP_NEST_MAKE_H

#include "interp/op/op.h"
#include "kernels/nest/nest.h"

typedef struct NestMaker {
    Interp *in;                 /* in->at: the construct whose operands the arguments are */
    Nest *nest;
    const void *const *cell;    /* by slot: the scalar of a NEST_CONST, in the node's dtype */
    bool float_powers;          /* ints to int powers in f64: a run reported EWT_INT_POWER */
    uint64_t values;            /* out: slots whose values decided something, not dtypes alone:
                                 * the nest holds for these. Bit 63: all from 63 on. */
} NestMaker;

/* Adds op(args…) and returns its node; n is the row's arity. Raises what the door raises for
 * such operands. Rationals do not come here. */
int nest_make_ew(NestMaker *, const Op *, const int *args, int n);

#endif
