/* OpenCL behind the vtable of devices: memory, copies, kernels and their cache on disk, products,
 * and what a driver that is missing or refuses says. Needs a platform (PoCL is enough); where
 * there is none, that is what is tested. */
#include "kernels/backends/backends.h"
#include "kernels/device/device_cache.h"
#include "kernels/opencl/opencl.h"

#include "check.h"

#include <dirent.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static const char *const scale_text =
    "__kernel void scale(__global float *y, long at_y, __global const float *x, long at_x, float "
    "by, long n)\n"
    "{\n"
    "    y = (__global float *)((__global char *)y + at_y);\n"
    "    x = (__global const float *)((__global const char *)x + at_x);\n"
    "    for (long i = get_global_id(0); i < n; i += get_global_size(0))\n"
    "        y[i] = x[i] * by;\n"
    "}\n";

static Device *first(Ctx *ctx)
{
    return device_find(ctx, "opencl");
}

/* ---- memory and copies ---- */
static void test_copies(Ctx *ctx, Device *d)
{
    char out[64], from[64], to[64];
    DevMem m, other;
    for (int i = 0; i < 64; i++)
        from[i] = (char)(i * 7 + 1);
    CHECK(d->ops->alloc(d, 64, &m) == DEV_OK && m.handle);
    CHECK(d->ops->alloc(d, 64, &other) == DEV_OK && other.handle != m.handle);
    CHECK(d->ops->put(d, &m, 0, from, 64) == DEV_OK);
    CHECK(d->ops->get(d, &m, 0, to, 64) == DEV_OK && memcmp(from, to, 64) == 0);
    CHECK(d->ops->put(d, &m, 10, from, 5) == DEV_OK && d->ops->get(d, &m, 8, to, 8) == DEV_OK);
    CHECK(to[0] == from[8] && to[1] == from[9] && memcmp(to + 2, from, 5) == 0 &&
          to[7] == from[15]);
    CHECK(d->ops->copy(d, &other, 3, &m, 10, 5) == DEV_OK &&
          d->ops->get(d, &other, 3, to, 5) == DEV_OK);
    CHECK(memcmp(to, from, 5) == 0);
    CHECK(d->ops->put(d, &m, 0, from, 64) == DEV_OK);
    /* ranges of one buffer that overlap, both ways */
    for (int step = -9; step <= 9; step += 6) {
        CHECK(d->ops->put(d, &m, 0, from, 64) == DEV_OK);
        CHECK(d->ops->copy(d, &m, (size_t)(16 + step), &m, 16, 32) == DEV_OK);
        memcpy(out, from, 64);
        memmove(out + 16 + step, out + 16, 32);
        CHECK(d->ops->get(d, &m, 0, to, 64) == DEV_OK && memcmp(to, out, 64) == 0);
    }
    CHECK(d->ops->copy(d, &m, 8, &m, 8, 16) == DEV_OK);
    CHECK(d->ops->put(d, &m, 60, from, 5) == DEV_FAILED && strstr(d->fault, "outside"));
    CHECK(d->ops->get(d, &m, SIZE_MAX, to, 2) == DEV_FAILED);
    CHECK(d->ops->copy(d, &m, 0, &other, 63, 2) == DEV_FAILED);
    CHECK(d->ops->put(d, &m, 64, from, 0) == DEV_OK && d->ops->get(d, &m, 64, to, 0) == DEV_OK);
    d->ops->release(d, &m);
    d->ops->release(d, &other);
    CHECK(!m.handle);
    d->ops->release(d, &m);
    CHECK(d->ops->alloc(d, 0, &m) == DEV_OK && m.handle);
    CHECK(d->ops->put(d, &m, 0, from, 0) == DEV_OK && d->ops->copy(d, &m, 0, &m, 0, 0) == DEV_OK);
    d->ops->release(d, &m);
    (void)ctx;
}

static void test_too_much(Ctx *ctx, Device *d)
{
    DevMem m = { 0 };
    size_t live = d->live;
    CHECK(d->ops->alloc(d, (size_t)1 << 40, &m) != DEV_OK && !m.handle &&
          strstr(d->fault, "at most"));
    CHECK_RAISES(ctx, ERR_MEMORY, m = device_alloc(ctx, d, (size_t)1 << 40));
    CHECK_RAISES(ctx, ERR_MEMORY, m = device_alloc(ctx, d, SIZE_MAX - 100));
    CHECK_RAISES(ctx, ERR_MEMORY, m = device_alloc(ctx, d, cl_state(d)->largest + 1));
    CHECK(ctx->error && strstr(ctx->error->message, "where one tensor has at most "));
    CHECK(d->live == live && !m.handle);
    CHECK(d->ops->alloc(d, 1000, &m) == DEV_OK);        /* it goes on */
    d->ops->release(d, &m);
}

