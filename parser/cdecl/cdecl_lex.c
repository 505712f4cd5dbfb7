/* Tokens of C: names, numbers, characters, strings and punctuators, with comments gone and lines
 * that end in a backslash joined. Asked for one token at a time by the macro expander; what a
 * token means is not known here. Any bytes are tokens: those of no C are TK_BAD. */
#include "parser/cdecl/cdecl_parts.h"

#include <string.h>

/* The length of a backslash and the end of its line, which joins this line with the next one. */
static uint32_t splice(const CParser *p, uint32_t at)
{
    if (at + 1 >= p->end || p->text[at] != '\\')
        return 0;
    if (p->text[at + 1] == '\n')
        return 2;
    return p->text[at + 1] == '\r' && at + 2 < p->end && p->text[at + 2] == '\n' ? 3 : 0;
}

static uint32_t past_splices(const CParser *p, uint32_t at)
{
    for (uint32_t n; (n = splice(p, at));)
        at += n;
    return at;
}

/* The character at *at, which is moved to its first byte; -1 at the end. */
static int look(const CParser *p, uint32_t *at)
{
    *at = past_splices(p, *at);
    return *at < p->end ? (unsigned char)p->text[*at] : -1;
}

static int look_after(const CParser *p, uint32_t at, uint32_t *next)
{
    *next = at + 1;
    return look(p, next);
}

static bool is_digit(int c) { return c >= '0' && c <= '9'; }
static bool is_letter(int c)
{
    return (unsigned)((c | 32) - 'a') < 26 || c == '_' || c == '$' || c >= 0x80;
}

/* From after its opening to after its end. */
static void skip_comment(CParser *p, uint32_t from)
{
    uint32_t next;
    for (int c; (c = look(p, &p->pos)) != -1; p->pos++)
        if (c == '*' && look_after(p, p->pos, &next) == '/') {
            p->pos = next + 1;
            return;
        }
    cd_error(p, (Span){ from, from + 1 }, "end it with */", "this comment is never closed");
}

static void skip_line(CParser *p)
{
    int c;
    while ((c = look(p, &p->pos)) != -1 && c != '\n')
        p->pos++;
}

/* True if anything was skipped. */
static bool skip_space(CParser *p)
{
    uint32_t start = p->pos;
    for (int c; (c = look(p, &p->pos)) != -1;) {
        uint32_t next;
        if (c == '\n') {
            p->line = true;
            p->pos++;
        } else if (c == ' ' || (c >= '\t' && c <= '\r')) {
            p->pos++;
        } else if (c == '/' && look_after(p, p->pos, &next) == '*') {
            uint32_t from = p->pos;
            p->pos = next + 1;
            skip_comment(p, from);
        } else if (c == '/' && look_after(p, p->pos, &next) == '/') {
            skip_line(p);
        } else {
            break;
        }
    }
    return p->pos > start;
}

static void scan_name(CParser *p)
{
    for (int c; (c = look(p, &p->pos)) != -1 && (is_letter(c) || is_digit(c));)
        p->pos++;
}

/* A preprocessing number: whatever continues one, to be judged when its value is asked for. */
static void scan_number(CParser *p)
{
    for (int c; (c = look(p, &p->pos)) != -1;) {
        uint32_t next;
        int sign = look_after(p, p->pos, &next);
        if (strchr("eEpP", c) && c && (sign == '+' || sign == '-'))
            p->pos = next + 1;
        else if (is_digit(c) || is_letter(c) || c == '.')
            p->pos++;
        else
            break;
    }
}

/* From after the opening quote to after the closing one; false if the line ends before. */
static bool scan_quoted(CParser *p, int quote)
{
    for (int c; (c = look(p, &p->pos)) != -1 && c != '\n';) {
        p->pos++;
        if (c == quote)
            return true;
        if (c == '\\' && look(p, &p->pos) != -1)
            p->pos++;
    }
    return false;
}

static const char *const long_puncts[] = {
    "...", "<<=", ">>=", "##", "->", "++", "--", "<<", ">>", "<=", ">=", "==",
    "!=",  "&&",  "||",  "*=", "/=", "%=", "+=", "-=", "&=", "^=", "|=", "::",
};

static uint32_t scan_punct(CParser *p)
{
    for (size_t i = 0; i < sizeof long_puncts / sizeof *long_puncts; i++) {
        const char *want = long_puncts[i];
        uint32_t at = p->pos, code = 0;
        int shift = 0;
        while (*want && look(p, &at) == *want) {
            code |= (uint32_t)*want++ << shift;
            shift += 8;
            at++;
        }
        if (!*want) {
            p->pos = at;
            return code;
        }
    }
    return (unsigned char)p->text[p->pos++];
}

