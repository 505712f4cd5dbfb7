/* The frame of linear algebra in a format: see textbook.h. Operands are rounded to the format
 * by the door's functions, matrices go to carriers one at a time, and every status of the
 * algorithms becomes an error here. */
#include "builtins/textbook/textbook.h"

#include "core/base/error.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* ---- opening and closing ---- */

static bool is_complex(DType dt) { return dtype_info(dt)->kind == 'c'; }

/* LAPACK knows no accumulator: f32 with one of its own runs the textbook algorithm, but for
 * complex matrices, of which there is not always one. */
bool book_sums_apart(OpCall *c, const Scope *s)
{
    return s->accumulate_given && s->accumulate != s->format &&
           !is_complex((DType)arg_tensor(c, 0)->dtype);
}

bool book_ordinary(OpCall *c, Scope *s, Value *result)
{
    bool exact = s->format == DT_RATIONAL && c->op->exact;
    for (int i = 0; i < c->count; i++)
        exact &= v_dtype(c->args[i]) == DT_NONE || !is_complex(v_dtype(c->args[i]));
    if (!exact && !(scope_ordinary(s) && !book_sums_apart(c, s)))
        return false;
    s->partly |= !exact;                   /* what LAPACK rounds is not counted */
    *result = precise_outside(c, s, DT_NONE, true);
    return true;
}

static void *take_room(void *owner, DType carrier, int64_t count)
{
    OpCall *c = owner;
    return op_keep(c, tensor_zeros(&c->in->ctx, carrier, 1, &count))->data;
}

static void refuse_complex(OpCall *c, int i, DType format)
{
    char help[160];
    snprintf(help, sizeof help, "outside of the scope %s(c128(%s)) runs LAPACK", c->op->name,
             arg_text(c, i));
    arg_error_help(c, i, ERR_DTYPE, help, "%s is complex, and in %s %s takes real matrices only",
                   arg_text(c, i), dtype_name(format), c->op->name);
}

static void begin(Book *b, OpCall *c, Scope *s, int operands, bool real_only)
{
    bool pairs = false;
    *b = (Book){ .c = c, .s = s };
    for (int i = 0; i < operands; i++) {
        bool cplx = is_complex((DType)arg_tensor(c, i)->dtype);
        if (cplx && real_only)
            refuse_complex(c, i, s->format);
        pairs |= cplx;
    }
    precise_open(&b->p, c->in, s);
    b->dt = precise_dtype(s->format, pairs);
}

void book_open(Book *b, OpCall *c, Scope *s, int operands, bool real_only)
{
    begin(b, c, s, operands, real_only);
    bool other = s->accumulate_given && s->accumulate != s->format;
    if (other)
        precise_accumulator(&b->p);
    Arith *f = !other && arith_flat(&b->p.a, &b->flat) ? &b->flat : &b->p.a;
    textbook_begin(&b->t, f, other ? &b->p.acc : f, b->dt != s->format, take_room, c);
    book_check(b, NULL);
}

void book_open_complex(Book *b, OpCall *c, Scope *s)
{
    begin(b, c, s, 1, false);
    b->dt = precise_dtype(s->format, true);
    textbook_begin(&b->t, &b->p.a, &b->p.a, true, take_room, c);
    book_check(b, NULL);
}

void book_open_summing(Book *b, OpCall *c, Scope *s)
{
    begin(b, c, s, 1, false);
    precise_accumulator(&b->p);
    textbook_begin(&b->t, &b->p.acc, &b->p.acc, b->dt != s->format, take_room, c);
    book_check(b, NULL);
}

void book_close(Book *b)
{
    if (b->t.f == &b->flat) {
        b->p.a.flags = b->flat.flags;
        b->p.a.draw = b->flat.draw;
    }
    precise_close(&b->p);
}

BookQuiet book_quiet(const Book *b)
{
    return (BookQuiet){ b->t.f->flags, b->t.acc->flags, b->t.f->draw };
}

void book_loud(Book *b, BookQuiet q)
{
    b->t.f->flags = q.f;
    b->t.acc->flags = q.acc;
    b->t.f->draw = q.draw;
}

/* ---- operands ---- */

Tensor *book_operand(Book *b, int i)
{
    Tensor *x = arg_tensor(b->c, i);
    return op_keep(b->c, precise_round_as(&b->p, b->c->op, x, b->dt != b->s->format));
}

Stack book_stack(Book *b, int i)
{
    arg_tensor(b->c, i);
    Stack s = linalg_stack_as(b->c, i, book_operand(b, i));
    s.given = b->dt;
    return s;
}

Stack book_square(Book *b, int i)
{
    Stack s = book_stack(b, i);
    if (s.m != s.n)
        linalg_not_square(&s);
    return s;
}

TextMat book_load_at(Book *b, Mat at, int64_t rows, int64_t cols, bool by_columns)
{
    TextMat M = textbook_matrix(&b->t, rows, cols, by_columns);
    textbook_load(&b->t, M, b->dt, at.data, at.rs, at.cs);
    return M;
}

