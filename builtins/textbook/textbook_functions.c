/* sqrtm and logm in a format. Binary formats of the machine's range: in f64, and rounded once. mp
 * and decimal: by products and inverses in twice the digits, of which the iterations need some.
 * Real matrices with a real result by iteration; complex ones, and those whose eigenvalues need
 * complex numbers, by their complex Schur form T: a root of T (Björck and Hammarling, Linear
 * Algebra Appl. 52/53, 1983), the logarithm of T by such roots.
 *
 *   sqrtm   the product form of Denman and Beavers' iteration, scaled by determinants (Higham,
 *           Functions of Matrices, 6.29)
 *   logm    square roots until the matrix is near I (inverse scaling), then
 *           2 (Z + Z^3/3 + Z^5/5 + …) of Z = (A - I) (A + I)^-1 */
#include "builtins/textbook/textbook.h"

#include "core/base/error.h"

#include <stdio.h>

enum { ROOT_STEPS = 100, ROOTS_MOST = 400 };

/* ---- rows on matrices of the wider format ---- */
typedef struct Wide Wide;
/* Undefined: there is none, or none that is real. */
typedef Value (*MatrixFn)(const Wide *, Value);
/* By roots of that kind. */
typedef Value (*MatrixBy)(const Wide *, Value, MatrixFn root);

typedef struct MatrixFunction {
    MatrixBy of;
    const char *what;               /* it gives, for errors */
} MatrixFunction;

struct Wide {
    OpCall *c;
    const char *what;
    Value one, n;                   /* I, and its order */
    Value eps;                      /* of the wider format, times the order */
};

static Value row(const Wide *w, const char *name, Value x, Value y)
{
    return format_row(w->c, name, 2, x, y);
}

static bool holds(const Wide *w, const char *name, Value x, Value y)
{
    Value v = row(w, name, x, y);
    return *(const bool *)op_keep(w->c, v_to_tensor(w->c->in, v, 0))->data;
}

static Value apart(const Wide *w, Value x)          /* |x - I| */
{
    return format_row(w->c, "norm", 1, row(w, "subtract", x, w->one));
}

static _Noreturn void no_root(const Wide *w)
{
    char help[200];
    OpCall *c = w->c;
    snprintf(help, sizeof help, "eigvals(%s) has its eigenvalues", arg_text(c, 0));
    arg_error_help(c, 0, ERR_NUMERIC, help, "%s has no %s that was found: an eigenvalue is 0",
                   arg_text(c, 0), w->what);
}

/* ---- the square root ---- */
/* One step; what stays is put at mark[0] and mark[1], X and M. */
static bool root_step(const Wide *w, Value *mark, bool scaled)
{
    Interp *in = w->c->in;
    Value X = mark[0], M = mark[1], square = v_int(1), mu = v_int(1);
    if (scaled) {
        Value det = format_row(w->c, "abs", 1, format_row(w->c, "det", 1, M));
        if (holds(w, "equal", det, v_int(0)))
            return false;
        Value by = row(w, "divide", v_int(-1), w->n);
        square = row(w, "power", det, by);
        mu = format_row(w->c, "sqrt", 1, square);
    }
    Value inverse = row(w, "divide", format_row(w->c, "inv", 1, M), square);
    X = row(w, "matmul", X, row(w, "add", w->one, inverse));
    X = row(w, "divide", row(w, "multiply", X, mu), v_int(2));
    M = row(w, "divide", row(w, "add", row(w, "multiply", M, square), inverse), v_int(2));
    M = row(w, "divide", row(w, "add", M, w->one), v_int(2));
    Value keep[2] = { v_retain(X), v_retain(M) };
    for (int i = 0; i < 2; i++) {
        v_release(&in->ctx, mark[i]);
        mark[i] = keep[i];
    }
    stack_cut(in, mark + 2);
    format_collect(w->c);
    return true;
}

static Value root_of(const Wide *w, Value A)
{
    Interp *in = w->c->in;
    Value *mark = in->sp;
    v_push(in, v_retain(A));
    v_push(in, v_retain(A));
    bool near = false, there = false;
    for (int k = 0; !there; k++) {
        if (k == ROOT_STEPS || !root_step(w, mark, !near))
            return stack_cut(in, mark), v_undef();
        Value far = apart(w, mark[1]);
        near = near || !holds(w, "greater", far, row(w, "divide", v_int(1), v_int(10)));
        /* what is left of the wider digits is spoilt by the condition of A */
        there = near && !holds(w, "greater", row(w, "multiply", far, far), w->eps);
        stack_cut(in, mark + 2);
        poll_interrupt(in);
    }
    return root_step(w, mark, false) ? mark[0] : (stack_cut(in, mark), v_undef());
}

/* A root of a complex triangular matrix. */
static Value triangle_root(const Wide *w, Value T)
{
    Book b;
    OpCall call = *w->c;
    call.args = &T;
    call.count = 1;
    book_open_complex(&b, &call, w->c->in->scope);
    Stack a = book_square(&b, 0);
    Out out = book_out(&b, &a, a.n, a.n);
    TextMat A = book_load(&b, &a, 0, false), X = textbook_matrix(&b.t, a.n, a.n, false);
    bool found = textbook_triangle_root(&b.t, A, X);
    book_store(&b, &out, 0, X);
    book_check(&b, &a);
    book_close(&b);
    return found ? op_root(w->c, book_value(&b, &out)) : v_undef();
}

static Value root_by(const Wide *w, Value A, MatrixFn root) { return root(w, A); }

