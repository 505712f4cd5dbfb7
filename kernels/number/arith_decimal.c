/* Decimal arithmetic as a table of arith.h: rows over decimal.c. Functions without an exact
 * decimal form are enclosed by MPFR ever more tightly until both ends round to the same
 * decimal (Ziv 1991). */
#include "kernels/number/arith_number.h"

#include "kernels/tensor/cast.h"

#include <string.h>

/* ---- functions ---- */

/* x as an interval of MPFR numbers: a point where it is one. */
static ArithStatus enclose_cell(Ctx *ctx, Enclosure *e, Rational x)
{
    int t;
    ArithStatus s = mp_set_decimal(ctx, e->lo, x, MPFR_RNDD, &t);
    return s == ARITH_OK ? mp_set_decimal(ctx, e->hi, x, MPFR_RNDU, &t) : s;
}

/* gamma and its logarithm beside their poles, where nothing encloses them: both values, moved
 * apart by half of their bits. */
static void pad(const Mpfr *f, Enclosure *out, EwOp op, const Enclosure *x)
{
    bool known;
    mp_direct(f, op, out->lo, x->lo, x->lo, x->lo, MPFR_RNDN, &known);
    mp_direct(f, op, out->hi, x->hi, x->hi, x->hi, MPFR_RNDN, &known);
    if (!mpfr_is_regular(out->lo) || !mpfr_is_regular(out->hi))
        return;
    if (f->mpfr_cmp3(out->lo, out->hi, 1) > 0) {
        Enclosure t = { {*out->lo}, {*out->hi} };
        out->lo[0] = t.hi[0];
        out->hi[0] = t.lo[0];
    }
    mpfr_t step;
    f->mpfr_init2(step, 64);
    f->mpfr_set_ui_2exp(step, 1, out->hi->_mpfr_exp - out->hi->_mpfr_prec / 2, MPFR_RNDU);
    f->mpfr_sub(out->lo, out->lo, step, MPFR_RNDD);
    f->mpfr_add(out->hi, out->hi, step, MPFR_RNDU);
    f->mpfr_clear(step);
}

static ArithStatus enclose_op(const Mpfr *f, EwOp op, Enclosure *out, Enclosure *in, bool *partly)
{
    const Enclosure *const operands[3] = { in, in + 1, in + 2 };
    bool point = f->mpfr_cmp3(in->lo, in->hi, 1) == 0;
    if (mp_excessive(op, in->lo))
        return ARITH_DIGITS;
    if (mp_slow(f, op, in->lo, out->lo->_mpfr_prec))
        return ARITH_SLOW;
    if ((op == EW_GAMMA || op == EW_LGAMMA) && !point && mpfr_sign(in->lo) < 0) {
        pad(f, out, op, in);
        return ARITH_OK;
    }
    bool two = ew_info[op].arity == 2, known = true;
    if (two && point && f->mpfr_cmp3(in[1].lo, in[1].hi, 1) == 0) {  /* zeros, infinities */
        mp_direct(f, op, out->lo, in->lo, in[1].lo, in->lo, MPFR_RNDD, &known);
        mp_direct(f, op, out->hi, in->lo, in[1].lo, in->lo, MPFR_RNDU, &known);
        return known ? ARITH_OK : ARITH_NONE;
    }
    return enclose(f, op, out, operands, partly);
}

/* The decimal of 2d + 20 digits next to x: what x stands for if it is as near to one as can
 * be told. */
static ArithStatus nearest_long(DecimalWork *w, Rational *out, mpfr_srcptr x)
{
    const Mpfr *f = mpfr_open(NULL);
    mpfr_exp_t point;
    size_t n = 2 * (size_t)w->d + 20;
    if (!mpfr_is_regular(x))
        return ARITH_DIGITS;
    char *digits = f->mpfr_get_str(NULL, &point, 10, n, x, MPFR_RNDN);
    bool negative = x->_mpfr_sign < 0;
    w->g->mpz_set_str(w->n, digits + negative, 10);
    f->mpfr_free_str(digits);
    return decimal_round(w, out, negative, false, point - (int64_t)n);
}

