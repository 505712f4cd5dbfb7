/* Decimal numbers of d digits: digits 10^exponent with digits below 10^d, infinities, NaN,
 * signed zeros. Every operation computes exact digits, or d and more of them and whether
 * anything is left, and rounds once. Up to 18 digits in 128 bits, longer ones by GMP. Called
 * by arith_decimal.c and by literals. Exponents are as good as unlimited: ARITH_DIGITS says
 * that one passed EXPONENT_MAX. */
#include "kernels/number/arith_number.h"

#include "kernels/arith/arith_binary.h"
#include "kernels/arith/cast_mini.h"

#include <math.h>
#include <string.h>

typedef unsigned __int128 Wide;

enum { SMALL_DIGITS = 18, WIDE_DIGITS = 37 };
#define EXPONENT_MAX ((int64_t)1000000000000000)
/* Powers of ten are multiplied out up to here; further apart nothing can be aligned. */
#define ALIGN_MAX ((int64_t)4000000)

ArithStatus decimal_begin(DecimalWork *w, Arith *a)
{
    *w = (DecimalWork){ .a = a, .d = a->digits };
    RationalStatus s = rational_gmp(a->ctx, &w->g);
    if (s != RATIONAL_OK)
        return cells_status(s);
    w->g->mpz_init(w->n);            /* takes no memory until it is used */
    w->g->mpz_init(w->m);
    w->g->mpz_init(w->r);
    w->g->mpz_init(w->t);
    return ARITH_OK;
}

void decimal_end(DecimalWork *w)
{
    w->g->mpz_clear(w->n);
    w->g->mpz_clear(w->m);
    w->g->mpz_clear(w->r);
    w->g->mpz_clear(w->t);
}

/* ---- counting digits ---- */

static const uint64_t ten_to[20] = {
    1u, 10u, 100u, 1000u, 10000u, 100000u, 1000000u, 10000000u, 100000000u, 1000000000u,
    10000000000u, 100000000000u, 1000000000000u, 10000000000000u, 100000000000000u,
        1000000000000000u,
    10000000000000000u, 100000000000000000u, 1000000000000000000u, 10000000000000000000u
};

/* 10^k, k <= 38. */
static Wide wide_ten(int64_t k) { return k <= 19 ? ten_to[k] : (Wide)ten_to[19] * ten_to[k - 19]; }

static int wide_digits(Wide n)
{
    if (n == 0)
        return 0;
    uint64_t high = (uint64_t)(n >> 64);
    int bits = high ? 128 - __builtin_clzll(high) : 64 - __builtin_clzll((uint64_t)n);
    int least = (bits * 1233) >> 12;             /* log10 2, from below */
    return least + (least > 38 || n >= wide_ten(least));
}

int64_t decimal_digits(const Gmp *g, mpz_srcptr n)
{
    mpz_t power;
    if (n->_mp_size <= 1)
        return n->_mp_size ? wide_digits(n->_mp_d[0]) : 0;
    int64_t most = (int64_t)g->mpz_sizeinbase(n, 10);       /* this, or one less */
    g->mpz_init(power);
    g->mpz_ui_pow_ui(power, 10, (unsigned long)most - 1);
    bool less = g->mpz_cmpabs(n, power) < 0;
    g->mpz_clear(power);
    return most - less;
}

/* ---- rounding ---- */

static ArithStatus in_range(int64_t exp, int64_t digits)
{
    int64_t top = exp + digits;
    return top > EXPONENT_MAX || top < -EXPONENT_MAX ? ARITH_DIGITS : ARITH_OK;
}

static uint64_t random_bits(const Arith *a) { return binary_random(a, a->draw); }

/* The same as decimal_round in 128 bits. */
static ArithStatus round_wide(DecimalWork *w, Rational *out, bool negative, Wide n, bool sticky,
                              int64_t exp)
{
    Arith *a = w->a;
    int64_t digits = wide_digits(n), drop = digits - w->d;
    if (drop > 0) {
        Wide unit = wide_ten(drop), rest, half = unit / 2;
        if (n >> 64 == 0) {                       /* a third of the time */
            rest = (uint64_t)n % (uint64_t)unit;
            n = (uint64_t)n / (uint64_t)unit;
        } else {
            rest = n % unit;
            n /= unit;
        }
        exp += drop;
        int against = rest > half ? 1 : rest < half ? -1 : sticky;
        Rest r = { against, rest != 0 || sticky, n & 1 };
        bool up = rest_goes_up(a->round, negative, r);
        if (a->round == ROUND_STOCHASTIC && r.any) {
            int64_t more = drop > 19 ? drop - 19 : 0;        /* the fraction to 19 digits */
            Wide scaled = rest / wide_ten(more), of = wide_ten(drop - more);
            up = (Wide)random_bits(a) * of < scaled << 64;
        }
        a->flags.inexact += r.any;
        n += up;
        if (n == wide_ten(w->d)) {
            n = wide_ten(w->d - 1);
            exp++;
        }
        digits = w->d;
    }
    a->draw++;
    *out = cell_small((uint64_t)n, negative, NUMBER_FINITE, n ? exp : 0);
    return n ? in_range(exp, digits) : ARITH_OK;
}

