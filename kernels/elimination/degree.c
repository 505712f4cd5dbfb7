/* Approximate minimum degree (Amestoy, Davis, Duff 1996) on a quotient graph: what was eliminated
 * is an element, whose list are the variables that it joined; a variable's list are elements, then
 * variables. Variables that cannot be told apart are one, with weight. The degree of a variable is
 * bounded by the sizes of its elements outside of the pivot's, which one pass over them counts. */
#include "kernels/elimination/columns.h"

#include <math.h>
#include <string.h>

typedef enum State { VARIABLE, MERGED, ELEMENT, ABSORBED } State;

typedef struct Graph {
    Hold *hold;
    int64_t n, left;                     /* variables: all, and by weight those not eliminated */
    int64_t *pool, *other, room, used;   /* lists, and where they are packed when that is full */
    int64_t *at, *length, *elements;     /* of each list; its elements are first */
    int64_t *weight;                     /* of variables; negative: in the pivot's list now */
    int64_t *degree;                     /* of elements: the weight of their list */
    int64_t *outside, stamp;             /* of elements: stamp + weight outside the pivot's list */
    int64_t *head, *next, *last;         /* variables of one degree; then those of one hash */
    int64_t *hash;
    int64_t *member, *tail;              /* what is merged into a variable, a list */
    char *state;
    int64_t least, *order, done;
} Graph;

/* ---- lists by degree ---- */
static void put(Graph *g, int64_t i, int64_t d)
{
    g->degree[i] = d;
    g->next[i] = g->head[d];
    g->last[i] = -1;
    if (g->head[d] >= 0)
        g->last[g->head[d]] = i;
    g->head[d] = i;
    g->least = d < g->least ? d : g->least;
}

static void take(Graph *g, int64_t i)
{
    if (g->last[i] >= 0)
        g->next[g->last[i]] = g->next[i];
    else
        g->head[g->degree[i]] = g->next[i];
    if (g->next[i] >= 0)
        g->last[g->next[i]] = g->last[i];
}

static void emit(Graph *g, int64_t i)
{
    for (; i >= 0; i = g->member[i])
        g->order[g->done++] = i;
}

/* ---- the beginning ---- */
static void lists_new(Graph *g, const Columns *a)
{
    const int64_t n = g->n, entries = a->start[n];
    Hold *h = g->hold;
    int64_t **const arrays[] = { &g->at, &g->length, &g->weight, &g->degree, &g->head, &g->next,
                                 &g->last, &g->hash, &g->member, &g->tail };
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++)
        *arrays[i] = hold_ints(h, n + 1);
    g->elements = hold_zero(h, n + 1, sizeof(int64_t));
    g->outside = hold_zero(h, n + 1, sizeof(int64_t));
    g->state = hold_zero(h, n + 1, 1);
    g->room = 2 * entries + 2 * n + 16;
    g->pool = hold_ints(h, g->room);
    g->other = hold_ints(h, g->room);
    g->used = entries;
    memcpy(g->pool, a->row, (size_t)entries * sizeof *a->row);
    for (int64_t i = 0; i < n; i++) {
        g->at[i] = a->start[i];
        g->length[i] = a->start[i + 1] - a->start[i];
        g->weight[i] = 1;
        g->head[i] = g->hash[i] = g->member[i] = -1;
        g->tail[i] = i;
    }
    g->head[n] = -1;
    g->stamp = 1;
    g->least = n;
}

static void lists_free(Graph *g)
{
    int64_t *const arrays[] = { g->at, g->length, g->weight, g->degree, g->head, g->next, g->last,
                                g->hash, g->member, g->tail, g->elements, g->outside, g->pool,
                                g->other };
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++)
        hold_drop(g->hold, arrays[i]);
    hold_drop(g->hold, g->state);
}

/* Rows that are all but full come last: they would make everybody's degree large. Returns the
 * weight of the others. */
static void set_aside(Graph *g, int64_t *late, int64_t *count)
{
    const double dense = fmax(16, 10 * sqrt((double)g->n));
    for (int64_t i = 0; i < g->n; i++)
        if ((double)g->length[i] > dense) {
            late[(*count)++] = i;
            g->state[i] = MERGED;
            g->weight[i] = 0;
        }
    g->left = g->n - *count;
    for (int64_t i = 0; i < g->n; i++)
        if (g->state[i] == VARIABLE)
            put(g, i, g->length[i] < g->left ? g->length[i] : g->left - 1);
}

