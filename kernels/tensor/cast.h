/* Casts between the dtypes that have kernels, and what the files of casts share: bits of floats,
 * rounding to bf16, the bulk conversions of narrow floats for machines that have them. Casts of any
 * dtypes are kernels/cast/tensor_cast.h. */
#ifndef RICCI_KERNELS_CAST_H
#define RICCI_KERNELS_CAST_H

#include "kernels/tensor/each_half.h"

/* dst[i] = (cast) src[i] for n elements; round to nearest even, wraps nothing: returns the
 * index of the first value that does not fit an integer dtype, or -1. */
int64_t cast_plain(DType to, void *dst, int64_t sd, DType from, const void *src, int64_t ss,
                   int64_t n);

static inline uint32_t f32_bits(float f) { union { float f; uint32_t u; } v = { f }; return v.u; }
static inline float f32_from_bits(uint32_t u) {
    union { uint32_t u; float f; } v = { u };
    return v.f;
}

/* Branch-free, so that loops over it are vectorised. */
static inline uint16_t bf16_round(float f) {
    uint32_t bits = f32_bits(f), rounded = bits + 0x7fff + (bits >> 16 & 1);
    return (uint16_t)(f == f ? rounded >> 16 : (bits >> 16 | 0x40));
}

/* Nearest float with its last bit set if d is not a float. */
float f64_to_f32_odd(double d);

/* One byte from a float that is rounded to odd already, and back. Branch-free: below the normal
 * numbers an adder rounds; from 464 on e4m3 has nan. */
static inline uint8_t f32_to_e4m3(float f)
{
    uint32_t bits = f32_bits(f), rest = bits & 0x7fffffff;
    uint32_t tiny = f32_bits(f32_from_bits(rest) + 0x1p14f) - f32_bits(0x1p14f);
    uint32_t code = (rest + 0x7ffff + (rest >> 20 & 1) - (120u << 23)) >> 20;
    code = rest < 0x3c800000 ? tiny : code;
    return (uint8_t)((code < 0x7f ? code : 0x7f) | (bits >> 24 & 0x80));
}

static inline uint8_t f32_to_e5m2(float f)
{
    uint32_t bits = f32_bits(f), rest = bits & 0x7fffffff;
    uint32_t tiny = f32_bits(f32_from_bits(rest) + 0x1p7f) - f32_bits(0x1p7f);
    uint32_t code = (rest + 0xfffff + (rest >> 21 & 1) - (112u << 23)) >> 21;
    code = rest < 0x38800000 ? tiny : code < 0x7c ? code : 0x7c;
    return (uint8_t)((rest > 0x7f800000 ? 0x7e : code) | (bits >> 24 & 0x80));
}

/* e5m2 is the upper half of f16; e4m3's exponent counts from 8 less. */
static inline float e5m2_to_f32(uint8_t h) { return f16_to_f32((uint16_t)(h << 8)); }
static inline float e4m3_to_f32(uint8_t h)
{
    float f = f16_to_f32((uint16_t)((h & 0x80) << 8 | (h & 0x7f) << 7)) * 256;
    return (h & 0x7f) == 0x7f ? f32_from_bits((uint32_t)(h & 0x80) << 24 | 0x7fc00000) : f;
}

/* Whether there is a nan among n floats of f64, f32 or 16 bits. */
bool cast_any_nan(DType, const void *x, int64_t n);

void cast_f64_e4m3_avx2(void *dst, const void *src, int64_t n);
void cast_f64_e5m2_avx2(void *dst, const void *src, int64_t n);
void cast_f32_e4m3_avx2(void *dst, const void *src, int64_t n);
void cast_f32_e5m2_avx2(void *dst, const void *src, int64_t n);
void cast_e4m3_f32_avx2(void *dst, const void *src, int64_t n);
void cast_e5m2_f32_avx2(void *dst, const void *src, int64_t n);
void cast_e4m3_f64_avx2(void *dst, const void *src, int64_t n);
void cast_e5m2_f64_avx2(void *dst, const void *src, int64_t n);

void cast_f16_f32_avx2(void *dst, const void *src, int64_t n);
void cast_f16_f64_avx2(void *dst, const void *src, int64_t n);
void cast_f32_f16_avx2(void *dst, const void *src, int64_t n);
void cast_f64_f16_avx2(void *dst, const void *src, int64_t n);
void cast_f64_bf16_avx2(void *dst, const void *src, int64_t n);
void cast_f32_bf16_avx2(void *dst, const void *src, int64_t n);
void cast_bf16_f32_avx2(void *dst, const void *src, int64_t n);

#endif