static bool goes_up_at_random(DecimalWork *w)
{
    const Gmp *g = w->g;                          /* random / 2^64 < r / t */
    g->mpz_mul_2exp(w->r, w->r, 64);
    g->mpz_set_ui(w->m, random_bits(w->a));
    g->mpz_mul(w->m, w->m, w->t);
    return g->mpz_cmp(w->m, w->r) < 0;
}

static ArithStatus round_long(DecimalWork *w, Rational *out, bool negative, bool sticky,
                              int64_t exp)
{
    const Gmp *g = w->g;
    Arith *a = w->a;
    int64_t digits = decimal_digits(g, w->n), drop = digits - w->d;
    if (drop > 0) {
        g->mpz_ui_pow_ui(w->t, 10, (unsigned long)drop);
        g->mpz_tdiv_qr(w->n, w->r, w->n, w->t);
        exp += drop;
        g->mpz_mul_2exp(w->m, w->r, 1);
        int against = g->mpz_cmp(w->m, w->t);
        Rest r = { against ? against : sticky, w->r->_mp_size != 0 || sticky,
                   w->n->_mp_size && (w->n->_mp_d[0] & 1) };
        bool up = a->round == ROUND_STOCHASTIC ? goes_up_at_random(w)
                                               : rest_goes_up(a->round, negative, r);
        a->flags.inexact += r.any;
        if (up)
            g->mpz_add_ui(w->n, w->n, 1);
        if (decimal_digits(g, w->n) > w->d) {
            g->mpz_ui_pow_ui(w->n, 10, (unsigned long)w->d - 1);
            exp++;
        }
        digits = w->d;
    }
    a->draw++;
    if (gmp_spent() || !cell_make(a->ctx, out, w->n->_mp_d, (size_t)w->n->_mp_size, negative, exp))
        return ARITH_MEMORY;
    return w->n->_mp_size ? in_range(exp, digits) : ARITH_OK;
}

ArithStatus decimal_round(DecimalWork *w, Rational *out, bool negative, bool sticky, int64_t exp)
{
    size_t limbs = (size_t)w->n->_mp_size;
    if (w->d <= SMALL_DIGITS && (limbs < 2 || (limbs == 2 && w->n->_mp_d[1] < (uint64_t)1 << 58))) {
        Wide n = limbs ? w->n->_mp_d[0] : 0;
        if (limbs == 2)
            n |= (Wide)w->n->_mp_d[1] << 64;
        return round_wide(w, out, negative, n, sticky, exp);
    }
    return round_long(w, out, negative, sticky, exp);
}

/* ---- results that are no numbers, infinite or zero ---- */

static ArithStatus give(DecimalWork *w, Rational *out, Rational c)
{
    w->a->draw++;
    *out = c;
    return ARITH_OK;
}

static ArithStatus give_nan(DecimalWork *w, Rational *out, bool given)
{
    w->a->flags.invalid += !given;
    return give(w, out, cell_small(0, false, NUMBER_NAN, 0));
}

static ArithStatus give_inf(DecimalWork *w, Rational *out, bool negative)
{
    return give(w, out, cell_small(0, negative, NUMBER_INF, 0));
}

static ArithStatus give_zero(DecimalWork *w, Rational *out, bool negative)
{
    return give(w, out, cell_small(0, negative, NUMBER_FINITE, 0));
}

static bool is_nan(Rational a) { return cell_kind(a) == NUMBER_NAN; }
static bool is_inf(Rational a) { return cell_kind(a) == NUMBER_INF; }

static bool is_small(Rational a) { return !(a.tail & CELL_BLOCK); }

/* A carrier rounded to the format, which it is in already. */
static ArithStatus again(DecimalWork *w, Rational *out, Rational a)
{
    DecimalView v;
    if (is_small(a))
        return round_wide(w, out, cell_negative(a), (uint64_t)a.num, false, cell_exponent(a));
    w->g->mpz_set(w->n, decimal_view(&v, a));
    return decimal_round(w, out, cell_negative(a), false, cell_exponent(a));
}

/* Digits beyond the format's that one rounding looks at: stochastic rounding compares 64 bits. */
static int64_t further_digits(const DecimalWork *w)
{
    return w->a->round == ROUND_STOCHASTIC ? 22 : 2;
}

/* ---- sums ---- */

/* A term: n 10^exp with a sign. */
typedef struct Term { bool negative; int64_t exp, digits; } Term;

/* The sum of two numbers of at most 18 digits, neither of them 0: exact, or the larger one
 * to 37 digits and the other below it. */
