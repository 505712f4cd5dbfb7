/* Elimination on entries, in any format: LU with partial pivoting in the natural order, column by
 * column, and the triangles that it leaves. Each number meets the operations that textbook_lu and
 * textbook_triangle have for it, in the same order; those with an exact 0 are left out, which round
 * nothing. (What is told apart by them alone is the sign of a 0 and, from infinities, a nan.)
 *
 * A finished column changes only rows that it has entries in; which columns the next one meets is
 * found while it is made: a heap has them, first to last. Memory goes to entries, and to a few
 * vectors. See textbook.h. */
#include "kernels/textbook/textbook_number.h"

enum { PAUSE = 1 << 15 };       /* operations between two looks at the interrupt flag */

typedef struct Column { int64_t *row, count; TextRow value; } Column;

typedef struct Work {
    Textbook *t;
    int64_t n, j;               /* the column that is made */
    int64_t *row_at, *place;    /* the row that is the k-th, and the converse */
    int64_t *seen;              /* rows that column j has had, as j + 1 */
    int64_t *touched, touched_count, *heap, heap_count, *part, parts;
    TextRow sum;                /* of acc: column j by rows */
    TextRow some, few;          /* contiguous: of acc, of f */
    TextRow none;               /* 0 in acc */
    Column *lower, *upper;      /* finished columns: of acc, by rows; of f, by places */
    int64_t *room, left, given; /* for positions */
    int64_t busy;
    double terms;
} Work;

/* ---- memory ---- */
static int64_t *take_ints(Textbook *t, int64_t n)
{
    return t->take(t->owner, DT_I64, n < 1 ? 1 : n);
}

static int64_t *positions(Work *w, int64_t n)
{
    enum { LEAST = 16 };                /* no column, not an empty one, has no place */
    if (!w->room || w->left < n) {
        w->given = 2 * w->given > n ? 2 * w->given : n + LEAST;
        w->room = take_ints(w->t, w->given);
        w->left = w->given;
    }
    int64_t *at = w->room;
    w->room += n;
    w->left -= n;
    return at;
}

static TextRow take_row(Textbook *t, Arith *a, int64_t n)
{
    return text_vector(t, a, n < 1 ? 1 : n);
}

static Column *take_columns(Textbook *t, int64_t n)
{
    return (Column *)(void *)take_ints(t, n * (int64_t)(sizeof(Column) / sizeof(int64_t)));
}

static void work_begin(Work *w, Textbook *t, int64_t n)
{
    *w = (Work){ .t = t, .n = n, .given = 512 };
    int64_t **ints[] = { &w->row_at, &w->place, &w->seen, &w->touched, &w->heap,
                         &w->part };
    for (int i = 0; i < 6; i++)
        *ints[i] = take_ints(t, n);
    w->lower = take_columns(t, n);
    w->upper = take_columns(t, n);
    w->sum = take_row(t, t->acc, n);
    w->some = take_row(t, t->acc, n);
    w->few = take_row(t, t->f, n);
    w->none = take_row(t, t->acc, 1);
    TextRow zero = { t->zero, t->pairs ? t->zero : NULL, 0 };
    text_copy(t->acc, w->none, text_widen(t, zero, 1), 1);
    for (int64_t i = 0; i < n; i++)
        w->row_at[i] = w->place[i] = i;
}

/* Operations are many in one column: it is not only between columns that one looks. */
static bool stopped(Textbook *t, int64_t *busy, int64_t operations)
{
    *busy += operations + 1;
    if (*busy < PAUSE)
        return t->status != ARITH_OK;
    *busy = 0;
    return text_stop(t);
}

/* ---- the heap: the least first ---- */
static void heap_push(Work *w, int64_t k)
{
    int64_t *h = w->heap, i = w->heap_count++;
    for (; i > 0 && h[(i - 1) / 2] > k; i = (i - 1) / 2)
        h[i] = h[(i - 1) / 2];
    h[i] = k;
}

static int64_t heap_pop(Work *w)
{
    int64_t *h = w->heap, least = h[0], last = h[--w->heap_count], i = 0;
    for (int64_t k = 1; k < w->heap_count; i = k, k = 2 * i + 1) {
        k += k + 1 < w->heap_count && h[k + 1] < h[k];
        if (h[k] >= last)
            break;
        h[i] = h[k];
    }
    h[i] = last;
    return least;
}

/* ---- a column ---- */
/* Row i of the column is no longer known to be 0. */
static void touch(Work *w, int64_t i)
{
    Arith *a = w->t->acc;
    if (w->seen[i] == w->j + 1)
        return;
    w->seen[i] = w->j + 1;
    w->touched[w->touched_count++] = i;
    text_copy(a, text_from(a, w->sum, i), w->none, 1);
    if (w->place[i] < w->j)
        heap_push(w, w->place[i]);
}

