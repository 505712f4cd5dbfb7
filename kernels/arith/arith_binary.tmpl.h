/* Rows of binary arithmetic for one instruction set. A double is rounded to p bits by adding a
 * number whose last bit is where the result's shall be, and taking it off again; results of
 * double operations that are not exact are first rounded to odd, so that the second rounding is
 * right (Boldo, Melquiond, "Emulation of FMA and correctly rounded sums", IEEE TC 57, 2008).
 * Elements beyond the reach of that are marked and left to arith_exact.c. Included by
 * arith_binary_base.c, _avx2.c and _avx512.c, which set BINARY_TABLE. */
#include "kernels/arith/arith_binary.h"

#include <string.h>
#if defined(__AVX2__)
#include <immintrin.h>
#endif

#if defined(VECTOR_BYTES)
/* A test asks for vectors that the machine may not have. */
#elif defined(__AVX512F__)
#define VECTOR_BYTES 64
#elif defined(__AVX2__)
#define VECTOR_BYTES 32
#else
#define VECTOR_BYTES 16
#endif
#define LANES ((int)(VECTOR_BYTES / sizeof(double)))
#define ALWAYS static inline __attribute__((always_inline))

typedef double Vec __attribute__((vector_size(VECTOR_BYTES)));
typedef int64_t Int __attribute__((vector_size(VECTOR_BYTES)));
typedef uint64_t Uint __attribute__((vector_size(VECTOR_BYTES)));

#define SIGN ((int64_t)((uint64_t)1 << 63))
#define EXPONENT ((int64_t)0x7ff << 52)

/* ---- vectors ---- */
ALWAYS Vec splat(double x) { return x - (Vec){ 0 }; }
ALWAYS Int splat_bits(int64_t x) { return x - (Int){ 0 }; }
ALWAYS Vec load(const double *x) { Vec v; memcpy(&v, x, sizeof v); return v; }
ALWAYS void store(double *to, Vec v) { memcpy(to, &v, sizeof v); }
ALWAYS Vec magnitude(Vec x) { return (Vec)((Int)x & ~SIGN); }
ALWAYS Vec mask(Int m, Vec x) { return (Vec)(m & (Int)x); }

ALWAYS Vec blend(Int m, Vec yes, Vec no)
{
#if defined(__AVX512F__)
    return (Vec)_mm512_mask_blend_pd(_mm512_movepi64_mask((__m512i)m), (__m512d)no, (__m512d)yes);
#elif defined(__AVX2__)
    return (Vec)_mm256_blendv_pd((__m256d)no, (__m256d)yes, (__m256d)m);
#else
    return (Vec)((m & (Int)yes) | (~m & (Int)no));
#endif
}

/* The larger; b where one is nan. */
ALWAYS Vec larger(Vec a, Vec b)
{
#if defined(__AVX512F__)
    return (Vec)_mm512_max_pd((__m512d)a, (__m512d)b);
#elif defined(__AVX2__)
    return (Vec)_mm256_max_pd((__m256d)a, (__m256d)b);
#else
    return blend(a > b, a, b);
#endif
}

ALWAYS Vec root(Vec x)
{
#if defined(__AVX512F__)
    return (Vec)_mm512_sqrt_pd((__m512d)x);
#elif defined(__AVX2__)
    return (Vec)_mm256_sqrt_pd((__m256d)x);
#else
    for (int i = 0; i < LANES; i++)
        x[i] = __builtin_sqrt(x[i]);
    return x;
#endif
}

/* a b + c in one rounding, where the machine can: elsewhere all elements that need it are slow. */
#if defined(__AVX512F__)
#define HAS_FMA 1
ALWAYS Vec fused(Vec a, Vec b, Vec c)
{
    return (Vec)_mm512_fmadd_pd((__m512d)a, (__m512d)b, (__m512d)c);
}
#elif defined(__AVX2__)
#define HAS_FMA 1
ALWAYS Vec fused(Vec a, Vec b, Vec c)
{
    return (Vec)_mm256_fmadd_pd((__m256d)a, (__m256d)b, (__m256d)c);
}
#else
#define HAS_FMA 0
ALWAYS Vec fused(Vec a, Vec b, Vec c) { return a * b + c; }
#endif

