/* explain lazy: what ran, before and after it was simplified. */
#include "interp/lazy/lazy.h"

#include "core/base/buf.h"

void lazy_tell_run(Interp *in, const Run *run, bool compiled)
{
    (void)in;
    (void)run;
    (void)compiled;
}

void lazy_tell_dead(Recorder *r, const Deferred *d)
{
    (void)r;
    (void)d;
}

void lazy_tell_constant(Recorder *r, const OpCall *c)
{
    (void)r;
    (void)c;
}
