/* Arithmetic of mp(bits) as a table of arith.h: every operation by MPFR, which rounds
 * correctly to nearest even, zero, up and down. The other modes take MPFR's result towards
 * zero with a few bits more, whose ternary value says whether anything is left of it, and
 * round that by hand. Functions that MPFR lacks are enclosed ever more tightly until both
 * ends round alike (Ziv 1991). The exponents are MPFR's own, so overflow is far away. */
#include "kernels/number/arith_number.h"

#include "kernels/arith/arith_binary.h"
#include "kernels/arith/cast_mini.h"

#include <math.h>
#include <string.h>

/* ---- rounding ---- */

/* The rounding of a row's numbers to the mode and bits of an Arith. */
typedef struct MpWork {
    Arith *a;
    const Mpfr *f;
    mpfr_rnd_t rnd;          /* that of MPFR … */
    bool wide;               /* … or towards zero into y, and from there by hand */
    mpfr_t r, y, s;          /* result; wide result; another of the format */
} MpWork;

static int64_t extra_bits(RoundMode round) { return round == ROUND_STOCHASTIC ? 64 : 2; }

static ArithStatus work_begin(MpWork *w, Arith *a)
{
    static const mpfr_rnd_t modes[ROUND_MODES] = {
        [ROUND_NEAREST] = MPFR_RNDN, [ROUND_ZERO] = MPFR_RNDZ, [ROUND_UP] = MPFR_RNDU,
        [ROUND_DOWN] = MPFR_RNDD, [ROUND_AWAY] = MPFR_RNDZ, [ROUND_ODD] = MPFR_RNDZ,
        [ROUND_STOCHASTIC] = MPFR_RNDZ
    };
    const Gmp *g;
    RationalStatus status = rational_gmp(a->ctx, &g);
    *w = (MpWork){ .a = a, .f = mpfr_open(NULL), .rnd = modes[a->round] };
    w->wide = a->round == ROUND_AWAY || a->round == ROUND_ODD || a->round == ROUND_STOCHASTIC;
    if (status != RATIONAL_OK || !w->f)
        return status != RATIONAL_OK ? cells_status(status) : ARITH_LIBRARY;
    w->f->mpfr_init2(w->r, a->digits);
    w->f->mpfr_init2(w->s, a->digits);
    w->f->mpfr_init2(w->y, a->digits + (w->wide ? extra_bits(a->round) : 0));
    return ARITH_OK;
}

static void work_end(MpWork *w)
{
    w->f->mpfr_clear(w->r);
    w->f->mpfr_clear(w->s);
    w->f->mpfr_clear(w->y);
}

/* The `count` <= 64 bits of x below its first `from`. */
static uint64_t bits_below(mpfr_srcptr x, int64_t from, int count)
{
    uint64_t bits = 0;
    int64_t limbs = (x->_mpfr_prec + 63) / 64;
    for (int i = 0; i < count; i++) {
        int64_t at = 64 * limbs - 1 - (from + i);
        bits = bits << 1 | (x->_mpfr_d[at / 64] >> (at % 64) & 1);
    }
    return bits;
}

static bool settles_up(const MpWork *w, bool more, uint64_t random)
{
    int64_t p = w->a->digits;
    uint64_t rest;
    switch (w->a->round) {
    case ROUND_AWAY:
        return bits_below(w->y, p, 1) != 0;
    case ROUND_ODD:
        return (bits_below(w->y, p, 2) != 0 || more) && bits_below(w->y, p - 1, 1) == 0;
    default:
        rest = bits_below(w->y, p, 64);
        return random < rest || (random == rest && more);
    }
}

/* y, rounded towards zero with the ternary value t, into r; its ternary value. One draw. */
static int settle(MpWork *w, int t)
{
    uint64_t random = w->a->round == ROUND_STOCHASTIC ? binary_random(w->a, w->a->draw) : 0;
    const Mpfr *f = w->f;
    if (!mpfr_is_regular(w->y)) {
        f->mpfr_set(w->r, w->y, MPFR_RNDZ);
        if (mpfr_is_zero(w->y) && t != 0 && w->a->round == ROUND_ODD)
            w->y->_mpfr_sign < 0 ? f->mpfr_nextbelow(w->r) : f->mpfr_nextabove(w->r);
        return t;
    }
    bool up = settles_up(w, t != 0, random);
    int last = f->mpfr_set(w->r, w->y, up ? MPFR_RNDA : MPFR_RNDZ);
    if (up && last == 0) {           /* only what lies below y is left, and it goes up */
        w->y->_mpfr_sign < 0 ? f->mpfr_nextbelow(w->r) : f->mpfr_nextabove(w->r);
        return t;
    }
    return last ? last : t;
}

