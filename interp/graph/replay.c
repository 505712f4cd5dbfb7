/* A graph runs: its arguments are bound, guards are asked, and its nodes run in order, in the scope
 * and on the device in which each ran before. */
#include "interp/graph/graph.h"
#include "interp/eval/call.h"
#include "interp/eval/module.h"
#include "interp/index/index.h"
#include "interp/index/literal.h"
#include "interp/lazy/lazy.h"
#include "interp/state/frames.h"

#include "core/base/error.h"

#include <stdio.h>
#include <string.h>

/* ---- arguments ---- */
static void bind(Interp *in, const Graph *g, Value to, Value x, const char *path, Value *value);

static void bind_number(Interp *in, const Graph *g, uint32_t node, Value x, const char *path,
                        Value *value)
{
    const GraphNode *n = graph_at(g, node);
    Value plain = v_plain(x);
    char what[96];
    Measured m = measured_of(plain);
    const char *dtype = dtype_name(n->dtype);
    v_describe_a(plain, what, sizeof what);
    if (!v_is_numeric(plain))
        err_raise(&in->ctx, ERR_TYPE, "%s is %s, but the graph takes numbers of %s there", path,
                  what, dtype);
    if (m.dtype != n->dtype)
        err_raise_help(&in->ctx, ERR_DTYPE, "a graph is of the dtypes with which it was recorded",
                       "%s is %s, but the graph takes %s there", path, what, dtype);
    if (m.rank != n->rank)
        err_raise_help(&in->ctx, ERR_SHAPE, "lengths may change, the number of axes may not",
                       "%s is %s, but the graph takes %d %s there", path, what, n->rank,
                       n->rank == 1 ? "axis" : "axes");
    value[node] = v_retain(x);
}

static void bind_tuple(Interp *in, const Graph *g, const Tuple *to, Value x, const char *path,
                       Value *value)
{
    char what[96], part[200];
    if (x.tag != V_TUPLE || x.tuple->count != to->count)
        err_raise(&in->ctx, ERR_TYPE, "%s is %s, but the graph takes a tuple of %u there", path,
                  v_describe_a(v_plain(x), what, sizeof what), to->count);
    stack_check(in);
    for (uint32_t i = 0; i < to->count; i++) {
        const Name *name = to->names ? to->names[i] : NULL;
        const Name *has = x.tuple->names ? x.tuple->names[i] : NULL;
        if (name != has)
            err_raise(&in->ctx, ERR_TYPE, "%s has the field %s, where the graph takes %s", path,
                      has ? has->text : "without a name", name ? name->text : "one without a name");
        if (name)
            snprintf(part, sizeof part, "%.150s.%.40s", path, name->text);
        else
            snprintf(part, sizeof part, "%.150s[%u]", path, i);
        bind(in, g, to->items[i], x.tuple->items[i], part, value);
    }
}

static void bind(Interp *in, const Graph *g, Value to, Value x, const char *path, Value *value)
{
    if (is_ref(to))
        bind_number(in, g, (uint32_t)to.i, x, path, value);
    else if (to.tag == V_TUPLE)
        bind_tuple(in, g, to.tuple, x, path, value);
    else if (!v_equal(in, to, x))
        err_raise_help(&in->ctx, ERR_VALUE, "what is no number is a constant of the graph",
                       "%s is another one than when the graph was recorded", path);
}

/* Where a reference to an argument stands among them, for messages: x, model.W; false: nowhere. */
static bool path_of(Buf *out, Value tree, Value ref)
{
    size_t len = out->len;
    if (is_ref(tree))
        return tree.i == ref.i;
    for (uint32_t i = 0; tree.tag == V_TUPLE && i < tree.tuple->count; i++) {
        const Name *name = tree.tuple->names ? tree.tuple->names[i] : NULL;
        if (name)
            buf_printf(out, "%s%s", len ? "." : "", name->text);
        else
            buf_printf(out, "[%u]", i);
        if (path_of(out, tree.tuple->items[i], ref))
            return true;
        out->len = len;
    }
    return false;
}

