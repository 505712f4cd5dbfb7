/* Enclosures of functions: given intervals with ends of any length, an interval that contains
 * every value. Ends are computed by MPFR rounded outward; where extremes lie inside is known
 * from monotony, quadrants and the four valleys below. Behind the interval format, and behind
 * the functions of decimals and those that MPFR lacks, whose enclosures shrink until both ends
 * round alike. An empty result, no point of the operands has a value, is nan. */
#include "kernels/number/arith_number.h"

#include <math.h>

void enclosure_init(const Mpfr *f, Enclosure *e, mpfr_prec_t bits)
{
    f->mpfr_init2(e->lo, bits);
    f->mpfr_init2(e->hi, bits);
}

void enclosure_clear(const Mpfr *f, Enclosure *e)
{
    f->mpfr_clear(e->lo);
    f->mpfr_clear(e->hi);
}

static void set_nan(const Mpfr *f, Enclosure *e)
{
    f->mpfr_set_nan(e->lo);
    f->mpfr_set_nan(e->hi);
}

static void set_doubles(const Mpfr *f, Enclosure *e, double lo, double hi)
{
    f->mpfr_set_d(e->lo, lo, MPFR_RNDD);
    f->mpfr_set_d(e->hi, hi, MPFR_RNDU);
}

static int order(const Mpfr *f, mpfr_srcptr x, mpfr_srcptr y) { return f->mpfr_cmp3(x, y, 1); }

static int order_d(const Mpfr *f, mpfr_srcptr x, double d)
{
    mp_limb_t limb;
    mpfr_t y = {{ ._mpfr_prec = 64, ._mpfr_sign = 1, ._mpfr_exp = __MPFR_EXP_ZERO,
                 ._mpfr_d = &limb }};
    f->mpfr_set_d(y, d, MPFR_RNDN);
    return order(f, x, y);
}

static mpfr_rnd_t opposite(mpfr_rnd_t rnd) { return rnd == MPFR_RNDD ? MPFR_RNDU : MPFR_RNDD; }

/* ---- values at a point, rounded down or up ---- */

/* 1 / (1 + exp(-x)), of negative x exp(x) / (1 + exp(x)): so neither overflows. */
static void sigmoid(const Mpfr *f, mpfr_ptr r, mpfr_srcptr x, mpfr_rnd_t rnd)
{
    mpfr_t e, one_more;
    __mpfr_struct minus = *x;
    minus._mpfr_sign = -1;
    f->mpfr_init2(e, r->_mpfr_prec);
    f->mpfr_init2(one_more, r->_mpfr_prec);
    f->mpfr_exp(e, &minus, opposite(rnd));
    f->mpfr_add_ui(one_more, e, 1, opposite(rnd));
    if (mpfr_sign(x) < 0)
        f->mpfr_exp(e, &minus, rnd);
    else
        f->mpfr_set_ui_2exp(e, 1, 0, MPFR_RNDN);
    f->mpfr_div(r, e, one_more, rnd);
    f->mpfr_clear(one_more);
    f->mpfr_clear(e);
}

/* max(x, 0) + log(1 + exp(-|x|)) */
static void softplus(const Mpfr *f, mpfr_ptr r, mpfr_srcptr x, mpfr_rnd_t rnd)
{
    mpfr_t e;
    f->mpfr_init2(e, r->_mpfr_prec);
    __mpfr_struct minus = *x;
    minus._mpfr_sign = -1;
    f->mpfr_exp(e, &minus, rnd);
    f->mpfr_log1p(e, e, rnd);
    if (mpfr_sign(x) > 0)
        f->mpfr_add(r, x, e, rnd);
    else
        f->mpfr_set(r, e, rnd);
    f->mpfr_clear(e);
}

