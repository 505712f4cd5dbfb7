/* The rows plot, scatter, bar, hist, heat, spy and contour: each makes a Figure of its arguments
 * and hands it to a renderer. What they share about arguments is in picture_data.c. */
#include "builtins/pictures/picture.h"
#include "builtins/rows/rows.h"
#include "core/system/c_locale.h"
#include "core/base/error.h"
#include "interp/output/display.h"
#include "interp/output/output.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const double paper_margin = 0.04;

static Figure figure_new(OpCall *c)
{
    Figure f = { .count = 0 };
    picture_options(c, &f);
    return f;
}

/* ---- plot and scatter ---- */

Value op_run_plot(OpCall *c)
{
    Figure f = figure_new(c);
    picture_series(c, &f, MARK_LINE);
    picture_labels(c, &f);
    picture_errors(c, &f);
    bool points = arg_bool(c, picture_arg(c, "points"), false), room = points;
    room = room || f.note_count;
    for (int i = 0; i < f.count; i++) {
        Series *s = &f.series[i];
        s->points = s->points || points;
        if (s->n == 1 && s->kind == MARK_LINE)
            s->kind = MARK_POINTS;
        room = room || s->points || s->kind != MARK_LINE || s->error[0];
    }
    picture_columns(&f);
    picture_ranges(c, &f, room ? paper_margin : 0, paper_margin);
    picture_show(c, &f);
    return v_none();
}

Value op_run_scatter(OpCall *c)
{
    Figure f = figure_new(c);
    int groups = picture_arg(c, "groups");
    picture_series(c, &f, MARK_POINTS);
    if (arg_given(c, groups))
        picture_groups(c, &f, groups);
    picture_labels(c, &f);
    picture_errors(c, &f);
    picture_columns(&f);
    picture_ranges(c, &f, paper_margin, paper_margin);
    picture_show(c, &f);
    return v_none();
}

/* ---- bar ---- */

/* Names along x, from a tuple of strings. */
static void names_of(OpCall *c, Figure *f, Value v)
{
    uint32_t n = v.tuple->count;
    const char **names = picture_room(c, n, sizeof *names);
    for (uint32_t i = 0; i < n; i++) {
        if (v.tuple->items[i].tag != V_STRING)
            arg_error_help(c, 0, ERR_TYPE, "bar((\"a\", \"b\"), [1, 2])",
                           "item %u of %s is no string, and the first is", i, arg_text(c, 0));
        names[i] = v.tuple->items[i].str->text;
    }
    f->x.names = names;
    f->x.name_count = (int)n;
}

Value op_run_bar(OpCall *c)
{
    Figure f = figure_new(c);
    Value x = c->args[0];
    bool named = x.tag == V_TUPLE && x.tuple->count > 0 && x.tuple->items[0].tag == V_STRING;
    if (named && !arg_given(c, 1))
        arg_error_help(c, 0, ERR_TYPE, "bar((\"a\", \"b\"), [1, 2])",
                       "the names are there, but no heights");
    if (f.x.log)
        arg_error_help(c, picture_arg(c, "log"), ERR_VALUE, "log=\"y\"",
                       "bars are as wide as each other, and on a logarithmic x axis they are not");
    if (named)
        names_of(c, &f, x);
    picture_bars(c, &f, named);
    picture_labels(c, &f);
    picture_errors(c, &f);
    picture_columns(&f);
    picture_ranges(c, &f, paper_margin, paper_margin);
    picture_show(c, &f);
    return v_none();
}

/* ---- hist ---- */

enum { BINS_MAX = 100000 };
typedef struct Sample { const double *x; int64_t n; } Sample;

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The interquartile range, of 10000 elements spread over the sample where it is longer. */
static double quartile_range(OpCall *c, Sample s)
{
    enum { MOST = 10000 };
    int64_t n = s.n < MOST ? s.n : MOST, kept = 0;
    double *v = picture_room(c, (size_t)n, sizeof *v);
    for (int64_t i = 0; i < n; i++) {
        double x = s.x[(int64_t)((double)i / (double)n * (double)s.n)];
        if (isfinite(x))
            v[kept++] = x;
    }
    qsort(v, (size_t)kept, sizeof *v, compare_doubles);
    return kept < 2 ? 0 : v[(kept - 1) * 3 / 4] - v[(kept - 1) / 4];
}

