/* BLACS and ScaLAPACK, opened when a rank starts; messages between ranks. Any bytes travel as ints.
 * A pair of ranks that both send and receive does so in an order that needs no buffer: the lower
 * one sends first. */
#include "core/system/library.h"
#include "core/system/loader_search.h"
#include "kernels/grid/grid_rank.h"
#include "kernels/grid/scalapack.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

ScalapackTable scalapack;

/* ---- the library ---- */
static const struct { const char *mpi, *file; } libraries[] = {
    { "openmpi", "libscalapack-openmpi.so.2.2" },
    { "mpich", "libscalapack-mpich.so.2.2" },
    { "openmpi", "libscalapack-openmpi.so.2.3" },
    { "mpich", "libscalapack-mpich.so.2.3" },
    { "", "libscalapack.so.2.2" },
    { "", "libscalapack.so.2" },
    { "", "libscalapack.so" },
};
enum { LIBRARIES = sizeof libraries / sizeof libraries[0] };

static bool library_fits(int i, const char *mpi)
{
    return !mpi || !libraries[i].mpi[0] || strcmp(libraries[i].mpi, mpi) == 0;
}

const char *grid_library(const char *mpi)
{
    LibrarySearch s;
    memset(&s, 0, sizeof s);
    search_loader_folders(&s);
    for (int i = 0; i < LIBRARIES; i++)
        if (library_fits(i, mpi) && search_file(&s, libraries[i].file, s.count))
            return libraries[i].file;
    return NULL;
}

static const LibraryEntry entries[] = {
    { "Cblacs_pinfo", &scalapack.blacs.pinfo },
    { "Cblacs_get", &scalapack.blacs.get },
    { "Cblacs_gridinit", &scalapack.blacs.gridinit },
    { "Cblacs_gridexit", &scalapack.blacs.gridexit },
    { "Cblacs_exit", &scalapack.blacs.exit },
    { "Cigesd2d", &scalapack.blacs.send },
    { "Cigerv2d", &scalapack.blacs.receive },
    { "Cigebs2d", &scalapack.blacs.share },
    { "Cigebr2d", &scalapack.blacs.shared },
    { "Cigsum2d", &scalapack.blacs.sum_ints },
    { "Csgsum2d", &scalapack.blacs.sum[0] },
    { "Cdgsum2d", &scalapack.blacs.sum[1] },
    { "Ccgsum2d", &scalapack.blacs.sum[2] },
    { "Czgsum2d", &scalapack.blacs.sum[3] },
    { "Cigamx2d", &scalapack.blacs.most_ints },
#define ROUTINE(id, s, d, c, z, ...)                                                             \
    { s, &scalapack.id[0] }, { d, &scalapack.id[1] }, { c, &scalapack.id[2] },                   \
    { z, &scalapack.id[3] },
#define REAL(id, s, d, ...) { s, &scalapack.id[0] }, { d, &scalapack.id[1] },
#define COMPLEX(id, c, z, ...) { c, &scalapack.id[0] }, { z, &scalapack.id[1] },
#include "kernels/grid/scalapack.def"
#undef ROUTINE
#undef REAL
#undef COMPLEX
};

/* The MPI of the launcher that started this process, by what it left in the environment. */
static const char *launcher_mpi(void)
{
    return getenv("OMPI_COMM_WORLD_SIZE") ? "openmpi" : getenv("PMI_SIZE") ? "mpich" : NULL;
}

static void open_library(Ctx *ctx)
{
    const char *mpi = launcher_mpi(), *lacks = NULL, *symbol = NULL;
    for (int i = 0; i < LIBRARIES; i++) {
        if (!library_fits(i, mpi))
            continue;
        if (library_open(libraries[i].file, entries, sizeof entries / sizeof entries[0], &symbol))
            return;
        lacks = symbol ? symbol : lacks;
    }
    if (lacks)
        err_raise(ctx, ERR_DEVICE, "the ScaLAPACK found here lacks %s", lacks);
    err_raise_help(ctx, ERR_DEVICE, "Debian and Ubuntu: apt install libscalapack-openmpi2.2",
                   "there is no ScaLAPACK for %s here",
                   mpi ? mpi : "the MPI of this process");
}

