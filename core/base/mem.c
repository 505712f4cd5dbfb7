/* The allocator funnel of mem.h. Three kinds of block, told apart by size alone, so that
 * nothing carries a header:
 *   up to 512 bytes   free lists by 16-byte class, carved from slabs that live until shutdown;
 *   up to 32 KiB      malloc (for mem_alloc: any larger size);
 *   tensor data above rounded to a class (four per doubling) and kept in a cache when freed;
 *                     from 1 MiB on it is mapped, 2 MiB-aligned, with huge pages.
 * Only the interpreter's thread allocates. It never returns NULL: it raises ERR_MEMORY.
 * With RICCI_PLAIN_MALLOC everything is malloc, so that sanitizers see every block. */
#include "core/base/mem.h"
#include "core/system/c_locale.h"
#include "core/base/error.h"
#include "core/base/limit.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

enum {
    SMALL_MAX = 512,
    SLAB_BYTES = 256 << 10,
    REFILL_BYTES = 4 << 10,
    CACHE_MIN = 32 << 10,     /* data blocks from here on are cached when freed */
    MAP_MIN = 1 << 20,        /* and from here on mapped */
    HUGE_PAGE = 2 << 20,
    CACHE_ENTRIES = 64        /* bound on the walk through the cache */
};

typedef struct MemSlab {
    struct MemSlab *next;
    size_t used;
    char *base;               /* SLAB_BYTES, page-aligned */
} MemSlab;

typedef struct MemBig {       /* lies in the first bytes of a cached block */
    struct MemBig *next;
    size_t bytes;             /* its class size */
} MemBig;

/* ---- limits and failure ---- */

static size_t read_number(const char *path) {
    FILE *f = fopen(path, "re");
    unsigned long long n;
    size_t value = SIZE_MAX;
    if (!f) return value;
    if (fscanf(f, "%llu", &n) == 1 && n > 0) value = n;
    fclose(f);
    return value;
}

/* Physical memory, or what the control group allows if that is less. */
static size_t physical_memory(void) {
    long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    size_t total = pages > 0 && page > 0 ? (size_t)pages * (size_t)page : SIZE_MAX / 2;
    size_t group = read_number("/sys/fs/cgroup/memory.max");
    if (group == SIZE_MAX) group = read_number("/sys/fs/cgroup/memory/memory.limit_in_bytes");
    return group < total ? group : total;
}

/* What could be had without swapping; SIZE_MAX where the system does not say. */
static size_t available_memory(void) {
    FILE *f = fopen("/proc/meminfo", "re");
    char line[128];
    size_t bytes = SIZE_MAX;
    if (!f) return bytes;
    while (fgets(line, sizeof line, f)) {
        unsigned long long kib;
        if (sscanf(line, "MemAvailable: %llu", &kib) == 1) { bytes = (size_t)kib << 10; break; }
    }
    fclose(f);
    return bytes;
}

const char *mem_bytes_text(char out[32], double bytes) {
    static const char *const unit[] = { "bytes", "kB", "MB", "GB", "TB", "PB", "EB" };
    int u = 0;
    while (bytes >= 999.5 && u < 6) { bytes /= 1000; u++; }
    c_snprintf(out, 32, bytes < 9.95 && u > 0 ? "%.1f %s" : "%.0f %s", bytes,
               bytes == 1 && u == 0 ? "byte" : unit[u]);
    return out;
}

static _Noreturn void raise_memory(Ctx *ctx, size_t bytes, size_t have, const char *what) {
    const MemAccount *m = &ctx->mem;
    char asked[32], limit[32], help[80] = "", most[32];
    if (ctx->limit && (double)m->limit == ctx->limit->memory)
        snprintf(help, sizeof help, "--limit memory=%s is what this run may use",
                 limit_text(most, ctx->limit->memory));
    err_raise_help(ctx, ERR_MEMORY, help[0] ? help : NULL, "%s asked for, %s of memory%s",
                   mem_bytes_text(asked, (double)bytes), mem_bytes_text(limit, (double)have), what);
}

static void cache_drop(Ctx *ctx, size_t keep);

void mem_check(Ctx *ctx, size_t bytes) {
    MemAccount *m = &ctx->mem;
    if (bytes > m->limit) raise_memory(ctx, bytes, m->limit, "");
    if (m->live + m->cached + bytes > m->limit) cache_drop(ctx, 0);
    if (m->live + bytes > m->limit) raise_memory(ctx, bytes, m->limit - m->live, " left");
    if (bytes < (size_t)256 << 20 || bytes <= m->cached) return;
    size_t have = available_memory();
    if (bytes > have) {
        cache_drop(ctx, 0);
        have = available_memory();
        if (bytes > have) raise_memory(ctx, bytes, have, " left");
    }
}

