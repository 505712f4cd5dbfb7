/* SLEEF kernels on 512-bit vectors: see ew_sleef.tmpl.h. The same bits as on 256. */
#include "kernels/elementwise/ew_kernels.h"
#ifdef __AVX512F__
#include <immintrin.h>

typedef int64_t VI __attribute__((vector_size(64)));
typedef uint64_t VU __attribute__((vector_size(64)));
typedef float VS __attribute__((vector_size(32)));

#define TABLE ew_table_sleef_avx512
#define OWN_TABLE ew_table_vector_avx512
#define COMPOSED ew_table_composed_avx512
#define D_FMA _mm512_fmadd_pd
#define F_FMA _mm512_fmadd_ps
#define F_BELOW(v, limit, yes, no) \
    _mm512_mask_blend_ps(_mm512_cmp_ps_mask(v, _mm512_set1_ps(limit), _CMP_LT_OQ), no, yes)
#define F_MIN _mm512_min_ps
#define D_ANY(mask) _mm512_movepi64_mask((__m512i)(mask))
#define D_MAX _mm512_max_pd
#define D_MIN _mm512_min_pd
#define D_SQRT _mm512_sqrt_pd
#define F_SQRT _mm512_sqrt_ps
#define ISA avx512f
#define VD __m512d
#define VF __m512
#define D_LANES 8
#define F_LANES 16
#define D_LOAD _mm512_loadu_pd
#define F_LOAD _mm512_loadu_ps
#define D_STORE _mm512_storeu_pd
#define F_STORE _mm512_storeu_ps
#define D_SET1 _mm512_set1_pd
#define F_SET1 _mm512_set1_ps
#define D_OUTSIDE(v, lo, hi) (unsigned)(_mm512_cmp_pd_mask(v, _mm512_set1_pd(lo), _CMP_LT_OQ) \
    | _mm512_cmp_pd_mask(v, _mm512_set1_pd(hi), _CMP_GT_OQ))
#define F_OUTSIDE(v, lo, hi) (unsigned)(_mm512_cmp_ps_mask(v, _mm512_set1_ps(lo), _CMP_LT_OQ) \
    | _mm512_cmp_ps_mask(v, _mm512_set1_ps(hi), _CMP_GT_OQ))
#define D_TINY(v, least, r) _mm512_mask_blend_pd(_mm512_cmp_pd_mask( \
    _mm512_abs_pd(v), _mm512_set1_pd(least), _CMP_LT_OQ), r, v)
#define F_TINY(v, least, r) _mm512_mask_blend_ps(_mm512_cmp_ps_mask( \
    _mm512_abs_ps(v), _mm512_set1_ps(least), _CMP_LT_OQ), r, v)
#include "kernels/elementwise/ew_sleef.tmpl.h"
#else
const EwFn ew_table_sleef_avx512[EW_COUNT][DT_COUNT] = { { NULL } };
const EwFn ew_table_vector_avx512[EW_COUNT][DT_COUNT] = { { NULL } };
const EwFn ew_table_composed_avx512[EW_COUNT][DT_COUNT] = { { NULL } };
#endif
