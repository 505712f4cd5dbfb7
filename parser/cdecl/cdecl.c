/* C declarations of extern blocks: the scope, one parse from text to a list of what was declared,
 * and errors with their place. A parse writes into a block of its own and keeps a journal of what
 * it changed in the scope, so that an error leaves nothing behind. */
#include "parser/cdecl/cdecl_parts.h"

#include "core/system/c_locale.h"
#include "core/base/mem.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- errors ---- */

static const char *say_args(CParser *p, const char *fmt, va_list args)
{
    va_list again;
    va_copy(again, args);
    int n = c_vsnprintf(NULL, 0, fmt, again);
    va_end(again);
    char *text = arena_alloc(&p->tmp, (size_t)n + 1);
    c_vsnprintf(text, (size_t)n + 1, fmt, args);
    return text;
}

const char *cd_say(CParser *p, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    const char *text = say_args(p, fmt, args);
    va_end(args);
    return text;
}

void cd_error(CParser *p, Span at, const char *help, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    const char *text = say_args(p, fmt, args);
    va_end(args);
    uint32_t shown = p->only_one ? p->end > 100 ? 100 : p->end : 0;
    Error *e = err_new(p->ctx, p->source ? ERR_SYNTAX : ERR_FFI, "%.*s%s%s", (int)shown, p->text,
                       shown ? ": " : "", text);
    if (help)
        err_help(e, "%s", help);
    if (p->source)
        err_at(e, p->source, at);
    err_throw(e);
}

const char *cd_type_text(CParser *p, const CType *t)
{
    buf_clear(&p->piece);
    ctype_text(&p->piece, t);
    return arena_copy(&p->tmp, buf_cstr(&p->piece), p->piece.len);
}

void cd_enter(CParser *p, Span at)
{
    if (++p->depth > CD_DEPTH)
        cd_error(p, at, NULL, "brackets and declarations inside each other more than %d deep",
                 CD_DEPTH);
}

/* ---- the scope and its journal ---- */

static void slots_reach(CParser *p, uint32_t id)
{
    CScope *s = p->scope;
    if (id < s->slot_count)
        return;
    size_t count = s->slot_count ? s->slot_count : 256;
    while (count <= id)
        count *= 2;
    s->slots =
        mem_realloc(s->ctx, s->slots, s->slot_count * sizeof *s->slots, count * sizeof *s->slots);
    memset(s->slots + s->slot_count, 0, (count - s->slot_count) * sizeof *s->slots);
    s->slot_count = count;
}

Slot *cd_slot(CParser *p, const Name *name)
{
    slots_reach(p, name->id);
    return &p->scope->slots[name->id];
}

Slot *cd_change(CParser *p, const Name *name)
{
    Slot *slot = cd_slot(p, name);
    Change *c = arena_alloc(&p->tmp, sizeof *c);
    *c = (Change){ .next = p->changes, .old = *slot, .id = name->id };
    p->changes = c;
    return &p->scope->slots[name->id];
}

void cd_change_record(CParser *p, CRecord *r)
{
    Change *c = arena_alloc(&p->tmp, sizeof *c);
    *c = (Change){ .next = p->changes, .record = r, .before = *r };
    p->changes = c;
}

/* The names alone, or records too. */
static void take_back(CParser *p, bool records)
{
    for (const Change *c = p->changes; c; c = c->next) {
        if (c->record && records)
            *c->record = c->before;
        else if (!c->record)
            p->scope->slots[c->id] = c->old;
    }
}

const Name *cd_name(CParser *p, const char *text)
{
    return names_intern(&p->scope->names, text, strlen(text));
}

/* ---- reading tokens ---- */

bool cd_word(const CParser *p, const char *word)
{
    return cd_peek(p)->kind == TK_NAME && strcmp(cd_peek(p)->name->text, word) == 0;
}

bool cd_take_word(CParser *p, const char *word)
{
    bool is = cd_word(p, word);
    p->at += is;
    return is;
}

/* Nothing was found: where it would have stood, right after the last token. */
static Span after_last(const CParser *p)
{
    return p->at > 0 ? p->toks.items[p->at - 1].at : cd_peek(p)->at;
}

