/* The entry on the terminal: prompts, colours, wide characters, lines that wrap, and entries that
 * are higher than the screen, of which the part around the cursor is seen. Readline edits the text
 * and leaves all drawing to this file, which repl_line.c calls when no key is waiting.
 *
 * A frame is the rows that are to be seen, without positions. The new frame is compared with the
 * one on the terminal and the cells that differ are written; the cursor moves by steps from where
 * it was left, since where the entry stands on the screen is not known. Every row but the last ends
 * in a real line end, so that a terminal that reflows its text on a resize cannot join two.
 * The scanner's states at the begins of lines are kept: only changed lines are scanned again. */
#include "interp/session/repl_edit.h"

#include "core/base/error.h"
#include "core/system/fd.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum {
    COLOUR_MAX = 1 << 17,        /* bytes of lines seen that are coloured */
    FINISH_MAX = 2000,           /* rows of a finished entry that are shown in full */
    PAIRS_MAX = 1024             /* open brackets among which a pair is sought */
};

static const char *const codes[PAINTS] = {
    [PAINT_PLAIN] = "", [PAINT_KEYWORD] = ";35", [PAINT_NUMBER] = ";36", [PAINT_STRING] = ";32",
    [PAINT_ESCAPE] = ";33", [PAINT_COMMENT] = ";2", [PAINT_KNOWN] = ";94",
    [PAINT_COMMAND] = ";1;36",
    [PAINT_BRACKET] = "", [PAINT_WRONG] = ";31", [PAINT_PAIR] = ";1;4", [PAINT_PROMPT] = ";1;32",
    [PAINT_MORE] = ";32", [PAINT_CONTROL] = ";7" };

typedef struct Line { size_t start; Scan scan; } Line;
typedef struct Row { size_t at, len; int cells; } Row;      /* bytes of Frame.text and .paint */
typedef struct Frame { Buf text, paint, rows; } Frame;
typedef struct Spot { size_t line; int row; } Spot;         /* a row of a line */

static struct Screen {
    Interp *in;
    bool colours;
    int width, height;           /* of the terminal when `shown` was drawn */
    int row, column;             /* the cursor, from the first row of `shown` */
    Frame frames[2], *shown, *next;
    Spot top;                    /* the first row that is seen */
    Buf text, lines, fresh;      /* the text that was scanned, and its Lines; Lines being made */
    Buf paint;                   /* of the lines seen */
    size_t paint_from;
    Buf out;
    bool left;                   /* nobody edits what is drawn now: no pair of brackets is marked */
    char *mode;                  /* terminal codes of the mode's prompt that were sent last */
} screen;

/* ---- lines of the text ---- */
static Line *line_at(size_t i) { return (Line *)(void *)screen.lines.data + i; }
static size_t line_count(void) { return screen.lines.len / sizeof(Line); }

static size_t line_end(size_t i)
{
    return i + 1 < line_count() ? line_at(i + 1)->start - 1 : screen.text.len;
}

static size_t line_of(size_t offset)
{
    size_t low = 0, high = line_count();
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (line_at(middle)->start <= offset)
            low = middle;
        else
            high = middle;
    }
    return low;
}

static bool same_scan(const Scan *a, const Scan *b)
{
    size_t kept = a->depth < SCAN_DEEP ? a->depth : SCAN_DEEP;
    return a->depth == b->depth && a->inside == b->inside && memcmp(a->open, b->open, kept) == 0;
}

static size_t common_begin(const char *a, const char *b, size_t n)
{
    size_t i = 0;
    while (n - i >= 4096 && memcmp(a + i, b + i, 4096) == 0)
        i += 4096;
    while (i < n && a[i] == b[i])
        i++;
    return i;
}

static size_t common_end(const char *a, size_t a_len, const char *b, size_t b_len, size_t n)
{
    size_t i = 0;
    while (n - i >= 4096 && memcmp(a + a_len - i - 4096, b + b_len - i - 4096, 4096) == 0)
        i += 4096;
    while (i < n && a[a_len - 1 - i] == b[b_len - 1 - i])
        i++;
    return i;
}

/* The lines after line `from`, of a text whose last `same` bytes are the last of the old one too;
 * as soon as a line begins in those as it did before, the old ones are good for the rest. */
