/* Patterns: turned, and those of A + A' and A'A. */
#include "kernels/elimination/columns.h"

#include <string.h>

static void sum_up(int64_t n, int64_t *start)
{
    int64_t sum = 0;
    for (int64_t i = 0; i <= n; i++) {
        const int64_t here = start[i];
        start[i] = sum;
        sum += here;
    }
}

Columns columns_of(Hold *h, int64_t m, int64_t n, const int64_t *start, const int64_t *column,
                   const void *value, size_t each)
{
    const int64_t entries = start[m];
    Columns c = { .m = m, .n = n, .each = each, .start = hold_zero(h, n + 1, sizeof(int64_t)),
                  .row = hold_ints(h, entries) };
    c.value = value ? hold_new(h, entries, each) : NULL;
    int64_t *at = hold_ints(h, n + 1);
    for (int64_t k = 0; k < entries; k++)
        c.start[column[k]]++;
    sum_up(n, c.start);
    memcpy(at, c.start, (size_t)(n + 1) * sizeof *at);
    for (int64_t i = 0; i < m; i++) {
        hold_work(h, start[i + 1] - start[i]);
        for (int64_t k = start[i]; k < start[i + 1]; k++) {
            const int64_t to = at[column[k]]++;
            c.row[to] = i;
            if (value)
                memcpy((char *)c.value + (size_t)to * each, (const char *)value + (size_t)k * each,
                       each);
        }
    }
    hold_drop(h, at);
    return c;
}

/* The merge of two sorted lists without `but`; to NULL: how many there are. */
static int64_t merge(const int64_t *a, int64_t na, const int64_t *b, int64_t nb, int64_t but,
                     int64_t *to)
{
    int64_t i = 0, j = 0, k = 0;
    while (i < na || j < nb) {
        const int64_t x = j == nb || (i < na && a[i] <= b[j]) ? a[i] : b[j];
        i += i < na && a[i] == x;
        j += j < nb && b[j] == x;
        if (x == but)
            continue;
        if (to)
            to[k] = x;
        k++;
    }
    return k;
}

Columns columns_sum(Hold *h, const Columns *a)
{
    const int64_t n = a->n;
    Columns t = columns_of(h, n, n, a->start, a->row, NULL, 0);
    Columns c = { .m = n, .n = n, .start = hold_zero(h, n + 1, sizeof(int64_t)) };
    for (int pass = 0; pass < 2; pass++) {
        for (int64_t j = 0; j < n; j++) {
            const int64_t p = a->start[j], q = t.start[j];
            const int64_t np = a->start[j + 1] - p, nq = t.start[j + 1] - q;
            hold_work(h, np + nq);
            int64_t count = merge(a->row + p, np, t.row + q, nq, j,
                                  pass ? c.row + c.start[j] : NULL);
            c.start[j] = pass ? c.start[j] : count;
        }
        if (pass == 0) {
            sum_up(n, c.start);
            c.row = hold_ints(h, c.start[n]);
        }
    }
    hold_drop(h, t.start);
    hold_drop(h, t.row);
    return c;
}

/* Column j of A'A: columns that share a row with it. */
static int64_t sharing(const Columns *a, const Columns *rows, int64_t j, int64_t most,
                       int64_t *mark, int64_t *to)
{
    int64_t count = 0;
    mark[j] = j;
    for (int64_t k = a->start[j]; k < a->start[j + 1]; k++) {
        const int64_t i = a->row[k];
        if (rows->start[i + 1] - rows->start[i] > most)
            continue;
        for (int64_t p = rows->start[i]; p < rows->start[i + 1]; p++) {
            if (mark[rows->row[p]] == j)
                continue;
            mark[rows->row[p]] = j;
            if (to)
                to[count] = rows->row[p];
            count++;
        }
    }
    return count;
}

Columns columns_square(Hold *h, const Columns *a, int64_t most, int64_t room)
{
    const int64_t n = a->n;
    Columns rows = columns_of(h, n, a->m, a->start, a->row, NULL, 0);
    Columns c = { .m = n, .n = n };
    double work = 0;
    for (int64_t i = 0; i < a->m; i++) {
        const double r = (double)(rows.start[i + 1] - rows.start[i]);
        work += r <= (double)most ? r * r : 0;
    }
    if (work <= (double)room) {
        int64_t *mark = hold_ints(h, n);
        c.start = hold_zero(h, n + 1, sizeof(int64_t));
        for (int pass = 0; pass < 2; pass++) {
            memset(mark, -1, (size_t)n * sizeof *mark);
            for (int64_t j = 0; j < n; j++) {
                int64_t count = sharing(a, &rows, j, most, mark, pass ? c.row + c.start[j] : NULL);
                hold_work(h, 4 * count + a->start[j + 1] - a->start[j]);
                c.start[j] = pass ? c.start[j] : count;
            }
            if (pass == 0) {
                sum_up(n, c.start);
                c.row = hold_ints(h, c.start[n]);
            }
        }
        hold_drop(h, mark);
    }
    hold_drop(h, rows.start);
    hold_drop(h, rows.row);
    return c;
}
