/* Memory, copies and the queue of an OpenCL device: one context and one queue in order, so that
 * whatever is put into it sees what came before. DevMem.handle is a cl_mem. Everything that was
 * put into the queue is finished before the device is closed: drivers that are torn down with
 * work under way crash the process. */
#include "kernels/opencl/opencl.h"

#include "kernels/gpu/gpu.h"

#include <stdio.h>
#include <string.h>

static cl_mem buffer_of(const DevMem *m) { return (cl_mem)(uintptr_t)m->handle; }

/* ---- opening ---- */
static void describe(ClState *s, const Device *d)
{
    char platform[256] = "", version[256] = "", driver[96], device[96];
    s->cl->clGetPlatformInfo(s->platform, CL_PLATFORM_NAME, sizeof platform - 1, platform, NULL);
    s->cl->clGetPlatformInfo(s->platform, CL_PLATFORM_VERSION, sizeof version - 1, version, NULL);
    opencl_text(s->cl, s->device, CL_DRIVER_VERSION, driver, sizeof driver);
    opencl_text(s->cl, s->device, CL_DEVICE_VERSION, device, sizeof device);
    snprintf(s->identity, sizeof s->identity, "%s\n%s\n%s\n%s\n%s", platform, version, d->title,
             device, driver);
    s->pocl = strstr(version, "PoCL") != NULL || strstr(version, "pocl") != NULL;
    s->largest = opencl_number(s->cl, s->device, CL_DEVICE_MAX_MEM_ALLOC_SIZE);
    bool rounds = opencl_number(s->cl, s->device, CL_DEVICE_SINGLE_FP_CONFIG) &
                  CL_FP_CORRECTLY_ROUNDED_DIVIDE_SQRT;
    snprintf(s->options, sizeof s->options, "-cl-std=CL1.2 -w%s",
             rounds ? " -cl-fp32-correctly-rounded-divide-sqrt" : "");
}

static cl_int create(ClState *s)
{
    const intptr_t properties[] = { CL_CONTEXT_PLATFORM, (intptr_t)s->platform, 0 };
    cl_int code;
    s->context = s->cl->clCreateContext(properties, 1, &s->device, NULL, NULL, &code);
    if (code != CL_SUCCESS)
        return code;
    s->queue = s->cl->clCreateCommandQueue(s->context, s->device, 0, &code);
    if (code != CL_SUCCESS)
        s->cl->clReleaseContext(s->context);
    return code;
}

static DevStatus opencl_begin(Device *d)
{
    Ctx *ctx = d->state;
    const char *why;
    cl_platform_id platforms[CL_DEVICES_MAX];
    cl_device_id devices[CL_DEVICES_MAX];
    cl_int code = CL_DEVICE_NOT_FOUND;
    const OpenCl *cl = opencl_open(&why);
    ClState *s = mem_try_alloc(ctx, sizeof *s);
    if (!s) {
        snprintf(d->fault, sizeof d->fault, "no memory is left on the host");
        return DEV_NO_MEMORY;
    }
    *s = (ClState){ .ctx = ctx, .cl = cl, .blast = clblast_open() };
    if (cl && opencl_list(cl, platforms, devices, CL_DEVICES_MAX, &code) > d->index) {
        ClSignals signals;
        s->platform = platforms[d->index];
        s->device = devices[d->index];
        describe(s, d);
        opencl_signals_keep(&signals);
        code = create(s);
        opencl_signals_restore(&signals);
    }
    if (code != CL_SUCCESS) {
        mem_free(ctx, s, sizeof *s);
        return opencl_check(d, code, "clCreateContext");
    }
    d->state = s;
    return DEV_OK;
}

/* ---- memory ---- */
static void drop_spares(ClState *s)
{
    for (int i = 0; i < CL_SPARES; i++)
        if (s->spares[i].mem)
            s->cl->clReleaseMemObject(s->spares[i].mem);
    memset(s->spares, 0, sizeof s->spares);
    s->spare_bytes = 0;
}

