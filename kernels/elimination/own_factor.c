/* The room's own factors as Eliminations: an order is chosen, the factors are made, and what may be
 * asked of them is answered. */
#include "kernels/elimination/own.h"
#include "kernels/elimination/columns.h"

#include "core/base/error.h"

#include <math.h>
#include <string.h>

const char *elimination_ordering_name(EliminationOrdering o)
{
    static const char *const name[ORDERINGS] = {
        [ORDERING_NATURAL] = "natural", [ORDERING_DEGREE] = "degree", [ORDERING_CUTHILL] = "rcm",
        [ORDERING_DISSECTION] = "dissection",
    };
    return name[o];
}

static const char *order_symmetric(Hold *work, const Columns *sum, EliminationOrdering wish,
                                   int64_t *order)
{
    switch (wish) {
    case ORDERING_NATURAL:
        order_natural(sum->n, order);
        return "natural";
    case ORDERING_CUTHILL:
        order_cuthill(work, sum, order);
        return "reverse Cuthill-McKee";
    case ORDERING_DISSECTION:
        order_dissection(work, sum, order);
        return "nested dissection of A + A'";
    default:
        order_degree(work, sum, order);
        return "minimum degree of A + A'";
    }
}

/* Columns of A[p, p], rows up to the diagonal first of all: those below it are of no use. */
static Columns upper_of(Hold *work, const Columns *a, const int64_t *p, const int64_t *place)
{
    const int64_t n = a->n;
    Columns c = { .m = n, .n = n, .each = a->each, .start = hold_ints(work, n + 1),
                  .row = hold_ints(work, a->start[n]) };
    char *value = c.value = hold_new(work, a->start[n], a->each);
    int64_t to = 0;
    for (int64_t k = 0; k < n; k++) {
        c.start[k] = to;
        hold_work(work, a->start[p[k] + 1] - a->start[p[k]]);
        for (int64_t e = a->start[p[k]]; e < a->start[p[k] + 1]; e++) {
            const int64_t i = place[a->row[e]];
            if (i > k)
                continue;
            c.row[to] = i;
            memcpy(value + (size_t)to++ * a->each, (const char *)a->value + (size_t)e * a->each,
                   a->each);
        }
    }
    c.start[n] = to;
    return c;
}

static void columns_drop(Hold *h, Columns *c)
{
    hold_drop(h, c->start);
    hold_drop(h, c->row);
    hold_drop(h, c->value);
}

/* ---- Cholesky ---- */
static void cholesky_solve(Elimination *e, bool adjoint, int64_t columns, const void *b, void *x)
{
    const OwnOps *o = own_ops(e->dtype);
    const size_t step = (size_t)e->n * o->each;
    (void)adjoint;
    for (int64_t c = 0; c < columns; c++)
        o->cholesky_solve(e->work, e->state, (const char *)b + (size_t)c * step,
                          (char *)x + (size_t)c * step);
}

static EliminationDet cholesky_det(Elimination *e)
{
    const OwnFactors *f = e->state;
    EliminationDet d = parts_product(e->dtype, f->diagonal, e->n);
    return parts_det(d.re * d.re, 0, 2 * d.exponent);
}

static void cholesky_parts(Elimination *e, EliminationParts *to)
{
    const OwnFactors *f = e->state;
    to->l = parts_triangle(e->ctx, e->dtype, &f->l, f->diagonal, false);
    to->p = parts_order(e->ctx, e->n, f->p);
}

static const EliminationOps cholesky_ops = {
    .solve = cholesky_solve, .det = cholesky_det, .parts = cholesky_parts,
};

void own_cholesky(Elimination *e, Hold *work, const Columns *a, EliminationOrdering wish)
{
    const int64_t n = a->n;
    OwnFactors *f = hold_zero(e->hold, 1, sizeof *f);
    int64_t *place = hold_ints(work, n), *parent = hold_ints(work, n);
    int64_t *post = hold_ints(work, n), *p = f->p = hold_ints(e->hold, n);
    Columns sum = columns_sum(work, a);
    e->ordering = order_symmetric(work, &sum, wish, post);
    columns_drop(work, &sum);
    memcpy(p, post, (size_t)n * sizeof *p);
    order_inverse(n, p, place);
    Columns c = upper_of(work, a, p, place);
    if (wish != ORDERING_NATURAL) {
        int64_t *before = hold_ints(work, n);
        memcpy(before, p, (size_t)n * sizeof *p);
        tree_of(work, &c, false, parent);
        tree_post(work, n, parent, post);
        for (int64_t k = 0; k < n; k++)
            p[k] = before[post[k]];
        columns_drop(work, &c);
        hold_drop(work, before);
        order_inverse(n, p, place);
        c = upper_of(work, a, p, place);
    }
    e->flops = 0;
    const int64_t end = own_ops(e->dtype)->cholesky(e->hold, work, &c, f, &e->flops);
    if (end >= 0) {
        e->not_definite = p[end] + 1;
        return;
    }
    e->state = f;
    e->method = ELIMINATION_CHOLESKY;
    e->ops = &cholesky_ops;
    e->fill = (double)f->l.start[n] + (double)n;
    e->pivots = parts_spread(e->dtype, f->diagonal, n);
    e->pivots *= e->pivots;
}

