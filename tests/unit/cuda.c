/* CUDA behind the vtable of devices, against the machine of tests/stub: loading in every
 * combination of what is there, the order of calls, copies, kernels and their cache, products of
 * every layout, LAPACK, and each call that can fail failing. Every case is a process of its own,
 * which finds the stubs by LD_LIBRARY_PATH as a program finds the real ones. With NVRTC there,
 * kernels are compiled for all devices from sm_70 to sm_90; `cuda real` runs what needs no stub on
 * the first real device. */
#include "kernels/backends/backends.h"
#include "kernels/cuda/cuda.h"
#include "kernels/cuda/cuda_probe.h"

#include "core/base/mem.h"
#include "kernels/device/device_cache.h"
#include "tests/stub/stub.h"
#include "check.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static Ctx *ctx;
static Stub *machine;               /* NULL: the real one */

static Device *device(const char *name)
{
    for (Device *d = ctx->devices->first; d; d = d->next)
        if (strcmp(d->name, name) == 0)
            return d;
    return NULL;
}

static Device *opened(void)
{
    Device *d;
    cuda_probe(ctx);
    d = device("cuda:0");
    CHECK(d && !device_absent(d) && d->ops->open(d) == DEV_OK);
    d->opened = true;
    return d;
}

static bool fault_has(const Device *d, const char *text)
{
    bool has = strstr(d->fault, text) != NULL;
    if (!has)
        fprintf(stderr, "the fault is: %s\n", d->fault);
    return has;
}

/* Nothing is left on the machine, and nothing was asked of it that it would have refused. */
static bool left_clean(void)
{
    if (machine->first_disorder[0])
        fprintf(stderr, "out of order: %s\n", machine->first_disorder);
    return machine->blocks == 0 && machine->contexts == 0 && machine->streams == 0 &&
           machine->modules == 0 && machine->handles == 0 && machine->disorder == 0;
}

/* ---- memory ---- */
static void test_copies(Device *d)
{
    char from[64], to[64];
    DevMem m, other;
    for (int i = 0; i < 64; i++)
        from[i] = (char)(i * 7 + 1);
    CHECK(d->ops->alloc(d, 64, &m) == DEV_OK && d->ops->alloc(d, 64, &other) == DEV_OK &&
          m.handle != other.handle);
    CHECK(d->ops->put(d, &m, 0, from, 64) == DEV_OK);
    CHECK(d->ops->get(d, &m, 0, to, 64) == DEV_OK && memcmp(from, to, 64) == 0);
    CHECK(d->ops->put(d, &m, 10, from, 5) == DEV_OK && d->ops->get(d, &m, 8, to, 8) == DEV_OK);
    CHECK(to[0] == from[8] && to[1] == from[9] && memcmp(to + 2, from, 5) == 0 &&
          to[7] == from[15]);
    CHECK(d->ops->copy(d, &other, 3, &m, 10, 5) == DEV_OK &&
          d->ops->get(d, &other, 3, to, 5) == DEV_OK);
    CHECK(memcmp(to, from, 5) == 0);
    for (int step = -9; step <= 9; step += 6) {         /* onto itself, both ways */
        char wanted[64];
        memcpy(wanted, from, 64);
        memmove(wanted + 16 + step, wanted + 16, 32);
        CHECK(d->ops->put(d, &m, 0, from, 64) == DEV_OK);
        CHECK(d->ops->copy(d, &m, (size_t)(16 + step), &m, 16, 32) == DEV_OK);
        CHECK(d->ops->get(d, &m, 0, to, 64) == DEV_OK && memcmp(to, wanted, 64) == 0);
    }
    CHECK(d->ops->put(d, &m, 64, from, 0) == DEV_OK && d->ops->get(d, &m, 64, to, 0) == DEV_OK);
    CHECK(d->ops->sync(d) == DEV_OK);
    d->ops->release(d, &m);
    d->ops->release(d, &other);
    CHECK(!m.handle && d->ops->alloc(d, 0, &m) == DEV_OK);
    d->ops->release(d, &m);
}

static void test_too_much(Device *d)
{
    DevMem m = { 0 };
    CHECK(d->ops->alloc(d, d->memory + 1, &m) == DEV_NO_MEMORY && !m.handle);
    CHECK(fault_has(d, "CUDA_ERROR_OUT_OF_MEMORY"));
    CHECK_RAISES(ctx, ERR_MEMORY, m = device_alloc(ctx, d, d->memory + 1));
    CHECK(d->ops->alloc(d, 1000, &m) == DEV_OK);        /* it goes on */
    d->ops->release(d, &m);
}

/* ---- kernels ---- */
static const char scale_text[] =
    "extern \"C\" __global__ void scale(float *y, unsigned long long at_y, const float *x, "
    "unsigned long long at_x,\n"
    "                                 float by, long long n)\n"
    "{\n"
    "    y = (float *)((char *)y + at_y);\n"
    "    x = (const float *)((const char *)x + at_x);\n"
    "    for (long long i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * "
    "blockDim.x)\n"
    "        y[i] = x[i] * by;\n"
    "}\n";

static void scale(void **p, const unsigned grid[3], const unsigned block[3])
{
    float *y = (float *)(uintptr_t)(*(uint64_t *)p[0] + *(uint64_t *)p[1]);
    const float *x = (const float *)(uintptr_t)(*(uint64_t *)p[2] + *(uint64_t *)p[3]);
    CHECK(grid[0] == 3 && block[0] == 32);
    for (int64_t i = 0; i < *(int64_t *)p[5]; i++)
        y[i] = x[i] * *(float *)p[4];
}

