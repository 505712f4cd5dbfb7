/* Names to slots. Two passes over each function: the first collects what it assigns (those
 * names are its own), the second resolves reads, finds what nested functions capture, and
 * numbers the frame: parameters, captured values, locals. At top level every name is a slot
 * of the module. Index names of := stay unresolved: only index notation knows them.
 * Recursion is as deep as the tree, which the parser limits. */
#include "parser/cdecl/cdecl.h"
#include "parser/parse.h"

#include "core/base/error.h"
#include "core/base/mem.h"
#include "lexer/lexer.h"

#include <stdio.h>
#include <string.h>

typedef struct Variable {
    const Name *name;
    int32_t slot;                    /* final number, at the end of the scope */
    int32_t capture;                 /* index of its capture, -1: a local or parameter */
} Variable;

typedef struct Scope {
    struct Scope *up;
    Node *node;                      /* FN, LAMBDA, TEST, COMPARE_BLOCK; NULL at top level */
    const Name *self;                /* the function's own name */
    bool copies;                     /* test, compare: outer variables are changed on a copy */
    Variable *vars;
    uint32_t count, cap, params;
    uint32_t *table, table_cap;      /* name -> 1 + variable */
    struct Capture *captures;
    uint32_t captured, capture_cap;
    int32_t **patches;               /* slots that hold a variable's number until the end */
    uint32_t patched, patch_cap;
    uint32_t loops;
} Scope;

/* A variable of a comprehension or an index name, while it is in force. */
typedef struct Binding {
    const Name *name;
    const Scope *scope;
    int32_t var;                     /* variable (at top level: hidden slot), or INDEX_NAME */
    int32_t shadowed;                /* the binding of the same name before it, -1 */
} Binding;

enum { NOT_FOUND = -1, OWN_FUNCTION = -2, INDEX_NAME = -3 };

typedef struct Resolver {
    Ctx *ctx;
    Names *names;
    Globals *globals;
    Chunk *chunk;
    Arena scratch;
    Scope *scope;
    Binding *bindings;
    uint32_t bound, binding_cap;
    int32_t *innermost;              /* by Name.id: 1 + its innermost binding, 0 none */
    size_t innermost_cap;
    uint32_t hidden;                 /* hidden globals in use */
} Resolver;

static void resolve(Resolver *, Node *);
static void resolve_children(Resolver *, Node *);

/* A larger copy of an array in the scratch arena. */
static void *grow(Resolver *r, void *old, size_t size, size_t count, size_t cap)
{
    void *grown = arena_alloc(&r->scratch, cap * size);
    if (count)
        memcpy(grown, old, count * size);
    return grown;
}

#define GROW(r, array, count, cap, first) \
    do { \
        if ((count) == (cap)) { \
            (cap) = (cap) ? (cap) * 2 : (first); \
            (array) = grow(r, array, sizeof *(array), count, cap); \
        } \
    } while (0)

static _Noreturn void fail(Resolver *r, ErrKind kind, Span span, const char *help,
                           const char *message)
{
    Error *e = err_new(r->ctx, kind, "%s", message);
    err_at(e, r->chunk->source, span);
    if (help)
        err_help(e, "%s", help);
    err_throw(e);
}

/* ---- globals of a module ---- */

static const Name hidden_name = { .len = 15, .id = UINT32_MAX, .text = "(comprehension)" };

void globals_init(Globals *g, Ctx *ctx)
{
    *g = (Globals){ .ctx = ctx };
}

void globals_free(Globals *g)
{
    mem_free(g->ctx, g->names, g->cap * sizeof *g->names);
    mem_free(g->ctx, g->index, g->index_cap * sizeof *g->index);
    mem_free(g->ctx, g->hidden, g->hidden_cap * sizeof *g->hidden);
    cscope_free(g->c);
    *g = (Globals){ .ctx = g->ctx };
}

static uint32_t globals_add(Globals *g, const Name *name)
{
    if (g->count == g->cap) {
        uint32_t cap = g->cap ? g->cap * 2 : 64;
        g->names = mem_realloc(g->ctx, g->names, g->cap * sizeof *g->names, cap * sizeof *g->names);
        g->cap = cap;
    }
    g->names[g->count] = name;
    return g->count++;
}

