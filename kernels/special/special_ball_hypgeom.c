/* Special functions in balls, 2: functions of Bessel and Airy, elliptic integrals, incomplete gamma
 * and beta functions and their inverses, orthogonal polynomials. See special_ball.c. */
#include "kernels/special/special_ball.h"

#include <math.h>

/* ---- Bessel ---- */

static bool whole_half(Ball *k, arb_srcptr x)
{
    k->b->arb_mul_2exp_si(k->t, x, -1);
    return k->b->arb_is_int(k->t);
}

/* J and I at 0: 1, 0, or of a negative broken order an infinity with the sign of
 * gamma(order + 1). */
static BallOutcome at_zero(Ball *k)
{
    const Arb *b = k->b;
    b->arb_set_si(k->r, b->arb_is_zero(k->x));
    if (b->arb_is_nonnegative(k->x) || b->arb_is_int(k->x))
        return BALL_VALUE;
    b->arb_floor(k->t + 1, k->x, k->bits + 64);
    return whole_half(k, k->t + 1) ? BALL_MINUS_INF : BALL_INF;
}

typedef void (*Bessel)(arb_t, const arb_t, const arb_t, slong);

static BallOutcome first_kind(Ball *k, Bessel f)
{
    const Arb *b = k->b;
    bool flips = false;
    if (b->arb_is_zero(k->x + 1))
        return at_zero(k);
    b->arb_set(k->t + 1, k->x + 1);
    if (b->arb_is_negative(k->x + 1)) {
        if (!b->arb_is_int(k->x))
            return BALL_NAN;
        flips = !whole_half(k, k->x);
        b->arb_neg(k->t + 1, k->t + 1);
    }
    f(k->r, k->x, k->t + 1, k->bits);
    if (flips)
        b->arb_neg(k->r, k->r);
    return BALL_VALUE;
}

BallOutcome ball_bessel_j(Ball *k) { return first_kind(k, k->b->arb_hypgeom_bessel_j); }
BallOutcome ball_bessel_i(Ball *k) { return first_kind(k, k->b->arb_hypgeom_bessel_i); }

/* At 0 the sign is that of -cos(pi order) where the order is negative. */
BallOutcome ball_bessel_y(Ball *k)
{
    const Arb *b = k->b;
    if (b->arb_is_negative(k->x + 1))
        return BALL_NAN;
    if (b->arb_is_zero(k->x + 1)) {
        if (b->arb_is_nonnegative(k->x))
            return BALL_MINUS_INF;
        b->arb_mul_2exp_si(k->t + 1, k->x, 1);
        b->arb_add_si(k->t + 1, k->t + 1, 1, k->bits + 64);
        b->arb_mul_2exp_si(k->t + 1, k->t + 1, -1);
        b->arb_set_si(k->r, 0);
        if (b->arb_is_int(k->t + 1))
            return BALL_VALUE;
        b->arb_floor(k->t + 1, k->t + 1, k->bits + 64);
        return whole_half(k, k->t + 1) ? BALL_MINUS_INF : BALL_INF;
    }
    b->arb_hypgeom_bessel_y(k->r, k->x, k->x + 1, k->bits);
    return BALL_VALUE;
}

BallOutcome ball_bessel_k(Ball *k)
{
    const Arb *b = k->b;
    if (b->arb_is_negative(k->x + 1))
        return BALL_NAN;
    if (b->arb_is_zero(k->x + 1))
        return BALL_INF;
    b->arb_hypgeom_bessel_k(k->r, k->x, k->x + 1, k->bits);
    return BALL_VALUE;
}

BallOutcome ball_airy_ai(Ball *k)
{
    k->b->arb_hypgeom_airy(k->r, NULL, NULL, NULL, k->x, k->bits);
    return BALL_VALUE;
}

BallOutcome ball_airy_aip(Ball *k)
{
    k->b->arb_hypgeom_airy(NULL, k->r, NULL, NULL, k->x, k->bits);
    return BALL_VALUE;
}

BallOutcome ball_airy_bi(Ball *k)
{
    k->b->arb_hypgeom_airy(NULL, NULL, k->r, NULL, k->x, k->bits);
    return BALL_VALUE;
}

BallOutcome ball_airy_bip(Ball *k)
{
    k->b->arb_hypgeom_airy(NULL, NULL, NULL, k->r, k->x, k->bits);
    return BALL_VALUE;
}

