/* A graph on the rows of data: which calls these are, and what the operands of its products are
 * there. A tensor of data with one axis more than the argument that it is for is one call for each
 * of its rows. One with as many axes is a call by itself, unless the graph expects another length
 * of its first axis: then its rows go in batches of that length, the last of which ends where they
 * end. */
#include "builtins/quant/coded.h"

#include "core/base/error.h"

#include <stdio.h>
#include <string.h>

typedef struct Data {
    CodedPlan *plan;
    int at;                         /* the argument of quantize */
    int64_t calls;                  /* 0: not known yet */
} Data;

/* The length that the graph expects of the first axis of a node, or, where it has read the same
 * length of a value inside, that may come from there; -1: any. */
static int64_t expected(const Graph *g, uint32_t node)
{
    const GraphNode *of = graph_at(g, node);
    int64_t first = of->rank ? g->length[of->shape] : -1, length = -1;
    for (uint32_t i = 0; i < g->nodes; i++) {
        const GraphNode *n = graph_at(g, i);
        if (!n->kept || n->kind != GRAPH_GUARD || n->field != 0 || !is_ref(*graph_args(g, n)))
            continue;
        if (graph_args(g, n)->i == node)
            return graph_args(g, n)[1].i;
        length = graph_args(g, n)[1].i == first ? first : length;
    }
    return length;
}

/* Rows of a call; 0: all of x at once; -1: one without its axis. */
static int64_t rows_of(const Data *d, uint32_t node, Value x)
{
    const Graph *g = d->plan->graph;
    int rank = graph_at(g, node)->rank;
    const Tensor *t = x.tag == V_TENSOR ? x.tensor : NULL;
    if (t && t->rank == rank + 1)
        return -1;
    int64_t length = t && t->rank == rank && rank ? expected(g, node) : -1;
    return length < 1 || tensor_shape(t)[0] == length ? 0 : length;
}

static void count_calls(Data *d, Value to, Value x)
{
    OpCall *c = d->plan->call;
    if (to.tag == V_TUPLE && x.tag == V_TUPLE && to.tuple->count == x.tuple->count)
        for (uint32_t i = 0; i < to.tuple->count; i++)
            count_calls(d, to.tuple->items[i], x.tuple->items[i]);
    if (!is_ref(to) || x.tag != V_TENSOR)
        return;
    int64_t batch = rows_of(d, (uint32_t)to.i, x), length = x.tensor->rank ?
            tensor_shape(x.tensor)[0] : 1;
    if (x.tensor->size == 0 || (batch > 0 && length < batch))
        arg_error(c, d->at, ERR_VALUE, "%s has %lld rows, and the graph takes %lld of them at once",
                  arg_name(c, d->at), (long long)length, (long long)(batch > 0 ? batch : 1));
    if (!batch)
        return;
    int64_t calls = batch < 0 ? length : (length + batch - 1) / batch;
    if (d->calls && d->calls != calls)
        arg_error(c, d->at, ERR_SHAPE, "the tensors of %s have rows for %lld calls and for %lld",
                  arg_name(c, d->at), (long long)d->calls, (long long)calls);
    d->calls = calls;
}

/* The part of x that call k takes; owned. */
static Value part(const Data *d, Value to, Value x, int64_t k)
{
    Interp *in = d->plan->call->in;
    if (to.tag == V_TUPLE && x.tag == V_TUPLE && to.tuple->count == x.tuple->count) {
        Value *made = push_like(in, x);
        for (uint32_t i = 0; i < to.tuple->count; i++)
            made[i] = part(d, to.tuple->items[i], x.tuple->items[i], k);
        return *--in->sp;
    }
    int64_t batch = is_ref(to) ? rows_of(d, (uint32_t)to.i, x) : 0;
    if (!batch)
        return v_retain(x);
    Tensor *t = x.tensor;
    int64_t shape[TENSOR_RANK_MAX], rows = batch < 0 ? 1 : batch, from = k * rows;
    from = from + rows > tensor_shape(t)[0] ? tensor_shape(t)[0] - rows : from;
    memcpy(shape, tensor_shape(t), (size_t)t->rank * sizeof *shape);
    shape[0] = rows;
    int drop = batch < 0;
    char *data = t->data + from * tensor_strides(t)[0] * (int64_t)dtype_info(t->dtype)->bytes;
    return v_tensor(&in->ctx, tensor_view(&in->ctx, t, t->rank - drop, shape + drop,
                                          tensor_strides(t) + drop, data));
}

/* ---- what operands are ---- */
typedef struct Watch {
    GraphWatch base;                /* first */
    CodedPlan *plan;
} Watch;

static void before(Interp *in, GraphWatch *base, Graph *g, uint32_t node, const Value *value)
{
    CodedPlan *p = ((Watch *)(void *)base)->plan;
    (void)g;
    if (p->at[node] < 0)
        return;
    int64_t layer = p->at[node];
    Value x = value[p->layer[layer].product.x];
    tuple_push(&in->ctx, &p->operands[layer].tuple, NULL, v_retain(x));
}

/* Data as the graph has its parameters. */
static Value by_parameters(Data *d)
{
    OpCall *c = d->plan->call;
    const Graph *g = d->plan->graph;
    Value x = c->args[d->at];
    bool own = g->params == 1 && g->arguments.tuple->items[0].tag == V_TUPLE;
    if (g->params == 1 && (x.tag != V_TUPLE || (own && x.tuple->count != 1))) {
        Tuple *one = tuple_new(&c->in->ctx, 1);
        Value v = op_root(c, v_tuple(one));
        one->items[0] = v_retain(x);
        return v;
    }
    if (x.tag != V_TUPLE || x.tuple->count != g->params)
        arg_error(c, d->at, ERR_TYPE, "%s is a tuple of %u, one for each parameter of the graph",
                  arg_name(c, d->at), g->params);
    return x;
}

void coded_run(CodedPlan *p, int at)
{
    OpCall *c = p->call;
    Interp *in = c->in;
    Data d = { .plan = p, .at = at };
    Watch w = { .base.before = before, .plan = p };
    Value x = by_parameters(&d);
    stack_room(in, (size_t)p->layers + p->graph->params + 64);
    p->operands = in->sp;
    for (int64_t i = 0; i < p->layers; i++)
        v_push(in, v_tuple(tuple_new(&in->ctx, 0)));
    for (uint32_t i = 0; i < p->graph->params; i++)
        count_calls(&d, p->graph->arguments.tuple->items[i], x.tuple->items[i]);
    for (int64_t k = 0; k < (d.calls ? d.calls : 1); k++) {
        Value *mark = in->sp;
        for (uint32_t i = 0; i < p->graph->params; i++)
            v_push(in, part(&d, p->graph->arguments.tuple->items[i], x.tuple->items[i], k));
        v_release(&in->ctx, graph_replay_watched(in, p->graph, mark, &w.base));
        stack_cut(in, mark);
        poll_interrupt(in);
    }
}
