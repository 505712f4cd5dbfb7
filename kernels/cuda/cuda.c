/* CUDA devices: which there are, their memory, copies and the stream. See cuda.h for how it goes
 * together; called through DeviceOps alone. */
#include "kernels/cuda/cuda.h"
#include "kernels/cuda/cuda_probe.h"

#include "core/system/c_locale.h"
#include "core/base/mem.h"
#include "kernels/gpu/gpu.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* ---- what went wrong ---- */
DevStatus cuda_fault(Device *d, DevStatus status, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    c_vsnprintf(d->fault, sizeof d->fault, fmt, args);
    va_end(args);
    return status;
}

/* Errors of kernels stay: the driver answers every call with them from then on. Asked again, a wait
 * tells those from the ones that concern one call. */
static bool gave_up(const CudaState *s)
{
    return s->l->driver.stream_wait(s->stream) != CUDA_SUCCESS;
}

static DevStatus lose(Device *d, CudaState *s, const char *text)
{
    int n = snprintf(s->fault, sizeof s->fault, "%.120s", text);
    char *end = s->fault + n;
    size_t left = sizeof s->fault - (size_t)n;
    if (s->behind == 1)
        n = snprintf(end, left, ", in the kernel %s", s->last);
    else if (s->behind)
        n = snprintf(end, left, ", in one of the last %llu kernels (the very last: %s)",
                     (unsigned long long)s->behind, s->last);
    else
        n = 0;
    snprintf(end + n, left - (size_t)n, "; the driver gave the device up until this program ends");
    s->lost = true;
    return cuda_fault(d, DEV_FAILED, "%s", s->fault);
}

DevStatus cuda_check(Device *d, CUresult r)
{
    CudaState *s = cuda_state(d);
    char text[200];
    if (r == CUDA_SUCCESS)
        return DEV_OK;
    cuda_error_text(&s->l->driver, r, text, sizeof text);
    if (r == CUDA_ERROR_OUT_OF_MEMORY)
        return cuda_fault(d, DEV_NO_MEMORY, "%s", text);
    if (s->stream && gave_up(s))
        return lose(d, s, text);
    return cuda_fault(d, DEV_FAILED, "%s", text);
}

DevStatus cuda_enter(Device *d)
{
    CudaState *s = cuda_state(d);
    if (s->lost)
        return cuda_fault(d, DEV_FAILED, "%s", s->fault);
    return cuda_check(d, s->l->driver.context_use(s->context));
}

static DevStatus wait(Device *d)
{
    CudaState *s = cuda_state(d);
    DevStatus status = cuda_check(d, s->l->driver.stream_wait(s->stream));
    s->behind = 0;
    return status;
}

/* ---- opening ---- */
static int attribute(const CudaDriver *f, CUdevice device, int which)
{
    int value = 0;
    f->device_attribute(&value, which, device);
    return value;
}

/* Memory out of the driver's pool, which keeps what is given back: asking the driver itself stops
 * the device. All in the order of the one stream. */
static void pool_open(CudaState *s)
{
    const CudaDriver *f = &s->l->driver;
    uint64_t keep = UINT64_MAX;
    bool there = f->pool_default && f->pool_set && f->pool_trim && f->pool_alloc && f->pool_free &&
                 attribute(f, s->device, CU_ATTRIBUTE_POOLS) != 0;
    if (there && f->pool_default(&s->pool, s->device) == CUDA_SUCCESS)
        f->pool_set(s->pool, CU_POOL_RELEASE_THRESHOLD, &keep);
    else
        s->pool = NULL;
}

static DevStatus state_open(Device *d, CudaState *s)
{
    const CudaDriver *f = &s->l->driver;
    DevMem info;
    DevStatus status = cuda_check(d, f->device(&s->device, d->index));
    if (status == DEV_OK)
        status = cuda_check(d, f->context_retain(&s->context, s->device));
    if (status == DEV_OK)
        status = cuda_check(d, f->context_use(s->context));
    if (status == DEV_OK)
        status = cuda_check(d, f->stream_create(&s->stream, CU_STREAM_NON_BLOCKING));
    if (status != DEV_OK)
        return status;
    s->arch = 10 * attribute(f, s->device, CU_ATTRIBUTE_MAJOR) +
              attribute(f, s->device, CU_ATTRIBUTE_MINOR);
    s->threads = attribute(f, s->device, CU_ATTRIBUTE_MAX_THREADS);
    pool_open(s);
    status = cuda_alloc(d, sizeof(int32_t), &info);
    s->info = info.handle;
    return status;
}

