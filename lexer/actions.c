/* What the rules of lexer.l do: tokens, brackets, strings, line ends, and what to say of
 * characters that mean nothing. Newlines, brackets and strings share one stack of open
 * brackets, whose innermost entry decides what a newline, a `;`, a `:` or a `}` means.
 * Only lexer.l calls these; no pattern stands here. */
#include "lexer/actions.h"
#include "core/system/c_locale.h"
#include "lexer/nfc.h"

#include "core/base/mem.h"
#include "grammar.h"

#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* How far `sum[k in 1:n]` has been recognised as a reduction. */
enum { REDUCE_NO, REDUCE_NAME, REDUCE_AFTER, REDUCE_RANGE };

/* An open bracket: ( [ {, or " for a string and i for the { of an interpolation. */
struct Bracket {
    Span span;
    uint32_t token;        /* index of its token */
    uint32_t element;      /* index of the first token of the current element */
    char open;
    uint8_t reduce;        /* could this be the brackets of a reduction so far? */
    uint32_t indent;       /* of its line */
    uint32_t parens, squares;   /* ( and [ among it and those below, down to the next { or string */
    /* so many brackets stand below the innermost { or string, that one included */
    uint32_t outer;
    bool literal;          /* [ opens a literal; " has interpolations */
    bool in_string;        /* stands in a string, or is one */
};

/* ---- reports ---- */

Span lex_match_span(const Lexer *lx)
{
    return (Span){ lx->from, lx->to };
}

void lex_complain(Lexer *lx, Span span, const char *help, const char *fmt, ...)
{
    char message[320];
    lx->failed = true;
    lx->complaints++;
    if (!lx->report)
        return;
    va_list args;
    va_start(args, fmt);
    c_vsnprintf(message, sizeof message, fmt, args);
    va_end(args);
    lx->report(lx->who, span, help, message);
}

void lex_foreign(Lexer *lx, const char *help)
{
    lex_complain(lx, lex_match_span(lx), help, "`%.*s` is not an operator",
                 (int)(lx->to - lx->from), lx->text + lx->from);
}

static const struct { uint32_t code; const char *name, *meant; } lookalikes[] = {
#define LOOKALIKE(code, name, meant) { code, name, meant },
#include "lexer/lookalike.def"
#undef LOOKALIKE
};

/* Blanks of other widths, which the eye cannot tell from a space, are blanks. */
static bool is_blank(uint32_t c)
{
    return c == 0xA0 || c == 0x1680 || (c >= 0x2000 && c <= 0x200A) || c == 0x202F || c == 0x205F ||
           c == 0x3000;
}

/* A character that was typed for another: its name, and what to type. */
static bool say_lookalike(Lexer *lx, Span span, uint32_t c)
{
    char help[80] = "write ";
    const char *name = c > 0xFF00 && c < 0xFF5F ? "a fullwidth character" : NULL, *meant = NULL;
    char plain[2] = { name ? (char)(c - 0xFF01 + '!') : '\0', '\0' };
    for (size_t i = 0; i < sizeof lookalikes / sizeof *lookalikes; i++)
        if (lookalikes[i].code == c) {
            name = lookalikes[i].name;
            meant = lookalikes[i].meant;
        }
    if (!name)
        return false;
    meant = meant ? meant + (meant[0] == ' ') : plain;
    if (*meant == '\0') {
        strcpy(help, "delete it: it cannot be seen");
        /* it has no width to point at */
        span.to += span.to < lx->len && lx->text[span.to] != '\n';
    } else {
        snprintf(help + 6, sizeof help - 6, "%s", meant);
    }
    if (*meant)
        lex_complain(lx, span, help, "`%.*s` is %s (U+%04X)", (int)(span.to - span.from),
                     lx->text + span.from, name, c);
    else
        lex_complain(lx, span, help, "%s (U+%04X)", name, c);
    return true;
}

void lex_bad_character(Lexer *lx)
{
    size_t at = lx->from;
    uint32_t c = utf8_next(lx->text, lx->len, &at);
    Span span = { lx->from, (uint32_t)at };
    if (is_blank(c)) {
        lx->space = true;
        return;
    }
    if (c < 0x20 || c == 0x7F)
        lex_complain(lx, span, "delete it: it cannot be seen", "a control character (U+%04X)", c);
    else if (c == 0xFEFF)
        lex_complain(lx, span, "delete it: it cannot be seen",
                     "a byte order mark (U+FEFF) in the middle of the text");
    else if (!say_lookalike(lx, span, c))
        lex_complain(lx, span,
                     c == 0x2211   ? "a sum over an index is written sum[k] x[k]"
                     : c == 0x220F ? "a product over an index is written prod[k] x[k]"
                                   : NULL,
                     "the character `%.*s` (U+%04X) means nothing here",
                     (int)(at - lx->from), lx->text + lx->from, c);
    lex_emit(lx, T_BAD, 0);
}

