/* The worker pool of pool.h. A job is a function over [0, n), cut into chunks that callers
 * and workers take from one atomic counter. Threads are started when a job first needs
 * them; between jobs they spin for some microseconds, then sleep on a condition variable,
 * so that they take nothing from single-threaded BLAS calls. A job started inside a job
 * runs on its own thread alone. */
#include "core/memory/pool.h"
#include "core/base/mem.h"
#include "core/system/forks.h"
#include "core/memory/progress.h"
#include "core/system/held_signals.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum { THREADS_MAX = 256, SPINS = 1500 };
/* The longest chunk, in grains: some milliseconds, since the interrupt flag is read in between. */
enum { GRAINS_MAX = 64 };

typedef struct Worker {
    Pool *pool;
    pthread_t thread;
    int index;
} Worker;

struct Pool {
    int threads;                  /* including the caller */
    int started;                  /* workers that run (threads - 1, or fewer) */
    cpu_set_t allowed;            /* where this process may run */
    int apart;                    /* the CPU that workers stay away from; -1: none yet */
    bool busy;                    /* only the caller's thread reads and writes it */
    unsigned process;             /* whose threads the workers are: forks_seen */
    pthread_mutex_t lock;
    pthread_cond_t wake, done;
    _Atomic uint64_t job;         /* number of the newest job */
    _Atomic int running;          /* workers that have not finished it */
    _Atomic int64_t next;         /* first index that nobody took */
    bool stop;
    int64_t n, chunk;
    PoolFn fn;
    void *arg;
    InterruptFlag *interrupt;
    Ctx *heard;                   /* who is told how far the job is, or NULL */
    Worker workers[THREADS_MAX];
};

