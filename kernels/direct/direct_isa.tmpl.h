/* The strips of direct contractions for one instruction set, and their table DIRECT_SET.
 * Included by direct_base.c, direct_avx2.c and direct_avx512.c. */
#include "kernels/direct/direct_kernels.h"
#include "kernels/semiring/semiring_vector.tmpl.h"

#define TAG i8
#define T int8_t
#include "kernels/direct/direct_tiles.tmpl.h"
#define TAG u8
#define T uint8_t
#define SAME_SUMS 1
#include "kernels/direct/direct_tiles.tmpl.h"
#define TAG i32
#define T int32_t
#include "kernels/direct/direct_tiles.tmpl.h"
#define TAG i64
#define T int64_t
#include "kernels/direct/direct_tiles.tmpl.h"
#define TAG f32
#define T float
#define FLOATING 1
#include "kernels/direct/direct_tiles.tmpl.h"
#define TAG f64
#define T double
#define FLOATING 1
#include "kernels/direct/direct_tiles.tmpl.h"

#define TAG u8
#define T uint8_t
#define FN(f) bool_##f
#define COMBINE(a, b) ((a) & (b))
#define STEP(x, a, b) ((x) | ((a) & (b)))
#define REDUCE(x, v) ((x) | (v))
#include "kernels/direct/direct_tile.tmpl.h"
#undef TAG
#undef T

#define u8_plus_times_scaled i8_plus_times_scaled
#define u8_plus_times_paired i8_plus_times_paired
#define ENTRY(dtype, op) { dtype##_##op##_scaled, dtype##_##op##_paired }
#define ORDERED(op)                                                                           \
    { [DT_I8] = ENTRY(i8, op), [DT_U8] = ENTRY(u8, op), [DT_I32] = ENTRY(i32, op),             \
      [DT_I64] = ENTRY(i64, op), [DT_F32] = ENTRY(f32, op), [DT_F64] = ENTRY(f64, op) }

const DirectSet DIRECT_SET = {
    VECTOR_BYTES, {
        [SR_PLUS_TIMES] = ORDERED(plus_times), [SR_MIN_PLUS] = ORDERED(min_plus),
        [SR_MAX_PLUS] = ORDERED(max_plus),     [SR_MIN_TIMES] = ORDERED(min_times),
        [SR_MAX_TIMES] = ORDERED(max_times),   [SR_MIN_MAX] = ORDERED(min_max),
        [SR_MAX_MIN] = ORDERED(max_min),
        [SR_OR_AND] = { [DT_BOOL] = { bool_scaled, bool_paired } },
    }
};
