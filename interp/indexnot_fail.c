/* Mistakes that the syntax of a notation shows: the first is kept with its places, and raised
 * each time the statement runs. */
#include "interp/indexnot.h"

#include "core/error.h"

#include <stdio.h>
#include <string.h>

const char *ix_text(const IxAnalysis *a, const Node *n)
{
    enum { MOST = 60 };
    const char *text = a->tree->source->text + n->span.from;
    size_t len = n->span.to - n->span.from, line = strcspn(text, "\n");
    char cut[MOST + 8];
    if (len <= MOST && line >= len)
        return arena_copy(&a->lo->chunk->arena, text, len);
    size_t keep = line < MOST - 1 ? line : MOST - 1;
    while (keep > 0 && ((unsigned char)text[keep] & 0xc0) == 0x80)
        keep--;
    snprintf(cut, sizeof cut, "%.*s…", (int)keep, text);
    return arena_copy(&a->lo->chunk->arena, cut, strlen(cut));
}

static const char *kept(IxAnalysis *a, const char *text)
{
    return text ? arena_copy(&a->lo->chunk->arena, text, strlen(text)) : NULL;
}

IxFail *ix_fail(IxAnalysis *a, ErrKind kind, const Node *at, const Node *also, const char *help,
                const char *fmt, ...)
{
    IxFail *f = lower_alloc(a->lo, sizeof *f);
    char message[400];
    if (a->tree->fail)
        return f;                      /* only the first counts */
    va_list args;
    va_start(args, fmt);
    vsnprintf(message, sizeof message, fmt, args);
    va_end(args);
    *f = (IxFail){ .kind = kind, .message = kept(a, message), .help = kept(a, help) };
    f->place[f->places++] = at->span;
    if (also)
        f->place[f->places++] = also->span;
    a->tree->fail = f;
    return f;
}

/* ---- Einstein's rule ---- */
/* The right side with (j) for the lone j of this place. */
static void offer_variable(IxAnalysis *a, IxFail *f, const IxUse *u)
{
    char text[200];
    Span s = a->whole->span;
    const char *source = a->tree->source->text;
    uint32_t from = s.from, to = u->node->span.from, rest = s.to - u->node->span.to;
    if (to - from > 60 || rest > 60)
        return;
    snprintf(text, sizeof text, ", or for the variable %s: %.*s(%s)%.*s", u->name->text,
             (int)(to - from), source + from, u->name->text, (int)rest, source + u->node->span.to);
    f->variable = u->name;
    f->more = kept(a, text);
}

/* Where the additive term that holds the place begins. */
static uint32_t term_start(const Node *n, Span place)
{
    while (n->kind == ND_BINARY && (n->op == TK_ADD || n->op == TK_SUB) && !(n->flags & NF_PARENS))
        n = n->b->span.from <= place.from ? n->b : n->a;
    return n->span.from;
}

/* The whole notation with `sum[j]` before the term, or j among what is reduced. */
static bool with_sum(IxAnalysis *a, const IxUse *u, char *out, size_t cap)
{
    const Node *n = a->whole;
    bool reduce = n->kind == ND_REDUCE;
    const Node *right = n->kind == ND_DEFINE ? n->b : n->a;
    const char *text = a->tree->source->text;
    uint32_t at = reduce ? n->list[n->count - 1]->span.to : term_start(right, u->node->span);
    if (n->span.to - n->span.from > 120 ||
        memchr(text + n->span.from, '\n', n->span.to - n->span.from))
        return false;
    snprintf(out, cap, reduce ? "%.*s,%s%.*s" : "%.*ssum[%s] %.*s", (int)(at - n->span.from),
             text + n->span.from, u->name->text, (int)(n->span.to - at), text + at);
    return true;
}

void ix_fail_once(IxAnalysis *a, const IxUse *u)
{
    char help[300], all[260];
    const Node *n = a->whole;
    const char *name = u->name->text;
    if (!a->params && with_sum(a, u, all, sizeof all))
        snprintf(help, sizeof help, "sum over it%s: %s", n->kind == ND_REDUCE ? " too" : "", all);
    else
        snprintf(help, sizeof help, "sum over it: sum[%s] …", name);
    IxFail *f = ix_fail(a, ERR_INDEX, u->node, NULL, help,
                        "the index %s has one place in its product and is "
                        "%s: nothing sums it",
                        name,
                        n->kind == ND_DEFINE          ? "not on the left"
                        : n->kind == ND_COMPREHENSION ? "not bound by `for`"
                                                      : "not bound");
    if (f == a->tree->fail && f->place[0].from == u->node->span.from)
        offer_variable(a, f, u);
}

