/* The elimination tree: column k of a Cholesky factor changes none but its ancestors. */
#include "kernels/elimination/columns.h"

/* i's root so far becomes a child of k; the path is shortened on the way. */
static void climb(int64_t i, int64_t k, int64_t *parent, int64_t *ancestor)
{
    while (i >= 0 && i < k) {
        const int64_t next = ancestor[i];
        ancestor[i] = k;
        if (next < 0)
            parent[i] = k;
        i = next;
    }
}

void tree_of(Hold *h, const Columns *a, bool square, int64_t *parent)
{
    int64_t *ancestor = hold_ints(h, a->n), *last = square ? hold_ints(h, a->m) : NULL;
    for (int64_t i = 0; square && i < a->m; i++)
        last[i] = -1;
    for (int64_t k = 0; k < a->n; k++) {
        parent[k] = ancestor[k] = -1;
        hold_work(h, 8 * (a->start[k + 1] - a->start[k]));
        for (int64_t p = a->start[k]; p < a->start[k + 1]; p++) {
            const int64_t i = a->row[p];
            climb(square ? last[i] : i, k, parent, ancestor);
            if (square)
                last[i] = k;
        }
    }
    hold_drop(h, ancestor);
    hold_drop(h, last);
}

void tree_post(Hold *h, int64_t n, const int64_t *parent, int64_t *post)
{
    int64_t *child = hold_ints(h, n), *next = hold_ints(h, n), *stack = hold_ints(h, n), k = 0;
    for (int64_t i = 0; i < n; i++)
        child[i] = -1;
    for (int64_t i = n - 1; i >= 0; i--) {
        next[i] = -1;
        if (parent[i] < 0)
            continue;
        next[i] = child[parent[i]];
        child[parent[i]] = i;
    }
    for (int64_t root = 0; root < n; root++) {
        int64_t top = 0;
        if (parent[root] >= 0)
            continue;
        stack[0] = root;
        while (top >= 0) {
            const int64_t i = stack[top], down = child[i];
            if (down < 0) {
                post[k++] = i;
                top--;
                continue;
            }
            child[i] = next[down];
            stack[++top] = down;
        }
    }
    hold_drop(h, child);
    hold_drop(h, next);
    hold_drop(h, stack);
}

int64_t tree_reach(const Columns *a, int64_t k, const int64_t *parent, int64_t *mark,
                   int64_t *reach)
{
    int64_t top = a->n;
    mark[k] = k;
    for (int64_t p = a->start[k]; p < a->start[k + 1]; p++) {
        int64_t i = a->row[p], len = 0;
        if (i > k)
            continue;
        for (; mark[i] != k; i = parent[i]) {
            mark[i] = k;
            reach[len++] = i;
        }
        while (len > 0)
            reach[--top] = reach[--len];
    }
    return top;
}
