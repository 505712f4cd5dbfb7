/* The QR iteration (francis.h): which columns, with which shifts, and who makes the products. */
#include "kernels/spectral/francis.h"

#include "core/memory/pool.h"
#include "kernels/blas/blas_stop.h"
#include "kernels/tensor/cpu.h"

#include <math.h>
#include <string.h>

static const FrancisKernels *kernels(BlasType t)
{
#if defined(__x86_64__) || defined(__i386__)
    if (!blas_is_complex(t) && cpu_isa() >= ISA_AVX512)
        return &francis_avx512[t];
    if (!blas_is_complex(t) && cpu_isa() >= ISA_AVX2)
        return &francis_avx2[t];
#else
    (void)t;
#endif
    return NULL;
}

enum {
    LEAST = 100,                 /* below it one bulge after the other is as fast */
    SMALL = 75,                  /* of which order a block is left to the deflation alone */
    NIBBLE = 14,                 /* per cent of a window: if more was deflated there is no sweep */
    PATIENT = 5, STUCK = 6,      /* rounds without a deflation, until windows and shifts change */
    SLICE = 128                  /* rows or columns of a product that is shared */
};

bool francis_own(BlasType t, int64_t n)
{
    return n >= LEAST && kernels(t);
}

typedef struct Iteration {
    Ctx *ctx;
    const Blas *l;
    BlasType t;
    bool schur;
    int64_t n, lo, hi;
    void *h, *wr, *wi, *z;
    int64_t windows, shifts;             /* as many as there is room for */
    int64_t window, nominal;             /* as many as there usually are */
    int lwork, workers;
    void *v, *high, *wide, *work;        /* of the deflation */
    char *rooms;                         /* of the workers, for a slice each */
    Francis f;
} Iteration;

static char *place(const Iteration *v, void *base, int64_t row, int64_t col)
{
    return (char *)base + (size_t)(col * v->n + row) * blas_bytes(v->t);
}

static double element(const Iteration *v, int64_t row, int64_t col)
{
    return mat_real(v->t, v->h, col * v->n + row);
}

static int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }
static int64_t most(int64_t a, int64_t b) { return a > b ? a : b; }

/* ---- far from the diagonal ---- */
typedef struct Far {
    const Iteration *v;
    int64_t skip, size, row;             /* of u; and where its first row and column lie in h */
    int64_t from[3], to[3], slices[3];   /* columns on the right, rows above, rows of z */
} Far;

static void product(const Far *p, int kind, int64_t from, int64_t count, void *room)
{
    const Iteration *v = p->v;
    size_t bytes = blas_bytes(v->t), size = (size_t)p->size;
    int some = (int)count, order = (int)p->size, ld = (int)v->n, ldu = (int)v->f.width;
    const char *u = (const char *)v->f.u + (size_t)(p->skip * (v->f.width + 1)) * bytes;
    char *at = kind ? place(v, kind == 1 ? v->h : v->z, from, p->row)
                    : place(v, v->h, p->row, from);
    if (kind) {
        v->l->gemm[v->t]("N", "N", &some, &order, &order, blas_one(v->t), at, &ld, u, &ldu,
                         blas_zero(v->t), room, &some, 1, 1);
        for (size_t j = 0; j < size; j++)
            memcpy(at + j * (size_t)v->n * bytes, (char *)room + j * (size_t)count * bytes,
                   (size_t)count * bytes);
    } else {
        v->l->gemm[v->t]("T", "N", &order, &some, &order, blas_one(v->t), u, &ldu, at, &ld,
                         blas_zero(v->t), room, &order, 1, 1);
        for (size_t j = 0; j < (size_t)count; j++)
            memcpy(at + j * (size_t)v->n * bytes, (char *)room + j * size * bytes, size * bytes);
    }
}

static void far_slices(void *arg, int64_t begin, int64_t end, int worker)
{
    const Far *p = arg;
    const Iteration *v = p->v;
    void *room = v->rooms + (size_t)worker * (size_t)(v->f.width * SLICE) * blas_bytes(v->t);
    for (int64_t i = begin; i < end; i++) {
        int kind = 0;
        int64_t slice = i;
        while (slice >= p->slices[kind])
            slice -= p->slices[kind++];
        int64_t from = p->from[kind] + slice * SLICE;
        product(p, kind, from, least(SLICE, p->to[kind] - from), room);
    }
}

