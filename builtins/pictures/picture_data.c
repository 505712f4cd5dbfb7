/* Arguments of the picture rows: what series they mean, their names, options, and the ranges of
 * the axes. Everything that a Figure points to is rooted on the value stack here. */
#include "builtins/pictures/picture.h"
#include "core/base/error.h"
#include "interp/op/arith.h"
#include "interp/eval/call.h"
#include "interp/output/output.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { SERIES_MAX = 1000, SAMPLES = 512, STRIDE_POLL = 1 << 20 };

/* ---- parameters by name ---- */

int picture_arg(const OpCall *c, const char *name)
{
    const OpSig *sig = op_sig(c->in, c->op);
    for (int i = 0; i < sig->fixed; i++)
        if (strcmp(sig->params[i].name->text, name) == 0)
            return i;
    return -1;
}

static bool picture_given(const OpCall *c, const char *name)
{
    int i = picture_arg(c, name);
    return i >= 0 && arg_given(c, i);
}

void *picture_room(OpCall *c, size_t count, size_t bytes)
{
    int64_t size = (int64_t)mem_mul(&c->in->ctx, count ? count : 1, bytes);
    return op_keep(c, tensor_zeros(&c->in->ctx, DT_U8, 1, &size))->data;
}

static const char *text_option(OpCall *c, const char *name)
{
    return picture_given(c, name) ? arg_str(c, picture_arg(c, name))->text : "";
}

/* ---- numbers ---- */

Tensor *picture_numbers(OpCall *c, Value v, const char *what, int arg)
{
    char given[96];
    Ctx *ctx = &c->in->ctx;
    if (!v_is_numeric(v) && v.tag != V_RANGE && v.tag != V_TUPLE)
        arg_error(c, arg, ERR_TYPE, "%s must be numbers, not %s", what,
                  v_article(v, given, sizeof given));
    Tensor *t = op_keep(c, v_to_tensor(c->in, v, arg));
    DType dt = (DType)t->dtype;
    if (dtype_info(dt)->kind == 'c') {
        char help[200];
        snprintf(help, sizeof help, "%s(abs(%s)), or real(%s) and imag(%s)", c->op->name, what,
                 what, what);
        arg_error_help(c, arg, ERR_DTYPE, help,
                       "%s is %s, and a picture has no place for complex numbers",
                       what, dtype_name(dt));
    }
    if (dt == DT_F64 && tensor_contiguous(t))
        return t;
    t = op_keep(c, tensor_cast(ctx, t, DT_F64));
    return op_keep(c, tensor_compact(ctx, t));
}

bool picture_callable(Value v)
{
    return v.tag == V_FUNCTION || v.tag == V_OP || v.tag == V_CFUNC;
}

static bool tuple_of_functions(Value v)
{
    for (uint32_t i = 0; v.tag == V_TUPLE && i < v.tuple->count; i++)
        if (!picture_callable(v.tuple->items[i]))
            return false;
    return v.tag == V_TUPLE && v.tuple->count > 0;
}

/* A function of the user's moves the place that errors and texts of arguments speak of. */
Value picture_call(OpCall *c, Value f, const Value *args, int count)
{
    const Exec *at = c->in->at;
    Value r = call_value(c->in, f, args, count);
    c->in->at = at;
    return r;
}

/* f(x) as one real number. */
static double value_of(OpCall *c, Value f, double x, const char *what, int arg)
{
    Value at = v_float(x), r = picture_call(c, f, &at, 1);
    double y = 0;
    bool real = r.tag == V_FLOAT || r.tag == V_INT || r.tag == V_BOOL ||
                (r.tag == V_TENSOR && r.tensor->rank == 0 &&
                 dtype_info(r.tensor->dtype)->kind != 'c');
    if (r.tag == V_FLOAT)
        y = r.f;
    else if (real && r.tag != V_TENSOR)
        y = (double)r.i;
    else if (real) {
        v_push(c->in, r);
        y = *(double *)(void *)picture_numbers(c, r, what, arg)->data;
        stack_cut(c->in, c->in->sp);
        return y;
    } else {
        char given[96];
        v_push(c->in, r);
        arg_error(c, arg, ERR_TYPE, "%s must give one real number, and of %g it gives %s", what, x,
                  v_article(r, given, sizeof given));
    }
    v_release(&c->in->ctx, r);
    return y;
}

