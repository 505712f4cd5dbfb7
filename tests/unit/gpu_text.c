/* The text of generated kernels, compiled for CUDA without a GPU where NVRTC is installed: every
 * operation in every dtype, reductions in all their forms, rows, transposes, products, attention,
 * entries, both widths of positions. A device that does nothing but compile stands behind gpu.c, so what is
 * compiled is what would run. RICCI_NVRTC names a library to use before those that are looked
 * for. A compile takes 50 ms: one kernel in twenty, and with RICCI_SOAK all. */
#include "kernels/backends/backends.h"
#include "kernels/gpu/gpu.h"
#include "kernels/gpu/gpu_attention.h"
#include "kernels/gpu/gpu_sparse.h"
#include "tests/unit/check.h"

#include <dlfcn.h>
#include <stdlib.h>

static Ctx ctx_storage, *ctx = &ctx_storage;

/* ---- NVRTC, without its header ---- */
typedef struct Nvrtc {
    int (*create)(void **, const char *, const char *, int, const char *const *,
                  const char *const *);
    int (*compile)(void *, int, const char *const *);
    int (*log_size)(void *, size_t *);
    int (*log)(void *, char *);
    int (*destroy)(void **);
} Nvrtc;

static bool load_nvrtc(Nvrtc *n)
{
    const char *names[] = { getenv("RICCI_NVRTC"), "libnvrtc.so.13", "libnvrtc.so.12",
                            "libnvrtc.so.11", "libnvrtc.so" };
    void *so = NULL;
    for (size_t i = 0; !so && i < sizeof names / sizeof *names; i++)
        so = names[i] && *names[i] ? dlopen(names[i], RTLD_NOW | RTLD_LOCAL) : NULL;
    if (!so)
        return false;
    *(void **)&n->create = dlsym(so, "nvrtcCreateProgram");
    *(void **)&n->compile = dlsym(so, "nvrtcCompileProgram");
    *(void **)&n->log_size = dlsym(so, "nvrtcGetProgramLogSize");
    *(void **)&n->log = dlsym(so, "nvrtcGetProgramLog");
    *(void **)&n->destroy = dlsym(so, "nvrtcDestroyProgram");
    return n->create && n->compile && n->log_size && n->log && n->destroy;
}

/* ---- a device that compiles ---- */
static Nvrtc nvrtc;
static bool have;
static int kernels, every;      /* one in so many is compiled */

static DevStatus nothing(Device *d) { (void)d; return DEV_OK; }
static void nothing_to_close(Device *d) { (void)d; }
static void nothing_to_drop(Device *d, DevKernel *k) { (void)d, (void)k; }
static void nothing_to_release(Device *d, DevMem *m) { (void)d, (void)m; }

static DevStatus some_memory(Device *d, size_t bytes, DevMem *m)
{
    (void)d;
    *m = (DevMem){ 1, bytes };
    return DEV_OK;
}

static DevStatus no_put(Device *d, const DevMem *m, size_t at, const void *from, size_t bytes)
{
    (void)d, (void)m, (void)at, (void)from, (void)bytes;
    return DEV_OK;
}

static DevStatus zeros(Device *d, const DevMem *m, size_t at, void *to, size_t bytes)
{
    (void)d, (void)m, (void)at;
    memset(to, 0, bytes);
    return DEV_OK;
}

static DevStatus no_launch(Device *d, DevKernel *k, const DevGrid *g, const DevArg *a, int n)
{
    (void)d, (void)k, (void)g, (void)a, (void)n;
    return DEV_OK;
}

static void compile_for(const char *source, const char *arch)
{
    void *program = NULL;
    const char *options[] = { arch, "--fmad=false", "--std=c++17" };
    if (!CHECK(nvrtc.create(&program, source, "nest.cu", 0, NULL, NULL) == 0))
        return;
    bool fine = nvrtc.compile(program, 3, options) == 0;
    if (!CHECK(fine) && check_failed < 4) {
        size_t size = 0;
        nvrtc.log_size(program, &size);
        char *log = calloc(size + 1, 1);
        nvrtc.log(program, log);
        fprintf(stderr, "%s\n%s\n", log, source);
        free(log);
    }
    nvrtc.destroy(&program);
}

static DevStatus build(Device *d, const char *source, const char *entry, DevKernel **out)
{
    (void)d, (void)entry;
    kernels++;
    *out = (DevKernel *)d;
    if (have && kernels % every == 0)
        compile_for(source, kernels % 8 ? "--gpu-architecture=compute_90"
                                        : "--gpu-architecture=compute_75");
    return DEV_OK;
}

