/* Strips of a Hermitian matrix in AVX2 registers (hermitian.h): eight lines by one cache line or
 * two, compared with what lies across the diagonal, turned over. Only hermitian.c calls it. */
#include "kernels/lapack/hermitian.h"

#ifdef __AVX2__
#include <immintrin.h>
#include <math.h>

#define INLINE static inline __attribute__((always_inline))

/* What was different so far, and a sum that is NaN once something was not finite. */
typedef struct Seen { __m256d differ, sum; } Seen;

INLINE __m256d load(const double *p) { return _mm256_loadu_pd(p); }

/* Four doubles, or eight floats in the same registers; flip has the signs that a conjugate
 * turns around. */
INLINE void compare(Seen *s, bool wide, __m256d x, __m256d y, __m256d flip)
{
    __m256d w = _mm256_xor_pd(y, flip), zero = _mm256_setzero_pd();
    if (wide) {
        s->differ = _mm256_or_pd(s->differ, _mm256_cmp_pd(x, w, _CMP_NEQ_UQ));
        s->sum = _mm256_fmadd_pd(x, zero, s->sum);
        return;
    }
    __m256 a = _mm256_castpd_ps(x), b = _mm256_castpd_ps(w);
    __m256 differ = _mm256_cmp_ps(a, b, _CMP_NEQ_UQ);
    s->differ = _mm256_or_pd(s->differ, _mm256_castps_pd(differ));
    s->sum = _mm256_castps_pd(_mm256_fmadd_ps(a, _mm256_castpd_ps(zero),
                                              _mm256_castpd_ps(s->sum)));
}

/* r[i] = element i of lines 0 … 3 at p, for elements of eight bytes. */
INLINE void turn_8(const double *p, int64_t ld, __m256d r[4])
{
    __m256d a = load(p), b = load(p + ld), c = load(p + 2 * ld), d = load(p + 3 * ld);
    __m256d t0 = _mm256_unpacklo_pd(a, b), t1 = _mm256_unpackhi_pd(a, b);
    __m256d t2 = _mm256_unpacklo_pd(c, d), t3 = _mm256_unpackhi_pd(c, d);
    r[0] = _mm256_permute2f128_pd(t0, t2, 0x20);
    r[1] = _mm256_permute2f128_pd(t1, t3, 0x20);
    r[2] = _mm256_permute2f128_pd(t0, t2, 0x31);
    r[3] = _mm256_permute2f128_pd(t1, t3, 0x31);
}

/* The same of eight floats in lines 0 … 7. */
INLINE void turn_4(const float *p, int64_t ld, __m256d r[8])
{
    __m256 a[8], t[4];
    for (int i = 0; i < 4; i++) {
        const float *low = p + i * ld, *high = low + 4 * ld;
        a[i] = _mm256_insertf128_ps(_mm256_castps128_ps256(_mm_loadu_ps(low)),
                                    _mm_loadu_ps(high), 1);
        a[i + 4] = _mm256_insertf128_ps(_mm256_castps128_ps256(_mm_loadu_ps(low + 4)),
                                        _mm_loadu_ps(high + 4), 1);
    }
    for (int h = 0; h < 8; h += 4) {
        t[0] = _mm256_unpacklo_ps(a[h], a[h + 1]);
        t[1] = _mm256_unpackhi_ps(a[h], a[h + 1]);
        t[2] = _mm256_unpacklo_ps(a[h + 2], a[h + 3]);
        t[3] = _mm256_unpackhi_ps(a[h + 2], a[h + 3]);
        r[h] = _mm256_castps_pd(_mm256_shuffle_ps(t[0], t[2], 0x44));
        r[h + 1] = _mm256_castps_pd(_mm256_shuffle_ps(t[0], t[2], 0xee));
        r[h + 2] = _mm256_castps_pd(_mm256_shuffle_ps(t[1], t[3], 0x44));
        r[h + 3] = _mm256_castps_pd(_mm256_shuffle_ps(t[1], t[3], 0xee));
    }
}

