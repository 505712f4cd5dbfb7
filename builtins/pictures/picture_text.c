/* A figure in characters: lines and points as braille dots, cells as half blocks or shades, bars
 * in eighths, with axes, legend and scale around them. Without colours series are told apart by
 * marks on them, levels by letters; where the locale is not UTF-8 all is ASCII. */
#include "builtins/pictures/picture_screen.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LEGEND_LINES = 4, FEW_POINTS = 200 };

typedef struct Layout {
    OpCall *call;
    const Figure *f;
    Screen screen;
    Axis x, y;               /* as drawn */
    Ticks xt, yt, st;        /* of the axes and the scale */
    int left, top;           /* of the canvas, in cells */
    int cols, rows;
    int legend_lines, legend_width;
    int bar;                 /* width of the scale with its labels; 0: none */
    bool colors;
} Layout;

static const Rgb dim = { 138, 138, 138 };

/* ---- marks of series ---- */

static uint32_t mark_of(const Layout *l, int style)
{
    static const uint32_t marks[] =
        { 0x25cf, 0x25b2, 0x25a0, 0x25c6, 0x25cb, 0x25b3, 0x25a1, 0x25c7 };
    static const char plain_marks[] = "*+ox#@%&";
    return l->screen.ascii ? (uint32_t)plain_marks[style % 8] : marks[style % 8];
}

static uint32_t letter_of(int style)
{
    return (uint32_t)((style % 52 < 26 ? 'a' : 'A') + style % 26);
}

static bool is_contour(const Figure *f) { return f->count > 0 && f->series[0].kind == MARK_LEVEL; }

/* Are the series to be told apart by marks? */
static bool needs_marks(const Layout *l) { return !l->colors && l->f->count > 1; }

static Rgb ink_of(const Layout *l, const Series *s)
{
    Rgb c = style_color(s->style, false);
    if (s->kind == MARK_LEVEL)
        scale_color(&l->f->scale, s->level, &c);
    return c;
}

/* ---- legend ---- */

static bool has_legend(const Layout *l)
{
    const Figure *f = l->f;
    if (is_contour(f))
        return !l->colors && f->count > 1;
    return f->legend && (f->count > 1 || (f->count == 1 && *f->series[0].label));
}

static uint32_t legend_mark(const Layout *l, const Series *s)
{
    if (s->kind == MARK_LEVEL)
        return letter_of(s->style);
    if (!l->colors)
        return mark_of(l, s->style);
    bool box = s->kind == MARK_BARS || s->kind == MARK_COLUMNS;
    return s->kind == MARK_POINTS ? 0x2022 : box ? 0x2588 : 0x2501;
}

/* Entries `● sin` side by side, in as many lines as are there; counts lines where !draw. */
static int legend(Layout *l, int row, bool draw)
{
    int lines = 1, col = 0, room = l->screen.cols - l->left;
    for (int i = 0; i < l->f->count; i++) {
        const Series *s = &l->f->series[i];
        int width = screen_width(&l->screen, s->label) + 2;
        width = width > room ? room : width;
        if (col && col + 3 + width > room) {
            lines++;
            col = 0;
        }
        if (lines > LEGEND_LINES)
            return LEGEND_LINES;
        col += col ? 3 : 0;
        if (draw) {
            Rgb ink = ink_of(l, s);
            uint32_t mark = legend_mark(l, s);
            screen_char(&l->screen, l->left + col, row + lines - 1,
                        l->screen.ascii && mark > 127 ? '*' : mark, &ink);
            screen_text(&l->screen, l->left + col + 2, row + lines - 1, s->label, NULL);
        }
        col += width;
    }
    return lines;
}

/* ---- axes ---- */

static int widest(const Screen *s, const Ticks *t)
{
    int most = 0;
    for (int i = 0; i < t->count; i++) {
        int w = screen_width(s, t->tick[i].text);
        most = w > most ? w : most;
    }
    return most;
}

