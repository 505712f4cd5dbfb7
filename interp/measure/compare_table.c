/* The table that `compare` prints, fitted to the terminal (80 cells elsewhere), and the same as
 * data. A column without anything to say is left out; a label that is too long for its column
 * stands on a line of its own. Where some value is short, one that is too long for what the other
 * columns leave ends in `…`, and of one that no line can hold its cell says what it is. */
#include "interp/measure/compare.h"
#include "interp/op/heard.h"

#include "core/system/c_locale.h"
#include "core/base/error.h"
#include "interp/output/display.h"
#include "interp/output/output.h"
#include "interp/show/show.h"
#include "kernels/number/number.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef enum Column {
    COL_FORMAT, COL_U, COL_VALUE, COL_ERROR, COL_DIGITS, COL_BACKWARD, COL_OVER, COL_UNDER,
    COL_NAN, COL_TIME, COL_BYTES, COLUMNS
} Column;

/* least: so that what the clock says does not change the layout. */
static const struct { const char *name; bool left; int least; } columns[COLUMNS] = {
    [COL_FORMAT] = { "format", true, 6 }, [COL_U] = { "u", false, 1 },
    [COL_VALUE] = { "value", true, 5 },   [COL_ERROR] = { "error", false, 5 },
    [COL_DIGITS] = { "digits", false, 6 }, [COL_BACKWARD] = { "backward", false, 8 },
    [COL_OVER] = { "over", false, 4 },    [COL_UNDER] = { "under", false, 5 },
    [COL_NAN] = { "nan", false, 3 },      [COL_TIME] = { "time", false, 7 },
    [COL_BYTES] = { "bytes", false, 7 },
};

enum { LABEL_MAX = 20, LABEL_MIN = 10, VALUE_MIN = 10, VALUE_MAX = 42 };
enum { CELL = 200, FIELDS_MAX = 8 };

/* Of an entry, or of a field of its value. */
typedef struct Row {
    const CompareRun *run;
    int field;                  /* -1: the entry itself */
    char cell[COLUMNS][CELL];
} Row;

typedef struct Table {
    Interp *in;
    const Compare *compare;
    Row *rows;
    int count;
    int width[COLUMNS];         /* 0: left out */
    int gap;                    /* between columns */
} Table;

/* ---- facts ---- */
static double compare_roundoff(DType dt)
{
    if (dt == DT_RATIONAL)
        return 0;
    if (dt == DT_I8)
        return 0.5 / 127;               /* of the greatest number of a row or column */
    if (dtype_base(dt) == DT_DECIMAL)
        return 0.5 * pow(10, 1 - dtype_digits(dt));
    return ldexp(1, -accuracy_bits(dt));
}

/* Nobody should read what follows as the time of hardware that has the format. */
static bool compare_simulated(const Scope *s)
{
    BinaryFormat f;
    DType format = scope_format(s);
    bool hardware = format == DT_F64 || format == DT_F32;
    bool plain = s->round == ROUND_NEAREST && !s->saturate && !s->flush;
    return dtype_base(format) == DT_DECIMAL || (binary_format(format, &f) && !(hardware && plain));
}

/* ---- text ---- */
/* Cells on the screen: code points, near enough for what stands here. */
static int width_of(const char *text)
{
    int n = 0;
    for (; *text; text++)
        n += ((unsigned char)*text & 0xc0) != 0x80;
    return n;
}

/* Cuts text to `room` cells, the last of them `…`. */
static void cut(char *text, int room)
{
    int n = 0;
    if (width_of(text) <= room)
        return;
    for (char *at = text; *at; at++) {
        n += ((unsigned char)*at & 0xc0) != 0x80;
        if (n == room) {
            memcpy(at, "…", sizeof "…");
            return;
        }
    }
}

static bool ends_cut(const char *text)
{
    size_t n = strlen(text), m = sizeof "…" - 1;
    return n >= m && memcmp(text + n - m, "…", m) == 0;
}

