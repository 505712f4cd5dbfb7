/* Blocks of a hold stand in a list, each behind a head of 32 bytes. */
#include "kernels/elimination/hold.h"

#include "core/base/error.h"

#include <string.h>

struct HoldBlock {
    HoldBlock *next, **link;
    size_t bytes, unused;
};

static void enter(Hold *h, HoldBlock *b, size_t bytes)
{
    *b = (HoldBlock){ .next = h->first, .link = &h->first, .bytes = bytes };
    if (b->next)
        b->next->link = &b->next;
    h->first = b;
    h->bytes += bytes;
}

static void leave(Hold *h, HoldBlock *b)
{
    *b->link = b->next;
    if (b->next)
        b->next->link = b->link;
    h->bytes -= b->bytes;
}

static size_t bytes_of(Hold *h, int64_t count, size_t each)
{
    const size_t bytes = mem_mul(h->ctx, (size_t)count, each);
    return bytes > SIZE_MAX - sizeof(HoldBlock) ? SIZE_MAX : bytes + sizeof(HoldBlock);
}

void *hold_new(Hold *h, int64_t count, size_t each)
{
    const size_t bytes = bytes_of(h, count, each);
    HoldBlock *b = mem_alloc(h->ctx, bytes);
    enter(h, b, bytes);
    return b + 1;
}

void *hold_zero(Hold *h, int64_t count, size_t each)
{
    const size_t bytes = bytes_of(h, count, each);
    HoldBlock *b = mem_zalloc(h->ctx, bytes);
    enter(h, b, bytes);
    return b + 1;
}

void *hold_grow(Hold *h, void *old, int64_t count, size_t each)
{
    if (!old)
        return hold_new(h, count, each);
    HoldBlock *b = (HoldBlock *)old - 1;
    const size_t before = b->bytes, bytes = bytes_of(h, count, each);
    HoldBlock *moved = mem_realloc(h->ctx, b, before, bytes);
    moved->bytes = bytes;
    *moved->link = moved;
    if (moved->next)
        moved->next->link = &moved->next;
    h->bytes += bytes - before;
    return moved + 1;
}

void hold_drop(Hold *h, void *block)
{
    if (!block)
        return;
    HoldBlock *b = (HoldBlock *)block - 1;
    leave(h, b);
    mem_free(h->ctx, b, b->bytes);
}

void hold_end(Hold *h)
{
    while (h->first)
        hold_drop(h, h->first + 1);
}

void hold_look(Hold *h)
{
    h->work = 0;
    if (h->ctx->interrupt && *h->ctx->interrupt)
        err_interrupted(h->ctx);
}