void cd_unexpected(CParser *p, const char *wanted)
{
    const Tok *t = cd_peek(p);
    char c = t->kind == TK_END ? '\0' : *t->name->text;
    if (t->kind == TK_END)
        cd_error(p, after_last(p), NULL, "expected %s, found the end of %s", wanted,
                 p->condition ? "the condition" : p->source ? "the block" : "the text");
    if (t->kind == TK_BAD && (c == '"' || c == '\''))
        cd_error(p, t->at, cd_say(p, "close it with another %c on its line", c),
                 "this quote is never closed");
    if (t->kind == TK_BAD)
        cd_error(p, t->at, NULL, "C has no such character");
    cd_error(p, t->at, NULL, "expected %s, found `%s`", wanted, t->name->text);
}

Span cd_expect(CParser *p, uint32_t punct, const char *where)
{
    if (!cd_is(p, punct) && punct == ';' && cd_peek(p)->kind != TK_BAD)
        cd_error(p, after_last(p), NULL, "expected a ; %s", where);
    if (!cd_is(p, punct))
        cd_unexpected(p, cd_say(p, "a %c %s", (char)punct, where));
    return cd_next(p)->at;
}

void cd_skip_brackets(CParser *p)
{
    const Tok *first = cd_peek(p);
    int depth = 0;
    do {
        const Tok *t = cd_next(p);
        if (t->kind == TK_END)
            cd_error(p, first->at, NULL, "this %s is never closed", first->name->text);
        if (t->kind == TK_PUNCT && t->punct < 128 && t->punct && strchr("([{", (int)t->punct))
            depth++;
        if (t->kind == TK_PUNCT && t->punct < 128 && t->punct && strchr(")]}", (int)t->punct))
            depth--;
    } while (depth > 0);
}

/* ---- what is declared ---- */

void *cd_grown(CParser *p, const void *old, size_t item, uint32_t count, uint32_t cap)
{
    void *more = arena_alloc(&p->tmp, cap * item);
    if (count)
        memcpy(more, old, count * item);
    return more;
}

static CDecl *cd_declare(CParser *p, CDeclKind kind, const Name *name, Span at, const CType *type)
{
    if (p->decl_count == p->decl_cap) {
        p->decl_cap = p->decl_cap ? p->decl_cap * 2 : 16;
        p->decls = cd_grown(p, p->decls, sizeof *p->decls, p->decl_count, p->decl_cap);
    }
    CDecl *d = &p->decls[p->decl_count++];
    *d = (CDecl){ .kind = kind, .name = name->text, .symbol = name->text, .at = at, .type = type };
    return d;
}

static uint32_t this_block(const CParser *p) { return p->scope->block + 1; }

/* The meaning that this block gave the name, or NULL. */
static Symbol *declared_here(CParser *p, const Name *name)
{
    Symbol *s = cd_slot(p, name)->symbol;
    return s && s->block == this_block(p) ? s : NULL;
}

static Symbol *put_symbol(CParser *p, const Name *name, SymbolKind kind, const CType *type)
{
    Symbol *s = arena_alloc(p->arena, sizeof *s);
    *s = (Symbol){ .kind = kind, .type = type, .block = this_block(p), .symbol = name->text };
    cd_change(p, name)->symbol = s;
    return s;
}

static _Noreturn void declared_otherwise(CParser *p, const Name *name, Span at, const Symbol *old)
{
    if (old->kind == SY_OBJECT)
        cd_error(p, at, NULL, "%s was declared in this block as %s", name->text,
                 cd_type_text(p, old->type));
    if (old->kind == SY_TYPE)
        cd_error(p, at, NULL, "%s was declared in this block as another type, %s", name->text,
                 cd_type_text(p, old->under));
    cd_error(p, at, NULL, "%s was declared in this block with another value", name->text);
}

