/* Source texts and the rendering of places in them. Lines are found by a table built
 * once; carets are aligned by display width, so wide and combining characters fit. */
#include "core/base/source.h"

#include "core/system/c_locale.h"
#include "core/base/error.h"
#include "core/base/fence.h"
#include "core/base/mem.h"
#include "core/base/nearby.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void source_index_lines(Source *s)
{
    uint32_t count = 1;
    for (size_t i = 0; i < s->len; i++)
        count += s->text[i] == '\n';
    s->lines = mem_alloc(s->ctx, count * sizeof *s->lines);
    s->line_count = count;
    s->lines[0] = 0;
    uint32_t line = 1;
    for (size_t i = 0; i < s->len; i++)
        if (s->text[i] == '\n')
            s->lines[line++] = (uint32_t)i + 1;
}

static void source_free(Ctx *ctx, Source *s)
{
    if (s->name)
        mem_free(ctx, s->name, strlen(s->name) + 1);
    mem_free(ctx, s->text, s->len + 1);
    mem_free(ctx, s->lines, s->line_count * sizeof *s->lines);
    mem_free(ctx, s, sizeof *s);
}

Source *source_new(Ctx *ctx, const char *name, const char *text, size_t len)
{
    if (len > UINT32_MAX - 16)
        err_raise(ctx, ERR_IO, "%s is %zu bytes long; a program has at most 4 GiB", name, len);
    Source *s = mem_zalloc(ctx, sizeof *s);
    ErrFrame frame;
    s->refs = 1;
    s->ctx = ctx;
    if (!ERR_TRY(ctx, &frame)) {
        source_free(ctx, s);
        err_rethrow(ctx);
    }
    s->name = mem_strdup(ctx, name);
    s->text = mem_alloc(ctx, len + 1);
    if (len)
        memcpy(s->text, text, len);
    s->text[len] = '\0';
    s->len = len;
    s->first_line = 1;
    source_index_lines(s);
    ERR_END(ctx, &frame);
    return s;
}

Source *source_read(Ctx *ctx, const char *path)
{
    struct stat st;
    int fd = fence_open(ctx, path);
    if (fd < 0)
        nearby_raise(ctx, path);
    if (fstat(fd, &st) == 0 && S_ISDIR(st.st_mode)) {
        close(fd);
        err_raise(ctx, ERR_IO, "%s is a directory", path);
    }
    FILE *file = fdopen(fd, "rbe");
    if (!file) {
        close(fd);
        mem_raise(ctx, BUFSIZ);
    }
    Buf text;
    buf_init(&text, ctx);
    char block[65536];
    size_t n;
    ErrFrame frame;
    if (!ERR_TRY(ctx, &frame)) {
        fclose(file);
        buf_free(&text);
        err_rethrow(ctx);
    }
    while ((n = fread(block, 1, sizeof block, file)) > 0)
        buf_put(&text, block, n);
    if (ferror(file))
        err_raise(ctx, ERR_IO, "cannot read %s: %s", path, c_strerror(errno));
    Source *s = source_new(ctx, path, buf_cstr(&text), text.len);
    ERR_END(ctx, &frame);
    fclose(file);
    buf_free(&text);
    return s;
}

Source *source_retain(Source *s)
{
    if (s)
        s->refs++;
    return s;
}

void source_release(Source *s)
{
    if (!s || --s->refs > 0)
        return;
    source_free(s->ctx, s);
}

uint32_t source_line(const Source *s, uint32_t offset)
{
    uint32_t low = 0, high = s->line_count - 1;
    while (low < high) {
        uint32_t middle = (low + high + 1) / 2;
        if (s->lines[middle] <= offset)
            low = middle;
        else
            high = middle - 1;
    }
    return low;
}

Place source_place(const Source *s, uint32_t offset)
{
    if (offset > s->len)
        offset = (uint32_t)s->len;
    uint32_t line = source_line(s, offset), column = 1;
    for (size_t at = s->lines[line]; at < offset; column++)
        utf8_next(s->text, s->len, &at);
    return (Place){ line + s->first_line, column };
}

uint32_t utf8_next(const char *text, size_t len, size_t *at)
{
    static const uint32_t smallest[] = { 0, 0, 0x80, 0x800, 0x10000 };
    const unsigned char *p = (const unsigned char *)text + *at;
    size_t left = len - *at;
    int n = p[0] < 0x80 ? 1 : p[0] < 0xC2 ? 0 : p[0] < 0xE0 ? 2 : p[0] < 0xF0
            ? 3 : p[0] < 0xF5 ? 4 : 0;
    uint32_t c = n == 1 ? p[0] : p[0] & (0x7Fu >> n);
    bool good = n > 0 && (size_t)n <= left;
    for (int i = 1; good && i < n; i++) {
        good = (p[i] & 0xC0) == 0x80;
        c = c << 6 | (p[i] & 0x3F);
    }
    if (!good || c < smallest[n] || (c >= 0xD800 && c < 0xE000) || c > 0x10FFFF) {
        ++*at;
        return 0xFFFD;
    }
    *at += (size_t)n;
    return c;
}