static ArithStatus add_wide(DecimalWork *w, Rational *out, Rational a, Rational b)
{
    if (cell_exponent(a) < cell_exponent(b)) {
        Rational t = a;
        a = b;
        b = t;
    }
    Wide x = (uint64_t)a.num, y = (uint64_t)b.num;
    int64_t ea = cell_exponent(a), eb = cell_exponent(b);
    int64_t up = ea - eb, room = WIDE_DIGITS - wide_digits(x);
    bool negative = cell_negative(a), sticky = false;
    if (up > room) {
        int64_t below = up - room;
        up = room;
        sticky = below > 19 || y % ten_to[below] != 0;
        y = below > 19 ? 0 : y / ten_to[below];
        eb = ea - room;
    }
    x *= wide_ten(up);
    if (negative == cell_negative(b)) {
        x += y;
    } else if (x > y) {
        x -= y + sticky;
    } else if (x < y) {
        x = y - x;
        negative = !negative;
    } else {
        return give_zero(w, out, w->a->round == ROUND_DOWN);
    }
    return round_wide(w, out, negative, x, sticky, eb);
}

/* w->n 10^x.exp + w->m 10^y.exp, both of them not 0, the first one's leading digit not below
 * the second one's. What lies so far below that no cancellation brings it back is sticky. */
static ArithStatus add_ordered(DecimalWork *w, Rational *out, Term x, Term y)
{
    const Gmp *g = w->g;
    int64_t top = x.exp + x.digits, cut = top - 2 * w->d - further_digits(w) - 2;
    bool sticky = false, negative = x.negative;
    int64_t exp = x.exp < y.exp ? x.exp : y.exp;
    if (exp < cut && x.exp >= cut)
        exp = cut;
    else if (exp < cut)
        exp = x.exp;
    if (x.exp - exp > ALIGN_MAX || y.exp - exp > ALIGN_MAX)
        return ARITH_DIGITS;
    if (x.exp > exp) {
        g->mpz_ui_pow_ui(w->t, 10, (unsigned long)(x.exp - exp));
        g->mpz_mul(w->n, w->n, w->t);
    }
    if (y.exp > exp) {
        g->mpz_ui_pow_ui(w->t, 10, (unsigned long)(y.exp - exp));
        g->mpz_mul(w->m, w->m, w->t);
    } else if (y.exp < exp && exp - y.exp > y.digits) {
        sticky = true;
        g->mpz_set_ui(w->m, 0);
    } else if (y.exp < exp) {
        g->mpz_ui_pow_ui(w->t, 10, (unsigned long)(exp - y.exp));
        g->mpz_tdiv_qr(w->m, w->r, w->m, w->t);
        sticky = w->r->_mp_size != 0;
    }
    if (x.negative == y.negative) {
        g->mpz_add(w->n, w->n, w->m);
    } else {
        g->mpz_sub(w->n, w->n, w->m);
        if (sticky)
            g->mpz_sub_ui(w->n, w->n, 1);
    }
    if (w->n->_mp_size < 0) {
        w->n->_mp_size = -w->n->_mp_size;
        negative = !negative;
    }
    if (w->n->_mp_size == 0 && !sticky)
        return give_zero(w, out, w->a->round == ROUND_DOWN);
    return decimal_round(w, out, negative, sticky, exp);
}

/* The same in any order; either may be 0. */
static ArithStatus add_terms(DecimalWork *w, Rational *out, Term x, Term y)
{
    x.digits = decimal_digits(w->g, w->n);
    y.digits = decimal_digits(w->g, w->m);
    if (x.digits == 0 && y.digits == 0)
        return give_zero(w, out, x.negative == y.negative ? x.negative : w->a->round == ROUND_DOWN);
    if (x.digits == 0 || (y.digits && x.exp + x.digits < y.exp + y.digits)) {
        w->g->mpz_swap(w->n, w->m);
        Term t = x;
        x = y;
        y = t;
    }
    if (y.digits == 0)
        return decimal_round(w, out, x.negative, false, x.exp);
    return add_ordered(w, out, x, y);
}

static Term term_of(const Gmp *g, mpz_ptr n, Rational a)
{
    DecimalView v;
    g->mpz_set(n, decimal_view(&v, a));
    return (Term){ cell_negative(a), cell_exponent(a), 0 };
}

ArithStatus decimal_add(DecimalWork *w, Rational *out, Rational a, Rational b)
{
    if (is_nan(a) || is_nan(b))
        return give_nan(w, out, true);
    if (is_inf(a) || is_inf(b)) {
        if (is_inf(a) && is_inf(b) && cell_negative(a) != cell_negative(b))
            return give_nan(w, out, false);
        return give_inf(w, out, cell_negative(is_inf(a) ? a : b));
    }
    if (cell_zero(a) && cell_zero(b))
        return give_zero(w, out, cell_negative(a) == cell_negative(b) ? cell_negative(a)
                                                                      : w->a->round == ROUND_DOWN);
    if (cell_zero(a) || cell_zero(b))
        return again(w, out, cell_zero(a) ? b : a);
    if (w->d <= SMALL_DIGITS && is_small(a) && is_small(b))
        return add_wide(w, out, a, b);
    Term x = term_of(w->g, w->n, a), y = term_of(w->g, w->m, b);
    return add_terms(w, out, x, y);
}

