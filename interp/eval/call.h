/* Calls of Ricci functions and of whatever else can be called (call.c). */
#ifndef RICCI_INTERP_CALL_H
#define RICCI_INTERP_CALL_H

#include "interp/lower/sites.h"

_Noreturn void call_refuse(Interp *, const Exec *site, Value callee);     /* it cannot be called */
/* Calls any callable value (function, operation, format). Arguments are borrowed. */
Value call_value(Interp *, Value callee, const Value *args, int count);

/* The same with arguments that go by name. */
Value call_named(Interp *, Value callee, const Value *args, int count, const Name *const *names,
                 const Value *named, int named_count);

unsigned site_weak(const Exec *);            /* of a call node: OpCall.weak of its arguments */
Value eval_call_local(Interp *, const Exec *);       /* sa: the callee's slot */
Value eval_call_global(Interp *, const Exec *);
Value eval_call_self(Interp *, const Exec *);
Value eval_call_general(Interp *, const Exec *);     /* a: the callee */
Value eval_call_field(Interp *, const Exec *);       /* a: a field of something */
Value call_callee(Interp *, const Exec *, Value callee);     /* takes the callee */
/* With the arguments of the node; the callee, which nobody keeps meanwhile, stays the caller's. */
Value call_arguments(Interp *, const Exec *, Value callee);
Value eval_make_function(Interp *, const Exec *);    /* data: FnSite */
/* Runs fn on argc owned values at the top of the stack, from base on; takes them. */
Value function_run(Interp *, const Exec *site, Function *, Value *base, uint32_t argc);
Function *function_new(Interp *, const FnCode *, Chunk *, Module *);
/* The same function with other captured values, undefined yet. */
Function *function_like(Interp *, const Function *);
void trace_collect(Ctx *, Error *);                  /* Ctx.trace */

#endif
