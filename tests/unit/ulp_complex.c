/* What the elementwise rows of complex numbers promise: a bound on |error| in ulps of the modulus
 * (Op.ulps_complex), measured against the textbook formulas in MPFR with so many bits that nothing
 * they cancel is missed for the operands here, whose parts lie between 2^-20 and 2^20 or are 0. One
 * part of a result may be off by more of its own ulps where the other is much larger. Every row
 * with a complex formula and a complex or real result must be here. RICCI_SOAK=n takes n times as
 * many operands, with a seed of its own, which is printed. */
#include "interp/op/op.h"
#include "kernels/elementwise/ew_kernels.h"
#include "tests/unit/check.h"
#include "tests/unit/ulp_random.h"

#include <mpfr.h>
#include <stdlib.h>

enum { BITS = 400, OPERANDS = 2000 };

static bool table;

typedef struct Z { mpfr_t re, im; } Z;
typedef void (*TruthFn)(Z *r, Z *x, Z *y);

static Z t1, t2, t3;
static mpfr_t s1, s2;
#define R MPFR_RNDN

static void z_begin(Z *z) { mpfr_inits2(BITS, z->re, z->im, NULL); }

static void z_set(Z *r, const Z *x)
{
    mpfr_set(r->re, x->re, R);
    mpfr_set(r->im, x->im, R);
}

static void z_real(Z *r, long x)
{
    mpfr_set_si(r->re, x, R);
    mpfr_set_zero(r->im, 1);
}

static void z_add(Z *r, const Z *x, const Z *y)
{
    mpfr_add(r->re, x->re, y->re, R);
    mpfr_add(r->im, x->im, y->im, R);
}

static void z_sub(Z *r, const Z *x, const Z *y)
{
    mpfr_sub(r->re, x->re, y->re, R);
    mpfr_sub(r->im, x->im, y->im, R);
}

static void z_mul(Z *r, const Z *x, const Z *y)
{
    mpfr_fmms(s1, x->re, y->re, x->im, y->im, R);
    mpfr_fmma(s2, x->re, y->im, x->im, y->re, R);
    mpfr_set(r->re, s1, R);
    mpfr_set(r->im, s2, R);
}

static void z_div(Z *r, const Z *x, const Z *y)
{
    mpfr_t size;
    mpfr_init2(size, BITS);
    mpfr_fmma(size, y->re, y->re, y->im, y->im, R);
    mpfr_fmma(s1, x->re, y->re, x->im, y->im, R);
    mpfr_fmms(s2, x->im, y->re, x->re, y->im, R);
    mpfr_div(r->re, s1, size, R);
    mpfr_div(r->im, s2, size, R);
    mpfr_clear(size);
}

/* r = i x, and -i x */
static void z_turn(Z *r, const Z *x, int way)
{
    mpfr_set(s1, x->re, R);
    mpfr_mul_si(r->re, x->im, -way, R);
    mpfr_mul_si(r->im, s1, way, R);
}

static void z_exp(Z *r, const Z *x)
{
    mpfr_sin_cos(s1, s2, x->im, R);
    mpfr_exp(r->re, x->re, R);
    mpfr_mul(r->im, r->re, s1, R);
    mpfr_mul(r->re, r->re, s2, R);
}

static void z_log(Z *r, const Z *x)
{
    mpfr_hypot(s1, x->re, x->im, R);
    mpfr_atan2(s2, x->im, x->re, R);
    mpfr_log(r->re, s1, R);
    mpfr_set(r->im, s2, R);
}

static void z_sqrt(Z *r, const Z *x)
{
    mpfr_hypot(s1, x->re, x->im, R);
    mpfr_sub(s2, s1, x->re, R);
    mpfr_add(s1, s1, x->re, R);
    mpfr_div_2ui(s1, s1, 1, R);
    mpfr_div_2ui(s2, s2, 1, R);
    int below = mpfr_signbit(x->im);
    mpfr_sqrt(r->re, s1, R);
    mpfr_sqrt(r->im, s2, R);
    mpfr_setsign(r->im, r->im, below, R);
}

/* (e^x -+ e^-x)/2 */
static void z_sinh(Z *r, const Z *x)
{
    mpfr_sinh_cosh(s1, s2, x->re, R);
    mpfr_sin_cos(t3.im, t3.re, x->im, R);
    mpfr_mul(r->re, s1, t3.re, R);
    mpfr_mul(r->im, s2, t3.im, R);
}

