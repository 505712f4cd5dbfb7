/* Orthogonal polynomials by their recurrences, in pairs of doubles that are made ready once a step:
 * of one element, or with the same bits of SPECIAL_LANES at once that have one degree. */

#if defined(__GNUC__)
#define EACH_LANES static inline __attribute__((always_inline))
#else
#define EACH_LANES static inline
#endif

enum { DEGREE_MAX = 500 };

/* Is p, made of a and b, good for its digits? Recurrences lose some degree^2 units of 2^-104. */
EACH_LANES bool holds(double p, double a, double b)
{
    return (fabs(p) > 0x1p-24 * fabs(a)) & (fabs(p) > 0x1p-24 * fabs(b)) & (fabs(p) < 1e300);
}

static bool degree(double x, int *n)
{
    if (!(x >= 0 && x <= DEGREE_MAX && x == floor(x)))
        return false;
    *n = (int)x;
    return true;
}

/* ---- recurrences of three terms ---- */

/* p(k + 1) of p(k) and p(k - 1), Abramowitz and Stegun 22.7; c is what only k tells. */
typedef Pair Step(double k, Pair c, double x, Pair p, Pair before);

EACH_LANES Pair step_legendre(double k, Pair c, double x, Pair p, Pair before)
{
    (void)k;                    /* c: k / (k + 1) */
    double a = x * p.h, a_low = fma(x, p.l, fma(x, p.h, -a));
    Pair d = pair_sum(a, -before.h);
    double d_low = d.l + (a_low - before.l), m = d.h * c.h;
    double m_low = fma(d.h, c.h, -m) + (d.h * c.l + d_low * c.h);
    Pair s = pair_sum(a, m);
    return pair_ordered(s.h, s.l + (a_low + m_low));
}

EACH_LANES Pair step_hermite(double k, Pair c, double x, Pair p, Pair before)
{
    (void)c;
    double u = 2 * x, v = 2 * k, a = u * p.h, b = v * before.h;
    double a_low = fma(u, p.l, fma(u, p.h, -a)), b_low = fma(v, before.l, fma(v, before.h, -b));
    Pair s = pair_sum(a, -b);
    return pair_ordered(s.h, s.l + (a_low - b_low));
}

EACH_LANES Pair step_laguerre(double k, Pair c, double x, Pair p, Pair before)
{
    Pair d = pair_sum(p.h, -before.h);          /* c: 1 / (k + 1) */
    double d_low = d.l + (p.l - before.l), a = d.h * k, b = p.h * x;
    double a_low = fma(d_low, k, fma(d.h, k, -a)), b_low = fma(p.l, x, fma(p.h, x, -b));
    Pair e = pair_sum(a, -b);
    double e_low = e.l + (a_low - b_low), m = e.h * c.h;
    double m_low = fma(e.h, c.h, -m) + (e.h * c.l + e_low * c.h);
    Pair s = pair_sum(p.h, m);
    return pair_ordered(s.h, s.l + (p.l + m_low));
}

static inline Pair quotient_of_steps(double k) { return pair_over(pair_of(k), k + 1); }
static inline Pair inverse_of_step(double k) { return pair_over(pair_one, k + 1); }
static inline Pair nothing_of_step(double k) { return pair_of(0 * k); }

EACH_LANES void recurrence(int n, const double *x, int lanes, Step step, Pair of_step(double),
                           double *r, bool *done)
{
    double h[SPECIAL_LANES], l[SPECIAL_LANES], before_h[SPECIAL_LANES], before_l[SPECIAL_LANES];
    for (int j = 0; j < lanes; j++) {
        h[j] = 1;
        l[j] = before_h[j] = before_l[j] = 0;
    }
    for (int k = 0; k < n; k++) {
        Pair c = of_step(k);
        for (int j = 0; j < lanes; j++) {
            Pair p = { h[j], l[j] };
            Pair next = step(k, c, x[j], p, (Pair){ before_h[j], before_l[j] });
            before_h[j] = p.h;
            before_l[j] = p.l;
            h[j] = next.h;
            l[j] = next.l;
        }
    }
    for (int j = 0; j < lanes; j++) {
        r[j] = h[j];
        done[j] = (fabs(x[j]) < 1e150) & holds(h[j], before_h[j], h[j]);
    }
}