static void far_products(Iteration *v)
{
    enum { SHARED = 500000 };            /* multiply-adds for which another is worth waking */
    const Francis *f = &v->f;
    int64_t end = f->incol + f->width, all = 0, lines = 0;
    Far p = { .v = v, .skip = most(0, f->ktop - f->incol - 1) };
    p.size = f->width - most(0, end - f->kbot) - p.skip;
    p.row = f->incol + 1 + p.skip;
    p.from[0] = least(end, f->kbot) + 1, p.to[0] = v->schur ? v->n : f->kbot + 1;
    p.from[1] = v->schur ? 0 : f->ktop, p.to[1] = most(f->ktop, f->incol);
    p.from[2] = 0, p.to[2] = v->z ? v->n : 0;
    for (int i = 0; i < 3; i++) {
        lines += most(0, p.to[i] - p.from[i]);
        p.slices[i] = (most(0, p.to[i] - p.from[i]) + SLICE - 1) / SLICE;
        all += p.slices[i];
    }
    if (v->workers > 1 && lines * p.size * p.size >= SHARED)
        pool_for(v->ctx, all, 1, far_slices, &p);
    else
        far_slices(&p, 0, all, 0);
}

/* ---- shifts: wr and wi from ks to kbot ---- */
static void swap(const Iteration *v, int64_t i, int64_t j)
{
    for (int part = 0; part < 2; part++) {
        void *x = part ? v->wi : v->wr;
        double keep = mat_real(v->t, x, i);
        mat_store(v->t, x, i, mat_real(v->t, x, j), 0);
        mat_store(v->t, x, j, keep, 0);
    }
}

static double size_of(const Iteration *v, int64_t i)
{
    return fabs(mat_real(v->t, v->wr, i)) + fabs(mat_real(v->t, v->wi, i));
}

/* The eigenvalues of [a, b; c, d]. */
static void two_values(const Iteration *v, int64_t at, double a, double b, double c, double d)
{
    double mean = a + (d - a) / 2, half = (a - d) / 2, square = half * half + b * c;
    double root = sqrt(fabs(square));
    for (int64_t i = 0; i < 2; i++) {
        double sign = i ? -1 : 1;
        mat_store(v->t, v->wr, at + i, square >= 0 ? mean + sign * root : mean, 0);
        mat_store(v->t, v->wi, at + i, square >= 0 ? 0 : sign * root, 0);
    }
}

/* Those that are tried where nothing was deflated for long. */
static int64_t odd_shifts(const Iteration *v, int64_t ktop, int64_t kbot, int64_t ns)
{
    int64_t ks = kbot - ns + 1;
    for (int64_t i = kbot; i >= most(ks + 1, ktop + 2); i -= 2) {
        double s = fabs(element(v, i, i - 1)) + fabs(element(v, i - 1, i - 2));
        double a = 0.75 * s + element(v, i, i);
        two_values(v, i - 1, a, s, -0.4375 * s, a);
    }
    for (int64_t i = ks; i <= ks + 1 && ks == ktop; i++) {
        mat_store(v->t, v->wr, i, element(v, ks + 1, ks + 1), 0);
        mat_store(v->t, v->wi, i, 0, 0);
    }
    return ks;
}

/* Too few were left by the deflation: the eigenvalues of the last ns rows and columns. */
static int64_t more_shifts(const Iteration *v, int64_t kbot, int64_t ns)
{
    int64_t ks = kbot - ns + 1;
    int order = (int)ns;
    for (int64_t j = 0; j < ns; j++)
        memcpy((char *)v->v + (size_t)(j * ns) * blas_bytes(v->t), place(v, v->h, ks, ks + j),
               (size_t)ns * blas_bytes(v->t));
    ks += lapack_hseqr(v->l, v->t, 'E', 'N', order, 1, order, v->v, order,
                       (char *)v->wr + (size_t)ks * blas_bytes(v->t),
                       (char *)v->wi + (size_t)ks * blas_bytes(v->t), NULL, 1, v->work, v->lwork);
    if (ks >= kbot) {
        ks = kbot - 1;
        two_values(v, ks, element(v, ks, ks), element(v, ks, kbot), element(v, kbot, ks),
                   element(v, kbot, kbot));
    }
    return ks;
}