static void put_y_axis(Layout *l)
{
    Screen *s = &l->screen;
    bool ascii = s->ascii;
    for (int r = 0; r < l->rows; r++)
        screen_char(s, l->left - 1, l->top + r, ascii ? '|' : 0x2502, &dim);
    for (int i = 0; i < l->yt.count; i++) {
        double t = axis_fraction(&l->y, l->yt.tick[i].at);
        int row = (int)floor((1 - t) * l->rows * (1 - 1e-12));
        row = row < 0 ? 0 : row >= l->rows ? l->rows - 1 : row;
        int width = screen_width(s, l->yt.tick[i].text);
        screen_char(s, l->left - 1, l->top + row, ascii ? '+' : 0x2524, &dim);
        screen_text(s, l->left - 2 - width, l->top + row, l->yt.tick[i].text, NULL);
    }
}

static int x_column(const Layout *l, double v)
{
    int col = (int)floor(axis_fraction(&l->x, v) * l->cols * (1 - 1e-12));
    return col < 0 ? 0 : col >= l->cols ? l->cols - 1 : col;
}

static void put_x_axis(Layout *l)
{
    Screen *s = &l->screen;
    int row = l->top + l->rows, free_from = 0;
    screen_char(s, l->left - 1, row, s->ascii ? '+' : 0x2514, &dim);
    for (int i = 0; i < l->cols; i++)
        screen_char(s, l->left + i, row, s->ascii ? '-' : 0x2500, &dim);
    for (int i = 0; i < l->xt.count; i++) {
        int col = l->left + x_column(l, l->xt.tick[i].at),
            width = screen_width(s, l->xt.tick[i].text);
        screen_char(s, col, row, s->ascii ? '+' : 0x252c, &dim);
        int at = col - width / 2;
        at = at + width > s->cols ? s->cols - width : at < 0 ? 0 : at;
        if (at < free_from)
            continue;
        screen_text(s, at, row + 1, l->xt.tick[i].text, NULL);
        free_from = at + width + 1;
    }
    if (l->xt.exponent) {
        char power[TICK_TEXT];
        tick_factor(power, l->xt.exponent);
        int at = s->cols - screen_width(s, power);
        if (at >= free_from)
            screen_text(s, at, row + 1, power, NULL);
    }
}

/* ---- lines, points, bars ---- */

typedef struct Drawing {
    Layout *l;
    Canvas canvas;
    const Series *s;
    int x, y;
    int marked;              /* the last column with a mark */
    int ends[2];             /* of a band, at x */
} Drawing;

/* A mark in every fifth of the width, each series at columns of its own. */
static void mark_along(Drawing *d, int x, int y)
{
    int col = x / d->canvas.dx, period = d->l->cols / 5 > 4 ? d->l->cols / 5 : 4,
        phase = d->s->style * 3 % period;
    int k = (col - phase + 100 * period) / period;
    if (k == d->marked || !needs_marks(d->l) || d->s->kind != MARK_LINE || d->s->points)
        return;
    d->marked = k;
    canvas_mark(&d->canvas, x, y, mark_of(d->l, d->s->style));
}

static void draw_to(void *arg, double x, double y, bool start)
{
    Drawing *d = arg;
    int px = (int)lrint(x), py = (int)lrint(y);
    if (start)
        canvas_dot(&d->canvas, px, py);
    else
        canvas_line(&d->canvas, d->x, d->y, px, py);
    d->x = px;
    d->y = py;
}

static void mark_to(void *arg, double x, double y, bool start)
{
    Drawing *d = arg;
    int px = (int)lrint(x), py = (int)lrint(y);
    if (!start && needs_marks(d->l))
        for (int i = 0, n = abs(px - d->x); i <= n; i++)
            mark_along(d, d->x + (px > d->x ? i : -i), n ? d->y + (py - d->y) * i / n : py);
    d->x = px;
    d->y = py;
}

