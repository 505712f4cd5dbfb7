/* Syntax errors: what was found, what could have stood there, in plain words, with help
 * for spellings of other languages. Mistakes are collected and raised together at the end;
 * a mistake that follows from a reported one is left out. */
#include "parser/build.h"

#include "core/system/c_locale.h"
#include "core/base/error.h"
#include "parser/foreign/foreign.h"
#include "grammar.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- collecting ---- */

void syntax_report(ParseState *ps, Span span, const char *help, const char *message)
{
    if (ps->error_count >= SYNTAX_ERRORS_KEPT || ps->memory)
        return;
    ErrFrame frame;
    if (!ERR_TRY(ps->ctx, &frame)) {
        ps->memory = true;
        return;
    }
    SyntaxError *e = &ps->errors[ps->error_count];
    e->span = span;
    e->message = arena_copy(&ps->chunk->arena, message, strlen(message));
    e->help = help ? arena_copy(&ps->chunk->arena, help, strlen(help)) : NULL;
    ps->error_count++;
    ERR_END(ps->ctx, &frame);
}

void syntax_error(ParseState *ps, Span span, const char *help, const char *fmt, ...)
{
    char message[400];
    va_list args;
    va_start(args, fmt);
    c_vsnprintf(message, sizeof message, fmt, args);
    va_end(args);
    syntax_report(ps, span, help, message);
}

static int by_place(const void *a, const void *b)
{
    const SyntaxError *x = a, *y = b;
    return x->span.from < y->span.from ? -1 : x->span.from > y->span.from;
}

static Error *make_error(ParseState *ps, const SyntaxError *e)
{
    Error *error = err_new(ps->ctx, ERR_SYNTAX, "%s", e->message);
    err_at(error, ps->chunk->source, e->span);
    if (e->help)
        err_help(error, "%s", e->help);
    return error;
}

/* The line below the last error that is shown. */
static void add_count(Error *first, int more)
{
    char line[64];
    snprintf(line, sizeof line, "… and %d more%s", more,
             more + SYNTAX_ERRORS_MAX >= SYNTAX_ERRORS_KEPT ? " or so: the rest was not read" : "");
    err_append_line(first, line);
}

/* Raises the first error in the order of the text; it carries the others along. */
void syntax_raise(ParseState *ps)
{
    qsort(ps->errors, (size_t)ps->error_count, sizeof *ps->errors, by_place);
    syntax_translate(ps);
    int count = ps->error_count < SYNTAX_ERRORS_MAX ? ps->error_count : SYNTAX_ERRORS_MAX;
    Error *first = make_error(ps, &ps->errors[0]), *volatile next = NULL;
    ErrFrame frame;
    if (!ERR_TRY(ps->ctx, &frame)) {
        err_free(next);
        err_free(first);
        err_rethrow(ps->ctx);
    }
    for (int i = 1; i < count; i++) {
        next = make_error(ps, &ps->errors[i]);
        err_append(first, next);
        err_free(next);
        next = NULL;
    }
    if (ps->error_count > count)
        add_count(first, ps->error_count - count);
    ERR_END(ps->ctx, &frame);
    err_throw(first);
}

/* ---- describing what was found ---- */

typedef struct Unexpected {
    ParseState *ps;
    const Token *found, *prev;              /* prev may be NULL */
    Token *next;
    bool can[T_ASSERT + 1 - T_NEWLINE];     /* what could stand here */
} Unexpected;

static bool can_be(const Unexpected *u, int kind)
{
    return u->can[kind - T_NEWLINE];
}

static int text_len(const Token *t)
{
    uint32_t len = t->span.to - t->span.from;
    return len > 60 ? 60 : (int)len;
}

static const char *text_of(const Unexpected *u, const Token *t)
{
    return u->ps->lexer.text + t->span.from;
}

static bool is_text(const Unexpected *u, const Token *t, const char *word)
{
    size_t len = t ? t->span.to - t->span.from : 0;
    return t && strlen(word) == len && memcmp(text_of(u, t), word, len) == 0;
}

