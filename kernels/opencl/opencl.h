/* OpenCL as a backend of device.h, without its headers and without linking it: the library is
 * opened when devices are first looked for, so a binary built anywhere runs where there is none.
 * Types and constants have the names of the specification (OpenCL 1.2, Khronos, revision 19).
 *
 * Files: opencl_load.c (the libraries, names of errors), opencl_probe.c (what is there),
 * opencl.c (memory, copies, the queue), opencl_build.c (kernels), opencl_blas.c (products by
 * CLBlast). Only they include this; kernels/device/device.h is what others see. Nothing here
 * raises: a function leaves a sentence in Device.fault. */
#ifndef RICCI_KERNELS_OPENCL_H
#define RICCI_KERNELS_OPENCL_H

#include "kernels/device/device.h"

#include <signal.h>

typedef int32_t cl_int;
typedef uint32_t cl_uint, cl_bool;
typedef uint64_t cl_ulong, cl_bitfield;
typedef struct ClPlatform *cl_platform_id;
typedef struct ClDevice *cl_device_id;
typedef struct ClContext *cl_context;
typedef struct ClQueue *cl_command_queue;
typedef struct ClMemory *cl_mem;
typedef struct ClProgram *cl_program;
typedef struct ClKernel *cl_kernel;
typedef struct ClEvent *cl_event;

enum {
    CL_SUCCESS = 0, CL_DEVICE_NOT_FOUND = -1, CL_MEM_OBJECT_ALLOCATION_FAILURE = -4,
    CL_OUT_OF_RESOURCES = -5, CL_OUT_OF_HOST_MEMORY = -6, CL_BUILD_PROGRAM_FAILURE = -11,
    CL_INVALID_BUFFER_SIZE = -61, CL_PLATFORM_NOT_FOUND_KHR = -1001,

    CL_PLATFORM_VERSION = 0x0901, CL_PLATFORM_NAME = 0x0902,

    CL_DEVICE_TYPE = 0x1000, CL_DEVICE_MAX_WORK_GROUP_SIZE = 0x1004,
    CL_DEVICE_MAX_MEM_ALLOC_SIZE = 0x1010,
    CL_DEVICE_SINGLE_FP_CONFIG = 0x101B,
    CL_DEVICE_GLOBAL_MEM_SIZE = 0x101F, CL_DEVICE_LOCAL_MEM_SIZE = 0x1023,
    CL_DEVICE_ENDIAN_LITTLE = 0x1026,
    CL_DEVICE_AVAILABLE = 0x1027, CL_DEVICE_COMPILER_AVAILABLE = 0x1028, CL_DEVICE_NAME = 0x102B,
    CL_DRIVER_VERSION = 0x102D, CL_DEVICE_PROFILE = 0x102E, CL_DEVICE_VERSION = 0x102F,
    CL_DEVICE_EXTENSIONS = 0x1030,

    CL_DEVICE_TYPE_CPU = 1 << 1, CL_FP_CORRECTLY_ROUNDED_DIVIDE_SQRT = 1 << 7,

    CL_CONTEXT_PLATFORM = 0x1084, CL_MEM_READ_WRITE = 1 << 0,
    CL_MIGRATE_MEM_OBJECT_CONTENT_UNDEFINED = 1 << 1,
    CL_PROGRAM_BINARY_SIZES = 0x1165, CL_PROGRAM_BINARIES = 0x1166, CL_PROGRAM_BUILD_LOG = 0x1183,
    CL_KERNEL_NUM_ARGS = 0x1191, CL_KERNEL_WORK_GROUP_SIZE = 0x11B0,
};
#define CL_DEVICE_TYPE_ALL ((cl_bitfield)0xFFFFFFFF)