void cd_declare_constant(CParser *p, const Tok *name, const CType *type, CConst value)
{
    const Symbol *old = declared_here(p, name->name);
    if (old && (old->kind != SY_CONSTANT || old->value.kind != value.kind ||
                old->value.i != value.i || old->value.f != value.f))
        declared_otherwise(p, name->name, name->at, old);
    if (old)
        return;
    put_symbol(p, name->name, SY_CONSTANT, type)->value = value;
    cd_declare(p, CD_CONSTANT, name->name, name->at, NULL)->value = value;
}

static void declare_typedef(CParser *p, const Declarator *d, const CType *type)
{
    const Symbol *old = declared_here(p, d->name);
    if (old && (old->kind != SY_TYPE || !ctype_same(old->type, type)))
        declared_otherwise(p, d->name, d->at, old);
    if (old)
        return;
    if (ctype_is_record(type) && !type->record->tag) {
        cd_change_record(p, type->record);
        type->record->tag = d->name->text;
    }
    CType *copy = cd_type_copy(p, type);
    copy->name = d->name->text;
    put_symbol(p, d->name, SY_TYPE, copy)->under = type;
    cd_declare(p, CD_TYPE, d->name, d->at, copy);
}

static bool names_params(const CType *t)
{
    for (uint32_t i = 0; i < t->param_count; i++)
        if (t->params[i].name)
            return true;
    return false;
}

static void declare_object(CParser *p, const Declarator *d, const CType *type)
{
    Symbol *old = declared_here(p, d->name);
    if (old && (old->kind != SY_OBJECT || !ctype_same(old->type, type)))
        declared_otherwise(p, d->name, d->at, old);
    const char *symbol = d->attributes.symbol ? d->attributes.symbol : d->name->text;
    if (old) {
        CDecl *decl = &p->decls[old->decl];
        if (!type->unprototyped && (decl->type->unprototyped || names_params(type)))
            old->type = decl->type = type;
        if (d->attributes.symbol)
            old->symbol = decl->symbol = symbol;
        return;
    }
    if (type->kind == CK_VOID)
        cd_error(p, d->at, cd_say(p, "void *%s;", d->name->text), "a variable is not void");
    Symbol *s = put_symbol(p, d->name, SY_OBJECT, type);
    s->symbol = symbol;
    s->decl = p->decl_count;
    cd_declare(p, type->kind == CK_FUNCTION ? CD_FUNCTION : CD_VARIABLE, d->name, d->at, type)
        ->symbol = symbol;
}

/* ---- declarations ---- */

void cd_static_assert(CParser *p)
{
    cd_next(p);
    cd_expect(p, '(', "after _Static_assert");
    Val v = cd_expression(p);
    const char *text = "_Static_assert is false";
    if (cd_accept(p, ',')) {
        Val message = cd_expression(p);
        if (message.kind == VL_TEXT)
            text = cd_say(p, "_Static_assert: %s", message.text);
    }
    cd_expect(p, ')', "after the assertion");
    if (v.kind == VL_INT && v.i == 0)
        cd_error(p, v.at, NULL, "%s", text);
}

/* A body makes a function that no library has, unless an inline one stands there too. */
static void skip_body(CParser *p, const Specifiers *s, const Declarator *d)
{
    if (!s->is_inline && !s->is_static)
        cd_error(p, d->at, "a ; in place of { and the body",
                 "extern declares what a library has: it compiles no body of %s", d->name->text);
    cd_skip_brackets(p);
}

/* Up to the , or ; that ends it. */
static void skip_initializer(CParser *p)
{
    while (!cd_is(p, ',') && !cd_is(p, ';')) {
        if (cd_peek(p)->kind == TK_END)
            cd_unexpected(p, "a ; after this value");
        if (cd_peek(p)->kind == TK_BAD)
            cd_unexpected(p, "a value");
        if (cd_is(p, '(') || cd_is(p, '[') || cd_is(p, '{'))
            cd_skip_brackets(p);
        else
            cd_next(p);
    }
}

static bool constant_here(CParser *p, const Macro *, Val *out);

