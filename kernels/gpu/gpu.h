/* Kernels for devices that run generated source (OpenCL, CUDA): a nest (nest.h) becomes text in
 * the common subset of OpenCL C and CUDA C++, made one by a small prelude (gpu_prelude.c); texts
 * are built once per device and kept (the backend keeps binaries on disk). Elementwise rows,
 * fused chains, index notation, permutations, slices, reductions and softmax all come here as
 * nests; products go to the device's library where it has one, else to a tiled kernel of ours.
 *
 * Sizes and strides are arguments of a kernel, never part of its text, so a new size builds
 * nothing. Arithmetic is the host's: no fast math, no contraction of a*b+c, f16 and bf16 computed
 * in f32 and rounded once per operation, sums of f16 and bf16 in f32.
 *
 * Files: gpu.c (what is taken, built kernels, launches), gpu_plan.c (which kernels a nest needs),
 * gpu_form.c (fewer axes), gpu_source.c gpu_reduce.c gpu_move.c (text), gpu_prelude.c (the two
 * languages as one), gpu_gemm.c (products), gpu_attention.c (attention, gpu_attention.h),
 * gpu_sparse.c (products over entries, gpu_sparse.h). */
#ifndef RICCI_KERNELS_GPU_H
#define RICCI_KERNELS_GPU_H

#include "core/base/buf.h"
#include "kernels/device/device.h"
#include "kernels/device/lack.h"
#include "kernels/nest/nest.h"

/* Can the device compute this nest? *why gets what stands against it. Pure. */
bool gpu_takes(const Device *, const Nest *, Lack *why);
/* The result into `out` (strides per axis, NULL: contiguous); data: `slots` arguments, device
 * memory for loads and gather tables, host values for constants. Trouble as nest_run tells it.
 * Raises ERR_DEVICE (build log included), ERR_MEMORY; counts launches. */
EwTrouble gpu_nest(Ctx *, Device *, const Nest *, const int64_t *out_stride, const DevArg *out,
                   const DevArg *data);
/* The text that gpu_nest would build, without a device: caps as Device.caps, dtypes likewise. For
 * tests that compile every kernel. */
typedef struct GpuText {
    Buf source;
    const char *entry;
} GpuText;
void gpu_nest_text(Ctx *, unsigned caps, uint32_t dtypes, const Nest *, GpuText *);
/* Who multiplies: the library, or our own kernel where it is missing or the matrices are small. */
/* "CLBlast", "cuBLAS"; NULL: our own kernel. */
const char *gpu_gemm_library(const Device *, const DevGemm *);
/* Copies a strided view into contiguous (or strided) memory there, casting on the way. */
void gpu_copy(Ctx *, Device *, Tensor *from, const DevArg *out, DType to,
              const int64_t *out_stride);
/* What the ops of a backend that builds kernels have as forget and pack. */
void gpu_forget(Ctx *, Device *);
void gpu_pack(Ctx *, Device *, Tensor *to, Tensor *t);

#endif
