/* The preprocessor of extern blocks: directives, conditions, and macros of both kinds expanded as
 * C 6.10.3 says. It turns the text of a block into one list of tokens, which the declaration parser
 * reads. Included files are not read: their types are known, or declared by the block itself. */
#include "parser/cdecl/cdecl_parts.h"

#include <stdlib.h>
#include <string.h>

void cd_push(CParser *p, Toks *list, Tok t)
{
    if (list->count == list->cap) {
        list->cap = list->cap ? list->cap * 2 : 8;
        list->items = cd_grown(p, list->items, sizeof *list->items, list->count, list->cap);
    }
    list->items[list->count++] = t;
}

static bool is_punct(const Tok *t, uint32_t punct)
{
    return t->kind == TK_PUNCT && t->punct == punct;
}

static bool is_name(const Tok *t, const char *name)
{
    return t->kind == TK_NAME && strcmp(t->name->text, name) == 0;
}

static void push_stream(CParser *p, const Tok *toks, uint32_t count, Macro *macro)
{
    Stream *s = arena_alloc(&p->tmp, sizeof *s);
    *s = (Stream){ p->streams, toks, count, 0, macro };
    p->streams = s;
    if (macro)
        macro->busy = true;
}

static Tok next_raw(CParser *p)
{
    for (Stream *s; (s = p->streams); p->streams = s->up) {
        if (s->at < s->count)
            return s->toks[s->at++];
        if (s->macro)
            s->macro->busy = false;
    }
    if (p->closed)
        return (Tok){ .kind = TK_END };
    return cd_lex(p);
}

static void put_back(CParser *p, Tok t)
{
    Tok *one = arena_alloc(&p->tmp, sizeof *one);
    *one = t;
    push_stream(p, one, 1, NULL);
}

/* ---- expansion ---- */

typedef struct Args {
    Toks *raw, *full;            /* as written, and expanded (when first needed) */
    bool *expanded;
    uint32_t count;
} Args;

static void expand_next(CParser *p, Toks *out, Tok t);

/* These tokens and nothing after them. */
static Toks expand_apart(CParser *p, const Toks *in, Span at)
{
    Stream *streams = p->streams;
    bool closed = p->closed;
    Toks out = { 0 };
    cd_enter(p, at);
    p->streams = NULL;
    p->closed = true;
    push_stream(p, in->items, in->count, NULL);
    for (Tok t; (t = next_raw(p)).kind != TK_END;)
        expand_next(p, &out, t);
    p->streams = streams;
    p->closed = closed;
    cd_leave(p);
    return out;
}

Toks cd_expand(CParser *p, const Macro *m)
{
    Toks out = expand_apart(p, &m->body, m->at);
    cd_push(p, &out, (Tok){ .kind = TK_END, .at = m->at, .name = m->name });
    return out;
}

static int param_index(const Macro *m, const Tok *t)
{
    for (uint32_t i = 0; t->kind == TK_NAME && i < m->param_count; i++)
        if (m->params[i] == t->name)
            return (int)i;
    return -1;
}

/* The arguments between the parentheses; the opening one was read. */
static Args read_args(CParser *p, const Macro *m, Span at)
{
    uint32_t room = m->param_count ? m->param_count : 1;
    Args a = { arena_alloc(&p->tmp, room * sizeof(Toks)), arena_alloc(&p->tmp, room * sizeof(Toks)),
               arena_alloc(&p->tmp, room * sizeof(bool)), 1 };
    for (int depth = 0;;) {
        Tok t = next_raw(p);
        if (t.kind == TK_END)
            cd_error(p, at, NULL, "the arguments of the macro %s have no )", m->name->text);
        if (depth == 0 && is_punct(&t, ')'))
            break;
        bool rest = m->variadic && a.count == m->param_count;
        if (depth == 0 && is_punct(&t, ',') && !rest) {
            if (a.count++ == room)
                cd_error(p, t.at, NULL, "the macro %s takes %u argument%s, not more", m->name->text,
                         m->param_count, m->param_count == 1 ? "" : "s");
            continue;
        }
        depth += is_punct(&t, '(') - is_punct(&t, ')');
        t.line = false;
        cd_push(p, &a.raw[a.count - 1], t);
    }
    bool none = m->param_count == 0 && a.raw[0].count == 0;
    if (a.count < m->param_count - (m->variadic && m->param_count) ||
        (m->param_count == 0 && !none))
        cd_error(p, at, NULL, "the macro %s takes %u argument%s, not %u", m->name->text,
                 m->param_count, m->param_count == 1 ? "" : "s", a.count);
    return a;
}

