/* When a loop or function is compiled, by which generator, and whether that pays. The quick one is
 * at hand at once; what has run for milliseconds then is compiled by LLVM, by a thread, while the
 * quick code goes on. RICCI_JIT=0: never; for tests, RICCI_JIT=now and RICCI_JIT=quick: by LLVM or
 * the quick one alone, at a loop's second iteration, and the evaluator waits for it. */
#include "interp/hot/hot.h"

#include "core/base/mem.h"
#include "interp/hot/run.h"
#include "interp/op/deferred.h"
#include "interp/state/scope.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
    FIRST = 4000,          /* iterations or calls until somebody looks: what quick code costs, */
    AGAIN = 2 * FIRST,     /* again, when loops around had their turn, */
    SOON = 64,             /* and whether what is being made is ready */
    MISSES = 4,            /* so many kinds of values have code of their own */
    TRIES = 64,            /* entries after which it is asked whether code pays, */
    SAMPLE = 16,           /* of those behind them one in so many is measured */
    PARTS = 8,             /* a part is so many times the one before, as long as that is brief, */
    AT_ONCE = 64           /* and the first so many iterations, where it is not the first entry */
};
#define PAYS 1e-6          /* seconds that an entry lasts then */
#define BRIEF 10e-3        /* seconds without a thread that nudges */
/* Seconds in quick code after which LLVM is worth it: what opening it and one compilation take, and
 * what a compilation takes once it is open. */
#define LONG 40e-3
#define LONG_OPEN 15e-3

/* A scope in which scalars are f64, f32, f16 or bf16, with nothing else said. */
static bool scope_native(const Scope *s)
{
    bool half = dtype_half(s->format) && s->round == ROUND_NEAREST && !s->saturate && !s->flush;
    return (half || scope_ordinary(s)) && s->shadow == DT_NONE;
}

static DType format_now(const Interp *in) { return in->scope ? in->scope->format : DT_NONE; }

