/* LAPACK's routines behind one signature for all four types: character arguments, work space
 * queries and the differences between real and complex forms end here. Must not raise or allocate
 * (work space is the caller's). */
#include "kernels/lapack/lapack.h"

#include "core/memory/pool.h"
#include "kernels/blas/blas_stop.h"

#include <math.h>

void *scratch_take(Scratch *s, size_t count, size_t bytes)
{
    void *at = s->base ? s->base + s->used : NULL;
    s->used += (count * bytes + 63) / 64 * 64;
    return at;
}

/* Up to this order nothing is asked: the question would cost a microsecond, and what the
 * routines' documentation says they want at most is little. */
enum { UNASKED = 32 };

/* What this routine answered at this place; true: it is to be asked. More than
 * SCRATCH_ANSWERS are asked again every time. */
static bool ask(Scratch *s, const void *routine, ScratchAnswer **out)
{
    ScratchAnswer *a = s->answers, *last = a + SCRATCH_ANSWERS - 1;
    while (a < last && a->routine && (a->routine != routine || a->at != s->used))
        a++;
    *out = a;
    if (a->routine == routine && a->at == s->used)
        return false;
    *a = (ScratchAnswer){ .routine = routine, .at = s->used };
    return true;
}

/* Where OpenBLAS's own threads begin to pay, by order, on cores that are free; below, they
 * cost up to 1.6 times. */
void lapack_threads(Ctx *ctx, const Blas *blas, LapackWeight weight, int64_t n)
{
    static const int64_t worth[] = {
        [LAPACK_LU] = 600, [LAPACK_INVERSE] = 200, [LAPACK_QR] = 400, [LAPACK_SVD] = 300, [LAPACK_EIGH] = 300,
        [LAPACK_EIG] = 600
    };
    int threads = n >= worth[weight] ? pool_threads(ctx) : 1;
    blas_enter(ctx, blas, 1, threads);
    blas_stop_by(ctx);
}

static size_t real_bytes(BlasType t)
{
    return t == BLAS_S || t == BLAS_C ? 4 : 8;
}

/* What a work space query left in work[0]; a float may have been rounded down. */
static int queried(BlasType t, const void *work)
{
    double n = real_bytes(t) == 4 ? (double)*(const float *)work * (1 + 0x1p-22)
                                  : *(const double *)work;
    return (int)n + 1;
}

/* A real scalar argument or result in the precision of t. */
typedef union RealArg { float s; double d; } RealArg;

static RealArg real_arg(BlasType t, double x)
{
    RealArg r = { .d = x };
    if (real_bytes(t) == 4)
        r.s = (float)x;
    return r;
}

static double real_value(BlasType t, const RealArg *r)
{
    return real_bytes(t) == 4 ? (double)r->s : r->d;
}

static int at_least_1(int64_t n)
{
    return n < 1 ? 1 : (int)n;
}

/* OpenBLAS 0.3.21's sgetrf divides by a NaN pivot as if it were zero, as does zgetrf with its kernels
 * for older processors, and then the NaN is lost: elimination makes one of everything below and to the
 * right of it. */
static void keep_nan(BlasType t, int64_t m, int64_t n, void *a)
{
    int64_t j = 0, k = m < n ? m : n;
    while (j < k && !isnan(mat_abs(t, a, j * m + j)))
        j++;
    for (int64_t c = j; c < n && j < k; c++)
        for (int64_t i = j + 1; i < m; i++)
            mat_store(t, a, c * m + i, NAN, NAN);
}

int lapack_lu(const Blas *l, BlasType t, int64_t m, int64_t n, void *a, int *pivots)
{
    int mi = (int)m, ni = (int)n, lda = at_least_1(m), info = 0;
    blas_stop_getrf(l, t, mi, ni, a, lda, pivots, &info);
    keep_nan(t, m, n, a);
    return info;
}

static int rest_of(int64_t rest, int group)
{
    return rest < group ? (int)rest : group;
}

