/* Norms, condition numbers and the matrix exponential in a format. Norms of vectors and norms
 * that are sums are reductions: they run in the accumulator's arithmetic, by the ordinary
 * kernels where those may sum, and are rounded once; norms by singular values run in the
 * format, as do cond and expm. */
#include "builtins/textbook/textbook.h"
#include "kernels/textbook/textbook_number.h"

#include "core/base/error.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

typedef enum NormKind { NORM_P, NORM_FRO, NORM_NUC } NormKind;
typedef struct NormOrder {
    NormKind kind;
    double p;
    bool given;
    char *exact;               /* a vector's order that is a power, as the format's number */
} NormOrder;

/* What is wrong with an order the ordinary row says (norm_ordinary runs it on such). */
static NormOrder read_order(OpCall *c, int i)
{
    NormOrder o = { NORM_P, 2, false, NULL };
    if (!arg_given(c, i) || c->args[i].tag == V_NONE)
        return o;
    o.given = true;
    if (c->args[i].tag == V_STRING)
        o.kind = strcmp(arg_str(c, i)->text, "nuc") == 0 ? NORM_NUC : NORM_FRO;
    else
        o.p = arg_float(c, i);
    return o;
}

static bool by_singular_values(NormOrder o)
{
    return o.kind == NORM_NUC || (o.kind == NORM_P && fabs(o.p) == 2);
}

/* ---- vectors ---- */

/* |x|: of complex numbers the root of re^2 + im^2. */
static char *magnitude(Textbook *t, TextRow x)
{
    if (!x.im)
        return n_abs(t, x.re);
    return n_sqrt(t, n_add(t, n_mul(t, x.re, x.re), n_mul(t, x.im, x.im)));
}

/* x^p by the format's own power, or in f64 and rounded once. */
static char *n_power(Textbook *t, const char *x, const char *p)
{
    char *out = text_ring(t);
    const void *in[3] = { x, p, NULL };
    const int64_t steps[3] = { 0, 0, 0 };
    double v;
    if (t->status != ARITH_OK)
        return out;
    t->status = t->f->ops->ew(t->f, EW_POWER, out, 0, in, steps, 1);
    if (t->status == ARITH_NONE && t->f->carrier == DT_F64) {
        t->status = ARITH_OK;
        ew_kernel(EW_POWER, DT_F64)(&v, 1, in, steps, 1);
        binary_round(t->f, (double *)(void *)out, &v, 1);
    }
    return out;
}

/* Powers are taken by the order itself, in all its digits; 1.0…01 is one, too. */
static void order_power(Book *b, NormOrder *o, int i)
{
    Textbook *t = &b->t;
    if (!o->given || o->kind != NORM_P || isinf(o->p))
        return;
    const Tensor *p = format_number(b->c, i);
    TextRow x = textbook_vector(t, 1);
    textbook_load(t, (TextMat){ x.re, NULL, 1, 1, 1, 1 }, (DType)p->dtype, p->data, 1, 1);
    bool round = o->p == 0 || o->p == 1 || o->p == 2;
    if (!round || n_order(t, x.re, n_const(t, o->p)) != 0)
        o->exact = x.re;
}

/* Sums from the first element to the last. */
static void vector_norm(Textbook *t, NormOrder o, TextRow x, int64_t n, char *out)
{
    const Arith *f = t->f;
    bool largest = isinf(o.p);
    if (o.kind != NORM_P || (o.p == 2 && !o.exact)) {
        textbook_norm2(t, out, x, n);
        return;
    }
    n_set(t, out, t->zero);
    for (int64_t i = 0; i < n && t->status == ARITH_OK; i++) {
        char *v = magnitude(t, text_from(f, x, i));
        if (largest) {
            n_set(t, out, i ? n_two(t, o.p > 0 ? EW_MAXIMUM : EW_MINIMUM, out, v) : v);
        } else {
            char *term = o.exact ? n_power(t, v, o.exact) : v;
            if (o.p == 0 && !o.exact)
                term = n_is_zero(t, v) ? t->zero : t->one;
            n_set(t, out, i ? n_add(t, out, term) : term);
        }
    }
    if (o.exact && n)
        n_set(t, out, n_power(t, out, n_div(t, t->one, o.exact)));
}

