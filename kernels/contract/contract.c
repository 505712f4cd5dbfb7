/* Plans of contractions of any number of operands: the order that contract_path chose as a list of
 * pairs with intermediates between them, or the fused loop where that is faster. One and two
 * operands go straight to contract_pair. An intermediate is laid out for the step that reads it:
 * [batch][free][summed], the summed group contiguous; it is made when its step runs and freed as
 * soon as it has been read. */
#include "kernels/contract/contract_fused.h"
#include "kernels/contract/contract_convert.h"
#include "core/base/error.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Nodes 0 … operands-1 are the caller's data, operands + t is the result of step t. */
typedef struct PlanStep {
    int a, b;                       /* b = -1: a alone */
    PairPlan *pair;                 /* NULL: the fused loop over everything that is left */
    FusedPlan *fused;
    int count, *nodes;              /* of the fused loop */
    size_t bytes;                   /* of its result where it is an intermediate */
} PlanStep;

struct ContractPlan {
    PairPlan *only;                 /* one or two operands: nothing else is used to run */
    int steps, operands;
    PlanStep *step;
    ContractStep *order;            /* as contract_steps tells it */
    ContractOperand *operand;       /* of each node */
    int nodes;
    size_t peak;                    /* bytes of intermediates alive at once, at most */
    double seconds, search;
    ContractConvert *convert;       /* of each operand, where any is to be converted; NULL */
    size_t convert_bytes;
    Contraction c;                  /* operand points to the above; names below */
    const char *names[CONTRACT_LABELS], **operand_names;
    char (*name_text)[24];
};

/* ---- layouts ---- */

/* Where label l stands in its group: outside the ones with smaller steps in that tensor. */
static int64_t order_key(const ContractPlan *p, const ContractOperand *like, int l)
{
    bool has = like && like->labels >> l & 1;
    return llabs(has ? like->stride[l] : p->c.out >> l & 1 ? p->c.out_stride[l] : 0);
}

/* Row-major strides of the labels in `set`, *at elements apart; *at moves on. Labels stand
 * in the order that they have in `like`. */
static void place_group(const ContractPlan *p, ContractOperand *x, uint64_t set,
                        const ContractOperand *like, int64_t *at)
{
    while (set) {
        int best = -1;
        for (uint64_t s = set; s; s &= s - 1) {
            int l = __builtin_ctzll(s);
            if (best < 0 || order_key(p, like, l) <= order_key(p, like, best))
                best = l;
        }
        x->stride[best] = *at;
        if (__builtin_mul_overflow(*at, p->c.extent[best], at))
            *at = 0;                /* allocating it will fail: nothing reads these steps */
        set &= ~((uint64_t)1 << best);
    }
}

/* The step over nodes a and b makes x, which is read together with `other` (NULL: alone) for
 * a result of labels `next`. A product takes its factors either way round, so of the summed
 * and the free group the one stands inside that the larger factor of x has there: then
 * making x moves along both. */
static void place_intermediate(const ContractPlan *p, ContractOperand *x,
                               const ContractOperand *from, const ContractOperand *other,
                               uint64_t next)
{
    uint64_t shared = other ? x->labels & other->labels : 0;
    uint64_t summed = shared & ~next, free_ones = x->labels & ~shared;
    bool free_inside = false;
    int64_t at = 1;
    for (uint64_t s = x->labels; s; s &= s - 1) {
        int l = __builtin_ctzll(s);
        if (from->labels >> l & 1 && llabs(from->stride[l]) == 1)
            free_inside = free_ones >> l & 1;
    }
    if (free_inside)
        place_group(p, x, free_ones, from, &at);
    place_group(p, x, summed, other ? other : from, &at);
    if (!free_inside)
        place_group(p, x, free_ones, from, &at);
    place_group(p, x, shared & next, other ? other : from, &at);
}

/* ---- making a plan ---- */

