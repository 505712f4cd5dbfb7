/* Rows, columns, triangles, blocks: patterns of parts. */
#include "kernels/sparse/select.h"

#include "kernels/sparse/rows.h"

#include <string.h>

/* ---- entries of a row between two columns ---- */
/* The first entry of [from, to) whose column is c or more. */
static int64_t entry_at(const int64_t *column, int64_t from, int64_t to, int64_t c)
{
    while (from < to) {
        const int64_t k = from + (to - from) / 2;
        if (column[k] < c)
            from = k + 1;
        else
            to = k;
    }
    return from;
}

/* Of what was made since there were `from` of them, these two are kept. */
static SparseOrder only(Ctx *ctx, Made *made, int from, Tensor *pattern, Tensor *order)
{
    made_take(made, pattern);
    made_take(made, order);
    while (made->count > from)
        tensor_release(ctx, made->tensor[--made->count]);
    made->tensor[made->count++] = pattern;
    made->tensor[made->count++] = order;
    return (SparseOrder){ pattern, order, NULL };
}

/* ---- which places a column is chosen for ---- */
/* Column c is chosen for place[k], k in [begin, end), rising. Where columns are many, keys holds
 * those that are chosen, and head is by its places; else head is by columns. */
typedef struct Inverse {
    const Choice *choice;       /* NULL: each for itself; without a list: by its step */
    const int64_t *head, *place, *key;
    int64_t keys;
    bool rising;                /* places rise with columns */
} Inverse;

static bool is_rising(const Choice *c)
{
    for (int64_t k = 1; k < c->count; k++)
        if (c->list[k - 1] > c->list[k])
            return false;
    return true;
}

/* By columns: counted. */
static void invert_all(Ctx *ctx, Made *made, Inverse *inverse, const Choice *c, int64_t n)
{
    Tensor *heads = made_vector(ctx, made, DT_I64, n + 1);
    Tensor *places = made_vector(ctx, made, DT_I64, c->count);
    int64_t *head = made_ints(heads), *place = made_ints(places);
    memset(head, 0, (size_t)(n + 1) * sizeof *head);
    for (int64_t k = 0; k < c->count; k++)
        head[c->list[k] + 1]++;
    rows_begin(head, n);
    for (int64_t k = 0; k < c->count; k++)
        place[head[c->list[k]]++] = k;
    memmove(head + 1, head, (size_t)n * sizeof *head);
    head[0] = 0;
    inverse->head = head;
    inverse->place = place;
}

/* By those that are chosen: sorted. */
static void invert_few(Ctx *ctx, Made *made, Inverse *inverse, const Choice *c, int64_t n)
{
    Tensor *pairs = made_vector(ctx, made, DT_I64, 4 * c->count);
    Tensor *heads = made_vector(ctx, made, DT_I64, c->count + 1);
    Tensor *keys = made_vector(ctx, made, DT_I64, c->count);
    int64_t *pair = made_ints(pairs), *head = made_ints(heads), *key = made_ints(keys), used = 0;
    for (int64_t k = 0; k < c->count; k++) {
        pair[2 * k] = c->list[k];
        pair[2 * k + 1] = k;
    }
    sparse_sort_pairs(pair, pair + 2 * c->count, c->count, n);
    int64_t *place = pair + 2 * c->count;
    for (int64_t k = 0; k < c->count; k++) {
        if (k == 0 || pair[2 * k] != pair[2 * k - 2]) {
            head[used] = k;
            key[used++] = pair[2 * k];
        }
        place[k] = pair[2 * k + 1];
    }
    head[used] = c->count;
    *inverse = (Inverse){ c, head, place, key, used, inverse->rising };
}

static Inverse inverse_of(Ctx *ctx, Made *made, const Choice *c, int64_t n, int64_t entries)
{
    enum { FEW = 1 << 16 };
    Inverse inverse = { .choice = c, .rising = !c || (c->list ? is_rising(c) : c->step > 0) };
    if (!c || !c->list)
        return inverse;
    if (n < FEW || n / 8 < entries + c->count)
        invert_all(ctx, made, &inverse, c, n);
    else
        invert_few(ctx, made, &inverse, c, n);
    return inverse;
}

