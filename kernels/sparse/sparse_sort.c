/* Entries brought into the order of compressed rows. */
#include "kernels/sparse/sparse.h"

#include "core/memory/pool.h"

#include <string.h>

/* ---- within a row ---- */
enum { SHORT = 24 };           /* entries that are sorted one by one */

static bool before(const int64_t *column, int64_t x, int64_t y)
{
    return column[x] < column[y] || (column[x] == column[y] && x < y);
}

static void sink(int64_t *at, int64_t n, int64_t i, const int64_t *column)
{
    for (int64_t child; (child = 2 * i + 1) < n; i = child) {
        if (child + 1 < n && before(column, at[child], at[child + 1]))
            child++;
        if (!before(column, at[i], at[child]))
            return;
        int64_t x = at[i];
        at[i] = at[child];
        at[child] = x;
    }
}

/* at[0 .. n) by column, equal ones by place: rows are short, long ones take n log n. */
static void sort_row(int64_t *at, int64_t n, const int64_t *column)
{
    int64_t sorted = 1;
    while (sorted < n && before(column, at[sorted - 1], at[sorted]))
        sorted++;
    if (sorted >= n)
        return;
    if (n > SHORT) {
        for (int64_t i = n / 2; i-- > 0;)
            sink(at, n, i, column);
        for (int64_t end = n - 1; end > 0; end--) {
            int64_t x = at[0];
            at[0] = at[end];
            at[end] = x;
            sink(at, end, 0, column);
        }
        return;
    }
    for (int64_t i = sorted; i < n; i++) {
        int64_t x = at[i], j = i;
        for (; j > 0 && before(column, x, at[j - 1]); j--)
            at[j] = at[j - 1];
        at[j] = x;
    }
}

/* By digits of 11 bits, the low ones first. */
void sparse_sort_pairs(int64_t *pair, int64_t *room, int64_t n, int64_t most)
{
    enum { BITS = 11, DIGITS = 1 << BITS };
    int64_t at[DIGITS];
    int64_t *from = pair, *to = room;
    int passes = 0;
    for (int shift = 0; shift < 63 && most >> shift; shift += BITS, passes++) {
        memset(at, 0, sizeof at);
        for (int64_t k = 0; k < n; k++)
            at[from[2 * k] >> shift & (DIGITS - 1)]++;
        for (int64_t d = 0, sum = 0; d < DIGITS; d++) {
            const int64_t here = at[d];
            at[d] = sum;
            sum += here;
        }
        for (int64_t k = 0; k < n; k++) {
            const int64_t place = at[from[2 * k] >> shift & (DIGITS - 1)]++;
            to[2 * place] = from[2 * k];
            to[2 * place + 1] = from[2 * k + 1];
        }
        int64_t *old = from;
        from = to;
        to = old;
    }
    if (passes % 2)
        memcpy(pair, room, (size_t)(2 * n) * sizeof *pair);
}

/* ---- keys with what goes along ---- */
static void swap(int64_t *key, int64_t *with, int64_t i, int64_t j)
{
    const int64_t k = key[i], w = with[i];
    key[i] = key[j];
    with[i] = with[j];
    key[j] = k;
    with[j] = w;
}

static void sink_key(int64_t *key, int64_t *with, int64_t n, int64_t i)
{
    for (int64_t child; (child = 2 * i + 1) < n; i = child) {
        child += child + 1 < n && key[child] < key[child + 1];
        if (key[i] >= key[child])
            return;
        swap(key, with, i, child);
    }
}

void sparse_sort_row(int64_t *key, int64_t *with, int64_t n)
{
    if (n > SHORT) {
        for (int64_t i = n / 2; i-- > 0;)
            sink_key(key, with, n, i);
        for (int64_t end = n - 1; end > 0; end--) {
            swap(key, with, 0, end);
            sink_key(key, with, end, 0);
        }
        return;
    }
    for (int64_t i = 1; i < n; i++) {
        const int64_t k = key[i], w = with[i];
        int64_t j = i;
        for (; j > 0 && key[j - 1] > k; j--) {
            key[j] = key[j - 1];
            with[j] = with[j - 1];
        }
        key[j] = k;
        with[j] = w;
    }
}

