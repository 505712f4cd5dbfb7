/* Images in the terminal: whether it shows any, and the two ways of sending them, kitty's graphics
 * protocol and sixel (VT340). The terminal is asked once, at the first picture of a session, and
 * only where somebody types at it: a question that goes into a pipe comes back as input. */
#include "builtins/pictures/picture.h"
#include "core/system/fd.h"
#include "interp/output/output.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

enum { IMAGES_UNKNOWN, IMAGES_NONE, IMAGES_SIXEL, IMAGES_KITTY };
enum { ANSWER_MS = 1000, CELL_WIDTH = 9, CELL_HEIGHT = 18, COLS_MAX = 90 };

typedef struct Images {
    uint8_t kind;
    uint16_t cell_width, cell_height;       /* of a character, in pixels; 0: not known yet */
} Images;
static const OpState images_kept = { sizeof(Images), NULL };

/* ---- asking ---- */

/* Whether the answers are complete: the last is `ESC [ ? … c`, which every terminal gives. */
static const char *attributes_in(const char *text)
{
    for (const char *at = text; (at = strstr(at, "\033[?")) != NULL; at++) {
        size_t n = strspn(at + 3, "0123456789;");
        if (at[3 + n] == 'c')
            return at + 3;
    }
    return NULL;
}

static int64_t now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static const char *read_answers(char *text, size_t cap)
{
    size_t n = 0;
    int64_t end = now_ms() + ANSWER_MS, left;
    const char *found = NULL;
    while (!found && n + 1 < cap && (left = end - now_ms()) > 0) {
        struct pollfd p = { .fd = STDIN_FILENO, .events = POLLIN };
        if (poll(&p, 1, (int)left) <= 0)
            continue;
        /* one by one: nothing behind the answer is taken */
        ssize_t got = read(STDIN_FILENO, text + n, 1);
        if (got <= 0)
            break;
        n += (size_t)got;
        text[n] = '\0';
        found = attributes_in(text);
    }
    return found;
}

static void read_cell_size(Images *t, const char *text)
{
    int h = 0, w = 0;
    const char *at = strstr(text, "\033[6;");
    t->cell_width = CELL_WIDTH;
    t->cell_height = CELL_HEIGHT;
    if (at && sscanf(at, "\033[6;%d;%dt", &h, &w) == 2 && w >= 4 && w <= 100 &&
        h >= 6 && h <= 200) {
        t->cell_width = (uint16_t)w;
        t->cell_height = (uint16_t)h;
    }
}

static bool has_attribute(const char *list, int wanted)
{
    for (char *end; *list >= '0' && *list <= '9'; list = *end == ';' ? end + 1 : end)
        if (strtol(list, &end, 10) == wanted)
            return true;
    return false;
}

/* What was typed ahead must stay where readline finds it: then the terminal is asked another
 * time. */
static bool typed_ahead(void)
{
    struct pollfd p = { .fd = STDIN_FILENO, .events = POLLIN };
    return poll(&p, 1, 0) > 0;
}

static void ask(Interp *in, Images *t)
{
    static const char question[] = "\033_Gi=31,s=1,v=1,a=q,t=d,f=24;AAAA\033\\\033[16t\033[c";
    struct termios old, raw;
    char text[512] = "";
    if (!in->interactive || !in->show.color || in->show.width == 0 || !isatty(STDIN_FILENO)) {
        t->kind = IMAGES_NONE;
        return;
    }
    if (typed_ahead() || tcgetattr(STDIN_FILENO, &old) != 0)
        return;
    raw = old;
    raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
    raw.c_cc[VMIN] = 1;
    raw.c_cc[VTIME] = 0;
    out_flush(in);
    tcsetattr(STDIN_FILENO, TCSADRAIN, &raw);
    bool asked = fd_write_all(STDOUT_FILENO, question, sizeof question - 1);
    const char *attributes = asked ? read_answers(text, sizeof text) : NULL;
    tcsetattr(STDIN_FILENO, TCSADRAIN, &old);
    read_cell_size(t, text);
    t->kind = strstr(text, "\033_Gi=31;OK") ? IMAGES_KITTY
              : attributes && has_attribute(attributes, 4) ? IMAGES_SIXEL : IMAGES_NONE;
}