/* f of every element; an operation on tensors is called once. */
static Tensor *values_of(OpCall *c, Value f, Tensor *x, const char *what, int arg)
{
    Ctx *ctx = &c->in->ctx;
    if (f.tag == V_OP && f.op->cls == OPC_EW) {
        Value all = v_tensor_raw(x), r = picture_call(c, f, &all, 1);
        v_push(c->in, r);
        return picture_numbers(c, r, what, arg);
    }
    Tensor *y = op_keep(c, tensor_new(ctx, DT_F64, 1, &x->size));
    for (int64_t i = 0; i < x->size; i++) {
        Value *mark = c->in->sp;
        ((double *)(void *)y->data)[i] = value_of(c, f, ((double *)(void *)x->data)[i], what, arg);
        stack_cut(c->in, mark);
        poll_interrupt(c->in);
    }
    return y;
}

static Tensor *spaced(OpCall *c, double a, double b, int64_t n)
{
    Tensor *t = op_keep(c, tensor_new(&c->in->ctx, DT_F64, 1, &n));
    double *x = (double *)(void *)t->data;
    for (int64_t i = 0; i < n; i++)
        x[i] = a * ((double)(n - 1 - i) / (double)(n - 1)) + b * ((double)i / (double)(n - 1));
    return t;
}

/* ---- names for the legend, from the text of the call ---- */

const char **picture_written(OpCall *c, const char *text, int n)
{
    size_t len = strlen(text);
    if (len && text[len - 1] == '\'')
        len--;
    if (len < 3 || !strchr("([", text[0]) || !strchr(")]", text[len - 1]))
        return NULL;
    const char **parts = picture_room(c, (size_t)n, sizeof *parts);
    int depth = 0, found = 0;
    size_t from = 1;
    bool quoted = false;
    for (size_t i = 1; i < len; i++) {
        quoted ^= text[i] == '"';
        bool end = i == len - 1;
        if (!quoted && strchr("([{", text[i]))
            depth++;
        if (!quoted && !end && strchr(")]}", text[i]))
            depth--;
        if (depth < 0 || (text[i] == ';' && depth == 0))
            return NULL;
        if (!end && (quoted || depth || text[i] != ','))
            continue;
        while (from < i && text[from] == ' ')
            from++;
        if (found == n || from == i)
            return NULL;
        char *part = picture_room(c, i - from + 1, 1);
        memcpy(part, text + from, i - from);
        parts[found++] = part;
        from = i + 1;
    }
    return found == n ? parts : NULL;
}

static void name_series(OpCall *c, Figure *f, Value v, int arg)
{
    if (v.tag == V_TUPLE && v.tuple->named) {
        for (int i = 0; i < f->count; i++)
            f->series[i].label = v.tuple->names[i] ? v.tuple->names[i]->text : "";
        return;
    }
    if (f->count < 2)
        return;
    const char *text = arg_text(c, arg);
    const char **parts = picture_written(c, text, f->count);
    for (int i = 0; i < f->count; i++) {
        char *own = picture_room(c, TICK_TEXT, 1);
        snprintf(own, TICK_TEXT, "%d", i);
        f->series[i].label = parts ? parts[i] : own;
    }
}

void picture_labels(OpCall *c, Figure *f)
{
    int at = picture_arg(c, "labels");
    if (at < 0 || !arg_given(c, at))
        return;
    Value v = c->args[at];
    f->legend = true;
    if (v.tag == V_STRING && f->count == 1) {
        f->series[0].label = v.str->text;
        return;
    }
    if (v.tag != V_TUPLE)
        arg_error_help(c, at, ERR_TYPE, "labels=(\"first\", \"second\")",
                       "labels must be a tuple of strings");
    if ((int)v.tuple->count != f->count)
        arg_error(c, at, ERR_SHAPE, "there %s %u label%s for %d series",
                  v.tuple->count == 1 ? "is" : "are",
                  v.tuple->count, v.tuple->count == 1 ? "" : "s", f->count);
    for (int i = 0; i < f->count; i++) {
        if (v.tuple->items[i].tag != V_STRING)
            arg_error_help(c, at, ERR_TYPE, "labels=(\"first\", \"second\")",
                           "labels must be strings");
        f->series[i].label = v.tuple->items[i].str->text;
    }
}

/* ---- x and y ---- */

/* Columns of a matrix, or a vector as one. */
typedef struct Columns { const double *at; int64_t n, count, stride, next; } Columns;

