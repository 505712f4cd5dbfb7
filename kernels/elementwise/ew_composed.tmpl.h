/* Functions of f64 that are made of exp and log of pairs (ew_lanes.tmpl.h): sigmoid, silu,
 * softplus, gelu, the hyperbolic ones and their inverses, log10, cbrt, erf. Included once per
 * instruction set with COMPOSED, the name of its table. Only the last step of each rounds to a
 * double, so the error is the half ulp of that rounding plus what the pair was off; each function
 * says how much. Relative errors are given in units of u = 2^-53: 1 u is between half an ulp and
 * one, so "half an ulp + 0.1 u" is below 0.6 ulp. tests/unit/ulp.c measures all of them. f32 is
 * computed in f64 and rounded again.
 * Every element goes through a full vector (tails are padded), so its result depends on its value
 * alone. */

/* ---- exp and log ---- */

/* e^(x + rest) = 2^k (1 + r + square + tail), |r| <= ln(2)/2 and a little. n ln2 is taken off in
 * two parts of 42 bits, whose products with n are exact; what is left of ln2 counts 2^-76. square
 * is r^2/2 of the upper half of r, exactly; the polynomial for (e^r - 1 - r - r^2/2)/r^3 is off by
 * 2^-54 of a tail that is below 0.008: 0.02 u of e^x altogether, and as little of r itself where k
 * is 0. */
INLINE VI exp_terms(VD x, VD rest, VD *r_out, VD *square, VD *tail) {
    VD shifted = MULADD(x, K(0x1.71547652b82fep0), K(0x1.8p52)), n = shifted - K(0x1.8p52);
    VD t = x - n * K(0x1.62e42fefa38p-1), w = n * K(0x1.ef35793c768p-45);
    VD r = t - w, lost = ((t - r) - w) + rest;
    VD upper = upper_half(r), r2 = r * r, r4 = r2 * r2;
    VD a = MULADD(r, K(0x1.5555555555555p-5), K(0x1.5555555555556p-3));
    VD b = MULADD(r, K(0x1.6c16c16c167ddp-10), K(0x1.11111111109abp-7));
    VD c = MULADD(r, K(0x1.a01a01a47ebf9p-16), K(0x1.a01a01a7caa3bp-13));
    VD d = MULADD(r, K(0x1.27e4e1e60c4eep-22), K(0x1.71de0d950eaadp-19));
    VD e = MULADD(r, K(0x1.1f6701e62eb6ap-29), K(0x1.af38e5e7b1a55p-26));
    VD cubic = MULADD(r4, MULADD(r4, e, MULADD(r2, d, c)), MULADD(r2, b, a));
    VD near = MULADD(r2 * r, cubic, 0.5 * (r - upper) * (r + upper));
    *r_out = r;
    *square = 0.5 * upper * upper;
    *tail = near + MULADD(lost, r + r2 * MULADD(r, cubic, K(0.5)), lost);
    return (VI)((VU)shifted - (VU)K(0x1.8p52));
}

/* The same as 2^k times a pair between 0.7 and 1.5: 0.03 u. */
INLINE Pair exp_pair(VD x, VD rest, VI *k) {
    VD r, square, tail;
    *k = exp_terms(x, rest, &r, &square, &tail);
    Pair a = sum_ordered(K(1), r), b = sum_ordered(a.h, square);
    return sum_ordered(b.h, a.l + b.l + tail);
}

#ifndef D_FMA
/* exp_parts of ew_vector.tmpl.h without fused products: e^x = 2^k (1 + high + low), 0.25 u. */
INLINE void exp_parts(VD x, VD *shifted, VD *high, VD *low) {
    *shifted = x * K(0x1.71547652b82fep0) + K(0x1.8p52);
    VD n = *shifted - K(0x1.8p52), t = x - n * K(0x1.62e42fefa38p-1),
       w = n * K(0x1.ef35793c768p-45);
    VD r = t - w, r2 = r * r, r4 = r2 * r2;
    VD a = r * K(0x1.5555555555557p-3) + K(0.5);
    VD b = r * K(0x1.11111111100dep-7) + K(0x1.5555555555556p-5);
    VD c = r * K(0x1.a01a01abe683ap-13) + K(0x1.6c16c16c162d6p-10);
    VD d = r * K(0x1.71de02364614ap-19) + K(0x1.a01a01a6d7b19p-16);
    VD e = r * K(0x1.af4ddfbb33a59p-26) + K(0x1.27e4db6718a69p-22);
    e = r2 * K(0x1.1f72fdb6c6443p-29) + e;
    *high = r;
    *low = r2 * (r4 * (r4 * e + (r2 * d + c)) + (r2 * b + a)) + ((t - r) - w);
}
#endif

