/* Every elementwise row of real floats is held to its bound (Op.ulps) against MPFR (ulp_truth.h),
 * at every instruction set that the machine has, with SLEEF and without, and so is the reference:
 * operands of all exponents, subnormal and huge, whole and half, near the zeros, poles and limits
 * of the functions, near multiples of pi/2, and pairs whose power, quotient or length is near what
 * a format holds. f16 and bf16 are f32 rounded once more. Strided calls and calls of one element
 * must have the bits of a long one; that scalars and fused chains take the same kernels is
 * tests/lang/values/ulp_ways.ric.
 * RICCI_SOAK=n takes n times as many operands, with a seed of its own; `ulp table` shows what was
 * measured, `ulp table NAME` of one row. */
#include "interp/op/op.h"
#include "kernels/elementwise/ew_kernels.h"
#include "tests/unit/check.h"
#include "tests/unit/ulp_random.h"
#include "tests/unit/ulp_truth.h"

enum { BATCH = 256, ROUNDS = 14, TWIN_ROUNDS = 3 };

/* 2^(least - p) is the smallest number */
typedef struct Format { DType dtype; int p, least, most; } Format;

static const Format formats[] = {
    { DT_F64, 53, -1021, 1024 }, { DT_F32, 24, -125, 128 }, { DT_F16, 11, -13, 16 },
    { DT_BF16, 8, -125, 128 },
};

typedef struct Level { const char *name; CpuIsa isa; bool sleef, reference; } Level;

static const Level levels[] = {
    { "reference", ISA_BASE, false, true },
    { "base", ISA_BASE, false, false },
    { "avx2 without SLEEF", ISA_AVX2, false, false },
    { "avx2", ISA_AVX2, true, false },
    { "avx512", ISA_AVX512, true, false },
};
enum { LEVELS = sizeof levels / sizeof levels[0] };

typedef struct Worst { double error, x[3], got; } Worst;

static mpfr_t operand[3], right, rest;
static bool table;

static bool has_level(const Level *l, DType dt)
{
    /* they take the f32 of the machine's own level */
    if (dt == DT_F16 || dt == DT_BF16)
        return l->isa == cpu_isa() && !l->reference &&
               l->sleef == (cpu_isa() > ISA_BASE && ew_vector_math());
    return l->isa <= cpu_isa() && (!l->sleef || ew_vector_math());
}

static EwFn kernel_of(const Level *l, EwOp op, DType dt)
{
    return l->reference ? ew_reference(op, dt) : ew_kernel_at(op, dt, l->isa, l->sleef);
}

/* ---- operands ---- */

/* Zeros, poles, extrema, places where formulas change, and the limits of f64, f32 and their
 * exponentials. */
static const double places[] = {
    0, 0.25, 0.34657359027997264, 0.35, 0.5, 0.625, 0.6931471805599453, 0.7071067811865476,
    0.75, 0.84375, 1,
    1.0397207708399179, 1.25, 1.4142135623730951, 1.4616321449683622, 1.5707963267948966, 2,
        2.4570247382208,
    2.718281828459045, 2.7476826467274, 3, 3.141592653589793, 3.1435808883499, 3.9552942848585,
        4.0393618397405,
    4.9915446441, 5.0082181683, 6, 8, 9.01, 9.2, 10.05, 12.5, 13.1, 14.2, 16, 18.4, 20, 22, 26.5,
        27.2, 28.5, 30.5,
    34.5, 35.04, 36.7, 37.5, 38.5, 40, 87.3, 88.02, 88.72, 89.4, 103.97, 120, 170.5, 171.6243,
        300, 700, 708.4,
    709.78, 710.4758, 720, 744.44, 745.13, 800, 1e5, 8388608, 16777216, 3e7, 268435456, 1e15,
        0x1p52, 0x1p53, 1e18,
    1e36, 1e38, 1e150, 1e300, 1e307
};

static double of_bits(const Format *f)
{
    uint64_t bits = ulp_random();
    double x = (union { uint64_t i; double d; }){ bits }.d;
    if (f->dtype == DT_F32 || f->dtype == DT_BF16)
        x = (double)(union { uint32_t i; float f; }){ (uint32_t)(bits >> 32) }.f;
    else if (f->dtype == DT_F16)
        x = (double)f16_to_f32((uint16_t)bits);
    return isnan(x) ? NAN : x;                          /* a quiet one */
}