static Columns columns_of(OpCall *c, Tensor *t, const char *what, int arg)
{
    Columns v = { (double *)(void *)t->data, t->size, 1, 1, 0 };
    char text[128];
    if (t->rank > 2)
        arg_error(c, arg, ERR_SHAPE, "%s %s; series are vectors, or the columns of a matrix", what,
                  shape_fact(text, sizeof text, t->rank, tensor_shape(t)));
    if (t->rank == 2 && tensor_shape(t)[0] != 1 && tensor_shape(t)[1] != 1) {
        v.n = tensor_shape(t)[0];
        v.count = v.stride = tensor_shape(t)[1];
        v.next = 1;
    }
    return v;
}

static _Noreturn void lengths_differ(OpCall *c, Tensor *y, int64_t n, int64_t nx, const char *xs,
                                     const char *ys)
{
    char shape[128], help[256];
    int64_t *dims = tensor_shape(y);
    bool turned = y->rank == 2 && dims[1] == nx,
         open = strpbrk(ys, " +-*/@,\\") && !strchr("([", ys[0]);
    snprintf(help, sizeof help, "the columns of a matrix are its series: %s(%s, %s%s%s')",
             c->op->name, xs, open ? "(" : "", ys, open ? ")" : "");
    if (y->rank == 2 && n > 1)
        arg_error_help(c, 1, ERR_SHAPE, turned ? help : NULL,
                       "%s is %s, %lld points in each column, but %s has %lld elements",
                       ys, shape_text(shape, sizeof shape, y->rank, dims), (long long)n, xs,
                       (long long)nx);
    arg_error(c, 1, ERR_SHAPE, "%s has %lld elements but %s has %lld", ys, (long long)n, xs,
              (long long)nx);
}

static void add_series(OpCall *c, Figure *f, MarkKind kind, Tensor *x, Tensor *y, const char *xs,
                       const char *ys, int arg)
{
    Columns cy = columns_of(c, y, ys, arg), cx = { NULL, cy.n, 1, 0, 0 };
    if (x)
        cx = columns_of(c, x, xs, 0);
    if (cx.n != cy.n)
        lengths_differ(c, y, cy.n, cx.n, xs, ys);
    if (cy.n == 0)
        arg_error(c, arg, ERR_VALUE, "%s is empty: there is nothing to draw", ys);
    if (cx.count > 1 && cx.count != cy.count)
        arg_error(c, 0, ERR_SHAPE, "%s has %lld columns but %s has %lld", xs,
                  (long long)cx.count, ys, (long long)cy.count);
    if (f->count + cy.count > SERIES_MAX)
        arg_error_help(c, arg, ERR_VALUE, "heat(…) shows a large matrix",
                       "%lld series are more than the %d that a picture takes",
                       (long long)(f->count + cy.count), SERIES_MAX);
    for (int64_t k = 0; k < cy.count; k++) {
        int i = f->count++;
        f->series[i] = (Series){ .kind = kind, .x = cx.at ? cx.at + k * cx.next : NULL,
                                 .sx = cx.stride,
                                 .y = cy.at + k * cy.next, .sy = cy.stride, .n = cy.n, .label = "",
                                 .style = i };
    }
}

static bool complex_vector(Value v)
{
    return v.tag == V_TENSOR && dtype_info(v.tensor->dtype)->kind == 'c';
}

/* Complex numbers are points of the plane. */
static void plane_series(OpCall *c, Figure *f, MarkKind kind)
{
    Ctx *ctx = &c->in->ctx;
    Tensor *z =
        op_keep(c, tensor_compact(ctx, op_keep(c, tensor_cast(ctx, c->args[0].tensor, DT_C128))));
    if (z->size == 0)
        arg_error(c, 0, ERR_VALUE, "%s is empty: there is nothing to draw", arg_text(c, 0));
    const double *parts = (const double *)(const void *)z->data;
    f->series[f->count++] = (Series){ .kind = kind, .x = parts, .y = parts + 1, .sx = 2, .sy = 2,
                                      .n = z->size,
                                      .label = "" };
    f->x.label = "real part";
    f->y.label = "imaginary part";
}