static void silu(const Mpfr *f, mpfr_ptr r, mpfr_srcptr x, mpfr_rnd_t rnd)
{
    mpfr_t s;
    if (mpfr_is_inf(x)) {
        x->_mpfr_sign < 0 ? f->mpfr_set_zero(r, -1) : f->mpfr_set_inf(r, 1);
        return;
    }
    f->mpfr_init2(s, r->_mpfr_prec);
    sigmoid(f, s, x, mpfr_sign(x) < 0 ? opposite(rnd) : rnd);
    f->mpfr_mul(r, x, s, rnd);
    f->mpfr_clear(s);
}

/* x/2 erfc(-x / sqrt 2), whose second factor falls as its argument grows. */
static void gelu(const Mpfr *f, mpfr_ptr r, mpfr_srcptr x, mpfr_rnd_t rnd)
{
    mpfr_t c, root;
    if (mpfr_is_inf(x)) {
        x->_mpfr_sign < 0 ? f->mpfr_set_zero(r, -1) : f->mpfr_set_inf(r, 1);
        return;
    }
    bool negative = mpfr_sign(x) < 0;
    mpfr_rnd_t factor = negative ? opposite(rnd) : rnd, argument = opposite(factor);
    f->mpfr_init2(c, r->_mpfr_prec + 8);
    f->mpfr_init2(root, r->_mpfr_prec + 8);
    f->mpfr_set_ui_2exp(c, 2, 0, MPFR_RNDN);
    f->mpfr_sqrt(root, c, negative ? opposite(argument) : argument);
    __mpfr_struct minus = *x;
    minus._mpfr_sign = -minus._mpfr_sign;
    f->mpfr_div(c, &minus, root, argument);
    f->mpfr_erfc(c, c, factor);
    f->mpfr_mul(r, x, c, rnd);
    f->mpfr_mul_2si(r, r, -1, rnd);
    f->mpfr_clear(c);
    f->mpfr_clear(root);
}

static bool at(const Mpfr *f, EwOp op, mpfr_ptr r, mpfr_srcptr x, mpfr_rnd_t rnd)
{
    bool known = true;
    switch (op) {
    case EW_SIGMOID: sigmoid(f, r, x, rnd); break;
    case EW_SOFTPLUS: softplus(f, r, x, rnd); break;
    case EW_SILU: silu(f, r, x, rnd); break;
    case EW_GELU: gelu(f, r, x, rnd); break;
    case EW_RELU:
        if (mpfr_sign(x) > 0) f->mpfr_set(r, x, rnd);
        else f->mpfr_set_zero(r, 1);
        break;
    default: mp_direct(f, op, r, x, x, x, rnd, &known);
    }
    return known;
}

/* Both ends at one point. */
static bool at_point(const Mpfr *f, EwOp op, Enclosure *out, mpfr_srcptr x)
{
    return at(f, op, out->lo, x, MPFR_RNDD) && at(f, op, out->hi, x, MPFR_RNDU);
}

/* ---- shapes ---- */

static bool is_point(const Mpfr *f, const Enclosure *x) { return order(f, x->lo, x->hi) == 0; }

static void rising(const Mpfr *f, EwOp op, Enclosure *out, mpfr_srcptr lo, mpfr_srcptr hi)
{
    at(f, op, out->lo, lo, MPFR_RNDD);
    at(f, op, out->hi, hi, MPFR_RNDU);
}

/* out->hi = the larger value of both ends. */
static void higher_end(const Mpfr *f, EwOp op, Enclosure *out, const Enclosure *x)
{
    mpfr_t t;
    f->mpfr_init2(t, out->hi->_mpfr_prec);
    at(f, op, out->hi, x->lo, MPFR_RNDU);
    at(f, op, t, x->hi, MPFR_RNDU);
    if (order(f, t, out->hi) > 0)
        f->mpfr_set(out->hi, t, MPFR_RNDU);
    f->mpfr_clear(t);
}

static void lower_end(const Mpfr *f, EwOp op, Enclosure *out, const Enclosure *x)
{
    mpfr_t t;
    f->mpfr_init2(t, out->lo->_mpfr_prec);
    at(f, op, out->lo, x->lo, MPFR_RNDD);
    at(f, op, t, x->hi, MPFR_RNDD);
    if (order(f, t, out->lo) < 0)
        f->mpfr_set(out->lo, t, MPFR_RNDD);
    f->mpfr_clear(t);
}

