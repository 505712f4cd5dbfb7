/* Whose code runs (frames.c). */
#ifndef RICCI_INTERP_FRAMES_H
#define RICCI_INTERP_FRAMES_H

#include "interp/state/interp.h"

Source *frame_source(Interp *, const CallFrame *);   /* whose code runs in the frame */
bool source_is_stdlib(const Source *);               /* NULL: no */
Module *interp_module(Interp *);                     /* the one whose code runs */

#endif