/* What an entry some places later will ask for is fetched. */
static inline void chosen_later(const Inverse *p, const Csr *a, int64_t k)
{
    enum { LATER = 16 };
    if (!p->key && k + LATER < a->entries)
        __builtin_prefetch(&p->head[a->column[k + LATER]]);
}

static inline void chosen(const Inverse *p, int64_t c, int64_t *begin, int64_t *end)
{
    int64_t at = c;
    if (p->key) {
        at = entry_at(p->key, 0, p->keys, c);
        if (at == p->keys || p->key[at] != c) {
            *begin = *end = 0;
            return;
        }
    }
    *begin = p->head[at];
    *end = p->head[at + 1];
}

/* ---- rows and columns ---- */
typedef struct Select {
    Csr a;
    const Choice *rows;
    Inverse columns;
    int64_t *work;              /* entries of the rows that are chosen, added up */
    int64_t *start, *column, *order;
} Select;

static int64_t source_row(const Select *p, int64_t i)
{
    const Choice *c = p->rows;
    return !c ? i : c->list ? c->list[i] : c->first + i * c->step;
}

/* The entries of a source row that a choice by a step can reach. */
static void reach(const Select *p, int64_t row, int64_t *from, int64_t *to)
{
    const Choice *c = p->columns.choice;
    *from = p->a.start[row];
    *to = p->a.start[row + 1];
    if (!c || c->list)
        return;
    const int64_t last = c->first + (c->count - 1) * c->step;
    *from = entry_at(p->a.column, *from, *to, c->step > 0 ? c->first : last);
    *to = entry_at(p->a.column, *from, *to, (c->step > 0 ? last : c->first) + 1);
}

/* How many entries row i of the result has. */
static int64_t count_row(const Select *p, int64_t i)
{
    const Choice *c = p->columns.choice;
    int64_t from, to, n = 0, begin, end;
    if (c && !c->count)
        return 0;
    reach(p, source_row(p, i), &from, &to);
    if (!c || (!c->list && (c->step == 1 || c->step == -1)))
        return to - from;
    for (int64_t k = from; k < to; k++) {
        if (!c->list) {
            n += (p->a.column[k] - c->first) % c->step == 0;
            continue;
        }
        chosen_later(&p->columns, &p->a, k);
        chosen(&p->columns, p->a.column[k], &begin, &end);
        n += end - begin;
    }
    return n;
}

static void count_rows(void *arg, int64_t from, int64_t to, int worker)
{
    const Select *p = arg;
    (void)worker;
    for (int64_t i = from; i < to; i++)
        p->start[i + 1] = count_row(p, i);
}

enum { LONG = 1 << 11 };        /* entries of a row */

/* By a step: in its order, which may be backwards. */
static void fill_step(const Select *p, int64_t from, int64_t to, int64_t at)
{
    const Choice *c = p->columns.choice;
    const bool back = c->step < 0;
    for (int64_t i = 0; i < to - from; i++) {
        const int64_t k = back ? to - 1 - i : from + i, over = p->a.column[k] - c->first;
        if (over % c->step)
            continue;
        p->column[at] = over / c->step;
        p->order[at++] = k;
    }
}

static void fill_list(const Select *p, int64_t from, int64_t to, int64_t at)
{
    const int64_t first = at;
    for (int64_t k = from; k < to; k++) {
        int64_t begin, end;
        chosen_later(&p->columns, &p->a, k);
        chosen(&p->columns, p->a.column[k], &begin, &end);
        for (; begin < end; begin++) {
            p->column[at] = p->columns.place[begin];
            p->order[at++] = k;
        }
    }
    if (!p->columns.rising && at - first <= LONG)
        sparse_sort_row(p->column + first, p->order + first, at - first);
}

