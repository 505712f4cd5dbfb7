/* Rows of linear algebra on sparse matrices in a format: solve, det, slogdet, lu by the plain
 * factorisation of kernels/textbook/textbook_sparse.c, which rounds as that of dense matrices
 * does. */
#include "builtins/sparse/sparse_format.h"

#include "builtins/linalg/linalg.h"
#include "builtins/textbook/textbook.h"
#include "core/base/error.h"
#include "kernels/textbook/textbook_number.h"

#include <stdio.h>
#include <string.h>

typedef struct Entries {
    Book book;
    TextSparse a;
    Stack named;                 /* for error texts */
} Entries;

/* Of rationals the ordinary row is the exact one: outside of scopes they ask for no form. */
static bool exact(OpCall *c, const Tensor *other)
{
    DType dt = (DType)v_sparse(c->args[0])->value->dtype;
    if (other && (DType)other->dtype != dt)
        dt = dtype_promote(dt, (DType)other->dtype);
    return dt == DT_RATIONAL && c->op->exact && !c->in->scope;
}

Scope *sparse_format_scope(OpCall *c, const Tensor *other, Scope *implied)
{
    const Tensor *a = c->args[0].tensor;
    if (!v_sparse(c->args[0]) || a->dims[0] != a->dims[1] || (other && other->rank > 2))
        return NULL;
    if (exact(c, other)) {
        *implied = scope_implied(c->in, DT_RATIONAL);
        return implied;
    }
    Scope *s = precise_form_scope(c, implied);
    const bool plain = s && scope_ordinary(s) && !book_sums_apart(c, s);
    return !s || plain || s->format == DT_INTERVAL ? NULL : s;
}

/* ---- the matrix ---- */
static void *room(void *owner, DType carrier, int64_t count)
{
    OpCall *c = owner;
    Ctx *ctx = &c->in->ctx;
    const double bytes = (double)count * dtype_info(carrier)->bytes;
    char much[32], all[32];
    if (bytes > (double)ctx->mem.limit - (double)ctx->mem.live) {
        mem_bytes_text(much, bytes + (double)ctx->mem.live);
        mem_bytes_text(all, (double)ctx->mem.limit);
        arg_error_help(c, 0, ERR_MEMORY, "rows and columns in another order may fill less",
                       "the factors of %s fill up: they would take %s of the memory (%s)",
                       arg_text(c, 0), much, all);
    }
    return op_keep(c, tensor_zeros(ctx, carrier, 1, &count))->data;
}

/* Row 0 of a vector of numbers of the book's dtype. */
static TextRow carriers(Book *b, Tensor *value)
{
    Tensor *x = op_keep(b->c, precise_round_as(&b->p, b->c->op, value, b->dt != b->s->format));
    x = op_keep(b->c, tensor_compact(&b->c->in->ctx, x));
    TextRow row = textbook_vector(&b->t, x->size < 1 ? 1 : x->size);
    TextMat M = { row.re, row.im, 1, x->size, 0, 1 };
    textbook_load(&b->t, M, b->dt, x->data, 0, 1);
    book_check(b, NULL);
    return row;
}

static void entries_open(Entries *e, OpCall *c, Scope *s, int operands)
{
    Ctx *ctx = &c->in->ctx;
    Sparse *sparse = v_sparse(c->args[0]);
    const Csr a = sparse_csr(sparse);
    Made made = { 0 };
    SparseOrder o = sparse_turned(ctx, &made, &a);
    op_keep(c, made_take(&made, o.pattern));
    op_keep(c, made_take(&made, o.order));
    made_end(ctx, &made);
    book_open(&e->book, c, s, operands, false);
    e->book.t.take = room;
    e->named = (Stack){ .call = c, .t = c->args[0].tensor, .m = a.m, .n = a.n };
    e->a = (TextSparse){ .n = a.n, .rows = { a.start, a.column, carriers(&e->book, sparse->value) },
                         .column_start = made_ints(o.pattern),
                         .column_row = made_ints(o.pattern) + a.n + 1,
                         .column_entry = made_ints(o.order) };
}