/* ---- products and quotients ---- */

ArithStatus decimal_multiply(DecimalWork *w, Rational *out, Rational a, Rational b)
{
    bool negative = cell_negative(a) != cell_negative(b);
    DecimalView u, v;
    if (is_nan(a) || is_nan(b))
        return give_nan(w, out, true);
    if (is_inf(a) || is_inf(b))
        return cell_zero(a) || cell_zero(b) ? give_nan(w, out, false) : give_inf(w, out, negative);
    if (cell_zero(a) || cell_zero(b))
        return give_zero(w, out, negative);
    int64_t exp = cell_exponent(a) + cell_exponent(b);
    if (w->d <= SMALL_DIGITS && is_small(a) && is_small(b))
        return round_wide(w, out, negative, (Wide)(uint64_t)a.num * (uint64_t)b.num, false, exp);
    w->g->mpz_mul(w->n, decimal_view(&u, a), decimal_view(&v, b));
    return decimal_round(w, out, negative, false, exp);
}

/* n / m 10^exp with digits enough for one rounding. */
static ArithStatus divide_terms(DecimalWork *w, Rational *out, bool negative, int64_t exp)
{
    const Gmp *g = w->g;
    int64_t up = w->d + further_digits(w) + decimal_digits(g, w->m) - decimal_digits(g, w->n);
    if (up > 0) {
        g->mpz_ui_pow_ui(w->t, 10, (unsigned long)up);
        g->mpz_mul(w->n, w->n, w->t);
        exp -= up;
    }
    g->mpz_tdiv_qr(w->n, w->r, w->n, w->m);
    return decimal_round(w, out, negative, w->r->_mp_size != 0, exp);
}

ArithStatus decimal_divide(DecimalWork *w, Rational *out, Rational a, Rational b)
{
    bool negative = cell_negative(a) != cell_negative(b);
    if (is_nan(a) || is_nan(b))
        return give_nan(w, out, true);
    if (is_inf(a))
        return is_inf(b) ? give_nan(w, out, false) : give_inf(w, out, negative);
    if (cell_zero(b)) {
        if (cell_zero(a))
            return give_nan(w, out, false);
        w->a->flags.divzero++;
        return give_inf(w, out, negative);
    }
    if (is_inf(b) || cell_zero(a))
        return give_zero(w, out, negative);
    int64_t exp = cell_exponent(a) - cell_exponent(b);
    if (w->d <= SMALL_DIGITS && is_small(a) && is_small(b) && w->a->round != ROUND_STOCHASTIC) {
        uint64_t n = (uint64_t)a.num, m = (uint64_t)b.num;
        if (n % m == 0)
            return round_wide(w, out, negative, n / m, false, exp);
        int64_t up = w->d + 1 + wide_digits(m) - wide_digits(n);
        Wide scaled = n * wide_ten(up);
        if (scaled >> 64 == 0) {
            uint64_t short_one = (uint64_t)scaled;
            return round_wide(w, out, negative, short_one / m, short_one % m != 0, exp - up);
        }
        return round_wide(w, out, negative, scaled / m, scaled % m != 0, exp - up);
    }
    term_of(w->g, w->n, a);
    term_of(w->g, w->m, b);
    return divide_terms(w, out, negative, exp);
}

ArithStatus decimal_fma(DecimalWork *w, Rational *out, Rational a, Rational b, Rational c)
{
    bool negative = cell_negative(a) != cell_negative(b);
    DecimalView u, v;
    if (is_nan(a) || is_nan(b) || is_nan(c))
        return give_nan(w, out, true);
    if (is_inf(a) || is_inf(b)) {
        if (cell_zero(a) || cell_zero(b) || (is_inf(c) && cell_negative(c) != negative))
            return give_nan(w, out, false);
        return give_inf(w, out, negative);
    }
    if (is_inf(c))
        return give_inf(w, out, cell_negative(c));
    w->g->mpz_mul(w->n, decimal_view(&u, a), decimal_view(&v, b));
    Term product = { negative, cell_exponent(a) + cell_exponent(b), 0 };
    Term addend = term_of(w->g, w->m, c);
    return add_terms(w, out, product, addend);
}

/* ---- roots and powers ---- */