static void register_scale(void)
{
    if (!machine)
        return;
    snprintf(machine->kernel[0].name, sizeof machine->kernel[0].name, "scale");
    machine->kernel[0].run = scale;
}

static bool scales(Device *d, DevKernel *k, int64_t n, float by)
{
    enum { MOST = 1000 };
    float x[MOST + 3], y[MOST + 5];
    DevMem in, out;
    bool ok = d->ops->alloc(d, sizeof x, &in) == DEV_OK &&
              d->ops->alloc(d, sizeof y, &out) == DEV_OK;
    for (int i = 0; i < MOST + 3; i++)
        x[i] = (float)i + 0.25f;
    for (int i = 0; i < MOST + 5; i++)
        y[i] = -1;
    ok = ok && d->ops->put(d, &in, 0, x, sizeof x) == DEV_OK &&
         d->ops->put(d, &out, 0, y, sizeof y) == DEV_OK;
    const DevGrid grid = { .groups = { 3, 1, 1 }, .local = { 32, 1, 1 } };
    const DevArg args[] = { { .mem = &out, .at = 5 * sizeof *y },
                            { .mem = &in, .at = 3 * sizeof *x },
                            { .value = &by, .bytes = sizeof by },
                            { .value = &n, .bytes = sizeof n } };
    ok = ok && d->ops->launch(d, k, &grid, args, 4) == DEV_OK &&
         d->ops->get(d, &out, 0, y, sizeof y) == DEV_OK;
    for (int i = 0; i < MOST + 5; i++)
        ok = ok && y[i] == (i < 5 || i >= n + 5 ? -1 : x[i - 5 + 3] * by);
    d->ops->release(d, &in);
    d->ops->release(d, &out);
    return ok;
}

static void test_kernels(Device *d)
{
    DevKernel *k = NULL, *other = NULL;
    register_scale();
    CHECK(d->ops->build(d, scale_text, "scale", &k) == DEV_OK && k);
    if (!k)
        return;
    CHECK(scales(d, k, 1000, 2) && scales(d, k, 1, -3) && scales(d, k, 0, 5));
    CHECK(d->ops->build(d, scale_text, "scales", &other) == DEV_FAILED && !other);
    CHECK(fault_has(d, "CUDA_ERROR_NOT_FOUND"));
    CHECK(d->ops->build(d, "\n#error as asked\n", "f", &other) == DEV_FAILED && !other);
    CHECK(fault_has(d, "the kernel f does not compile: kernel.cu(2): ") &&
          fault_has(d, "as asked"));
    CHECK(!strchr(d->fault, '\n') && !strstr(d->fault, "warning"));
    DevGrid grid = { .groups = { 1, 1, 1 }, .local = { 1025, 1, 1 } };
    CHECK(d->ops->launch(d, k, &grid, NULL, 0) == DEV_LACKS && fault_has(d, "1025 threads"));
    grid = (DevGrid){ .groups = { 1, 65536, 1 }, .local = { 32, 1, 1 } };
    CHECK(d->ops->launch(d, k, &grid, NULL, 0) == DEV_LACKS &&
          fault_has(d, "1 x 65536 x 1 blocks"));
    grid.groups[1] = 0;
    CHECK(d->ops->launch(d, k, &grid, NULL, 0) == DEV_OK);
    grid = (DevGrid){ .groups = { 1, 1, 1 }, .local = { 1, 1, 1 }, .shared = 300 << 10 };
    CHECK(d->ops->launch(d, k, &grid, NULL, 0) == DEV_FAILED &&
          fault_has(d, "CUDA_ERROR_INVALID_VALUE"));
    CHECK(scales(d, k, 7, 2));
    d->ops->drop(d, k);
}

/* The second process, or the second time, compiles nothing. */
static void test_cache(Device *d)
{
    DevKernel *k = NULL;
    long compiled = machine->compiled;
    CHECK(d->ops->build(d, scale_text, "scale", &k) == DEV_OK && machine->compiled == compiled);
    d->ops->drop(d, k);
    CHECK(strcmp(machine->options, "") != 0);
    const char *const key[] =
        { "cuda 12040", "--gpu-architecture=sm_90", "--fmad=false", scale_text, NULL };
    size_t bytes = 0;
    char *image = device_cache_get(ctx, key, &bytes);
    CHECK(image && bytes == 5);
    mem_free(ctx, image, bytes);
    device_cache_put(key, "rubbish", 7);                /* what no driver takes is compiled anew */
    CHECK(d->ops->build(d, scale_text, "scale", &k) == DEV_OK && machine->compiled == compiled + 1);
    d->ops->drop(d, k);
    image = device_cache_get(ctx, key, &bytes);
    CHECK(image && bytes == 5 && memcmp(image, "STUB", 5) == 0);
    mem_free(ctx, image, bytes);
    device_cache_drop(key);
    CHECK(!device_cache_get(ctx, key, &bytes));
}

/* ---- products ---- */
static double value_of(DType dt, const void *x, int64_t i)
{
    uint32_t wide;
    float f;
    switch (dt) {
    case DT_F64: return ((const double *)x)[i];
    case DT_F32: return ((const float *)x)[i];
    case DT_F16: return (double)stub_half_value(((const uint16_t *)x)[i]);
    default:
        wide = (uint32_t)((const uint16_t *)x)[i] << 16;
        memcpy(&f, &wide, 4);
        return (double)f;
    }
}

