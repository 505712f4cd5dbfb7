/* One fold of one dtype: lanes accumulate independently and are joined in a tree, so the
 * compiler may use any vector width without changing a bit. Included by reduce_ops.tmpl.h
 * with
 *   T            storage type            LOAD(v)      storage to compute type
 *   ACC          accumulator type        IDENTITY     its neutral element
 *   STEP(a, v)   a and one more element  JOIN(a, b)   two accumulators
 *   NAME(f)      the function's name     LANES        a power of two
 *   ALONE        defined where LANES is 1 */
#ifdef ALONE
#define LANES_ONCE inline
#else
#define LANES_ONCE __attribute__((noinline))
#endif

/* total[l] = fold of x[l], x[l + LANES], … for `steps` steps. Many lanes once, not at
 * each call: inlined, they took a third longer to compile and ran no faster. The lanes are
 * variables of this function so that they stay in registers. */
static LANES_ONCE void NAME(lanes)(ACC *restrict total, const T *p, int64_t stride, int64_t steps)
{
    ACC lane[LANES];
    for (int l = 0; l < LANES; l++)
        lane[l] = IDENTITY;
    if (stride == 1) {
        for (int64_t i = 0; i < steps; i++, p += LANES) {
            AHEAD(p, LANES * sizeof(T));
            for (int l = 0; l < LANES; l++)
                lane[l] = STEP(lane[l], LOAD(p[l]));
        }
    } else {
        for (int64_t i = 0; i < steps; i++)
            for (int l = 0; l < LANES; l++)
                lane[l] = STEP(lane[l], LOAD(p[(i * LANES + l) * stride]));
    }
    for (int l = 0; l < LANES; l++)
        total[l] = lane[l];
}

/* Two levels of lanes: no float is added up more than STEPS times in a row. */
static void NAME(run)(void *acc, const void *x, int64_t stride, int64_t n, const void *param)
{
    enum { STEPS = 16 };
    const T *p = x;
    ACC total[LANES], lane[LANES];
    int64_t full = n / LANES, i = 0;
    (void)param;
    if (LANES == 1 || full > 0)
        NAME(lanes)(total, p, stride, full < STEPS ? full : STEPS);
    else
        for (int l = 0; l < LANES; l++)
            total[l] = IDENTITY;
    for (i = STEPS; i < full; i += STEPS) {
        NAME(lanes)(lane, p + i * LANES * stride, stride, full - i < STEPS ? full - i : STEPS);
        for (int l = 0; l < LANES; l++)
            total[l] = JOIN(total[l], lane[l]);
    }
    i = full * LANES;
    for (int l = 0; i < n; i++, l++)
        total[l] = STEP(total[l], LOAD(p[i * stride]));
    for (int w = LANES / 2; w > 0; w /= 2)
        for (int l = 0; l < w; l++)
            total[l] = JOIN(total[l], total[l + w]);
    *(ACC *)acc = total[0];
}

/* Eight rows at a time, each column's elements in order: fewer than that wait for memory. */
static void NAME(rows)(void *acc, const void *x, int64_t rs, int64_t n, int64_t cs, int64_t m,
                       const void *param)
{
    ACC *restrict a = acc;
    const T *p = x;
    int64_t i = 0;
    (void)param;
    for (int64_t j = 0; j < m; j++)
        a[j] = IDENTITY;
    for (; cs == 1 && i + 8 <= n; i += 8, p += 8 * rs) {
        const T *q = p + rs, *r = q + rs, *s = r + rs;
        const T *p4 = s + rs, *q4 = p4 + rs, *r4 = q4 + rs, *s4 = r4 + rs;
        for (int64_t j = 0; j < m; j++) {
            ACC t = STEP(a[j], LOAD(p[j]));
            t = STEP(t, LOAD(q[j]));
            t = STEP(t, LOAD(r[j]));
            t = STEP(t, LOAD(s[j]));
            t = STEP(t, LOAD(p4[j]));
            t = STEP(t, LOAD(q4[j]));
            t = STEP(t, LOAD(r4[j]));
            a[j] = STEP(t, LOAD(s4[j]));
        }
    }
    for (; i < n; i++, p += rs)
        for (int64_t j = 0; j < m; j++)
            a[j] = STEP(a[j], LOAD(p[j * cs]));
}

static void NAME(join)(void *acc, const void *more, int64_t m, int64_t offset)
{
    ACC *a = acc;
    const ACC *b = more;
    (void)offset;
    for (int64_t j = 0; j < m; j++)
        a[j] = JOIN(a[j], b[j]);
}
#undef NAME
#undef ACC
#undef IDENTITY
#undef STEP
#undef JOIN
#undef LANES
#undef LANES_ONCE
#undef ALONE
