/* Narrow floats in bulk with F16C. From f64 they go through a float rounded to odd, so
 * that there is one rounding in all (see f64_to_f32_odd). Tails take the scalar way, which
 * gives the same bits. */
#include "kernels/tensor/cast.h"

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

void cast_f16_f64_avx2(void *dst, const void *src, int64_t n) {
    double *d = dst;
    const uint16_t *s = src;
    int64_t i = 0;
    for (; i + 8 <= n; i += 8) {
        __m256 f = _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(s + i)));
        _mm256_storeu_pd(d + i, _mm256_cvtps_pd(_mm256_castps256_ps128(f)));
        _mm256_storeu_pd(d + i + 4, _mm256_cvtps_pd(_mm256_extractf128_ps(f, 1)));
    }
    for (; i < n; i++) d[i] = (double)f16_to_f32(s[i]);
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

/* Cut to 16 bits, the last one set if anything was cut off: enough for a second rounding to at
 * most 11, and still exact in the smallest floats that bf16 looks at. */
static inline __m128 odd4(const double *s) {
    __m256i x = _mm256_loadu_si256((const __m256i *)s);
    __m256i low = _mm256_set1_epi64x(((int64_t)1 << 37) - 1);
    __m256i rest = _mm256_add_epi64(_mm256_and_si256(x, low), low);
    return _mm256_cvtpd_ps(_mm256_castsi256_pd(_mm256_andnot_si256(low, _mm256_or_si256(x, rest))));
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

/* ---- one byte ---- */
/* f32_to_e4m3 and f32_to_e5m2 for eight. */
typedef struct ByteCast { int shift, half, bias, least, top, adder; } ByteCast;
static const ByteCast to_e4m3 = { 20, 0x7ffff, 120 << 23, 0x3c800000, 0x7f, 0x46800000 };
static const ByteCast to_e5m2 = { 21, 0xfffff, 112 << 23, 0x38800000, 0x7c, 0x43000000 };

static inline __attribute__((always_inline))
__m128i byte_from(__m256 v, const ByteCast *c, bool keep_nan) {
    __m256i bits = _mm256_castps_si256(v), adder = _mm256_set1_epi32(c->adder);
    __m256i rest = _mm256_and_si256(bits, _mm256_set1_epi32(0x7fffffff));
    __m256i tiny = _mm256_castps_si256(
        _mm256_add_ps(_mm256_castsi256_ps(rest), _mm256_castsi256_ps(adder)));
    __m256i even = _mm256_and_si256(_mm256_srli_epi32(rest, c->shift), _mm256_set1_epi32(1));
    __m256i up = _mm256_add_epi32(_mm256_add_epi32(rest, even),
                                  _mm256_set1_epi32(c->half - c->bias));
    __m256i code = _mm256_min_epi32(_mm256_srai_epi32(up, c->shift), _mm256_set1_epi32(c->top));
    code = _mm256_blendv_epi8(code, _mm256_sub_epi32(tiny, adder),
                              _mm256_cmpgt_epi32(_mm256_set1_epi32(c->least), rest));
    if (keep_nan)
        code = _mm256_blendv_epi8(code, _mm256_set1_epi32(0x7e),
                                  _mm256_cmpgt_epi32(rest, _mm256_set1_epi32(0x7f800000)));
    __m256i sign = _mm256_and_si256(_mm256_srli_epi32(bits, 24), _mm256_set1_epi32(0x80));
    code = _mm256_or_si256(code, sign);
    __m128i pairs = _mm_packus_epi32(_mm256_castsi256_si128(code),
                                     _mm256_extracti128_si256(code, 1));
    return _mm_packus_epi16(pairs, pairs);
}

/* Eight floats of eight bytes. */
static inline __m256 from_e5m2(const uint8_t *s) {
    __m128i wide = _mm_unpacklo_epi8(_mm_setzero_si128(), _mm_loadl_epi64((const __m128i *)s));
    return _mm256_cvtph_ps(wide);
}

static inline __m256 from_e4m3(const uint8_t *s) {
    __m128i wide = _mm_cvtepu8_epi16(_mm_loadl_epi64((const __m128i *)s));
    __m128i sign = _mm_and_si128(_mm_slli_epi16(wide, 8), _mm_set1_epi16((short)0x8000));
    __m128i fields = _mm_and_si128(wide, _mm_set1_epi16(0x7f)), nan = _mm_set1_epi16(0x7f);
    __m128i half = _mm_slli_epi16(fields, 7);
    half = _mm_blendv_epi8(half, _mm_set1_epi16(0x7e00), _mm_cmpeq_epi16(fields, nan));
    return _mm256_mul_ps(_mm256_cvtph_ps(_mm_or_si128(half, sign)), _mm256_set1_ps(256));
}

#define TO_BYTE(name, keep_nan) \
    void cast_f64_##name##_avx2(void *dst, const void *src, int64_t n) { \
        uint8_t *d = dst; \
        const double *s = src; \
        int64_t i = 0; \
        for (; i + 8 <= n; i += 8) \
            _mm_storel_epi64((__m128i *)(d + i), byte_from(odd8(s + i), &to_##name, keep_nan)); \
        for (; i < n; i++) d[i] = f32_to_##name(f64_to_f32_odd(s[i])); \
    } \
    void cast_f32_##name##_avx2(void *dst, const void *src, int64_t n) { \
        uint8_t *d = dst; \
        const float *s = src; \
        int64_t i = 0; \
        for (; i + 8 <= n; i += 8) \
            _mm_storel_epi64((__m128i *)(d + i), \
                             byte_from(_mm256_loadu_ps(s + i), &to_##name, keep_nan)); \
        for (; i < n; i++) d[i] = f32_to_##name(s[i]); \
    } \
    void cast_##name##_f32_avx2(void *dst, const void *src, int64_t n) { \
        float *d = dst; \
        const uint8_t *s = src; \
        int64_t i = 0; \
        for (; i + 8 <= n; i += 8) _mm256_storeu_ps(d + i, from_##name(s + i)); \
        for (; i < n; i++) d[i] = name##_to_f32(s[i]); \
    } \
    void cast_##name##_f64_avx2(void *dst, const void *src, int64_t n) { \
        double *d = dst; \
        const uint8_t *s = src; \
        int64_t i = 0; \
        for (; i + 8 <= n; i += 8) { \
            __m256 f = from_##name(s + i); \
            _mm256_storeu_pd(d + i, _mm256_cvtps_pd(_mm256_castps256_ps128(f))); \
            _mm256_storeu_pd(d + i + 4, _mm256_cvtps_pd(_mm256_extractf128_ps(f, 1))); \
        } \
        for (; i < n; i++) d[i] = (double)name##_to_f32(s[i]); \
    }
TO_BYTE(e4m3, false)
TO_BYTE(e5m2, true)
#else
#define NONE(name) \
    void name(void *dst, const void *src, int64_t n) { (void)dst; (void)src; (void)n; }
NONE(cast_f16_f64_avx2) NONE(cast_f64_e4m3_avx2) NONE(cast_f64_e5m2_avx2)
NONE(cast_f32_e4m3_avx2) NONE(cast_f32_e5m2_avx2) NONE(cast_e4m3_f32_avx2)
NONE(cast_e5m2_f32_avx2) NONE(cast_e4m3_f64_avx2) NONE(cast_e5m2_f64_avx2)
void cast_f16_f32_avx2(void *dst, const void *src, int64_t n) { (void)dst; (void)src; (void)n; }
void cast_f32_f16_avx2(void *dst, const void *src, int64_t n) { (void)dst; (void)src; (void)n; }
void cast_f64_f16_avx2(void *dst, const void *src, int64_t n) { (void)dst; (void)src; (void)n; }
void cast_f64_bf16_avx2(void *dst, const void *src, int64_t n) { (void)dst; (void)src; (void)n; }
void cast_f32_bf16_avx2(void *dst, const void *src, int64_t n) { (void)dst; (void)src; (void)n; }
void cast_bf16_f32_avx2(void *dst, const void *src, int64_t n) { (void)dst; (void)src; (void)n; }
#endif
