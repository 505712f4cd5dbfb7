/* Rows of two matrices merged: a first pass counts, a second one fills. */
#include "kernels/sparse/merge.h"

#include "kernels/sparse/rows.h"

#include <string.h>

typedef struct Merge {
    Csr a, b;
    bool both;                  /* entries of both, not of either */
    int64_t *start, *column;    /* of the result */
    int64_t *from_a, *from_b;
    char *value;
    void (*fn)(const struct Merge *, int64_t from, int64_t to);
} Merge;
typedef void (*MergeFn)(const Merge *, int64_t from, int64_t to);

#define TEMPLATE "kernels/sparse/merge.tmpl.h"
#include "kernels/sparse/each.h"

static MergeFn fn_of(DType dt, MergeOp op)
{
    switch (dt) {
    case DT_F32: return f32_merges[op];
    case DT_F64: return f64_merges[op];
    case DT_C64: return c64_merges[op];
    default: assert(dt == DT_C128); return c128_merges[op];
    }
}

static void count(void *arg, int64_t from, int64_t to, int worker)
{
    const Merge *p = arg;
    const int64_t *ac = p->a.column, *bc = p->b.column;
    (void)worker;
    for (int64_t i = from; i < to; i++) {
        int64_t x = p->a.start[i], y = p->b.start[i], common = 0;
        const int64_t xs = p->a.start[i + 1], ys = p->b.start[i + 1], all = xs - x + ys - y;
        while (x < xs && y < ys) {
            const int64_t cx = ac[x], cy = bc[y];
            common += cx == cy;
            x += cx <= cy;
            y += cy <= cx;
        }
        p->start[i + 1] = p->both ? common : all - common;
    }
}

static void fill(void *arg, int64_t from, int64_t to, int worker)
{
    const Merge *p = arg;
    (void)worker;
    p->fn(p, from, to);
}

static void note(const Merge *p, int64_t k, int64_t column, int64_t x, int64_t y)
{
    p->column[k] = column;
    p->from_a[k] = x;
    p->from_b[k] = y;
}

static void places(const Merge *p, int64_t from, int64_t to)
{
    const int64_t *ac = p->a.column, *bc = p->b.column;
    for (int64_t i = from; i < to; i++) {
        int64_t x = p->a.start[i], y = p->b.start[i], k = p->start[i];
        const int64_t xs = p->a.start[i + 1], ys = p->b.start[i + 1];
        while (x < xs && y < ys) {
            const int64_t cx = ac[x], cy = bc[y];
            if (cx == cy || !p->both)
                note(p, k++, cx <= cy ? cx : cy, cx <= cy ? x : -1, cy <= cx ? y : -1);
            x += cx <= cy;
            y += cy <= cx;
        }
        for (; x < xs && !p->both; x++)
            note(p, k++, ac[x], x, -1);
        for (; y < ys && !p->both; y++)
            note(p, k++, bc[y], -1, y);
    }
}

/* Rows of both matrices are work: their starts added up. */
typedef struct Added { const int64_t *a, *b; int64_t *sum; } Added;

static void add_starts(void *arg, int64_t from, int64_t to, int worker)
{
    const Added *p = arg;
    (void)worker;
    for (int64_t i = from; i < to; i++)
        p->sum[i] = p->a[i] + p->b[i];
}

/* The result's starts; `work` is by what its rows are to be split. */
static Tensor *counted(Ctx *ctx, Made *made, Merge *p, Tensor **work)
{
    enum { GRAIN = 1 << 15 };
    const int64_t m = p->a.m;
    *work = made_vector(ctx, made, DT_I64, m + 1);
    Tensor *starts = made_vector(ctx, made, DT_I64, m + 1);
    Added added = { p->a.start, p->b.start, made_ints(*work) };
    pool_for(ctx, m + 1, GRAIN, add_starts, &added);
    made_poll(ctx, made);
    p->start = made_ints(starts);
    rows_for(ctx, m, made_ints(*work), count, p);
    made_poll(ctx, made);
    rows_begin(p->start, m);
    return starts;
}

