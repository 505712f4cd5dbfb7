/* Elimination in a format: solve, inv, det, slogdet, lu, chol, ldl, rref, and the orthogonal
 * way to least squares: qr, lstsq. `A \ b` looks at A for triangles only; any other square
 * matrix goes through LU with partial pivoting, so that the format shows what the textbook's
 * algorithm does in it. Algorithms and their order of operations: kernels/textbook/textbook.h. */
#include "builtins/exact/rational.h"
#include "builtins/textbook/textbook.h"
#include "builtins/written/written.h"
#include "kernels/textbook/textbook_number.h"

#include "core/base/error.h"

#include <stdio.h>

/* ---- square systems ---- */

/* The first zero on the diagonal, or -1. */
static int64_t zero_on_diagonal(Book *b, TextMat T)
{
    for (int64_t i = 0; i < T.rows; i++)
        if (text_is_zero(&b->t, text_row(b->t.f, T, i, i)))
            return i;
    return -1;
}

static void permute_rows(Book *b, const int64_t *perm, TextMat X)
{
    Arith *f = b->t.f;
    TextMark mark = text_mark(&b->t);
    TextMat old = text_matrix(&b->t, f, X.rows, X.cols, false);
    for (int64_t i = 0; i < X.rows; i++)
        text_copy(f, text_row(f, old, i, 0), text_row(f, X, i, 0), X.cols);
    for (int64_t i = 0; i < X.rows; i++)
        text_copy(f, text_row(f, X, i, 0), text_row(f, old, perm[i], 0), X.cols);
    text_release(&b->t, mark);
}

/* X becomes A^-1 X; `why` says how. The first missing pivot, or -1. */
static int64_t solve_square(Book *b, TextMat A, TextMat X, const char **why)
{
    Textbook *t = &b->t;
    for (int upper = 1; upper >= 0; upper--)
        if (textbook_is_triangle(t, A, upper)) {
            int64_t none = zero_on_diagonal(b, A);
            *why = upper ? "substitution: A is upper triangular"
                         : "substitution: A is lower triangular";
            if (none < 0)
                textbook_triangle(t, A, upper, false, X);
            return none;
        }
    int64_t *perm = book_order(b, A.rows), none = textbook_lu(t, A, perm);
    *why = "LU with partial pivoting";
    if (none >= 0)
        return none;
    permute_rows(b, perm, X);
    textbook_triangle(t, A, false, true, X);
    textbook_triangle(t, A, true, false, X);
    return -1;
}

static void explain_way(Book *b, const char *routine, double flops, const char *how)
{
    if (!heard_on(b->c->in))
        return;
    explain_routine(b->c->in, routine, NULL, "%s, every operation rounded to %s", routine,
                    dtype_name(b->s->format));
    if (b->t.acc != b->t.f)
        explain_note(b->c->in, "sums", "inner products accumulated in %s",
                     dtype_name(b->s->accumulate));
    explain_flops(b->c->in, flops * (b->t.pairs ? 4 : 1), how);
}

Value op_format_factorize(OpCall *c, Scope *s)
{
    (void)s;
    return op_exact_factorize(c);
}

static Value least_squares(OpCall *, Scope *, bool everything);

Value op_format_solve(OpCall *c, Scope *s)
{
    Value done;
    const char *why = NULL;
    Tensor *given = arg_tensor(c, 0);
    if (given->rank == 0)
        return op_binary(c->in, op_named(c->in, "divide"), c->args[1], c->args[0],
                         c->weak >> 1 & 1);
    if (book_ordinary(c, s, &done))
        return done;
    const int64_t *shape = tensor_shape(given);
    if (given->rank >= 2 && shape[given->rank - 2] != shape[given->rank - 1])
        return least_squares(c, s, false);
    if (s->format == DT_INTERVAL)
        return book_interval_solve(c, s);
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
        TextMat A = book_load_at(&b, linalg_rhs_matrix(&r, &a, i), a.n, a.n, true);
        TextMat X = book_load_at(&b, linalg_rhs_item(&r, &a, i), a.n, r.cols, false);
        int64_t none = solve_square(&b, A, X, &why);
        book_check(&b, &a);
        if (none >= 0)
            book_singular(&b, &a, none);
        textbook_store(&b.t, linalg_block(&out, i), 1, a.n, X, b.t.pairs);
        book_check(&b, &a);
    }
    book_close(&b);
    double n = (double)a.n;
    explain_way(&b, why ? why : "nothing", 2 * n * n * n / 3 * (double)r.count, "2/3 n^3");
    return book_value(&b, &out);
}

