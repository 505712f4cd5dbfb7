/* Complex functions of rectangles, by real functions of their sides. Branch cuts and the signs of
 * zeros are Kahan's (Branch Cuts for Complex Elementary Functions, 1987); a rectangle that lies on
 * both sides of a cut gets the values of both. Sides that are points stay what MPFR makes of them,
 * so that a result that is exact has no width. */
#include "kernels/number/enclose_pair.h"

void pair_begin(PairWork *w, const Mpfr *f, mpfr_prec_t bits)
{
    w->f = f;
    w->bits = bits;
    w->used = w->made = 0;
    w->partly = false;
    w->status = ARITH_OK;
}

void pair_end(PairWork *w)
{
    while (w->made > 0)
        enclosure_clear(w->f, &w->room[--w->made]);
}

Enclosure *pair_new(PairWork *w)
{
    if (w->used == PAIR_ROOM) {
        w->status = ARITH_MEMORY;
        w->used--;
    }
    Enclosure *e = &w->room[w->used++];
    if (w->used > w->made) {
        enclosure_init(w->f, e, w->bits);
        w->made++;
    }
    w->f->mpfr_set_zero(e->lo, 1);
    w->f->mpfr_set_zero(e->hi, 1);
    return e;
}

/* ---- real sides ---- */
typedef int (*Binary)(mpfr_ptr, mpfr_srcptr, mpfr_srcptr, mpfr_rnd_t);

static bool is_point(const PairWork *w, const Enclosure *x)
{
    return w->f->mpfr_cmp3(x->lo, x->hi, 1) == 0 && !mpfr_is_nan(x->lo);
}

static bool has_zero(const Enclosure *x)
{
    return mpfr_sign(x->lo) <= 0 && mpfr_sign(x->hi) >= 0;
}

/* Of two points: exact where the result is a number of so many bits, so that a zero has the sign
 * of arithmetic to nearest. */
static void of_points(PairWork *w, Binary fn, Enclosure *out, mpfr_srcptr x, mpfr_srcptr y)
{
    if (fn(out->lo, x, y, MPFR_RNDN) == 0) {
        w->f->mpfr_set(out->hi, out->lo, MPFR_RNDN);
        return;
    }
    fn(out->lo, x, y, MPFR_RNDD);
    fn(out->hi, x, y, MPFR_RNDU);
}

static const Enclosure *sum(PairWork *w, const Enclosure *x, const Enclosure *y)
{
    Enclosure *out = pair_new(w);
    if (is_point(w, x) && is_point(w, y)) {
        of_points(w, w->f->mpfr_add, out, x->lo, y->lo);
        return out;
    }
    w->f->mpfr_add(out->lo, x->lo, y->lo, MPFR_RNDD);
    w->f->mpfr_add(out->hi, x->hi, y->hi, MPFR_RNDU);
    return out;
}

static const Enclosure *negated(PairWork *w, const Enclosure *x)
{
    Enclosure *out = pair_new(w);
    w->f->mpfr_neg(out->lo, x->hi, MPFR_RNDD);
    w->f->mpfr_neg(out->hi, x->lo, MPFR_RNDU);
    return out;
}

static const Enclosure *difference(PairWork *w, const Enclosure *x, const Enclosure *y)
{
    Enclosure *out = pair_new(w);
    if (is_point(w, x) && is_point(w, y)) {
        of_points(w, w->f->mpfr_sub, out, x->lo, y->lo);
        return out;
    }
    w->f->mpfr_sub(out->lo, x->lo, y->hi, MPFR_RNDD);
    w->f->mpfr_sub(out->hi, x->hi, y->lo, MPFR_RNDU);
    return out;
}