static void z_cosh(Z *r, const Z *x)
{
    mpfr_sinh_cosh(s1, s2, x->re, R);
    mpfr_sin_cos(t3.im, t3.re, x->im, R);
    mpfr_mul(r->re, s2, t3.re, R);
    mpfr_mul(r->im, s1, t3.im, R);
}

/* log(x + sqrt(x^2 + 1)), of the side that does not cancel */
static void z_asinh(Z *r, const Z *x)
{
    bool minus = mpfr_signbit(x->re);
    z_mul(&t1, x, x);
    mpfr_add_ui(t1.re, t1.re, 1, R);
    z_set(&t2, x);
    if (minus) {
        mpfr_neg(t2.re, t2.re, R);
        mpfr_neg(t2.im, t2.im, R);
    }
    z_sqrt(&t1, &t1);
    if (mpfr_sgn(t1.re) == 0 && mpfr_signbit(t1.im) != mpfr_signbit(t2.im))
        mpfr_neg(t1.im, t1.im, R);
    z_add(&t1, &t1, &t2);
    z_log(r, &t1);
    if (minus) {
        mpfr_neg(r->re, r->re, R);
        mpfr_neg(r->im, r->im, R);
    }
}

static void z_atanh(Z *r, const Z *x)          /* (log(1 + x) - log(1 - x))/2 */
{
    z_real(&t1, 1);
    z_add(&t2, &t1, x);
    z_sub(&t1, &t1, x);
    mpfr_setsign(t1.im, t1.im, !mpfr_signbit(x->im), R);
    z_log(&t2, &t2);
    z_log(&t1, &t1);
    z_sub(r, &t2, &t1);
    mpfr_div_2ui(r->re, r->re, 1, R);
    mpfr_div_2ui(r->im, r->im, 1, R);
}

static void z_acosh(Z *r, const Z *x)          /* log(x + sqrt(x + 1) sqrt(x - 1)) */
{
    z_set(&t1, x);
    z_set(&t2, x);
    mpfr_add_ui(t1.re, t1.re, 1, R);
    mpfr_sub_ui(t2.re, t2.re, 1, R);
    z_sqrt(&t1, &t1);
    z_sqrt(&t2, &t2);
    z_mul(&t1, &t1, &t2);
    z_add(&t1, &t1, x);
    z_log(r, &t1);
}

#define TRUTH(name) static void truth_##name(Z *r, Z *x, Z *y)
#define UNUSED (void)x, (void)y
TRUTH(add) { z_add(r, x, y); }
TRUTH(subtract) { z_sub(r, x, y); }
TRUTH(multiply) { z_mul(r, x, y); }
TRUTH(divide) { z_div(r, x, y); }
TRUTH(negative) { UNUSED; mpfr_neg(r->re, x->re, R); mpfr_neg(r->im, x->im, R); }
TRUTH(positive) { UNUSED; z_set(r, x); }
TRUTH(conj) { UNUSED; z_set(r, x); mpfr_neg(r->im, r->im, R); }
TRUTH(real) { UNUSED; z_set(r, x); mpfr_set_zero(r->im, 1); }
TRUTH(imag) { UNUSED; mpfr_set(r->re, x->im, R); mpfr_set_zero(r->im, 1); }
TRUTH(abs) { UNUSED; mpfr_hypot(r->re, x->re, x->im, R); mpfr_set_zero(r->im, 1); }
TRUTH(angle) { UNUSED; mpfr_atan2(r->re, x->im, x->re, R); mpfr_set_zero(r->im, 1); }
TRUTH(sqrt) { UNUSED; z_sqrt(r, x); }
TRUTH(exp) { UNUSED; z_exp(r, x); }
TRUTH(expm1) { UNUSED; z_exp(r, x); mpfr_sub_ui(r->re, r->re, 1, R); }
TRUTH(log) { UNUSED; z_log(r, x); }
TRUTH(log1p) { UNUSED; z_set(&t1, x); mpfr_add_ui(t1.re, t1.re, 1, R); z_log(r, &t1); }
TRUTH(sinh) { UNUSED; z_sinh(r, x); }
TRUTH(cosh) { UNUSED; z_cosh(r, x); }
TRUTH(tanh) { UNUSED; z_sinh(&t1, x); z_cosh(&t2, x); z_div(r, &t1, &t2); }
TRUTH(sin) { UNUSED; z_turn(&t1, x, 1); z_sinh(r, &t1); z_turn(r, r, -1); }
TRUTH(cos) { UNUSED; z_turn(&t1, x, 1); z_cosh(r, &t1); }
TRUTH(tan) { truth_sin(&t2, x, y); truth_cos(r, x, y); z_div(r, &t2, r); }
TRUTH(asinh) { UNUSED; z_asinh(r, x); }
TRUTH(acosh) { UNUSED; z_acosh(r, x); }
TRUTH(atanh) { UNUSED; z_atanh(r, x); }
TRUTH(asin) { UNUSED; z_turn(r, x, 1); z_asinh(r, r); z_turn(r, r, -1); }
TRUTH(atan) { UNUSED; z_turn(r, x, 1); z_atanh(r, r); z_turn(r, r, -1); }

