/* Eigenvalues of general matrices (general.h): balanced, reduced, iterated, and back. */
#include "kernels/spectral/general.h"

#include "core/memory/pool.h"
#include "kernels/blas/blas_stop.h"
#include "kernels/dense/hessenberg.h"
#include "kernels/spectral/francis.h"

#include <math.h>
#include <string.h>

bool general_own(BlasType t, int64_t n)
{
    return francis_own(t, n);
}

typedef struct General {
    Ctx *ctx;
    const Blas *l;
    BlasType t;
    int n, lwork, lo, hi;        /* lo, hi: LAPACK's, from 1 on */
    void *h, *z, *wr, *wi, *tau, *balance, *work;
} General;

/* ---- vectors ---- */
#define REAL float
#define FN(name) s_##name
#define SQRT sqrtf
#include "kernels/spectral/general.tmpl.h"

#define REAL double
#define FN(name) d_##name
#define SQRT sqrt
#include "kernels/spectral/general.tmpl.h"

/* The exponent by which elements are brought to where products of theirs stay in the range; else 0.
 * Large ones no further than that, as geev does: what is small beside them may be what balancing
 * makes large. */
static int exponent_of(BlasType t, int64_t count, const void *a)
{
    int e = 0, far = t == BLAS_S ? 40 : 459;
    double top = t == BLAS_S ? (double)s_largest(count, a) : d_largest(count, a);
    frexp(top, &e);
    return !(top > 0) ? 0 : e > far ? e - far : e < -far ? e : 0;
}

static void scale(BlasType t, int64_t count, void *x, int e)
{
    for (int64_t i = 0; i < count && e; i++)
        mat_store(t, x, i, ldexp(mat_real(t, x, i), e), 0);
}

/* What balancing is undone by may take vectors to where squares leave the range. */
static void bring_in_range(const General *g, int64_t from, int64_t to)
{
    for (int64_t j = from; j < to; j++) {
        double imag = mat_real(g->t, g->wi, j);
        int64_t count = imag < 0 ? 0 : imag > 0 ? 2 * g->n : g->n;
        void *x = (char *)g->z + (size_t)(j * g->n) * blas_bytes(g->t);
        scale(g->t, count, x, -exponent_of(g->t, count, x));
    }
}

static void normalise_columns(void *arg, int64_t from, int64_t to, int worker)
{
    const General *g = arg;
    (void)worker;
    bring_in_range(g, from, to);
    if (g->t == BLAS_S)
        s_normalise(g->n, from, to, g->wi, g->z);
    else
        d_normalise(g->n, from, to, g->wi, g->z);
}

static int make_vectors(General *g)
{
    int made, info = 0;
    g->l->trevc3[g->t]("R", "B", NULL, &g->n, g->h, &g->n, NULL, &g->n, g->z, &g->n, &g->n, &made,
                       g->work, &g->lwork, &info, 1, 1);
    info = info ? info : lapack_gebak(g->l, g->t, 'B', 'R', g->n, g->lo, g->hi, g->balance, g->n,
                                      g->z, g->n);
    if (!info)
        pool_for(g->ctx, g->n, 64, normalise_columns, g);
    return info;
}

/* ---- the whole ---- */
int general_eig(Ctx *ctx, const Blas *l, BlasType t, int64_t n, void *a, void *w, void *v,
                bool *real, Scratch *s)
{
    enum { BLOCK = 128 };        /* columns or reflectors at a time, at most, of any part */
    size_t bytes = blas_bytes(t), un = (size_t)n;
    General g = { .ctx = ctx, .l = l, .t = t, .n = (int)n, .h = a };
    g.lwork = (int)(n * (1 + 2 * BLOCK) + BLOCK * BLOCK);
    g.wr = scratch_take(s, un, bytes);
    g.wi = scratch_take(s, un, bytes);
    g.tau = scratch_take(s, un, bytes);
    g.balance = scratch_take(s, un, bytes);
    g.z = v || !s->base ? scratch_take(s, un * un, bytes) : NULL;
    g.work = scratch_take(s, (size_t)g.lwork, bytes);
    if (!s->base) {
        Scratch other = { .used = s->used };
        hessenberg_reduce(ctx, l, t, n, 0, n - 1, a, g.tau, g.z, &other);
        francis_schur(ctx, l, t, true, n, 0, n - 1, a, g.wr, g.wi, g.z, s);
        s->used = s->used > other.used ? s->used : other.used;
        return 0;
    }
    int e = exponent_of(t, n * n, a);
    scale(t, n * n, a, -e);
    int info = lapack_gebal(l, t, 'B', g.n, a, g.n, &g.lo, &g.hi, g.balance);
    size_t before = s->used;
    hessenberg_reduce(ctx, l, t, n, g.lo - 1, g.hi - 1, a, g.tau, g.z, s);
    blas_stop_by(ctx);
    blas_stop_poll();
    s->used = before;            /* what one needs the other may have after it */
    if (!info)
        info = francis_schur(ctx, l, t, v != NULL, n, g.lo - 1, g.hi - 1, a, g.wr, g.wi, g.z, s);
    if (!info && v)
        info = make_vectors(&g);
    scale(t, n, g.wr, e);
    scale(t, n, g.wi, e);
    *real = lapack_pair_values(t, n, g.wr, g.wi, w);
    if (v && !info)
        lapack_unpack_vectors(t, n, g.wi, g.z, v);
    return info;
}
