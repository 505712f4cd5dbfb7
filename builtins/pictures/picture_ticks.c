/* Where the ticks of an axis stand and what they are called. Linear axes: the labelling of
 * Talbot, Lin and Hanrahan, "An Extension of Wilkinson's Algorithm for Positioning Tick Labels on
 * Axes" (IEEE TVCG 16(6), 2010), with labels inside the range only. A step is held as q * 10^z
 * with a small whole q, so that labels are exact decimals. Logarithmic axes: powers of ten, or
 * 1 2 5 where there are few of them. */
#include "builtins/pictures/picture.h"

#include "core/system/c_locale.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Ticks at m * q * 10^z for m = first, first + skip, … */
typedef struct Labelling { double score; int q, z, skip, count; int64_t first; } Labelling;

static int64_t label_at(const Labelling *l, int i) { return l->first + (int64_t)i * l->skip; }

/* The steps in order of preference, times ten. */
static const int steps[] = { 10, 50, 20, 25, 40, 30 };
enum { STEPS = sizeof steps / sizeof steps[0] };
static const double w_simple = 0.25, w_cover = 0.2, w_dense = 0.5, w_legible = 0.05;

/* What a search is for: about `wanted` labels in [lo, hi]; `whole`: only at whole numbers. */
typedef struct Wish { double lo, hi; int wanted; bool whole; } Wish;

static double simplicity(int i, int j, bool zero) { return 1 - (double)i / (STEPS - 1) - j + zero; }

static double simplicity_max(int i, int j) { return simplicity(i, j, true); }

static double coverage(double lo, double hi, double from, double to)
{
    double range = hi - lo;
    return 1 - 0.5 * ((hi - to) * (hi - to) + (lo - from) * (lo - from)) / (0.01 * range * range);
}

static double coverage_max(double range, double span)
{
    double half = (span - range) / 2;
    return span > range ? 1 - half * half / (0.01 * range * range) : 1;
}

static double density(int k, int wanted, double lo, double hi, double from, double to)
{
    double r = (k - 1) / (to - from), t = (wanted - 1) / (fmax(to, hi) - fmin(from, lo));
    return 2 - fmax(r / t, t / r);
}

static double density_max(int k, int wanted)
{
    return k >= wanted ? 2 - (double)(k - 1) / (wanted - 1) : 1;
}

static double score_of(double simple, double cover, double dense)
{
    return w_simple * simple + w_cover * cover + w_dense * dense + w_legible;
}

/* All labellings with k labels, every j-th multiple of q 10^z: the best inside [lo, hi]. */
static void try_step(Labelling *best, const Wish *w, int i, int j, int k, int z)
{
    double lo = w->lo, hi = w->hi;
    if (w->whole && z < (steps[i] % 10 ? 1 : 0))
        return;
    double unit = steps[i] * pow(10, z - 1), step = j * unit, slack = 1e-10 * (hi - lo);
    int64_t least = (int64_t)ceil(hi / unit) - (int64_t)j * (k - 1) - 1;
    int64_t most = (int64_t)floor(lo / unit) + 1;
    for (int64_t start = least > most - j ? least : most - j; start <= most + j; start++) {
        double from = (double)start * unit, to = from + step * (k - 1);
        if (from < lo - slack || to > hi + slack)
            continue;
        bool zero = start % j == 0 && from <= slack && to >= -slack;
        double s = score_of(simplicity(i, j, zero), coverage(lo, hi, from, to),
                            density(k, w->wanted, lo, hi, from, to));
        if (s > best->score)
            *best = (Labelling){ s, steps[i], z - 1, j, k, start };
    }
}

/* The search of the paper: simplicity bounds j, density k, coverage z. */
static void search(Labelling *best, const Wish *w)
{
    double range = w->hi - w->lo;
    for (int j = 1; j < 10; j++)
        for (int i = 0; i < STEPS; i++) {
            double simple = simplicity_max(i, j);
            if (score_of(simple, 1, 1) < best->score)
                return;
            for (int k = 2; k < TICKS_MAX; k++) {
                double dense = density_max(k, w->wanted);
                if (score_of(simple, 1, dense) < best->score)
                    break;
                double unit = range / (k + 1) / j / (steps[i] / 10.0);
                for (int z = (int)ceil(log10(unit)), last = z + 2; z < last; z++) {
                    double span = j * (steps[i] / 10.0) * pow(10, z) * (k - 1);
                    if (score_of(simple, coverage_max(range, span), dense) >= best->score)
                        try_step(best, w, i, j, k, z);
                }
            }
        }
}