/* Small integers, which all dtypes have. */
static void value_set(DType dt, void *x, int64_t i, int v)
{
    float f = (float)v;
    uint32_t bits;
    memcpy(&bits, &f, 4);
    if (dt == DT_F64)
        ((double *)x)[i] = v;
    else if (dt == DT_F32)
        ((float *)x)[i] = f;
    else if (dt == DT_F16)
        ((uint16_t *)x)[i] = stub_half_bits(f);
    else
        ((uint16_t *)x)[i] = (uint16_t)(bits >> 16);
}

enum { ROOM = 4096 };

static int64_t place_of(const DevMatrix *x, int64_t q, int64_t i, int64_t j)
{
    return x->at + q * x->batch + (x->transposed ? j * x->ld + i : i * x->ld + j);
}

/* Elements outside of C stay as they were; those inside are sums of products, exact here. */
static bool product_right(Device *d, const DevGemm *g, const void *a, const void *b)
{
    static char before[8 * ROOM], after[8 * ROOM];
    const size_t size = dtype_info(g->dtype)->bytes;
    bool ok = true;
    static bool mine[ROOM];
    memset(mine, 0, sizeof mine);
    for (int64_t i = 0; i < ROOM; i++)
        value_set(g->dtype, before, i, 77);
    ok &= d->ops->put(d, g->c.mem, 0, before, size * ROOM) == DEV_OK;
    ok &= d->math.gemm(d, g) == DEV_OK;
    ok &= d->ops->get(d, g->c.mem, 0, after, size * ROOM) == DEV_OK;
    for (int64_t q = 0; q < g->count; q++)
        for (int64_t i = 0; i < g->m; i++)
            for (int64_t j = 0; j < g->n; j++) {
                double sum = 0;
                for (int64_t k = 0; k < g->k; k++)
                    sum += value_of(g->dtype, a, place_of(&g->a, q, i, k)) *
                           value_of(g->dtype, b, place_of(&g->b, q, k, j));
                mine[place_of(&g->c, q, i, j)] = true;
                ok &= value_of(g->dtype, after, place_of(&g->c, q, i, j)) == sum;
            }
    for (int64_t i = 0; i < ROOM; i++)
        ok &= mine[i] || value_of(g->dtype, after, i) == 77;
    return ok;
}

static DevMatrix matrix(const DevMem *mem, int64_t rows, int64_t cols, bool transposed, int64_t gap)
{
    int64_t line = transposed ? rows : cols, lines = transposed ? cols : rows;
    return (DevMatrix){ .mem = mem, .at = 3 + gap, .ld = line + gap,
                        .batch = lines * (line + gap) + 5,
                        .transposed = transposed };
}

static void test_products(Device *d)
{
    static const DType dtypes[] = { DT_F64, DT_F32, DT_F16, DT_BF16 };
    static const int64_t sizes[][4] =
        { { 3, 4, 5, 1 }, { 1, 1, 1, 1 }, { 1, 7, 4, 3 }, { 6, 1, 2, 2 }, { 5, 5, 0, 2 },
                                        { 0, 3, 3, 1 }, { 9, 8, 1, 4 }, { 4, 4, 4, 0 } };
    static char a[8 * ROOM], b[8 * ROOM];
    DevMem ma, mb, mc;
    for (int t = 0; t < 4; t++) {
        DType dt = dtypes[t];
        const size_t bytes = (size_t)dtype_info(dt)->bytes * ROOM;
        for (int64_t i = 0; i < ROOM; i++) {
            value_set(dt, a, i, (int)(i * 7 % 5) - 2);
            value_set(dt, b, i, (int)(i * 11 % 7) - 3);
        }
        CHECK(d->ops->alloc(d, bytes, &ma) == DEV_OK && d->ops->alloc(d, bytes, &mb) == DEV_OK &&
              d->ops->alloc(d, bytes, &mc) == DEV_OK);
        CHECK(d->ops->put(d, &ma, 0, a, bytes) == DEV_OK &&
              d->ops->put(d, &mb, 0, b, bytes) == DEV_OK);
        for (int s = 0; s < 8; s++)
            for (int layout = 0; layout < 16; layout++) {
                const int64_t *z = sizes[s], gap = layout & 8 ? 2 : 0;
                DevGemm g = { .dtype = dt, .m = z[0], .n = z[1], .k = z[2], .count = z[3] };
                g.a = matrix(&ma, g.m, g.k, layout & 1, gap);
                g.b = matrix(&mb, g.k, g.n, layout & 2, gap);
                g.c = matrix(&mc, g.m, g.n, layout & 4, gap);
                CHECK(product_right(d, &g, a, b));
                g.a.batch = 0;                              /* one A for all */
                if (g.m == 1)
                    /* the step of an axis of one element is anything */
                    g.a.ld = g.a.transposed ? g.a.ld : 0;
                CHECK(product_right(d, &g, a, b));
            }
        DevGemm g = { .dtype = dt, .m = 4, .n = 4, .k = 4, .count = 1 };
        g.a = g.b = g.c = matrix(&ma, 4, 4, false, 0);
        /* rows that are one row: not the library's */
        g.a.ld = 0;
        CHECK(d->math.gemm(d, &g) == DEV_LACKS && fault_has(d, "4 x 4 and 4 x 4"));
        d->ops->release(d, &ma);
        d->ops->release(d, &mb);
        d->ops->release(d, &mc);
    }
}

/* ---- LAPACK: all by columns, n x n with n = 5 but where said ---- */
enum { N = 5 };

static DevMem sent(Device *d, DType dt, const double *x, int n)
{
    float narrow[64];
    DevMem m;
    for (int i = 0; i < n; i++)
        narrow[i] = (float)x[i];
    CHECK(d->ops->alloc(d, (size_t)n * dtype_info(dt)->bytes, &m) == DEV_OK);
    CHECK(d->ops->put(d, &m, 0, dt == DT_F64 ? (const void *)x : narrow, m.bytes) == DEV_OK);
    return m;
}