/* A pattern with these starts. */
static Tensor *pattern_of(Ctx *ctx, Made *made, Merge *p, Tensor *starts)
{
    const int64_t m = p->a.m;
    Tensor *pattern = made_pattern(ctx, made, m, p->start[m]);
    memcpy(pattern->data, starts->data, (size_t)(m + 1) * sizeof(int64_t));
    made_drop(ctx, made, starts);
    p->start = made_ints(pattern);
    p->column = p->start + m + 1;
    return pattern;
}

static void run(Ctx *ctx, Made *made, Merge *p, Tensor *work)
{
    rows_for(ctx, p->a.m, made_ints(work), fill, p);
    made_poll(ctx, made);
    made_drop(ctx, made, work);
}

SparseMerge csr_merge(Ctx *ctx, Made *made, const Csr *a, const Csr *b, MergeKind kind)
{
    Merge p = { .a = *a, .b = *b, .both = kind == MERGE_INTERSECTION, .fn = places };
    SparseMerge r;
    Tensor *work;
    assert(a->m == b->m && a->n == b->n);
    r.pattern = pattern_of(ctx, made, &p, counted(ctx, made, &p, &work));
    r.from_a = made_vector(ctx, made, DT_I64, p.start[a->m]);
    r.from_b = made_vector(ctx, made, DT_I64, p.start[a->m]);
    p.from_a = made_ints(r.from_a);
    p.from_b = made_ints(r.from_b);
    run(ctx, made, &p, work);
    return r;
}

Tensor *csr_combine(Ctx *ctx, Made *made, const Csr *a, const Csr *b, MergeOp op)
{
    Merge p = { .a = *a, .b = *b, .both = op == MERGE_MULTIPLY, .fn = fn_of(a->dtype, op) };
    Tensor *work;
    assert(a->m == b->m && a->n == b->n && a->dtype == b->dtype);
    Tensor *pattern = pattern_of(ctx, made, &p, counted(ctx, made, &p, &work));
    Tensor *value = made_vector(ctx, made, a->dtype, p.start[a->m]);
    p.value = value->data;
    run(ctx, made, &p, work);
    return sparse_made(ctx, made, a->m, a->n, pattern, value);
}

/* ---- Kronecker products ---- */
static void kron_rows(void *arg, int64_t from, int64_t to, int worker)
{
    const Merge *p = arg;
    (void)worker;
    for (int64_t row = from; row < to; row++) {
        const int64_t i = row / p->b.m, j = row % p->b.m;
        int64_t k = p->start[row];
        for (int64_t x = p->a.start[i]; x < p->a.start[i + 1]; x++)
            for (int64_t y = p->b.start[j]; y < p->b.start[j + 1]; y++, k++)
                note(p, k, p->a.column[x] * p->b.n + p->b.column[y], x, y);
    }
}

SparseMerge csr_kron(Ctx *ctx, Made *made, const Csr *a, const Csr *b)
{
    Merge p = { .a = *a, .b = *b };
    SparseMerge r;
    const int64_t m = a->m * b->m, entries = a->entries * b->entries;
    r.pattern = made_pattern(ctx, made, m, entries);
    r.from_a = made_vector(ctx, made, DT_I64, entries);
    r.from_b = made_vector(ctx, made, DT_I64, entries);
    p.start = made_ints(r.pattern);
    p.column = p.start + m + 1;
    p.from_a = made_ints(r.from_a);
    p.from_b = made_ints(r.from_b);
    for (int64_t i = 0, row = 0; i < a->m; i++)
        for (int64_t j = 0; j < b->m; j++, row++)
            p.start[row + 1] = p.start[row] + (a->start[i + 1] - a->start[i]) *
                                              (b->start[j + 1] - b->start[j]);
    rows_for(ctx, m, p.start, kron_rows, &p);
    made_poll(ctx, made);
    return r;
}

Tensor *sparse_places(Ctx *ctx, Made *made, const Csr *at, const Csr *of)
{
    Tensor *places = made_vector(ctx, made, DT_I64, at->entries);
    int64_t *to = made_ints(places);
    for (int64_t i = 0; i < at->m; i++) {
        int64_t y = of->start[i];
        for (int64_t k = at->start[i]; k < at->start[i + 1]; k++) {
            while (y < of->start[i + 1] && of->column[y] < at->column[k])
                y++;
            to[k] = y < of->start[i + 1] && of->column[y] == at->column[k] ? y : -1;
        }
    }
    return places;
}
