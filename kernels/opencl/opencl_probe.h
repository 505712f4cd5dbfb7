/* What others see of OpenCL's devices: looking for them. Both backends call their kernels DevKernel, so one
 * file can include but one of their own headers. */
#ifndef RICCI_KERNELS_OPENCL_PROBE_H
#define RICCI_KERNELS_OPENCL_PROBE_H

#include "core/base/ctx.h"

/* Adds opencl:0 …, or an absent `opencl` with the reason. */
void opencl_probe(Ctx *);

#endif