void ix_fail_rename(IxAnalysis *a, const IxUse *u, const Node *summed, const Node *use)
{
    char help[120];
    snprintf(help, sizeof help, "give one of the two another name than %s", u->name->text);
    ix_fail(a, ERR_INDEX, summed, use, help,
            "%s is summed inside %s and used again in the product around it", u->name->text,
            ix_text(a, summed));
}

/* ---- the left side ---- */
typedef struct Left {
    const Source *source;
    bool (*index)(const void *, const Node *);      /* is the name an index? */
    const void *with;
} Left;

static const char *source_text(const Source *source, const Node *n, char *out, size_t cap)
{
    const char *text = source->text + n->span.from;
    size_t len = n->span.to - n->span.from;
    snprintf(out, cap, "%.*s", (int)(len < cap ? len : cap - 1), text);
    return out;
}

static void slice_text(const Left *left, const Node *sub, char *out, size_t cap)
{
    char text[60];
    const Node *l = sub->a, *r = sub->b;
    bool times = sub->kind == ND_BINARY && sub->op == TK_MUL;
    const Node *by = times && l->kind == ND_INT ? l : times && r->kind == ND_INT ? r : NULL;
    bool plus =
        sub->kind == ND_BINARY && sub->op == TK_ADD && l->kind == ND_NAME && r->kind == ND_INT;
    if (sub->kind == ND_NAME && left->index(left->with, sub))
        snprintf(out, cap, ":");
    else if (by)
        snprintf(out, cap, "::%s", source_text(left->source, by, text, sizeof text));
    else if (plus)
        snprintf(out, cap, "%s:", source_text(left->source, r, text, sizeof text));
    else
        snprintf(out, cap, "%s", source_text(left->source, sub, text, sizeof text));
}

static void add_name(const Left *left, const Node *n, const Name **names, int *count)
{
    if (!n)
        return;
    if (n->kind == ND_NAME && left->index(left->with, n)) {
        for (int i = 0; i < *count; i++)
            if (names[i] == n->name)
                return;
        if (*count < 8)
            names[(*count)++] = n->name;
        return;
    }
    add_name(left, n->a, names, count);
    add_name(left, n->b, names, count);
    for (uint32_t i = 0; i < n->count; i++)
        add_name(left, n->list[i], names, count);
}

static bool mentions(const Node *n, const Name *name)
{
    if (!n)
        return false;
    if (n->kind == ND_NAME && n->name == name)
        return true;
    for (uint32_t i = 0; i < n->count; i++)
        if (mentions(n->list[i], name))
            return true;
    return mentions(n->a, name) || mentions(n->b, name);
}

/* `C[:, 0] += [right for i]`; plain indices alone stand for all of C. */
static void store_text(const Left *left, const Node *target, const char *op, const Node *right,
                       char *out, size_t cap)
{
    const Name *names[8];
    int count = 0;
    char subs[200] = "", one[80], binds[100] = "", text[160];
    bool plain = true;
    for (uint32_t i = 0; i < target->count; i++) {
        slice_text(left, target->list[i], one, sizeof one);
        plain &= strcmp(one, ":") == 0;
        snprintf(subs + strlen(subs), sizeof subs - strlen(subs), "%s%s", i ? ", " : "", one);
        add_name(left, target->list[i], names, &count);
    }
    for (int i = 0; i < count; i++)
        snprintf(binds + strlen(binds), sizeof binds - strlen(binds), "%s%s", i ? "," : "",
                 names[i]->text);
    source_text(left->source, right, text, sizeof text);
    if (strchr(text, '\n') || right->span.to - right->span.from >= sizeof text - 1)
        strcpy(text, "…");
    bool all = plain && op[0] != '=';
    const char *base = target->a->name->text;
    bool depends = false;
    for (int i = 0; i < count; i++)
        depends |= mentions(right, names[i]);
    snprintf(out, cap, depends ? "%s%s%s%s %s [%s for %s]" : "%s%s%s%s %s %s", base, all ? "" : "[",
             all ? "" : subs, all ? "" : "]", op, text, binds);
}

static bool unresolved(const void *with, const Node *n)
{
    (void)with;
    return n->scope == SCOPE_NONE;
}