/* ---- guards ---- */
static _Noreturn void raise_guard(Interp *in, Graph *g, GraphNode *n, const char *what)
{
    Value ref = *graph_args(g, n);
    const char *line = graph_where(in, g, n);
    Buf *out = &in->scratch;
    char axis[48] = "";
    buf_clear(out);
    bool known = false;
    for (uint32_t i = 0; i < g->params && !known; i++) {
        buf_clear(out);
        if (g->param[i])
            buf_puts(out, g->param[i]->text);
        else
            buf_printf(out, "argument %u", i + 1);
        known = path_of(out, g->arguments.tuple->items[i], ref);
    }
    if (n->field >= 0)
        snprintf(axis, sizeof axis, "the length of axis %d of ", n->field);
    Error *e = err_new(&in->ctx, n->field == LENGTH_DTYPE ? ERR_DTYPE : ERR_SHAPE,
                       "%s%s%s %s%s%s", axis, known ? "" : "a value inside",
                       known ? buf_cstr(out) : "", what, line ? ", which was read at " : "",
                       line ? line : "");
    err_help(e, "record another graph for it; lengths that the function does not read may change");
    err_throw(e);
}

static void guard_ask(Interp *in, Graph *g, GraphNode *n, Value v)
{
    Value is = graph_args(g, n)[1], plain = v_measured(v, n->field);
    char what[128];
    Measured m = measured_of(plain);
    long long has;
    if (n->field == LENGTH_DTYPE) {
        if (m.dtype == v_format_dtype(is))
            return;
        snprintf(what, sizeof what, "is of %s, but was of %s when the graph was recorded",
                 dtype_name(m.dtype), dtype_name(v_format_dtype(is)));
        raise_guard(in, g, n, what);
    }
    has = n->field == LENGTH_RANK ? m.rank : n->field < m.rank ? m.shape[n->field] : -1;
    if (has == is.i)
        return;
    snprintf(what, sizeof what, n->field >= 0 ? "is %lld, but was %lld when the graph was recorded"
             : "has %lld axes, but had %lld when the graph was recorded", has, (long long)is.i);
    raise_guard(in, g, n, what);
}

static bool guards_argument(const Graph *g, const GraphNode *n)
{
    if (n->kind != GRAPH_GUARD)
        return false;
    return graph_at(g, (uint32_t)graph_args(g, n)->i)->kind == GRAPH_ARGUMENT;
}

/* ---- nodes ---- */
/* The operands from the first-th on, onto the value stack; those that nobody needs any more leave
 * `value`, so that what is made of them may take their memory. */
static Value *push_operands(Interp *in, const Graph *g, uint32_t node, uint32_t first,
                            Value *value)
{
    const GraphNode *n = graph_at(g, node);
    Value *mark = in->sp;
    stack_room(in, n->operands + 16);
    for (uint32_t i = first; i < n->operands; i++) {
        Value v = graph_args(g, n)[i];
        bool takes = is_ref(v) && graph_at(g, (uint32_t)v.i)->last == node;
        for (uint32_t k = i + 1; takes && k < n->operands; k++)
            takes = graph_args(g, n)[k].tag != V_TUPLE &&
                    !(is_ref(graph_args(g, n)[k]) && graph_args(g, n)[k].i == v.i);
        v_push(in, takes ? value[v.i] : graph_resolve(in, v, value));
        if (takes)
            value[v.i] = v_undef();
    }
    return mark;
}

static Value run_row(Interp *in, const GraphNode *n, Value *args)
{
    int count = (int)n->operands;
    unsigned reuse = 0;
    bool plain = n->op->cls == OPC_EW && count <= 3;
    for (int i = 0; plain && i < count; i++) {
        plain = v_is_numeric(args[i]);
        reuse |= plain && args[i].tag == V_TENSOR && args[i].tensor->refs == 1 ? 1u << i : 0;
    }
    return reuse && plain ? op_call_over(in, n->op, args, count, n->weak, reuse)
                          : op_call(in, n->op, args, count, n->weak);
}

static Value run_literal(Interp *in, const Graph *g, const GraphNode *n, const Value *items)
{
    Value rows = graph_args(g, n)[0], weak = graph_args(g, n)[1];
    int count = (int)n->operands - 2, lines = rows.tag == V_TUPLE ? (int)rows.tuple->count : 0;
    Value *mark = in->sp;
    int64_t sizes[2] = { count, lines };
    v_push(in, v_tensor_raw(tensor_zeros(&in->ctx, DT_BOOL, 1, &sizes[0])));
    v_push(in, v_tensor_raw(tensor_zeros(&in->ctx, DT_I32, 1, &sizes[1])));
    bool *bools = (bool *)mark[0].tensor->data;
    int *lengths = (int *)mark[1].tensor->data;
    for (int i = 0; weak.tag == V_TUPLE && i < count; i++)
        bools[i] = weak.tuple->items[i].i != 0;
    for (int i = 0; i < lines; i++)
        lengths[i] = (int)rows.tuple->items[i].i;
    const bool *w = weak.tag == V_TUPLE ? bools : NULL;
    Value r = rows.tag == V_TUPLE ? literal_matrix(in, items, w, lengths, lines)
                                  : literal_vector(in, items, w, count);
    stack_cut(in, mark);
    return r;
}

