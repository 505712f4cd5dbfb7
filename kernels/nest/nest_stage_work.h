/* What the files that run a stage share: the data of one run and what a worker has in hand.
 * nest_stage_run.c runs all of it, nest_stage_slice.c some rows. */
#ifndef RICCI_KERNELS_NEST_STAGE_WORK_H
#define RICCI_KERNELS_NEST_STAGE_WORK_H

#include "kernels/nest/nest_stage.h"

#include <stdatomic.h>

typedef struct StageRun {
    const StageCode *c;
    const void *const *data;
    char *out;
    char *packed;               /* copies of loads */
    char *parts;                /* partial results: of part p, reduction by reduction */
    char *joined;
    size_t part_bytes;
    bool stream;
    bool near;                  /* operands are in the cache: nothing is fetched ahead */
    const InterruptFlag *interrupt;
    _Atomic int trouble;
} StageRun;

typedef struct StageWork {
    StageRun *run;
    const StageCode *c;
    StagePlace *val;
    char *base;                 /* the block of memory */
    int64_t n, row;             /* elements of the strip; the row of a group that goes along */
    int64_t block;              /* positions of the block in hand */
    int64_t low, high;          /* of the loop that is cut into parts */
    int64_t linear;             /* results so far, in parts */
    int aheads, fetched;        /* operands whose next strip is fetched; lines so far */
    const char *ahead[AHEAD_MAX];
    char *store_to;             /* a strip of the result that is being written past the cache */
    const char *store_from;
    size_t store_left;
    bool second;                /* the root's register in use */
    int64_t pos[NEST_INDICES];
} StageWork;

static inline bool stage_stopped(const StageRun *run)
{
    return *run->interrupt || atomic_load_explicit(&run->trouble, memory_order_relaxed);
}

/* `memory`: c->work_bytes of the worker's own. */
void stage_begin(StageWork *, StageRun *, char *memory);
/* The steps of a level; the loops from there on with the steps of each. */
void stage_steps(StageWork *, const StageProgram *, int level);
void stage_loops(StageWork *, const StageProgram *, int level);
/* The copies of loads that strips are read from. */
void stage_pack_loads(Ctx *, StageRun *);

#endif