/* ---- elliptic integrals of the parameter m ---- */

/* K = pi / (2 agm(1, sqrt(1 - m))) */
BallOutcome ball_ellipk(Ball *k)
{
    const Arb *b = k->b;
    b->arb_neg(k->t, k->x);
    b->arb_add_si(k->t, k->t, 1, 4 * k->bits + 4096);
    if (b->arb_is_zero(k->t))
        return BALL_INF;
    if (b->arb_is_negative(k->t))
        return BALL_NAN;
    b->arb_sqrt(k->t, k->t, k->bits);
    b->arb_set_si(k->t + 1, 1);
    b->arb_agm(k->t, k->t, k->t + 1, k->bits);
    b->arb_const_pi(k->r, k->bits);
    b->arb_div(k->r, k->r, k->t, k->bits);
    b->arb_mul_2exp_si(k->r, k->r, -1);
    return BALL_VALUE;
}

BallOutcome ball_ellipe(Ball *k)
{
    const Arb *b = k->b;
    acb_t m, r;
    b->arb_add_si(k->t, k->x, -1, 4 * k->bits + 4096);
    b->arb_set_si(k->r, 1);
    if (b->arb_is_zero(k->t))
        return BALL_VALUE;
    if (b->arb_is_positive(k->t))
        return BALL_NAN;
    b->acb_init(m);
    b->acb_init(r);
    b->acb_set_arb(m, k->x);
    b->acb_elliptic_e(r, m, k->bits);
    b->acb_get_real(k->r, r);
    b->acb_clear(m);
    b->acb_clear(r);
    return BALL_VALUE;
}

/* ---- incomplete gamma and beta functions ---- */

static void no_bound(Ball *k, arb_ptr r)
{
    k->b->arb_set_si(r, 0);
    k->b->arb_div(r, r, r, 2);
}

/* x^a e^-x / gamma(a + 1) times 1 + x / (a + 1) (1 + x / (a + 2) (1 + …)): of a large a and an x
 * near it, where there are some sqrt(a) terms, and Arb takes many more. False: not these. */
static bool series_below(Ball *k, arb_ptr r, arb_srcptr x, slong bits)
{
    enum { LARGE = 200, TERMS_MAX = 4000000 };
    const Arb *b = k->b;
    arb_struct *term = k->t + 8, *at = k->t + 9, *factor = k->t + 10, *sum = k->t + 11;
    arb_srcptr first = k->x;
    double a = b->arf_get_d(&first->mid, ARF_RND_NEAR), z = b->arf_get_d(&x->mid, ARF_RND_NEAR);
    double terms = fmax(0, z - a) + 10 * sqrt(fmax(a, z)) + sqrt(2 * fmax(a, z) * (double)bits);
    if (a < LARGE || !(z < 2 * a))
        return false;
    if (!(terms < TERMS_MAX)) {
        no_bound(k, r);
        return true;
    }
    b->arb_set_si(term, 1);
    b->arb_set_si(sum, 1);
    b->arb_set(at, first);
    for (int64_t i = 0; i < (int64_t)terms; i++) {
        b->arb_add_si(at, at, 1, bits);
        b->arb_div(factor, x, at, bits);
        b->arb_mul(term, term, factor, bits);
        b->arb_add(sum, sum, term, bits);
    }
    /* what is left is below a geometric series of the last ratio, which is below 1 */
    b->arb_neg(at, factor);
    b->arb_add_si(at, at, 1, bits);
    if (!b->arb_is_positive(at)) {
        no_bound(k, r);
        return true;
    }
    b->arb_div(term, term, at, bits);
    b->arb_neg(at, term);
    b->arb_union(term, at, term, bits);
    b->arb_add(sum, sum, term, bits);
    b->arb_log(at, x, bits + 64);
    b->arb_mul(at, at, first, bits + 64);
    b->arb_sub(at, at, x, bits + 64);
    b->arb_add_si(term, first, 1, bits + 64);
    b->arb_lgamma(term, term, bits + 64);
    b->arb_sub(at, at, term, bits + 64);
    b->arb_exp(at, at, bits);
    b->arb_mul(r, sum, at, bits);
    return true;
}

static void gamma_below(Ball *k, arb_ptr r, arb_srcptr x, slong bits)
{
    if (!series_below(k, r, x, bits))
        k->b->arb_hypgeom_gamma_lower(r, k->x, x, 1, bits);
}