/* The spelling, without the line ends that were joined away. */
static const Name *spelling(CParser *p, Span at)
{
    const char *text = p->text + at.from;
    uint32_t len = at.to - at.from;
    if (!memchr(text, '\\', len))
        return names_intern(&p->scope->names, text, len);
    char *copy = arena_alloc(&p->tmp, len + 1);
    uint32_t n = 0;
    for (uint32_t i = past_splices(p, at.from); i < at.to; i = past_splices(p, i + 1))
        copy[n++] = p->text[i];
    return names_intern(&p->scope->names, copy, n);
}

/* L"…", u8"…", U'…': the quote after the prefix, or 0. */
static int quote_after_prefix(const CParser *p, uint32_t *at)
{
    int c = look(p, at);
    if (c != 'L' && c != 'u' && c != 'U')
        return 0;
    uint32_t next;
    int d = look_after(p, *at, &next);
    if (c == 'u' && d == '8')
        d = look_after(p, next, &next);
    *at = next;
    return d == '"' || d == '\'' ? d : 0;
}

Tok cd_lex(CParser *p)
{
    Tok t = { .space = skip_space(p) };
    t.line = p->line;
    p->line = false;
    uint32_t from = p->pos, quoted = p->pos;
    int c = look(p, &p->pos), quote = quote_after_prefix(p, &quoted);
    uint32_t next;
    if (c == -1) {
        t.line = true;
    } else if (quote || c == '"' || c == '\'') {
        uint32_t open = quote ? quoted : p->pos;
        p->pos = open + 1;
        if (scan_quoted(p, quote ? quote : c))
            t.kind = (quote ? quote : c) == '"' ? TK_TEXT : TK_CHAR;
        else
            t.kind = TK_BAD, p->pos = open + 1;
    } else if (is_letter(c)) {
        t.kind = TK_NAME;
        scan_name(p);
    } else if (is_digit(c) || (c == '.' && is_digit(look_after(p, p->pos, &next)))) {
        t.kind = TK_NUMBER;
        scan_number(p);
    } else if (c > ' ' && c < 0x7f && !strchr("\\@`", c)) {
        t.kind = TK_PUNCT;
        t.punct = scan_punct(p);
    } else {
        t.kind = TK_BAD;
        p->pos++;
    }
    t.at = (Span){ from, p->pos };
    t.name = spelling(p, t.at);
    return t;
}

/* ---- what stands between quotes ---- */

static int hex_digit(int c)
{
    return is_digit(c) ? c - '0' : (c | 32) >= 'a' && (c | 32) <= 'f' ? (c | 32) - 'a' + 10 : -1;
}

/* One escape after its backslash. */
static bool decode_escape(const char **s, const char *end, Buf *out)
{
    static const char from[] = "ntrabfve0\\'\"?", to[] = "\n\t\r\a\b\f\v\033\0\\'\"?";
    char c = *(*s)++;
    uint32_t value = 0;
    if (c >= '0' && c <= '7') {
        value = (uint32_t)(c - '0');
        for (int i = 0; i < 2 && *s < end && **s >= '0' && **s <= '7'; i++)
            value = value * 8 + (uint32_t)(*(*s)++ - '0');
    } else if (c == 'x') {
        int digits = 0;
        for (int d; *s < end && (d = hex_digit(**s)) >= 0; (*s)++, digits++)
            value = value * 16 + (uint32_t)d;
        if (!digits)
            return false;
    } else if (c == 'u' || c == 'U') {
        for (int i = 0, d; i < (c == 'u' ? 4 : 8); i++, (*s)++) {
            if (*s >= end || (d = hex_digit(**s)) < 0)
                return false;
            value = value * 16 + (uint32_t)d;
        }
        if (value > 0x10ffff || (value >= 0xd800 && value < 0xe000))
            return false;
        buf_put_codepoint(out, value);
        return true;
    } else {
        const char *known = c ? strchr(from, c) : NULL;
        if (!known)
            return false;
        value = (unsigned char)to[known - from];
    }
    buf_putc(out, (char)value);
    return value < 256;
}

bool cd_text_decode(const Tok *t, Buf *out)
{
    const char *s = t->name->text, *end = s + t->name->len - 1;
    if (*s == 'L' || *s == 'U' || (*s == 'u' && s[1] != '8'))
        return false;
    while (*s != '"' && *s != '\'')
        s++;
    for (s++; s < end;) {
        if (*s != '\\')
            buf_putc(out, *s++);
        else if (s++, !decode_escape(&s, end, out))
            return false;
    }
    return true;
}
