/* Exponential, logarithm and gamma in pairs of doubles, by tables. Some 70 bits are right, of
 * results of a moderate size. */

static const Pair pair_one = { 1, 0 };

/* 2^k of a normal number. */
static double power_of_2(int k)
{
    uint64_t bits = (uint64_t)(k + 1023) << 52;
    double r;
    memcpy(&r, &bits, sizeof r);
    return r;
}

/* 2^(i / 64) times exp of a rest below 1/184, of |x| < 700. From the third power on doubles will
 * do: that is below 3e-8. */
static Pair pair_exp(Pair x)
{
    enum { PARTS = 64 };
    static const Pair log2 = { 0.6931471805599453 / PARTS, 2.3190468138462996e-17 / PARTS };
    double i = rint(x.h / log2.h), whole = floor(i / PARTS);
    Pair r = pair_sub(x, pair_scale(log2, i)), square = pair_mul(r, r);
    double t = r.h, tail = 1.0 / 720 + t * (1.0 / 5040 + t * (1.0 / 40320 + t / 362880));
    tail = 1.0 / 6 + t * (1.0 / 24 + t * (1.0 / 120 + t * tail));
    Pair s = pair_add(r, (Pair){ square.h / 2, square.l / 2 + tail * t * square.h });
    Pair part = exp_table[(int)(i - PARTS * whole)];
    s = pair_add(part, pair_mul(part, s));
    double scale = power_of_2((int)whole);
    return (Pair){ s.h * scale, s.l * scale };
}

/* As pair_exp, to 2^-59: what is beside 2^(i / 64) is below 1/128 of it. */
static Pair pair_exp_near(Pair x)
{
    enum { PARTS = 64 };
    static const Pair log2 = { 0.6931471805599453 / PARTS, 2.3190468138462996e-17 / PARTS };
    double i = rint(x.h / log2.h), whole = floor(i / PARTS), t = fma(-i, log2.h, x.h);
    double low = fma(-i, log2.l, x.l);
    double tail = 1.0 / 6 + t * (1.0 / 24 + t * (1.0 / 120 + t * (1.0 / 720 + t / 5040)));
    Pair part = exp_table[(int)(i - PARTS * whole)];
    double s = t + (low + t * t * (0.5 + t * tail));
    double scale = power_of_2((int)whole);
    return pair_ordered(part.h * scale, (part.l + part.h * s) * scale);
}

/* Of a normal x > 0: 2^k / v times 1 + r, |r| < 1/160, v of the table. */
static Pair pair_log(Pair x)
{
    static const Pair log2 = { 0.6931471805599453, 2.3190468138462996e-17 };
    uint64_t bits;
    memcpy(&bits, &x.h, sizeof bits);
    int k = (int)(bits >> 52) - 1023;
    double m = x.h * power_of_2(-k / 2) * power_of_2(-k - -k / 2);
    double rest = x.l * power_of_2(-k / 2) * power_of_2(-k - -k / 2);
    if (m > 1.4142) {
        m /= 2;
        rest /= 2;
        k++;
    }
    int i = (int)rint(m * 128) - 90;
    double v = log_table[i].v, p = m * v;
    Pair r = pair_sum(p - 1, fma(m, v, -p) + rest * v);
    double t = r.h, tail = 1.0 / 7 - t * (1.0 / 8 - t * (1.0 / 9 - t * (0.1 - t * (1.0 / 11))));
    tail = 1.0 / 3 - t * (0.25 - t * (1.0 / 5 - t * (1.0 / 6 - t * tail)));
    double square = t * t, low = fma(t, t, -square);
    Pair s = pair_add(r, pair_sum(-square / 2, square * t * tail - low / 2 - t * r.l));
    return pair_add(pair_add(pair_scale(log2, k), log_table[i].log), s);
}

