/* Factors as tensors, determinants by mantissa and exponent. */
#include "kernels/elimination/columns.h"
#include "kernels/elimination/own.h"

#include "core/base/error.h"

#include <math.h>
#include <string.h>

EliminationDet parts_det(double re, double im, double exponent)
{
    const double size = fmax(fabs(re), fabs(im));
    int shift = 0;
    if (!(size > 0) || !isfinite(size))
        return (EliminationDet){ re, im, 0 };
    const double modulus = hypot(ldexp(re, -ilogb(size)), ldexp(im, -ilogb(size)));
    shift = ilogb(size) + ilogb(modulus);
    return (EliminationDet){ ldexp(re, -shift), ldexp(im, -shift), exponent + shift };
}

EliminationDet parts_times(EliminationDet d, double re, double im)
{
    const EliminationDet x = parts_det(re, im, 0);
    return parts_det(d.re * x.re - d.im * x.im, d.re * x.im + d.im * x.re,
                     d.exponent + x.exponent);
}

EliminationDet parts_product(DType dt, const void *x, int64_t n)
{
    const OwnOps *o = own_ops(dt);
    EliminationDet d = { 1, 0, 0 };
    for (int64_t i = 0; i < n; i++)
        d = parts_times(d, o->real(x, i), o->imag(x, i));
    return d;
}

double parts_spread(DType dt, const void *x, int64_t n)
{
    const OwnOps *o = own_ops(dt);
    double least = INFINITY, most = 0;
    for (int64_t i = 0; i < n; i++) {
        const double size = o->size(x, i);
        least = fmin(least, size);
        most = fmax(most, size);
    }
    return n == 0 ? 1 : least / most;
}

bool parts_odd(Ctx *ctx, int64_t n, const int64_t *order)
{
    Hold h = { .ctx = ctx };
    bool *seen = hold_zero(&h, n, 1), odd = false;
    for (int64_t i = 0; i < n; i++) {
        int64_t length = 0;
        for (int64_t k = i; !seen[k]; k = order[k], length++)
            seen[k] = true;
        odd ^= length > 0 && length % 2 == 0;
    }
    hold_end(&h);
    return odd;
}

Tensor *parts_order(Ctx *ctx, int64_t n, const int64_t *order)
{
    Tensor *t = tensor_new(ctx, DT_I64, 1, &n);
    memcpy(t->data, order, (size_t)n * sizeof *order);
    return t;
}

/* One row or column of the result: its diagonal, then the entries. */
typedef struct Put { int64_t *row, *column; char *value; size_t each; int64_t to; } Put;

static void put(Put *p, int64_t i, int64_t j, const void *x)
{
    p->row[p->to] = i;
    p->column[p->to] = j;
    memcpy(p->value + (size_t)p->to++ * p->each, x, p->each);
}

static Tensor *made_of(Ctx *ctx, DType dt, const Columns *c, const void *diagonal, bool with,
                       bool rows)
{
    const OwnOps *o = own_ops(dt);
    const int64_t entries = c->start[c->n] + (with ? c->n : 0);
    Made made = { 0 };
    Tensor *row = made_vector(ctx, &made, DT_I64, entries);
    Tensor *column = made_vector(ctx, &made, DT_I64, entries);
    Tensor *given = made_vector(ctx, &made, dt, entries);
    Tensor *value = made_vector(ctx, &made, dt, entries);
    Put p = { made_ints(row), made_ints(column), given->data, o->each, 0 };
    char one[16];
    o->put(one, 0, 1, 0);
    for (int64_t k = 0; k < c->n; k++) {
        if (with)
            put(&p, k, k, diagonal ? (const char *)diagonal + (size_t)k * o->each : one);
        for (int64_t e = c->start[k]; e < c->start[k + 1]; e++)
            put(&p, rows ? k : c->row[e], rows ? c->row[e] : k,
                (const char *)c->value + (size_t)e * o->each);
    }
    const int64_t m = rows ? c->n : c->m, n = rows ? c->m : c->n;
    SparseOrder order = sparse_sort(ctx, &made, m, n, p.row, p.column, entries);
    sparse_gather(ctx, value->data, given->data, made_ints(order.order), entries, o->each);
    return sparse_made(ctx, &made, m, n, order.pattern, value);
}

Tensor *parts_triangle(Ctx *ctx, DType dt, const Columns *c, const void *diagonal, bool rows)
{
    return made_of(ctx, dt, c, diagonal, true, rows);
}

Tensor *parts_matrix(Ctx *ctx, DType dt, const Columns *c)
{
    return made_of(ctx, dt, c, NULL, false, false);
}
