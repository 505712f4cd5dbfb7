/* The register of buffers of cells: see cells.h. */
#include "kernels/tensor/cells.h"

#include "core/base/mem.h"

#include <string.h>

enum { BUFFERS_MAX = 1 << 30 };   /* below tensor.c's bit of Buffer.flags */

Cells *cells_try(Ctx *ctx)
{
    Cells *c = ctx->cells;
    if (!c && (c = mem_try_alloc(ctx, sizeof *c)) != NULL) {
        *c = (Cells){ 0 };
        ctx->cells = c;
    }
    return c;
}

static bool enter(Ctx *ctx, Buffer *b)
{
    Cells *c = cells_try(ctx);
    if (!c)
        return false;
    if (c->count == c->cap) {
        size_t cap = c->cap ? 2 * c->cap : 64;
        Buffer **more = cap <= BUFFERS_MAX ? mem_try_alloc(ctx, cap * sizeof *more) : NULL;
        if (!more)
            return false;
        if (c->cap)
            memcpy(more, c->buffers, c->cap * sizeof *more);
        mem_free(ctx, c->buffers, c->cap * sizeof *more);
        c->buffers = more;
        c->cap = cap;
    }
    b->flags = (uint32_t)c->count;
    c->buffers[c->count++] = b;
    return true;
}

static void leave(Ctx *ctx, Buffer *b)
{
    Cells *c = ctx->cells;
    Buffer *last = c->buffers[--c->count];
    c->buffers[b->flags] = last;
    last->flags = b->flags;
    mem_free_data(ctx, b->data, b->bytes);
}

Buffer *cells_buffer(Ctx *ctx, size_t bytes)
{
    char *data = mem_alloc_data(ctx, bytes, true);
    Buffer *b = mem_try_alloc(ctx, sizeof *b);
    if (b)
        *b = (Buffer){ .refs = 1, .bytes = bytes, .data = data, .release = leave };
    if (b && enter(ctx, b))
        return b;
    if (b)
        mem_free(ctx, b, sizeof *b);
    mem_free_data(ctx, data, bytes);
    mem_raise(ctx, sizeof *b);
}

void cells_free(Ctx *ctx)
{
    Cells *c = ctx->cells;
    if (!c)
        return;
    mem_free(ctx, c->buffers, c->cap * sizeof(Buffer *));
    mem_free(ctx, c, sizeof *c);
    ctx->cells = NULL;
}
