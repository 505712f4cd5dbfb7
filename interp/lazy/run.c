/* A run: the operations that wait, or those that one value stands on, as steps. Nothing of it is
 * seen from outside before a step is done: an error leaves what did not run waiting. */
#include "interp/lazy/lazy.h"

#include "core/base/error.h"
#include "interp/device/place.h"
#include "interp/state/scope.h"

#include <string.h>

/* ---- making one ---- */
static void run_release(Ctx *ctx, Native *native)
{
    Run *run = (Run *)native;
    for (int i = 0; i < run->n; i++) {
        v_release(ctx, run->value[i]);
        tensor_release(ctx, run->head[i]);
    }
    if (run->compiled)
        compiled_release(ctx, run->compiled);
    size_t n = (size_t)run->n;
    mem_free(ctx, run, sizeof *run + n * (sizeof *run->node + sizeof *run->head +
                                          sizeof *run->value));
}

static const Kind run_kind = { .release = run_release };

static Run *run_new(Interp *in, int n)
{
    size_t each = sizeof(Deferred *) + sizeof(Tensor *) + sizeof(Value);
    Run *run = mem_alloc(&in->ctx, sizeof *run + (size_t)n * each);
    *run = (Run){ .native = { .refs = 1, .kind = &run_kind }, .state = in->lazy, .n = n };
    run->value = (Value *)(void *)(run + 1);
    run->node = (Deferred **)(void *)(run->value + n);
    run->head = (Tensor **)(void *)(run->node + n);
    return run;
}

/* Marks the operands of d that wait. */
static void mark_operands(const Deferred *d, uint64_t run)
{
    for (int j = 0; j < d->count; j++) {
        Deferred *k = deferred_of(d->args[j]);
        if (k)
            k->run = run;
    }
}

static _Noreturn void raise_lost(const Deferred *d)
{
    err_raise(&d->in->ctx, ERR_VALUE, "%s was left behind in a block that an error ended",
              d->op->name);
}

/* What stands on something that is lost is lost as well. */
static void lose(LazyState *r)
{
    bool any = false;
    for (Deferred *d = r->first; d; d = d->after) {
        for (int j = 0; any && j < d->count; j++) {
            const Deferred *k = deferred_of(d->args[j]);
            d->lost |= k && k->lost;
        }
        any |= d->lost;
    }
}

/* Those that target stands on, itself last; all that can run if it is NULL. Rooted on the value
 * stack; NULL: there are none. */
static Run *collect(Interp *in, Deferred *target)
{
    LazyState *r = in->lazy;
    uint64_t number = ++r->run;
    int n = 0;
    if (target)
        target->run = number;
    else
        lose(r);
    for (Deferred *d = target ? target : r->last; d; d = d->before) {
        if (target ? d->run != number : d->lost)
            continue;
        if (d->lost)
            raise_lost(d);
        d->run = number;
        n++;
        if (target)
            mark_operands(d, number);
    }
    if (n == 0)
        return NULL;
    Run *run = run_new(in, n);
    for (Deferred *d = target ? target : r->last; d; d = d->before)
        if (d->run == number) {
            d->index = --n;
            d->held = 0;
            run->node[n] = d;
            run->head[n] = tensor_retain(d->head);
            run->value[n] = v_undef();
        }
    v_push(in, (Value){ .tag = V_TRANSFORM, .ptr = run });
    return run;
}

/* ---- steps ---- */
int step_operand(const Run *run, const LazyStep *step, int i, int j)
{
    const Deferred *d = deferred_of(run->node[i]->args[j]);
    if (!d || d->run != run->node[i]->run)
        return -1;
    int k = d->index;
    while (step && step[k].kind == STEP_SAME)
        k = step[k].into;
    return k;
}

/* Who reads it last gets it, so that its memory may be the result's. */
Value result_of(Run *run, int i)
{
    Value v = run->value[i];
    const LazyStep *s = &run->compiled->step[i];
    assert(v.tag != V_UNDEF);
    if (s->reads > 1 || s->out)
        return v_retain(v);
    run->value[i] = v_undef();
    return v;
}

Value argument_of(Run *run, int i, int j)
{
    Value v = run->node[i]->args[j];
    Deferred *d = deferred_of(v);
    if (!d)
        return v_retain(v);
    return result_of(run, d->index);
}

/* Where node d stands: its text for messages, its scope and its place. */
typedef struct Stand {
    CallFrame frame;
    const Exec *at;
    struct Scope *scope;
    struct DeviceBlock *place;
} Stand;

