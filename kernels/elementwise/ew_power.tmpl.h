/* Powers whose exponent is a small constant are products, quotients and roots: at most half an ulp
 * + 2^-40 u, and x^2, 1/x and the root are rounded once. What an exponent costs does not change
 * what it gives: among exponents that differ, elements with one of these take the same formulas.
 * The kernels of all other exponents are given. Complex powers follow, and the modulus. Included by
 * ew_composed.tmpl.h. */

enum { QUICK_POWERS = 7, POWER_STRIP = 64 };
static const double quick_powers[QUICK_POWERS] = { 2, 0.5, -1, 3, 4, 1, -2 };

/* The same in long double, where pairs would overflow, or lose their second half. */
static __attribute__((noinline)) VD power_anywhere(VD x, int n) {
    double a[D_LANES];
    memcpy(a, &x, sizeof x);
    for (int k = 0; k < D_LANES; k++) {
        long double t = (long double)a[k], square = t * t;
        a[k] = (double)(n == 3 ? square * t : n == 4 ? square * square : 1 / square);
    }
    memcpy(&x, a, sizeof x);
    return x;
}

INLINE VD quick_power_of(VD x, Pair power, int n) {
    VI far = ~((magnitude(x) < 0x1p200) & (magnitude(x) > 0x1p-200));
    VD result = power.h + power.l;
    if (__builtin_expect(D_ANY(far), 0)) result = choose(far, power_anywhere(x, n), result);
    return result;
}

INLINE VD quick_cube(VD x) { return quick_power_of(x, pair_times(product(x, x), x), 3); }
INLINE VD quick_fourth(VD x) {
    Pair square = product(x, x);
    return quick_power_of(x, pair_product(square, square), 4);
}
INLINE VD quick_inverse_square(VD x) {
    return quick_power_of(x, pair_inverse(product(x, x)), -2);
}
INLINE VD quick_square(VD x) { return x * x; }
INLINE VD quick_first(VD x) { return x; }
INLINE VD quick_inverse(VD x) { return 1 / x; }
/* pow(-0, 0.5) is 0 and pow(-inf, 0.5) is inf. */
INLINE VD quick_root(VD x) { return choose(x == -INFINITY, K(INFINITY), D_SQRT(x) + 0); }

INLINE float float_square(float x) { return x * x; }
INLINE float float_inverse(float x) { return 1 / x; }
/* f32: products of floats are exact in doubles, or as good. */
INLINE VD rough_cube(VD x) { return x * x * x; }
INLINE VD rough_fourth(VD x) { return x * x * (x * x); }
INLINE VD rough_inverse_square(VD x) { return 1 / (x * x); }

#define POWER_ARGS void *out, int64_t so, const void *const *in, const int64_t *si, int64_t n
#define POWER_PASSES POWER_ARGS, int quick
static void power_F64_of(POWER_PASSES) {
    switch (quick) {
    case 0: composed_F64(out, so, in, si, n, quick_square); return;
    case 1: composed_F64(out, so, in, si, n, quick_root); return;
    case 2: composed_F64(out, so, in, si, n, quick_inverse); return;
    case 3: composed_F64(out, so, in, si, n, quick_cube); return;
    case 4: composed_F64(out, so, in, si, n, quick_fourth); return;
    case 5: composed_F64(out, so, in, si, n, quick_first); return;
    default: composed_F64(out, so, in, si, n, quick_inverse_square); return;
    }
}

#define FLOATS(formula) \
    if (so == 1 && sx == 1) \
        for (int64_t i = 0; i < n; i++) o[i] = formula(x[i]); \
    else \
        for (int64_t i = 0; i < n; i++) o[i * so] = formula(x[i * sx]);
/* Loops of floats where floats are enough: twice as many fit into a vector. */
static void power_F32_of(POWER_PASSES) {
    float *o = out;
    const float *x = in[0];
    int64_t sx = si[0];
    switch (quick) {
    case 0: FLOATS(float_square) return;
    case 1: composed_F32(out, so, in, si, n, quick_root); return;
    case 2: FLOATS(float_inverse) return;
    case 3: composed_F32(out, so, in, si, n, rough_cube); return;
    case 4: composed_F32(out, so, in, si, n, rough_fourth); return;
    case 5: FLOATS() return;
    default: composed_F32(out, so, in, si, n, rough_inverse_square); return;
    }
}
#undef FLOATS

