/* Contractions over every pair of operations and dtype by plain loops: what the fast kernels
 * are tested against, what runs in hostile builds, and what takes products of a few elements.
 * Called through the table by semiring.c and direct.c. */
#include "kernels/semiring/semiring_kernels.h"

#include "kernels/reduce/reduce_complex.h"

#include <math.h>

#define PASTE3(a, b, c) a##_##b##_##c
#define NAMED3(a, b, c) PASTE3(a, b, c)
#define FN(f) NAMED3(SEMIRING, DTYPE_NAME, f)

#define WRAPS 1
#define T int8_t
#define DTYPE_NAME i8
#define LEAST INT8_MIN
#define MOST INT8_MAX
#include "kernels/semiring/semiring_plain.tmpl.h"
#define WRAPS 1
#define T uint8_t
#define DTYPE_NAME u8
#define LEAST 0
#define MOST UINT8_MAX
#include "kernels/semiring/semiring_plain.tmpl.h"
#define WRAPS 1
#define T int32_t
#define DTYPE_NAME i32
#define LEAST INT32_MIN
#define MOST INT32_MAX
#include "kernels/semiring/semiring_plain.tmpl.h"
#define WRAPS 1
#define T int64_t
#define DTYPE_NAME i64
#define LEAST INT64_MIN
#define MOST INT64_MAX
#include "kernels/semiring/semiring_plain.tmpl.h"
#define T float
#define DTYPE_NAME f32
#define LEAST (-INFINITY)
#define MOST INFINITY
#include "kernels/semiring/semiring_plain.tmpl.h"
#define T double
#define DTYPE_NAME f64
#define LEAST (-(double)INFINITY)
#define MOST (double)INFINITY
#include "kernels/semiring/semiring_plain.tmpl.h"

#define T uint8_t
#define DTYPE_NAME b8
#define SEMIRING or_and
#define COMBINE(a, b) (uint8_t)((a) & (b))
#define REDUCE(x, v) (uint8_t)((x) | (v))
#define IDENTITY 0
#include "kernels/semiring/semiring_fold.tmpl.h"
#undef DTYPE_NAME
#undef T

#define T float _Complex
#define DTYPE_NAME c64
#define SEMIRING plus_times
#define COMBINE(a, b) times_c64(a, b)
#define REDUCE(x, v) ((x) + (v))
#define IDENTITY 0
#include "kernels/semiring/semiring_fold.tmpl.h"
#undef DTYPE_NAME
#undef T

#define T double _Complex
#define DTYPE_NAME c128
#define SEMIRING plus_times
#define COMBINE(a, b) times_c128(a, b)
#define REDUCE(x, v) ((x) + (v))
#define IDENTITY 0
#include "kernels/semiring/semiring_fold.tmpl.h"
#undef DTYPE_NAME
#undef T

#define ENTRY(op, dtype) { op##_##dtype##_gemm, op##_##dtype##_direct }
#define ALL_ORDERED(op)                                                                      \
    { [DT_I8] = ENTRY(op, i8), [DT_U8] = ENTRY(op, u8), [DT_I32] = ENTRY(op, i32),           \
      [DT_I64] = ENTRY(op, i64), [DT_F32] = ENTRY(op, f32), [DT_F64] = ENTRY(op, f64) }

const PlainKernel semiring_plain[SR_COUNT][DT_COUNT] = {
    [SR_PLUS_TIMES] = { [DT_I8] = ENTRY(plus_times, i8), [DT_U8] = ENTRY(plus_times, u8),
                        [DT_I32] = ENTRY(plus_times, i32), [DT_I64] = ENTRY(plus_times, i64),
                        [DT_F32] = ENTRY(plus_times, f32), [DT_F64] = ENTRY(plus_times, f64),
                        [DT_C64] = ENTRY(plus_times, c64), [DT_C128] = ENTRY(plus_times, c128) },
    [SR_MIN_PLUS] = ALL_ORDERED(min_plus),   [SR_MAX_PLUS] = ALL_ORDERED(max_plus),
    [SR_MIN_TIMES] = ALL_ORDERED(min_times), [SR_MAX_TIMES] = ALL_ORDERED(max_times),
    [SR_MIN_MAX] = ALL_ORDERED(min_max),     [SR_MAX_MIN] = ALL_ORDERED(max_min),
    [SR_OR_AND] = { [DT_BOOL] = ENTRY(or_and, b8) },
};
