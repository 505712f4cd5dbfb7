/* A pair as products of matrices that BLAS takes as they lie, without a copy: one axis of
 * each kind makes the product, the others are a batch (contract_pair_ways.h). */
#include "kernels/pair/contract_pair_ways.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Seconds below which operands are in the cache. */
static const double MEMORY_LEAST = 1e-3;
static const PairAxis single_axis = { 1, { 0, 0, 0 } };

static bool c_lies(const PairMatrices *g)
{
    return g->m == 1 || g->n == 1 || g->c.cs == 1 || g->c.rs == 1;
}

static bool legal(const PairMatrices *g)
{
    if (gemm_tiny(g->m, g->n, g->k))
        return c_lies(g);
    return gemm_legal(g->m, g->k, g->a.rs, g->a.cs) && gemm_legal(g->k, g->n, g->b.rs, g->b.cs) &&
           gemm_legal(g->m, g->n, g->c.rs, g->c.cs);
}

/* Seconds of one call: a flat cost, and a rate that falls with every short edge because edges
 * of the kernel's tiles stay empty and panels are packed for little work. */
static double call_seconds(const PairForm *f, const PairMatrices *g)
{
    const PairRates *r = pair_rates(f->dtype);
    double m = (double)g->m, n = (double)g->n, k = (double)g->k;
    double flops = (dtype_info(f->dtype)->kind == 'c' ? 8 : 2) * m * n * k;
    if (gemm_tiny(g->m, g->n, g->k))
        return 1.2e-8 + flops / (0.25 * r->blas) + (m + n) * 1e-9;
    if (m == 1 || n == 1)
        return 1e-7 + flops / (0.2 * r->blas);
    return 1.5e-7 + flops / r->blas * (1 + 3 / m) * (1 + 3 / n) * (1 + 12 / k);
}

static void set_matrices(PairMatrices *g, const PairAxis *m, const PairAxis *n, const PairAxis *k)
{
    g->m = m->extent, g->n = n->extent, g->k = k->extent;
    g->a = (Mat){ NULL, m->step[PAIR_A], k->step[PAIR_A] };
    g->b = (Mat){ NULL, k->step[PAIR_B], n->step[PAIR_B] };
    g->c = (Mat){ NULL, m->step[PAIR_C], n->step[PAIR_C] };
}

/* The best choice of m and n among the axes; the number of calls times one. */
static double choose(const PairForm *f, PairMatrices *best, PairAxis *chosen)
{
    PairAxis m[CONTRACT_LABELS], n[CONTRACT_LABELS], k[CONTRACT_LABELS];
    int ms = pair_form_axes(f, FORM_M, m), ns = pair_form_axes(f, FORM_N, n);
    int ks = pair_form_axes(f, FORM_K, k), batch = pair_form_axes(f, FORM_BATCH, k + 1);
    double least = INFINITY, all = pair_work(f);
    if (!pair_is_blas(f) || f->single || ks != 1 || batch + ms + ns > GEMM_BATCH_MAX)
        return INFINITY;
    if (ms == 0)
        m[ms++] = single_axis;
    if (ns == 0)
        n[ns++] = single_axis;
    for (int i = 0; i < ms; i++)
        for (int j = 0; j < ns; j++) {
            PairMatrices g;
            set_matrices(&g, &m[i], &n[j], &k[0]);
            if (!legal(&g))
                continue;
            double t = call_seconds(f, &g) * all / ((double)g.m * (double)g.n * (double)g.k);
            if (t < least) {
                least = t;
                *best = g;
                chosen[0] = m[i], chosen[1] = n[j], chosen[2] = k[0];
            }
        }
    return least;
}

static double gemm_way_seconds(const PairForm *f, const PairPlan *p)
{
    PairMatrices g;
    PairAxis chosen[3];
    (void)p;
    double t = choose(f, &g, chosen);
    if (isfinite(t) && !gemm_tiny(g.m, g.n, g.k) && !blas_open(NULL))
        return INFINITY;
    double memory = pair_memory_seconds(f);
    /* The library fetches what it needs while it computes only where it computes for long. */
    return memory > t / 4 && memory > MEMORY_LEAST ? t + memory : fmax(t, memory);
}

static bool same_axis(const PairAxis *x, const PairAxis *y)
{
    return memcmp(x, y, sizeof *x) == 0;
}