/* Falls, and rises from a point between `left` and `right` on; never below `least`, and flatter
 * than 2 near the point. */
typedef struct Valley { double left, right, least; } Valley;

static void valley(const Mpfr *f, EwOp op, Enclosure *out, const Enclosure *x, Valley v)
{
    mpfr_t width;
    if (order_d(f, x->hi, v.left) <= 0) {
        rising(f, op, out, x->hi, x->lo);
        return;
    }
    if (order_d(f, x->lo, v.right) >= 0) {
        rising(f, op, out, x->lo, x->hi);
        return;
    }
    higher_end(f, op, out, x);
    lower_end(f, op, out, x);
    f->mpfr_init2(width, 64);
    f->mpfr_sub(width, x->hi, x->lo, MPFR_RNDU);
    if (order_d(f, width, 0.25) < 0) {
        f->mpfr_mul_2si(width, width, 1, MPFR_RNDU);
        f->mpfr_sub(out->lo, out->lo, width, MPFR_RNDD);
    }
    if (order_d(f, width, 0.25) >= 0 || order_d(f, out->lo, v.least) < 0)
        f->mpfr_set_d(out->lo, v.least, MPFR_RNDD);
    f->mpfr_clear(width);
}

/* log |gamma| is convex between two poles: below its ends there. */
static void beside_poles(const Mpfr *f, EwOp op, Enclosure *out, const Enclosure *x)
{
    Enclosure below;
    enclosure_init(f, &below, out->lo->_mpfr_prec);
    f->mpfr_rint(below.lo, x->lo, MPFR_RNDD);
    f->mpfr_rint(below.hi, x->hi, MPFR_RNDD);
    bool gap = op == EW_LGAMMA && order(f, below.lo, below.hi) == 0 && mpfr_sign(x->hi) < 0;
    enclosure_clear(f, &below);
    if (gap)
        higher_end(f, op, out, x);
    else
        f->mpfr_set_inf(out->hi, 1);
    f->mpfr_set_inf(out->lo, -1);
}

static void even(const Mpfr *f, EwOp op, Enclosure *out, const Enclosure *x)
{
    bool inside = mpfr_sign(x->lo) < 0 && mpfr_sign(x->hi) > 0;
    if (!inside && mpfr_sign(x->lo) >= 0)
        rising(f, op, out, x->lo, x->hi);
    else if (!inside)
        rising(f, op, out, x->hi, x->lo);
    else {
        higher_end(f, op, out, x);
        f->mpfr_set_si_2exp(out->lo, op == EW_COSH, 0, MPFR_RNDD);
    }
}

/* ---- sine, cosine, tangent ---- */

/* floor(2 x / pi), or one less or more where that cannot be told; false: x is too large. */
static bool quadrant(const Mpfr *f, mpfr_ptr q, mpfr_srcptr x, mpfr_rnd_t rnd)
{
    enum { EXPONENT_MAX = 1 << 16 };
    if (mpfr_is_zero(x)) {
        f->mpfr_set_zero(q, 1);
        return true;
    }
    if (!mpfr_is_regular(x) || x->_mpfr_exp > EXPONENT_MAX)
        return false;
    mpfr_t pi;
    f->mpfr_set_prec(q, (x->_mpfr_exp > 0 ? x->_mpfr_exp : 0) + x->_mpfr_prec + 64);
    f->mpfr_init2(pi, q->_mpfr_prec);
    f->mpfr_const_pi(pi, (rnd == MPFR_RNDD) == (x->_mpfr_sign > 0) ? MPFR_RNDU : MPFR_RNDD);
    f->mpfr_div(q, x, pi, rnd);
    f->mpfr_mul_2si(q, q, 1, MPFR_RNDN);
    f->mpfr_rint(q, q, MPFR_RNDD);
    f->mpfr_clear(pi);
    return true;
}

/* The quadrants of both ends: that of the lower one modulo 4, and how many further the other
 * is; more than 4 where all of them are passed. */