/* ---- kernels ---- */
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

static void test_kernels(Ctx *ctx, Device *d)
{
    DevKernel *k = NULL, *other = NULL;
    DevGrid grid = { .groups = { 1, 1, 1 }, .local = { 1, 1, 1 } };
    (void)ctx;
    CHECK(d->ops->build(d, scale_text, "scale", &k) == DEV_OK && k);
    CHECK(scales(d, k, 1000, 2) && scales(d, k, 1, -3) && scales(d, k, 0, 5));
    CHECK(d->ops->build(d, scale_text, "scales", &other) == DEV_FAILED && !other);
    CHECK(strstr(d->fault, "CL_INVALID_KERNEL_NAME"));
    CHECK(d->ops->build(d, "__kernel void f(__global int *x) { x[0] = nosuch; }\n", "f",
                        &other) == DEV_FAILED);
    CHECK(strstr(d->fault, "refused the kernel f: ") && strstr(d->fault, "nosuch") && !other);
    CHECK(d->ops->launch(d, k, &grid, NULL, 0) == DEV_FAILED && strstr(d->fault, "given 0"));
    const DevArg bad[] = { { .value = "x", .bytes = 1 }, { .value = "y", .bytes = 1 },
                           { .mem = &(DevMem){ 0, 0 } },
                           { .mem = &(DevMem){ 0, 0 } } };
    CHECK(d->ops->launch(d, k, &grid, bad, 4) == DEV_FAILED &&
          strstr(d->fault, "clSetKernelArg failed with CL_"));
    grid.local[0] = (size_t)1 << 30;
    CHECK(d->ops->launch(d, k, &grid, NULL, 0) == DEV_FAILED && strstr(d->fault, "at most"));
    grid.local[0] = 1, grid.groups[1] = 0;
    CHECK(d->ops->launch(d, k, &grid, NULL, 0) == DEV_OK);           /* nobody works */
    CHECK(scales(d, k, 999, 0.5f));
    d->ops->drop(d, k);
}

/* Local memory that is asked for at the launch is the last argument; and more launches than may be
 * under way, each of which needs the one before. */
static void test_launches(Device *d)
{
    static const char *const text =
        "__kernel void turn(__global int *x, long at, int n, __local int *s)\n"
        "{\n"
        "    int i = get_local_id(0);\n"
        "    s[i] = x[i + at / 4];\n"
        "    barrier(CLK_LOCAL_MEM_FENCE);\n"
        "    x[i + at / 4] = s[n - 1 - i] + 1;\n"
        "}\n";
    enum { N = 16, TIMES = 3 * CL_BEHIND + 1 };
    int x[N], n = N;
    DevKernel *k;
    DevMem m;
    for (int i = 0; i < N; i++)
        x[i] = i * i;
    if (!CHECK(d->ops->build(d, text, "turn", &k) == DEV_OK))
        return;
    CHECK(d->ops->alloc(d, sizeof x, &m) == DEV_OK && d->ops->put(d, &m, 0, x, sizeof x) == DEV_OK);
    const DevGrid grid = { .groups = { 1, 1, 1 }, .local = { N, 1, 1 }, .shared = sizeof x };
    const DevArg args[] = { { .mem = &m }, { .value = &n, .bytes = sizeof n } };
    bool ok = true;
    for (int i = 0; i < TIMES; i++)
        ok = ok && d->ops->launch(d, k, &grid, args, 2) == DEV_OK;
    CHECK(ok && d->ops->sync(d) == DEV_OK && d->ops->get(d, &m, 0, x, sizeof x) == DEV_OK);
    for (int i = 0; i < N; i++)
        ok = ok && x[i] == (N - 1 - i) * (N - 1 - i) + TIMES;
    CHECK(ok);
    d->ops->release(d, &m);
    d->ops->drop(d, k);
}

/* ---- the cache on disk ---- */
static int entries(const char *folder, char last[512])
{
    int n = 0;
    DIR *all = opendir(folder);
    for (struct dirent *e; all && (e = readdir(all));)
        if (e->d_name[0] != '.') {
            n++;
            snprintf(last, 512, "%.200s/%.200s", folder, e->d_name);
        }
    if (all)
        closedir(all);
    return n;
}

