/* Graphs as values: made by running a function once, shown, called as the function is. */
#include "interp/graph/graph.h"
#include "interp/lazy/lazy.h"
#include "interp/eval/call.h"
#include "interp/show/show.h"

#include "core/base/error.h"
#include "core/base/mem.h"

#include <stdio.h>
#include <string.h>

Value v_graph(Graph *g) { return (Value){ .tag = V_TRANSFORM, .ptr = g }; }

Graph *graph_of(Value v)
{
    return v.tag == V_TRANSFORM && v_kind(v) == &graph_kind ? v.ptr : NULL;
}

/* ---- shown ---- */
uint32_t graph_operations(const Graph *g)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < g->nodes; i++) {
        uint8_t kind = g->node[i].kind;
        n += g->node[i].kept && kind != GRAPH_ARGUMENT && kind != GRAPH_FIELD &&
             kind != GRAPH_GUARD;
    }
    return n;
}

static void put_shape(Buf *out, DType dtype, int rank, const int64_t *shape)
{
    for (int i = 0; i < rank; i++)
        buf_printf(out, "%s%lld", i ? "×" : "", (long long)shape[i]);
    buf_printf(out, "%s%s", rank ? " " : "", dtype_name(dtype));
}

void graph_put_type(Buf *out, const Graph *g, Value v)
{
    char what[96];
    if (is_ref(v)) {
        const GraphNode *n = graph_at(g, (uint32_t)v.i);
        put_shape(out, n->dtype, n->rank, g->length + n->shape);
    } else if (v.tag == V_TUPLE) {
        buf_putc(out, '(');
        for (uint32_t i = 0; i < v.tuple->count; i++) {
            const Name *name = v.tuple->names ? v.tuple->names[i] : NULL;
            buf_printf(out, "%s%s%s", i ? ", " : "", name ? name->text : "", name ? ": " : "");
            graph_put_type(out, g, v.tuple->items[i]);
        }
        buf_puts(out, v.tuple->count == 1 ? ",)" : ")");
    } else if (v_is_numeric(v)) {
        Measured m = measured_of(v);
        put_shape(out, m.dtype, m.rank, m.shape);
    } else {
        buf_puts(out, v_describe(v, what, sizeof what));
    }
}

static void put_graph(Buf *out, const Graph *g)
{
    uint32_t n = graph_operations(g);
    buf_printf(out, "graph %s(", g->name ? g->name->text : "");
    for (uint32_t i = 0; i < g->params; i++) {
        buf_printf(out, "%s%s%s", i ? ", " : "", g->param[i] ? g->param[i]->text : "",
                   g->param[i] ? ": " : "");
        graph_put_type(out, g, g->arguments.tuple->items[i]);
    }
    buf_puts(out, "): ");
    graph_put_type(out, g, g->result);
    buf_printf(out, ", %u operation%s", n, n == 1 ? "" : "s");
}

static void graph_show(Interp *in, Buf *out, Value v, bool repr)
{
    (void)in, (void)repr;
    put_graph(out, v.ptr);
}

static const char *graph_describe(Value v, char *out, size_t cap)
{
    const Graph *g = v.ptr;
    snprintf(out, cap, "graph%s%s", g->name ? " of " : "", g->name ? g->name->text : "");
    return out;
}

static void graph_help(Buf *out, Value v, bool line)
{
    const Graph *g = v.ptr;
    put_graph(out, g);
    for (uint32_t i = 0; !line && i < g->nodes; i++) {
        GraphNode *n = graph_at(g, i);
        const char *where = n->kind == GRAPH_GUARD ? graph_where(NULL, v.ptr, n) : NULL;
        if (where)
            buf_printf(out, "\nexpects what was read at %s", where);
    }
}

/* ---- called ---- */
static const char *graph_name(Value v)
{
    const Graph *g = v.ptr;
    return g->name ? g->name->text : "the graph";
}

static const Name *graph_parameter(Value v, int i)
{
    const Graph *g = v.ptr;
    return i >= 0 && (uint32_t)i < g->params ? g->param[i] : NULL;
}

static _Noreturn void raise_count(Interp *in, const Graph *g, Value v, int given)
{
    Buf *out = &in->scratch;
    buf_clear(out);
    put_graph(out, g);
    err_raise_help(&in->ctx, ERR_TYPE, buf_cstr(out), "%s takes %u argument%s, but %d %s given",
                   graph_name(v), g->params, g->params == 1 ? "" : "s", given,
                   given == 1 ? "was" : "were");
}

