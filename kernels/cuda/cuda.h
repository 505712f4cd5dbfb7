/* NVIDIA's devices as a backend of device.h, without CUDA's headers and without linking it: the
 * driver and the libraries of the toolkit are opened when devices are first looked for, so a binary
 * built anywhere runs where there is none. Values of constants are those of cuda.h, cublas_api.h
 * and cusolver_common.h (CUDA 11 to 13).
 *
 * A device has its primary context, which NVIDIA's libraries share, and one stream: all that is
 * asked of it happens in order. Launches return before they ran; what goes wrong in one is told by
 * the next wait (sync, put, get), and where the driver gives the device up, everything after says
 * so too.
 *
 * Files: cuda_load.c (the libraries), cuda.c (what is there, memory, copies, the stream),
 * cuda_lend.c (memory that other libraries use too), cuda_build.c (kernels), cuda_math.c (cuBLAS
 * and cuSOLVER). Only they include this; others see kernels/device/device.h. Nothing here raises: a
 * function leaves a sentence in Device.fault.
 */
#ifndef RICCI_KERNELS_CUDA_H
#define RICCI_KERNELS_CUDA_H

#include "kernels/device/device.h"

typedef int CUresult, CUdevice;
typedef uint64_t CUdeviceptr;
typedef struct CudaContext *CUcontext;
typedef struct CudaStream *CUstream;
typedef struct CudaEvent *CUevent;
typedef struct CudaModule *CUmodule;
typedef struct CudaFunction *CUfunction;
typedef struct CudaPool *CUmemoryPool;
typedef struct NvrtcProgram *nvrtcProgram;
typedef struct CublasHandle *cublasHandle;
typedef struct CusolverHandle *cusolverHandle;

enum {
    CUDA_SUCCESS = 0, CUDA_ERROR_OUT_OF_MEMORY = 2,
    CUDA_ERROR_STUB_LIBRARY = 34, CUDA_ERROR_NO_DEVICE = 100,

    CU_ATTRIBUTE_MAX_THREADS = 1, CU_ATTRIBUTE_SHARED = 8, CU_ATTRIBUTE_MAJOR = 75,
    CU_ATTRIBUTE_MINOR = 76, CU_ATTRIBUTE_POOLS = 115,
    CU_STREAM_NON_BLOCKING = 1, CU_EVENT_DISABLE_TIMING = 2, CU_POOL_RELEASE_THRESHOLD = 4,
    CU_FUNCTION_MAX_SHARED = 8,

    CUDA_R_32F = 0, CUDA_R_64F = 1, CUDA_R_16F = 2, CUDA_R_16BF = 14,
    CUBLAS_OP_N = 0, CUBLAS_OP_T = 1, CUBLAS_COMPUTE_32F = 68, CUBLAS_COMPUTE_64F = 70,
    CUBLAS_GEMM_DEFAULT = -1,
    CUBLAS_FULL_REDUCTIONS = 16,        /* CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION */
    CUBLAS_FILL_LOWER = 0, CUBLAS_FILL_UPPER = 1,
};

typedef struct CudaDriver {
#define DRIVER(name, symbol, arguments) CUresult (*name) arguments;
#define DRIVER_MAYBE DRIVER
#include "kernels/cuda/cuda.def"
} CudaDriver;
typedef struct Nvrtc {
#define NVRTC(name, arguments) int (*name) arguments;
#include "kernels/cuda/cuda.def"
} Nvrtc;
typedef struct Cublas {
#define BLAS(name, symbol, arguments) int (*name) arguments;
#include "kernels/cuda/cuda.def"
} Cublas;
typedef struct CusolverReal {
#define SOLVER_REAL(name, arguments) int (*name) arguments;
#include "kernels/cuda/cuda.def"
} CusolverReal;
typedef struct Cusolver {
#define SOLVER(name, arguments) int (*name) arguments;
#include "kernels/cuda/cuda.def"
    CusolverReal real[2];               /* f32, f64 */
} Cusolver;

