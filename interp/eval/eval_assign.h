/* The evaluators of assignment, for lowering, and what a target's Exec holds. */
#ifndef RICCI_INTERP_EVAL_ASSIGN_H
#define RICCI_INTERP_EVAL_ASSIGN_H

#include "interp/state/exec.h"

/* Exec.op of a target. SLOT: sa. INDEX: a = base target, list = subscripts. FIELD: a,
 * node->name. TUPLE: list of targets. */
enum { TG_SLOT, TG_INDEX, TG_FIELD, TG_TUPLE };

Value eval_assign_slot(Interp *, const Exec *);      /* a = value, sa */
Value eval_assign_copy(Interp *, const Exec *);      /* sa = sb */
Value eval_assign_flow(Interp *, const Exec *);
Value eval_append(Interp *, const Exec *);
Value eval_assign_chain(Interp *, const Exec *);
Value eval_assign_target(Interp *, const Exec *);    /* a = value, b = target */
Value eval_assign_parallel(Interp *, const Exec *);
Value eval_update_target(Interp *, const Exec *);
Value eval_add_product(Interp *, const Exec *);
EvalFn add_product_choose(const Exec *mul);
Value field_read(Interp *, Value base, const Name *);   /* modules too */

/* Targets of assignments. */
typedef struct Target Target;
void target_assign(Interp *, const Exec *target, Value v);   /* takes v */

EvalFn opassign_choose(int op, int operand);

#endif