static void fetched(Device *d, DType dt, DevMem *m, double *x, int n)
{
    double raw[64] = { 0 };
    CHECK(d->ops->get(d, m, 0, raw, (size_t)n * dtype_info(dt)->bytes) == DEV_OK);
    for (int i = 0; i < n; i++)
        x[i] = value_of(dt, raw, i);
    d->ops->release(d, m);
}

static double tolerance(DType dt) { return dt == DT_F64 ? 1e-13 : 1e-4; }

/* a b by columns: m x k and k x n; flags turn an operand. */
static double product_at(const double *a, bool ta, int lda, const double *b, bool tb, int ldb,
                         int k, int i, int j)
{
    double sum = 0;
    for (int p = 0; p < k; p++)
        sum += (ta ? a[p + i * lda] : a[i + p * lda]) * (tb ? b[j + p * ldb] : b[p + j * ldb]);
    return sum;
}

static void test_solve(Device *d, DType dt, const double *a)
{
    double b[2 * N], x[2 * N], worst = 0;
    for (int i = 0; i < 2 * N; i++)
        b[i] = check_uniform();
    for (int turned = 0; turned < 2; turned++) {
        int info = -1;
        DevMem ma = sent(d, dt, a, N * N), mb = sent(d, dt, b, 2 * N), pivots;
        CHECK(d->ops->alloc(d, N * 4, &pivots) == DEV_OK);
        CHECK(d->math.getrf(d, dt, N, N, &ma, N, &pivots, &info) == DEV_OK && info == 0);
        CHECK(d->math.getrs(d, dt, turned, N, 2, &ma, N, &pivots, &mb, N,
                            &info) == DEV_OK && info == 0);
        fetched(d, dt, &mb, x, 2 * N);
        for (int i = 0; i < N; i++)
            for (int j = 0; j < 2; j++)
                worst = fmax(worst,
                             fabs(product_at(a, turned, N, x, false, N, N, i, j) - b[i + j * N]));
        d->ops->release(d, &ma);
        d->ops->release(d, &pivots);
    }
    CHECK(worst < tolerance(dt));
}

static void test_singular(Device *d, DType dt)
{
    double zeros[N * N] = { 1 };
    int info = -1;
    DevMem m = sent(d, dt, zeros, N * N), pivots;
    CHECK(d->ops->alloc(d, N * 4, &pivots) == DEV_OK);
    CHECK(d->math.getrf(d, dt, N, N, &m, N, &pivots, &info) == DEV_OK && info == 2);
    CHECK(d->math.potrf(d, dt, false, N, &m, N, &info) == DEV_OK && info == 2);
    CHECK(d->math.getrf(d, dt, 0, 0, &m, 1, &pivots, &info) == DEV_OK && info == 0);
    CHECK(d->math.syevd(d, dt, true, 0, &m, &pivots, &info) == DEV_OK && info == 0);
    CHECK(d->math.getrf(d, dt, (int64_t)1 << 31, N, &m, (int64_t)1 << 31, &pivots,
                        &info) == DEV_LACKS);
    CHECK(fault_has(d, "2147483648 rows"));
    d->ops->release(d, &m);
    d->ops->release(d, &pivots);
}

static void test_symmetric(Device *d, DType dt, const double *a)
{
    double s[N * N], l[N * N], v[N * N], w[N], worst = 0;
    int info;
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++)
            s[i + j * N] = product_at(a, false, N, a, true, N, N, i, j) + (i == j);
    for (int upper = 0; upper < 2; upper++) {
        DevMem m = sent(d, dt, s, N * N);
        CHECK(d->math.potrf(d, dt, upper, N, &m, N, &info) == DEV_OK && info == 0);
        fetched(d, dt, &m, l, N * N);
        for (int i = 0; i < N; i++)
            for (int j = 0; j < N; j++)
                if (upper ? i > j : i < j)
                    l[i + j * N] = 0;
        for (int i = 0; i < N * N; i++)
            worst =
                fmax(worst, fabs(product_at(l, upper, N, l, !upper, N, N, i % N, i / N) - s[i]));
    }
    DevMem m = sent(d, dt, s, N * N), mw = sent(d, dt, s, N);
    CHECK(d->math.syevd(d, dt, true, N, &m, &mw, &info) == DEV_OK && info == 0);
    fetched(d, dt, &m, v, N * N);
    fetched(d, dt, &mw, w, N);
    for (int i = 0; i < N * N; i++)
        worst = fmax(worst,
                     fabs(product_at(s, false, N, v, false, N, N, i % N, i / N) - v[i] * w[i / N]));
    CHECK(worst < 10 * tolerance(dt) && w[0] <= w[1] && w[3] <= w[4] && w[0] > 0.9);
}

