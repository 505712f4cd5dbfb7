/* Random numbers: the known answers of Random123 (kat_vectors), independence of the instruction
 * set and of the number of threads, ranges, moments. */
#include "core/memory/pool.h"
#include "kernels/tensor/cpu.h"
#include "kernels/random/rng.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int passed, failed;

static void check(bool ok, const char *what)
{
    if (ok) {
        passed++;
    } else {
        failed++;
        printf("failed: %s\n", what);
    }
}

static void known_answers(void)
{
    static const struct { uint32_t counter[4], key[2], want[4]; } cases[] = {
        { { 0, 0, 0, 0 }, { 0, 0 }, { 0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8 } },
        { { 0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff }, { 0xffffffff, 0xffffffff },
          { 0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd } },
        { { 0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344 }, { 0xa4093822, 0x299f31d0 },
          { 0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1 } },
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        uint32_t out[4];
        philox_block(cases[i].key, cases[i].counter, out);
        check(memcmp(out, cases[i].want, sizeof out) == 0, "Philox 4x32-10 known answer");
    }
}

/* The loops of every instruction set that this machine has give the same bits. */
static void same_everywhere(const RngKernels *k, const char *name)
{
    enum { BLOCKS = 1024 };
    static uint32_t a[4 * BLOCKS], b[4 * BLOCKS];
    static double x[2 * BLOCKS], y[2 * BLOCKS];
    static float f[4 * BLOCKS], g[4 * BLOCKS];
    rng_base.blocks(a, 0x123456789abcdefull, 5, 0xfffffff0u, BLOCKS);
    k->blocks(b, 0x123456789abcdefull, 5, 0xfffffff0u, BLOCKS);
    check(memcmp(a, b, sizeof a) == 0, name);
    a[0] = a[BLOCKS] = 0;                  /* u = 0: the largest radius is finite */
    a[1] = a[BLOCKS + 1] = UINT32_MAX;
    rng_base.normal(x, a, BLOCKS);
    k->normal(y, a, BLOCKS);
    check(memcmp(x, y, sizeof x) == 0, name);
    rng_base.uniform(x, a, BLOCKS);
    k->uniform(y, a, BLOCKS);
    check(memcmp(x, y, sizeof x) == 0, name);
    rng_base.uniform_f32(f, a, BLOCKS);
    k->uniform_f32(g, a, BLOCKS);
    check(memcmp(f, g, sizeof f) == 0, name);
}

static void long_equals_short(Ctx *ctx)
{
    enum { N = 100003 };
    double *whole = malloc(N * sizeof *whole), *pieces = malloc(N * sizeof *pieces);
    RngStream a = { .key = 42 }, b = { .key = 42 };
    rng_uniform(ctx, &a, DT_F64, whole, N);
    for (int64_t at = 0, n = 2; at < N; at += n, n = n * 3 % 1000 / 2 * 2 + 2)
        rng_uniform(ctx, &b, DT_F64, pieces + at, N - at < n ? N - at : n);
    check(memcmp(whole, pieces, N * sizeof *whole) == 0, "one long call is many short ones");
    check(a.counter == b.counter && a.counter == (N + 1) / 2, "the counter moves by blocks");
    free(whole);
    free(pieces);
}

static void moments(Ctx *ctx)
{
    enum { N = 1000000 };
    double *x = malloc(N * sizeof *x), mean = 0, var = 0, fourth = 0, low = 1, high = 0;
    RngStream s = { .key = 7 };
    rng_uniform(ctx, &s, DT_F64, x, N);
    for (int i = 0; i < N; i++) {
        mean += x[i];
        low = fmin(low, x[i]);
        high = fmax(high, x[i]);
    }
    mean /= N;
    for (int i = 0; i < N; i++)
        var += (x[i] - mean) * (x[i] - mean);
    check(low >= 0 && high < 1 && low < 1e-5 && high > 1 - 1e-5, "uniform fills [0, 1)");
    check(fabs(mean - 0.5) < 5 * 0.2887 / 1000, "mean of the uniform distribution");
    check(fabs(var / N - 1.0 / 12) < 4e-4, "variance of the uniform distribution");
    rng_normal(ctx, &s, DT_F64, x, N);
    mean = var = 0;
    for (int i = 0; i < N; i++) {
        mean += x[i];
        var += x[i] * x[i];
        fourth += x[i] * x[i] * x[i] * x[i];
    }
    check(fabs(mean / N) < 5e-3, "mean of the normal distribution");
    check(fabs(var / N - 1) < 8e-3, "variance of the normal distribution");
    check(fabs(fourth / N - 3) < 0.06, "fourth moment of the normal distribution");
    free(x);
}

