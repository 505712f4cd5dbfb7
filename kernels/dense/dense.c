/* Factorisations by panels (dense.h): who makes what, in which memory. */
#include "kernels/dense/dense.h"

#include "core/base/mem.h"
#include "core/memory/pool.h"
#include "kernels/blas/blas_stop.h"
#include "kernels/dense/dense_choice.h"
#include "kernels/dense/steps.h"
#include "kernels/tensor/cpu.h"

#include <string.h>

const DenseKernels *dense_kernels(BlasType t)
{
#if defined(__x86_64__) || defined(__i386__)
    static const DenseKernels *const tables[][2] = {
        [ISA_AVX2] = { [BLAS_S] = &dense_s_avx2, [BLAS_D] = &dense_d_avx2 },
        [ISA_AVX512] = { [BLAS_S] = &dense_s_avx512, [BLAS_D] = &dense_d_avx512 },
    };
    if (cpu_isa() >= ISA_AVX2 && !blas_is_complex(t))
        return tables[cpu_isa()][t];
#else
    (void)t;
#endif
    return NULL;
}

/* Below this LAPACK's factorisation is as fast; fewer right sides do not pay for packing the
 * factors. */
enum { OWN_FROM = 48, RIGHT_SIDES_FROM = 16 };

bool dense_own(BlasType t, int64_t order)
{
    return order >= OWN_FROM && dense_kernels(t);
}

/* Which routines of LAPACK these are in the place of, and from how many right sides on. */
static const struct { const char *routine, *own; int64_t right_sides; } ways[] = {
    { "getrf", "own LU", 0 }, { "getrs", "own substitution", RIGHT_SIDES_FROM },
    { "getri", "own inverse", 0 }, { "potrf", "own Cholesky", 0 },
    { "geqrf", "own QR", 0 }, { "orgqr", "own Q", 0 },
};

const char *dense_own_name(const char *routine, BlasType t, int64_t order, int64_t nrhs)
{
    for (size_t i = 0; i < sizeof ways / sizeof *ways && dense_own(t, order); i++)
        if (strcmp(ways[i].routine, routine) == 0)
            return nrhs >= ways[i].right_sides ? ways[i].own : NULL;
    return NULL;
}

bool dense_solves(BlasType t, int64_t n, int64_t nrhs)
{
    return nrhs >= RIGHT_SIDES_FROM && dense_own(t, n);
}

void dense_threads(Ctx *ctx, const Blas *blas, BlasType t, LapackWeight weight, int64_t order)
{
    if (!dense_own(t, order)) {
        lapack_threads(ctx, blas, weight, order);
        return;
    }
    blas_enter(ctx, blas, 1, 1);
    blas_stop_by(ctx);
}

typedef struct Job {
    Ctx *ctx;
    const DenseKernels *f;
    BlasType type;
    int64_t m, n, order, width;  /* order: the smaller side; width: of a panel */
    char *a;
    int *pivots;
    _Atomic int info;
    char *memory;
    size_t bytes;                /* of it */
    char *packed[2];             /* what lies below the panels at hand */
    char *rooms;                 /* of the workers, room_bytes each */
    size_t room_bytes;
    Steps steps;
} Job;

int64_t dense_width(int64_t order)
{
    return order < 400 ? 48 : order < 1200 ? 96 : order < 4000 ? 144 : DENSE_WIDTH_MOST;
}

static char *element(const Job *j, int64_t row, int64_t col)
{
    return j->a + (size_t)(col * j->m + row) * blas_bytes(j->type);
}

/* The columns of a block: of the panels first, then of what is wider than high. */
static int64_t block_start(const Job *j, int block)
{
    return block < j->steps.panels ? block * j->width
                                   : j->order + (block - j->steps.panels) * j->width;
}

static int64_t block_width(const Job *j, int block)
{
    int64_t end = block < j->steps.panels ? j->order : j->n;
    return dense_least(j->width, end - block_start(j, block));
}

static char *worker_room(const Job *j, int worker)
{
    return j->rooms + (size_t)worker * j->room_bytes;
}

/* Slivers of the panel's height, at the widest. */
static size_t packed_bytes(const Job *j)
{
    return (size_t)((j->m + j->f->rows) * j->width) * blas_bytes(j->type);
}

