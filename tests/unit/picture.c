/* Ticks of axes, thinned paths and contours against cases that can be worked out by hand. */
#include "builtins/pictures/picture.h"
#include "tests/unit/check.h"
#include "interp/life.h"

#include <float.h>

static Axis axis(double lo, double hi, bool log)
{
    Axis a = { .lo = lo, .hi = hi, .log = log, .label = "" };
    axis_fix(&a);
    return a;
}

/* The labels of an axis in one line. */
static const char *labels(double lo, double hi, bool log, int wanted)
{
    static char out[1000];
    Ticks t;
    Axis a = axis(lo, hi, log);
    axis_ticks(&a, wanted, &t);
    out[0] = '\0';
    for (int i = 0; i < t.count; i++)
        snprintf(out + strlen(out), sizeof out - strlen(out), "%s%s", i ? " " : "", t.tick[i].text);
    if (t.exponent)
        snprintf(out + strlen(out), sizeof out - strlen(out), " e%d", t.exponent);
    return out;
}

static void expect(double lo, double hi, bool log, int wanted, const char *want)
{
    const char *got = labels(lo, hi, log, wanted);
    if (!CHECK(strcmp(got, want) == 0))
        fprintf(stderr, "    [%g, %g]: %s instead of %s\n", lo, hi, got, want);
}

static void check_labels(void)
{
    expect(0, 10, false, 6, "0 2 4 6 8 10");
    expect(0, 1, false, 5, "0.00 0.25 0.50 0.75 1.00");
    expect(-1, 1, false, 5, "-1.0 -0.5 0.0 0.5 1.0");
    expect(0, 100, false, 5, "0 25 50 75 100");
    expect(3, 3, false, 7, "2.7 2.8 2.9 3.0 3.1 3.2 3.3");
    expect(0, 5e6, false, 6, "0 1 2 3 4 5 e6");
    expect(0, 3e-7, false, 4, "0 1 2 3 e-7");
    expect(-1.5e308, 1.5e308, false, 3, "-1.5 0.0 1.5 e308");
    expect(1, 1000, true, 5, "1 10 100 1000");
    expect(1e-8, 1, true, 5, "10⁻⁸ 10⁻⁶ 10⁻⁴ 10⁻² 10⁰");
    expect(1, 20, true, 5, "1 2 5 10 20");
}

/* Whatever the range: at least one tick, all inside, ascending, evenly spaced. */
static void check_ranges(void)
{
    static const double ends[] =
        { -DBL_MAX, -1e300, -12345.678, -1, -1e-9, -5e-324, 0, 5e-324, 1e-320, 1e-200,
                                   0.1, 1,
                                   3.14159, 1e5, 1e16, 1e16 + 2, 1e200, DBL_MAX };
    enum { ENDS = sizeof ends / sizeof ends[0] };
    for (int i = 0; i < ENDS; i++)
        for (int j = i; j < ENDS; j++)
            for (int wanted = 2; wanted < 12; wanted += 3) {
                Ticks t;
                Axis a = axis(ends[i], ends[j], false);
                axis_ticks(&a, wanted, &t);
                bool good = t.count >= 1;
                for (int k = 0; k < t.count; k++) {
                    double f = axis_fraction(&a, t.tick[k].at);
                    good &= f > -1e-6 && f < 1 + 1e-6 &&
                            (k == 0 || t.tick[k].at > t.tick[k - 1].at);
                    good &= strlen(t.tick[k].text) < TICK_TEXT - 1;
                }
                if (!CHECK(good))
                    fprintf(stderr, "    [%g, %g] × %d: %s\n", ends[i], ends[j], wanted,
                            labels(ends[i], ends[j], false, wanted));
            }
    for (int i = 7; i < ENDS; i++)
        for (int j = i; j < ENDS; j++) {
            Ticks t;
            Axis a = axis(ends[i], ends[j], true);
            axis_ticks(&a, 6, &t);
            CHECK(t.count >= 1 && a.lo < a.hi);
        }
}

static void check_whole(void)
{
    for (double n = 1; n < 2000; n = n * 1.7 + 1) {
        Ticks t;
        Axis a = { .lo = -0.5, .hi = floor(n) - 0.5, .whole = true, .label = "" };
        axis_fix(&a);
        axis_ticks(&a, 5, &t);
        bool good = t.count >= 1;
        for (int k = 0; k < t.count; k++)
            good &= t.tick[k].at == floor(t.tick[k].at);
        CHECK(good);
    }
}

/* ---- contours ---- */

enum { FOUND = 64 };
typedef struct Found { int count; Piece piece[FOUND]; } Found;

static Found contour(Interp *in, const double *z, int rows, int cols, double level)
{
    static const double at[] = { 0, 1, 2, 3, 4, 5 };
    Field f = { z, at, at, rows, cols };
    Found found = { .count = (int)contour_pieces(in, &f, level, NULL) };
    CHECK(found.count <= FOUND && contour_pieces(in, &f, level, found.piece) == found.count);
    return found;
}

static bool is_piece(const Piece *p, double x0, double y0, double x1, double y1)
{
    const double *a = p->end[0], *b = p->end[1];
    bool there = a[0] == x0 && a[1] == y0 && b[0] == x1 && b[1] == y1;
    bool back = a[0] == x1 && a[1] == y1 && b[0] == x0 && b[1] == y0;
    return there || back;
}

