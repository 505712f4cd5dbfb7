/* Eigenvalues and singular values in a format, and what they decide: svd, svdvals, eig,
 * eigvals, eigh, eigvalsh, schur, hess, pinv, rank, null, orth. Jacobi's methods and the QR
 * iteration of kernels/textbook, for real and complex matrices. */
#include "builtins/textbook/textbook.h"
#include "builtins/written/written.h"
#include "kernels/textbook/textbook_number.h"

#include "core/base/error.h"

#include <stdio.h>

static void say(Book *b, const char *routine)
{
    if (heard_on(b->c->in))
        explain_routine(b->c->in, routine, NULL, "%s, every operation rounded to %s", routine,
                        dtype_name(b->s->format));
}

/* ---- singular values ---- */

static void conjugate(Textbook *t, TextMat M)
{
    for (int64_t j = 0; j < M.cols; j++)
        text_conj(t, t->f, text_column(t->f, M, 0, j), M.rows);
}

/* One-sided rotations take a tall matrix; of a wide one they take the transpose. */
void book_svd(Book *b, const Stack *s, TextMat A, TextRow S, TextMat *U, TextMat *V)
{
    Textbook *t = &b->t;
    bool tall = A.rows >= A.cols;
    TextMat M = tall ? A : text_transposed(A), W = { 0 };
    if (b->s->format == DT_INTERVAL) {
        book_interval_values(b, A, S);
        return;
    }
    if (U)
        W = textbook_matrix(t, M.cols, M.cols, true);
    textbook_svd(t, M, S, W);
    book_check(b, s);
    if (U) {
        *U = tall ? M : W;
        *V = tall ? W : M;
        if (!tall) {                         /* A.T = M S W', so A = conj(W) S conj(M)' */
            conjugate(t, *U);
            conjugate(t, *V);
        }
    }
}

TextMat book_adjoint(Book *b, TextMat V)
{
    Textbook *t = &b->t;
    TextMat M = V;
    if (V.im) {
        M = textbook_matrix(t, V.rows, V.cols, true);
        for (int64_t j = 0; j < V.cols; j++)
            text_copy(t->f, text_column(t->f, M, 0, j), text_column(t->f, V, 0, j), V.rows);
        conjugate(t, M);
    }
    return text_transposed(M);
}

/* Q with more columns: the known ones, and an orthonormal completion. */
static TextMat completed(Book *b, TextMat Q, int64_t cols)
{
    Textbook *t = &b->t;
    TextMat full = textbook_matrix(t, Q.rows, cols, true);
    for (int64_t j = 0; j < Q.cols; j++)
        text_copy(t->f, text_column(t->f, full, 0, j), text_column(t->f, Q, 0, j), Q.rows);
    textbook_complete(t, full, Q.cols);
    return full;
}

static bool has_rtol(const OpCall *c, int i)
{
    return i >= 0 && arg_given(c, i) && c->args[i].tag != V_NONE;
}

int64_t book_rank(Book *b, const Stack *s, TextRow S, int rtol)
{
    Textbook *t = &b->t;
    int64_t k = s->m < s->n ? s->m : s->n, big = s->m > s->n ? s->m : s->n, r = 0;
    BookQuiet q = book_quiet(b);
    if (k == 0)
        return 0;
    char *by = has_rtol(b->c, rtol) ? n_const(t, arg_float(b->c, rtol))
                                    : n_mul(t, t->eps, n_const(t, (double)big));
    TextCell limit;
    n_set(t, limit.x, n_mul(t, by, S.re));
    while (r < k && n_less(t, limit.x, text_from(t->f, S, r).re))
        r++;
    book_loud(b, q);
    return r;
}

static void require_rtol(OpCall *c, int i)
{
    if (has_rtol(c, i) && !(arg_float(c, i) >= 0))
        arg_error(c, i, ERR_VALUE, "rtol must be 0 or more, but it is %g", arg_float(c, i));
}

