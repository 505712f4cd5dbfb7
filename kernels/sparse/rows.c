/* Rows in pieces of equal numbers of entries. */
#include "kernels/sparse/rows.h"

enum { UNIT = 4096 };           /* entries and rows that are worth a thread's while */

typedef struct Rows { const int64_t *start; int64_t m; PoolFn fn; void *arg; } Rows;

/* The first row before which so much lies. */
static int64_t row_at(const Rows *r, int64_t place)
{
    int64_t low = 0, high = r->m;
    while (low < high) {
        int64_t i = low + (high - low) / 2;
        if (r->start[i] - r->start[0] + i < place)
            low = i + 1;
        else
            high = i;
    }
    return low;
}

static int64_t units_of(const Rows *r)
{
    return (r->start[r->m] - r->start[0] + r->m + UNIT - 1) / UNIT;
}

static void run(void *arg, int64_t from, int64_t to, int worker)
{
    const Rows *r = arg;
    const int64_t i = row_at(r, from * UNIT), end = row_at(r, to * UNIT);
    if (i < end)
        r->fn(r->arg, i, end, worker);
}

void rows_for(Ctx *ctx, int64_t m, const int64_t *start, PoolFn fn, void *arg)
{
    Rows rows = { start, m, fn, arg };
    pool_for(ctx, units_of(&rows), 1, run, &rows);
}

/* ---- by slots ---- */
typedef struct Slots { Rows rows; InterruptFlag *interrupt; _Atomic int64_t next; } Slots;

static void run_slots(void *arg, int64_t from, int64_t to, int worker)
{
    enum { UNITS = 8 };
    Slots *s = arg;
    const Rows *r = &s->rows;
    const int64_t units = units_of(r);
    (void)worker;
    for (int64_t slot = from; slot < to; slot++) {
        int64_t unit;
        while ((unit = atomic_fetch_add(&s->next, UNITS)) < units &&
               !(s->interrupt && *s->interrupt))
            run((void *)r, unit, unit + UNITS, (int)slot);
    }
}

int rows_slots(Ctx *ctx, int64_t work)
{
    const int64_t worth = work / (1 << 16) + 1, threads = pool_threads(ctx);
    return (int)(worth < threads ? worth : threads);
}

void rows_by_slots(Ctx *ctx, int slots, int64_t m, const int64_t *start, PoolFn fn, void *arg)
{
    Slots s = { { start, m, fn, arg }, ctx->interrupt, 0 };
    pool_for(ctx, slots, 1, run_slots, &s);
}

void rows_begin(int64_t *start, int64_t m)
{
    start[0] = 0;
    for (int64_t i = 0; i < m; i++)
        start[i + 1] += start[i];
}
