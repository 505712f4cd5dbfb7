/* Who makes which part of a Hessenberg form (hessenberg.h). */
#include "kernels/dense/hessenberg.h"

#include "core/memory/pool.h"
#include "kernels/dense/dense_choice.h"
#include "kernels/dense/team.h"

#include <string.h>

enum {
    LEAST = 100,
    SHARED = 400,                /* below this order one is as fast where the other has work */
    BLOCK = 512,                 /* bytes of a column in a block of a round */
    SLICE = 96                   /* rows or columns that a panel turns at a time */
};

bool hessenberg_own(BlasType t, int64_t n)
{
    return n >= LEAST && dense_kernels(t);
}

typedef struct Reduction {
    const Blas *l;
    const DenseKernels *f;
    BlasType t;
    int64_t lo, hi;
    HessPanel p;
    char *ts;                    /* t of all panels */
    char *q, *rooms;             /* of the workers, two times SLICE x HESS_WIDTH each */
    int64_t rows;                /* in a block of a round */
    int64_t above;               /* slices of rows above the panel's, before those of columns */
    enum { ROWS, REST, FORM } round;
} Reduction;

static char *place(const Reduction *r, void *base, int64_t row, int64_t col)
{
    return (char *)base + (size_t)(col * r->p.n + row) * blas_bytes(r->t);
}

/* c := by a b + c, or a b where `by` is 1; by columns. */
static void product(const Reduction *r, char ta, char tb, int64_t m, int64_t n, int64_t k, int by,
                    const void *a, int64_t la, const void *b, int64_t lb, void *c, int64_t lc)
{
    int mi = (int)m, ni = (int)n, ki = (int)k, lai = (int)la, lbi = (int)lb, lci = (int)lc;
    const void *alpha = by < 0 ? blas_minus_one(r->t) : blas_one(r->t);
    const void *beta = by < 0 ? blas_one(r->t) : blas_zero(r->t);
    if (m > 0 && n > 0)
        r->l->gemm[r->t](&ta, &tb, &mi, &ni, &ki, alpha, a, &lai, b, &lbi, beta, c, &lci, 1, 1);
}

static void *room_of(const Reduction *r, int worker, int which)
{
    return r->rooms + (size_t)(2 * worker + which) * SLICE * HESS_WIDTH * blas_bytes(r->t);
}

/* `count` columns at c, m apart from those of `ld`: (I - v t v') c, or with t turned. */
static void turn(const Reduction *r, char form, int64_t count, void *c, int worker)
{
    const HessPanel *p = &r->p;
    void *w = room_of(r, worker, 0), *x = room_of(r, worker, 1);
    product(r, 'T', 'N', p->width, count, p->m, 1, p->v, p->ld, c, p->n, w, HESS_WIDTH);
    product(r, form, 'N', p->width, count, p->width, 1, p->t, HESS_WIDTH, w, HESS_WIDTH, x,
            HESS_WIDTH);
    product(r, 'N', 'N', p->m, count, p->width, -1, p->v, p->ld, x, HESS_WIDTH, c, p->n);
}

/* Rows above the panel's, all columns of its reflectors: less A v t v'. */
static void turn_above(const Reduction *r, int64_t slice, int worker)
{
    const HessPanel *p = &r->p;
    int64_t from = slice * SLICE, rows = dense_least(SLICE, p->k + 1 - from);
    void *w = room_of(r, worker, 0), *x = room_of(r, worker, 1);
    char *a = place(r, p->a, from, p->k + 1);
    product(r, 'N', 'N', rows, p->width, p->m, 1, a, p->n, p->v, p->ld, w, SLICE);
    product(r, 'N', 'N', rows, p->width, p->width, 1, w, SLICE, p->t, HESS_WIDTH, x, SLICE);
    product(r, 'N', 'T', rows, p->m, p->width, -1, x, SLICE, p->v, p->ld, a, p->n);
}

/* Columns after the panel's: less y v', and turned from the left. */
static void turn_rest(const Reduction *r, int64_t slice, int worker)
{
    const HessPanel *p = &r->p;
    int64_t from = p->k + p->width + slice * SLICE, count = dense_least(SLICE, p->n - from);
    int64_t both = dense_least(count, r->hi + 1 - from);
    char *a = place(r, p->a, p->k + 1, from);
    const char *v = (char *)p->v + (size_t)(from - p->k - 1) * blas_bytes(r->t);
    product(r, 'N', 'T', p->m, both, p->width, -1, place(r, p->y, p->k + 1, 0), p->n, v, p->ld, a,
            p->n);
    turn(r, 'T', count, a, worker);
}