/* In a ring of two buffers. */
static const char *describe(const Unexpected *u, const Token *t, char buffer[80])
{
    switch (t->kind) {
    case T_NEWLINE: return "the end of the line";
    case T_END: return "the end of the text";
    case T_STRING: case T_STR_BEGIN: case T_STR_TEXT: return "a string";
    case T_STR_END: return "the end of the string";
    case T_INTERP_END: return "the } of the string";
    default:
        snprintf(buffer, 80, "`%.*s`", text_len(t), text_of(u, t));
        return buffer;
    }
}

static Span place_of(const Unexpected *u)
{
    const Token *t = u->found;
    if ((t->kind == T_NEWLINE || t->kind == T_END) && u->prev)
        return (Span){ u->prev->span.to, u->prev->span.to };
    return t->span;
}

static void say(const Unexpected *u, const char *help, const char *message)
{
    syntax_report(u->ps, place_of(u), help, message);
}

/* ---- foreign spellings: a word where none can stand ---- */

typedef struct Foreign { const char *word, *help; } Foreign;

static const Foreign before_name[] = {
    { "def", "functions are written fn f(x) { … }" },
    { "function", "functions are written fn f(x) { … }" },
    { "func", "functions are written fn f(x) { … }" },
    { "fun", "functions are written fn f(x) { … }" },
    { "let", "a variable is made by assigning it: x = 1" },
    { "var", "a variable is made by assigning it: x = 1" },
    { "const", "a variable is made by assigning it: x = 1" },
    { "local", "a name assigned in a function is local: x = 1" },
    { "global", "functions return what they change: x = f(x)" },
    { "nonlocal", "functions return what they change: x = f(x)" },
    { "lambda", "functions without a name are written x -> x^2" },
    { "print", "calls have parentheses: print(x)" },
    { "echo", "print(x) prints" },
    { "from", "write import hilb, vander from gallery" },
    { "elif", "write } else if c { … }" },
    { "elseif", "write } else if c { … }" },
    { "elsif", "write } else if c { … }" },
    { "foreach", "write for x in v { … }" },
    { "unless", "write if not c { … }" },
    { "until", "write while not c { … }" },
    { "repeat", "write for k in 0:n { … }" },
    { "class", "records are named tuples: (x=1, y=2)" },
    { "struct", "records are named tuples: (x=1, y=2)" },
    { "switch", "write if … { } else if … { }" },
    { "match", "write if … { } else if … { }" },
    { "with", "read(\"a.txt\") gives a file's text; scopes are written precision f32 { … }, "
              "on gpu { … }" },
    { "raise", "errors are raised by throw" },
    { "using", "nothing to import for functions of the language; import stats, import \"file.ric\" "
               "as m for modules" },
    { "include", "write import \"file.ric\" as m" },
    { "clear", "there is nothing to clear: a name can be assigned again" },
    { "hold", "plot(x, y) takes several series at once" },
    { "format", "format(digits=…) sets what print shows" },
    { "close", "pictures need no closing" },
    { "new", "values are made by functions: zeros(3), (x=1, y=2)" },
    { "do", "blocks stand in braces: { … }" },
    { "begin", "blocks stand in braces: { … }" },
    { "export", "every name of a file that is imported can be read: m.f" },
    { "public", "every name of a file that is imported can be read: m.f" },
    { "private", "every name of a file that is imported can be read: m.f" },
    { "goto", "loops are for, while, break and continue" },
    { "yield", "a function returns; [f(x) for x in v] makes all values" },
    { "async", "there is nothing to wait for: large operations run on all cores by themselves" },
    { "await", "there is nothing to wait for: large operations run on all cores by themselves" },
    { "except", "write } catch e { … }" },
    { "case", "write } else if x == 1 { … }" },
    { "type", "records are named tuples: (x=1, y=2)" },
    { "typedef",
      "records are named tuples: (x=1, y=2); C declarations stand in extern \"lib\" { … }" },
    { "enum",
      "records are named tuples: (x=1, y=2); C declarations stand in extern \"lib\" { … }" },
    { "module", "a file is a module: import \"file.ric\" as m" },
    { "package", "a file is a module: import \"file.ric\" as m" },
    { "namespace", "a file is a module: import \"file.ric\" as m" },
    { "del", "variables end by themselves" },
};