static void column_load(Work *w, const TextSparse *s)
{
    Textbook *t = w->t;
    w->touched_count = w->heap_count = 0;
    for (int64_t k = s->column_start[w->j]; k < s->column_start[w->j + 1]; k++) {
        TextMark mark = text_mark(t);
        const int64_t i = s->column_row[k];
        TextRow x = text_from(t->f, s->rows.value, s->column_entry[k]);
        touch(w, i);
        text_copy(t->acc, text_from(t->acc, w->sum, i), text_widen(t, x, 1), 1);
        text_release(t, mark);
    }
}

/* Cells of planes: those at[k] of `all` are one after another in `some`. */
static void move_cells(int size, char *some, char *all, const int64_t *at, int64_t n, bool back)
{
    double *to = (double *)(void *)some, *from = (double *)(void *)all;
    if (size == sizeof *to) {
        for (int64_t k = 0; k < n && back; k++)
            from[at[k]] = to[k];
        for (int64_t k = 0; k < n && !back; k++)
            to[k] = from[at[k]];
        return;
    }
    for (int64_t k = 0; k < n; k++) {
        char *one = some + k * size, *other = all + at[k] * size;
        memcpy(back ? other : one, back ? one : other, (size_t)size);
    }
}

static void move(const Arith *a, TextRow some, TextRow all, const int64_t *at, int64_t n, bool back)
{
    move_cells(a->size, some.re, all.re, at, n, back);
    if (all.im)
        move_cells(a->size, some.im, all.im, at, n, back);
}

/* sum -= u times the finished column. */
static void subtract_column(Work *w, const Column *l, TextRow u)
{
    Textbook *t = w->t;
    Arith *a = t->acc;
    TextMark mark = text_mark(t);
    for (int64_t k = 0; k < l->count; k++)
        touch(w, l->row[k]);
    move(a, w->some, w->sum, l->row, l->count, false);
    text_axmy(t, a, w->some, text_widen(t, u, 1), l->value, l->count);
    move(a, w->some, w->sum, l->row, l->count, true);
    text_release(t, mark);
}

/* Its part of U: what finished columns are multiplied with, first to last. */
static void column_eliminate(Work *w)
{
    Textbook *t = w->t;
    w->parts = 0;
    while (w->heap_count && t->status == ARITH_OK) {
        const int64_t k = heap_pop(w);
        TextRow u = text_from(t->f, w->few, w->parts);
        text_narrow(t, u, text_from(t->acc, w->sum, w->row_at[k]), 1);
        if (text_is_zero(t, u))
            continue;
        w->part[w->parts++] = k;
        subtract_column(w, &w->lower[k], u);
        w->terms += (double)w->lower[k].count;
        stopped(t, &w->busy, w->lower[k].count);
    }
    Column c = { positions(w, w->parts), w->parts, take_row(t, t->f, w->parts) };
    memcpy(c.row, w->part, (size_t)c.count * sizeof *c.row);
    text_copy(t->f, c.value, w->few, c.count);
    w->upper[w->j] = c;
}

/* The rows that are left, to the front of `touched`, and their sums as numbers of f in `few`. */
static int64_t column_rest(Work *w)
{
    Textbook *t = w->t;
    Arith *a = t->acc;
    int64_t count = 0;
    for (int64_t k = 0; k < w->touched_count; k++) {
        const int64_t i = w->touched[k];
        if (w->place[i] >= w->j)
            w->touched[count++] = i;
    }
    move(a, w->some, w->sum, w->touched, count, false);
    text_narrow(t, w->few, w->some, count);
    return count;
}

/* The first largest of them, as rows stand by now; -1: all are 0. */
static int64_t largest(Work *w, int64_t count)
{
    Textbook *t = w->t;
    TextCell most;
    int64_t best = -1;
    n_set(t, most.x, t->zero);
    for (int64_t k = 0; k < count && best < 0; k++)
        if (w->place[w->touched[k]] == w->j) {          /* also where it is a nan */
            n_set(t, most.x, text_size(t, text_from(t->f, w->few, k)));
            best = k;
        }
    for (int64_t k = 0; k < count; k++) {
        char *size = text_size(t, text_from(t->f, w->few, k));
        const int order = n_order(t, most.x, size);
        const bool before = order == 0 && best >= 0 &&
                            w->place[w->touched[k]] < w->place[w->touched[best]];
        if (order == -1 || before) {
            n_set(t, most.x, size);
            best = k;
        }
    }
    return best >= 0 && text_is_zero(t, text_from(t->f, w->few, best)) ? -1 : best;
}

/* Row i takes the place j. */
static void interchange(Work *w, int64_t i)
{
    const int64_t other = w->row_at[w->j], place = w->place[i];
    w->row_at[place] = other;
    w->place[other] = place;
    w->row_at[w->j] = i;
    w->place[i] = w->j;
}

