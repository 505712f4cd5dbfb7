/* The loops of a stage for one instruction set, and their table STAGE_TABLE. Included by
 * nest_stage_base.c, nest_stage_avx2.c and nest_stage_avx512.c with VECTOR, the bytes of a
 * register; they differ in compiler flags only, and give the same bits. */
#include "kernels/nest/nest_stage.h"

#include <math.h>
#include <string.h>

#if defined(__clang__)
#define IVDEP _Pragma("clang loop vectorize(assume_safety)")
#else
#define IVDEP _Pragma("GCC ivdep")
#endif

/* A register to memory at a multiple of its size, past the cache. */
#ifndef PAST
#define PAST(p, v) PUT(p, v)
#endif

/* Columns of a tile of distances: what is left of the registers beside DISTANCE_ROWS rows. */
enum { TILE_VECTORS = VECTOR == 64 ? 4 : 2, TILE_BYTES = TILE_VECTORS * VECTOR };

#define T uint8_t
#define BITS int8_t
#define WORD uint8_t
#define ID(f) u8_##f
#define KIND 2
#define LOWEST 0
#define HIGHEST UINT8_MAX
#include "kernels/nest/nest_stage_type.tmpl.h"
#define T int8_t
#define BITS int8_t
#define WORD uint8_t
#define ID(f) i8_##f
#define KIND 2
#define LOWEST INT8_MIN
#define HIGHEST INT8_MAX
#include "kernels/nest/nest_stage_type.tmpl.h"
#define T int32_t
#define BITS int32_t
#define WORD uint32_t
#define ID(f) i32_##f
#define KIND 2
#define LOWEST INT32_MIN
#define HIGHEST INT32_MAX
#include "kernels/nest/nest_stage_type.tmpl.h"
#define T int64_t
#define BITS int64_t
#define WORD uint64_t
#define ID(f) i64_##f
#define KIND 0
#define LOWEST INT64_MIN
#define HIGHEST INT64_MAX
#include "kernels/nest/nest_stage_type.tmpl.h"
#define T float
#define BITS int32_t
#define ID(f) f32_##f
#define KIND 1
#define LOWEST (-INFINITY)
#define HIGHEST INFINITY
#ifdef SQRT_F32
#define SQRT SQRT_F32
#endif
#include "kernels/nest/nest_stage_type.tmpl.h"
#define T double
#define BITS int64_t
#define ID(f) f64_##f
#define KIND 1
#define LOWEST (-(double)INFINITY)
#define HIGHEST (double)INFINITY
#ifdef SQRT_F64
#define SQRT SQRT_F64
#endif
#include "kernels/nest/nest_stage_type.tmpl.h"

#define FOLD(dt, name) [DT_##dt] = { name##_down, name##_along, name##_finish }
#define ORDERED(f) { FOLD(BOOL, u8_##f), FOLD(I8, i8_##f), FOLD(U8, u8_##f), FOLD(I32, i32_##f), \
                     FOLD(I64, i64_##f), FOLD(F32, f32_##f), FOLD(F64, f64_##f) }
#define FLOATS(f) { FOLD(F32, f32_##f), FOLD(F64, f64_##f) }
#define WIDE(f) { FOLD(I64, i64_##f), FOLD(F32, f32_##f), FOLD(F64, f64_##f) }
#define TILES(f) { [DT_F32] = f32_##f##_tile, [DT_F64] = f64_##f##_tile }
#define ARGS(f) { [DT_BOOL] = u8_##f, [DT_I8] = i8_##f, [DT_U8] = u8_##f, [DT_I32] = i32_##f, \
                  [DT_I64] = i64_##f, [DT_F32] = f32_##f, [DT_F64] = f64_##f }
#define TRIPLES(f) { [DT_F32] = f32_##f, [DT_F64] = f64_##f }

const StageKernels STAGE_TABLE = {
    .fold = {
        [FOLD_ADD] = { [FORM_X] = WIDE(add), [FORM_TIMES] = WIDE(add_times),
                       [FORM_SQUARE] = WIDE(add_square), [FORM_APART] = FLOATS(add_apart) },
        [FOLD_LEAST] = { [FORM_X] = ORDERED(least), [FORM_PLUS] = FLOATS(least_plus) },
        [FOLD_MOST] = { [FORM_X] = ORDERED(most), [FORM_PLUS] = FLOATS(most_plus),
                        [FORM_APART] = FLOATS(most_apart) },
    },
    .tile_bytes = TILE_BYTES,
    .tile = { [FOLD_ADD] = { [FORM_SQUARE] = TILES(add_square), [FORM_APART] = TILES(add_apart) },
              [FOLD_MOST] = { [FORM_APART] = TILES(most_apart) } },
    .links = { [DT_F32] = &f32_links, [DT_F64] = &f64_links },
    .nan = { [DT_F32] = f32_any_nan, [DT_F64] = f64_any_nan },
    .arg = { ARGS(arg_least), ARGS(arg_most) },
    .triple = { [TRIPLE_TIMES_PLUS] = TRIPLES(times_plus),
                [TRIPLE_TIMES_MINUS] = TRIPLES(times_minus),
                [TRIPLE_MINUS_TIMES] = TRIPLES(minus_times),
                [TRIPLE_PLUS_TIMES] = TRIPLES(plus_times),
                [TRIPLE_LESS_TIMES] = TRIPLES(less_times), [TRIPLE_PRODUCTS] = TRIPLES(products),
                [TRIPLE_DIFFERENCE] = TRIPLES(difference),
                [TRIPLE_PLUS_RELU] = TRIPLES(plus_relu) },
};
