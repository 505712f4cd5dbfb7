/* Vectors of doubles and pairs of them: what ew_vector.tmpl.h and ew_composed.tmpl.h are written
 * in. Whoever includes this gives VD, VI and VU (its integers), VS (as many floats), D_LANES,
 * D_SET1, D_SQRT, D_MAX, D_MIN (where one is NaN, the second), D_ANY (whether a mask has a lane),
 * and D_FMA where the instruction set has a fused product. A pair h + l stands for a number of some
 * 100 bits: l is what the last rounding of h lost, and as a rule below ulp(h). Without D_FMA
 * products are taken apart into halves of 26 and 27 bits, so that no rounding is lost there
 * either. */
#include <math.h>
#include <stdint.h>
#include <string.h>

#define K(c) D_SET1(c)
#define INLINE static inline __attribute__((always_inline, unused))

typedef struct Pair { VD h, l; } Pair;

INLINE VD choose(VI mask, VD yes, VD no) {
    return (VD)((mask & (VI)yes) | (~mask & (VI)no));
}

INLINE VD magnitude(VD x) { return (VD)((VI)x & ~(VI)K(-0.0)); }
INLINE VD with_sign(VD size, VD of) { return (VD)((VI)size | ((VI)of & (VI)K(-0.0))); }
INLINE VD power_of_two(VI n) { return (VD)(((VU)n + 1023) << 52); }

/* a * b + c, rounded once or twice: for coefficients, where it does not matter. */
#ifdef D_FMA
#define MULADD(a, b, c) D_FMA(a, b, c)
#else
#define MULADD(a, b, c) ((a) * (b) + (c))
#endif

/* Its upper 26 bits: their square is exact. */
INLINE VD upper_half(VD x) { return (VD)((VU)x & (VU)((VI){ 0 } - ((int64_t)1 << 27))); }

INLINE Pair product(VD a, VD b) {
    VD p = a * b;
#ifdef D_FMA
    return (Pair){ p, D_FMA(a, b, -p) };
#else
    VD ah = upper_half(a), al = a - ah, bh = upper_half(b), bl = b - bh;
    return (Pair){ p, ((ah * bh - p) + ah * bl + al * bh) + al * bl };
#endif
}

/* Of |a| >= |b| (or a = 0), and of any two. */
INLINE Pair sum_ordered(VD a, VD b) {
    VD s = a + b;
    return (Pair){ s, b - (s - a) };
}

INLINE Pair sum_any(VD a, VD b) {
    VD s = a + b, back = s - a;
    return (Pair){ s, (a - (s - back)) + (b - back) };
}

INLINE Pair pair_times(Pair x, VD y) {
    Pair p = product(x.h, y);
    p.l = MULADD(x.l, y, p.l);
    return p;
}

INLINE Pair pair_product(Pair x, Pair y) {
    Pair p = product(x.h, y.h);
    p.l = MULADD(x.l, y.h, MULADD(x.h, y.l, p.l));
    return p;
}

/* The remainder of the quotient is exact but for its own last bits. */
INLINE Pair pair_quotient(Pair n, Pair d) {
    VD q = n.h / d.h;
    Pair p = product(q, d.h);
    VD rest = ((n.h - p.h) - p.l) + MULADD(-q, d.l, n.l);
    return (Pair){ q, rest / d.h };
}

/* 1 / d; d is not 0. */
INLINE Pair pair_inverse(Pair d) {
    VD q = 1 / d.h;
    Pair p = product(q, d.h);
    return (Pair){ q, q * (((1 - p.h) - p.l) - q * d.l) };
}

INLINE Pair pair_root(Pair x) {
    VD r = D_SQRT(x.h);
    Pair p = product(r, r);
    VD rest = ((x.h - p.h) - p.l) + x.l;
    return (Pair){ r, choose(x.h > 0, rest / (r + r), K(0)) };
}

/* h + l, rounded once, times 2^k: in two steps, for results that are subnormal or infinite. */
INLINE VD pair_scaled(Pair x, VI k) {
    VI half = (VI)(((VU)k + 4096) >> 1) - 2048;
    return (x.h + x.l) * power_of_two(half) * power_of_two((VI)((VU)k - (VU)half));
}