/* Where a comment of C that starts before lx->to ends, if it does; else the end of the line. */
uint32_t lex_c_comment_end(Lexer *lx)
{
    const char *from = lx->text + lx->to;
    const char *end = lx->no_comment_end ? NULL : memmem(from, lx->len - lx->to, "*/", 2);
    lx->no_comment_end = !end;
    const char *line = memchr(from, '\n', lx->len - lx->to);
    return end ? (uint32_t)(end - lx->text) + 2 : line ? (uint32_t)(line - lx->text)
                                                       : (uint32_t)lx->len;
}

/* A number that runs into a word: `2x` is meant as a product, `0b12` or `1e` is a slip. */
void lex_bad_number(Lexer *lx, const char *text)
{
    int digits = (int)strspn(text, "0123456789_."), rest = (int)strlen(text + digits);
    bool product = digits <= 20 && rest <= 20 && text[digits - 1] != '_' &&
                   strcmp(text + digits, "e") != 0 &&
                   strcmp(text + digits, "E") != 0 && !(text[0] == '0' && digits == 1);
    char help[96] = "numbers are written 42, 1_000, 0xff, 0b1010, 1e-8";
    if (product)
        snprintf(help, sizeof help, "write a product as %.*s*%s", digits, text, text + digits);
    lex_complain(lx, lex_match_span(lx), help, "`%.40s` is not a number", text);
    lex_emit_text(lx, T_INT, "0", 1);
}

/* ---- the stack of open brackets ---- */

static Bracket *innermost(const Lexer *lx)
{
    return lx->depth ? &lx->brackets[lx->depth - 1] : NULL;
}

static bool inside_parentheses(const Lexer *lx)
{
    const Bracket *b = innermost(lx);
    return b && b->open != '{';
}

static void push_bracket(Lexer *lx, char open, Span span)
{
    if (lx->depth == lx->bracket_cap) {
        size_t cap = lx->bracket_cap ? lx->bracket_cap * 2 : 32;
        lx->brackets = mem_realloc(lx->ctx, lx->brackets, lx->bracket_cap * sizeof *lx->brackets,
                                   cap * sizeof *lx->brackets);
        lx->bracket_cap = cap;
    }
    const Bracket *outer = innermost(lx);
    uint32_t token = lx->count ? (uint32_t)lx->count - 1 : 0;
    bool group = open == '(' || open == '[';
    lx->brackets[lx->depth] =
        (Bracket){ .span = span, .token = token, .element = (uint32_t)lx->count, .open = open,
                                         .indent = lx->indent,
                                         .parens = group && outer ? outer->parens : 0,
                                         .squares = group && outer ? outer->squares : 0,
                                         .outer = !group ? (uint32_t)lx->depth + 1 : outer
                                                  ? outer->outer : 0,
                                         .in_string = open == '"' || (outer && outer->in_string) };
    lx->brackets[lx->depth].parens += open == '(';
    lx->brackets[lx->depth].squares += open == '[';
    lx->depth++;
}

static int closer_of(char open)
{
    return open == '(' ? T_RPAREN : open == '[' ? T_RBRACKET : T_RBRACE;
}

/* Closes the innermost bracket with a token that is not in the text. */
static void close_made(Lexer *lx)
{
    char open = innermost(lx)->open;
    lx->depth--;
    Token *t = lex_emit(lx, open == '"' ? T_STR_END : open == 'i' ? T_INTERP_END
                                                                  : closer_of(open), 0);
    t->flags |= TF_MADE;
    t->span.to = t->span.from;
}

static const char *bracket_text(char open)
{
    return open == '(' ? "(" : open == '[' ? "[" : "{";
}

/* Line and column of an offset, in a message; many messages are not worth so many searches. */
static const char *place_text(const Lexer *lx, uint32_t at, char text[32])
{
    uint32_t line = 1, column = 1;
    for (uint32_t i = 0; i < at && lx->complaints < 100; i++) {
        line += lx->text[i] == '\n';
        column = lx->text[i] == '\n' ? 1 : column + ((lx->text[i] & 0xC0) != 0x80);
    }
    snprintf(text, 32, "%u:%u", line, column);
    return text;
}

