/* How tensors print: vectors on one line, matrices in tall brackets with columns aligned
 * on the point, higher ranks as labelled matrices. Called by show.c and format.c.
 *
 * A float inside a tensor prints as Julia's compact form does: each element for itself,
 * the shortest decimal that reads back, or its first `digits` significant digits (5 at
 * first) if that is longer. A tiny residual beside a one stays visible, and an exact 0.5
 * is told from a rounded one. Integer parts print in full: a whole number below 1e10 has
 * all its digits and another number below 10^(digits+3) at least one decimal place;
 * smaller than 1e-4 or larger, it takes an exponent. Columns are padded with spaces, not
 * with digits that were not computed.
 *
 * More than ELEMENTS_MAX elements print as corners of EDGE rows and columns. A row that
 * is wider than the terminal (80 cells if there is none) loses its middle: rows never
 * wrap. Cells are written twice, once to measure and once to show, so that no scratch
 * memory can be lost when an error unwinds. */
#include "interp/show.h"
#include "kernels/device.h"

#include <string.h>

enum { ELEMENTS_MAX = 1000, EDGE = 3, COLUMNS_MAX = 400, GAP = 2 };

/* The shown part of an axis: `head` from its start, `tail` from its end. */
typedef struct Part {
    int64_t length, head, tail;
} Part;

typedef struct Column {
    int left, right;          /* cells before and from the point on */
} Column;

typedef struct Layout {
    Interp *in;
    Buf *out;
    const Tensor *t;
    ShowCell cell;
    void *arg;
    int width;
    Part rows, columns;
    Column column[COLUMNS_MAX];
} Layout;

static bool part_cut(Part p) { return p.head + p.tail < p.length; }
static int64_t part_shown(Part p) { return p.head + p.tail; }

static int64_t part_index(Part p, int64_t i)
{
    return i < p.head ? i : p.length - p.tail + (i - p.head);
}

/* All of an axis, or `budget` elements of it counting the mark for the rest. */
static Part part_of(int64_t length, int64_t budget)
{
    Part p = { length, length, 0 };
    if (length > budget) {
        p.head = budget / 2;
        p.tail = (budget - 1) / 2;
    }
    return p;
}

static const char *element_at(const Tensor *t, const char *base, int64_t i, int64_t stride)
{
    return base + i * stride * dtype_info(t->dtype)->bytes;
}

/* Where a cell's text is aligned: its point, else its exponent, else its end; a complex
 * number's sign between the two parts. */
static size_t align_at(const char *text, size_t n, bool complex_number)
{
    if (complex_number) {
        for (size_t i = n; i-- > 1;)
            if ((text[i] == '+' || text[i] == '-') && text[i - 1] != 'e')
                return i;
        return n;
    }
    const char *point = memchr(text, '.', n);
    if (point)
        return (size_t)(point - text);
    for (size_t i = 1; i < n; i++)
        if (text[i] == 'e' && text[i - 1] >= '0' && text[i - 1] <= '9')
            return i;
    return n;
}

/* Writes one cell at the end of out and says how its text divides at the point. */
static Column put_cell(Layout *l, const void *element)
{
    size_t from = l->out->len;
    l->cell(l->arg, l->out, l->t->dtype, element);
    const char *text = l->out->data + from;
    size_t n = l->out->len - from;
    size_t at = align_at(text, n, dtype_info(l->t->dtype)->kind == 'c');
    return (Column){ text_width(text, at), text_width(text + at, n - at) };
}

static Column measure_cell(Layout *l, const void *element)
{
    size_t from = l->out->len;
    Column c = put_cell(l, element);
    l->out->len = from;
    return c;
}

/* ---- one matrix ---- */
typedef struct Matrix {
    const char *base;
    int64_t row_stride, column_stride;
} Matrix;

static Column measure_column(Layout *l, const Matrix *m, int64_t j)
{
    Column widest = { 0, 0 };
    for (int64_t i = 0; i < part_shown(l->rows); i++) {
        const char *row = element_at(l->t, m->base, part_index(l->rows, i), m->row_stride);
        Column c = measure_cell(l, element_at(l->t, row, j, m->column_stride));
        widest.left = c.left > widest.left ? c.left : widest.left;
        widest.right = c.right > widest.right ? c.right : widest.right;
        poll_interrupt(l->in);
    }
    return widest;
}

