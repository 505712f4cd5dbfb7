/* Shared by the files of the cast kernel: bits of floats, rounding to bf16, and the bulk
 * conversions of 16-bit floats for machines that have them. */
#ifndef RICCI_KERNELS_CAST_H
#define RICCI_KERNELS_CAST_H

#include "kernels/tensor.h"

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

void cast_f16_f32_avx2(void *dst, const void *src, int64_t n);
void cast_f32_f16_avx2(void *dst, const void *src, int64_t n);
void cast_f64_f16_avx2(void *dst, const void *src, int64_t n);
void cast_f64_bf16_avx2(void *dst, const void *src, int64_t n);
void cast_f32_bf16_avx2(void *dst, const void *src, int64_t n);
void cast_bf16_f32_avx2(void *dst, const void *src, int64_t n);

#endif
