/* Marks and words on paper: text with exponents, lines, points, bars, cells, and the legend
 * where it hides least. Layout and axes are picture_page.c's. */
#include "builtins/pictures/picture_paper.h"
#include "core/base/error.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { CAP_BUTT = 0, CAP_ROUND = 1, FILTER_NEAREST = 3 };
enum { MANY_POINTS = 2000, CLOUD_POINTS = 50000, CELLS_MAX = 20000 };
/* An SVG with a matrix stays below 300 kB: shapes of some 60 bytes, or a byte a pixel in base64. */
enum { SVG_SHAPES = 2500, SVG_PIXELS = 200000 };

void paper_color(Paper *p, Rgb c, double alpha)
{
    p->lib->rgba(p->pen, c.r / 255.0, c.g / 255.0, c.b / 255.0, alpha);
}

/* ---- text ---- */

/* Calls cairo with each run of characters that stand on one line; the width of all. A text longer
 * than 400 characters is cut. */
static double text_runs(Paper *p, double x, double y, const char *text, double size, bool draw)
{
    char run[2048];
    double from = x;
    int left = 400;
    for (size_t at = 0; text[at] && left > 0;) {
        size_t n = 0, next = at;
        bool up = picture_lowered(picture_next(text, &next)) != 0;
        while (text[at] && left > 0) {
            next = at;
            uint32_t ch = picture_next(text, &next), low = picture_lowered(ch);
            if ((low != 0) != up)
                break;
            ch = up ? low : ch;
            n += picture_utf8(run + n, ch == '-' && n == 0 && text[next] >= '0' && text[next] <= '9'
                              ? 0x2212 : ch);
            at = next;
            left--;
        }
        run[n] = '\0';
        CairoExtents e;
        p->lib->font_size(p->pen, up ? size * 0.72 : size);
        p->lib->extents(p->pen, run, &e);
        if (draw && p->svg) {
            svg_text_run(p->svg, run, size, up);
        } else if (draw) {
            p->lib->move_to(p->pen, x, up ? y - size * 0.38 : y);
            p->lib->show_text(p->pen, run);
            p->lib->new_path(p->pen);
        }
        x += e.x_advance;
    }
    return x - from;
}

double paper_text_width(Paper *p, const char *text, double size)
{
    return text_runs(p, 0, 0, text, size, false);
}

void paper_text(Paper *p, double x, double y, const char *text, double size, Align align)
{
    if (p->svg) {
        svg_text_begin(p->svg, x, y, size, align);
        text_runs(p, x, y, text, size, true);
        svg_text_end(p->svg);
        return;
    }
    double width = align == ALIGN_LEFT ? 0 : paper_text_width(p, text, size);
    text_runs(p, x - (align == ALIGN_CENTRE ? width / 2 : align == ALIGN_RIGHT ? width : 0),
              y, text, size, true);
}

/* ---- where something was drawn ---- */

static void crowd_at(Paper *p, double x, double y)
{
    int i = (int)((x - p->frame.left) / p->frame.width * CROWD);
    int j = (int)((y - p->frame.top) / p->frame.height * CROWD);
    if (i >= 0 && i < CROWD && j >= 0 && j < CROWD)
        p->crowd[j][i] += 1;
}

static void crowd_line(Paper *p, double x0, double y0, double x1, double y1)
{
    double step = fmin(p->frame.width, p->frame.height) / CROWD, length = hypot(x1 - x0, y1 - y0);
    int n = (int)fmin(length / step + 1, 4 * CROWD);
    for (int i = 0; i < n; i++)
        crowd_at(p, x0 + (x1 - x0) * i / n, y0 + (y1 - y0) * i / n);
}

/* ---- styles ---- */

static void set_dash(Paper *p, int style)
{
    static const double dashes[4][4] = { { 0 }, { 6, 3 }, { 2, 2.5 }, { 7, 2.5, 2, 2.5 } };
    static const int counts[4] = { 0, 2, 2, 4 };
    double scaled[4];
    int k = style / STYLES % 4;
    for (int i = 0; i < 4; i++)
        scaled[i] = dashes[k][i] * p->u;
    p->lib->dash(p->pen, scaled, counts[k], 0);
}

