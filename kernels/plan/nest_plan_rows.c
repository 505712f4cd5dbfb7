/* Row by row: a nest whose reductions depend on some axes of the result alone (a softmax's extreme
 * and sum, a layer's mean and variance) is planned for a block of rows that stays in cache and run
 * block after block, so that memory is read and written once; a value that stands inside such a
 * reduction and outside of it (exp(x[i,j]-m[i]), exp(x[i,k]-m[i])) is computed once per block.
 * Block lengths follow from shapes alone. */
#include "kernels/plan/nest_plan.h"

#include "core/base/error.h"
#include "core/base/mem.h"
#include "core/memory/pool.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    BLOCK_BYTES = 1 << 19,          /* of the result: with what it is made from, in the cache */
    LONGEST_BLOCK = 8 << 20,        /* a single longer row is no block */
    SHARED_COST = 6                 /* of a value that is worth a place (plan_fact) */
};

struct PlanRows {
    NestPlan *block, *rest;         /* of `length` rows; of those that are left over, or NULL */
    int indices, index[NEST_INDICES];       /* one position at a time, but the last: blocks */
    int64_t length;
    double blocks;
    bool apart;                     /* no step has threads of its own: blocks may run together */
    int64_t (*shift)[NEST_INDICES]; /* per slot, then of the result: bytes per position */
};

/* ---- which nests ---- */

static void mark_nodes(const Nest *n, bool *used)
{
    used[n->root] = true;
    for (int x = n->root; x >= 0; x--)
        for (int k = 0; used[x] && k < n->node[x].args; k++)
            used[n->node[x].arg[k]] = true;
}

static uint64_t result_axes(const Nest *n)
{
    return n->out_rank == 64 ? ~UINT64_C(0) : (UINT64_C(1) << n->out_rank) - 1;
}

/* Axes that all reductions move with; 0: none, or reductions that are more work than rows. */
static uint64_t common_rows(const Nest *n, const bool *used)
{
    uint64_t axes = result_axes(n), rows = axes;
    double size = plan_size(n, axes);
    bool some = false;
    for (int x = 0; x <= n->root; x++) {
        const NestNode *node = &n->node[x];
        if (!used[x] || node->kind != NEST_REDUCE)
            continue;
        if (plan_size(n, node->free | node->bound) > 2 * size)
            return 0;
        rows &= node->free;
        some |= node->free != axes;
    }
    return some ? rows : 0;
}

static int widest_element(const Nest *n, const bool *used)
{
    int widest = 1;
    for (int x = 0; x <= n->root; x++)
        if (used[x] && dtype_info(n->node[x].dtype)->bytes > widest)
            widest = dtype_info(n->node[x].dtype)->bytes;
    return widest;
}

/* Leading rows by the strides of the result, until what is left fits a block. */
static bool choose_rows(const Nest *n, const int64_t *out_stride, uint64_t rows, double bytes,
                        PlanRows *r)
{
    double row = plan_size(n, result_axes(n)) * bytes;
    while (rows) {
        int best = __builtin_ctzll(rows);
        for (uint64_t s = rows; s; s &= s - 1)
            if (llabs(out_stride[__builtin_ctzll(s)]) > llabs(out_stride[best]))
                best = __builtin_ctzll(s);
        r->index[r->indices++] = best;
        rows &= ~(UINT64_C(1) << best);
        row /= (double)n->index[best].extent;
        if (row <= BLOCK_BYTES / 2 || (!rows && row <= LONGEST_BLOCK)) {
            r->length = row * 2 <= BLOCK_BYTES ? (int64_t)(BLOCK_BYTES / row) : 1;
            if (r->length > n->index[best].extent)
                r->length = n->index[best].extent;
            return true;
        }
    }
    return false;
}

static bool shift_slot(PlanRows *r, int slot, const int64_t *stride, int64_t bytes, bool *known)
{
    for (int k = 0; k < r->indices; k++) {
        int64_t shift = stride[r->index[k]] * bytes;
        if (known[slot] && r->shift[slot][k] != shift)
            return false;
        r->shift[slot][k] = shift;
    }
    known[slot] = true;
    return true;
}

/* Does a tensor that many rows share stay in the cache beside them? */
static bool is_shared(const Nest *n, const NestNode *node, int row)
{
    return !(node->free >> row & 1) &&
           plan_size(n, node->free) * dtype_info(node->dtype)->bytes > BLOCK_BYTES;
}

static bool find_shifts(const Nest *n, const bool *used, PlanRows *r, bool *known)
{
    int last = r->index[r->indices - 1];
    for (int x = 0; x <= n->root; x++) {
        const NestNode *node = &n->node[x];
        if (!used[x])
            continue;
        for (int k = 0; node->kind == NEST_INDEX && k < r->indices; k++)
            if (node->slot == r->index[k])
                return false;               /* its numbers would start anew in each block */
        if (node->kind != NEST_LOAD)
            continue;
        const NestLoad *load = &n->load[node->slot];
        if (is_shared(n, node, last) ||
            !shift_slot(r, load->slot, load->stride, dtype_info(load->dtype)->bytes, known))
            return false;
        for (int g = 0; g < load->gathers; g++)
            if (!shift_slot(r, load->gather[g].slot, load->gather[g].stride, 8, known))
                return false;
    }
    return true;
}

