/* `ricci fmt`: canonical text of a whole file. It works on the tokens, not on the tree, so
 * comments, line breaks, numbers and strings stay what they are and the result always
 * parses back to the same tree; only indentation, spacing and blank lines are decided. */
#include "parser/parse.h"

#include "core/base/error.h"
#include "core/base/mem.h"
#include "lexer/lexer.h"
#include "grammar.h"

#include <string.h>

typedef struct Item {            /* a token, a whole string, or a comment */
    Span span;
    int kind;                    /* T_…, or COMMENT */
    uint8_t flags;
    bool line;                   /* starts a line in the source */
} Item;

enum { COMMENT = -1, INDENT = 4 };

typedef struct Open {            /* an open bracket */
    size_t item;
    int outside, inside;         /* indentation of its line and of what it holds */
    bool reduce;                 /* of a reduction: sum[k] */
} Open;

typedef struct Formatter {
    Ctx *ctx;
    Buf *out;
    const char *text;
    Lexer lexer;
    Arena arena;
    Item *items;
    size_t count, cap;
    uint8_t *broken;             /* per item: a { whose block stands on lines of its own */
    Open *open;
    size_t depth, open_cap;
    int indent;                  /* of the current line */
    bool after_reduce;           /* the last item closed the brackets of a reduction */
} Formatter;

static void add_item(Formatter *f, Item item)
{
    if (f->count == f->cap) {
        size_t cap = f->cap ? f->cap * 2 : 256;
        f->items = mem_realloc(f->ctx, f->items, f->cap * sizeof *f->items, cap * sizeof *f->items);
        f->cap = cap;
    }
    uint32_t from = f->count ? f->items[f->count - 1].span.to : 0;
    item.line = f->count == 0 || memchr(f->text + from, '\n', item.span.from - from) != NULL;
    f->items[f->count++] = item;
}

/* Tokens and comments in the order of the text; a string with interpolations is one item. */
static void collect_items(Formatter *f)
{
    const Lexer *lx = &f->lexer;
    uint32_t comment = 0;
    for (size_t i = 0; i < lx->count; i++) {
        const Token *t = &lx->tokens[i];
        uint32_t end = t->kind == T_END ? UINT32_MAX : t->span.from;
        while (comment < lx->comment_count && lx->comments[comment].span.from < end) {
            add_item(f, (Item){ .span = lx->comments[comment].span, .kind = COMMENT });
            comment++;
        }
        if (t->kind == T_NEWLINE || t->kind == T_END)
            continue;
        Item item = { .span = t->span, .kind = t->kind, .flags = t->flags };
        if (t->kind == T_STR_BEGIN) {
            for (int depth = 1; depth > 0;) {
                t = &lx->tokens[++i];
                depth += (t->kind == T_STR_BEGIN) - (t->kind == T_STR_END);
            }
            item.span.to = t->span.to;
            item.kind = T_STRING;
        }
        add_item(f, item);
    }
}

static bool opens(int kind)
{
    return kind == T_LPAREN || kind == T_LBRACKET || kind == T_LBRACE;
}

static bool closes(int kind)
{
    return kind == T_RPAREN || kind == T_RBRACKET || kind == T_RBRACE;
}

static void push_open(Formatter *f, size_t item, bool reduce)
{
    if (f->depth == f->open_cap) {
        size_t cap = f->open_cap ? f->open_cap * 2 : 64;
        f->open = mem_realloc(f->ctx, f->open, f->open_cap * sizeof *f->open,
                              cap * sizeof *f->open);
        f->open_cap = cap;
    }
    f->open[f->depth++] = (Open){ item, f->indent, f->indent + INDENT, reduce };
}

/* A block is broken over lines if anything directly in it starts a line. */
static void find_broken(Formatter *f)
{
    f->broken = mem_zalloc(f->ctx, f->count + 1);
    for (size_t i = 0; i < f->count; i++) {
        const Item *item = &f->items[i];
        if (item->line && f->depth)
            f->broken[f->open[f->depth - 1].item] = 1;
        if (opens(item->kind))
            push_open(f, i, false);
        else if (closes(item->kind) && f->depth)
            f->depth--;
    }
    f->depth = 0;
}

/* ---- spacing ---- */

static bool in_parentheses(const Formatter *f)
{
    return f->depth && f->items[f->open[f->depth - 1].item].kind == T_LPAREN;
}

/* Ends a value, seen from the bracket that follows. */
static bool is_called(const Formatter *f, const Item *p)
{
    return token_ends_operand(p->kind) && p->kind != T_ELLIPSIS && !f->after_reduce;
}

static bool is_tight(int kind)
{
    return kind == T_COLON || kind == T_DOT || kind == T_POWER;
}

static bool ends_in_point(const Formatter *f, const Item *p)
{
    return p->kind == T_FLOAT && f->text[p->span.to - 1] == '.';
}