/* 7 x 5. */
static void test_tall(Device *d, DType dt)
{
    enum { M = 7 };
    double a[M * N], q[M * N], r[M * N], u[M * N], s[N], vt[N * N], worst = 0;
    int info;
    for (int i = 0; i < M * N; i++)
        a[i] = check_uniform();
    DevMem m = sent(d, dt, a, M * N), tau = sent(d, dt, a, N);
    CHECK(d->math.geqrf(d, dt, M, N, &m, M, &tau, &info) == DEV_OK && info == 0);
    DevMem kept;
    CHECK(d->ops->alloc(d, m.bytes, &kept) == DEV_OK &&
          d->ops->copy(d, &kept, 0, &m, 0, m.bytes) == DEV_OK);
    CHECK(d->math.orgqr(d, dt, M, N, N, &m, M, &tau, &info) == DEV_OK && info == 0);
    fetched(d, dt, &m, q, M * N);
    fetched(d, dt, &kept, r, M * N);
    d->ops->release(d, &tau);
    for (int j = 0; j < N; j++)
        for (int i = j + 1; i < M; i++)
            r[i + j * M] = 0;
    for (int i = 0; i < M * N; i++)
        worst = fmax(worst, fabs(product_at(q, false, M, r, false, M, N, i % M, i / M) - a[i]));
    DevMem ma = sent(d, dt, a, M * N), ms = sent(d, dt, a, N), mu = sent(d, dt, a, M * N),
           mv = sent(d, dt, a, N * N);
    CHECK(d->math.gesvd(d, dt, M, N, &ma, &ms, &mu, &mv, &info) == DEV_OK && info == 0);
    d->ops->release(d, &ma);
    fetched(d, dt, &ms, s, N);
    fetched(d, dt, &mu, u, M * N);
    fetched(d, dt, &mv, vt, N * N);
    for (int i = 0; i < M * N; i++)
        u[i] *= s[i / M];
    for (int i = 0; i < M * N; i++)
        worst = fmax(worst, fabs(product_at(u, false, M, vt, false, N, N, i % M, i / M) - a[i]));
    CHECK(worst < 10 * tolerance(dt) && s[0] >= s[1] && s[4] > 0);
}

static void test_lapack(Device *d)
{
    for (int k = 0; k < 2; k++) {
        DType dt = k ? DT_F64 : DT_F32;
        double a[N * N];
        for (int i = 0; i < N * N; i++)
            a[i] = check_uniform() + (i % (N + 1) == 0 ? 3 : 0);
        test_solve(d, dt, a);
        test_singular(d, dt);
        test_symmetric(d, dt, a);
        test_tall(d, dt);
    }
}

/* ---- cases ---- */
static void case_whole(void)
{
    Device *d = opened();
    CHECK(strcmp(d->title, "Stub 0") == 0 && d->memory == machine->memory && !d->missing[0] &&
          !d->why[0]);
    CHECK(strcmp(d->note, "compute capability 9.0, driver for CUDA 12.4, NVRTC 12.4") == 0);
    CHECK(d->caps == (DEVCAP_CUDA | DEVCAP_SOURCE) && device_holds(d, DT_F64) &&
          !device_holds(d, DT_C64));
    test_copies(d);
    test_too_much(d);
    test_kernels(d);
    CHECK(strcmp(machine->options,
                 "--gpu-architecture=sm_90 --fmad=false -default-device --std=c++17 ") == 0);
    test_cache(d);
    test_products(d);
    test_lapack(d);
    d->ops->close(d);
    CHECK(left_clean() && d->state == ctx);
    CHECK(d->ops->open(d) == DEV_OK);               /* and again */
    test_copies(d);
    d->ops->close(d);
    CHECK(left_clean());
}

static void case_plain(void)                        /* a driver without pools */
{
    machine->pools = 0;
    Device *d = opened();
    CHECK(!cuda_state(d)->pool);
    test_copies(d);
    test_too_much(d);
    test_lapack(d);
    d->ops->close(d);
    CHECK(left_clean());
}

static void case_two(void)
{
    machine->devices = 2;
    Device *d = opened(), *e = device("cuda:1");
    CHECK(e && e->index == 1 && strcmp(e->title, "Stub 1") == 0 && e->ops->open(e) == DEV_OK);
    e->opened = true;
    test_copies(d);
    test_copies(e);
    devices_free(ctx);
    CHECK(left_clean());
}

/* A kernel that went wrong: the next wait says so, and everything after it. */
static void case_sticky(void)
{
    Device *d = opened();
    DevKernel *k = NULL;
    DevMem m, n;
    char byte;
    register_scale();
    const DevGrid grid = { .groups = { 3, 1, 1 }, .local = { 32, 1, 1 } };
    const int64_t none = 0;
    const float by = 1;
    CHECK(d->ops->alloc(d, 8, &m) == DEV_OK && d->ops->build(d, scale_text, "scale", &k) == DEV_OK);
    const DevArg args[] = { { .mem = &m }, { .mem = &m }, { .value = &by, .bytes = 4 },
                            { .value = &none, .bytes = 8 } };
    machine->kernel_fault = 700;
    CHECK(d->ops->launch(d, k, &grid, args, 4) == DEV_OK);
    CHECK(d->ops->get(d, &m, 0, &byte, 1) == DEV_FAILED);
    CHECK(fault_has(d, "CUDA_ERROR_ILLEGAL_ADDRESS (an illegal memory access was encountered), in "
                       "the kernel scale; "
                       "the driver gave the device up until this program ends"));
    CHECK(d->ops->alloc(d, 8, &n) == DEV_FAILED && fault_has(d, "in the kernel scale"));
    CHECK(d->ops->launch(d, k, &grid, args, 4) == DEV_FAILED && d->ops->sync(d) == DEV_FAILED);
    CHECK(d->ops->put(d, &m, 0, &byte, 1) == DEV_FAILED &&
          fault_has(d, "CUDA_ERROR_ILLEGAL_ADDRESS"));
    d->ops->drop(d, k);
    d->ops->release(d, &m);
    d->ops->close(d);
    CHECK(machine->disorder == 0);
}

