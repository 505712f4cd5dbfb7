/* Two matrices at the places where either has an entry. */
#include "kernels/sparse/merge.h"

static Tensor *spread(Ctx *ctx, Made *made, const Sparse *s, const Tensor *at)
{
    const DType dt = (DType)s->value->dtype;
    Tensor *t = made_vector(ctx, made, dt, at->size);
    sparse_gather(ctx, t->data, s->value->data, (const int64_t *)at->data, at->size,
                  dtype_info(dt)->bytes);
    return t;
}

void sparse_aligned(Ctx *ctx, const Sparse *a, const Sparse *b, Tensor *value[2])
{
    Made made = { 0 };
    if (a->pattern == b->pattern) {
        value[0] = tensor_retain(a->value);
        value[1] = tensor_retain(b->value);
        return;
    }
    const Csr x = sparse_csr(a), y = sparse_csr(b);
    const SparseMerge both = csr_merge(ctx, &made, &x, &y, MERGE_UNION);
    value[0] = spread(ctx, &made, a, both.from_a);
    value[1] = spread(ctx, &made, b, both.from_b);
    made_poll(ctx, &made);
    made_take(&made, value[0]);
    made_take(&made, value[1]);
    made_end(ctx, &made);
}
