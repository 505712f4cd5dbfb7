/* Vectors of both real types for one instruction set, as the including file's flags have it, and
 * fused products of them. Included once per file; each_real.h has templates in both types. */
#if defined(__AVX2__)
#include <immintrin.h>
#endif

#if defined(__AVX512F__)
#define VECTOR_BYTES 64
#elif defined(__AVX2__)
#define VECTOR_BYTES 32
#else
#define VECTOR_BYTES 16
#endif

typedef float Vec_s __attribute__((vector_size(VECTOR_BYTES)));
typedef double Vec_d __attribute__((vector_size(VECTOR_BYTES)));

/* c + a b, in one rounding where the machine can. */
static inline Vec_s fma_s(Vec_s a, Vec_s b, Vec_s c)
{
#if defined(__AVX512F__)
    return (Vec_s)_mm512_fmadd_ps((__m512)a, (__m512)b, (__m512)c);
#elif defined(__AVX2__)
    return (Vec_s)_mm256_fmadd_ps((__m256)a, (__m256)b, (__m256)c);
#else
    return c + a * b;
#endif
}

static inline Vec_d fma_d(Vec_d a, Vec_d b, Vec_d c)
{
#if defined(__AVX512F__)
    return (Vec_d)_mm512_fmadd_pd((__m512d)a, (__m512d)b, (__m512d)c);
#elif defined(__AVX2__)
    return (Vec_d)_mm256_fmadd_pd((__m256d)a, (__m256d)b, (__m256d)c);
#else
    return c + a * b;
#endif
}