static void resize(const Mpfr *f, Enclosure *e, mpfr_prec_t bits)
{
    f->mpfr_set_prec(e->lo, bits);
    f->mpfr_set_prec(e->hi, bits);
}

/* Both ends of `e` rounded by the same draw; *same where they agree. A value that is no point
 * lies between its ends and is neither: exp(1e-400) is above 1. */
static ArithStatus round_ends(DecimalWork *w, Rational *out, const Enclosure *e, bool *same)
{
    Rational low;
    Arith before = *w->a;
    int apart = mpfr_open(NULL)->mpfr_cmp3(e->hi, e->lo, 1) != 0;
    ArithStatus s = decimal_from_mpfr(w, &low, e->lo, apart);
    bool inexact = w->a->flags.inexact != before.flags.inexact;
    w->a->flags = before.flags;
    w->a->draw = before.draw;
    if (s == ARITH_OK)
        s = decimal_from_mpfr(w, out, e->hi, -apart);
    *same = false;
    if (s != ARITH_OK)
        return s;
    int order = decimal_order(w->g, low, *out);
    *same = order == 2 || (order == 0 && inexact == (w->a->flags.inexact != before.flags.inexact));
    return ARITH_OK;
}

/* An end that is no number although both operands are: beyond what MPFR's exponents reach. */
static bool beyond(const Mpfr *f, const Enclosure *e)
{
    bool low = mpfr_is_regular(e->lo), high = mpfr_is_regular(e->hi);
    return low != high && (mpfr_is_inf(e->lo) || mpfr_is_inf(e->hi) ||
                           f->mpfr_cmp3(e->lo, e->hi, 1) != 0);
}

/* One step of Ziv's strategy. */
static ArithStatus attempt(DecimalWork *w, EwOp op, Rational *out, const Rational *const x[3],
                           Enclosure *e, int64_t bits, bool *same)
{
    const Mpfr *f = mpfr_open(NULL);
    bool partly = false;
    ArithStatus s = ARITH_OK;
    for (int k = 0; k < ew_info[op].arity && s == ARITH_OK; k++) {
        resize(f, &e[k], bits);
        s = enclose_cell(w->a->ctx, &e[k], *x[k]);
    }
    resize(f, &e[3], bits);
    if (s == ARITH_OK)
        s = enclose_op(f, op, &e[3], e, &partly);
    if (s != ARITH_OK)
        return s;
    if (beyond(f, &e[3]))
        return ARITH_DIGITS;
    return round_ends(w, out, &e[3], same);
}

static ArithStatus function_within(DecimalWork *w, EwOp op, Rational *out,
                                   const Rational *const x[3])
{
    const Mpfr *f = mpfr_open(NULL);
    Enclosure e[4];
    bool same = false;
    ArithStatus s = ARITH_OK;
    int64_t bits = w->d * 7 / 2 + 40, most = 8 * bits + 4096;
    for (int k = 0; k < 4; k++)
        enclosure_init(f, &e[k], bits);
    for (; s == ARITH_OK && !same; bits *= 2) {
        Arith before = *w->a;
        s = attempt(w, op, out, x, e, bits, &same);
        if (!same) {
            w->a->flags = before.flags;
            w->a->draw = before.draw;
        }
        if (s == ARITH_OK && !same && bits > most) {
            s = nearest_long(w, out, e[3].lo);
            same = true;
        }
        if (s == ARITH_OK)
            s = cells_poll(w->a);
    }
    for (int k = 0; k < 4; k++)
        enclosure_clear(f, &e[k]);
    return s;
}

