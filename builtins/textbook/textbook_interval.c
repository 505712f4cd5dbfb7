/* solve, inv, det, eigh, eigvalsh, svdvals and lstsq of interval matrices: enclosures that contain
 * the exact result for every choice of points in the operands, verified by
 * kernels/textbook/textbook_interval.c and builtins/verified. Rectangles X + iY are the real
 * matrices (X, -Y; Y, X), among which is every complex matrix in them, in its place. */
#include "builtins/textbook/textbook.h"
#include "builtins/verified/verified.h"
#include "kernels/textbook/textbook_number.h"

#include "core/base/error.h"
#include "core/system/c_locale.h"

#include <math.h>
#include <stdio.h>

static Interval *matrix_at(Book *b, Stack *a, int64_t index)
{
    Mat at = linalg_item(a, index);
    Interval *x = linalg_work(b->c, (size_t)(a->m * a->n) + 1, sizeof *x);
    poll_interrupt(b->c->in);
    a->at = index;
    for (int64_t i = 0; i < a->m; i++)
        for (int64_t j = 0; j < a->n; j++)
            x[i * a->n + j] = ((const Interval *)(const void *)at.data)[i * at.rs + j * at.cs];
    return x;
}

static Interval opposite(Interval x) { return (Interval){ -x.hi, -x.lo }; }

/* (re, -im; im, re), by rows. */
static Interval *embedded(Book *b, TextMat A)
{
    int64_t m = A.rows, n = A.cols;
    Interval *x = linalg_work(b->c, (size_t)(4 * m * n) + 1, sizeof *x);
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = 0; j < n; j++) {
            TextRow at = text_row(b->t.f, A, i, j);
            Interval re = *(Interval *)(void *)at.re, im = *(Interval *)(void *)at.im;
            x[i * 2 * n + j] = x[(m + i) * 2 * n + n + j] = re;
            x[(m + i) * 2 * n + j] = im;
            x[i * 2 * n + n + j] = opposite(im);
        }
    return x;
}

/* Each value of a rectangle stands twice among those of the real matrix: two enclosures of it. */
static void both_of_each(const Interval *twice, Interval *out, int64_t n)
{
    for (int64_t k = 0; k < n; k++)
        out[k] = (Interval){ fmax(twice[2 * k].lo, twice[2 * k + 1].lo),
                             fmin(twice[2 * k].hi, twice[2 * k + 1].hi) };
}

/* Of the middle of A; 0: unknown. */
static double condition(Book *b, Stack *a, bool *points)
{
    Spread A;
    int64_t k = a->m < a->n ? a->m : a->n;
    Interval *sigma = linalg_work(b->c, (size_t)k + 1, sizeof *sigma);
    *points = true;
    if (k == 0 || !verified_spread(b->c, matrix_at(b, a, a->at), a->m, a->n, &A))
        return 0;
    *points = A.points;
    memset(A.rad, 0, (size_t)(a->m * a->n) * sizeof *A.rad);
    A.points = true;
    if (verified_svdvals(b->c, &A, sigma) != VERIFIED)
        return 0;
    return sigma[0].hi / (sigma[k - 1].lo / 2 + sigma[k - 1].hi / 2);
}

static _Noreturn void not_enclosed(Book *b, Stack *a, const char *fix)
{
    OpCall *c = b->c;
    char help[160], about[80] = "", where[48] = "";
    const char *name = arg_text(c, 0);
    bool points = false;
    double cond = b->t.pairs ? 0 : condition(b, a, &points);
    points = !b->t.pairs && points;
    if (cond > 1e14)
        snprintf(about, sizeof about, ": condition number above 1e14");
    else if (cond > 0)
        c_snprintf(about, sizeof about, ": condition number about %.2g%s", cond,
                   points ? "" : ", intervals that wide");
    if (a->batch_rank)
        snprintf(where, sizeof where, " (matrix %lld)", (long long)a->at);
    c_snprintf(help, sizeof help, fix, name);
    arg_error_help(c, a->arg, ERR_NUMERIC, help,
                   "cannot verify a result: %s%s %s%s", name, where,
                   a->m != a->n ? "is not of full rank, or too near to a lower one for f64"
                   : points     ? "is singular, or too near to it for f64"
                                : "may hold a matrix that is singular, or too near to it for f64",
                   about);
}

