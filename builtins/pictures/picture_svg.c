/* SVG, written here: a table of cairo's drawing calls (picture_page.c and picture_paper.c draw by
 * it) that writes elements instead of colouring pixels. Letters stay letters, for search, copying
 * and editing, which cairo makes paths; nothing needs a library. Shapes in a row that look alike
 * share a <g>; a clip is a nested <svg>, so that no element needs an id, which would be heard by
 * other pictures of the same page. */
#include "builtins/pictures/picture_paper.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { DEPTH = 16, DASHES = 4 };

typedef struct Look { double r, g, b, a, width, dash[DASHES]; int cap, dashes; } Look;
/* x' = a x + c y + e, y' = b x + d y + f */
typedef struct Turn { double a, b, c, d, e, f; } Turn;

struct Svg {
    Buf *out, path, says;    /* says: the attributes of the <g> that is wanted */
    Look look;
    Turn turn, kept_turn[DEPTH];
    Look kept[DEPTH];
    bool clipped[DEPTH];
    int depth;
    char group[200];         /* what the open <g> says; "": none is open */
    double box[4];           /* of the last rectangle, for clip */
    double size;             /* of letters */
};

static Svg *of(CairoPen *pen) { return (Svg *)(void *)pen; }

/* ---- numbers and text ---- */

/* Hundredths of a pixel, without zeros that say nothing. */
static void put_number(Buf *out, double v)
{
    char digits[32];
    long long n = llround(fmin(fmax(v, -1e7), 1e7) * 100);
    int at = (int)sizeof digits, part = (int)llabs(n % 100);
    if (part) {
        if (part % 10)
            digits[--at] = (char)('0' + part % 10);
        digits[--at] = (char)('0' + part / 10);
        digits[--at] = '.';
    }
    long long whole = llabs(n / 100);
    do
        digits[--at] = (char)('0' + whole % 10);
    while (whole /= 10);
    if (n < 0)
        digits[--at] = '-';
    buf_put(out, digits + at, sizeof digits - (size_t)at);
}

static void put_named(Buf *out, const char *name, double v)
{
    buf_printf(out, " %s=\"", name);
    put_number(out, v);
    buf_putc(out, '"');
}

static void put_escaped(Buf *out, const char *text)
{
    for (; *text; text++)
        switch (*text) {
        case '<': buf_puts(out, "&lt;"); break;
        case '>': buf_puts(out, "&gt;"); break;
        case '&': buf_puts(out, "&amp;"); break;
        default: buf_putc(out, *text);
        }
}

static void put_color(Buf *out, const Look *l)
{
    buf_printf(out, "#%02x%02x%02x", (unsigned)lrint(255 * l->r), (unsigned)lrint(255 * l->g),
               (unsigned)lrint(255 * l->b));
}

/* ---- elements ---- */

static void end_group(Svg *s)
{
    if (*s->group)
        buf_puts(s->out, "</g>\n");
    *s->group = '\0';
}

/* What comes next stands in a <g> that says this. */
static void in_group(Svg *s)
{
    const char *text = buf_cstr(&s->says);
    if (strcmp(text, s->group) != 0) {
        end_group(s);
        buf_printf(s->out, "<g%s>\n", text);
        if (strlen(text) < sizeof s->group)
            strcpy(s->group, text);
        else
            buf_puts(s->out, "</g>\n");
    }
}

static void put_path(Svg *s)
{
    buf_puts(s->out, "<path d=\"");
    buf_put(s->out, s->path.data ? s->path.data : "", s->path.len);
    buf_puts(s->out, "\"/>\n");
}

static void new_path(CairoPen *pen) { buf_clear(&of(pen)->path); }

static void fill_preserve(CairoPen *pen)
{
    Svg *s = of(pen);
    Buf *says = &s->says;
    if (s->path.len == 0)
        return;
    buf_clear(says);
    buf_puts(says, " fill=\"");
    put_color(says, &s->look);
    buf_putc(says, '"');
    if (s->look.a < 1)
        put_named(says, "fill-opacity", s->look.a);
    in_group(s);
    put_path(s);
}