/* log(2^more (u + rest)) of a normal u > 0, |rest| <= ulp(u): fdlibm's e_log.c with the square
 * exact and the sum kept in two parts. With u = 2^e (1 + f), s = f/(2 + f):
 * log(1 + f) = f - f^2/2 + s (f^2/2 + R(s^2)), where the last term is below 0.018 and 0.06 |f|: its
 * roundings, twice 2^-53 of it, are 0.12 u of the logarithm. */
INLINE Pair log_pair(VD u, VD rest, VD more) {
    VI bits = (VI)u, k = (VI)(((VU)bits + 0x00095f6200000000) >> 52) - 1023;
    VD m = (VD)((VU)bits - ((VU)k << 52));
    VD e = (VD)((VU)K(0x1.8p52) + (VU)k) - K(0x1.8p52) + more;
    VD f = m - 1, s = f / (2 + f), z = s * s, w = z * z, upper = upper_half(f);
    VD square = 0.5 * upper * upper, square_rest = 0.5 * (f - upper) * (f + upper);
    VD odd = w * MULADD(w, MULADD(w, K(1.531383769920937332e-01), K(2.222219843214978396e-01)),
                        K(3.999999999940941908e-01));
    VD even = MULADD(w, K(1.479819860511658591e-01), K(1.818357216161805012e-01));
    even = MULADD(w, MULADD(w, even, K(2.857142874366239149e-01)), K(6.666666666666735130e-01)) * z;
    VD tail = MULADD(s, 0.5 * f * f + (odd + even),
                     MULADD(e, K(0x1.ef35793c768p-45), rest / u) - square_rest);
    Pair a = sum_ordered(e * K(0x1.62e42fefa38p-1), f), b = sum_ordered(a.h, -square);
    return sum_ordered(b.h, a.l + b.l + tail);
}

/* ---- the logistic family ---- */

/* sigmoid(x) = 2^k times the pair, |x| <= 800: e^min(x, 0) / (1 + e^-|x|). The denominator is off
 * by 0.03 u, its inverse, whose remainder is exact, and the product by as little: 0.1 u. */
INLINE Pair sigmoid_pair(VD x, VI *k) {
    VI positive = x >= 0;
    Pair e = exp_pair(-magnitude(x), K(0), k);
    VD scale = power_of_two((VI)((VU)*k & (VU)(magnitude(x) < 100)));
    VD small = choose(magnitude(x) < 100, e.h * scale, K(0));
    Pair d = sum_ordered(K(1), small);
    d.l += choose(magnitude(x) < 100, e.l * scale, K(0));
    Pair n = { choose(positive, K(1), e.h), choose(positive, K(0), e.l) };
    *k = (VI)((VU)*k & (VU)~positive);
    return pair_product(pair_inverse(d), n);
}

/* x within [-most, most], a nan as it is. */
INLINE VD limited(VD x, double most) {
    x = choose(x > K(most), K(most), x);
    return choose(x < K(-most), K(-most), x);
}

/* The same for |x| <= 700: 1/(1 + e^-x) with the quick exponential, 0.3 u. The first part has 26
 * bits where there are no fused products. */
INLINE Pair sigmoid_near(VD x) {
    VD shifted, high, low;
    exp_parts(-x, &shifted, &high, &low);
    VD scale = power_of_two((VI)((VU)shifted - (VU)K(0x1.8p52)));
    Pair a = sum_ordered(K(1), high), e = sum_ordered(a.h, a.l + low);
    Pair d = sum_any(K(1), e.h * scale);
    VD d_rest = MULADD(e.l, scale, d.l), q = 1 / d.h;
#ifdef D_FMA
    return (Pair){ q, q * D_FMA(-q, d_rest, D_FMA(-q, d.h, K(1))) };
#else
    VD short_q = upper_half(q), short_d = upper_half(d.h);
    return (Pair){ short_q, q * ((1 - short_q * short_d) - short_q * ((d.h - short_d) + d_rest)) };
#endif
}

static __attribute__((noinline)) VD sigmoid_anywhere(VD x) {
    VI k;
    Pair s = sigmoid_pair(limited(x, 800), &k);
    return pair_scaled(s, k);
}

/* Near 0 it is x/2 (products of subnormals keep no remainder), beyond 800 x or -0. */
static __attribute__((noinline)) VD silu_anywhere(VD x) {
    VI k;
    VD t = limited(x, 800);
    VI tiny = magnitude(x) < 0x1p-60;
    Pair s = pair_times(sigmoid_pair(t, &k), choose(tiny, K(1), t));
    VD result = choose(tiny, x * 0.5, pair_scaled(s, k));
    return choose(x > K(800), x, result);
}