/* Fills l->column for as many columns as fit, from both ends, and sets l->columns. */
static void choose_columns(Layout *l, const Matrix *m, int64_t columns, int64_t most)
{
    Column tail[COLUMNS_MAX / 2];
    Part p = { columns, 0, 0 };
    int room = l->width - 2 - (GAP + 1);           /* brackets; a gap and the dots */
    if (most > COLUMNS_MAX - 1)
        most = COLUMNS_MAX - 1;
    while (part_shown(p) < columns && part_shown(p) < most) {
        bool front = p.head <= p.tail;
        Column c = measure_column(l, m, front ? p.head : columns - 1 - p.tail);
        room -= c.left + c.right + (part_shown(p) ? GAP : 0);
        bool last = part_shown(p) + 1 == columns;   /* then no dots are needed */
        if (room + (last ? GAP + 1 : 0) < 0 && p.head > 0)
            break;
        if (front)
            l->column[p.head++] = c;
        else
            tail[p.tail++] = c;
    }
    for (int64_t k = 0; k < p.tail; k++)
        l->column[p.head + k] = tail[p.tail - 1 - k];
    l->columns = p;
}

static void put_row(Layout *l, const Matrix *m, int64_t i)
{
    const char *row = element_at(l->t, m->base, i, m->row_stride);
    for (int64_t k = 0; k < part_shown(l->columns); k++) {
        Column c = l->column[k];
        if (k == l->columns.head && part_cut(l->columns))
            buf_puts(l->out, "  …");
        if (k > 0)
            buf_fill(l->out, ' ', GAP);
        const char *e = element_at(l->t, row, part_index(l->columns, k), m->column_stride);
        Column own = measure_cell(l, e);
        buf_fill(l->out, ' ', (size_t)(c.left - own.left));
        put_cell(l, e);
        buf_fill(l->out, ' ', (size_t)(c.right - own.right));
    }
    if (part_cut(l->columns) && l->columns.tail == 0)
        buf_puts(l->out, "  …");
}

/* The row of ⋮ that stands for the rows left out. */
static void put_row_mark(Layout *l)
{
    for (int64_t k = 0; k < part_shown(l->columns); k++) {
        Column c = l->column[k];
        if (k == l->columns.head && part_cut(l->columns))
            buf_puts(l->out, "  ⋱");
        int before = c.left > 0 ? c.left - 1 : 0;
        buf_fill(l->out, ' ', (size_t)(before + (k > 0 ? GAP : 0)));
        buf_puts(l->out, "⋮");
        buf_fill(l->out, ' ', (size_t)(c.left + c.right - before - 1));
    }
    if (part_cut(l->columns) && l->columns.tail == 0)
        buf_puts(l->out, "  ⋱");
}

static void put_matrix(Layout *l, const Matrix *m)
{
    int64_t lines = part_shown(l->rows) + part_cut(l->rows);
    for (int64_t line = 0, i = 0; line < lines; line++) {
        bool first = line == 0, last = line == lines - 1;
        if (line > 0)
            buf_putc(l->out, '\n');
        buf_puts(l->out, lines == 1 ? "[" : first ? "⎡" : last ? "⎣" : "⎢");
        if (part_cut(l->rows) && line == l->rows.head)
            put_row_mark(l);
        else
            put_row(l, m, part_index(l->rows, i++));
        buf_puts(l->out, lines == 1 ? "]" : first ? "⎤" : last ? "⎦" : "⎥");
    }
}

/* Rows that print: all, but corners of a large tensor and no more than a screenful. */
static Part choose_rows(const Layout *l, int64_t rows)
{
    int height = l->in->show.height;
    if (l->t->size > ELEMENTS_MAX)
        return part_of(rows, 2 * EDGE + 1);
    if (height > 0)
        return part_of(rows, height > 2 * EDGE + 5 ? height - 4 : 2 * EDGE + 1);
    return part_of(rows, rows);
}

static void show_matrix(Layout *l, const char *base)
{
    int r = l->t->rank;
    const int64_t *shape = tensor_shape(l->t), *strides = tensor_strides(l->t);
    Matrix m = { base, strides[r - 2], strides[r - 1] };
    int64_t columns = shape[r - 1];
    bool corners = l->t->size > ELEMENTS_MAX && columns > 2 * EDGE + 1;
    l->rows = choose_rows(l, shape[r - 2]);
    choose_columns(l, &m, columns, corners ? 2 * EDGE : columns);
    put_matrix(l, &m);
}

/* ---- vectors ---- */
/* How many elements from each end fit on the line. */
static Part choose_elements(Layout *l, int64_t n, int64_t stride)
{
    Part p = { n, 0, 0 };
    if (n >= ELEMENTS_MAX)
        return (Part){ n, EDGE, EDGE };
    int room = l->width - 2 - 3;                   /* brackets; `, …` */
    while (part_shown(p) < n) {
        bool front = p.head <= p.tail;
        int64_t i = front ? p.head : n - 1 - p.tail;
        Column c = measure_cell(l, element_at(l->t, l->t->data, i, stride));
        room -= c.left + c.right + (part_shown(p) ? 2 : 0);
        if (room + (part_shown(p) + 1 == n ? 3 : 0) < 0 && p.head > 0)
            break;
        *(front ? &p.head : &p.tail) += 1;
    }
    return p;
}

