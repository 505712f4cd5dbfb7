/* Incomplete gamma and beta functions and their inverses: the smaller tail of the two in pairs, by
 * a power series or a continued fraction. What is far down in those counts little and comes in
 * doubles. */

/* A tail and the slope: of gamma x f(x), of beta x (1 - x) f(x), f being the density. */
typedef struct Tail { Pair value; double slope; bool upper; } Tail;

/* ---- gamma ---- */

/* 1 + x / (a + 1) (1 + x / (a + 2) (1 + …)) */
static bool gamma_series(double a, double x, Pair *sum)
{
    enum { STEPS_MAX = 600 };
    Pair term = { 1, 0 };
    int k = 1;
    *sum = term;
    for (; k < STEPS_MAX && term.h > 0x1p-12 * sum->h; k++) {
        term = pair_mul(term, pair_div(pair_of(x), pair_sum(a, k)));
        *sum = pair_add(*sum, term);
    }
    double small = term.h, rest = 0;
    for (; k < STEPS_MAX && small > 1e-20 * sum->h; k++) {
        small *= x / (a + k);
        rest += small;
    }
    *sum = pair_add(*sum, pair_of(rest));
    return k < STEPS_MAX;
}

/* Gamma(a, x) / (x^a e^-x) by its continued fraction (DLMF 8.9.2), backwards from where Lentz's way
 * stops. */
static bool fraction_above(double a, double x, double *r)
{
    enum { STEPS_MAX = 2000 };
    double b = x + 1 - a, c = 1e300, d = 1 / b, h = d, change = 0;
    int n = 1;
    for (; n < STEPS_MAX && fabs(change - 1) > 1e-17; n++) {
        double t = n * (a - n);
        b += 2;
        d = 1 / (t * d + b);
        c = b + t / c;
        change = c * d;
        h *= change;
    }
    double f = x + 2 * n + 1 - a;
    for (int k = n; k >= 1; k--)
        f = x + 2 * k - 1 - a + k * (a - k) / f;
    *r = 1 / f;
    return n < STEPS_MAX && isfinite(h);
}

/* lgamma being that of a + 1. */
static bool gamma_tail(double a, double x, Pair lgamma, Tail *t)
{
    Pair e = pair_sub(pair_scale(pair_log(pair_of(x)), a), pair_of(x));
    e = pair_sub(e, lgamma);
    if (!(fabs(e.h) < 650))
        return false;
    Pair factor = pair_exp(e);
    t->slope = factor.h * a;
    t->upper = x >= a + 1;
    double fraction;
    if (t->upper) {
        bool done = fraction_above(a, x, &fraction);
        t->value = pair_scale(pair_scale(factor, a), fraction);
        return done;
    }
    Pair sum;
    bool done = gamma_series(a, x, &sum);
    t->value = pair_mul(factor, sum);
    return done;
}

enum { GAMMAINC_MODERATE = 40 };

/* gamma_series as a quotient p / q from its last term, the first terms in pairs. */
static void series_in_doubles(double a, double x, Pair *above, Pair *below)
{
    enum { IN_PAIRS = 5 };
    double power = 0x1p57, product = 1, p = 1, q = 1, fourth = x * x * (x * x), k = 0;
    for (; power > product; k += 4) {
        product *= (a + k + 1) * (a + k + 2) * ((a + k + 3) * (a + k + 4));
        power *= fourth;
    }
    for (; k > IN_PAIRS; k--) {
        q *= a + k;
        p = fma(x, p, q);
    }
    double p_low = 0, q_low = 0;
    for (; k >= 1; k--) {
        Pair f = pair_sum(k, a);
        double next = q * f.h, part = x * p, part_low = fma(x, p, -part);
        q_low = fma(q, f.h, -next) + (q_low * f.h + q * f.l);
        q = next;
        Pair sum = pair_sum(q, part);
        p_low = fma(x, p_low, part_low) + (q_low + sum.l);
        p = sum.h;
    }
    *above = pair_ordered(p, p_low);
    *below = pair_ordered(q, q_low);
}

