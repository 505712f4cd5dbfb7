/* One conversion FROM -> TO: the value, the loop. Included by cast_from.tmpl.h with TO,
 * TO_KIND and, for integers, TO_MIN and TO_MAX; without TO for a half (each_half.h). */
#ifndef TO
#define TO HALF_ID
#define TO_KIND KIND_HALF
#endif
#define PASTE3(a, b, c) a##b##_##c
#define NAME3(a, b, c) PASTE3(a, b, c)
#define STORE2(id) Store_##id
#define STORE(id) STORE2(id)

static inline __attribute__((always_inline))
STORE(TO) NAME3(value_, FROM, TO)(STORE(FROM) raw, bool *fits) {
#if FROM_KIND == KIND_HALF
    float v = FROM_LOAD(raw);
#elif FROM_KIND == KIND_COMPLEX && TO_KIND != KIND_COMPLEX && TO_KIND != KIND_BOOL
    double v = creal(raw);
    *fits &= cimag(raw) == 0;
#else
    STORE(FROM) v = raw;
#endif

#if TO_KIND == KIND_BOOL
    (void)fits;
    return v != 0;
#elif TO_KIND == KIND_INT && FROM_KIND == KIND_INT
    *fits &= (int64_t)(STORE(TO))v == (int64_t)v;
    return (STORE(TO))v;
#elif TO_KIND == KIND_INT       /* the bounds are exact in double; nan is not between them */
    bool in = sizeof(STORE(TO)) == 8 ? v >= -0x1p63 && v < 0x1p63
                                     : v > (double)TO_MIN - 1 && v < (double)TO_MAX + 1;
    *fits &= in;
    return in ? (STORE(TO))v : 0;
#elif TO_KIND == KIND_HALF && FROM_KIND == KIND_INT
    (void)fits;
    return HALF_ROUND(sizeof v == 8 ? i64_to_f64_odd((int64_t)v) : (double)v);
#elif TO_KIND == KIND_HALF
    (void)fits;
    return sizeof v == 4 ? HALF_STORE((float)v) : HALF_ROUND((double)v);
#else
    (void)fits;
    return (STORE(TO))v;
#endif
}

static int64_t NAME3(cast_, FROM, TO)(void *dst, int64_t sd, const void *src, int64_t ss,
                                      int64_t n) {
    STORE(TO) *d = dst;
    const STORE(FROM) *s = src;
    for (int64_t from = 0; from < n; from += CAST_STRIP) {
        int64_t to = n - from < CAST_STRIP ? n : from + CAST_STRIP;
        bool fits = true;
        if (sd == 1 && ss == 1)
            for (int64_t i = from; i < to; i++) d[i] = NAME3(value_, FROM, TO)(s[i], &fits);
        else
            for (int64_t i = from; i < to; i++)
                d[i * sd] = NAME3(value_, FROM, TO)(s[i * ss], &fits);
        for (int64_t i = from; !fits && i < to; i++) {
            bool one = true;
            NAME3(value_, FROM, TO)(s[i * ss], &one);
            if (!one) return i;
        }
    }
    return -1;
}

#undef PASTE3
#undef NAME3
#undef STORE2
#undef STORE
#undef TO
#undef TO_KIND
#undef TO_MIN
#undef TO_MAX
