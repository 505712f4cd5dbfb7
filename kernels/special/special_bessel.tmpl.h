/* Functions of Bessel: J and I by their power series where those do not cancel away, Y of small
 * arguments by N. M. Temme's series (J. Comput. Phys. 19 and 21, 1975, 1976), K by its integral,
 * and where that is steep by Temme's series and Steed's continued fraction; all of them of large
 * arguments by Hankel's expansions (DLMF 10.17, 10.40). Y, K and J below the argument climb to
 * their order by the recurrence. All of it is in pairs but the integral. */

enum { ORDER_MAX = 500 };

/* From here on e^-2x, which Hankel's expansions leave out, is below 2^-70. */
#define HANKEL_FROM 25.0

static const Pair pair_pi = { 3.141592653589793, 1.2246467991473532e-16 };

/* (x/2)^nu / gamma(nu + 1) sum of (sign x^2/4)^k / (k! (nu + 1) … (nu + k)), nu >= 0, x > 0. */
static bool series(double nu, double x, double sign, double *r)
{
    enum { STEPS_MAX = 300 };
    Pair square = { x / 2 * (x / 2), fma(x / 2, x / 2, -(x / 2 * (x / 2))) };
    Pair term = { 1, 0 }, sum = { 1, 0 };
    double most = 1;
    int k = 1;
    for (; k < STEPS_MAX && fabs(term.h) > 1e-20 * fabs(sum.h); k++) {
        term = pair_mul(term, pair_div(square, pair_scale(pair_sum(nu, k), sign * k)));
        sum = pair_add(sum, term);
        most = fmax(most, fabs(term.h));
    }
    Pair e = pair_sub(pair_scale(pair_log(pair_of(x / 2)), nu), pair_lgamma(pair_sum(nu, 1)));
    if (!(fabs(e.h) < 650) || k == STEPS_MAX || !(fabs(sum.h) > most * 0x1p-40))
        return false;
    *r = pair_mul(pair_exp(e), sum).h;
    return isfinite(*r) && fabs(*r) > 1e-290;
}

/* ---- Hankel ---- */

/* P and Q, or with sign = 1 (-1) only the sum of a(k) (+-1)^k / x^k in *p. False: it does not come
 * to its digits, or grows first. */
static bool hankel(double nu, double x, int sign, Pair *p, Pair *q)
{
    enum { TERMS_MAX = 100 };
    Pair term = pair_one;
    double last = 1;
    *p = pair_one;
    *q = pair_of(0);
    for (int k = 1; k < TERMS_MAX; k++) {
        Pair low = pair_sum(2 * nu, 1 - 2 * k), high = pair_sum(2 * nu, 2 * k - 1);
        term = pair_mul(term, pair_div(pair_mul(low, high), pair_scale(pair_of(x), 8 * k)));
        double size = fabs(term.h);
        Pair *to = sign || k % 2 == 0 ? p : q;
        bool negative = sign ? sign < 0 && k % 2 : k % 4 >= 2;
        *to = pair_add(*to, negative ? pair_negative(term) : term);
        if (size < 1e-20)
            return true;
        if (size > 2 || (k > 1 && size > last))
            return false;
        last = size;
    }
    return false;
}

/* J and Y, of any nu that is small beside the root of x. */
static bool oscillating(double nu, double x, Pair *j, Pair *y)
{
    Pair p, q, sine, cosine;
    if (!(x < 1e5) || !hankel(nu, x, 0, &p, &q))
        return false;
    Pair quarter = { pair_pi.h / 4, pair_pi.l / 4 };
    pair_sincos(pair_sub(pair_of(x), pair_mul(pair_sum(2 * nu, 1), quarter)), &sine, &cosine);
    Pair size = pair_root(pair_div(pair_of(2), pair_scale(pair_pi, x)));
    *j = pair_mul(size, pair_sub(pair_mul(cosine, p), pair_mul(sine, q)));
    *y = pair_mul(size, pair_add(pair_mul(sine, p), pair_mul(cosine, q)));
    return true;
}

/* ---- Temme ---- */

typedef struct Temme { Pair plus, minus, first, second, both; } Temme;

/* 1 / gamma(1 +- mu), half of their sum (second) and their difference over -2 mu (first), and
 * both of them multiplied. */
