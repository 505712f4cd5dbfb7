/* Generated kernels on CUDA devices: NVRTC makes machine code of them for the device's compute
 * capability, or, where it is older than the device, PTX that the driver finishes; images are kept
 * on disk. Arithmetic is the host's: no contraction of a*b+c, divisions and roots correctly
 * rounded, small numbers not flushed (NVRTC's defaults but for the first). */
#include "kernels/cuda/cuda.h"

#include "core/base/mem.h"
#include "kernels/device/device_cache.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ARCHS = 64, ARGUMENTS = 256, PLAIN_SHARED = 48 << 10 };

/* ---- source to image ---- */
bool cuda_arch_option(const Nvrtc *f, int arch, char *out, size_t cap, bool *binary)
{
    int count = 0, archs[ARCHS], best = 0;
    if (f->GetNumSupportedArchs(&count) != 0 || count <= 0 || count > ARCHS ||
        f->GetSupportedArchs(archs) != 0)
        return false;
    for (int i = 0; i < count; i++)
        if (archs[i] <= arch && archs[i] > best)
            best = archs[i];
    *binary = best == arch;
    snprintf(out, cap, "--gpu-architecture=%s_%d", *binary ? "sm" : "compute", best);
    return best > 0;
}

/* What the compiler has to say, from its first error on, in one line. */
static void log_take(Ctx *ctx, const Nvrtc *f, nvrtcProgram program, char *log, size_t cap)
{
    size_t bytes = 0;
    char *all = NULL;
    if (f->GetProgramLogSize(program, &bytes) == 0 && bytes > 1 &&
        (all = mem_try_alloc(ctx, bytes + 1))) {
        if (f->GetProgramLog(program, all) != 0)
            all[0] = '\0';
        all[bytes] = '\0';
        const char *error = strstr(all, "error"), *from = all;
        for (const char *p = all; error && p < error; p++)
            from = *p == '\n' ? p + 1 : from;
        snprintf(log, cap, "%s", from);
        mem_free(ctx, all, bytes + 1);
    }
    for (char *p = log; *p; p++)
        *p = *p == '\n' || *p == '\t' ? ' ' : *p;
}

static char *image_take(Ctx *ctx, const Nvrtc *f, nvrtcProgram program, bool binary, size_t *bytes)
{
    int status = binary ? f->GetCUBINSize(program, bytes) : f->GetPTXSize(program, bytes);
    char *image = status == 0 && *bytes ? mem_try_alloc(ctx, *bytes) : NULL;
    if (image && (binary ? f->GetCUBIN(program, image) : f->GetPTX(program, image)) == 0)
        return image;
    if (image)
        mem_free(ctx, image, *bytes);
    return NULL;
}

static const char *const plain_options[] = { "--fmad=false", "-default-device", "--std=c++17" };

char *cuda_compile(Ctx *ctx, const Nvrtc *f, const char *arch, bool binary, const char *source,
                   size_t *bytes, char *log, size_t log_cap)
{
    const char *option[] = { arch, plain_options[0], plain_options[1], plain_options[2] };
    nvrtcProgram program = NULL;
    char *image = NULL;
    snprintf(log, log_cap, "NVRTC gave no reason");
    if (f->CreateProgram(&program, source, "kernel.cu", 0, NULL, NULL) != 0)
        return NULL;
    int status = f->CompileProgram(program, 4, option);
    if (status == 0)
        image = image_take(ctx, f, program, binary, bytes);
    else
        log_take(ctx, f, program, log, log_cap);
    f->DestroyProgram(&program);
    return image;
}

/* ---- image to kernel ---- */
/* The module of what `key` makes: kept on disk, unless the driver does not take that, or
 * compiled. */
static DevStatus module_load(Device *d, const char *const *key, const char *arch, bool binary,
                             DevKernel *k)
{
    CudaState *s = cuda_state(d);
    const CudaDriver *f = &s->l->driver;
    size_t bytes = 0;
    char log[sizeof d->fault - 100];
    char *image = device_cache_get(s->ctx, key, &bytes);
    if (image) {
        DevStatus status = cuda_check(d, f->module_load(&k->module, image));
        mem_free(s->ctx, image, bytes);
        if (status == DEV_OK || s->lost)
            return status;
        device_cache_drop(key);
    }
    image = cuda_compile(s->ctx, &s->l->nvrtc, arch, binary, key[3], &bytes, log, sizeof log);
    if (!image)
        return cuda_fault(d, DEV_FAILED, "the kernel %s does not compile: %s", k->name, log);
    DevStatus status = cuda_check(d, f->module_load(&k->module, image));
    if (status == DEV_OK)
        device_cache_put(key, image, bytes);
    mem_free(s->ctx, image, bytes);
    return status;
}

static DevStatus kernel_load(Device *d, const char *const *key, const char *arch, bool binary,
                             DevKernel *k)
{
    const CudaDriver *f = &cuda_state(d)->l->driver;
    DevStatus status = module_load(d, key, arch, binary, k);
    if (status != DEV_OK)
        return status;
    status = cuda_check(d, f->module_function(&k->function, k->module, k->name));
    if (status != DEV_OK)
        f->module_unload(k->module);
    return status;
}

