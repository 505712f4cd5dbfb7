/* Tiles by AVX2: bytes become 16 bits, whose products are added in pairs to sums of 32 bits. The
 * instruction that multiplies bytes (vpmaddubsw) saturates at 16 bits and is not used. */
#include "kernels/eight/eight_kernels.h"

#include <immintrin.h>
#include <string.h>

#define ALWAYS static inline __attribute__((always_inline))
#define UNROLL _Pragma("GCC unroll 8")

enum { COLUMNS = 8, AT_ONCE = 4 };      /* of a part; rows */

/* `rows` is a constant in every call. Each column has two sums, of the first and of the last two of
 * four. */
ALWAYS void part(int rows, int64_t depth, const uint8_t *a, const int8_t *b, int32_t *sum)
{
    __m256i s[AT_ONCE][2];
UNROLL
    for (int i = 0; i < rows; i++)
        s[i][0] = s[i][1] = _mm256_setzero_si256();
    for (int64_t k = 0; k < depth; k += 4, b += 4 * EIGHT_PANEL) {
        __m256i low = _mm256_cvtepi8_epi16(_mm_loadu_si128((const __m128i *)b));
        __m256i high = _mm256_cvtepi8_epi16(_mm_loadu_si128((const __m128i *)b + 1));
UNROLL
        for (int i = 0; i < rows; i++) {
            int32_t word;
            memcpy(&word, a + i * depth + k, 4);
            __m256i row = _mm256_cvtepu8_epi16(_mm_set1_epi32(word));
            s[i][0] = _mm256_add_epi32(s[i][0], _mm256_madd_epi16(row, low));
            s[i][1] = _mm256_add_epi32(s[i][1], _mm256_madd_epi16(row, high));
        }
    }
UNROLL
    for (int i = 0; i < rows; i++) {    /* sums in pairs, the lanes' halves in order */
        __m256i both = _mm256_hadd_epi32(s[i][0], s[i][1]);
        both = _mm256_permute4x64_epi64(both, 0xd8);
        _mm256_storeu_si256((__m256i *)(sum + i * EIGHT_PANEL), both);
    }
}

void eight_tile_avx2(int rows, int columns, int64_t depth, const uint8_t *a, const int8_t *b,
                     int32_t *sum)
{
    for (int i = 0; i < rows; i += AT_ONCE)
        for (int j = 0; j < columns; j += COLUMNS) {
            const uint8_t *x = a + i * depth;
            int32_t *to = sum + i * EIGHT_PANEL + j;
            switch (rows - i) {
            case 1: part(1, depth, x, b + 4 * j, to); break;
            case 2: part(2, depth, x, b + 4 * j, to); break;
            case 3: part(3, depth, x, b + 4 * j, to); break;
            default: part(4, depth, x, b + 4 * j, to);
            }
        }
}