static Rgb color_of(const Paper *p, const Series *s)
{
    Rgb c = style_color(s->style, true);
    if (s->kind == MARK_LEVEL)
        scale_color(&p->f->scale, s->level, &c);
    return c;
}

static void polygon(Paper *p, double x, double y, const double (*corner)[2], int n, double r)
{
    for (int i = 0; i < n; i++)
        (i ? p->lib->line_to : p->lib->move_to)(p->pen, x + corner[i][0] * r, y + corner[i][1] * r);
    p->lib->close_path(p->pen);
}

/* A circle, triangle, square, diamond … of about one area. */
static void marker(Paper *p, double x, double y, int style, double r)
{
    static const double up[3][2] = { { 0, -1.25 }, { 1.15, 0.8 }, { -1.15, 0.8 } };
    static const double down[3][2] = { { 0, 1.25 }, { 1.15, -0.8 }, { -1.15, -0.8 } };
    static const double square[4][2] =
        { { -0.9, -0.9 }, { 0.9, -0.9 }, { 0.9, 0.9 }, { -0.9, 0.9 } };
    static const double diamond[4][2] = { { 0, -1.3 }, { 1.3, 0 }, { 0, 1.3 }, { -1.3, 0 } };
    switch (style % 5) {
    case 0:
        p->lib->new_sub_path(p->pen);
        p->lib->arc(p->pen, x, y, r, 0, 2 * M_PI);
        break;
    case 1: polygon(p, x, y, up, 3, r); break;
    case 2: polygon(p, x, y, square, 4, r); break;
    case 3: polygon(p, x, y, diamond, 4, r); break;
    default: polygon(p, x, y, down, 3, r); break;
    }
}

/* ---- lines and points ---- */

typedef struct Drawing {
    Paper *p;
    const Series *s;
    double x, y, radius;
    uint8_t *taken;          /* places where a point is already; NULL: all are drawn */
    int across, down;
    double step;
    int64_t pieces;
} Drawing;

static void draw_to(void *arg, double x, double y, bool start)
{
    enum { FLUSH = 4000 };   /* strokes of very many pieces are slow to join */
    Drawing *d = arg;
    const Cairo *lib = d->p->lib;
    if (start) {
        lib->move_to(d->p->pen, x, y);
        lib->line_to(d->p->pen, x, y);       /* a point alone is a dot */
        crowd_at(d->p, x, y);
    } else {
        lib->line_to(d->p->pen, x, y);
        crowd_line(d->p, d->x, d->y, x, y);
        if (++d->pieces % FLUSH == 0) {
            lib->stroke(d->p->pen);
            lib->move_to(d->p->pen, x, y);
        }
    }
    d->x = x;
    d->y = y;
}

static void point_to(void *arg, double x, double y, bool start)
{
    Drawing *d = arg;
    Paper *p = d->p;
    (void)start;
    if (d->taken) {
        int i = (int)((x - p->frame.left) / d->step), j = (int)((y - p->frame.top) / d->step);
        uint8_t *at = &d->taken[j * d->across + i];
        if (i < 0 || i >= d->across || j < 0 || j >= d->down || *at)
            return;
        *at = 1;
    }
    crowd_at(p, x, y);
    if (d->s->n > CLOUD_POINTS)              /* a square is filled ten times as fast as a circle */
        p->lib->rectangle(p->pen, x - d->radius, y - d->radius, 2 * d->radius, 2 * d->radius);
    else
        marker(p, x, y, d->s->style, d->radius);
    p->lib->fill(p->pen);
}

