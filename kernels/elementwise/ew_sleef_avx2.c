/* SLEEF kernels on 256-bit vectors: see ew_sleef.tmpl.h. */
#include "kernels/elementwise/ew_kernels.h"
#ifdef __AVX2__
#include <immintrin.h>

typedef int64_t VI __attribute__((vector_size(32)));
typedef uint64_t VU __attribute__((vector_size(32)));
typedef float VS __attribute__((vector_size(16)));

#define TABLE ew_table_sleef_avx2
#define OWN_TABLE ew_table_vector_avx2
#define COMPOSED ew_table_composed_avx2
#define D_FMA _mm256_fmadd_pd
#define F_FMA _mm256_fmadd_ps
#define F_BELOW(v, limit, yes, no) \
    _mm256_blendv_ps(no, yes, _mm256_cmp_ps(v, _mm256_set1_ps(limit), _CMP_LT_OQ))
#define F_MIN _mm256_min_ps
#define D_ANY(mask) _mm256_movemask_pd((__m256d)(mask))
#define D_MAX _mm256_max_pd
#define D_MIN _mm256_min_pd
#define D_SQRT _mm256_sqrt_pd
#define F_SQRT _mm256_sqrt_ps
#define ISA avx2
#define VD __m256d
#define VF __m256
#define D_LANES 4
#define F_LANES 8
#define D_LOAD _mm256_loadu_pd
#define F_LOAD _mm256_loadu_ps
#define D_STORE _mm256_storeu_pd
#define F_STORE _mm256_storeu_ps
#define D_SET1 _mm256_set1_pd
#define F_SET1 _mm256_set1_ps
#define D_OUTSIDE(v, lo, hi) (unsigned)_mm256_movemask_pd(_mm256_or_pd( \
    _mm256_cmp_pd(v, _mm256_set1_pd(lo), _CMP_LT_OQ), \
    _mm256_cmp_pd(v, _mm256_set1_pd(hi), _CMP_GT_OQ)))
#define F_OUTSIDE(v, lo, hi) (unsigned)_mm256_movemask_ps(_mm256_or_ps( \
    _mm256_cmp_ps(v, _mm256_set1_ps(lo), _CMP_LT_OQ), \
    _mm256_cmp_ps(v, _mm256_set1_ps(hi), _CMP_GT_OQ)))
#define D_TINY(v, least, r) _mm256_blendv_pd(r, v, _mm256_cmp_pd( \
    _mm256_andnot_pd(_mm256_set1_pd(-0.0), v), _mm256_set1_pd(least), _CMP_LT_OQ))
#define F_TINY(v, least, r) _mm256_blendv_ps(r, v, _mm256_cmp_ps( \
    _mm256_andnot_ps(_mm256_set1_ps(-0.0f), v), _mm256_set1_ps(least), _CMP_LT_OQ))
#include "kernels/elementwise/ew_sleef.tmpl.h"
#else
const EwFn ew_table_sleef_avx2[EW_COUNT][DT_COUNT] = { { NULL } };
const EwFn ew_table_vector_avx2[EW_COUNT][DT_COUNT] = { { NULL } };
const EwFn ew_table_composed_avx2[EW_COUNT][DT_COUNT] = { { NULL } };
#endif
