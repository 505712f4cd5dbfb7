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

/* NULL: it cannot be compiled. */
static bool code_begin(Interp *in, HotSite *s, HotCode *code)
{
    s->code = code;
    s->cool = code ? SOON : HOT_NEVER;
    if (!code)
        return false;
    chunk_own(s->chunk, hot_free, code);
    if (eager(in))
        hot_finish(code);
    else
        worker_finish(in->hot_worker, code);
    return true;
}

/* If not, it is being made, or that failed. */
static bool is_ready(HotSite *s)
{
    int stage = atomic_load_explicit(&s->code->stage, memory_order_acquire);
    s->cool = stage == HOT_READY ? 0 : stage == HOT_MAKING ? SOON : HOT_NEVER;
    return stage == HOT_READY;
}

/* Is there code? If not it is begun, or being made. */
static bool has_code(Interp *in, const Exec *x, HotSite *s, HotCount *count)
{
    if (!s->code) {
        s->cool = AGAIN;
        if ((!eager(in) && turn_of_others(s)) || !can_make(in, s) ||
            !code_begin(in, s, hot_compile(in, x, count)))
            return false;
    }
    return is_ready(s);
}

/* Code that is left again and again as soon as it is entered costs more than it gives. */
static void judge(HotSite *s, HotCode *code, double seconds)
{
    code->seconds += seconds;
    if (++code->entries == TRIES && code->seconds < TRIES * PAYS)
        s->cool = HOT_NEVER;
}

/* Another one, for what comes next, unless there were many. */
static void miss(HotSite *s)
{
    s->cool = ++s->misses > MISSES ? HOT_NEVER : FIRST;
    s->code = NULL;
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
        miss(s);
    } else if (judged && end == HOT_LEFT) {
        judge(s, code, now() - start);
    }
    return end;
}

/* ---- functions ---- */
static bool kinds_of(const Function *fn, const Value *args, uint8_t *kinds)
{
    bool all = fn->code->params <= HOT_PARAMETERS && fn->code->rest < 0;
    for (uint32_t i = 0; all && i < fn->code->params; i++) {
        kinds[i] = args[i].tag == V_INT ? HK_INT : args[i].tag == V_FLOAT ? HK_FLOAT
                 : args[i].tag == V_BOOL ? HK_BOOL : HK_NOTHING;
        all = kinds[i] != HK_NOTHING;
    }
    return all;
}

/* What it captured is its own. */
static bool same_kinds(const HotCode *code, const uint8_t *kinds, const Function *fn)
{
    return (code->fn == fn || !fn->captured) &&
           memcmp(code->kinds, kinds, fn->code->params) == 0;
}

static bool hot_call(Interp *in, const Function *fn, HotSite *s, const Value *args, Value *result)
{
    uint8_t kinds[HOT_PARAMETERS];
    if (!plain(in) || !kinds_of(fn, args, kinds)) {
        s->cool = FIRST;
        return false;
    }
    if (!s->code) {
        s->cool = SOON;
        if (!can_make(in, s) || !code_begin(in, s, hot_compile_function(in, fn, kinds)))
            return false;
    }
    if (!is_ready(s))
        return false;
    if (same_kinds(s->code, kinds, fn) && hot_run_function(in, s->code, fn, args, result))
        return true;
    miss(s);
    return false;
}

static const HotHooks hooks[] = { { hot_loop, hot_call, FIRST }, { hot_loop, hot_call, 1 } };

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
