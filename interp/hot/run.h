/* Entering machine code (run.c). */
#ifndef RICCI_INTERP_HOT_RUN_H
#define RICCI_INTERP_HOT_RUN_H

#include "interp/hot/code.h"

/* *left: what the body left in the iteration that *count says, if that is how it ended. */
/* false: it cannot be entered, or it left. */
bool hot_run_function(Interp *, const HotCode *, const Function *, const Value *args,
                      Value *result);
HotEnd hot_run(Interp *, const HotCode *, HotCount *, _Atomic int *nudge, Value *left);

#endif
