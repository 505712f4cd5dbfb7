/* A foreign statement as pieces, and the loop that rewrites it until no rule fits. The rules
 * stand in foreign_statement.c, foreign_operator.c and foreign_call.c. The scanner knows more
 * signs than ours, and decides as those languages do what a ' or a . means. */
#include "parser/foreign/foreign_parts.h"

#include "core/system/c_locale.h"
#include "core/base/error.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* ---- pieces ---- */

static bool is_letter(unsigned char c)
{
    return ((c | 32) >= 'a' && (c | 32) <= 'z') || c == '_' || c >= 0x80;
}

static bool is_digit(unsigned char c)
{
    return c >= '0' && c <= '9';
}

/* Longest first. Letters of other scripts count as names, so signs beyond ASCII stand here. */
static const char *const signs[] = {
    "%*%", "%/%", "%in%", "%o%", "%%", "!==", "===", ">>=", "<<=", "**=", "...", ".**", ".==",
    ".!=", ".<=", ".>=",
    "//=", ":=", ".^", ".*", "./", ".\\", ".+", ".-", ".'", ".<", ".>", ".&", ".|", ".=", "&&",
    "||", "**", "~=", "<>",
    "=<", "=>", "<-", "->", "==", "!=", "<=", ">=", "++", "--", "+=", "-=", "*=", "/=", "%=", "^=",
    "@=", "&=", "|=",
    "//", "/*", "*/", "|>", "..", "::", "<<", ">>", "@.",
    "→", "≤", "≥", "≠", "≈", "·", "⋅", "×", "⊗", "÷", "∈", "∉", "…", "²", "³", "¹", "√", "−", "¬",
    "’", "⁻¹", "ᵀ",
};

static int sign_length(const char *s)
{
    for (size_t i = 0; i < sizeof signs / sizeof *signs; i++)
        if (strncmp(s, signs[i], strlen(signs[i])) == 0)
            return (int)strlen(signs[i]);
    return is_letter((unsigned char)*s) ? 0 : 1;
}

static int name_length(const char *s)
{
    int n = 0;
    while (is_letter((unsigned char)s[n]) || (n && is_digit((unsigned char)s[n]))) {
        if ((unsigned char)s[n] >= 0xC2 && sign_length(s + n) > 1)
            break;
        n++;
        while (((unsigned char)s[n] & 0xC0) == 0x80)
            n++;
    }
    return n;
}

/* Digits, a point that is no sign's, an exponent, and the letters that run into it. */
static int number_length(const char *s)
{
    int n = 0;
    while (is_digit((unsigned char)s[n]) || s[n] == '_')
        n++;
    bool point = s[n] == '.' && s[n + 1] != '.' && s[n + 1] != '*' && s[n + 1] != '/' &&
                 s[n + 1] != '^' && !is_letter((unsigned char)s[n + 1]);
    if (point)
        for (n++; is_digit((unsigned char)s[n]); n++)
            continue;
    if ((s[n] | 32) == 'e' && (is_digit((unsigned char)s[n + 1]) ||
                               (strchr("+-", s[n + 1]) && s[n + 1] &&
                                is_digit((unsigned char)s[n + 2]))))
        for (n += 2; is_digit((unsigned char)s[n]); n++)
            continue;
    return n + name_length(s + n);
}

/* One past the end of a string whose quotation mark is s[0]; escapes are passed over. */
static int quoted_length(const char *s, const char *close)
{
    size_t mark = strlen(close);
    int n = (unsigned char)s[0] < 0x80 ? 1 : (unsigned char)s[0] < 0xE0 ? 2 : 3;
    for (; s[n] && s[n] != '\n'; n++) {
        if (s[n] == '\\' && s[n + 1])
            n++;
        else if (strncmp(s + n, close, mark) == 0)
            return n + (int)mark;
    }
    return 0;
}

/* A bracket or what separates: one character. */
static bool is_mark(char c, PieceKind *kind)
{
    if (strchr("([{", c))
        *kind = PIECE_OPEN;
    else if (strchr(")]}", c))
        *kind = PIECE_CLOSE;
    else if (strchr(",;\n", c))
        *kind = c == ',' ? PIECE_COMMA : c == ';' ? PIECE_SEMI : PIECE_LINE;
    else
        return false;
    return true;
}