static void check_contours(Interp *in)
{
    const double plane[4] = { 0, 1, 0, 1 };                /* z = x */
    Found f = contour(in, plane, 2, 2, 0.25);
    CHECK(f.count == 1 && is_piece(f.piece, 0.25, 0, 0.25, 1));
    CHECK(contour(in, plane, 2, 2, 2).count == 0 && contour(in, plane, 2, 2, -1).count == 0);
    const double peak[9] = { 0, 0, 0, 0, 1, 0, 0, 0, 0 };
    f = contour(in, peak, 3, 3, 0.5);                       /* a diamond around (1, 1) */
    CHECK(f.count == 4);
    for (int i = 0; i < f.count; i++)
        for (int e = 0; e < 2; e++)
            CHECK(fabs(f.piece[i].end[e][0] - 1) + fabs(f.piece[i].end[e][1] - 1) == 0.5);
    /* A saddle: corners (0, 0) and (1, 1) are high. The mean is 0.5: at level 0.25 it is above,
     * so the high corners are joined and the low ones cut off; at 0.75 the other way round. */
    const double saddle[4] = { 1, 0, 0, 1 };
    f = contour(in, saddle, 2, 2, 0.25);
    CHECK(f.count == 2 && is_piece(f.piece, 0.75, 0, 1, 0.25) &&
          is_piece(f.piece + 1, 0.25, 1, 0, 0.75));
    f = contour(in, saddle, 2, 2, 0.75);
    CHECK(f.count == 2 && is_piece(f.piece, 0, 0.25, 0.25, 0) &&
          is_piece(f.piece + 1, 1, 0.75, 0.75, 1));
    const double other[4] = { 0, 1, 1, 0 };
    f = contour(in, other, 2, 2, 0.25);
    CHECK(f.count == 2 && is_piece(f.piece, 0, 0.25, 0.25, 0) &&
          is_piece(f.piece + 1, 1, 0.75, 0.75, 1));
    const double hole[6] = { 0, 1, 2, 0, NAN, 2 };
    CHECK(contour(in, hole, 2, 3, 0.5).count == 0);
    double levels[10];
    CHECK(nice_levels(0, 10, 6, levels, 10) == 4 && levels[0] == 2 && levels[3] == 8);
}

/* Pieces as lines: each line has one point more than pieces and ends where it began, or at a side
 * of the grid. Returns how many lines there are. */
static int lines_of(const Found *f, double right, double top)
{
    PieceEnd ends[2 * FOUND];
    int64_t other[2 * FOUND];
    double xy[6 * FOUND];
    int64_t n = contour_lines(f->piece, f->count, ends, other, xy), from = 0, lines = 0;
    for (int64_t i = 0; i < n; i++) {
        const double *a = xy + 2 * from, *b = xy + 2 * i - 2;
        if (!isnan(xy[2 * i]))
            continue;
        bool ring = hypot(a[0] - b[0], a[1] - b[1]) < 1e-12;
        bool starts = a[0] == 0 || a[1] == 0 || a[0] == right || a[1] == top;
        bool stops = b[0] == 0 || b[1] == 0 || b[0] == right || b[1] == top;
        CHECK(i - from >= 2 && (ring || (starts && stops)));
        from = i + 1;
        lines++;
    }
    CHECK(from == n && n == f->count + 2 * lines);
    return (int)lines;
}

static void check_lines(Interp *in)
{
    double z[36];
    const double peak[9] = { 0, 0, 0, 0, 1, 0, 0, 0, 0 }, saddle[4] = { 1, 0, 0, 1 };
    Found f = contour(in, peak, 3, 3, 0.5);
    CHECK(lines_of(&f, 2, 2) == 1);
    f = contour(in, saddle, 2, 2, 0.25);
    CHECK(lines_of(&f, 1, 1) == 2);
    for (int i = 0; i < 36; i++)
        z[i] = (i / 6 - 1) * (i / 6 - 1) + (i % 6 - 1) * (i % 6 - 1);
    f = contour(in, z, 6, 6, 20.5);
    CHECK(lines_of(&f, 5, 5) == 1);
    for (uint32_t seed = 1, k = 0; k < 200; k++) {           /* noise */
        for (int i = 0; i < 36; i++)
            z[i] = (double)((seed = seed * 1664525 + 1013904223) >> 16 & 0xff) / 255;
        f = contour(in, z, 6, 6, 0.5);
        lines_of(&f, 5, 5);
    }
}

static void check_colors(void)
{
    Rgb low = map_color(MAP_VIRIDIS, 0), middle = map_color(MAP_VIRIDIS, 0.5),
        high = map_color(MAP_VIRIDIS, 1);
    CHECK(low.r == 68 && low.g == 1 && low.b == 84);
    CHECK(middle.r == 33 && middle.g == 145 && middle.b == 140);
    CHECK(high.r == 253 && high.g == 231 && high.b == 37);
    CHECK(map_color(MAP_DIVERGING, 0.5).r == 247 && map_color(MAP_GREY, 2).b == 255 &&
          map_color(MAP_GREY, NAN).b == 0);
}

int main(void)
{
    check_labels();
    check_ranges();
    check_whole();
    Interp *in = interp_new();
    check_contours(in);
    check_lines(in);
    interp_free(in);
    check_colors();
    printf("%d passed, %d failed\n", check_passed, check_failed);
    return check_failed != 0;
}
