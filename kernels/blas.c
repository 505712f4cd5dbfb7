/* Loading of BLAS and LAPACK: one table of entry points for the whole process, filled on
 * first use (blas.h, blas.def). dlopen gives a process one copy of a library and one
 * thread count with it, so this table belongs to the process and not to an interpreter;
 * it is written once and only read afterwards. Called by gemm.c, lapack.c and the linear
 * algebra rows. */
#include "kernels/blas.h"

#include "kernels/blas_stop.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char MISSING[] =
    "the linear algebra library OpenBLAS was not found (libopenblas.so.0, or liblapack.so.3 "
    "with libblas.so.3); on Debian and Ubuntu it is in the package libopenblas0-pthread";

typedef struct Library {
    Blas blas;
    void *handles[2];            /* where symbols are looked for, in this order */
    const char *why;             /* NULL: ready */
    int threads;                 /* last set */
    char text[256];
} Library;

static Library library;
static pthread_once_t library_once = PTHREAD_ONCE_INIT;

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

static bool library_find(void)
{
    /* OpenBLAS starts its threads when it is loaded, one per core, and each takes memory.
     * They are rarely wanted (the pool of Ricci splits products), so it is loaded with one
     * and grows when blas_threads asks, unless the user has said otherwise. */
    bool asked = getenv("OPENBLAS_NUM_THREADS") != NULL;
    if (!asked)
        setenv("OPENBLAS_NUM_THREADS", "1", 0);
    library.blas.name = "OpenBLAS";
    library.handles[0] = dlopen("libopenblas.so.0", RTLD_NOW | RTLD_LOCAL);
    if (!asked)
        unsetenv("OPENBLAS_NUM_THREADS");
    if (!library.handles[0]) {
        library.blas.name = "the reference LAPACK";
        library.handles[0] = dlopen("liblapack.so.3", RTLD_NOW | RTLD_LOCAL);
        library.handles[1] = dlopen("libblas.so.3", RTLD_NOW | RTLD_LOCAL);
    }
    return library.handles[0] != NULL;
}

static void library_load(void)
{
    Blas *b = &library.blas;
    library.why = MISSING;
    if (!library_find())
        return;
    library.why = library.text;
#define ROUTINE(id, real, cplx, proto)                         \
    if (!routine_load((void **)b->id, real, cplx))          \
        return;
#include "kernels/blas.def"
#undef ROUTINE
    void *set = library_symbol("openblas_set_num_threads");
    memcpy(&b->set_threads, &set, sizeof set);
    library.threads = 0;
    library.why = NULL;
    blas_stop_install(b, library.handles[0]);
}

const Blas *blas_open(const char **why)
{
    pthread_once(&library_once, library_load);
    if (library.why && why)
        *why = library.why;
    return library.why ? NULL : &library.blas;
}

void blas_threads(const Blas *blas, int threads)
{
    if (blas->set_threads && library.threads != threads) {
        blas->set_threads(threads);
        library.threads = threads;
    }
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