static int take_piece(const Fix *f, int at, PieceKind *kind)
{
    static const char *const quotes[][2] =
        { { "“", "”" }, { "”", "”" }, { "„", "“" }, { "«", "»" }, { "‘", "’" } };
    const char *s = f->text + at;
    bool operand = f->count && f->piece[f->count - 1].to == at &&
                   piece_ends_operand(f, f->count - 1);
    int n;
    *kind = PIECE_SIGN;
    if (is_mark(*s, kind))
        return 1;
    if (*s == '#') {
        *kind = PIECE_COMMENT;
        return (int)strcspn(s, "\n");
    }
    if ((strncmp(s, "\"\"\"", 3) == 0 || strncmp(s, "'''", 3) == 0) && !operand) {
        char close[4] = { *s, *s, *s, 0 };
        const char *end = strstr(s + 3, close);
        *kind = PIECE_QUOTED;
        return end ? (int)(end - s) + 3 : 1;
    }
    if (*s == '"' && (n = quoted_length(s, "\"")) > 0) {
        *kind = PIECE_STRING;
        return n;
    }
    if (*s == '`' && strchr(s + 1, '`')) {
        *kind = PIECE_RAW;
        return (int)(strchr(s + 1, '`') - s) + 1;
    }
    if (*s == '\'' && (!operand || (piece_in(f, f->count - 1, "f r b u") && f->count)) &&
        (n = quoted_length(s, "'")) > 0) {
        *kind = PIECE_QUOTED;
        return n;
    }
    for (size_t i = 0; !operand && i < sizeof quotes / sizeof *quotes; i++)
        if (strncmp(s, quotes[i][0], strlen(quotes[i][0])) == 0 &&
            (n = quoted_length(s, quotes[i][1])) > 0) {
            *kind = PIECE_QUOTED;
            return n;
        }
    if (is_digit((unsigned char)*s) || (*s == '.' && is_digit((unsigned char)s[1]) && !operand)) {
        *kind = PIECE_NUMBER;
        return number_length(s);
    }
    if ((n = sign_length(s)) > 1)
        return n;
    if ((n = name_length(s)) > 0) {
        *kind = PIECE_NAME;
        return n;
    }
    return 1;
}

static void match_brackets(Fix *f)
{
    int open[64], depth = 0;
    for (int k = 0; k < f->count; k++) {
        Piece *p = &f->piece[k];
        p->match = -1;
        if (p->kind == PIECE_OPEN && depth < 64)
            open[depth++] = k;
        else if (p->kind == PIECE_CLOSE && depth > 0) {
            p->match = (int16_t)open[--depth];
            f->piece[open[depth]].match = (int16_t)k;
        }
    }
}

static void piece_scan(Fix *f)
{
    f->count = 0;
    bool space = false;
    for (int at = 0; at < f->len && f->count < PIECES;) {
        if (strchr(" \t\r", f->text[at])) {
            space = true;
            at++;
            continue;
        }
        PieceKind kind;
        int n = take_piece(f, at, &kind);
        f->piece[f->count++] = (Piece){ (uint16_t)at, (uint16_t)(at + n), (uint8_t)kind,
                                        space, -1 };
        at += n;
        space = false;
    }
    f->failed |= f->count == PIECES;
    f->piece[f->count] = (Piece){ (uint16_t)f->len, (uint16_t)f->len, PIECE_END, space, -1 };
    match_brackets(f);
}

/* ---- looking at pieces ---- */

int piece_length(const Fix *f, int a, int b)
{
    return b < a ? 0 : f->piece[b].to - f->piece[a].from;
}

PieceKind piece_kind(const Fix *f, int k)
{
    return k >= 0 && k < f->count ? (PieceKind)f->piece[k].kind : PIECE_END;
}

bool piece_is(const Fix *f, int k, const char *text)
{
    if (k < 0 || k >= f->count)
        return false;
    size_t n = (size_t)piece_length(f, k, k);
    return strlen(text) == n && memcmp(f->text + f->piece[k].from, text, n) == 0;
}

