/* Series with a style of their own: layers, errors, bands, columns, words and arrows. A layer is a
 * named tuple with a y; what else it may say stands in `fields`. error= and band= of a row say the
 * same of its one series. */
#include "builtins/pictures/picture.h"
#include "core/base/error.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { LAYERS_MAX = 1000 };

typedef enum LayerField { FIELD_X, FIELD_Y, FIELD_LABEL, FIELD_LINE, FIELD_POINTS, FIELD_BARS,
                          FIELD_ERROR, FIELD_BAND, FIELD_TEXT, FIELD_ARROW, FIELDS
                        } LayerField;
static const char *const fields[FIELDS] = { "x", "y", "label", "line", "points", "bars", "error",
                                            "band", "text", "arrow" };

static int field_of(const char *name)
{
    for (int k = 0; k < FIELDS; k++)
        if (strcmp(name, fields[k]) == 0)
            return k;
    return -1;
}

static bool is_layer(Value v)
{
    for (uint32_t i = 0; v.tag == V_TUPLE && v.tuple->named && i < v.tuple->count; i++)
        if (v.tuple->names[i] && field_of(v.tuple->names[i]->text) == FIELD_Y)
            return true;
    return false;
}

bool picture_is_layers(Value v)
{
    for (uint32_t i = 0; v.tag == V_TUPLE && i < v.tuple->count; i++)
        if (!is_layer(v.tuple->items[i]))
            return false;
    return v.tag == V_TUPLE && v.tuple->count > 0 && !v.tuple->named;
}

/* ---- errors and bands ---- */

static bool is_pair(Value v) { return v.tag == V_TUPLE && v.tuple->count == 2; }

/* n numbers, of one number n times. */
static const double *for_each(OpCall *c, Value v, int64_t n, const char *what, int arg)
{
    Tensor *t = picture_numbers(c, v, what, arg);
    const double *given = (const double *)(const void *)t->data;
    if (t->rank == 0) {
        double *all = picture_room(c, (size_t)n, sizeof *all);
        for (int64_t i = 0; i < n; i++)
            all[i] = given[0];
        return all;
    }
    if (t->size != n)
        arg_error(c, arg, ERR_SHAPE, "%s has %lld element%s for %lld point%s", what,
                  (long long)t->size, t->size == 1 ? "" : "s", (long long)n, n == 1 ? "" : "s");
    return given;
}

static void error_of(OpCall *c, Series *s, Value v, int arg)
{
    char help[120];
    bool pair = is_pair(v), option = arg == picture_arg(c, "error") && !pair;
    snprintf(help, sizeof help, "error=abs(%.90s)", arg_text(c, arg));
    s->error[0] = for_each(c, pair ? v.tuple->items[0] : v, s->n, "error", arg);
    s->error[1] = pair ? for_each(c, v.tuple->items[1], s->n, "error", arg) : s->error[0];
    for (int side = 0; side < 2; side++)
        for (int64_t i = 0; i < s->n; i++)
            if (s->error[side][i] < 0)
                arg_error_help(c, arg, ERR_VALUE, option ? help : NULL,
                               "element %lld of error is %g, and no distance is negative",
                               (long long)i, s->error[side][i]);
}

static void band_of(OpCall *c, Series *s, Value v, int arg)
{
    if (!is_pair(v))
        arg_error_help(c, arg, ERR_TYPE, "band=(y - e, y + e)",
                       "a band is a pair, where it begins and where it ends");
    for (int side = 0; side < 2; side++)
        s->band[side] = for_each(c, v.tuple->items[side], s->n, "band", arg);
}

/* ---- words and arrows ---- */

/* One string, or one for each point. */
static void words_of(OpCall *c, Series *s, Value v, uint32_t at, int arg)
{
    bool one = v.tag == V_STRING;
    if (!one && v.tag != V_TUPLE)
        arg_error(c, arg, ERR_TYPE, "text of layer %u must be a string or a tuple of strings", at);
    if (!one && v.tuple->count != s->n)
        arg_error(c, arg, ERR_SHAPE, "text of layer %u has %u string%s for %lld point%s", at,
                  v.tuple->count, v.tuple->count == 1 ? "" : "s", (long long)s->n,
                  s->n == 1 ? "" : "s");
    const char **words = picture_room(c, (size_t)s->n, sizeof *words);
    for (int64_t i = 0; i < s->n; i++) {
        Value w = one ? v : v.tuple->items[i];
        if (w.tag != V_STRING)
            arg_error(c, arg, ERR_TYPE, "text of layer %u must hold strings: element %lld is none",
                      at, (long long)i);
        words[i] = w.str->text;
    }
    s->words = words;
}