/* With all the exponents that MPFR can have: decimals have more than it starts with. */
static ArithStatus function(DecimalWork *w, EwOp op, Rational *out, const Rational *const x[3])
{
    const Mpfr *f = mpfr_open(NULL);
    if (!f)
        return ARITH_LIBRARY;
    mpfr_exp_t least = f->mpfr_get_emin(), most = f->mpfr_get_emax();
    bool nan = false, inf = false;
    for (int k = 0; k < ew_info[op].arity; k++) {
        nan |= cell_kind(*x[k]) == NUMBER_NAN;
        inf |= cell_kind(*x[k]) == NUMBER_INF;
    }
    f->mpfr_set_emin(f->mpfr_get_emin_min());
    f->mpfr_set_emax(f->mpfr_get_emax_max());
    ArithStatus s = function_within(w, op, out, x);
    f->mpfr_set_emin(least);
    f->mpfr_set_emax(most);
    if (s != ARITH_OK)
        return s;
    w->a->flags.invalid += cell_kind(*out) == NUMBER_NAN && !nan;
    w->a->flags.divzero += cell_kind(*out) == NUMBER_INF && !inf;    /* a pole: nothing overflows */
    return ARITH_OK;
}

/* ---- powers and logarithms that are exact ---- */

static bool as_integer(const Gmp *g, Rational a, int64_t *n)
{
    DecimalView v;
    mpz_srcptr z = decimal_view(&v, a);
    int64_t e = cell_exponent(a);
    (void)g;
    *n = 0;
    if (cell_kind(a) != NUMBER_FINITE || z->_mp_size > 1)
        return false;
    if (z->_mp_size == 0)
        return true;
    uint64_t m = z->_mp_d[0];
    for (; e < 0 && m % 10 == 0; e++)
        m /= 10;
    for (; e > 0 && m < ((uint64_t)1 << 40); e--)
        m *= 10;
    if (e != 0 || m >= ((uint64_t)1 << 40))
        return false;
    *n = cell_negative(a) ? -(int64_t)m : (int64_t)m;
    return true;
}

/* Twice a, where that is an odd integer: a power with such an exponent is a root of one. */
static bool as_half(const Gmp *g, Rational a, int64_t *n)
{
    Rational twice = a;
    if (cell_kind(a) != NUMBER_FINITE || (a.tail & CELL_BLOCK) ||
        (uint64_t)a.num >= (uint64_t)1 << 40)
        return false;
    twice.num = 2 * a.num;
    return as_integer(g, twice, n) && (*n & 1);
}

static bool is_one(Rational a)
{
    int64_t n;
    return as_integer(NULL, a, &n) && n == 1;
}

static Rational magnitude_of(Rational a)
{
    a.tail &= ~CELL_SIGN;
    return a;
}

static ArithStatus power(DecimalWork *w, Rational *out, const Rational *const x[3])
{
    enum { DIGITS_MAX = 20000 };
    DecimalView v;
    int64_t n;
    Rational a = *x[0], b = *x[1];
    bool plain = cell_kind(a) == NUMBER_FINITE && !cell_zero(a);
    int64_t digits = plain ? decimal_digits(w->g, decimal_view(&v, a)) : 0;
    if (plain && as_integer(w->g, b, &n) && n != 0) {
        int64_t size = n < 0 ? -n : n;
        if (size * digits <= DIGITS_MAX + w->d)
            return decimal_power(w, out, a, n);
    }
    if (plain && !cell_negative(a) && as_half(w->g, b, &n) && n == 1)
        return decimal_root(w, out, a, 2);
    if (plain && cell_kind(b) == NUMBER_INF) {
        int order = decimal_order(w->g, magnitude_of(a), cell_small(1, false, NUMBER_FINITE, 0));
        bool grows = (order > 0) != cell_negative(b);
        *out = order == 0 ? cell_small(1, false, NUMBER_FINITE, 0)
                          : cell_small(0, false, grows ? NUMBER_INF : NUMBER_FINITE, 0);
        w->a->draw++;
        return ARITH_OK;
    }
    if (cell_kind(b) != NUMBER_NAN && is_one(a))
        return *out = a, w->a->draw++, ARITH_OK;
    return function(w, EW_POWER, out, x);
}

