/* Contractions of operands that are stored in narrower floats, against the definition in f64: the
 * conversions (dense, with gaps, overlapping windows, backwards), which must not change the plan of
 * what they give, and the kernel of the bf16 instruction. Where the processor lacks AVX512-BF16 the
 * instruction is computed by what stands for it, from the same source of the kernel. */
#include "kernels/cast/tensor_cast.h"
#include "kernels/contract/contract.h"
#include "kernels/pair/contract_pair_ways.h"
#include "kernels/blas/dnnl.h"
#include "kernels/elementwise/ew.h"
#include "tests/unit/check.h"

#include <stdlib.h>

static Ctx ctx;

static int64_t pick(int64_t n) { return (int64_t)(check_random() % (uint64_t)n); }

enum { ROOM = 1 << 20 };
static double wide[3][ROOM];
static uint16_t half[2][ROOM];
static float single[2][ROOM], out[ROOM], again[ROOM];

/* Numbers of dt; as f64, f32 and dt. `whole`: small integers, of which every sum is exact. */
static void fill(DType dt, int which, int64_t n, bool whole)
{
    for (int64_t i = 0; i < n; i++) {
        double x = whole ? (double)(pick(17) - 8) : check_uniform();
        cast_run(dt, &half[which][i], 1, DT_F64, &x, 1, 1);
        cast_run(DT_F64, &wide[which][i], 1, dt, &half[which][i], 1, 1);
        single[which][i] = (float)wide[which][i];
    }
}

/* ---- products of matrices ---- */

typedef struct Case {
    int64_t b, m, n, k;
    int64_t a[3], w[3];             /* steps: batch, row, depth; batch, depth, column */
    int64_t a0, w0;                 /* position 0 */
} Case;

/* A side of b x r x c in one of five layouts; returns how many elements of memory it wants. */
static int64_t lay(int64_t b, int64_t r, int64_t c, int64_t *step, int64_t *origin)
{
    int64_t gap = 1 + pick(2), wide_c = c * gap + pick(3);
    *origin = 0;
    switch (pick(4)) {
    case 0: step[2] = gap, step[1] = wide_c, step[0] = r * wide_c; break;
    case 1: step[1] = 1, step[2] = r, step[0] = r * c; break;
    case 2: step[2] = 1, step[0] = c, step[1] = b * c; break;
    default:
        step[2] = -1, step[1] = -c, step[0] = r * c;
        *origin = r * c - 1;
        break;
    }
    return b * r * wide_c + b * r * c + 64;
}

static void make_case(Case *x, int64_t most)
{
    x->b = 1 + pick(3), x->m = 1 + pick(most), x->n = 1 + pick(most), x->k = 1 + pick(2 * most);
    lay(x->b, x->m, x->k, x->a, &x->a0);
    lay(x->b, x->k, x->n, x->w, &x->w0);
}

static Contraction contraction(const Case *x, ContractOperand *operand, DType stored)
{
    Contraction c;
    memset(&c, 0, sizeof c);
    memset(operand, 0, 2 * sizeof *operand);
    c.dtype = DT_F32;
    c.semiring = SR_PLUS_TIMES;
    c.labels = 4, c.operands = 2, c.operand = operand;
    c.extent[0] = x->b, c.extent[1] = x->m, c.extent[2] = x->n, c.extent[3] = x->k;
    c.out = 7;
    c.out_stride[0] = x->m * x->n, c.out_stride[1] = x->n, c.out_stride[2] = 1;
    operand[0] = (ContractOperand){ .labels = 1 | 2 | 8, .stride = { x->a[0], x->a[1], 0, x->a[2] },
                                    .stored = (uint8_t)stored };
    operand[1] = (ContractOperand){ .labels = 1 | 4 | 8, .stride = { x->w[0], 0, x->w[2], x->w[1] },
                                    .stored = (uint8_t)stored };
    return c;
}