/* ---- the pivot's list ---- */
/* Room at the end of the pool for a list of n. */
static void make_room(Graph *g, int64_t n)
{
    if (g->used + n <= g->room)
        return;
    int64_t used = 0, *to = g->other;
    for (int64_t i = 0; i < g->n; i++) {
        if (g->state[i] != VARIABLE && g->state[i] != ELEMENT)
            continue;
        memcpy(to + used, g->pool + g->at[i], (size_t)g->length[i] * sizeof *to);
        g->at[i] = used;
        used += g->length[i];
    }
    hold_work(g->hold, used);
    g->other = g->pool;
    g->pool = to;
    g->used = used;
    if (used + n > g->room) {
        g->room = used + n + g->room / 2;
        g->pool = hold_grow(g->hold, g->pool, g->room, sizeof *to);
        g->other = hold_grow(g->hold, g->other, g->room, sizeof *to);
    }
}

/* The live variables of a list join the pivot's list at the end of the pool. */
static void join(Graph *g, const int64_t *list, int64_t n, int64_t *total)
{
    for (int64_t k = 0; k < n; k++) {
        const int64_t i = list[k], w = g->weight[i];
        if (g->state[i] != VARIABLE || w <= 0)
            continue;
        *total += w;
        g->weight[i] = -w;
        g->pool[g->used++] = i;
        take(g, i);
    }
}

/* Eliminates p: an element, whose list is new; its elements are absorbed. */
static void pivot(Graph *g, int64_t p)
{
    const int64_t w = g->weight[p];
    int64_t total = 0, most = g->length[p] - g->elements[p];
    take(g, p);
    for (int64_t k = 0; k < g->elements[p]; k++) {
        const int64_t e = g->pool[g->at[p] + k];
        most += g->state[e] == ELEMENT ? g->length[e] : 0;
    }
    make_room(g, most < g->left ? most : g->left);
    g->weight[p] = -w;
    const int64_t from = g->used, *list = g->pool + g->at[p];
    for (int64_t k = 0; k < g->elements[p]; k++) {
        const int64_t e = list[k];
        if (g->state[e] != ELEMENT)
            continue;
        join(g, g->pool + g->at[e], g->length[e], &total);
        g->state[e] = ABSORBED;
    }
    join(g, list + g->elements[p], g->length[p] - g->elements[p], &total);
    hold_work(g->hold, 4 * most);
    g->at[p] = from;
    g->length[p] = g->used - from;
    g->elements[p] = 0;
    g->state[p] = ELEMENT;
    g->weight[p] = 0;
    g->degree[p] = total;
    g->left -= w;
    emit(g, p);
}

/* ---- what changes around it ---- */
static void count_outside(Graph *g, int64_t p)
{
    for (int64_t k = 0; k < g->length[p]; k++) {
        const int64_t i = g->pool[g->at[p] + k], w = -g->weight[i];
        hold_work(g->hold, 4 * g->elements[i]);
        for (int64_t x = 0; x < g->elements[i]; x++) {
            const int64_t e = g->pool[g->at[i] + x];
            if (g->state[e] != ELEMENT)
                continue;
            if (g->outside[e] < g->stamp)
                g->outside[e] = g->degree[e] + g->stamp;
            g->outside[e] -= w;
        }
    }
}

/* The elements of i that have something outside of p's list; the others are part of p now. */
static int64_t keep_elements(Graph *g, int64_t i, int64_t *list, int64_t *d, uint64_t *hash)
{
    int64_t kept = 0;
    for (int64_t x = 0; x < g->elements[i]; x++) {
        const int64_t e = list[x];
        if (g->state[e] != ELEMENT)
            continue;
        if (g->outside[e] == g->stamp) {
            g->state[e] = ABSORBED;
            continue;
        }
        *d += g->outside[e] - g->stamp;
        *hash += (uint64_t)e;
        list[kept++] = e;
    }
    return kept;
}

/* i's list anew: elements, p the first of them, then variables outside of p's list. Returns the
 * weight of what it reaches outside of that. The list does not grow: what led to p is gone. */
static int64_t renew(Graph *g, int64_t i, int64_t p, uint64_t *hash)
{
    int64_t *list = g->pool + g->at[i], d = 0;
    const int64_t elements = g->elements[i], length = g->length[i];
    hold_work(g->hold, 4 * length);
    int64_t kept = keep_elements(g, i, list, &d, hash), to = kept;
    for (int64_t x = elements; x < length; x++) {
        const int64_t j = list[x];
        if (g->state[j] != VARIABLE || g->weight[j] <= 0)
            continue;
        d += g->weight[j];
        *hash += (uint64_t)j;
        list[to++] = j;
    }
    *hash += (uint64_t)p;
    list[to] = list[kept];
    list[kept] = list[0];
    list[0] = p;
    g->elements[i] = kept + 1;
    g->length[i] = to + 1;
    return d;
}