int64_t globals_find(const Globals *g, const Name *name)
{
    return name->id < g->index_cap ? (int64_t)g->index[name->id] - 1 : -1;
}

uint32_t globals_slot(Globals *g, const Name *name)
{
    int64_t found = globals_find(g, name);
    if (found >= 0)
        return (uint32_t)found;
    if (name->id >= g->index_cap) {
        size_t cap = g->index_cap ? g->index_cap * 2 : 256;
        while (cap <= name->id)
            cap *= 2;
        g->index = mem_realloc(g->ctx, g->index, g->index_cap * sizeof *g->index,
                               cap * sizeof *g->index);
        memset(g->index + g->index_cap, 0, (cap - g->index_cap) * sizeof *g->index);
        g->index_cap = cap;
    }
    uint32_t slot = globals_add(g, name);
    g->index[name->id] = slot + 1;
    return slot;
}

void globals_cut(Globals *g, uint32_t count)
{
    for (; g->count > count; g->count--) {
        if (g->names[g->count - 1] == &hidden_name)
            g->hidden_count--;
        else
            g->index[g->names[g->count - 1]->id] = 0;
    }
}

/* The k-th hidden slot: comprehensions at top level keep their variables there. */
static uint32_t globals_hidden(Globals *g, uint32_t k)
{
    if (k == g->hidden_count) {
        if (g->hidden_count == g->hidden_cap) {
            uint32_t cap = g->hidden_cap ? g->hidden_cap * 2 : 4;
            g->hidden = mem_realloc(g->ctx, g->hidden, g->hidden_cap * sizeof *g->hidden,
                                    cap * sizeof *g->hidden);
            g->hidden_cap = cap;
        }
        g->hidden[g->hidden_count] = globals_add(g, &hidden_name);
        g->hidden_count++;
    }
    return g->hidden[k];
}

/* ---- variables of a scope ---- */

static uint32_t *scope_entry(const Scope *s, const Name *name)
{
    uint32_t mask = s->table_cap - 1, i = name->hash & mask;
    while (s->table[i] && s->vars[s->table[i] - 1].name != name)
        i = (i + 1) & mask;
    return &s->table[i];
}

static int32_t scope_find(const Scope *s, const Name *name)
{
    return s->table_cap ? (int32_t)*scope_entry(s, name) - 1 : NOT_FOUND;
}

/* A variable that lookups by name do not find. */
static int32_t scope_add_anonymous(Resolver *r, Scope *s, const Name *name)
{
    GROW(r, s->vars, s->count, s->cap, 8);
    s->vars[s->count] = (Variable){ .name = name, .capture = -1 };
    return (int32_t)s->count++;
}

static int32_t scope_add(Resolver *r, Scope *s, const Name *name)
{
    if ((s->count + 1) * 2 > s->table_cap) {
        uint32_t *old = s->table, old_cap = s->table_cap;
        s->table_cap = old_cap ? old_cap * 2 : 32;
        s->table = arena_alloc(&r->scratch, s->table_cap * sizeof *s->table);
        for (uint32_t i = 0; i < old_cap; i++)
            if (old[i])
                *scope_entry(s, s->vars[old[i] - 1].name) = old[i];
    }
    uint32_t *entry = scope_entry(s, name);
    if (*entry == 0)
        *entry = (uint32_t)scope_add_anonymous(r, s, name) + 1;
    return (int32_t)*scope_entry(s, name) - 1;
}

/* ---- bindings: comprehension variables and index names ---- */

static void bind(Resolver *r, const Name *name, int32_t var)
{
    if (name->id >= r->innermost_cap) {
        size_t cap = r->innermost_cap ? r->innermost_cap * 2 : 256;
        while (cap <= name->id)
            cap *= 2;
        r->innermost = grow(r, r->innermost, sizeof *r->innermost, r->innermost_cap, cap);
        r->innermost_cap = cap;
    }
    GROW(r, r->bindings, r->bound, r->binding_cap, 16);
    r->bindings[r->bound] = (Binding){ name, r->scope, var, r->innermost[name->id] - 1 };
    r->innermost[name->id] = (int32_t)++r->bound;
}

