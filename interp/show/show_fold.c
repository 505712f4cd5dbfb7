/* Reports that fit the terminal: lines of explain, timeit, profile, compare and devices() that are
 * wider go on, indented, in the next line. Tensors and tuples have layouts of their own, and a
 * pipe gets every line as it is. */
#include "interp/show/show.h"

#include <string.h>

/* Where what follows a line is written: under the last of its fields (`  memory    29.3 kB read`)
 * that starts in the left half, else two cells further in than the line. */
static int hanging(const char *line, size_t n, int width)
{
    enum { DEEP = 8 };
    size_t lead = strspn(line, " "), under = 0;
    for (size_t i = lead; i + 2 < n; i++)
        if (line[i] == ' ' && line[i + 1] == ' ' && line[i + 2] != ' ' &&
            text_width(line, i + 2) <= width / 2)
            under = i + 2;
    if (under > 0)
        return text_width(line, under);
    int indent = (int)lead + (lead < DEEP ? 2 : 0);
    return indent <= 2 * width / 3 ? indent : 0;
}

/* Bytes of the text that go on this line of `room` cells: to its last blank that fits. */
static size_t piece(const char *text, size_t n, int room)
{
    size_t at = 0, blank = 0;
    while (at < n) {
        size_t next = at;
        utf8_next(text, n, &next);
        if (text_width(text, next) > room && at > 0)
            return text[at] == ' ' ? at : blank > 0 ? blank : at;
        if (text[at] == ' ' && at > strspn(text, " "))
            blank = at;
        at = next;
    }
    return n;
}

static void fold_line(Buf *out, size_t from, size_t n, int width)
{
    int indent = hanging(out->data + from, n, width), room = width;
    while (n > 0) {
        buf_reserve(out, n + 1);                   /* the line stands in the same buffer */
        size_t take = piece(out->data + from, n, room);
        buf_put(out, out->data + from, take);
        from += take;
        n -= take;
        while (n > 0 && out->data[from] == ' ')
            from++, n--;
        if (n > 0) {
            buf_putc(out, '\n');
            buf_fill(out, ' ', (size_t)indent);
            room = width - indent;
        }
    }
}

void show_fold(Buf *out, size_t from, int width)
{
    size_t end = out->len;
    for (size_t at = from; width > 0 && at < end;) {
        const char *newline = memchr(out->data + at, '\n', end - at);
        size_t n = newline ? (size_t)(newline - out->data) - at : end - at;
        fold_line(out, at, n, width);
        if (newline)
            buf_putc(out, '\n');
        at += n + (newline != NULL);
    }
    if (out->len == end)
        return;
    memmove(out->data + from, out->data + end, out->len - end);
    out->len -= end - from;
    out->data[out->len] = '\0';
}
