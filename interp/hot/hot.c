/* When a loop is compiled, and whether that pays. RICCI_JIT=0: never; RICCI_JIT=now: when it comes
 * to its second iteration, and the evaluator waits for it. */
#include "interp/hot/hot.h"

#include "core/base/mem.h"
#include "interp/hot/run.h"
#include "interp/op/deferred.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
    FIRST = 2000,          /* iterations until somebody looks, */
    AGAIN = 4 * FIRST,     /* again, when loops around had their turn, */
    SOON = 64,             /* and whether what is being made is ready */
    MISSES = 4,            /* so many kinds of values have code of their own */
    TRIES = 64             /* entries after which it is asked whether code pays */
};
#define PAYS 1e-6          /* seconds that an entry lasts then */

/* Nobody listens, nothing rounds, nothing waits: scalars are what they are. */
static bool plain(const Interp *in)
{
    return !in->scope && !in->place && !in->tape && !in->boxes && !in->pins && !in->explain &&
           !deferred_on(in) && !in->listener;
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Loops around come first: what is inside is theirs then. */
static bool turn_of_others(HotSite *s)
{
    bool others = false;
    for (HotSite *up = s->up; up && !s->looks; up = up->up)
        if (!up->code && up->cool != HOT_NEVER) {
            up->cool = up->cool > 1 ? 1 : up->cool;
            others = true;
        }
    s->looks = 1;
    return others;
}

static bool eager(const Interp *in) { return in->hot->first == 1; }

/* Is there who makes code? Until LLVM is open there is not. */
static bool can_make(Interp *in, HotSite *s)
{
    bool none = false;
    if (eager(in))
        return true;
    if (!in->hot_worker)
        in->hot_worker = worker_new(&in->ctx);
    bool opened = in->hot_worker && worker_opened(in->hot_worker, &none);
    s->cool = !in->hot_worker || none ? HOT_NEVER : SOON;
    return opened;
}

static void code_begin(Interp *in, const Exec *x, HotSite *s, HotCount *count)
{
    s->code = hot_compile(in, x, count);
    s->cool = s->code ? SOON : HOT_NEVER;
    if (!s->code)
        return;
    chunk_own(s->chunk, hot_free, s->code);
    if (eager(in))
        hot_finish(s->code);
    else
        worker_finish(in->hot_worker, s->code);
}

/* Is there code? If not it is begun, or being made. */
static bool has_code(Interp *in, const Exec *x, HotSite *s, HotCount *count)
{
    if (!s->code) {
        s->cool = AGAIN;
        if ((!eager(in) && turn_of_others(s)) || !can_make(in, s))
            return false;
        code_begin(in, x, s, count);
    }
    if (!s->code)
        return false;
    int stage = atomic_load_explicit(&s->code->stage, memory_order_acquire);
    s->cool = stage == HOT_READY ? 0 : stage == HOT_MAKING ? SOON : HOT_NEVER;
    return stage == HOT_READY;
}

/* Code that is left again and again as soon as it is entered costs more than it gives. */
static void judge(HotSite *s, HotCode *code, double seconds)
{
    code->seconds += seconds;
    if (++code->entries == TRIES && code->seconds < TRIES * PAYS)
        s->cool = HOT_NEVER;
}

static HotEnd hot_loop(Interp *in, const Exec *x, HotSite *s, HotCount *count, Value *left)
{
    *left = v_none();
    if (!plain(in)) {
        s->cool = FIRST;
        return HOT_MISS;
    }
    if (!has_code(in, x, s, count))
        return HOT_MISS;
    HotCode *code = s->code;             /* the chunk's: what it runs may put another in place */
    bool judged = code->entries < TRIES;
    double start = judged ? now() : 0;
    HotEnd end = hot_run(in, code, count, left);
    if (end == HOT_MISS) {
        s->cool = ++s->misses > MISSES ? HOT_NEVER : FIRST;
        s->code = NULL;                      /* another one, for what variables hold then */
    } else if (judged && end == HOT_LEFT) {
        judge(s, code, now() - start);
    }
    return end;
}

static const HotHooks hooks[] = { { hot_loop, FIRST }, { hot_loop, 1 } };

void hot_end(Interp *in)
{
    if (in->hot_worker)
        worker_free(&in->ctx, in->hot_worker);
    in->hot_worker = NULL;
}

const HotHooks *hot_hooks(void)
{
    const char *text = getenv("RICCI_JIT");
    if (text && strcmp(text, "0") == 0)
        return NULL;
    return &hooks[text && (strcmp(text, "now") == 0 || strcmp(text, "quick") == 0)];
}