static void point_to(void *arg, double x, double y, bool start)
{
    Drawing *d = arg;
    (void)start;
    if (!needs_marks(d->l) && d->s->kind == MARK_POINTS && d->s->n <= FEW_POINTS)
        canvas_mark(&d->canvas, (int)lrint(x), (int)lrint(y), d->l->screen.ascii ? '*' : 0x2022);
    else if (needs_marks(d->l) || d->s->kind == MARK_LINE)
        canvas_mark(&d->canvas, (int)lrint(x), (int)lrint(y),
                    mark_of(d->l, needs_marks(d->l) ? d->s->style : 0));
    else
        canvas_dot(&d->canvas, (int)lrint(x), (int)lrint(y));
}

/* Errors are lines of dots, the edges of a band every third dot. */
static void error_to(void *arg, double x, double top, double bottom, bool start)
{
    Drawing *d = arg;
    int px = (int)lrint(x);
    (void)start;
    canvas_line(&d->canvas, px, (int)lrint(top), px, (int)lrint(bottom));
}

static void band_to(void *arg, double x, double top, double bottom, bool start)
{
    Drawing *d = arg;
    int from = start ? (int)lrint(x) : d->x, to = (int)lrint(x), ends[2];
    ends[0] = (int)lrint(top), ends[1] = (int)lrint(bottom);
    for (int k = 0; k < 2; k++)
        for (int i = from; i <= to; i++)
            if (i % 3 == 0)
                canvas_dot(&d->canvas, i, to == from ? ends[k] : d->ends[k] + (ends[k] - d->ends[k])
                                          * (i - from) / (to - from));
    d->x = to;
    d->ends[0] = ends[0], d->ends[1] = ends[1];
}

static void lonely_to(void *arg, double x, double y, bool start)
{
    Drawing *d = arg;
    (void)start;
    canvas_mark(&d->canvas, (int)lrint(x), (int)lrint(y),
                needs_marks(d->l) ? mark_of(d->l, d->s->style) : d->l->screen.ascii ? '*' : 0x2022);
}

static View canvas_view(const Canvas *k)
{
    return (View){ 0, 0, k->cols * k->dx - 1, k->rows * k->dy - 1, 1 };
}

static void put_letter(Drawing *d, const View *v)
{
    const Series *s = d->s;
    int64_t i = s->n / 2;
    if (s->n < 2)
        return;
    i -= isnan(s->y[i * s->sy]);                /* between two lines */
    double x = view_x(v, &d->l->x, s->x[i * s->sx]), y = view_y(v, &d->l->y, s->y[i * s->sy]);
    canvas_mark(&d->canvas, (int)lrint(x), (int)lrint(y), letter_of(s->style));
}

/* The outline of a histogram as a line. */
static Series outline(const Layout *l, const Series *s)
{
    double *xy = picture_room(l->call, (size_t)(2 * s->n + 2), 2 * sizeof *xy), *p = xy,
           floor_y = l->y.lo;
    *p++ = s->x[0], *p++ = floor_y;
    for (int64_t i = 0; i < s->n; i++)
        for (int side = 0; side < 2; side++) {
            *p++ = s->x[i + side];
            *p++ = fmax(s->y[i], floor_y);
        }
    *p++ = s->x[s->n], *p++ = floor_y;
    Series line = *s;
    line.kind = MARK_LINE;
    line.x = xy, line.y = xy + 1, line.sx = line.sy = 2, line.n = 2 * s->n + 2;
    return line;
}

/* How much of a cell, in eighths, lies between two heights in eighths: its ink, from below where
 * the column goes up, from above where it hangs. */
static uint32_t column_part(const Layout *l, int from, int to, bool hangs)
{
    int part = to - from;
    if (part <= 0)
        return 0;
    if (l->screen.ascii)
        return part >= 6 ? '#' : part >= 3 ? '=' : hangs ? '"' : '_';
    if (hangs)
        return part >= 6 ? 0x2588 : part >= 3 ? 0x2580 : 0x2594;
    return 0x2580u + (uint32_t)part;
}

