/* What a mistake's help shows: the statement it stands in as it is written here, where foreign.h
 * knows. The statement is found among the tokens; its other mistakes are left out then, since the
 * one text mends them all. */
#include "parser/build.h"
#include "parser/foreign/foreign.h"

#include "core/base/error.h"
#include "grammar.h"

#include <stdio.h>
#include <string.h>

/* The tokens of the statement around an offset: [from, to). */
static void statement_tokens(const Lexer *lx, uint32_t at, size_t *from, size_t *to)
{
    size_t low = 0, high = lx->count - 1;
    while (low < high) {                       /* the last token that starts at or before it */
        size_t middle = (low + high + 1) / 2;
        if (lx->tokens[middle].span.from <= at)
            low = middle;
        else
            high = middle - 1;
    }
    if (low > 0 && lx->tokens[low].kind == T_NEWLINE && lx->tokens[low - 1].span.to >= at)
        low--;
    *from = *to = low;
    while (*from > 0 && lx->tokens[*from - 1].kind != T_NEWLINE && low - *from < 300 &&
           !(lx->tokens[*from].flags & TF_LINE &&
             (lx->tokens[*from - 1].kind == T_LBRACE || lx->tokens[*from - 1].kind == T_COLON)))
        --*from;
    while (*to < lx->count && lx->tokens[*to].kind != T_NEWLINE && lx->tokens[*to].kind != T_END &&
           *to - low < 300)
        if (lx->tokens[(*to)++].kind == T_LBRACE && *to < lx->count &&
            lx->tokens[*to].flags & TF_LINE)
            break;
}

/* The text of the statement. Characters that are no tokens may stand at its ends. */
static Span statement_span(const Lexer *lx, uint32_t at, bool line)
{
    size_t from, to;
    statement_tokens(lx, at, &from, &to);
    while (!line && to < lx->count && lx->tokens[to].kind == T_NEWLINE &&
           lx->tokens[to].flags & TF_MADE)
        for (to++; to < lx->count && lx->tokens[to].kind != T_NEWLINE &&
             lx->tokens[to].kind != T_END; to++)
            continue;
    Span s = { lx->tokens[from].span.from < at ? lx->tokens[from].span.from : at,
               to < lx->count ? lx->tokens[to].span.from : (uint32_t)lx->len };
    while (s.from > 0 && lx->text[s.from - 1] != '\n' && from == 0)
        s.from--;
    const char *end = at < lx->len ? memchr(lx->text + at, '\n', lx->len - at) : NULL;
    if (s.to <= at)
        s.to = end ? (uint32_t)(end - lx->text) : (uint32_t)lx->len;
    while (s.from < s.to && strchr(" \t\r\n", lx->text[s.from]))
        s.from++;
    while (s.to > s.from && strchr(" \t\r\n", lx->text[s.to - 1]))
        s.to--;
    return s;
}

static uint32_t indent_of(const Lexer *lx, uint32_t at)
{
    uint32_t from = at, n = 0;
    while (from > 0 && lx->text[from - 1] != '\n')
        from--;
    while (from + n < at && strchr(" \t", lx->text[from + n]))
        n++;
    return n;
}

/* A variable of this text: it is assigned or bound somewhere in it. */
static bool is_variable(void *who, const char *name, size_t len)
{
    const Lexer *lx = who;
    for (size_t i = 0; i + 1 < lx->count && i < 20000; i++) {
        const Token *t = &lx->tokens[i];
        int next = lx->tokens[i + 1].kind, last = i ? lx->tokens[i - 1].kind : T_NEWLINE;
        if (t->kind == T_NAME && t->span.to - t->span.from == len &&
            memcmp(lx->text + t->span.from, name, len) == 0 &&
            (next == T_ASSIGN || next == T_DEFINE || next == T_IN || next == T_ARROW ||
             last == T_FOR || (next == T_COMMA && last != T_IMPORT) || last == T_AS))
            return true;
    }
    return false;
}

/* Most helps show a pattern, and give way to the user's own text; these say more than it does. */
static bool is_reason(const char *help, const char *text)
{
    if (strncmp(help, "`or`", 4) == 0 && !strstr(text, " or "))
        return false;

    static const char *const reasons[] =
        { "`and` joins", "`or` joins", "* and /", "! negates", "/ divides",
                                          "comments start" };
    for (size_t i = 0; i < sizeof reasons / sizeof *reasons; i++)
        if (strncmp(help, reasons[i], strlen(reasons[i])) == 0)
            return true;
    return false;
}

static const char *compose(ParseState *ps, const char *help, const ForeignAnswer *answer)
{
    char text[FOREIGN_TEXT + 400];
    const char *why = answer->note ? answer->note : help && is_reason(help, answer->text)
                      ? help : NULL;
    int n = snprintf(text, sizeof text, "%s%s%s", why ? why : "", why ? ": " : "", answer->text);
    return arena_copy(&ps->chunk->arena, text, (size_t)n);
}

/* A remark that offers two ways is not to be answered with one. */
static bool is_choice(const SyntaxError *e)
{
    return e->help && (strstr(e->help, "for two elements") || strstr(e->help, "(…") ||
                       strstr(e->help, "end of this line"));
}

/* A line that ends in a colon goes on for the scanner, but a header of Python ends there. */
static Span cut_header(const Lexer *lx, Span s)
{
    const char *line = memchr(lx->text + s.from, '\n', s.to - s.from);
    const char *end = line;
    while (end && end > lx->text + s.from && strchr(" \t\r", end[-1]))
        end--;
    if (end && end > lx->text + s.from && end[-1] == ':')
        s.to = (uint32_t)(end - lx->text);
    return s;
}

static bool translate(ParseState *ps, SyntaxError *e, Span s)
{
    const Lexer *lx = &ps->lexer;
    s = cut_header(lx, s);
    uint32_t below = s.to;
    while (below < lx->len && lx->text[below] != '\n')
        below++;
    below += below < lx->len;
    ForeignFacts facts = { .what = FOREIGN_SYNTAX, .at = e->span.from - s.from, .who = (void *)lx,
                           .own = is_variable, .accepts = parse_accepts, .body = lx->text + below,
                           .body_len = lx->len - below, .indent = indent_of(lx, s.from) };
    ForeignAnswer answer;
    if (is_choice(e) || s.to <= s.from ||
        !foreign_rewrite(ps->ctx, ps->lexer.names, lx->text + s.from, s.to - s.from,
                         &facts, &answer))
        return false;
    enum { SHOWN = 110 };
    if (strlen(answer.text) > SHOWN)
        return false;
    e->help = compose(ps, e->help, &answer);
    return true;
}

void syntax_translate(ParseState *ps)
{
    Span mended = { 0, 0 };
    int kept = 0, tried = 0;
    for (int i = 0; i < ps->error_count; i++) {
        SyntaxError e = ps->errors[i];
        if (mended.to > mended.from && e.span.from >= mended.from && e.span.from <= mended.to)
            continue;
        Span s = statement_span(&ps->lexer, e.span.from, false),
             line = statement_span(&ps->lexer, e.span.from, true);
        bool try = kept < SYNTAX_ERRORS_MAX && tried++ < 2 * SYNTAX_ERRORS_MAX;
        if (try && translate(ps, &e, s))
            mended = cut_header(&ps->lexer, s);
        else if (try && line.to != s.to && translate(ps, &e, line))
            mended = cut_header(&ps->lexer, line);
        ps->errors[kept++] = e;
    }
    ps->error_count = kept;
}
