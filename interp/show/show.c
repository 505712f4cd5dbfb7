/* The text of values: what print, repr and the REPL's echo write. Floats are in show_float.c,
 * tensors in show_tensor.c, repr of tensors in show_repr.c. Nothing is allocated here but in the
 * caller's buffer, so an error that unwinds leaves nothing behind. */
#include "core/base/plain.h"
#include "interp/op/op.h"
#include "interp/show/place_facts.h"
#include "interp/state/exec.h"
#include "interp/show/show.h"
#include "interp/state/format.h"
#include "interp/state/kind.h"
#include "kernels/number/number.h"
#include "kernels/sparse/sparse.h"

#include <math.h>
#include <string.h>

typedef enum Style {
    SHOW_PRINT,      /* strings as they are */
    SHOW_INSIDE,     /* inside a tuple: strings quoted */
    SHOW_ECHO,       /* the REPL: strings quoted, long tuples cut */
    SHOW_REPR        /* reads back */
} Style;

enum { DEPTH_MAX = 2000, TALL_DEPTH = 4, TUPLE_ECHO_MAX = 1000, TUPLE_EDGE = 3 };

/* Where a value is written, and how. */
typedef struct Page {
    Interp *in;
    Buf *out;
    const ShowOptions *show;
    Style style;
    bool fold;       /* long tuples take several lines of show->width cells */
    bool stream;     /* show_tensor */
    size_t stop;     /* where Buf.len says that it became too long for a line; 0: it may be */
} Page;

static void put_value(Page *, Value v, Style style, int depth);

/* ---- scalars and strings ---- */
static void put_int(Buf *out, int64_t i)
{
    char text[24], *p = text + sizeof text;
    uint64_t u = i < 0 ? -(uint64_t)i : (uint64_t)i;
    do
        *--p = (char)('0' + u % 10);
    while (u /= 10);
    if (i < 0)
        *--p = '-';
    buf_put(out, p, (size_t)(text + sizeof text - p));
}

static void put_complex(Buf *out, double _Complex z, DType dt)
{
    double im = __imag__ z;
    show_float(out, __real__ z, dt);
    if (!signbit(im) || isnan(im))
        buf_putc(out, '+');
    show_float(out, im, dt);
    buf_putc(out, 'i');
}

void show_element(Buf *out, DType dt, const void *element)
{
    switch (dtype_info(dt)->kind) {
    case 'b': buf_puts(out, element_i64(dt, element) ? "true" : "false"); break;
    case 'i': put_int(out, element_i64(dt, element)); break;
    case 'f':
        if (show_is_number(dt))
            number_text(out, dt, element);
        else
            show_float(out, element_f64(dt, element), dt);
        break;
    case 'q': rational_text(out, *(const Rational *)element); break;
    default:
        if (dtype_wide_pair(dt))
            show_pair(out, NULL, NULL, dt, element);
        else
            put_complex(out, element_c128(dt, element), dt);
    }
}

/* Braces are doubled because "{" would start an interpolation. */
void show_quoted(Buf *out, const char *text, size_t len)
{
    buf_putc(out, '"');
    for (size_t i = 0; i < len; i++) {
        unsigned char c = (unsigned char)text[i];
        if (c == '"' || c == '\\')
            buf_printf(out, "\\%c", c);
        else if (c == '\n' || c == '\t')
            buf_puts(out, c == '\n' ? "\\n" : "\\t");
        else if (c == '{' || c == '}')
            buf_printf(out, "%c%c", c, c);
        else if (c < 0x20 || c == 0x7f)
            buf_printf(out, "\\u{%x}", c);
        else
            buf_putc(out, (char)c);
    }
    buf_putc(out, '"');
}

