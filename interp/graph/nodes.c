/* Graphs as lists: nodes and what they refer to, scopes, places in the program; what the result
 * needs of them. */
#include "interp/graph/graph.h"
#include "interp/index/index.h"
#include "interp/state/frames.h"

#include "core/base/error.h"
#include "core/base/mem.h"

#include <string.h>

/* ---- lists ---- */
#define ROOM(g, list, count, cap)                                                                \
    do {                                                                                         \
        if ((size_t)(g)->count + 1 > (g)->cap) {                                                 \
            size_t want = ((size_t)(g)->count + 1) * 2 + 6;                                      \
            (g)->list = mem_realloc((g)->ctx, (g)->list, (g)->cap * sizeof *(g)->list,           \
                                    want * sizeof *(g)->list);                                   \
            (g)->cap = want;                                                                     \
        }                                                                                        \
    } while (0)

uint32_t graph_node(Interp *in, Graph *g, GraphKind kind)
{
    (void)in;
    ROOM(g, node, nodes, node_cap);
    g->node[g->nodes] = (GraphNode){ .kind = (uint8_t)kind, .operand = g->operands, .scope = -1,
                                     .place = -1, .line = -1, .dtype = DT_NONE,
                                     .function = v_undef() };
    return g->nodes++;
}

void graph_result(Graph *g, uint32_t node, DType dtype, int rank, const int64_t *shape)
{
    GraphNode *n = graph_at(g, node);
    n->dtype = dtype;
    n->rank = (int8_t)rank;
    n->shape = g->lengths;
    for (int i = 0; i < rank; i++) {
        ROOM(g, length, lengths, length_cap);
        g->length[g->lengths++] = shape[i];
    }
}

void graph_operand(Graph *g, Value v)
{
    ROOM(g, operand, operands, operand_cap);
    g->operand[g->operands++] = v_retain(v);
    g->node[g->nodes - 1].operands++;
}

int32_t graph_line(Graph *g, Value text)
{
    ROOM(g, line, lines, line_cap);
    g->line[g->lines] = v_retain(text);
    return (int32_t)g->lines++;
}

/* One that only keeps literals for their shadows is none. */
int32_t graph_scope(Graph *g, const Scope *s)
{
    if (!scope_says(s))
        return -1;
    for (uint32_t i = 0; i < g->scopes; i++)
        if (scope_same(g->scope[i], s))
            return (int32_t)i;
    ROOM(g, scope, scopes, scope_cap);
    Scope *kept = mem_alloc(g->ctx, sizeof *kept);
    *kept = *s;
    kept->up = NULL;
    kept->arith = (Arith){ 0 };
    kept->flags = (ArithFlags){ 0 };
    kept->partly = kept->pinned = kept->counts = false;
    g->scope[g->scopes] = kept;
    return (int32_t)g->scopes++;
}

int32_t graph_place(Graph *g, const DeviceBlock *p)
{
    if (!p)
        return -1;
    for (uint32_t i = 0; i < g->places; i++) {
        const DeviceBlock *k = g->place[i];
        if (k->device == p->device && k->fallback == p->fallback && k->strict == p->strict &&
            k->narrow == p->narrow && k->quiet == p->quiet && k->running == p->running)
            return (int32_t)i;
    }
    ROOM(g, place, places, place_cap);
    DeviceBlock *kept = mem_alloc(g->ctx, sizeof *kept);
    *kept = *p;
    kept->up = NULL;
    kept->header = NULL;
    kept->counts = (PlaceCounts){ 0 };
    kept->pinned = kept->verbose = false;
    g->place[g->places] = kept;
    return (int32_t)g->places++;
}

void graph_chunk(Graph *g, Chunk *chunk)
{
    for (uint32_t i = g->chunks; i-- > 0;)
        if (g->chunk[i] == chunk)
            return;
    ROOM(g, chunk, chunks, chunk_cap);
    g->chunk[g->chunks++] = chunk_retain(chunk);
}