/* Rows that are long are sorted afterwards, where there is room to do it by digits. */
static void sort_long(Ctx *ctx, Made *made, const Select *p, int64_t m, int64_t n)
{
    int64_t longest = 0;
    for (int64_t i = 0; i < m; i++)
        longest = p->start[i + 1] - p->start[i] > longest ? p->start[i + 1] - p->start[i] : longest;
    if (longest <= LONG)
        return;
    int64_t *pair = made_ints(made_vector(ctx, made, DT_I64, 4 * longest));
    for (int64_t i = 0; i < m; i++) {
        const int64_t from = p->start[i], count = p->start[i + 1] - from;
        if (count <= LONG)
            continue;
        for (int64_t k = 0; k < count; k++) {
            pair[2 * k] = p->column[from + k];
            pair[2 * k + 1] = p->order[from + k];
        }
        sparse_sort_pairs(pair, pair + 2 * count, count, n);
        for (int64_t k = 0; k < count; k++) {
            p->column[from + k] = pair[2 * k];
            p->order[from + k] = pair[2 * k + 1];
        }
        made_poll(ctx, made);
    }
}

static void fill_rows(void *arg, int64_t begin, int64_t end, int worker)
{
    const Select *p = arg;
    const Choice *c = p->columns.choice;
    (void)worker;
    for (int64_t i = begin; i < end; i++) {
        int64_t from, to, at = p->start[i];
        if (p->start[i + 1] == at)
            continue;
        reach(p, source_row(p, i), &from, &to);
        if (c && c->list)
            fill_list(p, from, to, at);
        else if (c)
            fill_step(p, from, to, at);
        else
            for (; from < to; from++, at++) {
                p->column[at] = p->a.column[from];
                p->order[at] = from;
            }
    }
}

SparseOrder csr_select(Ctx *ctx, Made *made, const Csr *a, const Choice *rows,
                       const Choice *columns)
{
    const int64_t m = rows ? rows->count : a->m;
    const int before = made->count;
    Select p = { .a = *a, .rows = rows };
    Tensor *works = made_vector(ctx, made, DT_I64, m + 1);
    Tensor *starts = columns ? made_vector(ctx, made, DT_I64, m + 1) : works;
    p.work = made_ints(works);
    p.start = made_ints(starts);
    p.columns = inverse_of(ctx, made, columns, a->n, a->entries);
    p.work[0] = 0;
    for (int64_t i = 0; i < m; i++) {
        const int64_t row = source_row(&p, i);
        p.work[i + 1] = p.work[i] + a->start[row + 1] - a->start[row];
    }
    if (columns) {
        rows_for(ctx, m, p.work, count_rows, &p);
        made_poll(ctx, made);
        rows_begin(p.start, m);
    }
    Tensor *pattern = made_pattern(ctx, made, m, p.start[m]);
    Tensor *order = made_vector(ctx, made, DT_I64, p.start[m]);
    memcpy(pattern->data, p.start, (size_t)(m + 1) * sizeof(int64_t));
    p.column = made_ints(pattern) + m + 1;
    p.order = made_ints(order);
    rows_for(ctx, m, p.work, fill_rows, &p);
    made_poll(ctx, made);
    if (!p.columns.rising && p.columns.choice->list)
        sort_long(ctx, made, &p, m, columns->count);
    return only(ctx, made, before, pattern, order);
}

/* ---- some of the entries ---- */
/* Row i keeps those of its entries from[i] to to[i] that `keep` has. */
typedef struct Part {
    Csr a;
    const uint8_t *keep;        /* NULL: the triangle */
    int64_t k;
    bool lower;
    int64_t *start, *column, *order;
} Part;

static void part_reach(const Part *p, int64_t i, int64_t *from, int64_t *to)
{
    *from = p->a.start[i];
    *to = p->a.start[i + 1];
    if (p->keep)
        return;
    const int64_t cut = entry_at(p->a.column, *from, *to, p->lower ? i + p->k + 1 : i + p->k);
    *(p->lower ? to : from) = cut;
}

static void count_part(void *arg, int64_t begin, int64_t end, int worker)
{
    const Part *p = arg;
    (void)worker;
    for (int64_t i = begin; i < end; i++) {
        int64_t from, to, n = 0;
        part_reach(p, i, &from, &to);
        for (int64_t k = from; p->keep && k < to; k++)
            n += p->keep[k] != 0;
        p->start[i + 1] = p->keep ? n : to - from;
    }
}

