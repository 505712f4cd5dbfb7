/* A CUDA machine made of the host, for tests: libcuda.so.1, libnvrtc.so.12, libcublas.so.12 and
 * libcusolver.so.11 with the symbols that kernels/cuda/cuda.def names. Device memory is malloc's, with
 * every copy checked against it; a stream is a list of what was asked for, done when it is waited
 * for, so whoever reads too early reads rubbish. A test sets what goes wrong, and asks what was
 * done in a wrong order, through the symbol `stub` of libcuda.so.1. */
#ifndef RICCI_TESTS_STUB_H
#define RICCI_TESTS_STUB_H

#include <math.h>
#include <stddef.h>
#include <stdint.h>

/* What runs as a kernel of this name: parameters are as cuLaunchKernel takes them. */
typedef void StubKernel(void **parameter, const unsigned grid[3], const unsigned block[3]);

typedef struct Stub {
    int init_code, version, devices, arch, pools;
    size_t memory;                      /* of a device */
    size_t live;                        /* bytes that were not given back; and how many of each thing */
    int blocks, contexts, streams, events, modules, handles;
    uintptr_t waited_for;               /* the stream that was made to wait last */
    long launches, compiled, allocations;
    /* The fail_in-th call from now of the function of this name gives fail_code; 0: none. */
    char fail_name[48];
    int fail_in, fail_code;
    int kernel_fault;                   /* the next kernel that runs leaves this error, for good */
    int sticky;                         /* every call gives this */
    int disorder;                       /* calls that a driver would not have allowed */
    char first_disorder[120];
    struct { char name[48]; StubKernel *run; } kernel[8];   /* by hand, where nothing was compiled */
    char source[1 << 16];               /* what was compiled last, and its options */
    char options[512];
} Stub;

extern Stub stub;
/* Runs what waits in the stream; the error that a kernel left, or 0. */
int stub_wait(void *stream);
/* Is this call to fail? Its code, else 0. */
int stub_fails(const char *name);
void stub_disorder(const char *what);

/* f16 by its definition. */
static inline float stub_half_value(uint16_t h)
{
    int e = h >> 10 & 31, m = h & 1023;
    float f = e == 31 ? (m ? NAN : INFINITY) : ldexpf((float)(e ? m + 1024 : m), e ? e - 25 : -24);
    return h >> 15 ? -f : f;
}

static inline uint16_t stub_half_bits(float f)
{
    uint16_t sign = signbit(f) ? 0x8000 : 0;
    float a = fabsf(f);
    int e;
    if (a == 0)
        return sign;
    if (!(a < 65520))
        return (uint16_t)(sign | (a == a ? 0x7c00 : 0x7e00));
    frexpf(a, &e);
    int step = e - 11 < -24 ? -24 : e - 11;
    return (uint16_t)(sign | ((uint32_t)(step + 24) * 1024 + (uint32_t)lrintf(ldexpf(a, -step))));
}

#endif