static bool builds(Device *d)
{
    DevKernel *k;
    if (d->ops->build(d, scale_text, "scale", &k) != DEV_OK)
        return false;
    bool ok = scales(d, k, 77, 3);
    d->ops->drop(d, k);
    return ok;
}

/* Writes `bytes` over an entry from `at` on; -1: cuts it off there. */
static void damage(const char *path, long at, int bytes)
{
    FILE *f = fopen(path, "r+b");
    if (!f)
        return;
    fseek(f, at, at < 0 ? SEEK_END : SEEK_SET);
    for (int i = 0; i < bytes; i++)
        fputc(0x5a, f);
    fflush(f);
    if (bytes < 0 && ftruncate(fileno(f), at))
        perror(path);
    fclose(f);
}

static bool kept(Device *d)
{
    size_t bytes = 0;
    ClState *s = d->state;
    const char *key[5];
    opencl_key(s, scale_text, key);
    void *found = device_cache_get(s->ctx, key, &bytes);
    if (found)
        mem_free(s->ctx, found, bytes);
    return found != NULL;
}

/* What is damaged is built again; tests/unit/device_cache.c has every way to damage a file. */
static void test_cache(Device *d, const char *folder)
{
    static const struct { long at; int bytes; } damages[] =
        { { 0, 4 }, { 60, 5 }, { -200, 9 }, { 100, -1 } };
    char path[512], was[512];
    ClState *s = d->state;
    const bool pocl = s->pocl;
    /* which has a cache of its own, and needs none of ours */
    s->pocl = false;
    CHECK(builds(d) && kept(d));
    int n = entries(folder, path);
    CHECK(n >= 1);
    for (size_t i = 0; i < sizeof damages / sizeof *damages; i++) {
        for (DIR *all = opendir(folder); all; closedir(all), all = NULL)
            for (struct dirent *e; (e = readdir(all));)
                if (e->d_name[0] != '.') {
                    snprintf(was, sizeof was, "%.200s/%.200s", folder, e->d_name);
                    damage(was, damages[i].at, damages[i].bytes);
                }
        CHECK(!kept(d));
        CHECK(builds(d) && kept(d));
        CHECK(entries(folder, path) == n);
    }
    s->identity[0] ^= 1;                          /* another driver */
    CHECK(!kept(d));
    s->identity[0] ^= 1;
    CHECK(kept(d));
    setenv("XDG_CACHE_HOME", "/proc/none", 1);    /* nothing can be written: nothing is kept */
    CHECK(builds(d) && !kept(d));
    setenv("XDG_CACHE_HOME", "not/absolute", 1);
    CHECK(builds(d));
    CHECK(access("not", F_OK) != 0);
    snprintf(was, sizeof was, "%.*s", (int)(strstr(folder, "/ricci/kernels") - folder), folder);
    setenv("XDG_CACHE_HOME", was, 1);
    CHECK(kept(d));
    s->pocl = pocl;
}

/* ---- products ---- */
typedef struct Side {
    DevMem mem;
    double *host;
    int64_t elements;
} Side;

static double element(const Side *s, const DevMatrix *x, int64_t b, int64_t i, int64_t j)
{
    return s->host[x->at + b * x->batch + (x->transposed ? j * x->ld + i : i * x->ld + j)];
}

static bool fill(Device *d, DType dt, Side *s, bool nan)
{
    size_t size = dt == DT_F64 ? 8 : 4;
    char *bytes = malloc((size_t)s->elements * size);
    s->host = malloc((size_t)s->elements * sizeof(double));
    for (int64_t i = 0; i < s->elements; i++) {
        double x = nan ? NAN : floor(check_uniform() * 16);
        s->host[i] = x;
        if (dt == DT_F64)
            ((double *)bytes)[i] = x;
        else
            ((float *)bytes)[i] = (float)x;
    }
    bool ok = d->ops->alloc(d, (size_t)s->elements * size, &s->mem) == DEV_OK &&
              d->ops->put(d, &s->mem, 0, bytes, (size_t)s->elements * size) == DEV_OK;
    free(bytes);
    return ok;
}