static int quadrants(const Mpfr *f, const Enclosure *x, int *first)
{
    const Gmp *g = gmp_open(NULL);
    mpfr_t a, b;
    mpz_t za, zb;
    int further = 5;
    *first = 0;
    f->mpfr_init2(a, 64);
    f->mpfr_init2(b, 64);
    g->mpz_init(za);
    g->mpz_init(zb);
    if (quadrant(f, a, x->lo, MPFR_RNDD) && quadrant(f, b, x->hi, MPFR_RNDU)) {
        f->mpfr_get_z(za, a, MPFR_RNDN);
        f->mpfr_get_z(zb, b, MPFR_RNDN);
        int low = za->_mp_size ? (int)(za->_mp_d[0] & 3) : 0;
        *first = za->_mp_size < 0 ? (4 - low) & 3 : low;
        g->mpz_sub(zb, zb, za);
        if (zb->_mp_size <= 1 && zb->_mp_size >= 0 && (zb->_mp_size == 0 || zb->_mp_d[0] < 5))
            further = zb->_mp_size ? (int)zb->_mp_d[0] : 0;
    }
    f->mpfr_clear(a);
    f->mpfr_clear(b);
    g->mpz_clear(za);
    g->mpz_clear(zb);
    return further;
}

static bool passes(int first, int further, int which)
{
    for (int k = 1; k <= further; k++)
        if (((first + k) & 3) == which)
            return true;
    return false;
}

static void periodic(const Mpfr *f, EwOp op, Enclosure *out, const Enclosure *x)
{
    int first, further = quadrants(f, x, &first), top = op == EW_SIN ? 1 : 0;
    if (op == EW_TAN) {
        bool pole = further > 1 || passes(first, further, 1) || passes(first, further, 3);
        if (pole) {
            set_doubles(f, out, -(double)INFINITY, (double)INFINITY);
            return;
        }
        rising(f, op, out, x->lo, x->hi);
        return;
    }
    bool high = passes(first, further, top), low = passes(first, further, (top + 2) & 3);
    if (further > 4 || high)
        f->mpfr_set_d(out->hi, 1, MPFR_RNDU);
    else
        higher_end(f, op, out, x);
    if (further > 4 || low)
        f->mpfr_set_d(out->lo, -1, MPFR_RNDD);
    else
        lower_end(f, op, out, x);
}

/* ---- one operand ---- */

/* Where the function is defined: [lo, hi]. */
static void domain_of(EwOp op, double *lo, double *hi)
{
    *lo = -(double)INFINITY;
    *hi = (double)INFINITY;
    switch (op) {
    case EW_SQRT: case EW_LOG: case EW_LOG2: case EW_LOG10: *lo = 0; break;
    case EW_LOG1P: *lo = -1; break;
    case EW_ASIN: case EW_ACOS: case EW_ATANH: *lo = -1; *hi = 1; break;
    case EW_ACOSH: *lo = 1; break;
    default: break;
    }
}

static void shaped(const Mpfr *f, EwOp op, Enclosure *out, const Enclosure *x)
{
    switch (op) {
    case EW_ACOS: case EW_ERFC: case EW_NEGATIVE:
        rising(f, op, out, x->hi, x->lo);
        break;
    case EW_COSH:
        even(f, op, out, x);
        break;
    case EW_SIN: case EW_COS: case EW_TAN:
        periodic(f, op, out, x);
        break;
    case EW_SILU:
        valley(f, op, out, x, (Valley){ -1.2784645427610740, -1.2784645427610737,
                                       -0.2784645427610739 });
        break;
    case EW_GELU:
        valley(f, op, out, x, (Valley){ -0.7517915246935646, -0.7517915246935644,
                                       -0.1699712074799040 });
        break;
    case EW_GAMMA: case EW_LGAMMA:
        if (mpfr_sign(x->lo) <= 0)
            beside_poles(f, op, out, x);
        else
            valley(f, op, out, x,
                   (Valley){ 1.4616321449683620, 1.4616321449683627,
                             op == EW_GAMMA ? 0.8856031944108886 : -0.1214862905358497 });
        break;
    case EW_ANGLE:                               /* pi below 0 */
        rising(f, op, out, x->hi, x->lo);
        break;
    default:
        rising(f, op, out, x->lo, x->hi);
    }
}

