/* Attention by tiles as a step of a plan: operands, heads, bias, and running it. */
#include "kernels/plan/nest_plan_attention.h"

#include "core/base/error.h"
#include "core/base/mem.h"
#include "core/memory/pool.h"
#include "kernels/cast/tensor_cast.h"
#include "kernels/tensor/cast.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

typedef struct PlanAttention PlanAttention;

/* From so many multiply-adds on threads are worth waking. */
enum { FEW = 1 << 16 };

static const NestNode *at(const PlanScores *f, int x) { return &f->p->n->node[x]; }
static int64_t extent(const PlanScores *f, int i) { return i < 0 ? 1 : f->p->n->index[i].extent; }

/* ---- which dtype ---- */

static bool is_half(const PlanScores *f, const PlanFactors *side, DType half)
{
    return side->count == 1 && side->node[0] >= 0 && !side->negative &&
           (DType)at(f, plan_bare(f->p, side->node[0]))->dtype == half;
}

/* Halves go to the tiles as they are where the result and all operands are of one. */
static DType common_dtype(const PlanScores *f)
{
    DType dt = (DType)at(f, f->value)->dtype;
    bool all = is_half(f, &f->q, dt) && is_half(f, &f->k, dt) && is_half(f, &f->v, dt);
    return dtype_half(dt) && all ? dt : f->real;
}

static void tell_full(const PlanScores *f, const char *why)
{
    NestPlan *plan = f->p->plan;
    uint64_t queries = f->query >= 0 ? UINT64_C(1) << f->query
                                     : f->seen & ~(UINT64_C(1) << f->key);
    snprintf(plan->full, sizeof plan->full, "full scores %lld×%lld, because %s",
             (long long)plan_size(f->p->n, queries), (long long)extent(f, f->key), why);
}

static bool look(PlanScores *f, Planner *p, int x)
{
    bool formula;
    const char *why;
    uint8_t kind = p->n->node[x].kind;
    if (kind != NEST_REDUCE && kind != NEST_CAST &&
        !(kind == NEST_EW && p->n->node[x].op == EW_DIVIDE))
        return false;
    bool found = plan_scores_find(f, p, x, &formula, &why);
    if (found && common_dtype(f) != (DType)p->n->node[x].dtype) {
        found = false;
        why = "they are computed in more than one format";
    }
    if (formula && !found)
        tell_full(f, why);
    return found;
}

/* Nothing comes after the sum over keys. */
static bool is_whole(const PlanScores *f) { return !f->after.count && !f->more; }

bool plan_attends(Planner *p, int x)
{
    PlanScores f;
    return look(&f, p, x) && is_whole(&f);
}

int plan_attention_split(Planner *p, int x)
{
    PlanScores f;
    return look(&f, p, x) && !is_whole(&f) ? plan_scores_split(&f) : -1;
}

/* ---- operands ---- */

/* How a load moves: heads as offsets, and two indices (-1: none) as rows and columns. */
static AttentionMat matrix(const PlanScores *f, const int64_t *stride, int row, int col)
{
    int64_t heads = (int64_t)plan_size(f->p->n, f->heads);
    int64_t *offset = arena_alloc(&f->p->plan->arena, (size_t)heads * sizeof *offset);
    for (int64_t h = 0; h < heads; h++) {
        int64_t rest = h;
        offset[h] = 0;
        for (uint64_t s = f->heads; s; s &= s - 1) {
            int i = __builtin_ctzll(s);
            offset[h] += rest % extent(f, i) * stride[i];
            rest /= extent(f, i);
        }
    }
    return (AttentionMat){ .at = offset, .row = row < 0 ? 0 : stride[row],
                           .col = col < 0 ? 0 : stride[col] };
}

static const NestLoad *plain_load(const PlanScores *f, int x)
{
    const NestNode *node = at(f, x);
    const NestLoad *load = &f->p->n->load[node->slot];
    return node->kind == NEST_LOAD && !load->gathers ? load : NULL;
}

