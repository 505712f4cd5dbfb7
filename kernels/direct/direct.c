/* Contractions read in place (direct.h): tiles of the result stay in registers while all taps go
 * by. Here is the walk over the outer axes and its share among the workers; the strips are in
 * direct_tile.tmpl.h. Must not raise or allocate. */
#include "kernels/direct/direct_kernels.h"
#include "kernels/direct/direct.h"

#include "core/memory/pool.h"
#include "kernels/tensor/cpu.h"

enum {
    TAPS_MOST = 256,            /* at a time: for the cache, and for rounding in long sums */
    BLOCK_WORK = 1 << 22,       /* multiply-adds between two looks at the interrupt flag */
    SHARED_BYTES = 64 << 10,    /* of A that several rows read again and again */
    COLUMNS_LEAST = 2048,       /* of a unit of work, where a row is cut */
};
static const int64_t no_offsets[TAPS_MOST];
/* Seconds of work below which a second worker costs more than it gives. */
static const double SPLIT_SECONDS = 6e-5;

/* One contraction as the workers see it. The rows of a strip are along one outer axis; units
 * of work are the positions of all others times the blocks of rows and of columns. */
typedef struct Job {
    Ctx *ctx;
    const PlainKernel *plain;
    StripFn strip;                      /* NULL: plain loops */
    Direct d;                           /* its last outer axis is that of the rows */
    char *c;
    const char *a, *b;
    int64_t bytes;
    bool accumulate;
    int64_t rows, cols;                 /* of a block */
    int64_t down, across;               /* blocks per position */
} Job;

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t parts(int64_t n, int64_t size)
{
    return (n + size - 1) / size;
}

static const DirectSet *set_of_machine(void)
{
#if defined(__x86_64__) || defined(__i386__)
    static const DirectSet *const sets[] = { &direct_set_base, &direct_set_avx2,
                                             &direct_set_avx512 };
    return sets[cpu_isa()];
#else
    return &direct_set_base;
#endif
}

/* A block of rows and columns; a row by plain loops is a contraction without outer axes. */
static void block_run(const Job *job, DirectStrip *s)
{
    if (job->strip) {
        job->strip(s);
        return;
    }
    Direct row = job->d;
    row.n = s->n;
    for (int64_t r = 0; r < s->rows && !*job->ctx->interrupt; r++)
        job->plain->direct(&row, (char *)s->c + r * s->step[0] * job->bytes,
                           (const char *)s->a + r * s->step[1] * job->bytes,
                           (const char *)s->b + r * s->step[2] * job->bytes, s->accumulate);
}

static void job_worker(void *arg, int64_t begin, int64_t end, int worker)
{
    const Job *job = arg;
    const Direct *d = &job->d;
    int last = d->rank - 1;
    (void)worker;
    for (int64_t unit = begin; unit < end && !*job->ctx->interrupt; unit++) {
        int64_t j = unit % job->across * job->cols, rest = unit / job->across;
        int64_t i = rest % job->down * job->rows, at[3];
        rest /= job->down;
        for (int o = 0; o < 3; o++)
            at[o] = i * d->step[o][last] + j * (o ? d->vector[o - 1] : 1);
        for (int r = last - 1; r >= 0; rest /= d->extent[r], r--)
            for (int o = 0; o < 3; o++)
                at[o] += rest % d->extent[r] * d->step[o][r];
        DirectStrip s = { .rows = least(job->rows, d->extent[last] - i),
                          .n = least(job->cols, d->n - j), .taps = d->taps,
                          .step = { d->step[0][last], d->step[1][last], d->step[2][last] },
                          .at = { d->offset[0], d->offset[1] },
                          .c = job->c + at[0] * job->bytes, .a = job->a + at[1] * job->bytes,
                          .b = job->b + at[2] * job->bytes, .accumulate = job->accumulate };
        block_run(job, &s);
    }
}

/* A becomes the operand that goes along the columns. */
static void exchange(Direct *d, const char **a, const char **b)
{
    const char *left = *a;
    *a = *b, *b = left;
    for (int r = 0; r < d->rank; r++) {
        int64_t step = d->step[1][r];
        d->step[1][r] = d->step[2][r], d->step[2][r] = step;
    }
    int64_t vector = d->vector[0];
    d->vector[0] = d->vector[1], d->vector[1] = vector;
    const int64_t *offset = d->offset[0];
    d->offset[0] = d->offset[1], d->offset[1] = offset;
}

static void exchange_axes(Direct *d, int p, int q)
{
    int64_t extent = d->extent[p];
    d->extent[p] = d->extent[q], d->extent[q] = extent;
    for (int o = 0; o < 3; o++) {
        int64_t step = d->step[o][p];
        d->step[o][p] = d->step[o][q], d->step[o][q] = step;
    }
}