/* ---- counting ---- */

/* After an operation: r, its ternary value, what was given. */
static void account(MpWork *w, int t, bool nan_given, bool inf_given)
{
    ArithFlags *flags = &w->a->flags;
    w->a->draw++;
    if (mpfr_is_nan(w->r)) {
        flags->invalid += !nan_given;
        return;
    }
    if (mpfr_is_inf(w->r) && t == 0)
        flags->divzero += !inf_given;
    if (t == 0)
        return;
    flags->inexact++;
    if (mpfr_is_zero(w->r) || (mpfr_is_regular(w->r) && w->r->_mpfr_exp <= MPFR_EMIN_DEFAULT)) {
        flags->underflow++;
    } else if (mpfr_is_inf(w->r)) {
        flags->overflow++;
        if (w->a->saturate)
            w->r->_mpfr_sign < 0 ? w->f->mpfr_nextabove(w->r) : w->f->mpfr_nextbelow(w->r);
    }
}

/* ---- functions that MPFR lacks ---- */

static void point(Enclosure *e, MpView *v, const Rational *cell)
{
    if (!cell)
        return;
    e->lo[0] = e->hi[0] = *mp_view(v, *cell);
}

/* One end of an enclosure to the format; the draw is the same for both. The value is no end
 * unless it is both (nudge 0): it lies above (1) or below (-1) this one. */
static int round_end(MpWork *w, mpfr_ptr end, int nudge)
{
    if (nudge && mpfr_is_regular(end)) {
        w->f->mpfr_prec_round(end, end->_mpfr_prec + 8, MPFR_RNDN);
        nudge > 0 ? w->f->mpfr_nextabove(end) : w->f->mpfr_nextbelow(end);
    }
    if (!w->wide)
        return w->f->mpfr_set(w->r, end, w->rnd);
    int t = w->f->mpfr_set(w->y, end, MPFR_RNDZ);
    return settle(w, t);
}

static ArithStatus by_enclosure(MpWork *w, EwOp op, const Rational *const x[3], int *t)
{
    Enclosure operands[3], out;
    const Enclosure *in[3] = { operands, operands + 1, operands + 2 };
    MpView views[3];
    ArithStatus s = ARITH_OK;
    bool partly = false, settled = false;
    for (int k = 0; k < ew_info[op].arity; k++)
        point(&operands[k], &views[k], x[k]);
    int64_t bits = w->a->digits + 32, most = 8 * w->a->digits + 4096;
    enclosure_init(w->f, &out, bits);
    for (; s == ARITH_OK && !settled; bits *= 2) {
        w->f->mpfr_set_prec(out.lo, bits);
        w->f->mpfr_set_prec(out.hi, bits);
        s = enclose(w->f, op, &out, in, &partly);
        if (s != ARITH_OK)
            break;
        int apart = w->f->mpfr_cmp3(out.hi, out.lo, 1) != 0;
        round_end(w, out.lo, apart);
        w->f->mpfr_set(w->s, w->r, MPFR_RNDN);
        *t = round_end(w, out.hi, -apart);
        if (*t == 0 && apart)
            *t = 1;                      /* to a zero or an infinity */
        settled = mpfr_is_nan(w->r) || w->f->mpfr_cmp3(w->s, w->r, 1) == 0 || bits > most;
        s = cells_poll(w->a);
    }
    enclosure_clear(w->f, &out);
    return s;
}

/* ---- operations ---- */

