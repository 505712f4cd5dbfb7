/* Functions of the host as values: unlike rows, which stay as long as the interpreter, they go with
 * their last reference. An object of a kind of its own (interp/state/kind.h), so nothing below
 * knows of it. */
#include "interp/embed/api.h"

#include "core/base/error.h"
#include "interp/op/traced.h"
#include "interp/state/kind.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct HostFunction {
    Native native;                   /* first */
    Ricci *r;
    RicciHostFunction call;
    void (*release)(void *user);
    void *user;
    char name[64];
} HostFunction;

static HostFunction *host_of(Value v) { return v.ptr; }

static void host_release(Ctx *ctx, Native *object)
{
    HostFunction *h = (HostFunction *)(void *)object;
    bool locked = h->r->locked;
    h->r->locked = true;             /* as a tensor's deleter: it is called amid other work */
    if (h->release)
        h->release(h->user);
    h->r->locked = locked;
    mem_free(ctx, h, sizeof *h);
}

static const char *host_name(Value v) { return host_of(v)->name; }

static const char *host_describe(Value v, char *out, size_t cap)
{
    snprintf(out, cap, "function %s of the program around", host_of(v)->name);
    return out;
}

static bool host_equal(Value a, Value b) { return a.ptr == b.ptr; }

static void host_show(Interp *in, Buf *out, Value v, bool repr)
{
    (void)in;
    (void)repr;
    buf_printf(out, "%s(…)", host_of(v)->name);
}

static void host_help(Buf *out, Value v, bool line)
{
    buf_printf(out, "%s(…): a function of the program that Ricci is a part of%s",
               host_of(v)->name, line ? "" : "\n");
}

_Noreturn static void raise_no_derivative(Interp *in, const HostFunction *h)
{
    Error *e = err_new(&in->ctx, ERR_GRAD,
                       "%s is a function of the program around, which has no derivative", h->name);
    err_help(e, "detach(…) of the argument makes it a constant, custom_rule(%s, "
                "vjp=(x, y, w) -> …) gives it a derivative", h->name);
    e->example = true;
    err_throw(e);
}

typedef struct Lent {
    RicciValue *values, **args;
    const char **names;
    int count;                       /* of both kinds */
} Lent;

static Value run(Interp *in, HostFunction *h, const Lent *l, int named)
{
    Ricci *r = h->r;
    int depth = r->depth;
    out_flush(in);
    api_forget_error(r);
    RicciValue *result = h->call(r, h->user, l->count - named, l->args, named, l->names);
    api_blocks_drop(r, depth);
    return api_take_result(r, result, l->values, l->count);
}

static Value host_call(Interp *in, Value callee, const Value *args, int count,
                       const Name *const *names, const Value *named, int named_count)
{
    HostFunction *h = host_of(callee);
    int all = count + named_count;
    size_t each = sizeof(RicciValue) + sizeof(RicciValue *) + sizeof(char *);
    RicciValue *values = mem_alloc(&in->ctx, (size_t)(all + 1) * each);
    Lent l = { .values = values, .args = (RicciValue **)(void *)(values + all + 1), .count = all };
    l.names = (const char **)(void *)(l.args + all + 1);
    bool traced = false;
    for (int i = 0; i < all; i++) {
        Value v = i < count ? args[i] : named[i - count];
        traced |= v.tag == V_TRACED;
        values[i] = (RicciValue){ .r = h->r, .v = v, .lent = true };
        l.args[i] = &values[i];
        if (i >= count)
            l.names[i - count] = names[i - count]->text;
    }
    ErrFrame frame;
    if (!ERR_TRY(&in->ctx, &frame)) {
        mem_free(&in->ctx, values, (size_t)(all + 1) * each);
        err_rethrow(&in->ctx);
    }
    if (traced)
        raise_no_derivative(in, h);
    Value v = run(in, h, &l, named_count);
    ERR_END(&in->ctx, &frame);
    mem_free(&in->ctx, values, (size_t)(all + 1) * each);
    return v;
}

static const Kind host_kind = {
    .release = host_release, .name = host_name, .describe = host_describe, .equal = host_equal,
    .show = host_show, .call = host_call, .help = host_help,
};

API void *ricci_function_user(const RicciValue *h)
{
    bool ours = h && h->v.tag == V_TRANSFORM && v_kind(h->v) == &host_kind;
    return ours ? host_of(h->v)->user : NULL;
}

typedef struct Making {
    const char *name;
    RicciHostFunction call;
    void *user;
    void (*release)(void *user);
    RicciValue *made;
} Making;

static void make_body(Ricci *r, void *task)
{
    Making *m = task;
    Interp *in = r->in;
    if (!m->call)
        err_raise(&in->ctx, ERR_VALUE, "NULL is no function");
    HostFunction *h = mem_zalloc(&in->ctx, sizeof *h);
    h->native = (Native){ .refs = 1, .kind = &host_kind };
    h->r = r;
    h->call = m->call;
    snprintf(h->name, sizeof h->name, "%s", m->name && *m->name ? m->name : "f");
    h->name[utf8_check(h->name, strlen(h->name))] = '\0';
    m->made = api_hold(r, (Value){ .tag = V_TRANSFORM, .ptr = h });
    h->user = m->user;
    h->release = m->release;         /* from here on it owns user */
}

API RicciValue *ricci_function(Ricci *r, const char *name, RicciHostFunction function, void *user,
                               void (*release)(void *user))
{
    Making m = { name, function, user, release, NULL };
    if (api_call(r, make_body, &m) == 0)
        return m.made;
    if (release)
        release(user);
    return NULL;
}
