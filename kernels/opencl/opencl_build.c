/* Kernels of an OpenCL device: source to program, by way of the binary kept on disk, and launches.
 * A program is built with no option that changes arithmetic, but for the one that rounds f32
 * division and square roots correctly; what else the language promises (no contraction of
 * a*b + c) stands in the source. */
#include "kernels/opencl/opencl.h"

#include "kernels/device/device_cache.h"

#include <stdio.h>
#include <string.h>

/* ---- building ---- */
/* The first lines of the compiler's log, as one sentence of what fits. */
static void put_log(Device *d, cl_program program, const char *entry)
{
    ClState *s = d->state;
    size_t bytes = 0;
    int at = snprintf(d->fault, sizeof d->fault,
                      "the driver's compiler refused the kernel %s: ", entry);
    s->cl->clGetProgramBuildInfo(program, s->device, CL_PROGRAM_BUILD_LOG, 0, NULL, &bytes);
    size_t room = bytes + 1;
    char *log = mem_try_alloc(s->ctx, room);
    if (!log)
        return;
    if (s->cl->clGetProgramBuildInfo(program, s->device, CL_PROGRAM_BUILD_LOG, bytes, log, NULL))
        bytes = 0;
    log[bytes] = '\0';
    const char *line = log;
    for (int lines = 0; *line && lines < 4; lines++) {
        line += strspn(line, "\n\r");
        int n = (int)strcspn(line, "\n\r");
        if (at + n + 2 >= (int)sizeof d->fault)
            n = (int)sizeof d->fault - at - 3;
        if (n <= 0)
            break;
        at += snprintf(d->fault + at, sizeof d->fault - at, "%s%.*s", lines ? "; " : "", n, line);
        line += strcspn(line, "\n\r");
    }
    mem_free(s->ctx, log, room);
}

/* Platform, device and driver decide what a binary is good for, as much as options and source. */
void opencl_key(const ClState *s, const char *source, const char *key[5])
{
    const char *const parts[] = { "opencl", s->identity, s->options, source, NULL };
    memcpy(key, parts, sizeof parts);
}

static cl_int from_binary(ClState *s, const char *const *key, cl_program *program)
{
    size_t bytes;
    cl_int of_binary = CL_SUCCESS, code;
    void *binary = device_cache_get(s->ctx, key, &bytes);
    if (!binary)
        return CL_BUILD_PROGRAM_FAILURE;
    const unsigned char *image = binary;
    *program = s->cl->clCreateProgramWithBinary(s->context, 1, &s->device, &bytes,
                                                &image, &of_binary, &code);
    mem_free(s->ctx, binary, bytes);
    if (code != CL_SUCCESS)
        return code;
    code = of_binary;
    if (code == CL_SUCCESS)
        code = s->cl->clBuildProgram(*program, 1, &s->device, s->options, NULL, NULL);
    if (code != CL_SUCCESS)
        s->cl->clReleaseProgram(*program);
    return code;
}

/* PoCL keeps what it compiled by itself, and would compile a kernel again to give its binary
 * away. */
static void keep_binary(ClState *s, const char *const *key, cl_program program)
{
    const OpenCl *cl = s->cl;
    size_t bytes = 0;
    if (s->pocl)
        return;
    if (cl->clGetProgramInfo(program, CL_PROGRAM_BINARY_SIZES, sizeof bytes, &bytes,
                             NULL) || bytes == 0)
        return;
    unsigned char *binary = mem_try_alloc(s->ctx, bytes);
    if (!binary)
        return;
    if (cl->clGetProgramInfo(program, CL_PROGRAM_BINARIES, sizeof binary, &binary,
                             NULL) == CL_SUCCESS)
        device_cache_put(key, binary, bytes);
    mem_free(s->ctx, binary, bytes);
}

static DevStatus from_source(Device *d, const char *source, const char *entry, cl_program *program)
{
    ClState *s = d->state;
    cl_int code;
    *program = s->cl->clCreateProgramWithSource(s->context, 1, &source, NULL, &code);
    if (code != CL_SUCCESS)
        return opencl_check(d, code, "clCreateProgramWithSource");
    code = s->cl->clBuildProgram(*program, 1, &s->device, s->options, NULL, NULL);
    if (code == CL_SUCCESS)
        return DEV_OK;
    DevStatus status = opencl_check(d, code, "clBuildProgram");
    if (code == CL_BUILD_PROGRAM_FAILURE)
        put_log(d, *program, entry);
    s->cl->clReleaseProgram(*program);
    return status;
}

/* A binary that the driver refuses is written over. */
static DevStatus find_program(Device *d, const char *source, const char *entry, cl_program *program)
{
    const char *key[5];
    opencl_key(d->state, source, key);
    if (from_binary(d->state, key, program) == CL_SUCCESS)
        return DEV_OK;
    DevStatus status = from_source(d, source, entry, program);
    if (status == DEV_OK)
        keep_binary(d->state, key, *program);
    return status;
}