/* Half an ulp + 0.3 u; far out a subnormal result is rounded a second time. */
INLINE VD composed_sigmoid(VD x) {
    VI far = ~(magnitude(x) <= 700);
    Pair s = sigmoid_near(x);
    VD result = s.h + s.l;
    if (__builtin_expect(D_ANY(far), 0)) result = choose(far, sigmoid_anywhere(x), result);
    return result;
}

/* As sigmoid. */
INLINE VD composed_silu(VD x) {
    VD size = magnitude(x);
    VI far = ~((size <= 700) & (size >= 0x1p-900));
    Pair s = sigmoid_near(x);
#ifdef D_FMA
    VD result = D_FMA(x, s.h, x * s.l);
#else
    VD short_x = upper_half(x), result = short_x * s.h + ((x - short_x) * s.h + x * s.l);
#endif
    if (__builtin_expect(D_ANY(far), 0)) result = choose(far, silu_anywhere(x), result);
    return result;
}

/* max(x, 0) + log(1 + e^-|x|), the logarithm as a pair: 0.15 u of it. Where e = e^-|x| is below
 * 2^-28 the logarithm is e - e^2/2; below -40 the result is e, which may be subnormal. */
INLINE VD composed_softplus(VD x) {
    VI k;
    VD size = magnitude(limited(x, 800));
    Pair e = exp_pair(-size, K(0), &k);
    VD scale = power_of_two((VI)((VU)k & (VU)(size < 100)));
    VD h = choose(size < 100, e.h * scale, K(0)), l = choose(size < 100, e.l * scale, K(0));
    Pair u = sum_ordered(K(1), h), log = log_pair(u.h, u.l + l, K(0));
    VI tiny = h < 0x1p-28;
    log.h = choose(tiny, h, log.h);
    log.l = choose(tiny, l - 0.5 * h * h, log.l);
    Pair sum = sum_any(choose(x > 0, x, K(0)), log.h);
    VD result = choose(x < -40, pair_scaled(e, k), sum.h + (sum.l + log.l));
    return choose((x > 800) | (x != x), x, result);
}

/* ---- gelu ---- */

static const double mills[] = {
    0x1.1d864303d4c84p-1, -0x1.41d8de9621f7ep-4, 0x1.402b0e173965dp-7, 0x1.0c13034c16872p-5,
    -0x1.705abcacd049fp-5, 0x1.2b35cdd1fb571p-5, -0x1.5b84cd890df48p-6, 0x1.1ea0ee8f15608p-7,
    -0x1.19cd4b6465979p-9, -0x1.8fcba335d25fap-16, 0x1.fda8d34581d89p-13, -0x1.1a1129ea8829bp-14,
    -0x1.d6d0b0f69880dp-17, 0x1.86ac0fa5397fbp-17, 0x1.5dbb4a525a988p-24, -0x1.c756e87dae773p-20,
    0x1.2b0fc82fd7b53p-23, 0x1.132a1494e7c9bp-22, -0x1.e79ae0e35a195p-26, -0x1.5c86d47aa21a8p-25,
    0x1.83d55590ae2e9p-29, 0x1.7ad4ef62bd5d6p-28, 0x1.9d29b0e987883p-34, -0x1.7589b979ff985p-32
};

/* (1 + 1.25 x) Phi(-x) e^(x^2/2) for 0 <= x <= 40, Phi being the normal distribution function:
 * between 0.49 and 0.56, a polynomial in q = (x - 5)/(x + 5) that interpolates at Chebyshev's
 * points (2^-58). Less its constant it is below 0.06, so its roundings count 0.2 u; what q lost is
 * put back with the derivative, to which a tenth is enough. */
INLINE void mills_halves(VD q2, VD *even, VD *odd) {
    *even = K(mills[22]);
    *odd = K(mills[23]);
    for (int i = 20; i >= 2; i -= 2) {
        *even = MULADD(*even, q2, K(mills[i]));
        *odd = MULADD(*odd, q2, K(mills[i + 1]));
    }
    *odd = MULADD(*odd, q2, K(mills[1]));
}

INLINE Pair mills_numerator(VD x) {
    Pair n = sum_any(x, K(-5)), d = sum_any(x, K(5)), p;
    VD q = n.h / d.h, q2 = q * q;
    p = product(q, d.h);
    VD lost = (((n.h - p.h) - p.l) + (n.l - q * d.l)) * (1 - q) * 0.1;      /* 1/d is (1 - q)/10 */
    VD slope = MULADD(q, K(0x1.576b723c50bd2p-2), K(-0x1.3e47c0b4e63b7p-2));
    slope = MULADD(q, MULADD(q, slope, K(0x1.047f776fac6e8p-5)), K(0x1.7f1cb3c2517d8p-5));
    slope = MULADD(q, slope, K(-0x1.331678ee9327ap-4));
    VD even, odd;
    mills_halves(q2, &even, &odd);
    p = product(q, odd);
    Pair first = sum_ordered(K(mills[0]), p.h);
    VD rest = MULADD(even, q2, p.l) + (first.l + MULADD(lost, slope, K(0x1.c7d2ea2e83af0p-55)));
    return sum_ordered(first.h, rest);
}