/* Points as markers; of very many, one in each place that they can be told apart in. */
static void draw_points(Paper *p, const Series *s)
{
    Drawing d = { .p = p, .s = s,
                  .radius = (s->n > CLOUD_POINTS ? 1 : s->n > MANY_POINTS ? 1.5 : 3) * p->u };
    if (s->n > MANY_POINTS) {
        d.step = d.radius * (p->vector ? 1.4 : 0.7);
        d.across = (int)(p->frame.width / d.step) + 1;
        d.down = (int)(p->frame.height / d.step) + 1;
        d.taken = picture_room(p->call, (size_t)d.across * (size_t)d.down, 1);
    }
    paper_color(p, color_of(p, s), s->kind == MARK_LINE ? 1 : s->n > MANY_POINTS ? 0.6 : 0.8);
    series_points(p->f, s, &p->frame, point_to, &d);
}

static void draw_line(Paper *p, const Series *s)
{
    Drawing d = { .p = p, .s = s };
    View v = p->frame;
    v.column = p->vector ? 0.5 : 1;
    if ((double)s->n < 2 * v.width)
        v.column = 0;
    paper_color(p, color_of(p, s), 1);
    p->lib->line_width(p->pen, (s->kind == MARK_LEVEL ? 1.4 : 1.9) * p->u);
    p->lib->line_cap(p->pen, CAP_ROUND);
    set_dash(p, s->kind == MARK_LEVEL ? 0 : s->style);
    p->lib->new_path(p->pen);
    series_path(p->f, s, &v, draw_to, &d);
    p->lib->stroke(p->pen);
    p->lib->dash(p->pen, NULL, 0, 0);
    p->lib->line_cap(p->pen, CAP_BUTT);
}

/* ---- errors, bands and points alone ---- */

typedef struct Spans { Paper *p; double *at; int64_t n; bool crowded; } Spans;

static void error_to(void *arg, double x, double top, double bottom, bool start)
{
    Spans *d = arg;
    Paper *p = d->p;
    double cap = d->crowded ? 0 : 3 * p->u;
    (void)start;
    if (x < p->frame.left || x > p->frame.left + p->frame.width)
        return;
    p->lib->move_to(p->pen, x, top);
    p->lib->line_to(p->pen, x, bottom);
    for (int end = 0; end < 2 && cap > 0; end++) {
        double y = end ? bottom : top;
        p->lib->move_to(p->pen, x - cap, y);
        p->lib->line_to(p->pen, x + cap, y);
    }
    p->lib->stroke(p->pen);
    crowd_line(p, x, top, x, bottom);
}

static void draw_errors(Paper *p, const Series *s)
{
    Spans d = { .p = p, .crowded = s->n > MANY_POINTS };
    paper_color(p, s->kind == MARK_COLUMNS ? (Rgb){ 40, 40, 40 } : color_of(p, s), 1);
    p->lib->line_width(p->pen, 1.1 * p->u);
    series_spans(p->f, s, &p->frame, true, error_to, &d);
}

static void fill_band(Spans *d)
{
    const Cairo *lib = d->p->lib;
    for (int64_t i = 0; i < d->n; i++)
        (i ? lib->line_to : lib->move_to)(d->p->pen, d->at[3 * i], d->at[3 * i + 1]);
    for (int64_t i = d->n; i-- > 0;)
        lib->line_to(d->p->pen, d->at[3 * i], d->at[3 * i + 2]);
    if (d->n > 0) {
        lib->close_path(d->p->pen);
        lib->fill(d->p->pen);
    }
    d->n = 0;
}

static void band_to(void *arg, double x, double top, double bottom, bool start)
{
    Spans *d = arg;
    if (start)
        fill_band(d);
    double *at = d->at + 3 * d->n++;
    at[0] = x, at[1] = top, at[2] = bottom;
}

static void draw_band(Paper *p, const Series *s)
{
    Spans d = { .p = p, .at = picture_room(p->call, (size_t)s->n, 3 * sizeof *d.at) };
    paper_color(p, color_of(p, s), 0.2);
    series_spans(p->f, s, &p->frame, false, band_to, &d);
    fill_band(&d);
}

