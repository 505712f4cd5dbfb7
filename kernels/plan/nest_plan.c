/* Plans of nests: the steps, the memory between them, and running them. Knows none of them. What
 * the steps are is decided in nest_plan_lower.c and nest_plan_product.c. */
#include "kernels/plan/nest_plan.h"

#include "core/base/error.h"
#include "core/base/mem.h"
#include "kernels/tensor/permute.h"

#include <inttypes.h>
#include <string.h>

/* ---- making ---- */

static void copy_loads(Ctx *ctx, Nest *to, const Nest *from)
{
    for (int i = 0; i < from->loads; i++) {
        const NestLoad *load = &from->load[i];
        size_t bytes = (size_t)load->gathers * sizeof *load->gather;
        to->load[i] = *load;
        to->load[i].gathers = 0;
        to->loads = i + 1;
        if (!load->gathers)
            continue;
        to->load[i].gather = mem_alloc(ctx, bytes);
        memcpy(to->load[i].gather, load->gather, bytes);
        to->load[i].gathers = load->gathers;
    }
}

/* With room for the planner's own nodes. What is made so far is always fit for nest_free. */
static void copy_nest(Ctx *ctx, Nest *n, const Nest *from)
{
    int nodes = 2 * from->nodes + 8, loads = from->loads + 4;
    *n = *from;
    n->loads = n->load_cap = n->node_cap = 0;
    n->load = NULL;
    n->node = NULL;
    n->node = mem_alloc(ctx, (size_t)nodes * sizeof *n->node);
    n->node_cap = nodes;
    memcpy(n->node, from->node, (size_t)from->nodes * sizeof *n->node);
    n->load = mem_alloc(ctx, (size_t)loads * sizeof *n->load);
    n->load_cap = loads;
    copy_loads(ctx, n, from);
}

PlanStep *plan_add_step(Planner *p, int out)
{
    NestPlan *plan = p->plan;
    if (plan->steps == plan->step_cap) {
        int cap = plan->step_cap ? 2 * plan->step_cap : 2;
        PlanStep *fresh = arena_alloc(&plan->arena, (size_t)cap * sizeof *fresh);
        if (plan->steps)
            memcpy(fresh, plan->step, (size_t)plan->steps * sizeof *fresh);
        plan->step = fresh;
        plan->step_cap = cap;
    }
    PlanStep *s = &plan->step[plan->steps++];
    *s = (PlanStep){ .out = out };
    return s;
}

/* ---- a stage's own nest ---- */

/* Which nodes node x stands on, itself included; their indices. */
static uint64_t mark_used(const Nest *n, int x, bool *used)
{
    uint64_t indices = n->node[x].free;
    memset(used, 0, (size_t)n->nodes);
    used[x] = true;
    for (int i = x; i >= 0; i--) {
        if (!used[i])
            continue;
        indices |= n->node[i].free | n->node[i].bound;
        for (int k = 0; k < n->node[i].args; k++)
            used[n->node[i].arg[k]] = true;
    }
    return indices;
}

static uint64_t map_mask(uint64_t mask, const int *to)
{
    uint64_t mapped = 0;
    for (; mask; mask &= mask - 1)
        mapped |= UINT64_C(1) << to[__builtin_ctzll(mask)];
    return mapped;
}

static void map_strides(const int64_t *from, int64_t *stride, const int *to, int indices)
{
    memset(stride, 0, NEST_INDICES * sizeof *stride);
    for (int i = 0; i < indices; i++)
        if (from[i])
            stride[to[i]] = from[i];
}

static int extract_load(Arena *arena, const Nest *from, Nest *n, int slot, const int *to)
{
    const NestLoad *old = &from->load[slot];
    NestLoad *load = &n->load[n->loads];
    *load = *old;
    map_strides(old->stride, load->stride, to, from->indices);
    load->gather = NULL;
    if (old->gathers)
        load->gather = arena_alloc(arena, (size_t)old->gathers * sizeof *load->gather);
    for (int g = 0; g < old->gathers; g++) {
        load->gather[g] = old->gather[g];
        map_strides(old->gather[g].stride, load->gather[g].stride, to, from->indices);
    }
    return n->loads++;
}

