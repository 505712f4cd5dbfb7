/* Loading of BLAS and LAPACK: one table of entry points for the whole process, filled on first use
 * (blas.h, blas.def). dlopen gives a process one copy of a library and one thread count with it,
 * so this table belongs to the process and not to an interpreter; it is written once and only read
 * afterwards. */
#include "kernels/blas/blas.h"

#include "core/system/c_locale.h"
#include "core/system/held_signals.h"
#include "kernels/blas/blas_stop.h"
#include "kernels/blas/lapacke.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char MISSING[] =
    "the linear algebra library OpenBLAS was not found (libopenblas.so.0, or liblapack.so.3 "
    "with libblas.so.3); on Debian and Ubuntu it is in the package libopenblas0-pthread";
static const char NO_ROOM[] =
    "OpenBLAS needs 128 MB of addresses for a buffer, which the limit on address space (ulimit -v) "
    "does not leave";

typedef struct Library {
    pthread_mutex_t lock;
    _Atomic bool ready, named;   /* named: it is settled by which names LAPACK is called */
    Blas blas;
    void *handles[2];            /* where symbols are looked for, in this order */
    BlasRefusal why;             /* text NULL: never tried */
    char text[256];
} Library;

static Library library = { .lock = PTHREAD_MUTEX_INITIALIZER };

static void *library_symbol(const char *name)
{
    void *found = library.handles[0] ? dlsym(library.handles[0], name) : NULL;
    if (!found && library.handles[1])
        found = dlsym(library.handles[1], name);
    return found;
}

/* Fills fn[4] with the s, d, c and z forms. False if one that has a name is absent. */
static bool routine_load(void **fn, const char *real, const char *cplx)
{
    for (int t = 0; t < BLAS_TYPES; t++) {
        const char *name = t < BLAS_C ? real : cplx;
        char symbol[32];
        if (!name)
            continue;
        snprintf(symbol, sizeof symbol, "%c%s_", "sdcz"[t], name);
        fn[t] = library_symbol(symbol);
        if (!fn[t]) {
            snprintf(library.text, sizeof library.text,
                     "%s has no routine %s; install the package libopenblas0-pthread",
                     library.blas.name, symbol);
            return false;
        }
    }
    return true;
}

/* A library that is there, and could not be loaded for want of memory? */
static bool library_starved(void)
{
    const char *why = c_dlerror();            /* in English, whatever the locale: it is read here */
    bool starved = why && (strstr(why, "map segment") || strstr(why, "annot allocate") ||
                           strstr(why, "annot create") || strstr(why, "memory"));
    if (starved)
        snprintf(library.text, sizeof library.text,
                 "there is not enough memory to load OpenBLAS: %s", why);
    return starved;
}

static bool library_find(void)
{
    /* OpenBLAS starts its threads when it is loaded, one per core, and each takes memory.
     * They are rarely wanted (the pool of Ricci splits products), so it is loaded with one
     * and grows when blas_enter asks, unless the user has said otherwise. */
    bool asked = getenv("OPENBLAS_NUM_THREADS") != NULL;
    if (!asked)
        setenv("OPENBLAS_NUM_THREADS", "1", 0);
    library.blas.name = "OpenBLAS";
    sigset_t before;
    signals_hold(&before);
    library.handles[0] = dlopen("libopenblas.so.0", RTLD_NOW | RTLD_LOCAL);
    signals_let(&before);
    if (!asked)
        unsetenv("OPENBLAS_NUM_THREADS");
    library.why = (BlasRefusal){ MISSING, false };
    if (!library.handles[0] && library_starved()) {
        library.why = (BlasRefusal){ library.text, true };
        return false;
    }
    if (!library.handles[0]) {
        library.blas.name = "the reference LAPACK";
        library.handles[0] = dlopen("liblapack.so.3", RTLD_NOW | RTLD_LOCAL);
        library.handles[1] = dlopen("libblas.so.3", RTLD_NOW | RTLD_LOCAL);
    }
    return library.handles[0] != NULL;
}

static void library_entry(void *at, const char *name)
{
    void *found = library_symbol(name);
    memcpy(at, &found, sizeof found);
}

static bool library_load(void)
{
    Blas *b = &library.blas;
    if (!library.handles[0] && !library_find())
        return false;
    library.why = (BlasRefusal){ library.text, false };
#define ROUTINE(id, real, cplx, proto)                         \
    if (!routine_load((void **)b->id, real, cplx))          \
        return false;
#define LAPACK(id, real, cplx, args)                           \
    if (!routine_load((void **)b->fortran[ROW_##id], real, cplx)) \
        return false;
#include "kernels/blas/blas.def"
#undef LAPACK
#undef ROUTINE
    library_entry(&b->set_threads, "openblas_set_num_threads");
    library_entry(&b->buffer_take, "blas_memory_alloc");
    library_entry(&b->buffer_give, "blas_memory_free");
    if (!b->buffer_give)
        b->buffer_take = NULL;
    library.why = (BlasRefusal){ NO_ROOM, true };
    if (!blas_room_first(b))
        return false;
    blas_stop_install(b, library.handles[0]);
    return true;
}

/* What had no room is tried again: it may have some by then. */
const Blas *blas_open(BlasRefusal *why)
{
    if (!atomic_load_explicit(&library.ready, memory_order_acquire)) {
        pthread_mutex_lock(&library.lock);
        if (!library.ready && (!library.why.text || library.why.memory) && library_load())
            library.ready = true;
        if (!library.ready && why)
            *why = library.why;
        pthread_mutex_unlock(&library.lock);
    }
    return library.ready ? &library.blas : NULL;
}

/* Apart, since LAPACKE is one more library to load, which products do without. */
const Blas *lapack_open(BlasRefusal *why)
{
    const Blas *found = blas_open(why);
    if (!found || atomic_load_explicit(&library.named, memory_order_acquire))
        return found;
    pthread_mutex_lock(&library.lock);
    if (!library.named)
        library.blas.by_lapacke = lapacke_open(&library.blas, library.handles[0]);
    library.named = true;
    pthread_mutex_unlock(&library.lock);
    return found;
}

BlasType blas_type(DType dt)
{
    switch (dt) {
    case DT_F32: return BLAS_S;
    case DT_F64: return BLAS_D;
    case DT_C64: return BLAS_C;
    case DT_C128: return BLAS_Z;
    default: return BLAS_TYPES;
    }
}

typedef struct Constants { float s; double d; float c[2]; double z[2]; } Constants;

static const void *constant_of(const Constants *k, BlasType t)
{
    const void *const forms[] = { &k->s, &k->d, k->c, k->z };
    return forms[t];
}

const void *blas_one(BlasType t)
{
    static const Constants one = { 1, 1, { 1, 0 }, { 1, 0 } };
    return constant_of(&one, t);
}

const void *blas_zero(BlasType t)
{
    static const Constants zero = { 0, 0, { 0, 0 }, { 0, 0 } };
    return constant_of(&zero, t);
}

const void *blas_minus_one(BlasType t)
{
    static const Constants minus_one = { -1, -1, { -1, 0 }, { -1, 0 } };
    return constant_of(&minus_one, t);
}