static int64_t automatic_bins(OpCall *c, Sample s, double lo, double hi)
{
    double sturges = ceil(log2((double)s.n) + 1), iqr = quartile_range(c, s);
    double width = 2 * iqr / cbrt((double)s.n), fd = width > 0 ? ceil((hi - lo) / width) : 1;
    double most = fmax(sturges, fmin(fd, 200));
    return most >= 1 && isfinite(most) ? (int64_t)most : 1;
}

/* bins= as edges: *count bins between them. */
static double *edges_of(OpCall *c, Sample s, double lo, double hi, int64_t *count)
{
    int at = picture_arg(c, "bins");
    Value v = c->args[at];
    int64_t n = 0;
    if (arg_given(c, at) && (v.tag == V_TUPLE || v.tag == V_RANGE ||
                             (v.tag == V_TENSOR && v.tensor->rank > 0))) {
        Tensor *t = picture_numbers(c, v, "bins", at);
        double *e = (double *)(void *)t->data;
        if (t->rank != 1 || t->size < 2)
            arg_error_help(c, at, ERR_VALUE, "bins=40, or bins=[0, 1, 2, 4]",
                           "bins are an int, or two edges and more");
        for (int64_t i = 0; i < t->size; i++)
            if (!isfinite(e[i]) || (i && !(e[i] > e[i - 1])))
                arg_error(c, at, ERR_VALUE,
                          "the edges in bins must ascend and be finite; element %lld is %g",
                          (long long)i, e[i]);
        *count = t->size - 1;
        return e;
    }
    n = arg_given(c, at) ? arg_int(c, at) : automatic_bins(c, s, lo, hi);
    if (n < 1 || n > BINS_MAX)
        arg_error_help(c, at, ERR_VALUE, "bins=40", "bins=%lld; there must be from 1 to %d",
                       (long long)n, BINS_MAX);
    double *e = picture_room(c, (size_t)n + 1, sizeof *e);
    for (int64_t i = 0; i <= n; i++)
        e[i] = lo * ((double)(n - i) / (double)n) + hi * ((double)i / (double)n);
    *count = n;
    return e;
}

static int64_t bin_of(const double *e, int64_t n, double x)
{
    int64_t lo = 0, hi = n;
    if (!(x >= e[0] && x <= e[n]))
        return -1;
    while (hi - lo > 1) {
        int64_t middle = (lo + hi) / 2;
        if (x >= e[middle])
            lo = middle;
        else
            hi = middle;
    }
    return lo;
}

static double *count_bins(OpCall *c, Sample s, const double *e, int64_t n, bool density)
{
    double *h = picture_room(c, (size_t)n, sizeof *h), inside = 0;
    double per = (double)n / (e[n] - e[0]);
    for (int64_t i = 0; i < s.n; i++) {
        if ((i & 0xfffff) == 0xfffff)
            poll_interrupt(c->in);
        /* right for equal widths, but for rounding */
        double guess = floor((s.x[i] - e[0]) * per);
        int64_t k = guess >= 0 && guess < (double)n ? (int64_t)guess : -1;
        if (k < 0 || s.x[i] < e[k] || s.x[i] >= e[k + 1])
            k = bin_of(e, n, s.x[i]);
        if (k >= 0) {
            h[k]++;
            inside++;
        }
    }
    for (int64_t k = 0; density && inside > 0 && k < n; k++)
        h[k] /= inside * (e[k + 1] - e[k]);
    return h;
}

static Sample sample_of(OpCall *c, Value v)
{
    Tensor *t = picture_numbers(c, v, arg_text(c, 0), 0);
    return (Sample){ (double *)(void *)t->data, t->size };
}

/* The finite range of all samples; says what is not in it. */
static void sample_range(OpCall *c, const Sample *s, int count, double *lo, double *hi)
{
    int64_t lost = 0, all = 0;
    *lo = INFINITY, *hi = -INFINITY;
    for (int k = 0; k < count; k++)
        for (int64_t i = 0; i < s[k].n; i++, all++) {
            double x = s[k].x[i];
            lost += !isfinite(x);
            *lo = isfinite(x) && x < *lo ? x : *lo;
            *hi = isfinite(x) && x > *hi ? x : *hi;
        }
    if (all == 0)
        arg_error(c, 0, ERR_VALUE, "%s is empty: there is nothing to draw", arg_text(c, 0));
    if (lost == all)
        arg_error(c, 0, ERR_VALUE, "nothing is left to draw: all %lld values are nan or infinite",
                  (long long)all);
    if (lost)
        notice(c->in, "hist: %lld of %lld values %s nan or infinite: left out", (long long)lost,
               (long long)all, lost == 1 ? "is" : "are");
    Axis a = { .lo = *lo, .hi = *hi };
    axis_fix(&a);
    *lo = a.lo, *hi = a.hi;
}

