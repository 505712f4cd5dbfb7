/* Attention for one instruction set, in both real types, and the table ATTENTION_SET. Included by
 * attention_base.c, attention_avx2.c and attention_avx512.c. */
#include "kernels/attention/attention_kernels.h"
#include "kernels/gemm/bf16_small.h"
#include "kernels/gemm/vector_real.tmpl.h"
#include "kernels/tensor/cast.h"

#include <float.h>
#include <math.h>
#include <sched.h>
#include <string.h>

#define ALWAYS static inline __attribute__((always_inline))
#define PASTE(a, b) a##_##b
#define GLUE(a, b) PASTE(a, b)

/* A tile of sums in registers: rows by vectors. 32 registers take 6 x 4, 16 take 6 x 2. */
#define TILE_VECTORS (VECTOR_BYTES == 64 ? 4 : 2)

typedef int32_t VecI_s __attribute__((vector_size(VECTOR_BYTES)));
typedef int64_t VecI_d __attribute__((vector_size(VECTOR_BYTES)));

#define T float
#define TI int32_t
#define TAG s
#define REAL_BYTES 4
#define KERNEL_TYPE DT_F32
#include "kernels/attention/attention_type.tmpl.h"
#undef T
#undef TI
#undef TAG
#undef REAL_BYTES
#undef KERNEL_TYPE
#define T double
#define TI int64_t
#define TAG d
#define REAL_BYTES 8
#define DOUBLE 1
#define KERNEL_TYPE DT_F64
#include "kernels/attention/attention_type.tmpl.h"

#define ROW(t) { together_##t, scratch_##t, back_scratch_##t, head_bytes_##t, head_parts_##t, \
                 block_##t, back_begin_##t, back_keys_##t, back_end_##t }
const AttentionKernels ATTENTION_SET = { ROW(s), ROW(d) };
