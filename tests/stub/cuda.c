/* libcuda.so.1 of the machine that stub.h describes. */
#include "tests/stub/stub.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))
typedef uint64_t CUdeviceptr;

EXPORT Stub stub = { .version = 12040, .devices = 1, .arch = 90, .pools = 1, .memory = (size_t)1 << 30 };

enum { INVALID = 1, NO_MEMORY = 2, NOT_INITIALIZED = 3, INVALID_DEVICE = 101, NO_CONTEXT = 201, NOT_FOUND = 500 };

typedef struct Block { CUdeviceptr at; size_t bytes; struct Block *next; } Block;
typedef struct Function { char name[64]; StubKernel *run; } Function;
typedef struct Module { void *handle; int fd; Function function[8]; int functions; } Module;

typedef struct Work {                   /* what waits in a stream */
    enum { UP, DOWN, WITHIN, FILL, FREE, FAULT } kind;
    CUdeviceptr to, from;
    size_t bytes, pitch, rows;
    char *host;
    struct Work *next;
} Work;
typedef struct Stream { Work *first, **end; } Stream;

enum { STREAMS = 64 };
static Stream *streams[STREAMS];        /* all there are */
static int stream_count;
static bool ready;
static int context;                     /* its address is the context */
static void *current;
static Block *blocks;

EXPORT void stub_disorder(const char *what)
{
    if (!stub.disorder++)
        snprintf(stub.first_disorder, sizeof stub.first_disorder, "%s", what);
}

EXPORT int stub_fails(const char *name)
{
    if (stub.sticky)
        return stub.sticky;
    return stub.fail_in && strcmp(name, stub.fail_name) == 0 && --stub.fail_in == 0 ? stub.fail_code : 0;
}

static int enter(const char *name, bool in_context)
{
    int code = stub_fails(name);
    if (code)
        return code;
    if (!ready) {
        stub_disorder(name);
        return NOT_INITIALIZED;
    }
    if (in_context && !current) {
        stub_disorder(name);
        return NO_CONTEXT;
    }
    return 0;
}
#define ENTER(in_context)                       \
    do {                                        \
        int code_ = enter(__func__, in_context); \
        if (code_)                              \
            return code_;                       \
    } while (0)

/* ---- start and devices ---- */
EXPORT int cuInit(unsigned flags)
{
    int code = flags ? INVALID : stub.init_code ? stub.init_code : stub_fails(__func__);
    ready = code == 0;
    return code;
}

EXPORT int cuDriverGetVersion(int *version)
{
    *version = stub.version;
    return 0;
}

