/* Calls between C and Ricci: functions of the program called by C, and C functions that programs
 * call, by a C declaration (interp/native/native.h makes those) or as an operation of any values,
 * which is a row like those of the registry. */
#include "interp/embed/api.h"

#include "core/system/ascii.h"
#include "core/system/c_locale.h"
#include "core/base/error.h"
#include "interp/native/native_frame.h"
#include "interp/eval/call.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- calling Ricci ---- */
typedef struct Call {
    const char *name;                /* NULL: function */
    const RicciValue *function;
    int count, named;                /* by position, and by name behind them */
    RicciValue *const *args;
    const char *const *names;
    const char *sign;                /* an operator's, instead of a function */
    unsigned literals;
    RicciValue *result;
} Call;

/* Where a call stands that no program wrote. */
static const Node outside_node = { .kind = ND_NONE };
static const Exec outside = { .node = &outside_node };

const Exec *api_outside(Ricci *r)
{
    Interp *in = r->in;
    const Exec *at = in->at;
    if (!at) {
        in->at = &outside;
        in->fp = in->main->slots;
    }
    return at;
}

static void push_arguments(Ricci *r, const Call *c)
{
    Ctx *ctx = &r->in->ctx;
    if (c->count < 0 || c->named < 0 || (c->count + c->named > 0 && !c->args) ||
        (c->named && !c->names))
        err_raise(ctx, ERR_VALUE, "there are no %d arguments", c->count);
    stack_room(r->in, (size_t)(c->count + c->named) + 2);
    for (int i = 0; i < c->count + c->named; i++) {
        if (!c->args[i] || c->args[i]->r != r)
            err_raise(ctx, ERR_VALUE, "argument %d is %s", i + 1,
                      c->args[i] ? "a value of another interpreter" : "NULL");
        v_push(r->in, v_retain(c->args[i]->v));
    }
}

static Value call_by_names(Interp *in, const Call *c, Value *base)
{
    enum { NAMES_MAX = 64 };
    const Name *names[NAMES_MAX];
    if (c->named > NAMES_MAX)
        err_raise(&in->ctx, ERR_VALUE, "%d arguments by name are more than %d", c->named,
                  NAMES_MAX);
    for (int i = 0; i < c->named; i++)
        names[i] = names_intern(&in->names, c->names[i], strlen(c->names[i]));
    return call_named(in, base[0], base + 1, c->count, names, base + 1 + c->count, c->named);
}

/* The operator written so, of one operand or two. */
static const Op *operator_row(Interp *in, const char *sign, int count)
{
    static const Operator prefix[] = { TK_NEG, TK_POS, TK_LNOT, TK_SQRT };
    if (count == 1)
        for (size_t i = 0; i < sizeof prefix / sizeof *prefix; i++)
            if (strcmp(sign, operator_symbol(prefix[i])) == 0)
                return op_operator(in, prefix[i]);
    for (int k = 0; count == 2 && k < TK_OPERATORS; k++)
        if (strcmp(sign, operator_symbol((Operator)k)) == 0)
            return op_operator(in, (Operator)k);
    err_raise(&in->ctx, ERR_VALUE, "there is no operator `%.20s` of %d operands", sign, count);
}

static Value operate(Interp *in, const Call *c, Value *operands)
{
    const Op *op = operator_row(in, c->sign, c->count);
    return c->count == 2 ? op_binary(in, op, operands[0], operands[1], c->literals)
                         : op_unary(in, op, operands[0], c->literals);
}

static void call_body(Ricci *r, void *task)
{
    Call *c = task;
    Interp *in = r->in;
    Value *base = in->sp;
    poll_interrupt(in);
    v_push(in, c->sign ? v_none() :
               v_retain(c->function ? c->function->v : api_lookup(r, c->name)));
    push_arguments(r, c);
    const Exec *at = api_outside(r);
    if (r->depth == 1)
        r->host.exit_code = -1;
    Value v = c->sign  ? operate(in, c, base + 1)
              : c->named ? call_by_names(in, c, base)
                         : call_value(in, base[0], base + 1, c->count);
    v_push(in, v);
    in->at = at;
    api_flush(r);
    c->result = api_hold(r, v_retain(v));
    stack_cut(in, base);
}

static RicciValue *call(Ricci *r, Call *c)
{
    int status = api_call(r, call_body, c);
    if (status && r && !r->depth && !r->locked)
        out_flush(r->in);
    return status ? NULL : c->result;
}

