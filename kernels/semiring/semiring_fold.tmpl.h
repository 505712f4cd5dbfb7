/* The plain loops of one pair of operations: T, COMBINE(a, b), REDUCE(x, v) of what was found
 * so far and the next, IDENTITY, and FN for names. Included by semiring_plain*. */
static T FN(fold)(T x, int64_t n, const T *a, int64_t sa, const T *b, int64_t sb)
{
    for (int64_t q = 0; q < n; q++) {
        T v = COMBINE(a[q * sa], b[q * sb]);
        x = REDUCE(x, v);
    }
    return x;
}

static void FN(gemm)(int64_t m, int64_t n, int64_t k, Mat a, Mat b, Mat c, bool accumulate)
{
    const T *pa = (const T *)(const void *)a.data, *pb = (const T *)(const void *)b.data;
    T *pc = (T *)(void *)c.data;
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = 0; j < n; j++) {
            T *to = pc + i * c.rs + j * c.cs;
            *to = FN(fold)(accumulate ? *to : (T)IDENTITY, k, pa + i * a.rs, a.cs,
                           pb + j * b.cs, b.rs);
        }
}

static void FN(direct)(const Direct *d, void *c, const void *a, const void *b, bool accumulate)
{
    T *to = c;
    for (int64_t j = 0; j < d->n; j++) {
        const T *pa = (const T *)a + j * d->vector[0], *pb = (const T *)b + j * d->vector[1];
        T x = accumulate ? to[j] : (T)IDENTITY;
        for (int64_t t = 0; t < d->taps; t++) {
            int64_t at = d->offset[0] ? d->offset[0][t] : 0;
            int64_t bt = d->offset[1] ? d->offset[1][t] : 0;
            T v = COMBINE(pa[at], pb[bt]);
            x = REDUCE(x, v);
        }
        to[j] = x;
    }
}

#undef SEMIRING
#undef COMBINE
#undef REDUCE
#undef IDENTITY