void graph_release(Ctx *ctx, Native *native)
{
    Graph *g = (Graph *)native;
    for (uint32_t i = 0; i < g->operands; i++)
        v_release(ctx, g->operand[i]);
    for (uint32_t i = 0; i < g->nodes; i++)
        v_release(ctx, g->node[i].function);
    for (uint32_t i = 0; i < g->lines; i++)
        v_release(ctx, g->line[i]);
    for (uint32_t i = 0; i < g->scopes; i++)
        mem_free(ctx, g->scope[i], sizeof(Scope));
    for (uint32_t i = 0; i < g->places; i++)
        mem_free(ctx, g->place[i], sizeof(DeviceBlock));
    for (uint32_t i = 0; i < g->chunks; i++)
        chunk_release(g->chunk[i]);
    v_release(ctx, g->arguments);
    v_release(ctx, g->result);
    mem_free(ctx, g->param, g->params * sizeof *g->param);
    mem_free(ctx, g->node, g->node_cap * sizeof *g->node);
    mem_free(ctx, g->operand, g->operand_cap * sizeof *g->operand);
    mem_free(ctx, g->length, g->length_cap * sizeof *g->length);
    mem_free(ctx, g->scope, g->scope_cap * sizeof *g->scope);
    mem_free(ctx, g->place, g->place_cap * sizeof *g->place);
    mem_free(ctx, g->chunk, g->chunk_cap * sizeof *g->chunk);
    mem_free(ctx, g->line, g->line_cap * sizeof *g->line);
    mem_free(ctx, g, sizeof *g);
}

Graph *graph_new(Interp *in)
{
    Graph *g = mem_zalloc(&in->ctx, sizeof *g);
    g->native = (Native){ .refs = 1, .kind = &graph_kind };
    g->ctx = &in->ctx;
    return g;
}

Graph *graph_without_nodes(Interp *in, const Graph *from)
{
    Graph *g = graph_new(in);
    v_push(in, v_graph(g));
    g->name = from->name;
    if (from->params) {
        g->param = mem_alloc(&in->ctx, from->params * sizeof *g->param);
        g->params = from->params;
        memcpy(g->param, from->param, from->params * sizeof *g->param);
    }
    for (uint32_t i = 0; i < from->lines; i++)
        graph_line(g, from->line[i]);
    for (uint32_t i = 0; i < from->scopes; i++)
        graph_scope(g, from->scope[i]);
    for (uint32_t i = 0; i < from->places; i++)
        graph_place(g, from->place[i]);
    for (uint32_t i = 0; i < from->chunks; i++)
        graph_chunk(g, from->chunk[i]);
    in->sp--;
    return g;
}

uint32_t graph_node_like(Interp *in, Graph *g, const Graph *from, const GraphNode *n)
{
    uint32_t node = graph_node(in, g, (GraphKind)n->kind), operand = g->node[node].operand;
    g->node[node] = *n;
    if (n->dtype != DT_NONE)
        graph_result(g, node, n->dtype, n->rank, from->length + n->shape);
    g->node[node].function = v_undef();
    g->node[node].operand = operand;
    g->node[node].operands = 0;
    return node;
}

Graph *graph_like(Interp *in, const Graph *from)
{
    Graph *g = graph_without_nodes(in, from);
    v_push(in, v_graph(g));
    g->arguments = v_retain(from->arguments);
    g->result = v_retain(from->result);
    for (uint32_t i = 0; i < from->nodes; i++) {
        graph_node_like(in, g, from, &from->node[i]);
        for (uint32_t k = 0; k < from->node[i].operands; k++)
            graph_operand(g, v_undef());
    }
    in->sp--;
    return g;
}

/* ---- places in the program ---- */
Value graph_text_of(Interp *in, const Source *s, uint32_t from)
{
    uint32_t line = source_line(s, from), start = s->lines[line];
    uint32_t end = line + 1 < s->line_count ? s->lines[line + 1] : (uint32_t)s->len;
    Buf *text = &in->scratch;
    while (start < end && strchr(" \t", s->text[start]))
        start++;
    while (end > start && strchr(" \t\r\n", s->text[end - 1]))
        end--;
    const char *slash = strrchr(s->name, '/');
    buf_clear(text);
    buf_printf(text, "%s:%u: %.*s", slash ? slash + 1 : s->name, s->first_line + line,
               (int)(end - start), s->text + start);
    return v_str(str_new(&in->ctx, buf_cstr(text), text->len));
}

const char *graph_where(Interp *in, Graph *g, GraphNode *n)
{
    if (n->line < 0 && n->at && n->chunk) {
        v_push(in, graph_text_of(in, n->chunk->source, n->at->node->span.from));
        const char *text = in->sp[-1].str->text;
        for (uint32_t i = g->lines > 8 ? g->lines - 8 : 0; i < g->lines && n->line < 0; i++)
            if (strcmp(g->line[i].str->text, text) == 0)
                n->line = (int32_t)i;
        if (n->line < 0)
            n->line = graph_line(g, in->sp[-1]);
        stack_cut(in, in->sp - 1);
    }
    return n->line < 0 ? NULL : g->line[n->line].str->text;
}