static void stand_enter(Interp *in, const Deferred *d, Stand *s)
{
    *s = (Stand){ .frame = { .up = in->calls, .source = d->source }, .at = in->at,
                  .scope = in->scope, .place = in->place };
    in->calls = &s->frame;
    in->at = d->source ? d->at : NULL;
    in->scope = d->scope;
    in->place = d->place;
}

static void stand_leave(Interp *in, const Stand *s)
{
    in->calls = s->frame.up;
    in->at = s->at;
    in->scope = s->scope;
    in->place = s->place;
}

Value step_call(Run *run, const Deferred *d, const Op *op, Value *args, int count, unsigned weak)
{
    Interp *in = d->in;
    OpCall c = { .in = in, .op = op, .args = args, .count = count, .weak = weak,
                 .fixed = op == d->op ? d->fixed : count,
                 .operand = op == d->op ? d->operand : NULL };
    Value *mark = in->sp;
    Value r = call_rest(&c, run->state->rest);
    v_push(in, r);
    poll_interrupt(in);
    v_retain(r);
    stack_cut(in, mark);
    return r;
}

static Value run_row(Run *run, int i)
{
    Deferred *d = run->node[i];
    Interp *in = d->in;
    Value *mark = in->sp;
    for (int j = 0; j < d->count; j++)
        v_push(in, argument_of(run, i, j));
    Value r = step_call(run, d, d->op, mark, d->count, d->weak);
    v_push(in, r);
    v_retain(r);
    stack_cut(in, mark);
    return r;
}

static Value run_same(Run *run, int i)
{
    return v_retain(run->value[run->compiled->step[i].into]);
}

static Value run_bare(Run *run, int i)
{
    return argument_of(run, i, 0);
}

const StepFn step_run[STEP_KINDS] = {
    [STEP_ROW] = run_row, [STEP_VIEW] = run_row, [STEP_SAME] = run_same, [STEP_BARE] = run_bare,
    [STEP_CHAIN] = run_chain, [STEP_PRODUCT] = run_product, [STEP_ORDERED] = run_ordered,
    [STEP_ATTENTION] = run_attention,
};

/* The elements that step i gave, for all who hold its tensor. */
static void publish(Run *run, int i)
{
    Value v = run->value[i];
    Deferred *d = run->node[i];
    run->node[i] = NULL;
    deferred_commit(d, v.tensor);
}

/* Results that no step behind i reads. */
static void let_go(Ctx *ctx, Run *run, int i)
{
    const LazyStep *step = run->compiled->step;
    for (int j = step[i].frees; j >= 0; j = step[j].next) {
        v_release(ctx, run->value[j]);
        run->value[j] = v_undef();
    }
}

static void run_step(Interp *in, Run *run, int i)
{
    const LazyStep *s = &run->compiled->step[i];
    Stand stand;
    if (s->kind != STEP_INSIDE) {
        stand_enter(in, run->node[i], &stand);
        Value v = step_run[s->kind](run, i);
        stand_leave(in, &stand);
        run->value[i] = v;
    }
    run->node[i]->over = true;
    if (s->out)
        publish(run, i);
}

/* What raises an error has done so once and for all: it is not tried again when a block ends. */
static void run_steps(Interp *in, Run *run)
{
    ErrFrame frame;
    volatile int now = 0;
    if (ERR_TRY(&in->ctx, &frame)) {
        for (int i = 0; i < run->n; i++) {
            now = i;
            run_step(in, run, i);
            let_go(&in->ctx, run, i);
        }
        ERR_END(&in->ctx, &frame);
        return;
    }
    Deferred *d = run->node[now];
    ErrKind kind = in->ctx.error->kind;
    if (d && kind != ERR_INTERRUPT && kind != ERR_MEMORY)
        d->failed = d->lost = true;
    err_rethrow(&in->ctx);
}

void lazy_run(Interp *in, Deferred *target)
{
    LazyState *r = in->lazy;
    Value *mark = in->sp;
    int deferring = in->deferring;
    if (!target && !r->first)
        return;
    stack_room(in, 64);
    if (!target)
        r->bytes = 0;
    Run *run = collect(in, target);
    if (!run)
        return;
    in->deferring = 0;
    uint64_t compiled = r->counts.compiled;
    run->compiled = lazy_compile(in, run);
    r->counts.runs++;
    r->counts.barriers += target != NULL;
    r->counts.kernels += (uint64_t)run->compiled->kernels;
    if (r->listener)
        lazy_tell_run(in, run, r->counts.compiled != compiled);
    run_steps(in, run);
    stack_cut(in, mark);
    in->deferring = deferring;
}
