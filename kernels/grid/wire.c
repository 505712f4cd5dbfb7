/* Numbers, texts and slabs of a message. */
#include "kernels/grid/wire.h"

#include <string.h>

void wire_u64(Buf *b, uint64_t x) { buf_put(b, (const char *)&x, sizeof x); }
void wire_i64(Buf *b, int64_t x) { buf_put(b, (const char *)&x, sizeof x); }
void wire_f64(Buf *b, double x) { buf_put(b, (const char *)&x, sizeof x); }

void wire_i64s(Buf *b, const int64_t *x, int n)
{
    if (n)
        buf_put(b, (const char *)x, (size_t)n * sizeof *x);
}

void wire_bytes(Buf *b, const void *bytes, size_t n)
{
    wire_u64(b, n);
    buf_put(b, n ? bytes : "", n);
}

void wire_text(Buf *b, const char *text)
{
    wire_bytes(b, text, strlen(text) + 1);
}

Wire wire_from(Ctx *ctx, const Buf *b)
{
    return (Wire){ .ctx = ctx, .at = b->data, .end = b->data ? b->data + b->len : NULL };
}

static _Noreturn void wrong(Wire *w, const char *what)
{
    err_raise(w->ctx, ERR_DEVICE, "a message between the session and a rank %s", what);
}

static const char *take(Wire *w, size_t n)
{
    if ((size_t)(w->end - w->at) < n)
        wrong(w, "ends too early");
    const char *at = w->at;
    w->at += n;
    return at;
}

static void get(Wire *w, void *to, size_t n)
{
    memcpy(to, take(w, n), n);
}

uint64_t wire_get_u64(Wire *w) { uint64_t x; get(w, &x, sizeof x); return x; }
int64_t wire_get_i64(Wire *w) { int64_t x; get(w, &x, sizeof x); return x; }
double wire_get_f64(Wire *w) { double x; get(w, &x, sizeof x); return x; }

void wire_get_i64s(Wire *w, int64_t *x, int n)
{
    if (n > 0)
        get(w, x, (size_t)n * sizeof *x);
}

const void *wire_get_bytes(Wire *w, size_t *n)
{
    *n = wire_get_u64(w);
    return take(w, *n);
}

const char *wire_get_text(Wire *w)
{
    size_t n;
    const char *text = wire_get_bytes(w, &n);
    if (!n || text[n - 1])
        wrong(w, "has a text without an end");
    return text;
}

void wire_get_piece(Wire *w, void *to, size_t n)
{
    if (w->piece < n)
        wrong(w, "has too short a piece");
    w->more(w, to, n);
    w->piece -= n;
}

void wire_get_end(Wire *w)
{
    if (w->at != w->end)
        wrong(w, "says more than was asked");
}

void wire_put_failure(Buf *b, const Error *e)
{
    wire_u64(b, e->kind);
    wire_text(b, e->message);
    wire_text(b, e->help ? e->help : "");
}