API RicciValue *ricci_call(Ricci *r, const char *name, int count, RicciValue *const *args)
{
    return call(r, &(Call){ .name = name, .count = count, .args = args });
}

API RicciValue *ricci_call_value(const RicciValue *function, int count, RicciValue *const *args)
{
    return call(function ? function->r : NULL,
                &(Call){ .function = function, .count = count, .args = args });
}

API RicciValue *ricci_call_named(const RicciValue *function, int count, int named,
                                 RicciValue *const *args, const char *const *names)
{
    return call(function ? function->r : NULL,
                &(Call){ .function = function, .count = count, .named = named, .args = args,
                         .names = names });
}

API RicciValue *ricci_operate(Ricci *r, const char *sign, int count, RicciValue *const *operands,
                              unsigned literals)
{
    return call(r, &(Call){ .sign = sign ? sign : "", .count = count, .args = operands,
                            .literals = literals });
}

/* ---- C functions by their declaration ---- */
typedef struct Registration {
    const char *text, *help;
    void (*at)(void);
    RicciFunction function;
    void *user;
} Registration;

static void register_body(Ricci *r, void *task)
{
    const Registration *g = task;
    Interp *in = r->in;
    NativeState *state = native_state(in);
    if (!g->text || !g->at)
        err_raise(&in->ctx, ERR_VALUE, "NULL is no %s", g->text ? "function" : "declaration");
    if (!state->types)
        state->types = cscope_new(&in->ctx);
    Buf *text = &in->scratch;            /* with the semicolon that callers forget */
    buf_clear(text);
    buf_puts(text, g->text);
    while (text->len && ascii_space(text->data[text->len - 1]))
        text->len--;
    if (text->len && text->data[text->len - 1] != ';')
        buf_putc(text, ';');
    const CDecl *d = cdecl_one(state->types, buf_cstr(text), text->len);
    if (d->kind != CD_FUNCTION)
        err_raise(&in->ctx, ERR_FFI, "`%.200s` declares no function", g->text);
    api_assign(r, d->name, cfunction_new(in, d->type, d->name, g->at));
}

API int ricci_register(Ricci *r, const char *declaration, void (*function)(void))
{
    return api_call(r, register_body, &(Registration){ .text = declaration, .at = function });
}

/* ---- C functions of values ---- */
typedef struct HostOp {
    Op op;                           /* first: what run is told */
    struct HostOp *next;
    Ricci *r;
    RicciFunction function;
    void *user;
    char *name, *params, *help;
} HostOp;

Value api_take_result(Ricci *r, RicciValue *result, RicciValue *lent, int count)
{
    Error *e = api_take_error(r);
    if (!result) {
        if (e)
            err_throw(e);
        return v_none();
    }
    err_free(e);
    if (result->r != r)
        err_raise(&r->in->ctx, ERR_VALUE, "the C function returned a value of another interpreter");
    Value v = v_retain(result->v);
    if (!(result >= lent && result < lent + count))
        ricci_free(result);
    return v;
}

/* Handles for the arguments, which end with the call. */
static Value call_host(OpCall *c, RicciValue *lent, RicciValue **args)
{
    HostOp *h = (HostOp *)(void *)c->op;
    for (int i = 0; i < c->count; i++) {
        lent[i] = (RicciValue){ .r = h->r, .v = c->args[i], .lent = true };
        args[i] = c->args[i].tag == V_UNDEF ? NULL : &lent[i];
    }
    out_flush(c->in);
    api_forget_error(h->r);
    int depth = h->r->depth;
    RicciValue *result = h->function(h->r, h->user, c->count, args);
    api_blocks_drop(h->r, depth);
    return api_take_result(h->r, result, lent, c->count);
}

static Value call_host_many(OpCall *c)
{
    size_t count = (size_t)c->count;
    RicciValue *lent = calloc(count, sizeof *lent + sizeof(RicciValue *));
    ErrFrame frame;
    if (!lent)
        mem_raise(&c->in->ctx, count * sizeof *lent);
    if (!ERR_TRY(&c->in->ctx, &frame)) {
        free(lent);
        err_rethrow(&c->in->ctx);
    }
    Value v = call_host(c, lent, (RicciValue **)(void *)(lent + count));
    ERR_END(&c->in->ctx, &frame);
    free(lent);
    return v;
}

static Value op_run_host(OpCall *c)
{
    enum { FEW = 8 };
    RicciValue lent[FEW], *args[FEW];
    return c->count > FEW ? call_host_many(c) : call_host(c, lent, args);
}

