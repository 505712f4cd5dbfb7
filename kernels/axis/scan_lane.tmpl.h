/* One lane of a running sum and product. Included by scan.c with T, R (result storage), C
 * (accumulator), LOAD(v), STORE(v), NAME(f), ADD(a, b, bad) and MUL(a, b, bad). */

static bool NAME(sum)(void *dst, int64_t sd, const void *src, int64_t ss, int64_t n)
{
    R *d = dst;
    const T *s = src;
    C acc = 0;
    bool bad = false;
    for (int64_t i = 0; i < n; i++) {
        acc = i == 0 ? (C)LOAD(s[0]) : ADD(acc, (C)LOAD(s[i * ss]), bad);
        d[i * sd] = STORE(acc);
    }
    return !bad;
}

static bool NAME(product)(void *dst, int64_t sd, const void *src, int64_t ss, int64_t n)
{
    R *d = dst;
    const T *s = src;
    C acc = 1;
    bool bad = false;
    for (int64_t i = 0; i < n; i++) {
        acc = MUL(acc, (C)LOAD(s[i * ss]), bad);
        d[i * sd] = STORE(acc);
    }
    return !bad;
}
#undef T
#undef R
#undef C
#undef LOAD
#undef STORE
#undef NAME
#undef ADD
#undef MUL
