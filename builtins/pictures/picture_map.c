/* Colours of numbers and of series. viridis by S. van der Walt and N. Smith (matplotlib, CC0),
 * every tenth of it; diverging is ColorBrewer's RdBu (C. Brewer) from blue to red. Between the
 * entries colours are mixed in proportion. Series have the palette of M. Okabe and K. Ito, "Color
 * Universal Design" (2008), which the colour-blind can tell apart. */
#include "builtins/pictures/picture.h"

#include <math.h>
#include <string.h>

enum { STOPS = 11 };

static const Rgb stops[MAPS][STOPS] = {
    [MAP_VIRIDIS] = { { 68, 1, 84 }, { 72, 36, 117 }, { 65, 68, 135 }, { 53, 95, 141 },
                      { 42, 120, 142 },
                      { 33, 145, 140 }, { 34, 168, 132 }, { 68, 191, 112 }, { 122, 209, 81 },
                      { 189, 223, 38 }, { 253, 231, 37 } },
    [MAP_DIVERGING] = { { 5, 48, 97 }, { 33, 102, 172 }, { 67, 147, 195 }, { 146, 197, 222 },
                        { 209, 229, 240 }, { 247, 247, 247 }, { 253, 219, 199 }, { 244, 165, 130 },
                        { 214, 96, 77 }, { 178, 24, 43 }, { 103, 0, 31 } },
    [MAP_GREY] = { { 0, 0, 0 }, { 26, 26, 26 }, { 51, 51, 51 }, { 77, 77, 77 }, { 102, 102, 102 },
                   { 128, 128, 128 }, { 153, 153, 153 }, { 179, 179, 179 }, { 204, 204, 204 },
                   { 230, 230, 230 }, { 255, 255, 255 } },
};

const char *const map_names[MAPS] = { "viridis", "diverging", "grey" };

static uint8_t mix(uint8_t a, uint8_t b, double t) { return (uint8_t)lrint(a + (b - a) * t); }

Rgb map_color(ColorMap map, double t)
{
    t = t > 0 ? t < 1 ? t : 1 : 0;
    int k = (int)(t * (STOPS - 1));
    k = k > STOPS - 2 ? STOPS - 2 : k;
    Rgb a = stops[map][k], b = stops[map][k + 1];
    double f = t * (STOPS - 1) - k;
    return (Rgb){ mix(a.r, b.r, f), mix(a.g, b.g, f), mix(a.b, b.b, f) };
}

bool map_find(const char *name, ColorMap *out)
{
    for (int i = 0; i < MAPS; i++)
        if (strcmp(name, map_names[i]) == 0) {
            *out = (ColorMap)i;
            return true;
        }
    if (strcmp(name, "gray") == 0) {
        *out = MAP_GREY;
        return true;
    }
    return false;
}

bool scale_color(const Scale *s, double v, Rgb *out)
{
    if (!isfinite(v) || (s->axis.log && v <= 0))
        return false;
    *out = map_color(s->map, axis_fraction(&s->axis, v));
    return true;
}

Rgb style_color(int style, bool paper)
{
    static const Rgb light[STYLES] =
        { { 86, 180, 233 }, { 230, 159, 0 }, { 0, 178, 129 }, { 230, 110, 40 },
                                       { 204, 121, 167 }, { 240, 228, 66 }, { 60, 130, 220 },
                                       { 170, 170, 170 } };
    static const Rgb dark[STYLES] =
        { { 0, 114, 178 }, { 213, 94, 0 }, { 0, 158, 115 }, { 204, 121, 167 },
                                      { 230, 159, 0 }, { 86, 180, 233 }, { 60, 60, 60 },
                                      { 168, 152, 0 } };
    return paper ? dark[style % STYLES] : light[style % STYLES];
}

bool figure_has_scale(const Figure *f)
{
    bool levels = f->count > 0 && f->series[0].kind == MARK_LEVEL;
    return levels || (f->cells.z && !f->cells.pattern);
}

void cells_part(int64_t n, int64_t parts, int64_t part, int64_t *from, int64_t *count)
{
    *from = (int64_t)((double)part * (double)n / (double)parts);
    int64_t to = (int64_t)((double)(part + 1) * (double)n / (double)parts);
    *count = to > *from ? to - *from : 1;
}

/* The part that shows element i, of no more parts than elements. */
static int64_t cells_part_of(int64_t n, int64_t parts, int64_t i)
{
    int64_t part = (int64_t)((double)i * (double)parts / (double)n), from, count;
    cells_part(n, parts, part, &from, &count);
    while (i < from)
        cells_part(n, parts, --part, &from, &count);
    while (i >= from + count)
        cells_part(n, parts, ++part, &from, &count);
    return part;
}

CellBins cells_bins(OpCall *c, const Cells *cells, int64_t down, int64_t across)
{
    const Csr *a = cells->entries;
    CellBins b = { .rows = down < cells->rows ? down : cells->rows,
                   .cols = across < cells->cols ? across : cells->cols };
    if (!a)
        return b;
    uint32_t *count = picture_room(c, (size_t)b.rows * (size_t)b.cols, sizeof *count);
    for (int64_t i = 0; i < a->m; i++) {
        uint32_t *row = count + cells_part_of(a->m, b.rows, i) * b.cols;
        if (i % 4096 == 0)
            poll_interrupt(c->in);
        for (int64_t k = a->start[i]; k < a->start[i + 1]; k++) {
            if (fabs(cells->z[k]) <= cells->tol)
                continue;
            uint32_t n = ++row[cells_part_of(a->n, b.cols, a->column[k])];
            b.full += n == 1;
            b.most = n > b.most ? n : b.most;
        }
    }
    b.count = count;
    return b;
}

uint32_t cells_bin(const CellBins *b, int64_t i, int64_t down, int64_t j, int64_t across)
{
    int64_t row = i, col = j, one;
    if (down > b->rows)
        cells_part(b->rows, down, i, &row, &one);
    if (across > b->cols)
        cells_part(b->cols, across, j, &col, &one);
    return b->count[row * b->cols + col];
}

/* All of a pattern of entries. */
static double entries_block(const Cells *c)
{
    int64_t n = 0;
    for (int64_t k = 0; k < c->entries->entries; k++)
        n += !(fabs(c->z[k]) <= c->tol);
    return (double)n;
}

double cells_block(const Cells *c, int64_t row, int64_t rows, int64_t col, int64_t cols)
{
    double sum = 0;
    int64_t n = 0;
    if (c->entries)
        return entries_block(c);                   /* blocks of these are looked up in bins */
    for (int64_t i = row; i < row + rows; i++)
        for (int64_t j = col; j < col + cols; j++) {
            double v = c->z[i * c->cols + j];
            if (c->pattern)
                n += !(fabs(v) <= c->tol);
            else if (isfinite(v)) {
                n++;
                sum += (v - sum) / (double)n;      /* a running mean does not overflow */
            }
        }
    return c->pattern ? (double)n : n ? sum : NAN;
}
