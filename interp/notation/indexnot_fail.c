/* Mistakes that the syntax of a notation shows: the first is kept with its places, and raised
 * each time the statement runs. */
#include "interp/notation/indexnot.h"
#include "interp/state/frames.h"
#include "interp/eval/eval_name.h"
#include "interp/lower/lower.h"

#include "core/system/c_locale.h"
#include "core/base/error.h"

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
    c_vsnprintf(message, sizeof message, fmt, args);
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

static const Node *right_side(const IxAnalysis *a)
{
    return a->whole->kind == ND_DEFINE ? a->whole->b : a->whole->a;
}

/* The innermost call of sum, max, … with one argument around a place, as in `sum(A[i,j])`. */
static const Node *reducing_call(const Node *n, Span place)
{
    const Node *found = NULL;
    if (!n || n->span.from > place.from || n->span.to < place.to)
        return NULL;
    const Node *parts[] = { n->a, n->b, n->c };
    for (int i = 0; i < 3 && !found; i++)
        found = reducing_call(parts[i], place);
    for (uint32_t i = 0; i < n->count && !found; i++)
        found = reducing_call(n->list[i], place);
    bool call = n->kind == ND_CALL && n->count == 1 && n->a->kind == ND_NAME;
    return !found && call && ix_reduce_plain(n->a->name->text) ? n : found;
}

/* An occurrence inside a part of the notation that nothing sums. */
static const Node *place_in(const IxUse *u, const Node *part)
{
    for (const IxNode *x = u->places ? u->first : NULL; x; x = x == u->last ? NULL : x->next_use) {
        Span at = x->at->node->span;
        if (part->span.from <= at.from && at.to <= part->span.to)
            return x->at->node;
    }
    return NULL;
}

static const Node *bind_named(const Node *n, const Name *name)
{
    for (uint32_t i = 0; i < n->count; i++)
        if (n->list[i]->a->kind == ND_NAME && n->list[i]->a->name == name)
            return n->list[i];
    return NULL;
}

/* What `sum[…]` in front of a part is to bind: names of which nothing sums a place in it, with the
 * ranges that `for` gives them. How many. */
static int names_in(const IxAnalysis *a, const IxUses *uses, const Node *part,
                    char *out, size_t cap)
{
    int count = 0;
    out[0] = '\0';
    for (int i = 0; i < uses->count; i++) {
        const IxUse *u = &uses->use[i];
        const Node *bind = a->whole->kind == ND_DEFINE ? bind_named(a->whole, u->name) : NULL;
        if (place_in(u, part))
            snprintf(out + strlen(out), cap - strlen(out), "%s%s",
                     count++ == 0 ? "" : bind ? ", " : ",",
                     bind ? ix_text(a, bind) : u->name->text);
    }
    return count;
}

/* The source of a notation while pieces are put in; `at`: how far it is copied. */
typedef struct Paste {
    const char *source;
    uint32_t at;
    char *out;
    size_t cap;
} Paste;

static void paste(Paste *p, uint32_t upto, const char *text, uint32_t skip)
{
    size_t len = strlen(p->out);
    snprintf(p->out + len, p->cap - len, "%.*s%s", (int)(upto - p->at), p->source + p->at, text);
    p->at = skip;
}

/* `sum[j]` in front of every additive term where it lacks, in place of sum(…) where it says so. */
static void paste_sums(IxAnalysis *a, const IxUses *uses, const Node *n, Paste *p)
{
    char names[120], text[140];
    bool parens = n->flags & NF_PARENS;
    if (n->kind == ND_BINARY && (n->op == TK_ADD || n->op == TK_SUB) && !parens) {
        paste_sums(a, uses, n->a, p);
        paste_sums(a, uses, n->b, p);
        return;
    }
    const Node *call = NULL;
    if (!names_in(a, uses, n, names, sizeof names))
        return;
    for (int i = 0; i < uses->count && !call; i++)
        if (place_in(&uses->use[i], n))
            call = reducing_call(n, place_in(&uses->use[i], n)->span);
    if (call && names_in(a, uses, call, names, sizeof names)) {
        snprintf(text, sizeof text, "%s[%s] ", call->a->name->text, names);
        paste(p, call->span.from, text, call->a->span.to);
        return;
    }
    bool whole = n->kind == ND_COMPARE || n->kind == ND_AND || n->kind == ND_OR ||
                 n->kind == ND_NOT || n->kind == ND_PIPE || n->kind == ND_BINARY;
    if (n->kind == ND_BINARY && (n->op == TK_MUL || n->op == TK_DIV || n->op == TK_POW))
        whole = false;
    snprintf(text, sizeof text, "sum[%s] %s", names, whole && !parens ? "(" : "");
    paste(p, n->span.from, text, n->span.from);
    if (whole && !parens)
        paste(p, n->span.to, ")", n->span.to);
}

