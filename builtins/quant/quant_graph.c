/* quantize(g, i8, data=X): a graph whose products with constants are computed in codes. The graph
 * runs on the data, the operand of each product gets a range, each output of a constant a scale,
 * and a new graph has one operation where the old one has a product, its bias and its relu. */
#include "builtins/quant/coded.h"
#include "interp/precision/cast.h"
#include "interp/show/show.h"

#include "core/base/error.h"

#include <stdio.h>
#include <string.h>

enum { X, DTYPE, AXIS, SYMMETRIC, METHOD, RANGE, DATA };

/* ---- ranges ---- */
static _Noreturn void raise_special(CodedPlan *p, uint32_t node, const char *what)
{
    char name[200];
    err_raise(&p->call->in->ctx, ERR_VALUE,
              "%s of %s has nan or inf: codes stand for finite numbers", what,
              coded_name(p, node, name));
}

/* All that the operand of a layer was, one call after the other. */
static QuantOperand seen(CodedPlan *p, int64_t layer)
{
    OpCall *c = p->call;
    const Tuple *all = p->operands[layer].tuple;
    DType dt = graph_at(p->graph, p->layer[layer].product.x)->dtype == DT_F64 ? DT_F64 : DT_F32;
    QuantOperand o = { .call = c };
    int64_t n = 0, to = 0;
    for (uint32_t i = 0; i < all->count; i++)
        n += all->items[i].tag == V_TENSOR ? all->items[i].tensor->size : 1;
    Tensor *flat = op_keep(c, tensor_new(&c->in->ctx, dt, 1, &n));
    for (uint32_t i = 0; i < all->count; i++) {
        Value *mark = c->in->sp;
        o = quant_whole(c, X, op_keep(c, v_to_tensor(c->in, all->items[i], X)), dt);
        memcpy(flat->data + (size_t)to * dtype_info(dt)->bytes, o.x->data,
               (size_t)o.x->size * dtype_info(dt)->bytes);
        to += o.x->size;
        stack_cut(c->in, mark);
    }
    return quant_whole(c, X, flat, dt);
}

static void calibrate_layer(CodedPlan *p, int64_t i)
{
    OpCall *c = p->call;
    CodedLayer *l = &p->layer[i];
    Value *mark = c->in->sp;
    QuantWay way = { .method = p->method, .symmetric = p->grid == GRID_SYMMETRIC, .grid = p->grid,
                     .p = 99.9, .bins = 2048 };
    QuantOperand o = seen(p, i);
    double low, high;
    if (!ranges_extremes(&c->in->ctx, o.dt, o.x->data, o.x->size, &low, &high))
        raise_special(p, l->node, "on these rows the operand");
    QuantRange r = quant_calibrate(&o, &way);
    Grid g = grid_of(o.dt, r.low[0], r.high[0], p->grid);
    l->scale = g.scale;
    l->zero = g.zero;
    stack_cut(c->in, mark);
}

/* ---- the new graph ---- */
static void put(CodedPlan *p, Graph *g, Value v, const Value *map)
{
    Interp *in = p->call->in;
    v_push(in, graph_resolve(in, v, map));
    graph_operand(g, in->sp[-1]);
    stack_cut(in, in->sp - 1);
}

/* (p0, p1) -> conv(p0, p1, mode="same"): a row by its name and its other arguments. */
static void put_call(CodedPlan *p, Buf *out, const GraphNode *n, bool first)
{
    Interp *in = p->call->in;
    const OpSig *sig = op_sig(in, n->op);
    const Value *v = graph_args(p->graph, n);
    int given = 2;
    if (n->op->products == PRODUCTS_LABELLED) {
        buf_printf(out, "(p0, p1) -> %s(", n->op->name);
        show_repr(in, out, v[0]);
        buf_puts(out, first ? ", p1, p0)" : ", p0, p1)");
        return;
    }
    buf_printf(out, "(p0, p1) -> %s(%s", n->op->name, first ? "p1, p0" : "p0, p1");
    for (uint32_t i = (uint32_t)given; i < n->operands; i++) {
        if (v[i].tag == V_UNDEF || v[i].tag == V_NONE)
            continue;
        buf_printf(out, ", %s=", sig->params[i].name->text);
        show_repr(in, out, v[i]);
    }
    buf_putc(out, ')');
}

/* The text of a product that is none by rows of a matrix, a function of x and w; owned. */
static Value text_of(CodedPlan *p, const CodedLayer *l)
{
    Interp *in = p->call->in;
    const GraphNode *n = graph_at(p->graph, l->node);
    Buf *out = &in->scratch;
    if (n->kind == GRAPH_NOTATION && !l->product.first)
        return v_retain(graph_args(p->graph, n)[0]);
    buf_clear(out);
    if (n->kind == GRAPH_NOTATION) {            /* its parameters the other way round */
        const Str *text = graph_args(p->graph, n)[0].str;
        const char *list = "(p0, p1)";
        bool known = strncmp(text->text, list, strlen(list)) == 0;
        buf_printf(out, "(p1, p0)%s", known ? text->text + strlen(list) : text->text);
    } else {
        put_call(p, out, n, l->product.first);
    }
    return v_str(str_new(&in->ctx, buf_cstr(out), out->len));
}