static const struct { int code; const char *name, *text; } errors[] = {
    { 1, "CUDA_ERROR_INVALID_VALUE", "invalid argument" }, { 2, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory" },
    { 3, "CUDA_ERROR_NOT_INITIALIZED", "initialization error" }, { 34, "CUDA_ERROR_STUB_LIBRARY", "a stub" },
    { 100, "CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected" },
    { 201, "CUDA_ERROR_INVALID_CONTEXT", "invalid device context" },
    { 209, "CUDA_ERROR_NO_BINARY_FOR_GPU", "no kernel image is available for execution on the device" },
    { 500, "CUDA_ERROR_NOT_FOUND", "named symbol not found" },
    { 700, "CUDA_ERROR_ILLEGAL_ADDRESS", "an illegal memory access was encountered" },
    { 719, "CUDA_ERROR_LAUNCH_FAILED", "unspecified launch failure" },
    { 803, "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH", "system has unsupported display driver / cuda driver combination" },
};

EXPORT int cuGetErrorName(int code, const char **name)
{
    for (size_t i = 0; i < sizeof errors / sizeof *errors; i++)
        if (errors[i].code == code) {
            *name = errors[i].name;
            return 0;
        }
    *name = NULL;
    return INVALID;
}

EXPORT int cuGetErrorString(int code, const char **text)
{
    for (size_t i = 0; i < sizeof errors / sizeof *errors; i++)
        if (errors[i].code == code) {
            *text = errors[i].text;
            return 0;
        }
    *text = NULL;
    return INVALID;
}

EXPORT int cuDeviceGetCount(int *count)
{
    ENTER(false);
    *count = stub.devices;
    return 0;
}

EXPORT int cuDeviceGet(int *device, int index)
{
    ENTER(false);
    *device = index;
    return index < stub.devices ? 0 : INVALID_DEVICE;
}

EXPORT int cuDeviceGetName(char *name, int size, int device)
{
    ENTER(false);
    snprintf(name, (size_t)size, "Stub %d", device);
    return 0;
}

EXPORT int cuDeviceTotalMem_v2(size_t *bytes, int device)
{
    (void)device;
    ENTER(false);
    *bytes = stub.memory;
    return 0;
}

EXPORT int cuDeviceGetAttribute(int *value, int which, int device)
{
    (void)device;
    ENTER(false);
    *value = which == 1 ? 1024 : which == 8 ? 48 << 10 : which == 75 ? stub.arch / 10 : which == 76 ? stub.arch % 10
           : which == 115 ? stub.pools : 0;
    return 0;
}

EXPORT int cuDevicePrimaryCtxRetain(void **out, int device)
{
    (void)device;
    ENTER(false);
    stub.contexts++;
    *out = &context;
    return 0;
}

EXPORT int cuDevicePrimaryCtxRelease_v2(int device)
{
    (void)device;
    stub.contexts--;
    return 0;
}

EXPORT int cuCtxSetCurrent(void *c)
{
    ENTER(false);
    current = c;
    return 0;
}

/* ---- memory ---- */
static bool inside(CUdeviceptr at, size_t bytes)
{
    for (Block *b = blocks; b; b = b->next)
        if (at >= b->at && at - b->at <= b->bytes && bytes <= b->bytes - (size_t)(at - b->at))
            return true;
    return bytes == 0;
}

static int take(CUdeviceptr *at, size_t bytes)
{
    if (bytes == 0)
        return INVALID;
    if (bytes > stub.memory - stub.live)
        return NO_MEMORY;
    Block *b = malloc(sizeof *b);
    void *p = aligned_alloc(256, (bytes + 255) & ~(size_t)255);
    memset(p, 0xff, bytes);
    *b = (Block){ (CUdeviceptr)(uintptr_t)p, bytes, blocks };
    blocks = b;
    stub.live += bytes;
    stub.blocks++;
    stub.allocations++;
    *at = b->at;
    return 0;
}

static int give(CUdeviceptr at)
{
    for (Block **b = &blocks; *b; b = &(*b)->next)
        if ((*b)->at == at) {
            Block *dead = *b;
            *b = dead->next;
            stub.live -= dead->bytes;
            stub.blocks--;
            free((void *)(uintptr_t)dead->at);
            free(dead);
            return 0;
        }
    stub_disorder("freed twice");
    return INVALID;
}

EXPORT int cuMemAlloc_v2(CUdeviceptr *at, size_t bytes)
{
    ENTER(true);
    return take(at, bytes);
}

EXPORT int cuMemFree_v2(CUdeviceptr at)
{
    ENTER(true);
    return give(at);
}

EXPORT int cuDeviceGetDefaultMemPool(void **pool, int device)
{
    (void)device;
    ENTER(false);
    *pool = &blocks;
    return 0;
}

EXPORT int cuMemPoolSetAttribute(void *pool, int which, void *value)
{
    ENTER(false);
    return pool == &blocks && which == 4 && *(uint64_t *)value ? 0 : INVALID;
}

EXPORT int cuMemPoolTrimTo(void *pool, size_t keep)
{
    ENTER(false);
    return pool == &blocks && keep == 0 ? 0 : INVALID;
}

EXPORT int cuMemAllocAsync(CUdeviceptr *at, size_t bytes, Stream *s)
{
    ENTER(true);
    return s ? take(at, bytes) : INVALID;
}

/* ---- the stream ---- */
static Work *later(Stream *s, int kind)
{
    Work *w = calloc(1, sizeof *w);
    w->kind = kind;
    *s->end = w;
    s->end = &w->next;
    return w;
}

static void work_now(Work *w)
{
    char *to = (char *)(uintptr_t)w->to;
    switch (w->kind) {
    case UP: memcpy(to, w->host, w->bytes); free(w->host); break;
    case DOWN: memcpy(w->host, (void *)(uintptr_t)w->from, w->bytes); break;
    case WITHIN: memcpy(to, (void *)(uintptr_t)w->from, w->bytes); break;
    case FILL:
        for (size_t r = 0; r < w->rows; r++)
            memset(to + r * w->pitch, 0, w->bytes);
        break;
    case FREE: give(w->to); break;
    case FAULT: stub.sticky = stub.kernel_fault; break;
    }
}

EXPORT int stub_wait(void *stream)
{
    Stream *s = stream;
    for (Work *w = s->first, *next; w; w = next) {
        next = w->next;
        if (!stub.sticky)
            work_now(w);
        else if (w->kind == UP)
            free(w->host);
        free(w);
    }
    s->first = NULL;
    s->end = &s->first;
    return stub.sticky;
}

EXPORT int cuStreamCreate(Stream **out, unsigned flags)
{
    ENTER(true);
    if (flags > 1)
        return INVALID;
    if (stream_count == STREAMS)
        return NO_MEMORY;
    Stream *s = *out = calloc(1, sizeof *s);
    s->end = &s->first;
    streams[stream_count++] = s;
    stub.streams++;
    return 0;
}

EXPORT int cuStreamDestroy_v2(Stream *s)
{
    if (s->first)
        stub_disorder("a stream was destroyed with work in it");
    stub_wait(s);
    for (int i = 0; i < stream_count; i++)
        if (streams[i] == s)
            streams[i--] = streams[--stream_count];
    free(s);
    stub.streams--;
    return stub.sticky;
}

EXPORT int cuStreamSynchronize(Stream *s)
{
    ENTER(true);
    return stub_wait(s);
}

EXPORT int cuCtxSynchronize(void)
{
    ENTER(true);
    for (int i = 0; i < stream_count; i++)
        stub_wait(streams[i]);
    return stub.sticky;
}

/* ---- events ---- */
typedef struct Event { Stream *of; } Event;

EXPORT int cuEventCreate(Event **out, unsigned flags)
{
    ENTER(true);
    if (flags != 2)
        return INVALID;
    *out = calloc(1, sizeof **out);
    stub.events++;
    return 0;
}

EXPORT int cuEventRecord(Event *e, Stream *s)
{
    ENTER(true);
    e->of = s;
    return 0;
}

EXPORT int cuEventDestroy_v2(Event *e)
{
    free(e);
    stub.events--;
    return 0;
}

/* What waits runs later: so what it waits for runs now. Other streams than ours are numbers that a
 * test chose. */
EXPORT int cuStreamWaitEvent(void *stream, Event *e, unsigned flags)
{
    ENTER(true);
    if (flags)
        return INVALID;
    stub.waited_for = (uintptr_t)stream;
    return e->of ? stub_wait(e->of) : 0;
}

EXPORT int cuMemFreeAsync(CUdeviceptr at, Stream *s)
{
    ENTER(true);
    later(s, FREE)->to = at;
    return 0;
}

EXPORT int cuMemcpyHtoDAsync_v2(CUdeviceptr to, const void *from, size_t bytes, Stream *s)
{
    ENTER(true);
    if (!inside(to, bytes)) {
        stub_disorder(__func__);
        return INVALID;
    }
    Work *w = later(s, UP);
    w->to = to;
    w->bytes = bytes;
    w->host = malloc(bytes);
    memcpy(w->host, from, bytes);
    return 0;
}

EXPORT int cuMemcpyDtoHAsync_v2(void *to, CUdeviceptr from, size_t bytes, Stream *s)
{
    ENTER(true);
    if (!inside(from, bytes)) {
        stub_disorder(__func__);
        return INVALID;
    }
    Work *w = later(s, DOWN);
    w->from = from;
    w->bytes = bytes;
    w->host = to;
    return 0;
}

EXPORT int cuMemcpyDtoDAsync_v2(CUdeviceptr to, CUdeviceptr from, size_t bytes, Stream *s)
{
    ENTER(true);
    if (!inside(to, bytes) || !inside(from, bytes)) {
        stub_disorder(__func__);
        return INVALID;
    }
    Work *w = later(s, WITHIN);
    w->to = to;
    w->from = from;
    w->bytes = bytes;
    return 0;
}

EXPORT int cuMemsetD2D8Async(CUdeviceptr to, size_t pitch, unsigned char byte, size_t width, size_t rows, Stream *s)
{
    ENTER(true);
    if (byte || !inside(to, rows ? (rows - 1) * pitch + width : 0)) {
        stub_disorder(__func__);
        return INVALID;
    }
    Work *w = later(s, FILL);
    w->to = to;
    w->pitch = pitch;
    w->bytes = width;
    w->rows = rows;
    return 0;
}

/* ---- kernels ---- */
/* An image is text (nothing was compiled: kernels are those of stub.kernel) or a shared object. */
/* Its file stays open, since the loader knows objects by their names. */
static void *object_load(const char *image, int *file)
{
    size_t bytes;
    memcpy(&bytes, image + 8, sizeof bytes);            /* see nvrtc.c */
    int fd = *file = memfd_create("kernel", 0);
    char path[64];
    if (fd < 0 || write(fd, image + 16, bytes) != (ssize_t)bytes)
        return NULL;
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!handle)
        fprintf(stderr, "stub: %s\n", dlerror());
    return handle;
}

