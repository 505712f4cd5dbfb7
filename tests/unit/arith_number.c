/* Decimal, mp, rational and interval arithmetic. Decimal and mp against exact fractions rounded
 * by a model of its own, in every mode; functions against longer ones; intervals by inclusion
 * of points and by the tightness of their ends; text both ways against values worked out by
 * hand. */
#include "kernels/cast/tensor_cast.h"
#include "kernels/arith/arith_binary.h"
#include "kernels/number/arith_number.h"
#include "kernels/tensor/tensor.h"
#include "tests/unit/check.h"

#include <stdlib.h>

static Ctx ctx_storage, *ctx = &ctx_storage;
static InterruptFlag no_interrupt;
static const Gmp *g;
static Arith exact;                      /* rational, to look into cells */
static int64_t trials;

/* Like CHECK, but counted once for a thousand times that it holds. */
#define TRIAL(what) trial((what), #what, __LINE__)
static bool trial(bool ok, const char *text, int line) {
    return ok && ++trials % 1000 ? true : check_that(ok, text, __FILE__, line);
}

static Arith open_as(DType dt, RoundMode round) {
    Arith a;
    CHECK(arith_open(ctx, &a, dt, round, false, false) == ARITH_OK);
    a.seed[0] = 7;
    return a;
}

static const char *text_of(DType dt, const void *cell) {
    static char out[8][2000];
    static int next;
    char *to = out[next++ % 8];
    Buf b;
    buf_init(&b, ctx);
    number_text(&b, dt, cell);
    snprintf(to, 2000, "%s", buf_cstr(&b));
    buf_free(&b);
    return to;
}

/* ---- the model: exact fractions ---- */

static void set_cell(mpq_ptr q, DType dt, const Rational *cell) {
    Rational r;
    RationalView v;
    TRIAL(exact.ops->load(&exact, &r, 1, dt, cell, 1, 1) == ARITH_OK);
    mpq_srcptr have = rational_view(&v, r);
    g->mpz_set(&q->_mp_num, &have->_mp_num);
    g->mpz_set(&q->_mp_den, &have->_mp_den);
}

static void power_into(mpz_ptr z, int base,
                       int64_t n) { g->mpz_ui_pow_ui(z, (unsigned long)base, (unsigned long)n); }

/* q base^n */
static void scale(mpq_ptr q, int base, int64_t n) {
    mpz_t t;
    g->mpz_init(t);
    power_into(t, base, n < 0 ? -n : n);
    mpz_ptr part = n < 0 ? &q->_mp_den : &q->_mp_num;
    g->mpz_mul(part, part, t);
    g->mpz_clear(t);
    g->mpq_canonicalize(q);
}

/* |q| against base^n. */
static int against(mpq_srcptr q, int base, int64_t n) {
    mpq_t t, u;
    g->mpq_init(t);
    g->mpq_init(u);
    g->mpz_set_ui(&t->_mp_num, 1);
    scale(t, base, n);
    g->mpz_abs(&u->_mp_num, &q->_mp_num);
    g->mpz_set(&u->_mp_den, &q->_mp_den);
    int order = g->mpq_cmp(u, t);
    g->mpq_clear(t);
    g->mpq_clear(u);
    return order;
}

/* q, not 0, rounded to p digits of the base; false: it was one. `up` of the stochastic mode. */
static bool model_round(mpq_ptr q, int base, int64_t p, RoundMode mode, bool up) {
    bool negative = q->_mp_num._mp_size < 0;
    int64_t e = 0;
    while (against(q, base, e) >= 0) e++;             /* |q| < base^e, least such e */
    while (against(q, base, e - 1) < 0) e--;
    scale(q, base, p - e);
    q->_mp_num._mp_size = abs(q->_mp_num._mp_size);
    mpz_t n, r;
    g->mpz_init(n);
    g->mpz_init(r);
    g->mpz_tdiv_qr(n, r, &q->_mp_num, &q->_mp_den);
    bool any = r->_mp_size != 0, odd = n->_mp_d[0] & 1;
    g->mpz_mul_2exp(r, r, 1);
    int half = g->mpz_cmp(r, &q->_mp_den);
    switch (mode) {
    case ROUND_NEAREST: up = half > 0 || (half == 0 && odd); break;
    case ROUND_AWAY: up = half >= 0; break;
    case ROUND_ZERO: up = false; break;
    case ROUND_UP: up = any && !negative; break;
    case ROUND_DOWN: up = any && negative; break;
    case ROUND_ODD: up = any && !odd; break;
    default: up = any && up; break;
    }
    g->mpz_add_ui(&q->_mp_num, n, up);
    g->mpz_set_ui(&q->_mp_den, 1);
    q->_mp_num._mp_size = negative ? -q->_mp_num._mp_size : q->_mp_num._mp_size;
    scale(q, base, e - p);
    g->mpz_clear(n);
    g->mpz_clear(r);
    return any;
}

/* x op y (op z), exactly; the root to a few digits more and something below them. */
static void model_op(mpq_ptr r, EwOp op, mpq_t x[3], int base, int64_t p) {
    mpz_t t;
    switch (op) {
    case EW_ADD: g->mpq_add(r, x[0], x[1]); break;
    case EW_SUBTRACT: g->mpq_sub(r, x[0], x[1]); break;
    case EW_MULTIPLY: g->mpq_mul(r, x[0], x[1]); break;
    case EW_DIVIDE: g->mpq_div(r, x[0], x[1]); break;
    case EW_FMA: g->mpq_mul(r, x[0], x[1]); g->mpq_add(r, r, x[2]); break;
    default:
        g->mpz_init(t);
        g->mpz_set(&r->_mp_num, &x[0]->_mp_num);
        g->mpz_set(&r->_mp_den, &x[0]->_mp_den);
        scale(r, base, 2 * (p + 300));
        if (r->_mp_den._mp_size != 1 || r->_mp_den._mp_d[0] != 1) CHECK(false);
        g->mpz_sqrtrem(&r->_mp_num, t, &r->_mp_num);
        if (t->_mp_size) {
            g->mpz_mul_2exp(&r->_mp_num, &r->_mp_num, 1);
            g->mpz_add_ui(&r->_mp_num, &r->_mp_num, 1);
            g->mpz_set_ui(&r->_mp_den, 2);
        }
        scale(r, base, -(p + 300));
        g->mpz_clear(t);
    }
}