/* A point that no line leads to, as a dot wider than the line. */
static void lonely_to(void *arg, double x, double y, bool start)
{
    Paper *p = ((Drawing *)arg)->p;
    (void)start;
    marker(p, x, y, 0, 3 * p->u);
    p->lib->fill(p->pen);
}

/* ---- bars ---- */

static double top_of(const Paper *p, double v)
{
    const View *f = &p->frame;
    if (!(v > p->f->y.lo))
        return f->top + f->height;
    return fmax(view_y(f, &p->f->y, v), f->top);
}

static void draw_bars(Paper *p, const Series *s)
{
    const View *f = &p->frame;
    bool alone = p->f->count == 1;
    double foot = f->top + f->height, wide = f->width / (double)s->n;
    double gap = alone && wide > 4 * p->u ? 0.8 * p->u : 0;
    paper_color(p, color_of(p, s), alone ? 0.9 : 0.3);
    for (int64_t k = 0; k < s->n; k++) {
        double x0 = view_x(f, &p->f->x, s->x[k]), x1 = view_x(f, &p->f->x, s->x[k + 1]),
               y = top_of(p, s->y[k]);
        if (y >= foot || x1 < f->left || x0 > f->left + f->width)
            continue;
        p->lib->rectangle(p->pen, x0 + gap / 2, y, x1 - x0 - gap, foot - y);
        p->lib->fill(p->pen);
        crowd_line(p, (x0 + x1) / 2, y, (x0 + x1) / 2, foot);
    }
    if (alone)
        return;
    paper_color(p, color_of(p, s), 1);
    p->lib->line_width(p->pen, 1.5 * p->u);
    p->lib->move_to(p->pen, view_x(f, &p->f->x, s->x[0]), foot);
    for (int64_t k = 0; k < s->n; k++) {
        p->lib->line_to(p->pen, view_x(f, &p->f->x, s->x[k]), top_of(p, s->y[k]));
        p->lib->line_to(p->pen, view_x(f, &p->f->x, s->x[k + 1]), top_of(p, s->y[k]));
    }
    p->lib->line_to(p->pen, view_x(f, &p->f->x, s->x[s->n]), foot);
    p->lib->stroke(p->pen);
}

/* Where a column stands and ends on paper; false: it is nowhere. */
static bool column_box(const Paper *p, const Series *s, int64_t i, double box[3])
{
    const View *f = &p->frame;
    double x = (s->x ? s->x[i * s->sx] : (double)i) + s->shift, y = s->y[i * s->sy];
    if (!isfinite(x) || !isfinite(y) || (p->f->y.log && y <= 0))
        return false;
    box[0] = view_x(f, &p->f->x, x - s->width / 2);
    box[1] = view_x(f, &p->f->x, x + s->width / 2);
    box[2] = fmin(fmax(view_y(f, &p->f->y, y), f->top), f->top + f->height);
    return box[1] >= f->left && box[0] <= f->left + f->width;
}

static void draw_column(Paper *p, double x0, double x1, double foot, double end)
{
    if (end == foot)
        return;
    p->lib->rectangle(p->pen, x0, fmin(end, foot), x1 - x0, fabs(end - foot));
    p->lib->fill(p->pen);
    crowd_line(p, (x0 + x1) / 2, end, (x0 + x1) / 2, foot);
}

/* Columns narrower than a pixel: the highest and the lowest of each pixel. */
static void draw_narrow_columns(Paper *p, const Series *s, double foot)
{
    const View *f = &p->frame;
    int n = (int)f->width + 2;
    double *ends = picture_room(p->call, (size_t)n, 2 * sizeof *ends), box[3];
    for (int k = 0; k < 2 * n; k++)
        ends[k] = foot;
    for (int64_t i = 0; i < s->n; i++) {
        if ((i & 0xfffff) == 0xfffff)
            poll_interrupt(p->call->in);
        if (!column_box(p, s, i, box))
            continue;
        int k = (int)fmin(fmax((box[0] + box[1]) / 2 - f->left, 0), n - 1);
        ends[2 * k] = fmin(ends[2 * k], box[2]);
        ends[2 * k + 1] = fmax(ends[2 * k + 1], box[2]);
    }
    for (int k = 0; k < 2 * n; k++)
        draw_column(p, f->left + k / 2, f->left + k / 2 + 1, foot, ends[k]);
}

