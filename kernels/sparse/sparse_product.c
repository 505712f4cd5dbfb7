/* Sparse by sparse, row by row after Gustavson: a row of the result is a sum of rows of B, made in
 * a dense row of sums. Which columns it has is marked in bits, whose words come in order: so
 * columns are sorted without sorting. A first pass counts, a second one computes. */
#include "kernels/sparse/product.h"

#include "kernels/sparse/rows.h"

#include <string.h>

/* ---- marks ---- */
enum {
    LEVELS = 3,                 /* a bit of a level says that a word below has some */
    NEAR = 192,                 /* words that are looked through without the levels above */
};
typedef struct Marks { uint64_t *level[LEVELS]; } Marks;

static int64_t words_of(int64_t n, int level)
{
    return (n >> (6 * (level + 1))) + 1;
}

static int64_t words_of_all(int64_t n)
{
    return words_of(n, 0) + words_of(n, 1) + words_of(n, 2);
}

static inline __attribute__((always_inline)) void mark(const Marks *m, int64_t c, bool near)
{
    m->level[0][c >> 6] |= (uint64_t)1 << (c & 63);
    if (near)
        return;
    m->level[1][c >> 12] |= (uint64_t)1 << ((c >> 6) & 63);
    m->level[2][c >> 18] |= (uint64_t)1 << ((c >> 12) & 63);
}

/* The columns that are marked in a word, from `base` on; the word has none after this. */
static inline int64_t take_word(uint64_t *word, int64_t base, int64_t *to)
{
    uint64_t w = *word;
    int64_t n = 0;
    *word = 0;
    for (; w; w &= w - 1)
        to[n++] = base + __builtin_ctzll(w);
    return n;
}

static int64_t take_near(const Marks *m, int64_t first, int64_t last, int64_t *to)
{
    int64_t n = 0;
    for (int64_t w = first >> 6; w <= last >> 6; w++)
        if (m->level[0][w])
            n += take_word(&m->level[0][w], w << 6, to + n);
    return n;
}

static int64_t take_far(const Marks *m, int64_t first, int64_t last, int64_t *to)
{
    int64_t n = 0;
    for (int64_t z = first >> 18; z <= last >> 18; z++) {
        for (uint64_t top = m->level[2][z]; top; top &= top - 1) {
            const int64_t y = (z << 6) + __builtin_ctzll(top);
            for (uint64_t middle = m->level[1][y]; middle; middle &= middle - 1) {
                const int64_t w = (y << 6) + __builtin_ctzll(middle);
                n += take_word(&m->level[0][w], w << 6, to + n);
            }
            m->level[1][y] = 0;
        }
        m->level[2][z] = 0;
    }
    return n;
}

/* ---- a row ---- */
typedef struct Both {
    Csr a, b;                   /* b's columns are numbered anew where most are empty */
    const struct SumFns *fns;
    size_t each;
    int64_t n;                  /* columns of b, so numbered */
    uint64_t *marks;            /* words_of_all(n) for each slot */
    char *sums;                 /* n numbers for each slot, all 0 between rows */
    int64_t *start;             /* of the result: counts, then where its rows begin */
    int64_t *column;
    char *value;
} Both;

typedef struct SumFns {
    void (*sum_near)(const Both *, int64_t i, const Marks *, char *sums);
    void (*sum_far)(const Both *, int64_t i, const Marks *, char *sums);
    void (*take)(const int64_t *column, int64_t n, char *sums, char *value);
} SumFns;

/* Rows of B lie far from each other: entry k of A fetches those of entries that come later, first
 * where they begin, then what they have. each = 0: columns alone. */
static inline __attribute__((always_inline)) void row_ahead(const Both *p, int64_t k, size_t each)
{
    enum { BEGIN = 24, ENTRIES = 12 };
    if (k + BEGIN >= p->a.entries)
        return;
    __builtin_prefetch(&p->b.start[p->a.column[k + BEGIN]]);
    const int64_t at = p->b.start[p->a.column[k + ENTRIES]];
    __builtin_prefetch(&p->b.column[at]);
    __builtin_prefetch(&p->b.column[at + 4]);
    if (each) {
        __builtin_prefetch((const char *)p->b.value + (size_t)at * each);
        __builtin_prefetch((const char *)p->b.value + (size_t)(at + 4) * each);
    }
}

