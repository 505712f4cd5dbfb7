/* Products and LAPACK on CUDA devices: cuBLAS and cuSOLVER, opened when first needed, on the
 * device's stream. f32 stays f32 (no TF32), f16 and bf16 are accumulated in f32. */
#include "kernels/cuda/cuda.h"

#include <limits.h>
#include <stdio.h>

enum { MOST_PRODUCTS = 65535 };         /* of one call: a batch is an axis of the grid in places */

/* A status that is no success. Where the driver gave the device up meanwhile, it says why
 * better. */
static DevStatus library_check(Device *d, DevStatus means, const char *library,
                               const char *name, int status)
{
    CudaState *s = cuda_state(d);
    if (means == DEV_FAILED) {
        DevStatus driver = cuda_check(d, s->l->driver.stream_wait(s->stream));
        if (driver != DEV_OK)
            return driver;
    }
    if (!name)
        return cuda_fault(d, means, "%s's status %d", library, status);
    return cuda_fault(d, means, "%s", name);
}

static DevStatus blas_check(Device *d, int status)
{
    DevStatus means = status == 3 ? DEV_NO_MEMORY : status == 8 || status == 15
                      ? DEV_LACKS : DEV_FAILED;
    return status == 0 ? DEV_OK
                       : library_check(d, means, "cuBLAS", cublas_status_name(status), status);
}

static DevStatus blas_open(Device *d)
{
    CudaState *s = cuda_state(d);
    const Cublas *f = &s->l->blas;
    DevStatus status = cuda_enter(d);
    if (status != DEV_OK || s->blas)
        return status;
    status = blas_check(d, f->create(&s->blas));
    if (status != DEV_OK) {
        s->blas = NULL;
        return status;
    }
    status = blas_check(d, f->set_stream(s->blas, s->stream));
    return status == DEV_OK ? blas_check(d, f->set_math(s->blas, CUBLAS_FULL_REDUCTIONS)) : status;
}

/* ---- products ---- */
typedef struct Operand {                /* a matrix as cuBLAS reads it: by columns */
    CUdeviceptr at;
    int op, ld;
    long long step;
} Operand;

static int code_of(DType dt)
{
    return dt == DT_F64 ? CUDA_R_64F : dt == DT_F32 ? CUDA_R_32F : dt == DT_F16
           ? CUDA_R_16F : CUDA_R_16BF;
}

/* `turned`: wanted as its transpose, for the product of transposes. Memory by rows, read by
 * columns, is the transpose already. The step along an axis of one line is arbitrary here, and not
 * there. */
static bool operand_of(const DevMatrix *x, DType dt, int64_t rows, int64_t cols,
                       bool turned, Operand *o)
{
    int64_t line = x->transposed ? rows : cols, lines = x->transposed ? cols : rows;
    int64_t ld = lines == 1 || x->ld < line ? line : x->ld;
    o->at = x->mem->handle + (uint64_t)x->at * dtype_info(dt)->bytes;
    o->op = x->transposed == turned ? CUBLAS_OP_T : CUBLAS_OP_N;
    o->ld = (int)ld;
    o->step = x->batch;
    return ld <= INT_MAX && (lines == 1 || x->ld >= line) && x->batch >= 0;
}

/* One call: `count` products from number `from` on, of rows x inner and inner x cols by columns. */
static DevStatus product_run(Device *d, const DevGemm *g, const Operand *a, const Operand *b,
                             const Operand *c, int rows, int cols, int64_t from, int count)
{
    CudaState *s = cuda_state(d);
    const Cublas *f = &s->l->blas;
    const double one = 1, zero = 0;
    const float onef = 1, zerof = 0;
    const bool wide = g->dtype == DT_F64;
    const void *alpha = wide ? (const void *)&one : &onef,
               *beta = wide ? (const void *)&zero : &zerof;
    const int type = code_of(g->dtype), compute = wide ? CUBLAS_COMPUTE_64F : CUBLAS_COMPUTE_32F;
    const int64_t bytes = dtype_info(g->dtype)->bytes;
    const void *pa = (const void *)(uintptr_t)(a->at + (uint64_t)(from * a->step * bytes));
    const void *pb = (const void *)(uintptr_t)(b->at + (uint64_t)(from * b->step * bytes));
    void *pc = (void *)(uintptr_t)(c->at + (uint64_t)(from * c->step * bytes));
    if (count == 1)
        return blas_check(d, f->gemm(s->blas, a->op, b->op, rows, cols, (int)g->k, alpha, pa, type,
                                     a->ld, pb, type,
                                     b->ld, beta, pc, type, c->ld, compute, CUBLAS_GEMM_DEFAULT));
    return blas_check(d, f->gemm_batched(s->blas, a->op, b->op, rows, cols, (int)g->k, alpha, pa,
                                         type, a->ld, a->step,
                                         pb, type, b->ld, b->step, beta, pc, type, c->ld, c->step,
                                         count, compute, CUBLAS_GEMM_DEFAULT));
}

