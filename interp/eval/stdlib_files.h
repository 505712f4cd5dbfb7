/* The library written in Ricci itself, as the binary holds it (stdlib/embed.sh writes it):
 * module.c runs it, help and completion look through it. */
#ifndef RICCI_INTERP_STDLIB_FILES_H
#define RICCI_INTERP_STDLIB_FILES_H

#include "interp/state/interp.h"

/* One per module; the last has no name. */
extern const struct StdlibFile { const char *name, *text; size_t len; } ricci_stdlib[];

/* A module of these, whatever files of its name lie around. */
Value module_import_stdlib(Interp *, const char *name);

#endif
