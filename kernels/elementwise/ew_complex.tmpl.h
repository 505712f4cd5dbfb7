/* Helpers of the elementwise formulas for complex numbers. Functions that lose digits in
 * the C library's own precision are computed in the wider type and rounded once. */
#ifndef QUICK_COMPLEX_POWER
#define QUICK_COMPLEX_POWER
#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>

/* z^w of c128 where nothing is far out: exp(w log z) with the pieces in x87's 64 bits, half of
 * the time that cpowl takes (whose time goes into sincosl). What is left of an ulp of a double is
 * 2^-3: the terms of the exponent and of the angle are kept below 2^8, so that their roundings are
 * below 2^-56 of the result. */
#if LDBL_MANT_DIG == 64
/* exp(r) for |r| <= log(2)/2, by Taylor's series: the first term left out is below 2^-74. */
static inline long double power_exp(long double r)
{
    static const long double factor[] = {
        1, 1, 1 / 2.0L, 1 / 6.0L, 1 / 24.0L, 1 / 120.0L, 1 / 720.0L, 1 / 5040.0L, 1 / 40320.0L,
        1 / 362880.0L, 1 / 3628800.0L, 1 / 39916800.0L, 1 / 479001600.0L, 1 / 6227020800.0L,
        1 / 87178291200.0L, 1 / 1307674368000.0L, 1 / 20922789888000.0L };
    long double s = r * r, even = factor[16], odd = factor[15];
    for (int k = 14; k > 0; k -= 2) {
        even = even * s + factor[k];
        odd = odd * s + factor[k - 1];
    }
    return 1 + (odd * r + even * s);
}

/* Sine and cosine for |r| <= π/4. */
static inline void power_turn(long double r, long double *sine, long double *cosine)
{
    static const long double factor[] = {
        1 / 2.0L, 1 / 6.0L, 1 / 24.0L, 1 / 120.0L, 1 / 720.0L, 1 / 5040.0L, 1 / 40320.0L,
        1 / 362880.0L, 1 / 3628800.0L, 1 / 39916800.0L, 1 / 479001600.0L, 1 / 6227020800.0L,
        1 / 87178291200.0L, 1 / 1307674368000.0L, 1 / 20922789888000.0L,
        1 / 355687428096000.0L, 1 / 6402373705728000.0L, 1 / 121645100408832000.0L,
        1 / 2432902008176640000.0L, 1 / 51090942171709440000.0L };
    long double s = -r * r, c = factor[18], t = factor[19];
    for (int k = 16; k >= 0; k -= 2) {
        c = c * s + factor[k];
        t = t * s + factor[k + 1];
    }
    *cosine = 1 + c * s;
    *sine = r + r * (t * s);
}

/* False: it is for cpowl. */
static inline bool quick_complex_power(double a, double b, double c, double d, double out[2])
{
    const long double half_pi = 0x1.921fb54442d18p0L, half_pi_rest = 0x1.1a62633145c06e0ep-54L;
    const long double log2_most = 0x1.62e42fefa38p-1L, log2_rest = 0x1.ef35793c7673007ep-45L;
    long double square = (long double)a * a + (long double)b * b;
    if (!(square > 0 && square < (long double)INFINITY && fabs(c) <= 32 && fabs(d) <= 32))
        return false;
    long double size = logl(square) / 2, angle = atan2l(b, a);
    long double cs = c * size, dt = d * angle, ct = c * angle, ds = d * size;
    if (!(fabsl(cs) + fabsl(dt) <= 256 && fabsl(ct) + fabsl(ds) <= 256))
        return false;
    long double power = cs - dt, turn = ct + ds;
    int exponent = (int)lrintl(power * 1.44269504088896340736L);
    int quarter = (int)lrintl(turn * 0.63661977236758134308L);
    long double sine, cosine;
    union { uint64_t bits; double value; } scale = { (uint64_t)(1023 + exponent) << 52 };
    long double growth = scale.value * power_exp(power - exponent * log2_most
                                                       - exponent * log2_rest);
    power_turn(turn - quarter * half_pi - quarter * half_pi_rest, &sine, &cosine);
    long double re = quarter & 1 ? sine : cosine, im = quarter & 1 ? cosine : sine;
    out[0] = (double)(growth * ((quarter + 1) & 2 ? -re : re));
    out[1] = (double)(growth * (quarter & 2 ? -im : im));
    return true;
}
#else
static inline bool quick_complex_power(double a, double b, double c, double d, double out[2])
{
    (void)a, (void)b, (void)c, (void)d, (void)out;
    return false;
}
#endif
#endif

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
    double quick[2];
    if (sizeof(T_REAL) == sizeof(double) &&
        quick_complex_power((double)__real__ x, (double)__imag__ x, (double)p,
                            (double)__imag__ y, quick))
        return N(complex_make)((T_REAL)quick[0], (T_REAL)quick[1]);
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