/* Its part of L. False: there is no pivot. */
static bool column_divide(Work *w, TextRow pivots)
{
    Textbook *t = w->t;
    Arith *f = t->f;
    const int64_t all = column_rest(w), best = largest(w, all);
    TextRow pivot = text_from(f, pivots, w->j);
    int64_t count = 0;
    if (best < 0)
        return false;
    text_copy(f, pivot, text_from(f, w->few, best), 1);
    interchange(w, w->touched[best]);
    for (int64_t k = 0; k < all; k++) {
        TextRow x = text_from(f, w->few, k);
        if (k == best || text_is_zero(t, x))
            continue;
        text_copy(f, text_from(f, w->few, count), x, 1);
        w->touched[count++] = w->touched[k];
    }
    pivot.step = 0;
    text_div(t, f, w->few, w->few, pivot, count);
    Column c = { positions(w, count), count, take_row(t, t->acc, count) };
    memcpy(c.row, w->touched, (size_t)count * sizeof *c.row);
    TextMark mark = text_mark(t);
    text_copy(t->acc, c.value, text_widen(t, w->few, count), count);
    text_release(t, mark);
    w->lower[w->j] = c;
    return true;
}

/* ---- factors by rows ---- */
/* Finished columns; their rows stand at place[row], or are places where that is NULL. */
static TextEntries by_rows(Work *w, const Column *columns, Arith *of, const int64_t *place)
{
    Textbook *t = w->t;
    Arith *a = t->acc;
    int64_t *start = take_ints(t, w->n + 1), count = 0;
    for (int64_t j = 0; j < w->n; j++) {
        count += columns[j].count;
        for (int64_t k = 0; k < columns[j].count; k++)
            start[place ? place[columns[j].row[k]] : columns[j].row[k]]++;
    }
    for (int64_t i = 0, sum = 0, own; i <= w->n; i++, sum += own) {
        own = start[i];
        start[i] = sum;
    }
    int64_t *at = take_ints(t, count), *next = w->heap;
    TextEntries e = { start, at, take_row(t, a, count) };
    memcpy(next, start, (size_t)w->n * sizeof *next);
    for (int64_t j = 0; j < w->n && !stopped(t, &w->busy, columns[j].count); j++) {
        TextMark mark = text_mark(t);
        TextRow x = of == a ? columns[j].value : text_widen(t, columns[j].value, columns[j].count);
        for (int64_t k = 0; k < columns[j].count; k++) {
            const int64_t r = columns[j].row[k], to = next[place ? place[r] : r]++;
            at[to] = j;
            text_copy(a, text_from(a, e.value, to), text_from(a, x, k), 1);
        }
        text_release(t, mark);
    }
    return e;
}

static int64_t factor_lu(Textbook *t, const TextSparse *s, TextFactors *f)
{
    Work w;
    work_begin(&w, t, s->n);
    f->pivot = take_row(t, t->f, s->n);
    text_fill(t->f, f->pivot, t->zero, t->zero, s->n);
    f->order = w.row_at;
    f->unit = true;
    for (; w.j < s->n && !text_stop(t); w.j++) {
        column_load(&w, s);
        column_eliminate(&w);
        if (!column_divide(&w, f->pivot))
            return w.j;
        f->fill += (double)(1 + w.lower[w.j].count + w.upper[w.j].count);
        w.terms += (double)w.lower[w.j].count / 2;
    }
    f->terms = w.terms;
    if (t->status != ARITH_OK)
        return -1;
    f->lower = by_rows(&w, w.lower, t->acc, w.place);
    f->upper = by_rows(&w, w.upper, t->f, NULL);
    return -1;
}

/* ---- triangles as they are ---- */
static bool is_triangle(Textbook *t, const TextSparse *s, bool upper)
{
    Textbook look = *t;                      /* comparing changes nothing but a status */
    for (int64_t i = 0; i < s->n; i++)
        for (int64_t k = s->rows.start[i]; k < s->rows.start[i + 1]; k++)
            if ((upper ? s->rows.at[k] < i : s->rows.at[k] > i) &&
                !text_is_zero(&look, text_from(t->f, s->rows.value, k)))
                return false;
    return true;
}

