/* Lowering of calls, pipes, functions and lambdas. A call of a variable with positional
 * arguments gets a fast node; everything else the general one. */
#include "interp/eval/eval_flow.h"
#include "interp/eval/eval_name.h"
#include "interp/op/op.h"
#include "interp/fuse/fuse.h"
#include "interp/eval/call.h"
#include "interp/lower/lower.h"

#include <string.h>

/* ---- calls ---- */
static Value eval_argument(Interp *in, const Exec *x)
{
    return exec_run(in, x->a);
}

/* A spread keeps its own node, by which the call knows it. */
static const Exec *lower_argument(Lower *lo, const Node *n)
{
    if (n->kind == ND_NAMED)
        return lower_operand(lo, n->a);
    if (n->kind != ND_SPREAD)
        return lower_operand(lo, n);
    Exec *x = exec_new(lo, eval_argument, n);
    x->a = lower_operand(lo, n->a);
    return x;
}

static const Exec *lower_arguments(Lower *lo, Exec *x, const Node *n, CallSite *site)
{
    const Exec **list = lower_alloc(lo, (n->count + 1) * sizeof *list);
    site->names = lower_alloc(lo, (n->count + 1) * sizeof *site->names);
    for (uint32_t i = 0; i < n->count; i++)
        site->named += n->list[i]->kind == ND_NAMED;
    site->positional = n->count - site->named;
    uint32_t p = 0, k = 0;
    for (uint32_t i = 0; i < n->count; i++) {
        const Node *arg = n->list[i];
        bool named = arg->kind == ND_NAMED;
        uint32_t at = named ? site->positional + k : p;
        list[at] = lower_argument(lo, arg);
        if (named)
            site->names[k++] = arg->name;
        else
            p++;
        site->spread |= arg->kind == ND_SPREAD;
        if (at < 32 && (list[at]->flags & XF_WEAK))
            site->weak |= 1u << at;
    }
    x->list = list;
    x->count = n->count;
    return x;
}

static bool arguments_write(const Exec *x)
{
    for (uint32_t i = 0; i < x->count; i++)
        if (x->list[i]->flags & XF_WRITES)
            return true;
    return false;
}

/* A C function writes to the variables it is given; what reads one in place has to know. One of a
 * program around us may set any global, and whatever is called may call it. */
static bool may_lend(const Lower *lo, const Exec *x)
{
    if (lo->in->host && !lo->fn)
        return true;
    const GlobalRef *callee = x->a->eval == eval_global ? x->a->data : NULL;
    const Op *op = callee && callee->slot->tag == V_UNDEF ? op_find(lo->in, callee->name) : NULL;
    if (op && !op->on_variable && !op->points)
        return false;
    for (uint32_t i = 0; i < x->count; i++)
        if (x->list[i]->operand == OPD_L)
            return true;
    return false;
}

static const Exec *lower_plain_call(Lower *lo, const Node *n)
{
    Exec *x = exec_new(lo, eval_call_general, n);
    CallSite *site = lower_alloc(lo, sizeof *site);
    x->data = site;
    x->a = lower_operand(lo, n->a);
    lower_arguments(lo, x, n, site);
    lo->lends |= may_lend(lo, x);
    if (x->a->eval == eval_global)
        site->ref = *(GlobalRef *)x->a->data;
    if (n->a->kind == ND_FIELD) {
        x->eval = eval_call_field;
        lo->writes |= n->a->a->kind == ND_NAME;      /* a draw moves the stream on */
    }
    if (site->named || site->spread || arguments_write(x))
        return x;
    if (x->a->eval == eval_global) {
        x->eval = eval_call_global;
    } else if (x->a->eval == eval_self) {
        x->eval = eval_call_self;
    } else if (x->a->eval == eval_local) {
        x->eval = eval_call_local;
        x->sa = x->a->sa;
    }
    if (lo->scoped)
        x->flags |= XF_SCOPED;
    else if (x->eval == eval_call_global)
        fuse_mark_call(lo, x, n);
    return x;
}

/* x |> f(y) is f(x, y): the call is made here, so that errors show the user's own text. */
Node *lower_pipe(Lower *lo, const Node *n)
{
    Node *call = node_copy(lo, n);
    bool takes = n->b->kind == ND_CALL && !(n->b->flags & NF_PARENS);
    uint32_t more = takes ? n->b->count : 0;
    call->kind = ND_CALL;
    call->a = takes ? n->b->a : n->b;
    call->b = NULL;
    call->count = more + 1;
    call->list = lower_alloc(lo, call->count * sizeof *call->list);
    call->list[0] = n->a;
    for (uint32_t i = 0; i < more; i++)
        call->list[i + 1] = n->b->list[i];
    return call;
}