static void unbind(Resolver *r, uint32_t mark)
{
    while (r->bound > mark) {
        const Binding *b = &r->bindings[--r->bound];
        r->innermost[b->name->id] = b->shadowed + 1;
    }
}

static const Binding *find_binding(const Resolver *r, const Scope *s, const Name *name)
{
    int32_t i = name->id < r->innermost_cap ? r->innermost[name->id] - 1 : -1;
    while (i >= 0 && r->bindings[i].scope != s)
        i = r->bindings[i].shadowed;
    return i >= 0 ? &r->bindings[i] : NULL;
}

static bool is_index(const Resolver *r, const Name *name)
{
    const Binding *b = find_binding(r, r->scope, name);
    return b && b->var == INDEX_NAME;
}

/* ---- lookup ---- */

static int32_t add_capture(Resolver *r, Scope *s, const Name *name, struct Capture capture)
{
    GROW(r, s->captures, s->captured, s->capture_cap, 4);
    int32_t var = scope_add(r, s, name);
    s->captures[s->captured] = capture;
    s->vars[var].capture = (int32_t)s->captured++;
    return var;
}

/* The variable of that name in s, capturing it from around if need be. */
static int32_t find_variable(Resolver *r, Scope *s, const Name *name)
{
    const Binding *b = find_binding(r, s, name);
    if (b && b->var != INDEX_NAME)
        return b->var;
    int32_t var = scope_find(s, name);
    if (var >= 0 || !s->node)
        return var;
    if (s->self == name)
        return OWN_FUNCTION;
    int32_t outer = find_variable(r, s->up, name);
    if (outer == NOT_FOUND)
        return NOT_FOUND;
    return add_capture(r, s, name,
                       (struct Capture){ .self = outer == OWN_FUNCTION, .from = outer });
}

/* Records that *slot holds the number of a variable of s. */
static void set_slot(Resolver *r, Scope *s, int32_t *slot, int32_t var)
{
    *slot = var;
    if (!s->node)
        return;                      /* hidden slots are final */
    GROW(r, s->patches, s->patched, s->patch_cap, 16);
    s->patches[s->patched++] = slot;
}

static void resolve_name(Resolver *r, Node *n)
{
    if (!n->name || is_index(r, n->name))
        return;
    int32_t var = find_variable(r, r->scope, n->name);
    if (var >= 0) {
        n->scope = SCOPE_LOCAL;
        set_slot(r, r->scope, &n->slot, var);
    } else if (var == OWN_FUNCTION) {
        n->scope = SCOPE_SELF;
    } else {
        n->scope = SCOPE_GLOBAL;
        n->slot = (int32_t)globals_slot(r->globals, n->name);
    }
}

/* ---- first pass: what a scope assigns ---- */

static const Node *base_of(const Node *target)
{
    while (target->kind == ND_INDEX || target->kind == ND_FIELD)
        target = target->a;
    return target;
}

static void declare_target(Resolver *r, const Node *target)
{
    if (target->kind == ND_TUPLE) {
        for (uint32_t i = 0; i < target->count; i++)
            declare_target(r, target->list[i]);
        return;
    }
    const Node *base = base_of(target);
    if (base->kind == ND_NAME && (base == target || r->scope->copies))
        scope_add(r, r->scope, base->name);
}

/* A C function called `compare` could never be called: that is a word of the language. */
static void check_callable(Resolver *r, const CDecl *d)
{
    int op;
    if (d->kind == CD_TYPE || d->kind == CD_CONSTANT ||
        !token_keyword(d->name, strlen(d->name), &op))
        return;
    Error *e = err_new(r->ctx, ERR_SYNTAX, "`%s` is a word of the language", d->name);
    err_at(e, r->chunk->source, d->at);
    err_help(e, "make it a member, lib.%s: extern \"…\" as lib { … }", d->name);
    err_throw(e);
}