/* Sums of nothing. */
static DevStatus product_zero(Device *d, const DevGemm *g)
{
    CudaState *s = cuda_state(d);
    const size_t size = dtype_info(g->dtype)->bytes;
    const int64_t line = g->c.transposed ? g->m : g->n, lines = g->c.transposed ? g->n : g->m;
    DevStatus status = cuda_enter(d);
    for (int64_t i = 0; i < g->count && status == DEV_OK; i++) {
        CUdeviceptr at = g->c.mem->handle + (uint64_t)(g->c.at + i * g->c.batch) * size;
        int64_t ld = lines == 1 ? line : g->c.ld;
        status = cuda_check(d, s->l->driver.fill_rows(at, (size_t)ld * size, 0, (size_t)line * size,
                                                      (size_t)lines, s->stream));
    }
    return status;
}

/* C = A B by rows is C' = B' A' by columns; where C lies transposed it is C = A B itself. */
static DevStatus cuda_gemm(Device *d, const DevGemm *g)
{
    Operand a, b, c;
    const bool turned = !g->c.transposed;
    if (g->m == 0 || g->n == 0 || g->count == 0)
        return DEV_OK;
    if (g->k == 0)
        return product_zero(d, g);
    bool fits = g->m <= INT_MAX && g->n <= INT_MAX && g->k <= INT_MAX;
    fits &= operand_of(&g->a, g->dtype, g->m, g->k, turned, &a);
    fits &= operand_of(&g->b, g->dtype, g->k, g->n, turned, &b);
    fits &= operand_of(&g->c, g->dtype, g->m, g->n, turned, &c);
    if (!fits)
        return cuda_fault(d, DEV_LACKS,
                          "cuBLAS does not take a product of %lld x %lld and %lld x %lld with "
                          "these steps",
                          (long long)g->m, (long long)g->k, (long long)g->k, (long long)g->n);
    DevStatus status = blas_open(d);
    for (int64_t from = 0; from < g->count && status == DEV_OK; from += MOST_PRODUCTS) {
        int count = (int)(g->count - from < MOST_PRODUCTS ? g->count - from : MOST_PRODUCTS);
        status = turned ? product_run(d, g, &b, &a, &c, (int)g->n, (int)g->m, from, count)
                        : product_run(d, g, &a, &b, &c, (int)g->m, (int)g->n, from, count);
    }
    CudaState *s = cuda_state(d);
    s->behind++;
    snprintf(s->last, sizeof s->last, "of a product");
    return status;
}

/* ---- LAPACK ---- */
/* One call of cuSOLVER: its handle, memory to work in, and what it said. */
typedef struct Call {
    Device *d;
    DType dtype;
    const CusolverReal *real;
    cusolverHandle handle;
    DevMem memory;                      /* `lines` elements for the caller, then the routine's */
    void *work;
    int lwork, *info;
    DevStatus status;
} Call;

static DevStatus solver_check(Device *d, int status)
{
    DevStatus means = status == 2 ? DEV_NO_MEMORY : status == 4 || status == 9
                      ? DEV_LACKS : DEV_FAILED;
    return status == 0 ? DEV_OK
                       : library_check(d, means, "cuSOLVER", cusolver_status_name(status), status);
}

static DevStatus solver_open(Device *d)
{
    CudaState *s = cuda_state(d);
    DevStatus status = cuda_enter(d);
    if (status != DEV_OK || s->solver)
        return status;
    status = solver_check(d, s->l->solver.Create(&s->solver));
    if (status != DEV_OK) {
        s->solver = NULL;
        return status;
    }
    return solver_check(d, s->l->solver.SetStream(s->solver, s->stream));
}

