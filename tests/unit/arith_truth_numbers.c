/* Decimal, mp and interval arithmetic against exact fractions: d digits in base 10 or bits in
 * base 2 with exponents unbounded, cut and rounded as truth.h does it; of intervals both ends,
 * which must be the tightest doubles around the exact results of all ends.
 * RICCI_SOAK=n runs n times as many cases. */
#include <stdio.h>         /* before gmp.h, which prints if it knows FILE */

#include "kernels/number/number.h"
#include "tests/unit/truth.h"
#include "tests/unit/check.h"

#include <stdlib.h>

static Ctx ctx_storage, *ctx = &ctx_storage;
static InterruptFlag no_interrupt;
static int64_t soak = 1, cases;

static uint64_t below(uint64_t n) { return check_random() % n; }

/* ---- numbers ---- */
/* (-1)^minus q, or a nan or an infinity. */
typedef struct Number {
    NumberKind kind;
    bool minus;
    mpq_t q;
} Number;

static mpz_t power, scaled;

/* q = q base^e */
static void shift(mpq_ptr q, int base, long e)
{
    mpz_ui_pow_ui(power, (unsigned long)base, (unsigned long)labs(e));
    if (e >= 0)
        mpz_mul(mpq_numref(q), mpq_numref(q), power);
    else
        mpz_mul(mpq_denref(q), mpq_denref(q), power);
    mpq_canonicalize(q);
}

static void read_cell(Number *x, DType dt, Rational cell)
{
    x->kind = cell_kind(cell);
    x->minus = cell_negative(cell);
    if (x->kind != NUMBER_FINITE)
        return;
    if (dtype_base(dt) == DT_DECIMAL) {
        DecimalView v;
        mpz_abs(mpq_numref(x->q), decimal_view(&v, cell));
        mpz_set_ui(mpq_denref(x->q), 1);
        shift(x->q, 10, (long)cell_exponent(cell));
        return;
    }
    MpView v;
    mpfr_srcptr m = mp_view(&v, cell);
    if (cell_zero(cell)) {
        mpq_set_ui(x->q, 0, 1);
        return;
    }
    size_t limbs = ((size_t)m->_mpfr_prec + 63) / 64;
    mpz_import(mpq_numref(x->q), limbs, -1, 8, 0, 0, m->_mpfr_d);
    mpz_set_ui(mpq_denref(x->q), 1);
    shift(x->q, 2, (long)m->_mpfr_exp - 64 * (long)limbs);
}

typedef struct Kind {
    DType dtype;
    int base, digits;
} Kind;

/* The largest e with base^e <= q, or <= its root. */
static long exponent_of(mpq_srcptr q, const Kind *k, bool root)
{
    double bits = (double)mpz_sizeinbase(mpq_numref(q), 2);
    bits -= (double)mpz_sizeinbase(mpq_denref(q), 2);
    long e = lrint(bits * (k->base == 2 ? 1 : log10(2)) / (root ? 2 : 1)) + 3;
    mpq_t y;
    mpq_init(y);
    for (;; e--) {
        mpq_set(y, q);
        shift(y, k->base, root ? -2 * e : -e);
        if (mpz_cmp(mpq_numref(y), mpq_denref(y)) >= 0)
            break;
    }
    mpq_clear(y);
    return e;
}

/* q > 0 (or its root) cut to the digits of k, rounded: the neighbour of a mode, and under
 * stochastic rounding both. */
typedef struct Rounded { mpq_t value, up; bool exact; double part; } Rounded;

static void round_number(Rounded *r, mpq_srcptr q, bool root, bool minus, const Kind *k,
                         RoundMode mode)
{
    long place = exponent_of(q, k, root) - (k->digits - 1);
    Exact x;
    truth_begin(&x);
    mpq_set(r->value, q);
    shift(r->value, k->base, root ? -2 * place : -place);
    mpz_set(x.n, mpq_numref(r->value));
    mpz_set(x.d, mpq_denref(r->value));
    x.root = root;
    Cut c = truth_cut_at(&x, 0);
    r->exact = !c.rest;
    r->part = c.rest ? truth_part(&x) : 0;
    bool upper = truth_takes_upper(mode, minus, c, mpz_odd_p(truth_cut));
    mpq_set_z(r->value, truth_cut);
    mpz_add_ui(scaled, truth_cut, 1);
    mpq_set_z(r->up, scaled);
    shift(r->value, k->base, place);
    shift(r->up, k->base, place);
    if (upper)
        mpq_set(r->value, r->up);
    truth_end(&x);
}