/* Does f jump between two samples? Halving a jump never makes it small; a steep rise it does. */
static bool jumps(OpCall *c, Value f, const double *x, const double *y, const char *what)
{
    double a = x[0], b = x[1], fa = y[0], fb = y[1], most = fabs(fb / 2 - fa / 2);
    for (int i = 0; i < 12 && isfinite(fa) && isfinite(fb); i++) {
        double middle = a / 2 + b / 2, fm = value_of(c, f, middle, what, 0);
        if (!isfinite(fm) || fabs(fm / 2 - fa / 2) > fabs(fb / 2 - fm / 2))
            b = middle, fb = fm;
        else
            a = middle, fa = fm;
    }
    return !isfinite(fa) || !isfinite(fb) || fabs(fb / 2 - fa / 2) > 0.5 * most;
}

static double spread(const double *y, int n)
{
    double lo = INFINITY, hi = -INFINITY;
    for (int i = 0; i < n; i++)
        if (isfinite(y[i])) {
            lo = fmin(lo, y[i]);
            hi = fmax(hi, y[i]);
        }
    return hi / 2 - lo / 2;
}

/* The samples of f as a series, with a gap where it jumps by a twentieth of its range and more. */
static void sampled_series(OpCall *c, Figure *f, MarkKind kind, Value fn, const double *x,
                           const double *y)
{
    double *xy = picture_room(c, 2 * SAMPLES, 2 * sizeof *xy), least = spread(y, SAMPLES) / 20;
    int64_t n = 0, gaps = 0;
    for (int i = 0; i < SAMPLES; i++) {
        bool far = i && isfinite(y[i]) && isfinite(y[i - 1]) &&
                   fabs(y[i] / 2 - y[i - 1] / 2) > least;
        if (far && jumps(c, fn, x + i - 1, y + i - 1, arg_text(c, 0))) {
            xy[2 * n] = x[i];
            xy[2 * n++ + 1] = NAN;
            gaps++;
        }
        xy[2 * n] = x[i];
        xy[2 * n++ + 1] = y[i];
    }
    f->series[f->count] = (Series){ .kind = kind, .x = xy, .y = xy + 1, .sx = 2, .sy = 2, .n = n,
                                    .gaps = gaps,
                                    .sampled = true, .label = "", .style = f->count };
    f->count++;
}

static _Noreturn void needs_range(OpCall *c, int arg)
{
    char help[120];
    snprintf(help, sizeof help, "plot(%.72s, -1, 1)", arg_text(c, arg));
    arg_error_help(c, arg, ERR_TYPE, help, "a function needs the range that it is drawn over");
}

static void function_series(OpCall *c, Figure *f, MarkKind kind)
{
    int b = picture_arg(c, "b");
    Value v = c->args[0];
    if (b < 0 || !arg_given(c, 1) || !arg_given(c, b))
        needs_range(c, 0);
    double from = arg_float(c, 1), to = arg_float(c, b);
    if (!isfinite(from) || !isfinite(to) || from == to)
        arg_error(c, b, ERR_VALUE, "a function cannot be drawn from %g to %g", from, to);
    Tensor *x = spaced(c, from, to, SAMPLES);
    if (strchr(text_option(c, "log"), 'x') && from > 0 && to > 0)
        for (int i = 1; i + 1 < SAMPLES; i++)
            ((double *)(void *)x->data)[i] = pow(10, log10(from) +
                                                 (log10(to) - log10(from)) * i / (SAMPLES - 1));
    uint32_t n = v.tag == V_TUPLE ? v.tuple->count : 1;
    for (uint32_t i = 0; i < n; i++) {
        Value fn = v.tag == V_TUPLE ? v.tuple->items[i] : v;
        Tensor *y = values_of(c, fn, x, arg_text(c, 0), 0);
        if (f->count == SERIES_MAX)
            arg_error(c, 0, ERR_VALUE, "there are more than %d functions", SERIES_MAX);
        sampled_series(c, f, kind, fn, (double *)(void *)x->data, (double *)(void *)y->data);
    }
    name_series(c, f, v, 0);
}

/* A tuple whose items are vectors or functions, rather than a tuple of numbers. */
static bool tuple_of_series(Value v)
{
    for (uint32_t i = 0; v.tag == V_TUPLE && i < v.tuple->count; i++) {
        Value item = v.tuple->items[i];
        if (picture_callable(item) || item.tag == V_RANGE || item.tag == V_TUPLE ||
            (item.tag == V_TENSOR && item.tensor->rank > 0))
            return true;
    }
    return false;
}

Tensor *picture_heights(OpCall *c, Value y, Tensor *x, const char *what, int arg)
{
    return picture_callable(y) ? values_of(c, y, x, what, arg) : picture_numbers(c, y, what, arg);
}

