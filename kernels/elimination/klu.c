/* LU by KLU (Davis and Palamadai Natarajan 2010), for matrices as circuits have them: so sparse
 * that the blocks of a triangular form and their fill are small, and dense parts never grow. */
#include "kernels/elimination/own.h"
#include "kernels/elimination/columns.h"
#include "kernels/elimination/suitesparse.h"

#include <string.h>

/* klu_l_common, whose switches are longs before version 2 and ints since then: which of the two it
 * is, its defaults tell. */
#define COMMON(type)                                                              \
    struct {                                                                      \
        double tol, memgrow, initmem_amd, initmem, maxwork;                       \
        type btf, ordering, scale;                                                \
        void *user_order, *user_data;                                             \
        type halt_if_singular, status, nrealloc;                                  \
        int64_t structural_rank, numerical_rank, singular_col, noffdiag;          \
        double flops, rcond, condest, rgrowth, work;                              \
        size_t memusage, mempeak;                                                 \
    }
typedef union Common {
    COMMON(int64_t) longs;
    COMMON(int) ints;
    char room[1024];
} Common;
#define GET(c, field) ((c)->longs.scale == 2 ? (c)->longs.field : (c)->ints.field)

static bool known(const Common *c)
{
    return (c->longs.btf == 1 && c->longs.ordering == 0 && c->longs.scale == 2 &&
            c->longs.halt_if_singular == 1) ||
           (c->ints.btf == 1 && c->ints.ordering == 0 && c->ints.scale == 2 &&
            c->ints.halt_if_singular == 1);
}

enum { STATUS_SINGULAR = 1, STATUS_MEMORY = -2 };

typedef struct State {
    const SuiteSparse *s;
    Columns a;
    SsKluSymbolic *symbolic;
    SsKluNumeric *numeric;
    Common common;
} State;

static void release(Elimination *e)
{
    State *st = e->state;
    if (suitesparse_forget(e))
        return;
    if (st->numeric)
        (is_complex(e) ? st->s->klu_z_free_numeric : st->s->klu_free_numeric)(&st->numeric,
                                                                              &st->common);
    if (st->symbolic)
        st->s->klu_free_symbolic(&st->symbolic, &st->common);
}

/* x := A^-1 x, or of the adjoint */
static void solve_in_place(Elimination *e, bool adjoint, int64_t columns, double *x)
{
    State *st = e->state;
    const int64_t n = e->n;
    Common *c = &st->common;
    bool done;
    if (!adjoint)
        done = (is_complex(e) ? st->s->klu_z_solve : st->s->klu_solve)(st->symbolic, st->numeric, n,
                                                                       columns, x, c);
    else
        done = is_complex(e)
                   ? st->s->klu_z_tsolve(st->symbolic, st->numeric, n, columns, x, 1, c)
                   : st->s->klu_tsolve(st->symbolic, st->numeric, n, columns, x, c);
    if (!done)
        suitesparse_memory(e, "KLU");
}

/* KLU prefers pivots on the diagonal strongly, so the solution is improved once by what is left of
 * b. */
static void solve(Elimination *e, bool adjoint, int64_t columns, const void *b, void *to)
{
    State *st = e->state;
    const OwnOps *o = own_ops(e->dtype);
    const int64_t n = e->n * (is_complex(e) ? 2 : 1);
    double *rest = hold_new(e->work, n, sizeof *rest);
    suitesparse_enter(e, 0);
    memcpy(to, b, (size_t)(n * columns) * sizeof(double));
    solve_in_place(e, adjoint, columns, to);
    for (int64_t c = 0; c < columns; c++) {
        double *x = (double *)to + c * n;
        memcpy(rest, (const double *)b + c * n, (size_t)n * sizeof *rest);
        o->residual(&st->a, adjoint, x, rest);
        solve_in_place(e, adjoint, 1, rest);
        for (int64_t i = 0; i < n; i++)
            x[i] += rest[i];
        hold_look(e->hold);
    }
    suitesparse_leave(e);
    hold_drop(e->work, rest);
}