/* 1.2e-5, 0.12, and 0, inf, nan. */
static void put_size(char *out, double x)
{
    char text[32], *e;
    bool plain = x == 0 || (x >= 0.0095 && x < 99);
    c_snprintf(text, sizeof text, plain ? "%.2g" : "%.1e", x);
    e = strchr(text, 'e');
    if (!e)
        snprintf(out, CELL, "%s", text);
    else
        snprintf(out, CELL, "%.*se%d", (int)(e - text), text, atoi(e + 1));
}

/* u as a number, or as the power where it is below all doubles. */
static void put_roundoff(char *out, DType dt)
{
    double u = compare_roundoff(dt);
    if (u > 1e-300 || dt == DT_RATIONAL)
        put_size(out, u);
    else if (dtype_base(dt) == DT_DECIMAL)
        snprintf(out, CELL, "5e-%d", dtype_digits(dt));
    else
        snprintf(out, CELL, "2^-%d", accuracy_bits(dt));
}

static void put_bytes(char *out, double bytes)
{
    static const char *const units[] = { "B", "kB", "MB", "GB", "TB" };
    int unit = 0;
    while (bytes >= 999.5 && unit < 4)
        bytes /= 1000, unit++;
    c_snprintf(out, CELL, "%.3g %s", bytes, units[unit]);
}

/* A long number keeps its exponent: 1.2345…e-10. */
static void shorten(char *text, int room)
{
    char *exponent = strrchr(text, 'e'), tail[24] = "";
    bool number = text[0] == '-' || (text[0] >= '0' && text[0] <= '9');
    if (width_of(text) <= room)
        return;
    if (number && exponent && strlen(exponent) < sizeof tail) {
        snprintf(tail, sizeof tail, "%s", exponent);
        *exponent = '\0';
    }
    cut(text, room - (int)strlen(tail));
    strcat(text, tail);
}

/* Hundreds of digits, or of letters: their start, and the exponent. */
static void put_start(char *out, const char *text, bool number)
{
    size_t n = CELL - 32;
    const char *exponent = number ? strrchr(text, 'e') : NULL;
    while (n > 0 && ((unsigned char)text[n] & 0xc0) == 0x80)
        n--;
    snprintf(out, CELL, "%.*s%.20s", (int)n, text, exponent ? exponent : "");
}

static bool is_scalar(Value v)
{
    return v_is_numeric(v) && (v.tag != V_TENSOR || v.tensor->rank == 0);
}

/* What print writes of it, where that is one line of few elements; cut to the room. */
static void put_value(Interp *in, char *out, Value v, int room)
{
    bool scalar = is_scalar(v), small = v.tag != V_TENSOR || v.tensor->size <= 16;
    out[0] = '\0';
    if (v.tag == V_NONE || v.tag == V_FUNCTION || !small ||
        (v.tag == V_TUPLE && v.tuple->count > 8))
        return;
    buf_clear(&in->scratch);
    show_value(in, &in->scratch, v);
    const char *text = buf_cstr(&in->scratch);
    bool fraction =
        scalar && v.tag == V_TENSOR && v.tensor->dtype == DT_RATIONAL && width_of(text) > room;
    if (strchr(text, '\n'))
        return;
    if (fraction)
        c_snprintf(out, CELL, "≈%.16g", element_f64(DT_RATIONAL, v.tensor->data));
    else if (strlen(text) < CELL)
        snprintf(out, CELL, "%s", text);
    else
        put_start(out, text, scalar);
    if (scalar)
        shorten(out, room);
    else
        cut(out, room);
}

/* ---- rows ---- */
static void put_count(char *out, uint64_t n, bool any)
{
    if (any)
        snprintf(out, CELL, "%llu", (unsigned long long)n);
}

/* Which columns have something to say. */
/* What became nan: by an operation without a value, or by overflow in a format that has no
 * infinity (e4m3). */
static uint64_t nans_of(const Scope *s)
{
    int exponent, significand;
    MiniStyle style;
    bool nearest = s->round == ROUND_NEAREST || s->round == ROUND_AWAY;
    bool none = dtype_mini_read(scope_format(s), &exponent, &significand, &style) &&
                style == MINI_NAN;
    return s->flags.invalid + (none && nearest && !s->saturate ? s->flags.overflow : 0);
}