/* Falling, pairs together. */
static void sort_shifts(const Iteration *v, int64_t ks, int64_t kbot)
{
    bool sorted = false;
    for (int64_t k = kbot; k > ks && !sorted; k--) {
        sorted = true;
        for (int64_t i = ks; i < k; i++)
            if (size_of(v, i) < size_of(v, i + 1)) {
                sorted = false;
                swap(v, i, i + 1);
            }
    }
}

static void pair_shifts(const Iteration *v, int64_t ks, int64_t kbot)
{
    for (int64_t i = kbot; i >= ks + 2; i -= 2)
        if (mat_real(v->t, v->wi, i) != -mat_real(v->t, v->wi, i - 1)) {
            swap(v, i, i - 1);
            swap(v, i - 1, i - 2);
        }
    if (kbot - ks + 1 == 2 && mat_real(v->t, v->wi, kbot) == 0) {
        double last = element(v, kbot, kbot), x = mat_real(v->t, v->wr, kbot);
        double y = mat_real(v->t, v->wr, ks);
        bool nearer = fabs(x - last) < fabs(y - last);
        mat_store(v->t, v->wr, nearer ? ks : kbot, nearer ? x : y, 0);
    }
}

/* ---- a sweep, a round ---- */
static void sweep(Iteration *v, int64_t ktop, int64_t kbot, int64_t ks)
{
    size_t bytes = blas_bytes(v->t);
    Francis *f = &v->f;
    f->ktop = ktop, f->kbot = kbot, f->bulges = (kbot - ks + 1) / 2, f->width = 4 * f->bulges;
    f->sr = (char *)v->wr + (size_t)ks * bytes;
    f->si = (char *)v->wi + (size_t)ks * bytes;
    if (ktop + 2 <= kbot)
        mat_store(v->t, v->h, ktop * v->n + ktop + 2, 0, 0);
    for (f->incol = ktop - 2 * f->bulges + 1; f->incol <= kbot - 2; f->incol += 2 * f->bulges) {
        kernels(v->t)->chase(f);
        far_products(v);
        blas_stop_poll();
    }
}

/* The window of the next deflation, and in *less by how much it was made smaller. */
static int64_t window_of(const Iteration *v, int64_t ktop, int64_t kbot, int64_t before,
                         int64_t rounds, int64_t *less)
{
    int64_t order = kbot - ktop + 1, bound = least(order, v->windows);
    int64_t nw = least(bound, rounds < PATIENT ? v->window : 2 * before), top = kbot - nw + 1;
    if (nw < v->windows && nw >= order - 1)
        nw = order;
    else if (nw < v->windows && fabs(element(v, top, top - 1)) > fabs(element(v, top - 1, top - 2)))
        nw++;
    if (rounds < PATIENT) {
        *less = -1;
    } else if (*less >= 0 || nw >= bound) {
        *less = nw - *less - 1 < 2 ? 0 : *less + 1;
        nw -= *less;
    }
    return nw;
}

/* LAPACK's laqr3: how many values it found, and how many others it left as shifts. */
static int deflate(const Iteration *v, int64_t ktop, int64_t kbot, int64_t window, int *left)
{
    int n = (int)v->n, top = (int)ktop + 1, bottom = (int)kbot + 1, nw = (int)window, one = 1;
    int schur = v->schur, wanted = v->z != NULL, found = 0, ldv = (int)v->windows, nz = n;
    v->l->laqr3[v->t](&schur, &wanted, &n, &top, &bottom, &nw, v->h, &n, &one, &nz, v->z, &n, left,
                      &found, v->wr, v->wi, v->v, &ldv, &n, v->wide, &ldv, &n, v->high, &n, v->work,
                      &v->lwork);
    return found;
}

static int64_t choose_shifts(const Iteration *v, int64_t ktop, int64_t kbot, int64_t left,
                             int64_t rounds)
{
    int64_t ns = least(v->nominal, most(2, kbot - ktop)) / 2 * 2, ks = kbot - left + 1;
    if (rounds % STUCK == 0) {
        ks = odd_shifts(v, ktop, kbot, ns);
    } else {
        if (left <= ns / 2)
            ks = more_shifts(v, kbot, ns);
        if (kbot - ks + 1 > ns)
            sort_shifts(v, ks, kbot);
    }
    pair_shifts(v, ks, kbot);
    return kbot - least(ns, kbot - ks + 1) / 2 * 2 + 1;
}