static char *column_of(BlasType t, void *b, int ld, int64_t j)
{
    return (char *)b + (size_t)j * (size_t)ld * blas_bytes(t);
}

int lapack_lu_solve(const Blas *l, BlasType t, char trans, int64_t n, int64_t nrhs, const void *lu,
                    const int *pivots, void *b)
{
    int ni = (int)n, ld = at_least_1(n), group = blas_stop_group(t, n, nrhs), info = 0;
    for (int64_t j = 0; j < nrhs; j += group) {
        int some = rest_of(nrhs - j, group);
        blas_stop_poll();
        l->getrs[t](&trans, &ni, &some, lu, &ld, pivots, column_of(t, b, ld, j), &ld, &info, 1);
    }
    return info;
}

double lapack_lu_rcond(const Blas *l, BlasType t, char norm, int64_t n, const void *lu,
                       double anorm, Scratch *s)
{
    int ni = (int)n, lda = at_least_1(n), info;
    void *work = scratch_take(s, (size_t)n * 4, blas_bytes(t));
    void *iwork = scratch_take(s, (size_t)n * 2, real_bytes(t) < 4 ? 4 : real_bytes(t));
    RealArg a = real_arg(t, anorm), rcond = { 0 };
    if (!s->base)
        return 0;
    l->gecon[t](&norm, &ni, lu, &lda, &a, &rcond, work, iwork, &info, 1);
    return real_value(t, &rcond);
}

int lapack_lu_inverse(const Blas *l, BlasType t, int64_t n, void *lu, const int *pivots,
                      Scratch *s)
{
    int ni = (int)n, lda = at_least_1(n), lwork = -1, info;
    double query[2] = { 0 };
    ScratchAnswer *w;
    if (ask(s, (const void *)l->getri[t], &w)) {
        l->getri[t](&ni, lu, &lda, pivots, query, &lwork, &info);
        w->work = queried(t, query);
    }
    void *work = scratch_take(s, (size_t)w->work, blas_bytes(t));
    if (!s->base)
        return 0;
    l->getri[t](&ni, lu, &lda, pivots, work, &w->work, &info);
    return info;
}

int lapack_band(const Blas *l, BlasType t, int64_t n, int64_t kl, int64_t ku, void *ab,
                int *pivots)
{
    int ni = (int)n, kli = (int)kl, kui = (int)ku, ld = 2 * kli + kui + 1, info;
    l->gbtrf[t](&ni, &ni, &kli, &kui, ab, &ld, pivots, &info);
    return info;
}

int lapack_band_solve(const Blas *l, BlasType t, int64_t n, int64_t kl, int64_t ku, int64_t nrhs,
                      const void *ab, const int *pivots, void *b)
{
    int ni = (int)n, kli = (int)kl, kui = (int)ku, ri = (int)nrhs, info;
    int ld = 2 * kli + kui + 1, ldb = at_least_1(n);
    l->gbtrs[t]("N", &ni, &kli, &kui, &ri, ab, &ld, pivots, b, &ldb, &info, 1);
    return info;
}

double lapack_band_rcond(const Blas *l, BlasType t, int64_t n, int64_t kl, int64_t ku,
                         const void *ab, const int *pivots, double anorm, Scratch *s)
{
    int ni = (int)n, kli = (int)kl, kui = (int)ku, ld = 2 * kli + kui + 1, info;
    void *work = scratch_take(s, (size_t)n * 3, blas_bytes(t));
    void *iwork = scratch_take(s, (size_t)n, 8);
    RealArg a = real_arg(t, anorm), rcond = { 0 };
    if (!s->base)
        return 0;
    l->gbcon[t]("1", &ni, &kli, &kui, ab, &ld, pivots, &a, &rcond, work, iwork, &info, 1);
    return real_value(t, &rcond);
}

int lapack_cholesky(const Blas *l, BlasType t, char uplo, int64_t n, void *a)
{
    int ni = (int)n, lda = at_least_1(n), info = 0;
    blas_stop_potrf(l, t, uplo, ni, a, lda, &info);
    return info;
}

