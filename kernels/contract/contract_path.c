/* The order of pairs of a contraction, by a model of time: dynamic programming over subsets of
 * operands (all of them to 8, the connected ones to 12, see Pfeifer, Haegeman, Verstraete, Phys.
 * Rev. E 90, 033315), beyond that greedy with random restarts, the tree then refined a few
 * products at a time (Gray, Kourtis, Quantum 5, 410). An index held by three and more operands
 * stays until the last of them is taken in. Deterministic. */
#include "kernels/contract/contract.h"

#include <math.h>
#include <string.h>

enum { ALL_SUBSETS = 8, SUBSETS = 12, CHUNKS = 8, RESTARTS = 32, REFINED = 6 };

/* Multiply-adds per second of the blocked kernels on one thread, bytes per second of memory
 * and of what fits a cache, seconds of a call: what they are relative to each other decides,
 * not what they are. */
static const double call_seconds = 1.5e-7, memory_rate = 1e10, cache_rate = 4e10, cache = 1 << 20;

static double peak_rate(DType dt)
{
    switch (dt) {
    case DT_F32: return 4e10;
    case DT_F64: return 2e10;
    case DT_C64: return 1e10;
    case DT_C128: return 5e9;
    default: return 6e9;
    }
}

/* Tensors 0 … n-1 are the operands, without indices of length 1 and without those that
 * nobody else holds. */
typedef struct Net {
    int n;
    double bytes, rate;                 /* of an element; multiply-adds per second */
    double limit;                       /* bytes of intermediates; 0: none */
    uint64_t out;
    uint64_t *labels;                   /* of each tensor, room for all intermediates */
    void *scratch;                      /* search_bytes, then refine_bytes */
    int chunks;
    double product[CHUNKS][256];        /* of the extents of eight labels at a time */
} Net;

typedef struct Merge { int a, b; } Merge;   /* tensors; the t-th one makes tensor n + t */

static double product(const Net *net, uint64_t labels)
{
    double p = net->product[0][labels & 255];
    for (int k = 1; k < net->chunks; k++)
        p *= net->product[k][labels >> (8 * k) & 255];
    return p;
}

/* How much of the peak rate is left when a block has only x of its rows, columns or terms. */
static double share(double x)
{
    return x / (x + 4);
}

/* Seconds of one pair: a stack of products of m×k and k×n matrices. */
static double pair_cost(const Net *net, uint64_t a, uint64_t b, uint64_t c)
{
    uint64_t both = a & b;
    double batch = product(net, both & c), k = product(net, both & ~c);
    double m = product(net, a & ~b), n = product(net, b & ~a);
    double flops = batch * k * m * n;
    double bytes = net->bytes * batch * (m * k + k * n + m * n);
    double speed = share(m) * share(n) * share(k) * 2;
    double compute = flops / (net->rate * (speed > 0.05 ? speed : 0.05));
    double memory = bytes / (bytes < cache ? cache_rate : memory_rate);
    double each = (batch - 1) * (m > 1 && n > 1 ? 2e-8 : 2e-9);
    return (compute > memory ? compute : memory) + each + call_seconds;
}

/* ---- dynamic programming over subsets ---- */

typedef struct Subset {
    uint64_t labels;
    double cost, size, peak;            /* bytes of its result; most bytes alive while it is made */
    uint16_t split;                     /* one of its two parts; 0: none is known */
} Subset;

/* Bytes alive at once when A and B are made in the better order and then multiplied. */
static double peak_of(const Subset *a, const Subset *b, double size)
{
    double first = fmax(a->peak, a->size + b->peak), second = fmax(b->peak, b->size + a->peak);
    return fmax(fmin(first, second), a->size + b->size + size);
}

typedef struct Search {
    const Net *net;
    const int *member;                  /* tensors that take part */
    int n;
    uint64_t outside;                   /* labels that the result or other tensors want */
    bool outer;                         /* pairs without a common index too */
    bool hungry;                        /* least memory, not least time */
    Subset *subset;
} Search;