static void tell(Entries *e, const TextFactors *f, int64_t columns)
{
    Book *b = &e->book;
    Interp *in = b->c->in;
    if (!heard_on(in))
        return;
    explain_routine(in, f->order ? "our own LU with partial pivoting" : "substitution", NULL, NULL);
    if (b->t.acc != b->t.f)
        explain_note(in, "sums", "inner products accumulated in %s",
                     dtype_name(b->s->accumulate));
    explain_flops(in, (2 * f->terms + 2 * f->fill * (double)columns) * (b->t.pairs ? 4 : 1), NULL);
    if (f->order) {
        explain_note(in, "ordering", "natural");
        explain_note(in, "fill", "%.0f entries in the factors", f->fill);
    }
}

/* As the rows of dense matrices say it. */
static _Noreturn void singular(Entries *e, int64_t column)
{
    OpCall *c = e->book.c;
    char help[160];
    if (e->book.dt != DT_RATIONAL)
        book_singular(&e->book, &e->named, column);
    snprintf(help, sizeof help, "rref(%s) shows which columns depend on others", arg_text(c, 0));
    arg_error_help(c, 0, ERR_NUMERIC, help, "%s is singular: column %lld depends on those before "
                   "it", arg_text(c, 0), (long long)column);
}

/* ---- solve ---- */
Value sparse_format_solve(OpCall *c, Scope *s, Tensor *right)
{
    Entries e;
    TextFactors f;
    entries_open(&e, c, s, 2);
    Book *b = &e.book;
    Textbook *t = &b->t;
    const int64_t cols = right->rank == 1 ? 1 : right->dims[1];
    right = op_keep(c, precise_round_as(&b->p, c->op, right, b->dt != s->format));
    right = op_keep(c, tensor_compact(&c->in->ctx, right));
    const int64_t none = textbook_sparse_factor(t, &e.a, s->format == DT_RATIONAL, &f);
    book_check(b, NULL);
    if (none >= 0)
        singular(&e, none);
    TextMat X = textbook_matrix(t, e.a.n, cols, false);
    textbook_load(t, X, b->dt, right->data, cols, 1);
    textbook_sparse_solve(t, &f, X);
    book_check(b, NULL);
    Tensor *x = op_keep(c, tensor_new(&c->in->ctx, b->dt, right->rank, tensor_shape(right)));
    textbook_store(t, x->data, cols, 1, X, t->pairs);
    book_check(b, NULL);
    book_close(b);
    tell(&e, &f, cols);
    return op_result(c, x);
}

/* ---- determinants ---- */
static Out number(const Book *b, DType dt)
{
    return (Out){ .t = op_keep(b->c, tensor_new(&b->c->in->ctx, dt, 0, NULL)) };
}

Value sparse_format_det(OpCall *c, Scope *s)
{
    Entries e;
    TextFactors f;
    entries_open(&e, c, s, 1);
    Book *b = &e.book;
    const int64_t none = textbook_sparse_factor(&b->t, &e.a, true, &f);
    Out out = number(b, b->dt);
    TextRow d = textbook_vector(&b->t, 1);
    if (none >= 0)
        text_fill(b->t.f, d, b->t.zero, b->t.zero, 1);
    else
        textbook_sparse_det(&b->t, &f, d);
    textbook_store(&b->t, out.t->data, 1, 1, (TextMat){ d.re, d.im, 1, 1, 1, 1 }, b->t.pairs);
    book_check(b, NULL);
    book_close(b);
    tell(&e, &f, 0);
    return op_result(c, out.t);
}