static void *at(const DevMem *m) { return (void *)(uintptr_t)m->handle; }

/* False: nothing is to be run; the status says why. The largest of a matrix' numbers is `most`. */
static bool call_begin(Call *c, Device *d, DType dt, int64_t least, int64_t most, int *info)
{
    *c = (Call){ .d = d, .dtype = dt };
    *info = 0;
    if (least == 0)
        return false;
    if (most > INT_MAX) {
        c->status = cuda_fault(d, DEV_LACKS, "cuSOLVER does not take a matrix of %lld rows",
                               (long long)most);
        return false;
    }
    c->status = solver_open(d);
    CudaState *s = cuda_state(d);
    c->real = &s->l->solver.real[dt == DT_F64];
    c->handle = s->solver;
    c->info = (int *)(uintptr_t)s->info;
    return c->status == DEV_OK;
}

/* Memory of `lwork` elements, as the routine asked for with this status, after `own` of the
 * caller's. */
static bool call_work(Call *c, int status, int lwork, int64_t own)
{
    c->status = solver_check(c->d, status);
    if (c->status == DEV_OK && lwork < 0)
        c->status = cuda_fault(c->d, DEV_LACKS, "the matrix is too large for cuSOLVER");
    if (c->status != DEV_OK)
        return false;
    size_t size = dtype_info(c->dtype)->bytes, mine = ((size_t)own * size + 255) & ~(size_t)255;
    c->status = cuda_alloc(c->d, mine + (size_t)lwork * size + size, &c->memory);
    c->work = (void *)(uintptr_t)(c->memory.handle + mine);
    c->lwork = lwork;
    return c->status == DEV_OK;
}

/* After the routine, with its status: waits, and reads its info. */
static void call_ran(Call *c, int status, int *info)
{
    CudaState *s = cuda_state(c->d);
    const DevMem said = { s->info, sizeof(int32_t) };
    int32_t value = 0;
    c->status = solver_check(c->d, status);
    if (c->status == DEV_OK)
        c->status = cuda_get(c->d, &said, 0, &value, sizeof value);
    *info = value;
}

static DevStatus call_end(Call *c)
{
    cuda_release(c->d, &c->memory);
    return c->status;
}

static int64_t larger(int64_t a, int64_t b) { return a > b ? a : b; }
static int64_t smaller(int64_t a, int64_t b) { return a < b ? a : b; }

static DevStatus cuda_getrf(Device *d, DType dt, int64_t m, int64_t n, const DevMem *a, int64_t ld,
                            const DevMem *pivots, int *info)
{
    Call c;
    int lwork = 0;
    if (!call_begin(&c, d, dt, smaller(m, n), larger(larger(m, n), ld), info))
        return c.status;
    int asked = c.real->getrf_bufferSize(c.handle, (int)m, (int)n, at(a), (int)ld, &lwork);
    if (call_work(&c, asked, lwork, 0))
        call_ran(&c, c.real->getrf(c.handle, (int)m, (int)n, at(a), (int)ld, c.work, at(pivots),
                                   c.info), info);
    return call_end(&c);
}

static DevStatus cuda_getrs(Device *d, DType dt, bool transposed, int64_t n, int64_t nrhs,
                            const DevMem *a, int64_t lda,
                            const DevMem *pivots, const DevMem *b, int64_t ldb, int *info)
{
    Call c;
    if (!call_begin(&c, d, dt, smaller(n, nrhs), larger(larger(n, nrhs), larger(lda, ldb)), info))
        return c.status;
    call_ran(&c, c.real->getrs(c.handle, transposed ? CUBLAS_OP_T : CUBLAS_OP_N, (int)n, (int)nrhs,
                               at(a), (int)lda, at(pivots), at(b), (int)ldb, c.info), info);
    return call_end(&c);
}

