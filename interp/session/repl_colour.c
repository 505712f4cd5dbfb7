/* Colours for the text at the prompt, a line at a time: a small scanner that follows lexer.l, but
 * goes on from the state in which the line before ended, takes what is not finished yet, and
 * reports nothing. tests/unit/colour.c holds it to the lexer. */
#include "interp/session/repl_edit.h"
#include "interp/op/op.h"

#include "core/system/ascii.h"
#include "interp/state/exec.h"
#include "interp/state/predefined.h"
#include "lexer/lexer.h"

#include <string.h>

typedef struct Painter {
    Interp *in;
    Scan *s;
    const char *text;
    size_t len, at;
    uint8_t *paint;
    bool operand;                /* what stands before could end an operand: ' transposes it */
    bool dot;                    /* a dot stands directly before: a field's name follows */
    bool foreign;                /* extern was read: the next { opens C */
    bool import;                 /* `as` and `from` are words of this statement */
    bool header;                 /* of precision and the like, … */
    /* … with so many open brackets: words behind a value are keywords */
    uint16_t header_depth;
    char word;                   /* m, e, p: a modifier, `explain`, `profile` stands before */
} Painter;

static char innermost(const Scan *s)
{
    return s->depth == 0 ? '\0' : s->depth <= SCAN_DEEP ? s->open[s->depth - 1] : '?';
}

static void push(Scan *s, char open)
{
    if (s->depth < SCAN_DEEP)
        s->open[s->depth] = open;
    if (s->depth < UINT16_MAX)
        s->depth++;
}

static void put(Painter *p, size_t n, Paint paint)
{
    n = n < p->len - p->at ? n : p->len - p->at;
    if (p->paint)
        memset(p->paint + p->at, paint, n);
    p->at += n;
}

static char peek(const Painter *p, size_t ahead)
{
    return p->at + ahead < p->len ? p->text[p->at + ahead] : '\0';
}

/* ---- names and numbers ---- */
typedef struct Letters { uint32_t from, to; } Letters;

static bool is_among(const Letters *letters, size_t count, uint32_t c)
{
    for (size_t i = 0; i < count; i++)
        if (c >= letters[i].from && c <= letters[i].to)
            return true;
    return false;
}

/* The letters of lexer.l, by code point. */
static bool is_letter(uint32_t c)
{
    static const Letters letters[] = {
        { 'A', 'Z' }, { '_', '_' }, { 'a', 'z' }, { 0xAA, 0xAA }, { 0xB5, 0xB5 }, { 0xBA, 0xBA },
        { 0xC0, 0xD6 }, { 0xD8, 0xF6 }, { 0xF8, 0x2FF }, { 0x370, 0x37D }, { 0x37F, 0x386 },
        { 0x388, 0x1FFF }, { 0x2100, 0x214F }, { 0x2C00, 0x2DFF }, { 0x3040, 0xD7FF },
        { 0xF900, 0xFDFF }, { 0x10000, 0x3FFFF } };
    return is_among(letters, sizeof letters / sizeof *letters, c);
}

static bool continues_name(uint32_t c)
{
    static const Letters marks[] = { { '0', '9' }, { 0x300, 0x36F }, { 0x2080, 0x209C } };
    return is_letter(c) || is_among(marks, sizeof marks / sizeof *marks, c);
}

static size_t name_length(const Painter *p)
{
    size_t at = p->at, end = at;
    while (at < p->len) {
        uint32_t c = utf8_next(p->text, p->len, &at);
        if (end == p->at ? !is_letter(c) : !continues_name(c))
            break;
        if (c == 0xFFFD && at == end + 1)
            break;
        end = at;
    }
    return end - p->at;
}