static void scan_lines(size_t from, const char *text, size_t len, size_t old_len,
                       size_t same, Buf *fresh)
{
    Line line = *line_at(from);
    size_t old = from + 1;
    for (;;) {
        const char *start = text + line.start, *end = memchr(start, '\n', len - line.start);
        if (!end)
            return;
        colour_line(screen.in, &line.scan, start, (size_t)(end - start), NULL);
        line.start = (size_t)(end - text) + 1;
        if (line.start >= len - same) {
            while (old < line_count() && line_at(old)->start + len < line.start + old_len)
                old++;
            if (old < line_count() && line_at(old)->start + len == line.start + old_len &&
                same_scan(&line_at(old)->scan, &line.scan))
                break;
        }
        buf_put(fresh, (const char *)&line, sizeof line);
    }
    for (; old < line_count(); old++) {
        line = *line_at(old);
        line.start = line.start + len - old_len;
        buf_put(fresh, (const char *)&line, sizeof line);
    }
}

/* Follows the text of readline. */
static void update_lines(const char *text, size_t len)
{
    Buf *old = &screen.text, *fresh = &screen.fresh;
    size_t least = len < old->len ? len : old->len;
    size_t begin = least ? common_begin(old->data, text, least) : 0;
    if (line_count() == 0)
        buf_put(&screen.lines, (const char *)&(Line){ 0 }, sizeof(Line));
    if (begin == len && begin == old->len)
        return;
    size_t end = least ? common_end(old->data, old->len, text, len, least - begin) : 0;
    size_t from = line_of(begin);
    buf_clear(fresh);
    scan_lines(from, text, len, old->len, end, fresh);
    screen.lines.len = (from + 1) * sizeof(Line);
    buf_put(&screen.lines, buf_cstr(fresh), fresh->len);
    old->len = begin;
    buf_put(old, text + begin, len - begin);
}

/* ---- rows of a line ---- */
typedef struct Walk {
    Frame *into;                 /* rows from `first` up to `last` are put here; NULL: none is */
    int first, last;
    int row, column, cells;      /* where the next cell goes; cells: of the text in this line */
    int at_row, at_column;       /* the first cell of a character; at_row -1: not put yet */
    int point_row, point_column; /* the cursor, -1: not in this line */
} Walk;

static Row *last_row(Frame *f) { return (Row *)(void *)(f->rows.data + f->rows.len) - 1; }

static bool is_seen(const Walk *w)
{
    return w->into && w->row >= w->first && w->row < w->last;
}

static void begin_row(Walk *w)
{
    if (is_seen(w))
        buf_put(&w->into->rows, (const char *)&(Row){ .at = w->into->text.len }, sizeof(Row));
}

/* Puts one character of so many cells; it goes to a new row where it has no room. */
static void put_cells(Walk *w, const char *bytes, size_t n, int cells, uint8_t paint)
{
    if (cells > screen.width) {
        bytes = ">";
        n = 1;
        cells = 1;
    }
    if (w->column + cells > screen.width) {
        w->row++;
        w->column = 0;
        begin_row(w);
    }
    if (w->at_row < 0) {
        w->at_row = w->row;
        w->at_column = w->column;
    }
    w->column += cells;
    if (!is_seen(w))
        return;
    Row *row = last_row(w->into);
    buf_put(&w->into->text, bytes, n);
    buf_fill(&w->into->paint, (char)paint, n);
    row->len += n;
    row->cells += cells;
}

static bool is_hidden(uint32_t c)
{
    return (c >= 0x7F && c < 0xA0) || (c >= 0x200B && c <= 0x200F) ||
           (c >= 0x2028 && c <= 0x202E) || (c >= 0x2060 && c <= 0x206F) || c == 0xFEFF;
}

/* A character of the text; what moves the cursor or cannot be seen is shown by a sign. Returns its
 * length. */