/* `static const int n = 5;` is a constant; other static variables are in no library. */
static void static_variable(CParser *p, const Declarator *d, const CType *type)
{
    Val v;
    if (!type->is_const || !constant_here(p, NULL, &v) || v.kind == VL_PARAM)
        return;
    if (ctype_is_integer(type) && v.kind == VL_INT)
        cd_declare_constant(p, &(Tok){ .name = d->name, .at = d->at }, type, cd_constant(&v));
    else if (type->kind == CK_FLOAT && (v.kind == VL_FLOAT || v.kind == VL_INT))
        cd_declare_constant(
            p, &(Tok){ .name = d->name, .at = d->at }, type,
            (CConst){ .kind = CC_FLOAT, .f = v.kind == VL_INT ? (double)v.i : v.f });
}

/* One declarator with what follows it; true if a body ended the declaration. */
static bool one_declarator(CParser *p, const Specifiers *s)
{
    Declarator d;
    cd_declarator(p, s->type, NAMED, false, &d);
    const CType *type =
        cd_with_attributes(p, cd_with_attributes(p, d.type, &s->attributes), &d.attributes);
    if (s->is_typedef) {
        declare_typedef(p, &d, type);
        return false;
    }
    bool body = type->kind == CK_FUNCTION && cd_is(p, '{');
    if (body)
        skip_body(p, s, &d);
    if (!s->is_static)
        declare_object(p, &d, type);
    if (!body && cd_accept(p, '=')) {
        uint32_t at = p->at;
        if (s->is_static)
            static_variable(p, &d, type);
        p->at = at;
        skip_initializer(p);
    }
    return body;
}

static bool is_capitals(const Name *n)
{
    bool letter = false;
    for (uint32_t i = 0; i < n->len; i++) {
        letter |= n->text[i] >= 'A' && n->text[i] <= 'Z';
        if (n->text[i] >= 'a' && n->text[i] <= 'z')
            return false;
    }
    return letter;
}

/* The declaration as it was written, with its ; where it stands on one line. */
static const char *with_semicolon(CParser *p, Span first, Span last)
{
    size_t len = last.to > first.from ? last.to - first.from : 0;
    const char *from = p->text + first.from;
    if (len == 0 || len > 100 || last.to > p->end || memchr(from, '\n', len))
        return NULL;
    return cd_say(p, "%.*s;", (int)len, from);
}

/* What follows a declarator may be a macro of a header that was not pasted. */
static _Noreturn void no_semicolon(CParser *p, Span first)
{
    Span last = after_last(p);
    const Tok *t = cd_peek(p), *before = p->at > 0 ? t - 1 : t;
    const Tok *after = cd_ahead(p, 1);
    if (t->kind == TK_END || cd_type_starts(p, t) || (t->line && t->kind != TK_NAME))
        cd_error(p, last, with_semicolon(p, first, last), "expected a ; after this declaration");
    if (t->kind != TK_NAME || (before->kind == TK_NAME && !t->line && !is_capitals(before->name) &&
                               !is_capitals(t->name)))
        cd_unexpected(p, "a , or ; after this declaration");
    const Tok *macro = before->kind == TK_NAME && !t->line && !is_capitals(t->name) ? before : t;
    const char *name = macro->name->text;
    bool args = macro == t && after->kind == TK_PUNCT && after->punct == '(';
    bool list = args && cd_ahead(p, 2)->kind == TK_PUNCT && cd_ahead(p, 2)->punct == '(';
    const char *rest = list ? "(args) args" : args ? "(x)" : "";
    const char *help = cd_say(p, "if %s is a macro that means nothing here: #define %s%s", name,
                              name, rest);
    if (macro == before)
        cd_error(p, macro->at, help,
                 "%s stands where the name of the declaration does, but %s follows it", name,
                 t->name->text);
    cd_error(p, macro->at, help, "expected a , or ;, found `%s`", name);
}

static void declaration(CParser *p)
{
    Specifiers s;
    Span first = cd_peek(p)->at;
    cd_specifiers(p, &s);
    if (cd_accept(p, ';')) {
        bool tagless =
            ctype_is_record(s.type) && !s.type->record->tag;
        if (!s.defines || (s.is_typedef && tagless))
            cd_error(p, after_last(p), NULL, "expected a name: this declares nothing");
        return;
    }
    do {
        if (one_declarator(p, &s))
            return;
    } while (cd_accept(p, ','));
    if (!cd_accept(p, ';'))
        no_semicolon(p, first);
}

