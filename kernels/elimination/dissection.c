/* Nested dissection (A. George, J. W. H. Liu, "Computer Solution of Large Sparse Positive Definite
 * Systems", 1981, chapter 8): a set of nodes that parts a graph into halves comes last, each half
 * is parted likewise. The set is a layer in the middle of a walk from the rim, without those of its
 * nodes that have no neighbour in the layer behind it. */
#include "kernels/elimination/columns.h"

#include <string.h>

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