static const Toks *full_arg(CParser *p, Args *a, int i, Span at)
{
    if (!a->expanded[i]) {
        a->full[i] = expand_apart(p, &a->raw[i], at);
        a->expanded[i] = true;
    }
    return &a->full[i];
}

static void count_expanded(CParser *p, uint32_t more, Span at)
{
    p->expanded += more;
    if (p->expanded > CD_EXPANDED)
        cd_error(p, at, NULL, "macros make more than a million tokens of this block");
}

static void append(CParser *p, Toks *out, const Toks *list, bool space)
{
    if (list->count)
        count_expanded(p, list->count, list->items[0].at);
    for (uint32_t i = 0; i < list->count; i++) {
        Tok t = list->items[i];
        if (i == 0)
            t.space = space;
        cd_push(p, out, t);
    }
}

/* #x: the argument's spelling as a string literal. */
static Tok stringize(CParser *p, const Toks *arg, Tok like)
{
    Buf *b = &p->piece;
    buf_clear(b);
    buf_putc(b, '"');
    for (uint32_t i = 0; i < arg->count; i++) {
        const Tok *t = &arg->items[i];
        if (i && t->space)
            buf_putc(b, ' ');
        for (uint32_t k = 0; k < t->name->len; k++) {
            char c = t->name->text[k];
            if ((t->kind == TK_TEXT || t->kind == TK_CHAR) && (c == '"' || c == '\\'))
                buf_putc(b, '\\');
            buf_putc(b, c);
        }
    }
    buf_putc(b, '"');
    count_expanded(p, (uint32_t)(b->len / 16), like.at);
    like.kind = TK_TEXT;
    like.name = names_intern(&p->scope->names, b->data, b->len);
    return like;
}

/* One token of a text of its own; `whole` says whether it is all of it. */
static Tok lex_alone(CParser *p, const Name *text, bool *whole)
{
    const char *was = p->text;
    uint32_t pos = p->pos, end = p->end;
    bool line = p->line;
    p->text = text->text;
    p->pos = 0;
    p->end = text->len;
    p->line = false;
    Tok t = cd_lex(p);
    *whole = p->pos == p->end && t.kind != TK_END;
    p->text = was;
    p->pos = pos;
    p->end = end;
    p->line = line;
    return t;
}

/* a##b: the last token so far and the first of `right` become one. */
static void paste(CParser *p, Toks *out, const Toks *right, Span at)
{
    if (right->count == 0)
        return;
    Tok *last = &out->items[out->count - 1];
    Buf *b = &p->piece;
    buf_clear(b);
    buf_put(b, last->name->text, last->name->len);
    buf_put(b, right->items[0].name->text, right->items[0].name->len);
    count_expanded(p, (uint32_t)(b->len / 16), at);
    bool whole = strncmp(buf_cstr(b), "/*", 2) != 0 && strncmp(buf_cstr(b), "//", 2) != 0;
    Tok t = { 0 };
    if (whole)
        t = lex_alone(p, names_intern(&p->scope->names, b->data, b->len), &whole);
    if (!whole)
        cd_error(p, at, NULL, "## makes %s here, which is no single token of C", buf_cstr(b));
    t.at = last->at;
    t.space = last->space;
    t.line = false;
    *last = t;
    for (uint32_t i = 1; i < right->count; i++)
        cd_push(p, out, right->items[i]);
}

/* The body of a macro as it becomes the text of one use. */
typedef struct Making {
    const Macro *macro;
    Args *args;
    Tok use;
    Toks out;
    bool hollow;                 /* what stands left of a ## is nothing */
} Making;

/* `## right`; after a comma, `## __VA_ARGS__` drops the comma where there are no arguments. */
static void join_right(CParser *p, Making *m, Tok right)
{
    right.at = m->use.at;
    int k = param_index(m->macro, &right);
    Toks list = k >= 0 ? m->args->raw[k] : (Toks){ &right, 1, 1 };
    bool rest = k >= 0 && m->macro->variadic && (uint32_t)k + 1 == m->macro->param_count;
    bool comma = rest && m->out.count && is_punct(&m->out.items[m->out.count - 1], ',');
    if (comma && list.count == 0)
        m->out.count--;
    else if (comma)
        append(p, &m->out, full_arg(p, m->args, k, m->use.at), right.space);
    else if (m->hollow)
        append(p, &m->out, &list, right.space);
    else
        paste(p, &m->out, &list, m->use.at);
    m->hollow = m->out.count == 0 || (m->hollow && list.count == 0);
}

