/* Control flow: blocks, conditions, loops, return, try, throw, assert. break, continue and
 * return travel upwards as a V_FLOW value through the nodes of this file and assignments;
 * from inside an expression, where half-made values wait, they unwind like an error to a
 * catch point that lowering put around the loop body or function (eval_catch_flow). */

#include "core/base/error.h"
#include "interp/state/hot.h"
#include "interp/state/kind.h"
#include "core/memory/progress.h"
#include "interp/op/deferred.h"
#include "interp/op/arith.h"
#include "interp/output/fix_text.h"
#include "interp/eval/eval_flow.h"
#include "interp/op/scalar.h"
#include "interp/op/traced.h"
#include "interp/eval/eval_assign.h"
#include "interp/eval/eval_make.h"
#include "interp/show/show.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- conditions ---- */
/* The user's text of the condition where it is short, for help lines: in parentheses where `!= 0`
 * after it would bind tighter. NULL: it is no text to be quoted. */
static const char *condition_text(Interp *in, char *out, size_t cap)
{
    const Node *n = in->at ? in->at->node : NULL;
    Where where = { 0 };
    if (in->ctx.locate)
        in->ctx.locate(&in->ctx, &where);
    const Source *s = where.source;
    size_t len = n && s && n->span.to <= s->len ? n->span.to - n->span.from : cap;
    if (len + 3 > cap || memchr(s->text + n->span.from, '\n', len))
        return NULL;
    bool loose = n->kind == ND_BINARY ? n->op == TK_BITAND || n->op == TK_BITOR
               : n->kind != ND_NAME && n->kind != ND_CALL && n->kind != ND_INDEX &&
               n->kind != ND_FIELD &&
                 n->kind != ND_INT && n->kind != ND_FLOAT && n->kind != ND_STRING &&
                 n->kind != ND_COMPARE;
    snprintf(out, cap, loose ? "(%.*s)" : "%.*s", (int)len, s->text + n->span.from);
    return out;
}

bool truth(Interp *in, Value v)
{
    v = v_looked(v);
    if (v.tag == V_BOOL)
        return v.i != 0;
    char what[96], quoted[64], help[300] = "";
    const char *text = condition_text(in, quoted, sizeof quoted);
    const char *is = v_article(v, what, sizeof what);
    if (v.tag == V_TENSOR && v.tensor->rank > 0) {
        bool bools = v.tensor->dtype == DT_BOOL;
        snprintf(help, sizeof help, !text ? "any(…) or all(…) of it gives one bool"
                                  : bools ? "any(%s) or all(%s)" : "any(%s != 0) or all(%s != 0)",
                                  text, text);
        if (bools)
            fix_masks(in, in->at ? in->at->node : NULL, help, sizeof help);
        err_raise_help(&in->ctx, ERR_TYPE, help,
                       "a condition must be one bool, but this is %s", is);
    }
    if (v.tag == V_INT && text && in->at->node->kind == ND_UNARY && text[1] == '!')
        snprintf(help, sizeof help, "compare it: %.*s == 0", (int)strlen(text) - 3, text + 2);
    else if (v.tag == V_INT || v.tag == V_FLOAT)
        snprintf(help, sizeof help, text ? "compare it: %s != 0" : "compare it with != 0", text);
    else if (v.tag == V_STRING)
        snprintf(help, sizeof help,
                 text ? "compare it: %s != \"\"" : "compare it with != \"\"", text);
    err_raise_help(&in->ctx, ERR_TYPE, *help ? help : NULL,
                   "a condition must be a bool, but this is %s", is);
}

static __attribute__((noinline)) bool condition_slow(Interp *in, const Exec *x, Value v)
{
    v_push(in, v);
    in->at = x;
    bool yes = truth(in, v);
    stack_drop(in, in->sp - 1);
    return yes;
}

SCALAR_INLINE bool condition_holds(Interp *in, const Exec *x)
{
    Value v = exec_run(in, x);
    return __builtin_expect(v.tag == V_BOOL, 1) ? v.i != 0 : condition_slow(in, x, v);
}

bool condition(Interp *in, const Exec *x)
{
    return condition_holds(in, x);
}