static size_t node_bytes(const ContractPlan *p, uint64_t labels)
{
    double size = dtype_info(p->c.dtype)->bytes;
    size_t bytes = dtype_info(p->c.dtype)->bytes;
    for (uint64_t s = labels; s; s &= s - 1) {
        int64_t n = p->c.extent[__builtin_ctzll(s)];
        bytes *= (size_t)n;
        size *= (double)n;
    }
    return size > 0x1p62 ? SIZE_MAX : bytes;
}

/* The part of the contraction that one step does: labels of others have extent 1. */
static void step_contraction(const ContractPlan *p, const PlanStep *s, int result, Contraction *out,
                             ContractOperand *operand)
{
    const int *nodes = s->nodes, pair[2] = { s->a, s->b };
    int n = s->nodes ? s->count : s->b < 0 ? 1 : 2;
    uint64_t used = 0;
    *out = p->c;
    for (int k = 0; k < n; k++) {
        operand[k] = p->operand[nodes ? nodes[k] : pair[k]];
        used |= operand[k].labels;
    }
    out->operand = operand;
    out->operand_names = NULL;
    out->operands = n;
    bool final = s == &p->step[p->steps - 1];
    if (!final) {
        out->out = p->operand[result].labels;
        memcpy(out->out_stride, p->operand[result].stride, sizeof out->out_stride);
    }
    uint64_t held = 0;
    for (int k = 0; k < p->operands; k++)
        held |= p->operand[k].labels;
    if (final)
        used |= ~held;
    for (int l = 0; l < p->c.labels; l++)
        if (!(used >> l & 1))
            out->extent[l] = 1;
}

/* Labels of every step's result, and the step that reads each node. */
static void find_labels(ContractPlan *p, int *reader)
{
    for (int t = 0; t < p->steps; t++) {
        const PlanStep *s = &p->step[t];
        uint64_t mine = 0, others = p->c.out;
        for (int k = 0; k < p->operands + t; k++) {
            bool member = k == s->a || k == s->b;
            for (int i = 0; s->nodes && i < s->count; i++)
                member |= s->nodes[i] == k;
            if (member) {
                reader[k] = t;
                mine |= p->operand[k].labels;
            } else if (reader[k] < 0) {
                others |= p->operand[k].labels;
            }
        }
        p->operand[p->operands + t].labels = mine & others;
        reader[p->operands + t] = -1;
    }
}

static double node_size(const ContractPlan *p, int node)
{
    double size = 1;
    for (uint64_t s = p->operand[node].labels; s; s &= s - 1)
        size *= (double)p->c.extent[__builtin_ctzll(s)];
    return size;
}

/* In the order of steps, so that what a step reads has its layout; what stands beside it may
 * not have one yet, and then its labels are in the order of the result. */
static void place_all(ContractPlan *p, const int *reader)
{
    for (int t = 0; t + 1 < p->steps; t++) {
        int x = p->operands + t;
        const PlanStep *makes = &p->step[t], *reads = &p->step[reader[x]];
        int a = makes->nodes ? makes->nodes[0] : makes->a, b = makes->nodes ? -1 : makes->b;
        int other = reads->nodes ? -1 : reads->a == x ? reads->b : reads->a;
        uint64_t next = reader[x] == p->steps - 1 ? p->c.out
                                                  : p->operand[p->operands + reader[x]].labels;
        if (b >= 0 && node_size(p, b) > node_size(p, a))
            a = b;
        place_intermediate(p, &p->operand[x], &p->operand[a], other < 0 ? NULL : &p->operand[other],
                           next);
    }
}

/* Bytes of intermediates that are alive during each step; the most of them. */
static size_t find_peak(ContractPlan *p, const int *reader)
{
    size_t peak = 0;
    for (int t = 0; t < p->steps; t++) {
        size_t alive = p->step[t].bytes;
        for (int k = 0; k < t; k++)
            if (reader[p->operands + k] >= t)
                alive += p->step[k].bytes;
        peak = alive > peak ? alive : peak;
    }
    return peak;
}

