/* Products of matrices of decimal and mp numbers against the sums of one operation after the other
 * that they stand for: the same cells, the same flags, in every mode and at every length of limbs,
 * with zeros, infinities, NaN, ties, cancellation and exponents far from each other. And rows of
 * flat mp numbers against rows of cells, which MPFR computes: every bit, every flag, every draw. */
#include "kernels/number/arith_number.h"
#include "tests/unit/check.h"

#include <stdlib.h>

enum { MOST = 6 };               /* rows, columns, and the inner length up to its square */

static Ctx ctx_storage, *ctx = &ctx_storage;
static InterruptFlag no_interrupt;

static uint64_t below(uint64_t n) { return check_random() % n; }

/* How wild the numbers of a product are. */
typedef enum Style { TAME, TIES, FAR, ZEROS, SPECIAL, ENDS, STYLES } Style;

static int64_t exponent(const Arith *a, Style style)
{
    int64_t d = a->digits;
    if (style == TIES)
        return (int64_t)below(3) - 1;
    if (style == FAR)
        return (int64_t)below((uint64_t)(6 * d + 200)) - 3 * d - 100;
    if (style == ENDS && below(4) == 0)
        return (below(2) ? 1 : -1) * (int64_t)(below(2) ? 300000000 : 80000000);
    return (int64_t)below(12) - 6;
}

/* Few digits, many, nines, ones and fives: what ties and carries are made of. */
static size_t digits(const Arith *a, Style style, char *text)
{
    static const char *const of[] = { "0123456789", "9", "05", "0000001", "0123456789" };
    int64_t most = a->digits + (dtype_base(a->dtype) == DT_MP ? 2 : 0);
    size_t n = 1 + (size_t)below((uint64_t)(style == TIES && below(2) ? (most + 1) / 2 : most));
    const char *from = of[below(5)];
    for (size_t i = 0; i < n; i++)
        text[i] = from[below(strlen(from))];
    return n;
}

static Rational number(Arith *a, Style style)
{
    char text[800];
    Rational cell;
    size_t at = 1;
    text[0] = below(2) ? '-' : '+';
    if (style == SPECIAL && below(12) == 0)
        return below(2) ? cell_small(0, false, NUMBER_NAN, 0)
                        : cell_small(0, below(2), NUMBER_INF, 0);
    if ((style == ZEROS || style == SPECIAL) && below(2) == 0)
        return cell_small(0, below(2), NUMBER_FINITE, 0);
    at += digits(a, style, text + 1);
    snprintf(text + at, sizeof text - at, "e%lld", (long long)exponent(a, style) -
             (long long)(style == FAR ? 0 : at));
    Arith quiet = *a;
    CHECK(number_from_text(&quiet, &cell, text, strlen(text)) == ARITH_OK);
    return cell;
}

static bool same(Rational x, Rational y)
{
    size_t n, m;
    if (!(x.tail & CELL_BLOCK) || !(y.tail & CELL_BLOCK))
        return x.tail == y.tail && x.num == y.num;
    const mp_limb_t *a = rational_block_limbs(x.num, &n), *b = rational_block_limbs(y.num, &m);
    return x.tail == y.tail && n == m && memcmp(a, b, n * sizeof *a) == 0;
}

/* Operands row by row, or turned. */
static ArithMatrix matrix(Rational *cells, int64_t rows, int64_t cols)
{
    bool turned = below(2);
    return (ArithMatrix){ (char *)cells, turned ? 1 : cols, turned ? rows : 1 };
}

static Rational *at(ArithMatrix x, int64_t i, int64_t j)
{
    return (Rational *)(void *)x.data + i * x.row + j * x.col;
}

static bool check_elements(Arith *a, ArithMatrix C, ArithMatrix A, ArithMatrix B,
                           const int64_t *mnk)
{
    bool good = true;
    for (int64_t i = 0; i < mnk[0]; i++)
        for (int64_t j = 0; j < mnk[1]; j++) {
            Rational want;
            good &= a->ops->dot(a, &want, at(A, i, 0), A.col, at(B, 0, j), B.row, mnk[2]) ==
                    ARITH_OK;
            good &= same(*at(C, i, j), want);
        }
    return good;
}

