/* A group of processes of this program, the ranks, which an MPI's launcher started and which this
 * process, the session, gives commands: the same one to each of them, in order, and one answer from
 * each. Every rank holds a socket of its own to the session and sleeps in it while it has nothing
 * to do. A rank of which nothing is heard any more ends the group: what the group held is lost, and
 * group_why says why. Every wait here ends at Ctrl-C. */
#ifndef RICCI_KERNELS_MPI_GROUP_H
#define RICCI_KERNELS_MPI_GROUP_H

#include "core/base/buf.h"

#include <sys/types.h>

typedef struct GroupRank {
    int fd;                      /* -1: gone */
    pid_t pid;                   /* as it calls itself */
    pid_t near;                  /* what it is here, where it is on this machine; or 0 */
    char host[64];
} GroupRank;

typedef struct Group {
    int p, q, block, ranks;      /* rank r stands in row r / q and column r % q */
    GroupRank *rank;
    bool alive;
    /* why it is not: "lost rank 3 on HOST (signal 9)", behind the name of the device */
    char why[256];
    /* Appends what is lost when it is over, "A and b are lost", where names are known, else
     * nothing; NULL: nobody knows. */
    void (*losses)(Ctx *, void *with, Buf *out);
    void *with;
    struct GroupLife *life;      /* group.c's own */
} Group;

/* Raises `device`: no launcher (naming packages), the launcher's own words, a rank of another
 * version. A notice, once in a run, where there are more ranks than this machine has cores. */
Group *group_start(Ctx *, int p, int q, int block);
/* Never raises; leaves no process, descriptor or file. NULL is allowed. */
void group_end(Ctx *, Group *);
/* Is it there? Looks at the sockets, without waiting: a rank that died since the last command is
 * found here. False: it is over, and why says why; only group_end is allowed then. */
bool group_alive(Ctx *, Group *);

/* Pieces: bytes of tensors that go to each rank behind a command, or come behind its answer, in
 * parts of at most GROUP_PART bytes, so that they are packed while others travel. `at` is a
 * multiple of GROUP_PART and n is that many, but for the last part. They may not raise. */
enum { GROUP_PART = 1 << 18 };
typedef struct GroupPieces {
    void *with;
    /* To the ranks: bytes for each, and what puts bytes at … at + n of rank r's piece into `to`. */
    const uint64_t *bytes;
    void (*fill)(void *with, int r, uint64_t at, void *to, size_t n);
    /* From the ranks: as many bytes as each has. */
    void (*take)(void *with, int r, uint64_t at, const void *from, size_t n);
} GroupPieces;

/* One command to all ranks: `common` (may be NULL) and behind it, for rank r alone, own[r] (`own`
 * may be NULL). replies[r], which the caller has begun with buf_init (`replies` may be NULL), gets
 * what r answered. `pieces` may be NULL.
 * Raises: what a rank raised (the worst of them, naming rank and host; the group lives); `device`,
 * if a rank is lost; `interrupt`. After Ctrl-C the ranks have a moment to come to an end with the
 * command, then the group is over: group->alive says whether it is. A command that raised may have
 * been done by some ranks: tensors that it makes are to be freed (a number that is not there is no
 * error). */
void group_call(Ctx *, Group *, uint32_t command, const Buf *common, const Buf *own,
                Buf *replies, const GroupPieces *);

/* What there is to start one, looked for once: the launcher's path, or NULL and `lacks`, a sentence
 * with the packages that bring it; its MPI ("Open MPI", "MPICH", "Slurm"; "" where its name does
 * not say). */
typedef struct GroupTools {
    const char *launcher, *mpi, *lacks;
    int cores;
} GroupTools;
const GroupTools *group_tools(void);

#endif
