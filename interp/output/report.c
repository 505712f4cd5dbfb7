/* Errors and notices on a terminal. What err_render writes is read line by line and laid out for
 * the width there is: a source line and the carets below it are cut together around the carets,
 * all else is broken between words. Called when a text goes to stderr (output.c); files and
 * pipes get the plain text. It knows nothing of errors but what they look like. */
#include "interp/output/report.h"

#include "core/base/source.h"

#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define RED "\033[1;31m"
#define BLUE "\033[34m"
#define CYAN "\033[36m"
#define YELLOW "\033[33m"
#define FAINT "\033[2m"
#define BOLD "\033[1m"
#define PLAIN "\033[0m"

typedef struct Style {
    Buf *out;
    int width;
    bool colour;
} Style;

typedef struct Line { const char *text; size_t len; } Line;

static Line next_line(const char **at)
{
    const char *from = *at, *end = strchrnul(from, '\n');
    *at = *end ? end + 1 : end;
    return (Line){ from, (size_t)(end - from) };
}

static void put(const Style *s, const char *colour, const char *text, size_t n)
{
    if (n == 0)
        return;
    if (s->colour && colour)
        buf_puts(s->out, colour);
    buf_put(s->out, text, n);
    if (s->colour && colour)
        buf_puts(s->out, PLAIN);
}

/* ---- sentences ---- */
/* Bytes of `text` that fit `room` cells and end with a word; a word longer than the room is cut. */
static size_t fits(const char *text, size_t len, int room)
{
    size_t at = 0, word = 0;
    int used = 0;
    while (at < len) {
        size_t from = at;
        utf8_next(text, len, &at);
        used += text_width(text + from, at - from);
        if (used > room)
            return word > 0 ? word : from > 0 ? from : at;
        if (at == len || text[at] == ' ')
            word = at;
    }
    return len;
}

/* `head` in its colour, then the rest, which goes on below with an indent. */
static void put_sentence(const Style *s, Line line, size_t head, const char *colour,
                         const char *rest, int indent)
{
    const char *text = line.text + head;
    size_t left = line.len - head;
    put(s, colour, line.text, head);
    int used = text_width(line.text, head);
    for (;;) {
        int room = s->width - used;
        size_t n = s->width <= 0 ? left : fits(text, left, room > 8 ? room : 8);
        put(s, rest, text, n);
        buf_putc(s->out, '\n');
        text += n, left -= n;
        while (left > 0 && *text == ' ')
            text++, left--;
        if (left == 0)
            return;
        buf_fill(s->out, ' ', (size_t)indent);
        used = indent;
    }
}

/* ---- source lines ---- */
/* Bytes of ` 12 | ` at the beginning of a line; 0: this is no source line. */
static size_t gutter(Line line)
{
    size_t i = strspn(line.text, " "), digits = strspn(line.text + i, "0123456789");
    i += digits;
    if (digits == 0 || i + 2 > line.len || memcmp(line.text + i, " |", 2) != 0)
        return 0;
    return i + 3 <= line.len ? i + 3 : line.len;
}

static bool is_carets(Line line)
{
    size_t i = strspn(line.text, " ");
    return i + 1 < line.len && line.text[i] == '|' && i > 0 &&
           strspn(line.text + i + 1, " ^") >= line.len - i - 1;
}

/* The first character that begins at or after a cell, and the cell where it does. */
static size_t char_from(Line line, int cell, int *begins_at)
{
    size_t at = 0;
    int used = 0;
    while (at < line.len && used < cell) {
        size_t from = at;
        utf8_next(line.text, line.len, &at);
        used += text_width(line.text + from, at - from);
    }
    *begins_at = used;
    return at;
}

/* Bytes of the characters that end before a cell. */
static size_t chars_before(Line line, int cell)
{
    size_t at = 0;
    int used = 0;
    while (at < line.len) {
        size_t from = at;
        utf8_next(line.text, line.len, &at);
        used += text_width(line.text + from, at - from);
        if (used > cell)
            return from;
    }
    return line.len;
}

/* The cells [from, to) of a line that is `room` cells wide on the screen, around [first, last). */
static void window(int cells, int room, int first, int last, int *from, int *to)
{
    *from = 0;
    *to = cells;
    if (cells <= room)
        return;
    int wanted = last - first < room - 2 ? last - first : room - 2;
    *from = first - (room - wanted) / 2;
    if (*from + room > cells)
        *from = cells - room;
    if (*from < 0)
        *from = 0;
    *to = *from + room;
}