static const Foreign found_name[] = {
    { "elif", "write } else if c { … }" },
    { "elseif", "write } else if c { … }" },
    { "elsif", "write } else if c { … }" },
    { "then", "a block stands in braces: if c { … }" },
    { "do", "a block stands in braces: while c { … }" },
    { "end", "a block ends with }" },
    { "is", "== compares" },
    { "mod", "a % b is the remainder" },
    { "div", "a // b divides and rounds down" },
    { "xor", "xor(a, b) is a function" },
    { "where", "where(condition, x, y) chooses element by element" },
    { "except", "write try { … } catch e { … }" },
    { "of", NULL },
};

static const char *foreign_help(const Unexpected *u, const Token *t, const Foreign *table,
                                size_t count)
{
    for (size_t i = 0; t && t->kind == T_NAME && i < count; i++)
        if (is_text(u, t, table[i].word))
            return table[i].help;
    return NULL;
}

#define FOREIGN(u, t, table) foreign_help(u, t, table, sizeof table / sizeof *table)

/* ---- the cases, most telling first; each says something or returns false ---- */

static bool case_else(const Unexpected *u)
{
    int kind = u->found->kind;
    if (kind != T_ELSE && kind != T_CATCH)
        return false;
    const char *word = kind == T_ELSE ? "else" : "catch";
    char message[120];
    if (u->prev && (u->prev->kind == T_NEWLINE || u->prev->kind == T_SEMI)) {
        snprintf(message, sizeof message, "`%s` stands on the line of the } before it", word);
        say(u, kind == T_ELSE ? "} else {" : "} catch e {", message);
    } else {
        snprintf(message, sizeof message, "this `%s` has no `%s` before it", word,
                 kind == T_ELSE ? "if" : "try");
        say(u, NULL, message);
    }
    return true;
}

/* The colon behind the header of a block, as Python has it: read as that of a range. */
static const Token *header_colon(const Unexpected *u)
{
    const Token *first = u->ps->lexer.tokens, *found = NULL;
    int depth = 0;
    for (const Token *t = u->found; t > first && u->found - t < 2000; t--) {
        depth += (t->kind == T_RPAREN) + (t->kind == T_RBRACKET) + (t->kind == T_RBRACE);
        depth -= (t->kind == T_LPAREN) + (t->kind == T_LBRACKET) + (t->kind == T_LBRACE);
        if (depth < 0 || t[-1].kind == T_NEWLINE || t[-1].kind == T_SEMI)
            break;
        bool header = t->flags & TF_SPACE || t->flags & TF_LINE || t->kind == T_NEWLINE ||
                      t->kind == T_END;
        if (depth == 0 && t[-1].kind == T_COLON && header && !(t[-1].flags & TF_SPACE))
            found = t - 1;
    }
    return found;
}

static bool case_block(const Unexpected *u)
{
    if (!can_be(u, T_LBRACE))
        return false;
    char buffer[80], message[160];
    const char *help = "a block stands in braces: if c { … }";
    if (u->found->kind == T_NEWLINE && u->next && u->next->kind == T_LBRACE) {
        say(u, "put it at the end of this line", "the { stands on the line of its header");
        u->next->flags |= TF_MADE;          /* the block that follows is explained by this */
        return true;
    }
    bool assigns = u->found->kind == T_ASSIGN || u->found->kind == T_DEFINE;
    if (assigns && !header_colon(u)) {
        say(u, "== compares", "a condition cannot assign");
        return true;
    }
    const Token *colon = u->found->kind == T_LBRACE ? NULL : header_colon(u);
    if (u->prev && is_text(u, u->prev, "try"))
        help = "try { … } catch e { … }";
    if (colon) {
        syntax_report(u->ps, colon->span, help, "a block stands in braces, not after a colon");
        return true;
    }
    const char *special = FOREIGN(u, u->found, found_name);
    if (u->prev && u->prev->kind == T_EXPLAIN)
        special = "inside an expression: explain { … }, or (explain …)";
    if (u->found->kind == T_MODARG || u->found->kind == T_MODIFIER)
        special = "a compare entry that has modifiers is written precision f16 accumulate f16";
    snprintf(message, sizeof message, "expected { before %s", describe(u, u->found, buffer));
    say(u, special ? special : help, message);
    return true;
}

