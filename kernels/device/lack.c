/* The words for what a device lacks: see lack.h. */
#include "kernels/device/lack.h"

static const struct { const char *before, *words; } said[] = {
    [LACK_NONE] = { "", "" },
#define DEVICE(id, words) [LACK_##id] = { ", which ", words },
#define REASON(id, words) [LACK_##id] = { " because ", words },
#include "kernels/device/lack.def"
#undef DEVICE
#undef REASON
};

static const char *fact(const Lack *l, char which)
{
    return which == 'r' ? l->row : dtype_name(which == 'f' ? l->from : l->dtype);
}

void lack_put(Buf *out, const Lack *l)
{
    buf_puts(out, said[l->kind].before);
    for (const char *at = said[l->kind].words; *at; at++)
        if (*at == '%')
            buf_puts(out, fact(l, *++at));
        else
            buf_putc(out, *at);
}