/* Rows one after the other, head by head. */
static void lay_rows(const PlanScores *f, uint64_t axes, int row, int col, int64_t *stride)
{
    uint64_t rows = row < 0 ? 0 : UINT64_C(1) << row, cols = col < 0 ? 0 : UINT64_C(1) << col;
    const uint64_t order[3] = { axes & cols, axes & rows, axes & ~(rows | cols) };
    int64_t step = 1;
    for (int k = 0; k < 3; k++)
        for (uint64_t s = order[k]; s; s &= s - 1) {
            stride[__builtin_ctzll(s)] = step;
            step *= extent(f, __builtin_ctzll(s));
        }
}

/* As plan_keep, in rows. */
static int keep_rows(PlanScores *f, int x, int row, int col)
{
    Planner *p = f->p;
    PlanValue v;
    if (!plan_find_value(p, x, &v)) {
        PlanTarget t = { .axes = at(f, x)->free, .dtype = (DType)at(f, x)->dtype,
                         .stride = v.stride };
        v.node = x;
        v.slot = t.slot = plan_temp(p, t.axes, t.dtype, v.stride);
        lay_rows(f, t.axes, row, col, v.stride);
        plan_value(p, x, &t);
    }
    return plan_load_node(p, &v, plan_slot_name(p, v.slot));
}

/* The node in memory, as it lies there or computed first. */
static AttentionMat in_memory(PlanScores *f, int x, int row, int col, int *slot)
{
    if (!plain_load(f, x))
        x = keep_rows(f, x, row, col);
    const NestLoad *load = plain_load(f, x);
    *slot = load->slot;
    return matrix(f, load->stride, row, col);
}

static AttentionMat operand(PlanScores *f, const PlanFactors *side, DType dt, int row, int col,
                            int *slot)
{
    int x = plan_bare(f->p, plan_product_node(f->p, side, f->real));
    return in_memory(f, nest_cast(f->p->ctx, f->p->n, x, dt), row, col, slot);
}

static void read_scale(PlanScores *f, PlanAttention *a)
{
    a->factors = f->scale.count;
    a->negative = f->scale.negative;
    for (int i = 0; i < a->factors; i++) {
        a->divides[i] = f->scale.node[i] < 0;
        NestNode *own = arena_alloc(&f->p->plan->arena, sizeof *own);
        *own = *at(f, a->divides[i] ? ~f->scale.node[i] : f->scale.node[i]);
        a->factor[i] = own;
    }
}

static int64_t clamp(int64_t x, int64_t low, int64_t high)
{
    return x < low ? low : x > high ? high : x;
}

/* low <= j - i <= high as the kernel has it, by the last key that is seen. */
static void read_window(const PlanScores *f, Attention *job)
{
    int64_t all = job->n + job->m;
    int64_t low = clamp(f->low, -job->n, job->m), high = clamp(f->high, -job->n, job->m);
    job->shift = high;
    job->left = high >= low ? high - low : 0;
    job->right = 0;
    if (high < low)                         /* nothing */
        job->shift = -job->n - 1;
    if (f->high >= job->m && f->low <= -job->n)
        job->shift = 0, job->left = job->right = all;
}

/* ---- bias ---- */

/* What is added, as one node; -1: nothing. */
static int added(PlanScores *f)
{
    Planner *p = f->p;
    int sum = -1;
    for (int i = 0; i < f->terms; i++) {
        PlanFactors all = f->term[i].times;
        if (all.count < PLAN_FACTORS)
            all.node[all.count++] = f->term[i].node;
        int both[2] = { sum, plan_product_node(p, &all, f->real) };
        both[1] = plan_bare(p, both[1]);
        sum = sum < 0 ? both[1] : nest_ew(p->ctx, p->n, EW_ADD, f->real, both, 2);
    }
    return sum;
}

