/* Looks at a matrix that take as long as reading it. */
#include "kernels/elimination/columns.h"
#include "kernels/elimination/own.h"

#include <math.h>
#include <string.h>

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