static EliminationDet det(Elimination *e)
{
    State *st = e->state;
    Hold *h = e->work;
    const int64_t n = e->n, room = st->numeric->u + n, pair = is_complex(e) ? 2 : 1;
    int64_t *start = hold_ints(h, n + 1), *row = hold_ints(h, room);
    int64_t *p = hold_ints(h, n), *q = hold_ints(h, n);
    double *x = hold_new(h, room, 8), *z = hold_zero(h, room, 8), *scale = hold_new(h, n, 8);
    suitesparse_enter(e, 0);
    if (pair == 2)
        st->s->klu_z_extract(st->numeric, st->symbolic, NULL, NULL, NULL, NULL, start, row, x, z,
                             NULL, NULL, NULL, NULL, p, q, scale, NULL, &st->common);
    else
        st->s->klu_extract(st->numeric, st->symbolic, NULL, NULL, NULL, start, row, x, NULL, NULL,
                           NULL, p, q, scale, NULL, &st->common);
    suitesparse_leave(e);
    EliminationDet d = { 1, 0, 0 };
    for (int64_t k = 0; k < n; k++) {
        for (int64_t i = start[k]; i < start[k + 1]; i++)
            if (row[i] == k)
                d = parts_times(d, x[i], z[i]);
        d = parts_times(d, scale[k], 0);
    }
    return parts_odd(e->ctx, n, p) != parts_odd(e->ctx, n, q)
               ? (EliminationDet){ -d.re, -d.im, d.exponent } : d;
}

static const EliminationOps ops = { .solve = solve, .det = det, .free = release };

/* So few entries, and so few operations for each entry of the factors, that dense kernels would
 * have nothing to do. */
static bool like_a_circuit(const Columns *a, const SsKluSymbolic *y)
{
    static const double EACH = 40;
    const double fill = y->l + y->u;
    return y->n == a->n && (y->largest <= 3 || (y->flops >= 0 && fill > 0 &&
                                                y->flops < EACH * fill));
}

static bool analyzed(Elimination *e, State *st, const Columns *a)
{
    const SuiteSparse *s = st->s;
    s->klu_defaults(&st->common);
    if (!known(&st->common))
        return false;
    st->symbolic = s->klu_analyze(e->n, a->start, a->row, &st->common);
    return st->symbolic && like_a_circuit(a, st->symbolic);
}

/* Equally many entries in nine columns of ten, and enough of them that factors will fill: the
 * analysis, which takes a tenth of the whole, would only find that out. */
static bool like_a_grid(const Columns *a)
{
    enum { FEW = 5, MOST = 32 };
    int64_t columns[MOST] = { 0 }, often = 0;
    for (int64_t j = 0; j < a->n; j++) {
        const int64_t count = a->start[j + 1] - a->start[j];
        if (count >= FEW && count < MOST && ++columns[count] > often)
            often = columns[count];
    }
    return often > a->n / 10 * 9;
}

bool klu_factor(Elimination *e, const Columns *a)
{
    static const int64_t ENTRIES = 8;    /* a column, on average, at most */
    const bool pairs = is_complex(e), mine = e->dtype == DT_F64 || pairs;
    const bool small = a->start[a->n] / ENTRIES <= a->n && !like_a_grid(a);
    const SuiteSparse *s = mine && small ? suitesparse_open(SS_KLU) : NULL;
    if (!s)
        return false;
    State *st = hold_zero(e->hold, 1, sizeof *st);
    st->s = s;
    st->a = *a;
    e->state = st;
    e->ops = &ops;
    suitesparse_enter(e, 0);
    if (analyzed(e, st, a)) {
        st->numeric = (pairs ? s->klu_z_factor : s->klu_factor)(a->start, a->row, a->value,
                                                                  st->symbolic, &st->common);
        if (!st->numeric && GET(&st->common, status) == STATUS_SINGULAR)
            e->failed = GET(&st->common, singular_col);
    }
    if (!st->numeric && e->failed < 0) {         /* UMFPACK has its try */
        suitesparse_leave(e);
        release(e);
        e->ops = NULL;
        e->state = NULL;
        hold_drop(e->hold, st);
        return false;
    }
    suitesparse_leave(e);
    e->keeps = true;
    e->method = ELIMINATION_LU;
    e->library = "KLU";
    e->ordering = "AMD of the blocks of a triangular form";
    if (st->numeric) {
        (pairs ? s->klu_z_flops : s->klu_flops)(st->symbolic, st->numeric, &st->common);
        (pairs ? s->klu_z_rcond : s->klu_rcond)(st->symbolic, st->numeric, &st->common);
        e->flops = GET(&st->common, flops);
        e->pivots = GET(&st->common, rcond);
        e->fill = (double)st->numeric->l + (double)st->numeric->u - (double)e->n +
                  (double)st->symbolic->outside;
        e->bytes = GET(&st->common, memusage);
    }
    return true;
}