bool piece_in(const Fix *f, int k, const char *words)
{
    if (k < 0 || k >= f->count)
        return false;
    size_t n = (size_t)piece_length(f, k, k);
    for (const char *w = words; *w; w += strcspn(w, " "), w += *w == ' ')
        if (strcspn(w, " ") == n && memcmp(w, f->text + f->piece[k].from, n) == 0)
            return true;
    return false;
}

bool piece_replace(Fix *f, int a, int b, const char *fmt, ...)
{
    char put[FOREIGN_TEXT];
    va_list args;
    va_start(args, fmt);
    int n = c_vsnprintf(put, sizeof put, fmt, args);
    va_end(args);
    int from = f->piece[a].from, to = b < a ? from : f->piece[b].to, tail = f->len - to;
    if (n < 0 || from + n + tail >= FOREIGN_TEXT) {
        f->failed = true;
        return true;
    }
    memmove(f->text + from + n, f->text + to, (size_t)tail + 1);
    memcpy(f->text + from, put, (size_t)n);
    f->len = from + n + tail;
    if ((int)f->at >= to)
        f->at = (uint32_t)((int)f->at + n - (to - from));
    else if ((int)f->at > from)
        f->at = (uint32_t)from;
    return true;
}

bool piece_ends_operand(const Fix *f, int k)
{
    switch (piece_kind(f, k)) {
    case PIECE_NAME: return !piece_in(f, k,
                                      "and or not in if else for while return then do throw print "
                                      "function lambda");
    case PIECE_NUMBER: case PIECE_STRING: case PIECE_QUOTED: case PIECE_RAW:
    case PIECE_CLOSE: return true;
    case PIECE_SIGN: return k > 0 && piece_in(f, k, "' .' ’") && piece_ends_operand(f, k - 1);
    default: return false;
    }
}

bool piece_starts_operand(const Fix *f, int k)
{
    switch (piece_kind(f, k)) {
    case PIECE_NAME: return !piece_in(f, k, "and or in if else for then do end is mod div as of");
    case PIECE_NUMBER: case PIECE_STRING: case PIECE_QUOTED: case PIECE_RAW: return true;
    case PIECE_OPEN: return !piece_is(f, k, "{");
    default: return false;
    }
}

int piece_operand_start(const Fix *f, int k)
{
    for (;;) {
        while (k > 0 && piece_in(f, k, "' .' ’"))
            k--;
        if (piece_kind(f, k) == PIECE_CLOSE && f->piece[k].match >= 0)
            k = f->piece[k].match;
        if (k > 0 && piece_kind(f, k) == PIECE_OPEN && piece_ends_operand(f, k - 1) &&
            !f->piece[k].space)
            k--;
        else if (k > 1 && piece_kind(f, k) == PIECE_NAME && piece_is(f, k - 1, ".") &&
                 piece_ends_operand(f, k - 2))
            k -= 2;
        else
            return k;
    }
}

int piece_operand_end(const Fix *f, int k)
{
    if (piece_kind(f, k) == PIECE_OPEN)
        k = f->piece[k].match >= 0 ? f->piece[k].match : f->count - 1;
    for (;;) {
        const Piece *next = &f->piece[k + 1];
        if (k + 1 >= f->count || next->space)
            return k;
        if (next->kind == PIECE_OPEN && next->match > 0 && !piece_is(f, k + 1, "{"))
            k = next->match;
        else if (piece_is(f, k + 1, ".") && piece_kind(f, k + 2) == PIECE_NAME)
            k += 2;
        else if (piece_in(f, k + 1, "' .'"))
            k++;
        else
            return k;
    }
}

int piece_around(const Fix *f, int k)
{
    for (k--; k >= 0; k--) {
        if (f->piece[k].kind == PIECE_CLOSE)
            k = f->piece[k].match >= 0 ? f->piece[k].match : k;
        else if (f->piece[k].kind == PIECE_OPEN)
            return k;
    }
    return -1;
}