/* x Phi(x). For x < 0 the exponent -x^2/2 is exact, as a pair: nothing is lost however steep the
 * tail is. Half an ulp + 0.3 u. */
INLINE VD composed_gelu(VD x) {
    VI k, negative = x < 0, tiny = magnitude(x) < 0x1p-60;
    VD size = magnitude(limited(x, 40));
    size = choose(tiny, K(1), size);
    Pair square = product(size, size), d = sum_any(size, 0.25 * size), one = sum_any(d.h, K(1));
    one.l += d.l;
    Pair m = pair_quotient(mills_numerator(size), one);
    m = pair_product(m, exp_pair(-0.5 * square.h, -0.5 * square.l, &k));
    Pair low = pair_times(m, -size);                     /* of -size, but for 2^k */
    VD scale = power_of_two((VI)((VU)k & (VU)(size < 12)));
    Pair high = sum_ordered(K(1), choose(size < 12, m.h * -scale, K(0)));
    high.l -= choose(size < 12, m.l * scale, K(0));
    high = pair_times(high, size);
    VD result = choose(negative, pair_scaled(low, k), high.h + high.l);
    result = choose(tiny, x * 0.5, result);
    return choose((x > 40) | (x != x), x, result);
}

/* ---- hyperbolic ---- */

/* (e^|x| + e^-|x|)/2: 0.1 u. Beyond 300 the second term does not count, and e^|x| may be
 * infinite. */
static __attribute__((noinline)) VD cosh_anywhere(VD x) {
    VI k;
    Pair e = exp_pair(magnitude(limited(x, 720)), K(0), &k);
    return pair_scaled(e, k - 1);
}

INLINE VD composed_cosh(VD x) {
    VI k, far = ~(magnitude(x) <= 300);
    Pair e = exp_pair(magnitude(x), K(0), &k), back = pair_inverse(e);
    VD scale = power_of_two(k - 1), down = power_of_two(-1 - k);
    Pair sum = sum_ordered(e.h * scale, back.h * down);
    VD result = sum.h + (sum.l + MULADD(back.l, down, e.l * scale));
    if (__builtin_expect(D_ANY(far), 0)) result = choose(far, cosh_anywhere(x), result);
    return result;
}

/* (e^|x| - e^-|x|)/2: above 0.35 at least half of its larger term; below, x + x^3 P(x^2), of which
 * the second term is at most 0.02 of the first. */
INLINE VD composed_sinh(VD x) {
    VI k;
    VD size = magnitude(limited(x, 720)), z = size * size;
    Pair e = exp_pair(size, K(0), &k), back = pair_inverse(e);
    VD scale = choose(size < 40, power_of_two((VI)(0 - 2 * ((VU)k & (VU)(size < 40)))), K(0));
    Pair sum = sum_ordered(e.h, back.h * -scale);
    sum.l += MULADD(back.l, -scale, e.l);
    VD p = MULADD(z, K(0x1.af496752b3e79p-26), K(0x1.71de065d6f188p-19));
    p = MULADD(z, MULADD(z, p, K(0x1.a01a01a9b97f7p-13)), K(0x1.1111111110717p-7));
    p = MULADD(z, p, K(0x1.5555555555556p-3));
    VD near = MULADD(size * z, p, size);
    return with_sign(choose(size < 0.35, near, pair_scaled(sum, k - 1)), x);
}

/* n/(n + 2) with n = e^2|x| - 1, whose terms are added before anything is rounded: 0.1 u. */
INLINE VD composed_tanh(VD x) {
    VD size = magnitude(limited(x, 20)), r, square, tail;
    VI k = exp_terms(size + size, K(0), &r, &square, &tail);
    VD scale = power_of_two((VI)((VU)k & (VU)(size == size)));
    Pair a = sum_ordered(scale - 1, scale * r), b = sum_ordered(a.h, scale * square);
    Pair n = sum_ordered(b.h, a.l + b.l + scale * tail), d = sum_any(n.h, K(2));
    d.l += n.l;
    Pair q = pair_quotient(n, d);
    return with_sign(choose(size < 0x1p-28, size, q.h + q.l), x);
}

/* log(a + sqrt(a^2 + 1)) of a = |x|, the sum as a pair: that of the logarithm, 0.15 u. Below 2^-27
 * it is x, above 2^28 log(2a). */