/* The root of w->n 10^exp, as many digits as one rounding needs. */
static ArithStatus root_of(DecimalWork *w, Rational *out, bool negative, int64_t exp, int order)
{
    const Gmp *g = w->g;
    int64_t up = order * (w->d + further_digits(w)) - decimal_digits(g, w->n);
    if (up < 0)
        up = 0;
    while ((exp - up) % order)
        up++;
    g->mpz_ui_pow_ui(w->t, 10, (unsigned long)up);
    g->mpz_mul(w->n, w->n, w->t);
    if (order == 2)
        g->mpz_sqrtrem(w->n, w->r, w->n);
    else
        g->mpz_rootrem(w->n, w->r, w->n, (unsigned long)order);
    return decimal_round(w, out, negative, w->r->_mp_size != 0, (exp - up) / order);
}

ArithStatus decimal_root(DecimalWork *w, Rational *out, Rational a, int order)
{
    bool negative = cell_negative(a);
    if (is_nan(a) || cell_zero(a))
        return give(w, out, a);
    if (negative && order == 2)
        return give_nan(w, out, false);
    if (is_inf(a))
        return give_inf(w, out, negative);
    term_of(w->g, w->n, a);
    return root_of(w, out, negative, cell_exponent(a), order);
}

/* sqrt(a^2 + b^2): the sum exactly, unless one is too small to matter, which then is sticky. */
ArithStatus decimal_hypot(DecimalWork *w, Rational *out, Rational a, Rational b)
{
    const Gmp *g = w->g;
    if (is_inf(a) || is_inf(b))
        return give_inf(w, out, false);
    if (is_nan(a) || is_nan(b))
        return give_nan(w, out, true);
    if (cell_zero(a) || cell_zero(b)) {
        Rational c = cell_zero(a) ? b : a;
        c.tail &= ~CELL_SIGN;
        return again(w, out, c);
    }
    Term x = term_of(g, w->n, a), y = term_of(g, w->m, b);
    x.digits = x.exp + decimal_digits(g, w->n);
    y.digits = y.exp + decimal_digits(g, w->m);
    if (x.digits < y.digits) {
        g->mpz_swap(w->n, w->m);
        Term t = x;
        x = y;
        y = t;
    }
    if (x.digits - y.digits > w->d + 4) {       /* x and something: x to 2d digits says enough */
        int64_t up = 2 * w->d + 4;
        g->mpz_ui_pow_ui(w->t, 10, (unsigned long)up);
        g->mpz_mul(w->n, w->n, w->t);
        return decimal_round(w, out, false, true, x.exp - up);
    }
    int64_t exp = x.exp < y.exp ? x.exp : y.exp;
    if (x.exp - exp > ALIGN_MAX || y.exp - exp > ALIGN_MAX)
        return ARITH_DIGITS;
    g->mpz_ui_pow_ui(w->t, 10, (unsigned long)(x.exp - exp));
    g->mpz_mul(w->n, w->n, w->t);
    g->mpz_ui_pow_ui(w->t, 10, (unsigned long)(y.exp - exp));
    g->mpz_mul(w->m, w->m, w->t);
    g->mpz_mul(w->n, w->n, w->n);
    g->mpz_mul(w->m, w->m, w->m);
    g->mpz_add(w->n, w->n, w->m);
    return root_of(w, out, false, 2 * exp, 2);
}

ArithStatus decimal_power(DecimalWork *w, Rational *out, Rational a, int64_t n)
{
    const Gmp *g = w->g;
    DecimalView v;
    bool negative = cell_negative(a) && (n & 1);
    uint64_t times = n < 0 ? -(uint64_t)n : (uint64_t)n;
    int64_t exp;
    if (__builtin_mul_overflow(cell_exponent(a), (int64_t)times, &exp))
        return ARITH_DIGITS;
    if (n < 0) {
        mpz_srcptr digits = decimal_view(&v, a);
        g->mpz_set_ui(w->n, 1);
        g->mpz_set(w->m, digits);
        g->mpz_pow_ui(w->m, w->m, (unsigned long)times);
        return divide_terms(w, out, negative, -exp);
    }
    g->mpz_pow_ui(w->n, decimal_view(&v, a), (unsigned long)times);
    return decimal_round(w, out, negative, false, exp);
}

/* ---- integers ---- */

ArithStatus decimal_integer(DecimalWork *w, EwOp op, Rational *out, Rational a)
{
    const Gmp *g = w->g;
    int64_t down = -cell_exponent(a);
    bool negative = cell_negative(a), up;
    if (cell_kind(a) != NUMBER_FINITE || cell_zero(a) || down <= 0)
        return give(w, out, a);
    term_of(g, w->n, a);
    int64_t digits = decimal_digits(g, w->n);
    if (down > digits + 1)
        down = digits + 1;                        /* as small as less than a tenth */
    g->mpz_ui_pow_ui(w->t, 10, (unsigned long)down);
    g->mpz_tdiv_qr(w->n, w->r, w->n, w->t);
    g->mpz_mul_2exp(w->m, w->r, 1);
    bool odd = w->n->_mp_size && (w->n->_mp_d[0] & 1);
    Rest r = { g->mpz_cmp(w->m, w->t), w->r->_mp_size != 0, odd };
    up = rest_goes_up(op == EW_FLOOR ? ROUND_DOWN : op == EW_CEIL ? ROUND_UP
               : op == EW_TRUNC ? ROUND_ZERO : ROUND_NEAREST, negative, r);
    if (up)
        g->mpz_add_ui(w->n, w->n, 1);
    return decimal_round(w, out, negative, false, 0);
}

