/* Values in LaTeX, for format("latex"): what print and the echo write then, for the mathematics of
 * amsmath. Formulas of programs (`explain as latex`) are latex.c's.
 *
 * A vector is a column, as on paper, and a covector a row. A tensor of rank 3 and more is a list
 * of equations, one for each slice. The amsmath matrix has ten columns at most, a wider one is an
 * array. Nothing here starts a row with a bare `[`, which LaTeX would take for the argument of the
 * line break before it. */
#include "interp/show/show_layout.h"

#include "kernels/device/device.h"
#include "kernels/number/number.h"

#include <ctype.h>
#include <string.h>

enum { AMS_COLUMNS = 10, CORNERS_ABOVE = 1000, EDGE = 3, DEPTH_MAX = 2000 };

/* ---- texts ---- */
void latex_text(Buf *out, const char *text, size_t len)
{
    buf_puts(out, "\\text{");
    for (size_t i = 0; i < len; i++) {
        char c = text[i];
        const char *word = c == '\\' ? "backslash" : c == '^' ? "asciicircum" : c == '~'
                           ? "asciitilde" :
                           c == '<' ? "less" : c == '>' ? "greater" : c == '|' ? "bar" : NULL;
        if (word)
            buf_printf(out, "\\text%s{}", word);
        else if (strchr("{}_%&#$", c) && c)
            buf_printf(out, "\\%c", c);
        else
            buf_putc(out, c == '\n' ? ' ' : c);
    }
    buf_puts(out, "}");
}

/* ---- numbers ---- */
/* Text of a real number as plain printing has it: 1.5e-7, 1/3, ≈1/3, inf, 0x1.8p+1. */
static void put_real(Buf *out, const char *s, size_t n)
{
    const char *end = s + n, *e = memchr(s, 'e', n), *bar = memchr(s, '/', n);
    const char *digits = s + (*s == '-' || *s == '+');
    if (digits != s)
        buf_putc(out, *s);
    if (end - digits == 3 && strncmp(digits, "inf", 3) == 0) {
        buf_puts(out, "\\infty");
    } else if (end - digits == 3 && strncmp(digits, "nan", 3) == 0) {
        buf_puts(out, "\\mathrm{nan}");
    } else if (bar) {
        buf_printf(out, "\\frac{%.*s}{%.*s}", (int)(bar - digits), digits, (int)(end - bar - 1),
                   bar + 1);
    } else if (e) {
        bool one = e - digits == 1 && *digits == '1';
        if (!one)
            buf_printf(out, "%.*s \\cdot ", (int)(e - digits), digits);
        buf_printf(out, "10^{%.*s}", (int)(end - e - 1), e + 1);
    } else {
        buf_put(out, digits, (size_t)(end - digits));
    }
}

/* A real number, or the bounds of one. */
static void put_bounds(Buf *out, const char *s, size_t n)
{
    const char *comma = memchr(s, ',', n);
    if (!comma) {
        put_real(out, s, n);
        return;
    }
    if (*s == '+')
        buf_putc(out, *s++), n--;
    buf_puts(out, "\\left[");
    put_real(out, s + 1, (size_t)(comma - s) - 1);
    buf_puts(out, ", ");
    put_real(out, comma + 2, n - (size_t)(comma - s) - 3);
    buf_puts(out, "\\right]");
}

/* +0.5i, -2i/3 */
static void put_imaginary(Buf *out, const char *s, size_t n)
{
    const char *unit = memchr(s, 'i', n);
    char text[64];
    if (unit && unit + 1 < s + n && unit[1] == '/' && n < sizeof text) {
        size_t at = (size_t)(unit - s);
        memcpy(text, s, at);
        memcpy(text + at, unit + 1, n - at - 1);
        put_real(out, text, n - 1);
    } else {
        put_bounds(out, s, n - 1);
    }
    buf_puts(out, " \\mathrm{i}");
}

/* The plain text of an element, from `from` on in the buffer, in LaTeX. */
static void put_number(Buf *out, DType dt, const char *s, size_t n)
{
    char kind = dtype_info(dt)->kind;
    if (kind == 'b') {
        buf_printf(out, "\\mathrm{%.*s}", (int)n, s);
    } else if (kind == 'c') {
        size_t at = show_sign_between(s, n);
        put_bounds(out, s, at);
        put_imaginary(out, s + at, n - at);
    } else {
        put_bounds(out, s, n);
    }
}

/* Where `cut` is NULL a scalar: all its digits. */
static void put_element(Interp *in, Buf *out, const ShowOptions *o, const CutColumn *cut, DType dt,
                        const void *element)
{
    Buf *text = &in->scratch;
    size_t from = text->len;
    show_cell(text, o, cut, dt, element);
    put_number(out, dt, text->data + from, text->len - from);
    text->len = from;
}

