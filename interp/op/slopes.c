/* Formulas of slopes, found in their rows: see slopes.h. */
#include "interp/op/slopes.h"

#include "core/system/ascii.h"

#include <string.h>

bool slope_mentions(const char *text, size_t len, char name)
{
    for (size_t i = 0; i < len; i++) {
        char before = i ? text[i - 1] : ' ', after = i + 1 < len ? text[i + 1] : ' ';
        bool inside = ascii_alnum(before) || before == '_' || before == '.' ||
                      ascii_alnum(after) || after == '_' || after == '(';
        if (text[i] == name && !inside)
            return true;
    }
    return false;
}

static void trim(const char **text, size_t *len)
{
    while (*len && **text == ' ')
        ++*text, --*len;
    while (*len && (*text)[*len - 1] == ' ')
        --*len;
}

bool op_slope(const Op *op, int operand, OpSlope *s)
{
    const char *from = op_has_slopes(op) ? op->gradient : NULL;
    for (; from && operand > 0; operand--) {
        from = strchr(from, ';');
        from = from ? from + 1 : NULL;
    }
    if (!from)
        return false;
    *s = (OpSlope){ .text = from, .len = strcspn(from, ";") };
    const char *end = from + s->len, *bar = strstr(from, " | ");
    /* an `or` of conditions has no t */
    if (bar && bar < end && slope_mentions(bar, (size_t)(end - bar), 't')) {
        s->len = (size_t)(bar - from);
        s->tangent = bar + 3;
        s->tangent_len = (size_t)(end - s->tangent);
        trim(&s->tangent, &s->tangent_len);
    }
    trim(&s->text, &s->len);
    return !(s->len == 1 && *s->text == '-');
}
