/* Helpers of the elementwise formulas for real floats. Quotients and remainders follow
 * Python's float divmod; functions of <tgmath.h> take the type of their argument. */
#define FLOORDIV(x, y) N(floor_divide)(x, y)
#define MODULO(x, y) N(modulo)(x, y)
#define POWER(x, y) N(real_power)(x, y)
#define CLAMP(x, lo, hi) N(clamp)(x, lo, hi)
#define SIGMOID(x) N(sigmoid)(x)
#define SOFTPLUS(x) N(softplus)(x)
#define GELU(x) N(gelu)(x)
#define ERFC(x) ((T)erfc((T_WIDE)(x)))
#define GAMMA(x) N(real_gamma)(x)
#define LGAMMA(x) N(log_gamma)(x)

static inline T N(modulo)(T x, T y) {
    T r = fmod(x, y);
    if (r == 0) return copysign((T)0, y);
    return (y < 0) != (r < 0) ? r + y : r;
}

static inline T N(floor_divide)(T x, T y) {
    if (y == 0) return x / y;
    T r = fmod(x, y), q = (x - r) / y;
    if (r != 0 && (y < 0) != (r < 0)) q -= 1;
    if (q == 0) return copysign((T)0, x / y);
    T down = floor(q);
    return q - down > (T)0.5 ? down + 1 : down;
}

/* Squares by multiplying, wherever the 2 stands: correctly rounded and quick. */
static inline T N(real_power)(T x, T y) { return y == 2 ? x * x : pow(x, y); }

static inline T N(clamp)(T x, T lo, T hi) {
    T m = x > lo || x != x ? x : lo;
    return m < hi || m != m ? m : hi;
}

static inline T N(sigmoid)(T x) {
    T e = exp(-fabs(x));
    return (x >= 0 ? 1 : e) / (1 + e);
}

static inline T N(softplus)(T x) { return (x > 0 || x != x ? x : 0) + log1p(exp(-fabs(x))); }

static inline T N(gelu)(T x) {
    T_WIDE t = (T_WIDE)x * -(T_WIDE)0.70710678118654752440L;
    return x == (T)-INFINITY ? -(T)0 : (T)(x / 2 * (T)erfc(t));
}

/* C leaves gamma at negative integers open between nan and an infinity: nan. */
static inline T N(real_gamma)(T x) {
    return x < 0 && floor(x) == x ? (T)NAN : (T)tgamma((T_WIDE)x);
}

static inline T N(log_gamma)(T x) { return (T)lgamma((T_WIDE)x); }