typedef struct Rows { int64_t *order, *merged; const int64_t *start, *column; } Rows;

static void sort_rows(void *arg, int64_t from, int64_t to, int worker)
{
    const Rows *r = arg;
    (void)worker;
    for (int64_t i = from; i < to; i++) {
        int64_t *at = r->order + r->start[i], n = r->start[i + 1] - r->start[i], places = n > 0;
        sort_row(at, n, r->column);
        for (int64_t k = 1; k < n; k++)
            places += r->column[at[k]] != r->column[at[k - 1]];
        r->merged[i + 1] = places;
    }
}

/* ---- all of them ---- */
/* How many stand in each row, added up: start[i] is where row i begins. */
static void count_rows(int64_t *start, int64_t m, const int64_t *row, int64_t count)
{
    enum { AHEAD = 32 };
    memset(start, 0, (size_t)(m + 1) * sizeof *start);
    for (int64_t k = 0; k < count; k++) {
        if (k + AHEAD < count)
            __builtin_prefetch(&start[row[k + AHEAD] + 1], 1);
        start[row[k] + 1]++;
    }
    for (int64_t i = 0; i < m; i++)
        start[i + 1] += start[i];
}

SparseOrder sparse_sort(Ctx *ctx, Made *made, int64_t m, int64_t n, const int64_t *row,
                        const int64_t *column, int64_t count)
{
    enum { GRAIN = 2048, LATER = 32 };
    (void)n;
    Tensor *order = made_vector(ctx, made, DT_I64, count);
    Tensor *starts = made_vector(ctx, made, DT_I64, 2 * (m + 1));
    int64_t *at = made_ints(order), *start = made_ints(starts), *merged = start + m + 1;
    count_rows(start, m, row, count);
    memcpy(merged, start, (size_t)(m + 1) * sizeof *start);
    for (int64_t k = 0; k < count; k++) {
        if (k + LATER < count)
            __builtin_prefetch(&merged[row[k + LATER]], 1);
        at[merged[row[k]]++] = k;
    }
    Rows rows = { at, merged, start, column };
    merged[0] = 0;
    pool_for(ctx, m, GRAIN, sort_rows, &rows);
    made_poll(ctx, made);
    for (int64_t i = 0; i < m; i++)
        merged[i + 1] += merged[i];
    Tensor *pattern = made_pattern(ctx, made, m, merged[m]);
    Tensor *groups = made_vector(ctx, made, DT_I64, merged[m] + 1);
    int64_t *to = made_ints(pattern) + m + 1, *group = made_ints(groups), e = 0;
    memcpy(pattern->data, merged, (size_t)(m + 1) * sizeof *merged);
    for (int64_t i = 0; i < m; i++)
        for (int64_t k = start[i]; k < start[i + 1]; k++)
            if (k == start[i] || column[at[k]] != column[at[k - 1]]) {
                to[e] = column[at[k]];
                group[e++] = k;
            }
    group[e] = count;
    return (SparseOrder){ pattern, order, groups };
}

/* Entries k to end of row i to where their columns have got to in start. What comes some entries
 * later is fetched with each: first where its column has got to, then the places there. */
static void turn_row(const Csr *a, int64_t i, int64_t *start, int64_t *column, int64_t *from)
{
    enum { BEGIN = 32, PLACE = 16 };
    const int64_t *c = a->column;
    for (int64_t k = a->start[i]; k < a->start[i + 1]; k++) {
        if (k + BEGIN < a->entries) {
            __builtin_prefetch(&start[c[k + BEGIN]], 1);
            const int64_t at = start[c[k + PLACE]];
            __builtin_prefetch(&column[at], 1);
            __builtin_prefetch(&from[at], 1);
        }
        const int64_t to = start[c[k]]++;
        column[to] = i;
        from[to] = k;
    }
}