GridRank *grid_open(Ctx *ctx, GridShape shape)
{
    int procs;
    open_library(ctx);
    GridRank *g = mem_zalloc(ctx, sizeof *g);
    *g = (GridRank){ .ctx = ctx, .grid = shape, .ranks = shape.p * shape.q };
    scalapack.blacs.pinfo(&g->rank, &procs);
    if (procs != g->ranks) {
        scalapack.blacs.exit(0);
        mem_free(ctx, g, sizeof *g);
        err_raise(ctx, ERR_DEVICE, "MPI has %d processes, a %d by %d grid is %d", procs, shape.p,
                  shape.q, shape.p * shape.q);
    }
    scalapack.blacs.get(-1, 0, &g->context);
    scalapack.blacs.gridinit(&g->context, "Row", shape.p, shape.q);
    g->row = g->rank / shape.q;
    g->col = g->rank % shape.q;
    return g;
}

/* ---- messages ---- */
enum { MESSAGE = 1 << 22 };      /* ints in one */

/* The last bytes, where they make no whole int, travel in one of their own. */
void grid_send(GridRank *g, int to, const void *data, size_t bytes)
{
    const char *at = data;
    int row = to / g->grid.q, col = to % g->grid.q;
    for (size_t left = bytes / 4; left;) {
        int n = left < MESSAGE ? (int)left : MESSAGE;
        scalapack.blacs.send(g->context, n, 1, (const int *)at, n, row, col);
        at += (size_t)n * 4;
        left -= (size_t)n;
    }
    if (bytes % 4) {
        int last = 0;
        memcpy(&last, at, bytes % 4);
        scalapack.blacs.send(g->context, 1, 1, &last, 1, row, col);
    }
}

void grid_receive(GridRank *g, int from, void *data, size_t bytes)
{
    char *at = data;
    int row = from / g->grid.q, col = from % g->grid.q;
    for (size_t left = bytes / 4; left;) {
        int n = left < MESSAGE ? (int)left : MESSAGE;
        scalapack.blacs.receive(g->context, n, 1, (int *)at, n, row, col);
        at += (size_t)n * 4;
        left -= (size_t)n;
    }
    if (bytes % 4) {
        int last;
        scalapack.blacs.receive(g->context, 1, 1, &last, 1, row, col);
        memcpy(at, &last, bytes % 4);
    }
}

static const char *const scope_name[] = { "Row", "Column", "All" };

int grid_members(const GridRank *g, GridScope scope)
{
    return scope == SCOPE_ROW ? g->grid.q : scope == SCOPE_COLUMN ? g->grid.p : g->ranks;
}

static void share_ints(GridRank *g, GridScope scope, int from, int *data, int n)
{
    int row = scope == SCOPE_ROW ? g->row : scope == SCOPE_COLUMN ? from : from / g->grid.q;
    int col = scope == SCOPE_COLUMN ? g->col : scope == SCOPE_ROW ? from : from % g->grid.q;
    if (row == g->row && col == g->col)
        scalapack.blacs.share(g->context, scope_name[scope], " ", n, 1, data, n);
    else
        scalapack.blacs.shared(g->context, scope_name[scope], " ", n, 1, data, n, row, col);
}

void grid_share(GridRank *g, GridScope scope, int from, void *data, size_t bytes)
{
    char *at = data;
    if (grid_members(g, scope) == 1)
        return;
    for (size_t left = bytes / 4; left;) {
        int n = left < MESSAGE ? (int)left : MESSAGE;
        share_ints(g, scope, from, (int *)at, n);
        at += (size_t)n * 4;
        left -= (size_t)n;
    }
    if (bytes % 4) {
        int last = 0;
        memcpy(&last, at, bytes % 4);
        share_ints(g, scope, from, &last, 1);
        memcpy(at, &last, bytes % 4);
    }
}

