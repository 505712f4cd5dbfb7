/* What the files of a group share: how it was started and what there is to end. */
#ifndef RICCI_KERNELS_MPI_GROUP_LIFE_H
#define RICCI_KERNELS_MPI_GROUP_LIFE_H

#include "kernels/mpi/group.h"
#include "kernels/mpi/hello.h"

enum { GROUP_WORDS = 8192, GROUP_LISTENS = 2 };

typedef struct GroupLife {
    /* ---- the launcher, with its keeper (group_launch.c, keeper.h) ---- */
    pid_t launcher;                        /* 0: there is none, or it ended with `status` */
    int status;                            /* as waitpid has it; -1: nobody knows */
    int words_fd;                          /* what it and the ranks print; -1 */
    char words[GROUP_WORDS];               /* the last of it, with a NUL */
    size_t words_len;
    int line_fd;                           /* closed, by whatever end, it ends too; -1 */
    /* ---- sockets (group_hello.c) ---- */
    int listens[GROUP_LISTENS];
    char address[1024], token[TOKEN_TEXT + 1];
    /* ---- in use (group_call.c) ---- */
    uint64_t seq;
    char *parts;                           /* of pieces: two GROUP_PARTs for each rank, or NULL */
    struct Group *next;                    /* of this process's groups (group.c) */
} GroupLife;

double group_clock(void);                  /* seconds, monotonic */
const char *group_name(const Group *, char out[48]);       /* mpi(2, 2) */
/* RICCI_MPI_TIMEOUT */
double group_timeout(void);

/* ---- group_launch.c ---- */
/* Starts it; raises where that cannot be tried at all. */
void group_launch(Ctx *, Group *);
/* Reads what was printed so far, and whether it has ended. */
void group_hear(GroupLife *);
/* Its words, in at most n bytes and without what says nothing; "" if it has none. */
void group_words(const GroupLife *, char *out, size_t n);
/* Waits for it to end, asking first and forcing then; at once if `hard`. */
void group_unlaunch(GroupLife *, bool hard);

/* ---- group_hello.c ---- */
void group_listen(Ctx *, Group *, bool far);
/* Until every rank has said who it is; raises. */
void group_meet(Ctx *, Group *);

/* ---- group.c ---- */
/* The group is over: sockets are closed, so that its ranks end. `why` as Group.why. */
void group_over(Group *, const char *why, ...) __attribute__((format(printf, 2, 3)));
/* A rank is gone (r < 0: some rank): waits a little for the launcher to say of what. */
void group_lost(Group *, int r);

#endif