static const DeviceOps compiler_ops = {
    .backend = "compiler", .open = nothing, .alloc = some_memory, .release = nothing_to_release,
    .put = no_put,
    .get = zeros, .sync = nothing, .close = nothing_to_close, .build = build,
    .drop = nothing_to_drop, .launch = no_launch,
    .forget = gpu_forget, .pack = gpu_pack,
};

/* ---- what is compiled ---- */
static Device *device;

static const DType all_dtypes[] =
    { DT_F64, DT_F32, DT_F16, DT_BF16, DT_BOOL, DT_I8, DT_U8, DT_I32, DT_I64 };
enum { DTYPES = sizeof all_dtypes / sizeof *all_dtypes };

static int load_of(Nest *n, DType dt, int64_t s0, int64_t s1, int64_t s2)
{
    NestLoad *load = nest_load_new(ctx, n, nest_slot(n), dt, "A");
    load->stride[0] = s0, load->stride[1] = s1, load->stride[2] = s2;
    return nest_load(ctx, n);
}

static Nest *nest_of(int out_rank, int indices, int64_t a, int64_t b, int64_t c)
{
    Nest *n = nest_new(ctx);
    int64_t extent[] = { a, b, c };
    for (int i = 0; i < indices; i++)
        nest_index(n, "i", extent[i], 0, 1);
    n->out_rank = out_rank;
    return n;
}

/* Runs it on the compiler, and frees it. */
static void run(Nest *n, int root)
{
    DevMem mem = { 1, 1 << 20 };
    DevArg data[128], out = { .mem = &mem };
    Lack why;
    n->root = root;
    for (int i = 0; i < n->slots; i++)
        data[i] = out;
    if (gpu_takes(device, n, &why))
        gpu_nest(ctx, device, n, NULL, &out, data);
    nest_free(ctx, n);
}

/* Every operation of a dtype, in turn chosen by a number: one kernel. */
static void all_operations(DType dt, bool bools)
{
    Nest *n = nest_of(1, 1, 1000, 0, 0);
    int x[3], all = -1, which = nest_number(ctx, n, 0);
    for (int k = 0; k < 3; k++)
        x[k] = load_of(n, dt, 1, 0, 0);
    for (int op = 0; op < EW_COUNT; op++) {
        if (ew_compute_dtype((EwOp)op, dt) != dt ||
            (ew_result_dtype((EwOp)op, dt) == DT_BOOL) != bools)
            continue;
        int args[] = { x[0], x[1], x[2] };
        if (ew_info[op].result == RES_WHERE)
            args[0] = nest_ew(ctx, n, EW_LESS, dt, x, 2);
        int y = nest_ew(ctx, n, (EwOp)op, dt, args, ew_info[op].arity);
        int pair[] = { which, nest_cast(ctx, n, load_of(n, DT_I32, 0, 0, 0), DT_I64) };
        int pick[] = { nest_ew(ctx, n, EW_EQUAL, DT_I64, pair, 2), y, all };
        all = all < 0 ? y : nest_ew(ctx, n, EW_WHERE, (DType)n->node[y].dtype, pick, 3);
    }
    if (all >= 0)
        run(n, all);
    else
        nest_free(ctx, n);
}

static void reductions(DType dt)
{
    /* items, groups, shares */
    static const int64_t sizes[][2] = { { 5000, 10 }, { 100, 300 }, { 2, 100000 } };
    for (int op = 0; op <= NEST_ARGMAX; op++)
        for (int k = 0; k < 3; k++) {
            if ((op == NEST_ANY || op == NEST_ALL) && dt != DT_BOOL)
                continue;
            Nest *n = nest_of(1, 2, sizes[k][0], sizes[k][1], 0);
            run(n, nest_reduce(ctx, n, (NestReduce)op, load_of(n, dt, sizes[k][1], 1, 0), 2));
        }
}

static void others(DType dt)
{
    Nest *n = nest_of(2, 2, 200, 300, 0);
    run(n, load_of(n, dt, 1, 200, 0));
    n = nest_of(2, 2, 200, 300, 0);
    run(n, nest_cast(ctx, n, load_of(n, dt, -3, 900, 0), dt == DT_F16 ? DT_BF16 : DT_F64));
    n = nest_of(1, 1, INT64_C(1) << 40, 0, 0);
    run(n, nest_cast(ctx, n, load_of(n, dt, 1, 0, 0), DT_F16));
    n = nest_of(2, 3, 64, 64, 64);
    int args[] = { load_of(n, dt, 64, 0, 1), load_of(n, dt, 0, 1, 64) };
    DType compute = ew_compute_dtype(EW_MULTIPLY, dt);
    run(n, nest_reduce(ctx, n, NEST_SUM, nest_ew(ctx, n, EW_MULTIPLY, compute, args, 2), 4));
    n = nest_of(2, 3, 64, 300, 300);                            /* x / sum(x) along rows */
    int sum = nest_reduce(ctx, n, NEST_SUM, load_of(n, dt, 300, 0, 1), 4);
    int pair[] = { load_of(n, dt, 300, 1, 0), sum };
    compute = ew_compute_dtype(EW_DIVIDE, dtype_promote(dt, (DType)n->node[sum].dtype));
    run(n, nest_ew(ctx, n, EW_DIVIDE, compute, pair, 2));
}

