/* What the library behind blas.h takes for itself: buffers of 128 MB of addresses, one for each
 * thread that is inside it at once, and threads of its own. OpenBLAS cannot be told that there are
 * none: it asks the system for a buffer until it gets one, for ever, and waits for threads that
 * never started.
 * So both are had here, under our own watch, before it needs them. Its buffers and its number of
 * threads are the process's, and so is what is kept here, behind a lock. */
#include "kernels/blas/blas.h"

#include "core/system/held_signals.h"

#include <pthread.h>
#include <stdatomic.h>
#include <sys/mman.h>

/* What it asks for on every 64-bit processor, with what it may want besides; of so many buffers it
 * has places for the addresses. */
static const size_t BUFFER_BYTES = ((size_t)128 << 20) + ((size_t)8 << 20);
enum { BUFFERS_MOST = 128 };

static struct {
    pthread_mutex_t lock;
    _Atomic int users;           /* interpreters that called */
    _Atomic int threads;         /* last set; 0: never */
    int wanted, held;            /* buffers: of all users together, and those that it surely has */
    int started;                 /* threads of its own that it surely has */
} room = { .lock = PTHREAD_MUTEX_INITIALIZER };

static bool is_room(void)
{
    void *p = mmap(NULL, BUFFER_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return p != MAP_FAILED && munmap(p, BUFFER_BYTES) == 0;
}

/* A buffer that was given back stays where it is, and is the next caller's. */
static bool grow(const Blas *b, int total)
{
    void *taken[BUFFERS_MOST];
    int n = 0;
    if (!b->buffer_take || total > BUFFERS_MOST)
        return true;
    while (n < total && is_room())
        taken[n++] = b->buffer_take(0);
    bool all = n == total;
    room.held = n > room.held ? n : room.held;
    while (n > 0)
        b->buffer_give(taken[--n]);
    return all;
}

bool blas_room_first(const Blas *b)
{
    pthread_mutex_lock(&room.lock);
    bool is = room.held > 0 || grow(b, 1);
    pthread_mutex_unlock(&room.lock);
    return is;
}

/* ---- threads of its own ---- */
typedef struct Gate { pthread_mutex_t lock; pthread_cond_t open; bool is_open; } Gate;

static void *wait_at(void *gate)
{
    Gate *g = gate;
    pthread_mutex_lock(&g->lock);
    while (!g->is_open)
        pthread_cond_wait(&g->open, &g->lock);
    pthread_mutex_unlock(&g->lock);
    return NULL;
}

/* Would so many threads start? Tried with some that do nothing. */
static bool threads_start(int n)
{
    Gate gate = { .lock = PTHREAD_MUTEX_INITIALIZER, .open = PTHREAD_COND_INITIALIZER };
    pthread_t thread[BUFFERS_MOST];
    int started = 0;
    while (started < n && started < BUFFERS_MOST &&
           pthread_create(&thread[started], NULL, wait_at, &gate) == 0)
        started++;
    pthread_mutex_lock(&gate.lock);
    gate.is_open = true;
    pthread_cond_broadcast(&gate.open);
    pthread_mutex_unlock(&gate.lock);
    for (int i = 0; i < started; i++)
        pthread_join(thread[i], NULL);
    return started == n || started == BUFFERS_MOST;
}

/* Where several interpreters live, one would set the number while another is inside: then it is
 * one, from the moment that the second comes. */
static void set_threads(const Blas *b, int threads)
{
    if (threads - 1 > room.started) {
        if (!threads_start(threads - 1))
            threads = 1;
        else
            room.started = threads - 1;
    }
    if (b->set_threads && room.threads != threads) {
        sigset_t before;
        signals_hold(&before);
        b->set_threads(threads);
        signals_let(&before);
    }
    room.threads = threads;
}

/* ---- users ---- */
static void enter(Ctx *ctx, const Blas *b, int buffers, int threads)
{
    pthread_mutex_lock(&room.lock);
    if (ctx->blas_buffers == 0)
        room.users++;
    if (ctx->blas_buffers < buffers) {
        int rest = room.wanted - ctx->blas_buffers;
        bool fits = rest + buffers <= room.held || grow(b, rest + buffers);
        if (fits || ctx->blas_buffers == 0) {
            ctx->blas_buffers = fits ? buffers : 1;
            room.wanted = rest + ctx->blas_buffers;
        }
    }
    if (ctx->blas_buffers < buffers || room.users > 1)
        threads = 1;
    if (room.threads != threads)
        set_threads(b, threads);
    pthread_mutex_unlock(&room.lock);
}

int blas_enter(Ctx *ctx, const Blas *b, int callers, int threads)
{
    int buffers = threads > 1 ? threads + 1 : callers;
    if (atomic_load_explicit(&room.users, memory_order_relaxed) > 1)
        threads = 1;
    if (ctx->blas_buffers < buffers ||
        atomic_load_explicit(&room.threads, memory_order_relaxed) != threads)
        enter(ctx, b, buffers, threads);
    return ctx->blas_buffers < callers ? 1 : callers;
}

void blas_leave(Ctx *ctx)
{
    if (ctx->blas_buffers == 0)
        return;
    pthread_mutex_lock(&room.lock);
    room.users--;
    room.wanted -= ctx->blas_buffers;
    ctx->blas_buffers = 0;
    pthread_mutex_unlock(&room.lock);
}
