/* Work in rounds of microseconds: one of the pool's workers leads, and between what it does alone
 * it has blocks made, which the others take while there are some; so nobody sleeps between two
 * rounds. The leader needs no other to come. Which worker makes a block must change no bit. */
#ifndef RICCI_KERNELS_TEAM_H
#define RICCI_KERNELS_TEAM_H

#include "core/base/ctx.h"

#include <stdatomic.h>

typedef struct Team {
    Ctx *ctx;
    void *data;
    void (*block)(void *data, int64_t block, int worker);
    void (*lead)(struct Team *);
    _Atomic bool led, over;
    _Atomic uint64_t round;              /* its number, and the blocks that nobody took yet */
    _Atomic int64_t done;                /* blocks of the round */
    int worker;                          /* the leader's number */
} Team;

/* Runs `lead`; alone: by the caller, and nobody else comes. Nothing may raise. */
void team_run(Team *, bool alone);
/* For the leader: blocks 0 … count - 1, fewer than 2^20, are made when it returns. */
void team_share(Team *, int64_t count);

#endif
