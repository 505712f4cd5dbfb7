/* NVIDIA's libraries behind cuda.h: the driver's own, libcuda.so.1, and what the toolkit adds. Each
 * is looked for once in a process, by its plain name, in the versions that the driver can run; one
 * that is missing, or lacks a routine, takes only its own operations away. */
#include "kernels/cuda/cuda.h"
#include "core/system/library.h"

#include "core/system/c_locale.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { OLDEST = 11, NEWEST = 13 };      /* versions of CUDA whose libraries are tried */
/* 11.2: what NVRTC's library of that version makes runs from there on */
enum { OLDEST_DRIVER = 11020 };

static CudaLibraries libraries;
static pthread_once_t libraries_once = PTHREAD_ONCE_INIT;

/* ---- the driver ---- */
static const char *driver_symbols(void *handle, CudaDriver *f)
{
#define DRIVER(name, symbol, arguments)   \
    if (!library_symbol(handle, #symbol, &f->name)) \
        return #symbol;
#define DRIVER_MAYBE(name, symbol, arguments) library_symbol(handle, #symbol, &f->name);
#include "kernels/cuda/cuda.def"
    return NULL;
}

void cuda_error_text(const CudaDriver *f, CUresult r, char *out, size_t cap)
{
    const char *name = NULL, *text = NULL;
    if (f->error_name(r, &name) != CUDA_SUCCESS || !name)
        snprintf(out, cap, "the driver's error %d", r);
    else if (f->error_string(r, &text) != CUDA_SUCCESS || !text)
        snprintf(out, cap, "%s", name);
    else
        snprintf(out, cap, "%s (%s)", name, text);
}

__attribute__((format(printf, 1, 2))) static void why(const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    c_vsnprintf(libraries.why, sizeof libraries.why, fmt, args);
    va_end(args);
}

/* What cuInit says of a machine that has the library: most have it without a device. */
static void explain_init(const CudaDriver *f, CUresult r)
{
    char text[160];
    const char *visible = getenv("CUDA_VISIBLE_DEVICES");
    cuda_error_text(f, r, text, sizeof text);
    if (r == CUDA_ERROR_NO_DEVICE && visible)
        why("the NVIDIA driver finds no device, with CUDA_VISIBLE_DEVICES=\"%.60s\"", visible);
    else if (r == CUDA_ERROR_NO_DEVICE)
        why("the NVIDIA driver finds no device");
    else if (r == CUDA_ERROR_STUB_LIBRARY)
        why("libcuda.so.1 is the toolkit's stub for linking, not the NVIDIA driver");
    else
        why("the NVIDIA driver does not start: %s", text);
}

static void driver_load(void)
{
    CudaDriver *f = &libraries.driver;
    void *handle = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    const char *lacks;
    CUresult r;
    if (!handle) {
        const char *reason = c_dlerror();
        if (!reason || strstr(reason, "No such file"))
            why("no NVIDIA driver (libcuda.so.1 not found)");
        else
            why("the NVIDIA driver cannot be loaded (%.140s)", reason);
    } else if ((lacks = driver_symbols(handle, f)))
        why("the NVIDIA driver is too old: CUDA 11.2 is needed, and it lacks %s", lacks);
    else if (f->version(&libraries.version) == CUDA_SUCCESS && libraries.version < OLDEST_DRIVER)
        why("the NVIDIA driver is too old: CUDA 11.2 is needed, and it is for %d.%d",
            libraries.version / 1000, libraries.version % 1000 / 10);
    else if ((r = f->init(0)) != CUDA_SUCCESS)
        explain_init(f, r);
}

/* ---- the toolkit ---- */
static bool nvrtc_symbols(void *handle)
{
    Nvrtc *f = &libraries.nvrtc;
#define NVRTC(name, arguments)                \
    if (!library_symbol(handle, "nvrtc" #name, &f->name)) \
        return false;
#include "kernels/cuda/cuda.def"
    int major = 0, minor = 0;
    f->Version(&major, &minor);
    libraries.compiler = 1000 * major + 10 * minor;
    return true;
}

static bool blas_symbols(void *handle)
{
    Cublas *f = &libraries.blas;
#define BLAS(name, symbol, arguments)     \
    if (!library_symbol(handle, #symbol, &f->name)) \
        return false;
#include "kernels/cuda/cuda.def"
    return true;
}

static bool solver_symbols(void *handle)
{
    Cusolver *f = &libraries.solver;
#define SOLVER(name, arguments)                      \
    if (!library_symbol(handle, "cusolverDn" #name, &f->name)) \
        return false;
#define SOLVER_REAL(name, arguments)                           \
    if (!library_symbol(handle, "cusolverDnS" #name, &f->real[0].name) || \
        !library_symbol(handle, "cusolverDnD" #name, &f->real[1].name))   \
        return false;
#include "kernels/cuda/cuda.def"
    return true;
}

/* The newest of the versions that is there whole. cuSOLVER's is one behind CUDA's from 12 on. */
static bool library_load(const char *name, int newest, bool (*symbols)(void *))
{
    for (int version = newest; version >= OLDEST; version--) {
        char file[64];
        snprintf(file, sizeof file, "%s.so.%d", name, version);
        void *handle = dlopen(file, RTLD_LAZY | RTLD_LOCAL);
        if (!handle && version == 11) {         /* NVRTC's name from 11.2 to 11.8 */
            snprintf(file, sizeof file, "%s.so.11.2", name);
            handle = dlopen(file, RTLD_LAZY | RTLD_LOCAL);
        }
        if (handle && symbols(handle))
            return true;
    }
    return false;
}

/* Without a driver only the compiler is looked for: to say whether the toolkit is there. */
static void libraries_load(void)
{
    CudaLibraries *l = &libraries;
    driver_load();
    bool absent = l->why[0] != '\0';
    int newest = absent || l->version / 1000 > NEWEST ? NEWEST : l->version / 1000;
    l->compiles = library_load("libnvrtc", newest, nvrtc_symbols);
    size_t used = strlen(l->why), left = sizeof l->why - used;
    if (absent && l->compiles)
        snprintf(l->why + used, left, "; toolkit %d.%d present", l->compiler / 1000,
                 l->compiler % 1000 / 10);
    if (absent)
        return;
    l->multiplies = library_load("libcublas", newest, blas_symbols);
    l->solves = library_load("libcusolver", newest > 12 ? newest - 1 : OLDEST, solver_symbols);
}

const CudaLibraries *cuda_libraries(void)
{
    pthread_once(&libraries_once, libraries_load);
    return &libraries;
}

/* ---- statuses ---- */
const char *cublas_status_name(int status)
{
    switch (status) {
#define BLAS_STATUS(code, name) case code: return #name;
#include "kernels/cuda/cuda.def"
    }
    return NULL;
}

const char *cusolver_status_name(int status)
{
    switch (status) {
#define SOLVER_STATUS(code, name) case code: return #name;
#include "kernels/cuda/cuda.def"
    }
    return NULL;
}