/* ---- matrices ---- */

/* The largest or smallest column sum of magnitudes. */
static void column_sums(Textbook *t, TextMat A, bool largest, char *out)
{
    const Arith *f = t->f;
    NormOrder sums = { NORM_P, 1, true, NULL };
    TextCell sum;
    n_set(t, out, t->zero);
    for (int64_t j = 0; j < A.cols && t->status == ARITH_OK; j++) {
        vector_norm(t, sums, text_column(f, A, 0, j), A.rows, sum.x);
        n_set(t, out, j ? n_two(t, largest ? EW_MAXIMUM : EW_MINIMUM, out, sum.x) : sum.x);
    }
}

static void matrix_norm(Book *b, const Stack *s, NormOrder o, TextMat A, char *out)
{
    Textbook *t = &b->t;
    if (by_singular_values(o)) {
        int64_t k = A.rows < A.cols ? A.rows : A.cols;
        TextRow S = textbook_vector(t, k);
        book_svd(b, s, A, S, NULL, NULL);
        int64_t which = o.kind == NORM_P && o.p < 0 ? k - 1 : 0;
        n_set(t, out, k == 0 ? t->zero : text_from(t->f, S, which).re);
        for (int64_t i = 1; o.kind == NORM_NUC && i < k; i++)
            n_set(t, out, n_add(t, out, text_from(t->f, S, i).re));
    } else if (o.kind == NORM_FRO) {
        TextMark mark = text_mark(t);
        TextRow x = text_vector(t, t->f, A.rows * A.cols);
        for (int64_t i = 0; i < A.rows; i++)
            text_copy(t->f, text_from(t->f, x, i * A.cols), text_row(t->f, A, i, 0), A.cols);
        textbook_norm2(t, out, x, A.rows * A.cols);
        text_release(t, mark);
    } else {
        column_sums(t, isinf(o.p) ? text_transposed(A) : A, o.p > 0, out);
    }
}

/* ---- norm ---- */

/* The result: the shape without the axes of the mask, or with length 1 there. */
static Out norm_out(Book *b, const Tensor *x, uint64_t mask, bool keep)
{
    int64_t shape[TENSOR_RANK_MAX];
    int rank = 0;
    for (int d = 0; d < x->rank; d++)
        if (!(mask >> d & 1))
            shape[rank++] = tensor_shape(x)[d];
        else if (keep)
            shape[rank++] = 1;
    Tensor *r = op_keep(b->c, tensor_new(&b->c->in->ctx, b->s->format, rank, shape));
    return (Out){ r, r->data, dtype_info(b->s->format)->bytes };
}

/* Norms of the matrices that the two axes of the mask make, rows first. */
static Value norm_matrices(OpCall *c, Scope *s, NormOrder o, uint64_t mask, bool keep)
{
    Book b;
    bool values = by_singular_values(o);
    if (values)
        book_open(&b, c, s, 1, false);
    else
        book_open_summing(&b, c, s);
    Tensor *x = book_operand(&b, 0);
    Out out = norm_out(&b, x, mask, keep);
    Stack a = linalg_stack_as(c, 0, op_keep(c, tensor_axes_last(&c->in->ctx, x, mask)));
    for (int64_t i = 0; i < a.count; i++) {
        textbook_reset(&b.t);
        TextMat A = book_load(&b, &a, i, a.m >= a.n);
        TextRow r = textbook_vector(&b.t, 1);
        if (values)
            book_require_finite(&b, &a, A);
        matrix_norm(&b, &a, o, A, r.re);
        book_store_row(&b, &out, i, (TextRow){ r.re, NULL, 1 }, 1);
        book_check(&b, &a);
    }
    book_close(&b);
    return book_value(&b, &out);
}

