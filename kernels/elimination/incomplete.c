/* Incomplete factors: what is the same for all dtypes. */
#include "kernels/elimination/incomplete.h"
#include "kernels/elimination/own.h"

#include "core/base/error.h"

#include <string.h>

/* Where each row's diagonal stands; -1: it is not stored. */
static int64_t *diagonals(Hold *work, const Csr *a)
{
    int64_t *diagonal = hold_ints(work, a->n);
    for (int64_t i = 0; i < a->n; i++) {
        int64_t e = a->start[i];
        hold_work(work, a->start[i + 1] - e);
        while (e < a->start[i + 1] && a->column[e] < i)
            e++;
        diagonal[i] = e < a->start[i + 1] && a->column[e] == i ? e : -1;
    }
    return diagonal;
}

typedef struct Call {
    Hold work;
    const Csr *a;
    const void *b;
    void *to;
    int64_t columns, result;
    bool cholesky, adjoint;
} Call;

static void factor(Call *c)
{
    const OwnOps *o = own_ops(c->a->dtype);
    const int64_t *diagonal = diagonals(&c->work, c->a);
    c->result = (c->cholesky ? o->incomplete_cholesky : o->incomplete_lu)(&c->work, c->a, diagonal,
                                                                          c->to);
}

static void solve(Call *c)
{
    const OwnOps *o = own_ops(c->a->dtype);
    const int64_t *diagonal = diagonals(&c->work, c->a);
    const size_t step = (size_t)c->a->n * o->each;
    memcpy(c->to, c->b, step * (size_t)c->columns);
    for (int64_t k = 0; k < c->columns; k++) {
        o->incomplete_solve(c->a, diagonal, c->cholesky, c->adjoint,
                            (char *)c->to + (size_t)k * step);
        hold_look(&c->work);
    }
}

/* `what` may raise: its arrays are released first. */
static void run(Ctx *ctx, Call *c, void (*what)(Call *))
{
    ErrFrame frame;
    c->work.ctx = ctx;
    if (ERR_TRY(ctx, &frame)) {
        what(c);
        ERR_END(ctx, &frame);
        hold_end(&c->work);
        return;
    }
    hold_end(&c->work);
    err_rethrow(ctx);
}

int64_t incomplete_lu(Ctx *ctx, const Csr *a, void *value)
{
    Call c = { .a = a, .to = value };
    run(ctx, &c, factor);
    return c.result;
}

int64_t incomplete_cholesky(Ctx *ctx, const Csr *a, void *value)
{
    Call c = { .a = a, .to = value, .cholesky = true };
    run(ctx, &c, factor);
    return c.result;
}

void incomplete_solve(Ctx *ctx, const Csr *factor, bool cholesky, bool adjoint, int64_t columns,
                      const void *b, void *x)
{
    Call c = { .a = factor, .to = x, .b = b, .columns = columns, .cholesky = cholesky,
               .adjoint = adjoint };
    run(ctx, &c, solve);
}