/* The echo of a string that is longer than the screen shows its ends. */
static bool put_ends(Buf *out, const ShowOptions *show, Str *s)
{
    enum { BESIDE = 4, LINES = 2 };
    size_t line = (size_t)show->width, from = 0, to = 0;
    if (show->width == 0 || show->height <= BESIDE || show->style == SHOW_FULL ||
        s->len <= line * (size_t)(show->height - BESIDE))
        return false;
    size_t chars = str_chars(s), ends = LINES * line - 2;
    if (chars <= line * (size_t)(show->height - BESIDE))
        return false;
    for (size_t i = 0; i < ends; i++)
        utf8_next(s->text, s->len, &from);
    to = from;
    for (size_t i = ends; i < chars - ends; i++)
        utf8_next(s->text, s->len, &to);
    show_quoted(out, s->text, from);
    buf_printf(out, "\n… %zu more characters …\n", chars - 2 * ends);
    show_quoted(out, s->text + to, s->len - to);
    return true;
}

static void put_string(Buf *out, const ShowOptions *show, Str *s, Style style)
{
    if (style == SHOW_PRINT)
        buf_put(out, s->text, s->len);
    else if (style != SHOW_ECHO || !put_ends(out, show, s))
        show_quoted(out, s->text, s->len);
}

/* The most negative int has no literal of its own. */
static void put_int_value(Buf *out, const ShowOptions *show, int64_t i, Style style)
{
    if (i == INT64_MIN && style == SHOW_REPR)
        buf_puts(out, "(-9223372036854775807 - 1)");
    else
        show_int(out, show, i);
}

static void put_range(Buf *out, const Range *r)
{
    put_int(out, r->start);
    buf_putc(out, ':');
    put_int(out, r->stop);
    if (r->step != 1) {
        buf_putc(out, ':');
        put_int(out, r->step);
    }
}

/* ---- tuples ---- */
/* Does it print on several lines? Looked for a few levels deep; deeper matrices are
 * written as literals. */
static bool is_tall(Value v, int levels)
{
    if (v.tag == V_TENSOR)
        return v.tensor->size > 0 && !tensor_sparse(v.tensor) && (v.tensor->rank > 2 ||
               (v.tensor->rank == 2 && tensor_shape(v.tensor)[0] > 1));
    if (v.tag != V_TUPLE || levels == 0)
        return false;
    for (uint32_t i = 0; i < v.tuple->count; i++)
        if (is_tall(v.tuple->items[i], levels - 1))
            return true;
    return false;
}

/* Cells from the last newline before `from` to `from`; of a line longer than any screen, many. */
static int column_of(const Buf *out, size_t from)
{
    enum { LINE_MAX_BYTES = 1 << 14 };
    size_t line = from;
    while (line > 0 && out->data[line - 1] != '\n') {
        line--;
        if (from - line > LINE_MAX_BYTES)
            return LINE_MAX_BYTES;
    }
    return text_width(out->data + line, from - line);
}

int show_column(const Buf *out) { return column_of(out, out->len); }

/* Moves the lines of the text from `from` on, but its first, `columns` to the right. */
static void indent_lines(Buf *out, size_t from, size_t columns)
{
    size_t lines = 0, end = out->len;
    for (size_t i = from; i < end; i++)
        lines += out->data[i] == '\n';
    if (lines == 0 || columns == 0)
        return;
    buf_fill(out, ' ', lines * columns);
    for (size_t i = end, to = out->len; i-- > from;) {
        if (out->data[i] == '\n') {
            to -= columns;
            memset(out->data + to, ' ', columns);
        }
        out->data[--to] = out->data[i];
    }
}

static void put_item(Page *p, const Tuple *t, uint32_t i, Style style, int depth)
{
    if (t->named && t->names[i]) {
        plain_put(p->out, t->names[i]->text, t->names[i]->len);   /* it may be out of a file */
        buf_putc(p->out, '=');
    }
    size_t from = p->out->len;
    put_value(p, t->items[i], style, depth + 1);
    if (style != SHOW_REPR && t->items[i].tag == V_TENSOR && is_tall(t->items[i], 0))
        indent_lines(p->out, from, (size_t)column_of(p->out, from));
    poll_interrupt(p->in);
}

