/* What a strict block names, looked at before anything in it runs. See place.h. The walk goes
 * through the block's syntax and that of the functions it calls by name, as their names stand at
 * entry: a variable that shadows an operation is no operation. What only running can tell
 * (dtypes, functions in variables of other frames) is the door's to refuse. */
#include "interp/device/place.h"
#include "interp/state/frames.h"
#include "interp/state/predefined.h"

#include "core/base/error.h"

#include <stdio.h>
#include <string.h>

enum { FOUND_MAX = 64, SEEN_MAX = 512, SHOWN_MAX = 12 };

typedef struct Found {
    const Op *op;
    const char *missing;            /* the row that is lacking */
    const Source *source;
    uint32_t line;
    const char *function;           /* NULL: in the block itself */
} Found;

typedef struct Walk {
    Interp *in;
    const Device *device;
    const Node *block;              /* what is looked at, and whose globals it assigns */
    Module *own, *module;           /* those; whose globals the names are now */
    const Source *source;
    const char *function;
    bool frame;                     /* slots of locals are those of the running frame */
    Found found[FOUND_MAX];
    int count;
    const FnCode *seen[SEEN_MAX];
    int seen_count;
} Walk;

static void walk(Walk *w, const Node *n);

/* ---- operations ---- */
static void meet_op(Walk *w, const Op *op, const Node *n)
{
    const char *missing = op && w->count < FOUND_MAX ? place_lacked(w->in, w->device, op) : NULL;
    if (!missing)
        return;
    uint32_t line = w->source ? source_place(w->source, n->span.from).line : 0;
    for (int i = 0; i < w->count; i++)
        if (w->found[i].op == op && w->found[i].line == line && w->found[i].source == w->source)
            return;
    w->found[w->count++] = (Found){ .op = op, .missing = missing, .source = w->source, .line = line,
                                    .function = w->function };
}

static void meet_row(Walk *w, const char *name, const Node *n)
{
    const Name *known = names_find(&w->in->names, name, strlen(name));
    meet_op(w, known ? op_find(w->in, known) : NULL, n);
}

/* ---- functions ---- */
static bool seen_before(Walk *w, const FnCode *code)
{
    for (int i = 0; i < w->seen_count; i++)
        if (w->seen[i] == code)
            return true;
    if (w->seen_count == SEEN_MAX)
        return true;
    w->seen[w->seen_count++] = code;
    return false;
}

static void meet_function(Walk *w, const Function *fn)
{
    if (seen_before(w, fn->code))
        return;
    v_check_depth(w->in);
    Module *module = w->module;
    const Source *source = w->source;
    const char *function = w->function;
    bool frame = w->frame;
    w->module = fn->module;
    w->source = fn->chunk->source;
    w->function = fn->code->name ? fn->code->name->text : "a function";
    w->frame = false;
    for (uint32_t i = 0; i < fn->code->params; i++)
        walk(w, fn->code->node->list[i]->a);
    walk(w, fn->code->node->a);
    w->module = module;
    w->source = source;
    w->function = function;
    w->frame = frame;
}

static void meet_value(Walk *w, Value v, const Node *n)
{
    if (v.tag == V_OP)
        meet_op(w, v.op, n);
    else if (v.tag == V_FUNCTION)
        meet_function(w, v.fn);
}

/* ---- names ---- */
static bool is_global(const Node *n, int32_t slot)
{
    return n && n->kind == ND_NAME && n->scope == SCOPE_GLOBAL && n->slot == slot;
}

/* Is the slot what a target assigns: a name, one with subscripts, or one of a tuple of them? */
static bool targets(const Node *target, int32_t slot)
{
    while (target && (target->kind == ND_INDEX || target->kind == ND_FIELD))
        target = target->a;
    for (uint32_t i = 0; target && target->kind == ND_TUPLE && i < target->count; i++)
        if (targets(target->list[i], slot))
            return true;
    return is_global(target, slot);
}

