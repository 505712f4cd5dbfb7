/* One line of text for any tree, for messages, plans and help. Parentheses are those of
 * the source (NF_PARENS), so what is printed parses back to the same tree. */
#include "parser/parse.h"

#include <string.h>

static void print_list(Buf *out, const Node *n, const char *between)
{
    for (uint32_t i = 0; i < n->count; i++) {
        if (i)
            buf_puts(out, between);
        print_node(out, n->list[i]);
    }
}

static void print_pair(Buf *out, const Node *a, const char *between, const Node *b)
{
    print_node(out, a);
    buf_puts(out, between);
    print_node(out, b);
}

static void print_name(Buf *out, const Name *name)
{
    if (name)
        buf_put(out, name->text, name->len);
}

static void print_text(Buf *out, const Node *n)
{
    if (n->text)
        buf_put(out, n->text, n->text_len);
}

/* ---- strings ---- */

static void print_escaped(Buf *out, const Node *n)
{
    for (uint32_t i = 0; i < n->text_len; i++) {
        char c = n->text[i];
        switch (c) {
        case '\n': buf_puts(out, "\\n"); break;
        case '\t': buf_puts(out, "\\t"); break;
        case '\r': buf_puts(out, "\\r"); break;
        case '"': buf_puts(out, "\\\""); break;
        case '\\': buf_puts(out, "\\\\"); break;
        case '{': buf_puts(out, "{{"); break;
        case '}': buf_puts(out, "}}"); break;
        default:
            if ((unsigned char)c < 0x20 || c == 0x7F)
                buf_printf(out, "\\u{%x}", (unsigned)(unsigned char)c);
            else
                buf_putc(out, c);
        }
    }
}

static void print_string(Buf *out, const Node *n)
{
    char quote = n->flags & NF_RAW ? '`' : '"';
    buf_putc(out, quote);
    if (n->flags & NF_RAW)
        print_text(out, n);
    else
        print_escaped(out, n);
    buf_putc(out, quote);
}

static void print_interpolated(Buf *out, const Node *n)
{
    buf_putc(out, '"');
    for (uint32_t i = 0; i < n->count; i++) {
        const Node *part = n->list[i];
        if (part->kind == ND_STRING) {
            print_escaped(out, part);
            continue;
        }
        buf_putc(out, '{');
        print_node(out, part->a);
        if (part->text) {
            buf_putc(out, ':');
            print_text(out, part);
        }
        buf_putc(out, '}');
    }
    buf_putc(out, '"');
}

/* ---- expressions ---- */

/* A dot after a number like `1.` needs a space between. */
static void print_dots(Buf *out, const char *dots)
{
    if (out->len && out->data[out->len - 1] == '.')
        buf_putc(out, ' ');
    buf_puts(out, dots);
}

static void print_tuple(Buf *out, const Node *n)
{
    bool parens = n->flags & NF_PARENS || n->count == 0;
    if (parens)
        buf_putc(out, '(');
    print_list(out, n, ", ");
    if (n->count == 1 && n->list[0]->kind != ND_NAMED)
        buf_putc(out, ',');
    if (parens)
        buf_putc(out, ')');
}

static void print_range(Buf *out, const Node *n)
{
    if (n->a)
        print_node(out, n->a);
    buf_putc(out, ':');
    if (n->b)
        print_node(out, n->b);
    if (n->c) {
        buf_putc(out, ':');
        print_node(out, n->c);
    }
}

static void print_params(Buf *out, const Node *n)
{
    buf_putc(out, '(');
    print_list(out, n, ", ");
    buf_putc(out, ')');
}

static void print_lambda(Buf *out, const Node *n)
{
    bool bare = n->count == 1 && !n->list[0]->a && !(n->list[0]->flags & NF_VARIADIC);
    if (bare)
        print_name(out, n->list[0]->name);
    else
        print_params(out, n);
    buf_puts(out, " -> ");
    print_node(out, n->a);
}

static void print_param(Buf *out, const Node *n)
{
    print_name(out, n->name);
    if (n->flags & NF_VARIADIC)
        buf_puts(out, "...");
    if (n->a) {
        buf_putc(out, '=');
        print_node(out, n->a);
    }
}

static void print_binary(Buf *out, const Node *n)
{
    print_node(out, n->a);
    if (n->op == TK_POW)
        buf_putc(out, '^');
    else
        buf_printf(out, " %s ", operator_symbol(n->op));
    print_node(out, n->b);
}