/* Axes first, then the indices bound inside. */
static void extract_indices(const Nest *from, Nest *n, uint64_t axes, uint64_t indices, int *to)
{
    for (int round = 0; round < 2; round++)
        for (int i = 0; i < from->indices; i++) {
            bool axis = axes >> i & 1;
            if (round ? axis || !(indices >> i & 1) : !axis)
                continue;
            to[i] = n->indices;
            n->index[n->indices++] = from->index[i];
        }
    n->out_rank = __builtin_popcountll(axes);
}

static Nest *extract(Planner *p, int x, uint64_t axes, const bool *used, uint64_t indices)
{
    Arena *arena = &p->plan->arena;
    const Nest *from = p->n;
    int to[NEST_INDICES] = { 0 };
    int *at = arena_alloc(arena, (size_t)from->nodes * sizeof *at);
    Nest *n = arena_alloc(arena, sizeof *n);
    n->slots = p->plan->slots + 1 + p->plan->temps;
    n->node = arena_alloc(arena, (size_t)(x + 1) * sizeof *n->node);
    n->load = arena_alloc(arena, (size_t)(from->loads + 1) * sizeof *n->load);
    n->node_cap = x + 1;
    n->load_cap = from->loads + 1;
    extract_indices(from, n, axes, indices, to);
    for (int i = 0; i <= x; i++) {
        if (!used[i])
            continue;
        NestNode *node = &n->node[n->nodes];
        *node = from->node[i];
        for (int k = 0; k < node->args; k++)
            node->arg[k] = (int16_t)at[node->arg[k]];
        node->bound = map_mask(node->bound, to);
        node->free = map_mask(node->free, to);
        if (node->kind == NEST_LOAD)
            node->slot = (int16_t)extract_load(arena, from, n, node->slot, to);
        else if (node->kind == NEST_INDEX)
            node->slot = (int16_t)to[node->slot];
        at[i] = n->nodes++;
    }
    n->root = at[x];
    return n;
}

Nest *plan_extract(Planner *p, int x, uint64_t axes)
{
    bool *used = arena_alloc(&p->plan->arena, (size_t)p->n->nodes + 1);
    uint64_t indices = mark_used(p->n, x, used);
    return extract(p, x, axes, used, indices);
}

/* The stage reads what its result overwrites, at other places. */
static bool reads_elsewhere(const Nest *n, const bool *used, const PlanTarget *t)
{
    for (int i = 0; i < n->nodes; i++) {
        if (!used[i] || n->node[i].kind != NEST_LOAD)
            continue;
        const NestLoad *load = &n->load[n->node[i].slot];
        if (load->slot == t->slot && memcmp(load->stride, t->stride, sizeof load->stride) != 0)
            return true;
    }
    return false;
}

static void add_stage(Planner *p, int x, const PlanTarget *t, const bool *used, uint64_t indices)
{
    int64_t stride[NEST_INDICES] = { 0 };
    int rank = 0;
    for (int i = 0; i < p->n->indices; i++)
        if (t->axes >> i & 1)
            stride[rank++] = t->stride[i];
    const Nest *n = extract(p, x, t->axes, used, indices);
    PlanStep *s = plan_add_step(p, t->slot);
    s->nest = n;
    s->stage = nest_stage_plan(p->ctx, n, stride);
}

void plan_add_stage(Planner *p, int x, const PlanTarget *t)
{
    bool *used = arena_alloc(&p->plan->arena, (size_t)p->n->nodes + 1);
    uint64_t indices = mark_used(p->n, x, used);
    if (!reads_elsewhere(p->n, used, t)) {
        add_stage(p, x, t, used, indices);
        return;
    }
    PlanValue v = { .node = x };
    PlanTarget other = { .axes = t->axes, .dtype = t->dtype, .stride = v.stride };
    other.slot = v.slot = plan_temp(p, t->axes, t->dtype, v.stride);
    add_stage(p, x, &other, used, indices);
    plan_add_stage(p, plan_load_node(p, &v, plan_slot_name(p, v.slot)), t);
}

/* ---- the whole ---- */

static void use_temp(NestPlan *plan, int slot, int step)
{
    PlanTemp *t = slot > plan->slots ? &plan->temp[slot - plan->slots - 1] : NULL;
    if (!t)
        return;
    if (t->first < 0)
        t->first = step;
    t->last = step;
}

static void find_lives(NestPlan *plan)
{
    for (int i = 0; i < plan->steps; i++) {
        const PlanStep *s = &plan->step[i];
        use_temp(plan, s->out, i);
        for (int k = 0; k < s->inputs; k++)
            use_temp(plan, s->input[k], i);
        for (int k = 0; s->nest && k < s->nest->loads; k++)
            use_temp(plan, s->nest->load[k].slot, i);
        plan->early |= s->out == plan->slots && (!s->stage || i + 1 < plan->steps);
    }
}