Value eval_and(Interp *in, const Exec *x)
{
    return v_bool(condition_holds(in, x->a) && condition_holds(in, x->b));
}

Value eval_or(Interp *in, const Exec *x)
{
    return v_bool(condition_holds(in, x->a) || condition_holds(in, x->b));
}

Value eval_not(Interp *in, const Exec *x)
{
    return v_bool(!condition(in, x->a));
}

/* ---- blocks and if ---- */
Value eval_block(Interp *in, const Exec *x)
{
    uint32_t last = x->count - 1;
    __attribute__((unused)) const Value *mark = in->sp;
    for (uint32_t i = 0; i < last; i++) {
        Value v = exec_run(in, x->list[i]);
        assert(in->sp == mark);                /* a statement leaves nothing */
        if (__builtin_expect(v.tag >= V_FLOW, 0)) {
            if (v.tag == V_FLOW)
                return v;
            v_release(&in->ctx, v);
        }
    }
    return exec_run(in, x->list[last]);
}

Value eval_block2(Interp *in, const Exec *x)
{
    Value v = exec_run(in, x->list[0]);
    if (__builtin_expect(v.tag >= V_FLOW, 0)) {
        if (v.tag == V_FLOW)
            return v;
        v_release(&in->ctx, v);
    }
    return exec_run(in, x->list[1]);
}

Value eval_if(Interp *in, const Exec *x)
{
    if (condition_holds(in, x->a))
        return exec_run(in, x->b);
    return x->c ? exec_run(in, x->c) : v_none();
}

Value eval_else_ifs(Interp *in, const Exec *x)
{
    for (uint32_t i = 0; i < x->count; i += 2)
        if (condition_holds(in, x->list[i]))
            return exec_run(in, x->list[i + 1]);
    return x->c ? exec_run(in, x->c) : v_none();
}

static Value eval_if_and(Interp *in, const Exec *x)
{
    if (condition_holds(in, x->a->a) && condition_holds(in, x->a->b))
        return exec_run(in, x->b);
    return x->c ? exec_run(in, x->c) : v_none();
}

/* A comparison of a variable with a variable or constant, without making a bool of it. */
SCALAR_INLINE bool compare_holds(Interp *in, const Exec *c, int op, int kind)
{
    Value a = in->fp[c->sa], out;
    Value b = kind == OPD_L ? in->fp[c->sb] : kind == OPD_I ? v_int(c->k.i) : v_float(c->k.f);
    if (__builtin_expect(scalar_binary(op, a, b, &out), 1))
        return out.i != 0;
    return condition(in, c);
}

#define COMPARISONS(P) \
    P(EQ, L) P(NE, L) P(LT, L) P(LE, L) P(GT, L) P(GE, L) P(EQ, I) P(NE, I) P(LT, I) P(LE, I) \
    P(GT, I) P(GE, I) P(EQ, F) P(NE, F) P(LT, F) P(LE, F) P(GT, F) P(GE, F)