/* With what is not seen as -inf, which is log(false). */
static int bias_node(PlanScores *f, DType dt)
{
    Planner *p = f->p;
    int sum = added(f), args[3] = { f->hidden, sum, -1 };
    if (sum < 0)
        return f->hidden;
    if (f->hidden < 0)
        return (DType)at(f, sum)->dtype == dt ? sum : nest_cast(p->ctx, p->n, sum, f->real);
    int number = nest_cast(p->ctx, p->n, f->hidden, f->real);
    args[2] = nest_ew(p->ctx, p->n, EW_LOG, f->real, &number, 1);
    return nest_ew(p->ctx, p->n, EW_WHERE, f->real, args, 3);
}

/* A bias, and its nest where it is one for slabs. */
typedef struct Bias {
    int node;                       /* -1: none */
    Nest *nest;
    uint64_t axes;
    int64_t stride[NEST_INDICES];
} Bias;

static void read_bias(PlanScores *f, PlanAttention *a, Bias *b)
{
    Planner *p = f->p;
    uint64_t pairs = UINT64_C(1) << f->query | UINT64_C(1) << f->key;
    int64_t by_index[NEST_INDICES];
    a->bias = -1;
    b->node = bias_node(f, a->job.dt);
    if (b->node < 0)
        return;
    a->job.biased = at(f, b->node)->dtype == DT_BOOL ? BIAS_BOOL : BIAS_ADDS;
    a->job.bias_dt = a->job.biased == BIAS_BOOL ? f->real : (DType)at(f, b->node)->dtype;
    if (plain_load(f, b->node) || (at(f, b->node)->free & pairs) != pairs) {
        a->job.bias = in_memory(f, b->node, f->query, f->key, &a->bias);
        return;
    }
    b->node = plan_slab_node(f, b->node);
    b->axes = at(f, b->node)->free;
    a->slab = arena_alloc(&p->plan->arena, sizeof *a->slab);
    memset(a->slab, 0, sizeof *a->slab);
    b->nest = plan_slab_nest(f, b->node, a->slab, b->stride, by_index);
    a->job.bias = matrix(f, by_index, f->query, f->key);
}

/* ---- the step ---- */

static void add_inputs(Planner *p, PlanAttention *a, PlanStep *s)
{
    int slabs = a->slab ? a->slab->slots : 0;
    s->input = arena_alloc(&p->plan->arena, (size_t)(4 + slabs) * sizeof *s->input);
    const int own[4] = { a->q, a->k, a->v, a->bias };
    for (int i = 0; i < 4; i++)
        if (own[i] >= 0)
            s->input[s->inputs++] = own[i];
    for (int i = 0; i < slabs; i++)
        s->input[s->inputs++] = a->slab->slot[i];
}

/* Rows have to be contiguous; where they are not they are copied from a place of their own. */
static bool fits(const PlanScores *f, const PlanTarget *t)
{
    return f->column < 0 || extent(f, f->column) == 1 || t->stride[f->column] == 1;
}

static void choose_place(PlanScores *f, const PlanTarget *t, PlanValue *v)
{
    v->node = f->value;
    v->slot = t->slot;
    memcpy(v->stride, t->stride, sizeof v->stride);
    if (fits(f, t))
        return;
    v->slot = plan_temp(f->p, t->axes, t->dtype, v->stride);
    lay_rows(f, t->axes, f->query, f->column, v->stride);
}

static int threads_for(Ctx *ctx, const Attention *job)
{
    double pairs = (double)job->heads * (double)job->n * (double)job->m;
    return pairs * (double)(job->d + job->e) < FEW ? 1 : pool_threads(ctx);
}

static int64_t logs_bytes(const PlanAttention *a)
{
    int64_t rows = a->slab ? a->slab->rows : a->job.n;
    return 2 * a->job.heads * rows * dtype_info(dtype_computed(a->job.dt))->bytes;
}

static int64_t slab_bytes(const PlanAttention *a)
{
    return a->slab ? (int64_t)a->slab->bytes : 0;
}

static int64_t working_bytes(const PlanAttention *a, int threads)
{
    return attention_bytes(&a->job, threads) + logs_bytes(a) + slab_bytes(a);
}