/* Nobody listens, nothing waits, scalars are what they are: outside of scopes, or inside of one. */
static bool plain(const Interp *in, bool scoped)
{
    bool scope = scoped ? in->scope && scope_native(in->scope) : !in->scope;
    return scope && !in->place && !in->tape && !in->boxes && !in->pins && !in->explain &&
           !deferred_on(in) && !in->listener;
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static bool eager(const Interp *in) { return in->hot->first == 1; }

/* ---- making code ---- */
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

/* What is to be compiled: a loop, or a function called with arguments of these kinds. */
typedef struct Subject {
    const Exec *x;
    const HotCount *count;
    const Function *fn;
    const uint8_t *kinds;
} Subject;

static HotCode *draft(Interp *in, HotSite *s, const Subject *what, MachineKind kind)
{
    HotCode **place = arena_alloc(&s->chunk->arena, sizeof *place);
    chunk_own(s->chunk, hot_free, place);    /* may raise, as long as there is nothing to lose */
    size_t peak = in->ctx.mem.peak;
    *place = what->fn ? hot_compile_function(in, what->fn, what->kinds, kind)
                      : hot_compile(in, what->x, s->scoped, what->count, kind);
    /* what making it took for a moment is none of the program's, whose peak is told */
    in->ctx.mem.peak = peak > in->ctx.mem.live ? peak : in->ctx.mem.live;
    return *place;
}

static int stage_of(HotCode *code)
{
    return atomic_load_explicit(&code->stage, memory_order_acquire);
}

/* Is there a thread, and LLVM in it? If not LLVM is being opened, or it will never be. */
static bool has_llvm(Interp *in, bool *never)
{
    if (!in->hot_worker)
        in->hot_worker = worker_new(&in->ctx);
    *never = !in->hot_worker;
    return in->hot_worker && worker_opened(in->hot_worker, never);
}

/* The first code of a site. Where there is no quick generator LLVM makes it, in time. */
static void code_begin(Interp *in, HotSite *s, const Subject *what)
{
    bool never = false, quick = eager(in) ? in->hot->quick : machine_has_quick();
    uint32_t deep = (what->fn ? what->fn->code->node : what->x->node)->depth;
    if (deep > hot_levels(in)) {             /* at the bottom of a recursion, perhaps */
        s->cool = deep > HOT_LEVELS ? HOT_NEVER : AGAIN;
        return;
    }
    if (!quick && !eager(in) && !has_llvm(in, &never)) {
        s->cool = never ? HOT_NEVER : SOON;
        return;
    }
    s->code = draft(in, s, what, quick ? MACHINE_QUICK : MACHINE_LLVM);
    s->cool = s->code ? SOON : HOT_NEVER;
    if (s->code && (quick || eager(in)))
        hot_finish(s->code);
    else if (s->code)
        worker_finish(in->hot_worker, s->code);
}

/* Code of LLVM's in the place of quick code that has run for long. */
static void improve(Interp *in, HotSite *s, const Subject *what)
{
    bool never = false;
    if (s->better && stage_of(s->better) != HOT_MAKING) {
        s->settled = true;
        s->code = stage_of(s->better) == HOT_READY ? s->better : s->code;
        s->better = NULL;
    }
    double most = in->hot_opened ? LONG_OPEN : LONG;
    if (s->settled || s->better || s->code->seconds < most)
        return;
    if (has_llvm(in, &never)) {
        in->hot_opened = true;
        s->better = draft(in, s, what, MACHINE_LLVM);
        s->settled = !s->better;
        if (s->better)
            worker_finish(in->hot_worker, s->better);
    }
    s->settled |= never;
}

/* Another one, for what comes next, unless there were many. */
static void miss(HotSite *s)
{
    s->cool = ++s->misses > MISSES ? HOT_NEVER : FIRST;
    s->code = s->better = NULL;
    s->settled = false;
}

/* Is there code? If not it is begun, or being made, or there will be none. */
static bool has_code(Interp *in, HotSite *s, const Subject *what)
{
    if (s->code && s->code->format != format_now(in)) {
        miss(s);
        return false;
    }
    if (!s->code) {
        s->cool = AGAIN;
        if (!what->fn && !eager(in) && turn_of_others(s))
            return false;
        code_begin(in, s, what);
    }
    if (!s->code)
        return false;
    int stage = stage_of(s->code);
    s->cool = stage == HOT_READY ? 0 : stage == HOT_MAKING ? SOON : HOT_NEVER;
    s->settled |= eager(in) || s->code->worker;
    if (stage == HOT_READY && !s->settled)
        improve(in, s, what);
    return stage == HOT_READY;
}

/* ---- running it ---- */
static bool measured(const HotSite *s)
{
    uint32_t n = s->code->entries;
    return n < TRIES || (!s->settled && n % SAMPLE == 0);
}

/* Code that is left again and again as soon as it is entered costs more than it gives. */
static void judge(HotSite *s, HotCode *code, double seconds, HotEnd end)
{
    code->seconds += code->entries < TRIES ? seconds : SAMPLE * seconds;
    code->short_ones += end == HOT_LEFT && seconds < PAYS;
    if (code->entries >= TRIES && !code->judged && code->short_ones > TRIES / 2)
        s->cool = HOT_NEVER;
    code->judged |= code->entries >= TRIES;
}

/* Quick code leaves when its better is there, and now and then until that is begun. */
static _Atomic int *nudge_of(Interp *in, const HotSite *s)
{
    if (s->settled || eager(in) || (!in->hot_worker && !(in->hot_worker = worker_new(&in->ctx))))
        return NULL;
    _Atomic int *nudge = worker_nudge(in->hot_worker, !s->better);
    if (s->better && stage_of(s->better) != HOT_MAKING)      /* it was ready before */
        atomic_store_explicit(nudge, 1, memory_order_relaxed);
    return nudge;
}

/* A thread costs more than many a loop: as long as there is none to nudge it, code runs in parts,
 * and what is over soon is over before there is one. */
static HotEnd run_in_parts(Interp *in, HotCode *code, HotCount *count, Value *left)
{
    uint64_t part = code->entries ? AT_ONCE : 1;
    if (count->left <= part)
        return hot_run(in, code, count, NULL, left);
    double began = now(), ends = began;
    HotEnd end = HOT_DONE;
    while (end == HOT_DONE && count->left && ends - began < BRIEF) {
        uint64_t rest = count->left > part ? count->left - part : 0;
        double last = ends;
        count->left -= rest;
        end = hot_run(in, code, count, NULL, left);
        count->left += rest;
        ends = now();
        if (ends - last < BRIEF / PARTS)
            part *= PARTS;
    }
    return end;
}

/* A variable may be of another kind after any of the parts: the code is not entered again, and yet
 * iterations were done. */
static HotEnd run(Interp *in, HotSite *s, HotCount *count, Value *left)
{
    HotCode *code = s->code;             /* the chunk's: what it runs may put another in place */
    uint64_t whole = count ? count->left : 0;
    HotEnd end = HOT_DONE;
    if (count && !in->hot_worker && code->seconds < BRIEF)
        end = run_in_parts(in, code, count, left);
    if (end == HOT_DONE && s->code == code && (!count || count->left))
        end = hot_run(in, code, count, nudge_of(in, s), left);
    return end == HOT_MISS && count && count->left < whole ? HOT_DONE : end;
}

static HotEnd hot_loop(Interp *in, const Exec *x, HotSite *s, HotCount *count, Value *left)
{
    *left = v_none();
    if (!plain(in, s->scoped)) {
        s->cool = FIRST;
        return HOT_MISS;
    }
    if (!has_code(in, s, &(Subject){ .x = x, .count = count }))
        return HOT_MISS;
    HotCode *code = s->code;             /* the chunk's: what it runs may put another in place */
    bool clock = measured(s);
    double start = clock ? now() : 0;
    in->at = x;                          /* for want of memory, when a tensor is unshared */
    HotEnd end = run(in, s, count, left);
    code->entries++;
    if (end == HOT_MISS)
        miss(s);
    else if (clock)
        judge(s, code, now() - start, end);
    return end;
}

/* ---- functions ---- */
static bool kinds_of(const Function *fn, const Value *args, uint8_t *kinds)
{
    bool all = fn->code->params <= HOT_PARAMETERS && fn->code->rest < 0;
    for (uint32_t i = 0; all && i < fn->code->params; i++) {
        kinds[i] = (uint8_t)hot_kind(args[i], DT_F32);
        all = kinds[i] == HK_INT || kinds[i] == HK_FLOAT || kinds[i] == HK_BOOL;
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
    if (!plain(in, false) || !kinds_of(fn, args, kinds)) {
        s->cool = FIRST;
        return false;
    }
    if (!has_code(in, s, &(Subject){ .fn = fn, .kinds = kinds }))
        return false;
    HotCode *code = s->code;
    bool clock = measured(s);
    double start = clock ? now() : 0;
    bool done = same_kinds(code, kinds, fn) && hot_run_function(in, code, fn, args, result);
    code->entries++;
    if (!done)
        miss(s);
    else if (clock)
        judge(s, code, now() - start, HOT_DONE);
    return done;
}

static const HotHooks hooks[] = {
    { hot_loop, hot_call, FIRST, false }, { hot_loop, hot_call, 1, false },
    { hot_loop, hot_call, 1, true },
};

void hot_leave(Interp *in)
{
    in->left = in->leaves && in->hot_worker && worker_leave(in->hot_worker);
}

void hot_end(Interp *in)
{
    if (in->hot_worker && !in->left)
        worker_free(&in->ctx, in->hot_worker);
    in->hot_worker = NULL;
}

/* By what RICCI_JIT says; nothing said is the first. */
static const struct { const char *name; const HotHooks *hooks; } modes[] = {
    { "", &hooks[0] }, { "0", NULL }, { "1", &hooks[0] }, { "now", &hooks[1] },
    { "quick", &hooks[2] },
};
enum { MODES = sizeof modes / sizeof *modes };

static size_t mode_of(const char *text)
{
    size_t i = 0;
    while (i < MODES && strcmp(modes[i].name, text) != 0)
        i++;
    return i;
}

const HotHooks *hot_hooks(void)
{
    const char *text = getenv("RICCI_JIT");
    size_t mode = text ? mode_of(text) : 0;
    return modes[mode < MODES ? mode : 0].hooks;
}

const char *hot_unknown(void)
{
    const char *text = getenv("RICCI_JIT");
    return text && mode_of(text) == MODES ? text : NULL;
}
