/* Leaves: constants, variables, the running function, and names that are no variable but
 * a builtin. Owns the `name` errors and their did-you-mean. */
#include "interp/state/frames.h"
#include "interp/state/stdlib_files.h"
#include "interp/op/peers.h"
#include "interp/eval/eval_name.h"
#include "interp/state/wing.h"
#include "interp/eval/module.h"
#include "interp/state/predefined.h"

#include "core/base/error.h"
#include "parser/cdecl/cdecl.h"

#include <stdio.h>
#include <string.h>

Value eval_local(Interp *in, const Exec *x)
{
    Value v = in->fp[x->sa];
    if (__builtin_expect(v.tag == V_UNDEF, 0))
        raise_unassigned(in, x);
    return v_share(in, v);
}

/* A row of operators in parts, so that what is long is not deep. */
Value eval_long(Interp *in, const Exec *x)
{
    for (uint32_t i = 0; i + 1 < x->count; i++) {
        Value v = exec_run(in, x->list[i]);
        slot_put(in, &in->fp[x->sa], v);
    }
    return exec_run(in, x->list[x->count - 1]);
}

Value eval_sofar(Interp *in, const Exec *x)
{
    Value v = in->fp[x->sa];
    in->fp[x->sa] = v_undef();
    return v;
}

Value eval_global(Interp *in, const Exec *x)
{
    GlobalRef *ref = x->data;
    Value v = *ref->slot;
    if (__builtin_expect(v.tag == V_UNDEF, 0))
        return global_builtin(in, x, ref);
    return v_share(in, v);
}

Value exec_peek(Interp *in, const Exec *x)
{
    Value v = v_undef();
    if (x->eval == eval_local)
        v = in->fp[x->sa];
    else if (x->eval == eval_global)
        v = *((const GlobalRef *)x->data)->slot;
    return v.tag == V_UNDEF ? exec_run(in, x) : v_retain(v);
}

Value eval_self(Interp *in, const Exec *x)
{
    (void)x;
    Value v = { .tag = V_FUNCTION, .fn = (Function *)in->calls->fn };
    return v_retain(v);
}

Value global_builtin(Interp *in, const Exec *x, GlobalRef *ref)
{
    if (!ref->looked) {
        ref->predefined = predefined_find(in, ref->name->text);
        ref->op = op_find(in, ref->name);
        ref->looked = true;
    }
    if (ref->predefined.tag != V_UNDEF)
        return v_retain(ref->predefined);
    if (ref->op)
        return v_op(ref->op);
    raise_undefined(in, x, ref->name);
}

bool exec_weak(const Exec *x)
{
    if (x->flags & XF_WEAK)
        return true;
    return (x->flags & XF_WEAK_NAME) && ((const GlobalRef *)x->data)->slot->tag == V_UNDEF;
}

/* ---- did you mean ---- */
/* Every name that could have been meant here: at most `cap`. */
size_t interp_names(Interp *in, const char **names, size_t cap)
{
    size_t n = 0;
    const Function *fn = in->calls ? in->calls->fn : NULL;
    for (uint32_t i = 0; fn && fn->code->info->slot_names && i < fn->code->slots && n < cap; i++)
        if (fn->code->info->slot_names[i])
            names[n++] = fn->code->info->slot_names[i]->text;
    Module *m = interp_module(in);
    for (uint32_t i = 0; m && i < m->globals.count && i < 8 * cap && n < cap; i++)
        if (m->globals.names[i] && m->slots[i].tag != V_UNDEF)
            names[n++] = m->globals.names[i]->text;
    for (int i = 0; i < op_count(in) && n < cap; i++)
        names[n++] = op_row(in, i)->name;
    for (int i = 0; predefined_name(i) && n < cap; i++)
        names[n++] = predefined_name(i);
    return n;
}

