/* A matrix in tall brackets: columns aligned on the point, complex numbers on the sign between
 * their parts and on the i, padded with spaces, never with digits.
 *
 * A float prints as its shortest decimal, which makes an exact 0.5 one half, or is cut where
 * that is longer than `digits` digits (5 at first). The cut numbers of a column end at one
 * decimal place. What is smaller than one unit of it has an exponent and two digits, so that a
 * residual is seen beside ones and nothing but zero looks like zero.
 *
 * Cells are written up to four times, to find the place, to measure and to show, so that no
 * scratch memory can be lost when an error unwinds. */
#include "interp/show/show_layout.h"

#include <string.h>

/* ---- the zeros that the structure makes ---- */
Zeros zeros_find(Interp *in, const Tensor *t, const char *base)
{
    const int64_t *shape = tensor_shape(t) + t->rank - 2;
    const int64_t *strides = tensor_strides(t) + t->rank - 2;
    Zeros z = { .below = -shape[0], .above = -shape[1] };
    int64_t zeros = 0, all = shape[0] * shape[1];
    for (int64_t i = 0; i < shape[0]; i++) {
        const char *row = layout_at(t, base, i, strides[0]);
        for (int64_t j = 0; j < shape[1]; j++) {
            poll_interrupt(in);
            if (show_is_zero((DType)t->dtype, layout_at(t, row, j, strides[1]))) {
                zeros++;
                continue;
            }
            z.below = i - j > z.below ? i - j : z.below;
            z.above = j - i > z.above ? j - i : z.above;
        }
    }
    z.any = shape[0] > 1 && shape[1] > 1 && zeros > 0 && zeros < all;
    z.all = 2 * zeros >= all;
    return z;
}

Matrix layout_matrix(const Layout *l, const char *base)
{
    int r = l->t->rank;
    if (l->sparse)
        return (Matrix){ .rows = l->sparse->m, .columns = l->sparse->n };
    const int64_t *shape = tensor_shape(l->t), *strides = tensor_strides(l->seen);
    Matrix m = { .base = base, .row_stride = strides[r - 2], .column_stride = strides[r - 1],
                 .rows = shape[r - 2], .columns = shape[r - 1] };
    if (l->show->dots && !l->cell)
        m.zeros = zeros_find(l->in, l->t, base);
    return m;
}

/* ---- cells ---- */
/* Where a cell's text is aligned: its point, else its exponent, else its end; a complex
 * number's sign between the two parts. */
static size_t align_at(const char *text, size_t n, bool complex_number)
{
    if (complex_number)
        return show_sign_between(text, n);
    const char *point = memchr(text, '.', n);
    if (point)
        return (size_t)(point - text);
    for (size_t i = 1; i < n; i++)
        if (text[i] == 'e' && text[i - 1] >= '0' && text[i - 1] <= '9')
            return i;
    return n;
}

/* Bits and fractions have no point that means anything: they end together. */
static bool ends_aligned(const Layout *l)
{
    return !l->cell && (l->show->style == SHOW_HEX || l->show->style == SHOW_FRACTION);
}

static Column divide(const Layout *l, size_t from, size_t *at)
{
    const char *text = l->out->data + from;
    size_t n = l->out->len - from;
    bool complex_number = dtype_info(l->t->dtype)->kind == 'c';
    *at = ends_aligned(l) && !complex_number ? n : align_at(text, n, complex_number);
    return (Column){ .left = text_width(text, *at), .right = text_width(text + *at, n - *at) };
}

static void put_text(Layout *l, const void *element, const CutColumn *cut)
{
    if (!element)
        buf_puts(l->out, "·");
    else if (l->cell)
        l->cell(l->arg, l->out, (DType)l->t->dtype, element);
    else
        show_cell(l->out, l->show, cut, (DType)l->t->dtype, element);
}

/* Blanks in front of the bytes from `at` on. */
static void insert_blanks(Buf *out, size_t at, int count)
{
    if (count <= 0)
        return;
    size_t rest = out->len - at, n = (size_t)count;
    buf_fill(out, ' ', n);
    memmove(out->data + at + n, out->data + at, rest);
    memset(out->data + at, ' ', n);
}

/* element NULL: a structural zero, or one that is not stored. */
void layout_cell(Layout *l, const void *element, const Column *c)
{
    size_t from = l->out->len, at;
    put_text(l, element, c ? &c->cut : &CUT_COLUMN_EMPTY);
    if (!c)
        return;
    Column own = divide(l, from, &at);
    bool parts = dtype_info(l->t->dtype)->kind == 'c' && own.right > 0;
    if (parts)                                    /* between the sign and the digits */
        insert_blanks(l->out, from + at + 1, c->right - own.right);
    insert_blanks(l->out, from, c->left - own.left);
    if (!parts)
        buf_fill(l->out, ' ', (size_t)(c->right - own.right));
}

/* ---- columns ---- */
static const char *cell_at(const Layout *l, const Matrix *m, int64_t i, int64_t j)
{
    int axis = l->t->rank - 2;
    if (l->sparse)
        return sparse_at(l->sparse, i, j);
    const char *row = layout_at(l->t, m->base, layout_seen(l, axis, i), m->row_stride);
    const char *e = layout_at(l->t, row, layout_seen(l, axis + 1, j), m->column_stride);
    return zeros_structural(&m->zeros, i, j) && show_is_zero((DType)l->t->dtype, e) ? NULL : e;
}

