/* A factorization as one object: which method a matrix gets, and what every method's object can
 * do. */
#include "kernels/elimination/elimination.h"
#include "kernels/elimination/own.h"
#include "kernels/elimination/columns.h"
#include "kernels/elimination/suitesparse.h"

#include "core/base/error.h"

#include <math.h>
#include <string.h>

typedef struct Whole { Elimination e; Hold hold, work; } Whole;

const char *elimination_method_name(EliminationMethod method)
{
    static const char *const names[ELIMINATION_METHODS] = {
        [ELIMINATION_ANY] = "none", [ELIMINATION_DIAGONAL] = "diagonal",
        [ELIMINATION_LOWER] = "lower triangular", [ELIMINATION_UPPER] = "upper triangular",
        [ELIMINATION_PERMUTED] = "triangular, in another order",
        [ELIMINATION_CHOLESKY] = "Cholesky", [ELIMINATION_LU] = "LU", [ELIMINATION_QR] = "QR",
    };
    return names[method];
}

/* ---- making ---- */
static double norm_1(const OwnOps *o, const Columns *a)
{
    double most = 0;
    for (int64_t j = 0; j < a->n; j++) {
        double sum = 0;
        for (int64_t p = a->start[j]; p < a->start[j + 1]; p++)
            sum += o->size(a->value, p);
        most = sum > most || isnan(sum) ? sum : most;
    }
    return most;
}

static bool own_code(const EliminationWish *wish)
{
    return wish->own || wish->ordering != ORDERING_ANY;
}

static void factor_lu(Elimination *e, const Columns *a, const EliminationWish *wish)
{
    const bool any = wish->method == ELIMINATION_ANY;
    if (own_code(wish) || (!(any && klu_factor(e, a)) && !umfpack_factor(e, a, any)))
        own_lu(e, e->work, a, wish->ordering);
}

static void factor_square(Elimination *e, const Csr *csr, const Columns *a,
                          const EliminationWish *wish)
{
    const bool any = wish->method == ELIMINATION_ANY;
    if (any && shape_triangle(e, csr, a))
        return;
    e->hermitian = shape_hermitian(csr, a);
    if (wish->method == ELIMINATION_CHOLESKY ||
        (any && e->hermitian && shape_positive_diagonal(csr))) {
        if (own_code(wish) || !cholmod_factor_of(e, a))
            own_cholesky(e, e->work, a, wish->ordering);
        if (e->method == ELIMINATION_CHOLESKY || !any)
            return;
    }
    factor_lu(e, a, wish);
}

static void factor(Elimination *e, const Csr *csr, const EliminationWish *wish)
{
    const OwnOps *o = own_ops(e->dtype);
    Columns a = columns_of(e->hold, csr->m, csr->n, csr->start, csr->column, csr->value, o->each);
    e->norm1 = norm_1(o, &a);
    if (csr->m != csr->n || wish->method == ELIMINATION_QR) {
        if (wish->own || !spqr_factor(e, &a))
            own_qr(e, e->work, csr, &a, wish->ordering);
        e->keeps = true;
    } else
        factor_square(e, csr, &a, wish);
    if (e->keeps)
        return;
    hold_drop(e->hold, a.start);
    hold_drop(e->hold, a.row);
    hold_drop(e->hold, a.value);
}

Elimination *elimination_new(Ctx *ctx, const Csr *a, const EliminationWish *wish)
{
    Whole *w = mem_zalloc(ctx, sizeof *w);
    Elimination *e = &w->e;
    ErrFrame frame;
    w->hold.ctx = w->work.ctx = ctx;
    *e = (Elimination){ .ctx = ctx, .hold = &w->hold, .work = &w->work, .m = a->m, .n = a->n,
                        .dtype = a->dtype, .failed = -1, .rank = a->n, .rcond = -1, .pivots = -1 };
    if (ERR_TRY(ctx, &frame)) {
        factor(e, a, wish);
        ERR_END(ctx, &frame);
        hold_end(&w->work);
        e->bytes += w->hold.bytes;
        return e;
    }
    elimination_free(ctx, e);
    err_rethrow(ctx);
}

void elimination_free(Ctx *ctx, Elimination *e)
{
    if (!e)
        return;
    Whole *w = (Whole *)e;
    e->ctx = ctx;
    if (e->ops && e->ops->free)
        e->ops->free(e);
    w->hold.ctx = w->work.ctx = ctx;
    hold_end(&w->work);
    hold_end(&w->hold);
    mem_free(ctx, w, sizeof *w);
}

/* ---- asking ---- */
/* Whatever is asked may raise: what it made for itself is released, the factors stay. */
#define ASK(ctx, e, what)                                      \
    do {                                                       \
        ErrFrame frame_;                                       \
        (e)->ctx = (e)->work->ctx = (e)->hold->ctx = (ctx);    \
        if (!ERR_TRY(ctx, &frame_)) {                          \
            (e)->broken |= suitesparse_outside();              \
            hold_end((e)->work);                               \
            err_rethrow(ctx);                                  \
        }                                                      \
        what;                                                  \
        ERR_END(ctx, &frame_);                                 \
        hold_end((e)->work);                                   \
    } while (0)

