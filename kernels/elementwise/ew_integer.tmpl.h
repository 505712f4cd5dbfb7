/* Integer (and bool) helpers of the elementwise formulas. All are total: what the caller
 * of ew_run reports as trouble gives 0 here and never traps. */
#define IS_BOOL (KIND == KIND_BOOL)
#define WRAP(x) ((T_WRAP)(x))
#define FLOORDIV(x, y) N(floor_divide)(x, y)
#define MODULO(x, y) N(modulo)(x, y)
#define POWER(x, y) N(int_power)(x, y)
#define CLAMP(x, lo, hi) N(clamp)(x, lo, hi)
#define SHIFT_LEFT(x, y) N(shift_left)(x, y)
#define SHIFT_RIGHT(x, y) N(shift_right)(x, y)

static inline T N(floor_divide)(T x, T y) {
    if (y == 0) return 0;
    if (y == (T)-1 && (T)-1 < 0) return (T)(0 - WRAP(x));   /* the smallest one / -1 wraps */
    T q = (T)(x / y);
    return (T)(x % y != 0 && (x < 0) != (y < 0) ? q - 1 : q);
}

static inline T N(modulo)(T x, T y) {
    if (y == 0 || (y == (T)-1 && (T)-1 < 0)) return 0;
    T r = (T)(x % y);
    return (T)(r != 0 && (r < 0) != (y < 0) ? r + y : r);
}

static inline T N(int_power)(T x, T y) {
    T_WRAP power = 1, base = WRAP(x);
    if (y < 0) return (T)(x == 1 ? 1 : x == (T)-1 ? (y & 1 ? -1 : 1) : 0);
    for (; y; y = (T)(y >> 1)) {
        if (y & 1) power *= base;
        base *= base;
    }
    return (T)power;
}

static inline T N(clamp)(T x, T lo, T hi) {
    T m = x > lo ? x : lo;
    return m < hi ? m : hi;
}

static inline T N(shift_left)(T x, T y) {
    return y < 0 || y >= (T)(8 * sizeof(T)) ? 0 : (T)(WRAP(x) << y);
}

static inline T N(shift_right)(T x, T y) {
    if (y < 0) return 0;
    return (T)(y >= (T)(8 * sizeof(T)) ? (x < 0 ? -1 : 0) : x >> y);
}