static void put_column(Layout *l, int c0, int c1, double foot, double end, const Series *s)
{
    int high = 8 * l->rows, a = 8 * (int)lrint(fmin(fmax(foot, 0), 1) * l->rows),
        up = (int)lrint((fmin(fmax(end, 0), 1) - fmin(fmax(foot, 0), 1)) * high),
        b = a + up < 0 ? 0 : a + up > high ? high : a + up, lo = a < b ? a : b, hi = a < b ? b : a;
    Rgb ink = style_color(s->style, false);
    if (lo == hi)                            /* what is small is seen all the same */
        hi = lo < high ? lo + 1 : lo--;
    for (int r = lo / 8; r < l->rows && 8 * r < hi; r++) {
        int from = lo > 8 * r ? lo : 8 * r, to = hi < 8 * r + 8 ? hi : 8 * r + 8;
        uint32_t ch = column_part(l, from, to, b < a);
        for (int col = c0; ch && col <= c1; col++)
            screen_char(&l->screen, l->left + col, l->top + l->rows - 1 - r, ch, &ink);
    }
    int tip = (b < a ? lo : hi - 1) / 8;
    if (needs_marks(l))
        screen_char(&l->screen, l->left + (c0 + c1) / 2, l->top + l->rows - 1 - tip,
                    mark_of(l, s->style), &ink);
}

static void put_columns(Layout *l, const Series *s)
{
    double foot = l->f->y.log ? 0 : axis_fraction(&l->y, 0);
    for (int64_t i = 0; i < s->n; i++) {
        double x = (s->x ? s->x[i * s->sx] : (double)i) + s->shift, y = s->y[i * s->sy];
        if ((i & 0xffff) == 0xffff)
            poll_interrupt(l->call->in);
        if (!isfinite(x) || !isfinite(y) || (l->f->y.log && y <= 0))
            continue;
        double x0 = axis_fraction(&l->x, x - s->width / 2) * l->cols;
        double x1 = axis_fraction(&l->x, x + s->width / 2) * l->cols;
        if (!(x1 > 0 && x0 < l->cols))
            continue;
        int c0 = (int)lrint(fmax(x0, 0)), c1 = (int)lrint(fmin(x1, l->cols)) - 1;
        c0 = c0 < l->cols ? c0 : l->cols - 1;
        put_column(l, c0, c1 < c0 ? c0 : c1, foot, axis_fraction(&l->y, y), s);
    }
}

static void put_series(Layout *l, const Series *given)
{
    Series line = given->kind == MARK_BARS ? outline(l, given) : *given;
    Drawing d =
        { .l = l, .canvas = canvas_new(l->call, &l->screen, l->left, l->top, l->cols, l->rows),
                  .s = &line, .marked = -1 };
    d.canvas.ink = ink_of(l, given);
    View v = canvas_view(&d.canvas);
    Figure shown = *l->f;
    shown.x = l->x, shown.y = l->y;
    if (line.band[0])
        series_spans(&shown, &line, &v, false, band_to, &d);
    if (line.error[0])
        series_spans(&shown, &line, &v, true, error_to, &d);
    if (line.kind == MARK_LINE || line.kind == MARK_LEVEL) {
        series_path(&shown, &line, &v, draw_to, &d);
        if (needs_marks(l) && line.kind == MARK_LINE)
            series_path(&shown, &line, &v, mark_to, &d);
    }
    if (line.kind == MARK_LINE && !line.points)
        series_lonely(&shown, &line, &v, lonely_to, &d);
    if (line.kind == MARK_POINTS || line.points)
        series_points(&shown, &line, &v, point_to, &d);
    if (line.kind == MARK_LEVEL && has_legend(l))
        put_letter(&d, &v);
}

/* ---- words and arrows ---- */

