/* Cells and dots (picture_screen.h): braille or ASCII, ANSI colours in as few escapes as the
 * line needs. */
#include "builtins/pictures/picture_screen.h"

#include "core/system/ascii.h"
#include "interp/output/output.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- what the terminal can ---- */

bool picture_ascii(void)
{
    const char *asked = getenv("RICCI_PICTURES");
    if (asked && strcmp(asked, "ascii") == 0)
        return true;
    static const char *const names[] = { "LC_ALL", "LC_CTYPE", "LANG" };
    for (int i = 0; i < 3; i++) {
        const char *v = getenv(names[i]);
        if (v && *v)
            return !ascii_casestr(v, "utf-8") && !ascii_casestr(v, "utf8");
    }
    return false;
}

ColorDepth screen_depth(const Interp *in)
{
    const char *true_color = getenv("COLORTERM");
    if (!in->show.color || in->show.width == 0)
        return DEPTH_NONE;
    bool all = true_color && (strstr(true_color, "truecolor") || strstr(true_color, "24bit"));
    return all ? DEPTH_TRUE : DEPTH_256;
}

/* ---- a screen ---- */

Screen screen_new(OpCall *c, int cols, int rows)
{
    Screen s = { cols, rows, NULL, screen_depth(c->in), picture_ascii() };
    size_t count = (size_t)cols * (size_t)rows;
    s.cells = picture_room(c, count, sizeof *s.cells);
    for (size_t i = 0; i < count; i++)
        s.cells[i].ch = ' ';
    return s;
}

void screen_size(OpCall *c, const Figure *f, int *cols, int *rows)
{
    enum { WIDTH_MAX = 100, HEIGHT = 24 };
    const Interp *in = c->in;
    int room = in->show.width > 0 ? in->show.width : 80;
    int high = in->show.height > 0 ? in->show.height - 2 : HEIGHT;
    *cols = room < WIDTH_MAX ? room : WIDTH_MAX;
    *rows = high < HEIGHT ? high : HEIGHT;
    if (f->width) {
        *cols = f->width < room || in->show.width == 0 ? f->width : room;
        *rows = f->height;
    }
    *cols = *cols < SCREEN_LEAST_COLS ? SCREEN_LEAST_COLS : *cols > 1000 ? 1000 : *cols;
    *rows = *rows < SCREEN_LEAST_ROWS ? SCREEN_LEAST_ROWS : *rows > 500 ? 500 : *rows;
}

/* ---- characters ---- */

uint32_t picture_next(const char *text, size_t *at)
{
    uint32_t ch = utf8_next(text, strlen(text), at);
    if ((ch >= 0xd800 && ch < 0xe000) || (ch >= 0xfdd0 && ch < 0xfdf0) || (ch & 0xfffe) == 0xfffe)
        return 0xfffd;                       /* no characters: cairo takes no text with them */
    bool control = ch < 0x20 || (ch >= 0x7f && ch < 0xa0);
    bool turns = (ch >= 0x200e && ch <= 0x200f) || (ch >= 0x202a && ch <= 0x202e);
    return control || turns ? 0xfffd : ch;
}

uint32_t picture_lowered(uint32_t ch)
{
    static const uint32_t raised[] =
        { 0x2070, 0xb9, 0xb2, 0xb3, 0x2074, 0x2075, 0x2076, 0x2077, 0x2078,
                                       0x2079 };
    for (uint32_t i = 0; i < 10; i++)
        if (raised[i] == ch)
            return '0' + i;
    return ch == 0x207b ? 0x2212 : 0;
}

size_t picture_utf8(char out[4], uint32_t ch)
{
    size_t n = ch < 0x80 ? 1 : ch < 0x800 ? 2 : ch < 0x10000 ? 3 : 4;
    if (n == 1) {
        out[0] = (char)ch;
        return n;
    }
    for (size_t i = n - 1; i > 0; i--, ch >>= 6)
        out[i] = (char)(0x80 | (ch & 0x3f));
    out[0] = (char)((0xf0u << (4 - n)) | ch);
    return n;
}

/* Where the terminal has ASCII only: what a label may hold that has a near relative there. */
static uint32_t plain(uint32_t ch)
{
    ch = picture_lowered(ch) ? picture_lowered(ch) : ch;
    if (ch < 0x80)
        return ch;
    return ch == 0x2212 ? '-' : ch == 0xd7 ? 'x' : ch == 0xb7 ? '*' : '?';
}

static int width_of(uint32_t ch)
{
    char utf8[4];
    return ch < 0x80 ? 1 : text_width(utf8, picture_utf8(utf8, ch));
}

int screen_width(const Screen *s, const char *text)
{
    int width = 0;
    for (size_t at = 0; text[at];) {
        uint32_t ch = picture_next(text, &at);
        width += s->ascii ? 1 : width_of(ch);
    }
    return width;
}

void screen_char(Screen *s, int col, int row, uint32_t ch, const Rgb *ink)
{
    if (col < 0 || col >= s->cols || row < 0 || row >= s->rows)
        return;
    Cell *cell = &s->cells[row * s->cols + col];
    cell->ch = ch;
    if (ink) {
        cell->fg = *ink;
        cell->has_fg = true;
    }
}

int screen_text(Screen *s, int col, int row, const char *text, const Rgb *ink)
{
    int from = col;
    for (size_t at = 0; text[at];) {
        uint32_t ch = picture_next(text, &at);
        if (s->ascii)
            ch = plain(ch);
        int width = s->ascii ? 1 : width_of(ch);
        if (width == 0 || col + width > s->cols)
            continue;
        screen_char(s, col, row, ch, ink);
        if (width == 2)
            screen_char(s, col + 1, row, 0, NULL);
        col += width;
    }
    return col - from;
}