static void complain_unclosed(Lexer *lx, const char *help)
{
    const Bracket *b = innermost(lx);
    lex_complain(lx, b->span, help, "this %s is never closed", bracket_text(b->open));
}

/* At the end of the text, with a { open: the one that the indentation says was forgotten. */
static void complain_unclosed_block(Lexer *lx)
{
    const Bracket *b = innermost(lx);
    if (b->open != '{' || lx->suspect.to == 0) {
        complain_unclosed(lx, NULL);
        return;
    }
    char place[32], help[96];
    place_text(lx, lx->suspect_at, place);
    *strchr(place, ':') = '\0';
    snprintf(help, sizeof help, "line %s stands outside of it: put a } before that", place);
    lex_complain(lx, lx->suspect, help, "this { is never closed");
}

/* The first token of a line that stands no deeper than the header of the block it is in. */
static void check_indent(Lexer *lx, int kind)
{
    const Bracket *b = innermost(lx);
    if (!lx->line_start)
        return;
    lx->indent = lx->from - lx->line_from;
    bool deeper = !b || b->open != '{' ||
                  (kind == T_RBRACE ? lx->indent >= b->indent : lx->indent > b->indent);
    if (deeper || lx->suspect.to > 0 || b->span.from >= lx->line_from)
        return;
    lx->suspect = b->span;
    lx->suspect_at = lx->from;
}

/* Does a bracket that opened before this line close on it? */
static bool closes_on_this_line(const Lexer *lx)
{
    int depth = 0;
    for (size_t at = lx->from; at < lx->len && lx->text[at] != '\n' && lx->text[at] != '#'; at++) {
        char c = lx->text[at];
        depth += c == '(' || c == '[' || c == '{';
        if ((c == ')' || c == ']' || c == '}') && depth-- == 0)
            return true;
    }
    return false;
}

static void complain_separator(Lexer *lx)
{
    bool list = innermost(lx)->open == '[';
    Span end = lx->tokens[lx->count - 1].span;
    lex_complain(lx, end, list ? "a comma goes on with the elements, a ; starts a new row" : NULL,
                 list ? "a comma or a ; is missing after this"
                      : "a comma or an operator is missing after this");
}

/* A value begins on a new line inside ( or [ where none can: the bracket was forgotten. */
static void give_up_brackets(Lexer *lx)
{
    lx->inside_newline = false;
    char place[32], before[64];
    snprintf(before, sizeof before, "close it before line %s", place_text(lx, lx->from, place));
    *strrchr(before, ':') = '\0';
    if (lex_last_kind(lx) == T_COMMA)
        complain_unclosed(lx, before);
    else if (closes_on_this_line(lx))
        complain_separator(lx);
    else
        complain_unclosed(lx,
                          "close it, or put a comma at the end of the line before the next value");
    while (inside_parentheses(lx) && !innermost(lx)->in_string) {
        close_made(lx);
        lx->forgiven++;
    }
    Token *t = lex_emit(lx, T_NEWLINE, 0);
    t->flags |= TF_MADE;
    t->span.to = t->span.from;
}

static bool is_reduction_name(const char *text, size_t len)
{
    static const char *const names[] =
        { "sum", "prod", "max", "min", "mean", "any", "all", "argmax", "argmin" };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strlen(names[i]) == len && memcmp(names[i], text, len) == 0)
            return true;
    return false;
}

static bool token_is_word(const Lexer *lx, const Token *t, const char *word)
{
    size_t len = t->span.to - t->span.from;
    return t->kind == T_NAME && strlen(word) == len &&
           memcmp(lx->text + t->span.from, word, len) == 0;
}

void lex_open_bracket(Lexer *lx, int kind, char open)
{
    bool value_before = token_ends_operand(lex_last_kind(lx));
    if (kind == T_LBRACE && lx->in_header && lx->header_depth == lx->depth)
        lx->in_header = false;
    lex_emit(lx, kind, 0);
    push_bracket(lx, open, lex_match_span(lx));
    if (open != '[')
        return;
    Bracket *b = innermost(lx);
    b->literal = !value_before;
    if (b->literal)
        lx->tokens[b->token].flags |= TF_LITERAL;
    const Token *name = b->token > 0 ? &lx->tokens[b->token - 1] : NULL;
    bool field = b->token > 1 && lx->tokens[b->token - 2].kind == T_DOT;
    if (value_before && name->kind == T_NAME && !field &&
        is_reduction_name(lx->text + name->span.from, name->span.to - name->span.from))
        b->reduce = REDUCE_NAME;
}

