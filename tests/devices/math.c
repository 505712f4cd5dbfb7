/* LAPACK of the host as the routines of a device: its memory is read, computed on and written
 * back. With it the forms over Device.math run on devices that have none of their own. */
#include "tests/devices/math.h"

#include "kernels/lapack/lapack.h"

#include <stdlib.h>

typedef struct Host { double *at; const DevMem *mem; Device *d; size_t bytes; } Host;

static Host in_from(Device *d, const DevMem *mem)
{
    Host h = { malloc(mem->bytes + 4096), mem, d, mem->bytes };
    d->ops->sync(d);
    d->ops->get(d, mem, 0, h.at, mem->bytes);
    return h;
}

static void back_to(Host *h, bool changed)
{
    if (changed)
        h->d->ops->put(h->d, h->mem, 0, h->at, h->bytes);
    free(h->at);
}

static const Blas *blas(void)
{
    return lapack_open(NULL);
}

static DevStatus getrf(Device *d, DType dt, int64_t m, int64_t n, const DevMem *a, int64_t ld,
                       const DevMem *pivots, int *info)
{
    (void)ld;
    Host x = in_from(d, a), p = in_from(d, pivots);
    *info = lapack_lu(blas(), blas_type(dt), m, n, x.at, (int *)(void *)p.at);
    back_to(&x, true);
    back_to(&p, true);
    return DEV_OK;
}

static DevStatus getrs(Device *d, DType dt, bool transposed, int64_t n, int64_t nrhs,
                       const DevMem *a, int64_t lda,
                       const DevMem *pivots, const DevMem *b, int64_t ldb, int *info)
{
    (void)lda, (void)ldb;
    Host x = in_from(d, a), p = in_from(d, pivots), y = in_from(d, b);
    *info = lapack_lu_solve(blas(), blas_type(dt), transposed ? 'T' : 'N', n, nrhs, x.at,
                            (const int *)(void *)p.at, y.at);
    back_to(&x, false);
    back_to(&p, false);
    back_to(&y, true);
    return DEV_OK;
}

static DevStatus potrf(Device *d, DType dt, bool upper, int64_t n, const DevMem *a,
                       int64_t ld, int *info)
{
    (void)ld;
    Host x = in_from(d, a);
    *info = lapack_cholesky(blas(), blas_type(dt), upper ? 'U' : 'L', n, x.at);
    back_to(&x, true);
    return DEV_OK;
}

/* Work space by the query first. */
static void room(Scratch *s)
{
    s->base = malloc(s->used + 65536);
    s->used = 0;
}

static DevStatus geqrf(Device *d, DType dt, int64_t m, int64_t n, const DevMem *a, int64_t ld,
                       const DevMem *tau, int *info)
{
    (void)ld;
    Scratch s = { 0 };
    Host x = in_from(d, a), t = in_from(d, tau);
    lapack_qr(blas(), blas_type(dt), m, n, x.at, t.at, &s);
    room(&s);
    *info = lapack_qr(blas(), blas_type(dt), m, n, x.at, t.at, &s);
    free(s.base);
    back_to(&x, true);
    back_to(&t, true);
    return DEV_OK;
}

static DevStatus orgqr(Device *d, DType dt, int64_t m, int64_t n, int64_t k,
                       const DevMem *a, int64_t ld, const DevMem *tau, int *info)
{
    (void)ld;
    Scratch s = { 0 };
    Host x = in_from(d, a), t = in_from(d, tau);
    lapack_qr_form(blas(), blas_type(dt), m, n, k, x.at, t.at, &s);
    room(&s);
    *info = lapack_qr_form(blas(), blas_type(dt), m, n, k, x.at, t.at, &s);
    free(s.base);
    back_to(&x, true);
    back_to(&t, false);
    return DEV_OK;
}

static DevStatus gesvd(Device *d, DType dt, int64_t m, int64_t n, const DevMem *a, const DevMem *sv,
                       const DevMem *u, const DevMem *vt, int *info)
{
    Scratch s = { 0 };
    Host x = in_from(d, a), y = in_from(d, sv), z = in_from(d, u), w = in_from(d, vt);
    lapack_svd(blas(), blas_type(dt), 'S', m, n, x.at, y.at, z.at, w.at, &s);
    room(&s);
    *info = lapack_svd(blas(), blas_type(dt), 'S', m, n, x.at, y.at, z.at, w.at, &s);
    free(s.base);
    back_to(&x, true);
    back_to(&y, true);
    back_to(&z, true);
    back_to(&w, true);
    return DEV_OK;
}

static DevStatus syevd(Device *d, DType dt, bool vectors, int64_t n, const DevMem *a,
                       const DevMem *w, int *info)
{
    Scratch s = { 0 };
    Host x = in_from(d, a), y = in_from(d, w);
    lapack_eigh(blas(), blas_type(dt), vectors, 'L', n, x.at, y.at, &s);
    room(&s);
    *info = lapack_eigh(blas(), blas_type(dt), vectors, 'L', n, x.at, y.at, &s);
    free(s.base);
    back_to(&x, true);
    back_to(&y, true);
    return DEV_OK;
}

void test_math(Device *d)
{
    d->math.getrf = getrf;
    d->math.getrs = getrs;
    d->math.potrf = potrf;
    d->math.geqrf = geqrf;
    d->math.orgqr = orgqr;
    d->math.gesvd = gesvd;
    d->math.syevd = syevd;
}