/* Extremes at the corners; 0 times the end of an unbounded side is 0. */
static void corners(PairWork *w, Binary fn, Enclosure *out, const Enclosure *x, const Enclosure *y)
{
    mpfr_t t;
    w->f->mpfr_init2(t, w->bits);
    for (int k = 0; k < 8; k++) {
        mpfr_srcptr u = k & 1 ? x->hi : x->lo, v = k & 2 ? y->hi : y->lo;
        bool up = k & 4;
        mpfr_ptr end = up ? out->hi : out->lo;
        fn(t, u, v, up ? MPFR_RNDU : MPFR_RNDD);
        if (mpfr_is_nan(t) && !mpfr_is_nan(u) && !mpfr_is_nan(v))
            w->f->mpfr_set_zero(t, 1);
        if ((k & 3) == 0 || mpfr_is_nan(t) || (w->f->mpfr_cmp3(t, end, 1) > 0) == up)
            w->f->mpfr_set(end, t, up ? MPFR_RNDU : MPFR_RNDD);
    }
    w->f->mpfr_clear(t);
}

static const Enclosure *product(PairWork *w, const Enclosure *x, const Enclosure *y)
{
    Enclosure *out = pair_new(w);
    if (is_point(w, x) && is_point(w, y))
        of_points(w, w->f->mpfr_mul, out, x->lo, y->lo);
    else
        corners(w, w->f->mpfr_mul, out, x, y);
    return out;
}

static const Enclosure *quotient(PairWork *w, const Enclosure *x, const Enclosure *y)
{
    Enclosure *out = pair_new(w);
    if (is_point(w, x) && is_point(w, y)) {
        of_points(w, w->f->mpfr_div, out, x->lo, y->lo);
    } else if (has_zero(y)) {
        w->partly = true;
        w->f->mpfr_set_inf(out->lo, -1);
        w->f->mpfr_set_inf(out->hi, 1);
    } else {
        corners(w, w->f->mpfr_div, out, x, y);
    }
    return out;
}

/* Times 2^k. */
static const Enclosure *scaled(PairWork *w, const Enclosure *x, long k)
{
    Enclosure *out = pair_new(w);
    w->f->mpfr_mul_2si(out->lo, x->lo, k, MPFR_RNDD);
    w->f->mpfr_mul_2si(out->hi, x->hi, k, MPFR_RNDU);
    return out;
}

static const Enclosure *integer(PairWork *w, long i)
{
    Enclosure *out = pair_new(w);
    w->f->mpfr_set_si_2exp(out->lo, i, 0, MPFR_RNDD);
    w->f->mpfr_set_si_2exp(out->hi, i, 0, MPFR_RNDU);
    return out;
}

static const Enclosure *apply(PairWork *w, EwOp op, const Enclosure *x, const Enclosure *y)
{
    Enclosure *out = pair_new(w);
    if (w->status == ARITH_OK && mp_slow(w->f, op, x->lo, w->bits))
        w->status = ARITH_SLOW;
    if (w->status == ARITH_OK)
        w->status = enclose(w->f, op, out, (const Enclosure *const[3]){ x, y, NULL }, &w->partly);
    return out;
}

static const Enclosure *of(PairWork *w, EwOp op, const Enclosure *x)
{
    bool zero = is_point(w, x) && mpfr_is_zero(x->lo);
    const Enclosure *out = apply(w, op, x, NULL);
    if (zero && mpfr_is_zero(out->lo) && mpfr_is_zero(out->hi))
        ((Enclosure *)(uintptr_t)out)->lo->_mpfr_sign = out->hi->_mpfr_sign;
    return out;
}

static const Enclosure *squared(PairWork *w, const Enclosure *x)
{
    Enclosure *out = pair_new(w);
    if (is_point(w, x)) {
        of_points(w, w->f->mpfr_mul, out, x->lo, x->lo);
        return out;
    }
    bool inside = has_zero(x), upper = w->f->mpfr_cmpabs(x->hi, x->lo) >= 0;
    mpfr_srcptr far = upper ? x->hi : x->lo, near = upper ? x->lo : x->hi;
    if (!inside)
        w->f->mpfr_mul(out->lo, near, near, MPFR_RNDD);
    w->f->mpfr_mul(out->hi, far, far, MPFR_RNDU);
    return out;
}

/* ---- the square root ---- */
/* sqrt((|z| + x) / 2), or with `minus` sqrt((|z| - x) / 2), of z = x + i y: where the sum cancels,
 * |y| divided by twice the other. */