int piece_find(const Fix *f, int k, const char *words)
{
    for (k++; k < f->count; k++) {
        if (piece_in(f, k, words))
            return k;
        if (f->piece[k].kind == PIECE_CLOSE)
            return -1;
        if (f->piece[k].kind == PIECE_OPEN) {
            if (f->piece[k].match < 0)
                return -1;
            k = f->piece[k].match;
        }
    }
    return -1;
}

bool piece_loose(const Fix *f, int a, int b)
{
    for (int k = a; k <= b; k++) {
        if (piece_kind(f, k) == PIECE_OPEN && f->piece[k].match > k)
            k = f->piece[k].match;
        else if ((piece_kind(f, k) == PIECE_SIGN && !piece_in(f, k, ". '")) ||
                 piece_in(f, k, "and or not in if"))
            return true;
    }
    return false;
}

bool piece_is_capital(const Fix *f, int k)
{
    char c = k >= 0 && k < f->count ? f->text[f->piece[k].from] : 0;
    return c >= 'A' && c <= 'Z';
}

bool piece_in_index(const Fix *f, int k)
{
    int open = piece_around(f, k);
    while (open >= 0 && piece_is(f, open, "("))
        open = piece_around(f, open);
    return open > 0 && piece_is(f, open, "[") && !f->piece[open].space &&
           piece_ends_operand(f, open - 1);
}

bool piece_is_own(const Fix *f, int k)
{
    return f->facts->own &&
           f->facts->own(f->facts->who, f->text + f->piece[k].from, (size_t)piece_length(f, k, k));
}

/* ---- the whole ---- */

/* Blanks, a `;` and a comment at the end say nothing. */
static void trim(Fix *f)
{
    piece_scan(f);
    int last = f->count - 1;
    while (last >= 0 &&
           (f->piece[last].kind == PIECE_COMMENT || f->piece[last].kind == PIECE_SEMI ||
                         f->piece[last].kind == PIECE_LINE))
        last--;
    f->len = last >= 0 ? f->piece[last].to : 0;
    f->text[f->len] = '\0';
    piece_scan(f);
}

/* Does it parse? A header may wait for its block, `} else {` for what is before it, and … in
 * braces stands for statements. */
static bool accepted(Ctx *ctx, Names *names, const Fix *f)
{
    char text[FOREIGN_TEXT + 80];
    int n = 0, open = 0;
    if (f->text[0] == '}')
        n = snprintf(text, sizeof text, "%s ",
                     strncmp(f->text, "} catch", 7) == 0 ? "try {" : "if true {");
    for (const char *s = f->text; *s; s++)
        if (strncmp(s, "{ … }", 7) == 0) {
            n += snprintf(text + n, 4, "{ }");
            s += 6;
        } else {
            text[n++] = *s;
        }
    text[n] = '\0';
    for (int k = 0; k < f->count; k++)
        open += piece_is(f, k, "{") - piece_is(f, k, "}");
    for (open += f->text[0] == '}'; open > 0 && n < (int)sizeof text - 3; open--)
        n += snprintf(text + n, 3, " }");
    return f->facts->accepts(ctx, names, text, (size_t)n);
}

/* One blank where there were several, one after a comma and none before, as `ricci fmt` has it. */
static void tidy(Fix *f)
{
    char text[FOREIGN_TEXT];
    int n = 0;
    piece_scan(f);
    for (int k = 0; k < f->count; k++) {
        bool comma = f->piece[k].kind == PIECE_COMMA,
             after = k > 0 && f->piece[k - 1].kind == PIECE_COMMA;
        bool named = k > 1 && piece_is(f, k - 1, "=") && !f->piece[k - 1].space &&
                     piece_around(f, k) >= 0;
        bool space = k > 0 && !comma && !named && (after || f->piece[k].space) &&
                     !piece_in(f, k, ") ]") && !piece_in(f, k - 1, "( [");
        int len = piece_length(f, k, k);
        if (n + len + 2 >= FOREIGN_TEXT) {
            f->failed = true;
            return;
        }
        if (space)
            text[n++] = ' ';
        memcpy(text + n, f->text + f->piece[k].from, (size_t)len);
        n += len;
    }
    memcpy(f->text, text, (size_t)n);
    f->text[n] = '\0';
    f->len = n;
    piece_scan(f);
}

