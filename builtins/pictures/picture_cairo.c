/* Files of pictures: SVG by picture_svg.c, PDF and PNG through cairo, which is opened when a
 * picture is first drawn by it. dlopen gives a process one copy of a library, so its table belongs
 * to the process: it is written once and read afterwards. Errors unwind through nothing of cairo:
 * what it calls back never raises, and surfaces are given back where an error passes. */
#include "builtins/stored/files.h"
#include "core/system/library.h"
#include "builtins/pictures/picture_paper.h"
#include "core/system/ascii.h"
#include "core/base/error.h"
#include "interp/output/display.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

enum { FORMAT_ARGB32 = 0 };  /* from cairo.h */

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
    Paper p = { .lib = lib, .pen = pen, .call = c, .f = f, .width = w, .height = h,
                .vector = vector, .u = paper_unit(w, h) };
    if (!ERR_TRY(ctx, &frame)) {
        lib->destroy(pen);
        lib->surface_finish(surface);
        lib->surface_destroy(surface);
        err_rethrow(ctx);
    }
    paper_page(&p);
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

/* The page of a figure, unless it was asked for, is so wide and high. */
static void page_size(const Figure *f, int *w, int *h)
{
    if (f->width)
        *w = f->width, *h = f->height;
    else if (f->board)
        board_page(f->board, w, h);
    else
        page_of(f, w, h);
}

/* The page in points or pixels, and the figure on it as bytes. */
static void paged_bytes(OpCall *c, const Figure *f, Paperkind kind, const Cairo *lib, Buf *out)
{
    int w = kind == PAPER_PNG ? 1200 : 720, h = kind == PAPER_PNG ? 800 : 480;
    page_size(f, &w, &h);
    if (kind == PAPER_PNG && (int64_t)w * h > 100000000)
        err_raise_help(&c->in->ctx, ERR_VALUE, "a .svg or .pdf has no pixels",
                       "size=(%d, %d) is %.0f million pixels, and a PNG has 100 million at most",
                       w, h, (double)w * h / 1e6);
    if (kind == PAPER_PNG)
        picture_png(c, f, w, h, out);
    else if (kind == PAPER_SVG)
        picture_svg(c, f, w, h, out);
    else
        draw_on(c, lib, f, lib->pdf(write_bytes, out, w, h), w, h, true, NULL);
}

void picture_file(OpCall *c, const Figure *f, const char *path)
{
    const char *why;
    Paperkind kind = kind_of(c, path);
    const Cairo *lib = kind == PAPER_SVG ? NULL : open_with_room(c, &why);
    if (kind != PAPER_SVG && !lib)
        err_raise_help(&c->in->ctx, ERR_IO, "to=\"….svg\" needs no library", "%s", why);
    Buf out;
    ErrFrame frame;
    buf_init(&out, &c->in->ctx);
    if (!ERR_TRY(&c->in->ctx, &frame)) {
        buf_free(&out);
        err_rethrow(&c->in->ctx);
    }
    paged_bytes(c, f, kind, lib, &out);
    file_replace(c, path, &(FilePart){ out.data, out.len }, 1);
    ERR_END(&c->in->ctx, &frame);
    buf_free(&out);
}

/* ---- on a page of others ---- */
enum { SVG_MOST = 300000, PAGE_WIDTH = 600, PAGE_HEIGHT = 400, PAGE_LEAST = 80, PAGE_MOST = 2000,
       CELL_WIDTH = 10, CELL_HEIGHT = 20 };

typedef struct Shown {
    OpCall *call;
    const Figure *f;
} Shown;

/* size= counts characters where nothing is said of a file, so each is a cell of a page. */
static void show_forms(Interp *in, Display *d, void *task)
{
    OpCall *c = ((Shown *)task)->call;
    const Figure *f = ((Shown *)task)->f;
    int w = PAGE_WIDTH, h = PAGE_HEIGHT;
    Value *mark = in->sp;
    picture_text(c, f, &d->form[DISPLAY_TEXT]);
    page_size(f, &w, &h);
    if (f->width)
        w *= CELL_WIDTH, h *= CELL_HEIGHT;
    d->width = w < PAGE_LEAST ? PAGE_LEAST : w > PAGE_MOST ? PAGE_MOST : w;
    d->height = h < PAGE_LEAST ? PAGE_LEAST : h > PAGE_MOST ? PAGE_MOST : h;
    picture_svg(c, f, d->width, d->height, &d->form[DISPLAY_SVG]);
    if (d->form[DISPLAY_SVG].len >= SVG_MOST)
        buf_clear(&d->form[DISPLAY_SVG]);
    picture_png(c, f, 2 * d->width, 2 * d->height, &d->form[DISPLAY_PNG]);
    stack_cut(in, mark);
}

void picture_display(OpCall *c, const Figure *f)
{
    display_make(c->in, show_forms, &(Shown){ c, f });
}