/* Series of y against x (V_UNDEF: the subscripts), both of which may be tuples. */
static void value_series(OpCall *c, Figure *f, MarkKind kind, Value xv, Value y, int arg)
{
    bool many = tuple_of_series(y), pairs = many && tuple_of_series(xv);
    uint32_t n = many ? y.tuple->count : 1;
    const char *ys = arg_text(c, arg), *xs = arg_text(c, 0);
    if (pairs && xv.tuple->count != n)
        arg_error(c, arg, ERR_SHAPE, "%s has %u items but %s has %u", ys, n, xs, xv.tuple->count);
    Tensor *x = xv.tag == V_UNDEF || pairs ? NULL : picture_numbers(c, xv, xs, 0);
    for (uint32_t i = 0; i < n; i++) {
        Value item = many ? y.tuple->items[i] : y;
        if (pairs)
            x = picture_numbers(c, xv.tuple->items[i], xs, 0);
        if (picture_callable(item) && !x)
            needs_range(c, arg);
        Tensor *t = picture_heights(c, item, x, ys, arg);
        add_series(c, f, kind, x, t, xs, ys, arg);
    }
    name_series(c, f, y, arg);
}

/* scatter(A) of two columns. */
static bool two_columns(const OpCall *c, MarkKind kind)
{
    Value v = c->args[0];
    return kind == MARK_POINTS && v.tag == V_TENSOR && v.tensor->rank == 2 &&
           tensor_shape(v.tensor)[1] == 2;
}

static _Noreturn void third_value(OpCall *c, int b)
{
    char help[256];
    if (c->args[b].tag == V_STRING)
        arg_error_help(c, b, ERR_TYPE, "lines get their colours by themselves, names are labels=, "
                                       "points points=true",
                       "no string says what a line looks like");
    snprintf(help, sizeof help, "several series are a tuple: plot(%.70s, (%.70s, %.70s))",
             arg_text(c, 0), arg_text(c, 1), arg_text(c, b));
    arg_error_help(c, b, ERR_TYPE, help,
                   "a third value is the end of a function's range, and %s is no function",
                   arg_text(c, 0));
}

void picture_series(OpCall *c, Figure *f, MarkKind kind)
{
    f->series = picture_room(c, SERIES_MAX, sizeof *f->series);
    bool has_y = arg_given(c, 1);
    int b = picture_arg(c, "b");
    if (kind == MARK_LINE && (picture_callable(c->args[0]) || tuple_of_functions(c->args[0]))) {
        function_series(c, f, kind);
        return;
    }
    if (b >= 0 && arg_given(c, b))
        third_value(c, b);
    if (picture_is_layers(c->args[has_y])) {
        picture_layers(c, f, kind, c->args[has_y], has_y ? c->args[0] : v_undef(), has_y);
        return;
    }
    if (!has_y && complex_vector(c->args[0])) {
        plane_series(c, f, kind);
    } else if (!has_y && two_columns(c, kind)) {
        Tensor *t = picture_numbers(c, c->args[0], arg_text(c, 0), 0);
        const double *at = (const double *)(const void *)t->data;
        if (t->size == 0)
            arg_error(c, 0, ERR_VALUE, "%s is empty: there is nothing to draw", arg_text(c, 0));
        f->series[f->count++] = (Series){ .kind = kind, .x = at, .y = at + 1, .sx = 2, .sy = 2,
                                          .n = tensor_shape(t)[0], .label = "" };
    } else {
        value_series(c, f, kind, has_y ? c->args[0] : v_undef(), c->args[has_y], has_y);
        f->x.whole = !has_y;
    }
}

/* x and h of bar; named: the first are names, one for each height. */
void picture_bars(OpCall *c, Figure *f, bool named)
{
    if (!named) {
        picture_series(c, f, MARK_COLUMNS);
        return;
    }
    f->series = picture_room(c, SERIES_MAX, sizeof *f->series);
    value_series(c, f, MARK_COLUMNS, v_undef(), c->args[1], 1);
    for (int i = 0; i < f->count; i++)
        if (f->series[i].n != f->x.name_count)
            arg_error(c, 1, ERR_SHAPE, "there %s %d name%s in %s but %lld heights in %s",
                      f->x.name_count == 1 ? "is" : "are", f->x.name_count,
                      f->x.name_count == 1 ? "" : "s", arg_text(c, 0),
                      (long long)f->series[i].n, arg_text(c, 1));
}

