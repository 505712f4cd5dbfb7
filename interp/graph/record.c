/* The recorder: what a function does with its arguments, as nodes of a graph; and what is no
 * operation, but would decide what the graph does, as an error. */
#include "interp/graph/graph.h"
#include "interp/index/index.h"
#include "interp/notation/indexnot_adjoint.h"
#include "interp/notation/indexnot_text.h"
#include "interp/state/frames.h"

#include "core/base/error.h"

#include <stdio.h>
#include <string.h>

static Graph *graph_on(const Tape *t) { return t->record; }

/* ---- nodes and what they give ---- */
/* The text that the place of the running operation lies in, if it can be held. */
static Chunk *chunk_of(Interp *in, const Source *s)
{
    for (const CallFrame *f = in->calls; f && s; f = f->up)
        if (f->fn && f->fn->chunk->source == s)
            return f->fn->chunk;
    return NULL;
}

static uint32_t node_here(Interp *in, Graph *g, GraphKind kind)
{
    uint32_t node = graph_node(in, g, kind);
    int32_t scope = graph_scope(g, in->scope), place = graph_place(g, in->place);
    Chunk *chunk = chunk_of(in, frame_source(in, in->calls));
    GraphNode *n = graph_at(g, node);
    n->scope = scope;
    n->place = place;
    n->rule = in->rules > 0;
    n->at = chunk ? in->at : NULL;
    n->chunk = chunk;
    if (chunk)
        graph_chunk(g, chunk);
    return node;
}

/* ---- lengths ---- */
static void guard(Interp *in, Tape *t, uint32_t node, int axis, Value is)
{
    Graph *g = graph_on(t);
    uint64_t bit = (uint64_t)1 << (axis >= 0 ? axis : 63 + axis - LENGTH_RANK);
    GraphNode *of = graph_at(g, node);
    if (of->measured & bit)
        return;
    of->measured |= bit;
    uint32_t at = graph_node(in, g, GRAPH_GUARD);
    graph_operand(g, v_ref(node));
    graph_operand(g, is);
    GraphNode *n = graph_at(g, at);
    Where w;
    interp_locate(&in->ctx, &w);
    if (source_is_stdlib(w.source))
        where_leave_stdlib(in, &w);
    n->field = axis;
    if (w.source && !source_is_stdlib(w.source)) {
        v_push(in, graph_text_of(in, w.source, w.span.from));
        graph_at(g, at)->line = graph_line(g, in->sp[-1]);
        stack_cut(in, in->sp - 1);
    }
}

static void measured(Interp *in, Tape *t, uint32_t node, int axis, Measured m)
{
    if (graph_at(graph_on(t), node)->kind == GRAPH_LENGTH)
        return;
    if (axis == LENGTH_DTYPE)
        guard(in, t, node, axis, v_format(m.dtype));
    else if (axis < 0)
        guard(in, t, node, LENGTH_RANK, v_int(m.rank));
    for (int i = 0; i < m.rank; i++)
        if (axis == LENGTH_ALL || axis == i)
            guard(in, t, node, i, v_int(m.shape[i]));
}

/* A length that f has, but made no number of yet, is made one now; false: it is none. */
static bool length_read(Interp *in, Tape *t, uint32_t node)
{
    const GraphNode n = *graph_at(graph_on(t), node);
    if (n.kind != GRAPH_LENGTH)
        return false;
    Value *of = graph_args(graph_on(t), &n);
    guard(in, t, (uint32_t)of[0].i, n.field, of[1]);
    return true;
}

static const Traced *traced_on_tape(Value v, const Tape *t)
{
    return v.tag == V_TRACED && traced_of(v)->tape == t ? traced_of(v) : NULL;
}

static _Noreturn void raise_inside(Interp *in, const char *what)
{
    err_raise_help(&in->ctx, ERR_VALUE, "pass it as an argument, or use the numbers outside of the "
                   "graph", "a graph cannot keep %s that holds values which it records", what);
}

/* Is something in v a result of what is recorded, and not only a length? */
static bool depends(const Tape *t, Value v)
{
    for (uint32_t i = 0; v.tag == V_TUPLE && i < v.tuple->count; i++)
        if (depends(t, v.tuple->items[i]))
            return true;
    return traced_on_tape(v, t) &&
           graph_at(graph_on(t), traced_of(v)->node)->kind != GRAPH_LENGTH;
}

/* Lengths among operands are numbers now: their guards stand before the node that takes them. True:
 * there is nothing else of the graph among them, so what is made of them is a number as well. */