/* Does n assign the global in the slot? Then a name in it may mean that, not the operation. */
static bool assigns(const Node *n, int32_t slot)
{
    if (!n)
        return false;
    bool binds = n->kind == ND_IMPORT || n->kind == ND_EXTERN, names = n->kind == ND_FN || binds;
    bool sets = n->kind == ND_ASSIGN || n->kind == ND_DEFINE || n->kind == ND_FOR;
    if ((names && is_global(n->b, slot)) || (sets && targets(n->a, slot)))
        return true;
    for (uint32_t i = 0; i < n->count; i++)
        if (assigns(n->list[i], slot) || (binds && is_global(n->list[i], slot)))
            return true;
    return assigns(n->a, slot) || assigns(n->b, slot) || assigns(n->c, slot);
}

/* The variable of that name at entry: V_UNDEF where it has no value, V_NONE where nobody knows. */
static Value variable(const Walk *w, const Node *n)
{
    const Module *m = w->module;
    if (n->scope == SCOPE_LOCAL)
        return w->frame && n->slot >= 0 ? w->in->fp[n->slot] : v_none();
    if (n->scope == SCOPE_GLOBAL && n->slot >= 0) {
        bool later = m->slots[n->slot].tag == V_UNDEF && m->assigned[n->slot] && m == w->own;
        return later && assigns(w->block, n->slot) ? v_none() : m->slots[n->slot];
    }
    if (n->scope != SCOPE_NONE)
        return v_none();
    int64_t slot = globals_find(&m->globals, n->name);          /* in index notation */
    return slot >= 0 ? m->slots[slot] : v_undef();
}

/* A name that is called, or handed to what calls it. */
static void meet_name(Walk *w, const Node *n)
{
    Value v = variable(w, n);
    if (v.tag == V_UNDEF && predefined_find(w->in, n->name->text).tag == V_UNDEF)
        meet_op(w, op_find(w->in, n->name), n);
    else
        meet_value(w, v, n);
}

/* stats.mean */
static void meet_member(Walk *w, const Node *n)
{
    Value base = n->a->kind == ND_NAME ? variable(w, n->a) : v_none();
    if (base.tag == V_MODULE) {
        int64_t slot = globals_find(&base.module->globals, n->name);
        if (slot >= 0)
            meet_value(w, base.module->slots[slot], n);
    } else if (base.tag == V_TUPLE) {
        int64_t i = tuple_find(base.tuple, n->name);
        if (i >= 0)
            meet_value(w, base.tuple->items[i], n);
    } else {
        walk(w, n->a);
    }
}

static void walk_callee(Walk *w, const Node *n)
{
    if (n->kind == ND_NAME)
        meet_name(w, n);
    else if (n->kind == ND_FIELD)
        meet_member(w, n);
    else
        walk(w, n);
}

static void walk_arguments(Walk *w, const Node *n)
{
    for (uint32_t i = 0; i < n->count; i++) {
        const Node *x = n->list[i]->kind == ND_NAMED ? n->list[i]->a : n->list[i];
        if (x->kind == ND_NAME || x->kind == ND_FIELD)
            walk_callee(w, x);
        else
            walk(w, x);
    }
}

/* ---- the walk ---- */
static void walk_children(Walk *w, const Node *n)
{
    walk(w, n->a);
    walk(w, n->b);
    walk(w, n->c);
    for (uint32_t i = 0; i < n->count; i++)
        walk(w, n->list[i]);
}

/* A body with a frame of its own. */
static void walk_inner(Walk *w, const Node *n)
{
    bool frame = w->frame;
    w->frame = false;
    walk_children(w, n);
    w->frame = frame;
}

static void walk_compare(Walk *w, const Node *n)
{
    for (uint32_t i = 0; i + 1 < n->count; i++)
        meet_op(w, op_operator(w->in, (Operator)n->ops[i]), n);
    walk_children(w, n);
}

