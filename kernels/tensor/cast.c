/* Conversions between the dtypes that have kernels: one loop per pair from cast.tmpl.h, and the
 * 16-bit floats. Every conversion rounds once, to nearest even. A value that an integer dtype
 * cannot hold, or an imaginary part that would be lost, is reported, never wrapped. */
#include "kernels/tensor/cast.h"

#include "kernels/tensor/cpu.h"
#include "kernels/tensor/each_half.h"

#include <string.h>

/* ---- 16-bit floats, one value ---- */

uint16_t f32_to_f16(float f) {
    uint32_t bits = f32_bits(f), sign = bits >> 16 & 0x8000, rest = bits & 0x7fffffff;
    if (rest > 0x7f800000) return (uint16_t)(sign | 0x7e00);
    if (rest >= 0x477ff000) return (uint16_t)(sign | 0x7c00);    /* from 65520 on */
    if (rest < 0x38800000) {                  /* below 2^-14: the adder rounds at 2^-24 */
        float shifted = f32_from_bits(rest) + 0.5f;
        return (uint16_t)(sign | (f32_bits(shifted) - f32_bits(0.5f)));
    }
    rest += 0xfff + (rest >> 13 & 1);
    return (uint16_t)(sign | ((rest - (112u << 23)) >> 13));
}

/* Rounding to odd keeps in the last bit of a float whether anything was cut off, so that
 * a second rounding to at most 22 bits gives what one rounding would (Boldo, Melquiond). */
float f64_to_f32_odd(double d) {
    float f = (float)d;
    uint32_t bits = f32_bits(f);
    if ((double)f == d || d != d || bits & 1) return f;
    return f32_from_bits((f < 0 ? -d : d) > (f < 0 ? -(double)f : (double)f)
                         || (f == 0 && d != 0) ? bits + 1 : bits - 1);
}

uint16_t f64_to_f16(double d) { return f32_to_f16(f64_to_f32_odd(d)); }
uint16_t f32_to_bf16(float f) { return bf16_round(f); }
uint16_t f64_to_bf16(double d) { return bf16_round(f64_to_f32_odd(d)); }

/* An int64 as a double rounded to odd: for a second rounding to a narrower format. */
static inline double i64_to_f64_odd(int64_t i) {
    union { double d; uint64_t u; } v = { .d = (double)i };
    if (v.d == 0x1p63 || (int64_t)v.d != i) {
        bool above = v.d == 0x1p63 || (i > 0 ? (int64_t)v.d > i : (int64_t)v.d < i);
        if (!(v.u & 1)) v.u += above ? UINT64_MAX : 1;
    }
    return v.d;
}

/* ---- one loop per pair ---- */

typedef int64_t (*CastFn)(void *dst, int64_t sd, const void *src, int64_t ss, int64_t n);

enum { CAST_STRIP = 1024 };

#define DTYPE(id, name, ctype, compute, bytes, kind, rank) typedef ctype Store_##id;
#include "kernels/tensor/dtypes.def"
#undef DTYPE

#define KIND_OTHER 0
#define KIND_INT 1
#define KIND_HALF 2
#define KIND_FLOAT 4
#define KIND_COMPLEX 5
#define KIND_BOOL 6

#define FROM BOOL
#define FROM_KIND KIND_INT
#include "kernels/tensor/cast_from.tmpl.h"
#define FROM I8
#define FROM_KIND KIND_INT
#include "kernels/tensor/cast_from.tmpl.h"
#define FROM U8
#define FROM_KIND KIND_INT
#include "kernels/tensor/cast_from.tmpl.h"
#define FROM I32
#define FROM_KIND KIND_INT
#include "kernels/tensor/cast_from.tmpl.h"
#define FROM I64
#define FROM_KIND KIND_INT
#include "kernels/tensor/cast_from.tmpl.h"
#define FROM F16
#define FROM_KIND KIND_HALF
#define FROM_LOAD f16_to_f32
#include "kernels/tensor/cast_from.tmpl.h"
#define FROM BF16
#define FROM_KIND KIND_HALF
#define FROM_LOAD bf16_to_f32
#include "kernels/tensor/cast_from.tmpl.h"
#define FROM F32
#define FROM_KIND KIND_FLOAT
#include "kernels/tensor/cast_from.tmpl.h"
#define FROM F64
#define FROM_KIND KIND_FLOAT
#include "kernels/tensor/cast_from.tmpl.h"
#define FROM C64
#define FROM_KIND KIND_COMPLEX
#include "kernels/tensor/cast_from.tmpl.h"
#define FROM C128
#define FROM_KIND KIND_COMPLEX
#include "kernels/tensor/cast_from.tmpl.h"

