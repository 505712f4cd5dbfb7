/* Which products of a graph become operations in codes, and what goes into them. */
#include "builtins/quant/coded.h"

#include "core/base/error.h"

#include <stdio.h>
#include <string.h>

const char *coded_name(CodedPlan *p, uint32_t node, char out[200])
{
    GraphNode *n = graph_at(p->graph, node);
    const char *where = graph_where(p->call->in, p->graph, n);
    const char *name = n->kind == GRAPH_ROW ? n->op->name : "the index notation";
    snprintf(out, 200, "%.60s%s%.120s", name, where ? " at " : "", where ? where : "");
    return out;
}

/* ---- who reads what ---- */
typedef struct Uses {
    int64_t *count;
    int64_t *by;                    /* the node that read it last; -1: the result */
} Uses;

static void use(const Uses *u, Value v, int64_t by)
{
    for (uint32_t i = 0; v.tag == V_TUPLE && i < v.tuple->count; i++)
        use(u, v.tuple->items[i], by);
    if (is_ref(v)) {
        u->count[v.i]++;
        u->by[v.i] = by;
    }
}

static Uses uses_of(CodedPlan *p)
{
    Ctx *ctx = &p->call->in->ctx;
    const Graph *g = p->graph;
    int64_t n = g->nodes + 1;
    Uses u = { (int64_t *)op_keep(p->call, tensor_zeros(ctx, DT_I64, 1, &n))->data,
               (int64_t *)op_keep(p->call, tensor_zeros(ctx, DT_I64, 1, &n))->data };
    for (uint32_t i = 0; i < g->nodes; i++) {
        const GraphNode *node = graph_at(g, i);
        for (uint32_t k = 0; node->kept && k < node->operands; k++)
            use(&u, graph_args(g, node)[k], i);
    }
    use(&u, g->result, -1);
    return u;
}

/* The node that alone reads `node`, if it is a row that runs plainly on the same numbers. */
static const GraphNode *follower(const CodedPlan *p, const Uses *u, uint32_t node, uint32_t *next)
{
    const Graph *g = p->graph;
    if (u->count[node] != 1 || u->by[node] < 0)
        return NULL;
    *next = (uint32_t)u->by[node];
    const GraphNode *a = graph_at(g, node), *b = graph_at(g, *next);
    bool same = b->kind == GRAPH_ROW && b->scope < 0 && b->place < 0 && !b->rule &&
                b->dtype == a->dtype && b->rank == a->rank;
    for (int i = 0; same && i < a->rank; i++)
        same = g->length[a->shape + (uint32_t)i] == g->length[b->shape + (uint32_t)i];
    return same ? b : NULL;
}

/* ---- bias and activation ---- */
static int64_t coded_channels(const GraphProduct *q)
{
    return q->channel < 0 ? 1 : tensor_shape(q->w.tensor)[q->channel];
}

/* One number for each output, along the axis of the outputs and nothing else. */
static bool is_bias(const GraphProduct *q, Value v, int rank)
{
    int64_t n = coded_channels(q);
    if (v.tag != V_TENSOR || v.tensor->size != n || v.tensor->rank > rank ||
        (n > 1 && v.tensor->rank < -q->along) || dtype_info(v.tensor->dtype)->kind != 'f' ||
        !dtype_plain((DType)v.tensor->dtype))
        return false;
    const Tensor *t = v.tensor;
    return n == 1 || tensor_shape(t)[t->rank + q->along] == n;
}

static void add_bias(CodedPlan *p, CodedLayer *l, const Uses *u)
{
    uint32_t next;
    const GraphNode *n = follower(p, u, l->last, &next);
    if (!n || n->op->cls != OPC_EW || n->op->ew != EW_ADD || n->operands != 2)
        return;
    const Value *v = graph_args(p->graph, n);
    Value bias = is_ref(v[0]) ? v[1] : v[0];
    if (!is_bias(&l->product, bias, graph_at(p->graph, l->last)->rank))
        return;
    l->bias = bias;
    l->last = next;
}

static void add_relu(CodedPlan *p, CodedLayer *l, const Uses *u)
{
    uint32_t next;
    const GraphNode *n = follower(p, u, l->last, &next);
    if (!n || n->op->cls != OPC_EW || n->op->ew != EW_RELU)
        return;
    l->relu = true;
    l->last = next;
}

/* ---- the whole ---- */
static _Noreturn void raise_none(CodedPlan *p, const char *first)
{
    if (graph_in_codes(p->graph))
        err_raise(&p->call->in->ctx, ERR_VALUE, "the products of the graph are in codes already");
    err_raise_help(&p->call->in->ctx, ERR_VALUE,
                   "a graph is of x alone where weights are constants: graph(x -> f(x, W), x)",
                   "no product of the graph can be computed in codes%s%s", first ? ": " : "",
                   first ? first : "");
}

void coded_plan(CodedPlan *p)
{
    Interp *in = p->call->in;
    Graph *g = p->graph;
    int64_t n = g->nodes, bytes = (n + 1) * (int64_t)sizeof(CodedLayer);
    char first[400] = "", name[200];
    p->layer = (CodedLayer *)(void *)op_keep(p->call, tensor_zeros(&in->ctx, DT_U8, 1,
                                                                   &bytes))->data;
    p->at = (int32_t *)op_keep(p->call, tensor_zeros(&in->ctx, DT_I32, 1, &n))->data;
    p->ends = (int32_t *)op_keep(p->call, tensor_zeros(&in->ctx, DT_I32, 1, &n))->data;
    p->inside = (bool *)op_keep(p->call, tensor_zeros(&in->ctx, DT_BOOL, 1, &n))->data;
    Uses u = uses_of(p);
    for (uint32_t i = 0; i < g->nodes; i++)
        p->at[i] = p->ends[i] = -1;
    for (uint32_t i = 0; i < g->nodes; i++) {
        CodedLayer l = { .node = i, .last = i, .bias = v_undef() };
        if (!graph_product(in, g, i, &l.product))
            continue;
        if (l.product.why) {
            if (!first[0])
                snprintf(first, sizeof first, "of %s: %s", coded_name(p, i, name), l.product.why);
            continue;
        }
        add_bias(p, &l, &u);
        add_relu(p, &l, &u);
        for (uint32_t k = i; k != l.last; k = (uint32_t)u.by[k])
            p->inside[k] = true;
        p->at[i] = p->ends[l.last] = (int32_t)p->layers;
        p->layer[p->layers++] = l;
    }
    if (!p->layers)
        raise_none(p, first[0] ? first : NULL);
}
