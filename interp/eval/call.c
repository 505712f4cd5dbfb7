/* Calls. A function's arguments are evaluated straight into its frame on the value stack:
 * parameters first, then captured values, then locals. Owns binding of named and default
 * arguments, the call trace, and the errors about wrong calls. */
#include "interp/op/deferred.h"
#include "interp/eval/eval_index.h"
#include "interp/eval/eval_make.h"
#include "interp/eval/eval_name.h"
#include "interp/state/frames.h"
#include "interp/state/hot.h"
#include "interp/precision/cast.h"
#include "interp/eval/eval_scope.h"
#include "interp/state/wing.h"
#include "interp/state/format.h"
#include "interp/fuse/fuse.h"
#include "interp/op/traced.h"
#include "interp/state/kind.h"
#include "interp/op/peers.h"

#include "core/base/error.h"
#include "interp/device/place.h"
#include "interp/op/arith.h"
#include "interp/eval/call.h"
#include "interp/show/show.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- errors ---- */
/* What a function is called where it is called: a lambda has no other name. */
static const char *callee_name(const Exec *site, const FnCode *code)
{
    const Node *n = site && site->node->kind == ND_CALL ? site->node->a : NULL;
    return code->name ? code->name->text : n && n->kind == ND_NAME ? n->name->text : "the function";
}

/* Parameters that had another name. */
static const char *const renamed[][2] = { { "M", "precond" } };

static const char *new_name(const char *given, const char *const *names, uint32_t count)
{
    for (size_t k = 0; k < sizeof renamed / sizeof *renamed; k++)
        for (uint32_t i = 0; i < count && strcmp(given, renamed[k][0]) == 0; i++)
            if (strcmp(names[i], renamed[k][1]) == 0)
                return names[i];
    return NULL;
}

/* The user's call with the name under the carets replaced. */
static void offer_renamed(Error *e, const char *ours)
{
    const Source *s = e->where.source;
    Span all = e->where.span, part = e->where.mark;
    if (!s || part.from < all.from || part.to <= part.from || part.to > all.to ||
        all.to > s->len || memchr(s->text + all.from, '\n', all.to - all.from))
        err_help(e, "it is %s= now", ours);
    else
        err_help(e, "%.*s%s%.*s", (int)(part.from - all.from), s->text + all.from, ours,
                 (int)(all.to - part.to), s->text + part.to);
}

/* An argument that was given by name, at its name. */
static _Noreturn void raise_named(Interp *in, const Exec *site, const FnCode *code,
                                  const Name *given, const char *what)
{
    const char *names[32] = { NULL };
    const Node *n = site ? site->node : NULL;
    uint32_t params = code->params < 32 ? code->params : 32;
    for (uint32_t i = 0; i < params; i++)
        names[i] = code->node->list[i]->name->text;
    const char *close = err_closest(given->text, names, params);
    const char *ours = new_name(given->text, names, params);
    in->at = site;
    buf_clear(&in->scratch);
    print_signature(&in->scratch, code->node);
    Error *e = err_new(&in->ctx, ERR_TYPE, "%s %s: %s", callee_name(site, code), what,
                       buf_cstr(&in->scratch));
    for (uint32_t i = 0; n && n->kind == ND_CALL && i < n->count; i++)
        if (n->list[i]->kind == ND_NAMED && n->list[i]->name == given)
            e->where.mark = (Span){ n->list[i]->span.from, n->list[i]->span.from + given->len };
    if (ours)
        offer_renamed(e, ours);
    else if (close)
        err_help(e, "did you mean %s?", close);
    err_throw(e);
}

/* A type error about calling fn, with its signature as help. */
static _Noreturn void raise_call(Interp *in, const Exec *site, const FnCode *code, const char *what)
{
    in->at = site;
    buf_clear(&in->scratch);
    print_signature(&in->scratch, code->node);
    Error *e = err_new(&in->ctx, ERR_TYPE, "%s %s", callee_name(site, code), what);
    err_help(e, "it is called as %s", buf_cstr(&in->scratch));
    err_throw(e);
}

static _Noreturn void raise_count(Interp *in, const Exec *site, const FnCode *code, uint32_t given)
{
    char what[160];
    uint32_t most = code->rest >= 0 ? UINT32_MAX : code->params,
             n = given > most ? most : code->required;
    snprintf(what, sizeof what, "takes %s%u argument%s, but %u %s given",
             given > most ? (code->required < most ? "at most " : "") :
             code->required < most ? "at least " : "", n, n == 1 ? "" : "s", given,
             given == 1 ? "was" : "were");
    raise_call(in, site, code, what);
}

static _Noreturn void raise_missing(Interp *in, const Exec *site, const FnCode *code, uint32_t i)
{
    char what[160];
    snprintf(what, sizeof what, "needs an argument for `%s`", code->node->list[i]->name->text);
    raise_call(in, site, code, what);
}

