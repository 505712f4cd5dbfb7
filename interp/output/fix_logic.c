/* `and`, `or` and `not` of masks, rewritten with & | !, which work on every element. */
#include "interp/output/fix_text.h"
#include "interp/state/frames.h"
#include "parser/parse.h"

#include <stdio.h>
#include <string.h>

static bool is_logic(const Node *n)
{
    return n->kind == ND_AND || n->kind == ND_OR || n->kind == ND_NOT;
}

static bool is_condition(const Node *parent, const Node *n)
{
    bool first = parent->kind == ND_IF || parent->kind == ND_WHILE || parent->kind == ND_ASSERT;
    bool later = parent->kind == ND_IF && n->kind != ND_BLOCK && n != parent->a;
    bool filter = parent->kind == ND_COMPREHENSION && parent->b == n;
    return (first && parent->a == n) || later || filter;
}

/* The whole expression of `and`, `or` and `not` that n is an operand of; NULL: it is none. */
typedef struct Logic {
    const Node *n, *whole;
    bool condition;                 /* of an if, a while, an assert, a comprehension */
} Logic;

static bool logic_find(Logic *l, const Node *n, const Node *parent)
{
    bool inner = parent && is_logic(parent);
    if (!n || n->span.from > l->n->span.from || n->span.to < l->n->span.to)
        return false;
    if (n == l->n)
        return true;
    if (!is_logic(n))
        l->whole = NULL;
    else if (!inner)
        *l = (Logic){ l->n, n, parent && is_condition(parent, n) };
    for (int i = 0; i < 3; i++)
        if (logic_find(l, i == 0 ? n->a : i == 1 ? n->b : n->c, n))
            return true;
    for (uint32_t i = 0; n->list && i < n->count; i++)
        if (logic_find(l, n->list[i], n))
            return true;
    return false;
}

static bool logic_of(Interp *in, const Source *s, Logic *l)
{
    const Module *m = interp_module(in);
    for (uint32_t i = 0; m && i < m->chunk_count; i++)
        if (m->chunks[i]->source == s && logic_find(l, m->chunks[i]->root, NULL))
            return l->whole != NULL;
    return false;
}

typedef struct Text {
    const char *source;
    char *out;
    size_t len, cap;
} Text;

static void put(Text *t, const char *text, size_t len)
{
    if (t->len + len < t->cap)
        memcpy(t->out + t->len, text, len);
    t->len += len;
}

static bool in_parentheses(const Text *t, const Node *n)
{
    const Node *first = n->a ? n->a : n->kind == ND_COMPARE ? n->list[0] : NULL;
    return t->source[n->span.from] == '(' && (!first || n->span.from < first->span.from);
}

/* n as & | ! would have it; `tight`: what stands beside it binds like & or ! does. */
static void put_logic(Text *t, const Node *n, bool tight)
{
    bool wrapped = in_parentheses(t, n), negation = n->kind == ND_NOT;
    bool bits = n->kind == ND_BINARY && (n->op == TK_BITOR || n->op == TK_BITAND);
    bool wrap = is_logic(n) ? wrapped : tight && bits && !wrapped;
    put(t, "(", wrap);
    if (!is_logic(n)) {
        put(t, t->source + n->span.from, n->span.to - n->span.from);
    } else if (negation) {
        bool bare = is_logic(n->a) || in_parentheses(t, n->a) || n->a->kind == ND_NAME ||
                    n->a->kind == ND_CALL || n->a->kind == ND_INDEX || n->a->kind == ND_FIELD;
        put(t, "!", 1);
        put(t, "(", !bare);
        put_logic(t, n->a, bare);
        put(t, ")", !bare);
    } else {
        put_logic(t, n->a, n->kind == ND_AND);
        put(t, n->kind == ND_AND ? " & " : " | ", 3);
        put_logic(t, n->b, n->kind == ND_AND);
    }
    put(t, ")", wrap);
}

bool fix_masks(Interp *in, const Node *n, char *help, size_t cap)
{
    char code[120];
    Where where = { 0 };
    Logic l = { .n = n };
    if (in->ctx.locate)
        in->ctx.locate(&in->ctx, &where);
    if (!n || !where.source || !logic_of(in, where.source, &l))
        return false;
    Text t = { where.source->text, code, 0, sizeof code };
    put_logic(&t, l.whole, false);
    if (t.len + 1 >= sizeof code || memchr(code, '\n', t.len))
        return false;
    code[t.len] = '\0';
    snprintf(help, cap, l.condition ? "any(%s) or all(%s)" : "on every element: %s", code, code);
    return true;
}
