/* Binding a call's positional and named arguments to an operation's parameters, and the
 * errors of a wrong call. Everything ends in op_call_bound; nothing here looks at values. */
#include "interp/state/exec.h"
#include "interp/op/elementwise.h"
#include "interp/op/peers.h"
#include "interp/state/kind.h"

#include "core/base/error.h"
#include <stdio.h>
#include <string.h>

typedef struct Binding {
    Interp *in;
    const Op *op;
    const OpSig *sig;
    const Value *args;
    int count;
    const Name *const *names;
    const Value *named;
    int named_count;
    unsigned weak;
} Binding;

/* ---- errors ---- */
static bool is_number(Value v) { return v.tag == V_INT || v.tag == V_FLOAT; }

/* sum(1, 2, 3): the numbers are a vector. False: it is none of that. */
static bool offer_vector(const Binding *b, Error *e)
{
    char all[100] = "";
    size_t n = 0;
    for (int i = 0; i < b->count; i++) {
        const char *text = err_operand_name(&b->in->ctx, i);
        if (!is_number(b->args[i]) || !text || n + strlen(text) + 4 > sizeof all)
            return false;
        n += (size_t)snprintf(all + n, sizeof all - n, "%s%s", i ? ", " : "", text);
    }
    err_help(e, "of a vector of them: %s([%s])", b->op->name, all);
    return true;
}

/* panels(f, g) of a row that gathers: panels((f, g)); what has drawn already was meant as a
 * function. */
static void offer_tuple(const Binding *b, Error *e)
{
    char all[160] = "";
    size_t n = 0;
    for (int i = 0; i < b->count; i++) {
        const char *text = err_operand_name(&b->in->ctx, i);
        if (!text || n + strlen(text) + 12 > sizeof all)
            return;
        n += (size_t)snprintf(all + n, sizeof all - n, "%s%s%s", i ? ", " : "",
                              b->args[i].tag == V_NONE ? "() -> " : "", text);
    }
    err_help(e, "%s((%s))", b->op->name, all);
}

/* More positional arguments than places for them; a parameter that goes by name is offered. */
_Noreturn static void too_many(const Binding *b)
{
    const OpSig *sig = b->sig;
    Ctx *ctx = &b->in->ctx;
    int most = sig->positional;
    Error *e = err_new(ctx, ERR_TYPE, "%s takes %d argument%s by position, not %d: %s",
                       b->op->name, most,
                       most == 1 ? "" : "s", b->count, op_signature(b->in, b->op, true));
    err_underline(e, most);
    const char *twin = b->op->twin;
    bool reduces = most == 1 && sig->fixed > 1 &&
                   strcmp(sig->params[1].name->text, "axis") == 0;
    if (reduces && is_number(b->args[0]) && !(twin && b->count == 2) && offer_vector(b, e))
        err_throw(e);
    if (b->op->gathers) {
        offer_tuple(b, e);
        err_throw(e);
    }
    if (sig->fixed > most && b->count == most + 1) {
        const char *extra = err_operand_name(ctx, most), *first = err_operand_text(ctx, 0);
        const char *name = sig->params[most].name->text;
        bool known = extra != NULL;
        if (b->args[0].tag == V_FUNCTION || b->args[0].tag == V_OP)
            err_help(e, "%s(map(%s, %s))", b->op->name, first, known ? extra : "x");
        else if (twin && b->args[1].tag != V_INT)
            err_help(e, "elementwise: %s(%s, %s)", twin, known ? first : "x",
                     known ? extra : "y");
        else if (twin && is_number(b->args[0]))
            err_help(e, "of two numbers: %s(%s, %s)", twin, known ? first : "x",
                     known ? extra : "y");
        else if (twin)
            err_help(e, "%s=%s along an axis, or elementwise: %s(%s, %s)", name,
                     known ? extra : "…", twin, known ? first : "x", known ? extra : "y");
        else if (b->args[most].tag != V_NONE)
            err_help(e, "give it by name: %s=%s", name, known ? extra : "…");
    }
    err_throw(e);
}

/* An argument given by name is wrong in its name: the carets stand there, not under its value. */
static void underline_name(const Binding *b, Error *e, const Name *given)
{
    const Node *n = b->in->at ? b->in->at->node : NULL;
    for (uint32_t i = 0; n && n->kind == ND_CALL && i < n->count; i++)
        if (n->list[i]->kind == ND_NAMED && n->list[i]->name == given)
            e->where.mark = (Span){ n->list[i]->span.from, n->list[i]->span.from + given->len };
}

_Noreturn static void unknown_name(const Binding *b, int j)
{
    const char *names[32];
    int n = b->sig->fixed < 32 ? b->sig->fixed : 32;
    for (int i = 0; i < n; i++)
        names[i] = b->sig->params[i].name->text;
    const char *given = b->names[j]->text, *close = err_closest(given, names, (size_t)n);
    Error *e = err_new(&b->in->ctx, ERR_TYPE, "%s has no parameter %s: %s", b->op->name, given,
                       op_signature(b->in, b->op, true));
    underline_name(b, e, b->names[j]);
    const char *peer = peer_parameter(b->sig, b->op->name, given);
    if (peer && strchr(peer, ' ')) {
        err_help(e, "%s", peer);
        e->example = true;
    } else if (peer || close)
        err_help(e, "did you mean %s?", peer ? peer : close);
    err_throw(e);
}

_Noreturn static void given_twice(const Binding *b, int j)
{
    Error *e = err_new(&b->in->ctx, ERR_TYPE, "%s gets %s twice: %s", b->op->name,
                       b->names[j]->text, op_signature(b->in, b->op, true));
    underline_name(b, e, b->names[j]);
    err_throw(e);
}