/* The last assignment to `name` under n that ends before `at`. */
static const Node *assignment_before(const Node *n, const Name *name, uint32_t at)
{
    if (!n || n->span.from >= at)
        return NULL;
    const Node *found = n->kind == ND_ASSIGN && n->a->kind == ND_NAME && n->a->name == name &&
                        n->span.to <= at ? n : NULL;
    const Node *parts[] = { n->a, n->b, n->c };
    for (uint32_t i = 0; i < 3 + (n->list ? n->count : 0); i++) {
        const Node *part = i < 3 ? parts[i] : n->list[i - 3];
        const Node *in_it = assignment_before(part, name, at);
        found = in_it && (!found || in_it->span.from > found->span.from) ? in_it : found;
    }
    return found;
}

/* mean = 3 was written above, and mean(x) is meant. At the prompt the variable can be taken
 * away, in a program it gets another name. */
static void offer_operation(Interp *in, Error *e, const Node *call)
{
    const Name *name = call->a->name;
    const Function *fn = in->calls ? in->calls->fn : NULL;
    const Module *m = interp_module(in);
    const Chunk *chunk = fn ? fn->chunk :
                         m && m->chunk_count ? m->chunks[m->chunk_count - 1] : NULL;
    const Node *made = chunk ? assignment_before(fn ? fn->code->node : chunk->root, name,
                                                 call->span.from) : NULL;
    const Source *s = chunk ? chunk->source : NULL;
    int rest = made ? (int)(made->span.to - made->a->span.to) : 0;
    bool once = made && s && !assignment_before(fn ? fn->code->node : chunk->root, name,
                                                made->span.from);
    if (in->interactive && !fn && m == in->main)
        err_help(e, "the variable hides the operation: :reset %s", name->text);
    else if (once && rest < 80 && !memchr(s->text + made->a->span.to, '\n', (size_t)rest))
        err_help(e, "the variable hides the operation; under another name it does not: "
                    "%s_value%.*s",
                 name->text, rest, s->text + made->a->span.to);
    else
        err_help(e, "the variable hides the operation: give it another name, such as %s_value",
                 name->text);
}

/* Is the name in a call that of an operation, and nothing that could be read in this way? */
static bool hides_operation(Interp *in, const Node *call, Value callee)
{
    if (!call || call->kind != ND_CALL || call->a->kind != ND_NAME || !op_find(in, call->a->name))
        return false;
    if (callee.tag != V_TENSOR && callee.tag != V_TUPLE && callee.tag != V_STRING &&
        callee.tag != V_RANGE)
        return true;
    for (uint32_t i = 0; i < call->count; i++)         /* max(2, 3) of a matrix reads an element */
        if (call->list[i]->kind == ND_VECTOR || call->list[i]->kind == ND_MATRIX ||
            call->list[i]->kind == ND_NAMED || call->list[i]->kind == ND_CALL)
            return true;
    return false;
}

void call_refuse(Interp *in, const Exec *site, Value callee)
{
    in->at = site;
    char text[96];
    const char *what = v_article(callee, text, sizeof text);
    const Node *n = site && site->node->kind == ND_CALL ? site->node->a : NULL;
    const char *name = n && n->kind == ND_NAME ? n->name->text : NULL;
    bool number = callee.tag == V_INT || callee.tag == V_FLOAT;
    Buf value;
    buf_init(&value, &in->ctx);
    if (number)
        show_repr(in, &value, callee);
    Error *e = err_new(&in->ctx, ERR_TYPE, number ? "%s%s%s is the number %s and cannot be called"
                                                  : "%s%s%s is %s and cannot be called",
                                                  name ? "`" : "",
                       name ? name : "this", name ? "`" : "", number ? buf_cstr(&value) : what);
    buf_free(&value);
    if (callee.tag == V_MODULE) {
        if (name && op_find(in, n->name))
            err_help(e,
                     "the module hides the operation of its name: import %s as m, or :reset %s at "
                     "the prompt", name, name);
        else if (name)
            err_help(e, "its functions are called as %s.f(x)", name);
        err_throw(e);
    }
    if (hides_operation(in, site ? site->node : NULL, callee)) {
        offer_operation(in, e, site->node);
        err_throw(e);
    }
    if (peer_translate_call(in, e, number ? FOREIGN_PRODUCT : FOREIGN_ELEMENT,
                            site ? site->node : NULL))
        err_throw(e);
    const char *factor = number && site && site->node->count == 1
                         ? err_operand_text(&in->ctx, 0) : NULL;
    if (factor && name && strncmp(factor, "operand", 7) != 0)
        err_help(e, "a product is written with *: %s * (%s)", name, factor);
    if (callee.tag == V_TENSOR || callee.tag == V_TUPLE || callee.tag == V_STRING)
        err_help(e, "elements are read with brackets: %s[0]", name ? name : "x");
    err_throw(e);
}

enum { TRACE_TEXT = 24 };           /* letters of a text that a trace shows */