#define TEMPLATE "kernels/sparse/sparse_product.tmpl.h"
#include "kernels/sparse/each.h"

static const SumFns *fns_of(DType dt)
{
    switch (dt) {
    case DT_F32: return &f32_sums;
    case DT_F64: return &f64_sums;
    case DT_C64: return &c64_sums;
    default: assert(dt == DT_C128); return &c128_sums;
    }
}

static Marks marks_of(const Both *p, int slot)
{
    uint64_t *at = p->marks + slot * words_of_all(p->n);
    return (Marks){ { at, at + words_of(p->n, 0), at + words_of(p->n, 0) + words_of(p->n, 1) } };
}

/* The columns between which row i of the result lies; false: it is empty. */
static bool row_reach(const Both *p, int64_t i, int64_t *first, int64_t *last)
{
    *first = p->n;
    *last = -1;
    for (int64_t k = p->a.start[i]; k < p->a.start[i + 1]; k++) {
        const int64_t from = p->b.start[p->a.column[k]], to = p->b.start[p->a.column[k] + 1];
        if (from == to)
            continue;
        *first = p->b.column[from] < *first ? p->b.column[from] : *first;
        *last = p->b.column[to - 1] > *last ? p->b.column[to - 1] : *last;
    }
    return *last >= 0;
}

static bool is_near(int64_t first, int64_t last)
{
    return (last >> 6) - (first >> 6) < NEAR;
}

/* How many columns row i of the result has: those are counted that are marked for the first time,
 * and what was marked is undone in the same way. */
static int64_t count_row(const Both *p, int64_t i, uint64_t *mark)
{
    const int64_t *bc = p->b.column;
    int64_t n = 0;
    for (int64_t k = p->a.start[i]; k < p->a.start[i + 1]; k++) {
        const int64_t row = p->a.column[k], end = p->b.start[row + 1];
        for (int64_t e = p->b.start[row]; e < end; e++) {
            uint64_t *word = &mark[bc[e] >> 6];
            n += !(*word >> (bc[e] & 63) & 1);
            *word |= (uint64_t)1 << (bc[e] & 63);
        }
    }
    for (int64_t k = p->a.start[i]; k < p->a.start[i + 1]; k++) {
        const int64_t row = p->a.column[k], end = p->b.start[row + 1];
        for (int64_t e = p->b.start[row]; e < end; e++)
            mark[bc[e] >> 6] = 0;
    }
    return n;
}

static void count(void *arg, int64_t from, int64_t to, int slot)
{
    const Both *p = arg;
    uint64_t *mark = p->marks + slot * words_of_all(p->n);
    for (int64_t i = from; i < to; i++) {
        for (int64_t k = p->a.start[i]; k < p->a.start[i + 1]; k++)
            row_ahead(p, k, 0);
        p->start[i + 1] = count_row(p, i, mark);
    }
}

static void compute(void *arg, int64_t from, int64_t to, int slot)
{
    const Both *p = arg;
    const Marks marks = marks_of(p, slot);
    char *sums = p->sums + (size_t)(slot * p->n) * p->each;
    for (int64_t i = from; i < to; i++) {
        const int64_t at = p->start[i];
        int64_t first, last, n;
        if (!row_reach(p, i, &first, &last))
            continue;
        if (is_near(first, last)) {
            p->fns->sum_near(p, i, &marks, sums);
            n = take_near(&marks, first, last, p->column + at);
        } else {
            p->fns->sum_far(p, i, &marks, sums);
            n = take_far(&marks, first, last, p->column + at);
        }
        p->fns->take(p->column + at, n, sums, p->value + (size_t)at * p->each);
    }
}

