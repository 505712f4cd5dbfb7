/* sqrtm and logm in a format. Binary formats of the machine's range: in f64, and rounded once. mp
 * and decimal: by products and inverses in twice the digits, of which the iterations need some.
 * Real matrices with real results alone, as these formats have no complex numbers.
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
typedef Value (*MatrixFn)(const Wide *, Value);

typedef struct MatrixFunction {
    MatrixFn of;
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
    snprintf(help, sizeof help, "precision f64 { %s(%s) } gives complex numbers", c->op->name,
             arg_text(c, 0));
    arg_error_help(c, 0, ERR_NUMERIC, help,
                   "%s has no real %s that was found: an eigenvalue is 0, or negative",
                   arg_text(c, 0), w->what);
}

/* ---- the square root ---- */
/* One step; what stays is put at mark[0] and mark[1], X and M. */
static void root_step(const Wide *w, Value *mark, bool scaled)
{
    Interp *in = w->c->in;
    Value X = mark[0], M = mark[1], square = v_int(1), mu = v_int(1);
    if (scaled) {
        Value det = format_row(w->c, "abs", 1, format_row(w->c, "det", 1, M));
        if (holds(w, "equal", det, v_int(0)))
            no_root(w);
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
}

static Value root_of(const Wide *w, Value A)
{
    Interp *in = w->c->in;
    Value *mark = in->sp;
    v_push(in, v_retain(A));
    v_push(in, v_retain(A));
    bool near = false, there = false;
    for (int k = 0; !there; k++) {
        if (k == ROOT_STEPS)
            no_root(w);
        root_step(w, mark, !near);
        Value far = apart(w, mark[1]);
        near = near || !holds(w, "greater", far, row(w, "divide", v_int(1), v_int(10)));
        /* what is left of the wider digits is spoilt by the condition of A */
        there = near && !holds(w, "greater", row(w, "multiply", far, far), w->eps);
        stack_cut(in, mark + 2);
        poll_interrupt(in);
    }
    root_step(w, mark, false);
    return mark[0];
}

/* ---- the logarithm ---- */
static Value log_of(const Wide *w, Value A)
{
    Interp *in = w->c->in;
    Value *mark = in->sp, half = v_undef();
    int halved = 0;
    v_push(in, v_retain(A));
    while (holds(w, "greater", apart(w, mark[0]), row(w, "divide", v_int(1), v_int(8)))) {
        stack_cut(in, mark + 1);
        half = v_retain(root_of(w, mark[0]));
        v_release(&in->ctx, mark[0]);
        mark[0] = half;
        stack_cut(in, mark + 1);
        if (++halved == ROOTS_MOST)
            no_root(w);
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
    if (dt == DT_NONE || A->rank != 2 || dtype_info((DType)A->dtype)->kind == 'c')
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
    Value r = f.of(&w, wide);
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
    return function_of(c, s, (MatrixFunction){ root_of, "square root" });
}

Value op_format_logm(OpCall *c, Scope *s)
{
    return function_of(c, s, (MatrixFunction){ log_of, "logarithm" });
}