INLINE VD composed_asinh(VD x) {
    VD size = magnitude(x);
    VI large = size > 0x1p28;
    VD t = choose(large, K(1), size);
    Pair square = product(t, t), sum = sum_any(square.h, K(1));
    sum.l += square.l;
    Pair root = pair_root(sum), u = sum_ordered(root.h, t);
    VD in = choose(large, size, u.h), rest = choose(large, K(0), u.l + root.l);
    Pair log = log_pair(in, rest, choose(large, K(1), K(0)));
    VD result = choose((size < 0x1p-27) | ~(size < INFINITY), size, log.h + log.l);
    return with_sign(result, x);
}

/* log(x + sqrt(x^2 - 1)): x^2 - 1 is exact but for 2^-106, so the root of the difference is too.
 * Above 2^28 log(2x). */
static __attribute__((noinline)) VD acosh_anywhere(VD x) {
    Pair log = log_pair(choose(x > 1, x, K(1)), K(0), K(1));
    VD result = choose(x == INFINITY, x, log.h + log.l);
    return choose(x >= 1, choose(x == 1, K(0), result), K(NAN));
}

INLINE VD composed_acosh(VD x) {
    VI far = ~((x > 1) & (x <= 0x1p28));
    Pair square = product(x, x), sum = sum_ordered(square.h, K(-1));
    sum = sum_any(sum.h, sum.l + square.l);
    Pair root = pair_root(sum), u = sum_ordered(x, root.h), log = log_pair(u.h, u.l + root.l, K(0));
    VD result = log.h + log.l;
    if (__builtin_expect(D_ANY(far), 0)) result = choose(far, acosh_anywhere(x), result);
    return result;
}

/* log((1 + a)/(1 - a))/2 of a = |x|, the quotient as a pair; below 2^-27 it is x. */
INLINE VD composed_atanh(VD x) {
    VD size = magnitude(x);
    VI inside = size < 1;
    VD t = choose(inside, size, K(0));
    Pair u = pair_quotient(sum_ordered(K(1), t), sum_ordered(K(1), -t));
    Pair log = log_pair(u.h, u.l, K(0));
    VD result = choose(size < 0x1p-27, size, 0.5 * (log.h + log.l));
    result = choose(inside, result, choose(size == 1, K(INFINITY), K(NAN)));
    return with_sign(result, x);
}

/* ---- log10 and cbrt ---- */

/* The logarithm's 0.12 u, times log10(e) in two parts. */
INLINE VD log10_of(VD x, VD more) {
    Pair log = log_pair(x, K(0), more), p = product(log.h, K(0x1.bcb7b1526e50ep-2));
    return p.h + (p.l + MULADD(log.l, K(0x1.bcb7b1526e50ep-2), log.h * 0x1.95355baaafad3p-57));
}

static __attribute__((noinline)) VD log10_anywhere(VD x) {
    VI subnormal = x < 0x1p-1022, valid = (x > 0) & (x < INFINITY);
    VD t = choose(valid, choose(subnormal, x * 0x1p54, x), K(1));
    VD odd = choose(x == 0, K(-INFINITY), choose(x == INFINITY, x, K(NAN)));
    return choose(valid, log10_of(t, choose(subnormal, K(-54), K(0))), odd);
}

INLINE VD composed_log10(VD x) {
    VI far = ~((x >= 0x1p-1022) & (x < INFINITY));
    VD result = log10_of(x, K(0));
    if (__builtin_expect(D_ANY(far), 0)) result = choose(far, log10_anywhere(x), result);
    return result;
}

/* Of a normal x > 0. With m in [1, 8): z = m^(-1/3) by a polynomial (2^-8) and three steps of
 * Newton's, r = m z^2 good to some ulps, and one step with the exact remainder m - r^3: half an
 * ulp. */
INLINE VD cbrt_normal(VD x) {
    VI e = (VI)((VU)x >> 52) - 1023;
    VD exponent = (VD)((VU)K(0x1.8p52) + (VU)e) - K(0x1.8p52),
       shifted = (exponent - 1) * (1 / 3.0) + 0x1.8p52;
    VI third = (VI)((VU)shifted - (VU)K(0x1.8p52));
    VD m = (VD)((VU)x - ((VU)third * 3 << 52));
    VD z = MULADD(m, K(0x1.5fddeb924e5ccp-16), K(-0x1.70246ffeed0e5p-11));
    z = MULADD(m, MULADD(m, z, K(0x1.3aa6126fe135dp-7)), K(-0x1.1bb15e86cc1c5p-4));
    z = MULADD(m, MULADD(m, z, K(0x1.24770051837f8p-2)), K(-0x1.673d9ef08e379p-1));
    z = MULADD(m, z, K(0x1.79a6b8b863b0ap+0));
    for (int i = 0; i < 3; i++) z = z * (4 - m * z * z * z) * (1 / 3.0);
    VD r = m * z * z;
    Pair square = product(r, r), cube = product(square.h, r);
    VD rest = (m - cube.h) - (cube.l + square.l * r);
    return MULADD(rest, z * z * (1 / 3.0), r) * power_of_two(third);
}

