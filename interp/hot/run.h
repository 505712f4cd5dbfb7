/* Entering machine code (run.c). */
#ifndef RICCI_INTERP_HOT_RUN_H
#define RICCI_INTERP_HOT_RUN_H

#include "interp/hot/code.h"

/* *left: what the body left in the iteration that *count says, if that is how it ended. */
HotEnd hot_run(Interp *, const HotCode *, HotCount *, Value *left);

#endif
