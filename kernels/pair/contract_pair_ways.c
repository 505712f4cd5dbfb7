/* The plain ways of running a pair: element by element, a copy, a tiny product, a direct
 * contraction, and products of matrices in any semiring (contract_pair_ways.h). */
#include "kernels/pair/contract_pair_ways.h"
#include "kernels/direct/direct.h"

#include "core/memory/pool.h"
#include "kernels/tensor/permute.h"
#include "kernels/gemm/small.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

bool pair_is_float(const PairForm *f)
{
    return f->semiring == SR_PLUS_TIMES && blas_type(f->dtype) != BLAS_TYPES;
}

bool pair_is_blas(const PairForm *f)
{
    return pair_is_float(f) && !f->conj[PAIR_A] && !f->conj[PAIR_B];
}

void pair_add_axes(PairPlan *p, const PairForm *f, int class, PairGroup *g)
{
    int n = pair_form_axes(f, class, p->axis + p->axes);
    for (int d = 0; d < n; d++)
        g->extent *= p->axis[p->axes + d].extent;
    p->axes += n;
    g->axes += n;
}

PairGroup pair_plan_group(PairPlan *p, const PairForm *f, int class)
{
    PairGroup g = { 0, 1, p->axis + p->axes };
    pair_add_axes(p, f, class, &g);
    return g;
}

double pair_work(const PairForm *f)
{
    double n = 1;
    for (int d = 0; d < f->axes; d++)
        if (f->class[d] != FORM_SPREAD)
            n *= (double)f->axis[d].extent;
    return n;
}

static bool is_free(int class)
{
    return (class & IN_C) && class != FORM_SPREAD;
}

static bool is_summed(int class)
{
    return !(class & IN_C);
}

/* The free axes by falling steps of C, so that the last one is the closest. */
static int free_axes(const PairForm *f, PairAxis *to)
{
    int n = 0;
    for (int d = 0; d < f->axes; d++) {
        if (!is_free(f->class[d]))
            continue;
        int at = n++;
        for (; at > 0 && to[at - 1].step[PAIR_C] < f->axis[d].step[PAIR_C]; at--)
            to[at] = to[at - 1];
        to[at] = f->axis[d];
    }
    return n;
}

/* ---- element by element ---- */

static double nest_seconds(const PairForm *f, const PairPlan *p)
{
    double each = dtype_info(f->dtype)->kind == 'c' ? 4e-9 : 1.5e-9;
    (void)p;
    return 2e-8 + pair_work(f) * each;
}

static void nest_run(Ctx *ctx, const PairPlan *p, char *c, const char *a, const char *b, char *work)
{
    (void)work;
    pair_nest_run(ctx, &p->u.nest, c, a, p->single ? NULL : b);
}

static void nest_make(Ctx *ctx, const PairForm *f, PairPlan *p)
{
    PairNest *nest = &p->u.nest;
    (void)ctx;
    nest->dtype = f->dtype;
    nest->semiring = f->semiring;
    memcpy(nest->conj, f->conj, sizeof nest->conj);
    nest->free = free_axes(f, nest->axis);
    nest->summed = 0;
    for (int d = 0; d < f->axes; d++)
        if (is_summed(f->class[d]))
            nest->axis[nest->free + nest->summed++] = f->axis[d];
    p->run = nest_run;
    snprintf(p->kind, sizeof p->kind, "loop nest");
    strcpy(p->kernel.how, "plain loops");
}

const PairWay pair_way_nest = { nest_seconds, nest_make };

/* ---- one operand, nothing summed ---- */

static double copy_seconds(const PairForm *f, const PairPlan *p)
{
    (void)p;
    for (int d = 0; d < f->axes; d++)
        if (is_summed(f->class[d]))
            return INFINITY;
    return f->single && !f->conj[PAIR_A] ? 1e-7 + pair_memory_seconds(f) : INFINITY;
}