typedef struct Marks { bool over, under, invalid, simulated; } Marks;

static bool failed(const CompareRun *r) { return r->failed->tag != V_UNDEF; }

static void put_accuracy(Row *row, Accuracy a)
{
    put_size(row->cell[COL_ERROR], a.error);
    if (a.error < 1e-300 && isfinite(a.digits)) {           /* below all doubles */
        double exponent = floor(-a.digits);
        c_snprintf(row->cell[COL_ERROR], CELL, "%.1fe%.0f",
                   pow(10, -a.digits - exponent), exponent);
    }
    if (isinf(a.digits))
        snprintf(row->cell[COL_DIGITS], CELL, "all");
    else
        c_snprintf(row->cell[COL_DIGITS], CELL, "%.1f", a.digits);
}

static void fill_entry(Row *row, const Marks *any)
{
    char text[32];
    char (*cell)[CELL] = row->cell;
    const CompareRun *r = row->run;
    snprintf(cell[COL_FORMAT], CELL, "%.150s%s", r->label, r->scope.partly ? " ~" : "");
    put_roundoff(cell[COL_U], scope_format(&r->scope));
    if (failed(r))
        return;
    if (r->measured)
        put_accuracy(row, r->accuracy);
    if (!isnan(r->backward))
        put_size(cell[COL_BACKWARD], r->backward);
    put_count(cell[COL_OVER], r->scope.flags.overflow, any->over);
    put_count(cell[COL_UNDER], r->scope.flags.underflow, any->under);
    put_count(cell[COL_NAN], nans_of(&r->scope), any->invalid);
    seconds_text(text, sizeof text, r->seconds);
    int pad = columns[COL_TIME].least - width_of(text);
    snprintf(cell[COL_TIME], CELL, "%*s%s%s", pad > 0 ? pad : 0, "", text,
             compare_simulated(&r->scope) ? " sim" : any->simulated ? "    " : "");
    put_bytes(cell[COL_BYTES], (double)r->bytes);
}

/* `.Q` or `[0]`: a field against the same field of the reference. */
static void fill_field(Table *t, Row *row)
{
    const Tuple *value = row->run->value->tuple, *reference = t->compare->reference.value->tuple;
    const Name *name = value->named ? value->names[row->field] : NULL;
    if (name)
        snprintf(row->cell[COL_FORMAT], CELL, "  .%.60s", name->text);
    else
        snprintf(row->cell[COL_FORMAT], CELL, "  [%d]", row->field);
    put_accuracy(row, accuracy_of(t->in, value->items[row->field], reference->items[row->field]));
}

/* How many fields get rows of their own: those of a tuple of two to FIELDS_MAX. */
static int fields_shown(const Compare *c, const CompareRun *r)
{
    if (failed(r) || !r->measured || r->value->tag != V_TUPLE || c->reference.value->tag != V_TUPLE)
        return 0;
    uint32_t n = r->value->tuple->count;
    return n == c->reference.value->tuple->count && n > 1 && n <= FIELDS_MAX ? (int)n : 0;
}

static void fill_rows(Table *t)
{
    const Compare *c = t->compare;
    Marks any = { 0 };
    Row *row = t->rows;
    for (int i = 0; i < c->count; i++) {
        const CompareRun *r = &c->runs[i];
        any.over |= r->scope.flags.overflow > 0;
        any.under |= r->scope.flags.underflow > 0;
        any.invalid |= nans_of(&r->scope) > 0;
        any.simulated |= !failed(r) && compare_simulated(&r->scope);
    }
    for (int i = 0; i < c->count; i++) {
        int fields = fields_shown(c, &c->runs[i]);
        for (int f = -1; f < fields; f++, row++) {
            row->run = &c->runs[i];
            row->field = f;
            if (f < 0)
                fill_entry(row, &any);
            else
                fill_field(t, row);
        }
    }
}

static Value value_of(const Row *row)
{
    Value whole = *row->run->value;
    return row->field < 0 ? whole : whole.tuple->items[row->field];
}

