/* The names that are there from the start (predefined.c). */
#ifndef RICCI_INTERP_PREDEFINED_H
#define RICCI_INTERP_PREDEFINED_H

#include "interp/state/interp.h"

/* pi, inf, nan, formats, devices. V_UNDEF if the name is none. */
Value predefined_find(Interp *, const char *name);
bool predefined_is_constant(const char *name);       /* pi, inf, nan: adapt like a literal */
const char *predefined_name(int i);                  /* NULL after the last */

#endif
