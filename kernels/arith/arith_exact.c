/* Arithmetic of binary formats through integers of 256 bits: slow, plain, for one number at a
 * time. The rows of arith_binary*.c send here what their shortcuts do not cover, and tests
 * compare them with it. Rules in arith_binary.h. Nothing here knows of rows. */
#include "kernels/arith/arith_binary.h"

#include <math.h>
#include <string.h>

typedef unsigned __int128 Wide;

enum { LIMBS = 4, TOP = 253 };    /* where sums put the leading bit of the larger term */

/* ---- integers of 256 bits ---- */
static int exact_length(const BinaryExact *v)
{
    for (int i = LIMBS - 1; i >= 0; i--)
        if (v->w[i])
            return 64 * (i + 1) - __builtin_clzll(v->w[i]);
    return 0;
}

static uint64_t limb(const BinaryExact *v, int64_t i)
{
    return i >= 0 && i < LIMBS ? v->w[i] : 0;
}

/* 64 bits from bit `at` on, which may lie outside. */
static inline uint64_t bits_from(const BinaryExact *v, int64_t at)
{
    int64_t i = at >> 6, off = at & 63;
    return off ? limb(v, i) >> off | limb(v, i + 1) << (64 - off) : limb(v, i);
}

static bool any_below(const BinaryExact *v, int64_t at)
{
    for (int64_t i = 0; i < LIMBS && 64 * i < at; i++) {
        uint64_t part =
            at - 64 * i >= 64 ? v->w[i] : v->w[i] & (((uint64_t)1 << (at - 64 * i)) - 1);
        if (part)
            return true;
    }
    return false;
}

static BinaryExact exact_of_wide(bool negative, Wide w, int64_t exp)
{
    return (BinaryExact){ { (uint64_t)w, (uint64_t)(w >> 64) }, exp, negative, false, 'f' };
}

/* Finite x; its integer has 53 bits, unless x is 0. */
static BinaryExact exact_of_f64(double x)
{
    uint64_t bits, field, m;
    memcpy(&bits, &x, sizeof bits);
    field = bits >> 52 & 0x7ff;
    m = bits & (((uint64_t)1 << 52) - 1);
    int up = field || !m ? 0 : __builtin_clzll(m) - 11;      /* subnormal */
    m = field ? m | (uint64_t)1 << 52 : m << up;
    return exact_of_wide(bits >> 63, m, (field ? (int64_t)field : 1) - 1075 - up);
}

/* m 2^e, which is a double or beyond all of them. */
static double scaled(uint64_t m, int64_t e)
{
    union { uint64_t u; double d; } power = { (uint64_t)(e + 1023) << 52 };
    return e >= -1022 && e <= 960 ? (double)m * power.d : ldexp((double)m, (int)e);
}

/* v's integer moved so that its exponent is `exp`; bits that fall out below are sticky. */
static BinaryExact exact_moved(const BinaryExact *v, int64_t exp)
{
    int64_t down = exp - v->exp;
    BinaryExact r = { .exp = exp, .negative = v->negative, .kind = 'f' };
    for (int i = 0; i < LIMBS; i++)
        r.w[i] = bits_from(v, down + 64 * i);
    r.sticky = v->sticky || any_below(v, down);
    return r;
}

static void add_limbs(BinaryExact *a, const BinaryExact *b)
{
    Wide carry = 0;
    for (int i = 0; i < LIMBS; i++) {
        carry += (Wide)a->w[i] + b->w[i];
        a->w[i] = (uint64_t)carry;
        carry >>= 64;
    }
}

static void subtract_limbs(BinaryExact *a, const BinaryExact *b, bool borrow)
{
    for (int i = 0; i < LIMBS; i++) {
        Wide d = (Wide)a->w[i] - b->w[i] - borrow;
        a->w[i] = (uint64_t)d;
        borrow = (uint64_t)(d >> 64) != 0;
    }
}

static int compare_limbs(const BinaryExact *a, const BinaryExact *b)
{
    for (int i = LIMBS - 1; i >= 0; i--)
        if (a->w[i] != b->w[i])
            return a->w[i] < b->w[i] ? -1 : 1;
    return 0;
}