#define DEFINE(OP, K) \
    static Value eval_if_##OP##_##K(Interp *in, const Exec *x) \
    { \
        if (compare_holds(in, x->a, TK_##OP, OPD_##K)) \
            return exec_run(in, x->b); \
        return x->c ? exec_run(in, x->c) : v_none(); \
    }
COMPARISONS(DEFINE)
#undef DEFINE
#define ENTRY(OP, K) [TK_##OP][OPD_##K] = eval_if_##OP##_##K,
static const EvalFn if_table[TK_OPERATORS][OPD_KINDS] = { COMPARISONS(ENTRY) };
#undef ENTRY

/* The node for `if`: a comparison that starts with a variable is part of it. */
static bool compares_variable(const Exec *cond)
{
    return cond->node->kind == ND_COMPARE && cond->node->count == 2 && cond->a->operand == OPD_L;
}

EvalFn if_choose(const Exec *cond)
{
    EvalFn fn = compares_variable(cond) ? if_table[cond->op][cond->b->operand] : NULL;
    return fn ? fn : cond->eval == eval_and ? eval_if_and : eval_if;
}

/* ---- loops ---- */
/* What a loop does with a body's value: true when it must stop. */
typedef enum LoopStep { LOOP_NEXT, LOOP_BREAK, LOOP_LEAVE } LoopStep;

static __attribute__((noinline)) LoopStep loop_value(Interp *in, Value v)
{
    if (v.tag != V_FLOW) {
        v_release(&in->ctx, v);
        return LOOP_NEXT;
    }
    uint8_t flow = in->flow;
    if (flow == FLOW_RETURN)
        return LOOP_LEAVE;
    in->flow = FLOW_NONE;
    return flow == FLOW_BREAK ? LOOP_BREAK : LOOP_NEXT;
}

/* What follows a body, whose value is v. */
static inline LoopStep loop_after(Interp *in, const Exec *x, Value v)
{
    if (__builtin_expect(*in->ctx.interrupt, 0)) {
        in->at = x;
        if (v.tag != V_FLOW)
            v_push(in, v);
        poll_interrupt_slow(in);
        if (v.tag != V_FLOW)
            in->sp--;
    }
    return __builtin_expect(v.tag >= V_FLOW, 0) ? loop_value(in, v) : LOOP_NEXT;
}

static inline LoopStep loop_body(Interp *in, const Exec *x, const Exec *body)
{
    --((HotSite *)x->data)->cool;
    return loop_after(in, x, exec_run(in, body));
}

static inline bool loop_hot(const Exec *x)
{
    return __builtin_expect(((const HotSite *)x->data)->cool <= 0, 0);
}

/* Its header, `for i in 0:1000`, is what the progress line says while it runs. */
static __attribute__((noinline)) bool loop_tell(Interp *in, const Exec *x, uint64_t total,
                                                const void *frame)
{
    Where where = { 0 };
    uint32_t from = x->node->span.from, to = x->b->node->span.from;
    in->at = x;
    if (in->ctx.locate)
        in->ctx.locate(&in->ctx, &where);
    bool known = where.source && from < to && to <= where.source->len;
    return progress_enter_slow(&in->ctx, known ? where.source->text + from : NULL, to - from,
                               total > INT64_MAX ? 0 : (int64_t)total, frame);
}

/* Does somebody look, and is this the outermost loop? total 0: nobody knows how long. */
static inline bool loop_heard(Interp *in, const Exec *x, uint64_t total)
{
    return __builtin_expect(in->ctx.progress != NULL, 0) && progress_free(&in->ctx) &&
           loop_tell(in, x, total, __builtin_frame_address(0));
}

static inline Value loop_end(Interp *in, bool heard, Value v)
{
    if (__builtin_expect(heard, 0))
        progress_leave(&in->ctx);
    return v;
}

/* What comes behind machine code that ran iterations of a `for`: left is what it left. */
static LoopStep step_behind(Interp *in, const Exec *x, HotEnd end, Value left)
{
    return end == HOT_DONE ? LOOP_NEXT : end == HOT_BROKE ? LOOP_BREAK : loop_after(in, x, left);
}

/* Machine code runs it on, from where its condition is to be asked. */
static __attribute__((noinline)) LoopStep while_hot(Interp *in, const Exec *x)
{
    Value left;
    HotEnd end = in->hot->loop(in, x, x->data, NULL, &left);
    return end == HOT_MISS ? LOOP_NEXT : end == HOT_DONE ? LOOP_BREAK : loop_after(in, x, left);
}

/* `holds` asks for the condition, by what it is. */
#define WHILE(holds) \
    bool heard = loop_heard(in, x, 0); \
    LoopStep step = loop_hot(x) ? while_hot(in, x) : LOOP_NEXT; \
    while (step == LOOP_NEXT && (holds)) { \
        step = loop_body(in, x, x->b); \
        if (loop_hot(x) && step == LOOP_NEXT) \
            step = while_hot(in, x); \
    } \
    return loop_end(in, heard, step == LOOP_LEAVE ? v_flow() : v_none());

static Value eval_while_and(Interp *in, const Exec *x)
{
    WHILE(condition_holds(in, x->a->a) && condition_holds(in, x->a->b))
}

Value eval_while(Interp *in, const Exec *x)
{
    WHILE(condition_holds(in, x->a))
}

#define DEFINE(OP, K) \
    static Value eval_while_##OP##_##K(Interp *in, const Exec *x) \
    { WHILE(compare_holds(in, x->a, TK_##OP, OPD_##K)) }
COMPARISONS(DEFINE)
#undef DEFINE
#define ENTRY(OP, K) [TK_##OP][OPD_##K] = eval_while_##OP##_##K,
static const EvalFn while_table[TK_OPERATORS][OPD_KINDS] = { COMPARISONS(ENTRY) };
#undef ENTRY

EvalFn while_choose(const Exec *cond)
{
    EvalFn fn = compares_variable(cond) ? while_table[cond->op][cond->b->operand] : NULL;
    return fn ? fn : cond->eval == eval_and ? eval_while_and : eval_while;
}

int64_t range_part(Interp *in, const Exec *part)
{
    Value v = exec_run(in, part);
    if (__builtin_expect(v.tag == V_INT, 1))
        return v.i;
    v_push(in, v);
    in->at = part;
    v = v_looked(v);
    if (v.tag == V_INT) {
        stack_drop(in, in->sp - 1);
        return v.i;
    }
    char what[96];
    v_article(v, what, sizeof what);
    if (v.tag == V_TENSOR && v.tensor->rank == 0 && dtype_info(v.tensor->dtype)->kind == 'i') {
        int64_t i = element_i64(v.tensor->dtype, v.tensor->data);
        stack_drop(in, in->sp - 1);
        return i;
    }
    if (v.tag == V_FLOAT ||
        (v.tag == V_TENSOR && v.tensor->rank == 0 && dtype_info(v.tensor->dtype)->kind == 'f'))
        err_raise_help(&in->ctx, ERR_TYPE,
                       "linspace(a, b, n) and arange(a, b, step) make steps of floats",
                       "the parts of a range are ints, but this is %s", what);
    if (v.tag == V_DEVICE)
        err_raise_help(&in->ctx, ERR_TYPE,
                       "D:1 stands in headers alone; elsewhere it is device(\"cuda:1\")",
                       "the parts of a range are ints, but this is %s", what);
    err_raise(&in->ctx, ERR_TYPE, "the parts of a range are ints, but this is %s", what);
}

/* How many values start, start+step, … come before stop; step is not 0. */
static uint64_t range_count(int64_t start, int64_t stop, int64_t step)
{
    if (step > 0)
        return start >= stop ? 0 : ((uint64_t)stop - (uint64_t)start - 1) / (uint64_t)step + 1;
    return start <= stop ? 0 : ((uint64_t)start - (uint64_t)stop - 1) / (0 - (uint64_t)step) + 1;
}

/* Of so many iterations, before somebody who looks is told. */
static uint64_t share_of(uint64_t n)
{
    enum { SHARES = 4096, LEAST = 256 };
    uint64_t share = n / SHARES > LEAST ? n / SHARES : LEAST;
    return share < n ? share : n;
}

/* Machine code runs iterations from *i on, so many at a time that somebody who looks sees them go
 * on: *i and *n are the one that it ended in then. false: it ran none. */
static __attribute__((noinline)) bool range_hot(Interp *in, const Exec *x, int64_t *i, int64_t step,
                                                uint64_t *n, bool heard, LoopStep *s)
{
    uint64_t part = heard ? share_of(*n) : *n, rest = *n - part;
    HotCount count = { *i, step, part, v_undef() };
    Value left;
    HotEnd end = in->hot->loop(in, x, x->data, &count, &left);
    if (end == HOT_MISS)
        return false;
    *i = end == HOT_DONE ? (int64_t)((uint64_t)count.at - (uint64_t)step) : count.at;
    *n = rest + count.left + (end == HOT_DONE);
    *s = step_behind(in, x, end, left);
    return true;
}

/* The loop itself, once for nobody and once for somebody who looks how far it is. */
static inline __attribute__((always_inline)) Value range_loop(Interp *in, const Exec *x, int64_t i,
                                                              int64_t step, uint64_t n, bool heard)
{
    uint64_t total = n;
    _Atomic int64_t *done = heard ? progress_counter(&in->ctx) : NULL;
    for (; n > 0; n--, i = (int64_t)((uint64_t)i + (uint64_t)step)) {
        LoopStep s = LOOP_NEXT;
        if (heard)
            atomic_store_explicit(done, (int64_t)(total - n), memory_order_relaxed);
        if (!loop_hot(x) || !range_hot(in, x, &i, step, &n, heard, &s)) {
            slot_put(in, &in->fp[x->sa], v_int(i));
            s = loop_body(in, x, x->b);
        }
        if (__builtin_expect(s != LOOP_NEXT, 0))
            return s == LOOP_LEAVE ? v_flow() : v_none();
    }
    return v_none();
}

/* ---- loops over anything ---- */
/* Machine code runs iterations over a vector or a tuple, so many at a time as with ranges. false:
 * it ran none. */
static __attribute__((noinline)) bool each_hot(Interp *in, const Exec *x, Each *it, bool heard,
                                               LoopStep *s)
{
    enum { NOT_SOON = 1 << 20 };
    int64_t left = it->count - it->at;
    int64_t part = heard && left > 0 ? (int64_t)share_of((uint64_t)left) : left;
    HotCount count = { it->at, 1, (uint64_t)part, it->over };
    Value v;
    bool vector = it->over.tag == V_TENSOR && it->over.tensor->rank == 1;
    if (!(vector && x->c->op == TG_SLOT) && it->over.tag != V_TUPLE) {
        ((HotSite *)x->data)->cool = NOT_SOON;
        return false;
    }
    HotEnd end = part > 0 ? in->hot->loop(in, x, x->data, &count, &v) : HOT_MISS;
    if (end == HOT_MISS)
        return false;
    it->at = count.at + (end != HOT_DONE);
    *s = step_behind(in, x, end, v);
    return true;
}

/* The caller keeps what it goes over. */
static Value each_loop(Interp *in, const Exec *x, Each *it, bool heard)
{
    Value v, whole = it->over;
    int64_t done = 0;
    for (;; done = whole.tag == V_STRING ? done + 1 : it->at) {
        LoopStep s = LOOP_NEXT;
        if (__builtin_expect(heard, 0))
            progress_at(&in->ctx, done);
        if (!loop_hot(x) || !each_hot(in, x, it, heard, &s)) {
            if (!each_next(in, it, &v))
                return v_none();
            target_assign_item(in, x->a, whole, x->c, v);
            s = loop_body(in, x, x->b);
        }
        if (s != LOOP_NEXT)
            return s == LOOP_LEAVE ? v_flow() : v_none();
    }
}

static Value each_resumed(Interp *in, const Exec *x, const HotCount *count)
{
    Each it;
    each_start(in, x->a, &it, count->over);
    it.at = count->at + 1;
    return each_loop(in, x, &it, false);
}

/* An iteration in part was run on to its end by who came from machine code: v is what its body
 * left. The rest of the loop. count: NULL for `while`. */
Value loop_resumed(Interp *in, const Exec *x, Value v, const HotCount *count)
{
    LoopStep s = loop_after(in, x, v);
    if (s != LOOP_NEXT)
        return s == LOOP_LEAVE ? v_flow() : v_none();
    if (!count)
        return exec_run(in, x);
    if (!x->list)
        return each_resumed(in, x, count);
    return range_loop(in, x, (int64_t)((uint64_t)count->at + (uint64_t)count->step), count->step,
                      count->left - 1, false);
}

/* for NAME in a:b:step — no range object. list: the parts; sa: the variable's slot. */
Value eval_for_range(Interp *in, const Exec *x)
{
    int64_t start = range_part(in, x->list[0]), stop = range_part(in, x->list[1]);
    int64_t step = x->count > 2 ? range_part(in, x->list[2]) : 1;
    if (step == 0) {
        in->at = x;
        err_raise(&in->ctx, ERR_VALUE, "the step of a range must not be 0");
    }
    uint64_t n = range_count(start, stop, step);
    if (__builtin_expect(!loop_heard(in, x, n), 1))
        return range_loop(in, x, start, step, n, false);
    return loop_end(in, true, range_loop(in, x, start, step, n, true));
}

/* for TARGET in anything: a = what is iterated, c = target, b = body. */
Value eval_for(Interp *in, const Exec *x)
{
    Value *mark = in->sp;
    v_push(in, exec_run(in, x->a));
    Each it;
    each_start(in, x->a, &it, mark[0]);
    bool heard = loop_heard(in, x, (uint64_t)it.count);
    Value result = each_loop(in, x, &it, heard);
    stack_drop(in, mark);
    return loop_end(in, heard, result);
}

/* ---- break, continue, return ---- */
Value eval_break(Interp *in, const Exec *x)
{
    in->flow = x->op;
    return v_flow();
}

Value eval_return(Interp *in, const Exec *x)
{
    Value v = x->a ? exec_run(in, x->a) : v_none();
    in->result = v;
    in->flow = FLOW_RETURN;
    return v_flow();
}

Value eval_break_deep(Interp *in, const Exec *x)
{
    in->flow = x->op;
    flow_unwind(in);
}

Value eval_return_deep(Interp *in, const Exec *x)
{
    in->result = x->a ? exec_run(in, x->a) : v_none();
    in->flow = FLOW_RETURN;
    flow_unwind(in);
}

void flow_unwind(Interp *in)
{
    ErrFrame *frame = in->ctx.frame;
    in->ctx.frame = frame->up;
    longjmp(frame->jump, 1);
}

/* After a catch point took deep flow: hands it up as a value if it stands in a statement,
 * else unwinds on to the catch point that it is meant for. */
static Value flow_caught(Interp *in, const Exec *x)
{
    if (x->flags & (in->flow == FLOW_RETURN ? XF_DEEP_FN : XF_DEEP_LOOP))
        flow_unwind(in);
    return v_flow();
}

/* Around a loop body or function whose break, continue or return unwinds: a. */
Value eval_catch_flow(Interp *in, const Exec *x)
{
    Guard g;
    guard_enter(in, &g);
    if (ERR_TRY(&in->ctx, &g.frame)) {
        Value v = exec_run(in, x->a);
        ERR_END(&in->ctx, &g.frame);
        return v;
    }
    guard_restore(in, &g);
    if (in->flow == FLOW_NONE)
        err_rethrow(&in->ctx);
    return flow_caught(in, x);
}

/* ---- errors ---- */
static Value text_value(Interp *in, const char *text)
{
    return v_str(str_new(&in->ctx, text, strlen(text)));
}

/* (kind=…, message=…, where=…, value=…) of a caught error, left on the stack too while it
 * is made; returns an owned value. */
static Value error_value(Interp *in, const Error *e)
{
    static const char *const fields[] = { "kind", "message", "where", "value" };
    Tuple *t = tuple_new(&in->ctx, 4);
    v_push(in, v_tuple(t));
    for (uint32_t i = 0; i < 4; i++)
        tuple_name(&in->ctx, t, i, names_intern(&in->names, fields[i], strlen(fields[i])));
    for (uint32_t i = 0; i < 4; i++)
        t->items[i] = v_none();
    t->items[0] = text_value(in, err_kind_name(e->kind));
    t->items[1] = text_value(in, e->message);
    if (e->where.source) {
        char where[512];
        Place p = source_place(e->where.source, e->where.span.from);
        snprintf(where, sizeof where, "%s:%u:%u", e->where.source->name, p.line, p.column);
        t->items[2] = text_value(in, where);
    }
    if (e->payload)
        t->items[3] = v_retain(*(Value *)e->payload);
    in->sp--;
    return v_tuple(t);
}

/* Keeps the error that a catch took, so that `throw e` can throw the very same again. */
static void caught_keep(Interp *in, Error *e, Value v)
{
    if (in->caught != e)
        err_free(in->caught);
    in->caught = e;
    Value old = in->caught_value;
    in->caught_value = v_retain(v);
    v_release(&in->ctx, old);
}

Value eval_try(Interp *in, const Exec *x)
{
    Guard g;
    int tries = in->tries++;
    guard_enter(in, &g);
    if (ERR_TRY(&in->ctx, &g.frame)) {
        Value v = exec_run(in, x->a);
        deferred_barrier(in, v);        /* its errors are this block's to catch */
        ERR_END(&in->ctx, &g.frame);
        in->tries = tries;
        return v;
    }
    in->tries = tries;
    guard_restore(in, &g);
    if (in->flow != FLOW_NONE)
        return flow_caught(in, x);
    Error *e = in->ctx.error;
    if (e->kind == ERR_INTERRUPT)      /* Ctrl-C stops the computation, whatever it catches */
        err_rethrow(&in->ctx);
    if (__builtin_expect(in->boxes != 0, 0))
        in->traces->caught(in);
    if (x->sa != UINT32_MAX) {
        Value v = error_value(in, e);
        slot_put(in, &in->fp[x->sa], v);
        in->ctx.error = NULL;
        caught_keep(in, e, v);
    } else {
        in->ctx.error = NULL;
        err_free(e);
    }
    return exec_run(in, x->b);
}

static void payload_release(Ctx *ctx, void *payload)
{
    v_release(ctx, *(Value *)payload);
    mem_free(ctx, payload, sizeof(Value));
}

static ErrKind kind_named(Value v)
{
    for (int k = 0; v.tag == V_STRING && k < ERR_KINDS; k++)
        if (strcmp(v.str->text, err_kind_name((ErrKind)k)) == 0)
            return (ErrKind)k;
    return ERR_KINDS;
}

/* The text field of a named tuple, or NULL. */
static const char *field_text(Interp *in, const Tuple *t, const char *field)
{
    int64_t i = tuple_find(t, names_intern(&in->names, field, strlen(field)));
    return i >= 0 && t->items[i].tag == V_STRING ? t->items[i].str->text : NULL;
}

/* Is this an error as a value: kind, message, and nothing but what errors have? */
static bool is_error_value(Interp *in, Value v)
{
    static const char *const fields[] = { "kind", "message", "where", "value", "help" };
    if (v.tag != V_TUPLE || !v.tuple->named)
        return false;
    int64_t known = 0;
    for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++)
        known += tuple_find(v.tuple, names_intern(&in->names, fields[i], strlen(fields[i]))) >= 0;
    return known == v.tuple->count && field_text(in, v.tuple, "kind") &&
           field_text(in, v.tuple, "message");
}

/* A value as `catch` gives it throws the same error again; (kind="value", message="…"), with
 * help="…" if there is one, an error of that kind. Returns when v is none of these. */
static void throw_error(Interp *in, Value v)
{
    if (!is_error_value(in, v))
        return;
    if (in->caught && in->caught_value.tag == V_TUPLE && in->caught_value.tuple == v.tuple) {
        in->ctx.error = in->caught;
        in->caught = NULL;
        err_rethrow(&in->ctx);
    }
    ErrKind k =
        kind_named(v.tuple->items[tuple_find(v.tuple, names_intern(&in->names, "kind", 4))]);
    if (k == ERR_KINDS)
        return;
    Error *e = err_new(&in->ctx, k, "%s", field_text(in, v.tuple, "message"));
    const char *help = field_text(in, v.tuple, "help");
    if (help)
        err_help(e, "%s", help);
    int64_t value = tuple_find(v.tuple, names_intern(&in->names, "value", 5));
    if (k == ERR_THROW && value >= 0)
        error_carry(in, e, v.tuple->items[value]);
    err_throw(e);
}

void error_carry(Interp *in, Error *e, Value v)
{
    if (e->no_memory)
        return;
    Value *payload = mem_alloc(&in->ctx, sizeof *payload);
    *payload = v_retain(v);
    e->payload = payload;
    e->release = payload_release;
}

Value eval_throw(Interp *in, const Exec *x)
{
    Value v = exec_run(in, x->a);
    v_push(in, v);
    in->at = x;
    throw_error(in, v);
    buf_clear(&in->scratch);
    show_value(in, &in->scratch, v);
    Error *e = err_new(&in->ctx, ERR_THROW, "%s", buf_cstr(&in->scratch));
    error_carry(in, e, v);
    err_throw(e);
}