static void try_split(const Search *s, int whole, int part)
{
    Subset *w = &s->subset[whole];
    const Subset *a = &s->subset[part], *b = &s->subset[whole ^ part];
    if (!s->outer && !(a->labels & b->labels))
        return;
    double below = a->cost + b->cost;
    if (!s->hungry && below >= w->cost)
        return;
    double peak = peak_of(a, b, w->size);
    if (s->net->limit > 0 && !s->hungry && peak > s->net->limit)
        return;
    if (s->hungry && peak > w->peak)
        return;
    double cost = below + pair_cost(s->net, a->labels, b->labels, w->labels);
    if (s->hungry && peak == w->peak && cost >= w->cost)
        return;
    if (s->hungry || cost < w->cost) {
        w->cost = cost;
        w->peak = peak;
        w->split = (uint16_t)part;
    }
}

/* Labels that are wanted when all members have been taken together. */
static uint64_t labels_outside(const Net *net, const int *member, int n)
{
    uint64_t outside = net->out;
    for (int k = 0; k < net->n; k++) {
        bool in = false;
        for (int i = 0; i < n; i++)
            in |= member[i] == k;
        outside |= in ? 0 : net->labels[k];
    }
    return outside;
}

/* False: the whole has no order under these conditions. */
static bool search(const Search *s)
{
    const Net *net = s->net;
    int full = (1 << s->n) - 1;
    for (int set = 1; set <= full; set++) {
        Subset *w = &s->subset[set];
        uint64_t in = 0, rest = s->outside;
        for (int i = 0; i < s->n; i++)
            *(set >> i & 1 ? &in : &rest) |= net->labels[s->member[i]];
        *w = (Subset){ .labels = in & rest, .cost = INFINITY, .peak = INFINITY };
        if ((set & (set - 1)) == 0) {
            w->cost = w->peak = w->size = 0;
            continue;
        }
        w->size = set == full && s->n == net->n ? 0 : net->bytes * product(net, w->labels);
        int low = set & -set;
        for (int part = (set - 1) & set; part; part = (part - 1) & set)
            if (part & low && s->subset[part].cost < INFINITY &&
                s->subset[set ^ part].cost < INFINITY)
                try_split(s, set, part);
    }
    return s->subset[full].split != 0;
}

/* The merges of a subset, the part that needs more room first; returns its tensor. */
static int collect(const Search *s, int set, Merge *merges, int *count)
{
    const Subset *w = &s->subset[set];
    if ((set & (set - 1)) == 0)
        return s->member[__builtin_ctz((unsigned)set)];
    int p = w->split, q = set ^ p;
    if (s->subset[q].peak - s->subset[q].size > s->subset[p].peak - s->subset[p].size) {
        int swap = p;
        p = q;
        q = swap;
    }
    int a = collect(s, p, merges, count), b = collect(s, q, merges, count);
    merges[*count] = (Merge){ a, b };
    s->net->labels[s->net->n + *count] = w->labels;
    return s->net->n + (*count)++;
}

/* Orders the members, connected or not, into merges; returns the tensor of the result, and
 * false in *fits if the memory limit forbids every order. */
static int order_few(const Net *net, const int *member, int n, Merge *merges, int *count,
                     double *cost, bool *fits)
{
    Search s = { .net = net, .member = member, .n = n, .outer = n <= ALL_SUBSETS,
                 .subset = net->scratch, .outside = labels_outside(net, member, n) };
    bool found = search(&s);
    double all = pow(3, n) * 6e-9;
    if (!s.outer && (!found || s.subset[(1 << n) - 1].cost * 0.02 > all)) {
        s.outer = true;
        found = search(&s);
    }
    if (!found) {
        s.outer = s.hungry = true;
        search(&s);
        *fits = false;
    }
    *cost += s.subset[(1 << n) - 1].cost;
    return collect(&s, (1 << n) - 1, merges, count);
}

/* ---- greedy with restarts ---- */

typedef struct Greedy {
    Net *net;
    int n, live;                        /* all tensors; those in the list */
    int *list;
    uint64_t *labels;                   /* of all tensors, the merged ones too */
    int *partner;                       /* of each tensor the best one after it in the list */
    double *score;                      /* the lower the better */
    int holders[64];
    uint64_t twice;                     /* labels that two live tensors hold */
    uint64_t random;
    double noise;
    bool by_time;                       /* the cheapest pair first, not the one that shrinks most */
} Greedy;

static double random_unit(Greedy *g)
{
    g->random ^= g->random << 13;
    g->random ^= g->random >> 7;
    g->random ^= g->random << 17;
    return ((double)(g->random >> 11) + 0.5) * 0x1p-53;
}