int64_t book_inverse(Book *b, TextMat A, TextMat X)
{
    const char *why;
    for (int64_t i = 0; i < X.rows; i++) {
        text_fill(b->t.f, text_row(b->t.f, X, i, 0), b->t.zero, b->t.zero, X.cols);
        text_fill(b->t.f, text_row(b->t.f, X, i, i), b->t.one, b->t.zero, 1);
    }
    if (b->s->format == DT_INTERVAL)
        return book_interval_enclose(b, A, X) ? -1 : 0;
    return solve_square(b, A, X, &why);
}

Value op_format_inv(OpCall *c, Scope *s)
{
    Value done;
    Book b;
    if (book_ordinary(c, s, &done))
        return done;
    if (s->format == DT_INTERVAL)
        return book_interval_inv(c, s);
    book_open(&b, c, s, 1, false);
    Stack a = book_square(&b, 0);
    Out out = book_out(&b, &a, a.n, a.n);
    for (int64_t i = 0; i < a.count; i++) {
        textbook_reset(&b.t);
        TextMat A = book_load(&b, &a, i, true), X = textbook_matrix(&b.t, a.n, a.n, false);
        int64_t none = book_inverse(&b, A, X);
        book_check(&b, &a);
        if (none >= 0)
            book_singular(&b, &a, none);
        book_store(&b, &out, i, X);
        book_check(&b, &a);
    }
    book_close(&b);
    double n = (double)a.n;
    explain_way(&b, "LU with partial pivoting, then n systems", 2 * n * n * n * (double)a.count,
                "2n^3");
    return book_value(&b, &out);
}

/* ---- determinants ---- */

Value op_format_det(OpCall *c, Scope *s)
{
    Value done;
    Book b;
    if (book_ordinary(c, s, &done))
        return done;
    if (s->format == DT_INTERVAL && dtype_info((DType)arg_tensor(c, 0)->dtype)->kind != 'c')
        return book_interval_det(c, s);       /* of rectangles: elimination, which encloses, too */
    book_open(&b, c, s, 1, false);
    Stack a = book_square(&b, 0);
    Out out = book_out(&b, &a, -1, -1);
    int64_t *perm = book_order(&b, a.n);
    for (int64_t i = 0; i < a.count; i++) {
        textbook_reset(&b.t);
        TextMat A = book_load(&b, &a, i, true);
        TextRow d = textbook_vector(&b.t, 1);
        textbook_lu(&b.t, A, perm);
        textbook_det(&b.t, A, perm, d);
        book_store_row(&b, &out, i, d, 1);
        book_check(&b, &a);
    }
    book_close(&b);
    double n = (double)a.n;
    explain_way(&b, "LU with partial pivoting", 2 * n * n * n / 3 * (double)a.count, "2/3 n^3");
    return book_value(&b, &out);
}

/* Elementwise functions that the format has not: in f64, rounded once. */
static char *n_log(Book *b, const char *x)
{
    Textbook *t = &b->t;
    const void *in[3] = { x, NULL, NULL };
    const int64_t steps[3] = { 0, 0, 0 };
    char *out = text_ring(t);
    double v;
    if (t->status != ARITH_OK)
        return out;
    t->status = t->f->ops->ew(t->f, EW_LOG, out, 0, in, steps, 1);
    if (t->status != ARITH_NONE || t->f->carrier != DT_F64)
        return out;
    t->status = ARITH_OK;
    ew_kernel(EW_LOG, DT_F64)(&v, 1, in, steps, 1);
    binary_round(t->f, (double *)(void *)out, &v, 1);
    return out;
}