/* floor(n / m) in w->n, the rest in w->r, for signed n and m. */
static void floor_parts(DecimalWork *w)
{
    const Gmp *g = w->g;
    g->mpz_tdiv_qr(w->n, w->r, w->n, w->m);
    if (w->r->_mp_size && (w->r->_mp_size < 0) != (w->m->_mp_size < 0)) {
        g->mpz_sub_ui(w->n, w->n, 1);
        g->mpz_add(w->r, w->r, w->m);
    }
}

static ArithStatus divmod_special(DecimalWork *w, EwOp op, Rational *out, Rational a, Rational b)
{
    bool differ = cell_negative(a) != cell_negative(b);
    if (op == EW_FLOOR_DIVIDE) {
        if (is_inf(b) && !is_inf(a) && !is_nan(a) && !cell_zero(a) && differ)
            return give(w, out, cell_small(1, true, NUMBER_FINITE, 0));
        return decimal_divide(w, out, a, b);
    }
    if (is_nan(a) || is_nan(b) || is_inf(a) || cell_zero(b))
        return give_nan(w, out, is_nan(a) || is_nan(b));
    if (cell_zero(a))
        return give_zero(w, out, cell_negative(b));
    return differ ? give_inf(w, out, cell_negative(b)) : again(w, out, a);
}

/* |a| < |b|: 0 or -1, a or a + b. */
static ArithStatus divmod_below(DecimalWork *w, EwOp op, Rational *out, Rational a, Rational b)
{
    bool differ = cell_negative(a) != cell_negative(b);
    if (op == EW_MOD)
        return differ ? decimal_add(w, out, a, b) : again(w, out, a);
    return differ ? give(w, out, cell_small(1, true, NUMBER_FINITE, 0)) : give_zero(w, out, false);
}

/* n 10^e mod m without 10^e, which may have any number of digits. */
static ArithStatus mod_above(DecimalWork *w, Rational *out, Term x, Term y)
{
    const Gmp *g = w->g;
    g->mpz_set_ui(w->t, 10);
    g->mpz_powm_ui(w->t, w->t, (unsigned long)(x.exp - y.exp), w->m);
    g->mpz_mul(w->n, w->n, w->t);
    g->mpz_tdiv_qr(w->t, w->r, w->n, w->m);
    if (w->r->_mp_size && x.negative != y.negative)
        g->mpz_sub(w->r, w->m, w->r);
    g->mpz_swap(w->n, w->r);
    return decimal_round(w, out, y.negative, false, y.exp);
}

ArithStatus decimal_divmod(DecimalWork *w, EwOp op, Rational *out, Rational a, Rational b)
{
    const Gmp *g = w->g;
    if (cell_kind(a) != NUMBER_FINITE || cell_kind(b) != NUMBER_FINITE || cell_zero(a) ||
        cell_zero(b))
        return divmod_special(w, op, out, a, b);
    Term x = term_of(g, w->n, a), y = term_of(g, w->m, b);
    int64_t exp = x.exp < y.exp ? x.exp : y.exp, whole;
    x.digits = decimal_digits(g, w->n);
    y.digits = decimal_digits(g, w->m);
    whole = x.exp + x.digits - y.exp - y.digits;       /* digits of the quotient, or one more */
    if (whole < 0)
        return divmod_below(w, op, out, a, b);
    /* as many again as a fraction with this divisor can have zeros: none of it is seen */
    if (op == EW_FLOOR_DIVIDE && whole > w->d + y.digits + further_digits(w) + 4)
        return decimal_divide(w, out, a, b);
    if (op == EW_MOD && x.exp - y.exp > 2 * w->d)
        return mod_above(w, out, x, y);
    g->mpz_ui_pow_ui(w->t, 10, (unsigned long)(x.exp - exp));
    g->mpz_mul(w->n, w->n, w->t);
    g->mpz_ui_pow_ui(w->t, 10, (unsigned long)(y.exp - exp));
    g->mpz_mul(w->m, w->m, w->t);
    w->n->_mp_size = x.negative ? -w->n->_mp_size : w->n->_mp_size;
    w->m->_mp_size = y.negative ? -w->m->_mp_size : w->m->_mp_size;
    floor_parts(w);
    if (op == EW_MOD)
        g->mpz_swap(w->n, w->r);
    bool negative = w->n->_mp_size < 0 || (w->n->_mp_size == 0 && op == EW_MOD && y.negative);
    w->n->_mp_size = w->n->_mp_size < 0 ? -w->n->_mp_size : w->n->_mp_size;
    return decimal_round(w, out, negative, false, op == EW_MOD ? exp : 0);
}

