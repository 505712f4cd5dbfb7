/* Cholesky by CHOLMOD (Chen, Davis, Hager, Rajamanickam 2008): supernodal where that pays. */
#include "kernels/elimination/columns.h"
#include "kernels/elimination/suitesparse.h"

#include "core/base/error.h"

#include <string.h>

typedef struct State {
    const SuiteSparse *s;
    SsFactor *factor;
    SsCommon common;
} State;

enum { SYSTEM_A = 0 };

static void release(Elimination *e)
{
    State *st = e->state;
    if (suitesparse_forget(e))
        return;
    if (st->factor)
        st->s->cholmod_free_factor(&st->factor, &st->common);
    st->s->cholmod_finish(&st->common);
}

static void solve(Elimination *e, bool adjoint, int64_t columns, const void *b, void *x)
{
    State *st = e->state;
    const size_t each = is_complex(e) ? 16 : 8;
    SsDense right = suitesparse_columns(e->n, columns, is_complex(e), b);
    (void)adjoint;
    suitesparse_enter(e, (double)each * (double)e->n * (double)columns * 3);
    SsDense *found = st->s->cholmod_solve(SYSTEM_A, st->factor, &right, &st->common);
    if (!found)
        suitesparse_memory(e, "CHOLMOD");
    memcpy(x, found->x, (size_t)(e->n * columns) * each);
    st->s->cholmod_free_dense(&found, &st->common);
    suitesparse_leave(e);
}

/* The factor as columns, of which CHOLMOD makes a copy. */
static SsSparse *copied(Elimination *e)
{
    State *st = e->state;
    suitesparse_enter(e, e->fill * 48);
    SsFactor *copy = st->s->cholmod_copy_factor(st->factor, &st->common);
    SsSparse *l = copy ? st->s->cholmod_factor_to_sparse(copy, &st->common) : NULL;
    if (copy)
        st->s->cholmod_free_factor(&copy, &st->common);
    if (!l)
        suitesparse_memory(e, "CHOLMOD");
    suitesparse_outside();
    return l;
}

static Columns columns_in(const Elimination *e, const SsSparse *l)
{
    return (Columns){ .m = e->n, .n = e->n, .start = l->start, .row = l->row, .value = l->x,
                      .each = is_complex(e) ? 16 : 8 };
}

static EliminationDet det(Elimination *e)
{
    State *st = e->state;
    SsSparse *l = copied(e);
    const Columns c = columns_in(e, l);
    EliminationDet d = { 1, 0, 0 };
    for (int64_t k = 0; k < e->n; k++)
        for (int64_t p = c.start[k]; p < c.start[k + 1]; p++)
            if (c.row[p] == k)
                d = parts_times(d, ((const double *)c.value)[is_complex(e) ? 2 * p : p], 0);
    st->s->cholmod_free_sparse(&l, &st->common);
    return parts_det(d.re * d.re, 0, 2 * d.exponent);
}

static void parts(Elimination *e, EliminationParts *to)
{
    State *st = e->state;
    SsSparse *volatile kept = copied(e);
    SsSparse *l = kept;
    const Columns c = columns_in(e, l);
    ErrFrame frame;
    if (ERR_TRY(e->ctx, &frame)) {
        to->l = parts_matrix(e->ctx, e->dtype, &c);
        to->p = parts_order(e->ctx, e->n, st->factor->order);
        ERR_END(e->ctx, &frame);
        st->s->cholmod_free_sparse(&l, &st->common);
        return;
    }
    l = kept;
    st->s->cholmod_free_sparse(&l, &st->common);
    err_rethrow(e->ctx);
}

static const EliminationOps ops = { .solve = solve, .det = det, .parts = parts, .free = release };

static const char *ordering_name(int which)
{
    static const char *const names[] = { "natural", "given", "AMD", "METIS", "nested dissection",
                                         "AMD", "natural, postordered" };
    return which >= 0 && which < (int)(sizeof names / sizeof *names) ? names[which] : "CHOLMOD's";
}

static void measure(Elimination *e, const SsFactor *f)
{
    e->fill = e->flops = 0;
    for (int64_t k = 0; k < e->n; k++) {
        const double count = (double)f->counts[k];
        e->fill += count;
        e->flops += count * count;
    }
    e->flops *= is_complex(e) ? 4 : 1;
    e->ordering = ordering_name(f->ordering);
    e->bytes = (size_t)(e->fill * (is_complex(e) ? 24 : 16));
}

bool cholmod_factor_of(Elimination *e, const Columns *a)
{
    const bool mine = e->dtype == DT_F64 || is_complex(e);
    const SuiteSparse *s = mine ? suitesparse_open(SS_CHOLMOD) : NULL;
    if (!s)
        return false;
    State *st = hold_zero(e->hold, 1, sizeof *st);
    st->s = s;
    SsSparse upper = suitesparse_matrix(a, is_complex(e), 1);
    if (!suitesparse_common(s, &st->common))
        return false;
    e->state = st;
    e->ops = &ops;
    suitesparse_enter(e, 0);
    st->factor = s->cholmod_analyze(&upper, &st->common);
    if (!st->factor)
        suitesparse_memory(e, "CHOLMOD");
    measure(e, st->factor);
    suitesparse_enter(e, e->fill * (is_complex(e) ? 24 : 12));
    const bool made = s->cholmod_factorize(&upper, st->factor, &st->common);
    if (!made && st->factor->minor == st->factor->n)
        suitesparse_memory(e, "CHOLMOD");
    suitesparse_leave(e);
    if (st->factor->minor < st->factor->n) {
        e->not_definite = st->factor->order[st->factor->minor] + 1;
        release(e);
        e->ops = NULL;
        e->state = NULL;
        return true;
    }
    e->method = ELIMINATION_CHOLESKY;
    e->library = "CHOLMOD";
    e->pivots = s->cholmod_rcond(st->factor, &st->common);
    return true;
}