/* Largest error in units of what rounding may do; -1: something is not a number. */
static double worst(const Case *x, const float *c)
{
    double most = 0;
    for (int64_t b = 0; b < x->b; b++)
        for (int64_t i = 0; i < x->m; i++)
            for (int64_t j = 0; j < x->n; j++) {
                double sum = 0, size = 0;
                for (int64_t q = 0; q < x->k; q++) {
                    double p = wide[0][x->a0 + b * x->a[0] + i * x->a[1] + q * x->a[2]] *
                               wide[1][x->w0 + b * x->w[0] + q * x->w[1] + j * x->w[2]];
                    sum += p;
                    size += fabs(p);
                }
                double error = fabs(sum - (double)c[(b * x->m + i) * x->n + j]);
                double allowed = (size * 0x1p-24 + 0x1p-149) * (double)(x->k + 2);
                most = error / allowed > most ? error / allowed : most;
                if (!isfinite(error))
                    return INFINITY;
            }
    return most;
}

static void run(const Contraction *c, const Case *x, float *to, bool stored)
{
    ContractPlan *plan = contract_plan(&ctx, c, NULL);
    const void *data[2] = { stored ? (void *)(half[0] + x->a0) : (void *)(single[0] + x->a0),
                            stored ? (void *)(half[1] + x->w0) : (void *)(single[1] + x->w0) };
    memset(to, 0xff, (size_t)(x->b * x->m * x->n) * sizeof *to);
    contract_run(&ctx, plan, to, data);
    contract_plan_free(&ctx, plan);
}

static void test_stored(DType dt, int rounds)
{
    for (int r = 0; r < rounds; r++) {
        Case x;
        ContractOperand operand[2];
        make_case(&x, r % 5 == 0 ? 60 : 14);
        fill(dt, 0, x.a0 + x.b * (x.m + 1) * (2 * x.k + 6), false);
        fill(dt, 1, x.w0 + x.b * (x.k + 1) * (2 * x.n + 6), false);
        Contraction c = contraction(&x, operand, dt);
        run(&c, &x, out, true);
        CHECK(worst(&x, out) <= 1);
        /* What is converted as it lies is the product of the converted numbers, bit for bit. */
        bool dense = llabs(x.a[2]) == 1 && llabs(x.w[2]) == 1;
        if (dense && !(dt == DT_BF16 && pair_kernel_bf16())) {
            c = contraction(&x, operand, DT_BOOL);
            run(&c, &x, again, false);
            CHECK(memcmp(out, again, (size_t)(x.b * x.m * x.n) * sizeof *out) == 0);
        }
    }
}

/* ---- the instruction's kernel ---- */

static void run_bf16(const Contraction *c, const Case *x)
{
    PairPlan *plan = pair_plan_wanted(&ctx, c, &pair_way_bf16);
    memset(out, 0xff, (size_t)(x->b * x->m * x->n) * sizeof *out);
    pair_run(&ctx, plan, out, half[0] + x->a0, half[1] + x->w0);
    pair_plan_free(&ctx, plan);
}

static void test_bf16(int rounds)
{
    for (int r = 0; r < rounds; r++) {
        Case x;
        PairForm f;
        ContractOperand operand[2];
        make_case(&x, r % 7 == 0 ? 150 : 60);
        if (r % 9 == 0)
            x.k = 700 + pick(700), x.m = 10 + pick(40), x.n = 10 + pick(20), x.b = 1,
            lay(1, x.m, x.k, x.a, &x.a0), lay(1, x.k, x.n, x.w, &x.w0);
        Contraction c = contraction(&x, operand, DT_BF16);
        pair_form(&f, &c);
        if (!pair_takes_bf16(&f))
            continue;
        bool whole = r % 3 == 0;
        fill(DT_BF16, 0, x.a0 + x.b * (x.m + 1) * (2 * x.k + 6), whole);
        fill(DT_BF16, 1, x.w0 + x.b * (x.k + 1) * (2 * x.n + 6), whole);
        run_bf16(&c, &x);
        CHECK(worst(&x, out) <= (whole ? 0 : 1));
    }
}

