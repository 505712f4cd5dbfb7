/* The interpreter's state while it runs: the places that errors name, the value stack, catch
 * points, the interrupt. life.c makes and ends it. */
#include "core/base/error.h"
#include "interp/state/exec.h"
#include "core/memory/mapping.h"
#include "core/memory/progress.h"
#include "interp/state/frames.h"
#include "interp/state/random.h"

#include <sys/random.h>

/* ---- error places ---- */
static void where_add(Where *w, const Node *n)
{
    if (n && w->operands < WHERE_OPERANDS)
        w->operand[w->operands++] = n->kind == ND_NAMED ? n->a->span : n->span;
}

/* The operands of a construct, in the order in which operations see them. */
static void where_operands(Where *w, const Node *n)
{
    switch (n->kind) {
    case ND_CALL: case ND_VECTOR: case ND_TUPLE: case ND_COMPARE:
        for (uint32_t i = 0; i < n->count; i++)
            where_add(w, n->list[i]);
        break;
    case ND_MATRIX:
        for (uint32_t i = 0; i < n->count; i++)
            where_add(w, n->list[i]);
        break;
    case ND_INDEX:
        where_add(w, n->a);
        for (uint32_t i = 0; i < n->count; i++)
            where_add(w, n->list[i]);
        break;
    case ND_ASSIGN:
        if (n->a->kind == ND_FIELD) {
            where_add(w, n->a->a);
            where_add(w, n->b);
            break;
        }
        if (n->a->kind == ND_INDEX) {
            where_operands(w, n->a);
            where_add(w, n->b);
            break;
        }
        /* fall through */
    default:
        where_add(w, n->a);
        where_add(w, n->b);
        where_add(w, n->c);
    }
}

/* A place inside the standard library becomes the user's call that led there. */
void where_leave_stdlib(Interp *in, Where *w)
{
    for (const CallFrame *f = in->calls; f && f->site && source_is_stdlib(w->source); f = f->up) {
        Span call = f->site->node->span;
        *w = (Where){ .source = frame_source(in, f->up), .span = call, .mark = call };
    }
}

void interp_locate(Ctx *ctx, Where *w)
{
    Interp *in = (Interp *)ctx;
    *w = (Where){ .source = frame_source(in, in->calls) };
    if (!in->at || !w->source)
        return;
    const Node *n = in->at->node;
    w->span = n->span;
    w->mark = n->mark;
    where_operands(w, n);
    if (n->kind == ND_THROW)               /* what the library checks is the caller's to mend */
        where_leave_stdlib(in, w);
}

/* ---- the value stack ---- */
void stack_cut(Interp *in, Value *mark)
{
    stack_drop(in, mark);
}

void stack_room(Interp *in, size_t values)
{
    if (values > (size_t)(in->stack_end - in->sp))
        err_raise(&in->ctx, ERR_MEMORY,
                  "too many values at once: %zu do not fit the value stack", values);
}

_Noreturn void raise_too_deep(Interp *in)
{
    err_raise(&in->ctx, ERR_MEMORY, "recursion too deep");
}

/* ---- catch points ---- */
void guard_enter(Interp *in, Guard *g)
{
    g->sp = in->sp;
    g->fp = in->fp;
    g->at = in->at;
    g->calls = in->calls;
    g->module = in->module;
    g->scope = in->scope;
    g->place = in->place;
    g->listener = in->listener;
    g->tape = in->tape;
    g->deaf = in->deaf;
    g->rules = in->rules;
    g->inlined = in->inlined;
    g->deferring = in->deferring;
}

void guard_restore(Interp *in, Guard *g)
{
    assert(in->sp >= g->sp);                   /* what stood below it is the frame's around */
    in->fp = g->fp;
    in->at = g->at;
    in->calls = g->calls;
    in->module = g->module;
    in->scope = g->scope;
    in->place = g->place;
    in->listener = g->listener;
    in->tape = g->tape;
    in->deaf = g->deaf;
    in->rules = g->rules;
    in->inlined = g->inlined;
    in->deferring = g->deferring;
    if (__builtin_expect(in->ctx.pending != 0, 0) && in->flow == FLOW_NONE)
        in->unwound(in);
    progress_unwound(&in->ctx, g);
    stack_cut(in, g->sp);
}

/* ---- interrupts ---- */
void poll_interrupt_slow(Interp *in)
{
    *in->ctx.interrupt = 0;
    mapping_check(&in->ctx);
    err_interrupted(&in->ctx);
}

/* ---- random numbers ---- */
void interp_seed(Interp *in)
{
    uint64_t word = 0;
    if (getrandom(&word, sizeof word, 0) != sizeof word)
        word = (uint64_t)(uintptr_t)in;
    in->rng.key[0] = word;
    in->rng.key[1] = 1;
    in->rng.counter = 0;
}

RngStream random_open(Interp *in)
{
    if (in->rng.key[1] == 0)
        interp_seed(in);
    return (RngStream){ .key = in->rng.key[0], .counter = in->rng.counter };
}

void random_close(Interp *in, const RngStream *s)
{
    in->rng.counter = s->counter;
    poll_interrupt(in);
}

double random_unit(Interp *in)
{
    RngStream s = random_open(in);
    double v = rng_next_unit(&in->ahead, &s);
    in->rng.counter = s.counter;
    return v;
}

double random_normal(Interp *in)
{
    RngStream s = random_open(in);
    double v = rng_next_normal(&in->ahead, &s);
    in->rng.counter = s.counter;
    return v;
}

int64_t random_int(Interp *in, int64_t low, int64_t high)
{
    RngStream s = random_open(in);
    int64_t v = rng_next_int(&in->ahead, &s, low, (uint64_t)high - (uint64_t)low);
    in->rng.counter = s.counter;
    return v;
}