/* One product; did the format's own loops take it? */
static bool check_product(DType dt, RoundMode round, Style style)
{
    static Rational x[MOST * MOST * MOST], y[MOST * MOST * MOST], z[MOST * MOST];
    int64_t mnk[] = { 1 + (int64_t)below(MOST), 1 + (int64_t)below(MOST),
                      1 + (int64_t)below(MOST * MOST) };
    int64_t m = mnk[0], n = mnk[1], k = mnk[2];
    Arith a, b, c;
    CHECK(arith_open(ctx, &a, dt, round, false, false) == ARITH_OK);
    for (int64_t i = 0; i < m * k; i++)
        x[i] = number(&a, style);
    for (int64_t i = 0; i < n * k; i++)
        y[i] = number(&a, style);
    ArithMatrix A = matrix(x, m, k), B = matrix(y, k, n), C = matrix(z, m, n);
    b = c = a;
    bool taken = a.ops->matmul(&a, C, A, B, m, n, k) != ARITH_NONE;
    bool good = !taken || check_elements(&b, C, A, B, mnk);
    good &= !taken || memcmp(&a.flags, &b.flags, sizeof a.flags) == 0;
    good &= arith_matmul(&c, C, A, B, m, n, k) == ARITH_OK;
    b.flags = (ArithFlags){ 0 };
    good &= check_elements(&b, C, A, B, mnk);
    good &= memcmp(&c.flags, &b.flags, sizeof c.flags) == 0;
    if (!CHECK(good))
        fprintf(stderr, "%s mode %d style %d: %d x %d, %d\n", dtype_name(dt), round, style, (int)m,
                (int)n, (int)k);
    return taken;
}

static void check_format(DType dt, int times)
{
    static const int modes[] = { ROUND_NEAREST, ROUND_AWAY, ROUND_ZERO, ROUND_UP, ROUND_DOWN,
                                 ROUND_ODD };
    int taken = 0, all = 0;
    for (int i = 0; i < times; i++)
        for (int mode = 0; mode < 6; mode++)
            for (int style = 0; style < STYLES; style++) {
                bool own = check_product(dt, (RoundMode)modes[mode], (Style)style);
                taken += own && style < SPECIAL;
                all += style < SPECIAL;
            }
    CHECK(3 * taken > 2 * all);              /* or else the test compares nothing */
}

/* What is not theirs is left as it was. */
static void check_refusals(void)
{
    Rational x[64], z[16];
    Arith a, wide;
    for (int i = 0; i < 64; i++)
        x[i] = cell_small(3, false, NUMBER_FINITE, 0);
    ArithMatrix A = { (char *)x, 8, 1 }, C = { (char *)z, 4, 1 };
    CHECK(arith_open(ctx, &a, dtype_decimal(20), ROUND_STOCHASTIC, false, false) == ARITH_OK);
    CHECK(a.ops->matmul(&a, C, A, A, 4, 4, 8) == ARITH_NONE);
    CHECK(arith_open(ctx, &a, dtype_decimal(200), ROUND_NEAREST, false, false) == ARITH_OK);
    CHECK(a.ops->matmul(&a, C, A, A, 4, 4, 8) == ARITH_NONE);
    CHECK(arith_open(ctx, &a, dtype_mp(600), ROUND_NEAREST, false, false) == ARITH_OK);
    CHECK(a.ops->matmul(&a, C, A, A, 4, 4, 8) == ARITH_NONE);
    CHECK(arith_open(ctx, &a, dtype_decimal(20), ROUND_NEAREST, false, false) == ARITH_OK);
    CHECK(arith_open(ctx, &wide, dtype_decimal(25), ROUND_NEAREST, false, false) == ARITH_OK);
    CHECK(number_from_text(&wide, &x[5], "1234567890123456789012345", 25) == ARITH_OK);
    CHECK(a.ops->matmul(&a, C, A, A, 4, 4, 8) == ARITH_NONE);
    atomic_store(&no_interrupt, 1);
    x[5] = x[4];
    CHECK(arith_matmul(&a, C, A, A, 4, 4, 8) == ARITH_INTERRUPT);
    atomic_store(&no_interrupt, 0);
}