static const char DETERMINANT[] = "det(%s) shows whether 0 is among the determinants";
static const char VALUES[] = "svdvals(%s) shows how far it is from a lower rank";

/* ---- systems ---- */

static Interval *dense(Book *b, TextMat M)
{
    Interval *x = linalg_work(b->c, (size_t)(M.rows * M.cols) + 1, sizeof *x);
    for (int64_t i = 0; i < M.rows; i++)
        for (int64_t j = 0; j < M.cols; j++)
            x[i * M.cols + j] = *(Interval *)(void *)text_row(b->t.f, M, i, j).re;
    return x;
}

/* X becomes the solutions of A x = X of complex numbers: those of the real matrix that A is. */
static bool enclose_rectangles(Book *b, TextMat A, TextMat X)
{
    Textbook *t = &b->t;
    int64_t n = A.rows, cols = X.cols;
    Value *mark = b->c->in->sp;
    Interval *right = linalg_work(b->c, (size_t)(2 * n * cols) + 1, sizeof *right);
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < cols; j++) {
            TextRow at = text_row(t->f, X, i, j);
            right[i * cols + j] = *(Interval *)(void *)at.re;
            right[(n + i) * cols + j] = *(Interval *)(void *)at.im;
        }
    t->pairs = false;
    bool good = book_interval_enclose(
        b, (TextMat){ (char *)embedded(b, A), NULL, 2 * n, 2 * n, 2 * n, 1 },
        (TextMat){ (char *)right, NULL, 2 * n, cols, cols, 1 });
    t->pairs = true;
    for (int64_t i = 0; i < n && good; i++)
        for (int64_t j = 0; j < cols; j++) {
            TextRow at = text_row(t->f, X, i, j);
            n_set(t, at.re, (char *)&right[i * cols + j]);
            n_set(t, at.im, (char *)&right[(n + i) * cols + j]);
        }
    stack_cut(b->c->in, mark);
    return good;
}

/* X becomes the solutions of A x = X: by products of doubles, and where these do not verify it, or
 * are not to be reproducible, by sums of intervals, which lose less and take longer. */
bool book_interval_enclose(Book *b, TextMat A, TextMat X)
{
    enum { PATIENCE = 200 };
    if (b->t.pairs)
        return enclose_rectangles(b, A, X);
    Spread a, x;
    Value *mark = b->c->in->sp;
    bool ordered = b->s->reproducible;
    bool good = !ordered && verified_spread(b->c, dense(b, A), A.rows, A.cols, &a) &&
                verified_spread(b->c, dense(b, X), X.rows, X.cols, &x);
    if (good) {
        Interval *out = dense(b, X);
        good = verified_solve(b->c, &a, &x, out);
        for (int64_t i = 0; i < X.rows && good; i++)
            for (int64_t j = 0; j < X.cols; j++)
                n_set(&b->t, text_row(b->t.f, X, i, j).re, (char *)&out[i * X.cols + j]);
    }
    stack_cut(b->c->in, mark);
    return good || ((ordered || A.rows <= PATIENCE) && textbook_enclose(&b->t, A, X));
}

static void note(Book *b, const char *what)
{
    if (heard_on(b->c->in))
        explain_routine(b->c->in, what, NULL, NULL);
}

Value book_interval_solve(OpCall *c, Scope *s)
{
    Book b;
    Rhs r;
    book_open(&b, c, s, 2, false);
    Stack a = book_square(&b, 0);
    linalg_rhs_layout(&r, &a, 1, book_operand(&b, 1));
    Out out = linalg_rhs_out(&r, &a, a.n);
    for (int64_t i = 0; i < r.count; i++) {
        textbook_reset(&b.t);
        poll_interrupt(c->in);
        a.at = linalg_rhs_own(&r, &a, i);
        TextMat A = book_load_at(&b, linalg_rhs_matrix(&r, &a, i), a.n, a.n, false);
        TextMat X = book_load_at(&b, linalg_rhs_item(&r, &a, i), a.n, r.cols, false);
        bool good = book_interval_enclose(&b, A, X);
        book_check(&b, &a);
        if (!good)
            not_enclosed(&b, &a, DETERMINANT);
        textbook_store(&b.t, linalg_block(&out, i), 1, a.n, X, b.t.pairs);
        book_check(&b, &a);
    }
    book_close(&b);
    note(&b, "an approximate inverse, verified by intervals (Rump)");
    return book_value(&b, &out);
}