/* A ) or ] that fits no open bracket. */
static void close_wrongly(Lexer *lx)
{
    const Bracket *b = innermost(lx);
    const char *found = lx->text + lx->from;
    char place[32];
    if (b && (b->open == '(' || b->open == '[')) {
        lex_complain(lx, lex_match_span(lx), NULL,
                     "this %.1s stands where the %s for the %s opened at %s is expected",
                     found, b->open == '(' ? ")" : "]", bracket_text(b->open),
                     place_text(lx, b->span.from, place));
        close_made(lx);
    } else if (lx->forgiven > 0) {
        lx->forgiven--;
    } else {
        lex_complain(lx, lex_match_span(lx), NULL, "this %.1s closes nothing", found);
    }
}

void lex_close_bracket(Lexer *lx, int kind, char open)
{
    size_t at = lx->depth;
    const Bracket *top = innermost(lx);
    if (!top || (open == '(' ? top->parens : top->squares) == 0) {
        close_wrongly(lx);
        return;
    }
    while (lx->brackets[at - 1].open != open)
        at--;
    if (at < lx->depth)
        complain_unclosed(lx, NULL);
    while (lx->depth > at)
        close_made(lx);
    Bracket b = *innermost(lx);
    lx->depth--;
    lex_emit(lx, kind, 0);
    if (b.reduce == REDUCE_AFTER || b.reduce == REDUCE_RANGE) {
        lx->tokens[b.token - 1].kind = T_REDUCE;
        lx->reduction = (int)lx->count;
    }
}

/* True if the brace ends an interpolation, so that the string goes on. */
bool lex_close_brace(Lexer *lx)
{
    size_t at = lx->depth ? innermost(lx)->outer : 0;
    check_indent(lx, T_RBRACE);
    if (at == 0) {
        lex_complain(lx, lex_match_span(lx), NULL, "this } closes nothing");
        return false;
    }
    if (at < lx->depth)
        complain_unclosed(lx, NULL);
    while (lx->depth > at)
        close_made(lx);
    bool interpolation = innermost(lx)->open == 'i';
    lx->depth--;
    lex_emit(lx, interpolation ? T_INTERP_END : T_RBRACE, 0);
    lx->piece_from = lx->to;
    return interpolation;
}

/* The `:` directly inside { } of a string starts the format. */
bool lex_at_spec(Lexer *lx)
{
    const Bracket *b = innermost(lx);
    return b && b->open == 'i';
}

/* ---- tokens ---- */

int lex_last_kind(const Lexer *lx)
{
    return lx->count ? lx->tokens[lx->count - 1].kind : T_NEWLINE;
}

static bool at_statement_start(const Lexer *lx)
{
    int last = lex_last_kind(lx);
    return (last == T_NEWLINE || last == T_SEMI || last == T_LBRACE) && !inside_parentheses(lx);
}

static Token *push_token(Lexer *lx, int kind, int op)
{
    if (lx->count == lx->cap) {
        size_t cap = lx->cap ? lx->cap * 2 : 64;
        lx->tokens = mem_realloc(lx->ctx, lx->tokens, lx->cap * sizeof *lx->tokens,
                                 cap * sizeof *lx->tokens);
        lx->cap = cap;
    }
    Token *t = &lx->tokens[lx->count++];
    *t = (Token){ .kind = (uint16_t)kind, .op = (uint8_t)op, .span = lex_match_span(lx),
                  .flags = (uint8_t)((lx->space ? TF_SPACE : 0) | (lx->line_start ? TF_LINE : 0)) };
    return t;
}

/* A reduction without anything to reduce was meant as indexing a variable. */
static void check_reduction(Lexer *lx, int kind)
{
    if (lx->reduction == 0 || (size_t)lx->reduction != lx->count || token_starts_operand(kind)) {
        lx->reduction = 0;
        return;
    }
    lx->reduction = 0;
    size_t at = lx->count;
    for (int depth = 0; at-- > 0;) {
        depth += lx->tokens[at].kind == T_RBRACKET;
        depth -= lx->tokens[at].kind == T_LBRACKET;
        if (depth == 0)
            break;
    }
    Token *name = &lx->tokens[at - 1];
    int len = (int)(name->span.to - name->span.from);
    const char *text = lx->text + name->span.from;
    char help[96];
    snprintf(help, sizeof help, "index a variable of that name as (%.*s)[…]", len, text);
    lex_complain(lx, (Span){ name->span.from, lx->tokens[lx->count - 1].span.to }, help,
                 "the reduction %.*s[…] has nothing to reduce", len, text);
    name->kind = T_NAME;
}