static void external_declaration(CParser *p)
{
    const Tok *t = cd_ahead(p, 1);
    if (cd_accept(p, ';'))
        return;
    if (cd_word(p, "extern") && t->kind == TK_TEXT) {
        p->at += 2;
        p->braces += cd_accept(p, '{');
    } else if (cd_is(p, '}') && p->braces == 0) {
        cd_error(p, cd_peek(p)->at, NULL, "this } closes nothing");
    } else if (cd_is(p, '}')) {
        p->braces--;
        cd_next(p);
    } else if (cd_word(p, "_Static_assert") || cd_word(p, "static_assert")) {
        cd_static_assert(p);
    } else if (cd_word(p, "__extension__")) {
        cd_next(p);
    } else {
        declaration(p);
    }
}

static void declarations(CParser *p)
{
    while (cd_peek(p)->kind != TK_END)
        external_declaration(p);
    if (p->braces)
        cd_unexpected(p, "a } to close extern \"C\"");
}

/* ---- the constants of #define ---- */

/* After an error inside: what was being expanded is dropped. */
static void stop_expanding(CParser *p)
{
    p->streams = NULL;
    p->closed = false;
    for (size_t i = 0; i < p->scope->slot_count; i++)
        if (p->scope->slots[i].macro)
            p->scope->slots[i].macro->busy = false;
}

/* The value of a macro's body, or (NULL) of the tokens that come next. False, and nothing raised,
 * where they are no constant: a macro that nobody uses may be anything. */
static bool constant_here(CParser *p, const Macro *m, Val *out)
{
    ErrFrame frame;
    int depth = p->depth, idle = p->idle;
    ParamList *params = p->params;
    p->quiet = true;
    if (ERR_TRY(p->ctx, &frame)) {
        if (m)
            p->toks = cd_expand(p, m);
        *out = cd_expression(p);
        ERR_END(p->ctx, &frame);
        p->quiet = false;
        return true;
    }
    ErrKind kind = p->ctx->error->kind;
    if (kind == ERR_MEMORY || kind == ERR_INTERRUPT)
        err_rethrow(p->ctx);
    err_free(p->ctx->error);
    p->ctx->error = NULL;
    p->depth = depth;
    p->idle = idle;
    p->params = params;
    p->quiet = false;
    stop_expanding(p);
    return false;
}

static bool is_ours(CParser *p, const Macro *m)
{
    const Slot *slot = cd_slot(p, m->name);
    return slot->macro == m && !m->function && m->body.count && !declared_here(p, m->name);
}

/* Another name for a function or variable of this block. */
static void declare_alias(CParser *p, const Macro *m)
{
    const Tok *t = cd_peek(p);
    const Symbol *s = t->kind == TK_NAME && t->name != m->name ? declared_here(p, t->name) : NULL;
    if (!s || s->kind != SY_OBJECT || cd_ahead(p, 1)->kind != TK_END)
        return;
    CDeclKind kind = s->type->kind == CK_FUNCTION ? CD_FUNCTION : CD_VARIABLE;
    cd_declare(p, kind, m->name, m->at, s->type)->symbol = s->symbol;
}

/* One that is written as a number has to be one, unless it is a version: 2.1.5. */
static bool must_be_number(const Macro *m)
{
    const Tok *t = &m->body.items[0];
    const char *dot = strchr(t->name->text, '.');
    return m->body.count == 1 && t->kind == TK_NUMBER && m->name->text[0] != '_' &&
           !(dot && strchr(dot + 1, '.'));
}

static void declare_macro(CParser *p, const Macro *m)
{
    Val v;
    p->toks = m->body;
    p->at = 0;
    if (must_be_number(m)) {
        p->toks = (Toks){ 0 };
        cd_push(p, &p->toks, m->body.items[0]);
        cd_push(p, &p->toks, (Tok){ .kind = TK_END, .name = m->name });
        v = cd_expression(p);
    } else if (!constant_here(p, m, &v)) {
        p->at = 0;
        declare_alias(p, m);
        return;
    }
    if (cd_peek(p)->kind == TK_END && v.kind != VL_PARAM)
        cd_declare(p, CD_CONSTANT, m->name, m->at, NULL)->value = cd_constant(&v);
}