int lapack_cholesky_solve(const Blas *l, BlasType t, char uplo, int64_t n, int64_t nrhs,
                          const void *a, void *b)
{
    int ni = (int)n, ld = at_least_1(n), group = blas_stop_group(t, n, nrhs), info = 0;
    for (int64_t j = 0; j < nrhs; j += group) {
        int some = rest_of(nrhs - j, group);
        blas_stop_poll();
        l->potrs[t](&uplo, &ni, &some, a, &ld, column_of(t, b, ld, j), &ld, &info, 1);
    }
    return info;
}

double lapack_cholesky_rcond(const Blas *l, BlasType t, char uplo, int64_t n, const void *a,
                             double anorm, Scratch *s)
{
    int ni = (int)n, lda = at_least_1(n), info;
    void *work = scratch_take(s, (size_t)n * 3, blas_bytes(t));
    void *iwork = scratch_take(s, (size_t)n, 8);
    RealArg norm = real_arg(t, anorm), rcond = { 0 };
    if (!s->base)
        return 0;
    l->pocon[t](&uplo, &ni, a, &lda, &norm, &rcond, work, iwork, &info, 1);
    return real_value(t, &rcond);
}

int lapack_triangle_solve(const Blas *l, BlasType t, char uplo, char trans, int64_t n,
                          int64_t nrhs, const void *a, int64_t lda, void *b, int64_t ldb)
{
    int ni = (int)n, ld = at_least_1(lda), lb = at_least_1(ldb), info = 0;
    int group = blas_stop_group(t, n, nrhs);
    for (int64_t j = 0; j < nrhs && info == 0; j += group) {
        int some = rest_of(nrhs - j, group);
        blas_stop_poll();
        l->trtrs[t](&uplo, &trans, "N", &ni, &some, a, &ld, column_of(t, b, lb, j), &lb, &info, 1,
                    1, 1);
    }
    return info;
}

double lapack_triangle_rcond(const Blas *l, BlasType t, char uplo, int64_t n, const void *a,
                             int64_t lda, Scratch *s)
{
    int ni = (int)n, ld = at_least_1(lda), info;
    void *work = scratch_take(s, (size_t)n * 3, blas_bytes(t));
    void *iwork = scratch_take(s, (size_t)n, 8);
    RealArg rcond = { 0 };
    if (!s->base)
        return 0;
    l->trcon[t]("1", &uplo, "N", &ni, a, &ld, &rcond, work, iwork, &info, 1, 1, 1);
    return real_value(t, &rcond);
}

int lapack_qr(const Blas *l, BlasType t, int64_t m, int64_t n, void *a, void *tau, Scratch *s)
{
    int mi = (int)m, ni = (int)n, lda = at_least_1(m), lwork = -1, info;
    double query[2] = { 0 };
    ScratchAnswer *w;
    if (ask(s, (const void *)l->geqrf[t], &w)) {
        l->geqrf[t](&mi, &ni, a, &lda, tau, query, &lwork, &info);
        w->work = queried(t, query);
    }
    void *work = scratch_take(s, (size_t)w->work, blas_bytes(t));
    if (!s->base)
        return 0;
    l->geqrf[t](&mi, &ni, a, &lda, tau, work, &w->work, &info);
    return info;
}

static int qr_pivoted_call(const Blas *l, BlasType t, int m, int n, void *a, int *pivots,
                           void *tau, void *work, int lwork, void *rwork)
{
    int lda = at_least_1(m), info;
    if (blas_is_complex(t))
        l->geqp3c[t](&m, &n, a, &lda, pivots, tau, work, &lwork, rwork, &info);
    else
        l->geqp3[t](&m, &n, a, &lda, pivots, tau, work, &lwork, &info);
    return info;
}