#define POWERS(T, type) \
    static int quick_##type(T y) { \
        for (int k = 0; k < QUICK_POWERS; k++) \
            if (y == (T)quick_powers[k]) return k; \
        return -1; \
    } \
    static void power_strip_##type(POWER_ARGS, EwFn general) { \
        T kept[QUICK_POWERS][POWER_STRIP], y[POWER_STRIP]; \
        int found = 0; \
        for (int64_t i = 0; i < n; i++) y[i] = ((const T *)in[1])[i * si[1]]; \
        for (int k = 0; k < QUICK_POWERS; k++) { \
            int any = 0; \
            for (int64_t i = 0; i < n; i++) any |= y[i] == (T)quick_powers[k]; \
            if (any) power_##type##_of(kept[k], 1, in, si, n, k); \
            found |= any << k; \
        } \
        general(out, so, in, si, n); \
        for (int k = 0; k < QUICK_POWERS; k++) \
            for (int64_t i = 0; i < n && found >> k & 1; i++) \
                if (y[i] == (T)quick_powers[k]) ((T *)out)[i * so] = kept[k][i]; \
    } \
    INLINE void powers_##type(POWER_ARGS, EwFn general) { \
        if (n == 1 || si[1] == 0) { \
            int quick = quick_##type(*(const T *)in[1]); \
            if (quick >= 0) power_##type##_of(out, so, in, si, n, quick); \
            else general(out, so, in, si, n); \
            return; \
        } \
        for (int64_t from = 0; from < n; from += POWER_STRIP) { \
            const void *at[] = { (const T *)in[0] + from * si[0], \
                                 (const T *)in[1] + from * si[1] }; \
            power_strip_##type((T *)out + from * so, so, at, si, \
                               n - from < POWER_STRIP ? n - from : POWER_STRIP, general); \
        } \
    }
POWERS(double, F64)
POWERS(float, F32)
#undef POWERS

/* The C library's powers for the rest. */
static void power_library_F64(POWER_ARGS) {
    const double *x = in[0], *y = in[1];
    for (int64_t i = 0; i < n; i++) ((double *)out)[i * so] = pow(x[i * si[0]], y[i * si[1]]);
}
static void power_library_F32(POWER_ARGS) {
    const float *x = in[0], *y = in[1];
    for (int64_t i = 0; i < n; i++)
        ((float *)out)[i * so] = powf(x[i * si[0]], y[i * si[1]]);
}
static void composed_POWER_F64(POWER_ARGS) {
    powers_F64(out, so, in, si, n, power_library_F64);
}
static void composed_POWER_F32(POWER_ARGS) {
    powers_F32(out, so, in, si, n, power_library_F32);
}

/* Ints to a small constant power; U wraps. */
#ifdef D_FMA
#define WHOLE_POWER ew_table_avx2[EW_POWER]
#else
#define WHOLE_POWER ew_table_base[EW_POWER]
#endif
#define WHOLE_POWERS(T, U, type) \
    static void composed_POWER_##type(POWER_ARGS) { \
        const T *x = in[0], y = *(const T *)in[1]; \
        T *o = out; \
        bool quick = so == 1 && si[0] == 1 && si[1] == 0; \
        if (quick && y == 2) \
            for (int64_t i = 0; i < n; i++) o[i] = (T)((U)x[i] * (U)x[i]); \
        else if (quick && y == 3) \
            for (int64_t i = 0; i < n; i++) o[i] = (T)((U)x[i] * (U)x[i] * (U)x[i]); \
        else WHOLE_POWER[DT_##type](out, so, in, si, n); \
    }
WHOLE_POWERS(int8_t, uint32_t, I8)
WHOLE_POWERS(uint8_t, uint32_t, U8)
WHOLE_POWERS(int32_t, uint32_t, I32)
WHOLE_POWERS(int64_t, uint64_t, I64)
#undef WHOLE_POWERS
#undef WHOLE_POWER

enum { COMPLEX_STRIP = 64 };

/* ---- the modulus: half an ulp and a little ---- */

static __attribute__((noinline)) VD modulus_anywhere(VD re, VD im) {
    double a[D_LANES], b[D_LANES];
    memcpy(a, &re, sizeof re);
    memcpy(b, &im, sizeof im);
    for (int k = 0; k < D_LANES; k++) a[k] = hypot(a[k], b[k]);
    memcpy(&re, a, sizeof re);
    return re;
}

