/* Special functions in every format: the loops, and the one way from a ball to a number. A ball is
 * made ever smaller until both of its ends round alike (A. Ziv, ACM TOMS 17, 1991); a value that
 * lies on the border itself, as the exact ones do in directed modes, is taken from the middle in
 * the end. */
#include "kernels/special/special_ball.h"

#include "kernels/number/arith_number.h"
#include "kernels/tensor/cpu.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* A second or two of what Arb takes longest for, and of what it is quick at. */
enum { FEW_BITS = 9 << 10, ANY_BITS = 1 << 18 };

const SpecialInfo special_info[SPECIAL_COUNT] = {
#define SPECIAL(name, n, s, b, f, m) \
    [SPECIAL_##name] = { .operands = n, .shape = s, .bits = b, .ball = ball_##name },
#include "kernels/special/special.def"
#undef SPECIAL
};

int special_operands(SpecialId id) { return special_info[id].operands; }

const SpecialFast *special_fast(void)
{
    return cpu_isa() >= ISA_AVX2 ? special_fast_avx2 : special_fast_base;
}

int64_t special_grain(SpecialId id) { return special_fast()[id].one ? 4096 : 64; }

/* ---- room ---- */

typedef struct Work {
    const Mpfr *f;
    const SpecialInfo *info;
    SpecialId id;
    Ball k;
    mpfr_t lo, hi;
} Work;

enum { BITS_SPARE = 27 };

static bool work_begin(Work *w, SpecialId id)
{
    w->f = mpfr_open(NULL);
    w->k.b = arb_open(NULL);
    w->id = id;
    w->info = &special_info[id];
    if (!w->k.b)
        return false;
    w->k.b->arb_init(w->k.r);
    for (int i = 0; i < SPECIAL_OPERANDS; i++)
        w->k.b->arb_init(w->k.x + i);
    for (int i = 0; i < BALL_ROOM; i++)
        w->k.b->arb_init(w->k.t + i);
    w->f->mpfr_init2(w->lo, 128);
    w->f->mpfr_init2(w->hi, 128);
    return true;
}

static void work_end(Work *w)
{
    w->k.b->arb_clear(w->k.r);
    for (int i = 0; i < SPECIAL_OPERANDS; i++)
        w->k.b->arb_clear(w->k.x + i);
    for (int i = 0; i < BALL_ROOM; i++)
        w->k.b->arb_clear(w->k.t + i);
    w->f->mpfr_clear(w->lo);
    w->f->mpfr_clear(w->hi);
}

/* The function at k.x in so many bits: ends in lo and hi. False: it has no bound yet. */
static bool ends(Work *w, slong bits, BallOutcome *o)
{
    w->k.bits = bits;
    *o = w->info->ball(&w->k);
    if (*o != BALL_VALUE)
        return true;
    if (!w->k.b->arb_is_finite(w->k.r))
        return false;
    w->f->mpfr_set_prec(w->lo, bits);
    w->f->mpfr_set_prec(w->hi, bits);
    w->k.b->arb_get_interval_mpfr(w->lo, w->hi, w->k.r);
    return true;
}

/* Both ends in the middle, in half of its bits: what an exact value is. False: the ball is too wide
 * to say so, with fewer than `right` bits. */
static bool settle_middle(Work *w, slong right)
{
    if (w->k.b->arb_rel_accuracy_bits(w->k.r) < right)
        return false;
    w->k.b->arb_get_mid_arb(w->k.r, w->k.r);
    w->k.b->arb_get_interval_mpfr(w->lo, w->hi, w->k.r);
    w->f->mpfr_prec_round(w->lo, w->k.bits / 2, MPFR_RNDN);
    w->f->mpfr_prec_round(w->hi, w->k.bits / 2, MPFR_RNDN);
    return true;
}

static double outcome_f64(BallOutcome o)
{
    return o == BALL_INF ? (double)INFINITY : o == BALL_MINUS_INF ? -(double)INFINITY : (double)NAN;
}

/* ---- doubles ---- */

static double by_ball(Work *w, const double *x)
{
    enum { BITS_MAX = 5120 };
    BallOutcome o;
    bool bounded = false;
    for (int i = 0; i < w->info->operands; i++)
        w->k.b->arb_set_d(w->k.x + i, x[i]);
    for (slong bits = DBL_MANT_DIG + BITS_SPARE; bits <= BITS_MAX; bits *= 2) {
        bounded = ends(w, bits, &o);
        if (o != BALL_VALUE)
            return outcome_f64(o);
        if (!bounded)
            continue;
        double lo = w->f->mpfr_get_d(w->lo, MPFR_RNDN), hi = w->f->mpfr_get_d(w->hi, MPFR_RNDN);
        if (lo == hi)
            return lo;
    }
    if (!bounded || !settle_middle(w, DBL_MANT_DIG + BITS_SPARE))
        return NAN;
    return w->f->mpfr_get_d(w->lo, MPFR_RNDN);
}

/* Operands that are no finite numbers; false: they are. */
static bool beyond(const SpecialInfo *info, SpecialId id, const double *x, double *r)
{
    bool nan = false, inf = false;
    int same;
    for (int i = 0; i < info->operands; i++) {
        nan |= isnan(x[i]) != 0;
        inf |= isinf(x[i]) != 0;
    }
    if (nan)
        *r = NAN;
    else if (inf) {
        *r = special_limit(id, x, &same);
        *r = same >= 0 ? x[same] : *r;
    }
    return nan || inf;
}

/* Up to SPECIAL_LANES elements at once, where there are not too few; done: those that were had. */
static void lanes(SpecialFast fast, int operands, const double *const x[], const int64_t sx[],
                  int n, double *r, bool *done)
{
    enum { LEAST = 4 };
    double v[SPECIAL_OPERANDS][SPECIAL_LANES];
    memset(done, 0, SPECIAL_LANES * sizeof *done);
    if (!fast.many || n < LEAST)
        return;
    for (int k = 0; k < operands; k++)
        for (int i = 0; i < SPECIAL_LANES; i++)
            v[k][i] = x[k][(i < n ? i : 0) * sx[k]];
    fast.many((const double(*)[SPECIAL_LANES])v, r, done);
}

/* One element that the fast way left; w is begun for the first that a ball has. */
static ArithStatus element(Work *w, bool *open, SpecialId id, const double *x, double *r)
{
    if (beyond(&special_info[id], id, x, r))
        return ARITH_OK;
    if (!*open && !work_begin(w, id))
        return ARITH_LIBRARY;
    *open = true;
    *r = by_ball(w, x);
    return ARITH_OK;
}

ArithStatus special_f64(Ctx *ctx, SpecialId id, double *out, int64_t so, const double *const x[],
                        const int64_t sx[], int64_t n)
{
    int operands = special_info[id].operands;
    SpecialFast fast = special_fast()[id];
    bool open = false;
    Work w;
    ArithStatus s = ARITH_OK;
    for (int64_t first = 0; first < n && s == ARITH_OK; first += SPECIAL_LANES) {
        const double *at[SPECIAL_OPERANDS] = { NULL };
        double r[SPECIAL_LANES];
        bool done[SPECIAL_LANES];
        int some = n - first < SPECIAL_LANES ? (int)(n - first) : SPECIAL_LANES;
        for (int k = 0; k < operands; k++)
            at[k] = x[k] + first * sx[k];
        lanes(fast, operands, at, sx, some, r, done);
        for (int i = 0; i < some && s == ARITH_OK; i++) {
            double v[SPECIAL_OPERANDS], nothing = 0;            /* nan: an operand is not finite */
            if (!done[i]) {
                for (int k = 0; k < operands; k++) {
                    v[k] = at[k][i * sx[k]];
                    nothing += 0 * v[k];
                }
                if (isnan(nothing) || !fast.one || !fast.one(v, &r[i]))
                    s = element(&w, &open, id, v, &r[i]);
            }
            out[(first + i) * so] = r[i];
            if (s == ARITH_OK && *ctx->interrupt)
                s = ARITH_INTERRUPT;
        }
    }
    if (open)
        work_end(&w);
    return s;
}

/* ---- cells ---- */

/* A finite number as a ball, exact in mp, in decimal where it can be; else much smaller than what
 * is to be told apart there. */
static ArithStatus operand(Work *w, Arith *a, arb_ptr to, const NumberCell *x, slong bits)
{
    MpView v;
    int t;
    if (dtype_base(a->dtype) == DT_MP) {
        mpfr_srcptr m = mp_view(&v, x->number);
        w->k.b->arb_set_interval_mpfr(to, m, m, m->_mpfr_prec + 64);
        return ARITH_OK;
    }
    w->f->mpfr_set_prec(w->lo, 4 * bits);
    w->f->mpfr_set_prec(w->hi, 4 * bits);
    ArithStatus s = mp_set_decimal(a->ctx, w->lo, x->number, MPFR_RNDD, &t);
    if (s == ARITH_OK)
        s = mp_set_decimal(a->ctx, w->hi, x->number, MPFR_RNDU, &t);
    w->k.b->arb_set_interval_mpfr(to, w->lo, w->hi, 4 * bits + 128);
    return s;
}

/* An end of the ball as a number of the format. */
static ArithStatus rounded(Arith *a, mpfr_srcptr end, NumberCell *out)
{
    Rational cell;
    ArithStatus s = mp_keep(a->ctx, &cell, end);
    return s == ARITH_OK ? a->ops->load(a, out, 1, dtype_mp(64), &cell, 1, 1) : s;
}

static ArithStatus outcome(Arith *a, BallOutcome o, NumberCell *out)
{
    double r = outcome_f64(o);
    a->flags.invalid += o == BALL_NAN;
    a->flags.divzero += o == BALL_INF || o == BALL_MINUS_INF;
    return a->ops->load(a, out, 1, DT_F64, &r, 1, 1);
}

static ArithStatus cell_by_ball(Work *w, Arith *a, NumberCell *out, const NumberCell *const x[])
{
    BallOutcome o;
    ArithStatus s = ARITH_OK;
    slong format = dtype_base(a->dtype) == DT_MP ? a->digits : a->digits * 10 / 3 + 4;
    slong most = 8 * format + 4096;
    if (format > w->info->bits)
        return ARITH_SLOW;
    bool bounded = false, last = false;
    for (slong bits = format + BITS_SPARE; s == ARITH_OK && !last; bits *= 2) {
        NumberCell high;
        int order = 2;
        for (int i = 0; s == ARITH_OK && i < w->info->operands; i++)
            s = operand(w, a, w->k.x + i, x[i], bits);
        if (s != ARITH_OK)
            return s;
        bounded = ends(w, bits, &o);
        last = bits > most;
        if (o != BALL_VALUE)
            return outcome(a, o, out);
        if (!bounded)
            continue;
        if (last && !settle_middle(w, format + BITS_SPARE))
            return ARITH_SLOW;
        Arith upper = *a, lower = *a;
        s = rounded(&upper, w->hi, &high);
        if (s == ARITH_OK)
            s = rounded(&lower, w->lo, out);
        if (s == ARITH_OK)
            s = a->ops->compare(a, out, &high, &order);
        if (s == ARITH_OK && (order == 0 || last)) {
            *a = upper;
            return s;
        }
        if (s == ARITH_OK)
            s = cells_poll(a);
    }
    return s == ARITH_OK ? outcome(a, BALL_NAN, out) : s;
}

static double near(const Arith *a, const NumberCell *x)
{
    double d = number_f64(a->dtype, x);
    return number_is_inf(a->dtype, x) || number_is_nan(a->dtype, x)
               ? d
               : fmax(-DBL_MAX, fmin(DBL_MAX, d));
}

static ArithStatus one_cell(Work *w, Arith *a, NumberCell *out, const NumberCell *const x[])
{
    double v[SPECIAL_OPERANDS], r = NAN;
    bool inf = false, nan = false;
    int same = -1;
    for (int i = 0; i < w->info->operands; i++) {
        v[i] = near(a, x[i]);
        inf |= isinf(v[i]) != 0;
        nan |= isnan(v[i]) != 0;
    }
    if (!inf && !nan)
        return cell_by_ball(w, a, out, x);
    if (!nan)
        r = special_limit(w->id, v, &same);
    if (same >= 0)
        return *out = *x[same], ARITH_OK;
    a->flags.invalid += !nan && isnan(r);
    return a->ops->load(a, out, 1, DT_F64, &r, 1, 1);
}

/* ---- intervals ---- */

enum { INTERVAL_BITS = 128 };

/* The function at a point, an end of an interval, rounded outward; nan: it has no value. */
static double end_value(Work *w, double x, mpfr_rnd_t rnd)
{
    BallOutcome o;
    int same;
    if (isinf(x))
        return special_limit(w->id, &x, &same);
    w->k.b->arb_set_d(w->k.x, x);
    bool bounded = ends(w, INTERVAL_BITS, &o);
    if (o != BALL_VALUE)
        return outcome_f64(o);
    if (!bounded)
        return rnd == MPFR_RNDU ? INFINITY : -INFINITY;
    return w->f->mpfr_get_d(rnd == MPFR_RNDU ? w->hi : w->lo, rnd);
}

static void by_ends(Work *w, Interval x, Interval *out)
{
    bool falls = w->info->shape == '-';
    double lo = end_value(w, falls ? x.hi : x.lo, MPFR_RNDD);
    double hi = end_value(w, falls ? x.lo : x.hi, MPFR_RNDU);
    bool none = isnan(lo) && isnan(hi);
    *out = (Interval){ isnan(lo) && !none ? -INFINITY : lo, isnan(hi) && !none ? INFINITY : hi };
}

static void one_interval(Work *w, NumberCell *out, const NumberCell *const x[])
{
    const Arb *b = w->k.b;
    char shape = w->info->shape;
    bool finite = true;
    Interval r = { NAN, NAN }, v[SPECIAL_OPERANDS] = { { 0, 0 } };
    BallOutcome o;
    for (int i = 0; i < w->info->operands; i++) {
        v[i] = (Interval){ x[i]->bounds[0], x[i]->bounds[1] };
        finite &= isfinite(v[i].lo) && isfinite(v[i].hi);
        if (isnan(v[i].lo) || isnan(v[i].hi)) {
            out->bounds[0] = out->bounds[1] = NAN;
            return;
        }
    }
    if (shape == '+' || shape == '-' || (shape == 'p' && v[0].lo > 0)) {
        by_ends(w, v[0], &r);
    } else {
        r = (Interval){ -INFINITY, INFINITY };
        for (int i = 0; finite && i < w->info->operands; i++) {
            w->f->mpfr_set_prec(w->lo, DBL_MANT_DIG);
            w->f->mpfr_set_prec(w->hi, DBL_MANT_DIG);
            w->f->mpfr_set_d(w->lo, v[i].lo, MPFR_RNDD);
            w->f->mpfr_set_d(w->hi, v[i].hi, MPFR_RNDU);
            b->arb_set_interval_mpfr(w->k.x + i, w->lo, w->hi, INTERVAL_BITS);
        }
        if (finite && ends(w, INTERVAL_BITS, &o) && o == BALL_VALUE)
            r = (Interval){ w->f->mpfr_get_d(w->lo, MPFR_RNDD),
                            w->f->mpfr_get_d(w->hi, MPFR_RNDU) };
        else if (finite && o == BALL_NAN)
            r = (Interval){ NAN, NAN };
    }
    out->bounds[0] = r.lo;
    out->bounds[1] = r.hi;
}

ArithStatus special_cells(Arith *a, SpecialId id, NumberCell *out, int64_t so,
                          const NumberCell *const x[], const int64_t sx[], int64_t n)
{
    Work w;
    ArithStatus s = ARITH_OK;
    DType base = dtype_base(a->dtype);
    bool exact = base == DT_RATIONAL, interval = base == DT_INTERVAL;
    if (!exact && !work_begin(&w, id))
        return ARITH_LIBRARY;
    for (int64_t i = 0; i < n && s == ARITH_OK; i++) {
        const NumberCell *v[SPECIAL_OPERANDS] = { NULL };
        for (int k = 0; k < special_info[id].operands; k++)
            v[k] = x[k] + i * sx[k];
        if (exact)
            s = special_exact(a->ctx, id, &out[i * so].number, v);
        else if (interval)
            one_interval(&w, &out[i * so], v);
        else
            s = one_cell(&w, a, &out[i * so], v);
        if (s == ARITH_OK)
            s = cells_poll(a);
    }
    if (!exact)
        work_end(&w);
    return s;
}