/* ---- making numbers ---- */
/* A number of the format, as a fraction; near ends, near one, or anywhere. */
static void random_fraction(mpq_ptr q, const Kind *k)
{
    mpz_ui_pow_ui(power, (unsigned long)k->base, (unsigned long)k->digits);
    mpz_set_ui(scaled, 0);
    for (int i = 0; i * 60 < k->digits * 4 + 60; i++) {
        mpz_mul_2exp(scaled, scaled, 60);
        mpz_add_ui(scaled, scaled, check_random() >> 4);
    }
    switch (below(6)) {
    case 0: mpz_set_ui(scaled, below(20)); break;
    case 1: mpz_sub_ui(scaled, power, 1 + below(3)); break;
    case 2:
        mpz_fdiv_q_ui(scaled, power, (unsigned long)k->base);
        mpz_add_ui(scaled, scaled, below(3));
        break;
    default: break;
    }
    mpz_mod(scaled, scaled, power);
    mpq_set_z(q, scaled);
    shift(q, k->base, (long)below(5) * ((long)below(13) - 6) - k->digits);
}

static bool to_cell(Arith *a, Rational *cell, mpq_srcptr q, bool minus)
{
    Rational exact;
    mpq_t signed_q;
    mpq_init(signed_q);
    mpq_set(signed_q, q);
    if (minus)
        mpq_neg(signed_q, signed_q);
    bool good = rational_keep(ctx, &exact, signed_q) == RATIONAL_OK &&
                a->ops->load(a, cell, 1, DT_RATIONAL, &exact, 1, 1) == ARITH_OK;
    mpq_clear(signed_q);
    return good;
}

static const char *sign_of(const Number *x) { return x->minus ? "-" : ""; }

static void complain(const Arith *a, const char *what, const Number *x, const Number *y,
                     const Number *got, mpq_srcptr want)
{
    if (check_failed++ < 30)
        gmp_fprintf(stderr, "FAIL %s mode %d %s(%s%Qd, %s%Qd): %Qd, not %s%Qd (kind %d)\n",
                    dtype_name(a->dtype), a->round, what, sign_of(x), x->q, sign_of(y), y->q, want,
                    sign_of(got), got->q, got->kind);
}

/* ---- operations ---- */
static const EwOp OPS[] = { EW_ADD, EW_SUBTRACT, EW_MULTIPLY, EW_DIVIDE, EW_SQRT, EW_FMA };

/* The exact result in `out` (root: of what is meant the square root is). */
static void exact_result(mpq_ptr out, EwOp op, const Number *x, const Number *y, const Number *z)
{
    mpq_t a, b;
    mpq_init(a);
    mpq_init(b);
    mpq_set(a, x->q);
    mpq_set(b, y->q);
    if (x->minus) mpq_neg(a, a);
    if (y->minus) mpq_neg(b, b);
    switch (op) {
    case EW_ADD: mpq_add(out, a, b); break;
    case EW_SUBTRACT: mpq_sub(out, a, b); break;
    case EW_MULTIPLY: mpq_mul(out, a, b); break;
    case EW_DIVIDE: mpq_div(out, a, b); break;
    case EW_SQRT: mpq_set(out, a); break;
    default:
        mpq_mul(out, a, b);
        mpq_set(a, z->q);
        if (z->minus) mpq_neg(a, a);
        mpq_add(out, out, a);
        break;
    }
    mpq_clear(a);
    mpq_clear(b);
}

static Number X, Y, Z, GOT;
static mpq_t EXACT;
static Rounded WANT;

