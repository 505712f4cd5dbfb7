/* The tiles of every dtype and pair of operations for one instruction set, and their table
 * TILE_SET. Included by semiring_base.c, semiring_avx2.c and semiring_avx512.c. */
#include "kernels/semiring/semiring_kernels.h"
#include "kernels/semiring/semiring_vector.tmpl.h"

/* 32 registers take a tile of 8 x 3 sums, 16 one of 4 x 3. */
#define TILE_ROWS (VECTOR_BYTES == 64 ? 8 : 4)

#define TAG f32
#define T float
#define LEAST (-(float)__builtin_inff())
#define MOST ((float)__builtin_inff())
#define FLOATING 1
#include "kernels/semiring/semiring_tiles.tmpl.h"
#define TAG f64
#define T double
#define LEAST (-__builtin_inf())
#define MOST (__builtin_inf())
#define FLOATING 1
#include "kernels/semiring/semiring_tiles.tmpl.h"
#define TAG i8
#define T int8_t
#define LEAST INT8_MIN
#define MOST INT8_MAX
#define NO_TIMES 1
#include "kernels/semiring/semiring_tiles.tmpl.h"
#define TAG u8
#define T uint8_t
#define LEAST 0
#define MOST UINT8_MAX
#define NO_TIMES 1
#include "kernels/semiring/semiring_tiles.tmpl.h"
#define TAG i32
#define T int32_t
#define LEAST INT32_MIN
#define MOST INT32_MAX
#include "kernels/semiring/semiring_tiles.tmpl.h"

/* 64-bit products: whole ones for any factors, and those of factors that fit 32 bits, which
 * AVX2 multiplies in one instruction. Packing finds out which are there. */
#define TAG i64
#define T int64_t
#define LEAST INT64_MIN
#define MOST INT64_MAX
#define NARROW_TIMES 1
ALWAYS V_i64 narrow_times(V_i64 a, V_i64 b)
{
#if VECTOR_BYTES == 64 && defined(MM)
    return (V_i64)_mm512_mul_epi32((__m512i)a, (__m512i)b);
#elif VECTOR_BYTES == 32 && defined(MM)
    return (V_i64)_mm256_mul_epi32((__m256i)a, (__m256i)b);
#else
    return times_i64(a, b);
#endif
}
#include "kernels/semiring/semiring_tiles.tmpl.h"

/* 8-bit factors come as 16 bits. Sums of products may run over them: only the low byte is
 * kept; a product that is compared is cut to 8 bits first. */
#define TAG i16
#define T int16_t
#define FN(f) i8_plus_times_##f
#define STEP(x, a, b) add_times_i16(x, a, b)
#define START 0
#define VECTORS 3
#include "kernels/semiring/semiring_tile.tmpl.h"
ALWAYS V_i16 times_signed(V_i16 a, V_i16 b) { return (V_i16)((W_i16)times_i16(a, b) << 8) >> 8; }
ALWAYS V_i16 times_unsigned(V_i16 a, V_i16 b) { return times_i16(a, b) & 0xff; }
#define FN(f) i8_min_times_##f
#define STEP(x, a, b) lower_i16(times_signed(a, b), x)
#define START INT8_MAX
#define VECTORS 3
#include "kernels/semiring/semiring_tile.tmpl.h"
#define FN(f) i8_max_times_##f
#define STEP(x, a, b) higher_i16(times_signed(a, b), x)
#define START INT8_MIN
#define VECTORS 3
#include "kernels/semiring/semiring_tile.tmpl.h"
#define FN(f) u8_min_times_##f
#define STEP(x, a, b) lower_i16(times_unsigned(a, b), x)
#define START UINT8_MAX
#define VECTORS 3
#include "kernels/semiring/semiring_tile.tmpl.h"
#define FN(f) u8_max_times_##f
#define STEP(x, a, b) higher_i16(times_unsigned(a, b), x)
#define START 0
#define VECTORS 3
#include "kernels/semiring/semiring_tile.tmpl.h"
#undef TAG
#undef T

#define TAG i64
#define T int64_t
#define FN(f) bool_##f
#define STEP(x, a, b) ((x) | ((a) & (b)))
#define START 0
#define VECTORS 3
#include "kernels/semiring/semiring_tile.tmpl.h"
#undef TAG
#undef T

#define TAG f32
#define T float
#define FN(f) c64_##f
#include "kernels/semiring/semiring_complex.tmpl.h"
#define TAG f64
#define T double
#define FN(f) c128_##f
#include "kernels/semiring/semiring_complex.tmpl.h"

/* Additions of floats leave registers for fewer vectors: semiring_tiles.tmpl.h. */
#if defined(__FMA__)
#define ADD_VECTORS (TILE_ROWS == 8 ? 3 : 2)
#else
#define ADD_VECTORS 3
#endif
#define KERNEL(dtype, op) { dtype##_##op##_tile, NULL, 3 }
#define BYTES(op) [DT_I8] = KERNEL(i8, op), [DT_U8] = KERNEL(u8, op), [DT_I32] = KERNEL(i32, op)
#define CAREFUL(dtype, op, vectors) { dtype##_##op##_tile, dtype##_##op##_careful_tile, vectors }
#define FLOATS(op, vectors)                                                                   \
    [DT_F32] = CAREFUL(f32, op, vectors), [DT_F64] = CAREFUL(f64, op, vectors)
#define WIDE(op) [DT_I64] = { i64_##op##_tile, i64_##op##_wide_tile, 3 }

const TileSet TILE_SET = {
    TILE_ROWS, VECTOR_BYTES, {
        [SR_PLUS_TIMES] = { [DT_I8] = KERNEL(i8, plus_times), [DT_U8] = KERNEL(i8, plus_times),
                            [DT_I32] = KERNEL(i32, plus_times), WIDE(plus_times),
                            [DT_F32] = KERNEL(f32, plus_times), [DT_F64] = KERNEL(f64, plus_times),
                            [DT_C64] = { c64_tile, NULL, 1 }, [DT_C128] = { c128_tile, NULL, 1 } },
        [SR_MIN_PLUS] = { BYTES(min_plus), [DT_I64] = KERNEL(i64, min_plus),
                          FLOATS(min_plus, ADD_VECTORS) },
        [SR_MAX_PLUS] = { BYTES(max_plus), [DT_I64] = KERNEL(i64, max_plus),
                          FLOATS(max_plus, ADD_VECTORS) },
        [SR_MIN_TIMES] = { BYTES(min_times), WIDE(min_times), FLOATS(min_times, 3) },
        [SR_MAX_TIMES] = { BYTES(max_times), WIDE(max_times), FLOATS(max_times, 3) },
        [SR_MIN_MAX] = { BYTES(min_max), [DT_I64] = KERNEL(i64, min_max), FLOATS(min_max, 3) },
        [SR_MAX_MIN] = { BYTES(max_min), [DT_I64] = KERNEL(i64, max_min), FLOATS(max_min, 3) },
        [SR_OR_AND] = { [DT_BOOL] = { bool_tile, NULL, 3 } },
    }
};