/* The root of both squares in pairs. The root r of the sum is off by less than the distance u to
 * its neighbour on that side, so what is nearest is one of the two: the neighbour from r + u/2 on,
 * where the remainder is r u. A NaN in one of the parts is in the larger or the smaller one. */
INLINE VD modulus(VD re, VD im) {
    VD a = magnitude(re), b = magnitude(im), large = D_MAX(a, b), small = D_MIN(b, a);
    Pair p = product(large, large), q = product(small, small), sum = sum_ordered(p.h, q.h);
    sum.l += p.l + q.l;
    VI far = ~((sum.h < 0x1p1000) & (sum.h > 0x1p-799));
    VD r = D_SQRT(sum.h);
    Pair square = product(r, r);
    VD rest = ((sum.h - square.h) - square.l) + sum.l;
    VD next = (VD)((VI)r + ((VI)((VI)rest < 0) | 1));
    VD result = choose(magnitude(rest) > r * magnitude(next - r), next, r);
    if (__builtin_expect(D_ANY(far), 0)) {
        VI zero = large == 0;
        result = choose(zero, K(0), result);
        far &= ~zero;
        if (D_ANY(far)) result = choose(far, modulus_anywhere(re, im), result);
    }
    return result;
}

/* Squares of floats are exact in doubles, and in their range. */
INLINE VD rough_modulus(VD re, VD im) {
    VD sum = re * re + im * im;
    VI odd = sum != sum;
    if (__builtin_expect(D_ANY(odd), 0)) {
        VI infinite = (magnitude(re) == INFINITY) | (magnitude(im) == INFINITY);
        sum = choose(infinite, K(INFINITY), sum);
    }
    return D_SQRT(sum);
}

#if D_LANES == 8
#define EVENS 0, 2, 4, 6, 8, 10, 12, 14
#define ODDS 1, 3, 5, 7, 9, 11, 13, 15
#elif D_LANES == 4
#define EVENS 0, 2, 4, 6
#define ODDS 1, 3, 5, 7
#else
#define EVENS 0, 2
#define ODDS 1, 3
#endif

/* V: as many T as there are lanes. */
#define MODULUS(T, V, type, f) \
    INLINE void modulus_vector_##type(T *out, const T *z) { \
        V v, w; \
        memcpy(&v, z, sizeof v); \
        memcpy(&w, z + D_LANES, sizeof w); \
        VD low = __builtin_convertvector(v, VD), high = __builtin_convertvector(w, VD); \
        VD size = f(__builtin_shufflevector(low, high, EVENS), \
                    __builtin_shufflevector(low, high, ODDS)); \
        v = __builtin_convertvector(size, V); \
        memcpy(out, &v, sizeof v); \
    } \
    static void modulus_##type(void *out, int64_t so, const void *const *in, const int64_t *si, \
                               int64_t n) { \
        const T *x = in[0]; \
        T *o = out; \
        int64_t from = 0; \
        for (; so == 1 && si[0] == 1 && from + D_LANES <= n; from += D_LANES) \
            modulus_vector_##type(o + from, x + 2 * from); \
        for (; from < n; from += D_LANES) { \
            T z[2 * D_LANES] = { 0 }, size[D_LANES]; \
            int64_t count = n - from < D_LANES ? n - from : D_LANES; \
            for (int64_t i = 0; i < count; i++) \
                memcpy(z + 2 * i, x + 2 * (from + i) * si[0], 2 * sizeof *z); \
            modulus_vector_##type(size, z); \
            for (int64_t i = 0; i < count; i++) o[(from + i) * so] = size[i]; \
        } \
    }
MODULUS(double, VD, C128, modulus)
MODULUS(float, VS, C64, rough_modulus)
#undef MODULUS

/* ---- powers ---- */

/* z^2 has the bits of z*z; z^3 and z^4 are products of products and 1/z the conjugate over the
 * square of the modulus: 2.3, 4.5, 6.8 and 2.5 u of the modulus. False where something on the way
 * left the range: then the general formula does it. */
