/* Whose code runs (frames.c). */
#ifndef RICCI_INTERP_FRAMES_H
#define RICCI_INTERP_FRAMES_H

#include "interp/state/interp.h"

Source *frame_source(Interp *, const CallFrame *);   /* whose code runs in the frame */
bool source_is_stdlib(const Source *);               /* NULL: no */
Module *interp_module(Interp *);                     /* the one whose code runs */

/* Takes a tensor, tuple or string out of a variable and notes what it was; V_UNDEF: it stays. */
Value handed_take(Handed *, Value *slot);
/* What an empty variable held, as v_describe says it; NULL: nothing. */
const char *handed_describe(const Handed *, const Value *slot, char *out, size_t cap);

#endif