EXPORT int cuModuleLoadData(void **module, const void *image)
{
    ENTER(true);
    bool object = memcmp(image, "SHIM", 4) == 0;
    if (!object && memcmp(image, "STUB", 4) != 0)
        return 209;
    Module *m = calloc(1, sizeof *m);
    if (object && !(m->handle = object_load(image, &m->fd))) {
        free(m);
        return 209;
    }
    stub.modules++;
    *module = m;
    return 0;
}

EXPORT int cuModuleUnload(Module *m)
{
    if (m->handle) {
        dlclose(m->handle);
        close(m->fd);
    }
    free(m);
    stub.modules--;
    return 0;
}

EXPORT int cuModuleGetFunction(void **function, Module *m, const char *name)
{
    ENTER(true);
    Function *f = &m->function[m->functions];
    char symbol[80];
    snprintf(f->name, sizeof f->name, "%s", name);
    snprintf(symbol, sizeof symbol, "shim_run_%s", name);
    f->run = NULL;
    if (m->handle)
        f->run = (StubKernel *)(uintptr_t)dlsym(m->handle, symbol);
    for (int i = 0; i < 8 && !m->handle; i++)
        if (strcmp(stub.kernel[i].name, name) == 0)
            f->run = stub.kernel[i].run;
    if (!f->run || m->functions == 8)
        return NOT_FOUND;
    m->functions++;
    *function = f;
    return 0;
}

EXPORT int cuFuncSetAttribute(Function *f, int which, int value)
{
    (void)f;
    ENTER(true);
    return which == 8 && value > 0 && value <= 227 << 10 ? 0 : INVALID;
}

/* Runs at once, since only the kernel knows how many parameters there are; what it did wrong is told
 * by the next wait. */
EXPORT int cuLaunchKernel(Function *f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                          unsigned shared, Stream *s, void **parameter, void **extra)
{
    ENTER(true);
    if (extra || !gx || !gy || !gz || !bx || !by || !bz || bx * by * bz > 1024 || gy > 65535 || gz > 65535 ||
        shared > 227 << 10)
        return INVALID;
    stub.launches++;
    if (stub.kernel_fault) {
        later(s, FAULT);
        return 0;
    }
    int code = stub_wait(s);
    if (!code)
        f->run(parameter, (unsigned[]){ gx, gy, gz }, (unsigned[]){ bx, by, bz });
    return code;
}
