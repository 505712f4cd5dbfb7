/* The plain nest for one element type T, named by FN: a strip of the innermost axis in each
 * semiring. U is the type that products are made in (unsigned, so that integers wrap).
 * Included by contract_pair_plain.c, which sets ORDERED where T has min and max, NAN_IN(x)
 * (a NaN is the result of extremes), CONJ(x) and
 * TIMES(x, n, d) for a count, modulo 2^64 and as a double. */

static inline __attribute__((always_inline)) T FN(combine)(Semiring s, T x, T y)
{
#if ORDERED
    switch (s) {
    case SR_MIN_PLUS: case SR_MAX_PLUS: return (T)((U)x + (U)y);
    case SR_MIN_MAX: return NAN_IN(y) || y > x ? y : x;
    case SR_MAX_MIN: return NAN_IN(y) || y < x ? y : x;
    case SR_OR_AND: return (T)(x != 0 && y != 0);
    default: break;
    }
#else
    (void)s;
#endif
    return (T)((U)x * (U)y);
}

static inline __attribute__((always_inline)) T FN(reduce)(Semiring s, T sum, T x)
{
#if ORDERED
    switch (s) {
    case SR_MIN_PLUS: case SR_MIN_TIMES: case SR_MIN_MAX: return NAN_IN(x) || x < sum ? x : sum;
    case SR_MAX_PLUS: case SR_MAX_TIMES: case SR_MAX_MIN: return NAN_IN(x) || x > sum ? x : sum;
    case SR_OR_AND: return (T)(sum != 0 || x != 0);
    default: break;
    }
#else
    (void)s;
#endif
    return (T)((U)sum + (U)x);
}

/* c = reduce over the strip into c; a strip of the result where c moves. */
static inline __attribute__((always_inline)) void FN(strip_as)(Semiring s, const PairAxis *x,
                                                               T *c, const T *a, const T *b)
{
    int64_t n = x->extent, sc = x->step[PAIR_C], sa = x->step[PAIR_A], sb = x->step[PAIR_B];
    if (sc == 0) {
        T sum = *c;
        for (int64_t i = 0; i < n; i++)
            sum = FN(reduce)(s, sum, b ? FN(combine)(s, a[i * sa], b[i * sb]) : a[i * sa]);
        *c = sum;
        return;
    }
    for (int64_t i = 0; i < n; i++)
        c[i * sc] = FN(reduce)(s, c[i * sc], b ? FN(combine)(s, a[i * sa], b[i * sb]) : a[i * sa]);
}

#if !ORDERED
static void FN(strip_conj)(const PairNest *nest, const PairAxis *x, T *c, const T *a, const T *b)
{
    for (int64_t i = 0; i < x->extent; i++) {
        T p = a[i * x->step[PAIR_A]], q = b ? b[i * x->step[PAIR_B]] : 1;
        T *cell = c + i * x->step[PAIR_C];
        p = nest->conj[PAIR_A] ? CONJ(p) : p;
        q = nest->conj[PAIR_B] ? CONJ(q) : q;
        *cell += b ? p * q : p;
    }
}
#endif

static void FN(strip)(const PairNest *nest, const PairAxis *x, void *vc, const void *va,
                      const void *vb)
{
    T *c = vc;
    const T *a = va, *b = vb;
#if ORDERED
    switch (nest->semiring) {
    case SR_MIN_PLUS: FN(strip_as)(SR_MIN_PLUS, x, c, a, b); return;
    case SR_MAX_PLUS: FN(strip_as)(SR_MAX_PLUS, x, c, a, b); return;
    case SR_MIN_TIMES: FN(strip_as)(SR_MIN_TIMES, x, c, a, b); return;
    case SR_MAX_TIMES: FN(strip_as)(SR_MAX_TIMES, x, c, a, b); return;
    case SR_MIN_MAX: FN(strip_as)(SR_MIN_MAX, x, c, a, b); return;
    case SR_MAX_MIN: FN(strip_as)(SR_MAX_MIN, x, c, a, b); return;
    case SR_OR_AND: FN(strip_as)(SR_OR_AND, x, c, a, b); return;
    default: break;
    }
#else
    if (nest->conj[PAIR_A] || nest->conj[PAIR_B]) {
        FN(strip_conj)(nest, x, c, a, b);
        return;
    }
#endif
    FN(strip_as)(SR_PLUS_TIMES, x, c, a, b);
}

static void FN(scale)(const PairAxis *x, void *vc, int64_t factor, double times)
{
    T *c = vc;
    (void)factor, (void)times;
    for (int64_t i = 0; i < x->extent; i++)
        c[i * x->step[PAIR_C]] = TIMES(c[i * x->step[PAIR_C]], factor, times);
}
#undef T
#undef U
#undef FN