/* What lies between the elements of C must stay; with whole numbers the sums are exact. */
static bool right(Device *d, const DevGemm *g, const Side *a, const Side *b, const Side *c)
{
    size_t size = g->dtype == DT_F64 ? 8 : 4;
    char *bytes = malloc((size_t)c->elements * size);
    double *want = malloc((size_t)c->elements * sizeof *want);
    bool ok = d->ops->get(d, &c->mem, 0, bytes, (size_t)c->elements * size) == DEV_OK;
    memcpy(want, c->host, (size_t)c->elements * sizeof *want);
    for (int64_t q = 0; q < g->count; q++)
        for (int64_t i = 0; i < g->m; i++)
            for (int64_t j = 0; j < g->n; j++) {
                double sum = 0;
                for (int64_t l = 0; l < g->k; l++)
                    sum += element(a, &g->a, q, i, l) * element(b, &g->b, q, l, j);
                want[g->c.at + q * g->c.batch +
                     (g->c.transposed ? j * g->c.ld + i : i * g->c.ld + j)] = sum;
            }
    for (int64_t i = 0; ok && i < c->elements; i++) {
        double x = g->dtype == DT_F64 ? ((double *)bytes)[i] : (double)((float *)bytes)[i];
        ok = x == want[i] || (isnan(x) && isnan(want[i]));
    }
    free(bytes);
    free(want);
    return ok;
}

static DevMatrix matrix(Side *s, int64_t rows, int64_t columns, bool transposed, int64_t at,
                        int64_t wider, int64_t between, int64_t count)
{
    int64_t lies = transposed ? columns : rows, wide = (transposed ? rows : columns) + wider;
    DevMatrix x = { &s->mem, at, wide, lies * wide + between, transposed };
    s->elements = at + count * x.batch + wide;
    return x;
}

typedef struct Case {
    DType dtype;
    int64_t m, n, k, count, at, wider, between;
    DevStatus status;
} Case;

static void test_product(Device *d, const Case *e, bool ta, bool tb, bool tc)
{
    Side a, b, c;
    DevGemm g = { .dtype = e->dtype, .m = e->m, .n = e->n, .k = e->k, .count = e->count };
    g.a = matrix(&a, e->m, e->k, ta, e->at, e->wider, e->between, e->count);
    g.b = matrix(&b, e->k, e->n, tb, 2 * e->at, 2 * e->wider, e->between, e->count);
    g.c = matrix(&c, e->m, e->n, tc, 3 * e->at, e->wider, 3 * e->between, e->count);
    CHECK(fill(d, e->dtype, &a, false) && fill(d, e->dtype, &b, false) &&
          fill(d, e->dtype, &c, true));
    DevStatus status = d->math.gemm(d, &g);
    if (!CHECK(status == e->status && (status != DEV_OK || right(d, &g, &a, &b, &c))))
        fprintf(stderr,
                "%s %lldx%lldx%lld, %lld of them, at %lld, ld + %lld, transposed %d %d %d: %d %s\n",
                e->dtype == DT_F64 ? "f64" : "f32", (long long)e->m, (long long)e->k,
                (long long)e->n,
                (long long)e->count, (long long)e->at, (long long)e->wider, ta, tb, tc,
                status, d->fault);
    Side *all[] = { &a, &b, &c };
    for (int i = 0; i < 3; i++) {
        d->ops->release(d, &all[i]->mem);
        free(all[i]->host);
    }
}

static void test_refused(Device *d)
{
    DevMem none = { 0, 0 };
    DevGemm g = { .dtype = DT_F16, .m = 1, .n = 1, .k = 1, .count = 1,
                  .a = { .mem = &none, .ld = 1 },
                  .b = { .mem = &none, .ld = 1 }, .c = { .mem = &none, .ld = 1 } };
    CHECK(d->math.gemm(d, &g) == DEV_LACKS && strstr(d->fault, "dtype"));
    g.dtype = DT_F32, g.a.at = (int64_t)1 << 31;
    CHECK(d->math.gemm(d, &g) == DEV_LACKS);
    g.a.at = 0, g.m = 2, g.a.ld = 0;                    /* one row for all: a broadcast view */
    CHECK(d->math.gemm(d, &g) == DEV_LACKS);
}

/* What CLBlast is not asked for; and, as it compiles for seconds, in the long campaign only, what
 * it is: all kinds of products. */