static bool only_lengths(Interp *in, Tape *t, const Value *v, int n)
{
    bool only = true;
    for (int i = 0; i < n; i++) {
        only &= !depends(t, v[i]);
        v_push(in, graph_ref(in, t, v[i]));
        stack_cut(in, in->sp - 1);
    }
    return only;
}

static bool only_lengths_in(Interp *in, Tape *t, const Sub *subs, int n)
{
    bool only = true;
    for (int i = 0; i < n; i++)
        if (subs[i].kind == SUB_VALUE)
            only &= only_lengths(in, t, &subs[i].v, 1);
    return only;
}

Value graph_ref(Interp *in, Tape *t, Value v)
{
    if (traced_on_tape(v, t) && length_read(in, t, traced_of(v)->node))
        return value_below(in, v, t);
    if (traced_on_tape(v, t))
        return v_ref(traced_of(v)->node);
    if (v.tag == V_TUPLE && tape_inside(v, NULL, NULL)) {
        stack_check(in);
        Value *to = push_like(in, v);
        for (uint32_t i = 0; i < v.tuple->count; i++)
            to[i] = graph_ref(in, t, v.tuple->items[i]);
        return *--in->sp;
    }
    if ((v.tag == V_FUNCTION || v.tag == V_TRANSFORM) && tape_inside(v, NULL, NULL) == t)
        raise_inside(in, "a function");
    return parts_below(in, v, t);
}

static void put(Interp *in, Tape *t, Value v)
{
    v_push(in, graph_ref(in, t, v));
    graph_operand(graph_on(t), in->sp[-1]);
    stack_cut(in, in->sp - 1);
}

static Value traced_node(Interp *in, Tape *t, Value r, uint32_t node)
{
    Measured m = measured_of(r);
    graph_result(graph_on(t), node, m.dtype, m.rank, m.shape);
    return v_traced(traced_new(in, t, v_retain(r), node));
}

static bool numbers_in(Value v)
{
    v = v_plain(v);
    for (uint32_t i = 0; v.tag == V_TUPLE && i < v.tuple->count; i++)
        if (numbers_in(v.tuple->items[i]))
            return true;
    return v_is_numeric(v);
}

/* The result r of a node, numbers in a tuple of results one by one; owned. */
static Value node_value(Interp *in, Tape *t, uint32_t node, Value r)
{
    if (r.tag != V_TUPLE)
        return v_is_numeric(v_plain(r)) ? traced_node(in, t, r, node) : v_retain(r);
    stack_check(in);
    Value *to = push_like(in, r);
    for (uint32_t i = 0; i < r.tuple->count; i++) {
        if (!numbers_in(r.tuple->items[i])) {
            to[i] = v_retain(r.tuple->items[i]);
            continue;
        }
        uint32_t field = graph_node(in, graph_on(t), GRAPH_FIELD);
        graph_at(graph_on(t), field)->field = (int32_t)i;
        graph_operand(graph_on(t), v_ref(node));
        to[i] = node_value(in, t, field, r.tuple->items[i]);
    }
    return *--in->sp;
}

Value graph_trace(Interp *in, Tape *t, Value x)
{
    Value plain = v_plain(x);
    Graph *g = graph_on(t);
    if (v_is_numeric(plain)) {
        uint32_t node = graph_node(in, g, GRAPH_ARGUMENT);
        return traced_node(in, t, x, node);
    }
    if (x.tag != V_TUPLE)
        return v_retain(x);
    stack_check(in);
    Value *to = push_like(in, x);
    for (uint32_t i = 0; i < x.tuple->count; i++)
        to[i] = graph_trace(in, t, x.tuple->items[i]);
    return *--in->sp;
}

/* ---- what is no operation ---- */
/* The user's line, where it is the library that looks. */
static void raise_at_user(Interp *in, Error *e)
{
    Where w;
    interp_locate(&in->ctx, &w);
    if (source_is_stdlib(w.source)) {
        where_leave_stdlib(in, &w);
        err_at(e, w.source, w.span);
    }
    err_throw(e);
}

static void looked(Interp *in, Tape *t, const Traced *x)
{
    if (length_read(in, t, x->node))
        return;
    t->failing = FAILING_LOOK;
    Error *e = err_new(&in->ctx, ERR_VALUE, "this is decided by a value that the graph records, "
                       "which would take the same way for ever");
    err_help(e, "where(c, a, b) chooses element by element; what stays the same is no argument of "
             "the graph: x -> f(x, n)");
    e->example = true;
    raise_at_user(in, e);
}

/* ---- rows ---- */
static int measure_of(const Op *op)
{
    return op->measures == MEASURES_LENGTHS || op->measures == MEASURES_COUNT ? LENGTH_ALL
         : op->measures == MEASURES_RANK ? LENGTH_RANK : LENGTH_DTYPE;
}