static __attribute__((noinline)) VD cbrt_anywhere(VD x) {
    VD size = magnitude(x);
    VI valid = (size > 0) & (size < INFINITY);
    return choose(valid,
                  with_sign(cbrt_normal(choose(valid, size * 0x1p54, K(1))) * 0x1p-18, x), x);
}

INLINE VD composed_cbrt(VD x) {
    VD size = magnitude(x), result = with_sign(cbrt_normal(size), x);
    VI far = ~((size >= 0x1p-1022) & (size < INFINITY));
    if (__builtin_expect(D_ANY(far), 0)) result = choose(far, cbrt_anywhere(x), result);
    return result;
}

/* ---- erf ---- */

/* Below 0.5: x (2/sqrt(pi) + z P(z)), z = x^2, the constant in two parts and z P at most 0.09 of
 * it: half an ulp + 0.2 u, where the C library's passes 1 ulp. Beyond, that is good to 0.88. */
static __attribute__((noinline)) VD erf_anywhere(VD x) {
    double a[D_LANES];
    memcpy(a, &x, sizeof x);
    for (int k = 0; k < D_LANES; k++) a[k] = erf(a[k]);
    memcpy(&x, a, sizeof x);
    return x;
}

INLINE VD composed_erf(VD x) {
    VD size = magnitude(x), z = size * size, z2 = z * z;
    VD a = MULADD(z, K(0x1.ce2f21a0421d8p-4), K(-0x1.812746b0379e6p-2));
    VD b = MULADD(z, K(0x1.565bcca4bb364p-8), K(-0x1.b82ce311b5b62p-6));
    VD c = MULADD(z, K(0x1.f995342dac147p-14), K(-0x1.c02d7ff2fc41bp-11));
    VD d = MULADD(z, K(0x1.903e05001fb1ap-20), K(-0x1.f2be4c6758da4p-17));
    VD p = MULADD(z2, MULADD(z2, MULADD(z2, d, c), b), a);
    Pair line = product(size, K(0x1.20dd750429b6dp+0));
    VD near = line.h + MULADD(size, MULADD(z, p, K(0x1.1ae3a914fed80p-56)), line.l);
    VD result = with_sign(choose(size < 0x1p-900, line.h, near), x);
    VI far = ~(size < 0.5);
    if (D_ANY(far)) result = choose(far, erf_anywhere(x), result);
    return result;
}

/* ---- f32: computed in f64, rounded once more ---- */

/* Errors of some 2^-35 are 2^-11 of an ulp here, so that plain sums and shorter polynomials do. */
INLINE VD rough_exp(VD x) {
    VD shifted = MULADD(x, K(0x1.71547652b82fep0), K(0x1.8p52)), n = shifted - K(0x1.8p52);
    VD r = MULADD(n, K(-0x1.62e42fefa39efp-1), x), r2 = r * r;
    VD a = MULADD(r, K(0x1.55555567627c9p-3), K(0.5)),
       b = MULADD(r, K(0x1.1110c6082687dp-7), K(0x1.5555555c8d349p-5));
    VD c = MULADD(r, K(0x1.a151d2368eb76p-13), K(0x1.6c16856981742p-10));
    c = MULADD(r2, K(0x1.a11366bf80e67p-16), c);
    VD p = MULADD(r2, MULADD(r2, MULADD(r2, c, b), a), r);
    return (1 + p) * power_of_two((VI)((VU)shifted - (VU)K(0x1.8p52)));
}

INLINE VD rough_cosh(VD x) {
    VD e = rough_exp(magnitude(limited(x, 120)));
    return 0.5 * (e + 1 / e);
}

#ifdef F_FMA
/* tanh of floats in floats, which are twice as many a vector: within 0.91 ulp (every float was
 * looked at). Below 0.8 a polynomial; above it 1 - 2/(1 + e^2x), where what the power and the sum
 * lose in rounding is put back. */