/* After the block of a try: `catch` on the next line is explained here, and once. */
static bool case_catch(const Unexpected *u)
{
    if (!can_be(u, T_CATCH) || !u->prev || u->prev->kind != T_RBRACE)
        return false;
    if (u->found->kind == T_NEWLINE && u->next && u->next->kind == T_CATCH) {
        say(u, "} catch e {", "`catch` stands on the line of the } before it");
        u->next->flags |= TF_MADE;
    } else {
        say(u, "try { … } catch e { … }", "this block of a `try` has no `catch` after it");
    }
    return true;
}

static bool case_for(const Unexpected *u)
{
    if (!can_be(u, T_IN) || can_be(u, T_NAME) || can_be(u, T_COMPARISON))
        return false;
    char buffer[80], message[160];
    snprintf(message, sizeof message, "expected `in` before %s", describe(u, u->found, buffer));
    say(u, "write for k in 0:n { … }", message);
    return true;
}

/* The word before the bracket that the token closes, as std in `std[i] x[i]`. */
static const Token *word_before(const Unexpected *u, const Token *closer)
{
    int depth = 0;
    for (const Token *t = closer; t > u->ps->lexer.tokens; t--) {
        depth += (t->kind == T_RBRACKET) - (t->kind == T_LBRACKET);
        if (depth == 0)
            return t[-1].kind == T_NAME ? t - 1 : NULL;
    }
    return NULL;
}

/* Two values side by side of which the first ends in brackets. */
static const char *after_brackets(const Unexpected *u)
{
    static const char *const others[] = { "std", "var", "norm", "median", "count", "cumsum", "Σ" };
    const Token *word = word_before(u, u->prev);
    for (size_t i = 0; word && i < sizeof others / sizeof *others; i++)
        if (is_text(u, word, others[i]))
            return "over an index: sum[k], and prod max min mean any all argmax argmin";
    return word ? "a product is written with *: A[i,k] * B[k,j]" : NULL;
}

/* `H[i,j] = … for i in …`: the statement so far stores into an element. */
static bool stores_element(const Unexpected *u)
{
    for (const Token *t = u->found - 1; t > u->ps->lexer.tokens && t->kind != T_NEWLINE; t--)
        if (t->kind == T_ASSIGN)
            return t[-1].kind == T_RBRACKET;
    return false;
}

/* The text from a token to the end of its line, or to the bracket that closes its first one. */
static int rest_of(const Unexpected *u, const Token *t, bool brackets)
{
    const char *from = text_of(u, t), *s = from;
    int depth = 0;
    for (; *s && *s != '\n' && *s != '#' && !(*s == '/' && s[1] == '/'); s++) {
        depth += (*s == '(') - (*s == ')');
        if (brackets && *s == ')' && depth == 0)
            return (int)(s + 1 - from);
    }
    while (s > from && (s[-1] == ' ' || s[-1] == '\t' || s[-1] == '\r' || s[-1] == ';'))
        s--;
    return (int)(s - from);
}

/* What C writes beside a type or a library: `p = struct point(1, 2)`, `extern "libc.so.6" int
 * abs(int);`. */
static const char *of_c(const Unexpected *u, char help[200])
{
    const Token *f = u->found, *p = u->prev, *before = p > u->ps->lexer.tokens ? p - 1 : NULL;
    if (!before || f->kind != T_NAME)
        return NULL;
    bool is_struct = is_text(u, p, "struct") || is_text(u, p, "union");
    bool makes = is_struct && u->next && u->next->kind == T_LPAREN;
    bool declares = p->kind == T_STRING && before->kind == T_EXTERN;
    int len = makes || declares ? rest_of(u, f, makes) : 0;
    if (len == 0 || len > 100)
        return NULL;
    if (makes)
        snprintf(help, 200, "the type of an extern block makes one: %.*s", len, text_of(u, f));
    else
        snprintf(help, 200, "extern %.*s { %.*s; }", text_len(p), text_of(u, p), len,
                 text_of(u, f));
    return help;
}

