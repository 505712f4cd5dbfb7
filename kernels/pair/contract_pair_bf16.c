/* bf16 products with f32 sums: the way through the blocked kernel of the processor's own
 * instruction (contract_pair_ways.h), and that instruction written out, which the kernel is
 * tested with where the processor lacks it. */
#include "kernels/pair/contract_pair_ways.h"
#include "kernels/tensor/cpu.h"
#include "kernels/blas/dnnl.h"

#include "core/memory/pool.h"

#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

/* ---- the instruction, as its manual has it ---- */
typedef float DotSums __attribute__((vector_size(64)));
typedef uint32_t DotCells __attribute__((vector_size(64)));

/* Numbers below the normal ones are zero. */
#define FLUSH(bits) (DotSums)((bits) & ((DotCells)(((bits) & 0x7f800000) != 0) | 0x80000000))

/* *sum + second products, then + first ones: a product of bf16 numbers is exact in f32. */
static inline void dot_cells(DotSums *sum, const DotCells *a, const DotCells *b)
{
    DotCells first = *a << 16, second = *a & 0xffff0000;
    DotCells with_first = *b << 16, with_second = *b & 0xffff0000;
    DotCells x = (DotCells)*sum;
    x = (DotCells)(FLUSH(x) + FLUSH(second) * FLUSH(with_second));
    x = (DotCells)(FLUSH(x) + FLUSH(first) * FLUSH(with_first));
    *sum = FLUSH(x);
}

#define BF16_DOT(sum, a, b) \
    ({ Sums s_ = (sum); Cells a_ = (a), b_ = (b); dot_cells(&s_, &a_, &b_); s_; })
#define BF16_KERNEL pair_kernel_bf16_portable
#define BF16_UNROLL                     /* it need not be fast */
#include "kernels/pair/contract_pair_bf16.tmpl.h"

const PairKernel *pair_kernel_bf16(void)
{
#if defined(__x86_64__) && !defined(RICCI_HOSTILE)
    if (cpu_has_bf16())
        return &pair_kernel_bf16_avx512;
#endif
    return NULL;
}

/* ---- the way ---- */

enum { EDGE_LEAST = 8, DEPTH_LEAST = 16 };
static const double WORK_LEAST = 32768;         /* below, converting to f32 first costs less */

bool pair_takes_bf16(const PairForm *f)
{
    double m = pair_form_extent(f, FORM_M), n = pair_form_extent(f, FORM_N);
    double k = pair_form_extent(f, FORM_K);
    if (f->single || f->dtype != DT_F32 || f->semiring != SR_PLUS_TIMES || f->empty_result ||
        f->empty_sum)
        return false;
    for (int d = 0; d < f->axes; d++)
        if (f->class[d] == FORM_OWN_A || f->class[d] == FORM_OWN_B)
            return false;
    return m >= EDGE_LEAST && n >= EDGE_LEAST && k >= DEPTH_LEAST && m * n * k >= WORK_LEAST;
}

static double bf16_seconds(const PairForm *f, const PairPlan *p)
{
    (void)p;
    return pair_takes_bf16(f) ? 1e-6 + pair_work(f) / pair_rates(DT_F32)->flops : INFINITY;
}

static void describe(PairPlan *p, const char *by)
{
    strcpy(p->kernel.numbers, "bf16 in, f32 sums");
    strcpy(p->kernel.by, by);
}

/* Is it one product of matrices that oneDNN takes as they lie? */
static bool dnnl_matrices(const PairForm *f, DnnlProduct *g)
{
    PairAxis x[FORM_CLASSES][CONTRACT_LABELS];
    const PairAxis *m = x[FORM_M], *n = x[FORM_N], *k = x[FORM_K];
    if (pair_form_axes(f, FORM_M, x[FORM_M]) != 1 || pair_form_axes(f, FORM_N, x[FORM_N]) != 1 ||
        pair_form_axes(f, FORM_K, x[FORM_K]) != 1 || pair_form_axes(f, FORM_BATCH, x[FORM_BATCH]))
        return false;
    *g = (DnnlProduct){ DT_BF16, m->extent, n->extent, k->extent,
                        { NULL, m->step[PAIR_A], k->step[PAIR_A] },
                        { NULL, k->step[PAIR_B], n->step[PAIR_B] },
                        { NULL, m->step[PAIR_C], n->step[PAIR_C] } };
    return gemm_legal(g->m, g->k, g->a.rs, g->a.cs) && gemm_legal(g->k, g->n, g->b.rs, g->b.cs) &&
           gemm_legal(g->m, g->n, g->c.rs, g->c.cs) && g->c.cs == 1 && dnnl_can(g);
}