static void test_products(Device *d)
{
    static const Case cases[] = {
        { DT_F32, 4, 3, 0, 2, 1, 2, 5, DEV_OK }, { DT_F32, 0, 3, 4, 1, 0, 0, 0, DEV_OK },
        { DT_F32, 3, 0, 4, 0, 0, 0, 0, DEV_OK }, { DT_F32, 6, 5, 4, 7, 3, 0, 0, DEV_LACKS },
        { DT_F32, 6, 5, 4, 2, 0, 1, 0, DEV_LACKS },
    };
    static const Case more[] = {
        { DT_F32, 5, 7, 3, 1, 0, 0, 0, DEV_OK }, { DT_F32, 33, 17, 65, 1, 11, 3, 0, DEV_OK },
        { DT_F32, 1, 1, 1, 1, 0, 0, 0, DEV_OK }, { DT_F32, 1, 9, 4, 1, 2, 0, 0, DEV_OK },
        { DT_F32, 64, 64, 64, 3, 5, 2, 9, DEV_OK }, { DT_F64, 9, 8, 7, 1, 4, 1, 0, DEV_OK },
        { DT_F32, 6, 5, 4, 7, 0, 0, 0, DEV_OK }, { DT_F64, 6, 5, 4, 3, 0, 0, 0, DEV_OK },
        { DT_F32, 192, 128, 160, 1, 3, 1, 0, DEV_OK },
        { DT_F32, 256, 128, 128, 2, 0, 0, 0, DEV_OK },
        { DT_F32, 128, 128, 128, 3, 128, 0, 64, DEV_OK },
        { DT_F32, 640, 512, 576, 1, 0, 0, 0, DEV_OK },
        { DT_F64, 512, 512, 512, 1, 7, 1, 0, DEV_OK },
        { DT_F32, 512, 512, 512, 2, 0, 0, 0, DEV_OK },
    };
    test_refused(d);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        test_product(d, &cases[i], false, false, false);
    for (size_t i = 0; getenv("RICCI_SOAK") && i < sizeof more / sizeof *more; i++)
        for (int t = 0; t < 8; t++)
            if (device_holds(d, more[i].dtype))
                test_product(d, &more[i], t & 1, t & 2, t & 4);
}

/* ---- lives ---- */
static void on_signal(int number) { (void)number; }

/* A driver's handlers are not ours: LLVM has one for SIGINT. */
static void set_signals(void)
{
    signal(SIGINT, on_signal);
    signal(SIGBUS, on_signal);
    signal(SIGPIPE, SIG_IGN);
}
static void test_signals(void)
{
    struct sigaction now;
    CHECK(sigaction(SIGINT, NULL, &now) == 0 && now.sa_handler == on_signal);
    CHECK(sigaction(SIGBUS, NULL, &now) == 0 && now.sa_handler == on_signal);
    CHECK(sigaction(SIGPIPE, NULL, &now) == 0 && now.sa_handler == SIG_IGN);
    CHECK(sigaction(SIGTERM, NULL, &now) == 0 && now.sa_handler == SIG_DFL);
    sigset_t mask;
    CHECK(pthread_sigmask(SIG_SETMASK, NULL, &mask) == 0 && !sigismember(&mask, SIGINT));
}

static void test_two(void)
{
    Ctx a = { 0 }, b = { 0 };
    InterruptFlag no = 0;
    Ctx *both[] = { &a, &b };
    for (int i = 0; i < 2; i++) {
        mem_init(both[i]);
        both[i]->interrupt = &no;
        devices_init(both[i], device_backends);
        device_open(both[i], first(both[i]));
    }
    CHECK(builds(first(&a)) && builds(first(&b)));
    devices_free(&a);
    CHECK(builds(first(&b)));
    const Case e = { DT_F32, 5, 7, 3, 1, 0, 0, 0, DEV_OK };
    if (first(&b)->math.gemm && getenv("RICCI_SOAK"))
        test_product(first(&b), &e, false, false, false);
    devices_free(&b);
    CHECK(a.mem.live == 0 && b.mem.live == 0);
    mem_shutdown(&a);
    mem_shutdown(&b);
}

