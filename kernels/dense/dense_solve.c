/* Systems with many right sides, and inverses, from the factors of dense_lu: blocks of columns,
 * which the workers share, go through all panels forward and back. */
#include "kernels/dense/dense.h"

#include "core/base/mem.h"
#include "core/memory/pool.h"
#include "kernels/blas/blas_stop.h"
#include "kernels/dense/dense_choice.h"
#include "kernels/dense/steps.h"

typedef struct Solve {
    Ctx *ctx;
    const DenseKernels *f;
    BlasType type;
    int64_t n, cols, width, each;    /* of a panel; columns of a block */
    const char *lu;
    const int *pivots;           /* NULL: right sides are the columns of 1, exchanged afterwards */
    char *x;
    char **below, **above;       /* what lies below and above the panels, packed */
    char *rooms;
    size_t room_bytes;
    char *memory;
    size_t bytes;
} Solve;

static char *solve_at(const Solve *v, const char *base, int64_t row, int64_t col)
{
    return (char *)base + (size_t)(col * v->n + row) * blas_bytes(v->type);
}

static void solve_pack(void *arg, int64_t begin, int64_t end, int worker)
{
    const Solve *v = arg;
    (void)worker;
    for (int64_t k = begin; k < end && !*v->ctx->interrupt; k++) {
        int64_t at = k * v->width, wide = dense_least(v->width, v->n - at), to = at + wide;
        v->f->pack(v->n - to, wide, solve_at(v, v->lu, to, at), v->n, v->below[k]);
        v->f->pack(at, wide, solve_at(v, v->lu, 0, at), v->n, v->above[k]);
    }
}

/* Columns of 1, and the first of their rows that is not zero in L^-1. */
static int64_t unit_columns(const Solve *v, int64_t from, int64_t cols)
{
    size_t bytes = (size_t)(cols * v->n) * blas_bytes(v->type);
    __builtin_memset(solve_at(v, v->x, 0, from), 0, bytes);
    for (int64_t j = from; j < from + cols; j++)
        mat_store(v->type, v->x, j * v->n + j, 1, 0);
    return from / v->width * v->width;
}

static void solve_columns(const Solve *v, int64_t block, int worker)
{
    int64_t n = v->n, from = block * v->each, cols = dense_least(v->each, v->cols - from), at = 0;
    void *room = v->rooms + (size_t)worker * v->room_bytes;
    if (v->pivots)
        v->f->exchange(cols, solve_at(v, v->x, 0, from), n, v->pivots, 0, n);
    else
        at = unit_columns(v, from, cols);
    for (; at < n && !*v->ctx->interrupt; at += v->width)
        v->f->lu_update(n - at, cols, dense_least(v->width, n - at), solve_at(v, v->lu, at, at),
                        v->below[at / v->width], solve_at(v, v->x, at, from), n, NULL, room);
    for (at = (n - 1) / v->width * v->width; at >= 0 && !*v->ctx->interrupt; at -= v->width)
        v->f->back_update(at, cols, dense_least(v->width, n - at), solve_at(v, v->lu, at, at),
                          v->above[at / v->width], solve_at(v, v->x, 0, from), n, room);
}

static void solve_worker(void *arg, int64_t begin, int64_t end, int worker)
{
    for (int64_t block = begin; block < end; block++)
        solve_columns(arg, block, worker);
}

/* Packs the factors; `more` bytes of memory are the caller's, first. */
static void solve_open(Solve *v, size_t more)
{
    int64_t n = v->n, blocks = (n + v->width - 1) / v->width, rows = v->f->rows;
    size_t one = blas_bytes(v->type), list = dense_whole((size_t)blocks * sizeof(char *));
    size_t packed = (size_t)(n * n) * one +
                    (size_t)blocks * (2 * (size_t)(rows * v->width) * one + 256);
    more = dense_whole(more);
    v->room_bytes = dense_whole((size_t)(v->width * (v->each + v->f->cols)) * one);
    v->bytes = more + 2 * list + packed + (size_t)steps_workers(v->ctx) * v->room_bytes;
    v->memory = mem_alloc_data(v->ctx, v->bytes, false);
    v->below = (char **)(void *)(v->memory + more);
    v->above = (char **)(void *)(v->memory + more + list);
    v->rooms = v->memory + more + 2 * list;
    for (int64_t k = 0; k < blocks; k++) {
        int64_t at = k * v->width, wide = dense_least(v->width, n - at);
        v->below[k] = v->rooms;
        v->rooms += dense_whole((size_t)((n - at - wide + rows - 1) / rows * rows * wide) * one);
        v->above[k] = v->rooms;
        v->rooms += dense_whole((size_t)((at + rows - 1) / rows * rows * wide) * one);
    }
    pool_for(v->ctx, blocks, dense_shares(n, n, v->cols) ? 1 : blocks, solve_pack, v);
}

static void solve_run(Solve *v)
{
    int64_t blocks = (v->cols + v->each - 1) / v->each;
    pool_for(v->ctx, blocks, dense_shares(v->n, v->n, v->cols) ? 1 : blocks, solve_worker, v);
}

static void solve_close(Solve *v)
{
    mem_free_data(v->ctx, v->memory, v->bytes);
    blas_stop_by(v->ctx);
    blas_stop_poll();
}

void dense_lu_solve(Ctx *ctx, BlasType t, int64_t n, int64_t nrhs, const void *lu,
                    const int *pivots, void *b)
{
    Solve v = { .ctx = ctx, .f = dense_kernels(t), .type = t, .n = n, .cols = nrhs,
                .width = dense_width(n), .lu = lu, .pivots = pivots, .x = b };
    v.each = nrhs < 4 * v.width ? 2 * v.f->cols : v.width;
    solve_open(&v, 0);
    solve_run(&v);
    solve_close(&v);
}

/* A^-1 = U^-1 L^-1 P: its columns in the order that the exchanges made. */
static void inverse_order(const Solve *v, const int *pivots, int64_t *order, char *out)
{
    for (int64_t i = 0; i < v->n; i++)
        order[i] = i;
    for (int64_t i = 0; i < v->n; i++) {
        int64_t other = pivots[i] - 1, t = order[i];
        order[i] = order[other];
        order[other] = t;
    }
    for (int64_t i = 0; i < v->n; i++)
        __builtin_memcpy(solve_at(v, out, 0, order[i]), solve_at(v, v->x, 0, i),
                         (size_t)v->n * blas_bytes(v->type));
}

void dense_inverse(Ctx *ctx, BlasType t, int64_t n, void *lu, const int *pivots)
{
    Solve v = { .ctx = ctx, .f = dense_kernels(t), .type = t, .n = n, .cols = n,
                .width = dense_width(n), .each = dense_width(n), .lu = lu };
    size_t square = dense_whole((size_t)(n * n) * blas_bytes(t));
    solve_open(&v, square + (size_t)n * sizeof(int64_t));
    v.x = v.memory;
    solve_run(&v);
    if (!*ctx->interrupt)
        inverse_order(&v, pivots, (int64_t *)(void *)(v.memory + square), lu);
    solve_close(&v);
}