static void copy_run(Ctx *ctx, const PairPlan *p, char *c, const char *a, const char *b, char *work)
{
    const PairNest *nest = &p->u.nest;
    Iter it = { .rank = nest->free ? nest->free : 1, .operands = 2, .size = 1, .shape = { 1 },
                .stride = { { 1 }, { 1 } } };
    (void)b, (void)work;
    for (int d = 0; d < nest->free; d++) {
        it.shape[d] = nest->axis[d].extent;
        it.size *= it.shape[d];
        it.stride[0][d] = nest->axis[d].step[PAIR_C];
        it.stride[1][d] = nest->axis[d].step[PAIR_A];
    }
    permute_copy(ctx, &it, dtype_info(p->dtype)->bytes, c, a);
}

static void copy_make(Ctx *ctx, const PairForm *f, PairPlan *p)
{
    nest_make(ctx, f, p);
    if (p->u.nest.free > TENSOR_RANK_MAX)
        return;
    p->run = copy_run;
    snprintf(p->kind, sizeof p->kind, "copy");
    strcpy(p->kernel.how, "permuting copy");
}

const PairWay pair_way_copy = { copy_seconds, copy_make };

/* ---- one tiny product of matrices ---- */

/* The only axis of a class, an axis of extent 1 where there is none; false for several. */
static bool sole_axis(const PairForm *f, int class, PairAxis *x)
{
    PairAxis all[CONTRACT_LABELS];
    int n = pair_form_axes(f, class, all);
    *x = n ? all[0] : (PairAxis){ 1, { 0, 0, 0 } };
    return n <= 1;
}

static bool small_matrices(const PairForm *f, PairMatrices *g)
{
    PairAxis m, n, k, none;
    if (!pair_is_blas(f) || f->single || !sole_axis(f, FORM_M, &m) || !sole_axis(f, FORM_N, &n) ||
        !sole_axis(f, FORM_K, &k) || !sole_axis(f, FORM_BATCH, &none) || none.extent > 1 ||
        k.extent == 1)
        return false;
    g->m = m.extent, g->n = n.extent, g->k = k.extent;
    g->a = (Mat){ NULL, m.step[PAIR_A], k.step[PAIR_A] };
    g->b = (Mat){ NULL, k.step[PAIR_B], n.step[PAIR_B] };
    g->c = (Mat){ NULL, m.step[PAIR_C], n.step[PAIR_C] };
    if (g->m <= 3 && g->n <= 3 && g->k <= 3)
        return true;
    bool lies = g->n == 1 || g->c.cs == 1 || g->m == 1 || g->c.rs == 1;
    return lies && gemm_tiny(g->m, g->n, g->k);
}

static double small_seconds(const PairForm *f, const PairPlan *p)
{
    PairMatrices g;
    (void)p;
    if (f->axes > 3 || !small_matrices(f, &g))
        return INFINITY;
    return 1.5e-8 + pair_work(f) * 0.4e-9;
}

static void small_run(Ctx *ctx, const PairPlan *p, char *c, const char *a,
                      const char *b, char *work)
{
    const PairMatrices *g = &p->u.matrices;
    (void)ctx, (void)work;
    gemm_small(p->dtype, g->m, g->n, g->k, (Mat){ (char *)a, g->a.rs, g->a.cs },
               (Mat){ (char *)b, g->b.rs, g->b.cs }, (Mat){ c, g->c.rs, g->c.cs });
}

static void small_make(Ctx *ctx, const PairForm *f, PairPlan *p)
{
    PairMatrices *g = &p->u.matrices;
    (void)ctx;
    small_matrices(f, g);
    p->run = small_run;
    snprintf(p->kind, sizeof p->kind,
             g->m == 1 && g->n == 1 ? "dot" : g->m == 1 || g->n == 1 ? "gemv"
                                                                                        : "gemm");
    strcpy(p->kernel.by, "own small products");
    snprintf(p->kernel.how, sizeof p->kernel.how, "(%lld×%lld by %lld×%lld)",
             (long long)g->m, (long long)g->k, (long long)g->k, (long long)g->n);
}

const PairWay pair_way_small = { small_seconds, small_make };

/* ---- read in place ---- */

enum { TAPS_MOST = 1 << 16 };

/* A step of 0 or 1 in both operands, at least one of them 1, and 1 in C: the vector axis. */
static bool is_vector(const PairAxis *x, bool single)
{
    int64_t a = x->step[PAIR_A], b = x->step[PAIR_B];
    return x->step[PAIR_C] == 1 && (a == 0 || a == 1) && (b == 0 || b == 1) &&
           (single ? a == 1 : a + b > 0);
}

