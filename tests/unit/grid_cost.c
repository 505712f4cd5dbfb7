/* The model of what routines cost: what must be true of it on every grid. `grid_cost table` prints
 * what docs/many-machines.md shows of machines that are not here; `grid_cost measure` runs the
 * routines on grids of this machine beside what the model says of them. */
#include "grid.h"

#include <time.h>

static const GridOp routines[] = { GRID_GEMM, GRID_PACK, GRID_LU, GRID_DET, GRID_SOLVE, GRID_CHOL,
                                   GRID_QR, GRID_LSTSQ, GRID_EIGH, GRID_SVD };
enum { ROUTINES = sizeof routines / sizeof routines[0] };

static GridCost cost(GridOp op, int64_t n, int p, int q, const GridNetwork *net)
{
    GridCost c;
    int64_t k = op == GRID_GEMM ? n : 1;
    CHECK(grid_cost(op, DT_F64, n, n, k, &(GridShape){ p, q, 64 }, net, &c));
    return c;
}

static void model(void)
{
    const GridNetwork *net = &grid_network_here;
    GridCost c;
    CHECK(!grid_cost(GRID_PING, DT_F64, 9, 9, 9, &(GridShape){ 1, 1, 64 }, net, &c));
    for (int r = 0; r < ROUTINES; r++) {
        GridCost one = cost(routines[r], 2000, 1, 1, net);
        CHECK(one.bytes == 0 && one.messages == 0 && one.slow <= one.flops);
        for (int p = 1; p <= 64; p *= 4) {
            GridCost some = cost(routines[r], 2000, p, p, net);
            GridCost flat = cost(routines[r], 2000, 1, p * p, net);
            GridCost large = cost(routines[r], 4000, p, p, net);
            CHECK(some.flops * p * p >= (1 - 1e-9) * one.flops);
            CHECK(some.bytes <= flat.bytes * (1 + 1e-9) && some.seconds >= 0);
            CHECK(large.seconds >= some.seconds && large.memory > some.memory);
            CHECK(grid_cost(routines[r], DT_C128, 2000, 2000, 2000, &(GridShape){ p, p, 64 }, net,
                            &c) && c.bytes >= some.bytes && c.flops >= some.flops);
        }
    }
    c = cost(GRID_GEMM, 1000, 1, 1, net);
    CHECK(c.flops == 2e9);
    c = cost(GRID_CHOL, 1000, 2, 2, net);
    CHECK(fabs(c.flops - 1e9 / 12) < 1);
}

/* ---- on paper ---- */
static void table(void)
{
    static const struct { int p; int64_t n; } rows[] = {
        { 1, 20000 }, { 2, 20000 }, { 8, 20000 }, { 64, 20000 }, { 8, 100000 }, { 64, 100000 },
        { 64, 1000000 },
    };
    static const GridOp shown[] = { GRID_GEMM, GRID_SOLVE, GRID_SVD };
    const GridNetwork cluster = { 2e-6, 1.25e9, 4e10, 1e10 };
    printf("| ranks | n | routine | seconds | at work | GB received | messages | GB held |\n"
           "|---|---|---|---|---|---|---|---|\n");
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        for (int r = 0; r < 3; r++) {
            GridCost c = cost(shown[r], rows[i].n, rows[i].p, rows[i].p, &cluster);
            double waits = c.bytes / cluster.bandwidth + c.messages * cluster.latency;
            printf("| %d | %lld | %s | %.3g | %.0f %% | %.3g | %.3g | %.3g |\n",
                   rows[i].p * rows[i].p, (long long)rows[i].n, grid_op_name(shown[r]), c.seconds,
                   100 * (1 - waits / c.seconds), c.bytes / 1e9, c.messages, c.memory / 1e9);
        }
}

/* ---- here ---- */
/* Of one rank the seconds of its processor, whatever else runs beside it. */
static double now(void)
{
    struct timespec t;
    clock_gettime(g->ranks > 1 ? CLOCK_MONOTONIC : CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static double once(GridOp op, int n, const uint64_t *words)
{
    Call c;
    grid_all(g, true);
    double from = now();
    say(&c, op, n, words);
    grid_all(g, true);
    from = now() - from;
    end(&c);
    return from;
}

static double best(GridOp op, int n, const uint64_t *words)
{
    double least = 1e9;
    for (int turn = 0; turn < 4; turn++) {
        double t = once(op, n, words);
        least = t < least ? t : least;
    }
    return least;
}

static void show(GridOp op, int64_t n, double measured)
{
    GridCost c = cost(op, n, g->grid.p, g->grid.q, &grid_network_here);
    if (g->rank == 0)
        printf("| %d by %d | %s | %lld | %.3f | %.3f |\n", g->grid.p, g->grid.q, grid_op_name(op),
               (long long)n, measured, c.seconds);
}

static void measure(void)
{
    static const int64_t orders[] = { 500, 1000, 2000 };
    for (int i = 0; i < 3; i++) {
        int64_t n = orders[i];
        Call c;
        for (uint64_t id = 1; id < 3; id++) {
            begin(&c);
            wire_u64(&c.in, id);
            wire_u64(&c.in, DT_F64);
            put_ints(&c, (int64_t[]){ n, n }, 2);
            wire_u64(&c.in, 1);
            wire_u64(&c.in, 42);
            wire_u64(&c.in, 0);
            wire_u64(&c.in, id * 1000000000);
            wire_i64(&c.in, 0);
            wire_u64(&c.in, 0);
            run(&c, GRID_RANDOM);
            end(&c);
        }
        show(GRID_GEMM, n, best(GRID_GEMM, 5, (uint64_t[]){ 9, 1, 2, 0, 0 }));
        show(GRID_LU, n, best(GRID_LU, 4, (uint64_t[]){ 6, 7, 8, 1 }));
        if (n < 2000) {
            show(GRID_QR, n, best(GRID_QR, 4, (uint64_t[]){ 7, 8, 1, 0 }));
            show(GRID_EIGH, n, once(GRID_EIGH, 3, (uint64_t[]){ 7, 8, 1 }));
            show(GRID_SVD, n, once(GRID_SVD, 4, (uint64_t[]){ 6, 7, 8, 1 }));
        }
    }
    for (uint64_t id = 1; id < 10; id++)
        drop(id);
}

int main(int count, char **arg)
{
    if (count == 6)
        return rank_main(arg + 2, measure);
    if (count == 2 && strcmp(arg[1], "measure") == 0) {
        printf("| grid | routine | n | seconds | the model's |\n|---|---|---|---|---|\n");
        for (int k = 0; k < 3; k++)
            run_grid(arg[0], k, false);
        return check_result();
    }
    if (count == 2) {
        table();
        return 0;
    }
    model();
    return check_result();
}