static size_t put_character(Walk *w, const char *text, size_t len, uint8_t paint)
{
    size_t n = 0;
    unsigned char c = (unsigned char)text[0];
    uint8_t region = paint & PAINT_REGION;
    if (c >= ' ' && c < 0x7F) {
        put_cells(w, text, 1, 1, paint);
        w->cells++;
        return 1;
    }
    if (c == '\t') {
        do
            put_cells(w, " ", 1, 1, paint);
        while (++w->cells % 4);
        return 1;
    }
    uint32_t code = utf8_next(text, len, &n);
    if (code < ' ') {
        char shown[2] = { '^', (char)(code + '@') };
        put_cells(w, shown, 1, 1, PAINT_CONTROL | region);
        put_cells(w, shown + 1, 1, 1, PAINT_CONTROL | region);
        w->cells += 2;
        return 1;
    }
    bool sign = is_hidden(code) || (code == 0xFFFD && n == 1);
    int cells = sign ? 1 : text_width(text, n);
    if (sign)
        put_cells(w, "?", 1, 1, PAINT_CONTROL | region);
    else
        put_cells(w, text, n, cells, paint);
    w->cells += cells;
    return n;
}

static void put_prompt(Walk *w, size_t line)
{
    const char *prompt = line > 0 ? REPL_CONTINUE : rl_display_prompt ? rl_display_prompt : "";
    bool own = line > 0 || strcmp(prompt, REPL_PROMPT) == 0;
    uint8_t paint = line > 0 ? PAINT_MORE : own ? PAINT_PROMPT : PAINT_PLAIN;
    for (size_t at = 0, len = strlen(prompt); at < len;)
        if (prompt[at] == RL_PROMPT_START_IGNORE)
            at += strcspn(prompt + at, (char[]){ RL_PROMPT_END_IGNORE, '\0' });
        else if (prompt[at] == RL_PROMPT_END_IGNORE)
            at++;
        else
            at += put_character(w, prompt + at, len - at, prompt[at] == ' ' ? PAINT_PLAIN : paint);
    w->cells = 0;
}

static uint8_t paint_of(size_t offset)
{
    size_t i = offset - screen.paint_from;
    return offset >= screen.paint_from && i < screen.paint.len ? (uint8_t)screen.paint.data[i]
                                                               : PAINT_PLAIN;
}

static void note_point(Walk *w, bool at_end)
{
    if (at_end && w->column >= screen.width) {       /* a row of its own for the cursor */
        w->row++;
        w->column = 0;
        begin_row(w);
    }
    w->point_row = w->row;
    w->point_column = w->column;
}

/* Over what has one cell each and is not seen, at once: in rows above and below, and where rows are
 * counted. Returns its length, 0 where something else comes. */
static size_t skip_plain(Walk *w, const char *text, size_t len)
{
    size_t width = (size_t)screen.width, room = len, n = 0;
    if (is_seen(w))
        return 0;
    if (w->into && w->row < w->first)
        room = (size_t)(w->first - w->row) * width - (size_t)w->column;
    room = room < len ? room : len;
    while (n < room && text[n] >= ' ' && text[n] < 0x7F)
        n++;
    if (n == 0)
        return 0;
    size_t cells = (size_t)w->column + n - 1;
    w->row += (int)(cells / width);
    w->column = (int)(cells % width) + 1;
    w->cells += (int)n;
    return n;
}

/* Puts a line's rows where they go; returns how many there are. */
static int walk_line(Walk *w, size_t line)
{
    const char *text = screen.text.data ? screen.text.data : "";
    size_t end = line_end(line), point = (size_t)rl_point;
    w->row = w->column = w->cells = 0;
    w->point_row = w->point_column = -1;
    begin_row(w);
    put_prompt(w, line);
    for (size_t at = line_at(line)->start; at < end;) {
        bool here = at == point;
        size_t skipped = here ? 0 : skip_plain(w, text + at,
                                               (point > at && point < end ? point : end) - at);
        at += skipped;
        if (skipped)
            continue;
        w->at_row = -1;
        at += put_character(w, text + at, end - at, w->into ? paint_of(at) : PAINT_PLAIN);
        if (here) {
            w->point_row = w->at_row;
            w->point_column = w->at_column;
        }
    }
    if (point == end)
        note_point(w, true);
    return w->row + 1;
}

static int rows_of(size_t line)
{
    Walk w = { 0 };
    return walk_line(&w, line);
}