size_t mem_mul(Ctx *ctx, size_t count, size_t size) {
    size_t bytes;
    if (__builtin_mul_overflow(count, size, &bytes) || bytes > PTRDIFF_MAX)
        err_raise(ctx, ERR_MEMORY, "%zu elements of %zu bytes are more than any memory",
                  count, size);
    return bytes;
}

static inline void count_bytes(MemAccount *m, size_t bytes) {
    m->live += bytes;
    if (m->live > m->peak) m->peak = m->live;
}

static inline bool made_to_fail(MemAccount *m) {
    return __builtin_expect(++m->allocations == m->fail_at, 0);
}

/* Counts an allocation; also where injected failures happen. */
static inline void account(Ctx *ctx, size_t bytes) {
    MemAccount *m = &ctx->mem;
    if (made_to_fail(m))
        err_raise(ctx, ERR_MEMORY, "allocation %" PRIu64 " was made to fail", m->allocations);
    count_bytes(m, bytes);
}

size_t mem_address_limit(void) {
    struct rlimit r;
    return getrlimit(RLIMIT_AS, &r) == 0 && r.rlim_cur != RLIM_INFINITY
           ? (size_t)r.rlim_cur : SIZE_MAX;
}

size_t mem_address_share(size_t most) {
    size_t share = mem_address_limit() / 8 & ~(size_t)0xFFFF;
    return share < most ? share : most;
}

void mem_raise(Ctx *ctx, size_t bytes) {
    size_t limit = mem_address_limit();
    if (limit == SIZE_MAX) raise_memory(ctx, bytes, ctx->mem.limit, "");
    char asked[32], most[32];
    err_raise(ctx, ERR_MEMORY, "%s asked for, and the limit on address space (ulimit -v) is %s",
              mem_bytes_text(asked, (double)bytes), mem_bytes_text(most, (double)limit));
}

void mem_init(Ctx *ctx) {
    ctx->mem = (MemAccount){ .limit = physical_memory() };
#if defined(RICCI_DEBUG) || defined(RICCI_PLAIN_MALLOC)
    const char *nth = getenv("RICCI_FAIL_ALLOC");
    if (nth) ctx->mem.fail_at = strtoull(nth, NULL, 10);
#endif
}

/* ---- system blocks ---- */

void mem_room(Ctx *ctx, size_t bytes) {
    if (mem_address_limit() == SIZE_MAX) return;
    void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED) mem_raise(ctx, bytes);
    munmap(p, bytes);
}

/* A block that was already counted: raises, uncounting it, if it is none. */
static inline void *granted(Ctx *ctx, void *block, size_t bytes) {
    if (__builtin_expect(block != NULL, 1)) return block;
    ctx->mem.live -= bytes;
    mem_raise(ctx, bytes);
}

static void *aligned_block(size_t bytes) {
    void *block;
    return posix_memalign(&block, 64, bytes) == 0 ? block : NULL;
}

#ifdef RICCI_PLAIN_MALLOC

static void cache_drop(Ctx *ctx, size_t keep) { (void)ctx; (void)keep; }

void mem_shutdown(Ctx *ctx) { (void)ctx; }

void *mem_alloc(Ctx *ctx, size_t bytes) {
    if (bytes > SMALL_MAX || ctx->mem.live + bytes > ctx->mem.limit) mem_check(ctx, bytes);
    account(ctx, bytes);
    return granted(ctx, malloc(bytes ? bytes : 1), bytes);
}

void *mem_try_alloc(Ctx *ctx, size_t bytes) {
    void *block = made_to_fail(&ctx->mem) ? NULL : malloc(bytes ? bytes : 1);
    if (block) count_bytes(&ctx->mem, bytes);
    return block;
}

void mem_free(Ctx *ctx, void *block, size_t bytes) {
    if (!block) return;
    ctx->mem.live -= bytes;
    free(block);
}

void *mem_alloc_data(Ctx *ctx, size_t bytes, bool zeroed) {
    mem_check(ctx, bytes);
    account(ctx, bytes);
    void *block = granted(ctx, aligned_block(bytes ? bytes : 1), bytes);
    if (zeroed) memset(block, 0, bytes);
    return block;
}

void mem_free_data(Ctx *ctx, void *block, size_t bytes) { mem_free(ctx, block, bytes); }

#else

/* ---- small blocks ---- */

static inline unsigned small_class(size_t bytes) {
    return bytes ? (unsigned)((bytes + 15) >> 4) : 1;
}