Value book_interval_inv(OpCall *c, Scope *s)
{
    Book b;
    book_open(&b, c, s, 1, false);
    Stack a = book_square(&b, 0);
    Out out = book_out(&b, &a, a.n, a.n);
    for (int64_t i = 0; i < a.count; i++) {
        textbook_reset(&b.t);
        TextMat A = book_load(&b, &a, i, false), X = textbook_matrix(&b.t, a.n, a.n, false);
        for (int64_t k = 0; k < a.n; k++)
            n_set(&b.t, text_row(b.t.f, X, k, k).re, b.t.one);
        bool good = book_interval_enclose(&b, A, X);
        book_check(&b, &a);
        if (!good)
            not_enclosed(&b, &a, DETERMINANT);
        book_store(&b, &out, i, X);
        book_check(&b, &a);
    }
    book_close(&b);
    note(&b, "an approximate inverse, verified by intervals (Rump)");
    return book_value(&b, &out);
}

Value book_interval_det(OpCall *c, Scope *s)
{
    Book b;
    book_open(&b, c, s, 1, true);
    Stack a = book_square(&b, 0);
    Out out = book_out(&b, &a, -1, -1);
    for (int64_t i = 0; i < a.count; i++) {
        textbook_reset(&b.t);
        TextMat A = book_load(&b, &a, i, false);
        TextRow d = textbook_vector(&b.t, 1);
        textbook_enclose_det(&b.t, A, d.re);
        book_store_row(&b, &out, i, d, 1);
        book_check(&b, &a);
    }
    book_close(&b);
    note(&b, a.n > 5 ? "factors of the middle, verified by intervals"
         : "expansion by minors in intervals");
    return book_value(&b, &out);
}

/* ---- eigenvalues and singular values ---- */

static void spread_at(Book *b, Stack *a, const Interval *x, Spread *out)
{
    if (!verified_spread(b->c, x, a->m, a->n, out))
        book_require_finite(b, a, book_load(b, a, a->at, false));
}

/* The symmetric matrices in a: element by element what the halves have in common. */
static void symmetric_part(Book *b, const Stack *a, Interval *x)
{
    OpCall *c = b->c;
    char help[160];
    const char *name = arg_text(c, 0);
    for (int64_t i = 0; i < a->n; i++)
        for (int64_t j = 0; j < i; j++) {
            Interval p = x[i * a->n + j], q = x[j * a->n + i];
            Interval both = { fmax(p.lo, q.lo), fmin(p.hi, q.hi) };
            snprintf(help, sizeof help, "eigvalsh((%s + %s')/2) takes its symmetric part", name,
                     name);
            if (both.lo > both.hi)
                arg_error_help(c, 0, ERR_VALUE, help,
                               "%s holds no symmetric matrix: its elements [%lld, %lld] and "
                               "[%lld, %lld] have no number in common, [%.17g, %.17g] and "
                               "[%.17g, %.17g]", name, (long long)i, (long long)j, (long long)j,
                               (long long)i, p.lo, p.hi, q.lo, q.hi);
            x[i * a->n + j] = x[j * a->n + i] = both;
        }
}

static void not_verified(Book *b, VerifiedWhy why)
{
    OpCall *c = b->c;
    char help[160];
    snprintf(help, sizeof help, "precision mp(200) { %s(%s) } has 200 bits, without a proof",
             c->op->name, arg_text(c, 0));
    if (why == VERIFIED_DIVERGED)
        arg_error_help(c, 0, ERR_NUMERIC, help, "the iteration for %s did not converge",
                       arg_text(c, 0));
    if (why == VERIFIED_RANGE)
        arg_error_help(c, 0, ERR_NUMERIC, help,
                       "cannot verify what was found for %s: its numbers leave the range of f64",
                       arg_text(c, 0));
}

