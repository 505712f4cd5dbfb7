/* Interval arithmetic as a table of arith.h: [lo, hi] of doubles that contains the exact result
 * for every choice of points in the operands, each end the tightest double. + - * / sqrt round
 * to nearest and step outward by the sign of the residual (Ogita, Rump, Oishi 2005: TwoSum and
 * fma); functions are enclosed by MPFR. Where a function is defined on a part of the operand
 * only, that part counts (and the flag `invalid`, as where a remainder or an angle jumps inside);
 * [nan, nan] where it is defined nowhere. */
#include "kernels/number/arith_number.h"

#include "kernels/arith/arith_binary.h"
#include "kernels/arith/cast_mini.h"

#include <math.h>
#include <string.h>

static const double infinity = (double)INFINITY;

/* ---- one rounding, down (-1) or up (1) ---- */

/* r nudged where the exact value lies beyond it: `rest` has the sign of exact - r. */
static double outward(double r, double rest, int way)
{
    if (rest == 0 || (rest > 0) != (way > 0))
        return r;
    return nextafter(r, way * infinity);
}

static double add_to(double a, double b, int way)
{
    double s = a + b;
    if (isinf(s) && isfinite(a) && isfinite(b))
        return (s > 0) == (way > 0) ? s : nextafter(s, 0);
    if (!isfinite(s))
        return isnan(s) && !isnan(a) && !isnan(b) ? way * infinity : s;
    double t = s - a, rest = (a - (s - t)) + (b - t);
    if (!isfinite(t) || !isfinite(rest)) {        /* halves are exact at such a size */
        double h = a / 2 + b / 2, u = h - a / 2;
        rest = (a / 2 - (h - u)) + (b / 2 - u);
    }
    return s == 0 ? 0 : outward(s, rest, way);
}

/* 0 times infinity is 0: the infinity is the end of finite numbers. */
static double multiply_to(double a, double b, int way)
{
    if (a == 0 || b == 0)
        return 0;
    double p = a * b;
    if (isinf(p) && isfinite(a) && isfinite(b))
        return (p > 0) == (way > 0) ? p : nextafter(p, 0);
    if (!isfinite(p))
        return p;
    double rest = fma(a, b, -p);
    if (fabs(p) < 0x1p-960) {                     /* the residual may underflow: scale it */
        double u = fabs(a) < fabs(b) ? a * 0x1p550 : a, v = fabs(a) < fabs(b) ? b : b * 0x1p550;
        rest = p == 0 ? copysign(1, a) * copysign(1, b) : fma(u, v, -(p * 0x1p550));
    }
    return outward(p, rest, way);
}

static double divide_to(double a, double b, int way)
{
    double q = a / b;
    if (a == 0 || (isinf(b) && isfinite(a)))
        return a == 0 ? 0 : ((a > 0) == (b > 0)) == (way > 0) ? 0 : q;
    if (isinf(q) && isfinite(a))
        return (q > 0) == (way > 0) ? q : nextafter(q, 0);
    if (!isfinite(q))
        return isnan(q) && !isnan(a) && !isnan(b) ? (way > 0 ? infinity : 0) : q;
    double u = a, v = b;
    if (fabs(a) < 0x1p-900 && q != 0) {
        u *= 0x1p600;
        v *= 0x1p600;
    } else if (fabs(b) > 0x1p900) {               /* q b may overflow by its rounding */
        u *= 0.25;
        v *= 0.25;
    }
    double rest = q == 0 ? copysign(1, a) * copysign(1, b) : fma(-q, v, u) * copysign(1, b);
    return outward(q, rest, way);
}

static double root_to(double a, int way)
{
    double s = sqrt(a);
    if (a == 0 || !isfinite(a))
        return s;
    bool tiny = a < 0x1p-900;
    double t = tiny ? s * 0x1p300 : s;
    return outward(s, fma(-t, t, tiny ? a * 0x1p600 : a), way);
}

/* ---- the operations ---- */

static Interval nothing(void) { return (Interval){ (double)NAN, (double)NAN }; }
static bool is_nan(Interval x) { return isnan(x.lo) || isnan(x.hi); }
static Interval everything(void) { return (Interval){ -infinity, infinity }; }

static Interval add(Interval x, Interval y)
{
    return (Interval){ add_to(x.lo, y.lo, -1), add_to(x.hi, y.hi, 1) };
}

