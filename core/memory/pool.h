/* One pool of worker threads. Workers never raise and never see the interpreter; the
 * caller takes part. Work below about 50 microseconds is not worth splitting: callers
 * decide by size. A set interrupt flag stops the remaining chunks early; the caller of
 * pool_for then polls and raises. */
#ifndef RICCI_CORE_POOL_H
#define RICCI_CORE_POOL_H

#include "core/base/ctx.h"

typedef void (*PoolFn)(void *arg, int64_t begin, int64_t end, int worker);

bool pool_inside(const Ctx *);      /* does a job run, so that nobody may raise? */
int pool_threads(Ctx *);            /* workers including the caller: cores, or RICCI_THREADS */
/* Runs fn over [0, n) in chunks of at least `grain`; returns when all are done. */
void pool_for(Ctx *, int64_t n, int64_t grain, PoolFn fn, void *arg);
void pool_shutdown(Ctx *);

#endif