TRUTH(acos)
{
    truth_asin(r, x, y);
    mpfr_const_pi(s1, R);
    mpfr_div_2ui(s1, s1, 1, R);
    mpfr_sub(r->re, s1, r->re, R);
    mpfr_neg(r->im, r->im, R);
}

static void z_log_base(Z *r, const Z *x, unsigned long base)
{
    z_log(r, x);
    mpfr_set_ui(s1, base, R);
    mpfr_log(s1, s1, R);
    mpfr_div(r->re, r->re, s1, R);
    mpfr_div(r->im, r->im, s1, R);
}

TRUTH(log2) { UNUSED; z_log_base(r, x, 2); }
TRUTH(log10) { UNUSED; z_log_base(r, x, 10); }

TRUTH(sign)
{
    UNUSED;
    mpfr_hypot(s1, x->re, x->im, R);
    mpfr_div(r->re, x->re, s1, R);
    mpfr_div(r->im, x->im, s1, R);
}

TRUTH(power)
{
    z_log(&t1, x);
    z_mul(&t1, &t1, y);
    z_exp(r, &t1);
}

static const TruthFn truths[EW_COUNT] = {
    [EW_ADD] = truth_add, [EW_SUBTRACT] = truth_subtract, [EW_MULTIPLY] = truth_multiply,
    [EW_DIVIDE] = truth_divide, [EW_POWER] = truth_power, [EW_NEGATIVE] = truth_negative,
    [EW_POSITIVE] = truth_positive, [EW_ABS] = truth_abs, [EW_SIGN] = truth_sign,
    [EW_SQRT] = truth_sqrt,
    [EW_EXP] = truth_exp, [EW_EXPM1] = truth_expm1, [EW_LOG] = truth_log, [EW_LOG2] = truth_log2,
    [EW_LOG10] = truth_log10, [EW_LOG1P] = truth_log1p, [EW_SIN] = truth_sin, [EW_COS] = truth_cos,
    [EW_TAN] = truth_tan, [EW_ASIN] = truth_asin, [EW_ACOS] = truth_acos, [EW_ATAN] = truth_atan,
    [EW_SINH] = truth_sinh, [EW_COSH] = truth_cosh, [EW_TANH] = truth_tanh,
    [EW_ASINH] = truth_asinh,
    [EW_ACOSH] = truth_acosh, [EW_ATANH] = truth_atanh, [EW_REAL] = truth_real,
    [EW_IMAG] = truth_imag, [EW_CONJ] = truth_conj, [EW_ANGLE] = truth_angle,
};

/* ---- operands ---- */

static double part(void)
{
    double u = ulp_uniform();
    switch (ulp_below(8)) {
    case 0: return 0;
    case 1: return (double)(ulp_below(9) - 4);
    case 2: return ldexp(u, ulp_below(20));
    case 3: return ldexp(u, -ulp_below(20));
    case 4: return (ulp_below(2) ? 1 : -1) + ldexp(u, -ulp_below(20));
    default: return 3 * u;
    }
}

static double _Complex random_operand(EwOp op, DType dt, int k)
{
    double a = part(), b = part();
    bool narrow = dt == DT_C64;
    if (k == 1 && op == EW_POWER && ulp_below(2))
        a = (double)(ulp_below(12) - 4), b = 0;
    if (op == EW_POWER && k == 1)
        a = fmod(a, 20), b = fmod(b, 20);
    if (op == EW_EXP || op == EW_EXPM1 || op == EW_SINH || op == EW_COSH || op == EW_TANH)
        a = fmod(a, 80);                                /* within the range of c64 */
    if (op == EW_SIN || op == EW_COS || op == EW_TAN)
        b = fmod(b, 80);
    double _Complex z;
    __real__ z = narrow ? (double)(float)a : a;
    __imag__ z = narrow ? (double)(float)b : b;
    return z;
}

