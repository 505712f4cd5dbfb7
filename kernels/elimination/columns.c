/* Patterns: turned, and those of A + A' and A'A; and what a matrix looks like, which takes as long
 * as reading it. */
#include "kernels/elimination/columns.h"
#include "kernels/elimination/own.h"

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

/* ---- looks at a matrix ---- */
static int64_t find(const Csr *a, int64_t i, int64_t j)
{
    int64_t low = a->start[i], high = a->start[i + 1];
    while (low < high) {
        const int64_t middle = low + (high - low) / 2;
        if (a->column[middle] < j)
            low = middle + 1;
        else
            high = middle;
    }
    return low < a->start[i + 1] && a->column[low] == j ? low : -1;
}

/* Rows with one unknown left, one after the other: how many there were before it stopped. */
static int64_t peel(Hold *work, const Csr *a, const Columns *c, int64_t *p, int64_t *q,
                    int64_t *pivot)
{
    int64_t *left = hold_ints(work, a->m), *queue = hold_ints(work, a->m), end = 0, k = 0;
    bool *gone = hold_zero(work, a->n, 1);
    for (int64_t i = 0; i < a->m; i++)
        if ((left[i] = a->start[i + 1] - a->start[i]) == 1)
            queue[end++] = i;
    for (; k < end; k++) {
        const int64_t i = queue[k];
        int64_t e = a->start[i];
        hold_work(work, a->start[i + 1] - e);
        while (e < a->start[i + 1] && gone[a->column[e]])
            e++;
        if (e == a->start[i + 1])        /* its only unknown went to another row: singular */
            break;
        const int64_t j = a->column[e];
        p[k] = i, q[k] = j, pivot[k] = e;
        gone[j] = true;
        hold_work(work, c->start[j + 1] - c->start[j]);
        for (int64_t x = c->start[j]; x < c->start[j + 1]; x++)
            if (--left[c->row[x]] == 1)
                queue[end++] = c->row[x];
    }
    hold_drop(work, left);
    hold_drop(work, queue);
    hold_drop(work, gone);
    return k;
}

/* Stored zeros count: what is stored is the pattern. */
static EliminationMethod kind_of(const Csr *a)
{
    bool above = false, below = false;
    for (int64_t i = 0; i < a->m; i++) {
        const int64_t from = a->start[i], end = a->start[i + 1];
        below |= from < end && a->column[from] < i;
        above |= from < end && a->column[end - 1] > i;
    }
    return above ? below ? ELIMINATION_PERMUTED : ELIMINATION_UPPER
                 : below ? ELIMINATION_LOWER : ELIMINATION_DIAGONAL;
}

/* A triangle of zeros on the diagonal would look permuted to who peels it; either is right. */
bool shape_triangle(Elimination *e, const Csr *a, const Columns *c)
{
    const int64_t n = a->n;
    int64_t *p = hold_ints(e->hold, n), *q = hold_ints(e->hold, n), *pivot = hold_ints(e->hold, n);
    const OwnOps *o = own_ops(e->dtype);
    if (peel(e->work, a, c, p, q, pivot) < n) {
        hold_drop(e->hold, p);
        hold_drop(e->hold, q);
        hold_drop(e->hold, pivot);
        return false;
    }
    e->method = kind_of(a);
    for (int64_t k = 0; k < n && e->failed < 0; k++)
        if (o->size(a->value, pivot[k]) == 0)
            e->failed = q[k];
    own_triangle(e, a, p, q, pivot);
    return true;
}

bool shape_hermitian(const Csr *a, const Columns *c)
{
    const OwnOps *o = own_ops(a->dtype);
    if (memcmp(a->start, c->start, (size_t)(a->m + 1) * sizeof *a->start) != 0 ||
        memcmp(a->column, c->row, (size_t)a->entries * sizeof *a->column) != 0)
        return false;
    for (int64_t k = 0; k < a->entries; k++)
        if (o->real(a->value, k) != o->real(c->value, k) ||
            o->imag(a->value, k) != -o->imag(c->value, k))
            return false;
    return true;
}

bool shape_positive_diagonal(const Csr *a)
{
    const OwnOps *o = own_ops(a->dtype);
    for (int64_t i = 0; i < a->m; i++) {
        const int64_t k = find(a, i, i);
        if (k < 0 || !(o->real(a->value, k) > 0) || o->imag(a->value, k) != 0)
            return false;
    }
    return true;
}