static _Noreturn void vectors_together(Book *b, const Interval *values, int64_t at)
{
    OpCall *c = b->c;
    char help[160];
    const Interval *x = values + at;
    snprintf(help, sizeof help, "eigvalsh(%s) encloses the values", arg_text(c, 0));
    arg_error_help(c, 0, ERR_NUMERIC, help,
                   "cannot verify eigenvectors of %s: its eigenvalues %lld and %lld, near %.5g and "
                   "%.5g, are not apart", arg_text(c, 0), (long long)at, (long long)at + 1,
                   x[0].lo / 2 + x[0].hi / 2, x[1].lo / 2 + x[1].hi / 2);
}

/* The Hermitian matrices in a: what the triangles have in common, and real diagonals. */
static void hermitian_part(Book *b, TextMat A)
{
    for (int64_t i = 0; i < A.rows; i++)
        for (int64_t j = 0; j <= i; j++) {
            TextRow low = text_row(b->t.f, A, i, j), high = text_row(b->t.f, A, j, i);
            Interval *p = (Interval *)(void *)low.re, *q = (Interval *)(void *)high.re;
            Interval *u = (Interval *)(void *)low.im, *v = (Interval *)(void *)high.im;
            Interval w = opposite(*v), re = { fmax(p->lo, q->lo), fmin(p->hi, q->hi) },
                     im = { fmax(u->lo, w.lo), fmin(u->hi, w.hi) };
            if (re.lo > re.hi || im.lo > im.hi)
                arg_error(b->c, 0, ERR_VALUE, "%s holds no Hermitian matrix: its elements [%lld, "
                          "%lld] and [%lld, %lld] have no conjugate numbers in common",
                          arg_text(b->c, 0), (long long)i, (long long)j, (long long)j,
                          (long long)i);
            *p = *q = re;
            *u = im;
            *v = opposite(im);
            if (i == j)
                *u = (Interval){ 0, 0 };
        }
}

static Value hermitian_values(Book *b)
{
    OpCall *c = b->c;
    Stack a = book_square(b, 0);
    Out out = book_out_real(b, &a, a.n, -1);
    for (int64_t i = 0; i < a.count; i++) {
        textbook_reset(&b->t);
        poll_interrupt(c->in);
        Spread spread = { 0 };
        Value *mark = c->in->sp;
        TextMat A = book_load(b, &a, i, false);
        book_require_finite(b, &a, A);
        hermitian_part(b, A);
        Interval *twice = linalg_work(c, (size_t)(2 * a.n) + 1, sizeof *twice);
        if (!verified_spread(c, embedded(b, A), 2 * a.n, 2 * a.n, &spread))
            not_verified(b, VERIFIED_RANGE);
        not_verified(b, verified_eigh(c, &spread, twice, NULL, &(int64_t){ 0 }));
        both_of_each(twice, linalg_block(&out, i), a.n);
        stack_cut(c->in, mark);
    }
    book_close(b);
    note(b, "LAPACK's approximation, verified by bounds of its residual");
    return book_value(b, &out);
}

Value book_interval_eigh(OpCall *c, Scope *s, bool vectors)
{
    Book b;
    book_open(&b, c, s, 1, vectors);
    if (b.t.pairs)
        return hermitian_values(&b);
    Stack a = book_square(&b, 0);
    Out values = book_out(&b, &a, a.n, -1), v = { 0 };
    if (vectors)
        v = book_out(&b, &a, a.n, a.n);
    for (int64_t i = 0; i < a.count; i++) {
        Spread A;
        int64_t at = 0;
        Value *mark = c->in->sp;
        Interval *x = matrix_at(&b, &a, i), *w = linalg_block(&values, i), *columns = NULL;
        spread_at(&b, &a, x, &A);
        symmetric_part(&b, &a, x);
        spread_at(&b, &a, x, &A);
        if (vectors)
            columns = linalg_work(c, (size_t)(a.n * a.n) + 1, sizeof *columns);
        VerifiedWhy why = verified_eigh(c, &A, w, columns, &at);
        not_verified(&b, why);
        if (why == VERIFIED_TOGETHER)
            vectors_together(&b, w, at);
        for (int64_t k = 0; vectors && k < a.n * a.n; k++)
            ((Interval *)linalg_block(&v, i))[k] = columns[k % a.n * a.n + k / a.n];
        stack_cut(c->in, mark);
    }
    book_close(&b);
    note(&b, "LAPACK's approximation, verified by bounds of its residual");
    return vectors ? book_tuple(&b, "values", &values, "vectors", &v, NULL)
                   : book_value(&b, &values);
}