/* ---- order ---- */

static int order_of_sizes(const Gmp *g, Rational a, Rational b)
{
    DecimalView u, v;
    mpz_srcptr x = decimal_view(&u, a), y = decimal_view(&v, b);
    int64_t ea = cell_exponent(a), eb = cell_exponent(b);
    int64_t top_a = ea + decimal_digits(g, x), top_b = eb + decimal_digits(g, y);
    mpz_t t;
    if (top_a != top_b)
        return top_a < top_b ? -1 : 1;
    if (ea == eb)
        return g->mpz_cmp(x, y);
    g->mpz_init(t);                               /* as many digits: the shift is below that */
    g->mpz_ui_pow_ui(t, 10, (unsigned long)(ea > eb ? ea - eb : eb - ea));
    g->mpz_mul(t, t, ea > eb ? x : y);
    int order = ea > eb ? g->mpz_cmp(t, y) : g->mpz_cmp(x, t);
    g->mpz_clear(t);
    return order;
}

int decimal_order(const Gmp *g, Rational a, Rational b)
{
    if (is_nan(a) || is_nan(b))
        return 2;
    if (cell_zero(a) && cell_zero(b))
        return 0;
    int sa = cell_zero(a) ? 0 : cell_negative(a) ? -1 : 1;
    int sb = cell_zero(b) ? 0 : cell_negative(b) ? -1 : 1;
    if (sa != sb)
        return sa < sb ? -1 : 1;
    if (is_inf(a) || is_inf(b))
        return is_inf(a) && is_inf(b) ? 0 : is_inf(a) ? sa : -sa;
    int order = order_of_sizes(g, a, b);
    order = (order > 0) - (order < 0);
    return sa < 0 ? -order : order;
}

/* ---- the next number ---- */

ArithStatus decimal_neighbour(DecimalWork *w, Rational *out, Rational a, Rational towards)
{
    const Gmp *g = w->g;
    int order = decimal_order(g, a, towards);
    if (order == 2)
        return give_nan(w, out, true);
    if (order == 0)
        return give(w, out, towards);
    if (is_inf(a) || cell_zero(a))
        return ARITH_DIGITS;                      /* there is none: exponents do not end */
    term_of(g, w->n, a);
    int64_t up = w->d - decimal_digits(g, w->n), exp = cell_exponent(a) - up;
    bool outward = (order < 0) != cell_negative(a);
    g->mpz_ui_pow_ui(w->t, 10, (unsigned long)up);
    g->mpz_mul(w->n, w->n, w->t);
    g->mpz_ui_pow_ui(w->t, 10, (unsigned long)w->d - 1);
    if (outward) {
        g->mpz_add_ui(w->n, w->n, 1);
    } else if (g->mpz_cmp(w->n, w->t) == 0) {
        g->mpz_mul_ui(w->n, w->n, 10);
        g->mpz_sub_ui(w->n, w->n, 1);
        exp--;
    } else {
        g->mpz_sub_ui(w->n, w->n, 1);
    }
    return decimal_round(w, out, cell_negative(a), false, exp);
}

/* ---- from other numbers ---- */

/* decimal_round of a number beside (n + f) 10^exp: further out or in than it. */
static ArithStatus round_beside(DecimalWork *w, Rational *out, bool negative, bool sticky,
                                int64_t exp, int nudge)
{
    const Gmp *g = w->g;
    if (nudge == 0)
        return decimal_round(w, out, negative, sticky, exp);
    int64_t up = w->d + 4 - decimal_digits(g, w->n);
    if (up > 0) {                                 /* (a sticky one is long enough) */
        g->mpz_ui_pow_ui(w->t, 10, (unsigned long)up);
        g->mpz_mul(w->n, w->n, w->t);
        exp -= up;
    }
    if (!sticky && (nudge > 0) == negative)
        g->mpz_sub_ui(w->n, w->n, 1);
    return decimal_round(w, out, negative, true, exp);
}

/* w->n 2^exp, multiplied out. */
static ArithStatus from_binary(DecimalWork *w, Rational *out, bool negative, int64_t exp, int nudge)
{
    const Gmp *g = w->g;
    if (exp >= 0) {
        g->mpz_mul_2exp(w->n, w->n, (mp_bitcnt_t)exp);
        return round_beside(w, out, negative, false, 0, nudge);
    }
    g->mpz_ui_pow_ui(w->t, 5, (unsigned long)-exp);
    g->mpz_mul(w->n, w->n, w->t);
    return round_beside(w, out, negative, false, exp, nudge);
}

/* m 2^exp in 128 bits: times a power of ten that leaves two whole digits more than the format's,
 * and something below them. False: it does not fit. */