#define TO_HALF(id, half, from) [DT_##id] = cast_##from##_##id,
#define ROW(from)                                                                              \
    [DT_##from] = { [DT_BOOL] = cast_##from##_BOOL, [DT_I8] = cast_##from##_I8,                \
                    [DT_U8] = cast_##from##_U8, [DT_I32] = cast_##from##_I32,                  \
                    [DT_I64] = cast_##from##_I64, [DT_F32] = cast_##from##_F32,                \
                    [DT_F64] = cast_##from##_F64, [DT_C64] = cast_##from##_C64,                \
                    [DT_C128] = cast_##from##_C128, HALVES(TO_HALF, from) }
static const CastFn cast_table[DT_COUNT][DT_COUNT] = {
    ROW(BOOL), ROW(I8), ROW(U8), ROW(I32), ROW(I64), ROW(F16), ROW(BF16), ROW(F32), ROW(F64),
    ROW(C64), ROW(C128)
};

/* ---- the door ---- */

int64_t cast_plain(DType to, void *dst, int64_t sd, DType from, const void *src, int64_t ss,
                   int64_t n) {
    if (n <= 0) return -1;
    if (to == from && sd == 1 && ss == 1) {
        memmove(dst, src, (size_t)n * dtype_info(to)->bytes);
        return -1;
    }
    if (sd == 1 && ss == 1 && n >= 8 && cpu_isa() >= ISA_AVX2) {
        if (from == DT_F16 && to == DT_F32) return cast_f16_f32_avx2(dst, src, n), -1;
        if (from == DT_F16 && to == DT_F64) return cast_f16_f64_avx2(dst, src, n), -1;
        if (from == DT_F32 && to == DT_F16) return cast_f32_f16_avx2(dst, src, n), -1;
        if (from == DT_F64 && to == DT_F16) return cast_f64_f16_avx2(dst, src, n), -1;
        if (from == DT_F64 && to == DT_BF16) return cast_f64_bf16_avx2(dst, src, n), -1;
        if (from == DT_F32 && to == DT_BF16) return cast_f32_bf16_avx2(dst, src, n), -1;
        if (from == DT_BF16 && to == DT_F32) return cast_bf16_f32_avx2(dst, src, n), -1;
    }
    return cast_table[from][to](dst, sd, src, ss, n);
}

/* Blocks without a branch, so that they vectorise. */
#define ANY_NAN(T, is_nan) \
    for (int64_t from = 0; from < n; from += 256) { \
        const T *v = (const T *)x + from; \
        int64_t count = n - from < 256 ? n - from : 256; \
        unsigned any = 0; \
        for (int64_t i = 0; i < count; i++) any |= is_nan(v[i]); \
        if (any) return true; \
    } \
    return false;
#define DIFFERS(v) ((v) != (v))
#define BEYOND(v) (((v) & 0x7fff) > infinity)

bool cast_any_nan(DType dt, const void *x, int64_t n) {
    uint16_t infinity = dtype_half(dt) ? dtype_half_infinity(dt) : 0;
    if (dt == DT_F64) { ANY_NAN(double, DIFFERS) }
    if (dt == DT_F32) { ANY_NAN(float, DIFFERS) }
    if (infinity) { ANY_NAN(uint16_t, BEYOND) }
    return false;
}