static void singular_values(Book *b, TextMat A, Interval *out)
{
    Spread spread = { 0 };
    OpCall *c = b->c;
    Value *mark = c->in->sp;
    int64_t per = A.im ? 2 : 1, k = A.rows < A.cols ? A.rows : A.cols;
    Interval *x = A.im ? embedded(b, A) : dense(b, A), *values = out;
    if (A.im)
        values = linalg_work(c, (size_t)(2 * k) + 1, sizeof *values);
    if (!verified_spread(c, x, per * A.rows, per * A.cols, &spread))
        not_verified(b, VERIFIED_RANGE);
    not_verified(b, verified_svdvals(c, &spread, values));
    if (A.im)
        both_of_each(values, out, k);
    stack_cut(c->in, mark);
}

void book_interval_values(Book *b, TextMat A, TextRow S)
{
    int64_t k = A.rows < A.cols ? A.rows : A.cols;
    Interval *out = linalg_work(b->c, (size_t)k + 1, sizeof *out);
    singular_values(b, A, out);
    for (int64_t i = 0; i < k; i++)
        n_set(&b->t, text_from(b->t.f, S, i).re, (char *)&out[i]);
}

Value book_interval_svdvals(OpCall *c, Scope *s)
{
    Book b;
    book_open(&b, c, s, 1, false);
    Stack a = book_stack(&b, 0);
    Out out = book_out_real(&b, &a, a.m < a.n ? a.m : a.n, -1);
    for (int64_t i = 0; i < a.count; i++) {
        textbook_reset(&b.t);
        TextMat A = book_load(&b, &a, i, false);
        book_require_finite(&b, &a, A);
        singular_values(&b, A, linalg_block(&out, i));
    }
    book_close(&b);
    note(&b, "LAPACK's approximation, verified by bounds of its residual");
    return book_value(&b, &out);
}

/* ---- least squares ---- */

/* A, or its transpose, in the corners of (s 1, T; T', 0), T with no more columns than rows. With
 * A = T the equations s t + T x = b, T' t = 0 say that x is the solution of least squares and
 * s t what is left over; with A = T' (s x + T t = 0, T' x = b) that x is the solution of least
 * norm. A regular matrix has such corners of full rank only. */
static TextMat augmented(Book *b, TextMat A, double scale)
{
    Textbook *t = &b->t;
    Arith *f = t->f;
    TextMat T = A.rows >= A.cols ? A : text_transposed(A);
    int64_t p = T.rows, q = T.cols;
    TextMat K = textbook_matrix(t, p + q, p + q, false);
    for (int64_t i = 0; i < p; i++) {
        n_set(t, text_row(f, K, i, i).re, n_const(t, scale));
        text_copy(f, text_row(f, K, i, p), text_row(f, T, i, 0), q);
        text_copy(f, text_column(f, K, p, i), text_row(f, T, i, 0), q);
    }
    return K;
}

/* A power of two near the smallest singular value over sqrt(2), with which the augmented matrix
 * has about the condition number of A (Björck, Numerical methods for least squares problems,
 * section 2.5.3). */
static double scale_of(const Interval *sigma, int64_t k)
{
    int exponent;
    double least = k ? sigma[k - 1].lo / 2 + sigma[k - 1].hi / 2 : 1;
    if (!(least > 0x1p-900 && least < 0x1p900))
        return 1;
    frexp(least, &exponent);
    return ldexp(1, exponent - 1);
}

typedef struct FitRoom { Out x, residual, rank, cond; bool everything; int64_t at; } FitRoom;