static Toks substitute(CParser *p, const Macro *macro, Args *args, Tok use)
{
    Making m = { macro, args, use, { 0 }, true };
    const Toks *body = &macro->body;
    count_expanded(p, body->count + 1, use.at);
    for (uint32_t i = 0; i < body->count; i++) {
        Tok t = body->items[i];
        const Tok *next = i + 1 < body->count ? &body->items[i + 1] : NULL;
        t.at = use.at;
        t.space = i ? t.space : use.space;
        int k = param_index(macro, &t);
        int named = next && macro->function && is_punct(&t, '#') ? param_index(macro, next) : -1;
        if (next && i && is_punct(&t, P2('#', '#'))) {
            join_right(p, &m, body->items[++i]);
        } else if (k >= 0) {
            bool pasted = next && is_punct(next, P2('#', '#'));
            const Toks *list = pasted ? &args->raw[k] : full_arg(p, args, k, use.at);
            append(p, &m.out, list, t.space);
            m.hollow = list->count == 0;
        } else {
            cd_push(p, &m.out, named >= 0 ? stringize(p, &args->raw[named], t) : t);
            m.hollow = false;
            i += named >= 0;
        }
    }
    return m.out;
}

/* A token goes to `out`, or its expansion is what is read next. */
static void expand_next(CParser *p, Toks *out, Tok t)
{
    Macro *m = t.kind == TK_NAME && !t.plain ? cd_slot(p, t.name)->macro : NULL;
    if (!m || m->busy) {
        t.plain = t.plain || m;
        cd_push(p, out, t);
        return;
    }
    Args args = { 0 };
    if (m->function) {
        Tok open = next_raw(p);
        if (!is_punct(&open, '(')) {
            if (open.kind != TK_END)
                put_back(p, open);
            cd_push(p, out, t);
            return;
        }
        args = read_args(p, m, t.at);
    }
    Toks body = substitute(p, m, &args, t);
    push_stream(p, body.items, body.count, m);
}

/* ---- directives ---- */

/* The rest of the line. */
static Toks read_line(CParser *p)
{
    Toks line = { 0 };
    for (;;) {
        uint32_t pos = p->pos;
        Tok t = cd_lex(p);
        if (t.line) {
            p->pos = pos;
            p->line = false;
            return line;
        }
        cd_push(p, &line, t);
    }
}

static const Tok *line_name(CParser *p, const Toks *line, Span at, const char *directive)
{
    if (line->count == 0 || line->items[0].kind != TK_NAME)
        cd_error(p, line->count ? line->items[0].at : at, NULL, "#%s needs a name", directive);
    return &line->items[0];
}

static bool same_body(const Macro *a, const Macro *b)
{
    if (a->function != b->function || a->body.count != b->body.count ||
        a->param_count != b->param_count)
        return false;
    for (uint32_t i = 0; i < a->body.count; i++)
        if (a->body.items[i].name != b->body.items[i].name)
            return false;
    for (uint32_t i = 0; i < a->param_count; i++)
        if (a->params[i] != b->params[i])
            return false;
    return true;
}

/* The parameters of `#define NAME(a, b, ...)`; returns the index of the first token of the body. */
static uint32_t define_params(CParser *p, Macro *m, const Toks *line)
{
    uint32_t i = 2;
    m->function = true;
    m->params = arena_alloc(p->arena, line->count * sizeof *m->params);
    while (i < line->count && !is_punct(&line->items[i], ')')) {
        const Tok *t = &line->items[i++];
        bool rest = is_punct(t, P3('.', '.', '.'));
        if ((t->kind != TK_NAME && !rest) || m->variadic)
            cd_error(p, t->at, NULL,
                     "a parameter of the macro %s is a name, and ... is the last one",
                     m->name->text);
        m->variadic = rest;
        m->params[m->param_count++] = rest ? cd_name(p, "__VA_ARGS__") : t->name;
        if (!rest && i < line->count && is_punct(&line->items[i], P3('.', '.', '.')))
            m->variadic = true, i++;
        if (i < line->count && is_punct(&line->items[i], ','))
            i++;
        else
            break;
    }
    if (i >= line->count || !is_punct(&line->items[i], ')'))
        cd_error(p, line->items[i < line->count ? i : line->count - 1].at, NULL,
                 "the parameters of the macro %s have no )", m->name->text);
    return i + 1;
}

