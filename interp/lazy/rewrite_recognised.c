/* recognised: softmax(scale * q @ k' + bias) @ v as `attention`, which never makes the scores. Its
 * sums are others: not in a `reproducible` scope. */
#include "interp/lazy/lazy.h"

#include <math.h>
#include <string.h>

/* What attention is given: node and argument, as node × 4 + argument; -1: nothing. */
enum { PART_Q, PART_K, PART_V, PART_BIAS, PARTS };
enum { SCALES = 8 };

typedef struct Found {
    int part[PARTS];
    int scale[SCALES];                  /* numbers as above; those that divide as -2 - number */
    int scales;
    int node[SCALES + 4], nodes;        /* that become part of it */
} Found;

static const Op *row(const Draft *d, const char *name) { return op_named(d->in, name); }

static bool is_row(const Draft *d, int i, const Op *op)
{
    const Deferred *x = i >= 0 ? d->run->node[i] : NULL;
    return x && x->op == op && !x->scope && d->step[i].kind != STEP_SAME;
}

/* Read by the one above alone. */
static bool alone(const Draft *d, int i)
{
    return i >= 0 && !d->step[i].out && d->readers[i] == 1;
}

static int place_of(int node, int arg) { return 4 * node + arg; }

static bool number(Value v) { return v.tag == V_INT || v.tag == V_FLOAT; }

static bool scores(const Draft *d, Found *f, int i)
{
    const Deferred *x = d->run->node[i];
    if (!is_row(d, i, row(d, "matmul")) || x->args[0].tensor->rank < 2 ||
        x->args[1].tensor->rank < 2)
        return false;
    f->part[PART_Q] = place_of(i, 0);
    f->part[PART_K] = place_of(i, 1);
    return true;
}

/* where(mask, scores, -inf): what may be seen. */
static bool masks(const Deferred *x)
{
    bool choice = x->op->cls == OPC_EW && ew_info[x->op->ew].result == RES_WHERE;
    return choice && x->args[0].tag == V_TENSOR && x->args[0].tensor->dtype == DT_BOOL &&
           x->args[2].tag == V_FLOAT && x->args[2].f == -INFINITY;
}

/* Down from what softmax takes to q @ k': scales on the way, and at most one bias above them. */
static bool descend(const Draft *d, Found *f, int i)
{
    const Op *times = op_operator(d->in, TK_MUL), *over = op_operator(d->in, TK_DIV),
             *plus = op_operator(d->in, TK_ADD);
    while (alone(d, i) && f->nodes < SCALES + 2) {
        const Deferred *x = d->run->node[i];
        f->node[f->nodes++] = i;
        if (scores(d, f, i))
            return true;
        if (x->scope || d->step[i].kind != STEP_ROW)
            return false;
        int a = x->count == 2 ? step_operand(d->run, d->step, i, 0) : -1,
            b = x->count == 2 ? step_operand(d->run, d->step, i, 1) : -1;
        bool scales = f->scales < SCALES;
        if (x->op == times && number(x->args[1]) && scales)
            f->scale[f->scales++] = place_of(i, 1);
        else if (x->op == times && number(x->args[0]) && scales)
            f->scale[f->scales++] = place_of(i, 0), a = b;
        else if (x->op == over && number(x->args[1]) && scales)
            f->scale[f->scales++] = -2 - place_of(i, 1);
        else if (x->op == plus && f->part[PART_BIAS] < 0 && !f->scales && x->count == 2 &&
                 x->args[0].tag == V_TENSOR && x->args[1].tag == V_TENSOR) {
            bool left = alone(d, a) && x->head->rank == d->run->node[a]->head->rank;
            f->part[PART_BIAS] = place_of(i, left);
            a = left ? a : b;
        } else if (masks(x) && f->part[PART_BIAS] < 0 && !f->scales) {
            f->part[PART_BIAS] = place_of(i, 0);
            a = step_operand(d->run, d->step, i, 1);
        } else {
            return false;
        }
        i = a;
    }
    return false;
}

/* softmax over the last axis. */
static bool over_last(const Deferred *x)
{
    Value axis = x->count > 1 ? x->args[1] : v_undef();
    return axis.tag == V_UNDEF || (axis.tag == V_INT && (axis.i == -1 ||
                                                         axis.i == x->head->rank - 1));
}

/* A bias or a mask may broadcast to the scores, not the scores to it; and all is of one dtype. */
static bool scores_fit(const Draft *d, const Found *f, int i)
{
    const Tensor *all = d->run->node[f->node[0]]->head,
                 *own = d->run->node[f->node[f->nodes - 1]]->head;
    return own->rank == all->rank && own->dtype == all->dtype &&
           own->dtype == d->run->node[i]->head->dtype &&
           memcmp(own->dims, all->dims, (size_t)own->rank * sizeof *own->dims) == 0;
}