BallOutcome ball_gammainc(Ball *k)
{
    const Arb *b = k->b;
    if (b->arb_is_negative(k->x) || b->arb_is_negative(k->x + 1))
        return BALL_NAN;
    if (b->arb_is_zero(k->x)) {
        b->arb_set_si(k->r, 1);
        return b->arb_is_zero(k->x + 1) ? BALL_NAN : BALL_VALUE;
    }
    b->arb_set_si(k->r, 0);
    if (b->arb_is_zero(k->x + 1))
        return BALL_VALUE;
    gamma_below(k, k->r, k->x + 1, k->bits);
    return BALL_VALUE;
}

/* 0 < x < 1, a, b > 0; what it is beside that, as SciPy has it. */
static BallOutcome beta_domain(Ball *k, bool *inside)
{
    const Arb *b = k->b;
    arb_srcptr x = k->x + 2;
    *inside = false;
    b->arb_add_si(k->t, x, -1, 4 * k->bits + 4096);
    if (b->arb_is_negative(k->x) || b->arb_is_negative(k->x + 1) || b->arb_is_negative(x) ||
        b->arb_is_positive(k->t) || (b->arb_is_zero(k->x) && b->arb_is_zero(k->x + 1)))
        return BALL_NAN;
    bool one = b->arb_is_zero(k->t) || b->arb_is_zero(k->x);
    b->arb_set_si(k->r, one);
    *inside = !one && !b->arb_is_zero(x) && !b->arb_is_zero(k->x + 1);
    return BALL_VALUE;
}

/* From the side on which there is less: Arb's series cancels on the other one. */
static void beta_below(Ball *k, arb_ptr r, arb_srcptr x, slong bits)
{
    const Arb *b = k->b;
    arb_srcptr first = k->x, second = k->x + 1;
    arb_struct *rest = k->t + 8;
    double a = b->arf_get_d(&first->mid, ARF_RND_NEAR),
           c = b->arf_get_d(&second->mid, ARF_RND_NEAR),
           z = b->arf_get_d(&x->mid, ARF_RND_NEAR);
    if (z * (a + c + 2) <= a + 1) {
        b->arb_hypgeom_beta_lower(r, first, second, x, 1, bits);
        return;
    }
    b->arb_neg(rest, x);
    b->arb_add_si(rest, rest, 1, 4 * bits + 4096);
    b->arb_hypgeom_beta_lower(r, second, first, rest, 1, bits);
    b->arb_neg(r, r);
    b->arb_add_si(r, r, 1, bits);
}

BallOutcome ball_betainc(Ball *k)
{
    bool inside;
    BallOutcome o = beta_domain(k, &inside);
    if (o == BALL_VALUE && inside)
        beta_below(k, k->r, k->x + 2, k->bits);
    return o;
}

/* ---- their inverses ----
 *
 * F rises from 0 to 1 with s, x being exp(s) for gamma and 1/(1 + exp(-s)) for beta. A bisection in
 * doubles and steps of Newton find s; then F on both sides of it says that the root is between. */

enum { ROOT_SPARE = 128 };       /* bits of F below those of the root */

typedef struct Inverse {
    Ball *k;
    bool beta;
    arb_srcptr p;               /* F(s) = p */
    arb_struct *x, *f, *d, *s;  /* of k's room */
} Inverse;

static void point_of(const Inverse *v, slong bits)
{
    const Arb *b = v->k->b;
    if (!v->beta) {
        b->arb_exp(v->x, v->s, bits);
        return;
    }
    b->arb_neg(v->x, v->s);
    b->arb_exp(v->x, v->x, bits);
    b->arb_add_si(v->x, v->x, 1, bits);
    b->arb_set_si(v->f, 1);
    b->arb_div(v->x, v->f, v->x, bits);
}

/* f = F(s) - p */
static void value_of(const Inverse *v, slong bits)
{
    const Arb *b = v->k->b;
    point_of(v, bits);
    if (v->beta)
        beta_below(v->k, v->f, v->x, bits);
    else
        gamma_below(v->k, v->f, v->x, bits);
    b->arb_sub(v->f, v->f, v->p, bits);
}

