/* Special functions in balls, 1: gamma and its relatives, elementary ones. What a function is at a
 * pole and outside of its domain is decided here, with exact comparisons of the operands. Of
 * operands that are intervals every test is certain or fails, and what then has no bound is not
 * finite. */
#include "kernels/special/special_ball.h"

/* A whole number <= 0. */
static bool is_pole(const Ball *k, arb_srcptr x)
{
    return k->b->arb_is_int(x) && !k->b->arb_is_positive(x);
}

static BallOutcome plus_one(Ball *k, arb_ptr to, arb_srcptr x)
{
    k->b->arb_add_si(to, x, 1, k->bits + 64);
    return BALL_VALUE;
}

BallOutcome ball_factorial(Ball *k)
{
    plus_one(k, k->t, k->x);
    if (is_pole(k, k->t))
        return BALL_NAN;
    k->b->arb_gamma(k->r, k->t, k->bits);
    return BALL_VALUE;
}

/* N choose k: 0 outside of 0 <= k <= N, as SciPy has it. */
BallOutcome ball_comb(Ball *k)
{
    const Arb *b = k->b;
    b->arb_sub(k->t, k->x, k->x + 1, 4 * k->bits + 4096);
    if (b->arb_is_negative(k->x) || b->arb_is_negative(k->x + 1) || b->arb_is_negative(k->t)) {
        b->arb_set_si(k->r, 0);
        return BALL_VALUE;
    }
    b->arb_add_si(k->t, k->t, 1, k->bits + 64);
    b->arb_add_si(k->t + 1, k->x, 1, k->bits + 64);
    b->arb_add_si(k->t + 2, k->x + 1, 1, k->bits + 64);
    b->arb_gamma(k->r, k->t + 1, k->bits);
    b->arb_rgamma(k->t + 1, k->t, k->bits);
    b->arb_rgamma(k->t + 2, k->t + 2, k->bits);
    b->arb_mul(k->r, k->r, k->t + 1, k->bits);
    b->arb_mul(k->r, k->r, k->t + 2, k->bits);
    return BALL_VALUE;
}

BallOutcome ball_digamma(Ball *k)
{
    if (k->b->arb_is_zero(k->x))
        return BALL_MINUS_INF;
    if (is_pole(k, k->x))
        return BALL_NAN;
    k->b->arb_digamma(k->r, k->x, k->bits);
    return BALL_VALUE;
}

/* Of a whole order >= 0. */
BallOutcome ball_polygamma(Ball *k)
{
    const Arb *b = k->b;
    acb_t s, z, r;
    if (!b->arb_is_int(k->x) || !b->arb_is_nonnegative(k->x))
        return BALL_NAN;
    if (is_pole(k, k->x + 1)) {
        b->arb_mul_2exp_si(k->t, k->x, -1);
        return b->arb_is_int(k->t) ? BALL_NAN : BALL_INF;
    }
    b->acb_init(s);
    b->acb_init(z);
    b->acb_init(r);
    b->acb_set_arb(s, k->x);
    b->acb_set_arb(z, k->x + 1);
    b->acb_polygamma(r, s, z, k->bits);
    b->acb_get_real(k->r, r);
    b->acb_clear(s);
    b->acb_clear(z);
    b->acb_clear(r);
    return BALL_VALUE;
}

/* B(a, b) of a whole a <= 0: (-1)^b B(1 - a - b, b) where b is whole and a + b <= 0, else there is
 * a pole. a and b come in t[0], t[1] so that the first may be a pole. */
static bool reflected(Ball *k)
{
    const Arb *b = k->b;
    b->arb_add(k->t + 2, k->t, k->t + 1, 4 * k->bits + 4096);
    if (!b->arb_is_int(k->t + 1) || !b->arb_is_positive(k->t + 1) || !is_pole(k, k->t + 2))
        return false;
    b->arb_neg(k->t, k->t + 2);
    b->arb_add_si(k->t, k->t, 1, 4 * k->bits + 4096);
    return true;
}

/* |B| and its sign. */
static BallOutcome beta_of(Ball *k, bool logarithm)
{
    const Arb *b = k->b;
    bool first = is_pole(k, k->x), second = is_pole(k, k->x + 1), flips = false;
    b->arb_set(k->t, k->x + (second && !first));
    b->arb_set(k->t + 1, k->x + !(second && !first));
    if (first || second) {
        if (!reflected(k))
            return BALL_INF;
        b->arb_mul_2exp_si(k->t + 2, k->t + 1, -1);
        flips = !b->arb_is_int(k->t + 2);
    }
    b->arb_add(k->t + 2, k->t, k->t + 1, 4 * k->bits + 4096);
    if (is_pole(k, k->t + 2)) {
        b->arb_set_si(k->r, 0);
        return logarithm ? BALL_MINUS_INF : BALL_VALUE;
    }
    bool positive = b->arb_is_positive(k->t) && b->arb_is_positive(k->t + 1);
    if (logarithm && positive) {
        b->arb_lgamma(k->r, k->t, k->bits);
        b->arb_lgamma(k->t + 3, k->t + 1, k->bits);
        b->arb_add(k->r, k->r, k->t + 3, k->bits);
        b->arb_lgamma(k->t + 3, k->t + 2, k->bits);
        b->arb_sub(k->r, k->r, k->t + 3, k->bits);
        return BALL_VALUE;
    }
    b->arb_gamma(k->t, k->t, k->bits);
    b->arb_gamma(k->t + 1, k->t + 1, k->bits);
    b->arb_rgamma(k->t + 2, k->t + 2, k->bits);
    b->arb_mul(k->r, k->t, k->t + 1, k->bits);
    b->arb_mul(k->r, k->r, k->t + 2, k->bits);
    if (flips)
        b->arb_neg(k->r, k->r);
    if (logarithm) {
        b->arb_abs(k->r, k->r);
        b->arb_log(k->r, k->r, k->bits);
    }
    return BALL_VALUE;
}