static void half_root(PairWork *w, mpfr_ptr out, mpfr_srcptr x, mpfr_srcptr y, bool minus,
                      mpfr_rnd_t rnd)
{
    const Mpfr *f = w->f;
    bool other = (mpfr_sign(x) < 0) != minus && !mpfr_is_zero(x);
    mpfr_rnd_t inner = !other ? rnd : rnd == MPFR_RNDD ? MPFR_RNDU : MPFR_RNDD;
    mpfr_t t;
    __mpfr_struct a = *x, b = *y;
    a._mpfr_sign = b._mpfr_sign = 1;
    f->mpfr_init2(t, w->bits);
    f->mpfr_hypot(t, &a, &b, inner);
    f->mpfr_add(t, t, &a, inner);
    f->mpfr_mul_2si(t, t, -1, inner);
    f->mpfr_sqrt(t, t, inner);
    if (!other) {
        f->mpfr_set(out, t, rnd);
    } else {
        f->mpfr_mul_2si(t, t, 1, inner);
        f->mpfr_div(out, &b, t, rnd);
        if (mpfr_is_nan(out) && !mpfr_is_nan(t))        /* of an unbounded side */
            rnd == MPFR_RNDD ? f->mpfr_set_zero(out, 1) : f->mpfr_set_inf(out, 1);
    }
    f->mpfr_clear(t);
}

static bool below(const Enclosure *y)
{
    return mpfr_sign(y->hi) < 0 || (mpfr_is_zero(y->hi) && y->hi->_mpfr_sign < 0);
}

/* Re rises with x and |y|, |Im| falls with x and rises with |y|. */
static Rectangle square_root(PairWork *w, Rectangle z)
{
    Enclosure *re = pair_new(w), *im = pair_new(w), *zero = pair_new(w);
    const Enclosure *x = z.re, *y = z.im;
    bool upper = w->f->mpfr_cmpabs(y->hi, y->lo) >= 0;
    mpfr_srcptr far = upper ? y->hi : y->lo, near = upper ? y->lo : y->hi;
    if (mpfr_sign(y->lo) < 0 && mpfr_sign(y->hi) > 0)
        near = zero->lo;
    half_root(w, re->lo, x->lo, near, false, MPFR_RNDD);
    half_root(w, re->hi, x->hi, far, false, MPFR_RNDU);
    if (below(y)) {
        half_root(w, im->lo, x->lo, y->lo, true, MPFR_RNDU);
        half_root(w, im->hi, x->hi, y->hi, true, MPFR_RNDD);
        w->f->mpfr_neg(im->lo, im->lo, MPFR_RNDD);
        w->f->mpfr_neg(im->hi, im->hi, MPFR_RNDU);
        return (Rectangle){ re, im };
    }
    if (mpfr_sign(y->lo) < 0) {
        half_root(w, im->lo, x->lo, y->lo, true, MPFR_RNDU);
        w->f->mpfr_neg(im->lo, im->lo, MPFR_RNDD);
        w->partly |= mpfr_sign(x->lo) < 0;
    } else {
        half_root(w, im->lo, x->hi, y->lo, true, MPFR_RNDD);
    }
    half_root(w, im->hi, x->lo, y->hi, true, MPFR_RNDU);
    return (Rectangle){ re, im };
}

/* ---- formulas ---- */
static Rectangle exponential(PairWork *w, Rectangle z)
{
    const Enclosure *e = of(w, EW_EXP, z.re);
    return (Rectangle){ product(w, e, of(w, EW_COS, z.im)), product(w, e, of(w, EW_SIN, z.im)) };
}

/* e^x cos y - 1 = (e^x - 1) cos y - 2 sin(y/2)^2 */
static Rectangle exponential_less(PairWork *w, Rectangle z)
{
    const Enclosure *half = of(w, EW_SIN, scaled(w, z.im, -1));
    const Enclosure *re = product(w, of(w, EW_EXPM1, z.re), of(w, EW_COS, z.im));
    const Enclosure *im = product(w, of(w, EW_EXP, z.re), of(w, EW_SIN, z.im));
    return (Rectangle){ difference(w, re, scaled(w, squared(w, half), 1)), im };
}