static Interval multiply(Interval x, Interval y)
{
    Interval r = { infinity, -infinity };
    if (x.lo >= 0 && y.lo >= 0)
        return (Interval){ multiply_to(x.lo, y.lo, -1), multiply_to(x.hi, y.hi, 1) };
    for (int k = 0; k < 4; k++) {
        double u = k & 1 ? x.hi : x.lo, v = k & 2 ? y.hi : y.lo;
        r.lo = fmin(r.lo, multiply_to(u, v, -1));
        r.hi = fmax(r.hi, multiply_to(u, v, 1));
    }
    return r;
}

static Interval divide(Interval x, Interval y)
{
    Interval r = { infinity, -infinity };
    if (y.lo <= 0 && y.hi >= 0) {
        bool positive = x.lo > 0, negative = x.hi < 0;
        if (y.lo < 0 ? y.hi > 0 : y.hi == 0)
            return everything();
        if (!positive && !negative)
            return everything();
        if (y.lo == 0)                            /* (0, hi] */
            return positive ? (Interval){ divide_to(x.lo, y.hi, -1), infinity }
                            : (Interval){ -infinity, divide_to(x.hi, y.hi, 1) };
        return positive ? (Interval){ -infinity, divide_to(x.lo, y.lo, 1) }
                        : (Interval){ divide_to(x.hi, y.lo, -1), infinity };
    }
    for (int k = 0; k < 4; k++) {
        double u = k & 1 ? x.hi : x.lo, v = k & 2 ? y.hi : y.lo;
        r.lo = fmin(r.lo, divide_to(u, v, -1));
        r.hi = fmax(r.hi, divide_to(u, v, 1));
    }
    return r;
}

static Interval root(Arith *a, Interval x)
{
    a->flags.invalid += x.lo < 0;
    if (x.hi < 0)
        return nothing();
    return (Interval){ x.lo <= 0 ? 0 : root_to(x.lo, -1), root_to(x.hi, 1) };
}

static Interval absolute(Interval x)
{
    if (x.lo >= 0)
        return x;
    if (x.hi <= 0)
        return (Interval){ -x.hi, -x.lo };
    return (Interval){ 0, fmax(-x.lo, x.hi) };
}

static Interval larger(Interval x, Interval y)
{
    return (Interval){ fmax(x.lo, y.lo), fmax(x.hi, y.hi) };
}

static Interval smaller(Interval x, Interval y)
{
    return (Interval){ fmin(x.lo, y.lo), fmin(x.hi, y.hi) };
}

static double sign_of(double x) { return (x > 0) - (x < 0); }

/* ---- functions, by MPFR ---- */

/* An end that is 0 is the number 0, which has no sign: atan2(-0, -1) would be -pi. */
static void number_in(mpfr_ptr m, mp_limb_t *limb, const Mpfr *f, double x)
{
    *m = (__mpfr_struct){ 64, 1, __MPFR_EXP_ZERO, limb };
    f->mpfr_set_d(m, x == 0 ? 0 : x, MPFR_RNDN);
}

static ArithStatus by_mpfr(Arith *a, EwOp op, Interval *out, const Interval *x)
{
    const Mpfr *f = mpfr_open(NULL);
    mp_limb_t limbs[8];
    Enclosure e[4];
    bool partly = false;
    if (!f)
        return ARITH_LIBRARY;
    for (int k = 0; k < ew_info[op].arity; k++) {
        number_in(e[k].lo, &limbs[2 * k], f, x[k].lo);
        number_in(e[k].hi, &limbs[2 * k + 1], f, x[k].hi);
    }
    number_in(e[3].lo, &limbs[6], f, 0);
    number_in(e[3].hi, &limbs[7], f, 0);
    ArithStatus s = enclose(f, op, &e[3], (const Enclosure *const[3]){ &e[0], &e[1], &e[2] },
                            &partly);
    if (s != ARITH_OK)
        return s;
    *out = (Interval){ f->mpfr_get_d(e[3].lo, MPFR_RNDD), f->mpfr_get_d(e[3].hi, MPFR_RNDU) };
    a->flags.invalid += partly;
    return ARITH_OK;
}

