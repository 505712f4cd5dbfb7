/* The evaluators of assignment, for lowering, and what a target's Exec holds. */
#ifndef RICCI_INTERP_EVAL_ASSIGN_H
#define RICCI_INTERP_EVAL_ASSIGN_H

#include "interp/state/exec.h"

/* Exec.op of a target. SLOT: sa. INDEX: a = base target, list = subscripts. FIELD: a,
 * node->name. TUPLE: list of targets. */
enum { TG_SLOT, TG_INDEX, TG_FIELD, TG_TUPLE };

Value eval_assign_slot(Interp *, const Exec *);      /* a = value, sa */
Value eval_assign_copy(Interp *, const Exec *);      /* sa = sb */
Value eval_assign_last(Interp *, const Exec *);      /* and sb is not read again */
Value eval_assign_flow(Interp *, const Exec *);
Value eval_assign_chain(Interp *, const Exec *);
Value eval_assign_target(Interp *, const Exec *);    /* a = value, b = target */
Value eval_assign_parallel(Interp *, const Exec *);
Value eval_update_target(Interp *, const Exec *);
Value eval_add_product(Interp *, const Exec *);
EvalFn add_product_choose(const Exec *mul);
Value field_read(Interp *, Value base, const Name *);   /* modules too */

/* slot + v of two strings or two tuples without names, put into the slot; false: it is another sum,
 * and nothing happened. v is borrowed. */
bool value_grows(Interp *, Value *slot, Value v);

/* eval_grow.c. c: the plain assignment; sa: the variable, or data: the target if it is none. */
/* t = append(t, v), a row that grows: k = the row, a = its name, b = v */
Value eval_append(Interp *, const Exec *);
Value eval_grow_sum(Interp *, const Exec *);   /* s = s + u + v: list = sums, innermost first */
Value eval_grow_text(Interp *, const Exec *);  /* s = "{s} and {v}": a = the text */

/* s[r[i]] += x[i] where i is no variable: data = GatherSite, a = where it is one, b = target. */
enum { GATHER_INDICES = 16 };
typedef struct GatherPart {
    const Exec *exec;
    const Node *node;
    uint32_t over;               /* which of the indices it holds: its axes, in their order */
    uint32_t alone;              /* 1 + the index that stands there alone */
} GatherPart;
typedef struct GatherSite {
    const Op *op;
    const Exec *base;            /* what the subscripts are of */
    const Exec *const *indices;  /* their names as variables */
    GatherPart *parts;           /* the subscripts, then the value */
    uint32_t count, total;
} GatherSite;
Value eval_update_gathered(Interp *, const Exec *);

/* Targets of assignments. */
typedef struct Target Target;
void target_assign(Interp *, const Exec *target, Value v);   /* takes v */
/* v is an item of `whole`, which `over` gives in the header of a loop. Takes v. */
void target_assign_item(Interp *, const Exec *over, Value whole, const Exec *target, Value v);

EvalFn opassign_choose(int op, int operand);

#endif
