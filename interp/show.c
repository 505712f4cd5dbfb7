/* The text of values: what print, repr and the REPL's echo write. Called by builtins and
 * the REPL. Floats are in show_float.c, tensors in show_tensor.c, repr of tensors in
 * show_repr.c. Nothing is allocated here but in the caller's buffer, so an error that
 * unwinds leaves nothing behind. */
#include "interp/show.h"
#include "interp/exec.h"
#include "interp/format.h"
#include "interp/native.h"
#include "interp/place.h"
#include "kernels/number.h"

#include <math.h>
#include <string.h>

typedef enum Style {
    SHOW_PRINT,      /* strings as they are */
    SHOW_INSIDE,     /* inside a tuple: strings quoted */
    SHOW_ECHO,       /* the REPL: strings quoted, long tuples cut */
    SHOW_REPR        /* reads back */
} Style;

enum { DEPTH_MAX = 2000, TALL_DEPTH = 4, TUPLE_ECHO_MAX = 1000, TUPLE_EDGE = 3 };

static void put_value(Interp *in, Buf *out, Value v, Style style, int depth);

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
    default: put_complex(out, element_c128(dt, element), dt); break;
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

static void put_string(Buf *out, const Str *s, Style style)
{
    if (style == SHOW_PRINT)
        buf_put(out, s->text, s->len);
    else
        show_quoted(out, s->text, s->len);
}

/* The most negative int has no literal of its own. */
static void put_int_value(Buf *out, int64_t i, Style style)
{
    if (i == INT64_MIN && style == SHOW_REPR)
        buf_puts(out, "(-9223372036854775807 - 1)");
    else
        put_int(out, i);
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
        return v.tensor->size > 0 && (v.tensor->rank > 2 ||
               (v.tensor->rank == 2 && tensor_shape(v.tensor)[0] > 1));
    if (v.tag != V_TUPLE || levels == 0)
        return false;
    for (uint32_t i = 0; i < v.tuple->count; i++)
        if (is_tall(v.tuple->items[i], levels - 1))
            return true;
    return false;
}

/* Cells from the last newline before `from` to `from`. */
static size_t column_of(const Buf *out, size_t from)
{
    size_t line = from;
    while (line > 0 && out->data[line - 1] != '\n')
        line--;
    return (size_t)text_width(out->data + line, from - line);
}

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

static void put_item(Interp *in, Buf *out, const Tuple *t, uint32_t i, Style style, int depth)
{
    if (t->named && t->names[i]) {
        buf_puts(out, t->names[i]->text);
        buf_putc(out, '=');
    }
    size_t from = out->len;
    put_value(in, out, t->items[i], style, depth + 1);
    if (style != SHOW_REPR && t->items[i].tag == V_TENSOR && is_tall(t->items[i], 0))
        indent_lines(out, from, column_of(out, from));
}

static void put_tuple(Interp *in, Buf *out, const Tuple *t, Style style, int depth)
{
    bool tall = style != SHOW_REPR && is_tall(v_tuple((Tuple *)t), TALL_DEPTH);
    bool cut = style == SHOW_ECHO && t->count > TUPLE_ECHO_MAX;
    Style inside = style == SHOW_PRINT ? SHOW_INSIDE : style;
    size_t column = tall ? column_of(out, out->len) + 1 : 0;
    if (depth > DEPTH_MAX) {
        if (style == SHOW_REPR)
            err_raise(&in->ctx, ERR_VALUE, "the tuple is nested more than %d deep", DEPTH_MAX);
        buf_puts(out, "(…)");
        return;
    }
    buf_putc(out, '(');
    for (uint32_t i = 0; i < t->count; i++) {
        if (i > 0 && tall) {
            buf_puts(out, ",\n");
            buf_fill(out, ' ', column);
        } else if (i > 0) {
            buf_puts(out, ", ");
        }
        if (cut && i == TUPLE_EDGE) {
            buf_puts(out, "…, ");
            i = t->count - TUPLE_EDGE;
        }
        put_item(in, out, t, i, inside, depth);
        poll_interrupt(in);
    }
    buf_puts(out, t->count == 1 ? ",)" : ")");
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

static void put_tensor(Interp *in, Buf *out, const Tensor *t, Style style, int depth)
{
    bool deep = depth > TALL_DEPTH && t->rank > 1;
    if (style == SHOW_REPR || deep)
        show_tensor_repr(in, out, t);
    else
        show_tensor(in, out, t);
}

static void put_value(Interp *in, Buf *out, Value v, Style style, int depth)
{
    switch ((Tag)v.tag) {
    case V_NONE: buf_puts(out, "none"); break;
    case V_BOOL: buf_puts(out, v.i ? "true" : "false"); break;
    case V_INT: put_int_value(out, v.i, style); break;
    case V_FLOAT: show_float(out, v.f, DT_F64); break;
    case V_STRING: put_string(out, v.str, style); break;
    case V_RANGE: put_range(out, v.range); break;
    case V_TUPLE: put_tuple(in, out, v.tuple, style, depth); break;
    case V_TENSOR: put_tensor(in, out, v.tensor, style, depth); break;
    case V_OP: put_op(out, v.op, style); break;
    case V_FUNCTION: put_function(out, v.fn, style); break;
    case V_FORMAT: buf_puts(out, dtype_name(v_format_dtype(v))); break;
    case V_DEVICE: put_device(out, v.device, style); break;
    case V_MODULE: buf_printf(out, "module %s", v.module->name); break;
    case V_POINTER:
    case V_STRUCT:
    case V_CFUNC:
    case V_CTYPE: show_native(in, out, v, style == SHOW_REPR); break;
    default: put_described(out, v); break;
    }
}

void show_value(Interp *in, Buf *out, Value v)
{
    if (place_is_list(v))
        place_put_table(out, v.tuple->items, v.tuple->count);
    else
        put_value(in, out, v, SHOW_PRINT, 0);
}

void show_repr(Interp *in, Buf *out, Value v)
{
    put_value(in, out, v, SHOW_REPR, 0);
}

/* Scalars of a dtype of their own name it after the value: `0.1 (f32)`. */
void show_echo(Interp *in, Buf *out, Value v)
{
    if (v.tag == V_TENSOR && v.tensor->rank > 0 && v.tensor->size > 0) {
        show_tensor_header(out, v.tensor);
        buf_putc(out, '\n');
    }
    if (place_is_list(v))
        place_put_table(out, v.tuple->items, v.tuple->count);
    else
        put_value(in, out, v, SHOW_ECHO, 0);
    if (v.tag == V_TENSOR && v.tensor->rank == 0 && v.tensor->dtype != DT_C128)
        buf_printf(out, " (%s)", dtype_name(v.tensor->dtype));
}

void show_set_digits(Interp *in, int64_t digits)
{
    if (digits < 1 || digits > 17)
        err_raise_help(&in->ctx, ERR_VALUE, "17 digits tell every f64 from its neighbours",
                       "digits is %lld but must be from 1 to 17", (long long)digits);
    in->show.digits = (int)digits;
}
