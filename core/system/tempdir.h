/* The fresh folder of a run, which `tempdir()` names: made when it is first asked for, for this
 * user alone, and removed with all that it holds when the run ends, also by a signal. */
#ifndef RICCI_CORE_TEMPDIR_H
#define RICCI_CORE_TEMPDIR_H

#include <stdbool.h>
#include <sys/types.h>

typedef struct TempDir {
    char path[1024];         /* "": none yet */
    pid_t owner;             /* who removes it: no child of that process; 0: somebody else */
} TempDir;

/* False with errno set. Does nothing where it is there already. */
bool tempdir_make(TempDir *);
/* For handlers of signals too: allocates nothing, keeps errno. */
void tempdir_remove(TempDir *);

#endif