ALWAYS bool any(Int m)
{
#if defined(__AVX512F__)
    return _mm512_movepi64_mask((__m512i)m) != 0;
#elif defined(__AVX2__)
    return _mm256_movemask_pd((__m256d)m) != 0;
#else
    int64_t all = 0;
    for (int i = 0; i < LANES; i++)
        all |= m[i];
    return all != 0;
#endif
}

/* Marks what is bad among n elements; nothing is written before the first that is. */
ALWAYS void mark(Int bad, int64_t *slow, int64_t i, int64_t n, bool *found)
{
    if (__builtin_expect(any(bad), 0)) {
        if (!*found)
            memset(slow, 0, (size_t)n * sizeof *slow);
        memcpy(slow + i, &bad, sizeof bad);
        *found = true;
    }
}

/* ---- results to odd ---- */
/* h is the nearest double, e has the sign of what is missing: the double of the two around the
 * exact result whose last bit is set. */
ALWAYS Vec to_odd(Vec h, Vec e)
{
    Int inexact = (e > 0) | (e < 0), even = ((Int)h & 1) - 1;
    Int step = 1 - 2 * (Int)(((Uint)h ^ (Uint)e) >> 63);
    return (Vec)((Int)h + (step & inexact & even));
}

typedef struct Sum { Vec h, e; } Sum;

ALWAYS Sum two_sum(Vec x, Vec y)
{
    Vec h = x + y, b = h - x;
    return (Sum){ h, (x - (h - b)) + (y - b) };
}

/* The same for doubles so large that h - x overflows where it rounds: the larger one comes
 * first. */
ALWAYS Sum two_sum_ordered(Vec x, Vec y)
{
    Int swap = magnitude(x) < magnitude(y);
    Vec most = blend(swap, y, x), least = blend(swap, x, y), h = x + y;
    return (Sum){ h, least - (h - most) };
}

/* Residuals would underflow: |h| below `low` that is no exact zero. */
ALWAYS Int fades(Vec h, Int nonzero, double low) { return (magnitude(h) < low) & nonzero; }

ALWAYS Sum add_parts(BinaryWay way, const BinaryPlan *k, Vec x, Vec y)
{
    y = (Vec)((Uint)y ^ k->flip);
    Sum s = way == WAY_EXACT    ? (Sum){ x + y, splat(0) }
            : way == WAY_NATIVE ? two_sum_ordered(x, y)
                                : two_sum(x, y);
    s.h = (Vec)((Uint)s.h | ((Uint)(s.h == 0) & ((Uint)x | (Uint)y) & k->zero));
    return s;
}

ALWAYS Sum multiply_parts(BinaryWay way, Vec x, Vec y, Int *slow)
{
    Vec h = x * y;
    if (way == WAY_EXACT)
        return (Sum){ h, splat(0) };
    *slow |= HAS_FMA ? fades(h, (x != 0) & (y != 0), 0x1p-960) : splat_bits(-1);
    return (Sum){ h, fused(x, y, -h) };
}

ALWAYS Sum divide_parts(Vec x, Vec y, Int *slow)
{
    Vec h = x / y, e = fused(-h, y, x);
    *slow |= HAS_FMA ? (fades(h, x != 0, 0x1p-960) | fades(x, x != 0, 0x1p-960)) : splat_bits(-1);
    return (Sum){ h, (Vec)((Uint)e ^ ((Uint)y & (uint64_t)SIGN)) };
}

ALWAYS Sum root_parts(Vec x, Int *slow)
{
    Vec h = root(x);
    *slow |= HAS_FMA ? fades(x, x != 0, 0x1p-900) : splat_bits(-1);
    return (Sum){ h, fused(-h, h, x) };
}

