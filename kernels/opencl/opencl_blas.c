/* Products of matrices by CLBlast. The library speaks on stderr when it fails, so what it cannot
 * do is found out before it is asked: types that the device has not, offsets beyond its 32 bits,
 * and batches whose padding would ignore where the matrices lie (1.5.3, xgemmstridedbatched.cpp:
 * a matrix that needs no padding is read from the start of its buffer). Those are DEV_LACKS, and
 * gpu.h's own kernel runs. It compiles for seconds when a kind of product is first used. */
#include "kernels/opencl/opencl.h"

#include "core/system/held_signals.h"

#include <pthread.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

enum { ROW_MAJOR = 101, COLUMN_MAJOR = 102, AS_IT_IS = 111, TRANSPOSED = 112 };
/* From so many multiplications on, one call each is no loss to matrices that lie anywhere. */
enum { WORTH_A_CALL = 64 * 64 * 64 };

typedef struct Product {
    ClState *state;
    const DevGemm *gemm;
    int64_t ld[3];
    bool batched;
    int code;
    pthread_mutex_t lock;
    pthread_cond_t done;
    bool finished;
} Product;

/* ---- what CLBlast takes ---- */
/* Rows and columns as they lie in memory, rows following each other. */
static void stored(const DevMatrix *x, int64_t rows, int64_t columns, int64_t out[2])
{
    out[0] = x->transposed ? columns : rows;
    out[1] = x->transposed ? rows : columns;
}

/* *ld: what CLBlast wants, at least a row; of one row it does not matter. */
static bool takes(const DevMatrix *x, int64_t rows, int64_t columns, int64_t count, int64_t *ld)
{
    int64_t lies[2];
    stored(x, rows, columns, lies);
    *ld = lies[0] == 1 && x->ld < lies[1] ? lies[1] : x->ld;
    double end = (double)x->at + (double)x->batch * (double)(count - 1) + (double)*ld *
                 (double)lies[0];
    return x->at >= 0 && x->batch >= 0 && *ld >= lies[1] && *ld <= INT32_MAX &&
           x->batch <= INT32_MAX && end <= INT32_MAX;
}

static bool packed(const DevMatrix *x, int64_t rows, int64_t columns)
{
    return x->at == 0 && x->ld == (x->transposed ? rows : columns) && x->batch == rows * columns;
}

static DevStatus lacks(Device *d, const char *why)
{
    snprintf(d->fault, sizeof d->fault, "CLBlast does not take %s", why);
    return DEV_LACKS;
}

static double work(const DevGemm *g) { return (double)g->m * (double)g->n * (double)g->k; }

static DevStatus judge(Device *d, const DevGemm *g, Product *p)
{
    if ((g->dtype != DT_F32 && g->dtype != DT_F64) || !device_holds(d, g->dtype))
        return lacks(d, "this dtype");
    if (!takes(&g->a, g->m, g->k, g->count, &p->ld[0]) ||
        !takes(&g->b, g->k, g->n, g->count, &p->ld[1]) ||
        !takes(&g->c, g->m, g->n, g->count, &p->ld[2]))
        return lacks(d, "these strides and offsets");
    p->batched = g->count > 1 && packed(&g->a, g->m, g->k) && packed(&g->b, g->k, g->n) &&
                 packed(&g->c, g->m, g->n);
    if (g->k && g->count > 1 && !p->batched && work(g) < WORTH_A_CALL)
        return lacks(d, "many small matrices that do not follow each other");
    return DEV_OK;
}

/* ---- calls ---- */
static cl_mem buffer_of(const DevMatrix *x) { return (cl_mem)(uintptr_t)x->mem->handle; }

/* A result that lies by columns is C' = B' A' by rows, or the same product by columns. */
static int flag(const DevGemm *g, const DevMatrix *x)
{
    return x->transposed != g->c.transposed ? TRANSPOSED : AS_IT_IS;
}

static int call_single(Product *p, int64_t i)
{
    const DevGemm *g = p->gemm;
    const ClBlast *blast = p->state->blast;
    const DevMatrix *a = &g->a, *b = &g->b, *c = &g->c;
    cl_command_queue *queue = &p->state->queue;
    size_t m = (size_t)g->m, n = (size_t)g->n, k = (size_t)g->k;
    int layout = c->transposed ? COLUMN_MAJOR : ROW_MAJOR, ta = flag(g, a), tb = flag(g, b);
#define OPERAND(x, l) buffer_of(x), (size_t)((x)->at + i * (x)->batch), (size_t)p->ld[l]
    if (g->dtype == DT_F32)
        return blast->CLBlastSgemm(layout, ta, tb, m, n, k, 1, OPERAND(a, 0), OPERAND(b, 1), 0,
                                   OPERAND(c, 2), queue, NULL);
    return blast->CLBlastDgemm(layout, ta, tb, m, n, k, 1, OPERAND(a, 0), OPERAND(b, 1), 0,
                               OPERAND(c, 2), queue, NULL);
#undef OPERAND
}