Value op_format_svd(OpCall *c, Scope *s)
{
    Value done;
    Book b;
    bool full = arg_bool(c, 1, false);
    if (book_ordinary(c, s, &done))
        return done;
    book_require_points(c, s);
    book_open(&b, c, s, 1, s->format == DT_INTERVAL);
    Stack a = book_stack(&b, 0);
    int64_t m = a.m, n = a.n, k = m < n ? m : n;
    Out ou = book_out(&b, &a, m, full ? m : k), os = book_out_real(&b, &a, k, -1);
    Out ov = book_out(&b, &a, full ? n : k, n);
    for (int64_t i = 0; i < a.count; i++) {
        textbook_reset(&b.t);
        TextMat A = book_load(&b, &a, i, m >= n), U, V;
        TextRow S = textbook_vector(&b.t, k);
        book_require_finite(&b, &a, A);
        book_svd(&b, &a, A, S, &U, &V);
        book_store(&b, &ou, i, full && m > k ? completed(&b, U, m) : U);
        book_store_row(&b, &os, i, S, k);
        book_store(&b, &ov, i, book_adjoint(&b, full && n > k ? completed(&b, V, n) : V));
        book_check(&b, &a);
    }
    book_close(&b);
    say(&b, "one-sided Jacobi rotations");
    return book_tuple(&b, "U", &ou, "S", &os, "Vt", &ov, NULL);
}

Value op_format_svdvals(OpCall *c, Scope *s)
{
    Value done;
    Book b;
    if (book_ordinary(c, s, &done))
        return done;
    if (s->format == DT_INTERVAL)
        return book_interval_svdvals(c, s);
    book_open(&b, c, s, 1, s->format == DT_INTERVAL);
    Stack a = book_stack(&b, 0);
    int64_t k = a.m < a.n ? a.m : a.n;
    Out out = book_out_real(&b, &a, k, -1);
    for (int64_t i = 0; i < a.count; i++) {
        textbook_reset(&b.t);
        TextMat A = book_load(&b, &a, i, a.m >= a.n);
        TextRow S = textbook_vector(&b.t, k);
        book_require_finite(&b, &a, A);
        book_svd(&b, &a, A, S, NULL, NULL);
        book_store_row(&b, &out, i, S, k);
        book_check(&b, &a);
    }
    book_close(&b);
    say(&b, "one-sided Jacobi rotations");
    return book_value(&b, &out);
}

Value op_format_rank(OpCall *c, Scope *s)
{
    Value done;
    Book b;
    if (book_ordinary(c, s, &done))
        return done;
    book_require_points(c, s);
    require_rtol(c, 1);
    book_open(&b, c, s, 1, s->format == DT_INTERVAL);
    Stack a = book_stack(&b, 0);
    Out out = linalg_out(&a, DT_I64, -1, -1, false);
    for (int64_t i = 0; i < a.count; i++) {
        textbook_reset(&b.t);
        TextMat A = book_load(&b, &a, i, a.m >= a.n);
        int64_t *rank = (int64_t *)(void *)out.data + i;
        if (s->format == DT_RATIONAL) {          /* complex fractions: by elimination, exactly */
            *rank = textbook_rref(&b.t, A, b.t.zero, book_order(&b, a.m < a.n ? a.m : a.n));
            book_check(&b, &a);
            continue;
        }
        TextRow S = textbook_vector(&b.t, a.m < a.n ? a.m : a.n);
        book_require_finite(&b, &a, A);
        book_svd(&b, &a, A, S, NULL, NULL);
        *rank = book_rank(&b, &a, S, 1);
    }
    book_close(&b);
    return book_value(&b, &out);
}

/* V diag(1 / s) U', with the singular values below the tolerance left out. */
Value op_format_pinv(OpCall *c, Scope *s)
{
    Value done;
    Book b;
    if (book_ordinary(c, s, &done))
        return done;
    book_require_points(c, s);
    require_rtol(c, 1);
    book_open(&b, c, s, 1, s->format == DT_INTERVAL);
    Stack a = book_stack(&b, 0);
    Out out = book_out(&b, &a, a.n, a.m);
    for (int64_t i = 0; i < a.count; i++) {
        textbook_reset(&b.t);
        Textbook *t = &b.t;
        TextMat A = book_load(&b, &a, i, a.m >= a.n), U, V, X = textbook_matrix(t, a.n, a.m, false);
        TextRow S = textbook_vector(t, a.m < a.n ? a.m : a.n);
        book_require_finite(&b, &a, A);
        book_svd(&b, &a, A, S, &U, &V);
        int64_t rank = book_rank(&b, &a, S, 1);
        for (int64_t j = 0; j < rank; j++) {
            TextRow v = text_column(t->f, V, 0, j);
            text_div(t, t->f, v, v, text_real(text_from(t->f, S, j).re), V.rows);
        }
        V.cols = U.cols = rank;
        textbook_product(t, X, V, book_adjoint(&b, U));
        book_store(&b, &out, i, X);
        book_check(&b, &a);
    }
    book_close(&b);
    return book_value(&b, &out);
}

