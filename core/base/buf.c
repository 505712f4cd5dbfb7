/* Growing byte strings. Every printed, formatted or generated text is built here; the
 * memory comes from the allocator funnel, so a huge text raises instead of failing. */
#include "core/base/buf.h"

#include "core/system/c_locale.h"
#include "core/base/mem.h"

#include <stdio.h>
#include <string.h>

void buf_init(Buf *b, Ctx *ctx)
{
    *b = (Buf){ .ctx = ctx };
}

void buf_free(Buf *b)
{
    if (b->data)
        mem_free(b->ctx, b->data, b->cap);
    b->data = NULL;
    b->len = b->cap = 0;
}

void buf_clear(Buf *b)
{
    b->len = 0;
    if (b->data)
        b->data[0] = '\0';
}

/* Room for `more` bytes and the final NUL; capacity doubles, so appending is linear. */
void buf_reserve(Buf *b, size_t more)
{
    size_t need = b->len + more + 1;
    if (need <= b->cap)
        return;
    size_t cap = b->cap ? b->cap : 64;
    while (cap < need)
        cap *= 2;
    b->data = mem_realloc(b->ctx, b->data, b->cap, cap);
    b->cap = cap;
}

void buf_put(Buf *b, const char *bytes, size_t n)
{
    buf_reserve(b, n);
    if (n)
        memcpy(b->data + b->len, bytes, n);
    b->len += n;
    b->data[b->len] = '\0';
}

void buf_puts(Buf *b, const char *text)
{
    buf_put(b, text, strlen(text));
}

void buf_putc(Buf *b, char c)
{
    buf_put(b, &c, 1);
}

void buf_fill(Buf *b, char c, size_t n)
{
    buf_reserve(b, n);
    memset(b->data + b->len, c, n);
    b->len += n;
    b->data[b->len] = '\0';
}

void buf_put_codepoint(Buf *b, uint32_t c)
{
    char out[4];
    size_t n = 0;
    if (c < 0x80) {
        out[n++] = (char)c;
    } else if (c < 0x800) {
        out[n++] = (char)(0xC0 | c >> 6);
        out[n++] = (char)(0x80 | (c & 0x3F));
    } else if (c < 0x10000) {
        out[n++] = (char)(0xE0 | c >> 12);
        out[n++] = (char)(0x80 | (c >> 6 & 0x3F));
        out[n++] = (char)(0x80 | (c & 0x3F));
    } else {
        out[n++] = (char)(0xF0 | c >> 18);
        out[n++] = (char)(0x80 | (c >> 12 & 0x3F));
        out[n++] = (char)(0x80 | (c >> 6 & 0x3F));
        out[n++] = (char)(0x80 | (c & 0x3F));
    }
    buf_put(b, out, n);
}

/* What fits into the room that is there is formatted once. */
void buf_vprintf(Buf *b, const char *fmt, va_list args)
{
    va_list again;
    va_copy(again, args);
    size_t room = b->cap - b->len;
    int n = c_vsnprintf(room ? b->data + b->len : NULL, room, fmt, again);
    va_end(again);
    if (n > 0 && (size_t)n >= room) {
        if (b->data)
            b->data[b->len] = '\0';               /* as it was, should there be no memory */
        buf_reserve(b, (size_t)n);
        c_vsnprintf(b->data + b->len, (size_t)n + 1, fmt, args);
    }
    if (n > 0)
        b->len += (size_t)n;
}

void buf_printf(Buf *b, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    buf_vprintf(b, fmt, args);
    va_end(args);
}

const char *buf_cstr(Buf *b)
{
    return b->data ? b->data : "";
}
