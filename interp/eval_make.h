/* The evaluators of literals, unary operators, comprehensions and timeit, for lowering. */
#ifndef RICCI_INTERP_EVAL_MAKE_H
#define RICCI_INTERP_EVAL_MAKE_H

#include "interp/exec.h"

Value eval_unary(Interp *, const Exec *);
Value eval_transpose(Interp *, const Exec *);
Value eval_vector(Interp *, const Exec *);
Value eval_matrix(Interp *, const Exec *);
Value eval_text(Interp *, const Exec *);
Value eval_comprehension(Interp *, const Exec *);
Value eval_timeit(Interp *, const Exec *);
Value *list_push(Interp *, const Exec *);       /* evaluates x->list onto the stack */

#endif
