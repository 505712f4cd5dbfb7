/* Arithmetic of binary formats: the loops of every instruction set against exact integers, bit
 * for bit and flag for flag, on boundary values in every mode; the exact integers against the
 * machine's own arithmetic; sums, loads, storage and matrix products. */
#include "check.h"

#include "kernels/cast/tensor_cast.h"
#include "kernels/number/number.h"
#include "kernels/arith/arith_binary.h"
#include "kernels/tensor/cpu.h"
#include "kernels/rational/rational.h"

/* The loops once more with the widest vectors, which the compiler makes of narrow ones. */
#define VECTOR_BYTES 64
#define BINARY_TABLE binary_kernels_wide
extern const BinaryKernels binary_kernels_wide;
#include "kernels/arith/arith_binary.tmpl.h"

#include <fenv.h>
#include <float.h>
#include <stdlib.h>

static InterruptFlag interrupted;
static Ctx ctx = { .interrupt = &interrupted };

static const DType formats[] = { DT_F64, DT_F32, DT_F16, DT_BF16, DT_E4M3, DT_E5M2 };
typedef struct Mini { int e, p; MiniStyle style; } Mini;
static const Mini minis[] = {
    { 8, 11, MINI_IEEE },  { 3, 3, MINI_FINITE }, { 2, 4, MINI_FINITE }, { 2, 2, MINI_FINITE },
    { 5, 1, MINI_IEEE },   { 2, 1, MINI_IEEE },   { 11, 1, MINI_IEEE },  { 11, 20, MINI_IEEE },
    { 11, 51, MINI_IEEE }, { 11, 52, MINI_IEEE }, { 5, 53, MINI_IEEE },  { 8, 53, MINI_IEEE },
    { 9, 26, MINI_IEEE },  { 10, 27, MINI_IEEE }, { 3, 5, MINI_IEEE },
};
enum {
    FORMATS = sizeof formats / sizeof formats[0],
    MINIS = sizeof minis / sizeof minis[0],
    VALUES = 64
};

static DType format(int i)
{
    if (i < FORMATS)
        return formats[i];
    Mini m = minis[i - FORMATS];
    return dtype_mini(m.e, m.p, m.style);
}

static bool same(double a, double b)
{
    return (isnan(a) && isnan(b)) || memcmp(&a, &b, sizeof a) == 0;
}

static bool same_flags(const ArithFlags *a, const ArithFlags *b)
{
    return memcmp(a, b, sizeof *a) == 0;
}

/* ---- operands: both ends, ones and their neighbours, halves, random numbers ---- */
static int make_values(DType dt, double *out)
{
    BinaryFormat f;
    Arith a;
    binary_format(dt, &f);
    arith_open(&ctx, &a, dt, ROUND_ZERO, true, false);
    double least = ldexp(1, f.emin), last = ldexp(1, f.emin - f.p + 1), ulp = ldexp(1, 1 - f.p);
    double seed[] = { 0, last, 2 * last, 3 * last, least - last, least, least + last, 1 - ulp / 2,
                      1, 1 + ulp, 1.5, 2 - ulp, 3, 10, 0.1, f.max, f.max / 2, f.max * (1 - ulp),
                      sqrt(least), sqrt(f.max), ldexp(1, f.emin / 2), ldexp(1, f.emin + f.p),
                      ldexp(1, f.p), ldexp(1, f.p) - 1 };
    int n = 0;
    for (size_t i = 0; i < sizeof seed / sizeof seed[0]; i++) {
        double x = binary_exact_f64(&a, seed[i]);
        out[n++] = x;
        out[n++] = -x;
    }
    out[n++] = (double)NAN;
    if (f.over == 'i') {
        out[n++] = (double)INFINITY;
        out[n++] = -(double)INFINITY;
    }
    while (n < VALUES) {
        double x = ldexp(check_uniform(),
                         (int)(check_random() % (uint64_t)(f.emax - f.emin + 1)) + f.emin);
        out[n++] = binary_exact_f64(&a, x);
    }
    return n;
}

