/* What a test block came to, as `ricci test` and the prompt word it. */
#ifndef RICCI_INTERP_VERDICT_H
#define RICCI_INTERP_VERDICT_H

#include "interp/state/interp.h"

/* `ok   FILE: NAME  2.4 µs`, or `slow …`, on standard output; file NULL: at the prompt. */
void verdict_passed(Interp *, const char *file, const char *name, double seconds, bool slow);
/* `FAIL FILE: NAME` on standard error, above the error if there is one; `why` follows the name.
 * The error that was just caught is left as it is. */
void verdict_failed(Interp *, const char *file, const char *name, const char *why);

#endif