static void fill(CairoPen *pen)
{
    fill_preserve(pen);
    new_path(pen);
}

static void stroke(CairoPen *pen)
{
    Svg *s = of(pen);
    Buf *says = &s->says;
    if (s->path.len == 0)
        return;
    buf_clear(says);
    buf_puts(says, " fill=\"none\" stroke=\"");
    put_color(says, &s->look);
    buf_putc(says, '"');
    if (s->look.a < 1)
        put_named(says, "stroke-opacity", s->look.a);
    put_named(says, "stroke-width", s->look.width);
    buf_puts(says, s->look.cap ? " stroke-linecap=\"round\" stroke-linejoin=\"round\""
                                : " stroke-linejoin=\"round\"");
    for (int i = 0; i < s->look.dashes; i++) {
        buf_puts(says, i ? " " : " stroke-dasharray=\"");
        put_number(says, s->look.dash[i]);
    }
    if (s->look.dashes)
        buf_putc(says, '"');
    in_group(s);
    put_path(s);
    new_path(pen);
}

/* ---- paths ---- */

static void put_point(Svg *s, char command, double x, double y)
{
    const Turn *t = &s->turn;
    buf_putc(&s->path, command);
    put_number(&s->path, t->a * x + t->c * y + t->e);
    buf_putc(&s->path, ' ');
    put_number(&s->path, t->b * x + t->d * y + t->f);
}

static void move_to(CairoPen *pen, double x, double y) { put_point(of(pen), 'M', x, y); }

/* A line may be the first of a path, as after a new one. */
static void line_to(CairoPen *pen, double x, double y)
{
    put_point(of(pen), of(pen)->path.len ? 'L' : 'M', x, y);
}

static void close_path(CairoPen *pen) { buf_putc(&of(pen)->path, 'Z'); }

static void new_sub_path(CairoPen *pen) { (void)pen; }

static void rectangle(CairoPen *pen, double x, double y, double w, double h)
{
    Svg *s = of(pen);
    put_point(s, 'M', x, y);
    buf_putc(&s->path, 'h');
    put_number(&s->path, w);
    buf_putc(&s->path, 'v');
    put_number(&s->path, h);
    buf_putc(&s->path, 'h');
    put_number(&s->path, -w);
    buf_putc(&s->path, 'z');
    s->box[0] = x + s->turn.e, s->box[1] = y + s->turn.f;
    s->box[2] = w, s->box[3] = h;
}

static void put_arc(Svg *s, double r, double across)
{
    buf_putc(&s->path, 'a');
    put_number(&s->path, r);
    buf_putc(&s->path, ' ');
    put_number(&s->path, r);
    buf_puts(&s->path, " 0 1 0 ");
    put_number(&s->path, across);
    buf_puts(&s->path, " 0");
}

/* Whole circles are all that is drawn. */
static void arc(CairoPen *pen, double x, double y, double r, double from, double to)
{
    Svg *s = of(pen);
    (void)from;
    (void)to;
    put_point(s, 'M', x - r, y);
    put_arc(s, r, 2 * r);
    put_arc(s, r, -2 * r);
    buf_putc(&s->path, 'z');
}

/* ---- state ---- */

static void rgba(CairoPen *pen, double r, double g, double b, double a)
{
    Look *l = &of(pen)->look;
    l->r = r, l->g = g, l->b = b, l->a = a;
}

static void line_width(CairoPen *pen, double w) { of(pen)->look.width = w; }
static void line_cap(CairoPen *pen, int cap) { of(pen)->look.cap = cap; }

static void line_join(CairoPen *pen, int join)
{
    (void)pen;               /* always round */
    (void)join;
}

