/* Graphs into files: graph.json, written to be read, and the constants beside it. */
#include "builtins/files/files_graph.h"
#include "core/system/c_locale.h"
#include "interp/show/show.h"
#include "kernels/sparse/sparse.h"

#include <stdio.h>
#include <string.h>

const char *const graph_kinds[GRAPH_KINDS] = {
    [GRAPH_ARGUMENT] = "(argument)", [GRAPH_ROW] = "", [GRAPH_FIELD] = "(field)",
    [GRAPH_INDEX] = "(subscript)", [GRAPH_STORE] = "(store)", [GRAPH_LITERAL] = "(literal)",
    [GRAPH_NOTATION] = "(notation)", [GRAPH_PRODUCT] = "(product)", [GRAPH_GUARD] = "(expect)",
    [GRAPH_LENGTH] = "(length)",
};

const char *const graph_keys[GRAPH_KEYS] = {
    "node", "constant", "tuple", "given", "float", "range", "dtype", "device", "operation"
};

const char *const graph_rounds[ROUND_MODES] = { "nearest", "away", "zero", "up", "down", "odd",
                                                "stochastic" };

GraphStored graph_stored(DType dt)
{
    Stored s;
    if (dtype_cells(dt))
        return GRAPH_AS_TEXT;
    return dtype_stored(dt, &s) && strchr("biufc", s.kind) ? GRAPH_AS_IT_IS : GRAPH_AS_BYTES;
}

typedef struct Writer {
    OpCall *call;
    Graph *graph;
    GraphNode *node;                /* that is written now, or NULL */
    ZipWriter zip;
    Str **json, **constants;        /* the file, and its list of constants */
    int64_t count;
} Writer;

static _Noreturn void refuse(Writer *w, const char *what)
{
    const char *line = w->node ? graph_where(w->call->in, w->graph, w->node) : NULL;
    err_raise_help(&w->call->in->ctx, ERR_IO, "write its formula into the function",
                   "%s does not belong in a file of a graph%s%s", what,
                   line ? "; it stands at " : "", line ? line : "");
}

static void put_name(Writer *w, Str **out, const char *text)
{
    json_write_text(w->call, out, text, strlen(text));
}

static void put_shape(Writer *w, Str **out, int rank, const int64_t *shape)
{
    file_put(w->call, out, "[");
    for (int i = 0; i < rank; i++)
        file_put(w->call, out, "%s%lld", i ? ", " : "", (long long)shape[i]);
    file_put(w->call, out, "]");
}

/* ---- constants ---- */
/* The text in the repr of a number: decimal(5)(1.25), rational("1/3"). */
static void put_cells(Writer *w, const Tensor *t)
{
    OpCall *c = w->call;
    Interp *in = c->in;
    Value *mark = in->sp;
    Tensor *flat = op_keep(c, tensor_compact(&in->ctx, (Tensor *)t));
    size_t bytes = dtype_info((DType)t->dtype)->bytes;
    file_put(c, w->constants, ", \"text\": [");
    for (int64_t i = 0; i < flat->size; i++) {
        v_push(in, v_element(&in->ctx, (DType)t->dtype, flat->data + (size_t)i * bytes));
        buf_clear(&in->scratch);
        show_repr(in, &in->scratch, in->sp[-1]);
        const char *s = buf_cstr(&in->scratch), *open = strrchr(s, '(');
        size_t n = strcspn(open ? open + 1 + (open[1] == '"') : s, "\")");
        file_put(c, w->constants, i ? ", " : "");
        json_write_text(c, w->constants, open ? open + 1 + (open[1] == '"') : s, n);
        stack_cut(in, in->sp - 1);
        poll_interrupt(in);
    }
    file_put(c, w->constants, "]");
    stack_cut(in, mark);
}