DevStatus cuda_build(Device *d, const char *source, const char *entry, DevKernel **out)
{
    CudaState *s = cuda_state(d);
    char arch[48], version[32];
    bool binary;
    DevStatus status = cuda_enter(d);
    if (status != DEV_OK)
        return status;
    if (!s->l->compiles)
        return cuda_fault(d, DEV_LACKS, "no libnvrtc, which compiles kernels");
    if (strlen(entry) >= sizeof ((DevKernel *)0)->name)
        return cuda_fault(d, DEV_LACKS, "the name %s is too long for a kernel", entry);
    snprintf(version, sizeof version, "cuda %d", s->l->compiler);
    if (!cuda_arch_option(&s->l->nvrtc, s->arch, arch, sizeof arch, &binary))
        return cuda_fault(d, DEV_LACKS, "NVRTC %d.%d makes nothing for compute capability %d.%d",
                          s->l->compiler / 1000,
                          s->l->compiler % 1000 / 10, s->arch / 10, s->arch % 10);
    const char *key[] = { version, arch, plain_options[0], source, NULL };
    DevKernel *k = mem_try_alloc(s->ctx, sizeof *k);
    if (!k)
        return cuda_fault(d, DEV_NO_MEMORY, "there is no memory left for a kernel");
    *k = (DevKernel){ .module = NULL };
    snprintf(k->name, sizeof k->name, "%s", entry);
    status = kernel_load(d, key, arch, binary, k);
    if (status == DEV_OK)
        *out = k;
    else
        mem_free(s->ctx, k, sizeof *k);
    return status;
}

void cuda_drop(Device *d, DevKernel *k)
{
    if (!d->opened) {                           /* closed: the module went with the context */
        mem_free(d->state, k, sizeof *k);
        return;
    }
    CudaState *s = cuda_state(d);
    /* where the device was given up too: the host's part goes */
    cuda_enter(d);
    s->l->driver.module_unload(k->module);
    mem_free(s->ctx, k, sizeof *k);
}

/* ---- launches ---- */
/* Limits of all devices since compute capability 3.0. */
static DevStatus grid_check(Device *d, const DevKernel *k, const DevGrid *g)
{
    const size_t threads = g->local[0] * g->local[1] * g->local[2];
    if (g->groups[0] > INT_MAX || g->groups[1] > 65535 || g->groups[2] > 65535)
        return cuda_fault(d, DEV_LACKS,
                          "the kernel %s wants %zu x %zu x %zu blocks, and a grid has at most "
                          "2147483647 x 65535 x 65535", k->name, g->groups[0], g->groups[1],
                          g->groups[2]);
    if (threads > (size_t)cuda_state(d)->threads || g->local[2] > 64)
        return cuda_fault(d, DEV_LACKS, "the kernel %s wants %zu threads in a block, and there are "
                                        "at most %d", k->name,
                          threads, cuda_state(d)->threads);
    return DEV_OK;
}

/* More local memory than every kernel may have is allowed to each by name. */
static DevStatus shared_allow(Device *d, DevKernel *k, size_t bytes)
{
    if (bytes <= PLAIN_SHARED || bytes <= k->shared)
        return DEV_OK;
    if (bytes > INT_MAX)
        return cuda_fault(d, DEV_LACKS, "the kernel %s wants %zu bytes of local memory",
                          k->name, bytes);
    DevStatus status =
        cuda_check(d, cuda_state(d)->l->driver.function_set(k->function, CU_FUNCTION_MAX_SHARED,
                                                                           (int)bytes));
    k->shared = status == DEV_OK ? (unsigned)bytes : k->shared;
    return status;
}

/* Memory becomes two parameters, where it begins and the byte to start from; a value one. */
DevStatus cuda_launch(Device *d, DevKernel *k, const DevGrid *g, const DevArg *args, int n)
{
    CudaState *s = cuda_state(d);
    void *parameter[2 * ARGUMENTS];
    uint64_t memory[2 * ARGUMENTS];
    int used = 0;
    DevStatus status = cuda_enter(d);
    if (status == DEV_OK)
        status = grid_check(d, k, g);
    if (status == DEV_OK)
        status = shared_allow(d, k, g->shared);
    if (status != DEV_OK)
        return status;
    if (n > ARGUMENTS)
        return cuda_fault(d, DEV_LACKS, "the kernel %s has %d arguments, and %d are the most",
                          k->name, n, ARGUMENTS);
    for (int i = 0; i < n; i++) {
        if (!args[i].mem) {
            parameter[used++] = (void *)(uintptr_t)args[i].value;
            continue;
        }
        memory[used] = args[i].mem->handle;
        memory[used + 1] = args[i].at;
        parameter[used] = &memory[used];
        parameter[used + 1] = &memory[used + 1];
        used += 2;
    }
    if (g->groups[0] == 0 || g->groups[1] == 0 || g->groups[2] == 0)
        return DEV_OK;
    snprintf(s->last, sizeof s->last, "%s", k->name);
    s->behind++;
    return cuda_check(d, s->l->driver.launch(k->function, (unsigned)g->groups[0],
                                             (unsigned)g->groups[1],
                                             (unsigned)g->groups[2], (unsigned)g->local[0],
                                             (unsigned)g->local[1],
                                             (unsigned)g->local[2], (unsigned)g->shared, s->stream,
                                             parameter, NULL));
}