/* From their foot up or down, side by side. */
static void draw_columns(Paper *p, const Series *s)
{
    const View *f = &p->frame;
    double foot = fmin(fmax(view_y(f, &p->f->y, column_foot(p->f)), f->top), f->top + f->height);
    double box[3];
    paper_color(p, color_of(p, s), 0.9);
    if (s->width / (p->f->x.hi - p->f->x.lo) * f->width < 0.7) {
        draw_narrow_columns(p, s, foot);
        return;
    }
    for (int64_t i = 0; i < s->n; i++)
        if (column_box(p, s, i, box))
            draw_column(p, box[0], box[1], foot, box[2]);
}

static void draw_series(Paper *p, const Series *s)
{
    Drawing alone = { .p = p };
    if (s->band[0])
        draw_band(p, s);
    if (s->kind == MARK_BARS)
        draw_bars(p, s);
    if (s->kind == MARK_COLUMNS)
        draw_columns(p, s);
    if (s->kind == MARK_LINE || s->kind == MARK_LEVEL)
        draw_line(p, s);
    if (s->kind == MARK_LINE && !s->points)
        series_lonely(p->f, s, &p->frame, lonely_to, &alone);
    if (s->error[0])
        draw_errors(p, s);
    if (s->kind == MARK_POINTS || s->points)
        draw_points(p, s);
}

/* ---- words and arrows ---- */

/* A line with a head that ends at the tip. */
static void draw_arrow(Paper *p, const Word *w)
{
    double dx = w->to[0] - w->from[0], dy = w->to[1] - w->from[1], length = hypot(dx, dy);
    double head = w->head ? fmin(8 * p->u, length) : 0;
    if (length <= 0)
        return;
    dx /= length, dy /= length;
    double x = w->to[0] - head * dx, y = w->to[1] - head * dy;
    p->lib->line_width(p->pen, 1.3 * p->u);
    p->lib->move_to(p->pen, w->from[0], w->from[1]);
    p->lib->line_to(p->pen, x, y);
    p->lib->stroke(p->pen);
    crowd_line(p, w->from[0], w->from[1], w->to[0], w->to[1]);
    if (!w->head)
        return;
    p->lib->move_to(p->pen, w->to[0], w->to[1]);
    p->lib->line_to(p->pen, x - 0.4 * head * dy, y + 0.4 * head * dx);
    p->lib->line_to(p->pen, x + 0.4 * head * dy, y - 0.4 * head * dx);
    p->lib->close_path(p->pen);
    p->lib->fill(p->pen);
}

/* Beside its point where there is room, else on the other side of it. */
static void draw_text(Paper *p, const Word *w)
{
    const View *f = &p->frame;
    double size = 12 * p->u, gap = 6 * p->u, width = paper_text_width(p, w->text, size);
    double left = w->x - gap - width, right = w->x + gap, last = f->left + f->width - width;
    double x = w->side == 0 ? w->x - width / 2 : w->side < 0 ? left : right;
    if (w->side && (x < f->left || x > last))
        x = x == left ? right : left;
    x = fmax(fmin(x, last), f->left);
    paper_text(p, x, w->y + size * 0.36, w->text, size, ALIGN_LEFT);
    crowd_line(p, x, w->y, x + width, w->y);
}

static void word_to(void *arg, const Word *w)
{
    if (w->arrow)
        draw_arrow(arg, w);
    if (w->text)
        draw_text(arg, w);
}