int lapack_qr_pivoted(const Blas *l, BlasType t, int64_t m, int64_t n, void *a, int *pivots,
                      void *tau, Scratch *s)
{
    double query[2] = { 0 };
    void *rwork = scratch_take(s, (size_t)n * 2, real_bytes(t));
    qr_pivoted_call(l, t, (int)m, (int)n, a, pivots, tau, query, -1, rwork);
    int lwork = queried(t, query);
    void *work = scratch_take(s, (size_t)lwork, blas_bytes(t));
    if (!s->base)
        return 0;
    for (int64_t j = 0; j < n; j++)
        pivots[j] = 0;                  /* every column is free to move */
    return qr_pivoted_call(l, t, (int)m, (int)n, a, pivots, tau, work, lwork, rwork);
}

int lapack_qr_form(const Blas *l, BlasType t, int64_t m, int64_t cols, int64_t k, void *a,
                   const void *tau, Scratch *s)
{
    int mi = (int)m, ci = (int)cols, ki = (int)k, lda = at_least_1(m), lwork = -1, info;
    double query[2] = { 0 };
    ScratchAnswer *w;
    if (ask(s, (const void *)l->orgqr[t], &w)) {
        l->orgqr[t](&mi, &ci, &ki, a, &lda, tau, query, &lwork, &info);
        w->work = queried(t, query);
    }
    void *work = scratch_take(s, (size_t)w->work, blas_bytes(t));
    if (!s->base)
        return 0;
    l->orgqr[t](&mi, &ci, &ki, a, &lda, tau, work, &w->work, &info);
    return info;
}

static char transposed_form(BlasType t, char trans)
{
    return trans == 'C' && !blas_is_complex(t) ? 'T' : trans;
}

int lapack_qr_apply(const Blas *l, BlasType t, char trans, int64_t m, int64_t nrhs, int64_t k,
                    const void *a, const void *tau, void *c, Scratch *s)
{
    int mi = (int)m, ri = (int)nrhs, ki = (int)k, ld = at_least_1(m), lwork = -1, info;
    double query[2] = { 0 };
    char form = transposed_form(t, trans);
    l->ormqr[t]("L", &form, &mi, &ri, &ki, a, &ld, tau, c, &ld, query, &lwork, &info, 1, 1);
    lwork = queried(t, query);
    void *work = scratch_take(s, (size_t)lwork, blas_bytes(t));
    if (!s->base)
        return 0;
    l->ormqr[t]("L", &form, &mi, &ri, &ki, a, &ld, tau, c, &ld, work, &lwork, &info, 1, 1);
    return info;
}

/* A = L Q, so x = Q' (L \ b) padded with zeros. */
int lapack_least_norm(const Blas *l, BlasType t, int64_t m, int64_t n, int64_t nrhs, void *a,
                      void *b, Scratch *s)
{
    int mi = (int)m, ni = (int)n, ri = (int)nrhs, lda = at_least_1(m), ldb = at_least_1(n);
    int lwork = -1, apply = -1, info;
    double query[2] = { 0 };
    char form = transposed_form(t, 'C');
    size_t bytes = blas_bytes(t);
    void *tau = scratch_take(s, (size_t)m, bytes);
    l->gelqf[t](&mi, &ni, a, &lda, tau, query, &lwork, &info);
    lwork = queried(t, query);
    l->ormlq[t]("L", &form, &ni, &ri, &mi, a, &lda, tau, b, &ldb, query, &apply, &info, 1, 1);
    apply = queried(t, query);
    lwork = lwork > apply ? lwork : apply;
    void *work = scratch_take(s, (size_t)lwork, bytes);
    if (!s->base)
        return 0;
    l->gelqf[t](&mi, &ni, a, &lda, tau, work, &lwork, &info);
    info = lapack_triangle_solve(l, t, 'L', 'N', m, nrhs, a, m, b, n);
    if (info)
        return info;
    for (int64_t j = 0; j < nrhs; j++)
        __builtin_memset((char *)b + (size_t)(j * n + m) * bytes, 0, (size_t)(n - m) * bytes);
    l->ormlq[t]("L", &form, &ni, &ri, &mi, a, &lda, tau, b, &ldb, work, &lwork, &info, 1, 1);
    return info;
}