/* The echo of a long tuple shows its ends. Returns the item to go on with. */
static uint32_t skip_middle(const Page *p, const Tuple *t, uint32_t i)
{
    bool cut = p->style == SHOW_ECHO && p->show->style != SHOW_FULL && t->count > TUPLE_ECHO_MAX;
    if (!cut || i != TUPLE_EDGE)
        return i;
    buf_printf(p->out, "… %u more …, ", t->count - 2 * TUPLE_EDGE);
    return t->count - TUPLE_EDGE;
}

/* A line for each item. */
static void put_items_tall(Page *p, const Tuple *t, Style style, int depth)
{
    int column = column_of(p->out, p->out->len);
    for (uint32_t i = 0; i < t->count; i++) {
        if (i > 0) {
            buf_puts(p->out, ",\n");
            buf_fill(p->out, ' ', (size_t)column);
        }
        i = skip_middle(p, t, i);
        put_item(p, t, i, style, depth);
    }
}

/* All in a row, or as far as p->stop says that it is worth while. */
static void put_items_flat(Page *p, const Tuple *t, Style style, int depth)
{
    for (uint32_t i = 0; i < t->count && !(p->stop && p->out->len > p->stop); i++) {
        buf_puts(p->out, i > 0 ? ", " : "");
        i = skip_middle(p, t, i);
        put_item(p, t, i, style, depth);
    }
}

/* What is left of the line, in cells: with the comma or bracket behind. */
static int room_left(const Page *p)
{
    return p->show->width - column_of(p->out, p->out->len) - 1;
}

/* Writes item i, or (-1) all of them, if one line has room for it. The work is bounded by that
 * line: a deep tuple tries at every level. */
static bool fits_flat(const Page *p, const Tuple *t, int64_t i, Style style, int depth)
{
    enum { BYTES = 4 };
    size_t from = p->out->len;
    int room = room_left(p);
    Page flat = *p;
    flat.fold = false;
    flat.stop = from + BYTES * (size_t)(room > 0 ? room : 0) + 1;
    if (i < 0)
        put_items_flat(&flat, t, style, depth);
    else
        put_item(&flat, t, (uint32_t)i, style, depth);
    const char *text = p->out->data + from;
    size_t n = p->out->len - from;
    if (p->out->len <= flat.stop && text_width(text, n) <= room && !memchr(text, '\n', n))
        return true;
    p->out->len = from;
    return false;
}

/* As many items on each line as fit; what takes several lines starts one. */
static void put_items_filled(Page *p, const Tuple *t, Style style, int depth)
{
    int column = column_of(p->out, p->out->len);
    bool fresh = true;
    for (uint32_t i = 0; i < t->count; i++) {
        buf_puts(p->out, i > 0 && !fresh ? ", " : "");
        i = skip_middle(p, t, i);
        if (fits_flat(p, t, i, style, depth)) {
            fresh = false;
            continue;
        }
        if (!fresh) {
            p->out->len--;                         /* the blank behind the comma */
            buf_putc(p->out, '\n');
            buf_fill(p->out, ' ', (size_t)column);
        }
        size_t from = p->out->len;
        put_item(p, t, i, style, depth);
        fresh = memchr(p->out->data + from, '\n', p->out->len - from) && i + 1 < t->count;
        if (fresh) {
            buf_puts(p->out, ",\n");
            buf_fill(p->out, ' ', (size_t)column);
        }
    }
}

static void put_items(Page *p, const Tuple *t, Style style, int depth)
{
    if (style != SHOW_REPR && is_tall(v_tuple((Tuple *)t), TALL_DEPTH))
        put_items_tall(p, t, style, depth);
    else if (!p->fold || p->show->width == 0)
        put_items_flat(p, t, style, depth);
    else if (!fits_flat(p, t, -1, style, depth))
        put_items_filled(p, t, style, depth);
}

