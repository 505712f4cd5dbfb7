/* Figures on paper: SVG, PDF and PNG through cairo, which is opened when a picture is first
 * drawn by it. dlopen gives a process one copy of a library, so its table belongs to the process:
 * it is written once and read afterwards. Errors unwind through nothing of cairo: what it calls
 * back never raises, and surfaces are given back where an error passes. */
#include "builtins/files/files.h"
#include "core/system/library.h"
#include "builtins/pictures/picture_paper.h"
#include "core/system/ascii.h"
#include "core/base/error.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

enum { FORMAT_ARGB32 = 0, CAP_ROUND = 1, JOIN_ROUND = 1 };       /* from cairo.h */

/* ---- the library ---- */

static struct Library { Cairo cairo; const char *why; char text[120]; } library;
static pthread_once_t library_once = PTHREAD_ONCE_INIT;

static void library_load(void)
{
#define ROUTINE(id, result, name, proto) { "cairo_" name, &library.cairo.id },
    const LibraryEntry entries[] = {
#include "builtins/pictures/cairo.def"
    };
#undef ROUTINE
    const char *lacks;
    if (library_open("libcairo.so.2", entries, sizeof entries / sizeof *entries, &lacks))
        return;
    library.why =
        "the drawing library cairo was not found (libcairo.so.2); on Debian and Ubuntu it is in "
                  "the package libcairo2";
    if (!lacks)
        return;
    snprintf(library.text, sizeof library.text,
             "libcairo.so.2 has no function %s: install the package libcairo2", lacks);
    library.why = library.text;
}

/* NULL, and why: the library is missing. */
static const Cairo *cairo_open(const char **why)
{
    pthread_once(&library_once, library_load);
    *why = library.why;
    return library.why ? NULL : &library.cairo;
}

/* Fontconfig, behind it, ends in a crash where it gets no memory. */
static const Cairo *open_with_room(OpCall *c, const char **why)
{
    mem_room(&c->in->ctx, (size_t)96 << 20);
    return cairo_open(why);
}

/* ---- layout ---- */

static const Rgb ink = { 40, 40, 40 }, soft = { 110, 110, 110 }, grid = { 228, 228, 228 };

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