/* ---- writing ---- */

/* The nearest of the 6×6×6 colours and 24 greys of 256. */
static int index_256(Rgb c)
{
    static const int steps[] = { 0, 95, 135, 175, 215, 255 };
    int v[3] = { c.r, c.g, c.b }, near[3], cube = 0, grey = (c.r + c.g + c.b) / 3;
    for (int k = 0; k < 3; k++) {
        near[k] = 0;
        for (int i = 1; i < 6; i++)
            if (abs(steps[i] - v[k]) < abs(steps[near[k]] - v[k]))
                near[k] = i;
        cube += (steps[near[k]] - v[k]) * (steps[near[k]] - v[k]);
    }
    int level = grey < 8 ? 0 : grey > 238 ? 23 : (grey - 8 + 5) / 10,
        shade = 8 + 10 * level, far = 0;
    for (int k = 0; k < 3; k++)
        far += (shade - v[k]) * (shade - v[k]);
    return far < cube ? 232 + level : 16 + 36 * near[0] + 6 * near[1] + near[2];
}

static void put_color(Buf *out, ColorDepth depth, int what, Rgb c)
{
    if (depth == DEPTH_TRUE)
        buf_printf(out, "\033[%d;2;%d;%d;%dm", what, c.r, c.g, c.b);
    else
        buf_printf(out, "\033[%d;5;%dm", what, index_256(c));
}

static bool same(const Cell *a, const Cell *b)
{
    return a->has_fg == b->has_fg && a->has_bg == b->has_bg &&
           (!a->has_fg || memcmp(&a->fg, &b->fg, sizeof a->fg) == 0) &&
           (!a->has_bg || memcmp(&a->bg, &b->bg, sizeof a->bg) == 0);
}

static void put_row(Buf *out, const Screen *s, const Cell *row)
{
    int end = s->cols;
    Cell plain_cell = { 0 }, now = plain_cell;
    while (end > 0 && row[end - 1].ch == ' ' && !row[end - 1].has_bg)
        end--;
    for (int i = 0; i < end; i++) {
        const Cell *c = &row[i];
        if (c->ch == 0)
            continue;
        bool blank = c->ch == ' ' && !c->has_bg && !now.has_bg;
        if (s->depth != DEPTH_NONE && !blank && !same(c, &now)) {
            if (now.has_fg || now.has_bg)
                buf_puts(out, "\033[0m");
            if (c->has_fg)
                put_color(out, s->depth, 38, c->fg);
            if (c->has_bg)
                put_color(out, s->depth, 48, c->bg);
            now = *c;
        }
        buf_put_codepoint(out, c->ch);
    }
    if (now.has_fg || now.has_bg)
        buf_puts(out, "\033[0m");
    buf_putc(out, '\n');
}

void screen_write(OpCall *c, const Screen *s, Buf *to)
{
    Buf *line = &c->in->scratch;
    for (int i = 0; i < s->rows; i++) {
        buf_clear(line);
        put_row(line, s, s->cells + (size_t)i * s->cols);
        if (to)
            buf_put(to, line->data, line->len);
        else
            out_write(c->in, line->data, line->len);
    }
}

/* ---- dots ---- */

Canvas canvas_new(OpCall *c, Screen *s, int left, int top, int cols, int rows)
{
    Canvas k = { s, left, top, cols, rows, s->ascii ? 1 : 2, s->ascii ? 2 : 4, NULL, { 0 } };
    k.dots = picture_room(c, (size_t)cols * rows, 1);
    return k;
}

void canvas_dot(Canvas *k, int x, int y)
{
    static const uint8_t braille[4][2] = { { 1, 8 }, { 2, 16 }, { 4, 32 }, { 64, 128 } };
    static const char two[] = " '.:";
    if (x < 0 || y < 0 || x >= k->cols * k->dx || y >= k->rows * k->dy)
        return;
    int col = x / k->dx, row = y / k->dy, at = row * k->cols + col;
    if (k->screen->ascii) {
        k->dots[at] |= (uint8_t)(1 << y % k->dy);
        screen_char(k->screen, k->left + col, k->top + row, (uint32_t)two[k->dots[at]], &k->ink);
    } else {
        uint32_t there = k->screen->cells[(k->top + row) * k->screen->cols + k->left + col].ch;
        k->dots[at] |= braille[y % k->dy][x % k->dx];
        /* of the series below */
        k->dots[at] |= (there & ~0xffu) == 0x2800 ? (uint8_t)there : 0;
        screen_char(k->screen, k->left + col, k->top + row, 0x2800u + k->dots[at], &k->ink);
    }
}

/* Bresenham's line. */
void canvas_line(Canvas *k, int x0, int y0, int x1, int y1)
{
    int dx = abs(x1 - x0), dy = -abs(y1 - y0), sx = x0 < x1 ? 1 : -1, sy = y0 < y1 ? 1 : -1,
        off = dx + dy;
    for (;;) {
        canvas_dot(k, x0, y0);
        if (x0 == x1 && y0 == y1)
            return;
        int twice = 2 * off;
        if (twice >= dy) {
            off += dy;
            x0 += sx;
        }
        if (twice <= dx) {
            off += dx;
            y0 += sy;
        }
    }
}

void canvas_mark(Canvas *k, int x, int y, uint32_t ch)
{
    if (x >= 0 && y >= 0 && x < k->cols * k->dx && y < k->rows * k->dy)
        screen_char(k->screen, k->left + x / k->dx, k->top + y / k->dy, ch, &k->ink);
}