typedef struct SvdCall {
    const Blas *l;
    BlasType t;
    char job;
    int m, n, ldu, ldvt;
    void *a, *s, *u, *vt, *rwork;
    int *iwork;
} SvdCall;

static int svd_call(const SvdCall *c, void *work, int lwork)
{
    int lda = at_least_1(c->m), info;
    if (blas_is_complex(c->t))
        c->l->gesddc[c->t](&c->job, &c->m, &c->n, c->a, &lda, c->s, c->u, &c->ldu, c->vt,
                           &c->ldvt, work, &lwork, c->rwork, c->iwork, &info, 1);
    else
        c->l->gesdd[c->t](&c->job, &c->m, &c->n, c->a, &lda, c->s, c->u, &c->ldu, c->vt,
                          &c->ldvt, work, &lwork, c->iwork, &info, 1);
    return info;
}

int lapack_svd(const Blas *l, BlasType t, char job, int64_t m, int64_t n, void *a, void *s, void *u,
               void *vt, Scratch *w)
{
    int64_t k = m < n ? m : n, big = m < n ? n : m;
    SvdCall c = { l, t, job, (int)m, (int)n, at_least_1(m), at_least_1(job == 'A' ? n : k),
                  a, s, u, vt, NULL, NULL };
    double query[2] = { 0 };
    size_t rwork = (size_t)k * (size_t)(5 * k + 7 > 2 * big + 2 * k + 1 ? 5 * k + 7
                                                                        : 2 * big + 2 * k + 1);
    c.iwork = scratch_take(w, (size_t)k * 8, sizeof(int));
    if (blas_is_complex(t))
        c.rwork = scratch_take(w, rwork, real_bytes(t));
    ScratchAnswer *size;
    if (ask(w, (const void *)l->gesdd[BLAS_D], &size)) {
        if (big > UNASKED)
            svd_call(&c, query, -1);
        size->work = big > UNASKED ? queried(t, query) : (int)(8 * big * big + 64 * big);
    }
    void *work = scratch_take(w, (size_t)size->work, blas_bytes(t));
    return w->base ? svd_call(&c, work, size->work) : 0;
}

int lapack_eigh(const Blas *l, BlasType t, bool vectors, char uplo, int64_t n, void *a, void *w,
                Scratch *s)
{
    int ni = (int)n, lda = at_least_1(n), all = -1, info, iquery = 0;
    double query[2] = { 0 }, rquery[2] = { 0 };
    const char *job = vectors ? "V" : "N";
    bool is_complex = blas_is_complex(t);
    ScratchAnswer *size;
    bool fresh = ask(s, (const void *)l->syevd[BLAS_D], &size);
    if (fresh && n <= UNASKED) {
        size->work = size->rwork = 2 * ni * ni + 40 * ni + 1;
        size->iwork = 5 * ni + 3;
    } else if (fresh) {
        if (is_complex)
            l->heevd[t](job, &uplo, &ni, a, &lda, w, query, &all, rquery, &all, &iquery, &all,
                        &info, 1, 1);
        else
            l->syevd[t](job, &uplo, &ni, a, &lda, w, query, &all, &iquery, &all, &info, 1, 1);
        size->work = queried(t, query);
        size->rwork = is_complex ? queried(t, rquery) : 0;
        size->iwork = iquery;
    }
    void *work = scratch_take(s, (size_t)size->work, blas_bytes(t));
    void *rwork = scratch_take(s, (size_t)size->rwork, real_bytes(t));
    int *iwork = scratch_take(s, (size_t)size->iwork, sizeof(int));
    if (!s->base)
        return 0;
    if (is_complex)
        l->heevd[t](job, &uplo, &ni, a, &lda, w, work, &size->work, rwork, &size->rwork, iwork,
                    &size->iwork, &info, 1, 1);
    else
        l->syevd[t](job, &uplo, &ni, a, &lda, w, work, &size->work, iwork, &size->iwork, &info,
                    1, 1);
    return info;
}