/* `[1 -2]`: one element or two? */
static void check_sign(Lexer *lx)
{
    const Bracket *b = innermost(lx);
    const char *next = lx->text + lx->to;
    if (!b || b->open != '[' || !b->literal || !lx->space ||
        !token_ends_operand(lex_last_kind(lx)) || lx->to >= lx->len || strchr(" \t\r\n", *next))
        return;
    uint32_t left = lx->tokens[b->element < lx->count ? b->element : lx->count - 1].span.from;
    uint32_t left_end = lx->tokens[lx->count - 1].span.to;
    int right = (int)strspn(next,
                            "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.");
    int left_len = left_end - left > 24 ? 0 : (int)(left_end - left);
    right = right > 24 ? 0 : right;
    const char *sign = lx->text + lx->from;
    int sign_len = (int)(lx->to - lx->from);
    char help[240];
    snprintf(help, sizeof help, "write `%.*s, %.*s%.*s` for two elements, `%.*s %.*s %.*s` for one",
             left_len, lx->text + left, sign_len, sign, right, next,
             left_len, lx->text + left, sign_len, sign, right, next);
    lex_complain(lx, lex_match_span(lx), help,
                 "a space before this %.*s and none after it: one element or two?", sign_len, sign);
}

/* Follows what stands directly inside [ ] after the name of a reduction. */
static void track_reduction(Lexer *lx, int kind)
{
    Bracket *b = innermost(lx);
    if (!b)
        return;
    if (kind == T_COMMA || kind == T_SEMI)
        b->element = (uint32_t)lx->count;
    if (b->reduce == REDUCE_NAME)
        b->reduce = kind == T_NAME ? REDUCE_AFTER : REDUCE_NO;
    else if (b->reduce == REDUCE_AFTER)
        b->reduce = kind == T_COMMA ? REDUCE_NAME : kind == T_IN ? REDUCE_RANGE : REDUCE_NO;
    else if (b->reduce == REDUCE_RANGE)
        b->reduce = kind == T_COMMA ? REDUCE_NAME : REDUCE_RANGE;
}

static void begin_header(Lexer *lx, int kind)
{
    if (kind == T_PRECISION || kind == T_AUTOCAST || kind == T_ON || kind == T_COMPARE) {
        lx->in_header = true;
        lx->header_depth = lx->depth;
    }
}

/* A token of this kind may show that a bracket opened on a line before was forgotten. */
static void check_line_start(Lexer *lx, int kind)
{
    bool statement = kind == T_FN || kind == T_RETURN || kind == T_IMPORT || kind == T_EXTERN ||
                     kind == T_BREAK || kind == T_CONTINUE;
    if (lx->inside_newline && (token_ends_operand(lex_last_kind(lx)) || statement) &&
        token_starts_afresh(kind) && inside_parentheses(lx))
        give_up_brackets(lx);
    if (kind != T_RBRACE && kind != T_NEWLINE && kind != T_END)
        check_indent(lx, kind);
}

Token *lex_emit(Lexer *lx, int kind, int op)
{
    check_line_start(lx, kind);
    check_reduction(lx, kind);
    if (kind == T_IN && lex_last_kind(lx) == T_NOT) {      /* not in */
        Token *t = &lx->tokens[lx->count - 1];
        t->kind = T_NOTIN;
        t->op = TK_NOTIN;
        t->span.to = lx->to;
        lx->space = false;
        return t;
    }
    if (kind == T_SIGN)
        check_sign(lx);
    if (at_statement_start(lx))
        lx->statement = kind;
    begin_header(lx, kind);
    bool prefix = kind == T_SIGN && !token_ends_operand(lex_last_kind(lx));
    Token *t = push_token(lx, kind, op);
    if (prefix)
        t->flags |= TF_PREFIX;
    lx->space = lx->line_start = lx->inside_newline = false;
    track_reduction(lx, kind);
    return t;
}

void lex_emit_text(Lexer *lx, int kind, const char *text, size_t len)
{
    char *copy = arena_copy(lx->arena, text, len);
    if (kind == T_STRING && lx->count >= 1 &&
        token_is_word(lx, &lx->tokens[lx->count - 1], "test")) {
        size_t n = --lx->count;                        /* look at what stands before `test` */
        bool starts = at_statement_start(lx);
        lx->count = n + 1;
        if (starts)
            lx->tokens[n].kind = T_TEST;
    }
    Token *t = lex_emit(lx, kind, 0);
    t->text = copy;
    t->len = (uint32_t)len;
}