static void fit_enclose(Book *b, Stack *a, const FitRoom *o, TextMat A, TextMat B)
{
    Textbook *t = &b->t;
    Arith *f = t->f;
    int64_t m = a->m, n = a->n, k = m < n ? m : n, top = m < n ? n : m, cols = B.cols;
    Interval *sigma = linalg_work(b->c, (size_t)k + 1, sizeof *sigma), ratio = { 1, 1 };
    singular_values(b, A, sigma);
    double scale = scale_of(sigma, k);
    TextMat K = augmented(b, A, scale), X = textbook_matrix(t, m + n, cols, false);
    for (int64_t i = 0; i < m; i++)
        text_copy(f, text_row(f, X, (m < n ? n : 0) + i, 0), text_row(f, B, i, 0), cols);
    bool good = book_interval_enclose(b, K, X);
    book_check(b, a);
    if (!good)
        not_enclosed(b, a, VALUES);
    textbook_store(t, linalg_block(&o->x, o->at), 1, n, text_block(f, X, m < n ? 0 : m, 0, n, cols),
                   false);
    book_check(b, a);
    if (!o->everything)
        return;
    TextRow size = textbook_vector(t, cols);
    for (int64_t j = 0; j < cols; j++) {
        n_set(t, text_from(f, size, j).re, t->zero);
        if (m <= n)
            continue;
        textbook_norm2(t, text_from(f, size, j).re, text_column(f, X, 0, j), top);
        n_set(t, text_from(f, size, j).re,
              n_mul(t, text_from(f, size, j).re, n_const(t, scale)));
    }
    book_store_row(b, &o->residual, o->at, size, cols);
    ((int64_t *)(void *)o->rank.data)[o->at] = k;
    if (k)
        ratio = (Interval){ fmax(nextafter(sigma[0].lo / sigma[k - 1].hi, 0), 1),
                            nextafter(sigma[0].hi / sigma[k - 1].lo, INFINITY) };
    ((Interval *)(void *)o->cond.data)[o->at] = ratio;
}

static Out fit_out(Book *b, DType dt, int rank, const int64_t *shape)
{
    Tensor *t = op_keep(b->c, tensor_new(&b->c->in->ctx, dt, rank, shape));
    return (Out){ t, t->data, 0 };
}

Value book_interval_lstsq(OpCall *c, Scope *s, bool everything)
{
    Book b;
    Rhs r;
    book_open(&b, c, s, 2, true);
    Stack a = book_stack(&b, 0);
    linalg_rhs_layout(&r, &a, 1, book_operand(&b, 1));
    FitRoom o = { .x = linalg_rhs_out(&r, &a, a.n), .everything = everything };
    int64_t shape[TENSOR_RANK_MAX + 1];
    for (int d = 0; d < r.out_rank; d++)
        shape[d] = r.batch[d];
    shape[r.out_rank] = r.cols;
    if (everything) {
        if (arg_given(c, 2) && c->args[2].tag != V_NONE)
            arg_error_help(c, 2, ERR_VALUE,
                           "without rcond the rank is proved to be full, or it is an error",
                           "in interval no singular value counts as zero: rcond means nothing");
        o.residual = fit_out(&b, s->format, r.out_rank + !r.vector, shape);
        o.residual.step = (size_t)r.cols * sizeof(Interval);
        o.rank = fit_out(&b, DT_I64, r.out_rank, shape);
        o.cond = fit_out(&b, s->format, r.out_rank, shape);
    }
    for (int64_t i = 0; i < r.count; i++) {
        textbook_reset(&b.t);
        o.at = i;
        a.at = linalg_rhs_own(&r, &a, i);
        TextMat A = book_load_at(&b, linalg_rhs_matrix(&r, &a, i), a.m, a.n, false);
        TextMat B = book_load_at(&b, linalg_rhs_item(&r, &a, i), a.m, r.cols, false);
        book_require_finite(&b, &a, A);
        fit_enclose(&b, &a, &o, A, B);
    }
    book_close(&b);
    note(&b, "the augmented system, verified by intervals (Rump)");
    if (!everything)
        return book_value(&b, &o.x);
    return book_tuple(&b, "x", &o.x, "residual", &o.residual, "rank", &o.rank, "cond", &o.cond,
                      NULL);
}
