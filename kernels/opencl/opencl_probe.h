/* What others see of OpenCL's devices: looking for them. A header of its own, since the backends'
 * own ones each say what a DevKernel is. */
#ifndef RICCI_KERNELS_OPENCL_PROBE_H
#define RICCI_KERNELS_OPENCL_PROBE_H

#include "core/base/ctx.h"

/* Adds opencl:0 …, or an absent `opencl` with the reason. */
void opencl_probe(Ctx *);

#endif
