/* What `explain` hears: while somebody listens, the door keeps a record per operation (heard.h:
 * the user's text of it, operands, result, FLOPs, bytes, time), and operations add to the record
 * of the one that runs what only they know. Without a listener all of it is one test of a
 * pointer:
 *
 *     if (explain_on(in))
 *         explain_note(in, "routine", "%s", name);
 */
#ifndef RICCI_INTERP_EXPLAIN_H
#define RICCI_INTERP_EXPLAIN_H

#include "interp/op/heard.h"
#include "kernels/tensor/report.h"

/* Does somebody want words? heard_on: does anybody listen (`profile` wants numbers alone)? */
static inline bool explain_on(const Interp *in)
{
    return __builtin_expect(in->explain != NULL, 0) && in->explain->words;
}

/* A line `label  text` of the running operation. Operations that it calls itself add to it. The
 * label `routine` names its kernel, for listeners without words too. */
void explain_note(Interp *, const char *label, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
bool explain_noted(const Interp *, const char *label);      /* has it such a line already? */
/* What it computed, where the row's formula with the operands' sizes would not say it;
 * `how` is the formula to show (NULL: none). Calls add up. */
void explain_flops(Interp *, double flops, const char *how);
/* Bytes moved only to bring an operand into the order that a kernel wants. */
void explain_copied(Interp *, double bytes);
/* Between these an operation finds out what only the listener wants: no time passes. */
void explain_pause(Interp *);
void explain_resume(Interp *);

/* The door's, where heard_on: runs the operation with a record of its own. */
Value explain_run(OpCall *);
Value explain_elementwise(Interp *, const Op *, const Value *args, int n, unsigned weak,
                          unsigned reuse);
/* Operations that run as one: their names, the tensors they read, what runs them. What runs
 * says its FLOPs by explain_flops; it may give up with V_UNDEF, and nothing is told of it. */
typedef struct ExplainChain {
    const char *parts;
    const Value *leaves;
    int n;
    Value (*run)(Interp *, void *data);
    void *data;
    const char *name;                   /* NULL: "one pass" */
} ExplainChain;
Value explain_chain(Interp *, const ExplainChain *);
/* The steps of a plan, its FLOPs and what it copies and keeps (explain_steps.c). */
void explain_steps(Interp *, const Report *);
/* `explain as latex …`: the formula, nothing is run (latex.c). */
const Exec *lower_latex(Lower *, const Node *);
/* `explain EXPRESSION`, `explain { … }`: a. */
Value eval_explain(Interp *, const Exec *);

/* The value of a row's FLOP formula ("2/3 n^3", "2mnk", "5n log2 n") with sizes for its
 * letters, index 0 for 'a'; NAN if it is no such product or a letter's size is NAN. */
double explain_formula(const char *formula, const double sizes[26]);

#endif
