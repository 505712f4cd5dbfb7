/* SuiteSparse's memory and its way out. What a factorization allocates goes through the account
 * and stands in the factorization's own heap, so that it can be forgotten at once: the calls of
 * BLAS in which the libraries spend their time pass here (the entries of their tables of the
 * dynamic linker are changed, linker_table.h), look at the interrupt flag, and raise out of the
 * library, which owns no locks. Its functions for memory and those tables are the process's, so
 * only the program `ricci` asks for this, and not where somebody else opened the libraries
 * before. */
#include "kernels/elimination/suitesparse.h"

#include "core/base/error.h"
#include "core/system/library.h"
#include "kernels/blas/blas_stop.h"
#include "kernels/blas/entries.h"
#include "kernels/blas/linker_table.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

typedef struct SsBlock {
    struct SsBlock *next, **link;
    SsHeap *heap;                        /* NULL: nobody's, from malloc itself */
    size_t bytes;
} SsBlock;

static bool allowed, installed;
/* Whose factorization this thread is inside of. */
static _Thread_local SsHeap *inside;

void suitesparse_allow(void)
{
    allowed = true;
}

/* ---- memory ---- */
static SsBlock *block_of(SsHeap *heap, size_t bytes)
{
    ErrFrame frame;
    if (bytes > SIZE_MAX - sizeof(SsBlock))
        return NULL;
    bytes += sizeof(SsBlock);
    if (!heap)
        return malloc(bytes);
    if (ERR_TRY(heap->ctx, &frame)) {
        SsBlock *b = mem_alloc(heap->ctx, bytes);
        ERR_END(heap->ctx, &frame);
        return b;
    }
    err_free(heap->ctx->error);
    heap->ctx->error = NULL;
    return NULL;
}

static void *take(size_t bytes)
{
    SsHeap *heap = inside;
    SsBlock *b = heap && heap->ctx->interrupt && *heap->ctx->interrupt ? NULL
                                                                      : block_of(heap, bytes);
    if (!b)
        return NULL;
    *b = (SsBlock){ .heap = heap, .bytes = bytes + sizeof *b };
    if (heap) {
        b->next = heap->first;
        b->link = &heap->first;
        if (b->next)
            b->next->link = &b->next;
        heap->first = b;
    }
    return b + 1;
}

static void give(void *p)
{
    SsBlock *b = (SsBlock *)p - 1;
    if (!p)
        return;
    if (!b->heap) {
        free(b);
        return;
    }
    *b->link = b->next;
    if (b->next)
        b->next->link = b->link;
    mem_free(b->heap->ctx, b, b->bytes);
}

static void *take_zeros(size_t count, size_t each)
{
    if (each && count > SIZE_MAX / each)
        return NULL;
    void *p = take(count * each);
    return p ? memset(p, 0, count * each) : NULL;
}

static void *take_again(void *p, size_t bytes)
{
    void *to = take(bytes);
    if (to && p) {
        const size_t had = ((SsBlock *)p - 1)->bytes - sizeof(SsBlock);
        memcpy(to, p, had < bytes ? had : bytes);
        give(p);
    }
    return to;
}

/* ---- the calls of BLAS and LAPACK ---- */
#define ENTRIES(X)                                                                               \
    X(dgemm) X(zgemm) X(dgemv) X(zgemv) X(dsyrk) X(zherk) X(dpotrf) X(zpotrf) X(dtrsm) X(ztrsm)  \
    X(dtrsv) X(ztrsv) X(dger) X(zgeru) X(dlarf) X(zlarf) X(dlarfb) X(zlarfb)

static void look(void)
{
    if (inside)
        blas_stop_poll();
}

#define LOOK() look()
enum { ENTRIES(ENTRY_AT) ENTRY_COUNT };
static Routine routine[ENTRY_COUNT];
ENTRIES(ENTRY)