static void declare_macros(CParser *p)
{
    for (uint32_t i = 0; i < p->defined_count; i++)
        if (is_ours(p, p->defined[i]))
            declare_macro(p, p->defined[i]);
}

static int by_name(const void *a, const void *b)
{
    const TagDecl *x = *(TagDecl *const *)a, *y = *(TagDecl *const *)b;
    return x->name != y->name ? x->name < y->name ? -1 : 1
                              : (x->at.from > y->at.from) - (x->at.from < y->at.from);
}

/* Tags are names of the program where nothing else is called so; a tag once. */
static void declare_tags(CParser *p)
{
    size_t count = 0;
    for (const TagDecl *d = p->tags; d; d = d->next)
        count++;
    TagDecl **all = arena_alloc(&p->tmp, (count + 1) * sizeof *all);
    count = 0;
    for (TagDecl *d = p->tags; d; d = d->next)
        all[count++] = d;
    qsort(all, count, sizeof *all, by_name);
    for (size_t i = 0; i < count; i++) {
        const Slot *slot = cd_slot(p, all[i]->name);
        if (slot->symbol || !slot->tag || (i > 0 && all[i - 1]->name == all[i]->name))
            continue;
        cd_declare(p, CD_TYPE, all[i]->name, all[i]->at, slot->tag->type);
    }
}

/* ---- one parse ---- */

/* In the order of the text; what one macro made, in the order in which it made it. */
static int by_place(const void *a, const void *b)
{
    const CDecl *x = *(CDecl *const *)a, *y = *(CDecl *const *)b;
    if (x->at.from != y->at.from)
        return x->at.from < y->at.from ? -1 : 1;
    return (x > y) - (x < y);
}

static CUnit *make_unit(CParser *p)
{
    CUnit *u = arena_alloc(p->arena, sizeof *u);
    const CDecl **order = arena_alloc(&p->tmp, (p->decl_count + 1) * sizeof *order);
    u->count = p->decl_count;
    u->decls = arena_alloc(p->arena, (u->count + 1) * sizeof *u->decls);
    for (uint32_t i = 0; i < u->count; i++)
        order[i] = &p->decls[i];
    qsort(order, u->count, sizeof *order, by_place);
    for (uint32_t i = 0; i < u->count; i++)
        u->decls[i] = *order[i];
    return u;
}

static CParser *parser_new(CScope *scope, Source *source, const char *text, uint32_t from,
                           uint32_t to)
{
    CParser *p = mem_zalloc(scope->ctx, sizeof *p);
    Block *block = mem_try_alloc(scope->ctx, sizeof *block);
    if (!block) {
        mem_free(scope->ctx, p, sizeof *p);
        mem_raise(scope->ctx, sizeof *block);
    }
    *block = (Block){ 0 };
    *p = (CParser){ .scope = scope,
                    .ctx = scope->ctx,
                    .source = source,
                    .text = text,
                    .pos = from,
                    .end = to,
                    .line = true,
                    .block = block,
                    .arena = &block->arena };
    arena_init(&block->arena, scope->ctx);
    arena_init(&p->tmp, scope->ctx);
    buf_init(&p->piece, scope->ctx);
    return p;
}

static void parser_free(CParser *p)
{
    arena_free(&p->tmp);
    buf_free(&p->piece);
    mem_free(p->ctx, p, sizeof *p);
}

static void block_free(Ctx *ctx, Block *b)
{
    arena_free(&b->arena);
    mem_free(ctx, b, sizeof *b);
}

/* Nothing of this parse happened. */
static void parser_undo(CParser *p)
{
    stop_expanding(p);
    take_back(p, true);
    block_free(p->ctx, p->block);
    parser_free(p);
}

static void keep_block(CParser *p)
{
    p->block->next = p->scope->blocks;
    p->scope->blocks = p->block;
}