static int images_of(Interp *in)
{
    Images *t = op_state(in, &images_kept);
    const char *asked = getenv("RICCI_PICTURES");
    if (!t->cell_width) {
        t->cell_width = CELL_WIDTH;
        t->cell_height = CELL_HEIGHT;
    }
    if (asked && strcmp(asked, "kitty") == 0)
        return IMAGES_KITTY;
    if (asked && strcmp(asked, "sixel") == 0)
        return IMAGES_SIXEL;
    if (asked && *asked)
        return IMAGES_NONE;
    if (t->kind == IMAGES_UNKNOWN)
        ask(in, t);
    return t->kind;
}

/* ---- kitty ---- */

void picture_base64(Buf *out, const uint8_t *data, size_t n)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for (size_t i = 0; i < n; i += 3) {
        uint32_t second = i + 1 < n ? data[i + 1] : 0, third = i + 2 < n ? data[i + 2] : 0;
        uint32_t v = (uint32_t)data[i] << 16 | second << 8 | third;
        char four[4] = { digits[v >> 18], digits[v >> 12 & 63], digits[v >> 6 & 63],
                         digits[v & 63] };
        if (i + 1 >= n)
            four[2] = '=';
        if (i + 2 >= n)
            four[3] = '=';
        buf_put(out, four, 4);
    }
}

/* Chunks of 4096 characters, as the protocol asks for. */
static void put_kitty(Buf *out, const Buf *png)
{
    enum { CHUNK = 3072 };
    for (size_t at = 0; at < png->len; at += CHUNK) {
        size_t n = png->len - at < CHUNK ? png->len - at : CHUNK;
        buf_printf(out, "\033_G%sm=%d;", at ? "" : "a=T,f=100,q=2,", at + n < png->len);
        picture_base64(out, (const uint8_t *)png->data + at, n);
        buf_puts(out, "\033\\");
    }
    buf_putc(out, '\n');
}

/* ---- sixel ---- */

enum { BUCKETS = 1 << 15, PALETTE = 255 };

static uint32_t bucket_of(uint32_t p) { return (p >> 19 & 31) << 10 | (p >> 11 & 31) << 5 |
                                        (p >> 3 & 31); }

static uint32_t color_of(uint32_t b)
{
    return (b >> 10) * 255 / 31 << 16 | (b >> 5 & 31) * 255 / 31 << 8 | (b & 31) * 255 / 31;
}

typedef struct Palette {
    uint32_t count[BUCKETS];
    uint8_t index[BUCKETS];      /* of the colour that stands for a bucket */
    uint32_t color[PALETTE];
    int colors;
} Palette;

static int distance(uint32_t a, uint32_t b)
{
    int sum = 0;
    for (int k = 0; k < 24; k += 8) {
        int d = (int)(a >> k & 255) - (int)(b >> k & 255);
        sum += d * d;
    }
    return sum;
}

/* The most frequent colours, to five bits a channel; the others take the nearest of them. */
static void choose_palette(Palette *p, const uint32_t *pixels, int64_t n)
{
    uint32_t *last = p->color;
    for (int64_t i = 0; i < n; i++)
        p->count[bucket_of(pixels[i])]++;
    for (p->colors = 0; p->colors < PALETTE; p->colors++) {
        uint32_t best = 0;
        for (uint32_t b = 1; b < BUCKETS; b++)
            best = p->count[b] > p->count[best] ? b : best;
        if (p->count[best] == 0)
            break;
        p->count[best] = 0;
        last[p->colors] = color_of(best);
    }
    for (uint32_t b = 0; b < BUCKETS; b++) {
        uint32_t c = color_of(b);
        int near = 0;
        for (int k = 1; k < p->colors; k++)
            near = distance(c, p->color[k]) < distance(c, p->color[near]) ? k : near;
        p->index[b] = (uint8_t)near;
    }
}

static void put_run(Buf *out, char ch, int n)
{
    if (n > 3)
        buf_printf(out, "!%d%c", n, ch);
    else
        buf_fill(out, ch, (size_t)n);
}