/* Of |r| <= pi/4: c is the multiple of 1/32 that is next, the rest below 1/64. */
static void sincos_near(Pair r, Pair *sine, Pair *cosine)
{
    double i = rint(fabs(r.h) * 32), sign = r.h < 0 ? -1 : 1;
    Pair s = sin_table[(int)i], c = cos_table[(int)i];
    Pair d = pair_sub(pair_scale(r, sign), pair_of(i / 32)), square = pair_mul(d, d);
    double t = square.h;
    Pair sine_d = pair_add(d, pair_of(d.h * t * (-1.0 / 6 + t * (1.0 / 120 - t / 5040))));
    /* cos(d) - 1 */
    Pair cosine_d = pair_add((Pair){ -square.h / 2, -square.l / 2 },
                             pair_of(t * t * (1.0 / 24 - t * (1.0 / 720 - t / 40320))));
    Pair sum = pair_add(pair_mul(s, cosine_d), pair_mul(c, sine_d));
    *sine = pair_scale(pair_add(s, sum), sign);
    *cosine = pair_add(c, pair_sub(pair_mul(c, cosine_d), pair_mul(s, sine_d)));
}

/* Of an angle below 1e6 or so, beyond which its quarter turns have too few digits. */
static void pair_sincos(Pair angle, Pair *sine, Pair *cosine)
{
    static const Pair half_pi = { 1.5707963267948966, 6.123233995736766e-17 };
    Pair s, c;
    double n = rint(angle.h / half_pi.h);
    sincos_near(pair_sub(angle, pair_scale(half_pi, n)), &s, &c);
    int turn = (int)fmod(n, 4) & 3;
    *sine = turn & 1 ? c : s;
    *cosine = turn & 1 ? s : c;
    if (turn & 2)
        *sine = pair_negative(*sine);
    if (turn == 1 || turn == 2)
        *cosine = pair_negative(*cosine);
}

/* Stirling's series (DLMF 5.11.1) of x >= 16, without its first terms. */
static Pair stirling(Pair x)
{
    static const Pair twelfth = { 0.08333333333333333, 4.625929269271485e-18 };
    static const double c[] = { -0.002777777777777778, 0.0007936507936507937,
                                -0.0005952380952380953, 0.0008417508417508417,
                                -0.0019175269175269176, 0.00641025641025641,
                                -0.029550653594771242, 0.17964437236883057, -1.3924322169059011 };
    Pair v = pair_div(pair_of(1), x);
    double w = v.h * v.h, s = 0;
    for (int i = sizeof c / sizeof *c - 1; i >= 0; i--)
        s = s * w + c[i];
    return pair_add(pair_mul(twelfth, v), pair_of(s * w * v.h));
}

/* Of 1 <= x < 16 by Taylor's series around the middle of its eighth of an octave. */
static Pair lgamma_near(Pair x)
{
    enum { TAIL = sizeof *lgamma_tail / sizeof **lgamma_tail };
    int e = x.h >= 8 ? 3 : x.h >= 4 ? 2 : x.h >= 2 ? 1 : 0;
    double m = x.h * power_of_2(-e);
    int i = (int)((m - 1) * 8), row = 8 * e + i;
    Pair t = pair_sum(x.h - (1 + (2 * i + 1) / 16.0) * power_of_2(e), x.l);
    const double *c = lgamma_tail[row];
    double square = t.h * t.h, even = c[TAIL - 1], odd = c[TAIL - 2];
    for (int k = TAIL - 3; k > 0; k -= 2) {
        even = even * square + c[k];
        odd = odd * square + c[k - 1];
    }
    const Pair *head = lgamma_head[row];
    Pair s = pair_add(head[3], pair_of((even * square + odd * t.h + c[0]) * t.h));
    for (int k = 2; k >= 0; k--)
        s = pair_add(head[k], pair_mul(s, t));
    return s;
}

/* Of 1e-300 < x < 1e300, to 2^-68 or so of its terms. */
static Pair pair_lgamma(Pair x)
{
    enum { LARGE = 16 };
    static const Pair half_log = { 0.9189385332046728, -3.8782941580672414e-17 };
    if (x.h < 1)
        return pair_sub(lgamma_near(pair_add(x, pair_of(1))), pair_log(x));
    if (x.h < LARGE)
        return lgamma_near(x);
    Pair s = pair_sub(pair_mul(pair_sub(x, pair_of(0.5)), pair_log(x)), x);
    return pair_add(pair_add(s, half_log), stirling(x));
}
