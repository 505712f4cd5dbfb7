/* Built kernels on disk, for the backends that compile source: $XDG_CACHE_HOME/ricci/kernels, or
 * ~/.cache/ricci/kernels. A lookup goes by everything that decides what was built (backend,
 * device, driver, options, source), and the file holds all of it, so a hit is never another
 * program's. Files appear whole or not at all, several processes may write at once, and the oldest
 * go when there are too many. Nothing here raises: without a place to write, nothing is kept. */
#ifndef RICCI_KERNELS_DEVICE_CACHE_H
#define RICCI_KERNELS_DEVICE_CACHE_H

#include "core/base/ctx.h"

/* `parts`: strings, NULL after the last. What was kept for exactly these, in memory of the Ctx
 * (mem_free with *bytes); NULL: nothing. */
void *device_cache_get(Ctx *, const char *const *parts, size_t *bytes);
void device_cache_put(const char *const *parts, const void *built, size_t bytes);
/* What was kept is of no use after all (the driver does not take it). */
void device_cache_drop(const char *const *parts);

#endif