static void plan_steps(Ctx *ctx, ContractPlan *p)
{
    p->nodes = p->operands + p->steps;
    p->seconds = 0;
    int *reader = mem_alloc(ctx, (size_t)p->nodes * sizeof *reader);
    size_t work = (size_t)p->operands * sizeof(ContractOperand);
    ContractOperand *operand = mem_try_alloc(ctx, work);
    if (!operand) {
        mem_free(ctx, reader, (size_t)p->nodes * sizeof *reader);
        mem_raise(ctx, work);
    }
    ErrFrame frame;
    bool failed = false;
    memset(reader, -1, (size_t)p->nodes * sizeof *reader);
    find_labels(p, reader);
    place_all(p, reader);
    if (ERR_TRY(ctx, &frame)) {
        for (int t = 0; t < p->steps; t++) {
            PlanStep *s = &p->step[t];
            Contraction part;
            step_contraction(p, s, p->operands + t, &part, operand);
            s->bytes = t + 1 < p->steps ? node_bytes(p, p->operand[p->operands + t].labels) : 0;
            if (s->nodes) {
                s->fused = fused_plan(ctx, &part);
                p->seconds += fused_seconds(s->fused);
            } else {
                s->pair = pair_plan(ctx, &part);
                p->seconds += pair_seconds(s->pair);
            }
        }
        ERR_END(ctx, &frame);
    } else {
        failed = true;
    }
    if (!failed)
        p->peak = find_peak(p, reader);
    mem_free(ctx, operand, work);
    mem_free(ctx, reader, (size_t)p->nodes * sizeof *reader);
    if (failed)
        err_rethrow(ctx);
}

/* Steps over nodes from steps over positions in a list that shrinks. */
static void number_steps(Ctx *ctx, ContractPlan *p, int *list)
{
    int left = p->operands;
    for (int k = 0; k < left; k++)
        list[k] = k;
    for (int t = 0; t < p->steps; t++) {
        PlanStep *s = &p->step[t];
        int a = p->order[t].a, b = p->order[t].b, kept = 0;
        s->a = a < 0 ? -1 : list[a];
        s->b = b < 0 ? -1 : list[b];
        if (a < 0) {
            s->nodes = mem_alloc(ctx, (size_t)left * sizeof *s->nodes);
            s->count = left;
            memcpy(s->nodes, list, (size_t)left * sizeof *s->nodes);
            left = 0;
        }
        for (int i = 0; i < left; i++)
            if (i != a && i != b)
                list[kept++] = list[i];
        list[kept++] = p->operands + t;
        left = kept;
    }
}

static void copy_names(Ctx *ctx, ContractPlan *p, const Contraction *c)
{
    int n = c->labels + c->operands;
    p->name_text = mem_alloc(ctx, (size_t)n * sizeof *p->name_text);
    p->operand_names = mem_alloc(ctx, (size_t)c->operands * sizeof *p->operand_names);
    for (int i = 0; i < n; i++) {
        bool label = i < c->labels;
        int k = label ? i : i - c->labels;
        const char *const *names = label ? c->names : c->operand_names;
        if (names && names[k])
            snprintf(p->name_text[i], sizeof *p->name_text, "%.23s", names[k]);
        else if (k < 26)
            snprintf(p->name_text[i], sizeof *p->name_text, "%c", (label ? 'a' : 'A') + k);
        else
            snprintf(p->name_text[i], sizeof *p->name_text, "%c%d", (label ? 'a' : 'A') + k % 26,
                     k / 26);
        *(label ? &p->names[k] : &p->operand_names[k]) = p->name_text[i];
    }
    p->c.names = p->names;
    p->c.operand_names = p->operand_names;
}

/* Room for the steps and for a list of nodes. */
static size_t order_bytes(const ContractPlan *p)
{
    return (size_t)p->operands * (sizeof(ContractStep) + sizeof(int));
}

/* Fills in p->order and p->steps; sets p->seconds to what the model says. True: the planner
 * was free to choose, so the fused loop may still take the place of pairs. */
