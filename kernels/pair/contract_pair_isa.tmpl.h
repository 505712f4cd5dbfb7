/* The pair engine's kernels for one instruction set: vector types and fused products of both
 * real types, then the four element types. Included by contract_pair_base.c, _avx2.c and
 * _avx512.c, which set PAIR_KERNEL. */
#include "kernels/pair/contract_pair_kernels.h"
#include "kernels/gemm/vector_real.tmpl.h"

#include <string.h>

/* A tile of C is two vectors by NR columns: its sums, a column of A and one number of B stay
 * in registers (16 of them, 32 with AVX-512). */
#if defined(__AVX512F__)
#define NR 12
#else
#define NR 6
#endif

/* To memory aligned for vectors, past the cache. */
static inline void stream_s(float *to, Vec_s x)
{
#if defined(__AVX512F__)
    _mm512_stream_ps(to, (__m512)x);
#elif defined(__AVX2__)
    _mm256_stream_ps(to, (__m256)x);
#else
    memcpy(to, &x, sizeof x);
#endif
}

static inline void stream_d(double *to, Vec_d x)
{
#if defined(__AVX512F__)
    _mm512_stream_pd(to, (__m512d)x);
#elif defined(__AVX2__)
    _mm256_stream_pd(to, (__m256d)x);
#else
    memcpy(to, &x, sizeof x);
#endif
}

/* Lanes [begin, end) alone. Slow by AVX2, which is not asked. */
static inline void store_some_s(float *to, Vec_s x, int64_t begin, int64_t end)
{
#if defined(__AVX512F__)
    _mm512_mask_storeu_ps(to, (__mmask16)((1u << end) - (1u << begin)), (__m512)x);
#else
    memcpy(to + begin, (float *)&x + begin, (size_t)(end - begin) * sizeof *to);
#endif
}

static inline void store_some_d(double *to, Vec_d x, int64_t begin, int64_t end)
{
#if defined(__AVX512F__)
    _mm512_mask_storeu_pd(to, (__mmask8)((1u << end) - (1u << begin)), (__m512d)x);
#else
    memcpy(to + begin, (double *)&x + begin, (size_t)(end - begin) * sizeof *to);
#endif
}

/* Lanes [0, take) from `first` on, the others from where these would lie at `second`. Nothing else
 * is read. */
static inline Vec_s load_two_s(const float *first, const float *second, int64_t take)
{
#if defined(__AVX512F__)
    __mmask16 mask = (__mmask16)((1u << take) - 1);
    __m512 x = _mm512_maskz_loadu_ps(mask, first);
    return (Vec_s)_mm512_mask_loadu_ps(x, (__mmask16)~mask, second);
#else
    Vec_s x;
    for (int64_t l = 0; l < (int64_t)(VECTOR_BYTES / sizeof *first); l++)
        x[l] = l < take ? first[l] : second[l];
    return x;
#endif
}

static inline Vec_d load_two_d(const double *first, const double *second, int64_t take)
{
#if defined(__AVX512F__)
    __mmask8 mask = (__mmask8)((1u << take) - 1);
    __m512d x = _mm512_maskz_loadu_pd(mask, first);
    return (Vec_d)_mm512_mask_loadu_pd(x, (__mmask8)~mask, second);
#else
    Vec_d x;
    for (int64_t l = 0; l < (int64_t)(VECTOR_BYTES / sizeof *first); l++)
        x[l] = l < take ? first[l] : second[l];
    return x;
#endif
}

#if defined(__AVX512F__)
#define STORES_SOME true
#else
#define STORES_SOME false
#endif

#define GLUE2(a, b) a##_##b
#define GLUE(a, b) GLUE2(a, b)

#define REAL s
#define LANES (VECTOR_BYTES / 4)
#define T float
#define V Vec_s
#define FN(name) GLUE(name, REAL)
#include "kernels/gemm/small_turn.tmpl.h"
#undef FN
#define TYPE s
#define PARTS 1
#include "kernels/pair/contract_pair_tile.tmpl.h"
#undef TYPE
#undef PARTS
#define TYPE c
#define PARTS 2
#include "kernels/pair/contract_pair_tile.tmpl.h"
#undef TYPE
#undef PARTS
#undef REAL
#undef LANES
#undef V
#undef T

#define REAL d
#define LANES (VECTOR_BYTES / 8)
#define T double
#define V Vec_d
#define FN(name) GLUE(name, REAL)
#include "kernels/gemm/small_turn.tmpl.h"
#undef FN
#define TYPE d
#define PARTS 1
#include "kernels/pair/contract_pair_tile.tmpl.h"
#undef TYPE
#undef PARTS
#define TYPE z
#define PARTS 2
#include "kernels/pair/contract_pair_tile.tmpl.h"

const PairKernel PAIR_KERNEL[BLAS_TYPES] = {
    { 2 * VECTOR_BYTES / 4, NR, 1, pack_a_s, pack_b_s, tile_s, rows_s, large_s },
    { 2 * VECTOR_BYTES / 8, NR, 1, pack_a_d, pack_b_d, tile_d, rows_d, large_d },
    { VECTOR_BYTES / 4, NR, 1, pack_a_c, pack_b_c, tile_c, rows_c, NULL },
    { VECTOR_BYTES / 8, NR, 1, pack_a_z, pack_b_z, tile_z, rows_z, NULL }
};