static ArithStatus enclose_one(const Mpfr *f, EwOp op, Enclosure *out, const Enclosure *x,
                               bool *partly)
{
    double least, most;
    mp_limb_t limbs[2];
    Enclosure inside = { {*x->lo}, {*x->hi} };
    domain_of(op, &least, &most);
    if (order_d(f, x->hi, least) < 0 || order_d(f, x->lo, most) > 0) {
        *partly = true;
        set_nan(f, out);
        return ARITH_OK;
    }
    if (is_point(f, x) && !mp_excessive(op, x->lo)) {
        if (!at_point(f, op, out, x->lo))
            return ARITH_NONE;
        *partly |= mpfr_is_nan(out->lo);
        return ARITH_OK;
    }
    if (order_d(f, x->lo, least) < 0) {
        *partly = true;
        inside.lo[0] = (__mpfr_struct){ 64, 1, __MPFR_EXP_ZERO, limbs };
        f->mpfr_set_d(inside.lo, least, MPFR_RNDN);
    }
    if (order_d(f, x->hi, most) > 0) {
        *partly = true;
        inside.hi[0] = (__mpfr_struct){ 64, 1, __MPFR_EXP_ZERO, limbs + 1 };
        f->mpfr_set_d(inside.hi, most, MPFR_RNDN);
    }
    bool known;
    mp_direct(f, op, out->lo, inside.lo, inside.lo, inside.lo, MPFR_RNDD, &known);
    if (!known && op != EW_SIGMOID && op != EW_SOFTPLUS && op != EW_SILU && op != EW_GELU &&
        op != EW_RELU)
        return ARITH_NONE;
    shaped(f, op, out, &inside);
    return ARITH_OK;
}

/* ---- two and three operands ---- */

/* Extremes at the corners of the box. */
static void corners(const Mpfr *f, EwOp op, Enclosure *out, const Enclosure *const x[3])
{
    const Enclosure *third = x[2] ? x[2] : x[1];
    mpfr_t t;
    bool known;
    f->mpfr_init2(t, out->lo->_mpfr_prec);
    for (int up = 0; up < 2; up++) {
        mpfr_ptr end = up ? out->hi : out->lo;
        for (int k = 0; k < 4; k++) {
            mpfr_srcptr u = k & 1 ? x[0]->hi : x[0]->lo, v = k & 2 ? x[1]->hi : x[1]->lo;
            mpfr_srcptr w = up ? third->hi : third->lo;
            mp_direct(f, op, t, u, v, w, up ? MPFR_RNDU : MPFR_RNDD, &known);
            if (mpfr_is_nan(t) && op == EW_FMA)              /* 0 inf: the factor 0 wins */
                f->mpfr_set(t, w, up ? MPFR_RNDU : MPFR_RNDD);
            if (k == 0 || mpfr_is_nan(t) || (order(f, t, end) > 0) == up)
                f->mpfr_set(end, t, up ? MPFR_RNDU : MPFR_RNDD);
        }
    }
    f->mpfr_clear(t);
}

/* The distances from 0: smallest and largest. Heads only. */
static void magnitudes(const Mpfr *f, const Enclosure *x, Enclosure *out)
{
    bool inside = mpfr_sign(x->lo) <= 0 && mpfr_sign(x->hi) >= 0;
    bool upper = f->mpfr_cmpabs(x->hi, x->lo) >= 0;
    out->hi[0] = upper ? *x->hi : *x->lo;
    out->lo[0] = upper ? *x->lo : *x->hi;
    out->hi->_mpfr_sign = out->lo->_mpfr_sign = 1;
    if (inside)
        out->lo->_mpfr_exp = __MPFR_EXP_ZERO;
}