static void job_open(Job *j)
{
    j->width = dense_width(j->order);
    size_t packed = packed_bytes(j) / 64 * 64 + 64, steps;
    j->steps.panels = (int)((j->order + j->width - 1) / j->width);
    j->steps.columns = j->steps.panels + (int)((j->n - j->order + j->width - 1) / j->width);
    j->steps.data = j;
    j->steps.alone = !dense_shares(j->m, j->n, j->order);
    steps = steps_room(&j->steps) / 64 * 64 + 64;
    j->room_bytes = packed + (size_t)(j->width * (j->width + j->f->cols)) * blas_bytes(j->type);
    j->bytes = steps + 2 * packed + (size_t)steps_workers(j->ctx) * j->room_bytes;
    j->memory = mem_alloc_data(j->ctx, j->bytes, false);
    j->packed[0] = j->memory + steps;
    j->packed[1] = j->packed[0] + packed;
    j->rooms = j->packed[1] + packed;
}

static int job_run(Job *j)
{
    steps_run(j->ctx, &j->steps, j->memory);
    mem_free_data(j->ctx, j->memory, j->bytes);
    blas_stop_by(j->ctx);
    blas_stop_poll();
    return j->info;
}

/* ---- LU ---- */
static void lu_panel(void *data, int k, int worker)
{
    Job *j = data;
    int64_t at = block_start(j, k), width = block_width(j, k), below = j->m - at - width;
    int *pivots = j->pivots + at;
    int info = j->f->lu_panel(j->m - at, width, element(j, at, at), j->m, pivots,
                              worker_room(j, worker));
    if (info && !j->info)
        j->info = info + (int)at;
    j->f->pack(below, width, element(j, at + width, at), j->m, j->packed[k & 1]);
}

static void lu_update(void *data, int k, int block, int worker)
{
    Job *j = data;
    int64_t at = block_start(j, k), to = block_start(j, block);
    j->f->lu_update(j->m - at, block_width(j, block), block_width(j, k), element(j, at, at),
                    j->packed[k & 1], element(j, at, to), j->m, j->pivots + at,
                    worker_room(j, worker));
}

/* The exchanges of later panels. */
static void lu_last(void *data, int k, int worker)
{
    Job *j = data;
    int64_t at = block_start(j, k);
    (void)worker;
    for (int later = k + 1; later < j->steps.panels; later++) {
        int64_t from = block_start(j, later);
        j->f->exchange(block_width(j, k), element(j, from, at), j->m, j->pivots + from, 0,
                       block_width(j, later));
    }
}

int dense_lu(Ctx *ctx, const Blas *blas, BlasType t, int64_t m, int64_t n, void *a, int *pivots)
{
    Job j = { .ctx = ctx, .type = t, .m = m, .n = n, .order = dense_least(m, n), .a = a,
              .pivots = pivots, .steps = { .panel = lu_panel, .update = lu_update,
                                           .last = lu_last } };
    j.f = dense_kernels(t);
    if (!dense_own(t, j.order))
        return lapack_lu(blas, t, m, n, a, pivots);
    job_open(&j);
    int info = job_run(&j);
    for (int k = 0; k < j.steps.panels; k++)
        for (int64_t i = k * j.width; i < dense_least((k + 1) * j.width, j.order); i++)
            pivots[i] += (int)(k * j.width);
    return info;
}

/* ---- Cholesky ---- */
static void cholesky_panel(void *data, int k, int worker)
{
    Job *j = data;
    int64_t at = block_start(j, k), width = block_width(j, k), below = j->m - at - width;
    if (j->info)
        return;
    int info = j->f->cholesky_panel(j->m - at, width, element(j, at, at), j->m,
                                    worker_room(j, worker));
    if (info)
        j->info = info + (int)at;
    j->f->pack(below, width, element(j, at + width, at), j->m, j->packed[k & 1]);
}

/* From its diagonal on: the width of a panel is a multiple of the slivers' height. */
static void cholesky_update(void *data, int k, int block, int worker)
{
    Job *j = data;
    int64_t at = block_start(j, k), to = block_start(j, block), width = block_width(j, k);
    int64_t above = to - at - width;
    if (j->info)
        return;
    size_t skip = (size_t)(above * width) * blas_bytes(j->type);
    j->f->rank_update(j->m - to, block_width(j, block), width, j->packed[k & 1] + skip,
                      element(j, to, at), element(j, to, to), j->m, worker_room(j, worker));
}

int dense_cholesky(Ctx *ctx, const Blas *blas, BlasType t, int64_t n, void *a)
{
    Job j = { .ctx = ctx, .type = t, .m = n, .n = n, .order = n, .a = a,
              .steps = { .panel = cholesky_panel, .update = cholesky_update } };
    j.f = dense_kernels(t);
    if (!dense_own(t, n))
        return lapack_cholesky(blas, t, 'L', n, a);
    job_open(&j);
    return job_run(&j);
}