/* ---- columns that are mostly empty ---- */
/* b's columns as numbers among those that have entries, in `made`; name[] is what they were. */
static Tensor *renumber(Ctx *ctx, Made *made, Csr *b, Tensor **names)
{
    const int64_t n = b->entries;
    Tensor *columns = made_vector(ctx, made, DT_I64, n);
    Tensor *name = made_vector(ctx, made, DT_I64, n);
    Tensor *pairs = made_vector(ctx, made, DT_I64, 4 * n);
    int64_t *pair = made_ints(pairs), used = -1;
    for (int64_t k = 0; k < n; k++) {
        pair[2 * k] = b->column[k];
        pair[2 * k + 1] = k;
    }
    sparse_sort_pairs(pair, pair + 2 * n, n, b->n);
    for (int64_t k = 0; k < n; k++) {
        if (k == 0 || pair[2 * k] != pair[2 * k - 2])
            made_ints(name)[++used] = pair[2 * k];
        made_ints(columns)[pair[2 * k + 1]] = used;
    }
    made_drop(ctx, made, pairs);
    b->column = made_ints(columns);
    b->n = used + 1;
    *names = name;
    return columns;
}

typedef struct Names { int64_t *column; const int64_t *name; } Names;

static void name_back(void *arg, int64_t from, int64_t to, int worker)
{
    const Names *p = arg;
    (void)worker;
    for (int64_t k = from; k < to; k++)
        p->column[k] = p->name[p->column[k]];
}

/* ---- all of it ---- */
typedef struct Work { const Csr *a, *b; int64_t *work; } Work;

static void weigh(void *arg, int64_t from, int64_t to, int worker)
{
    const Work *p = arg;
    const int64_t *start = p->b->start, *column = p->a->column;
    (void)worker;
    for (int64_t i = from; i < to; i++) {
        int64_t work = 0;
        for (int64_t k = p->a->start[i]; k < p->a->start[i + 1]; k++)
            work += start[column[k] + 1] - start[column[k]];
        p->work[i + 1] = work;
    }
}

static void all_zero(Tensor *t)
{
    memset(t->data, 0, (size_t)t->size * dtype_info((DType)t->dtype)->bytes);
}

/* The product of p's two: entries by work, in `made`. */
static Tensor *multiply(Ctx *ctx, Made *made, Both *p, const int64_t *work, const int64_t *name)
{
    enum { GRAIN = 1 << 15 };
    const int64_t m = p->a.m;
    const int slots = rows_slots(ctx, work[m] + m);
    Tensor *marks = made_vector(ctx, made, DT_I64, slots * words_of_all(p->n));
    Tensor *starts = made_vector(ctx, made, DT_I64, m + 1);
    all_zero(marks);
    p->marks = (uint64_t *)marks->data;
    p->start = made_ints(starts);
    rows_by_slots(ctx, slots, m, work, count, p);
    made_poll(ctx, made);
    rows_begin(p->start, m);
    Tensor *pattern = made_pattern(ctx, made, m, p->start[m]);
    Tensor *value = made_vector(ctx, made, p->a.dtype, p->start[m]);
    Tensor *sums = made_vector(ctx, made, p->a.dtype, slots * p->n);
    all_zero(sums);
    memcpy(pattern->data, p->start, (size_t)(m + 1) * sizeof(int64_t));
    p->column = made_ints(pattern) + m + 1;
    p->value = value->data;
    p->sums = sums->data;
    rows_by_slots(ctx, slots, m, work, compute, p);
    made_poll(ctx, made);
    if (name) {
        Names names = { p->column, name };
        pool_for(ctx, value->size, GRAIN, name_back, &names);
        made_poll(ctx, made);
    }
    return sparse_made(ctx, made, m, p->b.n, pattern, value);
}

Tensor *csr_times_csr(Ctx *ctx, Made *made, const Csr *a, const Csr *b)
{
    enum { FEW = 1 << 16 };
    assert(a->dtype == b->dtype && a->n == b->m);
    Both p = { .a = *a, .b = *b, .fns = fns_of(a->dtype), .each = dtype_info(a->dtype)->bytes };
    Tensor *works = made_vector(ctx, made, DT_I64, a->m + 1), *name = NULL;
    Work work = { a, b, made_ints(works) };
    rows_for(ctx, a->m, a->start, weigh, &work);
    made_poll(ctx, made);
    rows_begin(work.work, a->m);
    if (b->n > FEW && b->n / 4 > b->entries)
        renumber(ctx, made, &p.b, &name);
    p.n = p.b.n;
    p.b.n = b->n;
    return multiply(ctx, made, &p, work.work, name ? made_ints(name) : NULL);
}
