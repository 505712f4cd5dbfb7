/* Nests planned and run: the plan finds contractions in a nest, computes what does not depend on
 * all indices once, and runs the rest as blocked, vectorised, threaded loops over strips. It holds
 * no pointers to data: it runs on any data of that layout. Files: nest_plan*.c. */
#ifndef RICCI_KERNELS_PLAN_H
#define RICCI_KERNELS_PLAN_H

#include "kernels/nest/nest.h"

typedef struct NestPlan NestPlan;

/* out_stride: of the result per axis; NULL: contiguous. The nest is copied. Raises `memory`. */
NestPlan *nest_plan(Ctx *, const Nest *, const int64_t *out_stride);
void nest_plan_free(Ctx *, NestPlan *);
/* data: `slots` pointers. The result has the root's dtype; its memory may be that of a load only if
 * that load has the result's strides in every index and no gather. Trouble of integer operations as
 * ew_run tells it. Raises `memory`. A set interrupt flag ends it
 * early: the caller polls. */
EwTrouble nest_run(Ctx *, const NestPlan *, void *out, const void *const *data);
/* Adds the plan's steps; `data` (may be NULL) is read only to show constants as numbers. */
void nest_report(const NestPlan *, const void *const *data, Report *);
double nest_seconds(const NestPlan *);          /* estimate of one run */

#endif