static void arrow_of(OpCall *c, Series *s, Value v, int arg)
{
    if (!is_pair(v))
        arg_error_help(c, arg, ERR_TYPE, "(x=0, y=0, arrow=(1, 2))",
                       "an arrow is a pair, x and y of where it ends");
    for (int side = 0; side < 2; side++)
        s->tip[side] = for_each(c, v.tuple->items[side], s->n, "arrow", arg);
}

static void of_one_series(OpCall *c, const Figure *f, int arg, const char *name)
{
    char help[160];
    snprintf(help, sizeof help, "%s(((x=x, y=u, %s=…), (x=x, y=v)))", c->op->name, name);
    if (f->count != 1)
        arg_error_help(c, arg, ERR_VALUE, help,
                       "%s= is for one series, and there are %d: give each as a layer", name,
                       f->count);
}

void picture_errors(OpCall *c, Figure *f)
{
    int error = picture_arg(c, "error"), band = picture_arg(c, "band");
    if (error >= 0 && arg_given(c, error)) {
        of_one_series(c, f, error, "error");
        error_of(c, &f->series[0], c->args[error], error);
    }
    if (band >= 0 && arg_given(c, band)) {
        of_one_series(c, f, band, "band");
        band_of(c, &f->series[0], c->args[band], band);
    }
}

/* ---- layers ---- */

/* The fields of a layer that are there, by LayerField; V_UNDEF: not said. */
static void read_fields(OpCall *c, Value layer, uint32_t at, Value given[FIELDS], int arg)
{
    for (int k = 0; k < FIELDS; k++)
        given[k] = v_undef();
    for (uint32_t i = 0; i < layer.tuple->count; i++) {
        const char *name = layer.tuple->names[i] ? layer.tuple->names[i]->text : "";
        int k = field_of(name);
        if (k < 0)
            arg_error_help(c, arg, ERR_TYPE, "a layer has y, and may have x, label, line, points, "
                           "bars, error, band, text, arrow",
                           "layer %u has a field %s, which says nothing here", at,
                           *name ? name : "without a name");
        given[k] = layer.tuple->items[i];
    }
    for (int k = FIELD_LINE; k <= FIELD_BARS; k++)
        if (given[k].tag != V_UNDEF && given[k].tag != V_BOOL)
            arg_error(c, arg, ERR_TYPE, "%s of layer %u must be true or false", fields[k], at);
    if (given[FIELD_LABEL].tag != V_UNDEF && given[FIELD_LABEL].tag != V_STRING)
        arg_error(c, arg, ERR_TYPE, "label of layer %u must be a string", at);
}

static bool says(const Value *given, LayerField k) { return given[k].tag == V_BOOL && given[k].i; }

/* A line, unless points or bars are asked for and it is not. */
static void set_style(Series *s, const Value *given, MarkKind kind)
{
    bool points = says(given, FIELD_POINTS), bars = says(given, FIELD_BARS);
    bool line = given[FIELD_LINE].tag != V_UNDEF ? says(given, FIELD_LINE)
                                                 : kind == MARK_LINE && !points && !bars;
    s->kind = bars ? MARK_COLUMNS : line ? MARK_LINE : points ? MARK_POINTS : kind;
    s->points = points && s->kind != MARK_POINTS;
    if (given[FIELD_LINE].tag != V_UNDEF && !line && s->kind == MARK_LINE)
        s->kind = MARK_POINTS;
}

/* Is there nothing to be seen of a layer but its words and arrows? */
static bool is_note(const Value *given)
{
    bool drawn = says(given, FIELD_LINE) || says(given, FIELD_POINTS) || says(given, FIELD_BARS) ||
                 given[FIELD_ERROR].tag != V_UNDEF || given[FIELD_BAND].tag != V_UNDEF;
    return !drawn && (given[FIELD_TEXT].tag != V_UNDEF || given[FIELD_ARROW].tag != V_UNDEF);
}