size_t utf8_check(const char *text, size_t len)
{
    size_t at = 0;
    while (at < len) {
        if ((unsigned char)text[at] < 0x80) {
            at++;
            continue;
        }
        size_t start = at;
        if (utf8_next(text, len, &at) == 0xFFFD && at == start + 1)
            return start;
    }
    return len;
}

/* Ranges of width 0 and 2 from Unicode's EastAsianWidth and combining classes, the
 * blocks that a program's text can meet; everything else is one cell. */
static const struct { uint32_t from, to; int width; } width_ranges[] = {
    { 0x0300, 0x036F, 0 }, { 0x0483, 0x0489, 0 }, { 0x0591, 0x05BD, 0 }, { 0x0610, 0x061A, 0 },
    { 0x064B, 0x065F, 0 }, { 0x1100, 0x115F, 2 }, { 0x1AB0, 0x1AFF, 0 }, { 0x1DC0, 0x1DFF, 0 },
    { 0x200B, 0x200F, 0 }, { 0x202A, 0x202E, 0 }, { 0x2060, 0x2064, 0 }, { 0x20D0, 0x20FF, 0 },
    { 0x231A, 0x231B, 2 }, { 0x23E9, 0x23EC, 2 }, { 0x2E80, 0x303E, 2 }, { 0x3041, 0x33FF, 2 },
    { 0x3400, 0x4DBF, 2 }, { 0x4E00, 0x9FFF, 2 }, { 0xA000, 0xA4CF, 2 }, { 0xAC00, 0xD7A3, 2 },
    { 0xF900, 0xFAFF, 2 }, { 0xFE00, 0xFE0F, 0 }, { 0xFE20, 0xFE2F, 0 }, { 0xFE30, 0xFE6F, 2 },
    { 0xFEFF, 0xFEFF, 0 }, { 0xFF00, 0xFF60, 2 }, { 0xFFE0, 0xFFE6, 2 }, { 0x1F300, 0x1F64F, 2 },
    { 0x1F680, 0x1F6FF, 2 }, { 0x1F900, 0x1F9FF, 2 }, { 0x20000, 0x3FFFD, 2 },
    { 0xE0100, 0xE01EF, 0 },
};

static int codepoint_width(uint32_t c)
{
    if (c < 0x0300)
        return 1;
    for (size_t i = 0; i < sizeof width_ranges / sizeof *width_ranges; i++)
        if (c >= width_ranges[i].from && c <= width_ranges[i].to)
            return width_ranges[i].width;
    return 1;
}

int text_width(const char *text, size_t len)
{
    int width = 0;
    for (size_t at = 0; at < len;)
        width += codepoint_width(utf8_next(text, len, &at));
    return width;
}

enum { RENDER_WHOLE = 110, RENDER_BEFORE = 60, RENDER_AFTER = 40 };

/* The part of a line that is shown: all of a short one, else a window around `at`. */
static Span render_window(const Source *s, Span line, uint32_t at, uint32_t to)
{
    Span w = line;
    if (line.to - line.from <= RENDER_WHOLE)
        return w;
    if (at - line.from > RENDER_BEFORE)
        w.from = at - RENDER_BEFORE;
    if (to > line.to || to < at)
        to = at;
    if (to - at > RENDER_BEFORE)
        to = at + RENDER_BEFORE;
    if (line.to - to > RENDER_AFTER)
        w.to = to + RENDER_AFTER;
    while (w.from > line.from && (s->text[w.from] & 0xC0) == 0x80)
        w.from--;
    while (w.to < line.to && (s->text[w.to] & 0xC0) == 0x80)
        w.to++;
    return w;
}

/* The line's text without control characters, which would move the cursor. */
static void render_text(Buf *out, const Source *s, Span w)
{
    for (size_t at = w.from; at < w.to;) {
        size_t start = at;
        uint32_t c = utf8_next(s->text, w.to, &at);
        if (c == 0xFFFD && at == start + 1)
            buf_puts(out, "\xEF\xBF\xBD");
        else if (c < 0x20 || c == 0x7F)
            buf_putc(out, ' ');
        else
            buf_put(out, s->text + start, at - start);
    }
}