/* ---- groups ---- */

typedef struct Group { double number; const char *text; int64_t count; } Group;
enum { GROUPS_MAX = 100 };

static bool group_is(const Group *g, double number, const char *text)
{
    return text ? strcmp(g->text, text) == 0 : g->number == number;
}

/* The group of each point, and the groups: numbers ascending, strings as they come. */
static int find_groups(OpCall *c, Value v, Tensor *t, int64_t n, Group *groups, int *of, int arg)
{
    int count = 0;
    for (int64_t i = 0; i < n; i++) {
        const char *text = NULL;
        double number = t ? ((double *)(void *)t->data)[i] : 0;
        if (!t && v.tuple->items[i].tag != V_STRING)
            arg_error(c, arg, ERR_TYPE, "groups must be numbers, or strings in a tuple");
        if (!t)
            text = v.tuple->items[i].str->text;
        if (isnan(number))
            arg_error(c, arg, ERR_VALUE, "element %lld of groups is nan, which is no group",
                      (long long)i);
        int at = 0;
        while (at < count && !group_is(&groups[at], number, text))
            at++;
        if (at == GROUPS_MAX)
            arg_error(c, arg, ERR_VALUE, "there are more than %d groups", GROUPS_MAX);
        if (at == count)
            groups[count++] = (Group){ number, text, 0 };
        groups[at].count++;
        of[i] = at;
    }
    return count;
}

static void group_order(const Group *g, int count, bool numbers, int *rank)
{
    for (int i = 0; i < count; i++) {
        rank[i] = numbers ? 0 : i;
        for (int j = 0; numbers && j < count; j++)
            rank[i] += g[j].number < g[i].number;
    }
}

void picture_groups(OpCall *c, Figure *f, int arg)
{
    Value v = c->args[arg];
    Series whole = f->series[0];
    if (f->count != 1)
        arg_error(c, arg, ERR_TYPE, "groups= is for one series, and there are %d", f->count);
    bool strings = v.tag == V_TUPLE && v.tuple->count && v.tuple->items[0].tag == V_STRING;
    Tensor *t = strings ? NULL : picture_numbers(c, v, "groups", arg);
    int64_t n = strings ? v.tuple->count : t->size;
    if (n != whole.n)
        arg_error(c, arg, ERR_SHAPE, "there %s %lld group%s for %lld points", n == 1 ? "is" : "are",
                  (long long)n, n == 1 ? "" : "s", (long long)whole.n);
    Group groups[GROUPS_MAX];
    int *of = picture_room(c, (size_t)n, sizeof *of), rank[GROUPS_MAX];
    int count = find_groups(c, v, t, n, groups, of, arg);
    group_order(groups, count, !strings, rank);
    double *xy[GROUPS_MAX];
    for (int g = 0; g < count; g++) {
        char *own = picture_room(c, TICK_TEXT, 1);
        xy[g] = picture_room(c, (size_t)groups[g].count, 2 * sizeof(double));
        tick_number(own, groups[g].number);
        f->series[rank[g]] = (Series){ .kind = whole.kind, .x = xy[g], .y = xy[g] + 1,
                                       .sx = 2, .sy = 2,
                                       .n = groups[g].count, .style = rank[g],
                                       .label = strings ? groups[g].text : own };
    }
    for (int64_t i = 0; i < n; i++) {
        double *to = xy[of[i]];
        to[0] = whole.x ? whole.x[i * whole.sx] : (double)i;
        to[1] = whole.y[i * whole.sy];
        xy[of[i]] += 2;
    }
    f->count = count;
}

/* ---- options ---- */

static void log_option(OpCall *c, Figure *f)
{
    const char *text = text_option(c, "log");
    bool color = strcmp(text, "color") == 0 || strcmp(text, "colour") == 0,
         scaled = picture_arg(c, "bar") >= 0;
    bool known = scaled ? color : strspn(text, "xy") == strlen(text);
    if (*text && !known)
        arg_error_help(c, picture_arg(c, "log"), ERR_VALUE, scaled ? "log=\"color\""
                       : "log=\"x\", \"y\" or \"xy\"",
                       "log=\"%.20s\" names no axis", text);
    if (scaled) {
        f->scale.axis.log = color;
        return;
    }
    f->x.log = strchr(text, 'x') != NULL;
    f->y.log = strchr(text, 'y') != NULL;
}

