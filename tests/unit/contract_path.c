/* The order of contractions against exhaustive search over all orders, by the same model of
 * time: random networks of 3 to 10 operands with hyperedges, scalars and parts that do not
 * hang together; long chains; the limit on memory; the same order every time. */
#include "kernels/contract/contract.h"
#include "tests/unit/check.h"

#include <stdlib.h>
#include <time.h>

static InterruptFlag interrupt;
static Ctx ctx;

enum { MOST = 64 };
typedef struct Network {
    Contraction c;
    ContractOperand operand[MOST];
} Network;

static int below(int n)
{
    return (int)(check_random() % (uint64_t)n);
}

static void random_network(Network *w, int n, int labels, int most)
{
    memset(w, 0, sizeof *w);
    w->c = (Contraction){ .dtype = DT_F64, .semiring = SR_PLUS_TIMES, .labels = labels,
                          .operands = n,
                          .operand = w->operand };
    for (int l = 0; l < labels; l++) {
        w->c.extent[l] = 1 + below(most);
        int holders = below(8) == 0 ? 3 : below(12) == 0 ? 1 : 2;
        int first = below(n), others = 0;
        w->operand[first].labels |= (uint64_t)1 << l;
        for (int h = 1; h < holders; h++) {
            int k = below(n);
            others += k != first;
            w->operand[k].labels |= (uint64_t)1 << l;
        }
        if (others == 0 || below(4) == 0)     /* a private label is summed before, in any order */
            w->c.out |= (uint64_t)1 << l;
    }
}

/* Seconds of one pair by the model: of a contraction that is no more than it. */
static double pair_seconds_of(const Network *w, uint64_t a, uint64_t b, uint64_t out)
{
    ContractOperand operand[2] = { { .labels = a }, { .labels = b } };
    Contraction c = w->c;
    ContractStep step;
    double seconds;
    c.operands = 2;
    c.operand = operand;
    c.out = out;
    CHECK(contract_order(&ctx, &c, NULL, &step, &seconds));
    return seconds;
}

/* The best time over all trees, outer products included. */
static double exhaustive(const Network *w)
{
    int n = w->c.operands, full = (1 << n) - 1;
    static double best[1 << 10];
    static uint64_t labels[1 << 10];
    for (int set = 1; set <= full; set++) {
        uint64_t in = 0, rest = w->c.out;
        for (int k = 0; k < n; k++)
            *(set >> k & 1 ? &in : &rest) |= w->operand[k].labels;
        labels[set] = in & rest;
        best[set] = (set & (set - 1)) ? INFINITY : 0;
        for (int part = (set - 1) & set; part; part = (part - 1) & set)
            if (part & (set & -set)) {
                int other = set ^ part;
                double t = best[part] + best[other] +
                           pair_seconds_of(w, labels[part], labels[other], labels[set]);
                best[set] = fmin(best[set], t);
            }
    }
    return best[full];
}

/* The time that the model gives to the order that was found: it is told to follow it. */
static double seconds_of_steps(const Network *w, const ContractStep *steps)
{
    int path[MOST][2];
    ContractStep again[MOST];
    double seconds;
    for (int t = 0; t + 1 < w->c.operands; t++) {
        path[t][0] = steps[t].a;
        path[t][1] = steps[t].b;
    }
    ContractOptions options = { .path = (const int (*)[2])path, .path_length = w->c.operands - 1 };
    CHECK(contract_order(&ctx, &w->c, &options, again, &seconds));
    return seconds;
}

static void against_exhaustive(int n, int count)
{
    double worst = 1;
    for (int i = 0; i < count; i++) {
        Network w;
        ContractStep steps[MOST], again[MOST];
        double seconds, twice;
        random_network(&w, n, 3 + below(2 * n), i % 2 ? 60 : 6);
        CHECK(contract_order(&ctx, &w.c, NULL, steps, &seconds));
        CHECK(contract_order(&ctx, &w.c, NULL, again, &twice));
        CHECK(memcmp(steps, again, (size_t)(n - 1) * sizeof *steps) == 0);
        double told = seconds_of_steps(&w, steps);
        CHECK(fabs(told - seconds) <= 1e-9 * seconds);
        worst = fmax(worst, seconds / exhaustive(&w));
    }
    CHECK(worst < 1.1 || n < 3);
    if (worst >= 1.1)
        fprintf(stderr, "%d operands: %.3f times the best\n", n, worst);
}

/* A chain of matrices: the greedy search beyond 12 operands against the textbook's dynamic
 * programming over intervals, in multiplications. */