void grid_collect(GridRank *g, GridScope scope, int members, const void *mine, size_t bytes,
                  void *all)
{
    int me = scope == SCOPE_ROW ? g->col : scope == SCOPE_COLUMN ? g->row : g->rank;
    for (int k = 0; k < members; k++) {
        char *to = (char *)all + (size_t)k * bytes;
        if (k == me)
            memcpy(to, mine, bytes);
        grid_share(g, scope, k, to, bytes);
    }
}

/* Numbers of all members one after the other, so that every rank folds them in the same order. */
static double fold(GridRank *g, GridScope scope, double x, double (*two)(double, double))
{
    double all = 0;
    for (int k = 0, n = grid_members(g, scope); k < n; k++) {
        double v = x;
        grid_share(g, scope, k, &v, sizeof v);
        all = k ? two(all, v) : v;
    }
    return all;
}

static double plus(double x, double y) { return x + y; }
static double larger(double x, double y) { return isnan(x) || x > y ? x : y; }

double grid_sum(GridRank *g, GridScope scope, double x) { return fold(g, scope, x, plus); }
double grid_largest(GridRank *g, GridScope scope, double x) { return fold(g, scope, x, larger); }

void grid_sum_ints(GridRank *g, GridScope scope, int n, int *x)
{
    if (n && grid_members(g, scope) > 1)
        scalapack.blacs.sum_ints(g->context, scope_name[scope], " ", n, 1, x, n, -1, -1);
}

void grid_sum_to(GridRank *g, GridScope scope, int to, DType dt, int64_t n, void *x)
{
    char *at = x;
    size_t bytes = dtype_info(dt)->bytes;
    int row = scope == SCOPE_ROW && to >= 0 ? g->row : to;
    int col = scope == SCOPE_COLUMN && to >= 0 ? g->col : to;
    for (int part; n && grid_members(g, scope) > 1; n -= part, at += (size_t)part * bytes) {
        part = n < MESSAGE ? (int)n : MESSAGE;
        scalapack.blacs.sum[grid_type(dt)](g->context, scope_name[scope], " ", part, 1, at, part,
                                           row, col);
    }
}

bool grid_all(GridRank *g, bool mine)
{
    int no = !mine;
    grid_sum_ints(g, SCOPE_ALL, 1, &no);
    return no == 0;
}

/* ---- does every rank have what it needs? ---- */
void grid_need(GridRank *g)
{
    char text[32];
    if (!g->lacking)
        return;
    g->lacking = false;
    if (!g->lacks)
        err_raise(g->ctx, ERR_MEMORY, "no memory to work in");
    err_raise(g->ctx, ERR_MEMORY, "no memory for %s", mem_bytes_text(text, (double)g->lacks));
}

void grid_agree(GridRank *g)
{
    int first = g->lacking ? g->rank + 1 : 0;
    if (g->ranks > 1)
        scalapack.blacs.most_ints(g->context, "All", " ", 1, 1, &first, 1, NULL, NULL, -1, -1, -1);
    grid_need(g);
    if (first)
        err_raise(g->ctx, ERR_DEVICE, "rank %d had no memory: nothing was done", first - 1);
}

void grid_close(GridRank *g)
{
    Ctx *ctx = g->ctx;
    while (g->count) {
        GridTensor *t = g->tensors[--g->count];
        tensor_release(ctx, t->local);
        mem_free(ctx, t, sizeof *t);
    }
    if (g->tensors)
        mem_free(ctx, g->tensors, (size_t)g->cap * sizeof *g->tensors);
    scalapack.blacs.gridexit(g->context);
    scalapack.blacs.exit(0);
    mem_free(ctx, g, sizeof *g);
}

int grid_rank(const GridRank *g) { return g->rank; }