/* The columns of V (for null) or U (for orth) that the rank decides about. */
static Value basis(OpCall *c, Scope *s, bool null)
{
    Value done;
    Book b;
    TextMat U, V;
    if (book_ordinary(c, s, &done))
        return done;
    book_require_points(c, s);
    require_rtol(c, 1);
    book_open(&b, c, s, 1, s->format == DT_INTERVAL);
    Stack a = book_stack(&b, 0);
    if (a.batch_rank)
        arg_error(c, 0, ERR_SHAPE,
                  "%s must be one matrix: the width of the result depends on its rank",
                  arg_text(c, 0));
    TextMat A = book_load(&b, &a, 0, a.m >= a.n);
    TextRow S = textbook_vector(&b.t, a.m < a.n ? a.m : a.n);
    book_require_finite(&b, &a, A);
    book_svd(&b, &a, A, S, &U, &V);
    int64_t rank = book_rank(&b, &a, S, 1), rows = null ? a.n : a.m;
    int64_t width = null ? a.n - rank : rank;
    TextMat Q = null && V.cols < a.n ? completed(&b, V, a.n) : null ? V : U;
    Out out = book_out(&b, &a, rows, width);
    if (width)
        book_store(&b, &out, 0, text_block(b.t.f, Q, 0, null ? rank : 0, rows, width));
    book_check(&b, &a);
    book_close(&b);
    return book_value(&b, &out);
}

Value op_format_null(OpCall *c, Scope *s) { return basis(c, s, true); }
Value op_format_orth(OpCall *c, Scope *s) { return basis(c, s, false); }

/* ---- symmetric matrices ---- */

/* Rounding may have left the halves a little different: the lower one counts. */
static void mirror(Book *b, TextMat A)
{
    const Arith *f = b->t.f;
    for (int64_t i = 0; i < A.rows; i++)
    {
        TextRow above = text_column(f, A, 0, i);
        text_copy(b->t.f, above, text_row(f, A, i, 0), i);
        text_conj(&b->t, b->t.f, above, i);
        if (A.im)
            n_set(&b->t, text_row(f, A, i, i).im, b->t.zero);
    }
}

static Value symmetric(OpCall *c, Scope *s, bool vectors)
{
    Value done;
    Book b;
    char help[200];
    const char *name = arg_text(c, 0);
    if (book_ordinary(c, s, &done))
        return done;
    if (s->format == DT_INTERVAL)
        return book_interval_eigh(c, s, vectors);
    book_open(&b, c, s, 1, s->format == DT_INTERVAL);
    Stack a = book_square(&b, 0);
    Out values = book_out_real(&b, &a, a.n, -1), v = { 0 };
    if (vectors)
        v = book_out(&b, &a, a.n, a.n);
    snprintf(help, sizeof help, "eig(%s) takes any matrix, eigh((%s + %s')/2) its symmetric part",
             name, name, name);
    for (int64_t i = 0; i < a.count; i++) {
        textbook_reset(&b.t);
        TextMat A = book_load(&b, &a, i, false), V = { 0 };
        TextRow w = textbook_vector(&b.t, a.n);
        book_require_finite(&b, &a, A);
        book_require_symmetric(&b, &a, A, help);
        mirror(&b, A);
        if (vectors)
            V = textbook_matrix(&b.t, a.n, a.n, true);
        textbook_eigh(&b.t, A, w, V);
        book_check(&b, &a);
        book_store_row(&b, &values, i, w, a.n);
        if (vectors)
            book_store(&b, &v, i, V);
        book_check(&b, &a);
    }
    book_close(&b);
    say(&b, "cyclic Jacobi rotations");
    return vectors ? book_tuple(&b, "values", &values, "vectors", &v, NULL)
                   : book_value(&b, &values);
}

Value op_format_eigh(OpCall *c, Scope *s)
{
    return written_asked(c, 1) ? written_call(c, "_eigh_more") : symmetric(c, s, true);
}

Value op_format_eigvalsh(OpCall *c, Scope *s) { return symmetric(c, s, false); }

/* ---- general matrices ---- */

typedef struct Schur { TextMat T, Z; TextRow values; } Schur;

static Schur schur_of(Book *b, Stack *a, int64_t index, bool vectors)
{
    Textbook *t = &b->t;
    Schur r = { .T = book_load(b, a, index, false) };
    if (vectors)
        r.Z = textbook_matrix(t, a->n, a->n, true);
    r.values = (TextRow){ text_take(t, t->f, a->n), text_take(t, t->f, a->n), 1 };
    text_fill(t->f, r.values, t->zero, t->zero, a->n);
    book_require_finite(b, a, r.T);
    (t->pairs ? textbook_schur_complex : textbook_schur)(t, r.T, r.Z, r.values);
    book_check(b, a);
    return r;
}