/* ---- LU ---- */
static void lu_solve(Elimination *e, bool adjoint, int64_t columns, const void *b, void *x)
{
    const OwnOps *o = own_ops(e->dtype);
    const size_t step = (size_t)e->n * o->each;
    for (int64_t c = 0; c < columns; c++)
        o->lu_solve(e->work, e->state, adjoint, (const char *)b + (size_t)c * step,
                    (char *)x + (size_t)c * step);
}

static EliminationDet lu_det(Elimination *e)
{
    const OwnFactors *f = e->state;
    EliminationDet d = parts_product(e->dtype, f->diagonal, e->n);
    const bool odd = parts_odd(e->ctx, e->n, f->p) != parts_odd(e->ctx, e->n, f->q);
    return odd ? (EliminationDet){ -d.re, -d.im, d.exponent } : d;
}

static void lu_parts(Elimination *e, EliminationParts *to)
{
    const OwnFactors *f = e->state;
    to->l = parts_triangle(e->ctx, e->dtype, &f->l, NULL, false);
    to->u = parts_triangle(e->ctx, e->dtype, &f->u, f->diagonal, false);
    to->p = parts_order(e->ctx, e->n, f->p);
    to->q = parts_order(e->ctx, e->n, f->q);
}

static const EliminationOps lu_ops = { .solve = lu_solve, .det = lu_det, .parts = lu_parts };

/* Does the pattern hold its diagonal, and four of five of its entries mirrored? Then pivots are
 * best looked for on the diagonal. */
static bool nearly_symmetric(const Columns *a, const Columns *sum)
{
    const int64_t n = a->n;
    int64_t diagonal = 0;
    for (int64_t j = 0; j < n; j++)
        for (int64_t p = a->start[j]; p < a->start[j + 1]; p++)
            diagonal += a->row[p] == j;
    const double off = (double)(a->start[n] - diagonal), both = (double)sum->start[n];
    const double mirrored = 2 * off - both;
    return (double)diagonal >= 0.9 * (double)n && mirrored >= 0.6 * off;
}

static int64_t dense_row(int64_t n)
{
    return (int64_t)fmax(16, 10 * sqrt((double)n));
}

static const char *order_columns(Hold *work, const Columns *a, const Columns *sum,
                                 EliminationOrdering wish, bool symmetric, int64_t *q)
{
    const int64_t room = 64 * a->start[a->n] + 1024;
    if ((wish == ORDERING_ANY || wish == ORDERING_DEGREE) && !symmetric) {
        Columns square = columns_square(work, a, dense_row(a->n), room);
        if (square.start) {
            order_degree(work, &square, q);
            columns_drop(work, &square);
            return "minimum degree of A'A";
        }
    }
    return order_symmetric(work, sum, wish, q);
}

void own_lu(Elimination *e, Hold *work, const Columns *a, EliminationOrdering wish)
{
    static const double DIAGONAL = 0.1;
    const int64_t n = a->n;
    OwnFactors *f = hold_zero(e->hold, 1, sizeof *f);
    f->q = hold_ints(e->hold, n);
    Columns sum = columns_sum(work, a);
    const bool symmetric = nearly_symmetric(a, &sum);
    e->ordering = order_columns(work, a, &sum, wish, symmetric, f->q);
    columns_drop(work, &sum);
    const OwnLu lu = { a, f->q, symmetric ? DIAGONAL : 1 };
    e->flops = 0;
    e->method = ELIMINATION_LU;
    e->ops = &lu_ops;
    e->state = f;
    const int64_t end = own_ops(e->dtype)->lu(e->hold, work, &lu, f, &e->flops);
    if (end >= 0) {
        e->failed = f->q[end];
        return;
    }
    f->l.row = hold_grow(e->hold, f->l.row, f->l.start[n], sizeof(int64_t));
    f->u.row = hold_grow(e->hold, f->u.row, f->u.start[n], sizeof(int64_t));
    f->l.value = hold_grow(e->hold, f->l.value, f->l.start[n], f->l.each);
    f->u.value = hold_grow(e->hold, f->u.value, f->u.start[n], f->u.each);
    e->fill = (double)f->l.start[n] + (double)f->u.start[n] + (double)n;
    e->pivots = parts_spread(e->dtype, f->diagonal, n);
}

