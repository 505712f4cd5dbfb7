/* The evaluators of control flow, for lowering. What each expects in its Exec stands at
 * its definition in eval_flow.c. */
#ifndef RICCI_INTERP_EVAL_FLOW_H
#define RICCI_INTERP_EVAL_FLOW_H

#include "interp/state/exec.h"
#include "interp/state/hot.h"

Value eval_and(Interp *, const Exec *);
Value eval_or(Interp *, const Exec *);
Value eval_not(Interp *, const Exec *);
Value eval_block(Interp *, const Exec *);
Value eval_block2(Interp *, const Exec *);
Value eval_if(Interp *, const Exec *);
Value eval_else_ifs(Interp *, const Exec *);         /* list: condition, block, …; c: else */
EvalFn if_choose(const Exec *cond);
Value eval_while(Interp *, const Exec *);
EvalFn while_choose(const Exec *cond);
Value eval_for_range(Interp *, const Exec *);
Value eval_for(Interp *, const Exec *);
Value loop_resumed(Interp *, const Exec *, Value v, const HotCount *);
Value eval_break(Interp *, const Exec *);
Value eval_return(Interp *, const Exec *);
Value eval_break_deep(Interp *, const Exec *);
Value eval_return_deep(Interp *, const Exec *);
Value eval_catch_flow(Interp *, const Exec *);
Value eval_try(Interp *, const Exec *);
Value eval_throw(Interp *, const Exec *);

void error_carry(Interp *, Error *, Value);     /* e.value of a thrown error */

bool truth(Interp *, Value);               /* a condition: bool scalar, else ERR_TYPE */
_Noreturn void flow_unwind(Interp *);                /* deep break, continue, return */
bool condition(Interp *, const Exec *cond);          /* evaluates and wants a bool */
int64_t range_part(Interp *, const Exec *part);

#endif