/* ---- running a function ---- */
/* Parameters that were not given: their defaults, evaluated in the callee's own frame. */
static void fill_defaults(Interp *in, const FnCode *code, Value *base)
{
    for (uint32_t i = 0; i < code->params; i++)
        if (base[i].tag == V_UNDEF && code->defaults[i])
            base[i] = exec_run(in, code->defaults[i]);
}

/* Makes base[0 … params) of argc positional values on top of the stack. */
static void bind_positional(Interp *in, const Exec *site, const FnCode *code, Value *base,
                            uint32_t argc)
{
    if (argc < code->required || (argc > code->params && code->rest < 0))
        raise_count(in, site, code, argc);
    uint32_t fixed = code->rest < 0 ? code->params : (uint32_t)code->rest;
    if (code->rest >= 0) {
        uint32_t extra = argc > fixed ? argc - fixed : 0;
        in->at = site;
        Tuple *rest = tuple_new(&in->ctx, extra);
        if (extra)
            memcpy(rest->items, base + fixed, extra * sizeof *base);
        base[fixed] = v_tuple(rest);
    }
    for (uint32_t i = argc; i < fixed; i++)
        base[i] = v_undef();
}

/* The frame stands: base[0 … params) are owned. Runs the body and cuts the frame. */
static inline __attribute__((always_inline))
Value frame_run(Interp *in, const Exec *site, const Function *fn, Value *base, bool defaults)
{
    const FnCode *code = fn->code;
    if (__builtin_expect(in->scope != NULL, 0)) {
        in->sp = base + code->params;      /* lowering uses the stack */
        code = code_scoped(in, fn);
    }
    bool left = false;
    if (__builtin_expect(--code->hot->cool <= 0, 0) && !defaults) {
        Value result;
        if (in->hot->call(in, fn, code->hot, base, &result)) {
            in->sp = base;
            return result;
        }
        left = true;                       /* perhaps for Ctrl-C, whose place is in the body */
    }
    CallFrame frame;                       /* source and module are for top-level frames */
    Value *top = base + code->slots, *p = base + code->params;
    if (__builtin_expect(top > in->stack_end ||
                         (char *)&frame - code->stack < in->ctx.stack_limit ||
                         (*in->ctx.interrupt && !left), 0)) {
        in->sp = p;
        in->at = site;
        poll_interrupt(in);                /* recursion may have no loop that does */
        raise_too_deep(in);
    }
    for (uint32_t i = 0; i < code->captured; i++)
        *p++ = v_retain(fn->values[i]);
    while (p < top)
        *p++ = v_undef();
    in->sp = top;
    frame.up = in->calls;
    frame.fn = fn;
    frame.site = site;
    frame.args = base;
    frame.argc = code->params;
    frame.handed = NULL;
    Value *fp = in->fp;
    in->calls = &frame;
    in->fp = base;
    if (__builtin_expect(defaults, 0))
        fill_defaults(in, code, base);
    Value r = exec_run(in, code->body);
    assert(in->sp == top && in->calls == &frame);
    in->calls = frame.up;
    in->fp = fp;
    if (__builtin_expect(r.tag == V_FLOW, 0)) {
        in->flow = FLOW_NONE;
        r = in->result;
    }
    stack_drop(in, base);
    return r;
}

Value function_run(Interp *in, const Exec *site, Function *fn, Value *base, uint32_t argc)
{
    const FnCode *code = fn->code;
    bool plain = argc == code->exact;
    if (__builtin_expect(!plain, 0))
        bind_positional(in, site, code, base, argc);
    return frame_run(in, site, fn, base, !plain);
}

/* ---- calling values ---- */
/* A function with borrowed arguments, some by name: they are copied into a new frame. */
static Value function_call(Interp *in, Function *fn, const Value *args, int count,
                           const Name *const *names, const Value *named, int named_count)
{
    const Exec *site = in->at;
    const FnCode *code = fn->code;
    stack_room(in, (size_t)count + code->params + 1);
    Value *base = in->sp;
    for (int i = 0; i < count; i++)
        v_push(in, v_retain(args[i]));
    uint32_t fixed = code->rest < 0 ? code->params : (uint32_t)code->rest;
    if ((uint32_t)count > code->params && code->rest < 0)
        raise_count(in, site, code, (uint32_t)count);
    if (named_count == 0)
        return function_run(in, site, fn, base, (uint32_t)count);
    if (code->rest >= 0 && (uint32_t)count > fixed) {
        bind_positional(in, site, code, base, (uint32_t)count);
    } else {
        while (in->sp < base + fixed)
            v_push(in, v_undef());
        if (code->rest >= 0)
            v_push(in, v_tuple(tuple_new(&in->ctx, 0)));
    }
    in->sp = base + code->params;
    uint32_t i = 0;                              /* each is looked for from the one before on */
    for (int k = 0; k < named_count; k++) {
        char what[160];
        uint32_t looked = 0;
        for (; looked < fixed && code->node->list[i]->name != names[k]; looked++)
            i = i + 1 < fixed ? i + 1 : 0;
        if (looked == fixed) {
            snprintf(what, sizeof what, "has no parameter %.80s", names[k]->text);
            raise_named(in, site, code, names[k], what);
        }
        if (base[i].tag != V_UNDEF) {
            snprintf(what, sizeof what, "gets %.80s twice", names[k]->text);
            raise_named(in, site, code, names[k], what);
        }
        base[i] = v_retain(named[k]);
    }
    for (i = 0; i < fixed; i++)
        if (base[i].tag == V_UNDEF && !code->defaults[i])
            raise_missing(in, site, code, i);
    return frame_run(in, site, fn, base, true);
}