static DevStatus cuda_potrf(Device *d, DType dt, bool upper, int64_t n, const DevMem *a,
                            int64_t ld, int *info)
{
    Call c;
    const int uplo = upper ? CUBLAS_FILL_UPPER : CUBLAS_FILL_LOWER;
    int lwork = 0;
    if (!call_begin(&c, d, dt, n, larger(n, ld), info))
        return c.status;
    int asked = c.real->potrf_bufferSize(c.handle, uplo, (int)n, at(a), (int)ld, &lwork);
    if (call_work(&c, asked, lwork, 0))
        call_ran(&c, c.real->potrf(c.handle, uplo, (int)n, at(a), (int)ld, c.work, c.lwork, c.info),
                 info);
    return call_end(&c);
}

static DevStatus cuda_geqrf(Device *d, DType dt, int64_t m, int64_t n, const DevMem *a, int64_t ld,
                            const DevMem *tau, int *info)
{
    Call c;
    int lwork = 0;
    if (!call_begin(&c, d, dt, smaller(m, n), larger(larger(m, n), ld), info))
        return c.status;
    int asked = c.real->geqrf_bufferSize(c.handle, (int)m, (int)n, at(a), (int)ld, &lwork);
    if (call_work(&c, asked, lwork, 0))
        call_ran(&c, c.real->geqrf(c.handle, (int)m, (int)n, at(a), (int)ld, at(tau), c.work,
                                   c.lwork, c.info), info);
    return call_end(&c);
}

static DevStatus cuda_orgqr(Device *d, DType dt, int64_t m, int64_t n, int64_t k,
                            const DevMem *a, int64_t ld, const DevMem *tau, int *info)
{
    Call c;
    int lwork = 0;
    if (!call_begin(&c, d, dt, smaller(m, n), larger(larger(m, n), ld), info))
        return c.status;
    int asked = c.real->orgqr_bufferSize(c.handle, (int)m, (int)n, (int)k, at(a), (int)ld,
                                         at(tau), &lwork);
    if (call_work(&c, asked, lwork, 0))
        call_ran(&c, c.real->orgqr(c.handle, (int)m, (int)n, (int)k, at(a), (int)ld, at(tau),
                                   c.work, c.lwork, c.info),
                 info);
    return call_end(&c);
}

static DevStatus cuda_gesvd(Device *d, DType dt, int64_t m, int64_t n, const DevMem *a,
                            const DevMem *s, const DevMem *u, const DevMem *vt, int *info)
{
    Call c;
    int lwork = 0;
    if (!call_begin(&c, d, dt, smaller(m, n), larger(m, n), info))
        return c.status;
    int asked = c.real->gesvd_bufferSize(c.handle, (int)m, (int)n, &lwork);
    if (call_work(&c, asked, lwork, n))
        call_ran(&c, c.real->gesvd(c.handle, 'S', 'S', (int)m, (int)n, at(a), (int)m, at(s), at(u),
                                   (int)m, at(vt),
                                   (int)n, c.work, c.lwork, at(&c.memory), c.info), info);
    return call_end(&c);
}

static DevStatus cuda_syevd(Device *d, DType dt, bool vectors, int64_t n, const DevMem *a,
                            const DevMem *w, int *info)
{
    Call c;
    int lwork = 0;
    if (!call_begin(&c, d, dt, n, n, info))
        return c.status;
    int asked = c.real->syevd_bufferSize(c.handle, vectors, CUBLAS_FILL_LOWER, (int)n, at(a),
                                         (int)n, at(w), &lwork);
    if (call_work(&c, asked, lwork, 0))
        call_ran(&c, c.real->syevd(c.handle, vectors, CUBLAS_FILL_LOWER, (int)n, at(a), (int)n,
                                   at(w), c.work, c.lwork, c.info), info);
    return call_end(&c);
}

void cuda_math(Device *d, const CudaLibraries *l)
{
    if (l->multiplies)
        d->math.gemm = cuda_gemm;
    if (!l->solves)
        return;
    d->math.getrf = cuda_getrf;
    d->math.getrs = cuda_getrs;
    d->math.potrf = cuda_potrf;
    d->math.geqrf = cuda_geqrf;
    d->math.orgqr = cuda_orgqr;
    d->math.gesvd = cuda_gesvd;
    d->math.syevd = cuda_syevd;
}

void cuda_math_close(CudaState *s)
{
    if (s->blas)
        s->l->blas.destroy(s->blas);
    if (s->solver)
        s->l->solver.Destroy(s->solver);
    s->blas = NULL;
    s->solver = NULL;
}