/* i becomes a part of the variable or the pivot `into`. */
static void merge(Graph *g, int64_t i, int64_t into)
{
    g->state[i] = MERGED;
    g->weight[i] = 0;
    g->member[g->tail[into]] = i;
    g->tail[into] = g->tail[i];
}

static void update(Graph *g, int64_t p)
{
    for (int64_t k = 0; k < g->length[p]; k++) {
        const int64_t i = g->pool[g->at[p] + k], w = -g->weight[i];
        uint64_t hash = 0;
        const int64_t d = renew(g, i, p, &hash);
        if (d == 0) {                    /* it fills in nothing beyond what p did */
            g->degree[p] -= w;
            g->left -= w;
            g->state[i] = MERGED;
            g->weight[i] = 0;
            emit(g, i);
            continue;
        }
        g->degree[i] = d < g->degree[i] ? d : g->degree[i];
        const int64_t bucket = (int64_t)(hash % (uint64_t)g->n);
        g->next[i] = g->hash[bucket];
        g->hash[bucket] = i;
        g->last[i] = bucket;
    }
}

static bool same_lists(Graph *g, int64_t i, int64_t j, const int64_t *mark, int64_t stamp)
{
    if (g->length[i] != g->length[j] || g->elements[i] != g->elements[j])
        return false;
    for (int64_t x = 0; x < g->length[j]; x++)
        if (mark[g->pool[g->at[j] + x]] != stamp)
            return false;
    return true;
}

/* Variables of one hash: those with the same list become one. `mark` is `outside`, above all
 * stamps of this pivot. */
static void merge_alike(Graph *g, int64_t bucket, int64_t *stamp)
{
    int64_t *mark = g->outside;
    for (int64_t i = g->hash[bucket]; i >= 0 && g->next[i] >= 0; i = g->next[i]) {
        ++*stamp;
        hold_work(g->hold, 4 * g->length[i]);
        for (int64_t x = 0; x < g->length[i]; x++)
            mark[g->pool[g->at[i] + x]] = *stamp;
        for (int64_t before = i, j = g->next[i]; j >= 0; j = g->next[j]) {
            if (!same_lists(g, i, j, mark, *stamp)) {
                before = j;
                continue;
            }
            g->weight[i] += g->weight[j];        /* both are negative */
            merge(g, j, i);
            g->next[before] = g->next[j];
        }
    }
    g->hash[bucket] = -1;
}

static void finish(Graph *g, int64_t p)
{
    int64_t *list = g->pool + g->at[p], kept = 0;
    for (int64_t k = 0; k < g->length[p]; k++) {
        const int64_t i = list[k];
        if (g->state[i] != VARIABLE)
            continue;
        const int64_t w = g->weight[i] = -g->weight[i];
        int64_t d = g->degree[i] + g->degree[p] - w;
        d = d < g->left - w ? d : g->left - w;
        list[kept++] = i;
        put(g, i, d > 0 ? d : 0);
    }
    g->used -= g->at[p] + g->length[p] == g->used ? g->length[p] - kept : 0;
    g->length[p] = kept;
    if (kept == 0)
        g->state[p] = ABSORBED;
}

static int64_t least(Graph *g)
{
    while (g->head[g->least] < 0)
        g->least++;
    return g->head[g->least];
}

void order_degree(Hold *h, const Columns *a, int64_t *order)
{
    Graph g = { .hold = h, .n = a->n, .order = order };
    int64_t *late = hold_ints(h, a->n), late_count = 0;
    lists_new(&g, a);
    set_aside(&g, late, &late_count);
    while (g.left > 0) {
        const int64_t p = least(&g);
        pivot(&g, p);
        count_outside(&g, p);
        update(&g, p);
        int64_t stamp = g.stamp + g.n + 1;
        for (int64_t k = 0; k < g.length[p]; k++) {
            const int64_t i = g.pool[g.at[p] + k];
            if (g.state[i] == VARIABLE && g.hash[g.last[i]] >= 0)
                merge_alike(&g, g.last[i], &stamp);
        }
        finish(&g, p);
        g.stamp = stamp + 1;
    }
    memcpy(order + g.done, late, (size_t)late_count * sizeof *late);
    hold_drop(h, late);
    lists_free(&g);
}