void book_sign_and_log(Book *b, TextMat LU, bool odd, TextRow sign, char *logdet)
{
    Textbook *t = &b->t;
    Arith *f = t->f;
    TextRow unit = textbook_vector(t, 1);
    TextCell size;
    text_fill(f, sign, t->one, t->zero, 1);
    n_set(t, logdet, t->zero);
    for (int64_t i = 0; i < LU.rows && t->status == ARITH_OK; i++) {
        TextRow u = text_row(f, LU, i, i);
        if (text_is_zero(t, u)) {
            text_fill(f, sign, t->zero, t->zero, 1);
            n_set(t, logdet, n_log(b, t->zero));
            return;
        }
        if (u.im)
            textbook_norm2(t, size.x, (TextRow){ u.re, u.im, 1 }, 1);
        else
            n_set(t, size.x, n_abs(t, u.re));
        text_div(t, f, unit, u, text_real(size.x), 1);
        text_mul(t, f, sign, sign, unit, 1);
        n_set(t, logdet, n_add(t, logdet, n_log(b, size.x)));
    }
    if (odd) {
        n_set(t, sign.re, n_neg(t, sign.re));
        text_conj(t, f, sign, 1);
    }
}

static _Noreturn void refuse(OpCall *c, const Scope *s, const char *why, const char *help)
{
    arg_error_help(c, 0, ERR_NUMERIC, help, "there is no result in %s: %s", dtype_name(s->format),
                   why);
}

void book_require_logarithms(OpCall *c, const Scope *s)
{
    char help[160];
    snprintf(help, sizeof help, "det(%s) is exact", arg_text(c, 0));
    if (s->format == DT_RATIONAL)
        refuse(c, s, "logarithms of fractions are no fractions", help);
    snprintf(help, sizeof help, "det(%s) is an enclosure", arg_text(c, 0));
    if (s->format == DT_INTERVAL)
        refuse(c, s, "its sign may be uncertain", help);
}

Value op_format_slogdet(OpCall *c, Scope *s)
{
    Value done;
    Book b;
    if (book_ordinary(c, s, &done))
        return done;
    book_require_logarithms(c, s);
    book_open(&b, c, s, 1, false);
    Stack a = book_square(&b, 0);
    Out sign = book_out(&b, &a, -1, -1), logdet = book_out_real(&b, &a, -1, -1);
    int64_t *perm = book_order(&b, a.n);
    for (int64_t i = 0; i < a.count; i++) {
        textbook_reset(&b.t);
        TextMat A = book_load(&b, &a, i, true);
        TextRow x = textbook_vector(&b.t, 1), y = textbook_vector(&b.t, 1);
        textbook_lu(&b.t, A, perm);
        book_sign_and_log(&b, A, textbook_odd(a.n, perm), x, y.re);
        book_store_row(&b, &sign, i, x, 1);
        book_store_row(&b, &logdet, i, (TextRow){ y.re, NULL, 1 }, 1);
        book_check(&b, &a);
    }
    book_close(&b);
    return book_tuple(&b, "sign", &sign, "logdet", &logdet, NULL);
}

/* ---- factors ---- */

/* The part of M with L below the diagonal (a unit one) or U from it on; zeros elsewhere. */
static TextMat half_of(Book *b, TextMat M, bool upper, bool unit, int64_t rows, int64_t cols)
{
    Textbook *t = &b->t;
    const Arith *f = t->f;
    TextMat H = textbook_matrix(t, rows, cols, false);
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = upper ? i : 0; j < (upper || cols < i + !unit ? cols : i + !unit); j++)
            text_copy(t->f, text_row(f, H, i, j), text_row(f, M, i, j), 1);
    for (int64_t i = 0; unit && i < rows && i < cols; i++)
        text_fill(t->f, text_row(f, H, i, i), t->one, t->zero, 1);
    return H;
}

/* P[perm[i], i] = 1. */
static TextMat permutation(Book *b, const int64_t *perm, int64_t n)
{
    TextMat P = textbook_matrix(&b->t, n, n, false);
    for (int64_t i = 0; i < n; i++)
        text_fill(b->t.f, text_row(b->t.f, P, perm[i], i), b->t.one, b->t.zero, 1);
    return P;
}

Value op_format_lu(OpCall *c, Scope *s)
{
    Value done;
    Book b;
    if (book_ordinary(c, s, &done))
        return done;
    book_open(&b, c, s, 1, false);
    Stack a = book_stack(&b, 0);
    int64_t m = a.m, n = a.n, k = m < n ? m : n, *perm = book_order(&b, m);
    Out p = book_out(&b, &a, m, m), l = book_out(&b, &a, m, k), u = book_out(&b, &a, k, n);
    for (int64_t i = 0; i < a.count; i++) {
        textbook_reset(&b.t);
        TextMat A = book_load(&b, &a, i, true);
        textbook_lu(&b.t, A, perm);
        book_store(&b, &p, i, permutation(&b, perm, m));
        book_store(&b, &l, i, half_of(&b, A, false, true, m, k));
        book_store(&b, &u, i, half_of(&b, A, true, false, k, n));
        book_check(&b, &a);
    }
    book_close(&b);
    double d = (double)k;
    explain_way(&b, "LU with partial pivoting",
                d * d * ((double)(m > n ? m : n) - d / 3) * (double)a.count,
                "mk^2 - 1/3 k^3, k the smaller of m and n");
    return book_tuple(&b, "P", &p, "L", &l, "U", &u, NULL);
}

