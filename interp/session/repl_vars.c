/* `:vars`: the session's variables with dtype, shape, device and bytes, and below them its
 * functions and modules. Tensors are described, never read: one that is on a device stays there. */
#include "interp/session/repl_commands.h"

#include "core/system/ascii.h"
#include "core/system/c_locale.h"
#include "core/base/mem.h"
#include "core/base/source.h"
#include "interp/output/cells.h"
#include "interp/state/exec.h"
#include "interp/native/native.h"
#include "interp/output/output.h"
#include "interp/show/show.h"
#include "kernels/rational/rational.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CELL = 64, VALUE_ITEMS = 8, DEPTH = 200, ITEMS = 1 << 16, VALUE_DEPTH = 3 };

/* A row of the table. */
typedef struct Row {
    const Name *name;
    Value v;                      /* borrowed */
    char dtype[CELL], shape[CELL], device[CELL];
    double bytes;
} Row;

typedef struct Table {
    Row *rows;
    size_t count;
    int name, dtype, shape, device, bytes;    /* widths */
} Table;

/* ---- facts ---- */
/* Tuples may hold each other many times over: so many items are looked at, no more. */
static double bytes_of(Value v, int depth, int *items)
{
    double sum = 0;
    switch ((Tag)v.tag) {
    case V_TENSOR:
        return (double)v.tensor->size * dtype_info((DType)v.tensor->dtype)->bytes;
    case V_STRING:
        return (double)v.str->len;
    case V_TUPLE:
        for (uint32_t i = 0; i < v.tuple->count && depth < DEPTH && --*items > 0; i++)
            sum += bytes_of(v.tuple->items[i], depth + 1, items);
        return sum;
    case V_RANGE:
        return (double)sizeof(Range);
    case V_BOOL:
        return 1;
    case V_INT: case V_FLOAT:
        return 8;
    default:
        return 0;
    }
}

static void put_shape(char out[CELL], Value v)
{
    size_t n = 0;
    out[0] = '\0';
    if (v.tag == V_STRING)
        snprintf(out, CELL, "%zu", str_chars(v.str));
    else if (v.tag == V_RANGE)
        snprintf(out, CELL, "%lld", (long long)v.range->count);
    else if (v.tag == V_TUPLE)
        snprintf(out, CELL, "%u", v.tuple->count);
    if (v.tag != V_TENSOR)
        return;
    for (int i = 0; i < v.tensor->rank && n < CELL - 24; i++)
        n += (size_t)snprintf(out + n, CELL - n, "%s%lld", i ? "×" : "",
                              (long long)v.tensor->dims[i]);
}

static void put_dtype(char out[CELL], Value v)
{
    if (v_is_numeric(v))
        snprintf(out, CELL, "%s", dtype_name(v_dtype(v)));
    else if (v.tag >= V_POINTER)
        v_describe(v, out, CELL);
    else
        snprintf(out, CELL, "%s", v_type_name(v));
}

static void describe(Interp *in, Row *row)
{
    const Device *d = row->v.tag == V_TENSOR ? tensor_device(&in->ctx, row->v.tensor) : NULL;
    put_dtype(row->dtype, row->v);
    put_shape(row->shape, row->v);
    snprintf(row->device, CELL, "%s", d ? d->name : "");
    int items = ITEMS;
    row->bytes = bytes_of(row->v, 0, &items);
}

/* ---- a value in short ---- */
static void put_value(Interp *in, Buf *out, Value v, int depth);

static void put_tuple(Interp *in, Buf *out, const Tuple *t, int depth)
{
    buf_putc(out, '(');
    for (uint32_t i = 0; i < t->count && i < VALUE_ITEMS; i++) {
        const Name *field = t->named ? t->names[i] : NULL;
        buf_printf(out, "%s%s%s", i ? ", " : "", field ? field->text : "", field ? "=" : "");
        put_value(in, out, t->items[i], depth + 1);
    }
    buf_puts(out, t->count > VALUE_ITEMS ? ", …)" : t->count == 1 && !t->named ? ",)" : ")");
}

/* A number that is on this machine and does not have thousands of digits. */
static bool is_short(const Tensor *t)
{
    DType dt = (DType)t->dtype;
    if (t->rank > 0 || tensor_residence(t))
        return false;
    if (dtype_base(dt) == DT_RATIONAL)
        return !rational_is_big(*(const Rational *)(const void *)t->data);
    return !dtype_cells(dt) || dtype_digits(dt) <= 512;
}

