/* Loading of GMP and the memory it works in: see gmp.h. The library's allocation functions
 * take no context and must not fail, so the state behind them is the thread's: a reserve
 * that is larger than what one operation on numbers of ordinary size can ask for, given
 * away when malloc has nothing left. An operation on longer numbers is preceded by
 * gmp_probe. Memory is malloc's, as GMP's own functions have it, so that a program which
 * embeds Ricci and uses GMP itself can free what either made. */
#include "kernels/rational/gmp.h"
#include "core/system/library.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { RESERVE = 8 << 20 };       /* untouched, it takes address space only */

typedef struct Meter {
    void *reserve;
    size_t live, limit;
    bool spent;
} Meter;

static _Thread_local Meter meter;

static void count(size_t bytes)
{
    meter.live += bytes;
    meter.spent |= meter.limit && meter.live > meter.limit && (ptrdiff_t)meter.live > 0;
}

/* The block that malloc did not give, out of the reserve. */
static void *last_resort(void *old, size_t bytes)
{
    meter.spent = true;
    free(meter.reserve);
    meter.reserve = NULL;
    void *block = realloc(old, bytes);
    if (!block) {
        fputs("ricci: no memory is left for a big number\n", stderr);
        abort();
    }
    return block;
}

static void *gmp_alloc(size_t bytes)
{
    void *block = malloc(bytes);
    count(bytes);
    return block ? block : last_resort(NULL, bytes);
}

static void *gmp_realloc(void *old, size_t old_bytes, size_t bytes)
{
    void *block = realloc(old, bytes);
    count(bytes - old_bytes);
    return block ? block : last_resort(old, bytes);
}

static void gmp_free(void *block, size_t bytes)
{
    meter.live -= bytes;
    free(block);
}

bool gmp_begin(size_t limit)
{
    meter.spent = false;
    meter.limit = limit;
    if (!meter.reserve)
        meter.reserve = malloc(RESERVE);
    return meter.reserve != NULL;
}

void gmp_end(void)
{
    free(meter.reserve);
    meter.reserve = NULL;
}

bool gmp_spent(void) { return meter.spent; }

bool gmp_probe(size_t bytes)
{
    if (bytes < RESERVE / 8)
        return true;
    void *block = malloc(bytes);
    free(block);
    return block && (!meter.limit || bytes <= meter.limit);
}

/* ---- loading ---- */

typedef struct Library {
    Gmp gmp;
    const char *why;             /* NULL: ready */
} Library;

static Library library;
static pthread_once_t library_once = PTHREAD_ONCE_INIT;

static void library_load(void)
{
#define SYMBOL2(name) #name
#define SYMBOL(name) SYMBOL2(name)
#define ROUTINE(name) { SYMBOL(name), &library.gmp.name },
    __typeof__(mp_set_memory_functions) *set_memory;
    const LibraryEntry entries[] = {
#include "kernels/rational/gmp.def"
        { SYMBOL(mp_set_memory_functions), &set_memory },
    };
#undef ROUTINE
    const char *lacks;
    if (library_open("libgmp.so.10", entries, sizeof entries / sizeof *entries, &lacks))
        set_memory(gmp_alloc, gmp_realloc, gmp_free);
    else if (lacks)
        library.why =
            "libgmp.so.10 lacks a routine; install the package libgmp10 in its version 6 or newer";
    else
        library.why =
            "the library of exact arithmetic GMP was not found (libgmp.so.10); on Debian and "
                      "Ubuntu it is in the package libgmp10";
}

const Gmp *gmp_open(const char **why)
{
    pthread_once(&library_once, library_load);
    if (library.why && why)
        *why = library.why;
    return library.why ? NULL : &library.gmp;
}
