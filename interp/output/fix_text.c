/* Fixes made of the user's own text, for the help lines of errors. */
#include "interp/output/fix_text.h"

#include "core/system/ascii.h"

#include <stdio.h>
#include <string.h>

bool fix_replace(const Error *e, int operand, const char *by, char *out, size_t cap)
{
    const Source *s = e->where.source;
    if (!s || operand < 0 || operand >= e->where.operands)
        return false;
    Span all = e->where.span, part = e->where.operand[operand];
    if (part.from < all.from || part.to > all.to || all.to > s->len ||
        memchr(s->text + all.from, '\n', all.to - all.from))
        return false;
    int n = snprintf(out, cap, "%.*s%s%.*s", (int)(part.from - all.from), s->text + all.from, by,
                     (int)(all.to - part.to), s->text + part.to);
    return n > 0 && (size_t)n < cap;
}

static bool word_char(char ch)
{
    return ascii_alnum(ch) || ch == '_';
}

static bool holds_word(const char *code, const char *word)
{
    size_t n = strlen(word);
    for (const char *p = strstr(code, word); p; p = strstr(p + 1, word))
        if ((p == code || !word_char(p[-1])) && !word_char(p[n]))
            return true;
    return false;
}

/* Behind the parenthesis that closes the one before p; NULL: none does. */
static const char *closed(const char *p)
{
    bool quoted = false;
    for (int depth = 1; *p; p++) {
        if (*p == '"' && p[-1] != '\\')
            quoted = !quoted;
        else if (!quoted && (*p == '(' || *p == ')'))
            depth += *p == '(' ? 1 : -1;
        if (depth == 0)
            return p + 1;
    }
    return NULL;
}

bool fix_each(const char *code, size_t from, const char *operand, char *out, size_t cap)
{
    static const char *const words[] = { "s", "text", "item" };
    size_t name = from, i = 0, length = strlen(operand);
    while (word_char(code[name]))
        name++;
    const char *rest = code + name + 1 + length, *end;
    if (name == from || code[name] != '(' || strncmp(code + name + 1, operand, length) != 0 ||
        (*rest != ',' && *rest != ')') || !(end = closed(code + name + 1)))
        return false;
    while (i < 2 && holds_word(code, words[i]))
        i++;
    int n = snprintf(out, cap, "%.*s[%.*s(%s%.*s for %s in %s]%s", (int)from, code,
                     (int)(name - from), code + from, words[i], (int)(end - rest), rest, words[i],
                     operand, end);
    return n > 0 && (size_t)n < cap;
}

bool fix_number(const Error *e, int operand)
{
    const Source *s = e->where.source;
    if (!s || operand < 0 || operand >= e->where.operands)
        return false;
    Span part = e->where.operand[operand];
    if (part.to > s->len || part.to <= part.from)
        return false;
    for (uint32_t i = part.from; i < part.to; i++)
        if (!ascii_digit(s->text[i]) && !(i == part.from && s->text[i] == '-'))
            return false;
    return true;
}