/* Raw memory for one class: a page of the newest slab. Pages are dealt to one class each,
 * so a block whose class is a multiple of 64 bytes is 64-byte aligned. */
static char *slab_page(Ctx *ctx) {
    MemSlab *slab = ctx->mem.slabs;
    if (!slab || slab->used + REFILL_BYTES > SLAB_BYTES) {
        MemSlab *fresh = malloc(sizeof *fresh);
        char *base = fresh ? mmap(NULL, SLAB_BYTES, PROT_READ | PROT_WRITE,
                                  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) : MAP_FAILED;
        if (base == MAP_FAILED) {
            free(fresh);
            return NULL;
        }
        *fresh = (MemSlab){ .next = slab, .base = base };
        ctx->mem.slabs = slab = fresh;
    }
    char *page = slab->base + slab->used;
    slab->used += REFILL_BYTES;
    return page;
}

static __attribute__((noinline)) void *small_refill(Ctx *ctx, unsigned class) {
    size_t step = (size_t)class << 4;
    MemAccount *m = &ctx->mem;
    if (m->live + m->cached + REFILL_BYTES > m->limit) cache_drop(ctx, 0);
    char *page = m->live + REFILL_BYTES > m->limit ? NULL : slab_page(ctx);
    if (!page) return NULL;
    void **link = &ctx->mem.freelists[class];
    for (size_t at = step; at + step <= REFILL_BYTES; at += step) {
        *link = page + at;
        link = (void **)(page + at);
    }
    *link = NULL;
    return page;
}

static inline void *small_alloc(Ctx *ctx, unsigned class) {
    void *block = ctx->mem.freelists[class];
    if (__builtin_expect(!block, 0)) return small_refill(ctx, class);
    ctx->mem.freelists[class] = *(void **)block;
    return block;
}

static inline void small_free(Ctx *ctx, void *block, unsigned class) {
    *(void **)block = ctx->mem.freelists[class];
    ctx->mem.freelists[class] = block;
}

void *mem_alloc(Ctx *ctx, size_t bytes) {
    if (__builtin_expect(bytes <= SMALL_MAX, 1)) {
        account(ctx, bytes);
        return granted(ctx, small_alloc(ctx, small_class(bytes)), bytes);
    }
    mem_check(ctx, bytes);
    account(ctx, bytes);
    return granted(ctx, malloc(bytes), bytes);
}

void *mem_try_alloc(Ctx *ctx, size_t bytes) {
    if (made_to_fail(&ctx->mem)) return NULL;
    void *block = bytes <= SMALL_MAX ? small_alloc(ctx, small_class(bytes)) : malloc(bytes);
    if (block) count_bytes(&ctx->mem, bytes);
    return block;
}

void mem_free(Ctx *ctx, void *block, size_t bytes) {
    if (!block) return;
    ctx->mem.live -= bytes;
    if (__builtin_expect(bytes <= SMALL_MAX, 1)) small_free(ctx, block, small_class(bytes));
    else free(block);
}

/* ---- tensor data ---- */

/* Rounds up to one of four sizes per doubling, so that a freed block fits every request
 * that is at most a quarter smaller and its size follows from the request. */
static size_t data_class(size_t bytes) {
    size_t grain = bytes >= MAP_MIN ? HUGE_PAGE : 4096;
    size_t step = (size_t)1 << (61 - __builtin_clzll(bytes));   /* a quarter of the top bit */
    if (step < grain) step = grain;
    return (bytes + step - 1) & ~(step - 1);
}

static unsigned data_small_class(size_t bytes) {
    return bytes ? (unsigned)((bytes + 63) >> 6) << 2 : 4;
}