static bool direct_shape(const PairForm *f, Direct *d)
{
    PairAxis outer[CONTRACT_LABELS];
    int n = free_axes(f, outer);
    double taps = 1;
    for (int i = 0; i < f->axes; i++)
        if (is_summed(f->class[i]))
            taps *= (double)f->axis[i].extent;
    if (n == 0 || n - 1 > DIRECT_RANK || taps > TAPS_MOST || !is_vector(&outer[n - 1], f->single) ||
        f->conj[PAIR_A] || f->conj[PAIR_B])
        return false;
    memset(d, 0, sizeof *d);
    d->rank = n - 1;
    for (int i = 0; i < n - 1; i++) {
        d->extent[i] = outer[i].extent;
        for (int t = 0; t < PAIR_TENSORS; t++)
            d->step[t][i] = outer[i].step[t];
    }
    d->n = outer[n - 1].extent;
    d->vector[0] = outer[n - 1].step[PAIR_A];
    d->vector[1] = outer[n - 1].step[PAIR_B];
    d->taps = (int64_t)taps;
    return true;
}

static double direct_way_seconds(const PairForm *f, const PairPlan *p)
{
    Direct d;
    (void)p;
    if (!direct_shape(f, &d))
        return INFINITY;
    double t = direct_seconds(f->semiring, f->dtype, &d);
    if (f->semiring == SR_PLUS_TIMES)
        t *= pair_windows_rate(f->dtype);
    return fmax(t, pair_memory_seconds(f));
}

static void direct_way_run(Ctx *ctx, const PairPlan *p, char *c, const char *a, const char *b,
                           char *work)
{
    (void)work;
    direct_run(ctx, p->semiring, p->dtype, &p->u.direct, c, a, b, false);
}

static void direct_make(Ctx *ctx, const PairForm *f, PairPlan *p)
{
    Direct *d = &p->u.direct;
    direct_shape(f, d);
    PairGroup taps = pair_plan_group(p, f, FORM_K);
    pair_add_axes(p, f, FORM_OWN_A, &taps);
    pair_add_axes(p, f, FORM_OWN_B, &taps);
    p->table_count = 2 * d->taps;
    p->table = mem_alloc(ctx, (size_t)p->table_count * sizeof *p->table);
    pair_group_offsets(&taps, PAIR_A, 0, d->taps, p->table);
    pair_group_offsets(&taps, PAIR_B, 0, d->taps, p->table + d->taps);
    d->offset[0] = p->table;
    d->offset[1] = p->table + d->taps;
    p->run = direct_way_run;
    snprintf(p->kind, sizeof p->kind, d->taps > 1 ? "direct contraction" : "elementwise product");
    snprintf(p->kernel.how, sizeof p->kernel.how, "vectors along %lld, %lld tap%s", (long long)d->n,
             (long long)d->taps, d->taps == 1 ? "" : "s");
}

const PairWay pair_way_direct = { direct_way_seconds, direct_make };

/* ---- products of matrices in any semiring ---- */

/* The longest axis of a class, or one of extent 1. */
static PairAxis longest(const PairForm *f, int class, int *at)
{
    PairAxis x = { 1, { 0, 0, 0 } };
    *at = -1;
    for (int d = 0; d < f->axes; d++)
        if (f->class[d] == class && f->axis[d].extent > x.extent) {
            x = f->axis[d];
            *at = d;
        }
    return x;
}

static bool semiring_matrices(const PairForm *f, PairMatrices *g)
{
    int used[3];
    PairAxis m = longest(f, FORM_M, &used[0]), n = longest(f, FORM_N, &used[1]),
             k = longest(f, FORM_K, &used[2]);
    if (k.extent == 1)
        k = longest(f, FORM_OWN_A, &used[2]);
    if (f->conj[PAIR_A] || f->conj[PAIR_B])
        return false;
    *g = (PairMatrices){ m.extent, n.extent, k.extent, { NULL, m.step[PAIR_A], k.step[PAIR_A] },
                         { NULL, k.step[PAIR_B], n.step[PAIR_B] },
                         { NULL, m.step[PAIR_C], n.step[PAIR_C] }, { .count = 1 }, 0, { { 0 } } };
    for (int d = 0; d < f->axes; d++) {
        const PairAxis *x = &f->axis[d];
        if (d == used[0] || d == used[1] || d == used[2] || f->class[d] == FORM_SPREAD)
            continue;
        if (is_summed(f->class[d])) {
            g->sum[g->sums++] = *x;
            continue;
        }
        if (g->batch.rank == GEMM_BATCH_MAX)
            return false;
        int r = g->batch.rank++;
        g->batch.extent[r] = x->extent;
        g->batch.count *= x->extent;
        g->batch.a[r] = x->step[PAIR_A];
        g->batch.b[r] = x->step[PAIR_B];
        g->batch.c[r] = x->step[PAIR_C];
    }
    return true;
}

