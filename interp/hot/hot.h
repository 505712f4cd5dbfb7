/* Loops that are hot, as machine code (hot.c). */
#ifndef RICCI_INTERP_HOT_ROOM_H
#define RICCI_INTERP_HOT_ROOM_H

#include "interp/state/hot.h"

/* NULL: RICCI_JIT=0 */
const HotHooks *hot_hooks(void);
/* What RICCI_JIT says where that is nothing known, so that it changes nothing; else NULL. The
 * program refuses to start then, libricci goes on. */
const char *hot_unknown(void);
/* Before chunks are freed: where the process ends with the interpreter nobody waits for what is
 * being made (Interp.left). */
void hot_leave(Interp *);
void hot_end(Interp *);              /* when no chunk is left */

#endif
