/* Some rows of a stage at a time (nest.h): an elementwise stage over a dense result whose rows
 * become known piece by piece, as those of a product do. A worker runs the loops of the stage's own
 * program between bounds, so a row has the bits that it has in a run of the whole. */
#include "kernels/nest/nest_stage_work.h"

#include "core/base/mem.h"
#include "core/memory/pool.h"

#include <string.h>

struct StageRows {
    StageRun run;
    StageWork root;             /* where the steps outside of all loops were run */
    int64_t elements;           /* of a row */
    int level;                  /* the loop that is walked between bounds; -1: there is none */
    size_t each, bytes;         /* memory of a worker; of all that follows this, and this */
    char *memory;
};

/* ---- which stages ---- */

/* Positions of this loop are so many elements of the result apart. */
static int64_t step_of(const StageCode *c, int level)
{
    return c->out_stride[c->main.loop[level].index];
}

/* Dense by rows: the indices, by rising stride, follow each other without gaps. */
static bool is_dense(const StageCode *c)
{
    const Nest *n = c->nest;
    int64_t next = 1;
    while (next < c->size) {
        int i = 0;
        while (i < n->out_rank && (n->index[i].extent == 1 || c->out_stride[i] != next))
            i++;
        if (i == n->out_rank)
            return false;
        next *= n->index[i].extent;
    }
    return next == c->size;
}

/* The loop that goes from row to row, of so many elements each, or over parts of rows that lie one
 * behind the other; loops over whole blocks of rows stand around it, those within a row anywhere.
 * -1: there are no loops; -2: none is such. */
static int row_level(const StageCode *c, int64_t elements)
{
    const StageProgram *p = &c->main;
    int best = -1, blocks = 0;
    for (int l = 0; l < p->loops; l++) {
        int64_t step = step_of(c, l);
        if (step > elements) {
            if (l != blocks || p->loop[l].kind != LOOP_FULL || step % elements)
                return -2;
            if (blocks++ > 0 && step > step_of(c, l - 1))
                return -2;
        } else if (p->loop[l].kind != LOOP_WITHIN && (best < 0 || step > step_of(c, best))) {
            best = l;
        }
    }
    if (p->loops == 0)
        return -1;
    return best < 0 || elements % step_of(c, best) ? -2 : best;
}

static bool has_rows(const StageCode *c, int64_t rows)
{
    if (!c || c->size == 0 || c->plain || c->groups || rows <= 0 || c->size % rows || !is_dense(c))
        return false;
    if (c->period && c->size / rows % c->period)
        return false;                   /* repeated loads start with a row */
    for (int k = 0; k < c->nest->nodes; k++)
        if (c->used[k] && c->nest->node[k].kind == NEST_REDUCE)
            return false;
    return row_level(c, c->size / rows) > -2;
}

bool nest_stage_has_rows(const NestStage *s, int64_t rows)
{
    return !STAGE_HOSTILE && has_rows(s->code, rows) && (!s->general || has_rows(s->general, rows));
}

/* ---- running ---- */

StageRows *nest_stage_rows_begin(Ctx *ctx, const NestStage *s, int64_t rows, void *out,
                                 const void *const *data)
{
    static const InterruptFlag never = 0;
    const StageCode *c = stage_which(s, data);
    size_t own = (sizeof(StageRows) + 63) & ~(size_t)63, each = (c->work_bytes + 127) & ~(size_t)63;
    size_t bytes = own + each * ((size_t)pool_threads(ctx) + 1);
    char *block = mem_alloc_data(ctx, bytes + c->pack_bytes, false);
    StageRows *r = (StageRows *)(void *)block;
    *r = (StageRows){ .memory = block + own, .bytes = bytes + c->pack_bytes };
    r->run = (StageRun){ .c = c, .data = data, .out = out, .packed = block + bytes, .near = true,
                         .interrupt = ctx->interrupt ? ctx->interrupt : &never };
    r->each = each;
    r->elements = c->size / rows;
    r->level = row_level(c, r->elements);
    stage_pack_loads(ctx, &r->run);
    stage_begin(&r->root, &r->run, r->memory);
    if (r->level >= 0)
        stage_steps(&r->root, &c->main, 0);
    return r;
}

static void run_rows(StageWork *w, const StageRows *r, int level, int64_t from, int64_t to);

