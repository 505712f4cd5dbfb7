/* OpenCL: not looked for yet. */
#include "kernels/device.h"

#include <stdio.h>

static const DeviceOps opencl_ops = { .backend = "opencl" };

void opencl_probe(Ctx *ctx)
{
    Device *d = device_add(ctx, &opencl_ops, "opencl");
    snprintf(d->why, sizeof d->why, "no OpenCL platform was looked for");
}