static _Noreturn void not_definite(Book *b, int64_t step)
{
    OpCall *c = b->c;
    char help[160];
    snprintf(help, sizeof help, "a wider format may have the digits: precision f64 { chol(%s) }",
             arg_text(c, 0));
    arg_error_help(c, 0, ERR_NUMERIC, help,
                   "%s is not positive definite in %s: at step %lld the pivot is not positive "
                   "(its leading %lld×%lld minor)",
                   arg_text(c, 0), dtype_name(b->s->format), (long long)step + 1,
                   (long long)step + 1, (long long)step + 1);
}

Value op_format_chol(OpCall *c, Scope *s)
{
    Value done;
    Book b;
    if (book_ordinary(c, s, &done))
        return done;
    book_open(&b, c, s, 1, false);
    Stack a = book_square(&b, 0);
    Out l = book_out(&b, &a, a.n, a.n);
    for (int64_t i = 0; i < a.count; i++) {
        textbook_reset(&b.t);
        TextMat A = book_load(&b, &a, i, true);
        book_require_finite(&b, &a, A);
        book_require_symmetric(&b, &a, A, NULL);
        int64_t failed = textbook_cholesky(&b.t, A);
        book_check(&b, &a);
        if (failed >= 0)
            not_definite(&b, failed);
        book_store(&b, &l, i, half_of(&b, A, false, false, a.n, a.n));
        book_check(&b, &a);
    }
    book_close(&b);
    double n = (double)a.n;
    explain_way(&b, "Cholesky", n * n * n / 3 * (double)a.count, "1/3 n^3");
    return book_value(&b, &l);
}

/* What is not below both halves of the symmetric matrix: the lower one counts. */
static void mirror(Book *b, TextMat A)
{
    Arith *f = b->t.f;
    for (int64_t i = 0; i < A.rows; i++)
        for (int64_t j = 0; j < i; j++) {
            text_copy(f, text_row(f, A, j, i), text_row(f, A, i, j), 1);
            text_conj(&b->t, f, text_row(f, A, j, i), 1);
        }
}

static void ldl_split(Book *b, TextMat A, const bool *two, TextMat L, TextMat D)
{
    Arith *f = b->t.f;
    for (int64_t k = 0; k < A.rows; k++) {
        int64_t order = two[k] ? 2 : 1, below = k + order;
        for (int64_t p = k; p < below; p++) {
            text_fill(f, text_row(f, L, p, p), b->t.one, b->t.zero, 1);
            text_copy(f, text_column(f, L, below, p), text_column(f, A, below, p), A.rows - below);
            text_copy(f, text_row(f, D, p, k), text_row(f, A, p, k), order);
        }
        k += order - 1;
    }
}

Value op_format_ldl(OpCall *c, Scope *s)
{
    Value done;
    Book b;
    char help[160];
    if (book_ordinary(c, s, &done))
        return done;
    book_open(&b, c, s, 1, false);
    Stack a = book_square(&b, 0);
    int64_t n = a.n, *perm = book_order(&b, n);
    bool *two = linalg_work(c, (size_t)n + 1, sizeof *two);
    Out l = book_out(&b, &a, n, n), d = book_out(&b, &a, n, n), p = book_out(&b, &a, n, n);
    snprintf(help, sizeof help, "lu(%s) factors any matrix", arg_text(c, 0));
    for (int64_t i = 0; i < a.count; i++) {
        textbook_reset(&b.t);
        TextMat A = book_load(&b, &a, i, false);
        TextMat L = textbook_matrix(&b.t, n, n, false), D = textbook_matrix(&b.t, n, n, false);
        book_require_finite(&b, &a, A);
        book_require_symmetric(&b, &a, A, help);
        mirror(&b, A);
        textbook_ldl(&b.t, A, perm, two);
        book_check(&b, &a);
        ldl_split(&b, A, two, L, D);
        book_store(&b, &l, i, L);
        book_store(&b, &d, i, D);
        book_store(&b, &p, i, permutation(&b, perm, n));
        book_check(&b, &a);
    }
    book_close(&b);
    return book_tuple(&b, "L", &l, "D", &d, "P", &p, NULL);
}