static uint64_t merged(const Greedy *g, uint64_t a, uint64_t b)
{
    return (a | b) & ~(a & b & g->twice & ~g->net->out);
}

/* How much a merge adds to memory; pairs without a common index come after all others. */
static double score_of(Greedy *g, uint64_t a, uint64_t b)
{
    double sa = product(g->net, a), sb = product(g->net, b), sc = product(g->net, merged(g, a, b));
    double grows = sc - sa - sb;
    double score = grows > 0 ? log(1 + grows) : -log(1 - grows);
    if (g->by_time)
        score = log(pair_cost(g->net, a, b, merged(g, a, b)));
    if (!(a & b))
        score = 1e6 + log(1 + sc);
    return g->noise > 0 ? score + g->noise * log(-log(random_unit(g))) : score;
}

static void find_partner(Greedy *g, int at)
{
    int t = g->list[at];
    g->score[t] = INFINITY;
    for (int i = at + 1; i < g->live; i++) {
        double score = score_of(g, g->labels[t], g->labels[g->list[i]]);
        if (score < g->score[t]) {
            g->score[t] = score;
            g->partner[t] = g->list[i];
        }
    }
}

static void count_holders(Greedy *g, uint64_t labels, int by)
{
    for (uint64_t s = labels; s; s &= s - 1) {
        int l = __builtin_ctzll(s);
        g->holders[l] += by;
        g->twice = (g->twice & ~((uint64_t)1 << l)) | (uint64_t)(g->holders[l] == 2) << l;
    }
}

static int drop_from_list(Greedy *g, int tensor)
{
    int at = 0;
    while (g->list[at] != tensor)
        at++;
    memmove(g->list + at, g->list + at + 1, (size_t)(--g->live - at) * sizeof *g->list);
    return at;
}

/* One descent; returns its time, and the most bytes alive at once in *peak. */
static double descend(Greedy *g, Merge *merges, double *peak)
{
    const Net *net = g->net;
    double cost = 0, alive = 0;
    *peak = 0;
    g->live = g->n;
    g->twice = 0;
    memset(g->holders, 0, sizeof g->holders);
    for (int k = 0; k < g->n; k++) {
        g->list[k] = k;
        count_holders(g, g->labels[k], 1);
    }
    for (int k = 0; k < g->n; k++)
        find_partner(g, k);
    for (int t = 0; t + 1 < g->n; t++) {
        int best = g->list[0];
        for (int i = 1; i + 1 < g->live; i++)
            if (g->score[g->list[i]] < g->score[best])
                best = g->list[i];
        int a = best, b = g->partner[best], c = g->n + t;
        uint64_t la = g->labels[a], lb = g->labels[b], lc = merged(g, la, lb);
        double made = t + 2 < g->n ? net->bytes * product(net, lc) : 0;
        merges[t] = (Merge){ a, b };
        cost += pair_cost(net, la, lb, lc);
        alive += made;
        *peak = fmax(*peak, alive);
        alive -= a >= g->n ? net->bytes * product(net, la) : 0;
        alive -= b >= g->n ? net->bytes * product(net, lb) : 0;
        count_holders(g, la, -1);
        count_holders(g, lb, -1);
        count_holders(g, lc, 1);
        g->labels[c] = lc;
        drop_from_list(g, a);
        drop_from_list(g, b);
        g->list[g->live++] = c;
        g->score[c] = INFINITY;
        for (int i = 0; i + 1 < g->live; i++) {
            int x = g->list[i];
            bool stale = g->partner[x] == a || g->partner[x] == b;
            double score = stale ? 0 : score_of(g, g->labels[x], lc);
            if (stale) {
                find_partner(g, i);
            } else if (score < g->score[x]) {
                g->score[x] = score;
                g->partner[x] = c;
            }
        }
    }
    return cost;
}

/* Bytes that the search over n tensors wants, and the refinement after it. */
static size_t search_bytes(int n)
{
    size_t each = 2 * (sizeof(double) + 2 * sizeof(int)) + sizeof(Merge);
    return n <= SUBSETS ? sizeof(Subset) << n : (size_t)n * each;
}

static size_t refine_bytes(int n)
{
    return (sizeof(Subset) << REFINED) + (size_t)n * sizeof(int[2]);
}

/* ---- refining a tree, a few neighbouring products at a time ---- */

