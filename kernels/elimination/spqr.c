/* QR by SPQR (Davis 2011): multifrontal, for systems that are not square. Of a wide matrix the
 * adjoint is factored. */
#include "kernels/elimination/own.h"
#include "kernels/elimination/columns.h"
#include "kernels/elimination/suitesparse.h"

#include "core/base/error.h"

#include <string.h>

enum { ORDERING_DEFAULT = 7 };
#define TOLERANCE_DEFAULT (-2.0)
enum { MULTIPLY_ADJOINT = 0, MULTIPLY_Q = 1 };           /* Q' X, Q X */
enum { SOLVE_R = 1, SOLVE_R_ADJOINT = 3 };               /* x = E (R \ b), x = R' \ (E' b) */

typedef struct State {
    const SuiteSparse *s;
    SsQr *qr;
    Columns a;                           /* what was factored */
    bool wide;
    SsCommon common;
} State;

static void release(Elimination *e)
{
    State *st = e->state;
    if (suitesparse_forget(e))
        return;
    if (st->qr)
        st->s->qr_free(&st->qr, &st->common);
    st->s->cholmod_finish(&st->common);
}

static void solve(Elimination *e, bool adjoint, int64_t columns, const void *b, void *x)
{
    State *st = e->state;
    const SuiteSparse *s = st->s;
    const int64_t in = adjoint ? e->n : e->m, out = adjoint ? e->m : e->n;
    SsDense right = suitesparse_columns(in, columns, is_complex(e), b), *first, *second = NULL;
    const bool least = st->wide == adjoint;
    suitesparse_enter(e, 0);
    first = least ? s->qr_multiply(MULTIPLY_ADJOINT, st->qr, &right, &st->common)
                  : s->qr_solve(SOLVE_R_ADJOINT, st->qr, &right, &st->common);
    if (first)
        second = least ? s->qr_solve(SOLVE_R, st->qr, first, &st->common)
                       : s->qr_multiply(MULTIPLY_Q, st->qr, first, &st->common);
    if (second)
        memcpy(x, second->x, (size_t)(out * columns) * (is_complex(e) ? 16 : 8));
    const bool done = second != NULL;
    if (first)
        s->cholmod_free_dense(&first, &st->common);
    if (second)
        s->cholmod_free_dense(&second, &st->common);
    if (!done)
        suitesparse_memory(e, "SPQR");
    suitesparse_leave(e);
}

static void parts(Elimination *e, EliminationParts *to)
{
    State *st = e->state;
    SsSparse a = suitesparse_matrix(&st->a, is_complex(e), 0), *r = NULL;
    int64_t *order = NULL;
    const int64_t n = st->a.n;
    ErrFrame frame;
    if (st->wide)
        return;
    suitesparse_enter(e, 0);
    const int64_t rank = st->s->qr_parts(ORDERING_DEFAULT, TOLERANCE_DEFAULT, n, 0, &a, NULL, NULL,
                                         NULL, NULL, &r, &order, NULL, NULL, NULL, &st->common);
    if (rank < 0 || !r)
        suitesparse_memory(e, "SPQR");
    suitesparse_leave(e);
    SsSparse *volatile kept_r = r;
    int64_t *volatile kept_order = order;
    bool failed = true;
    if (ERR_TRY(e->ctx, &frame)) {
        const Columns c = { .m = (int64_t)r->rows, .n = n, .start = r->start, .row = r->row,
                            .value = r->x, .each = is_complex(e) ? 16 : 8 };
        int64_t *q = hold_ints(e->work, n);
        order_natural(n, q);
        to->u = parts_matrix(e->ctx, e->dtype, &c);
        to->q = parts_order(e->ctx, n, order ? order : q);
        ERR_END(e->ctx, &frame);
        failed = false;
    }
    r = kept_r;
    st->s->cholmod_free_sparse(&r, &st->common);
    if (kept_order)
        st->s->cholmod_free((size_t)n, sizeof(int64_t), kept_order, &st->common);
    if (failed)
        err_rethrow(e->ctx);
}

static const EliminationOps ops = { .solve = solve, .parts = parts, .free = release };

/* The factorization's own record, as versions 2 to 4 keep it; rank -1: it is another one. */
static int64_t rank_of(const State *st)
{
    struct Record {
        double tolerance;
        void *symbolic, *numeric, *r1[3];
        int64_t r1_entries;
        void *maps[5];
        int64_t rows1, columns1, rows, columns, right, rank;
    } record;
    memcpy(&record, st->qr->factors, sizeof record);
    const int64_t most = st->a.m < st->a.n ? st->a.m : st->a.n;
    const bool known = record.rows == st->a.m && record.columns == st->a.n && record.right == 0;
    return known && record.rank >= 0 && record.rank <= most ? record.rank : -1;
}

/* Columns that are A's rows, conjugated. */
static Columns adjoint_of(Hold *keep, const Columns *a, DType dt)
{
    const OwnOps *o = own_ops(dt);
    Columns c = columns_of(keep, a->n, a->m, a->start, a->row, a->value, o->each);
    for (int64_t k = 0; k < c.start[c.n]; k++)
        o->put(c.value, k, o->real(c.value, k), -o->imag(c.value, k));
    c.m = a->n;
    return c;
}

bool spqr_factor(Elimination *e, const Columns *a)
{
    const SuiteSparse *s = e->dtype == DT_F64 || is_complex(e) ? suitesparse_open(SS_SPQR) : NULL;
    if (!s || e->m == 0 || e->n == 0)
        return false;
    State *st = hold_zero(e->hold, 1, sizeof *st);
    st->s = s;
    st->wide = e->m < e->n;
    st->a = st->wide ? adjoint_of(e->hold, a, e->dtype) : *a;
    if (!suitesparse_common(s, &st->common))
        return false;
    e->state = st;
    e->ops = &ops;
    e->keeps = true;
    SsSparse matrix = suitesparse_matrix(&st->a, is_complex(e), 0);
    suitesparse_enter(e, 0);
    st->qr = s->qr_factorize(ORDERING_DEFAULT, TOLERANCE_DEFAULT, &matrix, &st->common);
    if (!st->qr || !st->qr->factors)
        suitesparse_memory(e, "SPQR");
    suitesparse_leave(e);
    e->rank = rank_of(st);
    e->method = ELIMINATION_QR;
    e->library = "SPQR";
    e->ordering = "COLAMD or AMD of A'A";
    return true;
}