static void host_op_free(HostOp *h)
{
    free(h->name);
    free(h->params);
    free(h->help);
    free(h);
}

void api_ops_free(Ricci *r)
{
    for (HostOp *h = r->ops, *next; h; h = next) {
        next = h->next;
        host_op_free(h);
    }
}

/* `name(parameters)`, split. False: it is not that. */
static bool split_signature(const char *text, char **name, char **params)
{
    const char *open = strchr(text, '('), *end = text + strlen(text);
    while (end > text && ascii_space(end[-1]))
        end--;
    const char *from = text, *to = open ? open : end;
    while (ascii_space(*from))
        from++;
    while (to > from && ascii_space(to[-1]))
        to--;
    if (to == from || (open && (end == open + 1 || end[-1] != ')')))
        return false;
    *name = strndup(from, (size_t)(to - from));
    *params = open ? strndup(open + 1, (size_t)(end - open - 2)) : strdup("");
    return true;
}

/* The registry trusts its rows; this one is a stranger's. */
static void check_parameters(Interp *in, HostOp *h)
{
    enum { PARAMS_MAX = 16 };
    int commas = 0;
    for (const char *s = h->params; *s; s++)
        commas += *s == ',';
    if (commas >= PARAMS_MAX)
        err_raise(&in->ctx, ERR_VALUE, "%.80s has more than %d parameters", h->name, PARAMS_MAX);
    op_add(in, &h->op);
    const OpSig *sig = op_sig(in, &h->op);
    for (int i = 0; i < sig->fixed + sig->variadic; i++) {
        const Name *name = sig->params[i].name;
        if (!name->len || strcspn(name->text, " \t\n()[]{}\"'") < name->len)
            err_raise(&in->ctx, ERR_VALUE, "parameter %d of %.80s(%.80s) has no name", i + 1,
                      h->name, h->params);
    }
}

static void register_values_body(Ricci *r, void *task)
{
    const Registration *g = task;
    Interp *in = r->in;
    if (!g->text || !g->function)
        err_raise(&in->ctx, ERR_VALUE, "NULL is no %s", g->text ? "function" : "signature");
    HostOp *h = calloc(1, sizeof *h);
    if (!h)
        mem_raise(&in->ctx, sizeof *h);
    bool good = split_signature(g->text, &h->name, &h->params);
    h->help = strdup(g->help ? g->help : "a C function of the program that Ricci is a part of");
    if (!good || !h->name || !h->params || !h->help) {
        host_op_free(h);
        if (good)
            mem_raise(&in->ctx, sizeof *h);
        err_raise_help(&in->ctx, ERR_VALUE, "it reads: name(x, y, z=0)", "`%.200s` is no signature",
                       g->text);
    }
    h->r = r;
    h->function = g->function;
    h->user = g->user;
    h->next = r->ops;
    r->ops = h;                      /* whatever fails from here on: it goes with the interpreter */
    h->op = (Op){ .name = h->name, .params = h->params, .cls = OPC_RUN, .run = op_run_host,
                  .devices = DEV_HOST, .section = "C functions", .help = h->help };
    check_parameters(in, h);
    api_assign(r, h->name, v_op(&h->op));
}

API int ricci_register_function(Ricci *r, const char *signature, const char *help,
                                RicciFunction function, void *user)
{
    Registration g = { .text = signature, .help = help, .function = function, .user = user };
    return api_call(r, register_values_body, &g);
}

/* ---- errors that C makes ---- */
static ErrKind kind_named(const char *name)
{
    for (int k = 0; name && k < ERR_KINDS; k++)
        if (strcmp(name, err_kind_name((ErrKind)k)) == 0)
            return (ErrKind)k;
    return ERR_VALUE;
}

/* In a function of ricci_register the native call raises it when C returns. */
API RicciValue *ricci_fail(Ricci *r, const char *kind, const char *format, ...)
{
    char text[2000] = "";
    va_list args;
    if (!r)
        return NULL;
    va_start(args, format);
    if (format)
        c_vsnprintf(text, sizeof text, format, args);
    va_end(args);
    text[utf8_check(text, strlen(text))] = '\0';
    NativeFrame *inside = native_suspend();
    Error *e = err_new(&r->in->ctx, kind_named(kind), "%s", text);
    if (inside && inside->in == r->in && !inside->pending)
        inside->pending = err_keep(e);
    else
        api_keep_error(r, e);
    native_resume(inside);
    return NULL;
}