/* ---- reduced row echelon form ---- */

/* rtol (max(m, n) eps) times the largest row sum of magnitudes. */
static char *rref_zero(Book *b, TextMat A, int rtol)
{
    Textbook *t = &b->t;
    const Arith *f = t->f;
    BookQuiet q = book_quiet(b);
    char *zero = text_take(t, t->f, 1);
    int64_t big = A.rows > A.cols ? A.rows : A.cols;
    n_set(t, zero, t->zero);
    for (int64_t i = 0; i < A.rows; i++) {
        TextCell sum;
        n_set(t, sum.x, t->zero);
        for (int64_t j = 0; j < A.cols; j++)
            n_set(t, sum.x, n_add(t, sum.x, text_size(t, text_row(f, A, i, j))));
        n_set(t, zero, n_max(t, zero, sum.x));
    }
    bool given = arg_given(b->c, rtol) && b->c->args[rtol].tag != V_NONE;
    char *factor = given ? n_const(t, arg_float(b->c, rtol))
                         : n_mul(t, t->eps, n_const(t, (double)big));
    n_set(t, zero, n_mul(t, factor, zero));
    book_loud(b, q);
    return zero;
}

Value op_format_rref(OpCall *c, Scope *s)
{
    Value done;
    Book b;
    if (book_ordinary(c, s, &done))
        return done;
    if (arg_given(c, 1) && c->args[1].tag != V_NONE && !(arg_float(c, 1) >= 0))
        arg_error(c, 1, ERR_VALUE, "rtol must be 0 or more, but it is %g", arg_float(c, 1));
    book_open(&b, c, s, 1, false);
    Stack a = book_stack(&b, 0);
    Out out = book_out(&b, &a, a.m, a.n);
    int64_t *pivots = book_order(&b, a.n);
    for (int64_t i = 0; i < a.count; i++) {
        textbook_reset(&b.t);
        TextMat A = book_load(&b, &a, i, false);
        book_require_finite(&b, &a, A);
        textbook_rref(&b.t, A, rref_zero(&b, A, 1), pivots);
        book_store(&b, &out, i, A);
        book_check(&b, &a);
    }
    book_close(&b);
    return book_value(&b, &out);
}

/* ---- orthogonal factors and least squares ---- */

Value op_format_qr(OpCall *c, Scope *s)
{
    Value done;
    Book b;
    bool full = arg_bool(c, 1, false);
    if (arg_bool(c, 2, false))
        return written_call(c, "_qr_more");
    if (book_ordinary(c, s, &done))
        return done;
    book_open(&b, c, s, 1, false);
    Stack a = book_stack(&b, 0);
    int64_t m = a.m, n = a.n, k = m < n ? m : n, cols = full ? m : k;
    Out q = book_out(&b, &a, m, cols), r = book_out(&b, &a, cols, n);
    for (int64_t i = 0; i < a.count; i++) {
        textbook_reset(&b.t);
        TextMat A = book_load(&b, &a, i, false), Q = textbook_matrix(&b.t, m, cols, false);
        TextRow tau = textbook_vector(&b.t, k);
        for (int64_t j = 0; j < cols; j++)
            text_fill(b.t.f, text_row(b.t.f, Q, j, j), b.t.one, b.t.zero, 1);
        textbook_qr(&b.t, A, tau);
        textbook_qr_apply(&b.t, A, tau, false, Q);
        book_store(&b, &q, i, Q);
        book_store(&b, &r, i, half_of(&b, A, true, false, cols, n));
        book_check(&b, &a);
    }
    book_close(&b);
    explain_way(&b, "Householder reflections",
                4 * (double)m * (double)k * (double)n * (double)a.count, "4mn^2");
    return book_tuple(&b, "Q", &q, "R", &r, NULL);
}

/* One problem: A as given, b as X's first m rows; x goes into X's first n. */
typedef struct Fit {
    Book *b;
    Stack *a;
    int64_t rank;
    TextRow sigma;
    bool everything;
} Fit;