/* ---- exact results ---- */
/* Terms of at most 128 bits, neither of them zero. The larger one loses no bit; of the other
 * only what lies beyond all cancellation is lost, into `sticky`. */
static BinaryExact exact_sum(const BinaryExact *x, const BinaryExact *y)
{
    int64_t ex = x->exp + exact_length(x), ey = y->exp + exact_length(y);
    int64_t exp = (ex > ey ? ex : ey) - 1 - TOP;
    BinaryExact a = exact_moved(x, exp), b = exact_moved(y, exp);
    if (compare_limbs(&a, &b) < 0) {
        BinaryExact t = a;
        a = b;
        b = t;
    }
    if (a.negative == b.negative)
        add_limbs(&a, &b);
    else
        subtract_limbs(&a, &b, b.sticky);
    a.sticky = b.sticky;
    return a;
}

static BinaryExact exact_product(double x, double y)
{
    BinaryExact a = exact_of_f64(x), b = exact_of_f64(y);
    return exact_of_wide(a.negative != b.negative, (Wide)a.w[0] * b.w[0], a.exp + b.exp);
}

static BinaryExact exact_quotient(double x, double y)
{
    BinaryExact a = exact_of_f64(x), b = exact_of_f64(y);
    Wide n = (Wide)a.w[0] << 74, whole = n / b.w[0], more = (n % b.w[0]) << 64;
    BinaryExact q = exact_of_wide(a.negative != b.negative, whole, a.exp - 74 - b.exp - 64);
    q.w[2] = q.w[1];
    q.w[1] = q.w[0];
    q.w[0] = (uint64_t)(more / b.w[0]);      /* 64 bits of fraction, for stochastic rounding */
    q.sticky = more % b.w[0] != 0;
    return q;
}

/* The root of n 2^(2 places) to its last whole bit, digit by digit; true if something is left. */
static bool integer_root(Wide n, int places, Wide *root)
{
    Wide rest = 0, r = 0;
    for (int i = 126; i >= -2 * places; i -= 2) {
        rest = rest << 2 | (i < 0 ? 0 : n >> i & 3);
        Wide trial = r << 2 | 1;
        r <<= 1;
        if (rest >= trial) {
            rest -= trial;
            r |= 1;
        }
    }
    *root = r;
    return rest != 0;
}

/* The same without places, from a double's root and a step of Newton's. */
static bool short_root(Wide n, Wide *root)
{
    uint64_t r = (uint64_t)sqrt((double)n);
    r = (uint64_t)((r + n / r) / 2);
    while ((Wide)r * r > n)
        r--;
    while ((Wide)(r + 1) * (r + 1) <= n)
        r++;
    *root = r;
    return (Wide)r * r != n;
}

/* The root has 64 bits and `places` more; 60 at most. */
static BinaryExact exact_root(double x, int places)
{
    BinaryExact a = exact_of_f64(x);
    int up = 74 - (a.exp & 1);        /* leaves an even exponent */
    Wide root;
    Wide n = (Wide)a.w[0] << up;
    bool rest = places ? integer_root(n, places, &root) : short_root(n, &root);
    BinaryExact r = exact_of_wide(false, root, (a.exp - up) / 2 - places);
    r.sticky = rest;
    return r;
}