static void integers(Ctx *ctx)
{
    enum { N = 600000 };
    int64_t *x = malloc(N * sizeof *x), counts[6] = { 0 };
    RngStream s = { .key = 3 };
    rng_integers(ctx, &s, x, -2, 6, N);
    bool inside = true;
    for (int i = 0; i < N; i++) {
        inside &= x[i] >= -2 && x[i] < 4;
        if (inside)
            counts[x[i] + 2]++;
    }
    check(inside, "integers stay in their range");
    for (int i = 0; i < 6; i++)
        check(fabs((double)counts[i] - N / 6.0) < 5 * sqrt(N / 6.0), "integers are equally likely");
    /* A span with many rejections: 3/4 of 2^64 and just over half of 2^32. */
    double upper = 0;
    rng_integers(ctx, &s, x, 0, 0xC000000000000000ull, N);
    for (int i = 0; i < N; i++)
        upper += (uint64_t)x[i] >= 0x6000000000000000ull;
    check(fabs(upper / N - 0.5) < 5e-3, "64-bit spans have no bias");
    rng_integers(ctx, &s, x, 0, 0x80000001u, N);
    upper = 0;
    for (int i = 0; i < N; i++)
        upper += x[i] >= 0x40000000;
    check(fabs(upper / N - 0.5) < 5e-3, "32-bit spans have no bias");
    free(x);
}

/* Numbers taken one at a time, from blocks made ahead: the stream goes on, back, elsewhere. */
static void one_at_a_time(Ctx *ctx)
{
    RngAhead ahead = { .blocks = false };
    RngStream s = { .key = 11 };
    bool same = true;
    uint64_t last = 0;
    for (int i = 0; i < 20000; i++) {
        RngStream t;
        double f = 0, want_f = 0;
        int64_t n = 0, want = 0;
        int64_t low = -(i % 7) * 1000003;
        uint64_t span = i % 5 == 0 ? 0x80000001u : i % 11 == 0 ? 0 : (uint64_t)(i % 13 + 1);
        last = last * 6364136223846793005u + 1442695040888963407u;
        if (last >> 60 == 0)
            s.counter -= last >> 55 & 15;
        if (last >> 60 == 1)
            s.counter += last >> 50 & 63;
        if (last >> 57 == 33)
            s.key++;
        t = s;
        switch (last >> 40 & 3) {
        case 0: rng_uniform(ctx, &t, DT_F64, &want_f, 1); f = rng_next_unit(&ahead, &s); break;
        case 1: rng_normal(ctx, &t, DT_F64, &want_f, 1); f = rng_next_normal(&ahead, &s); break;
        default:
            rng_integers(ctx, &t, &want, low, span, 1);
            n = rng_next_int(&ahead, &s, low, span);
        }
        same &= f == want_f && n == want && s.counter == t.counter;
    }
    check(same, "one number at a time is the one that the tensor has");
}

static void logarithm(void)
{
    double worst = 0;
    for (int i = 1; i < 100000; i++) {
        double x = i * 1e-5, want = log(x);
        worst = fmax(worst, fabs(rng_log(x) - want) / fmax(fabs(want), 1e-300));
    }
    check(worst < 3e-16, "the logarithm is good to an ulp");
    check(rng_log(1) == 0 && fabs(rng_log(0x1p-53) + 36.7368005696771) < 1e-12, "its ends");
}

int main(void)
{
    static InterruptFlag interrupt;
    static Ctx ctx;
    ctx.interrupt = &interrupt;
    mem_init(&ctx);
    known_answers();
    if (cpu_isa() >= ISA_AVX2)
        same_everywhere(&rng_avx2, "AVX2 gives the bits of the base build");
    if (cpu_isa() >= ISA_AVX512)
        same_everywhere(&rng_avx512, "AVX-512 gives the bits of the base build");
    long_equals_short(&ctx);
    moments(&ctx);
    integers(&ctx);
    one_at_a_time(&ctx);
    logarithm();
    pool_shutdown(&ctx);
    mem_shutdown(&ctx);
    printf("%d passed, %d failed\n", passed, failed);
    return failed > 0;
}
