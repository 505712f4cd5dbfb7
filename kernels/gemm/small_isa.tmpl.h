/* The kernels for small matrices for one instruction set: vector types and fused products
 * of both real types, then the four element types. Included by small_base.c, small_avx2.c
 * and small_avx512.c, which set SMALL_TABLE. */
#include "kernels/gemm/small_kernels.h"
#include "kernels/gemm/vector_real.tmpl.h"

#include <string.h>

typedef int32_t Int_s __attribute__((vector_size(VECTOR_BYTES)));
typedef int64_t Int_d __attribute__((vector_size(VECTOR_BYTES)));

/* yes in the lanes where the mask is all ones, no where it is zero. */
static inline Vec_s choose_s(Int_s mask, Vec_s yes, Vec_s no)
{
#if defined(__AVX2__) && !defined(__AVX512F__)
    return (Vec_s)_mm256_blendv_ps((__m256)no, (__m256)yes, (__m256)mask);
#else
    return (Vec_s)((mask & (Int_s)yes) | (~mask & (Int_s)no));
#endif
}

static inline Vec_d choose_d(Int_d mask, Vec_d yes, Vec_d no)
{
#if defined(__AVX2__) && !defined(__AVX512F__)
    return (Vec_d)_mm256_blendv_pd((__m256d)no, (__m256d)yes, (__m256d)mask);
#else
    return (Vec_d)((mask & (Int_d)yes) | (~mask & (Int_d)no));
#endif
}

/* Is a bit of the mask set? */
static inline bool any_s(Int_s m)
{
#if defined(__AVX512F__)
    return _mm512_movepi32_mask((__m512i)m) != 0;
#elif defined(__AVX2__)
    return _mm256_movemask_ps((__m256)m) != 0;
#else
    return (m[0] | m[1] | m[2] | m[3]) != 0;
#endif
}

static inline bool any_d(Int_d m)
{
#if defined(__AVX512F__)
    return _mm512_movepi64_mask((__m512i)m) != 0;
#elif defined(__AVX2__)
    return _mm256_movemask_pd((__m256d)m) != 0;
#else
    return (m[0] | m[1]) != 0;
#endif
}

#define GLUE2(a, b) a##_##b
#define GLUE(a, b) GLUE2(a, b)

/* The real types first; the complex ones of the same width use their vectors and moves. */
#define REAL s
#define LANES (VECTOR_BYTES / 4)
#define T float
#define TINT int32_t
#define T_LEAST 1e-15f
#define T_MOST 1e15f
#define T_EPS 0x1p-23f
#define TYPE s
#define PARTS 1
#include "kernels/gemm/small_move.tmpl.h"
#include "kernels/gemm/small_lu.tmpl.h"
#include "kernels/gemm/small_product.tmpl.h"
#undef TYPE
#undef PARTS
#define TYPE c
#define PARTS 2
#include "kernels/gemm/small_lu.tmpl.h"
#include "kernels/gemm/small_product.tmpl.h"
#undef TYPE
#undef PARTS
#undef REAL
#undef LANES
#undef V
#undef VI
#undef T
#undef TINT
#undef T_LEAST
#undef T_MOST
#undef T_EPS

#define REAL d
#define LANES (VECTOR_BYTES / 8)
#define T double
#define TINT int64_t
#define T_LEAST 1e-120
#define T_MOST 1e120
#define T_EPS 0x1p-52
#define TYPE d
#define PARTS 1
#include "kernels/gemm/small_move.tmpl.h"
#include "kernels/gemm/small_lu.tmpl.h"
#include "kernels/gemm/small_product.tmpl.h"
#undef TYPE
#undef PARTS
#define TYPE z
#define PARTS 2
#include "kernels/gemm/small_lu.tmpl.h"
#include "kernels/gemm/small_product.tmpl.h"

const SmallTable SMALL_TABLE = {
    { lu_s, lu_d, lu_c, lu_z },
    { product_s, product_d, product_c, product_z },
    { VECTOR_BYTES / 4, VECTOR_BYTES / 8, VECTOR_BYTES / 4, VECTOR_BYTES / 8 }
};