static void long_chain(int n)
{
    Network w = { 0 };
    ContractStep steps[MOST];
    double seconds, flops[MOST][MOST], size[MOST + 1];
    w.c = (Contraction){ .dtype = DT_F64, .labels = n + 1, .operands = n, .operand = w.operand };
    for (int l = 0; l <= n; l++)
        size[l] = (double)(w.c.extent[l] = 20 + below(400));
    for (int k = 0; k < n; k++)
        w.operand[k].labels = (uint64_t)3 << k;
    w.c.out = (uint64_t)1 | (uint64_t)1 << n;
    CHECK(contract_order(&ctx, &w.c, NULL, steps, &seconds));
    for (int length = 0; length < n; length++)
        for (int i = 0; i + length < n; i++) {
            flops[i][i + length] = length ? INFINITY : 0;
            for (int j = i; j < i + length; j++)
                flops[i][i + length] = fmin(flops[i][i + length],
                                            flops[i][j] + flops[j + 1][i + length] +
                                            size[i] * size[j + 1] * size[i + length + 1]);
        }
    int from[MOST], to[MOST], left = n;
    double mine = 0;
    for (int k = 0; k < n; k++)
        from[k] = k, to[k] = k + 1;
    for (int t = 0; t + 1 < n; t++) {
        int a = steps[t].a, b = steps[t].b, kept = 0;
        if (to[a] != from[b]) {
            int swap = a;
            a = b;
            b = swap;
        }
        CHECK(to[a] == from[b]);
        int first = from[a], middle = to[a], last = to[b];
        mine += size[first] * size[middle] * size[last];
        for (int i = 0; i < left; i++)
            if (i != a && i != b) {
                from[kept] = from[i];
                to[kept++] = to[i];
            }
        from[kept] = first;
        to[kept++] = last;
        left = kept;
    }
    if (!CHECK(mine <= 1.5 * flops[0][n - 1]))
        fprintf(stderr, "chain of %d: %.3f times the best\n", n, mine / flops[0][n - 1]);
}

/* ij,jk,kl,li-> with a limit that forbids the cheapest order; and one that forbids all. */
static void memory_limit(void)
{
    Network w = { 0 };
    ContractStep steps[MOST];
    double seconds, limited;
    w.c = (Contraction){ .dtype = DT_F64, .labels = 4, .operands = 4, .operand = w.operand,
                         .extent = { 100, 2, 100, 3 }, .out = 1 };
    for (int k = 0; k < 4; k++)
        w.operand[k].labels = (uint64_t)1 << k | (uint64_t)1 << (k + 1) % 4;
    ContractOptions options = { .memory = 8 * 700 };
    CHECK(contract_order(&ctx, &w.c, NULL, steps, &seconds));
    CHECK(contract_order(&ctx, &w.c, &options, steps, &limited));
    CHECK(limited >= seconds);
    options.memory = 8;
    CHECK(!contract_order(&ctx, &w.c, &options, steps, &limited));
}

static void planning_time(void)
{
    Network w = { 0 };
    ContractStep steps[MOST];
    double seconds, least = INFINITY;
    w.c = (Contraction){ .dtype = DT_F64, .labels = 5, .operands = 4, .operand = w.operand,
                         .extent = { 10, 2000, 30, 1500, 20 }, .out = 1 | 16 };
    for (int k = 0; k < 4; k++)
        w.operand[k].labels = (uint64_t)3 << k;
    for (int i = 0; i < 50; i++) {
        struct timespec a, b;
        clock_gettime(CLOCK_MONOTONIC, &a);
        CHECK(contract_order(&ctx, &w.c, NULL, steps, &seconds));
        clock_gettime(CLOCK_MONOTONIC, &b);
        least = fmin(least, (double)(b.tv_sec - a.tv_sec) + 1e-9 * (double)(b.tv_nsec - a.tv_nsec));
    }
    if (!CHECK(least < 50e-6))
        fprintf(stderr, "planning four operands took %.0f us\n", least * 1e6);
}

int main(void)
{
    ctx.interrupt = &interrupt;
    mem_init(&ctx);
    for (int n = 3; n <= 7; n++)
        against_exhaustive(n, 40);
    against_exhaustive(8, 20);
    against_exhaustive(9, 8);
    against_exhaustive(10, 4);
    for (int n = 13; n <= 40; n += 9)
        long_chain(n);
    memory_limit();
    planning_time();
    CHECK(ctx.mem.live == 0);
    mem_shutdown(&ctx);
    return check_result();
}