/* Nothing for a tensor with a shape: the other columns say it, but not of an item of a tuple. */
static void put_value(Interp *in, Buf *out, Value v, int depth)
{
    char text[CELL];
    if (v.tag == V_TUPLE && depth > VALUE_DEPTH)
        buf_puts(out, "(…)");
    else if (v.tag == V_TUPLE)
        put_tuple(in, out, v.tuple, depth);
    else if (v.tag == V_STRING)
        show_quoted(out, v.str->text, v.str->len < 4 * CELL ? v.str->len : 4 * CELL);
    else if (v.tag < V_STRING || v.tag == V_RANGE || (v.tag == V_TENSOR && is_short(v.tensor)))
        show_repr(in, out, v);
    else if (depth > 0)
        buf_puts(out, v_describe(v, text, sizeof text));
    if (depth == 0 && value_is_pinned(v))
        buf_puts(out, "pinned");
}

/* ---- the table ---- */
static uint32_t next_letter(const char **text)
{
    size_t at = 0;
    uint32_t c = utf8_next(*text, strlen(*text), &at);
    *text += at;
    return c;
}

/* Whether the letter is one of `[a-z]` or none of `[!a-z]`; *pattern, behind the bracket, moves
 * behind the other one. A bracket without an end fits nothing. */
static bool in_set(const char **pattern, uint32_t letter)
{
    const char *p = *pattern;
    bool without = *p == '!' || *p == '^', found = false;
    p += without;
    for (bool first = true; *p && (first || *p != ']'); first = false) {
        uint32_t low = next_letter(&p), high = low;
        if (p[0] == '-' && p[1] && p[1] != ']') {
            p++;
            high = next_letter(&p);
        }
        found |= letter >= low && letter <= high;
    }
    *pattern = *p ? p + 1 : p;
    return *p && found != without;
}

/* As the shell's patterns, by letters of UTF-8: fnmatch would ask the locale what a letter is. */
static bool fits(const char *pattern, const char *name)
{
    const char *star = NULL, *again = NULL;
    while (*name) {
        const char *p = pattern, *rest = name;
        bool good = false;
        if (*pattern == '*') {
            star = ++pattern;
            again = name;
            continue;
        }
        if (*p) {
            uint32_t letter = next_letter(&rest), wanted = next_letter(&p);
            good = wanted == '?' || (wanted == '[' ? in_set(&p, letter) : wanted == letter);
        }
        if (!good && !star)
            return false;
        if (!good)
            next_letter(&again);
        pattern = good ? p : star;
        name = good ? rest : again;
    }
    return pattern[strspn(pattern, "*")] == '\0';
}

static bool matches(const char *name, const char *pattern)
{
    return !*pattern || (strpbrk(pattern, "*?[") ? fits(pattern, name)
                                                 : ascii_casestr(name, pattern) != NULL);
}

static bool is_variable(Value v)
{
    return v.tag != V_UNDEF && v.tag != V_FUNCTION && v.tag != V_MODULE && v.tag != V_CFUNC &&
           v.tag != V_CTYPE;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const Row *)a)->name->text, ((const Row *)b)->name->text);
}

static void widen(int *width, const char *text)
{
    int w = text_width(text, strlen(text));
    *width = w > *width ? w : *width;
}

static void collect(Repl *r, Table *t, const char *pattern)
{
    const Module *m = r->in->main;
    for (uint32_t i = 0; i < m->globals.count; i++) {
        const Name *name = m->slots[i].tag != V_UNDEF ? m->globals.names[i] : NULL;
        if (name && matches(name->text, pattern))
            t->rows[t->count++] = (Row){ .name = name, .v = m->slots[i] };
    }
    qsort(t->rows, t->count, sizeof *t->rows, by_name);
}

static void measure(Interp *in, Table *t)
{
    char bytes[32];
    for (size_t i = 0; i < t->count; i++) {
        Row *row = &t->rows[i];
        if (!is_variable(row->v))
            continue;
        describe(in, row);
        c_snprintf(bytes, sizeof bytes, "%.0f", row->bytes);
        widen(&t->name, row->name->text);
        widen(&t->dtype, row->dtype);
        widen(&t->shape, row->shape);
        widen(&t->device, row->device);
        widen(&t->bytes, bytes);
    }
}

static void put_column(Buf *out, const char *text, int width, char pad)
{
    if (width > 0) {
        cells_put(out, text, strlen(text), width, pad);
        buf_puts(out, "  ");
    }
}

/* What is left of a line after the columns is the value's. */
static void put_row(Interp *in, Buf *out, const Table *t, const Row *row, int width)
{
    char bytes[32];
    c_snprintf(bytes, sizeof bytes, "%.0f", row->bytes);
    size_t from = out->len;
    put_column(out, row->name->text, t->name, 'l');
    put_column(out, row->dtype, t->dtype, 'l');
    put_column(out, row->shape, t->shape, 'l');
    put_column(out, row->device, t->device, 'l');
    put_column(out, bytes, t->bytes, 'r');
    int left = width - text_width(out->data + from, out->len - from);
    buf_clear(&in->scratch);
    put_value(in, &in->scratch, row->v, 0);
    if (left > 3)
        cells_put(out, buf_cstr(&in->scratch), in->scratch.len, left, 0);
    while (out->len > from && out->data[out->len - 1] == ' ')
        out->data[--out->len] = '\0';
    buf_putc(out, '\n');
}