/* ---- loops against integers ---- */
static const EwOp operations[] = { EW_ADD, EW_SUBTRACT, EW_MULTIPLY, EW_DIVIDE, EW_SQRT, EW_FMA };

static void report(const Arith *a, const char *what, EwOp op, const double *v, double got,
                   double want)
{
    static int told;
    if (told++ < 20)
        fprintf(stderr, "%s mode %d sat %d flush %d, %s of %a %a %a: %a, not %a\n",
                dtype_name(a->dtype), a->round, a->saturate, a->flush, what, v[0], v[1], v[2], got,
                want);
    (void)op;
}

/* n tuples of operands through strips of one table. */
static void one_table(const BinaryKernels *kernels, const Arith *a, EwOp op, double *const v[3],
                      int64_t n)
{
    double got[BINARY_STRIP];
    Arith fast = *a, slow = *a;
    BinaryPlan k = binary_plan(&fast);
    BinaryOperation o = binary_operation(&fast, &k, op);
    k.kernels = kernels;
    binary_run(&fast, &k, o, got, v[0], v[1], v[2], n);
    bool ok = true;
    for (int64_t i = 0; i < n; i++) {
        double want = binary_exact_op(&slow, op, v[0][i], v[1][i], v[2][i]);
        if (!same(got[i], want))
            report(a, ew_info[op].name, op, (double[]){ v[0][i], v[1][i], v[2][i] }, got[i], want);
        ok &= same(got[i], want);
    }
    static int told;
    if (!CHECK(same_flags(&fast.flags, &slow.flags)) && told++ < 20)
        fprintf(stderr, "flags of %s %s mode %d: o %d %d u %d %d i %d %d v %d %d z %d %d\n",
                dtype_name(a->dtype), ew_info[op].name, a->round, (int)fast.flags.overflow,
                (int)slow.flags.overflow, (int)fast.flags.underflow, (int)slow.flags.underflow,
                (int)fast.flags.inexact, (int)slow.flags.inexact, (int)fast.flags.invalid,
                (int)slow.flags.invalid, (int)fast.flags.divzero, (int)slow.flags.divzero);
    CHECK(ok);
}

static int tables(const BinaryKernels **out)
{
    int n = 0;
    out[n++] = &binary_kernels_base;
    out[n++] = &binary_kernels_wide;
    if (cpu_isa() >= ISA_AVX2)
        out[n++] = &binary_kernels_avx2;
    if (cpu_isa() >= ISA_AVX512)
        out[n++] = &binary_kernels_avx512;
    return n;
}

static void loops(const Arith *a, const double *x, int n)
{
    const BinaryKernels *table[4];
    int isas = tables(table);
    double strip[3][BINARY_STRIP], *v[3] = { strip[0], strip[1], strip[2] };
    if (!binary_has_rows(a))
        return;
    for (size_t o = 0; o < sizeof operations / sizeof operations[0]; o++)
        for (int i = 0; i < n; i += BINARY_STRIP / VALUES) {
            int64_t m = 0;
            for (int p = i; p < i + BINARY_STRIP / VALUES && p < n; p++)
                for (int q = 0; q < n; q++, m++) {
                    v[0][m] = x[p];
                    v[1][m] = x[q];
                    v[2][m] = x[check_random() % (uint64_t)n] * (check_random() % 4 ? 1 : -1);
                }
            for (int t = 0; t < isas; t++)
                one_table(table[t], a, operations[o], v, m);
        }
}

static void every_format(void)
{
    for (int f = 0; f < FORMATS + MINIS; f++)
        for (int mode = 0; mode < ROUND_MODES; mode++)
            for (int options = (f + mode) % 2; options < 4; options += 2) {
                double x[VALUES];
                Arith a;
                int n = make_values(format(f), x);
                CHECK(arith_open(&ctx, &a, format(f), (RoundMode)mode, options & 1, options & 2) ==
                      ARITH_OK);
                a.seed[0] = 7;
                loops(&a, x, n);
            }
}