static cl_mem take_spare(ClState *s, size_t bytes)
{
    for (int i = 0; i < CL_SPARES; i++)
        if (s->spares[i].mem && s->spares[i].bytes == bytes) {
            cl_mem mem = s->spares[i].mem;
            s->spares[i].mem = NULL;
            s->spare_bytes -= bytes;
            return mem;
        }
    return NULL;
}

/* Drivers put off finding memory until a buffer is used: this uses it, so that what is missing is
 * missing here, where clean copies can be given up for it. */
static cl_mem create_buffer(ClState *s, size_t bytes, cl_int *code)
{
    enum { WORTH_WAITING = 16 << 20 };
    const OpenCl *cl = s->cl;
    cl_mem mem = cl->clCreateBuffer(s->context, CL_MEM_READ_WRITE, bytes, NULL, code);
    if (*code != CL_SUCCESS)
        return NULL;
    *code = cl->clEnqueueMigrateMemObjects(s->queue, 1, &mem,
                                           CL_MIGRATE_MEM_OBJECT_CONTENT_UNDEFINED, 0, NULL, NULL);
    if (*code == CL_SUCCESS && bytes >= WORTH_WAITING)
        *code = cl->clFinish(s->queue);
    if (*code == CL_SUCCESS)
        return mem;
    cl->clReleaseMemObject(mem);
    return NULL;
}

static bool out_of_memory(cl_int code)
{
    return code == CL_MEM_OBJECT_ALLOCATION_FAILURE || code == CL_OUT_OF_RESOURCES ||
           code == CL_OUT_OF_HOST_MEMORY || code == CL_INVALID_BUFFER_SIZE;
}

static DevStatus opencl_alloc(Device *d, size_t bytes, DevMem *m)
{
    ClState *s = d->state;
    cl_int code = CL_SUCCESS;
    size_t asked = bytes ? bytes : 1;              /* buffers of no bytes do not exist */
    *m = (DevMem){ 0, bytes };
    if (s->largest && asked > s->largest) {
        char most[32];
        mem_bytes_text(most, (double)s->largest);
        snprintf(d->fault, sizeof d->fault, "one tensor has at most %s", most);
        return DEV_LACKS;
    }
    cl_mem mem = take_spare(s, asked);
    if (!mem)
        mem = create_buffer(s, asked, &code);
    if (!mem && out_of_memory(code)) {
        drop_spares(s);
        s->cl->clFinish(s->queue);
        mem = create_buffer(s, asked, &code);
    }
    m->handle = (uintptr_t)mem;
    if (mem)
        return DEV_OK;
    DevStatus status = opencl_check(d, code, "clCreateBuffer");
    return out_of_memory(code) ? DEV_NO_MEMORY : status;
}

/* Kept for the next request of this size, within a sixteenth of the device's memory. What the
 * queue still does with it comes before what its next owner does. */
static void opencl_release(Device *d, DevMem *m)
{
    ClState *s = d->state;
    if (!m->handle)
        return;
    for (int i = 0; i < CL_SPARES && m->bytes; i++)
        if (!s->spares[i].mem && s->spare_bytes + m->bytes <= d->memory / 16) {
            s->spares[i] = (ClSpare){ buffer_of(m), m->bytes };
            s->spare_bytes += m->bytes;
            m->handle = 0;
            return;
        }
    s->cl->clReleaseMemObject(buffer_of(m));
    m->handle = 0;
}

/* ---- copies ---- */
static bool inside(Device *d, const DevMem *m, size_t at, size_t bytes)
{
    bool is = at <= m->bytes && bytes <= m->bytes - at;
    if (!is)
        snprintf(d->fault, sizeof d->fault, "bytes %zu to %zu lie outside of a buffer of %zu", at,
                 at + bytes, m->bytes);
    return is;
}