/* A function, an operation or a predefined name, and no variable in its place. */
static bool is_known(Painter *p, size_t n)
{
    const Name *name = names_find(&p->in->names, p->text + p->at, n);
    if (!name)
        return false;
    int64_t slot = globals_find(&p->in->main->globals, name);
    Value v = slot >= 0 ? p->in->main->slots[slot] : v_undef();
    if (v.tag != V_UNDEF)
        return v.tag == V_FUNCTION || v.tag == V_CFUNC || v.tag == V_OP;
    return op_find(p->in, name) || predefined_find(p->in, name->text).tag != V_UNDEF;
}

static bool is_word(const Painter *p, size_t n, const char *words)
{
    for (const char *w = words; *w; w += strcspn(w, " "), w += *w == ' ')
        if (strcspn(w, " ") == n && memcmp(w, p->text + p->at, n) == 0)
            return true;
    return false;
}

/* A string follows, and nothing but a brace or a ; stands before: `test "…" { … }`. */
static bool is_test(const Painter *p, size_t n)
{
    size_t before = p->at, after = p->at + n;
    while (before > 0 && ascii_blank(p->text[before - 1]))
        before--;
    while (after < p->len && ascii_blank(p->text[after]))
        after++;
    return is_word(p, n, "test") && after < p->len && strchr("\"`", p->text[after]) &&
           (before == 0 || strchr("{};", p->text[before - 1])) && !memchr("([", innermost(p->s), 2);
}

static bool name_follows(const Painter *p, size_t n)
{
    Painter after = *p;
    for (after.at += n; after.at < p->len && ascii_blank(p->text[after.at]); after.at++) {}
    return name_length(&after) > 0;
}

static bool is_keyword(Painter *p, size_t n)
{
    int op;
    if (p->dot)
        return false;
    if (token_keyword(p->text + p->at, n, &op)) {
        p->foreign |= is_word(p, n, "extern");
        p->import |= is_word(p, n, "extern import");
        p->word = is_word(p, n, "explain") ? 'e' : is_word(p, n, "profile") ? 'p' : '\0';
        if (is_word(p, n, "precision autocast on compare")) {
            p->header = true;
            p->header_depth = p->s->depth;
        }
        return true;
    }
    char before = p->word;
    p->word = '\0';
    if (p->header && p->s->depth == p->header_depth && (p->operand || before == 'm')) {
        bool value_follows = is_word(p, n, "against accumulate backward shadow round fallback");
        p->word = value_follows ? '\0' : 'm';
        return true;
    }
    if ((before == 'p' && is_word(p, n, "to")) ||
        (before == 'e' && is_word(p, n, "as") && name_follows(p, n)))
        return true;
    return (p->operand && p->import && is_word(p, n, "as from")) || is_test(p, n);
}

static void paint_name(Painter *p, size_t n)
{
    bool constant = is_word(p, n, "true false none");
    if (is_keyword(p, n)) {
        put(p, n, constant ? PAINT_NUMBER : PAINT_KEYWORD);
        p->operand = constant;
    } else {
        bool known = !p->dot && p->paint && is_known(p, n);
        put(p, n, known ? PAINT_KNOWN : PAINT_PLAIN);
        p->operand = true;
    }
}

static size_t digits(const Painter *p, size_t from, int (*is_digit)(int))
{
    size_t n = from;
    while (is_digit((unsigned char)peek(p, n)) ||
           (n > from && peek(p, n) == '_' && is_digit((unsigned char)peek(p, n + 1))))
        n++;
    return n;
}

static int is_binary(int c) { return c == '0' || c == '1'; }
static int is_decimal(int c) { return c >= '0' && c <= '9'; }