static void fill_part(void *arg, int64_t begin, int64_t end, int worker)
{
    const Part *p = arg;
    (void)worker;
    for (int64_t i = begin; i < end; i++) {
        int64_t from, to, at = p->start[i];
        part_reach(p, i, &from, &to);
        for (int64_t k = from; k < to; k++)
            if (!p->keep || p->keep[k]) {
                p->column[at] = p->a.column[k];
                p->order[at++] = k;
            }
    }
}

static SparseOrder part(Ctx *ctx, Made *made, Part *p)
{
    const int64_t m = p->a.m;
    const int before = made->count;
    Tensor *starts = made_vector(ctx, made, DT_I64, m + 1);
    p->start = made_ints(starts);
    rows_for(ctx, m, p->a.start, count_part, p);
    made_poll(ctx, made);
    rows_begin(p->start, m);
    Tensor *pattern = made_pattern(ctx, made, m, p->start[m]);
    Tensor *order = made_vector(ctx, made, DT_I64, p->start[m]);
    memcpy(pattern->data, p->start, (size_t)(m + 1) * sizeof(int64_t));
    p->column = made_ints(pattern) + m + 1;
    p->order = made_ints(order);
    rows_for(ctx, m, p->a.start, fill_part, p);
    made_poll(ctx, made);
    return only(ctx, made, before, pattern, order);
}

SparseOrder csr_kept(Ctx *ctx, Made *made, const Csr *a, const uint8_t *keep)
{
    return part(ctx, made, &(Part){ .a = *a, .keep = keep });
}

SparseOrder csr_triangle(Ctx *ctx, Made *made, const Csr *a, int64_t k, bool lower)
{
    k = k < -a->m ? -a->m : k > a->n ? a->n : k;        /* i + k must not overflow */
    return part(ctx, made, &(Part){ .a = *a, .k = k, .lower = lower });
}

/* ---- single places ---- */
static int64_t find(const Csr *a, int64_t i, int64_t j)
{
    const int64_t end = a->start[i + 1], k = entry_at(a->column, a->start[i], end, j);
    return k < end && a->column[k] == j ? k : -1;
}

typedef struct Find { Csr a; const int64_t *row, *column; int64_t first[2]; int64_t *to; } Find;

static void find_some(void *arg, int64_t from, int64_t to, int worker)
{
    const Find *p = arg;
    (void)worker;
    for (int64_t k = from; k < to; k++)
        p->to[k] = p->row ? find(&p->a, p->row[k], p->column[k])
                          : find(&p->a, p->first[0] + k, p->first[1] + k);
}

static Tensor *found(Ctx *ctx, Made *made, Find *p, int64_t count)
{
    enum { GRAIN = 1 << 11 };
    Tensor *t = made_vector(ctx, made, DT_I64, count);
    p->to = made_ints(t);
    pool_for(ctx, count, GRAIN, find_some, p);
    made_poll(ctx, made);
    return t;
}

Tensor *csr_diagonal(Ctx *ctx, Made *made, const Csr *a, int64_t k)
{
    const bool none = k >= a->n || -k >= a->m;
    const int64_t row = k < 0 ? -k : 0, column = k > 0 ? k : 0;
    const int64_t down = a->m - row, across = a->n - column;
    Find p = { .a = *a, .first = { row, column } };
    return found(ctx, made, &p, none ? 0 : down < across ? down : across);
}

Tensor *csr_find(Ctx *ctx, Made *made, const Csr *a, const int64_t *row, const int64_t *column,
                 int64_t count)
{
    Find p = { .a = *a, .row = row, .column = column };
    return found(ctx, made, &p, count);
}

/* ---- blocks ---- */
/* Rows of the blocks beside each other, from row `top` on. */
typedef struct Blocks {
    int64_t across, top;
    const Csr *block;           /* the first of the row of blocks */
    int64_t value;              /* of its first entry */
    int64_t *start, *column, *order;
} Blocks;

static void fill_blocks(void *arg, int64_t from, int64_t to, int worker)
{
    const Blocks *p = arg;
    (void)worker;
    for (int64_t i = from; i < to; i++) {
        int64_t at = p->start[p->top + i], left = 0, value = p->value;
        for (int64_t b = 0; b < p->across; b++) {
            const Csr *a = &p->block[b];
            for (int64_t k = a->start ? a->start[i] : 0; a->start && k < a->start[i + 1]; k++) {
                p->column[at] = left + a->column[k];
                p->order[at++] = value + k;
            }
            left += a->n;
            value += a->start ? a->entries : 0;
        }
    }
}