/* ---- rounding ---- */
static void round_all(const Arith *a, const double *x, int64_t n)
{
    double *got = malloc((size_t)n * sizeof *got);
    Arith fast = *a, slow = *a;
    bool ok = true;
    binary_round(&fast, got, x, n);
    for (int64_t i = 0; i < n; i++) {
        double want = binary_exact_f64(&slow, x[i]);
        if (!same(got[i], want))
            report(a, "rounding", EW_ADD, (double[]){ x[i], 0, 0 }, got[i], want);
        ok &= same(got[i], want);
    }
    CHECK(ok);
    CHECK(same_flags(&fast.flags, &slow.flags));
    CHECK(fast.draw == slow.draw);
    free(got);
}

/* Numbers, midpoints, and what lies just beside both. */
static void rounding(void)
{
    for (int f = 0; f < FORMATS + MINIS; f++) {
        double x[VALUES], points[VALUES * 9];
        int n = make_values(format(f), x), m = 0;
        BinaryFormat b;
        binary_format(format(f), &b);
        for (int i = 0; i < n; i++) {
            double half = ldexp(1, (x[i] == 0 || !isfinite(x[i]) ? b.emin : ilogb(x[i])) - b.p);
            double low = ldexp(1, b.emin - b.p);
            double near[] = { x[i], x[i] + half, x[i] - half, x[i] + half / 2, x[i] + low,
                              x[i] - low, ldexp(x[i], b.emax / 2), x[i] * 0x1p-40, x[i] * 1.75 };
            for (int j = 0; j < 9; j++)
                points[m++] = j % 2 ? nextafter(near[j], (double)INFINITY) : near[j];
        }
        for (int mode = 0; mode < ROUND_MODES; mode++)
            for (int options = 0; options < 4; options++) {
                Arith a;
                arith_open(&ctx, &a, format(f), (RoundMode)mode, options & 1, options & 2);
                round_all(&a, points, m);
            }
    }
}

/* ---- integers against the machine ---- */
static void machine(void)
{
    static const struct { RoundMode mode; int fe; } modes[] = {
        { ROUND_NEAREST, FE_TONEAREST }, { ROUND_ZERO, FE_TOWARDZERO }, { ROUND_UP, FE_UPWARD },
        { ROUND_DOWN, FE_DOWNWARD } };
    double x[VALUES];
    int n = make_values(DT_F64, x);
    for (int m = 0; m < 4; m++) {
        Arith a;
        bool ok = true, flags = true;
        arith_open(&ctx, &a, DT_F64, modes[m].mode, false, false);
        for (int i = 0; i < n * n; i++) {
            volatile double u = x[i / n], v = x[i % n], w = x[(i * 7 + 3) % n], r[6];
            int raised[6];
            fesetround(modes[m].fe);
            for (int op = 0; op < 6; op++) {
                feclearexcept(FE_ALL_EXCEPT);
                switch (op) {
                case 0: r[op] = u + v; break;
                case 1: r[op] = u - v; break;
                case 2: r[op] = u * v; break;
                case 3: r[op] = u / v; break;
                case 4: r[op] = sqrt(u); break;
                default: r[op] = fma(u, v, w);
                }
                raised[op] = fetestexcept(FE_ALL_EXCEPT);
            }
            fesetround(FE_TONEAREST);
            for (int op = 0; op < 6; op++) {
                a.flags = (ArithFlags){ 0 };
                double got = binary_exact_op(&a, operations[op], u, v, w);
                bool invalid = raised[op] & FE_INVALID && !(op == 5 && isnan(w));
                if (!same(got, r[op]))
                    report(&a, "machine", operations[op], (double[]){ u, v, w }, got, r[op]);
                ok &= same(got, r[op]);
                flags &= !a.flags.inexact == !(raised[op] & FE_INEXACT) &&
                         !a.flags.overflow == !(raised[op] & FE_OVERFLOW) &&
                         !a.flags.underflow == !(raised[op] & FE_UNDERFLOW) &&
                         !a.flags.divzero == !(raised[op] & FE_DIVBYZERO) &&
                         !a.flags.invalid == !invalid;
            }
        }
        CHECK(ok);
        CHECK(flags);
    }
}

