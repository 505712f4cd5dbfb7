/* exp, log, sin, cos, tanh and sqrt of f64 vectors, written out: on 256 bits SLEEF's reach
 * 1.4 to 3 times the speed of scalar libm, these 3 to 6 times, with errors below 0.85 ulp
 * (tanh 1; tests/unit/ew.c holds them to 1). Included by ew_sleef.tmpl.h
 * after ew_lanes.tmpl.h; it gives D_ANY besides. Only additions, products, fused products and
 * divisions occur, so every instruction set gives the same bits. */

/* Adding 1.5 * 2^52 rounds to an integer and leaves it in the low bits. */
static inline VD to_integer(VD x, VI *n) {
    VD shifted = x + K(0x1.8p52);
    *n = (VI)shifted;
    return shifted - K(0x1.8p52);
}

/* e^x = 2^k * (1 + high + low), |high| <= ln(2)/2. The reduction is exact but for one
 * rounding that low makes good; the polynomial for (e^r - 1 - r)/r^2 interpolates at
 * Chebyshev's points (3e-19). */
static inline void exp_parts(VD x, VD *shifted, VD *high, VD *low) {
    *shifted = D_FMA(x, K(0x1.71547652b82fep0), K(0x1.8p52));
    VD n = *shifted - K(0x1.8p52);
    VD t = D_FMA(n, K(-0x1.62e42fefa39efp-1), x);
    VD r = D_FMA(n, K(-0x1.abc9e3b39803fp-56), t);
    VD lost = D_FMA(n, K(-0x1.abc9e3b39803fp-56), t - r);
    VD r2 = r * r, r4 = r2 * r2;
    VD a = D_FMA(r, K(0x1.5555555555557p-3), K(0.5));
    VD b = D_FMA(r, K(0x1.11111111100dep-7), K(0x1.5555555555556p-5));
    VD c = D_FMA(r, K(0x1.a01a01abe683ap-13), K(0x1.6c16c16c162d6p-10));
    VD d = D_FMA(r, K(0x1.71de02364614ap-19), K(0x1.a01a01a6d7b19p-16));
    VD e = D_FMA(r, K(0x1.af4ddfbb33a59p-26), K(0x1.27e4db6718a69p-22));
    e = D_FMA(r2, K(0x1.1f72fdb6c6443p-29), e);
    c = D_FMA(r4, e, D_FMA(r2, d, c));
    *high = r;
    *low = D_FMA(r2, D_FMA(r4, c, D_FMA(r2, b, a)), lost);
}

/* For any x: clamped to where the result is 0 or infinite, scaled in two steps for the
 * sake of subnormal results. */
static __attribute__((noinline)) VD exp_anywhere(VD x) {
    VD shifted, high, low;
    x = choose(x > K(710), K(710), x);
    x = choose(x < K(-746), K(-746), x);
    exp_parts(x, &shifted, &high, &low);
    VD sum = 1 + high, rest = high - (sum - 1);
    VI k = (VI)((VU)shifted - (VU)K(0x1.8p52)), half = (VI)(((VU)k + 4096) >> 1) - 2048;
    return (sum + (rest + low)) * power_of_two(half) * power_of_two((VI)((VU)k - (VU)half));
}

static inline VD vector_exp(VD x) {
    VD shifted, high, low;
    VI far = ~((VD)((VI)x & ~(VI)K(-0.0)) <= K(708));
    exp_parts(x, &shifted, &high, &low);
    VD sum = 1 + high, rest = high - (sum - 1);
    VD result = (VD)((VU)(sum + (rest + low)) + ((VU)shifted << 52));
    if (__builtin_expect(D_ANY(far), 0)) result = choose(far, exp_anywhere(x), result);
    return result;
}

/* tanh x = n / (n + 2) with n = e^2x - 1, kept in two parts; 2/(n + 2) is 1 - tanh x, which
 * gives the correction of the quotient without another division. Beyond 16 the 2 alone
 * counts: 1 - 2/(n + 2). */
static inline VD vector_tanh(VD x) {
    VI sign = (VI)x & (VI)K(-0.0);
    VD size = (VD)((VI)x ^ sign), t = choose(size > K(20), K(20), size), shifted, high, low;
    exp_parts(t + t, &shifted, &high, &low);
    VD scale = power_of_two((VI)((VU)shifted - (VU)K(0x1.8p52)));
    VD whole = scale - 1, part = scale * high;
    VD n = whole + part, back = n - whole;
    VD rest = (whole - (n - back)) + (part - back) + scale * low, sum = n + rest;
    rest -= sum - n;
    n = sum;
    VD d = n + 2, d_rest = (n - (d - 2)) + rest;
    VI large = size > K(16);
    VD q = choose(large, K(2), n) / d, error = D_FMA(-q, d, n) + D_FMA(-q, d_rest, rest);
    VD result = choose(large, 1 - q, D_FMA(error, (1 - q) * K(0.5), q));
    result = choose(size < K(0x1p-28), size, result);
    return (VD)((VI)result | sign);
}

/* Logarithm of normal x after fdlibm's e_log.c: x = 2^k m, m in [sqrt(1/2), sqrt(2)),
 * s = f/(2+f); `more` is added to k. */
