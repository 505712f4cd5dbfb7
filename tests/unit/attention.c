/* bf16 attention by the instructions of this processor (attention_dot) against plain kernels that
 * widen the operands: odd sizes, positions, biases, layouts, numbers that the bf16 instruction
 * would take for zero. */
#include "kernels/attention/attention_kernels.h"
#include "kernels/tensor/cpu.h"
#include "tests/unit/check.h"

#include <stdlib.h>

enum { MOST = 200, WIDE = 80, CELLS = MOST * WIDE };
static Ctx ctx;
static const int64_t zero;

typedef struct Numbers { uint16_t q[CELLS], k[CELLS], v[CELLS], w[CELLS], out[CELLS]; } Numbers;
typedef struct Sums {
    uint16_t out[CELLS];
    float lse[MOST], rest[MOST], dq[CELLS], dk[CELLS], dv[CELLS], dbias[MOST * MOST];
} Sums;

static float wide(uint16_t x)
{
    uint32_t bits = (uint32_t)x << 16;
    float f;
    memcpy(&f, &bits, sizeof f);
    return f;
}

static void fill(uint16_t *x, double size)
{
    for (int i = 0; i < CELLS; i++) {
        float f = (float)(check_uniform() * size);
        uint32_t bits;
        memcpy(&bits, &f, sizeof bits);
        x[i] = (uint16_t)(bits >> 16);
    }
}

static AttentionMat mat(void *data, int64_t row, int64_t col)
{
    return (AttentionMat){ data, &zero, row, col };
}

static char *memory_of(int64_t bytes)
{
    return aligned_alloc(64, (size_t)attention_filled(bytes, 64) + 64);
}

static void run(const AttentionKernel *kernel, Attention a, Sums *to, bool back)
{
    int64_t queries = attention_blocks(a.n, ATTENTION_QUERIES);
    if (!back) {
        char *memory = memory_of(kernel->scratch(&a));
        a.out.data = (char *)to->out;
        a.lse.data = (char *)to->lse, a.rest.data = (char *)to->rest;
        for (int64_t i = 0; i < queries; i++)
            kernel->block(&a, 0, i, memory);
        free(memory);
        return;
    }
    char *memory = memory_of(kernel->back_scratch(&a)), *parts = memory_of(kernel->head_bytes(&a));
    AttentionHead head;
    kernel->head_parts(&a, &head, parts);
    a.dq.data = (char *)to->dq, a.dk.data = (char *)to->dk, a.dv.data = (char *)to->dv;
    if (a.biased == BIAS_ADDS)
        a.dbias = mat(to->dbias, a.m, 1);
    for (int64_t i = 0; i < queries; i++)
        kernel->back_begin(&a, &head, 0, i, memory);
    for (int64_t i = 0; i < attention_blocks(a.m, ATTENTION_KEYS); i++)
        CHECK(kernel->back_keys(&ctx, &a, &head, 0, i, memory));
    for (int64_t i = 0; i < queries; i++)
        kernel->back_end(&a, &head, 0, i);
    free(memory);
    free(parts);
}

/* Within `part` of the greatest one, the same zeros and infinities. */
static void same(const float *x, const float *y, int64_t n, double part)
{
    double most = 0, far = 0;
    bool special = true;
    for (int64_t i = 0; i < n; i++) {
        if (!isfinite(x[i]) || !isfinite(y[i])) {
            special = special && !isnan(x[i]) && x[i] == y[i];
            continue;
        }
        most = fmax(most, fabs((double)x[i]));
        far = fmax(far, fabs((double)x[i] - (double)y[i]));
    }
    CHECK(special);
    CHECK(far <= part * most);
}

static const AttentionKernel *of_processor(void)
{
#if defined(__x86_64__) || defined(__i386__)
    const AttentionKernels *sets[] = { &attention_base, &attention_avx2, &attention_avx512 };
    return &sets[cpu_isa()]->f32;
#else
    return &attention_base.f32;
#endif
}

static void one(int64_t n, int64_t m, int64_t d, int64_t e, int form, double size)
{
    static Numbers x;
    static Sums plain, ours;
    static float bias[MOST * MOST], out[2][CELLS];
    static bool seen[MOST * MOST];
    bool turned = form & 1;
    fill(x.q, size), fill(x.k, 1 / size), fill(x.v, size), fill(x.w, 1 / size);
    for (int64_t i = 0; i < n * m; i++)
        bias[i] = (float)check_uniform(), seen[i] = check_random() % 4 != 0;
    Attention a = { .dt = DT_BF16, .heads = 1, .n = n, .m = m, .d = d, .e = e, .scale = 0.37,
                    .left = n + m, .right = n + m, .shift = m - n, .bias_dt = DT_F32 };
    a.q = turned ? mat(x.q, 1, n) : mat(x.q, d, 1);
    a.k = turned ? mat(x.k, 1, m) : mat(x.k, d, 1);
    a.v = turned ? mat(x.v, e + 1, 1) : mat(x.v, e, 1);
    a.w = mat(x.w, e, 1);
    a.out = mat(NULL, e, 1);
    a.lse = a.rest = mat(NULL, 1, 1);
    a.dq = a.dk = mat(NULL, d, 1);
    a.dv = mat(NULL, e, 1);
    if (form & 2)
        a.right = 0;
    if (form & 4)
        a.left = 20, a.right = a.right ? 9 : 0;
    if (form & 8)
        a.biased = BIAS_ADDS, a.bias = mat(bias, m, 1);
    else if (form & 16)
        a.biased = BIAS_BOOL, a.bias = mat(seen, m, 1);
    memset(&plain, 0, sizeof plain);
    memset(&ours, 0, sizeof ours);
    run(&attention_base.f32, a, &plain, false);
    run(of_processor(), a, &ours, false);
    for (int64_t i = 0; i < n * e; i++)
        out[0][i] = wide(plain.out[i]), out[1][i] = wide(ours.out[i]);
    same(out[0], out[1], n * e, 1.0 / 128);
    same(plain.lse, ours.lse, n, 2e-5);
    a.out.data = (char *)plain.out;
    a.lse.data = (char *)plain.lse, a.rest.data = (char *)plain.rest;
    run(&attention_base.f32, a, &plain, true);
    run(of_processor(), a, &ours, true);
    same(plain.dq, ours.dq, n * d, 5e-5);
    same(plain.dk, ours.dk, m * d, 5e-5);
    same(plain.dv, ours.dv, m * e, 5e-5);
    same(plain.dbias, ours.dbias, n * m, 5e-5);
}

int main(void)
{
    static InterruptFlag never;
    static const int64_t sizes[][4] = { { 1, 1, 1, 1 }, { 3, 7, 5, 3 }, { 70, 65, 33, 17 },
                                        { 130, 199, 64, 64 }, { 199, 66, 63, 65 },
                                        { 128, 64, 32, 31 } };
    ctx.interrupt = &never;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (int form = 0; form < 24; form++)
            one(sizes[i][0], sizes[i][1], sizes[i][2], sizes[i][3], form, 1);
    /* operands that are subnormal: only the products with them are of ordinary size */
    one(70, 65, 33, 17, 0, 0x1p-126);
    one(70, 65, 33, 17, 1, 0x1p-127);
    return check_result();
}