/* x = V diag(1 / s) U' b over the singular values that count. */
static void fit_least_norm(Fit *f, TextMat A, TextMat B, TextMat X)
{
    Book *b = f->b;
    Textbook *t = &b->t;
    TextMat U, V;
    int64_t k = A.rows < A.cols ? A.rows : A.cols;
    f->sigma = textbook_vector(t, k);
    book_svd(b, f->a, A, f->sigma, &U, &V);
    f->rank = book_rank(b, f->a, f->sigma, f->everything ? 2 : -1);
    TextMat W = textbook_matrix(t, f->rank, B.cols, false), Vr = V, Ut = book_adjoint(b, U);
    Ut.rows = Vr.cols = f->rank;
    textbook_product(t, W, Ut, B);
    for (int64_t i = 0; i < f->rank; i++)
        text_div(t, t->f, text_row(t->f, W, i, 0), text_row(t->f, W, i, 0),
                 text_real(text_from(t->f, f->sigma, i).re), B.cols);
    textbook_product(t, X, Vr, W);
}

/* A diagonal element of R that is nothing beside the largest. */
static bool looks_deficient(Book *b, TextMat R)
{
    Textbook *t = &b->t;
    const Arith *f = t->f;
    TextCell most;
    BookQuiet q = book_quiet(b);
    bool deficient = false;
    int64_t k = R.cols, big = R.rows;
    n_set(t, most.x, t->zero);
    for (int64_t i = 0; i < k; i++)
        n_set(t, most.x, n_max(t, most.x, text_size(t, text_row(f, R, i, i))));
    n_set(t, most.x, n_mul(t, most.x, n_mul(t, t->eps, n_const(t, (double)big))));
    for (int64_t i = 0; i < k; i++)
        deficient |= n_order(t, text_size(t, text_row(f, R, i, i)), most.x) < 1;
    book_loud(b, q);
    return deficient;
}

/* Tall matrices of full rank by QR, all others by singular values. */
static void fit_one(Fit *f, TextMat A, TextMat B, TextMat X)
{
    Book *b = f->b;
    Textbook *t = &b->t;
    int64_t n = A.cols;
    bool tall = A.rows >= n;
    f->rank = 0;
    if (tall) {
        TextMat QR = textbook_matrix(t, A.rows, n, false);
        TextMat Y = textbook_matrix(t, A.rows, B.cols, false);
        TextRow tau = textbook_vector(t, n);
        for (int64_t i = 0; i < A.rows; i++) {
            text_copy(t->f, text_row(t->f, QR, i, 0), text_row(t->f, A, i, 0), n);
            text_copy(t->f, text_row(t->f, Y, i, 0), text_row(t->f, B, i, 0), B.cols);
        }
        textbook_qr(t, QR, tau);
        TextMat R = half_of(b, QR, true, false, n, n);
        if (f->everything) {
            f->sigma = textbook_vector(t, n);
            book_svd(b, f->a, half_of(b, QR, true, false, n, n), f->sigma, NULL, NULL);
            f->rank = book_rank(b, f->a, f->sigma, 2);
        }
        if (f->everything ? f->rank == n : !looks_deficient(b, R)) {
            textbook_qr_apply(t, QR, tau, true, Y);
            textbook_triangle(t, R, true, false, (TextMat){ Y.re, Y.im, n, Y.cols, Y.row, Y.col });
            for (int64_t i = 0; i < n; i++)
                text_copy(t->f, text_row(t->f, X, i, 0), text_row(t->f, Y, i, 0), X.cols);
            return;
        }
    }
    TextMat copy = textbook_matrix(t, A.rows, n, true);
    for (int64_t i = 0; i < A.rows; i++)
        text_copy(t->f, text_row(t->f, copy, i, 0), text_row(t->f, A, i, 0), n);
    fit_least_norm(f, copy, B, X);
}

/* |b - A x| of every column. */
static void fit_residual(Book *b, TextMat A, TextMat B, TextMat X, TextRow out)
{
    Textbook *t = &b->t;
    Arith *f = t->f;
    TextMat R = textbook_matrix(t, A.rows, B.cols, false);
    textbook_product(t, R, A, X);
    for (int64_t i = 0; i < A.rows; i++)
        text_sub(t, f, text_row(f, R, i, 0), text_row(f, B, i, 0), text_row(f, R, i, 0), B.cols);
    for (int64_t j = 0; j < B.cols; j++)
        textbook_norm2(t, text_from(f, out, j).re, text_column(f, R, 0, j), A.rows);
}