/* The C text of an extern block, once: what it declares are names of the program. */
static void read_extern(Resolver *r, Node *n)
{
    if (n->unit)
        return;
    if (!r->globals->c)
        r->globals->c = cscope_new(r->ctx);
    CUnit *unit = cdecl_parse(r->globals->c, r->chunk->source, n->mark);
    n->unit = unit;
    if (n->b)
        return;                      /* they are members of that one */
    Arena *arena = &r->chunk->arena;
    n->list = arena_alloc(arena, (unit->count + 1) * sizeof *n->list);
    for (uint32_t i = 0; i < unit->count; i++) {
        const CDecl *d = &unit->decls[i];
        check_callable(r, d);
        Node *name = arena_alloc(arena, sizeof *name);
        *name = (Node){ .kind = ND_NAME, .depth = 1, .span = d->at, .mark = d->at,
                        .name = names_intern(r->names, d->name, strlen(d->name)) };
        n->list[n->count++] = name;
    }
}

static void declare(Resolver *r, Node *n)
{
    if (!n)
        return;
    switch (n->kind) {
    case ND_FN:
        scope_add(r, r->scope, n->name);
        return;
    case ND_LAMBDA: case ND_TEST: case ND_COMPARE_BLOCK:
        return;
    case ND_ASSIGN: case ND_FOR:
        declare_target(r, n->a);
        break;
    case ND_OPASSIGN:
        if (r->scope->copies)
            declare_target(r, n->a);
        break;
    case ND_DEFINE:
        if (base_of(n->a)->kind == ND_NAME)
            scope_add(r, r->scope, base_of(n->a)->name);
        break;
    case ND_TRY:
        if (n->b)
            scope_add(r, r->scope, n->b->name);
        break;
    case ND_EXTERN:
        read_extern(r, n);
        /* fallthrough */
    case ND_IMPORT:
        for (uint32_t i = 0; i < n->count; i++)
            scope_add(r, r->scope, n->list[i]->name);
        if (n->b)
            scope_add(r, r->scope, n->b->name);
        return;
    default:
        break;
    }
    declare(r, n->a);
    declare(r, n->b);
    declare(r, n->c);
    for (uint32_t i = 0; i < n->count; i++)
        declare(r, n->list[i]);
}

/* ---- scopes ---- */

static void begin_scope(Resolver *r, Scope *s, Node *n)
{
    *s = (Scope){ .up = r->scope, .node = n, .self = n->kind == ND_FN ? n->name : NULL,
                  .copies = n->kind == ND_TEST || n->kind == ND_COMPARE_BLOCK };
    r->scope = s;
}

/* Test and compare start from what the names around them hold. */
static void copy_outer(Resolver *r, Scope *s)
{
    for (uint32_t i = 0; i < s->count; i++) {
        int32_t outer = find_variable(r, s->up, s->vars[i].name);
        struct Capture capture = { .self = outer == OWN_FUNCTION, .from = outer };
        if (outer == NOT_FOUND) {
            capture.from = (int32_t)globals_slot(r->globals, s->vars[i].name);
            capture.global = true;
        }
        add_capture(r, s, s->vars[i].name, capture);
    }
}

static void number_slots(Scope *s)
{
    uint32_t next = s->params + s->captured;
    for (uint32_t i = 0; i < s->count; i++) {
        Variable *v = &s->vars[i];
        v->slot = i < s->params ? (int32_t)i : v->capture >= 0 ? (int32_t)s->params + v->capture
                                                               : (int32_t)next++;
    }
    for (uint32_t i = 0; i < s->patched; i++)
        *s->patches[i] = s->vars[*s->patches[i]].slot;
}

static void end_scope(Resolver *r, Scope *s)
{
    number_slots(s);
    r->scope = s->up;
    Arena *arena = &r->chunk->arena;
    FnInfo *fn = arena_alloc(arena, sizeof *fn);
    fn->slots = s->count;
    fn->params = s->params;
    fn->captured = s->captured;
    fn->captures = arena_alloc(arena, (s->captured + 1) * sizeof *fn->captures);
    fn->slot_names = arena_alloc(arena, (s->count + 1) * sizeof *fn->slot_names);
    for (uint32_t i = 0; i < s->count; i++)
        fn->slot_names[s->vars[i].slot] = s->vars[i].name;
    for (uint32_t i = 0; i < s->captured; i++) {
        fn->captures[i] = s->captures[i];
        if (!s->captures[i].self && !s->captures[i].global)
            set_slot(r, s->up, &fn->captures[i].from, s->captures[i].from);
    }
    s->node->fn = fn;
}