static void remember(CParser *p, const Macro *m)
{
    if (p->defined_count == p->defined_cap) {
        p->defined_cap = p->defined_cap ? p->defined_cap * 2 : 16;
        p->defined = cd_grown(p, p->defined, sizeof *p->defined, p->defined_count, p->defined_cap);
    }
    p->defined[p->defined_count++] = m;
}

static void define(CParser *p, Span at)
{
    Toks line = read_line(p);
    const Tok *name = line_name(p, &line, at, "define");
    Macro *m = arena_alloc(p->arena, sizeof *m);
    *m = (Macro){ .name = name->name, .at = name->at, .block = p->scope->block + 1 };
    uint32_t body = 1;
    if (line.count > 1 && is_punct(&line.items[1], '(') && !line.items[1].space)
        body = define_params(p, m, &line);
    m->body = (Toks){ arena_alloc(p->arena, (line.count - body + 1) * sizeof(Tok)),
                      line.count - body, 0 };
    memcpy(m->body.items, line.items + body, m->body.count * sizeof(Tok));
    if (m->body.count)
        m->body.items[0].space = false;
    const Macro *old = cd_slot(p, m->name)->macro;
    if (old && old->block == m->block && !same_body(old, m))
        cd_error(p, m->at, cd_say(p, "#undef %s before, or another name", m->name->text),
                 "%s was defined in this block with another meaning", m->name->text);
    cd_change(p, m->name)->macro = m;
    remember(p, m);
}

static Tok number_tok(CParser *p, const Tok *like, bool value)
{
    return (Tok){
        .kind = TK_NUMBER, .at = like->at, .name = cd_name(p, value ? "1" : "0"), .space = true
    };
}

/* `defined X`, `defined(X)` and `__has_include(…)` to 1 or 0, before macros are expanded. */
static Toks settle_defined(CParser *p, const Toks *line)
{
    Toks out = { 0 };
    for (uint32_t i = 0; i < line->count; i++) {
        const Tok *t = &line->items[i];
        if (is_name(t, "defined")) {
            bool open = i + 1 < line->count && is_punct(&line->items[i + 1], '(');
            uint32_t at = i + 1 + open;
            if (at >= line->count || line->items[at].kind != TK_NAME ||
                (open && (at + 1 >= line->count || !is_punct(&line->items[at + 1], ')'))))
                cd_error(p, t->at, "defined(NAME)", "defined asks about one name");
            cd_push(p, &out, number_tok(p, t, cd_slot(p, line->items[at].name)->macro));
            i = at + open;
        } else if (t->kind == TK_NAME && strncmp(t->name->text, "__has_", 6) == 0) {
            cd_push(p, &out, number_tok(p, t, false));
            for (int depth = 0;
                 i + 1 < line->count && (depth || is_punct(&line->items[i + 1], '(')); i++) {
                depth += is_punct(&line->items[i + 1], '(') - is_punct(&line->items[i + 1], ')');
                if (depth == 0) {
                    i++;
                    break;
                }
            }
        } else {
            cd_push(p, &out, *t);
        }
    }
    return out;
}

static bool condition(CParser *p, Span at)
{
    Toks line = read_line(p);
    if (line.count == 0)
        cd_error(p, at, NULL, "a condition is missing after this directive");
    Toks settled = settle_defined(p, &line), was = p->toks;
    uint32_t was_at = p->at;
    p->toks = expand_apart(p, &settled, at);
    cd_push(p, &p->toks,
            (Tok){ .kind = TK_END, .at = line.items[line.count - 1].at, .name = cd_name(p, "") });
    p->at = 0;
    p->condition = true;
    Val v = cd_expression(p);
    if (cd_peek(p)->kind != TK_END)
        cd_unexpected(p, "the end of the condition");
    if (v.kind != VL_INT)
        cd_error(p, v.at, NULL, "a condition is an integer");
    p->condition = false;
    p->toks = was;
    p->at = was_at;
    return v.i != 0;
}

static bool reading(const CParser *p)
{
    return !p->groups || p->groups->on;
}