/* Imaginary parts before real ones; parts of one and of the other. */
typedef float VZ __attribute__((vector_size(sizeof(VD))));
typedef int32_t VZI __attribute__((vector_size(sizeof(VD))));
#if D_LANES == 8
#define TURNED 1, 0, 3, 2, 5, 4, 7, 6
#define PICKED 0, 9, 2, 11, 4, 13, 6, 15
#define TURNED_FLOATS TURNED, 9, 8, 11, 10, 13, 12, 15, 14
#define PICKED_FLOATS 0, 17, 2, 19, 4, 21, 6, 23, 8, 25, 10, 27, 12, 29, 14, 31
#elif D_LANES == 4
#define TURNED 1, 0, 3, 2
#define PICKED 0, 5, 2, 7
#define TURNED_FLOATS TURNED, 5, 4, 7, 6
#define PICKED_FLOATS 0, 9, 2, 11, 4, 13, 6, 15
#else
#define TURNED 1, 0
#define PICKED 0, 3
#define TURNED_FLOATS TURNED, 3, 2
#define PICKED_FLOATS 0, 5, 2, 7
#endif
INLINE VD turn_doubles(VD v) { return __builtin_shufflevector(v, v, TURNED); }
INLINE VD pick_doubles(VD re, VD im) { return __builtin_shufflevector(re, im, PICKED); }
INLINE VZ turn_floats(VZ v) { return __builtin_shufflevector(v, v, TURNED_FLOATS); }
INLINE VZ pick_floats(VZ re, VZ im) { return __builtin_shufflevector(re, im, PICKED_FLOATS); }
INLINE int any_floats(VZI v) { return D_ANY((VI)v != 0) != 0; }