/* The sign of a direction, in eighths of a turn from east by north. */
static uint32_t head_of(const Layout *l, double dx, double dy)
{
    static const uint32_t heads[] =
        { 0x2192, 0x2197, 0x2191, 0x2196, 0x2190, 0x2199, 0x2193, 0x2198 };
    static const char plain_heads[] = ">/^\\</v\\";
    int k = ((int)lrint(atan2(-dy, dx) / M_PI * 4) + 8) % 8;
    return l->screen.ascii ? (uint32_t)plain_heads[k] : heads[k];
}

/* Beside its point where there is room, else on the other side of it. */
static void put_text(Drawing *d, const Word *w)
{
    Layout *l = d->l;
    int at = l->left + (int)lrint(w->x) / d->canvas.dx, width = screen_width(&l->screen, w->text);
    int left = at - width - 1, right = at + 2, last = l->left + l->cols - width;
    int col = w->side == 0 ? at - (width - 1) / 2 : w->side < 0 ? left : right;
    if (w->side && (col < l->left || col > last))
        col = col == left ? right : left;
    col = col > last ? last : col;
    screen_text(&l->screen, col < l->left ? l->left : col,
                l->top + (int)lrint(w->y) / d->canvas.dy, w->text, NULL);
}

static void word_to(void *arg, const Word *w)
{
    Drawing *d = arg;
    int x = (int)lrint(w->to[0]), y = (int)lrint(w->to[1]);
    if (w->arrow)
        canvas_line(&d->canvas, (int)lrint(w->from[0]), (int)lrint(w->from[1]), x, y);
    if (w->head)
        canvas_mark(&d->canvas, x, y, head_of(d->l, w->to[0] - w->from[0], w->to[1] - w->from[1]));
    if (w->text)
        put_text(d, w);
}

/* Over all that is drawn. */
static void put_notes(Layout *l)
{
    const Figure *f = l->f;
    Drawing d =
        { .l = l, .canvas = canvas_new(l->call, &l->screen, l->left, l->top, l->cols, l->rows) };
    View v = canvas_view(&d.canvas);
    Figure shown = *f;
    shown.x = l->x, shown.y = l->y;
    for (int i = 0; i < f->count + f->note_count; i++) {
        bool note = i >= f->count;
        const Series *s = note ? &f->notes[i - f->count] : &f->series[i];
        d.canvas.ink = note ? dim : ink_of(l, s);
        series_words(&shown, s, &v, note, word_to, &d);
    }
}

/* The highest bar over a column of cells. */
static double column_height(const Layout *l, const Series *s, int col)
{
    double best = -INFINITY, lo = (double)col / l->cols, hi = (double)(col + 1) / l->cols;
    double middle = (lo + hi) / 2;
    for (int64_t k = 0; k < s->n; k++) {
        double a = axis_fraction(&l->x, s->x[k]), b = axis_fraction(&l->x, s->x[k + 1]);
        if ((a <= middle && middle < b) || (a >= lo && b <= hi))
            best = fmax(best, s->y[k]);
    }
    return best;
}

static void put_bars(Layout *l, const Series *s)
{
    Rgb ink = style_color(0, false);
    for (int col = 0; col < l->cols; col++) {
        double h = column_height(l, s, col);
        poll_interrupt(l->call->in);
        if (!(h > l->y.lo))
            continue;
        int eighths = (int)lrint(fmin(axis_fraction(&l->y, h), 1) * l->rows * 8);
        eighths = eighths < 1 ? 1 : eighths;
        for (int r = 0; r < l->rows && 8 * r < eighths; r++) {
            int part = eighths - 8 * r > 8 ? 8 : eighths - 8 * r;
            uint32_t plain = part >= 6 ? '#' : part >= 3 ? '=' : '_';
            uint32_t ch = l->screen.ascii ? plain : 0x2580u + (uint32_t)part;
            screen_char(&l->screen, l->left + col, l->top + l->rows - 1 - r, ch, &ink);
        }
    }
}

