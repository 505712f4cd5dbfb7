/* Orders that a walk through the graph gives, and the elimination tree: column k of a Cholesky
 * factor changes none but its ancestors. */
#include "kernels/elimination/columns.h"

#include <string.h>

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

/* ---- nested dissection ---- */
/* A. George, J. W. H. Liu, "Computer Solution of Large Sparse Positive Definite
 * Systems", 1981, chapter 8: a set of nodes that parts a graph into halves comes last, each half
 * is parted likewise. The set is a layer in the middle of a walk from the rim, without those of its
 * nodes that have no neighbour in the layer behind it. */
enum { SMALL = 6 };                      /* a piece of so few nodes is left as it is */

typedef struct Piece { int64_t from, to; bool connected; } Piece;

typedef struct Dissection {
    Hold *h;
    const Columns *a;
    int64_t *order;                      /* places of pieces, and their nodes meanwhile */
    int64_t *region, *seen, *work;       /* of each node; seen: the mark of a walk */
    int64_t *layer;                      /* where each layer of a walk begins in work */
    int64_t layers, label, mark;
    Piece *stack;
    int64_t height;
} Dissection;

/* From `root` outwards, within its region, behind the `count` nodes that are in work already;
 * returns how many are there then. */
static int64_t walk(Dissection *d, int64_t root, int64_t count)
{
    const Columns *a = d->a;
    int64_t k = count, edge;
    d->layers = 0;
    d->seen[root] = d->mark;
    d->work[count++] = root;
    while (k < count) {
        d->layer[d->layers++] = k;
        for (edge = count; k < edge; k++) {
            const int64_t i = d->work[k];
            hold_work(d->h, 2 * (a->start[i + 1] - a->start[i]));
            for (int64_t p = a->start[i]; p < a->start[i + 1]; p++) {
                const int64_t j = a->row[p];
                if (d->region[j] != d->region[root] || d->seen[j] == d->mark)
                    continue;
                d->seen[j] = d->mark;
                d->work[count++] = j;
            }
        }
    }
    return count;
}

static void push(Dissection *d, int64_t from, int64_t to, bool connected)
{
    if (to - from > SMALL)
        d->stack[d->height++] = (Piece){ from, to, connected };
}

/* Each component of the piece is one of its own. */
static void part(Dissection *d, const Piece *x)
{
    int64_t count = 0;
    d->mark++;
    for (int64_t k = x->from; k < x->to; k++)
        if (d->seen[d->order[k]] != d->mark) {
            const int64_t from = count;
            count = walk(d, d->order[k], count);
            push(d, x->from + from, x->from + count, true);
        }
    memcpy(d->order + x->from, d->work, (size_t)count * sizeof *d->work);
}

/* The layer that halves the nodes and has one behind it; 0: there is none. */
static int64_t middle(const Dissection *d, int64_t count)
{
    int64_t k = 1;
    while (k + 2 < d->layers && d->layer[k + 1] < count / 2)
        k++;
    return d->layers < 3 ? 0 : k;
}

static bool touches(const Dissection *d, int64_t i, int64_t from, int64_t to)
{
    const Columns *a = d->a;
    for (int64_t p = a->start[i]; p < a->start[i + 1]; p++)
        if (d->region[a->row[p]] == d->label && d->seen[a->row[p]] >= from &&
            d->seen[a->row[p]] < to)
            return true;
    return false;
}

/* work, in layers, back into the piece: what is before the middle, what is behind it, the
 * middle. */
static void arrange(Dissection *d, const Piece *x, int64_t count, int64_t k)
{
    const int64_t from = d->layer[k], to = d->layer[k + 1],
                  next = k + 2 < d->layers ? d->layer[k + 2] : count, base = d->mark + 1;
    int64_t near = x->from, far, last = x->to;
    for (int64_t i = 0; i < count; i++)              /* where each stands, as a mark */
        d->seen[d->work[i]] = base + i;
    for (int64_t i = 0; i < from; i++)
        d->order[near++] = d->work[i];
    for (int64_t i = from; i < to; i++)
        if (!touches(d, d->work[i], base + to, base + next))
            d->order[near++] = d->work[i];
        else
            d->order[--last] = d->work[i];
    far = near;
    for (int64_t i = to; i < count; i++)
        d->order[far++] = d->work[i];
    d->mark = base + count;
    push(d, x->from, near, false);
    push(d, near, far, false);
}

/* A piece that hangs together. */
static void dissect(Dissection *d, const Piece *x)
{
    enum { TURNS = 3 };
    int64_t root = d->order[x->from], count = 0;
    for (int turn = 0; turn < TURNS; turn++) {       /* outwards from the far end of the last */
        d->mark++;
        count = walk(d, root, 0);
        root = d->work[d->layer[d->layers - 1]];
    }
    const int64_t k = middle(d, count);
    if (k > 0)
        arrange(d, x, count, k);
}

void order_dissection(Hold *h, const Columns *a, int64_t *order)
{
    const int64_t n = a->n;
    Dissection d = { .h = h, .a = a, .order = order };
    d.region = hold_zero(h, n, sizeof *d.region);
    d.seen = hold_zero(h, n, sizeof *d.seen);
    d.work = hold_ints(h, n);
    d.layer = hold_ints(h, n + 1);
    d.stack = hold_new(h, n / SMALL + 2, sizeof *d.stack);
    order_natural(n, order);
    push(&d, 0, n, false);
    while (d.height) {
        const Piece x = d.stack[--d.height];
        d.label++;
        for (int64_t k = x.from; k < x.to; k++)
            d.region[order[k]] = d.label;
        (x.connected ? dissect : part)(&d, &x);
    }
    hold_drop(h, d.region);
    hold_drop(h, d.seen);
    hold_drop(h, d.work);
    hold_drop(h, d.layer);
    hold_drop(h, d.stack);
}
