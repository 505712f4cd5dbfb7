/* Bidiagonal forms (bidiagonal.h): who makes which step. */
#include "kernels/condensed/bidiagonal.h"

#include "core/memory/pool.h"
#include "kernels/blas/blas_stop.h"
#include "kernels/condensed/range.h"
#include "kernels/dense/team.h"
#include "kernels/tensor/cpu.h"

static const BidiagonalKernels *kernels(BlasType t)
{
#if defined(__x86_64__) || defined(__i386__)
    if (!blas_is_complex(t) && cpu_isa() >= ISA_AVX512)
        return &bidiagonal_avx512[t];
    if (!blas_is_complex(t) && cpu_isa() >= ISA_AVX2)
        return &bidiagonal_avx2[t];
#else
    (void)t;
#endif
    return NULL;
}

/* Higher ones (gesdd's limit is 11/6) gain by a QR factorisation first. */
enum { LEAST = 48 };

bool bidiagonal_own(BlasType t, int64_t m, int64_t n)
{
    return n >= LEAST && 6 * m < 11 * n && kernels(t);
}

int64_t bidiagonal_held(BlasType t, int64_t m, int64_t n)
{
    enum { CACHED = 24 << 20 };  /* bytes that the last cache keeps */
    return (size_t)(m * n) * blas_bytes(t) > CACHED ? BIDIAGONAL_MOST : 1;
}

/* ---- steps on the pool ---- */
typedef struct Form {
    const BidiagonalKernels *f;
    Bidiagonal *b;
    bool rows;                   /* the passage is over */
} Form;

static void block(void *data, int64_t i, int worker)
{
    const Form *form = data;
    (void)worker;
    (form->rows ? form->f->rows : form->f->block)(form->b, i);
}

static void lead(Team *team)
{
    Form *form = team->data;
    Bidiagonal *b = form->b;
    for (b->k = 0; b->k < b->n && !*team->ctx->interrupt; b->k++) {
        form->f->column(b);
        if (b->k + 1 == b->n)
            break;
        team_share(team, (b->n - b->k - 1 + BIDIAGONAL_BLOCK - 1) / BIDIAGONAL_BLOCK);
        form->rows = form->f->row(b);
        if (form->rows)
            team_share(team, (b->m - b->k - 1 + BIDIAGONAL_ROWS - 1) / BIDIAGONAL_ROWS);
        form->rows = false;
    }
}

/* ---- the values ---- */
/* Work space of the form. */
static Bidiagonal form_of(BlasType t, int64_t m, int64_t n, int64_t held, void *a, void *s,
                          Scratch *w)
{
    size_t bytes = blas_bytes(t), um = (size_t)m, un = (size_t)n, terms = 2 * (size_t)held;
    Bidiagonal b = { .m = m, .n = n, .most = held, .a = a, .d = s };
    b.e = scratch_take(w, un, bytes);
    b.left = scratch_take(w, um * (terms + 2), bytes);
    b.right = scratch_take(w, un * terms, bytes);
    b.products = scratch_take(w, terms, bytes);
    b.y = scratch_take(w, un, bytes);
    b.u = scratch_take(w, un, bytes);
    b.parts = scratch_take(w, um * (un / BIDIAGONAL_BLOCK + 1), bytes);
    return b;
}

/* Makes it; returns the exponent that the matrix was divided by. */
static int form_make(Ctx *ctx, BlasType t, Bidiagonal *b)
{
    enum { SHARED = 400 };       /* below this order one is as fast where the other has work */
    Form form = { kernels(t), b, false };
    Team team = { .ctx = ctx, .data = &form, .block = block, .lead = lead };
    int e = range_exponent(t, form.f->top(b->m * b->n, b->a));
    range_scale(t, b->m * b->n, b->a, -e);
    team_run(&team, b->n < SHARED);
    blas_stop_by(ctx);
    blas_stop_poll();
    return e;
}