static bool right(RoundMode mode)
{
    bool other = mode == ROUND_STOCHASTIC && !WANT.exact && mpq_equal(GOT.q, WANT.up);
    return other || mpq_equal(GOT.q, WANT.value);
}

/* One operation on the cells; the exact result is not zero. */
static void check_operation(Arith *a, const Kind *k, EwOp op, const Rational cells[3])
{
    Rational out;
    const void *in[] = { cells, cells + 1, cells + 2 };
    const int64_t one[] = { 1, 1, 1 };
    a->flags = (ArithFlags){ 0 };
    bool ran = a->ops->ew(a, op, &out, 1, in, one, 1) == ARITH_OK;
    bool minus = mpq_sgn(EXACT) < 0;
    mpq_abs(EXACT, EXACT);
    round_number(&WANT, EXACT, op == EW_SQRT, minus, k, a->round);
    read_cell(&GOT, k->dtype, out);
    bool good = ran && GOT.kind == NUMBER_FINITE && GOT.minus == minus && right(a->round);
    good &= a->flags.inexact == !WANT.exact && !a->flags.invalid && !a->flags.divzero;
    cases++;
    if (!good)
        complain(a, ew_info[op].name, &X, &Y, &GOT, WANT.value);
}

static void test_operations(const Kind *k, RoundMode mode, int count)
{
    Arith a, nearest;
    if (!CHECK(arith_open(ctx, &a, k->dtype, mode, false, false) == ARITH_OK) ||
        !CHECK(arith_open(ctx, &nearest, k->dtype, ROUND_NEAREST, false, false) == ARITH_OK))
        return;
    a.seed[0] = check_random();
    Number *numbers[] = { &X, &Y, &Z };
    Rational cells[3];
    for (int i = 0; i < count; i++) {
        for (int n = 0; n < 3; n++) {
            random_fraction(numbers[n]->q, k);
            numbers[n]->kind = NUMBER_FINITE;
            numbers[n]->minus = below(2) && mpq_sgn(numbers[n]->q) != 0;
            bool made = to_cell(&nearest, cells + n, numbers[n]->q, numbers[n]->minus);
            read_cell(&GOT, k->dtype, cells[n]);
            if (!made || !mpq_equal(GOT.q, numbers[n]->q) || GOT.minus != numbers[n]->minus)
                complain(&a, "load", numbers[n], numbers[n], &GOT, numbers[n]->q);
        }
        for (int o = 0; o < 6; o++) {
            if ((OPS[o] == EW_DIVIDE && mpq_sgn(Y.q) == 0) || (OPS[o] == EW_SQRT && X.minus))
                continue;
            exact_result(EXACT, OPS[o], &X, &Y, &Z);
            if (mpq_sgn(EXACT) != 0)
                check_operation(&a, k, OPS[o], cells);
        }
    }
}

/* Fractions and doubles rounded on the way in. */
static void test_loads(const Kind *k, RoundMode mode, int count)
{
    Arith a;
    if (!CHECK(arith_open(ctx, &a, k->dtype, mode, false, false) == ARITH_OK))
        return;
    for (int i = 0; i < count; i++) {
        Rational cell;
        mpq_set_ui(X.q, 1 + below(1000), 1 + below(999));
        if (below(2))                   /* a tie, or one digit beside it */
            random_fraction(X.q, &(Kind){ k->dtype, k->base, k->digits + 1 });
        double v = ldexp((double)(check_random() >> 11), (int)below(60) - 90);
        bool from_double = below(3) == 0;
        if (from_double)
            mpq_set_d(X.q, v);
        mpq_canonicalize(X.q);
        X.minus = below(2);
        if (mpq_sgn(X.q) == 0)
            continue;
        if (X.minus)
            v = -v;
        a.flags = (ArithFlags){ 0 };
        bool ran = from_double ? a.ops->load(&a, &cell, 1, DT_F64, &v, 1, 1) == ARITH_OK
                               : to_cell(&a, &cell, X.q, X.minus);
        round_number(&WANT, X.q, false, X.minus, k, mode);
        read_cell(&GOT, k->dtype, cell);
        cases++;
        if (!ran || !right(mode) || GOT.minus != X.minus || a.flags.inexact != !WANT.exact)
            complain(&a, from_double ? "load f64" : "load rational", &X, &X, &GOT, WANT.value);
    }
}