/* What is used of OpenCL, and of CLBlast, by the names of their functions. */
typedef struct OpenCl {
#define ROUTINE(name, result, arguments) result (*name) arguments;
#include "kernels/opencl/opencl.def"
#undef ROUTINE
} OpenCl;
typedef struct ClBlast {
#define ROUTINE(name, result, arguments) result (*name) arguments;
#include "kernels/opencl/opencl_blas.def"
#undef ROUTINE
} ClBlast;

struct DevKernel {
    cl_program program;
    cl_kernel kernel;
    cl_uint arguments;
    size_t group;               /* work items in a group at most */
    DevKernel *next;            /* in ClState.kernels */
};

/* Launches that may be under way: a program that makes them faster than the device runs them
 * waits here, between launches, where an interrupt is seen. And memory that was given back, kept
 * for the next request of its size: fresh pages cost more than the arithmetic done in them. */
enum { CL_BEHIND = 64, CL_BEHIND_CPU = 4, CL_SPARES = 16 };

typedef struct ClSpare {
    cl_mem mem;
    size_t bytes;
} ClSpare;

/* Device.state of an open device; before that it is the Ctx. */
typedef struct ClState {
    Ctx *ctx;                   /* for memory and notices */
    const OpenCl *cl;
    const ClBlast *blast;       /* NULL: missing */
    cl_platform_id platform;
    cl_device_id device;
    cl_context context;
    cl_command_queue queue;
    bool pocl;                  /* the portable implementation, which runs on processors */
    size_t largest;             /* bytes of one buffer */
    char options[128];          /* of the compiler */
    char identity[800];         /* platform, device and driver: what a binary is good for */
    DevKernel *kernels;
    cl_event behind[CL_BEHIND];
    uint64_t launched;
    ClSpare spares[CL_SPARES];
    size_t spare_bytes;
    uint64_t products[2];       /* kinds of products that ran before: opencl_blas.c */
    bool multiplied;
} ClState;

static inline ClState *cl_state(const Device *d) { return d->state; }

/* ---- opencl_load.c ---- */
/* NULL: not there, and *why is a phrase that names the package. */
const OpenCl *opencl_open(const char **why);
const ClBlast *clblast_open(void);
/* "CL_OUT_OF_RESOURCES: the device ran out of registers, local memory or time". */
const char *opencl_error(cl_int code);
/* DEV_OK, or leaves `doing` and what the code means in d->fault. */
DevStatus opencl_check(Device *, cl_int code, const char *doing);

/* ---- opencl_probe.c ---- */
/* Loading a driver changes what the process does on signals, and starts threads that would take
 * them: LLVM inside PoCL handles SIGINT and a dozen others on a stack of its own. Between these two
 * no signal comes, and afterwards all is as it was, but for SIGFPE, which a driver needs. */
typedef struct ClSignals {
    sigset_t mask;
    stack_t stack;
    struct sigaction action[NSIG];
} ClSignals;
void opencl_signals_keep(ClSignals *);
void opencl_signals_restore(const ClSignals *);
/* All devices, accelerators before processors; at most `max`. *code: what the loader said. */
int opencl_list(const OpenCl *, cl_platform_id *, cl_device_id *, int max, cl_int *code);
void opencl_text(const OpenCl *, cl_device_id, cl_uint what, char *out, size_t cap);
cl_ulong opencl_number(const OpenCl *, cl_device_id, cl_uint what);
enum { CL_DEVICES_MAX = 64 };

/* ---- opencl_build.c ---- */
DevStatus opencl_build(Device *, const char *source, const char *entry, DevKernel **);
void opencl_drop(Device *, DevKernel *);
DevStatus opencl_launch(Device *, DevKernel *, const DevGrid *, const DevArg *, int n);
/* What the binary of `source` is kept under: device_cache.h. */
void opencl_key(const ClState *, const char *source, const char *key[5]);

/* ---- opencl_blas.c ---- */
DevStatus opencl_gemm(Device *, const DevGemm *);

/* ---- opencl.c ---- */
extern const DeviceOps opencl_ops;

#endif
