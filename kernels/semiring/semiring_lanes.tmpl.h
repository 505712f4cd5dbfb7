/* Vectors of one element type T named by TAG: U is the unsigned type of its size (integers
 * wrap in it), MASK the signed one; MIN, MAX and FMA on REG where the machine has them. Its
 * minimum must be v < x ? v : x, which is what SSE and its successors do. Included by
 * semiring_vector.tmpl.h only. */
#define V GLUE(V, TAG)
#define W GLUE(W, TAG)
#define M GLUE(M, TAG)
#define FN(f) GLUE(f, TAG)

typedef T V __attribute__((vector_size(VECTOR_BYTES)));
typedef U W __attribute__((vector_size(VECTOR_BYTES)));
typedef MASK M __attribute__((vector_size(VECTOR_BYTES)));

/* A vector at any address of an element. */
typedef T FN(Any) __attribute__((vector_size(VECTOR_BYTES), aligned(sizeof(T)), may_alias));
ALWAYS V FN(load)(const T *p) { return *(const FN(Any) *)p; }
ALWAYS void FN(store)(T *p, V x) { *(FN(Any) *)p = x; }

/* yes where the mask is all ones, no where it is zero. */
ALWAYS V FN(choose)(M mask, V yes, V no)
{
#if VECTOR_BYTES == 32 && defined(__AVX2__)
    return (V)_mm256_blendv_epi8((__m256i)no, (__m256i)yes, (__m256i)mask);
#else
    return (V)((mask & (M)yes) | (~mask & (M)no));
#endif
}

ALWAYS V FN(lower)(V v, V x)
{
#ifdef MIN
    return (V)MIN((REG)v, (REG)x);
#else
    return FN(choose)((M)(v < x), v, x);
#endif
}

ALWAYS V FN(higher)(V v, V x)
{
#ifdef MAX
    return (V)MAX((REG)v, (REG)x);
#else
    return FN(choose)((M)(v > x), v, x);
#endif
}

#ifdef FLOATING
ALWAYS V FN(splat)(T x) { return x - (V){ 0 }; }
ALWAYS V FN(plus)(V a, V b) { return a + b; }
ALWAYS V FN(times)(V a, V b) { return a * b; }
ALWAYS V FN(nan_or)(V v, V x) { return FN(choose)((M)(v != v), v, x); }
/* x + a b, in one rounding where the machine can. */
ALWAYS V FN(add_times)(V x, V a, V b)
{
#ifdef FMA
    return (V)FMA((REG)a, (REG)b, (REG)x);
#else
    return x + a * b;
#endif
}
#else
ALWAYS V FN(splat)(T x) { return (V)((U)x + (W){ 0 }); }
ALWAYS V FN(plus)(V a, V b) { return (V)((W)a + (W)b); }
ALWAYS V FN(times)(V a, V b) { return (V)((W)a * (W)b); }
ALWAYS V FN(nan_or)(V v, V x) { (void)v; return x; }
ALWAYS V FN(add_times)(V x, V a, V b) { return (V)((W)x + (W)a * (W)b); }
#endif

#undef V
#undef W
#undef M
#undef FN
#undef TAG
#undef T
#undef U
#undef MASK
#undef FLOATING
#undef REG
#undef MIN
#undef MAX
#undef FMA