/* Rows run along an axis on which A stays, so that several of them share its vectors; along
 * the last one where there is none. */
static void choose_rows(Direct *d)
{
    if (d->rank == 0) {
        d->rank = 1, d->extent[0] = 1;
        d->step[0][0] = d->step[1][0] = d->step[2][0] = 0;
    }
    int last = d->rank - 1, best = last;
    for (int r = 0; r < last; r++) {
        bool shares = d->step[1][r] == 0 && d->vector[1] == 0 && d->extent[r] >= 4;
        if (shares && !(d->step[1][best] == 0 && d->extent[best] >= d->extent[r]))
            best = r;
    }
    exchange_axes(d, best, last);
}

/* Blocks of columns whose vectors of A stay in the first cache while rows share them; units
 * enough for the workers. Returns how many there are. */
static int64_t cut(Job *job, int threads)
{
    const Direct *d = &job->d;
    int last = d->rank - 1;
    int64_t positions = 1, rows = d->extent[last], vector = 64 / job->bytes;
    for (int r = 0; r < last; r++)
        positions *= d->extent[r];
    job->cols = d->n, job->rows = rows;
    if (d->step[1][last] == 0 && rows >= 4 && d->vector[1] == 0) {
        int64_t columns = SHARED_BYTES / ((d->taps + 1) * job->bytes) / (3 * vector) * 3 * vector;
        job->cols = least(d->n, columns > 3 * vector ? columns : 3 * vector);
    }
    int64_t wanted = 4 * (int64_t)threads;
    if (threads > 1 && positions < wanted)
        job->rows = parts(parts(rows, least(rows, parts(wanted, positions))), 4) * 4;
    int64_t most = BLOCK_WORK / (job->cols * (d->taps > 0 ? d->taps : 1)) / 4 * 4;
    job->rows = least(job->rows, most > 4 ? most : 4);
    job->down = parts(rows, job->rows);
    if (threads > 1 && positions * job->down * parts(d->n, job->cols) < wanted) {
        int64_t pieces = least(parts(wanted, positions * job->down), parts(d->n, COLUMNS_LEAST));
        job->cols = parts(parts(d->n, pieces), 4 * vector) * 4 * vector;
    }
    job->across = parts(d->n, job->cols);
    return positions * job->down * job->across;
}

static void run_taps(Job *job, const DirectSet *set, bool split)
{
    int64_t units = cut(job, split ? pool_threads(job->ctx) : 1), tail = job->d.n % job->cols;
    /* No block of columns may be narrower than a vector. */
    if (tail && tail < set->bytes / job->bytes && job->across > 1)
        job->cols = job->d.n, units /= job->across, job->across = 1;
    if (split)
        pool_for(job->ctx, units, 1, job_worker, job);
    else
        job_worker(job, 0, units, 0);
}

void direct_run_set(Ctx *ctx, const DirectSet *set, Semiring s, DType dt, const Direct *d, void *c,
                    const void *a, const void *b, bool accumulate)
{
    Job job = { .ctx = ctx, .plain = &semiring_plain[s][dt], .d = *d, .c = c, .a = a, .b = b,
                .bytes = dtype_info(dt)->bytes, .accumulate = accumulate };
    Direct *own = &job.d;
    bool split = direct_seconds(s, dt, d) > SPLIT_SECONDS;
    if (!own->vector[0])
        exchange(own, &job.a, &job.b);
    choose_rows(own);
    if (own->n <= 0)
        return;
    for (int r = 0; r < own->rank; r++)
        if (own->extent[r] <= 0)
            return;
    const StripKernel *kernel = &set->kernel[s][dt];
    bool fast = own->n >= set->bytes / job.bytes && own->vector[0] == 1 && own->taps > 0;
#ifdef RICCI_HOSTILE
    fast = false;
#endif
    if (fast)
        job.strip = own->vector[1] ? kernel->paired : kernel->scaled;
    const int64_t *offset[2] = { own->offset[0], own->offset[1] };
    for (int64_t t = 0; t < d->taps || t == 0; t += TAPS_MOST) {
        own->taps = least(TAPS_MOST, d->taps - t);
        for (int o = 0; o < 2; o++)
            own->offset[o] = offset[o] ? offset[o] + t : no_offsets;
        job.accumulate = accumulate || t > 0;
        run_taps(&job, set, split);
    }
}

void direct_run(Ctx *ctx, Semiring s, DType dt, const Direct *d, void *c, const void *a,
                const void *b, bool accumulate)
{
    direct_run_set(ctx, set_of_machine(), s, dt, d, c, a, b, accumulate);
}
