/* Contractions of operands that are stored in narrower floats, against the definition in f64: the
 * conversions (dense, with gaps, overlapping windows, backwards), which must not change the plan of
 * what they give, and the kernel of the bf16 instruction. Where the processor lacks AVX512-BF16 the
 * instruction is computed by what stands for it, from the same source of the kernel. */
#include "kernels/contract_pair_ways.h"
#include "kernels/dnnl.h"
#include "kernels/ew.h"
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
    operand[0] = (ContractOperand){ .labels = 1 | 2 | 8, .stride = { x->a[0], x->a[1], 0, x->a[2] }, .stored = (uint8_t)stored };
    operand[1] = (ContractOperand){ .labels = 1 | 4 | 8, .stride = { x->w[0], 0, x->w[2], x->w[1] }, .stored = (uint8_t)stored };
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
                double allowed = size * (double)(x->k + 2) * 0x1p-24 + 1e-30;
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

/* One product of pairs, written out once more: the second products first, subnormals are zero. */
static void test_instruction(void)
{
    enum { M = 40, N = 24, K = 38 };
    Case x = { 1, M, N, K, { 0, K, 1 }, { 0, N, 1 }, 0, 0 };
    ContractOperand operand[2];
    Contraction c = contraction(&x, operand, DT_BF16);
    for (int i = 0; i < M * K; i++)
        half[0][i] = (uint16_t)(check_random() & 0xbfff);       /* of every exponent up to 1 */
    for (int i = 0; i < K * N; i++)
        half[1][i] = (uint16_t)(check_random() & 0xbfff);
    run_bf16(&c, &x);
    for (int i = 0; i < M; i++)
        for (int j = 0; j < N; j++) {
            float sum = 0;
            for (int q = 0; q < K; q += 2)
                for (int h = 1; h >= 0; h--) {
                    uint32_t u = (uint32_t)half[0][i * K + q + h] << 16, v = (uint32_t)half[1][(q + h) * N + j] << 16;
                    float p, w;
                    memcpy(&p, &u, 4);
                    memcpy(&w, &v, 4);
                    p = fabsf(p) < 0x1p-126f ? 0 : p;
                    w = fabsf(w) < 0x1p-126f ? 0 : w;
                    sum = fmaf(p, w, sum);
                    sum = fabsf(sum) < 0x1p-126f ? copysignf(0, sum) : sum;
                }
            float got = out[i * N + j];
            CHECK(got == sum || fabsf(got - sum) <= 0x1p-126f);
        }
}

/* ---- oneDNN: its bf16 kernels want AVX-512, but f32 goes the same way ---- */

static void test_dnnl(int rounds)
{
    if (CHECK_SHARE > 1)            /* the leak checker of a sanitized build trips over the library's memory */
        return;
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
    static volatile sig_atomic_t interrupt;
    for (int threads = 1; threads <= 2; threads++) {
        memset(&ctx, 0, sizeof ctx);
        ctx.interrupt = &interrupt;
        setenv("RICCI_THREADS", threads == 1 ? "1" : "2", 1);
        mem_init(&ctx);
        test_stored(DT_F16, 200 / CHECK_SHARE);
        test_stored(DT_BF16, 200 / CHECK_SHARE);
        test_bf16(120 / CHECK_SHARE);
        test_instruction();
        test_dnnl(60);
        pool_shutdown(&ctx);
        CHECK(ctx.mem.live == 0);
        mem_shutdown(&ctx);
    }
    if (!pair_kernel_bf16())
        printf("no AVX512-BF16 here: its kernel ran on the instruction written out\n");
    return check_result();
}