static void resolve_function(Resolver *r, Node *n)
{
    Scope s;
    begin_scope(r, &s, n);
    for (uint32_t i = 0; i < n->count; i++) {
        Node *p = n->list[i];
        p->scope = SCOPE_LOCAL;
        p->slot = scope_add(r, &s, p->name);
    }
    s.params = s.count;
    for (uint32_t i = 0; i < n->count; i++)
        declare(r, n->list[i]->a);
    declare(r, n->a);
    for (uint32_t i = 0; i < n->count; i++)
        if (n->list[i]->a)
            resolve(r, n->list[i]->a);
    resolve(r, n->a);
    end_scope(r, &s);
}

/* The body of test and compare. */
static void resolve_copying(Resolver *r, Node *n, Node *body)
{
    Scope s;
    begin_scope(r, &s, n);
    declare(r, body);
    copy_outer(r, &s);
    resolve(r, body);
    end_scope(r, &s);
}

/* ---- assignments ---- */

/* The base of `x += 1`, `A[0] = 1`, `t.x = 1`: it must be the scope's own, or the statement
 * raises when it runs. */
static void resolve_updated(Resolver *r, Node *target)
{
    Node *base = target;
    while (base->kind == ND_INDEX || base->kind == ND_FIELD) {
        for (uint32_t i = 0; i < base->count; i++)
            resolve(r, base->list[i]);
        base = base->a;
    }
    if (base->kind != ND_NAME) {
        resolve(r, base);
        return;
    }
    Scope *s = r->scope;
    bool bound = find_binding(r, s, base->name) != NULL;
    int32_t var = scope_find(s, base->name);
    if (s->node && !bound && (var < 0 || (s->vars[var].capture >= 0 && !s->copies)))
        base->scope = SCOPE_FOREIGN;
    else
        resolve_name(r, base);
}

static void resolve_target(Resolver *r, Node *target)
{
    if (target->kind == ND_NAME) {
        resolve_name(r, target);
    } else if (target->kind == ND_TUPLE) {
        for (uint32_t i = 0; i < target->count; i++)
            resolve_target(r, target->list[i]);
    } else {
        resolve_updated(r, target);
    }
}

/* ---- index notation and comprehensions ---- */

static bool is_ordinary(const Node *comprehension)
{
    for (uint32_t i = 0; i < comprehension->count; i++)
        if (!comprehension->list[i]->b)
            return false;
    return true;
}

static void bind_index(Resolver *r, const Name *name)
{
    if (!is_index(r, name))
        bind(r, name, INDEX_NAME);
}

static void bind_index_names(Resolver *r, const Node *n)
{
    for (uint32_t i = 0; i < n->count; i++)
        if (n->list[i]->a->kind == ND_NAME)
            bind_index(r, n->list[i]->a->name);
}

/* Binds every name that stands alone between brackets, or is bound by a reduction. */
static void bind_lone_names(Resolver *r, const Node *n)
{
    if (!n || n->kind == ND_LAMBDA || n->kind == ND_FN ||
        (n->kind == ND_COMPREHENSION && is_ordinary(n)))
        return;
    if (n->kind == ND_REDUCE || n->kind == ND_COMPREHENSION) {
        bind_index_names(r, n);
        bind_lone_names(r, n->a);
        return;
    }
    for (uint32_t i = 0; i < n->count; i++) {
        const Node *part = n->list[i];
        bool lone = part->kind == ND_NAME && !(part->flags & NF_PARENS);
        if (n->kind == ND_INDEX && lone)
            bind_index(r, part->name);
        else
            bind_lone_names(r, part);
    }
    bind_lone_names(r, n->a);
    bind_lone_names(r, n->b);
    bind_lone_names(r, n->c);
}

static void bind_all_names(Resolver *r, const Node *n)
{
    if (!n)
        return;
    if (n->kind == ND_NAME && !(n->flags & NF_PARENS))
        bind_index(r, n->name);
    bind_all_names(r, n->a);
    bind_all_names(r, n->b);
    bind_all_names(r, n->c);
    for (uint32_t i = 0; i < n->count; i++)
        bind_all_names(r, n->list[i]);
}