SparseOrder csr_blocks(Ctx *ctx, Made *made, int64_t down, int64_t across, const Csr *block)
{
    int64_t m = 0, entries = 0;
    for (int64_t i = 0; i < down; i++)
        m += block[i * across].m;
    for (int64_t k = 0; k < down * across; k++)
        entries += block[k].start ? block[k].entries : 0;
    Tensor *pattern = made_pattern(ctx, made, m, entries);
    Tensor *order = made_vector(ctx, made, DT_I64, entries);
    Blocks p = { .across = across, .start = made_ints(pattern), .order = made_ints(order) };
    p.column = p.start + m + 1;
    for (int64_t i = 0; i < down; i++) {
        p.block = block + i * across;
        const int64_t rows = p.block->m;
        int64_t value = p.value;
        for (int64_t b = 0; b < across; b++) {
            assert(p.block[b].m == rows && p.block[b].n == block[b].n);
            if (!p.block[b].start)
                continue;
            for (int64_t k = 0; k < rows; k++)
                p.start[p.top + k + 1] += p.block[b].start[k + 1] - p.block[b].start[k];
            value += p.block[b].entries;
        }
        for (int64_t k = 0; k < rows; k++)
            p.start[p.top + k + 1] += p.start[p.top + k];
        rows_for(ctx, rows, p.start + p.top, fill_blocks, &p);
        made_poll(ctx, made);
        p.top += rows;
        p.value = value;
    }
    return (SparseOrder){ pattern, order, NULL };
}

/* ---- places that are stored ---- */
/* The numbers that are chosen, each once and rising, and the last place of each. */
static int64_t distinct(Ctx *ctx, Made *made, const Choice *c, int64_t n, Tensor **pairs)
{
    *pairs = made_vector(ctx, made, DT_I64, 4 * c->count);
    int64_t *pair = made_ints(*pairs), used = 0;
    for (int64_t k = 0; k < c->count; k++) {
        pair[2 * k] = c->list ? c->list[k] : c->first + k * c->step;
        pair[2 * k + 1] = k;
    }
    sparse_sort_pairs(pair, pair + 2 * c->count, c->count, n);
    for (int64_t k = 0; k < c->count; k++) {
        if (k + 1 < c->count && pair[2 * k] == pair[2 * k + 2])
            continue;
        pair[2 * used] = pair[2 * k];
        pair[2 * used++ + 1] = pair[2 * k + 1];
    }
    return used;
}

SparseOrder csr_places(Ctx *ctx, Made *made, int64_t m, int64_t n, const Choice *rows,
                       const Choice *columns)
{
    const int before = made->count;
    Tensor *row_pairs, *column_pairs;
    const int64_t down = distinct(ctx, made, rows, m, &row_pairs);
    const int64_t across = distinct(ctx, made, columns, n, &column_pairs);
    const int64_t *row = made_ints(row_pairs), *column = made_ints(column_pairs);
    Tensor *pattern = made_pattern(ctx, made, m, count_times(down, across));
    Tensor *order = made_vector(ctx, made, DT_I64, down * across);
    int64_t *start = made_ints(pattern), *to = start + m + 1, *from = made_ints(order), at = 0;
    for (int64_t i = 0; i < down; i++) {
        start[row[2 * i] + 1] = across;
        for (int64_t j = 0; j < across; j++, at++) {
            to[at] = column[2 * j];
            from[at] = row[2 * i + 1] * columns->count + column[2 * j + 1];
        }
    }
    rows_begin(start, m);
    return only(ctx, made, before, pattern, order);
}

Tensor *sparse_last(Ctx *ctx, Made *made, const SparseOrder *o)
{
    const int64_t n = o->group->size - 1, *group = made_ints(o->group);
    Tensor *last = made_vector(ctx, made, DT_I64, n);
    for (int64_t e = 0; e < n; e++)
        made_ints(last)[e] = made_ints(o->order)[group[e + 1] - 1];
    return last;
}