static Value run_index(Interp *in, const Graph *g, const GraphNode *n, const Value *args)
{
    Sub subs[TENSOR_RANK_MAX + 8];
    (void)g;
    return index_get(in, args[0], subs, graph_subs(args + 1, (int)n->operands - 1, subs));
}

static Value run_store(Interp *in, const GraphNode *n, Value *args)
{
    Sub subs[TENSOR_RANK_MAX + 8];
    int count = graph_subs(args + 2, (int)n->operands - 2, subs);
    if (n->op)
        index_update(in, args, subs, count, n->op, args[1], n->weak);
    else
        index_set(in, args, subs, count, args[1]);
    Value r = args[0];
    args[0] = v_undef();
    return r;
}

static Value run_notation(Interp *in, Graph *g, uint32_t node, const Value *args)
{
    GraphNode *n = graph_at(g, node);
    uint32_t params = n->operands - 1;
    if (n->function.tag == V_UNDEF)
        n->function = graph_function(in, graph_args(g, n)->str, &params);
    if (n->function.tag == V_UNDEF || params != n->operands - 1)
        err_raise(&in->ctx, ERR_VALUE, "an operation of the graph is no index notation");
    return call_value(in, n->function, args, (int)n->operands - 1);
}

static Value run_field(Interp *in, const Graph *g, const GraphNode *n, Value whole)
{
    (void)g;
    if (whole.tag != V_TUPLE || (uint32_t)n->field >= whole.tuple->count)
        err_raise(&in->ctx, ERR_VALUE, "an operation of the graph gives no item %d", n->field);
    return v_retain(whole.tuple->items[n->field]);
}

static void run_node(Interp *in, Graph *g, uint32_t node, Value *value)
{
    GraphNode *n = graph_at(g, node);
    Value *mark = in->sp, r = v_none();
    bool text = n->kind == GRAPH_LITERAL || n->kind == GRAPH_NOTATION;
    Value *args = push_operands(in, g, node, n->kind == GRAPH_LITERAL ? 2 : text, value);
    switch ((GraphKind)n->kind) {
    case GRAPH_ROW: r = run_row(in, n, args); break;
    case GRAPH_FIELD: r = run_field(in, g, n, args[0]); break;
    case GRAPH_INDEX: r = run_index(in, g, n, args); break;
    case GRAPH_STORE: r = run_store(in, n, args); break;
    case GRAPH_LITERAL: r = run_literal(in, g, n, args); break;
    case GRAPH_NOTATION: r = run_notation(in, g, node, args); break;
    case GRAPH_PRODUCT: r = strong_product(in, args[0], args[1]); break;
    case GRAPH_GUARD: guard_ask(in, g, n, args[0]); break;
    default: break;
    }
    v_push(in, r);
    value[node] = *--in->sp;
    stack_cut(in, mark);
}

/* In the scope of the node, on its device; where it was in neither, on that of the call. */
static void run_inside(Interp *in, Graph *g, uint32_t node, Value *value)
{
    const GraphNode *n = graph_at(g, node);
    Scope scope, *around = in->scope;
    DeviceBlock block, *outside = in->place;
    int deferring = in->deferring;
    if (n->place >= 0 && !(outside && outside->device == g->place[n->place]->device)) {
        block = *g->place[n->place];
        block.up = outside;
        in->place = &block;
        in->deferring = 0;              /* the block does not wait for what would stand in it */
    }
    in->scope = NULL;
    if (n->scope >= 0) {
        scope = *g->scope[n->scope];
        if (scope.round == ROUND_STOCHASTIC)
            scope_seed(in, &scope);
        scope_enter(in, &scope);
    }
    run_node(in, g, node, value);
    if (n->scope >= 0 && around && scope_same(around, &scope)) {
        arith_flags_add(&around->flags, &scope.flags);
        around->partly |= scope.partly;
    }
    deferred_barrier(in, v_none());     /* what waits stands in the copies here */
    in->scope = around;
    in->place = outside;
    in->deferring = deferring;
}