/* ---- sums ---- */
static void sums_of(const Arith *a, const double *x, int n)
{
    double y[VALUES], want[VALUES], s, exact;
    Arith fast = *a, slow = *a;
    const double c = x[18];
    memcpy(y, x, sizeof y);
    a->ops->axpy(&fast, EW_ADD, y, 1, &c, x + 1, 1, n - 1);
    for (int i = 0; i < n - 1; i++)
        want[i] = binary_exact_op(&slow, EW_ADD, x[i],
                                  binary_exact_op(&slow, EW_MULTIPLY, c, x[i + 1], 0), 0);
    bool ok = true;
    for (int i = 0; i < n - 1; i++) {
        if (!same(y[i], want[i]))
            report(a, "axpy", EW_ADD, (double[]){ x[i], c, x[i + 1] }, y[i], want[i]);
        ok &= same(y[i], want[i]);
    }
    memcpy(y, x, sizeof y);
    a->ops->axpy(&fast, EW_SUBTRACT, y, 2, &c, x + 1, 2, n / 2);
    for (int i = 0; i < n / 2; i++)
        want[i] = binary_exact_op(&slow, EW_SUBTRACT, x[2 * i],
                                  binary_exact_op(&slow, EW_MULTIPLY, c, x[2 * i + 1], 0), 0);
    for (int i = 0; i < n / 2; i++)
        ok &= same(y[2 * i], want[i]);
    CHECK(ok);
    CHECK(same_flags(&fast.flags, &slow.flags));
    for (int from = 0; from < n - 2; from += 5) {
        int m = n - from < 22 ? n - from : 22;
        fast = slow = *a;
        a->ops->sum(&fast, &s, x + from, 1, m);
        exact = binary_exact_f64(&slow, x[from]);
        for (int i = 1; i < m; i++)
            exact = binary_exact_op(&slow, EW_ADD, exact, x[from + i], 0);
        CHECK(same(s, exact));
        a->ops->dot(&fast, &s, x + from, 1, x + 1, 1, m);
        for (int i = 0; i < m; i++) {
            double p = binary_exact_op(&slow, EW_MULTIPLY, x[from + i], x[1 + i], 0);
            if (i == 0)
                slow.draw++;
            exact = i == 0 ? p : binary_exact_op(&slow, EW_ADD, exact, p, 0);
        }
        CHECK(same(s, exact));
        CHECK(same_flags(&fast.flags, &slow.flags) && fast.draw == slow.draw);
    }
}

/* Operands of 53 bits, some far out. */
static void wide_operands(const Arith *a, int n)
{
    double x[VALUES], y[VALUES], z[VALUES], s, exact = 0;
    Arith fast = *a, slow = *a;
    bool ok = true;
    fast.wide = true;
    for (int i = 0; i < n; i++) {
        x[i] = ldexp(check_uniform(), (int)(check_random() % 40) - (i % 9 ? 20 : 600));
        z[i] = y[i] = ldexp(check_uniform(), (int)(check_random() % 40) - (i % 7 ? 20 : -600));
    }
    a->ops->axpy(&fast, EW_ADD, z, 1, &x[1], x, 1, n);
    for (int i = 0; i < n; i++) {
        double p = binary_exact_op(&slow, EW_MULTIPLY, x[1], x[i], 0);
        ok &= same(z[i], binary_exact_op(&slow, EW_ADD, y[i], p, 0));
    }
    a->ops->dot(&fast, &s, x, 1, y, 1, n);
    for (int i = 0; i < n; i++) {
        double p = binary_exact_op(&slow, EW_MULTIPLY, x[i], y[i], 0);
        slow.draw += i == 0;
        exact = i == 0 ? p : binary_exact_op(&slow, EW_ADD, exact, p, 0);
    }
    CHECK(ok && same(s, exact) && same_flags(&fast.flags, &slow.flags) && fast.draw == slow.draw);
}

