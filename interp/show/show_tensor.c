/* How tensors print: vectors on one line, matrices as show_matrix.c lays them out, higher ranks as
 * labelled matrices.
 *
 * Rows never wrap. What is more than a screen, or than SHOW_WHOLE elements where there is
 * none, loses its middle and says how much that was. format("full") leaves nothing out: a
 * vector takes several lines then and a wide matrix several panels. */
#include "interp/show/show_layout.h"

#include "interp/output/output.h"
#include "kernels/device/device.h"

#include <stdio.h>
#include <string.h>

enum { STREAM = 1 << 16, SCREEN = 1 << 12 };

void layout_flush(Layout *l)
{
    if (l->stream && l->show->width > 0 && l->out->len >= SCREEN)
        out_flush(l->in);
    else if (l->stream && l->out->len >= STREAM)
        out_write(l->in, "", 0);                   /* raises where it cannot be written */
}

/* ---- vectors ---- */
static const char *element(const Layout *l, int64_t i)
{
    return layout_at(l->t, l->seen->data, layout_seen(l, 0, i), tensor_strides(l->seen)[0]);
}

static int element_width(Layout *l, int64_t i)
{
    size_t from = l->out->len;
    layout_cell(l, element(l, i), NULL);
    int width = text_width(l->out->data + from, l->out->len - from);
    l->out->len = from;
    return width;
}

/* `… 994 more`; the number's width hardly matters. */
static void put_more(Buf *out, int64_t more) { buf_printf(out, "… %lld more …", (long long)more); }

static int more_width(int64_t n)
{
    int digits = 1;
    for (; n >= 10; n /= 10)
        digits++;
    return 11 + digits;                            /* `, … 994 more …` */
}

/* How many elements from each end fit on the line. */
static Part choose_elements(Layout *l, int64_t n)
{
    Part p = { n, 0, 0 };
    int64_t most = n >= SHOW_WHOLE ? 2 * SHOW_EDGE : n;
    int mark = more_width(n), room = l->width - 2 - mark;
    while (part_shown(p) < most) {
        bool front = p.head <= p.tail;
        room -= element_width(l, front ? p.head : n - 1 - p.tail) + (part_shown(p) ? 2 : 0);
        if (room + (part_shown(p) + 1 == n ? mark : 0) < 0 && p.head > 0)
            break;
        *(front ? &p.head : &p.tail) += 1;
    }
    return p;
}

/* Short enough to be shown whole, too long for a line: columns under each other. */
static void show_vector_columns(Layout *l, int64_t n)
{
    int widest = 1;
    for (int64_t i = 0; i < n; i++) {
        int width = element_width(l, i);
        widest = width > widest ? width : widest;
    }
    int64_t columns = (l->width - 1) / (widest + 2);
    columns = columns > 0 ? columns : 1;
    for (int64_t i = 0; i < n; i++) {
        buf_puts(l->out, i == 0 ? "[" : i % columns == 0 ? ",\n " : ", ");
        buf_fill(l->out, ' ', (size_t)(widest - element_width(l, i)));
        layout_cell(l, element(l, i), NULL);
    }
    buf_putc(l->out, ']');
}

static void show_vector(Layout *l)
{
    int64_t n = tensor_shape(l->t)[0];
    Part p = choose_elements(l, n);
    if (part_cut(p) && n <= SHOW_VECTOR && !l->show->inside) {
        show_vector_columns(l, n);
        return;
    }
    buf_putc(l->out, '[');
    for (int64_t k = 0; k < part_shown(p); k++) {
        if (k == p.head && part_cut(p)) {
            buf_puts(l->out, ", ");
            put_more(l->out, n - part_shown(p));
        }
        if (k > 0)
            buf_puts(l->out, ", ");
        layout_cell(l, element(l, part_index(p, k)), NULL);
    }
    if (part_cut(p) && p.tail == 0) {
        bool fits = element_width(l, 0) + more_width(n) + 2 <= l->width;
        buf_puts(l->out, fits ? ", " : ",\n ");
        put_more(l->out, n - part_shown(p));
    }
    buf_putc(l->out, ']');
}

/* All of it, on as many lines as it takes. */
static void show_vector_full(Layout *l)
{
    int64_t n = tensor_shape(l->t)[0];
    buf_putc(l->out, '[');
    for (int64_t i = 0, used = 1; i < n; i++) {
        int width = element_width(l, i) + 2;       /* and `, ` or `]` */
        bool wrap = i > 0 && used + width - 1 > l->width;
        buf_puts(l->out, wrap ? ",\n " : i > 0 ? ", " : "");
        used = (wrap ? 1 : used) + width;
        layout_cell(l, element(l, i), NULL);
        layout_flush(l);
        poll_interrupt(l->in);
    }
    buf_putc(l->out, ']');
}

/* ---- rank 3 and more ---- */
enum { LABEL = 24 * TENSOR_RANK_MAX };