/* x y + z in the paper's steps: the sum of two doubles, of which the smaller one is to odd. */
ALWAYS Sum fma_parts(BinaryWay way, Vec x, Vec y, Vec z, Int *slow)
{
    Sum u = { x * y, splat(0) };
    if (way != WAY_EXACT) {
        u.e = fused(x, y, -u.h);
        *slow |= HAS_FMA
                     ? (fades(u.h, (x != 0) & (y != 0), 0x1p-900) | ~(magnitude(u.h) < 0x1p1000))
                     : splat_bits(-1);
    }
    Sum t = two_sum(z, u.e), v = two_sum(t.h, u.h), w = two_sum(v.e, t.e);
    Vec low = to_odd(w.h, w.e);
    Sum s = two_sum(v.h, low);
    *slow |= s.h == 0;
    return s;
}

ALWAYS Sum parts(BinaryOp op, BinaryWay way, const BinaryPlan *k, Vec x, Vec y, Vec z, Int *slow)
{
    switch (op) {
    case BIN_ADD: return add_parts(way, k, x, y);
    case BIN_MULTIPLY: return multiply_parts(way, x, y, slow);
    case BIN_DIVIDE: return divide_parts(x, y, slow);
    case BIN_SQRT: return root_parts(x, slow);
    default: return fma_parts(way, x, y, z, slow);
    }
}

/* ---- rounding ---- */
typedef struct Counts { Int overflow, underflow, inexact; } Counts;

ALWAYS void count(Counts *c, BinaryCounts *to)
{
    for (int i = 0; i < LANES; i++) {
        to->overflow -= (uint64_t)c->overflow[i];
        to->underflow -= (uint64_t)c->underflow[i];
        to->inexact -= (uint64_t)c->inexact[i];
    }
}

/* The random numbers of binary_random, 52 bits of each as a double below 2^52; *fine if the
 * other 12 matter: they never do where the distance has at most 52 bits. */
ALWAYS Vec random52(const BinaryPlan *k, int64_t i)
{
    Uint z;
    for (int j = 0; j < LANES; j++)
        z[j] = k->random + (k->draw + (uint64_t)(i + j) * k->step + 1) * 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    z = (z ^ z >> 31) >> 12;
    return (Vec)(z | 0x4330000000000000u) - 0x1p52;
}

/* Is the size rounded away from its whole part t, d above it? */
ALWAYS Int goes_up(RoundMode mode, const BinaryPlan *k, Vec x, Vec t, Vec d, Vec magic, Vec ulp,
                   int64_t i, Int *slow)
{
    Int rest = d > 0;
    switch (mode) {
    case ROUND_AWAY: return rest & (d + d >= ulp);
    case ROUND_UP: return rest & ((Int)(Uint)((Uint)x >> 63) - 1);
    case ROUND_DOWN: return rest & -(Int)(Uint)((Uint)x >> 63);
    case ROUND_ODD: return rest & (((Int)(t + magic) & 1) - 1);
    case ROUND_STOCHASTIC: {
        Vec scaled = d / ulp * 0x1p52;
        *slow |= ((scaled + 0x1p52) - 0x1p52 != scaled) | (rest & (scaled == 0));
        return random52(k, i) < scaled;
    }
    default: return splat_bits(0);
    }
}

/* x, that is exact or to odd, rounded; `more`: it is inexact already. `rare`: overflow is left
 * to others, too. */