/* Nodes n … 2n-2 are products; the last one is the root. */
typedef struct Tree {
    Net *net;
    int (*child)[2];                    /* of each product */
    Subset *subset;
} Tree;

static double cost_at(const Tree *t, int node)
{
    const uint64_t *labels = t->net->labels;
    const int *child = t->child[node - t->net->n];
    return pair_cost(t->net, labels[child[0]], labels[child[1]], labels[node]);
}

/* Writes the order that was found over the products `slots`, the whole first. */
static int rebuild(const Tree *t, const Search *s, int set, const int *slots, int *used)
{
    if ((set & (set - 1)) == 0)
        return s->member[__builtin_ctz((unsigned)set)];
    int node = slots[(*used)++], part = s->subset[set].split;
    int a = rebuild(t, s, part, slots, used), b = rebuild(t, s, set ^ part, slots, used);
    t->child[node - t->net->n][0] = a;
    t->child[node - t->net->n][1] = b;
    t->net->labels[node] = s->subset[set].labels;
    return node;
}

/* The best order of the few tensors that stand closest below a product; what it saves. */
static double refine_at(const Tree *t, int node)
{
    const Net *net = t->net;
    int front[REFINED], slots[REFINED], n = 2, used = 0;
    double before = cost_at(t, node);
    slots[0] = node;
    memcpy(front, t->child[node - net->n], sizeof t->child[0]);
    while (n < REFINED) {
        int widest = -1;
        for (int i = 0; i < n; i++)
            if (front[i] >= net->n &&
                (widest < 0 || cost_at(t, front[i]) > cost_at(t, front[widest])))
                widest = i;
        if (widest < 0)
            break;
        int open = front[widest];
        before += cost_at(t, open);
        slots[n - 1] = open;
        front[widest] = t->child[open - net->n][0];
        front[n++] = t->child[open - net->n][1];
    }
    Search s = { .net = net, .member = front, .n = n, .outer = true, .outside = net->labels[node],
                 .subset = t->subset };
    if (n < 3 || !search(&s) || s.subset[(1 << n) - 1].cost >= before * 0.9999)
        return 0;
    rebuild(t, &s, (1 << n) - 1, slots, &used);
    return before - s.subset[(1 << n) - 1].cost;
}

/* Products below a node in an order in which they can be taken; returns its number. */
static int list_merges(const Tree *t, int node, Merge *merges, int *count)
{
    int n = t->net->n;
    if (node < n)
        return node;
    int a = list_merges(t, t->child[node - n][0], merges, count);
    int b = list_merges(t, t->child[node - n][1], merges, count);
    merges[*count] = (Merge){ a, b };
    return n + (*count)++;
}

/* Labels of the products of a tree in the order of its merges. */
static void find_labels(const Tree *t)
{
    Net *net = t->net;
    int holders[64] = { 0 };
    for (int k = 0; k < net->n; k++)
        for (uint64_t s = net->labels[k]; s; s &= s - 1)
            holders[__builtin_ctzll(s)]++;
    for (int node = net->n; node < 2 * net->n - 1; node++) {
        const int *child = t->child[node - net->n];
        uint64_t a = net->labels[child[0]], b = net->labels[child[1]], kept = a ^ b;
        for (uint64_t s = a & b; s; s &= s - 1) {
            int l = __builtin_ctzll(s);
            kept |= (uint64_t)(--holders[l] > 1 || net->out >> l & 1) << l;
        }
        net->labels[node] = kept;
    }
}

/* Passes over the tree until nothing is gained or `rounds` places have been looked at. */
static double refine(Net *net, Merge *merges, double cost, int rounds, void *room)
{
    int n = net->n, count = 0;
    Tree t = { .net = net, .subset = room, .child = (int (*)[2])((Subset *)room + (1 << REFINED)) };
    for (int k = 0; k + 1 < n; k++) {
        t.child[k][0] = merges[k].a;
        t.child[k][1] = merges[k].b;
    }
    find_labels(&t);
    for (double gain = 1; gain > 0 && rounds > 0;) {
        gain = 0;
        for (int node = n; node < 2 * n - 1 && rounds > 0; node++, rounds--)
            gain += refine_at(&t, node);
        cost -= gain;
    }
    list_merges(&t, 2 * n - 2, merges, &count);
    return cost;
}