/* The `for` of a definition without what the sums bind. */
static void paste_for(const IxAnalysis *a, const IxUses *uses, Paste *p)
{
    const Node *n = a->whole;
    const char *join = " for ";
    uint32_t end = n->list[0]->span.from;
    while (end > p->at && strncmp(p->source + end, "for", 3) != 0)
        end--;
    while (end > p->at && strchr(" \t", p->source[end - 1]))
        end--;
    paste(p, end, "", n->span.to);
    for (uint32_t i = 0; i < n->count; i++) {
        bool summed = false;
        for (int k = 0; k < uses->count; k++)
            summed |= uses->use[k].places && bind_named(n, uses->use[k].name) == n->list[i];
        if (summed)
            continue;
        paste(p, p->at, join, n->list[i]->span.from);
        paste(p, n->list[i]->span.to, "", n->span.to);
        join = ", ";
    }
}

/* The whole notation with what sums its indices. False: it is long, or of several lines. */
static bool with_sums(IxAnalysis *a, const IxUses *uses, char *out, size_t cap)
{
    const Node *n = a->whole;
    const char *text = a->tree->source->text;
    bool place_of = n->kind == ND_REDUCE && !ix_reduce_plain(n->name->text);
    Paste p = { text, n->span.from, out, cap };
    out[0] = '\0';
    if (a->params || n->span.to - n->span.from > 160 ||
        memchr(text + n->span.from, '\n', n->span.to - n->span.from))
        return false;
    if (n->kind == ND_REDUCE && !place_of) {
        char names[120], more[130];
        names_in(a, uses, n, names, sizeof names);
        snprintf(more, sizeof more, ",%s", names);
        uint32_t at = n->list[n->count - 1]->span.to;
        paste(&p, at, more, at);
    } else {
        paste_sums(a, uses, right_side(a), &p);
        if (n->kind == ND_DEFINE && n->count)
            paste_for(a, uses, &p);
    }
    paste(&p, n->span.to, "", n->span.to);
    return strlen(out) + 1 < cap && !strstr(out, "…");
}

