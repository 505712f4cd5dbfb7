/* Between tensors and the packed panels of semiring_kernels.h: packing, looking for what needs
 * a careful tile, and merging results. Called through the table by semiring.c. */
#include "kernels/semiring/semiring_kernels.h"

#define NAME(f) i8_##f
#define S int8_t
#define P int8_t
#define SEARCH 0
#include "kernels/semiring/semiring_pack.tmpl.h"
#define NAME(f) u8_##f
#define S uint8_t
#define P uint8_t
#define SEARCH 0
#include "kernels/semiring/semiring_pack.tmpl.h"
#define NAME(f) i32_##f
#define S int32_t
#define P int32_t
#define SEARCH 0
#include "kernels/semiring/semiring_pack.tmpl.h"
#define NAME(f) i64_##f
#define S int64_t
#define P int64_t
#define SEARCH 2
#include "kernels/semiring/semiring_pack.tmpl.h"
#define NAME(f) f32_##f
#define S float
#define P float
#define SEARCH 1
#include "kernels/semiring/semiring_pack.tmpl.h"
#define NAME(f) f64_##f
#define S double
#define P double
#define SEARCH 1
#include "kernels/semiring/semiring_pack.tmpl.h"
#define NAME(f) i8_times_##f
#define S int8_t
#define P int16_t
#define SEARCH 0
#include "kernels/semiring/semiring_pack.tmpl.h"
#define NAME(f) u8_times_##f
#define S uint8_t
#define P int16_t
#define SEARCH 0
#include "kernels/semiring/semiring_pack.tmpl.h"

#define PLUS(x, v) ((x) + (v))
#define WRAPPED(x, v) (int64_t)((uint64_t)(x) + (uint64_t)(v))
#define LOWER(x, v) ((v) < (x) || (v) != (v) ? (v) : (x))
#define HIGHER(x, v) ((v) > (x) || (v) != (v) ? (v) : (x))
#define NAME(f) i8_low_##f
#define S int8_t
#define P int8_t
#define REDUCE(x, v) (S)LOWER(x, v)
#include "kernels/semiring/semiring_merge.tmpl.h"
#define NAME(f) i8_high_##f
#define S int8_t
#define P int8_t
#define REDUCE(x, v) (S)HIGHER(x, v)
#include "kernels/semiring/semiring_merge.tmpl.h"
#define NAME(f) u8_low_##f
#define S uint8_t
#define P uint8_t
#define REDUCE(x, v) (S)LOWER(x, v)
#include "kernels/semiring/semiring_merge.tmpl.h"
#define NAME(f) u8_high_##f
#define S uint8_t
#define P uint8_t
#define REDUCE(x, v) (S)HIGHER(x, v)
#include "kernels/semiring/semiring_merge.tmpl.h"
#define NAME(f) i32_sum_##f
#define S int32_t
#define P int32_t
#define REDUCE(x, v) (S)WRAPPED(x, v)
#include "kernels/semiring/semiring_merge.tmpl.h"
#define NAME(f) i32_low_##f
#define S int32_t
#define P int32_t
#define REDUCE(x, v) (S)LOWER(x, v)
#include "kernels/semiring/semiring_merge.tmpl.h"
#define NAME(f) i32_high_##f
#define S int32_t
#define P int32_t
#define REDUCE(x, v) (S)HIGHER(x, v)
#include "kernels/semiring/semiring_merge.tmpl.h"
#define NAME(f) i64_sum_##f
#define S int64_t
#define P int64_t
#define REDUCE(x, v) (S)WRAPPED(x, v)
#include "kernels/semiring/semiring_merge.tmpl.h"
#define NAME(f) i64_low_##f
#define S int64_t
#define P int64_t
#define REDUCE(x, v) (S)LOWER(x, v)
#include "kernels/semiring/semiring_merge.tmpl.h"
#define NAME(f) i64_high_##f
#define S int64_t
#define P int64_t
#define REDUCE(x, v) (S)HIGHER(x, v)
#include "kernels/semiring/semiring_merge.tmpl.h"
#define NAME(f) f32_sum_##f
#define S float
#define P float
#define REDUCE(x, v) (S)PLUS(x, v)
#include "kernels/semiring/semiring_merge.tmpl.h"
#define NAME(f) f32_low_##f
#define S float
#define P float
#define REDUCE(x, v) (S)LOWER(x, v)
#include "kernels/semiring/semiring_merge.tmpl.h"
#define NAME(f) f32_high_##f
#define S float
#define P float
#define REDUCE(x, v) (S)HIGHER(x, v)
#include "kernels/semiring/semiring_merge.tmpl.h"
#define NAME(f) f64_sum_##f
#define S double
#define P double
#define REDUCE(x, v) (S)PLUS(x, v)
#include "kernels/semiring/semiring_merge.tmpl.h"
#define NAME(f) f64_low_##f
#define S double
#define P double
#define REDUCE(x, v) (S)LOWER(x, v)
#include "kernels/semiring/semiring_merge.tmpl.h"
#define NAME(f) f64_high_##f
#define S double
#define P double
#define REDUCE(x, v) (S)HIGHER(x, v)
#include "kernels/semiring/semiring_merge.tmpl.h"
#define NAME(f) i8_times_sum_##f
#define S int8_t
#define P int16_t
#define REDUCE(x, v) (S)WRAPPED(x, v)
#include "kernels/semiring/semiring_merge.tmpl.h"
#define NAME(f) i8_times_low_##f
#define S int8_t
#define P int16_t
#define REDUCE(x, v) (S)LOWER(x, v)
#include "kernels/semiring/semiring_merge.tmpl.h"
#define NAME(f) i8_times_high_##f
#define S int8_t
#define P int16_t
#define REDUCE(x, v) (S)HIGHER(x, v)
#include "kernels/semiring/semiring_merge.tmpl.h"
#define NAME(f) u8_times_sum_##f
#define S uint8_t
#define P int16_t
#define REDUCE(x, v) (S)WRAPPED(x, v)
#include "kernels/semiring/semiring_merge.tmpl.h"
#define NAME(f) u8_times_low_##f
#define S uint8_t
#define P int16_t
#define REDUCE(x, v) (S)LOWER(x, v)
#include "kernels/semiring/semiring_merge.tmpl.h"
#define NAME(f) u8_times_high_##f
#define S uint8_t
#define P int16_t
#define REDUCE(x, v) (S)HIGHER(x, v)
#include "kernels/semiring/semiring_merge.tmpl.h"