Value sparse_format_slogdet(OpCall *c, Scope *s)
{
    Entries e;
    TextFactors f;
    book_require_logarithms(c, s);
    entries_open(&e, c, s, 1);
    Book *b = &e.book;
    textbook_sparse_factor(&b->t, &e.a, true, &f);
    Out sign = number(b, b->dt), logdet = number(b, s->format);
    TextRow x = textbook_vector(&b->t, 1), y = textbook_vector(&b->t, 1);
    const TextMat diagonal = { f.pivot.re, f.pivot.im, f.n, f.n, 1, 0 };
    book_sign_and_log(b, diagonal, textbook_sparse_odd(&b->t, &f), x, y.re);
    textbook_store(&b->t, sign.t->data, 1, 1, (TextMat){ x.re, x.im, 1, 1, 1, 1 }, b->t.pairs);
    textbook_store(&b->t, logdet.t->data, 1, 1, (TextMat){ y.re, NULL, 1, 1, 1, 1 }, false);
    book_check(b, NULL);
    book_close(b);
    tell(&e, &f, 0);
    return book_tuple(b, "sign", &sign, "logdet", &logdet, NULL);
}

/* ---- factors ---- */
/* A triangle with its diagonal: below it (1s where unit) or above. On the value stack. */
static Value triangle(Entries *e, const TextFactors *f, bool upper)
{
    Book *b = &e->book;
    Textbook *t = &b->t;
    OpCall *c = b->c;
    Ctx *ctx = &c->in->ctx;
    const TextEntries *from = upper ? &f->upper : &f->lower;
    const int64_t n = f->n, entries = from->start[n] + n;
    Made made = { 0 };
    Tensor *pattern = op_keep(c, made_take(&made, made_pattern(ctx, &made, n, entries)));
    int64_t *start = made_ints(pattern), *column = start + n + 1, k = 0;
    TextRow all = textbook_vector(t, entries < 1 ? 1 : entries);
    TextRow pivot = f->pivot;
    if (!upper)
        pivot = (TextRow){ t->one, t->pairs ? t->zero : NULL, 0 };
    for (int64_t i = 0; i < n; i++) {
        const int64_t own = from->start[i + 1] - from->start[i], at = k + (upper ? 1 : 0);
        const int64_t corner = upper ? k : k + own;
        memcpy(column + at, from->at + from->start[i], (size_t)own * sizeof *column);
        text_narrow(t, text_from(t->f, all, at), text_from(t->acc, from->value, from->start[i]),
                    own);
        column[corner] = i;
        text_copy(t->f, text_from(t->f, all, corner), text_from(t->f, pivot, i), 1);
        start[i + 1] = k += own + 1;
    }
    Tensor *value = op_keep(c, tensor_new(ctx, b->dt, 1, &entries));
    textbook_store(t, value->data, 0, 1, (TextMat){ all.re, all.im, 1, entries, 0, 1 }, t->pairs);
    book_check(b, NULL);
    return op_root(c, v_tensor_raw(sparse_new(ctx, n, n, tensor_retain(pattern),
                                              tensor_retain(value))));
}

/* order, or 0, 1, … where that is NULL. */
static Value places(OpCall *c, const int64_t *order, int64_t n)
{
    Tensor *t = op_keep(c, tensor_new(&c->in->ctx, DT_I64, 1, &n));
    for (int64_t i = 0; i < n; i++)
        made_ints(t)[i] = order ? order[i] : i;
    return op_root(c, op_result(c, t));
}

Value sparse_format_lu(OpCall *c, Scope *s)
{
    Entries e;
    TextFactors f;
    entries_open(&e, c, s, 1);
    Book *b = &e.book;
    const int64_t none = textbook_sparse_factor(&b->t, &e.a, true, &f);
    book_check(b, NULL);
    if (none >= 0)
        singular(&e, none);
    Value l = triangle(&e, &f, false), u = triangle(&e, &f, true);
    Value p = places(c, f.order, f.n), q = places(c, NULL, f.n);
    book_close(b);
    tell(&e, &f, 0);
    return tuple_make(c->in, "L", v_retain(l), "U", v_retain(u), "p", v_retain(p), "q",
                      v_retain(q), NULL);
}