static void add_layer(OpCall *c, Figure *f, MarkKind kind, const Value *given, uint32_t at,
                      int arg)
{
    char what[48];
    bool has_x = given[FIELD_X].tag != V_UNDEF;
    snprintf(what, sizeof what, "y of layer %u", at);
    Tensor *x = has_x ? picture_numbers(c, given[FIELD_X], "x", arg) : NULL;
    if (picture_callable(given[FIELD_Y]) && !x)
        arg_error_help(c, arg, ERR_TYPE, "(x=linspace(0, 1, 100), y=sin)",
                       "%s is a function, and there is no x that it is of", what);
    Tensor *y = picture_heights(c, given[FIELD_Y], x, what, arg);
    if (y->rank > 1)
        arg_error(c, arg, ERR_SHAPE, "%s is no vector: a layer is one series", what);
    if (y->size == 0)
        arg_error(c, arg, ERR_VALUE, "%s is empty: there is nothing to draw", what);
    if (x && x->size != y->size)
        arg_error(c, arg, ERR_SHAPE, "%s has %lld elements but its x has %lld", what,
                  (long long)y->size, (long long)x->size);
    Series *s = &f->series[f->count];
    *s = (Series){ .x = x ? (double *)(void *)x->data : NULL, .y = (double *)(void *)y->data,
                   .sx = 1, .sy = 1, .n = y->size, .label = "", .style = f->count };
    set_style(s, given, kind);
    if (given[FIELD_TEXT].tag != V_UNDEF)
        words_of(c, s, given[FIELD_TEXT], at, arg);
    if (given[FIELD_ARROW].tag != V_UNDEF)
        arrow_of(c, s, given[FIELD_ARROW], arg);
    if (is_note(given)) {
        f->notes[f->note_count++] = *s;
        return;
    }
    if (given[FIELD_LABEL].tag == V_STRING)
        s->label = given[FIELD_LABEL].str->text;
    if (given[FIELD_ERROR].tag != V_UNDEF)
        error_of(c, s, given[FIELD_ERROR], arg);
    if (given[FIELD_BAND].tag != V_UNDEF)
        band_of(c, s, given[FIELD_BAND], arg);
    f->count++;
}

void picture_layers(OpCall *c, Figure *f, MarkKind kind, Value layers, Value x, int arg)
{
    Value given[FIELDS];
    bool named = false;
    f->x.whole = x.tag == V_UNDEF;
    if (layers.tuple->count > LAYERS_MAX)
        arg_error(c, arg, ERR_VALUE, "%u layers are more than the %d that a picture takes",
                  layers.tuple->count, LAYERS_MAX);
    f->notes = picture_room(c, layers.tuple->count, sizeof *f->notes);
    for (uint32_t i = 0; i < layers.tuple->count; i++) {
        read_fields(c, layers.tuple->items[i], i, given, arg);
        if (given[FIELD_X].tag == V_UNDEF)
            given[FIELD_X] = x;
        else
            f->x.whole = false;
        add_layer(c, f, kind, given, i, arg);
        named = named || (given[FIELD_LABEL].tag != V_UNDEF && !is_note(given));
    }
    f->legend = named;
}

/* ---- columns ---- */

static double x_of(const Series *s, int64_t i) { return s->x ? s->x[i * s->sx] : (double)i; }

/* The least distance of two neighbours along x; 1 where there is none. */
static double least_gap(const Figure *f)
{
    double least = INFINITY;
    for (int k = 0; k < f->count; k++) {
        const Series *s = &f->series[k];
        for (int64_t i = 1; s->kind == MARK_COLUMNS && i < s->n; i++) {
            double gap = fabs(x_of(s, i) - x_of(s, i - 1));
            if (gap > 0 && gap < least)
                least = gap;
        }
    }
    return isfinite(least) ? least : 1;
}

/* Columns of several series stand side by side and leave a fifth of the distance free. */
void picture_columns(Figure *f)
{
    int count = 0, at = 0;
    for (int k = 0; k < f->count; k++)
        count += f->series[k].kind == MARK_COLUMNS;
    double width = count ? 0.8 * least_gap(f) / count : 0;
    for (int k = 0; k < f->count; k++) {
        Series *s = &f->series[k];
        if (s->kind != MARK_COLUMNS)
            continue;
        s->width = width;
        s->shift = (at++ - (count - 1) / 2.0) * width;
    }
}