/* Over all that is drawn; what belongs to a series has its colour. */
static void draw_notes(Paper *p)
{
    const Figure *f = p->f;
    for (int i = 0; i < f->count + f->note_count; i++) {
        bool note = i >= f->count;
        const Series *s = note ? &f->notes[i - f->count] : &f->series[i];
        paper_color(p, note ? (Rgb){ 40, 40, 40 } : color_of(p, s), 1);
        series_words(f, s, &p->frame, note, word_to, p);
    }
}

void paper_series(Paper *p)
{
    for (int i = 0; i < p->f->count; i++) {
        const Series *s = &p->f->series[i];
        poll_interrupt(p->call->in);
        draw_series(p, s);
    }
    draw_notes(p);
}

/* ---- cells ---- */

/* Of a pattern more than 0 where there is any; of one of entries, a share of the fullest block. */
static double block_value(const Paper *p, int64_t i, int64_t rows, int64_t j, int64_t cols)
{
    const Cells *c = &p->f->cells;
    int64_t r, nr, k, nk;
    if (p->bins.count)
        return (double)cells_bin(&p->bins, i, rows, j, cols) / p->bins.most;
    cells_part(c->rows, rows, i, &r, &nr);
    cells_part(c->cols, cols, j, &k, &nk);
    return cells_block(c, r, nr, k, nk);
}

/* The fuller, the darker. */
static Rgb pattern_color(const Paper *p, double v)
{
    Rgb ink = style_color(0, true);
    double light = p->bins.count ? 0.75 * (1 - sqrt(v)) : 0;
    ink.r = (uint8_t)(ink.r + light * (255 - ink.r));
    ink.g = (uint8_t)(ink.g + light * (255 - ink.g));
    ink.b = (uint8_t)(ink.b + light * (255 - ink.b));
    return ink;
}

/* The colour of a block of elements; false: it stays blank. */
static bool block_color(const Paper *p, int64_t i, int64_t rows, int64_t j, int64_t cols, Rgb *out)
{
    double v = block_value(p, i, rows, j, cols);
    if (!p->f->cells.pattern)
        return scale_color(&p->f->scale, v, out);
    *out = pattern_color(p, v);
    return v > 0;
}

static void draw_shapes(Paper *p, int64_t rows, int64_t cols)
{
    const View *v = &p->frame;
    bool pattern = p->f->cells.pattern;
    double w = v->width / (double)cols, h = v->height / (double)rows;
    double gap = pattern && fmin(w, h) > 4 * p->u ? 0.12 : 0, over = pattern ? 0 : 0.4;
    Rgb c;
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < cols; j++) {
            poll_interrupt(p->call->in);           /* a block may be large */
            if (!block_color(p, i, rows, j, cols, &c))
                continue;
            double x = v->left + w * (double)j, y = v->top + h * (double)i;
            double x1 = x + w + (j + 1 < cols ? over : 0), y1 = y + h + (i + 1 < rows ? over : 0);
            if (!p->vector && !pattern)
                x = round(x), y = round(y), x1 = round(x1 - over), y1 = round(y1 - over);
            paper_color(p, c, 1);
            p->lib->rectangle(p->pen, x + gap * w, y + gap * h, x1 - x - 2 * gap * w,
                              y1 - y - 2 * gap * h);
            p->lib->fill(p->pen);
        }
}

/* More cells than shapes are good for: an image of at most two pixels a unit. */
static void draw_image(Paper *p, int64_t rows, int64_t cols)
{
    const View *v = &p->frame;
    enum { ARGB32 = 0 };
    uint32_t *pixels = picture_room(p->call, (size_t)rows * (size_t)cols, sizeof *pixels);
    Rgb c;
    for (int64_t i = 0; i < rows; i++) {
        poll_interrupt(p->call->in);
        for (int64_t j = 0; j < cols; j++)
            if (block_color(p, i, rows, j, cols, &c))
                pixels[i * cols + j] = 0xff000000u | (uint32_t)c.r << 16 | (uint32_t)c.g << 8 | c.b;
    }
    CairoSurface *image = p->lib->image_over((unsigned char *)pixels, ARGB32, (int)cols, (int)rows,
                                             (int)(4 * cols));
    p->lib->save(p->pen);
    p->lib->translate(p->pen, v->left, v->top);
    p->lib->scale(p->pen, v->width / (double)cols, v->height / (double)rows);
    p->lib->source_surface(p->pen, image, 0, 0);
    p->lib->filter(p->lib->get_source(p->pen), FILTER_NEAREST);
    p->lib->paint(p->pen);
    p->lib->restore(p->pen);
    p->lib->surface_destroy(image);
}

