/* The help line of an error is a promise: what it offers as code is parsed, its names are looked
 * up, and where that is pure and cheap it is tried, before anybody sees it. */
#ifndef RICCI_INTERP_FIXES_H
#define RICCI_INTERP_FIXES_H

#include "interp/state/interp.h"

/* Takes the help off an error whose fix does not hold here. While it is raised: the values that
 * the fix speaks of are still there. Never raises. */
void fix_check(Interp *, Error *);
/* The code in a help line: what follows the last `: ` outside of brackets and quotes, or all of
 * it. False: it is prose, or a pattern with a … in it. */
bool fix_code(const char *help, const char **code, size_t *len);
/* The user's text of the construct that failed with operand i replaced, if that makes a short line. */
bool fix_replace(const Error *, int operand, const char *by, char *out, size_t cap);
/* Is operand i a plain number as the user wrote it? */
bool fix_number(const Error *, int operand);
void fixes_free(Interp *);

#endif
