/* Files that are written as a whole: the one home of everything that replaces files. The new text
 * goes into a file beside the old one, is synced, and takes its name at once, so that neither a
 * full disk nor a killed process loses what was there. Links stay links (the file that they lead to
 * is replaced), mode and, where that is allowed, owner stay; pipes and devices are written into.
 * Nothing here raises; errno says why it failed. Who must poll for Ctrl-C while it writes has a
 * loop of its own. */
#ifndef RICCI_CORE_FD_H
#define RICCI_CORE_FD_H

#include <stdbool.h>
#include <stddef.h>

enum { FD_PATH = 4096 };

typedef struct FdWhole {
    int fd;                      /* write here */
    bool beside;                 /* into a new file, `name`; else into `target` itself */
    bool keep_old;               /* a file that is there by then is EEXIST */
    char target[FD_PATH];        /* the file that it becomes, links followed */
    char name[FD_PATH];
} FdWhole;

/* All of it, in as many calls as it takes. */
bool fd_write_all(int fd, const void *from, size_t bytes);

/* Begins to write what `path` is to be. What killed runs left in that folder is removed. */
bool fd_whole_open(FdWhole *, const char *path);
/* The same, where there is to be no such file yet (EEXIST). */
bool fd_whole_open_new(FdWhole *, const char *path);
/* Ends it: with `good`, the new file takes its place, else it is removed and errno kept. Returns
 * whether all of it is there now. */
bool fd_whole_end(FdWhole *, bool good);
/* Both: a file of these bytes. */
bool fd_whole_write(const char *path, const void *from, size_t bytes);
/* A descriptor that writes behind what is in the file, which need not be there; or -1. */
int fd_append_open(const char *path);
/* Could it be begun? Leaves nothing behind. */
bool fd_whole_try(const char *path);

#endif