/* Terms of 53 bits, small ones and large ones. */
static void wide_sum(const Arith *a, int n)
{
    double x[VALUES], s;
    Arith fast = *a, slow = *a;
    for (int i = 0; i < n; i++)
        x[i] = ldexp(check_uniform(), (int)(check_random() % 40) + (i % 9 ? -30 : a->emin));
    a->ops->sum(&fast, &s, x, 1, n);
    double exact = binary_exact_f64(&slow, x[0]);
    for (int i = 1; i < n; i++)
        exact = binary_exact_op(&slow, EW_ADD, exact, x[i], 0);
    CHECK(same(s, exact) && same_flags(&fast.flags, &slow.flags) && fast.draw == slow.draw);
}

static void sums(void)
{
    for (int f = 0; f < FORMATS + MINIS; f++)
        for (int mode = 0; mode < ROUND_MODES; mode++)
            for (int options = 0; options < 4; options++) {
                double x[VALUES];
                Arith a;
                int n = make_values(format(f), x);
                arith_open(&ctx, &a, format(f), (RoundMode)mode, options & 1, options & 2);
                sums_of(&a, x, n);
                for (int i = 0; i < n; i++)      /* numbers that do not leave the format at once */
                    x[i] = binary_exact_f64(&a, check_uniform() * (i % 3 ? 1 : 16));
                sums_of(&a, x, n);
                wide_sum(&a, n);
                wide_operands(&a, n);
            }
}

/* ---- matrix products ---- */
typedef struct Shape { int m, n, k; } Shape;

/* The sum as its order and its draws say. */
static double element(Arith *a, const double *x, const double *y, Shape s, int i, int j)
{
    uint64_t row = (uint64_t)i * (uint64_t)s.n * (uint64_t)(2 * s.k - 1);
    double sum = 0;
    for (int l = 0; l < s.k; l++) {
        a->draw = row + (uint64_t)(l == 0 ? j : s.n + 2 * s.n * (l - 1) + 2 * j);
        double p = binary_exact_op(a, EW_MULTIPLY, x[i * s.k + l], y[l * s.n + j], 0);
        sum = l == 0 ? p : binary_exact_op(a, EW_ADD, sum, p, 0);
    }
    return sum;
}

static void product_of(const Arith *a, Shape s, double *x, double *y)
{
    enum { MOST = 48 * 48 };
    static double c[MOST], turned[MOST];
    Arith fast = *a, slow = *a;
    bool ok = true;
    /* A comes by columns. */
    for (int i = 0; i < s.m; i++)
        for (int l = 0; l < s.k; l++)
            turned[l * s.m + i] = x[i * s.k + l];
    ArithMatrix C = { (char *)c, s.n, 1 }, A = { (char *)turned, 1, s.m },
                B = { (char *)y, s.n, 1 };
    CHECK(arith_matmul(&fast, C, A, B, s.m, s.n, s.k) == ARITH_OK);
    for (int i = 0; i < s.m; i++)
        for (int j = 0; j < s.n; j++) {
            double want = element(&slow, x, y, s, i, j);
            if (!same(c[i * s.n + j], want))
                report(a, "product", EW_ADD, (double[]){ i, j, s.k }, c[i * s.n + j], want);
            ok &= same(c[i * s.n + j], want);
        }
    CHECK(ok);
    CHECK(same_flags(&fast.flags, &slow.flags));
}

static void products(void)
{
    static const Shape shapes[] = { { 5, 40, 7 },   { 3, 9, 1 },  { 40, 3, 6 }, { 2, 2, 2 },
                                    { 33, 35, 20 }, { 1, 30, 9 }, { 4, 8, 0 },
                                    { 48, 40, 40 } };
    static double x[48 * 48], y[48 * 48];
    for (int f = 0; f < FORMATS + MINIS; f++)
        for (size_t s = 0; s < sizeof shapes / sizeof shapes[0]; s++)
            for (int kind = 0; kind < (shapes[s].m == 48 ? 1 : 6); kind++) {
                double edge[VALUES], scale;
                Arith a;
                int n = make_values(format(f), edge);
                arith_open(&ctx, &a, format(f), ROUND_NEAREST, false, kind == 4);
                scale = kind == 5 ? ldexp(1, a.emax / 2 - 4) : 1;    /* large, but in range */
                for (int i = 0; i < 48 * 48; i++) {
                    double u = check_uniform(), v = check_uniform();
                    double zero = u < 0 ? -0.0 : 0.0;
                    double odd = kind == 1 ? zero : kind == 2 ? edge[i % n] : u * 0x1p-9;
                    x[i] = kind == 0 || i % 5 ? u * scale : odd;
                    y[i] = kind == 1 && i % 2 ? -zero : kind == 3 ? v * 64 : v * scale;
                }
                binary_round(&a, x, x, 48 * 48);
                binary_round(&a, y, y, 48 * 48);
                a.flags = (ArithFlags){ 0 };
                a.draw = 0;
                product_of(&a, shapes[s], x, y);
                a.round = kind & 1 ? ROUND_UP : ROUND_STOCHASTIC;
                if (s == 0 || s == 4 || s == 7)
                    product_of(&a, shapes[s], x, y);
            }
}