static bool is_text(const char *text, int len, const char *word)
{
    return (int)strlen(word) == len && memcmp(text, word, (size_t)len) == 0;
}

/* Words that mean something only where no name can stand. */
static int contextual_kind(Lexer *lx, const char *text, int len)
{
    int last = lex_last_kind(lx);
    bool after_value = token_ends_operand(last);
    if (lx->in_header && lx->depth == lx->header_depth && (after_value || last == T_MODIFIER)) {
        if (is_text(text, len, "against"))
            return T_AGAINST;
        bool operand = is_text(text, len, "accumulate") || is_text(text, len, "round") ||
                       is_text(text, len, "fallback") || is_text(text, len, "backward") ||
                       is_text(text, len, "shadow");
        return operand ? T_MODARG : T_MODIFIER;
    }
    if (last == T_PROFILE && is_text(text, len, "to"))
        return T_TO;
    if (after_value && (lx->statement == T_IMPORT || lx->statement == T_EXTERN) &&
        !inside_parentheses(lx)) {
        if (is_text(text, len, "as"))
            return T_AS;
        if (is_text(text, len, "from"))
            return T_FROM;
    }
    Token *t = lx->count >= 2 ? &lx->tokens[lx->count - 1] : NULL;
    if (t && t[-1].kind == T_EXPLAIN && token_is_word(lx, t, "as"))
        t->kind = T_AS;
    return T_NAME;
}

/* Leaves the name's normal form in lx->piece. */
static void compose_name(Lexer *lx, const char *text, size_t len)
{
    uint32_t *c = arena_alloc(lx->arena, len * 4 * sizeof *c);
    size_t n = nfc_compose(text, len, c);
    buf_clear(&lx->piece);
    for (size_t i = 0; i < n; i++)
        buf_put_codepoint(&lx->piece, c[i]);
}

void lex_emit_name(Lexer *lx, const char *text, int len)
{
    Token *t = lex_emit(lx, contextual_kind(lx, text, len), 0);
    if (!lx->names)
        return;
    size_t i = 0;
    while (i < (size_t)len && (unsigned char)text[i] < 0xCC)
        i++;
    if (is_text(text, len, "π")) {
        t->name = names_intern(lx->names, "pi", 2);
    } else if (i == (size_t)len) {
        t->name = names_intern(lx->names, text, (size_t)len);
    } else {
        compose_name(lx, text, (size_t)len);
        lx->tokens[lx->count - 1].name = names_intern(lx->names, lx->piece.data, lx->piece.len);
    }
}

/* `else` and `catch` go on with the block that was closed on a line before. */
static void join_block(Lexer *lx, int kind)
{
    if ((kind == T_ELSE || kind == T_CATCH) && lx->count > 1 && lex_last_kind(lx) == T_NEWLINE &&
        lx->tokens[lx->count - 2].kind == T_RBRACE)
        lx->count--;
}

void lex_emit_keyword(Lexer *lx, int kind, const char *text, int len)
{
    if (lex_last_kind(lx) == T_DOT) {                      /* a field may have any name */
        lex_emit_name(lx, text, len);
        return;
    }
    int op;
    kind = token_keyword(text, (size_t)len, &op);
    join_block(lx, kind);
    lex_emit(lx, kind, op);
    if (kind == T_EXTERN)
        lx->extern_pending = true;
}

/* ---- lines ---- */

void lex_end_line(Lexer *lx)
{
    if (innermost(lx) && innermost(lx)->in_string)
        lex_string_unclosed(lx);
    lx->space = true;
    lx->line_from = lx->to;
    if (inside_parentheses(lx)) {
        lx->inside_newline = true;
        lx->line_start = true;
        return;
    }
    int last = lex_last_kind(lx);
    bool comma_of_list = token_continues_line(last);
    if (lx->count && last != T_NEWLINE && last != T_LBRACE && !comma_of_list) {
        lex_emit(lx, T_NEWLINE, 0);
        lx->in_header = lx->extern_pending = false;
    }
    lx->space = lx->line_start = true;
}

void lex_end_text(Lexer *lx)
{
    lx->from = lx->to = (uint32_t)lx->len;
    if (innermost(lx) && innermost(lx)->in_string)
        lex_string_unclosed(lx);
    if (token_continues_line(lex_last_kind(lx)) && lx->count)
        lx->incomplete |= !lx->failed;
    if (lx->depth) {
        lx->incomplete |= !lx->failed;
        complain_unclosed_block(lx);
    }
    while (lx->depth)
        close_made(lx);
    lex_emit(lx, T_END, 0);
}

