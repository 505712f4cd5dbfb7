/* What a kernel has made so far. */
#include "kernels/sparse/sparse.h"

#include "core/base/error.h"

#include <string.h>

void made_end(Ctx *ctx, Made *made)
{
    while (made->count)
        tensor_release(ctx, made->tensor[--made->count]);
}

Tensor *made_tensor(Ctx *ctx, Made *made, DType dt, int rank, const int64_t *shape)
{
    ErrFrame frame;
    assert(made->count < MADE_MAX);
    if (ERR_TRY(ctx, &frame)) {
        Tensor *t = tensor_new(ctx, dt, rank, shape);
        ERR_END(ctx, &frame);
        return made->tensor[made->count++] = t;
    }
    made_end(ctx, made);
    err_rethrow(ctx);
}

Tensor *made_vector(Ctx *ctx, Made *made, DType dt, int64_t n)
{
    return made_tensor(ctx, made, dt, 1, &n);
}

Tensor *made_copy(Ctx *ctx, Made *made, const Tensor *t)
{
    Tensor *copy = made_tensor(ctx, made, (DType)t->dtype, t->rank, tensor_shape(t));
    tensor_copy_into(ctx, copy, t);
    return copy;
}

Tensor *made_transposed(Ctx *ctx, Made *made, Tensor *t)
{
    ErrFrame frame;
    assert(made->count < MADE_MAX);
    if (ERR_TRY(ctx, &frame)) {
        Tensor *view = tensor_transpose_last(ctx, t);
        ERR_END(ctx, &frame);
        return made->tensor[made->count++] = view;
    }
    made_end(ctx, made);
    err_rethrow(ctx);
}

Tensor *made_pattern(Ctx *ctx, Made *made, int64_t m, int64_t entries)
{
    Tensor *t = made_vector(ctx, made, DT_I64, m + 1 + entries);
    memset(t->data, 0, (size_t)(m + 1) * sizeof(int64_t));
    return t;
}

void made_poll(Ctx *ctx, Made *made)
{
    if (!ctx->interrupt || !*ctx->interrupt)
        return;
    made_end(ctx, made);
    err_interrupted(ctx);
}

void made_drop(Ctx *ctx, Made *made, Tensor *t)
{
    tensor_release(ctx, made_take(made, t));
}

Tensor *made_take(Made *made, Tensor *t)
{
    int i = 0;
    while (made->tensor[i] != t)
        i++;
    made->tensor[i] = made->tensor[--made->count];
    return t;
}