/* ---- operands ---- */

/* Digits near the ends of p of them, ties, and any; exponents around 0. */
static void random_cell(Arith *a, Rational *out, int base) {
    char text[400];
    int64_t p = a->digits, n = 1 + (int64_t)(check_random() % (uint64_t)p);
    if (base == 10) {
        int style = (int)(check_random() % 4), at = 0;
        text[at++] = check_random() & 1 ? '-' : '+';
        for (int64_t i = 0; i < n; i++)
            text[at++] = (char)(style == 0 ? '9' : style == 1 ? (i ? '0' : '1')
                                : '0' + check_random() % 10);
        if (style == 1 && n > 1) text[at - 1] = (char)('0' + check_random() % 10);
        snprintf(text + at, sizeof text - (size_t)at, "e%d",
                 (int)(check_random() % 24) - 12 - (int)n);
        CHECK(number_from_text(a, out, text, strlen(text)) == ARITH_OK);
        return;
    }
    Arith near = *a;
    near.round = ROUND_NEAREST;
    Rational x;
    mpq_t q;
    g->mpq_init(q);
    for (int64_t i = 0; i < (n + 31) / 32; i++) {
        g->mpz_mul_2exp(&q->_mp_num, &q->_mp_num, 32);
        int style = (int)(check_random() % 3);
        g->mpz_add_ui(&q->_mp_num, &q->_mp_num, style == 0 ? 0xffffffff : style == 1 ? 0
                      : (uint32_t)check_random());
    }
    if (q->_mp_num._mp_size == 0) g->mpz_set_ui(&q->_mp_num, 1);
    int64_t bits = (int64_t)g->mpz_sizeinbase(&q->_mp_num, 2);
    if (bits > n) g->mpz_tdiv_q_2exp(&q->_mp_num, &q->_mp_num, (mp_bitcnt_t)(bits - n));
    if (q->_mp_num._mp_size == 0) g->mpz_set_ui(&q->_mp_num, 1);
    if (check_random() & 1) q->_mp_num._mp_size = -q->_mp_num._mp_size;
    scale(q, 2, (int64_t)(check_random() % 40) - 20 - n);
    CHECK(rational_keep(ctx, &x, q) == RATIONAL_OK);
    CHECK(near.ops->load(&near, out, 1, DT_RATIONAL, &x, 1, 1) == ARITH_OK);
    g->mpq_clear(q);
}

/* ---- the primitives against the model ---- */

static bool same_as(DType dt, const Rational *cell, mpq_srcptr want) {
    mpq_t have;
    g->mpq_init(have);
    set_cell(have, dt, cell);
    bool same = g->mpz_cmp(&have->_mp_num, &want->_mp_num) == 0 && g->mpz_cmp(&have->_mp_den,
                                                                              &want->_mp_den) == 0;
    g->mpq_clear(have);
    return same;
}

static void check_one(Arith *a, EwOp op, int base, const Rational x[3]) {
    mpq_t q[3], want, other;
    for (int i = 0; i < 3; i++) {
        g->mpq_init(q[i]);
        set_cell(q[i], a->dtype, &x[i]);
    }
    g->mpq_init(want);
    g->mpq_init(other);
    Rational out;
    const void *operands[3] = { &x[0], &x[1], &x[2] };
    const int64_t strides[3] = { 1, 1, 1 };
    uint64_t inexact = a->flags.inexact;
    TRIAL(a->ops->ew(a, op, &out, 1, operands, strides, 1) == ARITH_OK);
    model_op(want, op, q, base, a->digits);
    if (want->_mp_num._mp_size == 0) {
        TRIAL(cell_zero(out));
        /* of numbers that cancel */
        bool sum = op == EW_ADD || op == EW_SUBTRACT, zero = cell_zero(x[0]);
        TRIAL(!sum || zero || cell_negative(out) == (a->round == ROUND_DOWN));
    } else {
        g->mpz_set(&other->_mp_num, &want->_mp_num);
        g->mpz_set(&other->_mp_den, &want->_mp_den);
        bool any = model_round(want, base, a->digits, a->round, false);
        model_round(other, base, a->digits, a->round, true);
        if (!TRIAL(same_as(a->dtype, &out, want) ||
                   (a->round == ROUND_STOCHASTIC && same_as(a->dtype, &out, other))))
            fprintf(stderr, "%s %s %s %s in %s, mode %d: %s\n", ew_info[op].name,
                    text_of(a->dtype, &x[0]),
                    text_of(a->dtype, &x[1]), text_of(a->dtype,
                                                      &x[2]), dtype_name(a->dtype), a->round,
                    text_of(a->dtype, &out));
        TRIAL((a->flags.inexact != inexact) == any);
    }
    for (int i = 0; i < 3; i++) g->mpq_clear(q[i]);
    g->mpq_clear(want);
    g->mpq_clear(other);
}

static void check_primitives(DType dt, int base, int count) {
    static const EwOp ops[] = { EW_ADD, EW_SUBTRACT, EW_MULTIPLY, EW_DIVIDE, EW_FMA, EW_SQRT };
    for (int mode = 0; mode < ROUND_MODES; mode++) {
        Arith a = open_as(dt, (RoundMode)mode);
        for (int i = 0; i < count; i++) {
            EwOp op = ops[i % 6];
            Rational x[3];
            for (int k = 0; k < 3; k++) random_cell(&a, &x[k], base);
            if (op == EW_SQRT) x[0].tail &= ~CELL_SIGN;
            if (check_random() % 8 == 0 && op != EW_SQRT) {           /* cancellation */
                x[1] = x[0];
                if (check_random() & 1) x[1].tail ^= CELL_SIGN;
            }
            if (op == EW_DIVIDE && cell_zero(x[1])) continue;
            check_one(&a, op, base, x);
        }
    }
}

