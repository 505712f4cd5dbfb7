/* A column less what the steps that are held make of it: in one real type T, in vectors V of
 * LANES; and the sum of those. */

/* to = a - left r, m rows of one column. */
static void FN(less)(int64_t m, int64_t terms, const T *left, int64_t ld, const T *r, const T *a,
                     T *to)
{
    int64_t i = 0;
    for (; i + LANES <= m; i += LANES) {
        V z = FN(load)(a + i);
        for (int64_t p = 0; p < terms; p++)
            z = FMA(FN(load)(left + p * ld + i), FN(all)(-r[p]), z);
        FN(store)(to + i, z);
    }
    for (; i < m; i++) {
        T z = a[i];
        for (int64_t p = 0; p < terms; p++)
            z = FMA_ONE(left[p * ld + i], -r[p], z);
        to[i] = z;
    }
}

static T FN(sum)(V s)
{
    T sum = 0;
    for (int l = 0; l < LANES; l++)
        sum += s[l];
    return sum;
}