/* np.dot(A, B), x[end], True: raises with what is written here, if that is known. */
static void raise_foreign(Interp *in, const Exec *x, const Name *name)
{
    uint32_t at = x->node->kind == ND_NAME ? x->node->span.from : x->node->mark.from;
    Error *e = err_new(&in->ctx, ERR_NAME, "`%.100s` is not defined", name->text);
    if (peer_translate(in, e, FOREIGN_NAME, at)) {
        wings_raised(in, e);
        if (e->help)                       /* else what is said of the name in general may hold */
            err_throw(e);
    }
    const Source *s = e->where.source;
    size_t after = at + name->len;
    if (foreign_module(name->text) && s && after < s->len && s->text[after] == '.') {
        const char *peer = peer_member(s->text + after, s->len - after);
        err_help(e, "%s", peer ? peer : "what Ricci has of it is built in and has no prefix; "
                                        "??word searches the help");
        e->example = peer;
        err_throw(e);
    }
    err_free(e);
}

void raise_undefined(Interp *in, const Exec *x, const Name *name)
{
    const char *names[1024], *closest = NULL, *module = module_of_stdlib(name->text);
    const char *peer = peer_name(name->text);
    in->at = x;
    if (strcmp(name->text, "end") == 0)
        raise_foreign(in, x, name);
    wings_undefined(in, x, name);
    if (!module_in_stdlib(name->text))     /* random.uniform: the module's, once it is imported */
        raise_foreign(in, x, name);
    if (name->len > 2)                     /* of two letters one is half */
        closest = err_closest(name->text, names, interp_names(in, names, 1024));
    Error *e = err_new(&in->ctx, ERR_NAME, "`%.100s` is not defined", name->text);
    if (module_in_stdlib(name->text))
        err_help(e, "import %s", name->text);
    else if (peer) {
        err_help(e, "%s", peer);
        e->example = true;
    }
    else if (module)
        err_help(e, "import %s from %s", name->text, module);
    else if (interp_module(in) && cscope_included(interp_module(in)->globals.c))
        err_help(e, "%s%s%sif it is C's: #include reads no file in an extern block, so paste its "
                    "declaration there",
                 closest ? "did you mean `" : "", closest ? closest : "", closest ? "`? " : "");
    else if (closest)
        err_help(e, "did you mean `%s`?", closest);
    err_throw(e);
}

void raise_unassigned(Interp *in, const Exec *x)
{
    in->at = x;
    const Name *name = x->node->name;
    err_raise(&in->ctx, ERR_NAME, "`%s` is used before it is assigned",
              name ? name->text : "a variable");
}

/* ---- arguments that stand for their variable ---- */
/* Inside test and compare, which change copies of what is around them: of the names that they
 * assign. */
static bool in_copying_block(const Interp *in)
{
    const Function *fn = in->calls ? in->calls->fn : NULL;
    return fn && (fn->code->node->kind == ND_TEST || fn->code->node->kind == ND_COMPARE_BLOCK);
}

static _Noreturn void raise_not_own(Interp *in, const Exec *x)
{
    in->at = x;
    const char *name = x->node->name->text;
    bool block = in_copying_block(in);
    char help[160];
    snprintf(help, sizeof help, block ? "before it: %s = %s   makes it the block's own, a copy"
             : "a variable of the function's own: y = %s, and y in its place", name, name);
    err_raise_help(&in->ctx, ERR_NAME, help, "`%s` is not this %s's own: C would write to it", name,
                   block ? "block" : "function");
}

/* Captured values are copies that nobody else sees, but in test and compare blocks they are meant
 * so. */
static bool is_captured(const Interp *in, uint32_t slot)
{
    const Function *fn = in->calls ? in->calls->fn : NULL;
    if (!fn || in_copying_block(in))
        return false;
    return slot >= fn->code->params && slot < fn->code->params + fn->code->captured;
}

Value *exec_slot(Interp *in, const Exec *arg, bool *own)
{
    *own = true;
    if (arg->eval == eval_local) {
        *own = !is_captured(in, arg->sa);
        return &in->fp[arg->sa];
    }
    if (arg->eval != eval_global)
        return NULL;
    Value *slot = ((const GlobalRef *)arg->data)->slot;
    *own = arg->operand == OPD_L;
    return slot->tag == V_UNDEF ? NULL : slot;       /* a builtin, or an error of its own */
}

Value *exec_variable(Interp *in, const Exec *arg)
{
    bool own;
    Value *slot = exec_slot(in, arg, &own);
    if (slot && !own)
        raise_not_own(in, arg);
    return slot;
}

Value *exec_taken(Interp *in)
{
    Value *slot = in->taken_at == in->at ? in->taken : NULL;
    in->taken = NULL;
    return slot;
}