/* ---- text ---- */

static bool text_is(DType dt, const void *cell, const char *want) {
    const char *have = text_of(dt, cell);
    if (strcmp(have, want) == 0) return true;
    fprintf(stderr, "have %s, want %s\n", have, want);
    return false;
}

static Rational read_as(Arith *a, const char *text) {
    Rational out = { 0 };
    CHECK(number_from_text(a, &out, text, strlen(text)) == ARITH_OK);
    return out;
}

static Rational apply_op(Arith *a, EwOp op, Rational x, Rational y) {
    Rational out = { 0 };
    const void *operands[3] = { &x, &y, &y };
    const int64_t strides[3] = { 1, 1, 1 };
    ArithStatus s = a->ops->ew(a, op, &out, 1, operands, strides, 1);
    if (!check_that(s == ARITH_OK, ew_info[op].name, __FILE__, __LINE__)) fprintf(stderr,
                                                                                  "status %d\n", s);
    return out;
}

static bool gives(Arith *a, EwOp op, const char *x, const char *y, const char *want) {
    return text_is(a->dtype, &(Rational[1]){ apply_op(a, op, read_as(a, x), read_as(a, y)) }, want);
}

/* In three digits; of operations of one number y is not looked at. */
typedef struct ByHand { EwOp op; const char *x, *y, *want; } ByHand;
static const ByHand by_hand[] = {
    { EW_DIVIDE, "1", "3", "0.333" },
    { EW_DIVIDE, "2", "3", "0.667" },
    { EW_ADD, "0.1", "0.2", "0.3" },
    { EW_ADD, "999", "1", "1000.0" },
    { EW_ADD, "999", "0.5", "1000.0" }, /* a tie, to even */
    { EW_ADD, "100", "0.5", "100.0" },
    { EW_ADD, "1e30", "1", "1e30" },
    { EW_MULTIPLY, "1.23", "4.56", "5.61" }, /* 5.6088 */
    { EW_DIVIDE, "1", "0", "inf" },
    { EW_DIVIDE, "-1", "0", "-inf" },
    { EW_DIVIDE, "0", "0", "nan" },
    { EW_SUBTRACT, "inf", "inf", "nan" },
    { EW_MULTIPLY, "-0", "5", "-0.0" },
    { EW_SQRT, "2", "0", "1.41" },
    { EW_SQRT, "0.01", "0", "0.1" },
    { EW_SQRT, "-1", "0", "nan" },
    { EW_EXP, "1", "0", "2.72" },
    { EW_EXP, "0", "0", "1.0" },
    { EW_EXP, "-inf", "0", "0.0" },
    { EW_LOG, "0", "0", "-inf" },
    { EW_LOG10, "0.001", "0", "-3.0" },
    { EW_LOG2, "8", "0", "3.0" },
    { EW_CBRT, "0.027", "0", "0.3" },
    { EW_POWER, "1.5", "2", "2.25" },
    { EW_POWER, "0.25", "0.5", "0.5" },
    { EW_POWER, "2", "-2", "0.25" },
    { EW_POWER, "2", "0.5", "1.41" },
    { EW_POWER, "10", "30", "1e30" },
    { EW_POWER, "-8", "0.3", "nan" },
    { EW_POWER, "0", "0", "1.0" },
    { EW_POWER, "0", "-1", "inf" },
    { EW_POWER, "-1.1", "inf", "inf" },
    { EW_POWER, "-0.3", "-inf", "inf" },
    { EW_POWER, "-1", "inf", "1.0" },
    { EW_POWER, "-0", "-3", "-inf" },
    { EW_POWER, "-inf", "3", "-inf" },
    { EW_POWER, "0.3", "inf", "0.0" },
    { EW_POWER, "1.1", "-inf", "0.0" },
    { EW_ATAN2, "-0", "-1", "-3.14" },
    { EW_ATAN2, "inf", "-inf", "2.36" },
    { EW_ATAN2, "0.1", "inf", "0.0" },
    { EW_SIN, "0.1", "0", "0.0998" },
    { EW_SIGMOID, "0.3", "0", "0.574" }, /* 0.57444… */
    { EW_GELU, "0.7", "0", "0.531" }, /* 0.53063… */
    { EW_HYPOT, "0.3", "0.4", "0.5" },
    { EW_ATAN2, "0.1", "-0.1", "2.36" },
    { EW_GAMMA, "5", "0", "24.0" },
    { EW_GAMMA, "-0.3", "0", "-4.33" }, /* -4.32685… */
    { EW_LGAMMA, "-0.3", "0", "1.46" }, /* 1.46484… */
    { EW_FLOOR, "-0.5", "0", "-1.0" },
    { EW_CEIL, "1.01", "0", "2.0" },
    { EW_ROUND, "2.5", "0", "2.0" },
    { EW_TRUNC, "-2.5", "0", "-2.0" },
    { EW_TRUNC, "-0.5", "0", "-0.0" },
    { EW_MOD, "-7", "3", "2.0" },
    { EW_MOD, "5.5", "-2", "-0.5" },
    { EW_MOD, "-5", "inf", "inf" },
    { EW_FLOOR_DIVIDE, "-7", "2", "-4.0" },
    { EW_FLOOR_DIVIDE, "1e20", "3", "3.33e19" },
    { EW_NEXTAFTER, "1", "2", "1.01" },
    { EW_NEXTAFTER, "1", "0", "0.999" },
    { EW_MAXIMUM, "1", "nan", "nan" },
};

