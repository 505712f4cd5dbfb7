/* LU by UMFPACK (Davis 2004): unsymmetric multifrontal. */
#include "kernels/elimination/columns.h"
#include "kernels/elimination/suitesparse.h"

#include <math.h>
#include <string.h>

enum { CONTROLS = 20, INFOS = 90 };      /* of all versions */
enum { SINGULAR = 1, NO_MEMORY = -1 };   /* statuses */
enum { CONTROL_REFINE = 7, CONTROL_SCALE = 16 };
enum {
    INFO_UNIT = 3, INFO_STRATEGY = 18, INFO_PEAK_ESTIMATE = 21, INFO_FLOPS_ESTIMATE = 22,
    INFO_SIZE = 40, INFO_FLOPS = 42,
    INFO_L = 43, INFO_U = 44, INFO_RCOND = 67
};
enum { SYSTEM_A = 0, SYSTEM_ADJOINT = 1 };

typedef struct State {
    const SuiteSparse *s;
    Columns a;                           /* refinement multiplies by it */
    void *symbolic, *numeric;
    double control[CONTROLS], info[INFOS];
} State;

static void release_symbolic(Elimination *e)
{
    State *st = e->state;
    if (st->symbolic)
        (is_complex(e) ? st->s->z_free_symbolic : st->s->free_symbolic)(&st->symbolic);
}

static void release(Elimination *e)
{
    State *st = e->state;
    if (suitesparse_forget(e))
        return;
    release_symbolic(e);
    if (st->numeric)
        (is_complex(e) ? st->s->z_free_numeric : st->s->free_numeric)(&st->numeric);
}

static void solve(Elimination *e, bool adjoint, int64_t columns, const void *b, void *x)
{
    State *st = e->state;
    const Columns *a = &st->a;
    const int64_t step = e->n * (is_complex(e) ? 2 : 1);
    const int system = adjoint ? SYSTEM_ADJOINT : SYSTEM_A;
    suitesparse_enter(e, 5 * 8 * (double)step);
    for (int64_t c = 0; c < columns; c++) {
        const double *right = (const double *)b + c * step;
        double *to = (double *)x + c * step;
        const int64_t status =
            is_complex(e) ? st->s->z_solve(system, a->start, a->row, a->value, NULL, to, NULL,
                                           right, NULL, st->numeric, st->control, st->info)
                          : st->s->solve(system, a->start, a->row, a->value, to, right,
                                         st->numeric, st->control, st->info);
        if (status == NO_MEMORY)
            suitesparse_memory(e, "UMFPACK");
        hold_look(e->hold);
    }
    suitesparse_leave(e);
}

static EliminationDet det(Elimination *e)
{
    State *st = e->state;
    double mantissa[2] = { 0 }, exponent = 0;
    suitesparse_enter(e, 0);
    if (is_complex(e))
        st->s->z_determinant(mantissa, NULL, &exponent, st->numeric, st->info);
    else
        st->s->determinant(mantissa, &exponent, st->numeric, st->info);
    suitesparse_leave(e);
    const double power = exponent * 3.321928094887362347870319429489390175865, whole = rint(power);
    const double rest = exp2(power - whole);
    return parts_det(mantissa[0] * rest, mantissa[1] * rest, whole);
}

static void get(Elimination *e, Columns *l, Columns *u, int64_t *p, int64_t *q, double *d)
{
    State *st = e->state;
    int64_t reciprocal;
    double *const lx = l ? l->value : NULL, *const ux = u ? u->value : NULL;
    int64_t *const ls = l ? l->start : NULL, *const us = u ? u->start : NULL;
    int64_t *const lr = l ? l->row : NULL, *const ur = u ? u->row : NULL;
    suitesparse_enter(e, 0);
    const int64_t status =
        is_complex(e) ? st->s->z_get(ls, lr, lx, NULL, us, ur, ux, NULL, p, q, d, NULL, &reciprocal,
                                     NULL, st->numeric)
                      : st->s->get(ls, lr, lx, us, ur, ux, p, q, d, &reciprocal, NULL,
                                   st->numeric);
    if (status == NO_MEMORY)
        suitesparse_memory(e, "UMFPACK");
    suitesparse_leave(e);
}