ALWAYS Vec rounded(RoundMode mode, bool rare, bool flush, const BinaryPlan *k, Vec x, Int more,
                   int64_t i, Int *slow, Counts *c)
{
    Vec size = magnitude(x), grid = larger((Vec)((Int)x & EXPONENT), splat(k->least));
    Vec magic = grid * k->magic, r = (size + magic) - magic;
    bool directed = mode == ROUND_UP || mode == ROUND_DOWN;
    *slow |= ~(size < k->high);
    if (mode != ROUND_NEAREST) {
        Vec ulp = grid * k->unit, t = r - mask(r > size, ulp);
        r = t + mask(goes_up(mode, k, x, t, size - t, magic, ulp, i, slow), ulp);
    }
    if (mode == ROUND_STOCHASTIC)
        *slow |= (size >= k->tiny[0]) & (size < k->least);
    Int big = r > k->max;
    if (rare)
        *slow |= big;
    Int fits = ~*slow;
    Int minus = directed ? (Int)x < 0 : splat_bits(0);
    Vec over = directed ? blend(minus, splat(k->over[1]), splat(k->over[0])) : splat(k->over[0]);
    Vec tiny = directed ? blend(minus, splat(k->tiny[1]), splat(k->tiny[0])) : splat(k->tiny[0]);
    if (!rare)
        r = blend(big, over, r);
    if (flush)
        r = mask(~(r < k->floor), r);
    Int inexact = ((r != size) | more) & fits;
    c->inexact += inexact;
    if (!rare)
        c->overflow += big & fits;
    c->underflow += inexact & (size < tiny);
    return (Vec)((Int)r | ((Int)x & SIGN));
}

/* ---- 53 bits ---- */
/* Beyond the largest number, nan, or in need of more care at the other end. */
ALWAYS Int leaves(const BinaryPlan *k, Vec r)
{
    Vec size = magnitude(r);
    return ~(size <= k->max) | ((size < k->floor) & (r != 0));
}

/* The double next to h in the mode's direction where h, to nearest, went the other way. */
ALWAYS Vec native_rounded(RoundMode mode, const BinaryPlan *k, Vec h, Vec e, Int *slow, Counts *c)
{
    Int inexact = (e > 0) | (e < 0), step = splat_bits(0);
    Int outward = (Int)(((Uint)h ^ (Uint)e) >> 63) - 1;
    switch (mode) {
    case ROUND_ZERO: step = inexact & ~outward; break;                  /* -1: inward */
    case ROUND_UP: step = (e > 0) & (1 - 2 * (Int)((Uint)h >> 63)); break;
    case ROUND_DOWN: step = (e < 0) & (2 * (Int)((Uint)h >> 63) - 1); break;
    case ROUND_AWAY: {
        Vec half = (Vec)((Int)h & EXPONENT) * 0x1p-53;
        step = inexact & outward & (magnitude(e) == half) & 1;
        break;
    }
    case ROUND_ODD: step = (Int)to_odd(h, e) - (Int)h; break;
    default: *slow |= inexact;
    }
    Vec r = (Vec)((Int)h + step);
    *slow |= leaves(k, h) | leaves(k, r);
    c->inexact += inexact & ~*slow;
    return r;
}

/* ---- loops ---- */
ALWAYS bool nearest_loop(BinaryOp op, BinaryWay way, const BinaryPlan *k, double *out,
                         const double *x, const double *y, const double *z, int64_t *slow,
                         BinaryCounts *counts, int64_t n)
{
    bool found = false, flush = k->floor != 0;
    Counts c = { 0 };
    for (int64_t i = 0; i < n; i += LANES) {
        Int bad = { 0 };
        Vec b = op == BIN_SQRT ? splat(0) : load(y + i), r;
        Vec d = op == BIN_FMA ? load(z + i) : splat(0);
        Sum s = parts(op, way, k, load(x + i), b, d, &bad);
        Int more = way == WAY_EXACT || way == WAY_ODD ? splat_bits(0) : (s.e > 0) | (s.e < 0);
        if (way == WAY_NATIVE) {
            r = s.h;
            bad |= flush ? leaves(k, r) : ~(magnitude(r) <= k->max);
            c.inexact += more & ~bad;
        } else {
            if (way == WAY_ODD || op == BIN_FMA)
                s.h = to_odd(s.h, s.e);
            r = rounded(ROUND_NEAREST, true, flush, k, s.h, more, i, &bad, &c);
        }
        store(out + i, r);
        mark(bad, slow, i, n, &found);
    }
    count(&c, counts);
    return found;
}

