/* The help line of an error is a promise: what it offers as code is parsed, its names are looked
 * up, and where that is pure and cheap it is tried, before anybody sees it. */
#ifndef RICCI_INTERP_FIXES_H
#define RICCI_INTERP_FIXES_H

#include "interp/state/wing.h"
#include "interp/state/interp.h"

extern const Wing wing_fixes;

#endif