/* Interrupted, or without memory for the quick way. */
static void hindered(void)
{
    static double x[48 * 48], c[48 * 48], y[600];
    const void *operands[] = { x, x };
    const int64_t strides[] = { 1, 1 };
    size_t limit = ctx.mem.limit;
    Arith a;
    for (int i = 0; i < 48 * 48; i++)
        x[i] = i % 7;
    ArithMatrix A = { (char *)x, 48, 1 }, C = { (char *)c, 48, 1 };
    arith_open(&ctx, &a, DT_F16, ROUND_NEAREST, false, false);
    interrupted = 1;
    CHECK(arith_matmul(&a, C, A, A, 48, 48, 48) == ARITH_INTERRUPT);
    CHECK(a.ops->ew(&a, EW_ADD, y, 1, operands, strides, 600) == ARITH_INTERRUPT);
    CHECK(a.ops->sum(&a, y, x, 1, 600) == ARITH_INTERRUPT);
    interrupted = 0;
    ctx.mem.limit = 1;
    CHECK(arith_matmul(&a, C, A, A, 48, 48, 48) == ARITH_OK);
    ctx.mem.limit = limit;
    CHECK(c[0] == element(&a, x, x, (Shape){ 48, 48, 48 }, 0, 0));
}

/* ---- loads, casts and storage ---- */
static void integers(void)
{
    static const int64_t x[] = { 0, 1, -1, 2049, 2051, INT64_MAX, INT64_MIN,
                                 ((int64_t)1 << 53) + 1, -(((int64_t)1 << 60) + 1) };
    enum { N = sizeof x / sizeof x[0] };
    static const double inf = (double)INFINITY;
    const double f16[N] = { 0, 1, -1, 2048, 2052, inf, -inf, inf, -inf };
    double out[N], up[N];
    Arith a;
    arith_open(&ctx, &a, DT_F16, ROUND_NEAREST, false, false);
    CHECK(a.ops->load(&a, out, 1, DT_I64, x, 1, N) == ARITH_OK);
    CHECK(memcmp(out, f16, sizeof out) == 0 && a.flags.inexact == 6 && a.flags.overflow == 4);
    arith_open(&ctx, &a, DT_F64, ROUND_UP, false, false);
    a.ops->load(&a, up, 1, DT_I64, x, 1, N);
    CHECK(up[5] == 0x1p63 && up[6] == -0x1p63 && up[7] == 0x1p53 + 2 && up[8] == -0x1p60 &&
          a.flags.inexact == 3);
}

static void rationals(void)
{
    static const Rational third = { 1, 2 }, big = { -(((int64_t)1 << 62) + 1), 0 },
                          tie = { 2049, 0 };
    double out;
    Arith a;
    arith_open(&ctx, &a, DT_F64, ROUND_ZERO, false, false);
    a.ops->load(&a, &out, 1, DT_RATIONAL, &third, 1, 1);
    CHECK(out == 0x1.5555555555555p-2 && a.flags.inexact == 1);
    a.round = ROUND_DOWN;
    a.ops->load(&a, &out, 1, DT_RATIONAL, &big, 1, 1);
    CHECK(out == nextafter(-0x1p62, -(double)INFINITY));
    arith_open(&ctx, &a, DT_F16, ROUND_AWAY, false, false);
    a.ops->load(&a, &out, 1, DT_RATIONAL, &tie, 1, 1);
    CHECK(out == 2050);
}

