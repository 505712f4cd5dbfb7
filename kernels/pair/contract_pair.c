/* Plans of one or two operands (contract.h): canonical form, sums of one operand over axes of its
 * own first, the cheapest way to run what is left, and what remains to be done to the result. */
#include "kernels/pair/contract_pair_ways.h"

#include "core/base/error.h"
#include "core/memory/pool.h"
#include "kernels/tensor/permute.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WORK_ALIGN = 64 };

static int64_t aligned(int64_t bytes)
{
    return (bytes + WORK_ALIGN - 1) / WORK_ALIGN * WORK_ALIGN;
}

/* ---- sums within one operand ---- */

/* A sum over axes that one operand alone has is taken first, unless that changes the result:
 * the least of sums of integers that wrap is not the sum of the least. */
static bool sums_first(const PairForm *f, int class)
{
    bool wraps = dtype_info(f->dtype)->kind == 'i' && f->semiring != SR_PLUS_TIMES &&
                 f->semiring != SR_MIN_MAX && f->semiring != SR_MAX_MIN;
    if (f->single || wraps || !semiring_distributes(f->semiring))
        return false;
    for (int d = 0; d < f->axes; d++)
        if (f->class[d] == class)
            return true;
    return false;
}

/* The operand's own sum as a contraction: labels are the form's axes; *out_step gets the steps
 * of the result, whose axes lie as the operand's do. Returns its number of elements. */
static int64_t own_sum(const PairForm *f, int tensor, Contraction *c, ContractOperand *x)
{
    int order[CONTRACT_LABELS], kept = 0;
    memset(c, 0, sizeof *c);
    memset(x, 0, sizeof *x);
    c->dtype = f->dtype;
    c->semiring = f->semiring;
    c->operands = 1;
    c->operand = x;
    c->labels = f->axes;
    for (int d = 0; d < f->axes; d++) {
        bool has = f->class[d] >> tensor & 1;
        c->extent[d] = has ? f->axis[d].extent : 1;
        x->stride[d] = has ? f->axis[d].step[tensor] : 0;
        x->labels |= (uint64_t)has << d;
        if (!has || f->class[d] == 1 << tensor)
            continue;
        int at = kept++;
        for (; at > 0 && llabs(f->axis[order[at - 1]].step[tensor]) > llabs(x->stride[d]); at--)
            order[at] = order[at - 1];
        order[at] = d;
        c->out |= (uint64_t)1 << d;
    }
    int64_t step = 1;
    for (int i = 0; i < kept; i++) {
        c->out_stride[order[i]] = step;
        step *= c->extent[order[i]];
    }
    return step;
}

/* Replaces the operand by its sum. The conjugate is taken later, of the sum. */
static void plan_own_sum(Ctx *ctx, PairPlan *p, PairForm *f, int tensor)
{
    Contraction c;
    ContractOperand x;
    int64_t count = own_sum(f, tensor, &c, &x);
    p->before[tensor] = pair_plan(ctx, &c);
    p->before_bytes[tensor] = aligned(count * dtype_info(f->dtype)->bytes);
    p->seconds += p->before[tensor]->seconds;
    int axes = 0;
    for (int d = 0; d < f->axes; d++) {
        if (f->class[d] == 1 << tensor)
            continue;
        f->axis[axes] = f->axis[d];
        f->class[axes] = f->class[d];
        if (f->class[d] >> tensor & 1)
            f->axis[axes].step[tensor] = c.out_stride[d];
        axes++;
    }
    f->axes = axes;
}

/* ---- planning ---- */

static const PairWay *const ways[] = { &pair_way_small, &pair_way_nest, &pair_way_copy,
                                       &pair_way_direct, &pair_way_large, &pair_way_gemm,
                                       &pair_way_block, &pair_way_rows, &pair_way_semiring,
                                       &pair_way_aside };

#ifdef RICCI_HOSTILE
static const bool hostile = true;       /* the plain nest only */
#else
static const bool hostile = false;
#endif