static DevStatus opencl_put(Device *d, const DevMem *m, size_t at, const void *from, size_t bytes)
{
    ClState *s = d->state;
    if (!inside(d, m, at, bytes))
        return DEV_FAILED;
    if (bytes == 0)
        return DEV_OK;
    cl_int code = s->cl->clEnqueueWriteBuffer(s->queue, buffer_of(m), 1, at, bytes, from, 0,
                                              NULL, NULL);
    return opencl_check(d, code, "clEnqueueWriteBuffer");
}

static DevStatus opencl_get(Device *d, const DevMem *m, size_t at, void *to, size_t bytes)
{
    ClState *s = d->state;
    if (!inside(d, m, at, bytes))
        return DEV_FAILED;
    if (bytes == 0)
        return DEV_OK;
    cl_int code = s->cl->clEnqueueReadBuffer(s->queue, buffer_of(m), 1, at, bytes, to, 0,
                                             NULL, NULL);
    return opencl_check(d, code, "clEnqueueReadBuffer");
}

static cl_int copy_apart(ClState *s, cl_mem to, size_t to_at, cl_mem from, size_t from_at,
                         size_t bytes)
{
    return s->cl->clEnqueueCopyBuffer(s->queue, from, to, from_at, to_at, bytes, 0, NULL, NULL);
}

/* OpenCL does not copy between ranges that overlap. */
static cl_int copy_through(ClState *s, cl_mem mem, size_t to_at, size_t from_at, size_t bytes)
{
    cl_int code;
    cl_mem between = create_buffer(s, bytes, &code);
    if (!between)
        return code;
    code = copy_apart(s, between, 0, mem, from_at, bytes);
    if (code == CL_SUCCESS)
        code = copy_apart(s, mem, to_at, between, 0, bytes);
    s->cl->clReleaseMemObject(between);            /* when the queue is done with it */
    return code;
}

static DevStatus opencl_copy(Device *d, const DevMem *to, size_t to_at, const DevMem *from,
                             size_t from_at, size_t bytes)
{
    ClState *s = d->state;
    cl_int code;
    if (!inside(d, to, to_at, bytes) || !inside(d, from, from_at, bytes))
        return DEV_FAILED;
    size_t apart = to_at > from_at ? to_at - from_at : from_at - to_at;
    if (bytes == 0 || (to->handle == from->handle && apart == 0))
        return DEV_OK;
    if (to->handle == from->handle && apart < bytes)
        code = copy_through(s, buffer_of(to), to_at, from_at, bytes);
    else
        code = copy_apart(s, buffer_of(to), to_at, buffer_of(from), from_at, bytes);
    return opencl_check(d, code, "clEnqueueCopyBuffer");
}

/* ---- the end ---- */
static DevStatus opencl_sync(Device *d)
{
    ClState *s = d->state;
    return opencl_check(d, s->cl->clFinish(s->queue), "clFinish");
}

static void opencl_close(Device *d)
{
    ClState *s = d->state;
    Ctx *ctx = s->ctx;
    s->cl->clFinish(s->queue);
    for (int i = 0; i < CL_BEHIND; i++)
        if (s->behind[i])
            s->cl->clReleaseEvent(s->behind[i]);
    while (s->kernels)
        opencl_drop(d, s->kernels);
    drop_spares(s);
    if (s->multiplied)
        s->blast->CLBlastClearCache();             /* its programs hold on to the context */
    s->cl->clFinish(s->queue);
    s->cl->clReleaseCommandQueue(s->queue);
    s->cl->clReleaseContext(s->context);
    mem_free(ctx, s, sizeof *s);
    d->state = ctx;
}

const DeviceOps opencl_ops = {
    .backend = "opencl", .open = opencl_begin, .alloc = opencl_alloc, .release = opencl_release,
    .put = opencl_put, .get = opencl_get, .copy = opencl_copy, .sync = opencl_sync,
    .close = opencl_close, .build = opencl_build, .drop = opencl_drop, .launch = opencl_launch,
    .forget = gpu_forget, .pack = gpu_pack,
};
