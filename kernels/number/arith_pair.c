/* Elementwise operations on complex numbers of decimal, mp, rational and interval: see number.h.
 * What moves or compares goes by the parts. Functions are enclosed by rectangles (enclose_pair.h),
 * of more and more bits until both ends of a part round alike (Ziv 1991); an interval's rectangle
 * is rounded outwards as it is. Infinities and nans go by the kernel of c128, as C99's Annex G has
 * them. Fractions have what stays exact. */
#include "kernels/number/enclose_pair.h"

#include "kernels/arith/arith_complex.h"
#include "kernels/elementwise/ew.h"

#include <float.h>
#include <math.h>
#include <string.h>

typedef struct PairJob {
    Arith *a;
    EwOp op;
    int operands;
    const char *x[2];           /* the pair at hand */
} PairJob;

static const char *part(const PairJob *j, int k) { return j->x[k >> 1] + (k & 1) * j->a->size; }

static ArithStatus one(Arith *a, EwOp op, void *out, const void *x, const void *y)
{
    return a->ops->ew(a, op, out, 1, (const void *const[]){ x, y, NULL },
                      (const int64_t[]){ 0, 0, 0 }, 1);
}

/* ---- what goes by the parts ---- */
static ArithStatus compares(const PairJob *j, void *out)
{
    uint8_t re = 0, im = 0;
    bool two = j->operands == 2;
    ArithStatus s = one(j->a, j->op, &re, part(j, 0), two ? part(j, 2) : NULL);
    if (s == ARITH_OK)
        s = one(j->a, j->op, &im, part(j, 1), two ? part(j, 3) : NULL);
    bool both = j->op == EW_EQUAL || j->op == EW_ISFINITE;
    *(uint8_t *)out = both ? re & im : re | im;
    return s;
}

/* Without rounding. False: the operation is another. */
static bool moves(const PairJob *j, char *out, ArithStatus *s)
{
    int64_t size = j->a->size;
    *s = ARITH_OK;
    switch (j->op) {
    case EW_REAL: memcpy(out, part(j, 0), (size_t)size); return true;
    case EW_IMAG: memcpy(out, part(j, 1), (size_t)size); return true;
    case EW_POSITIVE: memcpy(out, part(j, 0), (size_t)(2 * size)); return true;
    case EW_CONJ: case EW_NEGATIVE:
        memcpy(out, part(j, 0), (size_t)size);
        if (j->op == EW_NEGATIVE)
            *s = one(j->a, EW_NEGATIVE, out, part(j, 0), NULL);
        if (*s == ARITH_OK)
            *s = one(j->a, EW_NEGATIVE, out + size, part(j, 1), NULL);
        return true;
    case EW_ANGLE: *s = one(j->a, EW_ATAN2, out, part(j, 1), part(j, 0)); return true;
    default: return false;
    }
}

/* ---- fractions ---- */
/* sqrt((|z| + |x|) / 2) and y over twice that, where all of it is fractions. */
static ArithStatus rational_root(Arith *a, Rational *out, const Rational *z)
{
    const Rational two = rational_int(2);
    Rational r, t, u;
    ArithStatus s = arith_complex(a, EW_ABS, &r, &u, arith_pair(a, z, 1), arith_pair(a, z, 1), 1);
    if (s == ARITH_OK)
        s = one(a, EW_ABS, &t, &z[0], NULL);
    if (s == ARITH_OK)
        s = one(a, EW_ADD, &t, &r, &t);
    if (s == ARITH_OK)
        s = one(a, EW_DIVIDE, &t, &t, &two);
    if (s == ARITH_OK)
        s = one(a, EW_SQRT, &t, &t, NULL);
    if (s != ARITH_OK || rational_sign(t) == 0) {
        out[0] = out[1] = rational_int(0);
        return s;
    }
    s = one(a, EW_MULTIPLY, &u, &t, &two);
    if (s == ARITH_OK)
        s = one(a, EW_DIVIDE, &u, &z[1], &u);
    if (s != ARITH_OK)
        return s;
    bool left = rational_sign(z[0]) < 0, below = rational_sign(z[1]) < 0;
    out[0] = left ? u : t;
    out[1] = left ? t : u;
    if (left && below)
        s = one(a, EW_NEGATIVE, &out[0], &out[0], NULL);
    return s == ARITH_OK && left && below ? one(a, EW_NEGATIVE, &out[1], &out[1], NULL) : s;
}