/* `.5`, `1_000`, `0xff`, `1.`, `1e-8`, `2i`: a letter that follows makes it wrong. */
static void paint_number(Painter *p)
{
    char base = (char)(peek(p, 0) == '0' ? ascii_to_lower(peek(p, 1)) : 0);
    size_t n = base == 'x' ? digits(p, 2, isxdigit) : base == 'b' ? digits(p, 2, is_binary) : 0;
    if (n <= 2) {
        n = digits(p, 0, is_decimal);
        char after = peek(p, n + 1);
        if (peek(p, n) == '.' && is_decimal((unsigned char)after))
            n = digits(p, n + 1, is_decimal);
        else if (peek(p, n) == '.' && after != '.' && after != '_' && !ascii_alpha(after) &&
                 !(after & 0x80))
            n++;
        size_t sign = n + 1 + (peek(p, n + 1) == '+' || peek(p, n + 1) == '-');
        if (n > 0 && (peek(p, n) | 32) == 'e' && is_decimal((unsigned char)peek(p, sign)))
            n = digits(p, sign, is_decimal);
        n += peek(p, n) == 'i' && !ascii_alnum(peek(p, n + 1)) && peek(p, n + 1) != '_';
    }
    size_t word = n;
    while (ascii_alnum(peek(p, word)) || peek(p, word) == '_')
        word++;
    put(p, word, word > n ? PAINT_WRONG : PAINT_NUMBER);
    p->operand = true;
}

/* ---- strings ---- */
/* From inside a string to its end or to an interpolation. */
static void paint_string(Painter *p)
{
    while (p->at < p->len) {
        char c = peek(p, 0);
        if (c == '"') {
            put(p, 1, PAINT_STRING);
            p->s->depth--;
            p->operand = true;
            return;
        }
        if (c == '{' && peek(p, 1) != '{') {
            put(p, 1, PAINT_ESCAPE);
            push(p->s, 'i');
            p->operand = false;
            return;
        }
        size_t n = c == '\\' || c == '{' || (c == '}' && peek(p, 1) == '}') ? 2 : 1;
        bool known = n == 2 && (c != '\\' || (peek(p, 1) && strchr("ntr\\\"u", peek(p, 1))));
        if (c == '\\' && peek(p, 1) == 'u' && peek(p, 2) == '{') {
            size_t close = 3;
            while (ascii_xdigit(peek(p, close)))
                close++;
            n = peek(p, close) == '}' ? close + 1 : close;
        }
        put(p, n, n > 1 && known ? PAINT_ESCAPE : c == '}' || n > 1 ? PAINT_WRONG : PAINT_STRING);
    }
}

/* The format of an interpolation: `{x:.3e}`. */
static void paint_format(Painter *p)
{
    while (p->at < p->len && !strchr("}\"", peek(p, 0)))
        put(p, 1, PAINT_ESCAPE);
}

static void paint_raw(Painter *p)
{
    const char *end = memchr(p->text + p->at, '`', p->len - p->at);
    put(p, end ? (size_t)(end - p->text) + 1 - p->at : p->len, PAINT_STRING);
    if (end) {
        p->s->depth--;
        p->operand = true;
    }
}

/* 'abc' as elsewhere: no string here. */
static void paint_quoted(Painter *p)
{
    const char *end = p->at + 1 < p->len
                      ? memchr(p->text + p->at + 1, '\'', p->len - p->at - 1) : NULL;
    put(p, end ? (size_t)(end - p->text) + 1 - p->at : 1, PAINT_WRONG);
    p->operand = true;
}

/* ---- C inside extern ---- */
static void paint_c_comment(Painter *p)
{
    const char *end = memmem(p->text + p->at, p->len - p->at, "*/", 2);
    put(p, end ? (size_t)(end - p->text) + 2 - p->at : p->len, PAINT_COMMENT);
    if (end)
        p->s->depth--;
}

static void paint_c_quoted(Painter *p, char quote)
{
    size_t n = 1;
    while (peek(p, n) && peek(p, n) != quote)
        n += peek(p, n) == '\\' ? 2 : 1;
    put(p, n + 1, PAINT_STRING);
}