/* The sign of F(s) - p, 0 where it cannot be told. */
static int side(const Inverse *v, double s, slong bits)
{
    const Arb *b = v->k->b;
    b->arb_set_d(v->s, s);
    value_of(v, bits);
    return b->arb_is_positive(v->f) - b->arb_is_negative(v->f);
}

/* The same by the fast way in doubles, where that can tell; *by the relative error of F there. */
static int quick_side(const Inverse *v, double s, double *by)
{
    const Arb *b = v->k->b;
    arb_srcptr first = v->k->x, second = v->k->x + 1;
    double r, p = b->arf_get_d(&v->p->mid, ARF_RND_NEAR);
    double x[] = { b->arf_get_d(&first->mid, ARF_RND_NEAR),
                   b->arf_get_d(&second->mid, ARF_RND_NEAR), 1 / (1 + exp(-s)) };
    if (!v->beta)
        x[1] = exp(s);
    *by = NAN;
    if (!special_fast()[v->beta ? SPECIAL_betainc : SPECIAL_gammainc].one(x, &r))
        return 0;
    *by = (r - p) / p;
    return fabs(*by) < 1e-9 ? 0 : r > p ? 1 : -1;
}

static int some_side(const Inverse *v, double s, slong bits)
{
    double by;
    int at = quick_side(v, s, &by);
    return at ? at : side(v, s, bits);
}

/* Some secants in doubles from two points; their last one, or the better of the two. */
static double secants(const Inverse *v, double s, double before)
{
    enum { STEPS = 12 };
    double f, last;
    quick_side(v, s, &f);
    quick_side(v, before, &last);
    for (int i = 0; i < STEPS && isfinite(f) && isfinite(last) && f != last; i++) {
        double next = s - f * (s - before) / (f - last);
        if (!(fabs(next - s) < 2))
            break;
        before = s;
        last = f;
        s = next;
        quick_side(v, s, &f);
        if (fabs(f) < 1e-12)
            break;
    }
    return s;
}

/* s to so much of its size, from where Newton doubles it. */
static bool bracket(const Inverse *v, double *s, double part)
{
    enum { STEPS = 200, DOUBLINGS = 200 };
    double low = -1, high = 1;
    slong bits = v->k->bits < 128 ? v->k->bits : 128;
    int n = 0;
    for (; some_side(v, low, bits) > 0 && n < DOUBLINGS; n++)
        high = low, low *= 2;
    for (; some_side(v, high, bits) < 0 && n < DOUBLINGS; n++)
        low = high, high *= 2;
    for (int i = 0; i < STEPS && high - low > part * fmax(1, fabs(low)); i++) {
        double middle = low + (high - low) / 2;
        int at = some_side(v, middle, bits);
        if (at == 0) {
            low = high = middle;
            break;
        }
        if (at > 0)
            high = middle;
        else
            low = middle;
    }
    *s = low + (high - low) / 2;
    if (low != high)
        *s = secants(v, *s, low);
    return n < DOUBLINGS;
}

/* d = dF/ds: x^a e^-x / gamma(a), or x^a (1 - x)^b / B(a, b). By logarithms. */
static void slope_of(const Inverse *v, slong bits)
{
    const Arb *b = v->k->b;
    arb_struct *t = v->k->t + 4;
    arb_srcptr a = v->k->x;
    b->arb_log(v->d, v->x, bits);
    b->arb_mul(v->d, v->d, a, bits);
    b->arb_lgamma(t, a, bits);
    b->arb_sub(v->d, v->d, t, bits);
    if (!v->beta) {
        b->arb_sub(v->d, v->d, v->x, bits);
        b->arb_exp(v->d, v->d, bits);
        return;
    }
    arb_srcptr other = v->k->x + 1;
    b->arb_add(t, a, other, bits);
    b->arb_lgamma(t, t, bits);
    b->arb_add(v->d, v->d, t, bits);
    b->arb_lgamma(t, other, bits);
    b->arb_sub(v->d, v->d, t, bits);
    b->arb_neg(t, v->x);
    b->arb_add_si(t, t, 1, bits);
    b->arb_log(t, t, bits);
    b->arb_mul(t, t, other, bits);
    b->arb_add(v->d, v->d, t, bits);
    b->arb_exp(v->d, v->d, bits);
}

