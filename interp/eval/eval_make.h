/* The evaluators of literals, unary operators and comprehensions, for lowering. */
#ifndef RICCI_INTERP_EVAL_MAKE_H
#define RICCI_INTERP_EVAL_MAKE_H

#include "interp/state/exec.h"

Value eval_unary(Interp *, const Exec *);
Value eval_transpose(Interp *, const Exec *);
Value eval_vector(Interp *, const Exec *);
Value eval_matrix(Interp *, const Exec *);
Value eval_text(Interp *, const Exec *);
Value text_pieces(Interp *, const Exec *text, uint32_t first);
Value eval_comprehension(Interp *, const Exec *);
Value *list_push(Interp *, const Exec *);       /* evaluates x->list onto the stack */

Value eval_range(Interp *, const Exec *);
Value eval_tuple(Interp *, const Exec *);
Value unary_door(Interp *, const Exec *x, Value v);  /* takes v */

/* Iteration for `for`, comprehensions, unpacking and spread. */
typedef struct Each {
    Value over;                  /* borrowed: the caller keeps it on the stack */
    int64_t at, count;
    size_t byte;                 /* in a string */
} Each;
void each_start(Interp *, const Exec *x, Each *, Value over);
bool each_next(Interp *, Each *, Value *out);        /* out is owned */
int64_t each_count(Value over);                      /* -1: not iterable */

#endif