static Temme temme_gammas(double mu)
{
    enum { TERMS = sizeof rgamma_table / sizeof *rgamma_table, DOUBLES = 10 };
    double m = mu * mu, even = 0, odd = 0;
    for (int k = TERMS - 2; k >= DOUBLES; k -= 2) {
        even = even * m + rgamma_table[k].h;
        odd = odd * m + rgamma_table[k + 1].h;
    }
    Pair square = { m, fma(mu, mu, -m) }, e = pair_of(even), o = pair_of(odd);
    for (int k = DOUBLES - 2; k >= 0; k -= 2) {
        e = pair_add(pair_mul(e, square), rgamma_table[k]);
        o = pair_add(pair_mul(o, square), rgamma_table[k + 1]);
    }
    Pair part = pair_scale(o, mu);
    Temme t = { pair_add(e, part), pair_sub(e, part), pair_negative(o), e, { 0, 0 } };
    t.both = pair_mul(t.plus, t.minus);
    return t;
}

/* sinh(e) / e, E being exp(e) */
static Pair sinh_over(Pair e, Pair power)
{
    enum { TERMS = 8 };
    if (fabs(e.h) > 0.3)
        return pair_div(pair_sub(power, pair_div(pair_one, power)), (Pair){ 2 * e.h, 2 * e.l });
    Pair square = pair_mul(e, e), s = pair_one;
    for (int k = TERMS; k >= 1; k--)
        s = pair_add(pair_one, pair_over(pair_mul(square, s), 2 * k * (2 * k + 1)));
    return s;
}

/* (1 - cos(pi mu)) / mu, from sin(pi mu) = pi mu both. */
static Pair half_sine(double mu, Pair both)
{
    Pair sine = pair_mul(pair_scale(pair_pi, mu), both), cosine = { 0, 0 };
    if (fabs(mu) < 0.5)
        cosine = pair_root(pair_sub(pair_one, pair_mul(sine, sine)));
    Pair over = pair_mul(pair_pi, pair_mul(sine, both));
    return pair_div(over, pair_add(pair_one, cosine));
}

/* K of the orders mu and mu + 1, or with sign = -1 -pi/2 Y of them, |mu| <= 1/2. False: what
 * came out is so much smaller than its terms that it has few digits. */
static bool temme(double mu, double x, double sign, Pair *low, Pair *high)
{
    enum { STEPS_MAX = 200 };
    Temme g = temme_gammas(mu);
    if (fabs(mu) != 0.5 && fabs(mu) > 0.5 - 1e-9)
        return false;
    Pair d = pair_negative(pair_log(pair_of(x / 2))), e = pair_scale(d, mu), power = pair_exp(e);
    Pair inverse = pair_div(pair_one, power), cosh = pair_add(power, inverse);
    Pair f = pair_mul(g.second, pair_mul(sinh_over(e, power), d));
    f = pair_add(f, pair_mul(g.first, (Pair){ cosh.h / 2, cosh.l / 2 }));
    f = pair_div(f, g.both);
    Pair p = pair_div(power, g.plus), q = pair_div(inverse, g.minus);
    p = (Pair){ p.h / 2, p.l / 2 };
    q = (Pair){ q.h / 2, q.l / 2 };
    Pair r = sign < 0 ? half_sine(mu, g.both) : pair_of(0);
    Pair square = { x / 2 * (x / 2), fma(x / 2, x / 2, -(x / 2 * (x / 2))) }, c = pair_one;
    Pair sum = pair_add(f, pair_mul(r, q)), next = p, change = sum;
    double most = fmax(fabs(sum.h), fabs(next.h)), least = 1e-20;
    int i = 1;
    for (; i < STEPS_MAX && (i < 3 || fabs(change.h) * i > least * fabs(sum.h)); i++) {
        Pair over = pair_div(pair_one, pair_mul(pair_sum(i, mu), pair_sum(i, -mu)));
        f = pair_mul(pair_add(pair_scale(f, i), pair_add(p, q)), over);
        c = pair_mul(c, pair_over(square, sign * i));
        p = pair_mul(p, pair_mul(pair_sum(i, mu), over));
        q = pair_mul(q, pair_mul(pair_sum(i, -mu), over));
        change = pair_mul(c, sign < 0 ? pair_add(f, pair_mul(r, q)) : f);
        sum = pair_add(sum, change);
        next = pair_add(next, pair_sub(pair_mul(c, p), pair_scale(change, i)));
        most = fmax(most, fabs(change.h) * i);
    }
    *low = sum;
    *high = pair_over(pair_scale(next, 2), x);
    return i < STEPS_MAX && isfinite(most) && most * 0x1p-45 < fmax(fabs(sum.h), fabs(next.h));
}

