/* The floats that are stored in 16 bits and computed in f32, listed here alone. HALVES(X, …) is
 * X(id, name, …) of each; whoever has a template for them names its file EACH_HALF and includes
 * this one, which includes that once for each, with HALF_ID, HALF and what is made of it. Their
 * conversions: NAME_to_f32, f32_to_NAME and f64_to_NAME. */
#ifndef RICCI_KERNELS_EACH_HALF_H
#define RICCI_KERNELS_EACH_HALF_H

#include "kernels/tensor/tensor.h"

#define HALVES(X, ...) X(F16, f16, __VA_ARGS__) X(BF16, bf16, __VA_ARGS__)

/* 16-bit formats, exact and without a branch, so that loops over them vectorise. */
static inline float bf16_to_f32(uint16_t h)
{
    union { uint32_t u; float f; } v = { (uint32_t)h << 16 };
    return v.f;
}
/* The exponent is rebased by a product, which treats subnormals too. */
static inline float f16_to_f32(uint16_t h)
{
    union { uint32_t u; float f; } v = { (uint32_t)(h & 0x7fff) << 13 };
    v.f *= 0x1p112f;
    v.u |= (h & 0x7c00) == 0x7c00 ? 0x7f800000u : 0u;
    v.u |= (uint32_t)(h & 0x8000) << 16;
    return v.f;
}
uint16_t f64_to_f16(double);      /* one correct rounding, nearest even */
uint16_t f64_to_bf16(double);
uint16_t f32_to_f16(float);
uint16_t f32_to_bf16(float);

#endif

#ifdef EACH_HALF
#define HALF_PASTE2(a, b) a##b
#define HALF_PASTE(a, b) HALF_PASTE2(a, b)
#define HALF_NAME(f) HALF_PASTE(HALF, _##f)
#define HALF_LOAD(v) HALF_NAME(to_f32)(v)
#define HALF_STORE(v) HALF_PASTE(f32_to_, HALF)(v)
#define HALF_ROUND(v) HALF_PASTE(f64_to_, HALF)(v)

#define HALF_ID F16
#define HALF f16
#include EACH_HALF
#undef HALF_ID
#undef HALF

#define HALF_ID BF16
#define HALF bf16
#include EACH_HALF
#undef HALF_ID
#undef HALF

#undef HALF_PASTE2
#undef HALF_PASTE
#undef HALF_NAME
#undef HALF_LOAD
#undef HALF_STORE
#undef HALF_ROUND
#undef EACH_HALF
#endif