static double pick(const Format *f, int kind)
{
    static const double scales[] = { 1, 2, 8, 40, 104, 750, 1e6 };
    double u = ulp_uniform(), sign = ulp_below(2) ? 1 : -1;
    switch (kind) {
    case 0: case 1: return of_bits(f);
    case 2: return ldexp(u, ulp_below(40) - 30);
    case 3: return ldexp(u, -ulp_below(70));
    case 4: case 5: case 6: case 7: return u * scales[ulp_below(sizeof scales / sizeof *scales)];
    case 8: case 9: case 10: case 11: {
        double at = places[ulp_below(sizeof places / sizeof *places)];
        return sign * (at + (at > 0 ? at : 1) * ldexp(u, -ulp_below(54)));
    }
    case 12: return sign * (double)ulp_below(400) / 2;
    case 13: return (double)(ulp_random() >> (12 + ulp_below(50))) * 1.5707963267948966192;
    case 14: return ldexp(u, f->least - ulp_below(f->p));
    default: return ulp_below(8) ? ldexp(u, f->most) : ulp_below(2) ? sign * INFINITY : sign * 0.0;
    }
}

/* y so that x^y is near what the format holds, or whole, or half; x near 1 often. */
static void pick_power(const Format *f, double *x)
{
    int kind = ulp_below(4);
    x[0] = fabs(x[0]);
    if (kind < 2)
        x[0] = 1 + ldexp(ulp_uniform(), -ulp_below(30));
    double size = log2(x[0]);
    if (size != 0 && isfinite(size))
        x[1] = (ulp_below(4) ? f->most + 60 : f->most) * ulp_uniform() / size;
    if (kind == 3)
        x[1] = rint(x[1]), x[0] = ulp_below(2) ? x[0] : -x[0];
    if (ulp_below(8) == 0)
        x[1] = rint(12 * ulp_uniform()) / 2;
}

static void pick_operands(EwOp op, const Format *f, double *x)
{
    int kind = ulp_below(16);
    bool alike = ulp_below(2);
    for (int k = 0; k < 3; k++)
        x[k] = pick(f, alike ? kind : ulp_below(16));
    if (op == EW_POWER && ulp_below(8))
        pick_power(f, x);
    else if (ew_info[op].arity == 2 && ulp_below(2))
        x[1] = x[0] * ldexp(1 + ulp_uniform(), ulp_below(60) - 30);
    if (op == EW_WHERE)
        x[0] = ulp_below(2);
}

/* ---- errors ---- */

/* |got - right| in ulps of `right`. An infinity stands for the power of two after the largest
 * number, and so does every right number from there on. */
static double error_of(const Format *f, double got)
{
    if (mpfr_nan_p(right) || isnan(got))
        return mpfr_nan_p(right) && isnan(got) ? 0 : INFINITY;
    if (!signbit(got) != !mpfr_signbit(right))
        return INFINITY;
    if (mpfr_zero_p(right) || mpfr_inf_p(right))
        return mpfr_zero_p(right) ? (got == 0 ? 0 : INFINITY) : (isinf(got) ? 0 : INFINITY);
    if (mpfr_get_exp(right) > f->most)
        mpfr_set_si_2exp(right, mpfr_sgn(right), f->most, MPFR_RNDN);
    if (isinf(got))
        mpfr_set_si_2exp(rest, got > 0 ? 1 : -1, f->most, MPFR_RNDN);
    else
        mpfr_set_d(rest, got, MPFR_RNDN);
    long e = mpfr_get_exp(right);
    mpfr_sub(rest, rest, right, MPFR_RNDN);
    mpfr_mul_2si(rest, rest, f->p - (e < f->least ? f->least : e), MPFR_RNDN);
    return fabs(mpfr_get_d(rest, MPFR_RNDN));
}

static double bound_of(const Op *op, DType dt)
{
    bool half = dt == DT_F16 || dt == DT_BF16;
    return half && op->ulps > 0.5 ? 0.5 + op->ulps / 1024 : half
           ? 0.5 + 0x1p-10 : op->ulps + 0x1p-9 * (op->ulps < 1);
}

static void put(DType dt, void *at, int64_t i, double x)
{
    cast_run(dt, (char *)at + i * dtype_info(dt)->bytes, 1, DT_F64, &x, 1, 1);
}

/* ---- one row in one format ---- */

typedef struct Batch {
    char x[3][8 * BATCH], spread[3][16 * BATCH], got[LEVELS][8 * BATCH];
} Batch;

static Batch batch;

static DType type_of(EwOp op, DType dt, int k) { return op == EW_WHERE && k == 0 ? DT_BOOL : dt; }

static void fill(EwOp op, const Format *f)
{
    for (int i = 0; i < BATCH; i++) {
        double x[3];
        pick_operands(op, f, x);
        for (int k = 0; k < ew_info[op].arity; k++)
            put(type_of(op, f->dtype, k), batch.x[k], i, x[k]);
    }
}

static void run(EwOp op, const Format *f)
{
    static const int64_t one[] = { 1, 1, 1 };
    const void *in[] = { batch.x[0], batch.x[1], batch.x[2] };
    for (int l = 0; l < LEVELS; l++)
        if (has_level(&levels[l], f->dtype))
            kernel_of(&levels[l], op, f->dtype)(batch.got[l], 1, in, one, BATCH);
}

