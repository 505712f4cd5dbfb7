/* Reserved address ranges: see reserve.h. Ranges below a few pages are ordinary blocks filled
 * with ones (nan, -1), since a mapping each would cost more than it shows; sanitizer builds
 * map them all. */
#include "core/memory/reserve.h"
#include "core/base/mem.h"

#include <string.h>
#include <sys/mman.h>

#ifdef RICCI_PLAIN_MALLOC
enum { MAPPED_FROM = 1 };
#else
enum { MAPPED_FROM = 1 << 16 };
#endif

static size_t mapped_bytes(size_t bytes) {
    return (bytes + 4095) & ~(size_t)4095;
}

char *reserve_open(Ctx *ctx, size_t bytes) {
    if (bytes < MAPPED_FROM) {
        char *block = mem_alloc_data(ctx, bytes, false);
        memset(block, 0xff, bytes);
        return block;
    }
    void *range = mmap(NULL, mapped_bytes(bytes), PROT_NONE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (range == MAP_FAILED) mem_raise(ctx, bytes);
    return range;
}

void reserve_commit(Ctx *ctx, char *range, size_t bytes) {
    if (bytes < MAPPED_FROM) return;
    mem_check(ctx, bytes);
    if (mprotect(range, mapped_bytes(bytes), PROT_READ | PROT_WRITE) != 0) mem_raise(ctx, bytes);
    ctx->mem.live += bytes;
    if (ctx->mem.live > ctx->mem.peak) ctx->mem.peak = ctx->mem.live;
}

void reserve_decommit(Ctx *ctx, char *range, size_t bytes) {
    if (bytes < MAPPED_FROM) {
        memset(range, 0xff, bytes);
        return;
    }
    madvise(range, mapped_bytes(bytes), MADV_DONTNEED);
    mprotect(range, mapped_bytes(bytes), PROT_NONE);
    ctx->mem.live -= bytes;
}

void reserve_close(Ctx *ctx, char *range, size_t bytes, bool committed) {
    if (bytes < MAPPED_FROM) {
        mem_free_data(ctx, range, bytes);
        return;
    }
    munmap(range, mapped_bytes(bytes));
    if (committed) ctx->mem.live -= bytes;
}
