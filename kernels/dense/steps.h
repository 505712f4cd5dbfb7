/* A factorisation by panels as steps that the pool's workers share: step k makes the panel of
 * columns k, and then every column beyond it is changed by that panel. The next panel is made as
 * soon as its own columns are ready, while the others are still at work (look-ahead). Which worker
 * does what changes no bit: a step does the same to a column wherever and whenever it runs. */
#ifndef RICCI_KERNELS_DENSE_STEPS_H
#define RICCI_KERNELS_DENSE_STEPS_H

#include "core/base/ctx.h"

typedef struct Steps {
    int panels, columns;         /* columns in blocks; the first of them become panels */
    /* What is done, by the worker of that number. Panels k + 2 and on wait until all columns were
     * changed by panel k, so that two of what updates read are enough. Must not raise. */
    void (*panel)(void *data, int k, int worker);
    void (*update)(void *data, int k, int j, int worker);
    void (*last)(void *data, int j, int worker);     /* of each panel when all are made; or NULL */
    void *data;
    bool alone;                  /* too little to share */
} Steps;

/* As many as work on it at once: `worker` is below that. */
int steps_workers(Ctx *);
/* room: steps_room bytes. A set interrupt flag ends it between two calls: the caller polls. */
size_t steps_room(const Steps *);
void steps_run(Ctx *, const Steps *, void *room);

#endif