static void put_carets(const Style *s, Line carets, size_t bar, int from, int to, bool cut)
{
    Line marks = { carets.text + bar, carets.len > bar ? carets.len - bar : 0 };
    put(s, BLUE, carets.text, carets.len < bar ? carets.len : bar);
    if ((int)marks.len > from) {
        size_t n = (int)marks.len > to ? (size_t)(to - from) : marks.len - (size_t)from;
        const char *shown = marks.text + from;
        if (cut && *shown == '^')                 /* under the ellipsis */
            buf_putc(s->out, ' '), shown++, n--;
        put(s, RED, shown, n);
    }
    buf_putc(s->out, '\n');
}

/* A source line and the carets under it. */
static void put_source(const Style *s, Line line, Line carets)
{
    size_t bar = gutter(line);
    Line text = { line.text + bar, line.len - bar };
    int cells = text_width(text.text, text.len),
        room = s->width > 0 ? s->width - (int)bar : cells, from, to;
    const char *first = memchr(carets.text, '^', carets.len);
    int at = first ? (int)(first - carets.text) - (int)bar : 0;
    int run = first ? (int)strspn(first, "^") : 0;
    if (room < 12)
        room = 12;
    window(cells > at + run ? cells : at + run, room, at, at + run, &from, &to);
    size_t begin = 0, end = to < cells ? chars_before(text, to - 1) : text.len;
    put(s, BLUE, line.text, bar);
    if (from > 0) {                              /* the ellipsis has the first cell */
        int shown;
        begin = char_from(text, from + 1, &shown);
        buf_puts(s->out, "…");
        buf_fill(s->out, ' ', (size_t)(shown - from - 1));
    }
    put(s, NULL, text.text + begin, end > begin ? end - begin : 0);
    if (to < cells)
        buf_puts(s->out, "…");
    buf_putc(s->out, '\n');
    put_carets(s, carets, bar, from, to, from > 0);
}

/* ---- lines ---- */
static bool begins(Line line, const char *with)
{
    size_t n = strlen(with);
    return line.len >= n && memcmp(line.text, with, n) == 0;
}

/* Bytes before the first colon, of `error[shape]:` and `help:`. */
static size_t head_length(Line line)
{
    const char *colon = memchr(line.text, ':', line.len);
    return colon ? (size_t)(colon - line.text) : line.len;
}

static bool is_place(Line line)
{
    size_t i = strspn(line.text, " ");
    return i + 3 < line.len && memcmp(line.text + i, "-->", 3) == 0;
}

/* A path that is too long for the terminal is cut at its beginning: the place is at its end. */
static void put_place(const Style *s, Line line)
{
    size_t arrow = strspn(line.text, " ") + 4;
    int cells = text_width(line.text, line.len), room = s->width;
    put(s, BLUE, line.text, arrow);
    Line rest = { line.text + arrow, line.len - arrow };
    if (s->width > 0 && cells > room) {
        int shown;
        size_t skip = char_from(rest, cells - room + 1, &shown);
        buf_puts(s->out, "…");
        rest.text += skip, rest.len -= skip;
    }
    put(s, NULL, rest.text, rest.len);
    buf_putc(s->out, '\n');
}

void report_style(Buf *out, const char *text, int width, bool colour)
{
    Style s = { out, width, colour };
    while (*text) {
        Line line = next_line(&text);
        const char *after = text;
        Line below = next_line(&after);
        if (gutter(line) && !is_carets(line) && is_carets(below)) {
            put_source(&s, line, below);
            text = after;
        } else if (begins(line, "error[")) {
            put_sentence(&s, line, head_length(line), RED, BOLD, 4);
        } else if (begins(line, "help:")) {
            put_sentence(&s, line, head_length(line), CYAN, NULL, 6);
        } else if (begins(line, "notice:")) {
            put_sentence(&s, line, head_length(line), YELLOW, NULL, 8);
        } else if (is_place(line)) {
            put_place(&s, line);
        } else if (begins(line, "  in ")) {
            put_sentence(&s, line, 5, FAINT, NULL, 6);
        } else {
            put_sentence(&s, line, 0, NULL, begins(line, "  …") ? FAINT : NULL, 4);
        }
    }
}

int report_width(void)
{
    struct winsize size;
    if (!isatty(STDERR_FILENO))
        return 0;
    return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}
