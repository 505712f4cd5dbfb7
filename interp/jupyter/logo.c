/* The sign is a list of shapes, drawn twice: as SVG, and as pixels by counting points inside of
 * them. The PNG's data are stored, not compressed: it has 64 × 64 pixels. */
#include "interp/jupyter/logo.h"

#include <math.h>
#include <string.h>

enum { SIZE = 64, FINE = 4 };

typedef struct Shape {
    const char *path;                /* as SVG has it */
    uint8_t color[3];
    bool (*inside)(double x, double y);
} Shape;

/* A square with round corners. */
static bool in_ground(double x, double y)
{
    double dx = fmax(fabs(x - 32) - 20, 0), dy = fmax(fabs(y - 32) - 20, 0);
    return dx * dx + dy * dy <= 100;
}

/* A stem, a half ring and a leg. */
static bool in_letter(double x, double y)
{
    bool stem = x >= 14 && x <= 20 && y >= 14 && y <= 50;
    double dx = fmax(x - 26, 0), dy = y - 23.5, r = sqrt(dx * dx + dy * dy);
    bool bowl = x >= 20 && r <= 9.5 && r >= 4;
    double middle = 25 + (y - 33) * 13 / 17;
    bool leg = y >= 31 && y <= 50 && x >= middle - 3.5 && x <= middle + 3.5;
    return stem || bowl || leg;
}

static bool in_upper(double x, double y)
{
    return x >= 42 && x <= 51 && y >= 13 && y <= 22;
}

static bool in_lower(double x, double y)
{
    return x >= 46 && x <= 53 && y >= 43 && y <= 50;
}

static const Shape shapes[] = {
    { "M12 2H52A10 10 0 0 1 62 12V52A10 10 0 0 1 52 62H12A10 10 0 0 1 2 52V12A10 10 0 0 1 12 2Z",
      { 0x1f, 0x4e, 0x6b }, in_ground },
    { "M14 14H26A9.5 9.5 0 0 1 30.5 31.9L41.5 50H34.5L22.6 33H20V50H14ZM20 19.5V27.5H26A4 4 0 0 0 "
      "26 19.5Z", { 0xff, 0xff, 0xff }, in_letter },
    { "M42 13H51V22H42Z", { 0xf2, 0xb1, 0x34 }, in_upper },
    { "M46 43H53V50H46Z", { 0x6f, 0xc3, 0xb2 }, in_lower },
};
enum { SHAPES = sizeof shapes / sizeof *shapes };

void logo_svg(Buf *out)
{
    buf_puts(out, "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"64\" height=\"64\" "
                  "viewBox=\"0 0 64 64\">\n");
    for (int i = 0; i < SHAPES; i++)
        buf_printf(out, "<path fill=\"#%02x%02x%02x\" d=\"%s\"/>\n", shapes[i].color[0],
                   shapes[i].color[1], shapes[i].color[2], shapes[i].path);
    buf_puts(out, "</svg>\n");
}

/* ---- PNG ---- */
static void put_number(uint8_t *out, uint32_t v)
{
    for (int i = 3; i >= 0; i--, v >>= 8)
        out[i] = (uint8_t)v;
}

static void put_chunk(Buf *out, const char *name, const uint8_t *data, size_t n)
{
    uint8_t four[4];
    uint32_t crc = ~0u;
    size_t from = out->len + 4;
    put_number(four, (uint32_t)n);
    buf_put(out, (const char *)four, 4);
    buf_put(out, name, 4);
    buf_put(out, (const char *)data, n);
    for (size_t i = from; i < out->len; i++) {
        crc ^= (uint8_t)out->data[i];
        for (int bit = 0; bit < 8; bit++)
            crc = crc >> 1 ^ (crc & 1 ? 0xedb88320u : 0);
    }
    put_number(four, ~crc);
    buf_put(out, (const char *)four, 4);
}

/* The share of a pixel that each shape covers, the later ones on top. */
static void put_pixel(uint8_t rgba[4], int x, int y)
{
    double sum[4] = { 0 };
    for (int k = 0; k < FINE * FINE; k++) {
        const Shape *top = NULL;
        double px = x + (k % FINE + 0.5) / FINE, py = y + (k / FINE + 0.5) / FINE;
        for (int i = 0; i < SHAPES; i++)
            top = shapes[i].inside(px, py) ? &shapes[i] : top;
        for (int c = 0; top && c < 3; c++)
            sum[c] += top->color[c];
        sum[3] += top != NULL;
    }
    for (int c = 0; c < 3; c++)
        rgba[c] = (uint8_t)(sum[3] > 0 ? sum[c] / sum[3] + 0.5 : 0);
    rgba[3] = (uint8_t)(255 * sum[3] / (FINE * FINE) + 0.5);
}

void logo_png(Buf *out)
{
    enum { LINE = 1 + 4 * SIZE, RAW = SIZE * LINE };
    uint8_t zip[2 + 5 + RAW + 4] = { 0 };
    uint8_t head[13] = { [3] = SIZE, [7] = SIZE, 8, 6 };
    uint8_t *raw = zip + 7;
    uint32_t a = 1, b = 0;
    for (int y = 0; y < SIZE; y++)
        for (int x = 0; x < SIZE; x++)
            put_pixel(raw + y * LINE + 1 + 4 * x, x, y);
    for (int i = 0; i < RAW; i++) {
        a = (a + raw[i]) % 65521;
        b = (b + a) % 65521;
    }
    memcpy(zip, (uint8_t[]){ 0x78, 1, 1, RAW & 255, RAW >> 8, ~RAW & 255, ~RAW >> 8 & 255 }, 7);
    put_number(raw + RAW, b << 16 | a);
    buf_put(out, "\x89PNG\r\n\x1a\n", 8);
    put_chunk(out, "IHDR", head, sizeof head);
    put_chunk(out, "IDAT", zip, sizeof zip);
    put_chunk(out, "IEND", NULL, 0);
}