/* Does the name that is not defined still stand in what came out, and not to be assigned? */
static bool still_undefined(const Fix *f, const char *text, size_t len)
{
    char name[64];
    size_t from = f->facts->at, n = from < len ? (size_t)name_length(text + from) : 0;
    if (n == 0 || n >= sizeof name || from + n > len)
        return false;
    memcpy(name, text + from, n);
    name[n] = '\0';
    /* fft of fft.fft is a function here, and no module */
    const bool known = f->facts->known && f->facts->known(f->facts->who, name, n);
    for (int k = 0; k < f->count; k++)
        if (piece_is(f, k, name) && !piece_is(f, k + 1, "=") && !piece_is(f, k - 1, ".") &&
            (!known || piece_is(f, k + 1, ".")))
            return true;
    return false;
}

bool foreign_rewrite(Ctx *ctx, Names *names, const char *text, size_t len,
                     const ForeignFacts *facts, ForeignAnswer *answer)
{
    Fix f = { .facts = facts, .at = facts->at };
    enum { ROUNDS = 40 };
    char last[FOREIGN_TEXT] = "";
    if (len == 0 || len >= FOREIGN_TEXT - 40)
        return false;
    memcpy(f.text, text, len);
    f.len = (int)len;
    f.text[len] = '\0';
    bool changed = foreign_lookalikes(&f);
    trim(&f);
    for (int round = 0; round < ROUNDS && !f.failed; round++, changed = true) {
        if (strcmp(last, f.text) == 0)
            /* a rule that finds nothing to say: what it saw is garbage */
            return false;
        memcpy(last, f.text, (size_t)f.len + 1);
        piece_scan(&f);
        if (!foreign_literals(&f) && !foreign_calls(&f) && !foreign_statements(&f) &&
            !foreign_operators(&f) && !foreign_blocks(&f))
            break;
    }
    if (!changed || f.failed)
        return false;
    trim(&f);
    if (f.import && !(facts->own && facts->own(facts->who, f.import, strlen(f.import))))
        piece_replace(&f, 0, -1, "import %s; ", f.import);
    tidy(&f);
    if (facts->what == FOREIGN_NAME && still_undefined(&f, text, len))
        return false;
    if (f.len == 0 || f.failed || strchr(f.text, '\n') || strcmp(f.text, "…") == 0 ||
        ((size_t)f.len == len && memcmp(f.text, text, len) == 0) || !accepted(ctx, names, &f))
        return false;
    memcpy(answer->text, f.text, (size_t)f.len + 1);
    answer->note = f.note;
    return true;
}

Span foreign_statement(const char *text, size_t len, uint32_t at)
{
    uint32_t from = at < len ? at : (uint32_t)len, to;
    while (from > 0 && text[from - 1] != '\n')
        from--;
    uint32_t line = from;
    char quote = 0;
    int depth = 0;
    /* the last { or ; before it that is in no string */
    for (uint32_t i = line; i < at && i < len; i++) {
        char c = text[i];
        if (quote) {
            i += c == '\\';
            quote = c == quote ? 0 : quote;
        } else if (c == '"' || c == '`') {
            quote = c;
        } else if (c == '(' || c == '[') {
            depth++;
        } else if (c == ')' || c == ']') {
            depth--;
        } else if ((c == '{' || c == ';') && depth <= 0) {
            from = i + 1;
        }
    }
    quote = 0;
    depth = 0;
    for (to = from; to < len; to++) {
        char c = text[to];
        if (quote) {
            to += c == '\\';
            quote = c == quote ? 0 : quote;
        } else if (c == '"' || c == '`') {
            quote = c;
        } else if (strchr("([{", c) && c) {
            depth++;
        } else if (strchr(")]}", c) && c && --depth < 0) {
            break;
        } else if ((c == ';' && depth <= 0) || (c == '\n' && depth <= 0) ||
                   to - from > FOREIGN_TEXT) {
            break;
        }
    }
    to = to > len ? (uint32_t)len : to;
    while (from < to && strchr(" \t\r\n", text[from]))
        from++;
    while (to > from && strchr(" \t\r\n", text[to - 1]))
        to--;
    return (Span){ from, to };
}