/* A third, and the root of two, as often up as the exact distance says. */
static void test_frequency(const Kind *k, EwOp op, unsigned long x, unsigned long y)
{
    enum { DRAWS = 2000 };
    static Rational out[DRAWS];
    Arith a;
    Rational cells[2];
    const void *in[] = { cells, cells + 1 };
    const int64_t none[] = { 0, 0 };
    if (!CHECK(arith_open(ctx, &a, k->dtype, ROUND_STOCHASTIC, false, false) == ARITH_OK))
        return;
    a.seed[0] = check_random();
    mpq_set_ui(X.q, x, 1);
    mpq_set_ui(Y.q, y, 1);
    X.minus = Y.minus = Z.minus = false;
    CHECK(to_cell(&a, cells, X.q, false) && to_cell(&a, cells + 1, Y.q, false));
    read_cell(&X, k->dtype, cells[0]);
    read_cell(&Y, k->dtype, cells[1]);
    exact_result(EXACT, op, &X, &Y, &Z);
    round_number(&WANT, EXACT, op == EW_SQRT, false, k, ROUND_STOCHASTIC);
    CHECK(a.ops->ew(&a, op, out, 1, in, none, DRAWS) == ARITH_OK);
    double ups = 0;
    for (int i = 0; i < DRAWS; i++) {
        read_cell(&GOT, k->dtype, out[i]);
        ups += mpq_equal(GOT.q, WANT.up);
        if (!mpq_equal(GOT.q, WANT.up) && !mpq_equal(GOT.q, WANT.value))
            complain(&a, "stochastic", &X, &Y, &GOT, WANT.value);
    }
    double mean = DRAWS * WANT.part;
    if (!CHECK(fabs(ups - mean) <= 5 * sqrt(mean * (1 - WANT.part)) + 0.5))
        fprintf(stderr, "%s %s: up %g of %d, expected %g\n", dtype_name(k->dtype), ew_info[op].name,
                ups, DRAWS, mean);
}

static void test_kind(Kind k)
{
    int count = (int)(200 * soak);
    if (k.digits > 1000)
        count /= 10;
    for (int m = 0; m < ROUND_MODES; m++) {
        test_operations(&k, (RoundMode)m, count);
        test_loads(&k, (RoundMode)m, count);
    }
    test_frequency(&k, EW_DIVIDE, 1, 3);
    test_frequency(&k, EW_DIVIDE, 5, 7);
    test_frequency(&k, EW_SQRT, 2, 0);
    test_frequency(&k, EW_ADD, 1, 0);
}

/* ---- intervals ---- */
static double random_end(void)
{
    static const double some[] = { 0, -0.0, 1, -1, 0x1p-1074, 0x1p-1022, 0x1.fffffffffffffp+1023,
                                   0.1, 3 };
    if (below(5) == 0)
        return some[below(9)];
    double v = ldexp(check_uniform(), below(4) ? (int)below(9) - 4 : (int)below(2098) - 1074);
    return v;
}

static Interval random_interval(void)
{
    double a = random_end(), b = below(3) ? a + fabs(a) * ldexp(1, -(int)below(60)) : random_end();
    if (!isfinite(b))
        b = a;
    return a < b ? (Interval){ a, b } : (Interval){ b, a };
}

/* The ends of x op y: of all pairs of ends, rounded outward. */
static Interval interval_model(EwOp op, Interval x, Interval y)
{
    TruthFormat f = truth_ieee(11, 53);
    double a[] = { x.lo, x.hi }, b[] = { y.lo, y.hi };
    Interval r = { INFINITY, -INFINITY };
    for (int i = 0; i < 4; i++) {
        double p = a[i & 1], q = op == EW_SUBTRACT ? -b[i >> 1] : b[i >> 1];
        Truth lo, hi;
        if (op == EW_MULTIPLY) {
            lo = truth_mul(p, q, &f, ROUND_DOWN);
            hi = truth_mul(p, q, &f, ROUND_UP);
        } else if (op == EW_DIVIDE) {
            lo = truth_div(p, q, &f, ROUND_DOWN);
            hi = truth_div(p, q, &f, ROUND_UP);
        } else if (op == EW_SQRT) {
            lo = truth_sqrt(p, &f, ROUND_DOWN);
            hi = truth_sqrt(p, &f, ROUND_UP);
        } else {
            lo = truth_add(p, q, &f, ROUND_DOWN);
            hi = truth_add(p, q, &f, ROUND_UP);
        }
        r.lo = fmin(r.lo, lo.value);
        r.hi = fmax(r.hi, hi.value);
    }
    return r;
}