void ix_fail_once(IxAnalysis *a, const IxUses *uses, const IxUse *u)
{
    char help[400], all[330];
    const Node *n = a->whole;
    const char *name = u->name->text;
    int count = 0;
    for (int i = 0; i < uses->count; i++)
        count += uses->use[i].places > 0;
    bool call = reducing_call(right_side(a), u->node->span), reduce = n->kind == ND_REDUCE;
    bool more = reduce && ix_reduce_plain(n->name->text);
    if (with_sums(a, uses, all, sizeof all))
        snprintf(help, sizeof help, "%s%s: %s",
                 call                                           ? "over the index"
                 : more && ix_reduce_find(n->name->text) != IXR_SUM ? "reduce over it"
                 : count > 1                                    ? "sum over them"
                                                                : "sum over it",
                 more ? " too" : "", all);
    else
        snprintf(help, sizeof help, "sum over it: sum[%s] …", name);
    IxFail *f = ix_fail(a, ERR_INDEX, u->node, NULL, help,
                        "the index %s has one place in its product and is "
                        "%s: nothing sums it",
                        name,
                        n->kind == ND_DEFINE          ? "not on the left"
                        : n->kind == ND_COMPREHENSION ? "not bound by `for`"
                                                      : "not bound");
    f->once = true;
    if (f == a->tree->fail && f->place[0].from == u->node->span.from &&
        (n->kind != ND_DEFINE || !bind_named(n, u->name)))
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
    if (n->kind != ND_INDEX)
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

/* Is the subscript a computation with indices that no slice stands for, as in s[r[i]]? */
static bool scatters(const Left *left, const Node *sub)
{
    const Name *names[8];
    int count = 0;
    char text[80], written[80];
    slice_text(left, sub, text, sizeof text);
    add_name(left, sub, names, &count);
    return count && strcmp(text, source_text(left->source, sub, written, sizeof written)) == 0;
}

/* s[r[i]] := x[i] as a store through a vector of positions. */
static bool scatter_text(const Left *left, const Node *n, char *out, size_t cap)
{
    const Node *sub = n->a->list[0];
    const Name *names[8];
    int count = 0;
    char at[60], text[100];
    add_name(left, sub, names, &count);
    if (n->a->count != 1 || count != 1 || n->b->span.to - n->b->span.from >= sizeof text)
        return false;
    snprintf(out, cap, "%s[[%s for %s]] = [%s for %s]", n->a->a->name->text,
             source_text(left->source, sub, at, sizeof at), names[0]->text,
             source_text(left->source, n->b, text, sizeof text), names[0]->text);
    return true;
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
    else if (scatters(&left, sub) && !scatter_text(&left, n, store, sizeof store))
        snprintf(help, sizeof help, "an index on the left, the computation on the right, as in "
                                    "y[p] := x[p//2]");
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
/* The last statement of a block that begins no later. */
static uint32_t statement_at(const Node *block, Span place)
{
    uint32_t low = 0, high = block->count;
    while (low < high) {
        uint32_t middle = (low + high) / 2;
        if (block->list[middle]->span.from <= place.from)
            low = middle + 1;
        else
            high = middle;
    }
    return low ? low - 1 : 0;
}

/* The innermost store to an element whose span holds the place. */
static const Node *store_around(const Node *n, Span place)
{
    const Node *found = NULL;
    if (!n || n->span.from > place.from || n->span.to < place.to)
        return NULL;
    const Node *parts[] = { n->a, n->b, n->c };
    for (int i = 0; i < 3 && !found; i++)
        found = store_around(parts[i], place);
    for (uint32_t i = n->kind == ND_BLOCK ? statement_at(n, place) : 0; i < n->count && !found; i++)
        if (n->list[i]->span.from <= place.from)
            found = store_around(n->list[i], place);
        else if (n->kind == ND_BLOCK)
            break;
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

/* What `target = right` was to be: a definition where its subscripts are plain indices, else a
 * store into a part; none where no slice says it. */
static void help_to_store(Error *e, const Left *left, const Node *n)
{
    char help[400], target[80];
    bool plain = true, twice = false, gathers = false;
    for (uint32_t i = 0; i < n->a->count; i++) {
        const Node *sub = n->a->list[i];
        plain &= sub->kind == ND_NAME && undefined(left->with, sub);
        gathers |= scatters(left, sub) && sub->kind != ND_NAME;
        for (uint32_t k = 0; k < i && sub->kind == ND_NAME; k++)
            twice |= n->a->list[k]->kind == ND_NAME && n->a->list[k]->name == sub->name;
    }
    if (twice || (gathers && !scatter_text(left, n, help, sizeof help)))
        return;
    source_text(left->source, n->a, target, sizeof target);
    if (plain) {
        source_text(left->source, n->b, help, 200);
        err_help(e, "index notation is written with :=, as in %s := %s", target, help);
        return;
    }
    if (!gathers)
        store_text(left, n->a, "=", n->b, help, sizeof help);
    char written[400];
    if (strcmp(help, source_text(left->source, n, written, sizeof written)) == 0)
        return;                              /* the indices are bound inside of its subscripts */
    err_help(e, "to store into a part of %s: %s", n->a->a->name->text, help);
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
        help_to_store(e, &left, n);
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