/* ---- references ---- */
bool graph_has_refs(Value v)
{
    for (uint32_t i = 0; v.tag == V_TUPLE && i < v.tuple->count; i++)
        if (graph_has_refs(v.tuple->items[i]))
            return true;
    return is_ref(v);
}

Value graph_resolve(Interp *in, Value v, const Value *value)
{
    if (is_ref(v))
        return v_retain(value[v.i]);
    if (v.tag != V_TUPLE || !graph_has_refs(v))
        return v_retain(v);
    stack_check(in);
    Value *to = push_like(in, v);
    for (uint32_t i = 0; i < v.tuple->count; i++)
        to[i] = graph_resolve(in, v.tuple->items[i], value);
    return *--in->sp;
}

static void needed(Graph *g, Value v, uint32_t by)
{
    for (uint32_t i = 0; v.tag == V_TUPLE && i < v.tuple->count; i++)
        needed(g, v.tuple->items[i], by);
    if (!is_ref(v))
        return;
    GraphNode *n = graph_at(g, (uint32_t)v.i);
    n->last = n->kept && n->last > by ? n->last : by;
    n->kept = true;
}

/* Without the nodes that do not run. `value`: a reference to each that does, by its new number. */
static void compact(Interp *in, Graph *g, const Value *value)
{
    uint32_t to = 0, operands = 0;
    for (uint32_t i = 0; i < g->nodes; i++) {
        GraphNode n = *graph_at(g, i);
        for (uint32_t k = 0; k < n.operands; k++) {
            Value *from = &g->operand[n.operand + k], old = *from;
            Value v = n.kept ? graph_resolve(in, old, value) : v_undef();
            *from = v_undef();
            v_release(&in->ctx, old);
            if (n.kept)
                g->operand[operands + k] = v;
        }
        if (!n.kept)
            continue;
        n.operand = operands;
        operands += n.operands;
        n.last = n.last == GRAPH_NEVER ? n.last : (uint32_t)value[n.last].i;
        g->node[to++] = n;
    }
    g->nodes = to;
    g->operands = operands;
}

/* What a value refers to under the new numbers. */
static void renumber(Interp *in, Value *v, const Value *value)
{
    Value old = *v;
    *v = graph_resolve(in, old, value);
    v_release(&in->ctx, old);
}

void graph_settle(Interp *in, Graph *g)
{
    for (uint32_t i = 0; i < g->nodes; i++) {
        GraphNode *n = graph_at(g, i);
        n->last = i;
        n->kept = n->kind == GRAPH_ARGUMENT || n->kind == GRAPH_GUARD ||
                  (n->kind == GRAPH_ROW && n->op->draws);
    }
    needed(g, g->result, GRAPH_NEVER);
    for (uint32_t i = g->nodes; i-- > 0;) {
        const GraphNode *n = graph_at(g, i);
        for (uint32_t k = 0; n->kept && k < n->operands; k++)
            needed(g, graph_args(g, n)[k], i);
    }
    Value *value = in->sp;
    int64_t to = 0;
    stack_room(in, g->nodes + 64);
    for (uint32_t i = 0; i < g->nodes; i++)
        v_push(in, v_ref((uint32_t)(graph_at(g, i)->kept ? to++ : 0)));
    renumber(in, &g->arguments, value);
    renumber(in, &g->result, value);
    compact(in, g, value);
    in->sp = value;
}

/* ---- subscripts ---- */
void graph_put_subs(Graph *g, const Sub *subs, const Value *given, int n)
{
    for (int i = 0; i < n; i++) {
        bool one = subs[i].kind == SUB_VALUE;
        graph_operand(g, v_int(subs[i].kind));
        graph_operand(g, one ? given[i] : subs[i].kind == SUB_SLICE ? subs[i].start : v_undef());
        graph_operand(g, subs[i].kind == SUB_SLICE ? subs[i].stop : v_undef());
        graph_operand(g, subs[i].kind == SUB_SLICE ? subs[i].step : v_undef());
    }
}

int graph_subs(const Value *operand, int count, Sub *out)
{
    int n = count / 4;
    for (int i = 0; i < n; i++, operand += 4) {
        out[i] = (Sub){ .kind = (SubKind)operand[0].i };
        if (out[i].kind == SUB_VALUE)
            out[i].v = operand[1];
        else
            out[i].start = operand[1];
        out[i].stop = operand[2];
        out[i].step = operand[3];
    }
    return n;
}