/* An entry whose fields have rows of their own leaves it to them. Is it short? */
static bool fill_value(Table *t, Row *row, int room)
{
    char *cell = row->cell[COL_VALUE];
    if (failed(row->run) || (row->field < 0 && fields_shown(t->compare, row->run) > 0))
        return false;
    put_value(t->in, cell, value_of(row), room);
    return cell[0] && (is_scalar(value_of(row)) || !ends_cut(cell));
}

/* Where some value is short all rows have one: cut, or at least what it is. */
static void fill_values(Table *t, int room)
{
    bool shown = false;
    for (int i = 0; i < t->count; i++)
        shown |= fill_value(t, &t->rows[i], room);
    for (int i = 0; i < t->count; i++) {
        Row *row = &t->rows[i];
        char *cell = row->cell[COL_VALUE];
        if (!shown)
            cell[0] = '\0';
        else if (!cell[0] && !failed(row->run))
            v_describe(value_of(row), cell, CELL);
        cut(cell, room);
    }
}

/* Widths of all columns but the values'; what they take of a line. */
static int fit_columns(Table *t, int label_max)
{
    int used = 0, *width = t->width;
    for (int k = 0; k < COLUMNS; k++) {
        width[k] = 0;
        for (int i = 0; i < t->count && k != COL_VALUE; i++) {
            int w = width_of(t->rows[i].cell[k]);
            bool apart = k == COL_FORMAT && w > label_max;
            width[k] = !apart && w > width[k] ? w : width[k];
        }
        if (width[k] > 0 || k == COL_FORMAT)
            width[k] = width[k] > columns[k].least ? width[k] : columns[k].least;
        used += width[k] > 0 ? width[k] + t->gap : 0;
    }
    return used - t->gap;
}

/* Is there a number to show? Tensors may have to do without. */
static bool wants_value(const Table *t)
{
    for (int i = 0; i < t->count; i++)
        if (!failed(t->rows[i].run) && is_scalar(*t->rows[i].run->value))
            return true;
    return false;
}

/* Values get what the others leave; where that is too little, labels go on lines of their own
 * and the columns move together. */
static void fit(Table *t)
{
    int screen = t->in->show.width > 0 ? t->in->show.width : SHOW_WIDTH, *width = t->width;
    t->gap = 2;
    bool wanted = wants_value(t);
    int least = wanted ? VALUE_MIN + t->gap : 0, used = fit_columns(t, LABEL_MAX);
    if (used + least > screen)
        used = fit_columns(t, LABEL_MIN);
    if (used + least > screen) {
        t->gap = 1;
        used = fit_columns(t, LABEL_MIN);
    }
    static const int spare[] = { COL_BYTES, COL_UNDER, COL_OVER, COL_U, COL_BACKWARD, COL_TIME };
    for (size_t k = 0; k < sizeof spare / sizeof spare[0] && used > screen; k++) {
        used -= width[spare[k]] > 0 ? width[spare[k]] + t->gap : 0;       /* a narrow terminal */
        width[spare[k]] = 0;
    }
    int room = screen - used - t->gap;
    if (!wanted && room < VALUE_MIN)
        return;
    room = room < VALUE_MIN ? VALUE_MIN : room > VALUE_MAX ? VALUE_MAX : room;
    fill_values(t, room);
    for (int i = 0; i < t->count; i++) {
        int w = width_of(t->rows[i].cell[COL_VALUE]);
        width[COL_VALUE] = w > width[COL_VALUE] ? w : width[COL_VALUE];
    }
    if (width[COL_VALUE] > 0 && width[COL_VALUE] < columns[COL_VALUE].least)
        width[COL_VALUE] = columns[COL_VALUE].least;
}

/* gap 0: the last of its line. */
static void put_cell(Buf *out, const char *text, int width, bool left, int gap)
{
    int pad = width - width_of(text);
    if (!left && pad > 0)
        buf_fill(out, ' ', (size_t)pad);
    buf_puts(out, text);
    if (left && pad > 0 && gap)
        buf_fill(out, ' ', (size_t)pad);
    buf_fill(out, ' ', (size_t)gap);
}