static void check_decimal_by_hand(void) {
    Arith a = open_as(dtype_decimal(3), ROUND_NEAREST);
    for (size_t i = 0; i < sizeof by_hand / sizeof *by_hand; i++) {
        const ByHand *k = &by_hand[i];
        check_that(gives(&a, k->op, k->x, k->y, k->want), ew_info[k->op].name, __FILE__, __LINE__);
    }
    Rational pi;
    CHECK(number_constant(&a, NUMBER_PI, &pi) == ARITH_OK && text_is(a.dtype, &pi, "3.14"));
    double x = 0.1;
    Rational c;
    CHECK(a.ops->load(&a, &c, 1, DT_F64, &x, 1, 1) == ARITH_OK && text_is(a.dtype, &c, "0.1"));
    Arith wide = open_as(dtype_decimal(60), ROUND_NEAREST);
    CHECK(wide.ops->load(&wide, &c, 1, DT_F64, &x, 1, 1) == ARITH_OK);
    CHECK(text_is(wide.dtype, &c, "0.1000000000000000055511151231257827021181583404541015625"));
    CHECK(gives(&wide, EW_SQRT, "2", "0",
                "1.41421356237309504880168872420969807856967187537694807317668"));
    CHECK(gives(&wide, EW_EXP, "1", "0",
                "2.71828182845904523536028747135266249775724709369995957496697"));
    CHECK(gives(&wide, EW_DIVIDE, "6", "3", "2.0"));
    CHECK(number_f64(wide.dtype, &c) == 0.1);
}

static void check_mp_by_hand(void) {
    Arith a = open_as(dtype_mp(200), ROUND_NEAREST);
    CHECK(text_is(a.dtype, &(Rational[1]){ read_as(&a, "0.1") }, "0.1"));
    CHECK(text_is(a.dtype, &(Rational[1]){ read_as(&a, "1_000.5") }, "1000.5"));
    CHECK(text_is(a.dtype, &(Rational[1]){ read_as(&a, "-inf") }, "-inf"));
    CHECK(text_is(a.dtype, &(Rational[1]){ read_as(&a, "nan") }, "nan"));
    CHECK(text_is(a.dtype, &(Rational[1]){ read_as(&a, "-0.0") }, "-0.0"));
    CHECK(text_is(a.dtype, &(Rational[1]){ read_as(&a, "1e-5") }, "1e-5"));
    CHECK(text_is(a.dtype, &(Rational[1]){ read_as(&a, "1e300000000") }, "1e300000000"));
    CHECK(gives(&a, EW_DIVIDE, "1", "0", "inf"));
    CHECK(gives(&a, EW_SQRT, "-1", "0", "nan"));
    CHECK(gives(&a, EW_FLOOR, "-2.5", "0", "-3.0"));
    CHECK(gives(&a, EW_MOD, "-7", "3", "2.0"));
    CHECK(gives(&a, EW_FLOOR_DIVIDE, "-7", "2", "-4.0"));
    CHECK(gives(&a, EW_SIGMOID, "0", "0", "0.5"));
    CHECK(gives(&a, EW_RELU, "-3", "0", "0.0"));
    CHECK(gives(&a, EW_POWER, "2", "10", "1024.0"));
    Rational root = apply_op(&a, EW_SQRT, read_as(&a, "2"), root = (Rational){ 0 }), again;
    const char *text = text_of(a.dtype, &root);
    CHECK(strncmp(text, "1.4142135623730950488016887242096980785696718753769480731766", 58) == 0);
    again = read_as(&a, text);
    int order;
    CHECK(a.ops->compare(&a, &root, &again, &order) == ARITH_OK && order == 0);
    CHECK(a.flags.divzero == 1 && a.flags.invalid == 1);
    Arith eight = open_as(dtype_mp(8), ROUND_NEAREST);       /* the bits of bf16 */
    CHECK(text_is(eight.dtype, &(Rational[1]){ read_as(&eight, "0.1") }, "0.1"));
    Rational tenth = read_as(&eight, "0.1");
    CHECK(number_f64(eight.dtype, &tenth) == 0.10009765625);
    Buf b;
    int64_t exp;
    buf_init(&b, ctx);
    number_digits(&b, eight.dtype, &tenth, 30, &exp);
    CHECK(exp == 0 && b.len == 30 && strcmp(buf_cstr(&b), "100097656250000000000000000000") == 0);
    buf_free(&b);
}

/* Binary formats and intervals read literals exactly. */
static void check_literals(void) {
    Arith f64 = open_as(DT_F64, ROUND_NEAREST), down = open_as(DT_F64,
                                                               ROUND_DOWN), up = open_as(DT_F64,
                                                                                         ROUND_UP);
    double x, y;
    for (int i = 0; i < 20000; i++) {
        char text[64];
        snprintf(text, sizeof text, "%llu.%llue%d", (unsigned long long)check_random() % 100000,
                 (unsigned long long)check_random(), (int)(check_random() % 640) - 320);
        TRIAL(number_from_text(&f64, &x, text, strlen(text)) == ARITH_OK &&
              x == strtod(text, NULL));
        TRIAL(number_from_text(&down, &x, text, strlen(text)) == ARITH_OK);
        TRIAL(number_from_text(&up, &y, text, strlen(text)) == ARITH_OK);
        TRIAL((x == strtod(text, NULL) || y == strtod(text, NULL)) &&
              (x == y || nextafter(x, INFINITY) == y));
    }
    CHECK(number_constant(&f64, NUMBER_PI, &x) == ARITH_OK && x == 0x1.921fb54442d18p1);
    CHECK(number_from_text(&f64, &x, "zwei", 4) == ARITH_NO_NUMBER);
    CHECK(number_from_text(&f64, &x, "1__0", 4) == ARITH_NO_NUMBER);
    CHECK(number_from_text(&f64, &x, "", 0) == ARITH_NO_NUMBER);
    Arith iv = open_as(DT_INTERVAL, ROUND_NEAREST);
    Interval v;
    CHECK(number_from_text(&iv, &v, "0.1", 3) == ARITH_OK && v.hi == 0.1 &&
          v.lo == nextafter(0.1, 0));
    CHECK(text_is(DT_INTERVAL, &v, "[0.09999999999999999, 0.10000000000000001]"));
    CHECK(number_from_text(&iv, &v, "0.5", 3) == ARITH_OK &&
          text_is(DT_INTERVAL, &v, "[0.5, 0.5]"));
    CHECK(number_constant(&iv, NUMBER_PI, &v) == ARITH_OK && v.lo == 0x1.921fb54442d18p1 &&
          v.hi == nextafter(v.lo, 4));
}

