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
/* A work space of this size is LAPACK's question how much it wants. */
enum { ASK = -1 };

/* What this routine answered at this place; true: it is to be asked. More than
 * SCRATCH_ANSWERS are asked again every time. */
static bool ask(Scratch *s, int routine, ScratchAnswer **out)
{
    ScratchAnswer *a = s->answers, *last = a + SCRATCH_ANSWERS - 1;
    while (a < last && a->kept && (a->routine != routine || a->at != s->used))
        a++;
    *out = a;
    if (a->kept && a->routine == routine && a->at == s->used)
        return false;
    *a = (ScratchAnswer){ .kept = true, .routine = routine, .at = s->used };
    return true;
}

/* Where OpenBLAS's own threads begin to pay, by order, on cores that are free; below, they
 * cost up to 1.6 times. */
void lapack_threads(Ctx *ctx, const Blas *blas, LapackWeight weight, int64_t n)
{
    static const int64_t worth[] = {
        [LAPACK_LU] = 600, [LAPACK_INVERSE] = 200, [LAPACK_QR] = 400, [LAPACK_SVD] = 800,
        [LAPACK_EIGH] = 800, [LAPACK_EIG] = 800, [LAPACK_SYTRD] = 1200
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

/* A real scalar that is a result, in the precision of t. */
typedef union RealArg { float s; double d; } RealArg;

static double real_value(BlasType t, const RealArg *r)
{
    return real_bytes(t) == 4 ? (double)r->s : r->d;
}

static int at_least_1(int64_t n)
{
    return n < 1 ? 1 : (int)n;
}

/* OpenBLAS 0.3.21's sgetrf divides by a NaN pivot as if it were zero, as does zgetrf with its
 * kernels for older processors, and then the NaN is lost: elimination makes one of everything below
 * and to the right of it. */
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
    int ld = at_least_1(n), group = blas_stop_group(t, n, nrhs), info = 0;
    for (int64_t j = 0; j < nrhs; j += group) {
        int some = rest_of(nrhs - j, group);
        blas_stop_poll();
        info = lapack_getrs(l, t, trans, (int)n, some, lu, ld, pivots, column_of(t, b, ld, j), ld);
    }
    return info;
}

double lapack_lu_rcond(const Blas *l, BlasType t, char norm, int64_t n, const void *lu,
                       double anorm, Scratch *s)
{
    void *work = scratch_take(s, (size_t)n * 4, blas_bytes(t));
    void *iwork = scratch_take(s, (size_t)n * 2, real_bytes(t) < 4 ? 4 : real_bytes(t));
    RealArg rcond = { 0 };
    if (!s->base)
        return 0;
    lapack_gecon(l, t, norm, (int)n, lu, at_least_1(n), anorm, &rcond, work, iwork);
    return real_value(t, &rcond);
}

int lapack_lu_inverse(const Blas *l, BlasType t, int64_t n, void *lu, const int *pivots,
                      Scratch *s)
{
    int ni = (int)n, lda = at_least_1(n);
    double query[2] = { 0 };
    ScratchAnswer *w;
    if (ask(s, ROW_getri, &w)) {
        lapack_getri(l, t, ni, lu, lda, pivots, query, ASK);
        w->work = queried(t, query);
    }
    void *work = scratch_take(s, (size_t)w->work, blas_bytes(t));
    if (!s->base)
        return 0;
    return lapack_getri(l, t, ni, lu, lda, pivots, work, w->work);
}

int lapack_band(const Blas *l, BlasType t, int64_t n, int64_t kl, int64_t ku, void *ab,
                int *pivots)
{
    int kli = (int)kl, kui = (int)ku;
    return lapack_gbtrf(l, t, (int)n, (int)n, kli, kui, ab, 2 * kli + kui + 1, pivots);
}

int lapack_band_solve(const Blas *l, BlasType t, int64_t n, int64_t kl, int64_t ku, int64_t nrhs,
                      const void *ab, const int *pivots, void *b)
{
    int kli = (int)kl, kui = (int)ku, ld = 2 * kli + kui + 1;
    return lapack_gbtrs(l, t, 'N', (int)n, kli, kui, (int)nrhs, ab, ld, pivots, b, at_least_1(n));
}

double lapack_band_rcond(const Blas *l, BlasType t, int64_t n, int64_t kl, int64_t ku,
                         const void *ab, const int *pivots, double anorm, Scratch *s)
{
    int kli = (int)kl, kui = (int)ku, ld = 2 * kli + kui + 1;
    void *work = scratch_take(s, (size_t)n * 3, blas_bytes(t));
    void *iwork = scratch_take(s, (size_t)n, 8);
    RealArg rcond = { 0 };
    if (!s->base)
        return 0;
    lapack_gbcon(l, t, '1', (int)n, kli, kui, ab, ld, pivots, anorm, &rcond, work, iwork);
    return real_value(t, &rcond);
}

int lapack_cholesky(const Blas *l, BlasType t, char uplo, int64_t n, void *a)
{
    int ni = (int)n, lda = at_least_1(n), info = 0;
    blas_stop_potrf(l, t, uplo, ni, a, lda, &info);
    return info;
}

int lapack_cholesky_inverse(const Blas *l, BlasType t, int64_t n, void *a)
{
    return lapack_potri(l, t, 'L', (int)n, a, at_least_1(n));
}

int lapack_cholesky_solve(const Blas *l, BlasType t, char uplo, int64_t n, int64_t nrhs,
                          const void *a, void *b)
{
    int ld = at_least_1(n), group = blas_stop_group(t, n, nrhs), info = 0;
    for (int64_t j = 0; j < nrhs; j += group) {
        int some = rest_of(nrhs - j, group);
        blas_stop_poll();
        info = lapack_potrs(l, t, uplo, (int)n, some, a, ld, column_of(t, b, ld, j), ld);
    }
    return info;
}

double lapack_cholesky_rcond(const Blas *l, BlasType t, char uplo, int64_t n, const void *a,
                             double anorm, Scratch *s)
{
    void *work = scratch_take(s, (size_t)n * 3, blas_bytes(t));
    void *iwork = scratch_take(s, (size_t)n, 8);
    RealArg rcond = { 0 };
    if (!s->base)
        return 0;
    lapack_pocon(l, t, uplo, (int)n, a, at_least_1(n), anorm, &rcond, work, iwork);
    return real_value(t, &rcond);
}

int lapack_triangle_solve(const Blas *l, BlasType t, char uplo, char trans, int64_t n,
                          int64_t nrhs, const void *a, int64_t lda, void *b, int64_t ldb)
{
    int ld = at_least_1(lda), lb = at_least_1(ldb), info = 0;
    int group = blas_stop_group(t, n, nrhs);
    for (int64_t j = 0; j < nrhs && info == 0; j += group) {
        int some = rest_of(nrhs - j, group);
        blas_stop_poll();
        info = lapack_trtrs(l, t, uplo, trans, 'N', (int)n, some, a, ld, column_of(t, b, lb, j),
                            lb);
    }
    return info;
}

double lapack_triangle_rcond(const Blas *l, BlasType t, char uplo, int64_t n, const void *a,
                             int64_t lda, Scratch *s)
{
    void *work = scratch_take(s, (size_t)n * 3, blas_bytes(t));
    void *iwork = scratch_take(s, (size_t)n, 8);
    RealArg rcond = { 0 };
    if (!s->base)
        return 0;
    lapack_trcon(l, t, '1', uplo, 'N', (int)n, a, at_least_1(lda), &rcond, work, iwork);
    return real_value(t, &rcond);
}

int lapack_qr(const Blas *l, BlasType t, int64_t m, int64_t n, void *a, void *tau, Scratch *s)
{
    int mi = (int)m, ni = (int)n, lda = at_least_1(m);
    double query[2] = { 0 };
    ScratchAnswer *w;
    if (ask(s, ROW_geqrf, &w)) {
        lapack_geqrf(l, t, mi, ni, a, lda, tau, query, ASK);
        w->work = queried(t, query);
    }
    void *work = scratch_take(s, (size_t)w->work, blas_bytes(t));
    if (!s->base)
        return 0;
    return lapack_geqrf(l, t, mi, ni, a, lda, tau, work, w->work);
}

static int qr_pivoted_call(const Blas *l, BlasType t, int m, int n, void *a, int *pivots,
                           void *tau, void *work, int lwork, void *rwork)
{
    int lda = at_least_1(m);
    if (blas_is_complex(t))
        return lapack_geqp3c(l, t, m, n, a, lda, pivots, tau, work, lwork, rwork);
    return lapack_geqp3(l, t, m, n, a, lda, pivots, tau, work, lwork);
}

int lapack_qr_pivoted(const Blas *l, BlasType t, int64_t m, int64_t n, void *a, int *pivots,
                      void *tau, Scratch *s)
{
    double query[2] = { 0 };
    void *rwork = scratch_take(s, (size_t)n * 2, real_bytes(t));
    qr_pivoted_call(l, t, (int)m, (int)n, a, pivots, tau, query, ASK, rwork);
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
    int mi = (int)m, ci = (int)cols, ki = (int)k, lda = at_least_1(m);
    double query[2] = { 0 };
    ScratchAnswer *w;
    if (ask(s, ROW_orgqr, &w)) {
        lapack_orgqr(l, t, mi, ci, ki, a, lda, tau, query, ASK);
        w->work = queried(t, query);
    }
    void *work = scratch_take(s, (size_t)w->work, blas_bytes(t));
    if (!s->base)
        return 0;
    return lapack_orgqr(l, t, mi, ci, ki, a, lda, tau, work, w->work);
}

static char transposed_form(BlasType t, char trans)
{
    return trans == 'C' && !blas_is_complex(t) ? 'T' : trans;
}

int lapack_qr_apply(const Blas *l, BlasType t, char trans, int64_t m, int64_t nrhs, int64_t k,
                    const void *a, const void *tau, void *c, Scratch *s)
{
    int mi = (int)m, ri = (int)nrhs, ki = (int)k, ld = at_least_1(m);
    double query[2] = { 0 };
    char form = transposed_form(t, trans);
    lapack_ormqr(l, t, 'L', form, mi, ri, ki, a, ld, tau, c, ld, query, ASK);
    int lwork = queried(t, query);
    void *work = scratch_take(s, (size_t)lwork, blas_bytes(t));
    if (!s->base)
        return 0;
    return lapack_ormqr(l, t, 'L', form, mi, ri, ki, a, ld, tau, c, ld, work, lwork);
}

/* A = L Q, so x = Q' (L \ b) padded with zeros. */
int lapack_least_norm(const Blas *l, BlasType t, int64_t m, int64_t n, int64_t nrhs, void *a,
                      void *b, Scratch *s)
{
    int mi = (int)m, ni = (int)n, ri = (int)nrhs, lda = at_least_1(m), ldb = at_least_1(n);
    double query[2] = { 0 };
    char form = transposed_form(t, 'C');
    size_t bytes = blas_bytes(t);
    void *tau = scratch_take(s, (size_t)m, bytes);
    lapack_gelqf(l, t, mi, ni, a, lda, tau, query, ASK);
    int lwork = queried(t, query);
    lapack_ormlq(l, t, 'L', form, ni, ri, mi, a, lda, tau, b, ldb, query, ASK);
    int apply = queried(t, query);
    lwork = lwork > apply ? lwork : apply;
    void *work = scratch_take(s, (size_t)lwork, bytes);
    if (!s->base)
        return 0;
    lapack_gelqf(l, t, mi, ni, a, lda, tau, work, lwork);
    int info = lapack_triangle_solve(l, t, 'L', 'N', m, nrhs, a, m, b, n);
    if (info)
        return info;
    for (int64_t j = 0; j < nrhs; j++)
        __builtin_memset((char *)b + (size_t)(j * n + m) * bytes, 0, (size_t)(n - m) * bytes);
    return lapack_ormlq(l, t, 'L', form, ni, ri, mi, a, lda, tau, b, ldb, work, lwork);
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
    int lda = at_least_1(c->m);
    if (blas_is_complex(c->t))
        return lapack_gesddc(c->l, c->t, c->job, c->m, c->n, c->a, lda, c->s, c->u, c->ldu, c->vt,
                             c->ldvt, work, lwork, c->rwork, c->iwork);
    return lapack_gesdd(c->l, c->t, c->job, c->m, c->n, c->a, lda, c->s, c->u, c->ldu, c->vt,
                        c->ldvt, work, lwork, c->iwork);
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
    if (ask(w, ROW_gesdd, &size)) {
        if (big > UNASKED)
            svd_call(&c, query, ASK);
        size->work = big > UNASKED ? queried(t, query) : (int)(8 * big * big + 64 * big);
    }
    void *work = scratch_take(w, (size_t)size->work, blas_bytes(t));
    return w->base ? svd_call(&c, work, size->work) : 0;
}

int lapack_eigh(const Blas *l, BlasType t, bool vectors, char uplo, int64_t n, void *a, void *w,
                Scratch *s)
{
    int ni = (int)n, lda = at_least_1(n), iquery = 0;
    double query[2] = { 0 }, rquery[2] = { 0 };
    char job = vectors ? 'V' : 'N';
    bool is_complex = blas_is_complex(t);
    ScratchAnswer *size;
    bool fresh = ask(s, ROW_syevd, &size);
    if (fresh && n <= UNASKED) {
        size->work = size->rwork = 2 * ni * ni + 40 * ni + 1;
        size->iwork = 5 * ni + 3;
    } else if (fresh) {
        if (is_complex)
            lapack_heevd(l, t, job, uplo, ni, a, lda, w, query, ASK, rquery, ASK, &iquery, ASK);
        else
            lapack_syevd(l, t, job, uplo, ni, a, lda, w, query, ASK, &iquery, ASK);
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
        return lapack_heevd(l, t, job, uplo, ni, a, lda, w, work, size->work, rwork, size->rwork,
                            iwork, size->iwork);
    return lapack_syevd(l, t, job, uplo, ni, a, lda, w, work, size->work, iwork, size->iwork);
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
void lapack_unpack_vectors(BlasType t, int64_t n, const void *wi, const void *from, void *to)
{
    const char *packed = from;
    char *v = to;
    int64_t column = n * (int64_t)blas_bytes(t);
    for (int64_t j = 0; j < n; j++, v += 2 * column) {
        double imag = mat_real(t, wi, j);
        const char *re = packed + (imag < 0 ? j - 1 : j) * column;
        pair_up(t, n, re, imag == 0 ? NULL : re + column, imag < 0 ? -1 : 1, v);
    }
}

bool lapack_pair_values(BlasType t, int64_t n, const void *wr, const void *wi, void *w)
{
    bool real = true;
    for (int64_t i = 0; i < n; i++)
        real = real && mat_real(t, wi, i) == 0;
    pair_up(t, n, wr, wi, 1, w);
    return real;
}

static int eig_real(const Blas *l, BlasType t, int n, void *a, void *w, void *v, bool *real,
                    Scratch *s)
{
    int lda = at_least_1(n);
    double query[2] = { 0 };
    size_t bytes = blas_bytes(t);
    char *wr = scratch_take(s, (size_t)n, bytes), *wi = scratch_take(s, (size_t)n, bytes);
    char *packed = v || !s->base ? scratch_take(s, (size_t)n * (size_t)n, bytes) : NULL;
    ScratchAnswer *size;
    if (ask(s, ROW_geev, &size)) {
        if (n > UNASKED)
            lapack_geev(l, t, 'N', 'V', n, a, lda, wr, wi, NULL, 1, packed, lda, query, ASK);
        size->work = n > UNASKED ? queried(t, query) : 140 * n + 64;
    }
    void *work = scratch_take(s, (size_t)size->work, bytes);
    if (!s->base)
        return 0;
    int info = lapack_geev(l, t, 'N', packed ? 'V' : 'N', n, a, lda, wr, wi, NULL, 1, packed, lda,
                           work, size->work);
    *real = lapack_pair_values(t, n, wr, wi, w);
    if (packed && info == 0)
        lapack_unpack_vectors(t, n, wi, packed, v);
    return info;
}

int lapack_eig(const Blas *l, BlasType t, int64_t n, void *a, void *w, void *v, bool *real,
               Scratch *s)
{
    int ni = (int)n, lda = at_least_1(n);
    double query[2] = { 0 }, rquery[2];     /* the query writes to both */
    if (!blas_is_complex(t))
        return eig_real(l, t, ni, a, w, v, real, s);
    void *rwork = scratch_take(s, (size_t)n * 2, real_bytes(t));
    *real = false;
    ScratchAnswer *size;
    if (ask(s, ROW_geevc, &size)) {
        if (n > UNASKED)
            lapack_geevc(l, t, 'N', 'V', ni, a, lda, w, NULL, 1, v, lda, query, ASK, rquery);
        size->work = n > UNASKED ? queried(t, query) : 140 * ni + 64;
    }
    void *work = scratch_take(s, (size_t)size->work, blas_bytes(t));
    if (!s->base)
        return 0;
    return lapack_geevc(l, t, 'N', v ? 'V' : 'N', ni, a, lda, w, NULL, 1, v, lda, work, size->work,
                        rwork);
}

static int pencil_real(const Blas *l, BlasType t, int n, void *a, void *b, void *alpha, void *beta,
                       void *right, void *left, bool *real, Scratch *s)
{
    int lda = at_least_1(n);
    double query[2] = { 0 };
    size_t bytes = blas_bytes(t), square = (size_t)n * (size_t)n;
    char *re = scratch_take(s, (size_t)n, bytes), *im = scratch_take(s, (size_t)n, bytes),
         *under = scratch_take(s, (size_t)n, bytes);
    char *vl = scratch_take(s, square, bytes), *vr = scratch_take(s, square, bytes);
    ScratchAnswer *size;
    if (ask(s, ROW_ggev, &size)) {
        lapack_ggev(l, t, 'V', 'V', n, a, lda, b, lda, re, im, under, vl, lda, vr, lda, query, ASK);
        size->work = queried(t, query);
    }
    void *work = scratch_take(s, (size_t)size->work, bytes);
    if (!s->base)
        return 0;
    int info = lapack_ggev(l, t, left ? 'V' : 'N', 'V', n, a, lda, b, lda, re, im, under, vl, lda,
                           vr, lda, work, size->work);
    *real = true;
    for (int i = 0; i < n; i++)
        *real = *real && mat_real(t, im, i) == 0;
    pair_up(t, n, re, im, 1, alpha);
    pair_up(t, n, under, NULL, 1, beta);
    if (info == 0) {
        lapack_unpack_vectors(t, n, im, vr, right);
        if (left)
            lapack_unpack_vectors(t, n, im, vl, left);
    }
    return info;
}

int lapack_pencil(const Blas *l, BlasType t, int64_t n, void *a, void *b, void *alpha, void *beta,
                  void *right, void *left, bool *real, Scratch *s)
{
    int ni = (int)n, lda = at_least_1(n);
    double query[2] = { 0 };
    if (!blas_is_complex(t))
        return pencil_real(l, t, ni, a, b, alpha, beta, right, left, real, s);
    void *rwork = scratch_take(s, (size_t)n * 8, real_bytes(t));
    *real = false;
    ScratchAnswer *size;
    if (ask(s, ROW_ggevc, &size)) {
        lapack_ggevc(l, t, 'V', 'V', ni, a, lda, b, lda, alpha, beta, left, lda, right, lda, query,
                     ASK, rwork);
        size->work = queried(t, query);
    }
    void *work = scratch_take(s, (size_t)size->work, blas_bytes(t));
    if (!s->base)
        return 0;
    return lapack_ggevc(l, t, left ? 'V' : 'N', 'V', ni, a, lda, b, lda, alpha, beta, left, lda,
                        right, lda, work, size->work, rwork);
}
