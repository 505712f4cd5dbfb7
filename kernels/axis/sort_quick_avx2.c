/* Vectors of 4 and 8 keys: see sort_quick.h. */
#include "kernels/axis/sort_quick.h"

#ifdef __AVX2__
#include <immintrin.h>
#include <math.h>
#include <string.h>

typedef int64_t Keys64 __attribute__((vector_size(32)));
typedef int32_t Keys32 __attribute__((vector_size(32)));

#define AHEAD 8     /* measured: half and twice as many are slower */

#define AT(l, m, o) (((l) + (o)) ^ (m))
#define AT4(m, o) AT(0, m, o), AT(1, m, o), AT(2, m, o), AT(3, m, o)

/* For each set of the 8 lanes their numbers first, a nibble each, the others' after them. */
#define BIT(s, l) ((s) >> (l) & 1)
#define BELOW(s, l) __builtin_popcount((s) & ((1 << (l)) - 1))
#define PLACE(s, l) (BIT(s, l) ? BELOW(s, l) : __builtin_popcount(s) + (l) - BELOW(s, l))
#define NIBBLE(s, l) ((uint32_t)(l) << 4 * PLACE(s, l))
#define ORDER1(s) (NIBBLE(s, 0) | NIBBLE(s, 1) | NIBBLE(s, 2) | NIBBLE(s, 3) | NIBBLE(s, 4) | \
                   NIBBLE(s, 5) | NIBBLE(s, 6) | NIBBLE(s, 7))
#define ORDER4(s) ORDER1(s), ORDER1((s) + 1), ORDER1((s) + 2), ORDER1((s) + 3)
#define ORDER16(s) ORDER4(s), ORDER4((s) + 4), ORDER4((s) + 8), ORDER4((s) + 12)
#define ORDER64(s) ORDER16(s), ORDER16((s) + 16), ORDER16((s) + 32), ORDER16((s) + 48)
static const uint32_t order[256] = { ORDER64(0), ORDER64(64), ORDER64(128), ORDER64(192) };

static inline __m256i lower_first(__m256i v, int lower)
{
    __m256i shifts = _mm256_setr_epi32(0, 4, 8, 12, 16, 20, 24, 28);
    return _mm256_permutevar8x32_epi32(v, _mm256_srlv_epi32(_mm256_set1_epi32((int)order[lower]),
                                                            shifts));
}

static inline int split32(__m256i v, __m256i pivot, int32_t *left, int32_t *right)
{
    int lower = 255 ^ _mm256_movemask_ps(_mm256_castsi256_ps(_mm256_cmpgt_epi32(v, pivot)));
    __m256i w = lower_first(v, lower);
    _mm256_storeu_si256((__m256i *)(void *)left, w);
    _mm256_storeu_si256((__m256i *)(void *)right, w);
    return __builtin_popcount((unsigned)lower);
}

static inline int split64(__m256i v, __m256i pivot, int64_t *left, int64_t *right)
{
    int lower = 255 ^ _mm256_movemask_ps(_mm256_castsi256_ps(_mm256_cmpgt_epi64(v, pivot)));
    __m256i w = lower_first(v, lower);
    _mm256_storeu_si256((__m256i *)(void *)left, w);
    _mm256_storeu_si256((__m256i *)(void *)right, w);
    return __builtin_popcount((unsigned)lower) / 2;
}

static inline __m256i lesser64(__m256i a, __m256i b)
{
    return _mm256_blendv_epi8(a, b, _mm256_cmpgt_epi64(a, b));
}

static inline __m256i greater64(__m256i a, __m256i b)
{
    return _mm256_blendv_epi8(b, a, _mm256_cmpgt_epi64(a, b));
}

/* Lanes of 32 bits whose number has the bit m. */
#define WITH(m) ((m) == 1 ? 0xaa : (m) == 2 ? 0xcc : 0xf0)

#define K int64_t
#define F double
#define V Keys64
#define LARGEST INT64_MAX
#define LANES 4
#define NAME(f) k64_##f
#define TABLE sort_quick64_avx2
#define MIN(a, b) ((V)lesser64((__m256i)(a), (__m256i)(b)))
#define MAX(a, b) ((V)greater64((__m256i)(a), (__m256i)(b)))
#define TOP(m, a, b) ((V)_mm256_blend_epi32((__m256i)(a), (__m256i)(b), WITH(2 * (m))))
#define SWAP(v, m) __builtin_shufflevector(v, v, AT4(m, 0))
#define SPLIT(v, p, left, right) split64((__m256i)(v), (__m256i)(p), left, right)
#include "kernels/axis/sort_quick.tmpl.h"

#define K int32_t
#define F float
#define V Keys32
#define LARGEST INT32_MAX
#define LANES 8
#define NAME(f) k32_##f
#define TABLE sort_quick32_avx2
#define MIN(a, b) ((V)_mm256_min_epi32((__m256i)(a), (__m256i)(b)))
#define MAX(a, b) ((V)_mm256_max_epi32((__m256i)(a), (__m256i)(b)))
#define TOP(m, a, b) ((V)_mm256_blend_epi32((__m256i)(a), (__m256i)(b), WITH(m)))
#define SWAP(v, m) __builtin_shufflevector(v, v, AT4(m, 0), AT4(m, 4))
#define SPLIT(v, p, left, right) split32((__m256i)(v), (__m256i)(p), left, right)
#include "kernels/axis/sort_quick.tmpl.h"
#endif
