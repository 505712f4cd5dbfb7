/* Vectors of one instruction set for the tiles and the direct kernels: V_f64 and so on, with
 * splat, lower(v, x) = v < x ? v : x, higher, and nan_or(v, x) = v where it is NaN, else x.
 * The including file sets VECTOR_BYTES if it wants other vectors than its flags suggest. */
#include <stdint.h>
#include <string.h>
#if defined(__SSE2__)
#include <immintrin.h>
#endif

#ifndef VECTOR_BYTES
#if defined(__AVX512BW__)
#define VECTOR_BYTES 64
#elif defined(__AVX2__)
#define VECTOR_BYTES 32
#else
#define VECTOR_BYTES 16
#endif
#endif
/* Loops over the vectors of a tile must vanish, so that its sums stay in registers. Checked
 * builds would take minutes to compile that. */
#if defined(RICCI_PLAIN_MALLOC)
#define UNROLL
#define ALWAYS static __attribute__((unused, noinline))
#else
#if defined(__clang__)
#define UNROLL _Pragma("unroll")
#else
#define UNROLL _Pragma("GCC unroll 8")
#endif
#define ALWAYS static inline __attribute__((always_inline))
#endif

#if VECTOR_BYTES == 64 && defined(__AVX512BW__)
#define MM(name) _mm512_##name
#define REG_F __m512
#define REG_D __m512d
#define REG_I __m512i
#elif VECTOR_BYTES == 32 && defined(__AVX2__)
#define MM(name) _mm256_##name
#define REG_F __m256
#define REG_D __m256d
#define REG_I __m256i
#elif VECTOR_BYTES == 16 && defined(__SSE2__)
#define MM(name) _mm_##name
#define REG_F __m128
#define REG_D __m128d
#define REG_I __m128i
#endif

#define GLUE2(a, b) a##_##b
#define GLUE(a, b) GLUE2(a, b)

#define TAG f32
#define T float
#define U uint32_t
#define MASK int32_t
#define FLOATING 1
#ifdef MM
#define REG REG_F
#define MIN MM(min_ps)
#define MAX MM(max_ps)
#endif
#if defined(__FMA__) && defined(MM)
#define FMA MM(fmadd_ps)
#endif
#include "kernels/semiring/semiring_lanes.tmpl.h"

#define TAG f64
#define T double
#define U uint64_t
#define MASK int64_t
#define FLOATING 1
#ifdef MM
#define REG REG_D
#define MIN MM(min_pd)
#define MAX MM(max_pd)
#endif
#if defined(__FMA__) && defined(MM)
#define FMA MM(fmadd_pd)
#endif
#include "kernels/semiring/semiring_lanes.tmpl.h"

#define TAG i8
#define T int8_t
#define U uint8_t
#define MASK int8_t
#if defined(MM) && defined(__AVX2__)
#define REG REG_I
#define MIN MM(min_epi8)
#define MAX MM(max_epi8)
#endif
#include "kernels/semiring/semiring_lanes.tmpl.h"

#define TAG u8
#define T uint8_t
#define U uint8_t
#define MASK int8_t
#ifdef MM
#define REG REG_I
#define MIN MM(min_epu8)
#define MAX MM(max_epu8)
#endif
#include "kernels/semiring/semiring_lanes.tmpl.h"

#define TAG i16
#define T int16_t
#define U uint16_t
#define MASK int16_t
#ifdef MM
#define REG REG_I
#define MIN MM(min_epi16)
#define MAX MM(max_epi16)
#endif
#include "kernels/semiring/semiring_lanes.tmpl.h"

#define TAG i32
#define T int32_t
#define U uint32_t
#define MASK int32_t
#if defined(MM) && defined(__AVX2__)
#define REG REG_I
#define MIN MM(min_epi32)
#define MAX MM(max_epi32)
#endif
#include "kernels/semiring/semiring_lanes.tmpl.h"

#define TAG i64
#define T int64_t
#define U uint64_t
#define MASK int64_t
#if defined(MM) && VECTOR_BYTES == 64
#define REG REG_I
#define MIN MM(min_epi64)
#define MAX MM(max_epi64)
#endif
#include "kernels/semiring/semiring_lanes.tmpl.h"
