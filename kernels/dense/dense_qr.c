/* QR by panels (dense.h): the factors, and Q made of the reflectors. */
#include "kernels/dense/dense.h"

#include "core/base/mem.h"
#include "core/memory/pool.h"
#include "kernels/blas/blas_stop.h"
#include "kernels/dense/dense_choice.h"
#include "kernels/dense/steps.h"

typedef struct Qr {
    Ctx *ctx;
    const DenseKernels *f;
    BlasType type;
    int64_t m, n, order, width;  /* of the matrix that is turned; of a panel */
    char *v, *c, *tau, *turn;    /* reflectors, m apart; what is turned; turn: of all panels */
    char *columns[2], *rows[2];  /* the panel at hand as operands, and the one before */
    char *memory, *rooms;
    size_t bytes, room_bytes;
    int packed;                  /* the panel that is packed next, going back */
    Steps steps;
} Qr;

static int64_t panel_width(const Qr *q, int k)
{
    return dense_least(q->width, q->order - k * q->width);
}

static char *turn_of(const Qr *q, int k)
{
    return q->turn + (size_t)(k * q->width * q->width) * blas_bytes(q->type);
}

static char *place(const Qr *q, char *base, int64_t row, int64_t col)
{
    return base + (size_t)(col * q->m + row) * blas_bytes(q->type);
}

static void *qr_room(const Qr *q, int worker)
{
    return q->rooms + (size_t)worker * q->room_bytes;
}

/* Room for panels at work; `more` bytes before it. */
static void qr_open(Qr *q, size_t more, bool panels)
{
    int64_t high = q->m + q->f->rows, wide = q->width + q->f->rows;
    size_t one = blas_bytes(q->type), packed = dense_whole((size_t)(high * wide) * one);
    size_t steps = panels ? dense_whole(steps_room(&q->steps)) : 0;
    more = dense_whole(more);
    q->room_bytes = dense_whole(q->f->qr_room(q->m, q->width, q->width, panels));
    q->bytes = steps + more + 4 * packed + (size_t)steps_workers(q->ctx) * q->room_bytes;
    q->memory = mem_alloc_data(q->ctx, q->bytes, false);
    q->rooms = q->memory + steps + more;
    for (int i = 0; i < 2; i++) {
        q->columns[i] = q->rooms, q->rows[i] = q->rooms + packed;
        q->rooms += 2 * packed;
    }
}

static void qr_close(Qr *q)
{
    mem_free_data(q->ctx, q->memory, q->bytes);
    blas_stop_by(q->ctx);
    blas_stop_poll();
}

static void pack_panel(Qr *q, int k)
{
    int64_t at = k * q->width;
    q->f->qr_pack(q->m - at, panel_width(q, k), place(q, q->v, at, at), q->m, q->columns[k & 1],
                  q->rows[k & 1]);
}

static void update(Qr *q, int k, int64_t col, int64_t cols, bool back, int worker)
{
    int64_t at = k * q->width;
    q->f->qr_update(q->m - at, cols, panel_width(q, k), q->columns[k & 1], q->rows[k & 1],
                    turn_of(q, k), q->width, q->tau + (size_t)at * blas_bytes(q->type), back,
                    place(q, q->c, at, col), q->m, qr_room(q, worker));
}

static void qr_panel(void *data, int k, int worker)
{
    Qr *q = data;
    int64_t at = k * q->width;
    q->f->qr_panel(q->m - at, panel_width(q, k), place(q, q->v, at, at), q->m,
                   q->tau + (size_t)at * blas_bytes(q->type), turn_of(q, k), q->width,
                   qr_room(q, worker));
    pack_panel(q, k);
}

static void qr_update(void *data, int k, int block, int worker)
{
    Qr *q = data;
    int panels = q->steps.panels;
    int64_t from = block < panels ? block * q->width : q->order + (block - panels) * q->width;
    int64_t end = block < panels ? q->order : q->n;
    update(q, k, from, dense_least(q->width, end - from), false, worker);
}

size_t dense_qr_turn(BlasType t, int64_t m, int64_t n)
{
    int64_t order = dense_least(m, n), width = dense_width(order);
    return (size_t)((order + width - 1) / width * width * width) * blas_bytes(t);
}

static Qr qr_of(Ctx *ctx, BlasType t, int64_t m, int64_t n, int64_t order, void *tau, void *turn)
{
    return (Qr){ .ctx = ctx, .f = dense_kernels(t), .type = t, .m = m, .n = n, .order = order,
                 .width = dense_width(order), .tau = tau, .turn = turn };
}

void dense_qr(Ctx *ctx, BlasType t, int64_t m, int64_t n, void *a, void *tau, void *turn)
{
    Qr q = qr_of(ctx, t, m, n, dense_least(m, n), tau, turn);
    q.v = q.c = a;
    q.steps = (Steps){ .panel = qr_panel, .update = qr_update, .data = &q,
                       .alone = !dense_shares(m, n, q.order) };
    q.steps.panels = (int)((q.order + q.width - 1) / q.width);
    q.steps.columns = q.steps.panels + (int)((n - q.order + q.width - 1) / q.width);
    qr_open(&q, 0, true);
    steps_run(ctx, &q.steps, q.memory);
    qr_close(&q);
}

/* Blocks of columns of Q, which from the left on are turned by this panel; the first of the work is
 * to pack the one before it. */
typedef struct Back {
    Qr *q;
    int k;
    int64_t blocks;
} Back;

static void back_worker(void *arg, int64_t begin, int64_t end, int worker)
{
    const Back *b = arg;
    Qr *q = b->q;
    for (int64_t i = begin; i < end; i++) {
        int64_t from = (b->k + i - 1) * q->width;
        if (i == 0 && b->k > 0)
            pack_panel(q, b->k - 1);
        if (i > 0)
            update(q, b->k, from, dense_least(q->width, q->n - from), true, worker);
    }
}

void dense_qr_form(Ctx *ctx, BlasType t, int64_t m, int64_t cols, int64_t order, void *a,
                   const void *tau, const void *turn)
{
    Qr q = qr_of(ctx, t, m, cols, order, (void *)tau, (void *)turn);
    size_t one = blas_bytes(t), reflectors = (size_t)(m * order) * one;
    int panels = (int)((order + q.width - 1) / q.width);
    qr_open(&q, reflectors, false);
    q.v = q.memory, q.c = a;
    __builtin_memcpy(q.v, a, reflectors);
    __builtin_memset(a, 0, (size_t)(m * cols) * one);
    for (int64_t j = 0; j < cols; j++)
        mat_store(t, a, j * m + j, 1, 0);
    pack_panel(&q, panels - 1);
    for (int k = panels - 1; k >= 0 && !*ctx->interrupt; k--) {
        Back b = { &q, k, (cols + q.width - 1) / q.width - k };
        int64_t grain = dense_shares(m, cols, order) ? 1 : b.blocks + 1;
        pool_for(ctx, b.blocks + 1, grain, back_worker, &b);
    }
    qr_close(&q);
}
