/* Divide and conquer for tridiagonal and Hermitian matrices (tridiagonal.h). What LAPACK's stedc
 * does one root after the other, in loops that its compiler does not turn into vectors, goes
 * through the kernels of secular.h; its products and copies go to the pool. */
#include "kernels/spectral/tridiagonal.h"

#include "core/memory/pool.h"
#include "kernels/blas/blas_stop.h"
#include "kernels/condensed/range.h"
#include "kernels/condensed/symmetric.h"
#include "kernels/spectral/secular.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    LEAF = 25,                  /* up to this order a part goes to the QR iteration: stedc's */
    WORTH = 1 << 15             /* elements for which a second worker pays */
};
/* Where a vector of the halves is not 0; ASIDE: it is the whole's already. */
enum { UPPER, BOTH, LOWER, ASIDE, KINDS };

typedef struct Divide {
    Ctx *ctx;
    const Blas *l;
    BlasType type;
    /* the block at work */
    void *d, *e, *whole;        /* its vectors, columns ld apart … */
    int64_t order_n, ld;
    bool vectors;               /* … or, for values alone, each part's first row and last */
    int64_t *order, *ends;      /* of each part the place after it */
    void *leaf_work, *leaf_vectors;
    _Atomic bool lost;
    /* the join at work */
    int64_t n, n1, k, aside;    /* k poles; what is set aside begins at list[aside] */
    int64_t above, below;       /* rows of the vectors, of the first half and of the second */
    double rho;
    void *q, *z, *poles, *weights, *squares, *lambda;
    int64_t *sorted, *list, *grouped, *pole_of, count[KINDS];
    char *kind;
    void *columns, *top, *bottom, *others;    /* the vectors, by kind, taken aside */
    void *roots, *room;
    int64_t *block_order, *before;
} Divide;

/* stedc's parts: halves of halves, until all are small. */
static int64_t divide_parts(int64_t n, int64_t *ends)
{
    int64_t parts = 1;
    ends[0] = n;
    while (ends[parts - 1] > LEAF) {
        for (int64_t p = parts - 1; p >= 0; p--) {
            int64_t size = ends[p];
            ends[2 * p + 1] = (size + 1) / 2, ends[2 * p] = size / 2;
        }
        parts *= 2;
    }
    for (int64_t p = 1; p < parts; p++)
        ends[p] += ends[p - 1];
    return parts;
}

/* By kind, so that products leave out zeros: grouped has columns, pole_of their poles. */
static void divide_group(Divide *v)
{
    int64_t at[KINDS] = { 0 };
    memset(v->count, 0, sizeof v->count);
    for (int64_t i = 0; i < v->n; i++)
        v->count[(int)v->kind[i]]++;
    for (int kind = 1; kind < KINDS; kind++)
        at[kind] = at[kind - 1] + v->count[kind - 1];
    for (int64_t i = 0; i < v->n; i++) {
        int64_t to = at[(int)v->kind[v->list[i]]]++;
        v->grouped[to] = v->list[i], v->pole_of[to] = i;
    }
}

static void divide_lay_out(Divide *v, size_t bytes)
{
    int64_t upper = v->k - v->count[LOWER], lower = v->k - v->count[UPPER];
    v->top = v->columns;
    v->bottom = (char *)v->top + (size_t)(v->above * upper) * bytes;
    v->others = (char *)v->bottom + (size_t)(v->below * lower) * bytes;
}

/* Is it the join after which nobody asks for vectors? */
static bool divide_last(const Divide *v) { return !v->vectors && v->n == v->order_n; }

static bool divide_product(Divide *v)
{
    int64_t upper = v->k - v->count[LOWER], lower = v->k - v->count[UPPER];
    int64_t n1 = v->above, n2 = v->below, k = v->k;
    size_t bytes = blas_bytes(v->type);
    DType dt = v->type == BLAS_S ? DT_F32 : DT_F64;
    Secular s = {
        v->type, k, secular_padded(k), v->poles, v->weights, v->squares, v->rho, v->lambda,
        divide_last(v) ? NULL : v->roots, v->pole_of, v->room
    };
    bool found = secular_solve(v->ctx, &s);
    if (!s.q)
        return found;
    char *below = (char *)v->roots + (size_t)v->count[UPPER] * bytes;
    gemm(v->ctx, v->l, dt, n1, k, upper, (Mat){ v->top, 1, n1 }, (Mat){ v->roots, 1, s.ld },
         (Mat){ v->q, 1, v->ld });
    gemm(v->ctx, v->l, dt, n2, k, lower, (Mat){ v->bottom, 1, n2 }, (Mat){ below, 1, s.ld },
         (Mat){ (char *)v->q + (size_t)n1 * bytes, 1, v->ld });
    return found;
}

#define REAL float
#define FN(name) s_##name
#define ABS fabsf
#define SQRT sqrtf
#define HYPOT hypotf
#define EPS 0x1p-24f
#define LEAST_EXPONENT -120
#include "kernels/spectral/tridiagonal.tmpl.h"

