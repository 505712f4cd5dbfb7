/* Index notation that a graph keeps as the text of a function: read when it runs. A graph may come
 * from a file of strangers, so before any of the text runs it is looked at: numbers, names,
 * operators, subscripts, reductions, and calls of operations that only compute. */
#include "interp/graph/graph.h"
#include "interp/eval/module.h"

#include "core/base/error.h"

#include <string.h>

typedef struct Texts {
    Module *module;                 /* without variables of its own: no index is one */
    Tuple *made;                    /* functions; their code is the module's for good */
} Texts;

static void texts_clear(Ctx *ctx, void *data)
{
    Texts *t = data;
    if (t->made)
        v_release(ctx, v_tuple(t->made));
}

static const OpState texts_kept = { .bytes = sizeof(Texts), .clear = texts_clear };

/* ---- what may stand in it ---- */
enum { STATEMENTS = 100 };

bool graph_op_allowed(const Op *op)
{
    return op && !op->reaches && (!op->carries || op->detaches) && !op->added && !op->on_variable;
}

static bool node_allowed(Interp *in, const Node *n, bool statement);

static bool list_allowed(Interp *in, const Node *n)
{
    for (uint32_t i = 0; i < n->count; i++)
        if (!node_allowed(in, n->list[i], false))
            return false;
    return true;
}

static bool callee_allowed(Interp *in, const Node *n)
{
    const Op *op = n->kind == ND_NAME ? op_find(in, n->name) : NULL;
    return op ? graph_op_allowed(op)
              : n->kind == ND_NAME && dtype_find(n->name->text, n->name->len) != DT_NONE;
}

static bool node_allowed(Interp *in, const Node *n, bool statement)
{
    stack_check(in);
    if (!n)
        return true;
    switch ((NodeKind)n->kind) {
    case ND_DEFINE:
        return statement && node_allowed(in, n->a, false) && node_allowed(in, n->b, false) &&
               list_allowed(in, n);
    case ND_NONE: case ND_BOOL: case ND_INT: case ND_FLOAT: case ND_IMAG: case ND_STRING:
    case ND_NAME: case ND_SOFAR:
        return true;
    case ND_CALL:
        return callee_allowed(in, n->a) && list_allowed(in, n);
    case ND_NAMED: case ND_UNARY: case ND_BINARY: case ND_AND: case ND_OR: case ND_NOT:
    case ND_COMPARE: case ND_INDEX: case ND_LONG: case ND_REDUCE: case ND_BIND: case ND_RANGE:
    case ND_COMPREHENSION: case ND_TRANSPOSE: case ND_VECTOR: case ND_MATRIX: case ND_ROW:
        return node_allowed(in, n->a, false) && node_allowed(in, n->b, false) &&
               node_allowed(in, n->c, false) && list_allowed(in, n);
    case ND_BLOCK:
        if (!statement || n->count < 1 || n->count > STATEMENTS)
            return false;
        for (uint32_t i = 0; i < n->count; i++)
            if (!node_allowed(in, n->list[i], true))
                return false;
        return true;
    default:
        return false;
    }
}

/* (p0, p1) -> { statement; name } */
static bool text_allowed(Interp *in, const Node *root, uint32_t *params)
{
    const Node *f = root->kind == ND_BLOCK && root->count == 1 ? root->list[0] : NULL;
    if (!f || f->kind != ND_LAMBDA)
        return false;
    for (uint32_t i = 0; i < f->count; i++)
        if (f->list[i]->a || (f->list[i]->flags & NF_VARIADIC))
            return false;
    *params = f->count;
    return node_allowed(in, f->a, true);
}

/* ---- reading ---- */
static Value find_made(const Texts *t, const Str *text)
{
    for (uint32_t i = 0; t->made && i < t->made->count; i++) {
        const Source *s = t->made->items[i].fn->chunk->source;
        if (s->len == text->len && memcmp(s->text, text->text, text->len) == 0)
            return t->made->items[i];
    }
    return v_undef();
}

static Value made(Interp *in, Chunk *chunk, uint32_t *params)
{
    Texts *t = op_state(in, &texts_kept);
    if (!text_allowed(in, chunk->root, params))
        return v_undef();
    if (!t->module)
        t->module = module_new(in, "graph");
    if (!t->made)
        t->made = tuple_new(&in->ctx, 0);
    Scope *scope = in->scope;
    DeviceBlock *place = in->place;
    in->scope = NULL;
    in->place = NULL;
    Value f = run_chunk(in, t->module, chunk);
    in->scope = scope;
    in->place = place;
    tuple_push(&in->ctx, &t->made, NULL, f);
    return f;
}

Value graph_function(Interp *in, const Str *text, uint32_t *params)
{
    Value f = find_made(op_state(in, &texts_kept), text);
    if (f.tag != V_UNDEF) {
        *params = f.fn->code->params;
        return v_retain(f);
    }
    Guard g;
    const Exec *at = in->at;
    Source *source = source_new(&in->ctx, "<graph>", text->text, text->len);
    Chunk *volatile chunk = NULL;
    guard_enter(in, &g);
    if (!ERR_TRY(&in->ctx, &g.frame)) {
        guard_restore(in, &g);
        if (chunk)
            chunk_release(chunk);
        source_release(source);
        err_rethrow(&in->ctx);
    }
    chunk = parse_source(&in->ctx, &in->names, source);
    f = made(in, chunk, params);
    ERR_END(&in->ctx, &g.frame);
    chunk_release(chunk);
    source_release(source);
    in->at = at;
    return f.tag == V_UNDEF ? f : v_retain(f);
}

bool graph_text_read(Interp *in, const Str *text, GraphTextFn look, void *data)
{
    ErrFrame frame;
    Source *source = source_new(&in->ctx, "<graph>", text->text, text->len);
    Chunk *volatile chunk = NULL;
    if (!ERR_TRY(&in->ctx, &frame)) {
        if (chunk)
            chunk_release(chunk);
        source_release(source);
        err_rethrow(&in->ctx);
    }
    chunk = parse_source(&in->ctx, &in->names, source);
    bool good = look(in, chunk->root, data);
    ERR_END(&in->ctx, &frame);
    chunk_release(chunk);
    source_release(source);
    return good;
}

static bool has_params(Interp *in, const Node *root, void *data)
{
    uint32_t has = 0;
    return text_allowed(in, root, &has) && has == *(const uint32_t *)data;
}

bool graph_text_fits(Interp *in, const Str *text, uint32_t params)
{
    return strlen(text->text) == text->len &&
           parse_accepts(&in->ctx, &in->names, text->text, text->len) &&
           graph_text_read(in, text, has_params, &params);
}