/* ---- rounding ---- */
static uint64_t mix(uint64_t z)          /* of splitmix64: Steele, Lea, Flood (2014) */
{
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

uint64_t binary_stream(const Arith *a) { return mix(a->seed[0] ^ mix(a->seed[1])); }

uint64_t binary_random(const Arith *a, uint64_t draw)
{
    return mix(binary_stream(a) + (draw + 1) * 0x9e3779b97f4a7c15u);
}

double binary_overflow(Arith *a, bool negative)
{
    double most = negative ? -a->max : a->max;
    bool inward = a->round == ROUND_ZERO || a->round == ROUND_ODD ||
                  a->round == (negative ? ROUND_UP : ROUND_DOWN);
    a->flags.overflow++;
    a->flags.inexact++;
    if (a->saturate || inward || a->over == 's')
        return most;
    return a->over == 'n' ? (double)NAN : negative ? -(double)INFINITY : (double)INFINITY;
}

/* An exact one. */
static double exact_infinity(Arith *a, bool negative)
{
    if (a->over == 'i' && !a->saturate)
        return negative ? -(double)INFINITY : (double)INFINITY;
    a->flags.overflow++;
    a->flags.inexact++;
    if (a->over == 'n' && !a->saturate)
        return (double)NAN;
    return negative ? -a->max : a->max;
}

/* v in units of 2^q, v = kept + fraction; the fraction's first 64 bits, and whether more follow. */
typedef struct Cut { uint64_t kept, fraction; bool more; } Cut;

static Cut exact_cut(const BinaryExact *v, int64_t q)
{
    int64_t at = q - v->exp;
    return (Cut){ bits_from(v, at), bits_from(v, at - 64), v->sticky || any_below(v, at - 64) };
}

static bool rounds_up(RoundMode round, bool negative, Cut c, uint64_t random)
{
    const uint64_t half = (uint64_t)1 << 63;
    bool inexact = c.fraction || c.more, odd = c.kept & 1;
    switch (round) {
    case ROUND_NEAREST: return c.fraction > half || (c.fraction == half && (c.more || odd));
    case ROUND_AWAY: return c.fraction >= half;
    case ROUND_UP: return inexact && !negative;
    case ROUND_DOWN: return inexact && negative;
    case ROUND_ODD: return inexact && !odd;
    case ROUND_STOCHASTIC: return random < c.fraction || (random == c.fraction && c.more);
    default: return false;
    }
}

/* Rounded to p bits with unbounded exponents, is v (of exponent e < emin) still below 2^emin? */
static bool stays_tiny(const Arith *a, const BinaryExact *v, int64_t e, uint64_t random)
{
    Cut c = exact_cut(v, e - (a->p - 1));
    uint64_t kept = c.kept + rounds_up(a->round, v->negative, c, random);
    return e < a->emin - 1 || kept >> a->p == 0;
}

static double round_finite(Arith *a, const BinaryExact *v, uint64_t random)
{
    int64_t e = v->exp + exact_length(v) - 1, q = (e > a->emin ? e : a->emin) - (a->p - 1);
    if (e > a->emax)                       /* rounding cannot bring it back */
        return binary_overflow(a, v->negative);
    Cut c = exact_cut(v, q);
    uint64_t kept = c.kept + rounds_up(a->round, v->negative, c, random);
    double r = scaled(kept, q);
    if (r > a->max)
        return binary_overflow(a, v->negative);
    bool inexact = c.fraction || c.more;
    bool flushed = a->flush && kept && kept >> (a->p - 1) == 0;
    a->flags.inexact += inexact || flushed;
    a->flags.underflow += flushed || (inexact && e < a->emin && stays_tiny(a, v, e, random));
    if (flushed)
        r = 0;
    return v->negative ? -r : r;
}

double binary_exact_round(Arith *a, const BinaryExact *v)
{
    uint64_t random = a->round == ROUND_STOCHASTIC ? binary_random(a, a->draw) : 0;
    a->draw++;
    if (v->kind == 'n')
        return (double)NAN;
    if (v->kind == 'i')
        return exact_infinity(a, v->negative);
    if (exact_length(v) == 0 && !v->sticky)
        return v->negative ? -0.0 : 0.0;
    return round_finite(a, v, random);
}

/* ---- numbers and operations ---- */
double binary_exact_f64(Arith *a, double x)
{
    BinaryExact v = { .negative = signbit(x), .kind = isnan(x) ? 'n' : 'i' };
    if (isfinite(x))
        v = exact_of_f64(x);
    return binary_exact_round(a, &v);
}

double binary_exact_i64(Arith *a, int64_t i)
{
    uint64_t size = i < 0 ? 0 - (uint64_t)i : (uint64_t)i;
    BinaryExact v = exact_of_wide(i < 0, size, 0);
    return binary_exact_round(a, &v);
}

/* The result where an operand is no number or infinite, or the exact result is nan, infinite or
 * zero: IEEE arithmetic says which, and the format how it is written. */
static double special(Arith *a, double r, bool nan_given)
{
    a->flags.invalid += isnan(r) && !nan_given;
    return binary_exact_f64(a, r);
}

/* Terms that fit side by side in 128 bits: nothing is lost. */
static BinaryExact near_sum(const BinaryExact *x, const BinaryExact *y)
{
    Wide u = (Wide)x->w[0] << (x->exp - y->exp), v = y->w[0];
    if (x->negative == y->negative)
        return exact_of_wide(x->negative, u + v, y->exp);
    return u >= v ? exact_of_wide(x->negative, u - v, y->exp)
                  : exact_of_wide(y->negative, v - u, y->exp);
}

static BinaryExact sum_of_numbers(double x, double y)
{
    BinaryExact u = exact_of_f64(x), v = exact_of_f64(y);
    int64_t apart = u.exp - v.exp;
    if (apart >= 0 && apart <= 70)
        return near_sum(&u, &v);
    if (apart < 0 && apart >= -70)
        return near_sum(&v, &u);
    return exact_sum(&u, &v);
}

static double sum_of(Arith *a, double x, double y)
{
    if (!isfinite(x) || !isfinite(y))
        return special(a, x + y, isnan(x) || isnan(y));
    if (x == 0 || y == 0 || x == -y) {
        if (x == -y && (x != 0 || signbit(x) != signbit(y)))
            return special(a, a->round == ROUND_DOWN ? -0.0 : 0.0, false);
        return binary_exact_f64(a, x == 0 ? y : x);
    }
    BinaryExact s = sum_of_numbers(x, y);
    return binary_exact_round(a, &s);
}

static double product_of(Arith *a, double x, double y)
{
    if (!isfinite(x) || !isfinite(y) || x == 0 || y == 0)
        return special(a, x * y, isnan(x) || isnan(y));
    BinaryExact p = exact_product(x, y);
    return binary_exact_round(a, &p);
}

static double quotient_of(Arith *a, double x, double y)
{
    if (!isfinite(x) || !isfinite(y) || x == 0 || y == 0) {
        a->flags.divzero += y == 0 && isfinite(x) && x != 0;
        return special(a, x / y, isnan(x) || isnan(y));
    }
    BinaryExact q = exact_quotient(x, y);
    return binary_exact_round(a, &q);
}

static double root_of(Arith *a, double x)
{
    if (!isfinite(x) || x <= 0)
        return special(a, sqrt(x), isnan(x));
    BinaryExact r = exact_root(x, a->round == ROUND_STOCHASTIC ? 60 : 0);
    return binary_exact_round(a, &r);
}

static double fma_of(Arith *a, double x, double y, double z)
{
    if (!isfinite(x) || !isfinite(y) || !isfinite(z))
        return special(a, fma(x, y, z), isnan(x) || isnan(y) || isnan(z));
    if (x == 0 || y == 0)
        return sum_of(a, x * y, z);
    BinaryExact p = exact_product(x, y), c = exact_of_f64(z);
    if (z == 0)
        return binary_exact_round(a, &p);
    BinaryExact s = exact_sum(&p, &c);
    if (exact_length(&s) == 0 && !s.sticky)
        s.negative = a->round == ROUND_DOWN;
    return binary_exact_round(a, &s);
}

double binary_exact_op(Arith *a, EwOp op, double x, double y, double z)
{
    switch (op) {
    case EW_ADD: return sum_of(a, x, y);
    case EW_SUBTRACT: return sum_of(a, x, -y);
    case EW_MULTIPLY: return product_of(a, x, y);
    case EW_DIVIDE: return quotient_of(a, x, y);
    case EW_SQRT: return root_of(a, x);
    case EW_FMA: return fma_of(a, x, y, z);
    default: return (double)NAN;
    }
}
