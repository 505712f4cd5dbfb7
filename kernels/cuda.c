/* CUDA: not looked for yet. */
#include "kernels/device.h"

#include <stdio.h>

static const DeviceOps cuda_ops = { .backend = "cuda" };

void cuda_probe(Ctx *ctx)
{
    Device *d = device_add(ctx, &cuda_ops, "cuda");
    snprintf(d->why, sizeof d->why, "no NVIDIA driver was looked for");
}
