/* The help line of an error is a promise: what it offers as code is parsed, its names are looked
 * up, and where that is pure and cheap it is tried, before anybody sees it. */
#ifndef RICCI_INTERP_FIXES_H
#define RICCI_INTERP_FIXES_H

#include "interp/state/wing.h"
#include "interp/state/interp.h"

/* Takes the help off an error whose fix does not hold here. While it is raised: the values that
 * the fix speaks of are still there. Never raises. */
void fix_check(Interp *, Error *);
/* The code in a help line: what follows the last `: ` outside of brackets and quotes, or all of
 * it. False: it is prose, or a pattern with a … in it. */
bool fix_code(const char *help, const char **code, size_t *len);
void fixes_free(Interp *);

extern const Wing wing_fixes;

#endif