static bool span_covers(const Span *spans, int count, uint32_t at)
{
    for (int i = 0; i < count; i++) {
        uint32_t to = spans[i].to > spans[i].from ? spans[i].to : spans[i].from + 1;
        if (at >= spans[i].from && at < to)
            return true;
    }
    return false;
}

static void render_carets(Buf *out, const Source *s, Span w, const Span *spans, int count)
{
    size_t mark = out->len;
    for (size_t at = w.from; at < w.to;) {
        uint32_t start = (uint32_t)at;
        int width = codepoint_width(utf8_next(s->text, w.to, &at));
        buf_fill(out, span_covers(spans, count, start) ? '^' : ' ', (size_t)width);
    }
    if (span_covers(spans, count, w.to))
        buf_putc(out, '^');
    while (out->len > mark && out->data[out->len - 1] == ' ')
        out->data[--out->len] = '\0';
}

/* The line's text, without its line break. */
static Span line_span(const Source *s, uint32_t line)
{
    Span whole = { s->lines[line],
                   line + 1 < s->line_count ? s->lines[line + 1] - 1 : (uint32_t)s->len };
    if (whole.to > whole.from && s->text[whole.to - 1] == '\r')
        whole.to--;
    return whole;
}

/* What of `span` lies on a line; false: nothing. On the lines below its first one it begins at
 * the first character that is no blank. */
static bool span_on_line(const Source *s, Span line, Span span, Span *part)
{
    uint32_t from = span.from, to = span.to > span.from ? span.to : span.from + 1;
    if (from < line.from) {
        from = line.from;
        while (from < line.to && (s->text[from] == ' ' || s->text[from] == '\t'))
            from++;
    }
    if (from > line.to)
        return false;
    *part = (Span){ from, to < line.to ? to : line.to > from ? line.to : from + 1 };
    return to > line.from && part->to > part->from;
}

enum { RENDER_LINES = 4 };

static int add_line(uint32_t *lines, int n, uint32_t line)
{
    int at = n;
    for (int i = 0; i < n; i++)
        if (lines[i] == line)
            return n;
    if (n == RENDER_LINES)
        return n;
    while (at > 0 && lines[at - 1] > line) {
        lines[at] = lines[at - 1];
        at--;
    }
    lines[at] = line;
    return n + 1;
}

/* The lines that are shown, in order: those on which spans begin, and all of a span that goes over
 * few. Returns how many. */
static int render_lines(const Source *s, const Span *spans, int count, uint32_t *lines)
{
    int n = 0;
    for (int i = 0; i < count; i++) {
        uint32_t from = spans[i].from < s->len ? spans[i].from : (uint32_t)s->len;
        uint32_t to = spans[i].to > from && spans[i].to <= s->len ? spans[i].to - 1 : from;
        uint32_t first = source_line(s, from), last = source_line(s, to);
        n = add_line(lines, n, first);
        if (last - first < RENDER_LINES - 1)
            for (uint32_t line = first + 1; line <= last; line++)
                n = add_line(lines, n, line);
    }
    return n;
}

/* One line of the source and the carets under it. */
static void render_line(Buf *out, const Source *s, uint32_t line, int gutter,
                        const Span *spans, int count)
{
    Span whole = line_span(s, line), parts[WHERE_OPERANDS];
    int n = 0;
    for (int i = 0; i < count && n < WHERE_OPERANDS; i++)
        n += span_on_line(s, whole, spans[i], &parts[n]);
    Span w = n > 0 ? render_window(s, whole, parts[0].from, parts[0].to) : whole;
    buf_printf(out, " %*u | %s", gutter, line + s->first_line, w.from > whole.from ? "…" : "");
    render_text(out, s, w);
    buf_printf(out, "%s\n%*s | %s", w.to < whole.to ? "…" : "", gutter + 1, "",
               w.from > whole.from ? " " : "");
    render_carets(out, s, w, parts, n);
    buf_putc(out, '\n');
}

void source_render(Buf *out, const Source *s, const Span *spans, int count)
{
    uint32_t lines[RENDER_LINES], first = spans[0].from < s->len ? spans[0].from : (uint32_t)s->len;
    Span begins = line_span(s, source_line(s, first));
    Place place = source_place(s, first < begins.to ? first : begins.to);
    int n = render_lines(s, spans, count, lines);
    int gutter = snprintf(NULL, 0, "%u", lines[n - 1] + s->first_line);
    buf_printf(out, "%*s--> %s:%u:%u\n", gutter + 1, "", s->name, place.line, place.column);
    for (int i = 0; i < n; i++) {
        if (i > 0 && lines[i] > lines[i - 1] + 1)
            buf_printf(out, "%*s ⋮\n", gutter + 1, "");
        render_line(out, s, lines[i], gutter, spans, count);
    }
}