static ArithStatus compute(Arith *a, EwOp op, Interval *r, const Interval *x)
{
    switch (op) {
    case EW_ADD: *r = add(x[0], x[1]); break;
    case EW_SUBTRACT: *r = add(x[0], (Interval){ -x[1].hi, -x[1].lo }); break;
    case EW_MULTIPLY: *r = multiply(x[0], x[1]); break;
    case EW_DIVIDE:
        a->flags.divzero += x[1].lo <= 0 && x[1].hi >= 0;
        *r = divide(x[0], x[1]);
        break;
    case EW_SQRT: *r = root(a, x[0]); break;
    case EW_NEGATIVE: *r = (Interval){ -x[0].hi, -x[0].lo }; break;
    case EW_POSITIVE: case EW_REAL: case EW_CONJ: *r = x[0]; break;
    case EW_IMAG: *r = (Interval){ 0, 0 }; break;
    case EW_ABS: *r = absolute(x[0]); break;
    case EW_MAXIMUM: *r = larger(x[0], x[1]); break;
    case EW_MINIMUM: *r = smaller(x[0], x[1]); break;
    case EW_CLAMP: *r = smaller(larger(x[0], x[1]), x[2]); break;
    case EW_RELU: *r = (Interval){ fmax(x[0].lo, 0), fmax(x[0].hi, 0) }; break;
    case EW_SIGN: *r = (Interval){ sign_of(x[0].lo), sign_of(x[0].hi) }; break;
    case EW_FLOOR: *r = (Interval){ floor(x[0].lo), floor(x[0].hi) }; break;
    case EW_CEIL: *r = (Interval){ ceil(x[0].lo), ceil(x[0].hi) }; break;
    case EW_TRUNC: *r = (Interval){ trunc(x[0].lo), trunc(x[0].hi) }; break;
    case EW_ROUND: *r = (Interval){ rint(x[0].lo), rint(x[0].hi) }; break;
    case EW_NEXTAFTER: return ARITH_NONE;
    default: return ew_info[op].as ? ARITH_NONE : by_mpfr(a, op, r, x);
    }
    return ARITH_OK;
}

/* ---- comparisons ---- */

/* -1, 0, 1, 2 with nan; uncertain: the order of the middles. */
static ArithStatus order_of(Interval x, Interval y, int *order)
{
    *order = 2;
    if (is_nan(x) || is_nan(y))
        return ARITH_OK;
    *order = x.hi < y.lo ? -1 : x.lo > y.hi ? 1 : 0;
    if (*order || (x.lo == x.hi && y.lo == y.hi))
        return ARITH_OK;
    double u = x.lo / 2 + x.hi / 2, v = y.lo / 2 + y.hi / 2;
    *order = u < v ? -1 : u > v;
    return ARITH_UNCERTAIN;
}

/* x <= y is certain where the intervals touch in a point; < and == are not. */
static ArithStatus answer(EwOp op, uint8_t *out, Interval x, Interval y)
{
    int order;
    ArithStatus s = order_of(x, y, &order);
    if (s == ARITH_UNCERTAIN && (op == EW_LESS_EQUAL || op == EW_GREATER)) {
        *out = (op == EW_LESS_EQUAL) == (x.hi <= y.lo);
        return x.hi <= y.lo ? ARITH_OK : ARITH_UNCERTAIN;
    }
    if (s == ARITH_UNCERTAIN && (op == EW_GREATER_EQUAL || op == EW_LESS)) {
        *out = (op == EW_GREATER_EQUAL) == (x.lo >= y.hi);
        return x.lo >= y.hi ? ARITH_OK : ARITH_UNCERTAIN;
    }
    *out = cells_answer(op, order);
    return s;
}

static ArithStatus apply(void *work, EwOp op, void *out, const Rational *const cells[3])
{
    Arith *a = work;
    Interval x[3], r = nothing();
    bool nan = false;
    for (int k = 0; k < ew_info[op].arity; k++) {
        memcpy(&x[k], cells[k], sizeof x[k]);
        nan |= is_nan(x[k]);
    }
    switch (op) {
    case EW_ISNAN: return *(uint8_t *)out = nan, ARITH_OK;
    case EW_ISINF: return *(uint8_t *)out = isinf(x[0].lo) || isinf(x[0].hi), ARITH_OK;
    case EW_ISFINITE: return *(uint8_t *)out = isfinite(x[0].lo) && isfinite(x[0].hi), ARITH_OK;
    case EW_WHERE:
        memcpy(out, x[0].lo != 0 || x[0].hi != 0 ? cells[1] : cells[2], sizeof r);
        return ARITH_OK;
    default: break;
    }
    if (cells_compares(op))
        return answer(op, out, x[0], x[1]);
    ArithStatus s = nan ? ARITH_OK : compute(a, op, &r, x);
    if (s != ARITH_OK)
        return s;
    a->draw++;
    a->flags.inexact += r.lo < r.hi;
    memcpy(out, &r, sizeof r);
    return ARITH_OK;
}