static void hypotenuse(const Mpfr *f, Enclosure *out, const Enclosure *const x[3])
{
    Enclosure a, b;
    magnitudes(f, x[0], &a);
    magnitudes(f, x[1], &b);
    f->mpfr_hypot(out->lo, a.lo, b.lo, MPFR_RNDD);
    f->mpfr_hypot(out->hi, a.hi, b.hi, MPFR_RNDU);
}

static void arctangent(const Mpfr *f, Enclosure *out, const Enclosure *const x[3], bool *partly)
{
    const Enclosure *y = x[0];
    if (mpfr_sign(y->lo) < 0 && mpfr_sign(y->hi) >= 0 && mpfr_sign(x[1]->lo) < 0) {
        *partly = true;
        f->mpfr_const_pi(out->hi, MPFR_RNDU);      /* across the cut */
        f->mpfr_const_pi(out->lo, MPFR_RNDU);
        out->lo->_mpfr_sign = -1;
        return;
    }
    corners(f, EW_ATAN2, out, x);
}

/* x^n for an integer n: odd powers rise, even ones have their valley at 0; negative ones jump. */
static void integer_power(const Mpfr *f, Enclosure *out, const Enclosure *const x[3])
{
    mpfr_srcptr n = x[1]->lo;
    Enclosure half;
    bool zero = mpfr_sign(x[0]->lo) <= 0 && mpfr_sign(x[0]->hi) >= 0, below = mpfr_sign(n) < 0, odd;
    f->mpfr_init2(half.lo, n->_mpfr_prec);
    f->mpfr_mul_2si(half.lo, n, -1, MPFR_RNDN);
    odd = !f->mpfr_integer_p(half.lo);
    f->mpfr_clear(half.lo);
    if (odd && zero && below) {
        set_doubles(f, out, -(double)INFINITY, (double)INFINITY);
        return;
    }
    mpfr_srcptr low = x[0]->lo, high = x[0]->hi;
    if (!odd) {
        magnitudes(f, x[0], &half);
        low = half.lo;
        high = half.hi;
    }
    f->mpfr_pow(out->lo, below ? high : low, n, MPFR_RNDD);
    f->mpfr_pow(out->hi, below ? low : high, n, MPFR_RNDU);
}

static bool holds_integer(const Mpfr *f, const Enclosure *x)
{
    mpfr_t up;
    f->mpfr_init2(up, 64);
    f->mpfr_rint(up, x->lo, MPFR_RNDU);
    bool holds = order(f, up, x->hi) <= 0;
    f->mpfr_clear(up);
    return holds;
}

/* x^y where it rises or falls in both all over the box: two corners instead of four, twice. */
static bool one_way(const Mpfr *f, Enclosure *out, const Enclosure *x, const Enclosure *y)
{
    bool above = order_d(f, x->lo, 1) >= 0;
    bool below = order_d(f, x->hi, 1) <= 0 && mpfr_sign(x->lo) > 0;
    bool positive = mpfr_sign(y->lo) > 0, negative = mpfr_sign(y->hi) < 0;
    if (!(above || below) || !(positive || negative) || !mpfr_is_regular(x->hi))
        return false;
    f->mpfr_pow(out->lo, positive ? x->lo : x->hi, above ? y->lo : y->hi, MPFR_RNDD);
    f->mpfr_pow(out->hi, positive ? x->hi : x->lo, above ? y->hi : y->lo, MPFR_RNDU);
    return true;
}

/* Of a negative base, integer powers have values, of either sign: no more is told of them where
 * the exponent is no point. */