/* ---- complex numbers: for every k, the real parts of the panel, then the imaginary ones ---- */

#define NAME(f) c64_##f
#define R float
#include "kernels/semiring/semiring_parts.tmpl.h"
#define NAME(f) c64_##f
#define S float _Complex
#define P float _Complex
#define REDUCE(x, v) PLUS(x, v)
#include "kernels/semiring/semiring_merge.tmpl.h"
#define NAME(f) c128_##f
#define R double
#include "kernels/semiring/semiring_parts.tmpl.h"
#define NAME(f) c128_##f
#define S double _Complex
#define P double _Complex
#define REDUCE(x, v) PLUS(x, v)
#include "kernels/semiring/semiring_merge.tmpl.h"

/* ---- bools: 64 columns of B in a word ---- */

static void bool_pack_a(void *to, int64_t width, const void *from, int64_t across, int64_t along,
                        int64_t used, int64_t k)
{
    uint64_t *t = to;
    const uint8_t *f = from;
    for (int64_t q = 0; q < k; q++, t += width)
        for (int64_t i = 0; i < width; i++)
            t[i] = i < used ? -(uint64_t)f[i * across + q * along] : 0;
}

/* Bit j of the result: byte j of x, which is 0 or 1. Byte j moves to bit 56 + j. */
static inline uint64_t eight_bits(uint64_t x)
{
    return x * 0x0102040810204080u >> 56;
}

static uint64_t bool_word(const uint8_t *from, int64_t across, int64_t used)
{
    uint64_t word = 0;
    if (across == 1 && used >= 64) {
        for (int i = 0; i < 64; i += 8) {
            uint64_t x = 0;
            __builtin_memcpy(&x, from + i, 8);
            word |= eight_bits(x) << i;
        }
        return word;
    }
    for (int64_t i = 0; i < used && i < 64; i++)
        word |= (uint64_t)from[i * across] << i;
    return word;
}