/* From the orders mu, mu + 1 up by whole ones: sign 1 of K, -1 of J and Y. False: too large. */
static bool climb(double mu, double whole, double x, double sign, Pair low, Pair high, double *r)
{
    for (double k = 1; k <= whole && fabs(high.h) < 1e290; k++) {
        Pair next = pair_mul(pair_over(pair_scale(pair_sum(mu, k), 2), x), high);
        next = sign > 0 ? pair_add(next, low) : pair_sub(next, low);
        low = high;
        high = next;
    }
    *r = low.h;
    return fabs(high.h) < 1e290 && fabs(low.h) > 1e-280;
}

/* Does r, of J or Y below the argument, keep its digits? Not beside its zeros. */
static bool beside_zero(double r, double x) { return fabs(r) < 0x1p-10 / sqrt(x); }

/* ---- the first kind ---- */

/* nu >= 0 and x > 0 */
static bool bessel_j(double nu, double x, double *r)
{
    Pair low, high, y;
    double mu = nu - rint(nu);
    if (x < HANKEL_FROM || x < nu)
        return series(nu, x, -1, r);
    if (oscillating(nu, x, &low, &y))
        *r = low.h;
    else if (!oscillating(mu, x, &low, &y) || !oscillating(mu + 1, x, &high, &y) ||
             !climb(mu, nu - mu, x, -1, low, high, r))
        return false;
    return !beside_zero(*r, x);
}

static bool bessel_i(double nu, double x, double *r)
{
    Pair p, q;
    if (x < HANKEL_FROM || !hankel(nu, x, -1, &p, &q))
        return series(nu, x, 1, r);
    p = pair_mul(p, pair_exp(pair_of(x)));
    *r = pair_div(p, pair_root(pair_scale(pair_pi, 2 * x))).h;
    return true;
}

static bool first_kind(const double *x, double most, bool (*f)(double, double, double *),
                       bool flips_negative, double *r)
{
    double nu = x[0], z = fabs(x[1]);
    bool whole = nu == floor(nu), odd = fmod(nu, 2) != 0;
    if (!(z > 1e-100 && z < most && fabs(nu) < ORDER_MAX) || (!whole && (nu < 0 || x[1] < 0)))
        return false;
    if (!f(fabs(nu), z, r))
        return false;
    *r = odd && (x[1] < 0) != (nu < 0 && flips_negative) ? -*r : *r;
    return true;
}

static bool fast_bessel_j(const double *x, double *r)
{
    return first_kind(x, 1e5, bessel_j, true, r);
}

static bool fast_bessel_i(const double *x, double *r)
{
    return first_kind(x, 600, bessel_i, false, r);
}

/* ---- the second kind ---- */

static bool fast_bessel_y(const double *x, double *r)
{
    double nu = x[0], z = x[1];
    bool whole = nu == floor(nu), flips = nu < 0 && fmod(nu, 2) != 0;
    Pair low, high, j;
    if (!(fabs(nu) < ORDER_MAX && z > 1e-100 && z < 1e5) || (!whole && nu < 0))
        return false;
    nu = fabs(nu);
    double mu = nu - rint(nu);
    bool large = z >= HANKEL_FROM;
    if (large && oscillating(nu, z, &j, &low)) {
        *r = low.h;
    } else if (large) {
        if (!oscillating(mu, z, &j, &low) || !oscillating(mu + 1, z, &j, &high) ||
            !climb(mu, nu - mu, z, -1, low, high, r))
            return false;
    } else {
        static const Pair factor = { -0.6366197723675814, 3.935735335036497e-17 };  /* -2 / pi */
        if (!temme(mu, z, -1, &low, &high) ||
            !climb(mu, nu - mu, z, -1, pair_mul(low, factor), pair_mul(high, factor), r))
            return false;
    }
    *r = flips ? -*r : *r;
    return !beside_zero(*r, z);
}