/* Powers of ten. */
static ArithStatus log10_of(DecimalWork *w, Rational *out, const Rational *const x[3])
{
    const Gmp *g = w->g;
    DecimalView v;
    Rational a = *x[0];
    if (cell_kind(a) == NUMBER_FINITE && !cell_zero(a) && !cell_negative(a)) {
        mpz_srcptr digits = decimal_view(&v, a);
        int64_t n = decimal_digits(g, digits) - 1, exp = cell_exponent(a) + n;
        g->mpz_ui_pow_ui(w->t, 10, (unsigned long)n);
        if (g->mpz_cmp(w->t, digits) == 0) {
            g->mpz_set_ui(w->n, exp < 0 ? -(uint64_t)exp : (uint64_t)exp);
            return decimal_round(w, out, exp < 0, false, 0);
        }
    }
    return function(w, EW_LOG10, out, x);
}

/* ---- rows ---- */

static bool moves(EwOp op, Rational *out, const Rational *const x[3], int order)
{
    Rational a = *x[0];
    bool nan = cell_kind(a) == NUMBER_NAN;
    switch (op) {
    case EW_NEGATIVE: *out = decimal_negated(a); return true;
    case EW_ABS: *out = magnitude_of(a); return true;
    case EW_COPYSIGN:
        *out = nan ? a : magnitude_of(a);
        out->tail |= nan ? 0 : x[1]->tail & CELL_SIGN;
        return true;
    case EW_POSITIVE: case EW_REAL: case EW_CONJ: *out = a; return true;
    case EW_IMAG: *out = (Rational){ 0 }; return true;
    case EW_MAXIMUM: *out = order == 1 || nan ? a : *x[1]; return true;
    case EW_MINIMUM: *out = order == -1 || nan ? a : *x[1]; return true;
    case EW_RELU:
        *out = nan || (!cell_negative(a) && !cell_zero(a)) ? a : (Rational){ 0 };
        return true;
    case EW_SIGN:
        *out = nan || cell_zero(a) ? a : cell_small(1, cell_negative(a), NUMBER_FINITE, 0);
        return true;
    case EW_WHERE: *out = cell_zero(a) ? *x[2] : *x[1]; return true;
    default: return false;
    }
}

static ArithStatus compute(DecimalWork *w, EwOp op, Rational *out, const Rational *const x[3])
{
    switch (op) {
    case EW_ADD: return decimal_add(w, out, *x[0], *x[1]);
    case EW_SUBTRACT: return decimal_add(w, out, *x[0], decimal_negated(*x[1]));
    case EW_MULTIPLY: return decimal_multiply(w, out, *x[0], *x[1]);
    case EW_DIVIDE: return decimal_divide(w, out, *x[0], *x[1]);
    case EW_FMA: return decimal_fma(w, out, *x[0], *x[1], *x[2]);
    case EW_SQRT: return decimal_root(w, out, *x[0], 2);
    case EW_CBRT: return decimal_root(w, out, *x[0], 3);
    case EW_HYPOT: return decimal_hypot(w, out, *x[0], *x[1]);
    case EW_POWER: return power(w, out, x);
    case EW_LOG10: return log10_of(w, out, x);
    case EW_FLOOR: case EW_CEIL: case EW_TRUNC: case EW_ROUND:
        return decimal_integer(w, op, out, *x[0]);
    case EW_MOD: case EW_FLOOR_DIVIDE: return decimal_divmod(w, op, out, *x[0], *x[1]);
    case EW_NEXTAFTER: return decimal_neighbour(w, out, *x[0], *x[1]);
    default: return ew_info[op].as ? ARITH_NONE : function(w, op, out, x);
    }
}