/* Numbers so large or small that squares of ranges leave the doubles are labelled as moderate
 * ones, with z shifted. */
static int shift_of(double lo, double hi)
{
    double big = fmax(fabs(lo), fabs(hi));
    return big > 1e100 || big < 1e-100 ? (int)floor(log10(big)) : 0;
}

static double scale_ten(double v, int by)
{
    for (; by > 300; by -= 300)
        v *= 1e300;
    for (; by < -300; by += 300)
        v *= 1e-300;
    return v * pow(10, by);
}

/* m q 10^z: the double that such a decimal reads as. */
static double tick_value(int64_t m, int q, int z)
{
    char text[40];
    snprintf(text, sizeof text, "%llde%d", (long long)m * q, z);
    return c_strtod(text, NULL);
}

static Labelling label_range(double lo, double hi, int wanted, bool whole)
{
    int by = shift_of(lo, hi);
    Wish wish = { scale_ten(lo, -by), scale_ten(hi, -by), wanted < 2 ? 2 : wanted,
                  whole && by == 0 };
    Labelling best = { .score = -2 };
    search(&best, &wish);
    best.z += by;
    return best;
}

int nice_levels(double lo, double hi, int wanted, double *out, int cap)
{
    if (!(hi / 2 - lo / 2 > 0))
        return 0;
    Labelling l = label_range(lo, hi, wanted, false);
    int n = 0;
    for (int i = 0; i < l.count && n < cap; i++) {
        double v = tick_value(label_at(&l, i), l.q, l.z);
        if (v > lo && v < hi)
            out[n++] = v;
    }
    return n;
}

/* ---- texts ---- */

void tick_number(char out[TICK_TEXT], double v)
{
    c_snprintf(out, TICK_TEXT, "%.4g", v);
    char *e = strchr(out, 'e');
    if (!e)
        return;
    int power = atoi(e + 1);
    snprintf(e, (size_t)(TICK_TEXT - (e - out)), "e%d", power);
}

static const char *const raised[] = { "⁰", "¹", "²", "³", "⁴", "⁵", "⁶", "⁷", "⁸", "⁹" };

static void tick_power(char out[TICK_TEXT], int e)
{
    char digits[12];
    int at = snprintf(out, TICK_TEXT, "10%s", e < 0 ? "⁻" : "");
    snprintf(digits, sizeof digits, "%d", abs(e));
    for (const char *d = digits; *d; d++)
        at += snprintf(out + at, (size_t)(TICK_TEXT - at), "%s", raised[*d - '0']);
}

void tick_factor(char out[TICK_TEXT], int e)
{
    char power[TICK_TEXT];
    tick_power(power, e);
    snprintf(out, TICK_TEXT, "×%.20s", power);
}

/* m q 10^z without the factor 10^e, in plain digits: all texts of an axis have as many. */
static void plain_text(char out[TICK_TEXT], int64_t m, int q, int z, int e)
{
    int trim = q % 10 == 0 ? z + 1 - e : z - e;          /* q = 10, 50, … has a zero to spare */
    long double v = (long double)m * q * powl(10, z - e);
    c_snprintf(out, TICK_TEXT, "%.*Lf", trim < 0 ? -trim : 0, v);
}

/* ---- linear axes ---- */

static int exponent_of(const Labelling *l)
{
    double most = fmax(fabs((double)l->first), fabs((double)label_at(l, l->count - 1)));
    int e = (int)floor(log10(most * l->q) + l->z + 1e-12);
    return most > 0 && (e >= 6 || e < -4) ? e : 0;
}

/* Between two ticks: fifths of 1, 5 and 2.5, quarters of 2 and 4, thirds of 3. */
static void minor_linear(const Axis *a, const Labelling *l, Ticks *t)
{
    int lead = l->q * l->skip;
    while (lead % 10 == 0)
        lead /= 10;
    int parts = lead == 1 || lead == 5 || lead == 25 ? 5 : lead == 3
                ? 3 : lead == 2 || lead == 4 ? 4 : 2;
    double step = tick_value(l->skip, l->q, l->z) / parts, from = t->tick[0].at - step * parts;
    if (a->whole && step < 1)
        return;
    for (int i = 0; i <= (l->count + 1) * parts && t->minor_count < TICKS_MAX * 9; i++) {
        double v = from + i * step, f = axis_fraction(a, v);
        if (i % parts != 0 && f >= 0 && f <= 1)
            t->minor[t->minor_count++] = v;
    }
}