TextMat book_load(Book *b, Stack *s, int64_t index, bool by_columns)
{
    poll_interrupt(b->c->in);
    s->at = index;
    return book_load_at(b, linalg_item(s, index), s->m, s->n, by_columns);
}

int64_t *book_order(Book *b, int64_t n)
{
    return linalg_work(b->c, (size_t)(n < 1 ? 1 : n), sizeof(int64_t));
}

/* ---- results ---- */

Out book_out(const Book *b, const Stack *s, int64_t rows, int64_t cols)
{
    return linalg_out(s, b->dt, rows, cols, false);
}

Out book_out_real(const Book *b, const Stack *s, int64_t rows, int64_t cols)
{
    return linalg_out(s, b->s->format, rows, cols, false);
}

/* Numbers of the accumulator, where it runs in the format's place, as numbers of the format:
 * rounded once. */
static TextMat settle(Book *b, TextMat M)
{
    Arith *to = &b->p.a, *from = b->t.f;
    int64_t n = M.rows * M.cols, parts = M.im ? 2 : 1;
    TextMat R = M;
    if (b->settled_size < parts * n) {
        b->settled_size = parts * n;
        b->settled = take_room(b->c, to->carrier, parts * n);
    }
    R.re = b->settled;
    R.im = M.im ? b->settled + n * to->size : NULL;
    R.row = M.cols, R.col = 1;
    for (int64_t i = 0; i < M.rows * parts && b->t.status == ARITH_OK; i++) {
        int64_t row = i % M.rows;
        bool im = i >= M.rows;
        char *at = (im ? R.im : R.re) + row * M.cols * to->size;
        const char *x = (im ? M.im : M.re) + row * M.row * from->size;
        b->t.status = to->ops->load(to, at, 1, from->carrier, x, M.col, M.cols);
    }
    return R;
}

static void store(Book *b, char *to, TextMat M, bool pairs)
{
    if (b->t.f != &b->p.acc) {
        textbook_store(&b->t, to, M.cols, 1, M, pairs);
        return;
    }
    Textbook out = b->t;
    M = settle(b, M);
    out.f = &b->p.a;
    out.status = b->t.status;
    textbook_store(&out, to, M.cols, 1, M, pairs);
    b->t.status = out.status;
}

void book_store(Book *b, const Out *o, int64_t index, TextMat M)
{
    store(b, linalg_block(o, index), M, is_complex((DType)o->t->dtype));
}

void book_store_row(Book *b, const Out *o, int64_t index, TextRow x, int64_t n)
{
    book_store(b, o, index, (TextMat){ x.re, x.im, 1, n, 0, x.step });
}

Value book_value(const Book *b, const Out *o)
{
    return op_result(b->c, o->t);
}

/* Four results at most. */
Value book_tuple(Book *b, const char *name, const Out *first, ...)
{
    const char *names[4] = { name, NULL, NULL, NULL };
    Value values[4] = { op_root(b->c, book_value(b, first)) };
    va_list more;
    int n = 1;
    va_start(more, first);
    for (const char *next; n < 4 && (next = va_arg(more, const char *)) != NULL; n++) {
        names[n] = next;
        values[n] = op_root(b->c, book_value(b, va_arg(more, const Out *)));
    }
    va_end(more);
    for (int i = 0; i < n; i++)
        v_retain(values[i]);
    return tuple_make(b->c->in, names[0], values[0], names[1], values[1], names[2], values[2],
                      names[3], values[3], NULL);
}

/* ---- errors ---- */

static _Noreturn void no_root(Book *b)
{
    OpCall *c = b->c;
    char help[160];
    snprintf(help, sizeof help, "precision mp(200) { %s(%s) } has 200 bits of it", c->op->name,
             c->count > 0 ? arg_text(c, 0) : "A");
    arg_error_help(c, 0, ERR_NUMERIC, help,
                   "of %s it takes the root of a fraction that is no square: the result is not "
                   "rational",
                   arg_text(c, 0));
}

static _Noreturn void not_converged(Book *b, const Stack *s)
{
    OpCall *c = b->c;
    char help[160], where[64] = "";
    const char *f = dtype_name(b->s->format);
    snprintf(help, sizeof help, "a wider format converges: precision f64 { %s(%s) }", c->op->name,
             arg_text(c, 0));
    if (b->s->format == DT_RATIONAL) {
        snprintf(help, sizeof help, "precision mp(200) { %s(%s) } has 200 bits of it", c->op->name,
                 arg_text(c, 0));
        arg_error_help(c, 0, ERR_NUMERIC, help,
                       "the iteration for %s does not end in fractions: the result is not rational",
                       arg_text(c, 0));
    }
    if (s && s->batch_rank)
        snprintf(where, sizeof where, " (matrix %lld)", (long long)s->at);
    arg_error_help(c, 0, ERR_NUMERIC, help, "the iteration for %s did not converge in %s%s",
                   arg_text(c, 0), f, where);
}

