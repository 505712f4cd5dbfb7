/* A page: where the frame, its ticks and words stand, and the order in which all is drawn. It goes
 * through a table of drawing calls (Paper.lib), so that it knows neither cairo nor SVG. */
#include "builtins/pictures/picture_paper.h"

#include <math.h>

enum { JOIN_ROUND = 1 };     /* from cairo.h */

/* ---- layout ---- */

static const Rgb ink = { 40, 40, 40 }, soft = { 110, 110, 110 }, grid = { 228, 228, 228 };

double paper_unit(double width, double height)
{
    return fmin(fmax(sqrt(sqrt(width * height / (720.0 * 480))), 0.3), 6);
}

static double text_size(const Paper *p) { return 12.5 * p->u; }

static double widest(Paper *p, const Ticks *t)
{
    double most = 0;
    for (int i = 0; i < t->count; i++)
        most = fmax(most, paper_text_width(p, t->tick[i].text, text_size(p)));
    return most;
}

/* As many ticks along x as their labels leave room for. */
static void x_ticks(Paper *p)
{
    for (int wanted = 9; wanted >= 2; wanted--) {
        axis_ticks(&p->f->x, wanted, &p->xt);
        double need = 0;
        for (int i = 0; i < p->xt.count; i++)
            need += paper_text_width(p, p->xt.tick[i].text, text_size(p)) + 14 * p->u;
        if (need < p->frame.width)
            return;
    }
}

/* Fits the frame to the shape of the data, in the middle of its room. */
static void keep_shape(Paper *p)
{
    const Figure *f = p->f;
    double rx = f->x.hi - f->x.lo, ry = f->y.hi - f->y.lo;
    bool strip = f->cells.z && (rx > 8 * ry || ry > 8 * rx);
    if (!f->equal || f->x.log || f->y.log || !isfinite(rx / ry) || strip)
        return;
    double s = fmin(p->frame.width / rx, p->frame.height / ry), w = rx * s, h = ry * s;
    p->frame.left += (p->frame.width - w) / 2;
    p->frame.top += (p->frame.height - h) / 2;
    p->frame.width = w;
    p->frame.height = h;
}

static void place(Paper *p)
{
    const Figure *f = p->f;
    double u = p->u, line = text_size(p) * 1.45;
    double top = 12 * u + (*f->title ? 24 * u : 0) + line * 0.3;
    double bottom = 10 * u + line + 6 * u + (*f->x.label ? line : 0);
    p->frame.top = top;
    p->frame.height = fmax(p->height - top - bottom, 10 * u);
    axis_ticks(&f->y, (int)fmax(2, p->frame.height / (58 * u)), &p->yt);
    if (p->yt.exponent) {
        p->frame.top += line * 0.6;
        p->frame.height = fmax(p->frame.height - line * 0.6, 10 * u);
    }
    if (f->scale.bar && figure_has_scale(f)) {
        axis_ticks(&f->scale.axis, (int)fmax(2, p->frame.height / (58 * u)), &p->st);
        p->bar_width = 16 * u + 14 * u + 7 * u + widest(p, &p->st);
    }
    p->frame.left = 14 * u + widest(p, &p->yt) + 8 * u + (*f->y.label ? line : 0);
    p->frame.width = fmax(p->width - p->frame.left - p->bar_width - 18 * u, 10 * u);
    keep_shape(p);
    if (!p->vector) {                        /* lines of one pixel are sharp between pixels */
        p->frame.left = floor(p->frame.left) + 0.5;
        p->frame.top = floor(p->frame.top) + 0.5;
        p->frame.width = floor(p->frame.width);
        p->frame.height = floor(p->frame.height);
    }
    x_ticks(p);
}

/* ---- axes ---- */

static void line(Paper *p, double x0, double y0, double x1, double y1)
{
    p->lib->move_to(p->pen, x0, y0);
    p->lib->line_to(p->pen, x1, y1);
    p->lib->stroke(p->pen);
}

static void draw_grid(Paper *p)
{
    const View *v = &p->frame;
    paper_color(p, grid, 1);
    p->lib->line_width(p->pen, 0.9 * p->u);
    for (int i = 0; i < p->xt.count; i++) {
        double x = view_x(v, &p->f->x, p->xt.tick[i].at);
        line(p, x, v->top, x, v->top + v->height);
    }
    for (int i = 0; i < p->yt.count; i++) {
        double y = view_y(v, &p->f->y, p->yt.tick[i].at);
        line(p, v->left, y, v->left + v->width, y);
    }
}

static void draw_spines(Paper *p)
{
    const View *v = &p->frame;
    paper_color(p, ink, 1);
    p->lib->line_width(p->pen, 1 * p->u);
    if (p->f->cells.z) {
        p->lib->rectangle(p->pen, v->left, v->top, v->width, v->height);
        p->lib->stroke(p->pen);
        return;
    }
    p->lib->move_to(p->pen, v->left, v->top);
    p->lib->line_to(p->pen, v->left, v->top + v->height);
    p->lib->line_to(p->pen, v->left + v->width, v->top + v->height);
    p->lib->stroke(p->pen);
}

