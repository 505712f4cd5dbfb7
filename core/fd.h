/* Files that are written as a whole: all bytes or an error, and new ones beside those that they are to
 * replace. Nothing here raises; errno says why it failed. Who must poll for Ctrl-C while it writes, or
 * wait for a terminal, has a loop of its own. */
#ifndef RICCI_CORE_FD_H
#define RICCI_CORE_FD_H

#include <stdbool.h>
#include <stddef.h>

/* All of it, in as many calls as it takes. */
bool fd_write_all(int fd, const void *from, size_t bytes);
/* A new file beside `target`: its descriptor, its path in `name`; or -1. What others left behind is
 * stepped over. */
int fd_open_beside(const char *target, char *name, size_t cap);

#endif
