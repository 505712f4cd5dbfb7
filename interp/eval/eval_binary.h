/* The evaluators of binary operators (eval_binary.c). */
#ifndef RICCI_INTERP_EVAL_BINARY_H
#define RICCI_INTERP_EVAL_BINARY_H

#include "interp/state/exec.h"

/* Operations behind an operator, with places and operands kept alive. */
Value binary_slow(Interp *, const Exec *x, Value a, Value b);
Value binary_values(Interp *, const Exec *x, Value a, Value b, unsigned weak);
Value eval_chain(Interp *, const Exec *);

void lower_binary_choose(Exec *x);                   /* eval by op and operand kinds */
EvalFn assign_choose(const Exec *value);             /* NULL: no fused node */

#endif