/* ---- QR ---- */
static void qr_solve(Elimination *e, bool adjoint, int64_t columns, const void *b, void *x)
{
    const OwnOps *o = own_ops(e->dtype);
    const size_t in = (size_t)(adjoint ? e->n : e->m), out = (size_t)(adjoint ? e->m : e->n);
    for (int64_t c = 0; c < columns; c++)
        o->qr_solve(e->work, e->state, adjoint, (const char *)b + (size_t)c * in * o->each,
                    (char *)x + (size_t)c * out * o->each);
}

static void qr_parts(Elimination *e, EliminationParts *to)
{
    const OwnFactors *f = e->state;
    if (f->wide)
        return;
    to->u = parts_triangle(e->ctx, e->dtype, &f->l, f->diagonal, true);
    to->q = parts_order(e->ctx, e->n, f->q);
}

static const EliminationOps qr_ops = { .solve = qr_solve, .parts = qr_parts };

/* The adjoint of A has A's rows, conjugated, as its columns. */
static Columns adjoint_of(Hold *keep, const Csr *a, const OwnOps *o)
{
    Columns c = { .m = a->n, .n = a->m, .each = o->each, .start = hold_ints(keep, a->m + 1),
                  .row = hold_ints(keep, a->entries) };
    c.value = hold_new(keep, a->entries, o->each);
    memcpy(c.start, a->start, (size_t)(a->m + 1) * sizeof *c.start);
    memcpy(c.row, a->column, (size_t)a->entries * sizeof *c.row);
    for (int64_t k = 0; k < a->entries; k++)
        o->put(c.value, k, o->real(a->value, k), -o->imag(a->value, k));
    return c;
}

void own_qr(Elimination *e, Hold *work, const Csr *csr, const Columns *a, EliminationOrdering wish)
{
    OwnFactors *f = hold_zero(e->hold, 1, sizeof *f);
    const OwnOps *o = own_ops(e->dtype);
    f->wide = e->m < e->n;
    f->a = f->wide ? adjoint_of(e->hold, csr, o) : *a;
    const int64_t n = f->a.n;
    f->q = hold_ints(e->hold, n);
    order_natural(n, f->q);
    e->ordering = "natural";
    if (wish != ORDERING_NATURAL) {
        Columns square = columns_square(work, &f->a, dense_row(n), INT64_MAX);
        order_degree(work, &square, f->q);
        columns_drop(work, &square);
        e->ordering = "minimum degree of A'A";
    }
    e->flops = 0;
    o->qr(e->hold, work, f, &e->flops);
    e->rank = f->rank;
    e->method = ELIMINATION_QR;
    e->ops = &qr_ops;
    e->state = f;
    e->fill = (double)f->l.start[n] + (double)n;
}

/* ---- triangles ---- */
typedef struct Triangle { Csr a; const int64_t *p, *q, *pivot; } Triangle;

static void triangle_solve(Elimination *e, bool adjoint, int64_t columns, const void *b, void *x)
{
    const Triangle *t = e->state;
    const OwnOps *o = own_ops(e->dtype);
    const size_t step = (size_t)e->n * o->each;
    for (int64_t c = 0; c < columns; c++)
        o->triangle_solve(e->work, &t->a, t->p, t->q, t->pivot, adjoint,
                          (const char *)b + (size_t)c * step, (char *)x + (size_t)c * step);
}

static EliminationDet triangle_det(Elimination *e)
{
    const Triangle *t = e->state;
    const OwnOps *o = own_ops(e->dtype);
    EliminationDet d = { 1, 0, 0 };
    for (int64_t k = 0; k < e->n; k++)
        d = parts_times(d, o->real(t->a.value, t->pivot[k]), o->imag(t->a.value, t->pivot[k]));
    const bool odd = parts_odd(e->ctx, e->n, t->p) != parts_odd(e->ctx, e->n, t->q);
    return odd ? (EliminationDet){ -d.re, -d.im, d.exponent } : d;
}

static const EliminationOps triangle_ops = { .solve = triangle_solve, .det = triangle_det };

void own_triangle(Elimination *e, const Csr *a, const int64_t *p, const int64_t *q,
                  const int64_t *pivot)
{
    const OwnOps *o = own_ops(e->dtype);
    Hold *h = e->hold;
    Triangle *t = hold_zero(h, 1, sizeof *t);
    int64_t *start = hold_ints(h, a->m + 1), *column = hold_ints(h, a->entries);
    void *value = hold_new(h, a->entries, o->each);
    memcpy(start, a->start, (size_t)(a->m + 1) * sizeof *start);
    memcpy(column, a->column, (size_t)a->entries * sizeof *column);
    memcpy(value, a->value, (size_t)a->entries * o->each);
    *t = (Triangle){ *a, p, q, pivot };
    t->a.start = start, t->a.column = column, t->a.value = value;
    e->state = t;
    e->ops = &triangle_ops;
    e->fill = (double)a->entries;
    e->ordering = e->method == ELIMINATION_PERMUTED ? "rows with one unknown left first"
                                                    : "natural";
}