static void order_many(Net *net, Merge *merges, double *cost, bool *fits)
{
    int n = net->n;
    size_t all = (size_t)(2 * n);
    Greedy g = { .net = net, .n = n, .labels = net->labels, .score = net->scratch,
                 .random = 0x9e3779b97f4a7c15 };
    g.list = (int *)(g.score + all);
    g.partner = g.list + all;
    Merge *trial = (Merge *)(g.partner + all);
    double peak, best = descend(&g, merges, &peak), work = 3e-8 * n * n;
    double budget = fmin(5e-3, fmax(2e-4, 0.02 * best));
    bool good = net->limit == 0 || peak <= net->limit;
    double least = peak;
    for (int r = 1; r < RESTARTS && r * work < budget / 2; r++) {
        g.by_time = r % 2;
        g.noise = r < 2 ? 0 : r % 4 < 2 ? 0.3 : 1.0;
        double time = descend(&g, trial, &peak);
        bool fit = net->limit == 0 || peak <= net->limit;
        if (fit == good ? (good ? time < best : peak < least) : fit) {
            memcpy(merges, trial, (size_t)(n - 1) * sizeof *merges);
            best = time;
            good = fit;
            least = peak;
        }
    }
    if (net->limit == 0)
        best = refine(net, merges, best, (int)(budget / 4e-6),
                      (char *)net->scratch + search_bytes(n));
    *cost += best;
    *fits &= good;
}

/* ---- components ---- */

/* Combines results that share no index, the smallest first. */
static int join_parts(const Net *net, int *part, int parts, Merge *merges, int *count, double *cost)
{
    while (parts > 1) {
        for (int i = 0; i < 2; i++)
            for (int j = i + 1; j < parts; j++)
                if (product(net, net->labels[part[j]]) < product(net, net->labels[part[i]])) {
                    int swap = part[i];
                    part[i] = part[j];
                    part[j] = swap;
                }
        uint64_t a = net->labels[part[0]], b = net->labels[part[1]];
        *cost += pair_cost(net, a, b, a | b);
        merges[*count] = (Merge){ part[0], part[1] };
        net->labels[net->n + *count] = a | b;
        part[0] = net->n + (*count)++;
        part[1] = part[--parts];
    }
    return part[0];
}

/* Tensors to 12, part by part where they do not hang together. */
static void order_parts(Net *net, Merge *merges, double *cost, bool *fits)
{
    int part[SUBSETS], member[SUBSETS], parts = 0, count = 0;
    unsigned left = (1u << net->n) - 1;
    while (left) {
        unsigned in = left & -left;
        uint64_t labels = net->labels[__builtin_ctz(in)];
        int n = 0;
        for (bool more = true; more;) {
            more = false;
            for (int k = 0; k < net->n; k++)
                if ((left & ~in) >> k & 1 && net->labels[k] & labels) {
                    in |= 1u << k;
                    labels |= net->labels[k];
                    more = true;
                }
        }
        for (int k = 0; k < net->n; k++)
            if (in >> k & 1)
                member[n++] = k;
        left &= ~in;
        part[parts++] = n == 1 ? member[0] : order_few(net, member, n, merges, &count, cost, fits);
    }
    join_parts(net, part, parts, merges, &count, cost);
    if (net->limit == 0)
        *cost = refine(net, merges, *cost, 2 * net->n, (char *)net->scratch + search_bytes(net->n));
}

/* ---- the whole ---- */

static void net_products(Net *net, const Contraction *c, uint64_t kept)
{
    net->chunks = (c->labels + 7) / 8;
    net->chunks = net->chunks ? net->chunks : 1;
    for (int k = 0; k < net->chunks; k++) {
        net->product[k][0] = 1;
        for (int bits = 1; bits < 256; bits++) {
            int l = 8 * k + __builtin_ctz((unsigned)bits);
            bool counts = l < c->labels && kept >> l & 1 && c->extent[l] > 0;
            double x = counts ? (double)c->extent[l] : 1;
            net->product[k][bits] = net->product[k][bits & (bits - 1)] * x;
        }
    }
}

