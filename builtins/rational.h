/* The rows' functions for rational operands (exact.def), and what their files share. */
#ifndef RICCI_BUILTINS_RATIONAL_H
#define RICCI_BUILTINS_RATIONAL_H

#include "interp/exact.h"
#include "kernels/rational_linalg.h"

#define EXACT(row, run) Value op_exact_##run(OpCall *);
#define EXACT_OWN(row)
#include "builtins/exact.def"
#undef EXACT
#undef EXACT_OWN

/* Argument i as a rational tensor. */
Tensor *exact_tensor(OpCall *, int i);
/* Raises what a status stands for; the interrupt flag first. */
void exact_check(OpCall *, RationalStatus);
static inline Rational *exact_data(const Tensor *t) { return (Rational *)(void *)t->data; }

#endif