/* ---- what is seen ---- */
/* So many rows above, as far as there are. */
static Spot spot_above(Spot s, int rows)
{
    while (rows > s.row && s.line > 0) {
        rows -= s.row + 1;
        s.line--;
        s.row = rows_of(s.line) - 1;
    }
    s.row = s.row > rows ? s.row - rows : 0;
    return s;
}

/* Rows from a spot down to the end of `last`, or `most`. */
static int rows_below(Spot s, size_t last, int most)
{
    int rows = -s.row;
    for (size_t i = s.line; i <= last && rows < most; i++)
        rows += rows_of(i);
    return rows < most ? rows : most;
}

/* The part seen moves as little as it can so that the cursor is in it, and no row stays empty
 * that has text above. */
static void choose_top(void)
{
    size_t last = line_count() - 1;
    Walk w = { 0 };
    Spot cursor = { line_of((size_t)rl_point), 0 };
    walk_line(&w, cursor.line);
    cursor.row = w.point_row;
    Spot *top = &screen.top, lowest = spot_above(cursor, screen.height - 1);
    if (top->line > last || top->line > cursor.line ||
        (top->line == cursor.line && top->row > cursor.row))
        *top = cursor;
    if (top->row >= rows_of(top->line))
        top->row = 0;
    if (top->line < lowest.line || (top->line == lowest.line && top->row < lowest.row))
        *top = lowest;
    int rows = rows_below(*top, last, screen.height);
    if (rows < screen.height)
        *top = spot_above(*top, screen.height - rows);
}

/* ---- colours ---- */
static bool is_bracket(size_t offset)
{
    return paint_of(offset) == PAINT_BRACKET;
}

/* The bracket that the cursor points at: the closing one behind which it stands, else one under
 * it, else the one before; -1: none. */
static long bracket_at_point(const char *text)
{
    size_t point = (size_t)rl_point;
    bool before = point > screen.paint_from && is_bracket(point - 1);
    if (before && strchr(")]}", text[point - 1]))
        return (long)point - 1;
    if (is_bracket(point))
        return (long)point;
    return before ? (long)point - 1 : -1;
}

static void mark_pair(void)
{
    const char *text = screen.text.data;
    long wanted = screen.paint.len && !screen.left ? bracket_at_point(text) : -1;
    size_t open[PAIRS_MAX], depth = 0;
    for (size_t i = 0; wanted >= 0 && i < screen.paint.len; i++) {
        size_t at = screen.paint_from + i;
        if (screen.paint.data[i] != PAINT_BRACKET)
            continue;
        if (strchr("([{", text[at])) {
            if (depth == PAIRS_MAX)
                return;
            open[depth++] = at;
        } else if (depth-- == 0) {
            depth = 0;
        } else if (open[depth] == (size_t)wanted || at == (size_t)wanted) {
            screen.paint.data[open[depth] - screen.paint_from] = PAINT_PAIR;
            screen.paint.data[i] = PAINT_PAIR;
            return;
        }
    }
}

static void mark_region(void)
{
    size_t a = (size_t)rl_mark, b = (size_t)rl_point;
    for (size_t i = a < b ? a : b; rl_mark_active_p() && i < (a < b ? b : a); i++)
        if (i >= screen.paint_from && i - screen.paint_from < screen.paint.len)
            screen.paint.data[i - screen.paint_from] |= (char)PAINT_REGION;
}

/* Colours the lines from `first` to `last`; of very long ones none. */
static void paint_lines(size_t first, size_t last)
{
    size_t from = line_at(first)->start, to = line_end(last);
    screen.paint_from = from;
    buf_clear(&screen.paint);
    if (to - from > COLOUR_MAX)
        return;
    buf_fill(&screen.paint, PAINT_PLAIN, to - from);
    for (size_t i = first; screen.colours && i <= last && to > from; i++) {
        Scan scan = line_at(i)->scan;
        size_t start = line_at(i)->start;
        colour_line(screen.in, &scan, screen.text.data + start, line_end(i) - start,
                    (uint8_t *)screen.paint.data + (start - from));
    }
    mark_pair();
    mark_region();
}