/* fraction_above as a quotient, from its last term: where two convergents differ by little, which
 * is the product of what is above the lines over that of their numerators. */
static bool fraction_in_doubles(double a, double x, Pair *above, Pair *below)
{
    enum { STEPS_MAX = 300 };
    double b = x + 1 - a, last = b, before = 1, product = x + 1, p = 1, q = 0;
    int n = 1;
    for (; n < STEPS_MAX && fabs(product) > 0x1p-60 * fabs(last * before); n++) {
        double next = fma(n * (a - n), before, (b + 2 * n) * last);
        product *= n * (a - n);
        before = last;
        last = next;
        if (fabs(last) > 0x1p200) {
            last *= 0x1p-200;
            before *= 0x1p-200;
            product *= 0x1p-400;
        }
    }
    for (int k = n; k >= 0; k--) {
        double next = fma((k + 1) * (a - (k + 1)), q, (b + 2 * k) * p);
        q = p;
        p = next;
        if (fabs(p) > 0x1p200) {
            p *= 0x1p-200;
            q *= 0x1p-200;
        }
    }
    *above = pair_of(q);
    *below = pair_of(p);
    return n < STEPS_MAX;
}

/* Of a below GAMMAINC_MODERATE, where sums in doubles do. */
static bool gammainc_moderate(double a, double x, double *r)
{
    Pair e = pair_sub(pair_scale(pair_log(pair_of(x)), a), pair_of(x));
    Pair gamma = pair_gamma(pair_sum(a, 1));
    bool upper = x >= a + 1 && x >= 4;
    Pair above, below;
    if (!(fabs(e.h) < 650))
        return false;
    if (!upper)
        series_in_doubles(a, x, &above, &below);
    else if (!fraction_in_doubles(a, x, &above, &below))
        return false;
    Pair value = product_over(pair_exp_near(e), upper ? pair_scale(above, a) : above,
                              pair_mul(below, gamma));
    *r = upper ? 1 - value.h : value.h;
    return *r > (upper ? 0.4 : 1e-290);
}

static bool fast_gammainc(const double *x, double *r)
{
    if (x[0] > 1e-3 && x[0] < GAMMAINC_MODERATE && x[1] > 1e-290 && x[1] < 1000)
        return gammainc_moderate(x[0], x[1], r);
    double a = x[0], z = x[1];
    Tail t;
    if (!(a > 1e-3 && a < 500 && z > 1e-290 && z < 1000) ||
        !gamma_tail(a, z, pair_lgamma(pair_sum(a, 1)), &t))
        return false;
    *r = t.upper ? 1 - t.value.h : t.value.h;
    return *r > (t.upper ? 0.4 : 1e-290);
}

/* F - p, F the lower tail. */
static double tail_error(Tail t, double p)
{
    Pair e = t.upper ? pair_sub(pair_sum(1, -p), t.value) : pair_sub(t.value, pair_of(p));
    return e.h;
}

/* The quantile of the normal distribution. */
static double normal_quantile(double p)
{
    double low = fmin(p, 1 - p), t = sqrt(-2 * log(low));
    double z = t - (2.515517 + t * (0.802853 + t * 0.010328)) /
                       (1 + t * (1.432788 + t * (0.189269 + t * 0.001308)));
    return p < 0.5 ? -z : z;
}

/* Where the search begins: by Wilson and Hilferty, or from the first term of the series, or from
 * that of the upper tail. */
static double gamma_guess(double a, double p, Pair lgamma)
{
    double small = exp((log(p) + lgamma.h) / a);
    if (small < 0.3 * (a + 1) && (a < 1 || small < 0.1))
        return small * (1 + small / (a + 1));
    if (a < 1) {
        double q = 1 - p, gamma = exp(lgamma.h) / a, x = fmax(0.5, -log(q * gamma));
        for (int i = 0; i < 2; i++)
            x = fmax(0.5 * x, -log(q * gamma) + (a - 1) * log(x));
        return x;
    }
    double c = 1 / (9 * a), root = 1 - c + normal_quantile(p) * sqrt(c);
    return root > 0.2 ? a * root * root * root : small;
}