typedef uint32_t VB __attribute__((vector_size(sizeof(VF))));
#define KF(c) F_SET1(c)
INLINE VF float_tanh(VF x) {
    VB sign = (VB)x & 0x80000000u;
    VF size = (VF)((VB)x ^ sign), z = size * size;
    VF p = F_FMA(z, KF(-0x1.2c39a4p-11f), KF(0x1.761f7ep-9f));
    p = F_FMA(z, F_FMA(z, p, KF(-0x1.16e066p-7f)), KF(0x1.64bab2p-6f));
    p = F_FMA(z, F_FMA(z, p, KF(-0x1.b9fd72p-5f)), KF(0x1.111086p-3f));
    p = F_FMA(z, p, KF(-0x1.555554p-2f));
    VF near = F_FMA(size * z, p, size);
    VF least = F_MIN(KF(10), size), twice = least + least;      /* of nan: nan */
    VF shifted = F_FMA(twice, KF(0x1.715476p0f), KF(0x1.8p23f)), n = shifted - KF(0x1.8p23f);
    VF r = F_FMA(n, KF(-0x1.7f7d1cp-20f), F_FMA(n, KF(-0x1.62e4p-1f), twice));
    VF q = F_FMA(r, KF(0x1.6db41p-10f), KF(0x1.123b54p-7f));
    q = F_FMA(r, F_FMA(r, F_FMA(r, q, KF(0x1.55545ep-5f)), KF(0x1.55548ep-3f)), KF(0.5f));
    VF w = F_FMA(r * r, q, r), e = 1 + w, rest = w - (e - 1);
    VF by = (VF)(((VB)shifted << 23) + 0x3f800000u), power = e * by, below = 1 + power;
    VF lost = F_FMA(rest, by, 1 - (below - power)), t = 2 / below, far = 1 - t;
    far += F_FMA(KF(0.5f) * lost * t, t, (1 - far) - t);
    return (VF)((VB)F_BELOW(size, 0.8f, near, far) | sign);
}

static void composed_TANH_F32(void *out, int64_t so, const void *const *in, const int64_t *si,
                              int64_t n) {
    float *o = out, a[F_LANES];
    const float *x = in[0];
    int64_t i = 0, sx = si[0];
    if (so == 1 && sx == 1)
        for (; i + F_LANES <= n; i += F_LANES) F_STORE(o + i, float_tanh(F_LOAD(x + i)));
    for (; i < n; i += F_LANES) {
        int64_t count = n - i < F_LANES ? n - i : F_LANES;
        for (int64_t k = 0; k < F_LANES; k++) a[k] = x[(i + (k < count ? k : 0)) * sx];
        F_STORE(a, float_tanh(F_LOAD(a)));
        for (int64_t k = 0; k < count; k++) o[(i + k) * so] = a[k];
    }
}
#undef KF
#else
/* Near 0 a series, whose first term left out is below 2^-32 of it. */
INLINE VD rough_tanh(VD x) {
    VD size = magnitude(x), z = size * size;
    VD p = MULADD(z, K(-1382 / 155925.0), K(62 / 2835.0));
    p = MULADD(z, MULADD(z, p, K(-17 / 315.0)), K(2 / 15.0));
    VD near = MULADD(size * z, MULADD(z, p, K(-1 / 3.0)), size);
    VD far = 1 - 2 / (1 + rough_exp(limited(size + size, 40)));
    return with_sign(choose(size < 0.25, near, far), x);
}
#endif

INLINE VD rough_sigmoid(VD x) { return 1 / (1 + rough_exp(-limited(x, 120))); }

INLINE VD rough_silu(VD x) {
    return choose(x < -120, K(-0.0), x) * rough_sigmoid(x);
}

/* log(1 + e) = 2 artanh(s), s = e/(2 + e) <= 1/3, as s times a polynomial in s^2. */
INLINE VD rough_softplus(VD x) {
    VD e = rough_exp(-magnitude(limited(x, 120))), s = e / (2 + e), z = s * s, z2 = z * z;
    VD a = MULADD(z, K(0x1.5555555694e90p-1), K(0x1.ffffffffffdc7p+0));
    VD b = MULADD(z, K(0x1.2492cc4fab44ep-2), K(0x1.999997c399b66p-2));
    VD c = MULADD(z, K(0x1.76fd5c9158e31p-3), K(0x1.c6f8ad634a607p-3));
    VD d = MULADD(z, K(0x1.9afeeea00f068p-3), K(0x1.202b4d7a53fc3p-3));
    VD p = MULADD(z2, MULADD(z2, MULADD(z2, d, c), b), a);
    return choose(x > 0, x, K(0)) + choose(x != x, x, s * p);
}

INLINE VD rough_gelu(VD x) {
    VD size = magnitude(limited(x, 20)), up = size + 5, line = MULADD(size, K(1.25), K(1));
    VD both = 1 / (up * line), q = (size - 5) * line * both, even, odd;
    mills_halves(q * q, &even, &odd);
    VD p = MULADD(q, MULADD(even, q, odd), K(mills[0]));
    VD low = p * up * both * rough_exp(-0.5 * size * size);
    VD result = choose(x < 0, -size * low, size * (1 - low));
    return choose((x > 20) | (x == 0) | (x != x), x, result);
}