/* ---- planning ---- */

static NestPlan *plan_block(Ctx *ctx, Nest *n, const PlanRows *r, int64_t length,
                            const int64_t *out_stride)
{
    for (int k = 0; k < r->indices; k++)
        n->index[r->index[k]].extent = k + 1 < r->indices ? 1 : length;
    return plan_make(ctx, n, out_stride, true);
}

static bool contracts(const NestPlan *plan)
{
    for (int i = 0; i < plan->steps; i++)
        if (plan->step[i].contract || plan->step[i].attention)
            return true;
    return false;
}

static void add_rows(Ctx *ctx, NestPlan *plan, PlanRows *r)
{
    Nest n = *plan->nest;
    int last = r->index[r->indices - 1];
    int64_t extent = n.index[last].extent, blocks = extent / r->length;
    plan->rows = r;
    r->blocks = (double)blocks;
    for (int k = 0; k + 1 < r->indices; k++)
        r->blocks *= (double)n.index[r->index[k]].extent;
    r->block = plan_block(ctx, &n, r, r->length, plan->out_stride);
    if (extent % r->length)
        r->rest = plan_block(ctx, &n, r, extent % r->length, plan->out_stride);
    r->apart = !contracts(r->block) && !(r->rest && contracts(r->rest));
}

bool plan_rows(Ctx *ctx, NestPlan *plan, bool *whole)
{
    const Nest *n = plan->nest;
    if (n->slots >= PLAN_SLOTS)
        return false;
    Arena *arena = &plan->arena;
    bool *used = arena_alloc(arena, (size_t)n->nodes), *known = arena_alloc(arena, PLAN_SLOTS);
    memset(used, 0, (size_t)n->nodes);
    memset(known, 0, PLAN_SLOTS);
    mark_nodes(n, used);
    uint64_t rows = common_rows(n, used), axes = result_axes(n);
    int bytes = widest_element(n, used);
    *whole = rows && plan_size(n, axes) * bytes <= BLOCK_BYTES;
    if (!rows || *whole)
        return false;
    PlanRows *r = arena_alloc(arena, sizeof *r);
    memset(r, 0, sizeof *r);
    r->shift = arena_alloc(arena, (size_t)(n->slots + 1) * sizeof *r->shift);
    memset(r->shift, 0, (size_t)(n->slots + 1) * sizeof *r->shift);
    if (!choose_rows(n, plan->out_stride, rows, bytes, r) || !find_shifts(n, used, r, known) ||
        !shift_slot(r, n->slots, plan->out_stride, dtype_info(n->node[n->root].dtype)->bytes,
                    known))
        return false;
    add_rows(ctx, plan, r);
    return true;
}

void plan_rows_free(Ctx *ctx, PlanRows *r)
{
    nest_plan_free(ctx, r->block);
    nest_plan_free(ctx, r->rest);
}

/* ---- what is computed once ---- */

static bool stands_inside(Planner *p, const bool *used, int x)
{
    int nodes = p->n->root;
    for (int f = 0; f <= nodes; f++)
        if (used[f] && f != x && p->n->node[f].op == p->n->node[x].op && plan_same(p, x, f))
            return true;
    return false;
}

/* Values over all axes that stand, under other names of indices, in a reduction: into memory. */
void plan_keep_shared(Planner *p, int root)
{
    Nest *n = p->n;
    bool *used = arena_alloc(&p->plan->arena, (size_t)n->nodes);
    bool *outside = arena_alloc(&p->plan->arena, (size_t)n->nodes);
    uint64_t axes = result_axes(n);
    memset(used, 0, (size_t)n->nodes);
    memset(outside, 0, (size_t)n->nodes);
    mark_nodes(n, used);
    outside[root] = true;
    for (int x = root; x >= 0; x--) {
        NestNode node = p->n->node[x];
        if (!outside[x] || node.kind == NEST_REDUCE)
            continue;
        if (x != root && node.kind == NEST_EW && node.free == axes &&
            plan_fact(p, x)->cost >= SHARED_COST && stands_inside(p, used, x)) {
            plan_keep(p, x);
            continue;
        }
        for (int k = 0; k < node.args; k++)
            outside[node.arg[k]] = true;
    }
}

/* ---- running ---- */

/* Blocks are shared among threads. Planned steps allocate, and only its own thread may use a
 * context: so each worker has one, with an account of its own; where memory runs out in one,
 * all blocks run again on the caller's, which says so. */
typedef struct RowsJob {
    const NestPlan *plan;
    char *out;
    const void *const *data;
    Ctx *worker;                    /* one per thread */
    _Atomic int trouble;
    atomic_bool failed;
} RowsJob;

