/* Tiles by AVX2: both operands lie in 16 bits, whose products are added in pairs to sums of 32
 * bits. The instruction that multiplies bytes (vpmaddubsw) saturates at 16 bits and is not used;
 * bytes that become 16 bits on the way cost as much as their product. */
#include "kernels/eight/eight_kernels.h"

#include <immintrin.h>
#include <string.h>

#define ALWAYS static inline __attribute__((always_inline))
#define UNROLL _Pragma("GCC unroll 8")

/* `rows` is a constant in every call; b: EIGHT_STRIP columns. */
ALWAYS void part(int rows, int64_t depth, const int16_t *a, const int16_t *b, int32_t *sum)
{
    __m256i s[EIGHT_ROWS][2];
UNROLL
    for (int i = 0; i < rows; i++)
        s[i][0] = s[i][1] = _mm256_setzero_si256();
    for (int64_t k = 0; k < depth; k += 2, b += 2 * EIGHT_STRIP) {
        __m256i low = _mm256_loadu_si256((const __m256i *)b);
        __m256i high = _mm256_loadu_si256((const __m256i *)b + 1);
UNROLL
        for (int i = 0; i < rows; i++) {
            int32_t two;
            memcpy(&two, a + i * depth + k, 4);
            __m256i row = _mm256_set1_epi32(two);
            s[i][0] = _mm256_add_epi32(s[i][0], _mm256_madd_epi16(row, low));
            s[i][1] = _mm256_add_epi32(s[i][1], _mm256_madd_epi16(row, high));
        }
    }
UNROLL
    for (int i = 0; i < rows; i++) {
        _mm256_storeu_si256((__m256i *)(sum + i * EIGHT_PANEL), s[i][0]);
        _mm256_storeu_si256((__m256i *)(sum + i * EIGHT_PANEL) + 1, s[i][1]);
    }
}

void eight_tile_avx2(int rows, int columns, int64_t depth, const uint8_t *a, const int8_t *b,
                     int32_t *sum)
{
    const int16_t *x = (const int16_t *)(const void *)a, *y = (const int16_t *)(const void *)b;
    for (int j = 0; j < columns; j += EIGHT_STRIP, y += depth * EIGHT_STRIP) {
        switch (rows) {
        case 1: part(1, depth, x, y, sum + j); break;
        case 2: part(2, depth, x, y, sum + j); break;
        case 3: part(3, depth, x, y, sum + j); break;
        case 4: part(4, depth, x, y, sum + j); break;
        case 5: part(5, depth, x, y, sum + j); break;
        default: part(6, depth, x, y, sum + j);
        }
    }
}

void eight_widen_avx2(const int8_t *four, int add, int64_t depth, int16_t *to)
{
    const __m256i more = _mm256_set1_epi16((short)add);
    for (int c = 0; c < EIGHT_PANEL; c += 8) {
        __m256i v[2];
        for (int h = 0; h < 2; h++) {       /* four columns, two pairs each */
            __m128i bytes = _mm_loadu_si128((const __m128i *)(four + 4 * c) + h);
            v[h] = _mm256_add_epi16(_mm256_cvtepi8_epi16(bytes), more);
        }
        __m256 x = _mm256_castsi256_ps(v[0]), y = _mm256_castsi256_ps(v[1]);
        __m256i first = _mm256_castps_si256(_mm256_shuffle_ps(x, y, 0x88));
        __m256i second = _mm256_castps_si256(_mm256_shuffle_ps(x, y, 0xdd));
        int16_t *at = to + c / EIGHT_STRIP * depth * EIGHT_STRIP + c % EIGHT_STRIP * 2;
        _mm256_storeu_si256((__m256i *)at, _mm256_permute4x64_epi64(first, 0xd8));
        _mm256_storeu_si256((__m256i *)(at + 2 * EIGHT_STRIP),
                            _mm256_permute4x64_epi64(second, 0xd8));
    }
}