/* ---- cells ---- */

static double pixel_value(const Layout *l, int px, int py, int across, int down)
{
    const Cells *c = &l->f->cells;
    int64_t row, rows, col, cols;
    if (py >= down)
        return NAN;
    cells_part(c->rows, down, py, &row, &rows);
    cells_part(c->cols, across, px, &col, &cols);
    return cells_block(c, row, rows, col, cols);
}

static uint32_t shade_of(const Layout *l, double v)
{
    static const uint32_t shades[] = { ' ', 0x2591, 0x2592, 0x2593, 0x2588 };
    static const char plain_shades[] = " .:-=+*#%@";
    Rgb c;
    if (!scale_color(&l->f->scale, v, &c))
        return l->screen.ascii ? '?' : 0xd7;
    double t = fmin(fmax(axis_fraction(&l->f->scale.axis, v), 0), 1);
    return l->screen.ascii ? (uint32_t)plain_shades[(int)fmin(t * 10, 9)]
                           : shades[(int)fmin(t * 5, 4)];
}

/* Two pixels, one above the other, in one cell. */
static void put_half_blocks(Layout *l, int col, int row, double above, double below)
{
    Cell *cell = &l->screen.cells[(l->top + row) * l->screen.cols + l->left + col];
    bool up = scale_color(&l->f->scale, above, &cell->fg),
         down = scale_color(&l->f->scale, below, &cell->bg);
    cell->ch = up ? 0x2580 : down ? 0x2584 : ' ';
    cell->has_fg = up || down;
    cell->has_bg = up && down;
    if (!up && down)
        cell->fg = cell->bg;
}

static void put_cells(Layout *l)
{
    const Cells *c = &l->f->cells;
    for (int row = 0; row < l->rows; row++) {
        poll_interrupt(l->call->in);
        for (int col = 0; col < l->cols; col++) {
            if (l->colors && !l->screen.ascii) {
                int down = 2 * l->rows - (c->rows == 2 * l->rows - 1);
                put_half_blocks(l, col, row, pixel_value(l, col, 2 * row, l->cols, down),
                                pixel_value(l, col, 2 * row + 1, l->cols, down));
            } else {
                double v = pixel_value(l, col, row, l->cols, l->rows);
                screen_char(&l->screen, l->left + col, l->top + row, shade_of(l, v), NULL);
            }
        }
    }
}

/* A dot for a block with any entry; where that would be most of them, as many as say how many
 * entries there are: dots by order of a 4 × 4 square. */
static bool dense_enough(const CellBins *b, int x, int y, int across, int down)
{
    static const uint8_t order[4][4] = {
        { 0, 8, 2, 10 }, { 12, 4, 14, 6 }, { 3, 11, 1, 9 }, { 15, 7, 13, 5 }
    };
    double n = cells_bin(b, y, down, x, across);
    if (2 * b->full <= b->rows * b->cols || b->most == 1)
        return n > 0;
    return n > b->most * (order[y % 4][x % 4] + 0.5) / 16;
}

static void put_pattern(Layout *l)
{
    Canvas k = canvas_new(l->call, &l->screen, l->left, l->top, l->cols, l->rows);
    k.ink = style_color(0, false);
    int across = l->cols * k.dx, down = l->rows * k.dy;
    CellBins bins = cells_bins(l->call, &l->f->cells, down, across);
    for (int y = 0; y < down; y++) {
        poll_interrupt(l->call->in);
        for (int x = 0; x < across; x++)
            if (bins.count ? dense_enough(&bins, x, y, across, down)
                           : pixel_value(l, x, y, across, down) > 0)
                canvas_dot(&k, x, y);
    }
}

/* ---- the scale ---- */