/* A number of any sign and fraction whose exponent field is in [least, most]; now and then zero. */
static uint16_t number(int least, int most)
{
    uint64_t r = check_random();
    return (uint16_t)((r & 0x807f) | (uint64_t)(least + pick(most - least + 1)) << 7) & (r >> 60
        ? 0xffff : 0x8000);
}

static float operand_at(int which, int64_t at)
{
    uint32_t u = (uint32_t)half[which][at] << 16;
    float x;
    memcpy(&x, &u, sizeof x);
    return x;
}

enum { M = 40, N = 24, K = 38 };
static const Case one_case = { 1, M, N, K, { 0, K, 1 }, { 0, N, 1 }, 0, 0 };

/* Two ways: C by columns is our kernel's, C by rows oneDNN's where it is there. */
static void multiply(int least_a, int most_a, int least_b, int most_b)
{
    ContractOperand operand[2];
    Contraction c = contraction(&one_case, operand, DT_BF16);
    for (int i = 0; i < M * K; i++)
        half[0][i] = number(least_a, most_a), wide[0][i] = (double)operand_at(0, i);
    for (int i = 0; i < K * N; i++)
        half[1][i] = number(least_b, most_b), wide[1][i] = (double)operand_at(1, i);
    run_bf16(&c, &one_case);
    CHECK(worst(&one_case, out) <= 1);
    c.out_stride[1] = 1, c.out_stride[2] = M;
    run_bf16(&c, &one_case);
}

static float flushed(float x, bool flush)
{
    return flush && fabsf(x) < 0x1p-126f ? copysignf(0, x) : x;
}

/* Sums of pairs, the second product first, written out once more: as the instruction has them, or
 * in f32 with subnormal numbers. Returns how many differ. */
static int differ(bool flush)
{
    int wrong = 0;
    for (int i = 0; i < M; i++)
        for (int j = 0; j < N; j++) {
            float sum = 0;
            for (int q = 0; q < K; q += 2)
                for (int h = 1; h >= 0; h--) {
                    float x = flushed(operand_at(0, i * K + q + h), flush);
                    float y = flushed(operand_at(1, (q + h) * N + j), flush);
                    sum = flushed(sum + x * y, flush);
                }
            wrong += !(out[j * M + i] == sum);
        }
    return wrong;
}

static bool may_flush(void)
{
    Mat a = { (char *)half[0], K, 1 }, b = { (char *)half[1], N, 1 };
    Mat at = { (char *)half[0], 1, K }, bt = { (char *)half[1], 1, N };
    bool may = pair_bf16_may_flush(&ctx, M, N, K, a, b);
    CHECK(may == pair_bf16_may_flush(&ctx, N, M, K, bt, at));
    return may;
}

/* Exponents around the edge below which sums can be subnormal, and subnormal operands beside
 * large ones: what f32 gives, and above the edge the same as the instruction. */
static void test_subnormals(void)
{
    int exact = 0, fast = 0;
    for (int least_a = 0; least_a < 250; least_a += least_a < 6 ? 1 : 23)
        for (int d = -40; d <= 60; d += 1 + (d < -20) * 4 + (d > 8) * 9) {
            int least_b = 142 - least_a + d;        /* bf16_small.h: the edge is at 142 */
            if (least_b < 0 || least_b > 250 || least_a + least_b > 330)
                continue;
            multiply(least_a, least_a + 4, least_b, least_b + 4);
            bool may = may_flush();
            CHECK(differ(false) == 0);
            CHECK(may || differ(true) == 0);
            CHECK(may || least_a + least_b >= 142 - 8);
            CHECK(!may || d <= 8 || least_a == 0 || least_b == 0);
            *(may ? &exact : &fast) += 1;
        }
    CHECK(exact > 20 && fast > 20);
    multiply(0, 0, 167, 167);
    /* the instruction alone would lose them */
    CHECK(may_flush() && differ(true) > M * N / 2);
    multiply(57, 60, 57, 60);
    CHECK(may_flush() && differ(false) == 0 && differ(true) > M * N / 2);
}