static const struct { const char *name; LinkedFn own; } entries[] = {
#define X(name) { #name "_", (LinkedFn)enter_##name },
    ENTRIES(X)
#undef X
};

/* Twice over the table: what stands there is known before anybody comes. */
static bool lead(void *handle)
{
    LinkerTable t;
    LinkerSlot slot;
    if (!linker_table_of(handle, &t) || !linker_table_open(&t))
        return false;
    for (int pass = 0; pass < 2; pass++)
        for (size_t i = 0; linker_table_next(&t, &i, &slot);)
            for (size_t k = 0; k < ENTRY_COUNT; k++) {
                LinkedFn own = entries[k].own;
                if (strcmp(slot.name, entries[k].name) != 0)
                    continue;
                if (pass)
                    *slot.at = own;
                else if (!routine[k])
                    routine[k] = (Routine)*slot.at;
            }
    linker_table_close(&t);
    return true;
}

/* ---- the library's functions for memory ---- */
/* SuiteSparse_config to version 6; later ones have functions that set these. */
typedef struct Config {
    void *(*malloc_func)(size_t);
    void *(*calloc_func)(size_t, size_t);
    void *(*realloc_func)(void *, size_t);
    void (*free_func)(void *);
} Config;

static bool set_later(void *handle)
{
    void (*set[4])(void *);
    static const char *const names[] = {
        "SuiteSparse_config_malloc_func_set", "SuiteSparse_config_calloc_func_set",
        "SuiteSparse_config_realloc_func_set", "SuiteSparse_config_free_func_set",
    };
    void (*const own[4])(void) = { (LinkedFn)take, (LinkedFn)take_zeros, (LinkedFn)take_again,
                                   (LinkedFn)give };
    for (int i = 0; i < 4; i++)
        if (!library_symbol(handle, names[i], &set[i]))
            return false;
    for (int i = 0; i < 4; i++) {
        void *fn;
        memcpy(&fn, &own[i], sizeof fn);
        set[i](fn);
    }
    return true;
}

static bool set_memory(void *handle)
{
    Config *config;
    if (set_later(handle))
        return true;
    if (!library_symbol(handle, "SuiteSparse_config", &config) || config->malloc_func != malloc ||
        config->calloc_func != calloc || config->realloc_func != realloc ||
        config->free_func != free)
        return false;
    *config = (Config){ take, take_zeros, take_again, give };
    return true;
}

bool suitesparse_heap_first(void)
{
    static const char *const files[] = { "libsuitesparseconfig.so.5", "libsuitesparseconfig.so.6",
                                         "libsuitesparseconfig.so.7" };
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        if (dlopen(files[i], RTLD_LAZY | RTLD_NOLOAD))
            return allowed = false;
    return allowed;
}

void suitesparse_heap_install(void *const handles[SS_LIBRARIES])
{
    if (!allowed)
        return;
    for (int i = 0; i < SS_LIBRARIES; i++)
        if (handles[i] && i != SS_KLU && !lead(handles[i]))
            return;
    for (int i = 0; i < SS_LIBRARIES && !installed; i++)
        installed = handles[i] && set_memory(handles[i]);
}

/* ---- factorizations ---- */
void suitesparse_inside(Elimination *e)
{
    if (installed && !e->heap) {
        e->heap = hold_zero(e->hold, 1, sizeof *e->heap);
        e->heap->ctx = e->ctx;
    }
    inside = e->heap;
    if (!e->heap)
        return;
    e->heap->ctx = e->ctx;
    blas_stop_by(e->ctx);
}

bool suitesparse_outside(void)
{
    const bool was = inside != NULL;
    inside = NULL;
    return was;
}

bool suitesparse_forget(Elimination *e)
{
    SsHeap *heap = e->heap;
    if (!heap)
        return false;
    suitesparse_outside();
    heap->ctx = e->ctx;
    while (heap->first)
        give(heap->first + 1);
    return true;
}
