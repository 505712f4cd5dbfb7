/* The plain nest: picks the innermost index by its strides, walks the others with an
 * odometer, and shares the outermost index of the result among threads. */
#include "kernels/einsum.h"
#include "core/pool.h"
#include "kernels/reduce_complex.h"

#include <string.h>

/* Integers are the unsigned type of their width: sums and products wrap without undefined
 * behaviour and have the same bits. */
#define T uint8_t
#define NAME(f) u8_##f
#define ADD(a, b) (uint8_t)((a) + (b))
#define MUL(a, b) (uint8_t)((a) * (b))
#include "kernels/einsum_inner.tmpl.h"

#define T uint8_t
#define NAME(f) bool_##f
#define ADD(a, b) (uint8_t)((a) | (b))
#define MUL(a, b) (uint8_t)((a) & (b))
#include "kernels/einsum_inner.tmpl.h"

#define T uint32_t
#define NAME(f) u32_##f
#define ADD(a, b) ((a) + (b))
#define MUL(a, b) ((a) * (b))
#include "kernels/einsum_inner.tmpl.h"

#define T uint64_t
#define NAME(f) u64_##f
#define ADD(a, b) ((a) + (b))
#define MUL(a, b) ((a) * (b))
#include "kernels/einsum_inner.tmpl.h"

#define T float
#define NAME(f) f32_##f
#define ADD(a, b) ((a) + (b))
#define MUL(a, b) ((a) * (b))
#include "kernels/einsum_inner.tmpl.h"

#define T double
#define NAME(f) f64_##f
#define ADD(a, b) ((a) + (b))
#define MUL(a, b) ((a) * (b))
#include "kernels/einsum_inner.tmpl.h"

#define T float _Complex
#define NAME(f) c64_##f
#define ADD(a, b) ((a) + (b))
#define MUL(a, b) times_c64(a, b)
#include "kernels/einsum_inner.tmpl.h"

#define T double _Complex
#define NAME(f) c128_##f
#define ADD(a, b) ((a) + (b))
#define MUL(a, b) times_c128(a, b)
#include "kernels/einsum_inner.tmpl.h"

typedef void (*InnerFn)(char *, int64_t, const char *const *, const int64_t *, int, int64_t);

static const InnerFn inner_table[DT_COUNT] = {
    [DT_BOOL] = bool_inner, [DT_I8] = u8_inner, [DT_U8] = u8_inner, [DT_I32] = u32_inner,
    [DT_I64] = u64_inner, [DT_F32] = f32_inner, [DT_F64] = f64_inner, [DT_C64] = c64_inner,
    [DT_C128] = c128_inner,
};

DType einsum_compute_dtype(DType dt)
{
    return dt == DT_F16 || dt == DT_BF16 ? DT_F32 : dt;
}

typedef struct Nest {
    const EinsumNest *plan;
    InnerFn inner;
    int64_t bytes;
    int order[EINSUM_INDICES];      /* outermost first; the last one is the inner loop */
    char *out;
    const char *in[EINSUM_OPERANDS];
    volatile sig_atomic_t *interrupt;
} Nest;

/* How badly index i suits the inner loop: strides that are neither 0 nor 1 cost, short
 * loops cost more. */
static int64_t inner_cost(const EinsumNest *p, int i)
{
    int64_t cost = p->out[i] > 1 ? 4 : 0;
    for (int k = 0; k < p->operands; k++)
        cost += p->in[k][i] != 0 && p->in[k][i] != 1 ? 4 : 0;
    cost += p->kept[i] ? 0 : 1;
    return p->n[i] < 8 ? cost + 8 : cost;
}

/* The result's indices outside, by decreasing stride, summed ones inside in their order,
 * then the inner one. */
static void order_indices(Nest *nest)
{
    const EinsumNest *p = nest->plan;
    int best = 0, k = 0;
    for (int i = 1; i < p->indices; i++)
        if (inner_cost(p, i) < inner_cost(p, best))
            best = i;
    for (int pass = 1; pass >= 0; pass--)
        for (int i = 0; i < p->indices; i++)
            if (i != best && p->kept[i] == (bool)pass)
                nest->order[k++] = i;
    nest->order[k] = best;
}

/* The indices order[level…], with the operands at their offsets. */
static void walk(const Nest *nest, int level, char *out, const char *const *in)
{
    const EinsumNest *p = nest->plan;
    int i = nest->order[level];
    if (level == p->indices - 1) {
        int64_t stride[EINSUM_OPERANDS];
        for (int k = 0; k < p->operands; k++)
            stride[k] = p->in[k][i];
        nest->inner(out, p->out[i], in, stride, p->operands, p->n[i]);
        return;
    }
    const char *at[EINSUM_OPERANDS];
    memcpy(at, in, (size_t)p->operands * sizeof *at);
    for (int64_t v = 0; v < p->n[i] && !*nest->interrupt; v++) {
        walk(nest, level + 1, out + v * p->out[i] * nest->bytes, at);
        for (int k = 0; k < p->operands; k++)
            at[k] += p->in[k][i] * nest->bytes;
    }
}

/* A share of the outermost index, which is one of the result. */
static void walk_share(void *arg, int64_t begin, int64_t end, int worker)
{
    const Nest *nest = arg;
    const EinsumNest *p = nest->plan;
    int i = nest->order[0];
    const char *at[EINSUM_OPERANDS];
    (void)worker;
    for (int64_t v = begin; v < end; v++) {
        for (int k = 0; k < p->operands; k++)
            at[k] = nest->in[k] + v * p->in[k][i] * nest->bytes;
        walk(nest, 1, nest->out + v * p->out[i] * nest->bytes, at);
    }
}

void einsum_run(Ctx *ctx, const EinsumNest *plan, DType compute, void *out, const void *const *in)
{
    Nest nest = { .plan = plan, .inner = inner_table[compute], .bytes = dtype_info[compute].bytes,
                  .out = out, .interrupt = ctx->interrupt };
    EinsumNest scalar;
    double work = 1;
    for (int k = 0; k < plan->operands; k++)
        nest.in[k] = in[k];
    if (plan->indices == 0) {
        scalar = *plan;
        scalar.indices = 1;
        scalar.n[0] = 1;
        nest.plan = plan = &scalar;
    }
    for (int i = 0; i < plan->indices; i++)
        work *= (double)plan->n[i];
    order_indices(&nest);
    int first = nest.order[0];
    if (work > 1e5 && plan->indices > 1 && plan->kept[first] && plan->n[first] > 1)
        pool_for(ctx, plan->n[first], 1, walk_share, &nest);
    else
        walk(&nest, 0, out, nest.in);
}