ALWAYS void exact_loop(BinaryOp op, BinaryWay way, const BinaryPlan *k, double *out,
                       const double *x, const double *y, const double *z, int64_t *slow, int64_t n)
{
    for (int64_t i = 0; i < n; i += LANES) {
        Int bad = { 0 };
        Vec b = op == BIN_SQRT ? splat(0) : load(y + i), d = op == BIN_FMA ? load(z + i) : splat(0);
        Sum s = parts(op, way, k, load(x + i), b, d, &bad);
        bad |= ((s.e > 0) | (s.e < 0)) & k->whole;
        store(out + i, way == WAY_EXACT && op != BIN_FMA ? s.h : to_odd(s.h, s.e));
        memcpy(slow + i, &bad, sizeof bad);
    }
}

ALWAYS bool round_loop(RoundMode mode, bool first, const BinaryPlan *k, double *out,
                       const double *x, int64_t *slow, BinaryCounts *counts, int64_t n)
{
    bool found = !first, flush = k->floor != 0;
    Int all = { 0 };
    Counts c = { 0 };
    for (int64_t i = 0; i < n; i += LANES) {
        Int bad = { 0 };
        if (!first)
            memcpy(&bad, slow + i, sizeof bad);
        store(out + i, rounded(mode, false, flush, k, load(x + i), splat_bits(0), i, &bad, &c));
        mark(bad, slow, i, n, &found);
        all |= bad;
    }
    count(&c, counts);
    return any(all);
}

ALWAYS void parts_loop(BinaryOp op, const BinaryPlan *k, double *out, double *missing,
                       const double *x, const double *y, const double *z, int64_t *slow, int64_t n)
{
    for (int64_t i = 0; i < n; i += LANES) {
        Int bad = { 0 };
        Vec b = op == BIN_SQRT ? splat(0) : load(y + i), d = op == BIN_FMA ? load(z + i) : splat(0);
        Sum s = parts(op, WAY_NATIVE, k, load(x + i), b, d, &bad);
        /* Quotients and roots are no ties, but their residuals could look like one: the sign
         * is enough. */
        if (op == BIN_DIVIDE || op == BIN_SQRT)
            s.e = (Vec)(((Int)s.e & SIGN) | (((s.e > 0) | (s.e < 0)) & 1));
        store(out + i, s.h);
        store(missing + i, s.e);
        memcpy(slow + i, &bad, sizeof bad);
    }
}

ALWAYS bool native_loop(RoundMode mode, const BinaryPlan *k, double *out, const double *missing,
                        int64_t *slow, BinaryCounts *counts, int64_t n)
{
    Int all = { 0 };
    Counts c = { 0 };
    for (int64_t i = 0; i < n; i += LANES) {
        Int bad;
        memcpy(&bad, slow + i, sizeof bad);
        store(out + i, native_rounded(mode, k, load(out + i), load(missing + i), &bad, &c));
        memcpy(slow + i, &bad, sizeof bad);
        all |= bad;
    }
    count(&c, counts);
    return any(all);
}

ALWAYS bool axpy_loop(BinaryWay product, BinaryWay sum, const BinaryPlan *k, double *out,
                      const double *y, double factor, const double *x, int64_t *slow,
                      BinaryCounts *counts, int64_t n)
{
    bool found = false, flush = k->floor != 0;
    Counts c = { 0 };
    Vec a = splat(factor);
    for (int64_t i = 0; i < n; i += LANES) {
        Int bad = { 0 };
        Counts one = { 0 };
        Sum p = multiply_parts(product, a, load(x + i), &bad);
        Vec h = product == WAY_ODD ? to_odd(p.h, p.e) : p.h;
        h = rounded(ROUND_NEAREST, true, flush, k, h, splat_bits(0), i, &bad, &one);
        Sum s = sum == WAY_EXACT ? (Sum){ load(y + i) + h, splat(0) } : two_sum(load(y + i), h);
        Int more = sum == WAY_NEAR ? (s.e > 0) | (s.e < 0) : splat_bits(0);
        h = sum == WAY_ODD ? to_odd(s.h, s.e) : s.h;
        h = rounded(ROUND_NEAREST, true, flush, k, h, more, i, &bad, &one);
        c.inexact += one.inexact & ~bad;
        c.underflow += one.underflow & ~bad;
        store(out + i, h);
        mark(bad, slow, i, n, &found);
    }
    count(&c, counts);
    return found;
}