static Value format_call(Interp *, DType, const Value *args, int count, int named_count);

/* interval(lo, hi) of traced values: it is told of as the hull of both. */
static Value bounds_call(Interp *in, const Value *args)
{
    if (!traced_any(args, 2))
        return interval_of_bounds(in, args[0], args[1]);
    Value *mark = in->sp;
    v_push(in, interval_of_bounds(in, v_plain(args[0]), v_plain(args[1])));     /* or it raises */
    for (int i = 0; i < 2; i++)
        v_push(in, args[i].tag == V_STRING ? op_cast(in, args[i], DT_INTERVAL)
                                           : format_call(in, DT_INTERVAL, &args[i], 1, 0));
    Value r = op_call(in, op_named(in, "hull"), mark + 1, 2, 0);
    stack_drop(in, mark);
    return r;
}

static Value format_call(Interp *in, DType dt, const Value *args, int count, int named_count)
{
    if (count == 2 && !named_count && dt == DT_INTERVAL)
        return bounds_call(in, args);
    if (count != 1 || named_count)
        err_raise_help(&in->ctx, ERR_TYPE,
                       "make a tensor of a format with dtype=, as in zeros(3, dtype=f32)",
                       "%s(x) takes one value to cast", dtype_name(dt));
    const Kind *kind = v_kind(args[0]);
    if (dt == DT_BOOL && kind && kind->truth)
        return v_bool(kind->truth(args[0]));
    if (args[0].tag == V_TRACED || traced_hears(in) ||
        ((place_wants(in) || deferred_on(in)) &&
         (args[0].tag == V_TENSOR || args[0].tag == V_RANGE)))
        return op_call(in, op_named(in, "cast"), (Value[]){ args[0], v_format(dt) }, 2, 0);
    return op_cast(in, args[0], dt);
}

static Value call_weak(Interp *in, Value callee, const Value *args, int count, unsigned weak,
                       const Name *const *names, const Value *named, int named_count)
{
    switch (callee.tag) {
    case V_FUNCTION:
        return function_call(in, callee.fn, args, count, names, named, named_count);
    case V_OP:
        return op_apply(in, callee.op, args, count, weak, names, named, named_count);
    case V_FORMAT:
        return format_call(in, v_format_dtype(callee), args, count, named_count);
    case V_DEVICE:
        if (place_is_called(in, callee.device))
            return place_called(in, callee.device, args, count, names, named, named_count);
        call_refuse(in, in->at, callee);
    default:
        if (!v_kind(callee) || !v_kind(callee)->call)
            call_refuse(in, in->at, callee);
        return v_kind(callee)->call(in, callee, args, count, names, named, named_count);
    }
}

Value call_value(Interp *in, Value callee, const Value *args, int count)
{
    return call_weak(in, callee, args, count, 0, NULL, NULL, 0);
}

Value call_named(Interp *in, Value callee, const Value *args, int count, const Name *const *names,
                 const Value *named, int named_count)
{
    return call_weak(in, callee, args, count, 0, names, named, named_count);
}

/* ---- call nodes ---- */
unsigned site_weak(const Exec *x)
{
    const CallSite *site = x->data;
    unsigned weak = site->weak;
    for (uint32_t i = 0; i < x->count && i < 32; i++)
        if (x->list[i]->flags & XF_WEAK_NAME)
            weak |= (unsigned)exec_weak(x->list[i]) << i;
    return weak;
}

/* Rows of numbers look at a pinned variable's own memory; what they return shares none of it
 * (keep_apart in dispatch.c). Others may keep what they are given. */
static inline bool looks_only(const Interp *in, const Op *op)
{
    return __builtin_expect(in->pins != 0, 0) && (op->dtypes || (op->devices & DEV_ANYWHERE));
}

/* ---- x = f(x) ---- */
/* Nothing in it can be called. */
static bool only_data(Value v, int depth)
{
    if (v.tag != V_TUPLE)
        return v_immediate(v) || v.tag == V_TENSOR || v.tag == V_STRING;
    bool data = depth > 0;
    for (uint32_t i = 0; i < v.tuple->count && data; i++)
        data = only_data(v.tuple->items[i], depth - 1);
    return data;
}

/* Functions of a module know no variables of the program around, unless they were given a function
 * of it, or C calls one. */