/* ---- functions: mp against twice the bits, decimal against mp ---- */

static const EwOp functions[] = {
    EW_EXP, EW_EXPM1, EW_LOG, EW_LOG2, EW_LOG10, EW_LOG1P, EW_SIN, EW_COS, EW_TAN, EW_ASIN,
    EW_ACOS, EW_ATAN,
    EW_SINH, EW_COSH, EW_TANH, EW_ASINH, EW_ACOSH, EW_ATANH, EW_CBRT, EW_SIGMOID, EW_GELU, EW_SILU,
    EW_SOFTPLUS,
    EW_ERF, EW_ERFC, EW_GAMMA, EW_LGAMMA, EW_HYPOT, EW_ATAN2, EW_POWER, EW_SQRT, EW_RELU, EW_ANGLE
};
enum { FUNCTIONS = sizeof functions / sizeof functions[0] };

static void random_operands(Arith *a, Rational x[2]) {
    for (int k = 0; k < 2; k++) {
        double v = check_uniform() * (check_random() & 1 ? 1 : 6);
        char text[64];
        snprintf(text, sizeof text, "%.*g", (int)(1 + check_random() % 4), v);
        x[k] = read_as(a, text);
    }
}

static void check_functions(DType dt, DType reference, int count) {
    bool mixed = dtype_base(dt) != dtype_base(reference);   /* exact decimals are no binary ones */
    for (int mode = 0; mode < (mixed ? 1 : ROUND_MODES - 1); mode++) {
        Arith a = open_as(dt, (RoundMode)mode), wide = open_as(reference, ROUND_NEAREST);
        for (int i = 0; i < count; i++) {
            EwOp op = functions[i % FUNCTIONS];
            Rational x[2], y[2], r, s, t;
            int order;
            random_operands(&a, x);
            /* exact, or far nearer than needed */
            TRIAL(wide.ops->load(&wide, y, 1, dt, x, 1, 2) == ARITH_OK);
            r = apply_op(&a, op, x[0], x[1]);
            s = apply_op(&wide, op, y[0], y[1]);
            TRIAL(a.ops->load(&a, &t, 1, reference, &s, 1, 1) == ARITH_OK);
            TRIAL(a.ops->compare(&a, &r, &t, &order) == ARITH_OK);
            if (!TRIAL(order == 0 || (order == 2 && number_is_nan(dt, &t))))
                fprintf(stderr, "%s %s %s mode %d: %s, want %s\n", ew_info[op].name,
                        text_of(dt, &x[0]), text_of(dt, &x[1]),
                        mode, text_of(dt, &r), text_of(dt, &t));
        }
    }
}

/* ---- intervals ---- */

static double random_double(void) {
    switch (check_random() % 6) {
    case 0: return (double)(int64_t)(check_random() % 9) - 4;
    case 1: return check_uniform();
    case 2: return check_uniform() * 10;
    case 3: return ldexp(check_uniform(), (int)(check_random() % 200) - 100);
    case 4: return ldexp(check_uniform(), (int)(check_random() % 2100) - 1070);
    default: return check_uniform() * 3;
    }
}

static Interval random_interval(double *inside) {
    double a = random_double(), b = check_random() % 3 ? a + fabs(check_uniform())
                                                       : random_double();
    if (check_random() % 5 == 0) b = a;
    Interval x = { a < b ? a : b, a < b ? b : a };
    double t = fabs(check_uniform());
    *inside = check_random() % 4 == 0 ? x.lo : x.lo + t * (x.hi - x.lo);
    if (!(*inside >= x.lo && *inside <= x.hi)) *inside = x.hi;
    return x;
}

/* The operation at points inside, in 300 bits, lies in the result. */
static void check_inclusion(int count) {
    static const EwOp more[] = { EW_ADD, EW_SUBTRACT, EW_MULTIPLY, EW_DIVIDE, EW_FMA, EW_ABS,
                                EW_MAXIMUM, EW_MINIMUM,
                                 EW_FLOOR, EW_CEIL, EW_ROUND, EW_TRUNC, EW_SIGN, EW_MOD,
                                 EW_FLOOR_DIVIDE, EW_NEGATIVE, EW_CLAMP };
    enum { MORE = sizeof more / sizeof more[0] };
    Arith iv = open_as(DT_INTERVAL, ROUND_NEAREST), mp = open_as(dtype_mp(300), ROUND_NEAREST);
    for (int i = 0; i < count; i++) {
        int k = i % (FUNCTIONS + MORE);
        EwOp op = k < FUNCTIONS ? functions[k] : more[k - FUNCTIONS];
        Interval x[3], r;
        double inside[3];
        Rational points[3], ends[2], value;
        const int64_t one[3] = { 1, 1, 1 };
        for (int j = 0; j < 3; j++) x[j] = random_interval(&inside[j]);
        if (op == EW_CLAMP && x[1].hi > x[2].lo) continue;
        const void *in[3] = { &x[0], &x[1], &x[2] }, *at[3] = { &points[0], &points[1],
                                                               &points[2] };
        TRIAL(iv.ops->ew(&iv, op, &r, 1, in, one, 1) == ARITH_OK);
        TRIAL(mp.ops->load(&mp, points, 1, DT_F64, inside, 1, 3) == ARITH_OK);
        TRIAL(mp.ops->ew(&mp, op, &value, 1, at, one, 1) == ARITH_OK);
        if (number_is_nan(mp.dtype, &value) ||
            (number_is_inf(mp.dtype, &value) && op != EW_EXP)) continue;
        double lo_hi[2] = { r.lo, r.hi };
        int low = 0, high = 0;
        TRIAL(mp.ops->load(&mp, ends, 1, DT_F64, lo_hi, 1, 2) == ARITH_OK);
        mp.ops->compare(&mp, &ends[0], &value, &low);
        mp.ops->compare(&mp, &value, &ends[1], &high);
        if (!TRIAL(low <= 0 && high <= 0))
            fprintf(stderr, "%s [%.17g, %.17g] [%.17g, %.17g] at %.17g %.17g: [%.17g, %.17g] "
                            "without %s\n", ew_info[op].name,
                    x[0].lo, x[0].hi, x[1].lo, x[1].hi, inside[0], inside[1], r.lo, r.hi,
                    text_of(mp.dtype, &value));
    }
}