/* The same of two complex doubles in lines 0 and 1. */
INLINE void turn_16(const double *p, int64_t ld, __m256d r[2])
{
    __m256d a = load(p), b = load(p + 2 * ld);
    r[0] = _mm256_permute2f128_pd(a, b, 0x20);
    r[1] = _mm256_permute2f128_pd(a, b, 0x31);
}

INLINE HermitianSeen strip(BlasType t, const HermitianStrip *s)
{
    bool wide = t == BLAS_D || t == BLAS_Z, cplx = t == BLAS_C || t == BLAS_Z;
    int64_t bytes = t == BLAS_S ? 4 : t == BLAS_Z ? 16 : 8;
    int edge = (int)(32 / bytes);                   /* elements in a register */
    __m256d zero = _mm256_setzero_pd(), r[8] = { zero };
    __m256d signs = t == BLAS_Z ? _mm256_setr_pd(0, -0.0, 0, -0.0)
                                : _mm256_castps_pd(_mm256_setr_ps(0, -0.0f, 0, -0.0f, 0, -0.0f, 0,
                                                                  -0.0f));
    __m256d flip = cplx ? signs : zero, out = cplx && s->flip ? signs : zero;
    Seen seen = { zero, zero };
    for (int64_t j = 0; j < s->count * HERMITIAN_TILE; j += edge)
        for (int i = 0; i < HERMITIAN_TILE; i += edge) {
            const char *x = s->x + (i * s->ld + j) * bytes;
            const char *y = s->across + (j * s->ld + i) * bytes;
            if (t == BLAS_S)
                turn_4((const float *)(const void *)y, s->ld, r);
            else if (t == BLAS_Z)
                turn_16((const double *)(const void *)y, s->ld, r);
            else
                turn_8((const double *)(const void *)y, s->ld, r);
            for (int k = 0; k < edge; k++) {
                __m256d v = load((const double *)(const void *)(x + k * s->ld * bytes));
                compare(&seen, wide, v, r[k], flip);
                if (s->to)
                    _mm256_storeu_pd((double *)(void *)(s->to + ((i + k) * s->ldt + j) * bytes),
                                     _mm256_xor_pd(v, out));
            }
        }
    __m256d finite = wide ? _mm256_cmp_pd(seen.sum, seen.sum, _CMP_UNORD_Q)
                          : _mm256_castps_pd(_mm256_cmp_ps(_mm256_castpd_ps(seen.sum),
                                                           _mm256_castpd_ps(seen.sum),
                                                           _CMP_UNORD_Q));
    /* All bits: as masks of doubles these would be read by every second float's sign. */
    return (HermitianSeen){
        _mm256_testz_si256(_mm256_castpd_si256(seen.differ), _mm256_castpd_si256(seen.differ)) != 0,
        _mm256_testz_si256(_mm256_castpd_si256(finite), _mm256_castpd_si256(finite)) != 0
    };
}

/* The greatest of eight floats or four doubles. */
INLINE double greatest(bool wide, __m256d x)
{
    double d[4], top = 0;
    float s[8];
    _mm256_storeu_pd(d, x);
    _mm256_storeu_ps(s, _mm256_castpd_ps(x));
    for (int i = 0; i < (wide ? 4 : 8); i++) {
        double v = wide ? d[i] : (double)s[i];
        top = v > top ? v : top;
    }
    return top;
}

/* The maximum, which is the second operand's where the first is no number. */
INLINE __m256d most(bool wide, __m256d x, __m256d top)
{
    return wide ? _mm256_max_pd(x, top)
                : _mm256_castps_pd(_mm256_max_ps(_mm256_castpd_ps(x), _mm256_castpd_ps(top)));
}

INLINE __m256d minus(bool wide, __m256d x, __m256d y)
{
    return wide ? _mm256_sub_pd(x, y)
                : _mm256_castps_pd(_mm256_sub_ps(_mm256_castpd_ps(x), _mm256_castpd_ps(y)));
}

