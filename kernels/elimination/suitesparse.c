/* Opening SuiteSparse, and what its libraries share. */
#include "kernels/elimination/suitesparse.h"

#include "core/base/error.h"
#include "core/memory/pool.h"
#include "core/system/held_signals.h"
#include "core/system/library.h"
#include "kernels/blas/blas.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

typedef struct LibraryKind {
    const char *package;
    const char *files[4];
} LibraryKind;

static const LibraryKind kinds[SS_LIBRARIES] = {
    [SS_CHOLMOD] = { "libcholmod3", { "libcholmod.so.3", "libcholmod.so.4", "libcholmod.so.5" } },
    [SS_UMFPACK] = { "libumfpack5", { "libumfpack.so.5", "libumfpack.so.6" } },
    [SS_KLU] = { "libklu1", { "libklu.so.1", "libklu.so.2" } },
    [SS_SPQR] = { "libspqr2", { "libspqr.so.2", "libspqr.so.3", "libspqr.so.4" } },
};

static SuiteSparse table;
static bool found[SS_LIBRARIES];
static pthread_once_t once = PTHREAD_ONCE_INIT;

const char *suitesparse_package(SsLibrary library)
{
    return kinds[library].package;
}

static void nothing(void *unused) { (void)unused; }

/* OpenMP, which CHOLMOD uses, starts its threads here, where they take no signals. */
static void start_threads(void *handle)
{
    enum { THREADS = 4 };
    void (*parallel)(void (*)(void *), void *, unsigned, unsigned);
    sigset_t before;
    if (!library_symbol(handle, "GOMP_parallel", &parallel))
        return;
    signals_hold(&before);
    parallel(nothing, NULL, THREADS, 0);
    signals_let(&before);
}

static void *load(SsLibrary library)
{
#define ROUTINE(of, id, result, name, proto) { SS_##of, { name, &table.id } },
    const struct { SsLibrary of; LibraryEntry entry; } all[] = {
#include "kernels/elimination/suitesparse.def"
    };
#undef ROUTINE
    enum { ALL = sizeof all / sizeof *all };
    LibraryEntry entries[ALL];
    size_t count = 0;
    void *handle = NULL;
    for (size_t i = 0; i < ALL; i++)
        if (all[i].of == library)
            entries[count++] = all[i].entry;
    for (int i = 0; kinds[library].files[i] && !handle; i++) {
        const char *lacks;
        handle = library_open(kinds[library].files[i], entries, count, &lacks);
    }
    found[library] = handle != NULL;
    if (handle && library == SS_CHOLMOD)
        start_threads(handle);
    return handle;
}

/* Fields of Common that are set or read stand at its beginning, as in CHOLMOD 3, 4 and 5. */
typedef struct CommonHead {
    double dbound, grow0, grow1;
    size_t grow2, maxrank;
    double supernodal_switch;
    int supernodal, final_asis, final_super, final_ll, final_pack, final_monotonic;
    int final_resymbol;
    double zrelax[3];
    size_t nrelax[3];
    int prefer_zomplex, prefer_upper, quick_return_if_not_posdef, prefer_binary;
    int print, precise, try_catch;
} CommonHead;

/* Are they there? A version of another layout has other values in these places. */
static bool known(const CommonHead *c)
{
    return c->grow0 == 1.2 && c->grow1 == 1.2 && c->grow2 == 5 && c->maxrank == 8 &&
           c->supernodal_switch == 40 && c->supernodal == 1 && c->final_asis == 1 &&
           c->final_super == 1 && c->final_ll == 0 && c->final_pack == 1 && c->nrelax[0] == 4 &&
           c->nrelax[1] == 16 && c->nrelax[2] == 48 && c->prefer_zomplex == 0 &&
           c->prefer_upper == 1 && c->quick_return_if_not_posdef == 0 && c->print == 3;
}

bool suitesparse_common(const SuiteSparse *s, SsCommon *common)
{
    CommonHead head;
    memset(common, 0, sizeof *common);
    if (!s->cholmod_start(common))
        return false;
    memcpy(&head, common, sizeof head);
    if (!known(&head))
        return false;
    head.print = 0;
    head.final_ll = 1;
    head.quick_return_if_not_posdef = 1;
    memcpy(common, &head, sizeof head);
    return true;
}

static void check_common(void)
{
    static SsCommon common;
    int version[3] = { 0 };
    if (!found[SS_CHOLMOD])
        return;
    table.cholmod_version(version);
    found[SS_CHOLMOD] = version[0] >= 3 && version[0] <= 5 && suitesparse_common(&table, &common);
    if (found[SS_CHOLMOD])
        table.cholmod_finish(&common);
}

static void load_all(void)
{
    void *handles[SS_LIBRARIES];
    const char *text = getenv("RICCI_SUITESPARSE");
    if (text && strcmp(text, "0") == 0)
        return;
    const bool heap = suitesparse_heap_first();
    for (int i = 0; i < SS_LIBRARIES; i++)
        handles[i] = load((SsLibrary)i);
    if (heap)
        suitesparse_heap_install(handles);
    check_common();
    found[SS_SPQR] &= found[SS_CHOLMOD];
}

const SuiteSparse *suitesparse_open(SsLibrary library)
{
    pthread_once(&once, load_all);
    return found[library] ? &table : NULL;
}

/* ---- inside ---- */
/* Threads of BLAS wait for each other by spinning, and most of its calls are small: they pay where
 * there is much to do. */
void suitesparse_enter(Elimination *e, double bytes)
{
    static const double LARGE = 2e10;
    BlasRefusal refusal;
    const Blas *blas = blas_open(&refusal);
    mem_check(e->ctx, bytes < (double)(SIZE_MAX / 2) ? (size_t)bytes : SIZE_MAX);
    if (blas)
        blas_enter(e->ctx, blas, 1, e->flops > LARGE ? pool_threads(e->ctx) : 1);
    suitesparse_inside(e);
}

void suitesparse_leave(Elimination *e)
{
    suitesparse_outside();
    hold_look(e->hold);
}

void suitesparse_memory(Elimination *e, const char *library)
{
    suitesparse_leave(e);
    err_raise(e->ctx, ERR_MEMORY,
              "%s found no memory for the factors of a sparse %lld×%lld matrix", library,
              (long long)e->m, (long long)e->n);
}

SsSparse suitesparse_matrix(const Columns *a, bool pairs, int symmetric)
{
    return (SsSparse){ .rows = (size_t)a->m, .columns = (size_t)a->n,
                       .room = (size_t)a->start[a->n], .start = a->start, .row = a->row,
                       .x = a->value, .symmetric = symmetric, .positions = SS_LONG,
                       .numbers = pairs ? SS_COMPLEX : SS_REAL, .sorted = 1, .packed = 1 };
}

SsDense suitesparse_columns(int64_t m, int64_t n, bool pairs, const void *x)
{
    return (SsDense){ .rows = (size_t)m, .columns = (size_t)n, .room = (size_t)(m * n),
                      .step = (size_t)m, .x = (void *)(uintptr_t)x,
                      .numbers = pairs ? SS_COMPLEX : SS_REAL };
}
