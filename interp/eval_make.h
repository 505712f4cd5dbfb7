/* The evaluators of literals, unary operators, comprehensions, timeit and profile, for lowering. */
#ifndef RICCI_INTERP_EVAL_MAKE_H
#define RICCI_INTERP_EVAL_MAKE_H

#include "interp/exec.h"

Value eval_unary(Interp *, const Exec *);
Value eval_transpose(Interp *, const Exec *);
Value eval_vector(Interp *, const Exec *);
Value eval_matrix(Interp *, const Exec *);
Value eval_text(Interp *, const Exec *);
Value eval_comprehension(Interp *, const Exec *);
const Exec *lower_timeit(Lower *, const Node *);        /* timeit.c */
Value eval_profile(Interp *, const Exec *);     /* profile.c; a: the block, b: the path or NULL */
Value *list_push(Interp *, const Exec *);       /* evaluates x->list onto the stack */

#endif