static bool choose_order(Ctx *ctx, ContractPlan *p, const ContractOptions *options)
{
    bool pairs = semiring_distributes(p->c.semiring);
    bool free_choice = !options || !options->left_to_right;
    bool fused = fused_has(p->c.semiring, p->c.dtype);
    if (pairs && options && options->path) {
        p->steps = options->path_length;
        for (int t = 0; t < p->steps; t++)
            p->order[t] = (ContractStep){ options->path[t][0], options->path[t][1] };
        return false;
    }
    p->steps = p->operands - 1;
    if (pairs && (contract_order(ctx, &p->c, options, p->order, &p->seconds) || !fused))
        return free_choice && fused;
    p->steps = 1;
    p->order[0] = (ContractStep){ -1, -1 };
    return false;
}

static void free_steps(Ctx *ctx, ContractPlan *p)
{
    for (int t = 0; p->step && t < p->operands; t++) {
        PlanStep *s = &p->step[t];
        if (s->pair)
            pair_plan_free(ctx, s->pair);
        if (s->fused)
            fused_plan_free(ctx, s->fused);
        if (s->nodes)
            mem_free(ctx, s->nodes, (size_t)s->count * sizeof *s->nodes);
        *s = (PlanStep){ 0 };
    }
}

/* No fused loop is faster than one operation per point of the nest on full vectors. */
static double least_fused_seconds(const ContractPlan *p)
{
    double points = 1;
    for (int l = 0; l < p->c.labels; l++)
        points *= (double)p->c.extent[l];
    return points * 1.2e-11 * dtype_info(p->c.dtype)->bytes;
}

/* Plans the steps of p->order, and everything at once where that is estimated to be faster. */
static void plan_many(Ctx *ctx, ContractPlan *p, const ContractOptions *options)
{
    p->step = mem_zalloc(ctx, (size_t)p->operands * sizeof *p->step);
    p->order = mem_alloc(ctx, order_bytes(p));
    int *room = (int *)(p->order + p->operands);
    bool choice = choose_order(ctx, p, options);
    number_steps(ctx, p, room);
    plan_steps(ctx, p);
    if (!choice || least_fused_seconds(p) >= p->seconds)
        return;
    FusedPlan *fused = fused_plan(ctx, &p->c);
    double seconds = fused_seconds(fused);
    if (seconds >= p->seconds) {
        fused_plan_free(ctx, fused);
        return;
    }
    free_steps(ctx, p);
    p->step[0].fused = fused;
    p->seconds = seconds;
    p->steps = 1;
    p->peak = 0;
    p->order[0] = (ContractStep){ -1, -1 };
    number_steps(ctx, p, room);
}

/* ---- operands stored in narrower floats ---- */

static size_t convert_place(const ContractConvert *v)
{
    return (v->bytes + 63) & ~(size_t)63;
}

/* The operands become what they are converted to; their strides are then those of that. */
static void plan_converts(Ctx *ctx, ContractPlan *p)
{
    bool any = false;
    for (int k = 0; k < p->operands; k++)
        any |= p->operand[k].stored != 0;
    if (!any)
        return;
    p->convert = mem_zalloc(ctx, (size_t)p->operands * sizeof *p->convert);
    for (int k = 0; k < p->operands; k++)
        if (p->operand[k].stored) {
            convert_plan(&p->convert[k], &p->c, &p->operand[k]);
            p->convert_bytes += convert_place(&p->convert[k]);
        }
}

static bool sums_nothing(const Contraction *c)
{
    for (int l = 0; l < c->labels; l++)
        if (c->extent[l] == 0 && !(c->out >> l & 1))
            return true;
    return false;
}

/* The identity everywhere. An intermediate that is a sum of nothing would be multiplied
 * further, and the result be a NaN or an identity that has wrapped. */
static PairPlan *plan_nothing(Ctx *ctx, const Contraction *c)
{
    uint64_t all = c->labels < 64 ? ((uint64_t)1 << c->labels) - 1 : ~(uint64_t)0;
    ContractOperand any = { .labels = all };
    Contraction nothing = *c;
    nothing.operands = 1;
    nothing.operand = &any;
    nothing.names = nothing.operand_names = NULL;
    return pair_plan(ctx, &nothing);
}