/* Its diagonal are the pivots. The first 0 of them, or -1. */
static int64_t factor_triangle(Textbook *t, const TextSparse *s, bool upper, TextFactors *f)
{
    const int64_t entries = s->rows.start[s->n];
    int64_t none = -1;
    TextEntries e = s->rows;
    f->pivot = take_row(t, t->f, s->n);
    text_fill(t->f, f->pivot, t->zero, t->zero, s->n);
    for (int64_t i = 0; i < s->n; i++)
        for (int64_t k = e.start[i]; k < e.start[i + 1]; k++)
            if (e.at[k] == i)
                text_copy(t->f, text_from(t->f, f->pivot, i), text_from(t->f, e.value, k), 1);
    for (int64_t i = 0; i < s->n && none < 0; i++)
        if (text_is_zero(t, text_from(t->f, f->pivot, i)))
            none = i;
    e.value = text_widen(t, e.value, entries);
    *(upper ? &f->upper : &f->lower) = e;
    f->fill = (double)entries;
    return none;
}

int64_t textbook_sparse_factor(Textbook *t, const TextSparse *s, bool always, TextFactors *f)
{
    *f = (TextFactors){ .n = s->n };
    for (int upper = 1; upper >= 0 && !always; upper--)
        if (is_triangle(t, s, upper))
            return factor_triangle(t, s, upper, f);
    return factor_lu(t, s, f);
}

bool textbook_sparse_odd(Textbook *t, const TextFactors *f)
{
    int64_t *seen = take_ints(t, f->n);
    bool odd = false;
    for (int64_t i = 0; i < f->n; i++)
        for (int64_t k = f->order[i]; !seen[i] && k != i; k = f->order[k]) {
            odd = !odd;                      /* a cycle of m places: m - 1 interchanges */
            seen[k] = 1;
        }
    return odd;
}

void textbook_sparse_det(Textbook *t, const TextFactors *f, TextRow out)
{
    Arith *a = t->f;
    text_fill(a, out, t->one, t->zero, 1);
    for (int64_t i = 0; i < f->n; i++)
        if (i == 0)
            text_copy(a, out, f->pivot, 1);
        else
            text_mul(t, a, out, out, text_from(a, f->pivot, i), 1);
    if (textbook_sparse_odd(t, f)) {
        n_set(t, out.re, n_neg(t, out.re));
        text_conj(t, a, out, 1);
    }
}

/* ---- solving ---- */
static void permute(Textbook *t, const int64_t *order, TextMat X)
{
    Arith *f = t->f;
    TextMark mark = text_mark(t);
    TextMat old = text_matrix(t, f, X.rows, X.cols, false);
    for (int64_t i = 0; i < X.rows; i++)
        text_copy(f, text_row(f, old, i, 0), text_row(f, X, i, 0), X.cols);
    for (int64_t i = 0; i < X.rows; i++)
        text_copy(f, text_row(f, X, i, 0), text_row(f, old, order[i], 0), X.cols);
    text_release(t, mark);
}

/* X becomes T^-1 X; W is X in acc. Entries on the other side of the diagonal are zeros. */
static void triangle_row(Textbook *t, const TextEntries *T, bool upper, TextMat X, TextMat W,
                         int64_t i)
{
    Arith *a = t->acc;
    TextMark mark = text_mark(t);
    TextRow s = text_widen(t, text_row(t->f, X, i, 0), X.cols);
    for (int64_t k = T->start[i]; k < T->start[i + 1] && t->status == ARITH_OK; k++)
        if (upper ? T->at[k] > i : T->at[k] < i)
            text_axmy(t, a, s, text_from(a, T->value, k), text_row(a, W, T->at[k], 0), X.cols);
    text_narrow(t, text_row(t->f, X, i, 0), s, X.cols);
    text_release(t, mark);
}

static void triangle(Textbook *t, const TextEntries *T, bool upper, TextRow pivots, TextMat X)
{
    Arith *f = t->f, *a = t->acc;
    TextMark mark = text_mark(t);
    TextMat W = a == f ? X : text_matrix(t, a, X.rows, X.cols, false);
    int64_t busy = 0;
    for (int64_t k = 0; k < X.rows; k++) {
        const int64_t i = upper ? X.rows - 1 - k : k;
        if (stopped(t, &busy, X.cols * (1 + T->start[i + 1] - T->start[i])))
            break;
        TextRow x = text_row(f, X, i, 0);
        triangle_row(t, T, upper, X, W, i);
        if (pivots.re) {
            TextRow pivot = text_from(f, pivots, i);
            pivot.step = 0;
            text_div(t, f, x, x, pivot, X.cols);
        }
        if (a != f) {
            TextMark row = text_mark(t);
            text_copy(a, text_row(a, W, i, 0), text_widen(t, x, X.cols), X.cols);
            text_release(t, row);
        }
    }
    text_release(t, mark);
}

void textbook_sparse_solve(Textbook *t, const TextFactors *f, TextMat X)
{
    if (f->order)
        permute(t, f->order, X);
    if (f->lower.start)
        triangle(t, &f->lower, false, f->unit ? (TextRow){ NULL, NULL, 1 } : f->pivot, X);
    if (f->upper.start)
        triangle(t, &f->upper, true, f->pivot, X);
}