static void show_vector(Layout *l)
{
    int64_t n = tensor_shape(l->t)[0], stride = tensor_strides(l->t)[0];
    Part p = choose_elements(l, n, stride);
    buf_putc(l->out, '[');
    for (int64_t k = 0; k < part_shown(p); k++) {
        if (k == p.head && part_cut(p))
            buf_puts(l->out, ", …");
        if (k > 0)
            buf_puts(l->out, ", ");
        put_cell(l, element_at(l->t, l->t->data, part_index(p, k), stride));
    }
    buf_puts(l->out, part_cut(p) && p.tail == 0 ? ", …]" : "]");
}

/* ---- rank 3 and more ---- */
/* `[0, 2, :, :]` for slice number k, and the slice's first element. */
static const char *put_label(Layout *l, int64_t k)
{
    int lead = l->t->rank - 2;
    const int64_t *shape = tensor_shape(l->t), *strides = tensor_strides(l->t);
    int64_t index[TENSOR_RANK_MAX], offset = 0;
    for (int a = lead - 1; a >= 0; a--) {
        index[a] = k % shape[a];
        k /= shape[a];
        offset += index[a] * strides[a];
    }
    buf_putc(l->out, '[');
    for (int a = 0; a < lead; a++)
        buf_printf(l->out, "%lld, ", (long long)index[a]);
    buf_puts(l->out, ":, :]\n");
    return element_at(l->t, l->t->data, offset, 1);
}

static void show_slices(Layout *l)
{
    const int64_t *shape = tensor_shape(l->t);
    int64_t slices = l->t->size / (shape[l->t->rank - 1] * shape[l->t->rank - 2]);
    Part p = part_of(slices, l->t->size > ELEMENTS_MAX ? 2 * EDGE + 1 : slices);
    for (int64_t k = 0; k < part_shown(p); k++) {
        if (k > 0)
            buf_puts(l->out, "\n\n");
        if (k == p.head && part_cut(p))
            buf_puts(l->out, "⋮\n\n");
        show_matrix(l, put_label(l, part_index(p, k)));
    }
}

/* ---- entry points ---- */
static void put_shape(Buf *out, const Tensor *t)
{
    const int64_t *shape = tensor_shape(t);
    for (int a = 0; a < t->rank; a++)
        buf_printf(out, "%s%lld", a ? "×" : "", (long long)shape[a]);
}

void show_tensor_cells(Interp *in, Buf *out, const Tensor *t, ShowCell cell, void *arg)
{
    if (t->size == 0) {
        buf_puts(out, "[] (");
        put_shape(out, t);
        buf_printf(out, " %s)", dtype_name(t->dtype));
        return;
    }
    tensor_home(&in->ctx, t);
    Layout l = { .in = in, .out = out, .t = t, .cell = cell, .arg = arg,
                 .width = in->show.width > 0 ? in->show.width : SHOW_WIDTH };
    if (t->rank == 0)
        cell(arg, out, t->dtype, t->data);
    else if (t->rank == 1)
        show_vector(&l);
    else if (t->rank == 2)
        show_matrix(&l, t->data);
    else
        show_slices(&l);
}

static void element_cell(void *arg, Buf *out, DType dt, const void *element)
{
    const int *digits = arg;
    char kind = dtype_info(dt)->kind;
    if (show_is_number(dt)) {
        show_number_element(out, dt, element, *digits);
        return;
    }
    if (kind != 'f' && kind != 'c') {
        show_element(out, dt, element);
        return;
    }
    char text[DECIMAL_TEXT_MAX];
    DType part = show_part(dt);
    double _Complex z = kind == 'c' ? element_c128(dt, element) : element_f64(dt, element);
    decimal_element_text(text, __real__ z, part, *digits);
    buf_puts(out, text);
    if (kind == 'c') {
        decimal_element_text(text, __imag__ z, part, *digits);
        buf_printf(out, "%s%si", text[0] == '-' ? "" : "+", text);
    }
}

void show_tensor(Interp *in, Buf *out, const Tensor *t)
{
    if (t->rank == 0)
        show_element(out, t->dtype, t->data);
    else
        show_tensor_cells(in, out, t, element_cell, &in->show.digits);
}

void show_tensor_header(Buf *out, const Tensor *t)
{
    if (t->rank == 1)
        buf_puts(out, "vector of ");
    put_shape(out, t);
    buf_printf(out, " %s", dtype_name(t->dtype));
    if (t->flags & TENSOR_COVECTOR)
        buf_puts(out, " covector");
    const Residence *r = tensor_residence(t);
    if (r && r->home && strcmp(r->home->name, "cpu") != 0)
        buf_printf(out, " on %s", r->home->name);
}