static void find_straight(NestPlan *plan)
{
    const PlanStep *s = plan->step;
    if (plan->steps != 1 || s->fold_in || s->attention)
        return;
    plan->contract = s->contract;
    plan->stage = s->stage;
    plan->straight = true;
    for (int k = 0; k < s->inputs; k++)
        plan->straight &= s->input[k] == k;
}

static void plan_nest(Ctx *ctx, NestPlan *plan, const Nest *nest, const int64_t *out_stride,
                      bool block, const void *const *known)
{
    Planner p = { .ctx = ctx, .plan = plan };
    int64_t step = 1;
    double size = 1;
    for (int i = nest->out_rank - 1; i >= 0; i--) {
        int64_t extent = nest->index[i].extent;
        plan->out_stride[i] = out_stride ? out_stride[i] : step;
        step = extent > 0 && step <= INT64_MAX / extent ? step * extent : step;
        size *= (double)extent;
    }
    plan->slots = nest->slots;
    plan->root = nest->root;
    plan->known = known;
    plan->relied = arena_alloc(&plan->arena, (size_t)nest->slots + 1);
    memset(plan->relied, 0, (size_t)nest->slots + 1);
    plan->nest = mem_zalloc(ctx, sizeof *plan->nest);
    copy_nest(ctx, plan->nest, nest);
    if (size == 0)
        return;                             /* nothing is written, nothing can go wrong */
    p.n = plan->nest;
    if (!block && plan_rows(ctx, plan, &block))
        return;
    PlanTarget t = { .slot = plan->slots, .stride = plan->out_stride,
                     .dtype = (DType)nest->node[nest->root].dtype };
    t.axes = nest->out_rank == 64 ? ~UINT64_C(0) : (UINT64_C(1) << nest->out_rank) - 1;
    if (block)
        plan_keep_shared(&p, nest->root);
    plan_value(&p, nest->root, &t);
    find_lives(plan);
    find_straight(plan);
}

static NestPlan *make(Ctx *ctx, const Nest *nest, const int64_t *out_stride, bool block,
                      const void *const *known)
{
    NestPlan *plan = mem_zalloc(ctx, sizeof *plan);
    ErrFrame frame;
    arena_init(&plan->arena, ctx);
    if (ERR_TRY(ctx, &frame)) {
        plan_nest(ctx, plan, nest, out_stride, block, known);
        ERR_END(ctx, &frame);
        plan->known = NULL;
        return plan;
    }
    nest_plan_free(ctx, plan);
    err_rethrow(ctx);
}

NestPlan *plan_make(Ctx *ctx, const Nest *nest, const int64_t *out_stride, bool block)
{
    return make(ctx, nest, out_stride, block, NULL);
}

/* The result's elements and the values of every index: more would overflow whatever walks them. */
static void check_counts(Ctx *ctx, const Nest *nest)
{
    int64_t shape[NEST_INDICES];
    char text[160];
    for (int i = 0; i < nest->indices; i++) {
        shape[i] = nest->index[i].extent;
        if (shape[i] > TENSOR_SIZE_MAX)
            err_raise(ctx, ERR_MEMORY,
                      "an index of %" PRId64 " values has more than can be counted", shape[i]);
    }
    if (shape_size(nest->out_rank, shape) < 0)
        err_raise(ctx, ERR_MEMORY, "a result of shape %s has more elements than can be counted",
                  shape_text(text, sizeof text, nest->out_rank, shape));
}

NestPlan *nest_plan(Ctx *ctx, const Nest *nest, const int64_t *out_stride)
{
    check_counts(ctx, nest);
    return plan_make(ctx, nest, out_stride, false);
}

NestPlan *nest_plan_knowing(Ctx *ctx, const Nest *nest, const void *const *known)
{
    check_counts(ctx, nest);
    return make(ctx, nest, NULL, false, known);
}

bool nest_relies(const NestPlan *plan, int slot)
{
    return plan->relied[slot];
}