static bool hears(const OpCall *c) { return c && c->op->draws; }

static void before(OpCall *c, Tape *t, Value *below)
{
    char label[64];
    (void)t, (void)below;
    if (c->op->reaches)
        err_raise_help(&c->in->ctx, ERR_VALUE, "do it with the results, outside of the graph",
                       "%s reaches outside of the program: no graph keeps it",
                       op_label(c->op, label, sizeof label));
}

/* The lengths of a node, each unread until somebody makes a number of it. */
static Value lengths(Interp *in, Tape *t, uint32_t of, Value r)
{
    if (graph_at(graph_on(t), of)->kind == GRAPH_LENGTH)
        return v_retain(r);
    measured(in, t, of, LENGTH_RANK, (Measured){ .rank = (int)r.tuple->count });
    Value *to = push_like(in, r);
    for (uint32_t i = 0; i < r.tuple->count; i++) {
        uint32_t node = graph_node(in, graph_on(t), GRAPH_LENGTH);
        graph_at(graph_on(t), node)->field = (int32_t)i;
        graph_operand(graph_on(t), v_ref(of));
        graph_operand(graph_on(t), v_plain(r.tuple->items[i]));
        to[i] = traced_node(in, t, r.tuple->items[i], node);
    }
    return *--in->sp;
}

static Value row(OpCall *c, Tape *t, const Value *below, Value r)
{
    Interp *in = c->in;
    Graph *g = graph_on(t);
    const Traced *x = c->count ? traced_on_tape(c->args[0], t) : NULL;
    bool numbers = numbers_in(r), text = r.tag != V_TUPLE && r.tag < V_RANGE;
    char label[64], what[96];
    (void)below;
    if (c->op->measures) {
        bool whole = c->op->measures == MEASURES_LENGTHS && r.tag == V_TUPLE;
        if (x && whole)
            return lengths(in, t, x->node, r);
        if (x)
            measured(in, t, x->node, measure_of(c->op), measured_of(x->value));
        return v_retain(r);
    }
    if (only_lengths(in, t, c->args, c->count) && !c->op->draws)
        return v_retain(r);
    if (!numbers && !c->op->draws) {
        if (text || r.tag == V_TUPLE)       /* none, text, a format: for those who read it */
            return v_retain(r);
        err_raise_help(&in->ctx, ERR_VALUE, "make it outside of the graph, which keeps it then",
                       "%s gives %s, which is no number: no graph keeps it",
                       op_label(c->op, label, sizeof label),
                       v_describe_a(v_plain(r), what, sizeof what));
    }
    uint32_t node = node_here(in, g, GRAPH_ROW);
    graph_at(g, node)->op = c->op;
    graph_at(g, node)->weak = c->weak;
    for (int i = 0; i < c->count; i++)
        put(in, t, c->args[i]);
    return node_value(in, t, node, r);
}

static Value literal(Interp *in, Tape *t, const Value *items, const bool *weak,
                     const int *lengths, int rows, Value r)
{
    int n = lengths ? 0 : rows;
    Value *mark = in->sp;
    for (int i = 0; lengths && i < rows; i++)
        n += lengths[i];
    if (only_lengths(in, t, items, n))
        return v_retain(r);
    v_push(in, lengths ? v_tuple(tuple_new(&in->ctx, (uint64_t)rows)) : v_none());
    for (int i = 0; lengths && i < rows; i++)
        mark->tuple->items[i] = v_int(lengths[i]);
    v_push(in, weak ? v_tuple(tuple_new(&in->ctx, (uint64_t)n)) : v_none());
    for (int i = 0; weak && i < n; i++)
        mark[1].tuple->items[i] = v_bool(weak[i]);
    uint32_t node = node_here(in, graph_on(t), GRAPH_LITERAL);
    graph_operand(graph_on(t), mark[0]);
    graph_operand(graph_on(t), mark[1]);
    for (int i = 0; i < n; i++)
        put(in, t, items[i]);
    stack_cut(in, mark);
    return node_value(in, t, node, r);
}

/* ---- subscripts, stores ---- */
static void put_subs(Interp *in, Tape *t, const Sub *subs, int n)
{
    Value *mark = in->sp;
    stack_room(in, (size_t)n + 8);
    for (int i = 0; i < n; i++)
        v_push(in, subs[i].kind == SUB_VALUE ? graph_ref(in, t, subs[i].v) : v_none());
    graph_put_subs(graph_on(t), subs, mark, n);
    stack_cut(in, mark);
}