static void cuda_close(Device *d)
{
    CudaState *s = cuda_state(d);
    const CudaDriver *f = &s->l->driver;
    Ctx *ctx = s->ctx;
    if (s->context)
        f->context_use(s->context);
    if (s->stream)
        f->stream_wait(s->stream);
    cuda_math_close(s);
    DevMem info = { s->info, sizeof(int32_t) };
    if (s->info)
        cuda_release(d, &info);
    if (s->pool) {                              /* what was freed in order is free now */
        f->stream_wait(s->stream);
        f->pool_trim(s->pool, 0);
    }
    if (s->stream)
        f->stream_destroy(s->stream);
    if (s->context) {
        f->context_use(NULL);
        f->context_release(s->device);
    }
    mem_free(ctx, s, sizeof *s);
    d->state = ctx;
    d->opened = false;
}

static DevStatus cuda_open(Device *d)
{
    Ctx *ctx = d->state;
    CudaState *s = mem_try_alloc(ctx, sizeof *s);
    if (!s)
        return cuda_fault(d, DEV_NO_MEMORY, "there is no memory left for its state");
    *s = (CudaState){ .ctx = ctx, .l = cuda_libraries() };
    d->state = s;
    DevStatus status = state_open(d, s);
    if (status != DEV_OK)
        cuda_close(d);
    return status;
}

/* ---- memory ---- */
static CUresult take(CudaState *s, CUdeviceptr *at, size_t bytes)
{
    const CudaDriver *f = &s->l->driver;
    if (!s->pool)
        return f->memory_alloc(at, bytes);
    CUresult r = f->pool_alloc(at, bytes, s->stream);
    if (r != CUDA_ERROR_OUT_OF_MEMORY || f->stream_wait(s->stream) != CUDA_SUCCESS)
        return r;
    f->pool_trim(s->pool, 0);                   /* pieces it kept, none of which is large enough */
    return f->pool_alloc(at, bytes, s->stream);
}

DevStatus cuda_alloc(Device *d, size_t bytes, DevMem *m)
{
    CudaState *s = cuda_state(d);
    CUdeviceptr at = 0;
    *m = (DevMem){ 0, bytes };
    DevStatus status = cuda_enter(d);
    if (status == DEV_OK && bytes)
        status = cuda_check(d, take(s, &at, bytes));
    m->handle = at;
    return status;
}

void cuda_release(Device *d, DevMem *m)
{
    CudaState *s = cuda_state(d);
    if (!m->handle || cuda_enter(d) != DEV_OK)
        /* a device that was given up has no memory to give back */
        return;
    if (s->pool) {
        s->l->driver.pool_free(m->handle, s->stream);
    } else {
        s->l->driver.stream_wait(s->stream);    /* what still uses it */
        s->l->driver.memory_free(m->handle);
    }
    m->handle = 0;
}

/* ---- copies ---- */
static DevStatus cuda_put(Device *d, const DevMem *m, size_t at, const void *from, size_t bytes)
{
    CudaState *s = cuda_state(d);
    DevStatus status = cuda_enter(d);
    if (status == DEV_OK && bytes)
        status = cuda_check(d, s->l->driver.copy_up(m->handle + at, from, bytes, s->stream));
    return status == DEV_OK ? wait(d) : status;
}

DevStatus cuda_get(Device *d, const DevMem *m, size_t at, void *to, size_t bytes)
{
    CudaState *s = cuda_state(d);
    DevStatus status = cuda_enter(d);
    if (status == DEV_OK && bytes)
        status = cuda_check(d, s->l->driver.copy_down(to, m->handle + at, bytes, s->stream));
    return status == DEV_OK ? wait(d) : status;
}

static DevStatus copy_within(Device *d, CUdeviceptr to, CUdeviceptr from, size_t bytes)
{
    CudaState *s = cuda_state(d);
    return bytes ? cuda_check(d, s->l->driver.copy_within(to, from, bytes, s->stream)) : DEV_OK;
}