static int call_batched(Product *p)
{
    const DevGemm *g = p->gemm;
    const ClBlast *blast = p->state->blast;
    const DevMatrix *a = &g->a, *b = &g->b, *c = &g->c;
    cl_command_queue *queue = &p->state->queue;
    size_t m = (size_t)g->m, n = (size_t)g->n, k = (size_t)g->k, count = (size_t)g->count;
    int layout = c->transposed ? COLUMN_MAJOR : ROW_MAJOR, ta = flag(g, a), tb = flag(g, b);
#define OPERAND(x, l) buffer_of(x), (size_t)(x)->at, (size_t)p->ld[l], (size_t)(x)->batch
    if (g->dtype == DT_F32)
        return blast->CLBlastSgemmStridedBatched(layout, ta, tb, m, n, k, 1, OPERAND(a, 0),
                                                 OPERAND(b, 1),
                                                 0, OPERAND(c, 2), count, queue, NULL);
    return blast->CLBlastDgemmStridedBatched(layout, ta, tb, m, n, k, 1, OPERAND(a, 0),
                                             OPERAND(b, 1), 0, OPERAND(c, 2), count, queue, NULL);
#undef OPERAND
}

static int call(Product *p)
{
    if (p->batched)
        return call_batched(p);
    int code = CL_SUCCESS;
    for (int64_t i = 0; i < p->gemm->count && code == CL_SUCCESS; i++)
        code = call_single(p, i);
    return code;
}

/* Without terms a sum is zero: CLBlast takes no such matrices. */
static DevStatus clear(Device *d, const DevGemm *g)
{
    ClState *s = d->state;
    const double zero = 0;
    size_t size = g->dtype == DT_F64 ? 8 : 4;
    int64_t lies[2];
    cl_int code = CL_SUCCESS;
    stored(&g->c, g->m, g->n, lies);
    for (int64_t i = 0; i < g->count * lies[0] && code == CL_SUCCESS; i++) {
        int64_t at = g->c.at + i / lies[0] * g->c.batch + i % lies[0] * g->c.ld;
        code = s->cl->clEnqueueFillBuffer(s->queue, buffer_of(&g->c), &zero, size,
                                          (size_t)at * size, (size_t)lies[1] * size, 0, NULL, NULL);
    }
    return opencl_check(d, code, "clEnqueueFillBuffer");
}

/* ---- the first of a kind ---- */
static void *run_first(void *argument)
{
    Product *p = argument;
    p->code = call(p);
    p->state->cl->clFinish(p->state->queue);       /* PoCL compiles when a kernel is launched */
    pthread_mutex_lock(&p->lock);
    p->finished = true;
    pthread_cond_signal(&p->done);
    pthread_mutex_unlock(&p->lock);
    return NULL;
}

/* To somebody who looks at a terminal that stands still; a log has no use for it. */
static void tell(const Device *d)
{
    ClState *s = d->state;
    char text[128];
    if (!s->ctx->notice || !isatty(STDERR_FILENO))
        return;
    snprintf(text, sizeof text, "compiling GEMM for %s (first use, cached afterwards)",
             s->pocl ? "PoCL" : d->name);
    s->ctx->notice(s->ctx, text);
}

static void wait_first(const Device *d, Product *p)
{
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_nsec += 500000000;
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    pthread_mutex_lock(&p->lock);
    while (!p->finished)
        if (pthread_cond_timedwait(&p->done, &p->lock, &until) != 0)
            break;
    bool late = !p->finished;
    pthread_mutex_unlock(&p->lock);
    if (late)
        tell(d);
}

/* In a thread of its own, so that this one can say what it is waiting for. */
static int call_first(const Device *d, Product *p)
{
    pthread_condattr_t attributes;
    pthread_t thread;
    sigset_t before;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_mutex_init(&p->lock, NULL);
    pthread_cond_init(&p->done, &attributes);
    signals_hold(&before);
    bool started = pthread_create(&thread, NULL, run_first, p) == 0;
    signals_let(&before);
    if (started) {
        wait_first(d, p);
        pthread_join(thread, NULL);
    } else
        run_first(p);
    pthread_cond_destroy(&p->done);
    pthread_mutex_destroy(&p->lock);
    pthread_condattr_destroy(&attributes);
    return p->code;
}

/* Whether a product of its kind ran before: each has kernels of its own. */
static bool first_of_kind(ClState *s, const DevGemm *g, const Product *p)
{
    bool large = work(g) >= WORTH_A_CALL;
    int kind = (flag(g, &g->a) == TRANSPOSED) | (flag(g, &g->b) == TRANSPOSED) << 1 |
               g->c.transposed << 2 | p->batched << 3 | large << 4;
    uint64_t *seen = &s->products[g->dtype == DT_F64];
    bool first = !(*seen >> kind & 1);
    *seen |= (uint64_t)1 << kind;
    return first;
}

DevStatus opencl_gemm(Device *d, const DevGemm *g)
{
    ClState *s = d->state;
    Product p = { .state = s, .gemm = g };
    DevStatus status = judge(d, g, &p);
    if (status != DEV_OK || g->m == 0 || g->n == 0 || g->count == 0)
        return status;
    if (g->k == 0)
        return clear(d, g);
    if (!s->blast)
        return lacks(d, "anything: it is not there");
    s->multiplied = true;
    int code = first_of_kind(s, g, &p) ? call_first(d, &p) : call(&p);
    return opencl_check(d, code, "CLBlast's product");
}