/* ---- the terminal ---- */
static void draw_flush(const char *bytes, size_t n)
{
    struct pollfd out = { .fd = fileno(rl_outstream), .events = POLLOUT };
    fflush(rl_outstream);
    while (n > 0) {
        ssize_t done = write(out.fd, bytes, n);
        if (done > 0) {
            bytes += done;
            n -= (size_t)done;
        } else if (done < 0 && errno == EAGAIN) {
            poll(&out, 1, -1);
        } else if (done == 0 || errno != EINTR) {
            return;
        }
    }
}

static void flush_out(void)
{
    draw_flush(screen.out.data, screen.out.len);
    buf_clear(&screen.out);
}

static void move_to(int row, int column)
{
    Buf *out = &screen.out;
    if (row == screen.row && column == screen.column)
        return;
    buf_putc(out, '\r');
    if (row < screen.row)
        buf_printf(out, "\033[%dA", screen.row - row);
    if (row > screen.row)
        buf_fill(out, '\n', (size_t)(row - screen.row));
    if (column > 0)
        buf_printf(out, "\033[%dC", column);
    screen.row = row;
    screen.column = column;
}

static void put_code(uint8_t paint)
{
    if (screen.colours)
        buf_printf(&screen.out, "\033[0%s%sm", codes[paint & ~PAINT_REGION],
                   paint & PAINT_REGION ? ";7" : "");
}

static bool same_look(uint8_t a, uint8_t b)
{
    return strcmp(codes[a & ~PAINT_REGION], codes[b & ~PAINT_REGION]) == 0 &&
           !((a ^ b) & PAINT_REGION);
}

/* Writes a row from a byte on. */
static void put_row(const Frame *f, const Row *row, size_t from)
{
    const char *text = f->text.data + row->at;
    const uint8_t *paint = (const uint8_t *)f->paint.data + row->at;
    uint8_t now = PAINT_PLAIN;
    for (size_t i = from; i < row->len;) {
        size_t end = i + 1;
        while (end < row->len && paint[end] == paint[i])
            end++;
        if (!same_look(paint[i], now))
            put_code(paint[i]);
        now = paint[i];
        buf_put(&screen.out, text + i, end - i);
        i = end;
    }
    if (!same_look(now, PAINT_PLAIN))
        put_code(PAINT_PLAIN);
    screen.column = row->cells;
}

/* Is a cell's first byte there: no byte inside a character, no mark on the one before? */
static bool begins_cell(const char *text, size_t len, size_t at)
{
    size_t next = at;
    if (at >= len)
        return true;
    utf8_next(text, len, &next);
    return ((unsigned char)text[at] & 0xC0) != 0x80 && text_width(text + at, next - at) > 0;
}

/* How many bytes of the row need not be written again: whole cells. */
static size_t same_begin(const Frame *a, const Row *old, const Frame *b, const Row *new)
{
    const char *text = b->text.data + new->at, *before = a->text.data + old->at;
    size_t n = 0, least = old->len < new->len ? old->len : new->len;
    while (n < least && text[n] == before[n] &&
           b->paint.data[new->at + n] == a->paint.data[old->at + n])
        n++;
    if (n == old->len && n == new->len)
        return n;
    while (n > 0 && !(begins_cell(text, new->len, n) && begins_cell(before, old->len, n)))
        n--;
    return n;
}

static void put_frame(void)
{
    Frame *a = screen.shown, *b = screen.next;
    size_t old = a->rows.len / sizeof(Row), count = b->rows.len / sizeof(Row);
    for (size_t i = 0; i < count; i++) {
        const Row *row = (const Row *)(void *)b->rows.data + i;
        const Row *before = i < old ? (const Row *)(void *)a->rows.data + i : NULL;
        size_t same = before ? same_begin(a, before, b, row) : 0;
        if (before && same == row->len && same == before->len)
            continue;
        move_to((int)i, same ? text_width(b->text.data + row->at, same) : 0);
        if (!before)
            buf_puts(&screen.out, "\033[K");
        put_row(b, row, same);
        if (before && before->cells > row->cells)
            buf_puts(&screen.out, "\033[K");
    }
    if (count < old) {
        move_to((int)count, 0);
        buf_puts(&screen.out, "\033[J");
    }
}

