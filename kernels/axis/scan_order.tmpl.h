/* One lane of a running extreme. Included before scan_lane.tmpl.h by those that have an order, with
 * T, C (in which elements are compared), LOAD(v) and NAME(f). */
#define EXTREME(f, KEEPS)                                                                      \
    static bool NAME(f)(void *dst, int64_t sd, const void *src, int64_t ss, int64_t n)         \
    {                                                                                          \
        T *d = dst;                                                                            \
        const T *s = src;                                                                      \
        T kept = s[0];                                                                         \
        C best = LOAD(kept);                                                                   \
        for (int64_t i = 0; i < n; i++) {                                                      \
            C v = LOAD(s[i * ss]);                                                             \
            if (!(best KEEPS v || best != best)) {       /* a nan v too */                     \
                best = v;                                                                      \
                kept = s[i * ss];                                                              \
            }                                                                                  \
            d[i * sd] = kept;                                                                  \
        }                                                                                      \
        return true;                                                                           \
    }
EXTREME(max, >=)
EXTREME(min, <=)
#undef EXTREME