static ArithStatus operate(MpWork *w, EwOp op, const Rational *const x[3], int *t)
{
    static const __mpfr_struct none;
    MpView views[3];
    mpfr_srcptr v[3] = { &none, &none, &none };
    bool known = true, nan = false, inf = false;
    ArithStatus s = ARITH_OK;
    for (int k = 0; k < ew_info[op].arity; k++) {
        v[k] = mp_view(&views[k], *x[k]);
        nan |= mpfr_is_nan(v[k]);
        inf |= mpfr_is_inf(v[k]);
    }
    if (mp_excessive(op, v[0]))
        return ARITH_DIGITS;
    if (mp_slow(w->f, op, v[0], w->r->_mpfr_prec))
        return ARITH_SLOW;
    *t = mp_direct(w->f, op, w->wide ? w->y : w->r, v[0], v[1], v[2], w->rnd, &known);
    if (!known)
        s = by_enclosure(w, op, x, t);
    else if (w->wide)
        *t = settle(w, *t);
    if (s == ARITH_OK)
        account(w, *t, nan, inf);
    return s;
}

/* Operations without rounding, on the cell itself. */
static bool moves(EwOp op, Rational *out, const Rational *const x[3], int order)
{
    Rational a = *x[0], b = x[1] ? *x[1] : a;
    bool nan = cell_kind(a) == NUMBER_NAN;
    switch (op) {
    case EW_NEGATIVE: *out = a; out->tail ^= nan ? 0 : CELL_SIGN; return true;
    case EW_ABS: *out = a; out->tail &= ~CELL_SIGN; return true;
    case EW_COPYSIGN:
        *out = a;
        out->tail = nan ? a.tail : (a.tail & ~CELL_SIGN) | (b.tail & CELL_SIGN);
        return true;
    case EW_POSITIVE: case EW_REAL: case EW_CONJ: *out = a; return true;
    case EW_IMAG: *out = (Rational){ 0 }; return true;
    case EW_MAXIMUM: *out = order == 1 || nan ? a : b; return true;
    case EW_MINIMUM: *out = order == -1 || nan ? a : b; return true;
    case EW_RELU:
        *out = nan || (!cell_negative(a) && !cell_zero(a)) ? a : (Rational){ 0 };
        return true;
    default: return false;
    }
}

static int order_of(const Mpfr *f, Rational a, Rational b)
{
    MpView va, vb;
    mpfr_srcptr x = mp_view(&va, a), y = mp_view(&vb, b);
    if (mpfr_is_nan(x) || mpfr_is_nan(y))
        return 2;
    int c = f->mpfr_cmp3(x, y, 1);
    return (c > 0) - (c < 0);
}

/* The number of the format next to a in the direction of b, into w->r. */
static void neighbour(MpWork *w, Rational a, Rational b)
{
    MpView va, vb;
    int order = order_of(w->f, a, b);
    w->f->mpfr_set(w->r, mp_view(order ? &va : &vb, order ? a : b), MPFR_RNDN);
    if (order == 2)
        w->f->mpfr_set_nan(w->r);
    else if (order)
        order < 0 ? w->f->mpfr_nextabove(w->r) : w->f->mpfr_nextbelow(w->r);
}

static bool is_a(EwOp op, Rational a)
{
    NumberKind kind = cell_kind(a);
    return op == EW_ISNAN ? kind == NUMBER_NAN : op == EW_ISINF ? kind == NUMBER_INF
                                                               : kind == NUMBER_FINITE;
}

static ArithStatus apply(void *work, EwOp op, void *out, const Rational *const x[3])
{
    MpWork *w = work;
    int t, order = 0;
    if (op == EW_ISNAN || op == EW_ISINF || op == EW_ISFINITE)
        return *(uint8_t *)out = is_a(op, *x[0]), ARITH_OK;
    if (cells_compares(op) || op == EW_MAXIMUM || op == EW_MINIMUM || op == EW_CLAMP)
        order = order_of(w->f, *x[0], *x[1]);
    if (cells_compares(op))
        return *(uint8_t *)out = cells_answer(op, order), ARITH_OK;
    if (op == EW_WHERE)
        return *(Rational *)out = cell_zero(*x[0]) ? *x[2] : *x[1], ARITH_OK;
    if (op == EW_CLAMP) {
        Rational low = order == 1 || cell_kind(*x[0]) == NUMBER_NAN ? *x[0] : *x[1];
        bool stays = cell_kind(low) == NUMBER_NAN || order_of(w->f, low, *x[2]) == -1;
        *(Rational *)out = stays ? low : *x[2];
        return ARITH_OK;
    }
    if (moves(op, out, x, order))
        return ARITH_OK;
    if (ew_info[op].as)
        return ARITH_NONE;
    if (op == EW_NEXTAFTER)
        neighbour(w, *x[0], *x[1]);
    ArithStatus s = op == EW_NEXTAFTER ? ARITH_OK : operate(w, op, x, &t);
    return s == ARITH_OK ? mp_keep(w->a->ctx, out, w->r) : s;
}