static void resolve_ranges(Resolver *r, Node *n)
{
    for (uint32_t i = 0; i < n->count; i++)
        if (n->list[i]->b)
            resolve(r, n->list[i]->b);
}

static void resolve_define(Resolver *r, Node *n)
{
    uint32_t mark = r->bound;
    resolve_ranges(r, n);
    if (n->a->kind == ND_INDEX)
        for (uint32_t i = 0; i < n->a->count; i++)
            bind_all_names(r, n->a->list[i]);
    bind_index_names(r, n);
    bind_lone_names(r, n->b);
    if (n->a->kind == ND_INDEX)
        for (uint32_t i = 0; i < n->a->count; i++)
            resolve(r, n->a->list[i]);
    resolve(r, n->b);
    unbind(r, mark);
    Node *base = n->a->kind == ND_INDEX ? n->a->a : n->a;
    resolve_target(r, base);
}

static void resolve_reduce(Resolver *r, Node *n)
{
    uint32_t mark = r->bound;
    resolve_name(r, n);
    bind_index_names(r, n);
    bind_lone_names(r, n->a);
    resolve_ranges(r, n);
    resolve(r, n->a);
    unbind(r, mark);
}

static void bind_variable(Resolver *r, Node *name)
{
    Scope *s = r->scope;
    int32_t var = s->node ? scope_add_anonymous(r, s, name->name)
                          : (int32_t)globals_hidden(r->globals, r->hidden++);
    bind(r, name->name, var);
    name->scope = SCOPE_LOCAL;
    set_slot(r, s, &name->slot, var);
}

static void resolve_comprehension(Resolver *r, Node *n)
{
    uint32_t mark = r->bound, hidden = r->hidden;
    bool ordinary = is_ordinary(n);
    resolve_ranges(r, n);
    for (uint32_t i = 0; ordinary && i < n->count; i++) {
        Node *target = n->list[i]->a;
        for (uint32_t k = 0; target->kind == ND_TUPLE && k < target->count; k++)
            bind_variable(r, target->list[k]);
        if (target->kind == ND_NAME)
            bind_variable(r, target);
    }
    if (!ordinary) {
        bind_index_names(r, n);
        bind_lone_names(r, n->a);
    }
    if (n->b)
        resolve(r, n->b);
    resolve(r, n->a);
    unbind(r, mark);
    r->hidden = hidden;
}

/* ---- long rows of operators ---- */

static void resolve_sofar(Resolver *r, Node *part, int32_t var)
{
    while (part->kind != ND_SOFAR)
        part = part->a;
    part->scope = SCOPE_LOCAL;
    set_slot(r, r->scope, &part->slot, var);
}

/* The value of each part but the last is a variable without a name, until the next takes it. */
static void resolve_long(Resolver *r, Node *n)
{
    uint32_t hidden = r->hidden;
    for (uint32_t i = 0; i < r->bound; i++)
        if (r->bindings[i].var == INDEX_NAME && r->bindings[i].scope == r->scope)
            fail(r, ERR_SYNTAX, n->mark, "name parts of it first",
                 "index notation of so many terms is not known");
    int32_t var = r->scope->node ? scope_add_anonymous(r, r->scope, &hidden_name)
                                 : (int32_t)globals_hidden(r->globals, r->hidden++);
    n->scope = SCOPE_LOCAL;
    set_slot(r, r->scope, &n->slot, var);
    for (uint32_t i = 0; i < n->count; i++) {
        if (i > 0)
            resolve_sofar(r, n->list[i], var);
        resolve(r, n->list[i]);
    }
    r->hidden = hidden;
}

/* ---- second pass ---- */

static void check_loop(Resolver *r, const Node *n)
{
    if (r->scope->loops == 0)
        fail(r, ERR_SYNTAX, n->span, NULL,
             n->kind == ND_BREAK ? "`break` outside a loop" : "`continue` outside a loop");
}

static void resolve_loop(Resolver *r, Node *n)
{
    if (n->kind == ND_FOR) {
        resolve(r, n->b);
        resolve_target(r, n->a);
    } else {
        resolve(r, n->a);
    }
    r->scope->loops++;
    resolve(r, n->kind == ND_FOR ? n->c : n->b);
    r->scope->loops--;
}