static void check_one(CParser *p, const CUnit *u)
{
    if (u->count != 1)
        cd_error(p, (Span){ 0 }, NULL, "expected one declaration, found %u", u->count);
}

static CUnit *parse_unit(CParser *p)
{
    ErrFrame frame;
    if (!ERR_TRY(p->ctx, &frame)) {
        Ctx *ctx = p->ctx;
        parser_undo(p);
        err_rethrow(ctx);
    }
    cd_preprocess(p);
    declarations(p);
    declare_macros(p);
    declare_tags(p);
    CUnit *unit = make_unit(p);
    if (p->only_one)
        check_one(p, unit);
    if (p->included && unit->count == 0 && p->source)
        cd_error(p, p->included_at, "paste the declarations that you need: int abs(int);",
                 "an extern block reads no headers, and this one declares nothing");
    ERR_END(p->ctx, &frame);
    p->scope->included |= p->included;
    keep_block(p);
    p->scope->block++;
    parser_free(p);
    return unit;
}

CUnit *cdecl_parse(CScope *scope, Source *source, Span span)
{
    return parse_unit(parser_new(scope, source, source->text, span.from, span.to));
}

const CDecl *cdecl_one(CScope *scope, const char *text, size_t len)
{
    if (len > UINT32_MAX / 2)
        err_raise(scope->ctx, ERR_FFI, "a declaration of %zu bytes", len);
    CParser *p = parser_new(scope, NULL, text, 0, (uint32_t)len);
    p->only_one = true;
    return &parse_unit(p)->decls[0];
}

static const CType *parse_type(CParser *p)
{
    ErrFrame frame;
    if (!ERR_TRY(p->ctx, &frame)) {
        Ctx *ctx = p->ctx;
        parser_undo(p);
        err_rethrow(ctx);
    }
    cd_preprocess(p);
    p->only_type = true;
    const CType *t = cd_type_name(p);
    if (cd_peek(p)->kind != TK_END)
        cd_unexpected(p, "the end of the type");
    take_back(p, false);                         /* an enum inside it had enumerators */
    ERR_END(p->ctx, &frame);
    keep_block(p);
    parser_free(p);
    return t;
}

/* Texts that were asked for before are known, so a loop does not fill the scope. */
const CType *cdecl_type(CScope *scope, const char *text, size_t len)
{
    if (len > 10000)
        err_raise(scope->ctx, ERR_FFI, "a type of %zu bytes", len);
    const Name *name = names_intern(&scope->names, text, len);
    const Slot *slot = name->id < scope->slot_count ? &scope->slots[name->id] : NULL;
    if (slot && slot->parsed && slot->parsed_block == scope->block)
        return slot->parsed;
    CParser *p = parser_new(scope, NULL, name->text, 0, name->len);
    const CType *t = parse_type(p);
    if (name->id < scope->slot_count) {
        scope->slots[name->id].parsed = t;
        scope->slots[name->id].parsed_block = scope->block;
    }
    return t;
}

CScope *cscope_new(Ctx *ctx)
{
    CScope *scope = mem_zalloc(ctx, sizeof *scope);
    scope->ctx = ctx;
    names_init(&scope->names, ctx);
    ErrFrame frame;
    if (!ERR_TRY(ctx, &frame)) {
        cscope_free(scope);
        err_rethrow(ctx);
    }
    scope->block--;
    parse_unit(parser_new(scope, NULL, cd_predefined, 0, (uint32_t)strlen(cd_predefined)));
    ERR_END(ctx, &frame);
    return scope;
}

bool cscope_included(const CScope *scope)
{
    return scope && scope->included;
}

void cscope_free(CScope *scope)
{
    if (!scope)
        return;
    Ctx *ctx = scope->ctx;
    for (Block *b = scope->blocks, *next; b; b = next) {
        next = b->next;
        block_free(ctx, b);
    }
    names_free(&scope->names);
    if (scope->slots)
        mem_free(ctx, scope->slots, scope->slot_count * sizeof *scope->slots);
    mem_free(ctx, scope, sizeof *scope);
}