static ArithStatus ew(Arith *a, EwOp op, void *out, int64_t so, const void *const x[],
                      const int64_t sx[], int64_t n)
{
    MpWork w;
    ArithStatus s = work_begin(&w, a);
    if (s != ARITH_OK)
        return s;
    s = cells_ew(a, apply, &w, op, out, so, x, sx, n);
    work_end(&w);
    return s;
}

/* ---- from other numbers ---- */

/* |exponents| up to this are multiplied out; above, MPFR reads the number as text. */
enum { EXPONENT_SHORT = 4096 };

/* digits e exponent, as MPFR reads them. */
static void put_text(char *text, mpz_srcptr digits, bool negative, int64_t e)
{
    char backwards[24];
    int count = 0;
    text[0] = negative ? '-' : '+';
    gmp_open(NULL)->mpz_get_str(text + 1, 10, digits);
    size_t n = strlen(text);
    text[n++] = 'e';
    if (e < 0)
        text[n++] = '-';
    for (uint64_t u = e < 0 ? -(uint64_t)e : (uint64_t)e; u || count == 0; u /= 10)
        backwards[count++] = (char)('0' + u % 10);
    while (count)
        text[n++] = backwards[--count];
    text[n] = '\0';
}

static ArithStatus set_decimal_text(Ctx *ctx, mpfr_ptr r, Rational c, mpfr_rnd_t rnd, int *t)
{
    DecimalView v;
    mpz_srcptr digits = decimal_view(&v, c);
    size_t room = gmp_open(NULL)->mpz_sizeinbase(digits, 10) + 32;
    char *text = mem_try_alloc(ctx, room);
    if (!text)
        return ARITH_MEMORY;
    put_text(text, digits, cell_negative(c), cell_exponent(c));
    *t = mpfr_open(NULL)->mpfr_strtofr(r, text, NULL, 10, rnd);
    mem_free(ctx, text, room);
    return ARITH_OK;
}

ArithStatus mp_set_decimal(Ctx *ctx, mpfr_ptr r, Rational c, mpfr_rnd_t rnd, int *t)
{
    DecimalView v;
    const Gmp *g = gmp_open(NULL);
    const Mpfr *f = mpfr_open(NULL);
    int64_t e = cell_exponent(c);
    mpz_t power;
    mpq_t q;
    if (cell_kind(c) != NUMBER_FINITE || cell_zero(c)) {
        MpView m;                        /* zeros, inf and nan stand alike */
        *t = f->mpfr_set(r, mp_view(&m, c), rnd);
        return ARITH_OK;
    }
    __mpz_struct m = *decimal_view(&v, c);
    if (e > EXPONENT_SHORT || e < -EXPONENT_SHORT)
        return set_decimal_text(ctx, r, c, rnd, t);
    m._mp_size = cell_negative(c) ? -m._mp_size : m._mp_size;
    g->mpz_init(power);
    g->mpz_ui_pow_ui(power, 10, (unsigned long)(e < 0 ? -e : e));
    if (e < 0) {
        q->_mp_num = m;
        q->_mp_den = *power;
        *t = f->mpfr_set_q(r, q, rnd);
    } else {
        g->mpz_mul(power, power, &m);
        *t = f->mpfr_set_z(r, power, rnd);
    }
    g->mpz_clear(power);
    return ARITH_OK;
}

static ArithStatus set_any(MpWork *w, mpfr_ptr r, DType from, const void *element, int *t)
{
    DType base = dtype_base(from);
    char kind = dtype_info(from)->kind;
    RationalView q;
    MpView m;
    Rational c;
    if (dtype_cells(from))
        memcpy(&c, element, sizeof c);
    if (base == DT_DECIMAL)
        return mp_set_decimal(w->a->ctx, r, c, w->rnd, t);
    if (base == DT_RATIONAL)
        *t = w->f->mpfr_set_q(r, rational_view(&q, c), w->rnd);
    else if (base == DT_MP)
        *t = w->f->mpfr_set(r, mp_view(&m, c), w->rnd);
    else if (kind == 'i' || kind == 'b')
        *t = w->f->mpfr_set_si_2exp(r, cast_element_i64(from, element), 0, w->rnd);
    else
        *t = w->f->mpfr_set_d(r, base == DT_INTERVAL ? number_f64(from, element)
                                                     : cast_element_f64(from, element), w->rnd);
    return ARITH_OK;
}