static void power(const Mpfr *f, Enclosure *out, const Enclosure *const x[3], bool *partly)
{
    if (is_point(f, x[1]) && mpfr_is_zero(x[1]->lo)) {
        set_doubles(f, out, 1, 1);
        return;
    }
    if (is_point(f, x[1]) && f->mpfr_integer_p(x[1]->lo)) {
        integer_power(f, out, x);
        return;
    }
    Enclosure base = { {*x[0]->lo}, {*x[0]->hi} };
    const Enclosure *const box[3] = { &base, x[1], NULL };
    if (mpfr_sign(x[0]->lo) < 0 && holds_integer(f, x[1])) {
        *partly = true;
        magnitudes(f, x[0], &base);
        corners(f, EW_POWER, out, box);
        f->mpfr_neg(out->lo, out->hi, MPFR_RNDD);
        return;
    }
    if (mpfr_sign(x[0]->hi) < 0) {
        *partly = true;
        set_nan(f, out);
        return;
    }
    if (mpfr_sign(base.lo) <= 0) {
        *partly |= mpfr_sign(base.lo) < 0;
        base.lo->_mpfr_exp = __MPFR_EXP_ZERO;
        base.lo->_mpfr_sign = 1;
    }
    if (!one_way(f, out, &base, x[1]))
        corners(f, EW_POWER, out, box);
}

static ArithStatus enclose_quotient(const Mpfr *f, EwOp op, Enclosure *out,
                                    const Enclosure *const x[3], bool *partly)
{
    Enclosure q;
    if (mpfr_sign(x[1]->lo) <= 0 && mpfr_sign(x[1]->hi) >= 0) {
        *partly = true;
        set_doubles(f, out, -(double)INFINITY, (double)INFINITY);
        if (mpfr_is_zero(x[1]->lo) && mpfr_is_zero(x[1]->hi))
            set_nan(f, out);
        if (op == EW_MOD && !mpfr_is_nan(out->lo)) {
            f->mpfr_set(out->lo, x[1]->lo, MPFR_RNDD);
            f->mpfr_set(out->hi, x[1]->hi, MPFR_RNDU);
        }
        return ARITH_OK;
    }
    enclosure_init(f, &q, out->lo->_mpfr_prec);
    corners(f, EW_FLOOR_DIVIDE, &q, x);
    bool same = order(f, q.lo, q.hi) == 0 && mpfr_is_regular(x[0]->lo);
    if (op == EW_FLOOR_DIVIDE) {
        f->mpfr_set(out->lo, q.lo, MPFR_RNDD);
        f->mpfr_set(out->hi, q.hi, MPFR_RNDU);
    } else if (same || (order(f, q.lo, q.hi) == 0 && mpfr_is_zero(x[0]->lo))) {
        const Enclosure *const box[3] = { &q, x[1], x[0] };
        f->mpfr_neg(q.lo, q.lo, MPFR_RNDN);
        f->mpfr_neg(q.hi, q.hi, MPFR_RNDN);
        corners(f, EW_FMA, out, box);            /* x - q y */
    } else {
        *partly = true;                          /* it jumps */
        f->mpfr_set(out->lo, x[1]->lo, MPFR_RNDD);
        f->mpfr_set(out->hi, x[1]->hi, MPFR_RNDU);
        if (mpfr_sign(x[1]->lo) > 0)
            f->mpfr_set_zero(out->lo, 1);
        else
            f->mpfr_set_zero(out->hi, 1);
    }
    enclosure_clear(f, &q);
    return ARITH_OK;
}

ArithStatus enclose(const Mpfr *f, EwOp op, Enclosure *out, const Enclosure *const x[3],
                    bool *partly)
{
    int arity = ew_info[op].arity;
    for (int k = 0; k < arity; k++)
        if (mpfr_is_nan(x[k]->lo) || mpfr_is_nan(x[k]->hi)) {
            set_nan(f, out);
            return ARITH_OK;
        }
    if (arity == 1)
        return enclose_one(f, op, out, x[0], partly);
    switch (op) {
    case EW_FMA: corners(f, op, out, x); return ARITH_OK;
    case EW_POWER: power(f, out, x, partly); return ARITH_OK;
    case EW_HYPOT: hypotenuse(f, out, x); return ARITH_OK;
    case EW_ATAN2: arctangent(f, out, x, partly); return ARITH_OK;
    case EW_MOD: case EW_FLOOR_DIVIDE: return enclose_quotient(f, op, out, x, partly);
    default: return ARITH_NONE;
    }
}