static void put_scale(Layout *l)
{
    Screen *s = &l->screen;
    int at = l->left + l->cols + 2;
    if (!l->bar)
        return;
    const Axis *a = &l->f->scale.axis;
    for (int r = 0; r < l->rows; r++)
        for (int k = 0; k < 2; k++) {
            double up = 1 - (r + 0.25) / l->rows, down = 1 - (r + 0.75) / l->rows;
            Cell *cell = &s->cells[(l->top + r) * s->cols + at + k];
            if (l->colors && !s->ascii) {
                *cell = (Cell){ 0x2580, map_color(l->f->scale.map, up),
                                map_color(l->f->scale.map, down), true, true };
            } else {
                double t = 1 - (r + 0.5) / l->rows;
                double power = a->log_lo + t * (a->log_hi - a->log_lo);
                cell->ch = shade_of(l, a->log ? pow(10, power) : a->lo * (1 - t) + a->hi * t);
            }
        }
    for (int i = 0; i < l->st.count; i++) {
        int row = (int)floor((1 - axis_fraction(a, l->st.tick[i].at)) * l->rows * (1 - 1e-12));
        row = row < 0 ? 0 : row >= l->rows ? l->rows - 1 : row;
        screen_text(s, at + 3, l->top + row, l->st.tick[i].text, NULL);
    }
    if (l->st.exponent) {
        char power[TICK_TEXT];
        tick_factor(power, l->st.exponent);
        screen_text(s, at, l->top + l->rows, power, NULL);
    }
}

/* ---- layout ---- */

/* Cells of a matrix keep their shape: a character is twice as high as wide. */
static void fit_cells(Layout *l)
{
    const Cells *c = &l->f->cells;
    int dx = 1, dy = 2;
    if (c->pattern && !l->screen.ascii)
        dx = 2, dy = 4;
    double across = l->cols * dx, down = l->rows * dy, rows = (double)c->rows,
           cols = (double)c->cols;
    bool long_one = cols > 8 * rows || rows > 8 * cols;
    if (long_one) {                          /* a row or a column fills what there is */
        double sx = floor(across / cols), sy = floor(down / rows);
        l->cols = sx >= 1 ? (int)(cols * sx / dx + 0.999) : l->cols;
        l->rows = sy >= 1 ? (int)fmin(l->rows, fmax(1, rows * fmin(sy, 4) / dy + 0.999)) : l->rows;
        return;
    }
    double s = fmin(across / cols, down / rows);
    if (s >= 1)
        s = s >= 2 && !(c->pattern && !l->screen.ascii) ? 2 * floor(s / 2) : floor(s);
    l->cols = (int)fmax(1, fmin(l->cols, ceil(cols * s / dx - 1e-9)));
    l->rows = (int)fmax(1, fmin(l->rows, ceil(rows * s / dy - 1e-9)));
}

static void fit_equal(Layout *l)
{
    double wide = l->cols, high = l->rows * 2.0, rx = l->x.hi - l->x.lo, ry = l->y.hi - l->y.lo;
    double s = fmin(wide / rx, high / ry);
    if (!l->f->equal || l->x.log || l->y.log || !isfinite(s) || !(s > 0))
        return;
    l->cols = (int)fmax(10, round(rx * s));
    l->rows = (int)fmax(4, round(ry * s / 2));
}

/* One for three rows; labels that would take most of the width are cut. */
static void y_ticks(Layout *l)
{
    int wide = l->screen.cols / 3;
    axis_ticks(&l->f->y, l->rows / 3 < 2 ? 2 : l->rows / 3, &l->yt);
    l->left = widest(&l->screen, &l->yt) + 2;
    l->left = l->left > wide ? wide : l->left;
}