/* Steps of Halley; the last one is so small that the next, a third power of it, would change
 * nothing. */
static bool fast_gammaincinv(const double *x, double *r)
{
    enum { STEPS_MAX = 20 };
    double a = x[0], p = x[1];
    Tail t;
    if (!(a > 1e-3 && a < 400 && p > 1e-250 && p < 1))
        return false;
    Pair lgamma = pair_lgamma(pair_sum(a, 1));
    double z = gamma_guess(a, p, lgamma);
    if (z < 1e-20) {
        Pair s = pair_over(pair_add(pair_log(pair_of(p)), lgamma), a);
        return s.h > -640 ? *r = pair_exp(s).h, true : false;
    }
    for (int i = 0; i < STEPS_MAX; i++) {
        if (!(z > 1e-290 && z < 1000) || !gamma_tail(a, z, lgamma, &t) || !(t.slope > 1e-280))
            return false;
        /* parts of z */
        double u = tail_error(t, p) / t.slope, bend = fmax(-1, fmin(1, u * (a - 1 - z)));
        double step = fmin(0.9, u / (1 - 0.5 * bend));
        step = fmax(-9, step);
        z -= z * step;
        if (fabs(step) * (bend * bend + (a + 1) * step * step) < 1e-17)
            return *r = z, true;
    }
    return false;
}

/* ---- beta ---- */

enum { FRACTION_MAX = 400 };

static void beta_step(double a, double b, double x, int m, double *d)
{
    d[2 * m] = m ? m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)) : 0;
    d[2 * m + 1] = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
}

/* 1 / (1 + d(1) / (1 + d(2) / (1 + ...))) (DLMF 8.17.22), d from its formula: *n what it takes, and
 * half as much again, as it may come slowly; *top where it has six digits. */
static bool beta_terms(double a, double b, double x, double *d, int *n, int *top)
{
    double before = 1, last = 1, a0 = 1, a1 = 1, b0 = 1, b1 = 0;
    *top = -1;
    for (int m = 0; m < FRACTION_MAX * 2 / 3; m++) {
        beta_step(a, b, x, m, d);
        if (m) {
            a0 = a1 + d[2 * m] * a0;
            b0 = b1 + d[2 * m] * b0;
        }
        double next = a0 + d[2 * m + 1] * a1, under = b0 + d[2 * m + 1] * b1;
        a1 = next / under;
        a0 /= under;
        b0 /= under;
        b1 = 1;
        if (fabs(a1 - last) < 1e-6 * fabs(a1) && *top < 0)
            *top = m;
        if (fabs(a1 - last) <= 1e-16 * fabs(a1) && fabs(last - before) <= 1e-15 * fabs(a1)) {
            *n = m + m / 2;
            while (m < *n)
                beta_step(a, b, x, ++m, d);
            return isfinite(a1) && *top >= 0;
        }
        before = last;
        last = a1;
    }
    return false;
}

static bool beta_fraction(double a, double b, Pair x, Pair *r)
{
    double d[2 * FRACTION_MAX], tail = 1;
    int n, top;
    if (!beta_terms(a, b, x.h, d, &n, &top))
        return false;
    for (int k = 2 * n + 1; k > 2 * top + 1; k--)
        tail = 1 + d[k] / tail;
    Pair f = pair_of(tail);
    for (int m = top; m >= 0; m--) {
        Pair over = pair_mul(pair_sum(a, m), pair_add(pair_sum(a, b), pair_of(m)));
        Pair under = pair_mul(pair_sum(a, 2 * m), pair_sum(a, 2 * m + 1));
        f = pair_sub(pair_one, pair_div(pair_mul(over, x), pair_mul(under, f)));
        if (!m)
            break;
        over = pair_scale(pair_sum(b, -m), m);
        under = pair_mul(pair_sum(a, 2 * m - 1), pair_sum(a, 2 * m));
        f = pair_add(pair_one, pair_div(pair_mul(over, x), pair_mul(under, f)));
    }
    *r = pair_div(pair_one, f);
    return true;
}