/* oneDNN takes the matrices whole, so they are looked through before. */
typedef struct Look {
    const uint16_t *from;
    /* elements side by side, and from one such run to the next */
    int64_t run, step;
    _Atomic int least;
} Look;

static void look_part(void *arg, int64_t begin, int64_t end, int worker)
{
    Look *x = arg;
    int least = BF16_NONE;
    (void)worker;
    for (int64_t i = begin; i < end; i++) {
        int here = bf16_least(x->from + i * x->step, x->run);
        least = here < least ? here : least;
    }
    int known = atomic_load(&x->least);
    while (least < known && !atomic_compare_exchange_weak(&x->least, &known, least))
        ;
}

static int matrix_least(Ctx *ctx, Mat x, int64_t rows, int64_t cols)
{
    enum { ALONE = 1 << 17 };           /* numbers that one thread has seen in some 10 us */
    bool by_rows = x.cs == 1 || cols == 1;
    Look look = { (const uint16_t *)(const void *)x.data, by_rows ? cols : rows,
                  by_rows ? x.rs : x.cs, BF16_NONE };
    int64_t runs = by_rows ? rows : cols, grain = ALONE / look.run + 1;
    pool_for(ctx, runs, grain, look_part, &look);
    return look.least;
}

bool pair_bf16_may_flush(Ctx *ctx, int64_t m, int64_t n, int64_t k, Mat a, Mat b)
{
    return bf16_may_flush(matrix_least(ctx, a, m, k), matrix_least(ctx, b, k, n));
}

static void blocked_run(Ctx *ctx, const PairPlan *p, char *c, const char *a, const char *b)
{
    const PairWhole *w = &p->u.whole;
    char *work = mem_alloc_data(ctx, (size_t)w->work, false);
    w->blocked(ctx, p, c, a, b, work);
    mem_free_data(ctx, work, (size_t)w->work);
}

static void dnnl_run(Ctx *ctx, const PairPlan *p, char *c, const char *a, const char *b, char *work)
{
    const PairWhole *w = &p->u.whole;
    DnnlProduct product = { DT_BF16, w->m, w->n, w->k, { (char *)a, w->a.rs, w->a.cs },
                            { (char *)b, w->b.rs, w->b.cs }, { c, w->c.rs, w->c.cs } };
    (void)work;
    if (pair_bf16_may_flush(ctx, w->m, w->n, w->k, product.a, product.b))
        blocked_run(ctx, p, c, a, b);
    else if (!dnnl_product(ctx, &product))
        mem_raise(ctx, (size_t)(w->m * w->n) * sizeof(float));
}

/* Over the plan of the blocked product, which runs where numbers are too small for oneDNN. */
static void dnnl_make(PairPlan *p, const DnnlProduct *g)
{
    PairWhole *w = &p->u.whole;
    w->blocked = p->run;
    w->work = p->work;
    w->m = g->m, w->n = g->n, w->k = g->k;
    w->a = g->a, w->b = g->b, w->c = g->c;
    p->work = 0;
    p->copied = 0;
    p->run = dnnl_run;
    snprintf(p->kind, sizeof p->kind, "gemm");
    describe(p, "oneDNN");
    snprintf(p->kernel.how, sizeof p->kernel.how, "(%lld×%lld by %lld×%lld)",
             (long long)g->m, (long long)g->k, (long long)g->k, (long long)g->n);
}

static void bf16_make(Ctx *ctx, const PairForm *f, PairPlan *p)
{
    const PairKernel *kernel = pair_kernel_bf16();
    DnnlProduct g;
    pair_block_make(ctx, f, p, kernel ? kernel : &pair_kernel_bf16_portable);
    p->base[PAIR_A] /= 2, p->base[PAIR_B] /= 2;         /* they count bytes of f32 */
    if (kernel && dnnl_matrices(f, &g))
        dnnl_make(p, &g);
    else
        describe(p, kernel ? "AVX512-BF16" : "as AVX512-BF16 does");
}

const PairWay pair_way_bf16 = { bf16_seconds, bf16_make };