static void begin_if(CParser *p, Span at, const char *word)
{
    Group *g = arena_alloc(&p->tmp, sizeof *g);
    *g = (Group){ .up = p->groups, .at = at };
    if (!reading(p)) {
        g->done = true;
    } else if (strcmp(word, "if") == 0) {
        g->on = g->done = condition(p, at);
    } else {
        Toks line = read_line(p);
        bool known = cd_slot(p, line_name(p, &line, at, word)->name)->macro;
        g->on = g->done = known == (strcmp(word, "ifdef") == 0);
    }
    p->groups = g;
}

static Group *inner_if(CParser *p, Span at, const char *word)
{
    if (!p->groups)
        cd_error(p, at, NULL, "#%s without an #if before it", word);
    if (p->groups->last && strcmp(word, "endif") != 0)
        cd_error(p, at, NULL, "#%s after #else", word);
    return p->groups;
}

/* pack(4), pack(push, 1), pack(pop), pack(): other pragmas say nothing about layout. */
static void pragma(CParser *p)
{
    Toks line = read_line(p);
    if (line.count < 3 || !is_name(&line.items[0], "pack") || !is_punct(&line.items[1], '('))
        return;
    uint8_t *now = &p->pack[p->packs];
    for (uint32_t i = 2; i < line.count; i++) {
        const Tok *t = &line.items[i];
        if (is_name(t, "push") && p->packs + 1 < (int)sizeof p->pack) {
            now[1] = now[0];
            now = &p->pack[++p->packs];
        } else if (is_name(t, "pop")) {
            now = &p->pack[p->packs -= p->packs > 0];
        } else if (t->kind == TK_NUMBER) {
            int n = atoi(t->name->text);
            if (n < 1 || n > 16 || (n & (n - 1)))
                cd_error(p, t->at, NULL, "#pragma pack takes 1, 2, 4, 8 or 16");
            *now = (uint8_t)n;
        } else if (is_punct(t, ')') && i == 2) {
            *now = 0;
        }
    }
}

static void report_error(CParser *p, Span at)
{
    Toks line = read_line(p);
    uint32_t from = line.count ? line.items[0].at.from : at.to;
    uint32_t to = line.count ? line.items[line.count - 1].at.to : at.to;
    cd_error(p, at, NULL, "#error %.*s", (int)(to - from > 200 ? 200 : to - from), p->text + from);
}

static void undefine(CParser *p, Span at)
{
    Toks line = read_line(p);
    cd_change(p, line_name(p, &line, at, "undef")->name)->macro = NULL;
}

static const char *const skipped[] = {
    "include", "include_next", "import", "line", "ident", "sccs", "warning", "assert", "unassert",
};

static void active_directive(CParser *p, const Tok *word)
{
    const char *w = word->name->text;
    if (word->kind == TK_NUMBER)                 /* `# 1 "file.h"`, as a preprocessor leaves it */
        return;
    if (strcmp(w, "define") == 0) {
        define(p, word->at);
        return;
    }
    if (strcmp(w, "undef") == 0) {
        undefine(p, word->at);
        return;
    }
    if (strcmp(w, "pragma") == 0) {
        pragma(p);
        return;
    }
    if (strcmp(w, "error") == 0)
        report_error(p, word->at);
    for (size_t i = 0; i < sizeof skipped / sizeof *skipped; i++)
        if (strcmp(w, skipped[i]) == 0) {
            if (i < 3 && !p->included)
                p->included_at = word->at;
            p->included |= i < 3;
            return;
        }
    static const char *const all[] = {
        "define", "undef", "include", "if",    "ifdef",  "ifndef",
        "elif",   "else",  "endif",   "error", "pragma",
    };
    const char *near = err_closest(w, all, sizeof all / sizeof *all);
    cd_error(p, word->at, near ? cd_say(p, "#%s", near) : NULL, "#%s is no directive of C", w);
}

static void directive(CParser *p)
{
    uint32_t pos = p->pos;
    Tok word = cd_lex(p);
    const char *w = word.kind == TK_NAME ? word.name->text : "";
    if (word.line) {                             /* # alone */
        p->pos = pos;
        p->line = false;
    } else if (strcmp(w, "if") == 0 || strcmp(w, "ifdef") == 0 || strcmp(w, "ifndef") == 0) {
        begin_if(p, word.at, w);
    } else if (strcmp(w, "elif") == 0) {
        Group *g = inner_if(p, word.at, w);
        g->on = !g->done && condition(p, word.at);
        g->done = g->done || g->on;
    } else if (strcmp(w, "else") == 0) {
        Group *g = inner_if(p, word.at, w);
        g->on = !g->done;
        g->done = g->last = true;
    } else if (strcmp(w, "endif") == 0) {
        p->groups = inner_if(p, word.at, w)->up;
    } else if (reading(p)) {
        active_directive(p, &word);
    }
    read_line(p);
}