static bool tuple_of_samples(Value v)
{
    return v.tag == V_TUPLE && v.tuple->count &&
           (v.tuple->items[0].tag == V_TENSOR || v.tuple->items[0].tag == V_RANGE ||
            v.tuple->items[0].tag == V_TUPLE);
}

Value op_run_hist(OpCall *c)
{
    enum { MOST = 64 };
    Figure f = figure_new(c);
    Sample s[MOST];
    Value v = c->args[0];
    bool many = tuple_of_samples(v);
    double lo, hi, top = 0;
    int64_t n;
    f.count = many ? (int)v.tuple->count : 1;
    if (f.count > MOST)
        arg_error(c, 0, ERR_VALUE, "%d histograms are more than a picture takes, %d",
                  f.count, MOST);
    for (int k = 0; k < f.count; k++)
        s[k] = sample_of(c, many ? v.tuple->items[k] : v);
    sample_range(c, s, f.count, &lo, &hi);
    double *edges = edges_of(c, s[0], lo, hi, &n);
    bool density = arg_bool(c, picture_arg(c, "density"), false);
    f.series = picture_room(c, (size_t)f.count, sizeof *f.series);
    for (int k = 0; k < f.count; k++) {
        double *h = count_bins(c, s[k], edges, n, density);
        char *own = picture_room(c, TICK_TEXT, 1);
        snprintf(own, TICK_TEXT, "%d", k);
        const Name *given = many && v.tuple->named ? v.tuple->names[k] : NULL;
        const char *name = given ? given->text : f.count > 1 ? own : "";
        f.series[k] = (Series){ .kind = MARK_BARS, .x = edges, .y = h, .sx = 1, .sy = 1, .n = n,
                                .label = name,
                                .style = k };
        for (int64_t i = 0; i < n; i++)
            top = fmax(top, h[i]);
    }
    picture_labels(c, &f);
    f.x.lo = edges[0], f.x.hi = edges[n];
    f.y.hi = top > 0 ? top * 1.05 : 1;
    f.y.lo = f.y.log ? (density ? top / 1e3 : 0.5) : 0;
    f.y.whole = !density && top < 5;
    if (f.x.log && f.x.lo <= 0)
        arg_error_help(c, picture_arg(c, "log"), ERR_VALUE, "hist(log10(x))",
                       "a logarithmic axis has positive numbers only, and the first edge is %g",
                       f.x.lo);
    picture_limits(c, &f);
    picture_show(c, &f);
    return v_none();
}

/* ---- heat and spy ---- */

static void cells_axes(OpCall *c, Figure *f)
{
    f->x.lo = f->y.lo = -0.5;
    f->x.hi = (double)f->cells.cols - 0.5;
    f->y.hi = (double)f->cells.rows - 0.5;
    f->x.whole = f->y.whole = f->y.flipped = f->equal = true;
    picture_limits(c, f);
}

static void cells_of(OpCall *c, Figure *f, Value v, int arg)
{
    char text[128];
    Tensor *t = picture_numbers(c, v, arg_text(c, arg), arg);
    if (t->rank > 2)
        arg_error(c, arg, ERR_SHAPE, "%s %s, and must be a matrix", arg_text(c, arg),
                  shape_fact(text, sizeof text, t->rank, tensor_shape(t)));
    if (t->size == 0)
        arg_error(c, arg, ERR_VALUE, "%s is empty: there is nothing to draw", arg_text(c, arg));
    f->cells.z = (double *)(void *)t->data;
    f->cells.rows = t->rank == 2 ? tensor_shape(t)[0] : 1;
    f->cells.cols = t->rank == 2 ? tensor_shape(t)[1] : t->size;
}