static bool find(const Draft *d, Found *f, int i)
{
    *f = (Found){ .part = { -1, -1, -1, -1 } };
    if (!is_row(d, i, row(d, "matmul")) || d->run->node[i]->args[1].tensor->rank < 2)
        return false;
    int s = step_operand(d->run, d->step, i, 0);
    if (!alone(d, s) || !is_row(d, s, row(d, "softmax")) || !over_last(d->run->node[s]) ||
        d->run->node[s]->head->rank < 2)
        return false;
    f->part[PART_V] = place_of(i, 1);
    f->node[f->nodes++] = s;
    return descend(d, f, step_operand(d->run, d->step, s, 0)) && scores_fit(d, f, i);
}

void rewrite_recognised(Draft *d, const char *word)
{
    char name[96], end[96];
    for (int i = d->n - 1; i >= 0 && !d->reproducible; i--) {
        Found f;
        if (!find(d, &f, i))
            continue;
        LazyStep *s = &d->step[i];
        s->pool = d->c->pooled;
        for (int p = 0; p < PARTS; p++)
            pool_add(d, f.part[p]);
        for (int k = 0; k < f.scales; k++)
            pool_add(d, f.scale[k]);
        s->pooled = d->c->pooled - s->pool;
        s->kind = STEP_ATTENTION;
        for (int k = 0; k < f.nodes; k++) {
            d->step[f.node[k]].kind = STEP_INSIDE;
            d->step[f.node[k]].into = i;
        }
        draft_tell(d, word, "%s to %s as attention", draft_name(d, f.node[f.nodes - 1], name),
                   draft_name(d, i, end));
    }
}

/* ---- running ---- */
static Value part(Run *run, int32_t at)
{
    return at < 0 ? v_undef() : argument_of(run, at / 4, at % 4);
}

static double scale_of(const Run *run, const int32_t *scale, int n)
{
    double product = 1;
    for (int k = 0; k < n; k++) {
        bool divides = scale[k] < -1;
        int at = divides ? -2 - scale[k] : scale[k];
        Value v = run->node[at / 4]->args[at % 4];
        double x = v.tag == V_INT ? (double)v.i : v.f;
        product = divides ? product / x : product * x;
    }
    return product;
}

/* Is there a row of zeros alone? attention gives them to a query that sees nothing, where the
 * softmax of nothing but -inf is nan. */
static bool may_see_nothing(Run *run, const Deferred *d, Value r)
{
    Interp *in = d->in;
    Value *mark = in->sp, args[2] = { r, v_int(-1) };
    Value any = step_call(run, d, op_named(in, "any"), args, 2, 0);
    v_push(in, any);
    Value all = step_call(run, d, op_named(in, "all"), mark, 1, 0);
    stack_cut(in, mark);
    assert(all.tag == V_BOOL);
    return !all.i;
}

/* Node k and what stands in it, one operation after the other. part: the values of pool's parts. */
static Value as_written(Run *run, int k, const int32_t *pool, const Value *part)
{
    const Deferred *d = run->node[k];
    Interp *in = d->in;
    Value *mark = in->sp;
    stack_room(in, 8);
    for (int j = 0; j < d->count; j++) {
        int p = 0, inner = step_operand(run, run->compiled->step, k, j);
        while (p < PARTS && pool[p] != place_of(k, j))
            p++;
        v_push(in, p < PARTS ? v_retain(part[p])
                   : inner >= 0 ? as_written(run, inner, pool, part) : v_retain(d->args[j]));
    }
    Value r = step_call(run, d, d->op, mark, d->count, d->weak);
    v_push(in, r);
    v_retain(r);
    stack_cut(in, mark);
    return r;
}

/* Its parameters are q, k, v, causal, scale, window, bias. */
Value run_attention(Run *run, int i)
{
    const LazyStep *s = &run->compiled->step[i];
    const int32_t *pool = run->compiled->pool + s->pool;
    const Deferred *d = run->node[i];
    Interp *in = d->in;
    Value *parts = in->sp, *mark = parts + PARTS;
    for (int p = 0; p < PARTS; p++)
        v_push(in, part(run, pool[p]));
    v_push(in, v_retain(parts[PART_Q]));
    v_push(in, step_call(run, d, op_named(in, "ctranspose"), parts + PART_K, 1, 0));
    v_push(in, v_retain(parts[PART_V]));        /* k is multiplied as k' */
    v_push(in, v_undef());
    v_push(in, v_float(scale_of(run, pool + PARTS, s->pooled - PARTS)));
    v_push(in, v_undef());
    v_push(in, v_retain(parts[PART_BIAS]));
    Value r = step_call(run, d, op_named(in, "attention"), mark, 7, 0);
    v_push(in, r);
    if (pool[PART_BIAS] >= 0 && may_see_nothing(run, d, r)) {
        Value w = as_written(run, i, pool, parts);
        v_push(in, w);
        r = w;
    }
    v_retain(r);
    stack_cut(in, parts);
    return r;
}