/* Labels of every tensor; the pass that sums private ones away is the same in every order. */
static double net_labels(Net *net, const Contraction *c)
{
    uint64_t longer = 0, once = 0, more = 0;
    double seconds = 0;
    for (int l = 0; l < c->labels; l++)
        longer |= (uint64_t)(c->extent[l] != 1) << l;
    for (int k = 0; k < c->operands; k++) {
        more |= once & c->operand[k].labels;
        once |= c->operand[k].labels;
    }
    net_products(net, c, longer);
    net->out = c->out & longer;
    for (int k = 0; k < c->operands; k++) {
        uint64_t mine = c->operand[k].labels & longer;
        net->labels[k] = mine & (more | c->out);
        if (mine != net->labels[k])
            seconds += net->bytes * product(net, mine) / memory_rate + call_seconds;
    }
    return seconds;
}

/* Tensors by number into positions in a list that shrinks. */
static void number_merges(int n, const Merge *merges, int *list, ContractStep *steps)
{
    for (int k = 0; k < n; k++)
        list[k] = k;
    for (int t = 0, left = n; t + 1 < n; t++) {
        int at[2] = { 0, 0 };
        for (int i = 0; i < left; i++) {
            at[0] = list[i] == merges[t].a ? i : at[0];
            at[1] = list[i] == merges[t].b ? i : at[1];
        }
        bool turned = at[0] > at[1];
        steps[t] = (ContractStep){ at[turned], at[!turned] };
        for (int i = 1; i >= 0; i--) {
            int p = i == !turned ? at[1] : at[0];
            memmove(list + p, list + p + 1, (size_t)(left - p - 1) * sizeof *list);
            left--;
        }
        list[left++] = n + t;
    }
}

/* The time of an order that somebody else chose. */
static double given_order(Net *net, const ContractStep *steps, int *list)
{
    int left = net->n;
    double cost = 0;
    for (int k = 0; k < left; k++)
        list[k] = k;
    for (int t = 0; t + 1 < net->n; t++) {
        int a = list[steps[t].a], b = list[steps[t].b];
        uint64_t others = net->out;
        for (int i = 0; i < left; i++)
            others |= list[i] != a && list[i] != b ? net->labels[list[i]] : 0;
        uint64_t c = (net->labels[a] | net->labels[b]) & others;
        cost += pair_cost(net, net->labels[a], net->labels[b], c);
        int kept = 0;
        for (int i = 0; i < left; i++)
            if (list[i] != a && list[i] != b)
                list[kept++] = list[i];
        net->labels[net->n + t] = c;
        list[kept++] = net->n + t;
        left = kept;
    }
    return cost;
}

static void steps_as_written(int n, const ContractOptions *options, ContractStep *steps)
{
    for (int t = 0; t + 1 < n; t++)
        if (options->path)
            steps[t] = (ContractStep){ options->path[t][0], options->path[t][1] };
        else
            steps[t] = (ContractStep){ 0, t == 0 ? 1 : n - 1 - t };
}

bool contract_order(Ctx *ctx, const Contraction *c, const ContractOptions *options,
                    ContractStep *steps, double *seconds)
{
    int n = c->operands;
    bool fits = true, told = options && (options->path || options->left_to_right);
    steps[0] = (ContractStep){ 0, -1 };
    size_t all = (size_t)(2 * n);
    size_t own = sizeof(Net) + all * (sizeof(uint64_t) + sizeof(Merge) + sizeof(int));
    size_t bytes = own + search_bytes(n) + refine_bytes(n);
    Net *net = mem_alloc(ctx, bytes);
    net->scratch = (char *)net + own;
    net->n = n;
    net->bytes = dtype_info(c->dtype)->bytes;
    net->rate = peak_rate(c->dtype);
    net->limit = options ? (double)options->memory : 0;
    net->labels = (uint64_t *)(net + 1);
    Merge *merges = (Merge *)(net->labels + all);
    int *list = (int *)(merges + all);
    *seconds = net_labels(net, c);
    if (told && n > 1) {
        steps_as_written(n, options, steps);
        *seconds += given_order(net, steps, list);
    } else if (n > 1) {
        if (n <= ALL_SUBSETS) {
            int count = 0;
            for (int k = 0; k < n; k++)
                list[k] = k;
            order_few(net, list, n, merges, &count, seconds, &fits);
        } else if (n <= SUBSETS) {
            order_parts(net, merges, seconds, &fits);
        } else {
            order_many(net, merges, seconds, &fits);
        }
        number_merges(n, merges, list, steps);
    }
    mem_free(ctx, net, bytes);
    return fits;
}