static void draw_all(Paper *p)
{
    const View *v = &p->frame;
    p->lib->font(p->pen, "sans-serif", 0, 0);
    place(p);
    p->lib->rgba(p->pen, 1, 1, 1, 1);
    p->lib->paint(p->pen);
    p->lib->line_join(p->pen, JOIN_ROUND);
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

/* ---- surfaces ---- */

/* What cairo writes goes into a Buf; raising through cairo would leave it locked. */
static int write_bytes(void *arg, const unsigned char *data, unsigned n)
{
    enum { WRITE_ERROR = 11 };
    Buf *out = arg;
    ErrFrame frame;
    if (ERR_TRY(out->ctx, &frame)) {
        buf_put(out, (const char *)data, n);
        ERR_END(out->ctx, &frame);
        return 0;
    }
    err_free(out->ctx->error);
    out->ctx->error = NULL;
    return WRITE_ERROR;
}

/* Draws on a surface and gives it up in every case. */
static void draw_on(OpCall *c, const Cairo *lib, const Figure *f, CairoSurface *surface,
                    double w, double h, bool vector, Buf *png)
{
    Ctx *ctx = &c->in->ctx;
    CairoPen *pen = lib->create(surface);
    ErrFrame frame;
    double u = sqrt(sqrt(w * h / (720.0 * 480)));
    Paper p = { .lib = lib, .pen = pen, .call = c, .f = f, .width = w, .height = h,
                .vector = vector,
                .u = u < 0.3 ? 0.3 : u > 6 ? 6 : u };
    if (!ERR_TRY(ctx, &frame)) {
        lib->destroy(pen);
        lib->surface_finish(surface);
        lib->surface_destroy(surface);
        err_rethrow(ctx);
    }
    draw_all(&p);
    ERR_END(ctx, &frame);
    int status = lib->status(pen);
    lib->destroy(pen);
    lib->surface_flush(surface);
    if (!status && png)
        status = lib->write_png(surface, write_bytes, png);
    lib->surface_finish(surface);
    status = status ? status : lib->surface_status(surface);
    lib->surface_destroy(surface);
    if (status)
        err_raise(ctx, ERR_IO, "%s: cairo could not draw the picture: %s", c->op->name,
                  lib->status_text(status));
}

static void draw_pixels(OpCall *c, const Cairo *lib, const Figure *f, int w, int h,
                        uint32_t *pixels, Buf *png)
{
    CairoSurface *s = lib->image_over((unsigned char *)pixels, FORMAT_ARGB32, w, h, 4 * w);
    draw_on(c, lib, f, s, w, h, false, png);
}

bool picture_pixels(OpCall *c, const Figure *f, int width, int height, uint32_t *pixels)
{
    const char *why;
    const Cairo *lib = open_with_room(c, &why);
    if (lib)
        draw_pixels(c, lib, f, width, height, pixels, NULL);
    return lib != NULL;
}

bool picture_png(OpCall *c, const Figure *f, int width, int height, Buf *out)
{
    const char *why;
    const Cairo *lib = open_with_room(c, &why);
    if (lib)
        draw_pixels(c, lib, f, width, height,
                    picture_room(c, (size_t)width * (size_t)height, 4), out);
    return lib != NULL;
}

/* Cells keep their shape, so the page takes it too: at least a third as high as wide, and back. */
static void page_of(const Figure *f, int *w, int *h)
{
    const Cells *c = &f->cells;
    double ratio = c->z ? (double)c->rows / (double)c->cols : 0;
    if (!c->z || ratio < 0.125 || ratio > 8)
        return;
    if (ratio < 0.7)
        *h = (int)fmax(*w / 3.0, *w * 0.85 * ratio + *h * 0.17);
    else if (ratio > 0.8)
        *w = (int)fmax(*h / 2.0, *h * 0.85 / ratio + *h * 0.34);
}

typedef enum Paperkind { PAPER_SVG, PAPER_PNG, PAPER_PDF, PAPER_KINDS } Paperkind;

static Paperkind kind_of(OpCall *c, const char *path)
{
    static const char *const extensions[] = { ".svg", ".png", ".pdf" };
    const char *slash = strrchr(path, '/'), *dot = strrchr(slash ? slash : path, '.');
    for (int i = 0; dot && i < PAPER_KINDS; i++)
        if (ascii_casecmp(dot, extensions[i]) == 0)
            return (Paperkind)i;
    Error *e = err_new(&c->in->ctx, ERR_IO, "%s: %s", path,
                       dot ? "the extension is not that of a format that pictures are written in"
                           : "a name without an extension does not say which format is meant");
    err_help(e, "use .svg, .png or .pdf: to=\"%.*s.svg\"",
             dot ? (int)(dot - path) : (int)strlen(path), path);
    err_throw(e);
}

void picture_file(OpCall *c, const Figure *f, const char *path)
{
    const char *why;
    Paperkind kind = kind_of(c, path);
    const Cairo *lib = open_with_room(c, &why);
    if (!lib)
        err_raise_help(&c->in->ctx, ERR_IO,
                       "without to= the picture is drawn in the terminal", "%s", why);
    int w = f->width ? f->width : kind == PAPER_PNG ? 1200 : 720;
    int h = f->width ? f->height : kind == PAPER_PNG ? 800 : 480;
    if (!f->width)
        page_of(f, &w, &h);
    if (kind == PAPER_PNG && (int64_t)w * h > 100000000)
        err_raise_help(&c->in->ctx, ERR_VALUE, "a .svg or .pdf has no pixels",
                       "size=(%d, %d) is %.0f million pixels, and a PNG has 100 million at most",
                       w, h, (double)w * h / 1e6);
    Buf out;
    ErrFrame frame;
    buf_init(&out, &c->in->ctx);
    if (!ERR_TRY(&c->in->ctx, &frame)) {
        buf_free(&out);
        err_rethrow(&c->in->ctx);
    }
    if (kind == PAPER_PNG)
        picture_png(c, f, w, h, &out);
    else
        draw_on(c, lib, f,
                (kind == PAPER_SVG ? lib->svg : lib->pdf)(write_bytes, &out, w, h), w, h, true,
                NULL);
    file_replace(c, path, &(FilePart){ out.data, out.len }, 1);
    ERR_END(&c->in->ctx, &frame);
    buf_free(&out);
}