/* ---- matrix products ---- */
#define T double
#define TILE_INT int64_t
#define TILE_UINT uint64_t
#define TILE_EXPONENT EXPONENT
#define TILE_MAX512(a, b) (TileVec_double)_mm512_max_pd((__m512d)(a), (__m512d)(b))
#define TILE_MAX256(a, b) (TileVec_double)_mm256_max_pd((__m256d)(a), (__m256d)(b))
#define TILE_FUSED(a, b, c) (TileVec_double)fused((Vec)(a), (Vec)(b), (Vec)(c))
#include "kernels/arith/arith_binary_tile.tmpl.h"
#undef T
#undef TILE_FUSED
#undef TILE_INT
#undef TILE_UINT
#undef TILE_EXPONENT
#undef TILE_MAX512
#undef TILE_MAX256
#define T float
#define TILE_INT int32_t
#define TILE_UINT uint32_t
#define TILE_EXPONENT 0x7f800000
#define TILE_MAX512(a, b) (TileVec_float)_mm512_max_ps((__m512)(a), (__m512)(b))
#define TILE_MAX256(a, b) (TileVec_float)_mm256_max_ps((__m256)(a), (__m256)(b))
#if defined(__AVX512F__)
#define TILE_FUSED(a, b, c) (TileVec_float)_mm512_fmadd_ps((__m512)(a), (__m512)(b), (__m512)(c))
#elif defined(__AVX2__)
#define TILE_FUSED(a, b, c) (TileVec_float)_mm256_fmadd_ps((__m256)(a), (__m256)(b), (__m256)(c))
#else
#define TILE_FUSED(a, b, c) (c)          /* never used */
#endif
#include "kernels/arith/arith_binary_tile.tmpl.h"
#undef T