static void size_option(OpCall *c, Figure *f)
{
    int at = picture_arg(c, "size");
    if (!arg_given(c, at))
        return;
    Tensor *t = picture_numbers(c, c->args[at], "size", at);
    const double *v = (const double *)(const void *)t->data;
    if (t->size != 2 || t->rank != 1)
        arg_error_help(c, at, ERR_SHAPE, "size=(600, 400)", "size must be (width, height)");
    if (!(v[0] >= 1 && v[0] <= 30000 && v[1] >= 1 && v[1] <= 30000))
        arg_error_help(c, at, ERR_VALUE, "size=(600, 400)",
                       "size is (%g, %g); both must lie between 1 and 30000", v[0], v[1]);
    f->width = (int)v[0];
    f->height = (int)v[1];
}

void picture_options(OpCall *c, Figure *f)
{
    f->in = c->in;
    f->title = text_option(c, "title");
    f->x.label = text_option(c, "xlabel");
    f->y.label = text_option(c, "ylabel");
    f->scale.axis.label = "";
    f->equal = picture_arg(c, "equal") >= 0 && arg_bool(c, picture_arg(c, "equal"), false);
    f->legend = true;
    size_option(c, f);
    if (picture_arg(c, "log") >= 0)
        log_option(c, f);
    if (picture_arg(c, "map") >= 0) {
        const char *name = text_option(c, "map");
        if (*name && !map_find(name, &f->scale.map))
            arg_error_help(c, picture_arg(c, "map"), ERR_VALUE,
                           "map=\"viridis\", \"diverging\" or \"grey\"",
                           "there is no colour map \"%.40s\"", name);
        f->scale.bar = arg_bool(c, picture_arg(c, "bar"), true);
    }
}

static void limits(OpCall *c, const char *name, Axis *a)
{
    int at = picture_arg(c, name);
    if (at < 0 || !arg_given(c, at))
        return;
    Tensor *t = picture_numbers(c, c->args[at], name, at);
    const double *v = (const double *)(const void *)t->data;
    char help[64];
    snprintf(help, sizeof help, a->log ? "%s=(1, 10)" : "%s=(0, 1)", name);
    if (t->size != 2 || t->rank != 1)
        arg_error_help(c, at, ERR_SHAPE, help, "%s must be (lo, hi)", name);
    if (!isfinite(v[0]) || !isfinite(v[1]) || v[0] == v[1])
        arg_error_help(c, at, ERR_VALUE, help, "%s=(%g, %g) is no range", name, v[0], v[1]);
    if (a->log && (v[0] <= 0 || v[1] <= 0))
        arg_error_help(c, at, ERR_VALUE, help,
                       "%s=(%g, %g): a logarithmic axis has positive numbers only",
                       name, v[0], v[1]);
    a->lo = v[0];
    a->hi = v[1];
}

void picture_limits(OpCall *c, Figure *f)
{
    limits(c, "xlim", &f->x);
    limits(c, "ylim", &f->y);
    axis_fix(&f->x);
    axis_fix(&f->y);
}

/* ---- ranges ---- */

typedef struct Seen { double lo[2], hi[2]; int64_t points, lost, negative; } Seen;

static void look(Seen *s, int axis, double v)
{
    s->lo[axis] = v < s->lo[axis] ? v : s->lo[axis];
    s->hi[axis] = v > s->hi[axis] ? v : s->hi[axis];
}

/* Errors and bands are to be seen whole, columns with their feet. */
static void look_at_spans(const Figure *f, const Series *s, int side, Seen *seen)
{
    for (int64_t i = 0; i < s->n && (s->error[side] || s->band[side]); i++) {
        double x = s->x ? s->x[i * s->sx] : (double)i, y = s->y[i * s->sy], ends[2] = { NAN, NAN };
        if (s->error[side])
            ends[0] = side ? y + s->error[side][i] : y - s->error[side][i];
        if (s->band[side])
            ends[1] = s->band[side][i];
        for (int k = 0; k < 2; k++)
            if (isfinite(x) && isfinite(ends[k]) && !(f->x.log && x <= 0) &&
                !(f->y.log && ends[k] <= 0)) {
                look(seen, 0, x);
                look(seen, 1, ends[k]);
            }
    }
    if (s->kind == MARK_COLUMNS && !f->y.log)
        look(seen, 1, 0);
    for (int64_t i = 0; i < s->n && s->kind == MARK_COLUMNS; i++) {
        double x = s->x ? s->x[i * s->sx] : (double)i, by = s->shift + (side - 0.5) * s->width;
        if (isfinite(x) && !(f->x.log && x + by <= 0))
            look(seen, 0, x + by);
    }
}