DevStatus opencl_build(Device *d, const char *source, const char *entry, DevKernel **out)
{
    ClState *s = d->state;
    cl_int code;
    DevKernel *k = mem_try_alloc(s->ctx, sizeof *k);
    *out = NULL;
    if (!k) {
        snprintf(d->fault, sizeof d->fault, "no memory is left on the host");
        return DEV_NO_MEMORY;
    }
    *k = (DevKernel){ .next = s->kernels };
    DevStatus status = find_program(d, source, entry, &k->program);
    if (status != DEV_OK) {
        mem_free(s->ctx, k, sizeof *k);
        return status;
    }
    k->kernel = s->cl->clCreateKernel(k->program, entry, &code);
    if (code != CL_SUCCESS) {
        s->cl->clReleaseProgram(k->program);
        mem_free(s->ctx, k, sizeof *k);
        return opencl_check(d, code, "clCreateKernel");
    }
    s->cl->clGetKernelInfo(k->kernel, CL_KERNEL_NUM_ARGS, sizeof k->arguments, &k->arguments, NULL);
    s->cl->clGetKernelWorkGroupInfo(k->kernel, s->device, CL_KERNEL_WORK_GROUP_SIZE,
                                    sizeof k->group, &k->group, NULL);
    s->kernels = *out = k;
    return DEV_OK;
}

void opencl_drop(Device *d, DevKernel *k)
{
    ClState *s = d->state;
    DevKernel **at = &s->kernels;
    while (*at && *at != k)
        at = &(*at)->next;
    if (!*at)
        return;
    *at = k->next;
    s->cl->clReleaseKernel(k->kernel);
    s->cl->clReleaseProgram(k->program);
    mem_free(s->ctx, k, sizeof *k);
}

/* ---- launching ---- */
/* An argument in memory is two of the kernel's: the buffer and, as an address inside of it cannot
 * be passed, a long with the byte where it starts. A value is one. Local memory asked for at the
 * launch is one more, the last. */
static cl_int set_arguments(ClState *s, const DevKernel *k, const DevGrid *g, const DevArg *args,
                            int n)
{
    cl_uint at = 0;
    cl_int code = CL_SUCCESS;
    for (int i = 0; i < n && code == CL_SUCCESS; i++) {
        const DevArg *a = &args[i];
        if (!a->mem) {
            code = s->cl->clSetKernelArg(k->kernel, at++, a->bytes, a->value);
            continue;
        }
        cl_mem mem = (cl_mem)(uintptr_t)a->mem->handle;
        int64_t start = (int64_t)a->at;
        code = s->cl->clSetKernelArg(k->kernel, at++, sizeof mem, &mem);
        if (code == CL_SUCCESS)
            code = s->cl->clSetKernelArg(k->kernel, at++, sizeof start, &start);
    }
    if (code == CL_SUCCESS && g->shared)
        code = s->cl->clSetKernelArg(k->kernel, at, g->shared, NULL);
    return code;
}

static cl_uint count_arguments(const DevGrid *g, const DevArg *args, int n)
{
    cl_uint count = g->shared != 0;
    for (int i = 0; i < n; i++)
        count += args[i].mem ? 2 : 1;
    return count;
}

/* Waits for the launch that lies some back, and remembers the new one in its place. On a processor
 * kernels are long and launches cheap: with few under way Ctrl-C is soon obeyed. */
static cl_int keep_up(Device *d, cl_event event)
{
    ClState *s = d->state;
    cl_event *slot = &s->behind[s->launched++ % (d->caps & DEVCAP_CPU ? CL_BEHIND_CPU : CL_BEHIND)];
    cl_int code = CL_SUCCESS;
    if (*slot) {
        code = s->cl->clWaitForEvents(1, slot);
        s->cl->clReleaseEvent(*slot);
    }
    *slot = event;
    return code;
}

DevStatus opencl_launch(Device *d, DevKernel *k, const DevGrid *g, const DevArg *args, int n)
{
    ClState *s = d->state;
    size_t global[3], items = 1, groups = 1;
    cl_event event;
    for (int i = 0; i < 3; i++) {
        global[i] = g->groups[i] * g->local[i];
        items *= g->local[i];
        groups *= g->groups[i] != 0;
    }
    if (groups == 0 || items == 0)
        return DEV_OK;
    if (items > k->group) {
        snprintf(d->fault, sizeof d->fault,
                 "a work group of this kernel has at most %zu items, not %zu", k->group, items);
        return DEV_FAILED;
    }
    if (count_arguments(g, args, n) != k->arguments) {
        snprintf(d->fault, sizeof d->fault, "the kernel has %u arguments and was given %u",
                 k->arguments, count_arguments(g, args, n));
        return DEV_FAILED;
    }
    cl_int code = set_arguments(s, k, g, args, n);
    if (code != CL_SUCCESS)
        return opencl_check(d, code, "clSetKernelArg");
    code = s->cl->clEnqueueNDRangeKernel(s->queue, k->kernel, 3, NULL, global, g->local, 0, NULL,
                                         &event);
    if (code != CL_SUCCESS)
        return opencl_check(d, code, "clEnqueueNDRangeKernel");
    s->cl->clFlush(s->queue);
    return opencl_check(d, keep_up(d, event), "an earlier launch");
}