/* The scale of n numbers, or the one that range= says. */
static void scale_of(OpCall *c, Figure *f, const double *z, int64_t n, int range)
{
    Axis *a = &f->scale.axis;
    int64_t lost = 0, negative = 0;
    double lo = INFINITY, hi = -INFINITY;
    for (int64_t i = 0; i < n; i++) {
        bool bad = !isfinite(z[i]), below = !bad && a->log && z[i] <= 0;
        lost += bad;
        negative += below;
        lo = !bad && !below && z[i] < lo ? z[i] : lo;
        hi = !bad && !below && z[i] > hi ? z[i] : hi;
    }
    if (lost + negative == n)
        arg_error(c, 0, ERR_VALUE, "nothing is left to draw: all %lld elements are %s",
                  (long long)n,
                  negative ? "nan, infinite, or not positive on a logarithmic scale"
                           : "nan or infinite");
    if (lost)
        notice(c->in, "%s: %lld of %lld elements %s nan or infinite: left blank", c->op->name,
               (long long)lost, (long long)n, lost == 1 ? "is" : "are");
    if (negative)
        notice(c->in,
               "%s: %lld of %lld elements %s not positive: left blank on a logarithmic scale",
               c->op->name, (long long)negative, (long long)n, negative == 1 ? "is" : "are");
    a->lo = lo, a->hi = hi;
    if (f->scale.map == MAP_DIVERGING && !a->log) {
        a->hi = fmax(fabs(lo), fabs(hi));
        a->lo = -a->hi;
    }
    if (range >= 0 && arg_given(c, range)) {
        Tensor *t = picture_numbers(c, c->args[range], "range", range);
        const double *v = (const double *)(const void *)t->data;
        if (t->rank != 1 || t->size != 2 || !(v[0] < v[1]) || !isfinite(v[0]) || !isfinite(v[1]) ||
            (a->log && v[0] <= 0))
            arg_error_help(c, range, ERR_VALUE, "range=(0, 1)",
                           "range must be (lo, hi) with lo < hi%s",
                           a->log ? ", both positive" : "");
        a->lo = v[0], a->hi = v[1];
    }
    axis_fix(a);
}

Value op_run_heat(OpCall *c)
{
    Figure f = figure_new(c);
    cells_of(c, &f, c->args[0], 0);
    scale_of(c, &f, f.cells.z, f.cells.rows * f.cells.cols, picture_arg(c, "range"));
    cells_axes(c, &f);
    picture_show(c, &f);
    return v_none();
}

/* |a| of complex elements. */
static Value magnitudes(OpCall *c, Value v)
{
    if (v.tag != V_TENSOR || dtype_info(v.tensor->dtype)->kind != 'c')
        return v;
    return op_root(c, op_call(c->in, op_named(c->in, "abs"), &v, 1, 0));
}

/* The entries of a sparse matrix, which are looked at where they stand. */
static void entries_of(OpCall *c, Figure *f, const Csr *a, Value value)
{
    if (a->m == 0 || a->n == 0)
        arg_error(c, 0, ERR_VALUE, "%s is empty: there is nothing to draw", arg_text(c, 0));
    f->cells = (Cells){ .z = (const double *)picture_numbers(c, magnitudes(c, value), "", 0)->data,
                        .rows = a->m, .cols = a->n, .entries = a };
}

Value op_run_spy(OpCall *c)
{
    Figure f = figure_new(c);
    int tol = picture_arg(c, "tol");
    const Sparse *s = c->args[0].tag == V_TENSOR ? tensor_sparse(c->args[0].tensor) : NULL;
    Csr entries;
    if (s) {
        entries = sparse_csr(s);
        entries_of(c, &f, &entries, v_tensor_raw(s->value));
    } else {
        cells_of(c, &f, magnitudes(c, c->args[0]), 0);
    }
    f.cells.pattern = true;
    f.cells.tol = arg_given(c, tol) ? arg_float(c, tol) : 0;
    if (!(f.cells.tol >= 0))
        arg_error(c, tol, ERR_VALUE, "tol=%g must not be negative", f.cells.tol);
    if (!*f.x.label) {
        double n = cells_block(&f.cells, 0, f.cells.rows, 0, f.cells.cols);
        double all = (double)f.cells.rows * (double)f.cells.cols;
        char *text = picture_room(c, 80, 1);
        c_snprintf(text, 80, n == 1 ? "%.0f nonzero of %.0f"
                                    : "%.0f nonzeros of %.0f (%.3g %%)", n, all,
                 100 * n / all);
        f.x.label = text;
    }
    cells_axes(c, &f);
    picture_show(c, &f);
    return v_none();
}

