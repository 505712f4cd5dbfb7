/* Conversions of operands before a contraction (contract_convert.h). Nothing here raises or
 * allocates. */
#include "kernels/contract/contract_convert.h"

#include "core/memory/pool.h"
#include "kernels/cast/tensor_cast.h"

#include <stdlib.h>

enum { GRAIN = 1 << 15 };

/* Axes that move in x, by falling steps: neighbours in memory stand last. */
static int sort_axes(const Contraction *c, const ContractOperand *x, int *order)
{
    int n = 0;
    for (int l = 0; l < c->labels; l++) {
        if (!(x->labels >> l & 1) || c->extent[l] == 1 || x->stride[l] == 0)
            continue;
        int at = n++;
        for (; at > 0 && llabs(x->stride[order[at - 1]]) < llabs(x->stride[l]); at--)
            order[at] = order[at - 1];
        order[at] = l;
    }
    return n;
}

/* Windows that overlap and matrices that lie nearly dense are converted as they lie: twice the
 * operand at most. All others become contiguous. */
void convert_plan(ContractConvert *v, const Contraction *c, ContractOperand *x)
{
    int order[CONTRACT_LABELS], n = sort_axes(c, x, order);
    double elements = 1;
    int64_t high = 0;
    *v = (ContractConvert){ .from = (DType)x->stored, .to = c->dtype };
    for (int i = 0; i < n; i++) {
        int64_t reach = (c->extent[order[i]] - 1) * x->stride[order[i]];
        *(reach < 0 ? &v->low : &high) += reach;
        elements *= (double)c->extent[order[i]];
    }
    x->stored = 0;
    v->count = elements > 0 ? high - v->low + 1 : 0;
    v->span = n > TENSOR_RANK_MAX || (double)v->count <= 2 * elements;
    if (!v->span) {
        Iter *it = &v->loop;
        int64_t step = 1;
        it->rank = n;
        it->operands = 2;
        for (int i = n - 1; i >= 0; i--) {
            it->shape[i] = c->extent[order[i]];
            it->stride[0][i] = step;
            it->stride[1][i] = x->stride[order[i]];
            x->stride[order[i]] = step;
            step *= it->shape[i];
        }
        it->size = v->count = step;
    }
    v->bytes = (size_t)v->count * dtype_info(v->to)->bytes;
}

typedef struct Job {
    const ContractConvert *v;
    char *to;
    const char *from;
} Job;

static void span_part(void *arg, int64_t begin, int64_t end, int worker)
{
    const Job *j = arg;
    (void)worker;
    cast_run(j->v->to, j->to + begin * dtype_info(j->v->to)->bytes, 1, j->v->from,
             j->from + begin * dtype_info(j->v->from)->bytes, 1, end - begin);
}

/* Elements [begin, end) of the loop, in runs along its last axis. */
static void loop_part(void *arg, int64_t begin, int64_t end, int worker)
{
    const Job *j = arg;
    const Iter *it = &j->v->loop;
    int inner = it->rank - 1;
    int64_t n = it->shape[inner], step = it->stride[1][inner], at[ITER_OPERANDS];
    (void)worker;
    while (begin < end) {
        int64_t row = begin / n, first = begin % n;
        int64_t count = end - begin < n - first ? end - begin : n - first;
        iter_seek(it, inner, row, at);
        cast_run(j->v->to, j->to + begin * dtype_info(j->v->to)->bytes, 1, j->v->from,
                 j->from + (at[1] + first * step) * dtype_info(j->v->from)->bytes, step, count);
        begin += count;
    }
}

void *convert_run(Ctx *ctx, const ContractConvert *v, void *to, const void *from)
{
    if (v->count == 0)                     /* no element, and nothing that is low */
        return to;
    Job j = { v, to, (const char *)from + (v->span ? v->low * dtype_info(v->from)->bytes : 0) };
    PoolFn part = v->span ? span_part : loop_part;
    if (v->count < 2 * GRAIN)
        part(&j, 0, v->count, 0);
    else
        pool_for(ctx, v->count, GRAIN, part, &j);
    return v->span ? (char *)to - v->low * dtype_info(v->to)->bytes : to;
}