static bool sees_no_variables(const Interp *in, const Function *fn, const Value *base,
                              uint32_t argc)
{
    bool blind = fn->module != in->main && fn->captured == 0 && !in->native;
    for (uint32_t i = 0; i < argc && blind; i++)
        blind = only_data(base[i], 16);
    return blind;
}

/* The arguments lie on the stack: of variables that the call's result overwrites the function has
 * all there is, so that it changes them in place. Only of data: others the callee may stand in, or
 * C know of. A short text is in the trace as it is. */
static __attribute__((noinline))
Value call_handing(Interp *in, const Exec *x, Function *fn, Value *base, uint32_t argc)
{
    const CallSite *site = x->data;
    const FnCode *code = fn->code;
    bool takes = argc >= code->required && (argc <= code->params || code->rest >= 0) &&
                 (!site->outside || sees_no_variables(in, fn, base, argc));
    Handed handed;
    handed.count = 0;
    CallFrame *frame = in->calls;
    const Handed *before = frame->handed;
    for (uint32_t i = 0; i < site->positional && i < 32 && takes; i++) {
        Value *slot = &in->fp[x->list[i]->sa];
        if ((site->hands >> i & 1) && !v_maybe_pinned(in, *slot) &&
            (slot->tag != V_STRING || slot->str->len > TRACE_TEXT))
            v_release(&in->ctx, handed_take(&handed, slot));
    }
    frame->handed = &handed;
    Value r = function_run(in, x, fn, base, argc);
    frame->handed = before;
    return r;
}

/* x.list: positional arguments (some may be spreads), then the named ones. `callee` is
 * kept by the caller. */
Value call_arguments(Interp *in, const Exec *x, Value callee)
{
    const CallSite *site = x->data;
    Value *base = in->sp;
    bool peeks = callee.tag == V_OP && looks_only(in, callee.op);
    stack_room(in, x->count);
    for (uint32_t i = 0; i < site->positional; i++) {
        const Exec *arg = x->list[i];
        Value v = peeks ? exec_peek(in, arg) : exec_run(in, arg);
        v_push(in, v);
        if (arg->node->kind != ND_SPREAD)
            continue;
        Value *held = in->sp - 1;
        Each it;
        each_start(in, arg, &it, v);
        stack_room(in, (size_t)it.count + 1);
        while (each_next(in, &it, &v))
            v_push(in, v);
        v_release(&in->ctx, *held);
        memmove(held, held + 1, (size_t)(in->sp - held - 1) * sizeof *held);
        in->sp--;
    }
    Value *named = in->sp;
    for (uint32_t i = 0; i < site->named; i++)
        v_push(in, exec_run(in, x->list[site->positional + i]));
    in->at = x;
    if (callee.tag == V_FUNCTION && !site->named) {         /* the arguments are its frame */
        uint32_t argc = (uint32_t)(named - base);
        stack_room(in, callee.fn->code->params + 1);
        return x->hands ? call_handing(in, x, callee.fn, base, argc)
                        : function_run(in, x, callee.fn, base, argc);
    }
    Value r = call_weak(in, callee, base, (int)(named - base), site->spread ? 0 : site_weak(x),
                        site->names, named, (int)site->named);
    stack_drop(in, base);
    return r;
}

/* Runs a builtin on positional arguments already on the stack from base on. */
static Value builtin_run(Interp *in, const Exec *x, const Op *op, Value *base)
{
    int count = (int)x->count;
    unsigned weak = site_weak(x);
    in->at = x;
    const OpSig *sig = op_sig(in, op);
    Value r;
    if ((x->flags & XF_EW) && fuse_wants(x, base, count)) {
        in->sp = base;
        return fuse_take(in, x, op, base, count, weak, 7);
    }
    if (__builtin_expect(count && base->tag == V_LAZY, 0) &&
        fuse_fold(in, x, op, base, count, &r)) {
        stack_drop(in, base);
        return r;
    }
    if (!sig->variadic && count >= sig->required && count <= sig->positional) {
        for (int i = count; i < sig->fixed; i++)
            v_push(in, v_undef());
        op_check_called(in, op, base, count, NULL);
        r = op_call(in, op, base, sig->fixed, weak);
    } else {
        r = op_apply(in, op, base, count, weak, NULL, NULL, 0);
    }
    stack_drop(in, base);
    return r;
}

static void push_arguments(Interp *in, const Exec *x, const Op *op)
{
    if (__builtin_expect(!looks_only(in, op), 1)) {
        list_push(in, x);
        return;
    }
    stack_room(in, x->count);
    for (uint32_t i = 0; i < x->count; i++)
        v_push(in, exec_peek(in, x->list[i]));
}

