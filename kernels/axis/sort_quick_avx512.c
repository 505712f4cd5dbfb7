/* Vectors of 8 and 16 keys: see sort_quick.h. */
#include "kernels/axis/sort_quick.h"

#ifdef __AVX512BW__
#include <immintrin.h>
#include <math.h>
#include <string.h>

typedef int64_t Keys64 __attribute__((vector_size(64)));
typedef int32_t Keys32 __attribute__((vector_size(64)));

#define AHEAD 4     /* measured: half and twice as many are slower */

#define AT(l, m, o) (((l) + (o)) ^ (m))
#define AT4(m, o) AT(0, m, o), AT(1, m, o), AT(2, m, o), AT(3, m, o)

static inline int split64(__m512i v, __m512i pivot, int64_t *left, int64_t *right)
{
    __mmask8 lower = _mm512_cmple_epi64_mask(v, pivot);
    int count = __builtin_popcount(lower);
    _mm512_storeu_si512(left, _mm512_maskz_compress_epi64(lower, v));
    _mm512_mask_storeu_epi64(right + count, (__mmask8)(255 >> count),
                             _mm512_maskz_compress_epi64((__mmask8)~lower, v));
    return count;
}

static inline int split32(__m512i v, __m512i pivot, int32_t *left, int32_t *right)
{
    __mmask16 lower = _mm512_cmple_epi32_mask(v, pivot);
    int count = __builtin_popcount(lower);
    _mm512_storeu_si512(left, _mm512_maskz_compress_epi32(lower, v));
    _mm512_mask_storeu_epi32(right + count, (__mmask16)(65535 >> count),
                             _mm512_maskz_compress_epi32((__mmask16)~lower, v));
    return count;
}

/* Lanes whose number has the bit m. */
#define WITH(m) ((m) == 1 ? 0xaaaa : (m) == 2 ? 0xcccc : (m) == 4 ? 0xf0f0 : 0xff00)

#define K int64_t
#define F double
#define V Keys64
#define LARGEST INT64_MAX
#define LANES 8
#define NAME(f) k64_##f
#define TABLE sort_quick64_avx512
#define MIN(a, b) ((V)_mm512_min_epi64((__m512i)(a), (__m512i)(b)))
#define MAX(a, b) ((V)_mm512_max_epi64((__m512i)(a), (__m512i)(b)))
#define TOP(m, a, b) ((V)_mm512_mask_mov_epi64((__m512i)(a), (__mmask8)WITH(m), (__m512i)(b)))
#define SWAP(v, m) __builtin_shufflevector(v, v, AT4(m, 0), AT4(m, 4))
#define SPLIT(v, p, left, right) split64((__m512i)(v), (__m512i)(p), left, right)
#include "kernels/axis/sort_quick.tmpl.h"

#define K int32_t
#define F float
#define V Keys32
#define LARGEST INT32_MAX
#define LANES 16
#define NAME(f) k32_##f
#define TABLE sort_quick32_avx512
#define MIN(a, b) ((V)_mm512_min_epi32((__m512i)(a), (__m512i)(b)))
#define MAX(a, b) ((V)_mm512_max_epi32((__m512i)(a), (__m512i)(b)))
#define TOP(m, a, b) ((V)_mm512_mask_mov_epi32((__m512i)(a), WITH(m), (__m512i)(b)))
#define SWAP(v, m) __builtin_shufflevector(v, v, AT4(m, 0), AT4(m, 4), AT4(m, 8), AT4(m, 12))
#define SPLIT(v, p, left, right) split32((__m512i)(v), (__m512i)(p), left, right)
#include "kernels/axis/sort_quick.tmpl.h"
#endif