static void measure(Layout *l)
{
    const Figure *f = l->f;
    Screen *s = &l->screen;
    bool power_line;
    axis_ticks(&f->y, s->rows / 4 < 3 ? 3 : s->rows / 4, &l->yt);
    l->left = widest(s, &l->yt) + 2;
    power_line = *f->y.label || l->yt.exponent;
    l->legend_lines = has_legend(l) ? legend(l, 0, false) : 0;
    l->top = (*f->title ? 1 : 0) + l->legend_lines + power_line;
    l->rows = s->rows - l->top - 2 - (*f->x.label ? 1 : 0);
    l->rows = l->rows < 2 ? 2 : l->rows;
    y_ticks(l);
    if (figure_has_scale(f) && f->scale.bar && (l->colors || f->cells.z)) {
        axis_ticks(&f->scale.axis, l->rows / 4 < 3 ? 3 : l->rows / 4, &l->st);
        l->bar = widest(s, &l->st) + 5;
    }
    l->cols = s->cols - l->left - l->bar;
    if (l->cols < 8) {
        l->cols += l->bar;
        l->bar = 0;
    }
    l->cols = l->cols < 4 ? 4 : l->cols;
    if (f->cells.z)
        fit_cells(l);
    else
        fit_equal(l);
    y_ticks(l);
}

/* Bars of one width: as many columns as there is room for, the same for each. */
static void fit_bars(Layout *l)
{
    const Figure *f = l->f;
    const Series *s = f->count == 1 ? &f->series[0] : NULL;
    if (s && s->kind == MARK_BARS && s->n <= l->cols && f->x.lo == s->x[0] && f->x.hi == s->x[s->n])
        l->cols = (int)(s->n * (l->cols / s->n));
}

static void put_words(Layout *l)
{
    Screen *s = &l->screen;
    const Figure *f = l->f;
    int row = 0, width = screen_width(s, f->title), at = l->left + (l->cols - width) / 2;
    if (*f->title)
        screen_text(s, at < 0 ? 0 : at, row++, f->title, NULL);
    if (l->legend_lines)
        legend(l, row, true);
    row += l->legend_lines;
    if (*f->y.label || l->yt.exponent) {
        char power[TICK_TEXT] = "";
        if (l->yt.exponent)
            tick_factor(power, l->yt.exponent);
        int used = screen_text(s, 0, row, f->y.label, NULL);
        screen_text(s, used ? used + 2 : l->left - 1, row, power, NULL);
    }
    width = screen_width(s, f->x.label);
    at = l->left + (l->cols - width) / 2;
    if (*f->x.label)
        screen_text(s, at < 0 ? 0 : at, l->top + l->rows + 2, f->x.label, NULL);
}

Screen text_screen(OpCall *c, const Figure *f, int cols, int rows)
{
    Layout *l = picture_room(c, 1, sizeof *l);
    *l = (Layout){ .call = c, .f = f, .x = f->x, .y = f->y };
    l->screen = (Screen){ cols, rows, NULL, screen_depth(c->in), picture_ascii() };
    l->colors = l->screen.depth != DEPTH_NONE;
    measure(l);
    fit_bars(l);
    axis_ticks(&f->x, l->cols / 10 < 2 ? 2 : l->cols / 10, &l->xt);
    l->screen = screen_new(c, cols, l->top + l->rows + 2 + (*f->x.label ? 1 : 0));
    put_words(l);
    put_y_axis(l);
    put_x_axis(l);
    if (f->cells.z && f->cells.pattern)
        put_pattern(l);
    else if (f->cells.z)
        put_cells(l);
    for (int i = 0; i < f->count; i++) {
        if (f->series[i].kind == MARK_BARS && f->count == 1)
            put_bars(l, &f->series[i]);
        else if (f->series[i].kind == MARK_COLUMNS)
            put_columns(l, &f->series[i]);
        if (f->series[i].kind != MARK_BARS || f->count > 1)
            put_series(l, &f->series[i]);
    }
    put_notes(l);
    put_scale(l);
    return l->screen;
}

void picture_text(OpCall *c, const Figure *f, Buf *to)
{
    int cols, rows;
    if (f->board) {
        board_text(c, f, to);
        return;
    }
    screen_size(c, f, &cols, &rows);
    Screen s = text_screen(c, f, cols, rows);
    screen_write(c, &s, to);
}