static void put_member(Writer *w, Tensor *t, GraphStored how)
{
    OpCall *c = w->call;
    Ctx *ctx = &c->in->ctx;
    char file[40], what[40];
    Stored s = { 'u', 1, false };
    int64_t shape[TENSOR_RANK_MAX + 1];
    int rank = t->rank;
    snprintf(file, sizeof file, "c%lld.npy", (long long)w->count);
    snprintf(what, sizeof what, "constant %lld", (long long)w->count);
    Str **head = file_text(c);
    size_t bytes = (size_t)t->size * dtype_info((DType)t->dtype)->bytes;
    bool fortran = true;        /* as it lies: a product of it has the same bits then */
    Tensor *raw = how == GRAPH_AS_IT_IS ? stored_raw(c, t, NULL, what, &s, &fortran)
                                        : op_keep(c, tensor_compact(ctx, t));
    if (rank)
        memcpy(shape, tensor_shape(t), (size_t)rank * sizeof *shape);
    if (how == GRAPH_AS_BYTES)
        shape[rank++] = (int64_t)dtype_info((DType)t->dtype)->bytes;
    npy_head(c, head, s, fortran && how == GRAPH_AS_IT_IS, rank, shape, what);
    zip_add(&w->zip, file, *head, raw, bytes);
}

static void put_tensor(Writer *w, Tensor *t)
{
    OpCall *c = w->call;
    GraphStored how = graph_stored((DType)t->dtype);
    Value *mark = c->in->sp;
    if (tensor_sparse(t))
        err_raise_help(&c->in->ctx, ERR_IO, "dense(S) in place of S, or S an argument of the graph",
                       "a graph's file has no sparse matrices, and a constant of this one is "
                       "%lld×%lld with %lld entries", (long long)t->dims[0], (long long)t->dims[1],
                       (long long)tensor_sparse(t)->value->size);
    tensor_home(&c->in->ctx, t);
    file_put(c, w->constants, "%s    {\"dtype\": ", w->count ? ",\n" : "");
    put_name(w, w->constants, dtype_name((DType)t->dtype));
    file_put(c, w->constants, ", \"shape\": ");
    put_shape(w, w->constants, t->rank, tensor_shape(t));
    if (how == GRAPH_AS_TEXT)
        put_cells(w, t);
    else
        put_member(w, t, how);
    file_put(c, w->constants, "}");
    w->count++;
    stack_cut(c->in, mark);
}

/* ---- values ---- */
static void put_value(Writer *w, Value v);

static void put_tuple(Writer *w, const Tuple *t)
{
    OpCall *c = w->call;
    bool named = false;
    file_put(c, w->json, "{\"tuple\": [");
    for (uint32_t i = 0; i < t->count; i++) {
        file_put(c, w->json, i ? ", " : "");
        put_value(w, t->items[i]);
        named |= t->names && t->names[i];
    }
    file_put(c, w->json, "]");
    for (uint32_t i = 0; named && i < t->count; i++) {
        file_put(c, w->json, i ? ", " : ", \"names\": [");
        if (t->names[i])
            put_name(w, w->json, t->names[i]->text);
        else
            file_put(c, w->json, "null");
    }
    file_put(c, w->json, named ? "]}" : "}");
}

static void put_named(Writer *w, GraphKey key, const char *text)
{
    file_put(w->call, w->json, "{\"%s\": ", graph_keys[key]);
    put_name(w, w->json, text);
    file_put(w->call, w->json, "}");
}

/* A constant of which a derivative or a shadow is wanted is a number here; what a graph around
 * records is none. */
static Value constant(Value v)
{
    while (v.tag == V_TRACED) {
        const Traced *t = traced_of(v);
        if (t->tape->recorder && t->tape->recorder->forever)
            break;
        v = t->value;
    }
    return v;
}