static ArithStatus multiply_into(Arith *a, Rational *z, const Rational *x, const Rational *y)
{
    Rational re, im;
    ArithStatus s = arith_complex(a, EW_MULTIPLY, &re, &im, arith_pair(a, x, 1),
                                  arith_pair(a, y, 1), 1);
    z[0] = re;
    z[1] = im;
    return s == ARITH_OK ? cells_poll(a) : s;
}

static ArithStatus rational_powered(Arith *a, Rational *out, const Rational *z, const Rational *y)
{
    int64_t n;
    if (rational_sign(y[1]) != 0 || !rational_as_int(y[0], &n))
        return ARITH_INEXACT;
    Rational p[2] = { z[0], z[1] }, one_more[2] = { rational_int(1), rational_int(0) }, re, im;
    ArithStatus s = ARITH_OK;
    out[0] = rational_int(1);
    out[1] = rational_int(0);
    for (uint64_t left = n < 0 ? -(uint64_t)n : (uint64_t)n; left && s == ARITH_OK; left >>= 1) {
        if (left & 1)
            s = multiply_into(a, out, out, p);
        if (left > 1 && s == ARITH_OK)
            s = multiply_into(a, p, p, p);
    }
    if (n >= 0 || s != ARITH_OK)
        return s;
    s = arith_complex(a, EW_DIVIDE, &re, &im, arith_pair(a, one_more, 1), arith_pair(a, out, 1),
                      1);
    out[0] = re;
    out[1] = im;
    return s;
}

static ArithStatus exactly(const PairJob *j, char *out)
{
    const Rational *z = (const Rational *)(const void *)j->x[0];
    Rational *to = (Rational *)(void *)out, r, none;
    ArithStatus s;
    if (j->op == EW_SQRT)
        return rational_root(j->a, to, z);
    if (j->op == EW_POWER)
        return rational_powered(j->a, to, z, (const Rational *)(const void *)j->x[1]);
    if (j->op != EW_SIGN)
        return ARITH_INEXACT;
    ArithPair at = arith_pair(j->a, z, 1);
    s = arith_complex(j->a, EW_ABS, &r, &none, at, at, 1);
    for (int k = 0; k < 2 && s == ARITH_OK; k++) {
        to[k] = z[k];
        if (rational_sign(r) != 0)
            s = one(j->a, EW_DIVIDE, &to[k], &z[k], &r);
    }
    return s;
}

/* ---- infinities and nans ---- */
static double as_double(const Arith *a, const char *x)
{
    double d = number_f64(a->dtype, x);
    return isinf(d) && !number_is_inf(a->dtype, x) ? copysign(DBL_MAX, d) : d;
}

/* What Annex G has is 0, 1, an infinity, a nan or a multiple of pi / 4. */
static ArithStatus special_part(Arith *a, char *out, double x)
{
    const double quarters = nearbyint(x / 0.78539816339744831);
    Rational pi, factor;
    ArithFlags flags = a->flags;
    ArithStatus s = ARITH_OK;
    if (!isfinite(x) || x == nearbyint(x) || fabs(x - quarters * 0.78539816339744831) > 1e-12) {
        s = a->ops->load(a, out, 1, DT_F64, &x, 1, 1);
    } else {
        double by = quarters / 4;
        s = number_constant(a, NUMBER_PI, &pi);
        if (s == ARITH_OK)
            s = a->ops->load(a, &factor, 1, DT_F64, &by, 1, 1);
        if (s == ARITH_OK)
            s = one(a, EW_MULTIPLY, out, &pi, &factor);
    }
    a->flags = flags;
    return s;
}

static ArithStatus special(const PairJob *j, char *out)
{
    double x[4], z[2];
    const int64_t steps[] = { 1, 1 };
    Arith *a = j->a;
    for (int k = 0; k < 2 * j->operands; k++)
        x[k] = as_double(a, part(j, k));
    ew_kernel(j->op, DT_C128)(z, 1, (const void *const[]){ x, x + 2 }, steps, 1);
    ArithStatus s = special_part(a, out, z[0]);
    return s == ARITH_OK ? special_part(a, out + a->size, z[1]) : s;
}

static bool is_special(const PairJob *j)
{
    DType dt = j->a->dtype;
    for (int k = 0; k < 2 * j->operands; k++)
        if (number_is_nan(dt, part(j, k)) || number_is_inf(dt, part(j, k)))
            return true;
    bool zero = number_is_zero(dt, part(j, 0)) && number_is_zero(dt, part(j, 1));
    return zero && j->op == EW_POWER;
}