const char *layout_slice(const Tensor *t, int64_t k, int64_t *index)
{
    const int64_t *shape = tensor_shape(t), *strides = tensor_strides(t);
    int64_t offset = 0;
    for (int a = t->rank - 3; a >= 0; a--) {
        index[a] = k % shape[a];
        k /= shape[a];
        offset += index[a] * strides[a];
    }
    return layout_at(t, t->data, offset, 1);
}

/* As much of an axis as `shape` says, from both of its ends. */
static void list_ends(const Layout *l, int axis, int64_t n, int64_t *list)
{
    for (int64_t i = 0; i < n; i++)
        list[i] = i < n / 2 ? i : tensor_shape(l->t)[axis] - n + i;
}

/* Of the slice that starts there, which lies elsewhere: what of it may be shown, as l->seen. */
static void pick_slice(Layout *l, int64_t *index)
{
    const int64_t *all = tensor_shape(l->t), corner = 2 * (SHOW_EDGE + 1);
    int64_t shape[TENSOR_RANK_MAX], list[2][SHOW_COLUMNS];
    const int64_t *lists[TENSOR_RANK_MAX];
    int last = l->t->rank - 2;
    for (int a = 0; a < l->t->rank; a++) {
        int64_t most = a < last ? 1 : corner + (a > last ? l->width / (1 + SHOW_GAP) : l->height);
        most = most < SHOW_COLUMNS ? most : SHOW_COLUMNS;
        shape[a] = most < all[a] ? most : all[a];
        lists[a] = a < last ? &index[a] : list[a - last];
        if (a >= last)
            list_ends(l, a, shape[a], list[a - last]);
    }
    l->seen = device_picked(&l->in->ctx, l->away, (Tensor *)l->t, shape, lists);
    v_push(l->in, v_tensor_raw((Tensor *)l->seen));
}

/* `[0, 2, ` of slice number k in label; returns its first element. */
static const char *find_slice(Layout *l, int64_t k, char *label)
{
    int n = 1;
    int64_t index[TENSOR_RANK_MAX];
    const char *base = layout_slice(l->t, k, index);
    if (l->away) {
        pick_slice(l, index);
        base = l->seen->data;
    }
    strcpy(label, "[");
    for (int a = 0; a < l->t->rank - 2; a++)
        n += snprintf(label + n, (size_t)(LABEL - n), "%lld, ", (long long)index[a]);
    return base;
}

/* Lines of each slice (0: all) and slices that are shown, of rank 3 and more. */
static Part choose_slices(const Layout *l, int64_t slices, int64_t rows, int64_t *lines)
{
    bool large = l->t->size > SHOW_WHOLE;
    int64_t corner = 2 * SHOW_EDGE + 1;
    *lines = large ? corner : 0;
    if (l->full || l->height == 0)
        return part_of(slices, large && !l->full ? corner : slices);
    if (slices <= l->height / (rows + 2)) {        /* a label and a blank line each */
        *lines = rows;
        return part_of(slices, slices);
    }
    int64_t room = l->height / 2 - 3;              /* two slices and the mark between them */
    *lines = room < 3 ? 3 : large && room > corner ? corner : room;
    int64_t each = (rows < *lines ? rows : *lines) + 2, fit = (l->height - 2) / each;
    if (slices * each <= l->height)
        return part_of(slices, slices);
    fit = fit < 1 ? 1 : fit;
    return (Part){ slices, (fit + 1) / 2, fit / 2 };
}

static void put_more_slices(Buf *out, Part p)
{
    int64_t more = p.length - part_shown(p);
    buf_printf(out, "⋮ (%lld more slice%s)", (long long)more, more == 1 ? "" : "s");
}

static void show_slices(Layout *l)
{
    const int64_t *shape = tensor_shape(l->t);
    int64_t rows = shape[l->t->rank - 2], lines;
    int64_t slices = l->t->size / (rows * shape[l->t->rank - 1]);
    char label[LABEL];
    Part p = choose_slices(l, slices, rows, &lines);
    Value *mark = l->in->sp;
    for (int64_t k = 0; k < part_shown(p); k++) {
        stack_cut(l->in, mark);
        buf_puts(l->out, k > 0 ? "\n\n" : "");
        if (k == p.head && part_cut(p))
            put_more_slices(l->out, p), buf_puts(l->out, "\n\n");
        Matrix m = layout_matrix(l, find_slice(l, part_index(p, k), label));
        if (l->full) {
            layout_panels(l, &m, label);
            continue;
        }
        layout_choose(l, &m, lines);
        buf_printf(l->out, "%s:, :]", label);
        size_t from = l->out->len;
        buf_putc(l->out, ' ');
        bool counts = layout_counts(l);
        bool fits = show_column(l->out) <= l->width;
        if (!counts || !fits)                      /* else they stand below */
            l->out->len = from;
        buf_putc(l->out, '\n');
        layout_put(l, &m, !fits);
    }
    if (part_cut(p) && p.tail == 0)
        buf_puts(l->out, "\n\n"), put_more_slices(l->out, p);
}