#define COMPLEX_POWERS(T, V, type, least, most, TURN, PICK, ANY) \
    INLINE int quick_complex_##type(T *out, T a, T b, int by) { \
        T c = a * a + -b * b, d = a * b + b * a, square = a * a + b * b; \
        if (by == 2) { \
            out[0] = c; \
            out[1] = d; \
            return (c - c == 0) & (d - d == 0); \
        } \
        out[0] = by == -1 ? a / square : by == 3 ? c * a + -d * b : c * c + -d * d; \
        out[1] = by == -1 ? -b / square : by == 3 ? c * b + d * a : c * d + d * c; \
        return (square > (T)least) & (square < (T)most); \
    } \
    INLINE int complex_quick_##type(T *kept, const T *x, int64_t sx, int64_t n, int by) { \
        int good = 1; \
        if (sx == 1) { \
            for (int64_t i = 0; i < n; i++) \
                good &= quick_complex_##type(kept + 2 * i, x[2 * i], x[2 * i + 1], by); \
        } else { \
            for (int64_t i = 0; i < n; i++) \
                good &= quick_complex_##type(kept + 2 * i, x[2 * i * sx], x[2 * i * sx + 1], by); \
        } \
        return good; \
    } \
    INLINE void complex_strip_##type(T *o, int64_t so, const T *x, int64_t sx, const void *y, \
                                     int64_t n, int by) { \
        T kept[2 * COMPLEX_STRIP]; \
        int good = complex_quick_##type(kept, x, sx, n, by); \
        for (int64_t i = 0; i < n && !good; i++) { \
            const void *at[] = { x + 2 * i * sx, y }; \
            if (!complex_quick_##type(kept + 2 * i, x + 2 * i * sx, 1, 1, by)) \
                ew_table_base[EW_POWER][DT_##type](kept + 2 * i, 1, at, (int64_t[]){ 1, 1 }, 1); \
        } \
        if (so == 1) memcpy(o, kept, (size_t)n * sizeof *o * 2); \
        else \
            for (int64_t i = 0; i < n; i++) \
                o[2 * i * so] = kept[2 * i], o[2 * i * so + 1] = kept[2 * i + 1]; \
    } \
    INLINE void complex_power_##type(T *o, int64_t so, const T *x, int64_t sx, const void *y, \
                                     int64_t n, int by) { \
        for (int64_t i = 0; i < n; i += COMPLEX_STRIP) \
            complex_strip_##type(o + 2 * i * so, so, x + 2 * i * sx, sx, y, \
                                 n - i < COMPLEX_STRIP ? n - i : COMPLEX_STRIP, by); \
    } \
    /* In registers, as long as all is finite. */ \
    INLINE void complex_square_##type(T *o, int64_t so, const T *x, int64_t sx, const void *y, \
                                      int64_t n) { \
        enum { HALF = sizeof(V) / sizeof(T), STEP = HALF }; \
        int64_t i = 0; \
        for (; so == 1 && sx == 1 && i + STEP <= n; i += STEP) { \
            V a, b; \
            memcpy(&a, x + 2 * i, sizeof a); \
            memcpy(&b, x + 2 * i + HALF, sizeof b); \
            V s = a * a, t = b * b, p = a * TURN(a), q = b * TURN(b); \
            s = PICK(s - TURN(s), p + p); \
            t = PICK(t - TURN(t), q + q); \
            if (__builtin_expect(ANY((s - s) + (t - t) != 0), 0)) { \
                complex_power_##type(o + 2 * i, 1, x + 2 * i, 1, y, STEP, 2); \
                continue; \
            } \
            memcpy(o + 2 * i, &s, sizeof s); \
            memcpy(o + 2 * i + HALF, &t, sizeof t); \
        } \
        complex_power_##type(o + 2 * i * so, so, x + 2 * i * sx, sx, y, n - i, 2); \
    } \
    static void complex_powers_##type(void *out, int64_t so, const void *const *in, \
                                      const int64_t *si, int64_t n) { \
        T *o = out; \
        const T *x = in[0], *y = in[1]; \
        int64_t whole = n == 1 || si[1] == 0 ? n : 1; \
        for (int64_t i = 0; i < n; i += whole, o += 2 * so, x += 2 * si[0], y += 2 * si[1]) { \
            int by = y[1] == 0 ? (int)(y[0] == 2 ? 2 : y[0] == 3 ? 3 : y[0] == 4 ? 4 \
                                       : y[0] == -1 ? -1 : 0) : 0; \
            switch (by) { \
            case 2: complex_square_##type(o, so, x, si[0], y, whole); break; \
            case 3: complex_power_##type(o, so, x, si[0], y, whole, 3); break; \
            case 4: complex_power_##type(o, so, x, si[0], y, whole, 4); break; \
            case -1: complex_power_##type(o, so, x, si[0], y, whole, -1); break; \
            default: \
                ew_table_base[EW_POWER][DT_##type](o, so, (const void *[]){ x, y }, si, whole); \
            } \
        } \
    }
COMPLEX_POWERS(double, VD, C128, 0x1p-400, 0x1p400, turn_doubles, pick_doubles, D_ANY)
COMPLEX_POWERS(float, VZ, C64, 0x1p-50f, 0x1p50f, turn_floats, pick_floats, any_floats)
#undef COMPLEX_POWERS

/* ---- quotients of c64: the textbook formula in doubles, whose range is enough ---- */

INLINE int quick_quotient(float *q, const float *x, const float *y) {
    double a = (double)x[0], b = (double)x[1], c = (double)y[0], d = (double)y[1];
    double square = c * c + d * d;
    q[0] = (float)((a * c + b * d) / square);
    q[1] = (float)((b * c + -a * d) / square);
    return (q[0] - q[0] == 0) & (q[1] - q[1] == 0);
}

/* Infinities and zeros below the line are the C compiler's. */
static void quotients_C64(void *out, int64_t so, const void *const *in, const int64_t *si,
                          int64_t n) {
    const int64_t sx = si[0], sy = si[1], one[] = { 1, 1 };
    for (int64_t from = 0; from < n; from += COMPLEX_STRIP) {
        float q[2 * COMPLEX_STRIP], *o = (float *)out + 2 * from * so;
        const float *x = (const float *)in[0] + 2 * from * sx;
        const float *y = (const float *)in[1] + 2 * from * sy;
        int64_t count = n - from < COMPLEX_STRIP ? n - from : COMPLEX_STRIP;
        int good = 1;
        if (sx == 1 && sy == 1)
            for (int64_t i = 0; i < count; i++)
                good &= quick_quotient(q + 2 * i, x + 2 * i, y + 2 * i);
        else
            for (int64_t i = 0; i < count; i++)
                good &= quick_quotient(q + 2 * i, x + 2 * i * sx, y + 2 * i * sy);
        for (int64_t i = 0; i < count && !good; i++) {
            const void *at[] = { x + 2 * i * sx, y + 2 * i * sy };
            float r[2];
            if (!quick_quotient(r, at[0], at[1]))
                ew_table_base[EW_DIVIDE][DT_C64](q + 2 * i, 1, at, one, 1);
        }
        for (int64_t i = 0; i < count; i++)
            o[2 * i * so] = q[2 * i], o[2 * i * so + 1] = q[2 * i + 1];
    }
}