static ArithStatus apply(void *work, EwOp op, void *out, const Rational *const x[3])
{
    DecimalWork *w = work;
    NumberKind kind = cell_kind(*x[0]);
    int order = 0;
    if (op == EW_ISNAN || op == EW_ISINF || op == EW_ISFINITE) {
        *(uint8_t *)out = kind == (op == EW_ISNAN ? NUMBER_NAN
                                   : op == EW_ISINF ? NUMBER_INF : NUMBER_FINITE);
        return ARITH_OK;
    }
    if (cells_compares(op) || op == EW_MAXIMUM || op == EW_MINIMUM || op == EW_CLAMP)
        order = decimal_order(w->g, *x[0], *x[1]);
    if (cells_compares(op))
        return *(uint8_t *)out = cells_answer(op, order), ARITH_OK;
    if (op == EW_CLAMP) {
        Rational low = order == 1 || cell_kind(*x[0]) == NUMBER_NAN ? *x[0] : *x[1];
        bool stays = cell_kind(low) == NUMBER_NAN || decimal_order(w->g, low, *x[2]) == -1;
        *(Rational *)out = stays ? low : *x[2];
        return ARITH_OK;
    }
    return moves(op, out, x, order) ? ARITH_OK : compute(w, op, out, x);
}

static ArithStatus ew(Arith *a, EwOp op, void *out, int64_t so, const void *const x[],
                      const int64_t sx[], int64_t n)
{
    DecimalWork w;
    ArithStatus s = decimal_begin(&w, a);
    if (s != ARITH_OK)
        return s;
    s = cells_ew(a, apply, &w, op, out, so, x, sx, n);
    decimal_end(&w);
    return s;
}

static ArithStatus load(Arith *a, void *to, int64_t st, DType from, const void *x, int64_t sx,
                        int64_t n)
{
    DecimalWork w;
    if (from == a->dtype)
        return cells_copy(a, to, st, x, sx, n);
    ArithStatus s = decimal_begin(&w, a);
    if (s != ARITH_OK)
        return s;
    s = cells_load(a, decimal_take, &w, to, st, from, x, sx, n);
    decimal_end(&w);
    return s;
}

static ArithStatus axpy(Arith *a, EwOp op, void *y, int64_t sy, const void *by, const void *x,
                        int64_t sx, int64_t n)
{
    DecimalWork w;
    ArithStatus s = decimal_begin(&w, a);
    if (s != ARITH_OK)
        return s;
    s = cells_axpy(a, apply, &w, op, y, sy, by, x, sx, n);
    decimal_end(&w);
    return s;
}

/* y NULL: the sum of x. */
static ArithStatus fold(Arith *a, void *out, const void *x, int64_t sx, const void *y, int64_t sy,
                        int64_t n)
{
    DecimalWork w;
    Rational total = { 0 }, term;
    const void *mark = rational_block_mark(a->ctx);
    ArithStatus s = decimal_begin(&w, a);
    if (s != ARITH_OK)
        return s;
    for (int64_t i = 0; i < n && s == ARITH_OK; i++) {
        term = ((const Rational *)x)[i * sx];
        if (y)
            s = decimal_multiply(&w, &term, term, ((const Rational *)y)[i * sy]);
        if (s == ARITH_OK && i)
            s = decimal_add(&w, &total, total, term);
        else
            total = term;
        if (s == ARITH_OK && (i || y))           /* the products and sums before this one */
            rational_block_drop(a->ctx, mark, (int64_t)total.tail < 0 ? total.num : 0);
        if (s == ARITH_OK && cells_due(a, i))
            s = cells_poll(a);
    }
    decimal_end(&w);
    *(Rational *)out = total;
    return s == ARITH_OK ? cells_poll(a) : s;
}

static ArithStatus dot(Arith *a, void *out, const void *x, int64_t sx, const void *y, int64_t sy,
                       int64_t n)
{
    return fold(a, out, x, sx, y, sy, n);
}

static ArithStatus sum(Arith *a, void *out, const void *x, int64_t sx, int64_t n)
{
    return fold(a, out, x, sx, NULL, 0, n);
}

static ArithStatus compare(Arith *a, const void *x, const void *y, int *order)
{
    const Gmp *g = gmp_open(NULL);
    (void)a;
    if (!g)
        return ARITH_LIBRARY;
    *order = decimal_order(g, *(const Rational *)x, *(const Rational *)y);
    return ARITH_OK;
}

const ArithOps arith_decimal_ops = {
    ew, load, cells_copy, axpy, dot, sum, compare, number_matmul
};
