/* Axes: ranges that can be drawn whatever the data are, where a value lies on them, and the way
 * of series to a device: transformed, clipped to the frame, and thinned to what can be seen. */
#include "builtins/pictures/picture.h"

#include <float.h>
#include <math.h>

/* ---- ranges ---- */

static double largest(const Axis *a) { return fmax(fabs(a->lo), fabs(a->hi)); }

/* A range in which doubles are too few to be told apart is no range. */
static void widen(Axis *a)
{
    double big = largest(a), least = fmax(big * 0x1p-45, 1e-320);
    if (a->hi / 2 - a->lo / 2 > least / 2 && a->hi > a->lo)
        return;
    double middle = a->lo / 2 + a->hi / 2, by = big > 1e-300 ? big / 10 : big > 0 ? 1e-300 : 1;
    a->lo = fmax(middle - by, -DBL_MAX);
    a->hi = fmin(middle + by, DBL_MAX);
}

void axis_fix(Axis *a)
{
    if (a->lo > a->hi) {
        double lo = a->lo;
        a->lo = a->hi;
        a->hi = lo;
    }
    if (a->log) {
        if (!(a->hi / a->lo > 1 + 1e-9)) {
            double middle = a->lo;
            a->lo = fmax(middle / 3, 5e-324);
            a->hi = fmin(middle * 3, DBL_MAX);
        }
        a->log_lo = log10(a->lo);
        a->log_hi = log10(a->hi);
    } else {
        widen(a);
    }
    int e;
    frexp(largest(a), &e);
    a->unit = e > 1000 ? 0x1p-4 : e < -900 ? 0x1p+100 : 1;
}

double axis_fraction(const Axis *a, double v)
{
    double t = a->log ? (log10(v) - a->log_lo) / (a->log_hi - a->log_lo)
                      : (v * a->unit - a->lo * a->unit) / (a->hi * a->unit - a->lo * a->unit);
    return a->flipped ? 1 - t : t;
}

/* ---- series to a device ---- */

double view_x(const View *v, const Axis *a, double x)
{
    return v->left + v->width * axis_fraction(a, x);
}

double view_y(const View *v, const Axis *a, double y)
{
    return v->top + v->height * (1 - axis_fraction(a, y));
}

/* In pieces far outside of the view only the side counts, and a device has no such numbers. */
static double bounded(double v, double from, double size)
{
    return fmin(fmax(v, from - 1e4 * size), from + 1e4 * size);
}

static bool has_place(const Axis *a, double v) { return isfinite(v) && (!a->log || v > 0); }

/* A point of the series; false: it is nowhere. */
static bool point_at(const Figure *f, const Series *s, const View *v, int64_t i,
                     double *x, double *y)
{
    double at = s->x ? s->x[i * s->sx] : (double)i, value = s->y[i * s->sy];
    if (!has_place(&f->x, at) || !has_place(&f->y, value))
        return false;
    *x = view_x(v, &f->x, at);
    *y = view_y(v, &f->y, value);
    return true;
}

/* The part of a piece inside the view (Liang and Barsky, 1984); false: none is. */
static bool clip(const View *v, double p[4])
{
    double t0 = 0, t1 = 1, dx = p[2] - p[0], dy = p[3] - p[1];
    double step[4] = { -dx, dx, -dy, dy };
    double room[4] = { p[0] - v->left, v->left + v->width - p[0], p[1] - v->top,
                       v->top + v->height - p[1] };
    for (int k = 0; k < 4; k++) {
        if (step[k] == 0) {
            if (room[k] < 0)
                return false;
            continue;
        }
        double t = room[k] / step[k];
        if (step[k] < 0)
            t0 = fmax(t0, t);
        else
            t1 = fmin(t1, t);
    }
    if (!(t0 <= t1))
        return false;
    double x = p[0], y = p[1];
    p[0] = x + t0 * dx, p[1] = y + t0 * dy;
    p[2] = x + t1 * dx, p[3] = y + t1 * dy;
    return true;
}

/* What draws a polyline clipped: the pen remembers where the device's is. */
typedef struct Pen {
    const View *view;
    PathSink to;
    void *arg;
    double x, y;             /* where the series is */
    double at_x, at_y;       /* where the device is */
    bool down, drawn;        /* is there a point before? has the device one? */
} Pen;