/* Everything that a device does, until something fails. */
static DevStatus run_all(Device *d)
{
    DevKernel *k = NULL;
    DevMem m = { 0 }, p = { 0 };
    double x[16] = { 2, 0, 0, 0, 0, 2, 0, 0, 0, 0, 2, 0, 0, 0, 0, 2 };
    int info;
    DevGemm g = { .dtype = DT_F64, .m = 2, .n = 2, .k = 2, .count = 1 };
    DevStatus s = d->ops->open(d);
    if (s != DEV_OK)
        return s;
    d->opened = true;
    s = d->ops->alloc(d, sizeof x, &m);
    s = s ? s : d->ops->alloc(d, 64, &p);
    s = s ? s : d->ops->put(d, &m, 0, x, sizeof x);
    s = s ? s : d->ops->build(d, scale_text, "scale", &k);
    const DevGrid grid = { .groups = { 3, 1, 1 }, .local = { 32, 1, 1 } };
    const int64_t none = 0;
    const float by = 1;
    const DevArg args[] = { { .mem = &m }, { .mem = &m }, { .value = &by, .bytes = 4 },
                            { .value = &none, .bytes = 8 } };
    s = s ? s : d->ops->launch(d, k, &grid, args, 4);
    g.a = g.b = g.c = (DevMatrix){ .mem = &m, .ld = 2 };
    g.c.at = 8;
    s = s ? s : d->math.gemm(d, &g);
    g.k = 0;
    s = s ? s : d->math.gemm(d, &g);
    s = s ? s : d->ops->put(d, &m, 0, x, sizeof x);
    s = s ? s : d->math.getrf(d, DT_F64, 4, 4, &m, 4, &p, &info);
    s = s ? s : d->ops->copy(d, &m, 0, &m, 64, 32);
    s = s ? s : d->ops->get(d, &m, 0, x, sizeof x);
    s = s ? s : d->ops->sync(d);
    if (k)
        d->ops->drop(d, k);
    d->ops->release(d, &m);
    d->ops->release(d, &p);
    d->ops->close(d);
    return s;
}

static void case_faults(void)
{
    static const struct { const char *name; int code, times; DevStatus wanted; } fault[] = {
        { "cuDeviceGet", 101, 1, DEV_FAILED }, { "cuDevicePrimaryCtxRetain", 2, 1, DEV_NO_MEMORY },
        { "cuDevicePrimaryCtxRetain", 999, 1, DEV_FAILED },
        { "cuCtxSetCurrent", 201, 3, DEV_FAILED },
        { "cuStreamCreate", 2, 1, DEV_NO_MEMORY }, { "cuMemAllocAsync", 1, 4, DEV_FAILED },
        { "cuMemcpyHtoDAsync_v2", 1, 2, DEV_FAILED }, { "cuModuleLoadData", 209, 1, DEV_FAILED },
        { "cuModuleGetFunction", 500, 1, DEV_FAILED }, { "nvrtcCompileProgram", 6, 1, DEV_FAILED },
        { "cuLaunchKernel", 701, 1, DEV_FAILED }, { "cublasCreate_v2", 3, 1, DEV_NO_MEMORY },
        { "cublasCreate_v2", 1, 1, DEV_FAILED }, { "gemm", 15, 1, DEV_LACKS },
        { "gemm", 13, 1, DEV_FAILED },
        { "gemm", 99, 1, DEV_FAILED }, { "cuMemsetD2D8Async", 1, 1, DEV_FAILED },
        { "cusolverDnCreate", 2, 1, DEV_NO_MEMORY },
        { "cusolverDnDgetrf_bufferSize", 3, 1, DEV_FAILED },
        { "cusolverDnDgetrf", 7, 1, DEV_FAILED }, { "cuMemcpyDtoDAsync_v2", 1, 1, DEV_FAILED },
        { "cuMemcpyDtoHAsync_v2", 1, 2, DEV_FAILED }, { "cuStreamSynchronize", 1, 3, DEV_FAILED },
    };
    cuda_probe(ctx);
    Device *d = device("cuda:0");
    register_scale();
    for (size_t i = 0; i < sizeof fault / sizeof *fault; i++)
        for (int k = 1; k <= fault[i].times; k++) {
            snprintf(machine->fail_name, sizeof machine->fail_name, "%s", fault[i].name);
            machine->fail_code = fault[i].code;
            machine->fail_in = k;
            const char *const key[] = { "cuda 12040", "--gpu-architecture=sm_90", "--fmad=false",
                                        scale_text, NULL };
            device_cache_drop(key);
            DevStatus s = run_all(d);
            bool ok = s == fault[i].wanted && machine->fail_in == 0 && d->fault[0] &&
                      left_clean() && d->state == ctx;
            if (!CHECK(ok))
                fprintf(stderr, "%s fails with %d in call %d: status %d, %s\n", fault[i].name,
                        fault[i].code, k, s, d->fault);
        }
    machine->fail_in = 0;
    CHECK(run_all(d) == DEV_OK && left_clean());
}

/* What the environment of the process lacks is in the name of the case: see main. */
static void case_missing(const char *what)
{
    bool rtc = strchr(what, 'r'), blas = rtc || strchr(what, 'b'),
         solver = rtc || strchr(what, 's');
    DevKernel *k = NULL;
    Device *d = opened();
    char text[sizeof d->missing] = "";
    if (blas)
        strcat(text, "; no libcublas: products run in a kernel of ours");
    if (solver)
        strcat(text, "; no libcusolver: solve, inv, det, lu, chol, qr, svd, eigh run on cpu");
    if (rtc)
        strcpy(text, "; no libnvrtc, which compiles kernels: everything runs on cpu");
    CHECK(strcmp(d->missing, text[0] ? text + 2 : "") == 0);
    CHECK(!d->math.gemm == blas && !d->math.getrf == solver && !d->math.syevd == solver);
    CHECK(!(d->caps & DEVCAP_SOURCE) == rtc);
    test_copies(d);
    if (rtc)
        CHECK(d->ops->build(d, scale_text, "scale", &k) == DEV_LACKS &&
              fault_has(d, "no libnvrtc"));
    else
        test_kernels(d);
    if (!blas)
        test_products(d);
    if (!solver)
        test_lapack(d);
    d->ops->close(d);
    CHECK(left_clean());
}