/* One matrix by one vector, or two vectors: BLAS reads the matrix once as it lies, and that is
 * all the time there is, whatever the estimates say. */
static bool is_matrix_vector(const PairForm *f, const PairPlan *p)
{
    int sums = 0, rows = 0;
    for (int d = 0; d < f->axes; d++) {
        sums += f->class[d] == FORM_K;
        rows += f->class[d] == FORM_M || f->class[d] == FORM_N;
    }
    return sums == 1 && rows <= 1 && sums + rows == f->axes &&
           isfinite(pair_way_gemm.seconds(f, p));
}

static const PairWay *choose_way(const PairForm *f, PairPlan *p, const PairWay *wanted)
{
    const PairWay *best = &pair_way_nest;
    double least = best->seconds(f, p);
    if (wanted && isfinite(wanted->seconds(f, p)))
        return wanted;
    /* `@` runs such products without a plan: nothing else may take them. */
    if (!hostile && isfinite(pair_way_small.seconds(f, p))) {
        p->seconds += pair_way_small.seconds(f, p);
        return &pair_way_small;
    }
    if (!hostile && is_matrix_vector(f, p)) {
        p->seconds += pair_way_gemm.seconds(f, p);
        return &pair_way_gemm;
    }
    for (size_t i = 0; !hostile && i < sizeof ways / sizeof *ways; i++) {
        double t = ways[i]->seconds(f, p);
        if (t < least) {
            least = t;
            best = ways[i];
        }
    }
    p->seconds += least;
    return best;
}

static void count_costs(PairPlan *p, const PairForm *f)
{
    double bytes = dtype_info(f->dtype)->bytes, work = pair_work(f);
    bool pairs = dtype_info(f->dtype)->kind == 'c', adds = work > pair_form_size(f, PAIR_C);
    if (f->single)
        p->flops = adds ? work * (pairs ? 2 : 1) : 0;
    else
        p->flops = work * (pairs ? 6 : 1) + (adds ? work * (pairs ? 2 : 1) : 0);
    p->read = bytes * (pair_form_size(f, PAIR_A) + (f->single ? 0 : pair_form_size(f, PAIR_B)));
    p->written = bytes * pair_form_size(f, PAIR_C);
    for (int t = PAIR_A; t <= PAIR_B; t++)
        if (p->before[t]) {
            p->flops += p->before[t]->flops;
            p->read += p->before[t]->read;
            p->written += p->before[t]->written;
        }
}

/* C's axes, for scaling it, for filling it, and for copies along the axes it repeats on. */
static void plan_cells(PairPlan *p, const PairForm *f)
{
    PairNest *n = &p->cells;
    n->dtype = f->dtype;
    n->semiring = f->semiring;
    memcpy(n->conj, f->conj, sizeof n->conj);
    for (int d = 0; d < f->axes; d++)
        if (f->class[d] == FORM_SPREAD)
            p->spread[p->spreads++] = f->axis[d];
        else if (f->class[d] & IN_C)
            n->axis[n->free++] = f->axis[d];
}

static void nothing_run(Ctx *ctx, const PairPlan *p, char *c, const char *a, const char *b,
                        char *work)
{
    (void)ctx, (void)p, (void)c, (void)a, (void)b, (void)work;
}

static void identity_run(Ctx *ctx, const PairPlan *p, char *c, const char *a, const char *b,
                         char *work)
{
    PairNest all = p->cells;
    (void)work;
    all.axis[all.free] = (PairAxis){ 0, { 0, 0, 0 } };
    all.summed = 1;
    pair_nest_run(ctx, &all, c, a, b);
}

