/* Streams of random numbers as values: a key of Philox, and the block that comes next. What draws
 * from one, r.uniform(0, 1), is the function of the module `random` of that name, run while the
 * variable's stream is the interpreter's own, so that all rows that draw take it; then the variable
 * is moved on. */
#include "builtins/arrays/making.h"
#include "builtins/rows/rows.h"

#include "core/base/error.h"
#include "core/base/mem.h"
#include "interp/eval/call.h"
#include "interp/eval/eval_name.h"
#include "interp/eval/module.h"
#include "interp/op/peers.h"
#include "interp/op/traced.h"
#include "interp/state/kind.h"
#include "kernels/random/draw.h"

#include <stdio.h>
#include <string.h>
#include <sys/random.h>

typedef struct Stream {
    Native native;
    uint64_t key, counter;
} Stream;

static const Stream *v_stream(Value v) { return v.ptr; }

static Value stream_new(Ctx *, uint64_t key, uint64_t counter);
static void stream_move(Ctx *, Value *slot, uint64_t counter);

/* ---- what a stream has ---- */
static const OpState random_kept = { sizeof(Module *), NULL };

static const Module *module_random(Interp *in)
{
    Module **kept = op_state(in, &random_kept);
    if (!*kept) {
        Value module = module_library(in, "random", NULL, NULL);
        *kept = module.module;          /* the interpreter keeps it */
        v_release(&in->ctx, module);
    }
    return *kept;
}

/* Functions of the module by their names; those with _ are its own. of: the variable, or NULL. */
static Value method_named(Interp *in, const Module *m, const Name *name, const char *of)
{
    int64_t i = name->text[0] == '_' ? -1 : globals_find(&m->globals, name);
    if (i >= 0 && (m->slots[i].tag == V_FUNCTION || m->slots[i].tag == V_OP))
        return m->slots[i];
    const char *names[128];
    size_t n = 0;
    for (uint32_t k = 0; k < m->globals.count && n < 128; k++)
        if (m->globals.names[k]->text[0] != '_')
            names[n++] = m->globals.names[k]->text;
    const char *closest = err_closest(name->text, names, n);
    Error *e = err_new(&in->ctx, ERR_NAME, "a random stream has no `%.100s`", name->text);
    const char *peer = peer_name(name->text), prefix[] = "random.";
    if (peer && strncmp(peer, prefix, sizeof prefix - 1) == 0) {
        err_help(e, "%.60s.%s", of ? of : "r", peer + sizeof prefix - 1);
        e->example = true;
    } else if (closest) {
        err_help(e, "did you mean `%s`?", closest);
    } else {
        err_help(e, "it has what the module random has: uniform, normal, choice, …; ?random");
    }
    err_throw(e);
}

/* ---- drawing ---- */

/* r.uniform while its arguments are evaluated and it is called. `of`: the variable's node; NULL:
 * the stream is nobody's, and stands in `temporary`. */
typedef struct Method {
    Native native;
    const Exec *of;
    Value temporary, function;
} Method;

static _Noreturn void raise_not_own(Interp *in, const Exec *of)
{
    const char *name = of->node->name->text;
    err_raise_help(&in->ctx, ERR_NAME,
                   "a function takes a stream as its parameter and returns it with what it drew, "
                   "or the caller gives it one of r.split(n)",
                   "`%s` stands outside of this function or block: a draw here could not move it "
                   "on", name);
}

/* A graph draws when it is called, from the stream that all draw from then. */
static void refuse_graph(Interp *in)
{
    const OpCall draw = { .in = in, .op = op_named(in, "rand") };
    if (traced_on(in) && in->traces->hears(in, &draw) && !in->traces->hears(in, NULL))
        err_raise_help(&in->ctx, ERR_VALUE,
                       "draw before the graph, and hand over what was drawn; or seed(7) and "
                       "random.uniform(…) without a stream",
                       "a graph keeps operations, and the variable that a draw moves on is none");
}

static Value *method_slot(Interp *in, Method *m)
{
    bool own = true;
    Value *slot = m->of ? exec_slot(in, m->of, &own) : &m->temporary;
    if (!own)
        raise_not_own(in, m->of);
    if (!slot || slot->tag != V_STREAM)
        err_raise(&in->ctx, ERR_TYPE, "the arguments of the call gave `%s` another value",
                  m->of->node->name->text);
    return slot;
}

static Value method_call(Interp *in, Value callee, const Value *args, int count,
                         const Name *const *names, const Value *named, int named_count)
{
    Method *m = callee.ptr;
    const Stream *s = v_stream(*method_slot(in, m));
    uint64_t before[3] = { in->rng.key[0], in->rng.key[1], in->rng.counter }, after;
    Guard g;
    Value r;
    refuse_graph(in);
    guard_enter(in, &g);
    if (!ERR_TRY(&in->ctx, &g.frame)) {
        in->rng.key[0] = before[0], in->rng.key[1] = before[1], in->rng.counter = before[2];
        guard_restore(in, &g);
        err_rethrow(&in->ctx);
    }
    in->rng.key[0] = s->key, in->rng.key[1] = 1, in->rng.counter = s->counter;
    r = call_named(in, m->function, args, count, names, named, named_count);
    after = in->rng.counter;
    in->rng.key[0] = before[0], in->rng.key[1] = before[1], in->rng.counter = before[2];
    ERR_END(&in->ctx, &g.frame);
    if (!m->of)
        return r;
    v_push(in, r);
    stream_move(&in->ctx, method_slot(in, m), after);
    return *--in->sp;
}

