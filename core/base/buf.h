/* A growing byte string: what printing, formatting and error messages write into. */
#ifndef RICCI_CORE_BUF_H
#define RICCI_CORE_BUF_H

#include "core/base/ctx.h"
#include <stdarg.h>

typedef struct Buf {
    Ctx *ctx;
    char *data;      /* NUL-terminated once anything was put; NULL before */
    size_t len, cap;
} Buf;

void buf_init(Buf *, Ctx *);
void buf_free(Buf *);
void buf_reserve(Buf *, size_t more);
void buf_put(Buf *, const char *bytes, size_t n);
void buf_puts(Buf *, const char *);
void buf_putc(Buf *, char);
void buf_fill(Buf *, char, size_t n);
void buf_put_codepoint(Buf *, uint32_t);   /* UTF-8 */
void buf_printf(Buf *, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void buf_vprintf(Buf *, const char *fmt, va_list);
const char *buf_cstr(Buf *);               /* never NULL */
void buf_clear(Buf *);

#endif
