/* The table of backends: one more is one more row. */
#include "kernels/backends/backends.h"

#include "kernels/cuda/cuda_probe.h"
#include "kernels/mpi/mpi_device.h"
#include "kernels/mpi/mpi_probe.h"
#include "kernels/opencl/opencl_probe.h"

const DeviceBackend device_backends[] = {
    { "mpi", mpi_probe, mpi_device },
    { "opencl", opencl_probe, NULL },
    { "cuda", cuda_probe, NULL },
    { NULL, NULL, NULL },
};