static ContractPlan *make_plan(Ctx *ctx, const Contraction *c, const ContractOptions *options)
{
    ContractPlan *volatile plan = mem_zalloc(ctx, sizeof(ContractPlan));
    ErrFrame frame;
    if (ERR_TRY(ctx, &frame)) {
        ContractPlan *p = plan;
        int n = c->operands;
        p->c = *c;
        p->operands = n;
        p->nodes = 2 * n;
        copy_names(ctx, p, c);
        p->operand = mem_zalloc(ctx, (size_t)p->nodes * sizeof *p->operand);
        memcpy(p->operand, c->operand, (size_t)n * sizeof *p->operand);
        p->c.operand = p->operand;
        p->only = pair_plan_bf16(ctx, &p->c);
        if (!p->only)
            plan_converts(ctx, p);
        if (p->only) {
            p->seconds = pair_seconds(p->only);
        } else if (n <= 2 || sums_nothing(c)) {
            p->only = n <= 2 ? pair_plan(ctx, &p->c) : plan_nothing(ctx, &p->c);
            p->seconds = pair_seconds(p->only);
        } else {
            plan_many(ctx, p, options);
        }
        ERR_END(ctx, &frame);
        return p;
    }
    contract_plan_free(ctx, plan);
    err_rethrow(ctx);
}

/* Where the fastest order would want more memory than there is, another one is taken, or none. */
ContractPlan *contract_plan(Ctx *ctx, const Contraction *c, const ContractOptions *options)
{
    ContractPlan *p = make_plan(ctx, c, options);
    size_t room = ctx->mem.limit > ctx->mem.live ? ctx->mem.limit - ctx->mem.live : 1;
    bool told = options && (options->memory || options->path || options->left_to_right);
    if (told || p->peak <= room)
        return p;
    contract_plan_free(ctx, p);
    return make_plan(ctx, c, &(ContractOptions){ .memory = room });
}

void contract_plan_free(Ctx *ctx, ContractPlan *p)
{
    int n;
    if (!p)
        return;
    n = p->operands;
    if (p->only)
        pair_plan_free(ctx, p->only);
    free_steps(ctx, p);
    if (p->convert)
        mem_free(ctx, p->convert, (size_t)n * sizeof *p->convert);
    if (p->order)
        mem_free(ctx, p->order, order_bytes(p));
    if (p->step)
        mem_free(ctx, p->step, (size_t)n * sizeof *p->step);
    if (p->operand)
        mem_free(ctx, p->operand, (size_t)(2 * n) * sizeof *p->operand);
    if (p->operand_names)
        mem_free(ctx, p->operand_names, (size_t)n * sizeof *p->operand_names);
    if (p->name_text)
        mem_free(ctx, p->name_text, (size_t)(p->c.labels + n) * sizeof *p->name_text);
    mem_free(ctx, p, sizeof *p);
}

/* ---- running ---- */

typedef struct Run {
    const ContractPlan *plan;
    void **at;                      /* data of each node */
    const void **list;              /* room for the operands of a fused step */
} Run;

static void release_node(Ctx *ctx, const Run *r, int node)
{
    const ContractPlan *p = r->plan;
    if (node < p->operands || !r->at[node])
        return;
    mem_free_data(ctx, r->at[node], p->step[node - p->operands].bytes);
    r->at[node] = NULL;
}

static void run_fused(Ctx *ctx, const Run *r, const PlanStep *s, void *to)
{
    for (int k = 0; k < s->count; k++)
        r->list[k] = r->at[s->nodes[k]];
    fused_run(ctx, s->fused, to, r->list);
}

static void run_steps(Ctx *ctx, const Run *r, void *out)
{
    const ContractPlan *p = r->plan;
    for (int t = 0; t < p->steps && !*ctx->interrupt; t++) {
        const PlanStep *s = &p->step[t];
        void *to = t + 1 < p->steps ? mem_alloc_data(ctx, s->bytes, false) : out;
        if (t + 1 < p->steps)
            r->at[p->operands + t] = to;
        if (s->fused)
            run_fused(ctx, r, s, to);
        else
            pair_run(ctx, s->pair, to, r->at[s->a], s->b < 0 ? NULL : r->at[s->b]);
        for (int k = 0; s->nodes && k < s->count; k++)
            release_node(ctx, r, s->nodes[k]);
        release_node(ctx, r, s->a);
        release_node(ctx, r, s->b);
    }
}