/* Ends of + - * / sqrt of points are the numbers beside the exact result. */
static void check_tightness(int count) {
    static const EwOp ops[] = { EW_ADD, EW_SUBTRACT, EW_MULTIPLY, EW_DIVIDE, EW_SQRT, EW_FMA,
                               EW_EXP, EW_SIN };
    Arith iv = open_as(DT_INTERVAL, ROUND_NEAREST);
    Arith down = open_as(DT_F64, ROUND_DOWN), up = open_as(DT_F64, ROUND_UP);
    Arith mp = open_as(dtype_mp(53), ROUND_DOWN), mp_up = open_as(dtype_mp(53), ROUND_UP);
    for (int i = 0; i < count; i++) {
        EwOp op = ops[i % 8];
        double x[3] = { random_double(), random_double(), random_double() }, lo, hi;
        if (op == EW_SQRT) x[0] = fabs(x[0]);
        if (x[1] == 0) x[1] = 1;
        Interval v[3] = { { x[0], x[0] }, { x[1], x[1] }, { x[2], x[2] } }, r;
        const void *in[3] = { &v[0], &v[1], &v[2] }, *points[3] = { &x[0], &x[1], &x[2] };
        const int64_t one[3] = { 1, 1, 1 };
        TRIAL(iv.ops->ew(&iv, op, &r, 1, in, one, 1) == ARITH_OK);
        if (op == EW_EXP || op == EW_SIN) {
            Rational c, d, e;
            const void *cells[1] = { &c };
            TRIAL(mp.ops->load(&mp, &c, 1, DT_F64, x, 1, 1) == ARITH_OK &&
                  mp.ops->ew(&mp, op, &d, 1, cells, one, 1) == ARITH_OK &&
                  mp_up.ops->ew(&mp_up, op, &e, 1, cells, one, 1) == ARITH_OK);
            lo = number_directed(mp.dtype, &d, ROUND_DOWN);
            hi = number_directed(mp.dtype, &e, ROUND_UP);
        } else {
            TRIAL(down.ops->ew(&down, op, &lo, 1, points, one, 1) == ARITH_OK &&
                  up.ops->ew(&up, op, &hi, 1, points, one, 1) == ARITH_OK);
        }
        if (!TRIAL((r.lo == lo && r.hi == hi) || (isnan(r.lo) && isnan(lo))))
            fprintf(stderr, "%s %.17g %.17g: [%.17g, %.17g], want [%.17g, %.17g]\n",
                    ew_info[op].name, x[0], x[1], r.lo, r.hi,
                    lo, hi);
    }
}

static void check_interval_by_hand(void) {
    Arith iv = open_as(DT_INTERVAL, ROUND_NEAREST);
    Interval x = { 1, 2 }, y = { -1, 1 }, z = { 2, 3 }, r;
    const int64_t one[3] = { 1, 1, 1 };
    uint8_t answer = 9;
    const void *xy[2] = { &x, &y }, *xz[2] = { &x, &z }, *yy[2] = { &y, &y };
    CHECK(iv.ops->ew(&iv, EW_DIVIDE, &r, 1, xy, one, 1) == ARITH_OK && isinf(r.lo) && isinf(r.hi));
    CHECK(iv.ops->ew(&iv, EW_SQRT, &r, 1, (const void *[1]){ &y }, one, 1) == ARITH_OK &&
          r.lo == 0 && r.hi == 1);
    CHECK(iv.ops->ew(&iv, EW_LESS, &answer, 1, xz, one, 1) == ARITH_UNCERTAIN);
    CHECK(iv.ops->ew(&iv, EW_LESS_EQUAL, &answer, 1, xz, one, 1) == ARITH_OK && answer == 1);
    CHECK(iv.ops->ew(&iv, EW_GREATER, &answer, 1, xz, one, 1) == ARITH_OK && answer == 0);
    CHECK(iv.ops->ew(&iv, EW_EQUAL, &answer, 1, yy, one, 1) == ARITH_UNCERTAIN);
    CHECK(iv.ops->ew(&iv, EW_MULTIPLY, &r, 1, xy, one, 1) == ARITH_OK && r.lo == -2 && r.hi == 2);
    CHECK(iv.ops->ew(&iv, EW_COS, &r, 1, (const void *[1]){ &y }, one, 1) == ARITH_OK && r.hi == 1);
    CHECK(text_is(DT_INTERVAL, &x, "[1.0, 2.0]"));
    iv.flags = (ArithFlags){ 0 };
    x = (Interval){ -2, -1 };
    CHECK(iv.ops->ew(&iv, EW_SQRT, &r, 1, (const void *[1]){ &x }, one, 1) == ARITH_OK &&
          isnan(r.lo) && isnan(r.hi));
    CHECK(iv.ops->ew(&iv, EW_LOG, &r, 1, (const void *[1]){ &x }, one, 1) == ARITH_OK &&
          isnan(r.lo) && isnan(r.hi));
    CHECK(iv.flags.invalid == 2 && iv.flags.inexact == 0);
    CHECK(iv.ops->ew(&iv, EW_ADD, &r, 1, (const void *[2]){ &r, &z }, one, 1) == ARITH_OK &&
          isnan(r.lo));
    CHECK(iv.flags.invalid == 2 && text_is(DT_INTERVAL, &r, "[nan, nan]"));
}