/* A process that ends with work under way ends well. */
static void work_and_leave(void)
{
    static const char *const text =
        "__kernel void spin(__global float *x, long at)\n"
        "{\n"
        "    float y = x[get_global_id(0)];\n"
        "    for (int i = 0; i < 3000000; i++)\n"
        "        y = y * 0.999f + 1;\n"
        "    x[get_global_id(0)] = y;\n"
        "}\n";
    Ctx ctx = { 0 };
    InterruptFlag no = 0;
    mem_init(&ctx);
    ctx.interrupt = &no;
    devices_init(&ctx, device_backends);
    Device *d = first(&ctx);
    device_open(&ctx, d);
    DevKernel *k;
    DevMem m;
    const DevGrid grid = { .groups = { 8, 1, 1 }, .local = { 1, 1, 1 } };
    if (d->ops->build(d, text, "spin", &k) != DEV_OK || d->ops->alloc(d, 32, &m) != DEV_OK)
        _exit(3);
    const DevArg arg = { .mem = &m };
    for (int i = 0; i < 4; i++)
        d->ops->launch(d, k, &grid, &arg, 1);
    devices_free(&ctx);
    exit(0);
}

/* In a process of its own: how it ended. */
static int child(const char *self, const char *what)
{
    int status = -1;
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        execl(self, self, what, (char *)NULL);
        _exit(127);
    }
    if (pid > 0)
        waitpid(pid, &status, 0);
    return status;
}

/* With OCL_ICD_VENDORS naming nothing. */
static int without(void)
{
    Ctx ctx = { 0 };
    InterruptFlag no = 0;
    mem_init(&ctx);
    ctx.interrupt = &no;
    devices_init(&ctx, device_backends);
    Device *d = first(&ctx);
    CHECK(d && device_absent(d) && strcmp(d->name, "opencl") == 0);
    CHECK(d && strstr(d->why, "Debian: "));
    CHECK_RAISES(&ctx, ERR_DEVICE, device_open(&ctx, d));
    CHECK(ctx.error && strstr(ctx.error->message, "opencl is not available: "));
    err_free(ctx.error);
    devices_free(&ctx);
    return check_failed != 0;
}

static void test_errors(void)
{
    CHECK(strstr(opencl_error(-4), "CL_MEM_OBJECT_ALLOCATION_FAILURE: "));
    CHECK(strstr(opencl_error(-2045), "16-bit"));
    CHECK(strstr(opencl_error(12345), "does not define"));
}

/* Our cache is empty at first; PoCL's own, which would lie beside it, stays where it was. */
static void keep_compiled(void)
{
    const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    char path[400];
    snprintf(path, sizeof path, "%s%s/pocl/kcache", cache ? cache : home, cache ? "" : "/.cache");
    if (cache || home)
        setenv("POCL_CACHE_DIR", path, 0);
}

int main(int argc, char **argv)
{
    const char *tmp = getenv("TMPDIR");
    char folder[256], entries_at[300], command[300];
    InterruptFlag no = 0;
    Ctx ctx = { 0 };
    if (argc > 1 && strcmp(argv[1], "without") == 0)
        return without();
    if (argc > 1)
        work_and_leave();
    snprintf(folder, sizeof folder, "%s/ricci-opencl.XXXXXX", tmp ? tmp : "/tmp");
    if (!mkdtemp(folder))
        return 1;
    keep_compiled();
    setenv("XDG_CACHE_HOME", folder, 1);
    snprintf(entries_at, sizeof entries_at, "%s/ricci/kernels", folder);
    mem_init(&ctx);
    ctx.interrupt = &no;
    test_errors();
    set_signals();
    devices_init(&ctx, device_backends);
    Device *d = first(&ctx);
    CHECK(d != NULL);
    if (device_absent(d))
        printf("not run: opencl: %s\n", d->why);
    else {
        device_open(&ctx, d);
        CHECK(d->caps & DEVCAP_SOURCE && d->title[0] && d->memory > 0 && device_holds(d, DT_F32));
        CHECK(!device_holds(d, DT_C64) && device_holds(d, DT_I64));
        test_copies(&ctx, d);
        test_too_much(&ctx, d);
        test_kernels(&ctx, d);
        test_launches(d);
        test_cache(d, entries_at);
        test_signals();
        if (d->math.gemm)
            test_products(d);
        else
            printf("not run: products of opencl: %s\n", d->missing);
        test_two();
        CHECK(child(argv[0], "leave") == 0);
    }
    setenv("OCL_ICD_VENDORS", "/nonexistent", 1);
    CHECK(child(argv[0], "without") == 0);
    devices_free(&ctx);
    err_free(ctx.error);
    CHECK(ctx.mem.live == 0);
    mem_shutdown(&ctx);
    snprintf(command, sizeof command, "rm -rf %s", folder);
    CHECK(system(command) == 0);
    return check_result();
}