static inline VD log_normal(VD x, VD more) {
    VI bits = (VI)x, k = (VI)(((VU)bits + 0x00095f6200000000) >> 52) - 1023;
    VD m = (VD)((VU)bits - ((VU)k << 52));
    VD e = (VD)((VU)K(0x1.8p52) + (VU)k) - K(0x1.8p52) + more;
    VD f = m - 1, s = f / (2 + f), z = s * s, w = z * z, square = K(0.5) * f * f;
    VD odd = w * D_FMA(w, D_FMA(w, K(1.531383769920937332e-01), K(2.222219843214978396e-01)),
                       K(3.999999999940941908e-01));
    VD even = D_FMA(w, K(1.479819860511658591e-01), K(1.818357216161805012e-01));
    even = D_FMA(w, D_FMA(w, even, K(2.857142874366239149e-01)), K(6.666666666666735130e-01)) * z;
    VD tail = D_FMA(s, square + (odd + even), e * K(1.90821492927058770002e-10));
    return D_FMA(e, K(6.93147180369123816490e-01), f - (square - tail));
}

static __attribute__((noinline)) VD log_anywhere(VD x) {
    VI tiny = x < K(0x1p-1022);
    VD r = log_normal(choose(tiny, x * K(0x1p54), x), choose(tiny, K(-54), K(0)));
    r = choose(x == K(0), K(-INFINITY), r);
    r = choose(x < K(0), K(NAN), r);
    return choose((x == K(INFINITY)) | (x != x), x, r);
}

static inline VD vector_log(VD x) {
    VI odd = ~((x >= K(0x1p-1022)) & (x < K(INFINITY)));
    VD result = log_normal(x, K(0));
    if (__builtin_expect(D_ANY(odd), 0)) result = choose(odd, log_anywhere(x), result);
    return result;
}

/* Sine of x + quarter * pi/2, for |x| up to TRIG_LIMIT: pi/2 in three parts (the first
 * product is exact with FMA), then fdlibm's k_sin.c and k_cos.c on high + low. */
#define TRIG_LIMIT 3e7
static inline __attribute__((always_inline)) VD vector_sine(VD x, int quarter) {
    VI quadrant;
    VD n = to_integer(x * K(0x1.45f306dc9c883p-1), &quadrant);
    VD t = D_FMA(n, K(-0x1.921fb54442d18p0), x);
    VD w = n * K(0x1.1a62633145c07p-54), w_rest = D_FMA(n, K(0x1.1a62633145c07p-54), -w);
    VD high = t - w, back = t - high;
    VD low = (t - (high + back)) + (back - w) - D_FMA(n, K(-0x1.f1976b7ed8fbcp-110), w_rest);
    VD z = high * high, v = z * high, half = K(0.5) * z, one = 1 - half;
    VD rs = D_FMA(z, K(1.58969099521155010221e-10), K(-2.50507602534068634195e-08));
    rs = D_FMA(z, D_FMA(z, rs, K(2.75573137070700676789e-06)), K(-1.98412698298579493134e-04));
    rs = D_FMA(z, rs, K(8.33333333332248946124e-03));
    VD sine = high - ((z * (K(0.5) * low - v * rs) - low) - v * K(-1.66666666666666324348e-01));
    VD rc = D_FMA(z, K(-1.13596475577881948265e-11), K(2.08757232129817482790e-09));
    rc = D_FMA(z, D_FMA(z, rc, K(-2.75573143513906633035e-07)), K(2.48015872894767294178e-05));
    rc = D_FMA(z, D_FMA(z, rc, K(-1.38888888888741095749e-03)), K(4.16666666666666019037e-02));
    VD cosine = one + (((1 - one) - half) + D_FMA(z * z, rc, -high * low));
    quadrant = (VI)((VU)quadrant + (uint64_t)quarter);
    VD r = choose((quadrant & 1) != 0, cosine, sine);
    return (VD)((VU)r ^ ((VU)(quadrant & 2) << 62));
}

static inline VD vector_sin(VD x) { return vector_sine(x, 0); }
static inline VD vector_cos(VD x) { return vector_sine(x, 1); }
static inline VD vector_sqrt(VD x) { return D_SQRT(x); }
static inline VF vector_sqrtf(VF x) { return F_SQRT(x); }

static void own_EXP(KERNEL_ARGS) {
    map1_F64(out, so, in[0], si[0], n, EW_EXP, vector_exp, -INFINITY, INFINITY, 0);
}
static void own_LOG(KERNEL_ARGS) {
    map1_F64(out, so, in[0], si[0], n, EW_LOG, vector_log, -INFINITY, INFINITY, 0);
}
static void own_TANH(KERNEL_ARGS) {
    map1_F64(out, so, in[0], si[0], n, EW_TANH, vector_tanh, -INFINITY, INFINITY, 0);
}
static void own_SIN(KERNEL_ARGS) {
    map1_F64(out, so, in[0], si[0], n, EW_SIN, vector_sin, -TRIG_LIMIT, TRIG_LIMIT, 0);
}
static void own_COS(KERNEL_ARGS) {
    map1_F64(out, so, in[0], si[0], n, EW_COS, vector_cos, -TRIG_LIMIT, TRIG_LIMIT, 0);
}
static void own_SQRT_F64(KERNEL_ARGS) {
    map1_F64(out, so, in[0], si[0], n, EW_SQRT, vector_sqrt, -INFINITY, INFINITY, 0);
}
static void own_SQRT_F32(KERNEL_ARGS) {
    map1_F32(out, so, in[0], si[0], n, EW_SQRT, vector_sqrtf, -INFINITY, INFINITY, 0);
}

const EwFn OWN_TABLE[EW_COUNT][DT_COUNT] = {
    [EW_EXP] = { [DT_F64] = own_EXP }, [EW_LOG] = { [DT_F64] = own_LOG },
    [EW_TANH] = { [DT_F64] = own_TANH }, [EW_SIN] = { [DT_F64] = own_SIN },
    [EW_COS] = { [DT_F64] = own_COS },
    [EW_SQRT] = { [DT_F32] = own_SQRT_F32, [DT_F64] = own_SQRT_F64 },
};