/* pin(x), ptr(x): the operation takes the variable x, not its value. */
static __attribute__((noinline)) Value call_on_variable(Interp *in, const Exec *x, const Op *op)
{
    const CallSite *site = x->data;
    Value *base = in->sp, *slot = site->positional ? exec_variable(in, x->list[0]) : NULL;
    stack_room(in, x->count);
    for (uint32_t i = 0; i < x->count; i++)
        v_push(in, i == 0 && slot ? v_none() : exec_run(in, x->list[i]));
    in->at = in->taken_at = x;
    in->taken = slot;
    Value r = op_apply(in, op, base, (int)site->positional, site_weak(x), site->names,
                       base + site->positional, (int)site->named);
    stack_drop(in, base);
    return r;
}

Value call_callee(Interp *in, const Exec *x, Value callee)
{
    Value *mark = in->sp;
    v_push(in, callee);
    const Kind *kind = v_kind(callee);
    Value r = kind && kind->call_node ? kind->call_node(in, x, callee)
            : callee.tag == V_OP && callee.op->on_variable && !((CallSite *)x->data)->spread
                  ? call_on_variable(in, x, callee.op)
                  : call_arguments(in, x, callee);
    stack_drop(in, mark);
    return r;
}

Value eval_call_general(Interp *in, const Exec *x)
{
    return call_callee(in, x, exec_run(in, x->a));
}

/* random.stream(7).uniform(), f(x).g(y): what is in front of the point is evaluated once. */
static Value call_of_result(Interp *in, const Exec *x)
{
    Value *mark = in->sp, base = exec_run(in, x->a->a), r;
    const Kind *kind = v_kind(base);
    v_push(in, base);
    if (kind && kind->call_field) {
        r = kind->call_field(in, x, NULL, base);
    } else {
        in->at = x->a;
        r = call_callee(in, x, field_read(in, base, x->a->node->name));
    }
    stack_drop(in, mark);
    return r;
}

/* f(x), f(x)[0], f(x).a: no variable holds it. */
static bool is_result(const Node *n)
{
    while (n->kind == ND_INDEX || n->kind == ND_FIELD)
        n = n->a;
    return n->kind == ND_CALL;
}

Value eval_call_field(Interp *in, const Exec *x)
{
    const Exec *base = x->a->a;
    bool own;
    if (is_result(base->node))
        return call_of_result(in, x);
    const Value *slot = base->node->kind == ND_NAME ? exec_slot(in, base, &own) : NULL;
    const Kind *kind = slot ? v_kind(*slot) : NULL;
    return kind && kind->call_field ? kind->call_field(in, x, base, v_undef())
                                    : eval_call_general(in, x);
}

/* A call of a name that is no variable: an operation, a format, or an error. */
static __attribute__((noinline)) Value call_builtin(Interp *in, const Exec *x)
{
    CallSite *site = x->data;
    if (!site->ref.looked) {
        Value callee = exec_run(in, x->a);         /* finds it, or raises */
        if (callee.tag == V_OP && x->count == 1 && !(x->flags & XF_SCOPED))
            site->scalar = ew_scalar_kernel(callee.op, DT_F64, 1);
        site->ref = *(GlobalRef *)x->a->data;
        v_release(&in->ctx, callee);               /* `null`: the state of native code keeps it */
    }
    if (site->ref.predefined.tag != V_UNDEF)
        return call_arguments(in, x, site->ref.predefined);
    if (__builtin_expect(site->ref.op->on_variable, 0))
        return call_on_variable(in, x, site->ref.op);
    Value *base = in->sp;
    if (site->scalar) {
        Value v = exec_run(in, x->list[0]);
        if (__builtin_expect(v.tag == V_FLOAT, 1)) {
            double out;
            const int64_t one = 1;
            site->scalar(&out, 1, (const void *const[]){ &v.f }, &one, 1);
            if (!isnan(out))
                return v_float(out);
        }
        v_push(in, v);
    } else {
        push_arguments(in, x, site->ref.op);
    }
    return builtin_run(in, x, site->ref.op, base);
}

static __attribute__((noinline)) Value call_other(Interp *in, const Exec *x, Value callee)
{
    Value *mark = in->sp;
    const Kind *kind = v_kind(callee);
    if (kind && kind->call_node)
        return kind->call_node(in, x, callee);
    if (callee.tag == V_UNDEF) {
        if (x->a->eval == eval_global)
            return call_builtin(in, x);
        raise_unassigned(in, x->a);
    }
    v_push(in, v_retain(callee));
    Value r = call_arguments(in, x, callee);
    stack_drop(in, mark);
    return r;
}

/* Positional arguments of a function in a variable: the callee stays alive there. */
static inline __attribute__((always_inline)) Value call_fast(Interp *in, const Exec *x,
                                                             Value callee)
{
    if (__builtin_expect(callee.tag != V_FUNCTION, 0))
        return call_other(in, x, callee);
    Value *base = in->sp;
    for (uint32_t i = 0; i < x->count; i++) {
        Value v = exec_run(in, x->list[i]);
        v_push(in, v);
    }
    if (__builtin_expect(x->hands, 0))
        return call_handing(in, x, callee.fn, base, x->count);
    if (__builtin_expect(x->count == callee.fn->code->exact, 1))
        return frame_run(in, x, callee.fn, base, false);
    return function_run(in, x, callee.fn, base, x->count);
}