static const char *const heads[] = { "name", "dtype", "shape", "device", "bytes" };

static void put_heading(Buf *out, const Table *t)
{
    const int widths[] = { t->name, t->dtype, t->shape, t->device, t->bytes };
    for (int i = 0; i < 5; i++)
        put_column(out, heads[i], widths[i], i == 4 ? 'r' : 'l');
    while (out->len > 0 && out->data[out->len - 1] == ' ')
        out->data[--out->len] = '\0';
    buf_putc(out, '\n');
}

/* Names and the like give way where the terminal is narrow. */
static void fit(Table *t, int width)
{
    int *const widths[] = { &t->name, &t->dtype, &t->shape, &t->device, &t->bytes };
    for (int i = 0; i < 5; i++)
        if (*widths[i] > 0 && *widths[i] < (int)strlen(heads[i]))
            *widths[i] = (int)strlen(heads[i]);
    int total = t->name + t->dtype + t->shape + t->device + t->bytes + 8;
    while (total > width) {
        int widest = 0;
        for (int i = 1; i < 4; i++)
            widest = *widths[i] > *widths[widest] ? i : widest;
        if (*widths[widest] <= 4)
            return;
        --*widths[widest];
        total--;
    }
}

static size_t put_variables(Interp *in, Buf *out, Table *t, int width)
{
    size_t count = 0;
    double sum = 0;
    measure(in, t);
    for (size_t i = 0; i < t->count; i++)
        if (is_variable(t->rows[i].v)) {
            sum += t->rows[i].bytes;
            count++;
        }
    if (count == 0)
        return 0;
    fit(t, width);
    put_heading(out, t);
    for (size_t i = 0; i < t->count; i++)
        if (is_variable(t->rows[i].v))
            put_row(in, out, t, &t->rows[i], width);
    buf_printf(out, "%zu variable%s, %.0f byte%s\n", count, count == 1 ? "" : "s", sum,
               sum == 1 ? "" : "s");
    return count;
}

/* ---- functions and modules ---- */
static void put_callable(Interp *in, Buf *out, const Row *row, int width)
{
    const Node *node = row->v.tag == V_FUNCTION ? row->v.fn->code->node : NULL;
    const char *own = node && node->kind == ND_FN ? node->name->text
                    : row->v.tag == V_CFUNC ? ((const CFunction *)row->v.ptr)->name
                                            : row->name->text;
    Buf *line = &in->scratch;
    buf_clear(line);
    if (strcmp(own, row->name->text) != 0)
        buf_printf(line, "%s = ", row->name->text);        /* another name of it */
    if (node && node->kind == ND_FN) {
        print_signature(line, node);
        if (node->text)
            buf_printf(line, "  # %.*s", (int)strcspn(node->text, "\n"), node->text);
    } else if (node) {
        buf_printf(line, "%s = ", row->name->text);
        print_node(line, node);
    } else {
        bool stdlib = row->v.tag == V_MODULE && strncmp(row->v.module->name, "<stdlib:", 8) == 0;
        if (row->v.tag == V_MODULE)
            buf_printf(line, "%s  %s", row->name->text,
                       stdlib ? "standard library" : row->v.module->name);
        else
            show_value(in, line, row->v);
    }
    buf_puts(out, "  ");
    cells_put(out, buf_cstr(line), line->len, width - 2, 0);
    buf_putc(out, '\n');
}

static size_t put_group(Interp *in, Buf *out, const Table *t, int width, bool modules)
{
    size_t count = 0;
    for (size_t i = 0; i < t->count; i++)
        if (!is_variable(t->rows[i].v) && (t->rows[i].v.tag == V_MODULE) == modules) {
            if (count++ == 0)
                buf_printf(out, "%s%s\n", out->len ? "\n" : "", modules ? "modules" : "functions");
            put_callable(in, out, &t->rows[i], width);
        }
    return count;
}

void repl_vars(Repl *r, const char *pattern, bool force)
{
    Interp *in = r->in;
    Table t = { 0 };
    (void)force;
    output_measure_terminal(in);
    int width = in->show.width > 0 ? in->show.width : SHOW_WIDTH;
    buf_clear(&r->rows);
    buf_reserve(&r->rows, (in->main->globals.count + 1) * sizeof *t.rows);
    t.rows = (Row *)(void *)r->rows.data;
    buf_clear(&r->page);
    collect(r, &t, pattern);
    size_t count = put_variables(in, &r->page, &t, width);
    count += put_group(in, &r->page, &t, width, false);
    count += put_group(in, &r->page, &t, width, true);
    if (count == 0)
        buf_puts(&r->page, *pattern ? "no variable has such a name\n" : "no variables yet\n");
    repl_page(r->in, &r->page);
}