/* x * 0 is NaN where x is not finite. */
INLINE __m256d watch(bool wide, __m256d x, __m256d sum)
{
    __m256d zero = _mm256_setzero_pd();
    return wide ? _mm256_fmadd_pd(x, zero, sum)
                : _mm256_castps_pd(_mm256_fmadd_ps(_mm256_castpd_ps(x), _mm256_castpd_ps(zero),
                                                   _mm256_castpd_ps(sum)));
}

INLINE void asymmetry(BlasType t, const HermitianStrip *s, Asymmetry *seen)
{
    bool wide = t == BLAS_D;
    int64_t bytes = wide ? 8 : 4;
    int edge = wide ? 4 : 8;
    __m256d top = _mm256_setzero_pd(), gap = top, sum = top, r[8] = { top };
    __m256d signs = wide ? _mm256_set1_pd(-0.0) : _mm256_castps_pd(_mm256_set1_ps(-0.0f));
    for (int64_t j = 0; j < s->count * HERMITIAN_TILE; j += edge)
        for (int i = 0; i < HERMITIAN_TILE; i += edge) {
            const char *x = s->x + (i * s->ld + j) * bytes;
            const char *y = s->across + (j * s->ld + i) * bytes;
            if (wide)
                turn_8((const double *)(const void *)y, s->ld, r);
            else
                turn_4((const float *)(const void *)y, s->ld, r);
            for (int k = 0; k < edge; k++) {
                __m256d v = load((const double *)(const void *)(x + k * s->ld * bytes));
                sum = watch(wide, r[k], watch(wide, v, sum));
                top = most(wide, _mm256_andnot_pd(signs, v), top);
                top = most(wide, _mm256_andnot_pd(signs, r[k]), top);
                gap = most(wide, _mm256_andnot_pd(signs, minus(wide, v, r[k])), gap);
                if (s->to)
                    _mm256_storeu_pd((double *)(void *)(s->to + ((i + k) * s->ldt + j) * bytes),
                                     s->flip ? r[k] : v);
            }
        }
    __m256d odd = wide ? _mm256_cmp_pd(sum, sum, _CMP_UNORD_Q)
                       : _mm256_castps_pd(_mm256_cmp_ps(_mm256_castpd_ps(sum),
                                                        _mm256_castpd_ps(sum), _CMP_UNORD_Q));
    seen->top = fmax(seen->top, greatest(wide, top));
    seen->gap = fmax(seen->gap, greatest(wide, gap));
    seen->finite &= _mm256_testz_si256(_mm256_castpd_si256(odd), _mm256_castpd_si256(odd)) != 0;
}

static void asymmetry_s(const HermitianStrip *s, Asymmetry *seen) { asymmetry(BLAS_S, s, seen); }
static void asymmetry_d(const HermitianStrip *s, Asymmetry *seen) { asymmetry(BLAS_D, s, seen); }

const AsymmetryFn asymmetry_avx2[BLAS_TYPES] = { [BLAS_S] = asymmetry_s, [BLAS_D] = asymmetry_d };

static HermitianSeen strip_s(const HermitianStrip *s) { return strip(BLAS_S, s); }
static HermitianSeen strip_d(const HermitianStrip *s) { return strip(BLAS_D, s); }
static HermitianSeen strip_c(const HermitianStrip *s) { return strip(BLAS_C, s); }
static HermitianSeen strip_z(const HermitianStrip *s) { return strip(BLAS_Z, s); }

const HermitianFn hermitian_avx2[BLAS_TYPES] = {
    [BLAS_S] = strip_s, [BLAS_D] = strip_d, [BLAS_C] = strip_c, [BLAS_Z] = strip_z
};
#else
const HermitianFn hermitian_avx2[BLAS_TYPES] = { NULL };
const AsymmetryFn asymmetry_avx2[BLAS_TYPES] = { NULL };
#endif