/* In SVG: an image of 256 colours, a byte a pixel, SVG_PIXELS at most: pages hold several. */
static void draw_indexed(Paper *p, int64_t rows, int64_t cols)
{
    enum { SHADES = 255 };
    const Scale *s = &p->f->scale;
    const bool pattern = p->f->cells.pattern;
    uint8_t *index = picture_room(p->call, (size_t)rows * (size_t)cols, 1);
    Rgb palette[SHADES + 1] = { { 255, 255, 255 } };
    for (int k = 1; k <= SHADES; k++)
        palette[k] = pattern ? pattern_color(p, (k - 1.0) / (SHADES - 1))
                             : map_color(s->map, (k - 1.0) / (SHADES - 1));
    for (int64_t i = 0; i < rows; i++) {
        poll_interrupt(p->call->in);
        for (int64_t j = 0; j < cols; j++) {
            double v = block_value(p, i, rows, j, cols), t = 1;
            Rgb shown;
            if (pattern ? !(v > 0) : !scale_color(s, v, &shown))
                continue;
            if (!pattern)
                t = fmin(fmax(axis_fraction(&s->axis, v), 0), 1);
            else if (p->bins.count)
                t = v;
            index[i * cols + j] = (uint8_t)(1 + lrint(t * (SHADES - 1)));
        }
    }
    svg_image(p->svg, &p->frame, index, (int)cols, (int)rows, palette);
}

void paper_cells(Paper *p)
{
    const Cells *c = &p->f->cells;
    double fine = p->vector ? 2 : 1;
    if (p->svg)
        fine = fmin(2, sqrt(SVG_PIXELS / (p->frame.width * p->frame.height)));
    int64_t rows = c->rows, most_rows = (int64_t)floor(p->frame.height * fine);
    int64_t cols = c->cols, most_cols = (int64_t)floor(p->frame.width * fine);
    most_rows = most_rows > 0 ? most_rows : 1;
    most_cols = most_cols > 0 ? most_cols : 1;
    rows = rows < most_rows ? rows : most_rows;
    cols = cols < most_cols ? cols : most_cols;
    p->bins = cells_bins(p->call, c, rows, cols);
    if (rows * cols <= (p->svg ? SVG_SHAPES : CELLS_MAX))
        draw_shapes(p, rows, cols);
    else if (p->svg)
        draw_indexed(p, rows, cols);
    else
        draw_image(p, rows, cols);
}

void paper_bar(Paper *p, double x, double y, double width, double height)
{
    enum { SHADES = 128 };
    for (int i = 0; i < SHADES; i++) {
        double step = height / SHADES;
        paper_color(p, map_color(p->f->scale.map, 1 - (i + 0.5) / SHADES), 1);
        double from = y + i * step, to = from + step + (p->vector && i + 1 < SHADES ? 0.5 : 0);
        if (!p->vector)
            from = round(from), to = round(to);
        p->lib->rectangle(p->pen, x, from, width, to - from);
        p->lib->fill(p->pen);
    }
}

/* ---- legend ---- */

enum { LEGEND_MAX = 16 };

typedef struct Box { double x, y, w, h; } Box;

/* How much was drawn under a box. */
static double hidden(const Paper *p, const Box *b)
{
    double sum = 0;
    for (int j = 0; j < CROWD; j++)
        for (int i = 0; i < CROWD; i++) {
            double x = p->frame.left + (i + 0.5) / CROWD * p->frame.width;
            double y = p->frame.top + (j + 0.5) / CROWD * p->frame.height;
            double sx = p->frame.width / CROWD / 2, sy = p->frame.height / CROWD / 2;
            if (x + sx > b->x && x - sx < b->x + b->w && y + sy > b->y && y - sy < b->y + b->h)
                sum += p->crowd[j][i];
        }
    return sum;
}