void lex_add_comment(Lexer *lx)
{
    uint32_t to = lx->to;
    while (to > lx->from &&
           (lx->text[to - 1] == '\r' || lx->text[to - 1] == ' ' || lx->text[to - 1] == '\t'))
        to--;
    if (lx->comment_count == lx->comment_cap) {
        uint32_t cap = lx->comment_cap ? lx->comment_cap * 2 : 16;
        lx->comments = mem_realloc(lx->ctx, lx->comments, lx->comment_cap * sizeof *lx->comments,
                                   cap * sizeof *lx->comments);
        lx->comment_cap = cap;
    }
    uint32_t at = lx->from;
    while (at > 0 && (lx->text[at - 1] == ' ' || lx->text[at - 1] == '\t'))
        at--;
    bool own_line = at == 0 || lx->text[at - 1] == '\n';
    lx->comments[lx->comment_count++] = (LexComment){ { lx->from, to }, own_line };
    lx->space = true;
}

/* ---- strings ---- */

void lex_string_open(Lexer *lx)
{
    check_line_start(lx, T_STRING);
    buf_clear(&lx->piece);
    push_bracket(lx, '"', lex_match_span(lx));
    lx->piece_from = lx->from;
}

static void string_piece(Lexer *lx, int kind, Span span)
{
    Span match = lex_match_span(lx);
    lx->from = span.from;
    lx->to = span.to;
    lex_emit_text(lx, kind, buf_cstr(&lx->piece), lx->piece.len);
    lx->from = match.from;
    lx->to = match.to;
    buf_clear(&lx->piece);
}

void lex_string_interpolate(Lexer *lx)
{
    Bracket *b = innermost(lx);
    if (!b->literal) {
        Span match = lex_match_span(lx);
        size_t depth = lx->depth--;                    /* the token stands outside its string */
        lx->from = b->span.from;
        lx->to = b->span.to;
        lex_emit(lx, T_STR_BEGIN, 0);
        lx->depth = depth;
        lx->from = match.from;
        lx->to = match.to;
        b = innermost(lx);
        b->literal = true;
        b->token = (uint32_t)lx->count - 1;
        lx->piece_from = b->span.to;
    }
    if (lx->piece.len)
        string_piece(lx, T_STR_TEXT, (Span){ lx->piece_from, lx->from });
    lex_emit(lx, T_INTERP, 0);
    push_bracket(lx, 'i', lex_match_span(lx));
}

void lex_string_close(Lexer *lx)
{
    Bracket b = *innermost(lx);
    if (!b.literal) {
        lx->depth--;
        string_piece(lx, T_STRING, (Span){ b.span.from, lx->to });
        return;
    }
    if (lx->piece.len)
        string_piece(lx, T_STR_TEXT, (Span){ lx->piece_from, lx->from });
    lx->depth--;
    lex_emit(lx, T_STR_END, 0);
}

/* The line ends inside a string: everything of the outermost one is given up. */
void lex_string_unclosed(Lexer *lx)
{
    Bracket b = *innermost(lx);
    while (lx->depth && innermost(lx)->in_string) {
        if (innermost(lx)->open == 'i')
            b = *innermost(lx);
        else if (innermost(lx)->open == '"' && b.open != 'i')
            b = *innermost(lx);
        lx->depth--;
    }
    if (b.open == 'i')
        lex_complain(lx, b.span, "close it with }, or write {{ for a brace",
                     "this { in a string is never closed");
    else
        lex_complain(lx, b.span,
                     "\\n is a line break; a string of several lines stands in backticks",
                     "this string is not closed on its line");
    buf_clear(&lx->piece);
    lex_emit(lx, T_BAD, 0);
    const Bracket *around = innermost(lx);
    while (around && (around->open == '(' || around->open == '[') &&
           around->span.from >= lx->line_from) {
        close_made(lx);                                /* the string has swallowed what closes it */
        lx->forgiven++;
        around = innermost(lx);
    }
}

void lex_string_codepoint(Lexer *lx, const char *digits)
{
    uint32_t c = 0;
    for (; *digits != '}' && c <= 0x10FFFF; digits++)
        c = c * 16 + (uint32_t)(*digits <= '9' ? *digits - '0' : (*digits | 32) - 'a' + 10);
    if (c > 0x10FFFF || (c >= 0xD800 && c < 0xE000))
        lex_complain(lx, lex_match_span(lx), NULL, "there is no character with this number");
    else
        buf_put_codepoint(&lx->piece, c);
}