static void dash(CairoPen *pen, const double *d, int n, double offset)
{
    Look *l = &of(pen)->look;
    (void)offset;
    l->dashes = n < DASHES ? n : DASHES;
    for (int i = 0; i < l->dashes; i++)
        l->dash[i] = d[i];
}

static void save(CairoPen *pen)
{
    Svg *s = of(pen);
    s->kept[s->depth] = s->look;
    s->kept_turn[s->depth] = s->turn;
    s->clipped[s->depth++] = false;
}

static void restore(CairoPen *pen)
{
    Svg *s = of(pen);
    s->look = s->kept[--s->depth];
    s->turn = s->kept_turn[s->depth];
    end_group(s);
    if (s->clipped[s->depth])
        buf_puts(s->out, "</svg>\n");
}

/* To the last rectangle, until the state is restored. */
static void clip(CairoPen *pen)
{
    static const char *const names[] = { "x", "y", "width", "height" };
    Svg *s = of(pen);
    new_path(pen);
    if (s->depth == 0 || s->clipped[s->depth - 1])
        return;
    end_group(s);
    s->clipped[s->depth - 1] = true;
    buf_puts(s->out, "<svg");
    for (int i = 0; i < 4; i++)
        put_named(s->out, names[i], s->box[i]);
    for (int i = 0; i < 4; i++) {
        buf_puts(s->out, i ? " " : " viewBox=\"");
        put_number(s->out, s->box[i]);
    }
    buf_puts(s->out, "\">\n");
}

static void translate(CairoPen *pen, double x, double y)
{
    Turn *t = &of(pen)->turn;
    t->e += t->a * x + t->c * y;
    t->f += t->b * x + t->d * y;
}

static void rotate(CairoPen *pen, double angle)
{
    Turn *t = &of(pen)->turn, was = *t;
    double c = cos(angle), s = sin(angle);
    t->a = was.a * c + was.c * s, t->b = was.b * c + was.d * s;
    t->c = was.c * c - was.a * s, t->d = was.d * c - was.b * s;
}

/* ---- letters ---- */

/* Widths of ASCII in Helvetica, thousandths of its size (Adobe Font Metrics, 1997); Arial and
 * Liberation Sans have the same. DejaVu Sans, which a viewer may have instead, is wider by an
 * eighth: so much room is left. */
static const short widths[95] = {
    278, 278, 355, 556, 556, 889, 667, 191, 333, 333, 389, 584, 278, 584, 278, 278,
    556, 556, 556, 556, 556, 556, 556, 556, 556, 556, 278, 278, 584, 584, 584, 556,
    1015, 667, 667, 722, 722, 667, 611, 778, 722, 278, 500, 667, 556, 833, 722, 778,
    667, 778, 722, 667, 611, 722, 667, 944, 667, 667, 611, 278, 278, 278, 469, 556,
    333, 556, 556, 500, 556, 556, 278, 556, 556, 222, 222, 500, 222, 833, 556, 556,
    556, 556, 333, 500, 278, 556, 500, 722, 500, 500, 500, 334, 260, 334, 584 };

static void font(CairoPen *pen, const char *family, int slant, int weight)
{
    (void)pen;               /* the root element names it */
    (void)family;
    (void)slant;
    (void)weight;
}

static void font_size(CairoPen *pen, double size) { of(pen)->size = size; }

static void extents(CairoPen *pen, const char *text, CairoExtents *e)
{
    double sum = 0;
    for (size_t at = 0; text[at];) {
        uint32_t ch = picture_next(text, &at);
        sum += ch >= ' ' && ch < 127 ? widths[ch - ' '] : ch >= 0x1100 ? 1000 : 600;
    }
    *e = (CairoExtents){ .width = 1.125 * sum / 1000 * of(pen)->size };
    e->x_advance = e->width;
}