/* A mapping that starts on a huge-page boundary. */
static void *map_block(size_t bytes) {
    char *base = mmap(NULL, bytes + HUGE_PAGE, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (base == MAP_FAILED) return NULL;
    size_t skip = -(uintptr_t)base & (HUGE_PAGE - 1);
    if (skip) munmap(base, skip);
    if (skip < HUGE_PAGE) munmap(base + skip + bytes, HUGE_PAGE - skip);
    madvise(base + skip, bytes, MADV_HUGEPAGE);
    return base + skip;
}

static void unmap_block(void *block, size_t class_bytes) {
    if (class_bytes >= MAP_MIN) munmap(block, class_bytes);
    else free(block);
}

static void *cache_take(Ctx *ctx, size_t class_bytes) {
    for (MemBig **at = &ctx->mem.cache; *at; at = &(*at)->next) {
        MemBig *block = *at;
        if (block->bytes != class_bytes) continue;
        *at = block->next;
        ctx->mem.cached -= class_bytes;
        return block;
    }
    return NULL;
}

/* Returns cached blocks to the system, the longest unused first, until `keep` bytes stay. */
static void cache_drop(Ctx *ctx, size_t keep) {
    MemBig **at = &ctx->mem.cache;
    size_t kept = 0;
    int entries = 0;
    while (*at && kept + (*at)->bytes <= keep && entries < CACHE_ENTRIES) {
        kept += (*at)->bytes;
        entries++;
        at = &(*at)->next;
    }
    while (*at) {
        MemBig *block = *at;
        *at = block->next;
        ctx->mem.cached -= block->bytes;
        unmap_block(block, block->bytes);
    }
}

static void cache_put(Ctx *ctx, void *data, size_t class_bytes) {
    size_t bound = ctx->mem.limit / 8;
    MemBig *block = data;
    if (bound > (size_t)1 << 30) bound = (size_t)1 << 30;
    if (class_bytes > bound) {
        unmap_block(data, class_bytes);
        return;
    }
    *block = (MemBig){ .next = ctx->mem.cache, .bytes = class_bytes };
    ctx->mem.cache = block;
    ctx->mem.cached += class_bytes;
    cache_drop(ctx, bound);
}

static void *large_alloc(Ctx *ctx, size_t bytes, bool zeroed) {
    size_t class_bytes = data_class(bytes);
    void *block = cache_take(ctx, class_bytes);
    bool fresh = !block && class_bytes >= MAP_MIN;
    if (fresh) {
        block = map_block(class_bytes);
        if (!block && ctx->mem.cache) {
            cache_drop(ctx, 0);
            block = map_block(class_bytes);
        }
    } else if (!block) {
        block = aligned_block(class_bytes);
    }
    granted(ctx, block, bytes);
    if (zeroed && !fresh) memset(block, 0, bytes);
    return block;
}

void *mem_alloc_data(Ctx *ctx, size_t bytes, bool zeroed) {
    void *block;
    if (bytes <= SMALL_MAX) {
        account(ctx, bytes);
        block = granted(ctx, small_alloc(ctx, data_small_class(bytes)), bytes);
    } else {
        mem_check(ctx, bytes);
        account(ctx, bytes);
        if (bytes >= CACHE_MIN) return large_alloc(ctx, bytes, zeroed);
        block = granted(ctx, aligned_block(bytes), bytes);
    }
    if (zeroed) memset(block, 0, bytes);
    return block;
}

void mem_free_data(Ctx *ctx, void *block, size_t bytes) {
    if (!block) return;
    ctx->mem.live -= bytes;
    if (bytes <= SMALL_MAX) small_free(ctx, block, data_small_class(bytes));
    else if (bytes >= CACHE_MIN) cache_put(ctx, block, data_class(bytes));
    else free(block);
}

void mem_shutdown(Ctx *ctx) {
    cache_drop(ctx, 0);
    for (MemSlab *slab = ctx->mem.slabs, *next; slab; slab = next) {
        next = slab->next;
        munmap(slab->base, SLAB_BYTES);
        free(slab);
    }
    ctx->mem.slabs = NULL;
    memset(ctx->mem.freelists, 0, sizeof ctx->mem.freelists);
}

#endif

/* ---- on top of the above ---- */

void *mem_zalloc(Ctx *ctx, size_t bytes) {
    if (bytes <= SMALL_MAX) return memset(mem_alloc(ctx, bytes), 0, bytes);
    mem_check(ctx, bytes);
    account(ctx, bytes);
    return granted(ctx, calloc(1, bytes), bytes);
}

void *mem_realloc(Ctx *ctx, void *old, size_t old_bytes, size_t bytes) {
    if (!old) return mem_alloc(ctx, bytes);
    if (old_bytes > SMALL_MAX && bytes > SMALL_MAX) {
        if (bytes > old_bytes) mem_check(ctx, bytes - old_bytes);
        account(ctx, 0);
        void *block = realloc(old, bytes);
        if (!block) mem_raise(ctx, bytes);
        count_bytes(&ctx->mem, bytes - old_bytes);
        return block;
    }
    void *block = mem_alloc(ctx, bytes);
    memcpy(block, old, old_bytes < bytes ? old_bytes : bytes);
    mem_free(ctx, old, old_bytes);
    return block;
}

char *mem_strdup(Ctx *ctx, const char *text) {
    size_t bytes = strlen(text) + 1;
    return memcpy(mem_alloc(ctx, bytes), text, bytes);
}