const Exec *lower_call(Lower *lo, const Node *n)
{
    return lower_plain_call(lo, n->kind == ND_PIPE ? lower_pipe(lo, n) : n);
}

bool lower_uses_up(const Lower *lo)
{
    return !lo->tries && (lo->fn || (lo->in->errors_end && lo->module == lo->in->main));
}

/* a, (b, c): a place behind a variable, as in x[0], x = f(x), would read what was handed over. */
static bool only_names(const Node *target)
{
    bool names = target->kind == ND_NAME || target->kind == ND_TUPLE;
    for (uint32_t i = 0; target->kind == ND_TUPLE && i < target->count; i++)
        names &= only_names(target->list[i]);
    return names;
}

static bool assigns_slot(const Node *target, uint32_t slot)
{
    bool found = target->kind == ND_NAME && (uint32_t)target->slot == slot;
    for (uint32_t i = 0; target->kind == ND_TUPLE && i < target->count; i++)
        found |= assigns_slot(target->list[i], slot);
    return found;
}

void call_hands_over(Lower *lo, const Node *target, const Exec *call)
{
    bool plain = call->eval == eval_call_general || call->eval == eval_call_global ||
                 call->eval == eval_call_self || call->eval == eval_call_local ||
                 call->eval == eval_call_field;
    if (!plain || !lower_uses_up(lo) || !only_names(target))
        return;
    CallSite *site = call->data;
    EvalFn variable = lo->fn ? eval_local : eval_global;
    for (uint32_t i = 0; i < site->positional && i < 32 && !site->spread; i++)
        if (call->list[i]->eval == variable && assigns_slot(target, call->list[i]->sa))
            site->hands |= 1u << i;
    site->outside = !lo->fn;
    ((Exec *)call)->hands = site->hands != 0;
}

/* ---- functions ---- */
static void code_parameters(FnCode *code, const Node *n)
{
    code->rest = -1;
    for (uint32_t i = 0; n->kind != ND_TEST && i < code->params; i++) {
        const Node *p = n->list[i];
        if (p->flags & NF_VARIADIC)
            code->rest = (int32_t)i;
        else if (!p->a)
            code->required = i + 1;
    }
    code->exact = code->rest < 0 ? code->params : UINT32_MAX;
}

/* FN, LAMBDA, TEST or COMPARE_BLOCK. The body is lowered in a position of its own: nothing of the
 * code around it is half-made while it runs. */
static FnCode *lower_body(Lower *lo, const Node *n, bool scoped)
{
    FnCode *code = lower_alloc(lo, sizeof *code);
    const FnInfo *info = n->fn;
    *code = (FnCode){ .node = n, .info = info, .params = info->params, .captured = info->captured,
                      .slots = info->slots, .stack = n->depth * NODE_STACK,
                      .name = n->kind == ND_FN ? n->name : NULL };
    if (code->slots < code->params + code->captured)
        code->slots = code->params + code->captured;
    code_parameters(code, n);
    code->hot = hot_site_new(lo, NULL, scoped);
    Lower inner = { .in = lo->in, .module = lo->module, .chunk = lo->chunk, .fn = code,
                    .scoped = scoped };
    code->defaults = lower_alloc(&inner, (code->params + 1) * sizeof *code->defaults);
    for (uint32_t i = 0; n->kind != ND_TEST && i < code->params; i++)
        code->defaults[i] = n->list[i]->a ? lower_operand(&inner, n->list[i]->a) : NULL;
    inner.tail = true;
    const Exec *body =
        lower(&inner, n->kind == ND_TEST || n->kind == ND_COMPARE_BLOCK ? n->b : n->a);
    if (inner.fn_unwinds) {
        Exec *guard = exec_new(&inner, eval_catch_flow, body->node);
        guard->a = body;
        body = guard;
    }
    code->body = body;
    return code;
}

/* Where the function is made says nothing of where it is called. */
FnCode *lower_code(Lower *lo, const Node *n) { return lower_body(lo, n, false); }

FnCode *lower_code_scoped(Lower *lo, const Node *n) { return lower_body(lo, n, true); }

const Exec *lower_function(Lower *lo, const Node *n)
{
    Exec *x = exec_new(lo, eval_make_function, n);
    FnSite *site = lower_alloc(lo, sizeof *site);
    *site = (FnSite){ .code = lower_code(lo, n), .chunk = lo->chunk, .module = lo->module };
    x->data = site;
    return x;
}
