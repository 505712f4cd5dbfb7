/* The fence around a program of strangers (`--safe`): what of the machine it may reach. The one
 * gate of every path that a program names, for reading, importing and writing, and of what reaches
 * out otherwise (the environment, native code, other programs). A path is opened beneath a folder
 * that is held open, so that no link, `..`, or change between looking and opening leads out of it.
 * Without a fence (Ctx.fence NULL) these are the system's own calls.
 *
 * fence_kernel.c is the second wall: the same again by Landlock and seccomp, where the kernel has
 * them, for the case that the first has a hole. */
#ifndef RICCI_CORE_FENCE_H
#define RICCI_CORE_FENCE_H

#include "core/base/ctx.h"

enum { FENCE_PATH = 4096 };

enum {                          /* what an operation reaches outside of the program: Op.reaches */
    REACH_READ = 1,             /* files, through the gate */
    REACH_WRITE = 2,            /* files, through the gate */
    REACH_ENVIRONMENT = 4,      /* variables of the environment */
    REACH_NATIVE = 8,           /* code and memory of C */
    REACH_PROCESS = 16,         /* other programs */
    REACH_REFUSED = REACH_ENVIRONMENT | REACH_NATIVE | REACH_PROCESS
};

typedef struct Fence Fence;

/* `by`: the switch, as messages name it. Ends the process where there is no memory. */
Fence *fence_new(const char *by);
void fence_free(Fence *);
const char *fence_by(const Fence *);
/* A folder with all below it; false with errno set. */
bool fence_allow(Fence *, const char *folder, bool write);
/* A file that the user named: it may be read wherever it is. */
void fence_allow_file(Fence *, const char *path);
/* For the walls behind this one: each folder, then each file; false behind the last. */
bool fence_folder(const Fence *, int i, int *fd, bool *write);
const char *fence_file(const Fence *, int i);

/* ---- the gate ---- */
/* open for reading: a descriptor, or -1 with errno; raises ERR_IO for what is outside. */
int fence_open(Ctx *, const char *path);
/* Could it be read? Nothing is said about what is outside, so whether it is there stays unknown. */
bool fence_sees(Ctx *, const char *path);
/* Does it stand in one of the folders by its letters, whatever is there? */
bool fence_holds(Ctx *, const char *path);
/* Raises ERR_IO if the path leads out. */
void fence_check_read(Ctx *, const char *path);
/* The path to write to: itself, or where it leads in the folder that may be written, in `out`.
 * Raises. */
const char *fence_target(Ctx *, const char *path, char out[FENCE_PATH]);
/* Raises if one of them is refused: "`what` runs other programs, and --safe …". */
void fence_check(Ctx *, unsigned reaches, const char *what);

/* ---- the second wall (fence_kernel.c) ---- */
/* What the kernel refuses from now on, in this process and all that it starts; to be called before
 * there is a second thread. `readable`: more folders, of libraries. Tells which walls there are. */
enum { WALL_LANDLOCK = 1, WALL_SECCOMP = 2 };
int fence_close(const Fence *, const char *tempdir, const char *const *readable, int count);

#endif
