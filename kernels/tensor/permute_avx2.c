/* Transposition of blocks in AVX2 registers. Each tile is one cache line high and reads
 * one line wide, so every line that is touched is used whole; when streaming, every line
 * of the result is completed at once. Edges go through the plain kernels. */
#include "kernels/tensor/permute.h"

#ifdef __AVX2__
#include <immintrin.h>

static inline void put(float *to, __m256 v, bool stream) {
    if (stream) _mm256_stream_ps(to, v);
    else _mm256_storeu_ps(to, v);
}

static inline void put_d(double *to, __m256d v, bool stream) {
    if (stream) _mm256_stream_pd(to, v);
    else _mm256_storeu_pd(to, v);
}

/* d[j*ds + i] = s[i*ss + j] for 8 x 8 floats. */
static inline __attribute__((always_inline))
void tile_8x8(float *d, int64_t ds, const float *s, int64_t ss, bool stream) {
    __m256 r[8], t[8];
    for (int i = 0; i < 4; i++) {       /* pairs of rows i, i+4 in the two halves */
        r[i] = _mm256_insertf128_ps(_mm256_castps128_ps256(_mm_loadu_ps(s + i * ss)),
                                    _mm_loadu_ps(s + (i + 4) * ss), 1);
        r[i + 4] = _mm256_insertf128_ps(_mm256_castps128_ps256(_mm_loadu_ps(s + i * ss + 4)),
                                        _mm_loadu_ps(s + (i + 4) * ss + 4), 1);
    }
    for (int h = 0; h < 8; h += 4) {    /* columns h … h+3 */
        t[h] = _mm256_unpacklo_ps(r[h], r[h + 1]);
        t[h + 1] = _mm256_unpackhi_ps(r[h], r[h + 1]);
        t[h + 2] = _mm256_unpacklo_ps(r[h + 2], r[h + 3]);
        t[h + 3] = _mm256_unpackhi_ps(r[h + 2], r[h + 3]);
        put(d + h * ds, _mm256_shuffle_ps(t[h], t[h + 2], 0x44), stream);
        put(d + (h + 1) * ds, _mm256_shuffle_ps(t[h], t[h + 2], 0xee), stream);
        put(d + (h + 2) * ds, _mm256_shuffle_ps(t[h + 1], t[h + 3], 0x44), stream);
        put(d + (h + 3) * ds, _mm256_shuffle_ps(t[h + 1], t[h + 3], 0xee), stream);
    }
}

/* The same for 4 x 4 doubles. */
static inline __attribute__((always_inline))
void tile_4x4(double *d, int64_t ds, const double *s, int64_t ss, bool stream) {
    __m256d r0 = _mm256_loadu_pd(s), r1 = _mm256_loadu_pd(s + ss);
    __m256d r2 = _mm256_loadu_pd(s + 2 * ss), r3 = _mm256_loadu_pd(s + 3 * ss);
    __m256d t0 = _mm256_unpacklo_pd(r0, r1), t1 = _mm256_unpackhi_pd(r0, r1);
    __m256d t2 = _mm256_unpacklo_pd(r2, r3), t3 = _mm256_unpackhi_pd(r2, r3);
    put_d(d, _mm256_permute2f128_pd(t0, t2, 0x20), stream);
    put_d(d + ds, _mm256_permute2f128_pd(t1, t3, 0x20), stream);
    put_d(d + 2 * ds, _mm256_permute2f128_pd(t0, t2, 0x31), stream);
    put_d(d + 3 * ds, _mm256_permute2f128_pd(t1, t3, 0x31), stream);
}

/* 8 x 8 elements of 16 bits. */
static inline __attribute__((always_inline))
void tile_half(uint16_t *d, int64_t ds, const uint16_t *s, int64_t ss) {
    __m128i r[8], t[8];
    for (int i = 0; i < 8; i++) r[i] = _mm_loadu_si128((const __m128i *)(s + i * ss));
    for (int i = 0; i < 4; i++) {
        t[2 * i] = _mm_unpacklo_epi16(r[2 * i], r[2 * i + 1]);
        t[2 * i + 1] = _mm_unpackhi_epi16(r[2 * i], r[2 * i + 1]);
    }
    for (int i = 0; i < 2; i++) {
        r[4 * i] = _mm_unpacklo_epi32(t[4 * i], t[4 * i + 2]);
        r[4 * i + 1] = _mm_unpackhi_epi32(t[4 * i], t[4 * i + 2]);
        r[4 * i + 2] = _mm_unpacklo_epi32(t[4 * i + 1], t[4 * i + 3]);
        r[4 * i + 3] = _mm_unpackhi_epi32(t[4 * i + 1], t[4 * i + 3]);
    }
    for (int i = 0; i < 4; i++) {
        _mm_storeu_si128((__m128i *)(d + 2 * i * ds), _mm_unpacklo_epi64(r[i], r[i + 4]));
        _mm_storeu_si128((__m128i *)(d + (2 * i + 1) * ds), _mm_unpackhi_epi64(r[i], r[i + 4]));
    }
}