static void pen_to(Pen *p, double x, double y)
{
    double piece[4] = { p->x, p->y, x, y };
    bool seen = p->down && clip(p->view, piece);
    if (!p->down) {
        double alone[4] = { x, y, x, y };
        p->drawn = clip(p->view, alone);
        if (p->drawn)
            p->to(p->arg, p->at_x = x, p->at_y = y, true);
    } else if (seen) {
        if (!p->drawn || piece[0] != p->at_x || piece[1] != p->at_y)
            p->to(p->arg, piece[0], piece[1], true);
        p->to(p->arg, p->at_x = piece[2], p->at_y = piece[3], false);
        p->drawn = true;
    }
    p->x = x;
    p->y = y;
    p->down = true;
}

/* The points of one column: where it was entered and left, and its extremes with their order. */
typedef struct Column {
    double at;
    int64_t count;
    double first[2], last[2], low[2], high[2];
    bool low_first;
} Column;

static void column_flush(Column *c, Pen *pen)
{
    if (c->count == 0)
        return;
    pen_to(pen, c->first[0], c->first[1]);
    if (c->count > 2) {
        const double *a = c->low_first ? c->low : c->high, *b = c->low_first ? c->high : c->low;
        pen_to(pen, a[0], a[1]);
        pen_to(pen, b[0], b[1]);
    }
    if (c->count > 1)
        pen_to(pen, c->last[0], c->last[1]);
    c->count = 0;
}

static void column_add(Column *c, double at, double x, double y)
{
    double p[2] = { x, y };
    if (c->count == 0) {
        c->at = at;
        for (int k = 0; k < 2; k++)
            c->first[k] = c->low[k] = c->high[k] = p[k];
    }
    if (y < c->low[1]) {
        c->low[0] = x, c->low[1] = y;
        c->low_first = false;
    }
    if (y > c->high[1]) {
        c->high[0] = x, c->high[1] = y;
        c->low_first = true;
    }
    c->last[0] = x, c->last[1] = y;
    c->count++;
}

void series_path(const Figure *f, const Series *s, const View *v, PathSink to, void *arg)
{
    Pen pen = { .view = v, .to = to, .arg = arg };
    Column column = { .count = 0 };
    for (int64_t i = 0; i < s->n; i++) {
        double x, y;
        if ((i & 0xfffff) == 0xfffff)
            poll_interrupt(f->in);
        if (!point_at(f, s, v, i, &x, &y)) {
            column_flush(&column, &pen);
            pen.down = pen.drawn = false;
            continue;
        }
        x = bounded(x, v->left, v->width);
        y = bounded(y, v->top, v->height);
        double at = v->column > 0 ? floor((x - v->left) / v->column) : 0;
        if (v->column <= 0 || (column.count && at != column.at))
            column_flush(&column, &pen);
        column_add(&column, at, x, y);
    }
    column_flush(&column, &pen);
}

double column_foot(const Figure *f)
{
    return f->y.log ? f->y.lo : 0;
}

void series_lonely(const Figure *f, const Series *s, const View *v, PathSink to, void *arg)
{
    double x, y, px, py;
    bool before = false, here = s->n > 0 && point_at(f, s, v, 0, &x, &y);
    for (int64_t i = 0; i < s->n; i++) {
        double nx, ny;
        bool next = i + 1 < s->n && point_at(f, s, v, i + 1, &nx, &ny);
        if ((i & 0xfffff) == 0xfffff)
            poll_interrupt(f->in);
        px = x, py = y;
        if (here && !before && !next && px >= v->left && px <= v->left + v->width &&
            py >= v->top && py <= v->top + v->height)
            to(arg, px, py, true);
        before = here;
        here = next;
        x = nx, y = ny;
    }
}

/* ---- spans: errors and bands ---- */

