/* The steps that textbook algorithms are written in: rows of numbers, and scalars as in
 * formulas, `n_div(t, n_sub(t, a, b), c)`. A scalar's result stands in a ring and lives for the
 * next 255 of them; what has to live longer is copied. Included by textbook*.c only. */
#ifndef RICCI_KERNELS_TEXTBOOK_NUMBER_H
#define RICCI_KERNELS_TEXTBOOK_NUMBER_H

#include "kernels/textbook/textbook.h"

#include <string.h>

/* An error, an interrupt; also the place where the heap of cells may be collected. */
bool text_stop(Textbook *);
void text_fail(Textbook *, ArithStatus, int64_t at);

/* One real carrier on the stack: only where text_stop is not called while it is in use, since
 * the collector does not see it. */
typedef union TextCell { double d; Rational cell; char x[16 + 8 * 8]; } TextCell;

/* ---- places ---- */
static inline char *text_cell(const Arith *a, char *base, int64_t index)
{
    return base ? base + index * a->size : NULL;
}

static inline TextRow text_row(const Arith *a, TextMat M, int64_t i, int64_t j)
{
    int64_t at = i * M.row + j * M.col;
    return (TextRow){ text_cell(a, M.re, at), text_cell(a, M.im, at), M.col };
}

static inline TextRow text_column(const Arith *a, TextMat M, int64_t i, int64_t j)
{
    TextRow r = text_row(a, M, i, j);
    r.step = M.row;
    return r;
}

static inline TextRow text_from(const Arith *a, TextRow x, int64_t i)
{
    return (TextRow){ text_cell(a, x.re, i * x.step), text_cell(a, x.im, i * x.step), x.step };
}

static inline TextMat text_block(const Arith *a, TextMat M, int64_t i, int64_t j, int64_t rows,
                                 int64_t cols)
{
    int64_t at = i * M.row + j * M.col;
    return (TextMat){ text_cell(a, M.re, at), text_cell(a, M.im, at), rows, cols, M.row, M.col };
}

static inline TextMat text_transposed(TextMat M)
{
    return (TextMat){ M.re, M.im, M.cols, M.rows, M.col, M.row };
}

static inline TextRow text_real(const char *x)
{
    return (TextRow){ (char *)(uintptr_t)x, NULL, 0 };
}

/* ---- rooms ---- */
typedef struct TextMark { int current[2]; int64_t used[2]; } TextMark;
TextMark text_mark(const Textbook *);
void text_release(Textbook *, TextMark);
/* Not cleared. */
char *text_take(Textbook *, Arith *, int64_t count);
TextRow text_vector(Textbook *, Arith *, int64_t n);
TextMat text_matrix(Textbook *, Arith *, int64_t rows, int64_t cols, bool by_columns);

/* ---- rows: n numbers, in order; `a` is f or acc ---- */
void text_copy(Arith *, TextRow to, TextRow x, int64_t n);
void text_fill(Arith *, TextRow to, const char *re, const char *im, int64_t n);
void text_swap(Arith *, TextRow x, TextRow y, int64_t n);
void text_add(Textbook *, Arith *, TextRow out, TextRow x, TextRow y, int64_t n);
void text_sub(Textbook *, Arith *, TextRow out, TextRow x, TextRow y, int64_t n);
void text_mul(Textbook *, Arith *, TextRow out, TextRow x, TextRow y, int64_t n);
void text_div(Textbook *, Arith *, TextRow out, TextRow x, TextRow y, int64_t n);
void text_conj(Textbook *, Arith *, TextRow x, int64_t n);
void text_axpy(Textbook *, Arith *, TextRow y, TextRow s, TextRow x, int64_t n);    /* y += s x */
void text_axmy(Textbook *, Arith *, TextRow y, TextRow s, TextRow x, int64_t n);    /* y -= s x */
/* x = c x - s y, y = s x + c y with the old x and y; c and s real. */
void text_rotate(Textbook *, TextRow x, TextRow y, const char *c, const char *s, int64_t n);
/* The sum of conj(x[i]) y[i], through acc, as a number of f. */
void text_dot(Textbook *, TextRow out, TextRow x, TextRow y, int64_t n);
/* Numbers of f as ones of acc and back: the rows themselves where they are the same. */
TextRow text_widen(Textbook *, TextRow x, int64_t n);
void text_narrow(Textbook *, TextRow to, TextRow x, int64_t n);

/* ---- real scalars of f ---- */
char *text_ring(Textbook *);
static inline char *n_two(Textbook *t, EwOp op, const char *x, const char *y)
{
    const void *in[3] = { x, y, NULL };
    const int64_t steps[3] = { 0, 0, 0 };
    char *out = text_ring(t);
    if (t->status == ARITH_OK)
        t->status = t->f->ops->ew(t->f, op, out, 0, in, steps, 1);
    return out;
}

static inline char *n_add(Textbook *t, const char *x, const char *y)
{
    return n_two(t, EW_ADD, x, y);
}

static inline char *n_sub(Textbook *t, const char *x, const char *y)
{
    return n_two(t, EW_SUBTRACT, x, y);
}

static inline char *n_mul(Textbook *t, const char *x, const char *y)
{
    return n_two(t, EW_MULTIPLY, x, y);
}

static inline char *n_div(Textbook *t, const char *x, const char *y)
{
    return n_two(t, EW_DIVIDE, x, y);
}

static inline char *n_sqrt(Textbook *t, const char *x) { return n_two(t, EW_SQRT, x, NULL); }
static inline char *n_abs(Textbook *t, const char *x) { return n_two(t, EW_ABS, x, NULL); }
static inline char *n_neg(Textbook *t, const char *x) { return n_two(t, EW_NEGATIVE, x, NULL); }
char *n_const(Textbook *, double);
static inline void n_set(const Textbook *t, char *to, const char *x)
{
    memcpy(to, x, (size_t)t->f->size);
}

/* -1, 0, 1, or 2 where one is nan. */
static inline int n_order(Textbook *t, const char *x, const char *y)
{
    int order = 2;
    if (t->f->carrier == DT_F64) {
        double u, v;
        memcpy(&u, x, sizeof u);
        memcpy(&v, y, sizeof v);
        return u < v ? -1 : u > v ? 1 : u == v ? 0 : 2;
    }
    if (t->status == ARITH_OK)
        t->status = t->f->ops->compare(t->f, x, y, &order);
    return order;
}

static inline bool n_less(Textbook *t, const char *x, const char *y)
{
    return n_order(t, x, y) == -1;
}

static inline int n_sign(Textbook *t, const char *x) { return n_order(t, x, t->zero); }
static inline bool n_is_zero(Textbook *t, const char *x) { return n_order(t, x, t->zero) == 0; }
static inline bool text_is_zero(Textbook *t, TextRow x)
{
    return n_is_zero(t, x.re) && (!x.im || n_is_zero(t, x.im));
}
/* The larger of two numbers, a nan if x is one. */
static inline const char *n_max(Textbook *t, const char *x, const char *y)
{
    return n_less(t, x, y) ? y : x;
}

/* Where products of M's numbers would leave the range of a binary format, M is divided by a power
 * of two that is near its largest: what is returned, to multiply the results with; else NULL. */
char *text_scale(Textbook *, TextMat M);
/* |x|, of complex numbers |re| + |im|. */
char *text_size(Textbook *, TextRow x);
/* The largest |x| of a matrix, complex as above; 0 of an empty one. */
char *text_largest(Textbook *, TextMat M);

#endif
