/* 16-bit floats in bulk with F16C. From f64 they go through a float rounded to odd, so
 * that there is one rounding in all (see f64_to_f32_odd). Tails take the scalar way, which
 * gives the same bits. */
#include "kernels/cast.h"

#ifdef __F16C__
#include <immintrin.h>

void cast_f16_f32_avx2(void *dst, const void *src, int64_t n) {
    float *d = dst;
    const uint16_t *s = src;
    int64_t i = 0;
    for (; i + 8 <= n; i += 8)
        _mm256_storeu_ps(d + i, _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(s + i))));
    for (; i < n; i++) d[i] = f16_to_f32(s[i]);
}

/* F16C keeps the payload of a nan; every nan becomes the same one here, as in f32_to_f16. */
static inline __m128i half_from(__m256 v) {
    __m256 nan = _mm256_cmp_ps(v, v, _CMP_UNORD_Q);
    __m256 sign = _mm256_and_ps(v, _mm256_set1_ps(-0.0f));
    __m256 quiet = _mm256_or_ps(sign, _mm256_castsi256_ps(_mm256_set1_epi32(0x7fc00000)));
    return _mm256_cvtps_ph(_mm256_blendv_ps(v, quiet, nan), _MM_FROUND_TO_NEAREST_INT);
}

void cast_f32_f16_avx2(void *dst, const void *src, int64_t n) {
    uint16_t *d = dst;
    const float *s = src;
    int64_t i = 0;
    for (; i + 8 <= n; i += 8)
        _mm_storeu_si128((__m128i *)(d + i), half_from(_mm256_loadu_ps(s + i)));
    for (; i < n; i++) d[i] = f32_to_f16(s[i]);
}

static inline __m128 odd4(const double *s) {
    __m256d d = _mm256_loadu_pd(s);
    __m128 f = _mm256_cvtpd_ps(d);
    __m256d back = _mm256_cvtps_pd(f), sign = _mm256_set1_pd(-0.0);
    __m256d off = _mm256_cmp_pd(back, d, _CMP_NEQ_OQ);
    __m256d below = _mm256_cmp_pd(_mm256_andnot_pd(sign, back), _mm256_andnot_pd(sign, d),
                                  _CMP_LT_OQ);
    __m256i step = _mm256_blendv_epi8(_mm256_set1_epi64x(-1), _mm256_set1_epi64x(1),
                                      _mm256_castpd_si256(below));
    step = _mm256_and_si256(step, _mm256_castpd_si256(off));
    __m128i narrow = _mm256_castsi256_si128(_mm256_permutevar8x32_epi32(
        step, _mm256_setr_epi32(0, 2, 4, 6, 0, 2, 4, 6)));
    __m128i bits = _mm_castps_si128(f);
    __m128i even = _mm_cmpeq_epi32(_mm_and_si128(bits, _mm_set1_epi32(1)), _mm_setzero_si128());
    return _mm_castsi128_ps(_mm_add_epi32(bits, _mm_and_si128(narrow, even)));
}

static inline __m256 odd8(const double *s) {
    return _mm256_insertf128_ps(_mm256_castps128_ps256(odd4(s)), odd4(s + 4), 1);
}

void cast_f64_f16_avx2(void *dst, const void *src, int64_t n) {
    uint16_t *d = dst;
    const double *s = src;
    int64_t i = 0;
    for (; i + 8 <= n; i += 8) _mm_storeu_si128((__m128i *)(d + i), half_from(odd8(s + i)));
    for (; i < n; i++) d[i] = f64_to_f16(s[i]);
}

/* bf16_round for eight: nearest even on the bits, nan made quiet. */
static inline __m128i bf16_from(__m256 v) {
    __m256i bits = _mm256_castps_si256(v), high = _mm256_srli_epi32(bits, 16);
    __m256i even = _mm256_and_si256(high, _mm256_set1_epi32(1));
    __m256i up = _mm256_add_epi32(bits, _mm256_add_epi32(even, _mm256_set1_epi32(0x7fff)));
    __m256i nan = _mm256_castps_si256(_mm256_cmp_ps(v, v, _CMP_UNORD_Q));
    __m256i quiet = _mm256_or_si256(high, _mm256_set1_epi32(0x40));
    __m256i r = _mm256_blendv_epi8(_mm256_srli_epi32(up, 16), quiet, nan);
    return _mm_packus_epi32(_mm256_castsi256_si128(r), _mm256_extracti128_si256(r, 1));
}

void cast_f64_bf16_avx2(void *dst, const void *src, int64_t n) {
    uint16_t *d = dst;
    const double *s = src;
    int64_t i = 0;
    for (; i + 8 <= n; i += 8) _mm_storeu_si128((__m128i *)(d + i), bf16_from(odd8(s + i)));
    for (; i < n; i++) d[i] = f64_to_bf16(s[i]);
}

void cast_f32_bf16_avx2(void *dst, const void *src, int64_t n) {
    uint16_t *d = dst;
    const float *s = src;
    int64_t i = 0;
    for (; i + 8 <= n; i += 8)
        _mm_storeu_si128((__m128i *)(d + i), bf16_from(_mm256_loadu_ps(s + i)));
    for (; i < n; i++) d[i] = bf16_round(s[i]);
}

void cast_bf16_f32_avx2(void *dst, const void *src, int64_t n) {
    float *d = dst;
    const uint16_t *s = src;
    for (int64_t i = 0; i < n; i++) d[i] = bf16_to_f32(s[i]);
}
#else
void cast_f16_f32_avx2(void *dst, const void *src, int64_t n) { (void)dst; (void)src; (void)n; }
void cast_f32_f16_avx2(void *dst, const void *src, int64_t n) { (void)dst; (void)src; (void)n; }
void cast_f64_f16_avx2(void *dst, const void *src, int64_t n) { (void)dst; (void)src; (void)n; }
void cast_f64_bf16_avx2(void *dst, const void *src, int64_t n) { (void)dst; (void)src; (void)n; }
void cast_f32_bf16_avx2(void *dst, const void *src, int64_t n) { (void)dst; (void)src; (void)n; }
void cast_bf16_f32_avx2(void *dst, const void *src, int64_t n) { (void)dst; (void)src; (void)n; }
#endif