/* From where to where, in the view's units; false: there is nothing there. */
static bool span_at(const Figure *f, const Series *s, const View *v, bool error, int64_t i,
                    double *x, double *top, double *bottom)
{
    double at = s->x ? s->x[i * s->sx] : (double)i, y = s->y[i * s->sy], lo, hi;
    if (error)
        lo = y - s->error[0][i], hi = y + s->error[1][i];
    else
        lo = s->band[0][i], hi = s->band[1][i];
    if (!has_place(&f->x, at) || isnan(lo) || isnan(hi) || (f->y.log && hi <= 0))
        return false;
    if (lo > hi) {
        double was = lo;
        lo = hi, hi = was;
    }
    *x = bounded(view_x(v, &f->x, at), v->left, v->width);
    *top = fmax(view_y(v, &f->y, fmin(hi, f->y.hi)), v->top);
    *bottom = fmin(view_y(v, &f->y, fmax(lo, f->y.lo)), v->top + v->height);
    *top = fmin(*top, v->top + v->height);
    *bottom = fmax(*bottom, v->top);
    return hi >= f->y.lo && lo <= f->y.hi;
}

void series_spans(const Figure *f, const Series *s, const View *v, bool error, SpanSink to,
                  void *arg)
{
    double column = s->n > 4 * v->width ? 1 : 0, at = 0, top = 0, bottom = 0;
    bool held = false, start = true;
    for (int64_t i = 0; i < s->n; i++) {
        double x, t, b;
        if ((i & 0xfffff) == 0xfffff)
            poll_interrupt(f->in);
        bool there = span_at(f, s, v, error, i, &x, &t, &b);
        if (held && (!there || column <= 0 || floor(x / column) != floor(at / column))) {
            to(arg, at, top, bottom, start);
            held = start = false;
        }
        if (!there) {
            start = true;
            continue;
        }
        top = held ? fmin(top, t) : t;
        bottom = held ? fmax(bottom, b) : b;
        at = held ? at : x;
        held = true;
    }
    if (held)
        to(arg, at, top, bottom, start);
}

void series_points(const Figure *f, const Series *s, const View *v, PathSink to, void *arg)
{
    double slack = 1e-9 * (v->width + v->height);
    for (int64_t i = 0; i < s->n; i++) {
        double x, y;
        if ((i & 0xfffff) == 0xfffff)
            poll_interrupt(f->in);
        if (point_at(f, s, v, i, &x, &y) && x >= v->left - slack &&
            x <= v->left + v->width + slack &&
            y >= v->top - slack && y <= v->top + v->height + slack)
            to(arg, x, y, true);
    }
}

static double coordinate(const View *v, const Axis *a, double at, bool across)
{
    return across ? bounded(view_x(v, a, at), v->left, v->width)
                  : bounded(view_y(v, a, at), v->top, v->height);
}

static void find_arrow(const Figure *f, const Series *s, const View *v, int64_t i, Word *w)
{
    const double tx = s->tip[0][i], ty = s->tip[1][i];
    if (!has_place(&f->x, tx) || !has_place(&f->y, ty))
        return;
    double whole[4] = { w->x, w->y, coordinate(v, &f->x, tx, true),
                        coordinate(v, &f->y, ty, false) };
    double piece[4] = { whole[0], whole[1], whole[2], whole[3] };
    w->arrow = clip(v, piece);
    w->head = w->arrow && fabs(piece[2] - whole[2]) + fabs(piece[3] - whole[3]) < 0.5;
    w->from[0] = piece[0], w->from[1] = piece[1];
    w->to[0] = piece[2], w->to[1] = piece[3];
    w->side = whole[2] >= whole[0] ? -1 : 1;
}

void series_words(const Figure *f, const Series *s, const View *v, bool note, WordSink to,
                  void *arg)
{
    for (int64_t i = 0; i < s->n && (s->words || s->tip[0]); i++) {
        double x = s->x ? s->x[i * s->sx] : (double)i, y = s->y[i * s->sy];
        if ((i & 0xfffff) == 0xfffff)
            poll_interrupt(f->in);
        if (!has_place(&f->x, x) || !has_place(&f->y, y))
            continue;
        Word w = { .x = coordinate(v, &f->x, x, true), .y = coordinate(v, &f->y, y, false),
                   .side = note ? 0 : 1 };
        double alone[4] = { w.x, w.y, w.x, w.y };
        if (s->tip[0])
            find_arrow(f, s, v, i, &w);
        if (s->words && clip(v, alone))
            w.text = s->words[i];
        if (w.text || w.arrow)
            to(arg, &w);
    }
}
