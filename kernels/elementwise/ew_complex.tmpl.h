/* Helpers of the elementwise formulas for complex numbers. Functions that lose digits in
 * the C library's own precision are computed in the wider type and rounded once. */
#define CMUL(x, y) N(complex_times)(x, y)
#define CPOWER(x, y) N(complex_power)(x, y)
#define CSIGN(x) N(complex_sign)(x)
#define CEXPM1(x) N(complex_expm1)(x)
#define CLOG1P(x) N(complex_log1p)(x)
#define CSCALE(x, by) N(complex_scale)((T_WIDE)(x), by)
#define LOG2E ((T_REAL)1.4426950408889634074L)
#define LOG10E ((T_REAL)0.43429448190325182765L)

static inline T N(complex_make)(T_REAL re, T_REAL im) {
    T z;
    __real__ z = re;
    __imag__ z = im;
    return z;
}

/* The textbook formula. Written as a difference gcc 12 makes a fused vfmaddsub of it in
 * spite of -ffp-contract=off, and vectors would round otherwise than single elements. */
static inline T N(complex_times)(T x, T y) {
    T_REAL a = __real__ x, b = __imag__ x, c = __real__ y, d = __imag__ y;
    return N(complex_make)(a * c + -b * d, a * d + b * c);
}

/* Powers with small integer exponents multiply: (2i)^2 is -4, exactly. */
static inline T_WIDE N(complex_whole_power)(T_WIDE x, int n) {
    T_WIDE power = 1;
    for (unsigned k = (unsigned)(n < 0 ? -n : n); k; k >>= 1) {
        if (k & 1) power *= x;
        x *= x;
    }
    return n < 0 ? 1 / power : power;
}

static inline T N(complex_power)(T x, T y) {
    T_REAL p = __real__ y;
    if (__imag__ y == 0 && p == rint(p) && fabs(p) <= 64)
        return (T)N(complex_whole_power)((T_WIDE)x, (int)p);
    if (x == 0 && p > 0) return 0;
    return (T)pow((T_WIDE)x, (T_WIDE)y);
}

static inline T N(complex_sign)(T x) {
    T_REAL size = (T_REAL)cabs(x);
    if (size == 0) return x;
    return N(complex_make)(__real__ x / size, __imag__ x / size);
}

static inline T N(complex_expm1)(T x) {
    T_REAL a = __real__ x, b = __imag__ x, half = sin(b / 2);
    return N(complex_make)(expm1(a) * cos(b) - 2 * half * half, exp(a) * sin(b));
}

static inline T N(complex_log1p)(T x) {
    T_REAL a = __real__ x, b = __imag__ x;
    return N(complex_make)(fabs(a) < (T_REAL)0.5 && fabs(b) < (T_REAL)0.5
                               ? log1p(a * (2 + a) + b * b) / 2 : (T_REAL)log(cabs(1 + x)),
                           atan2(b, 1 + a));
}

static inline T N(complex_scale)(T_WIDE x, T_REAL by) {
    return N(complex_make)((T_REAL)(__real__ x * by), (T_REAL)(__imag__ x * by));
}