static void clear_frame(Frame *f)
{
    buf_clear(&f->text);
    buf_clear(&f->paint);
    buf_clear(&f->rows);
}

/* ---- resizing ---- */
/* xterm, screen and the console cut their lines, the others wrap them anew. */
static bool reflows(void)
{
    const char *term = getenv("TERM");
    if (getenv("TMUX"))
        return true;
    return !getenv("XTERM_VERSION") && !getenv("STY") && !(term && strncmp(term, "linux", 5) == 0);
}

/* The terminal has another size: what it made of the entry is wiped. Better too little of it than
 * a line of somebody else. */
static void follow_size(int width, int height)
{
    int above = screen.row;
    const Row *rows = (const Row *)(void *)screen.shown->rows.data;
    size_t count = screen.shown->rows.len / sizeof(Row);
    if (width < screen.width && reflows()) {
        above = screen.column / width;
        for (int i = 0; i < screen.row && (size_t)i < count; i++)
            above += rows[i].cells ? (rows[i].cells + width - 1) / width : 1;
    }
    above = above < height ? above : height - 1;
    buf_putc(&screen.out, '\r');
    if (above > 0)
        buf_printf(&screen.out, "\033[%dA", above);
    buf_puts(&screen.out, "\033[J");
    clear_frame(screen.shown);
    screen.row = screen.column = 0;
}

static void measure(void)
{
    struct winsize size;
    bool known = ioctl(fileno(rl_outstream), TIOCGWINSZ, &size) == 0;
    int width = known && size.ws_col > 0 ? size.ws_col : 80;
    int height = known && size.ws_row > 0 ? size.ws_row : 24;
    if (screen.width && (width != screen.width || height != screen.height)) {
        follow_size(width, height);
        rl_set_screen_size(height, width);
    }
    screen.width = width;
    screen.height = height;
}

/* ---- drawing ---- */
/* The prompt's codes for the editing mode, as inputrc sets them: cursor shapes mostly. */
static void follow_mode(void)
{
    const char *shown = rl_variable_value("show-mode-in-prompt");
    if (!shown || strcmp(shown, "on") != 0)
        return;
    const char *name = rl_editing_mode == 1 ? "emacs-mode-string"
                     : rl_get_keymap() == vi_movement_keymap ? "vi-cmd-mode-string"
                                                             : "vi-ins-mode-string";
    const char *mode = rl_variable_value(name),
               *codes_begin = mode ? strchr(mode, RL_PROMPT_START_IGNORE) : NULL;
    if (!codes_begin || (screen.mode && strcmp(screen.mode, mode) == 0))
        return;
    free(screen.mode);
    screen.mode = strdup(mode);
    buf_put(&screen.out, codes_begin + 1,
            strcspn(codes_begin + 1, (char[]){ RL_PROMPT_END_IGNORE, '\0' }));
}

/* The frame from `top`, of so many rows; the cursor's place in it. */
static void make_frame(Spot top, int rows, int *point_row, int *point_column)
{
    Frame *f = screen.next;
    size_t last = top.line, count = line_count();
    int seen = -top.row;
    for (; last < count && (seen += rows_of(last)) < rows; last++) {}
    last = last < count ? last : count - 1;
    paint_lines(top.line, last);
    clear_frame(f);
    seen = 0;
    for (size_t i = top.line; i <= last; i++) {
        int first = i == top.line ? top.row : 0;
        Walk w = { .into = f, .first = first, .last = first + rows - seen };
        int n = walk_line(&w, i);
        if (w.point_row >= first) {
            *point_row = seen + w.point_row - first;
            *point_column = w.point_column;
        }
        seen += n - first;
    }
}

static void draw_now(void)
{
    int row = 0, column = 0;
    measure();
    update_lines(rl_line_buffer, (size_t)rl_end);
    choose_top();
    make_frame(screen.top, screen.height, &row, &column);
    follow_mode();
    put_frame();
    move_to(row, column);
    flush_out();
    Frame *old = screen.shown;
    screen.shown = screen.next;
    screen.next = old;
}