/* Ranges that overlap go by way of another place: the driver says nothing of their order. */
static DevStatus cuda_copy(Device *d, const DevMem *to, size_t to_at, const DevMem *from,
                           size_t from_at, size_t bytes)
{
    CUdeviceptr t = to->handle + to_at, f = from->handle + from_at;
    DevMem between;
    DevStatus status = cuda_enter(d);
    if (status != DEV_OK || t == f)
        return status;
    if (t >= f + bytes || f >= t + bytes)
        return copy_within(d, t, f, bytes);
    status = cuda_alloc(d, bytes, &between);
    if (status == DEV_OK)
        status = copy_within(d, between.handle, f, bytes);
    if (status == DEV_OK)
        status = copy_within(d, t, between.handle, bytes);
    cuda_release(d, &between);
    return status;
}

static DevStatus cuda_sync(Device *d)
{
    DevStatus status = cuda_enter(d);
    return status == DEV_OK ? wait(d) : status;
}

const DeviceOps cuda_ops = {
    .backend = "cuda", .open = cuda_open, .alloc = cuda_alloc, .release = cuda_release,
    .put = cuda_put,
    .get = cuda_get, .copy = cuda_copy, .sync = cuda_sync, .close = cuda_close,
    .build = cuda_build, .drop = cuda_drop, .launch = cuda_launch,
    .forget = gpu_forget, .pack = gpu_pack, .lending = &cuda_lending,
};

/* ---- what is there ---- */

/* Every operation needs a generated kernel somewhere (transposes before LAPACK, dtypes before
 * products), so without the compiler there is none. */
static void describe_missing(Device *d, const CudaLibraries *l)
{
    const char *blas = l->multiplies ? "" : "no libcublas: products run in a kernel of ours";
    const char *solver =
        l->solves ? "" : "no libcusolver: solve, inv, det, lu, chol, qr, svd, eigh run on cpu";
    if (!l->compiles)
        snprintf(d->missing, sizeof d->missing,
                 "no libnvrtc, which compiles kernels: everything runs on cpu");
    else
        snprintf(d->missing, sizeof d->missing, "%s%s%s", blas,
                 blas[0] && solver[0] ? "; " : "", solver);
}

static void describe(Ctx *ctx, Device *d, const CudaLibraries *l, int index)
{
    const CudaDriver *f = &l->driver;
    CUdevice device = 0;
    CUresult r = f->device(&device, index);
    d->index = index;
    d->state = ctx;
    if (r == CUDA_SUCCESS)
        r = f->device_name(d->title, sizeof d->title, device);
    if (r == CUDA_SUCCESS)
        r = f->device_memory(&d->memory, device);
    if (r != CUDA_SUCCESS) {
        cuda_error_text(f, r, d->why, sizeof d->why);
        return;
    }
    d->title[sizeof d->title - 1] = '\0';
    d->caps = DEVCAP_CUDA | (l->compiles ? DEVCAP_SOURCE : 0);
    d->dtypes = dtype_device_mask(true);
    d->group = (size_t)attribute(f, device, CU_ATTRIBUTE_MAX_THREADS);
    d->local = (size_t)attribute(f, device, CU_ATTRIBUTE_SHARED);
    int used = snprintf(d->note, sizeof d->note, "compute capability %d.%d, driver for CUDA %d.%d",
                        attribute(f, device, CU_ATTRIBUTE_MAJOR),
                        attribute(f, device, CU_ATTRIBUTE_MINOR),
                        l->version / 1000, l->version % 1000 / 10);
    if (l->compiles)
        snprintf(d->note + used, sizeof d->note - (size_t)used, ", NVRTC %d.%d", l->compiler / 1000,
                 l->compiler % 1000 / 10);
    describe_missing(d, l);
    if (l->compiles)
        cuda_math(d, l);
}

void cuda_probe(Ctx *ctx)
{
    if (device_fenced(ctx, &cuda_ops, "cuda"))
        return;
    const CudaLibraries *l = cuda_libraries();
    char why[sizeof ((Device *)0)->why];
    int count = 0;
    CUresult r = CUDA_SUCCESS;
    snprintf(why, sizeof why, "%s", l->why);
    if (!why[0] && (r = l->driver.device_count(&count)) != CUDA_SUCCESS)
        cuda_error_text(&l->driver, r, why, sizeof why);
    else if (!why[0] && count == 0)
        snprintf(why, sizeof why, "the NVIDIA driver finds no device");
    if (why[0])
        snprintf(device_add(ctx, &cuda_ops, "cuda")->why, sizeof why, "%s", why);
    for (int i = 0; i < count && !why[0]; i++) {
        char name[24];
        snprintf(name, sizeof name, "cuda:%d", i);
        describe(ctx, device_add(ctx, &cuda_ops, name), l, i);
    }
}