static void absent(const char *wanted)
{
    cuda_probe(ctx);
    Device *d = device("cuda");
    CHECK(d && !device("cuda:0"));
    if (!CHECK(d && strncmp(d->why, wanted, strlen(wanted)) == 0))
        fprintf(stderr, "it says: %s\n", d ? d->why : "");
}

static void case_absent(const char *what)
{
    if (strcmp(what, "old") == 0) {
        machine->version = 10020;
        absent("the NVIDIA driver is too old: CUDA 11.2 is needed, and it is for 10.2; toolkit "
               "12.4 present");
    } else if (strcmp(what, "empty") == 0) {
        machine->devices = 0;
        absent("the NVIDIA driver finds no device");
    } else if (strcmp(what, "hidden") == 0) {
        machine->init_code = 100;
        setenv("CUDA_VISIBLE_DEVICES", "", 1);
        absent("the NVIDIA driver finds no device, with CUDA_VISIBLE_DEVICES=\"\"");
    } else if (strcmp(what, "none") == 0) {
        machine->init_code = 100;
        unsetenv("CUDA_VISIBLE_DEVICES");
        absent("the NVIDIA driver finds no device; toolkit 12.4 present");
    } else if (strcmp(what, "linking") == 0) {
        machine->init_code = 34;
        absent("libcuda.so.1 is the toolkit's stub for linking, not the NVIDIA driver");
    } else if (strcmp(what, "mismatch") == 0) {
        machine->init_code = 803;
        absent("the NVIDIA driver does not start: CUDA_ERROR_SYSTEM_DRIVER_MISMATCH (system has "
               "unsupported");
    } else if (strcmp(what, "strange") == 0) {
        machine->init_code = 4321;
        absent("the NVIDIA driver does not start: the driver's error 4321");
    }
}

static void case_arch(int arch)
{
    machine->arch = arch;
    DevKernel *k = NULL;
    Device *d = opened();
    register_scale();
    DevStatus s = d->ops->build(d, scale_text, "scale", &k);
    if (arch < 50)
        CHECK(s == DEV_LACKS &&
              fault_has(d, "NVRTC 12.4 makes nothing for compute capability 3.5"));
    else
        CHECK(s == DEV_OK && strncmp(machine->options, "--gpu-architecture=compute_90 ", 30) == 0);
    if (k)
        d->ops->drop(d, k);
    d->ops->close(d);
    CHECK(left_clean());
}

/* ---- with NVRTC: no device is needed ---- */
static void case_nvrtc(void)
{
    static const int archs[] = { 70, 75, 80, 86, 89, 90 };
    const CudaLibraries *l = cuda_libraries();
    size_t bytes;
    char log[200], option[48];
    bool binary;
    if (!l->compiles) {
        printf("not run: kernels compiled by NVRTC for sm_70 to sm_90 (no libnvrtc)\n");
        return;
    }
    for (size_t i = 0; i < sizeof archs / sizeof *archs; i++) {
        if (!cuda_arch_option(&l->nvrtc, archs[i], option, sizeof option, &binary)) {
            CHECK(archs[i] < 75 && l->compiler >= 13000);       /* CUDA 13 begins with 7.5 */
            continue;
        }
        char *image = cuda_compile(ctx, &l->nvrtc, option, binary, scale_text, &bytes, log,
                                   sizeof log);
        CHECK(binary && image && bytes > 100 && memcmp(image, "\177ELF", 4) == 0);
        mem_free(ctx, image, bytes);
    }
    /* of years to come */
    CHECK(cuda_arch_option(&l->nvrtc, 990, option, sizeof option, &binary) && !binary);
    char *image = cuda_compile(ctx, &l->nvrtc, option, binary, scale_text, &bytes, log, sizeof log);
    CHECK(image && strstr(image, ".visible .entry scale") && image[bytes - 1] == '\0');
    CHECK(image && !strstr(image, "fma.rn"));
    mem_free(ctx, image, bytes);
    CHECK(!cuda_arch_option(&l->nvrtc, 20, option, sizeof option, &binary));
    CHECK(!cuda_compile(ctx, &l->nvrtc, "--gpu-architecture=sm_90", true, "#error as asked\n",
                        &bytes, log, sizeof log));
    CHECK(strstr(log, "as asked") && !strchr(log, '\n'));
    CHECK(!cuda_compile(ctx, &l->nvrtc, "--gpu-architecture=sm_1", true, scale_text, &bytes, log,
                        sizeof log));
}

/* ---- on a real device ---- */
static void case_real(void)
{
    cuda_probe(ctx);
    Device *d = device("cuda:0");
    if (!d) {
        printf("not run: the CUDA backend on a real device (%s)\n", device("cuda")->why);
        return;
    }
    printf("%s, %s; %s\n", d->title, d->note,
           d->missing[0] ? d->missing : "all libraries are there");
    if (!CHECK(d->ops->open(d) == DEV_OK))
        return;
    d->opened = true;
    test_copies(d);
    test_too_much(d);
    if (d->caps & DEVCAP_SOURCE)
        test_kernels(d);
    if (d->math.gemm)
        test_products(d);
    if (d->math.getrf)
        test_lapack(d);
}

