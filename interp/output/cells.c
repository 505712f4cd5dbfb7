/* Text cut or padded to cells: see cells.h. Allocates nothing but what the Buf needs. */
#include "interp/output/cells.h"

#include "core/base/source.h"

void cells_put(Buf *out, const char *text, size_t len, int cells, char pad)
{
    int width = text_width(text, len), used = 0;
    bool cut = width > cells;
    size_t from = out->len;
    if (pad == 'r' && !cut)
        buf_fill(out, ' ', (size_t)(cells - width));
    for (size_t at = 0; at < len;) {
        size_t start = at;
        uint32_t c = utf8_next(text, len, &at);
        int w = text_width(text + start, at - start);
        if (cut && used + w > cells - 1)
            break;
        used += w;
        if (c < 32 || c == 127)
            buf_putc(out, ' ');
        else
            buf_put(out, text + start, at - start);
    }
    if (cut && cells > 0)
        buf_puts(out, "…");
    if (pad == 'l' && text_width(out->data + from, out->len - from) < cells)
        buf_fill(out, ' ', (size_t)(cells - text_width(out->data + from, out->len - from)));
}