static Rectangle logarithm(PairWork *w, Rectangle z)
{
    return (Rectangle){ of(w, EW_LOG, apply(w, EW_HYPOT, z.re, z.im)),
                        apply(w, EW_ATAN2, z.im, z.re) };
}

static Rectangle logarithm_of_base(PairWork *w, Rectangle z, long base)
{
    const Enclosure *by = of(w, EW_LOG, integer(w, base));
    EwOp own = base == 2 ? EW_LOG2 : EW_LOG10;
    const Enclosure *re = of(w, own, apply(w, EW_HYPOT, z.re, z.im));
    return (Rectangle){ re, quotient(w, apply(w, EW_ATAN2, z.im, z.re), by) };
}

/* |1 + z|^2 = 1 + x (2 + x) + y^2 */
static Rectangle logarithm_more(PairWork *w, Rectangle z)
{
    const Enclosure *over = sum(w, product(w, z.re, sum(w, integer(w, 2), z.re)),
                                squared(w, z.im));
    const Enclosure *re = scaled(w, of(w, EW_LOG1P, over), -1);
    return (Rectangle){ re, apply(w, EW_ATAN2, z.im, sum(w, integer(w, 1), z.re)) };
}

static Rectangle sine(PairWork *w, Rectangle z)
{
    return (Rectangle){ product(w, of(w, EW_SIN, z.re), of(w, EW_COSH, z.im)),
                        product(w, of(w, EW_COS, z.re), of(w, EW_SINH, z.im)) };
}

static Rectangle cosine(PairWork *w, Rectangle z)
{
    const Enclosure *im = product(w, of(w, EW_SIN, z.re), of(w, EW_SINH, z.im));
    return (Rectangle){ product(w, of(w, EW_COS, z.re), of(w, EW_COSH, z.im)), negated(w, im) };
}

/* i z, and -i z */
static Rectangle turned(PairWork *w, Rectangle z) { return (Rectangle){ negated(w, z.im), z.re }; }
static Rectangle turned_back(PairWork *w, Rectangle z)
{
    return (Rectangle){ z.im, negated(w, z.re) };
}

static Rectangle sine_hyperbolic(PairWork *w, Rectangle z)
{
    return turned_back(w, sine(w, turned(w, z)));
}

static Rectangle cosine_hyperbolic(PairWork *w, Rectangle z)
{
    const Enclosure *im = product(w, of(w, EW_SINH, z.re), of(w, EW_SIN, z.im));
    return (Rectangle){ product(w, of(w, EW_COSH, z.re), of(w, EW_COS, z.im)), im };
}

/* [1 - 2^-bits, 1 + 2^-bits], or its negative. */
static const Enclosure *nearly_one(PairWork *w, int sign)
{
    Enclosure *out = pair_new(w);
    w->f->mpfr_set_si_2exp(out->lo, sign, 0, MPFR_RNDN);
    w->f->mpfr_set_si_2exp(out->hi, sign, 0, MPFR_RNDN);
    w->f->mpfr_nextbelow(out->lo);
    w->f->mpfr_nextabove(out->hi);
    return out;
}

/* From here on |tanh x| is 1, and 2 sin(2 y) e^(-2 |x|) the imaginary part, to more bits than are
 * ever computed with; below it, nothing overflows. */
enum { TANH_EXPONENT = 26 };

static bool is_far(mpfr_srcptr x)
{
    return mpfr_is_inf(x) || (mpfr_is_regular(x) && x->_mpfr_exp > TANH_EXPONENT);
}

/* (sinh x cosh x + i sin y cos y) / (sinh(x)^2 + cos(y)^2) */
static Rectangle tangent_hyperbolic(PairWork *w, Rectangle z)
{
    const Enclosure *x = z.re, *y = z.im;
    if ((mpfr_sign(x->lo) > 0 && is_far(x->lo)) || (mpfr_sign(x->hi) < 0 && is_far(x->hi))) {
        int sign = mpfr_sign(x->lo) > 0 ? 1 : -1;
        const Enclosure *down = of(w, EW_EXP, scaled(w, sign > 0 ? negated(w, x) : x, 1));
        const Enclosure *twice = scaled(w, of(w, EW_SIN, scaled(w, y, 1)), 1);
        return (Rectangle){ nearly_one(w, sign),
                            product(w, product(w, twice, down), nearly_one(w, 1)) };
    }
    const Enclosure *s = of(w, EW_SINH, x), *c = of(w, EW_COS, y);
    const Enclosure *by = sum(w, squared(w, s), squared(w, c));
    const Enclosure *re = product(w, s, of(w, EW_COSH, x));
    const Enclosure *im = product(w, of(w, EW_SIN, y), c);
    return (Rectangle){ quotient(w, re, by), quotient(w, im, by) };
}

