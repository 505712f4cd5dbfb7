/* Streams of random numbers as values: see stream.h. */
#include "interp/state/stream.h"

#include "core/base/error.h"
#include "core/base/mem.h"
#include "interp/state/exec.h"

#include <stdio.h>

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

/* r.uniform without its call, or of a stream inside of something: of a variable method.c calls. */
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
    .show = stream_show, .field = stream_field, .instead = stream_instead,
};

Value stream_new(Ctx *ctx, uint64_t key, uint64_t counter)
{
    Stream *s = mem_alloc(ctx, sizeof *s);
    *s = (Stream){ { .refs = 1, .kind = &stream_kind }, key, counter };
    return (Value){ .tag = V_STREAM, .ptr = s };
}

void stream_move(Ctx *ctx, Value *slot, uint64_t counter)
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