/* What could be loaded, for the process. */
typedef struct CudaLibraries {
    char why[200];                      /* not empty: there is no driver to speak to, and why */
    int version;                        /* of CUDA, that the driver is for: 12040 is 12.4 */
    bool compiles, multiplies, solves;  /* libnvrtc, libcublas, libcusolver are there */
    int compiler;                       /* NVRTC's version, likewise */
    CudaDriver driver;
    Nvrtc nvrtc;
    Cublas blas;
    Cusolver solver;
} CudaLibraries;

struct DevKernel {
    CUmodule module;
    CUfunction function;
    unsigned shared;                    /* bytes of local memory that it was allowed */
    char name[64];
};

/* Device.state of an open device; before that, and after it was closed, it is the Ctx. */
typedef struct CudaState {
    Ctx *ctx;
    const CudaLibraries *l;
    CUdevice device;
    CUcontext context;
    CUstream stream;
    CUmemoryPool pool;                  /* NULL: memory is asked for and given back at once */
    int arch, threads;                  /* 90: compute capability 9.0; in a block at most */
    cublasHandle blas;                  /* NULL until first used, as the next */
    cusolverHandle solver;
    CUdeviceptr info;                   /* an int32: what a routine of LAPACK says */
    uint64_t behind;                    /* kernels launched since the last wait */
    char last[64];                      /* the last of them */
    bool lost;                          /* the driver gave it up; why is in `fault` */
    char fault[300];
} CudaState;

static inline CudaState *cuda_state(const Device *d) { return d->state; }

/* ---- cuda_load.c ---- */
const CudaLibraries *cuda_libraries(void);
/* "CUDA_ERROR_ILLEGAL_ADDRESS (an illegal memory access was encountered)". */
void cuda_error_text(const CudaDriver *, CUresult, char *out, size_t cap);
/* NULL where the library has no such status. */
const char *cublas_status_name(int status);
const char *cusolver_status_name(int status);

/* ---- cuda.c ---- */
extern const DeviceOps cuda_ops;
/* Makes the device's context the thread's; DEV_FAILED where the device was given up. */
DevStatus cuda_enter(Device *);
/* DEV_OK, DEV_NO_MEMORY, or DEV_FAILED with the driver's reason in d->fault. */
DevStatus cuda_check(Device *, CUresult);
DevStatus cuda_alloc(Device *, size_t bytes, DevMem *);
void cuda_release(Device *, DevMem *);
DevStatus cuda_get(Device *, const DevMem *, size_t at, void *to, size_t bytes);
/* A sentence of ours. */
DevStatus cuda_fault(Device *, DevStatus, const char *fmt,
                     ...) __attribute__((format(printf, 3, 4)));

/* ---- cuda_lend.c ---- */
extern const DevLending cuda_lending;

/* ---- cuda_build.c ---- */
DevStatus cuda_build(Device *, const char *source, const char *entry, DevKernel **);
void cuda_drop(Device *, DevKernel *);
DevStatus cuda_launch(Device *, DevKernel *, const DevGrid *, const DevArg *, int n);
/* NVRTC's option for a device of this compute capability; *binary: it makes machine code, not PTX
 * for the driver to finish. False: it makes nothing for so old a device. */
bool cuda_arch_option(const Nvrtc *, int arch, char *out, size_t cap, bool *binary);
/* Compiles without a device. The image is the Ctx's memory, *bytes long; NULL: why is in `log`. */
char *cuda_compile(Ctx *, const Nvrtc *, const char *arch, bool binary, const char *source,
                   size_t *bytes, char *log, size_t log_cap);

/* ---- cuda_math.c ---- */
/* Fills d->math with what the libraries have. */
void cuda_math(Device *, const CudaLibraries *);
void cuda_math_close(CudaState *);

#endif