void graph_run(Interp *in, Graph *g, uint32_t node, Value *value)
{
    const GraphNode *n = graph_at(g, node);
    CallFrame frame = { .up = in->calls, .source = n->chunk ? n->chunk->source : NULL };
    const Exec *at = in->at;
    in->calls = &frame;
    in->at = n->at;
    in->rules += n->rule;
    if (n->scope >= 0 || n->place >= 0 || in->scope)
        run_inside(in, g, node, value);
    else
        run_node(in, g, node, value);
    in->rules -= n->rule;
    in->calls = frame.up;
    in->at = at;
    for (uint32_t i = 0; i < n->operands; i++) {
        Value v = graph_args(g, n)[i];
        if (is_ref(v) && graph_at(g, (uint32_t)v.i)->last == node) {
            v_release(&in->ctx, value[v.i]);
            value[v.i] = v_undef();
        }
    }
}

/* ---- the whole ---- */
/* The error of a node, where the call stands, with the line that the node was made of. */
static _Noreturn void raise_in_node(Interp *in, Graph *g, GraphNode *n, const Where *call)
{
    Error *e = in->ctx.error;
    const char *line = graph_where(in, g, n);
    char text[400];
    if (!e->no_memory && !e->where.source && call->source)
        err_at(e, call->source, call->span);
    if (!e->no_memory && line && n->kind != GRAPH_GUARD && !n->at) {
        snprintf(text, sizeof text, "in the graph: %.380s", line);
        err_append_line(e, text);
    }
    err_rethrow(&in->ctx);
}

/* The nodes of g on `value`, where its arguments are. */
typedef struct Replay {
    Graph *graph;
    Value *value;
    uint32_t now;
    GraphWatch *watch;          /* or NULL */
} Replay;

/* Nodes wait as operations of a lazy block do: chains of them become one pass. */
static Value replay_nodes(Interp *in, const void *data)
{
    Replay *r = (Replay *)data;
    for (uint32_t i = 0; i < r->graph->nodes; i++) {
        const GraphNode *n = graph_at(r->graph, i);
        r->now = i;
        poll_interrupt(in);
        if (r->watch)
            r->watch->before(in, r->watch, r->graph, i, r->value);
        if (n->kept && n->kind != GRAPH_ARGUMENT)
            graph_run(in, r->graph, i, r->value);
    }
    return graph_resolve(in, r->graph->result, r->value);
}

Value graph_replay(Interp *in, Graph *g, const Value *args)
{
    Value r = graph_replay_watched(in, g, args, NULL);
    v_push(in, r);
    graph_tell_floats(in, g);
    return *--in->sp;
}

Value graph_replay_watched(Interp *in, Graph *g, const Value *args, GraphWatch *watch)
{
    Value *mark = in->sp, r;
    ErrFrame frame;
    Where call;
    Replay replay = { .graph = g, .watch = watch };
    Replay *volatile run = &replay;
    stack_check(in);
    stack_room(in, g->nodes + 64);
    interp_locate(&in->ctx, &call);
    v_push(in, v_retain(v_graph(g)));
    replay.value = in->sp;
    for (uint32_t i = 0; i < g->nodes; i++)
        v_push(in, v_undef());
    for (uint32_t i = 0; i < g->params; i++) {
        char path[64];
        if (g->param[i])
            snprintf(path, sizeof path, "%.60s", g->param[i]->text);
        else
            snprintf(path, sizeof path, "argument %u", i + 1);
        bind(in, g, g->arguments.tuple->items[i], args[i], path, replay.value);
    }
    for (uint32_t i = 0; i < g->nodes; i++)
        if (guards_argument(g, graph_at(g, i)))
            guard_ask(in, g, graph_at(g, i), replay.value[graph_args(g, graph_at(g, i))->i]);
    if (!ERR_TRY(&in->ctx, &frame))
        raise_in_node(in, g, graph_at(g, run->now), &call);
    r = lazy_block(in, NULL, true, replay_nodes, run);
    ERR_END(&in->ctx, &frame);
    stack_cut(in, mark);
    return r;
}