static inline void pause_cpu(void) {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

static int count_threads(void) {
    const char *text = getenv("RICCI_THREADS");
    long n = text ? strtol(text, NULL, 10) : 0;
    cpu_set_t set;
    if (n <= 0) n = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
    return n < 1 ? 1 : n > THREADS_MAX ? THREADS_MAX : (int)n;
}

/* A pool that was made before a fork is forgotten in the child; what is left of it is memory. */
static bool of_this_process(const Pool *pool) { return pool->process == forks_seen(); }

static void pool_forget(Ctx *ctx)
{
    mem_free(ctx, ctx->pool, sizeof *ctx->pool);
    ctx->pool = NULL;
}

/* NULL if there is no memory for it: pool_for never raises, it then runs alone. */
static Pool *pool_get(Ctx *ctx) {
    if (ctx->pool && !of_this_process(ctx->pool)) pool_forget(ctx);
    if (ctx->pool) return ctx->pool;
    Pool *pool = mem_try_alloc(ctx, sizeof *pool);
    if (!pool) return NULL;
    memset(pool, 0, sizeof *pool);
    pool->threads = count_threads();
    pool->apart = -1;
    pool->process = forks_seen();
    if (sched_getaffinity(0, sizeof pool->allowed, &pool->allowed) != 0) CPU_ZERO(&pool->allowed);
    pthread_mutex_init(&pool->lock, NULL);
    pthread_cond_init(&pool->wake, NULL);
    pthread_cond_init(&pool->done, NULL);
    return ctx->pool = pool;
}

int pool_threads(Ctx *ctx) {
    Pool *pool = pool_get(ctx);
    return pool ? pool->threads : 1;
}

bool pool_inside(const Ctx *ctx)
{
    return ctx->pool && ctx->pool->busy && of_this_process(ctx->pool);
}

static void run_chunks(Pool *pool, int worker) {
    for (;;) {
        int64_t begin = atomic_fetch_add_explicit(&pool->next, pool->chunk, memory_order_relaxed);
        if (begin >= pool->n || (pool->interrupt && *pool->interrupt)) return;
        int64_t end = pool->n - begin > pool->chunk ? begin + pool->chunk : pool->n;
        if (__builtin_expect(worker == 0 && pool->heard != NULL, 0)) progress_at(pool->heard,
            begin);
        pool->fn(pool->arg, begin, end, worker);
    }
}

/* Waits for a job after number `seen`: spins shortly, then sleeps. */
static uint64_t wait_job(Pool *pool, uint64_t seen) {
    uint64_t job;
    for (int i = 0; i < SPINS; i++) {
        if ((job = atomic_load_explicit(&pool->job, memory_order_acquire)) != seen) return job;
        pause_cpu();
    }
    pthread_mutex_lock(&pool->lock);
    while ((job = atomic_load(&pool->job)) == seen) pthread_cond_wait(&pool->wake, &pool->lock);
    pthread_mutex_unlock(&pool->lock);
    return job;
}

static void *worker_main(void *arg) {
    Worker *self = arg;
    Pool *pool = self->pool;
    for (uint64_t seen = 0;;) {
        seen = wait_job(pool, seen);
        if (pool->stop) return NULL;
        run_chunks(pool, self->index);
        if (atomic_fetch_sub(&pool->running, 1) == 1) {
            pthread_mutex_lock(&pool->lock);
            pthread_cond_signal(&pool->done);
            pthread_mutex_unlock(&pool->lock);
        }
    }
}

static void start_workers(Pool *pool) {
    sigset_t before;
    signals_hold(&before);
    while (pool->started < pool->threads - 1) {
        Worker *w = &pool->workers[pool->started];
        *w = (Worker){ .pool = pool, .index = pool->started + 1 };
        if (pthread_create(&w->thread, NULL, worker_main, w) != 0) {
            pool->threads = pool->started + 1;
            break;
        }
        pool->started++;
    }
    signals_let(&before);
}

/* A thread that sleeps is woken on the CPU of whoever wakes it, and may share that with the
 * caller for milliseconds before the scheduler parts them: a product of 7 ms then takes as
 * long as on one core. So workers are kept off the CPU that the caller runs on, which costs
 * a call to the kernel when the caller has moved. */
static void keep_apart(Pool *pool) {
    int cpu = sched_getcpu();
    if (cpu < 0 || cpu == pool->apart || CPU_COUNT(&pool->allowed) < 2) return;
    if (cpu >= CPU_SETSIZE || !CPU_ISSET(cpu, &pool->allowed)) return;
    cpu_set_t others = pool->allowed;
    CPU_CLR(cpu, &others);
    for (int i = 0; i < pool->started; i++)
        pthread_setaffinity_np(pool->workers[i].thread, sizeof others, &others);
    pool->apart = cpu;
}

static void wait_done(Pool *pool) {
    for (int i = 0; i < SPINS; i++) {
        if (atomic_load_explicit(&pool->running, memory_order_acquire) == 0) return;
        pause_cpu();
    }
    pthread_mutex_lock(&pool->lock);
    while (atomic_load(&pool->running) != 0) pthread_cond_wait(&pool->done, &pool->lock);
    pthread_mutex_unlock(&pool->lock);
}

static void run_alone(Ctx *ctx, int64_t n, int64_t chunk, PoolFn fn, void *arg) {
    bool heard = n > chunk && progress_enter(ctx, NULL, 0, n);
    for (int64_t begin = 0; begin < n; begin += chunk) {
        if (ctx->interrupt && *ctx->interrupt) break;
        if (heard) progress_at(ctx, begin);
        fn(arg, begin, n - begin > chunk ? begin + chunk : n, 0);
    }
    if (heard) progress_leave(ctx);
}

void pool_for(Ctx *ctx, int64_t n, int64_t grain, PoolFn fn, void *arg) {
    if (n <= 0) return;
    if (grain < 1) grain = 1;
    Pool *pool = pool_get(ctx);
    int64_t chunk = n / (4 * (int64_t)pool_threads(ctx));
    if (chunk / GRAINS_MAX > grain) chunk = GRAINS_MAX * grain;
    if (chunk < grain) chunk = grain;
    if (!pool || pool->busy || pool->threads == 1 || n <= chunk) {
        run_alone(ctx, n, chunk, fn, arg);
        return;
    }
    if (pool->started < pool->threads - 1) start_workers(pool);
    keep_apart(pool);
    pool->busy = true;
    pool->fn = fn;
    pool->arg = arg;
    pool->n = n;
    pool->chunk = chunk;
    pool->interrupt = ctx->interrupt;
    pool->heard = progress_enter(ctx, NULL, 0, n) ? ctx : NULL;
    atomic_store(&pool->next, 0);
    atomic_store(&pool->running, pool->started);
    pthread_mutex_lock(&pool->lock);
    atomic_fetch_add(&pool->job, 1);
    pthread_cond_broadcast(&pool->wake);
    pthread_mutex_unlock(&pool->lock);
    run_chunks(pool, 0);
    wait_done(pool);
    if (pool->heard) progress_leave(ctx);
    pool->busy = false;
}

void pool_shutdown(Ctx *ctx) {
    Pool *pool = ctx->pool;
    if (!pool) return;
    if (!of_this_process(pool)) {
        pool_forget(ctx);
        return;
    }
    pthread_mutex_lock(&pool->lock);
    pool->stop = true;
    atomic_fetch_add(&pool->job, 1);
    pthread_cond_broadcast(&pool->wake);
    pthread_mutex_unlock(&pool->lock);
    for (int i = 0; i < pool->started; i++) pthread_join(pool->workers[i].thread, NULL);
    pthread_cond_destroy(&pool->wake);
    pthread_cond_destroy(&pool->done);
    pthread_mutex_destroy(&pool->lock);
    mem_free(ctx, pool, sizeof *pool);
    ctx->pool = NULL;
}