/* ---- kernels ---- */

typedef VD (*ComposedFn)(VD);

INLINE void composed_F64(void *out, int64_t so, const void *const *in, const int64_t *si, int64_t n,
                         ComposedFn f) {
    double *o = out, a[D_LANES];
    const double *x = in[0];
    VD v;
    int64_t i = 0, sx = si[0];
    if (so == 1 && sx == 1)
        for (; i + D_LANES <= n; i += D_LANES) {
            memcpy(&v, x + i, sizeof v);
            v = f(v);
            memcpy(o + i, &v, sizeof v);
        }
    for (; i < n; i += D_LANES) {
        int64_t count = n - i < D_LANES ? n - i : D_LANES;
        for (int64_t k = 0; k < D_LANES; k++) a[k] = x[(i + (k < count ? k : 0)) * sx];
        memcpy(&v, a, sizeof v);
        v = f(v);
        memcpy(a, &v, sizeof v);
        for (int64_t k = 0; k < count; k++) o[(i + k) * so] = a[k];
    }
}

INLINE void composed_F32(void *out, int64_t so, const void *const *in, const int64_t *si, int64_t n,
                         ComposedFn f) {
    float *o = out, a[D_LANES];
    const float *x = in[0];
    VS v;
    int64_t i = 0, sx = si[0];
    if (so == 1 && sx == 1)
        for (; i + D_LANES <= n; i += D_LANES) {
            memcpy(&v, x + i, sizeof v);
            v = __builtin_convertvector(f(__builtin_convertvector(v, VD)), VS);
            memcpy(o + i, &v, sizeof v);
        }
    for (; i < n; i += D_LANES) {
        int64_t count = n - i < D_LANES ? n - i : D_LANES;
        for (int64_t k = 0; k < D_LANES; k++) a[k] = x[(i + (k < count ? k : 0)) * sx];
        memcpy(&v, a, sizeof v);
        v = __builtin_convertvector(f(__builtin_convertvector(v, VD)), VS);
        memcpy(a, &v, sizeof v);
        for (int64_t k = 0; k < count; k++) o[(i + k) * so] = a[k];
    }
}

#define COMPOSED_ROWS(ROW) \
    ROW(SIGMOID, F64, composed_sigmoid) ROW(SILU, F64, composed_silu)                             \
    ROW(SOFTPLUS, F64, composed_softplus)                                                         \
    ROW(GELU, F64, composed_gelu) ROW(SINH, F64, composed_sinh) ROW(COSH, F64, composed_cosh) \
    ROW(TANH, F64, composed_tanh) ROW(ASINH, F64, composed_asinh) ROW(ACOSH, F64, composed_acosh) \
    ROW(ATANH, F64, composed_atanh) ROW(LOG10, F64, composed_log10) ROW(CBRT, F64, composed_cbrt) \
    ROW(ERF, F64, composed_erf)
#define ROUGH_ROWS(ROW) \
    ROW(SIGMOID, F32, rough_sigmoid) ROW(SILU, F32, rough_silu) ROW(SOFTPLUS, F32, rough_softplus) \
    ROW(GELU, F32, rough_gelu) ROW(COSH, F32, rough_cosh)
#define ROW(id, type, f) \
    static void composed_##id##_##type(void *out, int64_t so, const void *const *in, \
                                       const int64_t *si, int64_t n) { \
        composed_##type(out, so, in, si, n, f); \
    }
COMPOSED_ROWS(ROW)
ROUGH_ROWS(ROW)
#ifndef F_FMA
ROW(TANH, F32, rough_tanh)
#endif
#undef ROW

#include "kernels/elementwise/ew_power.tmpl.h"

#define ROW(id, type, f) [EW_##id][DT_##type] = composed_##id##_##type,
const EwFn COMPOSED[EW_COUNT][DT_COUNT] = {
    COMPOSED_ROWS(ROW) ROUGH_ROWS(ROW) ROW(TANH, F32, ) ROW(POWER, F64, ) ROW(POWER, F32, )
    ROW(POWER, I8, ) ROW(POWER, U8, ) ROW(POWER, I32, ) ROW(POWER, I64, )
    [EW_DIVIDE][DT_C64] = quotients_C64,
    [EW_ABS] = { [DT_C128] = modulus_C128, [DT_C64] = modulus_C64 },
    [EW_POWER][DT_C128] = complex_powers_C128, [EW_POWER][DT_C64] = complex_powers_C64,
};
#undef ROW