/* `from numpy`, `using LinearAlgebra`, `import torch.nn`. */
static const char *of_library(const Unexpected *u, const Token *t)
{
    char name[64];
    int n = t && t->kind == T_NAME ? text_len(t) : 0;
    snprintf(name, sizeof name, "%.*s", n, n ? text_of(u, t) : "");
    return n ? foreign_library(name) : NULL;
}

static bool case_two_values(const Unexpected *u)
{
    const Token *f = u->found, *p = u->prev;
    if (!p || !token_ends_operand(p->kind) || !token_starts_operand(f->kind) || f->kind == T_SIGN)
        return false;
    char a[80], b[80], message[240], product[96], c_text[200];
    const char *help = of_c(u, c_text);
    if (!help && (is_text(u, p, "from") || is_text(u, p, "using") || is_text(u, p, "include")))
        help = of_library(u, f);
    if (!help)
        help = FOREIGN(u, p, before_name);
    if (!help)
        help = FOREIGN(u, f, found_name);
    bool number = p->kind == T_INT || p->kind == T_FLOAT;
    bool string = f->kind == T_STRING || f->kind == T_STR_BEGIN;
    if (!help && string && !(f->flags & TF_SPACE) && is_text(u, p, "f"))
        help = "every \"…\" interpolates {x}, without a letter before it";
    else if (!help && string && !(f->flags & TF_SPACE) && is_text(u, p, "r"))
        help = "raw strings stand in backticks: `…`";
    else if (!help && number && f->kind == T_NAME && !(f->flags & TF_SPACE)) {
        snprintf(product, sizeof product, "write a product as %.*s*%.*s", text_len(p),
                 text_of(u, p), text_len(f), text_of(u, f));
        help = product;
    } else if (!help && f->kind == T_FLOAT && text_of(u, f)[0] == '.' && !number) {
        help = "elements are read as t[0]";
    } else if (!help && can_be(u, T_COMMA) && can_be(u, T_RBRACKET)) {
        help = "elements are separated by commas, rows by ;";
    } else if (!help && p->kind == T_RBRACKET && f->kind == T_NAME) {
        help = after_brackets(u);
    } else if (!help && f->kind == T_IF) {
        help = "a choice is written if c { a } else { b }, between elements where(c, a, b)";
    } else if (!help && f->kind == T_FOR && stores_element(u)) {
        help = "index notation is written with :=";
    } else if (!help && f->kind == T_FOR) {
        help = "a comprehension stands in square brackets: [x^2 for x in 0:5]";
    }
    snprintf(message, sizeof message,
             "%s directly after %s: an operator, a comma or a line break is missing",
             describe(u, f, b), describe(u, p, a));
    say(u, help, message);
    return true;
}

static bool case_statement_start(const Unexpected *u)
{
    const Token *p = u->prev;
    if (p && p->kind != T_NEWLINE && p->kind != T_SEMI && p->kind != T_LBRACE)
        return false;
    char buffer[80], message[160];
    int kind = u->found->kind;
    if (!token_continues_line(kind) && kind != T_DOT)
        return false;
    bool goes_on = p && p->kind == T_NEWLINE && u->found->flags & TF_LINE &&
                   u->found > u->ps->lexer.tokens + 1;
    const char *help = goes_on ? "end the line before with it" : NULL;
    if (is_text(u, u->found, "//") || is_text(u, u->found, "%") || is_text(u, u->found, "/"))
        help = "comments start with #";
    else if (is_text(u, u->found, "@"))
        help = "a function is called by its name: f(x)";
    else if (kind == T_DOT && !goes_on)
        help = "values have names here: x.name, x[0], x |> f";
    else if (is_text(u, u->found, "\\"))
        help = "functions without a name are written x -> x^2";
    snprintf(message, sizeof message, "a statement cannot start with %s",
             describe(u, u->found, buffer));
    say(u, help, message);
    return true;
}

