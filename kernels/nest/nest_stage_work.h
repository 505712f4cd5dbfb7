/* What the files that run a stage share: the data of one run and what a worker has in hand.
 * nest_stage_run.c runs all of it, nest_stage_slice.c some rows. */
#ifndef RICCI_KERNELS_NEST_STAGE_WORK_H
#define RICCI_KERNELS_NEST_STAGE_WORK_H

#include "kernels/nest/nest_stage.h"
#include "kernels/tensor/permute.h"

#include <stdatomic.h>

typedef struct StageFolding {
    ChainFold fold;
    int64_t each;               /* bytes of a block */
    void *result;               /* of blocks */
    bool nan;
} StageFolding;

typedef struct StageRun {
    const StageCode *c;
    const void *const *data;
    char *out;
    char *packed;               /* copies of loads */
    char *parts;                /* partial results: of part p, reduction by reduction */
    char *joined;
    size_t part_bytes;
    bool stream;
    bool making;                /* the result stays in the cache */
    bool near;                  /* operands are in the cache: nothing is fetched ahead */
    StageFolding *folding;      /* the chain's values go into a reduction instead */
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

/* A nan is told when everything is there. */
static inline bool stage_stopped(const StageRun *run)
{
    int trouble = atomic_load_explicit(&run->trouble, memory_order_relaxed);
    return *run->interrupt || (trouble != EWT_NONE && trouble != EWT_NAN);
}

static inline int64_t stage_offset(const StageWork *w, int term, int terms)
{
    const StageTerm *t = w->c->term + term;
    int64_t at = 0;
    for (int i = 0; i < terms; i++)
        at += w->pos[t[i].index] * t[i].step;
    return at;
}

/* Where a step puts its strip. */
static inline char *stage_strip(const StageWork *w, const StageStep *s)
{
    if (s->to_result && !w->run->stream)
        return w->run->out + stage_offset(w, w->c->out_term, w->c->out_terms);
    const StageValue *v = &w->c->value[s->value];
    return w->base + v->place + (s->to_result && w->second ? v->other : 0);
}

static inline void stage_fetch_ahead(StageWork *w, int lines)
{
    for (int k = 0; k < w->aheads; k++)
        for (int i = w->fetched; i < w->fetched + lines; i++)
            __builtin_prefetch(w->ahead[k] + (int64_t)i * 64);
    w->fetched += lines;
}

static inline void stage_write_some(StageWork *w, size_t bytes)
{
    bytes = bytes < w->store_left ? bytes : w->store_left;
    stream_copy(w->store_to, w->store_from, bytes);
    w->store_to += bytes;
    w->store_from += bytes;
    w->store_left -= bytes;
}

/* nest_chain.c: the chain of step s; `pace`: lines that are fetched and written meanwhile for each
 * operation. False where the strip is too short: then its steps are to be run. */
bool stage_run_chain(StageWork *, const StageProgram *, const StageStep *s, int pace);
/* `memory`: c->work_bytes of the worker's own. */
void stage_begin(StageWork *, StageRun *, char *memory);
/* The steps of a level; the loops from there on with the steps of each. */
void stage_steps(StageWork *, const StageProgram *, int level);
void stage_loops(StageWork *, const StageProgram *, int level);
/* The copies of loads that strips are read from. */
void stage_pack_loads(Ctx *, StageRun *);

#endif