static void judge(EwOp op, const Format *f, Worst *worst)
{
    int bytes = dtype_info(f->dtype)->bytes;
    for (int i = 0; i < BATCH; i++) {
        double x[3] = { 0 };
        for (int k = 0; k < ew_info[op].arity; k++) {
            DType dt = type_of(op, f->dtype, k);
            x[k] = element_f64(dt, batch.x[k] + i * dtype_info(dt)->bytes);
            mpfr_set_d(operand[k], x[k], MPFR_RNDN);
        }
        truths[op](right, operand[0], operand[1], operand[2]);
        for (int l = 0; l < LEVELS; l++) {
            if (!has_level(&levels[l], f->dtype))
                continue;
            double got = element_f64(f->dtype, batch.got[l] + i * bytes), error = error_of(f, got);
            if (error > worst[l].error)
                worst[l] = (Worst){ error, { x[0], x[1], x[2] }, got };
        }
    }
}

/* A nan is a nan, whatever its bits. */
static bool same_bits(DType dt, const char *a, const char *b)
{
    double x = element_f64(dt, a), y = element_f64(dt, b);
    return memcmp(a, b, dtype_info(dt)->bytes) == 0 || (isnan(x) && isnan(y));
}

/* What every second element of spread operands gives, and each element alone, is what the batch
 * gave. */
static bool same_spread(EwOp op, const Format *f, const Level *l, const char *want)
{
    static char out[16 * BATCH];
    const void *in[3], *at[3];
    int64_t two[] = { 2, 2, 2 }, n = BATCH - 3;
    char alone[8];
    bool same = true;
    int width = dtype_info(f->dtype)->bytes;
    for (int k = 0; k < 3; k++) {
        int bytes = dtype_info(type_of(op, f->dtype, k))->bytes;
        for (int i = 0; i < BATCH; i++)
            memcpy(batch.spread[k] + 2 * i * bytes, batch.x[k] + i * bytes, (size_t)bytes);
        in[k] = batch.spread[k];
    }
    kernel_of(l, op, f->dtype)(out, 2, in, two, n);
    for (int64_t i = 0; i < n; i++) {
        for (int k = 0; k < 3; k++)
            at[k] = batch.x[k] + i * dtype_info(type_of(op, f->dtype, k))->bytes;
        kernel_of(l, op, f->dtype)(alone, 1, at, two, 1);
        same &= same_bits(f->dtype, out + 2 * i * width, want + i * width) &&
                same_bits(f->dtype, alone, want + i * width);
    }
    return same;
}

static void report(const Op *op, const Format *f, const Level *l, const Worst *w)
{
    bool good = w->error <= bound_of(op, f->dtype);
    if (table || !good)
        fprintf(stderr, "%-13s %-4s %-18s %7.4f ulp at (%.17g, %.17g, %.17g), which gives %.17g\n",
                op->name,
                dtype_name(f->dtype), l->name, w->error, w->x[0], w->x[1], w->x[2], w->got);
    check_that(good, "the row keeps its bound", __FILE__, __LINE__);
}

static void test_row(const Op *op, const Format *f, int rounds)
{
    Worst worst[LEVELS] = { { 0 } };
    for (int round = 0; round < rounds; round++) {
        fill(op->ew, f);
        run(op->ew, f);
        judge(op->ew, f, worst);
        for (int l = 0; l < LEVELS && round < TWIN_ROUNDS; l++)
            if (has_level(&levels[l], f->dtype))
                CHECK(same_spread(op->ew, f, &levels[l], batch.got[l]));
    }
    for (int l = 0; l < LEVELS; l++)
        if (has_level(&levels[l], f->dtype))
            report(op, f, &levels[l], &worst[l]);
}

/* ---- rows ---- */

int main(int argc, char **argv)
{
    int soak = ulp_random_start() * ROUNDS;
    table = argc > 1 && strcmp(argv[1], "table") == 0;
    mpfr_inits2(53, operand[0], operand[1], operand[2], NULL);
    mpfr_inits2(TRUTH_BITS, right, rest, NULL);
    for (int i = 0; i < builtin_rows.count; i++) {
        const Op *op = &builtin_rows.row[i];
        if (op->cls != OPC_EW || (argc > 2 && strcmp(argv[2], op->name) != 0))
            continue;
        for (size_t k = 0; k < sizeof formats / sizeof formats[0]; k++) {
            DType dt = formats[k].dtype;
            if (ew_compute_dtype(op->ew, dt) != dt || ew_result_dtype(op->ew, dt) != dt)
                continue;
            if (CHECK(truths[op->ew] || op->ew == EW_NEXTAFTER) && truths[op->ew])
                test_row(op, &formats[k], dtype_info(dt)->bytes > 2 ? soak : 1 + soak / 8);
        }
    }
    return check_result();
}
