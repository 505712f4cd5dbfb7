/* The table of strip operations for one instruction set: FUSED_TABLE names it; with FUSED_ALL the
 * least and the greatest products are there beside sums of products and or of ands. Included by
 * contract_fused_base.c and contract_fused_avx2.c. Integers wrap: they are made in 64 bits
 * without sign, and compared as what they are. */
#include "kernels/contract/contract_fused_kernels.h"

#include "kernels/reduce/reduce_complex.h"

#include <math.h>

#define PASTE3(a, b, c) a##_##b##_##c
#define NAMED3(a, b, c) PASTE3(a, b, c)
#define FN(f) NAMED3(SEMIRING, DTYPE_NAME, f)
#define CONJ(x) (x)

#define T int8_t
#define W uint8_t
#define DTYPE_NAME i8
#define LEAST INT8_MIN
#define MOST INT8_MAX
#include "kernels/contract/contract_fused_type.tmpl.h"
#define T uint8_t
#define W uint8_t
#define DTYPE_NAME u8
#define LEAST 0
#define MOST UINT8_MAX
#include "kernels/contract/contract_fused_type.tmpl.h"
#define T int32_t
#define W uint32_t
#define DTYPE_NAME i32
#define LEAST INT32_MIN
#define MOST INT32_MAX
#include "kernels/contract/contract_fused_type.tmpl.h"
#define T int64_t
#define W uint64_t
#define DTYPE_NAME i64
#define LEAST INT64_MIN
#define MOST INT64_MAX
#include "kernels/contract/contract_fused_type.tmpl.h"
#define FLOATS 1
#define T float
#define W float
#define DTYPE_NAME f32
#define LEAST (-INFINITY)
#define MOST INFINITY
#include "kernels/contract/contract_fused_type.tmpl.h"
#define T double
#define W double
#define DTYPE_NAME f64
#define LEAST (-(double)INFINITY)
#define MOST (double)INFINITY
#include "kernels/contract/contract_fused_type.tmpl.h"
#undef FLOATS

#define T uint8_t
#define DTYPE_NAME b8
#define SEMIRING or_and
#define COMBINE(a, b) ((a) & (b))
#define REDUCE(x, v) ((x) | (v))
#define IDENTITY 0
#include "kernels/contract/contract_fused_ops.tmpl.h"
#undef DTYPE_NAME
#undef T
#undef CONJ

#define CONJ(x) conjf(x)
#define T float _Complex
#define DTYPE_NAME c64
#define SEMIRING plus_times
#define COMBINE(a, b) times_c64(a, b)
#define REDUCE(x, v) ((x) + (v))
#define IDENTITY 0
#include "kernels/contract/contract_fused_ops.tmpl.h"
#undef DTYPE_NAME
#undef T
#undef CONJ

#define CONJ(x) conj(x)
#define T double _Complex
#define DTYPE_NAME c128
#define SEMIRING plus_times
#define COMBINE(a, b) times_c128(a, b)
#define REDUCE(x, v) ((x) + (v))
#define IDENTITY 0
#include "kernels/contract/contract_fused_ops.tmpl.h"

#define ENTRY(op, dtype)                                                                     \
    { op##_##dtype##_fill, op##_##dtype##_mul, op##_##dtype##_add, op##_##dtype##_fma,       \
      op##_##dtype##_scale, op##_##dtype##_axpy, op##_##dtype##_sum, op##_##dtype##_dot,     \
      op##_##dtype##_gather, op##_##dtype##_tile, op##_##dtype##_scatter }
#define ORDERED(op)                                                                          \
    [DT_I8] = ENTRY(op, i8), [DT_U8] = ENTRY(op, u8), [DT_I32] = ENTRY(op, i32),             \
    [DT_I64] = ENTRY(op, i64), [DT_F32] = ENTRY(op, f32), [DT_F64] = ENTRY(op, f64)

const FusedOps FUSED_TABLE[SR_COUNT][DT_COUNT] = {
    [SR_PLUS_TIMES] = { ORDERED(plus_times), [DT_C64] = ENTRY(plus_times, c64),
                        [DT_C128] = ENTRY(plus_times, c128) },
#ifdef FUSED_ALL
    [SR_MIN_TIMES] = { ORDERED(min_times) }, [SR_MAX_TIMES] = { ORDERED(max_times) },
#endif
    [SR_OR_AND] = { [DT_BOOL] = ENTRY(or_and, b8) },
};