static void x_axis(Paper *p)
{
    const View *v = &p->frame;
    double foot = v->top + v->height, u = p->u, size = text_size(p);
    for (int i = 0; i < p->xt.count; i++) {
        double x = view_x(v, &p->f->x, p->xt.tick[i].at);
        line(p, x, foot, x, foot + 4.5 * u);
        paper_text(p, x, foot + 7 * u + size * 0.85, p->xt.tick[i].text, size, ALIGN_CENTRE);
    }
    for (int i = 0; p->f->x.log && i < p->xt.minor_count; i++) {
        double x = view_x(v, &p->f->x, p->xt.minor[i]);
        line(p, x, foot, x, foot + 2.5 * u);
    }
    if (p->xt.exponent) {
        char power[TICK_TEXT];
        tick_factor(power, p->xt.exponent);
        paper_text(p, v->left + v->width, foot + 7 * u + size * 2.1, power, size, ALIGN_RIGHT);
    }
}

static void y_axis(Paper *p)
{
    const View *v = &p->frame;
    double u = p->u, size = text_size(p);
    for (int i = 0; i < p->yt.count; i++) {
        double y = view_y(v, &p->f->y, p->yt.tick[i].at);
        line(p, v->left, y, v->left - 4.5 * u, y);
        paper_text(p, v->left - 8 * u, y + size * 0.36, p->yt.tick[i].text, size, ALIGN_RIGHT);
    }
    for (int i = 0; p->f->y.log && i < p->yt.minor_count; i++) {
        double y = view_y(v, &p->f->y, p->yt.minor[i]);
        line(p, v->left, y, v->left - 2.5 * u, y);
    }
    if (p->yt.exponent) {
        char power[TICK_TEXT];
        tick_factor(power, p->yt.exponent);
        paper_text(p, v->left, v->top - 7 * u, power, size, ALIGN_LEFT);
    }
}

static void draw_words(Paper *p)
{
    const Figure *f = p->f;
    const View *v = &p->frame;
    double size = text_size(p), u = p->u;
    paper_color(p, ink, 1);
    if (*f->title)
        paper_text(p, v->left + v->width / 2, v->top - (p->yt.exponent ? 24 : 13) * u, f->title,
                   size * 1.16, ALIGN_CENTRE);
    if (*f->x.label)
        paper_text(p, v->left + v->width / 2, v->top + v->height + 7 * u + size * 2.25,
                   f->x.label, size, ALIGN_CENTRE);
    if (*f->y.label) {
        p->lib->save(p->pen);
        p->lib->translate(p->pen, v->left - 8 * u - widest(p, &p->yt) - 9 * u,
                          v->top + v->height / 2);
        p->lib->rotate(p->pen, -M_PI / 2);
        paper_text(p, 0, 0, f->y.label, size, ALIGN_CENTRE);
        p->lib->restore(p->pen);
    }
}

static void draw_scale(Paper *p)
{
    const Axis *a = &p->f->scale.axis;
    const View *v = &p->frame;
    double u = p->u, x = v->left + v->width + 16 * u, size = text_size(p);
    View bar = { x, v->top, 14 * u, v->height, 0 };
    if (p->bar_width <= 0)
        return;
    paper_bar(p, bar.left, bar.top, bar.width, bar.height);
    paper_color(p, ink, 1);
    p->lib->line_width(p->pen, 0.8 * u);
    p->lib->rectangle(p->pen, bar.left, bar.top, bar.width, bar.height);
    p->lib->stroke(p->pen);
    for (int i = 0; i < p->st.count; i++) {
        double y = view_y(&bar, a, p->st.tick[i].at);
        line(p, x + bar.width, y, x + bar.width + 3.5 * u, y);
        paper_text(p, x + bar.width + 7 * u, y + size * 0.36, p->st.tick[i].text, size, ALIGN_LEFT);
    }
    if (p->st.exponent) {
        char power[TICK_TEXT];
        tick_factor(power, p->st.exponent);
        paper_text(p, x, v->top - 7 * u, power, size, ALIGN_LEFT);
    }
}

void paper_figure(Paper *p)
{
    const View *v = &p->frame;
    place(p);
    if (!p->f->cells.z)
        draw_grid(p);
    p->lib->save(p->pen);
    p->lib->rectangle(p->pen, v->left - 1, v->top - 1, v->width + 2, v->height + 2);
    p->lib->clip(p->pen);
    if (p->f->cells.z)
        paper_cells(p);
    paper_series(p);
    p->lib->restore(p->pen);
    draw_spines(p);
    x_axis(p);
    y_axis(p);
    draw_scale(p);
    paper_color(p, soft, 1);
    draw_words(p);
    paper_legend(p);
}

void paper_page(Paper *p)
{
    p->lib->font(p->pen, "sans-serif", 0, 0);
    p->lib->rgba(p->pen, 1, 1, 1, 1);
    p->lib->rectangle(p->pen, 0, 0, p->width, p->height);
    p->lib->fill(p->pen);
    p->lib->line_join(p->pen, JOIN_ROUND);
    paper_color(p, ink, 1);
    (p->f->board ? board_paper : paper_figure)(p);
}