/* ---- conversions, sums, the collector ---- */

static void check_conversions(void) {
    Arith mp = open_as(dtype_mp(120), ROUND_NEAREST), dec = open_as(dtype_decimal(40),
                                                                    ROUND_NEAREST);
    for (int i = 0; i < 3000; i++) {
        double x = random_double(), y;
        Rational c, d;
        TRIAL(mp.ops->load(&mp, &c, 1, DT_F64, &x, 1, 1) == ARITH_OK &&
              number_f64(mp.dtype, &c) == x);
        TRIAL(cast_run(DT_F64, &y, 1, mp.dtype, &c, 1, 1) < 0 && y == x);
        TRIAL(dec.ops->load(&dec, &d, 1, DT_F64, &x, 1, 1) == ARITH_OK &&
              number_f64(dec.dtype, &d) == x);
        TRIAL(mp.ops->load(&mp, &c, 1, dec.dtype, &d, 1, 1) == ARITH_OK &&
              number_f64(mp.dtype, &c) == x);
        TRIAL(dec.ops->load(&dec, &d, 1, mp.dtype, &c, 1, 1) == ARITH_OK &&
              number_f64(dec.dtype, &d) == x);
        float f;
        TRIAL(cast_run(DT_F32, &f, 1, mp.dtype, &c, 1, 1) < 0 && (f == (float)x));
    }
    int64_t most = INT64_MIN, back;
    Rational c;
    CHECK(mp.ops->load(&mp, &c, 1, DT_I64, &most, 1, 1) == ARITH_OK);
    CHECK(cast_run(DT_I64, &back, 1, mp.dtype, &c, 1, 1) < 0 && back == most);
    c = read_as(&mp, "9223372036854775808");
    CHECK(cast_run(DT_I64, &back, 1, mp.dtype, &c, 1, 1) == 0);
    c = read_as(&mp, "-7.9");
    CHECK(cast_run(DT_I64, &back, 1, mp.dtype, &c, 1, 1) < 0 && back == -7);
    c = read_as(&dec, "255.99");
    uint8_t byte;
    CHECK(cast_run(DT_U8, &byte, 1, dec.dtype, &c, 1, 1) < 0 && byte == 255);
    c = read_as(&dec, "nan");
    CHECK(cast_run(DT_I64, &back, 1, dec.dtype, &c, 1, 1) == 0);
    CHECK(cast_run(DT_BOOL, &byte, 1, dec.dtype, &c, 1, 1) < 0 && byte == 1);
}

/* Doubles to few digits, by the short way and by exact fractions. */
static void check_doubles(DType dt) {
    for (int mode = 0; mode < ROUND_STOCHASTIC; mode++) {
        Arith a = open_as(dt, (RoundMode)mode);
        for (int i = 0; i < 4000; i++) {
            double x = random_double();
            if (check_random() % 2) x = (double)(int64_t)(check_random() % 2000001 - 1000000) /
                (check_random() % 2 ? 1024 : 8);
            Rational c, r;
            mpq_t want;
            RationalView v;
            uint64_t inexact = a.flags.inexact;
            if (x == 0 || isinf(x)) continue;
            TRIAL(a.ops->load(&a, &c, 1, DT_F64, &x, 1, 1) == ARITH_OK &&
                  exact.ops->load(&exact, &r, 1, DT_F64, &x, 1, 1) == ARITH_OK);
            g->mpq_init(want);
            mpq_srcptr q = rational_view(&v, r);
            g->mpz_set(&want->_mp_num, &q->_mp_num);
            g->mpz_set(&want->_mp_den, &q->_mp_den);
            bool any = model_round(want, 10, a.digits, a.round, false);
            TRIAL(same_as(dt, &c, want) && (a.flags.inexact != inexact) == any);
            g->mpq_clear(want);
        }
    }
}

/* dot and axpy agree, and a sum of a thousand tenths in three digits stops where it must. */
static void check_sums(DType dt) {
    enum { N = 40 };
    for (int mode = 0; mode < ROUND_MODES; mode++) {
        Arith a = open_as(dt, (RoundMode)mode), b = a;
        Rational x[N], y[N], dot, total, product;
        int order;
        for (int i = 0; i < N; i++) {
            random_cell(&a, &x[i], dtype_base(dt) == DT_DECIMAL ? 10 : 2);
            random_cell(&a, &y[i], dtype_base(dt) == DT_DECIMAL ? 10 : 2);
        }
        a.draw = b.draw = 0;
        CHECK(a.ops->dot(&a, &dot, x, 1, y, 1, N) == ARITH_OK);
        for (int i = 0; i < N; i++) {
            product = apply_op(&b, EW_MULTIPLY, x[i], y[i]);
            total = i ? apply_op(&b, EW_ADD, total, product) : product;
        }
        CHECK(a.ops->compare(&a, &dot, &total, &order) == ARITH_OK && order == 0);
        CHECK(a.ops->dot(&a, &dot, x, 1, y, 1, 0) == ARITH_OK && cell_zero(dot));
        total = apply_op(&b, EW_ADD, x[0], apply_op(&b, EW_MULTIPLY, x[1], y[1]));
        if (mode == ROUND_STOCHASTIC) continue;
        CHECK(a.ops->axpy(&a, EW_ADD, x, 1, &x[1], &y[1], 1, 1) == ARITH_OK);
        CHECK(a.ops->compare(&a, &x[0], &total, &order) == ARITH_OK && order == 0);
    }
}

