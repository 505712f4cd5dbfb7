/* Calls of a field, m.f(x). Of a stream of random numbers, r.uniform(0, 1), it is the function of
 * the module `random` of that name, run while the variable's stream is the interpreter's own; then
 * the variable is moved on. Anything else is called as what the field holds. */
#include "interp/eval/call.h"
#include "interp/eval/eval_index.h"
#include "interp/eval/eval_name.h"
#include "interp/eval/module.h"
#include "interp/op/traced.h"
#include "interp/state/stream.h"

#include "core/base/error.h"

#include <string.h>

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

/* Functions of the module by their names; those with _ are its own. */
static Value method_named(Interp *in, const Module *m, const Name *name)
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
    if (closest)
        err_help(e, "did you mean `%s`?", closest);
    else
        err_help(e, "it has what the module random has: uniform, normal, choice, …; ?random");
    err_throw(e);
}

/* ---- drawing ---- */

/* r.uniform while its arguments are evaluated and it is called. `of`: the variable's node; NULL: the
 * stream is nobody's, and stands in `temporary`. */
typedef struct Method {
    Native native;
    const Exec *of;
    Value temporary, function;
} Method;

static _Noreturn void raise_not_own(Interp *in, const Exec *of)
{
    const char *name = of->node->name->text;
    err_raise_help(&in->ctx, ERR_NAME,
                   "a function takes a stream as its parameter and returns it with what it drew, or "
                   "the caller gives it one of r.split(n)",
                   "`%s` stands outside of this function or block: a draw here could not move it on",
                   name);
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
static Value draw(Interp *in, const Exec *x, const Exec *of, Value temporary)
{
    Method m = { { .refs = 1, .kind = &method_kind }, of, temporary, v_undef() };
    in->at = x->a;
    m.function = method_named(in, module_random(in), x->a->node->name);
    in->at = x;
    method_slot(in, &m);
    return call_arguments(in, x, (Value){ .tag = V_TRANSFORM, .ptr = &m });
}

/* random.stream(7).uniform(): what is in front of the point is evaluated once. */
static Value call_of_result(Interp *in, const Exec *x)
{
    Value *mark = in->sp, base = exec_run(in, x->a->a), r;
    v_push(in, base);
    if (base.tag == V_STREAM) {
        r = draw(in, x, NULL, base);
    } else {
        in->at = x->a;
        r = call_callee(in, x, field_read(in, base, x->a->node->name));
    }
    stack_drop(in, mark);
    return r;
}

Value eval_call_field(Interp *in, const Exec *x)
{
    const Exec *base = x->a->a;
    if (base->node->kind == ND_CALL)
        return call_of_result(in, x);
    bool own;
    const Value *slot = base->node->kind == ND_NAME ? exec_slot(in, base, &own) : NULL;
    return slot && slot->tag == V_STREAM ? draw(in, x, base, v_undef()) : eval_call_general(in, x);
}