static void case_run(const char *name)
{
    if (strcmp(name, "whole") == 0) case_whole();
    else if (strcmp(name, "plain") == 0) case_plain();
    else if (strcmp(name, "two") == 0) case_two();
    else if (strcmp(name, "sticky") == 0) case_sticky();
    else if (strcmp(name, "faults") == 0) case_faults();
    else if (strncmp(name, "missing ", 8) == 0) case_missing(name + 8);
    else if (strncmp(name, "absent ", 7) == 0) case_absent(name + 7);
    else if (strcmp(name, "broken") == 0) absent("the NVIDIA driver cannot be loaded (");
    else if (strncmp(name, "arch ", 5) == 0) case_arch(atoi(name + 5));
    else if (strcmp(name, "nvrtc") == 0) case_nvrtc();
    else if (strcmp(name, "real") == 0) case_real();
}

/* ---- processes ---- */
static const char *const cases[] = {
    "whole", "plain", "two", "sticky", "faults", "missing r", "missing b", "missing s",
    "missing bs", "missing rbs",
    "absent old", "absent empty", "absent hidden", "absent none", "absent linking",
    "absent mismatch", "absent strange",
    "broken", "arch 35", "arch 120", "nvrtc",
};

/* A folder with the libraries of the case. One that is to be missing is a file that is no library:
 * the loader takes it, and looks no further for a real one. */
static void folder_make(const char *name, const char *stubs, const char *folder)
{
    static const char *const file[] = {
        "libcuda.so.1", "libnvrtc.so.12", "libcublas.so.12", "libcusolver.so.11",
        "libnvrtc.so.13", "libnvrtc.so.11", "libcublas.so.13", "libcublas.so.11",
        "libcusolver.so.12",
    };
    static const char letter[] = "_rbs";
    char from[800], to[800];
    mkdir(folder, 0700);
    for (int i = 0; i < 9; i++) {
        bool gone = i > 3 || (strncmp(name, "missing ", 8) == 0 && strchr(name + 8, letter[i])) ||
                    (i == 0 && strcmp(name, "broken") == 0);
        snprintf(from, sizeof from, "%s/%s", stubs, file[i]);
        snprintf(to, sizeof to, "%s/%s", folder, file[i]);
        if (!gone && symlink(from, to) != 0)
            perror(to);
        else if (gone)
            fclose(fopen(to, "w"));
    }
}

static void case_start(const char *self, const char *name, const char *stubs, const char *folder)
{
    char *const argv[] = { (char *)self, (char *)name, NULL };
    char libraries[600], cache[600];
    snprintf(libraries, sizeof libraries, "%s/%s", folder, name);
    snprintf(cache, sizeof cache, "%s/cache", folder);
    setenv("XDG_CACHE_HOME", cache, 1);
    if (strcmp(name, "nvrtc") != 0 && strcmp(name, "real") != 0) {
        folder_make(name, stubs, libraries);
        setenv("LD_LIBRARY_PATH", libraries, 1);
    }
    execv(self, argv);
    _exit(99);
}

static void case_count(const char *self, const char *name, const char *stubs, const char *folder)
{
    int pipes[2], status;
    char line[300];
    int passed = -1, failed = 0;
    if (pipe(pipes) != 0)
        return;
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        dup2(pipes[1], 1);
        close(pipes[0]);
        close(pipes[1]);
        case_start(self, name, stubs, folder);
    }
    close(pipes[1]);
    FILE *f = fdopen(pipes[0], "r");
    while (fgets(line, sizeof line, f))
        if (sscanf(line, "%d passed, %d failed", &passed, &failed) != 2)
            fputs(line, stdout);
    fclose(f);
    waitpid(child, &status, 0);
    bool ran = passed >= 0 && WIFEXITED(status) && WEXITSTATUS(status) == (failed > 0);
    if (!CHECK(ran) || failed)
        fprintf(stderr, "case `%s`: status %x, %d failed\n", name, status, failed);
    check_passed += passed > 0 ? passed : 0;
    check_failed += failed;
}

static int child(const char *name)
{
    static Ctx one;
    static InterruptFlag interrupt;
    bool real = strcmp(name, "nvrtc") == 0 || strcmp(name, "real") == 0;
    ctx = &one;
    ctx->interrupt = &interrupt;
    mem_init(ctx);
    devices_init(ctx, device_backends);
    void *handle = real || strcmp(name, "broken") == 0 ? NULL : dlopen("libcuda.so.1", RTLD_NOW);
    machine = handle ? dlsym(handle, "stub") : NULL;
    if (!real && strcmp(name, "broken") != 0 && !CHECK(machine != NULL))
        return check_result();
    case_run(name);
    if (ctx->devices)
        devices_free(ctx);
    err_free(ctx->error);
    ctx->error = NULL;
    if (!CHECK(ctx->mem.live == 0))
        fprintf(stderr, "%zu bytes were not given back\n", ctx->mem.live);
    mem_shutdown(ctx);
    return check_result();
}

int main(int argc, char **argv)
{
    char self[500], stubs[520], folder[] = "/tmp/ricci-cuda.XXXXXX", command[64];
    if (argc == 2 && strcmp(argv[1], "real") != 0)
        return child(argv[1]);
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    self[n > 0 ? n : 0] = '\0';
    snprintf(stubs, sizeof stubs, "%s", self);
    *strrchr(stubs, '/') = '\0';
    strcpy(strrchr(stubs, '/'), "/stub");
    if (argc == 2)
        return child("real");
    if (!CHECK(mkdtemp(folder) != NULL))
        return check_result();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        case_count(self, cases[i], stubs, folder);
    snprintf(command, sizeof command, "rm -rf %s", folder);
    CHECK(system(command) == 0);
    return check_result();
}
