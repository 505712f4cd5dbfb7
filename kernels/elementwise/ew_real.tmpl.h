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
#define LDEXP(x, y) N(scaled)(x, y)

static inline T N(modulo)(T x, T y) {
    T r = fmod(x, y);
    if (r == 0) return copysign((T)0, y);
    return (y < 0) != (r < 0) ? r + y : r;
}

/* x 2^y by what is left of y beside a whole number first, so that no factor leaves the range. */
static inline T N(scaled)(T x, T y) {
    if (y - y != 0) return x * exp2(y);
    bool large = fabs(x) > 1;
    T n = large ? ceil(y) : floor(y), rest = exp2(y - n);
    int by = n > 40000 ? 40000 : n < -40000 ? -40000 : (int)n;
    if (y == n) return scalbn(x, by);
    return large ? scalbn(x * rest, by) : scalbn(scalbn(x, 64) * rest, by - 64);
}

/* x less its remainder is a whole multiple of y; the wider type tells neighbouring multiples
 * apart. */
static inline T N(floor_divide)(T x, T y) {
    if (y == 0) return x / y;
    T r = fmod(x, y);
    T_WIDE q = ((T_WIDE)x - (T_WIDE)r) / (T_WIDE)y;
    if (r != 0 && (y < 0) != (r < 0)) q -= 1;
    return q == 0 ? copysign((T)0, x / y) : (T)rint(q);
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

/* erfc is steep where it is small: what x/sqrt(2) lost, and what the constant lacks, are put back
 * by its derivative. */
static inline T N(gelu)(T x) {
    const T_WIDE root = (T_WIDE)0.70710678118654752440084436210484903928L;
    const T_WIDE lacks = -fma(root, 2 * root, (T_WIDE)-1) / (4 * root);
    T_WIDE w = (T_WIDE)x, t = w * root, e = erfc(-t);
    if (x == (T)-INFINITY) return -(T)0;
    if (fabs(w) < 1000)
        e += (T_WIDE)1.12837916709551257389615890312154517169L * exp(-t * t) *
             (fma(w, root, -t) + w * lacks);
    return (T)(w / 2 * e);
}

/* C leaves gamma at negative integers open between nan and an infinity: nan. */
static inline T N(real_gamma)(T x) {
    return x < 0 && floor(x) == x ? (T)NAN : (T)tgamma((T_WIDE)x);
}

static inline T N(log_gamma)(T x) { return (T)lgamma((T_WIDE)x); }