static Value graph_call(Interp *in, Value v, const Value *args, int count,
                        const Name *const *names, const Value *named, int named_count)
{
    Graph *g = v.ptr;
    Value *mark = in->sp;
    if ((uint32_t)(count + named_count) != g->params)
        raise_count(in, g, v, count + named_count);
    stack_room(in, g->params + 16);
    for (uint32_t i = 0; i < g->params; i++)
        v_push(in, i < (uint32_t)count ? v_retain(args[i]) : v_undef());
    for (int k = 0; k < named_count; k++) {
        uint32_t at = 0;
        while (at < g->params && g->param[at] != names[k])
            at++;
        if (at == g->params || mark[at].tag != V_UNDEF)
            err_raise(&in->ctx, ERR_TYPE, at == g->params ? "%s has no parameter %s"
                      : "%s was given %s twice", graph_name(v), names[k]->text);
        mark[at] = v_retain(named[k]);
    }
    Value r = graph_replay(in, g, mark);
    stack_cut(in, mark);
    return r;
}

static bool graph_equal(Value a, Value b) { return a.ptr == b.ptr; }

static Parts graph_parts(Value v)
{
    const Graph *g = v.ptr;
    return (Parts){ g->operand, g->operands };
}

static Value *graph_copy(Interp *in, Value v)
{
    Graph *g = graph_like(in, v.ptr);
    v_push(in, v_graph(g));
    return g->operand;
}

const Kind graph_kind = {
    .release = graph_release, .describe = graph_describe, .show = graph_show,
    .equal = graph_equal, .call = graph_call, .help = graph_help, .name = graph_name,
    .parts = graph_parts, .parameter = graph_parameter, .like = graph_copy,
};

/* ---- made ---- */
static const Name *name_of(Value f)
{
    return f.tag == V_FUNCTION ? f.fn->code->name : NULL;
}

static void take_params(Interp *in, Graph *g, Value f, uint32_t count)
{
    if (!count)
        return;
    g->param = mem_zalloc(&in->ctx, count * sizeof *g->param);
    g->params = count;
    const Kind *kind = v_kind(f);
    for (uint32_t i = 0; i < count; i++) {
        if (kind && kind->parameter)
            g->param[i] = kind->parameter(f, (int)i);
        else if (f.tag == V_FUNCTION && i < f.fn->code->params &&
                 (int32_t)i != f.fn->code->rest)
            g->param[i] = f.fn->code->node->list[i]->name;
        else if (f.tag == V_OP && (int)i < op_sig(in, f.op)->fixed)
            g->param[i] = op_sig(in, f.op)->params[i].name;
    }
}

Value graph_make(OpCall *c, int f, int first)
{
    Interp *in = c->in;
    Value fn = c->args[f];
    char what[96];
    int count = c->count - first;
    if (!v_callable(in, fn))
        arg_error(c, f, ERR_TYPE, "%s must be a function, not %s", arg_name(c, f),
                  v_describe_a(v_plain(fn), what, sizeof what));
    stack_check(in);
    stack_room(in, (size_t)count + 64);
    Graph *g = graph_new(in);
    op_root(c, v_graph(g));
    g->name = name_of(fn);
    if (!g->name && fn.tag == V_OP)
        g->name = names_intern(&in->names, fn.op->name, strlen(fn.op->name));
    take_params(in, g, fn, (uint32_t)count);
    Tape *t = tape_new(in, TAPE_GRAPH);
    v_push(in, v_tape(t));
    t->recorder = &graph_recorder;
    t->record = g;
    tape_begin(in, t);
    Value *args = in->sp;
    for (int i = 0; i < count; i++)
        v_push(in, graph_trace(in, t, c->args[first + i]));
    Tuple *arguments = tuple_new(&in->ctx, (uint64_t)count);
    g->arguments = v_tuple(arguments);
    for (int i = 0; i < count; i++)
        arguments->items[i] = graph_ref(in, t, args[i]);
    if (!graph_has_refs(g->arguments))
        err_raise_help(&in->ctx, ERR_TYPE, "graph(f, x) runs f(x) once, and keeps its operations",
                       "a graph is of a function of numbers, of which %s given",
                       count ? "none were" : "no argument was");
    const Exec *at = in->at;
    int deferring = in->deferring;
    lazy_state(in);
    in->deferring = -1;                 /* f runs now, and its errors are its operations' */
    v_push(in, call_value(in, fn, args, count));
    in->deferring = deferring;
    in->at = at;
    Value result = in->sp[-1];
    g->result = graph_ref(in, t, result);
    tape_end(in, t);
    t->record = NULL;
    graph_settle(in, g);
    stack_cut(in, args);
    return v_retain(v_graph(g));
}