static void put_tuple(Page *p, const Tuple *t, Style style, int depth)
{
    if (depth > DEPTH_MAX) {
        if (style == SHOW_REPR)
            err_raise(&p->in->ctx, ERR_VALUE, "the tuple is nested more than %d deep", DEPTH_MAX);
        buf_puts(p->out, "(…)");
        return;
    }
    buf_putc(p->out, '(');
    put_items(p, t, style == SHOW_PRINT ? SHOW_INSIDE : style, depth);
    buf_puts(p->out, t->count == 1 ? ",)" : ")");
}

/* ---- everything ---- */
static void put_described(Buf *out, Value v)
{
    char text[128];
    buf_puts(out, v_describe(v, text, sizeof text));
}

static void put_device(Buf *out, const Device *d, Style style)
{
    char text[80];
    buf_puts(out, style == SHOW_REPR ? device_expression(d, text, sizeof text) : d->name);
}

static void put_op(Buf *out, const Op *op, Style style)
{
    if (style == SHOW_REPR)
        buf_puts(out, op->name);
    else
        buf_printf(out, "fn %s(%s)", op->name, op->params ? op->params : "");
}

/* A lambda is its text, a function its signature; repr of a function is its name. */
static void put_function(Buf *out, const Function *f, Style style)
{
    if (f->code->node->kind == ND_LAMBDA) {
        print_node(out, f->code->node);
    } else if (style == SHOW_REPR) {
        buf_puts(out, f->code->name ? f->code->name->text : "fn");
    } else {
        buf_puts(out, "fn ");
        print_signature(out, f->code->node);
    }
}

/* On a terminal a tensor gets what is left of its line, where that is worth having. */
static void put_tensor(Page *p, const Tensor *t, Style style, int depth)
{
    enum { NARROW = 20 };
    ShowOptions o = *p->show;
    bool deep = depth > TALL_DEPTH && t->rank > 1 && !tensor_sparse(t);
    if (style == SHOW_REPR || deep) {
        show_tensor_repr(p->in, p->out, t);
        return;
    }
    int room = o.width - column_of(p->out, p->out->len) - (depth > 0);
    if (o.width > NARROW)
        o.width = room > NARROW ? room : NARROW;
    o.inside = depth > 0;
    show_tensor(p->in, p->out, t, &o, p->stream && depth == 0);
}

static void put_value(Page *p, Value v, Style style, int depth)
{
    Buf *out = p->out;
    v = v_plain(v);
    switch ((Tag)v.tag) {
    case V_NONE: buf_puts(out, "none"); break;
    case V_BOOL: buf_puts(out, v.i ? "true" : "false"); break;
    case V_INT: put_int_value(out, p->show, v.i, style); break;
    case V_FLOAT: show_scalar(out, p->show, DT_F64, &v.f); break;
    case V_STRING: put_string(out, p->show, v.str, style); break;
    case V_RANGE: put_range(out, v.range); break;
    case V_TUPLE: put_tuple(p, v.tuple, style, depth); break;
    case V_TENSOR: put_tensor(p, v.tensor, style, depth); break;
    case V_OP: put_op(out, v.op, style); break;
    case V_FUNCTION: put_function(out, v.fn, style); break;
    case V_FORMAT: buf_puts(out, dtype_name(v_format_dtype(v))); break;
    case V_DEVICE: put_device(out, v.device, style); break;
    case V_MODULE: buf_printf(out, "module %s", v.module->name); break;
    case V_POINTER:
    case V_STRUCT:
    case V_CFUNC:
    case V_CTYPE:
    case V_TRANSFORM:
    case V_STREAM:
    case V_FACTORS: v_kind(v)->show(p->in, out, v, style == SHOW_REPR); break;
    default: put_described(out, v); break;
    }
}