/* ---- the logarithm ---- */
static Value log_by(const Wide *w, Value A, MatrixFn root)
{
    Interp *in = w->c->in;
    Value *mark = in->sp, half = v_undef();
    int halved = 0;
    v_push(in, v_retain(A));
    while (holds(w, "greater", apart(w, mark[0]), row(w, "divide", v_int(1), v_int(8)))) {
        stack_cut(in, mark + 1);
        half = root(w, mark[0]);
        if (half.tag == V_UNDEF)
            return stack_cut(in, mark), half;
        half = v_retain(half);
        v_release(&in->ctx, mark[0]);
        mark[0] = half;
        stack_cut(in, mark + 1);
        if (++halved == ROOTS_MOST)
            return stack_cut(in, mark), v_undef();
    }
    Value low = row(w, "subtract", mark[0], w->one), high = row(w, "add", mark[0], w->one);
    Value Z = row(w, "matmul", low, format_row(w->c, "inv", 1, high));
    Value square = row(w, "matmul", Z, Z);
    Value *at = in->sp;
    v_push(in, v_retain(Z));
    v_push(in, v_retain(Z));
    for (int64_t k = 3;; k += 2) {
        Value term = row(w, "matmul", at[1], square);
        Value sum = row(w, "add", at[0], row(w, "divide", term, v_int(k)));
        Value least = row(w, "multiply", w->eps, format_row(w->c, "norm", 1, sum));
        bool done = !holds(w, "greater", format_row(w->c, "norm", 1, term), least);
        Value keep[2] = { v_retain(sum), v_retain(term) };
        for (int i = 0; i < 2; i++) {
            v_release(&in->ctx, at[i]);
            at[i] = keep[i];
        }
        stack_cut(in, at + 2);
        poll_interrupt(in);
        if (done)
            break;
    }
    Value by = row(w, "power", v_int(2), v_int(halved + 1));
    return row(w, "multiply", at[0], by);
}

/* Of a complex matrix, or of a real one without a real result: Z f(T) Z'. */
static Value by_schur(const Wide *w, Value A, MatrixFunction f)
{
    Value parts = format_row(w->c, "schur", 2, A, v_bool(true));
    Value T = parts.tuple->items[0], Z = parts.tuple->items[1];
    Value r = f.of(w, T, triangle_root);
    if (r.tag == V_UNDEF)
        no_root(w);
    return row(w, "matmul", row(w, "matmul", Z, r), format_row(w->c, "ctranspose", 1, Z));
}

/* ---- the rows ---- */
static DType wider(DType dt)
{
    int digits = dtype_digits(dt);
    if (dtype_base(dt) == DT_MP)
        return digits > (MP_BITS_MAX - 64) / 2 ? DT_NONE : dtype_mp(2 * digits + 64);
    return digits > (DECIMAL_DIGITS_MAX - 20) / 2 ? DT_NONE : dtype_decimal(2 * digits + 20);
}

static Value in_twice_the_digits(OpCall *c, Scope *s, MatrixFunction f)
{
    Interp *in = c->in;
    Precise p;
    Wide w = { .c = c, .what = f.what };
    DType dt = wider(s->format);
    Scope inner = scope_of(dt);
    precise_open(&p, in, s);
    Tensor *A = precise_operand(c, &p, 0);
    precise_close(&p);
    bool pairs = dtype_info((DType)A->dtype)->kind == 'c';
    if (dt == DT_NONE || A->rank != 2)
        format_refuse(c, s->format);
    int64_t n = tensor_shape(A)[0];
    if (n != tensor_shape(A)[1])
        arg_error(c, 0, ERR_SHAPE, "%s must be square, but it is %lld by %lld", arg_text(c, 0),
                  (long long)n, (long long)tensor_shape(A)[1]);
    Value finite = format_row(c, "all", 1, format_row(c, "isfinite", 1, v_tensor_raw(A)));
    if (!*(const bool *)op_keep(c, v_to_tensor(in, finite, 0))->data)
        arg_error(c, 0, ERR_VALUE, "%s must be finite", arg_text(c, 0));
    if (n == 0)
        return v_tensor(&in->ctx, tensor_retain(A));
    explain_note(in, "computed", "in %s, the result rounded once", dtype_name(dt));
    scope_enter(in, &inner);
    Value wide = row(&w, "multiply", format_row(c, "cast", 2, v_tensor_raw(A), v_format(dt)),
                     v_int(1));
    w.n = v_int(n);
    w.one = format_row(c, "cast", 2, format_row(c, "eye", 1, w.n), v_format(dt));
    w.eps = row(&w, "multiply", format_row(c, "eps", 1, v_format(dt)), w.n);
    Value r = pairs ? v_undef() : f.of(&w, wide, root_of);
    if (r.tag == V_UNDEF)
        r = by_schur(&w, wide, f);
    scope_leave(in, &inner);
    r = precise_settle(in, s, c->op, v_retain(r));
    return r;
}

static Value function_of(OpCall *c, Scope *s, MatrixFunction f)
{
    char help[200];
    DType base = dtype_base(s->format);
    if (scope_ordinary(s))
        return precise_outside(c, s, DT_NONE, true);
    if (base == DT_MP || base == DT_DECIMAL)
        return in_twice_the_digits(c, s, f);
    if (format_is_binary(s->format))
        return op_format_wide(c, s);
    snprintf(help, sizeof help, "precision mp(200) { %s(%s) }", c->op->name, arg_text(c, 0));
    arg_error_help(c, 0, ERR_DTYPE, help, "%s has no %s: %s", dtype_name(s->format), c->op->name,
                   base == DT_INTERVAL ? "no enclosure of it is computed here"
                                       : "its elements are no fractions");
}

Value op_format_sqrtm(OpCall *c, Scope *s)
{
    return function_of(c, s, (MatrixFunction){ root_by, "square root" });
}

Value op_format_logm(OpCall *c, Scope *s)
{
    return function_of(c, s, (MatrixFunction){ log_by, "logarithm" });
}