/* ---- flat numbers ---- */

enum { ROW = 24 };

typedef struct Sides { Arith plain, flat; } Sides;

/* The flat row, as cells, is the other one, and so are all counts. */
static bool alike(Sides *s, const char *flat, const Rational *cells, int64_t n)
{
    static Rational stored[ROW];
    bool good = s->flat.ops->store(&s->flat, stored, 1, flat, 1, n) == ARITH_OK;
    for (int64_t i = 0; i < n; i++)
        good &= same(stored[i], cells[i]);
    return good && s->plain.draw == s->flat.draw &&
           memcmp(&s->plain.flags, &s->flat.flags, sizeof s->plain.flags) == 0;
}

static bool check_flat_row(Sides *s, EwOp op, const Rational *cells, const char *flat)
{
    static Rational want[ROW];
    static char got[ROW * 128];
    const int64_t steps[3] = { 1, 1, 1 };
    int64_t size = s->flat.size;
    const void *x[3] = { cells, cells + ROW, cells + 2 * ROW };
    const void *y[3] = { flat, flat + ROW * size, flat + 2 * ROW * size };
    ArithStatus status = s->plain.ops->ew(&s->plain, op, want, 1, x, steps, ROW);
    bool good = s->flat.ops->ew(&s->flat, op, got, 1, y, steps, ROW) == status;
    if (status != ARITH_OK)
        return false;
    return good && (ew_info[op].result == RES_BOOL ? memcmp(want, got, ROW) == 0
                                                   : alike(s, got, want, ROW));
}

/* Sums of products, strides, and a row over an operand. */
static bool check_flat_sums(Sides *s, Rational *cells, char *flat)
{
    Rational want;
    char got[128];
    const int64_t size = s->flat.size, n = ROW / 2;
    Arith *p = &s->plain, *f = &s->flat;
    bool good = true;
    int order[2];
    p->ops->dot(p, &want, cells, 2, cells + ROW, 1, n);
    f->ops->dot(f, got, flat, 2, flat + ROW * size, 1, n);
    good &= alike(s, got, &want, 1);
    p->ops->sum(p, &want, cells + 1, 2, n);
    f->ops->sum(f, got, flat + size, 2, n);
    good &= alike(s, got, &want, 1);
    for (int64_t i = 0; i + 1 < 2 * ROW; i++) {
        p->ops->compare(p, &cells[i], &cells[i + 1], &order[0]);
        f->ops->compare(f, flat + i * size, flat + (i + 1) * size, &order[1]);
        good &= order[0] == order[1];
    }
    for (int k = 0; k < 2; k++) {
        EwOp op = k ? EW_SUBTRACT : EW_ADD;
        p->ops->axpy(p, op, cells, 1, cells + 2 * ROW, cells + ROW, 1, ROW);
        f->ops->axpy(f, op, flat, 1, flat + 2 * ROW * size, flat + ROW * size, 1, ROW);
        good &= alike(s, flat, cells, ROW);
    }
    return good;
}