/* Positions low … high of the level's loop; the steps of the level were run. */
static void run_between(StageWork *w, const StageRows *r, int level, int64_t low, int64_t high,
                        int64_t from, int64_t to)
{
    const StageLoop *loop = &w->c->main.loop[level];
    for (int64_t i = low; i < high && !stage_stopped(w->run); i += loop->block) {
        int64_t count = high - i < loop->block ? high - i : loop->block;
        w->pos[loop->index] = i;
        if (loop->kind == LOOP_CHUNK)
            w->n = count;
        else if (loop->kind == LOOP_BLOCK)
            w->block = count;
        if (level >= r->level) {
            stage_loops(w, &w->c->main, level + 1);
        } else {
            stage_steps(w, &w->c->main, level + 1);
            run_rows(w, r, level + 1, from, to);
        }
    }
}

/* Rows from … to, counted from where the loops over blocks of rows stand. */
static void run_rows(StageWork *w, const StageRows *r, int level, int64_t from, int64_t to)
{
    const StageLoop *loop = &w->c->main.loop[level];
    int64_t step = step_of(w->c, level), block = step / r->elements;
    if (level == r->level) {
        run_between(w, r, level, from * r->elements / step, to * r->elements / step, 0, 0);
        return;
    }
    if (block <= 1) {
        run_between(w, r, level, 0, loop->extent, from, to);
        return;
    }
    for (int64_t i = from / block; i * block < to && !stage_stopped(w->run); i++) {
        int64_t first = i * block;
        run_between(w, r, level, i, i + 1, from > first ? from - first : 0,
                    to - first < block ? to - first : block);
    }
}

static void run_worker(const StageRows *r, StageRun *run, int64_t from, int64_t to, int worker)
{
    StageWork w;
    stage_begin(&w, run, r->memory + (size_t)(worker + 1) * r->each);
    memcpy(w.val, r->root.val, (size_t)w.c->values * sizeof *w.val);
    if (r->level < 0)
        stage_loops(&w, &w.c->main, 0);
    else
        run_rows(&w, r, 0, from, to);
}

EwTrouble nest_stage_rows_run(StageRows *r, int64_t from, int64_t to, int worker)
{
    run_worker(r, &r->run, from, to, worker);
    return (EwTrouble)r->run.trouble;
}

/* The rows lie where a result that began before `at` would have them. */
EwTrouble nest_stage_rows_make(StageRows *r, int64_t from, int64_t to, int worker, void *at)
{
    const StageCode *c = r->run.c;
    int bytes = dtype_info((DType)c->nest->node[c->nest->root].dtype)->bytes;
    StageRun run = { .c = c, .data = r->run.data, .packed = r->run.packed, .making = true,
                     .interrupt = r->run.interrupt, .trouble = EWT_NONE };
    run.out = (char *)((uintptr_t)at - (uintptr_t)(from * r->elements * bytes));
    run_worker(r, &run, from, to, worker);
    if (run.trouble != EWT_NONE)
        atomic_store(&r->run.trouble, run.trouble);
    return (EwTrouble)r->run.trouble;
}

static bool folds(const StageCode *c) { return c->main.sweeps && !c->main.keeps; }

bool nest_stage_rows_swept(const NestStage *s)
{
    return !STAGE_HOSTILE && folds(s->code) && (!s->general || folds(s->general));
}

bool nest_stage_rows_fold(StageRows *r, NestReduce op, int64_t from, int64_t to, int64_t each,
                          int worker, void *results)
{
    const StageCode *c = r->run.c;
    const NestNode *root = &c->nest->node[c->nest->root];
    int bytes = dtype_info((DType)root->dtype)->bytes;
    if ((op != NEST_SUM && op != NEST_MIN && op != NEST_MAX) || !folds(c) || r->elements != 1 ||
        each * bytes % LANE_BYTES != 0)
        return false;
    StageFolding folding = { .each = each * bytes, .result = results,
        .fold = op == NEST_SUM ? CHAIN_SUM : op == NEST_MIN ? CHAIN_MIN_OF : CHAIN_MAX_OF };
    StageRun run = { .c = c, .data = r->run.data, .folding = &folding,
                     .interrupt = r->run.interrupt, .trouble = EWT_NONE };
    StageWork w;
    stage_begin(&w, &run, r->memory + (size_t)(worker + 1) * r->each);
    memcpy(w.val, r->root.val, (size_t)w.c->values * sizeof *w.val);
    w.pos[c->main.loop[0].index] = from;
    w.n = to - from;
    stage_steps(&w, &c->main, 1);
    if (run.trouble != EWT_NONE)
        atomic_store(&r->run.trouble, run.trouble);
    return !folding.nan && run.trouble == EWT_NONE;     /* made, it is told as ever */
}

void nest_stage_rows_end(Ctx *ctx, StageRows *r)
{
    mem_free_data(ctx, r, r->bytes);
}