/* y being 1 - x, logarithm that of B(a, b). */
static bool beta_tail(double a, double b, Pair x, Pair y, Pair logarithm, Tail *t)
{
    Pair f, e = pair_add(pair_scale(pair_log(x), a), pair_scale(pair_log(y), b));
    e = pair_sub(e, logarithm);
    t->upper = x.h > (a + 1) / (a + b + 2);
    double first = t->upper ? b : a, second = t->upper ? a : b;
    if (!(fabs(e.h) < 650) || !beta_fraction(first, second, t->upper ? y : x, &f))
        return false;
    Pair factor = pair_exp(e);
    t->slope = factor.h;
    t->value = pair_over(pair_mul(factor, f), first);
    return true;
}

static bool fast_betainc(const double *x, double *r)
{
    double a = x[0], b = x[1], z = x[2];
    Pair logarithm;
    Tail t;
    if (!(a > 1e-2 && b > 1e-2 && a < 2000 && b < 2000 && z > 1e-290 && z < 1) ||
        !beta_logarithm(x, &logarithm) ||
        !beta_tail(a, b, pair_of(z), pair_sum(1, -z), logarithm, &t))
        return false;
    *r = t.upper ? pair_sub(pair_one, t.value).h : t.value.h;
    return *r > (t.upper ? 1e-3 : 1e-290);
}

/* log(x / (1 - x)) near enough: Abramowitz and Stegun 26.5.22, or from the first terms at the ends,
 * the one that is on the same side as p. */
static double beta_guess(double a, double b, double p)
{
    if (a >= 1 && b >= 1) {
        double z = -normal_quantile(p), part = (z * z - 3) / 6;
        double u = 1 / (2 * a - 1), v = 1 / (2 * b - 1), h = 2 / (u + v);
        double w = z * sqrt(fmax(0, part + h)) / h - (v - u) * (part + 5.0 / 6 - 2 / (3 * h));
        return log(a / b) - 2 * w;
    }
    double low = exp(a * log(a / (a + b))) / a, high = exp(b * log(b / (a + b))) / b;
    double sum = low + high;
    double s = p < low / sum ? log(a * sum * p) / a : log(b * sum * (1 - p)) / b;
    s = fmin(s, -1e-3);
    s -= log1p(-exp(s));
    return p < low / sum ? s : -s;
}

/* As of gamma, in x or in 1 - x, whichever is less. */
static bool fast_betaincinv(const double *x, double *r)
{
    enum { STEPS_MAX = 25 };
    double a = x[0], b = x[1], p = x[2];
    Pair logarithm;
    Tail t;
    if (!(a > 1e-2 && b > 1e-2 && a < 1000 && b < 1000 && p > 1e-250 && p < 1) ||
        !beta_logarithm(x, &logarithm))
        return false;
    double s = beta_guess(a, b, p);
    if (!(fabs(s) < 600))
        return false;
    bool near_one = s > 0;
    double z = 1 / (1 + exp(fabs(s)));          /* x, or 1 - x */
    for (int i = 0; i < STEPS_MAX; i++) {
        Pair here = pair_of(z), there = pair_sum(1, -z);
        if (!(z > 1e-280 && z < 1) ||
            !beta_tail(a, b, near_one ? there : here, near_one ? here : there, logarithm, &t) ||
            !(t.slope > 1e-280))
            return false;
        /* a step of x over x (1 - x), and of z over z */
        double u = tail_error(t, p) / t.slope;
        double xs = near_one ? there.h : here.h, ys = near_one ? here.h : there.h;
        double bend = fmax(-1, fmin(1, u * ((a - 1) * ys - (b - 1) * xs)));
        double step = u / (1 - 0.5 * bend) * there.h * (near_one ? -1 : 1);
        step = fmax(-9, fmin(0.9, step));
        bool last = fabs(step) * (bend * bend + (a + b + 1) * step * step) < 1e-17;
        z -= z * step;
        if (last)
            return *r = near_one ? 1 - z : z, true;
        if (z > 0.5) {
            near_one = !near_one;
            z = fmax(1 - z, 1e-3);
        }
    }
    return false;
}