static void run_guarded(Ctx *ctx, const ContractPlan *p, void *out, const void *const *data)
{
    size_t bytes = (size_t)(p->nodes + p->operands) * sizeof(void *);
    Run r = { .plan = p, .at = mem_zalloc(ctx, bytes) };
    r.list = (const void **)r.at + p->nodes;
    ErrFrame frame;
    volatile bool failed = false;
    memcpy(r.at, data, (size_t)p->operands * sizeof *data);
    if (ERR_TRY(ctx, &frame)) {
        run_steps(ctx, &r, out);
        ERR_END(ctx, &frame);
    } else {
        failed = true;
    }
    for (int k = p->operands; k < p->nodes; k++)
        release_node(ctx, &r, k);
    mem_free(ctx, r.at, bytes);
    if (failed)
        err_rethrow(ctx);
}

static void run_plain(Ctx *ctx, const ContractPlan *p, void *out, const void *const *data)
{
    if (p->only)
        pair_run(ctx, p->only, out, data[0], p->operands > 1 ? data[1] : NULL);
    else
        run_guarded(ctx, p, out, data);
}

/* Converts operands into one block of memory, in front of which stand their addresses. */
static void run_converted(Ctx *ctx, const ContractPlan *p, void *out, const void *const *data)
{
    size_t list = ((size_t)p->operands * sizeof(void *) + 63) & ~(size_t)63;
    size_t bytes = list + p->convert_bytes;
    char *block = mem_alloc_data(ctx, bytes, false), *to = block + list;
    const void **at = (const void **)(void *)block;
    ErrFrame frame;
    volatile bool failed = true;
    for (int k = 0; k < p->operands; k++) {
        const ContractConvert *v = &p->convert[k];
        at[k] = v->from ? convert_run(ctx, v, to, data[k]) : data[k];
        to += convert_place(v);
    }
    if (ERR_TRY(ctx, &frame)) {
        if (!*ctx->interrupt)
            run_plain(ctx, p, out, at);
        ERR_END(ctx, &frame);
        failed = false;
    }
    mem_free_data(ctx, block, bytes);
    if (failed)
        err_rethrow(ctx);
}

void contract_run(Ctx *ctx, const ContractPlan *p, void *out, const void *const *data)
{
    if (p->convert)
        run_converted(ctx, p, out, data);
    else
        run_plain(ctx, p, out, data);
}

void contract_run_panels(Ctx *ctx, const ContractPlan *p, void *out, const void *const *data,
                         int64_t rows, int64_t elements, const GemmPanels *panels)
{
    if (!p->convert && p->only && p->operands == 2 &&
        pair_run_panels(ctx, p->only, out, data[0], data[1], rows, elements, panels))
        return;
    contract_run(ctx, p, out, data);
    if (!*ctx->interrupt)
        gemm_panels_tell(ctx, 0, rows, elements, panels);
}

int contract_steps(const ContractPlan *p, ContractStep *steps)
{
    if (p->only) {
        steps[0] = (ContractStep){ 0, p->operands > 1 ? 1 : -1 };
        return 1;
    }
    memcpy(steps, p->order, (size_t)p->steps * sizeof *steps);
    return p->steps;
}

ContractMemory contract_memory(const ContractPlan *p)
{
    ContractMemory m = { .peak = p->peak };
    for (int t = 0; t + 1 < p->steps; t++)
        m.largest = p->step[t].bytes > m.largest ? p->step[t].bytes : m.largest;
    return m;
}

double contract_seconds(const ContractPlan *p)
{
    return p->seconds;
}

/* ---- reports ---- */

static size_t put(char *text, size_t at, const char *more)
{
    int n = at < REPORT_TEXT ? snprintf(text + at, REPORT_TEXT - at, "%s", more) : 0;
    return at + (n > 0 ? (size_t)n : 0);
}