static Value indexed(Interp *in, Tape *t, Value x, const Sub *subs, int n, Value r)
{
    bool only = only_lengths_in(in, t, subs, n);
    if (only_lengths(in, t, &x, 1) && only)
        return v_retain(r);
    for (int i = 0; i < n && !numbers_in(r); i++)       /* one of several functions, texts … */
        if (subs[i].kind == SUB_VALUE)
            v_looked(subs[i].v);
    uint32_t node = node_here(in, graph_on(t), GRAPH_INDEX);
    put(in, t, x);
    put_subs(in, t, subs, n);
    return node_value(in, t, node, r);
}

static void stored(Interp *in, Tape *t, Traced *x, Value from, const Sub *subs, int n,
                   const Op *op, Value v, bool weak)
{
    only_lengths(in, t, &v, 1);
    only_lengths_in(in, t, subs, n);
    uint32_t node = node_here(in, graph_on(t), GRAPH_STORE);
    Measured m = measured_of(x->value);
    graph_result(graph_on(t), node, m.dtype, m.rank, m.shape);
    graph_at(graph_on(t), node)->op = op;
    graph_at(graph_on(t), node)->weak = weak;
    graph_operand(graph_on(t), from.tag == V_UNDEF ? v_ref(x->node) : from);
    put(in, t, v);
    put_subs(in, t, subs, n);
    x->node = node;
}

/* ---- index notation ---- */
/* Where functions of the program are called in it: its text with their formulas, onto the value
 * stack. */
static void push_inlined_text(Interp *in, const Exec *x, IxSite *site, const Value *base,
                              int leaves)
{
    IxAdjoint a;
    ErrFrame frame;
    Value *mark = in->sp;
    for (int i = 0; i < leaves; i++)
        v_push(in, v_retain(v_plain(base[i])));
    bool made = ix_forward_text(in, x, site, mark, &a);
    stack_cut(in, mark);
    if (!ERR_TRY(&in->ctx, &frame)) {
        buf_free(&a.text);
        err_rethrow(&in->ctx);
    }
    v_push(in, v_str(str_new(&in->ctx, buf_cstr(&a.text), a.text.len)));
    if (!made || a.leaves != leaves || !graph_text_fits(in, mark->str, (uint32_t)leaves))
        err_raise_help(&in->ctx, ERR_VALUE, "write its formula into the notation", "a graph cannot "
                       "keep this index notation, in which a function is called%s%s",
                       made ? "" : ": ", made ? "" : a.lack);
    for (int i = 0; a.sized && i < leaves; i++)
        v_measured(base[i], LENGTH_ALL);
    ERR_END(&in->ctx, &frame);
    buf_free(&a.text);
}

static Value notation(Interp *in, const Exec *x, void *site, Tape *t, const Value *base, int leaves,
                      Value r)
{
    Value *mark = in->sp;
    bool inlines = ix_text_inlines(site, base);
    bool only = true;
    in->at = x;
    for (int i = 0; i < leaves; i++)            /* what functions hold are leaves as well */
        only &= base[i].tag == V_FUNCTION || only_lengths(in, t, &base[i], 1);
    if (only)
        return v_retain(r);
    if (inlines)
        push_inlined_text(in, x, site, base, leaves);
    else
        v_push(in, ix_text_of(in, site, base));
    uint32_t node = node_here(in, graph_on(t), GRAPH_NOTATION);
    graph_operand(graph_on(t), *mark);
    for (int i = 0; i < leaves; i++)
        if (base[i].tag == V_FUNCTION || base[i].tag == V_OP)
            inlines ? graph_operand(graph_on(t), v_none()) : (void)0;
        else if (inlines || ix_text_takes(site, base, i))
            put(in, t, base[i]);
    stack_cut(in, mark);
    return node_value(in, t, node, r);
}

static Value number(Interp *in, Tape *t, Value v)
{
    const Traced *x = traced_on_tape(v, t);
    return x && length_read(in, t, x->node) ? value_below(in, v, t) : v_undef();
}

static Value product(Interp *in, Tape *t, Value a, Value b, Value r)
{
    if (only_lengths(in, t, (Value[]){ a, b }, 2))
        return v_retain(r);
    uint32_t node = node_here(in, graph_on(t), GRAPH_PRODUCT);
    put(in, t, a);
    put(in, t, b);
    return node_value(in, t, node, r);
}

const Recorder graph_recorder = {
    .hears = hears, .forever = true, .before = before,
    .row = row, .literal = literal, .index = indexed, .store = stored,
    .notation = notation, .number = number,
    .product = product, .looked = looked, .measured = measured,
};