static void run(Ctx *ctx, const PairPlan *p, char *c, const char *a, const char *b,
                const GemmPanels *panels)
{
    const PairMatrices *g = &p->u.matrices;
    const Blas *blas = gemm_tiny(g->m, g->n, g->k) ? NULL : blas_open(NULL);
    Mat ma = { (char *)a, g->a.rs, g->a.cs }, mb = { (char *)b, g->b.rs, g->b.cs };
    Mat mc = { c, g->c.rs, g->c.cs };
    if (g->batch.rank)
        gemm_batched(ctx, blas, p->dtype, g->m, g->n, g->k, ma, mb, mc, &g->batch);
    else if (panels)
        gemm_panels(ctx, blas, p->dtype, g->m, g->n, g->k, ma, mb, mc, panels);
    else
        gemm(ctx, blas, p->dtype, g->m, g->n, g->k, ma, mb, mc);
}

static void gemm_run(Ctx *ctx, const PairPlan *p, char *c, const char *a, const char *b, char *work)
{
    (void)work;
    run(ctx, p, c, a, b, NULL);
}

/* The axis of C's rows is that of A's alone, so these are what m counts. */
bool pair_gemm_panels(Ctx *ctx, const PairPlan *p, char *c, const char *a, const char *b,
                      int64_t rows, int64_t elements, const GemmPanels *panels)
{
    const PairMatrices *g = &p->u.matrices;
    if (p->run != gemm_run || g->batch.rank || g->m != rows || g->n != elements ||
        (g->m > 1 && g->c.rs != g->n) || (g->n > 1 && g->c.cs != 1))
        return false;
    run(ctx, p, c, a, b, panels);
    return true;
}

static const char *form_name(const Mat *x, int64_t cols)
{
    return x->cs == 1 || cols <= 1 ? "" : ", transposed";
}

static void describe(PairPlan *p)
{
    const PairMatrices *g = &p->u.matrices;
    bool dot = g->m == 1 && g->n == 1, vector = g->m == 1 || g->n == 1;
    const char *batched = g->batch.count > 1 ? "batched " : "";
    snprintf(p->kind, sizeof p->kind, "%s%s", batched, dot ? "dot" : vector ? "gemv" : "gemm");
    p->blas = !gemm_tiny(g->m, g->n, g->k);
    strcpy(p->kernel.by, p->blas ? "OpenBLAS" : "own small products");
    char *how = p->kernel.how;
    size_t room = sizeof p->kernel.how, at = 0;
    if (g->batch.count > 1)
        at = (size_t)snprintf(how, room, "%lld × ", (long long)g->batch.count);
    snprintf(how + at, room - at, "(%lld×%lld%s by %lld×%lld%s)",
             (long long)g->m, (long long)g->k, form_name(&g->a, g->k), (long long)g->k,
             (long long)g->n, form_name(&g->b, g->n));
}

static void gemm_make(Ctx *ctx, const PairForm *f, PairPlan *p)
{
    PairMatrices *g = &p->u.matrices;
    PairAxis chosen[3];
    bool taken[3] = { false, false, false };
    (void)ctx;
    choose(f, g, chosen);
    memset(&g->batch, 0, sizeof g->batch);
    g->batch.count = 1;
    for (int d = 0; d < f->axes; d++) {
        const PairAxis *x = &f->axis[d];
        int role = f->class[d] == FORM_M ? 0 : f->class[d] == FORM_N ? 1 : 2;
        if (f->class[d] == FORM_SPREAD)
            continue;
        if (f->class[d] != FORM_BATCH && !taken[role] && same_axis(x, &chosen[role])) {
            taken[role] = true;
            continue;
        }
        /* The axis with the longest steps of C outermost: neighbours follow each other. */
        int r = g->batch.rank++;
        for (; r > 0 && g->batch.c[r - 1] < x->step[PAIR_C]; r--) {
            g->batch.extent[r] = g->batch.extent[r - 1];
            g->batch.a[r] = g->batch.a[r - 1];
            g->batch.b[r] = g->batch.b[r - 1];
            g->batch.c[r] = g->batch.c[r - 1];
        }
        g->batch.extent[r] = x->extent;
        g->batch.a[r] = x->step[PAIR_A];
        g->batch.b[r] = x->step[PAIR_B];
        g->batch.c[r] = x->step[PAIR_C];
        g->batch.count *= x->extent;
    }
    p->run = gemm_run;
    describe(p);
}

const PairWay pair_way_gemm = { gemm_way_seconds, gemm_make };