static void paint_c(Painter *p)
{
    static const char words[] =
        "void char short int long float double signed unsigned const struct union enum "
                                "typedef static extern size_t bool _Bool int8_t int16_t int32_t "
                                "int64_t uint8_t "
                                "uint16_t uint32_t uint64_t";
    char c = peek(p, 0);
    size_t n = name_length(p);
    if (n > 0) {
        put(p, n, is_word(p, n, words) ? PAINT_KEYWORD : PAINT_PLAIN);
    } else if (c == '/' && peek(p, 1) == '*') {
        put(p, 2, PAINT_COMMENT);
        push(p->s, '*');
    } else if (c == '/' && peek(p, 1) == '/') {
        put(p, p->len, PAINT_COMMENT);
    } else if (c == '"' || c == '\'') {
        paint_c_quoted(p, c);
    } else if (c == '{' || c == '}') {
        put(p, 1, PAINT_BRACKET);
        if (c == '{')
            push(p->s, 'C');
        else
            p->s->depth--;
        p->operand = true;
    } else {
        put(p, 1, is_decimal((unsigned char)c) ? PAINT_NUMBER : PAINT_PLAIN);
    }
}

/* ---- brackets and operators ---- */
static void open_bracket(Painter *p, char c)
{
    if (c == '{')
        p->header = false;
    push(p->s, c == '{' && p->foreign ? 'C' : c);
    p->foreign &= c != '{';
    put(p, 1, PAINT_BRACKET);
    p->operand = false;
}

/* As lex_close_bracket and lex_close_brace: brackets that were forgotten are passed over. */
static void close_bracket(Painter *p, char c)
{
    Scan *s = p->s;
    char open = c == ')' ? '(' : c == ']' ? '[' : '{';
    size_t at = s->depth < SCAN_DEEP ? s->depth : SCAN_DEEP;
    p->operand = true;
    if (s->depth > SCAN_DEEP) {
        s->depth--;
        put(p, 1, PAINT_BRACKET);
        return;
    }
    while (at > 0 && strchr("([", s->open[at - 1]) && (open == '{' || s->open[at - 1] != open))
        at--;
    bool fits = at > 0 &&
                (open == '{' ? strchr("{i", s->open[at - 1]) != NULL : s->open[at - 1] == open);
    bool string = fits && s->open[at - 1] == 'i', passed = fits && at < s->depth;
    if (fits)
        s->depth = (uint16_t)(at - 1);
    else if (strchr("([", innermost(s)) && s->depth > 0 && open != '{')
        s->depth--;
    put(p, 1, !fits || passed ? PAINT_WRONG : string ? PAINT_ESCAPE : PAINT_BRACKET);
}

/* Length of what is no operator here but is one elsewhere. */
static size_t foreign_operator(const Painter *p)
{
    static const char *const operators[] = {
        "**=", "===", "!==", ".**", "&&", "||", "**", "~=", "<>", "=<", "=>", ".*", "./",
        ".\\", ".^", ".+",
        ".-", ".'", "/*", "~", "?", "$" };
    for (size_t i = 0; i < sizeof operators / sizeof *operators; i++) {
        size_t n = strlen(operators[i]);
        if (n <= p->len - p->at && memcmp(operators[i], p->text + p->at, n) == 0)
            return n;
    }
    return 0;
}

/* Any other character, or several of an operator. */
static void paint_operator(Painter *p)
{
    static const char *const beyond[] = { "·", "⋅", "⊗", "×", "≈", "≤", "≥", "≠", "−", "√" };
    size_t wrong = foreign_operator(p), at = p->at;
    if (wrong > 0) {
        p->operand = peek(p, 0) == '.' && peek(p, 1) == '\'';
        put(p, wrong, PAINT_WRONG);
        return;
    }
    if (strncmp(p->text + at, "...", p->len - at < 3 ? p->len - at : 3) == 0 && p->len - at >= 3) {
        put(p, 3, PAINT_PLAIN);
        p->operand = true;
        return;
    }
    utf8_next(p->text, p->len, &at);
    bool good = at == p->at + 1 && peek(p, 0) >= ' ';
    for (size_t i = 0; !good && i < sizeof beyond / sizeof *beyond; i++)
        good = strlen(beyond[i]) == at - p->at &&
               memcmp(beyond[i], p->text + p->at, at - p->at) == 0;
    put(p, at - p->at, good ? PAINT_PLAIN : PAINT_WRONG);
    p->operand = false;
}