/* L comes by rows, U by columns, both with their diagonals. */
static void parts(Elimination *e, EliminationParts *to)
{
    State *st = e->state;
    Hold *h = e->work;
    const int64_t n = e->n;
    const size_t each = is_complex(e) ? 16 : 8;
    int64_t lnz, unz, m, columns, diagonal;
    if (st->control[CONTROL_SCALE] != 0)
        return;
    (is_complex(e) ? st->s->z_lunz : st->s->lunz)(&lnz, &unz, &m, &columns, &diagonal,
                                                  st->numeric);
    Columns l = { .m = n, .n = n, .each = each, .start = hold_ints(h, n + 1),
                  .row = hold_ints(h, lnz), .value = hold_new(h, lnz, each) };
    Columns u = { .m = n, .n = n, .each = each, .start = hold_ints(h, n + 1),
                  .row = hold_ints(h, unz), .value = hold_new(h, unz, each) };
    int64_t *p = hold_ints(h, n), *q = hold_ints(h, n);
    get(e, &l, &u, p, q, NULL);
    Columns turned = columns_of(h, n, n, l.start, l.row, l.value, each);
    to->l = parts_matrix(e->ctx, e->dtype, &turned);
    to->u = parts_matrix(e->ctx, e->dtype, &u);
    to->p = parts_order(e->ctx, n, p);
    to->q = parts_order(e->ctx, n, q);
}

static const EliminationOps ops = { .solve = solve, .det = det, .parts = parts, .free = release };

/* The column whose pivot is 0. */
static int64_t failed_at(Elimination *e)
{
    const int64_t n = e->n;
    int64_t *q = hold_ints(e->work, n), k = 0;
    double *d = hold_zero(e->work, 2 * n, sizeof *d);
    get(e, NULL, NULL, NULL, q, d);
    while (k < n - 1 && (is_complex(e) ? d[2 * k] != 0 || d[2 * k + 1] != 0 : d[k] != 0))
        k++;
    return q[k];
}

static void measure(Elimination *e, const double *info)
{
    static const char *const unsymmetric = "COLAMD", *const symmetric = "AMD";
    e->fill = info[INFO_L] + info[INFO_U] - (double)e->n;
    e->flops = info[INFO_FLOPS];
    e->pivots = info[INFO_RCOND];
    e->bytes = (size_t)(info[INFO_SIZE] * info[INFO_UNIT]);
    e->ordering = info[INFO_STRATEGY] == 1 ? unsymmetric : symmetric;
}

bool umfpack_factor(Elimination *e, const Columns *a, bool scaled)
{
    const bool pairs = is_complex(e);
    const SuiteSparse *s = e->dtype == DT_F64 || pairs ? suitesparse_open(SS_UMFPACK) : NULL;
    if (!s)
        return false;
    State *st = hold_zero(e->hold, 1, sizeof *st);
    st->s = s;
    st->a = *a;
    e->state = st;
    e->ops = &ops;
    e->keeps = true;
    s->defaults(st->control);
    if (!scaled)
        st->control[CONTROL_SCALE] = 0;
    suitesparse_enter(e, 0);
    int64_t status = pairs ? s->z_symbolic(e->m, e->n, a->start, a->row, a->value, NULL,
                                             &st->symbolic, st->control, st->info)
                             : s->symbolic(e->m, e->n, a->start, a->row, a->value, &st->symbolic,
                                           st->control, st->info);
    if (status == NO_MEMORY)
        suitesparse_memory(e, "UMFPACK");
    if (status >= 0) {
        e->flops = st->info[INFO_FLOPS_ESTIMATE];
        suitesparse_enter(e, st->info[INFO_PEAK_ESTIMATE] * st->info[INFO_UNIT] / 2);
        status = pairs ? s->z_numeric(a->start, a->row, a->value, NULL, st->symbolic,
                                        &st->numeric, st->control, st->info)
                         : s->numeric(a->start, a->row, a->value, st->symbolic, &st->numeric,
                                      st->control, st->info);
    }
    if (status == NO_MEMORY)
        suitesparse_memory(e, "UMFPACK");
    suitesparse_leave(e);
    release_symbolic(e);
    if (status < 0) {                    /* nothing that this room knows of */
        release(e);
        e->ops = NULL;
        return false;
    }
    e->method = ELIMINATION_LU;
    e->library = "UMFPACK";
    measure(e, st->info);
    e->failed = status == SINGULAR ? failed_at(e) : -1;
    return true;
}