static double semiring_seconds(const PairForm *f, const PairPlan *p)
{
    PairMatrices g;
    (void)p;
    /* floats have kernels of their own in the blocked product */
    if (pair_is_float(f) || !semiring_matrices(f, &g))
        return INFINITY;
    double calls = pair_work(f) / ((double)g.m * (double)g.n * (double)g.k);
    double t = calls * (3e-8 + semiring_gemm_seconds(f->semiring, f->dtype, g.m, g.n, g.k));
    return fmax(t, pair_memory_seconds(f));
}

typedef struct SemiringJob {
    Ctx *ctx;
    const PairPlan *p;
    char *c;
    const char *a, *b;
} SemiringJob;

/* Items [begin, end) of the batch, each over all steps of the sums. */
static void semiring_part(void *arg, int64_t begin, int64_t end, int worker)
{
    const SemiringJob *j = arg;
    const PairMatrices *g = &j->p->u.matrices;
    int64_t bytes = dtype_info(j->p->dtype)->bytes, steps = 1;
    PairGroup sums = { g->sums, 1, g->sum };
    (void)worker;
    for (int d = 0; d < g->sums; d++)
        steps *= g->sum[d].extent;
    for (int64_t i = begin; i < end; i++) {
        int64_t at[3] = { 0, 0, 0 }, left = i;
        for (int d = g->batch.rank - 1; d >= 0; d--) {
            int64_t x = left % g->batch.extent[d];
            left /= g->batch.extent[d];
            at[0] += x * g->batch.c[d], at[1] += x * g->batch.a[d], at[2] += x * g->batch.b[d];
        }
        for (int64_t q = 0; q < steps && !*j->ctx->interrupt; q++) {
            int64_t qa = pair_group_offset(&sums, PAIR_A, q);
            int64_t qb = pair_group_offset(&sums, PAIR_B, q);
            semiring_gemm(j->ctx, j->p->semiring, j->p->dtype, g->m, g->n, g->k,
                          (Mat){ (char *)j->a + (at[1] + qa) * bytes, g->a.rs, g->a.cs },
                          (Mat){ (char *)j->b + (at[2] + qb) * bytes, g->b.rs, g->b.cs },
                          (Mat){ j->c + at[0] * bytes, g->c.rs, g->c.cs }, q > 0);
        }
    }
}

static void semiring_run(Ctx *ctx, const PairPlan *p, char *c, const char *a, const char *b,
                         char *work)
{
    SemiringJob j = { ctx, p, c, a, b };
    int64_t count = p->u.matrices.batch.count;
    (void)work;
    if (p->threads > 1 && p->seconds > 1e-4 && count >= p->threads)
        pool_for(ctx, count, 1, semiring_part, &j);
    else
        semiring_part(&j, 0, count, 0);
}

static void semiring_make(Ctx *ctx, const PairForm *f, PairPlan *p)
{
    PairMatrices *g = &p->u.matrices;
    (void)ctx;
    semiring_matrices(f, g);
    p->run = semiring_run;
    snprintf(p->kind, sizeof p->kind, g->batch.count > 1 ? "batched gemm" : "gemm");
    strcpy(p->kernel.by, "own blocked kernel");
    snprintf(p->kernel.how, sizeof p->kernel.how, "%lld × (%lld×%lld by %lld×%lld)",
             (long long)g->batch.count, (long long)g->m, (long long)g->k, (long long)g->k,
             (long long)g->n);
}

const PairWay pair_way_semiring = { semiring_seconds, semiring_make };