/* Every whole number of a short range. */
static Labelling label_units(double lo, double hi)
{
    int64_t first = (int64_t)ceil(lo), last = (int64_t)floor(hi);
    int count = last - first + 1 < TICKS_MAX ? (int)(last - first + 1) : TICKS_MAX;
    return (Labelling){ .q = 10, .z = -1, .skip = 1, .count = count, .first = first };
}

static void linear_ticks(const Axis *a, int wanted, Ticks *t)
{
    Labelling l = label_range(a->lo, a->hi, wanted, a->whole);
    if (a->whole && l.count == 0)
        l = label_units(a->lo, a->hi);
    if (l.count <= 0)
        return;
    t->exponent = exponent_of(&l);
    for (int i = 0; i < l.count; i++) {
        Tick *k = &t->tick[t->count++];
        k->at = tick_value(label_at(&l, i), l.q, l.z);
        plain_text(k->text, label_at(&l, i), l.q, l.z, t->exponent);
    }
    minor_linear(a, &l, t);
}

/* ---- logarithmic axes ---- */

static void log_tick(const Axis *a, Ticks *t, int digit, int e, bool plain)
{
    double v = tick_value(digit, 1, e);
    if (v < a->lo * (1 - 1e-12) || v > a->hi * (1 + 1e-12) || t->count == TICKS_MAX)
        return;
    Tick *k = &t->tick[t->count++];
    k->at = v;
    if (plain)
        tick_number(k->text, v);
    else if (digit == 1)
        tick_power(k->text, e);
    else
        snprintf(k->text, sizeof k->text, "%d·", digit), tick_power(k->text + strlen(k->text), e);
}

/* Every how many powers of ten there is a tick, so that there are `most` of them. */
static int log_stride(const Axis *a, int most)
{
    static const int strides[] = { 1, 2, 3, 5, 10, 20, 50, 100, 200 };
    int i = 0;
    while (i < 8 && floor(a->log_hi / strides[i]) - ceil(a->log_lo / strides[i]) + 1 > most)
        i++;
    return strides[i];
}

static void log_ticks(const Axis *a, int wanted, Ticks *t)
{
    int from = (int)floor(a->log_lo + 1e-12), to = (int)ceil(a->log_hi - 1e-12);
    double decades = a->log_hi - a->log_lo;
    bool plain = a->lo >= 0.0099 && a->hi <= 10001;
    if (decades < 0.7) {
        Axis straight = *a;
        straight.log = false;
        axis_fix(&straight);
        linear_ticks(&straight, wanted, t);
        t->minor_count = 0;
        return;
    }
    int stride = log_stride(a, wanted < 2 ? 3 : wanted + 1);
    bool more = decades <= 2 && wanted >= 4;
    for (int e = from; e <= to; e++) {
        int rest = ((e % stride) + stride) % stride;
        if (rest == 0)
            log_tick(a, t, 1, e, plain);
        for (int d = 2; more && plain && d <= 5; d += 3)
            log_tick(a, t, d, e, plain);
        for (int d = stride == 1 ? 2 : 1;
             d < (stride == 1 ? 10 : 2) && t->minor_count < TICKS_MAX * 9; d++) {
            double v = tick_value(d, 1, e);
            if (v >= a->lo && v <= a->hi && (d > 1 || rest != 0) && decades < 40)
                t->minor[t->minor_count++] = v;
        }
    }
}

/* Names in the place of 0, 1, 2, …: those that are seen, every k-th where they are many. */
static void name_ticks(const Axis *a, int wanted, Ticks *out)
{
    int from = (int)ceil(fmax(a->lo, 0)), to = (int)floor(fmin(a->hi, a->name_count - 1));
    int most = wanted > 1 ? 2 * wanted : 2, count = to - from + 1;
    most = most < TICKS_MAX ? most : TICKS_MAX;
    int step = count > most ? (count + most - 1) / most : 1;
    for (int i = from; i <= to && out->count < TICKS_MAX; i += step) {
        Tick *t = &out->tick[out->count++];
        size_t n = strlen(a->names[i]), room = sizeof t->text - 1;
        bool cut = n > room;
        n = cut ? room - strlen("…") : n;
        while (cut && n > 0 && (a->names[i][n] & 0xc0) == 0x80)
            n--;                             /* not inside a character */
        t->at = i;
        memcpy(t->text, a->names[i], n);
        strcpy(t->text + n, cut ? "…" : "");
    }
}

void axis_ticks(const Axis *a, int wanted, Ticks *t)
{
    *t = (Ticks){ 0 };
    if (a->names)
        name_ticks(a, wanted, t);
    else if (a->log)
        log_ticks(a, wanted, t);
    else
        linear_ticks(a, wanted, t);
}