/* K of the orders mu and mu + 1, |mu| <= 1/2, of x that are not small. */
static bool steed(double mu, double x, Pair *low, Pair *high)
{
    enum { STEPS_MAX = 500 };
    static const Pair half_pi = { 1.5707963267948966, 6.123233995736766e-17 };
    Pair one = { 1, 0 }, b = pair_scale(pair_sum(1, x), 2), d = pair_div(one, b), change = d, h = d;
    Pair q1 = { 0, 0 }, q2 = one, square = { mu * mu, fma(mu, mu, -(mu * mu)) };
    Pair first = pair_sub(pair_of(0.25), square), q = first, c = first, a = pair_negative(first);
    Pair s = pair_add(one, pair_mul(q, change)), part = one;
    int i = 2;
    if (first.h != 0)
        for (; i < STEPS_MAX && fabs(part.h) > 1e-20 * fabs(s.h); i++) {
            a = pair_sub(a, pair_of(2 * (i - 1)));
            c = pair_over(pair_negative(pair_mul(a, c)), i);
            Pair next = pair_div(pair_sub(q1, pair_mul(b, q2)), a);
            q1 = q2;
            q2 = next;
            q = pair_add(q, pair_mul(c, next));
            b = pair_add(b, pair_of(2));
            d = pair_div(one, pair_add(b, pair_mul(a, d)));
            change = pair_mul(pair_sub(pair_mul(b, d), one), change);
            h = pair_add(h, change);
            part = pair_mul(q, change);
            s = pair_add(s, part);
        }
    h = pair_mul(first, h);
    *low = pair_div(pair_mul(pair_root(pair_over(half_pi, x)), pair_exp(pair_of(-x))), s);
    *high = pair_over(pair_mul(*low, pair_sub(pair_add(pair_sum(x, 0.5), pair_of(mu)), h)), x);
    return i < STEPS_MAX;
}

/* The integral of e^(-x cosh t) cosh(nu t) from 0 on (DLMF 10.32.9) by the rule of trapezoids,
 * which leaves e^(-2 pi a / h) K(x cos a) / K(x), any a < pi / 2: less than 2^-55 of it. All terms
 * are positive, and the exponents come with what rounding took from them. */
static bool trapezoids(double nu, double x, double *r)
{
    enum { NODES = sizeof cosh_table / sizeof *cosh_table, SPARE = 42 };
    int step = nu <= 3 && x < 8 ? 3 : 2;        /* sixteenths */
    double most = -x, low = 0;
    Pair sum = pair_of(exp(-x) / 2);
    for (int j = step; j < NODES; j += step) {
        Pair c = cosh_table[j];
        double t = j / 16.0, up = nu * t, fall = c.h * x;
        double rest = fma(nu, t, -up), lost = fma(c.h, x, -fall) + c.l * x;
        Pair plus = pair_sum(up, -fall), minus = pair_sum(-up, -fall);
        double term = exp(plus.h) / 2;
        low += sum.l + term * (plus.l + rest - lost);
        sum = pair_sum(sum.h, term);
        if (minus.h > -x - SPARE) {
            term = exp(minus.h) / 2;
            low += sum.l + term * (minus.l - rest - lost);
            sum = pair_sum(sum.h, term);
        }
        most = fmax(most, plus.h);
        if (plus.h < most - SPARE) {
            *r = (sum.h + (sum.l + low)) * (step / 16.0);
            return *r > 1e-290 && *r < 1e290;
        }
    }
    return false;
}

static bool fast_bessel_k(const double *x, double *r)
{
    enum { LARGE = 4, STEEP = 12 };
    double nu = fabs(x[0]), z = x[1], mu = nu - rint(nu);
    Pair low, high, p, q;
    if (!(nu < ORDER_MAX && z > 1e-100 && z < 600))
        return false;
    if (z >= HANKEL_FROM && hankel(nu, z, 1, &p, &q)) {
        Pair size = pair_root(pair_div(pair_pi, pair_of(2 * z)));
        *r = pair_mul(pair_mul(p, size), pair_exp(pair_of(-z))).h;
        return true;
    }
    if (nu <= STEEP && z < HANKEL_FROM && trapezoids(nu, z, r))
        return true;
    return (z < LARGE ? temme(mu, z, 1, &low, &high) : steed(mu, z, &low, &high)) &&
           climb(mu, nu - mu, z, 1, low, high, r);
}