/* ---- tensors ---- */
typedef struct Page {
    Interp *in;
    Buf *out;
    ShowOptions show;
    const Tensor *t;
    int64_t rows, columns, row_stride, column_stride;
    const char *base;
    bool corners;
    const Csr *sparse;                             /* its entries; NULL: it is dense */
    Zeros zeros;
    CutColumn cut[CORNERS_ABOVE];                  /* of the columns that are written */
} Page;

/* NULL: it is not stored. */
static const char *element_at(const Page *p, int64_t i, int64_t j)
{
    if (p->sparse)
        return sparse_at(p->sparse, i, j);
    return layout_at(p->t, p->base, i * p->row_stride + j * p->column_stride, 1);
}

/* The one behind i, but for the middle of a long axis. */
static int64_t next_of(const Page *p, int64_t i, int64_t n)
{
    return p->corners && n > 2 * EDGE + 1 && i == EDGE - 1 ? n - EDGE : i + 1;
}

static void look(Page *p)
{
    for (int64_t j = 0, k = 0; j < p->columns; j = next_of(p, j, p->columns), k++) {
        p->cut[k] = CUT_COLUMN_EMPTY;
        for (int pass = 0; pass < 2; pass++, cut_settled(&p->cut[k], &p->show))
            for (int64_t i = 0; i < p->rows; i = next_of(p, i, p->rows), poll_interrupt(p->in)) {
                const void *element = element_at(p, i, j);
                if (element)
                    cut_look(&p->cut[k], p->out, &p->show, (DType)p->t->dtype, element, pass == 1);
            }
        poll_interrupt(p->in);
    }
}

/* A line of the source is no longer than the screen. */
static void fold(const Page *p, size_t *line)
{
    enum { CELL = 24 };
    int width = p->show.width > 0 ? p->show.width : SHOW_WIDTH;
    if (text_width(p->out->data + *line, p->out->len - *line) < width - CELL)
        return;
    buf_puts(p->out, "\n ");
    *line = p->out->len;
}

/* Row i, or (-1) the one that stands for those left out. */
static void put_row(const Page *p, int64_t i)
{
    size_t line = p->out->len;
    for (int64_t j = 0, k = 0, next; j < p->columns; j = next, k++) {
        DType dt = (DType)p->t->dtype;
        const void *element = element_at(p, i < 0 ? 0 : i, j);
        next = next_of(p, j, p->columns);
        if (i < 0)
            buf_puts(p->out, "\\vdots");
        else if (!element || (zeros_structural(&p->zeros, i, j) && show_is_zero(dt, element)))
            buf_puts(p->out, "\\cdot");
        else
            put_element(p->in, p->out, &p->show, &p->cut[k], dt, element);
        if (next > j + 1)
            buf_puts(p->out, i < 0 ? " & \\ddots" : " & \\cdots");
        if (next < p->columns) {
            buf_puts(p->out, " & ");
            fold(p, &line);
        }
        poll_interrupt(p->in);
    }
}

static void put_matrix(Page *p)
{
    int64_t columns = p->corners && p->columns > 2 * EDGE + 1 ? 2 * EDGE + 1 : p->columns;
    bool wide = columns > AMS_COLUMNS;
    look(p);
    if (p->show.dots && p->t->rank > 1 && !p->sparse)
        p->zeros = zeros_find(p->in, p->t, p->base);
    if (wide)
        buf_printf(p->out, "\\left[\\begin{array}{*{%lld}{c}}\n", (long long)columns);
    else
        buf_puts(p->out, "\\begin{bmatrix}\n");
    for (int64_t i = 0, next; i < p->rows; i = next) {
        next = next_of(p, i, p->rows);
        put_row(p, i);
        if (next > i + 1) {
            buf_puts(p->out, " \\\\\n");
            put_row(p, -1);
        }
        buf_puts(p->out, next < p->rows ? " \\\\\n" : "\n");
    }
    buf_puts(p->out, wide ? "\\end{array}\\right]" : "\\end{bmatrix}");
}

/* `{[0, 2, :, :]} &= ` of slice number k; the slice becomes p's matrix. */
static void put_label(Page *p, int64_t k)
{
    int64_t index[TENSOR_RANK_MAX];
    p->base = layout_slice(p->t, k, index);
    buf_puts(p->out, "{[");
    for (int a = 0; a < p->t->rank - 2; a++)
        buf_printf(p->out, "%lld, ", (long long)index[a]);
    buf_puts(p->out, ":, :]} &= ");
}

static void put_slices(Page *p)
{
    int64_t slices = p->t->size / (p->rows * p->columns);
    buf_puts(p->out, "\\begin{aligned}\n");
    for (int64_t k = 0, next; k < slices; k = next) {
        next = next_of(p, k, slices);
        put_label(p, k);
        put_matrix(p);
        if (next > k + 1)
            buf_puts(p->out, " \\\\\n&\\;\\;\\vdots");
        buf_puts(p->out, next < slices ? " \\\\\n" : "\n");
    }
    buf_puts(p->out, "\\end{aligned}");
}

