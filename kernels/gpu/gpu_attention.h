/* Attention and its gradient on devices of generated source, by tiles as kernels/attention has
 * them: scores are made in local memory and never kept. One text for all five parts: a group has a
 * block of its own rows (queries, or keys for the gradients of k and v) and goes through the tiles
 * of the others. Operands are read as they lie; the order of every sum is fixed. */
#ifndef RICCI_KERNELS_GPU_ATTENTION_H
#define RICCI_KERNELS_GPU_ATTENTION_H

#include "kernels/attention/attention.h"
#include "kernels/gpu/gpu.h"

enum { GPU_HEAD_AXES = 4 };             /* leading axes that a kernel knows apart */

/* What a part gives: the result in the operands' dtype, else in the one that is counted in. All of
 * it contiguous. */
typedef enum GpuAttentionPart { ATTENTION_OUT, ATTENTION_DQ, ATTENTION_DK, ATTENTION_DV,
                                ATTENTION_DBIAS } GpuAttentionPart;

/* Steps in elements; 0 along an axis that an operand has not. As the kernel has them. */
typedef struct GpuSteps { int64_t axis[GPU_HEAD_AXES], row, col; } GpuSteps;
typedef struct GpuHeads { DevArg at; GpuSteps step; } GpuHeads;

typedef struct GpuAttention {
    DType dt;                           /* of q, k, v, w, and of a bias that adds */
    int64_t heads, extent[GPU_HEAD_AXES];
    int64_t n, m, d, e, left, right, shift;     /* see Attention */
    double scale;
    AttentionBias biased;
    GpuHeads q, k, v, w, bias;          /* w: the cotangent of the result */
    /* of each query, in the dtype that is counted in, contiguous: what ATTENTION_OUT writes if
     * `logs`, else what the others read; and sum(w out) - the cotangent of lse */
    DevArg lse, rest, delta;
    bool logs;
    /* Where the gradient of the bias has elements of its own; in rows or columns at least. */
    bool kept[GPU_HEAD_AXES], rows, cols;
} GpuAttention;

/* Has the device room for a group? *why gets what stands against it. Pure. */
bool gpu_attention_takes(const Device *, DType, Lack *why);
int gpu_attention_tile(DType);          /* queries, and keys, of a tile */
int64_t gpu_attention_room(DType);      /* bytes of local memory of a group at most */
void gpu_attention(Ctx *, Device *, const GpuAttention *, GpuAttentionPart, const DevArg *out);

#endif