static void gathered(void)
{
    Nest *n = nest_of(1, 1, 1000, 0, 0);
    NestLoad *load = nest_load_new(ctx, n, nest_slot(n), DT_F32, "A");
    int table = nest_slot(n);
    nest_gather_new(ctx, load, table, 3)->stride[0] = 1;
    run(n, nest_load(ctx, n));
}

/* All parts, biases and widths. */
static void attention(DType dt)
{
    static const int64_t widths[] = { 16, 64, 128, 300 };
    DevMem mem = { 1, 1 << 20 };
    DevArg at = { .mem = &mem };
    for (int part = ATTENTION_OUT; part <= ATTENTION_DBIAS; part++)
        for (int biased = BIAS_NONE; biased <= BIAS_ADDS; biased++)
            for (int w = 0; w < 4; w++) {
                GpuAttention a = { .dt = dt, .heads = 6, .extent = { 1, 1, 2, 3 }, .n = 100,
                                   .m = 90, .d = widths[w], .e = widths[w], .left = 190,
                                   .right = 190, .shift = -10, .scale = 0.5, .logs = true,
                                   .biased = (AttentionBias)biased, .lse = at, .rest = at,
                                   .delta = at, .rows = true, .cols = true };
                a.q.at = a.k.at = a.v.at = a.w.at = a.bias.at = at;
                gpu_attention(ctx, device, &a, (GpuAttentionPart)part, &at);
            }
}

/* Entries: rows of every length, for one vector and for several. */
static void entries(DType dt)
{
    DevMem mem = { 1, 1 << 20 };
    DevArg at = { .mem = &mem };
    for (int64_t each = 1; each <= 100; each *= 10)
        for (int64_t cols = 1; cols <= 10; cols += 9)
            gpu_csr(ctx, device, &(GpuCsr){ .dtype = dt, .rows = 300, .entries = 300 * each,
                                            .cols = cols, .count = 2, .pattern = at, .value = at,
                                            .x = at, .y = at, .row = cols, .col = 1 });
}

/* A device whose groups are too small, or have too little memory, says so. */
static void small_groups(void)
{
    Device small = *device;
    Lack why;
    CHECK(gpu_attention_takes(&small, DT_F32, &why) && gpu_attention_takes(&small, DT_F64, &why));
    small.group = 64;
    CHECK(!gpu_attention_takes(&small, DT_F32, &why) && why.kind == LACK_GROUP);
    small.group = 256, small.local = 32 << 10;
    CHECK(gpu_attention_takes(&small, DT_F32, &why) && gpu_attention_takes(&small, DT_F64, &why));
    small.local = 16 << 10;
    CHECK(!gpu_attention_takes(&small, DT_F16, &why) && why.kind == LACK_GROUP);
}

int main(void)
{
    mem_init(ctx);
    devices_init(ctx, device_backends);
    have = load_nvrtc(&nvrtc);
    every = getenv("RICCI_SOAK") ? 1 : 20;
    device = device_add(ctx, &compiler_ops, "compiler");
    device->caps = DEVCAP_SOURCE | DEVCAP_CUDA;
    device->dtypes = ~0u;
    for (int i = 0; i < DTYPES; i++) {
        all_operations(all_dtypes[i], false);
        all_operations(all_dtypes[i], true);
        reductions(all_dtypes[i]);
        others(all_dtypes[i]);
    }
    gathered();
    for (int i = 0; i < 4; i++)
        attention(all_dtypes[i]);
    entries(DT_F32);
    entries(DT_F64);
    small_groups();
    CHECK(kernels > 100);
    if (!have)
        printf("not run: NVRTC compile of %d kernels (no libnvrtc)\n", kernels);
    else
        printf("compiled %d of %d kernels\n", kernels / every, kernels);
    devices_free(ctx);
    CHECK(ctx->mem.live == 0);
    mem_shutdown(ctx);
    return check_result();
}