static void look_at_column(Layout *l, const Matrix *m, int64_t j, CutColumn *cut, bool decimals)
{
    for (int64_t i = 0; i < part_shown(l->rows) && !l->cell; i++) {
        const char *e = cell_at(l, m, part_index(l->rows, i), j);
        if (e)
            cut_look(cut, l->out, l->show, (DType)l->t->dtype, e, decimals);
        poll_interrupt(l->in);
    }
}

static Column measure_column(Layout *l, const Matrix *m, int64_t j)
{
    Column widest = { .cut = CUT_COLUMN_EMPTY };
    size_t from = l->out->len, at;
    look_at_column(l, m, j, &widest.cut, false);
    cut_settled(&widest.cut, l->show);
    if (cut_any(&widest.cut))
        look_at_column(l, m, j, &widest.cut, true);
    for (int64_t i = 0; i < part_shown(l->rows); i++) {
        put_text(l, cell_at(l, m, part_index(l->rows, i), j), &widest.cut);
        Column c = divide(l, from, &at);
        l->out->len = from;
        widest.left = c.left > widest.left ? c.left : widest.left;
        widest.right = c.right > widest.right ? c.right : widest.right;
        poll_interrupt(l->in);
    }
    return widest;
}

/* Fills l->column for as many columns from `first` on as fit, from both ends or (`forwards`)
 * from the first on, and sets l->columns. */
static void choose_columns(Layout *l, const Matrix *m, int64_t first, int64_t most, bool forwards)
{
    Column tail[SHOW_COLUMNS / 2];
    int64_t columns = m->columns - first;
    Part p = { columns, 0, 0 };
    int dots = forwards ? 0 : SHOW_GAP + 1, room = l->width - 2 - dots;        /* the brackets */
    if (most > SHOW_COLUMNS - 1)
        most = SHOW_COLUMNS - 1;
    while (part_shown(p) < columns && part_shown(p) < most) {
        bool front = forwards || p.head <= p.tail;
        Column c = measure_column(l, m, first + (front ? p.head : columns - 1 - p.tail));
        room -= c.left + c.right + (part_shown(p) ? SHOW_GAP : 0);
        bool last = part_shown(p) + 1 == columns;   /* then no dots are needed */
        if (room + (last ? dots : 0) < 0 && p.head > 0)
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

void layout_choose(Layout *l, const Matrix *m, int64_t lines)
{
    bool large = l->t->size > SHOW_WHOLE;
    int64_t corner = 2 * SHOW_EDGE + 1;
    if (large && l->height > 0 && m->rows <= lines) {       /* but it may fit the screen */
        l->rows = part_of(m->rows, m->rows);
        choose_columns(l, m, 0, m->columns, false);
        if (!part_cut(l->columns))
            return;
    }
    if (large && (lines == 0 || lines > corner))
        lines = corner;
    l->rows = part_of(m->rows, lines ? lines : m->rows);
    choose_columns(l, m, 0, large && m->columns > corner ? 2 * SHOW_EDGE : m->columns, false);
}

/* ---- rows ---- */
static void put_row(Layout *l, const Matrix *m, int64_t i, int64_t first)
{
    for (int64_t k = 0; k < part_shown(l->columns); k++) {
        if (k == l->columns.head && part_cut(l->columns))
            buf_puts(l->out, "  …");
        if (k > 0)
            buf_fill(l->out, ' ', SHOW_GAP);
        layout_cell(l, cell_at(l, m, i, first + part_index(l->columns, k)), &l->column[k]);
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
        buf_fill(l->out, ' ', (size_t)(before + (k > 0 ? SHOW_GAP : 0)));
        buf_puts(l->out, "⋮");
        buf_fill(l->out, ' ', (size_t)(c.left + c.right - before - 1));
    }
    if (part_cut(l->columns) && l->columns.tail == 0)
        buf_puts(l->out, "  ⋱");
}

static void put_lines(Layout *l, const Matrix *m, int64_t from)
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
            put_row(l, m, part_index(l->rows, i++), from);
        buf_puts(l->out, lines == 1 ? "]" : first ? "⎤" : last ? "⎦" : "⎥");
        layout_flush(l);
        poll_interrupt(l->in);
    }
}

static void put_count(Buf *out, Part p, const char *what)
{
    int64_t more = p.length - part_shown(p);
    buf_printf(out, "%lld more %s%s", (long long)more, what, more == 1 ? "" : "s");
}

bool layout_counts(Layout *l)
{
    bool rows = part_cut(l->rows), columns = part_cut(l->columns);
    if (!rows && !columns)
        return false;
    buf_putc(l->out, '(');
    if (rows)
        put_count(l->out, l->rows, "row");
    if (rows && columns)
        buf_puts(l->out, ", ");
    if (columns)
        put_count(l->out, l->columns, "column");
    buf_putc(l->out, ')');
    return true;
}

void layout_put(Layout *l, const Matrix *m, bool counts)
{
    put_lines(l, m, 0);
    if (!counts || !(part_cut(l->rows) || part_cut(l->columns)))
        return;
    buf_putc(l->out, '\n');
    layout_counts(l);
}

void layout_panels(Layout *l, const Matrix *m, const char *label)
{
    l->rows = part_of(m->rows, m->rows);
    for (int64_t from = 0; from < m->columns;) {
        choose_columns(l, m, from, m->columns, true);
        int64_t n = l->columns.head;
        if (n < m->columns)
            buf_printf(l->out, "%s%s:, %lld:%lld]\n", from ? "\n\n" : "", label, (long long)from,
                       (long long)(from + n));
        else if (label[1])
            buf_printf(l->out, "%s:, :]\n", label);
        l->columns = part_of(n, n);
        put_lines(l, m, from);
        from += n;
    }
}