static void print_compare(Buf *out, const Node *n)
{
    for (uint32_t i = 0; i < n->count; i++) {
        if (i)
            buf_printf(out, " %s ", operator_symbol(n->ops[i - 1]));
        print_node(out, n->list[i]);
    }
}

static void print_bracketed(Buf *out, const Node *n, const char *between)
{
    buf_putc(out, '[');
    print_list(out, n, between);
    buf_putc(out, ']');
}

static void print_binds(Buf *out, const Node *n)
{
    if (n->count)
        buf_puts(out, " for ");
    print_list(out, n, ", ");
}

static void print_comprehension(Buf *out, const Node *n)
{
    buf_putc(out, '[');
    print_node(out, n->a);
    print_binds(out, n);
    if (n->b) {
        buf_puts(out, " if ");
        print_node(out, n->b);
    }
    buf_putc(out, ']');
}

/* The expressions; false for the kinds that print_statement knows. */
static bool print_expression(Buf *out, const Node *n)
{
    switch (n->kind) {
    case ND_NONE: buf_puts(out, "none"); return true;
    case ND_BOOL: buf_puts(out, n->op ? "true" : "false"); return true;
    case ND_INT: case ND_FLOAT: print_text(out, n); return true;
    case ND_IMAG: print_text(out, n); buf_putc(out, 'i'); return true;
    case ND_STRING: print_string(out, n); return true;
    case ND_INTERP: print_interpolated(out, n); return true;
    case ND_NAME: print_name(out, n->name); return true;
    case ND_ELLIPSIS: buf_puts(out, "..."); return true;
    case ND_VECTOR: print_bracketed(out, n, ", "); return true;
    case ND_MATRIX:
        buf_putc(out, '[');
        print_list(out, n, "; ");
        buf_puts(out, n->count == 1 ? ";]" : "]");
        return true;
    case ND_ROW: print_list(out, n, ", "); return true;
    case ND_TUPLE: print_tuple(out, n); return true;
    case ND_NAMED: print_name(out, n->name); buf_putc(out, '='); print_node(out, n->a); return true;
    case ND_SPREAD: print_node(out, n->a); print_dots(out, "..."); return true;
    case ND_RANGE: print_range(out, n); return true;
    case ND_COMPREHENSION: print_comprehension(out, n); return true;
    case ND_BIND:
        print_node(out, n->a);
        if (n->b) {
            buf_puts(out, " in ");
            print_node(out, n->b);
        }
        return true;
    case ND_LAMBDA: print_lambda(out, n); return true;
    case ND_PARAM: print_param(out, n); return true;
    case ND_UNARY: buf_puts(out, operator_symbol(n->op)); print_node(out, n->a); return true;
    case ND_BINARY: print_binary(out, n); return true;
    case ND_COMPARE: print_compare(out, n); return true;
    case ND_AND: print_pair(out, n->a, " and ", n->b); return true;
    case ND_OR: print_pair(out, n->a, " or ", n->b); return true;
    case ND_NOT: buf_puts(out, "not "); print_node(out, n->a); return true;
    case ND_TRANSPOSE: print_node(out, n->a); buf_putc(out, '\''); return true;
    case ND_CALL: print_node(out, n->a); print_params(out, n); return true;
    case ND_PIPE: print_pair(out, n->a, " |> ", n->b); return true;
    case ND_INDEX: print_node(out, n->a); print_bracketed(out, n, ", "); return true;
    case ND_FIELD: print_node(out, n->a); print_dots(out, "."); print_name(out,
        n->name); return true;
    case ND_LONG: print_list(out, n, ""); return true;
    case ND_SOFAR: return true;
    case ND_REDUCE:
        print_name(out, n->name);
        print_bracketed(out, n, ", ");
        buf_putc(out, ' ');
        print_node(out, n->a);
        return true;
    default: return false;
    }
}

/* ---- statements ---- */

static void print_word(Buf *out, const char *word, const Node *after)
{
    buf_puts(out, word);
    if (after) {
        buf_putc(out, ' ');
        print_node(out, after);
    }
}

static void print_block(Buf *out, const Node *n)
{
    if (n->flags & NF_BRACES)
        buf_puts(out, n->count ? "{ " : "{ }");
    print_list(out, n, "; ");
    if (n->flags & NF_BRACES && n->count)
        buf_puts(out, " }");
}

static void print_if(Buf *out, const Node *n)
{
    print_word(out, "if", n->a);
    buf_putc(out, ' ');
    print_node(out, n->b);
    for (uint32_t i = 0; i < n->count; i++)
        print_word(out, i % 2 ? "" : " else if", n->list[i]);
    if (n->c)
        print_word(out, " else", n->c);
}