/* The largest singular value over the smallest; infinite where the format has that. */
static char *fit_cond(Book *b, TextRow sigma, int64_t k)
{
    const Arith *f = b->t.f;
    return k ? n_div(&b->t, sigma.re, text_from(f, sigma, k - 1).re) : b->t.one;
}

static void require_rcond(OpCall *c)
{
    bool given = arg_given(c, 2) && c->args[2].tag != V_NONE;
    double rcond = given ? arg_float(c, 2) : 0;
    if (!(rcond >= 0 && rcond < 1))
        arg_error_help(c, 2, ERR_VALUE,
                       "rcond=1e-10 drops directions 1e10 times weaker than the strongest",
                       "rcond must be at least 0 and less than 1, not %g", rcond);
}

static Value least_squares(OpCall *c, Scope *s, bool everything)
{
    Book b;
    Rhs r;
    if (everything)
        require_rcond(c);
    if (s->format == DT_INTERVAL)
        return book_interval_lstsq(c, s, everything);
    book_open(&b, c, s, 2, false);
    Stack a = book_stack(&b, 0);
    linalg_rhs_layout(&r, &a, 1, book_operand(&b, 1));
    Fit fit = { .b = &b, .a = &a, .everything = everything };
    int64_t shape[TENSOR_RANK_MAX + 1], k = a.m < a.n ? a.m : a.n;
    for (int d = 0; d < r.out_rank; d++)
        shape[d] = r.batch[d];
    shape[r.out_rank] = r.cols;
    Out x = linalg_rhs_out(&r, &a, a.n), residual = { 0 }, rank = { 0 }, cond = { 0 };
    if (everything) {
        residual.t = op_keep(c, tensor_new(&c->in->ctx, s->format, r.out_rank + !r.vector, shape));
        rank.t = op_keep(c, tensor_new(&c->in->ctx, DT_I64, r.out_rank, shape));
        cond.t = op_keep(c, tensor_new(&c->in->ctx, s->format, r.out_rank, shape));
    }
    int64_t bytes = dtype_info(s->format)->bytes;
    for (int64_t i = 0; i < r.count; i++) {
        textbook_reset(&b.t);
        poll_interrupt(c->in);
        a.at = linalg_rhs_own(&r, &a, i);
        TextMat A = book_load_at(&b, linalg_rhs_matrix(&r, &a, i), a.m, a.n, false);
        TextMat B = book_load_at(&b, linalg_rhs_item(&r, &a, i), a.m, r.cols, false);
        TextMat X = textbook_matrix(&b.t, a.n, r.cols, false);
        book_require_finite(&b, &a, A);
        fit_one(&fit, A, B, X);
        textbook_store(&b.t, linalg_block(&x, i), 1, a.n, X, b.t.pairs);
        book_check(&b, &a);
        if (!everything)
            continue;
        TextRow size = textbook_vector(&b.t, r.cols);
        fit_residual(&b, A, B, X, size);
        char *ratio = fit_cond(&b, fit.sigma, k);
        textbook_store(&b.t, residual.t->data + i * r.cols * bytes, r.cols, 1,
                       (TextMat){ size.re, NULL, 1, r.cols, 0, 1 }, false);
        textbook_store(&b.t, cond.t->data + i * bytes, 1, 1, (TextMat){ ratio, NULL, 1, 1, 0, 1 },
                       false);
        ((int64_t *)(void *)rank.t->data)[i] = fit.rank;
        book_check(&b, &a);
    }
    book_close(&b);
    explain_way(&b, "Householder reflections",
                2 * (double)a.m * (double)k * (double)a.n * (double)r.count, "2mn^2");
    if (!everything)
        return book_value(&b, &x);
    return book_tuple(&b, "x", &x, "residual", &residual, "rank", &rank, "cond", &cond, NULL);
}

Value op_format_lstsq(OpCall *c, Scope *s)
{
    Value done;
    char help[160];
    if (book_ordinary(c, s, &done))
        return done;
    snprintf(help, sizeof help, "%s \\ %s is the exact solution where it is unique", arg_text(c, 0),
             arg_text(c, 1));
    if (s->format == DT_RATIONAL)
        refuse(c, s, "the residual's norm and the condition number are roots", help);
    return least_squares(c, s, true);
}