void svg_text_begin(Svg *s, double x, double y, double size, Align align)
{
    const Turn *t = &s->turn;
    double px = t->a * x + t->c * y + t->e, py = t->b * x + t->d * y + t->f;
    end_group(s);
    buf_puts(s->out, "<text");
    put_named(s->out, "x", px);
    put_named(s->out, "y", py);
    put_named(s->out, "font-size", size);
    buf_puts(s->out, " fill=\"");
    put_color(s->out, &s->look);
    buf_puts(s->out, align == ALIGN_CENTRE ? "\" text-anchor=\"middle\""
                     : align == ALIGN_RIGHT ? "\" text-anchor=\"end\"" : "\"");
    if (t->b != 0) {
        buf_puts(s->out, " transform=\"rotate(");
        put_number(s->out, atan2(t->b, t->a) * 180 / M_PI);
        buf_putc(s->out, ' ');
        put_number(s->out, px);
        buf_putc(s->out, ' ');
        put_number(s->out, py);
        buf_puts(s->out, ")\"");
    }
    buf_putc(s->out, '>');
}

void svg_text_run(Svg *s, const char *run, double size, bool raised)
{
    if (!raised) {
        put_escaped(s->out, run);
        return;
    }
    buf_puts(s->out, "<tspan baseline-shift=\"super\"");
    put_named(s->out, "font-size", size * 0.72);
    buf_putc(s->out, '>');
    put_escaped(s->out, run);
    buf_puts(s->out, "</tspan>");
}

void svg_text_end(Svg *s) { buf_puts(s->out, "</text>\n"); }

/* ---- images: PNG (ISO/IEC 15948) of indexed colours, its deflate stream stored ---- */

static void put_u32(Buf *out, uint32_t v)
{
    for (int k = 24; k >= 0; k -= 8)
        buf_putc(out, (char)(v >> k & 255));
}

static uint32_t crc_of(const uint8_t *p, size_t n)
{
    uint32_t table[16], crc = ~0u;
    for (uint32_t i = 0; i < 16; i++) {
        table[i] = i;
        for (int k = 0; k < 4; k++)
            table[i] = table[i] >> 1 ^ (table[i] & 1 ? 0xedb88320u : 0);
    }
    for (size_t i = 0; i < n; i++) {
        crc ^= p[i];
        crc = crc >> 4 ^ table[crc & 15];
        crc = crc >> 4 ^ table[crc & 15];
    }
    return ~crc;
}

/* `from`: where the chunk's four letters stand; its length is written before them. */
static void end_chunk(Buf *png, size_t from)
{
    uint32_t n = (uint32_t)(png->len - from - 4);
    uint8_t *at = (uint8_t *)png->data + from;
    for (int k = 0; k < 4; k++)
        at[k - 4] = (uint8_t)(n >> (24 - 8 * k));
    put_u32(png, crc_of(at, n + 4));
}

static size_t begin_chunk(Buf *png, const char *name)
{
    put_u32(png, 0);
    buf_put(png, name, 4);
    return png->len - 4;
}

/* A zlib stream of stored blocks: each row is one, as long as rows are short. */
static void put_rows(Buf *png, const uint8_t *index, int cols, int rows)
{
    uint32_t a = 1, b = 0;                   /* Adler-32 */
    buf_put(png, "\x78\x01", 2);
    for (int i = 0; i < rows; i++) {
        const uint8_t *row = index + (size_t)i * (size_t)cols;
        unsigned n = (unsigned)cols + 1;
        buf_putc(png, i + 1 == rows);
        buf_putc(png, (char)(n & 255));
        buf_putc(png, (char)(n >> 8));
        buf_putc(png, (char)(~n & 255));
        buf_putc(png, (char)(~n >> 8 & 255));
        buf_putc(png, 0);                    /* filter: none */
        b = (b + a) % 65521;
        for (int j = 0; j < cols; j++) {
            a = (a + row[j]) % 65521;
            b = (b + a) % 65521;
        }
        buf_put(png, (const char *)row, (size_t)cols);
    }
    put_u32(png, b << 16 | a);
}