/* Every code of a byte format comes back; nans all alike. */
static void bytes(DType dt)
{
    uint8_t code[256], back[256], one;
    double x[256], single;
    float f[256];
    bool ok = true;
    BinaryFormat b;
    binary_format(dt, &b);
    for (int i = 0; i < 256; i++)
        code[i] = (uint8_t)i;
    binary_unpack(dt, x, code, 256);
    binary_pack(dt, back, x, 256);
    cast_run(DT_F32, f, 1, dt, code, 1, 256);
    for (int i = 0; i < 256; i++) {
        int field = (i & 0x7f) >> (b.p - 1), m = i & ((1 << (b.p - 1)) - 1);
        double size =
            ldexp(field ? m + (1 << (b.p - 1)) : m, (field ? field : 1) - 1 + b.emin - b.p + 1);
        bool nan = b.over == 'n' ? (i & 0x7f) == 0x7f : field == 31 && m;
        if (b.over == 'i' && field == 31 && !m)
            size = (double)INFINITY;
        binary_unpack(dt, &single, &code[i], 1);
        binary_pack(dt, &one, &x[i], 1);
        int code_nan = b.over == 'n' ? 0x7f : 0x7e;
        size = nan ? (double)NAN : i & 0x80 ? -size : size;
        ok &= same(x[i], size) && same(single, x[i]) && same((double)f[i], x[i]);
        ok &= one == back[i] && (nan ? (back[i] & 0x7f) == code_nan : back[i] == i);
    }
    CHECK(ok);
}

/* Casts round as loads to nearest do, in bulk and one by one, and from f32 as well. */
static void casts(void)
{
    enum { N = 4099 };
    static const DType to[] = { DT_E4M3, DT_E5M2, DT_F16, DT_BF16 };
    static double x[N], want[N], got[N];
    static float narrow[N];
    static uint16_t stored[N];
    for (int i = 0; i < N; i++)
        x[i] = i < 1200 ? ldexp((double)(i + (i % 3 - 1) * 0x1p-40), i % 40 - 28)
                        : ldexp(check_uniform(), i % 60 - 40);
    for (int i = 1200; i < 2400; i++) /* subnormals of bf16 and of the others, ties and almost */
        x[i] = ldexp(i % 512 + (i % 3 - 1) * 0x1p-40, i % 8 - (i % 2 ? 140 : 30));
    x[7] = (double)NAN;
    x[8] = (double)INFINITY;
    x[9] = 464;
    x[10] = nextafter(464, 1000);
    x[11] = 61440;
    x[12] = nextafter(61440, 0);
    for (int t = 0; t < 4; t++) {
        Arith a;
        bool ok = true;
        arith_open(&ctx, &a, to[t], ROUND_NEAREST, false, false);
        for (int from = 0; from < 2; from++) {
            DType source = from ? DT_F32 : DT_F64;
            size_t bytes_to = dtype_info(to[t])->bytes;
            const char *all = from ? (char *)narrow : (char *)x, *out = (char *)stored;
            for (int i = 0; i < N; i++) {
                narrow[i] = (float)x[i];
                want[i] = binary_exact_f64(&a, from ? (double)narrow[i] : x[i]);
            }
            cast_run(to[t], stored, 1, source, all, 1, N);
            binary_unpack(to[t], got, stored, N);
            for (int i = 0; i < N; i++) {
                uint16_t one = 0;
                cast_run(to[t], &one, 1, source, all + i * (from ? 4 : 8), 1, 1);
                ok &= same(got[i], want[i]) &&
                      memcmp(&one, out + (size_t)i * bytes_to, bytes_to) == 0;
            }
        }
        CHECK(ok);
    }
    DType tf32 = dtype_mini(8, 11, MINI_IEEE);
    Arith a;
    bool ok = true;
    arith_open(&ctx, &a, tf32, ROUND_NEAREST, false, false);
    cast_run(tf32, got, 1, DT_F64, x, 1, N);
    for (int i = 0; i < N; i++)
        ok &= same(got[i], binary_exact_f64(&a, x[i]));
    CHECK(ok);
}