static bool newton(const Inverse *v)
{
    const Arb *b = v->k->b;
    arb_struct *t = v->k->t + 4;
    int steps = 1;
    for (slong right = 16; right < v->k->bits; right *= 2)
        steps++;
    for (int i = 0; i < steps; i++) {
        slong bits = v->k->bits;
        value_of(v, bits);
        slope_of(v, bits);
        b->arb_div(t, v->f, v->d, bits);
        if (!b->arb_is_finite(t))
            return i > 0;
        b->arb_sub(v->s, v->s, t, bits);
        b->arb_get_mid_arb(v->s, v->s);
    }
    return true;
}

/* s +- width becomes the enclosure, if F says so on both sides. */
static bool enclosed(const Inverse *v)
{
    const Arb *b = v->k->b;
    arb_struct *centre = v->k->t + 5, *width = v->k->t + 6, *low = v->k->t + 7;
    slong bits = v->k->bits;
    b->arb_set(centre, v->s);
    b->arb_abs(width, centre);
    b->arb_add_si(width, width, 1, 30);
    b->arb_get_mid_arb(width, width);
    b->arb_mul_2exp_si(width, width, -bits + ROOT_SPARE - 16);
    b->arb_sub(low, centre, width, 2 * bits);
    b->arb_set(v->s, low);
    value_of(v, bits);
    if (!b->arb_is_negative(v->f))
        return false;
    b->arb_add(v->s, centre, width, 2 * bits);
    value_of(v, bits);
    if (!b->arb_is_positive(v->f))
        return false;
    b->arb_union(v->s, low, v->s, 2 * bits);
    return true;
}

static BallOutcome inverse(Ball *k, bool beta)
{
    Inverse v = { .k = k, .beta = beta, .p = k->x + (beta ? 2 : 1), .x = k->t, .f = k->t + 1,
                  .d = k->t + 2, .s = k->t + 3 };
    slong bits = k->bits;
    double s;
    bool found = false;
    k->bits = bits + ROOT_SPARE;
    for (int i = 0; i < 2 && !found; i++)
        if (bracket(&v, &s, i ? 0x1p-24 : 0x1p-4)) {
            k->b->arb_set_d(v.s, s);
            found = newton(&v) && enclosed(&v);
        }
    if (found) {
        point_of(&v, k->bits);
        k->b->arb_set(k->r, v.x);
    } else {
        no_bound(k, k->r);
    }
    k->bits = bits;
    return BALL_VALUE;
}

BallOutcome ball_gammaincinv(Ball *k)
{
    const Arb *b = k->b;
    b->arb_add_si(k->t, k->x + 1, -1, 4 * k->bits + 4096);
    if (!b->arb_is_positive(k->x) || b->arb_is_negative(k->x + 1) || b->arb_is_positive(k->t))
        return BALL_NAN;
    b->arb_set_si(k->r, 0);
    if (b->arb_is_zero(k->x + 1))
        return BALL_VALUE;
    return b->arb_is_zero(k->t) ? BALL_INF : inverse(k, false);
}

BallOutcome ball_betaincinv(Ball *k)
{
    bool inside;
    BallOutcome o = beta_domain(k, &inside);
    if (!k->b->arb_is_positive(k->x) || !k->b->arb_is_positive(k->x + 1))
        return BALL_NAN;
    return o == BALL_VALUE && inside ? inverse(k, true) : o;
}

/* ---- orthogonal polynomials; of a broken degree the functions that continue them ---- */

BallOutcome ball_legendre(Ball *k)
{
    k->b->arb_set_si(k->t, 0);
    k->b->arb_hypgeom_legendre_p(k->r, k->x, k->t, k->x + 1, 0, k->bits);
    return BALL_VALUE;
}

BallOutcome ball_hermite(Ball *k)
{
    if (!k->b->arb_is_int(k->x) || !k->b->arb_is_nonnegative(k->x))
        return BALL_NAN;
    k->b->arb_hypgeom_hermite_h(k->r, k->x, k->x + 1, k->bits);
    return BALL_VALUE;
}

BallOutcome ball_laguerre(Ball *k)
{
    k->b->arb_set_si(k->t, 0);
    k->b->arb_hypgeom_laguerre_l(k->r, k->x, k->t, k->x + 1, k->bits);
    return BALL_VALUE;
}

BallOutcome ball_chebyshev_t(Ball *k)
{
    k->b->arb_hypgeom_chebyshev_t(k->r, k->x, k->x + 1, k->bits);
    return BALL_VALUE;
}