/* Is the statement so far the header of a block? */
static bool begins_block(const Unexpected *u)
{
    const Token *t = u->found - 1, *first = u->ps->lexer.tokens;
    while (t > first && u->found - t < 2000 && t[-1].kind != T_NEWLINE && t[-1].kind != T_LBRACE &&
           !(t->flags & TF_LINE && t[-1].kind == T_COLON))
        t--;
    return t->kind == T_IF || t->kind == T_FOR || t->kind == T_WHILE || t->kind == T_ELSE ||
           t->kind == T_FN || t->kind == T_TRY;
}

static bool case_value(const Unexpected *u)
{
    if (!can_be(u, T_INT) || !u->prev)
        return false;
    char a[80], b[80], message[240];
    const char *help = NULL;
    const Token *p = u->prev, *f = u->found;
    if (p->kind == T_COLON && (f->flags & TF_LINE || f->kind == T_END) && begins_block(u)) {
        syntax_report(u->ps, p->span, "a block stands in braces: if c { … }",
                      "a block stands in braces, not after a colon");
        return true;
    }
    if (p->kind == T_LBRACE && f->kind == T_COMMA)
        help = "records are named tuples: (x=1, y=2)";
    else if (f->kind == T_LBRACE && (p->kind == T_IF || p->kind == T_WHILE))
        help = p->kind == T_IF ? "a condition is missing: if c { … }"
                               : "a condition is missing: while c { … }";
    else if (f->kind == T_LBRACE)
        help = "a tuple is written (1, 2), a record (x=1, y=2)";
    else if (f->kind == T_FN)
        help = "functions without a name are written (x, y) -> x + y";
    else if (f->kind == T_ASSIGN && p->kind == T_COLON)
        help = ":= is written without a space";
    else if (f->kind == T_ASSIGN && p->kind == T_COMPARISON)
        help = "comparisons are == != < <= > >=";
    else if (p->kind == T_COLON && (f->kind == T_NEWLINE || f->kind == T_END))
        help = "a block stands in braces: { … }";
    if (f->kind == T_NEWLINE && p->kind == T_INTERP)
        help = NULL;
    if (p->kind == T_INTERP)
        snprintf(message, sizeof message,
                 "expected a value after the { of the string; {{ writes a brace");
    else if (p->kind == T_NEWLINE || p->kind == T_SEMI)
        snprintf(message, sizeof message, "a statement cannot start with %s", describe(u, f, b));
    else
        snprintf(message, sizeof message, "expected a value after %s, found %s", describe(u, p, a),
                 describe(u, f, b));
    say(u, help, message);
    return true;
}

/* The innermost bracket that is open at the found token. */
static const Token *open_bracket(const Unexpected *u)
{
    enum { LOOKED_AT = 200000 };
    int depth = 0;
    for (const Token *t = u->found - 1; t >= u->ps->lexer.tokens && u->found - t < LOOKED_AT; t--) {
        bool closes = t->kind == T_RPAREN || t->kind == T_RBRACKET || t->kind == T_RBRACE ||
                      t->kind == T_INTERP_END;
        bool opens = t->kind == T_LPAREN || t->kind == T_LBRACKET || t->kind == T_LBRACE ||
                     t->kind == T_INTERP;
        if (opens && depth-- == 0)
            return t;
        depth += closes;
    }
    return NULL;
}