/* Returns the last row, from 1 on, whose value was not found. */
static int64_t iterate(Iteration *v)
{
    int64_t kbot = v->hi, ktop, rounds = 1, nw = v->windows, less = -1;
    for (int64_t it = 30 * most(10, v->hi - v->lo + 1); it > 0 && kbot >= v->lo; it--) {
        for (ktop = kbot; ktop > v->lo && element(v, ktop, ktop - 1) != 0; ktop--)
            ;
        int left;
        nw = window_of(v, ktop, kbot, nw, rounds, &less);
        int64_t found = deflate(v, ktop, kbot, nw, &left);
        kbot -= found;
        bool few = 100 * found <= nw * NIBBLE && kbot - ktop + 1 > least(SMALL, v->windows);
        if (!found || few)
            sweep(v, ktop, kbot, choose_shifts(v, ktop, kbot, left, rounds));
        rounds = found ? 1 : rounds + 1;
    }
    return kbot < v->lo ? 0 : kbot + 1;
}

/* How many shifts go at a time, and the width of the deflation's window: fewer than LAPACK's iparmq
 * says (10 from order 60, 26 at 200, 56 at 500, 64 and 96 at 1000), since the deflation, one bulge
 * after the other, is the slower part here. With vectors more of the work is products. */
static int64_t usual_shifts(bool schur, int64_t order)
{
    enum { FEWEST = 8, MOST = 128 };
    return least(most(FEWEST, order / (schur ? 20 : 32)), MOST) / 2 * 2;
}

static void take_rooms(Iteration *v, Scratch *s)
{
    size_t bytes = blas_bytes(v->t), un = (size_t)v->n, windows = (size_t)v->windows;
    size_t widest = 2 * (size_t)v->nominal;
    v->v = scratch_take(s, windows * most(v->windows, v->nominal), bytes);
    v->wide = scratch_take(s, windows * un, bytes);
    v->high = scratch_take(s, windows * un, bytes);
    v->work = scratch_take(s, (size_t)v->lwork, bytes);
    v->f.u = scratch_take(s, widest * widest, bytes);
    v->f.room = scratch_take(s, (size_t)v->nominal, kernels(v->t)->bulge);
    v->rooms = scratch_take(s, (size_t)pool_threads(v->ctx) * widest * SLICE, bytes);
}

int francis_schur(Ctx *ctx, const Blas *l, BlasType t, bool schur, int64_t n, int64_t lo,
                  int64_t hi, void *h, void *wr, void *wi, void *z, Scratch *s)
{
    int64_t order = hi - lo + 1;
    Iteration v = { .ctx = ctx, .l = l, .t = t, .schur = schur, .n = n, .lo = lo, .hi = hi, .h = h,
                    .wr = wr, .wi = wi, .z = z, .windows = (n - 1) / 3 };
    v.nominal = least(usual_shifts(schur, order), (n - 3) / 6 / 2 * 2);
    v.window = least(least(order, v.windows), v.nominal);
    v.lwork = (int)(64 * v.windows + 64 * 65 + n);
    v.f = (Francis){ .n = n, .ld = n, .h = h };
    take_rooms(&v, s);
    if (!s->base)
        return 0;
    v.workers = blas_enter(ctx, l, pool_threads(ctx), 1);
    v.workers = v.workers == pool_threads(ctx) ? v.workers : 1;
    for (int64_t i = 0; i < n; i++)
        if (i < lo || i > hi) {
            mat_store(t, wr, i, element(&v, i, i), 0);
            mat_store(t, wi, i, 0, 0);
        }
    int64_t info = iterate(&v);
    for (int64_t j = 0; schur && j + 2 < n; j++)
        memset(place(&v, h, j + 2, j), 0, (size_t)(n - j - 2) * blas_bytes(t));
    if (info)
        info = lapack_hseqr(l, t, schur ? 'S' : 'E', z ? 'V' : 'N', (int)n, (int)lo + 1, (int)info,
                            h, (int)n, wr, wi, z, (int)n, v.work, v.lwork);
    return (int)info;
}
