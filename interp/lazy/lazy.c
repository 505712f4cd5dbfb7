/* `lazy { … }`: the block, what an operation meets while one is open, and what is counted. */
#include "interp/lazy/lazy.h"

#include "core/base/error.h"
#include "core/base/mem.h"
#include "interp/device/place.h"
#include "interp/eval/eval_flow.h"
#include "interp/lower/lower.h"
#include "interp/output/output.h"
#include "interp/state/scope.h"

#include <string.h>

/* ---- the aspect ---- */
/* Reads no elements of its operands: shape, len, dtype. */
static bool looks_at_forms(const OpCall *c)
{
    return c->op && (c->op->devices & DEV_ANYWHERE) && c->op->lays;
}

/* What was made of no tensor, in this block: constants of it, as far as they are remembered. */
static bool is_constant(const LazyState *r, const OpCall *c)
{
    for (int i = 0; i < c->count; i++) {
        bool known = c->args[i].tag != V_TENSOR;
        for (int k = 0; k < r->constants && !known; k++)
            known = r->constant[k] == c->args[i].tensor;
        if (!known)
            return false;
    }
    return true;
}

static bool any_tensor(const OpCall *c)
{
    for (int i = 0; i < c->count; i++)
        if (c->args[i].tag == V_TENSOR)
            return true;
    return false;
}

static void add_constant(LazyState *r, const OpCall *c, Value v)
{
    bool pure = c->work ? c->work->moves
              : c->op->cls == OPC_EW || (c->op->tried && !c->op->draws) || c->op->counts;
    if (pure && v.tag == V_TENSOR && v.tensor->rank > 0 && v.tensor->size < FUSE_MIN &&
        r->constants < CONSTANTS)
        r->constant[r->constants++] = tensor_retain(v.tensor);
}

/* ---- what waits, when something ends ---- */
/* A `return` under way is kept aside: an error is one now. */
static void barrier(Interp *in)
{
    uint8_t flow = in->flow;
    Value *mark = in->sp;
    bool returns = flow == FLOW_RETURN;
    if (returns)
        v_push(in, in->result);
    in->flow = FLOW_NONE;
    lazy_run(in, NULL);
    in->flow = flow;
    in->sp = returns ? mark : in->sp;
}

/* The rest of the pipeline on operands that have elements; what it calls is part of it. */
static Value run_now(OpCall *c, const Aspect *rest)
{
    Interp *in = c->in;
    int deferring = in->deferring;
    if (in->ctx.pending && in->scope && c->op && c->count == 0)
        barrier(in);                    /* flags(): of what ran before it */
    if (in->ctx.pending && !looks_at_forms(c))
        for (int i = 0; i < c->count; i++)
            settle_value(in, c->args[i]);
    in->deferring = 0;
    Value r = call_rest(c, rest);
    in->deferring = deferring;
    return r;
}

static Value meet(OpCall *c, const Aspect *rest)
{
    Interp *in = c->in;
    LazyState *rec = in->lazy;
    rec->rest = rest;
    if (in->deferring <= 0)
        return run_now(c, rest);
    bool constant = is_constant(rec, c);
    Value r = constant ? v_undef() : record(c);
    if (r.tag != V_UNDEF)
        return r;
    if (constant && c->op && c->op->cls == OPC_EW && any_tensor(c))
        lazy_tell_constant(rec, c);
    r = run_now(c, rest);
    if (constant)
        add_constant(rec, c, r);
    return r;
}

/* Blocks that an error took away: what stands in them cannot run any more. */
static bool stands(const Interp *in, const Deferred *d)
{
    const struct Scope *s = in->scope;
    const DeviceBlock *p = in->place;
    while (s && s != d->scope)
        s = s->up;
    while (p && p != d->place)
        p = p->up;
    return s == d->scope && p == d->place;
}

static void unwound(Interp *in)
{
    for (Deferred *d = in->lazy->first; d; d = d->after)
        d->lost |= !stands(in, d);
}

/* The first that stands in p (NULL: anywhere) and can run. */
static Deferred *next_in(const Interp *in, const DeviceBlock *p)
{
    Deferred *d = in->lazy->first;
    while (d && (d->lost || (p && d->place != p)))
        d = d->after;
    return d;
}

/* What stands in p runs there although that is not in->place. */
static void find_again(Interp *in, const DeviceBlock *p)
{
    for (Deferred *d = in->lazy->first; d; d = d->after)
        if (p && d->place == p)
            d->lost = d->failed;
}