static bool case_closer(const Unexpected *u)
{
    const Token *open = open_bracket(u);
    int closer = !open ? 0 : open->kind == T_LPAREN ? T_RPAREN : open->kind == T_LBRACKET
                 ? T_RBRACKET : 0;
    if (!closer || !can_be(u, closer))
        return false;
    char b[80], message[240];
    const char *help = NULL;
    Place at = source_place(u->ps->chunk->source, open->span.from);
    if (u->found->kind == T_ASSIGN)
        help = closer == T_RPAREN ? "a named argument is written name=value, a comparison =="
                                  : "== compares, and a range is given with in: sum[k in 0:n]";
    else if (u->found->kind == T_DEFINE)
        help = ":= stands alone: C[i,k] := A[i,j] * B[j,k]";
    else if (u->found->kind == T_SEMI && closer == T_RPAREN)
        help = "arguments are separated by commas; write for k in 0:n { … } for a counting loop";
    snprintf(message, sizeof message, "expected %s or a comma for the %s opened at %u:%u, found %s",
             closer == T_RPAREN ? ")" : "]", closer == T_RPAREN ? "(" : "[", at.line, at.column,
             describe(u, u->found, b));
    say(u, help, message);
    return true;
}

static const struct { int kind; const char *text; } expected_words[] = {
    { T_NAME, "a name" }, { T_STRING, "a string" }, { T_INT, "a number" }, { T_LPAREN, "(" },
    { T_RPAREN, ")" }, { T_RBRACKET, "]" }, { T_LBRACKET, "[" }, { T_CATCH, "`catch`" },
    { T_COMMA, "a comma" },
    { T_COLON, "`:`" }, { T_FROM, "`from`" }, { T_AS, "`as`" }, { T_EXTERN_BODY, "{" },
    { T_ASSIGN, "`=`" },
    { T_INTERP_END, "}" }, { T_IN, "`in`" }, { T_FOR, "`for`" },
    { T_NEWLINE, "the end of the line" },
};

static void case_rest(const Unexpected *u)
{
    char b[80], message[400];
    int count = 0, n = 0;
    enum { WORDS = sizeof expected_words / sizeof *expected_words };
    for (int i = 0; i < WORDS; i++)
        count += can_be(u, expected_words[i].kind);
    const char *help = NULL;
    if (u->found->kind == T_STR_BEGIN && u->prev && u->prev->kind == T_EXTERN) {
        say(u, "write it out: what a block declares is known before the program runs",
            "the name of a library has no {…} in it");
        return;
    }
    if (u->prev && u->prev->kind == T_EXTERN)
        help = "the library is a string: extern \"libm.so.6\" { double cbrt(double x); }";
    else if (u->found->kind == T_DOT && u->prev && u->prev > u->ps->lexer.tokens &&
             u->prev[-1].kind == T_IMPORT)
        help = of_library(u, u->prev);
    else if (u->found->kind == T_DEFINE)
        help = ":= stands alone: C[i,k] := A[i,j] * B[j,k]";
    else if (u->found->kind == T_NEWLINE && can_be(u, T_EXTERN_BODY))
        help = "the { stands on the same line";
    else if (u->found->kind == T_LBRACE && u->prev && u->prev->kind == T_MODARG &&
             is_text(u, u->prev, "fallback"))
        help = "a device follows: fallback cpu { … }";
    else if (u->found->kind == T_LBRACE)
        help = "braces belong to if, for, while, fn, … ; records are named tuples: (x=1, y=2)";
    else if (u->found->kind == T_COLON)
        help = "a block stands in braces: { … }";
    else if (u->prev && u->prev->kind == T_FN && u->found->kind == T_LPAREN)
        help = "functions without a name are written (x, y) -> x + y";
    if (count > 0 && count <= 3) {
        n = snprintf(message, sizeof message, "expected ");
        for (int i = 0; i < WORDS; i++)
            if (can_be(u, expected_words[i].kind))
                n += snprintf(message + n, sizeof message - (size_t)n, "%s%s",
                              expected_words[i].text,
                              --count > 1 ? ", " : count == 1 ? " or " : "");
        snprintf(message + n, sizeof message - (size_t)n, ", found %s", describe(u, u->found, b));
    } else {
        snprintf(message, sizeof message, "%s cannot stand here", describe(u, u->found, b));
    }
    say(u, help, message);
}

/* A mistake that the scanner reported on the same line explains this one, and so does an
 * unclosed bracket around it. */