static void plan_way(Ctx *ctx, PairPlan *p, const Contraction *c, const PairWay *wanted)
{
    PairForm f;
    pair_form(&f, c);
    p->dtype = f.dtype;
    p->semiring = f.semiring;
    p->single = f.single;
    if (f.endless && !f.empty_result && !f.empty_sum)
        err_raise(ctx, ERR_MEMORY, "a sum of products goes over more elements than can be counted");
    p->repeats = f.repeats;
    p->times = f.times;
    p->threads = pool_threads(ctx);
    p->room = ctx->mem.limit > ctx->mem.live ? (double)(ctx->mem.limit - ctx->mem.live) : 0;
    pair_form_one(f.semiring, f.dtype, p->one);
    for (int t = 0; t < PAIR_TENSORS; t++)
        p->base[t] = f.base[t] * dtype_info(f.dtype)->bytes;
    if (f.empty_result || f.empty_sum) {
        plan_cells(p, &f);
        p->run = f.empty_result ? nothing_run : identity_run;
        snprintf(p->kind, sizeof p->kind, f.empty_result ? "nothing" : "empty sum");
        p->repeats = 1, p->times = 1;
        return;
    }
    if (sums_first(&f, FORM_OWN_A))
        plan_own_sum(ctx, p, &f, PAIR_A);
    if (sums_first(&f, FORM_OWN_B))
        plan_own_sum(ctx, p, &f, PAIR_B);
    plan_cells(p, &f);
    choose_way(&f, p, wanted)->make(ctx, &f, p);
    count_costs(p, &f);
}

/* Workspace: the operands' own sums, then what those or the way itself want, one at a time. */
static void plan_workspace(PairPlan *p)
{
    for (int t = PAIR_A; t <= PAIR_B; t++)
        if (p->before[t] && p->before[t]->work > p->work)
            p->work = p->before[t]->work;
    p->before_work = p->before_bytes[PAIR_A] + p->before_bytes[PAIR_B];
    p->work += p->before_work;
    bool moved = false;
    for (int t = 0; t < PAIR_TENSORS; t++)
        moved |= p->base[t] != 0;
    p->plain = !moved && !p->spreads && !p->single && !p->before[PAIR_A] &&
               !p->before[PAIR_B] && (p->times == 1 || p->semiring != SR_PLUS_TIMES);
    p->bare = p->plain && !p->work;
}

PairPlan *pair_plan_wanted(Ctx *ctx, const Contraction *c, const PairWay *wanted)
{
    PairPlan *p = mem_zalloc(ctx, sizeof *p);
    ErrFrame frame;
    if (ERR_TRY(ctx, &frame)) {
        plan_way(ctx, p, c, wanted);
        plan_workspace(p);
        ERR_END(ctx, &frame);
    } else {
        pair_plan_free(ctx, p);
        err_rethrow(ctx);
    }
    return p;
}

PairPlan *pair_plan(Ctx *ctx, const Contraction *c)
{
    return pair_plan_wanted(ctx, c, NULL);
}

PairPlan *pair_plan_bf16(Ctx *ctx, const Contraction *c)
{
    PairForm f;
    if (c->operands != 2 || c->dtype != DT_F32 || c->operand[0].stored != DT_BF16 ||
        c->operand[1].stored != DT_BF16 || !pair_kernel_bf16())
        return NULL;
    pair_form(&f, c);
    return pair_takes_bf16(&f) ? pair_plan_wanted(ctx, c, &pair_way_bf16) : NULL;
}

void pair_plan_free(Ctx *ctx, PairPlan *p)
{
    if (!p)
        return;
    pair_plan_free(ctx, p->before[PAIR_A]);
    pair_plan_free(ctx, p->before[PAIR_B]);
    pair_plan_free(ctx, p->aside);
    if (p->table)
        mem_free(ctx, p->table, (size_t)p->table_count * sizeof *p->table);
    mem_free(ctx, p, sizeof *p);
}

/* ---- running ---- */