void nest_plan_free(Ctx *ctx, NestPlan *plan)
{
    if (!plan)
        return;
    if (plan->rows)
        plan_rows_free(ctx, plan->rows);
    for (int i = 0; i < plan->steps; i++) {
        if (plan->step[i].contract)
            contract_plan_free(ctx, plan->step[i].contract);
        if (plan->step[i].stage)
            nest_stage_free(ctx, plan->step[i].stage);
        if (plan->step[i].attention)
            plan_attention_free(ctx, &plan->step[i]);
    }
    nest_free(ctx, plan->nest);
    arena_free(&plan->arena);
    mem_free(ctx, plan, sizeof *plan);
}

/* ---- running ---- */

static void free_temp(Ctx *ctx, const PlanTemp *t, const void **at)
{
    if (*at)
        mem_free_data(ctx, (void *)*at, t->bytes);
    *at = NULL;
}

static void run_contraction(Ctx *ctx, const PlanStep *s, const void **slot, const void **in)
{
    for (int k = 0; k < s->inputs; k++)
        in[k] = slot[s->input[k]];
    contract_run(ctx, s->contract, (void *)slot[s->out], in);
}

static void run_many(Ctx *ctx, const PlanStep *s, const void **slot)
{
    const void **in = mem_alloc(ctx, (size_t)s->inputs * sizeof *in);
    ErrFrame frame;
    volatile bool failed = true;
    if (ERR_TRY(ctx, &frame)) {
        run_contraction(ctx, s, slot, in);
        ERR_END(ctx, &frame);
        failed = false;
    }
    mem_free(ctx, in, (size_t)s->inputs * sizeof *in);
    if (failed)
        err_rethrow(ctx);
}

static EwTrouble run_step(Ctx *ctx, const PlanStep *s, const void **slot)
{
    const void *few[8];
    if (s->stage)
        return nest_stage_run(ctx, s->stage, (void *)slot[s->out], slot);
    if (s->attention)
        return plan_attention_run(ctx, s, slot);
    if (s->fold_in)
        plan_fold_run(ctx, s, (void *)slot[s->out], slot[s->input[0]]);
    else if (s->inputs <= 8)
        run_contraction(ctx, s, slot, few);
    else
        run_many(ctx, s, slot);
    return EWT_NONE;
}

static EwTrouble run_steps(Ctx *ctx, const NestPlan *p, const void **slot)
{
    const void **temp = slot + p->slots + 1;
    EwTrouble trouble = EWT_NONE;
    for (int i = 0; i < p->steps && trouble == EWT_NONE && !*ctx->interrupt; i++) {
        for (int t = 0; t < p->temps; t++)
            if (p->temp[t].first == i)
                temp[t] = mem_alloc_data(ctx, p->temp[t].bytes ? p->temp[t].bytes : 1, false);
        trouble = run_step(ctx, &p->step[i], slot);
        for (int t = 0; t < p->temps; t++)
            if (p->temp[t].last == i)
                free_temp(ctx, &p->temp[t], &temp[t]);
    }
    return trouble;
}

static EwTrouble run_guarded(Ctx *ctx, const NestPlan *p, void *out, const void *const *data,
                             const void **slot)
{
    ErrFrame frame;
    volatile bool failed = true;
    volatile EwTrouble trouble = EWT_NONE;
    for (int i = 0; i < p->slots; i++)
        slot[i] = data[i];
    slot[p->slots] = out;
    for (int t = 0; t < p->temps; t++)
        slot[p->slots + 1 + t] = NULL;
    if (ERR_TRY(ctx, &frame)) {
        trouble = run_steps(ctx, p, slot);
        ERR_END(ctx, &frame);
        failed = false;
    }
    for (int t = 0; t < p->temps; t++)
        free_temp(ctx, &p->temp[t], &slot[p->slots + 1 + t]);
    if (failed)
        err_rethrow(ctx);
    return trouble;
}

static EwTrouble run_all(Ctx *ctx, const NestPlan *p, void *out, const void *const *data)
{
    if (p->rows)
        return plan_rows_run(ctx, p, out, data);
    const void *few[PLAN_SLOTS];
    int count = p->slots + 1 + p->temps;
    if (count <= PLAN_SLOTS)
        return run_guarded(ctx, p, out, data, few);
    ErrFrame frame;
    volatile EwTrouble trouble = EWT_NONE;
    volatile bool failed = true;
    const void **slot = mem_alloc(ctx, (size_t)count * sizeof *slot);
    if (ERR_TRY(ctx, &frame)) {
        trouble = run_guarded(ctx, p, out, data, slot);
        ERR_END(ctx, &frame);
        failed = false;
    }
    mem_free(ctx, slot, (size_t)count * sizeof *slot);
    if (failed)
        err_rethrow(ctx);
    return trouble;
}