/* x |> f(y), x |> f */
static void walk_pipe(Walk *w, const Node *n)
{
    walk(w, n->a);
    if (n->b->kind == ND_CALL && !(n->b->flags & NF_PARENS))
        walk(w, n->b);
    else
        walk_callee(w, n->b);
}

static bool by_index(const Node *n)
{
    if (n->kind == ND_DEFINE || n->kind == ND_REDUCE)
        return true;
    for (uint32_t i = 0; n->kind == ND_COMPREHENSION && i < n->count; i++)
        if (!n->list[i]->b)
            return true;
    return false;
}

static void walk(Walk *w, const Node *n)
{
    if (!n)
        return;
    if (by_index(n))
        meet_row(w, "einsum", n);
    switch (n->kind) {
    case ND_ON: case ND_TEST: case ND_IMPORT: case ND_EXTERN:
        break;                                     /* an inner block decides for itself */
    case ND_NAME:                                  /* f = solve */
        if (variable(w, n).tag == V_UNDEF)
            meet_name(w, n);
        break;
    case ND_CALL:
        walk_callee(w, n->a);
        walk_arguments(w, n);
        break;
    case ND_PIPE: walk_pipe(w, n); break;
    case ND_FIELD: walk(w, n->a); break;
    case ND_COMPARE: walk_compare(w, n); break;
    case ND_FN: case ND_LAMBDA: walk_inner(w, n); break;
    case ND_TRANSPOSE:
        meet_row(w, "ctranspose", n);
        walk_children(w, n);
        break;
    case ND_BINARY: case ND_UNARY: case ND_OPASSIGN:
        meet_op(w, op_operator(w->in, (Operator)n->op), n);
        walk_children(w, n);
        break;
    default: walk_children(w, n);
    }
}

/* ---- the error ---- */
static void put_found(Buf *out, const Found *f, const Source *own)
{
    buf_printf(out, "%s (", f->op->name);
    if (f->source && f->source != own)
        buf_printf(out, "%s:%u", f->source->name, f->line);
    else
        buf_printf(out, "line %u", f->line);
    if (f->function)
        buf_printf(out, " in %s", f->function);
    if (strcmp(f->missing, f->op->name) != 0)
        buf_printf(out, ", for want of %s", f->missing);
    buf_putc(out, ')');
}

_Noreturn static void raise_found(Walk *w, const DeviceBlock *p, const Source *own)
{
    Interp *in = w->in;
    int shown = w->count <= SHOWN_MAX ? w->count : SHOWN_MAX - 1;
    Buf list;
    buf_init(&list, &in->ctx);
    for (int i = 0; i < shown; i++) {
        buf_puts(&list, i == 0 ? "" : i + 1 < w->count ? ", " : " and ");
        put_found(&list, &w->found[i], own);
    }
    if (shown < w->count)
        buf_printf(&list, " and %d more", w->count - shown);
    in->at = p->held ? NULL : p->header;             /* what is held open stands in no text */
    Error *e = err_new(&in->ctx, ERR_DEVICE, "%s lacks %s, and the block is strict",
                       w->device->name, buf_cstr(&list));
    buf_free(&list);
    if (in->at)
        err_underline(e, 0);
    if (in->strict_devices)
        err_help(e, "without --strict-devices they run on %s, with a notice", p->fallback->name);
    else
        err_help(e, "without strict they run on %s, with a notice: on %s fallback %s { … }",
                 p->fallback->name, p->device->name, p->fallback->name);
    err_throw(e);
}

void place_check_block(Interp *in, const DeviceBlock *p, const Node *block, Module *m)
{
    Source *own = in->calls ? frame_source(in, in->calls) : NULL;
    Walk w = { .in = in, .device = p->device, .block = block, .own = m, .module = m, .source = own,
               .frame = true };
    walk(&w, block);
    if (w.count > 0)
        raise_found(&w, p, own);
}
