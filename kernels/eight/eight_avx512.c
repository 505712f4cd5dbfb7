/* Tiles by AVX512-VNNI: 6 rows by up to four vectors of sums; the instruction adds four products of
 * bytes to each of 16 sums. Called where the processor has it: eight.c. */
#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx512vnni"))), apply_to = function)
#else
#pragma GCC target("avx512vnni")
#endif
#include "kernels/eight/eight_kernels.h"

#include <immintrin.h>
#include <string.h>

#define VECTOR __m512i
#define LANES 16
#define VECTORS 4
#define ZERO _mm512_setzero_si512()
#define SPREAD(word) _mm512_set1_epi32(word)
#define LOAD(p) _mm512_loadu_si512(p)
#define STORE(p, v) _mm512_storeu_si512(p, v)
#define DOT(sum, a, b) _mm512_dpbusd_epi32(sum, a, b)
#define TILE eight_tile_avx512
#include "kernels/eight/eight_vnni.tmpl.h"

#if defined(__clang__)
#pragma clang attribute pop
#endif