/* Corners first, then along the sides and down the middle. */
static Box legend_place(const Paper *p, double w, double h)
{
    static const double across[] = { 1, 0, 0.5 };
    static const double down[] = { 0, 1, 0.5, 0.25, 0.75, 0.125, 0.375, 0.625, 0.875 };
    double margin = 8 * p->u, least = INFINITY;
    Box best = { 0 };
    for (int j = 0; j < 9; j++)
        for (int i = 0; i < 3; i++) {
            Box b = { p->frame.left + margin + across[i] * (p->frame.width - w - 2 * margin),
                      p->frame.top + margin + down[j] * (p->frame.height - h - 2 * margin), w, h };
            double n = hidden(p, &b);
            if (n < least) {
                least = n;
                best = b;
            }
        }
    return best;
}

static void legend_sample(Paper *p, const Series *s, double x, double y)
{
    double u = p->u;
    bool box = s->kind == MARK_BARS || s->kind == MARK_COLUMNS;
    paper_color(p, color_of(p, s), box ? 0.75 : 1);
    if (s->kind == MARK_LINE) {
        set_dash(p, s->style);
        p->lib->line_width(p->pen, 1.9 * u);
        p->lib->move_to(p->pen, x, y);
        p->lib->line_to(p->pen, x + 22 * u, y);
        p->lib->stroke(p->pen);
        p->lib->dash(p->pen, NULL, 0, 0);
    } else if (box) {
        p->lib->rectangle(p->pen, x + 2 * u, y - 5 * u, 18 * u, 10 * u);
        p->lib->fill(p->pen);
    }
    if (s->kind == MARK_POINTS || s->points) {
        marker(p, x + 11 * u, y, s->style, 3.4 * u);
        p->lib->fill(p->pen);
    }
}

void paper_legend(Paper *p)
{
    const Figure *f = p->f;
    double u = p->u, size = 12 * u, row = size * 1.5, widest = 0;
    int shown = f->count < LEGEND_MAX ? f->count : LEGEND_MAX;
    char more[64] = "";
    if (!f->legend || f->count == 0 || (f->count == 1 && !*f->series[0].label))
        return;
    for (int i = 0; i < shown; i++)
        widest = fmax(widest, paper_text_width(p, f->series[i].label, size));
    if (shown < f->count)
        snprintf(more, sizeof more, "… %d more", f->count - shown);
    widest = fmin(fmax(widest, paper_text_width(p, more, size)), p->frame.width * 0.6);
    Box b = legend_place(p, widest + 44 * u, row * (shown + (*more != 0)) + 8 * u);
    p->lib->rgba(p->pen, 1, 1, 1, 0.88);
    p->lib->rectangle(p->pen, b.x, b.y, b.w, b.h);
    p->lib->fill_preserve(p->pen);
    p->lib->rgba(p->pen, 0.8, 0.8, 0.8, 1);
    p->lib->line_width(p->pen, 0.8 * u);
    p->lib->stroke(p->pen);
    p->lib->save(p->pen);
    p->lib->rectangle(p->pen, b.x, b.y, b.w, b.h);
    p->lib->clip(p->pen);
    for (int i = 0; i <= shown; i++) {
        double y = b.y + 4 * u + row * (i + 0.5);
        const char *text = i < shown ? f->series[i].label : more;
        if (i < shown)
            legend_sample(p, &f->series[i], b.x + 8 * u, y);
        p->lib->rgba(p->pen, 0.16, 0.16, 0.16, 1);
        paper_text(p, b.x + 37 * u, y + size * 0.36, text, size, ALIGN_LEFT);
    }
    p->lib->restore(p->pen);
}