static void resolve_fn(Resolver *r, Node *n)
{
    resolve_name(r, n->b);
    n->scope = n->b->scope;
    if (n->scope == SCOPE_LOCAL)
        set_slot(r, r->scope, &n->slot, n->b->slot);
    else
        n->slot = n->b->slot;
    resolve_function(r, n);
}

static void resolve_call(Resolver *r, Node *n)
{
    resolve(r, n->a);
    for (uint32_t i = 0; i < n->count; i++)
        resolve(r, n->list[i]->kind == ND_SPREAD ? n->list[i]->a : n->list[i]);
}

static void resolve_import(Resolver *r, Node *n)
{
    for (uint32_t i = 0; i < n->count; i++)
        resolve_name(r, n->list[i]);
    if (n->b)
        resolve_name(r, n->b);
}

static bool is_rounding(const Node *n)
{
    return n->name && strcmp(n->name->text, "round") == 0;
}

static void resolve(Resolver *r, Node *n)
{
    switch (n->kind) {
    case ND_NAME: resolve_name(r, n); break;
    case ND_ASSIGN: resolve(r, n->b); resolve_target(r, n->a); break;
    case ND_OPASSIGN:
        resolve(r, n->b);
        resolve_updated(r, n->a);
        if (n->c)
            resolve_children(r, n->c);
        break;
    case ND_DEFINE: resolve_define(r, n); break;
    case ND_REDUCE: resolve_reduce(r, n); break;
    case ND_LONG: resolve_long(r, n); break;
    case ND_COMPREHENSION: resolve_comprehension(r, n); break;
    case ND_LAMBDA: resolve_function(r, n); break;
    case ND_FN: resolve_fn(r, n); break;
    case ND_FOR: case ND_WHILE: resolve_loop(r, n); break;
    case ND_CALL: resolve_call(r, n); break;
    case ND_EXTERN: read_extern(r, n); resolve_import(r, n); break;
    case ND_IMPORT: resolve_import(r, n); break;
    case ND_BREAK: case ND_CONTINUE: check_loop(r, n); break;
    case ND_SPREAD:
        fail(r, ERR_SYNTAX, n->span, "f(xs...) passes the elements of xs",
             "... after a value stands only in a call");
    case ND_RETURN:
        if (!r->scope->node)
            fail(r, ERR_SYNTAX, n->span, NULL, "`return` outside a function");
        resolve_children(r, n);
        break;
    case ND_TEST:
        if (r->scope->node)
            fail(r, ERR_SYNTAX, n->mark, NULL, "a test block stands outside of functions");
        resolve_copying(r, n, n->b);
        break;
    case ND_COMPARE_BLOCK:
        for (uint32_t i = 0; i < n->count; i++)
            resolve(r, n->list[i]);
        if (n->a)
            resolve(r, n->a);
        resolve_copying(r, n, n->b);
        break;
    case ND_MODIFIER:
        if (n->a && !is_rounding(n))
            resolve(r, n->a);
        break;
    default:
        resolve_children(r, n);
    }
}

static void resolve_children(Resolver *r, Node *n)
{
    if (n->a)
        resolve(r, n->a);
    if (n->b)
        resolve(r, n->b);
    if (n->c)
        resolve(r, n->c);
    for (uint32_t i = 0; i < n->count; i++)
        resolve(r, n->list[i]);
}

void resolve_chunk(Ctx *ctx, Names *names, Globals *globals, Chunk *chunk)
{
    Scope top = { 0 };
    Resolver r = { .ctx = ctx, .names = names, .globals = globals, .chunk = chunk, .scope = &top,
                   .hidden = globals->hidden_base };
    arena_init(&r.scratch, ctx);
    ErrFrame frame;
    if (!ERR_TRY(ctx, &frame)) {
        arena_free(&r.scratch);
        err_rethrow(ctx);
    }
    chunk->root->fn = arena_alloc(&chunk->arena, sizeof(FnInfo));
    resolve(&r, chunk->root);
    ERR_END(ctx, &frame);
    arena_free(&r.scratch);
}
