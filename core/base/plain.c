/* Masking what messages show of texts from outside: see core/base/plain.h. Works in place, a
 * question mark for each byte, so that it needs no memory and cannot fail where an error is being
 * made. */
#include "core/base/plain.h"

#include "core/base/source.h"

#include <string.h>

static bool steers(uint32_t c)
{
    return c < 0x20 || (c >= 0x7F && c < 0xA0) || c == 0x061C || c == 0x200E || c == 0x200F ||
           (c >= 0x2028 && c <= 0x202E) || (c >= 0x2066 && c <= 0x2069);
}

static char *mask(char *text, bool lines)
{
    size_t len = strlen(text);
    for (size_t at = 0, next; at < len; at = next) {
        next = at;
        uint32_t c = utf8_next(text, len, &next);
        bool broken = c == 0xFFFD && next == at + 1;
        if (broken || (steers(c) && !(lines && (c == '\n' || c == '\t'))))
            memset(text + at, '?', next - at);
    }
    return text;
}

char *plain_line(char *text)
{
    return mask(text, false);
}

char *plain_lines(char *text)
{
    return mask(text, true);
}

char *plain_message(char *text, const char *fmt)
{
    return mask(text, strcmp(fmt, "%s") == 0 || strchr(fmt, '\n') != NULL);
}

void plain_put(Buf *out, const char *text, size_t len)
{
    size_t from = out->len;
    buf_put(out, text, len);
    if (len)
        mask(out->data + from, false);
}