/* ---- functions ---- */
static void set_side(const Mpfr *f, Enclosure *e, double lo, double hi)
{
    f->mpfr_set_d(e->lo, lo == 0 ? 0 : lo, MPFR_RNDD);
    f->mpfr_set_d(e->hi, hi == 0 ? 0 : hi, MPFR_RNDU);
}

/* A part of an operand, with all its bits. */
static ArithStatus side(const PairJob *j, PairWork *w, const char *cell, Enclosure *e)
{
    Arith *a = j->a;
    MpView v;
    Interval bounds;
    Rational c;
    int t;
    if (dtype_base(a->dtype) == DT_INTERVAL) {
        memcpy(&bounds, cell, sizeof bounds);
        set_side(w->f, e, bounds.lo, bounds.hi);
        return ARITH_OK;
    }
    memcpy(&c, cell, sizeof c);
    if (dtype_base(a->dtype) == DT_MP) {
        mpfr_srcptr x = mp_view(&v, c);
        w->f->mpfr_set(e->lo, x, MPFR_RNDD);
        w->f->mpfr_set(e->hi, x, MPFR_RNDU);
        return ARITH_OK;
    }
    ArithStatus s = mp_set_decimal(a->ctx, e->lo, c, MPFR_RNDD, &t);
    return s == ARITH_OK ? mp_set_decimal(a->ctx, e->hi, c, MPFR_RNDU, &t) : s;
}

static ArithStatus enclosed(const PairJob *j, PairWork *w, Rectangle *out)
{
    Enclosure *e[4];
    ArithStatus s = ARITH_OK;
    for (int k = 0; k < 2 * j->operands && s == ARITH_OK; k++)
        s = side(j, w, part(j, k), e[k] = pair_new(w));
    if (s != ARITH_OK)
        return s;
    Rectangle y = { e[2 * j->operands - 2], e[2 * j->operands - 1] };
    *out = enclose_pair(w, j->op, (Rectangle){ e[0], e[1] }, &y);
    return w->status;
}

/* One end into the format. */
static ArithStatus round_end(Arith *a, char *out, mpfr_srcptr end)
{
    Rational cell;
    ArithStatus s = mp_keep(a->ctx, &cell, end);
    if (s == ARITH_OK)
        s = a->ops->load(a, out, 1, dtype_mp((int)end->_mpfr_prec), &cell, 1, 1);
    return s;
}

/* Both ends rounded with one draw: do they agree? */
static ArithStatus round_part(Arith *a, char *out, const Enclosure *e, bool *same)
{
    Rational low = { 0 };
    Arith before = *a;
    bool apart = mpfr_open(NULL)->mpfr_cmp3(e->lo, e->hi, 1) != 0;
    if (dtype_base(a->dtype) == DT_DECIMAL && mpfr_is_inf(e->lo) != mpfr_is_inf(e->hi))
        return ARITH_DIGITS;                      /* beyond what MPFR's exponents reach */
    ArithStatus s = apart ? round_end(a, (char *)&low, e->lo) : ARITH_OK;
    a->flags = before.flags;
    a->draw = before.draw;
    if (s == ARITH_OK)
        s = round_end(a, out, e->hi);
    if (s != ARITH_OK || !apart)
        return s;
    int order = 2;
    s = a->ops->compare(a, &low, out, &order);
    bool zero = number_is_zero(a->dtype, out);
    *same &= order == 2 || (order == 0 && !zero);
    a->flags.inexact += a->flags.inexact == before.flags.inexact;
    return s;
}

/* Bits that the format has, and the most that a function is computed with. */
static int64_t bits_of(const Arith *a)
{
    return dtype_base(a->dtype) == DT_DECIMAL ? a->digits * 3322 / 1000 + 2 : a->digits;
}

/* Still undecided at the last: a zero, where it lies inside and all is near it. */
static ArithStatus decide(const PairJob *j, char *out, const Enclosure *e, mpfr_prec_t bits)
{
    bool inside = mpfr_sign(e->lo) <= 0 && mpfr_sign(e->hi) >= 0;
    bool apart = mpfr_open(NULL)->mpfr_cmp3(e->lo, e->hi, 1) != 0;
    if (!inside || !apart)
        return ARITH_OK;
    for (int k = 0; k < 2; k++) {
        mpfr_srcptr end = k ? e->hi : e->lo;
        if (mpfr_is_inf(end) || (mpfr_is_regular(end) && end->_mpfr_exp > -bits / 2))
            return ARITH_DIGITS;
    }
    memset(out, 0, (size_t)j->a->size);
    return ARITH_OK;
}