/* One subnormal number among many: in any row and column, in any block. */
static void test_one_subnormal(int rounds)
{
    for (int r = 0; r < rounds; r++) {
        int64_t m = 30 + pick(60), n = 30 + pick(60), k = r % 4 ? 30 + pick(60) : 700 + pick(900);
        Case x = { 1, m, n, k, { 0, k, 1 }, { 0, n, 1 }, 0, 0 };
        ContractOperand operand[2];
        Contraction c = contraction(&x, operand, DT_BF16);
        for (int64_t i = 0; i < m * k; i++)
            half[0][i] = 0;
        for (int64_t i = 0; i < k * n; i++)
            half[1][i] = 0x3f80;
        int64_t row = pick(m), q = pick(k);
        half[0][row * k + q] = 1;
        run_bf16(&c, &x);
        int wrong = 0;
        for (int64_t i = 0; i < m; i++)
            for (int64_t j = 0; j < n; j++)
                wrong += out[i * n + j] != (i == row ? 0x1p-133f : 0);
        CHECK(wrong == 0);
    }
}

/* Numbers whose sums are far from the subnormal ones: the instruction's own bits. */
static void test_instruction(void)
{
    multiply(100, 127, 100, 127);
    CHECK(!may_flush() && differ(true) == 0 && differ(false) == 0);
}

/* ---- oneDNN: its bf16 kernels want AVX-512, but f32 goes the same way ---- */

static void test_dnnl(int rounds)
{
    DnnlProduct probe = { DT_F32, 4, 4, 4, { NULL, 4, 1 }, { NULL, 4, 1 }, { NULL, 4, 1 } };
    if (!dnnl_can(&probe)) {
        printf("no oneDNN here\n");
        return;
    }
    for (int r = 0; r < rounds; r++) {
        Case x;
        make_case(&x, 90);
        x.b = 1;
        bool by_rows[2] = { check_random() & 1, check_random() & 1 };
        x.a0 = x.w0 = 0;
        x.a[1] = by_rows[0] ? x.k + 2 : 1, x.a[2] = by_rows[0] ? 1 : x.m + 1;
        x.w[1] = by_rows[1] ? x.n : 1, x.w[2] = by_rows[1] ? 1 : x.k;
        fill(DT_F16, 0, (x.k + 2) * (x.m + 2), false);
        fill(DT_F16, 1, (x.k + 2) * (x.n + 2), false);
        DnnlProduct p = { DT_F32, x.m, x.n, x.k, { (char *)single[0], x.a[1], x.a[2] },
                          { (char *)single[1], x.w[1], x.w[2] }, { (char *)out, x.n, 1 } };
        memset(out, 0xff, (size_t)(x.m * x.n) * sizeof *out);
        CHECK(dnnl_can(&p) && dnnl_product(&ctx, &p));
        CHECK(worst(&x, out) <= 1);
    }
}

int main(void)
{
    static InterruptFlag interrupt;
    for (int threads = 1; threads <= 2; threads++) {
        memset(&ctx, 0, sizeof ctx);
        ctx.interrupt = &interrupt;
        setenv("RICCI_THREADS", threads == 1 ? "1" : "2", 1);
        mem_init(&ctx);
        test_stored(DT_F16, 200);
        test_stored(DT_BF16, 200);
        test_bf16(120);
        test_instruction();
        test_subnormals();
        test_one_subnormal(24);
        test_dnnl(60);
        pool_shutdown(&ctx);
        CHECK(ctx.mem.live == 0);
        mem_shutdown(&ctx);
    }
    if (!pair_kernel_bf16())
        printf("no AVX512-BF16 here: its kernel ran on the instruction written out\n");
    return check_result();
}