bool plan_attention(Planner *p, int x, PlanTarget *t)
{
    PlanScores f;
    Bias bias;
    if (!look(&f, p, x) || !is_whole(&f))
        return false;
    PlanTarget *outer = p->target;
    p->target = NULL;                       /* the result's memory is for the result */
    PlanAttention *a = arena_alloc(&p->plan->arena, sizeof *a);
    DType dt = common_dtype(&f);
    int depth = __builtin_ctzll(f.depth);
    *a = (PlanAttention){ .job = { .dt = dt, .heads = (int64_t)plan_size(p->n, f.heads),
                                   .n = extent(&f, f.query), .m = extent(&f, f.key),
                                   .d = extent(&f, depth), .e = extent(&f, f.column) } };
    plan_masks_read(&f);
    read_window(&f, &a->job);
    read_scale(&f, a);
    a->job.q = operand(&f, &f.q, dt, f.query, depth, &a->q);
    a->job.k = operand(&f, &f.k, dt, f.key, depth, &a->k);
    a->job.v = operand(&f, &f.v, dt, f.key, f.column, &a->v);
    read_bias(&f, a, &bias);
    PlanValue v;
    choose_place(&f, t, &v);
    a->job.out = matrix(&f, v.stride, f.query, f.column);
    PlanStep *s = plan_add_step(p, v.slot);
    s->attention = a;
    s->node = x;
    add_inputs(p, a, s);
    if (a->slab)
        plan_slab_plan(&f, bias.nest, bias.axes, bias.stride, a->slab);
    a->bytes = working_bytes(a, threads_for(p->ctx, &a->job));
    p->target = outer;
    if (v.slot != t->slot)
        plan_add_stage(p, plan_load_node(p, &v, plan_slot_name(p, v.slot)), t);
    return true;
}

void plan_attention_free(Ctx *ctx, PlanStep *s)
{
    if (!s->attention->slab)
        return;
    nest_plan_free(ctx, s->attention->slab->whole);
    nest_plan_free(ctx, s->attention->slab->rest);
}

/* ---- running ---- */

typedef struct Run {
    Ctx *ctx;
    PlanAttention *a;
    Attention job;
    int threads;
    char *memory, *logs, *slab;
    const void **slot, **moved;     /* data of the plan; of a slab's nest */
} Run;

/* 0/0, as the formula has it, where a query sees nothing but -inf. */
static void mark_unseen(const Attention *job, DType real)
{
    double nan = NAN;
    for (int64_t h = 0; h < job->heads; h++)
        for (int64_t i = 0; i < job->n; i++) {
            const char *lse = job->lse.data + (job->lse.at[h] + i) * dtype_info(real)->bytes;
            if (element_f64(real, lse) != -INFINITY)
                continue;
            char *row = job->out.data + (job->out.at[h] + i * job->out.row) *
                                            dtype_info(job->dt)->bytes;
            cast_plain(job->dt, row, 1, DT_F64, &nan, 0, job->e);
        }
}

static void run_tiles(Run *r, const Attention *job)
{
    attention_run(r->ctx, job, r->threads, r->memory);
    if (!*r->ctx->interrupt)
        mark_unseen(job, dtype_computed(job->dt));
}

static void move(AttentionMat *m, int64_t rows, DType dt)
{
    m->data += rows * m->row * dtype_info(dt)->bytes;
}

static EwTrouble run_slabs(Run *r)
{
    const PlanSlab *s = r->a->slab;
    EwTrouble trouble = EWT_NONE;
    for (int64_t i = 0; i < r->job.n && trouble == EWT_NONE && !*r->ctx->interrupt; i += s->rows) {
        Attention job = r->job;
        bool rest = i + s->rows > job.n;
        for (int k = 0; k < s->slots; k++)
            r->moved[k] = (const char *)r->slot[s->slot[k]] + i * s->shift[k];
        trouble = nest_run(r->ctx, rest ? s->rest : s->whole, r->slab, r->moved);
        job.n = rest ? s->rest_rows : s->rows;
        job.shift += i;
        job.bias.data = r->slab;
        move(&job.q, i, job.dt);
        move(&job.out, i, job.dt);
        if (trouble == EWT_NONE)
            run_tiles(r, &job);
    }
    return trouble;
}