#define REAL double
#define FN(name) d_##name
#define ABS fabs
#define SQRT sqrt
#define HYPOT hypot
#define EPS 0x1p-53
#define LEAST_EXPONENT -1000
#include "kernels/spectral/tridiagonal.tmpl.h"

/* z NULL where only values are asked for. */
static int divide(Ctx *ctx, const Blas *l, BlasType t, int64_t n, bool vectors, void *d, void *e,
                  void *z, int64_t *order, Scratch *s)
{
    size_t bytes = blas_bytes(t), padded = (size_t)secular_padded(n), un = (size_t)n;
    size_t workers = (size_t)pool_threads(ctx), half = un / 2 + 1;
    Divide v = { .ctx = ctx, .l = l, .type = t, .ld = vectors ? n : 2, .vectors = vectors };
    void **lengths[] = { &v.z, &v.poles, &v.weights, &v.squares, &v.lambda };
    int64_t **lists[] = {
        &v.ends, &v.sorted, &v.list, &v.grouped, &v.pole_of, &v.block_order, &v.before
    };
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++)
        *lengths[i] = scratch_take(s, padded, bytes);
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
        *lists[i] = scratch_take(s, un, sizeof **lists);
    v.kind = scratch_take(s, un, 1);
    v.leaf_work = scratch_take(s, workers * 2 * LEAF, bytes);
    v.leaf_vectors = scratch_take(s, vectors ? 0 : workers * LEAF * LEAF, bytes);
    v.room = scratch_take(s, workers * padded, bytes);
    v.columns = scratch_take(s, vectors ? un * un : 4 * un, bytes);
    v.roots = vectors ? scratch_take(s, un * padded, bytes)
                      : scratch_take(s, half * (size_t)secular_padded((int64_t)half), bytes);
    if (!vectors)
        z = scratch_take(s, 2 * un, bytes);
    if (!s->base)
        return 0;
    bool found = t == BLAS_S ? s_blocks(&v, n, d, e, z, order) : d_blocks(&v, n, d, e, z, order);
    return found ? 0 : 1;
}

int tridiagonal_eigh(Ctx *ctx, const Blas *l, BlasType t, int64_t n, void *d, void *e, void *z,
                     int64_t *order, Scratch *s)
{
    return divide(ctx, l, t, n, true, d, e, z, order, s);
}

int tridiagonal_values(Ctx *ctx, const Blas *l, BlasType t, int64_t n, void *d, void *e, void *w,
                       Scratch *s)
{
    int64_t *order = scratch_take(s, (size_t)n, sizeof *order);
    size_t bytes = blas_bytes(t);
    if (n < VALUES_DIVIDED_LEAST) {
        int lost = s->base ? lapack_sterf(l, t, (int)n, d, e) : 0;
        if (s->base)
            memcpy(w, d, (size_t)n * bytes);
        return lost;
    }
    int info = divide(ctx, l, t, n, false, d, e, NULL, order, s);
    for (int64_t j = 0; j < n && s->base && !info; j++)
        memcpy((char *)w + (size_t)j * bytes, (char *)d + (size_t)order[j] * bytes, bytes);
    return info;
}

/* ---- Hermitian matrices ---- */
static bool is_single(BlasType t)
{
    return t == BLAS_S || t == BLAS_C;
}

/* Work space that sytrd and ormtr ask for. A float may have been rounded down. */
static int asked(BlasType t, const void *work)
{
    return (int)(is_single(t) ? (double)*(const float *)work * (1 + 0x1p-22)
                              : *(const double *)work) + 1;
}

static int ask_sytrd(const Blas *l, BlasType t, int n)
{
    double query[2] = { 0 };
    lapack_sytrd(l, t, 'U', n, NULL, n, NULL, NULL, NULL, query, -1);
    return asked(t, query);
}

/* What ormtr answers lacks the room in which ormql keeps the triangles of blocks; without it, it
 * applies one reflector after the other. */
static int ask_ormtr(const Blas *l, BlasType t, int n)
{
    enum { TRIANGLES = 65 * 64 };
    double query[2] = { 0 };
    lapack_ormtr(l, t, 'L', 'U', 'N', n, n, NULL, n, NULL, NULL, n, query, -1);
    return asked(t, query) + TRIANGLES;
}

/* The exponent that brings a matrix near 1 where squares of its elements leave the range. */
static int exponent_to_scale(BlasType t, int64_t n, bool own, const void *a)
{
    BlasType real = is_single(t) ? BLAS_S : BLAS_D;
    int64_t count = n * n * (blas_is_complex(t) ? 2 : 1);
    double most = 0;
    if (own)
        return range_exponent(real, symmetric_largest(t, n, a));
    for (int64_t i = 0; i < count; i++)
        most = fmax(most, fabs(mat_real(real, a, i)));
    return range_exponent(real, most);
}

typedef struct Turned {
    const Blas *l;
    BlasType t;
    int n, lwork;
    void *a, *tau, *z, *work;
    int64_t pieces;
} Turned;