static ArithStatus ew(Arith *a, EwOp op, void *out, int64_t so, const void *const x[],
                      const int64_t sx[], int64_t n)
{
    return cells_ew(a, apply, a, op, out, so, x, sx, n);
}

/* ---- from other numbers ---- */

static double int_to(int64_t i, RoundMode round)
{
    Arith f64 = { .p = 53, .emin = -1022, .emax = 1023, .max = 0x1.fffffffffffffp1023, .over = 'i',
                  .round = round };
    return binary_exact_i64(&f64, i);
}

static ArithStatus take(void *work, Rational *out, DType from, const void *element)
{
    Arith *a = work;
    char kind = dtype_info(from)->kind;
    Interval r;
    if (dtype_base(from) == DT_INTERVAL) {
        memcpy(&r, element, sizeof r);
    } else if (dtype_cells(from)) {
        r = (Interval){ number_directed(from, element, ROUND_DOWN),
                       number_directed(from, element, ROUND_UP) };
    } else if (kind == 'i' || kind == 'b') {
        int64_t i = cast_element_i64(from, element);
        r = (Interval){ int_to(i, ROUND_DOWN), int_to(i, ROUND_UP) };
    } else {
        r.lo = r.hi = cast_element_f64(from, element);
    }
    if (isinf(r.lo) && r.lo == r.hi)              /* an end, and no point */
        r.lo > 0 ? (r.lo = 0x1.fffffffffffffp1023) : (r.hi = -0x1.fffffffffffffp1023);
    a->flags.inexact += r.lo < r.hi;
    memcpy(out, &r, sizeof r);
    return ARITH_OK;
}

static ArithStatus load(Arith *a, void *to, int64_t st, DType from, const void *x, int64_t sx,
                        int64_t n)
{
    return cells_load(a, take, a, to, st, from, x, sx, n);
}

/* ---- sums ---- */

static ArithStatus axpy(Arith *a, EwOp op, void *y, int64_t sy, const void *by, const void *x,
                        int64_t sx, int64_t n)
{
    return cells_axpy(a, apply, a, op, y, sy, by, x, sx, n);
}

static ArithStatus dot(Arith *a, void *out, const void *x, int64_t sx, const void *y, int64_t sy,
                       int64_t n)
{
    Rational sum = { 0 }, product;
    ArithStatus s = ARITH_OK;
    for (int64_t i = 0; i < n && s == ARITH_OK; i++) {
        const Rational *factors[3] = { (const Rational *)x + i * sx, (const Rational *)y + i * sy };
        const Rational *terms[3] = { &sum, &product };
        s = apply(a, EW_MULTIPLY, i ? &product : &sum, factors);
        if (s == ARITH_OK && i)
            s = apply(a, EW_ADD, &sum, terms);
        if (s == ARITH_OK && (i & 1023) == 1023)
            s = cells_poll(a);
    }
    *(Rational *)out = sum;
    return s;
}

static ArithStatus sum(Arith *a, void *out, const void *x, int64_t sx, int64_t n)
{
    Rational total = n ? *(const Rational *)x : (Rational){ 0 };
    ArithStatus s = ARITH_OK;
    for (int64_t i = 1; i < n && s == ARITH_OK; i++) {
        const Rational *terms[3] = { &total, (const Rational *)x + i * sx };
        s = apply(a, EW_ADD, &total, terms);
        if (s == ARITH_OK && (i & 1023) == 1023)
            s = cells_poll(a);
    }
    *(Rational *)out = total;
    return s;
}

static ArithStatus compare(Arith *a, const void *x, const void *y, int *order)
{
    Interval u, v;
    (void)a;
    memcpy(&u, x, sizeof u);
    memcpy(&v, y, sizeof v);
    return order_of(u, v, order);
}

const ArithOps arith_interval_ops = { ew, load, cells_copy, axpy, dot, sum, compare };