/* row NULL: the names of the columns. */
static void put_row(const Table *t, Buf *out, const Row *row)
{
    int last = COLUMNS - 1;
    while (t->width[last] == 0 || (row && last > 0 && !row->cell[last][0]))
        last--;
    for (int k = 0; k <= last; k++) {
        if (t->width[k] == 0)
            continue;
        const char *text = row ? row->cell[k] : columns[k].name;
        if (k == COL_FORMAT && width_of(text) > t->width[k]) {
            buf_printf(out, "%s\n", text);
            text = "";
        }
        put_cell(out, text, t->width[k], columns[k].left, k == last ? 0 : t->gap);
    }
    buf_putc(out, '\n');
}

/* `bf16    3.9e-3  fails: numeric: …`, folded at blanks. */
static void put_failure(const Table *t, Buf *out, const Row *row)
{
    int screen = t->in->show.width > 0 ? t->in->show.width : SHOW_WIDTH;
    int label = t->width[COL_FORMAT], indent = label + t->width[COL_U] + 2 * t->gap,
        at = indent + 6;
    const char *text = row->run->failed->str->text;
    if (width_of(row->cell[COL_FORMAT]) > label)
        buf_printf(out, "%s\n%*s", row->cell[COL_FORMAT], label + t->gap, "");
    else
        put_cell(out, row->cell[COL_FORMAT], label, true, t->gap);
    put_cell(out, row->cell[COL_U], t->width[COL_U], false, t->gap);
    buf_puts(out, "fails:");
    while (*text) {
        size_t n = strcspn(text, " \n");
        if (at + 1 + (int)n > screen && at > indent) {
            buf_printf(out, "\n%*s%.*s", indent, "", (int)n, text);
            at = indent + (int)n;
        } else {
            buf_printf(out, " %.*s", (int)n, text);
            at += 1 + (int)n;
        }
        text += n + (text[n] != '\0');
    }
    buf_putc(out, '\n');
}

/* ---- above and below ---- */
static void put_heading(Interp *in, Buf *out, const Compare *c)
{
    const CompareRun *r = &c->reference;
    char value[CELL];
    if (!r->label || failed(r)) {
        buf_printf(out, "no reference: %s\n", c->why);
        return;
    }
    put_value(in, value, *r->value, 30);
    if (!is_scalar(*r->value) && ends_cut(value))
        value[0] = '\0';
    buf_printf(out, "relative error against %s%s%s%s\n", r->label,
               c->from_first ? ", the first entry that works" : "", value[0] ? ": " : "", value);
    if (c->why[0])
        buf_printf(out, "(%s)\n", c->why);
}

static void put_legend(Buf *out, const Compare *c)
{
    bool simulated = false, partly = false, backward = false;
    for (int i = 0; i < c->count; i++) {
        const CompareRun *r = &c->runs[i];
        simulated |= !failed(r) && compare_simulated(&r->scope);
        partly |= !failed(r) && r->scope.partly;
        backward |= !failed(r) && !isnan(r->backward);
    }
    if (backward)
        buf_puts(out, "backward: |b - A x| / (|A| |x| + |b|) of the system that was solved\n");
    if (simulated)
        buf_puts(out, "sim: simulated arithmetic, not the time of hardware that has the format\n");
    if (partly)
        buf_puts(out,
                 "~: a library ran; of its roundings only overflows and nans in results count\n");
}

static void put_table(Table *t, Buf *out)
{
    fill_rows(t);
    fit(t);
    put_heading(t->in, out, t->compare);
    put_row(t, out, NULL);
    for (int i = 0; i < t->count; i++)
        if (failed(t->rows[i].run))
            put_failure(t, out, &t->rows[i]);
        else
            put_row(t, out, &t->rows[i]);
    put_legend(out, t->compare);
}