static const Kind method_kind = { .call = method_call };

/* It stands here, not on the value stack, so that an error that unwinds leaves it alone. */
static Value stream_call(Interp *in, const Exec *x, const Exec *of, Value temporary)
{
    Method m = { { .refs = 1, .kind = &method_kind }, of, temporary, v_undef() };
    in->at = x->a;
    m.function = method_named(in, module_random(in), x->a->node->name,
                              of ? of->node->name->text : NULL);
    in->at = x;
    method_slot(in, &m);
    return call_arguments(in, x, (Value){ .tag = V_TRANSFORM, .ptr = &m });
}

/* ---- the value ---- */
static void stream_release(Ctx *ctx, Native *n) { mem_free(ctx, n, sizeof(Stream)); }

static const char *stream_describe(Value v, char *out, size_t cap)
{
    (void)v;
    snprintf(out, cap, "random stream");
    return out;
}

static bool stream_equal(Value a, Value b)
{
    return v_stream(a)->key == v_stream(b)->key && v_stream(a)->counter == v_stream(b)->counter;
}

static void stream_show(Interp *in, Buf *out, Value v, bool repr)
{
    (void)in, (void)repr;
    buf_printf(out, "random stream %lld at %llu", (long long)v_stream(v)->key,
               (unsigned long long)v_stream(v)->counter);
}

/* r.uniform without its call, or of a stream inside of something. */
static Value stream_field(Interp *in, Value v, const Name *name)
{
    const Node *n = in->at ? in->at->node : NULL;
    bool inside = n && n->kind == ND_FIELD && (n->a->kind == ND_FIELD || n->a->kind == ND_INDEX);
    const char *text = err_operand_name(&in->ctx, 0);
    (void)v;
    Error *e = err_new(&in->ctx, ERR_TYPE,
                       inside ? "%s is a stream inside of something else, and a draw moves a "
                                "variable on"
                              : "what %s has is called: a draw moves a variable on",
                       text ? text : inside ? "this" : "a stream");
    if (inside && text)
        err_help(e, "take it out and put it back: r = %s; x = r.%.60s(); %s = r", text,
                 name->text, text);
    else if (text)
        err_help(e, "%s.%.60s()", text, name->text);
    err_throw(e);
}

static const char *stream_instead(char *out, size_t cap, const char *text)
{
    snprintf(out, cap, "numbers are drawn from it: %s.uniform()", text);
    return out;
}

static const Kind stream_kind = {
    .release = stream_release, .describe = stream_describe, .equal = stream_equal,
    .show = stream_show, .field = stream_field, .call_field = stream_call,
    .instead = stream_instead,
};

static Value stream_new(Ctx *ctx, uint64_t key, uint64_t counter)
{
    Stream *s = mem_alloc(ctx, sizeof *s);
    *s = (Stream){ { .refs = 1, .kind = &stream_kind }, key, counter };
    return (Value){ .tag = V_STREAM, .ptr = s };
}

/* Puts the stream in *slot forward to a counter; whoever has the same value keeps it. */
static void stream_move(Ctx *ctx, Value *slot, uint64_t counter)
{
    Stream *s = slot->ptr;
    if (s->native.refs == 1) {
        s->counter = counter;
        return;
    }
    Value moved = stream_new(ctx, s->key, counter);
    v_release(ctx, *slot);
    *slot = moved;
}

/* ---- rows ---- */
Value op_run_stream(OpCall *c)
{
    uint64_t key = 0;
    if (arg_given(c, 0))
        key = (uint64_t)arg_int(c, 0);
    else if (getrandom(&key, sizeof key, 0) != sizeof key)
        key = (uint64_t)(uintptr_t)c;
    return stream_new(&c->in->ctx, key, 0);
}

Value op_run_streams(OpCall *c)
{
    enum { MOST = 1 << 24, AT_ONCE = 256 };
    Interp *in = c->in;
    int64_t n = arg_int(c, 0);
    if (n < 0 || n > MOST) {
        Error *e = err_new(&in->ctx, ERR_VALUE, "split: n = %lld, and it must be from 0 to 2^24",
                           (long long)n);
        err_help(e, "random.split(4)");
        e->example = true;
        err_throw(e);
    }
    Tuple *t = tuple_new(&in->ctx, (uint64_t)n);
    op_root(c, v_tuple(t));
    RngStream s = random_open(in);
    for (int64_t i = 0; i < n; i += AT_ONCE) {
        uint64_t keys[AT_ONCE];
        int64_t some = n - i < AT_ONCE ? n - i : AT_ONCE;
        rng_split(&s, keys, some);
        for (int64_t k = 0; k < some; k++)
            t->items[i + k] = stream_new(&in->ctx, keys[k], 0);
        poll_interrupt(in);
    }
    random_close(in, &s);
    return v_retain(v_tuple(t));
}
