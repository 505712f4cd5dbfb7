/* Private to show_tensor.c, show_matrix.c and show_latex.c: the layout of one tensor on its way to
 * the page. */
#ifndef RICCI_INTERP_SHOW_LAYOUT_H
#define RICCI_INTERP_SHOW_LAYOUT_H

#include "interp/show/show.h"
#include "kernels/sparse/sparse.h"

/* More elements than SHOW_WHOLE print as corners of SHOW_EDGE rows and columns. */
enum { SHOW_VECTOR = 100 };          /* vectors of so many elements print whole, on several lines */
enum { SHOW_WHOLE = 1000, SHOW_EDGE = 3, SHOW_COLUMNS = 400, SHOW_GAP = 2 };

/* The shown part of an axis: `head` from its start, `tail` from its end. */
typedef struct Part {
    int64_t length, head, tail;
} Part;

/* A column of cells: cells before and from the point on, and how its numbers are cut. */
typedef struct Column {
    int left, right;
    CutColumn cut;
} Column;

/* One matrix of a tensor. */
typedef struct Matrix {
    const char *base;
    int64_t row_stride, column_stride, rows, columns;
    Zeros zeros;
} Matrix;

typedef struct Layout {
    Interp *in;
    Buf *out;
    const Tensor *t;
    /* its elements: itself, or of what lies elsewhere the ends of each axis (layout_seen) */
    const Tensor *seen;
    const Csr *sparse;           /* its entries, where it has those only; NULL */
    struct Device *away;         /* slices come home one by one, from here (show_slices) */
    const ShowOptions *show;
    ShowCell cell;               /* format specs; NULL: as `show` says */
    void *arg;
    int width, height;           /* height 0: no limit */
    bool stream, full;           /* full: nothing is left out */
    Part rows, columns;
    Column column[SHOW_COLUMNS];
} Layout;

static inline bool part_cut(Part p) { return p.head + p.tail < p.length; }
static inline int64_t part_shown(Part p) { return p.head + p.tail; }

static inline int64_t part_index(Part p, int64_t i)
{
    return i < p.head ? i : p.length - p.tail + (i - p.head);
}

/* All of an axis, or `budget` elements of it counting the mark for the rest. */
static inline Part part_of(int64_t length, int64_t budget)
{
    Part p = { length, length, 0 };
    if (length > budget) {
        p.head = budget / 2;
        p.tail = budget > 2 ? (budget - 1) / 2 : 0;
        p.head = p.head > 0 ? p.head : 1;
    }
    return p;
}

static inline const char *layout_at(const Tensor *t, const char *base, int64_t i, int64_t stride)
{
    return base + i * stride * dtype_info(t->dtype)->bytes;
}

/* Where element i of an axis stands in l->seen. */
static inline int64_t layout_seen(const Layout *l, int axis, int64_t i)
{
    int64_t n = tensor_shape(l->t)[axis], seen = tensor_shape(l->seen)[axis];
    return i < seen / 2 ? i : i - (n - seen);
}

/* The first element of matrix number k of rank 3 and more; index: where it stands in the leading
 * axes. */
const char *layout_slice(const Tensor *, int64_t k, int64_t *index);
/* Writes one cell at the end of out, aligned in the column (NULL: as it is). */
void layout_cell(Layout *, const void *element, const Column *);
/* Writes what is ready, where that may be. */
void layout_flush(Layout *);

/* ---- show_sparse.c ---- */
/* Where its entry at that place is; NULL: it has none. */
const char *sparse_at(const Csr *, int64_t i, int64_t j);
/* One that is shown as a matrix, not by its header alone. */
bool sparse_is_small(const Tensor *);

/* ---- show_matrix.c ---- */
Matrix layout_matrix(const Layout *, const char *base);
/* What of the matrix is shown, on at most `lines` lines (0: any number). */
void layout_choose(Layout *, const Matrix *, int64_t lines);
/* Its lines; after them ` (3 more rows)` on a line of its own if `counts`. */
void layout_put(Layout *, const Matrix *, bool counts);
/* In full: panels of columns, each under a label that `label` starts: `[0, `. */
void layout_panels(Layout *, const Matrix *, const char *label);
/* `(994 more rows, 9990 more columns)`, of what l leaves out; false: of nothing. */
bool layout_counts(Layout *);

#endif
