/* The user's folder for what can be made again: $XDG_CACHE_HOME/ricci, or ~/.cache/ricci. A
 * relative $XDG_CACHE_HOME counts for nothing, as its standard says. */
#ifndef RICCI_CORE_CACHE_H
#define RICCI_CORE_CACHE_H

#include <stdbool.h>
#include <stddef.h>

/* The folder `inside` it (NULL: itself); `make`: made where it is missing, which who only reads
 * leaves alone. false: there is none, errno says why. */
bool cache_folder(char *out, size_t n, const char *inside, bool make);

#endif