static ArithStatus by_rectangles(const PairJob *j, char *out)
{
    Arith *a = j->a;
    const int64_t own = bits_of(a), most = 3 * own + 4096;
    const Arith before = *a;
    ArithStatus s = ARITH_OK;
    for (int64_t bits = own + 48; s == ARITH_OK; bits *= 2) {
        PairWork w;
        Rectangle z;
        bool same = true;
        pair_begin(&w, mpfr_open(NULL), bits);
        s = enclosed(j, &w, &z);
        a->flags = before.flags;
        a->draw = before.draw;
        if (s == ARITH_OK)
            s = round_part(a, out, z.re, &same);
        if (s == ARITH_OK)
            s = round_part(a, out + a->size, z.im, &same);
        bool last = bits > most;
        if (s == ARITH_OK && !same && last)
            s = decide(j, out, z.re, bits);
        if (s == ARITH_OK && !same && last)
            s = decide(j, out + a->size, z.im, bits);
        pair_end(&w);
        if (s == ARITH_OK)
            s = cells_poll(a);
        if (same || last)
            break;
    }
    return s;
}

/* Outwards; where nothing is known of a side, all numbers. */
static void bounds_of(const Mpfr *f, char *out, const Enclosure *e)
{
    Interval r = { f->mpfr_get_d(e->lo, MPFR_RNDD), f->mpfr_get_d(e->hi, MPFR_RNDU) };
    if (isnan(r.lo) || isnan(r.hi))
        r = (Interval){ -(double)INFINITY, (double)INFINITY };
    if (isinf(r.lo) && r.lo == r.hi)              /* an end, and no point */
        r.lo > 0 ? (r.lo = DBL_MAX) : (r.hi = -DBL_MAX);
    memcpy(out, &r, sizeof r);
}

static ArithStatus by_outward(const PairJob *j, char *out)
{
    enum { BITS = 96 };
    const Interval none = { (double)NAN, (double)NAN };
    Arith *a = j->a;
    PairWork w;
    Rectangle z;
    for (int k = 0; k < 2 * j->operands; k++)
        if (number_is_nan(DT_INTERVAL, part(j, k))) {
            memcpy(out, &none, sizeof none);
            memcpy(out + a->size, &none, sizeof none);
            return ARITH_OK;
        }
    pair_begin(&w, mpfr_open(NULL), BITS);
    ArithStatus s = enclosed(j, &w, &z);
    if (s == ARITH_OK) {
        bounds_of(w.f, out, z.re);
        bounds_of(w.f, out + a->size, z.im);
        a->flags.invalid += w.partly;
        a->flags.inexact += 2;
    }
    pair_end(&w);
    return s;
}

static ArithStatus function(const PairJob *j, char *out)
{
    const Gmp *g;
    if (dtype_base(j->a->dtype) == DT_RATIONAL)
        return exactly(j, out);
    RationalStatus status = rational_gmp(j->a->ctx, &g);
    if (status != RATIONAL_OK || !mpfr_open(NULL))
        return status != RATIONAL_OK ? cells_status(status) : ARITH_LIBRARY;
    if (dtype_base(j->a->dtype) == DT_INTERVAL)
        return by_outward(j, out);
    return is_special(j) ? special(j, out) : by_rectangles(j, out);
}

/* ---- the row ---- */
ArithStatus number_complex(Arith *a, EwOp op, void *out, int64_t so, const void *const x[],
                           const int64_t sx[], int64_t n)
{
    PairJob j = { .a = a, .op = op, .operands = ew_info[op].arity };
    bool truth = ew_info[op].result == RES_BOOL;
    int64_t each = truth ? 1 : ew_info[op].result == RES_REAL ? a->size : 2 * a->size;
    ArithStatus s = ARITH_OK;
    if (j.operands > 2 || ew_compute_dtype(op, DT_C128) == DT_NONE)
        return ARITH_NONE;
    for (int64_t i = 0; i < n && s == ARITH_OK; i++) {
        char *to = (char *)out + i * so * each;
        for (int k = 0; k < j.operands; k++)
            j.x[k] = (const char *)x[k] + i * sx[k] * 2 * a->size;
        if (truth)
            s = compares(&j, to);
        else if (!moves(&j, to, &s))
            s = function(&j, to);
        if (s == ARITH_OK && (i & 15) == 15)
            s = cells_poll(a);
    }
    return s;
}