static void test_intervals(void)
{
    Arith a;
    if (!CHECK(arith_open(ctx, &a, DT_INTERVAL, ROUND_NEAREST, false, false) == ARITH_OK))
        return;
    const int64_t one[] = { 1, 1, 1 };
    for (int64_t i = 0; i < 40000 * soak; i++) {
        EwOp op = OPS[below(5)];
        Interval x = random_interval(), y = random_interval(), got;
        if ((op == EW_DIVIDE && y.lo <= 0 && y.hi >= 0) || (op == EW_SQRT && x.lo < 0))
            continue;
        const void *in[] = { &x, &y };
        bool ran = a.ops->ew(&a, op, &got, 1, in, one, 1) == ARITH_OK;
        Interval want = interval_model(op, x, y);
        cases++;
        if (!ran || got.lo != want.lo || got.hi != want.hi) {
            if (check_failed++ < 30)
                fprintf(stderr, "FAIL interval %s([%a, %a], [%a, %a]): [%a, %a], not [%a, %a]\n",
                        ew_info[op].name, x.lo, x.hi, y.lo, y.hi, want.lo, want.hi, got.lo, got.hi);
        }
    }
}

/* A fraction as an interval: the doubles around it. */
static void test_interval_loads(void)
{
    Arith a;
    TruthFormat f = truth_ieee(11, 53);
    if (!CHECK(arith_open(ctx, &a, DT_INTERVAL, ROUND_NEAREST, false, false) == ARITH_OK))
        return;
    for (int64_t i = 0; i < 2000 * soak; i++) {
        Interval got;
        mpq_set_ui(X.q, 1 + below(100000), 1 + below(100000));
        mpq_canonicalize(X.q);
        bool made = to_cell(&a, (Rational *)&got, X.q, false);
        double top = mpz_get_d(mpq_numref(X.q)), bottom = mpz_get_d(mpq_denref(X.q));
        Truth lo = truth_div(top, bottom, &f, ROUND_DOWN);
        Truth hi = truth_div(top, bottom, &f, ROUND_UP);
        cases++;
        if (!made || got.lo != lo.value || got.hi != hi.value)
            CHECK(got.lo == lo.value && got.hi == hi.value);
    }
}

int main(void)
{
    mem_init(ctx);
    ctx->interrupt = &no_interrupt;
    truth_start();
    const char *more = getenv("RICCI_SOAK");
    if (more)
        soak = atoll(more) > 0 ? atoll(more) : 1;
    mpz_inits(power, scaled, NULL);
    mpq_inits(X.q, Y.q, Z.q, GOT.q, EXACT, WANT.value, WANT.up, NULL);
    static const int digits[] = { 1, 2, 3, 7, 16, 17, 18, 19, 20, 34, 50, 200 };
    static const int bits[] = { 1, 2, 3, 11, 24, 53, 63, 64, 65, 113, 128, 200, 256, 1000 };
    for (size_t i = 0; i < sizeof digits / sizeof *digits; i++)
        test_kind((Kind){ dtype_decimal(digits[i]), 10, digits[i] });
    for (size_t i = 0; i < sizeof bits / sizeof *bits; i++)
        test_kind((Kind){ dtype_mp(bits[i]), 2, bits[i] });
    test_intervals();
    test_interval_loads();
    fprintf(stderr, "%lld cases\n", (long long)cases);
    check_passed += (int)(cases / 1000);
    return check_result();
}
