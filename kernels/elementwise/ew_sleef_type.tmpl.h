/* SLEEF kernels of one type: T, its vector V of LANES, LOAD STORE SET1, OUTSIDE(v, lo, hi)
 * as a bit mask of lanes, TINY(v, least, r) (v in the lanes where |v| < least, r in
 * the others), N(f). */

/* Resolves a function once; threads that race find the same address. */
static void *N(find)(_Atomic(void *) *slot, const char *pattern) {
    void *address = atomic_load_explicit(slot, memory_order_relaxed);
    if (!address) {
        address = ew_sleef_find(pattern, LETTER TEXT(LANES), TEXT(ISA));
        atomic_store_explicit(slot, address, memory_order_relaxed);
    }
    return address;
}

typedef V (*N(Fn1))(V);
typedef V (*N(Fn2))(V, V);

/* The reference formula for the lanes in mask. */
static __attribute__((noinline)) V N(patch)(EwOp op, unsigned mask, V x, V y, V result) {
    T a[LANES], b[LANES], r[LANES];
    const int64_t strides[] = { 1, 1 };
    STORE(a, x);
    STORE(b, y);
    STORE(r, result);
    for (int k = 0; k < LANES; k++) {
        const void *in[] = { a + k, b + k };
        if (mask >> k & 1) ew_table_reference[op][DT](r + k, 1, in, strides, 1);
    }
    return LOAD(r);
}

static inline __attribute__((always_inline))
V N(one)(EwOp op, V x, N(Fn1) f, T lo, T hi, T tiny) {
    V y = f(x);
    if (tiny > 0) y = TINY(x, tiny, y);
    if (lo > -(T)INFINITY || hi < (T)INFINITY) {
        unsigned mask = OUTSIDE(x, lo, hi);
        if (__builtin_expect(mask, 0)) y = N(patch)(op, mask, x, x, y);
    }
    return y;
}

static inline __attribute__((always_inline))
void N(map1)(T *o, int64_t so, const T *x, int64_t sx, int64_t n, EwOp op, N(Fn1) f, T lo, T hi,
             T tiny) {
    T a[LANES], r[LANES];
    int64_t i = 0;
    if (so == 1 && sx == 1)
        for (; i + LANES <= n; i += LANES) STORE(o + i, N(one)(op, LOAD(x + i), f, lo, hi, tiny));
    for (; i < n; i += LANES) {
        int64_t count = n - i < LANES ? n - i : LANES;
        for (int64_t k = 0; k < LANES; k++) a[k] = x[(i + (k < count ? k : 0)) * sx];
        STORE(r, N(one)(op, LOAD(a), f, lo, hi, tiny));
        for (int64_t k = 0; k < count; k++) o[(i + k) * so] = r[k];
    }
}

/* SLEEF's powers are infinite some ulps too early. */
static inline __attribute__((always_inline))
V N(two)(EwOp op, V x, V y, N(Fn2) f) {
    V r = f(x, y);
    if (op == EW_POWER) {
        unsigned mask = OUTSIDE(r, -MOST, MOST);
        if (__builtin_expect(mask, 0)) r = N(patch)(op, mask, x, y, r);
    }
    return r;
}

static inline __attribute__((always_inline))
void N(map2)(T *o, int64_t so, const T *x, int64_t sx, const T *y, int64_t sy, int64_t n, EwOp op,
             N(Fn2) f) {
    T a[LANES], b[LANES], r[LANES];
    int64_t i = 0;
    if (so == 1 && (sx | sy) == 1 && sx >= 0 && sy >= 0)
        for (; i + LANES <= n; i += LANES)
            STORE(o + i, N(two)(op, sx ? LOAD(x + i) : SET1(*x), sy ? LOAD(y + i) : SET1(*y), f));
    for (; i < n; i += LANES) {
        int64_t count = n - i < LANES ? n - i : LANES;
        for (int64_t k = 0; k < LANES; k++) {
            a[k] = x[(i + (k < count ? k : 0)) * sx];
            b[k] = y[(i + (k < count ? k : 0)) * sy];
        }
        STORE(r, N(two)(op, LOAD(a), LOAD(b), f));
        for (int64_t k = 0; k < count; k++) o[(i + k) * so] = r[k];
    }
}

#define CALL1(id, pattern, lo, hi, tiny) \
    static __attribute__((unused)) void N(sleef_##id)(KERNEL_ARGS) { \
        static _Atomic(void *) slot; \
        N(map1)(out, so, in[0], si[0], n, EW_##id, (N(Fn1))N(find)(&slot, pattern), lo, hi, tiny); \
    }
#define CALL(...) CALL1(__VA_ARGS__)
#define SLEEF1(id, pattern, ...) CALL(id, pattern, RANGE(__VA_ARGS__))
#define SLEEF1_F32(id, pattern, ...) ONLY_F32(CALL1(id, pattern, __VA_ARGS__))
#define SLEEF1_WIDE(id, pattern) CALL1(id, pattern, -INFINITY, INFINITY, 0)
#define SLEEF2(id, pattern) \
    static __attribute__((unused)) void N(sleef_##id)(KERNEL_ARGS) { \
        static _Atomic(void *) slot; \
        N(map2)(out, so, in[0], si[0], in[1], si[1], n, EW_##id, \
                (N(Fn2))N(find)(&slot, pattern)); \
    }
#define SLEEF_POWER SLEEF2
#include "kernels/elementwise/ew_sleef.def"
#undef SLEEF_POWER
#undef CALL
#undef CALL1
#undef SLEEF1
#undef SLEEF1_F32
#undef SLEEF2
#undef SLEEF1_WIDE
#undef T
#undef V
#undef LANES
#undef LETTER
#undef DT
#undef LOAD
#undef STORE
#undef SET1
#undef OUTSIDE
#undef TINY
#undef MOST
#undef ONLY_F32
#undef N
#undef RANGE