BallOutcome ball_beta(Ball *k) { return beta_of(k, false); }
BallOutcome ball_lbeta(Ball *k) { return beta_of(k, true); }

BallOutcome ball_erfinv(Ball *k)
{
    const Arb *b = k->b;
    if (b->arb_equal_si(k->x, 1))
        return BALL_INF;
    if (b->arb_equal_si(k->x, -1))
        return BALL_MINUS_INF;
    b->arb_abs(k->t, k->x);
    b->arb_add_si(k->t, k->t, -1, k->bits + 64);
    if (b->arb_is_positive(k->t))
        return BALL_NAN;
    b->arb_hypgeom_erfinv(k->r, k->x, k->bits);
    return BALL_VALUE;
}

BallOutcome ball_erfcinv(Ball *k)
{
    const Arb *b = k->b;
    if (b->arb_is_zero(k->x))
        return BALL_INF;
    if (b->arb_equal_si(k->x, 2))
        return BALL_MINUS_INF;
    b->arb_add_si(k->t, k->x, -2, k->bits + 64);
    if (b->arb_is_negative(k->x) || b->arb_is_positive(k->t))
        return BALL_NAN;
    b->arb_hypgeom_erfcinv(k->r, k->x, k->bits);
    return BALL_VALUE;
}

BallOutcome ball_zeta(Ball *k)
{
    if (k->b->arb_equal_si(k->x, 1))
        return BALL_INF;
    k->b->arb_zeta(k->r, k->x, k->bits);
    return BALL_VALUE;
}

/* ---- elementary ones ---- */

/* log(x / (1 - x)), near 1/2 of little: log1p of (2x - 1) / (1 - x). */
BallOutcome ball_logit(Ball *k)
{
    const Arb *b = k->b;
    b->arb_neg(k->t, k->x);
    b->arb_add_si(k->t, k->t, 1, 4 * k->bits + 4096);
    if (b->arb_is_zero(k->x))
        return BALL_MINUS_INF;
    if (b->arb_is_zero(k->t))
        return BALL_INF;
    if (b->arb_is_negative(k->x) || b->arb_is_negative(k->t))
        return BALL_NAN;
    b->arb_div(k->t + 1, k->x, k->t, k->bits);
    b->arb_log(k->r, k->t + 1, k->bits);
    return BALL_VALUE;
}

BallOutcome ball_expit(Ball *k)
{
    const Arb *b = k->b;
    b->arb_neg(k->t, k->x);
    b->arb_exp(k->t, k->t, k->bits);
    b->arb_add_si(k->t, k->t, 1, k->bits);
    b->arb_set_si(k->r, 1);
    b->arb_div(k->r, k->r, k->t, k->bits);
    return BALL_VALUE;
}

BallOutcome ball_xlogy(Ball *k)
{
    const Arb *b = k->b;
    if (b->arb_is_zero(k->x)) {
        b->arb_set_si(k->r, 0);
        return BALL_VALUE;
    }
    if (b->arb_is_negative(k->x + 1))
        return BALL_NAN;
    if (b->arb_is_zero(k->x + 1))
        return b->arb_is_positive(k->x) ? BALL_MINUS_INF : BALL_INF;
    b->arb_log(k->r, k->x + 1, k->bits);
    b->arb_mul(k->r, k->r, k->x, k->bits);
    return BALL_VALUE;
}

/* max(x, y) + log(1 + exp(-|x - y|)) */
BallOutcome ball_logaddexp(Ball *k)
{
    const Arb *b = k->b;
    b->arb_sub(k->t, k->x, k->x + 1, k->bits);
    b->arb_abs(k->t, k->t);
    b->arb_neg(k->t, k->t);
    b->arb_exp(k->t, k->t, k->bits);
    b->arb_log1p(k->t, k->t, k->bits);
    b->arb_max(k->r, k->x, k->x + 1, k->bits);
    b->arb_add(k->r, k->r, k->t, k->bits);
    return BALL_VALUE;
}

BallOutcome ball_sinc(Ball *k)
{
    k->b->arb_sinc_pi(k->r, k->x, k->bits);
    return BALL_VALUE;
}