void ix_fail_left(IxAnalysis *a, const Node *n, const Node *sub, const Node *again)
{
    Left left = { .source = a->tree->source, .index = unresolved };
    char help[500], store[400];
    const char *base = n->a->a->name->text;
    store_text(&left, n->a, "=", n->b, store, sizeof store);
    if (again && n->a->count == 2)
        snprintf(help, sizeof help, "a diagonal matrix: %s = diag([%s for %s])", base,
                 ix_text(a, n->b), sub->name->text);
    else if (again)
        snprintf(help, sizeof help, "two names for the two axes");
    else
        snprintf(help, sizeof help, "to store into a part of %s: %s", base, store);
    if (again)
        ix_fail(a, ERR_INDEX, sub, again, help,
                "the left side holds different indices, and %s stands there "
                "twice: a definition makes a whole new tensor",
                sub->name->text);
    else
        ix_fail(a, ERR_INDEX, sub, NULL, help,
                "the left side holds plain indices, and %s is none: a "
                "definition makes a whole new tensor",
                ix_text(a, sub));
}

/* ---- C[i,k] += … ---- */
/* The innermost store to an element whose span holds the place. */
static const Node *store_around(const Node *n, Span place)
{
    const Node *found = NULL;
    if (!n || n->span.from > place.from || n->span.to < place.to)
        return NULL;
    const Node *parts[] = { n->a, n->b, n->c };
    for (int i = 0; i < 3 && !found; i++)
        found = store_around(parts[i], place);
    for (uint32_t i = 0; i < n->count && !found; i++)
        found = store_around(n->list[i], place);
    bool store = (n->kind == ND_OPASSIGN || n->kind == ND_ASSIGN) && n->a->kind == ND_INDEX &&
                 n->a->a->kind == ND_NAME;
    return found ? found : store ? n : NULL;
}

static bool undefined(const void *in, const Node *n)
{
    return n->scope != SCOPE_NONE && !ix_variable((Interp *)(uintptr_t)in, n->name);
}

static const Chunk *running_chunk(Interp *in)
{
    const CallFrame *f = in->calls;
    Module *m = interp_module(in);
    if (f && f->fn)
        return f->fn->chunk;
    for (uint32_t i = m ? m->chunk_count : 0; f && i-- > 0;)
        if (m->chunks[i]->source == f->source)
            return m->chunks[i];
    return NULL;
}

void ix_raise_store(Interp *in, const Exec *x, const Name *name)
{
    const Chunk *chunk = running_chunk(in);
    const Node *n = chunk ? store_around(chunk->root, x->node->span) : NULL;
    bool subscript = false;
    for (uint32_t i = 0; n && i < n->a->count; i++)
        subscript |= mentions(n->a->list[i], name);
    if (!subscript)
        return;
    Left left = { .source = chunk->source, .index = undefined, .with = in };
    char help[400], op[8], target[80];
    source_text(chunk->source, n->a, target, sizeof target);
    in->at = x;
    if (n->kind == ND_ASSIGN) {
        Error *e = err_new(&in->ctx, ERR_NAME, "`%s` is not defined", name->text);
        source_text(chunk->source, n->b, help, 200);
        err_help(e, "index notation is written with :=, as in %s := %s", target, help);
        err_throw(e);
    }
    snprintf(op, sizeof op, "%s=", operator_symbol((Operator)n->op));
    store_text(&left, n->a, op, n->b, help, sizeof help);
    Error *e = err_new(&in->ctx, ERR_INDEX, "%s %s is no index notation, and `%s` is not defined",
                       target, op, name->text);
    err_at(e, chunk->source, n->a->span);
    err_help(e, "with all elements as a tensor: %s", help);
    err_throw(e);
}

/* ---- raising ---- */
bool ix_variable(Interp *in, const Name *name)
{
    const Function *fn = in->calls ? in->calls->fn : NULL;
    for (uint32_t i = 0; fn && fn->code->info->slot_names && i < fn->code->slots; i++)
        if (fn->code->info->slot_names[i] == name && in->fp[i].tag != V_UNDEF)
            return true;
    Module *m = interp_module(in);
    int64_t slot = m ? globals_find(&m->globals, name) : -1;
    return slot >= 0 && m->slots[slot].tag != V_UNDEF;
}

void ix_raise(Interp *in, const Exec *x, const IxTree *t)
{
    const IxFail *f = t->fail;
    in->at = x;
    Error *e = err_new(&in->ctx, f->kind, "%s", f->message);
    err_at(e, t->source, f->place[0]);
    for (int i = 0; i < f->places; i++)
        e->where.operand[e->where.operands++] = f->place[i];
    for (int i = 0; i < f->places; i++)
        err_underline(e, i);
    bool more = f->variable && ix_variable(in, f->variable);
    if (f->help)
        err_help(e, "%s%s", f->help, more ? f->more : "");
    err_throw(e);
}