Value eval_call_local(Interp *in, const Exec *x)
{
    return call_fast(in, x, in->fp[x->sa]);
}

Value eval_call_global(Interp *in, const Exec *x)
{
    const CallSite *site = x->data;
    return call_fast(in, x, *site->ref.slot);
}

Value eval_call_self(Interp *in, const Exec *x)
{
    return call_fast(in, x, (Value){ .tag = V_FUNCTION, .fn = (Function *)in->calls->fn });
}

/* ---- making functions ---- */
static Function *function_blank(Interp *in, const FnCode *code, Chunk *chunk, Module *module)
{
    Function *fn = mem_alloc(&in->ctx, sizeof *fn + code->captured * sizeof(Value));
    fn->refs = 1;
    fn->serial = ++in->functions;
    fn->captured = code->captured;
    fn->code = code;
    fn->chunk = chunk_retain(chunk);
    fn->module = module;
    for (uint32_t i = 0; i < code->captured; i++)
        fn->values[i] = v_undef();
    return fn;
}

Function *function_like(Interp *in, const Function *fn)
{
    return function_blank(in, fn->code, fn->chunk, fn->module);
}

Function *function_new(Interp *in, const FnCode *code, Chunk *chunk, Module *module)
{
    Function *fn = function_blank(in, code, chunk, module);
    /* a pinned value is copied, which may fail */
    v_push(in, (Value){ .tag = V_FUNCTION, .fn = fn });
    for (uint32_t i = 0; i < code->captured; i++) {
        const struct Capture *c = &code->info->captures[i];
        Value v = c->self ? (Value){ .tag = V_FUNCTION, .fn = (Function *)in->calls->fn }
                : c->global ? module->slots[c->from] : in->fp[c->from];
        fn->values[i] = v_share(in, v);
    }
    in->sp--;
    return fn;
}

Value eval_make_function(Interp *in, const Exec *x)
{
    const FnSite *site = x->data;
    in->at = x;
    return (Value){ .tag = V_FUNCTION,
                    .fn = function_new(in, site->code, site->chunk, site->module) };
}

/* ---- the call trace ---- */
static void trace_argument(Interp *in, Buf *b, const CallFrame *f, uint32_t i)
{
    char what[96];
    Value v = f->args[i];
    const char *was = v.tag == V_UNDEF ? handed_describe(f->handed, &f->args[i], what, sizeof what)
                                       : NULL;
    if (v.tag == V_UNDEF)
        buf_puts(b, was ? was : "?");
    else if (v.tag <= V_FLOAT || v.tag == V_RANGE ||
             (v.tag == V_STRING && v.str->len <= TRACE_TEXT))
        show_repr(in, b, v);
    else
        buf_puts(b, v_describe(v, what, sizeof what));
}

/* A function by its name; a lambda as it is written, if that is short. */
static void trace_name(Buf *b, const Function *fn)
{
    enum { SHORT = 40 };
    Span span = fn->code->node->span;
    const Source *source = fn->chunk->source;
    size_t n = span.to - span.from;
    if (fn->code->name)
        buf_puts(b, fn->code->name->text);
    else if (n > 0 && n <= SHORT && span.to <= source->len &&
             !memchr(source->text + span.from, '\n', n))
        buf_printf(b, "(%.*s)", (int)n, source->text + span.from);
    else
        buf_puts(b, "(lambda)");
}

/* The statements of a module, which an import runs. */
static void trace_import(Interp *in, const CallFrame *f, Error *e)
{
    const Source *source = frame_source(in, f->up);
    char text[512];
    Place p = source ? source_place(source, f->site->node->span.from) : (Place){ 0, 0 };
    if (source)
        snprintf(text, sizeof text, "module %.200s, imported at %.200s:%u:%u", f->source->name,
                 source->name, p.line, p.column);
    else
        snprintf(text, sizeof text, "module %.200s", f->source->name);
    err_trace_add(e, text, NULL, (Span){ 0, 0 });
}

/* A frame without a function but with an argument is a C function that called us back. */
static void trace_call(Interp *in, const CallFrame *f, Error *e)
{
    const FnCode *code = f->fn ? f->fn->code : NULL;
    Buf b;
    if (!code && f->argc == 0) {
        trace_import(in, f, e);
        return;
    }
    buf_init(&b, &in->ctx);
    if (!code) {
        buf_printf(&b, "%s (C)", v_kind(f->args[0])->name(f->args[0]));
        err_trace_add(e, buf_cstr(&b), frame_source(in, f->up),
                      f->site ? f->site->node->span : (Span){ 0, 0 });
        buf_free(&b);
        return;
    }
    trace_name(&b, f->fn);
    buf_putc(&b, '(');
    for (uint32_t i = 0; i < f->argc && i < 8; i++) {
        if (i)
            buf_puts(&b, ", ");
        trace_argument(in, &b, f, i);
    }
    buf_puts(&b, f->argc > 8 ? ", …)" : ")");
    Source *source = f->site ? frame_source(in, f->up) : NULL;
    err_trace_add(e, buf_cstr(&b), source, f->site ? f->site->node->span : (Span){ 0, 0 });
    buf_free(&b);
}

