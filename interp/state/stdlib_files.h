/* The library written in Ricci itself, as the binary holds it (stdlib/embed.sh writes it): module.c
 * runs it, help and completion look through it. */
#ifndef RICCI_INTERP_STDLIB_FILES_H
#define RICCI_INTERP_STDLIB_FILES_H

#include <stdbool.h>
#include <stddef.h>

/* One per module; the last has no name. */
extern const struct StdlibFile { const char *name, *text; size_t len; } ricci_stdlib[];

const struct StdlibFile *stdlib_file(const char *name);   /* NULL: it has no such module */
bool module_in_stdlib(const char *name);
const char *module_of_stdlib(const char *function);   /* the module that defines it, or NULL */

#endif