/* ---- Chebyshev's ---- */

typedef struct Many { double h[SPECIAL_LANES], l[SPECIAL_LANES]; } Many;

/* 2 a b - c */
EACH_LANES void twice_product(Many *restrict out, const Many *a, const Many *b, const double *c,
                              int lanes)
{
    for (int j = 0; j < lanes; j++) {
        double m = a->h[j] * b->h[j];
        double low = fma(a->h[j], b->h[j], -m) + (a->h[j] * b->l[j] + a->l[j] * b->h[j]);
        Pair s = pair_sum(2 * m, -c[j]);
        Pair r = pair_ordered(s.h, s.l + 2 * low);
        out->h[j] = r.h;
        out->l[j] = r.l;
    }
}

/* T(2k) = 2 T(k)^2 - 1 and T(2k + 1) = 2 T(k) T(k + 1) - x, down the bits of the degree. Where what
 * is left of them is 0 it is the first of T(k) and T(k + 1) alone. */
EACH_LANES void chebyshev(int n, const double *x, int lanes, double *r, bool *done)
{
    Many room[4], *p = room, *next = room + 1, *both = room + 2, *square = room + 3;
    double ones[SPECIAL_LANES];
    int bit = 1;
    while (bit <= n / 2)
        bit *= 2;
    for (int j = 0; j < lanes; j++) {
        ones[j] = 1;
        p->h[j] = n ? x[j] : 1;
        p->l[j] = 0;
    }
    twice_product(next, p, p, ones, lanes);
    for (; bit > 1 && n % bit; bit /= 2) {
        bool odd = n & bit / 2;
        Many *a = odd ? next : p;
        twice_product(both, p, next, x, lanes);
        twice_product(square, a, a, ones, lanes);
        Many *old = p, *old_next = next;
        p = odd ? both : square;
        next = odd ? square : both;
        both = old;
        square = old_next;
    }
    for (; bit > 1; bit /= 2) {
        Many *old = p;
        twice_product(square, p, p, ones, lanes);
        p = square;
        square = old;
    }
    for (int j = 0; j < lanes; j++) {
        r[j] = p->h[j];
        done[j] = (fabs(x[j]) < 1e150) & holds(r[j], r[j], 1);
    }
}

/* ---- one and many ---- */

EACH_LANES void legendre(int n, const double *x, int lanes, double *r, bool *done)
{
    recurrence(n, x, lanes, step_legendre, quotient_of_steps, r, done);
}

EACH_LANES void hermite(int n, const double *x, int lanes, double *r, bool *done)
{
    recurrence(n, x, lanes, step_hermite, nothing_of_step, r, done);
}

/* Of degrees and operands that leave digits. */
EACH_LANES void laguerre(int n, const double *x, int lanes, double *r, bool *done)
{
    recurrence(n, x, lanes, step_laguerre, inverse_of_step, r, done);
    for (int j = 0; j < lanes; j++)
        done[j] = done[j] && n <= 100 && fabs(x[j]) < 100;
}

#define POLYNOMIAL(name, of_lanes) \
    static bool fast_##name(const double *x, double *r) \
    { \
        int n; \
        bool done = false; \
        if (degree(x[0], &n)) \
            of_lanes(n, x + 1, 1, r, &done); \
        return done; \
    } \
    static void many_##name(const double (*x)[SPECIAL_LANES], double *r, bool *done) \
    { \
        int n; \
        bool same = true; \
        for (int j = 1; j < SPECIAL_LANES; j++) \
            same &= x[0][j] == x[0][0]; \
        if (same && degree(x[0][0], &n)) \
            of_lanes(n, x[1], SPECIAL_LANES, r, done); \
    }

POLYNOMIAL(legendre, legendre)
POLYNOMIAL(hermite, hermite)
POLYNOMIAL(laguerre, laguerre)
POLYNOMIAL(chebyshev_t, chebyshev)