/* The constant in codes, (q=, scale=, …), one scale for each output; on the value stack. */
static const Tuple *code_constant(CodedPlan *p, const CodedLayer *l)
{
    OpCall *c = p->call;
    const GraphProduct *q = &l->product;
    DType dt = graph_at(p->graph, q->x)->dtype == DT_F64 ? DT_F64 : DT_F32;
    Tensor *w = op_keep(c, tensor_retain(q->w.tensor));
    double low, high;
    int channel = q->channel;
    if (q->matrix && q->turned) {
        w = op_keep(c, tensor_transpose_last(&c->in->ctx, w));
        channel = 1;
    }
    QuantOperand o = quant_whole(c, X, w, dt);
    if (!ranges_extremes(&c->in->ctx, dt, o.x->data, o.x->size, &low, &high))
        raise_special(p, l->node, "the constant");
    Value args[7] = { v_tensor_raw(o.x), v_format(DT_I8), channel < 0 ? v_none() : v_int(channel),
                      v_undef(), v_undef(), v_undef(), v_undef() };
    return op_root(c, op_call(c->in, op_named(c->in, "quantize"), args, 7, 0)).tuple;
}

/* A vector of one float for each output; on the value stack. */
static Value bias_of(CodedPlan *p, const CodedLayer *l)
{
    OpCall *c = p->call;
    DType dt = graph_at(p->graph, l->product.x)->dtype == DT_F64 ? DT_F64 : DT_F32;
    if (l->bias.tag == V_UNDEF)
        return v_none();
    QuantOperand o = quant_whole(c, X, l->bias.tensor, dt);
    int64_t n = o.x->size;
    return op_root(c, v_tensor_raw(tensor_view(&c->in->ctx, o.x, 1, &n, (int64_t[]){ 1 },
                                               o.x->data)));
}

static uint32_t put_layer(CodedPlan *p, Graph *g, const CodedLayer *l, const Value *map)
{
    OpCall *c = p->call;
    Interp *in = c->in;
    Value *mark = in->sp;
    const Tuple *w = code_constant(p, l);
    Value bias = bias_of(p, l);
    Value text = l->product.matrix ? v_none() : op_root(c, text_of(p, l));
    Value relu = l->relu ? v_op(graph_at(p->graph, l->last)->op) : v_none();
    uint32_t node = graph_node_like(in, g, p->graph, graph_at(p->graph, l->last));
    GraphNode *n = graph_at(g, node);
    n->kind = GRAPH_ROW;
    n->op = op_named(in, l->product.matrix ? "matmul_i8" : "product_i8");
    n->weak = 0;
    put(p, g, v_ref(l->product.x), map);
    graph_operand(g, w->items[0]);
    if (!l->product.matrix)
        graph_operand(g, text);
    graph_operand(g, v_float(l->scale));
    graph_operand(g, w->items[1]);
    graph_operand(g, v_int(l->zero));
    if (!l->product.matrix)
        graph_operand(g, v_int(l->product.channel < 0 ? -1 : l->product.along));
    graph_operand(g, bias);
    graph_operand(g, relu);
    stack_cut(in, mark);
    return node;
}

static Value in_codes(CodedPlan *p)
{
    OpCall *c = p->call;
    Interp *in = c->in;
    const Graph *from = p->graph;
    Graph *g = graph_without_nodes(in, p->graph);
    op_root(p->call, v_graph(g));
    stack_room(in, from->nodes + 64);
    Value *map = in->sp;
    for (uint32_t i = 0; i < from->nodes; i++)
        v_push(in, v_undef());
    for (uint32_t i = 0; i < from->nodes; i++) {
        const GraphNode *n = graph_at(from, i);
        if (p->inside[i])
            continue;
        uint32_t node = p->ends[i] >= 0 ? put_layer(p, g, &p->layer[p->ends[i]], map)
                                        : graph_node_like(in, g, from, n);
        for (uint32_t k = 0; p->ends[i] < 0 && k < n->operands; k++)
            put(p, g, graph_args(from, n)[k], map);
        map[i] = v_ref(node);
        poll_interrupt(in);
    }
    g->arguments = graph_resolve(in, from->arguments, map);
    g->result = graph_resolve(in, from->result, map);
    graph_settle(in, g);
    return v_retain(v_graph(g));
}

/* ---- the call ---- */
static _Noreturn void raise_no_data(OpCall *c)
{
    char help[200];
    snprintf(help, sizeof help, "rows that stand for those to come: quantize(%s, i8, data=X)",
             arg_text(c, X));
    arg_error_help(c, X, ERR_TYPE, help, "%s is a graph, and data= says how far its numbers reach",
                   arg_text(c, X));
}

Value quant_graph(OpCall *c)
{
    CodedPlan p = { .call = c, .graph = graph_of(c->args[X]) };
    p.grid = arg_bool(c, SYMMETRIC, true) ? GRID_SYMMETRIC : GRID_I8;
    p.method = quant_method(c, METHOD);
    if (arg_dtype(c, DTYPE, DT_I8) != DT_I8)
        arg_error_help(c, DTYPE, ERR_DTYPE, "symmetric=false for codes that use all of a range",
                       "products of a graph are in codes of i8, not %s",
                       dtype_name(arg_dtype(c, DTYPE, DT_I8)));
    for (int i = AXIS; i <= RANGE; i += RANGE - AXIS)
        if (arg_given(c, i))
            arg_error(c, i, ERR_VALUE, "%s= belongs to numbers; a graph has a range for each "
                      "product and a scale for each output", arg_name(c, i));
    if (!arg_given(c, DATA))
        raise_no_data(c);
    stack_check(c->in);
    coded_plan(&p);
    coded_run(&p, DATA);
    for (int64_t i = 0; i < p.layers; i++)
        calibrate_layer(&p, i);
    return in_codes(&p);
}