static bool needs_space(const Formatter *f, const Item *p, const Item *t)
{
    if (t->kind == T_DOT || t->kind == T_ELLIPSIS) {
        if (ends_in_point(f, p))
            return true;
        if (t->kind == T_ELLIPSIS && token_ends_operand(p->kind))
            return false;
    }
    if (p->kind == T_LBRACE || t->kind == T_RBRACE)
        return true;
    if (p->kind == T_LPAREN || p->kind == T_LBRACKET || t->kind == T_RPAREN ||
        t->kind == T_RBRACKET)
        return false;
    if (t->kind == T_COMMA || t->kind == T_SEMI || t->kind == T_TRANSPOSE)
        return false;
    if (p->kind == T_COMMA || p->kind == T_SEMI)
        return true;
    if (is_tight(p->kind) || is_tight(t->kind))
        return is_tight(t->kind) && t->kind != T_DOT && !token_ends_operand(p->kind) &&
               !is_tight(p->kind);
    if (p->kind == T_PREFIX || (p->kind == T_SIGN && p->flags & TF_PREFIX))
        return false;
    if ((p->kind == T_ASSIGN || t->kind == T_ASSIGN) && in_parentheses(f))
        return false;
    if (t->kind == T_LPAREN)
        return !is_called(f, p);
    if (t->kind == T_LBRACKET)
        return p->kind != T_REDUCE && !is_called(f, p);
    return true;
}

/* ---- lines ---- */

static int blank_lines(const Formatter *f, uint32_t from, uint32_t to)
{
    int lines = 0;
    for (; from < to; from++)
        lines += f->text[from] == '\n';
    return lines > 1;
}

static void start_line(Formatter *f, size_t i, bool continued)
{
    const Item *t = &f->items[i], *p = i ? t - 1 : NULL;
    const Open *o = f->depth ? &f->open[f->depth - 1] : NULL;
    if (p) {
        buf_putc(f->out, '\n');
        bool edge = p->kind == T_LBRACE || t->kind == T_RBRACE;
        if (!edge && blank_lines(f, p->span.to, t->span.from))
            buf_putc(f->out, '\n');
    }
    f->indent = !o ? 0 : closes(t->kind) ? o->outside : o->inside;
    bool braces = !o || f->items[o->item].kind == T_LBRACE;
    if (continued && braces && !closes(t->kind))
        f->indent += INDENT;
    buf_fill(f->out, ' ', (size_t)f->indent);
}

static void put_item(Formatter *f, const Item *t)
{
    const char *text = f->text + t->span.from;
    size_t len = t->span.to - t->span.from;
    if (t->kind == T_SIGN && len == 3)
        buf_putc(f->out, '-');
    else if (t->kind == T_PRODUCT && len == 3 && memcmp(text, "⋅", 3) == 0)
        buf_puts(f->out, "·");
    else if (t->kind == T_NOTIN)
        buf_puts(f->out, "not in");
    else
        buf_put(f->out, text, len);
}

static void put_comment_gap(Formatter *f, const Item *t)
{
    uint32_t spaces = 0;
    while (spaces < t->span.from && f->text[t->span.from - 1 - spaces] == ' ')
        spaces++;
    buf_fill(f->out, ' ', spaces < 2 ? 2 : spaces);
}

static void track_brackets(Formatter *f, size_t i)
{
    const Item *t = &f->items[i];
    bool reduce = false;
    if (opens(t->kind)) {
        push_open(f, i, i && t[-1].kind == T_REDUCE);
    } else if (closes(t->kind) && f->depth) {
        reduce = f->open[f->depth - 1].reduce;
        f->depth--;
    }
    f->after_reduce = reduce;
}

/* A block on lines of its own has its { at the end and its } at the start of one. */
static bool forced_line(const Formatter *f, size_t i)
{
    const Item *t = &f->items[i];
    if (i && t[-1].kind == T_LBRACE && f->broken[i - 1])
        return t->kind != COMMENT || t->line;
    return t->kind == T_RBRACE && f->depth && f->broken[f->open[f->depth - 1].item];
}

static void format_items(Formatter *f)
{
    int last = T_NEWLINE;                       /* last token that is no comment */
    for (size_t i = 0; i < f->count; i++) {
        const Item *t = &f->items[i];
        if (t->line || forced_line(f, i))
            start_line(f, i, token_continues_line(last) && i > 0);
        else if (t->kind == COMMENT)
            put_comment_gap(f, t);
        else if (needs_space(f, t - 1, t))
            buf_putc(f->out, ' ');
        put_item(f, t);
        track_brackets(f, i);
        if (t->kind != COMMENT)
            last = t->kind;
    }
    if (f->count)
        buf_putc(f->out, '\n');
}

static void formatter_free(Formatter *f)
{
    mem_free(f->ctx, f->items, f->cap * sizeof *f->items);
    if (f->broken)
        mem_free(f->ctx, f->broken, f->count + 1);
    mem_free(f->ctx, f->open, f->open_cap * sizeof *f->open);
    lexer_free(&f->lexer);
    arena_free(&f->arena);
    mem_free(f->ctx, f, sizeof *f);
}

void print_chunk(Buf *out, const Chunk *chunk)
{
    Ctx *ctx = chunk->ctx;
    Formatter *f = mem_zalloc(ctx, sizeof *f);
    f->ctx = ctx;
    f->out = out;
    f->text = chunk->source->text;
    arena_init(&f->arena, ctx);
    f->lexer = (Lexer){ .ctx = ctx, .arena = &f->arena, .text = f->text,
                        .len = chunk->source->len };
    buf_init(&f->lexer.piece, ctx);
    ErrFrame frame;
    if (!ERR_TRY(ctx, &frame)) {
        formatter_free(f);
        err_rethrow(ctx);
    }
    lexer_scan(&f->lexer);
    collect_items(f);
    find_broken(f);
    format_items(f);
    ERR_END(ctx, &frame);
    formatter_free(f);
}