/* sqrt(1 - z) and sqrt(1 + z) */
static Rectangle root_less(PairWork *w, Rectangle z)
{
    Rectangle d = { difference(w, integer(w, 1), z.re), negated(w, z.im) };
    return square_root(w, d);
}

static Rectangle root_more(PairWork *w, Rectangle z)
{
    return square_root(w, (Rectangle){ sum(w, integer(w, 1), z.re), z.im });
}

/* Im(conj(u) v), and Re(conj(u) v) */
static const Enclosure *cross(PairWork *w, Rectangle u, Rectangle v)
{
    return difference(w, product(w, u.re, v.im), product(w, u.im, v.re));
}

static const Enclosure *inner(PairWork *w, Rectangle u, Rectangle v)
{
    return sum(w, product(w, u.re, v.re), product(w, u.im, v.im));
}

static Rectangle arcsine(PairWork *w, Rectangle z)
{
    Rectangle u = root_less(w, z), v = root_more(w, z);
    const Enclosure *beside = difference(w, product(w, u.re, v.re), product(w, u.im, v.im));
    return (Rectangle){ apply(w, EW_ATAN2, z.re, beside), of(w, EW_ASINH, cross(w, u, v)) };
}

static Rectangle arccosine(PairWork *w, Rectangle z)
{
    Rectangle u = root_less(w, z), v = root_more(w, z);
    return (Rectangle){ scaled(w, apply(w, EW_ATAN2, u.re, v.re), 1),
                        of(w, EW_ASINH, cross(w, v, u)) };
}

static Rectangle arcosh(PairWork *w, Rectangle z)
{
    Rectangle u = square_root(w, (Rectangle){ difference(w, z.re, integer(w, 1)), z.im });
    Rectangle v = root_more(w, z);
    return (Rectangle){ of(w, EW_ASINH, inner(w, u, v)),
                        scaled(w, apply(w, EW_ATAN2, u.im, v.re), 1) };
}

static Rectangle arsinh(PairWork *w, Rectangle z)
{
    return turned_back(w, arcsine(w, turned(w, z)));
}

/* log1p(4 x / ((1 - x)^2 + y^2)) / 4 + i atan2(2 y, (1 - x)(1 + x) - y^2) / 2 */
static Rectangle artanh(PairWork *w, Rectangle z)
{
    const Enclosure *one = integer(w, 1), *less = difference(w, one, z.re);
    const Enclosure *y2 = squared(w, z.im);
    const Enclosure *by = sum(w, squared(w, less), y2);
    const Enclosure *re = of(w, EW_LOG1P, quotient(w, scaled(w, z.re, 2), by));
    const Enclosure *across = difference(w, product(w, less, sum(w, one, z.re)), y2);
    return (Rectangle){ scaled(w, re, -2),
                        scaled(w, apply(w, EW_ATAN2, scaled(w, z.im, 1), across), -1) };
}

static Rectangle arctangent(PairWork *w, Rectangle z)
{
    return turned_back(w, artanh(w, turned(w, z)));
}

/* z / |z|; of 0 it is 0. */
static Rectangle direction(PairWork *w, Rectangle z)
{
    const Enclosure *r = apply(w, EW_HYPOT, z.re, z.im);
    if (is_point(w, r) && mpfr_is_zero(r->lo))
        return z;
    return (Rectangle){ quotient(w, z.re, r), quotient(w, z.im, r) };
}

