/* What others see of NVIDIA's devices: looking for them. Both backends call their kernels DevKernel, so one
 * file can include but one of their own headers. */
#ifndef RICCI_KERNELS_CUDA_PROBE_H
#define RICCI_KERNELS_CUDA_PROBE_H

#include "core/base/ctx.h"

/* Adds cuda:0 …, or an absent `cuda` with the reason. */
void cuda_probe(Ctx *);

#endif