static double scale_of(const PlanAttention *a, const void *const *slot)
{
    double scale = a->negative ? -1 : 1;
    for (int i = 0; i < a->factors; i++) {
        double x = element_f64((DType)a->factor[i]->dtype, slot[a->factor[i]->slot]);
        scale = a->divides[i] ? scale / x : scale * x;
    }
    return scale;
}

static void place_logs(Run *r)
{
    Attention *job = &r->job;
    int64_t rows = r->a->slab ? r->a->slab->rows : job->n;
    int64_t *offset = (int64_t *)(r->logs + logs_bytes(r->a));
    for (int64_t h = 0; h < job->heads; h++)
        offset[h] = h * rows;
    job->lse = (AttentionMat){ .data = r->logs, .at = offset, .row = 1 };
    job->rest = job->lse;
    job->rest.data = r->logs + logs_bytes(r->a) / 2;
}

EwTrouble plan_attention_run(Ctx *ctx, const PlanStep *s, const void **slot)
{
    PlanAttention *a = s->attention;
    Run r = { .ctx = ctx, .a = a, .job = a->job, .slot = slot };
    Attention *job = &r.job;
    job->scale = scale_of(a, slot);
    job->q.data = (char *)slot[a->q];
    job->k.data = (char *)slot[a->k];
    job->v.data = (char *)slot[a->v];
    job->bias.data = a->bias >= 0 ? (char *)slot[a->bias] : NULL;
    job->out.data = (char *)slot[s->out];
    r.threads = threads_for(ctx, job);
    int64_t tiles = (attention_bytes(job, r.threads) + 63) / 64 * 64;
    int64_t slab = (slab_bytes(a) + 63) / 64 * 64, slots = a->slab ? a->slab->slots : 0;
    size_t bytes = (size_t)(tiles + slab + logs_bytes(a) + (job->heads + slots) * 8);
    a->bytes = working_bytes(a, r.threads);
    r.memory = mem_alloc_data(ctx, bytes, false);
    r.slab = r.memory + tiles;
    r.logs = r.slab + slab;
    r.moved = (const void **)(r.logs + logs_bytes(a) + job->heads * 8);
    place_logs(&r);
    ErrFrame frame;
    volatile EwTrouble trouble = EWT_NONE;
    volatile bool failed = true;
    if (ERR_TRY(ctx, &frame)) {
        if (a->slab)
            trouble = run_slabs(&r);
        else
            run_tiles(&r, job);
        ERR_END(ctx, &frame);
        failed = false;
    }
    mem_free_data(ctx, r.memory, bytes);
    if (failed)
        err_rethrow(ctx);
    return trouble;
}

/* ---- what it says of itself ---- */

static double work_of(const Attention *job)
{
    return 2 * attention_pairs(job) * (double)(job->d + job->e);
}

double plan_attention_seconds(const PlanStep *s)
{
    return 1e-6 + work_of(&s->attention->job) / 20e9;
}

void plan_attention_text(const PlanStep *s, char *out, size_t cap)
{
    attention_text(out, cap, ATTENTION_QUERIES, ATTENTION_KEYS, s->attention->bytes);
}

void plan_attention_report(const PlanStep *s, ReportStep *r)
{
    const Attention *job = &s->attention->job;
    double bytes = dtype_info(job->dt)->bytes, heads = (double)job->heads;
    snprintf(r->kind, sizeof r->kind, "tiled attention");
    snprintf(r->kernel.by, sizeof r->kernel.by, "own kernel");
    plan_attention_text(s, r->kernel.how, sizeof r->kernel.how);
    r->flops = work_of(job);
    r->read = bytes * heads * (double)(job->n * job->d + job->m * (job->d + job->e));
    r->written = bytes * heads * (double)(job->n * job->e);
    r->seconds = plan_attention_seconds(s);
}