static void put_empty(Buf *out, const Tensor *t)
{
    buf_puts(out, "\\left[\\,\\right]_{");
    for (int a = 0; a < t->rank; a++)
        buf_printf(out, "%s%lld", a ? " \\times " : "", (long long)tensor_shape(t)[a]);
    buf_puts(out, "}");
}

/* What is large is named only. */
static void put_sparse(Interp *in, Buf *out, const Tensor *t, const ShowOptions *o)
{
    const Csr a = sparse_csr(tensor_sparse(t));
    Page p = { .in = in, .out = out, .show = *o, .t = t, .rows = a.m, .columns = a.n,
               .sparse = &a };
    if (sparse_is_small(t)) {
        put_matrix(&p);
        return;
    }
    size_t from = in->scratch.len;
    show_sparse_header(&in->scratch, t);
    latex_text(out, in->scratch.data + from, in->scratch.len - from);
    in->scratch.len = from;
}

static void put_tensor(Interp *in, Buf *out, const Tensor *t, const ShowOptions *o)
{
    if (tensor_sparse(t)) {
        put_sparse(in, out, t, o);
        return;
    }
    Page p = { .in = in, .out = out, .show = *o, .t = t, .base = t->data,
               .corners = t->size > CORNERS_ABOVE };
    int r = t->rank;
    tensor_home(&in->ctx, t);
    if (t->size == 0) {
        put_empty(out, t);
    } else if (r == 0) {
        put_element(in, out, o, NULL, (DType)t->dtype, t->data);
    } else {
        p.base = t->data;
        p.columns = r > 1 ? tensor_shape(t)[r - 1] : 1;
        p.column_stride = r > 1 ? tensor_strides(t)[r - 1] : 0;
        p.rows = tensor_shape(t)[r > 1 ? r - 2 : 0];
        p.row_stride = tensor_strides(t)[r > 1 ? r - 2 : 0];
        if (r > 2)
            put_slices(&p);
        else
            put_matrix(&p);
    }
}

/* ---- values ---- */
static void put_value(Interp *in, Buf *out, Value v, const ShowOptions *o, int depth);

static void put_tuple(Interp *in, Buf *out, const Tuple *t, const ShowOptions *o, int depth)
{
    if (depth > DEPTH_MAX) {
        buf_puts(out, "\\dots");
        return;
    }
    buf_puts(out, "\\left(");
    for (uint32_t i = 0; i < t->count; i++) {
        bool tall = i > 0 && t->items[i - 1].tag == V_TENSOR && t->items[i - 1].tensor->rank > 0;
        buf_puts(out, tall ? ",\n" : i ? ", " : "");
        if (t->named && t->names[i]) {
            latex_text(out, t->names[i]->text, t->names[i]->len);
            buf_puts(out, " = ");
        }
        put_value(in, out, t->items[i], o, depth + 1);
        poll_interrupt(in);
    }
    buf_puts(out, "\\right)");
}

/* 0, 1, \dots, 9: as many as tell what it holds. */
static void put_range(Buf *out, const Range *r)
{
    int64_t step = r->step;
    if (r->count < 1) {
        buf_puts(out, "\\emptyset");
        return;
    }
    buf_printf(out, "\\left\\{%lld", (long long)r->start);
    if (r->count > 1)
        buf_printf(out, ", %lld", (long long)(r->start + step));
    if (r->count > 2)
        buf_printf(out, "%s, %lld", r->count > 3 ? ", \\dots" : "",
                   (long long)(r->start + (r->count - 1) * step));
    buf_puts(out, "\\right\\}");
}

static void put_plain(Interp *in, Buf *out, Value v)
{
    size_t from = in->scratch.len;
    show_value(in, &in->scratch, v);
    latex_text(out, in->scratch.data + from, in->scratch.len - from);
    in->scratch.len = from;
}

static void put_value(Interp *in, Buf *out, Value v, const ShowOptions *o, int depth)
{
    switch ((Tag)v.tag) {
    case V_NONE: buf_puts(out, "\\mathrm{none}"); break;
    case V_BOOL: buf_printf(out, "\\mathrm{%s}", v.i ? "true" : "false"); break;
    case V_INT: buf_printf(out, "%lld", (long long)v.i); break;
    case V_FLOAT: put_element(in, out, o, NULL, DT_F64, &v.f); break;
    case V_RANGE: put_range(out, v.range); break;
    case V_TUPLE: put_tuple(in, out, v.tuple, o, depth); break;
    case V_TENSOR: put_tensor(in, out, v.tensor, o); break;
    case V_STRING: latex_text(out, v.str->text, v.str->len); break;
    default: put_plain(in, out, v);
    }
}

void show_latex(Interp *in, Buf *out, Value v, const ShowOptions *o)
{
    put_value(in, out, v, o, 0);
}