static void put_value(Writer *w, Value v)
{
    OpCall *c = w->call;
    char what[128], text[64];
    stack_check(c->in);
    v = constant(v);
    switch ((Tag)v.tag) {
    case V_FLOW: file_put(c, w->json, "{\"node\": %lld}", (long long)v.i); break;
    case V_UNDEF: file_put(c, w->json, "{\"given\": false}"); break;
    case V_NONE: file_put(c, w->json, "null"); break;
    case V_BOOL: file_put(c, w->json, v.i ? "true" : "false"); break;
    case V_INT: file_put(c, w->json, "%lld", (long long)v.i); break;
    case V_FLOAT:
        c_snprintf(text, sizeof text, "%.17g", v.f);
        put_named(w, KEY_FLOAT, text);
        break;
    case V_STRING: json_write_text(c, w->json, v.str->text, v.str->len); break;
    case V_RANGE:
        file_put(c, w->json, "{\"range\": [%lld, %lld, %lld]}", (long long)v.range->start,
                 (long long)v.range->stop, (long long)v.range->step);
        break;
    case V_TUPLE: put_tuple(w, v.tuple); break;
    case V_FORMAT: put_named(w, KEY_DTYPE, dtype_name(v_format_dtype(v))); break;
    case V_DEVICE: put_named(w, KEY_DEVICE, v.device->name); break;
    case V_OP:
        if (!graph_op_allowed(v.op))
            refuse(w, v.op->name);
        put_named(w, KEY_OPERATION, v.op->name);
        break;
    case V_TENSOR:
        file_put(c, w->json, "{\"constant\": %lld}", (long long)w->count);
        put_tensor(w, v.tensor);
        break;
    default:
        snprintf(text, sizeof text, "%s%s", v_describe_a(v_plain(v), what, sizeof what),
                 v.tag == V_TRACED ? " that another graph records" : "");
        refuse(w, text);
    }
}

/* ---- nodes ---- */
static void put_node(Writer *w, Graph *g, GraphNode *n)
{
    OpCall *c = w->call;
    const char *kind = n->kind == GRAPH_ROW ? n->op->name : graph_kinds[n->kind];
    const char *line = n->kept ? graph_where(c->in, g, n) : NULL;
    if (n->kind == GRAPH_ROW && !graph_op_allowed(n->op))
        refuse(w, n->op->name);
    w->node = n;
    file_put(c, w->json, "    {\"op\": ");
    put_name(w, w->json, kind);
    if (n->operands) {
        file_put(c, w->json, ", \"of\": [");
        for (uint32_t i = 0; i < n->operands; i++) {
            file_put(c, w->json, i ? ", " : "");
            put_value(w, graph_args(g, n)[i]);
        }
        file_put(c, w->json, "]");
    }
    if (n->kind == GRAPH_STORE && n->op)
        file_put(c, w->json, ", \"by\": \"%s\"", n->op->name);
    if (n->kind == GRAPH_FIELD || n->kind == GRAPH_GUARD)
        file_put(c, w->json, ", \"at\": %d", n->field);
    if (n->weak)
        file_put(c, w->json, ", \"weak\": %u", n->weak);
    if (n->rule)
        file_put(c, w->json, ", \"rule\": true");
    if (n->scope >= 0)
        file_put(c, w->json, ", \"scope\": %d", n->scope);
    if (n->place >= 0)
        file_put(c, w->json, ", \"on\": %d", n->place);
    if (line)
        file_put(c, w->json, ", \"line\": %d", n->line);
    if (n->dtype != DT_NONE) {
        file_put(c, w->json, ", \"dtype\": ");
        put_name(w, w->json, dtype_name(n->dtype));
        file_put(c, w->json, ", \"shape\": ");
        put_shape(w, w->json, n->rank, g->length + n->shape);
    }
    file_put(c, w->json, "}");
}

static void put_scope(Writer *w, const Scope *s)
{
    OpCall *c = w->call;
    file_put(c, w->json, "    {\"%s\": ", s->format == DT_NONE ? "autocast" : "precision");
    put_name(w, w->json, dtype_name(scope_format(s)));
    if (s->accumulate_given) {
        file_put(c, w->json, ", \"accumulate\": ");
        put_name(w, w->json, dtype_name(s->accumulate));
    }
    if (s->backward != DT_NONE) {
        file_put(c, w->json, ", \"backward\": ");
        put_name(w, w->json, dtype_name(s->backward));
    }
    if (s->round != ROUND_NEAREST)
        file_put(c, w->json, ", \"round\": \"%s\"", graph_rounds[s->round]);
    file_put(c, w->json, "%s%s%s}", s->saturate ? ", \"saturate\": true" : "",
             s->flush ? ", \"flush\": true" : "",
             s->reproducible ? ", \"reproducible\": true" : "");
}

