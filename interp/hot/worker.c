/* The thread beside the evaluator (code.h): opening LLVM takes as long as many a program, and
 * finishing a draft as long as many a loop. */
#include "interp/hot/code.h"

#include "core/base/mem.h"
#include "core/system/forks.h"
#include "core/system/held_signals.h"

#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

struct HotWorker {
    pthread_t thread;
    unsigned process;                  /* whose thread it is: forks_seen */
    pthread_mutex_t lock;
    pthread_cond_t wake, done;
    HotCode *first, *last;             /* that wait */
    bool wanted, opened, none;         /* LLVM */
    bool soon, stop, busy, left;
    _Atomic int nudge;
};

static void nudge(HotWorker *w)
{
    atomic_store_explicit(&w->nudge, 1, memory_order_relaxed);
}

/* The lock is held, but while it is busy. */
static void busy_begin(HotWorker *w)
{
    w->busy = true;
    pthread_mutex_unlock(&w->lock);
}

static void busy_end(HotWorker *w)
{
    pthread_mutex_lock(&w->lock);
    w->busy = false;
}

static void open_llvm(HotWorker *w)
{
    busy_begin(w);
    bool there = llvm_open() != NULL;
    busy_end(w);
    w->wanted = false;
    w->opened = there;
    w->none = !there;
    nudge(w);
}

static void finish_first(HotWorker *w)
{
    HotCode *code = w->first;
    w->first = code->next;
    busy_begin(w);
    hot_finish(code);
    busy_end(w);
    pthread_cond_broadcast(&w->done);
    nudge(w);
}

/* Until the time is up, or there is something else to do. */
static void pass_time(HotWorker *w)
{
    enum { NANOSECONDS = 10000000, SECOND = 1000000000 };
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += NANOSECONDS;
    until.tv_sec += until.tv_nsec / SECOND;
    until.tv_nsec %= SECOND;
    w->soon = false;
    while (!w->stop && !w->first && !w->wanted &&
           pthread_cond_timedwait(&w->wake, &w->lock, &until) == 0)
        ;
    nudge(w);
}

static void *work(void *arg)
{
    HotWorker *w = arg;
    pthread_mutex_lock(&w->lock);
    while (!w->stop) {
        if (w->wanted)
            open_llvm(w);
        else if (w->first)
            finish_first(w);
        else if (w->soon)
            pass_time(w);
        else
            pthread_cond_wait(&w->wake, &w->lock);
    }
    pthread_mutex_unlock(&w->lock);
    return NULL;
}

static void worker_drop(Ctx *c, HotWorker *w)
{
    pthread_mutex_destroy(&w->lock);
    pthread_cond_destroy(&w->wake);
    pthread_cond_destroy(&w->done);
    mem_free(c, w, sizeof *w);
}

/* With a stack that LLVM has room on: what the system gives (`ulimit -s`) may be little. */
static bool start(HotWorker *w)
{
    enum { STACK = 8 << 20 };
    pthread_attr_t attributes;
    sigset_t before;
    if (pthread_attr_init(&attributes) != 0)
        return false;
    signals_hold(&before);
    bool started = pthread_attr_setstacksize(&attributes, STACK) == 0 &&
                   pthread_create(&w->thread, &attributes, work, w) == 0;
    signals_let(&before);
    pthread_attr_destroy(&attributes);
    return started;
}

HotWorker *worker_new(Ctx *c)
{
    HotWorker *w = mem_try_alloc(c, sizeof *w);
    if (!w)
        return NULL;
    *w = (HotWorker){ .process = forks_seen() };
    pthread_mutex_init(&w->lock, NULL);
    pthread_cond_init(&w->wake, NULL);
    pthread_cond_init(&w->done, NULL);
    if (start(w))
        return w;
    worker_drop(c, w);
    return NULL;
}

/* In a child of a fork nobody works, and the lock may be held for ever. */
static bool is_there(const HotWorker *w) { return w->process == forks_seen(); }

void worker_free(Ctx *c, HotWorker *w)
{
    if (!is_there(w)) {
        mem_free(c, w, sizeof *w);
        return;
    }
    pthread_mutex_lock(&w->lock);
    w->stop = true;
    pthread_cond_signal(&w->wake);
    pthread_mutex_unlock(&w->lock);
    pthread_join(w->thread, NULL);
    worker_drop(c, w);
}

bool worker_opened(HotWorker *w, bool *none)
{
    *none = !is_there(w);
    if (*none)
        return false;
    pthread_mutex_lock(&w->lock);
    bool opened = w->opened;
    *none = w->none;
    if (!opened && !w->none && !w->wanted) {
        w->wanted = true;
        pthread_cond_signal(&w->wake);
    }
    pthread_mutex_unlock(&w->lock);
    return opened;
}

_Atomic int *worker_nudge(HotWorker *w, bool soon)
{
    atomic_store_explicit(&w->nudge, 0, memory_order_relaxed);
    if (soon && is_there(w)) {
        pthread_mutex_lock(&w->lock);
        if (!w->soon) {
            w->soon = true;
            pthread_cond_signal(&w->wake);
        }
        pthread_mutex_unlock(&w->lock);
    }
    return &w->nudge;
}

void worker_finish(HotWorker *w, HotCode *code)
{
    code->worker = w;
    code->next = NULL;
    pthread_mutex_lock(&w->lock);
    if (w->first)
        w->last->next = code;
    else
        w->first = code;
    w->last = code;
    pthread_cond_signal(&w->wake);
    pthread_mutex_unlock(&w->lock);
}

bool worker_leave(HotWorker *w)
{
    if (!is_there(w))
        return false;
    pthread_mutex_lock(&w->lock);
    w->stop = true;
    w->left = w->busy;
    pthread_cond_signal(&w->wake);
    pthread_mutex_unlock(&w->lock);
    return w->left;
}

/* Takes it out of those that wait, or waits for it. */
bool worker_wait(HotWorker *w, HotCode *code)
{
    if (!is_there(w))
        return true;
    pthread_mutex_lock(&w->lock);
    HotCode **at = &w->first;
    while (*at && *at != code)
        at = &(*at)->next;
    if (*at) {
        *at = code->next;
        for (w->last = w->first; w->last && w->last->next; w->last = w->last->next)
            ;
        machine_drop(&code->draft);
        atomic_store(&code->stage, HOT_FAILED);
    }
    while (atomic_load(&code->stage) == HOT_MAKING && !w->left)
        pthread_cond_wait(&w->done, &w->lock);
    bool made = atomic_load(&code->stage) != HOT_MAKING;
    pthread_mutex_unlock(&w->lock);
    return made;
}