static bool lines_aligned(const void *d, int64_t ds, int64_t bytes) {
    return ((uintptr_t)d | (uintptr_t)(ds * bytes)) % 64 == 0;
}

static void block_4(void *dst, int64_t ds, const void *src, int64_t ss, int64_t rows,
                    int64_t columns, bool stream) {
    float *d = dst;
    const float *s = src;
    int64_t whole = rows - rows % 16, wide = columns - columns % 8;
    stream = stream && lines_aligned(dst, ds, 4);
    for (int64_t i = 0; i < whole; i += 16)
        for (int64_t j = 0; j < wide; j += 8) {
            tile_8x8(d + j * ds + i, ds, s + i * ss + j, ss, stream);
            tile_8x8(d + j * ds + i + 8, ds, s + (i + 8) * ss + j, ss, stream);
        }
    if (wide < columns)
        transpose_base[2](d + wide * ds, ds, s + wide, ss, whole, columns - wide, false);
    if (whole < rows)
        transpose_base[2](d + whole, ds, s + whole * ss, ss, rows - whole, columns, false);
}

static void block_8(void *dst, int64_t ds, const void *src, int64_t ss, int64_t rows,
                    int64_t columns, bool stream) {
    double *d = dst;
    const double *s = src;
    int64_t whole = rows - rows % 8, wide = columns - columns % 4;
    stream = stream && lines_aligned(dst, ds, 8);
    for (int64_t i = 0; i < whole; i += 8)
        for (int64_t j = 0; j < wide; j += 4) {
            tile_4x4(d + j * ds + i, ds, s + i * ss + j, ss, stream);
            tile_4x4(d + j * ds + i + 4, ds, s + (i + 4) * ss + j, ss, stream);
        }
    if (wide < columns)
        transpose_base[3](d + wide * ds, ds, s + wide, ss, whole, columns - wide, false);
    if (whole < rows)
        transpose_base[3](d + whole, ds, s + whole * ss, ss, rows - whole, columns, false);
}

static void block_2(void *dst, int64_t ds, const void *src, int64_t ss, int64_t rows,
                    int64_t columns, bool stream) {
    uint16_t *d = dst;
    const uint16_t *s = src;
    int64_t whole = rows - rows % 32, wide = columns - columns % 8;
    (void)stream;
    for (int64_t i = 0; i < whole; i += 32)
        for (int64_t j = 0; j < wide; j += 8)
            for (int64_t k = i; k < i + 32; k += 8)
                tile_half(d + j * ds + k, ds, s + k * ss + j, ss);
    if (wide < columns)
        transpose_base[1](d + wide * ds, ds, s + wide, ss, whole, columns - wide, false);
    if (whole < rows)
        transpose_base[1](d + whole, ds, s + whole * ss, ss, rows - whole, columns, false);
}

static void block_16(void *dst, int64_t ds, const void *src, int64_t ss, int64_t rows,
                     int64_t columns, bool stream) {
    double *d = dst;
    const double *s = src;
    int64_t whole = rows - rows % 4;
    stream = stream && lines_aligned(dst, ds, 16);
    for (int64_t i = 0; i < whole; i += 4)
        for (int64_t j = 0; j < columns; j++) {
            double *to = d + 2 * (j * ds + i);
            const double *from = s + 2 * (i * ss + j);
            __m256d a = _mm256_insertf128_pd(_mm256_castpd128_pd256(_mm_loadu_pd(from)),
                                             _mm_loadu_pd(from + 2 * ss), 1);
            __m256d b = _mm256_insertf128_pd(_mm256_castpd128_pd256(_mm_loadu_pd(from + 4 * ss)),
                                             _mm_loadu_pd(from + 6 * ss), 1);
            put_d(to, a, stream);
            put_d(to + 4, b, stream);
        }
    if (whole < rows)
        transpose_base[4](d + 2 * whole, ds, s + 2 * whole * ss, ss, rows - whole, columns, false);
}

const TransposeFn transpose_avx2[PERMUTE_SIZES] = { NULL,    block_2,  block_4,
                                                    block_8, block_16, NULL };
#else
const TransposeFn transpose_avx2[PERMUTE_SIZES] = { NULL };
#endif