/* ---- stochastic ---- */
/* How often does x go up? Within five standard deviations of what the distance says. */
static void chance(DType dt, double x, double distance)
{
    enum { N = 1 << 16 };
    static double in[N], out[N];
    Arith a;
    int64_t ups = 0;
    bool neighbours = true;
    arith_open(&ctx, &a, dt, ROUND_ZERO, false, false);
    double low = binary_exact_f64(&a, x);
    a.round = ROUND_STOCHASTIC;
    a.seed[0] = 12345;
    for (int i = 0; i < N; i++)
        in[i] = x;
    binary_round(&a, out, in, N);
    for (int i = 0; i < N; i++) {
        ups += out[i] != low;
        neighbours &= out[i] == low || isnan(out[i]) || fabs(out[i]) > fabs(x);
    }
    CHECK(neighbours);
    CHECK(fabs((double)ups - distance * N) <= 5 * sqrt(N * distance * (1 - distance)) + 1e-9);
}

static void stochastic(void)
{
    chance(DT_F16, 1 + 0x1p-12, 0.25);
    chance(DT_F16, -(1 + 0x1p-10 + 3 * 0x1p-13), 0.375);
    chance(DT_BF16, 0x1.01p0 + 0x1p-20, 0.5 + 0x1p-13);
    chance(DT_E4M3, 0x1p-12, 0.125);
    chance(DT_E4M3, 448 + 8, 0.25);
    chance(DT_F16, 1.5, 0);
    chance(DT_BF16, 0x1p-200, 0);
}

/* ---- facts ---- */
static void facts(void)
{
    static const struct { DType dt; int p, emin, emax; double max; char over; } known[] = {
        { DT_F64, 53, -1022, 1023, DBL_MAX, 'i' }, { DT_F32, 24, -126, 127, FLT_MAX, 'i' },
        { DT_F16, 11, -14, 15, 65504, 'i' },       { DT_BF16, 8, -126, 127, 0x1.fep127, 'i' },
        { DT_E4M3, 4, -6, 8, 448, 'n' },           { DT_E5M2, 3, -14, 15, 57344, 'i' },
    };
    BinaryFormat f;
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        CHECK(binary_format(known[i].dt, &f));
        CHECK(f.p == known[i].p && f.emin == known[i].emin && f.emax == known[i].emax &&
              f.max == known[i].max && f.over == known[i].over);
    }
    CHECK(binary_format(dtype_mini(2, 2, MINI_FINITE), &f) && f.max == 6 && f.emin == 0 &&
          f.over == 's');
    CHECK(binary_format(dtype_mini(3, 3, MINI_FINITE), &f) && f.max == 28 && f.emin == -2);
    CHECK(binary_format(dtype_mini(2, 4, MINI_FINITE), &f) && f.max == 7.5 && f.emin == 0);
    CHECK(!binary_format(DT_I64, &f) && !binary_format(DT_RATIONAL, &f) &&
          !binary_format(DT_C64, &f));
    Arith a;
    CHECK(arith_open(&ctx, &a, DT_I32, ROUND_NEAREST, false, false) == ARITH_NONE);
    int order[2];
    arith_open(&ctx, &a, DT_F16, ROUND_NEAREST, false, false);
    a.ops->compare(&a, &(double){ 1 }, &(double){ 2 }, &order[0]);
    a.ops->compare(&a, &(double){ 1 }, &(double){ (double)NAN }, &order[1]);
    CHECK(order[0] == -1 && order[1] == 2);
}

int main(void)
{
    mem_init(&ctx);
    ctx.mem.limit = (size_t)4 << 30;
    facts();
    machine();
    rounding();
    every_format();
    sums();
    products();
    hindered();
    integers();
    rationals();
    bytes(DT_E4M3);
    bytes(DT_E5M2);
    casts();
    stochastic();
    pool_shutdown(&ctx);
    mem_shutdown(&ctx);
    return check_result();
}
