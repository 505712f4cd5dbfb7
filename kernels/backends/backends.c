/* The table of backends: one more is one more row. */
#include "kernels/backends/backends.h"

#include "kernels/cuda/cuda_probe.h"
#include "kernels/opencl/opencl_probe.h"

const DeviceBackend device_backends[] = {
    { "opencl", opencl_probe },
    { "cuda", cuda_probe },
    { NULL, NULL },
};
