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
