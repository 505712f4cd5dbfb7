/* Tiles by AVX-VNNI, the same instruction on half as wide vectors: processors without AVX-512. */
#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avxvnni"))), apply_to = function)
#else
#pragma GCC target("avxvnni")
#endif
#include "kernels/eight/eight_kernels.h"

#include <immintrin.h>
#include <string.h>

#define VECTOR __m256i
#define LANES 8
#define VECTORS 2
#define ZERO _mm256_setzero_si256()
#define SPREAD(word) _mm256_set1_epi32(word)
#define LOAD(p) _mm256_loadu_si256((const __m256i *)(p))
#define STORE(p, v) _mm256_storeu_si256((__m256i *)(p), v)
#define DOT(sum, a, b) _mm256_dpbusd_avx_epi32(sum, a, b)
#define TILE eight_tile_avxvnni
#include "kernels/eight/eight_vnni.tmpl.h"

#if defined(__clang__)
#pragma clang attribute pop
#endif