/* Where memory is spent, the terminal shows less, and the session goes on. */
static void give_up(void)
{
    err_free(screen.in->ctx.error);
    screen.in->ctx.error = NULL;
    buf_clear(&screen.text);
    buf_clear(&screen.lines);
    buf_clear(&screen.out);
    draw_again();
}

void draw(void)
{
    ErrFrame frame;
    if (!ERR_TRY(&screen.in->ctx, &frame)) {
        give_up();
        return;
    }
    draw_now();
    ERR_END(&screen.in->ctx, &frame);
}

bool draw_is_open(void)
{
    ErrFrame frame;
    if (!ERR_TRY(&screen.in->ctx, &frame)) {
        give_up();
        return false;
    }
    update_lines(rl_line_buffer, (size_t)rl_end);
    ERR_END(&screen.in->ctx, &frame);
    size_t last = line_count() - 1, start = line_at(last)->start;
    Scan scan = line_at(last)->scan;
    colour_line(screen.in, &scan, rl_line_buffer + start, screen.text.len - start, NULL);
    return scan.depth > 0;
}

void draw_again(void)
{
    clear_frame(screen.shown);
    screen.row = screen.column = 0;
}

/* Output may have ended without a newline, and keys typed meanwhile are echoed: a row of spaces
 * ends in the next row exactly if the cursor was not at the begin of one. */
void draw_begin(void)
{
    screen.width = 0;
    draw_again();
    measure();
    screen.top = (Spot){ 0 };
    for (int i = 0; i < screen.width; i++)
        fputc(' ', rl_outstream);
    fputc('\r', rl_outstream);
    fflush(rl_outstream);
}

static void leave(bool new_line)
{
    ErrFrame frame;
    if (!ERR_TRY(&screen.in->ctx, &frame)) {
        give_up();
        return;
    }
    size_t rows = screen.shown->rows.len / sizeof(Row);
    if (rows > 0)
        move_to((int)rows - 1, last_row(screen.shown)->cells);
    if (new_line)
        buf_puts(&screen.out, "\r\n");
    flush_out();
    ERR_END(&screen.in->ctx, &frame);
    draw_again();
}

void draw_leave(void)
{
    screen.left = true;
    draw();
    leave(false);
    screen.left = false;
}

/* All rows of an entry that was seen in part are written anew, if they are not very many. */
static void show_all(void)
{
    int row, column, rows = rows_below((Spot){ 0 }, line_count() - 1, FINISH_MAX + 1);
    if (rows <= screen.height || rows > FINISH_MAX)
        return;
    make_frame((Spot){ 0 }, rows, &row, &column);
    move_to(0, 0);
    buf_puts(&screen.out, "\033[J");
    clear_frame(screen.shown);
    put_frame();
    Frame *old = screen.shown;
    screen.shown = screen.next;
    screen.next = old;
}

void draw_finish(void)
{
    ErrFrame frame;
    rl_point = rl_end;
    rl_deactivate_mark();
    screen.left = true;
    draw();
    if (ERR_TRY(&screen.in->ctx, &frame)) {
        show_all();
        ERR_END(&screen.in->ctx, &frame);
    } else {
        give_up();
    }
    leave(true);
    screen.left = false;
}

void draw_clear(const char *how)
{
    draw_flush(how, strlen(how));
    draw_again();
}

void draw_open(Interp *in)
{
    const char *no_color = getenv("NO_COLOR");
    screen.in = in;
    screen.colours = !(no_color && *no_color);
    screen.shown = &screen.frames[0];
    screen.next = &screen.frames[1];
    Buf *all[] = { &screen.text, &screen.lines, &screen.fresh, &screen.paint, &screen.out,
                   &screen.frames[0].text, &screen.frames[0].paint, &screen.frames[0].rows,
                   &screen.frames[1].text, &screen.frames[1].paint, &screen.frames[1].rows };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        buf_init(all[i], &in->ctx);
}

void draw_close(void)
{
    Buf *all[] = { &screen.text, &screen.lines, &screen.fresh, &screen.paint, &screen.out,
                   &screen.frames[0].text, &screen.frames[0].paint, &screen.frames[0].rows,
                   &screen.frames[1].text, &screen.frames[1].paint, &screen.frames[1].rows };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        buf_free(all[i]);
    free(screen.mode);
    screen.mode = NULL;
}
