/* Tensors over mapped files: see mapped.h. tensor.c releases the buffer when only the
 * mapping's own reference is left. */
#include "kernels/tensor/mapped.h"
#include "core/base/error.h"
#include "core/memory/mapping.h"

static void unmap(Ctx *ctx, Buffer *b)
{
    mapping_close(ctx, b->data);
}

Tensor *tensor_map(Ctx *ctx, int fd, size_t bytes, const char *name)
{
    char *data = mapping_open(ctx, fd, bytes, name);
    if (!data)
        return NULL;
    int64_t n = (int64_t)bytes;
    ErrFrame frame;
    if (!ERR_TRY(ctx, &frame)) {
        mapping_close(ctx, data);
        err_rethrow(ctx);
    }
    Tensor *t = tensor_adopt(ctx, DT_U8, 1, &n, data, bytes, unmap);
    ERR_END(ctx, &frame);
    t->buffer->flags |= BUFFER_MAPPED;
    t->buffer->refs++;
    return t;
}