static ArithStatus take(void *work, Rational *out, DType from, const void *element)
{
    MpWork *w = work;
    int t;
    ArithStatus s = set_any(w, w->wide ? w->y : w->r, from, element, &t);
    if (s != ARITH_OK)
        return s;
    if (w->wide)
        t = settle(w, t);
    account(w, t, true, true);
    return mp_keep(w->a->ctx, out, w->r);
}

static ArithStatus load(Arith *a, void *to, int64_t st, DType from, const void *x, int64_t sx,
                        int64_t n)
{
    MpWork w;
    if (from == a->dtype)
        return cells_copy(a, to, st, x, sx, n);
    ArithStatus s = work_begin(&w, a);
    if (s != ARITH_OK)
        return s;
    s = cells_load(a, take, &w, to, st, from, x, sx, n);
    work_end(&w);
    return s;
}

ArithStatus mp_from_text(Arith *a, Rational *out, const char *text)
{
    MpWork w;
    ArithStatus s = work_begin(&w, a);
    if (s != ARITH_OK)
        return s;
    int t = w.f->mpfr_strtofr(w.wide ? w.y : w.r, text, NULL, 10, w.rnd);
    if (w.wide)
        t = settle(&w, t);
    account(&w, t, true, true);
    s = mp_keep(a->ctx, out, w.r);
    work_end(&w);
    return s;
}

/* ---- sums ---- */

static ArithStatus axpy(Arith *a, EwOp op, void *y, int64_t sy, const void *by, const void *x,
                        int64_t sx, int64_t n)
{
    MpWork w;
    ArithStatus s = work_begin(&w, a);
    if (s != ARITH_OK)
        return s;
    s = cells_axpy(a, apply, &w, op, y, sy, by, x, sx, n);
    work_end(&w);
    return s;
}

/* r = x op y in the format, counted. */
static void step(MpWork *w, EwOp op, mpfr_srcptr x, mpfr_srcptr y)
{
    bool known, nan = mpfr_is_nan(x) || mpfr_is_nan(y), inf = mpfr_is_inf(x) || mpfr_is_inf(y);
    int t = mp_direct(w->f, op, w->wide ? w->y : w->r, x, y, y, w->rnd, &known);
    if (w->wide)
        t = settle(w, t);
    account(w, t, nan, inf);
}

static void swap(mpfr_ptr a, mpfr_ptr b)
{
    __mpfr_struct t = *a;
    *a = *b;
    *b = t;
}

/* The partial sum stands in w.s: no cell is made but the last. y NULL: the sum of x. */
static ArithStatus fold(Arith *a, void *out, const void *x, int64_t sx, const void *y, int64_t sy,
                        int64_t n)
{
    MpWork w;
    MpView u, v;
    ArithStatus s = work_begin(&w, a);
    if (s != ARITH_OK)
        return s;
    w.f->mpfr_set_zero(w.s, 1);
    for (int64_t i = 0; i < n && s == ARITH_OK; i++) {
        mpfr_srcptr term = mp_view(&u, ((const Rational *)x)[i * sx]);
        if (y) {
            step(&w, EW_MULTIPLY, term, mp_view(&v, ((const Rational *)y)[i * sy]));
            term = w.r;
        }
        if (i)
            step(&w, EW_ADD, w.s, term);
        else if (!y)
            w.f->mpfr_set(w.r, term, MPFR_RNDN);
        swap(w.r, w.s);
        if (cells_due(a, i))
            s = cells_poll(a);
    }
    if (s == ARITH_OK)
        s = cells_poll(a);
    if (s == ARITH_OK)
        s = mp_keep(a->ctx, out, w.s);
    work_end(&w);
    return s;
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
    const Mpfr *f = mpfr_open(NULL);
    (void)a;
    if (!f)
        return ARITH_LIBRARY;
    *order = order_of(f, *(const Rational *)x, *(const Rational *)y);
    return ARITH_OK;
}

const ArithOps arith_mp_ops = {
    ew, load, cells_copy, axpy, dot, sum, compare, number_matmul
};