/* ---- contour ---- */

enum { LEVELS_MAX = 200 };

static void add_level(OpCall *c, Figure *f, const Field *field, double level)
{
    int64_t n = contour_pieces(c->in, field, level, NULL);
    char *text = picture_room(c, TICK_TEXT, 1);
    double *xy = picture_room(c, (size_t)n, 6 * sizeof *xy);
    Value *mark = c->in->sp;
    Piece *pieces = picture_room(c, (size_t)n, sizeof *pieces);
    PieceEnd *ends = picture_room(c, (size_t)n, 2 * sizeof *ends);
    int64_t *other = picture_room(c, (size_t)n, 2 * sizeof *other);
    contour_pieces(c->in, field, level, pieces);
    n = contour_lines(pieces, n, ends, other, xy);
    stack_cut(c->in, mark);
    tick_number(text, level);
    f->series[f->count] = (Series){ .kind = MARK_LEVEL, .x = xy, .y = xy + 1, .sx = 2,
                                    .sy = 2, .n = n,
                                    .label = text, .style = f->count, .level = level };
    f->count++;
}

/* x or y of a contour: n ascending or descending numbers; NULL: the subscripts. */
static const double *grid_line(OpCall *c, int arg, bool given, int64_t n)
{
    double *v;
    if (!given) {
        v = picture_room(c, (size_t)n, sizeof *v);
        for (int64_t i = 0; i < n; i++)
            v[i] = (double)i;
        return v;
    }
    Tensor *t = picture_numbers(c, c->args[arg], arg_text(c, arg), arg);
    v = (double *)(void *)t->data;
    for (int64_t i = 0; i < n; i++)
        if (!isfinite(v[i]))
            arg_error(c, arg, ERR_VALUE,
                      "element %lld of %s is %g; the points of a grid must be finite",
                      (long long)i, arg_text(c, arg), v[i]);
    return v;
}

/* Z from a function of x and y. */
static Tensor *field_values(OpCall *c, Value fn, Tensor *x, Tensor *y)
{
    int64_t shape[2] = { y->size, x->size };
    Tensor *t = op_keep(c, tensor_new(&c->in->ctx, DT_F64, 2, shape));
    for (int64_t i = 0; i < t->size; i++) {
        Value *mark = c->in->sp;
        Value at[2] = { v_float(((double *)(void *)x->data)[i % x->size]),
                        v_float(((double *)(void *)y->data)[i / x->size]) };
        Value r = picture_call(c, fn, at, 2);
        v_push(c->in, r);
        Tensor *one = picture_numbers(c, r, arg_text(c, 2), 2);
        if (one->size != 1)
            arg_error(c, 2, ERR_TYPE, "%s must give one real number", arg_text(c, 2));
        ((double *)(void *)t->data)[i] = *(double *)(void *)one->data;
        stack_cut(c->in, mark);
        poll_interrupt(c->in);
    }
    return t;
}

static Field contour_field(OpCall *c)
{
    bool alone = !arg_given(c, 1);
    int z = alone ? 0 : 2;
    char shape[128];
    if (!alone && !arg_given(c, 2))
        arg_error_help(c, 1, ERR_TYPE, "give a matrix alone, or x, y and a matrix",
                       "x and y are there, but no Z");
    Tensor *x = alone ? NULL : picture_numbers(c, c->args[0], arg_text(c, 0), 0);
    Tensor *y = alone ? NULL : picture_numbers(c, c->args[1], arg_text(c, 1), 1);
    Value v = c->args[z];
    bool fn = !alone && picture_callable(v);
    Tensor *t = fn ? field_values(c, v, x, y) : picture_numbers(c, v, arg_text(c, z), z);
    int64_t *dims = tensor_shape(t);
    if (t->rank != 2 || dims[0] < 2 || dims[1] < 2)
        arg_error(c, z, ERR_SHAPE, "%s %s, and must be a matrix of at least 2×2", arg_text(c, z),
                  shape_fact(shape, sizeof shape, t->rank, dims));
    if (!alone && (x->size != dims[1] || y->size != dims[0])) {
        char help[200];
        bool turned = x->size == dims[0] && y->size == dims[1];
        snprintf(help, sizeof help, "rows of Z go with y: contour(%s, %s, (%s)')", arg_text(c, 0),
                 arg_text(c, 1), arg_text(c, z));
        arg_error_help(c, z, ERR_SHAPE, turned ? help : NULL,
                       "%s is %s, but with %lld x and %lld y it must be %lld×%lld", arg_text(c, z),
                       shape_text(shape, sizeof shape, 2, dims), (long long)x->size,
                       (long long)y->size, (long long)y->size, (long long)x->size);
    }
    return (Field){ (double *)(void *)t->data, grid_line(c, 0, !alone, dims[1]),
                    grid_line(c, 1, !alone, dims[0]), dims[0], dims[1] };
}