static int64_t blocks_along(const NestPlan *plan, int k)
{
    const PlanRows *r = plan->rows;
    int64_t extent = plan->nest->index[r->index[k]].extent;
    return k + 1 < r->indices ? extent : (extent + r->length - 1) / r->length;
}

static EwTrouble run_block(Ctx *ctx, const RowsJob *job, int64_t block)
{
    const NestPlan *plan = job->plan;
    const PlanRows *r = plan->rows;
    const void *moved[PLAN_SLOTS];
    int64_t shift[PLAN_SLOTS + 1] = { 0 }, last = blocks_along(plan, r->indices - 1);
    bool rest = r->rest && block % last == last - 1;
    for (int k = r->indices - 1; k >= 0; k--) {
        int64_t count = blocks_along(plan, k), at = block % count;
        block /= count;
        for (int s = 0; s <= plan->slots; s++)
            shift[s] += at * (k + 1 < r->indices ? 1 : r->length) * r->shift[s][k];
    }
    for (int s = 0; s < plan->slots; s++)
        moved[s] = (const char *)job->data[s] + shift[s];
    return nest_run(ctx, rest ? r->rest : r->block, job->out + shift[plan->slots], moved);
}

static EwTrouble run_alone(Ctx *ctx, const RowsJob *job, int64_t blocks)
{
    EwTrouble trouble = EWT_NONE;
    for (int64_t b = 0; b < blocks && trouble == EWT_NONE && !*ctx->interrupt; b++)
        trouble = run_block(ctx, job, b);
    return trouble;
}

static void run_share(void *arg, int64_t begin, int64_t end, int worker)
{
    RowsJob *job = arg;
    Ctx *ctx = &job->worker[worker];
    ErrFrame frame;
    if (!ERR_TRY(ctx, &frame)) {
        err_free(ctx->error);
        job->failed = true;
        return;
    }
    for (volatile int64_t b = begin; b < end && !job->failed && !job->trouble; b++) {
        EwTrouble trouble = run_block(ctx, job, b);
        if (trouble != EWT_NONE)
            job->trouble = (int)trouble;
    }
    ERR_END(ctx, &frame);
}

static void run_shares(Ctx *ctx, RowsJob *job, int64_t blocks, int threads)
{
    size_t bytes = (size_t)threads * sizeof *job->worker;
    job->worker = mem_zalloc(ctx, bytes);
    for (int i = 0; i < threads; i++) {
        job->worker[i].mem.limit = ctx->mem.limit;
        job->worker[i].interrupt = ctx->interrupt;
        job->worker[i].pool = ctx->pool;        /* busy: what a block starts runs on its thread */
    }
    pool_for(ctx, blocks, 1, run_share, job);
    for (int i = 0; i < threads; i++)
        mem_shutdown(&job->worker[i]);
    mem_free(ctx, job->worker, bytes);
}

EwTrouble plan_rows_run(Ctx *ctx, const NestPlan *plan, void *out, const void *const *data)
{
    const PlanRows *r = plan->rows;
    RowsJob job = { .plan = plan, .out = out, .data = data };
    int threads = r->apart ? pool_threads(ctx) : 1;
    int64_t blocks = 1;
    for (int k = 0; k < r->indices; k++)
        blocks *= blocks_along(plan, k);
    if (threads == 1 || blocks == 1)
        return run_alone(ctx, &job, blocks);
    run_shares(ctx, &job, blocks, threads);
    return job.failed ? run_alone(ctx, &job, blocks) : (EwTrouble)job.trouble;
}

/* May the result lie in this operand's memory, block by block? */
bool plan_rows_together(const NestPlan *plan, int slot)
{
    const PlanRows *r = plan->rows;
    return memcmp(r->shift[slot], r->shift[plan->slots], sizeof r->shift[slot]) == 0;
}

double plan_rows_seconds(const PlanRows *r)
{
    return r->blocks * nest_seconds(r->block) + (r->rest ? nest_seconds(r->rest) : 0);
}

/* The steps of one block, their figures those of all. */
void plan_rows_report(const NestPlan *plan, const void *const *data, Report *report)
{
    const PlanRows *r = plan->rows;
    const NestIndex *row = &plan->nest->index[r->index[r->indices - 1]];
    int first = report->steps;
    double rest = r->rest ? (double)(row->extent % r->length) / (double)r->length : 0;
    double times = r->blocks + rest;
    nest_report(r->block, data, report);
    for (int i = first; i < report->steps; i++) {
        ReportStep *s = &report->step[i];
        size_t at = strlen(s->kernel.how);
        snprintf(s->kernel.how + at, sizeof s->kernel.how - at, "; %lld positions of %s at a time",
                 (long long)r->length, row->name);
        s->flops *= times;
        s->read *= times;
        s->written *= times;
        s->copied *= times;
        s->seconds *= times;
    }
}