_Noreturn static void missing(const Binding *b, int i)
{
    Error *e = err_new(&b->in->ctx, ERR_TYPE, "%s is missing its argument %s: %s", b->op->name,
                       b->sig->params[i].name->text, op_signature(b->in, b->op, true));
    if (b->in->at)
        peer_translate_call(b->in, e, FOREIGN_CALL, b->in->at->node);
    err_throw(e);
}

/* ---- binding ---- */
static int find_param(const OpSig *sig, const Name *name)
{
    for (int i = 0; i < sig->fixed; i++)
        if (sig->params[i].name == name)
            return i;
    return -1;
}

static bool weak_bit(unsigned weak, int i) { return i < 32 && (weak >> i & 1); }

/* Puts the call in the order of OpCall.args on the value stack; returns their number. */
static int bind(const Binding *b, Value *slots, unsigned *weak, int8_t *operand)
{
    const OpSig *sig = b->sig;
    int positional = b->count < sig->positional ? b->count : sig->positional;
    if (b->count > sig->positional && !sig->variadic)
        too_many(b);
    for (int i = 0; i < sig->fixed; i++) {
        slots[i] = i < positional ? b->args[i] : v_undef();
        operand[i] = (int8_t)(i < 127 ? i : 127);
        *weak |= i < positional && weak_bit(b->weak, i) ? 1u << i : 0;
    }
    for (int j = 0; j < b->named_count; j++) {
        int i = find_param(sig, b->names[j]);
        if (i < 0)
            unknown_name(b, j);
        if (slots[i].tag != V_UNDEF)
            given_twice(b, j);
        slots[i] = b->named[j];
        operand[i] = (int8_t)(b->count + j < 127 ? b->count + j : 127);
        *weak |= weak_bit(b->weak, b->count + j) ? 1u << i : 0;
    }
    for (int i = 0; i < sig->required; i++)
        if (slots[i].tag == V_UNDEF)
            missing(b, i);
    int n = sig->fixed;
    for (int i = positional; i < b->count; i++, n++) {
        slots[n] = b->args[i];
        *weak |= n < 32 && weak_bit(b->weak, i) ? 1u << n : 0;
    }
    return n;
}

/* An operand as one side of a sign. */
static void put_side(Buf *out, const char *text)
{
    bool alone = !text[strcspn(text, " +-*/@^\\<>=?:,")];
    buf_printf(out, alone ? "%s" : "(%s)", text);
}

void op_check_called(Interp *in, const Op *op, const Value *args, int count, const int8_t *operand)
{
    if (__builtin_expect(!op->square, 1) || count < 2)
        return;
    Value first = args[0].tag == V_FACTORS ? v_kind(args[0])->stands(args[0]) : args[0];
    if (first.tag != V_TENSOR)
        return;
    const Tensor *a = first.tensor;
    const int64_t *shape = tensor_shape(a);
    if (a->rank < 2 || shape[a->rank - 2] == shape[a->rank - 1])
        return;
    char text[96];
    OpCall c = { .in = in, .op = op, .args = (Value *)args, .count = count, .fixed = count,
                 .operand = operand };
    Error *e = err_new(&in->ctx, ERR_SHAPE, "%s: %s must be square, not %s", op->name,
                       arg_text(&c, 0), shape_text(text, sizeof text, a->rank, shape));
    err_underline(e, operand ? operand[0] : 0);
    Buf help;
    buf_init(&help, &in->ctx);
    put_side(&help, arg_text(&c, 0));
    buf_printf(&help, " %s ", op->infix);
    put_side(&help, arg_text(&c, 1));
    err_help(e, "least squares: %s, or lstsq(%s, %s) with its residual and rank",
             buf_cstr(&help), arg_text(&c, 0), arg_text(&c, 1));
    buf_free(&help);
    err_throw(e);
}

enum { BIND_FEW = 16, OPERANDS_KNOWN = 127 };

/* Arguments are borrowed, so what is bound needs no count; many of them lie in a tuple
 * that is rooted on the value stack. */
static Value bind_and_call(const Binding *b)
{
    Interp *in = b->in;
    int most = b->sig->fixed + b->count;
    Value few[BIND_FEW], *slots = few;
    int8_t operand[OPERANDS_KNOWN + 1];
    unsigned weak = 0;
    Tuple *many = NULL;
    if (most > BIND_FEW) {
        many = tuple_new(&in->ctx, (uint32_t)most);
        /* an error of the binding finds nothing in it to release */
        many->count = 0;
        v_push(in, v_tuple(many));
        slots = many->items;
    }
    int first_rest = b->count < b->sig->positional ? b->count : b->sig->positional;
    int n = bind(b, slots, &weak, operand);
    for (int i = b->sig->fixed; i < n && i <= OPERANDS_KNOWN; i++)
        operand[i] = (int8_t)(first_rest + i - b->sig->fixed);
    for (int i = 0; many && i < n; i++)
        v_retain(slots[i]);
    if (many)
        many->count = (uint32_t)most;
    Value *mark = many ? in->sp - 1 : in->sp;
    op_check_called(in, b->op, slots, n, operand);
    Value r = op_call_bound(in, b->op, slots, n, weak, operand);
    stack_cut(in, mark);
    return r;
}

Value op_apply(Interp *in, const Op *op, const Value *args, int count, unsigned weak,
               const Name *const *names, const Value *named, int named_count)
{
    const OpSig *sig = op_sig(in, op);
    if (named_count == 0 && count == sig->fixed && count == sig->positional) {
        op_check_called(in, op, args, count, NULL);
        return op_call_bound(in, op, (Value *)args, count, weak, NULL);
    }
    Binding b = { .in = in, .op = op, .sig = sig, .args = args, .count = count, .names = names,
                  .named = named, .named_count = named_count, .weak = weak };
    return bind_and_call(&b);
}