/* ---- the table ---- */
#define NEAREST(OP, WAY) \
    static bool nearest_##OP##_##WAY(const BinaryPlan *k, double *out, const double *x, \
                                     const double *y, const double *z, int64_t *slow, \
                                     BinaryCounts *c, int64_t n) \
    { \
        return nearest_loop(BIN_##OP, WAY_##WAY, k, out, x, y, z, slow, c, n); \
    }
#define EXACT(OP, WAY) \
    static void exact_##OP##_##WAY(const BinaryPlan *k, double *out, const double *x, \
                                   const double *y, const double *z, int64_t *slow, int64_t n) \
    { \
        exact_loop(BIN_##OP, WAY_##WAY, k, out, x, y, z, slow, n); \
    }
#define ROUND(MODE) \
    static bool round_##MODE(const BinaryPlan *k, double *out, const double *x, int64_t *slow, \
                             BinaryCounts *c, int64_t n) \
    { \
        return round_loop(ROUND_##MODE, false, k, out, x, slow, c, n); \
    } \
    static bool load_##MODE(const BinaryPlan *k, double *out, const double *x, int64_t *slow, \
                            BinaryCounts *c, int64_t n) \
    { \
        return round_loop(ROUND_##MODE, true, k, out, x, slow, c, n); \
    }
#define PARTS(OP) \
    static void parts_##OP(const BinaryPlan *k, double *out, double *missing, const double *x, \
                           const double *y, const double *z, int64_t *slow, int64_t n) \
    { \
        parts_loop(BIN_##OP, k, out, missing, x, y, z, slow, n); \
    }
#define NATIVE(MODE) \
    static bool native_##MODE(const BinaryPlan *k, double *out, const double *missing, \
                              int64_t *slow, BinaryCounts *c, int64_t n) \
    { \
        return native_loop(ROUND_##MODE, k, out, missing, slow, c, n); \
    }
#define AXPY(PRODUCT, SUM) \
    static bool axpy_##PRODUCT##_##SUM(const BinaryPlan *k, double *out, const double *y, \
                                       double factor, const double *x, int64_t *slow, \
                                       BinaryCounts *c, int64_t n) \
    { \
        return axpy_loop(WAY_##PRODUCT, WAY_##SUM, k, out, y, factor, x, slow, c, n); \
    }
#define EACH_NEAREST(_) \
    _(ADD, EXACT) _(ADD, NEAR) _(ADD, ODD) _(ADD, NATIVE) \
    _(MULTIPLY, EXACT) _(MULTIPLY, ODD) _(MULTIPLY, NATIVE) \
    _(DIVIDE, NEAR) _(DIVIDE, ODD) _(DIVIDE, NATIVE) \
    _(SQRT, NEAR) _(SQRT, ODD) _(SQRT, NATIVE) _(FMA, EXACT) _(FMA, ODD) _(FMA, NATIVE)
#define EACH_EXACT(_) \
    _(ADD, EXACT) _(ADD, ODD) _(MULTIPLY, EXACT) _(MULTIPLY, ODD) _(DIVIDE, ODD) _(SQRT, ODD) \
    _(FMA, EXACT) _(FMA, ODD)
#define EACH_ROUND(_) _(NEAREST) _(AWAY) _(ZERO) _(UP) _(DOWN) _(ODD) _(STOCHASTIC)
#define EACH_PARTS(_) _(ADD) _(MULTIPLY) _(DIVIDE) _(SQRT) _(FMA)
#define EACH_NATIVE(_) _(AWAY) _(ZERO) _(UP) _(DOWN) _(ODD) _(STOCHASTIC)
#define EACH_AXPY(_) \
    _(EXACT, EXACT) _(EXACT, NEAR) _(EXACT, ODD) _(ODD, EXACT) _(ODD, NEAR) _(ODD, ODD)

EACH_NEAREST(NEAREST)
EACH_EXACT(EXACT)
EACH_ROUND(ROUND)
EACH_PARTS(PARTS)
EACH_NATIVE(NATIVE)
EACH_AXPY(AXPY)

const BinaryKernels BINARY_TABLE = {
#define ROW(OP, WAY) [BIN_##OP][WAY_##WAY] = nearest_##OP##_##WAY,
    .nearest = { EACH_NEAREST(ROW) },
#undef ROW
#define ROW(OP, WAY) [BIN_##OP][WAY_##WAY] = exact_##OP##_##WAY,
    .exact = { EACH_EXACT(ROW) },
#undef ROW
#define ROW(MODE) [ROUND_##MODE] = round_##MODE,
    .round = { EACH_ROUND(ROW) },
#undef ROW
#define ROW(MODE) [ROUND_##MODE] = load_##MODE,
    .load = { EACH_ROUND(ROW) },
#undef ROW
#define ROW(OP) [BIN_##OP] = parts_##OP,
    .parts = { EACH_PARTS(ROW) },
#undef ROW
#define ROW(MODE) [ROUND_##MODE] = native_##MODE,
    .native = { EACH_NATIVE(ROW) },
#undef ROW
#define ROW(PRODUCT, SUM) [WAY_##PRODUCT][WAY_##SUM] = axpy_##PRODUCT##_##SUM,
    .axpy = { EACH_AXPY(ROW) },
#undef ROW
#define ROW(T) tile_near_##T, tile_fades_##T, tile_watch_##T, tile_exact_##T, tile_exact_watch_##T
    .tile = { { ROW(double), HAS_FMA ? tile_native_double : NULL },
              { ROW(float), HAS_FMA ? tile_native_float : NULL } },
#undef ROW
};