/* One value after the other, in the order of the program: what raises an error is lost, and what
 * stands on it will say so. The error under way is kept. */
static void run_each(Interp *in, const DeviceBlock *p)
{
    Error *error = in->ctx.error;
    Deferred *volatile d;
    volatile bool stopped = error->kind == ERR_INTERRUPT || error->kind == ERR_MEMORY;
    find_again(in, p);
    while (!stopped && (d = next_in(in, p))) {
        Guard g;
        in->ctx.error = NULL;
        guard_enter(in, &g);
        if (ERR_TRY(&in->ctx, &g.frame)) {
            lazy_run(in, d);
            ERR_END(&in->ctx, &g.frame);
            continue;
        }
        stopped = in->ctx.error->kind == ERR_INTERRUPT;
        err_free(in->ctx.error);
        d->failed = d->lost = true;     /* it did not run, so it is still there */
        guard_restore(in, &g);
        find_again(in, p);
    }
    in->ctx.error = error;
    unwound(in);
}

static void lazy_free(Interp *in)
{
    LazyState *r = in->lazy;
    if (!r)
        return;
    for (int i = 0; i < KEPT; i++)
        if (r->kept[i])
            compiled_release(&in->ctx, r->kept[i]);
    mem_free(&in->ctx, r, sizeof *r);
    in->lazy = NULL;
}

static const Deferrals deferrals = { .call = meet, .barrier = barrier, .settle = settle_value,
                                     .spare = run_each };

LazyState *lazy_state(Interp *in)
{
    if (!in->lazy) {
        in->lazy = mem_zalloc(&in->ctx, sizeof *in->lazy);
        in->deferrals = &deferrals;
        in->unwound = unwound;
    }
    return in->lazy;
}

LazyCounts *lazy_counts(Interp *in)
{
    return &lazy_state(in)->counts;
}

/* ---- the block ---- */
static void drop_constants(Interp *in)
{
    LazyState *r = in->lazy;
    while (r->constants)
        tensor_release(&in->ctx, r->constant[--r->constants]);
}

/* After an error: what can still be computed is, as it would have been outside; the rest says so
 * when it is asked for. Places in the program go with the program. */
static void leave_by_error(Interp *in)
{
    LazyState *r = in->lazy;
    unwound(in);
    run_each(in, NULL);
    for (Deferred *d = r->first; d; d = d->after) {
        d->lost = true;
        d->source = NULL;
        d->at = NULL;
    }
}

Value lazy_block(Interp *in, LazySite *site, bool exact, LazyBody body, const void *data)
{
    Guard g;
    LazyState *r = lazy_state(in);
    if (in->deferring)                  /* part of the block around it */
        return body(in, data);
    guard_enter(in, &g);
    if (ERR_TRY(&in->ctx, &g.frame)) {
        in->deferring = 1;
        if ((r->site = site) != NULL)
            site->counted = false;
        r->exact = exact;
        Value v = body(in, data);
        v_push(in, v);
        drop_constants(in);
        barrier(in);
        assert(!next_in(in, NULL));
        in->deferring = 0;
        r->site = NULL;
        in->sp--;
        ERR_END(&in->ctx, &g.frame);
        return v;
    }
    guard_restore(in, &g);
    r->site = NULL;
    drop_constants(in);
    if (in->flow != FLOW_NONE) {        /* a break or return from inside an expression */
        barrier(in);
        flow_unwind(in);
    }
    leave_by_error(in);
    err_rethrow(&in->ctx);
}

static Value run_body(Interp *in, const void *body)
{
    return exec_run(in, body);
}

static Value eval_lazy(Interp *in, const Exec *x)
{
    return lazy_block(in, x->data, false, run_body, x->a);
}

static const Exec *lower_lazy(Lower *lo, const Node *n)
{
    Exec *x = exec_new(lo, eval_lazy, n);
    x->a = lower(lo, n->a);
    x->data = lower_alloc(lo, sizeof(LazySite));
    *(LazySite *)x->data = (LazySite){ 0 };
    return x;
}

static void ended(Interp *in)
{
    lazy_free(in);
}

static const LowerRow rows[] = { { ND_LAZY, lower_lazy } };
const Wing wing_lazy = { .rows = rows, .count = sizeof rows / sizeof *rows, .ended = ended };