static void print_import(Buf *out, const Node *n)
{
    buf_puts(out, "import ");
    if (n->count) {
        print_list(out, n, ", ");
        buf_puts(out, " from ");
    }
    if (n->a)
        print_node(out, n->a);
    else
        print_name(out, n->name);
    Span of = n->a ? n->a->span : n->mark;
    if (n->b && n->b->span.from != of.from)
        print_word(out, " as", n->b);
}

/* precision F mods { }, on D mods { } */
static void print_scope(Buf *out, const char *word, const Node *n)
{
    print_word(out, word, n->a);
    for (uint32_t i = 0; i < n->count; i++) {
        buf_putc(out, ' ');
        print_node(out, n->list[i]);
    }
    if (n->b)
        print_word(out, "", n->b);
}

static void print_compare_block(Buf *out, const Node *n)
{
    buf_puts(out, "compare ");
    print_list(out, n, ", ");
    if (n->a)
        print_word(out, " against", n->a);
    print_word(out, "", n->b);
}

static void print_extern(Buf *out, const Node *n)
{
    print_word(out, "extern", n->a);
    if (n->b)
        print_word(out, " as", n->b);
    buf_puts(out, " {");
    print_text(out, n);
    buf_putc(out, '}');
}

static void print_explain(Buf *out, const Node *n)
{
    buf_puts(out, "explain");
    if (n->name) {
        buf_puts(out, " as ");
        print_name(out, n->name);
    }
    print_word(out, "", n->a);
}

static void print_update(Buf *out, const Node *n)
{
    print_node(out, n->a);
    buf_printf(out, " %s= ", operator_symbol(n->op));
    print_node(out, n->b);
}

static void print_statement(Buf *out, const Node *n)
{
    switch (n->kind) {
    case ND_ASSIGN: print_pair(out, n->a, " = ", n->b); break;
    case ND_OPASSIGN: print_update(out, n); break;
    case ND_DEFINE: print_pair(out, n->a, " := ", n->b); print_binds(out, n); break;
    case ND_BLOCK: print_block(out, n); break;
    case ND_IF: print_if(out, n); break;
    case ND_WHILE: print_word(out, "while", n->a); print_word(out, "", n->b); break;
    case ND_FOR:
        print_word(out, "for", n->a);
        print_word(out, " in", n->b);
        print_word(out, "", n->c);
        break;
    case ND_BREAK: buf_puts(out, "break"); break;
    case ND_CONTINUE: buf_puts(out, "continue"); break;
    case ND_RETURN: print_word(out, "return", n->a); break;
    case ND_TRY:
        print_word(out, "try", n->a);
        print_word(out, " catch", n->b);
        print_word(out, "", n->c);
        break;
    case ND_THROW: print_word(out, "throw", n->a); break;
    case ND_ASSERT:
        print_word(out, "assert", n->a);
        if (n->b)
            print_word(out, ",", n->b);
        break;
    case ND_FN: buf_puts(out, "fn "); print_signature(out, n); print_word(out, "", n->a); break;
    case ND_TEST: print_word(out, "test", n->a); print_word(out, "", n->b); break;
    case ND_IMPORT: print_import(out, n); break;
    case ND_PRECISION: print_scope(out, "precision", n); break;
    case ND_AUTOCAST: print_scope(out, "autocast", n); break;
    case ND_ON: print_scope(out, "on", n); break;
    case ND_MODIFIER: print_word(out, n->name->text, n->a); break;
    case ND_DEVICE_INDEX: buf_printf(out, "%s:", n->name->text); print_text(out, n); break;
    case ND_LAZY: print_word(out, "lazy", n->a); break;
    case ND_COMPARE_BLOCK: print_compare_block(out, n); break;
    case ND_EXPLAIN: print_explain(out, n); break;
    case ND_TIMEIT: print_word(out, "timeit", n->a); break;
    case ND_PROFILE:
        print_word(out, "profile", NULL);
        if (n->b)
            print_word(out, " to", n->b);
        print_word(out, "", n->a);
        break;
    case ND_EXTERN: print_extern(out, n); break;
    default: break;
    }
}

void print_node(Buf *out, const Node *n)
{
    bool parens = n->flags & NF_PARENS && n->kind != ND_TUPLE;
    if (parens)
        buf_putc(out, '(');
    if (!print_expression(out, n))
        print_statement(out, n);
    if (parens)
        buf_putc(out, ')');
}

void print_signature(Buf *out, const Node *fn)
{
    print_name(out, fn->name);
    print_params(out, fn);
}