SparseOrder sparse_turned(Ctx *ctx, Made *made, const Csr *a)
{
    enum { ROWS = 1 << 16 };                /* between looks at Ctrl-C */
    Tensor *pattern = made_pattern(ctx, made, a->n, a->entries);
    Tensor *order = made_vector(ctx, made, DT_I64, a->entries);
    int64_t *start = made_ints(pattern), *column = start + a->n + 1, *from = made_ints(order);
    count_rows(start, a->n, a->column, a->entries);
    for (int64_t i = 0; i < a->m; i++) {
        turn_row(a, i, start, column, from);
        if (i % ROWS == 0)
            made_poll(ctx, made);
    }
    memmove(start + 1, start, (size_t)a->n * sizeof *start);
    start[0] = 0;
    return (SparseOrder){ pattern, order, NULL };
}

/* ---- its own transpose ---- */
/* Are entries x and y the same, or (conj) each other's conjugates? */
static bool same_entry(const Csr *a, int64_t x, int64_t y, bool conj)
{
    const double *d = a->value;
    const float *f = a->value;
    switch (a->dtype) {
    case DT_F64: return d[x] == d[y];
    case DT_F32: return f[x] == f[y];
    case DT_C128: return d[2 * x] == d[2 * y] && d[2 * x + 1] == (conj ? -1 : 1) * d[2 * y + 1];
    case DT_C64: return f[2 * x] == f[2 * y] && f[2 * x + 1] == (conj ? -1 : 1) * f[2 * y + 1];
    default: return false;
    }
}

/* Rows come in order, and with them, of each earlier row, the entries behind its diagonal: next[j]
 * is the one of row j that comes now. */
static bool mirrored(const Csr *a, bool conj, int64_t *next)
{
    for (int64_t i = 0; i < a->m; i++) {
        int64_t k = a->start[i];
        for (; k < a->start[i + 1] && a->column[k] < i; k++) {
            const int64_t j = a->column[k], other = next[j]++;
            if (other == a->start[j + 1] || a->column[other] != i ||
                !same_entry(a, k, other, conj))
                return false;
        }
        if (k < a->start[i + 1] && a->column[k] == i) {
            if (!same_entry(a, k, k, conj))
                return false;
            k++;
        }
        next[i] = k;
    }
    for (int64_t i = 0; i < a->m; i++)
        if (next[i] != a->start[i + 1])
            return false;
    return true;
}

bool sparse_mirrored(Ctx *ctx, const Csr *a, bool conj)
{
    Made made = { 0 };
    if (a->m != a->n)
        return false;
    bool same = mirrored(a, conj, made_ints(made_vector(ctx, &made, DT_I64, a->m)));
    made_end(ctx, &made);
    return same;
}

typedef struct Gather {
    char *to;
    const char *from;
    const int64_t *at;
    size_t each;
    bool over;                  /* what is at -1 stays */
} Gather;

static void gather(void *arg, int64_t from, int64_t to, int worker)
{
    enum { LATER = 32 };
    const Gather *g = arg;
    (void)worker;
    for (int64_t k = from; k < to; k++) {
        char *x = g->to + (size_t)k * g->each;
        if (k + LATER < to && g->at[k + LATER] >= 0)
            __builtin_prefetch(g->from + (size_t)g->at[k + LATER] * g->each);
        if (g->at[k] >= 0 && g->each == sizeof(double))
            memcpy(x, g->from + (size_t)g->at[k] * sizeof(double), sizeof(double));
        else if (g->at[k] >= 0)
            memcpy(x, g->from + (size_t)g->at[k] * g->each, g->each);
        else if (!g->over)
            memset(x, 0, g->each);
    }
}

enum { GATHER_GRAIN = 1 << 15 };

void sparse_gather(Ctx *ctx, char *to, const char *from, const int64_t *at, int64_t n, size_t each)
{
    Gather g = { to, from, at, each, false };
    pool_for(ctx, n, GATHER_GRAIN, gather, &g);
}

void sparse_gather_over(Ctx *ctx, char *to, const char *from, const int64_t *at, int64_t n,
                        size_t each)
{
    Gather g = { to, from, at, each, true };
    pool_for(ctx, n, GATHER_GRAIN, gather, &g);
}