static void block(void *data, int64_t i, int worker)
{
    Reduction *r = data;
    if (r->round == ROWS) {
        r->f->hess_rows(&r->p, i * r->rows, dense_least((i + 1) * r->rows, r->p.m));
    } else if (r->round == FORM) {
        int64_t from = r->p.k + 1 + i * SLICE;
        turn(r, 'N', dense_least(SLICE, r->hi + 1 - from), place(r, r->q, r->p.k + 1, from),
             worker);
    } else if (i < r->above) {
        turn_above(r, i, worker);
    } else {
        turn_rest(r, i - r->above, worker);
    }
}

static int64_t slices(int64_t count, int64_t each)
{
    return count > 0 ? (count + each - 1) / each : 0;
}

static void panel_at(Reduction *r, int64_t k)
{
    HessPanel *p = &r->p;
    p->k = k, p->m = r->hi - k, p->width = dense_least(HESS_WIDTH, r->hi - k);
    p->t = r->ts + (size_t)((k - r->lo) * HESS_WIDTH) * blas_bytes(r->t);
}

/* Q from the last panel's reflectors to the first's. */
static void form(Team *team)
{
    Reduction *r = team->data;
    HessPanel *p = &r->p;
    size_t bytes = blas_bytes(r->t);
    memset(r->q, 0, (size_t)(p->n * p->n) * bytes);
    for (int64_t i = 0; i < p->n; i++)
        mat_store(r->t, r->q, i * (p->n + 1), 1, 0);
    r->round = FORM;
    for (int64_t k = r->lo + (r->hi - r->lo - 1) / HESS_WIDTH * HESS_WIDTH;
         k >= r->lo && k < r->hi && !*team->ctx->interrupt; k -= HESS_WIDTH) {
        panel_at(r, k);
        for (int64_t j = 0; j < p->width; j++) {
            char *v = (char *)p->v + (size_t)(j * p->ld) * bytes;
            memset(v, 0, (size_t)j * bytes);
            memcpy(v + (size_t)j * bytes, blas_one(r->t), bytes);
            memcpy(v + (size_t)(j + 1) * bytes, place(r, p->a, k + j + 2, k + j),
                   (size_t)(p->m - j - 1) * bytes);
        }
        team_share(team, slices(r->hi - k, SLICE));
    }
}

static void lead(Team *team)
{
    Reduction *r = team->data;
    HessPanel *p = &r->p;
    for (int64_t k = r->lo; k < r->hi && !*team->ctx->interrupt; k += HESS_WIDTH) {
        panel_at(r, k);
        for (p->j = 0; p->j < p->width; p->j++) {
            r->round = ROWS;
            r->f->hess_column(p);
            team_share(team, slices(p->m, r->rows));
        }
        r->round = REST;
        r->above = slices(k + 1, SLICE);
        team_share(team, r->above + slices(p->n - k - p->width, SLICE));
    }
    if (r->q)
        form(team);
}

void hessenberg_reduce(Ctx *ctx, const Blas *l, BlasType t, int64_t n, int64_t lo, int64_t hi,
                       void *a, void *tau, void *q, Scratch *s)
{
    size_t bytes = blas_bytes(t), un = (size_t)n, workers = (size_t)pool_threads(ctx);
    Reduction r = { .l = l, .f = dense_kernels(t), .t = t, .lo = lo, .hi = hi, .q = q,
                    .rows = BLOCK / (int64_t)bytes,
                    .p = { .n = n, .ld = n, .a = a, .tau = tau } };
    Team team = { .ctx = ctx, .data = &r, .block = block, .lead = lead };
    r.p.v = scratch_take(s, un * HESS_WIDTH, bytes);
    r.p.y = scratch_take(s, un * HESS_WIDTH, bytes);
    r.p.minus = scratch_take(s, HESS_WIDTH, bytes);
    r.p.row = scratch_take(s, HESS_WIDTH, bytes);
    r.ts = scratch_take(s, (un + HESS_WIDTH) * HESS_WIDTH, bytes);
    r.rooms = scratch_take(s, workers * 2 * SLICE * HESS_WIDTH, bytes);
    if (!s->base)
        return;
    memset(tau, 0, un * bytes);
    bool enough = blas_enter(ctx, l, (int)workers, 1) == (int)workers;
    team_run(&team, n < SHARED || !enough);
}