static void paint_code(Painter *p)
{
    char c = peek(p, 0);
    bool dot = p->at > 0 && p->text[p->at - 1] == '.';
    size_t n = name_length(p);
    p->dot = dot && p->operand;
    if (n == 0 && !ascii_space(c))
        p->word = '\0';
    if (n > 0)
        paint_name(p, n);
    else if (is_decimal((unsigned char)c) || (c == '.' && is_decimal((unsigned char)peek(p, 1))))
        paint_number(p);
    else if (ascii_space(c))
        put(p, 1, PAINT_PLAIN);
    else if (c == '#')
        put(p, p->len, PAINT_COMMENT);
    else if (c == '"' || c == '`') {
        put(p, 1, PAINT_STRING);
        push(p->s, c);
    } else if (strchr("([{", c))
        open_bracket(p, c);
    else if (strchr(")]}", c))
        close_bracket(p, c);
    else if (c == '\'' && !p->operand)
        paint_quoted(p);
    else if (c == '\'')
        put(p, 1, PAINT_PLAIN);
    else if (c == ':' && innermost(p->s) == 'i') {
        put(p, 1, PAINT_ESCAPE);
        paint_format(p);
    } else if (c == '.' && p->operand && peek(p, 1) && !strchr("*/\\^+-'.", peek(p, 1)))
        put(p, 1, PAINT_PLAIN);
    else
        paint_operator(p);
    if (c == ';')
        p->import = p->header = false;
}

/* `:time expr`, `?name`, `!ls`: the first line may be a command. False: it is code. */
static bool paint_command(Painter *p)
{
    while (ascii_blank(peek(p, 0)))
        put(p, 1, PAINT_PLAIN);
    char c = peek(p, 0);
    if (c == '\0' || !strchr(":?!", c))
        return false;
    if (c == '!') {
        p->at++;
        size_t n = name_length(p);
        const Name *name = names_find(&p->in->names, p->text + p->at, n);
        int64_t slot = name ? globals_find(&p->in->main->globals, name) : -1;
        p->at--;
        if (peek(p, 1) == '(' || (slot >= 0 && p->in->main->slots[slot].tag != V_UNDEF))
            return false;
    }
    size_t n = 1;
    while (c == '?' && peek(p, n) == '?')
        n++;
    while (c == ':' && ascii_alpha(peek(p, n)))
        n++;
    bool code = c == ':' && n > 1 && (p->text[p->at + 1] == 't' || p->text[p->at + 1] == 'e');
    put(p, n, PAINT_COMMAND);
    if (!code)
        put(p, p->len, PAINT_PLAIN);
    return true;
}

/* A string ends with its line, and all that was open in it. */
static void end_line(Scan *s)
{
    size_t kept = s->depth < SCAN_DEEP ? s->depth : SCAN_DEEP;
    const char *quote = memchr(s->open, '"', kept);
    if (quote)
        s->depth = (uint16_t)(quote - s->open);
    s->inside = true;
}

void colour_line(Interp *in, Scan *s, const char *text, size_t len, uint8_t *paint)
{
    Painter p = { .in = in, .s = s, .text = text, .len = len, .paint = paint };
    if (!s->inside)
        paint_command(&p);
    while (p.at < len)
        switch (innermost(s)) {
        case '"': paint_string(&p); break;
        case '`': paint_raw(&p); break;
        case '*': paint_c_comment(&p); break;
        case 'C': paint_c(&p); break;
        default: paint_code(&p);
        }
    end_line(s);
}