/* |got - want| in ulps of |want|. */
static double error_of(DType dt, double _Complex got, Z *want)
{
    int p = dt == DT_C64 ? 24 : 53;
    if (!mpfr_number_p(want->re) || !mpfr_number_p(want->im))
        return 0;
    mpfr_hypot(s1, want->re, want->im, R);
    if (mpfr_zero_p(s1))
        return got == 0 ? 0 : INFINITY;
    long e = mpfr_get_exp(s1);
    if (e > (dt == DT_C64 ? 127 : 1023) || e < (dt == DT_C64 ? -100 : -1000))
        return 0;
    if (isnan(creal(got)) || isnan(cimag(got)))
        return INFINITY;
    mpfr_sub_d(t1.re, want->re, creal(got), R);
    mpfr_sub_d(t1.im, want->im, cimag(got), R);
    mpfr_hypot(s2, t1.re, t1.im, R);
    mpfr_mul_2si(s2, s2, p - e, R);
    return mpfr_get_d(s2, R);
}

static void report(const Op *op, DType dt, const char *level, double error, double _Complex x,
                   double _Complex y)
{
    bool good = error <= op->ulps_complex;
    if (table || !good)
        fprintf(stderr, "%-10s %-5s %-10s %7.4f ulp at (%.17g%+.17gi, %.17g%+.17gi)\n", op->name,
                dtype_name(dt), level, error, creal(x), cimag(x), creal(y), cimag(y));
    check_that(good, "the row keeps its bound", __FILE__, __LINE__);
}

static double measure(EwFn kernel, const Op *op, DType dt, double _Complex a,
                      double _Complex b, Z *want)
{
    static const int64_t one[] = { 1, 1, 1 };
    _Alignas(16) char x[2][16], out[16];
    const void *in[] = { x[0], x[1], x[1] };
    cast_run(dt, x[0], 1, DT_C128, &a, 1, 1);
    cast_run(dt, x[1], 1, DT_C128, &b, 1, 1);
    kernel(out, 1, in, one, 1);
    return error_of(dt, element_c128(ew_result_dtype(op->ew, dt), out), want);
}

static void test_row(const Op *op, DType dt, int count)
{
    enum { BASE, AVX2, OWN, LEVELS };
    static const char *const names[] = { "base", "avx2", "machine" };
    double worst[LEVELS] = { 0 };
    double _Complex x[LEVELS] = { 0 }, y[LEVELS] = { 0 };
    Z za, zb, right;
    z_begin(&za), z_begin(&zb), z_begin(&right);
    for (int i = 0; i < count; i++) {
        double _Complex a = random_operand(op->ew, dt, 0), b = random_operand(op->ew, dt, 1);
        if ((op->ew == EW_SIGN || op->ew == EW_DIVIDE || op->ew == EW_POWER) && (a == 0 || b == 0))
            continue;
        mpfr_set_d(za.re, creal(a), R), mpfr_set_d(za.im, cimag(a), R);
        mpfr_set_d(zb.re, creal(b), R), mpfr_set_d(zb.im, cimag(b), R);
        truths[op->ew](&right, &za, &zb);
        for (int l = 0; l < LEVELS; l++) {
            if (l == AVX2 && cpu_isa() < ISA_AVX2)
                continue;
            EwFn kernel = l == OWN ? ew_kernel(op->ew, dt) : ew_kernel_at(op->ew, dt,
                l == AVX2 ? ISA_AVX2 : ISA_BASE, false);
            double error = measure(kernel, op, dt, a, b, &right);
            if (error > worst[l])
                worst[l] = error, x[l] = a, y[l] = b;
        }
    }
    for (int l = 0; l < LEVELS; l++)
        report(op, dt, names[l], worst[l], x[l], y[l]);
    mpfr_clears(za.re, za.im, zb.re, zb.im, right.re, right.im, NULL);
}

int main(int argc, char **argv)
{
    int times = ulp_random_start();
    table = argc > 1 && strcmp(argv[1], "table") == 0;
    z_begin(&t1), z_begin(&t2), z_begin(&t3);
    mpfr_inits2(BITS, s1, s2, NULL);
    for (int i = 0; i < builtin_rows.count; i++) {
        const Op *op = &builtin_rows.row[i];
        for (int d = 0; d < 2 && op->cls == OPC_EW; d++) {
            DType dt = d ? DT_C64 : DT_C128;
            if (ew_compute_dtype(op->ew, dt) != dt || ew_info[op->ew].result == RES_BOOL ||
                op->ew == EW_WHERE)
                continue;
            if (CHECK(truths[op->ew]))
                test_row(op, dt, OPERANDS * times);
        }
    }
    return check_result();
}