void book_check(Book *b, const Stack *s)
{
    ArithStatus status = b->t.status;
    poll_interrupt(b->c->in);
    if (status == ARITH_OK)
        return;
    if (status == ARITH_INEXACT)
        no_root(b);
    if (status == ARITH_DIVERGED)
        not_converged(b, s);
    precise_check(b->c->in, b->c->op, status, b->s->format);
}

void book_require_points(OpCall *c, Scope *s)
{
    char help[160];
    snprintf(help, sizeof help, "precision mp(200) { %s(%s) } has 200 bits", c->op->name,
             arg_text(c, 0));
    if (s->format == DT_INTERVAL)
        arg_error_help(c, 0, ERR_DTYPE, help,
                       "there are no enclosures of it: %s is computed in points only", c->op->name);
}

void book_singular(Book *b, const Stack *s, int64_t pivot)
{
    char why[160];
    snprintf(why, sizeof why, "pivot %lld of the elimination in %s is zero (column %lld %s)",
             (long long)pivot, dtype_name(b->s->format), (long long)pivot,
             pivot ? "depends on those before it" : "is zero");
    linalg_singular(s, why);
}

/* ---- what an algorithm needs of its operand ---- */

static bool finite_row(Book *b, const char *x, int64_t step, int64_t n, int64_t *at)
{
    const Arith *f = b->t.f;
    for (int64_t i = 0; x && i < n; i++) {
        const char *cell = x + i * step * f->size;
        uint8_t good = 1;
        double v;
        if (f->carrier == DT_F64) {
            memcpy(&v, cell, sizeof v);
            good = isfinite(v) != 0;
        } else {
            const void *in[3] = { cell, NULL, NULL };
            const int64_t none[3] = { 0, 0, 0 };
            if (f->ops->ew(b->t.f, EW_ISFINITE, &good, 0, in, none, 1) != ARITH_OK)
                good = 1;
        }
        if (!good) {
            *at = i;
            return false;
        }
    }
    return true;
}

void book_require_finite(Book *b, const Stack *s, TextMat M)
{
    OpCall *c = b->c;
    char help[160];
    int64_t j = 0, size = b->t.f->size;
    for (int64_t i = 0; i < M.rows; i++)
        if (!finite_row(b, M.re + i * M.row * size, M.col, M.cols, &j) ||
            !finite_row(b, M.im ? M.im + i * M.row * size : NULL, M.col, M.cols, &j)) {
            snprintf(help, sizeof help, "isfinite(%s) finds such elements", arg_text(c, s->arg));
            arg_error_help(c, s->arg, ERR_VALUE, help,
                           "%s must be finite, but in %s its element [%s%lld, %lld] is not",
                           arg_text(c, s->arg), dtype_name(b->s->format),
                           s->batch_rank ? "…, " : "",
                           (long long)i, (long long)j);
        }
}

/* What two elements may differ by: 1000 eps, and at most sqrt(eps), of the largest. */
static double symmetry_allowed(const Arith *f)
{
    double eps = f->carrier == DT_F64 ? ldexp(1, 1 - f->p)
                 : dtype_base(f->dtype) == DT_DECIMAL ? pow(10, 1 - (double)f->digits)
                 : dtype_base(f->dtype) == DT_MP ? ldexp(1, 1 - (int)f->digits) : 0;
    return fmin(1000 * eps, sqrt(eps));
}

static double as_double(const Arith *f, const char *x)
{
    double v = 0;
    if (f->carrier == DT_F64)
        memcpy(&v, x, sizeof v);
    else if (f->carrier == DT_U8)
        v = arith_flat_f64(f, x);
    else
        v = element_f64(f->carrier, x);
    return v;
}

void book_require_symmetric(Book *b, const Stack *s, TextMat M, const char *help)
{
    OpCall *c = b->c;
    const Arith *f = b->t.f;
    double most = 0, allowed = symmetry_allowed(f);
    int64_t size = f->size;
    for (int64_t i = 0; i < M.rows; i++)
        for (int64_t j = 0; j < M.cols; j++)
            most = fmax(most, fabs(as_double(f, M.re + (i * M.row + j * M.col) * size)));
    for (int64_t i = 0; i < M.rows; i++)
        for (int64_t j = 0; j <= i; j++) {
            int64_t p = (i * M.row + j * M.col) * size, q = (j * M.row + i * M.col) * size;
            double gap = fabs(as_double(f, M.re + p) - as_double(f, M.re + q));
            if (M.im)
                gap = fmax(gap, fabs(as_double(f, M.im + p) + as_double(f, M.im + q)));
            if (gap > allowed * most)
                arg_error_help(c, s->arg, ERR_VALUE, help,
                               "%s must be %s, but its elements [%lld, %lld] and [%lld, %lld] "
                               "differ by %.3g",
                               arg_text(c, s->arg), M.im ? "Hermitian" : "symmetric", (long long)i,
                               (long long)j, (long long)j, (long long)i, gap);
        }
}