int bidiagonal_values(Ctx *ctx, const Blas *l, BlasType t, int64_t m, int64_t n, int64_t held,
                      void *a, void *s, Scratch *w)
{
    Bidiagonal b = form_of(t, m, n, held, a, s, w);
    void *work = scratch_take(w, 4 * (size_t)n, blas_bytes(t));
    if (!w->base)
        return 0;
    int e = form_make(ctx, t, &b), ni = (int)n;
    int info = lapack_bdsqr(l, t, 'U', ni, 0, 0, 0, s, b.e, a, 1, a, 1, a, 1, work);
    range_scale(t, n, s, e);
    return info;
}

/* ---- the vectors ---- */
enum { APPLIED = 64 };           /* reflectors in a block of ormbr, at most */

typedef struct Turned {
    const Blas *l;
    BlasType t;
    const Bidiagonal *b;
    void *u, *vt, *work;
    int lwork;
    int64_t pieces;              /* of each side */
} Turned;

/* Columns of u, Q u, or rows of vt, vt P'. */
static void turn_pieces(void *arg, int64_t from, int64_t to, int worker)
{
    const Turned *v = arg;
    const Bidiagonal *b = v->b;
    size_t bytes = blas_bytes(v->t);
    int m = (int)b->m, n = (int)b->n;
    void *work = (char *)v->work + (size_t)worker * (size_t)v->lwork * bytes;
    for (int64_t p = from; p < to; p++) {
        int64_t i = p % v->pieces, first = n * i / v->pieces;
        int some = (int)(n * (i + 1) / v->pieces - first);
        if (p < v->pieces)
            lapack_ormbr(v->l, v->t, 'Q', 'L', 'N', m, some, n, b->a, m, b->column_taus,
                         (char *)v->u + (size_t)(first * m) * bytes, m, work, v->lwork);
        else
            lapack_ormbr(v->l, v->t, 'P', 'R', 'T', some, n, n, b->a, m, b->row_taus,
                         (char *)v->vt + (size_t)first * bytes, n, work, v->lwork);
    }
}

/* Two callers must not: for less than a block of reflectors ormbr writes into them. */
static void turn_vectors(Ctx *ctx, Turned *v)
{
    enum { COLUMNS = 256,        /* of a piece, whoever takes it: bits depend on the number */
           SHARED = 128 };
    int workers = v->b->n < SHARED ? 1 : pool_threads(ctx);
    v->pieces = (v->b->n + COLUMNS - 1) / COLUMNS;
    if (blas_enter(ctx, v->l, workers, 1) == workers && workers > 1)
        pool_for(ctx, 2 * v->pieces, 1, turn_pieces, v);
    else
        turn_pieces(v, 0, 2 * v->pieces, 0);
    blas_stop_poll();
}

int bidiagonal_vectors(Ctx *ctx, const Blas *l, BlasType t, int64_t m, int64_t n, int64_t held,
                       void *a, void *s, void *u, void *vt, Scratch *w)
{
    size_t bytes = blas_bytes(t), un = (size_t)n, workers = (size_t)pool_threads(ctx);
    size_t lwork = un * APPLIED + (APPLIED + 1) * APPLIED, solve = un * (3 * un + 4);
    int ni = (int)n;
    Bidiagonal b = form_of(t, m, n, held, a, s, w);
    b.column_taus = scratch_take(w, un, bytes);
    b.row_taus = scratch_take(w, un, bytes);
    int *iwork = scratch_take(w, 8 * un, sizeof *iwork);
    void *work = scratch_take(w, workers * lwork > solve ? workers * lwork : solve, bytes);
    if (!w->base)
        return 0;
    int e = form_make(ctx, t, &b);
    __builtin_memset(u, 0, (size_t)m * un * bytes);
    int info = lapack_bdsdc(l, t, 'U', 'I', ni, s, b.e, u, (int)m, vt, ni, NULL, NULL, work, iwork);
    if (info)
        return info;
    turn_vectors(ctx, &(Turned){ l, t, &b, u, vt, work, (int)lwork, 0 });
    range_scale(t, n, s, e);
    return 0;
}