static void look_at_series(const Figure *f, const Series *s, Seen *seen)
{
    for (int64_t i = 0; i < s->n; i++) {
        double x = s->x ? s->x[i * s->sx] : (double)i, y = s->y[i * s->sy];
        if ((i & (STRIDE_POLL - 1)) == STRIDE_POLL - 1)
            poll_interrupt(f->in);
        seen->points++;
        if (!isfinite(x) || !isfinite(y)) {
            seen->lost++;
            if (s->sampled)
                look(seen, 0, x);
        } else if ((f->x.log && x <= 0) || (f->y.log && y <= 0)) {
            seen->negative++;
        } else {
            look(seen, 0, x);
            look(seen, 1, y);
        }
    }
    for (int side = 0; side < 2; side++)
        look_at_spans(f, s, side, seen);
    for (int64_t i = 0; i < s->n && s->tip[0]; i++)
        if (isfinite(s->tip[0][i]) && isfinite(s->tip[1][i]) &&
            !(f->x.log && s->tip[0][i] <= 0) && !(f->y.log && s->tip[1][i] <= 0)) {
            look(seen, 0, s->tip[0][i]);
            look(seen, 1, s->tip[1][i]);
        }
    seen->points -= s->gaps;
    seen->lost -= s->gaps;
    if (s->kind == MARK_BARS)
        look(seen, 0, s->x[s->n]);
}

static void margin(Axis *a, double by)
{
    axis_fix(a);
    if (a->log) {
        double room = (a->log_hi - a->log_lo) * by;
        a->lo = fmax(pow(10, a->log_lo - room), 5e-324);
        a->hi = fmin(pow(10, a->log_hi + room), 1.7976931348623157e308);
    } else {
        double room = (a->hi / 2 - a->lo / 2) * by * 2;
        a->lo = fmax(a->lo - room, -1.7976931348623157e308);
        a->hi = fmin(a->hi + room, 1.7976931348623157e308);
    }
    axis_fix(a);
}

static bool has_columns(const Figure *f)
{
    for (int i = 0; i < f->count; i++)
        if (f->series[i].kind == MARK_COLUMNS)
            return true;
    return false;
}

void picture_ranges(OpCall *c, Figure *f, double margin_x, double margin_y)
{
    Seen s = { { INFINITY, INFINITY }, { -INFINITY, -INFINITY }, 0, 0, 0 };
    for (int i = 0; i < f->count; i++)
        look_at_series(f, &f->series[i], &s);
    for (int i = 0; i < f->note_count; i++)
        look_at_series(f, &f->notes[i], &s);
    const char *which = s.points == 1 ? "point is" : "points are";
    if (s.lost + s.negative == s.points && f->count + f->note_count)
        err_raise(&c->in->ctx, ERR_VALUE, "%s: nothing is left to draw: all %lld %s %s",
                  c->op->name, (long long)s.points, which,
                  s.negative == 0 ? "nan or infinite"
                  : s.lost == 0   ? "zero or negative, and the axis is logarithmic"
                                  : "nan, infinite, or not positive on a logarithmic axis");
    if (s.lost)
        notice(c->in, "%s: %lld of %lld points %s nan or infinite: left out", c->op->name,
               (long long)s.lost, (long long)s.points, s.lost == 1 ? "is" : "are");
    if (s.negative)
        notice(c->in,
               "%s: %lld of %lld points %s not positive: a logarithmic axis has no place for %s",
               c->op->name, (long long)s.negative, (long long)s.points,
               s.negative == 1 ? "is" : "are", s.negative == 1 ? "it" : "them");
    f->x.lo = s.lo[0], f->x.hi = s.hi[0];
    f->y.lo = s.lo[1], f->y.hi = s.hi[1];
    margin(&f->x, margin_x);
    margin(&f->y, margin_y);
    if (has_columns(f) && !f->y.log) {       /* what stands on 0 stands on the frame */
        f->y.lo = s.lo[1] >= 0 ? 0 : f->y.lo;
        f->y.hi = s.hi[1] <= 0 ? 0 : f->y.hi;
    }
    picture_limits(c, f);
}