static void put_place(Writer *w, const DeviceBlock *p)
{
    OpCall *c = w->call;
    file_put(c, w->json, "    {\"device\": ");
    put_name(w, w->json, p->device->name);
    file_put(c, w->json, ", \"fallback\": ");
    put_name(w, w->json, p->fallback->name);
    file_put(c, w->json, "%s%s%s%s}", p->strict ? ", \"strict\": true" : "",
             p->narrow ? ", \"narrow\": true" : "", p->quiet ? ", \"quiet\": true" : "",
             p->plain ? ", \"plain\": true" : "");
}

/* The nodes that run, and those that others refer to, keep their numbers. */
static void put_graph(Writer *w, Graph *g)
{
    OpCall *c = w->call;
    Buf *shown = &c->in->scratch;
    buf_clear(shown);
    show_repr(c->in, shown, v_graph(g));
    file_put(c, w->json, "{\n  \"format\": \"ricci graph\",\n  \"version\": %d,\n  \"about\": ",
             GRAPH_VERSION);
    json_write_text(c, w->json, buf_cstr(shown), shown->len);
    if (g->name) {
        file_put(c, w->json, ",\n  \"name\": ");
        put_name(w, w->json, g->name->text);
    }
    file_put(c, w->json, ",\n  \"parameters\": [");
    for (uint32_t i = 0; i < g->params; i++) {
        file_put(c, w->json, i ? ", " : "");
        if (g->param[i])
            put_name(w, w->json, g->param[i]->text);
        else
            file_put(c, w->json, "null");
    }
    file_put(c, w->json, "],\n  \"arguments\": ");
    put_value(w, g->arguments);
    file_put(c, w->json, ",\n  \"result\": ");
    put_value(w, g->result);
    file_put(c, w->json, ",\n  \"nodes\": [");
    for (uint32_t i = 0; i < g->nodes; i++) {
        poll_interrupt(c->in);
        file_put(c, w->json, i ? ",\n" : "\n");
        put_node(w, g, graph_at(g, i));
    }
    w->node = NULL;
    file_put(c, w->json, "\n  ],\n  \"lines\": [");
    for (uint32_t i = 0; i < g->lines; i++) {
        file_put(c, w->json, i ? ",\n    " : "\n    ");
        json_write_text(c, w->json, g->line[i].str->text, g->line[i].str->len);
    }
    file_put(c, w->json, "\n  ],\n  \"scopes\": [");
    for (uint32_t i = 0; i < g->scopes; i++) {
        file_put(c, w->json, i ? ",\n" : "\n");
        put_scope(w, g->scope[i]);
    }
    file_put(c, w->json, "\n  ],\n  \"devices\": [");
    for (uint32_t i = 0; i < g->places; i++) {
        file_put(c, w->json, i ? ",\n" : "\n");
        put_place(w, g->place[i]);
    }
    file_put(c, w->json, "\n  ],\n  \"constants\": [\n");
    str_append(&c->in->ctx, w->json, (*w->constants)->text, (*w->constants)->len);
    file_put(c, w->json, "\n  ]\n}\n");
}

void graph_save(OpCall *c, const char *path, Value x)
{
    Graph *g = graph_of(x);
    char what[96];
    if (!g)
        err_raise_help(&c->in->ctx, ERR_TYPE, "graph(f, x) makes one of a function and its "
                       "arguments", "%s files hold a graph, and this is %s", ".rgraph",
                       v_describe_a(v_plain(x), what, sizeof what));
    Writer w = { .call = c, .graph = g };
    zip_begin(c, &w.zip);
    w.json = file_text(c);
    w.constants = file_text(c);
    put_graph(&w, g);
    zip_add(&w.zip, "graph.json", *w.json, NULL, 0);
    zip_write(&w.zip, path);
}