static void bool_pack_b(void *to, int64_t width, const void *from, int64_t across, int64_t along,
                        int64_t used, int64_t k)
{
    uint64_t *t = to;
    const uint8_t *f = from;
    for (int64_t w = 0; w < width; w++)
        for (int64_t q = 0; q < k; q++)
            t[q * width + w] = bool_word(f + w * 64 * across + q * along, across, used - w * 64);
}

/* Byte j of the result: bit j of x < 256. No sum of two bytes carries into the next. */
static inline uint64_t eight_bytes(uint64_t x)
{
    uint64_t spread = x * 0x0101010101010101u & 0x8040201008040201u;
    return (spread + 0x7f7f7f7f7f7f7f7fu) >> 7 & 0x0101010101010101u;
}

static void bool_merge_row(uint8_t *to, int64_t step, int64_t cols, const uint64_t *from,
                           bool accumulate)
{
    int64_t j = 0;
    for (; step == 1 && j + 8 <= cols; j += 8) {
        uint64_t x = 0, old = 0;
        x = eight_bytes(from[j / 64] >> j % 64 & 0xff);
        if (accumulate)
            __builtin_memcpy(&old, to + j, 8);
        x |= old;
        __builtin_memcpy(to + j, &x, 8);
    }
    for (; j < cols; j++) {
        uint8_t bit = from[j / 64] >> j % 64 & 1, *at = to + j * step;
        *at = accumulate ? *at | bit : bit;
    }
}

static void bool_merge(Mat c, int64_t rows, int64_t cols, const void *tile, int64_t ld,
                       bool accumulate)
{
    for (int64_t i = 0; i < rows; i++)
        bool_merge_row((uint8_t *)c.data + i * c.rs, c.cs, cols, (const uint64_t *)tile + i * ld,
                       accumulate);
}

#define PACK(dtype, how) sizeof(dtype), sizeof(dtype), 1, how##_pack, how##_pack
#define PLAIN(merge)                                                                          \
    [DT_I8] = { PACK(int8_t, i8), NULL, i8_##merge },                                          \
    [DT_U8] = { PACK(uint8_t, u8), NULL, u8_##merge },                                         \
    [DT_I32] = { PACK(int32_t, i32), NULL, i32_##merge },                                      \
    [DT_I64] = { PACK(int64_t, i64), NULL, i64_##merge },                                      \
    [DT_F32] = { PACK(float, f32), f32_find, f32_##merge },                                    \
    [DT_F64] = { PACK(double, f64), f64_find, f64_##merge }
#define TIMES(merge)                                                                          \
    [DT_I8] = { PACK(int16_t, i8_times), NULL, i8_times_##merge },                             \
    [DT_U8] = { PACK(int16_t, u8_times), NULL, u8_times_##merge },                             \
    [DT_I32] = { PACK(int32_t, i32), NULL, i32_##merge },                                      \
    [DT_I64] = { PACK(int64_t, i64), i64_find, i64_##merge }
#define FLOATS(find32, find64, merge)                                                         \
    [DT_F32] = { PACK(float, f32), find32, f32_##merge },                                      \
    [DT_F64] = { PACK(double, f64), find64, f64_##merge }

const PackKernel semiring_pack[SR_COUNT][DT_COUNT] = {
    [SR_PLUS_TIMES] = { TIMES(sum_merge), FLOATS(NULL, NULL, sum_merge),
                        [DT_C64] = { 8, 4, 1, c64_pack, c64_pack, NULL, c64_merge },
                        [DT_C128] = { 16, 8, 1, c128_pack, c128_pack, NULL, c128_merge } },
    [SR_MIN_TIMES] = { TIMES(low_merge), FLOATS(f32_find, f64_find, low_merge) },
    [SR_MAX_TIMES] = { TIMES(high_merge), FLOATS(f32_find, f64_find, high_merge) },
    [SR_MIN_PLUS] = { PLAIN(low_merge) },   [SR_MAX_PLUS] = { PLAIN(high_merge) },
    [SR_MIN_MAX] = { PLAIN(low_merge) },    [SR_MAX_MIN] = { PLAIN(high_merge) },
    [SR_OR_AND] = { [DT_BOOL] = { 8, 8, 64, bool_pack_a, bool_pack_b, NULL, bool_merge } },
};