static bool any_imaginary(Book *b, TextRow values, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        if (!n_is_zero(&b->t, text_from(b->t.f, values, i).im))
            return true;
    return false;
}

static Value general(OpCall *c, Scope *s, bool vectors)
{
    Value done;
    Book b;
    bool pairs;
    if (book_ordinary(c, s, &done))
        return done;
    book_require_points(c, s);
    book_open(&b, c, s, 1, s->format == DT_INTERVAL);
    Stack a = book_square(&b, 0);
    Textbook *t = &b.t;
    int64_t bytes = a.count * (int64_t)sizeof(Schur);
    pairs = t->pairs;
    Schur *each = (void *)op_keep(c, tensor_new(&c->in->ctx, DT_U8, 1, &bytes))->data;
    for (int64_t i = 0; i < a.count; i++) {
        each[i] = schur_of(&b, &a, i, vectors);
        pairs |= any_imaginary(&b, each[i].values, a.n);
    }
    DType dt = precise_dtype(s->format, pairs);
    Out values = linalg_out(&a, dt, a.n, -1, false), v = { 0 };
    if (vectors)
        v = linalg_out(&a, dt, a.n, a.n, false);
    for (int64_t i = 0; i < a.count; i++) {
        TextMark mark = text_mark(t);
        TextRow w = each[i].values;
        TextMat V = textbook_matrix(t, a.n, a.n, false);
        if (!t->pairs)
            V.im = pairs ? text_take(t, t->f, a.n * a.n) : NULL;
        textbook_store(t, linalg_block(&values, i), a.n, 1,
                       (TextMat){ w.re, pairs ? w.im : NULL, 1, a.n, 0, 1 }, pairs);
        if (vectors) {
            textbook_eigenvectors(t, each[i].T, each[i].Z, w, V);
            textbook_store(t, linalg_block(&v, i), a.n, 1, V, pairs);
        }
        book_check(&b, &a);
        text_release(t, mark);
    }
    book_close(&b);
    say(&b, "Hessenberg form and double-shift QR");
    return vectors ? book_tuple(&b, "values", &values, "vectors", &v, NULL)
                   : book_value(&b, &values);
}

Value op_format_eig(OpCall *c, Scope *s)
{
    if (written_asked(c, 1) || arg_bool(c, 2, false))
        return written_call(c, "_eig_more");
    return general(c, s, true);
}

Value op_format_eigvals(OpCall *c, Scope *s) { return general(c, s, false); }

Value op_format_schur(OpCall *c, Scope *s)
{
    Value done;
    Book b;
    if (book_ordinary(c, s, &done))
        return done;
    book_require_points(c, s);
    if (arg_bool(c, 1, false))
        book_open_complex(&b, c, s);
    else
        book_open(&b, c, s, 1, s->format == DT_INTERVAL);
    Stack a = book_square(&b, 0);
    Out ot = book_out(&b, &a, a.n, a.n), oz = book_out(&b, &a, a.n, a.n);
    for (int64_t i = 0; i < a.count; i++) {
        textbook_reset(&b.t);
        Schur r = schur_of(&b, &a, i, true);
        book_store(&b, &ot, i, r.T);
        book_store(&b, &oz, i, r.Z);
        book_check(&b, &a);
    }
    book_close(&b);
    say(&b, "Hessenberg form and double-shift QR");
    return book_tuple(&b, "T", &ot, "Z", &oz, NULL);
}

Value op_format_hess(OpCall *c, Scope *s)
{
    Value done;
    Book b;
    if (book_ordinary(c, s, &done))
        return done;
    book_require_points(c, s);
    book_open(&b, c, s, 1, s->format == DT_INTERVAL);
    Stack a = book_square(&b, 0);
    Out oh = book_out(&b, &a, a.n, a.n), oq = book_out(&b, &a, a.n, a.n);
    for (int64_t i = 0; i < a.count; i++) {
        textbook_reset(&b.t);
        TextMat A = book_load(&b, &a, i, false), Q = textbook_matrix(&b.t, a.n, a.n, true);
        book_require_finite(&b, &a, A);
        textbook_hessenberg(&b.t, A, Q);
        book_store(&b, &oh, i, A);
        book_store(&b, &oq, i, Q);
        book_check(&b, &a);
    }
    book_close(&b);
    say(&b, "Householder reflections");
    return book_tuple(&b, "H", &oh, "Q", &oq, NULL);
}