/* ---- on a page that has tables ---- */
static void html_put_row(const Table *t, Buf *out, const Row *row)
{
    const char *cells[COLUMNS];
    bool left[COLUMNS];
    char fails[CELL + 16];
    int n = 0;
    for (int k = 0; k < COLUMNS; k++) {
        if (t->width[k] == 0)
            continue;
        left[n] = columns[k].left;
        cells[n++] = row ? row->cell[k] + strspn(row->cell[k], " ") : columns[k].name;
    }
    if (row && failed(row->run)) {
        snprintf(fails, sizeof fails, "fails: %.200s", row->run->failed->str->text);
        n = n < 2 ? n : 2;
        left[n] = true;
        cells[n++] = fails;
    }
    html_row(out, row ? "td" : "th", cells, left, n);
}

static void html_put_table(Table *t, Buf *out)
{
    Buf words;
    ErrFrame frame;
    Ctx *ctx = &t->in->ctx;
    buf_init(&words, ctx);
    if (!ERR_TRY(ctx, &frame)) {
        buf_free(&words);
        err_rethrow(ctx);
    }
    put_heading(t->in, &words, t->compare);
    buf_puts(out, "<p>");
    html_text(out, buf_cstr(&words));
    buf_puts(out, "</p>\n<table>\n");
    html_put_row(t, out, NULL);
    for (int i = 0; i < t->count; i++)
        html_put_row(t, out, &t->rows[i]);
    buf_clear(&words);
    put_legend(&words, t->compare);
    buf_puts(out, "</table>\n<p>");
    html_text(out, buf_cstr(&words));
    buf_puts(out, "</p>\n");
    ERR_END(ctx, &frame);
    buf_free(&words);
}

static void show_forms(Interp *in, Display *d, void *task)
{
    Table *t = task;
    put_table(t, &d->form[DISPLAY_TEXT]);
    show_fold(&d->form[DISPLAY_TEXT], 0, in->show.width);
    html_put_table(t, &d->form[DISPLAY_HTML]);
}

void compare_print(Interp *in, const Compare *c)
{
    ErrFrame frame;
    Buf out, room;
    Table t = { .in = in, .compare = c };
    for (int i = 0; i < c->count; i++)
        t.count += 1 + fields_shown(c, &c->runs[i]);
    buf_init(&out, &in->ctx);
    buf_init(&room, &in->ctx);
    if (ERR_TRY(&in->ctx, &frame)) {
        buf_fill(&room, '\0', (size_t)t.count * sizeof(Row));
        t.rows = (Row *)(void *)room.data;
        if (display_wanted(in)) {
            display_make(in, show_forms, &t);
        } else {
            put_table(&t, &out);
            show_fold(&out, 0, in->show.width);
            out_write(in, out.data, out.len);
        }
        ERR_END(&in->ctx, &frame);
        buf_free(&out);
        buf_free(&room);
        return;
    }
    buf_free(&out);
    buf_free(&room);
    err_rethrow(&in->ctx);
}

/* ---- data ---- */
static Value run_data(Interp *in, const CompareRun *r)
{
    bool good = !failed(r);
    ArithFlags f = r->scope.flags;
    Value label = v_str(str_new(&in->ctx, r->label, strlen(r->label)));
    return tuple_make(in, "format", label, "u", v_float(compare_roundoff(scope_format(&r->scope))),
                      "value", good ? v_retain(*r->value) : v_none(),
                      "error", r->measured ? v_float(r->accuracy.error) : v_none(),
                      "digits", r->measured ? v_float(r->accuracy.digits) : v_none(),
                      "overflows", v_int((int64_t)f.overflow),
                      "underflows", v_int((int64_t)f.underflow),
                      "nans", v_int((int64_t)nans_of(&r->scope)),
                      "time", v_float(r->seconds), "bytes", v_int((int64_t)r->bytes),
                      "failed", good ? v_none() : v_retain(*r->failed),
                      "backward", isnan(r->backward) ? v_none() : v_float(r->backward), NULL);
}

Value compare_data(Interp *in, const Compare *c)
{
    Value *mark = in->sp;
    v_push(in, v_tuple(tuple_new(&in->ctx, 0)));
    for (int i = 0; i < c->count; i++)
        tuple_push(&in->ctx, &mark->tuple, NULL, run_data(in, &c->runs[i]));
    Value data = v_retain(*mark);
    stack_cut(in, mark);
    return data;
}