/* A private function of the standard library that an operation called, steps(rref, A), or the rule
 * of a derivative, d_eigh. */
static bool trace_is_inside(const CallFrame *f)
{
    const Name *name = f->fn->code->name;
    return name && (name->text[0] == '_' || strncmp(name->text, "d_", 2) == 0) &&
           source_is_stdlib(f->fn->chunk->source) &&
           !(f->up && f->up->fn && source_is_stdlib(f->up->fn->chunk->source));
}

static bool trace_shows(const CallFrame *f)
{
    if (!f->fn)
        return f->argc > 0 || (f->site && f->source && !source_is_stdlib(f->source));
    return !trace_is_inside(f) && f->fn->code->node->kind != ND_TEST &&
           f->fn->code->node->kind != ND_COMPARE_BLOCK;
}

/* What the standard library throws is told at the user's call; its own calls are not. */
static const CallFrame *trace_start(Interp *in)
{
    const CallFrame *f = in->calls;
    if (in->at && in->at->node->kind == ND_THROW)
        while (f && f->up && source_is_stdlib(frame_source(in, f)) &&
               source_is_stdlib(frame_source(in, f->up)))
            f = f->up;
    return f;
}

/* What stands for calls that are left out: `… 997 more calls of f`. */
static void trace_fold(Error *e, int hidden, const FnCode *const *codes, int count, bool others)
{
    char text[256];
    int n = snprintf(text, sizeof text, "… %d more calls", hidden);
    for (int i = 0; i < count && !others && n < (int)sizeof text - 1; i++)
        n += snprintf(text + n, sizeof text - (size_t)n, "%s%.60s",
                      i == 0 ? " of " : i + 1 < count ? ", " : " and ",
                      codes[i]->name ? codes[i]->name->text : "a lambda");
    err_trace_add(e, text, NULL, (Span){ 0, 0 });
}

enum { TRACE_INNER = 5, TRACE_OUTER = 4, TRACE_NAMES = 3 };

/* What fails inside the standard library is told at the user's call too, and its own place is the
 * first of the calls. Its help speaks of the library's variables, unless it has names of its own:
 * nobody could paste it. */
static void leave_library(Interp *in, Error *e, char *place, size_t cap)
{
    Where w = e->where;
    place[0] = '\0';
    if (e->no_memory || e->kind == ERR_INTERRUPT || !source_is_stdlib(w.source))
        return;
    where_leave_stdlib(in, &w);
    if (!w.source || source_is_stdlib(w.source))
        return;
    Place p = source_place(e->where.source, e->where.mark.from);
    snprintf(place, cap, "the library, at %.100s:%u:%u", e->where.source->name, p.line, p.column);
    if (!e->example) {
        free(e->help);
        e->help = NULL;
    }
    err_at(e, w.source, w.span);
}

/* Ctx.trace: every call, innermost first; of many the first and last few, and in one line how many
 * there were of which functions in between. */
static void trace_calls(Interp *in, Error *e)
{
    char place[160];
    leave_library(in, e, place, sizeof place);
    const CallFrame *start = trace_start(in);
    const FnCode *codes[TRACE_NAMES];
    int total = 0, i = 0, names = 0;
    bool others = false;
    for (const CallFrame *f = start; f; f = f->up)
        total += trace_shows(f);
    int hidden = total > TRACE_INNER + TRACE_OUTER + 1 ? total - TRACE_INNER - TRACE_OUTER : 0;
    int shown = total - hidden + (hidden > 0) + (*place != '\0');
    if (!err_trace_begin(e, shown, shown) ||
        (e->kind == ERR_MEMORY && in->ctx.mem.live >= in->ctx.mem.limit))
        return;
    if (*place)
        err_trace_add(e, place, NULL, (Span){ 0, 0 });
    for (const CallFrame *f = start; f; f = f->up) {
        if (!trace_shows(f))
            continue;
        bool folded = hidden > 0 && i >= TRACE_INNER && i < TRACE_INNER + hidden;
        if (folded && !others) {
            const FnCode *code = f->fn ? f->fn->code : NULL;
            int k = 0;
            while (k < names && codes[k] != code)
                k++;
            if (k == names && code && names < TRACE_NAMES)
                codes[names++] = code;
            else if (k == names)
                others = true;
        }
        if (folded && i == TRACE_INNER + hidden - 1)
            trace_fold(e, hidden, codes, names, others);
        if (!folded)
            trace_call(in, f, e);
        i++;
    }
}

void trace_collect(Ctx *ctx, Error *e)
{
    Interp *in = (Interp *)ctx;
    trace_calls(in, e);
    wings_raised(in, e);
}