/* ---- a result in the memory of an operand ---- */

static bool is_operand(const NestPlan *p, const void *out, const void *const *data)
{
    for (int i = 0; i < p->slots; i++)
        if (data[i] == out && !(p->rows && plan_rows_together(p, i)))
            return true;
    return false;
}

/* First and last element of the result, counted from its element at position 0. */
static void out_span(const NestPlan *p, int64_t *lo, int64_t *hi)
{
    *lo = *hi = 0;
    for (int i = 0; i < p->nest->out_rank; i++) {
        int64_t reach = p->out_stride[i] * (p->nest->index[i].extent - 1);
        *(reach < 0 ? lo : hi) += reach;
    }
}

/* Into memory of its own, then over the operand. */
static EwTrouble run_aside(Ctx *ctx, const NestPlan *p, void *out, const void *const *data)
{
    int64_t lo, hi, width = dtype_info(p->nest->node[p->root].dtype)->bytes;
    Iter it = { .rank = p->nest->out_rank, .operands = 2, .size = 1 };
    out_span(p, &lo, &hi);
    size_t bytes = (size_t)(hi - lo + 1) * (size_t)width;
    char *aside = mem_alloc_data(ctx, bytes, false);
    ErrFrame frame;
    volatile EwTrouble trouble = EWT_NONE;
    volatile bool failed = true;
    if (ERR_TRY(ctx, &frame)) {
        trouble = run_all(ctx, p, aside - lo * width, data);
        ERR_END(ctx, &frame);
        failed = false;
    }
    for (int i = 0; i < it.rank; i++) {
        it.shape[i] = p->nest->index[i].extent;
        it.size *= it.shape[i];
        it.stride[0][i] = it.stride[1][i] = p->out_stride[i];
    }
    if (!failed && trouble == EWT_NONE && !*ctx->interrupt)
        permute_copy(ctx, &it, (int)width, out, aside - lo * width);
    mem_free_data(ctx, aside, bytes);
    if (failed)
        err_rethrow(ctx);
    return trouble;
}

EwTrouble nest_run(Ctx *ctx, const NestPlan *p, void *out, const void *const *data)
{
    if (p->stage)
        return nest_stage_run(ctx, p->stage, out, data);
    if ((p->early || p->rows) && is_operand(p, out, data))
        return run_aside(ctx, p, out, data);
    if (p->contract && p->straight) {
        contract_run(ctx, p->contract, out, data);
        return EWT_NONE;
    }
    return run_all(ctx, p, out, data);
}

bool nest_in_one(const NestPlan *p) { return p->stage != NULL; }

/* ---- some rows at a time ---- */

bool nest_has_rows(const NestPlan *p, int64_t rows)
{
    return p->stage && nest_stage_has_rows(p->stage, rows);
}

NestRows *nest_rows_begin(Ctx *ctx, const NestPlan *p, int64_t rows, void *out,
                          const void *const *data)
{
    return nest_stage_rows_begin(ctx, p->stage, rows, out, data);
}

EwTrouble nest_rows_run(NestRows *r, int64_t from, int64_t to, int worker)
{
    return nest_stage_rows_run(r, from, to, worker);
}

EwTrouble nest_rows_make(NestRows *r, int64_t from, int64_t to, int worker, void *at)
{
    return nest_stage_rows_make(r, from, to, worker, at);
}

bool nest_rows_swept(const NestPlan *p) { return p->stage && nest_stage_rows_swept(p->stage); }

bool nest_rows_fold(NestRows *r, NestReduce op, int64_t from, int64_t to, int64_t each, int worker,
                    void *results)
{
    return nest_stage_rows_fold(r, op, from, to, each, worker, results);
}

void nest_rows_end(Ctx *ctx, NestRows *r)
{
    nest_stage_rows_end(ctx, r);
}

static double step_seconds(const PlanStep *s)
{
    return s->contract    ? contract_seconds(s->contract)
           : s->stage     ? nest_stage_seconds(s->stage)
           : s->attention ? plan_attention_seconds(s)
                          : plan_fold_seconds(s);
}

double nest_seconds(const NestPlan *p)
{
    double seconds = p->rows ? plan_rows_seconds(p->rows) : 0;
    for (int i = 0; i < p->steps; i++)
        seconds += step_seconds(&p->step[i]);
    return seconds;
}