void elimination_solve(Ctx *ctx, Elimination *e, bool adjoint, int64_t columns, const void *b,
                       void *x)
{
    assert(e->failed < 0 && !e->broken);
    ASK(ctx, e, e->ops->solve(e, adjoint, columns, b, x));
}

static EliminationDet det_of(Elimination *e)
{
    if (e->failed >= 0)
        return (EliminationDet){ 0, 0, 0 };
    return e->ops->det(e);
}

EliminationDet elimination_det(Ctx *ctx, Elimination *e)
{
    EliminationDet *d = NULL;
    ASK(ctx, e, d = hold_new(e->hold, 1, sizeof *d); *d = det_of(e));
    const EliminationDet det = *d;
    hold_drop(e->hold, d);
    return det;
}

static void parts_into(Ctx *ctx, Elimination *e, EliminationParts *to)
{
    ErrFrame frame;
    if (ERR_TRY(ctx, &frame)) {
        e->ops->parts(e, to);
        ERR_END(ctx, &frame);
        return;
    }
    Tensor *const all[] = { to->l, to->u, to->p, to->q };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (all[i])
            tensor_release(ctx, all[i]);
    err_rethrow(ctx);
}

EliminationParts elimination_parts(Ctx *ctx, Elimination *e)
{
    EliminationParts to = { 0 };
    if (e->ops->parts)
        ASK(ctx, e, parts_into(ctx, e, &to));
    return to;
}

/* ---- 1 / condition number: Hager's estimate as Higham improved it ---- */
typedef struct Estimate { const OwnOps *o; int64_t n; void *x, *y; double best; } Estimate;

static double sum_of(const Estimate *s, const void *x)
{
    double sum = 0;
    for (int64_t i = 0; i < s->n; i++)
        sum += s->o->size(x, i);
    return sum;
}

/* y := sign(y) */
static void to_signs(const Estimate *s)
{
    for (int64_t i = 0; i < s->n; i++) {
        const double size = s->o->size(s->y, i);
        const double re = s->o->real(s->y, i), im = s->o->imag(s->y, i);
        s->o->put(s->y, i, size > 0 ? re / size : 1, size > 0 ? im / size : 0);
    }
}

static int64_t largest(const Estimate *s, const void *x)
{
    int64_t best = 0;
    for (int64_t i = 1; i < s->n; i++)
        if (s->o->size(x, i) > s->o->size(x, best))
            best = i;
    return best;
}

static void one_at(const Estimate *s, int64_t j)
{
    memset(s->x, 0, (size_t)s->n * s->o->each);
    s->o->put(s->x, j, 1, 0);
}

static double inverse_norm(Elimination *e)
{
    Estimate s = { .o = own_ops(e->dtype), .n = e->n };
    int64_t at = -1;
    s.x = hold_new(e->work, s.n, s.o->each);
    s.y = hold_new(e->work, s.n, s.o->each);
    for (int64_t i = 0; i < s.n; i++)
        s.o->put(s.x, i, 1 / (double)s.n, 0);
    for (int turn = 0; turn < 5; turn++) {
        e->ops->solve(e, false, 1, s.x, s.y);
        const double sum = sum_of(&s, s.y);
        if (!isfinite(sum))
            return INFINITY;
        if (turn > 0 && sum <= s.best)
            break;
        s.best = sum;
        to_signs(&s);
        e->ops->solve(e, true, 1, s.y, s.x);
        const int64_t next = largest(&s, s.x);
        if (next == at)
            break;
        one_at(&s, at = next);
    }
    for (int64_t i = 0; i < s.n; i++)
        s.o->put(s.x, i, (i % 2 ? -1 : 1) * (1 + (double)i / (double)(s.n > 1 ? s.n - 1 : 1)), 0);
    e->ops->solve(e, false, 1, s.x, s.y);
    return fmax(s.best, 2 * sum_of(&s, s.y) / (3 * (double)s.n));
}

static void rcond_of(Elimination *e)
{
    if (e->n == 0)
        e->rcond = INFINITY;
    else if (e->failed >= 0)
        e->rcond = 0;
    else if (!isfinite(e->norm1))
        e->rcond = NAN;
    else
        e->rcond = 1 / (e->norm1 * inverse_norm(e));
}

double elimination_rcond(Ctx *ctx, Elimination *e)
{
    assert(e->m == e->n);
    if (e->rcond < 0)
        ASK(ctx, e, rcond_of(e));
    return e->rcond;
}

const char *elimination_missing(const Elimination *e)
{
    const bool theirs = e->dtype == DT_F64 || e->dtype == DT_C128;
    const SsLibrary wanted = e->method == ELIMINATION_CHOLESKY ? SS_CHOLMOD
                             : e->method == ELIMINATION_QR     ? SS_SPQR : SS_UMFPACK;
    if (e->library || !theirs || e->method < ELIMINATION_CHOLESKY || suitesparse_open(wanted))
        return NULL;
    return suitesparse_package(wanted);
}