static bool from_short(DecimalWork *w, Rational *out, bool negative, uint64_t m, int exp,
                       ArithStatus *s)
{
    if (w->d > 16 || w->a->round == ROUND_STOCHASTIC || exp > 0 || exp < -110 || m == 0)
        return false;
    int top = ((exp + 52) * 1233) >> 12;         /* log10 of the number, or one less */
    int64_t up = w->d + 2 - top;
    if (up < 0 || up > 19)
        return false;
    Wide scaled = (Wide)m * ten_to[up], n = scaled >> -exp;
    if (wide_digits(n) <= w->d)
        return false;
    *s = round_wide(w, out, negative, n, (n << -exp) != scaled, -up);
    return true;
}

static ArithStatus from_f64(DecimalWork *w, Rational *out, double x)
{
    ArithStatus s;
    int e;
    if (isnan(x))
        return give_nan(w, out, true);
    if (isinf(x))
        return give_inf(w, out, x < 0);
    uint64_t m = (uint64_t)ldexp(frexp(fabs(x), &e), 53);
    int low = m ? __builtin_ctzll(m) : 0;
    if (from_short(w, out, signbit(x), m, e - 53, &s))
        return s;
    w->g->mpz_set_ui(w->n, m >> low);
    return from_binary(w, out, signbit(x), m ? e - 53 + low : 0, 0);
}

/* Far from 1 the powers of two are too long: MPFR's digits towards zero and away from it, alike
 * where they are exact. */
static ArithStatus from_far(DecimalWork *w, Rational *out, mpfr_srcptr x, int nudge)
{
    const Mpfr *f = mpfr_open(NULL);
    mpfr_exp_t point, point_away;
    size_t n = (size_t)w->d + 24;
    char *zero = f->mpfr_get_str(NULL, &point, 10, n, x, MPFR_RNDZ);
    char *away = f->mpfr_get_str(NULL, &point_away, 10, n, x, MPFR_RNDA);
    bool negative = x->_mpfr_sign < 0, sticky = strcmp(zero, away) != 0;
    w->g->mpz_set_str(w->n, zero + negative, 10);
    f->mpfr_free_str(away);
    f->mpfr_free_str(zero);
    return round_beside(w, out, negative, sticky, point - (int64_t)n, nudge);
}

ArithStatus decimal_from_mpfr(DecimalWork *w, Rational *out, mpfr_srcptr x, int nudge)
{
    enum { NEAR = 1 << 14 };
    bool negative = x->_mpfr_sign < 0;
    if (mpfr_is_nan(x))
        return give_nan(w, out, true);
    if (mpfr_is_inf(x))
        return give_inf(w, out, negative);
    if (mpfr_is_zero(x))
        return give_zero(w, out, negative);
    int64_t limbs = (x->_mpfr_prec + 63) / 64, exp = x->_mpfr_exp - 64 * limbs;
    if (x->_mpfr_exp > NEAR || x->_mpfr_exp < -NEAR)
        return from_far(w, out, x, nudge);
    __mpz_struct m = { ._mp_size = (int)limbs, ._mp_d = x->_mpfr_d };
    int64_t low = 0;
    while (m._mp_d[low / 64] == 0)
        low += 64;
    low += __builtin_ctzll(m._mp_d[low / 64]);
    w->g->mpz_tdiv_q_2exp(w->n, &m, (mp_bitcnt_t)low);
    return from_binary(w, out, negative, exp + low, nudge);
}

static ArithStatus from_rational(DecimalWork *w, Rational *out, Rational a)
{
    RationalView v;
    const __mpq_struct *q = rational_view(&v, a);
    bool negative = q->_mp_num._mp_size < 0;
    w->g->mpz_abs(w->n, &q->_mp_num);
    if (rational_is_integer(a))
        return decimal_round(w, out, negative, false, 0);
    w->g->mpz_set(w->m, &q->_mp_den);
    return divide_terms(w, out, negative, 0);
}

ArithStatus decimal_take(void *work, Rational *out, DType from, const void *element)
{
    DecimalWork *w = work;
    char kind = dtype_info(from)->kind;
    Rational c;
    MpView v;
    if (dtype_cells(from))
        memcpy(&c, element, sizeof c);
    switch (dtype_base(from)) {
    case DT_RATIONAL: return from_rational(w, out, c);
    case DT_MP: return decimal_from_mpfr(w, out, mp_view(&v, c), 0);
    case DT_DECIMAL: return cell_kind(c) == NUMBER_FINITE ? again(w, out, c) : give(w, out, c);
    case DT_INTERVAL: return from_f64(w, out, number_f64(from, element));
    default: break;
    }
    if (kind != 'i' && kind != 'b')
        return from_f64(w, out, cast_element_f64(from, element));
    int64_t i = cast_element_i64(from, element);
    w->g->mpz_set_ui(w->n, i < 0 ? -(uint64_t)i : (uint64_t)i);
    return decimal_round(w, out, i < 0, false, 0);
}