/* ---- entry points ---- */
static ShowOptions plain_options(const Interp *in)
{
    ShowOptions o = in->show;
    o.style = SHOW_PLAIN;
    o.dots = false;
    return o;
}

static void put_devices(Page *p, const Tuple *t)
{
    size_t from = p->out->len;
    place_put_table(p->out, t->items, t->count);
    show_fold(p->out, from, p->fold ? p->show->width : 0);
}

static void put_page(Page *p, Value v)
{
    if (place_is_list(v))
        put_devices(p, v.tuple);
    else if (p->show->style == SHOW_LATEX)
        show_latex(p->in, p->out, v, p->show);
    else
        put_value(p, v, p->style, 0);
}

void show_value(Interp *in, Buf *out, Value v)
{
    ShowOptions plain = plain_options(in);
    put_page(&(Page){ .in = in, .out = out, .show = &plain, .style = SHOW_PRINT }, v);
}

/* Of what is interrupted nothing more is seen, but for what a stream has written. */
static void put_whole(Page *p, Value v)
{
    ErrFrame frame;
    size_t from = p->out->len;
    if (v.tag != V_TENSOR && v.tag != V_TUPLE) {
        put_page(p, v);
    } else if (ERR_TRY(&p->in->ctx, &frame)) {
        put_page(p, v);
        ERR_END(&p->in->ctx, &frame);
    } else {
        if (!p->stream)
            p->out->len = from;
        else if (p->show->width > 0)               /* its terminal has all lines but the last few */
            p->out->len = 0;
        err_rethrow(&p->in->ctx);
    }
}

void show_print(Interp *in, Buf *out, Value v, bool stream)
{
    put_whole(&(Page){ .in = in, .out = out, .show = &in->show, .style = SHOW_PRINT, .fold = true,
                       .stream = stream }, v);
}

void show_repr(Interp *in, Buf *out, Value v)
{
    ShowOptions plain = plain_options(in);
    put_value(&(Page){ .in = in, .out = out, .show = &plain, .style = SHOW_REPR }, v, SHOW_REPR, 0);
}

/* Scalars of a dtype of their own name it after the value: `0.1 (f32)`. */
void show_echo(Interp *in, Buf *out, Value v)
{
    bool latex = in->show.style == SHOW_LATEX;
    if (v.tag == V_TENSOR && v.tensor->rank > 0 && v.tensor->size > 0 &&
        !tensor_sparse(v.tensor)) {
        buf_puts(out, latex ? "% " : "");          /* a comment there */
        show_tensor_header(out, v.tensor);
        buf_putc(out, '\n');
    }
    put_whole(&(Page){ .in = in, .out = out, .show = &in->show, .style = SHOW_ECHO, .fold = true,
                       .stream = out == &in->out }, v);
    if (v.tag == V_TENSOR && v.tensor->rank == 0 && v.tensor->dtype != DT_C128 && !latex)
        buf_printf(out, " (%s)", dtype_name(v.tensor->dtype));
}

/* ---- settings ---- */
const char *const show_style_names = "\"plain\", \"latex\", \"fraction\", \"full\" and \"hex\"";

bool show_set_style(Interp *in, const char *name)
{
    static const char *const names[] = {
        [SHOW_PLAIN] = "plain", [SHOW_LATEX] = "latex", [SHOW_FRACTION] = "fraction",
        [SHOW_FULL] = "full", [SHOW_HEX] = "hex"
    };
    for (size_t k = 0; k < sizeof names / sizeof names[0]; k++)
        if (strcmp(names[k], name) == 0) {
            in->show.style = (ShowStyle)k;
            in->show.text_only = k == SHOW_PLAIN;
            return true;
        }
    return false;
}

void show_check_digits(Interp *in, int64_t digits)
{
    if (digits < 1 || digits > 17)
        err_raise_help(&in->ctx, ERR_VALUE, "17 digits tell every f64 from its neighbours",
                       "digits is %lld but must be from 1 to 17", (long long)digits);
}