/* One colour's dots in six rows. */
static void put_band(Buf *out, const uint8_t *rows[6], int width, int color)
{
    char now = 0;
    int run = 0;
    buf_printf(out, "#%d", color);
    for (int x = 0; x < width; x++) {
        int bits = 0;
        for (int k = 0; k < 6; k++)
            bits |= (rows[k] && rows[k][x] == color) << k;
        char ch = (char)(63 + bits);
        if (ch != now) {
            put_run(out, now, run);
            now = ch;
            run = 0;
        }
        run++;
    }
    if (now != 63)
        put_run(out, now, run);
    buf_putc(out, '$');
}

static void put_sixel(OpCall *c, Buf *out, const uint32_t *pixels, int width, int height)
{
    Palette *p = picture_room(c, 1, sizeof *p);
    uint8_t *indexed = picture_room(c, (size_t)width * (size_t)height, 1);
    choose_palette(p, pixels, (int64_t)width * height);
    for (int64_t i = 0; i < (int64_t)width * height; i++)
        indexed[i] = p->index[bucket_of(pixels[i])];
    buf_printf(out, "\033P0;1q\"1;1;%d;%d", width, height);
    for (int k = 0; k < p->colors; k++)
        buf_printf(out, "#%d;2;%u;%u;%u", k, (p->color[k] >> 16) * 100 / 255,
                   (p->color[k] >> 8 & 255) * 100 / 255, (p->color[k] & 255) * 100 / 255);
    for (int y = 0; y < height; y += 6) {
        const uint8_t *rows[6];
        bool used[PALETTE + 1] = { false };
        for (int k = 0; k < 6; k++) {
            rows[k] = y + k < height ? indexed + (int64_t)(y + k) * width : NULL;
            for (int x = 0; rows[k] && x < width; x++)
                used[rows[k][x]] = true;
        }
        for (int k = 0; k < p->colors; k++)
            if (used[k])
                put_band(out, rows, width, k);
        buf_putc(out, '-');
        poll_interrupt(c->in);
    }
    buf_puts(out, "\033\\\n");
}

/* ---- drawing ---- */

static void image_size(Interp *in, const Figure *f, int *width, int *height)
{
    int cols = in->show.width > 0 ? in->show.width : 80,
        rows = in->show.height > 3 ? in->show.height - 3 : 21;
    const Images *t = op_state(in, &images_kept);
    int cw = t->cell_width, ch = t->cell_height;
    if (f->width) {
        cols = f->width < cols ? f->width : cols;
        rows = f->height < 200 ? f->height : 200;
    } else {
        cols = cols < COLS_MAX ? cols : COLS_MAX;
        int page[2] = { 100, 62 };
        if (f->board)
            board_page(f->board, &page[0], &page[1]);
        int fit = (int)((double)cols * cw * page[1] / page[0] / ch);
        rows = rows < fit ? rows : fit;
    }
    *width = cols * cw < 120 ? 120 : cols * cw > 4000 ? 4000 : cols * cw;
    *height = rows * ch < 80 ? 80 : rows * ch > 4000 ? 4000 : rows * ch;
}

/* The text of the image in a string on the value stack. */
bool picture_image(OpCall *c, const Figure *f)
{
    Interp *in = c->in;
    const char *asked = getenv("RICCI_PICTURES");
    int kind = images_of(in), width, height;
    if (asked && strcmp(asked, "none") == 0)
        return true;
    if (kind < IMAGES_SIXEL)
        return false;
    image_size(in, f, &width, &height);
    Buf out, png;
    ErrFrame frame;
    buf_init(&out, &in->ctx);
    buf_init(&png, &in->ctx);
    if (!ERR_TRY(&in->ctx, &frame)) {
        buf_free(&out);
        buf_free(&png);
        err_rethrow(&in->ctx);
    }
    bool drawn;
    if (kind == IMAGES_KITTY) {
        drawn = picture_png(c, f, width, height, &png);
        if (drawn)
            put_kitty(&out, &png);
    } else {
        uint32_t *pixels = picture_room(c, (size_t)width * (size_t)height, sizeof *pixels);
        drawn = picture_pixels(c, f, width, height, pixels);
        if (drawn)
            put_sixel(c, &out, pixels, width, height);
    }
    if (drawn)
        out_write(in, out.data, out.len);
    ERR_END(&in->ctx, &frame);
    buf_free(&out);
    buf_free(&png);
    return drawn;
}
