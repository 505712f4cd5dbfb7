/* Orders that a walk through the graph gives, and the elimination tree: column k of a Cholesky
 * factor changes none but its ancestors. */
#include "kernels/elimination/columns.h"

void order_natural(int64_t n, int64_t *order)
{
    for (int64_t i = 0; i < n; i++)
        order[i] = i;
}

void order_inverse(int64_t n, const int64_t *order, int64_t *place)
{
    for (int64_t k = 0; k < n; k++)
        place[order[k]] = k;
}

/* Neighbours of hubs stay in their order: sorting them by insertion would take too long. */
enum { SORTED = 512 };

static int64_t degree(const Columns *a, int64_t i) { return a->start[i + 1] - a->start[i]; }

/* From `root` outwards, in layers, neighbours of small degree first: to[0 …]; how many. `seen` has
 * `mark` for all of them; *depth: layers; *last: where the last layer begins. */
static int64_t layers(Hold *h, const Columns *a, int64_t root, int64_t *seen, int64_t mark,
                      int64_t *to, int64_t *last)
{
    int64_t count = 1, edge = 1;
    to[0] = root;
    seen[root] = mark;
    *last = 0;
    for (int64_t k = 0; k < count; k++) {
        const int64_t i = to[k], from = count;
        if (k == edge) {
            *last = edge;
            edge = count;
        }
        hold_work(h, 4 * degree(a, i));
        for (int64_t p = a->start[i]; p < a->start[i + 1]; p++)
            if (seen[a->row[p]] != mark) {
                seen[a->row[p]] = mark;
                to[count++] = a->row[p];
            }
        for (int64_t x = from + 1; x < count && count - from < SORTED; x++) {
            const int64_t v = to[x], d = degree(a, v);
            int64_t y = x;
            for (; y > from && degree(a, to[y - 1]) > d; y--)
                to[y] = to[y - 1];
            to[y] = v;
            hold_work(h, x - y);
        }
    }
    return count;
}

/* A node at the rim of its component: outwards from one, then from the far end of that, a few
 * times. */
static int64_t rim(Hold *h, const Columns *a, int64_t root, int64_t *seen, int64_t *mark,
                   int64_t *work)
{
    for (int turn = 0; turn < 3; turn++) {
        int64_t last, best, count = layers(h, a, root, seen, --*mark, work, &last);
        best = work[last];
        for (int64_t k = last; k < count; k++)
            best = degree(a, work[k]) < degree(a, best) ? work[k] : best;
        root = best;
    }
    return root;
}

void order_cuthill(Hold *h, const Columns *a, int64_t *order)
{
    const int64_t n = a->n;
    int64_t *seen = hold_zero(h, n, sizeof *seen), *work = hold_ints(h, n), mark = -1, done = 0;
    int64_t last;
    for (int64_t i = 0; i < n; i++)
        if (seen[i] != 1) {
            const int64_t root = rim(h, a, i, seen, &mark, work);
            done += layers(h, a, root, seen, 1, order + done, &last);
        }
    for (int64_t i = 0; i < n / 2; i++) {
        const int64_t x = order[i];
        order[i] = order[n - 1 - i];
        order[n - 1 - i] = x;
    }
    hold_drop(h, seen);
    hold_drop(h, work);
}

/* ---- the tree ---- */
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