/* Vector norms over the axes of the mask: each as one row of a matrix. */
static Value norm_vectors(OpCall *c, Scope *s, NormOrder o, uint64_t mask, bool keep)
{
    Book b;
    Ctx *ctx = &c->in->ctx;
    book_open_summing(&b, c, s);
    Tensor *x = book_operand(&b, 0);
    int64_t n = 1;
    for (int d = 0; d < x->rank; d++)
        n *= mask >> d & 1 ? tensor_shape(x)[d] : 1;
    Tensor *flat = op_keep(c, tensor_compact(ctx, op_keep(c, tensor_axes_last(ctx, x, mask))));
    Out out = norm_out(&b, x, mask, keep);
    int64_t bytes = dtype_info((DType)flat->dtype)->bytes;
    if (n == 0 && o.kind == NORM_P && isinf(o.p) && o.p < 0)
        arg_error(c, 0, ERR_VALUE, "%s is empty and has no smallest element", arg_text(c, 0));
    for (int64_t i = 0; i < out.t->size; i++) {
        textbook_reset(&b.t);
        poll_interrupt(c->in);
        TextMat row = book_load_at(&b, (Mat){ flat->data + i * n * bytes, n, 1 }, 1, n, false);
        TextRow v = textbook_vector(&b.t, 1);
        order_power(&b, &o, 1);
        vector_norm(&b.t, o, text_row(b.t.f, row, 0, 0), n, v.re);
        book_store_row(&b, &out, i, (TextRow){ v.re, NULL, 1 }, 1);
        book_check(&b, NULL);
    }
    book_close(&b);
    return book_value(&b, &out);
}

static bool order_exists(OpCall *c, NormOrder o, bool matrix)
{
    if (c->args[1].tag == V_STRING && o.given) {
        const char *text = arg_str(c, 1)->text;
        return (matrix && strcmp(text, "nuc") == 0) || strcmp(text, "fro") == 0;
    }
    return !isnan(o.p) && (!matrix || fabs(o.p) == 1 || fabs(o.p) == 2 || isinf(o.p));
}

/* The axes that are normed over, and whether they make matrices. */
static uint64_t norm_mask(OpCall *c, NormOrder *o, bool *matrix)
{
    Tensor *x = arg_tensor(c, 0);
    uint64_t all = x->rank ? ~0ull >> (64 - x->rank) : 0;
    bool by_axis = arg_given(c, 2) && c->args[2].tag != V_NONE;
    *matrix = o->given && !by_axis && x->rank >= 2 && !(x->flags & TENSOR_COVECTOR);
    if (!by_axis)
        return *matrix ? 3ull << (x->rank - 2) : all;
    uint64_t mask = arg_axes(c, 2, x->rank);
    *matrix = __builtin_popcountll(mask) == 2;
    if (*matrix && !o->given)
        o->kind = NORM_FRO;
    if (*matrix)
        o->p = linalg_order_for_axes(c, o->p, x->rank);
    return mask;
}

Value op_format_norm(OpCall *c, Scope *s)
{
    bool matrix;
    NormOrder o = read_order(c, 1);
    uint64_t mask = norm_mask(c, &o, &matrix);
    int axes = __builtin_popcountll(mask), rank = arg_tensor(c, 0)->rank;
    bool by_axis = arg_given(c, 2) && c->args[2].tag != V_NONE;
    bool values = matrix && by_singular_values(o);
    bool wrong = !order_exists(c, o, matrix) || (by_axis && rank && (axes == 0 || axes > 2));
    bool empty = matrix && arg_tensor(c, 0)->size == 0;
    if (wrong || empty)
        return precise_outside(c, s, DT_F64, true);    /* for its errors and its zeros */
    if (precise_fast(s) && (!values || scope_ordinary(s)))
        return precise_outside(c, s, scope_ordinary(s) ? DT_NONE : s->accumulate, true);
    if (matrix)
        return norm_matrices(c, s, o, mask, arg_bool(c, 3, false));
    return norm_vectors(c, s, o, mask, arg_bool(c, 3, false));
}

/* ---- condition numbers ---- */

/* Of deficient rank, as rank() has it: where cond is 1 / (eps times the longer side) or more. */
static bool is_deficient(Book *b, const Stack *s, const char *cond)
{
    Textbook *t = &b->t;
    BookQuiet q = book_quiet(b);
    const char *eps = n_mul(t, t->eps, n_const(t, (double)(s->m > s->n ? s->m : s->n)));
    bool full = n_less(t, n_mul(t, cond, eps), t->one);
    book_loud(b, q);
    return !full;
}