/* `A[i,j]`: labels by decreasing stride. */
static size_t put_tensor(const ContractPlan *p, char *text, size_t at, const char *name,
                         uint64_t labels, const int64_t *stride)
{
    bool first = true;
    at = put(text, at, name);
    if (!labels)
        return at;
    at = put(text, at, "[");
    while (labels) {
        int best = -1;
        for (uint64_t s = labels; s; s &= s - 1) {
            int l = __builtin_ctzll(s);
            if (best < 0 || llabs(stride[l]) > llabs(stride[best]))
                best = l;
        }
        at = put(text, put(text, at, first ? "" : ","), p->names[best]);
        labels &= ~((uint64_t)1 << best);
        first = false;
    }
    return put(text, at, "]");
}

static size_t put_node(const ContractPlan *p, char *text, size_t at, int node)
{
    char name[24];
    const ContractOperand *x = &p->operand[node];
    snprintf(name, sizeof name, "T%d", node - p->operands + 1);
    at = put(text, at, x->conj && node < p->operands ? "conj(" : "");
    at = put_tensor(p, text, at, node < p->operands ? p->operand_names[node] : name, x->labels,
                    x->stride);
    return put(text, at, x->conj && node < p->operands ? ")" : "");
}

static void put_step(const ContractPlan *p, const PlanStep *s, int result, const char *name,
                     char *text)
{
    char temporary[24];
    bool final = s == NULL || result == p->operands + p->steps - 1;
    const int64_t *stride = final ? p->c.out_stride : p->operand[result].stride;
    snprintf(temporary, sizeof temporary, "T%d", result - p->operands + 1);
    size_t at = put_tensor(p, text, 0, final ? name : temporary,
                           final ? p->c.out : p->operand[result].labels, stride);
    at = put(text, at, " = ");
    int pair[2] = { s ? s->a : 0, s ? s->b : p->operands > 1 ? 1 : -1 };
    const int *nodes = s && s->nodes ? s->nodes : pair;
    int n = s && s->nodes ? s->count : pair[1] < 0 ? 1 : 2;
    for (int k = 0; k < n; k++)
        at = put_node(p, text, put(text, at, k ? " " : ""), nodes[k]);
}

/* `bf16 in, f32 sums: OpenBLAS, …` where the step reads operands that are converted. */
static void report_converts(const ContractPlan *p, const PlanStep *s, ReportStep *step)
{
    int pair[2] = { s ? s->a : 0, s ? s->b : p->operands > 1 ? 1 : -1 };
    const int *nodes = s && s->nodes ? s->nodes : pair;
    int n = s && s->nodes ? s->count : 2;
    const ContractConvert *first = NULL;
    for (int k = 0; p->convert && k < n; k++) {
        if (nodes[k] < 0 || nodes[k] >= p->operands || !p->convert[nodes[k]].from)
            continue;
        first = first ? first : &p->convert[nodes[k]];
        step->copied += (double)p->convert[nodes[k]].bytes;
    }
    if (!first)
        return;
    step->blas = false;
    snprintf(step->kernel.numbers, sizeof step->kernel.numbers, "%s in, %s sums",
             dtype_info(first->from)->name, dtype_info(first->to)->name);
}

void contract_report(const ContractPlan *p, const char *result, Report *r)
{
    double naive = dtype_info(p->c.dtype)->kind == 'c' ? 6 * p->operands - 4 : p->operands;
    for (int l = 0; l < p->c.labels; l++)
        naive *= (double)p->c.extent[l];
    r->naive_flops += naive;
    r->search_seconds += p->search;
    for (int t = 0; t < (p->only ? 1 : p->steps); t++) {
        ReportStep *step = report_add(r);
        const PlanStep *s = p->only ? NULL : &p->step[t];
        put_step(p, s, p->operands + t, result, step->what);
        if (s && s->fused)
            fused_report(s->fused, step);
        else
            pair_report(s ? s->pair : p->only, step);
        step->temporary = s ? (double)s->bytes : 0;
        report_converts(p, s, step);
    }
}