static bool already_explained(const Unexpected *u)
{
    const ParseState *ps = u->ps;
    const Token *found = u->found;
    if (found->kind == T_BAD || found->flags & TF_MADE)
        return true;
    const Token *open = open_bracket(u);
    bool header = u->prev && u->prev->kind == T_COLON && found->flags & TF_LINE;
    uint32_t line = source_line(ps->chunk->source, header ? u->prev->span.from : found->span.from);
    for (int i = 0; i < ps->error_count; i++)
        if (source_line(ps->chunk->source, ps->errors[i].span.from) == line ||
            (open && ps->errors[i].span.from == open->span.from))
            return true;
    return false;
}

/* No format after precision, autocast, accumulate, backward or shadow, no mode after round. */
static bool case_header(const Unexpected *u)
{
    char buffer[80], message[160];
    int after = u->prev ? u->prev->kind : 0;
    bool scope = after == T_PRECISION || after == T_AUTOCAST;
    bool accumulate = after == T_MODARG && is_text(u, u->prev, "accumulate");
    bool round = after == T_MODARG && is_text(u, u->prev, "round");
    bool backward = after == T_MODARG && is_text(u, u->prev, "backward");
    bool shadow = after == T_MODARG && is_text(u, u->prev, "shadow");
    if (!scope && !accumulate && !round && !backward && !shadow)
        return false;
    const char *word = round ? "round" : accumulate ? "accumulate" : backward ? "backward"
                       : shadow ? "shadow"
                       : after == T_PRECISION ? "precision" : "autocast";
    snprintf(message, sizeof message, "expected a %s after `%s`, found %s",
             round ? "mode" : "format", word, describe(u, u->found, buffer));
    say(u, round ? "modes are nearest away zero up down odd stochastic" :
           accumulate ? "as in accumulate f32" : backward ? "as in backward e5m2" :
           shadow ? "as in shadow mp(200)" :
           after == T_AUTOCAST ? "as in autocast bf16 { … }" :
                                 "a format is a name, a call or in parentheses: bf16, decimal(3), "
                                 "mp(200), (dtype(x))",
        message);
    return true;
}

/* f(on=1), (in=2): a word of the language where a name with a value is meant. */
static bool case_word_as_name(const Unexpected *u)
{
    const Token *first = u->ps->lexer.tokens, *f = u->found;
    const Token *word = f->kind == T_ASSIGN && f > first ? f - 1 : f;
    const char *text = u->ps->chunk->source->text + word->span.from;
    int op, len = (int)(word->span.to - word->span.from);
    char message[120], help[80];
    if (word == first || word[1].kind != T_ASSIGN || !token_keyword(text, (size_t)len, &op) ||
        (word[-1].kind != T_LPAREN && word[-1].kind != T_COMMA))
        return false;
    snprintf(message, sizeof message, "`%.*s` is a word of the language, and names no argument "
                                      "or field here", len, text);
    snprintf(help, sizeof help, "a tuple has a field of that name by t[\"%.*s\"] = …", len, text);
    syntax_report(u->ps, word->span, help, message);
    return true;
}

void syntax_unexpected(ParseState *ps, size_t index, const int *expected, int count)
{
    Token *tokens = ps->lexer.tokens;
    Unexpected u = { .ps = ps, .found = &tokens[index], .prev = index ? &tokens[index - 1] : NULL,
                     .next = index + 1 < ps->lexer.count ? &tokens[index + 1] : NULL };
    if (ps->error_count >= SYNTAX_ERRORS_KEPT)
        ps->stop = true;
    if (ps->stop || ps->memory || already_explained(&u))
        return;
    for (int i = 0; i < count; i++)
        if (expected[i] >= T_NEWLINE && expected[i] <= T_ASSERT)
            u.can[expected[i] - T_NEWLINE] = true;
    if (!case_word_as_name(&u) && !case_header(&u) && !case_else(&u) && !case_catch(&u) &&
        !case_for(&u) && !case_block(&u) && !case_two_values(&u) && !case_statement_start(&u) &&
        !case_value(&u) && !case_closer(&u))
        case_rest(&u);
    if (ps->error_count >= SYNTAX_ERRORS_KEPT)
        ps->stop = true;
}