/* One past the closing ' on this line, or past the opening one. */
uint32_t lex_quote_end(Lexer *lx)
{
    for (uint32_t at = lx->to; at < lx->len && lx->text[at] != '\n'; at++)
        if (lx->text[at] == '\'')
            return at + 1;
    return lx->to;
}

void lex_quoted(Lexer *lx, uint32_t end)
{
    bool closed = end > lx->from + 1;
    uint32_t len = closed ? end - lx->from - 2 : 0;
    char help[96];
    snprintf(help, sizeof help, "write \"%.*s\"", (int)(len > 40 ? 0 : len),
             lx->text + lx->from + 1);
    lex_complain(lx, (Span){ lx->from, end }, closed && len <= 40 ? help : NULL,
                 closed ? "strings stand in double quotes" : "a ' here has nothing to transpose");
    if (closed)
        lex_emit_text(lx, T_STRING, lx->text + lx->from + 1, len);
    else
        lex_emit(lx, T_BAD, 0);
}

uint32_t lex_docstring_end(Lexer *lx)
{
    const char *end = memmem(lx->text + lx->to, lx->len - lx->to, "\"\"\"", 3);
    return end ? (uint32_t)(end - lx->text) + 3 : (uint32_t)lx->len;
}

void lex_end_extern(Lexer *lx)
{
    uint32_t from = lx->piece_from + 1, to = lx->to > from ? lx->to - 1 : from;
    if (to < from)
        to = from;
    lx->from = lx->piece_from;
    lex_emit_text(lx, T_EXTERN_BODY, lx->text + from, to - from);
}

void lex_extern_comment(Lexer *lx)
{
    lex_complain(lx, (Span){ lx->from, lx->from + 2 }, NULL, "this comment is never closed");
    lx->incomplete = true;
}

/* ---- small looks ahead ---- */

static bool is_letter(uint32_t c)
{
    if (c < 0x80)
        return (c | 32) - 'a' < 26 || c == '_';
    return c == 0xAA || c == 0xB5 || c == 0xBA ||
           (c >= 0xC0 && c < 0x2000 && c != 0xD7 && c != 0xF7) ||
           (c >= 0x2100 && c < 0x2150) || (c >= 0x2C00 && c < 0x3000) || c >= 0x3040;
}

/* After `1.`: a letter or a dot makes the dot no part of the number. */
bool lex_letter_follows(Lexer *lx)
{
    if (lx->to >= lx->len)
        return false;
    size_t at = lx->to;
    uint32_t c = utf8_next(lx->text, lx->len, &at);
    return c == '.' || is_letter(c);
}

/* `x++` with nothing after it. */
bool lex_lone_step(Lexer *lx)
{
    if (!token_ends_operand(lex_last_kind(lx)))
        return false;
    uint32_t at = lx->to;
    while (at < lx->len && strchr(" \t\r", lx->text[at]) && lx->text[at])
        at++;
    return at >= lx->len || strchr("\n;})]#", lx->text[at]) != NULL;
}

/* ---- the text as a whole ---- */

/* False where the text cannot be scanned at all: no UTF-8, a NUL byte, too long. */
bool lex_accept(Lexer *lx)
{
    size_t good = utf8_check(lx->text, lx->len);
    const char *nul = memchr(lx->text, '\0', lx->len);
    size_t at = nul && (size_t)(nul - lx->text) < good ? (size_t)(nul - lx->text) : good;
    if (at >= lx->len && lx->len < INT_MAX / 2)
        return true;
    Span span = { (uint32_t)at, (uint32_t)at + (at < lx->len) };
    if (at >= lx->len)
        lex_complain(lx, (Span){ 0, 0 }, NULL, "a program has at most 1 GiB");
    else if (at < good)
        lex_complain(lx, span, NULL, "a NUL byte: this is no text");
    else
        lex_complain(lx, span, "save the file as UTF-8", "the byte 0x%02x is not valid UTF-8 here",
                     (unsigned char)lx->text[at]);
    lx->from = lx->to = (uint32_t)at;
    push_token(lx, T_END, 0);
    return false;
}

void lex_release(Lexer *lx)
{
    mem_free(lx->ctx, lx->tokens, lx->cap * sizeof *lx->tokens);
    mem_free(lx->ctx, lx->brackets, lx->bracket_cap * sizeof *lx->brackets);
    mem_free(lx->ctx, lx->comments, lx->comment_cap * sizeof *lx->comments);
    buf_free(&lx->piece);
    lx->tokens = NULL;
    lx->brackets = NULL;
    lx->comments = NULL;
    lx->cap = lx->bracket_cap = lx->comment_cap = 0;
}