/* Singular where a pivot is zero, or where the 1-norm's condition number says so: the largest
 * number there is, or an error without infinity. */
static void cond_by_inverse(Book *b, const Stack *s, NormOrder o, TextMat A, char *out)
{
    Textbook *t = &b->t;
    NormOrder columns = { NORM_P, 1, true, NULL };
    TextMat X = textbook_matrix(t, A.rows, A.cols, false);
    char *norm = text_take(t, t->f, 1), *inverse = text_take(t, t->f, 1);
    char *one = text_take(t, t->f, 1);
    BookQuiet q = book_quiet(b);
    matrix_norm(b, s, columns, A, one);
    book_loud(b, q);
    matrix_norm(b, s, o, A, norm);
    if (book_inverse(b, A, X) >= 0) {
        n_set(t, out, n_div(t, t->one, t->zero));
        return;
    }
    q = book_quiet(b);
    matrix_norm(b, s, columns, X, inverse);
    n_set(t, one, n_mul(t, one, inverse));
    book_loud(b, q);
    matrix_norm(b, s, o, X, inverse);
    n_set(t, out, is_deficient(b, s, one) ? n_div(t, t->one, t->zero) : n_mul(t, norm, inverse));
}

/* The extremes of the singular values, or their sum times that of their inverses. */
static void cond_by_values(Book *b, const Stack *s, NormOrder o, TextMat A, char *out)
{
    Textbook *t = &b->t;
    int64_t k = A.rows < A.cols ? A.rows : A.cols;
    TextRow S = textbook_vector(t, k);
    TextCell sum, inverses;
    book_svd(b, s, A, S, NULL, NULL);
    const char *top = S.re, *low = text_from(t->f, S, k - 1).re;
    bool inverse = o.kind == NORM_P && o.p < 0, enclosed = b->s->format == DT_INTERVAL;
    BookQuiet q = book_quiet(b);
    bool deficient = !enclosed &&
                     (n_is_zero(t, low) || is_deficient(b, s, n_div(t, top, low)));
    book_loud(b, q);
    if (deficient) {
        bool zero = inverse && !n_is_zero(t, top);
        n_set(t, out, zero ? t->zero : n_div(t, t->one, t->zero));
        return;
    }
    if (o.kind != NORM_NUC) {
        n_set(t, out, inverse ? n_div(t, low, top) : n_div(t, top, low));
        return;
    }
    n_set(t, sum.x, t->zero);
    n_set(t, inverses.x, t->zero);
    for (int64_t i = 0; i < k; i++) {
        const char *size = text_from(t->f, S, i).re;
        n_set(t, sum.x, n_add(t, sum.x, size));
        n_set(t, inverses.x, n_add(t, inverses.x, n_div(t, t->one, size)));
    }
    n_set(t, out, n_mul(t, sum.x, inverses.x));
}

Value op_format_cond(OpCall *c, Scope *s)
{
    Value done;
    Book b;
    NormOrder o = read_order(c, 1);
    bool values = by_singular_values(o);
    if (book_ordinary(c, s, &done))
        return done;
    if (!order_exists(c, o, true))
        return precise_outside(c, s, DT_F64, true);             /* raises */
    book_open(&b, c, s, 1, false);
    Stack a = values && o.kind != NORM_NUC ? book_stack(&b, 0) : book_square(&b, 0);
    Out out = book_out_real(&b, &a, -1, -1);
    if (a.m == 0 || a.n == 0)
        arg_error(c, 0, ERR_SHAPE, "%s is empty and has no condition number", arg_text(c, 0));
    for (int64_t i = 0; i < a.count; i++) {
        textbook_reset(&b.t);
        TextMat A = book_load(&b, &a, i, a.m >= a.n);
        TextRow r = textbook_vector(&b.t, 1);
        book_require_finite(&b, &a, A);
        if (values)
            cond_by_values(&b, &a, o, A, r.re);
        else
            cond_by_inverse(&b, &a, o, A, r.re);
        book_check(&b, &a);
        book_store_row(&b, &out, i, (TextRow){ r.re, NULL, 1 }, 1);
        book_check(&b, &a);
    }
    book_close(&b);
    return book_value(&b, &out);
}

