/* Deferred operations at the door. In `lazy { … }` an operation on tensors is not run: its result
 * is a tensor whose elements are still to be made, which is what a tensor on a device is to all who
 * ask for elements (tensor_home, tensor_settle). What is remembered, simplified and run stands in
 * interp/lazy, which is reached through a table of functions; while no block is open and nothing is
 * left to run all of this is one test. */
#ifndef RICCI_INTERP_DEFERRED_H
#define RICCI_INTERP_DEFERRED_H

#include "interp/op/aspect.h"

typedef struct Deferrals {
    Value (*call)(OpCall *, const Aspect *rest);
    void (*barrier)(Interp *);          /* runs what waits */
    void (*settle)(Interp *, Value);    /* all tensors in it have elements */
    /* An error (in->ctx.error) ends this block: what somebody holds of it runs, as it would have
     * before; in->place is what stands around it. */
    void (*spare)(Interp *, const struct DeviceBlock *);
} Deferrals;

/* Is a block open, or something left that an error kept from running? */
static inline bool deferred_on(const Interp *in)
{
    return __builtin_expect(in->deferring != 0 || in->ctx.pending != 0, 0);
}

/* What waits runs now: a scope or a device block ends, in which some of it stands. v is held. */
static inline void deferred_barrier(Interp *in, Value v)
{
    if (__builtin_expect(in->ctx.pending == 0, 1))
        return;
    v_push(in, v);
    in->deferrals->barrier(in);
    in->sp--;
}

/* v is about to be looked into, by who does not come through the door. */
static inline void deferred_settle(Interp *in, Value v)
{
    if (__builtin_expect(in->ctx.pending != 0, 0))
        in->deferrals->settle(in, v);
}

/* ---- the aspect (aspect.h) ---- */
bool deferred_wants(const OpCall *);
Value deferred_call(OpCall *, const Aspect *rest);

#endif
