/* Nests planned and run: the plan finds contractions in a nest, computes what does not depend on
 * all indices once, and runs the rest as blocked, vectorised, threaded loops over strips. It holds
 * no pointers to data: it runs on any data of that layout. Files: nest_plan*.c. */
#ifndef RICCI_KERNELS_PLAN_H
#define RICCI_KERNELS_PLAN_H

#include "kernels/nest/nest.h"

typedef struct NestPlan NestPlan;

/* out_stride: of the result per axis; NULL: contiguous. The nest is copied. Raises `memory`. */
NestPlan *nest_plan(Ctx *, const Nest *, const int64_t *out_stride);
/* Consts may be known by then (data by slot; NULL: not known): a plan that depends on the number of
 * one says so, and is good for this number only. */
NestPlan *nest_plan_knowing(Ctx *, const Nest *, const void *const *known);
bool nest_relies(const NestPlan *, int slot);
void nest_plan_free(Ctx *, NestPlan *);
/* data: `slots` pointers. The result has the root's dtype; its memory may be that of a load only if
 * that load has the result's strides in every index and no gather. Trouble of integer operations as
 * ew_run tells it. Raises `memory`. A set interrupt flag ends it
 * early: the caller polls. */
EwTrouble nest_run(Ctx *, const NestPlan *, void *out, const void *const *data);
/* Is the result there in all its places too where the run tells EWT_NAN? */
bool nest_in_one(const NestPlan *);
/* ---- some rows at a time ----
 * A plan of elementwise operations alone, over a dense result of `rows` rows (its leading axes,
 * which may be joined with others), run over ranges of them while a load is still being made: rows
 * [from, to) want that load's rows [from, to), and have the bits of nest_run. */
typedef struct StageRows NestRows;
bool nest_has_rows(const NestPlan *, int64_t rows);
/* Only where nest_has_rows. out and data: as of nest_run, and theirs until the end; of a load with
 * the result's shape and layout nothing is read here. Raises `memory`. */
NestRows *nest_rows_begin(Ctx *, const NestPlan *, int64_t rows, void *out,
                          const void *const *data);
/* On any thread; those that run at the same time have different numbers from 0 to pool_threads - 1.
 * The first trouble that there was so far, after which nothing more is computed. */
EwTrouble nest_rows_run(NestRows *, int64_t from, int64_t to, int worker);
/* The same, but the rows are put at `at`, where there is room for them and no others: nothing is at
 * `out`, and no load is still being made. */
EwTrouble nest_rows_make(NestRows *, int64_t from, int64_t to, int worker, void *at);
/* Does nest_rows_fold take floats of this plan? */
bool nest_rows_swept(const NestPlan *);
/* Reductions of rows of one element, with the bits that kernels/reduce gives: one of each `each`
 * rows from `from` to `to`, at `results`. False: not of these, or there is a nan (results mean
 * nothing then). */
bool nest_rows_fold(NestRows *, NestReduce, int64_t from, int64_t to, int64_t each, int worker,
                    void *results);
void nest_rows_end(Ctx *, NestRows *);
/* Adds the plan's steps; `data` (may be NULL) is read only to show constants as numbers. */
void nest_report(const NestPlan *, const void *const *data, Report *);
double nest_seconds(const NestPlan *);          /* estimate of one run */

#endif
