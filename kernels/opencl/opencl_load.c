/* The libraries behind opencl.h: libOpenCL.so.1, which finds the drivers that are installed, and
 * libclblast.so.1. Each is opened once in a process, when it is first asked for; and the meaning of
 * their codes. */
#include "kernels/opencl/opencl.h"
#include "core/system/library.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

typedef struct Libraries {
    OpenCl cl;
    ClBlast blast;
    const char *why;             /* NULL: OpenCL is ready */
    bool multiplies;             /* CLBlast is ready */
} Libraries;

static Libraries libraries;
static pthread_once_t opencl_once = PTHREAD_ONCE_INIT, clblast_once = PTHREAD_ONCE_INIT;

static void opencl_load(void)
{
#define ROUTINE(name, result, arguments) { #name, &libraries.cl.name },
    const LibraryEntry entries[] = {
#include "kernels/opencl/opencl.def"
    };
#undef ROUTINE
    const char *lacks;
    if (!library_open("libOpenCL.so.1", entries, sizeof entries / sizeof *entries, &lacks))
        libraries.why = lacks
                        ? "libOpenCL.so.1 is older than OpenCL 1.2 (Debian: ocl-icd-libopencl1)"
                              : "libOpenCL.so.1 was not found (Debian: ocl-icd-libopencl1)";
}

const OpenCl *opencl_open(const char **why)
{
    pthread_once(&opencl_once, opencl_load);
    *why = libraries.why;
    return libraries.why ? NULL : &libraries.cl;
}

static void clblast_load(void)
{
#define ROUTINE(name, result, arguments) { #name, &libraries.blast.name },
    const LibraryEntry entries[] = {
#include "kernels/opencl/opencl_blas.def"
    };
#undef ROUTINE
    const char *lacks;
    size_t count = sizeof entries / sizeof *entries;
    libraries.multiplies = library_open("libclblast.so.1", entries, count, &lacks) != NULL;
}

const ClBlast *clblast_open(void)
{
    pthread_once(&clblast_once, clblast_load);
    return libraries.multiplies ? &libraries.blast : NULL;
}

/* ---- errors ---- */
const char *opencl_error(cl_int code)
{
    switch (code) {
#define FAULT(name, value, sentence) case value: return #name ": " sentence;
#include "kernels/opencl/opencl_errors.def"
#undef FAULT
    }
    return "the driver gave a code that OpenCL does not define";
}

DevStatus opencl_check(Device *d, cl_int code, const char *doing)
{
    if (code == CL_SUCCESS)
        return DEV_OK;
    snprintf(d->fault, sizeof d->fault, "%s failed with %s (%d)", doing, opencl_error(code), code);
    bool memory = code == CL_MEM_OBJECT_ALLOCATION_FAILURE || code == CL_OUT_OF_HOST_MEMORY;
    return memory ? DEV_NO_MEMORY : DEV_FAILED;
}