/* The axes that C repeats itself along, one after the other: each is copied from position 0. */
static void spread_result(Ctx *ctx, const PairPlan *p, char *c)
{
    int64_t bytes = dtype_info(p->dtype)->bytes;
    PairAxis axis[CONTRACT_LABELS];
    int axes = p->cells.free;
    memcpy(axis, p->cells.axis, (size_t)axes * sizeof *axis);
    for (int s = 0; s < p->spreads; s++) {
        PairNest copy = { .dtype = p->dtype, .semiring = p->semiring };
        PairAxis along = p->spread[s];
        along.extent--;
        for (int d = 0; d < axes; d++) {
            copy.axis[copy.free] = axis[d];
            copy.axis[copy.free++].step[PAIR_A] = axis[d].step[PAIR_C];
        }
        copy.axis[copy.free] = along;
        copy.axis[copy.free++].step[PAIR_A] = 0;
        pair_nest_run(ctx, &copy, c + along.step[PAIR_C] * bytes, c, NULL);
        axis[axes++] = p->spread[s];
    }
}

static void run_in(Ctx *ctx, const PairPlan *p, char *c, const char *a, const char *b, char *work)
{
    const char *operand[PAIR_TENSORS] = { NULL, a, p->single ? p->one : b };
    char *own = work, *rest = work + p->before_work;
    c += p->base[PAIR_C];
    for (int t = PAIR_A; t <= PAIR_B; t++) {
        if (t == PAIR_A || !p->single)
            operand[t] += p->base[t];
        if (p->before[t]) {
            run_in(ctx, p->before[t], own, operand[t], NULL, rest);
            operand[t] = own;
            own += p->before_bytes[t];
        }
    }
    p->run(ctx, p, c, operand[PAIR_A], operand[PAIR_B], rest);
    if (p->times != 1 && p->semiring == SR_PLUS_TIMES)
        pair_nest_scale(&p->cells, c, p->repeats, p->times);
    if (p->spreads && p->run != nothing_run)
        spread_result(ctx, p, c);
}

void pair_run(Ctx *ctx, const PairPlan *p, void *out, const void *a, const void *b)
{
    if (p->bare) {
        p->run(ctx, p, out, a, b, NULL);
        return;
    }
    char *work = p->work ? mem_alloc_data(ctx, (size_t)p->work, false) : NULL;
    run_in(ctx, p, out, a, b, work);
    if (work)
        mem_free_data(ctx, work, (size_t)p->work);
}

bool pair_run_panels(Ctx *ctx, const PairPlan *p, void *out, const void *a, const void *b,
                     int64_t rows, int64_t elements, const GemmPanels *panels)
{
    if (!p->plain)
        return false;
    if (p->bare)
        return pair_gemm_panels(ctx, p, out, a, b, rows, elements, panels);
    /* What is written past the cache is not there to be gone over again: 1.6 times as slow. */
    if (!pair_block_has_rows(p, rows, elements) || p->u.product.stream)
        return false;
    char *work = mem_alloc_data(ctx, (size_t)p->work, false);
    pair_block_run(ctx, &p->u.product, work, out, b, a, panels);
    mem_free_data(ctx, work, (size_t)p->work);
    return true;
}

/* ---- reports ---- */

void pair_report(const PairPlan *p, ReportStep *s)
{
    memcpy(s->kind, p->kind, sizeof s->kind);
    s->kernel = p->kernel;
    const char *first = p->before[PAIR_A] && p->before[PAIR_B] ? "both operands summed first" :
                        p->before[PAIR_A] ? "the first operand summed first" :
                        p->before[PAIR_B] ? "the second operand summed first" :
                        p->aside ? "the result turned over at last" : "";
    strcpy(s->kernel.before, first);
    s->blas = p->blas && !*first;
    s->flops = p->flops;
    s->read = p->read;
    s->written = p->written;
    s->copied = p->copied;
    s->seconds = pair_seconds(p);
}

double pair_seconds(const PairPlan *p)
{
    return p->seconds > 1e-4 && p->threads > 1 ? p->seconds / p->threads : p->seconds;
}