void cd_preprocess(CParser *p)
{
    for (;;) {
        Tok t = next_raw(p);
        uint32_t from = p->toks.count;
        if (t.kind == TK_END) {
            if (p->groups)
                cd_error(p, p->groups->at, "end it with #endif", "this condition has no #endif");
            cd_push(p, &p->toks, t);
            return;
        }
        if (t.line && is_punct(&t, '#'))
            directive(p);
        else if (reading(p))
            expand_next(p, &p->toks, t);
        for (uint32_t i = from; i < p->toks.count; i++)
            p->toks.items[i].pack = p->pack[p->packs];
    }
}

/* ---- what every header may count on ---- */

#define TEXT_OF(x) #x
#define TEXT(x) TEXT_OF(x)
#define SAME(name) "#define " #name " " TEXT(name) "\n"

const char cd_predefined[] =
    "#define __STDC__ 1\n#define __STDC_HOSTED__ 1\n#define __STDC_VERSION__ 201112L\n"
    "#define NULL ((void *)0)\n#define EOF (-1)\n#define BUFSIZ 8192\n"
#ifdef __x86_64__
    "#define __x86_64__ 1\n#define __x86_64 1\n#define __amd64__ 1\n"
#endif
#ifdef __aarch64__
    "#define __aarch64__ 1\n"
#endif
#ifdef __LP64__
    "#define __LP64__ 1\n#define _LP64 1\n"
#endif
#ifdef __linux__
    "#define __linux__ 1\n#define __linux 1\n#define __unix__ 1\n#define __unix 1\n"
#endif
#ifdef __APPLE__
    "#define __APPLE__ 1\n"
#endif
    SAME(__CHAR_BIT__) SAME(__SIZEOF_SHORT__) SAME(__SIZEOF_INT__) SAME(__SIZEOF_LONG__)
    SAME(__SIZEOF_POINTER__) SAME(__SIZEOF_LONG_LONG__) SAME(__SIZEOF_SIZE_T__)
    SAME(__BYTE_ORDER__) SAME(__ORDER_LITTLE_ENDIAN__) SAME(__ORDER_BIG_ENDIAN__)
    "#define CHAR_BIT 8\n#define SCHAR_MIN (-128)\n#define SCHAR_MAX 127\n#define UCHAR_MAX 255\n"
    "#define SHRT_MIN (-32768)\n#define SHRT_MAX 32767\n#define USHRT_MAX 65535\n"
    "#define INT_MAX 2147483647\n#define INT_MIN (-INT_MAX - 1)\n#define UINT_MAX 4294967295U\n"
    "#define LONG_MAX " TEXT(__LONG_MAX__) "\n#define LONG_MIN (-LONG_MAX - 1L)\n"
    "#define ULONG_MAX (LONG_MAX * 2UL + 1)\n#define LLONG_MAX 9223372036854775807LL\n"
    "#define LLONG_MIN (-LLONG_MAX - 1LL)\n#define ULLONG_MAX 18446744073709551615ULL\n"
    "#define SIZE_MAX ((size_t)-1)\n#define INT8_MAX 127\n#define INT16_MAX 32767\n"
    "#define INT32_MAX 2147483647\n#define INT64_MAX 9223372036854775807L\n"
    "#define UINT8_MAX 255\n#define UINT16_MAX 65535\n#define UINT32_MAX 4294967295U\n"
    "#define UINT64_MAX 18446744073709551615UL\n#define PATH_MAX 4096\n"
    /* <sys/cdefs.h> of the GNU C library, which prototypes are pasted with */
    "#define __BEGIN_DECLS\n#define __END_DECLS\n#define __THROW\n#define __THROWNL\n"
    "#define __wur\n#define __NTH(f) f\n#define __nonnull(p)\n#define __P(p) p\n"
    "#define __attribute_malloc__\n#define __attribute_pure__\n#define __attribute_const__\n"
    "#define __attribute_deprecated__\n#define __attribute_warn_unused_result__\n"
    "#define __attr_access(x)\n#define __attr_dealloc(f, n)\n#define __attr_dealloc_free\n"
    "#define __attribute_alloc_size__(p)\n#define __returns_nonnull\n";