/* Long fractions: the partial results of axpy are given back, the sum is kept. */
static void check_rationals(void) {
    Arith a = open_as(DT_RATIONAL, ROUND_NEAREST);
    Rational x[3], y[3], by = read_as(&a, "123456789012345678901234567890/7"), want, dot;
    int order;
    for (int i = 0; i < 3; i++) {
        x[i] = read_as(&a, i == 1 ? "0" : "1e40");
        y[i] = read_as(&a, i == 2 ? "0" : "1e-40");
    }
    want = apply_op(&a, EW_ADD, y[0], apply_op(&a, EW_MULTIPLY, by, x[0]));
    size_t before = rational_heap_bytes(ctx);
    CHECK(a.ops->axpy(&a, EW_ADD, y, 1, &by, x, 1, 3) == ARITH_OK);
    CHECK(a.ops->compare(&a, &y[0], &want, &order) == ARITH_OK && order == 0);
    CHECK(text_is(DT_RATIONAL, &y[1],
                  text_of(DT_RATIONAL, &(Rational[1]){ read_as(&a, "1e-40") })));
    CHECK(rational_heap_bytes(ctx) < before + 1000);
    CHECK(a.ops->dot(&a, &dot, x, 1, y, 1, 3) == ARITH_OK);
    want = apply_op(&a, EW_MULTIPLY, x[0], y[0]);
    CHECK(a.ops->compare(&a, &dot, &want, &order) == ARITH_OK && order == 1);
    Rational root = read_as(&a, "2");
    CHECK(a.ops->ew(&a, EW_SQRT, &dot, 1, (const void *[1]){ &root }, (int64_t[1]){ 1 },
                    1) == ARITH_INEXACT);
    CHECK(a.ops->ew(&a, EW_EXP, &dot, 1, (const void *[1]){ &root }, (int64_t[1]){ 1 },
                    1) == ARITH_INEXACT);
}

static void check_collector(void) {
    Arith a = open_as(dtype_mp(300), ROUND_NEAREST);
    Tensor *t = tensor_zeros(ctx, dtype_mp(300), 1, (int64_t[1]){ 2 });
    Rational *cells = (Rational *)(void *)t->data, three = read_as(&a, "3"), garbage;
    CHECK(cell_zero(cells[0]) && text_is(a.dtype, &cells[1], "0.0"));
    cells[0] = apply_op(&a, EW_SQRT, three, three);
    for (int i = 0; i < 30000; i++) garbage = apply_op(&a, EW_SQRT, three, three);
    (void)garbage;
    size_t before = rational_heap_bytes(ctx);
    rational_collect(ctx);
    CHECK(before > (1 << 20) && rational_heap_bytes(ctx) < before / 2);
    cells[1] = apply_op(&a, EW_MULTIPLY, cells[0], cells[0]);
    CHECK(strncmp(text_of(a.dtype, &cells[0]), "1.73205080756887729352744634150587236694",
                  40) == 0);
    double near[2];
    CHECK(cast_run(DT_F64, near, 1, a.dtype, cells, 1, 2) < 0 && near[1] == 3);
    tensor_release(ctx, t);
}

/* Up as often as the distance says: 1 + 0.25 of the last digit. */
static void check_stochastic(DType dt, const char *x, const char *y, double share) {
    Arith a = open_as(dt, ROUND_STOCHASTIC);
    Rational low = read_as(&a, x), step = read_as(&a, y), r;
    int ups = 0, order;
    for (int i = 0; i < 20000; i++) {
        r = apply_op(&a, EW_ADD, low, step);
        a.ops->compare(&a, &r, &low, &order);
        ups += order == 1;
    }
    CHECK(fabs(ups / 20000.0 - share) < 0.015);
    CHECK(a.draw == 20000);
}

int main(void) {
    mem_init(ctx);
    ctx->interrupt = &no_interrupt;
    CHECK(rational_gmp(ctx, &g) == RATIONAL_OK);
    exact = open_as(DT_RATIONAL, ROUND_NEAREST);
    check_decimal_by_hand();
    check_mp_by_hand();
    check_literals();
    check_interval_by_hand();
    int n = 1000;
    check_primitives(dtype_decimal(1), 10, n);
    check_primitives(dtype_decimal(2), 10, n);
    check_primitives(dtype_decimal(3), 10, n);
    check_primitives(dtype_decimal(18), 10, n);
    check_primitives(dtype_decimal(19), 10, n);
    check_primitives(dtype_decimal(50), 10, n);
    check_primitives(dtype_mp(1), 2, n);
    check_primitives(dtype_mp(2), 2, n);
    check_primitives(dtype_mp(24), 2, n);
    check_primitives(dtype_mp(64), 2, n);
    check_primitives(dtype_mp(65), 2, n);
    check_primitives(dtype_mp(200), 2, n);
    check_functions(dtype_mp(40), dtype_mp(400), 40 * FUNCTIONS);
    check_functions(dtype_decimal(4), dtype_mp(400), 40 * FUNCTIONS);
    check_functions(dtype_decimal(25), dtype_mp(400), 20 * FUNCTIONS);
    check_functions(dtype_decimal(4), dtype_decimal(110), 20 * FUNCTIONS);
    check_functions(dtype_decimal(21), dtype_decimal(130), 10 * FUNCTIONS);
    check_inclusion(25000);
    check_tightness(20000);
    check_conversions();
    check_doubles(dtype_decimal(2));
    check_doubles(dtype_decimal(7));
    check_doubles(dtype_decimal(16));
    check_sums(dtype_decimal(3));
    check_sums(dtype_decimal(40));
    check_sums(dtype_mp(100));
    check_stochastic(dtype_decimal(3), "1", "0.0025", 0.25);
    check_stochastic(dtype_decimal(30), "1", "0.000000000000000000000000000007", 0.7);
    check_stochastic(dtype_mp(8), "1", "0.001953125", 0.25);
    check_rationals();
    check_collector();
    rational_heap_free(ctx);
    printf("%lld trials\n", (long long)trials);
    return check_result();
}