static void check_flat(DType dt, RoundMode round, Style style)
{
    static const EwOp ops[] = { EW_ADD, EW_SUBTRACT, EW_MULTIPLY, EW_DIVIDE, EW_SQRT, EW_ABS,
                                EW_NEGATIVE, EW_POSITIVE, EW_FMA, EW_HYPOT, EW_MAXIMUM, EW_CLAMP,
                                EW_WHERE, EW_NEXTAFTER, EW_FLOOR, EW_SIGN, EW_LESS, EW_EQUAL,
                                EW_ISNAN, EW_ISFINITE };
    static Rational cells[3 * ROW];
    static char flat[3 * ROW * 128];
    Sides s;
    CHECK(arith_open(ctx, &s.plain, dt, round, false, false) == ARITH_OK);
    CHECK(arith_flat(&s.plain, &s.flat) && s.flat.size <= 128);
    for (int i = 0; i < 3 * ROW; i++)
        cells[i] = number(&s.plain, style);
    for (int i = 1; i < ROW && style != TAME; i += 5)       /* that cancel */
        cells[ROW + i] = cells[i];
    CHECK(s.flat.ops->load(&s.flat, flat, 1, dt, cells, 1, 3 * ROW) == ARITH_OK);
    CHECK(alike(&s, flat, cells, ROW));
    for (size_t k = 0; k < sizeof ops / sizeof *ops; k++)
        if (!CHECK(check_flat_row(&s, ops[k], cells, flat)))
            fprintf(stderr, "%s mode %d style %d: operation %d of flat numbers\n", dtype_name(dt),
                    round, style, ops[k]);
    CHECK(check_flat_sums(&s, cells, flat));
}

static void check_flats(DType dt, int times)
{
    static const int modes[] = { ROUND_NEAREST, ROUND_AWAY, ROUND_ZERO, ROUND_UP, ROUND_DOWN,
                                 ROUND_ODD };
    double x[ROW], seven = 7;
    char flat[128];
    Sides s;
    for (int i = 0; i < times; i++)
        for (int mode = 0; mode < 6; mode++)
            for (int style = 0; style < STYLES; style++)
                check_flat(dt, (RoundMode)modes[mode], (Style)style);
    CHECK(arith_open(ctx, &s.plain, dt, ROUND_STOCHASTIC, false, false) == ARITH_OK);
    CHECK(!arith_flat(&s.plain, &s.flat));
    CHECK(arith_open(ctx, &s.plain, dt, ROUND_DOWN, false, false) == ARITH_OK);
    CHECK(arith_flat(&s.plain, &s.flat));
    for (int i = 0; i < ROW; i++) {
        x[i] = i == 0 ? 0.0 : ldexp(i % 2 ? 1 : -1, 40 * i - 400);     /* 1 bit: in all formats */
        CHECK(s.flat.ops->load(&s.flat, flat, 1, DT_F64, &x[i], 1, 1) == ARITH_OK);
        CHECK(arith_flat_f64(&s.flat, flat) == x[i]);
    }
    Rational cell;                           /* rounded on the way in, and counted */
    s.flat.draw = s.plain.draw;
    s.plain.ops->load(&s.plain, &cell, 1, DT_F64, &seven, 1, 1);
    s.flat.ops->load(&s.flat, flat, 1, DT_F64, &seven, 1, 1);
    CHECK(alike(&s, flat, &cell, 1));
}

int main(int argc, char **argv)
{
    static const int decimals[] = { 3, 4, 7, 16, 18, 19, 20, 30, 38, 39, 50, 57, 58, 77 };
    static const int bits[] = { 2, 24, 63, 64, 65, 113, 128, 192, 200, 256, 300, 384, 400, 448,
                                500, 512 };
    int times = argc > 1 ? atoi(argv[1]) : 4;
    mem_init(ctx);
    ctx->interrupt = &no_interrupt;
    for (size_t i = 0; i < sizeof decimals / sizeof *decimals; i++)
        check_format(dtype_decimal(decimals[i]), times);
    for (size_t i = 0; i < sizeof bits / sizeof *bits; i++)
        check_format(dtype_mp(bits[i]), times);
    for (size_t i = 0; i < sizeof bits / sizeof *bits; i++)
        check_flats(dtype_mp(bits[i]), 4 * times);
    Arith long_one, flat;
    CHECK(arith_open(ctx, &long_one, dtype_mp(513), ROUND_NEAREST, false, false) == ARITH_OK);
    CHECK(!arith_flat(&long_one, &flat));
    check_refusals();
    rational_heap_free(ctx);
    pool_shutdown(ctx);
    return check_result();
}