/* ---- the exponential ---- */

static void scale(Book *b, TextMat A, const char *by)
{
    for (int64_t i = 0; i < A.rows; i++) {
        TextRow x = text_row(b->t.f, A, i, 0);
        text_mul(&b->t, b->t.f, x, x, text_real(by), A.cols);
    }
}

/* The largest magnitude of A is at most eps times that of E. */
static bool is_nothing(Book *b, TextMat A, TextMat E)
{
    Textbook *t = &b->t;
    TextMark mark = text_mark(t);
    BookQuiet q = book_quiet(b);
    TextCell least;                  /* a scalar in the ring would not outlive the other search */
    n_set(t, least.x, n_mul(t, t->eps, text_largest(t, E)));
    bool nothing = n_order(t, text_largest(t, A), least.x) < 1;
    book_loud(b, q);
    text_release(t, mark);
    return nothing;
}

/* How often A is halved until its 1-norm is at most 1/2. */
static int halvings(Book *b, TextMat A)
{
    Textbook *t = &b->t;
    TextCell norm;
    BookQuiet q = book_quiet(b);
    int s = 0;
    column_sums(t, A, true, norm.x);
    for (; s < 4096 && !n_is_zero(t, t->eps) && n_less(t, t->half, norm.x); s++)
        n_set(t, norm.x, n_mul(t, norm.x, t->half));
    book_loud(b, q);
    return s;
}

/* I + X + X^2/2 + … of X = A / 2^s until a term is nothing beside the sum, then s squarings
 * (Moler and Van Loan, Nineteen dubious ways: method 3 with Taylor's series). */
static void exponential(Book *b, TextMat A, TextMat E)
{
    Textbook *t = &b->t;
    Arith *f = t->f;
    int s = halvings(b, A);
    int64_t n = A.rows, most = n_is_zero(t, t->eps) ? n : 10000;
    TextMat term = textbook_matrix(t, n, n, false), next = textbook_matrix(t, n, n, false);
    for (int i = 0; i < s; i++)
        scale(b, A, t->half);
    for (int64_t i = 0; i < n; i++) {
        text_fill(f, text_row(f, E, i, i), t->one, t->zero, 1);
        text_fill(f, text_row(f, term, i, i), t->one, t->zero, 1);
    }
    for (int64_t k = 1; !text_stop(t); k++) {
        textbook_product(t, next, term, A);
        TextCell inverse;
        n_set(t, inverse.x, n_const(t, (double)k));
        for (int64_t i = 0; i < n; i++) {
            TextRow x = text_row(f, next, i, 0), e = text_row(f, E, i, 0);
            text_div(t, f, x, x, text_real(inverse.x), n);
            text_add(t, f, e, e, x, n);
        }
        TextMat swap = term;
        term = next, next = swap;
        if (is_nothing(b, term, E))
            break;
        if (k > most)
            text_fail(t, ARITH_DIVERGED, k);
    }
    for (int i = 0; i < s && !text_stop(t); i++) {
        textbook_product(t, next, E, E);
        for (int64_t r = 0; r < n; r++)
            text_copy(f, text_row(f, E, r, 0), text_row(f, next, r, 0), n);
    }
}

Value op_format_expm(OpCall *c, Scope *s)
{
    Value done;
    Book b;
    if (book_ordinary(c, s, &done))
        return done;
    book_require_points(c, s);
    book_open(&b, c, s, 1, false);
    Stack a = book_square(&b, 0);
    Out out = book_out(&b, &a, a.n, a.n);
    for (int64_t i = 0; i < a.count; i++) {
        textbook_reset(&b.t);
        TextMat A = book_load(&b, &a, i, false), E = textbook_matrix(&b.t, a.n, a.n, false);
        book_require_finite(&b, &a, A);
        exponential(&b, A, E);
        book_store(&b, &out, i, E);
        book_check(&b, &a);
    }
    book_close(&b);
    return book_value(&b, &out);
}
