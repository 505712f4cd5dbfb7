/* What the door does where operands are rationals: chooses the exact form of a row or
 * refuses, reads literals as the fractions that were written, runs elementwise operations. */
#ifndef RICCI_INTERP_EXACT_H
#define RICCI_INTERP_EXACT_H

#include "interp/op/op.h"
#include "kernels/rational/rational.h"

/* A rational tensor or scalar, or a tuple with one in it. */
bool exact_value(Value);
/* The function to run for a call: the row's own, or its exact form where an argument is
 * rational. Raises ERR_DTYPE where there is none. Also the collector's safe point. */
Value (*exact_choose(OpCall *))(OpCall *);
/* Runs a row on what it was called with: its own function while no rational exists. */
static inline Value exact_run(OpCall *c)
{
    return __builtin_expect(c->in->ctx.cells != NULL, 0) ? exact_choose(c)(c) : c->op->run(c);
}
/* Raises ERR_DTYPE: argument i of a row that has no exact form is rational. */
_Noreturn void exact_refuse(OpCall *, int i);
/* The literal x, operand i of the running operation, as the fraction that was written
 * (0.1 is 1/10). False for pi, inf and nan, which are none. */
bool exact_literal(Interp *, int i, double x, Rational *out);
/* The same where operand i's own text is that literal: A[0] = 0.1. False if it is not. */
bool exact_written(Interp *, int i, double x, Rational *out);
/* The shortest decimal that reads as x: up to 15 digits it is the one that was written. */
void exact_shortest(double x, char *text, size_t cap);
/* An elementwise row on n tensors, cast to rational first. */
Value exact_elementwise(Interp *, const Op *, Tensor *const *operands, int n, bool covector);
/* Raises what a status stands for, about an operation's arguments. */
_Noreturn void exact_raise(Interp *, const Op *, RationalStatus);
/* A scalar as an element: v_store for rationals. */
void exact_store(Ctx *, Rational *, Value);

#endif