static void put_png(Buf *png, const uint8_t *index, int cols, int rows, const Rgb *palette)
{
    size_t at;
    buf_put(png, "\x89PNG\r\n\x1a\n", 8);
    at = begin_chunk(png, "IHDR");
    put_u32(png, (uint32_t)cols);
    put_u32(png, (uint32_t)rows);
    buf_put(png, "\x08\x03\0\0\0", 5);       /* eight bits, a palette */
    end_chunk(png, at);
    at = begin_chunk(png, "PLTE");
    for (int k = 0; k < 256; k++) {
        char rgb[3] = { (char)palette[k].r, (char)palette[k].g, (char)palette[k].b };
        buf_put(png, rgb, 3);
    }
    end_chunk(png, at);
    at = begin_chunk(png, "tRNS");
    buf_putc(png, 0);
    end_chunk(png, at);
    at = begin_chunk(png, "IDAT");
    put_rows(png, index, cols, rows);
    end_chunk(png, at);
    end_chunk(png, begin_chunk(png, "IEND"));
}

void svg_image(Svg *s, const View *v, const uint8_t *index, int cols, int rows, const Rgb *palette)
{
    ErrFrame frame;
    Buf png;
    buf_init(&png, s->out->ctx);
    if (!ERR_TRY(s->out->ctx, &frame)) {
        buf_free(&png);
        err_rethrow(s->out->ctx);
    }
    put_png(&png, index, cols, rows, palette);
    end_group(s);
    buf_puts(s->out, "<image");
    put_named(s->out, "x", v->left + s->turn.e);
    put_named(s->out, "y", v->top + s->turn.f);
    put_named(s->out, "width", v->width);
    put_named(s->out, "height", v->height);
    buf_puts(s->out, " preserveAspectRatio=\"none\" "
                     "style=\"image-rendering:optimizeSpeed;image-rendering:pixelated\" "
                     "href=\"data:image/png;base64,");
    picture_base64(s->out, (const uint8_t *)png.data, png.len);
    buf_puts(s->out, "\"/>\n");
    ERR_END(s->out->ctx, &frame);
    buf_free(&png);
}

/* ---- the table ---- */

static const Cairo svg_calls = {
    .rgba = rgba, .fill = fill, .fill_preserve = fill_preserve, .stroke = stroke,
    .move_to = move_to, .line_to = line_to, .close_path = close_path, .new_path = new_path,
    .new_sub_path = new_sub_path, .rectangle = rectangle, .arc = arc, .line_width = line_width,
    .line_cap = line_cap, .line_join = line_join, .dash = dash, .clip = clip, .save = save,
    .restore = restore, .translate = translate, .rotate = rotate, .font = font,
    .font_size = font_size, .extents = extents };

void picture_svg(OpCall *c, const Figure *f, double width, double height, Buf *out)
{
    Svg s = { .out = out, .turn = { .a = 1, .d = 1 }, .look = { .a = 1, .width = 1 } };
    Paper p = { .lib = &svg_calls, .pen = (CairoPen *)(void *)&s, .svg = &s, .call = c, .f = f,
                .width = width, .height = height, .vector = true, .u = paper_unit(width, height) };
    ErrFrame frame;
    buf_init(&s.path, &c->in->ctx);
    buf_init(&s.says, &c->in->ctx);
    if (!ERR_TRY(&c->in->ctx, &frame)) {
        buf_free(&s.path);
        buf_free(&s.says);
        err_rethrow(&c->in->ctx);
    }
    buf_printf(out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
               "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%.0f\" "
               "viewBox=\"0 0 %.0f %.0f\" font-family=\"Helvetica,Arial,sans-serif\" "
               "xml:space=\"preserve\">\n", width, height, width, height);
    paper_page(&p);
    end_group(&s);
    buf_puts(out, "</svg>\n");
    ERR_END(&c->in->ctx, &frame);
    buf_free(&s.path);
    buf_free(&s.says);
}