/* n pairs (re[i], sign * im[i]); im NULL: zeros. */
static void pair_up(BlasType t, int64_t n, const void *re, const void *im, int sign, void *out)
{
    if (t == BLAS_S) {
        const float *x = re, *y = im;
        float *z = out;
        for (int64_t i = 0; i < n; i++)
            z[2 * i] = x[i], z[2 * i + 1] = y ? (float)sign * y[i] : 0;
    } else {
        const double *x = re, *y = im;
        double *z = out;
        for (int64_t i = 0; i < n; i++)
            z[2 * i] = x[i], z[2 * i + 1] = y ? sign * y[i] : 0;
    }
}

/* geev's real form packs a conjugate pair of vectors into two real columns. */
static void unpack_vectors(BlasType t, int64_t n, const void *wi, const char *packed, char *v)
{
    int64_t column = n * (int64_t)blas_bytes(t);
    for (int64_t j = 0; j < n; j++, v += 2 * column) {
        double imag = mat_real(t, wi, j);
        const char *re = packed + (imag < 0 ? j - 1 : j) * column;
        pair_up(t, n, re, imag == 0 ? NULL : re + column, imag < 0 ? -1 : 1, v);
    }
}

static int eig_real(const Blas *l, BlasType t, int n, void *a, void *w, void *v, bool *real,
                    Scratch *s)
{
    int lda = at_least_1(n), lwork = -1, info, one = 1;
    double query[2] = { 0 };
    size_t bytes = blas_bytes(t);
    char *wr = scratch_take(s, (size_t)n, bytes), *wi = scratch_take(s, (size_t)n, bytes);
    char *packed = v || !s->base ? scratch_take(s, (size_t)n * (size_t)n, bytes) : NULL;
    const char *job = packed ? "V" : "N";
    ScratchAnswer *size;
    if (ask(s, (const void *)l->geev[t], &size)) {
        if (n > UNASKED)
            l->geev[t]("N", "V", &n, a, &lda, wr, wi, NULL, &one, packed, &lda, query, &lwork,
                       &info, 1, 1);
        size->work = n > UNASKED ? queried(t, query) : 140 * n + 64;
    }
    void *work = scratch_take(s, (size_t)size->work, bytes);
    if (!s->base)
        return 0;
    l->geev[t]("N", job, &n, a, &lda, wr, wi, NULL, &one, packed, &lda, work, &size->work, &info,
               1, 1);
    *real = true;
    for (int i = 0; i < n; i++)
        *real = *real && mat_real(t, wi, i) == 0;
    pair_up(t, n, wr, wi, 1, w);
    if (packed && info == 0)
        unpack_vectors(t, n, wi, packed, v);
    return info;
}

int lapack_eig(const Blas *l, BlasType t, int64_t n, void *a, void *w, void *v, bool *real,
               Scratch *s)
{
    int ni = (int)n, lda = at_least_1(n), lwork = -1, info, one = 1;
    double query[2] = { 0 }, rquery[2];     /* the query writes to both */
    if (!blas_is_complex(t))
        return eig_real(l, t, ni, a, w, v, real, s);
    void *rwork = scratch_take(s, (size_t)n * 2, real_bytes(t));
    const char *job = v ? "V" : "N";
    *real = false;
    ScratchAnswer *size;
    if (ask(s, (const void *)l->geevc[t], &size)) {
        if (n > UNASKED)
            l->geevc[t]("N", "V", &ni, a, &lda, w, NULL, &one, v, &lda, query, &lwork, rquery,
                        &info, 1, 1);
        size->work = n > UNASKED ? queried(t, query) : 140 * ni + 64;
    }
    void *work = scratch_take(s, (size_t)size->work, blas_bytes(t));
    if (!s->base)
        return 0;
    l->geevc[t]("N", job, &ni, a, &lda, w, NULL, &one, v, &lda, work, &size->work, rwork, &info,
                1, 1);
    return info;
}