static void line_range(Axis *a, const double *v, int64_t n)
{
    a->lo = INFINITY, a->hi = -INFINITY;
    for (int64_t i = 0; i < n; i++) {
        a->lo = fmin(a->lo, v[i]);
        a->hi = fmax(a->hi, v[i]);
    }
}

/* levels= as numbers in ascending order; how many. */
static int contour_levels(OpCall *c, const Axis *a, double *out)
{
    int at = picture_arg(c, "levels"), n = 0;
    Value v = c->args[at];
    if (arg_given(c, at) && v.tag != V_INT) {
        Tensor *t = picture_numbers(c, v, "levels", at);
        if (t->size < 1 || t->size > LEVELS_MAX)
            arg_error(c, at, ERR_VALUE, "levels has %lld elements; there must be from 1 to %d",
                      (long long)t->size, LEVELS_MAX);
        for (; n < t->size; n++)
            if (!isfinite(out[n] = ((double *)(void *)t->data)[n]))
                arg_error(c, at, ERR_VALUE,
                          "element %d of levels is %g, and must be finite", n, out[n]);
        qsort(out, (size_t)n, sizeof *out, compare_doubles);
        return n;
    }
    int64_t wanted = arg_given(c, at) ? v.i : 8;
    if (wanted < 1 || wanted > LEVELS_MAX)
        arg_error(c, at, ERR_VALUE, "levels=%lld; there must be from 1 to %d", (long long)wanted,
                  LEVELS_MAX);
    if (!a->log)
        return nice_levels(a->lo, a->hi,
                           (int)wanted < TICKS_MAX - 4 ? (int)wanted + 2 : TICKS_MAX - 2, out,
                           LEVELS_MAX);
    double step = fmax(1, ceil((a->log_hi - a->log_lo) / (double)wanted));
    for (double e = ceil(a->log_lo); e <= a->log_hi && n < LEVELS_MAX; e += step)
        out[n++] = pow(10, e);
    return n;
}

Value op_run_contour(OpCall *c)
{
    Figure f = figure_new(c);
    Field field = contour_field(c);
    double levels[LEVELS_MAX];
    Axis seen;
    line_range(&seen, field.z, field.rows * field.cols);
    scale_of(c, &f, field.z, field.rows * field.cols, -1);
    int n = seen.lo < seen.hi ? contour_levels(c, &f.scale.axis, levels) : 0;
    if (n == 0)
        notice(c->in, "contour: no level lies between the least element, %g, and the largest, %g",
               seen.lo, seen.hi);
    f.series = picture_room(c, (size_t)n, sizeof *f.series);
    for (int i = 0; i < n; i++)
        add_level(c, &f, &field, levels[i]);
    if (n > 1 && levels[0] < levels[n - 1]) {
        f.scale.axis.lo = levels[0], f.scale.axis.hi = levels[n - 1];
        axis_fix(&f.scale.axis);
    }
    f.legend = false;
    line_range(&f.x, field.x, field.cols);
    line_range(&f.y, field.y, field.rows);
    picture_limits(c, &f);
    picture_show(c, &f);
    return v_none();
}

/* ---- where it goes ---- */

void picture_show(OpCall *c, const Figure *f)
{
    int to = picture_arg(c, "to");
    if (board_takes(c, f))
        return;
    if (arg_given(c, to)) {
        Str *path = arg_str(c, to);
        if (strlen(path->text) != path->len)
            arg_error(c, to, ERR_IO, "the path contains a NUL byte");
        picture_file(c, f, path->text);
    } else if (display_wanted(c->in)) {
        picture_display(c, f);
    } else if (!c->in->out_mute && !picture_image(c, f)) {
        picture_text(c, f, NULL);
    }
}