/* ---- powers ---- */
static Rectangle times(PairWork *w, Rectangle x, Rectangle y)
{
    return (Rectangle){ difference(w, product(w, x.re, y.re), product(w, x.im, y.im)),
                        sum(w, product(w, x.re, y.im), product(w, x.im, y.re)) };
}

/* (x + y)(x - y) + 2 i x y: the real part of a rectangle is not wider than it must be. */
static Rectangle times_itself(PairWork *w, Rectangle x)
{
    return (Rectangle){ difference(w, squared(w, x.re), squared(w, x.im)),
                        scaled(w, product(w, x.re, x.im), 1) };
}

/* Results in two numbers that stay, what is made on the way is given back. */
static Rectangle kept(PairWork *w, int mark, Enclosure *re, Enclosure *im, Rectangle z)
{
    mpfr_srcptr from[] = { z.re->lo, z.re->hi, z.im->lo, z.im->hi };
    mpfr_ptr to[] = { re->lo, re->hi, im->lo, im->hi };
    for (int k = 0; k < 4; k++)
        w->f->mpfr_set(to[k], from[k], k & 1 ? MPFR_RNDU : MPFR_RNDD);
    w->used = mark;
    return (Rectangle){ re, im };
}

static Rectangle integer_power(PairWork *w, Rectangle z, long n)
{
    unsigned long left = n < 0 ? -(unsigned long)n : (unsigned long)n;
    Enclosure *room[4] = { pair_new(w), pair_new(w), pair_new(w), pair_new(w) };
    Rectangle r = { integer(w, 1), pair_new(w) }, p = z;
    int mark = w->used;
    for (bool first = true; left; left >>= 1) {
        if (left & 1) {
            r = kept(w, mark, room[0], room[1], first ? p : times(w, r, p));
            first = false;
        }
        if (left > 1)
            p = kept(w, mark, room[2], room[3], times_itself(w, p));
    }
    if (n >= 0)
        return r;
    const Enclosure *by = sum(w, squared(w, r.re), squared(w, r.im));
    return (Rectangle){ quotient(w, r.re, by), quotient(w, negated(w, r.im), by) };
}

static Rectangle power(PairWork *w, Rectangle z, Rectangle y)
{
    enum { POWER_MAX = 1 << 30 };
    bool real = is_point(w, y.re) && is_point(w, y.im) && mpfr_is_zero(y.im->lo);
    if (real && mpfr_is_zero(y.re->lo))
        return (Rectangle){ integer(w, 1), pair_new(w) };
    double n = w->f->mpfr_get_d(y.re->lo, MPFR_RNDN);
    if (real && w->f->mpfr_integer_p(y.re->lo) && n > -POWER_MAX && n < POWER_MAX)
        return integer_power(w, z, (long)n);
    return exponential(w, times(w, y, logarithm(w, z)));
}

Rectangle enclose_pair(PairWork *w, EwOp op, Rectangle x, const Rectangle *y)
{
    switch (op) {
    case EW_SQRT: return square_root(w, x);
    case EW_EXP: return exponential(w, x);
    case EW_EXPM1: return exponential_less(w, x);
    case EW_LOG: return logarithm(w, x);
    case EW_LOG2: return logarithm_of_base(w, x, 2);
    case EW_LOG10: return logarithm_of_base(w, x, 10);
    case EW_LOG1P: return logarithm_more(w, x);
    case EW_SIN: return sine(w, x);
    case EW_COS: return cosine(w, x);
    case EW_TAN: return turned_back(w, tangent_hyperbolic(w, turned(w, x)));
    case EW_SINH: return sine_hyperbolic(w, x);
    case EW_COSH: return cosine_hyperbolic(w, x);
    case EW_TANH: return tangent_hyperbolic(w, x);
    case EW_ASIN: return arcsine(w, x);
    case EW_ACOS: return arccosine(w, x);
    case EW_ATAN: return arctangent(w, x);
    case EW_ASINH: return arsinh(w, x);
    case EW_ACOSH: return arcosh(w, x);
    case EW_ATANH: return artanh(w, x);
    case EW_SIGN: return direction(w, x);
    case EW_POWER: return power(w, x, *y);
    default: w->status = ARITH_NONE; return x;
    }
}
