/* Steps of a factorisation, shared by workers (steps.h): who has nothing to do asks for the next
 * call that nothing stands in the way of. A call takes from microseconds to milliseconds, so one
 * lock around the choice is enough. */
#include "kernels/dense/steps.h"

#include "core/memory/pool.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <string.h>

/* How often the state is looked at before others get the processor. */
enum { SPINS = 200 };

typedef struct Column {
    int applied;                 /* panels that changed it */
    bool busy, ended;
} Column;

typedef struct Run {
    const Steps *s;
    Ctx *ctx;
    pthread_mutex_t lock;
    int made;                    /* panels */
    bool making;
    _Atomic unsigned changes;    /* calls that returned */
    _Atomic bool over;
    Column *columns;
    int *waiting;                /* columns that panel k is still to change */
} Run;

typedef enum Kind { NOTHING, PANEL, UPDATE, LAST, OVER } Kind;
typedef struct Call { Kind kind; int k, j; } Call;

int steps_workers(Ctx *ctx)
{
    return pool_threads(ctx);
}

size_t steps_room(const Steps *s)
{
    return (size_t)s->columns * sizeof(Column) + (size_t)s->panels * sizeof(int);
}

static bool panel_ready(const Run *r)
{
    int k = r->made;
    return k < r->s->panels && !r->making && !r->columns[k].busy && r->columns[k].applied == k &&
           (k < 2 || r->waiting[k - 2] == 0);
}

/* The next panel first, then its columns, then what is furthest behind. */
static Call next_call(Run *r)
{
    const Steps *s = r->s;
    Call best = { NOTHING, 0, 0 };
    bool all = r->made == s->panels;
    if (panel_ready(r)) {
        r->making = r->columns[r->made].busy = true;
        return (Call){ PANEL, r->made, r->made };
    }
    for (int j = r->made; j < s->columns; j++) {
        Column *c = &r->columns[j];
        bool whole = c->applied >= r->made;
        all = all && whole && !c->busy;
        if (whole || c->busy || (best.kind == UPDATE && best.k <= c->applied))
            continue;
        best = (Call){ UPDATE, c->applied, j };
        if (j == r->made)
            break;
    }
    for (int j = 0; j < s->panels && r->made == s->panels && s->last && best.kind == NOTHING; j++) {
        all = all && r->columns[j].ended && !r->columns[j].busy;
        if (!r->columns[j].ended)
            best = (Call){ LAST, j, j };
    }
    if (best.kind == NOTHING)
        best.kind = all ? OVER : NOTHING;
    else
        r->columns[best.j].busy = true;
    if (best.kind == LAST)
        r->columns[best.j].ended = true;
    return best;
}

static void call_done(Run *r, const Call *c)
{
    Column *column = &r->columns[c->j];
    column->busy = false;
    if (c->kind == UPDATE) {
        column->applied++;
        r->waiting[c->k]--;
    } else if (c->kind == PANEL) {
        r->made++;
        r->making = false;
    }
    atomic_fetch_add_explicit(&r->changes, 1, memory_order_release);
}

static void call_make(const Steps *s, const Call *c, int worker)
{
    if (c->kind == PANEL)
        s->panel(s->data, c->k, worker);
    else if (c->kind == UPDATE)
        s->update(s->data, c->k, c->j, worker);
    else
        s->last(s->data, c->j, worker);
}

/* Until another call returned. */
static void wait_change(Run *r, unsigned seen)
{
    for (int i = 0; atomic_load_explicit(&r->changes, memory_order_acquire) == seen; i++) {
        if (*r->ctx->interrupt || atomic_load(&r->over))
            return;
        if (i >= SPINS)
            sched_yield();
#if defined(__x86_64__) || defined(__i386__)
        else
            __builtin_ia32_pause();
#endif
    }
}

static void worker_run(void *arg, int64_t begin, int64_t end, int worker)
{
    Run *r = arg;
    (void)begin, (void)end;
    while (!*r->ctx->interrupt) {
        pthread_mutex_lock(&r->lock);
        unsigned seen = atomic_load_explicit(&r->changes, memory_order_relaxed);
        Call c = next_call(r);
        pthread_mutex_unlock(&r->lock);
        if (c.kind == OVER) {
            atomic_store(&r->over, true);
            return;
        }
        if (c.kind == NOTHING) {
            wait_change(r, seen);
            continue;
        }
        call_make(r->s, &c, worker);
        pthread_mutex_lock(&r->lock);
        call_done(r, &c);
        pthread_mutex_unlock(&r->lock);
    }
}

void steps_run(Ctx *ctx, const Steps *s, void *room)
{
    Run r = { .s = s, .ctx = ctx, .lock = PTHREAD_MUTEX_INITIALIZER, .columns = room };
    memset(room, 0, steps_room(s));
    r.waiting = (int *)(void *)(r.columns + s->columns);
    for (int k = 0; k < s->panels; k++)
        r.waiting[k] = s->columns - k - 1;
    pool_for(ctx, s->alone ? 1 : pool_threads(ctx), 1, worker_run, &r);
    pthread_mutex_destroy(&r.lock);
}