static void turn_pieces(void *arg, int64_t from, int64_t to, int worker)
{
    const Turned *v = arg;
    size_t bytes = blas_bytes(v->t);
    void *work = (char *)v->work + (size_t)worker * (size_t)v->lwork * bytes;
    for (int64_t p = from; p < to; p++) {
        int64_t first = v->n * p / v->pieces, some = v->n * (p + 1) / v->pieces - first;
        lapack_ormtr(v->l, v->t, 'L', 'U', 'N', v->n, (int)some, v->a, v->n, v->tau,
                     (char *)v->z + (size_t)(first * v->n) * bytes, v->n, work, v->lwork);
    }
}

/* Vectors of the tridiagonal matrix become those of the whole: z := Q z. For less than a block
 * of reflectors ormtr writes into `a`, which two callers must not. */
static void turn_vectors(Ctx *ctx, Turned *v)
{
    enum { MOST = 512,          /* columns in one call, which no interrupt ends */
           BLOCKED = 128 };
    int workers = v->n < BLOCKED ? 1 : pool_threads(ctx);
    v->pieces = (v->n + (int64_t)workers * MOST - 1) / ((int64_t)workers * MOST) * workers;
    if (blas_enter(ctx, v->l, workers, 1) == workers)
        pool_for(ctx, v->pieces, 1, turn_pieces, v);
    else
        turn_pieces(v, 0, v->pieces, 0);
    blas_stop_poll();
}

/* Real numbers become complex ones, in pairs that begin where to does. */
static void widen(BlasType t, int64_t count, const void *from, void *to)
{
    for (int64_t i = 0; i < count; i++)
        if (t == BLAS_C)
            ((float *)to)[2 * i] = ((const float *)from)[i], ((float *)to)[2 * i + 1] = 0;
        else
            ((double *)to)[2 * i] = ((const double *)from)[i], ((double *)to)[2 * i + 1] = 0;
}

static void put_in_order(BlasType t, int64_t n, const int64_t *order, const void *d, const void *z,
                         void *w, void *a)
{
    size_t real = is_single(t) ? 4 : 8, column = (size_t)n * blas_bytes(t);
    for (int64_t j = 0; j < n; j++) {
        memcpy((char *)w + (size_t)j * real, (const char *)d + (size_t)order[j] * real, real);
        memcpy((char *)a + (size_t)j * column, (const char *)z + (size_t)order[j] * column, column);
    }
}

int lapack_eigh_divided(Ctx *ctx, const Blas *l, BlasType t, int64_t n, void *a, void *w,
                        Scratch *s)
{
    BlasType real = is_single(t) ? BLAS_S : BLAS_D;
    int64_t parts = n * n * (blas_is_complex(t) ? 2 : 1);
    size_t bytes = blas_bytes(t), un = (size_t)n, workers = (size_t)pool_threads(ctx);
    bool own = symmetric_own(t, n);
    int ni = (int)n, lwork = own ? 0 : ask_sytrd(l, t, ni), apply = ask_ormtr(l, t, ni);
    void *d = scratch_take(s, un, blas_bytes(real)), *e = scratch_take(s, un, blas_bytes(real));
    int64_t *order = scratch_take(s, un, sizeof *order);
    void *tau = scratch_take(s, un, bytes), *z = scratch_take(s, un * un, bytes), *zr = z;
    if (blas_is_complex(t))
        zr = scratch_take(s, un * un, blas_bytes(real));
    size_t most = workers * (size_t)apply > (size_t)lwork ? workers * (size_t)apply : (size_t)lwork;
    void *work = scratch_take(s, most, bytes);
    if (!s->base && own)
        symmetric_form(ctx, t, n, symmetric_held(t, n), a, d, e, tau, s);
    if (!s->base)
        return tridiagonal_eigh(ctx, l, real, n, d, e, zr, order, s);
    int exponent = exponent_to_scale(t, n, own, a), info = 0;
    range_scale(real, parts, a, -exponent);
    if (own)
        symmetric_form(ctx, t, n, symmetric_held(t, n), a, d, e, tau, s);
    else
        info = lapack_sytrd(l, t, 'U', ni, a, ni, d, e, tau, work, lwork);
    info = info ? info : tridiagonal_eigh(ctx, l, real, n, d, e, zr, order, s);
    if (info)
        return info;
    if (blas_is_complex(t))
        widen(t, n * n, zr, z);
    turn_vectors(ctx, &(Turned){ l, t, ni, apply, a, tau, z, work, 0 });
    put_in_order(t, n, order, d, z, w, a);
    range_scale(real, n, w, exponent);
    return 0;
}

int lapack_eigvalsh_divided(Ctx *ctx, const Blas *l, BlasType t, int64_t n, void *a, void *w,
                            Scratch *s)
{
    size_t bytes = blas_bytes(t), un = (size_t)n;
    void *d = scratch_take(s, un, bytes), *e = scratch_take(s, un, bytes);
    int exponent = s->base ? exponent_to_scale(t, n, true, a) : 0;
    if (s->base)
        range_scale(t, n * n, a, -exponent);
    symmetric_form(ctx, t, n, symmetric_held(t, n), a, d, e, NULL, s);
    int info = tridiagonal_values(ctx, l, t, n, d, e, w, s);
    if (!s->base)
        return 0;
    blas_stop_poll();
    range_scale(t, n, w, exponent);
    return info;
}
