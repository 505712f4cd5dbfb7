/* What others see of NVIDIA's devices: looking for them. A header of its own, since the backends'
 * own ones each say what a DevKernel is. */
#ifndef RICCI_KERNELS_CUDA_PROBE_H
#define RICCI_KERNELS_CUDA_PROBE_H

#include "core/base/ctx.h"

/* Adds cuda:0 …, or an absent `cuda` with the reason. */
void cuda_probe(Ctx *);

#endif