static void show_matrix(Layout *l)
{
    Matrix m = layout_matrix(l, l->sparse ? NULL : l->seen->data);
    if (l->full) {
        layout_panels(l, &m, "[");
        return;
    }
    int64_t lines = l->height;
    if (lines > 0 && m.rows > lines)
        lines--;                                   /* for the counts */
    layout_choose(l, &m, lines);
    layout_put(l, &m, true);
}

/* ---- entry points ---- */
static void put_shape(Buf *out, const Tensor *t)
{
    const int64_t *shape = tensor_shape(t);
    for (int a = 0; a < t->rank; a++)
        buf_printf(out, "%s%lld", a ? "×" : "", (long long)shape[a]);
}

static void put_empty(Buf *out, const Tensor *t)
{
    buf_puts(out, "[] (");
    put_shape(out, t);
    buf_printf(out, " %s)", dtype_name(t->dtype));
}

/* A prompt, a header and the line that the next prompt takes stand beside it on the screen. */
static int page_height(int height)
{
    enum { BESIDE = 4, LEAST = 2 * SHOW_EDGE + 1 };
    return height == 0 ? 0 : height > LEAST + BESIDE ? height - BESIDE : LEAST;
}

/* Only corners of it, of what is large? */
static bool cut_short(const Layout *l)
{
    bool dots = l->show->dots && !l->cell;
    return !l->full && !dots && l->t->size > SHOW_WHOLE;
}

/* How much of each axis of a vector or matrix may be looked at; false: nearly all of it. */
static bool few_shown(const Layout *l, int64_t shape[2])
{
    const int64_t *all = tensor_shape(l->t), corner = 2 * (SHOW_EDGE + 1);
    bool screen = l->t->rank == 2 && l->height > 0 && all[0] <= l->height;
    for (int a = 0; a < l->t->rank; a++) {
        int64_t most = !screen ? corner : a ? l->width / (1 + SHOW_GAP) + corner : all[0];
        shape[a] = most < all[a] ? most : all[a];
        if (shape[a] > SHOW_COLUMNS)
            return false;
    }
    return shape[0] * (l->t->rank == 2 ? shape[1] : 1) < l->t->size / 2;
}

/* Of what lies on a device that can pick elements, those alone come home that are shown. */
static void see(Layout *l)
{
    Interp *in = l->in;
    Tensor *t = (Tensor *)l->t;
    int64_t shape[2], list[2][SHOW_COLUMNS];
    tensor_settle(&in->ctx, t);
    Device *d = device_only(t);
    bool picks = d && d->ops->pick && cut_short(l);
    l->seen = t;
    if (picks && t->rank > 2) {
        l->away = d;
        return;
    }
    if (!picks || t->rank < 1 || !few_shown(l, shape)) {
        tensor_home(&in->ctx, t);
        return;
    }
    for (int a = 0; a < t->rank; a++)
        list_ends(l, a, shape[a], list[a]);
    l->seen = device_picked(&in->ctx, d, t, shape, (const int64_t *const[]){ list[0], list[1] });
    v_push(in, v_tensor_raw((Tensor *)l->seen));
}

/* The header, and of a small one that stands alone the matrix. */
static void show_entries(Layout *l)
{
    const Csr a = sparse_csr(tensor_sparse(l->t));
    l->sparse = &a;
    show_sparse_header(l->out, l->t);
    if (!sparse_is_small(l->t) || l->show->inside)
        return;
    buf_putc(l->out, '\n');
    show_matrix(l);
}

static void show_layout(Layout *l)
{
    Value *mark = l->in->sp;
    l->width = l->show->width > 0 ? l->show->width : SHOW_WIDTH;
    l->height = page_height(l->show->height);
    l->full = !l->cell && l->show->style == SHOW_FULL;
    if (tensor_sparse(l->t)) {
        show_entries(l);
        return;
    }
    see(l);
    if (l->t->size == 0)
        put_empty(l->out, l->t);
    else if (l->t->rank == 0)
        l->cell(l->arg, l->out, (DType)l->t->dtype, l->t->data);
    else if (l->t->rank == 1)
        l->full ? show_vector_full(l) : show_vector(l);
    else if (l->t->rank == 2)
        show_matrix(l);
    else
        show_slices(l);
    stack_cut(l->in, mark);
}

void show_tensor_cells(Interp *in, Buf *out, const Tensor *t, ShowCell cell, void *arg)
{
    Layout l = { .in = in, .out = out, .t = t, .show = &in->show, .cell = cell, .arg = arg };
    show_layout(&l);
}

void show_tensor(Interp *in, Buf *out, const Tensor *t, const ShowOptions *options, bool stream)
{
    Layout l = { .in = in, .out = out, .t = t, .show = options, .stream = stream };
    if (t->rank == 0)
        show_scalar(out, options, (DType)t->dtype, (tensor_home(&in->ctx, t), t->data));
    else
        show_layout(&l);
}

void show_tensor_header(Buf *out, const Tensor *t)
{
    if (tensor_sparse(t)) {
        show_sparse_header(out, t);
        return;
    }
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
