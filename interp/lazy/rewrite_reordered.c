/* reordered: a chain of products by the order with the fewest multiplications (Cormen et al.,
 * Introduction to Algorithms, 15.2), where that saves a tenth. Other sums come out: not in a
 * `reproducible` scope. */
#include "interp/lazy/lazy.h"

enum { FACTORS = 16, MULTIPLY = -1 };

typedef struct Chain {
    int n;
    int node[FACTORS], arg[FACTORS];    /* where the factors stand, in their order */
    double side[FACTORS + 1];           /* factor i is side[i] × side[i + 1] */
    double cost;                        /* as it is written */
    bool good;
} Chain;

static bool is_product(const Draft *d, int i)
{
    const Deferred *x = d->run->node[i];
    return d->step[i].kind == STEP_ROW && x->op->gives == GIVES_PRODUCT && x->count == 2 &&
           !x->scope && !x->place;
}

/* A product that only the one above reads, once. */
static bool inner(const Draft *d, int i)
{
    return i >= 0 && is_product(d, i) && !d->step[i].out && d->readers[i] == 1;
}

static void add_factor(Chain *c, const Draft *d, int i, int j)
{
    const Tensor *t = d->run->node[i]->args[j].tensor;
    if (c->n == FACTORS || t->rank < 1 || t->rank > 2) {
        c->good = false;
        return;
    }
    c->node[c->n] = i;
    c->arg[c->n++] = j;
}

static void walk(Chain *c, const Draft *d, int i)
{
    for (int j = 0; j < 2 && c->good; j++) {
        int k = step_operand(d->run, d->step, i, j);
        if (inner(d, k))
            walk(c, d, k);
        else
            add_factor(c, d, i, j);
    }
}

static const Tensor *factor(const Chain *c, const Draft *d, int f)
{
    return d->run->node[c->node[f]]->args[c->arg[f]].tensor;
}

/* Vectors stand at the ends alone; all are of one dtype. */
static void measure(Chain *c, const Draft *d)
{
    for (int f = 0; f < c->n && c->good; f++) {
        const Tensor *t = factor(c, d, f);
        bool first = f == 0, last = f == c->n - 1;
        c->good = t->dtype == factor(c, d, 0)->dtype && (t->rank == 2 || first || last);
        if (first)
            c->side[0] = t->rank == 1 ? 1 : (double)t->dims[0];
        c->side[f + 1] = t->rank == 1 && last ? 1 : (double)t->dims[t->rank - 1];
    }
}

/* The cost of node i as it is written; the factors that it covers go from *from on. */
static double written(const Chain *c, const Draft *d, int i, int *from)
{
    double cost = 0;
    int first = *from, middle = 0;
    for (int j = 0; j < 2; j++) {
        int k = step_operand(d->run, d->step, i, j);
        if (inner(d, k))
            cost += written(c, d, k, from);
        else
            ++*from;
        middle = j == 0 ? *from : middle;
    }
    return cost + c->side[first] * c->side[middle] * c->side[*from];
}

typedef struct Table {
    double cost[FACTORS][FACTORS];
    int cut[FACTORS][FACTORS];
} Table;

static void best(const Chain *c, Table *t)
{
    for (int i = 0; i < c->n; i++)
        t->cost[i][i] = 0;
    for (int length = 2; length <= c->n; length++)
        for (int i = 0, j = length - 1; j < c->n; i++, j++) {
            t->cost[i][j] = -1;
            for (int cut = i; cut < j; cut++) {
                double cost = t->cost[i][cut] + t->cost[cut + 1][j] +
                              c->side[i] * c->side[cut + 1] * c->side[j + 1];
                if (t->cost[i][j] >= 0 && cost >= t->cost[i][j])
                    continue;
                t->cost[i][j] = cost;
                t->cut[i][j] = cut;
            }
        }
}

/* In postfix notation: factors as node × 2 + operand, and where two are multiplied. */
static void list(Draft *d, const Chain *c, const Table *t, int i, int j)
{
    if (i == j) {
        pool_add(d, 2 * c->node[i] + c->arg[i]);
        return;
    }
    list(d, c, t, i, t->cut[i][j]);
    list(d, c, t, t->cut[i][j] + 1, j);
    pool_add(d, MULTIPLY);
}

static void inside(Draft *d, int i, int root)
{
    for (int j = 0; j < 2; j++) {
        int k = step_operand(d->run, d->step, i, j);
        if (!inner(d, k))
            continue;
        inside(d, k, root);
        d->step[k].kind = STEP_INSIDE;
        d->step[k].into = root;
    }
}

static void reorder(Draft *d, int i, const char *word)
{
    Chain c = { .good = true };
    Table t;
    int from = 0;
    char name[96];
    walk(&c, d, i);
    if (!c.good || c.n < 3)
        return;
    measure(&c, d);
    if (!c.good)
        return;
    c.cost = written(&c, d, i, &from);
    best(&c, &t);
    if (t.cost[0][c.n - 1] > 0.9 * c.cost)
        return;
    LazyStep *s = &d->step[i];
    s->pool = d->c->pooled;
    list(d, &c, &t, 0, c.n - 1);
    s->pooled = d->c->pooled - s->pool;
    inside(d, i, i);
    s->kind = STEP_ORDERED;
    draft_tell(d, word, "%d factors up to %s, %.3g instead of %.3g FLOPs", c.n,
               draft_name(d, i, name), 2 * t.cost[0][c.n - 1], 2 * c.cost);
}

void rewrite_reordered(Draft *d, const char *word)
{
    for (int i = d->n - 1; i >= 0 && !d->reproducible; i--)
        if (is_product(d, i))
            reorder(d, i, word);
}

/* ---- running ---- */
Value run_ordered(Run *run, int i)
{
    const Deferred *d = run->node[i];
    Interp *in = d->in;
    Value *mark = in->sp;
    const LazyStep *s = &run->compiled->step[i];
    for (int k = 0; k < s->pooled; k++) {
        int32_t f = run->compiled->pool[s->pool + k];
        if (f == MULTIPLY) {
            Value r = step_call(run, d, d->op, in->sp - 2, 2, 0);
            stack_cut(in, in->sp - 2);
            v_push(in, r);
        } else {
            v_push(in, argument_of(run, f / 2, f % 2));
        }
    }
    in->sp--;
    assert(in->sp == mark);
    (void)mark;
    return *in->sp;
}
